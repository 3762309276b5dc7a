//! What is computed again wherever it is read, and so has no memory: an element that takes little work, of a tensor with
//! more axes than anything it is made of.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::items::{Item, has_reads};
use crate::ir::core::Operation;
use crate::ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, index_number};
use crate::predicate::{Atom, Poly};
use crate::syntax::ops::BinOp;

/// What takes more work than this for an element is not done again.
const MOST_WORK: u32 = 6;

/// What kernels compute again.
pub(super) struct Again {
    items: BTreeMap<Var, Item>,
    /// Those that read them, as they are.
    readers: HashMap<Var, Item>,
}

impl Again {
    /// Takes such statements out of the items; who reads them then reads what they are made of. What is `kept` is read
    /// by others too.
    pub(super) fn new(ssa: &Ssa, kept: &HashSet<Var>, all: &mut Vec<Item>) -> Self {
        let mut known: HashMap<Var, Cost> = HashMap::new();
        for item in all.iter().filter(|item| !kept.contains(&item.var)) {
            let stmt = ssa.stmts.get(item.var.0 as usize);
            if let Some(cost) = stmt.and_then(|stmt| cost(ssa, stmt, item, &known))
                && cost.work <= MOST_WORK
                && cost.axes < item.extents.len()
                && all.iter().all(|reader| reads_plainly(reader, item))
            {
                known.insert(item.var, cost);
            }
        }
        let (again, rest) = std::mem::take(all).into_iter().partition(|item| known.contains_key(&item.var));
        let again: Vec<Item> = again;
        let items = again.into_iter().map(|item| (item.var, Item { again: true, ..item })).collect();
        let mut made = Self { items, readers: HashMap::new() };
        *all = rest;
        for item in all {
            let through = made.through(item);
            let before = std::mem::replace(item, through);
            made.readers.insert(item.var, before);
        }
        made
    }

    /// The item with what it reads through others.
    fn through(&self, item: &Item) -> Item {
        let mut item = item.clone();
        let (mut open, mut reads) = (std::mem::take(&mut item.reads), Vec::new());
        while let Some(read) = open.pop() {
            let Some(of) = self.items.get(&read.var) else {
                reads.push(read);
                continue;
            };
            let at = |p: &Poly| at_indices(p, &read.at);
            open.extend(of.reads.iter().map(|r| Access { var: r.var, at: r.at.iter().map(at).collect() }));
            item.asks.extend(&of.asks);
        }
        item.reads = reads;
        item
    }

    /// Items as they are, before each what is computed again for it.
    pub(super) fn with(&self, items: Vec<Item>) -> Vec<Item> {
        let mut all = Vec::new();
        let mut there: HashSet<Var> = HashSet::new();
        for item in items {
            let item = self.readers.get(&item.var).cloned().unwrap_or(item);
            let mut wanted: BTreeMap<Var, &Item> = BTreeMap::new();
            let mut open = vec![&item];
            while let Some(reader) = open.pop() {
                for of in reader.reads.iter().filter_map(|read| self.items.get(&read.var)) {
                    if there.insert(of.var) {
                        wanted.insert(of.var, of);
                        open.push(of);
                    }
                }
            }
            all.extend(wanted.into_values().cloned());
            all.push(item);
        }
        all
    }
}

/// What an element takes.
#[derive(Clone, Copy)]
struct Cost {
    work: u32,
    /// The most axes of what it is made of.
    axes: usize,
}

/// What an element takes with what is computed again for it; `None` where that is not known, or much.
fn cost(ssa: &Ssa, stmt: &Stmt, item: &Item, known: &HashMap<Var, Cost>) -> Option<Cost> {
    // Where data tell what is read, all is fetched at once.
    let mut fetches = false;
    stmt.rhs.for_each_access(&mut |a| fetches |= a.at.iter().any(has_reads));
    if !item.in_kernel || item.reduces || fetches {
        return None;
    }
    let own = match &stmt.rhs {
        Rhs::Contract { .. } => 1,
        Rhs::Add(terms) => u32::try_from(terms.len()).ok()?,
        Rhs::Map { operation: Operation::Binary(BinOp::Div), .. } => 4,
        Rhs::Map { operation: Operation::Binary(BinOp::FloorDiv | BinOp::Mod), .. } => return None,
        Rhs::Map { operation, .. } => match operation {
            Operation::Binary(_) | Operation::Not | Operation::Convert(_) | Operation::Stop => 1,
            Operation::Scalar(_) | Operation::Pow | Operation::PowInt => return None,
        },
        _ => return None,
    };
    let mut all = Cost { work: own, axes: 0 };
    for read in &item.reads {
        let of = known.get(&read.var).copied();
        let of = of.or_else(|| Some(Cost { work: 0, axes: ssa.stmts.get(read.var.0 as usize)?.dims.len() }))?;
        all = Cost { work: all.work.saturating_add(of.work), axes: all.axes.max(of.axes) };
    }
    Some(all)
}

/// Does an item read another, if at all, at indices of its own that run as those of the other do?
fn reads_plainly(reader: &Item, item: &Item) -> bool {
    let plainly = |read: &Access| {
        let mut seen = HashSet::new();
        reader.in_kernel
            && read.at.len() == item.extents.len()
            && read.at.iter().zip(&item.extents).all(|(p, extent)| {
                let own = p.as_atom().and_then(|a| if let Atom::Local(l, _) = a { index_number(*l) } else { None });
                own.is_some_and(|k| reader.extents.get(k) == Some(extent) && seen.insert(k))
            })
    };
    !reader.asks.contains(&item.var) && reader.reads.iter().filter(|r| r.var == item.var).all(plainly)
}

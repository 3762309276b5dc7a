//! **Rematerialisation.** Recomputes a cheap element at each use instead of storing its tensor, if
//! the tensor has higher rank than all its operands.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::items::{Item, has_reads, item};
use super::kernel::{Loop, Node, Set};
use lang_ir::core::Operation;
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, index_number};
use lang_sizes::predicate::{Atom, Index, Poly};
use lang_syntax::ops::BinOp;

/// What takes more work than this for an element is not done again.
const MOST_WORK: u32 = 6;

/// The statements that a kernel rematerialises.
pub(super) struct Again {
    items: BTreeMap<Var, Item>,
}

impl Again {
    /// Removes such statements from the items, and replaces their reads by those of their operands.
    /// Statements in `kept` have other readers and stay.
    pub(super) fn new(ssa: &Ssa, kept: &HashSet<Var>, all: &mut Vec<Item>) -> Self {
        let mut known: HashMap<Var, Cost> = HashMap::new();
        let mut readers: HashMap<Var, Vec<&Item>> = HashMap::new();
        for item in &*all {
            let read: HashSet<Var> = item.reads.iter().map(|r| r.var).chain(item.asks.iter().copied()).collect();
            read.into_iter().for_each(|var| readers.entry(var).or_default().push(item));
        }
        // What a loop carries is another thing in each iteration.
        for item in all.iter().filter(|item| !kept.contains(&item.var) && item.repeat.is_none()) {
            let stmt = ssa.stmts.get(item.var.0 as usize);
            if let Some(cost) = stmt.and_then(|stmt| cost(ssa, stmt, item, &known))
                && cost.work <= MOST_WORK
                && cost.axes < item.extents.len()
                && readers.get(&item.var).into_iter().flatten().all(|reader| reads_plainly(ssa, reader, item))
            {
                known.insert(item.var, cost);
            }
        }
        let mut cheap: HashMap<Var, &Item> =
            all.iter().filter(|item| known.contains_key(&item.var)).map(|item| (item.var, item)).collect();
        // One register has one element at a time.
        for item in &*all {
            while let Some(var) = at_several(item, &cheap) {
                cheap.remove(&var);
            }
        }
        let cheap: HashSet<Var> = cheap.into_keys().collect();
        let (again, rest) = std::mem::take(all).into_iter().partition(|item| cheap.contains(&item.var));
        let again: Vec<Item> = again;
        let made = Self { items: again.into_iter().map(|item| (item.var, item)).collect() };
        *all = rest;
        all.iter_mut().for_each(|item| made.through(item));
        made
    }

    /// Returns whether the variable is rematerialised.
    pub(super) fn has(&self, var: Var) -> bool {
        self.items.contains_key(&var)
    }

    /// What the item reads and asks for through others.
    fn through(&self, item: &mut Item) {
        let (mut open, mut reads) = (std::mem::take(&mut item.reads), Vec::new());
        while let Some(read) = open.pop() {
            let Some(of) = self.items.get(&read.var) else {
                reads.push(read);
                continue;
            };
            open.extend(reads_at(of, &read.at));
            item.asks.extend(&of.asks);
            item.needs.extend(&of.needs);
        }
        item.reads = reads;
    }

    /// Inserts the assignments into the loops, each before its use, and outside the loops whose
    /// indices it does not mention.
    pub(super) fn put(&self, ssa: &Ssa, body: &mut Vec<Node>) {
        self.put_within(ssa, body, None, &mut Wanted::new());
    }

    /// The same in what has this index around it; what has not that index is wanted outside.
    fn put_within(&self, ssa: &Ssa, body: &mut Vec<Node>, around: Option<&Index>, outside: &mut Wanted) {
        let several = self.at_several(body);
        let mut there = HashMap::new();
        for mut node in std::mem::take(body) {
            let mut wanted = Wanted::new();
            match &mut node {
                Node::Loop(Loop { index, body, .. }) | Node::Told { index, body, .. } => {
                    self.put_within(ssa, body, Some(&index.clone()), &mut wanted);
                }
                Node::If(_, body) => self.put_within(ssa, body, around, &mut wanted),
                Node::Product(of) => self.put_within(ssa, &mut of.body, around, &mut wanted),
                Node::Clear(..) => {}
                Node::Set(set) => set.rhs.for_each_access(&mut |read| wanted.push((read.var, read.at.clone()))),
            }
            for (var, at) in wanted {
                let has = |index: &Index| at.iter().any(|p| p.mentions(&index.atom()));
                if several.contains(&var) || around.is_none_or(has) {
                    self.set(ssa, var, &at, &mut there, body);
                } else if self.has(var) && !outside.contains(&(var, at.clone())) {
                    outside.push((var, at));
                }
            }
            // What is set inside is not what was set before.
            node.for_each_set(&mut |set| {
                if there.get(&set.var).is_some_and(|at| *at != set.at) {
                    there.remove(&set.var);
                }
            });
            body.push(node);
        }
    }

    /// Sets the element at these indices, behind those that it reads, if it is not there.
    fn set(&self, ssa: &Ssa, var: Var, at: &[Poly], there: &mut HashMap<Var, Vec<Poly>>, body: &mut Vec<Node>) {
        let Some(of) = self.items.get(&var).filter(|_| there.get(&var).is_none_or(|known| known != at)) else { return };
        for read in reads_at(of, at) {
            self.set(ssa, read.var, &read.at, there, body);
        }
        let poly = |p: &Poly| at_indices(p, at);
        let access = &mut |a: &Access| Access { var: a.var, at: a.at.iter().map(poly).collect() };
        let Some(stmt) = ssa.stmts.get(var.0 as usize) else { return };
        let rhs = stmt.rhs.map(access, &poly, &|p| p.map(&poly));
        body.push(Node::Set(Set { var, at: at.to_vec(), rhs, join: None }));
        there.insert(var, at.to_vec());
    }

    /// Those that loops read at several places, through others too: they stay inside.
    fn at_several(&self, body: &[Node]) -> HashSet<Var> {
        let mut at: HashMap<Var, HashSet<Vec<Poly>>> = HashMap::new();
        let mut open: Wanted = Vec::new();
        let mut want = |read: &Access| open.push((read.var, read.at.clone()));
        body.iter().for_each(|node| node.for_each_set(&mut |set| set.rhs.for_each_access(&mut want)));
        while let Some((var, there)) = open.pop() {
            if let Some(of) = self.items.get(&var)
                && at.entry(var).or_default().insert(there.clone())
            {
                open.extend(reads_at(of, &there).map(|read| (read.var, read.at)));
            }
        }
        at.into_iter().filter(|(_, at)| at.len() > 1).map(|(var, _)| var).collect()
    }
}

/// Variables, and at which indices.
type Wanted = Vec<(Var, Vec<Poly>)>;

/// What an item reads where it is read at these indices.
fn reads_at<'i>(of: &'i Item, at: &'i [Poly]) -> impl Iterator<Item = Access> + 'i {
    let put = move |p: &Poly| at_indices(p, at);
    of.reads.iter().map(move |r| Access { var: r.var, at: r.at.iter().map(put).collect() })
}

/// One that an item reads at several places, through others too.
fn at_several(item: &Item, cheap: &HashMap<Var, &Item>) -> Option<Var> {
    let mut at: HashMap<Var, Vec<Poly>> = HashMap::new();
    let mut open = item.reads.clone();
    while let Some(read) = open.pop() {
        let Some(of) = cheap.get(&read.var) else { continue };
        match at.get(&read.var) {
            Some(before) if *before != read.at => return Some(read.var),
            Some(_) => {}
            None => {
                open.extend(reads_at(of, &read.at));
                at.insert(read.var, read.at);
            }
        }
    }
    None
}

/// What an element takes.
#[derive(Clone, Copy)]
struct Cost {
    work: u32,
    /// The most axes of what it is made of.
    axes: usize,
}

/// Returns whether the statement is cheap enough and has higher rank than its operands, without
/// regard to its readers.
pub(super) fn is_cheap(ssa: &Ssa, var: Var) -> bool {
    let Some(stmt) = ssa.stmts.get(var.0 as usize) else { return false };
    let item = item(ssa, var, stmt);
    cost(ssa, stmt, &item, &HashMap::new()).is_some_and(|c| c.work <= MOST_WORK && c.axes < item.extents.len())
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

/// Does an item read another, if at all, as an element at indices of its own that run as those of the other do?
fn reads_plainly(ssa: &Ssa, reader: &Item, item: &Item) -> bool {
    let mut elements = 0;
    if let Some(stmt) = ssa.stmts.get(reader.var.0 as usize) {
        stmt.rhs.for_each_access(&mut |a| elements += usize::from(a.var == item.var));
    }
    let plainly = |read: &Access| {
        let mut seen = HashSet::new();
        reader.in_kernel
            && read.at.len() == item.extents.len()
            && read.at.iter().zip(&item.extents).all(|(p, extent)| {
                let own = p.as_atom().and_then(|a| if let Atom::Local(l, _) = a { index_number(*l) } else { None });
                own.is_some_and(|k| reader.extents.get(k) == Some(extent) && seen.insert(k))
            })
    };
    let read = || reader.reads.iter().filter(|r| r.var == item.var);
    !reader.asks.contains(&item.var) && read().count() == elements && read().all(plainly)
}

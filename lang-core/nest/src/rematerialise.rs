//! **Rematerialisation.** Recomputes a cheap element at each use instead of storing its tensor, if
//! the tensor has higher rank than all its operands.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::dependences::{PendingStmt, pending_stmt};
use super::loop_nest::{Assignment, NestLoop, NestNode};
use lang_ir::core::ScalarOp;
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, index_number, substitute_indices};
use lang_opt::kernel_statements::has_reads;
use lang_sizes::predicate::{Atom, Index, Poly};
use lang_syntax::ops::BinOp;

/// The maximum work for an element that is rematerialised.
const MAX_ELEMENT_WORK: u32 = 6;

/// The statements that a kernel rematerialises.
pub(super) struct Rematerialisation {
    items: BTreeMap<StmtId, PendingStmt>,
}

impl Rematerialisation {
    /// Removes such statements from the items, and replaces their reads by those of their operands.
    /// Statements in `kept` have other readers and stay.
    pub(super) fn new(ssa: &SsaFunction, kept: &HashSet<StmtId>, all: &mut Vec<PendingStmt>) -> Self {
        let mut known: HashMap<StmtId, ElementCost> = HashMap::new();
        let mut readers: HashMap<StmtId, Vec<&PendingStmt>> = HashMap::new();
        for item in &*all {
            let read: HashSet<StmtId> =
                item.reads.iter().map(|r| r.var).chain(item.prerequisites.iter().copied()).collect();
            read.into_iter().for_each(|var| readers.entry(var).or_default().push(item));
        }
        // Excludes the statements of flattened loops, because a carried value changes with each
        // iteration.
        for item in all.iter().filter(|item| !kept.contains(&item.var) && item.flattened_loop.is_none()) {
            let stmt = ssa.stmts.get(item.var.0 as usize);
            if let Some(cost) = stmt.and_then(|stmt| element_cost(ssa, stmt, item, &known))
                && cost.work <= MAX_ELEMENT_WORK
                && cost.operand_rank < item.extents.len()
                && readers.get(&item.var).into_iter().flatten().all(|reader| reads_elementwise(ssa, reader, item))
            {
                known.insert(item.var, cost);
            }
        }
        let mut cheap: HashMap<StmtId, &PendingStmt> =
            all.iter().filter(|item| known.contains_key(&item.var)).map(|item| (item.var, item)).collect();
        // A register holds one element at a time.
        for item in &*all {
            while let Some(var) = operand_at_several_indices(item, &cheap) {
                cheap.remove(&var);
            }
        }
        let cheap: HashSet<StmtId> = cheap.into_keys().collect();
        let (removed, rest) = std::mem::take(all).into_iter().partition(|item| cheap.contains(&item.var));
        let recomputed: Vec<PendingStmt> = removed;
        let rematerialisation = Self { items: recomputed.into_iter().map(|item| (item.var, item)).collect() };
        *all = rest;
        all.iter_mut().for_each(|item| rematerialisation.forward_reads(item));
        rematerialisation
    }

    /// Returns whether the variable is rematerialised.
    pub(super) fn has_var(&self, var: StmtId) -> bool {
        self.items.contains_key(&var)
    }

    /// Replaces the reads of rematerialised statements in an item by those of their operands.
    fn forward_reads(&self, item: &mut PendingStmt) {
        let (mut open, mut reads) = (std::mem::take(&mut item.reads), Vec::new());
        while let Some(read) = open.pop() {
            let Some(of) = self.items.get(&read.var) else {
                reads.push(read);
                continue;
            };
            open.extend(element_operands(of, &read.at));
            item.prerequisites.extend(&of.prerequisites);
            item.needs.extend(&of.needs);
        }
        item.reads = reads;
    }

    /// Inserts the assignments into the loops, each before its use, and outside the loops whose
    /// indices it does not mention.
    pub(super) fn insert_assignments(&self, ssa: &SsaFunction, body: &mut Vec<NestNode>) {
        self.insert_in_nodes(ssa, body, None, &mut ElementRequests::new());
    }

    /// Inserts the assignments into the nodes below an index. An element that does not mention the
    /// index goes to `outside`.
    fn insert_in_nodes(
        &self,
        ssa: &SsaFunction,
        body: &mut Vec<NestNode>,
        around: Option<&Index>,
        outside: &mut ElementRequests,
    ) {
        let several = self.vars_at_several_indices(body);
        let mut there = HashMap::new();
        for mut node in std::mem::take(body) {
            let mut wanted = ElementRequests::new();
            match &mut node {
                NestNode::Loop(NestLoop { index, body, .. }) | NestNode::Let { index, body, .. } => {
                    self.insert_in_nodes(ssa, body, Some(&index.clone()), &mut wanted);
                }
                NestNode::If(_, body) => self.insert_in_nodes(ssa, body, around, &mut wanted),
                NestNode::MatrixProduct(of) => self.insert_in_nodes(ssa, &mut of.fallback_loops, around, &mut wanted),
                NestNode::Fill(..) => {}
                NestNode::Assign(set) => set.rhs.for_each_access(&mut |read| wanted.push((read.var, read.at.clone()))),
            }
            for (var, at) in wanted {
                let has = |index: &Index| at.iter().any(|p| p.mentions(&index.atom()));
                if several.contains(&var) || around.is_none_or(has) {
                    self.assign_element(ssa, var, &at, &mut there, body);
                } else if self.has_var(var) && !outside.contains(&(var, at.clone())) {
                    outside.push((var, at));
                }
            }
            // An assignment inside the node replaces the element in the register.
            node.for_each_assignment(&mut |set| {
                if there.get(&set.var).is_some_and(|at| *at != set.at) {
                    there.remove(&set.var);
                }
            });
            body.push(node);
        }
    }

    /// Assigns the element at these indices, after its operands, unless the register already holds
    /// it.
    fn assign_element(
        &self,
        ssa: &SsaFunction,
        var: StmtId,
        at: &[Poly],
        there: &mut HashMap<StmtId, Vec<Poly>>,
        body: &mut Vec<NestNode>,
    ) {
        let Some(of) = self.items.get(&var).filter(|_| there.get(&var).is_none_or(|known| known != at)) else { return };
        for read in element_operands(of, at) {
            self.assign_element(ssa, read.var, &read.at, there, body);
        }
        let poly = |p: &Poly| substitute_indices(p, at);
        let access = &mut |a: &TensorAccess| TensorAccess { var: a.var, at: a.at.iter().map(poly).collect() };
        let Some(stmt) = ssa.stmts.get(var.0 as usize) else { return };
        let rhs = stmt.rhs.map(access, &poly, &|p| p.map(&poly));
        body.push(NestNode::Assign(Assignment { var, at: at.to_vec(), rhs, accumulate: None }));
        there.insert(var, at.to_vec());
    }

    /// Returns the variables that the nodes read at several index tuples, even transitively. Their
    /// assignments stay inside the loops.
    fn vars_at_several_indices(&self, body: &[NestNode]) -> HashSet<StmtId> {
        let mut at: HashMap<StmtId, HashSet<Vec<Poly>>> = HashMap::new();
        let mut open: ElementRequests = Vec::new();
        let mut want = |read: &TensorAccess| open.push((read.var, read.at.clone()));
        body.iter().for_each(|node| node.for_each_assignment(&mut |set| set.rhs.for_each_access(&mut want)));
        while let Some((var, there)) = open.pop() {
            if let Some(of) = self.items.get(&var)
                && at.entry(var).or_default().insert(there.clone())
            {
                open.extend(element_operands(of, &there).map(|read| (read.var, read.at)));
            }
        }
        at.into_iter().filter(|(_, at)| at.len() > 1).map(|(var, _)| var).collect()
    }
}

/// The elements to assign, as variables with indices.
type ElementRequests = Vec<(StmtId, Vec<Poly>)>;

/// Returns the operands of the element at these indices.
fn element_operands<'i>(of: &'i PendingStmt, at: &'i [Poly]) -> impl Iterator<Item = TensorAccess> + 'i {
    let put = move |p: &Poly| substitute_indices(p, at);
    of.reads.iter().map(move |r| TensorAccess { var: r.var, at: r.at.iter().map(put).collect() })
}

/// Returns a variable that an item reads at several index tuples, even transitively.
fn operand_at_several_indices(item: &PendingStmt, cheap: &HashMap<StmtId, &PendingStmt>) -> Option<StmtId> {
    let mut at: HashMap<StmtId, Vec<Poly>> = HashMap::new();
    let mut open = item.reads.clone();
    while let Some(read) = open.pop() {
        let Some(of) = cheap.get(&read.var) else { continue };
        match at.get(&read.var) {
            Some(before) if *before != read.at => return Some(read.var),
            Some(_) => {}
            None => {
                open.extend(element_operands(of, &read.at));
                at.insert(read.var, read.at);
            }
        }
    }
    None
}

/// The cost of an element.
#[derive(Clone, Copy)]
struct ElementCost {
    work: u32,
    /// The maximum rank of its operands.
    operand_rank: usize,
}

/// Returns whether the statement is cheap enough and has higher rank than its operands, without
/// regard to its readers.
pub(super) fn is_cheap(ssa: &SsaFunction, var: StmtId) -> bool {
    let Some(stmt) = ssa.stmts.get(var.0 as usize) else { return false };
    let item = pending_stmt(ssa, var, stmt);
    element_cost(ssa, stmt, &item, &HashMap::new())
        .is_some_and(|c| c.work <= MAX_ELEMENT_WORK && c.operand_rank < item.extents.len())
}

/// Returns the cost of an element with all rematerialised operands. `None` if the statement is not
/// in a kernel, is a reduction or a gather, or has an expensive operation.
fn element_cost(
    ssa: &SsaFunction,
    stmt: &Statement,
    item: &PendingStmt,
    known: &HashMap<StmtId, ElementCost>,
) -> Option<ElementCost> {
    // Gathers are not repeated, because one loop performs them all at once.
    let mut fetches = false;
    stmt.rhs.for_each_access(&mut |a| fetches |= a.at.iter().any(has_reads));
    if !item.fits_kernel || item.is_reduction || fetches {
        return None;
    }
    let own = match &stmt.rhs {
        Rhs::Contract { .. } => 1,
        Rhs::Add(terms) => u32::try_from(terms.len()).ok()?,
        Rhs::Map { operation: ScalarOp::Binary(BinOp::Div), .. } => 4,
        Rhs::Map { operation: ScalarOp::Binary(BinOp::FloorDiv | BinOp::Mod), .. } => return None,
        Rhs::Map { operation, .. } => match operation {
            ScalarOp::Binary(_) | ScalarOp::Not | ScalarOp::Convert(_) | ScalarOp::Stop => 1,
            ScalarOp::Scalar(_) | ScalarOp::Pow | ScalarOp::PowInt => return None,
        },
        _ => return None,
    };
    let mut all = ElementCost { work: own, operand_rank: 0 };
    for read in &item.reads {
        let of = known.get(&read.var).copied();
        let of =
            of.or_else(|| Some(ElementCost { work: 0, operand_rank: ssa.stmts.get(read.var.0 as usize)?.dims.len() }))?;
        all =
            ElementCost { work: all.work.saturating_add(of.work), operand_rank: all.operand_rank.max(of.operand_rank) };
    }
    Some(all)
}

/// Returns whether all reads of the item are plain elements. Their indices must be distinct indices
/// of the reader with equal extents.
fn reads_elementwise(ssa: &SsaFunction, reader: &PendingStmt, item: &PendingStmt) -> bool {
    let mut elements = 0;
    if let Some(stmt) = ssa.stmts.get(reader.var.0 as usize) {
        stmt.rhs.for_each_access(&mut |a| elements += usize::from(a.var == item.var));
    }
    let plainly = |read: &TensorAccess| {
        let mut seen = HashSet::new();
        reader.fits_kernel
            && read.at.len() == item.extents.len()
            && read.at.iter().zip(&item.extents).all(|(p, extent)| {
                let own = p.as_atom().and_then(|a| if let Atom::Local(l, _) = a { index_number(*l) } else { None });
                own.is_some_and(|k| reader.extents.get(k) == Some(extent) && seen.insert(k))
            })
    };
    let read = || reader.reads.iter().filter(|r| r.var == item.var);
    !reader.prerequisites.contains(&item.var) && read().count() == elements && read().all(plainly)
}

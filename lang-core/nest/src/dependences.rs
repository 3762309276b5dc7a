//! **Dependences.** Describes each statement for fusion: the elements that it reads, at which
//! indices, and the values that must exist before its loops start.
//!
//! [`super::fusion`] fuses these items into loops.

use std::collections::HashSet;

use super::Prepared;
use super::flatten_loops::CarriedState;
use super::gemm::RecognisedProduct;
use lang_base::check_cancelled;
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, index_number, statement_index,
    substitute_indices,
};
use lang_opt::kernel_statements::{check_operands, is_kernel_stmt, is_trivial};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// A statement to be scheduled.
#[derive(Clone, Debug)]
pub(super) struct PendingStmt {
    pub(super) var: StmtId,
    /// Whether it may be in the loops of a kernel.
    pub(super) fits_kernel: bool,
    /// The number of its indices that are axes of its tensor; the others are reduced.
    pub(super) rank: usize,
    /// The extents of all its indices.
    pub(super) extents: Vec<Poly>,
    /// The current state of each index.
    pub(super) indices: Vec<IndexState>,
    /// The accesses that it reads, over its indices; constants and index expressions are replaced
    /// by their own reads.
    pub(super) reads: Vec<TensorAccess>,
    /// The variables that must be complete before its loops start, because extents, checks or
    /// gathers depend on them.
    pub(super) prerequisites: Vec<StmtId>,
    /// The checks that must precede it.
    pub(super) needs: Vec<u32>,
    /// Whether it is a reduction.
    pub(super) is_reduction: bool,
    /// Whether it is an arg-reduction. Its terms must then come in order, with nothing between
    /// them.
    pub(super) is_arg_reduction: bool,
    /// Whether its accumulators are already initialised.
    pub(super) is_initialised: bool,
    /// The matrix product that it is, if any.
    pub(super) matrix_product: Option<RecognisedProduct>,
    /// The flattened loop that it belongs to, and the index that numbers the iterations.
    pub(super) flattened_loop: Option<(usize, usize)>,
    /// The loop-carried state that it is, if any.
    pub(super) state: Option<CarriedState>,
    /// Whether it is the condition of its loop.
    pub(super) is_while_condition: bool,
}

/// The state of an item's index.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum IndexState {
    /// Not yet assigned.
    Open,
    /// The index of a loop.
    Loop(Index),
    /// A value that an equation determines.
    Solved(Poly),
    /// An index of a matrix product, which covers its full range.
    MatrixProduct,
}

impl PendingStmt {
    /// Returns the indices that still need loops.
    pub(super) fn open_indices(&self) -> impl Iterator<Item = usize> {
        self.indices.iter().enumerate().filter(|(_, p)| **p == IndexState::Open).map(|(k, _)| k)
    }

    /// Returns the open indices that may become loops now. An arg-reduction's own axes precede the
    /// index of its terms.
    pub(super) fn loop_candidates(&self) -> impl Iterator<Item = usize> {
        let before =
            if self.is_arg_reduction && self.open_indices().any(|k| k < self.rank) { self.rank } else { usize::MAX };
        self.open_indices().filter(move |k| *k < before)
    }

    /// Marks the item as a matrix product, if all its indices are still open.
    fn set_matrix_product(&mut self, product: RecognisedProduct) {
        if self.indices.iter().any(|p| *p != IndexState::Open) {
            return;
        }
        for k in product.indices {
            self.indices.get_mut(k).into_iter().for_each(|slot| *slot = IndexState::MatrixProduct);
        }
        self.reads.extend(product.factors.iter().cloned());
        self.matrix_product = Some(product);
    }

    /// Returns whether the loop over this index is that over the terms of an arg-reduction.
    pub(super) fn is_arg_reduction_index(&self, k: usize) -> bool {
        self.is_arg_reduction && k >= self.rank
    }
}

/// Facts about all statements.
pub(super) struct FunctionFacts {
    /// The variables that the checks of the whole function read.
    pub(super) final_check_reads: Vec<StmtId>,
}

impl FunctionFacts {
    pub(super) fn new(ssa: &SsaFunction) -> Self {
        Self { final_check_reads: ssa.needs.iter().flat_map(|c| check_operands(ssa, *c)).collect() }
    }

    /// Returns the statements to schedule, each after those that it reads. Inputs and inlined
    /// statements are excluded.
    pub(super) fn pending_stmts(&self, prepared: &Prepared) -> Vec<PendingStmt> {
        let ssa = &*prepared.ssa;
        let kept = self.materialised_stmts(ssa);
        let mut all = Vec::new();
        for var in dependence_order(prepared) {
            check_cancelled();
            let Some(stmt) = ssa.stmts.get(var.0 as usize) else { continue };
            let is_input = matches!(stmt.rhs, Rhs::Input(_));
            if is_input || is_trivial(&stmt.rhs) && !kept.contains(&var) {
                continue;
            }
            let mut item = pending_stmt(ssa, var, stmt);
            // Such statements have loops of their own.
            let complete_first = item.reads.iter().map(|read| read.var).filter(|v| prepared.complete_first.contains(v));
            item.prerequisites.extend(complete_first);
            if let Some(product) = prepared.matrix_products.get(&var).filter(|_| item.fits_kernel) {
                item.set_matrix_product(product.clone());
            }
            if let Some((nth, repeat)) = prepared.flattened_loop_of(var) {
                item.flattened_loop = repeat.iteration_axis.get(&var).map(|axis| (nth, *axis));
                item.state = repeat.states.get(&var).cloned();
                item.is_while_condition = repeat.while_condition == Some(var);
                if let Some(state) = repeat.states.get(&var) {
                    item.reads.push(state.init.clone());
                    state.init.at.iter().for_each(|p| collect_poly_reads(ssa, p, &mut item.reads, &mut item.needs));
                }
            }
            all.push(item);
        }
        all
    }

    /// Returns the statements that must exist as tensors, even if they are trivial, because
    /// outputs, extents, checks or separate steps read them.
    pub(super) fn materialised_stmts(&self, ssa: &SsaFunction) -> HashSet<StmtId> {
        let mut kept: HashSet<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        kept.extend(&self.final_check_reads);
        for (k, stmt) in ssa.stmts.iter().enumerate().rev() {
            // A statement that does not fit a kernel, or must be materialised, is a separate step.
            let alone = !is_kernel_stmt(ssa, stmt)
                || is_trivial(&stmt.rhs) && u32::try_from(k).is_ok_and(|k| kept.contains(&StmtId(k)));
            let mut keep = |v: StmtId| kept.extend([v]);
            stmt.needs.iter().flat_map(|c| check_operands(ssa, *c)).for_each(&mut keep);
            stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut keep));
            if alone {
                stmt.rhs.for_each_operand(&mut keep);
            }
        }
        kept
    }
}

/// Sorts the statements so that each follows those that it reads. An operand with a higher number
/// directly precedes its first reader. The statements of a flattened loop are adjacent, in the
/// order of the loop.
fn dependence_order(prepared: &Prepared) -> Vec<StmtId> {
    let ssa = &*prepared.ssa;
    let mut order = Vec::new();
    let mut placed = vec![false; ssa.stmts.len()];
    for k in (0..).take(ssa.stmts.len()).map(StmtId) {
        let mut open = vec![(k, false)];
        while let Some((var, ready)) = open.pop() {
            let (Some(slot), Some(stmt)) = (placed.get_mut(var.0 as usize), ssa.stmts.get(var.0 as usize)) else {
                continue;
            };
            let repeat = prepared.flattened_loop_of(var).map(|(_, repeat)| repeat);
            if ready {
                match repeat {
                    Some(repeat) => order.extend(&repeat.order),
                    None => order.push(var),
                }
            } else if !std::mem::replace(slot, true) {
                open.push((var, true));
                let mut see = |v: StmtId| open.extend((v > k).then_some((v, false)));
                let Some(repeat) = repeat else {
                    stmt.rhs.for_each_operand(&mut see);
                    stmt.needs.iter().flat_map(|c| check_operands(ssa, *c)).for_each(&mut see);
                    prepared.matrix_products.get(&var).into_iter().flat_map(|p| &p.factors).for_each(|f| see(f.var));
                    continue;
                };
                for of in &repeat.order {
                    placed.get_mut(of.0 as usize).into_iter().for_each(|slot| *slot = true);
                }
                let outside = |v: StmtId| !repeat.iteration_axis.contains_key(&v);
                for stmt in repeat.order.iter().filter_map(|v| ssa.stmts.get(v.0 as usize)) {
                    stmt.rhs.for_each_operand(&mut |v| {
                        if outside(v) {
                            see(v)
                        }
                    });
                }
                repeat.states.values().for_each(|state| state.for_each_operand(&mut see));
            }
        }
    }
    order
}

pub(super) fn pending_stmt(ssa: &SsaFunction, var: StmtId, stmt: &Statement) -> PendingStmt {
    let mut extents = stmt.dims.clone();
    let free = extents.len();
    if let Rhs::Contract { bound, .. } | Rhs::Reduce(SsaReduction { bound, .. }) = &stmt.rhs {
        extents.extend(bound.iter().cloned());
    }
    let (mut found, mut needs) = (Vec::new(), stmt.needs.clone());
    let mut asks: Vec<StmtId> = Vec::new();
    let in_kernel = is_kernel_stmt(ssa, stmt) && !is_trivial(&stmt.rhs);
    stmt.rhs.for_each_access(&mut |a| collect_access_reads(ssa, a, &mut found, &mut needs));
    stmt.rhs.for_each_poly(&mut |p| collect_poly_reads(ssa, p, &mut found, &mut needs));
    stmt.rhs.for_each_pred(&mut |p| collect_pred_reads(ssa, p, &mut found, &mut needs));
    stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| asks.push(v)));
    asks.extend(stmt.rhs.producer());
    asks.extend(needs.iter().flat_map(|c| check_operands(ssa, *c)));
    let mut indices = vec![IndexState::Open; extents.len()];
    let reduces = extents.len() > free || matches!(stmt.rhs, Rhs::Reduce(_));
    if let Rhs::Contract { pred, .. } = &stmt.rhs
        && reduces
    {
        solve_indices(pred, free, &mut indices);
    }
    let chooses = matches!(&stmt.rhs, Rhs::Reduce(r) if r.reducer.is_arg_reduction());
    PendingStmt {
        var,
        fits_kernel: in_kernel,
        rank: free,
        extents,
        indices,
        reads: found,
        prerequisites: asks,
        needs,
        is_reduction: reduces,
        is_arg_reduction: chooses,
        is_initialised: false,
        matrix_product: None,
        flattened_loop: None,
        is_while_condition: false,
        state: None,
    }
}

/// Solves equations for the free indices whose values depend on bound indices or on data.
fn solve_indices(pred: &Pred, free: usize, indices: &mut [IndexState]) {
    for k in 0..free {
        let Some(value) = pred.solve_for(&statement_index(k, &Poly::default()).atom()) else { continue };
        let (mut late, mut known) = (false, true);
        value.for_each_atom(&mut |a| match a {
            Atom::Local(l, _) => {
                let Some(j) = index_number(*l).filter(|j| *j < indices.len()) else { return };
                late |= j >= free;
                known &= indices.get(j) == Some(&IndexState::Open);
            }
            Atom::Read(..) => late = true,
            _ => {}
        });
        if late
            && known
            && let Some(slot) = indices.get_mut(k)
        {
            *slot = IndexState::Solved(value);
        }
    }
}

/// Collects the reads of an access. An inlined statement contributes its own reads.
fn collect_access_reads(ssa: &SsaFunction, of: &TensorAccess, found: &mut Vec<TensorAccess>, needs: &mut Vec<u32>) {
    of.at.iter().for_each(|p| collect_poly_reads(ssa, p, found, needs));
    match ssa.stmts.get(of.var.0 as usize) {
        Some(stmt) if is_trivial(&stmt.rhs) => {
            needs.extend(&stmt.needs);
            if let Rhs::Index(p) = &stmt.rhs {
                collect_poly_reads(ssa, &substitute_indices(p, &of.at), found, needs);
            }
        }
        _ => found.push(of.clone()),
    }
}

fn collect_poly_reads(ssa: &SsaFunction, p: &Poly, found: &mut Vec<TensorAccess>, needs: &mut Vec<u32>) {
    // `for_each_atom` also visits nested atoms.
    p.for_each_atom(&mut |a| {
        if let Atom::Read(x, _, at) = a
            && let Some(var) = StmtId::from_local(*x)
        {
            collect_access_reads(ssa, &TensorAccess { var, at: at.to_vec() }, found, needs);
        }
    });
}

fn collect_pred_reads(ssa: &SsaFunction, p: &Pred, found: &mut Vec<TensorAccess>, needs: &mut Vec<u32>) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| collect_pred_reads(ssa, p, found, needs)),
        Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => collect_poly_reads(ssa, p, found, needs),
        Pred::Element(x, _, at, _) | Pred::Member(x, _, at, _) => {
            if let Some(var) = StmtId::from_local(*x) {
                collect_access_reads(ssa, &TensorAccess { var, at: at.to_vec() }, found, needs);
            }
        }
        Pred::Exists(_, body, _) => collect_pred_reads(ssa, body, found, needs),
    }
}

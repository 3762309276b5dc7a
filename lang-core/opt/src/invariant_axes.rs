//! **Elimination of invariant axes.** Removes an axis of a statement if its elements do not depend
//! on the index.
//!
//! A predicate that all readers already imply need not be repeated. In
//! `Y[i] = Σ j: [j < i] · A[i, j] · X[i, j]` with `X[i, j] = [j < i] · B[j]`, the elements of `X`
//! are those of `B` for every `i`. Statements that become equal are merged, and dead ones are
//! removed. Axes are also shortened to the extent that is read.

use std::collections::{HashMap, HashSet};

use super::index_util::{
    as_index, index_context, indices, is_in_bounds, pred_indices, renumbering, substitute_access, substitute_pred,
};
use super::rewriter::Rewritten;
use lang_base::check_cancelled;
use lang_ir::ssa::{
    Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read,
    substitute_indices,
};
use lang_sizes::predicate::{Poly, Pred};

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    remove_invariant_axes(ssa).map(Rewritten::of)
}

/// Removes the invariant axes of a function; `None` if nothing changes. Statements keep their
/// numbers, and dead ones become zeros.
#[must_use]
pub fn remove_invariant_axes(ssa: &SsaFunction) -> Option<SsaFunction> {
    let mut rewritten = forward_truth_views(ssa);
    let mut index = ReaderIndex::new(rewritten.as_ref().unwrap_or(ssa));
    for k in 0..ssa.stmts.len() {
        check_cancelled();
        // A statement that lost an axis may lose another.
        while let Some(next) = remove_axis(rewritten.as_ref().unwrap_or(ssa), &index, k) {
            index = ReaderIndex::new(&next);
            rewritten = Some(next);
        }
    }
    for k in (0..ssa.stmts.len()).rev() {
        // A shorter axis changes no reader.
        rewritten = shorten_axes(rewritten.as_ref().unwrap_or(ssa), &index, k).or(rewritten);
    }
    let mut function = rewritten?;
    merge_equal_stmts(&mut function);
    eliminate_dead_stmts(&mut function, []);
    Some(function)
}

/// Replaces views of truth values in predicates by their sources, which have fewer axes.
fn forward_truth_views(ssa: &SsaFunction) -> Option<SsaFunction> {
    let shown = |of: &TensorAccess| {
        let stmt = ssa.stmts.get(of.var.0 as usize).filter(|stmt| stmt.needs.is_empty())?;
        match &stmt.rhs {
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                let [one] = factors.as_slice() else { return None };
                Some(TensorAccess { var: one.var, at: one.at.iter().map(|p| substitute_indices(p, &of.at)).collect() })
            }
            _ => None,
        }
    };
    let forwarded_pred = |p: &Pred| {
        p.replace_opaque(&|x| {
            let first =
                TensorAccess { var: StmtId::from_local(x.source).filter(|_| x.is_array)?, at: x.indices.to_vec() };
            let last = std::iter::successors(shown(&first), shown).last()?;
            Some(Pred::Element(last.var.local(), last.var.name(), last.at.into(), true))
        })
    };
    let mut rewritten = ssa.clone();
    let mut changed = false;
    for (stmt, before) in rewritten.stmts.iter_mut().zip(&ssa.stmts) {
        let mut opaque = false;
        before.rhs.for_each_pred(&mut |p| opaque |= p.depends_on_data());
        if opaque {
            stmt.rhs = before.rhs.map(&mut TensorAccess::clone, &Poly::clone, &forwarded_pred);
            changed |= stmt.rhs != before.rhs;
        }
    }
    changed.then_some(rewritten)
}

/// A read of a statement.
struct ElementRead {
    /// The extents of the reader's indices.
    dims: Vec<Poly>,
    /// The predicate of the read.
    pred: Pred,
    at: Vec<Poly>,
}

/// The statements that read each statement.
struct ReaderIndex {
    readers: HashMap<StmtId, Vec<usize>>,
    /// The statements that a result, an extent or a check reads.
    roots: HashSet<StmtId>,
}

impl ReaderIndex {
    fn new(ssa: &SsaFunction) -> Self {
        let mut roots: HashSet<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        for_each_extent_or_check_read(ssa, &mut |v| {
            roots.insert(v);
        });
        let mut readers: HashMap<StmtId, Vec<usize>> = HashMap::new();
        for (k, stmt) in ssa.stmts.iter().enumerate() {
            stmt.rhs.for_each_operand(&mut |v| {
                let all = readers.entry(v).or_default();
                if all.last() != Some(&k) {
                    all.push(k);
                }
            });
        }
        Self { readers, roots }
    }
}

/// Returns the element reads of a statement; `None` if other kinds of reads exist.
fn element_reads(ssa: &SsaFunction, index: &ReaderIndex, var: StmtId) -> Option<Vec<ElementRead>> {
    let mut all = Vec::new();
    if index.roots.contains(&var) {
        return None;
    }
    let readers = index.readers.get(&var).into_iter().flatten();
    for stmt in readers.filter_map(|k| ssa.stmts.get(*k)) {
        let (mut elements, mut operands) = (0, 0);
        stmt.rhs.for_each_operand(&mut |v| operands += usize::from(v == var));
        if operands == 0 {
            continue;
        }
        let mut see = |of: &TensorAccess, pred: &Pred, bound: &[Poly]| {
            if of.var == var {
                elements += 1;
                let dims = stmt.dims.iter().chain(bound).cloned().collect();
                all.push(ElementRead { dims, pred: pred.clone(), at: of.at.clone() });
            }
        };
        match &stmt.rhs {
            Rhs::Add(items) => items.iter().for_each(|item| see(&item.operand, &item.pred, &[])),
            Rhs::Contract { bound, pred, factors, .. } => factors.iter().for_each(|f| see(f, pred, bound)),
            Rhs::Map { pred, args, .. } => args.iter().for_each(|a| see(a, pred, &[])),
            _ => {}
        }
        if elements != operands {
            return None;
        }
    }
    Some(all)
}

/// Calls `see` on the variables that extents and checks read.
fn for_each_extent_or_check_read(ssa: &SsaFunction, see: &mut dyn FnMut(StmtId)) {
    ssa.stmts.iter().flat_map(|s| &s.dims).for_each(|n| for_each_poly_read(n, see));
    for check in &ssa.checks {
        check.dims.iter().for_each(|n| for_each_poly_read(n, see));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, see));
    }
}

/// Removes an invariant axis of a statement, if it has one.
fn remove_axis(ssa: &SsaFunction, index: &ReaderIndex, k: usize) -> Option<SsaFunction> {
    let var = StmtId(u32::try_from(k).ok()?);
    let stmt = ssa.stmts.get(k)?;
    let is_view = matches!(&stmt.rhs, Rhs::Contract { bound, .. } if bound.is_empty());
    if stmt.dims.len() < 2 || !(is_view || matches!(stmt.rhs, Rhs::Add(_) | Rhs::Map { .. })) {
        return None;
    }
    // Only an index that predicates alone mention may be invariant.
    let mut needed = indices(&stmt.dims);
    stmt.rhs.for_each_poly(&mut |p| needed.extend(indices([p])));
    if (0..stmt.dims.len()).all(|axis| needed.contains(&axis)) {
        return None;
    }
    let reads = element_reads(ssa, index, var)?;
    let plain = drop_implied_guards(ssa, stmt, &reads);
    plain.for_each_pred(&mut |p| needed.extend(pred_indices(p)));
    let gone = (0..stmt.dims.len()).find(|axis| !needed.contains(axis))?;
    let left: Vec<usize> = (0..stmt.dims.len()).filter(|axis| *axis != gone).collect();
    let values = renumbering(&left, stmt.dims.len());
    let rhs = plain.map(&mut |a| substitute_access(a, &values), &|p| substitute_indices(p, &values), &|p| {
        substitute_pred(p, &values)
    });
    let mut reduced = ssa.clone();
    if let Some(slot) = reduced.stmts.get_mut(k) {
        slot.dims = left.iter().filter_map(|axis| stmt.dims.get(*axis).cloned()).collect();
        slot.rhs = rhs;
    }
    let at_left = |a: &TensorAccess| {
        let mut a = a.clone();
        if a.var == var {
            a.at.remove(gone);
        }
        a
    };
    for stmt in &mut reduced.stmts {
        let mut here = false;
        stmt.rhs.for_each_access(&mut |a| here |= a.var == var);
        if here {
            stmt.rhs = stmt.rhs.map(&mut |a| at_left(a), &Poly::clone, &Pred::clone);
        }
    }
    Some(reduced)
}

/// Shortens the axes of a statement to the extent that all readers traverse.
fn shorten_axes(ssa: &SsaFunction, index: &ReaderIndex, k: usize) -> Option<SsaFunction> {
    let var = StmtId(u32::try_from(k).ok()?);
    let stmt = ssa.stmts.get(k).filter(|s| !s.dims.is_empty())?;
    if !matches!(stmt.rhs, Rhs::Add(_) | Rhs::Map { .. } | Rhs::Contract { .. }) {
        return None;
    }
    let reads = element_reads(ssa, index, var)?;
    let first = reads.first()?;
    let sizes = index_context(ssa, &[]);
    let mut dims = stmt.dims.clone();
    for (axis, slot) in dims.iter_mut().enumerate() {
        let wanted = |read: &ElementRead| read.dims.get(as_index(read.at.get(axis)?)?).cloned();
        let Some(extent) = wanted(first).filter(|n| n != slot && indices([n]).is_empty()) else { continue };
        let all = reads.iter().all(|read| wanted(read).as_ref() == Some(&extent));
        if all && sizes.implies(&Pred::at_most(&extent, slot)) {
            *slot = extent;
        }
    }
    if dims == stmt.dims {
        return None;
    }
    let mut shortened = ssa.clone();
    shortened.stmts.get_mut(k)?.dims = dims;
    Some(shortened)
}

/// Removes the conjuncts that every reader implies, if the accesses stay in bounds.
fn drop_implied_guards(ssa: &SsaFunction, stmt: &Statement, readers: &[ElementRead]) -> Rhs {
    let known = |p: &Pred| {
        readers.iter().all(|read| {
            let mut context = index_context(ssa, &read.dims);
            context.assume(&read.pred);
            context.implies(&substitute_pred(p, &read.at))
        })
    };
    let left = |p: &Pred| Pred::all(p.conjuncts().iter().filter(|p| !known(p)).cloned());
    let inside = |p: &Pred, of: &TensorAccess| is_in_bounds(ssa, &stmt.dims, p, of);
    match &stmt.rhs {
        Rhs::Add(items) => {
            let item = |item: &Addend| {
                let pred = left(&item.pred);
                if inside(&pred, &item.operand) { Addend { pred, ..item.clone() } } else { item.clone() }
            };
            Rhs::Add(items.iter().map(item).collect())
        }
        Rhs::Contract { bound, pred, neg, factors } => {
            let left = left(pred);
            let pred = if factors.iter().all(|f| inside(&left, f)) { left } else { pred.clone() };
            Rhs::Contract { bound: bound.clone(), pred, neg: *neg, factors: factors.clone() }
        }
        other => other.clone(),
    }
}

/// Merges equal statements.
fn merge_equal_stmts(ssa: &mut SsaFunction) {
    let mut first: HashMap<(Vec<Poly>, Rhs, Vec<u32>), StmtId> = HashMap::new();
    let mut same: HashMap<StmtId, StmtId> = HashMap::new();
    for k in 0..ssa.stmts.len() {
        let Some(stmt) = ssa.stmts.get_mut(k) else { continue };
        if !matches!(stmt.rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. }) {
            continue;
        }
        let there =
            |a: &TensorAccess| TensorAccess { var: same.get(&a.var).copied().unwrap_or(a.var), at: a.at.clone() };
        stmt.rhs = stmt.rhs.map(&mut |a| there(a), &Poly::clone, &Pred::clone);
        let var = StmtId(u32::try_from(k).unwrap_or(u32::MAX));
        let known = *first.entry((stmt.dims.clone(), stmt.rhs.clone(), stmt.needs.clone())).or_insert(var);
        if known != var {
            same.insert(var, known);
        }
    }
    for stmt in &mut ssa.stmts {
        let there =
            |a: &TensorAccess| TensorAccess { var: same.get(&a.var).copied().unwrap_or(a.var), at: a.at.clone() };
        stmt.rhs = stmt.rhs.map(&mut |a| there(a), &Poly::clone, &Pred::clone);
    }
}

/// **Dead-code elimination**: replaces element-wise statements, reductions, and calls and loops
/// with their results by zeros if nothing reads them. `read` are additional roots.
pub fn eliminate_dead_stmts(ssa: &mut SsaFunction, read: impl IntoIterator<Item = StmtId>) {
    let mut live = vec![false; ssa.stmts.len()];
    let mut open: Vec<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).chain(read).collect();
    for_each_extent_or_check_read(ssa, &mut |v| open.push(v));
    let may_die = |rhs: &Rhs| {
        rhs.is_producer()
            || rhs.producer().is_some()
            || matches!(rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. } | Rhs::Reduce(_))
    };
    open.extend((0..).map(StmtId).zip(&ssa.stmts).filter(|(_, s)| !may_die(&s.rhs)).map(|(v, _)| v));
    while let Some(var) = open.pop() {
        if let Some(slot) = live.get_mut(var.0 as usize)
            && !std::mem::replace(slot, true)
            && let Some(stmt) = ssa.stmts.get(var.0 as usize)
        {
            stmt.rhs.for_each_operand(&mut |v| open.push(v));
        }
    }
    for (stmt, _) in ssa.stmts.iter_mut().zip(live).filter(|(_, live)| !live) {
        stmt.rhs = Rhs::Zero;
        stmt.needs.clear();
    }
}

/// Replaces calls and loops without results by zeros, after a pass has replaced their results.
pub fn remove_resultless_producers(ssa: &mut SsaFunction) {
    let with_results: HashSet<StmtId> = ssa.stmts.iter().filter_map(|stmt| stmt.rhs.producer()).collect();
    for (_, stmt) in (0..)
        .map(StmtId)
        .zip(&mut ssa.stmts)
        .filter(|(var, stmt)| stmt.rhs.is_producer() && !with_results.contains(var))
    {
        stmt.rhs = Rhs::Zero;
        stmt.needs.clear();
    }
}

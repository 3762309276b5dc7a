//! **Elimination of invariant axes.** Removes an axis of a statement if its elements do not depend
//! on the index.
//!
//! A predicate that all readers already imply need not be repeated. In
//! `Y[i] = Σ j: [j < i] · A[i, j] · X[i, j]` with `X[i, j] = [j < i] · B[j]`, the elements of `X`
//! are those of `B` for every `i`. Statements that become equal are merged, and dead ones are
//! removed. Axes are also shortened to the extent that is read.

use std::collections::HashMap;

use super::numbers::{access, alone, context, indices, indices_of, is_inside, places, pred};
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, reads};
use lang_sizes::predicate::{Poly, Pred};

/// Applies the pass to a function; `None` if nothing changes.
pub(super) fn fewer(ssa: &Ssa) -> Option<Ssa> {
    let mut made = seen_through(ssa);
    for k in 0..ssa.stmts.len() {
        // What has lost an axis may lose another.
        while let Some(next) = without_an_axis(made.as_ref().unwrap_or(ssa), k) {
            made = Some(next);
        }
    }
    for k in (0..ssa.stmts.len()).rev() {
        made = shorter(made.as_ref().unwrap_or(ssa), k).or(made);
    }
    let mut made = made?;
    merge(&mut made);
    forget(&mut made, []);
    Some(made)
}

/// The function with questions asked of what views of truth values show, which has fewer axes.
fn seen_through(ssa: &Ssa) -> Option<Ssa> {
    let shown = |of: &Access| {
        let stmt = ssa.stmts.get(of.var.0 as usize).filter(|stmt| stmt.needs.is_empty())?;
        match &stmt.rhs {
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                let [one] = factors.as_slice() else { return None };
                Some(Access { var: one.var, at: one.at.iter().map(|p| at_indices(p, &of.at)).collect() })
            }
            _ => None,
        }
    };
    let asked = |p: &Pred| {
        p.replace_opaque(&|x| {
            let first = Access { var: Var::of_local(x.of).filter(|_| x.array)?, at: x.at.to_vec() };
            let last = std::iter::successors(shown(&first), shown).last()?;
            Some(Pred::Is(last.var.local(), last.var.name(), last.at.into(), true))
        })
    };
    let mut made = ssa.clone();
    let mut changed = false;
    for (stmt, before) in made.stmts.iter_mut().zip(&ssa.stmts) {
        let mut opaque = false;
        before.rhs.for_each_pred(&mut |p| opaque |= p.is_opaque());
        if opaque {
            stmt.rhs = before.rhs.map(&mut Access::clone, &Poly::clone, &asked);
            changed |= stmt.rhs != before.rhs;
        }
    }
    changed.then_some(made)
}

/// One place where a statement is read.
struct Read {
    /// The extents of the reader's indices.
    dims: Vec<Poly>,
    /// Where it is read.
    pred: Pred,
    at: Vec<Poly>,
}

/// Where elements of a statement are read; `None` if it is read in another way too.
fn readers(ssa: &Ssa, var: Var) -> Option<Vec<Read>> {
    let mut all = Vec::new();
    if is_kept(ssa, var) {
        return None;
    }
    for stmt in &ssa.stmts {
        let (mut elements, mut operands) = (0, 0);
        stmt.rhs.for_each_operand(&mut |v| operands += usize::from(v == var));
        if operands == 0 {
            continue;
        }
        let mut see = |of: &Access, pred: &Pred, bound: &[Poly]| {
            if of.var == var {
                elements += 1;
                let dims = stmt.dims.iter().chain(bound).cloned().collect();
                all.push(Read { dims, pred: pred.clone(), at: of.at.clone() });
            }
        };
        match &stmt.rhs {
            Rhs::Add(items) => items.iter().for_each(|item| see(&item.of, &item.pred, &[])),
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

/// Is it read as a whole, by the result, by extents or by checks?
fn is_kept(ssa: &Ssa, var: Var) -> bool {
    let mut kept = ssa.outputs.iter().any(|(_, v)| *v == var);
    let mut see = |v: Var| kept |= v == var;
    for_each_read_apart(ssa, &mut see);
    kept
}

/// Calls with what extents and checks read.
fn for_each_read_apart(ssa: &Ssa, see: &mut dyn FnMut(Var)) {
    ssa.stmts.iter().flat_map(|s| &s.dims).for_each(|n| reads(n, see));
    for check in &ssa.checks {
        check.dims.iter().for_each(|n| reads(n, see));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, see));
    }
}

/// The function without one of the axes of a statement.
fn without_an_axis(ssa: &Ssa, k: usize) -> Option<Ssa> {
    let var = Var(u32::try_from(k).ok()?);
    let stmt = ssa.stmts.get(k)?;
    let is_view = matches!(&stmt.rhs, Rhs::Contract { bound, .. } if bound.is_empty());
    if stmt.dims.len() < 2 || !(is_view || matches!(stmt.rhs, Rhs::Add(_) | Rhs::Map { .. })) {
        return None;
    }
    // Only what questions alone mention may go.
    let mut needed = indices(&stmt.dims);
    stmt.rhs.for_each_poly(&mut |p| needed.extend(indices([p])));
    if (0..stmt.dims.len()).all(|axis| needed.contains(&axis)) {
        return None;
    }
    let reads = readers(ssa, var)?;
    let plain = asked_before(ssa, stmt, &reads);
    plain.for_each_pred(&mut |p| needed.extend(indices_of(p)));
    let gone = (0..stmt.dims.len()).find(|axis| !needed.contains(axis))?;
    let left: Vec<usize> = (0..stmt.dims.len()).filter(|axis| *axis != gone).collect();
    let values = places(&left, stmt.dims.len());
    let rhs = plain.map(&mut |a| access(a, &values), &|p| at_indices(p, &values), &|p| pred(p, &values));
    let mut made = ssa.clone();
    if let Some(slot) = made.stmts.get_mut(k) {
        slot.dims = left.iter().filter_map(|axis| stmt.dims.get(*axis).cloned()).collect();
        slot.rhs = rhs;
    }
    let at_left = |a: &Access| {
        let mut a = a.clone();
        if a.var == var {
            a.at.remove(gone);
        }
        a
    };
    for stmt in &mut made.stmts {
        let mut here = false;
        stmt.rhs.for_each_access(&mut |a| here |= a.var == var);
        if here {
            stmt.rhs = stmt.rhs.map(&mut |a| at_left(a), &Poly::clone, &Pred::clone);
        }
    }
    Some(made)
}

/// The function with axes of a statement only as long as all its readers' index over them.
fn shorter(ssa: &Ssa, k: usize) -> Option<Ssa> {
    let var = Var(u32::try_from(k).ok()?);
    let stmt = ssa.stmts.get(k).filter(|s| !s.dims.is_empty())?;
    if !matches!(stmt.rhs, Rhs::Add(_) | Rhs::Map { .. } | Rhs::Contract { .. }) {
        return None;
    }
    let reads = readers(ssa, var)?;
    let first = reads.first()?;
    let sizes = context(ssa, &[]);
    let mut dims = stmt.dims.clone();
    for (axis, slot) in dims.iter_mut().enumerate() {
        let wanted = |read: &Read| read.dims.get(alone(read.at.get(axis)?)?).cloned();
        let Some(extent) = wanted(first).filter(|n| n != slot && indices([n]).is_empty()) else { continue };
        let all = reads.iter().all(|read| wanted(read).as_ref() == Some(&extent));
        if all && sizes.implies(&Pred::at_most(&extent, slot)) {
            *slot = extent;
        }
    }
    if dims == stmt.dims {
        return None;
    }
    let mut made = ssa.clone();
    made.stmts.get_mut(k)?.dims = dims;
    Some(made)
}

/// The right-hand side without questions that all readers ask before they read.
fn asked_before(ssa: &Ssa, stmt: &Stmt, readers: &[Read]) -> Rhs {
    let known = |p: &Pred| {
        readers.iter().all(|read| {
            let mut context = context(ssa, &read.dims);
            context.assume(&read.pred);
            context.implies(&pred(p, &read.at))
        })
    };
    let left = |p: &Pred| Pred::all(p.conjuncts().iter().filter(|p| !known(p)).cloned());
    let inside = |p: &Pred, of: &Access| is_inside(ssa, &stmt.dims, p, of);
    match &stmt.rhs {
        Rhs::Add(items) => {
            let item = |item: &Addend| {
                let pred = left(&item.pred);
                if inside(&pred, &item.of) { Addend { pred, ..item.clone() } } else { item.clone() }
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

/// Statements that are the same are one.
fn merge(ssa: &mut Ssa) {
    let mut first: HashMap<(Vec<Poly>, Rhs, Vec<u32>), Var> = HashMap::new();
    let mut same: HashMap<Var, Var> = HashMap::new();
    for k in 0..ssa.stmts.len() {
        let Some(stmt) = ssa.stmts.get_mut(k) else { continue };
        if !matches!(stmt.rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. }) {
            continue;
        }
        let there = |a: &Access| Access { var: same.get(&a.var).copied().unwrap_or(a.var), at: a.at.clone() };
        stmt.rhs = stmt.rhs.map(&mut |a| there(a), &Poly::clone, &Pred::clone);
        let var = Var(u32::try_from(k).unwrap_or(u32::MAX));
        let known = *first.entry((stmt.dims.clone(), stmt.rhs.clone(), stmt.needs.clone())).or_insert(var);
        if known != var {
            same.insert(var, known);
        }
    }
    for stmt in &mut ssa.stmts {
        let there = |a: &Access| Access { var: same.get(&a.var).copied().unwrap_or(a.var), at: a.at.clone() };
        stmt.rhs = stmt.rhs.map(&mut |a| there(a), &Poly::clone, &Pred::clone);
    }
}

/// **Dead-code elimination**: replaces element-wise statements and reductions that nothing reads by
/// zeros. `read` are additional roots.
pub(super) fn forget(ssa: &mut Ssa, read: impl IntoIterator<Item = Var>) {
    let mut live = vec![false; ssa.stmts.len()];
    let mut open: Vec<Var> = ssa.outputs.iter().map(|(_, v)| *v).chain(read).collect();
    for_each_read_apart(ssa, &mut |v| open.push(v));
    let plain = |rhs: &Rhs| matches!(rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. } | Rhs::Reduce(_));
    open.extend((0..).map(Var).zip(&ssa.stmts).filter(|(_, s)| !plain(&s.rhs)).map(|(v, _)| v));
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

//! **Dependences.** Describes each statement for fusion: the elements that it reads, at which
//! indices, and the values that must exist before its loops start.
//!
//! [`super::group`] fuses these items into loops.

use std::collections::HashSet;

use super::numbers::context;
use super::products::Product;
use super::repeat::State;
use super::{Prepared, is_trivial};
use lang_ir::reduce::Reduce;
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index, index_number, reads};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A statement to be scheduled.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) var: Var,
    /// Whether it may be in the loops of a kernel.
    pub(super) in_kernel: bool,
    /// The number of its indices that are axes of its tensor; the others are reduced.
    pub(super) free: usize,
    /// The extents of all its indices.
    pub(super) extents: Vec<Poly>,
    /// The current state of each index.
    pub(super) indices: Vec<Place>,
    /// The accesses that it reads, over its indices; constants and index expressions are replaced
    /// by their own reads.
    pub(super) reads: Vec<Access>,
    /// The variables that must be complete before its loops start, because extents, checks or
    /// gathers depend on them.
    pub(super) asks: Vec<Var>,
    /// The checks that must precede it.
    pub(super) needs: Vec<u32>,
    /// Whether it is a reduction.
    pub(super) reduces: bool,
    /// Whether it is an arg-reduction. Its terms must then come in order, with nothing between
    /// them.
    pub(super) chooses: bool,
    /// Whether its accumulators are already initialised.
    pub(super) cleared: bool,
    /// The matrix product that it is, if any.
    pub(super) product: Option<Product>,
    /// The flattened loop that it belongs to, and the index that numbers the iterations.
    pub(super) repeat: Option<(usize, usize)>,
    /// The loop-carried state that it is, if any.
    pub(super) state: Option<State>,
    /// Whether it is the condition of its loop.
    pub(super) goes_on: bool,
}

/// The state of an item's index.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Place {
    /// Not yet assigned.
    Open,
    /// The index of a loop.
    Loop(Index),
    /// A value that an equation determines.
    Told(Poly),
    /// An index of a matrix product, which covers its full range.
    Product,
}

impl Item {
    /// Returns the indices that still need loops.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> {
        self.indices.iter().enumerate().filter(|(_, p)| **p == Place::Open).map(|(k, _)| k)
    }

    /// Returns the open indices that may become loops now. An arg-reduction's own axes precede the
    /// index of its terms.
    pub(super) fn ready(&self) -> impl Iterator<Item = usize> {
        let before = if self.chooses && self.open().any(|k| k < self.free) { self.free } else { usize::MAX };
        self.open().filter(move |k| *k < before)
    }

    /// It is a product of matrices, if nothing else is known of its indices.
    fn multiplies(&mut self, product: Product) {
        if self.indices.iter().any(|p| *p != Place::Open) {
            return;
        }
        for k in product.along {
            self.indices.get_mut(k).into_iter().for_each(|slot| *slot = Place::Product);
        }
        self.reads.extend(product.factors.iter().cloned());
        self.product = Some(product);
    }

    /// Returns whether the loop over this index is that over the terms of an arg-reduction.
    pub(super) fn chooses_along(&self, k: usize) -> bool {
        self.chooses && k >= self.free
    }
}

/// Facts about all statements.
pub(super) struct Items {
    /// The variables that the checks of the whole function read.
    pub(super) asked_last: Vec<Var>,
}

impl Items {
    pub(super) fn new(ssa: &Ssa) -> Self {
        Self { asked_last: ssa.needs.iter().flat_map(|c| asked_by(ssa, *c)).collect() }
    }

    /// Returns the statements to schedule, each after those that it reads. Inputs and inlined
    /// statements are excluded.
    pub(super) fn all(&self, prepared: &Prepared) -> Vec<Item> {
        let ssa = &*prepared.ssa;
        let kept = self.kept(ssa);
        let mut all = Vec::new();
        for var in ordered(prepared) {
            let Some(stmt) = ssa.stmts.get(var.0 as usize) else { continue };
            let is_input = matches!(stmt.rhs, Rhs::Input(_));
            if is_input || is_trivial(&stmt.rhs) && !kept.contains(&var) {
                continue;
            }
            let mut item = item(ssa, var, stmt);
            // What is done apart has loops of its own.
            item.asks.extend(item.reads.iter().map(|read| read.var).filter(|v| prepared.apart.contains(&v.0)));
            if let Some(product) = prepared.products.get(&var).filter(|_| item.in_kernel) {
                item.multiplies(product.clone());
            }
            if let Some((nth, repeat)) = prepared.repeat_of(var) {
                item.repeat = repeat.axis.get(&var).map(|axis| (nth, *axis));
                item.state = repeat.states.get(&var).cloned();
                item.goes_on = repeat.goes_on == Some(var);
                if let Some(state) = repeat.states.get(&var) {
                    item.reads.push(state.init.clone());
                    state.init.at.iter().for_each(|p| read_in(ssa, p, &mut item.reads, &mut item.needs));
                }
            }
            all.push(item);
        }
        all
    }

    /// Returns the trivial statements that must exist as tensors, because they are read as a whole,
    /// by extents or by checks.
    pub(super) fn kept(&self, ssa: &Ssa) -> HashSet<Var> {
        let mut kept: HashSet<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        kept.extend(&self.asked_last);
        for (k, stmt) in ssa.stmts.iter().enumerate().rev() {
            // One that is kept is run by itself.
            let alone =
                !fits(ssa, stmt) || is_trivial(&stmt.rhs) && u32::try_from(k).is_ok_and(|k| kept.contains(&Var(k)));
            let mut keep = |v: Var| kept.extend([v]);
            stmt.needs.iter().flat_map(|c| asked_by(ssa, *c)).for_each(&mut keep);
            stmt.dims.iter().for_each(|n| reads(n, &mut keep));
            if alone {
                stmt.rhs.for_each_operand(&mut keep);
            }
        }
        kept
    }
}

/// The statements, each behind those it reads: one of those behind all others right before what reads it first. Those of
/// a loop are side by side, in its order.
fn ordered(prepared: &Prepared) -> Vec<Var> {
    let ssa = &*prepared.ssa;
    let mut order = Vec::new();
    let mut placed = vec![false; ssa.stmts.len()];
    for k in (0..).take(ssa.stmts.len()).map(Var) {
        let mut open = vec![(k, false)];
        while let Some((var, ready)) = open.pop() {
            let (Some(slot), Some(stmt)) = (placed.get_mut(var.0 as usize), ssa.stmts.get(var.0 as usize)) else {
                continue;
            };
            let repeat = prepared.repeat_of(var).map(|(_, repeat)| repeat);
            if ready {
                match repeat {
                    Some(repeat) => order.extend(&repeat.order),
                    None => order.push(var),
                }
            } else if !std::mem::replace(slot, true) {
                open.push((var, true));
                let mut see = |v: Var| open.extend((v > k).then_some((v, false)));
                let Some(repeat) = repeat else {
                    stmt.rhs.for_each_operand(&mut see);
                    stmt.needs.iter().flat_map(|c| asked_by(ssa, *c)).for_each(&mut see);
                    prepared.products.get(&var).into_iter().flat_map(|p| &p.factors).for_each(|f| see(f.var));
                    continue;
                };
                for of in &repeat.order {
                    placed.get_mut(of.0 as usize).into_iter().for_each(|slot| *slot = true);
                }
                let outside = |v: Var| !repeat.axis.contains_key(&v);
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

/// Returns the variables that a check reads.
pub(super) fn asked_by(ssa: &Ssa, check: u32) -> Vec<Var> {
    let mut all = Vec::new();
    if let Some(check) = ssa.checks.get(check as usize) {
        check.dims.iter().for_each(|n| reads(n, &mut |v| all.push(v)));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut |v| all.push(v)));
    }
    all
}

pub(super) fn item(ssa: &Ssa, var: Var, stmt: &Stmt) -> Item {
    let mut extents = stmt.dims.clone();
    let free = extents.len();
    if let Rhs::Contract { bound, .. } | Rhs::Reduce(Reduce { bound, .. }) = &stmt.rhs {
        extents.extend(bound.iter().cloned());
    }
    let (mut found, mut needs) = (Vec::new(), stmt.needs.clone());
    let mut asks: Vec<Var> = Vec::new();
    let in_kernel = fits(ssa, stmt) && !is_trivial(&stmt.rhs);
    stmt.rhs.for_each_access(&mut |a| read(ssa, a, &mut found, &mut needs));
    stmt.rhs.for_each_poly(&mut |p| read_in(ssa, p, &mut found, &mut needs));
    stmt.rhs.for_each_pred(&mut |p| read_by(ssa, p, &mut found, &mut needs));
    stmt.dims.iter().for_each(|n| reads(n, &mut |v| asks.push(v)));
    asks.extend(needs.iter().flat_map(|c| asked_by(ssa, *c)));
    let mut indices = vec![Place::Open; extents.len()];
    let reduces = extents.len() > free || matches!(stmt.rhs, Rhs::Reduce(_));
    if let Rhs::Contract { pred, .. } = &stmt.rhs
        && reduces
    {
        told(pred, free, &mut indices);
    }
    let chooses = matches!(&stmt.rhs, Rhs::Reduce(r) if r.reducer.gives_place());
    Item {
        var,
        in_kernel,
        free,
        extents,
        indices,
        reads: found,
        asks,
        needs,
        reduces,
        chooses,
        cleared: false,
        product: None,
        repeat: None,
        goes_on: false,
        state: None,
    }
}

/// Indices of the elements that equations with bound indices or with data tell.
fn told(pred: &Pred, free: usize, indices: &mut [Place]) {
    for k in 0..free {
        let Some(value) = pred.solution(&index(k, &Poly::default()).atom()) else { continue };
        let (mut late, mut known) = (false, true);
        value.for_each_atom(&mut |a| match a {
            Atom::Local(l, _) => {
                let Some(j) = index_number(*l).filter(|j| *j < indices.len()) else { return };
                late |= j >= free;
                known &= indices.get(j) == Some(&Place::Open);
            }
            Atom::Read(..) => late = true,
            _ => {}
        });
        if late
            && known
            && let Some(slot) = indices.get_mut(k)
        {
            *slot = Place::Told(value);
        }
    }
}

/// What an access reads: of what is written where it is read, what that reads.
fn read(ssa: &Ssa, of: &Access, found: &mut Vec<Access>, needs: &mut Vec<u32>) {
    of.at.iter().for_each(|p| read_in(ssa, p, found, needs));
    match ssa.stmts.get(of.var.0 as usize) {
        Some(stmt) if is_trivial(&stmt.rhs) => {
            needs.extend(&stmt.needs);
            if let Rhs::Index(p) = &stmt.rhs {
                read_in(ssa, &at_indices(p, &of.at), found, needs);
            }
        }
        _ => found.push(of.clone()),
    }
}

fn read_in(ssa: &Ssa, p: &Poly, found: &mut Vec<Access>, needs: &mut Vec<u32>) {
    // Atoms inside atoms come too.
    p.for_each_atom(&mut |a| {
        if let Atom::Read(x, _, at) = a
            && let Some(var) = Var::of_local(*x)
        {
            read(ssa, &Access { var, at: at.to_vec() }, found, needs);
        }
    });
}

fn read_by(ssa: &Ssa, p: &Pred, found: &mut Vec<Access>, needs: &mut Vec<u32>) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| read_by(ssa, p, found, needs)),
        Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => read_in(ssa, p, found, needs),
        Pred::Is(x, _, at, _) | Pred::Member(x, _, at, _) => {
            if let Some(var) = Var::of_local(*x) {
                read(ssa, &Access { var, at: at.to_vec() }, found, needs);
            }
        }
        Pred::Any(_, body, _) => read_by(ssa, body, found, needs),
    }
}

/// Returns whether loops of a kernel can compute the statement.
pub(super) fn fits(ssa: &Ssa, stmt: &Stmt) -> bool {
    if stmt.scalar.is_none() || stmt.dims.iter().any(has_reads) {
        return false;
    }
    let (mut plain, mut known) = (true, true);
    stmt.rhs.for_each_pred(&mut |p| plain &= is_plain(p));
    stmt.rhs.for_each_poly(&mut |p| p.for_each_atom(&mut |a| known &= is_known(a)));
    stmt.rhs.for_each_pred(&mut |p| {
        p.visit(&mut |p| p.for_each_atom(&mut |a| known &= is_known(a)), &mut |_| {});
    });
    // Whatever is read has elements.
    stmt.rhs.for_each_operand(&mut |v| plain &= ssa.stmts.get(v.0 as usize).is_some_and(|s| s.scalar.is_some()));
    plain
        && known
        && match &stmt.rhs {
            Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) | Rhs::Add(_) | Rhs::Map { .. } => true,
            Rhs::Contract { bound, .. } => !bound.iter().any(has_reads),
            Rhs::Reduce(r) => {
                let of = ssa.stmts.get(r.of.var.0 as usize).and_then(|s| s.scalar);
                let number = match of {
                    Some(s @ Scalar::I64) => r.reducer.neutral(s) == r.reducer.nothing(s) || has_terms(ssa, stmt, r),
                    other => matches!(other, Some(Scalar::F64 | Scalar::F32)),
                };
                // Of several bound indices another order of loops would choose another of equals.
                let fits = if r.reducer.gives_place() { r.bound.len() == 1 } else { r.pred.is_true() };
                fits && number && !r.bound.iter().any(has_reads)
            }
            _ => false,
        }
}

/// Has a reduction a term wherever its checks hold? What an integer one begins with is no value of none.
fn has_terms(ssa: &Ssa, stmt: &Stmt, of: &Reduce) -> bool {
    let mut known = context(ssa, &stmt.dims);
    let checks = stmt.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
    let asked = checks.filter(|check| check.guard.is_true() && (check.dims.is_empty() || check.dims == stmt.dims));
    asked.for_each(|check| known.assume(&check.cond));
    of.terms.is_true() && of.bound.iter().all(|n| known.implies(&Pred::less(&Poly::default(), n)))
}

pub(super) fn has_reads(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

fn is_known(a: &Atom) -> bool {
    !matches!(a, Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow)
}

/// No relation and no existential.
fn is_plain(p: &Pred) -> bool {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(is_plain),
        Pred::Member(..) | Pred::Any(..) => false,
        Pred::Ge(_) | Pred::Eq(_) | Pred::Ne(_) | Pred::Is(..) => true,
    }
}

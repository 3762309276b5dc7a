//! **Scalarisation of short axes.** Applies to an axis with a small constant extent, as in
//! `[n, 3]`, if something reads single elements of it. Each element becomes a statement. It then is
//! in the loop over the remaining axes, needs no memory, and zeros and ones in it are
//! constant-folded. A sum over such an axis is unrolled.
//!
//! An axis qualifies if all its readers use indices that become constants ([`Axes`]). An array of
//! the result is assembled again.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fewer::forget;
use super::numbers::{indices, indices_of};
use super::points::in_order;
use lang_ir::region::Loop;
use lang_ir::ssa::{
    Access, Addend, Builder, Check, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index, index_number, reads,
};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// Axes have no more elements than this; where the function would be too long by that, than the next.
const LENGTHS: [i128; 2] = [12, 4];

/// A sum of no more terms is written out for itself, others where an axis is.
const FEW: i128 = 4;

/// A function is not made longer than this: which statements share loops takes time that grows faster than they do.
const LONGEST: usize = 600;

/// Scalarises the short axes of a function. Returns it, and for each statement the original one
/// that it is an element of. `None` if nothing qualifies or the result is too long.
pub(super) fn short_axes(ssa: &Ssa) -> Option<(Ssa, Vec<Var>)> {
    // New statements may stand behind those that read them.
    let (ssa, order) = in_order(ssa)?;
    let (made, made_of) = LENGTHS.iter().find_map(|most| {
        let axes = Axes::of(&ssa, *most)?;
        (axes.length(&ssa) <= LONGEST).then(|| Pass::new(&ssa, &axes).made())
    })?;
    let old = |v: &Var| order.get(v.0 as usize).and_then(|k| u32::try_from(*k).ok()).map_or(*v, Var);
    let made_of = made_of.iter().map(old).collect();
    Some((made, made_of))
}

/// An axis of a statement, those of what it sums over behind its own.
type Axis = (u32, usize);

/// The axes that are written out.
struct Axes {
    on: HashMap<Axis, i128>,
}

/// What is found out about axes.
#[derive(Default)]
struct Found {
    /// How many elements they have.
    short: HashMap<Axis, i128>,
    /// Where one is read at an index that is made of indices: which axes those run over.
    read_at: Vec<(Axis, Vec<Axis>)>,
    /// Those of which single elements are meant.
    seeds: HashSet<Axis>,
    /// Those of one statement that a predicate compares, and those that it sums over.
    together: Vec<Vec<Axis>>,
    /// Those that somebody reads in another way.
    whole: HashSet<Axis>,
}

impl Axes {
    /// Those of a function; none if there are none.
    fn of(ssa: &Ssa, most: i128) -> Option<Self> {
        let mut found = Found::default();
        (0..).zip(&ssa.stmts).for_each(|(k, stmt)| found.axes(k, stmt, most));
        (0..).zip(&ssa.stmts).for_each(|(k, stmt)| found.readers(ssa, k, stmt));
        for check in &ssa.checks {
            check.dims.iter().for_each(|n| found.read_in(ssa, n));
            [&check.guard, &check.cond].into_iter().for_each(|p| found.asked_in(ssa, p));
        }
        let on = found.settled();
        (!on.is_empty()).then_some(Self { on })
    }

    /// Which axes of a statement are written out.
    fn of_stmt(&self, k: u32, count: usize) -> Vec<Option<i128>> {
        (0..count).map(|axis| self.on.get(&(k, axis)).copied()).collect()
    }

    /// How many statements there will be.
    fn length(&self, ssa: &Ssa) -> usize {
        let of = |(k, stmt): (u32, &Stmt)| {
            let bound = if let Rhs::Contract { bound, .. } = &stmt.rhs { bound.len() } else { 0 };
            let count = |from: usize, to: usize| {
                (from..to).filter_map(|axis| self.on.get(&(k, axis))).fold(1_i128, |all, n| all.saturating_mul(*n))
            };
            let (own, terms) = (count(0, stmt.dims.len()), count(stmt.dims.len(), stmt.dims.len() + bound));
            usize::try_from(own.saturating_mul(terms)).unwrap_or(usize::MAX)
        };
        (0..).zip(&ssa.stmts).map(of).fold(0, usize::saturating_add)
    }
}

impl Found {
    fn axes(&mut self, k: u32, stmt: &Stmt, most: i128) {
        let short = |n: &Poly| n.as_constant().filter(|n| (1..=most).contains(n));
        let bound = match &stmt.rhs {
            Rhs::Contract { bound, .. } => bound.as_slice(),
            Rhs::Add(_) | Rhs::Map { .. } | Rhs::Index(_) | Rhs::Reduce(_) => &[],
            _ => return,
        };
        for (axis, n) in stmt.dims.iter().enumerate() {
            self.short.extend(short(n).map(|n| ((k, axis), n)));
        }
        // All terms of a sum are written out or none: they are added in their order.
        let Some(terms) = bound.iter().map(short).collect::<Option<Vec<i128>>>() else { return };
        self.together.push((stmt.dims.len()..).take(terms.len()).map(|axis| (k, axis)).collect());
        for (axis, n) in (stmt.dims.len()..).zip(&terms) {
            self.short.insert((k, axis), *n);
            if *n <= FEW && !stmt.dims.is_empty() {
                self.seeds.insert((k, axis));
            }
        }
    }

    fn readers(&mut self, ssa: &Ssa, k: u32, stmt: &Stmt) {
        stmt.dims.iter().for_each(|n| self.read_in(ssa, n));
        let by_element =
            matches!(stmt.rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. } | Rhs::Reduce(_) | Rhs::Index(_));
        stmt.rhs.for_each_access(&mut |of| self.read(ssa, by_element.then_some(k), of.var, &of.at));
        let mut polys: Vec<Poly> = Vec::new();
        stmt.rhs.for_each_poly(&mut |p| polys.push(p.clone()));
        let mut opaque: Vec<(Var, Vec<Poly>)> = Vec::new();
        stmt.rhs.for_each_pred(&mut |p| {
            p.visit(&mut |p| polys.push(p.clone()), &mut |_| {});
            opaque_of(p, &mut opaque);
            let compared = p.conjuncts().iter().map(|p| indices_of(p).into_iter().map(|axis| (k, axis)).collect());
            self.together.extend(compared.filter(|axes: &Vec<Axis>| axes.len() > 1));
        });
        for p in &polys {
            p.for_each_atom(&mut |a| {
                if let Atom::Read(x, _, at) = a
                    && let Some(var) = Var::of_local(*x)
                {
                    self.read(ssa, by_element.then_some(k), var, at);
                }
            });
        }
        opaque.iter().for_each(|(var, at)| self.read(ssa, by_element.then_some(k), *var, at));
        // The elements of an array that is written down.
        if let Rhs::Add(items) = &stmt.rhs {
            let conjuncts = items.iter().flat_map(|item| item.pred.conjuncts().iter());
            for p in conjuncts {
                for axis in indices_of(p) {
                    let number = p.solution(&index(axis, &Poly::default()).atom());
                    if number.is_some_and(|n| n.as_constant().is_some()) {
                        self.seeds.insert((k, axis));
                    }
                }
            }
        }
    }

    /// Notes a place where elements are read. `by`: the statement whose indices the place has.
    fn read(&mut self, ssa: &Ssa, by: Option<u32>, of: Var, at: &[Poly]) {
        let count = ssa.stmts.get(of.0 as usize).map_or(0, |stmt| stmt.dims.len());
        for axis in 0..count {
            let own = (of.0, axis);
            match (at.get(axis), by) {
                (Some(p), _) if p.as_constant().is_some() => drop(self.seeds.insert(own)),
                (Some(p), Some(by)) if is_of_indices(p) => {
                    self.read_at.push((own, indices([p]).into_iter().map(|j| (by, j)).collect()));
                }
                _ => drop(self.whole.insert(own)),
            }
        }
    }

    /// What extents and checks read is an array.
    fn read_in(&mut self, ssa: &Ssa, p: &Poly) {
        reads(p, &mut |v| self.read(ssa, None, v, &[]));
    }

    fn asked_in(&mut self, ssa: &Ssa, p: &Pred) {
        let mut all = Vec::new();
        for_each_read(p, &mut |v| all.push(v));
        all.into_iter().for_each(|v| self.read(ssa, None, v, &[]));
    }

    /// The axes that can be written out, of those that belong together with one of which single elements are meant.
    fn settled(mut self) -> HashMap<Axis, i128> {
        for axis in &self.whole {
            self.short.remove(axis);
        }
        loop {
            let before = self.short.len();
            for (own, by) in &self.read_at {
                if !by.iter().all(|axis| self.short.contains_key(axis)) {
                    self.short.remove(own);
                }
            }
            if self.short.len() == before {
                break;
            }
        }
        let mut on: HashSet<Axis> = self.seeds.iter().copied().filter(|axis| self.short.contains_key(axis)).collect();
        loop {
            let before = on.len();
            for (own, by) in self.read_at.iter().filter(|(own, _)| self.short.contains_key(own)) {
                if on.contains(own) || by.iter().any(|axis| on.contains(axis)) {
                    on.insert(*own);
                    on.extend(by);
                }
            }
            for axes in &self.together {
                if axes.iter().any(|axis| on.contains(axis)) {
                    on.extend(axes.iter().filter(|axis| self.short.contains_key(axis)));
                }
            }
            if on.len() == before {
                break;
            }
        }
        self.short.retain(|axis, _| on.contains(axis));
        self.short
    }
}

/// Is it made of indices alone?
fn is_of_indices(p: &Poly) -> bool {
    let mut other = false;
    p.for_each_atom(&mut |a| {
        other |= match a {
            Atom::Local(l, _) => index_number(*l).is_none(),
            Atom::Div(..) | Atom::Mod(..) | Atom::Min(..) | Atom::Max(..) => false,
            _ => true,
        };
    });
    !other
}

/// The truth values that a predicate asks, and where.
fn opaque_of(p: &Pred, all: &mut Vec<(Var, Vec<Poly>)>) {
    let found = RefCell::new(Vec::new());
    let _ = p.replace_opaque(&|x| {
        found.borrow_mut().extend(Var::of_local(x.of).map(|var| (var, x.at.to_vec())));
        None
    });
    all.extend(found.into_inner());
}

/// Where the elements of a statement are.
enum There {
    /// In one statement.
    Whole(Var),
    /// In one for each of the elements of some axes, the last fastest.
    Pieces(Vec<Option<i128>>, Vec<Var>),
}

struct Pass<'a> {
    ssa: &'a Ssa,
    axes: &'a Axes,
    builder: Builder,
    there: Vec<There>,
    made_of: Vec<Var>,
    /// What loops became, by where they are: parts of one stay parts of one.
    loops: HashMap<usize, Arc<Loop>>,
}

impl<'a> Pass<'a> {
    fn new(ssa: &'a Ssa, axes: &'a Axes) -> Self {
        let sizes = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        Self { ssa, axes, builder: Builder::new(sizes), there: Vec::new(), made_of: Vec::new(), loops: HashMap::new() }
    }

    fn made(mut self) -> (Ssa, Vec<Var>) {
        let ssa = self.ssa;
        self.builder.checks.clone_from(&ssa.checks);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let there = self.statement(k, stmt);
            if let (There::Whole(var), Some(name)) = (&there, &stmt.name)
                && let Some(Stmt { name: slot @ None, .. }) = self.builder.stmts.get_mut(var.0 as usize)
            {
                *slot = Some(name.clone());
            }
            self.there.push(there);
            self.made_of.resize(self.builder.stmts.len(), Var(k));
        }
        let checks: Vec<Check> = ssa.checks.iter().map(|check| self.check(check)).collect();
        let mut made = ssa.clone();
        for (leaf, var) in &mut made.outputs {
            leaf.dims = leaf.dims.iter().map(|n| self.poly(n, &[])).collect();
            let of = *var;
            *var = self.whole(of);
            self.made_of.resize(self.builder.stmts.len(), of);
        }
        made.result = made.result.map_sizes(&|n| self.poly(n, &[]));
        made.inputs.iter_mut().flat_map(|i| &mut i.leaf.dims).for_each(|n| *n = self.poly(n, &[]));
        (made.stmts, made.checks) = (self.builder.stmts, checks);
        forget(&mut made, []);
        (made, self.made_of)
    }

    fn check(&self, check: &Check) -> Check {
        let own: Vec<Poly> = check.dims.iter().enumerate().map(|(k, n)| index(k, n).value()).collect();
        Check {
            dims: check.dims.iter().map(|n| self.poly(n, &own)).collect(),
            guard: self.pred(&check.guard, &own),
            cond: self.pred(&check.cond, &own),
            what: check.what.clone(),
        }
    }

    fn statement(&mut self, k: u32, stmt: &Stmt) -> There {
        let bound = if let Rhs::Contract { bound, .. } = &stmt.rhs { bound.len() } else { 0 };
        let all = self.axes.of_stmt(k, stmt.dims.len() + bound);
        let (own, terms) = all.split_at(stmt.dims.len().min(all.len()));
        if own.iter().all(Option::is_none) {
            return There::Whole(self.element(stmt, own, terms, &[]));
        }
        let pieces = each(own).iter().map(|at| self.element(stmt, own, terms, at)).collect();
        There::Pieces(own.to_vec(), pieces)
    }

    /// The statement at these numbers for the axes that are written out.
    fn element(&mut self, stmt: &Stmt, own: &[Option<i128>], terms: &[Option<i128>], at: &[i128]) -> Var {
        let mut values: Vec<Poly> = Vec::new();
        let (mut numbers, mut free) = (at.iter(), 0);
        for axis in own {
            values.push(match (axis, numbers.as_slice()) {
                (Some(_), [n, ..]) => {
                    numbers.next();
                    Poly::constant(*n)
                }
                _ => {
                    free += 1;
                    index(free - 1, &Poly::default()).value()
                }
            });
        }
        let left = stmt.dims.iter().zip(own).filter(|(_, axis)| axis.is_none());
        let dims: Vec<Poly> = left.map(|(n, _)| self.poly(n, &values)).collect();
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        if let Rhs::Contract { pred, neg, factors, .. } = &stmt.rhs
            && terms.iter().any(Option::is_some)
        {
            let mut all = Vec::new();
            for at in each(terms) {
                let mut values = values.clone();
                values.extend(at.into_iter().map(Poly::constant));
                let pred = self.pred(pred, &values);
                if self.builder.simplify(&dims, &pred).is_false() {
                    continue;
                }
                let factors: Vec<Access> = factors.iter().map(|a| self.access(a, &values)).collect();
                let of = self.builder.contract(&dims, Vec::new(), &pred, *neg, &factors, needs.clone());
                all.push(Addend { neg: false, pred: Pred::truth(), of: self.all_of(of) });
            }
            return self.builder.add(&dims, scalar, &all, needs);
        }
        match &stmt.rhs {
            Rhs::Contract { bound, pred, neg, factors } => {
                let first = dims.len();
                values.extend((first..first + bound.len()).map(|k| index(k, &Poly::default()).value()));
                let bound = bound.iter().map(|n| self.poly(n, &values)).collect();
                let pred = self.pred(pred, &values);
                let factors: Vec<Access> = factors.iter().map(|a| self.access(a, &values)).collect();
                self.builder.contract(&dims, bound, &pred, *neg, &factors, needs)
            }
            Rhs::Add(items) => {
                let mut terms = Vec::new();
                for item in items {
                    let pred = self.pred(&item.pred, &values);
                    if !self.builder.simplify(&dims, &pred).is_false() {
                        terms.push(Addend { neg: item.neg, pred, of: self.access(&item.of, &values) });
                    }
                }
                self.builder.add(&dims, scalar, &terms, needs)
            }
            Rhs::Map { operation, pred, args } => {
                let pred = self.pred(pred, &values);
                if self.builder.simplify(&dims, &pred).is_false() {
                    return self.builder.zero(&dims, scalar);
                }
                let args: Vec<Access> = args.iter().map(|a| self.access(a, &values)).collect();
                self.builder.map(&dims, scalar, *operation, &pred, &args, needs)
            }
            Rhs::Reduce(r) => {
                let first = dims.len();
                values.extend((first..first + r.bound.len()).map(|k| index(k, &Poly::default()).value()));
                let of = self.access(&r.of, &values);
                let r = r.map(&|p| self.poly(p, &values), &|p| self.pred(p, &values), &mut |_| of.clone());
                self.builder.reduce(&dims, scalar, r, needs)
            }
            Rhs::Index(p) => {
                let p = self.poly(p, &values);
                self.builder.index(&dims, &p)
            }
            Rhs::Loop(of, part) => {
                let found = self.loops.get(&Arc::as_ptr(of).addr()).cloned();
                let of = found.unwrap_or_else(|| {
                    let inner = of.map(&mut |a| self.access(a, &[]), &|p| self.poly(p, &[]), &|p| self.pred(p, &[]));
                    let inner = Arc::new(inner);
                    self.loops.insert(Arc::as_ptr(of).addr(), Arc::clone(&inner));
                    inner
                });
                self.builder.push(dims, stmt.scalar, Rhs::Loop(of, *part), needs)
            }
            other => {
                // Its indices are its own.
                let first = values.len();
                values.extend((first..first + MOST_BOUND).map(|k| index(k, &Poly::default()).value()));
                let rhs =
                    other.map(&mut |a| self.access(a, &values), &|p| self.poly(p, &values), &|p| self.pred(p, &values));
                self.builder.push(dims, stmt.scalar, rhs, needs)
            }
        }
    }

    /// An element, at these values of the reader's indices.
    fn access(&self, of: &Access, values: &[Poly]) -> Access {
        self.at(of.var, of.at.iter().map(|p| self.poly(p, values)).collect())
    }

    /// An element at indices of this function.
    fn at(&self, of: Var, at: Vec<Poly>) -> Access {
        match self.there.get(of.0 as usize) {
            Some(There::Whole(var)) => Access { var: *var, at },
            Some(There::Pieces(axes, pieces)) => {
                let (mut nth, mut rest) = (Some(0_usize), Vec::new());
                for (axis, p) in axes.iter().zip(at) {
                    match axis {
                        None => rest.push(p),
                        Some(extent) => {
                            let number = p.as_constant().filter(|n| (0..*extent).contains(n));
                            let step = |nth: usize| {
                                Some(nth * usize::try_from(*extent).ok()? + usize::try_from(number?).ok()?)
                            };
                            nth = nth.and_then(step);
                        }
                    }
                }
                // Outside of the axis nothing is read.
                let piece = nth.and_then(|nth| pieces.get(nth)).or_else(|| pieces.first());
                Access { var: piece.copied().unwrap_or(of), at: rest }
            }
            None => Access { var: of, at },
        }
    }

    fn poly(&self, p: &Poly, values: &[Poly]) -> Poly {
        at_indices(p, values).substitute(&|a| {
            let Atom::Read(x, _, at) = a else { return None };
            // Its indices have their values already, but for what they read themselves.
            let of = self.at(Var::of_local(*x)?, at.iter().map(|p| self.poly(p, &[])).collect());
            Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
        })
    }

    fn pred(&self, p: &Pred, values: &[Poly]) -> Pred {
        let own = p.map(&|p| self.poly(p, values));
        own.replace_opaque(&|x| {
            let of = self.at(Var::of_local(x.of)?, x.at.to_vec());
            let (local, name, at) = (of.var.local(), of.var.name(), of.at.into());
            Some(if x.array { Pred::Is(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }

    /// All elements of a statement, where they are its own.
    fn all_of(&self, var: Var) -> Access {
        let at = self.builder.dims(var).iter().enumerate().map(|(k, n)| index(k, n).value()).collect();
        Access { var, at }
    }

    /// A statement in one, put together if it is in pieces.
    fn whole(&mut self, of: Var) -> Var {
        let (axes, pieces) = match self.there.get(of.0 as usize) {
            Some(There::Whole(var)) => return *var,
            Some(There::Pieces(axes, pieces)) => (axes.clone(), pieces.clone()),
            None => return of,
        };
        let stmt = self.ssa.stmts.get(of.0 as usize);
        let dims: Vec<Poly> = stmt.into_iter().flat_map(|s| &s.dims).map(|n| self.poly(n, &[])).collect();
        let own = |k: usize| index(k, &Poly::default()).value();
        let rest: Vec<Poly> = axes.iter().enumerate().filter(|(_, axis)| axis.is_none()).map(|(k, _)| own(k)).collect();
        let terms = each(&axes).into_iter().zip(pieces).map(|(at, var)| {
            let which = axes.iter().enumerate().filter(|(_, axis)| axis.is_some()).zip(&at);
            let pred = Pred::all(which.map(|((k, _), n)| Pred::equal(&own(k), &Poly::constant(*n))));
            Addend { neg: false, pred, of: Access { var, at: rest.clone() } }
        });
        let terms: Vec<Addend> = terms.collect();
        let scalar = stmt.and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        self.builder.add(&dims, scalar, &terms, Vec::new())
    }
}

/// A statement has no more indices beside its own.
const MOST_BOUND: usize = 32;

/// All numbers of the axes that are written out, the last fastest.
fn each(axes: &[Option<i128>]) -> Vec<Vec<i128>> {
    let extents = axes.iter().flatten();
    extents.fold(vec![Vec::new()], |all, n| {
        all.iter().flat_map(|at| (0..*n).map(|k| at.iter().copied().chain([k]).collect())).collect()
    })
}

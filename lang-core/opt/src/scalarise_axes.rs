//! **Scalarisation of short axes.** Applies to an axis with a small constant extent, as in
//! `[n, 3]`, if something reads single elements of it. Each element becomes a statement in the loop
//! over the remaining axes. This statement needs no memory, and its zeros and ones are
//! constant-folded. A sum over such an axis is unrolled.
//!
//! An axis qualifies if all its readers use indices that become constants ([`ScalarisedAxes`]). An
//! array of the result is assembled again.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::index_util::{indices, pred_indices};
use super::rewriter::Rewritten;
use lang_base::check_cancelled;
use lang_ir::ssa::{
    Addend, Rhs, RuntimeCheck, SsaBuilder, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read,
    for_each_pred_read, index_number, statement_index, substitute_indices,
};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The limits on the extent of a short axis. The second limit applies if the first makes the
/// function too long.
const MAX_EXTENTS: [i128; 2] = [12, 4];

/// The maximum number of terms of a sum that is unrolled on its own. A longer sum is unrolled only
/// together with a scalarised axis.
const MAX_UNROLLED_TERMS: i128 = 4;

/// The maximum length of the result, because the time of loop fusion grows faster than the number
/// of statements.
const MAX_SCALARISED_STMTS: usize = 600;

/// Scalarises the short axes of a function; `None` if nothing qualifies or the result is too long.
pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    MAX_EXTENTS.iter().find_map(|most| {
        let axes = ScalarisedAxes::select(ssa, *most)?;
        (axes.estimated_stmt_count(ssa) <= MAX_SCALARISED_STMTS)
            .then(|| AxisScalarisation::new(ssa, &axes).rewrite_function())
    })
}

/// An axis of a statement. Bound indices follow its own axes.
type StmtAxis = (u32, usize);

/// The axes to scalarise, with their extents.
struct ScalarisedAxes {
    extent_of: HashMap<StmtAxis, i128>,
}

/// The facts about axes from which [`ScalarisedAxes`] chooses.
#[derive(Default)]
struct AxisFacts {
    /// The extents of the candidates.
    candidates: HashMap<StmtAxis, i128>,
    /// The axes with a subscript that consists of indices, and the reader's axes for these indices.
    subscript_uses: Vec<(StmtAxis, Vec<StmtAxis>)>,
    /// The axes with accesses to single elements, from which the selection starts.
    seeds: HashSet<StmtAxis>,
    /// Groups of axes that are selected together: those that one predicate compares, and the bound
    /// indices of a sum.
    linked_axes: Vec<Vec<StmtAxis>>,
    /// The axes with any other kind of subscript.
    unsupported: HashSet<StmtAxis>,
}

impl ScalarisedAxes {
    /// Selects the axes of a function; `None` if no axis qualifies.
    fn select(ssa: &SsaFunction, most: i128) -> Option<Self> {
        let mut found = AxisFacts::default();
        (0..).zip(&ssa.stmts).for_each(|(k, stmt)| found.add_candidates(k, stmt, most));
        (0..).zip(&ssa.stmts).for_each(|(k, stmt)| found.add_stmt_reads(ssa, k, stmt));
        for check in &ssa.checks {
            check.dims.iter().for_each(|n| found.add_poly_reads(ssa, n));
            [&check.guard, &check.cond].into_iter().for_each(|p| found.add_pred_reads(ssa, p));
        }
        let on = found.select_connected();
        (!on.is_empty()).then_some(Self { extent_of: on })
    }

    /// Returns the extents of a statement's scalarised axes; `None` for the other axes.
    fn stmt_extents(&self, k: u32, count: usize) -> Vec<Option<i128>> {
        (0..count).map(|axis| self.extent_of.get(&(k, axis)).copied()).collect()
    }

    /// Estimates the number of statements of the result.
    fn estimated_stmt_count(&self, ssa: &SsaFunction) -> usize {
        let of = |(k, stmt): (u32, &Statement)| {
            let bound = if let Rhs::Contract { bound, .. } = &stmt.rhs { bound.len() } else { 0 };
            let count = |from: usize, to: usize| {
                (from..to)
                    .filter_map(|axis| self.extent_of.get(&(k, axis)))
                    .fold(1_i128, |all, n| all.saturating_mul(*n))
            };
            let (own, terms) = (count(0, stmt.dims.len()), count(stmt.dims.len(), stmt.dims.len() + bound));
            usize::try_from(own.saturating_mul(terms)).unwrap_or(usize::MAX)
        };
        (0..).zip(&ssa.stmts).map(of).fold(0, usize::saturating_add)
    }
}

impl AxisFacts {
    fn add_candidates(&mut self, k: u32, stmt: &Statement, most: i128) {
        let short = |n: &Poly| n.as_constant().filter(|n| (1..=most).contains(n));
        let bound = match &stmt.rhs {
            Rhs::Contract { bound, .. } => bound.as_slice(),
            Rhs::Add(_) | Rhs::Map { .. } | Rhs::Index(_) | Rhs::Reduce(_) => &[],
            _ => return,
        };
        for (axis, n) in stmt.dims.iter().enumerate() {
            self.candidates.extend(short(n).map(|n| ((k, axis), n)));
        }
        // A sum is unrolled completely or not at all, because its terms must keep their order.
        let Some(terms) = bound.iter().map(short).collect::<Option<Vec<i128>>>() else { return };
        self.linked_axes.push((stmt.dims.len()..).take(terms.len()).map(|axis| (k, axis)).collect());
        for (axis, n) in (stmt.dims.len()..).zip(&terms) {
            self.candidates.insert((k, axis), *n);
            if *n <= MAX_UNROLLED_TERMS && !stmt.dims.is_empty() {
                self.seeds.insert((k, axis));
            }
        }
    }

    fn add_stmt_reads(&mut self, ssa: &SsaFunction, k: u32, stmt: &Statement) {
        stmt.dims.iter().for_each(|n| self.add_poly_reads(ssa, n));
        let by_element =
            matches!(stmt.rhs, Rhs::Add(_) | Rhs::Contract { .. } | Rhs::Map { .. } | Rhs::Reduce(_) | Rhs::Index(_));
        stmt.rhs.for_each_access(&mut |of| self.add_read(ssa, by_element.then_some(k), of.var, &of.at));
        let mut polys: Vec<Poly> = Vec::new();
        stmt.rhs.for_each_poly(&mut |p| polys.push(p.clone()));
        let mut opaque: Vec<(StmtId, Vec<Poly>)> = Vec::new();
        stmt.rhs.for_each_pred(&mut |p| {
            p.visit(&mut |p| polys.push(p.clone()), &mut |_| {});
            opaque_atoms(p, &mut opaque);
            let compared = p.conjuncts().iter().map(|p| pred_indices(p).into_iter().map(|axis| (k, axis)).collect());
            self.linked_axes.extend(compared.filter(|axes: &Vec<StmtAxis>| axes.len() > 1));
        });
        for p in &polys {
            p.for_each_atom(&mut |a| {
                if let Atom::Read(x, _, at) = a
                    && let Some(var) = StmtId::from_local(*x)
                {
                    self.add_read(ssa, by_element.then_some(k), var, at);
                }
            });
        }
        opaque.iter().for_each(|(var, at)| self.add_read(ssa, by_element.then_some(k), *var, at));
        // The elements of an array literal.
        if let Rhs::Add(items) = &stmt.rhs {
            let conjuncts = items.iter().flat_map(|item| item.pred.conjuncts().iter());
            for p in conjuncts {
                for axis in pred_indices(p) {
                    let number = p.solve_for(&statement_index(axis, &Poly::default()).atom());
                    if number.is_some_and(|n| n.as_constant().is_some()) {
                        self.seeds.insert((k, axis));
                    }
                }
            }
        }
    }

    /// Records a read. `by` is the statement over whose indices the subscripts range.
    fn add_read(&mut self, ssa: &SsaFunction, by: Option<u32>, of: StmtId, at: &[Poly]) {
        let count = ssa.stmts.get(of.0 as usize).map_or(0, |stmt| stmt.dims.len());
        for axis in 0..count {
            let own = (of.0, axis);
            match (at.get(axis), by) {
                (Some(p), _) if p.as_constant().is_some() => drop(self.seeds.insert(own)),
                (Some(p), Some(by)) if depends_on_indices_only(p) => {
                    self.subscript_uses.push((own, indices([p]).into_iter().map(|j| (by, j)).collect()));
                }
                _ => drop(self.unsupported.insert(own)),
            }
        }
    }

    /// Records the reads of an extent or a check, which need whole arrays.
    fn add_poly_reads(&mut self, ssa: &SsaFunction, p: &Poly) {
        for_each_poly_read(p, &mut |v| self.add_read(ssa, None, v, &[]));
    }

    fn add_pred_reads(&mut self, ssa: &SsaFunction, p: &Pred) {
        let mut all = Vec::new();
        for_each_pred_read(p, &mut |v| all.push(v));
        all.into_iter().for_each(|v| self.add_read(ssa, None, v, &[]));
    }

    /// Returns the candidates that can be scalarised and are connected to a seed.
    fn select_connected(mut self) -> HashMap<StmtAxis, i128> {
        for axis in &self.unsupported {
            self.candidates.remove(axis);
        }
        loop {
            let before = self.candidates.len();
            for (own, by) in &self.subscript_uses {
                if !by.iter().all(|axis| self.candidates.contains_key(axis)) {
                    self.candidates.remove(own);
                }
            }
            if self.candidates.len() == before {
                break;
            }
        }
        let mut on: HashSet<StmtAxis> =
            self.seeds.iter().copied().filter(|axis| self.candidates.contains_key(axis)).collect();
        loop {
            let before = on.len();
            for (own, by) in self.subscript_uses.iter().filter(|(own, _)| self.candidates.contains_key(own)) {
                if on.contains(own) || by.iter().any(|axis| on.contains(axis)) {
                    on.insert(*own);
                    on.extend(by);
                }
            }
            for axes in &self.linked_axes {
                if axes.iter().any(|axis| on.contains(axis)) {
                    on.extend(axes.iter().filter(|axis| self.candidates.contains_key(axis)));
                }
            }
            if on.len() == before {
                break;
            }
        }
        self.candidates.retain(|axis, _| on.contains(axis));
        self.candidates
    }
}

/// Returns whether the polynomial depends on indices alone.
fn depends_on_indices_only(p: &Poly) -> bool {
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

/// Collects the opaque atoms of a predicate, with their subscripts.
fn opaque_atoms(p: &Pred, all: &mut Vec<(StmtId, Vec<Poly>)>) {
    let found = RefCell::new(Vec::new());
    let _ = p.replace_opaque(&|x| {
        found.borrow_mut().extend(StmtId::from_local(x.source).map(|var| (var, x.indices.to_vec())));
        None
    });
    all.extend(found.into_inner());
}

/// The location of a statement's elements.
enum ElementLocation {
    /// In one statement.
    Whole(StmtId),
    /// In one statement for each element of the scalarised axes, the last axis fastest.
    Pieces(Vec<Option<i128>>, Vec<StmtId>),
}

struct AxisScalarisation<'a> {
    ssa: &'a SsaFunction,
    axes: &'a ScalarisedAxes,
    builder: SsaBuilder,
    locations: Vec<ElementLocation>,
    original_stmts: Vec<StmtId>,
}

impl<'a> AxisScalarisation<'a> {
    fn new(ssa: &'a SsaFunction, axes: &'a ScalarisedAxes) -> Self {
        let sizes = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        Self { ssa, axes, builder: SsaBuilder::new(sizes), locations: Vec::new(), original_stmts: Vec::new() }
    }

    fn rewrite_function(mut self) -> Rewritten {
        let ssa = self.ssa;
        self.builder.checks.clone_from(&ssa.checks);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            check_cancelled();
            let there = self.rewrite_stmt(k, stmt);
            if let (ElementLocation::Whole(var), Some(name)) = (&there, &stmt.name)
                && let Some(Statement { name: slot @ None, .. }) = self.builder.stmts.get_mut(var.0 as usize)
            {
                *slot = Some(name.clone());
            }
            self.locations.push(there);
            self.original_stmts.resize(self.builder.stmts.len(), StmtId(k));
        }
        let checks: Vec<RuntimeCheck> = ssa.checks.iter().map(|check| self.rewrite_check(check)).collect();
        let mut rewritten = ssa.clone();
        for (leaf, var) in &mut rewritten.outputs {
            leaf.dims = leaf.dims.iter().map(|n| self.rewrite_poly(n, &[])).collect();
            let of = *var;
            *var = self.assemble_tensor(of);
            self.original_stmts.resize(self.builder.stmts.len(), of);
        }
        rewritten.result = rewritten.result.map_sizes(&|n| self.rewrite_poly(n, &[]));
        rewritten.inputs.iter_mut().flat_map(|i| &mut i.leaf.dims).for_each(|n| *n = self.rewrite_poly(n, &[]));
        (rewritten.stmts, rewritten.checks) = (self.builder.stmts, checks);
        Rewritten::finish(rewritten, &self.original_stmts, &BTreeSet::new())
    }

    fn rewrite_check(&self, check: &RuntimeCheck) -> RuntimeCheck {
        let own: Vec<Poly> = check.dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
        RuntimeCheck {
            dims: check.dims.iter().map(|n| self.rewrite_poly(n, &own)).collect(),
            guard: self.rewrite_pred(&check.guard, &own),
            cond: self.rewrite_pred(&check.cond, &own),
            failure: check.failure.clone(),
        }
    }

    fn rewrite_stmt(&mut self, k: u32, stmt: &Statement) -> ElementLocation {
        let bound = if let Rhs::Contract { bound, .. } = &stmt.rhs { bound.len() } else { 0 };
        let all = self.axes.stmt_extents(k, stmt.dims.len() + bound);
        let (own, terms) = all.split_at(stmt.dims.len().min(all.len()));
        if own.iter().all(Option::is_none) {
            return ElementLocation::Whole(self.build_element(stmt, own, terms, &[]));
        }
        let pieces = index_tuples(own).iter().map(|at| self.build_element(stmt, own, terms, at)).collect();
        ElementLocation::Pieces(own.to_vec(), pieces)
    }

    /// Builds the statement for one tuple `at` of the scalarised axes.
    fn build_element(&mut self, stmt: &Statement, own: &[Option<i128>], terms: &[Option<i128>], at: &[i128]) -> StmtId {
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
                    statement_index(free - 1, &Poly::default()).value()
                }
            });
        }
        let left = stmt.dims.iter().zip(own).filter(|(_, axis)| axis.is_none());
        let dims: Vec<Poly> = left.map(|(n, _)| self.rewrite_poly(n, &values)).collect();
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        if let Rhs::Contract { pred, neg, factors, .. } = &stmt.rhs
            && terms.iter().any(Option::is_some)
        {
            let mut all = Vec::new();
            for at in index_tuples(terms) {
                let mut values = values.clone();
                values.extend(at.into_iter().map(Poly::constant));
                let pred = self.rewrite_pred(pred, &values);
                if self.builder.simplify(&dims, &pred).is_false() {
                    continue;
                }
                let factors: Vec<TensorAccess> = factors.iter().map(|a| self.rewrite_access(a, &values)).collect();
                let of = self.builder.contract(&dims, Vec::new(), &pred, *neg, &factors, needs.clone());
                all.push(Addend { neg: false, pred: Pred::truth(), operand: self.full_access(of) });
            }
            return self.builder.add(&dims, scalar, &all, needs);
        }
        match &stmt.rhs {
            Rhs::Contract { bound, pred, neg, factors } => {
                let first = dims.len();
                values.extend((first..first + bound.len()).map(|k| statement_index(k, &Poly::default()).value()));
                let bound = bound.iter().map(|n| self.rewrite_poly(n, &values)).collect();
                let pred = self.rewrite_pred(pred, &values);
                let factors: Vec<TensorAccess> = factors.iter().map(|a| self.rewrite_access(a, &values)).collect();
                self.builder.contract(&dims, bound, &pred, *neg, &factors, needs)
            }
            Rhs::Add(items) => {
                let mut terms = Vec::new();
                for item in items {
                    let pred = self.rewrite_pred(&item.pred, &values);
                    if !self.builder.simplify(&dims, &pred).is_false() {
                        terms.push(Addend {
                            neg: item.neg,
                            pred,
                            operand: self.rewrite_access(&item.operand, &values),
                        });
                    }
                }
                self.builder.add(&dims, scalar, &terms, needs)
            }
            Rhs::Map { operation, pred, args } => {
                let pred = self.rewrite_pred(pred, &values);
                if self.builder.simplify(&dims, &pred).is_false() {
                    return self.builder.zero(&dims, scalar);
                }
                let args: Vec<TensorAccess> = args.iter().map(|a| self.rewrite_access(a, &values)).collect();
                self.builder.map(&dims, scalar, *operation, &pred, &args, needs)
            }
            Rhs::Reduce(r) => {
                let first = dims.len();
                values.extend((first..first + r.bound.len()).map(|k| statement_index(k, &Poly::default()).value()));
                let of = self.rewrite_access(&r.operand, &values);
                let r =
                    r.map(&|p| self.rewrite_poly(p, &values), &|p| self.rewrite_pred(p, &values), &mut |_| of.clone());
                self.builder.reduce(&dims, scalar, r, needs)
            }
            Rhs::Index(p) => {
                let p = self.rewrite_poly(p, &values);
                self.builder.index(&dims, &p)
            }
            Rhs::Loop(of) => {
                let rewritten = of.map(&mut |a| self.rewrite_access(a, &[]), &|p| self.rewrite_poly(p, &[]), &|p| {
                    self.rewrite_pred(p, &[])
                });
                self.builder.push(dims, stmt.scalar, Rhs::Loop(Arc::new(rewritten)), needs)
            }
            other => {
                // Bound indices keep their numbers.
                let first = values.len();
                values.extend((first..first + MAX_BOUND_INDICES).map(|k| statement_index(k, &Poly::default()).value()));
                let rhs =
                    other.map(&mut |a| self.rewrite_access(a, &values), &|p| self.rewrite_poly(p, &values), &|p| {
                        self.rewrite_pred(p, &values)
                    });
                self.builder.push(dims, stmt.scalar, rhs, needs)
            }
        }
    }

    /// Rewrites an access, with these values for the reader's indices.
    fn rewrite_access(&self, of: &TensorAccess, values: &[Poly]) -> TensorAccess {
        self.element_access(of.var, of.at.iter().map(|p| self.rewrite_poly(p, values)).collect())
    }

    /// Returns the location of an element.
    fn element_access(&self, of: StmtId, at: Vec<Poly>) -> TensorAccess {
        match self.locations.get(of.0 as usize) {
            Some(ElementLocation::Whole(var)) => TensorAccess { var: *var, at },
            Some(ElementLocation::Pieces(axes, pieces)) => {
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
                // An access out of bounds is never evaluated, so any piece serves.
                let piece = nth.and_then(|nth| pieces.get(nth)).or_else(|| pieces.first());
                TensorAccess { var: piece.copied().unwrap_or(of), at: rest }
            }
            None => TensorAccess { var: of, at },
        }
    }

    fn rewrite_poly(&self, p: &Poly, values: &[Poly]) -> Poly {
        substitute_indices(p, values).substitute(&|a| {
            let Atom::Read(x, _, at) = a else { return None };
            // The subscripts are already substituted, so only nested reads change.
            let of =
                self.element_access(StmtId::from_local(*x)?, at.iter().map(|p| self.rewrite_poly(p, &[])).collect());
            Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
        })
    }

    fn rewrite_pred(&self, p: &Pred, values: &[Poly]) -> Pred {
        let own = p.map(&|p| self.rewrite_poly(p, values));
        own.replace_opaque(&|x| {
            let of = self.element_access(StmtId::from_local(x.source)?, x.indices.to_vec());
            let (local, name, at) = (of.var.local(), of.var.name(), of.at.into());
            Some(if x.is_array { Pred::Element(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }

    /// Returns the access to a statement at its own indices.
    fn full_access(&self, var: StmtId) -> TensorAccess {
        let at = self.builder.dims(var).iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
        TensorAccess { var, at }
    }

    /// Returns the whole tensor of a statement, and assembles its pieces if needed.
    fn assemble_tensor(&mut self, of: StmtId) -> StmtId {
        let (axes, pieces) = match self.locations.get(of.0 as usize) {
            Some(ElementLocation::Whole(var)) => return *var,
            Some(ElementLocation::Pieces(axes, pieces)) => (axes.clone(), pieces.clone()),
            None => return of,
        };
        let stmt = self.ssa.stmts.get(of.0 as usize);
        let dims: Vec<Poly> = stmt.into_iter().flat_map(|s| &s.dims).map(|n| self.rewrite_poly(n, &[])).collect();
        let own = |k: usize| statement_index(k, &Poly::default()).value();
        let rest: Vec<Poly> = axes.iter().enumerate().filter(|(_, axis)| axis.is_none()).map(|(k, _)| own(k)).collect();
        let terms = index_tuples(&axes).into_iter().zip(pieces).map(|(at, var)| {
            let which = axes.iter().enumerate().filter(|(_, axis)| axis.is_some()).zip(&at);
            let pred = Pred::all(which.map(|((k, _), n)| Pred::equal(&own(k), &Poly::constant(*n))));
            Addend { neg: false, pred, operand: TensorAccess { var, at: rest.clone() } }
        });
        let terms: Vec<Addend> = terms.collect();
        let scalar = stmt.and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        self.builder.add(&dims, scalar, &terms, Vec::new())
    }
}

/// The maximum number of bound indices of a statement.
const MAX_BOUND_INDICES: usize = 32;

/// Returns all index tuples of the scalarised axes, the last axis fastest.
fn index_tuples(axes: &[Option<i128>]) -> Vec<Vec<i128>> {
    let extents = axes.iter().flatten();
    extents.fold(vec![Vec::new()], |all, n| {
        all.iter().flat_map(|at| (0..*n).map(|k| at.iter().copied().chain([k]).collect())).collect()
    })
}

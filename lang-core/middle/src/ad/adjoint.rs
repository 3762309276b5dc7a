//! **Adjoint derivative** by transposition of inner products (ATL Figs. 15 and 16).
//!
//! The pass visits statements from the last to the first (6.14, 6.19). Each statement adds terms to
//! the cotangents of its operands; a term keeps the predicate under which it is not zero. All terms
//! of one tensor become one sum (6.25). The pass makes no tensor of zeros: a term that is the whole
//! of a smaller tensor is read through a view.
//!
//! Two rules are misprinted in the paper. In (6.28) the second binding is for the second factor. In
//! (6.29) the cotangent of the result is read at the indices of the result.

use std::sync::Arc;

use super::forward::{exists, passed, spread};
use super::partial::Inside;
use super::reduce::{CHOSEN_ADJ, PRODUCT_ADJ};
use super::{Deriving, Functions, Presence, Tangent, is_real, own};
use crate::norm::hits::Hits;
use crate::norm::inline::Call;
use lang_ir::core::{Derivation, Leaf};
use lang_ir::flat::Source;
use lang_ir::origin::{CALL, LOOP, ZERO};
use lang_ir::reduce::Reducer;
use lang_ir::region::{Loop, Part};
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, index, index_number};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The names under which rules are counted: the paper's numbers, and names for loops and updates
/// (`loops`, `update`).
pub const RULES: &[&str] = &[
    "6.14",
    "6.16",
    "6.19",
    "6.20",
    "6.21",
    "6.22",
    "6.25",
    "6.26",
    "6.27",
    "6.28",
    "6.29",
    CHOSEN_ADJ,
    PRODUCT_ADJ,
    "reverse loop",
    "reverse loop over segments",
    "given again",
    "kept for the reverse",
    "carried cotangent",
    "sum over iterations",
    "put back",
    "cotangent of a slice",
    "trips that the run knows",
    "greatest extent",
    "cotangent of what is put",
    "cotangent of what is overwritten",
];

/// Derives the adjoint by the cotangents of the outputs `of`, each with its predicted support.
/// Returns the finished pass and its outputs: those of the primal, then the cotangents of the
/// inputs `wrt`.
///
/// In the body of a loop, `sums` lists the inputs whose cotangents accumulate over iterations.
/// Their previous values are inputs after the cotangents.
pub(super) fn adjoint<'a>(
    ssa: &'a Ssa,
    of: &[(u32, Presence)],
    wrt: &[u32],
    sums: Option<&[u32]>,
    functions: Functions<'a>,
    hits: &'a mut Hits,
) -> Option<(Deriving<'a>, Vec<(Leaf, Var)>)> {
    let mut pass = Deriving::new(ssa, functions, hits);
    pass.builder.region = sums.is_some();
    pass.hits.count("6.14");
    let active = active(ssa, wrt);
    let mut terms: Vec<Vec<Term>> = vec![Vec::new(); ssa.stmts.len()];
    for (k, present) in of {
        let (leaf, var) = ssa.outputs.get(*k as usize)?;
        pass.rule(*var, "6.16");
        let name = format!("{}_adj", pass.name(*var, "y")).into();
        let cotangent = pass.input(name, Source::Cotangent(*k), Leaf { path: Vec::new(), ..leaf.clone() });
        if active.get(var.0 as usize) == Some(&true) {
            let of = pass.whole(cotangent);
            let addend = Addend { neg: false, pred: Pred::truth(), of };
            let mut inside = present.inside.clone();
            if present.nonzero {
                inside = inside.and(&pass.nonzero(cotangent));
            }
            terms.get_mut(var.0 as usize)?.push(Term { addend, present: inside });
        }
    }
    for k in sums.unwrap_or_default() {
        let (var, input) = (ssa.input(*k)?, ssa.inputs.get(*k as usize)?);
        let name = format!("{}_adj", pass.name(var, "x")).into();
        let sum = pass.input(name, Source::Cotangent(*k), Leaf { path: Vec::new(), ..input.leaf.clone() });
        let addend = Addend { neg: false, pred: Pred::truth(), of: pass.whole(sum) };
        // The previous sum is not a term of this iteration.
        terms.get_mut(var.0 as usize)?.push(Term { addend, present: Pred::falsity() });
    }
    let mut cotangents: Vec<Option<Tangent>> = vec![None; ssa.stmts.len()];
    for (k, stmt) in ssa.stmts.iter().enumerate().rev() {
        let var = Var(u32::try_from(k).ok()?);
        let given = std::mem::take(terms.get_mut(k)?);
        if given.is_empty() {
            pass.rule(var, "6.20");
            pass.after_parts(k, stmt, &cotangents, &active, &mut terms)?;
            continue;
        }
        pass.rule(var, if given.len() > 1 { "6.25" } else { "6.19" });
        let (given, present): (Vec<Addend>, Vec<Pred>) = given.into_iter().map(|t| (t.addend, t.present)).unzip();
        let cotangent = pass.builder.add(&stmt.dims, stmt.scalar.unwrap_or(Scalar::F64), &given, stmt.needs.clone());
        pass.builder.trace.gives(cotangent);
        let present = pass.present(&stmt.dims, present);
        let name = pass.name(var, "");
        if !name.is_empty()
            && let Some(slot) = pass.builder.stmts.get_mut(cotangent.0 as usize)
            && slot.name.is_none()
        {
            slot.name = Some(format!("{name}_adj").into());
        }
        let cotangent = Tangent { var: cotangent, present };
        pass.pass_on(var, stmt, &cotangent, &active, &mut terms)?;
        if let Some(slot) = cotangents.get_mut(k) {
            *slot = Some(cotangent);
        }
        pass.after_parts(k, stmt, &cotangents, &active, &mut terms)?;
    }
    let mut outputs = ssa.outputs.clone();
    for k in wrt {
        let input = ssa.inputs.get(*k as usize)?;
        // An input that the body of a loop does not read may have no statement.
        let var = ssa.input(*k);
        var.into_iter().for_each(|var| pass.made_for(var, ZERO));
        let cotangent = var.and_then(|var| cotangents.get(var.0 as usize)?.as_ref());
        pass.present.push(cotangent.map_or(Pred::falsity(), |c| c.present.clone()));
        let cotangent = cotangent.map(|c| c.var);
        let scalar = input.leaf.scalar.unwrap_or(Scalar::F64);
        let cotangent = cotangent.unwrap_or_else(|| pass.builder.zero(&input.leaf.dims, scalar));
        outputs.push((Leaf { path: Vec::new(), ..input.leaf.clone() }, cotangent));
    }
    Some((pass, outputs))
}

/// A term of a cotangent, with its support.
#[derive(Clone)]
pub(super) struct Term {
    addend: Addend,
    present: Pred,
}

impl Term {
    /// Makes a term that is added everywhere: an element of `of`, with the support `present`.
    pub(super) fn whole(of: Access, present: Pred) -> Self {
        Self { addend: Addend { neg: false, pred: Pred::truth(), of }, present }
    }
}

/// Returns, for each statement, whether it depends on one of these inputs as a real (activity
/// analysis).
pub(super) fn active(ssa: &Ssa, wrt: &[u32]) -> Vec<bool> {
    let mut active: Vec<bool> = Vec::new();
    for stmt in &ssa.stmts {
        let mut depends = matches!(&stmt.rhs, Rhs::Input(k) if wrt.contains(k));
        stmt.rhs.for_each_access(&mut |a| depends |= active.get(a.var.0 as usize) == Some(&true));
        let stopped = matches!(&stmt.rhs, Rhs::Map { operation: lang_ir::core::Operation::Stop, .. });
        active.push(depends && is_real(stmt.scalar) && !stopped);
    }
    active
}

impl Deriving<'_> {
    /// Adds the statement's share to the cotangents of its operands; `None` if it has no
    /// derivative.
    fn pass_on(
        &mut self,
        var: Var,
        stmt: &Stmt,
        cotangent: &Tangent,
        active: &[bool],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
        let is_active = |a: &Access| active.get(a.var.0 as usize) == Some(&true);
        let seed = Access { var: cotangent.var, at: own(&stmt.dims) };
        let present = &cotangent.present;
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) => {
                self.rule(var, "6.21");
            }
            Rhs::Add(items) => {
                for item in items {
                    if !is_active(&item.of) {
                        self.rule(var, "6.22");
                        continue;
                    }
                    self.rule(var, "6.26");
                    let factors = [seed.clone()];
                    self.transpose(stmt, &[], (&item.pred, present), item.neg, &item.of, &factors, terms);
                }
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                for (k, factor) in factors.iter().enumerate().filter(|(_, f)| is_active(f)) {
                    self.rule(var, if factors.len() == 2 { "6.28" } else { "6.29" });
                    let others = factors.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, f)| f.clone());
                    let others: Vec<Access> = others.collect();
                    let pred = pred.and(&self.asked(present, &Inside::of(stmt, bound, pred), &others));
                    let product: Vec<Access> = [seed.clone()].into_iter().chain(others).collect();
                    self.transpose(stmt, bound, (&pred, present), *neg, factor, &product, terms);
                }
            }
            Rhs::Reduce(r) if is_active(&r.of) && r.reducer == Reducer::Prod => {
                self.rule(var, PRODUCT_ADJ);
                let others = self.others(stmt, r)?;
                let inside = r.pred.and(&r.terms);
                let asked = Inside::of(stmt, &r.bound, &inside);
                let pred = inside.and(&self.asked(present, &asked, std::slice::from_ref(&others)));
                self.transpose(stmt, &r.bound, (&pred, present), false, &r.of, &[seed, others], terms);
            }
            Rhs::Reduce(r) if is_active(&r.of) => {
                self.rule(var, CHOSEN_ADJ);
                let (of, pred) = self.chosen(stmt, r)?;
                self.transpose(stmt, &[], (&pred, present), false, &of, &[seed], terms);
            }
            // Positions are integers and have no derivative.
            Rhs::Reduce(_) | Rhs::Order(_) => {}
            Rhs::Map { pred, args, .. } => {
                for (k, arg) in args.iter().enumerate().filter(|(_, a)| is_active(a)) {
                    self.rule(var, "6.27");
                    let Some(mut partial) = self.partial(var, stmt, k) else { continue };
                    // The transposed conversion goes to the type of the argument.
                    if let super::partial::Partial::Convert(to) = &mut partial {
                        *to = self.builder.scalar(arg.var);
                    }
                    let (taken, partial) = self.taken(stmt, partial, arg.var);
                    let pred = pred.and(&taken);
                    let scaled = self.scaled(stmt, &partial, &pred, &seed, present);
                    let factors = [Access { var: scaled, at: own(&stmt.dims) }];
                    self.transpose(stmt, &[], (&pred, present), false, arg, &factors, terms);
                }
            }
            Rhs::Update { .. } => self.update_adjoint(var, stmt, cotangent, active, terms),
            // All parts follow at once, when the first of them is reached (`after_parts`).
            Rhs::Call { .. } | Rhs::Loop(..) => {}
        }
        Some(())
    }

    /// Adds a term to the cotangent of `of`, an access at indices over those of the statement and
    /// the bound ones. The term is the sum of `product` over all these indices, restricted to those
    /// where `of.at` equals the element. `present` is the support of the statement's cotangent.
    #[expect(clippy::too_many_arguments, reason = "the parts of an inner product")]
    pub(super) fn transpose(
        &mut self,
        stmt: &Stmt,
        bound: &[Poly],
        (pred, present): (&Pred, &Pred),
        neg: bool,
        of: &Access,
        product: &[Access],
        terms: &mut [Vec<Term>],
    ) {
        let dims = self.builder.dims(of.var);
        // The element's indices come first. Those of the statement become bound, followed by those
        // that were bound before.
        let shift = |p: &Poly| shifted(p, dims.len());
        let all: Vec<Poly> = stmt.dims.iter().chain(bound).map(shift).collect();
        let leads = of.at.iter().enumerate().map(|(k, a)| {
            let element = index(k, &Poly::default()).value();
            Pred::equal(&element, &shift(a))
        });
        let pred = Pred::all([pred.map(&shift)].into_iter().chain(leads));
        let factors: Vec<Access> =
            product.iter().map(|a| Access { var: a.var, at: a.at.iter().map(shift).collect() }).collect();
        let exists = |pred: &Pred| self.builder.simplify(&dims, &exists(dims.len(), &all, pred));
        let some = exists(&pred);
        let present = if present.is_true() { some.clone() } else { exists(&pred.and(&present.map(&shift))) };
        let var = self.builder.contract(&dims, all, &pred, neg, &factors, stmt.needs.clone());
        let addend = Addend { neg: false, pred: some, of: Access { var, at: own(&dims) } };
        let term = Term { addend, present };
        if let Some(terms) = terms.get_mut(of.var.0 as usize) {
            terms.push(term);
        }
    }

    /// If statement `k` is the first part of a call, calls the adjoint of the callee. Its arguments
    /// are those of the call and the cotangents of all parts.
    fn after_parts(
        &mut self,
        k: usize,
        stmt: &Stmt,
        cotangents: &[Option<Tangent>],
        active: &[bool],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
        if let Rhs::Loop(of, _) = &stmt.rhs {
            return self.after_loop(k, of, stmt, cotangents, active, terms);
        }
        let Rhs::Call { callee, sizes, pred, args, batch, .. } = &stmt.rhs else { return Some(()) };
        let first = self.ssa.stmts.iter().position(|s| same_call(&s.rhs, &stmt.rhs)) == Some(k);
        let parts: Vec<Option<Var>> = self
            .ssa
            .stmts
            .iter()
            .zip(cotangents)
            .map(|(s, cotangent)| cotangent.as_ref().map(|c| c.var).filter(|_| same_call(&s.rhs, &stmt.rhs)))
            .collect();
        if !first || parts.iter().all(Option::is_none) {
            return Some(());
        }
        self.made_for(Var(u32::try_from(k).ok()?), CALL);
        let varying: Vec<u32> =
            (0..).zip(args).filter(|(_, a)| active.get(a.var.0 as usize) == Some(&true)).map(|(k, _)| k).collect();
        let primal = (self.functions)(callee)?;
        // The parts of the result that have a cotangent, one entry per statement.
        let mut given: Vec<(u32, Var)> = Vec::new();
        for (s, cotangent) in self.ssa.stmts.iter().zip(&parts) {
            if let (Rhs::Call { part, .. }, Some(cotangent)) = (&s.rhs, cotangent) {
                given.push((*part, *cotangent));
            }
        }
        given.sort_unstable();
        let (of, wrt) = (given.iter().map(|(part, _)| *part).collect(), passed(&primal, &varying).into());
        let derived = Arc::new(callee.derive(Derivation::Adjoint { of, wrt }));
        let ssa = (self.functions)(&derived)?;
        let outer = stmt.dims.get(..*batch as usize)?.to_vec();
        // Restricts the call to where some part has a cotangent, as far as indices and sizes
        // determine that.
        let some = self.ssa.stmts.iter().zip(cotangents).filter(|(s, _)| same_call(&s.rhs, &stmt.rhs));
        let some = some
            .filter_map(|(s, c)| Some(exists(outer.len(), s.dims.get(outer.len()..)?, &c.as_ref()?.present.known())));
        let pred = &pred.and(&Pred::any_of(some));
        let mut vars = Vec::new();
        for arg in args {
            let (dims, of) = spread(self, &outer, arg);
            vars.push(self.builder.contract(&dims, Vec::new(), pred, false, &[of], Vec::new()));
        }
        vars.extend(given.iter().map(|(_, cotangent)| *cotangent));
        let needs = stmt.needs.clone();
        let sizes = sizes.clone();
        let call = Call { callee: &derived, sizes, args: vars, dims: outer.clone(), pred: pred.clone(), needs };
        let results = self.call(&call, &ssa);
        for (k, nth) in varying.iter().enumerate() {
            let arg = args.get(*nth as usize)?;
            let part = *results.get(primal.outputs.len() + k)?;
            let (dims, of) = spread(self, &outer, arg);
            let inner = Stmt { dims, scalar: stmt.scalar, rhs: Rhs::Zero, needs: stmt.needs.clone(), name: None };
            let part = self.whole(part);
            let present = &self.builder.support(&part);
            self.transpose(&inner, &[], (pred, present), false, &of, &[part], terms);
        }
        Some(())
    }
}

impl Deriving<'_> {
    /// If statement `k` is the first part of a loop, derives all parts at once.
    fn after_loop(
        &mut self,
        k: usize,
        of: &Arc<Loop>,
        stmt: &Stmt,
        cotangents: &[Option<Tangent>],
        active: &[bool],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
        let part = |s: &Stmt| match &s.rhs {
            Rhs::Loop(other, part) if Arc::ptr_eq(other, of) || other == of => Some(*part),
            _ => None,
        };
        if self.ssa.stmts.iter().position(|s| part(s).is_some()) != Some(k) {
            return Some(());
        }
        let given: Vec<(Part, Tangent)> =
            self.ssa.stmts.iter().zip(cotangents).filter_map(|(s, c)| Some((part(s)?, c.clone()?))).collect();
        if given.is_empty() {
            return Some(());
        }
        self.made_for(Var(u32::try_from(k).ok()?), LOOP);
        let is_active = |a: &Access| active.get(a.var.0 as usize) == Some(&true);
        self.loop_adjoint(of, &given, &is_active, &stmt.needs, terms)
    }
}

/// Whether both are parts of one call.
fn same_call(a: &Rhs, b: &Rhs) -> bool {
    match (a, b) {
        (
            Rhs::Call { callee: c, sizes: s, pred: p, args: a, batch: b, .. },
            Rhs::Call { callee, sizes, pred, args, batch, .. },
        ) => (c, s, p, a, b) == (callee, sizes, pred, args, batch),
        _ => false,
    }
}

/// Shifts the indices of a statement by `by`, behind those of an element.
fn shifted(p: &Poly, by: usize) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => Some(index(index_number(*l)? + by, &Poly::default()).value()),
        _ => None,
    })
}

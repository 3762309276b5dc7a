//! The adjoint derivative by transposition of inner products, ATL Figs. 15 and 16. Statements are taken from the
//! last to the first (6.14, 6.19); each passes its cotangent on to what it reads, as terms that keep the
//! predicate under which they are not zero; the terms of one tensor are one sum (6.25). No tensor of zeros
//! is made: a term that is the whole of a smaller tensor is read through a view.
//!
//! (6.28) and (6.29) are misprinted: the second binding is of the second factor, and the cotangent of the
//! result is read at the indices of the result.

use std::sync::Arc;

use super::forward::{exists, passed, spread};
use super::{Deriving, Functions, Tangent, is_real, own};
use crate::ir::core::{Derivation, Leaf};
use crate::ir::flat::Source;
use crate::ir::origin::{CALL, ZERO};
use crate::ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, index, index_number};
use crate::norm::hits::Hits;
use crate::norm::inline::Call;
use crate::predicate::{Atom, Poly, Pred};
use crate::syntax::ops::Scalar;

/// The rules, as they are counted.
pub const RULES: &[&str] = &["6.14", "6.16", "6.19", "6.20", "6.21", "6.22", "6.25", "6.26", "6.27", "6.28", "6.29"];

/// The pass when it is done, and the parts of the result.
pub(super) fn adjoint<'a>(
    ssa: &'a Ssa,
    of: &[u32],
    wrt: &[u32],
    functions: Functions<'a>,
    hits: &'a mut Hits,
) -> Option<(Deriving<'a>, Vec<(Leaf, Var)>)> {
    let mut pass = Deriving::new(ssa, functions, hits);
    pass.hits.count("6.14");
    let active = active(ssa, wrt);
    let mut terms: Vec<Vec<Term>> = vec![Vec::new(); ssa.stmts.len()];
    for (k, (leaf, var)) in (0..).zip(&ssa.outputs) {
        if !of.contains(&k) {
            continue;
        }
        pass.rule(*var, "6.16");
        let name = format!("{}_adj", pass.name(*var, "y")).into();
        let cotangent = pass.input(name, Source::Cotangent(k), Leaf { path: Vec::new(), ..leaf.clone() });
        if active.get(var.0 as usize) == Some(&true) {
            let of = pass.whole(cotangent);
            let addend = Addend { neg: false, pred: Pred::truth(), of };
            terms.get_mut(var.0 as usize)?.push(Term { addend, present: Pred::truth() });
        }
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
        pass.pass_on(var, stmt, &cotangent, &active, &mut terms);
        if let Some(slot) = cotangents.get_mut(k) {
            *slot = Some(cotangent);
        }
        pass.after_parts(k, stmt, &cotangents, &active, &mut terms)?;
    }
    let mut outputs = ssa.outputs.clone();
    for k in wrt {
        let input = ssa.inputs.get(*k as usize)?;
        let var = ssa.input(*k)?;
        pass.made_for(var, ZERO);
        let cotangent = cotangents.get(var.0 as usize).and_then(Option::as_ref).map(|c| c.var);
        let scalar = input.leaf.scalar.unwrap_or(Scalar::F64);
        let cotangent = cotangent.unwrap_or_else(|| pass.builder.zero(&input.leaf.dims, scalar));
        outputs.push((Leaf { path: Vec::new(), ..input.leaf.clone() }, cotangent));
    }
    Some((pass, outputs))
}

/// A term of a cotangent, and where it has terms itself.
#[derive(Clone)]
struct Term {
    addend: Addend,
    present: Pred,
}

/// Which statements depend, as reals, on one of these inputs.
fn active(ssa: &Ssa, wrt: &[u32]) -> Vec<bool> {
    let mut active: Vec<bool> = Vec::new();
    for stmt in &ssa.stmts {
        let mut depends = matches!(&stmt.rhs, Rhs::Input(k) if wrt.contains(k));
        stmt.rhs.for_each_access(&mut |a| depends |= active.get(a.var.0 as usize) == Some(&true));
        let stopped = matches!(&stmt.rhs, Rhs::Map { operation: crate::ir::core::Operation::Stop, .. });
        active.push(depends && is_real(stmt.scalar) && !stopped);
    }
    active
}

impl Deriving<'_> {
    /// Gives what a statement reads its part of the statement's cotangent.
    fn pass_on(&mut self, var: Var, stmt: &Stmt, cotangent: &Tangent, active: &[bool], terms: &mut [Vec<Term>]) {
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
                    let pred = pred.and(&self.asked(present, &others));
                    let product: Vec<Access> = [seed.clone()].into_iter().chain(others).collect();
                    self.transpose(stmt, bound, (&pred, present), *neg, factor, &product, terms);
                }
            }
            Rhs::Map { pred, args, .. } => {
                for (k, arg) in args.iter().enumerate().filter(|(_, a)| is_active(a)) {
                    self.rule(var, "6.27");
                    let Some(mut partial) = self.partial(var, stmt, k) else { continue };
                    // The transposed conversion goes the other way.
                    if let super::partial::Partial::Convert(to) = &mut partial {
                        *to = self.builder.scalar(arg.var);
                    }
                    let scaled = self.scaled(stmt, &partial, pred, &seed, present);
                    let factors = [Access { var: scaled, at: own(&stmt.dims) }];
                    self.transpose(stmt, &[], (pred, present), false, arg, &factors, terms);
                }
            }
            // All parts at once, when the first of them is reached.
            Rhs::Call { .. } => {}
        }
    }

    /// A term of the cotangent of `of`, read at indices over those of the statement and bound ones: the sum over
    /// all of these of the product, where they lead to the element. `present`: where the cotangent has terms.
    #[expect(clippy::too_many_arguments, reason = "the parts of an inner product")]
    fn transpose(
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
        // The element's indices come first; those of the statement are bound now, with those that were.
        let shift = |p: &Poly| shifted(p, dims.len());
        let all: Vec<Poly> = stmt.dims.iter().chain(bound).map(shift).collect();
        let leads = of.at.iter().enumerate().map(|(k, a)| {
            let element = index(k, &Poly::default()).value();
            Pred::equal(&element, &shift(a))
        });
        let pred = Pred::all([pred.map(&shift)].into_iter().chain(leads));
        let factors: Vec<Access> =
            product.iter().map(|a| Access { var: a.var, at: a.at.iter().map(shift).collect() }).collect();
        let some = exists(dims.len(), &all, &pred);
        let present = exists(dims.len(), &all, &pred.and(&present.map(&shift)));
        let var = self.builder.contract(&dims, all, &pred, neg, &factors, stmt.needs.clone());
        let some = self.builder.simplify(&dims, &some);
        let addend = Addend { neg: false, pred: some, of: Access { var, at: own(&dims) } };
        let term = Term { addend, present };
        if let Some(terms) = terms.get_mut(of.var.0 as usize) {
            terms.push(term);
        }
    }

    /// Where statement `k` is the first of the parts of a call: the adjoint of what is called, called with its
    /// arguments and the cotangents of all parts.
    fn after_parts(
        &mut self,
        k: usize,
        stmt: &Stmt,
        cotangents: &[Option<Tangent>],
        active: &[bool],
        terms: &mut [Vec<Term>],
    ) -> Option<()> {
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
        // Each part of the result that has a cotangent, whichever statements are that part.
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
        // Where no part has a cotangent, as far as indices and sizes tell, there is no call.
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

/// Are both parts of one call?
fn same_call(a: &Rhs, b: &Rhs) -> bool {
    match (a, b) {
        (
            Rhs::Call { callee: c, sizes: s, pred: p, args: a, batch: b, .. },
            Rhs::Call { callee, sizes, pred, args, batch, .. },
        ) => (c, s, p, a, b) == (callee, sizes, pred, args, batch),
        _ => false,
    }
}

/// The indices of a statement after those of an element.
fn shifted(p: &Poly, by: usize) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => Some(index(index_number(*l)? + by, &Poly::default()).value()),
        _ => None,
    })
}

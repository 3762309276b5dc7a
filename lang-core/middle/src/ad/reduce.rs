//! **Derivatives of reductions.** A `max` or `min` equals the element at the position of the first
//! extremum. So its tangent is the tangent at that position, and its cotangent goes to that
//! position. The adjoint expresses this by an equation on data, without a one-hot tensor.
//!
//! For a `prod`, the partial derivative by a term is the product of all other terms.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::forward::exists;
use super::{Deriving, own};
use crate::norm::inline;
use lang_ir::core::{Callee, Constant, CoreType, Leaf, Vars};
use lang_ir::flat::{Input, Source};
use lang_ir::reduce::{Reduce, numbered};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, at_indices, index};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// The forward rule of `max` and `min`.
pub(super) const CHOSEN_TAN: &str = "tangent at the place";

/// The adjoint rule of `max` and `min`.
pub(super) const CHOSEN_ADJ: &str = "cotangent to the place";

/// The forward rule of `prod`.
pub(super) const PRODUCT_TAN: &str = "tangent of a product";

/// The adjoint rule of `prod`.
pub(super) const PRODUCT_ADJ: &str = "cotangent of a product";

/// Builds the body of a loop that returns, for every term, the product of the terms before it (an
/// exclusive scan).
fn product_before(callee: &Arc<Callee>, scalar: Scalar) -> Ssa {
    let mut vars = Vars::default();
    let leaf = || Leaf { path: Vec::new(), dims: Vec::new(), scalar: Some(scalar) };
    let mut input = |k: u32, name: &str| Input { local: vars.fresh(name), source: Source::Param(k), leaf: leaf() };
    let inputs = vec![input(0, "term"), input(1, "before")];
    let stmt = |rhs| Stmt { dims: Vec::new(), scalar: Some(scalar), rhs, needs: Vec::new(), name: None };
    let factors = [0, 1].map(|k| Access { var: Var(k), at: Vec::new() }).to_vec();
    let product = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors };
    Ssa {
        callee: callee.clone(),
        vars,
        sizes: Vec::new(),
        bounded: BTreeSet::new(),
        params: Vec::new(),
        inputs,
        stmts: vec![stmt(Rhs::Input(0)), stmt(Rhs::Input(1)), stmt(product)],
        checks: Vec::new(),
        needs: Vec::new(),
        opaque: false,
        outputs: vec![(leaf(), Var(2)), (leaf(), Var(1))],
        result: CoreType::tuple([leaf().ty(), leaf().ty()]),
    }
}

impl Deriving<'_> {
    /// Returns the element that a `max` or `min` selects, and the predicate under which one exists.
    /// `None` for a product.
    pub(super) fn chosen(&mut self, stmt: &Stmt, r: &Reduce) -> Option<(Access, Pred)> {
        let reducer = r.reducer.chooser()?;
        let dims = &stmt.dims;
        let some = self.builder.simplify(dims, &r.pred.and(&exists(dims.len(), &r.bound, &r.terms)));
        // If sizes and indices do not decide whether a term exists, the position does: it is
        // negative without one.
        let told = some.conjuncts().iter().all(|p| !p.is_opaque() && !matches!(p, Pred::Any(..)));
        let pred = if told { some.clone() } else { r.pred.clone() };
        let places = Reduce { reducer, pred: pred.clone(), place: r.number(dims.len()), ..r.clone() };
        let places = self.builder.reduce(dims, Scalar::I64, places, stmt.needs.clone());
        let number = inline::integer(&self.builder, dims, &pred, &Access { var: places, at: own(dims) });
        let at: Vec<Poly> = own(dims).into_iter().chain(numbered(r.bound.iter(), &number)).collect();
        let at = r.of.at.iter().map(|p| at_indices(p, &at)).collect();
        let pred = if told { some } else { r.pred.and(&Pred::nonneg(&number)) };
        Some((Access { var: r.of.var, at }, pred))
    }

    /// Returns, for each term of a product, the product of all other terms, over the indices of the
    /// statement and the bound ones. Two loops multiply from both sides, because the pass must not
    /// divide by a term.
    pub(super) fn others(&mut self, stmt: &Stmt, r: &Reduce) -> Option<Access> {
        let (dims, free) = (&stmt.dims, stmt.dims.len());
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let count = r.bound.iter().fold(Poly::constant(1), |n, m| n.mul(m));
        let outer: Vec<Poly> = dims.iter().cloned().chain([count.clone()]).collect();
        // The terms in their order. A position that is not a term counts as one.
        let number = index(free, &count).value();
        let at: Vec<Poly> = own(dims).into_iter().chain(numbered(r.bound.iter(), &number)).collect();
        let put = |p: &Poly| at_indices(p, &at);
        let term = Access { var: r.of.var, at: r.of.at.iter().map(put).collect() };
        let terms = r.pred.and(&r.terms.map(&put));
        let one = self.builder.constant(Constant::Real(1.0), scalar);
        let items = [
            Addend { neg: false, pred: terms.clone(), of: term },
            Addend { neg: false, pred: terms.negated(), of: Access { var: one, at: Vec::new() } },
        ];
        let factors = self.builder.add(&outer, scalar, &items, stmt.needs.clone());
        let place = own(dims);
        let mut side = |number: Poly| {
            let of = Access { var: factors, at: place.iter().cloned().chain([number]).collect() };
            let init = Access { var: one, at: Vec::new() };
            let args = vec![Arg::Given(of), Arg::Carried { init, next: 0 }];
            let body = Arc::new(product_before(&self.ssa.callee, scalar));
            let trips = Trips::Count(count.clone());
            let (pred, sizes) = (r.pred.clone(), Vec::new());
            let of = Loop { batch: dims.clone(), pred, trips, checkpoint: None, sizes, args, body };
            self.builder.looped(&outer, scalar, &Arc::new(of), Part::Every(1), stmt.needs.clone())
        };
        let (before, after) = (side(number.clone()), side(count.plus(-1).sub(&number)));
        let turned = place.iter().cloned().chain([count.plus(-1).sub(&number)]).collect();
        let sides = [self.whole(before), Access { var: after, at: turned }];
        let product = self.builder.contract(&outer, Vec::new(), &r.pred, false, &sides, stmt.needs.clone());
        let at = place.into_iter().chain([r.number(free)]).collect();
        Some(Access { var: product, at })
    }

    /// Returns whether a real `max` or `min` may be empty for some of its indices.
    pub(super) fn may_be_empty(&self, dims: &[Poly], r: &Reduce) -> bool {
        let real = !r.reducer.gives_place() && r.reducer.chooser().is_some();
        real && !self.builder.implies(dims, &r.pred, &exists(dims.len(), &r.bound, &r.terms))
    }
}

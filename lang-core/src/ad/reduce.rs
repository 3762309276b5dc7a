//! Derivatives of reductions. A greatest or least term is the element at the place of the first such, so its tangent is
//! the tangent there, and its cotangent goes there: an equation that data tell, and no tensor of zeros with a one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::forward::exists;
use super::{Deriving, own};
use crate::ir::core::{Callee, Constant, CoreType, Leaf, Vars};
use crate::ir::flat::{Input, Source};
use crate::ir::reduce::{Reduce, numbered};
use crate::ir::region::{Arg, Loop, Part, Trips};
use crate::ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, at_indices, index};
use crate::norm::inline;
use crate::predicate::{Poly, Pred};
use crate::syntax::ops::Scalar;

/// The rule of a greatest or least term, forward.
pub(super) const CHOSEN_TAN: &str = "tangent at the place";

/// The same in the adjoint.
pub(super) const CHOSEN_ADJ: &str = "cotangent to the place";

/// The rule of a product, forward.
pub(super) const PRODUCT_TAN: &str = "tangent of a product";

/// The same in the adjoint.
pub(super) const PRODUCT_ADJ: &str = "cotangent of a product";

/// The body of a loop that gives, for every term, the product of those before it.
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
    /// The element that a greatest or least term is, and where there is one; none of a product.
    pub(super) fn chosen(&mut self, stmt: &Stmt, r: &Reduce) -> Option<(Access, Pred)> {
        let reducer = r.reducer.chooser()?;
        let dims = &stmt.dims;
        let some = self.builder.simplify(dims, &r.pred.and(&exists(dims.len(), &r.bound, &r.terms)));
        // Where sizes and indices do not tell whether there is a term, the place does.
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

    /// Of each term of a product the product of all others: from both sides, by a loop each, as no term may be divided
    /// by. Over the indices of the statement and the bound ones.
    pub(super) fn others(&mut self, stmt: &Stmt, r: &Reduce) -> Option<Access> {
        let (dims, free) = (&stmt.dims, stmt.dims.len());
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let count = r.bound.iter().fold(Poly::constant(1), |n, m| n.mul(m));
        let outer: Vec<Poly> = dims.iter().cloned().chain([count.clone()]).collect();
        // The terms in their order; what is no term is one.
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

    /// May there be no term, for some of its indices?
    pub(super) fn may_be_empty(&self, dims: &[Poly], r: &Reduce) -> bool {
        let real = !r.reducer.gives_place() && r.reducer.chooser().is_some();
        real && !self.builder.implies(dims, &r.pred, &exists(dims.len(), &r.bound, &r.terms))
    }
}

//! **Derivatives of reductions.** A `max` or `min` equals the element at the position of the first
//! extremum. So its tangent is the tangent at that position, and its cotangent goes to that
//! position. The adjoint expresses this by an equation on data, without a one-hot tensor.
//!
//! For a `prod`, the partial derivative by a term is the product of all other terms.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::forward::exists_over;
use super::{Differentiator, canonical_indices};
use lang_ir::core::{Constant, CoreType, FunctionKey, TypeLeaf, Vars};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::reduce::{SsaReduction, delinearize};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index, substitute_indices};
use lang_opt::inline;
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// The name of the forward rule of `max` and `min`.
pub(super) const EXTREMUM_TAN: &str = "tangent of the selected element";

/// The name of the adjoint rule of `max` and `min`.
pub(super) const EXTREMUM_ADJ: &str = "cotangent of the selected element";

/// The name of the forward rule of `prod`.
pub(super) const PRODUCT_TAN: &str = "tangent of a product";

/// The name of the adjoint rule of `prod`.
pub(super) const PRODUCT_ADJ: &str = "cotangent of a product";

/// Builds the body of a loop that returns, for every term, the product of the terms before it (an
/// exclusive scan).
fn exclusive_product_body(callee: &Arc<FunctionKey>, scalar: Scalar) -> SsaFunction {
    let mut vars = Vars::default();
    let leaf = || TypeLeaf { path: Vec::new(), dims: Vec::new(), scalar: Some(scalar) };
    let mut input =
        |k: u32, name: &str| FunctionInput { local: vars.fresh(name), source: InputSource::Param(k), leaf: leaf() };
    let inputs = vec![input(0, "term"), input(1, "before")];
    let stmt = |rhs| Statement { dims: Vec::new(), scalar: Some(scalar), rhs, needs: Vec::new(), name: None };
    let factors = [0, 1].map(|k| TensorAccess { var: StmtId(k), at: Vec::new() }).to_vec();
    let product = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors };
    SsaFunction {
        callee: callee.clone(),
        vars,
        sizes: Vec::new(),
        bounded: BTreeSet::new(),
        params: Vec::new(),
        inputs,
        stmts: vec![stmt(Rhs::Input(0)), stmt(Rhs::Input(1)), stmt(product)],
        checks: Vec::new(),
        needs: Vec::new(),
        is_opaque: false,
        outputs: vec![(leaf(), StmtId(2)), (leaf(), StmtId(1))],
        result: CoreType::tuple([leaf().ty(), leaf().ty()]),
    }
}

impl Differentiator<'_> {
    /// Returns the element that a `max` or `min` selects, and the predicate under which one exists.
    /// `None` for a product.
    pub(super) fn selected_element(&mut self, stmt: &Statement, r: &SsaReduction) -> Option<(TensorAccess, Pred)> {
        let reducer = r.reducer.arg_reducer()?;
        let dims = &stmt.dims;
        let some = self.builder.simplify(dims, &r.pred.and(&exists_over(dims.len(), &r.bound, &r.filter)));
        // If sizes and indices do not decide whether a term exists, the position does: it is
        // negative without one.
        let is_decided = some.conjuncts().iter().all(|p| !p.depends_on_data() && !matches!(p, Pred::Exists(..)));
        let pred = if is_decided { some.clone() } else { r.pred.clone() };
        let places = SsaReduction { reducer, pred: pred.clone(), arg_value: r.linear_index(dims.len()), ..r.clone() };
        let places = self.builder.reduce(dims, Scalar::I64, places, stmt.needs.clone());
        let number = inline::integer_poly(
            &self.builder,
            dims,
            &pred,
            &TensorAccess { var: places, at: canonical_indices(dims) },
        );
        let at: Vec<Poly> = canonical_indices(dims).into_iter().chain(delinearize(r.bound.iter(), &number)).collect();
        let at = r.operand.at.iter().map(|p| substitute_indices(p, &at)).collect();
        let pred = if is_decided { some } else { r.pred.and(&Pred::nonneg(&number)) };
        Some((TensorAccess { var: r.operand.var, at }, pred))
    }

    /// Returns, for each term of a product, the product of all other terms, over the indices of the
    /// statement and the bound ones. Two loops multiply from both sides, because the pass must not
    /// divide by a term.
    pub(super) fn product_of_others(&mut self, stmt: &Statement, r: &SsaReduction) -> Option<TensorAccess> {
        let (dims, free) = (&stmt.dims, stmt.dims.len());
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let count = r.bound.iter().fold(Poly::constant(1), |n, m| n.mul(m));
        let outer: Vec<Poly> = dims.iter().cloned().chain([count.clone()]).collect();
        // The terms in their order. A position that is not a term counts as one.
        let number = statement_index(free, &count).value();
        let at: Vec<Poly> = canonical_indices(dims).into_iter().chain(delinearize(r.bound.iter(), &number)).collect();
        let put = |p: &Poly| substitute_indices(p, &at);
        let term = TensorAccess { var: r.operand.var, at: r.operand.at.iter().map(put).collect() };
        let terms = r.pred.and(&r.filter.map(&put));
        let one = self.builder.constant(Constant::Real(1.0), scalar);
        let items = [
            Addend { neg: false, pred: terms.clone(), operand: term },
            Addend { neg: false, pred: terms.negated(), operand: TensorAccess { var: one, at: Vec::new() } },
        ];
        let factors = self.builder.add(&outer, scalar, &items, stmt.needs.clone());
        let place = canonical_indices(dims);
        let mut side = |number: Poly| {
            let of = TensorAccess { var: factors, at: place.iter().cloned().chain([number]).collect() };
            let init = TensorAccess { var: one, at: Vec::new() };
            let args = vec![LoopArg::Captured(of), LoopArg::Carried { init, next: 0 }];
            let body = Arc::new(exclusive_product_body(&self.ssa.callee, scalar));
            let trips = LoopTripCount::Fixed(count.clone());
            let (pred, sizes) = (r.pred.clone(), Vec::new());
            let of = SsaLoop { batch: dims.clone(), pred, trip_count: trips, checkpoint: None, sizes, args, body };
            self.builder.loop_result(&outer, scalar, &Arc::new(of), LoopResult::PerIteration(1), stmt.needs.clone())
        };
        let (before, after) = (side(number.clone()), side(count.add_constant(-1).sub(&number)));
        let turned = place.iter().cloned().chain([count.add_constant(-1).sub(&number)]).collect();
        let sides = [self.at_own_indices(before), TensorAccess { var: after, at: turned }];
        let product = self.builder.contract(&outer, Vec::new(), &r.pred, false, &sides, stmt.needs.clone());
        let at = place.into_iter().chain([r.linear_index(free)]).collect();
        Some(TensorAccess { var: product, at })
    }

    /// Returns whether the reduction is a `max` or `min` (no arg-reduction) that may be empty for
    /// some indices of the statement.
    pub(super) fn may_be_empty(&self, dims: &[Poly], r: &SsaReduction) -> bool {
        let real = !r.reducer.is_arg_reduction() && r.reducer.arg_reducer().is_some();
        real && !self.builder.implies(dims, &r.pred, &exists_over(dims.len(), &r.bound, &r.filter))
    }
}

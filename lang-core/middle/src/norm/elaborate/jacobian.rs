//! **Jacobians.** Calls the forward derivative for each coordinate of the argument, or the adjoint
//! for each coordinate of the result, whichever are fewer. If sizes decide that, the run chooses.
//!
//! The unit seed is a bracket, `[i == j]`. So where the derived function is inlined, nothing is
//! computed for the zeros of the seed.

use std::sync::Arc;

use super::derive::{DerivativeTarget, WrtValues, is_real_leaf, tuple_expr, unit_expr, wrt_inputs};
use super::{Elaborator, SymbolicValue};
use lang_base::Span;
use lang_ir::core::{Constant, CoreExpr, CoreType, DerivativeKind, ExprKind, ExprRef, TupleLabels, TypeLeaf};
use lang_sizes::predicate::{Index, Poly, Pred};
use lang_syntax::ops::Scalar;

impl Elaborator<'_> {
    /// Builds the blocks of partial derivatives, axes of the result first. `first` is the number of
    /// the first part of the result to include.
    pub(super) fn jacobian(
        &mut self,
        target: &DerivativeTarget,
        first: usize,
        of: &BlockStructure,
        by: &BlockStructure,
        span: Span,
    ) -> SymbolicValue {
        let rows = element_count(target.outputs.iter().skip(first).filter(|leaf| is_real_leaf(leaf)));
        let columns = element_count(target.wrt.iter().map(|(_, leaf)| leaf));
        let fewer = Pred::at_most(&columns, &rows);
        let real: Vec<usize> =
            (0..target.outputs.len()).filter(|k| target.outputs.get(*k).is_some_and(is_real_leaf)).collect();
        let pass = JacobianPass { target, real: &real, span };
        // If the context decides the comparison, only one of the two modes is generated.
        let always = self.context.implies(&fewer);
        let never = !always && self.context.refutes(&fewer);
        let forward = if never { None } else { Some(self.forward_columns(&pass, &fewer)) };
        let reverse = if always { None } else { Some(self.reverse_rows(&pass, &fewer.negated())) };
        let parts = JacobianParts { forward, reverse, prefers_forward: fewer };
        let block = &mut |this: &mut Self, row: usize, column: usize| this.jacobian_block(&pass, row, column, &parts);
        let e = self.arrange_blocks(of, by, block, span);
        self.symbolic_value(e)
    }

    /// Returns, for each part of the argument, the tangents of the result along each of its
    /// coordinates.
    fn forward_columns(&mut self, pass: &JacobianPass<'_>, when: &Pred) -> Vec<Vec<ExprRef>> {
        let target = pass.target;
        let real: Vec<TypeLeaf> = pass.real.iter().filter_map(|k| target.outputs.get(*k)).cloned().collect();
        let calls = target.wrt.iter().map(|(input, leaf)| {
            let along = DerivativeKind::Forward(Arc::from([*input]));
            self.unit_calls(pass, leaf, along, &real, when)
        });
        calls.collect()
    }

    /// Returns, for each real part of the result, the cotangents of the argument for each of its
    /// coordinates.
    fn reverse_rows(&mut self, pass: &JacobianPass<'_>, when: &Pred) -> Vec<Vec<ExprRef>> {
        let target = pass.target;
        let by: Vec<TypeLeaf> = target.wrt.iter().map(|(_, leaf)| leaf.clone()).collect();
        let calls = pass.real.iter().filter_map(|k| {
            let of = Arc::from([u32::try_from(*k).unwrap_or(u32::MAX)]);
            let along = DerivativeKind::Adjoint { outputs: of, wrt: wrt_inputs(target) };
            Some(self.unit_calls(pass, target.outputs.get(*k)?, along, &by, when))
        });
        calls.collect()
    }

    /// Calls the derivative once for each coordinate of a part, with a unit seed. Returns the parts
    /// that follow the value, each with the coordinate's indices first.
    fn unit_calls(
        &mut self,
        pass: &JacobianPass<'_>,
        leaf: &TypeLeaf,
        along: DerivativeKind,
        gives: &[TypeLeaf],
        when: &Pred,
    ) -> Vec<ExprRef> {
        let (target, span) = (pass.target, pass.span);
        let coordinate: Vec<Index> = leaf.dims.iter().map(|n| self.vars.fresh_index("i", n.clone())).collect();
        let own: Vec<Index> = leaf.dims.iter().map(|n| self.vars.fresh_index("j", n.clone())).collect();
        let scalar = CoreType::Scalar(leaf.scalar.unwrap_or(Scalar::F64));
        let one = CoreExpr::new(ExprKind::Constant(Constant::Real(1.0)), scalar, span);
        let here = Pred::all(own.iter().zip(&coordinate).map(|(a, b)| Pred::equal(&a.value(), &b.value())));
        let seed = own.into_iter().rev().fold(CoreExpr::guard(here, one), |e, i| CoreExpr::generate(i, e));
        let callee = Arc::new(target.callee.derivative(along));
        let parts: Vec<CoreType> = target.outputs.iter().chain(gives).map(TypeLeaf::ty).collect();
        let args = target.args.iter().cloned().chain([seed]).collect();
        let call = ExprKind::Call(callee, target.sizes.clone(), args);
        let call = CoreExpr::new(call, CoreType::tuple(parts), span);
        let calls = coordinate.into_iter().rev().fold(call, |e, i| CoreExpr::generate(i, e));
        let calls = self.bind("d", CoreExpr::guard(when.clone(), calls));
        let first = target.outputs.len();
        (0..gives.len())
            .map(|k| self.component_array(&calls, &[u32::try_from(first + k).unwrap_or(u32::MAX)]))
            .collect()
    }

    /// Builds one block: the extents of a part of the result, then those of a part of the argument.
    fn jacobian_block(&mut self, pass: &JacobianPass<'_>, row: usize, column: usize, parts: &JacobianParts) -> ExprRef {
        let nth = pass.real.iter().position(|k| *k == row).unwrap_or_default();
        let outer = pass.target.outputs.get(row).map(|leaf| leaf.dims.clone()).unwrap_or_default();
        let inner = pass.target.wrt.get(column).map(|(_, leaf)| leaf.dims.clone()).unwrap_or_default();
        let of: Vec<Index> = outer.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
        let by: Vec<Index> = inner.into_iter().map(|n| self.vars.fresh_index("j", n)).collect();
        let at = |e: &ExprRef, first: &[Index], then: &[Index]| {
            first.iter().chain(then).fold(e.clone(), |e, i| CoreExpr::access(&e, i.value()))
        };
        let forward = parts.forward.as_ref().and_then(|f| f.get(column)?.get(nth)).map(|e| at(e, &by, &of));
        let reverse = parts.reverse.as_ref().and_then(|r| r.get(nth)?.get(column)).map(|e| at(e, &of, &by));
        let element = match (forward, reverse) {
            (Some(f), Some(r)) => {
                let ty = f.ty.clone();
                let terms = vec![
                    CoreExpr::guard(parts.prefers_forward.clone(), f),
                    CoreExpr::guard(parts.prefers_forward.negated(), r),
                ];
                CoreExpr::new(ExprKind::Add(terms), ty, pass.span)
            }
            (Some(e), None) | (None, Some(e)) => e,
            (None, None) => unit_expr(pass.span),
        };
        of.into_iter().chain(by).rev().fold(element, |e, i| CoreExpr::generate(i, e))
    }

    /// Arranges the blocks in the structure of the result, then of the argument.
    fn arrange_blocks(
        &mut self,
        of: &BlockStructure,
        by: &BlockStructure,
        block: &mut dyn FnMut(&mut Self, usize, usize) -> ExprRef,
        span: Span,
    ) -> ExprRef {
        match (of, by) {
            (BlockStructure::Tuple(items, names), _) => {
                let items = items.iter().map(|of| self.arrange_blocks(of, by, block, span)).collect();
                tuple_expr(items, names.clone(), span)
            }
            (_, BlockStructure::Tuple(items, names)) => {
                let items = items.iter().map(|by| self.arrange_blocks(of, by, block, span)).collect();
                tuple_expr(items, names.clone(), span)
            }
            (BlockStructure::Part(row), BlockStructure::Part(column)) => block(self, *row, *column),
            (BlockStructure::Constant, _) | (_, BlockStructure::Constant) => unit_expr(span),
        }
    }
}

/// A Jacobian under construction.
struct JacobianPass<'t> {
    target: &'t DerivativeTarget,
    /// The positions of the real parts of the result.
    real: &'t [usize],
    span: Span,
}

/// The tangents and cotangents from which the blocks are read.
struct JacobianParts {
    /// The tangents, for each part of the argument and each real part of the result.
    forward: Option<Vec<Vec<ExprRef>>>,
    /// The cotangents, for each real part of the result and each part of the argument.
    reverse: Option<Vec<Vec<ExprRef>>>,
    /// The predicate under which the tangents are used.
    prefers_forward: Pred,
}

/// The structure of a result or argument: tuples of parts.
pub(super) enum BlockStructure {
    /// A real part, by its number.
    Part(usize),
    /// A part that is not real.
    Constant,
    Tuple(Vec<Self>, TupleLabels),
}

impl BlockStructure {
    /// Returns the structure of a result. Part numbers count all its leaves.
    pub(super) fn of_result(ty: &CoreType) -> Self {
        Self::of_type(ty, &mut 0, false)
    }

    /// Returns the structure of the varying arguments. Part numbers count real leaves.
    pub(super) fn of_args(varying: &WrtValues, bare: bool) -> Self {
        let mut next = 0;
        let mut items: Vec<Self> = varying
            .iter()
            .map(|e| e.as_ref().map_or(Self::Constant, |e| Self::of_type(&e.ty, &mut next, true)))
            .collect();
        match (bare, items.pop()) {
            (true, Some(one)) => one,
            (_, last) => Self::Tuple(items.into_iter().chain(last).collect(), TupleLabels::Positions),
        }
    }

    fn of_type(ty: &CoreType, next: &mut usize, real_only: bool) -> Self {
        match ty {
            CoreType::Tuple(types, names) => {
                Self::Tuple(types.iter().map(|t| Self::of_type(t, next, real_only)).collect(), names.clone())
            }
            _ => {
                let real = ty.leaves().iter().any(is_real_leaf);
                let at = *next;
                *next += usize::from(real || !real_only);
                if real { Self::Part(at) } else { Self::Constant }
            }
        }
    }

    /// Returns the structure of a gradient by arguments of this structure, with part numbers from
    /// `after` on. Parts that are not real are `()`.
    pub(super) fn of_gradient(&self, after: usize) -> Self {
        match self {
            Self::Part(k) => Self::Part(k + after),
            Self::Constant => Self::Tuple(Vec::new(), TupleLabels::Positions),
            Self::Tuple(items, names) => {
                Self::Tuple(items.iter().map(|b| b.of_gradient(after)).collect(), names.clone())
            }
        }
    }
}

/// Returns the total number of elements of these leaves.
fn element_count<'l>(leaves: impl Iterator<Item = &'l TypeLeaf>) -> Poly {
    let size = |leaf: &TypeLeaf| leaf.dims.iter().fold(Poly::constant(1), |product, n| product.mul(n));
    leaves.fold(Poly::default(), |sum, leaf| sum.add(&size(leaf)))
}

//! **Types of operations.** The rank, the scalar type and the extents of a statement must be those
//! that its operation makes of its operands.

use super::{FunctionVerifier, VerifierRule};
use crate::core::{Constant, ScalarOp};
use crate::ssa::{Rhs, Statement, TensorAccess};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// Returns the scalar type of the result of an operation, or `None` if no evaluator accepts the
/// operands.
#[must_use]
pub(super) fn result_type(operation: ScalarOp, args: &[Scalar]) -> Option<Scalar> {
    let is_real = |s: &Scalar| matches!(s, Scalar::F64 | Scalar::F32);
    match (operation, args) {
        (ScalarOp::Stop, [x]) => Some(*x),
        (ScalarOp::Not, [Scalar::Bool]) => Some(Scalar::Bool),
        (ScalarOp::Convert(to), [_]) => Some(to),
        (ScalarOp::Pow, [x, y]) if x == y && is_real(x) => Some(*x),
        (ScalarOp::PowInt, [x, Scalar::I64]) if *x != Scalar::Bool => Some(*x),
        (ScalarOp::Binary(op), [x, y]) if x == y => match op {
            BinOp::Div => is_real(x).then_some(*x),
            BinOp::FloorDiv | BinOp::Mod => (*x != Scalar::Bool).then_some(*x),
            _ => Some(Scalar::Bool),
        },
        (ScalarOp::Scalar(f), [x]) if f.arity() == 1 && *x != Scalar::Bool => Some(*x),
        (ScalarOp::Scalar(f), [x, y]) if f.arity() == 2 && x == y && *x != Scalar::Bool => Some(*x),
        _ => None,
    }
}

impl FunctionVerifier<'_, '_> {
    /// Checks the operands of a statement against its operation.
    pub(super) fn operation(&mut self, stmt: &Statement) {
        let scalar = stmt.scalar;
        match &stmt.rhs {
            Rhs::Zero => {}
            Rhs::Input(k) => self.input(*k, stmt),
            Rhs::Constant(c) => {
                let fits = match c {
                    Constant::Real(_) => matches!(scalar, Some(Scalar::F64 | Scalar::F32)),
                    Constant::Int(_) => scalar == Some(Scalar::I64),
                    Constant::Bool(_) => scalar == Some(Scalar::Bool),
                };
                self.require(fits, VerifierRule::ScalarType, || format!("{c:?} has the type {scalar:?}"));
                self.require(stmt.dims.is_empty(), VerifierRule::Rank, || "a constant has axes".to_owned());
            }
            Rhs::Index(_) => self.has_scalar(stmt, Scalar::I64),
            Rhs::Add(items) => {
                self.is_numeric_or_bool(stmt);
                for item in items {
                    self.element(&item.operand, scalar);
                    self.no_negation_of_bool(item.neg, scalar);
                    self.in_bounds(&stmt.dims, &[], &item.pred, &item.operand, &stmt.needs);
                }
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                self.is_numeric_or_bool(stmt);
                let count = factors.len();
                self.require((1..=2).contains(&count), VerifierRule::Rank, || format!("a product of {count} factors"));
                self.no_negation_of_bool(*neg, scalar);
                for factor in factors {
                    self.element(factor, scalar);
                    self.in_bounds(&stmt.dims, bound, pred, factor, &stmt.needs);
                }
            }
            Rhs::Reduce(r) => {
                let of = self.get(r.operand.var).and_then(|s| s.scalar);
                let result = if r.reducer.is_arg_reduction() { Some(Scalar::I64) } else { of };
                self.element(&r.operand, of);
                self.require(of.is_some_and(|s| s != Scalar::Bool), VerifierRule::ScalarType, || {
                    format!("{} of {of:?}", r.reducer.keyword())
                });
                self.require(scalar == result, VerifierRule::ScalarType, || {
                    format!("{} of {of:?} has the type {scalar:?}", r.reducer.keyword())
                });
                self.in_bounds(&stmt.dims, &r.bound, &r.visited_domain(), &r.operand, &stmt.needs);
            }
            Rhs::Argsort(o) => {
                self.has_scalar(stmt, Scalar::I64);
                let of = self.get(o.keys.var).and_then(|s| s.scalar);
                self.element(&o.keys, of);
                self.require(!stmt.dims.is_empty(), VerifierRule::Rank, || "an order without an axis".to_owned());
                self.in_bounds(&stmt.dims, &[], &o.pred, &o.keys, &stmt.needs);
            }
            Rhs::Map { operation, pred, args } => {
                let types: Vec<Scalar> = args.iter().filter_map(|a| self.get(a.var).and_then(|s| s.scalar)).collect();
                let result = result_type(*operation, &types);
                self.require(result.is_some() && result == scalar, VerifierRule::ScalarType, || {
                    format!("{operation:?} of {types:?} has the type {scalar:?}")
                });
                for arg in args {
                    let own = self.get(arg.var).and_then(|s| s.scalar);
                    self.element(arg, own);
                    self.in_bounds(&stmt.dims, &[], pred, arg, &stmt.needs);
                }
            }
            Rhs::Call { .. } => self.call(stmt),
            Rhs::CallResult(producer, k) => self.call_result(*producer, *k, stmt),
            Rhs::Loop(of) => self.loop_arguments(of, stmt),
            Rhs::LoopResult(producer, result) => self.loop_result(*producer, *result, stmt),
            Rhs::Update { .. } => self.update(stmt),
        }
    }

    fn input(&mut self, k: u32, stmt: &Statement) {
        let Some(input) = self.ssa.inputs.get(k as usize) else {
            return self.report(VerifierRule::Interface, format!("there is no input {k}"));
        };
        self.require(input.leaf.scalar == stmt.scalar, VerifierRule::Interface, || {
            format!("input {k} has the type {:?}, not {:?}", input.leaf.scalar, stmt.scalar)
        });
        self.same_extents(&stmt.dims, &input.leaf.dims, VerifierRule::Interface);
    }

    fn has_scalar(&mut self, stmt: &Statement, scalar: Scalar) {
        self.require(stmt.scalar == Some(scalar), VerifierRule::ScalarType, || {
            format!("has the type {:?}, not {scalar:?}", stmt.scalar)
        });
    }

    fn is_numeric_or_bool(&mut self, stmt: &Statement) {
        self.require(stmt.scalar.is_some(), VerifierRule::ScalarType, || "a sum of relations".to_owned());
    }

    fn no_negation_of_bool(&mut self, neg: bool, scalar: Option<Scalar>) {
        let negates = neg && scalar == Some(Scalar::Bool);
        self.require(!negates, VerifierRule::ScalarType, || "negates a truth value".to_owned());
    }

    /// Checks an update: the axes after the batch are those of the old tensor.
    fn update(&mut self, stmt: &Statement) {
        let Rhs::Update { base, batch, bound, pred, at, value, .. } = &stmt.rhs else { return };
        let Some(old) = self.get(base.var) else { return };
        let batch = *batch as usize;
        self.require(old.scalar == stmt.scalar, VerifierRule::ScalarType, || {
            format!("updates X{} of type {:?} as {:?}", base.var.0, old.scalar, stmt.scalar)
        });
        let own = old.dims.get(base.at.len()..).unwrap_or_default();
        self.require(base.at.len() <= old.dims.len() && at.len() == own.len(), VerifierRule::Rank, || {
            format!("writes {} indices of {} axes", at.len(), own.len())
        });
        self.require(batch <= stmt.dims.len(), VerifierRule::Rank, || format!("a batch of {batch} axes"));
        self.same_extents(stmt.dims.get(batch..).unwrap_or_default(), own, VerifierRule::Extent);
        self.element(value, stmt.scalar);
        let batch_extents = stmt.dims.get(..batch).unwrap_or_default();
        self.in_bounds(batch_extents, &[], &Pred::truth(), base, &stmt.needs);
        self.update_in_bounds(stmt.dims.len(), batch_extents, bound, pred, at, own, &stmt.needs);
        self.update_in_bounds(
            stmt.dims.len(),
            batch_extents,
            bound,
            pred,
            &value.at,
            &self.dims_of(value),
            &stmt.needs,
        );
    }

    /// Returns the extents of the tensor of an access.
    pub(super) fn dims_of(&self, access: &TensorAccess) -> Vec<Poly> {
        self.get(access.var).map(|s| s.dims.clone()).unwrap_or_default()
    }
}

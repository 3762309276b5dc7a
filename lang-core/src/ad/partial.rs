//! Partial derivatives of scalar operations as tensors: quotients by their rule, everything else by the table
//! that all paths share (`resolve::partials`), whose Iverson is put in place.

use std::sync::Arc;

use super::{Deriving, is_real, own};
use crate::ir::core::{Callee, Operation};
use crate::ir::ssa::{Access, Rhs, Stmt, Var};
use crate::norm::inline::{self, Call};
use crate::predicate::Pred;
use crate::resolve::partials;
use crate::syntax::ops::{BinOp, Scalar};
use crate::types::ty::Type;

/// The derivative of an operation by one argument, at every index.
pub(super) enum Partial {
    /// Constant: it does not depend on the argument, or is not real.
    None,
    /// The tangent itself, in the type of the result.
    Convert(Scalar),
    /// Divided by this tensor (and then negated times the result, for a divisor).
    Over { divisor: Access, times: Option<Var> },
    /// Times this tensor.
    Times(Var),
}

impl Deriving<'_> {
    /// The partial derivative of statement `result`, an operation, by its argument `k`.
    pub(super) fn partial(&mut self, result: Var, stmt: &Stmt, k: usize) -> Partial {
        let Rhs::Map { operation, pred, args } = &stmt.rhs else { return Partial::None };
        let Some(arg) = args.get(k) else { return Partial::None };
        let from = self.builder.scalar(arg.var);
        if !is_real(Some(from)) || !is_real(stmt.scalar) {
            return Partial::None;
        }
        let table = match operation {
            Operation::Stop | Operation::Not => return Partial::None,
            Operation::Convert(to) => return Partial::Convert(*to),
            Operation::Binary(BinOp::Div) => {
                let Some(divisor) = args.get(1).cloned() else { return Partial::None };
                return Partial::Over { divisor, times: (k == 1).then_some(result) };
            }
            Operation::Binary(_) => return Partial::None,
            Operation::Scalar(f) => partials::Operation::Scalar(*f),
            Operation::Pow => partials::Operation::Pow,
            Operation::PowInt => partials::Operation::PowInt,
        };
        let callee = Arc::new(Callee::new(partials::name(table, k), vec![Type::Scalar(from)]));
        let Some(ssa) = (self.functions)(&callee) else { return Partial::None };
        let dims = stmt.dims.clone();
        let tensor = |this: &mut Self, a: &Access| {
            this.builder.contract(&dims, Vec::new(), pred, false, std::slice::from_ref(a), stmt.needs.clone())
        };
        let mut vars: Vec<Var> = args.iter().map(|a| tensor(self, a)).collect();
        if *operation == Operation::PowInt {
            // The exponent as a real, too.
            if let Some(k) = args.get(1) {
                let real = self.builder.map(&dims, from, Operation::Convert(from), pred, &[k.clone()], Vec::new());
                vars.push(real);
            }
        }
        let call = Call {
            callee: &callee,
            sizes: Vec::new(),
            args: vars,
            dims: dims.clone(),
            pred: pred.clone(),
            needs: stmt.needs.clone(),
        };
        // The table mentions no top-level `let`.
        let parts =
            inline::call(&mut self.builder, &call, &ssa, &mut |builder, global| builder.zero(&global.leaf.dims, from));
        parts.first().map_or(Partial::None, |var| Partial::Times(*var))
    }

    /// A partial derivative times a tangent or cotangent of the statement's indices.
    pub(super) fn scaled(&mut self, stmt: &Stmt, partial: &Partial, pred: &Pred, by: &Access) -> Option<Var> {
        let dims = &stmt.dims;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        // Where the tangent is zero for want of terms so is what is made of it, whatever the factor is there.
        let pred = &pred.and(&self.builder.support(by));
        Some(match partial {
            Partial::None => return None,
            Partial::Convert(to) => self.builder.map(dims, *to, Operation::Convert(*to), pred, &[by.clone()], needs),
            Partial::Times(factor) => {
                let factor = Access { var: *factor, at: own(dims) };
                self.builder.contract(dims, Vec::new(), pred, false, &[factor, by.clone()], needs)
            }
            Partial::Over { divisor, times } => {
                let over = match times {
                    None => by.clone(),
                    Some(result) => {
                        let result = Access { var: *result, at: own(dims) };
                        let factors = [result, by.clone()];
                        let product = self.builder.contract(dims, Vec::new(), pred, true, &factors, needs.clone());
                        Access { var: product, at: own(dims) }
                    }
                };
                let args = [over, divisor.clone()];
                self.builder.map(dims, scalar, Operation::Binary(BinOp::Div), pred, &args, needs)
            }
        })
    }
}

//! Partial derivatives of scalar operations as tensors: quotients by their rule, everything else by the table
//! that all paths share (`resolve::partials`), whose Iverson is put in place.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Deriving, is_real, own};
use crate::ir::core::{Callee, Constant, Operation};
use crate::ir::ssa::{Access, Rhs, Stmt, Var};
use crate::norm::inline::{self, Call};
use crate::predicate::Pred;
use crate::resolve::partials;
use crate::resolve::scalar_fn::ScalarFn;
use crate::syntax::ops::{BinOp, Scalar};
use crate::types::ty::Type;

/// Functions that are infinite somewhere.
const POLES: [ScalarFn; 3] = [ScalarFn::Log, ScalarFn::Digamma, ScalarFn::Polygamma];

/// The derivative of an operation by one argument, at every index.
pub(super) enum Partial {
    /// The tangent itself, in the type of the result.
    Convert(Scalar),
    /// Divided by this tensor (and then negated times the result, for a divisor).
    Over { divisor: Access, times: Option<Var> },
    /// Times this tensor, which may be infinite where the arguments are finite, or may not.
    Times { factor: Var, singular: bool },
}

impl Deriving<'_> {
    /// The partial derivative of statement `result`, an operation, by its argument `k`; none if it is constant: it
    /// does not depend on the argument, or is not real.
    pub(super) fn partial(&mut self, result: Var, stmt: &Stmt, k: usize) -> Option<Partial> {
        let Rhs::Map { operation, pred, args } = &stmt.rhs else { return None };
        let arg = args.get(k)?;
        let from = self.builder.scalar(arg.var);
        if !is_real(Some(from)) || !is_real(stmt.scalar) {
            return None;
        }
        let table = match operation {
            Operation::Stop | Operation::Not => return None,
            Operation::Convert(to) => return Some(Partial::Convert(*to)),
            Operation::Binary(BinOp::Div) => {
                let divisor = args.get(1).cloned()?;
                return Some(Partial::Over { divisor, times: (k == 1).then_some(result) });
            }
            Operation::Binary(_) => return None,
            Operation::Scalar(f) => partials::Operation::Scalar(*f),
            Operation::Pow => partials::Operation::Pow,
            Operation::PowInt => partials::Operation::PowInt,
        };
        let callee = Arc::new(Callee::new(partials::name(table, k), vec![Type::Scalar(from)]));
        let ssa = (self.functions)(&callee)?;
        let dims = stmt.dims.clone();
        let tensor = |this: &mut Self, a: &Access| {
            this.builder.contract(&dims, Vec::new(), pred, false, std::slice::from_ref(a), stmt.needs.clone())
        };
        let mut vars: Vec<Var> = args.iter().map(|a| tensor(self, a)).collect();
        if *operation == Operation::PowInt {
            // The exponent as a real, too.
            if let Some(k) = args.get(1) {
                let real =
                    self.builder.map(&dims, from, Operation::Convert(from), pred, std::slice::from_ref(k), Vec::new());
                vars.push(real);
            }
        }
        let given = vars.clone();
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
        parts.first().map(|var| Partial::Times { factor: *var, singular: self.singular(*var, &given) })
    }

    /// May what is made of these be infinite where they are not? A value that overflows is none of these.
    fn singular(&self, var: Var, of: &[Var]) -> bool {
        let mut open = vec![var];
        let mut seen = HashSet::new();
        while let Some(var) = open.pop() {
            let Some(stmt) = self.builder.get(var).filter(|_| !of.contains(&var) && seen.insert(var)) else { continue };
            match &stmt.rhs {
                Rhs::Call { .. } => return true,
                Rhs::Map { operation: Operation::Pow | Operation::Binary(BinOp::Div), .. } => return true,
                Rhs::Map { operation: Operation::Scalar(f), .. } if POLES.contains(f) => return true,
                Rhs::Map { operation: Operation::PowInt, args, .. } => {
                    let exponent = args.get(1).and_then(|k| self.builder.get(k.var)).map(|s| &s.rhs);
                    if !matches!(exponent, Some(Rhs::Constant(Constant::Int(0..)))) {
                        return true;
                    }
                }
                _ => {}
            }
            stmt.rhs.for_each_access(&mut |a| open.push(a.var));
        }
        false
    }

    /// A partial derivative times a tangent or cotangent of the statement's indices, which has terms where
    /// `present` holds. Where it is zero for want of terms so is what is made of it, whatever the factor is there.
    pub(super) fn scaled(&mut self, stmt: &Stmt, partial: &Partial, pred: &Pred, by: &Access, present: &Pred) -> Var {
        let dims = &stmt.dims;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        // What data tell is asked only of what zero would make NaN.
        let present = match partial {
            Partial::Over { .. } | Partial::Times { singular: true, .. } => present.clone(),
            Partial::Convert(_) | Partial::Times { singular: false, .. } => present.known(),
        };
        let pred = &pred.and(&present);
        match partial {
            Partial::Convert(to) => {
                self.builder.map(dims, *to, Operation::Convert(*to), pred, std::slice::from_ref(by), needs)
            }
            Partial::Times { factor, .. } => {
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
        }
    }
}

//! **Partial derivatives** of scalar operations, as tensors. The forward and the adjoint pass
//! multiply them with tangents and cotangents.
//!
//! Quotients have a rule of their own. All other operations use the table that every path shares
//! (`resolve::partials`); the pass inlines its Iverson definitions.
//!
//! The module also decides when a structural zero may meet a factor that is infinite or NaN,
//! because `0 * inf` is not zero.

use std::sync::Arc;

use super::{Deriving, is_real, own};
use crate::norm::inline::{self, Call};
use lang_ir::core::{Callee, Constant, Operation};
use lang_ir::ssa::{Access, Rhs, Stmt, Var, at_indices};
use lang_resolve::partials;
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::ty::Type;

/// The context of a read: the extents of its indices, the predicate under which it happens, and the
/// checks that must hold.
pub(super) struct Inside<'s> {
    pub(super) dims: Vec<Poly>,
    pub(super) pred: Pred,
    pub(super) needs: &'s [u32],
}

impl<'s> Inside<'s> {
    /// Returns the context of a read by a statement, with bound indices.
    pub(super) fn of(stmt: &'s Stmt, bound: &[Poly], pred: &Pred) -> Self {
        Self { dims: stmt.dims.iter().chain(bound).cloned().collect(), pred: pred.clone(), needs: &stmt.needs }
    }
}

/// The partial derivative of an operation by one argument, at every index.
pub(super) enum Partial {
    /// The tangent itself, converted to the type of the result.
    Convert(Scalar),
    /// Division by this tensor; for a divisor, then also negation and a product with the result.
    Over { divisor: Access, times: Option<Var> },
    /// Multiplication by this tensor.
    Times(Var),
}

impl Deriving<'_> {
    /// Returns the partial derivative of the operation in statement `result` by its argument `k`.
    /// `None` if the derivative is zero, because the result does not depend on the argument or one
    /// of them is not real.
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
            // The table's function also takes the exponent as a real.
            if let Some(k) = args.get(1) {
                let real =
                    self.builder.map(&dims, from, Operation::Convert(from), pred, std::slice::from_ref(k), Vec::new());
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
        // The table refers to no top-level `let`.
        let parts =
            inline::call(&mut self.builder, &call, &ssa, &mut |builder, global| builder.zero(&global.leaf.dims, from));
        parts.first().map(|var| Partial::Times(*var))
    }

    /// Returns the predicate under which a selection takes this argument, and the partial
    /// derivative there. Elsewhere the result does not depend on the argument.
    ///
    /// An argument that is always finite is multiplied by 0 or 1 instead, because that needs no
    /// predicate.
    pub(super) fn taken(&mut self, stmt: &Stmt, partial: Partial, of: Var) -> (Pred, Partial) {
        let (Rhs::Map { operation: Operation::Scalar(f), .. }, Partial::Times(var)) = (&stmt.rhs, &partial) else {
            return (Pred::truth(), partial);
        };
        let (var, is_selection) = (*var, f.is_selection());
        if !is_selection || !self.is_singular(of) {
            return (Pred::truth(), partial);
        }
        let constant = |of: Var| match self.builder.get(of).map(|s| &s.rhs) {
            Some(Rhs::Constant(Constant::Real(x))) => Some(*x),
            Some(Rhs::Zero) => Some(0.0),
            _ => None,
        };
        let terms = match self.builder.get(var).map(|s| &s.rhs) {
            Some(Rhs::Contract { bound, pred, neg: false, factors }) if bound.is_empty() => match factors.as_slice() {
                [one] => vec![(pred.clone(), constant(one.var))],
                _ => return (Pred::truth(), partial),
            },
            Some(Rhs::Add(items)) => items.iter().map(|item| (item.pred.clone(), constant(item.of.var))).collect(),
            _ => vec![(Pred::truth(), constant(var))],
        };
        let taken: Vec<_> = terms.into_iter().filter(|(_, of)| *of != Some(0.0)).collect();
        let whole = taken.iter().all(|(_, of)| *of == Some(1.0));
        let pred = Pred::any_of(taken.into_iter().map(|(pred, _)| pred));
        if !whole {
            return (pred, partial);
        }
        let one = self.builder.constant(Constant::Real(1.0), stmt.scalar.unwrap_or(Scalar::F64));
        let one = Access { var: one, at: Vec::new() };
        (pred, Partial::Times(self.builder.contract(&stmt.dims, Vec::new(), &Pred::truth(), false, &[one], Vec::new())))
    }

    /// Returns whether the statement may be infinite or NaN although the inputs are finite.
    /// Overflow does not count, because it may affect any statement.
    fn is_singular(&mut self, var: Var) -> bool {
        for k in self.singular.len()..=var.0 as usize {
            let singular = self.builder.stmts.get(k).is_some_and(|stmt| {
                let mut singular = self.makes_poles(&stmt.rhs);
                singular |= matches!(&stmt.rhs, Rhs::Reduce(r) if self.may_be_empty(&stmt.dims, r));
                stmt.rhs.for_each_access(&mut |a| singular |= self.singular.get(a.var.0 as usize) == Some(&true));
                singular
            });
            self.singular.push(singular);
        }
        self.singular.get(var.0 as usize) == Some(&true)
    }

    fn makes_poles(&self, rhs: &Rhs) -> bool {
        match rhs {
            Rhs::Input(_) | Rhs::Zero | Rhs::Index(_) | Rhs::Add(_) | Rhs::Contract { .. } => false,
            Rhs::Reduce(_) | Rhs::Order(_) => false,
            Rhs::Constant(c) => matches!(c, Constant::Real(x) if !x.is_finite()),
            Rhs::Update { .. } => false,
            Rhs::Call { .. } | Rhs::Loop(..) => true,
            Rhs::Map { operation, args, .. } => match operation {
                Operation::Scalar(f) => !f.is_total(),
                Operation::Pow | Operation::Binary(BinOp::Div | BinOp::Mod | BinOp::FloorDiv) => true,
                Operation::PowInt => {
                    let exponent = args.get(1).and_then(|k| self.builder.get(k.var)).map(|s| &s.rhs);
                    !matches!(exponent, Some(Rhs::Constant(Constant::Int(0..))))
                }
                Operation::Binary(_) | Operation::Not | Operation::Convert(_) | Operation::Stop => false,
            },
        }
    }

    /// Returns the condition under which a product with these factors is evaluated. Outside
    /// `present` the other operand is a structural zero, which a factor that is infinite or NaN
    /// would turn into NaN.
    pub(super) fn asked(&mut self, present: &Pred, inside: &Inside<'_>, factors: &[Access]) -> Pred {
        let singular: Vec<&Access> = factors.iter().filter(|f| self.is_singular(f.var)).collect();
        self.asks |= !singular.is_empty();
        if singular.is_empty() {
            return Pred::truth();
        }
        let finite = |this: &mut Self| {
            let each: Vec<Pred> = singular.iter().map(|f| this.finite(inside, f)).collect();
            Pred::all(each)
        };
        self.or_harmless(present, finite)
    }

    /// Weakens `present` if it contains a test "not zero": the test may also fail if a zero is
    /// `harmless`, because nothing is lost then.
    fn or_harmless(&mut self, present: &Pred, harmless: impl FnOnce(&mut Self) -> Pred) -> Pred {
        let mut asks = false;
        present.visit(&mut |_| {}, &mut |of| asks |= self.nonzero.contains(&of));
        if !asks {
            return present.clone();
        }
        // The new disjunct is outside the existentials in `present`, because `harmless` does not
        // mention their bound variables.
        let otherwise = present.replace_opaque(&|x| self.nonzero.contains(&x.of).then(Pred::truth));
        let harmless = harmless(self).and(&otherwise);
        Pred::any_of([present.clone(), harmless])
    }

    /// Returns the predicate that a factor is finite and not NaN.
    fn finite(&mut self, inside: &Inside<'_>, of: &Access) -> Pred {
        let all = self.builder.dims(of.var);
        // If only a few elements of an array are read, the test covers only those.
        if all.len() > inside.dims.len() {
            let below = self.compared(BinOp::Lt, inside, of, f64::INFINITY);
            return below.and(&self.compared(BinOp::Gt, inside, of, f64::NEG_INFINITY));
        }
        let whole = self.whole(of.var);
        let everywhere = Inside { dims: all, pred: Pred::truth(), needs: &[] };
        let below = self.compared(BinOp::Lt, &everywhere, &whole, f64::INFINITY);
        let above = self.compared(BinOp::Gt, &everywhere, &whole, f64::NEG_INFINITY);
        below.and(&above).map(&|p| at_indices(p, &of.at))
    }

    /// Multiplies a partial derivative with a tangent or cotangent `by` at the statement's indices,
    /// whose support is `present`. Where `by` is a structural zero so is the product, even if the
    /// factor is infinite or NaN.
    pub(super) fn scaled(&mut self, stmt: &Stmt, partial: &Partial, pred: &Pred, by: &Access, present: &Pred) -> Var {
        let dims = &stmt.dims;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        let inside = Inside::of(stmt, &[], pred);
        let asked = match partial {
            Partial::Over { divisor, times } => {
                self.asks = true;
                self.or_harmless(present, |this| {
                    let product = times.map(|result| Access { var: result, at: own(dims) });
                    let finite = product.map_or(Pred::truth(), |product| this.finite(&inside, &product));
                    finite.and(&this.compared(BinOp::Ne, &inside, divisor, 0.0))
                })
            }
            Partial::Times(factor) => self.asked(present, &inside, &[Access { var: *factor, at: own(dims) }]),
            Partial::Convert(_) => Pred::truth(),
        };
        let pred = &pred.and(&asked).and(&present.known());
        match partial {
            Partial::Convert(to) => {
                self.builder.map(dims, *to, Operation::Convert(*to), pred, std::slice::from_ref(by), needs)
            }
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
        }
    }
}

//! Partial derivatives of scalar operations as tensors: quotients by their rule, everything else by the table
//! that all paths share (`resolve::partials`), whose Iverson is put in place.

use std::sync::Arc;

use super::{Deriving, is_real, own};
use crate::ir::core::{Callee, Constant, Operation};
use crate::ir::ssa::{Access, Rhs, Stmt, Var, at_indices};
use crate::norm::inline::{self, Call};
use crate::predicate::{Poly, Pred};
use crate::resolve::partials;
use crate::syntax::ops::{BinOp, Scalar};
use crate::types::ty::Type;

/// Where something is read: over indices of these extents, where the predicate holds, if what is needed does.
pub(super) struct Inside<'s> {
    pub(super) dims: Vec<Poly>,
    pub(super) pred: Pred,
    pub(super) needs: &'s [u32],
}

impl<'s> Inside<'s> {
    /// By a statement, with bound indices.
    pub(super) fn of(stmt: &'s Stmt, bound: &[Poly], pred: &Pred) -> Self {
        Self { dims: stmt.dims.iter().chain(bound).cloned().collect(), pred: pred.clone(), needs: &stmt.needs }
    }
}

/// The derivative of an operation by one argument, at every index.
pub(super) enum Partial {
    /// The tangent itself, in the type of the result.
    Convert(Scalar),
    /// Divided by this tensor (and then negated times the result, for a divisor).
    Over { divisor: Access, times: Option<Var> },
    /// Times this tensor.
    Times(Var),
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
        parts.first().map(|var| Partial::Times(*var))
    }

    /// Where a selection takes the argument by which this is the partial derivative, and the partial derivative there:
    /// elsewhere the result does not depend on the argument. An argument whose derivative is finite is multiplied by 0 or 1
    /// instead, because that needs no predicate.
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

    /// May the statement be infinite, or no number, though inputs are finite? By overflow all may be, which does not count.
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

    /// What has to be asked before zero, where `present` does not hold, is multiplied with these.
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

    /// What is present, where "not zero" is that, or that nothing is lost by a zero.
    fn or_harmless(&mut self, present: &Pred, harmless: impl FnOnce(&mut Self) -> Pred) -> Pred {
        let mut asks = false;
        present.visit(&mut |_| {}, &mut |of| asks |= self.nonzero.contains(&of));
        if !asks {
            return present.clone();
        }
        // Whatever existentials are in it, that a zero is harmless is not about what they bind.
        let otherwise = present.replace_opaque(&|x| self.nonzero.contains(&x.of).then(Pred::truth));
        let harmless = harmless(self).and(&otherwise);
        Pred::any_of([present.clone(), harmless])
    }

    /// Where a factor is a number and not infinite.
    fn finite(&mut self, inside: &Inside<'_>, of: &Access) -> Pred {
        let all = self.builder.dims(of.var);
        // Of few elements of an array those are asked that are read.
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

    /// A partial derivative times a tangent or cotangent of the statement's indices, which has terms where
    /// `present` holds. Where it is zero for want of terms so is what is made of it, whatever the factor is there.
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

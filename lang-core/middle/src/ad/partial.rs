//! **Partial derivatives** of scalar operations, as tensors. The forward and the adjoint pass
//! multiply them with tangents and cotangents.
//!
//! Quotients have a rule of their own. All other operations use the table that every path shares
//! ([`lang_resolve::partials`]); the pass inlines its Iverson definitions.
//!
//! The module also decides when a structural zero may meet a factor that is infinite or NaN,
//! because `0 * inf` is not zero.

use std::sync::Arc;

use super::{Differentiator, canonical_indices, is_real};
use lang_ir::core::{Constant, FunctionKey, ScalarOp};
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, substitute_indices};
use lang_opt::inline::{self, BatchedCall};
use lang_resolve::partials;
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::ty::Type;

/// The context of a read: the extents of its indices, the predicate under which it happens, and the
/// checks that must hold.
pub(super) struct ReadDomain<'s> {
    pub(super) dims: Vec<Poly>,
    pub(super) pred: Pred,
    pub(super) needs: &'s [u32],
}

impl<'s> ReadDomain<'s> {
    /// Returns the context of a read by a statement, with bound indices.
    pub(super) fn for_statement(stmt: &'s Statement, bound: &[Poly], pred: &Pred) -> Self {
        Self { dims: stmt.dims.iter().chain(bound).cloned().collect(), pred: pred.clone(), needs: &stmt.needs }
    }
}

/// The partial derivative of an operation by one argument, at every index.
pub(super) enum PartialDerivative {
    /// The tangent itself, converted to the type of the result.
    Convert(Scalar),
    /// Division by this tensor; for a divisor, then also negation and a product with the result.
    Quotient { divisor: TensorAccess, times: Option<StmtId> },
    /// Multiplication by this tensor.
    Product(StmtId),
}

impl Differentiator<'_> {
    /// Returns the partial derivative of the operation in statement `result` by its argument `k`.
    /// `None` if the derivative is zero, because the result does not depend on the argument or one
    /// of them is not real.
    pub(super) fn partial(&mut self, result: StmtId, stmt: &Statement, k: usize) -> Option<PartialDerivative> {
        let Rhs::Map { operation, pred, args } = &stmt.rhs else { return None };
        let arg = args.get(k)?;
        let from = self.builder.scalar(arg.var);
        if !is_real(Some(from)) || !is_real(stmt.scalar) {
            return None;
        }
        let table = match operation {
            ScalarOp::Stop | ScalarOp::Not => return None,
            ScalarOp::Convert(to) => return Some(PartialDerivative::Convert(*to)),
            ScalarOp::Binary(BinOp::Div) => {
                let divisor = args.get(1).cloned()?;
                return Some(PartialDerivative::Quotient { divisor, times: (k == 1).then_some(result) });
            }
            ScalarOp::Binary(_) => return None,
            ScalarOp::Scalar(f) => partials::DifferentiableOp::Scalar(*f),
            ScalarOp::Pow => partials::DifferentiableOp::Pow,
            ScalarOp::PowInt => partials::DifferentiableOp::PowInt,
        };
        let callee = Arc::new(FunctionKey::new(partials::partial_name(table, k), vec![Type::Scalar(from)]));
        let ssa = (self.functions)(&callee)?;
        let dims = stmt.dims.clone();
        let tensor = |this: &mut Self, a: &TensorAccess| {
            this.builder.contract(&dims, Vec::new(), pred, false, std::slice::from_ref(a), stmt.needs.clone())
        };
        let mut vars: Vec<StmtId> = args.iter().map(|a| tensor(self, a)).collect();
        if *operation == ScalarOp::PowInt {
            // The table's function also takes the exponent as a real.
            if let Some(k) = args.get(1) {
                let real =
                    self.builder.map(&dims, from, ScalarOp::Convert(from), pred, std::slice::from_ref(k), Vec::new());
                vars.push(real);
            }
        }
        let call = BatchedCall {
            callee: &callee,
            sizes: Vec::new(),
            args: vars,
            dims: dims.clone(),
            pred: pred.clone(),
            needs: stmt.needs.clone(),
        };
        // The table refers to no top-level `let`.
        let parts = inline::add_call(&mut self.builder, &call, &ssa, &mut |builder, global| {
            builder.zero(&global.leaf.dims, from)
        });
        parts.first().map(|var| PartialDerivative::Product(*var))
    }

    /// Returns the predicate under which a selection takes this argument, and the partial
    /// derivative there. Elsewhere the result does not depend on the argument.
    ///
    /// An argument that is always finite is multiplied by 0 or 1 instead, because that needs no
    /// predicate.
    pub(super) fn selection_domain(
        &mut self,
        stmt: &Statement,
        partial: PartialDerivative,
        of: StmtId,
    ) -> (Pred, PartialDerivative) {
        let (Rhs::Map { operation: ScalarOp::Scalar(f), .. }, PartialDerivative::Product(var)) = (&stmt.rhs, &partial)
        else {
            return (Pred::truth(), partial);
        };
        let (var, is_selection) = (*var, f.is_selection());
        if !is_selection || !self.is_singular(of) {
            return (Pred::truth(), partial);
        }
        let constant = |of: StmtId| match self.builder.get(of).map(|s| &s.rhs) {
            Some(Rhs::Constant(Constant::Real(x))) => Some(*x),
            Some(Rhs::Zero) => Some(0.0),
            _ => None,
        };
        let terms = match self.builder.get(var).map(|s| &s.rhs) {
            Some(Rhs::Contract { bound, pred, neg: false, factors }) if bound.is_empty() => match factors.as_slice() {
                [one] => vec![(pred.clone(), constant(one.var))],
                _ => return (Pred::truth(), partial),
            },
            Some(Rhs::Add(items)) => items.iter().map(|item| (item.pred.clone(), constant(item.operand.var))).collect(),
            _ => vec![(Pred::truth(), constant(var))],
        };
        let taken: Vec<_> = terms.into_iter().filter(|(_, of)| *of != Some(0.0)).collect();
        let whole = taken.iter().all(|(_, of)| *of == Some(1.0));
        let pred = Pred::any_of(taken.into_iter().map(|(pred, _)| pred));
        if !whole {
            return (pred, partial);
        }
        let one = self.builder.constant(Constant::Real(1.0), stmt.scalar.unwrap_or(Scalar::F64));
        let one = TensorAccess { var: one, at: Vec::new() };
        (
            pred,
            PartialDerivative::Product(self.builder.contract(
                &stmt.dims,
                Vec::new(),
                &Pred::truth(),
                false,
                &[one],
                Vec::new(),
            )),
        )
    }

    /// Returns whether the statement may be infinite or NaN although the inputs are finite.
    /// Overflow does not count, because it may affect any statement.
    fn is_singular(&mut self, var: StmtId) -> bool {
        for k in self.may_be_singular.len()..=var.0 as usize {
            let singular = self.builder.stmts.get(k).is_some_and(|stmt| {
                let mut singular = self.is_singular_operation(&stmt.rhs);
                singular |= matches!(&stmt.rhs, Rhs::Reduce(r) if self.may_be_empty(&stmt.dims, r));
                stmt.rhs
                    .for_each_access(&mut |a| singular |= self.may_be_singular.get(a.var.0 as usize) == Some(&true));
                singular
            });
            self.may_be_singular.push(singular);
        }
        self.may_be_singular.get(var.0 as usize) == Some(&true)
    }

    fn is_singular_operation(&self, rhs: &Rhs) -> bool {
        match rhs {
            Rhs::Input(_) | Rhs::Zero | Rhs::Index(_) | Rhs::Add(_) | Rhs::Contract { .. } => false,
            Rhs::Reduce(_) | Rhs::Argsort(_) => false,
            Rhs::Constant(c) => matches!(c, Constant::Real(x) if !x.is_finite()),
            Rhs::Update { .. } => false,
            Rhs::Call { .. } | Rhs::CallResult(..) | Rhs::Loop(_) | Rhs::LoopResult(..) => true,
            Rhs::Map { operation, args, .. } => match operation {
                ScalarOp::Scalar(f) => !f.is_total(),
                ScalarOp::Pow | ScalarOp::Binary(BinOp::Div | BinOp::Mod | BinOp::FloorDiv) => true,
                ScalarOp::PowInt => {
                    let exponent = args.get(1).and_then(|k| self.builder.get(k.var)).map(|s| &s.rhs);
                    !matches!(exponent, Some(Rhs::Constant(Constant::Int(0..))))
                }
                ScalarOp::Binary(_) | ScalarOp::Not | ScalarOp::Convert(_) | ScalarOp::Stop => false,
            },
        }
    }

    /// Returns the condition under which a product with these factors is evaluated. Outside
    /// `present` the other operand is a structural zero, which a factor that is infinite or NaN
    /// would turn into NaN.
    pub(super) fn evaluation_domain(
        &mut self,
        present: &Pred,
        inside: &ReadDomain<'_>,
        factors: &[TensorAccess],
    ) -> Pred {
        let singular: Vec<&TensorAccess> = factors.iter().filter(|f| self.is_singular(f.var)).collect();
        self.met_singular_factor |= !singular.is_empty();
        if singular.is_empty() {
            return Pred::truth();
        }
        let finite = |this: &mut Self| {
            let each: Vec<Pred> = singular.iter().map(|f| this.is_finite_pred(inside, f)).collect();
            Pred::all(each)
        };
        self.weaken_nonzero_tests(present, finite)
    }

    /// Weakens `present` if it contains a test "not zero": the test may also fail if a zero is
    /// `harmless`, because nothing is lost then.
    fn weaken_nonzero_tests(&mut self, present: &Pred, harmless: impl FnOnce(&mut Self) -> Pred) -> Pred {
        let mut asks = false;
        present.visit(&mut |_| {}, &mut |of| asks |= self.nonzero_tests.contains(&of));
        if !asks {
            return present.clone();
        }
        // The new disjunct is outside the existentials in `present`, because `harmless` does not
        // mention their bound variables.
        let otherwise = present.replace_opaque(&|x| self.nonzero_tests.contains(&x.source).then(Pred::truth));
        let harmless = harmless(self).and(&otherwise);
        Pred::any_of([present.clone(), harmless])
    }

    /// Returns the predicate that a factor is finite and not NaN.
    fn is_finite_pred(&mut self, inside: &ReadDomain<'_>, of: &TensorAccess) -> Pred {
        let all = self.builder.dims(of.var);
        // If only a few elements of an array are read, the test covers only those.
        if all.len() > inside.dims.len() {
            let below = self.compare_with_constant(BinOp::Lt, inside, of, f64::INFINITY);
            return below.and(&self.compare_with_constant(BinOp::Gt, inside, of, f64::NEG_INFINITY));
        }
        let whole = self.at_own_indices(of.var);
        let everywhere = ReadDomain { dims: all, pred: Pred::truth(), needs: &[] };
        let below = self.compare_with_constant(BinOp::Lt, &everywhere, &whole, f64::INFINITY);
        let above = self.compare_with_constant(BinOp::Gt, &everywhere, &whole, f64::NEG_INFINITY);
        below.and(&above).map(&|p| substitute_indices(p, &of.at))
    }

    /// Multiplies a partial derivative with a tangent or cotangent `by` at the statement's indices,
    /// whose support is `present`. Where `by` is a structural zero so is the product, even if the
    /// factor is infinite or NaN.
    pub(super) fn multiply_partial(
        &mut self,
        stmt: &Statement,
        partial: &PartialDerivative,
        pred: &Pred,
        by: &TensorAccess,
        present: &Pred,
    ) -> StmtId {
        let dims = &stmt.dims;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        let inside = ReadDomain::for_statement(stmt, &[], pred);
        let domain = match partial {
            PartialDerivative::Quotient { divisor, times } => {
                self.met_singular_factor = true;
                self.weaken_nonzero_tests(present, |this| {
                    let product = times.map(|result| TensorAccess { var: result, at: canonical_indices(dims) });
                    let finite = product.map_or(Pred::truth(), |product| this.is_finite_pred(&inside, &product));
                    finite.and(&this.compare_with_constant(BinOp::Ne, &inside, divisor, 0.0))
                })
            }
            PartialDerivative::Product(factor) => {
                self.evaluation_domain(present, &inside, &[TensorAccess { var: *factor, at: canonical_indices(dims) }])
            }
            PartialDerivative::Convert(_) => Pred::truth(),
        };
        let pred = &pred.and(&domain).and(&present.data_independent_part());
        match partial {
            PartialDerivative::Convert(to) => {
                self.builder.map(dims, *to, ScalarOp::Convert(*to), pred, std::slice::from_ref(by), needs)
            }
            PartialDerivative::Product(factor) => {
                let factor = TensorAccess { var: *factor, at: canonical_indices(dims) };
                self.builder.contract(dims, Vec::new(), pred, false, &[factor, by.clone()], needs)
            }
            PartialDerivative::Quotient { divisor, times } => {
                let over = match times {
                    None => by.clone(),
                    Some(result) => {
                        let result = TensorAccess { var: *result, at: canonical_indices(dims) };
                        let factors = [result, by.clone()];
                        let product = self.builder.contract(dims, Vec::new(), pred, true, &factors, needs.clone());
                        TensorAccess { var: product, at: canonical_indices(dims) }
                    }
                };
                let args = [over, divisor.clone()];
                self.builder.map(dims, scalar, ScalarOp::Binary(BinOp::Div), pred, &args, needs)
            }
        }
    }
}

//! **Constant propagation under a case.** Substitutes facts about statements into expressions,
//! indices and predicates: constants, and zero for a leaf of another constructor than the value's
//! own.

use super::expression_tree::SourceExpr;
use lang_base::check_cancelled;
use lang_ir::core::{Constant, ScalarOp};
use lang_ir::ssa::StmtId;
use lang_runtime::scalar::convert;
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A known fact about an element.
#[derive(Clone, Debug)]
pub(super) enum ElementFact {
    /// It is this constant.
    Constant(Constant),
    /// It belongs to another constructor, so a term with it as a factor vanishes. By itself it has
    /// this value.
    OtherConstructor(SourceExpr),
}

/// A lookup of the facts about elements.
pub(super) type FactLookup<'f> = &'f dyn Fn(StmtId, &[Poly]) -> Option<ElementFact>;

/// Substitutes facts in an expression. The flag is true if the whole expression vanishes.
pub(super) fn propagate_facts(e: &SourceExpr, facts: FactLookup<'_>) -> (SourceExpr, bool) {
    lang_base::ensure_sufficient_stack(|| propagate_into_node(e, facts))
}

fn propagate_into_node(e: &SourceExpr, facts: FactLookup<'_>) -> (SourceExpr, bool) {
    check_cancelled();
    match e {
        SourceExpr::Constant(_) => (e.clone(), false),
        SourceExpr::Index(p) => {
            let p = propagate_into_poly(p, facts);
            let constant = p.as_constant().and_then(|c| i64::try_from(c).ok());
            (constant.map_or(SourceExpr::Index(p), |c| SourceExpr::Constant(Constant::Int(c))), false)
        }
        SourceExpr::Read(v, at) => match facts(*v, at) {
            Some(ElementFact::Constant(Constant::Real(x))) => (SourceExpr::real(x), false),
            Some(ElementFact::Constant(c)) => (SourceExpr::Constant(c), false),
            Some(ElementFact::OtherConstructor(zero)) => (zero, true),
            None => (SourceExpr::Read(*v, at.iter().map(|p| propagate_into_poly(p, facts)).collect()), false),
        },
        SourceExpr::Sum(terms) => {
            let terms: Vec<(bool, (SourceExpr, bool))> =
                terms.iter().map(|(neg, e)| (*neg, propagate_facts(e, facts))).collect();
            match terms.first() {
                Some((_, (zero, true))) if terms.iter().all(|(_, t)| t.1) => (zero.clone(), true),
                _ => {
                    let kept = terms.into_iter().filter(|(_, t)| !t.1).map(|(neg, t)| (neg, t.0));
                    (SourceExpr::sum(kept.collect()), false)
                }
            }
        }
        SourceExpr::Product(p) => {
            let over: Vec<(SourceExpr, bool)> = p.factors.iter().map(|e| propagate_facts(e, facts)).collect();
            if over.iter().any(|t| t.1) {
                return (SourceExpr::real(0.0), true);
            }
            let mut under: Vec<SourceExpr> = p.divisors.iter().map(|e| propagate_facts(e, facts).0).collect();
            if p.denominator.to_bits() != 1.0_f64.to_bits() {
                under.push(SourceExpr::real(p.denominator));
            }
            (SourceExpr::product(p.numerator, over.into_iter().map(|t| t.0).collect(), under), false)
        }
        SourceExpr::Power(e, k) => {
            let (e, absent) = propagate_facts(e, facts);
            if absent { (e, true) } else { (SourceExpr::power(e, *k), false) }
        }
        SourceExpr::Guard(p, e) => {
            let (e, absent) = propagate_facts(e, facts);
            if absent { (e, true) } else { (SourceExpr::guard(propagate_into_pred(p, facts), e), false) }
        }
        SourceExpr::IndexedSum(indices, p, e) => {
            let (e, absent) = propagate_facts(e, facts);
            let put = |i: &lang_sizes::predicate::Index| lang_sizes::predicate::Index {
                extent: propagate_into_poly(&i.extent, facts),
                ..i.clone()
            };
            if absent {
                (e, true)
            } else {
                (SourceExpr::total(indices.iter().map(put).collect(), propagate_into_pred(p, facts), e), false)
            }
        }
        SourceExpr::Reduce(r) => {
            let (body, absent) = propagate_facts(&r.body, facts);
            if absent {
                return (e.zero_like(), true);
            }
            let (poly, pred) = (|p: &Poly| propagate_into_poly(p, facts), |p: &Pred| propagate_into_pred(p, facts));
            (r.map_parts(body, &poly, &pred), false)
        }
        SourceExpr::Choice(p, a, b) => {
            let ((a, none), (b, neither)) = (propagate_facts(a, facts), propagate_facts(b, facts));
            (SourceExpr::choice(propagate_into_pred(p, facts), a, b), none && neither)
        }
        SourceExpr::Apply(op, args) => {
            let args: Vec<(SourceExpr, bool)> = args.iter().map(|e| propagate_facts(e, facts)).collect();
            let absent = matches!(op, ScalarOp::Convert(_) | ScalarOp::Stop) && args.iter().all(|t| t.1);
            (fold_operation(*op, args.into_iter().map(|t| t.0).collect()), absent)
        }
    }
}

/// Substitutes facts in a polynomial.
pub(super) fn propagate_into_poly(p: &Poly, facts: FactLookup<'_>) -> Poly {
    p.substitute(&|a| match a {
        Atom::Read(x, _, at) => match facts(StmtId::from_local(*x)?, at)? {
            ElementFact::Constant(Constant::Int(k)) => Some(Poly::constant(k.into())),
            ElementFact::OtherConstructor(_) => Some(Poly::default()),
            ElementFact::Constant(_) => None,
        },
        _ => None,
    })
}

/// Substitutes facts in a predicate.
pub(super) fn propagate_into_pred(p: &Pred, facts: FactLookup<'_>) -> Pred {
    p.map(&|p| propagate_into_poly(p, facts)).replace_opaque(
        &|x| match facts(StmtId::from_local(x.source)?, x.indices)? {
            ElementFact::Constant(Constant::Bool(true)) if x.is_array => Some(Pred::truth()),
            ElementFact::Constant(Constant::Bool(false)) | ElementFact::OtherConstructor(_) if x.is_array => {
                Some(Pred::falsity())
            }
            _ => None,
        },
    )
}

/// Returns the constant of this scalar type that the expression is.
pub(super) fn as_constant(e: &SourceExpr, of: Scalar) -> Option<Constant> {
    match (e, of) {
        (SourceExpr::Constant(c), _) => Some(*c),
        (SourceExpr::Index(p), _) => p.as_constant().and_then(|c| i64::try_from(c).ok()).map(Constant::Int),
        // A zero may have another type after parts vanished.
        (e, Scalar::I64) if e.is_zero() => Some(Constant::Int(0)),
        (e, Scalar::Bool) if e.is_zero() => Some(Constant::Bool(false)),
        _ => e.as_real().map(Constant::Real),
    }
}

/// Applies an operation, and folds it if the result is exact.
fn fold_operation(op: ScalarOp, args: Vec<SourceExpr>) -> SourceExpr {
    let known = |e: &SourceExpr| if let SourceExpr::Constant(c) = e { Some(*c) } else { None };
    let constants: Option<Vec<Constant>> = args.iter().map(known).collect();
    let folded = match (op, constants.as_deref()) {
        (ScalarOp::Binary(op), Some([Constant::Int(a), Constant::Int(b)])) => {
            let holds = match op {
                BinOp::Eq => a == b,
                BinOp::Ne => a != b,
                BinOp::Lt => a < b,
                BinOp::Le => a <= b,
                BinOp::Gt => a > b,
                BinOp::Ge => a >= b,
                _ => return SourceExpr::Apply(ScalarOp::Binary(op), args),
            };
            Some(SourceExpr::Constant(Constant::Bool(holds)))
        }
        (ScalarOp::Not, Some([Constant::Bool(b)])) => Some(SourceExpr::Constant(Constant::Bool(!b))),
        (ScalarOp::Convert(Scalar::F64), Some([Constant::Int(k)])) => Some(SourceExpr::real(convert::i64_to_f64(*k))),
        _ => None,
    };
    folded.unwrap_or(SourceExpr::Apply(op, args))
}

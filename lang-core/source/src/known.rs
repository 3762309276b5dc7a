//! **Constant propagation under a case.** Substitutes facts about statements into expressions,
//! indices and predicates: constants, and zero for a leaf of another constructor than the value's
//! own.

use super::tree::Ex;
use lang_base::pause;
use lang_ir::core::{Constant, Operation};
use lang_ir::ssa::Var;
use lang_runtime::scalar::convert;
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A known fact about an element.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// It is this constant.
    Is(Constant),
    /// It belongs to another constructor, so a term with it as a factor vanishes. By itself it has
    /// this value.
    Absent(Ex),
}

/// A lookup of the facts about elements.
pub(super) type Facts<'f> = &'f dyn Fn(Var, &[Poly]) -> Option<Fact>;

/// Substitutes facts in an expression. The flag is true if the whole expression vanishes.
pub(super) fn told(e: &Ex, facts: Facts<'_>) -> (Ex, bool) {
    lang_base::guarded(|| told_node(e, facts))
}

fn told_node(e: &Ex, facts: Facts<'_>) -> (Ex, bool) {
    pause();
    match e {
        Ex::Constant(_) => (e.clone(), false),
        Ex::Index(p) => {
            let p = told_poly(p, facts);
            let constant = p.as_constant().and_then(|c| i64::try_from(c).ok());
            (constant.map_or(Ex::Index(p), |c| Ex::Constant(Constant::Int(c))), false)
        }
        Ex::Read(v, at) => match facts(*v, at) {
            Some(Fact::Is(Constant::Real(x))) => (Ex::real(x), false),
            Some(Fact::Is(c)) => (Ex::Constant(c), false),
            Some(Fact::Absent(zero)) => (zero, true),
            None => (Ex::Read(*v, at.iter().map(|p| told_poly(p, facts)).collect()), false),
        },
        Ex::Sum(terms) => {
            let terms: Vec<(bool, (Ex, bool))> = terms.iter().map(|(neg, e)| (*neg, told(e, facts))).collect();
            match terms.first() {
                Some((_, (zero, true))) if terms.iter().all(|(_, t)| t.1) => (zero.clone(), true),
                _ => {
                    let kept = terms.into_iter().filter(|(_, t)| !t.1).map(|(neg, t)| (neg, t.0));
                    (Ex::sum(kept.collect()), false)
                }
            }
        }
        Ex::Product(p) => {
            let over: Vec<(Ex, bool)> = p.over.iter().map(|e| told(e, facts)).collect();
            if over.iter().any(|t| t.1) {
                return (Ex::real(0.0), true);
            }
            let mut under: Vec<Ex> = p.under.iter().map(|e| told(e, facts).0).collect();
            if p.per.to_bits() != 1.0_f64.to_bits() {
                under.push(Ex::real(p.per));
            }
            (Ex::product(p.by, over.into_iter().map(|t| t.0).collect(), under), false)
        }
        Ex::Power(e, k) => {
            let (e, absent) = told(e, facts);
            if absent { (e, true) } else { (Ex::power(e, *k), false) }
        }
        Ex::Guard(p, e) => {
            let (e, absent) = told(e, facts);
            if absent { (e, true) } else { (Ex::guard(told_pred(p, facts), e), false) }
        }
        Ex::Total(indices, p, e) => {
            let (e, absent) = told(e, facts);
            let put = |i: &lang_sizes::predicate::Index| lang_sizes::predicate::Index {
                extent: told_poly(&i.extent, facts),
                ..i.clone()
            };
            if absent {
                (e, true)
            } else {
                (Ex::total(indices.iter().map(put).collect(), told_pred(p, facts), e), false)
            }
        }
        Ex::Reduce(r) => {
            let (body, absent) = told(&r.body, facts);
            if absent {
                return (e.zero_like(), true);
            }
            let (poly, pred) = (|p: &Poly| told_poly(p, facts), |p: &Pred| told_pred(p, facts));
            (r.told(body, &poly, &pred), false)
        }
        Ex::Choice(p, a, b) => {
            let ((a, none), (b, neither)) = (told(a, facts), told(b, facts));
            (Ex::choice(told_pred(p, facts), a, b), none && neither)
        }
        Ex::Apply(op, args) => {
            let args: Vec<(Ex, bool)> = args.iter().map(|e| told(e, facts)).collect();
            let absent = matches!(op, Operation::Convert(_) | Operation::Stop) && args.iter().all(|t| t.1);
            (folded(*op, args.into_iter().map(|t| t.0).collect()), absent)
        }
    }
}

/// Substitutes facts in a polynomial.
pub(super) fn told_poly(p: &Poly, facts: Facts<'_>) -> Poly {
    p.substitute(&|a| match a {
        Atom::Read(x, _, at) => match facts(Var::of_local(*x)?, at)? {
            Fact::Is(Constant::Int(k)) => Some(Poly::constant(k.into())),
            Fact::Absent(_) => Some(Poly::default()),
            Fact::Is(_) => None,
        },
        _ => None,
    })
}

/// Substitutes facts in a predicate.
pub(super) fn told_pred(p: &Pred, facts: Facts<'_>) -> Pred {
    p.map(&|p| told_poly(p, facts)).replace_opaque(&|x| match facts(Var::of_local(x.of)?, x.at)? {
        Fact::Is(Constant::Bool(true)) if x.array => Some(Pred::truth()),
        Fact::Is(Constant::Bool(false)) | Fact::Absent(_) if x.array => Some(Pred::falsity()),
        _ => None,
    })
}

/// Returns the constant of this scalar type that the expression is.
pub(super) fn constant(e: &Ex, of: Scalar) -> Option<Constant> {
    match (e, of) {
        (Ex::Constant(c), _) => Some(*c),
        (Ex::Index(p), _) => p.as_constant().and_then(|c| i64::try_from(c).ok()).map(Constant::Int),
        // A zero may have another type after parts vanished.
        (e, Scalar::I64) if e.is_zero() => Some(Constant::Int(0)),
        (e, Scalar::Bool) if e.is_zero() => Some(Constant::Bool(false)),
        _ => e.as_real().map(Constant::Real),
    }
}

/// Applies an operation, and folds it if the result is exact.
fn folded(op: Operation, args: Vec<Ex>) -> Ex {
    let known = |e: &Ex| if let Ex::Constant(c) = e { Some(*c) } else { None };
    let constants: Option<Vec<Constant>> = args.iter().map(known).collect();
    let made = match (op, constants.as_deref()) {
        (Operation::Binary(op), Some([Constant::Int(a), Constant::Int(b)])) => {
            let holds = match op {
                BinOp::Eq => a == b,
                BinOp::Ne => a != b,
                BinOp::Lt => a < b,
                BinOp::Le => a <= b,
                BinOp::Gt => a > b,
                BinOp::Ge => a >= b,
                _ => return Ex::Apply(Operation::Binary(op), args),
            };
            Some(Ex::Constant(Constant::Bool(holds)))
        }
        (Operation::Not, Some([Constant::Bool(b)])) => Some(Ex::Constant(Constant::Bool(!b))),
        (Operation::Convert(Scalar::F64), Some([Constant::Int(k)])) => Some(Ex::real(convert::i64_to_f64(*k))),
        _ => None,
    };
    made.unwrap_or(Ex::Apply(op, args))
}

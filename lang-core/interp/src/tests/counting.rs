//! Compares counts with counts by hand: (work, tests, iterations).

use super::fixture::*;
use lang_resolve::builtin::Builtin;
use lang_resolve::scalar_fn::ScalarFn;
use lang_syntax::ops::{BinOp, BinderKind, Scalar};
use lang_types::tree::{Callee, Instantiation, TypedExpr, TypedId, TypedPattern, TypedSubscript, TypedUpdateTarget};
use lang_types::ty::Type;

#[test]
fn units() {
    counts((1, 0, 0), |b| {
        let (x, y) = (b.real(1.0), b.real(2.0));
        b.add(x, y)
    });
    counts((0, 0, 0), |b| {
        let (x, y) = (b.int(1), b.int(2));
        b.mul(x, y)
    });
    counts((3, 0, 0), |b| {
        let (x, y) = (b.reals(&[1.0, 2.0, 3.0]), b.real(2.0));
        b.mul(x, y)
    });
    counts((2, 0, 0), |b| {
        let x = b.reals(&[1.0, 2.0]);
        let ty = b.ty(x);
        b.node(TypedExpr::Scalar(ScalarFn::Exp, vec![x]), ty)
    });
    counts((1, 0, 0), |b| {
        let (x, k) = (b.real(2.0), b.int(10));
        b.node(TypedExpr::Pow(x, k), Type::F64)
    });
    // Negation, conversion, comparison, selection, indexing.
    counts((0, 1, 0), |b| {
        let (x, y, i) = (b.reals(&[1.0]), b.real(2.0), b.int(0));
        let x = b.at(x, &[i]);
        let x = b.node(TypedExpr::Neg(x), Type::F64);
        let p = b.compare(BinOp::Lt, x, y);
        let e = b.node(TypedExpr::If(vec![(p, x)], y), Type::F64);
        b.node(TypedExpr::Convert(Scalar::I64, e), Type::I64)
    });
}

fn dot(b: &mut BodyBuilder, n: i64) -> TypedId {
    let i = b.below(n, "i");
    let (x, y) = (b.real(1.0), b.real(2.0));
    let e = b.mul(x, y);
    b.sum(vec![i], e)
}

#[test]
fn sums() {
    // n products and n - 1 additions (4.30); zero for an empty sum.
    counts((9, 0, 5), |b| dot(b, 5));
    counts((0, 0, 0), |b| dot(b, 0));
    // A filter and a bracket: two terms, one addition, five tests. The body runs only if the
    // condition holds.
    for bracket in [false, true] {
        counts((3, 5, 5), |b| {
            let i = b.below(5, "i");
            let (k, two) = (b.get(i.local), b.int(2));
            let p = b.compare(BinOp::Lt, k, two);
            let (x, y) = (b.real(1.0), b.real(2.0));
            let e = b.mul(x, y);
            if bracket {
                let g = b.guard(p, e);
                b.sum(vec![i], g)
            } else {
                b.filtered(BinderKind::Sum, vec![i], p, e, Type::F64)
            }
        });
    }
    // A sum in a sum is one composite: i < 3, j < 3, [j < i]: 3 terms, 2 additions.
    counts((2, 9, 12), |b| {
        let (i, j, x) = (b.below(3, "i"), b.below(3, "j"), b.real(1.0));
        let (p, q) = (b.get(j.local), b.get(i.local));
        let p = b.compare(BinOp::Lt, p, q);
        let g = b.guard(p, x);
        let inner = b.sum(vec![j], g);
        b.sum(vec![i], inner)
    });
    // Tensors: 2 additions of 4 elements; tuples count their reals.
    counts((8, 0, 3), |b| {
        let (i, x) = (b.below(3, "i"), b.reals(&[1.0, 2.0, 3.0, 4.0]));
        b.sum(vec![i], x)
    });
    counts((2, 0, 3), |b| {
        let (i, x, n) = (b.below(3, "i"), b.real(1.0), b.int(1));
        let t = b.tuple(&[x, n]);
        b.sum(vec![i], t)
    });
}

#[test]
fn guarded_addition() {
    // (4.24): 1 only if both predicates hold.
    for (p, q, work) in [(false, false, 0), (false, true, 0), (true, false, 0), (true, true, 1)] {
        counts((work, 2, 0), |b| {
            let (p, q, x, y) = (b.bool(p), b.bool(q), b.real(1.0), b.real(2.0));
            let (x, y) = (b.guard(p, x), b.guard(q, y));
            b.add(x, y)
        });
    }
    // (4.33): the guarded operand is not evaluated.
    counts((0, 1, 0), |b| {
        let (p, x, y) = (b.bool(false), b.real(1.0), b.real(2.0));
        let e = b.mul(x, y);
        b.guard(p, e)
    });
}

#[test]
fn reductions() {
    for kind in [BinderKind::Max, BinderKind::Min, BinderKind::Prod] {
        counts((3, 0, 4), |b| {
            let (i, x) = (b.below(4, "i"), b.real(1.0));
            b.binder(kind, vec![i], x, Type::F64)
        });
    }
    counts((3, 0, 4), |b| {
        let (i, x) = (b.below(4, "i"), b.real(1.0));
        b.binder(BinderKind::Argmax, vec![i], x, Type::I64)
    });
    counts((0, 0, 4), |b| {
        let (i, x) = (b.below(4, "i"), b.int(1));
        b.binder(BinderKind::Max, vec![i], x, Type::I64)
    });
    // `any` stops at the second index.
    counts((0, 2, 2), |b| {
        let i = b.below(4, "i");
        let (k, one) = (b.get(i.local), b.int(1));
        let p = b.compare(BinOp::Eq, k, one);
        b.binder(BinderKind::Any, vec![i], p, Type::BOOL)
    });
    counts((0, 0, 6), |b| {
        let (i, j, x) = (b.below(2, "i"), b.below(3, "j"), b.real(1.0));
        b.binder(BinderKind::For, vec![i, j], x, vec_of(2, vec_of(3, Type::F64)))
    });
}

#[test]
fn control() {
    // fold: one product per step.
    counts((4, 0, 4), |b| {
        let (i, acc, one) = (b.below(4, "i"), b.local("acc", Type::F64), b.real(1.0));
        let (x, two) = (b.get(acc), b.real(2.0));
        let body = b.mul(x, two);
        b.fold(TypedPattern::Bind(acc), one, vec![i], body)
    });
    // loop: one more test than steps.
    counts((0, 4, 3), |b| {
        let (n, zero) = (b.local("n", Type::I64), b.int(0));
        let (k, three) = (b.get(n), b.int(3));
        let cond = b.compare(BinOp::Lt, k, three);
        let (k, one) = (b.get(n), b.int(1));
        let body = b.add(k, one);
        b.node(TypedExpr::Loop { is_scan: false, acc: TypedPattern::Bind(n), init: zero, cond, body }, Type::I64)
    });
    // `+=` of a slice of two, then of a false bracket.
    counts((2, 0, 0), |b| {
        let (x, i, j, v) = (b.reals(&[1.0, 2.0, 3.0]), b.int(1), b.int(3), b.real(1.0));
        b.update(x, TypedUpdateTarget::Index(vec![TypedSubscript::Range { from: i, to: j, is_proved: false }]), true, v)
    });
    counts((0, 1, 0), |b| {
        let (x, i, v, p) = (b.reals(&[1.0]), b.int(0), b.real(1.0), b.bool(false));
        let g = b.guard(p, v);
        b.update(x, TypedUpdateTarget::Index(vec![TypedSubscript::Index { index: i, is_proved: false }]), true, g)
    });
    // The input is sorted: n - 1 comparisons.
    counts((3, 0, 0), |b| {
        let x = b.reals(&[1.0, 2.0, 3.0, 4.0]);
        b.node(
            TypedExpr::Call { callee: Callee::Builtin(Builtin::Sort, Instantiation::default()), args: vec![x] },
            Type::Error,
        )
    });
}

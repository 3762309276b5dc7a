//! Tests of operators, arrays, binders, folds and updates.

use std::sync::Arc;

use super::fixture::*;
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::Poly;
use lang_syntax::ops::{BinOp, BinderKind, Scalar};
use lang_types::tree::{
    Callee, TypedExpr, TypedForm, TypedId, TypedIndexRange, TypedIndexVar, TypedPattern, TypedSubscript,
    TypedUpdateTarget,
};
use lang_types::ty::Type;

fn range(from: TypedId, to: TypedId) -> TypedSubscript {
    TypedSubscript::Range { from, to, is_proved: false }
}

#[test]
fn literals() {
    check("1.5", |b| b.real(1.5));
    check("0.1", |b| b.node(TypedExpr::Real(lang_base::RealConst(0.1)), Type::F32));
    check("7", |b| b.int(7));
    check("7.0", |b| b.node(TypedExpr::Int(7), Type::F64));
    check("true", |b| b.bool(true));
    check("\"a\\nb\"", |b| b.node(TypedExpr::Str("a\nb".into()), Type::Str));
    check("12", |b| b.node(TypedExpr::Size(Poly::constant(12)), Type::I64));
}

#[test]
fn arithmetic() {
    for (op, expected) in [(BinOp::Add, "4.5"), (BinOp::Sub, "2.5"), (BinOp::Mul, "3.5"), (BinOp::Div, "3.5")] {
        check(expected, |b| {
            let (x, y) = (b.real(3.5), b.real(1.0));
            b.arith(op, x, y)
        });
    }
    for (op, a, z, expected) in [
        (BinOp::FloorDiv, -7, 2, "-4"),
        (BinOp::Mod, -7, 2, "1"),
        (BinOp::Mod, 7, -2, "-1"),
        (BinOp::FloorDiv, i64::MIN, -1, "-9223372036854775808"),
        (BinOp::Mod, i64::MIN, -1, "0"),
        (BinOp::Add, i64::MAX, 1, "-9223372036854775808"),
        (BinOp::FloorDiv, 1, 0, "E0505 integer division by zero"),
        (BinOp::Mod, 1, 0, "E0505 integer division by zero"),
    ] {
        check(expected, |b| {
            let (x, y) = (b.int(a), b.int(z));
            b.arith(op, x, y)
        });
    }
    // A scalar with an array, and arrays with arrays.
    check("[3.0, 4.0]", |b| {
        let (x, y) = (b.reals(&[1.0, 2.0]), b.real(2.0));
        b.add(x, y)
    });
    check("[10, 40]", |b| {
        let (x, y) = (b.ints(&[1, 2]), b.ints(&[10, 20]));
        b.mul(x, y)
    });
    check("E0501 shapes [2] and [1] differ", |b| {
        let (x, y) = (b.ints(&[1, 2]), b.ints(&[10]));
        b.mul(x, y)
    });
}

#[test]
fn scalar_functions_lift() {
    check("[1.0, 2.0]", |b| {
        let x = b.reals(&[1.0, 4.0]);
        let ty = b.ty(x);
        b.node(TypedExpr::Scalar(ScalarFn::Sqrt, vec![x]), ty)
    });
    check("[1, 2]", |b| {
        let (x, y) = (b.ints(&[1, 4]), b.int(2));
        let ty = b.ty(x);
        b.node(TypedExpr::Scalar(ScalarFn::Min, vec![x, y]), ty)
    });
    check("[-1.0, 2.0]", |b| {
        let x = b.reals(&[1.0, -2.0]);
        let ty = b.ty(x);
        b.node(TypedExpr::Neg(x), ty)
    });
    check("[true, false]", |b| {
        let (x, y) = (b.bool(false), b.bool(true));
        let a = b.node(TypedExpr::Array(vec![x, y]), vec_of(2, Type::BOOL));
        b.node(TypedExpr::Not(a), vec_of(2, Type::BOOL))
    });
    check("[1, -2, 9223372036854775807, 0]", |b| {
        let x = b.reals(&[1.9, -2.9, 1e300, f64::NAN]);
        b.node(TypedExpr::Convert(Scalar::I64, x), vec_of(4, Type::I64))
    });
    check("[1.0, 3.0]", |b| {
        let x = b.ints(&[1, 3]);
        b.node(TypedExpr::Convert(Scalar::F32, x), vec_of(2, Type::F32))
    });
    check("[false, true]", |b| {
        let (x, y) = (b.reals(&[1.0, 4.0]), b.real(2.0));
        b.node(TypedExpr::Compare(x, vec![(BinOp::Gt, y)]), vec_of(2, Type::BOOL))
    });
}

#[test]
fn powers() {
    check("8.0", |b| {
        let (x, k) = (b.real(2.0), b.int(3));
        b.node(TypedExpr::Pow(x, k), Type::F64)
    });
    check("0.25", |b| {
        let (x, k) = (b.real(2.0), b.int(-2));
        b.node(TypedExpr::Pow(x, k), Type::F64)
    });
    check("[2.0, 3.0]", |b| {
        let (x, k) = (b.reals(&[4.0, 9.0]), b.real(0.5));
        b.node(TypedExpr::Pow(x, k), vec_of(2, Type::F64))
    });
    check("81", |b| {
        let (x, k) = (b.int(3), b.int(4));
        b.node(TypedExpr::Pow(x, k), Type::I64)
    });
    check("E0513 an integer has no negative power", |b| {
        let (x, k) = (b.int(3), b.int(-1));
        b.node(TypedExpr::Pow(x, k), Type::I64)
    });
}

#[test]
fn conditions() {
    // 1 < 2 < 1 is false, so the next operand is not evaluated.
    check("false", |b| {
        let (x, y, z) = (b.int(1), b.int(2), b.int(1));
        let bad = b.node(TypedExpr::Error, Type::I64);
        b.node(TypedExpr::Compare(x, vec![(BinOp::Lt, y), (BinOp::Lt, z), (BinOp::Lt, bad)]), Type::BOOL)
    });
    check("false", |b| {
        let (x, bad) = (b.bool(false), b.node(TypedExpr::Error, Type::BOOL));
        b.node(TypedExpr::And(vec![x, bad]), Type::BOOL)
    });
    check("true", |b| {
        let (x, bad) = (b.bool(true), b.node(TypedExpr::Error, Type::BOOL));
        b.node(TypedExpr::Or(vec![x, bad]), Type::BOOL)
    });
    check("2", |b| {
        let (p, q, bad) = (b.bool(false), b.bool(true), b.node(TypedExpr::Error, Type::I64));
        let two = b.int(2);
        b.node(TypedExpr::If(vec![(p, bad), (q, two)], bad), Type::I64)
    });
}

#[test]
fn brackets() {
    // The guarded expression is not evaluated; the zero has the shape of the type.
    let zero_of = |ty: Type, expected: &str| {
        check(expected, |b| {
            let p = b.bool(false);
            let bad = b.node(TypedExpr::Error, ty);
            b.guard(p, bad)
        });
    };
    zero_of(Type::F64, "0.0");
    zero_of(Type::BOOL, "false");
    zero_of(vec_of(2, vec_of(2, Type::I64)), "[[0, 0], [0, 0]]");
    zero_of(vec_of(2, tuple_of(&[Type::F32, Type::I64])), "[(0.0, 0), (0.0, 0)]");
    zero_of(record_of(&[("x", Type::F64), ("y", vec_of(0, Type::F64))]), "{x: 0.0, y: []}");
    check("5.0", |b| {
        let (p, x) = (b.bool(true), b.real(5.0));
        b.guard(p, x)
    });
    // A false operand of a sum is not added: the sign of zero stays.
    check("-0.0", |b| {
        let (p, x, minus) = (b.bool(false), b.real(5.0), b.real(-0.0));
        let g = b.guard(p, x);
        b.add(minus, g)
    });
    check("-2.0", |b| {
        let (p, x, two) = (b.bool(false), b.real(5.0), b.real(2.0));
        let g = b.guard(p, x);
        b.arith(BinOp::Sub, g, two)
    });
    // A scalar beside a false array is broadcast to every element.
    check("[2.0, 2.0]", |b| {
        let (p, x, two) = (b.bool(false), b.reals(&[1.0, 1.0]), b.real(2.0));
        let g = b.guard(p, x);
        b.arith(BinOp::Add, two, g)
    });
}

#[test]
fn tuples_and_records() {
    check("(1, 2.0, ())", |b| {
        let (x, y, u) = (b.int(1), b.real(2.0), b.tuple(&[]));
        b.tuple(&[x, y, u])
    });
    check("2.0", |b| {
        let (x, y) = (b.int(1), b.real(2.0));
        let t = b.tuple(&[x, y]);
        b.proj(t, 1)
    });
    // The values are in the order of the type, not in that of the text.
    check("{x: 1, y: 2}", |b| {
        let (x, y) = (b.int(1), b.int(2));
        b.node(TypedExpr::Record(vec![(1, y), (0, x)]), record_of(&[("x", Type::I64), ("y", Type::I64)]))
    });
    // Fields are read by name, also in patterns, because records may be constructed in another
    // order.
    check("1", |b| {
        let l = b.local("r", record_of(&[("x", Type::I64), ("y", Type::I64)]));
        let (x, y) = (b.int(1), b.int(2));
        let r = b.record(&[("y", y), ("x", x)]);
        let get = b.get(l);
        let x = b.proj(get, 0);
        b.bind(l, r, x)
    });
    check("(1, 2)", |b| {
        let (l, m) = (b.local("x", Type::I64), b.local("y", Type::I64));
        let (x, y) = (b.int(1), b.int(2));
        let inner = b.record(&[("y", y), ("x", x)]);
        let boxed = b.node(
            TypedExpr::Call { callee: Callee::Ctor(name("Box"), 0), args: vec![inner] },
            Type::Data(
                name("Box"),
                Arc::from([lang_types::ty::GenericArg::Type(record_of(&[("x", Type::I64), ("y", Type::I64)]))]),
            ),
        );
        let (x, y) = (b.get(l), b.get(m));
        let both = b.tuple(&[x, y]);
        let pat = TypedPattern::Ctor(
            0,
            vec![TypedPattern::Record(vec![(0, TypedPattern::Bind(l)), (1, TypedPattern::Bind(m))])],
        );
        let ty = b.ty(both);
        b.node(TypedExpr::Match(boxed, vec![(pat, both)]), ty)
    });
}

#[test]
fn indexing() {
    let matrix = |b: &mut BodyBuilder| {
        let rows: Vec<_> = [[1, 2, 3], [4, 5, 6]].iter().map(|r| b.ints(r)).collect();
        b.node(TypedExpr::Array(rows), vec_of(2, vec_of(3, Type::I64)))
    };
    check("6", |b| {
        let (m, i, j) = (matrix(b), b.int(1), b.int(2));
        b.at(m, &[i, j])
    });
    check("[4, 5, 6]", |b| {
        let (m, i) = (matrix(b), b.int(1));
        b.at(m, &[i])
    });
    let slice = |expected: &str, subs: &dyn Fn(&mut BodyBuilder) -> Vec<TypedSubscript>| {
        check(expected, |b| {
            let m = matrix(b);
            let subs = subs(b);
            b.node(TypedExpr::Index(m, subs), Type::Error)
        });
    };
    slice("[[4, 5, 6]]", &|b| {
        let (i, j) = (b.int(1), b.int(2));
        vec![range(i, j)]
    });
    slice("[2, 5]", &|b| {
        let j = b.int(1);
        vec![TypedSubscript::FullAxis, TypedSubscript::Index { index: j, is_proved: false }]
    });
    slice("[[2, 3], [5, 6]]", &|b| {
        let (i, j) = (b.int(1), b.int(3));
        vec![TypedSubscript::FullAxis, range(i, j)]
    });
    slice("[5]", &|b| {
        let (i, j, k) = (b.int(1), b.int(1), b.int(2));
        vec![TypedSubscript::Index { index: i, is_proved: false }, range(j, k)]
    });
    slice("[[], []]", &|b| {
        let (i, j) = (b.int(3), b.int(3));
        vec![TypedSubscript::FullAxis, range(i, j)]
    });
    slice("[]", &|b| {
        let (i, j) = (b.int(2), b.int(2));
        vec![range(i, j)]
    });
    slice("E0500 index 7 is out of bounds for axis 1 of extent 3", &|b| {
        let (i, j) = (b.int(0), b.int(7));
        vec![TypedSubscript::Index { index: i, is_proved: false }, TypedSubscript::Index { index: j, is_proved: false }]
    });
    slice("E0500 index -1 is out of bounds for axis 0 of extent 2", &|b| {
        let i = b.int(-1);
        vec![TypedSubscript::Index { index: i, is_proved: false }]
    });
    slice("E0500 slice 2..1 is out of bounds for axis 1 of extent 3", &|b| {
        let (i, j) = (b.int(2), b.int(1));
        vec![TypedSubscript::FullAxis, range(i, j)]
    });
    // Boxed elements, and more axes than fit without allocation.
    check("(1, 2)", |b| {
        let (x, y, i) = (b.int(1), b.int(2), b.int(0));
        let t = b.tuple(&[x, y]);
        let ty = b.ty(t);
        let a = b.node(TypedExpr::Array(vec![t]), vec_of(1, ty));
        b.at(a, &[i])
    });
    check("3.0", |b| {
        let x = b.real(3.0);
        let vars: Vec<_> = (0..6).map(|_| b.below(1, "i")).collect();
        let ty = (0..6).fold(Type::F64, |t, _| vec_of(1, t));
        let a = b.binder(BinderKind::For, vars, x, ty);
        let zeros: Vec<_> = (0..6).map(|_| b.int(0)).collect();
        b.at(a, &zeros)
    });
}

#[test]
fn generation() {
    check("[[0, 1, 2], [10, 11, 12]]", |b| {
        let (i, j, ten) = (b.below(2, "i"), b.below(3, "j"), b.int(10));
        let (x, y) = (b.get(i.local), b.get(j.local));
        let x = b.mul(x, ten);
        let e = b.add(x, y);
        b.binder(BinderKind::For, vec![i, j], e, vec_of(2, vec_of(3, Type::I64)))
    });
    // Elements that are arrays, boxed elements, strides, and empty ranges.
    check("[[1.0, 2.0], [1.0, 2.0]]", |b| {
        let (i, x) = (b.below(2, "i"), b.reals(&[1.0, 2.0]));
        b.binder(BinderKind::For, vec![i], x, vec_of(2, vec_of(2, Type::F64)))
    });
    check("[(), ()]", |b| {
        let (i, x) = (b.below(2, "i"), b.tuple(&[]));
        b.binder(BinderKind::For, vec![i], x, vec_of(2, Type::unit()))
    });
    check("[1, 4, 7]", |b| {
        let (from, to, by) = (b.int(1), b.int(8), b.int(3));
        let i = TypedIndexVar { local: b.local("i", Type::I64), range: TypedIndexRange::Range(from, to, Some(by)) };
        let x = b.get(i.local);
        b.binder(BinderKind::For, vec![i], x, vec_of(3, Type::I64))
    });
    check("[[], []]", |b| {
        let (i, j, x) = (b.below(2, "i"), b.below(0, "j"), b.real(1.0));
        b.binder(BinderKind::For, vec![i, j], x, vec_of(2, vec_of(0, Type::F64)))
    });
    check("[]", |b| {
        let (i, j, x) = (b.below(0, "i"), b.below(3, "j"), b.real(1.0));
        b.binder(BinderKind::For, vec![i, j], x, vec_of(0, vec_of(3, Type::F64)))
    });
    // A range whose extent is a size.
    check("[0, 1]", |b| {
        let n = b.local("n", Type::I64);
        let i = TypedIndexVar { local: b.local("i", Type::I64), range: TypedIndexRange::Extent(size_of_local(n)) };
        let x = b.get(i.local);
        let a = b.binder(BinderKind::For, vec![i], x, Type::Array(size_of_local(n), Arc::new(Type::I64)));
        let two = b.int(2);
        b.bind(n, two, a)
    });
}

fn over(b: &mut BodyBuilder, kind: BinderKind, xs: &[f64]) -> TypedId {
    let i = b.below(i64::try_from(xs.len()).unwrap(), "i");
    let (x, at) = (b.reals(xs), b.get(i.local));
    let e = b.at(x, &[at]);
    let ty = if matches!(kind, BinderKind::Argmax | BinderKind::Argmin) { Type::I64 } else { Type::F64 };
    b.binder(kind, vec![i], e, ty)
}

#[test]
fn reductions() {
    let nan = f64::NAN;
    for (kind, xs, expected) in [
        (BinderKind::Sum, &[1.0, 2.5][..], "3.5"),
        (BinderKind::Sum, &[-0.0], "-0.0"),
        (BinderKind::Sum, &[], "0.0"),
        (BinderKind::Prod, &[2.0, 2.5], "5.0"),
        (BinderKind::Prod, &[], "1.0"),
        (BinderKind::Max, &[1.0, 3.0, 2.0], "3.0"),
        (BinderKind::Max, &[-0.0, 0.0], "-0.0"),
        (BinderKind::Max, &[1.0, nan, 2.0], "nan"),
        (BinderKind::Max, &[], "-inf"),
        (BinderKind::Min, &[1.0, 3.0, 2.0], "1.0"),
        (BinderKind::Min, &[], "inf"),
        (BinderKind::Argmax, &[1.0, 3.0, 3.0], "1"),
        (BinderKind::Argmax, &[1.0, nan, 3.0, nan], "1"),
        (BinderKind::Argmin, &[1.0, 0.0, 0.0], "1"),
        (BinderKind::Argmin, &[], "E0504 `argmin` over no terms has no value"),
    ] {
        check(expected, |b| over(b, kind, xs));
    }
    check("E0504 `max` over no terms has no `i64` value", |b| {
        let (i, x) = (b.below(0, "i"), b.int(1));
        b.binder(BinderKind::Max, vec![i], x, Type::I64)
    });
    // The value is the index itself, not its position in the range; several indices form a tuple.
    check("(1, 4)", |b| {
        let (from, to) = (b.int(3), b.int(5));
        let i = b.below(2, "i");
        let j = TypedIndexVar { local: b.local("j", Type::I64), range: TypedIndexRange::Range(from, to, None) };
        let (x, y) = (b.get(i.local), b.get(j.local));
        let e = b.add(x, y);
        b.binder(BinderKind::Argmax, vec![i, j], e, tuple_of(&[Type::I64, Type::I64]))
    });
    // Negative ranges are empty.
    check("0.0", |b| {
        let (i, x) = (b.below(-3, "i"), b.real(1.0));
        b.sum(vec![i], x)
    });
    // Sums of tensors, tuples and records.
    check("([2.0, 4.0], {n: 2, u: ()})", |b| {
        let (i, x, n, u) = (b.below(2, "i"), b.reals(&[1.0, 2.0]), b.int(1), b.tuple(&[]));
        let r = b.record(&[("n", n), ("u", u)]);
        let e = b.tuple(&[x, r]);
        b.sum(vec![i], e)
    });
    check("[(0.0, 2), (0.0, 2)]", |b| {
        let (i, j) = (b.below(2, "i"), b.below(2, "j"));
        let (x, n) = (b.real(0.0), b.int(1));
        let t = b.tuple(&[x, n]);
        let ty = b.ty(t);
        let a = b.binder(BinderKind::For, vec![j], t, vec_of(2, ty));
        b.sum(vec![i], a)
    });
    // Filters; false brackets are not added.
    check("-0.0", |b| {
        let i = b.below(3, "i");
        let (x, one) = (b.get(i.local), b.int(1));
        let p = b.compare(BinOp::Eq, x, one);
        let minus = b.real(-0.0);
        let g = b.guard(p, minus);
        b.sum(vec![i], g)
    });
    check("2", |b| {
        let i = b.below(5, "i");
        let (x, three, y) = (b.get(i.local), b.int(3), b.get(i.local));
        let p = b.compare(BinOp::Lt, x, three);
        b.filtered(BinderKind::Max, vec![i], p, y, Type::I64)
    });
    // The range of an inner index may depend on an outer one.
    check("6", |b| {
        let (i, one) = (b.below(4, "i"), b.int(1));
        let outer = b.get(i.local);
        let j = TypedIndexVar { local: b.local("j", Type::I64), range: TypedIndexRange::Below(outer) };
        b.sum(vec![i, j], one)
    });
}

#[test]
fn quantifiers_stop() {
    let bad_after = |kind, stop: i64, expected: &str| {
        check(expected, |b| {
            let i = b.below(3, "i");
            let (x, y, z) = (b.get(i.local), b.int(stop), b.get(i.local));
            let p = b.compare(BinOp::Eq, x, y);
            let past = b.compare(BinOp::Le, z, y);
            let ok = b.special(TypedForm::Assert("past".into()), &[past], Type::unit());
            let l = b.local("u", Type::unit());
            let p = if kind == BinderKind::All { b.node(TypedExpr::Not(p), Type::BOOL) } else { p };
            let e = b.bind(l, ok, p);
            b.binder(kind, vec![i], e, Type::BOOL)
        });
    };
    bad_after(BinderKind::Any, 1, "true");
    bad_after(BinderKind::All, 1, "false");
    check("false", |b| {
        let (i, p) = (b.below(0, "i"), b.bool(true));
        b.binder(BinderKind::Any, vec![i], p, Type::BOOL)
    });
    check("true", |b| {
        let (i, p) = (b.below(0, "i"), b.bool(false));
        b.binder(BinderKind::All, vec![i], p, Type::BOOL)
    });
}

#[test]
fn relations() {
    let rel_type = Type::Rel(Arc::from([Poly::constant(2), Poly::constant(3)]));
    let rel = |b: &mut BodyBuilder| {
        let (i, j) = (b.below(2, "i"), b.below(3, "j"));
        let (x, y) = (b.get(i.local), b.get(j.local));
        let p = b.compare(BinOp::Eq, x, y);
        b.binder(BinderKind::Rel, vec![i, j], p, rel_type.clone())
    };
    check("relation([[0, 0], [1, 1]], 2, 3)", rel);
    check("2", |b| {
        let r = rel(b);
        b.node(TypedExpr::Card(r), Type::I64)
    });
    for (i, j, expected) in [(1, 1, "true"), (0, 1, "false"), (-1, 9, "false")] {
        check(expected, |b| {
            let (r, i, j) = (rel(b), b.int(i), b.int(j));
            b.node(TypedExpr::Member(r, vec![i, j]), Type::BOOL)
        });
    }
    let from = |rows: &[[i64; 2]], expected: &str| {
        check(expected, |b| {
            let rows: Vec<_> = rows.iter().map(|r| b.ints(r)).collect();
            let k = rows.len() as i128;
            let idx = b.node(TypedExpr::Array(rows), vec_of(k, vec_of(2, Type::I64)));
            b.special(TypedForm::Relation, &[idx], rel_type.clone())
        });
    };
    from(&[[1, 2], [0, 1], [1, 2]], "relation([[0, 1], [1, 2]], 2, 3)");
    from(&[], "relation([], 2, 3)");
    from(&[[0, 3]], "E0500 index 3 in row 0 is out of bounds for axis 1 of extent 3");
}

#[test]
fn folds() {
    let fold = |scan: bool, yields: bool, n: i64, expected: &str| {
        check(expected, |b| {
            let (i, acc, init) = (b.below(n, "i"), b.local("acc", Type::I64), b.int(1));
            let (x, y) = (b.get(acc), b.get(acc));
            let body = b.add(x, y);
            let (k, before) = (b.get(i.local), b.get(acc));
            let out = b.tuple(&[k, before]);
            let out_type = b.ty(out);
            let state = if scan { vec_of(n as i128 + 1, Type::I64) } else { Type::I64 };
            let ty = if yields { tuple_of(&[state, vec_of(n as i128, out_type)]) } else { state };
            let yields = yields.then_some(out);
            b.node(
                TypedExpr::Fold { is_scan: scan, acc: TypedPattern::Bind(acc), init, vars: vec![i], body, yields },
                ty,
            )
        });
    };
    fold(false, false, 3, "8");
    fold(true, false, 3, "[1, 2, 4, 8]");
    fold(true, false, 0, "[1]");
    // A `yield` reads the state before the step.
    fold(false, true, 2, "(4, [(0, 1), (1, 2)])");
    fold(false, true, 0, "(1, [])");
}

#[test]
fn loops() {
    let double = |scan: bool, expected: &str| {
        check(expected, |b| {
            let (n, x) = (b.local("n", Type::I64), b.local("x", Type::F64));
            let (one, zero) = (b.real(1.0), b.int(0));
            let init = b.tuple(&[zero, one]);
            let (k, three) = (b.get(n), b.int(3));
            let cond = b.compare(BinOp::Lt, k, three);
            let (k, step, y, two) = (b.get(n), b.int(1), b.get(x), b.real(2.0));
            let (k, y) = (b.add(k, step), b.mul(y, two));
            let body = b.tuple(&[k, y]);
            let acc = TypedPattern::Tuple(vec![TypedPattern::Bind(n), TypedPattern::Bind(x)]);
            let ty = b.ty(body);
            b.node(TypedExpr::Loop { is_scan: scan, acc, init, cond, body }, if scan { vec_of(4, ty) } else { ty })
        });
    };
    double(false, "(3, 8.0)");
    double(true, "[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]");
}

#[test]
fn updates() {
    check("[1.0, 9.0]", |b| {
        let (x, i, v) = (b.reals(&[1.0, 2.0]), b.int(1), b.real(9.0));
        b.set(x, i, v)
    });
    check("[1.0, 11.0]", |b| {
        let (x, i, v) = (b.reals(&[1.0, 2.0]), b.int(1), b.real(9.0));
        b.update(x, TypedUpdateTarget::Index(vec![TypedSubscript::Index { index: i, is_proved: false }]), true, v)
    });
    // A scalar fills a slice; an array is copied into it.
    check("[0, 7, 7]", |b| {
        let (x, i, j, v) = (b.ints(&[0, 0, 0]), b.int(1), b.int(3), b.int(7));
        b.update(x, TypedUpdateTarget::Index(vec![range(i, j)]), false, v)
    });
    check("[[1, 5], [1, 6]]", |b| {
        let rows: Vec<_> = (0..2).map(|_| b.ints(&[1, 1])).collect();
        let m = b.node(TypedExpr::Array(rows), vec_of(2, vec_of(2, Type::I64)));
        let (j, v) = (b.int(1), b.ints(&[5, 6]));
        let place = TypedUpdateTarget::Index(vec![
            TypedSubscript::FullAxis,
            TypedSubscript::Index { index: j, is_proved: false },
        ]);
        b.update(m, place, false, v)
    });
    check("E0501 a value of shape [1] does not fit a slice of shape [2]", |b| {
        let (x, i, j, v) = (b.ints(&[0, 0, 0]), b.int(1), b.int(3), b.ints(&[7]));
        b.update(x, TypedUpdateTarget::Index(vec![range(i, j)]), false, v)
    });
    check("E0500 index 2 is out of bounds for axis 0 of extent 2", |b| {
        let (x, i, v) = (b.reals(&[1.0, 2.0]), b.int(2), b.real(9.0));
        b.set(x, i, v)
    });
    check("{x: 1, y: [5]}", |b| {
        let (x, y, v) = (b.int(1), b.ints(&[2]), b.ints(&[3]));
        let r = b.record(&[("x", x), ("y", y)]);
        b.update(r, TypedUpdateTarget::Proj(1), true, v)
    });
    check("(1, 3.0)", |b| {
        let (x, y, v) = (b.int(1), b.real(2.0), b.real(3.0));
        let t = b.tuple(&[x, y]);
        b.update(t, TypedUpdateTarget::Proj(1), false, v)
    });
    check("[(1, 2), (5, 5)]", |b| {
        let (x, y, v) = (b.int(1), b.int(2), b.int(5));
        let (t, u) = (b.tuple(&[x, y]), b.tuple(&[x, y]));
        let ty = b.ty(t);
        let (a, new, i) = (b.node(TypedExpr::Array(vec![t, u]), vec_of(2, ty)), b.tuple(&[v, v]), b.int(1));
        b.set(a, i, new)
    });
    // The old value stays unchanged, and operands read it.
    check("([1, 2], [2, 2])", |b| {
        let l = b.local("x", vec_of(2, Type::I64));
        let init = b.ints(&[1, 2]);
        let (old, base, read, zero, one) = (b.get(l), b.get(l), b.get(l), b.int(0), b.int(1));
        let v = b.at(read, &[one]);
        let new = b.set(base, zero, v);
        let both = b.tuple(&[old, new]);
        b.bind(l, init, both)
    });
}

//! Tests of calls, function values, patterns, extents that a value reveals, and top-level items.

use std::sync::Arc;

use super::fixture::*;
use lang_resolve::builtin::Builtin;
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::rt_type::RuntimeType;
use lang_runtime::{RuntimeInstance, Value};
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::{
    Callee, Instantiation, OpenedExtent, SizeCheck, SizeConstraint, TypedExpr, TypedForm, TypedId, TypedPattern,
};
use lang_types::ty::Type;

#[test]
fn calls() {
    let mut b = BodyBuilder::new();
    let x = b.param("x", Type::F64);
    let (p, q) = (b.get(x), b.get(x));
    let e = b.mul(p, q);
    let world = TestProgram::default().def("square", b.root(e));

    let mut b = BodyBuilder::new();
    let x = b.real(3.0);
    let e = b.call("square", &[x], Type::F64);
    assert_eq!(result_text(world.run(&b.root(e)).result), "9.0");

    // The definition as a value.
    let mut b = BodyBuilder::new();
    let f = b.node(TypedExpr::DefValue(name("square"), Instantiation::default()), fun(&[Type::F64], Type::F64));
    let x = b.real(3.0);
    let e = b.apply(f, &[x], Type::F64);
    assert_eq!(result_text(world.run(&b.root(e)).result), "9.0");
    assert_eq!(result_text(world.call("square", RuntimeInstance::default(), vec![Value::F64(4.0)])), "16.0");
    assert_eq!(
        result_text(world.call("cube", RuntimeInstance::default(), vec![])),
        "E0512 `cube` has errors and cannot run"
    );
}

#[test]
fn polymorphic_calls() {
    // def zeros(x: [n]a) -> [n]a = [false] * x, with a literal of type a.
    let mut b = BodyBuilder::new();
    let n = b.local("n", Type::I64);
    b.body.sizes.push(n);
    let a = Type::Param(0, "a".into());
    let x = b.param("x", Type::Array(size_of_local(n), Arc::new(a.clone())));
    let (x, p, one) = (b.get(x), b.bool(false), b.node(TypedExpr::Int(1), a));
    let g = b.guard(p, x);
    let len = b.get(n);
    let e = b.tuple(&[g, one, len]);
    let world = TestProgram::default().def("zeros", b.root(e));

    let mut b = BodyBuilder::new();
    let m = b.local("m", Type::I64);
    let x = b.reals(&[1.0, 2.0]);
    let x32 = b.node(TypedExpr::Convert(Scalar::F32, x), vec_of(2, Type::F32));
    let instance = Instantiation { types: vec![Type::F32], sizes: vec![size_of_local(m).add_constant(1)] };
    let call = b.node(TypedExpr::Call { callee: Callee::Def(name("zeros"), instance), args: vec![x32] }, Type::Error);
    let one = b.int(1);
    let e = b.bind(m, one, call);
    assert_eq!(result_text(world.run(&b.root(e)).result), "([0.0, 0.0], 1.0, 2)");

    let instance = RuntimeInstance { types: Arc::from([RuntimeType::Scalar(Scalar::I64)]), sizes: vec![1] };
    let x = Value::array(&[1], vec![5i64]).unwrap();
    assert_eq!(result_text(world.call("zeros", instance, vec![x])), "([0], 1, 1)");
    // A mismatch between argument shapes and the callee's types is a defect of the caller.
    let instance = RuntimeInstance { types: Arc::from([RuntimeType::Scalar(Scalar::I64)]), sizes: vec![2] };
    let x = Value::array(&[1], vec![5i64]).unwrap();
    if cfg!(debug_assertions) {
        assert!(result_text(world.call("zeros", instance, vec![x])).contains("`x` of `zeros` has shape [1], not [2]"));
    }
}

#[test]
fn function_values() {
    check("[2.0, 3.0]", |b| {
        // let y = 1.0 let f = \(x, _): x + y in [f((1.0, 0)), f((2.0, 0))]
        let pair = tuple_of(&[Type::F64, Type::I64]);
        let f_type = fun(&[pair], Type::F64);
        let (y, f, x) = (b.local("y", Type::F64), b.local("f", f_type.clone()), b.local("x", Type::F64));
        let (p, q) = (b.get(x), b.get(y));
        let sum = b.add(p, q);
        let lambda =
            b.lambda(vec![TypedPattern::Tuple(vec![TypedPattern::Bind(x), TypedPattern::Wild])], sum, vec![y], f_type);
        let parts: Vec<_> = [1.0, 2.0]
            .iter()
            .map(|v| {
                let (v, zero) = (b.real(*v), b.int(0));
                let (arg, f) = (b.tuple(&[v, zero]), b.get(f));
                b.apply(f, &[arg], Type::F64)
            })
            .collect();
        let a = b.node(TypedExpr::Array(parts), vec_of(2, Type::F64));
        let one = b.real(1.0);
        let e = b.bind(f, lambda, a);
        b.bind(y, one, e)
    });
    check("2.0", |b| {
        let f = b.node(TypedExpr::ScalarValue(ScalarFn::Sqrt), fun(&[Type::F64], Type::F64));
        let x = b.real(4.0);
        b.apply(f, &[x], Type::F64)
    });
    check("Cons(4.0, Nil)", |b| {
        let f = b.node(TypedExpr::CtorValue(name("List"), 1), fun(&[Type::F64, list_type()], list_type()));
        let (x, nil) = (b.real(4.0), b.nil());
        b.apply(f, &[x, nil], list_type())
    });
    check("[1.0]", |b| {
        let f = b.node(TypedExpr::BuiltinValue(Builtin::Sort, Instantiation::default()), Type::Error);
        let x = b.reals(&[1.0]);
        b.apply(f, &[x], Type::Error)
    });
    check("<function sqrt>", |b| b.node(TypedExpr::ScalarValue(ScalarFn::Sqrt), fun(&[Type::F64], Type::F64)));
}

#[test]
fn matching() {
    let by = |arms: &dyn Fn(&mut BodyBuilder) -> Vec<(TypedPattern, TypedId)>,
              value: &dyn Fn(&mut BodyBuilder) -> TypedId,
              expected: &str| {
        check(expected, |b| {
            let v = value(b);
            let arms = arms(b);
            let ty = b.ty(arms[0].1);
            b.node(TypedExpr::Match(v, arms), ty)
        });
    };
    let list_arms = |b: &mut BodyBuilder| {
        let (x, zero) = (b.local("x", Type::F64), b.real(0.0));
        let got = b.get(x);
        vec![
            (TypedPattern::Ctor(0, vec![]), zero),
            (TypedPattern::Ctor(1, vec![TypedPattern::Bind(x), TypedPattern::Wild]), got),
        ]
    };
    by(&list_arms, &|b| b.nil(), "0.0");
    by(
        &list_arms,
        &|b| {
            let (x, nil) = (b.real(5.0), b.nil());
            b.ctor(1, &[x, nil])
        },
        "5.0",
    );
    let int_arms = |b: &mut BodyBuilder| {
        let (yes, no) = (b.bool(true), b.bool(false));
        vec![(TypedPattern::Tuple(vec![TypedPattern::Int(1), TypedPattern::Bool(true)]), yes), (TypedPattern::Wild, no)]
    };
    for (i, p, expected) in [(1, true, "true"), (1, false, "false"), (2, true, "false")] {
        by(
            &int_arms,
            &|b| {
                let (i, p) = (b.int(i), b.bool(p));
                b.tuple(&[i, p])
            },
            expected,
        );
    }
}

#[test]
fn extents() {
    // let [k] xs = e in (k, xs)
    check("(2, [1, 2])", |b| {
        let (k, xs, e) = (b.local("k", Type::I64), b.local("xs", vec_of(2, Type::I64)), b.ints(&[1, 2]));
        let (p, q) = (b.get(k), b.get(xs));
        let both = b.tuple(&[p, q]);
        let ty = b.ty(both);
        b.node(TypedExpr::Let(vec![(TypedPattern::Sized(vec![k], Box::new(TypedPattern::Bind(xs))), e)], both), ty)
    });
    check("3", |b| {
        let (k, x, y) = (b.local("k", Type::I64), b.int(0), b.ints(&[1, 2, 3]));
        let t = b.tuple(&[x, y]);
        let ty = b.ty(t);
        let opened = b.node(TypedExpr::Opened(vec![OpenedExtent { path: vec![1], axis: 0, local: k }], t), ty.clone());
        let (l, k) = (b.local("t", ty), b.get(k));
        b.bind(l, opened, k)
    });
    let check_size = |found: i128, expected: &str| {
        check(expected, |b| {
            let (n, two, x) = (b.local("n", Type::I64), b.int(2), b.real(1.0));
            let check = SizeCheck {
                found: Poly::constant(found),
                constraint: SizeConstraint::Equal(Poly::atom(Atom::Local(n, "n".into())).add_constant(1)),
                subject: "axis 0 of argument `x`".into(),
                span: lang_base::Span::new(4, 5),
                is_precondition: false,
            };
            let e = b.node(TypedExpr::Checked(vec![check], x), Type::F64);
            b.bind(n, two, e)
        });
    };
    check_size(3, "1.0");
    check_size(4, "E0501 sizes differ for axis 0 of argument `x`: found 4, expected n + 1 = 3");
}

#[test]
fn builtins() {
    let call = |builtin, x: &[f64], expected: &str| {
        check(expected, |b| {
            let x = b.reals(x);
            b.node(
                TypedExpr::Call { callee: Callee::Builtin(builtin, Instantiation::default()), args: vec![x] },
                Type::Error,
            )
        });
    };
    let nan = f64::NAN;
    call(Builtin::Sort, &[2.0, nan, -1.0, 0.0, -0.0], "[-1.0, 0.0, -0.0, 2.0, nan]");
    call(Builtin::Argsort, &[2.0, nan, -1.0, 0.0, -0.0], "[2, 3, 4, 0, 1]");
    call(Builtin::Sort, &[], "[]");
    for (limit, expected) in [(2.0, "[1.0, 0.0]"), (-1.0, "[]")] {
        check(expected, |b| {
            let f = fun(&[Type::F64], Type::BOOL);
            let x = b.local("x", Type::F64);
            let (got, limit) = (b.get(x), b.real(limit));
            let p = b.compare(BinOp::Lt, got, limit);
            let (p, xs) = (b.lambda(vec![TypedPattern::Bind(x)], p, vec![], f), b.reals(&[1.0, 3.0, 0.0]));
            let callee = Callee::Builtin(Builtin::Filter, Instantiation::default());
            b.node(TypedExpr::Call { callee, args: vec![p, xs] }, Type::Error)
        });
    }
}

#[test]
fn forms() {
    check("()", |b| {
        let p = b.bool(true);
        b.special(TypedForm::Assert("no".into()), &[p], Type::unit())
    });
    check("(1, 2.0)", |b| {
        let (x, y) = (b.int(1), b.real(2.0));
        b.special(TypedForm::Par, &[x, y], Type::Error)
    });
    check("2.0", |b| {
        let x = b.real(2.0);
        b.special(TypedForm::Stop, &[x], Type::F64)
    });
    check("[[1, 2], [3, 4]]", |b| {
        let x = b.ints(&[1, 2, 3, 4]);
        b.special(TypedForm::Reshape, &[x], vec_of(2, vec_of(2, Type::I64)))
    });
    check("E0501 an array of 4 elements does not fit the shape [3]", |b| {
        let x = b.ints(&[1, 2, 3, 4]);
        b.special(TypedForm::Reshape, &[x], vec_of(3, Type::I64))
    });
    let ran = run(|b| {
        let (s, x) = (b.node(TypedExpr::Str("x is".into()), Type::Str), b.real(2.0));
        let dbg = b.special(TypedForm::Dbg, &[x], Type::F64);
        let timed = b.special(TypedForm::Time, &[dbg], Type::F64);
        b.special(TypedForm::Print, &[s, timed], Type::unit())
    });
    assert_eq!(result_text(ran.result), "()");
    assert_eq!(ran.lines, ["dbg main 2..3 2.0", "0.500000 s", "x is 2.0"]);
}

#[test]
fn globals() {
    let mut world = TestProgram::default();
    world.globals.insert(name("n"), Value::I64(3));
    let mut b = BodyBuilder::new();
    let g = b.node(TypedExpr::Global(name("n")), Type::I64);
    let s = b.node(TypedExpr::Size(Poly::atom(Atom::Global(name("n"))).scale(2)), Type::I64);
    let e = b.tuple(&[g, s]);
    assert_eq!(result_text(world.run(&b.root(e)).result), "(3, 6)");
}

#[test]
fn a_top_level_item_keeps_its_variables() {
    let mut b = BodyBuilder::new();
    let (x, y) = (b.local("x", vec_of(1, Type::I64)), b.local("y", Type::I64));
    let (init, got, zero) = (b.ints(&[5]), b.get(x), b.int(0));
    let first = b.at(got, &[zero]);
    let last = b.get(y);
    let e =
        b.node(TypedExpr::Let(vec![(TypedPattern::Bind(x), init), (TypedPattern::Bind(y), first)], last), Type::I64);
    let (body, world) = (b.root(e), TestProgram::default());
    let (mut host, interrupt) = (RecordingHost::default(), std::sync::atomic::AtomicBool::new(false));
    let mut interp = crate::Interp::new(&world, &mut host, lang_runtime::RunLimits::default(), &interrupt);
    let (value, frame) = interp.eval_body(&name("let 0"), &body).unwrap();
    assert_eq!(format!("{value:?} {:?} {:?}", frame.get(x).unwrap(), frame.get(y).unwrap()), "5 [5] 5");
}

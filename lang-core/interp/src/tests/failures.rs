//! Tests of every kind of failure, and of the places that failures report.

use std::sync::atomic::AtomicBool;

use super::fixture::*;
use lang_base::{Code, Span};
use lang_resolve::forms::PlotKind;
use lang_runtime::RunLimits;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::tree::{PlotGroup, PlotSpec, TypedExpr, TypedForm, TypedIndexRange, TypedIndexVar};
use lang_types::ty::Type;

#[test]
fn errors_and_assertions() {
    check("E0502 assertion failed: too small", |b| {
        let p = b.bool(false);
        b.special(TypedForm::Assert("too small".into()), &[p], Type::unit())
    });
    check("E0503 gave up", |b| b.special(TypedForm::Error("gave up".into()), &[], Type::F64));
    check("E0512 `main` has errors and cannot run", |b| b.node(TypedExpr::Error, Type::F64));
    check("E0512 `y` has no value yet, because its `let` has not run", |b| {
        b.node(TypedExpr::Global(name("y")), Type::F64)
    });
    check("E0512 `nope` has errors and cannot run", |b| b.call("nope", &[], Type::F64));
}

#[test]
fn a_host_without_files() {
    check("E0510 this environment cannot load files", |b| {
        let file = b.text("x.npy");
        b.special(TypedForm::Load([].into()), &[file], Type::F64)
    });
    check("E0510 this environment cannot save files", |b| {
        let (x, file) = (b.real(1.0), b.text("x.npy"));
        b.special(TypedForm::Save, &[x, file], Type::unit())
    });
    check("E0510 this environment cannot draw plots", |b| {
        let group = PlotGroup { kind: PlotKind::Line, label: "".into(), data_names: vec!["x".into()] };
        let plot = PlotSpec { groups: vec![group], options: Vec::new() };
        let x = b.ints(&[1, 2]);
        b.special(TypedForm::Plot(plot.into()), &[x], Type::unit())
    });
}

#[test]
fn extents() {
    check("E0509 the extent -2 is negative", |b| {
        let (i, x) = (b.below(-2, "i"), b.real(1.0));
        b.binder(BinderKind::For, vec![i], x, vec_of(0, Type::F64))
    });
    check("E0508 the extent 140737488355328 is too large", |b| {
        let (i, x) = (b.below(1 << 47, "i"), b.real(1.0));
        b.binder(BinderKind::For, vec![i], x, vec_of(0, Type::F64))
    });
    check("E0508 an array of 1000000000000 elements is too large", |b| {
        let (i, j, x) = (b.below(1_000_000, "i"), b.below(1_000_000, "j"), b.real(1.0));
        b.binder(BinderKind::For, vec![i, j], x, vec_of(0, vec_of(0, Type::F64)))
    });
    check("E0511 the stride is 0; it must be at least 1", |b| {
        let (from, to, by, x) = (b.int(0), b.int(3), b.int(0), b.real(1.0));
        let i = TypedIndexVar { local: b.local("i", Type::I64), range: TypedIndexRange::Range(from, to, Some(by)) };
        b.sum(vec![i], x)
    });
    // Inner extents that differ.
    check("E0501 a row has 1 element, but the first row has 0", |b| {
        let (i, x) = (b.below(2, "i"), b.real(1.0));
        let end = b.get(i.local);
        let j = TypedIndexVar { local: b.local("j", Type::I64), range: TypedIndexRange::Below(end) };
        b.binder(BinderKind::For, vec![i, j], x, vec_of(2, vec_of(0, Type::F64)))
    });
    check("E0501 element 1 has shape [1], but the first element has shape [2]", |b| {
        let (x, y) = (b.ints(&[1, 2]), b.ints(&[1]));
        b.node(TypedExpr::Array(vec![x, y]), vec_of(2, vec_of(2, Type::I64)))
    });
}

#[test]
fn sizes() {
    let size = |n: i64, expected: &str, poly: &dyn Fn(Poly) -> Poly| {
        check(expected, |b| {
            let l = b.local("n", Type::I64);
            let n = b.int(n);
            let e = b.node(TypedExpr::Size(poly(size_of_local(l))), Type::I64);
            b.bind(l, n, e)
        });
    };
    size(7, "3", &|n| n.div(&Poly::constant(2)).unwrap());
    size(0, "E0505 the size `8 // l0` contains a division by zero", &|n| Poly::constant(8).div(&n).unwrap());
    size(i64::MAX, "E0508 the size `l0^2` is too large", &|n| n.mul(&n));
    size(1, "E0512 `g` has no value yet", &|_| Poly::atom(Atom::Global(name("g"))));
    let ran = run(|b| b.node(TypedExpr::Size(Poly::atom(Atom::SizeParam(0, "n".into()))), Type::I64));
    assert_eq!(result_text(ran.result), "E0517 internal error: the size `n` is not closed");
}

#[test]
fn a_failure_names_its_place_and_callers() {
    let mut b = BodyBuilder::new();
    let x = b.param("x", Type::I64);
    let (one, zero) = (b.get(x), b.int(0));
    let e = b.arith(BinOp::FloorDiv, one, zero);
    let world = TestProgram::default().def("inner", b.root(e));
    let mut b = BodyBuilder::new();
    let one = b.int(1);
    let e = b.call("inner", &[one], Type::I64);
    let world = world.def("outer", b.root(e));
    let mut b = BodyBuilder::new();
    let e = b.call("outer", &[], Type::I64);
    let failure = world.run(&b.root(e)).result.unwrap_err();
    assert_eq!(failure.to_string(), "E0505: integer division by zero (in inner)");
    assert_eq!((&failure.item, failure.span), (&name("inner"), Span::new(2, 3)));
    assert_eq!(failure.trace, [(name("outer"), Span::new(1, 2)), (name("main"), Span::new(0, 1))]);
    assert_eq!(failure.diagnostic().code, Code::E0505);
}

#[test]
fn the_subscript_is_what_is_wrong() {
    let failure = run(|b| {
        let (x, i) = (b.ints(&[1]), b.int(3));
        b.at(x, &[i])
    });
    assert_eq!(failure.result.unwrap_err().span, Span::new(2, 3));
}

#[test]
fn memory_is_limited() {
    // An infinite list.
    let mut b = BodyBuilder::new();
    let (l, one, nil) = (b.local("l", list_type()), b.real(1.0), b.nil());
    let (cond, got) = (b.bool(true), b.get(l));
    let body = b.ctor(1, &[one, got]);
    let e = b.node(
        TypedExpr::Loop { is_scan: false, acc: lang_types::tree::TypedPattern::Bind(l), init: nil, cond, body },
        list_type(),
    );
    let limits = RunLimits { max_bytes: 10 << 20, ..RunLimits::default() };
    let ran = TestProgram::default().run_with(&b.root(e), limits, &AtomicBool::new(false));
    assert_eq!(result_text(ran.result), "E0508 the values of this run exceed the memory limit of 10 MiB");
    // A single array.
    let mut b = BodyBuilder::new();
    let (i, x) = (b.below(2_000_000, "i"), b.real(1.0));
    let e = b.binder(BinderKind::For, vec![i], x, vec_of(2_000_000, Type::F64));
    let ran = TestProgram::default().run_with(&b.root(e), limits, &AtomicBool::new(false));
    assert_eq!(result_text(ran.result), "E0508 the values of this run exceed the memory limit of 10 MiB");
}

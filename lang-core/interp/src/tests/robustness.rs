//! Tests of robustness: no depth, length or running time of a program crashes the interpreter.

use std::sync::atomic::{AtomicBool, Ordering};

use super::fixture::*;
use crate::Interp;
use lang_base::{GlobalName, Span};
use lang_runtime::{Host, RunLimits, Value, WorkProgress, json, print};
use lang_syntax::ops::BinOp;
use lang_types::tree::{TypedExpr, TypedPattern};
use lang_types::ty::Type;

/// Builds a list of this length by a fold.
fn list(n: i64) -> Value {
    run(|b| {
        let (l, i, x, nil) = (b.local("l", list_type()), b.below(n, "i"), b.real(1.0), b.nil());
        let got = b.get(l);
        let body = b.ctor(1, &[x, got]);
        b.fold(TypedPattern::Bind(l), nil, vec![i], body)
    })
    .result
    .unwrap()
}

#[test]
fn a_list_of_a_million() {
    let (a, b) = (list(1_000_000), list(1_000_000));
    assert!(a == b);
    let copy = a.clone();
    assert!(a == copy);
    let text = print::to_short_text(&a);
    assert!(text.starts_with("Cons(1.0, Cons(1.0, ") && text.ends_with("))))") && text.len() < 20_000);
    assert_eq!(print::to_full_text(&a, 100 << 20).unwrap().len(), "Cons(1.0, )".len() * 1_000_000 + 3);
    assert!(json::to_json(&a, 100 << 20).unwrap().ends_with("]}]}]}"));
    assert_eq!(print::to_full_text(&a, 1000), None);
    drop(a);
    drop(copy);
    drop(b);
}

#[test]
fn nested_otherwise() {
    // Tuples in arrays in tuples, and closures that capture closures.
    let mut v = Value::unit();
    for _ in 0..300_000 {
        v = Value::tuple(vec![v, Value::I64(1)]);
        v = Value::array(&[1], vec![v]).unwrap();
    }
    drop(v);
    let ran = run(|b| {
        let f_type = fun(&[], Type::I64);
        let (f, i) = (b.local("f", f_type.clone()), b.below(200_000, "i"));
        let (one, got) = (b.int(1), b.get(f));
        let start = b.lambda(vec![], one, vec![], f_type.clone());
        let e = b.apply(got, &[], Type::I64);
        let next = b.lambda(vec![], e, vec![f], f_type);
        b.fold(TypedPattern::Bind(f), start, vec![i], next)
    });
    drop(ran.result.unwrap());
}

/// Builds `def down(n: i64) -> i64 = if n == 0 then 0 else 1 + down(n - 1)`.
fn down() -> TestProgram {
    let mut b = BodyBuilder::new();
    let n = b.param("n", Type::I64);
    let (k, zero) = (b.get(n), b.int(0));
    let p = b.compare(BinOp::Eq, k, zero);
    let (k, one, zero) = (b.get(n), b.int(1), b.int(0));
    let less = b.arith(BinOp::Sub, k, one);
    let call = b.call("down", &[less], Type::I64);
    let one = b.int(1);
    let e = b.add(one, call);
    let e = b.node(TypedExpr::If(vec![(p, zero)], e), Type::I64);
    TestProgram::default().def("down", b.root(e))
}

#[test]
fn deep_recursion() {
    let world = down();
    let call = |n: i64| world.call("down", lang_runtime::RuntimeInstance::default(), vec![Value::I64(n)]);
    assert_eq!(result_text(call(99_999)), "99999");
    let failure = call(100_000).unwrap_err();
    assert_eq!(failure.to_string(), "E0506: more than 100000 nested calls (in down)");
    assert_eq!((failure.trace.len(), failure.omitted_callers), (20, 99_980));
}

#[test]
fn deep_trees() {
    // A chain of operators is flat in the source but a deep tree here.
    check("100000", |b| {
        let mut e = b.int(0);
        for _ in 0..100_000 {
            let one = b.int(1);
            e = b.add(e, one);
        }
        e
    });
}

#[test]
fn deep_trees_in_deep_recursion() {
    // def f(x) = f(x) + 1 + … + 1: every call is nested in a thousand sums.
    let mut b = BodyBuilder::new();
    let x = b.param("x", Type::I64);
    let x = b.get(x);
    let mut e = b.call("f", &[x], Type::I64);
    for _ in 0..1000 {
        let one = b.int(1);
        e = b.add(e, one);
    }
    let world = TestProgram::default().def("f", b.root(e));
    let result = world.call("f", lang_runtime::RuntimeInstance::default(), vec![Value::I64(1)]);
    assert_eq!(result_text(result), "E0506 more than 1000000 nested expressions");
}

#[test]
fn values_cross_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Value>();
    shared::<lang_runtime::Failure>();
}

/// A host that interrupts the run at a report of progress, which comes from within a loop.
struct InterruptingHost<'a> {
    requested: &'a AtomicBool,
    interrupt: &'a AtomicBool,
    reports: usize,
}

impl InterruptingHost<'_> {
    /// The number of reports before the interrupt.
    const REPORTS: usize = 3;
}

impl Host for InterruptingHost<'_> {
    fn print(&mut self, _: &str) {}
    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}
    fn seconds(&mut self) -> f64 {
        0.0
    }
    fn progress(&mut self, _: &[WorkProgress]) {
        self.reports += 1;
        self.interrupt.store(self.reports >= Self::REPORTS, Ordering::Relaxed);
        self.requested.store(true, Ordering::Relaxed);
    }
}

#[test]
fn interrupted() {
    let forever = |b: &mut BodyBuilder| {
        let (n, zero, yes) = (b.local("n", Type::I64), b.int(0), b.bool(true));
        let got = b.get(n);
        b.node(
            TypedExpr::Loop { is_scan: false, acc: TypedPattern::Bind(n), init: zero, cond: yes, body: got },
            Type::I64,
        )
    };
    let mut b = BodyBuilder::new();
    let e = forever(&mut b);
    let body = b.root(e);
    let (interrupt, requested) = (AtomicBool::new(false), AtomicBool::new(true));
    let world = TestProgram::default();
    let mut host = InterruptingHost { requested: &requested, interrupt: &interrupt, reports: 0 };
    let mut interp = Interp::new(&world, &mut host, RunLimits::default(), &interrupt);
    interp.set_report_flag(&requested);
    let result = interp.eval_body(&name("main"), &body).map(|r| r.0);
    assert_eq!(result_text(result), "E0507 interrupted");
    assert!(host.reports >= InterruptingHost::REPORTS, "{} reports", host.reports);
    // Binders and calls also check the flag. The interrupt was set before the run.
    let interrupt = AtomicBool::new(true);
    let mut b = BodyBuilder::new();
    let (i, j, x) = (b.below(1 << 46, "i"), b.below(1, "j"), b.real(1.0));
    let e = b.sum(vec![i, j], x);
    let ran = TestProgram::default().run_with(&b.root(e), RunLimits::default(), &interrupt);
    assert_eq!(result_text(ran.result), "E0507 interrupted");
}

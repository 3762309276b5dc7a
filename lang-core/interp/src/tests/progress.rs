//! Tests of progress reports.

use std::sync::atomic::{AtomicBool, Ordering};

use super::fixture::*;
use crate::Interp;
use lang_base::{GlobalName, Span};
use lang_runtime::{Host, RunLimits, WorkKind, WorkProgress};
use lang_syntax::ops::BinOp;
use lang_types::tree::{TypedExpr, TypedPattern};
use lang_types::ty::Type;

/// A host that requests a new report after each one.
struct RequestingHost<'a> {
    requested: &'a AtomicBool,
    reports: String,
}

impl Host for RequestingHost<'_> {
    fn print(&mut self, _: &str) {}
    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}
    fn seconds(&mut self) -> f64 {
        0.0
    }
    fn progress(&mut self, work: &[WorkProgress]) {
        let one = |p: &WorkProgress| match (p.work, p.total) {
            (WorkKind::Steps, Some(n)) => format!("{}/{n}", p.done),
            _ => format!("{}", p.done),
        };
        self.reports += &format!("{}; ", work.iter().map(one).collect::<Vec<_>>().join(" "));
        self.requested.store(true, Ordering::Relaxed);
    }
}

#[track_caller]
fn check_reports(asks: bool, expected: &str, build: impl FnOnce(&mut BodyBuilder) -> lang_types::tree::TypedId) {
    let requested = AtomicBool::new(asks);
    let interrupt = AtomicBool::new(false);
    let mut b = BodyBuilder::new();
    let e = build(&mut b);
    let body = b.root(e);
    let world = TestProgram::default();
    let mut host = RequestingHost { requested: &requested, reports: String::new() };
    let mut interp = Interp::new(&world, &mut host, RunLimits::default(), &interrupt);
    interp.set_report_flag(&requested);
    let _ = interp.eval_body(&name("main"), &body);
    assert_eq!(host.reports, expected);
}

/// Builds `(sum j < m: 1.0) * 1.0` inside `sum i < n`. These are two levels of work, because the
/// inner sum is a factor of the term.
fn nested(b: &mut BodyBuilder, n: i64, m: i64) -> lang_types::tree::TypedId {
    let (i, j, x) = (b.below(n, "i"), b.below(m, "j"), b.real(1.0));
    let (inner, one) = (b.sum(vec![j], x), b.real(1.0));
    let product = b.mul(inner, one);
    b.sum(vec![i], product)
}

#[test]
fn steps_are_told() {
    // Without a request the host receives nothing.
    check_reports(false, "", |b| nested(b, 3, 3));
    // The end is reported too. Fast steps report every 64th.
    check_reports(true, "1/200; 65/200; 129/200; 193/200; ; ", |b| {
        let (i, x) = (b.below(200, "i"), b.real(1.0));
        b.sum(vec![i], x)
    });
    // The inner work follows the outer one, until its steps turn out to be fast.
    check_reports(true, "0/3 1/2; 1/3; 2/3; ; ", |b| nested(b, 3, 2));
    check_reports(true, "", |b| nested(b, 0, 2));
}

#[test]
fn loops_and_folds_are_told() {
    check_reports(true, "1; ; ", |b| {
        let (n, zero, three) = (b.local("n", Type::I64), b.int(0), b.int(3));
        let got = b.get(n);
        let cond = b.compare(BinOp::Lt, got, three);
        let (got, one) = (b.get(n), b.int(1));
        let body = b.add(got, one);
        b.node(TypedExpr::Loop { is_scan: false, acc: TypedPattern::Bind(n), init: zero, cond, body }, Type::I64)
    });
    check_reports(true, "1/3; ; ", |b| {
        let (n, i, zero) = (b.local("n", Type::I64), b.below(3, "i"), b.int(0));
        let (got, one) = (b.get(n), b.int(1));
        let body = b.add(got, one);
        b.fold(TypedPattern::Bind(n), zero, vec![i], body)
    });
    // Work that fails also ends.
    check_reports(true, "1/3; ; ", |b| {
        let (i, x) = (b.below(3, "i"), b.int(1));
        let local = i.local;
        let (got, one) = (b.get(local), b.int(1));
        let less = b.arith(BinOp::Sub, one, got);
        let quotient = b.arith(BinOp::FloorDiv, x, less);
        b.sum(vec![i], quotient)
    });
}

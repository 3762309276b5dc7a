//! **Copy elision.** Updates of unshared values happen in place: n steps on an array of length n
//! are O(n).
//!
//! The tests observe the bytes in use. A copy needs room for a second array, so it fails with room
//! for one and a half.

use std::sync::atomic::AtomicBool;

use super::fixture::*;
use lang_runtime::RunLimits;
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::tree::{TypedExpr, TypedId, TypedPattern, TypedUpdateTarget};
use lang_types::ty::Type;

const N: i64 = 20_000;
/// The bytes of one and a half arrays.
const ROOM: usize = 12 * 20_000;

fn zeros(b: &mut BodyBuilder) -> TypedId {
    let (i, x) = (b.below(N, "k"), b.real(0.0));
    b.binder(BinderKind::For, vec![i], x, vec_of(N.into(), Type::F64))
}

fn array() -> Type {
    vec_of(N.into(), Type::F64)
}

/// Runs with room for one and a half arrays. Checks whether that suffices.
#[track_caller]
fn check_in_place(expected: bool, build: impl FnOnce(&mut BodyBuilder) -> TypedId) {
    let mut b = BodyBuilder::new();
    let root = build(&mut b);
    let limits = RunLimits { max_bytes: ROOM, ..RunLimits::default() };
    let result = TestProgram::default().run_with(&b.root(root), limits, &AtomicBool::new(false)).result;
    match result {
        Ok(_) => assert!(expected, "a copy was expected"),
        Err(e) => assert!(!expected, "{e}"),
    }
}

/// Builds `fold acc = zeros for i < 3: body(acc, i)`.
fn fold_over_zeros(b: &mut BodyBuilder, body: impl FnOnce(&mut BodyBuilder, LocalId, LocalId) -> TypedId) -> TypedId {
    let (acc, i, init) = (b.local("acc", array()), b.below(3, "i"), zeros(b));
    let body = body(b, acc, i.local);
    b.fold(TypedPattern::Bind(acc), init, vec![i], body)
}

#[test]
fn a_carry_updated_in_its_body() {
    check_in_place(true, |b| {
        fold_over_zeros(b, |b, acc, i| {
            let (base, i, v) = (b.get(acc), b.get(i), b.real(1.0));
            b.set(base, i, v)
        })
    });
    // The update first reads an element of the carry itself, and takes the carry at its last use.
    check_in_place(true, |b| {
        fold_over_zeros(b, |b, acc, i| {
            let (base, read, j, i) = (b.get(acc), b.get(acc), b.get(i), b.get(i));
            let v = b.at(read, &[j]);
            b.set(base, i, v)
        })
    });
    // The old value is read again later: one copy per step.
    check_in_place(false, |b| {
        fold_over_zeros(b, |b, acc, i| {
            let new = b.local("new", array());
            let (base, read, i, zero, v) = (b.get(acc), b.get(acc), b.get(i), b.int(0), b.real(1.0));
            let updated = b.set(base, i, v);
            let (x, new_base) = (b.at(read, &[zero]), b.get(new));
            let zero = b.int(0);
            let last = b.set(new_base, zero, x);
            b.bind(new, updated, last)
        })
    });
}

#[test]
fn branches_and_lets() {
    check_in_place(true, |b| {
        fold_over_zeros(b, |b, acc, i| {
            let new = b.local("new", array());
            let (base, j, v) = (b.get(acc), b.get(i), b.real(1.0));
            let updated = b.set(base, j, v);
            let (k, one) = (b.get(i), b.int(1));
            let p = b.compare(BinOp::Lt, k, one);
            let (x, base, j, v) = (b.get(new), b.get(new), b.get(i), b.real(2.0));
            let other = b.set(base, j, v);
            let choice = b.node(TypedExpr::If(vec![(p, x)], other), array());
            b.bind(new, updated, choice)
        })
    });
    // A view that only the other branch reads is dropped on entry.
    check_in_place(true, |b| {
        fold_over_zeros(b, |b, acc, i| {
            let view = b.local("view", array());
            let (whole, zero, n) = (b.get(acc), b.int(0), b.int(N));
            let slice = b.node(
                TypedExpr::Index(
                    whole,
                    vec![lang_types::tree::TypedSubscript::Range { from: zero, to: n, is_proved: false }],
                ),
                array(),
            );
            let p = b.bool(true);
            let (base, j, v) = (b.get(acc), b.get(i), b.real(1.0));
            let yes = b.set(base, j, v);
            let (read, zero, base, j) = (b.get(view), b.int(0), b.get(acc), b.get(i));
            let x = b.at(read, &[zero]);
            let no = b.set(base, j, x);
            let choice = b.node(TypedExpr::If(vec![(p, yes)], no), array());
            b.bind(view, slice, choice)
        })
    });
}

#[test]
fn through_calls() {
    let mut b = BodyBuilder::new();
    let x = b.param("x", array());
    let (base, i, v) = (b.get(x), b.int(0), b.real(1.0));
    let e = b.set(base, i, v);
    let world = TestProgram::default().def("touch", b.root(e));
    let mut b = BodyBuilder::new();
    let root = fold_over_zeros(&mut b, |b, acc, _| {
        let x = b.get(acc);
        b.call("touch", &[x], array())
    });
    let limits = RunLimits { max_bytes: ROOM, ..RunLimits::default() };
    assert!(world.run_with(&b.root(root), limits, &AtomicBool::new(false)).result.is_ok());
}

fn state() -> Type {
    record_of(&[("x", array()), ("n", Type::I64)])
}

fn state_fold(b: &mut BodyBuilder, body: impl FnOnce(&mut BodyBuilder, LocalId) -> TypedId) -> TypedId {
    let (s, i, x, n) = (b.local("s", state()), b.below(3, "i"), zeros(b), b.int(0));
    let init = b.record(&[("x", x), ("n", n)]);
    let body = body(b, s);
    b.fold(TypedPattern::Bind(s), init, vec![i], body)
}

/// Builds `s.x with [s.n] = 1.0`.
fn updated_component(b: &mut BodyBuilder, s: LocalId) -> TypedId {
    let (whole, index_source, v) = (b.get(s), b.get(s), b.real(1.0));
    let (x, n) = (b.proj(whole, 0), b.proj(index_source, 1));
    b.set(x, n, v)
}

#[test]
fn components_of_a_carry() {
    // {x: s.x with …, n: s.n + 1}
    check_in_place(true, |b| {
        state_fold(b, |b, s| {
            let x = updated_component(b, s);
            let (whole, one) = (b.get(s), b.int(1));
            let n = b.proj(whole, 1);
            let n = b.add(n, one);
            b.record(&[("x", x), ("n", n)])
        })
    });
    // s with x = (s.x with …)
    check_in_place(true, |b| {
        state_fold(b, |b, s| {
            let x = updated_component(b, s);
            let whole = b.get(s);
            b.update(whole, TypedUpdateTarget::Proj(0), false, x)
        })
    });
    // fold (x, n) = …: (x with [n] = 1.0, n + 1)
    check_in_place(true, |b| {
        let (x, n, i) = (b.local("x", array()), b.local("n", Type::I64), b.below(3, "i"));
        let (init, zero) = (zeros(b), b.int(0));
        let init = b.tuple(&[init, zero]);
        let (base, at, v, k, one) = (b.get(x), b.get(n), b.real(1.0), b.get(n), b.int(1));
        let (new, k) = (b.set(base, at, v), b.add(k, one));
        let body = b.tuple(&[new, k]);
        b.fold(TypedPattern::Tuple(vec![TypedPattern::Bind(x), TypedPattern::Bind(n)]), init, vec![i], body)
    });
}

#[test]
fn loops_too() {
    check_in_place(true, |b| {
        let (x, n) = (b.local("x", array()), b.local("n", Type::I64));
        let (init, zero) = (zeros(b), b.int(0));
        let init = b.tuple(&[init, zero]);
        // The condition reads the array.
        let (read, zero, k, three) = (b.get(x), b.int(0), b.get(n), b.int(3));
        let first = b.at(read, &[zero]);
        let limit = b.real(9.0);
        let (p, q) = (b.compare(BinOp::Lt, k, three), b.compare(BinOp::Lt, first, limit));
        let cond = b.node(TypedExpr::And(vec![p, q]), Type::BOOL);
        let (base, at, v, k, one) = (b.get(x), b.get(n), b.real(1.0), b.get(n), b.int(1));
        let (new, k) = (b.set(base, at, v), b.add(k, one));
        let body = b.tuple(&[new, k]);
        let ty = b.ty(body);
        let acc = TypedPattern::Tuple(vec![TypedPattern::Bind(x), TypedPattern::Bind(n)]);
        b.node(TypedExpr::Loop { is_scan: false, acc, init, cond, body }, ty)
    });
}

#[test]
fn what_a_loop_reads_again_stays() {
    // let x = zeros in sum i < 3: (x with [0] = 1.0)[0] + x[0]
    check("3.0", |b| {
        let (x, init, i) = (b.local("x", vec_of(2, Type::F64)), b.reals(&[0.0, 0.0]), b.below(3, "i"));
        let (base, zero, v, read) = (b.get(x), b.int(0), b.real(1.0), b.get(x));
        let new = b.set(base, zero, v);
        let (p, q) = (b.at(new, &[zero]), b.at(read, &[zero]));
        let e = b.add(p, q);
        let s = b.sum(vec![i], e);
        b.bind(x, init, s)
    });
    // A lambda that is called twice keeps its captures.
    check("[1.0, 1.0]", |b| {
        let f_type = fun(&[], Type::F64);
        let (x, f) = (b.local("x", vec_of(1, Type::F64)), b.local("f", f_type.clone()));
        let init = b.reals(&[0.0]);
        let (base, zero, base2, one) = (b.get(x), b.int(0), b.get(x), b.real(1.0));
        let old = b.at(base, &[zero]);
        let v = b.add(old, one);
        let new = b.set(base2, zero, v);
        let e = b.at(new, &[zero]);
        let lambda = b.lambda(vec![], e, vec![x], f_type);
        let (g, h) = (b.get(f), b.get(f));
        let (p, q) = (b.apply(g, &[], Type::F64), b.apply(h, &[], Type::F64));
        let both = b.node(TypedExpr::Array(vec![p, q]), vec_of(2, Type::F64));
        let e = b.bind(f, lambda, both);
        b.bind(x, init, e)
    });
}

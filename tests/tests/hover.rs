//! What an editor shows where the pointer rests, across the papers' programs: reviewed by people, so that what is told is
//! true, and in the names of the program.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    reason = "a failed expectation is a failed test"
)]

use std::fmt::Write as _;

use expect_test::expect_file;
use iverson_tests::golden;
use lang_core::base::Span;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{Expr, Node};
use lang_core::types::ty::Type;
use lang_ide::hover::{Depth, hover};
use lang_ide::names::{Role, uses};

/// The programs.
const PROGRAMS: &[&str] = &["atl/", "accelerate/", "df/", "pdn/", "zygote/"];

/// Expressions of a definition that are looked at.
const SOME: usize = 1;

/// Is there something to be told of it?
fn is_operation(node: &Node) -> bool {
    let is =
        matches!(node.kind, Expr::Arith(..) | Expr::Pow(..) | Expr::Scalar(..) | Expr::Binder { .. } | Expr::Guard(..));
    is && node.ty == Type::F64
}

/// Places of a definition: its name, and some of its expressions, each where it is the innermost one.
fn places(session: &Session, item: &ItemRef) -> Vec<u32> {
    let Some(checked) = session.checked_item(item) else { return Vec::new() };
    let spans: Vec<Span> = checked.body.nodes.iter().filter(|(_, n)| is_operation(n)).map(|(_, n)| n.span).collect();
    let mut own: Vec<u32> = Vec::new();
    for span in spans {
        let inner = |at: &u32| {
            let innermost =
                |n: &Node| n.span.start <= *at && *at < n.span.end && n.span != span && inside(n.span, span);
            !checked.body.nodes.iter().any(|(_, n)| innermost(n))
        };
        own.extend((span.start..span.end).find(inner).map(|at| at + item.start));
    }
    own.sort_unstable();
    own.dedup();
    let step = own.len().div_ceil(SOME).max(1);
    let name = uses(session, item).into_iter().find(|u| u.role == Role::Declaration).map(|u| u.span.start);
    name.into_iter().chain(own.into_iter().step_by(step)).collect()
}

fn inside(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[test]
fn hovers() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let (mut out, mut count) = (String::new(), 0);
    let wanted = |name: &&String| PROGRAMS.iter().any(|p| name.starts_with(p));
    for name in programs.keys().filter(wanted) {
        let module = golden::module(name);
        let is_shown = |i: &&ItemRef| i.kind == ItemKind::Def && i.name != "main";
        // The last definition of a program is what it is for.
        if let Some(item) = session.items(&module).iter().rfind(is_shown) {
            for at in places(&session, item) {
                let Some(told) = hover(&session, &module, at, Depth::Full) else { continue };
                let before = &programs[name][..at as usize];
                let (line, column) =
                    (before.lines().count().max(1), before.len() - before.rfind('\n').map_or(0, |n| n + 1));
                let _ = writeln!(out, "# {name} {line}:{}\n\n{}\n", column + 1, told.markdown(true));
                count += 1;
            }
        }
    }
    assert!(count >= 100, "{count}");
    expect_file!["../golden/hover.md"].assert_eq(&out);
}

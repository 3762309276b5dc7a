//! The origins of statements follow the text, and an edit that only moves text recomputes nothing
//! else.

use std::sync::Arc;

use expect_test::expect;

use super::{FILE, made_again, replace, session};
use crate::Session;
use lang_base::{GlobalName, Span};
use lang_ir::core::{DerivativeKind, FunctionKey};
use lang_ir::origin::OriginKind;
use lang_ir::ssa::StmtId;

/// The program contains a check, which has a place, too.
const GATHER: &str = "\
def gather(x: [n]f64, at: [m]i64) -> [m]f64 = for j: 2.0 * x[at[j]]

def loss(x: [n]f64, at: [m]i64) -> f64 = let y = gather(x, at) in sum j: y[j] * y[j]
";

fn callee(name: &str) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new(FILE, name), Vec::new()))
}

/// Returns the statements that originate from the only occurrence of a text in a definition, each
/// with the texts of all its places.
#[track_caller]
fn places(session: &Session, name: &str, text: &str) -> Vec<(StmtId, Vec<String>)> {
    let item = session.item(&GlobalName::new(FILE, name)).expect("the definition");
    let start = item.text.find(text).expect("the text");
    let start = u32::try_from(start).expect("it is short");
    let place = Span::new(start, start + u32::try_from(text.len()).expect("it is short"));
    let origins = session.traced(&callee(name)).expect("it has forms").origins;
    let of = |var| {
        let texts = origins.origins_of(var).map(|origin| match origin.kind {
            OriginKind::SourceExpr(span) => item.text.get(span.range()).expect("it lies in the text").to_owned(),
            other => format!("{other:?}"),
        });
        texts.collect()
    };
    origins.statements_at(place).map(|var| (var, of(var))).collect()
}

#[test]
fn an_edit_that_only_moves_text_moves_origins() {
    let mut session = session(GATHER);
    let before = places(&session, "loss", "y[j] * y[j]");
    assert_eq!(before, [], "the product is a part of the sum's statement");
    let before = places(&session, "loss", "sum j: y[j] * y[j]");
    assert_eq!(
        before.iter().map(|(_, texts)| texts.as_slice()).collect::<Vec<_>>(),
        [["sum j: y[j] * y[j]".to_owned()]]
    );
    let adjoint = DerivativeKind::Adjoint { outputs: Arc::from([0]), wrt: Arc::from([0]) };
    let adjoint = Arc::new(callee("loss").derivative(adjoint));
    let derived = session.traced(&adjoint).expect("it has an adjoint");
    replace(&mut session, "in sum", "-- A comment.\n  in   sum");
    assert_eq!(places(&session, "loss", "sum j: y[j] * y[j]"), before);
    let (v, _) = before.first().expect("a statement");
    assert!(derived.origins.derived_from(*v).next().is_some(), "the sum has a cotangent, which goes on");
    assert_eq!(session.traced(&adjoint).as_ref(), Some(&derived));
}

#[test]
fn an_edit_that_only_moves_text_makes_no_derivative_again() {
    made_again(
        GATHER,
        |s| replace(s, "in sum", "-- A comment.\n  in   sum"),
        expect!["core(loss) ssa(loss) stages(loss)"],
    );
    // The forms of callers, which contain its checks, stay, too.
    made_again(
        GATHER,
        |s| replace(s, "2.0 * x", "-- A comment.\n  2.0 * x"),
        expect!["core(gather) ssa(gather) stages(gather)"],
    );
}

#[test]
fn a_typed_tree_with_nan_equals_itself() {
    // The signature contains the name of a parameter, so `loss` is checked again, with the same
    // result.
    made_again(
        "def one(x: f64) -> f64 = x\n\ndef loss(x: f64) -> f64 = if x > 0 then one(x) else nan\n",
        |s| replace(s, "def one(x: f64) -> f64 = x", "def one(y: f64) -> f64 = y"),
        expect!["core(loss) core(one) ssa(one) stages(loss) stages(one)"],
    );
}

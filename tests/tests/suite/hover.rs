//! **Hovers** across the papers' programs and the examples. Records the markdown of hovers for
//! review, one file for each program, and checks facts that hold for each of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    reason = "a failed expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use iverson_tests::{golden, literate};
use lang_core::base::Span;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedNode};
use lang_core::types::ty::Type;
use lang_ide::hover::{Hover, HoverDepth, hover};
use lang_ide::names::{NameRole, uses};

use crate::snapshot::assert_folder;

/// The papers' programs, by folder.
const PROGRAMS: &[&str] = &["atl/", "accelerate/", "df/", "pdn/", "zygote/"];

/// The number of expressions for each definition.
const EXPRESSIONS_PER_DEFINITION: usize = 1;

/// Returns whether the expression has a derivative to show.
fn is_operation(node: &TypedNode) -> bool {
    let is = matches!(
        node.kind,
        TypedExpr::Arith(..)
            | TypedExpr::Pow(..)
            | TypedExpr::Scalar(..)
            | TypedExpr::Binder { .. }
            | TypedExpr::Guard(..)
    );
    is && node.ty == Type::F64
}

fn contains_span(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns the first accepted position at which the expression with this span is the innermost one.
fn innermost_position(body: &TypedBody, span: Span, accept: &dyn Fn(u32) -> bool) -> Option<u32> {
    let inner = |at: &u32| {
        let innermost =
            |n: &TypedNode| n.span.start <= *at && *at < n.span.end && n.span != span && contains_span(n.span, span);
        !body.nodes.iter().any(|(_, n)| innermost(n))
    };
    (span.start..span.end).filter(|at| accept(*at)).find(inner)
}

/// Returns positions in a definition: its name, and the positions at which some of its expressions
/// are the innermost.
fn hover_positions(session: &Session, item: &ItemRef) -> Vec<u32> {
    let Some(checked) = session.checked_item(item) else { return Vec::new() };
    let spans: Vec<Span> = checked.body.nodes.iter().filter(|(_, n)| is_operation(n)).map(|(_, n)| n.span).collect();
    let mut own: Vec<u32> = Vec::new();
    for span in spans {
        own.extend(innermost_position(&checked.body, span, &|_| true).map(|at| at + item.start));
    }
    own.sort_unstable();
    own.dedup();
    let step = own.len().div_ceil(EXPRESSIONS_PER_DEFINITION).max(1);
    let name = uses(session, item).into_iter().find(|u| u.role == NameRole::Declaration).map(|u| u.span.start);
    name.into_iter().chain(own.into_iter().step_by(step)).collect()
}

/// Positions in `examples/` and `inside.iv`, each marked by `‸`. They cover loop bodies, top-level
/// items, derivatives with `let`s of their own, long derivatives, and names that no expression has.
const MARKED_POSITIONS: &[(&str, &str)] = &[
    ("deconvolution.iv", "x[i + j] ‸* c[j]"),
    ("deconvolution.iv", "steps: c ‸- rate * grad(loss, wrt: c)"),
    ("deconvolution.iv", "  ‸fold c = start"),
    ("deconvolution.iv", "for i: sin(0.7 * f64(i)) ‸+ 0.5"),
    ("deconvolution.iv", "do print(\"loss at the start\", ‸round_to(loss"),
    ("deconvolution.iv", "grad(loss, wrt: ‸c)(x, start, z)"),
    ("kmeans.iv", "for _ < steps: ‸means(points"),
    ("logistic.iv", "‸softplus(-score(w, x[i])) else"),
    ("logistic.iv", "softplus(-score(w, ‸x[i])) else"),
    ("logistic.iv", "w.weights ‸- rate * g.weights"),
    ("gradbench/gmm.iv", "  in\n    ‸likelihood\n"),
    ("gradbench/kmeans.iv", "‸slope[c, j] /"),
    ("gradbench/gmm.iv", "    likelihood\n      ‸- f64(n)"),
    ("gradbench/llsq.iv", "‸scan p = "),
    ("nile/nile.iv", "‸fold (level, total)"),
    ("gradbench/ode.iv", "change(x, for i: y[i] + h ‸* c[i])"),
    ("gradbench/ode.iv", "y[i] + h / 2 ‸* b[i]"),
    ("iris/iris.iv", "linalg.solve_lower(‸l[c]"),
    ("bundle/bundle.iv", "turned(-camera[0..3], -‸camera"),
    ("perceptron/perceptron.iv", "loss(model, ‸images[_, first"),
    ("deblur/deblur.iv", "def ‸pulled"),
    ("inside.iv", "‸fold p = 1.0"),
    ("inside.iv", "let y = fold p = 1.0 for _ < k: p * x in ‸y"),
    ("inside.iv", "‸fold w = w"),
    ("inside.iv", "‸loop r = a"),
    ("inside.iv", "r ‸* a\n"),
    ("inside.iv", "‸fold v = x for _ < k"),
    ("inside.iv", "in a ‸* b\ndef sums"),
    ("inside.iv", "c[i + 1] ‸* x[i]"),
    ("inside.iv", "‸fold x = b for i < n"),
    ("inside.iv", "‸fold s = a for i < n"),
    ("inside.iv", "‸fold t = s for j < 2"),
    ("inside.iv", "‸fold y = x for k < steps"),
    ("inside.iv", "all[i] ‸* x[i]"),
    ("deconvolution.iv", "steps: c - rate * ‸grad(loss, wrt: c)"),
    ("deconvolution.iv", "def loss(x: [n + m - 1]f64, ‸c: [m]f64"),
    ("deconvolution.iv", "def conv(x: [n + m - 1]f64, ‸c: [m]f64"),
    ("deconvolution.iv", "‸grad(loss, wrt: c)(x, start, z)"),
    ("logistic.iv", "‸grad(loss"),
    ("gradbench/kmeans.iv", "‸jvp2("),
    ("operators.iv", "‸grad(\\t: a * sin(t)^3)(s + 1)"),
    ("operators.iv", "‸grad(grad(\\t: sin(t)^3))"),
    ("operators.iv", "‸hessian(q)(2 * v)"),
    ("operators.iv", "‸jvp(conv, wrt: c)"),
    ("operators.iv", "‸vjp(conv)"),
    ("operators.iv", "‸jacobian(conv)"),
    ("operators.iv", "‸value_and_grad(f)"),
    ("operators.iv", "‸deriv(y * x, x)"),
    ("operators.iv", "def model(‸w: {"),
    ("operators.iv", "‸hvp(\\w: model"),
    ("operators.iv", "‸jacobian(nn.softmax)"),
];

/// Returns the programs of `examples/`.
fn examples() -> BTreeMap<String, String> {
    let root = literate::repository_root().join("examples");
    let (mut open, mut found) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the examples can be listed") {
            let path = entry.expect("it can be looked at").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "iv") {
                let name = path.strip_prefix(&root).expect("it is inside").to_string_lossy().replace('\\', "/");
                found.insert(name, std::fs::read_to_string(&path).expect("it can be read"));
            }
        }
    }
    found
}

#[test]
fn hovers_at_marked_positions() {
    let mut programs = examples();
    programs.insert("inside.iv".to_owned(), include_str!("inside.iv").to_owned());
    programs.insert("operators.iv".to_owned(), include_str!("operators.iv").to_owned());
    let mut session = Session::new();
    programs.iter().for_each(|(name, text)| session.set_text(name, text));
    let mut texts = BTreeMap::<String, String>::new();
    let mut checked = CheckedHovers::default();
    for (name, place) in MARKED_POSITIONS {
        let text = &programs[*name];
        let (before, after) = place.split_once('‸').expect("the place is marked");
        let found = text.find(&format!("{before}{after}")).unwrap_or_else(|| panic!("{name}: {place}"));
        let at = (found + before.len()) as u32;
        let shown =
            hover(&session, name, at, HoverDepth::Full).unwrap_or_else(|| panic!("{name}: no hover at {place}"));
        assert_facts(&format!("{name}: {place}"), text, &shown, &mut checked);
        let text = texts.entry(name.replace(".iv", ".md")).or_default();
        let _ = writeln!(text, "# {}\n\n{}\n", place.trim(), shown.markdown(true));
    }
    assert!(checked.expressions >= 40, "{checked:?}");
    assert_folder("hovers/examples", &texts);
}

/// The numbers of hovers whose facts were asserted.
#[derive(Default, Debug)]
struct CheckedHovers {
    definitions_with_adjoint: usize,
    expressions: usize,
}

/// Asserts the facts of each hover with costs or derivatives. `program` is the text of its module.
fn assert_facts(place: &str, program: &str, shown: &Hover, checked: &mut CheckedHovers) {
    let without_spaces = |text: &str| text.split_whitespace().collect::<String>();
    let labels: Vec<&str> = shown.rows.iter().map(|(label, _)| label.as_str()).collect();
    assert!(!shown.pending, "{place}: its costs are pending");
    if let Some(rest) = shown.code.strip_prefix("def ") {
        // A definition has its signature, its costs in this order, and its adjoint.
        let name = rest.split(['(', ' ']).next().unwrap_or_default();
        assert!(program.contains(&format!("def {name}")), "{place}: {name} is not a definition of the program");
        if !shown.adjoint.is_empty() {
            assert_eq!(labels, ["work", "forward", "adjoint", "certificate"], "{place}");
            assert!(shown.adjoint.starts_with(&format!("def {name}_adj(")), "{place}:\n{}", shown.adjoint);
            checked.definitions_with_adjoint += 1;
        }
    } else if let Some((code, _)) = shown.code.rsplit_once(" : ") {
        // An expression has the text of the program, or its beginning.
        let code = without_spaces(code.trim_end_matches('…'));
        assert!(!code.is_empty() && without_spaces(program).contains(&code), "{place}: {code} is not in the program");
        checked.expressions += 1;
    }
}

#[test]
fn hovers_of_programs() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let mut texts = BTreeMap::<String, String>::new();
    let (mut checked, mut count) = (CheckedHovers::default(), 0);
    let wanted = |name: &&String| PROGRAMS.iter().any(|p| name.starts_with(p));
    for name in programs.keys().filter(wanted) {
        let module = golden::module(name);
        let is_shown = |i: &&ItemRef| i.kind == ItemKind::Def && i.name != "main";
        // The last definition of a program is its main one.
        if let Some(item) = session.items(&module).iter().rfind(is_shown) {
            for at in hover_positions(&session, item) {
                // Parentheses have no hover.
                let Some(shown) = hover(&session, &module, at, HoverDepth::Full) else { continue };
                let before = &programs[name][..at as usize];
                let (line, column) =
                    (before.lines().count().max(1), before.len() - before.rfind('\n').map_or(0, |n| n + 1));
                assert_facts(&format!("{name} {line}:{}", column + 1), &programs[name], &shown, &mut checked);
                let text = texts.entry(format!("{name}.md")).or_default();
                let _ = writeln!(text, "# {line}:{}\n\n{}\n", column + 1, shown.markdown(true));
                count += 1;
            }
        }
    }
    assert!(count >= 100, "{count}");
    assert!(checked.definitions_with_adjoint >= 80 && checked.expressions >= 60, "{checked:?}");
    assert_folder("hovers/programs", &texts);
}

/// Returns whether the word is the internal name of a statement or of a generated variable.
fn is_internal(word: &str) -> bool {
    let numbered = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    let is_numbered = ["X", "L", "Q"].iter().any(|letter| word.strip_prefix(letter).is_some_and(numbered));
    is_numbered || word.starts_with("__") || word.contains('#')
}

#[test]
fn every_operation_has_a_hover() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let (mut count, mut wrong, mut empty) = (0, Vec::new(), Vec::new());
    for name in programs.keys() {
        let module = golden::module(name);
        for item in session.items(&module).iter() {
            let Some(checked) = session.checked_item(item) else { continue };
            let operations = checked.body.nodes.iter().filter(|(_, n)| is_operation(n));
            // Parentheses have no hover.
            let is_operator = |at: u32| !matches!(item.text.as_bytes()[at as usize], b'(' | b')' | b' ' | b'\n');
            let place = |n: &TypedNode| innermost_position(&checked.body, n.span, &is_operator);
            let mut all: Vec<u32> = operations.filter_map(|(_, n)| Some(place(n)? + item.start)).collect();
            all.sort_unstable();
            all.dedup();
            for at in all {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    hover(&session, &module, at, HoverDepth::Full).map(|hover_info| hover_info.markdown(true))
                }));
                count += 1;
                let place = || programs[name][at as usize..].lines().next().unwrap_or_default();
                match outcome {
                    Err(_) => wrong.push(format!("{name}: a panic at {}", place())),
                    Ok(markdown) => {
                        let markdown = markdown.unwrap_or_default();
                        if markdown.is_empty() {
                            empty.push(format!("{name}: {}", place()));
                        }
                        let words = markdown.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '#'));
                        let own: Vec<&str> = words.filter(|w| is_internal(w) && !programs[name].contains(*w)).collect();
                        if !own.is_empty() {
                            wrong.push(format!("{name}: {own:?} at {}", place()));
                        }
                    }
                }
            }
        }
    }
    println!("{count} places");
    assert!(empty.is_empty(), "{} places have no hover:\n{}", empty.len(), empty.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 1500, "{count} are too few");
}

//! What stands above, in and beside the code: lenses, hints, views, and the changes that are offered.

use expect_test::{Expect, expect};
use lang_ide::actions::actions;
use lang_ide::hints::{Wanted, hints};
use lang_ide::lenses::{Lens, cost_title, lenses};
use lang_ide::views::{STAGES, Stage, view};
use lang_ide::{Edit, Session, Span};

const PROGRAM: &str = "\
def conv(x: [n]f64, w: [m]f64) -> [n - m + 1]f64 =
  for i: sum j: x[i + j] * w[j]

def spread(x: [n]f64) -> f64 =
  let mean = total(x) / f64(n)
  let off = x - mean
  in sum i: off[i]^2

def main() = spread([1.0, 2.0])
";

fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text("a.iv", text);
    let problems = session.diagnostics("a.iv");
    assert!(problems.is_empty(), "{problems:?}");
    session
}

/// The text after changes.
fn changed(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|e| e.at.span.start);
    let mut text = text.to_owned();
    edits.iter().rev().for_each(|e| text.replace_range(e.at.span.range(), &e.text));
    text
}

fn check(found: &str, expected: &Expect) {
    expected.assert_eq(found);
}

#[test]
fn lenses_tell_costs() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for lens in lenses(&session, "a.iv") {
        let text = match lens.lens {
            Lens::Cost => cost_title(&session, "a.iv", &lens.def).unwrap_or_default(),
            Lens::Run => "run".to_owned(),
            Lens::View(stage) => stage.to_owned(),
        };
        out += &format!("{}: {text}\n", lens.def);
    }
    check(&out, &expect![[""]]);
}

#[test]
fn hints_tell_what_is_inferred() {
    let session = session(PROGRAM);
    let wanted = Wanted { extents: true, sizes: true, types: true, cost: true };
    let whole = Span::new(0, u32::try_from(PROGRAM.len()).unwrap());
    let mut text = PROGRAM.to_owned();
    for hint in hints(&session, "a.iv", whole, wanted).iter().rev() {
        text.insert_str(hint.at as usize, &format!("⟨{}⟩", hint.text));
    }
    check(&text, &expect![[""]]);
}

#[test]
fn views_tell_where_their_lines_come_from() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for (name, stage) in STAGES.iter().filter(|(_, s)| matches!(s, Stage::Adjoint | Stage::Ssa | Stage::Cost)) {
        let view = view(&session, "a.iv", "spread", *stage).unwrap();
        out += &format!("== {name}\n");
        for (k, line) in (0..).zip(view.text.lines()) {
            let spans = view.lines.iter().filter(|(n, _)| *n == k).flat_map(|(_, spans)| spans);
            let origins: Vec<&str> = spans.map(|s| &PROGRAM[s.range()]).collect();
            out += &format!("{line}\n");
            if !origins.is_empty() {
                out += &format!("    ← {}\n", origins.join(" | ").replace('\n', " "));
            }
        }
    }
    check(&out, &expect![[""]]);
    assert!(view(&session, "a.iv", "absent", Stage::Adjoint).is_err());
}

/// What is offered where the text between `‹` and `›` is selected, and what the program is after it.
fn offered(marked: &str) -> String {
    let (begin, end) = (marked.find('‹').unwrap(), marked.find('›').unwrap() - '‹'.len_utf8());
    let text = marked.replace(['‹', '›'], "");
    let session = session(&text);
    let selected = Span::new(u32::try_from(begin).unwrap(), u32::try_from(end).unwrap());
    let mut out = String::new();
    for action in actions(&session, "a.iv", selected) {
        let after = changed(&text, &action.edits);
        let mut again = Session::new();
        again.set_text("a.iv", &after);
        let problems = again.diagnostics("a.iv");
        assert!(problems.iter().all(|d| !d.is_error()), "{}\n{after}\n{problems:?}", action.title);
        out += &format!("== {}\n{after}", action.title);
    }
    out
}

#[test]
fn actions_give_programs() {
    let mut out = offered("def f(x: [n]f64, w: [n]f64) -> f64 = sum i: ‹x[i] * w[i]› + 1.0\n");
    out += &offered("def ‹›f(x: f64) -> f64 = sin(x) * x\n");
    out += &offered("def f(x: [n]f64) -> f64 =\n  let ‹›y = x * 2.0\n  in sum i: y[i]\n");
    out += &offered("def f(x: f64) -> f64 = if x > 0.0 then ‹x * x› else 1.0\n");
    check(&out, &expect![[""]]);
}

//! **Source links of the views.** Maps the lines of a compiler form to spans of the program. Lines
//! of Tensor SSA use the origins of their statements. Lines of core and of the later forms use the
//! spans of the bound expressions. [`crate::views`] calls it with the printed form.

use lang_core::base::{GlobalName, Span};
use lang_core::ir::core::{ExprKind, ExprRef};
use lang_core::ir::ssa::StmtId;
use lang_core::session::Session;

/// Line numbers, from 0, with spans of the module.
pub(crate) type SourceLinks = Vec<(u32, Vec<Span>)>;

/// Returns the links of Tensor SSA. A statement's line begins with its variable. All lines of a
/// loop link to the spans of its parts.
pub(crate) fn ssa_links(
    session: &Session,
    def: &GlobalName,
    text: &str,
    places: &dyn Fn(StmtId) -> Vec<Span>,
) -> SourceLinks {
    let Some(start) = session.item(def).map(|item| item.start) else { return Vec::new() };
    let all: Vec<&str> = text.lines().collect();
    let mut lines = Vec::new();
    let mut around: Option<Vec<Span>> = None;
    for (k, line) in (0..).zip(&all) {
        let spans = match defined_variable(line) {
            Some(var) => places(var),
            None => {
                if let Some(name) = loop_name(line) {
                    let parts = all.iter().filter(|line| line.contains(&format!("= {name}.")));
                    around = Some(parts.filter_map(|line| defined_variable(line)).flat_map(places).collect());
                }
                let spans = around.clone().unwrap_or_default();
                if *line == "  }" {
                    around = None;
                }
                spans
            }
        };
        push_link(&mut lines, k, start, spans);
    }
    lines
}

/// Returns the variable that a line of a function defines.
fn defined_variable(line: &str) -> Option<StmtId> {
    let digits = line.strip_prefix("  X")?;
    let number: String = digits.chars().take_while(char::is_ascii_digit).collect();
    number.parse().ok().map(StmtId)
}

/// Returns the name of the loop that begins on a line of a function.
fn loop_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("  ")?.split_once(" = ")?.0;
    (name.starts_with('L') && line.ends_with('{')).then_some(name)
}

/// Returns the links of core, whose lines are the nested `let`s of its body, outermost first.
pub(crate) fn core_links(session: &Session, def: &GlobalName, text: &str, body: &ExprRef) -> SourceLinks {
    let (mut bound, mut rest) = (Vec::new(), body);
    while let ExprKind::Let(bindings, inner) = &rest.kind {
        bound.extend(bindings.iter().map(|(_, e)| e.clone()));
        rest = inner;
    }
    binding_links(session, def, text, &bound, std::slice::from_ref(rest))
}

/// Returns the links of a form's bindings, in order, and those of its results.
pub(crate) fn binding_links(
    session: &Session,
    def: &GlobalName,
    text: &str,
    bound: &[ExprRef],
    outputs: &[ExprRef],
) -> SourceLinks {
    let Some(start) = session.item(def).map(|item| item.start) else { return Vec::new() };
    let mut bound = bound.iter();
    let mut lines = Vec::new();
    let mut first = true;
    for (k, line) in (0..).zip(text.lines()) {
        // The functions that its body creates are printed after it.
        if !std::mem::take(&mut first) && !line.starts_with(' ') {
            break;
        }
        let own = line.strip_prefix("  ").unwrap_or_default();
        let spans = if own.starts_with("let ") || own.starts_with("check ") {
            bound.next().map(expression_spans).unwrap_or_default()
        } else if k > 0 && !own.starts_with(' ') && !own.is_empty() {
            outputs.iter().flat_map(expression_spans).collect()
        } else {
            Vec::new()
        };
        push_link(&mut lines, k, start, spans);
    }
    lines
}

/// Returns the span of an expression. If a pass created the expression, returns the spans of its
/// parts.
fn expression_spans(e: &ExprRef) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open = vec![e.clone()];
    while let Some(e) = open.pop() {
        if e.span.start < e.span.end {
            found.push(e.span);
        } else {
            e.for_each_child(&mut |e| open.push(e.clone()));
        }
    }
    found
}

fn push_link(lines: &mut SourceLinks, k: u32, start: u32, mut spans: Vec<Span>) {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    spans.dedup();
    if !spans.is_empty() {
        lines.push((k, spans.into_iter().map(|s| s.shift(start)).collect()));
    }
}

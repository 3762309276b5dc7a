//! Which places of the program the lines of a form come from: those of Tensor SSA by the origins of its statements, those
//! of core and of the forms after it by the places of what is bound in them.

use lang_core::base::{GlobalName, Span};
use lang_core::ir::core::{E, Kind};
use lang_core::ir::ssa::Var;
use lang_core::session::Session;

/// Numbers of lines, from 0, with places of the module.
pub(crate) type Lines = Vec<(u32, Vec<Span>)>;

/// The lines of Tensor SSA. A line of a statement begins with it, and all lines of a loop are those of its parts.
pub(crate) fn ssa(session: &Session, def: &GlobalName, text: &str, places: &dyn Fn(Var) -> Vec<Span>) -> Lines {
    let Some(start) = session.item(def).map(|item| item.start) else { return Vec::new() };
    let all: Vec<&str> = text.lines().collect();
    let mut lines = Vec::new();
    let mut around: Option<Vec<Span>> = None;
    for (k, line) in (0..).zip(&all) {
        let spans = match statement(line) {
            Some(var) => places(var),
            None => {
                if let Some(name) = looped(line) {
                    let parts = all.iter().filter(|line| line.contains(&format!("= {name}.")));
                    around = Some(parts.filter_map(|line| statement(line)).flat_map(places).collect());
                }
                let spans = around.clone().unwrap_or_default();
                if *line == "  }" {
                    around = None;
                }
                spans
            }
        };
        push(&mut lines, k, start, spans);
    }
    lines
}

/// The statement that a line of a function begins with.
fn statement(line: &str) -> Option<Var> {
    let digits = line.strip_prefix("  X")?;
    let number: String = digits.chars().take_while(char::is_ascii_digit).collect();
    number.parse().ok().map(Var)
}

/// The loop that begins at a line of a function.
fn looped(line: &str) -> Option<&str> {
    let name = line.strip_prefix("  ")?.split_once(" = ")?.0;
    (name.starts_with('L') && line.ends_with('{')).then_some(name)
}

/// The lines of core, which bind what its body does, from the outermost on.
pub(crate) fn core(session: &Session, def: &GlobalName, text: &str, body: &E) -> Lines {
    let (mut bound, mut rest) = (Vec::new(), body);
    while let Kind::Let(bindings, inner) = &rest.kind {
        bound.extend(bindings.iter().map(|(_, e)| e.clone()));
        rest = inner;
    }
    bindings(session, def, text, &bound, std::slice::from_ref(rest))
}

/// The lines of a form that begin with a binding, in order, and those of what it gives.
pub(crate) fn bindings(session: &Session, def: &GlobalName, text: &str, bound: &[E], given: &[E]) -> Lines {
    let Some(start) = session.item(def).map(|item| item.start) else { return Vec::new() };
    let mut bound = bound.iter();
    let mut lines = Vec::new();
    let mut first = true;
    for (k, line) in (0..).zip(text.lines()) {
        // Functions that are made in it stand after it.
        if !std::mem::take(&mut first) && !line.starts_with(' ') {
            break;
        }
        let own = line.strip_prefix("  ").unwrap_or_default();
        let spans = if own.starts_with("let ") || own.starts_with("check ") {
            bound.next().map(places).unwrap_or_default()
        } else if k > 0 && !own.starts_with(' ') && !own.is_empty() {
            given.iter().flat_map(places).collect()
        } else {
            Vec::new()
        };
        push(&mut lines, k, start, spans);
    }
    lines
}

/// The place of an expression; of one that a pass made, those of its parts.
fn places(e: &E) -> Vec<Span> {
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

fn push(lines: &mut Lines, k: u32, start: u32, mut spans: Vec<Span>) {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    spans.dedup();
    if !spans.is_empty() {
        lines.push((k, spans.into_iter().map(|s| s.shift(start)).collect()));
    }
}

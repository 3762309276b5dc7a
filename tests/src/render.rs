//! **Plain diagnostics.** Renders diagnostics as text for recorded outputs: stable, without colour,
//! in one form. The terminal's reports (ariadne) hold the same content in more lines.
//!
//! ```text
//! error[E0200]: expected f64, found bool
//!  --> 2:7
//! 2 |   x + true
//!   |       ^^^^ this is bool
//!   = help: write `f64(true)`
//! ```

use lang_core::base::{Diagnostic, RelatedLabel, Severity, Span};

use crate::run::MAIN;

/// Renders one diagnostic of a module's text. Spans must be absolute in that text. The result ends
/// with a newline.
#[must_use]
pub fn diagnostic(module: &str, text: &str, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = SourceSpan::of(text, diagnostic.span);
    let at = position(module, text, diagnostic.span);
    let mut out = format!("{severity}[{}]: {}\n --> {at}\n", diagnostic.code, diagnostic.message);
    let here = |label: &RelatedLabel| label.module.as_ref().is_none_or(|m| m == module);
    let related: Vec<(SourceSpan<'_>, &RelatedLabel)> =
        diagnostic.related.iter().filter(|l| here(l)).map(|l| (SourceSpan::of(text, l.span), l)).collect();
    let last = related.iter().map(|(place, _)| place.line).fold(place.line, usize::max);
    let width = last.to_string().len();
    out.push_str(&place.shown(width));
    out.push_str(&place.underlined(width, '^', &diagnostic.label));
    let mut line = place.line;
    for (place, label) in &related {
        // A source line with several labels is printed once.
        if place.line != line {
            out.push_str(&place.shown(width));
            line = place.line;
        }
        out.push_str(&place.underlined(width, '-', &label.message));
    }
    for label in diagnostic.related.iter().filter(|l| !here(l)) {
        let module = named(label.module.as_deref().unwrap_or_default());
        out.push_str(&format!("{:width$} = in {module}: {}\n", "", label.message));
    }
    if let Some(help) = &diagnostic.help {
        out.push_str(&format!("{:width$} = help: {help}\n", ""));
    }
    out
}

/// Returns the start of a span, as `3:7`, with the module's name before it if the module is not the
/// main one.
#[must_use]
pub fn position(module: &str, text: &str, span: Span) -> String {
    let place = SourceSpan::of(text, span);
    let of = if module == MAIN { String::new() } else { format!("{}:", named(module)) };
    format!("{of}{}:{}", place.line, place.column)
}

fn named(module: &str) -> &str {
    if module.is_empty() { "<prelude>" } else { module }
}

/// Renders all the diagnostics, one after another.
#[must_use]
pub fn diagnostics(module: &str, text: &str, list: &[Diagnostic]) -> String {
    list.iter().map(|d| diagnostic(module, text, d)).collect()
}

/// The start of a span and the part of its first line that it covers. Columns count characters,
/// from 1.
struct SourceSpan<'a> {
    line: usize,
    column: usize,
    source: &'a str,
    covered: usize,
    /// Whether the span continues past its first line.
    more: bool,
}

impl<'a> SourceSpan<'a> {
    fn of(text: &'a str, span: Span) -> Self {
        let range = span.range();
        let start = range.start.min(text.len());
        let before = text.get(..start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let source = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
        let covered = text.get(start..range.end.clamp(start, text.len())).unwrap_or_default();
        let first = covered.lines().next().unwrap_or_default();
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + before.get(line_start..).unwrap_or_default().chars().count(),
            source,
            covered: first.chars().count(),
            more: covered.trim_end().contains('\n'),
        }
    }

    fn shown(&self, width: usize) -> String {
        format!("{:>width$} | {}\n", self.line, self.source)
    }

    fn underlined(&self, width: usize, mark: char, remark: &str) -> String {
        let marks = mark.to_string().repeat(self.covered.max(1));
        let more = if self.more { "…" } else { "" };
        // Tabs of the source stay tabs, so that the marks align with the source.
        let indent: String =
            self.source.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let under = format!("{indent}{marks}{more} {remark}");
        format!("{:width$} | {}\n", "", under.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::diagnostic;
    use lang_core::base::{Code, Diagnostic, Span};

    const TEXT: &str = "def f(x: f64) -> f64 =\n  x + true\n";

    #[track_caller]
    fn check(text: &str, found: &Diagnostic, expected: &str) {
        assert_eq!(diagnostic("main.iv", text, found), expected);
    }

    #[test]
    fn label_related_and_help() {
        let found = Diagnostic::new(Code::E0200, Span::new(29, 33), "expected f64, found bool")
            .label("this is bool")
            .related(Span::new(6, 7), "x is f64")
            .help("write a number");
        check(
            TEXT,
            &found,
            "error[E0200]: expected f64, found bool\n --> 2:7\n\
             2 |   x + true\n  |       ^^^^ this is bool\n\
             1 | def f(x: f64) -> f64 =\n  |       - x is f64\n  = help: write a number\n",
        );
    }

    #[test]
    fn several_remarks_on_a_line() {
        let found = Diagnostic::new(Code::E0206, Span::new(25, 33), "mixed")
            .related(Span::new(25, 26), "a real")
            .related(Span::new(29, 33), "a truth value");
        check(
            TEXT,
            &found,
            "error[E0206]: mixed\n --> 2:3\n2 |   x + true\n  |   ^^^^^^^^\n  |   - a real\n  |       ---- a truth value\n",
        );
    }

    #[test]
    fn empty_spans_and_ends_of_text() {
        let found = Diagnostic::new(Code::E0001, Span::new(34, 34), "expected an expression");
        check(TEXT, &found, "error[E0001]: expected an expression\n --> 3:1\n3 | \n  | ^\n");
        check("", &found, "error[E0001]: expected an expression\n --> 1:1\n1 | \n  | ^\n");
    }

    #[test]
    fn several_lines_and_wide_letters() {
        let found = Diagnostic::new(Code::W0401, Span::new(9, 17), "never reached");
        check(
            "let α = (1,\n  2)\n",
            &found,
            "warning[W0401]: never reached\n --> 1:9\n1 | let α = (1,\n  |         ^^^…\n",
        );
    }
}

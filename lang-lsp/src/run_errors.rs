//! **Errors of an evaluation.** Parses the JSON lines of the child process. Converts them to text
//! for the user and to diagnostics of the document.

use lang_ide::{Code, Diagnostic, LIBRARY, RelatedLabel, Span};
use serde::Deserialize;

/// The child's name for the document's text.
const DOCUMENT: &str = "<stdin>";
/// The child's name for the evaluated expression.
const EXPRESSION: &str = "<eval>";
/// The child's name for the prelude, whose module name is empty.
const PRELUDE: &str = "prelude";
/// The prefix of the codes of run-time errors; all other errors are found without a run.
const RUNTIME_CODE_PREFIX: &str = "E05";

/// The maximal number of further callers in the message. The diagnostic contains all of them.
const MAX_CALLERS: usize = 3;

/// A range of text. Lines and columns count characters from 1.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct SourceRange {
    file: Option<String>,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// A related range of an error.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
struct RelatedRange {
    message: String,
    #[serde(flatten)]
    place: SourceRange,
}

/// An error that the child reported.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
pub(crate) struct RunDiagnostic {
    severity: String,
    code: String,
    message: String,
    help: Option<String>,
    #[serde(flatten)]
    place: SourceRange,
    /// Related ranges that explain it.
    #[serde(default)]
    related: Vec<RelatedRange>,
    /// The active calls, innermost first.
    #[serde(default)]
    callers: Vec<SourceRange>,
}

/// Parses the child's error output. Returns it as text, and the errors.
pub(crate) fn parse_output(said: &str) -> (String, Vec<RunDiagnostic>) {
    let mut mistakes = Vec::new();
    let format_line = |line: &str| match serde_json::from_str::<RunDiagnostic>(line) {
        Ok(mistake) => {
            let message = mistake.format_message();
            mistakes.push(mistake);
            message
        }
        // Other output, for example of `dbg`.
        Err(_) => replace_file_name(line),
    };
    let lines: Vec<String> = said.lines().map(format_line).collect();
    (lines.join("\n"), mistakes)
}

/// Returns whether the document has errors that are found without a run.
pub(crate) fn has_static_errors(mistakes: &[RunDiagnostic]) -> bool {
    let is_found = |m: &RunDiagnostic| m.severity == "error" && !m.code.starts_with(RUNTIME_CODE_PREFIX);
    mistakes.iter().any(|m| is_found(m) && m.place.file.as_deref() == Some(DOCUMENT))
}

/// Replaces a file name for the document or the expression at the start of a line.
fn replace_file_name(line: &str) -> String {
    let of = |file: &str| line.strip_prefix(file)?.strip_prefix(':');
    match (of(DOCUMENT), of(EXPRESSION).and_then(|rest| rest.strip_prefix("1:"))) {
        (Some(rest), _) => format!("line {rest}"),
        (_, Some(rest)) => format!("column {rest}"),
        _ => line.to_owned(),
    }
}

impl SourceRange {
    /// Formats a range: the line in the document, with the name of any other file. `None` for the
    /// evaluated expression, because the user sees it.
    fn format_location(&self) -> Option<String> {
        let Self { file, line, column, .. } = self;
        match file.as_deref()? {
            DOCUMENT => Some(format!("line {line}:{column}")),
            EXPRESSION => None,
            file => Some(format!("{file}:{line}:{column}")),
        }
    }
}

impl RunDiagnostic {
    fn format_message(&self) -> String {
        let SourceRange { file, line, column, .. } = &self.place;
        let at = file.as_ref().map(|file| format!("{file}:{line}:{column}: ")).unwrap_or_default();
        let mut text =
            replace_file_name(&format!("{at}{}[{}]: {}", self.severity, self.code, self.message.replace('\n', " ")));
        if let Some(help) = &self.help {
            text.push_str("\nhelp: ");
            text.push_str(help);
        }
        for (RelatedRange { place, .. }, _) in self.library_ranges() {
            let file = place.file.as_deref().unwrap_or_default();
            text.push_str(&format!("\nin the library at {file}:{}:{}", place.line, place.column));
        }
        let callers: Vec<String> = self.callers.iter().filter_map(SourceRange::format_location).collect();
        if let Some((first, rest)) = callers.split_first() {
            text.push_str(&format!("\ncalled at {first}"));
            text.extend(rest.iter().take(MAX_CALLERS).map(|caller| format!(", from {caller}")));
            if let Some(more) = rest.len().checked_sub(MAX_CALLERS).filter(|more| *more > 0) {
                text.push_str(&format!(", and {more} more {}", if more == 1 { "call" } else { "calls" }));
            }
        }
        text
    }

    /// Returns the ranges in the library, each with its module's name and text.
    fn library_ranges(&self) -> impl Iterator<Item = (&RelatedRange, &'static (&'static str, &'static str))> {
        self.related.iter().filter_map(|remark| {
            let file = remark.place.file.as_deref()?;
            let name = file.strip_prefix('<')?.strip_suffix('>')?;
            let module = if name == PRELUDE { "" } else { name };
            Some((remark, LIBRARY.iter().find(|(known, _)| *known == module)?))
        })
    }

    /// Converts the error to a diagnostic of the document, at its range or at the call that led to
    /// it, with the outer calls. `None` for an error that is found without a run, or that has no
    /// range in the document.
    pub(crate) fn diagnostic(&self, text: &str) -> Option<Diagnostic> {
        let code =
            Code::ALL.iter().find(|code| code.name() == self.code && code.name().starts_with(RUNTIME_CODE_PREFIX))?;
        let all = std::iter::once(&self.place).chain(&self.callers);
        let of_document = all.filter(|place| place.file.as_deref() == Some(DOCUMENT));
        let mut spans = of_document.filter_map(|place| source_span(text, place));
        let diagnostic = Diagnostic::new(*code, spans.next()?, format!("in the last run: {}", self.message));
        let mut diagnostic = spans.fold(diagnostic, |diagnostic, caller| diagnostic.related(caller, "called here"));
        for (remark, (module, text)) in self.library_ranges() {
            let Some(span) = source_span(text, &remark.place) else { continue };
            diagnostic.related.push(RelatedLabel {
                span,
                message: remark.message.clone(),
                module: Some((*module).into()),
            });
        }
        Some(match &self.help {
            Some(help) => diagnostic.help(help.clone()),
            None => diagnostic,
        })
    }
}

/// Converts a range to a span of a text.
fn source_span(text: &str, place: &SourceRange) -> Option<Span> {
    let (start, end) = (offset(text, place.line, place.column)?, offset(text, place.end_line, place.end_column)?);
    Some(Span::new(start, end))
}

/// Converts a line and a column to an offset.
fn offset(text: &str, line: usize, column: usize) -> Option<u32> {
    let (line, column) = (line.checked_sub(1)?, column.checked_sub(1)?);
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..)?;
    let within = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
    u32::try_from(start.checked_add(within)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_the_text_and_of_runs() {
        let line = |file: &str, severity: &str, code: &str| {
            format!(
                r#"{{"file": "{file}", "severity": "{severity}", "code": "{code}", "message": "m", "line": 1, "column": 1, "endLine": 1, "endColumn": 2}}"#
            )
        };
        let is_of_text =
            |file: &str, severity: &str, code: &str| has_static_errors(&parse_output(&line(file, severity, code)).1);
        assert!(is_of_text(DOCUMENT, "error", "E0002"));
        // A run-time error, a warning that prevents no run, and an error of the expression itself.
        assert!(!is_of_text(DOCUMENT, "error", "E0502"));
        assert!(!is_of_text(DOCUMENT, "warning", "W0314"));
        assert!(!is_of_text(EXPRESSION, "error", "E0200"));
    }
    #[test]
    fn places_in_the_library_are_related() {
        let line = r#"{"file": "<stdin>", "severity": "error", "code": "E0502", "message": "m", "line": 1, "column": 4, "endLine": 1, "endColumn": 9,
            "related": [{"file": "<prelude>", "line": 2, "column": 1, "endLine": 2, "endColumn": 3, "message": "it fails here"}], "callers": []}"#;
        let (output_text, mistakes) = parse_output(&line.replace('\n', ""));
        assert_eq!(output_text, "line 1:4: error[E0502]: m\nin the library at <prelude>:2:1");
        let found = mistakes.first().and_then(|m| m.diagnostic("do f(1)")).map(|d| (d.span, d.related));
        let start = LIBRARY.first().and_then(|(_, text)| offset(text, 2, 1));
        let inside = start.map(|start| RelatedLabel {
            span: Span::new(start, start.saturating_add(2)),
            message: "it fails here".to_owned(),
            module: Some("".into()),
        });
        assert_eq!(found, inside.map(|inside| (Span::new(3, 7), vec![inside])));
    }
}

//! **Rendering of problems**: as text for people (ariadne's drawings, or one line each) and as JSON
//! for programs.
//!
//! The output is bounded for any input. A long line is cut to a window, a long span to its ends,
//! and a long list to its first problems. A place in a very long file is not drawn. Characters that
//! would control a terminal are replaced.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source as Drawing};
use lang_core::base::{Severity, Span};

use crate::json;
use crate::problem::{Caller, LabelledSpan, Problem};
use crate::source::{SourceId, SourceText, Sources, floor_boundary};
use crate::wrap::wrap_text;

/// The style of rendered problems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportStyle {
    /// A drawing of the source text with labels.
    Full {
        /// Whether to use colours.
        color: bool,
        /// The width at which sentences are wrapped; `None`: no wrapping.
        width: Option<usize>,
    },
    /// One line each: `file:line:column: error[E0200]: message`.
    Short,
    /// One line of JSON each, with related places and callers.
    JsonLines,
}

/// The most problems that are drawn; one mistake can cause thousands.
const MAX_DRAWN: usize = 20;
/// The most places that are drawn for one problem.
const MAX_PLACES: usize = 8;
/// The last line that is drawn, because ariadne reads a file from its first line.
const MAX_LINES: usize = 200_000;
/// The longest line, in bytes, that is shown whole, and the length of the window into a longer one.
const WINDOW: usize = 160;
/// The bytes of a long line that are shown before the place.
const WINDOW_LEAD: usize = 40;
/// The most bytes of a message.
const MAX_MESSAGE: usize = 4_000;
/// The most callers that are listed, innermost first.
const MAX_CALLERS: usize = 8;

/// Renders all problems as text, in order.
pub(crate) fn render(problems: &[Problem], sources: &Sources, style: ReportStyle) -> String {
    let mut out = String::new();
    match style {
        ReportStyle::Short => {
            for p in problems {
                out.push_str(&render_line(p, sources));
                out.push('\n');
            }
        }
        ReportStyle::JsonLines => {
            for p in problems {
                out.push_str(&json_line(p, sources));
                out.push('\n');
            }
        }
        ReportStyle::Full { color, width } => {
            for p in problems.iter().take(MAX_DRAWN) {
                out.push_str(&render_drawing(p, sources, color, width));
            }
            if let Some(more @ 1..) = problems.len().checked_sub(MAX_DRAWN) {
                let _ = writeln!(out, "… and {more} more; `--format short` lists all problems.");
            }
        }
    }
    out
}

/// Returns `2 errors, 1 warning`, or `None` if the list is empty.
pub(crate) fn summary(problems: &[Problem]) -> Option<String> {
    let errors = problems.iter().filter(|p| p.is_error()).count();
    let count = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let parts: Vec<String> =
        [count(errors, "error"), count(problems.len() - errors, "warning")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn severity_name(p: &Problem) -> &'static str {
    match p.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn render_line(p: &Problem, sources: &Sources) -> String {
    let at = p.places.first().and_then(|place| location(place, sources)).map(|l| format!("{l}: ")).unwrap_or_default();
    let message = sanitise_text(&p.message).replace(['\n', '\r'], " ");
    format!("{at}{}[{}]: {message}", severity_name(p), p.code)
}

fn location(place: &LabelledSpan, sources: &Sources) -> Option<String> {
    let source = sources.get(place.source)?;
    let at = source.position(place.span.start as usize);
    Some(format!("{}:{}:{}", sanitise_text(&source.name), at.line, at.column))
}

/// Renders a JSON array in the format of `iverson check --format json`.
pub(crate) fn json_list(problems: &[Problem], sources: &Sources) -> String {
    json::array(problems.iter().map(|p| json_problem(p, sources)))
}

fn json_problem(p: &Problem, sources: &Sources) -> String {
    json::object(json_fields(p, sources))
}

/// Renders a problem as one JSON line, with its related places and its callers, innermost first.
fn json_line(p: &Problem, sources: &Sources) -> String {
    let mut fields = json_fields(p, sources);
    let others = p.places.iter().skip(1).filter_map(|place| {
        let mut fields = json_place(place.source, place.span, sources)?;
        fields.push(("message", json::string(&place.label)));
        Some(json::object(fields))
    });
    fields.push(("related", json::array(others)));
    let callers = p.trace.iter().filter_map(|c| json_place(c.source?, c.span, sources)).map(json::object);
    fields.push(("callers", json::array(callers)));
    json::object(fields)
}

fn json_fields(p: &Problem, sources: &Sources) -> Vec<(&'static str, String)> {
    let place = p.places.first().and_then(|place| json_place(place.source, place.span, sources));
    let mut fields = place.unwrap_or_else(|| {
        let file = p.file.as_deref().map_or_else(|| "null".to_owned(), json::string);
        let origin = ["line", "column", "endLine", "endColumn"].map(|name| (name, "1".to_owned()));
        [("file", file)].into_iter().chain(origin).collect()
    });
    let what = [("severity", severity_name(p)), ("code", p.code.name()), ("message", p.message.as_str())];
    // These fields follow `file`.
    fields.splice(1..1, what.map(|(name, text)| (name, json::string(text))));
    if let Some(help) = &p.help {
        fields.push(("help", json::string(help)));
    }
    fields
}

/// Returns the fields for a file and the lines and columns of a place.
fn json_place(source: SourceId, span: Span, sources: &Sources) -> Option<Vec<(&'static str, String)>> {
    let source = sources.get(source)?;
    let range = source.range(span);
    let (start, end) = (source.position(range.start), source.position(range.end));
    Some(vec![
        ("file", json::string(&source.name)),
        ("line", start.line.to_string()),
        ("column", start.column.to_string()),
        ("endLine", end.line.to_string()),
        ("endColumn", end.column.to_string()),
    ])
}

/// A line of text as it is shown, with the mapping of its bytes to columns.
struct WindowedLine {
    text: String,
    /// The shown part of the line, in bytes.
    window: std::ops::Range<usize>,
    /// The number of characters before it.
    lead_columns: usize,
}

impl WindowedLine {
    /// Creates the shown text. A long line is cut to a window that begins shortly before byte
    /// `first`.
    fn new(line: &str, first: usize) -> Self {
        let start = if line.len() <= WINDOW { 0 } else { floor_boundary(line, first.saturating_sub(WINDOW_LEAD)) };
        let end = if line.len() <= WINDOW { line.len() } else { floor_boundary(line, start.saturating_add(WINDOW)) };
        let mut text = String::from(if start > 0 { "…" } else { "" });
        text.extend(line.get(start..end).unwrap_or_default().chars().map(visible_char));
        if end < line.len() {
            text.push('…');
        }
        // A place at the end of a line needs a character for its marker.
        text.push(' ');
        Self { text, window: start..end, lead_columns: usize::from(start > 0) }
    }

    /// Returns the column of byte `at` in the shown text, in characters.
    fn column(&self, line: &str, at: usize) -> usize {
        let at = floor_boundary(line, at.clamp(self.window.start, self.window.end));
        self.lead_columns + line.get(self.window.start..at).unwrap_or_default().chars().count()
    }
}

/// The text of a source that ariadne reads: the lines with places; the others are empty, so that
/// line numbers are right. Positions are in characters, because ariadne 0.6 confuses byte and
/// character positions in reports about several sources.
struct Excerpt {
    text: String,
    lines: BTreeMap<usize, (usize, WindowedLine)>,
    length: usize,
}

impl Excerpt {
    /// Creates an excerpt. `places` are byte ranges of the source, the most important first.
    fn new(source: &SourceText, places: &[std::ops::Range<usize>]) -> Self {
        let mut firsts: BTreeMap<usize, usize> = BTreeMap::new();
        for range in places {
            for at in [range.start, last_byte(range)] {
                let line = source.line_of(at);
                firsts.entry(line).or_insert(at - source.line_start(line));
            }
        }
        let mut excerpt = Self { text: String::new(), lines: BTreeMap::new(), length: 0 };
        let mut next = 0;
        for (line, first) in firsts {
            excerpt.text.extend(std::iter::repeat_n('\n', line - next));
            excerpt.length += line - next;
            next = line;
            let shown = WindowedLine::new(source.line_text(line), first);
            let start = excerpt.length;
            excerpt.text.push_str(&shown.text);
            excerpt.length += shown.text.chars().count();
            excerpt.lines.insert(line, (start, shown));
        }
        excerpt
    }

    /// Returns the position in the excerpt of byte `at` in line `line` of the source.
    fn offset(&self, source: &SourceText, line: usize, at: usize) -> usize {
        let Some((start, shown)) = self.lines.get(&line) else { return 0 };
        start + shown.column(source.line_text(line), at.saturating_sub(source.line_start(line)))
    }

    /// Returns the range of a place in the excerpt; an empty place is extended to the next
    /// character.
    fn range(&self, source: &SourceText, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = self.offset(source, source.line_of(range.start), range.start);
        // The end belongs to the line of the last byte, even if it is the start of the next line.
        let end = self.offset(source, source.line_of(last_byte(range)), range.end);
        start..end.max(start + 1).min(self.length.max(start))
    }
}

fn last_byte(range: &std::ops::Range<usize>) -> usize {
    range.end.saturating_sub(1).max(range.start)
}

/// Returns the placeholder of the n-th source in ariadne's output. Then `replace_markers` replaces
/// it by the true place in ` ╭─[ name:1:1 ]`.
fn source_marker(n: usize) -> String {
    format!("\u{E000}{n}\u{E001}")
}

/// Returns the text before a problem's message.
fn heading(p: &Problem) -> String {
    let severity = match p.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    };
    format!("[{}] {severity}: ", p.code)
}

fn render_drawing(p: &Problem, sources: &Sources, color: bool, width: Option<usize>) -> String {
    let config = Config::new().with_index_type(IndexType::Char).with_color(color);
    let kind = match p.severity {
        Severity::Error => ReportKind::Error,
        Severity::Warning => ReportKind::Warning,
    };
    let tint = match p.severity {
        Severity::Error => ariadne::Color::Red,
        Severity::Warning => ariadne::Color::Yellow,
    };

    // Group places by source, in the order of their first mention.
    let mut groups: Vec<(SourceId, Vec<&LabelledSpan>)> = Vec::new();
    for place in p.places.iter().take(MAX_PLACES) {
        match groups.iter_mut().find(|(id, _)| *id == place.source) {
            Some((_, places)) => places.push(place),
            None => groups.push((place.source, vec![place])),
        }
    }

    let mut excerpts = Vec::new();
    let mut labels: Vec<Label<(String, std::ops::Range<usize>)>> = Vec::new();
    let mut names = Vec::new();
    let mut last_line = 0;
    for (id, places) in &groups {
        let Some(source) = sources.get(*id) else { continue };
        let ranges: Vec<_> = places.iter().map(|place| source.range(place.span)).collect();
        if ranges.iter().any(|r| source.line_of(last_byte(r)) > MAX_LINES) {
            return render_plain(p, sources, width);
        }
        let excerpt = Excerpt::new(source, &ranges);
        let name = source_marker(names.len());
        for (place, range) in places.iter().zip(&ranges) {
            last_line = last_line.max(source.line_of(last_byte(range)) + 1);
            let shown = excerpt.range(source, range);
            // Order by source, then by line, so that each source is drawn once.
            let order =
                i32::try_from(names.len() * (MAX_LINES + 1) + source.line_of(last_byte(range))).unwrap_or(i32::MAX);
            let main = p.places.first().is_some_and(|first| std::ptr::eq(first, *place));
            let text = if place.label.is_empty() { "here" } else { place.label.as_str() };
            labels.push(
                Label::new((name.clone(), shown))
                    .with_message(sanitise_text(text))
                    .with_order(order)
                    .with_color(if main { tint } else { ariadne::Color::Blue }),
            );
        }
        let first = places.first().and_then(|place| location(place, sources)).unwrap_or_default();
        names.push(first);
        excerpts.push((name, excerpt.text));
    }
    if excerpts.is_empty() {
        return render_plain(p, sources, width);
    }

    let message = wrap_text(&sanitise_text(&p.message), width, heading(p).len(), 0);
    let mut report =
        Report::build(kind, (source_marker(0), 0..0)).with_config(config).with_code(p.code).with_message(message);
    report.add_labels(labels);
    if let Some(help) = &p.help {
        // The help text follows the line numbers, a bar and its title.
        let margin = last_line.to_string().len() + "  │ Help: ".chars().count();
        report.set_help(wrap_text(&sanitise_text(help), width.map(|width| width.saturating_sub(margin)), 0, 0));
    }
    if let Some(note) = trace_note(p, sources) {
        report.set_note(note);
    }
    let mut out = Vec::new();
    if report.finish().write(ariadne_cache(excerpts), &mut out).is_err() {
        return render_plain(p, sources, width);
    }
    let text = replace_markers(&String::from_utf8_lossy(&out), &names);
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn ariadne_cache(excerpts: Vec<(String, String)>) -> impl ariadne::Cache<String> {
    let drawings: Vec<(String, Drawing<String>)> =
        excerpts.into_iter().map(|(id, text)| (id, Drawing::from(text))).collect();
    Excerpts(drawings)
}

struct Excerpts(Vec<(String, Drawing<String>)>);

impl ariadne::Cache<String> for Excerpts {
    type Storage = String;

    fn fetch(&mut self, id: &String) -> Result<&Drawing<String>, impl std::fmt::Debug> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, drawing)| drawing).ok_or("no such source")
    }

    fn display<'a>(&self, id: &'a String) -> Option<impl std::fmt::Display + 'a> {
        Some(id)
    }
}

/// Replaces ariadne's `source_marker:line:column` by the true `name:line:column`.
fn replace_markers(text: &str, names: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{E000}') {
        out.push_str(before);
        let Some((number, after)) = after.split_once('\u{E001}') else {
            rest = after;
            continue;
        };
        out.push_str(number.parse().ok().and_then(|n: usize| names.get(n)).map_or("", String::as_str));
        rest = after.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit());
    }
    out.push_str(rest);
    out
}

/// Renders the same facts without a drawing.
fn render_plain(p: &Problem, sources: &Sources, width: Option<usize>) -> String {
    let head = heading(p);
    let mut out = format!("{head}{}\n", wrap_text(&sanitise_text(&p.message), width, head.len(), 0));
    for place in p.places.iter().take(MAX_PLACES) {
        if let Some(at) = location(place, sources) {
            let sep = if place.label.is_empty() { "" } else { ": " };
            let _ = writeln!(out, "  at {at}{sep}{}", sanitise_text(&place.label));
        }
    }
    if let Some(help) = &p.help {
        let help = wrap_text(&sanitise_text(help), width.map(|width| width.saturating_sub(8)), 0, 0);
        let _ = writeln!(out, "  Help: {}", help.replace('\n', "\n        "));
    }
    if let Some(note) = trace_note(p, sources) {
        let _ = writeln!(out, "  Note: {}", note.replace('\n', "\n        "));
    }
    out
}

/// Lists the callers, one per line. Consecutive calls from one place, as in recursion, are merged.
fn trace_note(p: &Problem, sources: &Sources) -> Option<String> {
    let line = |c: &Caller| {
        let place = c.source.map(|source| LabelledSpan { source, span: c.span, label: String::new() });
        let at = place.and_then(|place| location(&place, sources));
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        format!("called from {}{at}", sanitise_text(&c.name))
    };
    let mut hidden = p.more_callers;
    let mut notes = Vec::new();
    for calls in p.trace.chunk_by(|a, b| a == b) {
        match (calls.first(), calls.len()) {
            _ if notes.len() >= MAX_CALLERS => hidden += calls.len(),
            (Some(call), 1) => notes.push(line(call)),
            (Some(call), n) => notes.push(format!("{}, {n} times", line(call))),
            (None, _) => {}
        }
    }
    if hidden > 0 {
        notes.push(format!("… and {}", lang_core::base::count_with_noun(hidden, "more call", "more calls")));
    }
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// Renders the output of `dbg`: a place and a text.
pub(crate) fn render_debug(place: Option<&LabelledSpan>, text: &str, sources: &Sources) -> String {
    let at = place.and_then(|place| location(place, sources)).map(|at| format!("{at}:")).unwrap_or_default();
    // A text of several lines begins below the place, so that its columns stay aligned.
    let gap = if text.contains('\n') { "\n" } else { " " };
    format!("{at}{}{}\n", if at.is_empty() { "" } else { gap }, sanitise_text(text))
}

/// Renders a note, with its place if it has one.
pub(crate) fn render_note(text: &str, place: Option<&LabelledSpan>, sources: &Sources) -> String {
    let at = place.and_then(|place| location(place, sources)).map(|at| format!(" ({at})")).unwrap_or_default();
    format!("note: {}{at}\n", sanitise_text(text))
}

/// Cuts text from a program or a file to `MAX_MESSAGE` bytes, and replaces characters that control
/// a terminal.
pub(crate) fn sanitise_text(text: &str) -> String {
    let end = floor_boundary(text, MAX_MESSAGE);
    let mut out: String =
        text.get(..end).unwrap_or_default().chars().map(|c| if c == '\n' { c } else { visible_char(c) }).collect();
    if end < text.len() {
        let _ = write!(out, "… and {}", lang_core::base::count_with_noun(text.len() - end, "more byte", "more bytes"));
    }
    out
}

/// Replaces control characters, bidirectional marks and the placeholder characters by U+FFFD.
fn visible_char(c: char) -> char {
    match c {
        '\t' => '\t',
        '\u{2028}' | '\u{2029}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            '\u{FFFD}'
        }
        '\u{E000}' | '\u{E001}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    }
}

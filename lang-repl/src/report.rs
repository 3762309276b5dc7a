//! Problems as text for people (ariadne's drawings, or one line each) and as JSON for programs.
//!
//! Nothing here depends on the size of what is pointed at: of long lines a window is shown, of
//! long spans the ends, of very long files no drawing, of many problems the first. Characters
//! that would act on a terminal are replaced.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ariadne::{Config, IndexType, Label, Report, ReportKind, Source as Drawing};
use lang_core::base::Severity;

use crate::json;
use crate::problem::{Caller, Place, Problem};
use crate::source::{Source, SourceId, Sources, floor_boundary};

/// How problems are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// With the text and what is to be seen in it.
    Full {
        /// With colours.
        color: bool,
    },
    /// One line each: `file:line:column: error[E0200]: message`.
    Short,
}

/// At most so many problems are drawn; one mistake can make thousands.
const MAX_DRAWN: usize = 40;
/// At most so many places of a problem are drawn.
const MAX_PLACES: usize = 8;
/// Past this many lines a file is not drawn from: ariadne reads it from its first line.
const MAX_LINES: usize = 200_000;
/// Of a line longer than this a window of this many bytes is shown.
const WINDOW: usize = 160;
/// So much of a long line is shown before what is pointed at.
const BEFORE: usize = 40;
/// Messages are cut after this many bytes.
const MAX_MESSAGE: usize = 4_000;
/// So many places of callers are listed, innermost first.
const TRACE: usize = 8;

/// All problems as text, in order.
pub(crate) fn text(problems: &[Problem], sources: &Sources, style: Style) -> String {
    let mut out = String::new();
    match style {
        Style::Short => {
            for p in problems {
                out.push_str(&short(p, sources));
                out.push('\n');
            }
        }
        Style::Full { color } => {
            for p in problems.iter().take(MAX_DRAWN) {
                out.push_str(&drawn(p, sources, color));
            }
            if let Some(more @ 1..) = problems.len().checked_sub(MAX_DRAWN) {
                let _ = writeln!(out, "… and {more} more; `--format short` lists all.");
            }
        }
    }
    out
}

/// `2 errors, 1 warning`; nothing if there is neither.
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

fn severity(p: &Problem) -> &'static str {
    match p.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn short(p: &Problem, sources: &Sources) -> String {
    let at = p.places.first().and_then(|place| location(place, sources)).map(|l| format!("{l}: ")).unwrap_or_default();
    let message = tame(&p.message).replace(['\n', '\r'], " ");
    format!("{at}{}[{}]: {message}", severity(p), p.code)
}

fn location(place: &Place, sources: &Sources) -> Option<String> {
    let source = sources.get(place.source)?;
    let at = source.position(place.span.start as usize);
    Some(format!("{}:{}:{}", tame(&source.name), at.line, at.column))
}

/// A JSON array in the form of `iverson check --format json`.
pub(crate) fn json_list(problems: &[Problem], sources: &Sources) -> String {
    json::array(problems.iter().map(|p| json_one(p, sources)))
}

fn json_one(p: &Problem, sources: &Sources) -> String {
    let mut fields = Vec::new();
    let place = p.places.first().and_then(|place| sources.get(place.source).map(|s| (s, s.range(place.span))));
    let (file, start, end) = match &place {
        Some((s, range)) => (Some(s.name.as_str()), s.position(range.start), s.position(range.end)),
        None => {
            let origin = crate::source::Position { line: 1, column: 1 };
            (p.file.as_deref(), origin, origin)
        }
    };
    fields.push(("file", file.map_or_else(|| "null".to_owned(), json::string)));
    fields.push(("severity", json::string(severity(p))));
    fields.push(("code", json::string(p.code.name())));
    fields.push(("message", json::string(&p.message)));
    fields.push(("line", start.line.to_string()));
    fields.push(("column", start.column.to_string()));
    fields.push(("endLine", end.line.to_string()));
    fields.push(("endColumn", end.column.to_string()));
    if let Some(help) = &p.help {
        fields.push(("help", json::string(help)));
    }
    json::object(fields)
}

/// A line of text as it is shown, and where characters of the line are in it.
struct ShownLine {
    text: String,
    /// The part of the line that is shown, in bytes of the line.
    window: std::ops::Range<usize>,
    /// Characters before it.
    lead: usize,
}

impl ShownLine {
    /// Of a long line, a window that begins a little before the byte `first`.
    fn new(line: &str, first: usize) -> Self {
        let start = if line.len() <= WINDOW { 0 } else { floor_boundary(line, first.saturating_sub(BEFORE)) };
        let end = if line.len() <= WINDOW { line.len() } else { floor_boundary(line, start.saturating_add(WINDOW)) };
        let mut text = String::from(if start > 0 { "…" } else { "" });
        text.extend(line.get(start..end).unwrap_or_default().chars().map(visible));
        if end < line.len() {
            text.push('…');
        }
        // A place at the end of an empty line needs a character to stand under.
        text.push(' ');
        Self { text, window: start..end, lead: usize::from(start > 0) }
    }

    /// Where the byte `at` of the line is, in characters of what is shown.
    fn column(&self, line: &str, at: usize) -> usize {
        let at = floor_boundary(line, at.clamp(self.window.start, self.window.end));
        self.lead + line.get(self.window.start..at).unwrap_or_default().chars().count()
    }
}

/// What ariadne gets to see of a source: the lines that are pointed at, the others empty so that
/// line numbers are right. Positions in it are characters: with bytes ariadne 0.6 mistakes one for
/// the other where a report has places in several sources.
struct Excerpt {
    text: String,
    lines: BTreeMap<usize, (usize, ShownLine)>,
    length: usize,
}

impl Excerpt {
    /// `places`: byte ranges of the source, the most important first.
    fn new(source: &Source, places: &[std::ops::Range<usize>]) -> Self {
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
            let shown = ShownLine::new(source.line_text(line), first);
            let start = excerpt.length;
            excerpt.text.push_str(&shown.text);
            excerpt.length += shown.text.chars().count();
            excerpt.lines.insert(line, (start, shown));
        }
        excerpt
    }

    /// Where the byte `at` of line `line` of the source is in the excerpt.
    fn offset(&self, source: &Source, line: usize, at: usize) -> usize {
        let Some((start, shown)) = self.lines.get(&line) else { return 0 };
        start + shown.column(source.line_text(line), at.saturating_sub(source.line_start(line)))
    }

    /// A place in the excerpt; an empty one is given the character that follows.
    fn range(&self, source: &Source, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = self.offset(source, source.line_of(range.start), range.start);
        // The end belongs to the line of the last byte, though it may be where the next one begins.
        let end = self.offset(source, source.line_of(last_byte(range)), range.end);
        start..end.max(start + 1).min(self.length.max(start))
    }
}

fn last_byte(range: &std::ops::Range<usize>) -> usize {
    range.end.saturating_sub(1).max(range.start)
}

/// Stands for the n-th source in what ariadne writes; ` ╭─[ name:1:1 ]` is then given the true place.
fn marker(n: usize) -> String {
    format!("\u{E000}{n}\u{E001}")
}

fn drawn(p: &Problem, sources: &Sources, color: bool) -> String {
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
    let mut groups: Vec<(SourceId, Vec<&Place>)> = Vec::new();
    for place in p.places.iter().take(MAX_PLACES) {
        match groups.iter_mut().find(|(id, _)| *id == place.source) {
            Some((_, places)) => places.push(place),
            None => groups.push((place.source, vec![place])),
        }
    }

    let mut excerpts = Vec::new();
    let mut labels: Vec<Label<(String, std::ops::Range<usize>)>> = Vec::new();
    let mut names = Vec::new();
    for (id, places) in &groups {
        let Some(source) = sources.get(*id) else { continue };
        let ranges: Vec<_> = places.iter().map(|place| source.range(place.span)).collect();
        if ranges.iter().any(|r| source.line_of(last_byte(r)) > MAX_LINES) {
            return undrawn(p, sources);
        }
        let excerpt = Excerpt::new(source, &ranges);
        let name = marker(names.len());
        for (place, range) in places.iter().zip(&ranges) {
            let shown = excerpt.range(source, range);
            // Sources in order, then lines in order: each source is drawn once.
            let order =
                i32::try_from(names.len() * (MAX_LINES + 1) + source.line_of(last_byte(range))).unwrap_or(i32::MAX);
            let main = p.places.first().is_some_and(|first| std::ptr::eq(first, *place));
            let text = if place.label.is_empty() { "here" } else { place.label.as_str() };
            labels.push(
                Label::new((name.clone(), shown)).with_message(tame(text)).with_order(order).with_color(if main {
                    tint
                } else {
                    ariadne::Color::Blue
                }),
            );
        }
        let first = places.first().and_then(|place| location(place, sources)).unwrap_or_default();
        names.push(first);
        excerpts.push((name, excerpt.text));
    }
    if excerpts.is_empty() {
        return undrawn(p, sources);
    }

    let mut report =
        Report::build(kind, (marker(0), 0..0)).with_config(config).with_code(p.code).with_message(tame(&p.message));
    report.add_labels(labels);
    if let Some(help) = &p.help {
        report.set_help(tame(help));
    }
    if let Some(note) = trace_note(p, sources) {
        report.set_note(note);
    }
    let mut out = Vec::new();
    if report.finish().write(cache(excerpts), &mut out).is_err() {
        return undrawn(p, sources);
    }
    let text = place_names(&String::from_utf8_lossy(&out), &names);
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn cache(excerpts: Vec<(String, String)>) -> impl ariadne::Cache<String> {
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

/// Puts `name:line:column` where ariadne wrote `marker:line:column` of the excerpt.
fn place_names(text: &str, names: &[String]) -> String {
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

/// The same facts without a drawing.
fn undrawn(p: &Problem, sources: &Sources) -> String {
    let severity = match p.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    };
    let mut out = format!("[{}] {severity}: {}\n", p.code, tame(&p.message));
    for place in p.places.iter().take(MAX_PLACES) {
        if let Some(at) = location(place, sources) {
            let sep = if place.label.is_empty() { "" } else { ": " };
            let _ = writeln!(out, "  at {at}{sep}{}", tame(&place.label));
        }
    }
    if let Some(help) = &p.help {
        let _ = writeln!(out, "  Help: {}", tame(help).replace('\n', "\n        "));
    }
    if let Some(note) = trace_note(p, sources) {
        let _ = writeln!(out, "  Note: {}", note.replace('\n', "\n        "));
    }
    out
}

/// Who called, a line for each place; calls in a row from one place, as recursion makes them, are
/// one line.
fn trace_note(p: &Problem, sources: &Sources) -> Option<String> {
    let line = |c: &Caller| {
        let place = c.source.map(|source| Place { source, span: c.span, label: String::new() });
        let at = place.and_then(|place| location(&place, sources));
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        format!("called from {}{at}", tame(&c.name))
    };
    let mut hidden = p.more_callers;
    let mut notes = Vec::new();
    for calls in p.trace.chunk_by(|a, b| a == b) {
        match (calls.first(), calls.len()) {
            _ if notes.len() >= TRACE => hidden += calls.len(),
            (Some(call), 1) => notes.push(line(call)),
            (Some(call), n) => notes.push(format!("{}, {n} times", line(call))),
            (None, _) => {}
        }
    }
    if hidden > 0 {
        notes.push(format!("… and {hidden} more calls"));
    }
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// What `dbg` shows: a place and a text.
pub(crate) fn remark(place: Option<&Place>, text: &str, sources: &Sources) -> String {
    let at = place.and_then(|place| location(place, sources)).map(|at| format!("{at}:")).unwrap_or_default();
    // What takes several lines begins below, so that its columns stay aligned.
    let gap = if text.contains('\n') { "\n" } else { " " };
    format!("{at}{}{}\n", if at.is_empty() { "" } else { gap }, tame(text))
}

/// Text from a program or a file, cut to a bearable length and unable to steer a terminal.
pub(crate) fn tame(text: &str) -> String {
    let end = floor_boundary(text, MAX_MESSAGE);
    let mut out: String =
        text.get(..end).unwrap_or_default().chars().map(|c| if c == '\n' { c } else { visible(c) }).collect();
    if end < text.len() {
        out.push('…');
    }
    out
}

/// Control characters, invisible ones that reorder text, and our own markers become a sign.
fn visible(c: char) -> char {
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

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use lang_core::base::{Code, Span};

    const FILE: &str = "def f(x: [n]f64) -> f64 =\n  sum i < n + 1:\n    x[i]\n\ndef g(y: μ) -> f64 = y\n";

    #[track_caller]
    fn check(problem: impl FnOnce(&mut Sources) -> Problem, expected: Expect) {
        let mut sources = Sources::default();
        let p = problem(&mut sources);
        let full = text(std::slice::from_ref(&p), &sources, Style::Full { color: false });
        let short = text(std::slice::from_ref(&p), &sources, Style::Short);
        let json = json_list(&[p], &sources);
        expected.assert_eq(&format!("{full}{short}{json}\n"));
    }

    #[test]
    fn one_place_with_help() {
        check(
            |s| {
                let f = s.add("a.iv", FILE);
                Problem::new(Code::E0306, "index `i` leaves `x`")
                    .at(f, Span::new(49, 50), "up to n")
                    .help("write `i < n`")
            },
            expect![[r#"
                [E0306] Error: index `i` leaves `x`
                   ╭─[ a.iv:3:7 ]
                   │
                 3 │     x[i]
                   │       ┬
                   │       ╰── up to n
                   │
                   │ Help: write `i < n`
                ───╯
                a.iv:3:7: error[E0306]: index `i` leaves `x`
                [{"file": "a.iv", "severity": "error", "code": "E0306", "message": "index `i` leaves `x`", "line": 3, "column": 7, "endLine": 3, "endColumn": 8, "help": "write `i < n`"}]
            "#]],
        );
    }

    #[test]
    fn several_places_and_files() {
        check(
            |s| {
                let f = s.add("a.iv", FILE);
                let g = s.add("b.iv", "one\ntwo");
                let mut p = Problem::new(Code::W0401, "a warning\x1b[31m with\na second line")
                    .at(f, Span::new(64, 66), "")
                    .at(g, Span::new(4, 7), "there")
                    .at(f, Span::new(0, 55), "all of this");
                p.trace = (0..20)
                    .map(|i| Caller { name: format!("`f{i}`"), source: Some(g), span: Span::new(i % 5, 5) })
                    .collect();
                p
            },
            expect![[r#"
                [W0401] Warning: a warning�[31m with
                a second line
                   ╭─[ a.iv:5:11 ]
                   │
                 1 │ ╭─▶ def f(x: [n]f64) -> f64 =
                   ┆ ┆
                 5 │ ├─▶ def g(y: μ) -> f64 = y
                   │ │             ─┬
                   │ ╰──────────────────────────── all of this
                   │                │
                   │                ╰───────────── here
                   │
                   ├─[ b.iv:2:1 ]
                   │
                 2 │ two
                   │ ─┬─
                   │  ╰─── there
                   │
                   │ Note: called from `f0` at b.iv:1:1
                   │       called from `f1` at b.iv:1:2
                   │       called from `f2` at b.iv:1:3
                   │       called from `f3` at b.iv:1:4
                   │       called from `f4` at b.iv:2:1
                   │       called from `f5` at b.iv:1:1
                   │       called from `f6` at b.iv:1:2
                   │       called from `f7` at b.iv:1:3
                   │       … and 12 more calls
                ───╯
                a.iv:5:11: warning[W0401]: a warning�[31m with a second line
                [{"file": "a.iv", "severity": "warning", "code": "W0401", "message": "a warning\u001b[31m with\na second line", "line": 5, "column": 11, "endLine": 5, "endColumn": 13}]
            "#]],
        );
    }

    #[test]
    fn no_place() {
        check(
            |_| Problem::new(Code::E0602, "no file `x.iv`").help("look again"),
            expect![[r#"
            [E0602] Error: no file `x.iv`
              Help: look again
            error[E0602]: no file `x.iv`
            [{"file": null, "severity": "error", "code": "E0602", "message": "no file `x.iv`", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "look again"}]
        "#]],
        );
    }

    #[test]
    fn long_lines_are_cut() {
        check(
            |s| {
                let f = s.add("long.iv", format!("a\n{}μ{}\n", "x".repeat(5_000_000), "y".repeat(5_000_000)));
                Problem::new(Code::E0001, "odd").at(f, Span::new(5_000_002, 5_000_004), "this").at(
                    f,
                    Span::new(0, 9_000_000),
                    "wide",
                )
            },
            expect![[r#"
                [E0001] Error: odd
                   ╭─[ long.iv:2:5000001 ]
                   │
                 1 │ ╭─▶ a
                 2 │ ├─▶ …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxμyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
                   │ │                                            ┬
                   │ │                                            ╰────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────── this
                   │ │
                   │ ╰─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────── wide
                ───╯
                long.iv:2:5000001: error[E0001]: odd
                [{"file": "long.iv", "severity": "error", "code": "E0001", "message": "odd", "line": 2, "column": 5000001, "endLine": 2, "endColumn": 5000002}]
            "#]],
        );
    }

    #[test]
    fn the_end_of_a_text() {
        check(
            |s| {
                let f = s.add("e.iv", "def\n");
                Problem::new(Code::E0001, "unexpected end").at(f, Span::new(4, 4), "")
            },
            expect![[r#"
                [E0001] Error: unexpected end
                   ╭─[ e.iv:2:1 ]
                   │
                 2 │
                   │ ┬
                   │ ╰── here
                ───╯
                e.iv:2:1: error[E0001]: unexpected end
                [{"file": "e.iv", "severity": "error", "code": "E0001", "message": "unexpected end", "line": 2, "column": 1, "endLine": 2, "endColumn": 1}]
            "#]],
        );
    }

    #[test]
    fn many_problems_are_counted() {
        let mut sources = Sources::default();
        let f = sources.add("e.iv", "x");
        let all = vec![Problem::new(Code::E0001, "odd").at(f, Span::new(0, 1), ""); 1000];
        let full = text(&all, &sources, Style::Full { color: false });
        assert!(full.ends_with("… and 960 more; `--format short` lists all.\n"), "{full}");
        assert_eq!(summary(&all).as_deref(), Some("1000 errors"));
        assert_eq!(summary(&[]), None);
    }

    /// Whatever the text and wherever the places, even outside it, there is a report.
    #[test]
    fn every_place_can_be_drawn() {
        let pieces = ["a", "μ", "\n", "\r\n", "\t", "\u{1b}", "漢", "\u{2028}", " ", "\u{E000}", "\u{301}", "\r"];
        let mut seed = 1_u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % n
        };
        for _ in 0..2000 {
            let mut sources = Sources::default();
            let length = [3, 30, 300][random(3)];
            let body: String = (0..random(length)).map(|_| pieces[random(pieces.len())]).collect();
            let ids = [sources.add("one", body), sources.add("two", "t\nw\no")];
            let mut p = Problem::new(Code::E0001, "m");
            for _ in 0..1 + random(9) {
                let (a, b) = (random(length * 2), random(length * 2));
                let span = Span::new(u32::try_from(a).unwrap(), u32::try_from(b).unwrap());
                p = p.at(ids[random(2)], span, ["", "label", "two\nlines"][random(3)]);
            }
            let full = text(&[p.clone()], &sources, Style::Full { color: false });
            assert!(full.starts_with("[E0001] Error: m"));
            assert!(!full.contains(['\u{1b}', '\u{E000}']), "{full}");
            json_list(&[p], &sources);
        }
    }
}

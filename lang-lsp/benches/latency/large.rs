//! **Latency in large files**: every request in files of 20,000 lines, and in files of one line of
//! a megabyte.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{self, ScriptedClient};
use crate::times::timed;

const URI: &str = "untitled:large";

/// The number of lines of a file.
const LINES: usize = 20_000;
/// The number of bytes of a long line.
const BYTES: usize = 1_000_000;
/// The number of repetitions of each request.
const ROUNDS: usize = 5;

/// A program, and the name whose definition the requests are about.
struct LargeProgram {
    what: &'static str,
    text: String,
    about: &'static str,
}

fn programs() -> Vec<LargeProgram> {
    let of = |what, about, text| LargeProgram { what, text, about };
    let line = |begin: &str, term: &str, end: &str| {
        format!("{begin}{}{end}\n", term.repeat((BYTES - begin.len()) / term.len()))
    };
    vec![
        of("definitions", "part_3332", definitions()),
        of("nested definitions", "part_600", crate::program(LINES / 16)),
        of("variables", "v9999", each(|n| format!("let v{n} = {}{n}.0\n", before(n, "v")))),
        of("evaluations", "f", format!("def f(x: f64) -> f64 = x\n{}", each(|n| format!("do f({n}.0)\n")))),
        of("mistakes", "part_5000", each(|n| format!("def part_{n}(x: f64) -> f64 = unknown_{n} * x\n"))),
        of("one definition", "f", chain()),
        of("a line: sum", "f", line("def f(x: f64) -> f64 = x", " + x", "")),
        of("a line: array", "a", line("let a = [1.0", ", 2.0", "]")),
        of("a line: calls", "f", line("def f(x: f64) -> f64 = x", " * sin(x) + x", "")),
        of("a line: mistakes", "f", line("def f(x: f64) -> f64 = x", " + y * z", "")),
        of("a line: letters", "f", line("def f(x: f64) -> f64 = x -- ", "μ", "")),
    ]
}

fn each(of: impl Fn(usize) -> String) -> String {
    (0..LINES).map(of).collect()
}

/// Returns a reference to the previous variable, except for every tenth.
fn before(n: usize, name: &str) -> String {
    n.checked_sub(1).filter(|_| !n.is_multiple_of(10)).map_or_else(String::new, |b| format!("{name}{b} + "))
}

/// Generates definitions of three lines, with documentation.
fn definitions() -> String {
    let mut text = String::new();
    for n in 0..LINES / 3 {
        let call =
            n.checked_sub(1).filter(|_| !n.is_multiple_of(10)).map_or("x".to_owned(), |b| format!("part_{b}(x)"));
        let _ = write!(text, "--| Part {n} of `x`.\ndef part_{n}(x: f64) -> f64 = sin(x) * {call} + {n}.0\n\n");
    }
    text
}

/// Generates one definition with the same number of lines.
fn chain() -> String {
    let lets = (1..LINES).map(|n| format!("  let v{n} = v{} + {n}.0\n", n - 1));
    format!("def f(x: f64) -> f64 =\n  let v0 = x\n{}  in v{}\n", lets.collect::<String>(), LINES - 1)
}

/// Returns the line of a name's definition, and the columns of the name and of the body.
fn place(text: &str, name: &str) -> (u32, u32, u32) {
    let is_it = |line: &&str| {
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("let ")).and_then(|l| l.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', ' ']))
    };
    let (line, content) = text.lines().enumerate().find(|(_, line)| is_it(line)).expect("a definition of the name");
    let body = content.find("= ").map_or(4, |at| at + 2);
    (line as u32, 4, body as u32)
}

/// Measures all programs.
pub(crate) fn measure() {
    for LargeProgram { what, text, about } in programs() {
        let (line, name, body) = place(&text, about);
        let lines = text.lines().count() as u32;
        let document = json!({"textDocument": {"uri": URI}});
        let with = |more: Value| {
            let mut all = document.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let at = |character: u32, more: Value| {
            let mut all = with(json!({"position": {"line": line, "character": character}}));
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        let shown = client::range([line.saturating_sub(30), 0, line + 30, 0]);
        let whole = client::range([0, 0, lines, 0]);
        let style = json!({"tabSize": 2, "insertSpaces": true});
        let selected = json!({"range": client::range([line, name, line, name]), "context": {"diagnostics": []}});
        let requests: [(&str, Value); 20] = [
            ("codeLens", document.clone()),
            ("formatting", with(json!({"options": style}))),
            ("rangeFormatting", with(json!({"range": shown, "options": style}))),
            ("semanticTokens/full", document.clone()),
            ("semanticTokens/range", with(json!({"range": shown}))),
            ("documentSymbol", document.clone()),
            ("foldingRange", document.clone()),
            ("selectionRange", with(json!({"positions": [{"line": line, "character": body}]}))),
            ("inlayHint", with(json!({"range": shown}))),
            ("inlayHint", with(json!({"range": whole}))),
            ("definition", at(body, json!({}))),
            ("references", at(name, json!({"context": {"includeDeclaration": true}}))),
            ("documentHighlight", at(name, json!({}))),
            ("prepareRename", at(name, json!({}))),
            ("rename", at(name, json!({"newName": "renamed"}))),
            ("completion", at(body, json!({}))),
            ("signatureHelp", at(body, json!({}))),
            ("hover", at(name, json!({}))),
            ("codeAction", with(selected)),
            ("prepareCallHierarchy", at(name, json!({}))),
        ];
        let capabilities = json!({"textDocument": {
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
            "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
        }});
        let mut client = ScriptedClient::start(capabilities);
        let begun = Instant::now();
        client.open(URI, &text);
        client.diagnostics(URI, 1);
        row(what, "open to diagnostics", &[begun.elapsed()]);
        let mut items = Value::Null;
        for (request, params) in requests {
            let mut times = Vec::new();
            for _ in 0..ROUNDS {
                let (time, mut answer) = timed(&mut client, &format!("textDocument/{request}"), params.clone());
                times.push(time);
                if request == "prepareCallHierarchy" {
                    items = answer["result"].take();
                }
            }
            let of_all = params["range"] == whole;
            row(what, &format!("{request}{}", if of_all { " of all" } else { "" }), &times);
        }
        for request in ["incomingCalls", "outgoingCalls"] {
            if let Some(item) = items.get(0) {
                let (time, _) = timed(&mut client, &format!("callHierarchy/{request}"), json!({"item": item}));
                row(what, request, &[time]);
            }
        }
        let end = text.lines().nth(line as usize).unwrap().encode_utf16().count() as u32;
        let mut times = Vec::new();
        for version in (2..).take(ROUNDS) {
            let begun = Instant::now();
            client.change(URI, version, Some([line, end, line, end]), " ");
            client.diagnostics(URI, version);
            times.push(begun.elapsed());
        }
        row(what, "keystroke to diagnostics", &times);
        client.leave();
    }
}

/// Prints the first time, which includes more computation, and the least of the others.
fn row(what: &str, request: &str, times: &[Duration]) {
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let repeat_text =
        times.iter().skip(1).min().map_or_else(String::new, |least| format!("   again {:>8.1} ms", ms(least)));
    println!("large, {what:<20} {request:<26} {:>8.1} ms{repeat_text}", ms(&times[0]));
}

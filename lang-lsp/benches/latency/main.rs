//! **Latency of the language server**, on the client's clock over pipes: from a keystroke to its
//! diagnostics, and of requests between keystrokes. The inputs are generated files of 300 and 3,000
//! definitions. `large` measures each request in files of 20,000 lines and of one long line.
//! `hovers` measures keystrokes while a derivative is computed, and hovers of the library and the
//! examples. Run `cargo bench -p lang-lsp [WHAT]`.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    missing_docs,
    unreachable_pub,
    reason = "a test fails where it cannot go on"
)]

#[path = "../../tests/suite/client/mod.rs"]
mod client;

mod hovers;
mod large;
mod times;

use std::time::{Duration, Instant};

use client::ScriptedClient;
use serde_json::{Value, json};
use times::{report, timed};

const URI: &str = "untitled:generated";
/// The number of measured keystrokes and requests.
const ROUNDS: usize = 200;
/// The number of definitions in which they are made.
const PLACES: usize = 7;

/// Generates a file of definitions of sixteen lines each. Each calls the previous one, except every
/// tenth.
fn program(definitions: usize) -> String {
    let mut text = String::new();
    for n in 0..definitions {
        let before = n.checked_sub(1).filter(|_| n % 10 != 0);
        let call = before.map_or("0.0".to_owned(), |b| format!("part_{b}(x, c)"));
        text.push_str(&format!(
            "-- Part {n} of the program.\n\
             --| The convolution of `x` with `c`, squared and added up, and what part {n} adds to it.\n\
             def part_{n}(x: [n]f64, c: [m]f64) -> f64 =\n\
             \x20 let width = f64(m)\n\
             \x20 let scaled = for i < n:\n\
             \x20   x[i] * {n}.5 + width\n\
             \x20 let moved = for i < n:\n\
             \x20   sum j < m: [i + j < n] * c[j] * x[i]\n\
             \x20 let total =\n\
             \x20   sum i < n:\n\
             \x20     (scaled[i] - moved[i])^2\n\
             \x20 let other =\n\
             \x20   sum j < m:\n\
             \x20     sin(c[j]) * c[j]\n\
             \x20 in total + other + {call}\n\n"
        ));
    }
    text
}

/// Types or deletes a digit in the middle of the file, in one definition after another.
fn type_digit(client: &mut ScriptedClient, round: usize, line: u32, version: &mut i64) {
    // After `x[i] * `.
    let (at, text) = match round % 2 {
        0 => ([line, 11, line, 11], "7"),
        _ => ([line, 11, line, 12], ""),
    };
    *version += 1;
    client.change(URI, *version, Some(at), text);
}

/// Does the same, and returns the time until the diagnostics arrive.
fn keystroke(client: &mut ScriptedClient, round: usize, line: u32, version: &mut i64) -> Duration {
    let begun = Instant::now();
    type_digit(client, round, line, version);
    let wanted = *version;
    let published = |m: &Value| {
        let params = &m["params"];
        m["method"] == "textDocument/publishDiagnostics" && params["uri"] == URI && params["version"] == wanted
    };
    let (came, _) = client.wait(published);
    came.saturating_duration_since(begun)
}

fn measure(client: &mut ScriptedClient, request: &str, params: &dyn Fn(usize) -> Value) -> Option<Vec<Duration>> {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let (time, answer) = timed(client, request, params(round));
        if answer["error"]["code"] == -32601 {
            return None;
        }
        times.push(time);
    }
    Some(times)
}

/// Definitions that each differentiate the previous one. The derivatives of the last one take
/// seconds.
const HEAVY: &str = "\
def f(x: f64) -> f64 = sum i < 50: tanh(x * f64(i)) / (1.0 + x^2)
def f1(x: f64) -> f64 = grad(f)(x)
def f2(x: f64) -> f64 = grad(f1)(x)
def f3(x: f64) -> f64 = grad(f2)(x)
def f4(x: f64) -> f64 = grad(f3)(x)
";

/// Measures keystrokes while derivatives of seconds are computed: for a hover, for a lens, and in
/// the background.
fn under_way(client: &mut ScriptedClient, lines: &dyn Fn(usize) -> u32, version: &mut i64) -> Vec<Duration> {
    const HEAVY_URI: &str = "untitled:heavy";
    client.open(HEAVY_URI, HEAVY);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        // Another function, whose derivatives are not yet computed.
        let heavy = 2 + i64::try_from(round).unwrap();
        client.change(HEAVY_URI, heavy, Some([0, 31, 0, 33]), &format!("{}", 10 + round % 89));
        let place = json!({"textDocument": {"uri": HEAVY_URI}, "position": {"line": 4, "character": 5}});
        client.begin("textDocument/hover", place);
        std::thread::sleep(Duration::from_millis(10 + 37 * (round as u64 % 11)));
        times.push(keystroke(client, round, lines(round / 2), version));
    }
    times
}

fn memory(client: &ScriptedClient) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.process())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? >> 10)
}

fn main() {
    let filters: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |what: &str| filters.is_empty() || filters.iter().any(|a| what.contains(a.as_str()));
    if wanted("large") {
        large::measure();
    }
    if wanted("derivative") {
        hovers::keystrokes();
    }
    if wanted("hovers") {
        hovers::of_programs();
    }
    if !filters.is_empty() && filters.iter().all(|a| ["large", "derivative", "hovers"].contains(&a.as_str())) {
        return;
    }
    for definitions in [300, 3000] {
        let text = program(definitions);
        let lines = text.lines().count();
        let mut client = ScriptedClient::start(json!({}));
        let begun = Instant::now();
        client.open(URI, &text);
        let found = client.diagnostics(URI, 1);
        assert!(found.is_empty(), "{:?}", found.first());
        report("open", definitions, lines, vec![begun.elapsed()]);
        let line = |round: usize| u32::try_from((definitions / 2 + round % PLACES) * 16 + 5).unwrap();
        let mut version = 1;
        // Requests after a keystroke, as an editor sends them.
        let document = json!({"textDocument": {"uri": URI}});
        let with = |more: Value| {
            let mut all = document.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        if wanted("keystroke") {
            let mut times = Vec::new();
            for round in 0..ROUNDS {
                std::thread::sleep(Duration::from_millis(20));
                times.push(keystroke(&mut client, round, line(round / 2), &mut version));
            }
            report("keystroke to diagnostics", definitions, lines, times);
        }
        if wanted("under way") {
            let times = under_way(&mut client, &line, &mut version);
            report("keystroke, work under way", definitions, lines, times);
            client.notify("textDocument/didClose", json!({"textDocument": {"uri": "untitled:heavy"}}));
        }
        if wanted("whole") {
            // Requests about the whole file.
            let whole: [(&str, Value); 4] = [
                ("textDocument/codeLens", json!({})),
                ("textDocument/formatting", json!({"options": {"tabSize": 2, "insertSpaces": true}})),
                ("textDocument/semanticTokens/full", json!({})),
                ("textDocument/rename", json!({"position": {"line": 2, "character": 5}, "newName": "fresh"})),
            ];
            for (request, more) in whole {
                let mut times = Vec::new();
                for _ in 0..5 {
                    let begun = Instant::now();
                    let id = client.begin(request, with(more.clone()));
                    let (came, _) = client.wait(|m| m["id"] == json!(id) && m.get("method").is_none());
                    times.push(came.saturating_duration_since(begun));
                }
                report(&format!("whole, {}", request.trim_start_matches("textDocument/")), definitions, lines, times);
            }
        }
        if wanted("cold") {
            // Definitions without an earlier request. A value that misses the deadline is returned
            // as pending.
            let mut times = Vec::new();
            for round in 0..50 {
                let place = json!({"line": (definitions / 60 * round) * 16 + 5, "character": 5});
                times.push(timed(&mut client, "textDocument/hover", with(json!({"position": place}))).0);
            }
            report("cold hover", definitions, lines, times);
        }
        let at = |round: usize| json!({"position": {"line": line(round), "character": 5}});
        let range = |round: usize| json!({"range": client::range([line(round), 0, line(round) + 60, 0])});
        let requests: [(&str, &dyn Fn(usize) -> Value); 5] = [
            ("textDocument/completion", &|r| with(at(r))),
            ("textDocument/hover", &|r| with(at(r))),
            ("textDocument/semanticTokens/range", &|r| with(range(r))),
            ("textDocument/inlayHint", &|r| with(range(r))),
            ("textDocument/documentSymbol", &|_| document.clone()),
        ];
        for (request, params) in requests.iter().filter(|(r, _)| wanted(r)) {
            // Warm up at every position that is measured.
            for round in 0..PLACES {
                let id = client.begin(request, params(round));
                client.answer(id);
            }
            if let Some(times) = measure(&mut client, request, *params) {
                report(request.trim_start_matches("textDocument/"), definitions, lines, times);
            }
        }
        // Immediately after a keystroke, whose text must be analysed first.
        for (request, params) in requests.iter().filter(|(r, _)| r.contains("completion") || r.contains("range")) {
            if wanted("typed") {
                let mut times = Vec::new();
                for round in 0..ROUNDS {
                    std::thread::sleep(Duration::from_millis(20));
                    let begun = Instant::now();
                    type_digit(&mut client, round, line(round / 2), &mut version);
                    let id = client.begin(request, params(round / 2));
                    let (came, _) = client.wait(|m| m["id"] == json!(id) && m.get("method").is_none());
                    times.push(came.saturating_duration_since(begun));
                }
                report(&format!("typed, {}", request.trim_start_matches("textDocument/")), definitions, lines, times);
            }
        }
        if wanted("delta") {
            let full = client.request("textDocument/semanticTokens/full", document.clone());
            let mut last = full["resultId"].clone();
            let mut times = Vec::new();
            for round in 0..ROUNDS {
                keystroke(&mut client, round, line(round / 2), &mut version);
                let params = with(json!({"previousResultId": last}));
                let (time, answer) = timed(&mut client, "textDocument/semanticTokens/full/delta", params);
                if let Some(id) = answer["result"].get("resultId") {
                    last = id.clone();
                    times.push(time);
                }
            }
            report("semanticTokens/full/delta", definitions, lines, times);
        }
        if wanted("memory") {
            let before = memory(&client);
            for round in 0..2000 {
                keystroke(&mut client, round, line(round / 2), &mut version);
            }
            println!("memory {before:?} MiB, after 2,000 keystrokes {:?} MiB", memory(&client));
        }
        client.leave();
    }
}

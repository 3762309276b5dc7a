//! **Random edits** of real programs with requests between them, including invalid messages.
//! Afterwards diagnostics, symbols, folding ranges, tokens, definitions and hovers equal those of a
//! fresh server for the same text. Memory must not grow by more than an eighth and 16 MiB.
//! `IVERSON_COUNT` sets the number of edits, at most [`MOST`], and `IVERSON_SEED` selects them.
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

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::client::ScriptedClient;
use serde_json::{Value, json};

const URI: &str = "untitled:random";

/// The number of edits in a test run.
const EDITS: u64 = 300;

/// The number of edits if `IVERSON_REQUIRE_ALL` is set.
const ALL_EDITS: u64 = 2_500;

/// The maximal number of edits in a soak.
const MOST: u64 = 200_000;

/// After this number of edits, all answers are awaited and memory is measured.
const ROUND: u64 = 50;

/// An xorshift generator: the same numbers on every machine.
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn number_below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.number_below(of.len())]
    }
}

/// Converts an offset to a position in units of the encoding.
fn position(text: &str, at: usize, encoding: &str) -> [u32; 2] {
    let line = text[..at].matches('\n').count();
    let before = &text[text[..at].rfind('\n').map_or(0, |n| n + 1)..at];
    let units = match encoding {
        "utf-8" => before.len(),
        "utf-16" => before.encode_utf16().count(),
        _ => before.chars().count(),
    };
    [line as u32, units as u32]
}

/// A program with constructs that the others rarely have: types, a derivative rule, a comment with
/// a value. The test uses it for a third of the changes of program.
const MODEL: &str = "\
type Shape = Circle(f64) | Box(f64, f64)
type State = {shape: Shape, 𝛼: f64}

def area(s: State) -> f64 =
  match s.shape { Circle(r): r * r * s.𝛼, Box(w, h): w * h }

def half(𝛼: f64) -> f64 = 0.5 * 𝛼
derivative half(𝛼; d𝛼) = half(d𝛼)

-- >>> half(3.0)
def twice(s: State) -> f64 = half(area(s)) + area({shape: s.shape, 𝛼: half(s.𝛼)})
let state = {shape: Circle(2.0), 𝛼: 3.0}
do print(half(twice(state)), area(state))
";

/// Returns the programs to edit, and to take pieces from.
fn programs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for folder in [root.join("examples"), root.join("std")] {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().extension().is_some_and(|e| e == "iv") {
                all.push((entry.path(), fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    all.sort();
    // Long programs would make each edit slow, and only the order of edits matters here.
    let mut parts = Vec::new();
    for (_, text) in all {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        parts.extend(lines.chunks(120).map(<[&str]>::concat));
    }
    parts
}

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "\n",
    " ",
    "def ",
    "let ",
    " in ",
    "μ",
    "𝛼",
    "x",
    "1.0",
    "for i: ",
    "sum j: ",
    " = ",
    ", ",
    "\r\n",
    "def f(x: f64) -> f64 = x * x\n",
    "import linalg\n",
    "-- comment\n",
    "--| docs\n",
    "\"",
    "]f64",
    "adjoint(",
    ".",
];

/// The requests between edits.
const REQUESTS: &[&str] = &[
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/implementation",
    "textDocument/typeDefinition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/inlayHint",
    "inlayHint/resolve",
    "textDocument/codeLens",
    "codeLens/resolve",
    "completionItem/resolve",
    "textDocument/codeAction",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/semanticTokens/full/delta",
    "textDocument/diagnostic",
    "workspace/executeCommand",
    "workspace/textDocumentContent",
    "iverson/view",
    "textDocument/unknown",
];

/// The stages of views.
const STAGES: &[&str] = &["adjoint", "forward", "ssa", "core", "lifted", "pairs", "pushed", "cost"];

/// Returns an offset anywhere, or at a word. For `textDocument/implementation`, returns the rule of
/// the model if the text contains it.
fn somewhere(method: &str, text: &str, drawn: &mut Xorshift) -> usize {
    if let ("textDocument/implementation", Some(at)) = (method, text.find("half(")) {
        return at;
    }
    let at = text.floor_char_boundary(drawn.number_below(text.len() + 1));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if drawn.number_below(2) == 0 { at } else { at + text[at..].find(is_word).unwrap_or(0) }
}

/// Builds the parameters of a request, about a definition of the text.
fn request(method: &str, place: [u32; 2], text: &str, drawn: &mut Xorshift) -> Value {
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("def ")?.split('(').next()).collect();
    let name = if names.is_empty() { "f" } else { drawn.one(&names) };
    let stage = *drawn.one(STAGES);
    let mut all = params(place);
    all["def"] = json!(name);
    all["stage"] = json!(stage);
    match method {
        "workspace/executeCommand" if drawn.number_below(2) == 0 => {
            all["command"] = json!("iverson.showView");
            all["arguments"] = json!([URI, name, stage]);
        }
        "workspace/textDocumentContent" => {
            let uri = format!("iverson-view:/{name}.{stage}.iv?{}", URI.replace(':', "%3A"));
            all["uri"] = json!(uri);
        }
        "textDocument/completion" => all["context"] = json!({"triggerKind": 1}),
        "textDocument/signatureHelp" => all["context"] = json!({"triggerKind": 1, "isRetrigger": false}),
        "codeLens/resolve" => all["data"] = json!({"uri": URI, "def": name}),
        "inlayHint/resolve" => all["data"] = json!({"uri": URI, "at": drawn.number_below(text.len())}),
        "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls" => {
            let range = all["range"].clone();
            all["item"] = json!({"name": name, "kind": 12, "uri": URI, "range": range, "selectionRange": range});
        }
        _ => {}
    }
    all
}

/// Builds the parameters that all requests share.
fn params(place: [u32; 2]) -> Value {
    let [line, character] = place;
    json!({
        "textDocument": {"uri": URI},
        "position": {"line": line, "character": character},
        "positions": [{"line": line, "character": character}],
        "range": crate::client::range([line, character, line + 5, 0]),
        "options": {"tabSize": 2, "insertSpaces": true},
        "context": {"diagnostics": [], "includeDeclaration": true},
        "query": "f",
        "newName": "renamed",
        "previousResultId": "1",
        "command": "iverson.stop",
        "arguments": [],
        "uri": URI,
        "label": "sum",
    })
}

/// The errors that a request between edits may receive: content modified, cancelled, method not
/// found, invalid parameters, request failed.
const REFUSALS: [i64; 5] = [-32801, -32800, -32601, -32602, -32803];

/// The numbers of outcomes for a method.
#[derive(Default)]
struct MethodOutcomes {
    answered: u64,
    empty: u64,
    refused: u64,
}

/// The outcomes of all methods.
#[derive(Default)]
struct OutcomesByMethod(BTreeMap<&'static str, MethodOutcomes>);

impl OutcomesByMethod {
    fn count(&mut self, method: &'static str, answer: &Value) {
        let code = answer["error"]["code"].as_i64();
        assert!(code.is_none_or(|c| REFUSALS.contains(&c)), "{method}: {answer}");
        let ended = self.0.entry(method).or_default();
        let empty = match &answer["result"] {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        match code {
            Some(_) => ended.refused += 1,
            None if empty => ended.empty += 1,
            None => ended.answered += 1,
        }
    }
}

/// The methods without a non-empty result: an unknown method, and commands, which only confirm.
const ALWAYS_EMPTY: &[&str] = &["textDocument/unknown", "workspace/executeCommand"];

/// The requests about an element of another request's answer.
const FOLLOWING: &[(&str, &str)] = &[
    ("textDocument/completion", "completionItem/resolve"),
    ("textDocument/inlayHint", "inlayHint/resolve"),
    ("textDocument/codeLens", "codeLens/resolve"),
    ("textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls"),
    ("textDocument/prepareCallHierarchy", "callHierarchy/outgoingCalls"),
];

/// Sends a request, awaits the answer, and sends the following requests about one of its elements.
fn ask_and_wait(
    client: &mut ScriptedClient,
    method: &'static str,
    of: Value,
    drawn: &mut Xorshift,
    ended: &mut OutcomesByMethod,
) {
    let id = client.begin(method, of);
    let answer = client.answer(id);
    ended.count(method, &answer);
    let all = answer["result"]["items"].as_array().or(answer["result"].as_array());
    let Some(all) = all.filter(|all| !all.is_empty()) else { return };
    for (_, next) in FOLLOWING.iter().filter(|(first, _)| *first == method) {
        let one = drawn.one(all).clone();
        let of = if next.starts_with("callHierarchy/") { json!({"item": one}) } else { one };
        ask_and_wait(client, next, of, drawn, ended);
    }
}

/// Invalid messages, and a notification of an unknown method. Their error responses, if any, belong
/// to no request.
const MALFORMED: [&[u8]; 3] = [
    b"Content-Length: 9\r\n\r\nnot JSON!",
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: 39\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"   }",
];

fn server(encoding: &str) -> ScriptedClient {
    let literals = json!({"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}});
    ScriptedClient::start(
        json!({"general": {"positionEncodings": [encoding]}, "textDocument": {"codeAction": literals}}),
    )
}

/// Returns the answers about a document that a fresh server must repeat, which do not depend on
/// time.
fn document_answers(client: &mut ScriptedClient, version: i64, places: &[[u32; 2]]) -> Vec<Value> {
    let mut all = client.diagnostics(URI, version);
    // Warnings about costs arrive when they are computed, so they are not compared.
    all.retain(|wrong| wrong["code"] != "W0700");
    for request in ["textDocument/documentSymbol", "textDocument/foldingRange"] {
        all.push(client.request(request, params([0, 0])));
    }
    all.push(client.request("textDocument/semanticTokens/full", params([0, 0]))["data"].take());
    for place in places {
        for request in ["textDocument/definition", "textDocument/hover"] {
            all.push(settled_answer(client, request, *place));
        }
    }
    // The paths of copies contain the server's process id.
    let own = format!("iverson-lsp-{}/", client.process());
    let same = |answer: &Value| serde_json::from_str(&answer.to_string().replace(&own, "iverson-lsp/"));
    all.iter().map(|answer| same(answer).expect("it was JSON")).collect()
}

/// Removes from a hover the costs and derivatives from before the errors, because a fresh server
/// cannot know them.
fn forget_last_known(old: &mut Value, new: &Value) {
    let [Some(previous), Some(fresh)] = [&*old, new].map(|hover| hover["contents"]["value"].as_str()) else { return };
    if previous.contains("last known costs and derivatives, from before the errors") && previous.starts_with(fresh) {
        old["contents"]["value"] = fresh.into();
    }
}

/// Returns the answer once it is no longer pending.
fn settled_answer(client: &mut ScriptedClient, request: &str, place: [u32; 2]) -> Value {
    loop {
        let answer = client.request(request, params(place));
        if !answer.to_string().contains("are being computed") {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn memory(client: &ScriptedClient) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", client.process())).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or_default() >> 10
}

fn random_edits(encoding: &str, edits: u64, seed: u64) {
    let programs = programs();
    let mut drawn = Xorshift(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut client = server(encoding);
    let mut text = programs[0].clone();
    let mut version = 1;
    client.open(URI, &text);
    let mut open_requests = Vec::new();
    let mut ended = OutcomesByMethod::default();
    let mut before: Option<String> = None;
    let mut held = Vec::new();
    for edit in 1..=edits {
        version += 1;
        match drawn.number_below(40) {
            // Another program, or the text before the last edit.
            0 | 1 => {
                text = if drawn.number_below(3) == 0 { MODEL.to_owned() } else { drawn.one(&programs).clone() };
                client.change(URI, version, None, &text);
            }
            2..=15 if before.is_some() => {
                text = before.take().unwrap_or_default();
                client.change(URI, version, None, &text);
            }
            choice => {
                before = Some(text.clone());
                let start = text.floor_char_boundary(drawn.number_below(text.len() + 1));
                let long = [0, 0, 1, 3, 30][choice % 5];
                let end = text.floor_char_boundary((start + drawn.number_below(long + 1)).min(text.len()));
                let new = match drawn.number_below(3) {
                    0 => String::new(),
                    1 => (*drawn.one(PIECES)).to_owned(),
                    _ => {
                        let from = drawn.one(&programs);
                        let at = from.floor_char_boundary(drawn.number_below(from.len()));
                        from[at..from.floor_char_boundary((at + drawn.number_below(60)).min(from.len()))].to_owned()
                    }
                };
                let ([a, b], [c, d]) = (position(&text, start, encoding), position(&text, end, encoding));
                client.change(URI, version, Some([a, b, c, d]), &new);
                text.replace_range(start..end, &new);
            }
        }
        let (how, many) = (drawn.number_below(6), 1 + drawn.number_below(5));
        for _ in 0..if how < 3 { many } else { 0 } {
            let method = *drawn.one(REQUESTS);
            let place = position(&text, somewhere(method, &text, &mut drawn), encoding);
            let of = request(method, place, &text, &mut drawn);
            if how < 2 {
                ask_and_wait(&mut client, method, of, &mut drawn, &mut ended);
            } else {
                let id = client.begin(method, of);
                open_requests.push((id, method));
                if drawn.number_below(5) == 0 {
                    client.notify("$/cancelRequest", json!({"id": id}));
                }
            }
        }
        if drawn.number_below(50) == 0 {
            client.raw(MALFORMED[drawn.number_below(MALFORMED.len())]);
        }
        // Sometimes the server catches up; otherwise edits overtake its computations.
        if drawn.number_below(4) == 0 {
            client.diagnostics(URI, version);
        }
        if edit % ROUND == 0 {
            for (id, method) in open_requests.drain(..) {
                ended.count(method, &client.answer(id));
            }
            client.forget();
            held.push(memory(&client));
        }
    }
    // Caches grow and shrink. The maximum of the last two fifths may exceed that of the two fifths
    // before by an eighth and 16 MiB.
    let most = |from: usize, to: usize| held[held.len() * from / 5..held.len() * to / 5].iter().max().copied();
    let (before, after) = (most(1, 3).unwrap_or(0), most(3, 5).unwrap_or(0));
    let tenths: Vec<u64> = (1..=10).filter_map(|k| held.get((held.len() * k / 10).max(1) - 1).copied()).collect();
    println!("{encoding}: {edits} edits; MiB after each tenth of them: {tenths:?}");
    assert!(after <= before + before / 8 + 16, "seed {seed}: memory grew from {before} MiB to {after} MiB");
    for (method, MethodOutcomes { answered, empty: nothing, refused }) in &ended.0 {
        println!("{encoding}: {method}: told {answered}, nothing {nothing}, refused {refused}");
    }
    if edits >= ALL_EDITS {
        for method in REQUESTS.iter().filter(|method| !ALWAYS_EMPTY.contains(method)) {
            assert!(ended.0.get(method).is_some_and(|e| e.answered > 0), "seed {seed}: {method} told nothing at all");
        }
    }
    // A last edit, so that its diagnostics arrive after the forgotten messages.
    version += 1;
    client.change(URI, version, None, &text);
    let places: Vec<[u32; 2]> = (0..20)
        .map(|_| position(&text, text.floor_char_boundary(drawn.number_below(text.len() + 1)), encoding))
        .collect();
    let mut old = document_answers(&mut client, version, &places);
    let mut fresh = server(encoding);
    fresh.open(URI, &text);
    let new = document_answers(&mut fresh, 1, &places);
    for (old, new) in old.iter_mut().zip(&new) {
        forget_last_known(old, new);
        assert_eq!(old, new, "seed {seed}, {encoding}, in\n{text}");
    }
    assert_eq!(old.len(), new.len(), "seed {seed}, {encoding}, in\n{text}");
    client.leave();
    fresh.leave();
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn edits() -> u64 {
    let all = std::env::var_os("IVERSON_REQUIRE_ALL").is_some();
    number("IVERSON_COUNT").map_or(if all { ALL_EDITS } else { EDITS }, |count| count.min(MOST))
}

#[test]
fn random_edits_in_utf8() {
    random_edits("utf-8", edits(), number("IVERSON_SEED").unwrap_or(1));
}

#[test]
fn random_edits_in_utf16() {
    random_edits("utf-16", edits(), number("IVERSON_SEED").unwrap_or(1).wrapping_add(1));
}

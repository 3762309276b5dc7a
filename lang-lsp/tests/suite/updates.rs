//! Tests of updates after edits, changed settings and changed documents: views, hints, lenses and
//! refresh requests. Also tests requests that an edit or a cancellation overtakes.
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

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::client::{PATIENCE, ScriptedClient, range};
use serde_json::{Value, json};

const URI: &str = "untitled:one";

fn show_view(def: &str, stage: &str) -> Value {
    json!({"command": "iverson.showView", "arguments": [URI, def, stage]})
}

fn path_of(uri: &Value) -> PathBuf {
    url::Url::parse(uri.as_str().unwrap()).unwrap().to_file_path().unwrap()
}

/// Waits until the text of a file satisfies a condition.
#[track_caller]
fn wait_for_text(file: &PathBuf, wanted: impl Fn(&str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if wanted(&text) {
            return text;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn views_that_are_files() {
    let mut client = ScriptedClient::start(json!({"window": {"showDocument": {"support": true}}}));
    client.open(URI, "def f(x: f64) -> f64 = sin(x)\n");
    let shown = client.request("workspace/executeCommand", show_view("f", "adjoint"));
    let file = path_of(&shown["uri"]);
    assert_eq!(client.asks("window/showDocument"), json!({"uri": shown["uri"], "takeFocus": false}));
    assert!(wait_for_text(&file, |_| true).contains("cos(x)"));
    assert!(std::fs::metadata(&file).unwrap().permissions().readonly());
    // The file follows the edits. It is not a program, so it has no diagnostics and no lenses.
    client.change(URI, 2, Some([0, 23, 0, 26]), "cos");
    wait_for_text(&file, |text| text.contains("sin(x)") && !text.contains("cos(x)"));
    client.open(shown["uri"].as_str().unwrap(), "Q1 := this is no program");
    let document = json!({"textDocument": {"uri": shown["uri"]}});
    assert_eq!(client.request("textDocument/codeLens", document.clone()), Value::Null);
    client.change(URI, 3, Some([0, 27, 0, 28]), "y");
    let old = wait_for_text(&file, |text| text.starts_with("-- outdated: "));
    assert!(old.contains("sin(x)") && old.contains("`y`"), "{old}");
    client.change(URI, 4, Some([0, 27, 0, 28]), "x * x");
    wait_for_text(&file, |text| text.contains("2 * x") && !text.starts_with("-- outdated: "));
    let report = client.request("textDocument/diagnostic", document.clone());
    assert_eq!(report["items"], json!([]), "{report}");
    // A definition of the same name in another document has another file.
    client.open("untitled:two", "def f(x: f64) -> f64 = exp(x)\n");
    let other = json!({"command": "iverson.showView", "arguments": ["untitled:two", "f", "adjoint", false]});
    let other = client.request("workspace/executeCommand", other);
    assert_ne!(path_of(&other["uri"]), file);
    // A client that passes `false` receives no `window/showDocument`.
    assert!(client.server_requests.iter().all(|(method, _)| method != "window/showDocument"));
    // After it is closed, the file no longer follows.
    client.notify("textDocument/didClose", document);
    client.change(URI, 5, None, "def f(x: f64) -> f64 = log(x)\n");
    client.diagnostics(URI, 5);
    client.change("untitled:two", 2, None, "def f(x: f64) -> f64 = log(x)\n");
    wait_for_text(&path_of(&other["uri"]), |text| text.contains("/ x"));
    assert!(std::fs::read_to_string(&file).unwrap().contains("2 * x"));
    // It follows again when it is reopened, which some editors do to reload a file.
    client.open(shown["uri"].as_str().unwrap(), "");
    wait_for_text(&file, |text| text.contains("/ x"));
    client.leave();
    assert!(!file.exists());
}

#[test]
fn views_whose_text_the_server_gives() {
    let mut client =
        ScriptedClient::start(json!({"workspace": {"textDocumentContent": {"dynamicRegistration": true}}}));
    client.open(URI, "def f(x: f64) -> f64 = sin(x)\n");
    let uri = client.request("workspace/executeCommand", show_view("f", "forward"))["uri"].clone();
    assert_eq!(uri, "iverson-view:/f.forward.iv?untitled%3Aone");
    let content = |client: &mut ScriptedClient| {
        let text = client.request("workspace/textDocumentContent", json!({"uri": uri}));
        text["text"].as_str().unwrap().to_owned()
    };
    assert!(content(&mut client).contains("cos(x)"));
    client.server_requests.clear();
    client.change(URI, 2, Some([0, 23, 0, 26]), "exp");
    assert_eq!(client.asks("workspace/textDocumentContent/refresh"), json!({"uri": uri}));
    assert!(content(&mut client).contains("exp(x)"));
    assert_eq!(
        client.failing("workspace/textDocumentContent", json!({"uri": "iverson-view:/g.ssa.iv?untitled%3Aone"})),
        -32803
    );
    client.leave();
}

/// Our own extensions are notified of every document whose views may have changed, including one
/// that may call the edited one.
#[test]
fn views_of_our_extensions() {
    let mut client = ScriptedClient::with(json!({"capabilities": {}, "initializationOptions": {"views": true}}));
    client.open(URI, "def f(x: f64) -> f64 = sin(x)\n");
    client.open("untitled:two", "def g(x: f64) -> f64 = x\n");
    client.diagnostics(URI, 1);
    client.diagnostics("untitled:two", 1);
    client.forget();
    client.change(URI, 2, Some([0, 23, 0, 26]), "exp");
    client.wait_for_notification("iverson/viewsChanged", |p| p["uri"] == URI);
    client.wait_for_notification("iverson/viewsChanged", |p| p["uri"] == "untitled:two");
    client.leave();
}

/// Views are code actions for clients without an extension that has commands for them.
#[test]
fn actions_show_views() {
    let literals = json!({"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}});
    let titles = |views: bool| {
        let capabilities = json!({"textDocument": literals});
        let options = json!({"views": views});
        let mut client = ScriptedClient::with(json!({"capabilities": capabilities, "initializationOptions": options}));
        client.open(URI, "def f(x: f64) -> f64 = sin(x)\n");
        let context = json!({"diagnostics": []});
        let params = json!({"textDocument": {"uri": URI}, "range": range([0, 4, 0, 4]), "context": context});
        let offered = client.request("textDocument/codeAction", params);
        let shown = offered.as_array().unwrap().iter().filter(|a| a["command"]["command"] == "iverson.showView");
        let titles: Vec<String> = shown.map(|a| a["title"].as_str().unwrap().to_owned()).collect();
        client.leave();
        titles
    };
    let all = ["the costs", "the adjoint", "the forward derivative", "the Tensor SSA"];
    assert_eq!(titles(false), all.map(|what| format!("Show {what} of `f`")));
    assert_eq!(titles(true), [""; 0]);
}

const COSTLY: &str = "def f(x: [n]f64) = sum i: x[i]\ndef g(x: f64) = x * x\n";

fn everywhere() -> Value {
    json!({"textDocument": {"uri": URI}, "range": range([0, 0, 99, 0])})
}

/// Waits for hints of costs that satisfy a condition.
#[track_caller]
fn costs(client: &mut ScriptedClient, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let hints = client.request("textDocument/inlayHint", everywhere());
        let labels = hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap().to_owned());
        let found: Vec<String> = labels.filter(|label| label.contains("work")).collect();
        if wanted(&found) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn changes_of_costs_count_from_the_last_save() {
    let mut client =
        ScriptedClient::with(json!({"capabilities": {}, "initializationOptions": {"hints": {"cost": true}}}));
    client.open(URI, COSTLY);
    costs(&mut client, |found| found.len() == 2);
    client.change(URI, 2, Some([0, 30, 0, 30]), " * 2");
    let changed = costs(&mut client, |found| found.iter().any(|c| c.contains("(saved: work n − 1 ·")));
    assert!(changed[0].starts_with("work 2·n"), "{changed:?}");
    assert!(!changed[1].contains("saved"), "{changed:?}");
    // After a save, the current costs are the reference.
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": URI}}));
    costs(&mut client, |found| found.len() == 2 && found.iter().all(|c| !c.contains("saved")));
    client.change(URI, 3, Some([0, 30, 0, 34]), "");
    costs(&mut client, |found| found.iter().any(|c| c.contains("(saved: work 2·n")));
    // Edited and saved before any costs are computed.
    client.change(URI, 4, Some([1, 21, 1, 21]), " * x");
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": URI}}));
    let found = costs(&mut client, |found| found.iter().any(|c| c.starts_with("work 2 ·")));
    assert!(found.iter().all(|c| !c.contains("saved")), "{found:?}");
    client.leave();
}

#[test]
fn changes_of_costs_that_are_asked_for_later() {
    let options = json!({"hints": {"change": false}, "lenses": {"cost": false}, "diagnostics": {"gradCost": false}});
    let mut client = ScriptedClient::with(json!({"capabilities": {}, "initializationOptions": options}));
    client.open(URI, COSTLY);
    client.diagnostics(URI, 1);
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"hints": {"cost": true}}}));
    costs(&mut client, |found| found.len() == 2);
    client.change(URI, 2, Some([1, 21, 1, 21]), " * x");
    costs(&mut client, |found| found.iter().any(|c| c.contains("(saved: work 1 ·")));
    client.leave();
}

/// A program of a folder is known before it is opened. Its costs are computed like those of any
/// other.
#[test]
fn costs_of_a_program_of_a_folder() {
    let folder = std::env::temp_dir().join(format!("iverson-costs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("main.iv"), COSTLY).unwrap();
    let uri = |path: &PathBuf| url::Url::from_file_path(path).unwrap().to_string();
    let refresh = json!({"refreshSupport": true});
    let folders = json!([{"uri": uri(&folder), "name": "one"}]);
    let workspace = json!({"inlayHint": refresh});
    let mut client = ScriptedClient::with(json!({
        "capabilities": {"workspace": workspace},
        "workspaceFolders": folders,
        "initializationOptions": {"hints": {"cost": true}},
    }));
    let begun = Instant::now();
    while client.request("workspace/symbol", json!({"query": "g"})).to_string().matches("main.iv").count() == 0 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    // The folder is read, and no document is open. A refresh up to here is for no costs.
    std::thread::sleep(Duration::from_millis(500));
    client.forget();
    client.server_requests.clear();
    let main = uri(&folder.join("main.iv"));
    client.open(&main, COSTLY);
    // The client requests hints at each refresh alone, until one is for the costs.
    loop {
        client.asks("workspace/inlayHint/refresh");
        let all = json!({"textDocument": {"uri": main}, "range": range([0, 0, 99, 0])});
        if client.request("textDocument/inlayHint", all).to_string().matches("work").count() == 2 {
            break;
        }
    }
    client.leave();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each kind of hint and lens is present, and absent when it is switched off.
#[test]
fn hints_and_lenses_are_switched() {
    const PROGRAM: &str =
        "def f(x: [n]f64) -> f64 =\n  let y = x * 2\n  let z = 3.0\n  in sum i: y[i] * z\n\ndo f([1.0])\n";
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, PROGRAM);
    client.diagnostics(URI, 1);
    let shown = |client: &mut ScriptedClient| {
        let mut all = Vec::new();
        for hint in client.request("textDocument/inlayHint", everywhere()).as_array().unwrap() {
            all.push(hint["label"].as_str().unwrap().to_owned());
        }
        for lens in client.request("textDocument/codeLens", everywhere()).as_array().unwrap() {
            all.push(lens["command"]["title"].as_str().unwrap_or("cost").to_owned());
        }
        all
    };
    let whole = shown(&mut client);
    assert_eq!(whole, [": [n]f64", ": f64", " < n", "cost", "run", "adjoint", "forward", "SSA", "run"]);
    for (key, gone) in [
        ("hints.extents", vec![" < n"]),
        ("hints.sizes", vec![": [n]f64"]),
        ("hints.types", vec![": f64"]),
        ("lenses.cost", vec!["cost"]),
        ("lenses.run", vec!["run"]),
        ("lenses.views", vec!["adjoint", "forward", "SSA"]),
    ] {
        client.notify("workspace/didChangeConfiguration", json!({"settings": {key: false}}));
        let left: Vec<String> = whole.iter().filter(|text| !gone.contains(&text.as_str())).cloned().collect();
        assert_eq!(shown(&mut client), left, "{key}");
    }
    client.leave();
}

/// A hint has an edit that inserts it, and a tooltip on resolve.
#[test]
fn hints_are_put_in_and_explained() {
    for encoding in ["utf-8", "utf-16"] {
        let general = json!({"positionEncodings": [encoding]});
        let markdown = json!({"hover": {"contentFormat": ["markdown"]}});
        let mut client = ScriptedClient::start(json!({"general": general, "textDocument": markdown}));
        client.open(URI, "def f(𝛼: [n]f64) -> f64 = sum i: 𝛼[i]\n");
        let hint = client.request("textDocument/inlayHint", everywhere())[0].take();
        let at = if encoding == "utf-8" { 34 } else { 32 };
        let edit = json!([{"range": range([0, at, 0, at]), "newText": " < n"}]);
        assert_eq!((&hint["label"], &hint["textEdits"], &hint["tooltip"]), (&json!(" < n"), &edit, &Value::Null));
        let resolved_hint = client.request("inlayHint/resolve", hint);
        let text = resolved_hint["tooltip"]["value"].as_str().unwrap();
        assert!(text.contains("0 ≤ i < n"), "{text}");
        client.leave();
    }
}

#[test]
fn the_client_is_told_to_ask_again() {
    let refresh = json!({"refreshSupport": true});
    let workspace = json!({"inlayHint": refresh, "codeLens": refresh, "semanticTokens": refresh});
    let mut client = ScriptedClient::start(json!({"workspace": workspace}));
    client.open(URI, COSTLY);
    // The costs are computed.
    client.asks("workspace/inlayHint/refresh");
    client.asks("workspace/codeLens/refresh");
    // A name has a new colour when its module has been read.
    client.server_requests.clear();
    let folder = std::env::temp_dir().join(format!("iverson-following-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("part.iv"), "def part(x: f64) = x\n").unwrap();
    let main = url::Url::from_file_path(folder.join("main.iv")).unwrap();
    client.open(main.as_str(), "import \"./part.iv\"\ndef f(x: f64) = part.part(x)\n");
    client.asks("workspace/semanticTokens/refresh");
    client.leave();
    std::fs::remove_dir_all(folder).unwrap();
}

/// A client that pulls diagnostics receives a refresh request when an imported file has been read.
#[test]
fn pulled_diagnostics_follow_imports() {
    let refresh = json!({"diagnostics": {"refreshSupport": true}});
    let capabilities = json!({"workspace": refresh, "textDocument": {"diagnostic": {}}});
    let options = json!({"hints": {"change": false}, "lenses": {"cost": false}, "diagnostics": {"gradCost": false}});
    let mut client = ScriptedClient::with(json!({"capabilities": capabilities, "initializationOptions": options}));
    let folder = std::env::temp_dir().join(format!("iverson-pulled-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("part.iv"), "def part(x: f64) = x\n").unwrap();
    let main = url::Url::from_file_path(folder.join("main.iv")).unwrap();
    client.open(main.as_str(), "import \"./part.iv\"\ndef f(x: f64) = part.part(x)\n");
    client.asks("workspace/diagnostic/refresh");
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": main}}));
    assert_eq!(report["items"], json!([]), "{report}");
    client.leave();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_wrong_has_related_places() {
    let related = json!({"publishDiagnostics": {"relatedInformation": true}});
    for encoding in ["utf-8", "utf-16"] {
        let general = json!({"positionEncodings": [encoding]});
        let mut client = ScriptedClient::start(json!({"general": general, "textDocument": related}));
        client.open(URI, "def 𝛼(x: f64) = x\ndef g(x: f64) = x\ndef 𝛼(x: f64) = x\n");
        let found = client.diagnostics(URI, 1);
        let place = &found[0]["relatedInformation"][0]["location"];
        assert_eq!(place["uri"], URI, "{found:?}");
        let wide = if encoding == "utf-8" { 8 } else { 6 };
        assert_eq!(place["range"], range([0, 4, 0, wide]), "{found:?}");
        client.leave();
    }
}

/// Counting costs takes a while: an edit and a cancellation overtake the request.
#[test]
fn long_requests_are_cancelled_and_refused() {
    let mut client = ScriptedClient::start(json!({}));
    let programs = [
        ("untitled:gmm", "jacobian", include_str!("../../../examples/gradbench/gmm.iv")),
        ("untitled:ode", "gradient", include_str!("../../../examples/gradbench/ode.iv")),
        ("untitled:kmeans", "dir", include_str!("../../../examples/gradbench/kmeans.iv")),
    ];
    for (uri, _, text) in programs {
        client.open(uri, text);
        client.diagnostics(uri, 1);
    }
    // The request has begun when later requests are answered, because they do not wait for it.
    let begin = |client: &mut ScriptedClient, (uri, def, _): (&str, &str, &str)| {
        let id = client.begin("iverson/view", json!({"uri": uri, "def": def, "stage": "cost"}));
        let place = json!({"textDocument": {"uri": uri}, "position": {"line": 5, "character": 3}});
        for request in ["textDocument/foldingRange", "textDocument/completion"] {
            client.request(request, place.clone());
        }
        id
    };
    let id = begin(&mut client, programs[0]);
    client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(client.answer(id)["error"]["code"], -32800);
    let id = begin(&mut client, programs[1]);
    client.change(programs[1].0, 2, Some([0, 0, 0, 0]), "-- another text\n");
    assert_eq!(client.answer(id)["error"]["code"], -32801);
    // A request that is not overtaken receives its answer.
    let id = begin(&mut client, programs[2]);
    assert!(client.answer(id)["result"]["text"].is_string());
    client.leave();
}

//! Tests of last known values in hovers, lenses and hints, and of the deadline of hovers.
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

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::client::{ScriptedClient, range};
use serde_json::{Value, json};

const URI: &str = "untitled:one";
const TEXT: &str = "def f(x: [n]f64) -> f64 = sum i: x[i]\n\ndef g(x: [n]f64) -> f64 = 2.0 * f(x)\n";

/// Returns the titles of the cost lenses, by line.
fn lenses(client: &mut ScriptedClient) -> Vec<String> {
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    let costs = lenses.as_array().unwrap().iter().filter(|lens| lens["command"].is_null()).cloned();
    let costs: Vec<Value> = costs.collect();
    let title = |lens: Value| {
        let resolved = client.request("codeLens/resolve", lens);
        resolved["command"]["title"].as_str().unwrap().to_owned()
    };
    costs.into_iter().map(title).collect()
}

fn hover(client: &mut ScriptedClient, uri: &str, line: usize) -> String {
    let place = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 4}});
    client.request("textDocument/hover", place)["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn lenses_and_hovers_keep_what_is_known_while_there_are_mistakes() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, TEXT);
    assert!(client.diagnostics(URI, 1).is_empty());
    let before = lenses(&mut client);
    assert!(before.iter().all(|title| title.starts_with("work ") && !title.contains("last known")), "{before:?}");
    let (f, g) = (hover(&mut client, URI, 0), hover(&mut client, URI, 2));
    assert!(f.contains("f_adj") && g.contains("g_adj"), "{f}\n{g}");
    // Half of `x[i] * x[i]` is typed, and `g` calls the broken definition.
    client.change(URI, 2, Some([0, 37, 0, 37]), " *");
    assert!(!client.diagnostics(URI, 2).is_empty());
    let marked: Vec<String> = before.iter().map(|title| format!("{title} (last known)")).collect();
    assert_eq!(lenses(&mut client), marked);
    for (line, name) in [(0, "f_adj"), (2, "g_adj")] {
        let hover_text = hover(&mut client, URI, line);
        assert!(
            hover_text.contains(name)
                && hover_text.contains("last known costs and derivatives, from before the errors"),
            "{hover_text}"
        );
    }
    client.change(URI, 3, Some([0, 39, 0, 39]), " x[i]");
    assert!(client.diagnostics(URI, 3).is_empty());
    let after = lenses(&mut client);
    assert!(after.iter().all(|title| title.starts_with("work ") && !title.contains("last known")), "{after:?}");
    assert_ne!(before, after);
    assert!(!hover(&mut client, URI, 0).contains("last known"));
    client.leave();
}

#[test]
fn hints_keep_what_is_known_until_it_is_computed_again() {
    let refresh = json!({"refreshSupport": true});
    let workspace = json!({"codeLens": refresh, "inlayHint": refresh});
    let settings = json!({"hints": {"cost": true}});
    let mut client =
        ScriptedClient::with(json!({"capabilities": {"workspace": workspace}, "initializationOptions": settings}));
    client.open(URI, TEXT);
    let costs = |client: &mut ScriptedClient| -> Vec<String> {
        let all = json!({"textDocument": {"uri": URI}, "range": range([0, 0, 99, 0])});
        let hints = client.request("textDocument/inlayHint", all);
        let labels = hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap().to_owned());
        labels.filter(|label| label.contains("work")).collect()
    };
    client.asks("workspace/inlayHint/refresh");
    let before = costs(&mut client);
    assert!(before.len() == 2 && !before.iter().any(|c| c.contains("last known")), "{before:?}");
    client.change(URI, 2, Some([0, 37, 0, 37]), " * ");
    let broken = costs(&mut client);
    assert_eq!(broken, [format!("{} (last known)", before[0]), before[1].clone()]);
    client.server_requests.clear();
    client.change(URI, 3, Some([0, 40, 0, 40]), "x[i]");
    // The client receives refresh requests for the new values, for lenses too.
    client.asks("workspace/codeLens/refresh");
    client.asks("workspace/inlayHint/refresh");
    let begun = Instant::now();
    while costs(&mut client).iter().any(|c| c.contains("last known")) {
        assert!(begun.elapsed() < crate::client::PATIENCE, "hints do not renew themselves");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_ne!(costs(&mut client)[0], before[0]);
    client.leave();
}

/// Collects the programs of a folder.
fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "iv") {
            found.push(path);
        }
    }
}

/// A hover answers within 300 ms with the known values, and later with the computed ones.
#[test]
fn hovers_of_all_definitions_come_in_time() {
    const MOST: Duration = Duration::from_millis(300);
    /// A busy machine may need more time once.
    const TRIES: usize = 5;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    programs(&root.join("std"), &mut files);
    programs(&root.join("examples"), &mut files);
    let mut late = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let uri = url::Url::from_file_path(&file).unwrap().to_string();
        let mut client = ScriptedClient::start(json!({}));
        client.open(&uri, &text);
        client.diagnostics(&uri, 1);
        for (line, def) in text.lines().enumerate().filter(|(_, l)| l.starts_with("def ")) {
            let in_time = (0..TRIES).any(|_| {
                let begun = Instant::now();
                hover(&mut client, &uri, line);
                begun.elapsed() <= MOST
            });
            if !in_time {
                late.push(format!("{}: {def}", file.display()));
            }
            let begun = Instant::now();
            while hover(&mut client, &uri, line).contains("being computed") {
                assert!(begun.elapsed() < crate::client::PATIENCE, "{}: {def} is never known", file.display());
            }
        }
        client.leave();
    }
    assert!(late.is_empty(), "{late:#?}");
}

//! Tests of evaluation in a child process: values, limits, and stopping. The child is a script, so
//! that the interpreter need not be built.
#![cfg(unix)]
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

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::client::ScriptedClient;
use serde_json::{Value, json};

const URI: &str = "untitled:one";

/// A substitute for `eval EXPRESSION -l -`. It prints the expression and the text, waits or fails,
/// depending on the expression.
const SCRIPT: &str = r#"#!/bin/sh
case "$2" in
  'wait()') echo $$ >"$(dirname "$0")/pid"; exec sleep 100 ;;
  'limit()') ulimit -v; cat >/dev/null ;;
  'much()') cat >/dev/null; echo 'memory allocation of 80 bytes failed' >&2; kill -ABRT $$ ;;
  'said()') echo '<stdin>:2:5: 3.0' >&2; echo 4.0 ;;
  'wrong()') cat >/dev/null; cat "$(dirname "$0")/wrong" >&2; exit 1 ;;
  -) echo "$1 main"; cat ;;
  *) echo "$2 in"; cat ;;
esac
"#;

/// The child's report of an error in the library, with callers in the document and in the
/// expression.
const WRONG: &str = r#"{"file": "std/linalg.iv", "severity": "error", "code": "E0502", "message": "no such thing", "line": 3, "column": 7, "endLine": 3, "endColumn": 9, "help": "try another", "callers": [{"file": "<stdin>", "line": 2, "column": 3, "endLine": 2, "endColumn": 6}, {"file": "<stdin>", "line": 4, "column": 5, "endLine": 4, "endColumn": 8}, {"file": "<eval>", "line": 1, "column": 1, "endLine": 1, "endColumn": 4}]}
"#;

fn server(name: &str, options: Value) -> (ScriptedClient, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("evaluate-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("iverson");
    fs::write(&script, SCRIPT).unwrap();
    fs::write(folder.join("wrong"), WRONG).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut client = ScriptedClient::with_environment(&[("IVERSON", script.to_str().unwrap())]);
    let params = json!({"capabilities": {"window": {"workDoneProgress": true}}, "initializationOptions": options});
    client.request("initialize", params);
    client.notify("initialized", json!({}));
    client.open(URI, "def f() = 3\n");
    (client, folder)
}

fn command(name: &str, arguments: Value) -> Value {
    json!({"command": name, "arguments": arguments})
}

fn lives(folder: &std::path::Path) -> bool {
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    Command::new("kill").args(["-0", pid.trim()]).output().unwrap().status.success()
}

fn wait_for_child(folder: &std::path::Path) {
    while fs::read_to_string(folder.join("pid")).map_or(true, |pid| pid.trim().is_empty()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn values_of_the_text_as_it_is() {
    let (mut client, _) = server("values", json!({}));
    client.change(URI, 2, Some([0, 10, 0, 11]), "4");
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "f"])));
    assert_eq!(value["value"], "f() in\ndef f() = 4");
    assert_eq!(client.wait_for_notification("window/showMessage", |_| true)["message"], "f =\nf() in\ndef f() = 4");
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "main"])));
    assert_eq!(value["value"], "run main\ndef f() = 4");
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, ""])));
    assert_eq!(value["value"], "run main\ndef f() = 4");
    // Output of `dbg` precedes the value.
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "said"])));
    assert_eq!(value["value"], "4.0");
    let notification = client
        .wait_for_notification("window/showMessage", |p| p["message"].as_str().is_some_and(|m| m.contains("said")));
    assert_eq!(notification["message"], "line 2:5: 3.0\nsaid = 4.0");
    // A definition with parameters and no example is not called.
    client.change(URI, 3, None, "def g(x: f64) -> f64 = x\n");
    let wrong = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "g"])));
    assert!(wrong["failed"].as_str().is_some_and(|why| why.starts_with("`g` takes arguments")), "{wrong}");
    client.change(URI, 4, None, "def f() = 4");
    // An error is shown once.
    let wrong = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "wrong"])));
    assert_eq!(
        wrong["failed"],
        "std/linalg.iv:3:7: error[E0502]: no such thing\nhelp: try another\ncalled at line 2:3, from line 4:5"
    );
    assert_eq!(client.wait_for_notification("window/showMessage", |p| p["type"] == 1)["message"], wrong["failed"]);
    assert_eq!(client.failing("workspace/executeCommand", command("iverson.run", json!([URI, "f(); g"]))), -32602);
    assert_eq!(client.failing("workspace/executeCommand", command("iverson.run", json!(["untitled:x", "f"]))), -32803);
    client.leave();
}

#[test]
fn what_went_wrong_is_told_at_its_place() {
    let (mut client, _) = server("places", json!({}));
    client.change(URI, 2, None, "def μ() =\n  one()\n\ndef one() = 1\n");
    client.request("workspace/executeCommand", command("iverson.run", json!([URI, "wrong"])));
    let with_failure =
        |p: &Value| p["diagnostics"].as_array().is_some_and(|all| all.iter().any(|d| d["code"] == "E0502"));
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", with_failure);
    let failure = notification["diagnostics"].as_array().unwrap().iter().find(|d| d["code"] == "E0502").unwrap();
    assert_eq!(failure["message"], "in the last run: no such thing\nhelp: try another");
    assert_eq!(failure["range"], crate::client::range([1, 2, 1, 5]));
    // The error stays as long as the text of its definition is unchanged, even if the definition
    // moves.
    client.change(URI, 3, Some([0, 0, 0, 0]), "-- a comment\n\n");
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", |p| p["version"] == 3);
    assert_eq!(notification["diagnostics"][0]["range"], crate::client::range([3, 2, 3, 5]), "{notification}");
    client.change(URI, 4, Some([3, 2, 3, 5]), "one ");
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", |p| p["version"] == 4);
    assert!(!with_failure(&notification), "{notification}");
    client.change(URI, 5, None, "def μ() =\n  one()\n\ndef one() = 1\n");
    // The next run clears it.
    client.request("workspace/executeCommand", command("iverson.run", json!([URI, "wrong"])));
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", with_failure);
    // It also disappears if one of its callers changes.
    assert_eq!(notification["version"], 5);
    client.change(URI, 6, Some([3, 12, 3, 13]), "2");
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", |p| p["version"] == 6);
    assert!(!with_failure(&notification), "{notification}");
    client.request("workspace/executeCommand", command("iverson.run", json!([URI, "wrong"])));
    client.wait_for_notification("textDocument/publishDiagnostics", with_failure);
    client.request("workspace/executeCommand", command("iverson.run", json!([URI, "one"])));
    client.wait_for_notification("textDocument/publishDiagnostics", |p| !with_failure(p));
    client.leave();
}

#[test]
fn comments_get_their_values_beneath() {
    let (mut client, _) = server("comments", json!({}));
    client.change(URI, 2, None, "def f() = 3\n-- >>> f(1)\n-- = 7\n--   8\ndef g() = 4");
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    let lens = lenses.as_array().unwrap().iter().find(|lens| lens["command"]["title"] == "evaluate").unwrap();
    assert_eq!(lens["range"]["start"]["line"], 1);
    assert_eq!(lens["command"]["arguments"], json!([URI, 1]));
    client.request("workspace/executeCommand", command("iverson.evaluate", json!([URI, 1])));
    let edit = client.asks("workspace/applyEdit")["edit"]["changes"][URI][0].clone();
    assert_eq!(edit["range"], crate::client::range([2, 0, 4, 0]));
    assert!(edit["newText"].as_str().unwrap().starts_with("-- = f(1) in\n--   def f() = 3\n"));
    // The line endings are those of the document.
    client.change(URI, 3, None, "def f() = 3\r\n-- >>> 2\r\n");
    client.request("workspace/executeCommand", command("iverson.evaluate", json!([URI, 1])));
    let edit = client.asks("workspace/applyEdit")["edit"]["changes"][URI][0].clone();
    assert_eq!(edit["newText"], "-- = 2 in\r\n--   def f() = 3\r\n--   -- >>> 2\r\n");
    // In the last line, without a line break.
    client.change(URI, 4, None, "-- >>> 1");
    client.request("workspace/executeCommand", command("iverson.evaluate", json!([URI, 0])));
    let edit = client.asks("workspace/applyEdit")["edit"]["changes"][URI][0].clone();
    assert_eq!(
        (&edit["range"], &edit["newText"]),
        (&crate::client::range([0, 8, 0, 8]), &json!("\n-- = 1 in\n--   -- >>> 1\n"))
    );
    assert_eq!(client.failing("workspace/executeCommand", command("iverson.evaluate", json!([URI, 7]))), -32803);
    client.leave();
}

#[test]
fn limits_of_time_and_memory() {
    let (mut client, folder) = server("limits", json!({"evaluate": {"seconds": 1, "memory": 64}}));
    let answer = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "wait"])));
    assert!(answer["failed"].as_str().unwrap().contains("after 1 s"), "{answer}");
    assert!(!lives(&folder));
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "limit"])));
    assert_eq!(value["value"], "65536");
    let answer = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "much"])));
    assert_eq!(
        answer["failed"],
        "stopped, because it used more than 64 MiB, the limit that `iverson.evaluate.memory` sets"
    );
    // The user sees the name of the definition and the reason.
    let notification = client.wait_for_notification("window/showMessage", |p| {
        p["message"].as_str().is_some_and(|text| text.contains("MiB"))
    });
    assert_eq!(notification["message"], format!("much was {}", answer["failed"].as_str().unwrap()));
    client.leave();
}

#[test]
fn settings_that_mean_nothing_are_told_once() {
    let (mut client, _) = server("settings", json!({"evaluate": {"seconds": "long"}}));
    let notification = client.wait_for_notification("window/showMessage", |_| true);
    assert_eq!(notification["type"], 2);
    assert_eq!(
        notification["message"],
        "`iverson.evaluate.seconds` must be an integer of at least 1, but is \"long\"; using 10"
    );
    client.leave();
}

#[test]
fn what_takes_arguments_runs_on_those_of_an_example() {
    let (mut client, _) = server("example", json!({}));
    client.change(URI, 2, None, "def g(x: f64) -> f64 = x\n-- >>> g(3.0) + 1.0\n");
    let value = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "g"])));
    assert!(value["value"].as_str().unwrap().starts_with("g(3.0) + 1.0 in\n"), "{value}");
    let notification = client.wait_for_notification("window/showMessage", |_| true);
    assert!(notification["message"].as_str().unwrap().starts_with("g(3.0) + 1.0 =\n"), "{notification}");
    client.leave();
}

#[test]
fn what_runs_is_stopped() {
    let (mut client, folder) = server("stop", json!({}));
    let id = client.begin("workspace/executeCommand", command("iverson.run", json!([URI, "wait"])));
    client.asks("window/workDoneProgress/create");
    wait_for_child(&folder);
    client.request("workspace/executeCommand", command("iverson.stop", json!([])));
    assert_eq!(client.answer(id)["result"], Value::Null);
    assert!(!lives(&folder));
    client.wait_for_notification("$/progress", |p| p["value"]["kind"] == "end");
    // Cancelling its progress stops the evaluation; cancelling another progress does not.
    fs::remove_file(folder.join("pid")).unwrap();
    client.server_requests.clear();
    client.forget();
    let id = client.begin("workspace/executeCommand", command("iverson.run", json!([URI, "wait"])));
    let token = client.asks("window/workDoneProgress/create")["token"].take();
    client.wait_for_notification("$/progress", |p| p["value"]["kind"] == "begin" && p["value"]["cancellable"] == true);
    wait_for_child(&folder);
    client.notify("window/workDoneProgress/cancel", json!({"token": "another"}));
    client.request("textDocument/foldingRange", json!({"textDocument": {"uri": URI}}));
    assert!(lives(&folder));
    client.notify("window/workDoneProgress/cancel", json!({"token": token}));
    assert_eq!(client.answer(id)["result"], Value::Null);
    assert!(!lives(&folder));
    // The end of the server stops it too.
    fs::remove_file(folder.join("pid")).unwrap();
    client.begin("workspace/executeCommand", command("iverson.run", json!([URI, "wait"])));
    wait_for_child(&folder);
    assert!(lives(&folder));
    client.leave();
    assert!(!lives(&folder));
}

#[test]
fn a_missing_interpreter_is_told_of() {
    let mut client = ScriptedClient::with_environment(&[("IVERSON", "/no/such/iverson")]);
    client.request("initialize", json!({"capabilities": {}}));
    client.notify("initialized", json!({}));
    client.open(URI, "def f() = 3\n");
    let answer = client.request("workspace/executeCommand", command("iverson.run", json!([URI, "f"])));
    assert!(answer["failed"].as_str().unwrap().contains("cannot find the interpreter /no/such/iverson"), "{answer}");
    client.leave();
}

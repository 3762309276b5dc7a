//! Tests of the protocol: start and end, order, cancellation, encodings, malformed messages, files
//! and settings.
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
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::client::{ScriptedClient, codes};
use serde_json::{Value, json};

const URI: &str = "untitled:one";

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lsp-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn uri(path: &std::path::Path) -> String {
    url::Url::from_file_path(path).unwrap().to_string()
}

#[test]
fn a_session_from_start_to_end() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, "def f(x: f64) = x + y\n");
    let found = client.diagnostics(URI, 1);
    assert_eq!(codes(&found), [("E0100".to_owned(), 0)]);
    assert!(found[0]["codeDescription"]["href"].as_str().unwrap().contains("E0100"));
    client.change(URI, 2, Some([0, 20, 0, 21]), "x");
    assert!(client.diagnostics(URI, 2).is_empty());
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    client.leave();
}

#[test]
fn the_end_without_shutdown_is_a_failure() {
    let mut client = ScriptedClient::start(json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().code(), Some(1));
    let mut client = ScriptedClient::start(json!({}));
    client.hang_up();
    assert_eq!(client.ended().code(), Some(1));
    let mut client = ScriptedClient::bare();
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().code(), Some(1));
}

#[test]
fn the_end_while_input_is_open_and_work_is_under_way() {
    let mut client = ScriptedClient::start(json!({}));
    let text: String = (0..200).map(|i| format!("def f{i}(x: f64) = x * x + sin(x) * {i}.0\n")).collect();
    client.open(URI, &text);
    for line in 0..50 {
        let at = json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": 5}});
        client.begin("textDocument/hover", at);
    }
    client.leave();
}

#[test]
fn nothing_is_asked_before_the_start_or_after_the_end() {
    let mut client = ScriptedClient::bare();
    assert_eq!(client.failing("textDocument/formatting", json!({})), -32002);
    client.request("initialize", json!({"capabilities": {}}));
    assert_eq!(client.failing("initialize", json!({"capabilities": {}})), -32600);
    client.notify("initialized", json!({}));
    client.request("shutdown", Value::Null);
    assert_eq!(client.failing("textDocument/formatting", json!({})), -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn malformed_messages_are_answered_and_forgotten() {
    let mut client = ScriptedClient::start(json!({}));
    let failure = |client: &mut ScriptedClient, bytes: &[u8]| {
        client.raw(bytes);
        client.wait(|m| m["error"].is_object()).1["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(failure(&mut client, b"Content-Length: 5\r\n\r\n{\"a\":"), -32700);
    assert_eq!(failure(&mut client, b"Content-Length: 2\r\n\r\n\xff\xfe"), -32700);
    assert_eq!(failure(&mut client, b"Content-Length: two\r\n\r\n"), -32700);
    assert_eq!(failure(&mut client, b"Something: else\r\n\r\n"), -32700);
    assert_eq!(failure(&mut client, b"Content-Length: 2\r\n\r\n[]"), -32600);
    assert_eq!(failure(&mut client, b"Content-Length: 9\r\n\r\n{\"id\": 3}"), -32600);
    assert_eq!(client.failing("no/suchMethod", json!({})), -32601);
    assert_eq!(client.failing("textDocument/formatting", json!({"textDocument": 3})), -32602);
    assert_eq!(client.failing("workspace/executeCommand", json!({"command": "no.such"})), -32602);
    assert_eq!(client.failing("workspace/executeCommand", json!({"command": "iverson.run", "arguments": [3]})), -32602);
    // Notifications without effect.
    client.notify("no/suchNotification", json!({}));
    client.notify("$/cancelRequest", json!({"id": 4711}));
    client.notify("textDocument/didChange", json!({"textDocument": {"uri": 3}}));
    client.change("untitled:never-opened", 7, None, "def");
    // A response to no request.
    client.raw(b"Content-Length: 39\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":null}");
    // A length that is too short by one. The rest of the body must not affect the next message.
    assert_eq!(failure(&mut client, b"Content-Length: 1\r\n\r\n{}"), -32700);
    client.open(URI, "def f(x: f64) = x\n");
    assert!(client.diagnostics(URI, 1).is_empty());
    client.leave();
}

/// A notification with the prefix `$/` may be ignored, but a request needs an answer.
#[test]
fn requests_of_the_implementation_are_answered() {
    let mut client = ScriptedClient::start(json!({}));
    assert_eq!(client.failing("$/foo", json!({})), -32601);
    assert_eq!(client.failing("$/cancelRequest", json!({"id": 4711})), -32601);
    client.notify("$/foo", json!({}));
    client.notify("$/setTrace", json!({"value": "off"}));
    // An id may be a string. A batch, and an id of another type, are rejected.
    client.raw(b"Content-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"one\",\"method\":\"$/foo\"}");
    let (_, answer) = client.wait(|m| m["id"] == "one");
    assert_eq!(answer["error"]["code"], -32601);
    for message in [r#"[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]"#, r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#] {
        client.raw(format!("Content-Length: {}\r\n\r\n{message}", message.len()).as_bytes());
        assert_eq!(client.wait(|m| m["error"].is_object()).1["error"]["code"], -32600, "{message}");
    }
    client.leave();
}

/// A lone surrogate is read as U+FFFD, which has the same number of UTF-16 units. So later edits
/// find their positions.
#[test]
fn halves_of_surrogate_pairs_leave_the_text_in_step() {
    let mut client = ScriptedClient::counting("utf-16");
    client.open(URI, "-- \ndef f(x: f64) = x\n");
    let change = r#"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"untitled:one","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":3},"end":{"line":0,"character":3}},"text":"\ud83d"}]}}"#;
    client.raw(format!("Content-Length: {}\r\n\r\n{change}", change.len()).as_bytes());
    assert!(client.diagnostics(URI, 2).is_empty());
    // The edit replaces the line break after it, so the comment must end there.
    client.change(URI, 3, Some([0, 4, 1, 0]), "\ndef g(x: f64) = y\n");
    assert_eq!(codes(&client.diagnostics(URI, 3)), [("E0100".to_owned(), 1)]);
    client.leave();
}

/// An implausible length ends the server, because the next message cannot be found.
#[test]
fn an_endless_message_is_the_end() {
    let mut client = ScriptedClient::start(json!({}));
    client.raw(b"Content-Length: 99999999999\r\n\r\n{}");
    assert_eq!(client.wait(|m| m["error"].is_object()).1["error"]["code"], -32700);
    assert_eq!(client.ended().code(), Some(1));
}

/// JSON without a header is answered once, and the next message is read.
#[test]
fn json_without_headers_is_answered() {
    let mut client = ScriptedClient::start(json!({}));
    client.raw(b"{\n\"jsonrpc\": \"2.0\"\n}\n");
    assert_eq!(client.wait(|m| m["error"].is_object()).1["error"]["code"], -32700);
    client.open(URI, "def f(x: f64) = x\n");
    assert!(client.diagnostics(URI, 1).is_empty());
    client.leave();
}

/// If a document is opened twice, the last text counts. Versions may decrease. Closing an unknown
/// document has no effect.
#[test]
fn documents_out_of_order() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, "def f(x: f64) = y\n");
    assert_eq!(client.diagnostics(URI, 1).len(), 1);
    client.open(URI, "def f(x: f64) = x\n");
    assert!(client.diagnostics(URI, 1).is_empty());
    client.change(URI, 9, None, "def f(x: f64) = z\n");
    assert_eq!(client.diagnostics(URI, 9).len(), 1);
    client.change(URI, 3, None, "def f(x: f64) = x\n");
    assert!(client.diagnostics(URI, 3).is_empty());
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": "untitled:never"}}));
    client.leave();
}

/// If the client does not report changes of files, the server notices changed imports: immediately
/// at a save, and otherwise soon.
#[test]
fn files_are_looked_at_again() {
    let folder = folder("looked-at");
    let (main, part) = (folder.join("main.iv"), folder.join("part.iv"));
    fs::write(&part, "def two() = 2\n").unwrap();
    let text = "import \"./part.iv\" as part\ndef f() = part.two()\n";
    fs::write(&main, text).unwrap();
    let mut client = ScriptedClient::start(json!({}));
    client.open(&uri(&main), text);
    assert!(client.diagnostics(&uri(&main), 1).is_empty());
    fs::write(&part, "def three() = 3\n").unwrap();
    client.notify("textDocument/didSave", json!({"textDocument": {"uri": uri(&main)}}));
    assert_eq!(codes(&client.diagnostics(&uri(&main), 1)), [("E0107".to_owned(), 1)]);
    fs::write(&part, "def two() = 22\n").unwrap();
    assert!(client.diagnostics(&uri(&main), 1).is_empty());
    // The file is removed and written again.
    fs::remove_file(&part).unwrap();
    assert!(!client.diagnostics(&uri(&main), 1).is_empty());
    fs::write(&part, "def two() = 2\n").unwrap();
    assert!(client.diagnostics(&uri(&main), 1).is_empty());
    client.leave();
}

#[test]
fn edits_are_taken_in_order() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut client = ScriptedClient::counting(encoding);
        client.open(URI, "");
        // Letters are typed one by one, with requests between them.
        let text = "def μ(x: f64) = x -- 𝛼𝛽 and\ndef g(y: f64) = μ(y)\n";
        let (mut line, mut character, mut version) = (0, 0, 1);
        for c in text.chars() {
            version += 1;
            client.change(URI, version, Some([line, character, line, character]), &c.to_string());
            let document = json!({"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": true}});
            client.begin("textDocument/formatting", document);
            let width = match encoding {
                "utf-8" => c.len_utf8(),
                "utf-16" => c.len_utf16(),
                _ => 1,
            };
            (line, character) = if c == '\n' { (line + 1, 0) } else { (line, character + width as u32) };
        }
        assert!(client.diagnostics(URI, version).is_empty(), "{encoding}");
        let width = if encoding == "utf-8" { 2 } else { 1 };
        client.change(URI, version + 1, Some([1, 16, 1, 16 + width]), "𝛼");
        let found = client.diagnostics(URI, version + 1);
        let width = if encoding == "utf-32" {
            1
        } else if encoding == "utf-16" {
            2
        } else {
            4
        };
        assert!(codes(&found).iter().all(|(_, line)| *line == 1) && !found.is_empty(), "{encoding}: {found:?}");
        assert!(
            found.iter().any(|d| d["range"] == crate::client::range([1, 16, 1, 16 + width])),
            "{encoding}: {found:?}"
        );
        client.leave();
    }
}

#[test]
fn positions_outside_the_text_are_taken_to_its_end() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, "def f(x: f64) = x");
    client.change(URI, 2, Some([0, 900, 7, 3]), " + y");
    let found = client.diagnostics(URI, 2);
    assert_eq!(found[0]["range"], crate::client::range([0, 20, 0, 21]));
    // A range that cuts a surrogate pair, and one whose end precedes its start.
    client.change(URI, 3, None, "-- 𝛼\ndef f(x: f64) = x\n");
    client.change(URI, 4, Some([0, 4, 0, 5]), "a");
    assert!(client.diagnostics(URI, 4).is_empty());
    client.change(URI, 5, Some([1, 17, 1, 16]), "1.0");
    assert!(client.diagnostics(URI, 5).is_empty());
    client.leave();
}

#[test]
fn a_cancelled_request_is_told_so() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, "def f(x: f64) = x");
    let options = json!({"tabSize": 2, "insertSpaces": true});
    for _ in 0..20 {
        let id = client.begin("textDocument/formatting", json!({"textDocument": {"uri": URI}, "options": options}));
        client.notify("$/cancelRequest", json!({"id": id}));
        let answer = client.answer(id);
        // The request may already have been answered.
        assert!(answer["error"]["code"] == -32800 || answer["error"].is_null(), "{answer}");
    }
    client.leave();
}

#[test]
fn imports_are_found_on_disk_and_open_documents_win() {
    let folder = folder("imports");
    let (main, part) = (folder.join("main.iv"), folder.join("part.iv"));
    fs::write(folder.join("deep.iv"), "def deep(x: f64) = x * x\n").unwrap();
    fs::write(&part, "import \"./deep.iv\"\ndef part(x: f64) = deep.deep(x)\n").unwrap();
    let text = "import \"./part.iv\"\ndef f(x: f64) = part.part(x)\n";
    let mut client = ScriptedClient::start(json!({}));
    client.open(&uri(&main), text);
    assert_eq!(codes(&client.diagnostics(&uri(&main), 1)), []);
    // An open document overrides the file, and its importers are checked again.
    client.open(&uri(&part), "def other(x: f64) = x\n");
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", |p| {
        p["uri"] == uri(&main) && p["diagnostics"] != json!([])
    });
    assert_eq!(notification["diagnostics"][0]["code"], "E0107");
    // After it is closed, the file counts again.
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri(&part)}}));
    client.wait_for_notification("textDocument/publishDiagnostics", |p| {
        p["uri"] == uri(&main) && p["diagnostics"] == json!([])
    });
    // A file is removed and written again.
    fs::remove_file(&part).unwrap();
    let changed = |kind: u32| json!({"changes": [{"uri": uri(&part), "type": kind}]});
    client.notify("workspace/didChangeWatchedFiles", changed(3));
    let notification = client.wait_for_notification("textDocument/publishDiagnostics", |p| {
        p["uri"] == uri(&main) && p["diagnostics"] != json!([])
    });
    assert_eq!(notification["diagnostics"][0]["code"], "E0102");
    fs::write(&part, b"def part(x: f64) = x -- \xff\n").unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed(1));
    client.wait_for_notification("window/logMessage", |p| p["message"].as_str().unwrap().contains("invalid UTF-8"));
    fs::write(&part, "def part(x: f64) = x\n").unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed(2));
    client.wait_for_notification("textDocument/publishDiagnostics", |p| {
        p["uri"] == uri(&main) && p["diagnostics"] == json!([])
    });
    client.leave();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn settings_are_registered_for_and_asked_for() {
    let mut client = ScriptedClient::bare();
    let dynamic = json!({"dynamicRegistration": true});
    let workspace = json!({"configuration": true, "didChangeConfiguration": dynamic, "didChangeWatchedFiles": dynamic});
    client.answers = vec![("workspace/configuration", json!([{"diagnostics": {"gradCost": true}}]))];
    client.request("initialize", json!({"capabilities": {"workspace": workspace}}));
    client.notify("initialized", json!({}));
    let registered = client.asks("client/registerCapability");
    let methods: Vec<&Value> = registered["registrations"].as_array().unwrap().iter().map(|r| &r["method"]).collect();
    assert_eq!(methods, ["workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"]);
    assert_eq!(client.asks("workspace/configuration")["items"][0]["section"], "iverson");
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    client.asks("workspace/configuration");
    client.leave();
}

#[test]
fn views_are_the_clients_where_it_knows_them() {
    let offered = |views: bool| {
        let mut client = ScriptedClient::bare();
        let workspace = json!({"textDocumentContent": {"dynamicRegistration": true}});
        let options = json!({"views": views});
        let params = json!({"capabilities": {"workspace": workspace}, "initializationOptions": options});
        let answer = client.request("initialize", params);
        client.notify("initialized", json!({}));
        let registered = client.asks("client/registerCapability")["registrations"][0].take();
        assert_eq!(registered["method"], "workspace/textDocumentContent");
        client.leave();
        let commands = answer["capabilities"]["executeCommandProvider"]["commands"].clone();
        (commands, registered["registerOptions"]["schemes"].clone())
    };
    let own = json!(["iverson.run", "iverson.evaluate", "iverson.stop"]);
    assert_eq!(offered(true), (own, json!(["iverson-library"])));
    let all = json!(["iverson.run", "iverson.evaluate", "iverson.stop", "iverson.showView"]);
    assert_eq!(offered(false), (all, json!(["iverson-library", "iverson-view"])));
}

#[test]
fn diagnostics_are_pulled_where_the_client_asks() {
    let mut client = ScriptedClient::start(json!({"textDocument": {"diagnostic": {}}}));
    client.open(URI, "def f(x: f64) = y\n");
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": URI}}));
    assert_eq!((&report["kind"], &report["items"][0]["code"]), (&json!("full"), &json!("E0100")));
    client.leave();
}

#[test]
fn several_folders_come_and_go() {
    let all = folder("folders");
    let names = ["one", "two", "three"];
    for name in names {
        fs::create_dir_all(all.join(name)).unwrap();
        fs::write(all.join(name).join("main.iv"), format!("import \"./part.iv\"\ndef of_{name}() = part.c()\n"))
            .unwrap();
        fs::write(all.join(name).join("part.iv"), format!("def c() = \"{name}\"\n")).unwrap();
    }
    let of = |name: &str| json!({"uri": uri(&all.join(name)), "name": name});
    let mut client = ScriptedClient::with(json!({"capabilities": {}, "workspaceFolders": [of("one"), of("two")]}));
    // Folders are read in chunks between other steps.
    let known = |client: &mut ScriptedClient, wanted: &[&str]| {
        let begun = Instant::now();
        loop {
            let found = client.request("workspace/symbol", json!({"query": "of_"}));
            let mut found: Vec<String> = found
                .as_array()
                .into_iter()
                .flatten()
                .map(|s| s["name"].as_str().unwrap().to_owned())
                .filter(|name| name.starts_with("of_"))
                .collect();
            found.sort();
            if found == wanted {
                return;
            }
            assert!(begun.elapsed() < crate::client::PATIENCE, "{found:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    known(&mut client, &["of_one", "of_two"]);
    // Each module imports the file beside it.
    let two = uri(&all.join("two").join("main.iv"));
    client.open(&two, "import \"./part.iv\"\ndef of_two() = part.c()\n");
    assert_eq!(codes(&client.diagnostics(&two, 1)), []);
    let at = json!({"textDocument": {"uri": two}, "position": {"line": 1, "character": 20}});
    let defined = client.request("textDocument/definition", at);
    assert!(defined.to_string().contains("two/part.iv"), "{defined}");
    let change = |added: Value, removed: Value| json!({"event": {"added": added, "removed": removed}});
    client.notify("workspace/didChangeWorkspaceFolders", change(json!([of("three")]), json!([of("one")])));
    // The modules of a closed folder stay.
    known(&mut client, &["of_one", "of_three", "of_two"]);
    client.leave();
    fs::remove_dir_all(all).unwrap();
}

#[test]
fn documents_of_the_library_have_texts() {
    let mut client = ScriptedClient::start(json!({}));
    let text = client.request("workspace/textDocumentContent", json!({"uri": "iverson-library:/linalg.iv"}));
    assert!(text["text"].as_str().unwrap().contains("def solve"));
    assert_eq!(client.failing("workspace/textDocumentContent", json!({"uri": "iverson-library:/x.iv"})), -32803);
    client.leave();
}

#[test]
fn a_text_beyond_the_limit_is_told_of() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, &"-".repeat((64 << 20) + 1));
    assert_eq!(codes(&client.diagnostics(URI, 1)), [("E0008".to_owned(), 0)]);
    client.change(URI, 2, None, "def f() = 1");
    assert!(client.diagnostics(URI, 2).is_empty());
    client.leave();
}

#[test]
fn a_dead_client_is_followed() {
    let mut other = std::process::Command::new("sleep").arg("0.2").spawn().unwrap();
    let mut client = ScriptedClient::bare();
    client.request("initialize", json!({"processId": other.id(), "capabilities": {}}));
    other.wait().unwrap();
    assert_eq!(client.ended().code(), Some(1));
}

//! Tests of every request about a document, with positions in UTF-8 and in UTF-16.
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

use crate::client::{ScriptedClient, codes, range};
use serde_json::{Value, json};

const URI: &str = "untitled:one";

/// A program with two-byte and four-byte characters before every tested position.
const TEXT: &str = "\
--| 𝛼 doubles.
def μ(𝛼: f64, x: f64) -> f64 = 𝛼 + x * 2.0

type Shape = Circle(f64) | Square(f64)

def area(s: Shape) -> f64 =
  match s {
    Circle(r): μ(r, r) * r,
    Square(a): a * a
  }

def main() = area(Circle(2.0)) + μ(1.0, 2.0)
";

/// Returns the line of the first `needle`, and the number of units before it in that line.
fn position_of(encoding: &str, needle: &str) -> (u32, u32) {
    let at = TEXT.find(needle).unwrap();
    let line = TEXT[..at].matches('\n').count();
    let before = &TEXT[TEXT[..at].rfind('\n').map_or(0, |n| n + 1)..at];
    let units = if encoding == "utf-8" { before.len() } else { before.encode_utf16().count() };
    (line as u32, units as u32)
}

/// Returns the text of a range.
fn text_of(encoding: &str, range: &Value) -> String {
    let byte = |position: &Value| {
        let (line, character) = (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
        let start: usize = TEXT.split_inclusive('\n').take(line as usize).map(str::len).sum();
        let mut units = 0;
        let inside = TEXT[start..].char_indices().find(|(_, c)| {
            let here = units;
            units += if encoding == "utf-8" { c.len_utf8() } else { c.len_utf16() };
            here >= character as usize
        });
        start + inside.map_or(TEXT.len() - start, |(i, _)| i)
    };
    TEXT[byte(&range["start"])..byte(&range["end"])].to_owned()
}

fn in_both(test: impl Fn(&mut ScriptedClient, &str)) {
    for encoding in ["utf-8", "utf-16"] {
        let document = json!({"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}});
        let general = json!({"positionEncodings": [encoding]});
        let mut client = ScriptedClient::start(json!({"general": general, "textDocument": document}));
        client.open(URI, TEXT);
        assert_eq!(client.diagnostics(URI, 1), Vec::<Value>::new());
        test(&mut client, encoding);
        client.leave();
    }
}

fn at(encoding: &str, needle: &str) -> Value {
    let (line, character) = position_of(encoding, needle);
    json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character}})
}

fn with(mut params: Value, key: &str, value: Value) -> Value {
    params[key] = value;
    params
}

#[test]
fn definitions_and_uses() {
    in_both(|client, encoding| {
        let found = client.request("textDocument/definition", at(encoding, "μ(1.0,"));
        assert_eq!(text_of(encoding, &found[0]["range"]), "μ");
        assert_eq!(found[0]["range"]["start"]["line"], 1);
        for method in ["textDocument/declaration", "textDocument/implementation", "textDocument/typeDefinition"] {
            assert!(client.request(method, at(encoding, "s: Shape")).is_array(), "{method}");
        }
        let context = json!({"includeDeclaration": true});
        let uses = client.request("textDocument/references", with(at(encoding, "μ(r,"), "context", context));
        let lines: Vec<u64> =
            uses.as_array().unwrap().iter().map(|u| u["range"]["start"]["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, [1, 7, 11]);
        assert!(uses.as_array().unwrap().iter().all(|u| text_of(encoding, &u["range"]) == "μ"));
        let marked = client.request("textDocument/documentHighlight", at(encoding, "x * 2"));
        let marked: Vec<String> = marked.as_array().unwrap().iter().map(|h| text_of(encoding, &h["range"])).collect();
        assert_eq!(marked, ["x", "x"]);
    });
}

#[test]
fn symbols() {
    in_both(|client, encoding| {
        let found = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
        let names: Vec<&Value> = found.as_array().unwrap().iter().map(|s| &s["name"]).collect();
        assert_eq!(names, ["μ", "Shape", "area", "main"]);
        assert_eq!(text_of(encoding, &found[0]["selectionRange"]), "μ");
        let found = client.request("workspace/symbol", json!({"query": "area"}));
        assert!(found.as_array().unwrap().iter().any(|s| s["name"] == "area" && s["location"]["uri"] == URI));
        // A symbol in the library, which has no file.
        let found = client.request("workspace/symbol", json!({"query": "linalg.solve"}));
        assert!(found.as_array().unwrap().iter().any(|s| s["name"] == "solve"), "{found}");
    });
}

#[test]
fn tokens() {
    in_both(|client, encoding| {
        let document = json!({"textDocument": {"uri": URI}});
        let full = client.request("textDocument/semanticTokens/full", document.clone());
        let numbers = |v: &Value| v["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>();
        let old = numbers(&full);
        let (mut line, mut character) = (0, 0);
        let mut seen = Vec::new();
        for token in old.chunks(5) {
            character = if token[0] == 0 { character + token[1] } else { token[1] };
            line += token[0];
            let range = range([line as u32, character as u32, line as u32, (character + token[2]) as u32]);
            seen.push(text_of(encoding, &range));
        }
        assert!(seen.starts_with(&["--| 𝛼 doubles.".to_owned(), "def".into(), "μ".into(), "𝛼".into()]), "{seen:?}");
        let whole = with(document.clone(), "range", range([0, 0, 99, 0]));
        assert_eq!(numbers(&client.request("textDocument/semanticTokens/range", whole)), old);
        // An additional line at the top changes one number.
        client.change(URI, 2, Some([0, 0, 0, 0]), "\n");
        let before = with(document.clone(), "previousResultId", full["resultId"].clone());
        let delta = client.request("textDocument/semanticTokens/full/delta", before.clone());
        let mut new = old.clone();
        for edit in delta["edits"].as_array().unwrap() {
            let start = edit["start"].as_u64().unwrap() as usize;
            let end = start + edit["deleteCount"].as_u64().unwrap() as usize;
            new.splice(start..end, numbers(edit));
        }
        assert_eq!(new, numbers(&client.request("textDocument/semanticTokens/full", document.clone())));
        // If the previous tokens are no longer stored, all tokens are sent.
        assert!(client.request("textDocument/semanticTokens/full/delta", before)["data"].is_array());
    });
}

#[test]
fn layout() {
    in_both(|client, encoding| {
        let document = json!({"textDocument": {"uri": URI}});
        let options = json!({"tabSize": 2, "insertSpaces": true});
        let edits = client.request("textDocument/formatting", with(document.clone(), "options", options.clone()));
        assert!(edits.is_array(), "{encoding}");
        let part = with(with(document.clone(), "options", options), "range", range([3, 0, 3, 5]));
        assert!(client.request("textDocument/rangeFormatting", part).is_array());
        let folds = client.request("textDocument/foldingRange", document.clone());
        assert!(folds.as_array().unwrap().iter().any(|f| f["startLine"] == 5), "{folds}");
        let place = at(encoding, "r) * r")["position"].clone();
        let around = client.request("textDocument/selectionRange", with(document, "positions", json!([place])));
        let mut texts = Vec::new();
        let mut next = &around[0];
        while next.is_object() {
            texts.push(text_of(encoding, &next["range"]));
            next = &next["parent"];
        }
        assert_eq!(texts[0], "r");
        assert!(texts.contains(&"μ(r, r) * r".to_owned()), "{texts:?}");
    });
}

/// Requests a hover until it is no longer pending.
fn hover(client: &mut ScriptedClient, at: &Value) -> String {
    loop {
        let hover_text =
            client.request("textDocument/hover", at.clone())["contents"]["value"].as_str().unwrap().to_owned();
        if !hover_text.contains("are being computed") {
            return hover_text;
        }
    }
}

#[test]
fn hovers() {
    in_both(|client, encoding| {
        let hover_text = hover(client, &at(encoding, "μ(1.0,"));
        assert!(hover_text.contains("def μ(𝛼: f64, x: f64) -> f64"), "{hover_text}");
        let hover_text = hover(client, &at(encoding, "* 2.0"));
        assert!(hover_text.contains("x * 2.0 : f64"), "{hover_text}");
        assert_eq!(
            client.request(
                "textDocument/hover",
                json!({"textDocument": {"uri": URI}, "position": {"line": 2, "character": 0}})
            ),
            Value::Null
        );
    });
}

#[test]
fn lenses_and_views() {
    in_both(|client, encoding| {
        let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
        let lenses = lenses.as_array().unwrap();
        let cost = lenses.iter().find(|lens| lens["command"].is_null()).unwrap();
        assert_eq!(text_of(encoding, &cost["range"]), "μ");
        let resolved = client.request("codeLens/resolve", cost.clone());
        assert!(resolved["command"]["title"].as_str().unwrap().starts_with("work "), "{resolved}");
        let run: Vec<&Value> = lenses.iter().filter(|l| l["command"]["command"] == "iverson.run").collect();
        assert_eq!(run[0]["command"]["arguments"], json!([URI, "main"]));
        let view = client.request("iverson/view", json!({"uri": URI, "def": "μ", "stage": "adjoint"}));
        assert_eq!(view["language"], "iverson");
        assert!(view["text"].as_str().unwrap().contains("def "), "{view}");
        let mut origins = view["lines"].as_array().unwrap().iter().flat_map(|l| l["origins"].as_array().unwrap());
        assert!(origins.any(|o| text_of(encoding, o) == "x * 2.0"), "{view}");
        let view = client.request("iverson/view", json!({"uri": URI, "def": "μ", "stage": "ssa"}));
        assert_eq!(view["language"], "iverson-form");
        let mut origins = view["lines"].as_array().unwrap().iter().flat_map(|l| l["origins"].as_array().unwrap());
        assert!(origins.any(|o| text_of(encoding, o) == "x * 2.0"), "{view}");
        assert_eq!(client.failing("iverson/view", json!({"uri": URI, "def": "no", "stage": "adjoint"})), -32803);
        assert_eq!(client.failing("iverson/view", json!({"uri": URI, "def": "μ", "stage": "no"})), -32803);
        // For clients that only show files.
        let arguments = json!({"command": "iverson.showView", "arguments": [URI, "μ", "ssa"]});
        let shown = client.request("workspace/executeCommand", arguments);
        let path = url::Url::parse(shown["uri"].as_str().unwrap()).unwrap().to_file_path().unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("X0"));
    });
}

#[test]
fn hints() {
    in_both(|client, encoding| {
        let all = json!({"textDocument": {"uri": URI}, "range": range([0, 0, 99, 0])});
        let set = |client: &mut ScriptedClient, cost: bool| {
            let settings = json!({"iverson": {"hints": {"cost": cost}}});
            client.notify("workspace/didChangeConfiguration", json!({"settings": settings}));
        };
        // Costs appear when they are computed, if the setting is on.
        set(client, true);
        let hints = loop {
            let hints = client.request("textDocument/inlayHint", all.clone());
            if hints.to_string().contains("work") || hints.to_string().contains("cost") {
                break hints;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert!(
            hints.as_array().unwrap().iter().all(|h| h["position"]["line"].as_u64() < Some(12)),
            "{encoding}: {hints}"
        );
        set(client, false);
        let fewer = client.request("textDocument/inlayHint", all);
        assert!(fewer.as_array().unwrap().len() < hints.as_array().unwrap().len());
    });
}

#[test]
fn hints_of_changed_costs() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, "def f(x: [n]f64) = sum i: x[i]\ndef g(x: f64) = x * x\n");
    let all = json!({"textDocument": {"uri": URI}, "range": range([0, 0, 99, 0])});
    let costs = |client: &mut ScriptedClient| -> Vec<String> {
        let hints = client.request("textDocument/inlayHint", all.clone());
        let labels = hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap().to_owned());
        labels.filter(|label| label.contains("work")).collect()
    };
    let wait = |client: &mut ScriptedClient| loop {
        let found = costs(client);
        if !found.is_empty() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let set = |client: &mut ScriptedClient, cost: bool| {
        client.notify("workspace/didChangeConfiguration", json!({"settings": {"hints": {"cost": cost}}}));
    };
    set(&mut client, true);
    assert_eq!(wait(&mut client).len(), 2);
    set(&mut client, false);
    assert_eq!(costs(&mut client), [""; 0]);
    client.change(URI, 2, Some([0, 30, 0, 30]), " * 2");
    let changed = wait(&mut client);
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with("work 2·n") && changed[0].contains("(saved: work n − 1 ·"), "{changed:?}");
    client.leave();
}

#[test]
fn changes_that_are_offered() {
    let literals = json!({"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}});
    let mut client = ScriptedClient::start(json!({"textDocument": literals}));
    client.open(URI, TEXT);
    let (line, character) = position_of("utf-16", "μ(𝛼");
    let range = range([line, character, line, character]);
    let params = json!({"textDocument": {"uri": URI}, "range": range, "context": {"diagnostics": []}});
    let offered = client.request("textDocument/codeAction", params);
    assert!(offered.to_string().contains("μ_adj"), "{offered}");
    client.leave();
}

/// For a client that resolves edits of code actions, no derivative is computed in advance.
#[test]
fn a_derivative_that_is_put_in_is_computed_when_it_is_chosen() {
    let actions = json!({
        "codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}},
        "dataSupport": true,
        "resolveSupport": {"properties": ["edit"]},
    });
    let mut client = ScriptedClient::start(json!({"textDocument": {"codeAction": actions}}));
    client.open(URI, "def f(x: f64) -> f64 = x^2\ndef g(x: f64) -> f64 = g(x)\n");
    let mut resolved = |line: u32| {
        let range = range([line, 4, line, 4]);
        let params = json!({"textDocument": {"uri": URI}, "range": range, "context": {"diagnostics": []}});
        let offered = client.request("textDocument/codeAction", params);
        let insert = |action: &&Value| action["title"].as_str().is_some_and(|title| title.contains("the adjoint"));
        let action = offered.as_array().and_then(|all| all.iter().find(insert)).expect("it is offered").clone();
        assert!(action["edit"].is_null(), "{action}");
        let id = client.begin("codeAction/resolve", action);
        client.answer(id)
    };
    let text = resolved(0)["result"]["edit"]["changes"][URI][0]["newText"].to_string();
    assert!(text.contains("def f_adj(x: f64, y_adj: f64) -> f64"), "{text}");
    let none = resolved(1);
    assert!(none["error"]["message"].as_str().is_some_and(|why| why.contains("recursion")), "{none}");
    client.leave();
}

#[test]
fn what_is_wrong_is_mended_or_explained() {
    let literals = json!({"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}});
    let mut client = ScriptedClient::start(json!({"textDocument": literals}));
    client.open(URI, "def f(width: f64) -> f64 = widht * 2.0\n");
    let wrong = client.diagnostics(URI, 1).remove(0);
    let offered = |client: &mut ScriptedClient, wrong: &Value| {
        let context = json!({"diagnostics": [wrong], "only": ["quickfix"]});
        let params = json!({"textDocument": {"uri": URI}, "range": wrong["range"], "context": context});
        client.request("textDocument/codeAction", params)
    };
    let fix = &offered(&mut client, &wrong)[0];
    assert_eq!(
        *fix,
        json!({
            "title": "Change `widht` to `width`",
            "kind": "quickfix",
            "diagnostics": [wrong],
            "isPreferred": true,
            "edit": {"changes": {URI: [{"range": wrong["range"], "newText": "width"}]}},
        })
    );
    // A rule that forms a dense Jacobian causes a warning once costs are computed.
    let dense = "def squares(x: [n]f64) -> [n]f64 = for i: x[i]^2\n\
        adjoint squares(x; dy) =\n\
        \x20 let jacobian = for i < n, j < n: [i == j] * x[i] + [i == j] * x[j]\n\
        \x20 in for j: sum i: jacobian[i, j] * dy[i]\n";
    client.change(URI, 2, None, dense);
    let warns = |p: &Value| p["diagnostics"][0]["code"] == "W0700";
    let warning = client.wait_for_notification("textDocument/publishDiagnostics", warns)["diagnostics"][0].take();
    assert_eq!(codes(std::slice::from_ref(&warning)), [("W0700".to_owned(), 3)]);
    let shown = offered(&mut client, &warning);
    let commands: Vec<&Value> = shown.as_array().unwrap().iter().map(|a| &a["command"]["arguments"]).collect();
    assert_eq!(commands, [&json!([URI, "squares", "adjoint"]), &json!([URI, "squares", "cost"])]);
    client.leave();
}

#[test]
fn completion() {
    in_both(|client, encoding| {
        let list = client.request("textDocument/completion", at(encoding, "ea(Circle"));
        let item = list["items"].as_array().unwrap().iter().find(|i| i["label"] == "area").unwrap().clone();
        assert!(text_of(encoding, &item["textEdit"]["range"]).starts_with("ar"), "{item}");
        let resolved = client.request("completionItem/resolve", item);
        assert!(resolved["documentation"]["value"].as_str().unwrap().contains("def area(s: Shape)"), "{resolved}");
        let help = client.request("textDocument/signatureHelp", at(encoding, "2.0)\n"));
        let signature = &help["signatures"][0];
        assert!(signature["label"].as_str().unwrap().contains("μ(𝛼: f64, x: f64)"), "{help}");
        assert_eq!(signature["activeParameter"], 1);
        let [from, to] = [0, 1].map(|i| signature["parameters"][0]["label"][i].as_u64().unwrap() as usize);
        let units: Vec<u16> = signature["label"].as_str().unwrap().encode_utf16().collect();
        assert_eq!(String::from_utf16(&units[from..to]).unwrap(), "𝛼: f64");
    });
}

/// Typing more letters of a word does not lose the candidates, because the editor filters them and
/// sends no new request.
#[test]
fn completion_while_typing_on() {
    const LINE: &str = "def f() -> f64 = ";
    const WORD: &str = "sqrt";
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, &format!("{LINE}\n\ndef behind() -> f64 = 1.0\n"));
    let place =
        |character: usize| json!({"textDocument": {"uri": URI}, "position": {"line": 0, "character": character}});
    let mut version = 1;
    let mut requests = Vec::new();
    for (nth, letter) in WORD.char_indices() {
        let at = u32::try_from(LINE.len() + nth).unwrap();
        version += 1;
        client.change(URI, version, Some([0, at, 0, at]), &letter.to_string());
        let list = client.begin("textDocument/completion", place(LINE.len() + nth + 1));
        let help = client.begin("textDocument/signatureHelp", place(LINE.len() + nth + 1));
        requests.push((nth, list, help));
    }
    for (nth, list, help) in requests {
        let list = client.answer(list);
        let items = list["result"]["items"].as_array().unwrap_or_else(|| panic!("{list}"));
        let item = items.iter().find(|i| i["label"] == WORD).unwrap();
        assert_eq!(item["textEdit"]["range"]["end"], place(LINE.len() + nth + 1)["position"], "{item}");
        let help = client.answer(help);
        assert!(help.get("error").is_none(), "{help}");
    }
    // A new word begins, or other text changes.
    let at = u32::try_from(LINE.len() + WORD.len()).unwrap();
    for (range, text) in [([0, at, 0, at], "(1.0"), ([0, 4, 0, 5], "g")] {
        let list = client.begin("textDocument/completion", place(LINE.len() + WORD.len()));
        version += 1;
        client.change(URI, version, Some(range), text);
        let answer = client.answer(list);
        assert!(answer["error"]["code"] == -32801 || answer["error"].is_null(), "{answer}");
    }
    client.leave();
}

/// The editor sends a request when a bracket is opened. It receives candidates only where a
/// function to differentiate is expected.
#[test]
fn completion_at_a_bracket() {
    let mut client = ScriptedClient::start(json!({}));
    client
        .open(URI, "def square(x: f64) -> f64 = x * x\ndef f(x: f64) -> f64 = grad(\n\ndef g(x: f64) -> f64 = sin(\n");
    let context = json!({"triggerKind": 2, "triggerCharacter": "("});
    let mut completion_at = |line: u32, character: u32| {
        let position = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": URI}, "position": position, "context": context});
        client.request("textDocument/completion", params)
    };
    let list = completion_at(1, 28);
    assert!(list["items"].as_array().unwrap().iter().any(|i| i["label"] == "square"), "{list}");
    assert_eq!(completion_at(3, 27), Value::Null);
    client.leave();
}

#[test]
fn renames() {
    in_both(|client, encoding| {
        let place = at(encoding, "μ(1.0,");
        let prepared = client.request("textDocument/prepareRename", place.clone());
        assert_eq!((text_of(encoding, &prepared["range"]).as_str(), &prepared["placeholder"]), ("μ", &json!("μ")));
        let edits = client.request("textDocument/rename", with(place.clone(), "newName", json!("twice")));
        assert_eq!(edits["changes"][URI].as_array().unwrap().len(), 3, "{edits}");
        assert_eq!(client.failing("textDocument/rename", with(place, "newName", json!("area"))), -32803);
    });
}

#[test]
fn calls() {
    in_both(|client, encoding| {
        let item = client.request("textDocument/prepareCallHierarchy", at(encoding, "μ(1.0,"))[0].take();
        assert_eq!(item["name"], "μ");
        let from = client.request("callHierarchy/incomingCalls", json!({"item": item}));
        let names: Vec<&Value> = from.as_array().unwrap().iter().map(|c| &c["from"]["name"]).collect();
        assert_eq!(names, ["area", "main"]);
        // Each call shows its share of the caller's work.
        let details = from.as_array().unwrap().iter().map(|c| c["from"]["detail"].as_str().unwrap_or_default());
        let details: Vec<&str> = details.collect();
        assert!(details.iter().all(|detail| detail.contains("work here")), "{details:?}");
        assert_eq!(text_of(encoding, &from[0]["fromRanges"][0]), "μ");
        let main = from[1]["from"].clone();
        let to = client.request("callHierarchy/outgoingCalls", json!({"item": main}));
        assert!(to.to_string().contains("\"area\""), "{to}");
    });
}

/// Each change is tried in a second session while the server's session runs a query.
#[test]
fn changes_of_sizes_are_offered() {
    let literals = json!({"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}});
    let mut client = ScriptedClient::start(json!({"textDocument": literals}));
    client.open(URI, "def f(x: [n]f64, y: [m]f64) -> f64 = sum i: x[i] * y[i]\n");
    client.diagnostics(URI, 1);
    let params = json!({
        "textDocument": {"uri": URI},
        "range": range([0, 53, 0, 54]),
        "context": {"diagnostics": []}
    });
    let offered = client.request("textDocument/codeAction", params);
    let titles: Vec<&str> = offered.as_array().unwrap().iter().filter_map(|a| a["title"].as_str()).collect();
    assert!(titles.contains(&"Change the size `m` of `y` to `n`"), "{titles:?}");
    client.leave();
}

/// A hover that misses its deadline is returned on a later request, however long it takes.
#[test]
fn a_long_hover_comes_to_an_end() {
    let mut client = ScriptedClient::start(json!({}));
    client.open(URI, include_str!("../../../examples/gradbench/ode.iv"));
    client.diagnostics(URI, 1);
    let text = include_str!("../../../examples/gradbench/ode.iv");
    let line = text.lines().position(|line| line.starts_with("def gradient")).unwrap();
    let place = json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": 5}});
    let begun = std::time::Instant::now();
    let hover_text = loop {
        let hover_text =
            client.request("textDocument/hover", place.clone())["contents"]["value"].as_str().unwrap().to_owned();
        if !hover_text.contains("are being computed") {
            break hover_text;
        }
        assert!(begun.elapsed().as_secs() < 120, "it is never known");
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert!(hover_text.contains("def gradient_adj("), "{hover_text}");
    client.leave();
}

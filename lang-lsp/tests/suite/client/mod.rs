//! A scripted client: starts the built server and communicates with it over pipes, as an editor
//! does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "a failed expectation is a failed test; the benchmark uses a part"
)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest wait for an answer, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A client and its server.
pub(crate) struct ScriptedClient {
    child: Child,
    input: Option<ChildStdin>,
    received: Receiver<(Instant, Value)>,
    /// Messages that arrived and were not requested yet.
    kept: VecDeque<(Instant, Value)>,
    next: i64,
    /// The answers to the server's requests, by method; `null` for all others.
    pub(crate) answers: Vec<(&'static str, Value)>,
    /// The requests that the server has sent.
    pub(crate) server_requests: Vec<(String, Value)>,
}

impl ScriptedClient {
    /// Starts a server without sending any message.
    pub(crate) fn bare() -> Self {
        Self::with_environment(&[])
    }

    /// Starts a server with these environment variables.
    pub(crate) fn with_environment(variables: &[(&str, &str)]) -> Self {
        let program = std::env::var("IVERSON_LSP").unwrap_or_else(|_| env!("CARGO_BIN_EXE_iverson-lsp").to_owned());
        let mut child = Command::new(program)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send((Instant::now(), message)).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            received,
            kept: VecDeque::new(),
            next: 0,
            answers: Vec::new(),
            server_requests: Vec::new(),
        }
    }

    /// Starts and initialises a server with these client capabilities.
    pub(crate) fn start(capabilities: Value) -> Self {
        Self::with(json!({"capabilities": capabilities}))
    }

    /// Starts and initialises a server with these parameters of `initialize`.
    pub(crate) fn with(params: Value) -> Self {
        let mut client = Self::bare();
        client.request("initialize", params);
        client.notify("initialized", json!({}));
        client
    }

    /// Starts a server with this position encoding.
    pub(crate) fn counting(encoding: &str) -> Self {
        Self::start(json!({"general": {"positionEncodings": [encoding]}}))
    }

    /// Returns the server's process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends raw bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the response to a request.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.wait(|m| m["id"] == json!(id) && m.get("method").is_none()).1
    }

    /// Sends a request that must succeed, and returns its result.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Sends a request that must fail, and returns the error code.
    #[track_caller]
    pub(crate) fn failing(&mut self, method: &str, params: Value) -> i64 {
        let id = self.begin(method, params);
        let answer = self.answer(id);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Waits for a notification of this method that satisfies the condition, and returns its
    /// parameters.
    pub(crate) fn wait_for_notification(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait(|m| m["method"] == method && wanted(&m["params"])).1["params"].take()
    }

    /// Waits for a message that satisfies the condition, and returns it with its time of arrival.
    /// Other messages are kept.
    #[track_caller]
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> (Instant, Value) {
        if let Some(at) = self.kept.iter().position(|(_, m)| wanted(m)) {
            return self.kept.remove(at).unwrap();
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (at, message) = self.received.recv_timeout(left).expect("a message from the server");
            if self.serve(&message) {
                continue;
            }
            if wanted(&message) {
                return (at, message);
            }
            self.kept.push_back((at, message));
        }
    }

    /// Answers a request of the server. Returns whether the message was a request.
    fn serve(&mut self, message: &Value) -> bool {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { return false };
        let answer = self.answers.iter().find(|(m, _)| *m == method).map_or(Value::Null, |(_, a)| a.clone());
        self.server_requests.push((method.to_owned(), message["params"].clone()));
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}));
        true
    }

    /// Waits for a request of the server, past or future, and returns its parameters.
    #[track_caller]
    pub(crate) fn asks(&mut self, method: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.server_requests.iter().position(|(m, _)| m == method) {
                return self.server_requests.remove(at).1;
            }
            let left = until.saturating_duration_since(Instant::now());
            let (at, message) = self.received.recv_timeout(left).expect("a request from the server");
            if !self.serve(&message) {
                self.kept.push_back((at, message));
            }
        }
    }

    /// Drops all messages that arrived and were not requested.
    pub(crate) fn forget(&mut self) {
        while let Ok((_, message)) = self.received.try_recv() {
            self.serve(&message);
        }
        self.kept.clear();
    }

    // ---- documents ----

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "iverson", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces a range, `[line, character, line, character]`, or everything.
    pub(crate) fn change(&mut self, uri: &str, version: i64, at: Option<[u32; 4]>, text: &str) {
        let mut change = json!({"text": text});
        if let Some(at) = at {
            change["range"] = range(at);
        }
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    /// Waits for the diagnostics of a version.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        let mut notification = self
            .wait_for_notification("textDocument/publishDiagnostics", |p| p["uri"] == uri && p["version"] == version);
        serde_json::from_value(notification["diagnostics"].take()).unwrap()
    }

    // ---- the end ----

    /// Closes the pipe to the server.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// Waits for the server's end and returns its status.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server lives on");
    }

    /// Shuts the server down as the protocol prescribes.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        assert_eq!(self.ended().code(), Some(0));
    }
}

impl Drop for ScriptedClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a range of the protocol.
pub(crate) fn range([a, b, c, d]: [u32; 4]) -> Value {
    json!({"start": {"line": a, "character": b}, "end": {"line": c, "character": d}})
}

/// Returns the codes of diagnostics and their start lines.
pub(crate) fn codes(diagnostics: &[Value]) -> Vec<(String, u64)> {
    let code = |d: &Value| (d["code"].as_str().unwrap().to_owned(), d["range"]["start"]["line"].as_u64().unwrap());
    diagnostics.iter().map(code).collect()
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            header => length = header.strip_prefix("Content-Length: ")?.parse().ok()?,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the server writes JSON"))
}

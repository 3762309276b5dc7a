//! The client as the server sees it: messages go to it in the order in which they are sent, from any thread, and requests
//! to it are told their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Response};
use tower_lsp::lsp_types::notification::{LogMessage, Notification, ShowMessage};
use tower_lsp::lsp_types::request::Request;
use tower_lsp::lsp_types::{LogMessageParams, MessageType, ShowMessageParams};

/// A notification, or with an `id` a request.
#[derive(Serialize)]
struct Call<'m, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'m str,
    params: P,
}

/// What is done with an answer of the client.
type Then = Box<dyn FnOnce(Result<Value, Error>) + Send>;

/// The client; clones are the same one.
#[derive(Clone)]
pub(crate) struct Client {
    out: Sender<Option<String>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    next: AtomicI64,
    waiting: Mutex<HashMap<i64, Then>>,
}

impl Client {
    /// A client that is sent what `out` takes: texts of messages, and nothing as the last.
    pub(crate) fn new(out: Sender<Option<String>>) -> Self {
        Self { out, shared: Arc::default() }
    }

    /// Nobody may be there any more to read it: then it is lost, and the reader sees the end.
    fn send(&self, message: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(message) {
            let _ = self.out.send(Some(text));
        }
    }

    /// Nothing more is sent.
    pub(crate) fn end(&self) {
        let _ = self.out.send(None);
    }

    /// Sends a response.
    pub(crate) fn respond(&self, response: &Response) {
        self.send(response);
    }

    /// Sends a notification.
    pub(crate) fn notify<N: Notification>(&self, params: N::Params) {
        self.notify_by_name(N::METHOD, params);
    }

    /// Sends a notification that the protocol's types do not have.
    pub(crate) fn notify_by_name(&self, method: &str, params: impl Serialize) {
        self.send(&Call { jsonrpc: "2.0", id: None, method, params });
    }

    /// Sends a request; `then` is run on the thread that reads, so it should only pass the answer on.
    pub(crate) fn request<R: Request>(&self, params: R::Params, then: impl FnOnce(R::Result) + Send + 'static) {
        let typed = move |answer: Result<Value, Error>| {
            if let Ok(value) = answer
                && let Ok(result) = serde_json::from_value(value)
            {
                then(result);
            }
        };
        self.request_by_name(R::METHOD, params, typed);
    }

    /// Sends a request and is told whatever comes.
    pub(crate) fn request_by_name(
        &self,
        method: &str,
        params: impl Serialize,
        then: impl FnOnce(Result<Value, Error>) + Send + 'static,
    ) {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(id, Box::new(then));
        drop(waiting);
        self.send(&Call { jsonrpc: "2.0", id: Some(id), method, params });
    }

    /// The client answered a request.
    pub(crate) fn answered(&self, id: &i64, answer: Result<Value, Error>) {
        let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let then = waiting.remove(id);
        drop(waiting);
        if let Some(then) = then {
            then(answer);
        }
    }

    /// A line in the client's log.
    pub(crate) fn log(&self, typ: MessageType, message: impl Into<String>) {
        self.notify::<LogMessage>(LogMessageParams { typ, message: message.into() });
    }

    /// A message for the user.
    pub(crate) fn show(&self, typ: MessageType, message: impl Into<String>) {
        self.notify::<ShowMessage>(ShowMessageParams { typ, message: message.into() });
    }
}

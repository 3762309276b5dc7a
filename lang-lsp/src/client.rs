//! **The client's side of the connection.** Sends messages in order from any thread, and passes the
//! responses to the server's requests to their callbacks.

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

/// A notification, or a request if it has an `id`.
#[derive(Serialize)]
struct OutgoingMessage<'m, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'m str,
    params: P,
}

/// The callback for a response.
type ResponseCallback = Box<dyn FnOnce(Result<Value, Error>) + Send>;

/// The client. Clones share one connection.
#[derive(Clone)]
pub(crate) struct Client {
    out: Sender<Option<String>>,
    shared: Arc<PendingRequests>,
}

#[derive(Default)]
struct PendingRequests {
    next_id: AtomicI64,
    callbacks: Mutex<HashMap<i64, ResponseCallback>>,
}

impl Client {
    /// Creates a client that sends message texts to `out`; `None` is the last message.
    pub(crate) fn new(out: Sender<Option<String>>) -> Self {
        Self { out, shared: Arc::default() }
    }

    /// Sends a message. If the writing thread has ended, the message is lost; the reading thread
    /// then sees the end of the input.
    fn send(&self, message: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(message) {
            let _ = self.out.send(Some(text));
        }
    }

    /// Ends the writing thread after the messages sent so far.
    pub(crate) fn close(&self) {
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

    /// Sends a notification that the protocol types do not contain.
    pub(crate) fn notify_by_name(&self, method: &str, params: impl Serialize) {
        self.send(&OutgoingMessage { jsonrpc: "2.0", id: None, method, params });
    }

    /// Sends a request. `then` runs on the reading thread, so it should only forward the answer. It
    /// does not run if the response is an error or does not have the expected type.
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

    /// Sends a request. `then` receives the result or the error.
    pub(crate) fn request_by_name(
        &self,
        method: &str,
        params: impl Serialize,
        then: impl FnOnce(Result<Value, Error>) + Send + 'static,
    ) {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.shared.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(id, Box::new(then));
        drop(waiting);
        self.send(&OutgoingMessage { jsonrpc: "2.0", id: Some(id), method, params });
    }

    /// Passes a response to its callback.
    pub(crate) fn handle_response(&self, id: &i64, answer: Result<Value, Error>) {
        let mut waiting = self.shared.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
        let then = waiting.remove(id);
        drop(waiting);
        if let Some(then) = then {
            then(answer);
        }
    }

    /// Writes a line to the client's log.
    pub(crate) fn log(&self, typ: MessageType, message: impl Into<String>) {
        self.notify::<LogMessage>(LogMessageParams { typ, message: message.into() });
    }

    /// Shows a message to the user.
    pub(crate) fn show_message(&self, typ: MessageType, message: impl Into<String>) {
        self.notify::<ShowMessage>(ShowMessageParams { typ, message: message.into() });
    }
}

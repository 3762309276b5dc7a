//! **Progress indicators** for clients that show them. An indicator ends when it is dropped.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::client::Client;
use crate::client_support::ClientSupport;

/// An indicator for long work.
pub(crate) struct ProgressIndicator {
    client: Client,
    /// The token that identifies the indicator, if the client shows progress.
    token: Option<String>,
}

impl ProgressIndicator {
    /// Begins an indicator.
    pub(crate) fn begin(client: &Client, abilities: &ClientSupport, title: &str) -> Self {
        Self::start(client, abilities, title, false)
    }

    /// Begins an indicator that the user can cancel.
    pub(crate) fn cancellable(client: &Client, abilities: &ClientSupport, title: &str) -> Self {
        Self::start(client, abilities, title, true)
    }

    /// Returns the token that identifies the indicator, if the client shows progress.
    pub(crate) fn token(&self) -> Option<String> {
        self.token.clone()
    }

    fn start(client: &Client, abilities: &ClientSupport, title: &str, cancellable: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let token = abilities.progress.then(|| format!("iverson {}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let progress = Self { client: client.clone(), token };
        if let Some(token) = &progress.token {
            client.request_by_name("window/workDoneProgress/create", json!({"token": token}), |_| {});
        }
        progress.send(json!({"kind": "begin", "title": title, "cancellable": cancellable}));
        progress
    }

    /// Reports that `done` steps of `of` are complete.
    pub(crate) fn report(&mut self, what: &str, done: usize, of: usize) {
        let percentage = done.saturating_mul(100).checked_div(of).unwrap_or(0).min(100);
        self.send(json!({"kind": "report", "message": format!("{what} {done}/{of}"), "percentage": percentage}));
    }

    fn send(&self, value: Value) {
        if let Some(token) = &self.token {
            self.client.notify_by_name("$/progress", json!({"token": token, "value": value}));
        }
    }
}

impl Drop for ProgressIndicator {
    fn drop(&mut self) {
        self.send(json!({"kind": "end"}));
    }
}

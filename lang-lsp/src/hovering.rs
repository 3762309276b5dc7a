//! The last hover. What is not known in time is computed on, and told when the same place is asked about again, until
//! something changes or another place is asked about.

use tokio::sync::oneshot;
use tokio::sync::watch::{Receiver, channel};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, TextDocumentPositionParams};

use crate::world::Cord;

/// An answer, as soon as it is there.
pub(crate) type Answer = Receiver<Option<Result<Option<Hover>>>>;

/// A hover that was asked for.
pub(crate) struct Hovering {
    at: TextDocumentPositionParams,
    cord: Cord,
    answer: Answer,
}

impl Hovering {
    /// Of a question at a place; the cord stops it.
    pub(crate) fn new(
        at: TextDocumentPositionParams,
        cord: Cord,
        asked: oneshot::Receiver<Result<Option<Hover>>>,
    ) -> Self {
        let (told, answer) = channel(None);
        tokio::spawn(async move {
            if let Ok(found) = asked.await {
                let _ = told.send(Some(found));
            }
        });
        Self { at, cord, answer }
    }

    /// Its answer.
    pub(crate) fn begun(&self) -> Answer {
        self.answer.clone()
    }

    /// Its answer, if it is of this place and there is one or may be.
    pub(crate) fn answer(&self, at: &TextDocumentPositionParams) -> Option<Answer> {
        let comes = match &*self.answer.borrow() {
            Some(found) => found.is_ok(),
            None => self.answer.has_changed().is_ok(),
        };
        (comes && self.at == *at).then(|| self.answer.clone())
    }
}

impl Drop for Hovering {
    fn drop(&mut self) {
        self.cord.pull();
    }
}

//! **The last hover.** A hover that misses its deadline continues to be computed. Its answer is
//! returned when the client requests the same position again. An edit or a hover elsewhere cancels
//! it.

use tokio::sync::oneshot;
use tokio::sync::watch::{Receiver, channel};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, TextDocumentPositionParams};

use crate::snapshot::RequestCancellation;

/// The answer, once it is computed.
pub(crate) type HoverAnswer = Receiver<Option<Result<Option<Hover>>>>;

/// A requested hover.
pub(crate) struct LastHover {
    position: TextDocumentPositionParams,
    cancellation: RequestCancellation,
    answer: HoverAnswer,
}

impl LastHover {
    /// Creates a hover for a position. Dropping it pulls the cord, which cancels the question.
    pub(crate) fn new(
        at: TextDocumentPositionParams,
        cord: RequestCancellation,
        reply: oneshot::Receiver<Result<Option<Hover>>>,
    ) -> Self {
        let (sender, answer) = channel(None);
        tokio::spawn(async move {
            if let Ok(found) = reply.await {
                let _ = sender.send(Some(found));
            }
        });
        Self { position: at, cancellation: cord, answer }
    }

    /// Returns the receiver of the answer.
    pub(crate) fn receiver(&self) -> HoverAnswer {
        self.answer.clone()
    }

    /// Returns the receiver of the answer if the position is the same and the question has not
    /// failed.
    pub(crate) fn receiver_for(&self, at: &TextDocumentPositionParams) -> Option<HoverAnswer> {
        let comes = match &*self.answer.borrow() {
            Some(found) => found.is_ok(),
            None => self.answer.has_changed().is_ok(),
        };
        (comes && self.position == *at).then(|| self.answer.clone())
    }
}

impl Drop for LastHover {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

//! **Questions and their context.** A question sees a snapshot of the session, the open documents
//! and the settings. It can be cancelled, and it can run again after an edit that does not touch
//! its document.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lang_ide::{CancellationHandle, Location, ModuleName, Session, Severity, Snapshot, Span};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{Location as LspLocation, Position, Range, Url};

use crate::check::DiagnosticStore;
use crate::client_support::ClientSupport;
use crate::files;
use crate::lines::{Encoding, LineIndex};
use crate::settings::Settings;
use crate::workers::PoolKind;

/// An open document.
#[derive(Debug)]
pub(crate) struct ClientDocument {
    /// The URI in the client's spelling.
    pub(crate) url: Url,
    /// The module.
    pub(crate) module: ModuleName,
    /// The client's version of the text.
    pub(crate) version: i32,
    /// The text.
    pub(crate) text: Arc<str>,
    /// The line index.
    pub(crate) lines: Arc<LineIndex>,
}

/// The subject of a question.
pub(crate) struct QuestionSubject {
    /// The document at the time of the request.
    pub(crate) document: Arc<ClientDocument>,
    /// The position of a word that may have been extended since, because an editor filters the
    /// requested candidates by further letters.
    pub(crate) word_at: Option<Position>,
}

impl QuestionSubject {
    /// Returns whether an answer to the question is valid for the current text.
    pub(crate) fn is_still_valid(&self, now: &Arc<ClientDocument>, encoding: Encoding) -> bool {
        let then = &self.document;
        let typed_on = |at| is_word_extended(&then.text, &now.text, then.lines.offset(&then.text, at, encoding));
        Arc::ptr_eq(then, now) || self.word_at.is_some_and(typed_on)
    }
}

/// Returns whether the new text is the old one with a part of a word inserted at an offset.
fn is_word_extended(then: &str, now: &str, at: usize) -> bool {
    let Some((before, behind)) = then.split_at_checked(at) else { return false };
    let typed = now.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
    typed.is_some_and(|typed| typed.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\''))
}

/// The open documents.
#[derive(Clone, Default, Debug)]
pub(crate) struct OpenDocuments {
    all: HashMap<Url, Arc<ClientDocument>>,
    by_module: HashMap<ModuleName, Url>,
}

impl OpenDocuments {
    /// Returns the document of a URI.
    pub(crate) fn get(&self, url: &Url) -> Option<&Arc<ClientDocument>> {
        self.all.get(url)
    }

    /// Returns the document of a module.
    pub(crate) fn of_module(&self, module: &str) -> Option<&Arc<ClientDocument>> {
        self.all.get(self.by_module.get(module)?)
    }

    /// Iterates over all documents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ClientDocument>> {
        self.all.values()
    }

    /// Adds a document or replaces its text.
    pub(crate) fn insert(&mut self, document: ClientDocument) {
        self.by_module.insert(document.module.clone(), document.url.clone());
        self.all.insert(document.url.clone(), Arc::new(document));
    }

    /// Removes a closed document.
    pub(crate) fn remove(&mut self, url: &Url) {
        if let Some(document) = self.all.remove(url) {
            self.by_module.remove(&document.module);
        }
    }
}

/// The context that a worker receives with a question.
pub(crate) struct WorkerContext {
    /// The session.
    pub(crate) snapshot: Snapshot,
    /// The open documents.
    pub(crate) documents: Arc<OpenDocuments>,
    /// The settings.
    pub(crate) settings: Arc<Settings>,
    /// The client's capabilities.
    pub(crate) abilities: Arc<ClientSupport>,
    /// The published diagnostics and the known costs.
    pub(crate) diagnostic_store: Arc<Mutex<DiagnosticStore>>,
    /// A number that changes with each change of a text.
    pub(crate) edition: u64,
}

impl WorkerContext {
    /// Returns the context with a session that the worker may query.
    pub(crate) fn request_context<'w>(&'w self, session: &'w Session) -> RequestContext<'w> {
        let Self { documents, settings, abilities, diagnostic_store: checker, edition, .. } = self;
        RequestContext { session, documents, settings, abilities, diagnostic_store: checker, edition: *edition }
    }
}

/// The context while a question is being answered.
pub(crate) struct RequestContext<'w> {
    pub(crate) session: &'w Session,
    pub(crate) documents: &'w OpenDocuments,
    pub(crate) settings: &'w Settings,
    pub(crate) abilities: &'w ClientSupport,
    pub(crate) diagnostic_store: &'w Mutex<DiagnosticStore>,
    pub(crate) edition: u64,
}

/// A module's text with its line index.
pub(crate) struct ModuleText {
    pub(crate) text: Arc<str>,
    pub(crate) lines: Arc<LineIndex>,
    pub(crate) module: ModuleName,
    encoding: Encoding,
}

impl ModuleText {
    /// Converts a span to a range of the protocol.
    pub(crate) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
    }

    /// Converts an offset to a position.
    pub(crate) fn position(&self, at: u32) -> Position {
        self.lines.position(&self.text, at as usize, self.encoding)
    }

    /// Converts a position to an offset.
    pub(crate) fn offset(&self, at: Position) -> u32 {
        crate::lines::clamp(self.lines.offset(&self.text, at, self.encoding))
    }

    /// Converts a range of the protocol to a span.
    pub(crate) fn span(&self, range: Range) -> Span {
        let bytes = self.lines.byte_range(&self.text, range, self.encoding);
        Span::new(crate::lines::clamp(bytes.start), crate::lines::clamp(bytes.end))
    }
}

impl RequestContext<'_> {
    /// Returns a module's text, whether it is open or not.
    pub(crate) fn text(&self, module: &str) -> Option<ModuleText> {
        let text = self.session.text(module)?;
        let lines = match self.documents.of_module(module) {
            Some(document) => Arc::clone(&document.lines),
            None => Arc::new(LineIndex::new(&text)),
        };
        Some(ModuleText { text, lines, module: module.into(), encoding: self.abilities.encoding })
    }

    /// Returns the text of a document.
    pub(crate) fn document(&self, url: &Url) -> Result<ModuleText> {
        let module = self.documents.get(url).map_or_else(|| files::module_of(url), |d| d.module.clone());
        self.text(&module).ok_or_else(|| request_failed(format!("{url} is not open")))
    }

    /// Returns whether an open document has errors.
    pub(crate) fn has_errors(&self) -> bool {
        let mut modules = self.documents.iter().map(|d| &d.module);
        modules.any(|module| self.session.diagnostics(module).iter().any(|d| d.severity == Severity::Error))
    }

    /// Returns the URI of a module.
    pub(crate) fn url(&self, module: &str) -> Option<Url> {
        match self.documents.of_module(module) {
            Some(document) => Some(document.url.clone()),
            None => files::url_of(module, self.abilities.views),
        }
    }

    /// Converts a location to the protocol.
    pub(crate) fn location(&self, location: &Location) -> Option<LspLocation> {
        let text = self.text(&location.module)?;
        Some(LspLocation { uri: self.url(&location.module)?, range: text.range(location.span) })
    }
}

/// Creates the error of a request that fails for a reason.
pub(crate) fn request_failed(message: impl Into<String>) -> Error {
    // The protocol's `RequestFailed`.
    Error { code: ErrorCode::ServerError(-32803), message: message.into().into(), data: None }
}

/// Creates the error of a request whose text changed before the answer.
pub(crate) fn content_modified() -> Error {
    Error { code: ErrorCode::ContentModified, message: "the text changed".into(), data: None }
}

/// A cancellation token, shared between a request and the worker that computes its answer.
#[derive(Clone, Default)]
pub(crate) struct RequestCancellation(Arc<Mutex<CancellationState>>);

#[derive(Default)]
struct CancellationState {
    is_cancelled: bool,
    running: Option<CancellationHandle>,
}

impl RequestCancellation {
    fn with_state<T>(&self, change: impl FnOnce(&mut CancellationState) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Cancels the question, now or as soon as it begins.
    pub(crate) fn cancel(&self) {
        self.with_state(|p| {
            p.is_cancelled = true;
            p.running.iter().for_each(CancellationHandle::cancel);
        });
    }

    fn is_cancelled(&self) -> bool {
        self.with_state(|p| p.is_cancelled)
    }

    /// Runs a question that [`Self::cancel`] can cancel. Returns `None` if it was cancelled or an
    /// edit came in between.
    fn ask<T>(&self, snapshot: &Snapshot, question: impl FnOnce(&Session) -> T) -> Option<T> {
        let begun = |stop: CancellationHandle| {
            self.with_state(|p| {
                if p.is_cancelled {
                    stop.cancel();
                }
                p.running = Some(stop);
            });
            RunningGuard(self)
        };
        snapshot.ask(|session| session.ask(begun, question)).flatten()
    }
}

/// A guard; while it lives, the token has a running question to cancel.
struct RunningGuard<'c>(&'c RequestCancellation);

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.with_state(|p| p.running = None);
    }
}

/// A guard that cancels on drop, when the request no longer waits.
pub(crate) struct CancelOnDrop(Option<RequestCancellation>);

impl CancelOnDrop {
    /// Creates a guard for the token.
    pub(crate) fn new(cord: RequestCancellation) -> Self {
        Self(Some(cord))
    }

    /// Returns the token, so that another owner can cancel the question.
    pub(crate) fn cancellation(&self) -> RequestCancellation {
        self.0.clone().unwrap_or_default()
    }

    /// Releases the guard: the question continues until another owner cancels it.
    pub(crate) fn disarm(mut self) {
        self.0.take();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.iter().for_each(RequestCancellation::cancel);
    }
}

/// A task for a worker thread, with a snapshot of the state.
pub(crate) trait WorkerQuestion: Send {
    /// Returns the text that the question is about, if only that text is valid.
    fn subject(&self) -> Option<&QuestionSubject>;
    /// Returns the lane whose workers run the question.
    fn pool_kind(&self) -> PoolKind;
    /// Computes the answer. Returns `false` if an edit cancelled it.
    fn run(&mut self, world: &WorkerContext) -> bool;
    /// Answers with an error.
    fn fail(&mut self, why: Error);
}

/// A question whose answer a request waits for.
pub(crate) struct RequestQuestion<T, F> {
    pub(crate) pool_kind: PoolKind,
    pub(crate) subject: Option<QuestionSubject>,
    pub(crate) question: F,
    pub(crate) reply: Option<oneshot::Sender<Result<T>>>,
    pub(crate) cancellation: RequestCancellation,
}

impl<T, F> WorkerQuestion for RequestQuestion<T, F>
where
    T: Send,
    F: FnMut(&RequestContext<'_>) -> Result<T> + Send,
{
    fn subject(&self) -> Option<&QuestionSubject> {
        self.subject.as_ref()
    }

    fn pool_kind(&self) -> PoolKind {
        self.pool_kind
    }

    fn run(&mut self, world: &WorkerContext) -> bool {
        let question = &mut self.question;
        let answer = self.cancellation.ask(&world.snapshot, |session| question(&world.request_context(session)));
        match answer {
            Some(answer) => {
                self.reply.take().map(|reply| reply.send(answer));
                true
            }
            // If the request was cancelled, the question is finished.
            None => self.cancellation.is_cancelled(),
        }
    }

    fn fail(&mut self, why: Error) {
        self.reply.take().map(|reply| reply.send(Err(why)));
    }
}

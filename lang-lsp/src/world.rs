//! What a question sees: the session as it was when it was asked, the open documents, the settings. And questions
//! themselves, which may be stopped, and may be asked again after an edit that does not touch what they ask about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lang_ide::{Location, ModuleName, Session, Severity, Snapshot, Span, Stop};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{Location as LspLocation, Position, Range, Url};

use crate::abilities::Abilities;
use crate::check::Checker;
use crate::files;
use crate::lane::Kind;
use crate::lines::{Encoding, Lines};
use crate::settings::Settings;

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    /// As the client spells it.
    pub(crate) url: Url,
    /// Its module.
    pub(crate) module: ModuleName,
    /// The client's number of the text.
    pub(crate) version: i32,
    /// What stands in it.
    pub(crate) text: Arc<str>,
    /// Its lines.
    pub(crate) lines: Arc<Lines>,
}

/// What a question is about.
pub(crate) struct About {
    /// The document as it was when it was asked.
    pub(crate) document: Arc<Document>,
    /// Here a word may have been typed on since: an editor narrows the candidates it asked for by that.
    pub(crate) word_at: Option<Position>,
}

impl About {
    /// What was asked holds for the text as it is now.
    pub(crate) fn holds(&self, now: &Arc<Document>, encoding: Encoding) -> bool {
        let then = &self.document;
        let typed_on = |at| is_typed_on(&then.text, &now.text, then.lines.offset(&then.text, at, encoding));
        Arc::ptr_eq(then, now) || self.word_at.is_some_and(typed_on)
    }
}

/// Is a text another one with nothing but part of a word typed at a place?
fn is_typed_on(then: &str, now: &str, at: usize) -> bool {
    let Some((before, behind)) = then.split_at_checked(at) else { return false };
    let typed = now.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
    typed.is_some_and(|typed| typed.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\''))
}

/// The open documents.
#[derive(Clone, Default, Debug)]
pub(crate) struct Documents {
    all: HashMap<Url, Arc<Document>>,
    by_module: HashMap<ModuleName, Url>,
}

impl Documents {
    /// The document of that URI.
    pub(crate) fn get(&self, url: &Url) -> Option<&Arc<Document>> {
        self.all.get(url)
    }

    /// The document of a module.
    pub(crate) fn of_module(&self, module: &str) -> Option<&Arc<Document>> {
        self.all.get(self.by_module.get(module)?)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.all.values()
    }

    /// A document was opened, or has another text.
    pub(crate) fn insert(&mut self, document: Document) {
        self.by_module.insert(document.module.clone(), document.url.clone());
        self.all.insert(document.url.clone(), Arc::new(document));
    }

    /// A document was closed.
    pub(crate) fn remove(&mut self, url: &Url) {
        if let Some(document) = self.all.remove(url) {
            self.by_module.remove(&document.module);
        }
    }
}

/// What a question is asked with.
pub(crate) struct World {
    /// All that is known.
    pub(crate) snapshot: Snapshot,
    /// What is open.
    pub(crate) documents: Arc<Documents>,
    /// What is chosen.
    pub(crate) settings: Arc<Settings>,
    /// What the client can do.
    pub(crate) abilities: Arc<Abilities>,
    /// What is known of costs.
    pub(crate) checker: Arc<Mutex<Checker>>,
    /// Another number after each change of a text.
    pub(crate) edition: u64,
}

impl World {
    /// The same while a question is answered.
    pub(crate) fn seen<'w>(&'w self, session: &'w Session) -> Seen<'w> {
        let Self { documents, settings, abilities, checker, edition, .. } = self;
        Seen { session, documents, settings, abilities, checker, edition: *edition }
    }
}

/// The same while a question is answered.
pub(crate) struct Seen<'w> {
    pub(crate) session: &'w Session,
    pub(crate) documents: &'w Documents,
    pub(crate) settings: &'w Settings,
    pub(crate) abilities: &'w Abilities,
    pub(crate) checker: &'w Mutex<Checker>,
    pub(crate) edition: u64,
}

/// A module's text and its lines.
pub(crate) struct Text {
    pub(crate) text: Arc<str>,
    pub(crate) lines: Arc<Lines>,
    pub(crate) module: ModuleName,
    encoding: Encoding,
}

impl Text {
    /// The range of bytes.
    pub(crate) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
    }

    /// The position of a byte.
    pub(crate) fn position(&self, at: u32) -> Position {
        self.lines.position(&self.text, at as usize, self.encoding)
    }

    /// The byte at a position.
    pub(crate) fn offset(&self, at: Position) -> u32 {
        crate::lines::clamp(self.lines.offset(&self.text, at, self.encoding))
    }

    /// The bytes of a range.
    pub(crate) fn span(&self, range: Range) -> Span {
        let bytes = self.lines.bytes(&self.text, range, self.encoding);
        Span::new(crate::lines::clamp(bytes.start), crate::lines::clamp(bytes.end))
    }
}

impl Seen<'_> {
    /// A module's text, open or not.
    pub(crate) fn text(&self, module: &str) -> Option<Text> {
        let text = self.session.text(module)?;
        let lines = match self.documents.of_module(module) {
            Some(document) => Arc::clone(&document.lines),
            None => Arc::new(Lines::new(&text)),
        };
        Some(Text { text, lines, module: module.into(), encoding: self.abilities.encoding })
    }

    /// The text of a document.
    pub(crate) fn document(&self, url: &Url) -> Result<Text> {
        let module = self.documents.get(url).map_or_else(|| files::module_of(url), |d| d.module.clone());
        self.text(&module).ok_or_else(|| failed(format!("{url} is not open")))
    }

    /// Has an open document mistakes?
    pub(crate) fn is_broken(&self) -> bool {
        let mut modules = self.documents.iter().map(|d| &d.module);
        modules.any(|module| self.session.diagnostics(module).iter().any(|d| d.severity == Severity::Error))
    }

    /// The URI of a module.
    pub(crate) fn url(&self, module: &str) -> Option<Url> {
        match self.documents.of_module(module) {
            Some(document) => Some(document.url.clone()),
            None => files::url_of(module, self.abilities.views),
        }
    }

    /// A place as the protocol has it.
    pub(crate) fn location(&self, location: &Location) -> Option<LspLocation> {
        let text = self.text(&location.module)?;
        Some(LspLocation { uri: self.url(&location.module)?, range: text.range(location.span) })
    }
}

/// A request that cannot be answered, and why.
pub(crate) fn failed(message: impl Into<String>) -> Error {
    // `RequestFailed` of the protocol.
    Error { code: ErrorCode::ServerError(-32803), message: message.into().into(), data: None }
}

/// The text changed while a question was answered.
pub(crate) fn content_modified() -> Error {
    Error { code: ErrorCode::ContentModified, message: "the text changed".into(), data: None }
}

/// Pulled when nobody waits for an answer any more.
#[derive(Clone, Default)]
pub(crate) struct Cord(Arc<Mutex<Pulled>>);

#[derive(Default)]
struct Pulled {
    pulled: bool,
    stop: Option<Stop>,
}

impl Cord {
    fn with<T>(&self, change: impl FnOnce(&mut Pulled) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops what is asked, now or as soon as it begins.
    pub(crate) fn pull(&self) {
        self.with(|p| {
            p.pulled = true;
            p.stop.iter().for_each(Stop::stop);
        });
    }

    fn is_pulled(&self) -> bool {
        self.with(|p| p.pulled)
    }

    /// Asks what pulling stops.
    fn ask<T>(&self, snapshot: &Snapshot, question: impl FnOnce(&Session) -> T) -> Option<T> {
        let begun = |stop: Stop| {
            self.with(|p| {
                if p.pulled {
                    stop.stop();
                }
                p.stop = Some(stop);
            });
            Until(self)
        };
        snapshot.ask(|session| session.ask(begun, question)).flatten()
    }
}

/// While this lives, the cord has something to stop.
struct Until<'c>(&'c Cord);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.with(|p| p.stop = None);
    }
}

/// Pulls the cord when it is dropped: the one who waits is gone.
pub(crate) struct PullOnDrop(Option<Cord>);

impl PullOnDrop {
    /// Of this cord.
    pub(crate) fn new(cord: Cord) -> Self {
        Self(Some(cord))
    }

    /// The cord, for another to pull.
    pub(crate) fn cord(&self) -> Cord {
        self.0.clone().unwrap_or_default()
    }

    /// What is asked goes on though nobody waits, until the cord is pulled by another.
    pub(crate) fn let_go(mut self) {
        self.0.take();
    }
}

impl Drop for PullOnDrop {
    fn drop(&mut self) {
        self.0.iter().for_each(Cord::pull);
    }
}

/// Something to be done on a worker thread with the world as it is.
pub(crate) trait Question: Send {
    /// The text that it is about; no other would do.
    fn about(&self) -> Option<&About>;
    /// The workers that do it.
    fn lane(&self) -> Kind;
    /// Does it; `false` if an edit came in between.
    fn ask(&mut self, world: &World) -> bool;
    /// It is not answered.
    fn refuse(&mut self, why: Error);
}

/// A question whose answer a request waits for.
pub(crate) struct Asking<T, F> {
    pub(crate) lane: Kind,
    pub(crate) about: Option<About>,
    pub(crate) question: F,
    pub(crate) reply: Option<oneshot::Sender<Result<T>>>,
    pub(crate) cord: Cord,
}

impl<T, F> Question for Asking<T, F>
where
    T: Send,
    F: FnMut(&Seen<'_>) -> Result<T> + Send,
{
    fn about(&self) -> Option<&About> {
        self.about.as_ref()
    }

    fn lane(&self) -> Kind {
        self.lane
    }

    fn ask(&mut self, world: &World) -> bool {
        let question = &mut self.question;
        let answer = self.cord.ask(&world.snapshot, |session| question(&world.seen(session)));
        match answer {
            Some(answer) => {
                self.reply.take().map(|reply| reply.send(answer));
                true
            }
            // Nobody waits: it is done.
            None => self.cord.is_pulled(),
        }
    }

    fn refuse(&mut self, why: Error) {
        self.reply.take().map(|reply| reply.send(Err(why)));
    }
}

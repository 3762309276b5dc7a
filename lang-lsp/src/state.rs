//! **Main loop.** One thread owns the session and the open documents, and executes steps in the
//! order in which messages arrive. A step must be short: it changes a text or hands a question to a
//! worker.
//!
//! Edits collect in the documents. They reach the session when a question arrives or the queue is
//! empty, so a burst of keystrokes is one change. Setting a text cancels the computations of the
//! workers. A question about a text that has changed is then answered with `ContentModified`; other
//! questions run again. A completion in a word survives further letters of the word.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lang_ide::{ModuleName, Session};
use serde_json::json;
use tower_lsp::lsp_types::{MessageType, TextDocumentContentChangeEvent, Url};

use crate::abilities::Abilities;
use crate::check::{Check, Checker, Costs};
use crate::client::Client;
use crate::evaluate::{Evaluator, Outcome};
use crate::files::{self, Reader};
use crate::lane::{Kind, Lane};
use crate::lines::Lines;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::views::{self, Views};
use crate::world::{About, Document, Documents, Question, World, content_modified};

/// Costs are computed after this time without an edit.
const CALM: Duration = Duration::from_millis(200);
/// With at most this many cores, costs wait for a hover's long computation, because edits and other
/// hovers need a core.
const FEW_CORES: usize = 2;
/// The longest such wait after an edit.
const LATEST_COSTS: Duration = Duration::from_secs(5);
/// The interval at which files are checked, if the client does not report changes.
const LOOK: Duration = Duration::from_secs(2);
/// If there are more files, they are checked only when a document is opened, saved or closed.
const FEW_FILES: usize = 500;
/// Progress is shown for work that takes longer.
const LONG: Duration = Duration::from_secs(1);
/// The maximal number of threads that answer questions.
const MOST_WORKERS: usize = 4;

/// A step of the loop.
type Step = Box<dyn FnOnce(&mut State) + Send>;

/// The queue of steps. Any thread may send to it.
#[derive(Clone)]
pub(crate) struct Queue(pub(crate) Sender<Step>);

impl Queue {
    /// Appends a step.
    pub(crate) fn send(&self, step: impl FnOnce(&mut State) + Send + 'static) {
        let _ = self.0.send(Box::new(step));
    }
}

/// A document in the client's current state.
struct Open {
    module: ModuleName,
    version: i32,
    text: String,
    lines: Arc<Lines>,
    /// Whether the session has a different text.
    changed: bool,
}

/// The state that the loop owns.
pub(crate) struct State {
    pub(crate) session: Session,
    open: HashMap<Url, Open>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) abilities: Arc<Abilities>,
    pub(crate) client: Client,
    pub(crate) queue: Queue,
    pub(crate) reader: Reader,
    pub(crate) evaluator: Evaluator,
    pub(crate) folders: Vec<PathBuf>,
    /// Views of clients that do not support our own requests.
    pub(crate) views: Views,
    checks: Lane,
    questions: Lane,
    depths: Lane,
    studies: Lane,
    costs: Lane,
    checker: Arc<Mutex<Checker>>,
    /// Whether a text or the reported diagnostics changed since the last check began.
    unchecked: bool,
    /// Changed modules whose imports were not searched since.
    fresh: HashSet<ModuleName>,
    /// The document of the last edit.
    recent: Option<Url>,
    /// The time of the last change whose costs are not yet computed.
    uncosted: Option<Instant>,
    /// A number that changes with each change of a text.
    edition: u64,
    /// The time when the current computation of costs began, and its progress indicator.
    costing: Option<(Instant, Option<Progress>)>,
    /// The time when files were last checked.
    looked_at: Instant,
    /// Whether the files are few enough to be checked periodically.
    few_files: bool,
    /// The number of cores that the server may use.
    cores: usize,
}

impl State {
    /// Creates the state before the first message.
    pub(crate) fn new(client: Client, queue: Queue) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            session: Session::new(),
            open: HashMap::new(),
            documents: Arc::default(),
            settings: Arc::default(),
            abilities: Arc::default(),
            reader: Reader::start(),
            evaluator: Evaluator::default(),
            folders: Vec::new(),
            views: Views::default(),
            checks: Lane::start(Kind::Checks, 1, &queue),
            questions: Lane::start(Kind::Questions, cores.clamp(2, MOST_WORKERS), &queue),
            depths: Lane::start(Kind::Depths, 1, &queue),
            studies: Lane::start(Kind::Studies, 2, &queue),
            costs: Lane::start(Kind::Costs, 1, &queue),
            checker: Arc::new(Mutex::new(Checker::new(client.clone()))),
            client,
            queue,
            unchecked: false,
            fresh: HashSet::new(),
            recent: None,
            uncosted: None,
            edition: 0,
            costing: None,
            looked_at: Instant::now(),
            few_files: true,
            cores,
        }
    }

    /// Executes steps until all senders are gone.
    pub(crate) fn run(mut self, steps: &Receiver<Step>) {
        loop {
            let step = match steps.try_recv() {
                Ok(step) => step,
                Err(_) => {
                    self.settle();
                    match steps.recv_timeout(self.patience()) {
                        Ok(step) => step,
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
            };
            // A step that panics is a defect; the server continues with the state that it has.
            let _ = catch_unwind(AssertUnwindSafe(|| step(&mut self)));
        }
    }

    /// Returns the time until the loop must act without a message.
    fn patience(&self) -> Duration {
        let calm = self.costs_due();
        let long = self.costing.as_ref().and_then(|(since, shown)| shown.is_none().then_some(*since + LONG));
        let look = self.looks_at_files().then(|| self.looked_at + LOOK);
        let until = calm.into_iter().chain(long).chain(look).min();
        until.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns the time at which computing the costs of the last edit is due.
    fn costs_due(&self) -> Option<Instant> {
        let edited = self.uncosted.filter(|_| self.costing.is_none())?;
        let busy = self.depths.free == 0 || !self.depths.waiting.is_empty();
        let wait = self.cores <= FEW_CORES && busy;
        Some(edited + if wait { LATEST_COSTS } else { CALM })
    }

    /// Returns whether files are checked periodically.
    fn looks_at_files(&self) -> bool {
        self.few_files && !self.is_told_of_files() && !self.open.is_empty()
    }

    /// Performs the work that is due when no step is queued.
    fn settle(&mut self) {
        self.flush();
        if self.looks_at_files() && self.looked_at.elapsed() >= LOOK {
            self.read_changed();
        }
        if self.unchecked && self.checks.free > 0 {
            self.unchecked = false;
            let fresh = self.fresh.iter().cloned().collect();
            let (first, views, queue) = (self.recent.clone(), self.views.files(), self.queue.clone());
            let check = Check { fresh, first, views, queue };
            self.checks.waiting.push_back(Box::new(check));
        }
        if !self.settings.wants_costs() {
            self.uncosted = None;
        }
        if self.costs_due().is_some_and(|due| due <= Instant::now()) && !self.unchecked {
            self.uncosted = None;
            self.costing = Some((Instant::now(), None));
            let costs = Costs { first: self.recent.clone(), queue: self.queue.clone() };
            self.costs.waiting.push_back(Box::new(costs));
        }
        if let Some((since, shown)) = &mut self.costing
            && shown.is_none()
            && since.elapsed() >= LONG
        {
            *shown = Some(Progress::begin(&self.client, &self.abilities, "Costs"));
        }
        self.dispatch();
    }

    /// Passes the edited texts to the session.
    pub(crate) fn flush(&mut self) {
        let mut any = false;
        for (url, open) in self.open.iter_mut().filter(|(_, open)| open.changed) {
            open.changed = false;
            self.unchecked = true;
            // Setting an equal text would still cancel running computations.
            if self.session.text(&open.module).is_none_or(|text| *text != *open.text) {
                any = true;
                self.session.set_text(&open.module, &open.text);
            }
            let (url, module, lines) = (url.clone(), open.module.clone(), Arc::clone(&open.lines));
            self.fresh.insert(module.clone());
            let text = self.session.text(&module).unwrap_or_default();
            Arc::make_mut(&mut self.documents).insert(Document { url, module, version: open.version, text, lines });
        }
        if any {
            self.text_changed();
            let lanes = [&mut self.questions, &mut self.depths, &mut self.studies];
            let waiting = lanes.map(|lane| std::mem::take(&mut lane.waiting));
            waiting.into_iter().flatten().for_each(|question| self.keep(question));
        }
    }

    /// Queues a question for a worker if the text that it is about is still current; otherwise
    /// refuses it.
    fn keep(&mut self, mut question: Box<dyn Question>) {
        let encoding = self.abilities.encoding;
        let same = |asked: &About| {
            let now = self.documents.get(&asked.document.url);
            now.is_some_and(|now| asked.holds(now, encoding))
        };
        if question.about().is_none_or(same) {
            self.lane(question.lane()).waiting.push_back(question);
        } else {
            question.refuse(content_modified());
        }
    }

    /// Records that a text changed.
    fn text_changed(&mut self) {
        self.unchecked = true;
        self.uncosted = Some(Instant::now());
        self.edition = self.edition.wrapping_add(1);
    }

    fn lane(&mut self, kind: Kind) -> &mut Lane {
        match kind {
            Kind::Checks => &mut self.checks,
            Kind::Questions => &mut self.questions,
            Kind::Depths => &mut self.depths,
            Kind::Studies => &mut self.studies,
            Kind::Costs => &mut self.costs,
        }
    }

    /// Returns a snapshot of the session and of all shared state.
    pub(crate) fn world(&self) -> World {
        World {
            snapshot: self.session.snapshot(),
            documents: Arc::clone(&self.documents),
            settings: Arc::clone(&self.settings),
            abilities: Arc::clone(&self.abilities),
            checker: Arc::clone(&self.checker),
            edition: self.edition,
        }
    }

    fn dispatch(&mut self) {
        for kind in [Kind::Checks, Kind::Questions, Kind::Depths, Kind::Studies, Kind::Costs] {
            while self.lane(kind).free > 0
                && let Some(question) = self.lane(kind).waiting.pop_front()
            {
                let world = self.world();
                self.lane(kind).begin(question, world);
            }
        }
    }

    /// Queues a question about the current text.
    pub(crate) fn ask(&mut self, question: Box<dyn Question>) {
        self.lane(question.lane()).waiting.push_back(question);
        self.dispatch();
    }

    /// Returns the document of the URI, after all edits have reached the session.
    pub(crate) fn document(&mut self, url: &Url) -> Option<Arc<Document>> {
        self.flush();
        self.documents.get(url).cloned()
    }

    /// Marks a worker as free. `back` is a question that an edit cancelled.
    pub(crate) fn came_back(&mut self, kind: Kind, back: Option<Box<dyn Question>>) {
        let lane = self.lane(kind);
        lane.free = lane.free.saturating_add(1);
        match (kind, back) {
            (Kind::Checks, back) => self.unchecked |= back.is_some(),
            (Kind::Questions | Kind::Depths | Kind::Studies, back) => {
                back.into_iter().for_each(|question| self.keep(question))
            }
            (Kind::Costs, back) => {
                self.costing = None;
                if back.is_some() && self.uncosted.is_none() {
                    self.uncosted = Some(Instant::now());
                }
            }
        }
    }

    // ---- documents ----

    /// Handles `didOpen`.
    pub(crate) fn opened(&mut self, url: Url, version: i32, text: String) {
        let module = files::module_of(&url);
        if files::is_library(&module) {
            // It is read-only, and the session already contains it.
            let lines = Arc::new(Lines::new(&text));
            Arc::make_mut(&mut self.documents).insert(Document { url, module, version, text: text.into(), lines });
            return;
        }
        self.read_changed();
        // The view may be older than its source.
        self.unchecked |= self.views.opened(&url);
        let lines = Arc::new(Lines::new(&text));
        self.checker().absent.remove(&module);
        self.checker().counts_from(&module, &text, false);
        self.recent = Some(url.clone());
        // The session may already have this text from a folder, but its costs were not computed.
        self.uncosted = Some(Instant::now());
        self.open.insert(url, Open { module, version, text, lines, changed: true });
    }

    /// Handles `didChange`.
    pub(crate) fn changed(&mut self, url: &Url, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        let encoding = self.abilities.encoding;
        let Some(open) = self.open.get_mut(url) else { return };
        for change in changes {
            match change.range {
                Some(range) => {
                    let bytes = open.lines.bytes(&open.text, range, encoding);
                    open.text.replace_range(bytes.clone(), &change.text);
                    Arc::make_mut(&mut open.lines).edit(&open.text, bytes, change.text.len());
                }
                None => {
                    open.lines = Arc::new(Lines::new(&change.text));
                    open.text = change.text;
                }
            }
        }
        open.version = version;
        open.changed = true;
        self.recent = Some(url.clone());
    }

    /// Handles `didSave`. Files that it imports may exist now.
    pub(crate) fn saved(&mut self, url: &Url) {
        self.look_again();
        self.read_changed();
        let known = self.uncosted.is_none() && self.costing.is_none() && self.settings.hints.cost;
        if let Some(open) = self.open.get(url) {
            self.checker().counts_from(&open.module, &open.text, known && !open.changed);
            self.fresh.insert(open.module.clone());
            self.uncosted = Some(Instant::now());
        }
    }

    /// Handles `didClose`. The module's text is that of the file again.
    pub(crate) fn closed(&mut self, url: &Url) {
        let closed = self.open.remove(url);
        self.views.closed(url);
        Arc::make_mut(&mut self.documents).remove(url);
        self.unchecked |= closed.is_some();
        // No module imports a view.
        if let Some(open) = closed.filter(|_| !views::is_view(url)) {
            self.read(vec![open.module]);
        }
    }

    /// Returns the module of a document.
    pub(crate) fn module(&self, url: &Url) -> ModuleName {
        self.open.get(url).map_or_else(|| files::module_of(url), |open| open.module.clone())
    }

    /// Returns the text of an open document.
    pub(crate) fn text(&self, url: &Url) -> Option<&str> {
        self.open.get(url).map(|open| open.text.as_str())
    }

    // ---- files ----

    /// Reads files on the reader thread and then takes over their texts.
    pub(crate) fn read(&mut self, modules: Vec<ModuleName>) {
        let queue = self.queue.clone();
        self.reader.run(move |stamps| {
            let texts = modules.into_iter().map(|module| {
                let text = match files::path_of_module(&module) {
                    Some(path) => stamps.read(&path),
                    None => Err("it is no file".to_owned()),
                };
                (module, text)
            });
            let texts = texts.collect();
            queue.send(|state| state.texts(texts));
        });
    }

    /// Takes over the texts of files that were read.
    pub(crate) fn texts(&mut self, texts: Vec<(ModuleName, Result<String, String>)>) {
        for (module, text) in texts {
            if self.open.values().any(|open| open.module == module) || files::is_library(&module) {
                continue;
            }
            match text {
                Ok(text) => {
                    self.session.set_text(&module, &text);
                    self.checker().absent.remove(&module);
                    self.fresh.insert(module);
                }
                Err(why) => {
                    self.session.remove(&module);
                    self.checker().absent.insert(module.clone());
                    let exists = files::path_of_module(&module).is_some_and(|path| path.exists());
                    if exists {
                        self.client.log(MessageType::WARNING, format!("{module} cannot be read: {why}"));
                    }
                }
            }
        }
        self.text_changed();
        // The diagnostics of documents that import these files may have changed.
        self.pulled_anew();
        if self.abilities.refresh.tokens && !self.open.is_empty() {
            self.client.request_by_name("workspace/semanticTokens/refresh", (), |_| {});
        }
    }

    /// Makes a client that pulls diagnostics request them again.
    fn pulled_anew(&self) {
        if self.abilities.refresh.diagnostics && self.abilities.pulls && !self.open.is_empty() {
            self.client.request_by_name("workspace/diagnostic/refresh", (), |_| {});
        }
    }

    /// Reads the files that changed since they were last read, for clients that do not report
    /// changes of files.
    pub(crate) fn read_changed(&mut self) {
        self.looked_at = Instant::now();
        let closed = |module: &ModuleName| !self.open.values().any(|open| open.module == *module);
        let known = self.session.modules().into_iter().filter(|module| !files::is_library(module) && closed(module));
        let absent: Vec<ModuleName> = self.checker().absent.iter().cloned().collect();
        let files: Vec<(ModuleName, PathBuf)> =
            known.chain(absent).filter_map(|module| Some((module.clone(), files::path_of_module(&module)?))).collect();
        self.few_files = files.len() <= FEW_FILES;
        if files.is_empty() {
            return;
        }
        let queue = self.queue.clone();
        self.reader.run(move |stamps| {
            let others = files.into_iter().filter(|(_, path)| stamps.is_other(path));
            let texts: Vec<_> = others.collect();
            let texts: Vec<_> = texts.into_iter().map(|(module, path)| (module, stamps.read(&path))).collect();
            if !texts.is_empty() {
                queue.send(|state| state.texts(texts));
            }
        });
    }

    /// Returns whether the client reports changes of files.
    fn is_told_of_files(&self) -> bool {
        self.abilities.registers.watched_files
    }

    /// Searches missing modules again.
    pub(crate) fn look_again(&mut self) {
        self.checker().absent.clear();
        self.fresh.extend(self.documents.iter().map(|d| d.module.clone()));
        self.unchecked = true;
    }

    /// Records that the imports of these modules were searched.
    pub(crate) fn looked(&mut self, modules: &[ModuleName]) {
        self.fresh.retain(|module| !modules.contains(module));
    }

    /// Reads all modules of a folder in chunks, so that other steps can run in between.
    pub(crate) fn load_folder(&mut self, folder: PathBuf) {
        /// The number of files in a step.
        const PIECE: usize = 32;
        let (queue, client, abilities) = (self.queue.clone(), self.client.clone(), Arc::clone(&self.abilities));
        self.reader.run(move |stamps| {
            let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let found = files::modules_in(&folder);
            let mut progress = (found.len() > PIECE).then(|| Progress::begin(&client, &abilities, "Loading"));
            for (nth, piece) in found.chunks(PIECE).enumerate() {
                if let Some(progress) = &mut progress {
                    progress.report(&name, nth.saturating_mul(PIECE), found.len());
                }
                let texts = piece.iter().map(|path| (files::module_of_path(path), stamps.read(path))).collect();
                queue.send(|state| state.texts(texts));
            }
        });
    }

    // ---- diagnostics ----

    fn checker(&self) -> std::sync::MutexGuard<'_, Checker> {
        self.checker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the end of an evaluation of this text of a document, and reports its errors at their
    /// spans.
    pub(crate) fn ran(&mut self, url: &Url, text: &str, outcome: &Outcome) {
        let mistakes = match outcome {
            Outcome::Failed(_, mistakes) => mistakes.as_slice(),
            Outcome::Value(..) | Outcome::Limit(_) | Outcome::Stopped => &[],
        };
        self.flush();
        // If the text has changed, the spans are unknown.
        let now = self.text(url) == Some(text);
        let failures = mistakes.iter().filter(|_| now).filter_map(|m| m.diagnostic(text)).collect();
        let module = self.module(url);
        if self.checker().ran(&self.session, &module, failures) {
            self.unchecked = true;
            self.pulled_anew();
        }
    }

    /// Handles the completion of the costs of all open documents: requests that the client
    /// refreshes everything that shows them.
    pub(crate) fn costs_known(&mut self) {
        self.unchecked = true;
        self.refresh();
    }

    /// Makes the client request lenses and hints again.
    pub(crate) fn refresh_costs(&self) {
        let refresh = self.abilities.refresh;
        let all = [(refresh.hints, "workspace/inlayHint/refresh"), (refresh.lenses, "workspace/codeLens/refresh")];
        for (_, method) in all.into_iter().filter(|(wanted, _)| *wanted) {
            self.client.request_by_name(method, (), |_| {});
        }
    }

    /// Makes the client request everything again that depends on more than the text.
    pub(crate) fn refresh(&self) {
        self.refresh_costs();
        self.pulled_anew();
        self.views_changed();
    }

    /// Notifies the client that views may have changed, including views of definitions that call
    /// into other documents.
    pub(crate) fn views_changed(&self) {
        if self.abilities.views {
            let edited = self.documents.iter().filter(|document| Some(&document.url) == self.recent.as_ref());
            let others = self.documents.iter().filter(|document| Some(&document.url) != self.recent.as_ref());
            for document in edited.chain(others).filter(|document| !files::is_library(&document.module)) {
                self.client.notify_by_name("iverson/viewsChanged", json!({"uri": document.url}));
            }
        }
        for document in self.views.documents() {
            self.client.request_by_name("workspace/textDocumentContent/refresh", json!({"uri": document}), |_| {});
        }
    }

    /// Takes over changed settings.
    pub(crate) fn configured(&mut self, settings: Settings) {
        if *self.settings != settings {
            let known = self.settings.wrong == settings.wrong;
            self.settings = Arc::new(settings);
            if !known {
                self.tell_wrong_settings();
            }
            self.text_changed();
            self.refresh();
            if self.abilities.refresh.tokens {
                self.client.request_by_name("workspace/semanticTokens/refresh", (), |_| {});
            }
        }
    }

    /// Shows a warning for settings of the wrong type.
    pub(crate) fn tell_wrong_settings(&self) {
        if !self.settings.wrong.is_empty() {
            self.client.show(MessageType::WARNING, self.settings.wrong.join("\n"));
        }
    }
}

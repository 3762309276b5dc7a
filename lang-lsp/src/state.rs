//! **Main loop.** One thread owns the session and the open documents, and executes steps in the
//! order in which messages arrive. A step must be short: it changes a text or hands a question to a
//! worker.
//!
//! Edits collect in the documents. They reach the session when a question arrives or the queue is
//! empty, so a burst of keystrokes is one change. Setting a text cancels the computations of the
//! workers. A question about a text that has changed is then answered with `ContentModified`; other
//! questions run again. A completion stays valid while the user types more letters of its word.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lang_ide::{ModuleName, Session};
use serde_json::json;
use tower_lsp::lsp_types::{MessageType, TextDocumentContentChangeEvent, Url};

use crate::check::{CheckTask, CostsTask, DiagnosticStore};
use crate::client::Client;
use crate::client_support::ClientSupport;
use crate::evaluate::{EvaluationOutcome, ProcessEvaluator};
use crate::files::{self, FileReader};
use crate::lines::LineIndex;
use crate::progress::ProgressIndicator;
use crate::settings::Settings;
use crate::snapshot::{
    ClientDocument, OpenDocuments, QuestionSubject, WorkerContext, WorkerQuestion, content_modified,
};
use crate::views::{self, ClientViews};
use crate::workers::{PoolKind, WorkerPool};

/// Costs are computed after this time without an edit.
const COST_DELAY: Duration = Duration::from_millis(200);
/// With at most this many cores, costs wait for a hover's long computation, because edits and other
/// hovers need a core.
const FEW_CORES: usize = 2;
/// The longest such wait after an edit.
const MAX_COST_DELAY: Duration = Duration::from_secs(5);
/// The interval at which files are checked, if the client does not report changes.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// If there are more files, they are checked only when a document is opened, saved or closed.
const MAX_POLLED_FILES: usize = 500;
/// Progress is shown for work that takes longer.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);
/// The maximal number of threads that answer questions.
const MAX_WORKERS: usize = 4;

/// A step of the loop.
type LoopStep = Box<dyn FnOnce(&mut ServerState) + Send>;

/// The queue of steps. Any thread may send to it.
#[derive(Clone)]
pub(crate) struct StepQueue(pub(crate) Sender<LoopStep>);

impl StepQueue {
    /// Appends a step.
    pub(crate) fn send(&self, step: impl FnOnce(&mut ServerState) + Send + 'static) {
        let _ = self.0.send(Box::new(step));
    }
}

/// A document in the client's current state.
struct EditedDocument {
    module: ModuleName,
    version: i32,
    text: String,
    lines: Arc<LineIndex>,
    /// Whether the session has a different text.
    is_unflushed: bool,
}

/// The state that the loop owns.
pub(crate) struct ServerState {
    pub(crate) session: Session,
    open: HashMap<Url, EditedDocument>,
    pub(crate) documents: Arc<OpenDocuments>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) abilities: Arc<ClientSupport>,
    pub(crate) client: Client,
    pub(crate) queue: StepQueue,
    pub(crate) reader: FileReader,
    pub(crate) evaluator: ProcessEvaluator,
    pub(crate) folders: Vec<PathBuf>,
    /// The open views, if the client does not support the server's own requests.
    pub(crate) views: ClientViews,
    check_pool: WorkerPool,
    fast_pool: WorkerPool,
    deadline_pool: WorkerPool,
    slow_pool: WorkerPool,
    cost_pool: WorkerPool,
    diagnostic_store: Arc<Mutex<DiagnosticStore>>,
    /// Whether a text or the reported diagnostics changed since the last check began.
    needs_check: bool,
    /// Changed modules whose imports were not searched since.
    changed_modules: HashSet<ModuleName>,
    /// The document of the last edit.
    last_edited: Option<Url>,
    /// The time of the last change whose costs are not yet computed.
    uncosted_since: Option<Instant>,
    /// A number that changes with each change of a text.
    edition: u64,
    /// The time when the current computation of costs began, and its progress indicator.
    cost_computation: Option<(Instant, Option<ProgressIndicator>)>,
    /// The time when files were last checked.
    files_polled_at: Instant,
    /// Whether the files are few enough to be checked periodically.
    few_files: bool,
    /// The number of cores that the server may use.
    cores: usize,
}

impl ServerState {
    /// Creates the state before the first message.
    pub(crate) fn new(client: Client, queue: StepQueue) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            session: Session::new(),
            open: HashMap::new(),
            documents: Arc::default(),
            settings: Arc::default(),
            abilities: Arc::default(),
            reader: FileReader::start(),
            evaluator: ProcessEvaluator::default(),
            folders: Vec::new(),
            views: ClientViews::default(),
            check_pool: WorkerPool::start(PoolKind::Checks, 1, &queue),
            fast_pool: WorkerPool::start(PoolKind::FastRequests, cores.clamp(2, MAX_WORKERS), &queue),
            deadline_pool: WorkerPool::start(PoolKind::DeadlineRequests, 1, &queue),
            slow_pool: WorkerPool::start(PoolKind::SlowRequests, 2, &queue),
            cost_pool: WorkerPool::start(PoolKind::Costs, 1, &queue),
            diagnostic_store: Arc::new(Mutex::new(DiagnosticStore::new(client.clone()))),
            client,
            queue,
            needs_check: false,
            changed_modules: HashSet::new(),
            last_edited: None,
            uncosted_since: None,
            edition: 0,
            cost_computation: None,
            files_polled_at: Instant::now(),
            few_files: true,
            cores,
        }
    }

    /// Executes steps until the process exits, because the state itself holds a sender.
    pub(crate) fn run(mut self, steps: &Receiver<LoopStep>) {
        loop {
            let step = match steps.try_recv() {
                Ok(step) => step,
                Err(_) => {
                    self.run_due_work();
                    match steps.recv_timeout(self.time_to_next_work()) {
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
    fn time_to_next_work(&self) -> Duration {
        // Costs follow the check of the last edit, and the end of a check is a message.
        let calm = self.costs_due().filter(|_| !self.needs_check);
        let long = self
            .cost_computation
            .as_ref()
            .and_then(|(since, shown)| shown.is_none().then_some(*since + PROGRESS_DELAY));
        let look = self.polls_files().then(|| self.files_polled_at + FILE_POLL_INTERVAL);
        let until = calm.into_iter().chain(long).chain(look).min();
        until.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns the time at which computing the costs of the last edit is due.
    fn costs_due(&self) -> Option<Instant> {
        let edited = self.uncosted_since.filter(|_| self.cost_computation.is_none())?;
        let busy = self.deadline_pool.idle == 0 || !self.deadline_pool.queued.is_empty();
        let wait = self.cores <= FEW_CORES && busy;
        Some(edited + if wait { MAX_COST_DELAY } else { COST_DELAY })
    }

    /// Returns whether files are checked periodically.
    fn polls_files(&self) -> bool {
        self.few_files && !self.client_watches_files() && !self.open.is_empty()
    }

    /// Performs the work that is due when no step is queued.
    fn run_due_work(&mut self) {
        self.flush();
        if self.polls_files() && self.files_polled_at.elapsed() >= FILE_POLL_INTERVAL {
            self.read_changed_files();
        }
        if self.needs_check && self.check_pool.idle > 0 {
            self.needs_check = false;
            let fresh = self.changed_modules.iter().cloned().collect();
            let (first, views, queue) = (self.last_edited.clone(), self.views.files(), self.queue.clone());
            let check = CheckTask { changed_modules: fresh, edited: first, views, queue };
            self.check_pool.queued.push_back(Box::new(check));
        }
        if !self.settings.wants_costs() {
            self.uncosted_since = None;
        }
        if self.costs_due().is_some_and(|due| due <= Instant::now()) && !self.needs_check {
            self.uncosted_since = None;
            self.cost_computation = Some((Instant::now(), None));
            let costs = CostsTask { edited: self.last_edited.clone(), queue: self.queue.clone() };
            self.cost_pool.queued.push_back(Box::new(costs));
        }
        if let Some((since, shown)) = &mut self.cost_computation
            && shown.is_none()
            && since.elapsed() >= PROGRESS_DELAY
        {
            *shown = Some(ProgressIndicator::begin(&self.client, &self.abilities, "Computing costs"));
        }
        self.dispatch();
    }

    /// Passes the edited texts to the session.
    pub(crate) fn flush(&mut self) {
        let mut any = false;
        for (url, open) in self.open.iter_mut().filter(|(_, open)| open.is_unflushed) {
            open.is_unflushed = false;
            self.needs_check = true;
            // Setting an equal text would still cancel running computations.
            if self.session.text(&open.module).is_none_or(|text| *text != *open.text) {
                any = true;
                self.session.set_text(&open.module, &open.text);
            }
            let (url, module, lines) = (url.clone(), open.module.clone(), Arc::clone(&open.lines));
            self.changed_modules.insert(module.clone());
            let text = self.session.text(&module).unwrap_or_default();
            Arc::make_mut(&mut self.documents).insert(ClientDocument {
                url,
                module,
                version: open.version,
                text,
                lines,
            });
        }
        if any {
            self.text_changed();
            let lanes = [&mut self.fast_pool, &mut self.deadline_pool, &mut self.slow_pool];
            let waiting = lanes.map(|lane| std::mem::take(&mut lane.queued));
            waiting.into_iter().flatten().for_each(|question| self.requeue_or_refuse(question));
        }
    }

    /// Queues a question for a worker if the text that it is about is still current; otherwise
    /// refuses it.
    fn requeue_or_refuse(&mut self, mut question: Box<dyn WorkerQuestion>) {
        let encoding = self.abilities.encoding;
        let same = |subject: &QuestionSubject| {
            let now = self.documents.get(&subject.document.url);
            now.is_some_and(|now| subject.is_still_valid(now, encoding))
        };
        if question.subject().is_none_or(same) {
            self.pool(question.pool_kind()).queued.push_back(question);
        } else {
            question.fail(content_modified());
        }
    }

    /// Records that a text changed.
    fn text_changed(&mut self) {
        self.needs_check = true;
        self.uncosted_since = Some(Instant::now());
        self.edition = self.edition.wrapping_add(1);
    }

    fn pool(&mut self, kind: PoolKind) -> &mut WorkerPool {
        match kind {
            PoolKind::Checks => &mut self.check_pool,
            PoolKind::FastRequests => &mut self.fast_pool,
            PoolKind::DeadlineRequests => &mut self.deadline_pool,
            PoolKind::SlowRequests => &mut self.slow_pool,
            PoolKind::Costs => &mut self.cost_pool,
        }
    }

    /// Returns a snapshot of the session and of all shared state.
    pub(crate) fn worker_context(&self) -> WorkerContext {
        WorkerContext {
            snapshot: self.session.snapshot(),
            documents: Arc::clone(&self.documents),
            settings: Arc::clone(&self.settings),
            abilities: Arc::clone(&self.abilities),
            diagnostic_store: Arc::clone(&self.diagnostic_store),
            edition: self.edition,
        }
    }

    fn dispatch(&mut self) {
        for kind in [
            PoolKind::Checks,
            PoolKind::FastRequests,
            PoolKind::DeadlineRequests,
            PoolKind::SlowRequests,
            PoolKind::Costs,
        ] {
            while self.pool(kind).idle > 0
                && let Some(question) = self.pool(kind).queued.pop_front()
            {
                let world = self.worker_context();
                self.pool(kind).hand_over(question, world);
            }
        }
    }

    /// Queues a question about the current text.
    pub(crate) fn ask(&mut self, question: Box<dyn WorkerQuestion>) {
        self.pool(question.pool_kind()).queued.push_back(question);
        self.dispatch();
    }

    /// Returns the document of the URI, after all edits have reached the session.
    pub(crate) fn document(&mut self, url: &Url) -> Option<Arc<ClientDocument>> {
        self.flush();
        self.documents.get(url).cloned()
    }

    /// Marks a worker as free. `back` is a question that an edit cancelled.
    pub(crate) fn worker_finished(&mut self, kind: PoolKind, back: Option<Box<dyn WorkerQuestion>>) {
        let lane = self.pool(kind);
        lane.idle = lane.idle.saturating_add(1);
        match (kind, back) {
            (PoolKind::Checks, back) => self.needs_check |= back.is_some(),
            (PoolKind::FastRequests | PoolKind::DeadlineRequests | PoolKind::SlowRequests, back) => {
                back.into_iter().for_each(|question| self.requeue_or_refuse(question))
            }
            (PoolKind::Costs, back) => {
                self.cost_computation = None;
                if back.is_some() && self.uncosted_since.is_none() {
                    self.uncosted_since = Some(Instant::now());
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
            let lines = Arc::new(LineIndex::new(&text));
            Arc::make_mut(&mut self.documents).insert(ClientDocument {
                url,
                module,
                version,
                text: text.into(),
                lines,
            });
            return;
        }
        self.read_changed_files();
        // The view may be older than its source.
        self.needs_check |= self.views.opened(&url);
        let lines = Arc::new(LineIndex::new(&text));
        self.checker().missing_files.remove(&module);
        self.checker().set_cost_reference(&module, &text, false);
        self.last_edited = Some(url.clone());
        // The session may already have this text from a folder, but its costs were not computed.
        self.uncosted_since = Some(Instant::now());
        self.open.insert(url, EditedDocument { module, version, text, lines, is_unflushed: true });
    }

    /// Handles `didChange`.
    pub(crate) fn changed(&mut self, url: &Url, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        let encoding = self.abilities.encoding;
        let Some(open) = self.open.get_mut(url) else { return };
        for change in changes {
            match change.range {
                Some(range) => {
                    let bytes = open.lines.byte_range(&open.text, range, encoding);
                    open.text.replace_range(bytes.clone(), &change.text);
                    Arc::make_mut(&mut open.lines).update(&open.text, bytes, change.text.len());
                }
                None => {
                    open.lines = Arc::new(LineIndex::new(&change.text));
                    open.text = change.text;
                }
            }
        }
        open.version = version;
        open.is_unflushed = true;
        self.last_edited = Some(url.clone());
    }

    /// Handles `didSave`. Files that it imports may exist now.
    pub(crate) fn saved(&mut self, url: &Url) {
        self.retry_missing_files();
        self.read_changed_files();
        let known = self.uncosted_since.is_none() && self.cost_computation.is_none() && self.settings.hints.cost;
        if let Some(open) = self.open.get(url) {
            self.checker().set_cost_reference(&open.module, &open.text, known && !open.is_unflushed);
            self.changed_modules.insert(open.module.clone());
            self.uncosted_since = Some(Instant::now());
        }
    }

    /// Handles `didClose`. The module's text is that of the file again.
    pub(crate) fn closed(&mut self, url: &Url) {
        let closed = self.open.remove(url);
        self.views.closed(url);
        Arc::make_mut(&mut self.documents).remove(url);
        self.needs_check |= closed.is_some();
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
                    None => Err("not a regular file".to_owned()),
                };
                (module, text)
            });
            let texts = texts.collect();
            queue.send(|state| state.take_over_texts(texts));
        });
    }

    /// Takes over the texts of files that were read.
    pub(crate) fn take_over_texts(&mut self, texts: Vec<(ModuleName, Result<String, String>)>) {
        for (module, text) in texts {
            if self.open.values().any(|open| open.module == module) || files::is_library(&module) {
                continue;
            }
            match text {
                Ok(text) => {
                    self.session.set_text(&module, &text);
                    self.checker().missing_files.remove(&module);
                    self.changed_modules.insert(module);
                }
                Err(why) => {
                    self.session.remove(&module);
                    self.checker().missing_files.insert(module.clone());
                    let exists = files::path_of_module(&module).is_some_and(|path| path.exists());
                    if exists {
                        self.client.log(MessageType::WARNING, format!("cannot read {module}: {why}"));
                    }
                }
            }
        }
        self.text_changed();
        // The diagnostics of documents that import these files may have changed.
        self.refresh_diagnostics();
        if self.abilities.refresh.tokens && !self.open.is_empty() {
            self.client.request_by_name("workspace/semanticTokens/refresh", (), |_| {});
        }
    }

    /// Makes a client that pulls diagnostics request them again.
    fn refresh_diagnostics(&self) {
        if self.abilities.refresh.diagnostics && self.abilities.pulls_diagnostics && !self.open.is_empty() {
            self.client.request_by_name("workspace/diagnostic/refresh", (), |_| {});
        }
    }

    /// Reads the files that changed since they were last read, for clients that do not report
    /// changes of files.
    pub(crate) fn read_changed_files(&mut self) {
        self.files_polled_at = Instant::now();
        let closed = |module: &ModuleName| !self.open.values().any(|open| open.module == *module);
        let known = self.session.modules().into_iter().filter(|module| !files::is_library(module) && closed(module));
        let absent: Vec<ModuleName> = self.checker().missing_files.iter().cloned().collect();
        let files: Vec<(ModuleName, PathBuf)> =
            known.chain(absent).filter_map(|module| Some((module.clone(), files::path_of_module(&module)?))).collect();
        self.few_files = files.len() <= MAX_POLLED_FILES;
        if files.is_empty() {
            return;
        }
        let queue = self.queue.clone();
        self.reader.run(move |stamps| {
            let others = files.into_iter().filter(|(_, path)| stamps.has_changed(path));
            let texts: Vec<_> = others.collect();
            let texts: Vec<_> = texts.into_iter().map(|(module, path)| (module, stamps.read(&path))).collect();
            if !texts.is_empty() {
                queue.send(|state| state.take_over_texts(texts));
            }
        });
    }

    /// Returns whether the client reports changes of files.
    fn client_watches_files(&self) -> bool {
        self.abilities.dynamic_registration.watched_files
    }

    /// Searches missing modules again.
    pub(crate) fn retry_missing_files(&mut self) {
        self.checker().missing_files.clear();
        self.changed_modules.extend(self.documents.iter().map(|d| d.module.clone()));
        self.needs_check = true;
    }

    /// Records that the imports of these modules were searched.
    pub(crate) fn imports_searched(&mut self, modules: &[ModuleName]) {
        self.changed_modules.retain(|module| !modules.contains(module));
    }

    /// Reads all modules of a folder in chunks, so that other steps can run in between.
    pub(crate) fn load_folder(&mut self, folder: PathBuf) {
        /// The number of files in a step.
        const CHUNK_SIZE: usize = 32;
        let (queue, client, abilities) = (self.queue.clone(), self.client.clone(), Arc::clone(&self.abilities));
        self.reader.run(move |stamps| {
            let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let found = files::modules_in(&folder);
            let mut progress =
                (found.len() > CHUNK_SIZE).then(|| ProgressIndicator::begin(&client, &abilities, "Loading"));
            for (nth, piece) in found.chunks(CHUNK_SIZE).enumerate() {
                if let Some(progress) = &mut progress {
                    progress.report(&name, nth.saturating_mul(CHUNK_SIZE), found.len());
                }
                let texts = piece.iter().map(|path| (files::module_of_path(path), stamps.read(path))).collect();
                queue.send(|state| state.take_over_texts(texts));
            }
        });
    }

    // ---- diagnostics ----

    fn checker(&self) -> std::sync::MutexGuard<'_, DiagnosticStore> {
        self.diagnostic_store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the end of an evaluation of this text of a document, and reports its errors at their
    /// spans.
    pub(crate) fn evaluation_finished(&mut self, url: &Url, text: &str, outcome: &EvaluationOutcome) {
        let mistakes = match outcome {
            EvaluationOutcome::Failed(_, mistakes) => mistakes.as_slice(),
            EvaluationOutcome::Value(..) | EvaluationOutcome::Limit(_) | EvaluationOutcome::Stopped => &[],
        };
        self.flush();
        // If the text has changed, the spans are unknown.
        let now = self.text(url) == Some(text);
        let failures = mistakes.iter().filter(|_| now).filter_map(|m| m.diagnostic(text)).collect();
        let module = self.module(url);
        if self.checker().store_run_errors(&self.session, &module, failures) {
            self.needs_check = true;
            self.refresh_diagnostics();
        }
    }

    /// Handles the completion of the costs of all open documents: requests that the client
    /// refreshes everything that shows them.
    pub(crate) fn costs_computed(&mut self) {
        self.needs_check = true;
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
        self.refresh_diagnostics();
        self.views_changed();
    }

    /// Notifies the client that views may have changed, including views of definitions that call
    /// into other documents.
    pub(crate) fn views_changed(&self) {
        if self.abilities.views {
            let edited = self.documents.iter().filter(|document| Some(&document.url) == self.last_edited.as_ref());
            let others = self.documents.iter().filter(|document| Some(&document.url) != self.last_edited.as_ref());
            for document in edited.chain(others).filter(|document| !files::is_library(&document.module)) {
                self.client.notify_by_name("iverson/viewsChanged", json!({"uri": document.url}));
            }
        }
        for document in self.views.documents() {
            self.client.request_by_name("workspace/textDocumentContent/refresh", json!({"uri": document}), |_| {});
        }
    }

    /// Takes over changed settings.
    pub(crate) fn apply_settings(&mut self, settings: Settings) {
        if *self.settings != settings {
            let known = self.settings.type_warnings == settings.type_warnings;
            self.settings = Arc::new(settings);
            if !known {
                self.show_setting_warnings();
            }
            self.text_changed();
            self.refresh();
            if self.abilities.refresh.tokens {
                self.client.request_by_name("workspace/semanticTokens/refresh", (), |_| {});
            }
        }
    }

    /// Shows a warning for settings of the wrong type.
    pub(crate) fn show_setting_warnings(&self) {
        if !self.settings.type_warnings.is_empty() {
            self.client.show_message(MessageType::WARNING, self.settings.type_warnings.join("\n"));
        }
    }
}

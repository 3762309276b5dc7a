//! **Diagnostics.** A check runs on a worker after every change. It first makes the loop read
//! missing imports. Then it computes the diagnostics of every open document, the edited one first,
//! and publishes those that differ from the client's. For a large module, the edited items are
//! published before the rest is checked.
//!
//! Warnings about costs take longer. [`CostsTask`] computes them when the user has stopped typing.
//! Until then, earlier warnings stay if their items have the same text. The errors of the last
//! evaluation stay by the same rule.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lang_ide::hints::{HintSelection, SourceHint, hints};
use lang_ide::{
    Code, Diagnostic, GlobalName, ItemKind, ModuleDiagnostics, ModuleName, RelatedLabel, Session, Severity, Span,
    with_file_extension,
};
use tower_lsp::jsonrpc::Error;
use tower_lsp::lsp_types::notification::PublishDiagnostics;
use tower_lsp::lsp_types::{
    self as lsp, CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, NumberOrString,
    PublishDiagnosticsParams, Url,
};

use crate::client::Client;
use crate::features::insight;
use crate::files;
use crate::last_known::{LAST_KNOWN_MARK, LastKnown};
use crate::pages;
use crate::snapshot::{ClientDocument, ModuleText, QuestionSubject, RequestContext, WorkerContext, WorkerQuestion};
use crate::state::StepQueue;
use crate::views::{self, ViewTarget};
use crate::workers::PoolKind;

/// The diagnostics that the client has, and the data for the next ones.
pub(crate) struct DiagnosticStore {
    client: Client,
    /// The published diagnostics of each document, with its version.
    published: HashMap<Url, (i32, Vec<lsp::Diagnostic>)>,
    /// The complete diagnostics by module.
    module_diagnostics: HashMap<ModuleName, ModuleDiagnostics>,
    /// Imported modules for which no file exists.
    pub(crate) missing_files: HashSet<ModuleName>,
    /// The warnings about costs by module.
    warnings: HashMap<ModuleName, Vec<AnchoredDiagnostic>>,
    /// The errors of the last evaluation by module.
    run_errors: HashMap<ModuleName, Vec<AnchoredDiagnostic>>,
    /// The cost hints by module.
    costs: HashMap<ModuleName, Vec<CostHint>>,
    /// The texts and costs of the modules when they were opened or saved.
    saved: HashMap<ModuleName, SavedModule>,
    /// The last values of hovers and lenses.
    pub(crate) last_known: LastKnown,
}

/// A module at the time when it was opened or saved.
struct SavedModule {
    text: String,
    /// The costs of its definitions, once they are computed.
    costs: Option<HashMap<GlobalName, String>>,
}

/// The cost hint of a definition, anchored in its text.
struct CostHint {
    anchor: Anchor,
    hint: SourceHint,
}

impl CostHint {
    /// Returns the definition and its cost for [`SavedModule`].
    fn cost_entry(&self) -> (GlobalName, String) {
        (self.anchor.item.clone(), self.hint.text.clone())
    }
}

impl DiagnosticStore {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            published: HashMap::new(),
            module_diagnostics: HashMap::new(),
            missing_files: HashSet::new(),
            warnings: HashMap::new(),
            run_errors: HashMap::new(),
            costs: HashMap::new(),
            saved: HashMap::new(),
            last_known: LastKnown::default(),
        }
    }

    fn publish(&mut self, document: &ClientDocument, diagnostics: Vec<lsp::Diagnostic>) {
        let publication = (document.version, diagnostics);
        if self.published.get(&document.url) != Some(&publication) {
            let (version, diagnostics) = publication.clone();
            self.published.insert(document.url.clone(), publication);
            let params = PublishDiagnosticsParams { uri: document.url.clone(), diagnostics, version: Some(version) };
            self.client.notify::<PublishDiagnostics>(params);
        }
    }

    /// Stores the costs of a module. Definitions that have no costs because of errors keep their
    /// previous ones.
    fn store_costs(
        &mut self,
        module: &ModuleName,
        warnings: Vec<AnchoredDiagnostic>,
        mut costs: Vec<CostHint>,
        broken: bool,
    ) {
        self.warnings.insert(module.clone(), warnings);
        if let Some(saved) = self.saved.get_mut(module).filter(|saved| saved.costs.is_none() && !costs.is_empty()) {
            // If an item was edited meanwhile, its saved cost is unknown.
            let same = costs.iter().filter(|c| saved.text.contains(&*c.anchor.text));
            saved.costs = Some(same.map(CostHint::cost_entry).collect());
        }
        let before = self.costs.remove(module).filter(|_| broken).unwrap_or_default();
        let is_known = |c: &CostHint| costs.iter().any(|known| known.anchor.item == c.anchor.item);
        let before: Vec<CostHint> = before.into_iter().filter(|c| !is_known(c)).collect();
        costs.extend(before);
        self.costs.insert(module.clone(), costs);
    }

    /// Stores the errors of an evaluation of a module. Returns whether the shown errors change.
    pub(crate) fn store_run_errors(
        &mut self,
        session: &Session,
        module: &ModuleName,
        failures: Vec<Diagnostic>,
    ) -> bool {
        let failures: Vec<_> =
            failures.into_iter().filter_map(|d| AnchoredDiagnostic::new(session, module, d)).collect();
        let known = !failures.is_empty();
        let before = match known {
            true => self.run_errors.insert(module.clone(), failures),
            false => self.run_errors.remove(module),
        };
        known || before.is_some()
    }

    /// Makes this text of a module the reference for changes of costs. If `known` is set, the
    /// stored costs are those of this text.
    pub(crate) fn set_cost_reference(&mut self, module: &ModuleName, text: &str, known: bool) {
        let costs = self.costs.get(module).filter(|costs| known && !costs.is_empty());
        let costs = costs.map(|costs| costs.iter().map(CostHint::cost_entry).collect());
        self.saved.insert(module.clone(), SavedModule { text: text.to_owned(), costs });
    }

    /// Returns the cost hints at their current positions. If `change` is set, each shows the cost
    /// at the last save if that differs. A hint of an edited item is marked as last known.
    pub(crate) fn cost_hints(&self, session: &Session, module: &str, change: bool) -> Vec<SourceHint> {
        let saved = self.saved.get(module).filter(|_| change).and_then(|saved| saved.costs.as_ref());
        let placed = |known: &CostHint| {
            let (at, mark) = match known.anchor.current_span(session) {
                Some(place) => (place.start, ""),
                None => (known.anchor.end_of_line(session)?, LAST_KNOWN_MARK),
            };
            let before = saved.and_then(|saved| saved.get(&known.anchor.item));
            let before = before.filter(|before| !is_equal_up_to_names(before, &known.hint.text));
            let changed = before.map(|before| format!(" (saved: {before})")).unwrap_or_default();
            Some(SourceHint { offset: at, text: format!("{}{changed}{mark}", known.hint.text), ..known.hint.clone() })
        };
        self.costs.get(module).into_iter().flatten().filter_map(placed).collect()
    }

    /// Clears the diagnostics of closed documents and forgets their data.
    fn forget_closed(&mut self, context: &RequestContext<'_>) {
        let closed: Vec<Url> =
            self.published.keys().filter(|url| context.documents.get(url).is_none()).cloned().collect();
        for uri in closed {
            self.published.remove(&uri);
            let params = PublishDiagnosticsParams { uri, diagnostics: Vec::new(), version: None };
            self.client.notify::<PublishDiagnostics>(params);
        }
        let is_open = |module: &ModuleName| context.documents.of_module(module).is_some();
        self.module_diagnostics.retain(|module, _| is_open(module));
        self.warnings.retain(|module, _| is_open(module));
        self.run_errors.retain(|module, _| is_open(module));
        self.costs.retain(|module, _| is_open(module));
        self.saved.retain(|module, _| is_open(module));
        self.last_known.retain(is_open);
    }
}

/// Returns whether two texts are equal up to a renaming of sizes.
fn is_equal_up_to_names(before: &str, now: &str) -> bool {
    let (mut names, mut back) = (HashMap::<&str, &str>::new(), HashMap::<&str, &str>::new());
    let (before, now) = (split_words(before), split_words(now));
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic());
    let mut pairs = before.iter().copied().zip(now.iter().copied());
    before.len() == now.len()
        && pairs.all(|(a, b)| match is_name(a) && is_name(b) {
            true => *names.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a,
            false => a == b,
        })
}

/// Splits a text into words and the characters between them.
fn split_words(text: &str) -> Vec<&str> {
    let is_power = |c: char| matches!(c, '¹' | '²' | '³' | '⁰' | '⁴'..='⁹');
    let is_word = |c: char| c.is_alphanumeric() && !is_power(c) || c == '_' || c == '\'';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

fn lock_store(checker: &Mutex<DiagnosticStore>) -> std::sync::MutexGuard<'_, DiagnosticStore> {
    checker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task that publishes the diagnostics of all open documents.
pub(crate) struct CheckTask {
    /// The modules whose imports may be missing.
    pub(crate) changed_modules: Vec<ModuleName>,
    /// The edited document.
    pub(crate) edited: Option<Url>,
    /// The views that are files.
    pub(crate) views: Vec<ViewTarget>,
    pub(crate) queue: StepQueue,
}

impl WorkerQuestion for CheckTask {
    fn subject(&self) -> Option<&QuestionSubject> {
        None
    }

    fn pool_kind(&self) -> PoolKind {
        PoolKind::Checks
    }

    fn run(&mut self, world: &WorkerContext) -> bool {
        world.snapshot.ask(|session| self.run_check(session, world)).is_some()
    }

    fn fail(&mut self, _: Error) {}
}

impl CheckTask {
    fn run_check(&self, session: &Session, world: &WorkerContext) {
        let context = world.request_context(session);
        let missing: HashSet<ModuleName> = self
            .changed_modules
            .iter()
            .flat_map(|module| session.missing_imports_of(module))
            .map(|m| m.module)
            .collect();
        // The import may omit the extension of the file.
        let ended: Vec<ModuleName> =
            missing.iter().filter(|m| !m.ends_with(".iv")).map(|m| with_file_extension(m).into()).collect();
        let ended = ended.into_iter().filter(|module| session.text(module).is_none());
        let mut missing: Vec<ModuleName> = ended.chain(missing.iter().cloned()).collect();
        missing.retain(|module| !lock_store(context.diagnostic_store).missing_files.contains(module));
        let fresh = self.changed_modules.clone();
        if !missing.is_empty() {
            // Reading them triggers another check.
            self.queue.send(move |state| {
                state.imports_searched(&fresh);
                state.read(missing);
            });
            return;
        }
        self.queue.send(move |state| state.imports_searched(&fresh));
        let documents = if context.abilities.pulls_diagnostics {
            Vec::new()
        } else {
            ordered_documents(&context, self.edited.as_ref())
        };
        for document in documents {
            let before = lock_store(context.diagnostic_store).module_diagnostics.get(&document.module).cloned();
            // For a large module, the diagnostics of the edited items come first.
            if let Some(before) = before.filter(|before| before.items() > LARGE_MODULE_ITEMS)
                && let Some(found) = session.diagnostics_after_edit(&document.module, &before)
            {
                publish_document(&context, document, &found);
            }
            let found = session.module_diagnostics(&document.module);
            publish_document(&context, document, &found);
            lock_store(context.diagnostic_store).module_diagnostics.insert(document.module.clone(), found);
        }
        lock_store(context.diagnostic_store).forget_closed(&context);
        self.queue.send(|state| state.views_changed());
        self.views.iter().for_each(|view| view.update_file(&context));
    }
}

/// A module with more items is large.
const LARGE_MODULE_ITEMS: usize = 256;

fn publish_document(context: &RequestContext<'_>, document: &ClientDocument, found: &ModuleDiagnostics) {
    if let Some(diagnostics) = protocol_diagnostics(context, document, found.diagnostics()) {
        lock_store(context.diagnostic_store).publish(document, diagnostics);
    }
}

/// Returns the open documents, `first` before the others.
fn ordered_documents<'d>(context: &RequestContext<'d>, first: Option<&Url>) -> Vec<&'d Arc<ClientDocument>> {
    let own = |d: &&Arc<ClientDocument>| !files::is_library(&d.module) && !views::is_view(&d.url);
    let mut all: Vec<_> = context.documents.iter().filter(own).collect();
    all.sort_by(|a, b| (Some(&a.url) != first, &a.url).cmp(&(Some(&b.url) != first, &b.url)));
    all
}

/// Returns all diagnostics of a document, in the protocol's form.
pub(crate) fn document_diagnostics(
    context: &RequestContext<'_>,
    document: &ClientDocument,
) -> Option<Vec<lsp::Diagnostic>> {
    if views::is_view(&document.url) {
        return None;
    }
    protocol_diagnostics(context, document, context.session.diagnostics(&document.module))
}

/// Combines the diagnostics of a document with the stored warnings and errors, in the protocol's
/// form.
fn protocol_diagnostics(
    context: &RequestContext<'_>,
    document: &ClientDocument,
    mut all: Vec<Diagnostic>,
) -> Option<Vec<lsp::Diagnostic>> {
    let text = context.text(&document.module)?;
    let checker = lock_store(context.diagnostic_store);
    let kept = |of: &HashMap<ModuleName, Vec<AnchoredDiagnostic>>| {
        let kept = of.get(&document.module).map(Vec::as_slice).unwrap_or_default();
        kept.iter().filter_map(|d| d.current_diagnostic(context.session)).collect::<Vec<_>>()
    };
    if context.settings.grad_cost {
        all.extend(kept(&checker.warnings));
    }
    all.extend(kept(&checker.run_errors));
    drop(checker);
    Some(all.iter().map(|d| to_protocol(context, &text, &document.url, d)).collect())
}

/// Converts a diagnostic to the protocol.
fn to_protocol(context: &RequestContext<'_>, text: &ModuleText, url: &Url, d: &Diagnostic) -> lsp::Diagnostic {
    let mut message = d.message.clone();
    let help = d.help.as_ref().map(|help| format!("help: {help}")).unwrap_or_default();
    for more in [&d.label, &help].into_iter().filter(|more| !more.is_empty()) {
        message.push('\n');
        message.push_str(more);
    }
    let related = |label: &RelatedLabel| {
        let location = match &label.module {
            Some(module) if *module != text.module => {
                context.location(&lang_ide::Location { module: module.clone(), span: label.span })?
            }
            _ => lsp::Location { uri: url.clone(), range: text.range(label.span) },
        };
        Some(DiagnosticRelatedInformation { location, message: label.message.clone() })
    };
    let with_views = context.abilities.views || context.abilities.content_documents;
    lsp::Diagnostic {
        range: text.range(d.span),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(d.code.name().to_owned())),
        code_description: pages::page_url(d.code, with_views).map(|href| CodeDescription { href }),
        source: Some("iverson".to_owned()),
        message,
        related_information: (context.abilities.related_locations && !d.related.is_empty())
            .then(|| d.related.iter().filter_map(related).collect()),
        tags: (d.code == Code::W0401).then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    }
}

/// A warning whose spans are anchored to items.
struct AnchoredDiagnostic {
    diagnostic: Diagnostic,
    anchors: Vec<Anchor>,
}

/// A span inside an item.
struct Anchor {
    item: GlobalName,
    text: Arc<str>,
    span_in_item: Span,
}

impl Anchor {
    /// Anchors a span of a module to its item. `None` if it is in no item.
    fn new(session: &Session, module: &str, span: Span) -> Option<Self> {
        let item = session.item_at(module, span.start)?;
        let within = Span::new(span.start.checked_sub(item.start)?, span.end.checked_sub(item.start)?);
        Some(Self { item: item.global, text: item.text, span_in_item: within })
    }

    /// Returns the current span, if the item's text is unchanged.
    fn current_span(&self, session: &Session) -> Option<Span> {
        let item = session.item(&self.item).filter(|item| item.text == self.text)?;
        Some(self.span_in_item.shift(item.start))
    }

    /// Returns the end of the anchored line in the item's current text. If the first difference of
    /// the texts is earlier, returns the end of its line.
    fn end_of_line(&self, session: &Session) -> Option<u32> {
        let item = session.item(&self.item)?;
        let same = item.text.bytes().zip(self.text.bytes()).take_while(|(a, b)| a == b).count();
        let mut at = same.min(self.span_in_item.start as usize);
        while !item.text.is_char_boundary(at) {
            at = at.checked_sub(1)?;
        }
        let rest = item.text.get(at..)?;
        let end = at.checked_add(rest.find('\n').unwrap_or(rest.len()))?;
        item.start.checked_add(u32::try_from(end).ok()?)
    }
}

impl AnchoredDiagnostic {
    /// Anchors a warning of a module.
    fn new(session: &Session, module: &str, diagnostic: Diagnostic) -> Option<Self> {
        // Spans in the library do not move.
        let related = diagnostic.related.iter().filter(|l| l.module.is_none()).map(|l| l.span);
        let spans = std::iter::once(diagnostic.span).chain(related);
        let places = spans.map(|span| Anchor::new(session, module, span)).collect::<Option<_>>()?;
        Some(Self { diagnostic, anchors: places })
    }

    /// Returns the warning at its current spans, if the texts of its items are unchanged.
    fn current_diagnostic(&self, session: &Session) -> Option<Diagnostic> {
        let mut diagnostic = self.diagnostic.clone();
        let related = diagnostic.related.iter_mut().filter(|l| l.module.is_none()).map(|l| &mut l.span);
        let spans = std::iter::once(&mut diagnostic.span).chain(related);
        for (span, anchor) in spans.zip(&self.anchors) {
            *span = anchor.current_span(session)?;
        }
        Some(diagnostic)
    }
}

/// The task that computes the costs of all definitions of the open documents, and the warnings
/// about them.
pub(crate) struct CostsTask {
    /// The edited document.
    pub(crate) edited: Option<Url>,
    pub(crate) queue: StepQueue,
}

impl WorkerQuestion for CostsTask {
    fn subject(&self) -> Option<&QuestionSubject> {
        None
    }

    fn pool_kind(&self) -> PoolKind {
        PoolKind::Costs
    }

    fn run(&mut self, world: &WorkerContext) -> bool {
        let all = world.snapshot.ask(|session| {
            let context = world.request_context(session);
            let broken = context.has_errors();
            for document in ordered_documents(&context, self.edited.as_ref()) {
                let module = &document.module;
                if context.settings.lenses.cost {
                    self.compute_titles(&context, module, broken);
                }
                let found = if context.settings.grad_cost { session.adjoint_cost_warnings(module) } else { Vec::new() };
                let warnings = found.into_iter().filter_map(|d| AnchoredDiagnostic::new(session, module, d)).collect();
                let costs = if context.settings.hints.cost { collect_cost_hints(session, module) } else { Vec::new() };
                lock_store(context.diagnostic_store).store_costs(module, warnings, costs, broken);
            }
            self.queue.send(|state| state.costs_computed());
            let open: Vec<ModuleName> =
                ordered_documents(&context, self.edited.as_ref()).iter().map(|d| d.module.clone()).collect();
            open.iter().for_each(|module| insight::precompute_hovers(&context, module));
        });
        all.is_some()
    }

    fn fail(&mut self, _: Error) {}
}

impl CostsTask {
    /// Computes the titles of lenses, and makes the client refresh them periodically.
    fn compute_titles(&self, context: &RequestContext<'_>, module: &ModuleName, broken: bool) {
        let mut refreshed_at = Instant::now();
        for item in context.session.items(module).iter().filter(|item| item.kind == ItemKind::Def) {
            let _ = insight::cost_lens_title(context, &item.global, || broken);
            if refreshed_at.elapsed() >= REFRESH_INTERVAL {
                refreshed_at = Instant::now();
                self.queue.send(|state| state.refresh_costs());
            }
        }
    }
}

/// The interval at which the client refreshes lenses while costs are being computed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the cost hints of all definitions of a module.
fn collect_cost_hints(session: &Session, module: &str) -> Vec<CostHint> {
    let wanted = HintSelection { extents: false, sizes: false, types: false, cost: true };
    let all = hints(session, module, Span::new(0, u32::MAX), wanted).into_iter();
    let anchored = |hint: SourceHint| {
        Some(CostHint { anchor: Anchor::new(session, module, Span::new(hint.offset, hint.offset))?, hint })
    };
    all.filter_map(anchored).collect()
}

#[cfg(test)]
mod tests {
    use super::is_equal_up_to_names;

    #[test]
    fn costs_with_other_names_of_sizes_are_the_same() {
        assert!(is_equal_up_to_names("work 2·n·m − n", "work 2·k·m − k"));
        assert!(is_equal_up_to_names("work 2·n·m − n", "work 2·m·n − m"));
        assert!(!is_equal_up_to_names("work 2·n·m − n", "work 2·n·n − n"));
        assert!(!is_equal_up_to_names("work 2·n·n − n", "work 2·n·m − n"));
        assert!(!is_equal_up_to_names("work 2·n", "work 3·n"));
        assert!(!is_equal_up_to_names("work n", "work n²"));
    }
}

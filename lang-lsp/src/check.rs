//! **Diagnostics.** A check runs on a worker after every change. It first makes the loop read
//! missing imports. Then it computes the diagnostics of every open document, the edited one first,
//! and publishes those that differ from the client's. For a large module, the edited items are
//! published before the rest is checked.
//!
//! Warnings about costs take longer. [`Costs`] computes them when the user has stopped typing.
//! Until then, earlier warnings stay if their items have the same text. The errors of the last
//! evaluation stay by the same rule.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lang_ide::hints::{Hint, Wanted, hints};
use lang_ide::{
    Code, Diagnostic, Found, GlobalName, ItemKind, Label, ModuleName, Session, Severity, Span, with_ending,
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
use crate::lane::Kind;
use crate::last_known::{LastKnown, MARK};
use crate::pages;
use crate::state::Queue;
use crate::views::{self, View};
use crate::world::{About, Document, Question, Seen, Text, World};

/// The diagnostics that the client has, and the data for the next ones.
pub(crate) struct Checker {
    client: Client,
    /// The published diagnostics of each document, with its version.
    published: HashMap<Url, (i32, Vec<lsp::Diagnostic>)>,
    /// The complete diagnostics by module.
    found: HashMap<ModuleName, Found>,
    /// Imported modules for which no file exists.
    pub(crate) absent: HashSet<ModuleName>,
    /// The warnings about costs by module.
    warnings: HashMap<ModuleName, Vec<Anchored>>,
    /// The errors of the last evaluation by module.
    failures: HashMap<ModuleName, Vec<Anchored>>,
    /// The cost hints by module.
    costs: HashMap<ModuleName, Vec<CostHint>>,
    /// The texts and costs of the modules when they were opened or saved.
    saved: HashMap<ModuleName, Saved>,
    /// The last values of hovers and lenses.
    pub(crate) last: LastKnown,
}

/// A module at the time when it was opened or saved.
struct Saved {
    text: String,
    /// The costs of its definitions, once they are computed.
    costs: Option<HashMap<GlobalName, String>>,
}

/// The cost hint of a definition, anchored in its text.
struct CostHint {
    anchor: Anchor,
    hint: Hint,
}

impl CostHint {
    /// Returns the definition and its cost for [`Saved`].
    fn saved(&self) -> (GlobalName, String) {
        (self.anchor.item.clone(), self.hint.text.clone())
    }
}

impl Checker {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            published: HashMap::new(),
            found: HashMap::new(),
            absent: HashSet::new(),
            warnings: HashMap::new(),
            failures: HashMap::new(),
            costs: HashMap::new(),
            saved: HashMap::new(),
            last: LastKnown::default(),
        }
    }

    fn publish(&mut self, document: &Document, diagnostics: Vec<lsp::Diagnostic>) {
        let told = (document.version, diagnostics);
        if self.published.get(&document.url) != Some(&told) {
            let (version, diagnostics) = told.clone();
            self.published.insert(document.url.clone(), told);
            let params = PublishDiagnosticsParams { uri: document.url.clone(), diagnostics, version: Some(version) };
            self.client.notify::<PublishDiagnostics>(params);
        }
    }

    /// Stores the costs of a module. Definitions that have no costs because of errors keep their
    /// previous ones.
    fn costs_known(&mut self, module: &ModuleName, warnings: Vec<Anchored>, mut costs: Vec<CostHint>, broken: bool) {
        self.warnings.insert(module.clone(), warnings);
        if let Some(saved) = self.saved.get_mut(module).filter(|saved| saved.costs.is_none() && !costs.is_empty()) {
            // If an item was edited meanwhile, its saved cost is unknown.
            let same = costs.iter().filter(|c| saved.text.contains(&*c.anchor.text));
            saved.costs = Some(same.map(CostHint::saved).collect());
        }
        let before = self.costs.remove(module).filter(|_| broken).unwrap_or_default();
        let is_known = |c: &CostHint| costs.iter().any(|known| known.anchor.item == c.anchor.item);
        let before: Vec<CostHint> = before.into_iter().filter(|c| !is_known(c)).collect();
        costs.extend(before);
        self.costs.insert(module.clone(), costs);
    }

    /// Stores the errors of an evaluation of a module. Returns whether the shown errors change.
    pub(crate) fn ran(&mut self, session: &Session, module: &ModuleName, failures: Vec<Diagnostic>) -> bool {
        let failures: Vec<_> = failures.into_iter().filter_map(|d| Anchored::new(session, module, d)).collect();
        let known = !failures.is_empty();
        let before = match known {
            true => self.failures.insert(module.clone(), failures),
            false => self.failures.remove(module),
        };
        known || before.is_some()
    }

    /// Makes this text of a module the reference for changes of costs. If `known` is set, the
    /// stored costs are those of this text.
    pub(crate) fn counts_from(&mut self, module: &ModuleName, text: &str, known: bool) {
        let costs = self.costs.get(module).filter(|costs| known && !costs.is_empty());
        let costs = costs.map(|costs| costs.iter().map(CostHint::saved).collect());
        self.saved.insert(module.clone(), Saved { text: text.to_owned(), costs });
    }

    /// Returns the cost hints at their current positions. If `change` is set, each shows the cost
    /// at the last save if that differs. A hint of an edited item is marked as last known.
    pub(crate) fn cost_hints(&self, session: &Session, module: &str, change: bool) -> Vec<Hint> {
        let saved = self.saved.get(module).filter(|_| change).and_then(|saved| saved.costs.as_ref());
        let placed = |known: &CostHint| {
            let (at, mark) = match known.anchor.placed(session) {
                Some(place) => (place.start, ""),
                None => (known.anchor.end_of_line(session)?, MARK),
            };
            let before = saved.and_then(|saved| saved.get(&known.anchor.item));
            let before = before.filter(|before| !is_renamed(before, &known.hint.text));
            let changed = before.map(|before| format!(" (saved: {before})")).unwrap_or_default();
            Some(Hint { at, text: format!("{}{changed}{mark}", known.hint.text), ..known.hint.clone() })
        };
        self.costs.get(module).into_iter().flatten().filter_map(placed).collect()
    }

    /// Clears the diagnostics of closed documents and forgets their data.
    fn forget(&mut self, seen: &Seen<'_>) {
        let closed: Vec<Url> = self.published.keys().filter(|url| seen.documents.get(url).is_none()).cloned().collect();
        for uri in closed {
            self.published.remove(&uri);
            let params = PublishDiagnosticsParams { uri, diagnostics: Vec::new(), version: None };
            self.client.notify::<PublishDiagnostics>(params);
        }
        let is_open = |module: &ModuleName| seen.documents.of_module(module).is_some();
        self.found.retain(|module, _| is_open(module));
        self.warnings.retain(|module, _| is_open(module));
        self.failures.retain(|module, _| is_open(module));
        self.costs.retain(|module, _| is_open(module));
        self.saved.retain(|module, _| is_open(module));
        self.last.retain(is_open);
    }
}

/// Returns whether two texts are equal up to a renaming of sizes.
fn is_renamed(before: &str, now: &str) -> bool {
    let (mut names, mut back) = (HashMap::<&str, &str>::new(), HashMap::<&str, &str>::new());
    let (before, now) = (words(before), words(now));
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic());
    let mut pairs = before.iter().copied().zip(now.iter().copied());
    before.len() == now.len()
        && pairs.all(|(a, b)| match is_name(a) && is_name(b) {
            true => *names.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a,
            false => a == b,
        })
}

/// Splits a text into words and the characters between them.
fn words(text: &str) -> Vec<&str> {
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

fn locked(checker: &Mutex<Checker>) -> std::sync::MutexGuard<'_, Checker> {
    checker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task that publishes the diagnostics of all open documents.
pub(crate) struct Check {
    /// The modules whose imports may be missing.
    pub(crate) fresh: Vec<ModuleName>,
    /// The edited document.
    pub(crate) first: Option<Url>,
    /// The views that are files.
    pub(crate) views: Vec<View>,
    pub(crate) queue: Queue,
}

impl Question for Check {
    fn about(&self) -> Option<&About> {
        None
    }

    fn lane(&self) -> Kind {
        Kind::Checks
    }

    fn ask(&mut self, world: &World) -> bool {
        world.snapshot.ask(|session| self.check(session, world)).is_some()
    }

    fn refuse(&mut self, _: Error) {}
}

impl Check {
    fn check(&self, session: &Session, world: &World) {
        let seen = world.seen(session);
        let missing: HashSet<ModuleName> =
            self.fresh.iter().flat_map(|module| session.missing_imports_of(module)).map(|m| m.module).collect();
        // The import may omit the extension of the file.
        let ended: Vec<ModuleName> =
            missing.iter().filter(|m| !m.ends_with(".iv")).map(|m| with_ending(m).into()).collect();
        let ended = ended.into_iter().filter(|module| session.text(module).is_none());
        let mut missing: Vec<ModuleName> = ended.chain(missing.iter().cloned()).collect();
        missing.retain(|module| !locked(seen.checker).absent.contains(module));
        let fresh = self.fresh.clone();
        if !missing.is_empty() {
            // Reading them triggers another check.
            self.queue.send(move |state| {
                state.looked(&fresh);
                state.read(missing);
            });
            return;
        }
        self.queue.send(move |state| state.looked(&fresh));
        let told = if seen.abilities.pulls { Vec::new() } else { in_order(&seen, self.first.as_ref()) };
        for document in told {
            let before = locked(seen.checker).found.get(&document.module).cloned();
            // For a large module, the diagnostics of the edited items come first.
            if let Some(before) = before.filter(|before| before.items() > LARGE)
                && let Some(found) = session.found_soon(&document.module, &before)
            {
                publish(&seen, document, &found);
            }
            let found = session.found(&document.module);
            publish(&seen, document, &found);
            locked(seen.checker).found.insert(document.module.clone(), found);
        }
        locked(seen.checker).forget(&seen);
        self.queue.send(|state| state.views_changed());
        self.views.iter().for_each(|view| view.follow(&seen));
    }
}

/// A module with more items is large.
const LARGE: usize = 256;

fn publish(seen: &Seen<'_>, document: &Document, found: &Found) {
    if let Some(diagnostics) = told(seen, document, found.diagnostics()) {
        locked(seen.checker).publish(document, diagnostics);
    }
}

/// Returns the open documents, `first` before the others.
fn in_order<'d>(seen: &Seen<'d>, first: Option<&Url>) -> Vec<&'d Arc<Document>> {
    let own = |d: &&Arc<Document>| !files::is_library(&d.module) && !views::is_view(&d.url);
    let mut all: Vec<_> = seen.documents.iter().filter(own).collect();
    all.sort_by(|a, b| (Some(&a.url) != first, &a.url).cmp(&(Some(&b.url) != first, &b.url)));
    all
}

/// Returns all diagnostics of a document, in the protocol's form.
pub(crate) fn diagnostics(seen: &Seen<'_>, document: &Document) -> Option<Vec<lsp::Diagnostic>> {
    if views::is_view(&document.url) {
        return None;
    }
    told(seen, document, seen.session.diagnostics(&document.module))
}

/// Combines the diagnostics of a document with the stored warnings and errors, in the protocol's
/// form.
fn told(seen: &Seen<'_>, document: &Document, mut all: Vec<Diagnostic>) -> Option<Vec<lsp::Diagnostic>> {
    let text = seen.text(&document.module)?;
    let checker = locked(seen.checker);
    let kept = |of: &HashMap<ModuleName, Vec<Anchored>>| {
        let kept = of.get(&document.module).map(Vec::as_slice).unwrap_or_default();
        kept.iter().filter_map(|d| d.placed(seen.session)).collect::<Vec<_>>()
    };
    if seen.settings.grad_cost {
        all.extend(kept(&checker.warnings));
    }
    all.extend(kept(&checker.failures));
    drop(checker);
    Some(all.iter().map(|d| diagnostic(seen, &text, &document.url, d)).collect())
}

/// Converts a diagnostic to the protocol.
fn diagnostic(seen: &Seen<'_>, text: &Text, url: &Url, d: &Diagnostic) -> lsp::Diagnostic {
    let mut message = d.message.clone();
    let help = d.help.as_ref().map(|help| format!("help: {help}")).unwrap_or_default();
    for more in [&d.label, &help].into_iter().filter(|more| !more.is_empty()) {
        message.push('\n');
        message.push_str(more);
    }
    let related = |label: &Label| {
        let location = match &label.module {
            Some(module) if *module != text.module => {
                seen.location(&lang_ide::Location { module: module.clone(), span: label.span })?
            }
            _ => lsp::Location { uri: url.clone(), range: text.range(label.span) },
        };
        Some(DiagnosticRelatedInformation { location, message: label.message.clone() })
    };
    let with_views = seen.abilities.views || seen.abilities.content;
    lsp::Diagnostic {
        range: text.range(d.span),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(d.code.name().to_owned())),
        code_description: pages::of_code(d.code, with_views).map(|href| CodeDescription { href }),
        source: Some("iverson".to_owned()),
        message,
        related_information: (seen.abilities.related && !d.related.is_empty())
            .then(|| d.related.iter().filter_map(related).collect()),
        tags: (d.code == Code::W0401).then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    }
}

/// A warning whose spans are anchored to items.
struct Anchored {
    diagnostic: Diagnostic,
    places: Vec<Anchor>,
}

/// A span inside an item.
struct Anchor {
    item: GlobalName,
    text: Arc<str>,
    within: Span,
}

impl Anchor {
    /// Anchors a span of a module to its item. `None` if it is in no item.
    fn new(session: &Session, module: &str, span: Span) -> Option<Self> {
        let item = session.item_at(module, span.start)?;
        let within = Span::new(span.start.checked_sub(item.start)?, span.end.checked_sub(item.start)?);
        Some(Self { item: item.global, text: item.text, within })
    }

    /// Returns the current span, if the item's text is unchanged.
    fn placed(&self, session: &Session) -> Option<Span> {
        let item = session.item(&self.item).filter(|item| item.text == self.text)?;
        Some(self.within.shift(item.start))
    }

    /// Returns the end of the anchored line in the item's current text. If the first difference of
    /// the texts is earlier, returns the end of its line.
    fn end_of_line(&self, session: &Session) -> Option<u32> {
        let item = session.item(&self.item)?;
        let same = item.text.bytes().zip(self.text.bytes()).take_while(|(a, b)| a == b).count();
        let mut at = same.min(self.within.start as usize);
        while !item.text.is_char_boundary(at) {
            at = at.checked_sub(1)?;
        }
        let rest = item.text.get(at..)?;
        let end = at.checked_add(rest.find('\n').unwrap_or(rest.len()))?;
        item.start.checked_add(u32::try_from(end).ok()?)
    }
}

impl Anchored {
    /// Anchors a warning of a module.
    fn new(session: &Session, module: &str, diagnostic: Diagnostic) -> Option<Self> {
        // Spans in the library do not move.
        let related = diagnostic.related.iter().filter(|l| l.module.is_none()).map(|l| l.span);
        let spans = std::iter::once(diagnostic.span).chain(related);
        let places = spans.map(|span| Anchor::new(session, module, span)).collect::<Option<_>>()?;
        Some(Self { diagnostic, places })
    }

    /// Returns the warning at its current spans, if the texts of its items are unchanged.
    fn placed(&self, session: &Session) -> Option<Diagnostic> {
        let mut diagnostic = self.diagnostic.clone();
        let related = diagnostic.related.iter_mut().filter(|l| l.module.is_none()).map(|l| &mut l.span);
        let spans = std::iter::once(&mut diagnostic.span).chain(related);
        for (span, anchor) in spans.zip(&self.places) {
            *span = anchor.placed(session)?;
        }
        Some(diagnostic)
    }
}

/// The task that computes the costs of all definitions of the open documents, and the warnings
/// about them.
pub(crate) struct Costs {
    /// The edited document.
    pub(crate) first: Option<Url>,
    pub(crate) queue: Queue,
}

impl Question for Costs {
    fn about(&self) -> Option<&About> {
        None
    }

    fn lane(&self) -> Kind {
        Kind::Costs
    }

    fn ask(&mut self, world: &World) -> bool {
        let all = world.snapshot.ask(|session| {
            let seen = world.seen(session);
            let broken = seen.is_broken();
            for document in in_order(&seen, self.first.as_ref()) {
                let module = &document.module;
                if seen.settings.lenses.cost {
                    self.titles(&seen, module, broken);
                }
                let found = if seen.settings.grad_cost { session.grad_costs(module) } else { Vec::new() };
                let warnings = found.into_iter().filter_map(|d| Anchored::new(session, module, d)).collect();
                let costs = if seen.settings.hints.cost { cost_hints(session, module) } else { Vec::new() };
                locked(seen.checker).costs_known(module, warnings, costs, broken);
            }
            self.queue.send(|state| state.costs_known());
            let open: Vec<ModuleName> = in_order(&seen, self.first.as_ref()).iter().map(|d| d.module.clone()).collect();
            open.iter().for_each(|module| insight::prepare(&seen, module));
        });
        all.is_some()
    }

    fn refuse(&mut self, _: Error) {}
}

impl Costs {
    /// Computes the titles of lenses, and makes the client refresh them periodically.
    fn titles(&self, seen: &Seen<'_>, module: &ModuleName, broken: bool) {
        let mut told = Instant::now();
        for item in seen.session.items(module).iter().filter(|item| item.kind == ItemKind::Def) {
            let _ = insight::title(seen, &item.global, || broken);
            if told.elapsed() >= OFTEN {
                told = Instant::now();
                self.queue.send(|state| state.refresh_costs());
            }
        }
    }
}

/// The interval at which the client refreshes lenses while costs are being computed.
const OFTEN: Duration = Duration::from_secs(1);

/// Returns the cost hints of all definitions of a module.
fn cost_hints(session: &Session, module: &str) -> Vec<CostHint> {
    let wanted = Wanted { extents: false, sizes: false, types: false, cost: true };
    let all = hints(session, module, Span::new(0, u32::MAX), wanted).into_iter();
    let anchored =
        |hint: Hint| Some(CostHint { anchor: Anchor::new(session, module, Span::new(hint.at, hint.at))?, hint });
    all.filter_map(anchored).collect()
}

#[cfg(test)]
mod tests {
    use super::is_renamed;

    #[test]
    fn costs_with_other_names_of_sizes_are_the_same() {
        assert!(is_renamed("work 2·n·m − n", "work 2·k·m − k"));
        assert!(is_renamed("work 2·n·m − n", "work 2·m·n − m"));
        assert!(!is_renamed("work 2·n·m − n", "work 2·n·n − n"));
        assert!(!is_renamed("work 2·n·n − n", "work 2·n·m − n"));
        assert!(!is_renamed("work 2·n", "work 3·n"));
        assert!(!is_renamed("work n", "work n²"));
    }
}

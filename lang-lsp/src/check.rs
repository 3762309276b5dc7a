//! What is wrong, told to the client. A check runs on a thread of its own after every change: what imports are missing is
//! read first, then every open document's diagnostics are asked for, that which was edited before the others, and
//! published where they are not what the client has. Of a large one what was edited is told before the rest is asked for.
//!
//! Warnings about costs take longer and come from [`Costs`], when nobody has typed for a while. Until they are known
//! again, those whose places have the same text as before stay. So does what went wrong in the last evaluation.

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

/// What the client was told, and what else has to be known to tell more.
pub(crate) struct Checker {
    client: Client,
    /// What was published of each document, and of which version.
    published: HashMap<Url, (i32, Vec<lsp::Diagnostic>)>,
    /// What was found in modules, all of it.
    found: HashMap<ModuleName, Found>,
    /// Modules that are imported and are no files.
    pub(crate) absent: HashSet<ModuleName>,
    /// Warnings about costs by module.
    warnings: HashMap<ModuleName, Vec<Anchored>>,
    /// What went wrong in the last evaluation, by module.
    failures: HashMap<ModuleName, Vec<Anchored>>,
    /// Hints of costs by module.
    costs: HashMap<ModuleName, Vec<CostHint>>,
    /// What they were when the module was opened or saved.
    saved: HashMap<ModuleName, Saved>,
    /// The last values of hovers and lenses.
    pub(crate) last: LastKnown,
}

/// A module when it was opened or saved.
struct Saved {
    text: String,
    /// What its definitions cost; not known at once.
    costs: Option<HashMap<GlobalName, String>>,
}

/// The cost of a definition as a hint in its text.
struct CostHint {
    anchor: Anchor,
    hint: Hint,
}

impl CostHint {
    /// What is kept of it.
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

    /// The costs of a module are known; of definitions that have none for mistakes in the text, those of before.
    fn costs_known(&mut self, module: &ModuleName, warnings: Vec<Anchored>, mut costs: Vec<CostHint>, broken: bool) {
        self.warnings.insert(module.clone(), warnings);
        if let Some(saved) = self.saved.get_mut(module).filter(|saved| saved.costs.is_none() && !costs.is_empty()) {
            // Of what was edited meanwhile it is not known what it cost.
            let same = costs.iter().filter(|c| saved.text.contains(&*c.anchor.text));
            saved.costs = Some(same.map(CostHint::saved).collect());
        }
        let before = self.costs.remove(module).filter(|_| broken).unwrap_or_default();
        let is_known = |c: &CostHint| costs.iter().any(|known| known.anchor.item == c.anchor.item);
        let before: Vec<CostHint> = before.into_iter().filter(|c| !is_known(c)).collect();
        costs.extend(before);
        self.costs.insert(module.clone(), costs);
    }

    /// An evaluation of a module ended, with this gone wrong; is that another thing than before?
    pub(crate) fn ran(&mut self, session: &Session, module: &ModuleName, failures: Vec<Diagnostic>) -> bool {
        let failures: Vec<_> = failures.into_iter().filter_map(|d| Anchored::new(session, module, d)).collect();
        let known = !failures.is_empty();
        let before = match known {
            true => self.failures.insert(module.clone(), failures),
            false => self.failures.remove(module),
        };
        known || before.is_some()
    }

    /// Changes of costs count from this text of a module on, whose costs are those that are known, if they are.
    pub(crate) fn counts_from(&mut self, module: &ModuleName, text: &str, known: bool) {
        let costs = self.costs.get(module).filter(|costs| known && !costs.is_empty());
        let costs = costs.map(|costs| costs.iter().map(CostHint::saved).collect());
        self.saved.insert(module.clone(), Saved { text: text.to_owned(), costs });
    }

    /// The costs that are known of definitions as they are, and what they were when the module was saved.
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

    /// What is told of documents that are closed is taken back.
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

/// Is it the same text but for the names of sizes?
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

/// A text in words and what stands between them.
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

/// Tells what is wrong in all open documents.
pub(crate) struct Check {
    /// Modules whose imports may be missing.
    pub(crate) fresh: Vec<ModuleName>,
    /// The document that was edited.
    pub(crate) first: Option<Url>,
    /// Views that are files.
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
        // Perhaps the ending of the file's name was left out.
        let ended: Vec<ModuleName> =
            missing.iter().filter(|m| !m.ends_with(".iv")).map(|m| with_ending(m).into()).collect();
        let ended = ended.into_iter().filter(|module| session.text(module).is_none());
        let mut missing: Vec<ModuleName> = ended.chain(missing.iter().cloned()).collect();
        missing.retain(|module| !locked(seen.checker).absent.contains(module));
        let fresh = self.fresh.clone();
        if !missing.is_empty() {
            // They come with another check.
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
            // Of a large module what was edited is told first.
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

/// A module with more items than these is large.
const LARGE: usize = 256;

fn publish(seen: &Seen<'_>, document: &Document, found: &Found) {
    if let Some(diagnostics) = told(seen, document, found.diagnostics()) {
        locked(seen.checker).publish(document, diagnostics);
    }
}

/// The open documents, `first` before the others.
fn in_order<'d>(seen: &Seen<'d>, first: Option<&Url>) -> Vec<&'d Arc<Document>> {
    let own = |d: &&Arc<Document>| !files::is_library(&d.module) && !views::is_view(&d.url);
    let mut all: Vec<_> = seen.documents.iter().filter(own).collect();
    all.sort_by(|a, b| (Some(&a.url) != first, &a.url).cmp(&(Some(&b.url) != first, &b.url)));
    all
}

/// Everything wrong in a document, as the protocol has it.
pub(crate) fn diagnostics(seen: &Seen<'_>, document: &Document) -> Option<Vec<lsp::Diagnostic>> {
    if views::is_view(&document.url) {
        return None;
    }
    told(seen, document, seen.session.diagnostics(&document.module))
}

/// What was found in a document and what is known of its costs, as the protocol has it.
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

/// A diagnostic as the protocol has it.
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

/// A warning whose places are known by the items that they stand in.
struct Anchored {
    diagnostic: Diagnostic,
    places: Vec<Anchor>,
}

/// A place in an item.
struct Anchor {
    item: GlobalName,
    text: Arc<str>,
    within: Span,
}

impl Anchor {
    /// A place of a module by its item; `None` if it stands in none.
    fn new(session: &Session, module: &str, span: Span) -> Option<Self> {
        let item = session.item_at(module, span.start)?;
        let within = Span::new(span.start.checked_sub(item.start)?, span.end.checked_sub(item.start)?);
        Some(Self { item: item.global, text: item.text, within })
    }

    /// The place now, if the item has the same text.
    fn placed(&self, session: &Session) -> Option<Span> {
        let item = session.item(&self.item).filter(|item| item.text == self.text)?;
        Some(self.within.shift(item.start))
    }

    /// The end of the line of the place now, if the item has another text: of the line of the edit, if that is before.
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
    /// A warning of a module by its items.
    fn new(session: &Session, module: &str, diagnostic: Diagnostic) -> Option<Self> {
        // Of the library nothing moves.
        let related = diagnostic.related.iter().filter(|l| l.module.is_none()).map(|l| l.span);
        let spans = std::iter::once(diagnostic.span).chain(related);
        let places = spans.map(|span| Anchor::new(session, module, span)).collect::<Option<_>>()?;
        Some(Self { diagnostic, places })
    }

    /// The warning where its items are now, if they have the same texts.
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

/// Computes the costs of all definitions of the open documents, and what is to be warned of in them.
pub(crate) struct Costs {
    /// The document that was edited.
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
    /// Computes what lenses say, and has the client ask again from time to time.
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

/// While costs are computed, the client asks again for lenses so often.
const OFTEN: Duration = Duration::from_secs(1);

/// The hints of costs of all definitions of a module.
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

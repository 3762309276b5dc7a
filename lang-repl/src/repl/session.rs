//! What one input does to a session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName, Name, Span};
use lang_core::interp::{Counts, Value};
use lang_core::syntax::ast::Item;
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};
use lang_core::syntax::token::Sym;

use super::commands::{self, Kind};
use super::document::{Document, Entry};
use super::terminal::SharedNames;
use crate::cli::Common;
use crate::clock::Clock;
use crate::commands::{doc, explain};
use crate::engine::Engine;
use crate::files;
use crate::interrupt::Computing;
use crate::out::{Out, Status};
use crate::problem::Problem;
use crate::show::{self, Evaluated};
use crate::source::SourceId;

/// What happens after an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    Next,
    Quit,
}

/// A session.
pub(crate) struct Session {
    engine: Engine,
    document: Document,
    /// Files brought in by `:load`, in order.
    loaded: Vec<PathBuf>,
    names: SharedNames,
    common: Common,
    out: Out,
    status: Status,
}

/// The module that the session is: the name of no file.
const MODULE: &str = "<repl>";

/// What inputs are called in reports.
const INPUT: &str = "repl";

/// The name of the last value.
const ANS: &str = "ans";

impl Session {
    pub(crate) fn new(common: &Common, out: Out, names: SharedNames) -> Self {
        let mut session = Self {
            engine: Engine::new(common, out),
            document: Document::default(),
            loaded: Vec::new(),
            names,
            common: common.clone(),
            out,
            status: Status::Good,
        };
        session.install(Document::default());
        session
    }

    /// Was every input good so far?
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Does what an input says.
    pub(crate) fn input(&mut self, text: &str) -> Flow {
        let _computing = Computing::start();
        match commands::parse(text) {
            Some(Ok((Kind::Quit, _))) => return Flow::Quit,
            Some(Ok((kind, argument))) => self.command(kind, argument),
            Some(Err(message)) => self.fail(vec![Problem::new(Code::E0600, message)]),
            None if commands::question(text).is_some() => {
                if let Some((name, source)) = commands::question(text) {
                    self.question(name, source);
                }
            }
            None => {
                let word = commands::word(text);
                let word = word.filter(|(word, _)| !self.document.entries.iter().any(|e| e.defines(word)));
                match word.map(|(_, message)| message).or_else(|| commands::asks_type(text)) {
                    Some(message) => self.fail(vec![Problem::new(Code::E0600, message)]),
                    None => {
                        let source = self.engine.sources.add(INPUT, text);
                        self.items(text, source, 0);
                    }
                }
            }
        }
        if let Ok(mut names) = self.names.lock() {
            *names = self.document.entries.iter().flat_map(|e| e.names.iter().map(Name::to_string)).collect();
            names.extend(self.engine.prefixed(&self.module()));
        }
        Flow::Next
    }

    fn fail(&mut self, problems: Vec<Problem>) {
        self.status = Status::Failed;
        self.out.fail(&problems, &self.engine.sources);
    }

    fn command(&mut self, kind: Kind, argument: &str) {
        match kind {
            Kind::Help => self.out.print(&commands::help(argument)),
            Kind::Env => self.out.print(&self.listing()),
            Kind::Type => self.type_of(argument),
            Kind::Explain => {
                let shown = explain::run(Some(argument), &self.engine, self.out);
                self.status = self.status.max(shown.min(Status::Failed));
            }
            Kind::Load => {
                let path = PathBuf::from(argument.trim_matches('"'));
                if self.load(&path) && !self.loaded.contains(&path) {
                    self.loaded.push(path);
                }
            }
            Kind::Reload => {
                let problems = self.engine.reload_imports(&self.module());
                let stale = self.stale(&BTreeSet::new(), true);
                self.forget(&stale);
                if !problems.is_empty() {
                    self.fail(problems);
                }
                for path in self.loaded.clone() {
                    self.load(&path);
                }
            }
            Kind::Quit => {}
        }
    }

    /// Sets the session's text.
    fn install(&mut self, document: Document) {
        let (text, segments) = document.text();
        self.engine.set_text(&MODULE.into(), &text, segments);
        self.document = document;
    }

    /// Definitions first, all at once, as they may need each other; then what is to be computed,
    /// in order. Was all of it good?
    fn items(&mut self, text: &str, source: SourceId, base: u32) -> bool {
        let mut items = split(text);
        // A `let … in …` is an expression here.
        for item in items.iter_mut().filter(|i| i.kind == ItemKind::Let && is_expression(&i.text)) {
            item.kind = ItemKind::Junk;
        }
        let mut definitions = Vec::new();
        for item in items.iter().filter(|i| !matches!(i.kind, ItemKind::Do | ItemKind::Junk)) {
            let mut entry = Entry::new(item, source);
            entry.offset += base;
            definitions.push(entry);
        }
        let Some(before) = self.define(definitions.clone()) else { return false };
        let mut definitions = definitions.into_iter();
        let mut good = true;
        for item in &items {
            good &= match item.kind {
                ItemKind::Junk => self.expression(&item.text, source, base + item.start),
                ItemKind::Do => self.do_item(&item.text, source, base + item.start),
                _ => definitions.next().is_none_or(|entry| {
                    let good = self.computed(&entry, &before);
                    if good {
                        self.tell_about(&entry);
                    }
                    good
                }),
            };
        }
        good
    }

    fn module(&self) -> ModuleName {
        MODULE.into()
    }

    fn global(&self, name: &str) -> GlobalName {
        GlobalName::new(MODULE, name)
    }

    /// Puts definitions in force, if they are right; what was before.
    fn define(&mut self, entries: Vec<Entry>) -> Option<Before> {
        let before = self.document.clone();
        if entries.is_empty() {
            return Some(Before { document: before, gone: Vec::new(), values: Vec::new(), alone: false });
        }
        let alone = entries.len() == 1;
        let broken_before = self.engine.broken_items(&self.module());
        let names: BTreeSet<GlobalName> = entries.iter().flat_map(|e| e.names.iter()).map(|n| self.global(n)).collect();
        let imports = entries.iter().any(|e| e.kind == ItemKind::Import);
        let mut stale = self.stale(&names, imports);

        let (mut document, gone) = before.with(entries.clone());
        document = self.keep_rest(document, &gone, &names);
        self.install(document);
        let mut problems = self.engine.load_imports();
        problems
            .extend(entries.iter().flat_map(|e| self.engine.problems_of_segment(&self.module(), e.source, e.offset)));
        if problems.iter().any(Problem::is_error) {
            self.install(before);
            self.fail(problems);
            return None;
        }
        self.out.warn(&problems, &self.engine.sources);

        for rule in gone
            .iter()
            .filter(|old| !entries.iter().any(|e| e.clashes(old)) && entries.iter().any(|e| old.is_rule_of(e)))
        {
            let kind = if rule.kind == ItemKind::Adjoint { "adjoint" } else { "derivative" };
            for name in &rule.names {
                self.out.note(&format!("note: the {kind} of `{name}` belonged to what it was before, and is gone\n"));
            }
        }
        stale.extend(self.stale(&names, imports));
        stale.extend(names.iter().cloned());
        let values = self.forget(&stale);
        let broken = self.engine.broken_items(&self.module());
        let newly: Vec<String> = broken.difference(&broken_before).map(|n| format!("`{n}`")).collect();
        if !newly.is_empty() {
            self.out
                .note(&format!("note: {} no longer fits; its errors are shown when it is used\n", newly.join(", ")));
        }
        Some(Before { document: before, gone, values, alone })
    }

    /// The names whose values depend on these names and, if imports change, on other modules.
    fn stale(&self, names: &BTreeSet<GlobalName>, imports: bool) -> BTreeSet<GlobalName> {
        let mut roots = names.clone();
        if imports {
            roots.extend(self.engine.foreign(&self.module()));
        }
        self.engine.dependents(&self.module(), &roots)
    }

    /// Values of `let`s that were replaced in part only are kept.
    fn keep_rest(&mut self, mut document: Document, gone: &[Entry], names: &BTreeSet<GlobalName>) -> Document {
        for name in gone.iter().filter(|e| e.kind == ItemKind::Let).flat_map(|e| &e.names) {
            let global = self.global(name);
            if names.contains(&global) {
                continue;
            }
            if let Some(ty) = self.engine.kept_type(&self.module(), &global) {
                let source = self.engine.sources.add(INPUT, format!("let {name}"));
                document.entries.push(Entry::frozen(name, &ty, source));
            }
        }
        document
    }

    /// Values that are computed anew when next used. What is frozen cannot be, and goes.
    fn forget(&mut self, stale: &BTreeSet<GlobalName>) -> Vec<(GlobalName, Value)> {
        let frozen = |e: &Entry| e.frozen && e.names.iter().any(|n| stale.contains(&GlobalName::new(MODULE, n)));
        if self.document.entries.iter().any(frozen) {
            let entries = self.document.entries.iter().filter(|e| !frozen(e)).cloned().collect();
            self.install(Document { entries });
        }
        self.engine.forget(stale)
    }

    /// Computes a `let` that is now in force; if it fails, what it replaced is in force again.
    fn computed(&mut self, entry: &Entry, before: &Before) -> bool {
        let (ItemKind::Let, Some(first)) = (entry.kind, entry.names.first()) else { return true };
        let Err(problems) = self.engine.compute(&self.global(first)) else { return true };
        self.restore(entry, before);
        self.fail(problems);
        false
    }

    fn restore(&mut self, entry: &Entry, before: &Before) {
        if before.alone {
            self.install(before.document.clone());
            for (name, value) in &before.values {
                self.engine.keep(name, value.clone());
            }
            return;
        }
        // Others came with it and stay, so values are computed anew, but for those that cannot be.
        let again: Vec<Entry> = before.gone.iter().filter(|gone| gone.clashes(entry)).cloned().collect();
        let (document, _) = self.document.without(entry).with(again.clone());
        self.install(document);
        for (name, value) in &before.values {
            if again.iter().any(|e| e.frozen && e.defines(&name.name)) {
                self.engine.keep(name, value.clone());
            }
        }
    }

    /// Tells what a new definition is.
    fn tell_about(&mut self, entry: &Entry) {
        if entry.kind != ItemKind::Let {
            for name in &entry.names {
                if let Some(line) = self.engine.describe(&self.module(), entry.kind, name) {
                    self.out.print(&format!("{line}\n"));
                }
            }
            return;
        }
        let quiet = matches!(&parser::parse_item(&entry.text).tree.item, Item::Let(item) if item.quiet);
        for name in entry.names.iter().filter(|_| !quiet) {
            if let Some(evaluated) = self.engine.global_value(&self.global(name)) {
                self.out.print(&format!("{}\n", show::with_type(Some(name), &evaluated, self.out.view)));
            }
        }
        self.freeze_if_of_ans(entry);
    }

    /// A `let` computed from `ans` keeps its value when `ans` changes.
    fn freeze_if_of_ans(&mut self, entry: &Entry) {
        let of_ans = self.engine.dependents(&self.module(), &BTreeSet::from([self.global(ANS)]));
        if !entry.names.iter().any(|n| of_ans.contains(&self.global(n))) {
            return;
        }
        let mut document = self.document.without(entry);
        for name in &entry.names {
            if let Some(ty) = self.engine.kept_type(&self.module(), &self.global(name)) {
                let mut kept = Entry::frozen(name, &ty, entry.source);
                kept.offset = entry.offset;
                document.entries.push(kept);
            }
        }
        self.install(document);
    }

    /// A `do` item is the expression in it.
    fn do_item(&mut self, item: &str, source: SourceId, offset: u32) -> bool {
        let word = lex(item).tokens.first().map_or(0, |t| t.span.end);
        let text = item.get(word as usize..).unwrap_or_default();
        self.expression(text, source, offset + word)
    }

    fn expression(&mut self, text: &str, source: SourceId, offset: u32) -> bool {
        let tokens = lex(text).tokens;
        let Some(last) = tokens.last() else { return true };
        let quiet = last.token == Token::Sym(Sym::Semi);
        let text = if quiet { text.get(..last.span.start as usize).unwrap_or(text) } else { text };
        let mut clock = Clock::start();
        self.engine.counts = Counts::default();
        let result = self.engine.evaluate(&self.module(), text, source, offset, &mut || clock.checked());
        clock.ran();
        self.out.measured(&self.common, &clock, self.engine.counts);
        match result {
            Ok(evaluated) if evaluated.is_silent() => true,
            Ok(evaluated) => {
                if !quiet {
                    self.out.print(&format!("{}\n", show::with_type(None, &evaluated, self.out.view)));
                }
                self.keep_as_ans(&evaluated);
                true
            }
            Err(problems) => {
                // A function whose sizes only a call settles has no value to show: what it is does.
                if let ([token], true) = (&*tokens, problems.iter().any(|p| p.code == Code::E0301))
                    && let Token::Name(name) = &token.token
                    && let Ok(signature) = self.engine.type_of(&self.module(), name, source)
                {
                    self.out.print(&format!("{name}{signature}\n"));
                    return true;
                }
                self.fail(problems);
                false
            }
        }
    }

    fn keep_as_ans(&mut self, evaluated: &Evaluated) {
        let name = Name::from(ANS);
        if self.document.entries.iter().any(|e| e.kind == ItemKind::Def && e.defines(ANS)) {
            return;
        }
        let source = self.engine.sources.add(INPUT, ANS);
        let before = self.document.clone();
        let Some(ty) = self.engine.spelled(&self.module(), &evaluated.ty) else {
            self.forget(&BTreeSet::from([self.global(ANS)]));
            return;
        };
        let entry = Entry::frozen(&name, &ty, source);
        if !before.entries.contains(&entry) {
            let (document, _) = before.with(vec![entry]);
            self.install(document);
            // A type that cannot be written here: the value cannot be kept.
            if self.engine.problems_of_segment(&self.module(), source, 0).iter().any(Problem::is_error) {
                self.forget(&BTreeSet::from([self.global(ANS)]));
                return;
            }
        }
        self.engine.keep(&self.global(ANS), evaluated.value.clone());
    }

    /// Shows what a name is, as it is seen here.
    fn question(&mut self, name: &str, source: bool) {
        // A value that is kept has no text that tells how it came about.
        let kept = self.document.entries.iter().any(|e| e.frozen && e.defines(name));
        let shown = doc::show(&self.engine, Some(&self.module()), name, source && !kept, self.out);
        self.status = self.status.max(shown);
    }

    fn type_of(&mut self, text: &str) {
        let source = self.engine.sources.add(INPUT, text);
        match self.engine.type_of(&self.module(), text, source) {
            Ok(ty) => self.out.print(&format!("{ty}\n")),
            Err(problems) => self.fail(problems),
        }
    }

    fn listing(&self) -> String {
        let line = |entry: &Entry| {
            let lines = entry.names.iter().filter_map(|name| self.engine.describe(&self.module(), entry.kind, name));
            lines.map(|l| l + "\n").collect::<String>()
        };
        self.document.entries.iter().map(line).collect()
    }

    /// Brings in the definitions of a file and runs it.
    fn load(&mut self, path: &Path) -> bool {
        let text = match files::read(path, &mut self.engine.sources) {
            Ok(text) => text,
            Err(mut problem) => {
                let meant = path.with_extension("iv");
                if path.extension().is_none() && meant.is_file() {
                    problem.help = Some(format!("did you mean `:load {}`?", files::shown(&meant)));
                }
                self.fail(vec![*problem]);
                return false;
            }
        };
        let source = self.engine.add_file(path, text.as_str());
        let mut definitions = Vec::new();
        let mut problems = Vec::new();
        let items = split(&text);
        for item in &items {
            match item.kind {
                ItemKind::Do => {}
                ItemKind::Junk => {
                    let start = lex(&item.text).tokens.first().map_or(item.start, |t| item.start + t.span.start);
                    let span = Span::new(start, start + 1);
                    problems.push(Problem::new(Code::E0009, "text outside every item").at(source, span, "begins here"));
                }
                ItemKind::Import => {
                    let mut entry = Entry::new(item, source);
                    entry.text = import_from(&entry.text, path);
                    definitions.push(entry);
                }
                _ => definitions.push(Entry::new(item, source)),
            }
        }
        if !problems.is_empty() {
            self.fail(problems);
            return false;
        }
        let Some(before) = self.define(definitions.clone()) else { return false };
        let mut definitions = definitions.into_iter();
        for item in &items {
            match item.kind {
                ItemKind::Do => {
                    self.do_item(&item.text, source, item.start);
                }
                _ => {
                    if let Some(entry) = definitions.next() {
                        self.computed(&entry, &before);
                    }
                }
            }
        }
        self.out.print(&format!("loaded {}\n", files::shown(path)));
        true
    }
}

/// Is the text of a `let` no item but a whole expression?
fn is_expression(text: &str) -> bool {
    let wrong = |parsed: parser::Parsed| parsed.diagnostics.iter().any(Diagnostic::is_error);
    let shown = text.trim_end().trim_end_matches(';');
    wrong(parser::parse_item(text)) && !wrong(parser::parse_expr(shown))
}

/// What was in force before definitions replaced some of it.
struct Before {
    document: Document,
    /// The entries that were replaced.
    gone: Vec<Entry>,
    /// Values that were forgotten.
    values: Vec<(GlobalName, Value)>,
    /// One definition came, so undoing it undoes all.
    alone: bool,
}

/// A quoted import of a file elsewhere, as it is written here.
fn import_from(text: &str, file: &Path) -> Arc<str> {
    let Item::Import(import) = parser::parse_item(text).tree.item else { return text.into() };
    let directory = file.parent().map(|d| d.display().to_string()).unwrap_or_default();
    let path = import.path.name.as_str();
    if !import.is_file || directory.is_empty() || Path::new(path).is_absolute() {
        return text.into();
    }
    let range = import.path.span.range();
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let path = format!("{directory}/{path}").replace('\\', "/").replace('"', "\\\"");
    format!("{before}\"{path}\"{after}").into()
}

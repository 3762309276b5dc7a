//! **Redefinition.** Adds definitions to a session: finds the ones they replace and the values that
//! become stale, and restores the previous state if they fail.

use std::collections::BTreeSet;

use lang_core::base::GlobalName;
use lang_core::runtime::Value;
use lang_core::syntax::ast::Item;
use lang_core::syntax::parser;
use lang_core::syntax::split::ItemKind;

use super::super::document::{Document, Entry};
use super::{ANS, INPUT, MODULE, Session};
use crate::problem::Problem;
use crate::show;

impl Session {
    /// Adds definitions if they have no errors. Returns the previous state, or `None` after
    /// reporting the errors.
    pub(super) fn define(&mut self, entries: Vec<Entry>) -> Option<Before> {
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

    /// Returns the names whose values depend on `names` and, if imports change, on other modules.
    pub(super) fn stale(&self, names: &BTreeSet<GlobalName>, imports: bool) -> BTreeSet<GlobalName> {
        let mut roots = names.clone();
        if imports {
            roots.extend(self.engine.foreign(&self.module()));
        }
        self.engine.dependents(&self.module(), &roots)
    }

    /// Keeps the stored values of `let`s that were replaced only in part.
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

    /// Drops stale values, which are computed again at their next use. A stored value cannot be, so
    /// its entry is removed.
    pub(super) fn forget(&mut self, stale: &BTreeSet<GlobalName>) -> Vec<(GlobalName, Value)> {
        let frozen = |e: &Entry| e.frozen && e.names.iter().any(|n| stale.contains(&GlobalName::new(MODULE, n)));
        if self.document.entries.iter().any(frozen) {
            let entries = self.document.entries.iter().filter(|e| !frozen(e)).cloned().collect();
            self.install(Document { entries });
        }
        self.engine.forget(stale)
    }

    /// Computes a new `let`. If it fails, the definitions that it replaced are restored.
    pub(super) fn computed(&mut self, entry: &Entry, before: &Before) -> bool {
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
        // Other definitions of the same input stay. So values are computed again, except for stored
        // ones.
        let again: Vec<Entry> = before.gone.iter().filter(|gone| gone.clashes(entry)).cloned().collect();
        let (document, _) = self.document.without(entry).with(again.clone());
        self.install(document);
        for (name, value) in &before.values {
            if again.iter().any(|e| e.frozen && e.defines(&name.name)) {
                self.engine.keep(name, value.clone());
            }
        }
    }

    /// Prints the signature or the value of a new definition.
    pub(super) fn tell_about(&mut self, entry: &Entry) {
        if entry.kind != ItemKind::Let {
            for name in &entry.names {
                if let Some(line) = self.engine.describe(&self.module(), entry.kind, name) {
                    self.out.print(&format!("{line}\n"));
                }
            }
            return;
        }
        let quiet = matches!(&parser::parse_item(&entry.text).tree.item, Item::Let(item) if item.is_quiet);
        for name in entry.names.iter().filter(|_| !quiet) {
            if let Some(evaluated) = self.engine.global_value(&self.global(name)) {
                self.out.print(&format!("{}\n", show::with_type(Some(name), &evaluated, self.out.view)));
            }
        }
        self.freeze_if_of_ans(entry);
    }

    /// Turns a `let` that was computed from `ans` into a stored value, because `ans` will change.
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

    /// Sets the session's text.
    pub(super) fn install(&mut self, document: Document) {
        let (text, segments) = document.text();
        self.engine.set_text(&MODULE.into(), &text, segments);
        self.document = document;
    }
}

/// The state of a session before definitions replaced a part of it.
pub(super) struct Before {
    pub(super) document: Document,
    /// The replaced entries.
    gone: Vec<Entry>,
    /// The dropped values.
    values: Vec<(GlobalName, Value)>,
    /// Whether the input had one definition, so that undoing it restores the whole state.
    alone: bool,
}

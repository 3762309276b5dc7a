//! **Redefinition.** Adds definitions to a session: finds the ones they replace and the values that
//! become stale, and restores the previous state if they fail.

use std::collections::BTreeSet;

use lang_core::base::GlobalName;
use lang_core::runtime::Value;
use lang_core::syntax::ast::Item;
use lang_core::syntax::parser;
use lang_core::syntax::split::ItemKind;

use super::super::session_document::{SessionDocument, SessionEntry};
use super::{ANS, INPUT_NAME, ReplSession, SESSION_MODULE};
use crate::problem::Problem;
use crate::show;

impl ReplSession {
    /// Adds definitions if they have no errors. Returns the previous state, or `None` after
    /// reporting the errors.
    pub(super) fn add_definitions(&mut self, entries: Vec<SessionEntry>) -> Option<PreviousState> {
        let before = self.document.clone();
        if entries.is_empty() {
            return Some(PreviousState {
                document: before,
                replaced: Vec::new(),
                dropped_values: Vec::new(),
                is_single_definition: false,
            });
        }
        let alone = entries.len() == 1;
        let broken_before = self.engine.broken_items(&self.module_name());
        let names: BTreeSet<GlobalName> =
            entries.iter().flat_map(|e| e.names.iter()).map(|n| self.global_name(n)).collect();
        let imports = entries.iter().any(|e| e.kind == ItemKind::Import);
        let mut stale = self.stale_names(&names, imports);

        let (mut document, gone) = before.with_entries(entries.clone());
        document = self.keep_partly_replaced(document, &gone, &names);
        self.set_document(document);
        let mut problems = self.engine.load_imports();
        problems.extend(
            entries.iter().flat_map(|e| self.engine.problems_of_segment(&self.module_name(), e.source, e.offset)),
        );
        if problems.iter().any(Problem::is_error) {
            self.set_document(before);
            self.report_failure(problems);
            return None;
        }
        self.out.report_warnings(&problems, &self.engine.sources);

        for rule in gone
            .iter()
            .filter(|old| !entries.iter().any(|e| e.conflicts_with(old)) && entries.iter().any(|e| old.is_rule_of(e)))
        {
            let kind = if rule.kind == ItemKind::Adjoint { "adjoint" } else { "derivative" };
            for name in &rule.names {
                self.out.note(&format!(
                    "note: the {kind} of `{name}` was removed, because it belonged to the previous definition\n"
                ));
            }
        }
        stale.extend(self.stale_names(&names, imports));
        stale.extend(names.iter().cloned());
        let values = self.drop_stale(&stale);
        let broken = self.engine.broken_items(&self.module_name());
        let newly: Vec<String> = broken.difference(&broken_before).map(|n| format!("`{n}`")).collect();
        if !newly.is_empty() {
            self.out.note(&format!("note: new errors in {}, which the next use reports\n", newly.join(", ")));
        }
        Some(PreviousState { document: before, replaced: gone, dropped_values: values, is_single_definition: alone })
    }

    /// Returns the names whose values depend on `names` and, if imports change, on other modules.
    pub(super) fn stale_names(&self, names: &BTreeSet<GlobalName>, imports: bool) -> BTreeSet<GlobalName> {
        let mut roots = names.clone();
        if imports {
            roots.extend(self.engine.foreign_names(&self.module_name()));
        }
        self.engine.dependents(&self.module_name(), &roots)
    }

    /// Keeps the stored values of `let`s that were replaced only in part.
    fn keep_partly_replaced(
        &mut self,
        mut document: SessionDocument,
        gone: &[SessionEntry],
        names: &BTreeSet<GlobalName>,
    ) -> SessionDocument {
        for name in gone.iter().filter(|e| e.kind == ItemKind::Let).flat_map(|e| &e.names) {
            let global = self.global_name(name);
            if names.contains(&global) {
                continue;
            }
            if let Some(ty) = self.engine.writable_value_type(&self.module_name(), &global) {
                let source = self.engine.sources.add(INPUT_NAME, format!("let {name}"));
                document.entries.push(SessionEntry::stored(name, &ty, source));
            }
        }
        document
    }

    /// Drops stale values, which are computed again at their next use. A stored value cannot be, so
    /// its entry is removed.
    pub(super) fn drop_stale(&mut self, stale: &BTreeSet<GlobalName>) -> Vec<(GlobalName, Value)> {
        let frozen = |e: &SessionEntry| {
            e.is_stored && e.names.iter().any(|n| stale.contains(&GlobalName::new(SESSION_MODULE, n)))
        };
        if self.document.entries.iter().any(frozen) {
            let entries = self.document.entries.iter().filter(|e| !frozen(e)).cloned().collect();
            self.set_document(SessionDocument { entries });
        }
        self.engine.drop_values(stale)
    }

    /// Computes a new `let`. If it fails, the definitions that it replaced are restored.
    pub(super) fn compute_or_undo(&mut self, entry: &SessionEntry, before: &PreviousState) -> bool {
        let (ItemKind::Let, Some(first)) = (entry.kind, entry.names.first()) else { return true };
        let Err(problems) = self.engine.compute_let(&self.global_name(first)) else { return true };
        self.restore_previous(entry, before);
        self.report_failure(problems);
        false
    }

    fn restore_previous(&mut self, entry: &SessionEntry, before: &PreviousState) {
        if before.is_single_definition {
            self.set_document(before.document.clone());
            for (name, value) in &before.dropped_values {
                self.engine.store_value(name, value.clone());
            }
            return;
        }
        // Other definitions of the same input stay. So values are computed again, except for stored
        // ones.
        let restored_entries: Vec<SessionEntry> =
            before.replaced.iter().filter(|gone| gone.conflicts_with(entry)).cloned().collect();
        let (document, _) = self.document.without_entry(entry).with_entries(restored_entries.clone());
        self.set_document(document);
        for (name, value) in &before.dropped_values {
            if restored_entries.iter().any(|e| e.is_stored && e.defines(&name.name)) {
                self.engine.store_value(name, value.clone());
            }
        }
    }

    /// Prints the signature or the value of a new definition.
    pub(super) fn print_definition(&mut self, entry: &SessionEntry) {
        if entry.kind != ItemKind::Let {
            for name in &entry.names {
                if let Some(line) = self.engine.describe(&self.module_name(), entry.kind, name) {
                    self.out.print(&format!("{line}\n"));
                }
            }
            return;
        }
        let quiet = matches!(&parser::parse_item(&entry.text).tree.item, Item::Let(item) if item.is_quiet);
        for name in entry.names.iter().filter(|_| !quiet) {
            if let Some(evaluated) = self.engine.global_value(&self.global_name(name)) {
                self.out.print(&format!("{}\n", show::format_with_type(Some(name), &evaluated, self.out.view)));
            }
        }
        self.store_if_from_ans(entry);
    }

    /// Turns a `let` that was computed from `ans` into a stored value, because `ans` will change.
    fn store_if_from_ans(&mut self, entry: &SessionEntry) {
        let of_ans = self.engine.dependents(&self.module_name(), &BTreeSet::from([self.global_name(ANS)]));
        if !entry.names.iter().any(|n| of_ans.contains(&self.global_name(n))) {
            return;
        }
        let mut document = self.document.without_entry(entry);
        for name in &entry.names {
            if let Some(ty) = self.engine.writable_value_type(&self.module_name(), &self.global_name(name)) {
                let mut kept = SessionEntry::stored(name, &ty, entry.source);
                kept.offset = entry.offset;
                document.entries.push(kept);
            }
        }
        self.set_document(document);
    }

    /// Sets the session's text.
    pub(super) fn set_document(&mut self, document: SessionDocument) {
        let (text, segments) = document.text();
        self.engine.set_text(&SESSION_MODULE.into(), &text, segments);
        self.document = document;
    }
}

/// The state of a session before definitions replaced a part of it.
pub(super) struct PreviousState {
    pub(super) document: SessionDocument,
    /// The replaced entries.
    replaced: Vec<SessionEntry>,
    /// The dropped values.
    dropped_values: Vec<(GlobalName, Value)>,
    /// Whether the input had one definition, so that undoing it restores the whole state.
    is_single_definition: bool,
}

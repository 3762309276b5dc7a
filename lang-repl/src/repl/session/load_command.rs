//! `:load` and `:reload`: bring the definitions of files into the session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lang_core::base::{Code, Span};
use lang_core::syntax::ast::Item;
use lang_core::syntax::lexer::{SpannedToken, Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};

use super::super::session_document::SessionEntry;
use super::ReplSession;
use crate::files;
use crate::problem::Problem;

impl ReplSession {
    /// Loads a file, and records it for `:reload` if it succeeds.
    pub(super) fn load_and_remember(&mut self, path: PathBuf) {
        if self.load_file(&path) && !self.loaded_files.contains(&path) {
            self.loaded_files.push(path);
        }
    }

    /// Reads loaded and imported files again.
    pub(super) fn reload_files(&mut self) {
        let problems = self.engine.reload_imports(&self.module_name());
        let stale = self.stale_names(&BTreeSet::new(), true);
        self.drop_stale(&stale);
        if !problems.is_empty() {
            self.report_failure(problems);
        }
        for path in self.loaded_files.clone() {
            self.load_file(&path);
        }
    }

    /// Adds the definitions of a file and runs its items. Returns whether the file was loaded, even
    /// if its run failed.
    pub(super) fn load_file(&mut self, path: &Path) -> bool {
        let text = match files::read(path, &mut self.engine.sources) {
            Ok(text) => text,
            Err(mut problem) => {
                let meant = path.with_extension("iv");
                if path.extension().is_none() && meant.is_file() {
                    problem.help = Some(format!("did you mean `:load {}`?", files::display_path(&meant)));
                }
                self.report_failure(vec![*problem]);
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
                ItemKind::StrayText => {
                    let start = lex(&item.text).tokens.first().map_or(item.start, |t| item.start + t.span.start);
                    let span = Span::new(start, start + 1);
                    problems.push(Problem::new(Code::E0009, "text outside all items").with_place(
                        source,
                        span,
                        "begins here",
                    ));
                }
                ItemKind::Import => {
                    let mut entry = SessionEntry::new(item, source);
                    entry.text = relocate_import(&entry.text, path);
                    definitions.push(entry);
                }
                _ => definitions.push(SessionEntry::new(item, source)),
            }
        }
        if !problems.is_empty() {
            self.report_failure(problems);
            return false;
        }
        let wrong = self.report_broken_definitions(&definitions);
        let right: Vec<SessionEntry> =
            definitions.iter().filter(|e| !wrong.iter().any(|w| w.conflicts_with(e))).cloned().collect();
        let Some(before) = self.add_definitions(right.clone()) else { return false };
        let lost = |token: &SpannedToken| match &token.token {
            Token::Name(name) => wrong.iter().any(|w| w.defines(name)),
            _ => false,
        };
        let mut definitions = definitions.into_iter();
        let mut ends = "";
        for item in &items {
            let good = match item.kind {
                ItemKind::Do if lex(&item.text).tokens.iter().any(lost) => true,
                ItemKind::Do => self.run_do_item(&item.text, source, item.start),
                _ => match definitions.next().filter(|e| right.contains(e)) {
                    Some(entry) => self.compute_or_undo(&entry, &before),
                    None => true,
                },
            };
            if !good {
                ends = "; the run stopped at the failure";
                break;
            }
        }
        let names: Vec<String> = wrong.iter().flat_map(|e| &e.names).map(|n| format!("`{n}`")).collect();
        let without = match names.is_empty() {
            true => String::new(),
            false => format!(", without {}, because of errors", names.join(", ")),
        };
        self.out.print(&format!("loaded {}{without}{ends}\n", files::display_path(path)));
        true
    }

    /// Reports the errors in the definitions of a file. Returns the definitions with errors, and
    /// those that need them.
    fn report_broken_definitions(&mut self, entries: &[SessionEntry]) -> Vec<SessionEntry> {
        let before = self.document.clone();
        self.set_document(before.with_entries(entries.to_vec()).0);
        let mut problems = self.engine.load_imports();
        let mut broken = BTreeSet::new();
        let mut wrong = Vec::new();
        for entry in entries {
            let found = self.engine.problems_of_segment(&self.module_name(), entry.source, entry.offset);
            if found.iter().any(Problem::is_error) {
                broken.extend(entry.names.iter().map(|n| self.global_name(n)));
                wrong.push(entry.clone());
                problems.extend(found);
            }
        }
        let dependents = self.engine.dependents(&self.module_name(), &broken);
        let needs =
            |e: &&SessionEntry| !wrong.contains(e) && e.names.iter().any(|n| dependents.contains(&self.global_name(n)));
        let dependents: Vec<SessionEntry> = entries.iter().filter(needs).cloned().collect();
        wrong.extend(dependents);
        self.set_document(before);
        if problems.iter().any(Problem::is_error) {
            self.report_failure(problems);
        }
        wrong
    }
}

/// Rewrites a quoted import of a loaded file relative to the current directory.
fn relocate_import(text: &str, file: &Path) -> Arc<str> {
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

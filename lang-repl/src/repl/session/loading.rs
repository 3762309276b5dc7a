//! `:load` and `:reload`: bring the definitions of files into the session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lang_core::base::{Code, Span};
use lang_core::syntax::ast::Item;
use lang_core::syntax::lexer::{SpannedToken, Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};

use super::super::document::Entry;
use super::Session;
use crate::files;
use crate::problem::Problem;

impl Session {
    /// Loads a file, and records it for `:reload` if it succeeds.
    pub(super) fn load_and_remember(&mut self, path: PathBuf) {
        if self.load(&path) && !self.loaded.contains(&path) {
            self.loaded.push(path);
        }
    }

    /// Reads loaded and imported files again.
    pub(super) fn reload(&mut self) {
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

    /// Adds the definitions of a file and runs its items. Returns whether the file was loaded, even
    /// if its run failed.
    pub(super) fn load(&mut self, path: &Path) -> bool {
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
                ItemKind::StrayText => {
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
        let wrong = self.wrong(&definitions);
        let right: Vec<Entry> = definitions.iter().filter(|e| !wrong.iter().any(|w| w.clashes(e))).cloned().collect();
        let Some(before) = self.define(right.clone()) else { return false };
        let lost = |token: &SpannedToken| match &token.token {
            Token::Name(name) => wrong.iter().any(|w| w.defines(name)),
            _ => false,
        };
        let mut definitions = definitions.into_iter();
        let mut ends = "";
        for item in &items {
            let good = match item.kind {
                ItemKind::Do if lex(&item.text).tokens.iter().any(lost) => true,
                ItemKind::Do => self.do_item(&item.text, source, item.start),
                _ => match definitions.next().filter(|e| right.contains(e)) {
                    Some(entry) => self.computed(&entry, &before),
                    None => true,
                },
            };
            if !good {
                ends = "; its run ended at the failure";
                break;
            }
        }
        let names: Vec<String> = wrong.iter().flat_map(|e| &e.names).map(|n| format!("`{n}`")).collect();
        let without = match names.is_empty() {
            true => String::new(),
            false => format!(", without {}: mistakes reach these", names.join(", ")),
        };
        self.out.print(&format!("loaded {}{without}{ends}\n", files::shown(path)));
        true
    }

    /// Reports the errors in the definitions of a file. Returns the definitions with errors, and
    /// those that need them.
    fn wrong(&mut self, entries: &[Entry]) -> Vec<Entry> {
        let before = self.document.clone();
        self.install(before.with(entries.to_vec()).0);
        let mut problems = self.engine.load_imports();
        let mut broken = BTreeSet::new();
        let mut wrong = Vec::new();
        for entry in entries {
            let found = self.engine.problems_of_segment(&self.module(), entry.source, entry.offset);
            if found.iter().any(Problem::is_error) {
                broken.extend(entry.names.iter().map(|n| self.global(n)));
                wrong.push(entry.clone());
                problems.extend(found);
            }
        }
        let dependents = self.engine.dependents(&self.module(), &broken);
        let needs = |e: &&Entry| !wrong.contains(e) && e.names.iter().any(|n| dependents.contains(&self.global(n)));
        let dependents: Vec<Entry> = entries.iter().filter(needs).cloned().collect();
        wrong.extend(dependents);
        self.install(before);
        if problems.iter().any(Problem::is_error) {
            self.fail(problems);
        }
        wrong
    }
}

/// Rewrites a quoted import of a loaded file relative to the current directory.
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

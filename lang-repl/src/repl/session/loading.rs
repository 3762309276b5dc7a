//! `:load` and `:reload`: the definitions of files come into the session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lang_core::base::{Code, Span};
use lang_core::syntax::ast::Item;
use lang_core::syntax::lexer::lex;
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};

use super::super::document::Entry;
use super::Session;
use crate::files;
use crate::problem::Problem;

impl Session {
    /// Brings in the definitions of a file, which is remembered.
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

    /// Brings in the definitions of a file and runs it.
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

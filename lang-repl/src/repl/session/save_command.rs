//! `:save`: writes the session as a file that `:load` and `iverson run` accept. Definitions are
//! written as text, in topological order. Stored values are written as literals, or as data files
//! beside the file if they are large.

use std::path::{Path, PathBuf};

use lang_core::base::{Code, GlobalName, ModuleName, Name};
use lang_core::runtime::{Refusal, Value, print};
use lang_core::syntax::lexer::{SpannedToken, Token, lex};
use lang_core::syntax::split::ItemKind;
use lang_core::syntax::token::Sym;

use super::super::session_document::SessionEntry;
use super::ReplSession;
use crate::data::DataFormat;
use crate::files;
use crate::problem::Problem;

/// The first line of a file written by `:save`, which `:save` may therefore overwrite.
const FILE_HEADER: &str = "-- A session of iverson, written by :save.\n";

/// The most bytes of a literal; a larger one becomes a data file.
const MAX_LITERAL: usize = 16 << 10;

impl ReplSession {
    pub(super) fn save_session(&mut self, path: &Path, any: bool) {
        if !any && !is_saved_session(path) {
            let problem =
                Problem::new(Code::E0605, format!("`{}` was not written by :save", files::display_path(path)));
            return self.report_failure(vec![
                problem.with_help(format!("`:save! {}` replaces it", files::display_path(path))),
            ]);
        }
        let mut data = Vec::new();
        let (text, lost) = self.session_source(path, Some(&mut data));
        let wrong: Vec<Problem> =
            self.engine.problems_of_text(path, &text).into_iter().filter(Problem::is_error).collect();
        if !wrong.is_empty() {
            return self.report_failure(wrong);
        }
        let mut written = Vec::new();
        for (file, bytes) in data.iter().map(|(f, b)| (f, b.as_slice())).chain([(&path.to_owned(), text.as_bytes())]) {
            if let Err(refusal) = files::write(file, bytes) {
                return self.report_failure(vec![problem_of_refusal(refusal)]);
            }
            written.push(files::display_path(file));
        }
        // The session file is written last but named first.
        written.reverse();
        self.out.print(&format!("saved {}\n", written.join(", ")));
        if !lost.is_empty() {
            let names = lost.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            self.out.note(&format!("note: {names} cannot be saved, because a function cannot be written as a value\n"));
        }
    }

    /// Returns the session's definitions as the text of a file, without stored values.
    pub(super) fn source_without_values(&self) -> String {
        self.session_source(Path::new(""), None).0
    }

    /// Returns the text of the file, and the names of values that cannot be written. Data files are
    /// added to `data`; if it is `None`, stored values are left out.
    fn session_source(&self, path: &Path, mut data: Option<&mut Vec<(PathBuf, Vec<u8>)>>) -> (String, Vec<Name>) {
        let module = self.module_name();
        let order = self.engine.topological_order(&module);
        let at =
            |entry: &SessionEntry| entry.names.iter().filter_map(|n| order.get(&self.global_name(n))).min().copied();
        let mut entries: Vec<&SessionEntry> = self.document.entries.iter().collect();
        // Imports come first, and a derivative rule after its function.
        entries.sort_by_key(|entry| match entry.kind {
            ItemKind::Import => (0, 0, 0),
            ItemKind::Derivative | ItemKind::Adjoint => (1, at(entry).unwrap_or(usize::MAX), 1),
            _ => (1, at(entry).unwrap_or(usize::MAX), 0),
        });
        let mut left_out = self.engine.broken_items(&module);
        let mut lost = Vec::new();
        let mut texts: Vec<(&SessionEntry, String)> = Vec::new();
        for entry in entries {
            let text = match (entry.is_stored, entry.names.first()) {
                (true, Some(name)) => {
                    match data.as_deref_mut().and_then(|data| self.stored_definition(name, path, data)) {
                        Some(text) => text,
                        None => {
                            left_out.insert(self.global_name(name));
                            lost.push(name.clone());
                            continue;
                        }
                    }
                }
                _ => self.relocated_text(entry, path),
            };
            texts.push((entry, text));
        }
        // A definition that needs an omitted one would not check.
        left_out.extend(self.engine.dependents(&module, &left_out));
        let mut out = FILE_HEADER.to_owned();
        // A file must import the library modules that the prompt knows without an import.
        let imported = |module: &ModuleName| {
            let is_it = |e: &SessionEntry| e.kind == ItemKind::Import && e.text.trim() == format!("import {module}");
            self.document.entries.iter().any(is_it)
        };
        for used in self.engine.used_library_modules(&module).into_iter().filter(|m| !imported(m)) {
            out.push_str(&format!("\nimport {used}\n"));
        }
        for (entry, text) in texts {
            let fits = !entry.names.iter().any(|name| left_out.contains(&self.global_name(name)));
            out.push('\n');
            match fits {
                true => out.push_str(&text),
                false => {
                    out.push_str("-- This has errors, or needs a definition that could not be saved:\n");
                    out.push_str(&text.lines().map(|line| format!("-- {line}")).collect::<Vec<_>>().join("\n"));
                }
            }
            out.push('\n');
        }
        (out, lost)
    }

    /// Returns the definition of a stored value; `None` if it cannot be written.
    fn stored_definition(&self, name: &Name, path: &Path, data: &mut Vec<(PathBuf, Vec<u8>)>) -> Option<String> {
        let global: GlobalName = self.global_name(name);
        let known = self.engine.global_value(&global).filter(|known| !has_function(&known.value))?;
        let ty = self.engine.writable_value_type(&self.module_name(), &global)?;
        if let Some(literal) = print::to_full_text(&known.value, MAX_LITERAL)
            && !self.engine.has_errors(&self.module_name(), &literal)
        {
            return Some(format!("let {name}: {ty} = {literal}"));
        }
        let stem = path.file_stem()?.to_str()?;
        let format = if matches!(&known.value, Value::Array(a) if a.is_of_scalars()) {
            DataFormat::Npy
        } else {
            DataFormat::Json
        };
        let file = format!("{stem}-{name}.{}", if format == DataFormat::Npy { "npy" } else { "json" });
        let (bytes, _) = format.write(&known.value).ok()?;
        data.push((path.with_file_name(&file), bytes));
        Some(format!("let {name}: {ty} = load({})", quote(&file)))
    }

    /// Returns the text of a definition in the new file, with relative file names made absolute.
    fn relocated_text(&self, entry: &SessionEntry, path: &Path) -> String {
        let text = entry.text.to_string();
        let from = self.engine.folder_of(entry.source).cloned().unwrap_or_default();
        let to = path.parent().map(Path::to_path_buf).unwrap_or_default();
        // The import of a loaded file was already made relative to the current directory.
        let from = if entry.kind == ItemKind::Import { PathBuf::new() } else { from };
        if from == to {
            return text;
        }
        let tokens = lex(&text).tokens;
        let mut out = String::new();
        let mut done = 0;
        for at in 0..tokens.len() {
            let Some((span, file)) = file_token(&tokens, at, entry.kind).filter(|(_, f)| Path::new(f).is_relative())
            else {
                continue;
            };
            let whole = std::path::absolute(from.join(&file)).unwrap_or_else(|_| from.join(&file));
            out.push_str(text.get(done..span.0).unwrap_or_default());
            out.push_str(&quote(&whole.display().to_string()));
            done = span.1;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }
}

/// Returns the string token at `at` and its span, if it names a file: in an import, or as the
/// argument of `load`.
fn file_token(tokens: &[SpannedToken], at: usize, kind: ItemKind) -> Option<((usize, usize), String)> {
    let token = tokens.get(at)?;
    let Token::Str(file) = &token.token else { return None };
    let is = |back: usize, wanted: &Token| {
        at.checked_sub(back).and_then(|k| tokens.get(k)).is_some_and(|t| t.token == *wanted)
    };
    let loads = is(1, &Token::Sym(Sym::LParen)) && is(2, &Token::Name("load".into()));
    let span = (token.span.start as usize, token.span.end as usize);
    (loads || kind == ItemKind::Import).then(|| (span, file.to_string()))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns whether a value contains a function. Iterative, because values can be arbitrarily deep.
fn has_function(value: &Value) -> bool {
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        match value {
            Value::Fun(_) => return true,
            Value::Tuple(items) => open.extend(items.values().iter().cloned()),
            Value::Record(record) => open.extend(record.values().iter().cloned()),
            Value::Data(cell) => open.extend(cell.args().iter().cloned()),
            Value::Array(array) if !array.is_of_scalars() => {
                open.extend((0..array.count()).filter_map(|i| array.element(i)))
            }
            _ => {}
        }
    }
    false
}

/// Returns whether the file does not exist or was written by `:save`.
fn is_saved_session(path: &Path) -> bool {
    if std::fs::symlink_metadata(path).is_err() {
        return true;
    }
    let mut begin = vec![0; FILE_HEADER.len()];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut begin));
    read.is_ok() && begin == FILE_HEADER.as_bytes()
}

fn problem_of_refusal(refusal: Refusal) -> Problem {
    let problem = Problem::new(refusal.code, refusal.message);
    match refusal.help {
        Some(help) => problem.with_help(help),
        None => problem,
    }
}

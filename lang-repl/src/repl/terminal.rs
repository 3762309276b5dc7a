//! The REPL's line editor on a terminal: history, completion, and lines that go on, each after a
//! prompt of its own, while the parser wants more. The editor has one prompt for all it edits, so
//! every line is edited by itself; what is recalled or pasted may have several.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lang_core::resolve::words;
use lang_core::syntax::lexer::{is_name_continue, is_name_start};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Context, Editor, Helper, Highlighter, Hinter, Validator};

use super::commands;
use super::input;
use crate::lookup;

/// Entries of history that are kept.
const HISTORY: usize = 10_000;
/// Before the first line of an input.
const PROMPT: &str = "iverson> ";
/// Before the others, as wide.
const GOES_ON: &str = "     ..  ";
/// An input longer than this is not worth remembering.
const MAX_ENTRY: usize = 64 << 10;

/// Names of the session, for completion.
pub(crate) type SharedNames = Arc<Mutex<Vec<String>>>;

/// What came of reading.
#[derive(PartialEq, Debug)]
pub(crate) enum Line {
    /// An input, perhaps pasted and of several lines.
    Input(String),
    /// Ctrl-C: the line was given up.
    Cleared,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The editor.
pub(crate) struct Terminal {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// `None` where the terminal cannot be edited on.
    pub(crate) fn new(names: SharedNames) -> Option<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY)
            .and_then(|c| c.history_ignore_dups(true))
            .ok()?
            .completion_type(CompletionType::List)
            .bracketed_paste(true)
            .build();
        let mut editor = Editor::with_config(config).ok()?;
        editor.set_helper(Some(Assistant { names, files: FilenameCompleter::new() }));
        let history = history_file();
        if let Some(path) = &history {
            // There is none the first time.
            let _ = editor.load_history(path);
        }
        Some(Self { editor, history })
    }

    /// Reads an input.
    pub(crate) fn read(&mut self) -> Line {
        let line = gather(|prompt| self.editor.readline(prompt));
        if let Line::Input(text) = &line
            && !text.trim().is_empty()
            && text.len() <= MAX_ENTRY
        {
            self.remember(text);
        }
        line
    }

    /// Appends at once, so that sessions side by side and sessions that end badly lose nothing.
    /// That the history cannot be written is no reason to trouble anyone.
    fn remember(&mut self, text: &str) {
        let added = self.editor.add_history_entry(text).unwrap_or(false);
        if let (true, Some(path)) = (added, &self.history) {
            let _ = self.editor.append_history(path);
        }
    }
}

/// Reads lines until the parser wants no more. At the end of the terminal's input what is there is all.
fn gather(mut read: impl FnMut(&str) -> rustyline::Result<String>) -> Line {
    let mut text: Option<String> = None;
    loop {
        text = match (read(if text.is_none() { PROMPT } else { GOES_ON }), text) {
            (Ok(line), None) => Some(line),
            (Ok(line), Some(before)) => Some(before + "\n" + &line),
            (Err(ReadlineError::Interrupted), _) => return Line::Cleared,
            (Err(_), None) => return Line::End,
            (Err(_), Some(text)) => return Line::Input(text),
        };
        if let Some(text) = text.take_if(|text| !input::wants_more(text)) {
            return Line::Input(text);
        }
    }
}

/// `$XDG_DATA_HOME/iverson/history`, its directory made for the user alone.
fn history_file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .or_else(|| absolute("APPDATA"))?;
    let directory = data.join("iverson");
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&directory).ok()?;
    Some(directory.join("history"))
}

#[derive(Helper, Highlighter, Hinter, Validator)]
struct Assistant {
    names: SharedNames,
    files: FilenameCompleter,
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or_default();
        if before.trim_start().starts_with(":load ") {
            return self.files.complete_path(line, at);
        }
        let names = self.names.lock().map(|n| n.clone()).unwrap_or_default();
        Ok(complete(before, &names))
    }
}

/// Where the word at the end of the text begins, and what it may become. A name with its prefix is
/// one word.
fn complete(before: &str, names: &[String]) -> (usize, Vec<Pair>) {
    let of_word = |c: char| is_name_continue(c) || c == '.';
    let word_start = before.char_indices().rev().take_while(|(_, c)| of_word(*c)).last().map(|(at, _)| at);
    let start = word_start.unwrap_or(before.len());
    // What stands before the dots of a range is another word.
    let range = before.get(start..).and_then(|word| word.rfind("..")).map_or(0, |at| at + 2);
    let start = start + range;
    let asks = before.trim_start().starts_with('?');
    let command = before.trim_start().strip_prefix(':').is_some_and(|rest| rest.chars().all(is_name_continue));
    let word = before.get(start..).unwrap_or_default();
    // Those of the library may be asked for without an import.
    let library = if asks { lookup::library_names() } else { Vec::new() };
    let mut found: Vec<&str> = if command {
        commands::ALL.iter().map(|c| c.name).collect()
    } else if word.starts_with(is_name_start) {
        let mut all: Vec<&str> = words::all().collect();
        all.extend(names.iter().chain(&library).map(String::as_str));
        all
    } else {
        Vec::new()
    };
    // Names with a prefix come after its dot.
    found.retain(|name| name.starts_with(word) && (word.contains('.') || !name.contains('.')));
    found.sort_unstable();
    found.dedup();
    let pairs = found.into_iter().map(|name| Pair { display: name.to_owned(), replacement: name.to_owned() });
    (start, pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, expected: &[&str]) {
        let names = ["loss", "lossy", "μ₀", "la.solve", "la.solve_lower"].map(str::to_owned);
        let (_, pairs) = complete(before, &names);
        let found: Vec<String> = pairs.into_iter().map(|p| p.replacement).collect();
        assert_eq!(found, expected);
    }

    /// Each line, after the prompt that is shown before it; `None` is Ctrl-C.
    #[track_caller]
    fn reads(lines: &[(&str, Option<&str>)], expected: &Line) {
        let mut lines = lines.iter();
        let line = gather(|prompt| match lines.next() {
            Some((shown, line)) => {
                assert_eq!(prompt, *shown);
                line.map(str::to_owned).ok_or(ReadlineError::Interrupted)
            }
            None => Err(ReadlineError::Eof),
        });
        assert_eq!(line, *expected);
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn lines_that_go_on() {
        let input = |text: &str| Line::Input(text.to_owned());
        reads(&[(PROMPT, Some("1 + 1"))], &input("1 + 1"));
        reads(&[(PROMPT, Some("f(1,")), (GOES_ON, Some("  2)"))], &input("f(1,\n  2)"));
        reads(&[(PROMPT, Some("1 +")), (GOES_ON, Some("2 +")), (GOES_ON, Some("3"))], &input("1 +\n2 +\n3"));
        // An empty line ends it, and so does a command.
        reads(&[(PROMPT, Some("f(1,")), (GOES_ON, Some(""))], &input("f(1,\n"));
        reads(&[(PROMPT, Some("f(1,")), (GOES_ON, Some(":env"))], &input("f(1,\n:env"));
        reads(&[(PROMPT, Some(""))], &input(""));
        // What is given up, and the end.
        reads(&[(PROMPT, Some("f(1,")), (GOES_ON, None)], &Line::Cleared);
        reads(&[(PROMPT, Some("f(1,"))], &input("f(1,"));
        reads(&[], &Line::End);
        assert_eq!(PROMPT.len(), GOES_ON.len());
    }

    #[test]
    fn names_words_and_commands() {
        check("1 + los", &["loss", "lossy"]);
        check("f(μ", &["μ₀"]);
        check("hess", &["hessian"]);
        check(":lo", &["load"]);
        check("x + la.sol", &["la.solve", "la.solve_lower"]);
        check("x[0..loss", &["loss", "lossy"]);
        check("linalg.eig", &[]);
        check("?linalg.eig", &["linalg.eigh", "linalg.eigvalsh"]);
        check("??ode", &["ode"]);
        check("1 + ", &[]);
        check("zzz", &[]);
    }
}

//! Test support: programs with a marked cursor, and all programs of the repository.

use std::path::{Path, PathBuf};

use lang_ide::{Edit, LIBRARY, Session};

/// The module of a test.
pub(crate) const MAIN: &str = "main.iv";

/// Creates a session with one module.
pub(crate) fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    session
}

/// Returns the text without its mark `$0`, and the offset of the mark.
pub(crate) fn marked(text: &str) -> (String, u32) {
    let at = text.find("$0").expect("a mark");
    (text.replacen("$0", "", 1), u32::try_from(at).expect("a short text"))
}

/// Formats the line and column of an offset, counted from 1.
pub(crate) fn line_and_column(text: &str, at: u32) -> String {
    let before = &text[..at as usize];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "iv") {
            found.push(path);
        }
    }
}

/// Creates a session with every program of `examples` and `tests`. Returns it with the names of
/// their modules and in the library's.
pub(crate) fn corpus() -> (Session, Vec<String>) {
    let mut session = Session::new();
    let mut modules: Vec<String> = LIBRARY.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut paths = Vec::new();
    for folder in ["examples", "tests/programs"] {
        files(&root().join(folder), &mut paths);
    }
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text");
        let name = path.strip_prefix(root()).expect("a path in the repository").display().to_string();
        session.set_text(&name, &text);
        modules.push(name);
    }
    (session, modules)
}

/// Applies edits, which must be in order and must not overlap.
pub(crate) fn applied(text: &str, edits: &[Edit]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for edit in edits {
        out += &text[at..edit.at.span.range().start];
        out += &edit.text;
        at = edit.at.span.range().end;
    }
    out + &text[at..]
}

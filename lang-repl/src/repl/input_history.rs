//! **Input history** for the line editor. Recalled inputs of several lines come back with their
//! margins. The arrow keys search for entries that begin with the text before the cursor.
//!
//! The line editor defines the format of the history file. Concurrent sessions may append to it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustyline::Config;
use rustyline::history::{FileHistory, History, SearchDirection, SearchResult};

use super::margin;
use crate::files;

/// The state of a prefix search with the arrow keys.
#[derive(Default)]
pub(crate) struct PrefixSearch {
    /// The prefix that an entry must have.
    prefix: String,
    /// The whole line when the search began.
    typed_text: String,
    /// The entry that is shown.
    shown_entry: Option<String>,
}

/// A search, shared by the key handlers and the history.
pub(crate) type SharedPrefixSearch = Arc<Mutex<PrefixSearch>>;

impl PrefixSearch {
    /// Records an arrow key, with the current line and the text before the cursor. Begins a new
    /// search unless the line is the entry shown by the last one.
    pub(crate) fn begin(&mut self, line: &str, before: &str) {
        if self.shown_entry.as_deref() != Some(line) {
            before.clone_into(&mut self.prefix);
            line.clone_into(&mut self.typed_text);
            self.shown_entry = None;
        }
    }
}

/// The history.
pub(crate) struct InputHistory {
    file: FileHistory,
    search: SharedPrefixSearch,
}

impl InputHistory {
    pub(crate) fn new(config: &Config, search: SharedPrefixSearch) -> Self {
        Self { file: FileHistory::with_config(config), search }
    }

    fn entry(&self, index: usize) -> Option<String> {
        let found = self.file.get(index, SearchDirection::Forward).ok().flatten()?;
        Some(margin::with_margins(&found.entry))
    }

    /// Returns the entry nearest to `start` in a direction for which `fits` returns a cursor
    /// position.
    fn nearest_entry(
        &self,
        start: usize,
        dir: SearchDirection,
        fits: impl Fn(&str) -> Option<usize>,
    ) -> Option<SearchResult<'static>> {
        let found = |idx: usize| {
            let entry = self.entry(idx)?;
            let pos = fits(&entry)?;
            Some(SearchResult { entry: Cow::Owned(entry), idx, pos })
        };
        match dir {
            SearchDirection::Reverse => (0..=start).rev().find_map(found),
            SearchDirection::Forward => (start..self.file.len()).find_map(found),
        }
    }
}

impl History for InputHistory {
    fn get(&self, index: usize, dir: SearchDirection) -> rustyline::Result<Option<SearchResult<'_>>> {
        let Ok(mut search) = self.search.lock() else { return Ok(None) };
        let current = search.shown_entry.clone().unwrap_or_else(|| search.typed_text.clone());
        let fits = |entry: &str| (entry.starts_with(&search.prefix) && entry != current).then_some(0);
        let found = self.nearest_entry(index, dir, fits);
        let found = match (found, dir) {
            (Some(found), _) => found,
            (None, SearchDirection::Reverse) => return Ok(None),
            // After the last entry comes the text that was typed.
            (None, SearchDirection::Forward) => {
                SearchResult { entry: Cow::Owned(search.typed_text.clone()), idx: self.file.len(), pos: 0 }
            }
        };
        search.shown_entry = Some(found.entry.to_string());
        Ok(Some(found))
    }

    fn add(&mut self, line: &str) -> rustyline::Result<bool> {
        self.file.add(line)
    }

    fn add_owned(&mut self, line: String) -> rustyline::Result<bool> {
        self.file.add_owned(line)
    }

    fn len(&self) -> usize {
        self.file.len()
    }

    fn is_empty(&self) -> bool {
        self.file.is_empty()
    }

    fn set_max_len(&mut self, len: usize) -> rustyline::Result<()> {
        self.file.set_max_len(len)
    }

    fn ignore_dups(&mut self, yes: bool) -> rustyline::Result<()> {
        self.file.ignore_dups(yes)
    }

    fn ignore_space(&mut self, yes: bool) {
        self.file.ignore_space(yes);
    }

    fn save(&mut self, path: &Path) -> rustyline::Result<()> {
        self.file.save(path)
    }

    fn append(&mut self, path: &Path) -> rustyline::Result<()> {
        self.file.append(path)
    }

    fn load(&mut self, path: &Path) -> rustyline::Result<()> {
        self.file.load(path)
    }

    fn clear(&mut self) -> rustyline::Result<()> {
        self.file.clear()
    }

    fn search(&self, term: &str, start: usize, dir: SearchDirection) -> rustyline::Result<Option<SearchResult<'_>>> {
        if term.is_empty() {
            return Ok(None);
        }
        Ok(self.nearest_entry(start, dir, |entry| entry.find(term)))
    }

    fn starts_with(
        &self,
        term: &str,
        start: usize,
        dir: SearchDirection,
    ) -> rustyline::Result<Option<SearchResult<'_>>> {
        Ok(self.nearest_entry(start, dir, |entry| entry.starts_with(term).then_some(term.len())))
    }
}

/// Returns the path of the history file: `$XDG_DATA_HOME/iverson/history`.
pub(crate) fn history_path() -> Option<PathBuf> {
    Some(files::data_folder()?.join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_bring_what_begins_alike() {
        let search = SharedPrefixSearch::default();
        let mut recall = InputHistory::new(&Config::default(), search.clone());
        for line in ["let a = 1", "sin(1.0)", "let b =\n  2", "cos(1.0)", "let b =\n  2"] {
            recall.add(line).unwrap();
        }
        let up = |index: usize| recall.get(index, SearchDirection::Reverse).unwrap();
        search.lock().unwrap().begin("let", "let");
        let found = up(4).unwrap();
        assert_eq!((found.idx, &*found.entry), (4, "let b =\n        \u{a0}  2"));
        // A duplicate entry is skipped.
        search.lock().unwrap().begin(&found.entry, &found.entry);
        let found = up(3).unwrap();
        assert_eq!((found.idx, &*found.entry), (0, "let a = 1"));
        assert_eq!(up(0), None);
        let down = recall.get(1, SearchDirection::Forward).unwrap().unwrap();
        assert_eq!((down.idx, &*down.entry), (2, "let b =\n        \u{a0}  2"));
        let end = recall.get(5, SearchDirection::Forward).unwrap().unwrap();
        assert_eq!((end.idx, &*end.entry), (5, "let"));
    }
}

//! Standard output and error. A reader that goes away is no error: what follows is dropped.

use std::io::{self, IsTerminal as _, Write as _};

use crate::cli::{Common, Format, When};
use crate::json;
use crate::problem::Problem;
use crate::report::{self, Style};
use crate::source::Sources;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    /// 0
    Good,
    /// 1: the program is wrong or failed.
    Failed,
    /// 2: the command line is wrong.
    Usage,
}

impl Status {
    /// The number a shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }
}

/// Where results and reports go, and in what form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    format: Format,
    color: bool,
}

impl Out {
    pub(crate) fn new(common: &Common) -> Self {
        let color = match common.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                io::stderr().is_terminal() && !set("NO_COLOR") && !dumb
            }
        };
        Self { format: common.format, color }
    }

    /// Is the one JSON document wanted?
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    fn style(self) -> Style {
        match self.format {
            Format::Short => Style::Short,
            Format::Text | Format::Json => Style::Full { color: self.color },
        }
    }

    /// Writes to standard output.
    pub(crate) fn print(self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes to standard error.
    pub(crate) fn note(self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Writes what a program prints: not among JSON.
    pub(crate) fn program(self, text: &str) {
        if self.is_json() { self.note(text) } else { self.print(text) }
    }

    /// Reports that end a command: the JSON document is then `{"error": […]}`.
    pub(crate) fn fail(self, problems: &[Problem], sources: &Sources) {
        if self.is_json() {
            self.print(&format!("{}\n", json::object([("error", report::json_list(problems, sources))])));
        } else {
            self.note(&report::text(problems, sources, self.style()));
        }
    }

    /// Reports that do not end the command. Among JSON they have no place.
    pub(crate) fn warn(self, problems: &[Problem], sources: &Sources) {
        if !self.is_json() {
            self.note(&report::text(problems, sources, self.style()));
        }
    }
}

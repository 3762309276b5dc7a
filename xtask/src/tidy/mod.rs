//! **Repository checks** that the compiler does not do. Each check is a function from texts to
//! problems, in a file named after its subject, with its own tests. This file reads the repository
//! and reports the problems.

mod book;
mod crates;
mod features;
mod glossary;
mod prose;
mod sources;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) use prose::{BUDGETS, lowered_budgets};

/// A file of the repository: its path from the root, with `/`, and its text.
pub(crate) struct RepositoryFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A problem at a line of a file; line 0 is the file as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TidyProblem {
    path: String,
    line: usize,
    message: String,
    /// Whether it is reported without failing the check.
    is_warning: bool,
}

impl TidyProblem {
    fn error(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into(), is_warning: false }
    }

    fn warning(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::error(path, line, message) }
    }
}

impl std::fmt::Display for TidyProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = if self.is_warning { "warning" } else { "error" };
        match self.line {
            0 => write!(f, "{severity}: {}: {}", self.path, self.message),
            line => write!(f, "{severity}: {}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs every check on the repository at `root`.
pub(crate) fn run(root: &Path) -> ExitCode {
    let files = match read_files(root) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut problems = sources::check(&files);
    problems.extend(crates::check(&files));
    problems.extend(book::check(&files));
    problems.extend(prose::check(&files));
    problems.extend(glossary::check(&files));
    problems.extend(features::check(root));
    for problem in &problems {
        eprintln!("{problem}");
    }
    let errors = problems.iter().filter(|p| !p.is_warning).count();
    let counted = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let [errors_text, warnings_text] = [counted(errors, "error"), counted(problems.len() - errors, "warning")];
    println!("tidy: {}, {errors_text}, {warnings_text}", counted(files.len(), "file"));
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads all Rust, Markdown, Cargo and Iverson files outside build folders, and the list of
/// budgets.
pub(crate) fn read_files(root: &Path) -> std::io::Result<Vec<RepositoryFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if ["target", "node_modules", "book.built"].contains(&name.as_str())
                || (name.starts_with('.') && name != ".ci")
            {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                let path = relative_path(root, &entry.path());
                if path != BUDGETS && ![".rs", ".md", ".toml", ".iv"].iter().any(|end| name.ends_with(end)) {
                    continue;
                }
                files.push(RepositoryFile { path, text: std::fs::read_to_string(entry.path())? });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn relative_path(root: &Path, path: &Path) -> String {
    let inside: PathBuf = path.strip_prefix(root).unwrap_or(path).to_path_buf();
    inside.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the printed problems of `check` on these files.
    #[track_caller]
    pub(super) fn shows(check: fn(&[RepositoryFile]) -> Vec<TidyProblem>, files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<RepositoryFile> =
            files.iter().map(|(path, text)| RepositoryFile { path: (*path).into(), text: (*text).into() }).collect();
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn problems_print_their_place() {
        assert_eq!(TidyProblem::error("a.rs", 3, "bad").to_string(), "error: a.rs:3: bad");
        assert_eq!(TidyProblem::warning("a.rs", 0, "long").to_string(), "warning: a.rs: long");
    }
}

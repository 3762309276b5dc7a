//! **Source files.** Checks that Rust files begin with `//!`, are not too long and contain no
//! unfinished work, and that programs are in folders.

use super::{RepositoryFile, TidyProblem};

/// A file with more lines causes a warning.
const LONG: usize = 700;
/// A file with more lines is an error.
const TOO_LONG: usize = 1_000;

/// The marks of unfinished work, split so that this file does not contain them.
const UNFINISHED: [&str; 3] = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("#[ig", "nore")];

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|f| f.path.ends_with(".iv") && !f.path.contains('/')) {
        problems.push(TidyProblem::error(&file.path, 0, "a program must not be in the root folder: move or delete it"));
    }
    for file in files.iter().filter(|f| f.path.ends_with(".rs")) {
        if !file.text.starts_with("//!") {
            problems.push(TidyProblem::error(
                &file.path,
                1,
                "a file must start with a `//!` comment: its purpose and invariants",
            ));
        }
        let lines = file.text.lines().count();
        if lines > TOO_LONG {
            problems.push(TidyProblem::error(&file.path, 0, format!("{lines} lines, more than {TOO_LONG}: split it")));
        } else if lines > LONG {
            let message = format!("{lines} lines, more than {LONG}: consider splitting it");
            problems.push(TidyProblem::warning(&file.path, 0, message));
        }
        for (number, line) in file.text.lines().enumerate() {
            for mark in UNFINISHED.iter().filter(|mark| line.contains(**mark)) {
                problems.push(TidyProblem::error(&file.path, number + 1, format!("unfinished: `{mark}`")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::{UNFINISHED, check};

    #[test]
    fn headers_are_wanted() {
        shows(check, &[("a.rs", "//! What it does.\nfn f() {}\n"), ("a.md", "text")], &[]);
        shows(
            check,
            &[("a.rs", "fn f() {}\n")],
            &["error: a.rs:1: a file must start with a `//!` comment: its purpose and invariants"],
        );
    }

    #[test]
    fn programs_at_the_root_are_told() {
        shows(
            check,
            &[("examples/a.iv", "do 1\n"), ("a.iv", "do 1\n")],
            &["error: a.iv: a program must not be in the root folder: move or delete it"],
        );
    }

    #[test]
    fn long_files_are_told() {
        shows(check, &[("a.rs", &"//!\n".repeat(700))], &[]);
        shows(
            check,
            &[("a.rs", &"//!\n".repeat(701))],
            &["warning: a.rs: 701 lines, more than 700: consider splitting it"],
        );
        shows(check, &[("a.rs", &"//!\n".repeat(1001))], &["error: a.rs: 1001 lines, more than 1000: split it"]);
    }

    #[test]
    fn unfinished_work_is_told() {
        let text = format!("//! x\nfn f() {{ {}) }}\n", UNFINISHED[0]);
        let expected = format!("error: a.rs:2: unfinished: `{}`", UNFINISHED[0]);
        shows(check, &[("a.rs", &text)], &[&expected]);
    }
}

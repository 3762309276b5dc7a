//! **Prose and names.** Each file has a budget of sentences, comment lines and names that break the
//! house rule. A file that the list of budgets does not contain has a budget of zero. Budgets only
//! fall: `cargo xtask prose --lower` writes the new ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ra_ap_rustc_lexer::TokenKind;

use super::{RepositoryFile, TidyProblem};
use crate::prose::{ProseFinding, findings, rust_tokens};

/// The list of budgets, from the root.
pub(crate) const BUDGETS: &str = "xtask/prose-budgets.txt";

/// The maximal number of findings that are printed for a file over its budget.
const MAX_SHOWN: usize = 5;

/// Names that say nothing alone: pronouns, participles, adverbs.
const BARE_NAMES: [&str; 20] = [
    "again", "apart", "around", "asked", "below", "beside", "fewer", "found", "given", "inside", "known", "made",
    "once", "other", "place", "said", "told", "watched", "within", "wanted",
];

/// The keywords that declare a name.
const DECLARING_KEYWORDS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "mod"];

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let budgets =
        files.iter().find(|file| file.path == BUDGETS).map_or_else(BTreeMap::new, |file| parse_budgets(&file.text));
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path != BUDGETS) {
        let (findings, budget) = (all_findings(file), budgets.get(file.path.as_str()).copied().unwrap_or(0));
        if findings.len() > budget {
            let more = format!("prose and naming faults: {}, more than the budget of {budget}", findings.len());
            problems.push(TidyProblem::error(&file.path, 0, more));
            let shown = findings.into_iter().take(MAX_SHOWN);
            problems.extend(shown.map(|finding| TidyProblem::error(&file.path, finding.line, finding.message)));
        } else if findings.len() < budget {
            let fewer = format!("prose and naming faults: {}, fewer than the budget of {budget}", findings.len());
            problems.push(TidyProblem::error(&file.path, 0, format!("{fewer}; run `cargo xtask prose --lower`")));
        }
    }
    let gone = budgets.keys().filter(|path| files.iter().all(|file| file.path != **path));
    problems.extend(gone.map(|path| TidyProblem::error(BUDGETS, 0, format!("there is no file `{path}`"))));
    problems
}

/// The list of budgets for the files as they are; none is higher than before, if there was a list.
pub(crate) fn lowered_budgets(files: &[RepositoryFile]) -> String {
    let before = files.iter().find(|file| file.path == BUDGETS).map(|file| parse_budgets(&file.text));
    let mut list = String::new();
    for file in files.iter().filter(|file| file.path != BUDGETS) {
        let allowed = before.as_ref().map_or(usize::MAX, |before| before.get(file.path.as_str()).copied().unwrap_or(0));
        let budget = all_findings(file).len().min(allowed);
        if budget > 0 {
            let _ = writeln!(list, "{budget} {}", file.path);
        }
    }
    list
}

/// The budgets of a list.
fn parse_budgets(text: &str) -> BTreeMap<&str, usize> {
    let entries = text.lines().filter_map(|line| line.split_once(' '));
    entries.filter_map(|(count, path)| Some((path, count.parse().ok()?))).collect()
}

fn all_findings(file: &RepositoryFile) -> Vec<ProseFinding> {
    let mut all = findings(file);
    all.extend(bare_names(file));
    all
}

/// Declared names of Rust, and names of Rust files, that say nothing alone.
fn bare_names(file: &RepositoryFile) -> Vec<ProseFinding> {
    let Some((_, stem)) = file.path.strip_suffix(".rs").map(|path| path.rsplit_once('/').unwrap_or(("", path))) else {
        return Vec::new();
    };
    let finding = |line, name: &str| ProseFinding { line, message: format!("`{name}` is not descriptive by itself") };
    let mut found: Vec<ProseFinding> = BARE_NAMES.contains(&stem).then(|| finding(0, stem)).into_iter().collect();
    let code = rust_tokens(&file.text).filter(|(_, _, kind, _)| {
        !matches!(kind, TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. })
    });
    let mut before = "";
    for (line, _, _, word) in code {
        if DECLARING_KEYWORDS.contains(&before) && BARE_NAMES.contains(&word.to_lowercase().as_str()) {
            found.push(finding(line, word));
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::*;

    const BAD: &str = "//! **Told.** What was asked.\nfn made() {}\n";

    #[test]
    fn a_file_without_a_budget_has_no_faults() {
        shows(
            check,
            &[("a.rs", BAD), ("b.rs", "//! A list.\nfn list() {}\n")],
            &[
                "error: a.rs: prose and naming faults: 4, more than the budget of 0",
                "error: a.rs:1: \"told\" hides the subject: Told.",
                "error: a.rs:1: a sentence opens with \"what\": What was asked.",
                "error: a.rs:1: \"asked\" hides the subject: What was asked.",
                "error: a.rs:2: `made` is not descriptive by itself",
            ],
        );
    }

    #[test]
    fn budgets_fall_with_the_faults() {
        shows(check, &[("a.rs", BAD), (BUDGETS, "4 a.rs\n")], &[]);
        shows(
            check,
            &[("a.rs", BAD), (BUDGETS, "5 a.rs\n1 b.rs\n")],
            &[
                "error: a.rs: prose and naming faults: 4, fewer than the budget of 5; run `cargo xtask prose --lower`",
                &format!("error: {BUDGETS}: there is no file `b.rs`"),
            ],
        );
        let file = |path: &str, text: &str| RepositoryFile { path: path.into(), text: text.into() };
        assert_eq!(lowered_budgets(&[file("a.rs", BAD)]), "4 a.rs\n");
        assert_eq!(lowered_budgets(&[file("a.rs", BAD), file("b.rs", BAD), file(BUDGETS, "3 a.rs\n")]), "3 a.rs\n");
    }

    #[test]
    fn names_of_declarations_and_files_are_found() {
        let text = "//! A.\npub(crate) struct Found;\npub const fn given_one() {}\nasync fn told() {}\nlet made = 1;\n";
        let found = bare_names(&RepositoryFile { path: "x/apart.rs".into(), text: text.into() });
        let found: Vec<(usize, &str)> = found.iter().map(|f| (f.line, f.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (0, "`apart` is not descriptive by itself"),
                (2, "`Found` is not descriptive by itself"),
                (4, "`told` is not descriptive by itself")
            ]
        );
    }
}

//! **The book.** Checks that every diagnostic code has a page and every page a code, and that the
//! summary lists all pages. Also checks that links inside the repository resolve.

use std::collections::BTreeSet;

use super::{RepositoryFile, TidyProblem};

const CODES: &str = "lang-core/base/src/diag.rs";
const PAGES: &str = "docs/book/src/errors/";
const BOOK: &str = "docs/book/src/";
const SUMMARY: &str = "docs/book/src/SUMMARY.md";

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let text = |path: &str| files.iter().find(|f| f.path == path).map(|f| f.text.as_str()).unwrap_or_default();
    let mut problems = Vec::new();
    let codes = parse_codes(text(CODES));
    if codes.is_empty() {
        problems.push(TidyProblem::error(CODES, 0, "no diagnostic codes found"));
    }
    let summary = text(SUMMARY);
    for code in &codes {
        let page = format!("{PAGES}{code}.md");
        if files.iter().all(|f| f.path != page) {
            problems.push(TidyProblem::error(&page, 0, format!("the code {code} has no page")));
        }
    }
    for file in files {
        // Files that are not Markdown are not pages.
        let Some(inside) = file.path.strip_prefix(BOOK).filter(|path| path.ends_with(".md")) else { continue };
        if file.path != SUMMARY && !summary.contains(&format!("({inside})")) {
            problems.push(TidyProblem::error(&file.path, 0, "not listed in SUMMARY.md"));
        }
        if let Some(page) = file.path.strip_prefix(PAGES)
            && let Some(code) = page.strip_suffix(".md")
            && code != "index"
            && !codes.contains(code)
        {
            problems.push(TidyProblem::error(&file.path, 0, format!("a page for {code}, which is not a code")));
        }
    }
    let paths: BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    for file in files.iter().filter(|f| f.path.ends_with(".md")) {
        problems.extend(dead_links(file, &paths));
    }
    problems
}

/// Returns the codes of the `codes!` table, whose lines have the form `E0200 "type mismatch",`.
fn parse_codes(diag: &str) -> BTreeSet<String> {
    diag.lines()
        .filter_map(|line| line.trim().split_once(" \""))
        .map(|(word, _)| word)
        .filter(|word| {
            let digits = word.strip_prefix(['E', 'W']);
            digits.is_some_and(|d| d.len() == 4 && d.chars().all(|c| c.is_ascii_digit()))
        })
        .map(String::from)
        .collect()
}

/// Returns the links `](target)` of a page, outside its code blocks, without a file in the
/// repository. Only files that the checks read can be targets. Other targets and web addresses are
/// ignored.
fn dead_links(file: &RepositoryFile, paths: &BTreeSet<&str>) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let mut code = false;
    for (number, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        for (at, open) in line.match_indices("](") {
            let after = line.get(at + open.len()..).unwrap_or_default();
            let target = after.split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            let known = [".md", ".rs", ".toml", ".iv"].iter().any(|end| target.ends_with(end));
            if known && !target.contains("://") && !paths.contains(resolve_target(&file.path, target).as_str()) {
                problems.push(TidyProblem::error(
                    &file.path,
                    number + 1,
                    format!("link to `{target}`, which does not exist"),
                ));
            }
        }
    }
    problems
}

/// Returns the path that `target` denotes in the file `from`.
fn resolve_target(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::check;

    const DIAG: (&str, &str) = ("lang-core/base/src/diag.rs", "codes! {\n    E0001 \"unexpected\",\n}\n");
    const PAGE: (&str, &str) = ("docs/book/src/errors/E0001.md", "# E0001\n");
    const SUMMARY: (&str, &str) = ("docs/book/src/SUMMARY.md", "- [E0001](errors/E0001.md)\n");

    #[test]
    fn a_page_for_every_code() {
        shows(check, &[DIAG, PAGE, SUMMARY], &[]);
        shows(
            check,
            &[DIAG, ("docs/book/src/SUMMARY.md", "")],
            &["error: docs/book/src/errors/E0001.md: the code E0001 has no page"],
        );
    }

    #[test]
    fn a_code_for_every_page() {
        let summary = ("docs/book/src/SUMMARY.md", "(errors/E0001.md) (errors/E0999.md)");
        shows(
            check,
            &[DIAG, PAGE, ("docs/book/src/errors/E0999.md", ""), summary],
            &["error: docs/book/src/errors/E0999.md: a page for E0999, which is not a code"],
        );
    }

    #[test]
    fn pages_are_listed_and_links_live() {
        shows(
            check,
            &[DIAG, PAGE, SUMMARY, ("docs/book/src/a.md", "")],
            &["error: docs/book/src/a.md: not listed in SUMMARY.md"],
        );
        shows(
            check,
            &[
                DIAG,
                PAGE,
                SUMMARY,
                ("README.md", "[x](docs/book/src/SUMMARY.md#top)\n[y](docs/none.md)\n```\n[z](no.md)\n```\n"),
            ],
            &["error: README.md:2: link to `docs/none.md`, which does not exist"],
        );
    }
}

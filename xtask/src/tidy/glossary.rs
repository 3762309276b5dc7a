//! **Glossary check.** Each row of `docs/GLOSSARY.md` names types or functions and links files.
//! Each name must occur in one of the linked files. The check of links covers the files themselves.

use super::{RepositoryFile, TidyProblem};

const GLOSSARY: &str = "docs/GLOSSARY.md";

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let Some(glossary) = files.iter().find(|file| file.path == GLOSSARY) else { return problems };
    for (number, line) in glossary.text.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, names, links] = cells.as_slice() else { continue };
        let linked = linked_files(files, links);
        if linked.is_empty() {
            continue;
        }
        for name in names.split('`').skip(1).step_by(2) {
            if !linked.iter().any(|file| has_word(&file.text, last_part(name))) {
                problems.push(TidyProblem::error(
                    GLOSSARY,
                    number + 1,
                    format!("`{name}` does not occur in the linked files"),
                ));
            }
        }
    }
    problems
}

/// Returns the files that the links of a cell point to; a link to a folder contains all its files.
fn linked_files<'a>(files: &'a [RepositoryFile], links: &str) -> Vec<&'a RepositoryFile> {
    let targets = links.split("](../").skip(1).filter_map(|rest| rest.split(')').next());
    targets.flat_map(|target| files.iter().filter(move |file| file.path.starts_with(target))).collect()
}

/// Returns the last name of a path, without arguments: `new` of `Type::<T>::new(x)`.
fn last_part(path: &str) -> &str {
    let plain = path.split(['(', '<', '!']).next().unwrap_or(path);
    plain.rsplit(['.', ':']).next().unwrap_or(plain)
}

/// Returns whether the text contains the word.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
        !part(before.chars().next_back()) && !part(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::*;

    #[test]
    fn names_occur_in_their_files() {
        let row = |names: &str| {
            format!("| term | meaning | names | file |\n|---|---|---|---|\n| a | b | {names} | [x](../x.rs) |\n")
        };
        let code = ("x.rs", "struct Tape;\nfn push_all() {}\n");
        shows(check, &[(GLOSSARY, &row("`Tape`, `Tape::push_all`")), code], &[]);
        let lost = "error: docs/GLOSSARY.md:3: `push` does not occur in the linked files";
        shows(check, &[(GLOSSARY, &row("`Tape`, `push`")), code], &[lost]);
    }
}

//! **Crate dependencies.** Checks the dependencies between the crates of the workspace.

use super::{RepositoryFile, TidyProblem};

/// Each crate with the workspace crates that it may depend on. A crate that no list names has no
/// dependents in the workspace.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 8] = [
    ("lang-core", &[]),
    ("lang-ide", &["lang-core"]),
    ("lang-jit", &["lang-core"]),
    ("lang-lsp", &["lang-ide"]),
    ("lang-repl", &["lang-core", "lang-jit"]),
    ("tests", &["lang-core", "lang-ide", "lang-jit"]),
    ("benches", &["lang-core", "lang-jit"]),
    ("xtask", &[]),
];

/// Returns the package name of a folder, as other manifests write it.
fn package_name(folder: &str) -> String {
    match folder {
        "tests" | "benches" => format!("iverson-{folder}"),
        other => other.into(),
    }
}

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for file in files {
        let Some(folder) = file.path.strip_suffix("/Cargo.toml") else { continue };
        if folder == "fuzz" {
            continue; // It is outside the workspace, and its targets call the same code as the tests.
        }
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(name, _)| *name == folder) else {
            problems.push(TidyProblem::error(&file.path, 0, "the crate is not in the table of allowed dependencies"));
            continue;
        };
        for (number, name) in dependencies(&file.text) {
            let ours = ALLOWED_DEPENDENCIES.iter().find(|(folder, _)| package_name(folder) == name);
            if let Some((used, _)) = ours
                && !allowed.contains(used)
            {
                problems.push(TidyProblem::error(
                    &file.path,
                    number,
                    format!("`{folder}` must not depend on `{name}`"),
                ));
            }
        }
    }
    problems
}

/// Returns the names in the dependency tables of a manifest, with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut names = Vec::new();
    for (number, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table.ends_with("dependencies");
            if let Some((_, name)) = table.split_once("dependencies.") {
                names.push((number + 1, name));
            }
        } else if inside && let Some(end) = line.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')) {
            let (name, _) = line.split_at(end);
            if !name.is_empty() {
                names.push((number + 1, name));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::check;

    #[test]
    fn arrows_of_the_design_are_fine() {
        shows(check, &[("lang-repl/Cargo.toml", "[dependencies]\nlang-core.workspace = true\nclap = \"1\"\n")], &[]);
        shows(
            check,
            &[("lang-core/Cargo.toml", "[package]\nname = \"lang-core\"\n[dependencies]\nlibm = \"1\"\n")],
            &[],
        );
    }

    #[test]
    fn other_arrows_are_not() {
        shows(
            check,
            &[("lang-core/Cargo.toml", "[dev-dependencies]\nlang-repl = { path = \"../lang-repl\" }\n")],
            &["error: lang-core/Cargo.toml:2: `lang-core` must not depend on `lang-repl`"],
        );
        shows(
            check,
            &[("lang-lsp/Cargo.toml", "[dependencies.lang-jit]\nworkspace = true\n")],
            &["error: lang-lsp/Cargo.toml:1: `lang-lsp` must not depend on `lang-jit`"],
        );
        shows(
            check,
            &[("lang-repl/Cargo.toml", "[dev-dependencies]\niverson-tests = { path = \"../tests\" }\n")],
            &["error: lang-repl/Cargo.toml:2: `lang-repl` must not depend on `iverson-tests`"],
        );
        shows(
            check,
            &[("lang-new/Cargo.toml", "")],
            &["error: lang-new/Cargo.toml: crate without a place among the arrows"],
        );
    }
}

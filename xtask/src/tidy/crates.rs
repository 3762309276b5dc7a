//! **Crate dependencies.** Checks the dependencies between the crates of the workspace.

use super::{RepositoryFile, TidyProblem};

/// The crates in `lang-core/`, in the order in which a program passes through them. Each may depend
/// on those before it, and its tests on all but itself.
const ROOMS: [&str; 16] = [
    "base", "syntax", "sizes", "resolve", "types", "runtime", "interp", "ir", "opt", "eval", "reader", "middle",
    "nest", "exec", "source", "session",
];

/// The room that `lang-core` leaves out, because only tests use it.
const TEST_ROOM: &str = "reader";

/// Each other crate with the workspace crates that it may depend on. The crates of [`ROOMS`] are
/// reached through `lang-core` alone, but `tests` depends on [`TEST_ROOM`] itself.
const ARROWS: [(&str, &[&str]); 9] = [
    ("features", &[]),
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
fn package(folder: &str) -> String {
    match folder {
        "tests" | "benches" | "features" => format!("iverson-{folder}"),
        other => other.into(),
    }
}

/// Returns the position of a package in [`ROOMS`].
fn room(package: &str) -> Option<usize> {
    ROOMS.iter().position(|room| package.strip_prefix("lang-") == Some(room))
}

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    files.iter().filter(|file| file.path.ends_with("/Cargo.toml")).flat_map(check_manifest).collect()
}

fn check_manifest(file: &RepositoryFile) -> Vec<TidyProblem> {
    let folder = file.path.trim_end_matches("/Cargo.toml");
    if folder == "fuzz" {
        return Vec::new(); // It is outside the workspace, and its targets call the same code as the tests.
    }
    let own_room = folder.strip_prefix("lang-core/").map(|name| format!("lang-{name}"));
    let arrows = ARROWS.iter().find(|(name, _)| *name == folder).map(|(_, allowed)| *allowed);
    if arrows.is_none() && own_room.as_deref().and_then(room).is_none() {
        return vec![TidyProblem::error(&file.path, 0, "the crate is not in the table of allowed dependencies")];
    }
    let refused = |dependency: &Dependency<'_>| {
        let used_room = room(dependency.name);
        if let Some(own) = own_room.as_deref().and_then(room) {
            return match used_room {
                Some(used) => used == own || used > own && !dependency.is_for_tests,
                None => dependency.name.starts_with("lang-"),
            };
        }
        let used = ARROWS.iter().find(|(folder, _)| package(folder) == dependency.name);
        match (used, used_room) {
            (_, Some(used)) => match ROOMS.get(used) {
                Some(&TEST_ROOM) => folder != "tests",
                _ => folder != "lang-core",
            },
            (Some((used, _)), _) => !arrows.unwrap_or_default().contains(used),
            (None, None) => false,
        }
    };
    let own = own_room.as_deref().unwrap_or(folder);
    dependencies(&file.text)
        .into_iter()
        .filter(refused)
        .map(|it| TidyProblem::error(&file.path, it.line, format!("`{own}` must not depend on `{}`", it.name)))
        .collect()
}

/// A dependency of a manifest.
struct Dependency<'t> {
    line: usize,
    name: &'t str,
    /// Whether only tests and benches use it.
    is_for_tests: bool,
}

/// Returns the entries of the dependency tables of a manifest.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let (mut in_table, mut is_for_tests) = (false, false);
    let mut all = Vec::new();
    for (number, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            (in_table, is_for_tests) = (table.ends_with("dependencies"), table.contains("dev-dependencies"));
            if let Some((_, name)) = table.split_once("dependencies.") {
                all.push(Dependency { line: number + 1, name, is_for_tests });
            }
        } else if in_table && let Some(end) = line.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')) {
            let (name, _) = line.split_at(end);
            if !name.is_empty() {
                all.push(Dependency { line: number + 1, name, is_for_tests });
            }
        }
    }
    all
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
            &[("lang-core/types/Cargo.toml", "[dependencies]\nlang-ir.workspace = true\nlang-base.workspace = true\n")],
            &["error: lang-core/types/Cargo.toml:2: `lang-types` must not depend on `lang-ir`"],
        );
        shows(check, &[("lang-core/nest/Cargo.toml", "[dev-dependencies]\nlang-session.workspace = true\n")], &[]);
        shows(
            check,
            &[("lang-ide/Cargo.toml", "[dependencies]\nlang-types.workspace = true\n")],
            &["error: lang-ide/Cargo.toml:2: `lang-ide` must not depend on `lang-types`"],
        );
        shows(check, &[("tests/Cargo.toml", "[dev-dependencies]\nlang-reader.workspace = true\n")], &[]);
        shows(
            check,
            &[("lang-core/Cargo.toml", "[dependencies]\nlang-reader.workspace = true\n")],
            &["error: lang-core/Cargo.toml:2: `lang-core` must not depend on `lang-reader`"],
        );
        shows(
            check,
            &[("lang-new/Cargo.toml", "")],
            &["error: lang-new/Cargo.toml: the crate is not in the table of allowed dependencies"],
        );
    }
}

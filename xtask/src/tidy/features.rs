//! **Features.** Checks that the command line, the server and `cargo test --workspace` build
//! dependencies with the same features. If they differ, the second command compiles them again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::TidyProblem;

/// Packages with their versions, and their feature lists. A package has two lists if a build script
/// or macro also needs it.
type PackageFeatures = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(root: &Path) -> Vec<TidyProblem> {
    let all = || {
        let test = cargo_tree(root, &["--workspace", "-e", "normal,build,dev"])?;
        let mut problems = Vec::new();
        for program in ["lang-repl", "lang-lsp"] {
            problems.extend(differences(&cargo_tree(root, &["-p", program, "-e", "normal,build"])?, &test));
        }
        Ok(problems)
    };
    all().unwrap_or_else(|error: String| vec![TidyProblem::error("Cargo.toml", 0, error)])
}

fn cargo_tree(root: &Path, which: &[&str]) -> Result<PackageFeatures, String> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(program)
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(which)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo tree cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(parse_packages(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses lines `name v1.2.3|feature,feature`, optionally with the mark `(*)` for a repeated
/// package. Packages with a path are our own and have no features to compare.
fn parse_packages(text: &str) -> PackageFeatures {
    let mut found = PackageFeatures::new();
    for line in text.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        if package.contains('/') || package.contains('\\') {
            continue;
        }
        let package = package.replace(" (proc-macro)", "");
        let mut features: Vec<&str> = features.trim_end_matches("(*)").trim().split(',').collect();
        features.sort_unstable();
        found.entry(package.trim().into()).or_default().insert(features.join(","));
    }
    found
}

fn differences(run: &PackageFeatures, test: &PackageFeatures) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for (package, features) in run {
        let Some(others) = test.get(package) else { continue };
        if !features.is_subset(others) {
            let show = |set: &BTreeSet<String>| set.iter().map(|f| format!("[{f}]")).collect::<Vec<_>>().join(" or ");
            let message = format!(
                "`{package}` is built with {} to run and with {} to test; name its features in features/Cargo.toml",
                show(features),
                show(others)
            );
            problems.push(TidyProblem::error("Cargo.toml", 0, message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{differences, parse_packages};

    #[track_caller]
    fn differ(run: &str, test: &str, expected: &[&str]) {
        let found: Vec<String> =
            differences(&parse_packages(run), &parse_packages(test)).into_iter().map(|p| p.message).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_features_are_fine() {
        differ("a v1.0.0|std\nlang-core v0.1.0 (/x/lang-core)|\n", "a v1.0.0|std (*)\nb v2.0.0|\n", &[]);
        differ("a v1.0.0|alloc,std", "a v1.0.0|std,alloc", &[]);
        differ("a v1.0.0|", "a v1.0.0|\na v1.0.0|std", &[]);
    }

    #[test]
    fn other_features_are_told() {
        differ(
            "a v1.0.0|std",
            "a v1.0.0|fast,std",
            &[
                "`a v1.0.0` is built with [std] to run and with [fast,std] to test; name its features in features/Cargo.toml",
            ],
        );
    }
}

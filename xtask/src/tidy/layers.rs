//! **Layers.** Checks that each folder of `lang-core` depends only on the folders before it in
//! [`LAYER_ORDER`].

use super::{RepositoryFile, TidyProblem};

/// The folders of `lang-core/src`, in the order in which a program passes through them. `lib.rs`
/// cannot hold the order, because the formatter sorts its `mod` lines.
const LAYER_ORDER: [&str; 18] = [
    "base",
    "syntax",
    "predicate",
    "count",
    "certify",
    "resolve",
    "types",
    "interp",
    "ir",
    "schedule",
    "exec",
    "norm",
    "ad",
    "cost",
    "pipeline",
    "generated",
    "source",
    "session",
];

const SOURCE: &str = "lang-core/src/";

pub(super) fn check(files: &[RepositoryFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for file in files {
        let Some(inside) = file.path.strip_prefix(SOURCE) else { continue };
        if inside == "lib.rs" {
            problems.extend(check_declarations(file));
        }
        let Some((folder, rest)) = inside.split_once('/') else { continue };
        let Some(at) = layer_index(folder) else {
            problems.push(TidyProblem::error(
                &file.path,
                0,
                format!("folder `{folder}` is not in the order of layers"),
            ));
            continue;
        };
        // The number of `super::` from this file to the crate's root.
        let depth = 1 + rest.split('/').filter(|part| *part != "mod.rs").count();
        for (number, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for used in mentioned_modules(line, depth) {
                if layer_index(&used).is_some_and(|to| to > at) {
                    let message = format!("`{folder}` comes before `{used}` and must not use it");
                    problems.push(TidyProblem::error(&file.path, number + 1, message));
                }
            }
        }
    }
    problems
}

/// Checks that `lib.rs` declares exactly the folders of [`LAYER_ORDER`].
fn check_declarations(lib: &RepositoryFile) -> Vec<TidyProblem> {
    let found: Vec<&str> = lib
        .text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let unknown = found.iter().filter(|name| layer_index(name).is_none());
    let missing = LAYER_ORDER.iter().filter(|name| !found.contains(name));
    unknown
        .map(|name| format!("module `{name}` is not in the order of layers"))
        .chain(missing.map(|name| format!("layer `{name}` is not declared")))
        .map(|message| TidyProblem::error(&lib.path, 0, message))
        .collect()
}

fn layer_index(folder: &str) -> Option<usize> {
    LAYER_ORDER.iter().position(|known| *known == folder)
}

/// Returns the top-level modules that a line names: `crate::x`, `crate::{x, y::z}`, and `super::`
/// repeated up to the root.
fn mentioned_modules(line: &str, depth: usize) -> Vec<String> {
    let up = "super::".repeat(depth);
    let mut names = Vec::new();
    for prefix in ["crate::", up.as_str()] {
        for (at, _) in line.match_indices(prefix) {
            let after = line.get(at + prefix.len()..).unwrap_or_default();
            if let Some(group) = after.strip_prefix('{') {
                names.extend(group_heads(group));
            } else {
                names.push(first_segment(after));
            }
        }
    }
    names
}

/// Returns the first segments of a `use` group, without nested groups.
fn group_heads(group: &str) -> Vec<String> {
    let (mut names, mut nested, mut fresh) = (Vec::new(), 0_u32, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => nested += 1,
            '}' if nested == 0 => break,
            '}' => nested -= 1,
            ',' if nested == 0 => fresh = true,
            c if fresh && !c.is_whitespace() => {
                names.push(first_segment(group.get(at..).unwrap_or_default()));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

fn first_segment(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::shows;
    use super::{LAYER_ORDER, check};

    #[test]
    fn leftwards_is_fine() {
        shows(check, &[("lang-core/src/types/ty.rs", "use crate::base::Name;\nuse super::info::X;\n")], &[]);
        shows(check, &[("lang-core/src/types/check/call.rs", "use super::super::ty::Type;\n")], &[]);
        shows(check, &[("lang-core/src/base/span.rs", "// see crate::session\n")], &[]);
    }

    #[test]
    fn rightwards_is_told_with_its_line() {
        shows(
            check,
            &[("lang-core/src/syntax/ast.rs", "//! x\nuse crate::types::Type;\n")],
            &["error: lang-core/src/syntax/ast.rs:2: `syntax` stands left of `types` and must not use it"],
        );
        shows(
            check,
            &[("lang-core/src/predicate/poly.rs", "use crate::{base::{Name, interp}, resolve::{Names}};\n")],
            &["error: lang-core/src/predicate/poly.rs:1: `predicate` stands left of `resolve` and must not use it"],
        );
        shows(
            check,
            &[("lang-core/src/base/mod.rs", "fn f() { super::session::g() }\n")],
            &["error: lang-core/src/base/mod.rs:1: `base` stands left of `session` and must not use it"],
        );
        shows(
            check,
            &[("lang-core/src/types/check/call.rs", "use super::super::super::interp::run;\n")],
            &["error: lang-core/src/types/check/call.rs:1: `types` stands left of `interp` and must not use it"],
        );
    }

    #[test]
    fn folders_must_be_known() {
        shows(
            check,
            &[("lang-core/src/extra/mod.rs", "")],
            &["error: lang-core/src/extra/mod.rs: folder `extra` has no place in the order of layers"],
        );
        let (last, others) = LAYER_ORDER.split_last().unwrap_or((&"", &[]));
        let declared: String = others.iter().chain(&["extra"]).map(|layer| format!("pub mod {layer};\n")).collect();
        shows(
            check,
            &[("lang-core/src/lib.rs", &declared)],
            &[
                "error: lang-core/src/lib.rs: module `extra` has no place in the order of layers",
                &format!("error: lang-core/src/lib.rs: layer `{last}` is not declared"),
            ],
        );
    }
}

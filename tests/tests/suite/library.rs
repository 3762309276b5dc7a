//! **Library checks.** The examples in the library's comments show the recorded output, and every
//! definition has one. The texts are formatted and have no diagnostics. The book has a page of
//! every module. `cargo xtask bless` records, formats and writes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::path::PathBuf;

use iverson_tests::literate::{self, assert_no_faults, compare_or_update};
use iverson_tests::{library, render, tables};
use lang_core::session::{LIBRARY, Session};
use lang_core::syntax::format;

fn path(module: &str) -> PathBuf {
    literate::repository_root().join(format!("std/{}.iv", library::title(module)))
}

fn read(module: &str) -> String {
    let path = path(module);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_module_is_part_of_the_library() {
    let mut files = literate::files_with_extension(&literate::repository_root().join("std"), "iv");
    let mut modules: Vec<PathBuf> = LIBRARY.iter().map(|(module, _)| path(module)).collect();
    files.sort();
    modules.sort();
    assert_eq!(files, modules);
}

/// Checks layout, diagnostics and examples of every module, then its page of the book.
#[test]
fn examples_and_pages_are_what_is_recorded() {
    let mut faults = Vec::new();
    let mut session = Session::new();
    for (module, _) in LIBRARY {
        let text = read(module);
        session.set_text(module, &text);
        let found = render::diagnostics(module, &text, &session.diagnostics(module));
        assert!(found.is_empty(), "{found}");
        match format::format(&text) {
            Ok(formatted) => compare_or_update(&path(module), &text, &formatted, &mut faults),
            Err(_) => faults.push(format!("{module} cannot be formatted")),
        }
    }
    for (module, _) in LIBRARY {
        let text = read(module);
        let (found, updated) = library::check(&mut session, module, &text);
        // In update mode a difference in recorded output is not a fault, because it is rewritten; a
        // missing example is.
        let lasting = |fault: &String| !literate::is_update_mode() || !fault.contains("--- recorded");
        faults.extend(found.into_iter().filter(lasting));
        compare_or_update(&path(module), &text, &updated, &mut Vec::new());
        let page = literate::repository_root().join(format!("docs/book/src/library/{}.md", library::title(module)));
        let now = std::fs::read_to_string(&page).unwrap_or_default();
        compare_or_update(&page, &now, &library::page(module, &updated), &mut faults);
    }
    assert_no_faults(&faults);
}

#[test]
fn the_book_lists_the_modules() {
    let mut faults = Vec::new();
    let path = literate::repository_root().join("docs/book/src/SUMMARY.md");
    let summary = std::fs::read_to_string(&path).unwrap();
    let modules: Vec<&str> = LIBRARY.iter().map(|(module, _)| *module).collect();
    compare_or_update(&path, &summary, &tables::summary(&summary, &modules), &mut faults);
    for page in literate::markdown_files(&literate::repository_root().join("docs/book/src/library")) {
        let name = page.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_generated = std::fs::read_to_string(&page).unwrap().starts_with(library::GENERATED_PREFIX);
        if is_generated && !modules.iter().any(|module| library::title(module) == name) {
            faults.push(format!("{} is the page of no module", page.display()));
        }
    }
    assert_no_faults(&faults);
}

/// A failure must name the condition, not a function, because the caller may not have called that
/// one: `lstsq` factors by `qr`, `solve_positive` by `cholesky`.
#[test]
fn failures_of_linear_algebra_name_the_condition() {
    let text = read("linalg");
    let found: Vec<&str> = text
        .lines()
        .filter(|line| {
            let message = line.split('"').nth(1).unwrap_or_default();
            let named = message.split(':').next().unwrap_or_default();
            message.contains(": ") && !line.starts_with("--") && text.contains(&format!("\ndef {named}("))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

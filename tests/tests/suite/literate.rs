//! **Literate tests** of the book, the README and the literate suite. Every program in them runs,
//! and its output must be the recorded one. `cargo xtask bless` rewrites the outputs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iverson_tests::literate::{self, BlockKind, assert_no_faults, compare_or_update};
use iverson_tests::{library, reference_coverage, run, tables};
use lang_core::base::Code;
use lang_core::session::LIBRARY;
use lang_core::syntax::split::split;

/// Codes whose page has no program that leads to them, with the reason.
const WITHOUT_EXAMPLE: &[(Code, &str)] = &[
    (Code::E0007, "a page is UTF-8 itself"),
    (Code::E0008, "the program would have 64 MiB"),
    (Code::E0404, "the match would have thousands of arms"),
    (Code::E0507, "it takes someone who interrupts"),
    (Code::E0514, "the pages have nothing to draw on; the tests of the command line do"),
    (Code::E0515, "it takes the trap"),
    (Code::E0517, "no program should lead to it"),
    (Code::E0600, "belongs to the command line, whose own tests show it"),
    (Code::E0601, "belongs to the command line, whose own tests show it"),
    (Code::E0602, "belongs to the command line, whose own tests show it"),
    (Code::E0603, "the pages have no data files; the tests of the command line do"),
    (Code::E0604, "the pages have no data files; the tests of the command line do"),
    (Code::E0605, "the pages have no data files; the tests of the command line do"),
    (Code::W0606, "the pages have no data files; the tests of the command line do"),
];

/// Returns the hand-written pages. The `library` test checks the generated ones.
fn pages() -> Vec<PathBuf> {
    let root = literate::repository_root();
    let mut pages = literate::markdown_files(&root.join("docs/book/src"));
    pages.extend(literate::markdown_files(&root.join("tests/literate")));
    pages.push(root.join("README.md"));
    pages.retain(|path| !read(path).starts_with(library::GENERATED_PREFIX));
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn programs_show_what_is_recorded() {
    let mut faults = Vec::new();
    for path in pages() {
        let page = read(&path);
        match literate::check(&page, run::block_output) {
            Ok((found, updated)) if literate::is_update_mode() => {
                compare_or_update(&path, &page, &updated, &mut faults);
                drop(found);
            }
            Ok((found, _)) => faults.extend(found.iter().map(|f| format!("{}, {f}", path.display()))),
            Err(fault) => faults.push(format!("{}, {fault}", path.display())),
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn examples_show_what_is_recorded() {
    let mut faults = Vec::new();
    for path in literate::files_with_extension(&literate::repository_root().join("examples"), "iv") {
        let program = read(&path);
        // No files are available here. The tests of the command line run all examples, those in
        // folders too.
        if program.contains("load(") || path.parent().is_some_and(|folder| !folder.ends_with("examples")) {
            continue;
        }
        let recorded = path.with_extension("out");
        let now = std::fs::read_to_string(&recorded).unwrap_or_default();
        compare_or_update(&recorded, &now, &run::program_output(&program, &[]), &mut faults);
    }
    assert_no_faults(&faults);
}

#[test]
fn tables_of_the_book_are_those_of_the_language() {
    let mut faults = Vec::new();
    let text = |module: &str| read(&literate::repository_root().join(format!("std/{}.iv", library::title(module))));
    let modules: Vec<(&str, String)> = LIBRARY.iter().map(|(name, _)| (*name, text(name))).collect();
    for path in pages() {
        let page = read(&path);
        match tables::refresh(&page, &modules) {
            Ok(fresh) => compare_or_update(&path, &page, &fresh, &mut faults),
            Err(fault) => faults.push(format!("{}: {fault}", path.display())),
        }
    }
    assert_no_faults(&faults);
}

/// The page of every error must show the error.
#[test]
fn error_pages_show_their_code() {
    let mut faults = Vec::new();
    for code in Code::ALL {
        let path = literate::repository_root().join(format!("docs/book/src/errors/{code}.md"));
        let page = read(&path);
        if !page.starts_with(&format!("# {code}: {}\n", code.title())) {
            faults.push(format!("{code}: the title of the page is not that of the code"));
        }
        let blocks = literate::blocks(&page).unwrap_or_else(|fault| panic!("{code}: {fault}"));
        let shown = blocks.iter().any(|block| block.output.contains(&format!("[{code}]: ")));
        let excused = WITHOUT_EXAMPLE.iter().any(|(other, _)| other == code);
        if shown == excused {
            faults.push(match shown {
                true => format!("{code} has an example now and needs no excuse"),
                false => format!("{code}: no program of its page leads to it"),
            });
        }
        // The corrected program must show no error.
        if let Some(last) = blocks.last()
            && blocks.len() > 1
            && last.output.contains("error[")
        {
            faults.push(format!("{code}: the mended program shows an error"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The reference must have an example of every kind of node of the syntax tree, and must name every
/// word.
#[test]
fn the_reference_is_complete() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut text = String::new();
    for path in literate::markdown_files(&literate::repository_root().join("docs/book/src/reference")) {
        let page = read(&path);
        for block in literate::blocks(&page).unwrap_or_else(|fault| panic!("{}: {fault}", path.display())) {
            if matches!(block.kind, BlockKind::Program | BlockKind::Module(_)) {
                for item in split(&block.text) {
                    reference_coverage::of_item(&item.text, &mut seen);
                }
            }
        }
        text.push_str(&page);
    }
    let missing: Vec<&str> = reference_coverage::ALL.iter().copied().filter(|form| !seen.contains(form)).collect();
    assert!(missing.is_empty(), "without an example in the reference: {missing:?}");
    let unknown: Vec<&str> = seen.iter().copied().filter(|form| !reference_coverage::ALL.contains(form)).collect();
    assert!(unknown.is_empty(), "not in the list of forms: {unknown:?}");
    let unnamed: Vec<String> =
        reference_coverage::words().into_iter().filter(|word| !text.contains(&format!("`{word}"))).collect();
    assert!(unnamed.is_empty(), "not named in the reference: {unnamed:?}");
}

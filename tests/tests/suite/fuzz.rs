//! **Fuzzing** with a fixed seed: damaged programs. `cargo xtask soak` runs more of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use iverson_tests::literate::{self, BlockKind};
use iverson_tests::{fuzz, random};

/// Returns all programs of the pages, the examples, the library and the test programs.
fn corpus() -> Vec<String> {
    let root = literate::repository_root();
    let mut texts = Vec::new();
    for folder in ["docs/book/src", "tests/literate"] {
        for path in literate::markdown_files(&root.join(folder)) {
            let page = std::fs::read_to_string(&path).unwrap();
            let blocks = literate::blocks(&page).unwrap();
            texts.extend(blocks.into_iter().filter(|b| b.kind != BlockKind::Unchecked).map(|b| b.text));
        }
    }
    for folder in ["examples", "std", "tests/programs"] {
        let files = literate::files_with_extension(&root.join(folder), "iv");
        texts.extend(files.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    }
    texts
}

#[test]
fn the_corpus_itself_holds() {
    let corpus = corpus();
    assert!(corpus.len() > 500, "{} texts", corpus.len());
    corpus.iter().for_each(|text| fuzz::check_front_end(text));
}

#[test]
fn mutants_hold() {
    let count = random::case_count(1_500);
    let programs = fuzz::check_mutants(&corpus(), random::seed(), count);
    println!("{programs} of {count} mutants ran");
    // Few mutants are programs, and a short run may have none.
    assert!(count < 1_500 || programs > 0, "no mutant of {count} ran");
}

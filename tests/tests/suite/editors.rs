//! **Editor grammars.** Checks that each grammar contains all words and symbols of the language. A
//! new word must be added to each, or this test fails. `cargo xtask bless` writes the tables.

use iverson_tests::editors::{FILES, refresh};
use iverson_tests::literate::{self, assert_no_faults, compare_or_update};
use lang_core::resolve::vocabulary;

#[test]
fn grammars_have_the_words_of_the_language() {
    let mut faults = Vec::new();
    for (path, row) in FILES {
        let path = literate::repository_root().join(path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match refresh(&text, row) {
            Ok(fresh) => {
                compare_or_update(&path, &text, &fresh, &mut faults);
                let missing = vocabulary::all_words().filter(|word| !holds(&fresh, word));
                faults.extend(missing.map(|word| format!("{} does not hold `{word}`", path.display())));
            }
            Err(fault) => faults.push(format!("{}: {fault}", path.display())),
        }
    }
    assert_no_faults(&faults);
}

/// Returns whether the text contains the word as a whole.
fn holds(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}

//! The grammars of the editors hold the words and symbols of the language, all of them: a new one is in each of them
//! or fails here. `cargo xtask bless` writes them.

use iverson_tests::editors::{FILES, refresh};
use iverson_tests::literate::{self, none, settle};
use lang_core::resolve::words;

#[test]
fn grammars_have_the_words_of_the_language() {
    let mut faults = Vec::new();
    for (path, row) in FILES {
        let path = literate::root().join(path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match refresh(&text, row) {
            Ok(fresh) => {
                settle(&path, &text, &fresh, &mut faults);
                let missing = words::all().filter(|word| !holds(&fresh, word));
                faults.extend(missing.map(|word| format!("{} does not hold `{word}`", path.display())));
            }
            Err(fault) => faults.push(format!("{}: {fault}", path.display())),
        }
    }
    none(&faults);
}

/// Does the text hold the word as a whole?
fn holds(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}

//! **Field names for the parts of a file.** A part name that is no identifier is converted to one:
//! `sepal length` becomes `sepal_length`, and `2nd` becomes `_2nd`. If converted names clash, the
//! later ones are numbered.
//!
//! Names are normalised to Unicode NFC, like those of programs.

use std::collections::{HashMap, HashSet};

use lang_core::base::Name;

pub(super) use lang_core::syntax::lexer::to_nfc;
use lang_core::syntax::lexer::{is_name_continue, is_name_start};

/// Returns the field names of the parts, in order. A part without a usable name gets the name
/// `part` and its number.
pub(super) fn unique_field_names(raw_names: &[&str], part: &str) -> Vec<String> {
    let raw_names: Vec<_> = raw_names.iter().map(|name| to_nfc(name)).collect();
    let mut taken: HashSet<String> =
        raw_names.iter().filter(|name| is_field_name(name)).map(|name| (**name).to_owned()).collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let names = raw_names.iter().enumerate().map(|(k, raw_name)| {
        if is_field_name(raw_name) {
            return (**raw_name).to_owned();
        }
        let base = converted_name(raw_name).unwrap_or_else(|| format!("{part}_{}", k + 1));
        let mut name = base.clone();
        while !taken.insert(name.clone()) {
            let count = counts.entry(base.clone()).or_default();
            *count += 1;
            name = format!("{base}_{count}");
        }
        name
    });
    names.collect()
}

/// Whether all are valid field names.
pub(super) fn are_field_names<'n>(mut names: impl Iterator<Item = &'n Name>) -> bool {
    names.all(|name| is_field_name(name))
}

fn is_field_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_continue) && text != "_"
}

/// Replaces each run of invalid characters between valid ones by one `_`. `None` if no character is
/// valid.
fn converted_name(text: &str) -> Option<String> {
    let mut name = String::new();
    for c in text.chars() {
        if is_name_continue(c) && c != '\'' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    match name.chars().next()? {
        first if is_name_start(first) => Some(name),
        _ => Some(format!("_{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_becomes_one() {
        let check =
            |raw_names: &[&str], expected: &[&str]| assert_eq!(unique_field_names(raw_names, "column"), expected);
        check(&["x", "größe", "x'", "_", "Δt₀"], &["x", "größe", "x'", "column_4", "Δt₀"]);
        check(&["sepal length (cm)", "2nd", "a-b", "%"], &["sepal_length_cm", "_2nd", "a_b", "column_4"]);
        check(&["a b", "a_b", "a-b", "a.b"], &["a_b_1", "a_b", "a_b_2", "a_b_3"]);
        check(&["x", "x"], &["x", "x"]);
        // Once composed, and once with a combining diaeresis.
        check(&["gr\u{f6}\u{df}e", "gro\u{308}\u{df}e"], &["gr\u{f6}\u{df}e", "gr\u{f6}\u{df}e"]);
        check(&["", "column_1", "it's"], &["column_1_1", "column_1", "it's"]);
    }
}

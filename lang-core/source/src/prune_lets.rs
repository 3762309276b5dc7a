//! **Pruning of `let`s** beside entries. Keeps only those that an entry mentions, directly or
//! through another, and each value once.

use std::collections::HashSet;

use super::constructors::names_in_text;
use super::entries::DerivativeEntry;
use lang_syntax::lexer::{Token, lex};

/// Returns the `let`s, in order, that the texts mention directly or through other `let`s.
#[must_use]
pub fn mentioned_lets<'t>(lets: &[String], texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut wanted: HashSet<String> = texts.into_iter().flat_map(names_in_text).collect();
    let mut kept: Vec<String> = Vec::new();
    for one in lets.iter().rev() {
        let Some((bound, value)) = split_let(one) else {
            kept.push(one.clone());
            continue;
        };
        if names_in_text(bound).iter().any(|name| wanted.contains(name)) {
            wanted.extend(names_in_text(value));
            kept.push(one.clone());
        }
    }
    kept.reverse();
    kept
}

/// Keeps the first of several `let`s with the same value, and renames the uses of the others.
pub(super) fn merge_equal_lets(lets: Vec<String>, all: &mut [DerivativeEntry]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut renamed: Vec<(String, String)> = Vec::new();
    for one in lets {
        let one = rename_variables(&one, &renamed);
        let same = split_let(&one).and_then(|(bound, value)| {
            let [own] = <[String; 1]>::try_from(names_in_text(bound)).ok()?;
            let known = kept.iter().filter_map(|other| split_let(other)).find(|(_, other)| *other == value)?;
            let [first] = <[String; 1]>::try_from(names_in_text(known.0)).ok()?;
            Some((own, first))
        });
        match same {
            Some(pair) => renamed.push(pair),
            None => kept.push(one),
        }
    }
    for entry in all {
        entry.value = rename_variables(&entry.value, &renamed);
        entry.variable = rename_variables(&entry.variable, &renamed);
        entry.indices.iter_mut().for_each(|at| *at = rename_variables(at, &renamed));
    }
    kept
}

/// Splits a `let` into its pattern and its value.
fn split_let(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("let ")?.split_once(" = ")
}

/// Renames the variables in a text. Names of fields stay.
fn rename_variables(text: &str, names: &[(String, String)]) -> String {
    if names.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for token in lex(text).tokens {
        let Token::Name(name) = &token.token else { continue };
        let range = token.span.range();
        let field = text.get(..range.start).is_some_and(|before| before.ends_with('.'));
        let Some((_, other)) = names.iter().find(|(own, _)| !field && *own == **name) else { continue };
        out += text.get(at..range.start).unwrap_or_default();
        out += other;
        at = range.end;
    }
    out + text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{mentioned_lets, merge_equal_lets};
    use crate::DerivativeEntry;

    fn told(value: &str) -> DerivativeEntry {
        DerivativeEntry { variable: "x".to_owned(), indices: Vec::new(), value: value.to_owned() }
    }

    fn lets(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn only_what_is_read() {
        let all = lets(&["let a = 1", "let b = a + x.c", "let c = b", "let (d, e) = f(b)", "let t = e"]);
        assert_eq!(mentioned_lets(&all, ["b * x"]), lets(&["let a = 1", "let b = a + x.c"]));
        assert_eq!(
            mentioned_lets(&all, ["t"]),
            lets(&["let a = 1", "let b = a + x.c", "let (d, e) = f(b)", "let t = e"])
        );
        assert_eq!(mentioned_lets(&all, ["x"]), lets(&[]));
    }

    #[test]
    fn one_value_once() {
        let mut rows = [told("t3 * x.t3 + t5")];
        let all = lets(&["let t2 = h / 2", "let t3 = h / 2", "let t4 = t2 * x", "let t5 = t3 * x"]);
        assert_eq!(merge_equal_lets(all, &mut rows), lets(&["let t2 = h / 2", "let t4 = t2 * x"]));
        assert_eq!(rows, [told("t2 * x.t3 + t4")]);
    }
}

//! Completion of `\name` by Tab: a mathematical letter or symbol, by its name in TeX.

use lang_core::syntax::tex::TEX_NAMES;

/// Returns the symbol of that name.
fn symbol_named(name: &str) -> Option<&'static str> {
    TEX_NAMES.iter().find(|(known, _)| *known == name).map(|(_, symbol)| *symbol)
}

/// Completes a backslash and a name at the end of the text. Returns the position of the backslash
/// and pairs of the text to show and its replacement. A complete name yields its symbol alone, even
/// if it begins longer names.
pub(crate) fn complete_symbol(before: &str) -> Option<(usize, Vec<(String, String)>)> {
    let start = before.rfind('\\')?;
    let name = before.get(start + 1..)?;
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    if let Some(symbol) = symbol_named(name) {
        return Some((start, vec![(symbol.to_owned(), symbol.to_owned())]));
    }
    let begin: Vec<_> = TEX_NAMES.iter().filter(|(known, _)| known.starts_with(name)).collect();
    let candidates = match begin.as_slice() {
        // A single letter may be the parameter of a lambda.
        [(_, symbol)] if name.len() > 1 => vec![((*symbol).to_owned(), (*symbol).to_owned())],
        _ => begin.iter().map(|(known, symbol)| (format!("\\{known} {symbol}"), format!("\\{known}"))).collect(),
    };
    Some((start, candidates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, expected: Option<(usize, &[&str])>) {
        let found = complete_symbol(before).map(|(at, found)| (at, found.into_iter().map(|f| f.1).collect::<Vec<_>>()));
        let expected = expected.map(|(at, all)| (at, all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()));
        assert_eq!(found, expected);
    }

    #[test]
    fn names_become_symbols() {
        check("\\alpha", Some((0, &["α"])));
        check("1 + \\mu", Some((4, &["μ"])));
        check("θ\\_1", Some((2, &["₁"])));
        check("\\al", Some((0, &["α"])));
        check("\\th", Some((0, &["θ"])));
        check("\\le", Some((0, &["≤"])));
        check("\\p", Some((0, &["\\phi", "\\pi", "\\prime", "\\prod", "\\psi"])));
        check("\\x", Some((0, &["\\xi"])));
        check("\\x, y: x", None);
        check("\\zz", Some((0, &[])));
        check("alpha", None);
    }
}

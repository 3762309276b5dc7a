//! What `\name` becomes by Tab: the letters and marks of mathematics that the language reads, by their
//! names in TeX. A test holds that the lexer takes each of them.

/// Names and what they stand for, in the order of the names.
const TABLE: &[(&str, &str)] = &[
    ("Delta", "Δ"),
    ("Gamma", "Γ"),
    ("Lambda", "Λ"),
    ("Omega", "Ω"),
    ("Phi", "Φ"),
    ("Pi", "Π"),
    ("Psi", "Ψ"),
    ("Sigma", "Σ"),
    ("Theta", "Θ"),
    ("Upsilon", "Υ"),
    ("Xi", "Ξ"),
    ("_0", "₀"),
    ("_1", "₁"),
    ("_2", "₂"),
    ("_3", "₃"),
    ("_4", "₄"),
    ("_5", "₅"),
    ("_6", "₆"),
    ("_7", "₇"),
    ("_8", "₈"),
    ("_9", "₉"),
    ("alpha", "α"),
    ("and", "∧"),
    ("bar", "\u{304}"),
    ("beta", "β"),
    ("bigplus", "⊞"),
    ("cdot", "·"),
    ("chi", "χ"),
    ("delta", "δ"),
    ("dot", "\u{307}"),
    ("ell", "ℓ"),
    ("epsilon", "ε"),
    ("eta", "η"),
    ("exists", "∃"),
    ("forall", "∀"),
    ("gamma", "γ"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("hat", "\u{302}"),
    ("infty", "∞"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("land", "∧"),
    ("le", "≤"),
    ("leq", "≤"),
    ("lnot", "¬"),
    ("lor", "∨"),
    ("mu", "μ"),
    ("nabla", "∇"),
    ("ne", "≠"),
    ("neg", "¬"),
    ("neq", "≠"),
    ("nu", "ν"),
    ("omega", "ω"),
    ("omicron", "ο"),
    ("or", "∨"),
    ("phi", "φ"),
    ("pi", "π"),
    ("prime", "'"),
    ("prod", "∏"),
    ("psi", "ψ"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("sum", "∑"),
    ("tau", "τ"),
    ("theta", "θ"),
    ("tilde", "\u{303}"),
    ("times", "×"),
    ("to", "→"),
    ("upsilon", "υ"),
    ("varepsilon", "ϵ"),
    ("varphi", "ϕ"),
    ("vartheta", "ϑ"),
    ("vee", "∨"),
    ("wedge", "∧"),
    ("xi", "ξ"),
    ("zeta", "ζ"),
];

/// The symbol of that name.
fn named(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, symbol)| *symbol)
}

/// Where a backslash with the beginning of a name stands at the end of the text, and what the name may
/// become: what to show, and what to put there. A whole name is its symbol, even if others go on
/// from it.
pub(crate) fn complete(before: &str) -> Option<(usize, Vec<(String, String)>)> {
    let start = before.rfind('\\')?;
    let name = before.get(start + 1..)?;
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    if let Some(symbol) = named(name) {
        return Some((start, vec![(symbol.to_owned(), symbol.to_owned())]));
    }
    let begin: Vec<_> = TABLE.iter().filter(|(known, _)| known.starts_with(name)).collect();
    let candidates = match begin.as_slice() {
        // One letter may be the parameter of a lambda.
        [(_, symbol)] if name.len() > 1 => vec![((*symbol).to_owned(), (*symbol).to_owned())],
        _ => begin.iter().map(|(known, symbol)| (format!("\\{known} {symbol}"), format!("\\{known}"))).collect(),
    };
    Some((start, candidates))
}

#[cfg(test)]
mod tests {
    use lang_core::syntax::lexer::lex;

    use super::*;

    #[test]
    fn the_lexer_takes_every_symbol() {
        for (name, symbol) in TABLE {
            // Subscripts, primes and accents go on a name.
            let goes_on = symbol.starts_with(|c: char| matches!(c, '₀'..='₉' | '\'' | '\u{300}'..='\u{36f}'));
            let text = if goes_on { format!("x{symbol}") } else { (*symbol).to_owned() };
            let lexed = lex(&text);
            assert!(lexed.diagnostics.is_empty() && lexed.tokens.len() == 1, "{name}: {lexed:?}");
        }
        assert!(TABLE.is_sorted(), "the names are in order");
    }

    #[track_caller]
    fn check(before: &str, expected: Option<(usize, &[&str])>) {
        let found = complete(before).map(|(at, found)| (at, found.into_iter().map(|f| f.1).collect::<Vec<_>>()));
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

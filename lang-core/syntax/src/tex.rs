//! **TeX names.** The mathematical letters and symbols of the language by TeX name, for `\name`
//! input in the REPL and in editors. A test checks that the lexer accepts each of them.

/// Pairs of a TeX name and its character, sorted by name.
pub const TEX_NAMES: &[(&str, &str)] = &[
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

#[cfg(test)]
mod tests {
    use crate::lexer::lex;

    #[test]
    fn the_lexer_takes_every_symbol() {
        for (name, symbol) in super::TEX_NAMES {
            // Subscripts, primes and accents can only continue a name.
            let goes_on = symbol.starts_with(|c: char| matches!(c, '₀'..='₉' | '\'' | '\u{300}'..='\u{36f}'));
            let text = if goes_on { format!("x{symbol}") } else { (*symbol).to_owned() };
            let lexed = lex(&text);
            assert!(lexed.diagnostics.is_empty() && lexed.tokens.len() == 1, "{name}: {lexed:?}");
        }
        assert!(super::TEX_NAMES.is_sorted(), "the names are in order");
    }
}

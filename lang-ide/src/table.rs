//! **Table cells of a hover.** Formats formulas for readers and cuts them to a line or two. Also
//! lays out the `let`s below a table.

use lang_core::syntax::format::format;

use crate::costs;

/// The maximal length of a cell, in characters.
const MAX_CELL_LENGTH: usize = 240;

/// The factor after an Iverson bracket, which a program needs even if the bracket is not multiplied
/// by anything.
const BRACKET_FACTOR: &str = "] * 1.0";

/// Formats a derivative as a formula. The factor `* 1.0` of a bracket that is not multiplied
/// further is dropped, because in a formula a bracket is a number.
pub(crate) fn as_formula(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(BRACKET_FACTOR) {
        out += before;
        let alone = after.is_empty() || [")", " + ", " - ", " else "].iter().any(|next| after.starts_with(next));
        out += if alone { "]" } else { BRACKET_FACTOR };
        rest = after;
    }
    out + rest
}

/// Cuts a long text at a space.
pub(crate) fn truncate_to_cell(text: String) -> String {
    let Some((at, _)) = text.char_indices().nth(MAX_CELL_LENGTH) else { return text };
    let first = text.get(..at).unwrap_or_default();
    let (whole, _) = first.rsplit_once(' ').unwrap_or((first, ""));
    format!("{whole} …")
}

/// Formats a formula for a cell. If it has many cases, the first ones are shown with the number of
/// the others.
pub(crate) fn truncate_cases(formula: String) -> String {
    let cases = costs::split_cases(&formula);
    let mut long = 0;
    let fit = cases.iter().take_while(|case| {
        long += case.chars().count() + 2;
        long <= MAX_CELL_LENGTH
    });
    let fit = fit.count();
    if fit == 0 {
        return match cases.len() {
            0 | 1 => truncate_to_cell(formula),
            many => format!("{many} cases; see the cost view"),
        };
    }
    match cases.len().saturating_sub(fit) {
        0 => formula,
        more => {
            let word = if more == 1 { "case" } else { "cases" };
            format!("{}, and {more} more {word}", cases.iter().take(fit).copied().collect::<Vec<_>>().join(", "))
        }
    }
}

/// Formats `let`s in the language's layout, one after another.
pub(crate) fn format_lets(lets: &[String]) -> String {
    let text = format!("def f() =\n  {}\n  in 0\n", lets.join("\n  "));
    // If the text is not a program, for example because a name has no text, it stays unchanged.
    let Ok(text) = format(&text) else { return lets.join("\n") };
    let all: Vec<&str> = text.lines().collect();
    let own = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    own.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

//! Formulas in the cells of a table, as a reader writes them, and no longer than a line or two; the `let`s below it.

use lang_core::syntax::format::format;

use crate::costs;

/// A longer text does not stand in a cell.
const LONGEST_CELL: usize = 240;

/// The factor of a bracket that stands alone: a program needs one.
const ONE: &str = "] * 1.0";

/// A derivative as a formula: a bracket alone is a number.
pub(crate) fn as_formula(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(ONE) {
        out += before;
        let alone = after.is_empty() || [")", " + ", " - ", " else "].iter().any(|next| after.starts_with(next));
        out += if alone { "]" } else { ONE };
        rest = after;
    }
    out + rest
}

/// A longer text is cut where a space is.
pub(crate) fn in_a_cell(text: String) -> String {
    let Some((at, _)) = text.char_indices().nth(LONGEST_CELL) else { return text };
    let first = text.get(..at).unwrap_or_default();
    let (whole, _) = first.rsplit_once(' ').unwrap_or((first, ""));
    format!("{whole} …")
}

/// A formula in a cell: of many cases the first, and how many more there are.
pub(crate) fn in_cases(formula: String) -> String {
    let cases = costs::cases(&formula);
    let mut long = 0;
    let fit = cases.iter().take_while(|case| {
        long += case.chars().count() + 2;
        long <= LONGEST_CELL
    });
    let fit = fit.count();
    if fit == 0 {
        return match cases.len() {
            0 | 1 => in_a_cell(formula),
            many => format!("in {many} cases, which the view of costs has"),
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

/// `let`s in the one layout, each on a line or on several.
pub(crate) fn laid_out(lets: &[String]) -> String {
    let text = format!("def f() =\n  {}\n  in 0\n", lets.join("\n  "));
    // What is no program, as a name that has no text, stays as it is.
    let Ok(text) = format(&text) else { return lets.join("\n") };
    let all: Vec<&str> = text.lines().collect();
    let own = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    own.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

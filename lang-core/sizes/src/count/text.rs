//! **Printing of formulas**: as an Iverson expression, exact for all sizes, `2*n*m - n*[0 < m]`;
//! and in mathematical notation, `2·n·m − n`, for sizes of at least 1.

use std::fmt;

use super::{DisplayNames, Formula, FormulaPiece, Ratio, cases};
use crate::predicate::poly::Monomial;
use crate::predicate::{Atom, FactContext, Poly, Pred};
use lang_base::Name;

/// The operators and spellings of a notation.
struct FormulaNotation<'n> {
    names: &'n DisplayNames,
    times: &'static str,
    plus: &'static str,
    minus: &'static str,
    /// The sign before a negative sum or term.
    negative: &'static str,
    power: fn(u32) -> String,
    atom: fn(&DisplayNames, &Atom) -> String,
    over: fn(&str, i128) -> String,
    pred: fn(&DisplayNames, &Pred) -> String,
}

const SOURCE_NOTATION: FormulaNotation<'_> = FormulaNotation {
    names: &NO_NAMES,
    times: "*",
    plus: " + ",
    minus: " - ",
    negative: "-",
    power: |k| format!("^{k}"),
    atom: |_, a| Poly::atom(a.clone()).to_string(),
    over: |p, under| format!("{p} // {under}"),
    pred: |_, p| p.to_string(),
};

const MATH_NOTATION: FormulaNotation<'_> = FormulaNotation {
    names: &NO_NAMES,
    times: "·",
    plus: " + ",
    minus: " − ",
    negative: "−",
    power: |k| {
        let digit = |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize);
        k.to_string().chars().filter_map(digit).collect()
    },
    atom: math_atom,
    over: |p, under| format!("{p}/{under}"),
    pred: math_condition,
};

/// No renamed integers.
static NO_NAMES: DisplayNames = DisplayNames::empty();

/// Prints an atom in mathematical notation.
fn math_atom(names: &DisplayNames, a: &Atom) -> String {
    let people = FormulaNotation { names, ..MATH_NOTATION };
    let of = |p: &Poly| people.poly(p);
    match a {
        Atom::Div(p, q) => format!("⌊{}/{}⌋", people.parenthesised_sum(p), people.parenthesised_sum(q)),
        Atom::Mod(p, q) => format!("({} mod {})", of(p), of(q)),
        Atom::Min(p, q) => format!("min({}, {})", of(p), of(q)),
        Atom::Max(p, q) => format!("max({}, {})", of(p), of(q)),
        other => names.name(other).map_or_else(|| Poly::atom(other.clone()).to_string(), Name::to_string),
    }
}

/// Prints a predicate in mathematical notation. Conjuncts about the constructor of one value are
/// combined.
fn math_condition(names: &DisplayNames, p: &Pred) -> String {
    if let Some(words) = names.constructor_text(p) {
        return words;
    }
    if let Pred::Or(items) = p
        && !items.is_empty()
    {
        return items.iter().map(|p| math_condition(names, p)).collect::<Vec<_>>().join(" || ");
    }
    let (mut described, mut parts): (Vec<&Pred>, Vec<String>) = (Vec::new(), Vec::new());
    let all = p.conjuncts();
    for one in all.iter() {
        if described.contains(&one) {
            continue;
        }
        let subject = names.subject(one);
        let same = all.iter().filter(|p| subject.is_some() && names.subject(p) == subject);
        let together = Pred::all(same.clone().cloned());
        match names.constructor_text(&together).filter(|_| subject.is_some()) {
            Some(words) => {
                described.extend(same);
                parts.push(words);
            }
            None if matches!(one, Pred::Or(_)) && all.len() > 1 => {
                parts.push(format!("({})", math_condition(names, one)))
            }
            None if matches!(one, Pred::Or(_)) => parts.push(math_condition(names, one)),
            None => {
                let called = |a: &Atom| {
                    let Atom::Local(l, _) = a else { return None };
                    Some(Poly::atom(Atom::Local(*l, names.name(a)?.clone())))
                };
                parts.push(one.substitute(&called).to_string().replace("<=", "≤").replace("!=", "≠"));
            }
        }
    }
    if parts.is_empty() { p.to_string() } else { parts.join(" && ") }
}

impl FormulaNotation<'_> {
    fn monomial(&self, m: &Monomial, c: i128) -> String {
        let mut parts = Vec::new();
        if c != 1 || m.as_slice().is_empty() {
            parts.push(c.to_string());
        }
        let alone = c == 1 && matches!(m.as_slice(), [(_, 1)]);
        for (a, k) in m {
            let mut atom = (self.atom)(self.names, a);
            if !alone && atom.contains(' ') && !atom.ends_with(')') {
                atom = format!("({atom})");
            }
            parts.push(if *k == 1 { atom } else { atom + &(self.power)(*k) });
        }
        parts.join(self.times)
    }

    /// Returns the terms with their signs, highest degree first.
    fn terms(&self, p: &Poly) -> Vec<(bool, String)> {
        let degree = |m: &Monomial| m.as_slice().iter().map(|(_, k)| *k).sum::<u32>();
        let mut terms: Vec<_> = p.terms().iter().collect();
        terms.sort_by_key(|(m, _)| std::cmp::Reverse(degree(m)));
        terms.into_iter().map(|(m, c)| (*c < 0, self.monomial(m, c.saturating_abs()))).collect()
    }

    fn sum(&self, terms: &[(bool, String)]) -> String {
        let mut text = String::new();
        for (k, (negative, term)) in terms.iter().enumerate() {
            text += match (k, negative) {
                (0, false) => "",
                (0, true) => self.negative,
                (_, false) => self.plus,
                (_, true) => self.minus,
            };
            text += term;
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    fn poly(&self, p: &Poly) -> String {
        self.sum(&self.terms(p))
    }

    /// Prints a polynomial, in parentheses if it is a sum.
    fn parenthesised_sum(&self, p: &Poly) -> String {
        if p.terms().len() > 1 { format!("({})", self.poly(p)) } else { self.poly(p) }
    }

    /// Prints a sum of pieces, each with an Iverson bracket for its predicate.
    fn pieces(&self, of: &[FormulaPiece]) -> String {
        let terms: Vec<(bool, String)> = of.iter().flat_map(|piece| self.piece(piece)).collect();
        self.sum(&terms)
    }

    fn piece(&self, of: &FormulaPiece) -> Vec<(bool, String)> {
        let mut terms = self.ratio(&of.value);
        if of.pred.is_true() {
            return terms;
        }
        let pred = format!("[{}]", (self.pred)(self.names, &of.pred));
        match (terms.as_slice(), of.value.as_fraction()) {
            ([(negative, term)], (p, under)) => {
                let alone = p.as_constant().is_some_and(|c| c.abs() == 1) && under == 1;
                let term = if under == 1 { term.clone() } else { format!("({term})") };
                vec![(*negative, if alone { pred } else { format!("{term}{}{pred}", self.times) })]
            }
            _ => {
                terms.sort_by_key(|(negative, _)| *negative);
                vec![(false, format!("({}){}{pred}", self.sum(&terms), self.times))]
            }
        }
    }

    /// Returns the terms of a quotient: a single one, unless the denominator is 1.
    fn ratio(&self, r: &Ratio) -> Vec<(bool, String)> {
        match r.as_fraction() {
            (p, 1) => self.terms(p),
            (p, under) => match p.terms() {
                [(m, c)] => vec![(*c < 0, (self.over)(&self.monomial(m, c.saturating_abs()), under))],
                _ => vec![(false, (self.over)(&format!("({})", self.poly(p)), under))],
            },
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SOURCE_NOTATION.sum(&SOURCE_NOTATION.ratio(self)))
    }
}

/// Prints an Iverson expression over the sizes.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SOURCE_NOTATION.pieces(self.pieces()))
    }
}

impl Formula {
    /// Prints the formula in mathematical notation, for sizes with these facts: `2·n·m − n`.
    /// Several cases follow one another, `n where n <= m`.
    #[must_use]
    pub fn math_text(&self, known: &FactContext, names: &DisplayNames) -> String {
        let people = FormulaNotation { names, ..MATH_NOTATION };
        let Some(cases) = cases::split_cases(self, known) else { return people.pieces(self.simplify(known).pieces()) };
        if let Some(one) = cases.as_ratio() {
            return people.sum(&people.ratio(&one));
        }
        let one = |p: &FormulaPiece| {
            let value = people.sum(&people.ratio(&p.value));
            if p.pred.is_true() { value } else { format!("{value} where {}", math_condition(names, &p.pred)) }
        };
        cases.pieces().iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

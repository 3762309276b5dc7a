//! **Printing of formulas**: as an Iverson expression, exact for all sizes, `2*n*m - n*[0 < m]`;
//! and in mathematical notation, `2·n·m − n`, for sizes of at least 1.

use std::fmt;

use super::{Formula, Names, Piece, Ratio, cases};
use crate::predicate::poly::Monomial;
use crate::predicate::{Atom, Context, Poly, Pred};
use lang_base::Name;

/// The operators and spellings of a notation.
struct Notation<'n> {
    names: &'n Names,
    times: &'static str,
    plus: &'static str,
    minus: &'static str,
    /// The sign before a negative sum or term.
    negative: &'static str,
    power: fn(u32) -> String,
    atom: fn(&Names, &Atom) -> String,
    over: fn(&str, i128) -> String,
    pred: fn(&Names, &Pred) -> String,
}

const SOURCE: Notation<'_> = Notation {
    names: &OWN,
    times: "*",
    plus: " + ",
    minus: " - ",
    negative: "-",
    power: |k| format!("^{k}"),
    atom: |_, a| Poly::atom(a.clone()).to_string(),
    over: |p, under| format!("{p} // {under}"),
    pred: |_, p| p.to_string(),
};

const PEOPLE: Notation<'_> = Notation {
    names: &OWN,
    times: "·",
    plus: " + ",
    minus: " − ",
    negative: "−",
    power: |k| {
        let digit = |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize);
        k.to_string().chars().filter_map(digit).collect()
    },
    atom: in_words,
    over: |p, under| format!("{p}/{under}"),
    pred: condition,
};

/// No renamed integers.
static OWN: Names = Names::own();

/// Prints an atom in mathematical notation.
fn in_words(names: &Names, a: &Atom) -> String {
    let people = Notation { names, ..PEOPLE };
    let of = |p: &Poly| people.poly(p);
    match a {
        Atom::Div(p, q) => format!("⌊{}/{}⌋", people.inside(p), people.inside(q)),
        Atom::Mod(p, q) => format!("({} mod {})", of(p), of(q)),
        Atom::Min(p, q) => format!("min({}, {})", of(p), of(q)),
        Atom::Max(p, q) => format!("max({}, {})", of(p), of(q)),
        other => names.of(other).map_or_else(|| Poly::atom(other.clone()).to_string(), Name::to_string),
    }
}

/// Prints a predicate in mathematical notation. Conjuncts about the constructor of one value are
/// combined.
fn condition(names: &Names, p: &Pred) -> String {
    if let Some(words) = names.in_words(p) {
        return words;
    }
    if let Pred::Or(items) = p
        && !items.is_empty()
    {
        return items.iter().map(|p| condition(names, p)).collect::<Vec<_>>().join(" || ");
    }
    let (mut told, mut parts): (Vec<&Pred>, Vec<String>) = (Vec::new(), Vec::new());
    let all = p.conjuncts();
    for one in all.iter() {
        if told.contains(&one) {
            continue;
        }
        let subject = names.subject(one);
        let same = all.iter().filter(|p| subject.is_some() && names.subject(p) == subject);
        let together = Pred::all(same.clone().cloned());
        match names.in_words(&together).filter(|_| subject.is_some()) {
            Some(words) => {
                told.extend(same);
                parts.push(words);
            }
            None if matches!(one, Pred::Or(_)) && all.len() > 1 => parts.push(format!("({})", condition(names, one))),
            None if matches!(one, Pred::Or(_)) => parts.push(condition(names, one)),
            None => {
                let called = |a: &Atom| {
                    let Atom::Local(l, _) = a else { return None };
                    Some(Poly::atom(Atom::Local(*l, names.of(a)?.clone())))
                };
                parts.push(one.substitute(&called).to_string().replace("<=", "≤").replace("!=", "≠"));
            }
        }
    }
    if parts.is_empty() { p.to_string() } else { parts.join(" && ") }
}

impl Notation<'_> {
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
    fn inside(&self, p: &Poly) -> String {
        if p.terms().len() > 1 { format!("({})", self.poly(p)) } else { self.poly(p) }
    }

    /// Prints a sum of pieces, each with an Iverson bracket for its predicate.
    fn pieces(&self, of: &[Piece]) -> String {
        let terms: Vec<(bool, String)> = of.iter().flat_map(|piece| self.piece(piece)).collect();
        self.sum(&terms)
    }

    fn piece(&self, of: &Piece) -> Vec<(bool, String)> {
        let mut terms = self.ratio(&of.value);
        if of.pred.is_true() {
            return terms;
        }
        let pred = format!("[{}]", (self.pred)(self.names, &of.pred));
        match (terms.as_slice(), of.value.parts()) {
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
        match r.parts() {
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
        f.write_str(&SOURCE.sum(&SOURCE.ratio(self)))
    }
}

/// Prints an Iverson expression over the sizes.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&SOURCE.pieces(self.pieces()))
    }
}

impl Formula {
    /// Prints the formula in mathematical notation, for sizes with these facts: `2·n·m − n`.
    /// Several cases follow one another, `n where n <= m`.
    #[must_use]
    pub fn shown(&self, known: &Context, names: &Names) -> String {
        let people = Notation { names, ..PEOPLE };
        let Some(cases) = cases::cases(self, known) else { return people.pieces(self.simplify(known).pieces()) };
        if let Some(one) = cases.as_ratio() {
            return people.sum(&people.ratio(&one));
        }
        let one = |p: &Piece| {
            let value = people.sum(&people.ratio(&p.value));
            if p.pred.is_true() { value } else { format!("{value} where {}", condition(names, &p.pred)) }
        };
        cases.pieces().iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

//! **Entries of hovers** as programs. Turns the derivative entries that a hover shows into
//! expressions, so that tests can evaluate them. Entries that depend on the constructor of a value
//! come in cases; this module joins the cases into one expression with `match`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed expectation is a failed test"
)]

use lang_core::predicate::{Atom, Poly};
use lang_core::source::{DerivativeEntry, Entries, NotShownReason};
use lang_core::types::ty::{Scalar, Type};

/// The constructors of the test's sum type with their arguments. Each parameter takes each of these
/// values.
pub const SHAPES: [(&str, &[&str]); 3] = [("Circle", &["0.7"]), ("Box", &["0.4", "1.3"]), ("Point", &[])];

/// Returns constructor number `way` with its arguments, as `Circle(0.7)`. `put` replaces one
/// argument.
pub fn shape(way: usize, put: Option<(usize, &str)>) -> String {
    let (constructor, args) = SHAPES[way % SHAPES.len()];
    let put = |j: usize, own: &str| put.filter(|(k, _)| *k == j).map_or(own, |(_, other)| other).to_owned();
    let args: Vec<String> = args.iter().enumerate().map(|(j, own)| put(j, own)).collect();
    if args.is_empty() { constructor.to_owned() } else { format!("{constructor}({})", args.join(", ")) }
}

/// Joins the cases of one part into entries whose values hold in all cases. The flag is whether
/// cases existed.
pub fn join_cases(cases: &[&Entries]) -> (Entries, bool) {
    let [first, ..] = cases else { panic!("nothing is told") };
    if first.case.is_none() {
        return (Clone::clone(*first), false);
    }
    let mut all: Vec<DerivativeEntry> = Vec::new();
    let others: Vec<String> = cases.iter().filter_map(|c| guard_by_case(c.case.as_deref()?, "1.0")).collect();
    for entries in cases {
        for entry in &entries.entries {
            let lets: String = entries.lets.iter().map(|l| format!("{l} ")).collect();
            let value = if lets.is_empty() { entry.value.clone() } else { format!("({lets}in {})", entry.value) };
            let case = entries.case.as_deref().unwrap_or_default();
            let elsewhere = || format!("(if {} == 0.0 then {value} else 0.0)", others.join(" + "));
            let value = guard_by_case(case, &value).unwrap_or_else(elsewhere);
            match all.iter_mut().find(|t| (&t.variable, &t.indices) == (&entry.variable, &entry.indices)) {
                Some(known) => known.value += &format!(" + {value}"),
                None => all.push(DerivativeEntry { value, ..entry.clone() }),
            }
        }
    }
    (Entries { lets: Vec::new(), entries: all, case: None, ..Clone::clone(*first) }, true)
}

/// Returns an expression that is `value` in the case `where s is Circle(r)` and 0 in others.
/// Returns `None` for the case `elsewhere`.
pub fn guard_by_case(case: &str, value: &str) -> Option<String> {
    let case = case.strip_prefix("where ")?;
    let one = |case: &str| {
        let all = patterns(case);
        let arm =
            |value: String, (of, pattern): &(String, String)| format!("(match {of} {{ {pattern}: {value}, _: 0.0 }})");
        all.iter().rev().fold(format!("({value})"), arm)
    };
    Some(format!("({})", case.split(" or ").map(one).collect::<Vec<_>>().join(" + ")))
}

/// Splits `s is Box(w, _), t is Point` into scrutinees and patterns.
pub fn patterns(case: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let (mut rest, mut of) = (case, None);
    while let Some((name, after)) = rest.split_once(" is ") {
        let end = match after.find(['(', ',']) {
            Some(at) if after[at..].starts_with('(') => after.find(')').expect("it is closed") + 1,
            Some(at) => at,
            None => after.len(),
        };
        all.push((of.take().unwrap_or(name).trim_start_matches(", ").to_owned(), after[..end].to_owned()));
        rest = &after[end..];
    }
    all
}

/// Groups the entries by part of the expression; a part has one element for each case.
pub fn by_part(all: &[Result<Entries, NotShownReason>]) -> Vec<Vec<&Entries>> {
    let mut parts: Vec<Vec<&Entries>> = Vec::new();
    for entries in all.iter().flatten() {
        // The cases of a part are adjacent.
        match parts
            .last_mut()
            .filter(|part| part[0].case.is_some() && part[0].expression_part == entries.expression_part)
        {
            Some(part) => part.push(entries),
            None => parts.push(vec![entries]),
        }
    }
    parts
}

/// Splits `x[i + j]` into the name and the indices.
pub fn split_indices(of: &str) -> Option<(&str, Vec<&str>)> {
    let Some((name, at)) = of.split_once('[') else { return Some((of, Vec::new())) };
    Some((name, at.strip_suffix(']')?.split(", ").collect()))
}

/// Returns whether the text is one name.
pub fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the value of a size variable, derived from its name.
pub fn size(name: &str) -> i64 {
    2 + i64::from(name.bytes().map(u32::from).sum::<u32>() % 3)
}

/// Evaluates a size.
pub fn number(p: &Poly) -> Option<i64> {
    p.eval(&mut |a| match a {
        Atom::Local(_, name) => Some(size(name)),
        _ => None,
    })
}

/// Returns the extents of an array type, evaluated, and its element type.
pub fn peeled(mut ty: &Type) -> Option<(Vec<i64>, &Type)> {
    let mut dims = Vec::new();
    while let Type::Array(n, element) = ty {
        dims.push(number(n)?);
        ty = element;
    }
    Some((dims, ty))
}

/// Evaluates an extent, or returns `None` if it is negative.
pub fn size_of(n: &Poly) -> Option<usize> {
    number(n)?.try_into().ok()
}

/// Returns an expression of that type as an argument, or `None` if the type is neither a number nor
/// an array of reals.
pub fn argument(ty: &Type, name: &str) -> Option<String> {
    let (dims, ty) = peeled(ty).filter(|(dims, _)| dims.iter().all(|n| *n >= 0))?;
    let shift: u32 = name.bytes().map(u32::from).sum();
    let index = |k: usize| format!("f64(q{k} * {})", 2 * k + 3);
    let at: Vec<String> = (0..dims.len()).map(index).chain([format!("{}.0", shift % 11)]).collect();
    let element = match ty {
        Type::Scalar(Scalar::F64) | Type::Param(..) => format!("0.7 + 0.5 * sin({})", at.join(" + ")),
        Type::Scalar(Scalar::I64) if dims.is_empty() => size(name).to_string(),
        _ => return None,
    };
    let ranges: Vec<String> = dims.iter().enumerate().map(|(k, n)| format!("q{k} < {n}")).collect();
    Some(if ranges.is_empty() { element } else { format!("for {}: {element}", ranges.join(", ")) })
}

/// Returns whether a `let` of the entries contains a loop.
pub fn has_loop(entries: &Entries) -> bool {
    entries.lets.iter().any(|text| ["fold ", "loop ", "scan "].iter().any(|word| text.contains(word)))
}

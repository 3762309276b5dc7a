//! **Exhaustiveness and usefulness** of `match` arms, after Maranget, "Warnings for pattern
//! matching" (JFP 2007).
//!
//! One exploration answers both questions. It splits the values by the first test that the first
//! remaining arm still requires. An arm without remaining tests is reached. If no arm remains, a
//! value is missing.
//!
//! Deviation: the pattern matrices are sparse. An arm is the list of its remaining tests on places
//! in the value. So columns of wildcards cost nothing, and a missing value is read off the places.
//! Types are decomposed only as deep as patterns are, so the exploration of recursive types
//! terminates.
//!
//! The checker calls [`check`] in the end, when all types are known: for each `match`, and for each
//! pattern that must be irrefutable.

use super::tree::Pat;
use super::ty::{Scalar, Type};
use lang_base::Name;

/// The work budget of one `match`. A match that people write takes some hundreds of steps; the
/// problem is NP-hard.
const MAX_WORK: usize = 4_000_000;

/// The maximal depth of nested splits. Each split tests one more place, so only very large patterns
/// reach it.
const MAX_DEPTH: usize = 400;

/// The maximal number of missing values reported.
const MAX_MISSING: usize = 3;

/// The faults of the arms of a `match`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Values that no arm matches, as patterns that a user would write; at most three.
    pub missing: Vec<String>,
    /// The arms that match nothing beyond those before them.
    pub redundant: Vec<usize>,
    /// Whether the work budget was exhausted.
    pub too_large: bool,
}

/// Returns the constructors of a sum type in order, with the types of their arguments; `None` if it
/// has errors.
pub type Ctors<'a> = &'a dyn Fn(&Type) -> Option<Vec<(Name, Vec<Type>)>>;

/// Checks the arms of a `match` on a value of type `ty`.
///
/// If a pattern does not fit the type, the result is empty, because that error is reported
/// elsewhere. If the budget is exhausted, the match is too large, unless one arm matches every
/// value.
#[must_use]
pub fn check(ty: &Type, arms: &[&Pat], ctors: Ctors) -> Coverage {
    let mut explorer = Explorer {
        ctors,
        places: vec![Place { ty: ty.clone(), known: Known::Nothing }],
        reached: vec![false; arms.len()],
        missing: Vec::new(),
        work: MAX_WORK,
    };
    let rows = arms.iter().enumerate().map(|(arm, pat)| {
        let mut row = Row { arm, asks: Vec::new() };
        row.ask(0, pat);
        row
    });
    match explorer.explore(rows.collect(), 0) {
        Ok(()) => Coverage {
            missing: explorer.missing,
            redundant: explorer.reached.iter().enumerate().filter(|(_, r)| !**r).map(|(arm, _)| arm).collect(),
            too_large: false,
        },
        Err(Stop::Mismatch) => Coverage::default(),
        Err(Stop::TooLong) => {
            let covered = arms.iter().any(|arm| asks_nothing(arm));
            Coverage { too_large: !covered, ..Coverage::default() }
        }
    }
}

/// Returns a value of the type that the pattern does not match, or `None` if the pattern is
/// irrefutable.
#[must_use]
pub fn irrefutable(ty: &Type, pat: &Pat, ctors: Ctors) -> Option<String> {
    let found = check(ty, &[pat], ctors);
    found.missing.into_iter().next().or_else(|| found.too_large.then(|| "_".into()))
}

/// Returns whether the pattern matches every value of every type.
fn asks_nothing(pat: &Pat) -> bool {
    match pat {
        Pat::Wild | Pat::Bind(_) => true,
        Pat::Sized(_, pat) => asks_nothing(pat),
        Pat::Tuple(pats) => pats.iter().all(asks_nothing),
        Pat::Record(fields) => fields.iter().all(|(_, pat)| asks_nothing(pat)),
        Pat::Ctor(..) | Pat::Int(_) | Pat::Bool(_) => false,
    }
}

/// The reason why an exploration ends early.
enum Stop {
    /// A pattern does not fit its type.
    Mismatch,
    /// A limit was exceeded.
    TooLong,
}

/// A place in the matched value. Place 0 is the value; the others are parts of earlier places.
struct Place {
    ty: Type,
    known: Known,
}

/// The facts about a place on the current path.
enum Known {
    Nothing,
    /// Its outermost form, and the places of its parts.
    Form(Form, std::ops::Range<usize>),
    /// One of these constructors, with their numbers of arguments.
    OneOf(Vec<(Name, usize)>),
}

/// The outermost form of a value or pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    /// A tuple or record, which has a single form.
    Product,
    Ctor(u32),
    Int(i64),
    Bool(bool),
}

/// An arm with its remaining tests.
#[derive(Clone)]
struct Row<'p> {
    arm: usize,
    /// The patterns other than wildcards, with the places that they test.
    asks: Vec<(usize, &'p Pat)>,
}

impl<'p> Row<'p> {
    fn ask(&mut self, place: usize, pat: &'p Pat) {
        match pat {
            Pat::Wild | Pat::Bind(_) => {}
            Pat::Sized(_, pat) => self.ask(place, pat),
            _ => self.asks.push((place, pat)),
        }
    }

    fn asked(&self, place: usize) -> Option<&'p Pat> {
        self.asks.iter().find(|ask| ask.0 == place).map(|ask| ask.1)
    }

    /// Specialises the row to values where the place has this form and its parts are at `parts`.
    /// `None` if the row requires another form.
    fn specialise(&self, place: usize, form: &Form, parts: usize) -> Option<Self> {
        let Some(pat) = self.asked(place) else { return Some(self.clone()) };
        if form_of(pat) != Some(form.clone()) {
            return None;
        }
        let mut row = Row { arm: self.arm, asks: Vec::with_capacity(self.asks.len() + 2) };
        // The parts replace the whole in the list, so that patterns are tested left to right.
        for &(at, ask) in &self.asks {
            if at != place {
                row.asks.push((at, ask));
                continue;
            }
            match ask {
                Pat::Ctor(_, pats) | Pat::Tuple(pats) => (parts..).zip(pats).for_each(|(at, pat)| row.ask(at, pat)),
                Pat::Record(fields) => fields.iter().for_each(|(k, pat)| row.ask(parts + *k as usize, pat)),
                _ => {}
            }
        }
        Some(row)
    }
}

fn form_of(pat: &Pat) -> Option<Form> {
    match pat {
        Pat::Wild | Pat::Bind(_) | Pat::Sized(..) => None,
        Pat::Ctor(k, _) => Some(Form::Ctor(*k)),
        Pat::Tuple(_) | Pat::Record(_) => Some(Form::Product),
        Pat::Int(v) => Some(Form::Int(*v)),
        Pat::Bool(v) => Some(Form::Bool(*v)),
    }
}

/// Returns whether a pattern of this kind can match a value of the type.
fn may_be(ty: &Type, pat: &Pat) -> bool {
    match pat {
        Pat::Wild | Pat::Bind(_) | Pat::Sized(..) => true,
        Pat::Ctor(..) => matches!(ty, Type::Data(..)),
        Pat::Tuple(_) => matches!(ty, Type::Tuple(_)),
        Pat::Record(_) => matches!(ty, Type::Record(_)),
        Pat::Int(_) => *ty == Type::I64,
        Pat::Bool(_) => matches!(ty, Type::Scalar(Scalar::Bool)),
    }
}

struct Explorer<'a> {
    ctors: Ctors<'a>,
    places: Vec<Place>,
    reached: Vec<bool>,
    missing: Vec<String>,
    work: usize,
}

impl Explorer<'_> {
    /// Explores the values of the current path, which the rows may match.
    fn explore(&mut self, rows: Vec<Row>, depth: usize) -> Result<(), Stop> {
        let cost = rows.iter().map(|row| 1 + row.asks.len()).sum();
        self.work = self.work.checked_sub(cost).ok_or(Stop::TooLong)?;
        let Some(first) = rows.first() else {
            self.note_missing();
            return Ok(());
        };
        let Some(&(place, _)) = first.asks.first() else {
            if let Some(reached) = self.reached.get_mut(first.arm) {
                *reached = true;
            }
            return Ok(());
        };
        if depth > MAX_DEPTH {
            return Err(Stop::TooLong);
        }
        let ty = self.places.get(place).ok_or(Stop::Mismatch)?.ty.clone();
        let mut asked: Vec<Form> = Vec::new();
        for pat in rows.iter().filter_map(|row| row.asked(place)) {
            let form = form_of(pat).filter(|_| may_be(&ty, pat)).ok_or(Stop::Mismatch)?;
            self.work = self.work.checked_sub(1 + asked.len() / 8).ok_or(Stop::TooLong)?;
            if !asked.contains(&form) {
                asked.push(form);
            }
        }
        match &ty {
            Type::Tuple(parts) => self.follow(&rows, place, &Form::Product, parts.to_vec(), depth),
            Type::Record(fields) => {
                let parts = fields.iter().map(|f| f.1.clone()).collect();
                self.follow(&rows, place, &Form::Product, parts, depth)
            }
            Type::Data(..) => {
                let all = (self.ctors)(&ty).ok_or(Stop::Mismatch)?;
                let known = |form: &Form| matches!(form, Form::Ctor(k) if (*k as usize) < all.len());
                if !asked.iter().all(known) {
                    return Err(Stop::Mismatch);
                }
                let mut rest = Vec::new();
                for (k, (name, args)) in (0..).zip(all) {
                    if asked.contains(&Form::Ctor(k)) {
                        self.follow(&rows, place, &Form::Ctor(k), args, depth)?;
                    } else {
                        rest.push((name, args.len()));
                    }
                }
                if rest.is_empty() { Ok(()) } else { self.leave(&rows, place, Known::OneOf(rest), depth) }
            }
            Type::Scalar(Scalar::Bool) => {
                for value in [true, false] {
                    self.follow(&rows, place, &Form::Bool(value), Vec::new(), depth)?;
                }
                Ok(())
            }
            Type::Scalar(_) => {
                for form in asked {
                    self.follow(&rows, place, &form, Vec::new(), depth)?;
                }
                self.leave(&rows, place, Known::Nothing, depth)
            }
            _ => Err(Stop::Mismatch),
        }
    }

    /// Explores the values where the place has this form.
    fn follow(&mut self, rows: &[Row], place: usize, form: &Form, parts: Vec<Type>, depth: usize) -> Result<(), Stop> {
        let start = self.places.len();
        self.work = self.work.checked_sub(rows.len() + parts.len()).ok_or(Stop::TooLong)?;
        for pat in rows.iter().filter_map(|row| row.asked(place)) {
            let fits = match pat {
                Pat::Ctor(_, pats) | Pat::Tuple(pats) => pats.len() == parts.len(),
                Pat::Record(fields) => fields.iter().all(|f| (f.0 as usize) < parts.len()),
                _ => true,
            };
            if !fits && form_of(pat).as_ref() == Some(form) {
                return Err(Stop::Mismatch);
            }
        }
        self.places.extend(parts.into_iter().map(|ty| Place { ty, known: Known::Nothing }));
        let known = Known::Form(form.clone(), start..self.places.len());
        let rows = rows.iter().filter_map(|row| row.specialise(place, form, start)).collect();
        self.with(place, known, rows, depth)?;
        self.places.truncate(start);
        Ok(())
    }

    /// Explores the values where the place has none of the forms that rows require.
    fn leave(&mut self, rows: &[Row], place: usize, known: Known, depth: usize) -> Result<(), Stop> {
        let rows = rows.iter().filter(|row| row.asked(place).is_none()).cloned().collect();
        self.with(place, known, rows, depth)
    }

    fn with(&mut self, place: usize, known: Known, rows: Vec<Row>, depth: usize) -> Result<(), Stop> {
        if let Some(p) = self.places.get_mut(place) {
            p.known = known;
        }
        self.explore(rows, depth + 1)?;
        if let Some(p) = self.places.get_mut(place) {
            p.known = Known::Nothing;
        }
        Ok(())
    }

    fn note_missing(&mut self) {
        if self.missing.len() < MAX_MISSING {
            for text in self.show(0) {
                if self.missing.len() < MAX_MISSING && !self.missing.contains(&text) {
                    self.missing.push(text);
                }
            }
        }
    }

    /// Prints the values at a place as patterns; several if the constructor is not fixed. The
    /// recursion is as deep as the patterns.
    fn show(&self, place: usize) -> Vec<String> {
        let Some(Place { ty, known }) = self.places.get(place) else { return Vec::new() };
        match known {
            Known::Nothing => vec!["_".into()],
            Known::OneOf(ctors) => {
                ctors.iter().take(MAX_MISSING).map(|(name, arity)| applied(name, &vec!["_".into(); *arity])).collect()
            }
            Known::Form(Form::Int(v), _) => vec![v.to_string()],
            Known::Form(Form::Bool(v), _) => vec![v.to_string()],
            Known::Form(form, parts) => {
                let mut all: Vec<Vec<String>> = vec![Vec::new()];
                for part in parts.clone() {
                    let options = self.show(part);
                    let longer = |made: &Vec<String>| -> Vec<Vec<String>> {
                        options.iter().map(|o| made.iter().chain([o]).cloned().collect()).collect()
                    };
                    all = match options.as_slice() {
                        [one] => {
                            all.iter_mut().for_each(|made| made.push(one.clone()));
                            all
                        }
                        _ => all.iter().flat_map(longer).take(MAX_MISSING).collect(),
                    };
                }
                all.iter().map(|parts| self.show_form(ty, form, parts)).collect()
            }
        }
    }

    fn show_form(&self, ty: &Type, form: &Form, parts: &[String]) -> String {
        match (form, ty) {
            (Form::Ctor(k), _) => {
                let name = (self.ctors)(ty).and_then(|all| Some(all.get(*k as usize)?.0.clone()));
                applied(&name.unwrap_or_default(), parts)
            }
            _ if !parts.is_empty() && parts.iter().all(|p| p == "_") => "_".into(),
            (_, Type::Record(fields)) => {
                let fields: Vec<_> = fields.iter().zip(parts).map(|((name, _), p)| format!("{name}: {p}")).collect();
                format!("{{{}}}", fields.join(", "))
            }
            _ => format!("({})", parts.join(", ")),
        }
    }
}

fn applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.into() } else { format!("{name}({})", args.join(", ")) }
}

#[cfg(test)]
mod tests;

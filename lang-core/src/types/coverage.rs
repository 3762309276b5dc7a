//! Does a `match` cover all values, and can each of its arms be reached? After Maranget,
//! "Warnings for pattern matching" (JFP 2007), with one exploration for both questions: it
//! splits the values by what the first arm that is left asks of them. Where an arm asks
//! nothing more it is reached; where no arm is left a value is missing.
//!
//! Deviation: matrices of patterns are sparse. An arm is the list of what it still asks of the
//! places in a value, so columns of wildcards cost nothing, and a missing value is read off the
//! places. Types are taken apart only as deep as patterns go, so recursive ones end.

use super::tree::Pat;
use super::ty::{Scalar, Type};
use crate::base::Name;

/// Steps for one `match`. Those people write take some hundreds; the problem is NP-hard.
const MAX_WORK: usize = 4_000_000;

/// Splits inside splits. Each asks about one place more, so only very large patterns get there.
const MAX_DEPTH: usize = 400;

/// Missing values shown.
const MAX_MISSING: usize = 3;

/// What is wrong with the arms of a `match`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Values that no arm matches, as patterns a user would write; at most three.
    pub missing: Vec<String>,
    /// Arms that match nothing which those before do not.
    pub redundant: Vec<usize>,
    /// It takes too long to decide.
    pub too_large: bool,
}

/// The constructors of a sum type in order, with the types of their arguments; `None` if it has
/// errors.
pub type Ctors<'a> = &'a dyn Fn(&Type) -> Option<Vec<(Name, Vec<Type>)>>;

/// Checks the arms of a `match` on a value of the type. Patterns that do not fit the type are
/// errors reported elsewhere: nothing is said then. A match that takes too long to decide is
/// too large, unless an arm matches everything.
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

/// A value of the type that the pattern does not match, if there is one.
#[must_use]
pub fn irrefutable(ty: &Type, pat: &Pat, ctors: Ctors) -> Option<String> {
    let found = check(ty, &[pat], ctors);
    found.missing.into_iter().next().or_else(|| found.too_large.then(|| "_".into()))
}

/// Does the pattern match all values, whatever the type?
fn asks_nothing(pat: &Pat) -> bool {
    match pat {
        Pat::Wild | Pat::Bind(_) => true,
        Pat::Sized(_, pat) => asks_nothing(pat),
        Pat::Tuple(pats) => pats.iter().all(asks_nothing),
        Pat::Record(fields) => fields.iter().all(|(_, pat)| asks_nothing(pat)),
        Pat::Ctor(..) | Pat::Int(_) | Pat::Bool(_) => false,
    }
}

/// Why an exploration ends early.
enum Stop {
    /// A pattern does not fit its type.
    Mismatch,
    /// A limit was met.
    TooLong,
}

/// A place in the value that is matched: 0 is the value, then come parts of places before.
struct Place {
    ty: Type,
    known: Known,
}

/// What is known of a place on the current path.
enum Known {
    Nothing,
    /// Its outermost form, and where its parts stand.
    Form(Form, std::ops::Range<usize>),
    /// It is one of these constructors, of so many arguments.
    OneOf(Vec<(Name, usize)>),
}

/// The outermost form of a value or pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    /// A tuple or record, of which there is one form.
    Product,
    Ctor(u32),
    Int(i64),
    Bool(bool),
}

/// An arm with what it still asks.
#[derive(Clone)]
struct Row<'p> {
    arm: usize,
    /// Patterns other than wildcards, with the places they are about.
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

    /// The row where a place has this form, with its parts at `parts`; `None` if it asks for
    /// another.
    fn specialise(&self, place: usize, form: &Form, parts: usize) -> Option<Self> {
        let Some(pat) = self.asked(place) else { return Some(self.clone()) };
        if form_of(pat) != Some(form.clone()) {
            return None;
        }
        let mut row = Row { arm: self.arm, asks: Vec::with_capacity(self.asks.len() + 2) };
        // The parts take the place of the whole, so that patterns are looked at left to right.
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

/// Is the pattern of a kind that values of the type are?
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
    /// Looks at the values that the rows are about: those of the current path.
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

    /// The values where the place has this form.
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

    /// The values where the place has none of the forms that rows ask for.
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

    /// The values at a place as patterns; a few if constructors are left open. Places nest as
    /// deep as patterns do.
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

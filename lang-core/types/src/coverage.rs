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
//! The checker calls [`check_match`] in the end, when all types are known: for each `match`, and
//! for each pattern that must be irrefutable.

use super::tree::TypedPattern;
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
pub struct CoverageReport {
    /// Values that no arm matches, as patterns that a user would write; at most three.
    pub missing: Vec<String>,
    /// The arms that match nothing beyond those before them.
    pub redundant: Vec<usize>,
    /// Whether the work budget was exhausted.
    pub too_large: bool,
}

/// Returns the constructors of a sum type in order, with the types of their arguments; `None` if it
/// has errors.
pub type CtorLookup<'a> = &'a dyn Fn(&Type) -> Option<Vec<(Name, Vec<Type>)>>;

/// Checks the arms of a `match` on a value of type `ty`.
///
/// If a pattern does not fit the type, the result is empty, because that error is reported
/// elsewhere. If the budget is exhausted, the match is too large, unless one arm matches every
/// value.
#[must_use]
pub fn check_match(ty: &Type, arms: &[&TypedPattern], ctors: CtorLookup) -> CoverageReport {
    let mut explorer = CoverageExplorer {
        ctors,
        places: vec![ValuePlace { ty: ty.clone(), known: PlaceKnowledge::Nothing }],
        reached: vec![false; arms.len()],
        missing: Vec::new(),
        work: MAX_WORK,
    };
    let rows = arms.iter().enumerate().map(|(arm, pat)| {
        let mut row = PatternRow { arm, tests: Vec::new() };
        row.add_test(0, pat);
        row
    });
    match explorer.explore(rows.collect(), 0) {
        Ok(()) => CoverageReport {
            missing: explorer.missing,
            redundant: explorer.reached.iter().enumerate().filter(|(_, r)| !**r).map(|(arm, _)| arm).collect(),
            too_large: false,
        },
        Err(ExplorationStop::Mismatch) => CoverageReport::default(),
        Err(ExplorationStop::LimitExceeded) => {
            let covered = arms.iter().any(|arm| is_catch_all(arm));
            CoverageReport { too_large: !covered, ..CoverageReport::default() }
        }
    }
}

/// Returns a value of the type that the pattern does not match, or `None` if the pattern is
/// irrefutable.
#[must_use]
pub fn refutation_witness(ty: &Type, pat: &TypedPattern, ctors: CtorLookup) -> Option<String> {
    let found = check_match(ty, &[pat], ctors);
    found.missing.into_iter().next().or_else(|| found.too_large.then(|| "_".into()))
}

/// Returns whether the pattern matches every value of every type.
fn is_catch_all(pat: &TypedPattern) -> bool {
    match pat {
        TypedPattern::Wild | TypedPattern::Bind(_) => true,
        TypedPattern::Sized(_, pat) => is_catch_all(pat),
        TypedPattern::Tuple(pats) => pats.iter().all(is_catch_all),
        TypedPattern::Record(fields) => fields.iter().all(|(_, pat)| is_catch_all(pat)),
        TypedPattern::Ctor(..) | TypedPattern::Int(_) | TypedPattern::Bool(_) => false,
    }
}

/// The reason why an exploration ends early.
enum ExplorationStop {
    /// A pattern does not fit its type.
    Mismatch,
    /// A limit was exceeded.
    LimitExceeded,
}

/// A place in the matched value. Place 0 is the value; the others are parts of earlier places.
struct ValuePlace {
    ty: Type,
    known: PlaceKnowledge,
}

/// The facts about a place on the current path.
enum PlaceKnowledge {
    Nothing,
    /// Its outermost form, and the places of its parts.
    Form(ValueForm, std::ops::Range<usize>),
    /// One of these constructors, with their numbers of arguments.
    OneOf(Vec<(Name, usize)>),
}

/// The outermost form of a value or pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum ValueForm {
    /// A tuple or record, which has a single form.
    Product,
    Ctor(u32),
    Int(i64),
    Bool(bool),
}

/// An arm with its remaining tests.
#[derive(Clone)]
struct PatternRow<'p> {
    arm: usize,
    /// The patterns other than wildcards, with the places that they test.
    tests: Vec<(usize, &'p TypedPattern)>,
}

impl<'p> PatternRow<'p> {
    fn add_test(&mut self, place: usize, pat: &'p TypedPattern) {
        match pat {
            TypedPattern::Wild | TypedPattern::Bind(_) => {}
            TypedPattern::Sized(_, pat) => self.add_test(place, pat),
            _ => self.tests.push((place, pat)),
        }
    }

    fn test_at(&self, place: usize) -> Option<&'p TypedPattern> {
        self.tests.iter().find(|ask| ask.0 == place).map(|ask| ask.1)
    }

    /// Specialises the row to values where the place has this form and its parts are at `parts`.
    /// `None` if the row requires another form.
    fn specialise(&self, place: usize, form: &ValueForm, parts: usize) -> Option<Self> {
        let Some(pat) = self.test_at(place) else { return Some(self.clone()) };
        if form_of(pat) != Some(form.clone()) {
            return None;
        }
        let mut row = PatternRow { arm: self.arm, tests: Vec::with_capacity(self.tests.len() + 2) };
        // The parts replace the whole in the list, so that patterns are tested left to right.
        for &(at, ask) in &self.tests {
            if at != place {
                row.tests.push((at, ask));
                continue;
            }
            match ask {
                TypedPattern::Ctor(_, pats) | TypedPattern::Tuple(pats) => {
                    (parts..).zip(pats).for_each(|(at, pat)| row.add_test(at, pat))
                }
                TypedPattern::Record(fields) => {
                    fields.iter().for_each(|(k, pat)| row.add_test(parts + *k as usize, pat))
                }
                _ => {}
            }
        }
        Some(row)
    }
}

fn form_of(pat: &TypedPattern) -> Option<ValueForm> {
    match pat {
        TypedPattern::Wild | TypedPattern::Bind(_) | TypedPattern::Sized(..) => None,
        TypedPattern::Ctor(k, _) => Some(ValueForm::Ctor(*k)),
        TypedPattern::Tuple(_) | TypedPattern::Record(_) => Some(ValueForm::Product),
        TypedPattern::Int(v) => Some(ValueForm::Int(*v)),
        TypedPattern::Bool(v) => Some(ValueForm::Bool(*v)),
    }
}

/// Returns whether a pattern of this kind can match a value of the type.
fn can_match(ty: &Type, pat: &TypedPattern) -> bool {
    match pat {
        TypedPattern::Wild | TypedPattern::Bind(_) | TypedPattern::Sized(..) => true,
        TypedPattern::Ctor(..) => matches!(ty, Type::Data(..)),
        TypedPattern::Tuple(_) => matches!(ty, Type::Tuple(_)),
        TypedPattern::Record(_) => matches!(ty, Type::Record(_)),
        TypedPattern::Int(_) => *ty == Type::I64,
        TypedPattern::Bool(_) => matches!(ty, Type::Scalar(Scalar::Bool)),
    }
}

struct CoverageExplorer<'a> {
    ctors: CtorLookup<'a>,
    places: Vec<ValuePlace>,
    reached: Vec<bool>,
    missing: Vec<String>,
    work: usize,
}

impl CoverageExplorer<'_> {
    /// Explores the values of the current path, which the rows may match.
    fn explore(&mut self, rows: Vec<PatternRow>, depth: usize) -> Result<(), ExplorationStop> {
        let cost = rows.iter().map(|row| 1 + row.tests.len()).sum();
        self.work = self.work.checked_sub(cost).ok_or(ExplorationStop::LimitExceeded)?;
        let Some(first) = rows.first() else {
            self.record_missing();
            return Ok(());
        };
        let Some(&(place, _)) = first.tests.first() else {
            if let Some(reached) = self.reached.get_mut(first.arm) {
                *reached = true;
            }
            return Ok(());
        };
        if depth > MAX_DEPTH {
            return Err(ExplorationStop::LimitExceeded);
        }
        let ty = self.places.get(place).ok_or(ExplorationStop::Mismatch)?.ty.clone();
        let mut tested_forms: Vec<ValueForm> = Vec::new();
        for pat in rows.iter().filter_map(|row| row.test_at(place)) {
            let form = form_of(pat).filter(|_| can_match(&ty, pat)).ok_or(ExplorationStop::Mismatch)?;
            self.work = self.work.checked_sub(1 + tested_forms.len() / 8).ok_or(ExplorationStop::LimitExceeded)?;
            if !tested_forms.contains(&form) {
                tested_forms.push(form);
            }
        }
        match &ty {
            Type::Tuple(parts) => self.explore_form(&rows, place, &ValueForm::Product, parts.to_vec(), depth),
            Type::Record(fields) => {
                let parts = fields.iter().map(|f| f.1.clone()).collect();
                self.explore_form(&rows, place, &ValueForm::Product, parts, depth)
            }
            Type::Data(..) => {
                let all = (self.ctors)(&ty).ok_or(ExplorationStop::Mismatch)?;
                let known = |form: &ValueForm| matches!(form, ValueForm::Ctor(k) if (*k as usize) < all.len());
                if !tested_forms.iter().all(known) {
                    return Err(ExplorationStop::Mismatch);
                }
                let mut rest = Vec::new();
                for (k, (name, args)) in (0..).zip(all) {
                    if tested_forms.contains(&ValueForm::Ctor(k)) {
                        self.explore_form(&rows, place, &ValueForm::Ctor(k), args, depth)?;
                    } else {
                        rest.push((name, args.len()));
                    }
                }
                if rest.is_empty() {
                    Ok(())
                } else {
                    self.explore_other_forms(&rows, place, PlaceKnowledge::OneOf(rest), depth)
                }
            }
            Type::Scalar(Scalar::Bool) => {
                for value in [true, false] {
                    self.explore_form(&rows, place, &ValueForm::Bool(value), Vec::new(), depth)?;
                }
                Ok(())
            }
            Type::Scalar(_) => {
                for form in tested_forms {
                    self.explore_form(&rows, place, &form, Vec::new(), depth)?;
                }
                self.explore_other_forms(&rows, place, PlaceKnowledge::Nothing, depth)
            }
            _ => Err(ExplorationStop::Mismatch),
        }
    }

    /// Explores the values where the place has this form.
    fn explore_form(
        &mut self,
        rows: &[PatternRow],
        place: usize,
        form: &ValueForm,
        parts: Vec<Type>,
        depth: usize,
    ) -> Result<(), ExplorationStop> {
        let start = self.places.len();
        self.work = self.work.checked_sub(rows.len() + parts.len()).ok_or(ExplorationStop::LimitExceeded)?;
        for pat in rows.iter().filter_map(|row| row.test_at(place)) {
            let fits = match pat {
                TypedPattern::Ctor(_, pats) | TypedPattern::Tuple(pats) => pats.len() == parts.len(),
                TypedPattern::Record(fields) => fields.iter().all(|f| (f.0 as usize) < parts.len()),
                _ => true,
            };
            if !fits && form_of(pat).as_ref() == Some(form) {
                return Err(ExplorationStop::Mismatch);
            }
        }
        self.places.extend(parts.into_iter().map(|ty| ValuePlace { ty, known: PlaceKnowledge::Nothing }));
        let known = PlaceKnowledge::Form(form.clone(), start..self.places.len());
        let rows = rows.iter().filter_map(|row| row.specialise(place, form, start)).collect();
        self.explore_with_knowledge(place, known, rows, depth)?;
        self.places.truncate(start);
        Ok(())
    }

    /// Explores the values where the place has none of the forms that rows require.
    fn explore_other_forms(
        &mut self,
        rows: &[PatternRow],
        place: usize,
        known: PlaceKnowledge,
        depth: usize,
    ) -> Result<(), ExplorationStop> {
        let rows = rows.iter().filter(|row| row.test_at(place).is_none()).cloned().collect();
        self.explore_with_knowledge(place, known, rows, depth)
    }

    fn explore_with_knowledge(
        &mut self,
        place: usize,
        known: PlaceKnowledge,
        rows: Vec<PatternRow>,
        depth: usize,
    ) -> Result<(), ExplorationStop> {
        if let Some(p) = self.places.get_mut(place) {
            p.known = known;
        }
        self.explore(rows, depth + 1)?;
        if let Some(p) = self.places.get_mut(place) {
            p.known = PlaceKnowledge::Nothing;
        }
        Ok(())
    }

    fn record_missing(&mut self) {
        if self.missing.len() < MAX_MISSING {
            for text in self.show_place(0) {
                if self.missing.len() < MAX_MISSING && !self.missing.contains(&text) {
                    self.missing.push(text);
                }
            }
        }
    }

    /// Prints the values at a place as patterns; several if the constructor is not fixed. The
    /// recursion is as deep as the patterns.
    fn show_place(&self, place: usize) -> Vec<String> {
        let Some(ValuePlace { ty, known }) = self.places.get(place) else { return Vec::new() };
        match known {
            PlaceKnowledge::Nothing => vec!["_".into()],
            PlaceKnowledge::OneOf(ctors) => ctors
                .iter()
                .take(MAX_MISSING)
                .map(|(name, arity)| show_applied(name, &vec!["_".into(); *arity]))
                .collect(),
            PlaceKnowledge::Form(ValueForm::Int(v), _) => vec![v.to_string()],
            PlaceKnowledge::Form(ValueForm::Bool(v), _) => vec![v.to_string()],
            PlaceKnowledge::Form(form, parts) => {
                let mut all: Vec<Vec<String>> = vec![Vec::new()];
                for part in parts.clone() {
                    let options = self.show_place(part);
                    let longer = |prefix: &Vec<String>| -> Vec<Vec<String>> {
                        options.iter().map(|o| prefix.iter().chain([o]).cloned().collect()).collect()
                    };
                    all = match options.as_slice() {
                        [one] => {
                            all.iter_mut().for_each(|prefix| prefix.push(one.clone()));
                            all
                        }
                        _ => all.iter().flat_map(longer).take(MAX_MISSING).collect(),
                    };
                }
                all.iter().map(|parts| self.show_form(ty, form, parts)).collect()
            }
        }
    }

    fn show_form(&self, ty: &Type, form: &ValueForm, parts: &[String]) -> String {
        match (form, ty) {
            (ValueForm::Ctor(k), _) => {
                let name = (self.ctors)(ty).and_then(|all| Some(all.get(*k as usize)?.0.clone()));
                show_applied(&name.unwrap_or_default(), parts)
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

fn show_applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.into() } else { format!("{name}({})", args.join(", ")) }
}

#[cfg(test)]
mod tests;

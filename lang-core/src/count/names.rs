//! What people call the integers of a formula that have no name in the program: a field of a record, `p.steps`, and the
//! number that tells by which constructor a value is made, which is told in words, `s is Circle`.

use crate::base::Name;
use crate::predicate::{Atom, LocalId, Poly, Pred};

/// The names of some integers; those of all others are their own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Names(Vec<Named>);

/// What an integer is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The integer.
    pub local: LocalId,
    /// What it is called; of the number of a constructor the value that is made by it.
    pub text: Name,
    /// The constructors, if it is the number of one.
    pub constructors: Vec<Name>,
}

impl FromIterator<Named> for Names {
    fn from_iter<T: IntoIterator<Item = Named>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl Names {
    /// Each has its own.
    #[must_use]
    pub const fn own() -> Self {
        Self(Vec::new())
    }

    /// All that have one.
    pub fn iter(&self) -> impl Iterator<Item = &Named> {
        self.0.iter()
    }

    fn get(&self, a: &Atom) -> Option<&Named> {
        let Atom::Local(l, _) = a else { return None };
        self.0.iter().find(|n| n.local == *l)
    }

    /// The number of a constructor?
    #[must_use]
    pub fn tells_constructor(&self, a: &Atom) -> bool {
        self.get(a).is_some_and(|n| !n.constructors.is_empty())
    }

    /// What an integer is called, if not by its own name.
    #[must_use]
    pub fn of(&self, a: &Atom) -> Option<&Name> {
        self.get(a).map(|n| &n.text)
    }

    /// An integer that has a value: `n = 3`, `s = Circle`.
    #[must_use]
    pub fn value(&self, a: &Atom, value: i64) -> String {
        let constructor = self.get(a).and_then(|n| Some((n, n.constructors.get(usize::try_from(value).ok()?)?)));
        match (constructor, self.of(a)) {
            (Some((of, constructor)), _) => format!("{} = {constructor}", of.text),
            (None, Some(name)) => format!("{name} = {value}"),
            (None, None) => format!("{} = {value}", Poly::atom(a.clone())),
        }
    }

    /// A predicate in words if it is about one number of a constructor alone: `s is Circle`, `s is Box or Line`.
    pub(super) fn in_words(&self, p: &Pred) -> Option<String> {
        let all = self.made_by(p)?;
        let (of, holds) = &all;
        let made = |k: usize| of.constructors.get(k).map(Name::as_str);
        let which: Vec<&str> = (0..of.constructors.len()).filter(|k| holds.contains(k)).filter_map(made).collect();
        Some(match which.as_slice() {
            [] => return None,
            [one] => format!("{} is {one}", of.text),
            [most @ .., last] => {
                match (0..of.constructors.len()).filter(|k| !holds.contains(k)).collect::<Vec<_>>()[..] {
                    [other] if most.len() > 1 => format!("{} is not {}", of.text, made(other).unwrap_or_default()),
                    _ => format!("{} is {} or {last}", of.text, most.join(", ")),
                }
            }
        })
    }

    /// The number of a constructor that the predicate is about alone, and with which ones it holds.
    fn made_by(&self, p: &Pred) -> Option<(&Named, Vec<usize>)> {
        let of = self.subject(p)?;
        let holds = |k: usize| {
            let k = Poly::constant(i128::try_from(k).ok()?);
            let put = p.substitute(&|a: &Atom| (self.get(a) == Some(of)).then(|| k.clone()));
            (put.is_true() || put.is_false()).then_some(put.is_true())
        };
        let mut all = Vec::new();
        for k in 0..of.constructors.len() {
            if holds(k)? {
                all.push(k);
            }
        }
        Some((of, all))
    }

    /// The number of a constructor, if the predicate mentions nothing else.
    pub(super) fn subject(&self, p: &Pred) -> Option<&Named> {
        let (mut found, mut other) = (None, false);
        let mut opaque = false;
        p.visit(
            &mut |p| {
                p.for_each_atom(&mut |a| match self.get(a).filter(|n| !n.constructors.is_empty()) {
                    Some(n) if found.is_none_or(|f: &Named| f == n) => found = Some(n),
                    _ => other = true,
                });
            },
            &mut |_| opaque = true,
        );
        found.filter(|_| !other && !opaque)
    }
}

//! **Display names** of integers in a formula that have no name in the program. A field of a record
//! prints as `p.steps`. The number of a constructor prints in words, `s is Circle`.

use crate::predicate::{Atom, LocalId, Poly, Pred};
use lang_base::Name;

/// The display names of some integers; all others keep their own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DisplayNames(Vec<DisplayName>);

/// The display name of an integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplayName {
    /// The integer.
    pub local: LocalId,
    /// The name. For the number of a constructor, the name of the value that it belongs to.
    pub text: Name,
    /// The constructors, if the integer is the number of one.
    pub constructors: Vec<Name>,
}

impl FromIterator<DisplayName> for DisplayNames {
    fn from_iter<T: IntoIterator<Item = DisplayName>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl DisplayNames {
    /// No display names.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Iterates over the named integers.
    pub fn iter(&self) -> impl Iterator<Item = &DisplayName> {
        self.0.iter()
    }

    fn get(&self, a: &Atom) -> Option<&DisplayName> {
        let Atom::Local(l, _) = a else { return None };
        self.0.iter().find(|n| n.local == *l)
    }

    /// Whether the integer is the number of a constructor.
    #[must_use]
    pub fn is_constructor_number(&self, a: &Atom) -> bool {
        self.get(a).is_some_and(|n| !n.constructors.is_empty())
    }

    /// Returns the display name of an integer, if it has one.
    #[must_use]
    pub fn name(&self, a: &Atom) -> Option<&Name> {
        self.get(a).map(|n| &n.text)
    }

    /// Prints an integer with its value: `n = 3`, `s = Circle`.
    #[must_use]
    pub fn assignment_text(&self, a: &Atom, value: i64) -> String {
        let constructor = self.get(a).and_then(|n| Some((n, n.constructors.get(usize::try_from(value).ok()?)?)));
        match (constructor, self.name(a)) {
            (Some((of, constructor)), _) => format!("{} = {constructor}", of.text),
            (None, Some(name)) => format!("{name} = {value}"),
            (None, None) => format!("{} = {value}", Poly::atom(a.clone())),
        }
    }

    /// Prints a predicate in words, if it depends only on the number of one constructor:
    /// `s is Circle`, `s is Box or Line`.
    pub(super) fn constructor_text(&self, p: &Pred) -> Option<String> {
        let all = self.satisfying_constructors(p)?;
        let (of, holds) = &all;
        let constructor_name = |k: usize| of.constructors.get(k).map(Name::as_str);
        let which: Vec<&str> =
            (0..of.constructors.len()).filter(|k| holds.contains(k)).filter_map(constructor_name).collect();
        Some(match which.as_slice() {
            [] => return None,
            [one] => format!("{} is {one}", of.text),
            [most @ .., last] => {
                match (0..of.constructors.len()).filter(|k| !holds.contains(k)).collect::<Vec<_>>()[..] {
                    [other] if most.len() > 1 => {
                        format!("{} is not {}", of.text, constructor_name(other).unwrap_or_default())
                    }
                    _ => format!("{} is {} or {last}", of.text, most.join(", ")),
                }
            }
        })
    }

    /// Returns the number of a constructor on which alone the predicate depends, and the
    /// constructors for which it holds.
    fn satisfying_constructors(&self, p: &Pred) -> Option<(&DisplayName, Vec<usize>)> {
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

    /// Returns the number of a constructor, if the predicate mentions nothing else.
    pub(super) fn subject(&self, p: &Pred) -> Option<&DisplayName> {
        let (mut found, mut other) = (None, false);
        let mut opaque = false;
        p.visit(
            &mut |p| {
                p.for_each_atom(&mut |a| match self.get(a).filter(|n| !n.constructors.is_empty()) {
                    Some(n) if found.is_none_or(|f: &DisplayName| f == n) => found = Some(n),
                    _ => other = true,
                });
            },
            &mut |_| opaque = true,
        );
        found.filter(|_| !other && !opaque)
    }
}

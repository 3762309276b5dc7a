//! What only the run tells of a cost: populations of predicates over data, trip counts, extents. Each is a named number
//! that stands for what all runs of a statement add up to, so that a formula with it is exact, and an evaluation of
//! Tensor SSA tells it.

use std::sync::Arc;

use super::content::Content;
use crate::count::Formula;
use crate::predicate::{Atom, LocalId, Poly};

/// The `k`-th symbol of a cost is the local of this number and `k`.
const FIRST: u32 = 1 << 22;

/// More symbols than this have no numbers.
const MOST: usize = 1 << 20;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Tuples of indices for which the predicate holds: of a sum of several terms the predicate of this one.
    Terms(u32),
    /// Elements that have a term.
    Present,
    /// Iterations of a loop.
    Trips,
    /// The value of an integer, which is computed once.
    Value,
    /// Work, where it is no formula of these: comparisons of a sort; calls and bodies that differ.
    Work,
    /// Tests, likewise.
    Tests,
    /// Iterations, likewise.
    Iterations,
    /// Bytes that are kept, likewise.
    Kept,
}

/// A number that the run tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The statement: of calls and loops inside one another the number of each, outermost first.
    pub path: Arc<[u32]>,
    /// What is counted of it.
    pub kind: Kind,
    /// It is no more than this.
    pub most: Option<Formula>,
    /// What it is in terms of the inputs: equal ones have equal numbers, in a derivative too.
    pub content: Option<Content>,
}

/// The symbol of this number as an atom.
#[must_use]
pub fn atom(k: usize) -> Atom {
    let k = u32::try_from(k.min(MOST)).unwrap_or(0);
    Atom::Local(LocalId(FIRST + k), format!("p{k}").into())
}

/// The number of the symbol that an atom is.
#[must_use]
pub fn number(a: &Atom) -> Option<usize> {
    let Atom::Local(l, _) = a else { return None };
    let k = l.0.checked_sub(FIRST)? as usize;
    (k <= MOST).then_some(k)
}

/// Does a polynomial mention symbols?
pub(super) fn mentioned(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= number(a).is_some());
    found
}

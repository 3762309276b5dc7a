//! **Symbols** of a cost: numbers that only the run knows, such as populations of data-dependent
//! predicates, trip counts and extents. Each symbol is a total over all runs of a statement. So a
//! formula with symbols is exact, and an evaluation of Tensor SSA yields their values.

use std::sync::Arc;

use super::content_hash::ContentHash;
use lang_sizes::count::Formula;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The local number of the first symbol; symbol `k` follows at distance `k`.
const FIRST_SYMBOL: u32 = 1 << 22;

/// The largest symbol number. Symbols beyond it share its atom.
const MAX_SYMBOL: usize = 1 << 20;

/// The quantity that a symbol counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CostSymbolKind {
    /// The index tuples for which a predicate holds. In a sum of several terms, the number selects
    /// the term.
    Terms(u32),
    /// The elements that have a term.
    NonemptyElements,
    /// The iterations of a loop.
    Trips,
    /// The value of an integer that is computed once.
    Value,
    /// Work that has no formula: comparisons of a sort, and calls or bodies that differ.
    Work,
    /// Tests that have no formula.
    Tests,
    /// Iterations that have no formula.
    Iterations,
    /// Kept bytes that have no formula.
    StoredBytes,
}

/// A number that only the run knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostSymbol {
    /// The statement: the statement numbers of the enclosing calls and loops, outermost first, then
    /// its own.
    pub path: Arc<[u32]>,
    /// The quantity that is counted.
    pub kind: CostSymbolKind,
    /// An upper bound.
    pub upper_bound: Option<Formula>,
    /// Its content in terms of the inputs: equal contents have equal numbers, also in a derivative.
    pub content: Option<ContentHash>,
}

/// Returns the atom of a symbol.
#[must_use]
pub fn symbol_atom(k: usize) -> Atom {
    let k = u32::try_from(k.min(MAX_SYMBOL)).unwrap_or(0);
    Atom::Local(LocalId(FIRST_SYMBOL + k), format!("p{k}").into())
}

/// Returns the number of the symbol, if the atom is one.
#[must_use]
pub fn symbol_number(a: &Atom) -> Option<usize> {
    let Atom::Local(l, _) = a else { return None };
    let k = l.0.checked_sub(FIRST_SYMBOL)? as usize;
    (k <= MAX_SYMBOL).then_some(k)
}

/// Whether a polynomial mentions symbols.
pub(super) fn mentions_symbols(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= symbol_number(a).is_some());
    found
}

//! **Cost analysis**: `$`, the cost of Tensor SSA as formulas in the sizes (ATL Figs. 6 and 17;
//! units in the book's chapter on cost). It covers work, tests, iterations, the size of inputs and
//! outputs, the memory kept for a reverse, and the span. Formulas are exact for all sizes, 0
//! included, in terms of the sizes and of [`Symbol`]s for data-dependent numbers. Span and kept
//! bytes are upper bounds.
//!
//! The cost of a definition is composed of those of its statements ([`function`]). A statement
//! visits a nest of loops ([`nest`]). A call or a loop costs its inside once for each repetition
//! ([`repeat`]): the cost of a callee is instantiated with the sizes of the call.
//!
//! The session computes costs per definition, for primal and derived functions. `bound` compares
//! them, and hovers, lenses and `iverson cost` print them.

mod at_most;
mod bound;
mod content;
mod function;
mod inputs;
mod most;
mod nest;
mod repeat;
mod symbol;

use std::sync::Arc;

use lang_ir::core::Callee;
use lang_ir::ssa::{Ssa, Var};
use lang_sizes::count::{Formula, Names};
use lang_sizes::predicate::{Atom, Context, Poly, Pred};

pub use at_most::has_symbols;
pub use bound::{Bound, bound};
pub use content::Content;
pub use most::Greatest;
pub use symbol::{Kind, Symbol, atom, number};

/// The counts of a statement or a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Real operations.
    pub work: Formula,
    /// Evaluated predicates about data.
    pub tests: Formula,
    /// Visited index tuples and loop iterations.
    pub iterations: Formula,
    /// Reals that loops carry, summed over their iterations: the allowance of an adjoint beside the
    /// work.
    pub carried: Formula,
}

/// The place of an amount in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A statement; for the parts of a call or loop, the first of them.
    Statement(Var),
    /// A check, by number.
    Check(u32),
}

/// The cost of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// The total.
    pub total: Amount,
    /// The amount of each statement that costs anything.
    pub parts: Vec<(Place, Amount)>,
    /// The number of real elements in the inputs and outputs.
    pub io: Formula,
    /// Bytes of loop outputs per iteration, and of states, that other loops read: the memory kept
    /// for a reverse. For nested bodies only the largest counts, because a body releases its memory
    /// when it ends. An upper bound.
    pub kept: Greatest,
    /// The longest chain of dependent operations. An upper bound.
    pub span: Greatest,
    /// The symbols in the formulas.
    pub symbols: Vec<Symbol>,
    /// Facts about sizes: non-negative polynomials.
    pub known: Vec<Poly>,
    /// Facts about symbols: non-negative formulas.
    pub bounds: Vec<Formula>,
    /// Display names of its integers.
    pub names: Names,
}

/// Returns the sizes among the atoms that are known to be non-negative. An atom that is known to be
/// strictly below another polynomial is an index, which may be 0.
pub(crate) fn sizes<'a>(known: &'a [Poly], names: &'a Names) -> impl Iterator<Item = &'a Poly> {
    let is_index = |a: &Atom| {
        let below = |p: &Poly| p.linear_in(a).is_some_and(|(c, rest)| c == -1 && rest.constant_part() < 0);
        known.iter().any(below)
    };
    known.iter().filter(move |p| {
        p.as_atom().is_some_and(|a| number(a).is_none() && !is_index(a) && !names.tells_constructor(a))
    })
}

/// A resolver from a callee to its cost.
pub type Callees<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Callable>;

/// A callee: its statements and its cost.
pub type Callable = (Arc<Ssa>, Arc<Cost>);

/// Returns the cost of a function. A callee without a cost becomes a symbol.
#[must_use]
pub fn cost(ssa: &Ssa, callees: Callees<'_>) -> Cost {
    cost_where(ssa, &[], callees)
}

/// Returns the cost of a function under assumptions on its sizes and integer parameters.
#[must_use]
pub fn cost_where(ssa: &Ssa, given: &[Pred], callees: Callees<'_>) -> Cost {
    function::cost(ssa, given, callees)
}

impl Cost {
    /// Returns the facts about the sizes and symbols in its formulas.
    #[must_use]
    pub fn context(&self) -> Context {
        Context::new(&self.known)
    }

    /// Returns the same facts for sizes of at least 1.
    #[must_use]
    pub fn positive(&self) -> Context {
        let mut known = self.context();
        self.sizes().for_each(|size| known.assume(&Pred::nonneg(&size.plus(-1))));
        known
    }

    /// Iterates over the known sizes.
    pub fn sizes(&self) -> impl Iterator<Item = &Poly> {
        sizes(&self.known, &self.names)
    }

    /// Returns a valuation of the atoms in its formulas, from the values of sizes and symbols.
    pub fn values<'a>(
        &'a self,
        size: &'a dyn Fn(&Atom) -> Option<i64>,
        symbol: &'a dyn Fn(&Symbol) -> Option<i64>,
    ) -> impl FnMut(&Atom) -> Option<i64> + 'a {
        move |a| match number(a) {
            Some(k) => symbol(self.symbols.get(k)?),
            None => size(a),
        }
    }
}

impl Amount {
    /// Adds another.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self {
            work: self.work.add(&other.work),
            tests: self.tests.add(&other.tests),
            iterations: self.iterations.add(&other.iterations),
            carried: self.carried.add(&other.carried),
        }
    }

    /// Whether all counts are zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        [&self.work, &self.tests, &self.iterations].iter().all(|f| f.pieces().is_empty())
    }

    fn cases(&self, known: &Context) -> Self {
        let cases = |f: &Formula| f.cases(known);
        Self {
            work: cases(&self.work),
            tests: cases(&self.tests),
            iterations: cases(&self.iterations),
            carried: cases(&self.carried),
        }
    }
}

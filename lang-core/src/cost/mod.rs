//! `$`, the cost of Tensor SSA as formulas in the sizes (ATL Figs. 6 and 17; units in the book's chapter on cost): work,
//! tests, iterations, what goes in and out, what is kept for a reverse, and the span. They are exact for all sizes, 0
//! included, in the sizes and in [`Symbol`]s for what data tell; span and kept bytes are upper bounds.
//!
//! The cost of a definition is made of those of its statements ([`function`]); one statement visits a nest of loops
//! ([`nest`]), and a call or a loop costs what is inside once for each time ([`repeat`]). Calls are composed: the cost of
//! the callee with the sizes that are passed.

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

use crate::count::{Formula, Names};
use crate::ir::core::Callee;
use crate::ir::ssa::{Ssa, Var};
use crate::predicate::{Atom, Context, Poly, Pred};

pub use at_most::has_symbols;
pub use bound::{Bound, bound};
pub use content::Content;
pub use most::Greatest;
pub use symbol::{Kind, Symbol, atom, number};

/// What is counted of a statement or of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Real operations.
    pub work: Formula,
    /// Predicates about data that are evaluated.
    pub tests: Formula,
    /// Tuples of indices and iterations of loops that are visited.
    pub iterations: Formula,
    /// Reals that loops carry, added up over their iterations: what an adjoint may take beside the work.
    pub carried: Formula,
}

/// Of which statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// This one; of several parts of a call or of a loop the first.
    Statement(Var),
    /// The checks of this number.
    Check(u32),
}

/// What a function costs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// All of it.
    pub total: Amount,
    /// Each statement that costs something.
    pub parts: Vec<(Place, Amount)>,
    /// Elements of the inputs and outputs that are real.
    pub io: Formula,
    /// Bytes of what loops give of every iteration, and of states, for other loops to read: what is kept for a reverse. Of
    /// bodies that of the one with most, which is let go of when it ends. It is no more than this.
    pub kept: Greatest,
    /// The longest chain of operations each of which needs the one before. It is no more than this.
    pub span: Greatest,
    /// What the formulas mention beside sizes.
    pub symbols: Vec<Symbol>,
    /// What is known of sizes: none of these is negative.
    pub known: Vec<Poly>,
    /// What is known of symbols: none of these is negative.
    pub bounds: Vec<Formula>,
    /// What people call its integers.
    pub names: Names,
}

/// Of what is known not to be negative the sizes. What is known to be below something is an index, which may be 0.
pub(crate) fn sizes<'a>(known: &'a [Poly], names: &'a Names) -> impl Iterator<Item = &'a Poly> {
    let is_index = |a: &Atom| {
        let below = |p: &Poly| p.linear_in(a).is_some_and(|(c, rest)| c == -1 && rest.constant_part() < 0);
        known.iter().any(below)
    };
    known.iter().filter(move |p| {
        p.as_atom().is_some_and(|a| number(a).is_none() && !is_index(a) && !names.tells_constructor(a))
    })
}

/// The costs of callees.
pub type Callees<'a> = &'a dyn Fn(&Arc<Callee>) -> Option<Callable>;

/// A callee: its statements and what they cost.
pub type Callable = (Arc<Ssa>, Arc<Cost>);

/// The cost of a function. A callee without one counts as a symbol.
#[must_use]
pub fn cost(ssa: &Ssa, callees: Callees<'_>) -> Cost {
    cost_where(ssa, &[], callees)
}

/// The cost of a function where this holds of its sizes and integer parameters.
#[must_use]
pub fn cost_where(ssa: &Ssa, given: &[Pred], callees: Callees<'_>) -> Cost {
    function::cost(ssa, given, callees)
}

impl Cost {
    /// What is known of the sizes and symbols that its formulas mention.
    #[must_use]
    pub fn context(&self) -> Context {
        Context::new(&self.known)
    }

    /// The same where sizes are at least 1.
    #[must_use]
    pub fn positive(&self) -> Context {
        let mut known = self.context();
        self.sizes().for_each(|size| known.assume(&Pred::nonneg(&size.plus(-1))));
        known
    }

    /// The sizes that it knows of.
    pub fn sizes(&self) -> impl Iterator<Item = &Poly> {
        sizes(&self.known, &self.names)
    }

    /// The values of its formulas' atoms, where these are those of sizes and of symbols.
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

    /// Is it nothing?
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

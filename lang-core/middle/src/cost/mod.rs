//! **Cost analysis**: computes the cost of Tensor SSA as formulas in the sizes, which ATL writes
//! `$` (Figs. 6 and 17). The book's chapter on cost defines the units. The cost consists of work,
//! tests, iterations, the size of inputs and outputs, the bytes kept for a reverse, and the span.
//!
//! Formulas are exact for all sizes, 0 included. Their variables are the sizes, and [`CostSymbol`]s
//! for data-dependent numbers. Span and kept bytes are upper bounds.
//!
//! The cost of a definition is the sum of the costs of its statements ([`function`]). A statement
//! visits a nest of loops ([`nest`]). A call or a loop has the cost of its callee or body once for
//! each repetition ([`repetition`]). A call substitutes its sizes in the cost of the callee.
//!
//! The session computes costs per definition, for primal and derived functions. `cost_ratio`
//! compares them, and hovers, lenses and `iverson cost` print them.

mod content_hash;
mod cost_ratio;
mod formula_max;
mod function;
mod integer_inputs;
mod nest;
mod repetition;
mod symbol;
mod worst_case;

use std::sync::Arc;

use lang_ir::core::FunctionKey;
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_sizes::count::{DisplayNames, Formula};
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};

pub use content_hash::ContentHash;
pub use cost_ratio::{CostRatio, certify_ratio};
pub use formula_max::FormulaMax;
pub use symbol::{CostSymbol, CostSymbolKind, symbol_atom, symbol_number};
pub use worst_case::has_symbols;

/// The counts of a statement or a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Real operations.
    pub work: Formula,
    /// Evaluated predicates about data.
    pub tests: Formula,
    /// Visited index tuples and loop iterations.
    pub iterations: Formula,
    /// Reals that loops carry, summed over their iterations. [`certify_ratio`] allows an adjoint as
    /// many operations beside the work.
    pub carried: Formula,
}

/// The place of an amount in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostSite {
    /// A statement. Among the results of one call or loop, the first has the whole amount.
    Statement(StmtId),
    /// A check, by number.
    Check(u32),
}

/// The cost of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CostFormulas {
    /// The total.
    pub total: Amount,
    /// The amount of each statement that costs anything.
    pub statement_amounts: Vec<(CostSite, Amount)>,
    /// The number of real elements in the inputs and outputs.
    pub io_elements: Formula,
    /// The bytes kept for a reverse: states, and outputs of loop iterations, that other loops read.
    /// Only the largest nested body counts, because a body releases its memory when it ends. An
    /// upper bound.
    pub stored_bytes: FormulaMax,
    /// The longest chain of dependent operations. An upper bound.
    pub span: FormulaMax,
    /// The symbols in the formulas.
    pub symbols: Vec<CostSymbol>,
    /// Facts about sizes: non-negative polynomials.
    pub size_facts: Vec<Poly>,
    /// Facts about symbols: non-negative formulas.
    pub symbol_facts: Vec<Formula>,
    /// Display names of its integers.
    pub names: DisplayNames,
}

/// Returns the sizes among polynomials that are known to be non-negative. Excludes the numbers of
/// constructors, and indices, which may be 0: an index is known to be strictly below a polynomial.
pub(crate) fn sizes<'a>(known: &'a [Poly], names: &'a DisplayNames) -> impl Iterator<Item = &'a Poly> {
    let is_index = |a: &Atom| {
        let below = |p: &Poly| p.linear_in(a).is_some_and(|(c, rest)| c == -1 && rest.constant_part() < 0);
        known.iter().any(below)
    };
    known.iter().filter(move |p| {
        p.as_atom().is_some_and(|a| symbol_number(a).is_none() && !is_index(a) && !names.is_constructor_number(a))
    })
}

/// A resolver from a callee to its cost.
pub type CostLookup<'a> = &'a dyn Fn(&Arc<FunctionKey>) -> Option<CostedCallee>;

/// A callee: its statements and its cost.
pub type CostedCallee = (Arc<SsaFunction>, Arc<CostFormulas>);

/// Returns the cost of a function. A callee without a cost becomes a symbol.
#[must_use]
pub fn cost(ssa: &SsaFunction, callees: CostLookup<'_>) -> CostFormulas {
    cost_assuming(ssa, &[], callees)
}

/// Returns the cost of a function under assumptions on its sizes and integer parameters.
#[must_use]
pub fn cost_assuming(ssa: &SsaFunction, assumptions: &[Pred], callees: CostLookup<'_>) -> CostFormulas {
    function::cost_of_function(ssa, assumptions, callees)
}

impl CostFormulas {
    /// Returns the facts about the sizes in its formulas.
    #[must_use]
    pub fn context(&self) -> FactContext {
        FactContext::new(&self.size_facts)
    }

    /// Returns the same facts for sizes of at least 1.
    #[must_use]
    pub fn positive_context(&self) -> FactContext {
        let mut known = self.context();
        self.sizes().for_each(|size| known.assume(&Pred::nonneg(&size.add_constant(-1))));
        known
    }

    /// Iterates over the known sizes.
    pub fn sizes(&self) -> impl Iterator<Item = &Poly> {
        sizes(&self.size_facts, &self.names)
    }

    /// Returns a valuation of the atoms in its formulas, from the values of sizes and symbols.
    pub fn valuation<'a>(
        &'a self,
        size: &'a dyn Fn(&Atom) -> Option<i64>,
        symbol: &'a dyn Fn(&CostSymbol) -> Option<i64>,
    ) -> impl FnMut(&Atom) -> Option<i64> + 'a {
        move |a| match symbol_number(a) {
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

    /// Whether all counts are zero. `carried` is positive only if `iterations` is.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        [&self.work, &self.tests, &self.iterations].iter().all(|f| f.pieces().is_empty())
    }

    /// Returns the counts as disjoint cases, under these facts.
    fn cases(&self, known: &FactContext) -> Self {
        let cases = |f: &Formula| f.to_cases(known);
        Self {
            work: cases(&self.work),
            tests: cases(&self.tests),
            iterations: cases(&self.iterations),
            carried: cases(&self.carried),
        }
    }
}

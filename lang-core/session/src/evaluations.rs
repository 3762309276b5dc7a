//! **Total cost of an expression** inside a definition: the work of one evaluation, summed over the
//! indices around. It serves expressions without a statement of their own in the definition's
//! Tensor SSA. These are a product that a sum multiplies as it adds, and everything in the body of
//! a loop.

use std::sync::Arc;

use salsa::Database;

use super::Session;
use super::around::{Evaluated, range};
use super::inside::{Inner, Inside};
use lang_base::GlobalName;
use lang_ir::core::Derivation;
use lang_ir::ssa::Ssa;
use lang_middle::ad::{real_inputs, real_outputs};
use lang_middle::cost::{Cost, number};
use lang_middle::norm::dead;
use lang_middle::pipeline::Callees as _;
use lang_sizes::count::{self, Formula};
use lang_sizes::predicate::{Atom, Context, Index, Poly};
use lang_types::tree::{IndexRange, TId};

/// The cost of all evaluations of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evaluations {
    /// The work of one evaluation and of all, if sizes determine it.
    pub work: Option<(Formula, Formula)>,
    /// The number of evaluations, if sizes determine it.
    pub count: Option<Formula>,
    /// The same work for its adjoint by all real variables around.
    pub adjoint: Option<(Formula, Formula)>,
    /// Whether it is in the body of a loop or of a function.
    pub again: bool,
    /// Whether conditions around make these upper bounds.
    pub most: bool,
    /// The cost of one evaluation, with the facts about its sizes.
    pub cost: Arc<Cost>,
}

impl Session {
    /// Returns the cost of all evaluations of an expression inside a definition.
    #[must_use]
    pub fn evaluations(&self, def: &GlobalName, node: TId) -> Option<Arc<Evaluations>> {
        evaluations(&self.db, self.place_inside(def, node)?).clone()
    }
}

#[salsa::tracked]
pub(super) fn evaluations<'db>(db: &'db dyn Database, of: Inner<'db>) -> Option<Arc<Evaluations>> {
    let inside = Inside::of(db, of.def(db), of.node(db), None)?;
    let (ssa, cost) = inside.cost()?;
    let Evaluated { again, called, condition } = inside.evaluated;
    let all = |ssa: &Ssa, cost: &Cost| {
        let mut known = cost.positive();
        let all = if called { None } else { inside.times(ssa, &known, &cost.total.work) }?;
        inside.known(ssa, &[]).iter().for_each(|p| known.assume(p));
        Some((cost.total.work.cases(&known), all))
    };
    let count = if called { None } else { inside.times(&ssa, &cost.positive(), &Poly::constant(1).into()) };
    let adjoint = if again { inside.adjoint().and_then(|(ssa, cost)| all(&ssa, &cost)) } else { None };
    Some(Arc::new(Evaluations { work: all(&ssa, &cost), count, adjoint, again, most: condition, cost }))
}

impl Inside<'_> {
    /// Returns the adjoint of the expression without its value, and its cost.
    fn adjoint(&self) -> Option<(Ssa, Arc<Cost>)> {
        let ssa = self.within.ssa(&self.callee)?;
        let (wrt, of) = (real_inputs(&ssa), real_outputs(&ssa));
        if wrt.is_empty() || of.is_empty() {
            return None;
        }
        let derived = self.callee.derive(Derivation::Adjoint { of: of.into(), wrt: wrt.into() });
        let mut adjoint = (*self.within.ssa(&Arc::new(derived))?).clone();
        adjoint.outputs.drain(..ssa.outputs.len().min(adjoint.outputs.len()));
        let _ = dead::remove(&mut adjoint);
        let cost = self.within.cost_where(&adjoint, &self.known(&adjoint, &[]));
        Some((adjoint, cost))
    }

    /// Sums a formula over all tuples of the indices around. `None` if sizes do not determine the
    /// sum.
    fn times(&self, ssa: &Ssa, known: &Context, of: &Formula) -> Option<Formula> {
        let mut indices: Vec<Index> = Vec::new();
        // The start of each index, from which it is counted.
        let mut begins: Vec<(Atom, Poly)> = Vec::new();
        let counted = |p: &Poly, begins: &[(Atom, Poly)]| p.substitute(&|a| from_begin(a, begins));
        // `self.indices` begins with the innermost index. The loop begins with the outermost,
        // because an extent may mention outer indices.
        for i in self.indices.iter().rev() {
            if matches!(i.range, IndexRange::Range(_, _, Some(_))) {
                return None;
            }
            let (begin, end) = range(&self.body, i)?;
            let here = |p: &Poly| Some(counted(&self.translated(ssa, &[], p)?, &begins));
            let (begin, end) = (here(&begin)?, here(&end)?);
            let k = self.body.params.iter().position(|p| *p == i.local)?;
            let local = ssa.params.get(k)?.0;
            let index = Index { local, name: ssa.vars.name(local), extent: end.sub(&begin) };
            begins.push((index.atom(), begin));
            indices.push(index);
        }
        let mut sum = Formula::default();
        for piece in of.cases(known).pieces() {
            let mut told = true;
            let mut note = |a: &Atom| told &= number(a).is_none() && !matches!(a, Atom::Read(..));
            piece.value.parts().0.for_each_atom(&mut note);
            piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
            if !told {
                return None;
            }
            let pred = piece.pred.map(&|p| counted(p, &begins));
            let value = piece.value.substitute(&|a| from_begin(a, &begins));
            sum = sum.add(&count::sum(&indices, &pred, &value, known).ok()?);
        }
        (!sum.overflowed()).then(|| sum.cases(known))
    }
}

/// Returns an index plus its start, if it has one.
fn from_begin(a: &Atom, begins: &[(Atom, Poly)]) -> Option<Poly> {
    let (_, begin) = begins.iter().find(|(b, _)| a == b)?;
    Some(Poly::atom(a.clone()).add(begin))
}

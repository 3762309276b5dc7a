//! **Total cost of an expression** inside a definition: the work of one evaluation, summed over the
//! indices around. It serves expressions without a statement of their own in the definition's
//! Tensor SSA. These are a product that a sum multiplies as it adds, and everything in the body of
//! a loop.

use std::sync::Arc;

use salsa::Database;

use super::Session;
use super::enclosing::{EvaluationMultiplicity, index_bounds};
use super::subexpression::{SubexpressionFunction, SubexpressionKey};
use lang_base::GlobalName;
use lang_ir::core::DerivativeKind;
use lang_ir::ssa::SsaFunction;
use lang_middle::ad::{real_inputs, real_outputs};
use lang_middle::cost::{CostFormulas, symbol_number};
use lang_middle::pipeline::CalleeForms as _;
use lang_opt::dce;
use lang_sizes::count::{self, Formula};
use lang_sizes::predicate::{Atom, FactContext, Index, Poly};
use lang_types::tree::{TypedId, TypedIndexRange};

/// The cost of all evaluations of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvaluationCosts {
    /// The work of one evaluation and of all, if sizes determine it.
    pub work: Option<(Formula, Formula)>,
    /// The number of evaluations, if sizes determine it.
    pub count: Option<Formula>,
    /// The same work for its adjoint by all real variables around.
    pub adjoint: Option<(Formula, Formula)>,
    /// Whether it is in the body of a loop or of a function.
    pub is_repeated: bool,
    /// Whether conditions around make these upper bounds.
    pub is_upper_bound: bool,
    /// The cost of one evaluation, with the facts about its sizes.
    pub cost: Arc<CostFormulas>,
}

impl Session {
    /// Returns the cost of all evaluations of an expression inside a definition.
    #[must_use]
    pub fn evaluation_costs(&self, def: &GlobalName, node: TypedId) -> Option<Arc<EvaluationCosts>> {
        evaluation_costs(&self.db, self.subexpression_key(def, node)?).clone()
    }
}

#[salsa::tracked]
pub(super) fn evaluation_costs<'db>(db: &'db dyn Database, of: SubexpressionKey<'db>) -> Option<Arc<EvaluationCosts>> {
    let inside = SubexpressionFunction::from_expression(db, of.def(db), of.node(db), None)?;
    let (ssa, cost) = inside.cost()?;
    let EvaluationMultiplicity { is_repeated, is_count_dynamic, is_conditional } = inside.multiplicity;
    let all = |ssa: &SsaFunction, cost: &CostFormulas| {
        let mut known = cost.positive_context();
        let all = if is_count_dynamic { None } else { inside.sum_over_indices(ssa, &known, &cost.total.work) }?;
        inside.index_facts(ssa, &[]).iter().for_each(|p| known.assume(p));
        Some((cost.total.work.to_cases(&known), all))
    };
    let count = if is_count_dynamic {
        None
    } else {
        inside.sum_over_indices(&ssa, &cost.positive_context(), &Poly::constant(1).into())
    };
    let adjoint = if is_repeated { inside.adjoint_with_cost().and_then(|(ssa, cost)| all(&ssa, &cost)) } else { None };
    Some(Arc::new(EvaluationCosts {
        work: all(&ssa, &cost),
        count,
        adjoint,
        is_repeated,
        is_upper_bound: is_conditional,
        cost,
    }))
}

impl SubexpressionFunction<'_> {
    /// Returns the adjoint of the expression without its value, and its cost.
    fn adjoint_with_cost(&self) -> Option<(SsaFunction, Arc<CostFormulas>)> {
        let ssa = self.overlay.ssa(&self.callee)?;
        let (wrt, of) = (real_inputs(&ssa), real_outputs(&ssa));
        if wrt.is_empty() || of.is_empty() {
            return None;
        }
        let derived = self.callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() });
        let mut adjoint = (*self.overlay.ssa(&Arc::new(derived))?).clone();
        adjoint.outputs.drain(..ssa.outputs.len().min(adjoint.outputs.len()));
        let _ = dce::eliminate_dead_code(&mut adjoint);
        let cost = self.overlay.cost_where(&adjoint, &self.index_facts(&adjoint, &[]));
        Some((adjoint, cost))
    }

    /// Sums a formula over all tuples of the indices around. `None` if sizes do not determine the
    /// sum.
    fn sum_over_indices(&self, ssa: &SsaFunction, known: &FactContext, of: &Formula) -> Option<Formula> {
        let mut indices: Vec<Index> = Vec::new();
        // The start of each index, from which it is counted.
        let mut begins: Vec<(Atom, Poly)> = Vec::new();
        let counted = |p: &Poly, begins: &[(Atom, Poly)]| p.substitute(&|a| offset_by_start(a, begins));
        // `self.indices` begins with the innermost index. The loop begins with the outermost,
        // because an extent may mention outer indices.
        for i in self.indices.iter().rev() {
            if matches!(i.range, TypedIndexRange::Range(_, _, Some(_))) {
                return None;
            }
            let (begin, end) = index_bounds(&self.body, i)?;
            let here = |p: &Poly| Some(counted(&self.to_ssa_polynomial(ssa, &[], p)?, &begins));
            let (begin, end) = (here(&begin)?, here(&end)?);
            let k = self.body.params.iter().position(|p| *p == i.local)?;
            let local = ssa.params.get(k)?.0;
            let index = Index { local, name: ssa.vars.name(local), extent: end.sub(&begin) };
            begins.push((index.atom(), begin));
            indices.push(index);
        }
        let mut sum = Formula::default();
        for piece in of.to_cases(known).pieces() {
            let mut is_determined = true;
            let mut note = |a: &Atom| is_determined &= symbol_number(a).is_none() && !matches!(a, Atom::Read(..));
            piece.value.as_fraction().0.for_each_atom(&mut note);
            piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
            if !is_determined {
                return None;
            }
            let pred = piece.pred.map(&|p| counted(p, &begins));
            let value = piece.value.substitute(&|a| offset_by_start(a, &begins));
            sum = sum.add(&count::sum(&indices, &pred, &value, known).ok()?);
        }
        (!sum.has_overflowed()).then(|| sum.to_cases(known))
    }
}

/// Returns an index plus its start, if it has one.
fn offset_by_start(a: &Atom, begins: &[(Atom, Poly)]) -> Option<Poly> {
    let (_, begin) = begins.iter().find(|(b, _)| a == b)?;
    Some(Poly::atom(a.clone()).add(begin))
}

//! **Adjoint derivative** by transposition of inner products (ATL Figs. 15 and 16).
//!
//! The pass visits statements from the last to the first (6.14, 6.19). Each statement adds terms to
//! the cotangents of its operands; a term keeps the predicate under which it is not zero. All terms
//! of one tensor become one sum (6.25). The pass makes no tensor of zeros: a term that is the whole
//! of a smaller tensor is read through a view.
//!
//! Two rules are misprinted in the paper. In (6.28) the second binding is for the second factor. In
//! (6.29) the cotangent of the result is read at the indices of the result.

use std::sync::Arc;

use super::forward::{exists_over, passed_inputs, spread_argument};
use super::partial::ReadDomain;
use super::reduce::{EXTREMUM_ADJ, PRODUCT_ADJ};
use super::{DerivativeValue, Differentiator, FunctionLookup, PredictedSupport, canonical_indices, is_real};
use crate::norm::rule_coverage::RuleCoverage;
use lang_base::check_cancelled;
use lang_ir::core::{DerivativeKind, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::origin::{CALL, LOOP, ZERO};
use lang_ir::reduce::Reducer;
use lang_ir::region::LoopResult;
use lang_ir::ssa::{Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, index_number, statement_index};
use lang_opt::inline::BatchedCall;
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The names under which rules are counted: the paper's numbers, and names for loops and updates
/// (`loops`, `update`).
pub const RULES: &[&str] = &[
    "6.14",
    "6.16",
    "6.19",
    "6.20",
    "6.21",
    "6.22",
    "6.25",
    "6.26",
    "6.27",
    "6.28",
    "6.29",
    EXTREMUM_ADJ,
    PRODUCT_ADJ,
    "reverse loop",
    "reverse loop over segments",
    "captured input",
    "stored value",
    "carried cotangent",
    "sum over iterations",
    "restored array",
    "cotangent of a slice",
    "run-time trip count",
    "maximal extent",
    "cotangent of the written value",
    "cotangent of the overwritten array",
];

/// Derives the adjoint by the cotangents of the outputs `of`, each with its predicted support.
/// Returns the finished pass and its outputs: those of the primal, then the cotangents of the
/// inputs `wrt`.
///
/// In the body of a loop, `sums` lists the inputs whose cotangents accumulate over iterations.
/// Their previous values are inputs after the cotangents.
pub(super) fn adjoint<'a>(
    ssa: &'a SsaFunction,
    of: &[(u32, PredictedSupport)],
    wrt: &[u32],
    sums: Option<&[u32]>,
    functions: FunctionLookup<'a>,
    hits: &'a mut RuleCoverage,
) -> Option<(Differentiator<'a>, Vec<(TypeLeaf, StmtId)>)> {
    let mut pass = Differentiator::new(ssa, functions, hits);
    pass.builder.is_region = sums.is_some();
    pass.hits.count("6.14");
    let active = active_statements(ssa, wrt);
    let mut terms: Vec<Vec<CotangentTerm>> = vec![Vec::new(); ssa.stmts.len()];
    for (k, present) in of {
        let (leaf, var) = ssa.outputs.get(*k as usize)?;
        pass.begin_rule(*var, "6.16");
        let name = format!("{}_adj", pass.name(*var, "y")).into();
        let cotangent = pass.add_input(name, InputSource::Cotangent(*k), TypeLeaf { path: Vec::new(), ..leaf.clone() });
        if active.get(var.0 as usize) == Some(&true) {
            let of = pass.at_own_indices(cotangent);
            let addend = Addend { neg: false, pred: Pred::truth(), operand: of };
            let mut inside = present.domain.clone();
            if present.only_where_nonzero {
                inside = inside.and(&pass.nonzero_pred(cotangent));
            }
            terms.get_mut(var.0 as usize)?.push(CotangentTerm { addend, present: inside });
        }
    }
    for k in sums.unwrap_or_default() {
        let (var, input) = (ssa.input_statement(*k)?, ssa.inputs.get(*k as usize)?);
        let name = format!("{}_adj", pass.name(var, "x")).into();
        let sum = pass.add_input(name, InputSource::Cotangent(*k), TypeLeaf { path: Vec::new(), ..input.leaf.clone() });
        let addend = Addend { neg: false, pred: Pred::truth(), operand: pass.at_own_indices(sum) };
        // The previous sum is not a term of this iteration.
        terms.get_mut(var.0 as usize)?.push(CotangentTerm { addend, present: Pred::falsity() });
    }
    let mut cotangents: Vec<Option<DerivativeValue>> = vec![None; ssa.stmts.len()];
    let results = ssa.results_by_producer();
    for (k, stmt) in ssa.stmts.iter().enumerate().rev() {
        check_cancelled();
        let var = StmtId(u32::try_from(k).ok()?);
        let own_terms = std::mem::take(terms.get_mut(k)?);
        if own_terms.is_empty() {
            pass.begin_rule(var, "6.20");
            let results = results.get(&var).map_or(&[][..], Vec::as_slice);
            pass.propagate_results(var, stmt, results, &cotangents, &active, &mut terms)?;
            continue;
        }
        pass.begin_rule(var, if own_terms.len() > 1 { "6.25" } else { "6.19" });
        let (addends, present): (Vec<Addend>, Vec<Pred>) = own_terms.into_iter().map(|t| (t.addend, t.present)).unzip();
        let cotangent = pass.builder.add(&stmt.dims, stmt.scalar.unwrap_or(Scalar::F64), &addends, stmt.needs.clone());
        pass.builder.trace.record_result(cotangent);
        let present = pass.join_supports(&stmt.dims, present);
        let name = pass.name(var, "");
        if !name.is_empty()
            && let Some(slot) = pass.builder.stmts.get_mut(cotangent.0 as usize)
            && slot.name.is_none()
        {
            slot.name = Some(format!("{name}_adj").into());
        }
        let cotangent = DerivativeValue { var: cotangent, support: present };
        pass.propagate(var, stmt, &cotangent, &active, &mut terms)?;
        if let Some(slot) = cotangents.get_mut(k) {
            *slot = Some(cotangent);
        }
    }
    let mut outputs = ssa.outputs.clone();
    for k in wrt {
        let input = ssa.inputs.get(*k as usize)?;
        // An input that the body of a loop does not read may have no statement.
        let var = ssa.input_statement(*k);
        var.into_iter().for_each(|var| pass.attribute_to(var, ZERO));
        let cotangent = var.and_then(|var| cotangents.get(var.0 as usize)?.as_ref());
        pass.result_supports.push(cotangent.map_or(Pred::falsity(), |c| c.support.clone()));
        let cotangent = cotangent.map(|c| c.var);
        let scalar = input.leaf.scalar.unwrap_or(Scalar::F64);
        let cotangent = cotangent.unwrap_or_else(|| pass.builder.zero(&input.leaf.dims, scalar));
        outputs.push((TypeLeaf { path: Vec::new(), ..input.leaf.clone() }, cotangent));
    }
    Some((pass, outputs))
}

/// A term of a cotangent, with its support.
#[derive(Clone)]
pub(super) struct CotangentTerm {
    addend: Addend,
    present: Pred,
}

impl CotangentTerm {
    /// Makes a term that is added everywhere: an element of `of`, with the support `present`.
    pub(super) fn everywhere(of: TensorAccess, present: Pred) -> Self {
        Self { addend: Addend { neg: false, pred: Pred::truth(), operand: of }, present }
    }
}

/// Returns, for each statement, whether it depends on one of these inputs as a real (activity
/// analysis). A call or a loop is active if one of its arguments is.
pub(super) fn active_statements(ssa: &SsaFunction, wrt: &[u32]) -> Vec<bool> {
    let mut active: Vec<bool> = Vec::new();
    for stmt in &ssa.stmts {
        let mut depends = matches!(&stmt.rhs, Rhs::Input(k) if wrt.contains(k));
        stmt.rhs.for_each_access(&mut |a| depends |= active.get(a.var.0 as usize) == Some(&true));
        depends |= stmt.rhs.producer().is_some_and(|of| active.get(of.0 as usize) == Some(&true));
        let stopped = matches!(&stmt.rhs, Rhs::Map { operation: lang_ir::core::ScalarOp::Stop, .. });
        active.push(depends && (is_real(stmt.scalar) || stmt.rhs.is_producer()) && !stopped);
    }
    active
}

impl Differentiator<'_> {
    /// Adds the statement's share to the cotangents of its operands; `None` if it has no
    /// derivative.
    fn propagate(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        cotangent: &DerivativeValue,
        active: &[bool],
        terms: &mut [Vec<CotangentTerm>],
    ) -> Option<()> {
        let is_active = |a: &TensorAccess| active.get(a.var.0 as usize) == Some(&true);
        let seed = TensorAccess { var: cotangent.var, at: canonical_indices(&stmt.dims) };
        let present = &cotangent.support;
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) => {
                self.begin_rule(var, "6.21");
            }
            Rhs::Add(items) => {
                for item in items {
                    if !is_active(&item.operand) {
                        self.begin_rule(var, "6.22");
                        continue;
                    }
                    self.begin_rule(var, "6.26");
                    let factors = [seed.clone()];
                    self.transpose(stmt, &[], (&item.pred, present), item.neg, &item.operand, &factors, terms);
                }
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                for (k, factor) in factors.iter().enumerate().filter(|(_, f)| is_active(f)) {
                    self.begin_rule(var, if factors.len() == 2 { "6.28" } else { "6.29" });
                    let others = factors.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, f)| f.clone());
                    let others: Vec<TensorAccess> = others.collect();
                    let pred = pred.and(&self.evaluation_domain(
                        present,
                        &ReadDomain::for_statement(stmt, bound, pred),
                        &others,
                    ));
                    let product: Vec<TensorAccess> = [seed.clone()].into_iter().chain(others).collect();
                    self.transpose(stmt, bound, (&pred, present), *neg, factor, &product, terms);
                }
            }
            Rhs::Reduce(r) if is_active(&r.operand) && r.reducer == Reducer::Prod => {
                self.begin_rule(var, PRODUCT_ADJ);
                let others = self.product_of_others(stmt, r)?;
                let inside = r.pred.and(&r.filter);
                let domain = ReadDomain::for_statement(stmt, &r.bound, &inside);
                let pred = inside.and(&self.evaluation_domain(present, &domain, std::slice::from_ref(&others)));
                self.transpose(stmt, &r.bound, (&pred, present), false, &r.operand, &[seed, others], terms);
            }
            Rhs::Reduce(r) if is_active(&r.operand) => {
                self.begin_rule(var, EXTREMUM_ADJ);
                let (of, pred) = self.selected_element(stmt, r)?;
                self.transpose(stmt, &[], (&pred, present), false, &of, &[seed], terms);
            }
            // Positions are integers and have no derivative.
            Rhs::Reduce(_) | Rhs::Argsort(_) => {}
            Rhs::Map { pred, args, .. } => {
                for (k, arg) in args.iter().enumerate().filter(|(_, a)| is_active(a)) {
                    self.begin_rule(var, "6.27");
                    let Some(mut partial) = self.partial(var, stmt, k) else { continue };
                    // The transposed conversion goes to the type of the argument.
                    if let super::partial::PartialDerivative::Convert(to) = &mut partial {
                        *to = self.builder.scalar(arg.var);
                    }
                    let (taken, partial) = self.selection_domain(stmt, partial, arg.var);
                    let pred = pred.and(&taken);
                    let scaled = self.multiply_partial(stmt, &partial, &pred, &seed, present);
                    let factors = [TensorAccess { var: scaled, at: canonical_indices(&stmt.dims) }];
                    self.transpose(stmt, &[], (&pred, present), false, arg, &factors, terms);
                }
            }
            Rhs::Update { .. } => self.update_adjoint(var, stmt, cotangent, active, terms),
            // The call or the loop passes the cotangents of all its results on
            // (`propagate_results`).
            Rhs::CallResult(..) | Rhs::LoopResult(..) | Rhs::Call { .. } | Rhs::Loop(_) => {}
        }
        Some(())
    }

    /// Adds a term to the cotangent of `of`, an access at indices over those of the statement and
    /// the bound ones. The term is the sum of `product` over all these indices, restricted to those
    /// where `of.at` equals the element. `present` is the support of the statement's cotangent.
    #[expect(clippy::too_many_arguments, reason = "the parts of an inner product")]
    pub(super) fn transpose(
        &mut self,
        stmt: &Statement,
        bound: &[Poly],
        (pred, present): (&Pred, &Pred),
        neg: bool,
        of: &TensorAccess,
        product: &[TensorAccess],
        terms: &mut [Vec<CotangentTerm>],
    ) {
        let dims = self.builder.dims(of.var);
        // The element's indices come first. Those of the statement become bound, followed by those
        // that were bound before.
        let shift = |p: &Poly| shift_indices(p, dims.len());
        let all: Vec<Poly> = stmt.dims.iter().chain(bound).map(shift).collect();
        let leads = of.at.iter().enumerate().map(|(k, a)| {
            let element = statement_index(k, &Poly::default()).value();
            Pred::equal(&element, &shift(a))
        });
        let pred = Pred::all([pred.map(&shift)].into_iter().chain(leads));
        let factors: Vec<TensorAccess> =
            product.iter().map(|a| TensorAccess { var: a.var, at: a.at.iter().map(shift).collect() }).collect();
        let exists = |pred: &Pred| self.builder.simplify(&dims, &exists_over(dims.len(), &all, pred));
        let some = exists(&pred);
        let present = if present.is_true() { some.clone() } else { exists(&pred.and(&present.map(&shift))) };
        let var = self.builder.contract(&dims, all, &pred, neg, &factors, stmt.needs.clone());
        let addend = Addend { neg: false, pred: some, operand: TensorAccess { var, at: canonical_indices(&dims) } };
        let term = CotangentTerm { addend, present };
        if let Some(terms) = terms.get_mut(of.var.0 as usize) {
            terms.push(term);
        }
    }

    /// Passes the cotangents of the results of a call or a loop on to its operands. Other
    /// statements have no results.
    fn propagate_results(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        results: &[StmtId],
        cotangents: &[Option<DerivativeValue>],
        active: &[bool],
        terms: &mut [Vec<CotangentTerm>],
    ) -> Option<()> {
        let with_cotangent = |v: &StmtId| {
            let cotangent = cotangents.get(v.0 as usize)?.clone()?;
            Some((self.ssa.stmts.get(v.0 as usize)?, cotangent))
        };
        let seeds: Vec<(&Statement, DerivativeValue)> = results.iter().filter_map(with_cotangent).collect();
        match &stmt.rhs {
            _ if seeds.is_empty() => Some(()),
            Rhs::Loop(of) => {
                let seed = |(s, cotangent): &(&Statement, DerivativeValue)| match s.rhs {
                    Rhs::LoopResult(_, result) => Some((result, cotangent.clone())),
                    _ => None,
                };
                let seeds: Vec<(LoopResult, DerivativeValue)> = seeds.iter().filter_map(seed).collect();
                self.attribute_to(var, LOOP);
                let is_active = |a: &TensorAccess| active.get(a.var.0 as usize) == Some(&true);
                self.loop_adjoint((var, of), &seeds, &is_active, &stmt.needs, terms)
            }
            Rhs::Call { .. } => self.propagate_call(var, stmt, &seeds, active, terms),
            _ => Some(()),
        }
    }

    /// Calls the adjoint of a callee. Its arguments are those of the call and the cotangents of
    /// results.
    fn propagate_call(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        results: &[(&Statement, DerivativeValue)],
        active: &[bool],
        terms: &mut [Vec<CotangentTerm>],
    ) -> Option<()> {
        let Rhs::Call { callee, sizes, pred, args } = &stmt.rhs else { return Some(()) };
        self.attribute_to(var, CALL);
        let varying: Vec<u32> =
            (0..).zip(args).filter(|(_, a)| active.get(a.var.0 as usize) == Some(&true)).map(|(k, _)| k).collect();
        let primal = (self.functions)(callee)?;
        let seed = |(s, cotangent): &(&Statement, DerivativeValue)| match s.rhs {
            Rhs::CallResult(_, output) => Some((output, cotangent.var)),
            _ => None,
        };
        let mut seeds: Vec<(u32, StmtId)> = results.iter().filter_map(seed).collect();
        seeds.sort_unstable();
        let (of, wrt) = (seeds.iter().map(|(k, _)| *k).collect(), passed_inputs(&primal, &varying).into());
        let derived = Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of, wrt }));
        let ssa = (self.functions)(&derived)?;
        let outer = stmt.dims.clone();
        // Restricts the call to where some result has a cotangent, as far as indices and sizes
        // determine that.
        let some = results.iter().filter_map(|(s, cotangent)| {
            Some(exists_over(outer.len(), s.dims.get(outer.len()..)?, &cotangent.support.data_independent_part()))
        });
        let pred = &pred.and(&Pred::any_of(some));
        let mut vars = Vec::new();
        for arg in args {
            let (dims, of) = spread_argument(self, &outer, arg);
            vars.push(self.builder.contract(&dims, Vec::new(), pred, false, &[of], Vec::new()));
        }
        vars.extend(seeds.iter().map(|(_, cotangent)| *cotangent));
        let needs = stmt.needs.clone();
        let sizes = sizes.clone();
        let call = BatchedCall { callee: &derived, sizes, args: vars, dims: outer.clone(), pred: pred.clone(), needs };
        let results = self.call(&call, &ssa);
        for (k, nth) in varying.iter().enumerate() {
            let arg = args.get(*nth as usize)?;
            let part = *results.get(primal.outputs.len() + k)?;
            let (dims, of) = spread_argument(self, &outer, arg);
            let inner = Statement { dims, scalar: stmt.scalar, rhs: Rhs::Zero, needs: stmt.needs.clone(), name: None };
            let part = self.at_own_indices(part);
            let present = &self.builder.support(&part);
            self.transpose(&inner, &[], (pred, present), false, &of, &[part], terms);
        }
        Some(())
    }
}

/// Shifts the indices of a statement by `by`, behind those of an element.
fn shift_indices(p: &Poly, by: usize) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => Some(statement_index(index_number(*l)? + by, &Poly::default()).value()),
        _ => None,
    })
}

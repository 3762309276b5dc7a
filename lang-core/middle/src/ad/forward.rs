//! **Forward derivative** on Tensor SSA (ATL Fig. 13). The pass computes the tangent of each
//! statement that has one, beside the statement.
//!
//! In (6.5) the sum of a product's two tangents carries the predicate under which a term exists.
//! Otherwise Theorem 6.1 fails if a sum is empty.

use std::sync::Arc;

use super::partial::ReadDomain;
use super::reduce::{EXTREMUM_TAN, PRODUCT_TAN};
use super::{DerivativeValue, Differentiator, FunctionLookup, is_real};
use crate::norm::rule_coverage::RuleCoverage;
use lang_base::check_cancelled;
use lang_ir::core::{DerivativeKind, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::origin::{LOOP, ZERO};
use lang_ir::reduce::Reducer;
use lang_ir::region::LoopResult;
use lang_ir::ssa::{Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index, substitute_indices};
use lang_opt::inline::{self, BatchedCall};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// The names under which rules are counted: the paper's numbers, and names for loops and updates
/// (`loops`, `update`).
pub const RULES: &[&str] = &[
    "6.1",
    "6.2",
    "6.3",
    "6.4",
    "6.5",
    "6.6",
    "6.10",
    "6.13",
    EXTREMUM_TAN,
    PRODUCT_TAN,
    "tangents of a loop",
    "tangent of an update",
];

/// Derives the tangents by the inputs `wrt`. Returns the finished pass and its outputs: those of
/// the primal, then the tangents of the real ones.
///
/// The tangents of the inputs `partly` may be structural zeros in places. A comparison with zero
/// decides where they have a term.
pub(super) fn forward<'a>(
    ssa: &'a SsaFunction,
    wrt: &[u32],
    partly: &[u32],
    functions: FunctionLookup<'a>,
    hits: &'a mut RuleCoverage,
) -> Option<(Differentiator<'a>, Vec<(TypeLeaf, StmtId)>)> {
    let mut pass = Differentiator::new(ssa, functions, hits);
    let mut tangents: Vec<Option<DerivativeValue>> = Vec::new();
    for k in wrt {
        let input = ssa.inputs.get(*k as usize)?;
        let name = format!("{}_tan", ssa.vars.name(input.local)).into();
        // An input that the body of a loop does not read may have no statement.
        ssa.input_statement(*k).into_iter().for_each(|var| pass.attribute_to(var, "6.1"));
        pass.add_input(name, InputSource::Tangent(*k), input.leaf.clone());
    }
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        check_cancelled();
        let tangent = pass.tangent(StmtId(k), stmt, (wrt, partly), &tangents)?;
        tangent.iter().for_each(|t| pass.builder.trace.record_result(t.var));
        tangents.push(tangent);
    }
    let mut outputs = ssa.outputs.clone();
    for (leaf, var) in ssa.outputs.iter().filter(|(leaf, _)| is_real(leaf.scalar)) {
        let scalar = leaf.scalar.unwrap_or(Scalar::F64);
        pass.attribute_to(*var, ZERO);
        let tangent = tangents.get(var.0 as usize).and_then(Option::as_ref);
        pass.result_supports.push(tangent.map_or(Pred::falsity(), |t| t.support.clone()));
        let tangent = tangent.map(|t| t.var);
        let tangent = tangent.unwrap_or_else(|| pass.builder.zero(&leaf.dims, scalar));
        outputs.push((TypeLeaf { path: Vec::new(), ..leaf.clone() }, tangent));
    }
    Some((pass, outputs))
}

/// The derived call of a call.
#[derive(Clone)]
pub(super) struct ForwardCall {
    /// The callee of the primal call.
    primal: Arc<SsaFunction>,
    /// The results of the derived call.
    parts: Arc<[StmtId]>,
    /// The batch tuples for which it happens.
    pred: Pred,
}

impl Differentiator<'_> {
    /// Returns the tangent of a statement, `Some(None)` if it is zero, or `None` if it has no
    /// derivative.
    #[expect(clippy::option_option, reason = "no derivative, or a derivative that is zero")]
    fn tangent(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        (wrt, partly): (&[u32], &[u32]),
        tangents: &[Option<DerivativeValue>],
    ) -> Option<Option<DerivativeValue>> {
        let of = |v: StmtId| tangents.get(v.0 as usize).and_then(Option::as_ref);
        let at = |a: &TensorAccess| {
            let tangent = of(a.var)?;
            let present = tangent.support.map(&|p| substitute_indices(p, &a.at));
            Some((TensorAccess { var: tangent.var, at: a.at.clone() }, present))
        };
        let mut present = Vec::new();
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let needs = stmt.needs.clone();
        let tangent = match &stmt.rhs {
            Rhs::Input(k) => {
                let place = wrt.iter().position(|w| w == k);
                self.begin_rule(var, if place.is_some() { "6.1" } else { "6.2" });
                // The tangents are inputs after those of the function.
                place.map(|place| {
                    let input = u32::try_from(self.ssa.inputs.len() + place).unwrap_or(u32::MAX);
                    let tangent = self.builder.push(stmt.dims.clone(), stmt.scalar, Rhs::Input(input), Vec::new());
                    present.push(if partly.contains(k) { self.nonzero_pred(tangent) } else { Pred::truth() });
                    tangent
                })
            }
            Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) | Rhs::Argsort(_) => {
                self.begin_rule(var, "6.3");
                None
            }
            Rhs::Add(items) => {
                self.begin_rule(var, "6.4");
                let mut terms = Vec::new();
                for item in items {
                    let Some((of, some)) = at(&item.operand) else { continue };
                    present.push(item.pred.and(&some));
                    terms.push(Addend { operand: of, ..item.clone() });
                }
                (!terms.is_empty()).then(|| self.builder.add(&stmt.dims, scalar, &terms, needs))
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                self.begin_rule(var, if factors.len() == 2 { "6.5" } else { "6.10" });
                let mut terms = Vec::new();
                for (k, factor) in factors.iter().enumerate() {
                    let Some((tangent, some)) = at(factor) else { continue };
                    present.push(exists_over(stmt.dims.len(), bound, &pred.and(&some)));
                    let mut product = factors.clone();
                    product.remove(k);
                    let pred = pred.and(&self.evaluation_domain(
                        &some,
                        &ReadDomain::for_statement(stmt, bound, pred),
                        &product,
                    ));
                    product.insert(k, tangent);
                    let part = self.builder.contract(&stmt.dims, bound.clone(), &pred, *neg, &product, needs.clone());
                    terms.push(part);
                }
                match terms.as_slice() {
                    [] => None,
                    [one] => Some(*one),
                    _ => {
                        let some = exists_over(stmt.dims.len(), bound, pred);
                        let terms: Vec<Addend> = terms
                            .iter()
                            .map(|var| Addend { neg: false, pred: some.clone(), operand: self.at_own_indices(*var) })
                            .collect();
                        Some(self.builder.add(&stmt.dims, scalar, &terms, needs))
                    }
                }
            }
            Rhs::Reduce(r) => match at(&r.operand) {
                Some((tangent, some)) if r.reducer == Reducer::Prod => {
                    self.begin_rule(var, PRODUCT_TAN);
                    let others = self.product_of_others(stmt, r)?;
                    let terms = r.pred.and(&r.filter);
                    present.push(exists_over(stmt.dims.len(), &r.bound, &terms.and(&some)));
                    let inside = ReadDomain::for_statement(stmt, &r.bound, &terms);
                    let pred = terms.and(&self.evaluation_domain(&some, &inside, std::slice::from_ref(&others)));
                    Some(self.builder.contract(&stmt.dims, r.bound.clone(), &pred, false, &[others, tangent], needs))
                }
                Some(_) if is_real(stmt.scalar) => {
                    self.begin_rule(var, EXTREMUM_TAN);
                    let (of, pred) = self.selected_element(stmt, r)?;
                    let (of, some) = at(&of)?;
                    present.push(pred.and(&some));
                    Some(self.builder.contract(&stmt.dims, Vec::new(), &pred, false, &[of], needs))
                }
                _ => None,
            },
            Rhs::Map { pred, args, .. } => {
                self.begin_rule(var, "6.6");
                let mut terms = Vec::new();
                for (k, arg) in args.iter().enumerate() {
                    let Some((tangent, some)) = at(arg) else { continue };
                    let Some(partial) = self.partial(var, stmt, k) else { continue };
                    let (taken, partial) = self.selection_domain(stmt, partial, arg.var);
                    let pred = pred.and(&taken);
                    let term = self.multiply_partial(stmt, &partial, &pred, &tangent, &some);
                    present.push(pred.and(&some));
                    terms.push(Addend { neg: false, pred, operand: self.at_own_indices(term) });
                }
                (!terms.is_empty()).then(|| self.builder.add(&stmt.dims, scalar, &terms, needs))
            }
            // The tangents belong to its results.
            Rhs::Call { .. } | Rhs::Loop(_) => None,
            Rhs::LoopResult(producer, part) => {
                self.attribute_to(var, LOOP);
                let of = self.ssa.loop_at(*producer)?;
                let tangent = self.loop_tangent(*producer, *part, stmt, tangents)?;
                // If the loop does not run, its last value has the tangent of the initial value. If
                // that is zero, so is the result wherever the loop does not run.
                let init = |k: &u32| of.args.get(*k as usize).and_then(|a| tangents.get(a.access().var.0 as usize));
                let ran = match (part, of.fixed_trip_count()) {
                    (LoopResult::Final(k), Some(n)) if init(k).is_some_and(Option::is_none) => {
                        Pred::less(&Poly::default(), n)
                    }
                    _ => Pred::truth(),
                };
                if let Some(t) = tangent {
                    let some =
                        if self.tangents_may_lack_terms(*producer) { self.nonzero_pred(t) } else { Pred::truth() };
                    present.push(ran.and(&self.builder.support(&self.at_own_indices(t))).and(&some));
                }
                tangent
            }
            Rhs::Update { .. } => {
                present.push(Pred::truth());
                self.update_tangent(var, stmt, tangents)
            }
            Rhs::CallResult(producer, output) => {
                if !is_real(stmt.scalar) {
                    return Some(None);
                }
                self.begin_rule(var, "6.13");
                let Some(call) = self.forward_call(*producer, tangents)? else { return Some(None) };
                // The derived function returns the parts of the result, then the tangents of the
                // real parts.
                let real = call.primal.outputs.iter().take(*output as usize);
                let real = real.filter(|(leaf, _)| is_real(leaf.scalar)).count();
                let tangent = call.parts.get(call.primal.outputs.len() + real).copied();
                present.extend(tangent.map(|t| call.pred.and(&self.builder.support(&self.at_own_indices(t)))));
                tangent
            }
        };
        let dims = &stmt.dims;
        Some(tangent.map(|var| DerivativeValue { var, support: self.join_supports(dims, present) }))
    }

    /// Returns the derived call of a call, `Some(None)` if no argument has a tangent, or `None` if
    /// the callee has no derivative. A call is derived once for all its results.
    #[expect(clippy::option_option, reason = "no derivative, or a derivative that is zero")]
    fn forward_call(&mut self, producer: StmtId, tangents: &[Option<DerivativeValue>]) -> Option<Option<ForwardCall>> {
        if let Some(known) = self.forward_calls.get(&producer) {
            return Some(Some(known.clone()));
        }
        let of = |v: StmtId| tangents.get(v.0 as usize).and_then(Option::as_ref);
        let Statement { dims: outer, rhs: Rhs::Call { callee, sizes, pred, args }, needs, .. } =
            self.ssa.stmts.get(producer.0 as usize)?
        else {
            return None;
        };
        let active: Vec<u32> = (0..).zip(args).filter(|(_, a)| of(a.var).is_some()).map(|(k, _)| k).collect();
        if active.is_empty() {
            return Some(None);
        }
        let primal = (self.functions)(callee)?;
        let inputs = passed_inputs(&primal, &active);
        let derived = Arc::new(callee.derivative(DerivativeKind::Forward(inputs.into())));
        let ssa = (self.functions)(&derived)?;
        let whole = |this: &Self, a: &TensorAccess| spread_argument(this, outer, a);
        let mut operands: Vec<TensorAccess> = args.clone();
        // Restricts the call to where some argument has a tangent, as far as indices and sizes
        // determine that.
        let mut some = Vec::new();
        for arg in args {
            let Some(tangent) = of(arg.var) else { continue };
            // The argument's own indices follow those of the call.
            let (dims, spread) = whole(self, arg);
            let present = tangent.support.map(&|p| substitute_indices(p, &spread.at)).data_independent_part();
            some.push(exists_over(outer.len(), dims.get(outer.len()..).unwrap_or_default(), &present));
            operands.push(TensorAccess { var: tangent.var, at: arg.at.clone() });
        }
        let pred = pred.and(&Pred::any_of(some));
        let mut vars = Vec::new();
        for arg in &operands {
            let of = whole(self, arg);
            vars.push(self.builder.contract(&of.0, Vec::new(), &pred, false, &[of.1], Vec::new()));
        }
        let (sizes, dims, needs) = (sizes.clone(), outer.clone(), needs.clone());
        let call = BatchedCall { callee: &derived, sizes, args: vars, dims, pred: pred.clone(), needs };
        let parts = self.call(&call, &ssa);
        let call = ForwardCall { primal, parts: parts.into(), pred };
        self.forward_calls.insert(producer, call.clone());
        Some(Some(call))
    }

    /// Adds a call of a derived definition, and returns its parts.
    pub(super) fn call(&mut self, call: &BatchedCall<'_>, ssa: &SsaFunction) -> Vec<StmtId> {
        let (vars, inputs) = (&mut self.vars, &mut self.inputs);
        inline::add_call(&mut self.builder, call, ssa, &mut |builder, global| {
            crate::norm::to_ssa::global_input(builder, vars, inputs, global)
        })
    }
}

/// Maps argument numbers to input numbers of a definition. Arguments count only the inputs that are
/// passed.
pub(super) fn passed_inputs(ssa: &SsaFunction, args: &[u32]) -> Vec<u32> {
    let inputs: Vec<u32> = (0..).zip(&ssa.inputs).filter(|(_, i)| i.source.is_passed()).map(|(k, _)| k).collect();
    args.iter().filter_map(|k| inputs.get(*k as usize).copied()).collect()
}

/// Returns an argument of a call as a tensor, with the indices of the call before its own: the
/// extents and the access.
pub(super) fn spread_argument(
    pass: &Differentiator<'_>,
    outer: &[Poly],
    a: &TensorAccess,
) -> (Vec<Poly>, TensorAccess) {
    let own: Vec<Poly> = pass.builder.dims(a.var).into_iter().skip(a.at.len()).collect();
    let mut at = a.at.clone();
    at.extend((0..own.len()).map(|k| statement_index(outer.len() + k, &Poly::default()).value()));
    (outer.iter().cloned().chain(own).collect(), TensorAccess { var: a.var, at })
}

/// Returns the predicate, over the free indices, that a term exists.
pub(super) fn exists_over(free: usize, bound: &[Poly], pred: &Pred) -> Pred {
    bound.iter().enumerate().rev().fold(pred.clone(), |p, (k, n)| Pred::exists(&statement_index(free + k, n), &p))
}

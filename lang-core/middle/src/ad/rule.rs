//! **Custom derivative rules** written beside a definition. `derivative f(x; dx) = …` gives the
//! tangent of the result, `adjoint f(x; dy) = …` the cotangents of the arguments.
//!
//! If only the other kind exists, the derivative is its transpose. A rule is linear in the
//! parameters after `;`, so its adjoint by them is the other rule. A rule that is not linear by
//! construction has no transpose, because the transpose would read the tangent itself.
//!
//! The definition stays a call beside the rule, and higher derivatives differentiate the rule.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Differentiator, FunctionLookup, is_real};
use crate::norm::RuleKind as Kind;
use crate::norm::rule_coverage::RuleCoverage;
use lang_base::BackgroundDrop;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::{DerivativeKind, FunctionKey, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::origin::{OriginTable, RULE, VALUE};
use lang_ir::ssa::{Rhs, SsaBuilder, SsaFunction, StmtId, for_each_poly_read, for_each_pred_read};
use lang_opt::inline::{self, BatchedCall};
use lang_opt::loop_pruning::{self, BodyReads};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// A derivative rule of a definition.
pub struct CustomRule {
    /// The kind of the rule: tangent of the result, or cotangents of the arguments.
    pub kind: Kind,
    /// The rule as a function of the arguments, then of the tangents or cotangents.
    pub callee: Arc<FunctionKey>,
}

/// Derives a definition by its rule. Returns the derivative, which holds all results of the rule,
/// and the origins of its statements. `None` if the rule has neither the requested form nor a
/// transpose.
#[must_use]
pub fn derive(
    ssa: &SsaFunction,
    rule: &CustomRule,
    derivation: &DerivativeKind,
    functions: FunctionLookup<'_>,
    hits: &mut RuleCoverage,
) -> Option<(SsaFunction, OriginTable)> {
    let written = functions(&rule.callee)?;
    let mut pass = Differentiator::new(ssa, functions, hits);
    // The derivative calls the definition itself, so its statements do not matter here.
    pass.builder =
        BackgroundDrop::new(SsaBuilder::new(ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect()));
    pass.hits.count(RULE);
    let inputs = pass.add_all_inputs(ssa);
    let results: Vec<StmtId> = ssa.outputs.iter().map(|(_, var)| *var).collect();
    let first = *results.first()?;
    pass.attribute_to(first, VALUE);
    let values = pass.add_call(&ssa.callee, ssa, &inputs);
    pass.attribute_results(&results, &values, VALUE);
    pass.attribute_to(first, RULE);
    let real: Vec<u32> = (0..)
        .zip(&ssa.inputs)
        .filter(|(_, i)| is_real(i.leaf.scalar) && i.source.is_passed())
        .map(|(k, _)| k)
        .collect();
    let reals: Vec<(u32, &TypeLeaf)> =
        (0..).zip(&ssa.outputs).map(|(k, (leaf, _))| (k, leaf)).filter(|(_, leaf)| is_real(leaf.scalar)).collect();
    let mut outputs: Vec<(TypeLeaf, StmtId)> =
        ssa.outputs.iter().zip(values).map(|((leaf, _), var)| (leaf.clone(), var)).collect();
    match derivation {
        DerivativeKind::Forward(wrt) => {
            // The rule takes a tangent for each real part of the arguments: zero for those that do
            // not vary.
            let mut tangents = vec![None; real.len()];
            for k in &**wrt {
                let input = ssa.inputs.get(*k as usize)?;
                let name = format!("{}_tan", ssa.vars.name(input.local)).into();
                pass.attribute_to(ssa.input_statement(*k)?, RULE);
                let var = pass.add_input(name, InputSource::Tangent(*k), input.leaf.clone());
                *tangents.get_mut(real.iter().position(|r| r == k)?)? = Some(var);
            }
            let mut seeds = Vec::new();
            for (k, tangent) in real.iter().zip(tangents) {
                let leaf = &ssa.inputs.get(*k as usize)?.leaf;
                seeds.push(tangent.unwrap_or_else(|| pass.zero_tangent(leaf)));
            }
            let found = match rule.kind {
                Kind::Derivative => pass.call_rule(rule, &written, &inputs, &seeds),
                Kind::Adjoint => {
                    let leaves: Vec<TypeLeaf> = reals.iter().map(|(_, leaf)| (*leaf).clone()).collect();
                    // The rule computes the cotangents of all real arguments, but only some vary.
                    let some: Vec<u32> = (0..).zip(&real).filter(|(_, k)| wrt.contains(k)).map(|(at, _)| at).collect();
                    let varying_seeds: Vec<StmtId> =
                        some.iter().filter_map(|at| seeds.get(*at as usize)).copied().collect();
                    pass.call_transpose(rule, &written, &inputs, &leaves, &some, &varying_seeds)?
                }
            };
            let of: Vec<StmtId> = reals.iter().filter_map(|(k, _)| results.get(*k as usize)).copied().collect();
            pass.attribute_results(&of, &found, RULE);
            let of = reals.iter().map(|(_, leaf)| TypeLeaf { path: Vec::new(), ..(*leaf).clone() });
            outputs.extend(of.zip(found));
        }
        DerivativeKind::Adjoint { outputs: of, wrt } => {
            let mut cotangents = Vec::new();
            for (k, leaf) in &reals {
                if !of.contains(k) {
                    cotangents.push(None);
                    continue;
                }
                let result = *results.get(*k as usize)?;
                let own = ssa.stmts.get(result.0 as usize).and_then(|s| s.name.clone());
                pass.attribute_to(result, RULE);
                let name = format!("{}_adj", own.unwrap_or_else(|| "y".into())).into();
                let leaf = TypeLeaf { path: Vec::new(), ..(*leaf).clone() };
                cotangents.push(Some(pass.add_input(name, InputSource::Cotangent(*k), leaf)));
            }
            let found = match rule.kind {
                Kind::Adjoint => {
                    let pairs = cotangents.iter().zip(&reals);
                    let seeds: Vec<StmtId> =
                        pairs.map(|(c, (_, leaf))| c.unwrap_or_else(|| pass.zero_tangent(leaf))).collect();
                    pass.call_rule(rule, &written, &inputs, &seeds)
                }
                Kind::Derivative => {
                    let leaves: Option<Vec<TypeLeaf>> =
                        real.iter().map(|k| Some(ssa.inputs.get(*k as usize)?.leaf.clone())).collect();
                    let some: Vec<u32> =
                        (0..).zip(&cotangents).filter(|(_, c)| c.is_some()).map(|(at, _)| at).collect();
                    let seeds: Vec<StmtId> = cotangents.iter().copied().flatten().collect();
                    pass.call_transpose(rule, &written, &inputs, &leaves?, &some, &seeds)?
                }
            };
            for k in &**wrt {
                let leaf = &ssa.inputs.get(*k as usize)?.leaf;
                let at = real.iter().position(|r| r == k)?;
                let cotangent = *found.get(at)?;
                pass.attribute_results(&[ssa.input_statement(*k)?], &[cotangent], RULE);
                outputs.push((TypeLeaf { path: Vec::new(), ..leaf.clone() }, cotangent));
            }
        }
    }
    Some(pass.finish(derivation, Vec::new(), outputs))
}

impl Differentiator<'_> {
    /// Attributes each statement of `results` to the statement of `of` at the same position, in
    /// addition to the call's own origin.
    fn attribute_results(&mut self, of: &[StmtId], results: &[StmtId], why: &'static str) {
        for (of, result) in of.iter().zip(results) {
            self.attribute_to(*of, why);
            self.builder.trace.record_result(*result);
        }
    }

    /// Adds all inputs of the definition, and returns those that are passed to it.
    fn add_all_inputs(&mut self, ssa: &SsaFunction) -> Vec<StmtId> {
        let mut vars = Vec::new();
        for (k, input) in (0..).zip(&ssa.inputs) {
            if let Some(of) = ssa.input_statement(k) {
                self.attribute_to(of, VALUE);
            }
            let var = self.builder.push(input.leaf.dims.clone(), input.leaf.scalar, Rhs::Input(k), Vec::new());
            if let Some(stmt) = self.builder.stmts.get_mut(var.0 as usize) {
                stmt.name = Some(ssa.vars.name(input.local));
            }
            if input.source.is_passed() {
                vars.push(var);
            }
        }
        vars
    }

    /// Returns the zero tangent of a part.
    fn zero_tangent(&mut self, leaf: &TypeLeaf) -> StmtId {
        self.builder.zero(&leaf.dims, leaf.scalar.unwrap_or(Scalar::F64))
    }

    /// Adds a call with the sizes of the definition.
    fn add_call(&mut self, callee: &Arc<FunctionKey>, ssa: &SsaFunction, args: &[StmtId]) -> Vec<StmtId> {
        let sizes = self.ssa.sizes.iter().map(|l| Poly::atom(self.ssa.vars.atom(*l))).collect();
        let args = args.to_vec();
        let call = BatchedCall { callee, sizes, args, dims: Vec::new(), pred: Pred::truth(), needs: Vec::new() };
        let (vars, inputs) = (&mut self.vars, &mut self.inputs);
        inline::add_call(&mut self.builder, &call, ssa, &mut |builder, global| {
            crate::norm::to_ssa::global_input(builder, vars, inputs, global)
        })
    }

    /// Calls the rule with the inputs and the tangents or cotangents `beside`.
    fn call_rule(
        &mut self,
        rule: &CustomRule,
        written: &SsaFunction,
        inputs: &[StmtId],
        beside: &[StmtId],
    ) -> Vec<StmtId> {
        let args: Vec<StmtId> = inputs.iter().chain(beside).copied().collect();
        self.add_call(&rule.callee, written, &args)
    }

    /// Calls the transpose of the rule by its parameters after `;`, whose parts are `beside`.
    /// `seeds` are the cotangents of its results `of`. `None` if the rule is not linear.
    fn call_transpose(
        &mut self,
        rule: &CustomRule,
        written: &SsaFunction,
        inputs: &[StmtId],
        beside: &[TypeLeaf],
        of: &[u32],
        seeds: &[StmtId],
    ) -> Option<Vec<StmtId>> {
        let passed: Vec<u32> =
            (0..).zip(&written.inputs).filter(|(_, i)| i.source.is_passed()).map(|(k, _)| k).collect();
        let by: Arc<[u32]> = passed.get(inputs.len()..)?.into();
        let callee =
            Arc::new(rule.callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: Arc::clone(&by) }));
        let adjoint = (self.functions)(&callee)?;
        if !self.is_linear(&adjoint, &by, written.outputs.len()) {
            return None;
        }
        let mut args = inputs.to_vec();
        for leaf in beside {
            args.push(self.zero_tangent(leaf));
        }
        args.extend(seeds);
        let values = self.add_call(&callee, &adjoint, &args);
        Some(values.get(written.outputs.len()..)?.to_vec())
    }

    /// Returns whether the cotangents, which follow the values, are independent of these inputs.
    fn is_linear(&self, adjoint: &SsaFunction, by: &[u32], values: usize) -> bool {
        let cotangents = adjoint.outputs.get(values..).unwrap_or_default();
        let read = DependenceAnalysis { functions: self.functions, argument_sets: HashMap::new() }
            .inputs_read(adjoint, cotangents);
        !by.iter().any(|k| read.contains(k))
    }
}

/// Dependence analysis: the inputs that outputs depend on. A call depends only on the arguments
/// that its part of the result depends on.
struct DependenceAnalysis<'a> {
    functions: FunctionLookup<'a>,
    argument_sets: HashMap<(Arc<FunctionKey>, u32), Arc<BTreeSet<u32>>>,
}

impl DependenceAnalysis<'_> {
    fn inputs_read(&mut self, ssa: &SsaFunction, outputs: &[(TypeLeaf, StmtId)]) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<StmtId> = outputs.iter().map(|(_, var)| *var).collect();
        let mut checks = ssa.needs.clone();
        let mut seen_checks = BTreeSet::new();
        outputs.iter().flat_map(|(leaf, _)| &leaf.dims).for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
        loop {
            if let Some(check) = checks.pop() {
                let Some(check) = ssa.checks.get(check as usize).filter(|_| seen_checks.insert(check)) else {
                    continue;
                };
                check.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
                [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| open.push(v)));
                continue;
            }
            let Some(var) = open.pop() else { return found };
            let Some(stmt) = ssa.stmts.get(var.0 as usize).filter(|_| seen.insert(var)) else { continue };
            checks.extend(&stmt.needs);
            stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
            match &stmt.rhs {
                Rhs::Input(k) => drop(found.insert(*k)),
                // The producer has checks and extents of its own, and reads what its results need.
                Rhs::Call { .. } | Rhs::Loop(_) => {}
                Rhs::CallResult(producer, part) => {
                    open.push(*producer);
                    let Some(Rhs::Call { callee, sizes, pred, args }) =
                        ssa.stmts.get(producer.0 as usize).map(|s| &s.rhs)
                    else {
                        continue;
                    };
                    sizes.iter().for_each(|p| for_each_poly_read(p, &mut |v| open.push(v)));
                    for_each_pred_read(pred, &mut |v| open.push(v));
                    let read = ensure_sufficient_stack(|| self.arguments_read(callee, *part));
                    for (k, arg) in (0..).zip(args) {
                        if read.as_ref().is_none_or(|read| read.contains(&k)) {
                            open.push(arg.var);
                            arg.at.iter().for_each(|p| for_each_poly_read(p, &mut |v| open.push(v)));
                        }
                    }
                }
                Rhs::LoopResult(producer, part) => {
                    open.push(*producer);
                    let Some(of) = ssa.loop_at(*producer) else { continue };
                    let needed = loop_pruning::loop_needs(of, &BTreeSet::from([*part]), &mut BodyReads::default());
                    of.for_each_operand(&needed.inputs, &mut |v| open.push(v));
                }
                rhs => rhs.for_each_operand(&mut |v| open.push(v)),
            }
        }
    }

    /// Returns the arguments that one part of a function's result depends on.
    fn arguments_read(&mut self, callee: &Arc<FunctionKey>, part: u32) -> Option<Arc<BTreeSet<u32>>> {
        let key = (Arc::clone(callee), part);
        if let Some(known) = self.argument_sets.get(&key) {
            return Some(Arc::clone(known));
        }
        let ssa = (self.functions)(callee)?;
        let inputs = self.inputs_read(&ssa, ssa.outputs.get(part as usize..)?.get(..1)?);
        let passed = (0..).zip(&ssa.inputs).filter(|(_, input)| input.source.is_passed());
        let arguments = (0..).zip(passed).filter(|(_, (k, _))| inputs.contains(k)).map(|(at, _)| at);
        let arguments = Arc::new(arguments.collect::<BTreeSet<u32>>());
        self.argument_sets.insert(key, Arc::clone(&arguments));
        Some(arguments)
    }
}

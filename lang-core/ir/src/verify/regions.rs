//! **Calls and loops** must agree with the functions that they run: the number and the types of
//! arguments, the sizes, and the part of the result.

use std::collections::HashMap;

use super::{FunctionVerifier, Region, VerifierRule, print};
use crate::core::TypeLeaf;
use crate::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use crate::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_sizes::predicate::{Atom, FactContext, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// Returns the extents of a part of a callee's result or input over the caller's sizes, or `None`
/// if they depend on more than sizes.
fn extents_in_caller(callee: &SsaFunction, sizes: &[Poly], extents: &[Poly]) -> Option<Vec<Poly>> {
    let size = |l: LocalId| callee.sizes.iter().position(|s| *s == l).and_then(|k| sizes.get(k)).cloned();
    let in_sizes = |n: &Poly| {
        let mut all = true;
        n.for_each_atom(&mut |a| {
            all &= match a {
                Atom::Local(l, _) => size(*l).is_some(),
                Atom::Read(..) => false,
                _ => true,
            };
        });
        all
    };
    let put = |n: &Poly| n.substitute(&|a| if let Atom::Local(l, _) = a { size(*l) } else { None });
    extents.iter().map(|n| in_sizes(n).then(|| put(n))).collect()
}

/// Solves equations between values here and integers of a loop's body for the variables here: from
/// `n - j - 1 = p` and `n = n`, `j` is `n - p - 1` in the body.
fn solve(equations: &[(Poly, Poly)]) -> HashMap<Atom, Poly> {
    let mut open: Vec<&(Poly, Poly)> = equations.iter().collect();
    let mut values: HashMap<Atom, Poly> = HashMap::new();
    loop {
        let before = open.len();
        open.retain(|(here, own)| {
            let mut unknown = Vec::new();
            here.for_each_atom(&mut |a| {
                if !values.contains_key(a) && !unknown.contains(a) {
                    unknown.push(a.clone());
                }
            });
            let [a] = unknown.as_slice() else { return !unknown.is_empty() };
            let Some((c @ (1 | -1), rest)) = here.linear_in(a) else { return true };
            let rest = rest.substitute(&|a| values.get(a).cloned());
            values.insert(a.clone(), own.sub(&rest).scale(c));
            false
        });
        if open.len() == before {
            return values;
        }
    }
}

/// Returns whether the polynomial mentions only variables that have these values, and no data.
fn has_values(p: &Poly, values: &HashMap<Atom, Poly>) -> bool {
    let mut known = true;
    p.for_each_atom(&mut |a| {
        known &= match a {
            Atom::Local(..) => values.contains_key(a),
            Atom::Div(..) | Atom::Mod(..) | Atom::Min(..) | Atom::Max(..) => true,
            _ => false,
        };
    });
    known
}

/// Returns a predicate over these values of its variables, or `None` if it mentions others or data.
fn translate(p: &Pred, values: &HashMap<Atom, Poly>) -> Option<Pred> {
    let mut known = !p.depends_on_data();
    p.visit(&mut |p| known &= has_values(p, values), &mut |_| {});
    known.then(|| p.substitute(&|a| values.get(a).cloned()))
}

impl FunctionVerifier<'_, '_> {
    /// Checks an argument: a tensor read at its first indices, of the type of an input.
    fn argument(&mut self, access: &TensorAccess, leaf: &TypeLeaf, rule: VerifierRule) {
        let Some(stmt) = self.get(access.var) else { return };
        let rank = stmt.dims.len().checked_sub(access.at.len());
        self.require(rank == Some(leaf.dims.len()), rule, || {
            format!("X{} has {:?} axes for an input of {}", access.var.0, rank, leaf.dims.len())
        });
        self.require(stmt.scalar == leaf.scalar, rule, || {
            format!("X{} of type {:?} for an input of type {:?}", access.var.0, stmt.scalar, leaf.scalar)
        });
    }

    /// Checks a call against the callee.
    pub(super) fn call(&mut self, stmt: &Statement) {
        let Rhs::Call { callee, sizes, pred, args } = &stmt.rhs else { return };
        let rule = VerifierRule::Call;
        self.require(stmt.scalar.is_none(), rule, || "a call has a scalar type".to_owned());
        let Some(called) = (self.callees)(callee) else { return };
        self.require(sizes.len() == called.sizes.len(), rule, || {
            format!("passes {} sizes for {}", sizes.len(), called.sizes.len())
        });
        let inputs: Vec<&TypeLeaf> = called.inputs.iter().filter(|i| i.source.is_passed()).map(|i| &i.leaf).collect();
        self.require(args.len() == inputs.len(), rule, || {
            format!("passes {} of {} arguments", args.len(), inputs.len())
        });
        for (arg, leaf) in args.iter().zip(&inputs) {
            self.argument(arg, leaf, rule);
            self.in_bounds(&stmt.dims, &[], pred, arg, &stmt.needs);
            let own = self.dims_of(arg);
            if let Some(expected) = extents_in_caller(&called, sizes, &leaf.dims) {
                self.same_extents(own.get(arg.at.len()..).unwrap_or_default(), &expected, rule);
            }
        }
    }

    /// Checks a result against its call and the callee.
    pub(super) fn call_result(&mut self, producer: StmtId, k: u32, stmt: &Statement) {
        let rule = VerifierRule::Call;
        let Some(Statement { dims: batch, rhs: Rhs::Call { callee, sizes, .. }, .. }) = self.get(producer) else {
            return self.report(rule, format!("X{} is no call", producer.0));
        };
        self.has_batch(stmt, batch);
        let Some(called) = (self.callees)(callee) else { return };
        let Some((leaf, _)) = called.outputs.get(k as usize) else {
            return self.report(rule, format!("there is no result {k}"));
        };
        self.result(stmt, batch.len(), called.as_ref(), sizes, leaf, rule);
    }

    /// Checks that the first extents of a result are those of its producer.
    fn has_batch(&mut self, stmt: &Statement, batch: &[Poly]) {
        self.same_extents(stmt.dims.get(..batch.len()).unwrap_or_default(), batch, VerifierRule::Extent);
    }

    /// Checks a statement against a part of a result, after `outer` axes of its own.
    fn result(
        &mut self,
        stmt: &Statement,
        outer: usize,
        callee: &SsaFunction,
        sizes: &[Poly],
        leaf: &TypeLeaf,
        rule: VerifierRule,
    ) {
        self.require(stmt.scalar == leaf.scalar, rule, || {
            format!("has the type {:?}, not {:?}", stmt.scalar, leaf.scalar)
        });
        self.require(stmt.dims.len() == outer + leaf.dims.len(), rule, || {
            format!("has {} axes, not {} + {}", stmt.dims.len(), outer, leaf.dims.len())
        });
        if let Some(expected) = extents_in_caller(callee, sizes, &leaf.dims) {
            self.same_extents(stmt.dims.get(outer..).unwrap_or_default(), &expected, VerifierRule::Extent);
        }
    }

    /// Checks a result against the body of its loop.
    pub(super) fn loop_result(&mut self, producer: StmtId, part: LoopResult, stmt: &Statement) {
        let rule = VerifierRule::Loop;
        let Some(Statement { rhs: Rhs::Loop(of), .. }) = self.get(producer) else {
            return self.report(rule, format!("X{} is no loop", producer.0));
        };
        let (body, batch) = (&of.body, of.batch.len());
        self.has_batch(stmt, &of.batch);
        let input = |k: u32| body.inputs.get(k as usize).map(|i| &i.leaf);
        let carried = |k: u32| matches!(of.args.get(k as usize), Some(LoopArg::Carried { .. }));
        let leaf = match part {
            LoopResult::Final(k) | LoopResult::Checkpoint(k) => {
                self.require(carried(k), rule, || format!("input {k} is not carried"));
                input(k)
            }
            LoopResult::PerIteration(k) => body.outputs.get(k as usize).map(|(leaf, _)| leaf),
            LoopResult::TripCount => {
                self.require(stmt.scalar == Some(Scalar::I64), rule, || "the trip count is no integer".to_owned());
                return self.require(stmt.dims.len() == batch, rule, || "the trip count has axes".to_owned());
            }
        };
        let Some(leaf) = leaf else { return self.report(rule, format!("there is no {part:?}")) };
        let iterations = usize::from(!matches!(part, LoopResult::Final(_)));
        let is_kept = matches!(part, LoopResult::Checkpoint(_));
        self.require(!is_kept || of.checkpoint.is_some(), rule, || "a checkpoint without a spacing".to_owned());
        // The sizes of the body may differ between iterations, so they determine no extent here.
        let constant = of.sizes.iter().all(|n| !n.mentions(&statement_index(batch, &Poly::default()).atom()));
        if constant {
            self.result(stmt, batch + iterations, body, &of.sizes, leaf, rule);
        } else {
            self.require(stmt.scalar == leaf.scalar, rule, || {
                format!("has the type {:?}, not {:?}", stmt.scalar, leaf.scalar)
            });
        }
        if let (LoopResult::PerIteration(_), Some(n), Some(own)) = (part, of.fixed_trip_count(), stmt.dims.get(batch)) {
            // If the trip count depends on the batch, the extent is an upper bound.
            let depends = (0..batch).any(|k| n.mentions(&statement_index(k, &Poly::default()).atom()));
            if !depends {
                self.same_extents(std::slice::from_ref(own), std::slice::from_ref(n), VerifierRule::Extent);
            }
        }
    }

    /// Returns the facts that hold in the body of a loop, over the sizes of the body: those that
    /// hold here about variables that the loop passes on, the ranges of the batch indices and of
    /// the iteration number, the loop's guard, and the checks that the loop needs.
    pub(super) fn body_region(&self, of: &SsaLoop, needs: &[u32]) -> Region {
        let batch = of.batch.iter().enumerate().map(|(k, n)| statement_index(k, n));
        let batch = batch.flat_map(|i| [Pred::nonneg(&i.value()), Pred::less(&i.value(), &i.extent)]);
        let iteration = of.iteration_number();
        // An iteration exists, so the trip count is positive.
        let trips = of.fixed_trip_count().into_iter();
        let trips = trips.flat_map(|n| [Pred::less(&iteration, n), Pred::less(&Poly::default(), n)]);
        let here = self.region.assumptions.iter().cloned().chain(batch).chain([Pred::nonneg(&iteration)]).chain(trips);
        let checks = needs.iter().filter_map(|k| self.ssa.checks.get(*k as usize));
        let checks = checks.filter(|c| of.batch.starts_with(&c.dims) && c.guard.is_true()).map(|c| c.cond.clone());
        let here = here.chain(std::iter::once(of.pred.clone()).chain(checks).flat_map(|p| p.conjuncts().to_vec()));
        let equations = self.body_integers(of);
        let values = solve(&equations);
        let determined = equations
            .iter()
            .filter(|(here, _)| has_values(here, &values))
            .map(|(here, own)| Pred::equal(own, &here.substitute(&|a| values.get(a).cloned())));
        let assumptions: Vec<Pred> = determined.chain(here.filter_map(|p| translate(&p, &values))).collect();
        let mut facts = FactContext::default();
        assumptions.iter().for_each(|p| facts.assume(p));
        Region { depth: self.region.depth + 1, facts, assumptions, is_closed: self.region.is_closed }
    }

    /// Returns the integers that a loop passes to its body, each with its name there: sizes and
    /// captured scalars.
    fn body_integers(&self, of: &SsaLoop) -> Vec<(Poly, Poly)> {
        let name = |l: LocalId| Poly::atom(of.body.vars.atom(l));
        let sizes = of.sizes.iter().zip(&of.body.sizes).map(|(n, own)| (n.clone(), name(*own)));
        let scalars = of.args.iter().zip(&of.body.inputs).filter_map(|(arg, input)| match arg {
            LoopArg::Captured(of) if input.leaf.dims.is_empty() && input.leaf.scalar == Some(Scalar::I64) => {
                Some((self.integer_definition(of)?, name(input.local)))
            }
            _ => None,
        });
        sizes.chain(scalars).collect()
    }

    /// Checks a loop: its batch, its sizes and its arguments.
    pub(super) fn loop_arguments(&mut self, of: &SsaLoop, stmt: &Statement) {
        let rule = VerifierRule::Loop;
        self.require(stmt.scalar.is_none(), rule, || "a loop has a scalar type".to_owned());
        self.require(stmt.dims == of.batch, rule, || {
            format!("has the extents {}, not its batch {}", print(&stmt.dims), print(&of.batch))
        });
        let body = &of.body;
        self.require(of.sizes.len() == body.sizes.len(), rule, || {
            format!("passes {} sizes for {}", of.sizes.len(), body.sizes.len())
        });
        self.require(of.args.len() == body.inputs.len(), rule, || {
            format!("passes {} arguments for {}", of.args.len(), body.inputs.len())
        });
        for (k, (arg, input)) in of.args.iter().zip(&body.inputs).enumerate() {
            self.argument(arg.access(), &input.leaf, rule);
            if let LoopArg::Carried { next, .. } = arg {
                let Some((leaf, _)) = body.outputs.get(*next as usize) else {
                    self.report(rule, format!("input {k} is carried by output {next}, which does not exist"));
                    continue;
                };
                let same = leaf.scalar == input.leaf.scalar && leaf.dims.len() == input.leaf.dims.len();
                self.require(same, rule, || format!("output {next} has another type than input {k}"));
            }
        }
        if let LoopTripCount::While(k) = of.trip_count {
            let condition = body.inputs.get(k as usize).zip(of.args.get(k as usize));
            let is_condition = condition.is_some_and(|(input, arg)| {
                matches!(arg, LoopArg::Carried { .. })
                    && input.leaf.dims.is_empty()
                    && input.leaf.scalar == Some(Scalar::Bool)
            });
            self.require(is_condition, rule, || format!("input {k} is no carried truth value"));
        }
    }
}

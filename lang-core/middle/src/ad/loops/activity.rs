//! **Activity analysis** for the adjoint of a loop: selects the inputs and outputs of the body that
//! have cotangents. `Differentiator::loop_adjoint` derives the body by them.

use std::collections::{BTreeSet, HashMap};

use super::super::DerivativeValue;
use super::super::adjoint::active_statements;
use super::{LoopResultCotangent, varying_inputs};
use lang_ir::region::{LoopResult, SsaLoop};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, index_number, statement_index};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The cotangents in the adjoint of a loop.
pub(super) struct LoopActivity {
    /// The carried inputs that have cotangents.
    pub(super) carried: Vec<u32>,
    /// The other inputs that have cotangents.
    pub(super) captured: Vec<u32>,
    /// The cotangents of the last values of carried inputs.
    pub(super) final_values: HashMap<u32, DerivativeValue>,
    /// The outputs of every iteration with their cotangents and the supports of these.
    pub(super) per_iteration: Vec<(u32, TensorAccess, Pred)>,
}

impl LoopActivity {
    pub(super) fn for_loop(
        of: &SsaLoop,
        cotangents: &[LoopResultCotangent],
        is_active: &dyn Fn(&TensorAccess) -> bool,
    ) -> Self {
        let varying = varying_inputs(of, is_active);
        let next: HashMap<u32, u32> = of.carried_inputs().collect();
        let mut plan =
            Self { carried: Vec::new(), captured: Vec::new(), final_values: HashMap::new(), per_iteration: Vec::new() };
        let mut outputs = BTreeSet::new();
        for cotangent in cotangents {
            match cotangent.result {
                LoopResult::Final(k) => drop(plan.final_values.insert(k, cotangent.value.clone())),
                LoopResult::PerIteration(k) => {
                    plan.per_iteration.push((k, cotangent.access.clone(), cotangent.value.support.clone()));
                    outputs.insert(k);
                }
                LoopResult::Checkpoint(_) | LoopResult::TripCount => {}
            }
        }
        let mut carried: BTreeSet<u32> = plan.final_values.keys().copied().filter(|k| varying.contains(k)).collect();
        loop {
            outputs.extend(carried.iter().filter_map(|k| next.get(k)));
            let read = active_inputs(&of.body, &outputs, &varying);
            let more: Vec<u32> =
                read.iter().copied().filter(|k| next.contains_key(k) && !carried.contains(k)).collect();
            if more.is_empty() {
                plan.captured = read.into_iter().filter(|k| !next.contains_key(k)).collect();
                break;
            }
            carried.extend(more);
        }
        // An input that the body only passes through keeps its cotangent.
        plan.carried = carried.into_iter().collect();
        plan
    }

    /// Returns the initial support of a carried cotangent, over the sizes of the body. It is true
    /// if the body cannot express it. Terms that the body itself adds are not included.
    pub(super) fn initial_support(&self, of: &SsaLoop, k: u32) -> Pred {
        let Some(last) = self.final_values.get(&k) else { return Pred::falsity() };
        let present = last.support.data_independent_part();
        let sizes: HashMap<&Atom, Poly> = of
            .sizes
            .iter()
            .zip(&of.body.sizes)
            .filter_map(|(outer, inner)| Some((outer.as_atom()?, Poly::atom(of.body.vars.atom(*inner)))))
            .collect();
        let batch = of.batch.len();
        let mut known = true;
        let inside = |p: &Poly, known: &mut bool| {
            p.for_each_atom(&mut |a| {
                *known &= match a {
                    Atom::Local(l, _) => index_number(*l).is_some_and(|k| k >= batch) || sizes.contains_key(a),
                    _ => false,
                };
            });
        };
        present.visit(&mut |p| inside(p, &mut known), &mut |_| {});
        if !known || present.conjuncts().iter().any(|p| matches!(p, Pred::Exists(..))) {
            return Pred::truth();
        }
        present.map(&|p| {
            p.substitute(&|a| match a {
                // Batch indices are sizes of the body, if the body has them.
                Atom::Local(l, _) => match index_number(*l).and_then(|k| k.checked_sub(batch)) {
                    Some(own) => Some(statement_index(own, &Poly::default()).value()),
                    None => sizes.get(a).cloned(),
                },
                _ => None,
            })
        })
    }

    /// Returns the output of the reverse body that is the cotangent of an input.
    pub(super) fn reverse_output(&self, k: u32) -> Option<u32> {
        let at = self.carried.iter().chain(&self.captured).position(|j| *j == k)?;
        u32::try_from(at).ok()
    }
}

/// Returns the inputs, of those that vary, that these outputs depend on as reals.
fn active_inputs(body: &SsaFunction, outputs: &BTreeSet<u32>, varying: &BTreeSet<u32>) -> BTreeSet<u32> {
    let wrt: Vec<u32> = varying.iter().copied().collect();
    let active = active_statements(body, &wrt);
    let is_active = |v: StmtId| active.get(v.0 as usize) == Some(&true);
    let mut open: Vec<StmtId> = outputs.iter().filter_map(|k| body.outputs.get(*k as usize)).map(|(_, v)| *v).collect();
    let (mut seen, mut inputs) = (BTreeSet::new(), BTreeSet::new());
    while let Some(v) = open.pop() {
        let Some(stmt) = body.stmts.get(v.0 as usize).filter(|_| is_active(v)) else { continue };
        if !seen.insert(v) {
            continue;
        }
        if let Rhs::Input(k) = stmt.rhs {
            inputs.insert(k);
        }
        stmt.rhs.for_each_access(&mut |a| open.push(a.var));
        open.extend(stmt.rhs.producer());
    }
    inputs
}

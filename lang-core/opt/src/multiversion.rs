//! **Multiversioning by sizes.** Some statements apply only if a predicate over sizes holds, and
//! others only if it does not. The two modes of a Jacobian are an example. A run needs one kind
//! only. Each case has its own steps, without the statements of the others.
//!
//! `driver` schedules all feasible cases. The executor in `lang_exec` specialises a function to one
//! case when a run first needs it.

use std::collections::HashSet;
use std::sync::Arc;

use super::invariant_axes::eliminate_dead_stmts;
use lang_ir::ssa::{Addend, Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, for_each_poly_read, for_each_pred_read};
use lang_sizes::predicate::{Atom, FactContext, LocalId, Poly, Pred};

/// The maximum number of predicates, because each may double the cases.
const MAX_SIZE_PREDICATES: usize = 4;

/// Returns the predicates over the function's sizes that choose between its statements; none if
/// they exceed the limit.
#[must_use]
pub fn size_predicates(ssa: &SsaFunction) -> Vec<Pred> {
    let mut seen: HashSet<Pred> = HashSet::new();
    let mut order: Vec<Pred> = Vec::new();
    for stmt in &ssa.stmts {
        stmt.rhs.for_each_pred(&mut |p| {
            for part in p.conjuncts().iter().filter(|p| is_size_predicate(ssa, p)) {
                if seen.insert(part.clone()) {
                    order.push(part.clone());
                }
            }
        });
    }
    let mut chosen: Vec<Pred> = Vec::new();
    for p in order {
        let other = p.negated();
        if seen.contains(&other) && !chosen.contains(&other) {
            chosen.push(p);
        }
    }
    if chosen.len() > MAX_SIZE_PREDICATES { Vec::new() } else { chosen }
}

/// Returns whether the predicate depends on the function's sizes alone.
fn is_size_predicate(ssa: &SsaFunction, p: &Pred) -> bool {
    let (mut some, mut other) = (false, false);
    let mut opaque = false;
    p.visit(
        &mut |p| {
            p.for_each_atom(&mut |a| match a {
                Atom::Local(l, _) if ssa.sizes.contains(l) => some = true,
                Atom::Div(..) | Atom::Mod(..) | Atom::Min(..) | Atom::Max(..) => {}
                _ => other = true,
            });
        },
        &mut |_| opaque = true,
    );
    some && !other && !opaque
}

/// Evaluates a predicate over sizes. `None` if a size is unknown.
#[must_use]
pub fn evaluate_size_predicate(p: &Pred, size: &dyn Fn(LocalId) -> Option<i64>) -> Option<bool> {
    let put = p.substitute(&|a: &Atom| match a {
        Atom::Local(l, _) => size(*l).map(|n| Poly::constant(n.into())),
        _ => None,
    });
    (put.is_true() || put.is_false()).then_some(put.is_true())
}

/// Specialises a function to the truth of these predicates. Statements keep their numbers; one that
/// is not needed becomes a zero that nothing reads.
#[must_use]
pub fn specialise(ssa: &SsaFunction, assumptions: &[(Pred, bool)]) -> SsaFunction {
    let mut specialised = ssa.clone();
    let known: Vec<(Pred, Pred, bool)> =
        assumptions.iter().map(|(p, holds)| (p.clone(), p.negated(), *holds)).collect();
    let simpler = |p: &Pred| {
        let part = |q: &Pred| match known.iter().find(|(p, other, _)| p == q || other == q) {
            Some((p, _, holds)) => {
                if (p == q) == *holds {
                    Pred::truth()
                } else {
                    Pred::falsity()
                }
            }
            None => q.clone(),
        };
        Pred::all(p.conjuncts().iter().map(part))
    };
    for stmt in &mut specialised.stmts {
        stmt.rhs = drop_false_terms(stmt.rhs.map(&mut Clone::clone, &Clone::clone, &simpler));
    }
    let is_never_run = |stmt: &Statement| match &stmt.rhs {
        Rhs::Call { pred, .. } => pred.is_false(),
        Rhs::Loop(of) => of.pred.is_false(),
        _ => false,
    };
    let never_run: Vec<bool> = specialised.stmts.iter().map(is_never_run).collect();
    for stmt in &mut specialised.stmts {
        if stmt.rhs.producer().is_some_and(|of| never_run.get(of.0 as usize) == Some(&true)) {
            stmt.rhs = Rhs::Zero;
        }
    }
    for RuntimeCheck { guard, .. } in &mut specialised.checks {
        *guard = simpler(guard);
    }
    eliminate_dead_stmts(&mut specialised, []);
    // Removes the axes of unread zeros, because an executor that runs single statements fills every
    // tensor.
    let mut read: HashSet<StmtId> = specialised.outputs.iter().map(|(_, v)| *v).collect();
    for stmt in &specialised.stmts {
        stmt.rhs.for_each_operand(&mut |v| read.extend([v]));
        stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| read.extend([v])));
    }
    for check in &specialised.checks {
        check.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| read.extend([v])));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| read.extend([v])));
    }
    let unread = (0..).map(StmtId).zip(&mut specialised.stmts).filter(|(v, s)| s.rhs == Rhs::Zero && !read.contains(v));
    unread.for_each(|(_, stmt)| stmt.dims.clear());
    specialised
}

/// Removes the terms whose predicate is false.
fn drop_false_terms(rhs: Rhs) -> Rhs {
    let never = match &rhs {
        Rhs::Add(items) => items.iter().all(|item| item.pred.is_false()),
        Rhs::Contract { pred, .. } | Rhs::Map { pred, .. } => pred.is_false(),
        Rhs::Reduce(r) => r.pred.is_false(),
        Rhs::Argsort(o) => o.pred.is_false(),
        _ => false,
    };
    match rhs {
        _ if never => Rhs::Zero,
        Rhs::Add(items) => Rhs::Add(items.into_iter().filter(|item: &Addend| !item.pred.is_false()).collect()),
        other => other,
    }
}

/// A feasible case: the truth of the predicates, and the function specialised to it.
pub type SizeCase = (Vec<(Pred, bool)>, SsaFunction);

/// Returns all feasible cases, the one for large sizes first; empty for a function without choices.
#[must_use]
pub fn feasible_cases(ssa: &SsaFunction) -> Vec<SizeCase> {
    let choices = size_predicates(ssa);
    let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(Atom::Local(*l, ssa.vars.name(*l)))).collect();
    let mut found: Vec<Vec<(Pred, bool)>> = vec![Vec::new()];
    for p in &choices {
        let both = found.into_iter().flat_map(|assumptions| {
            [true, false].map(|holds| assumptions.iter().cloned().chain([(p.clone(), holds)]).collect::<Vec<_>>())
        });
        found = both.collect();
    }
    let said = |(p, holds): &(Pred, bool)| if *holds { p.clone() } else { p.negated() };
    let mut context = FactContext::new(&sizes);
    found.retain(|assumptions| {
        let mark = context.mark();
        let is = assumptions.iter().map(said).all(|p| {
            let may = !context.refutes(&p);
            context.assume(&p);
            may
        });
        context.release(mark);
        is
    });
    let large = |assumptions: &[(Pred, bool)]| {
        assumptions.iter().all(|(p, is)| evaluate_size_predicate(p, &|_| Some(LARGE_SIZE)) == Some(*is))
    };
    found.sort_by_key(|assumptions| !large(assumptions));
    let size_case = |assumptions: Vec<(Pred, bool)>| {
        let specialised = specialise(ssa, &assumptions);
        (assumptions, specialised)
    };
    if choices.is_empty() { Vec::new() } else { found.into_iter().map(size_case).collect() }
}

/// A size that counts as large.
const LARGE_SIZE: i64 = 1 << 20;

/// Returns the function for each feasible case, with the condition on sizes that selects it. A
/// function without choices is one case, whose condition is true.
#[must_use]
pub fn conditional_cases(ssa: &Arc<SsaFunction>) -> Vec<(Pred, Arc<SsaFunction>)> {
    let cases = feasible_cases(ssa);
    if cases.is_empty() {
        return vec![(Pred::truth(), Arc::clone(ssa))];
    }
    let holding = |(p, holds): &(Pred, bool)| if *holds { p.clone() } else { p.negated() };
    let condition = |assumptions: &[(Pred, bool)]| Pred::all(assumptions.iter().map(holding));
    cases.into_iter().map(|(assumptions, case)| (condition(&assumptions), Arc::new(case))).collect()
}

//! Calls at many points, as of a Jacobian of each element of an array: the statements of what is called stand in the place of
//! the call, so that they share loops and their elements registers. How long a function is to be for that is asked when its form
//! is made, too (`norm/inline.rs`); there it is about texts, which grow with it.

use std::sync::Arc;

use super::fewer::fewer;
use super::inside::Inside;
use super::items::has_reads;
use super::terms::unasked;
use crate::interp::guarded;
use crate::ir::core::Callee;
use crate::ir::ssa::{Access, Rhs, Ssa, Stmt, index};
use crate::predicate::Poly;

/// The forms of what is called.
pub type Callees<'c> = &'c dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// A function is not made longer than this: which statements share loops takes time that grows faster than they do.
const LONGEST: usize = 600;

/// Calls stand in one another no deeper than this.
const DEEPEST: usize = 16;

/// The function with what it calls at many points in the places of the calls, if there is any.
pub(super) fn points(ssa: &Ssa, callees: Callees<'_>) -> Option<Ssa> {
    without_calls(ssa, callees, &|batch| batch > 0, DEEPEST)
}

/// The same of calls at so many indices.
fn without_calls(ssa: &Ssa, callees: Callees<'_>, which: &dyn Fn(u32) -> bool, deepest: usize) -> Option<Ssa> {
    let mut made: Option<Ssa> = None;
    for k in 0..ssa.stmts.len() {
        let now = made.as_ref().unwrap_or(ssa);
        let Some(stmt) = now.stmts.get(k) else { continue };
        if matches!(&stmt.rhs, Rhs::Call { batch, .. } if which(*batch)) {
            made = guarded(|| put(now, stmt, callees, deepest)).or(made);
        }
    }
    made
}

/// The function with what this statement calls in the place of all parts of the call.
fn put(ssa: &Ssa, call: &Stmt, callees: Callees<'_>, deepest: usize) -> Option<Ssa> {
    let Rhs::Call { callee, sizes, pred, args, batch, .. } = &call.rhs else { return None };
    let around = call.dims.get(..*batch as usize)?;
    if around.iter().chain(sizes).any(has_reads) || deepest == 0 {
        return None;
    }
    let body = callees(callee).filter(|body| !body.opaque)?;
    let body = without_calls(&body, callees, &|_| true, deepest - 1).map_or(body, Arc::new);
    let body = unasked(&body).map_or(body, Arc::new);
    let body = fewer(&body).map_or(body, Arc::new);
    if ssa.stmts.len() + body.stmts.len() > LONGEST {
        return None;
    }
    let mut inside = Inside::new(ssa, &body, sizes, around.to_vec());
    inside.pred = pred.clone();
    // Inputs are passed in their order, but for what all can see.
    let mut passed = args.iter();
    let mut inputs: Vec<Option<&Access>> = Vec::new();
    for input in &body.inputs {
        let arg = if input.source.is_passed() { Some(passed.next()?) } else { None };
        if let Some(arg) = arg {
            inside.integer(input, arg)?;
        }
        inputs.push(arg);
    }
    for stmt in &body.stmts {
        let there = match &stmt.rhs {
            Rhs::Input(k) => (*inputs.get(*k as usize)?)?.clone(),
            _ => inside.statement(&body, stmt)?.0,
        };
        inside.put.vars.push(there);
    }
    let mut whole = Vec::new();
    for check in &body.needs {
        whole.push(inside.check(&body, *check)?);
    }
    for k in 0..inside.first {
        let stmt = inside.ssa.stmts.get(k)?;
        let Rhs::Call { callee: other, sizes: of, pred: p, args: given, batch: n, part } = &stmt.rhs else { continue };
        let same = other == callee && of == sizes && p == pred && given == args && n == batch;
        if !same || stmt.dims.get(..*batch as usize) != Some(around) {
            continue;
        }
        let (_, output) = body.outputs.get(*part as usize)?;
        let own = (around.len()..stmt.dims.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let of = inside.put.access_at(*output, own);
        let mut needs = stmt.needs.clone();
        needs.extend(whole.iter().filter(|c| !stmt.needs.contains(c)));
        let rhs = Rhs::Contract { bound: Vec::new(), pred: pred.clone(), neg: false, factors: vec![of] };
        let slot = inside.ssa.stmts.get_mut(k)?;
        slot.rhs = rhs;
        slot.needs = needs;
    }
    Some(inside.ssa)
}

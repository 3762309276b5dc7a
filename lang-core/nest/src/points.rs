//! **Inlining of batched calls**, such as a Jacobian for each element of an array. The callee's
//! statements replace the call, so that they share loops and their elements need no memory.
//! `norm/inline.rs` also limits the length of inlined functions when it builds their form; its
//! limit concerns the size of the text.

use std::collections::HashMap;
use std::sync::Arc;

use super::fewer::fewer;
use super::inside::Inside;
use super::items::has_reads;
use super::terms::unasked;
use lang_base::guarded;
use lang_ir::core::Callee;
use lang_ir::put::Put;
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, for_each_read, index, reads};
use lang_sizes::predicate::{Poly, Pred};

/// Returns the form of a callee.
pub type Callees<'c> = &'c dyn Fn(&Arc<Callee>) -> Option<Arc<Ssa>>;

/// A function is not made longer than this: which statements share loops takes time that grows faster than they do.
const LONGEST: usize = 600;

/// Calls stand in one another no deeper than this.
const DEEPEST: usize = 16;

/// Inlines the batched calls of a function. Returns it, and for each statement the original one
/// that it implements: for an inlined statement its call. `None` if nothing changes.
pub(super) fn points(ssa: &Ssa, callees: Callees<'_>) -> Option<(Ssa, Vec<Var>)> {
    let mut pass = Pass { callees, whole: HashMap::new() };
    let mut made: Option<Ssa> = None;
    let mut made_of: Vec<Var> = (0..).map(Var).take(ssa.stmts.len()).collect();
    for k in (0..).take(ssa.stmts.len()) {
        let now = made.as_ref().unwrap_or(ssa);
        if let Some(stmt) = now.stmts.get(k as usize)
            && matches!(stmt.rhs, Rhs::Call { batch, .. } if batch > 0)
        {
            made = pass.put(now, stmt, DEEPEST).or(made);
            made_of.resize(made.as_ref().map_or(made_of.len(), |made| made.stmts.len()), Var(k));
        }
    }
    Some((made?, made_of))
}

struct Pass<'c> {
    callees: Callees<'c>,
    /// What is called, without calls in it; `None` where it has calls that cannot be put.
    whole: HashMap<Arc<Callee>, Option<Arc<Ssa>>>,
}

impl Pass<'_> {
    /// A function without calls. Found out once: functions call one another in more ways than there are functions.
    fn whole(&mut self, callee: &Arc<Callee>, deepest: usize) -> Option<Arc<Ssa>> {
        if let Some(known) = self.whole.get(callee) {
            return known.clone();
        }
        let made = guarded(|| self.flattened(callee, deepest));
        self.whole.insert(Arc::clone(callee), made.clone());
        made
    }

    fn flattened(&mut self, callee: &Arc<Callee>, deepest: usize) -> Option<Arc<Ssa>> {
        let body = (self.callees)(callee).filter(|body| !body.opaque)?;
        let mut made: Option<Ssa> = None;
        for k in 0..body.stmts.len() {
            let now = made.as_ref().unwrap_or(&body);
            let stmt = now.stmts.get(k)?;
            if matches!(stmt.rhs, Rhs::Call { .. }) {
                made = Some(self.put(now, stmt, deepest)?);
            }
        }
        let body = match made {
            Some(made) => Arc::new(in_order(&made)?.0),
            None => body,
        };
        let body = unasked(&body).map_or(body, Arc::new);
        Some(fewer(&body).map_or(body, Arc::new))
    }

    /// The function with what this statement calls in the place of all parts of the call.
    fn put(&mut self, ssa: &Ssa, call: &Stmt, deepest: usize) -> Option<Ssa> {
        let Rhs::Call { callee, sizes, batch, .. } = &call.rhs else { return None };
        let around = call.dims.get(..*batch as usize)?;
        if around.iter().chain(sizes).any(has_reads) {
            return None;
        }
        let body = self.whole(callee, deepest.checked_sub(1)?)?;
        put(ssa, call, around, &body)
    }
}

/// The function with a body in the place of all parts of a call.
fn put(ssa: &Ssa, call: &Stmt, around: &[Poly], body: &Ssa) -> Option<Ssa> {
    let Rhs::Call { callee, sizes, pred, args, batch, .. } = &call.rhs else { return None };
    if ssa.stmts.len() + body.stmts.len() > LONGEST {
        return None;
    }
    let mut inside = Inside::new(ssa, body, sizes, around.to_vec());
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
            _ => inside.statement(body, stmt)?.0,
        };
        inside.put.vars.push(there);
    }
    let mut whole = Vec::new();
    for check in &body.needs {
        whole.push(inside.check(body, *check)?);
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

/// Sorts the statements of a function so that each follows those that it reads. Returns it, and the
/// old number of each statement.
pub(super) fn in_order(ssa: &Ssa) -> Option<(Ssa, Vec<usize>)> {
    let mut order: Vec<usize> = Vec::new();
    let mut seen = vec![false; ssa.stmts.len()];
    for k in 0..ssa.stmts.len() {
        let mut open = vec![(k, false)];
        while let Some((k, ready)) = open.pop() {
            if ready {
                order.push(k);
                continue;
            }
            if std::mem::replace(seen.get_mut(k)?, true) {
                continue;
            }
            open.push((k, true));
            let stmt = ssa.stmts.get(k)?;
            let mut see = |v: Var| open.push((v.0 as usize, false));
            stmt.rhs.for_each_operand(&mut see);
            stmt.dims.iter().for_each(|n| reads(n, &mut see));
            for check in stmt.needs.iter().filter_map(|c| ssa.checks.get(*c as usize)) {
                check.dims.iter().for_each(|n| reads(n, &mut see));
                [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut see));
            }
        }
    }
    let mut vars: Vec<Access> = vec![Access { var: Var(0), at: Vec::new() }; ssa.stmts.len()];
    for (new, old) in (0..).zip(&order) {
        vars.get_mut(*old)?.var = Var(new);
    }
    let put = Put { locals: HashMap::new(), vars, outer: 0 };
    let (access, poly, pred) = (|a: &Access| put.access(a), |p: &Poly| put.poly(p), |p: &Pred| put.pred(p));
    let mut made = ssa.clone();
    made.stmts.clear();
    for old in &order {
        let stmt = ssa.stmts.get(*old)?;
        let dims = stmt.dims.iter().map(poly).collect();
        made.stmts.push(Stmt { dims, rhs: stmt.rhs.map(&mut |a| access(a), &poly, &pred), ..stmt.clone() });
    }
    for check in &mut made.checks {
        check.dims = check.dims.iter().map(poly).collect();
        (check.guard, check.cond) = (pred(&check.guard), pred(&check.cond));
    }
    for (leaf, var) in &mut made.outputs {
        leaf.dims = leaf.dims.iter().map(poly).collect();
        *var = put.access_at(*var, Vec::new()).var;
    }
    Some((made, order))
}

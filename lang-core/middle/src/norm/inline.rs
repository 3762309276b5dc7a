//! **Inlining and batching of calls** in Tensor SSA. A call is batched over those surrounding
//! indices that its arguments, sizes or predicate depend on, and over no others: the other indices
//! share its result.
//!
//! A small definition is inlined, with the batch indices before its own (DESIGN 2.6). So the size
//! of a function stays linear in its calls, and sparsity survives through small definitions.

use std::collections::HashMap;
use std::sync::Arc;

use lang_ir::core::{Callee, Constant, Leaf, Operation};
use lang_ir::flat::{Input, Source};
use lang_ir::put::Put;
use lang_ir::region::Loop;
use lang_ir::ssa::{self, Access, Addend, Builder, Check, Rhs, Seen, Ssa, Var, index_number};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// The largest number of statements, inputs aside, of a definition that is inlined.
const SMALL: usize = 24;

/// The same limit in a form that shows a reader the callee's statements.
const READABLE: usize = 240;

/// A call in a place.
pub(crate) struct Call<'a> {
    /// The definition.
    pub(crate) callee: &'a Arc<Callee>,
    /// The sizes of the call, over the indices of the place.
    pub(crate) sizes: Vec<Poly>,
    /// The parts of the arguments, each a tensor with the indices of the place before its own.
    pub(crate) args: Vec<Var>,
    /// The extents of the place.
    pub(crate) dims: Vec<Poly>,
    /// The predicate under which the call happens.
    pub(crate) pred: Pred,
    /// The checks of the place.
    pub(crate) needs: Vec<u32>,
}

/// Whether the definition may be inlined, and has at most `most` statements.
fn is_small(ssa: &Ssa, most: usize) -> bool {
    !ssa.opaque && ssa.stmts.iter().filter(|s| !matches!(s.rhs, Rhs::Input(_))).count() <= most
}

/// Adds a call, inlined or not. Returns the parts of its result, with the indices of the place
/// before their own. `globals` makes the caller's input for an input that is a top-level `let`.
pub(crate) fn call(
    builder: &mut Builder,
    call: &Call<'_>,
    ssa: &Ssa,
    globals: &mut dyn FnMut(&mut Builder, &Input) -> Var,
) -> Vec<Var> {
    // Looks through views that only add indices of the place to an argument.
    let seen = call.args.iter().map(|arg| {
        let at: Vec<Poly> = builder.dims(*arg).iter().enumerate().map(|(k, n)| ssa::index(k, n).value()).collect();
        let whole = Access { var: *arg, at };
        match builder.see(&whole) {
            Some(seen) if !seen.neg && seen.needs.is_empty() && builder.implies(&call.dims, &call.pred, &seen.pred) => {
                seen.of
            }
            _ => whole,
        }
    });
    let seen: Vec<Access> = seen.collect();
    let outer = call.dims.len();
    let mut used = vec![false; outer];
    let mut mark = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a
                && let Some(slot) = index_number(*l).and_then(|k| used.get_mut(k))
            {
                *slot = true;
            }
        });
    };
    // Integers that are index expressions stay index expressions, because sizes may depend on them.
    let integers: Vec<Option<Poly>> = call.args.iter().map(|arg| index_value(builder, *arg, call)).collect();
    for (seen, integer) in seen.iter().zip(&integers) {
        integer.iter().chain(seen.at.iter().filter(|_| integer.is_none())).for_each(&mut mark);
    }
    call.sizes.iter().for_each(&mut mark);
    call.pred.visit(&mut mark, &mut |_| {});
    let kept: Vec<usize> = (0..outer).filter(|k| used.get(*k) == Some(&true)).collect();
    let renumber = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?;
                let new = kept.iter().position(|j| *j == k).unwrap_or_else(|| kept.len() + k.saturating_sub(outer));
                Some(ssa::index(new, &Poly::default()).value())
            }
            _ => None,
        })
    };
    let batch: Vec<Poly> = kept.iter().filter_map(|k| call.dims.get(*k)).map(renumber).collect();
    // An empty range evaluates nothing.
    let gone = (0..outer).filter(|k| !kept.contains(k)).filter_map(|k| call.dims.get(k));
    let some = gone.map(|n| Pred::less(&Poly::default(), &renumber(n)));
    let pred = Pred::all(some.chain([call.pred.map(&renumber)]));
    let pred = builder.simplify(&batch, &pred);
    let sizes: Vec<Poly> = call.sizes.iter().map(renumber).collect();
    let args: Vec<Var> = call
        .args
        .iter()
        .zip(seen.iter().zip(&integers))
        .map(|(arg, (seen, integer))| {
            if let Some(p) = integer {
                return builder.index(&batch, &renumber(p));
            }
            let own = builder.dims(*arg).into_iter().skip(outer).map(|n| renumber(&n));
            let dims: Vec<Poly> = batch.iter().cloned().chain(own).collect();
            let of = Access { var: seen.var, at: seen.at.iter().map(renumber).collect() };
            builder.contract(&dims, Vec::new(), &pred, false, &[of], Vec::new())
        })
        .collect();
    // A definition is not inlined if its extents would differ between the calls of the batch.
    let alike = || batch.is_empty() || !have_own(ssa, &locals(builder, ssa, &sizes, &args, &batch, &pred));
    let most = if builder.in_place { READABLE } else { SMALL };
    let parts = if is_small(ssa, most) && alike() {
        inlined(builder, ssa, &sizes, &args, &batch, &pred, &call.needs, globals)
    } else {
        called(builder, call.callee, ssa, &sizes, &args, &batch, &pred, &call.needs)
    };
    // Adds the other indices of the place again.
    parts
        .into_iter()
        .map(|part| {
            let own: Vec<Poly> = builder.dims(part).into_iter().skip(kept.len()).collect();
            let back = |p: &Poly| {
                p.substitute(&|a| match a {
                    Atom::Local(l, _) => {
                        let k = index_number(*l)?;
                        Some(ssa::index(kept.get(k).copied()?, &Poly::default()).value())
                    }
                    _ => None,
                })
            };
            let dims: Vec<Poly> = call.dims.iter().cloned().chain(own.iter().map(back)).collect();
            let first = kept.iter().map(|k| ssa::index(*k, &Poly::default()).value());
            let rest = (0..own.len()).map(|k| ssa::index(outer + k, &Poly::default()).value());
            let of = Access { var: part, at: first.chain(rest).collect() };
            builder.contract(&dims, Vec::new(), &call.pred, false, &[of], Vec::new())
        })
        .collect()
}

/// Returns whether extents of the definition depend on data or on indices of the place. `locals`
/// are the sizes and integers of the call.
fn have_own(ssa: &Ssa, locals: &HashMap<LocalId, Poly>) -> bool {
    let is_own = |a: &Atom| match a {
        Atom::Read(..) => true,
        Atom::Local(l, _) => index_number(*l).is_some(),
        _ => false,
    };
    let has = |n: &Poly, own: &dyn Fn(&Atom) -> bool| {
        let mut found = false;
        n.for_each_atom(&mut |a| found |= own(a));
        found
    };
    let passed = |a: &Atom| matches!(a, Atom::Local(l, _) if locals.get(l).is_some_and(|p| has(p, &is_own)));
    let mut found = false;
    let mut see = |n: &Poly| found |= has(n, &|a| matches!(a, Atom::Read(..)) || passed(a));
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(&mut see);
        match &stmt.rhs {
            Rhs::Contract { bound, .. } | Rhs::Update { bound, .. } => bound.iter().for_each(&mut see),
            Rhs::Reduce(r) => r.bound.iter().for_each(&mut see),
            _ => {}
        }
    }
    found
}

/// Adds a call statement for each part of the result.
#[expect(clippy::too_many_arguments, reason = "the parts of a call")]
fn called(
    builder: &mut Builder,
    callee: &Arc<Callee>,
    ssa: &Ssa,
    sizes: &[Poly],
    args: &[Var],
    batch: &[Poly],
    pred: &Pred,
    needs: &[u32],
) -> Vec<Var> {
    let own: Vec<Poly> = batch.iter().enumerate().map(|(k, n)| ssa::index(k, n).value()).collect();
    let put = Put { locals: locals(builder, ssa, sizes, args, batch, pred), vars: Vec::new(), outer: batch.len() };
    let parts = (0..).zip(&ssa.outputs).map(|(part, (leaf, _))| {
        let args = args.iter().map(|var| Access { var: *var, at: own.clone() }).collect();
        let dims = batch.iter().cloned().chain(leaf.dims.iter().map(|n| put.poly(n))).collect();
        let of = Part { callee: callee.clone(), sizes: sizes.to_vec(), args, batch: batch.len(), part };
        of.push(builder, dims, leaf.scalar, pred, needs)
    });
    parts.collect()
}

/// A part of the result of a call.
struct Part {
    callee: Arc<Callee>,
    sizes: Vec<Poly>,
    args: Vec<Access>,
    batch: usize,
    part: u32,
}

impl Part {
    /// Adds the statement, without indices of the place that nothing in it depends on.
    fn push(self, builder: &mut Builder, dims: Vec<Poly>, scalar: Option<Scalar>, pred: &Pred, needs: &[u32]) -> Var {
        let (outer, pred) = (dims.get(..self.batch).unwrap_or_default(), &builder.asked(pred));
        let args: Vec<Access> = self.args.iter().map(|a| builder.whole_below(a, outer, pred)).collect();
        let used = |k: usize| {
            let atom = ssa::index(k, &Poly::default()).atom();
            pred.mentions(&atom) || self.sizes.iter().chain(args.iter().flat_map(|a| &a.at)).any(|p| p.mentions(&atom))
        };
        let Some(k) = (0..self.batch).find(|k| !used(*k)) else {
            let Self { callee, sizes, batch, part, .. } = self;
            let batch = u32::try_from(batch).unwrap_or(u32::MAX);
            let rhs = Rhs::Call { callee, sizes, pred: pred.clone(), args, batch, part };
            return builder.push(dims, scalar, rhs, needs.to_vec());
        };
        let put = |p: &Poly| ssa::without_index(p, k, &Poly::default());
        let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
        let some = dims.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
        let inner = Self {
            callee: self.callee,
            sizes: self.sizes.iter().map(put).collect(),
            args: args.iter().map(|a| Access { var: a.var, at: a.at.iter().map(put).collect() }).collect(),
            batch: self.batch - 1,
            part: self.part,
        };
        let var = inner.push(builder, rest, scalar, &some.and(&pred.map(&put)), needs);
        let at = (0..dims.len()).filter(|j| *j != k).map(|j| ssa::index(j, &Poly::default()).value()).collect();
        builder.contract(&dims, Vec::new(), &Pred::truth(), false, &[Access { var, at }], Vec::new())
    }
}

/// Adds the statements of a definition, with the indices of a place before their own.
#[expect(clippy::too_many_arguments, reason = "the parts of a call")]
fn inlined(
    builder: &mut Builder,
    ssa: &Ssa,
    sizes: &[Poly],
    args: &[Var],
    batch: &[Poly],
    pred: &Pred,
    needs: &[u32],
    globals: &mut dyn FnMut(&mut Builder, &Input) -> Var,
) -> Vec<Var> {
    let mut put = Put { locals: locals(builder, ssa, sizes, args, batch, pred), vars: Vec::new(), outer: batch.len() };
    // A value either varies with the indices of the place, or is shared by all of them.
    let batched = put.around();
    let batched = |var: Var| Access { var, at: batched.clone() };
    let shared = |var: Var| Access { var, at: Vec::new() };
    let params = ssa.inputs.iter().enumerate().filter(|(_, i)| i.source.is_passed());
    let places: HashMap<usize, usize> = params.enumerate().map(|(nth, (k, _))| (k, nth)).collect();
    let mut checks = vec![None; ssa.checks.len()];
    let linear = linear(ssa);
    let (call, inlined) = (builder.trace.now(), builder.trace.callee(&ssa.callee));
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        builder.trace.inline(inlined, Var(k));
        let dims: Vec<Poly> = batch.iter().cloned().chain(stmt.dims.iter().map(|n| put.poly(n))).collect();
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let mut all = needs.to_vec();
        for c in &stmt.needs {
            all.push(check(builder, ssa, &put, batch, pred, *c, &mut checks));
        }
        let place = match &stmt.rhs {
            Rhs::Input(k) => match places.get(&(*k as usize)).and_then(|nth| args.get(*nth)) {
                Some(arg) => batched(*arg),
                None => match ssa.inputs.get(*k as usize) {
                    Some(input) => shared(globals(builder, input)),
                    None => shared(builder.zero(&dims, scalar)),
                },
            },
            Rhs::Constant(c) => shared(builder.constant(*c, scalar)),
            Rhs::Zero => batched(builder.zero(&dims, scalar)),
            Rhs::Index(p) => batched(builder.index(&dims, &put.poly(p))),
            Rhs::Add(items) => {
                let terms: Vec<Addend> = items
                    .iter()
                    .map(|a| Addend { neg: a.neg, pred: pred.and(&put.pred(&a.pred)), of: put.access(&a.of) })
                    .collect();
                batched(builder.add(&dims, scalar, &terms, all))
            }
            Rhs::Contract { bound, pred: own, neg, factors } => {
                let bound = bound.iter().map(|n| put.poly(n)).collect();
                let factors: Vec<Access> = factors.iter().map(|a| put.access(a)).collect();
                batched(builder.contract(&dims, bound, &pred.and(&put.pred(own)), *neg, &factors, all))
            }
            Rhs::Reduce(r) => {
                let mut r = r.map(&|p| put.poly(p), &|p| put.pred(p), &mut |a| put.access(a));
                r.pred = pred.and(&r.pred);
                batched(builder.reduce(&dims, scalar, r, all))
            }
            Rhs::Order(o) => {
                let mut o = o.map(&|p| put.pred(p), &mut |a| put.access(a));
                o.pred = pred.and(&o.pred);
                batched(builder.order(&dims, o, all))
            }
            Rhs::Map { operation, pred: own, args } => {
                let places: Vec<Access> = args.iter().map(|a| put.access(a)).collect();
                let mut pred = pred.and(&put.pred(own));
                // Where a tangent is a structural zero, so is every value that is linear in it
                // (`ad::partial`).
                if let ([a, ..], [place, ..]) = (args.as_slice(), places.as_slice())
                    && matches!(operation, Operation::Binary(BinOp::Div) | Operation::Convert(_))
                    && linear.get(a.var.0 as usize) == Some(&true)
                {
                    pred = pred.and(&builder.support(place));
                }
                batched(builder.map(&dims, scalar, *operation, &pred, &places, all))
            }
            Rhs::Call { callee, sizes, pred: own, args, batch: inner, part } => {
                let of = Part {
                    callee: callee.clone(),
                    sizes: sizes.iter().map(|p| put.poly(p)).collect(),
                    args: args.iter().map(|a| put.access(a)).collect(),
                    batch: *inner as usize + batch.len(),
                    part: *part,
                };
                batched(of.push(builder, dims, stmt.scalar, &pred.and(&put.pred(own)), &all))
            }
            Rhs::Loop(of, part) => {
                let inner = of.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| pred.and(&put.pred(p)));
                let batch = batch.iter().cloned().chain(inner.batch).collect();
                let inner = Loop { batch, ..inner };
                batched(builder.looped(&dims, scalar, &Arc::new(inner), *part, all))
            }
            Rhs::Update { base, batch: inner, bound, pred: own, at, value, add } => {
                let outer = u32::try_from(batch.len()).unwrap_or(u32::MAX);
                let of = Rhs::Update {
                    base: put.access(base),
                    batch: outer + inner,
                    bound: bound.iter().map(|n| put.poly(n)).collect(),
                    pred: pred.and(&put.pred(own)),
                    at: at.iter().map(|p| put.poly(p)).collect(),
                    value: put.access(value),
                    add: *add,
                };
                batched(builder.update(&dims, scalar, of, all))
            }
        };
        put.vars.push(place);
    }
    builder.trace.back(call);
    let mut asserted = needs.to_vec();
    for c in &ssa.needs {
        asserted.push(check(builder, ssa, &put, batch, pred, *c, &mut checks));
    }
    let outputs = ssa.outputs.iter().map(|(leaf, v)| {
        let own: Vec<Poly> = leaf.dims.iter().map(|n| put.poly(n)).collect();
        let dims: Vec<Poly> = batch.iter().cloned().chain(own).collect();
        let at = (batch.len()..dims.len()).map(|k| ssa::index(k, &Poly::default()).value()).collect();
        let of = put.access_at(*v, at);
        builder.contract(&dims, Vec::new(), pred, false, &[of], asserted.clone())
    });
    outputs.collect()
}

/// Returns which statements are linear in tangents or cotangents, and so are zero where these are.
fn linear(ssa: &Ssa) -> Vec<bool> {
    let mut linear: Vec<bool> = Vec::new();
    for stmt in &ssa.stmts {
        let of = |a: &Access| linear.get(a.var.0 as usize) == Some(&true);
        linear.push(match &stmt.rhs {
            Rhs::Input(k) => {
                let source = ssa.inputs.get(*k as usize).map(|i| &i.source);
                matches!(source, Some(Source::Tangent(_) | Source::Cotangent(_)))
            }
            Rhs::Add(items) => items.iter().all(|a| of(&a.of)),
            Rhs::Contract { factors, .. } => factors.iter().any(of),
            Rhs::Map { operation: Operation::Binary(BinOp::Div) | Operation::Convert(_), args, .. } => {
                args.first().is_some_and(of)
            }
            Rhs::Update { base, value, .. } => of(base) && of(value),
            Rhs::Map { .. }
            | Rhs::Call { .. }
            | Rhs::Loop(..)
            | Rhs::Constant(_)
            | Rhs::Zero
            | Rhs::Index(_)
            | Rhs::Reduce(_)
            | Rhs::Order(_) => false,
        });
    }
    linear
}

/// Adds a check of the definition at its call.
fn check(
    builder: &mut Builder,
    ssa: &Ssa,
    put: &Put,
    batch: &[Poly],
    pred: &Pred,
    c: u32,
    known: &mut [Option<u32>],
) -> u32 {
    if let Some(Some(check)) = known.get(c as usize) {
        return *check;
    }
    let Some(own) = ssa.checks.get(c as usize) else { return u32::MAX };
    let dims = batch.iter().cloned().chain(own.dims.iter().map(|n| put.poly(n))).collect();
    let new = builder.check(Check {
        dims,
        guard: pred.and(&put.pred(&own.guard)),
        cond: put.pred(&own.cond),
        what: own.what.clone(),
    });
    if let Some(slot) = known.get_mut(c as usize) {
        *slot = Some(new);
    }
    new
}

/// Returns the sizes and integer parameters of a definition at its call.
fn locals(
    builder: &Builder,
    ssa: &Ssa,
    sizes: &[Poly],
    args: &[Var],
    batch: &[Poly],
    pred: &Pred,
) -> HashMap<LocalId, Poly> {
    let mut locals: HashMap<LocalId, Poly> = ssa.sizes.iter().copied().zip(sizes.iter().cloned()).collect();
    let params = ssa.inputs.iter().filter(|i| i.source.is_passed());
    for (input, arg) in params.zip(args) {
        let Input { local, leaf: Leaf { dims, scalar: Some(Scalar::I64), .. }, .. } = input else {
            continue;
        };
        if !dims.is_empty() {
            continue;
        }
        let at: Vec<Poly> = (0..batch.len()).map(|k| ssa::index(k, &Poly::default()).value()).collect();
        locals.insert(*local, integer(builder, batch, pred, &Access { var: *arg, at }));
    }
    locals
}

/// Returns the index expression that an integer argument equals, if it is one.
fn index_value(builder: &Builder, arg: Var, call: &Call<'_>) -> Option<Poly> {
    let stmt = builder.get(arg).filter(|s| s.scalar == Some(Scalar::I64) && s.dims.len() == call.dims.len())?;
    let at: Vec<Poly> = stmt.dims.iter().enumerate().map(|(k, n)| ssa::index(k, n).value()).collect();
    let shown = |seen: &Seen| !seen.neg && builder.implies(&call.dims, &call.pred, &seen.pred);
    let seen = builder.see(&Access { var: arg, at }).filter(shown)?;
    match &builder.get(seen.of.var)?.rhs {
        Rhs::Index(p) => Some(ssa::at_indices(p, &seen.of.at)),
        Rhs::Constant(Constant::Int(i)) => Some(Poly::constant((*i).into())),
        _ => None,
    }
}

/// Returns an integer as a polynomial over indices of these extents, valid where the predicate
/// holds.
pub(crate) fn integer(builder: &Builder, dims: &[Poly], pred: &Pred, of: &Access) -> Poly {
    let seen = match builder.see(of) {
        Some(seen) if !seen.neg && seen.needs.is_empty() && builder.implies(dims, pred, &seen.pred) => seen.of,
        _ => of.clone(),
    };
    match builder.get(seen.var).map(|s| &s.rhs) {
        Some(Rhs::Index(p)) => ssa::at_indices(p, &seen.at),
        Some(Rhs::Constant(Constant::Int(i))) => Poly::constant((*i).into()),
        _ => Poly::atom(Atom::Read(seen.var.local(), seen.var.name(), seen.at.into())),
    }
}

//! **Inlining and batching of calls** in Tensor SSA. A call is batched over those surrounding
//! indices that its arguments, sizes or predicate depend on, and over no others: the other indices
//! share its result.
//!
//! A small definition is inlined, with the batch indices before its own (DESIGN 2.6). So the size
//! of a function stays linear in its calls, and sparsity survives through small definitions.

use std::collections::HashMap;
use std::sync::Arc;

use lang_base::check_cancelled;
use lang_ir::core::{Constant, FunctionKey, ScalarOp, TypeLeaf};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::inline_map::InlineMap;
use lang_ir::region::SsaLoop;
use lang_ir::ssa::{
    self, Addend, Producer, ResolvedAccess, Rhs, RuntimeCheck, SsaBuilder, SsaFunction, StmtId, TensorAccess,
    index_number,
};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// The largest number of statements with elements, inputs aside, of a definition that is inlined.
const MAX_INLINE_STATEMENTS: usize = 24;

/// The same limit in a form that shows a reader the callee's statements.
const MAX_EAGER_INLINE_STATEMENTS: usize = 240;

/// A call in a place.
pub struct BatchedCall<'a> {
    /// The definition.
    pub callee: &'a Arc<FunctionKey>,
    /// The sizes of the call, over the indices of the place.
    pub sizes: Vec<Poly>,
    /// The parts of the arguments, each a tensor with the indices of the place before its own.
    pub args: Vec<StmtId>,
    /// The extents of the place.
    pub dims: Vec<Poly>,
    /// The predicate under which the call happens.
    pub pred: Pred,
    /// The checks of the place.
    pub needs: Vec<u32>,
}

/// Whether the definition may be inlined, and has at most `most` statements with elements.
fn is_inlinable(ssa: &SsaFunction, most: usize) -> bool {
    let counts = |rhs: &Rhs| !matches!(rhs, Rhs::Input(_)) && !rhs.is_producer();
    !ssa.is_opaque && ssa.stmts.iter().filter(|s| counts(&s.rhs)).count() <= most
}

/// Adds a call, inlined or not. Returns the parts of its result, with the indices of the place
/// before their own. `globals` makes the caller's input for an input that is a top-level `let`.
pub fn add_call(
    builder: &mut SsaBuilder,
    call: &BatchedCall<'_>,
    ssa: &SsaFunction,
    globals: &mut dyn FnMut(&mut SsaBuilder, &FunctionInput) -> StmtId,
) -> Vec<StmtId> {
    // Looks through views that only add indices of the place to an argument.
    let seen = call.args.iter().map(|arg| {
        let at: Vec<Poly> =
            builder.dims(*arg).iter().enumerate().map(|(k, n)| ssa::statement_index(k, n).value()).collect();
        let whole = TensorAccess { var: *arg, at };
        match builder.read_through_views(&whole) {
            Some(seen) if !seen.neg && seen.needs.is_empty() && builder.implies(&call.dims, &call.pred, &seen.pred) => {
                seen.access
            }
            _ => whole,
        }
    });
    let seen: Vec<TensorAccess> = seen.collect();
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
    let integers: Vec<Option<Poly>> = call.args.iter().map(|arg| integer_argument_index(builder, *arg, call)).collect();
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
                Some(ssa::statement_index(new, &Poly::default()).value())
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
    let args: Vec<StmtId> = call
        .args
        .iter()
        .zip(seen.iter().zip(&integers))
        .map(|(arg, (seen, integer))| {
            if let Some(p) = integer {
                return builder.index(&batch, &renumber(p));
            }
            let own = builder.dims(*arg).into_iter().skip(outer).map(|n| renumber(&n));
            let dims: Vec<Poly> = batch.iter().cloned().chain(own).collect();
            let of = TensorAccess { var: seen.var, at: seen.at.iter().map(renumber).collect() };
            builder.contract(&dims, Vec::new(), &pred, false, &[of], Vec::new())
        })
        .collect();
    // A definition is not inlined if its extents would differ between the calls of the batch.
    let alike =
        || batch.is_empty() || !has_varying_extents(ssa, &callee_locals(builder, ssa, &sizes, &args, &batch, &pred));
    let most = if builder.inlines_eagerly { MAX_EAGER_INLINE_STATEMENTS } else { MAX_INLINE_STATEMENTS };
    let parts = if is_inlinable(ssa, most) && alike() {
        inline_body(builder, ssa, &sizes, &args, &batch, &pred, &call.needs, globals)
    } else {
        add_call_statements(builder, call.callee, ssa, &sizes, &args, &batch, &pred, &call.needs)
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
                        Some(ssa::statement_index(kept.get(k).copied()?, &Poly::default()).value())
                    }
                    _ => None,
                })
            };
            let dims: Vec<Poly> = call.dims.iter().cloned().chain(own.iter().map(back)).collect();
            let first = kept.iter().map(|k| ssa::statement_index(*k, &Poly::default()).value());
            let rest = (0..own.len()).map(|k| ssa::statement_index(outer + k, &Poly::default()).value());
            let of = TensorAccess { var: part, at: first.chain(rest).collect() };
            builder.contract(&dims, Vec::new(), &call.pred, false, &[of], Vec::new())
        })
        .collect()
}

/// Returns whether extents of the definition depend on data or on indices of the place. `locals`
/// are the sizes and integers of the call.
fn has_varying_extents(ssa: &SsaFunction, locals: &HashMap<LocalId, Poly>) -> bool {
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

/// Adds a call and a statement for each part of its result.
#[expect(clippy::too_many_arguments, reason = "the parts of a call")]
fn add_call_statements(
    builder: &mut SsaBuilder,
    callee: &Arc<FunctionKey>,
    ssa: &SsaFunction,
    sizes: &[Poly],
    args: &[StmtId],
    batch: &[Poly],
    pred: &Pred,
    needs: &[u32],
) -> Vec<StmtId> {
    let own: Vec<Poly> = batch.iter().enumerate().map(|(k, n)| ssa::statement_index(k, n).value()).collect();
    let put = InlineMap {
        locals: callee_locals(builder, ssa, sizes, args, batch, pred),
        vars: Vec::new(),
        outer_rank: batch.len(),
    };
    let args = args.iter().map(|var| TensorAccess { var: *var, at: own.clone() }).collect();
    let call = UnaddedCall { callee: callee.clone(), sizes: sizes.to_vec(), args, batch: batch.to_vec() };
    let producer = call.push_unbatched(builder, pred, needs);
    let results = (0..).zip(&ssa.outputs).map(|(k, (leaf, _))| {
        let dims: Vec<Poly> = batch.iter().cloned().chain(leaf.dims.iter().map(|n| put.map_poly(n))).collect();
        builder.result(&producer, &dims, leaf.scalar, |of| Rhs::CallResult(of, k))
    });
    results.collect()
}

/// A call before it is a statement.
struct UnaddedCall {
    callee: Arc<FunctionKey>,
    sizes: Vec<Poly>,
    args: Vec<TensorAccess>,
    batch: Vec<Poly>,
}

impl UnaddedCall {
    /// Adds the call, without indices of the place that nothing in it depends on.
    fn push_unbatched(self, builder: &mut SsaBuilder, pred: &Pred, needs: &[u32]) -> Producer {
        let pred = &builder.resolve_pred_reads(pred);
        let args: Vec<TensorAccess> =
            self.args.iter().map(|a| builder.subarray_through_views(a, &self.batch, pred)).collect();
        let used = |k: usize| {
            let atom = ssa::statement_index(k, &Poly::default()).atom();
            pred.mentions(&atom) || self.sizes.iter().chain(args.iter().flat_map(|a| &a.at)).any(|p| p.mentions(&atom))
        };
        let Some(k) = (0..self.batch.len()).find(|k| !used(*k)) else {
            let Self { callee, sizes, batch, .. } = self;
            return builder.add_call(batch, Rhs::Call { callee, sizes, pred: pred.clone(), args }, needs.to_vec());
        };
        let put = |p: &Poly| ssa::eliminate_index(p, k, &Poly::default());
        let some = self.batch.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
        let inner = Self {
            callee: self.callee,
            sizes: self.sizes.iter().map(put).collect(),
            args: args.iter().map(|a| TensorAccess { var: a.var, at: a.at.iter().map(put).collect() }).collect(),
            batch: ssa::without_axis(&self.batch, k),
        };
        inner.push_unbatched(builder, &some.and(&pred.map(&put)), needs).without_index(k)
    }
}

/// Adds the statements of a definition, with the indices of a place before their own.
#[expect(clippy::too_many_arguments, reason = "the parts of a call")]
fn inline_body(
    builder: &mut SsaBuilder,
    ssa: &SsaFunction,
    sizes: &[Poly],
    args: &[StmtId],
    batch: &[Poly],
    pred: &Pred,
    needs: &[u32],
    globals: &mut dyn FnMut(&mut SsaBuilder, &FunctionInput) -> StmtId,
) -> Vec<StmtId> {
    let mut put = InlineMap {
        locals: callee_locals(builder, ssa, sizes, args, batch, pred),
        vars: Vec::new(),
        outer_rank: batch.len(),
    };
    // A value either varies with the indices of the place, or is shared by all of them.
    let batched = put.outer_indices();
    let batched = |var: StmtId| TensorAccess { var, at: batched.clone() };
    let shared = |var: StmtId| TensorAccess { var, at: Vec::new() };
    let params = ssa.inputs.iter().enumerate().filter(|(_, i)| i.source.is_passed());
    let places: HashMap<usize, usize> = params.enumerate().map(|(nth, (k, _))| (k, nth)).collect();
    let mut checks = vec![None; ssa.checks.len()];
    let mut producers: HashMap<StmtId, Producer> = HashMap::new();
    let linear = linear_statements(ssa);
    let (call, inlined) = (builder.trace.current_origin(), builder.trace.register_callee(&ssa.callee));
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        check_cancelled();
        builder.trace.enter_inlined(inlined, StmtId(k));
        let dims: Vec<Poly> = batch.iter().cloned().chain(stmt.dims.iter().map(|n| put.map_poly(n))).collect();
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let mut all = needs.to_vec();
        for c in &stmt.needs {
            all.push(inline_check(builder, ssa, &put, batch, pred, *c, &mut checks));
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
            Rhs::Index(p) => batched(builder.index(&dims, &put.map_poly(p))),
            Rhs::Add(items) => {
                let terms: Vec<Addend> = items
                    .iter()
                    .map(|a| Addend {
                        neg: a.neg,
                        pred: pred.and(&put.map_pred(&a.pred)),
                        operand: put.map_access(&a.operand),
                    })
                    .collect();
                batched(builder.add(&dims, scalar, &terms, all))
            }
            Rhs::Contract { bound, pred: own, neg, factors } => {
                let bound = bound.iter().map(|n| put.map_poly(n)).collect();
                let factors: Vec<TensorAccess> = factors.iter().map(|a| put.map_access(a)).collect();
                batched(builder.contract(&dims, bound, &pred.and(&put.map_pred(own)), *neg, &factors, all))
            }
            Rhs::Reduce(r) => {
                let mut r = r.map(&|p| put.map_poly(p), &|p| put.map_pred(p), &mut |a| put.map_access(a));
                r.pred = pred.and(&r.pred);
                batched(builder.reduce(&dims, scalar, r, all))
            }
            Rhs::Argsort(o) => {
                let mut o = o.map(&|p| put.map_pred(p), &mut |a| put.map_access(a));
                o.pred = pred.and(&o.pred);
                batched(builder.argsort(&dims, o, all))
            }
            Rhs::Map { operation, pred: own, args } => {
                let places: Vec<TensorAccess> = args.iter().map(|a| put.map_access(a)).collect();
                let mut pred = pred.and(&put.map_pred(own));
                // Where a tangent is a structural zero, so is every value that is linear in it
                // (`ad::partial`).
                if let ([a, ..], [place, ..]) = (args.as_slice(), places.as_slice())
                    && matches!(operation, ScalarOp::Binary(BinOp::Div) | ScalarOp::Convert(_))
                    && linear.get(a.var.0 as usize) == Some(&true)
                {
                    pred = pred.and(&builder.support(place));
                }
                batched(builder.map(&dims, scalar, *operation, &pred, &places, all))
            }
            // Only the results of a call or a loop read its statement.
            Rhs::Call { callee, sizes, pred: own, args } => {
                let call = UnaddedCall {
                    callee: callee.clone(),
                    sizes: sizes.iter().map(|p| put.map_poly(p)).collect(),
                    args: args.iter().map(|a| put.map_access(a)).collect(),
                    batch: dims,
                };
                let own = pred.and(&put.map_pred(own));
                producers.insert(StmtId(k), call.push_unbatched(builder, &own, &all));
                shared(StmtId(k))
            }
            Rhs::Loop(of) => {
                let inner = of.map(&mut |a| put.map_access(a), &|p| put.map_poly(p), &|p| pred.and(&put.map_pred(p)));
                let inner = SsaLoop { batch: dims, ..inner };
                producers.insert(StmtId(k), builder.add_loop(&Arc::new(inner), all));
                shared(StmtId(k))
            }
            Rhs::CallResult(producer, output) => match producers.get(producer) {
                Some(of) => batched(builder.result(of, &dims, stmt.scalar, |of| Rhs::CallResult(of, *output))),
                None => batched(builder.zero(&dims, scalar)),
            },
            Rhs::LoopResult(producer, result) => match producers.get(producer) {
                Some(of) => batched(builder.result(of, &dims, stmt.scalar, |of| Rhs::LoopResult(of, *result))),
                None => batched(builder.zero(&dims, scalar)),
            },
            Rhs::Update { base, batch: inner, bound, pred: own, at, value, accumulate: add } => {
                let outer = u32::try_from(batch.len()).unwrap_or(u32::MAX);
                let of = Rhs::Update {
                    base: put.map_access(base),
                    batch: outer + inner,
                    bound: bound.iter().map(|n| put.map_poly(n)).collect(),
                    pred: pred.and(&put.map_pred(own)),
                    at: at.iter().map(|p| put.map_poly(p)).collect(),
                    value: put.map_access(value),
                    accumulate: *add,
                };
                batched(builder.update(&dims, scalar, of, all))
            }
        };
        put.vars.push(place);
    }
    builder.trace.restore(call);
    let mut asserted = needs.to_vec();
    for c in &ssa.needs {
        asserted.push(inline_check(builder, ssa, &put, batch, pred, *c, &mut checks));
    }
    let outputs = ssa.outputs.iter().map(|(leaf, v)| {
        let own: Vec<Poly> = leaf.dims.iter().map(|n| put.map_poly(n)).collect();
        let dims: Vec<Poly> = batch.iter().cloned().chain(own).collect();
        let at = (batch.len()..dims.len()).map(|k| ssa::statement_index(k, &Poly::default()).value()).collect();
        let of = put.map_access_at(*v, at);
        builder.contract(&dims, Vec::new(), pred, false, &[of], asserted.clone())
    });
    outputs.collect()
}

/// Returns which statements are linear in tangents or cotangents, and so are zero where these are.
fn linear_statements(ssa: &SsaFunction) -> Vec<bool> {
    let mut linear: Vec<bool> = Vec::new();
    for stmt in &ssa.stmts {
        let of = |a: &TensorAccess| linear.get(a.var.0 as usize) == Some(&true);
        linear.push(match &stmt.rhs {
            Rhs::Input(k) => {
                let source = ssa.inputs.get(*k as usize).map(|i| &i.source);
                matches!(source, Some(InputSource::Tangent(_) | InputSource::Cotangent(_)))
            }
            Rhs::Add(items) => items.iter().all(|a| of(&a.operand)),
            Rhs::Contract { factors, .. } => factors.iter().any(of),
            Rhs::Map { operation: ScalarOp::Binary(BinOp::Div) | ScalarOp::Convert(_), args, .. } => {
                args.first().is_some_and(of)
            }
            Rhs::Update { base, value, .. } => of(base) && of(value),
            Rhs::Map { .. }
            | Rhs::Call { .. }
            | Rhs::CallResult(..)
            | Rhs::Loop(_)
            | Rhs::LoopResult(..)
            | Rhs::Constant(_)
            | Rhs::Zero
            | Rhs::Index(_)
            | Rhs::Reduce(_)
            | Rhs::Argsort(_) => false,
        });
    }
    linear
}

/// Adds a check of the definition at its call.
fn inline_check(
    builder: &mut SsaBuilder,
    ssa: &SsaFunction,
    put: &InlineMap,
    batch: &[Poly],
    pred: &Pred,
    c: u32,
    known: &mut [Option<u32>],
) -> u32 {
    if let Some(Some(check)) = known.get(c as usize) {
        return *check;
    }
    let Some(own) = ssa.checks.get(c as usize) else { return u32::MAX };
    let dims = batch.iter().cloned().chain(own.dims.iter().map(|n| put.map_poly(n))).collect();
    let new = builder.check(RuntimeCheck {
        dims,
        guard: pred.and(&put.map_pred(&own.guard)),
        cond: put.map_pred(&own.cond),
        failure: own.failure.clone(),
    });
    if let Some(slot) = known.get_mut(c as usize) {
        *slot = Some(new);
    }
    new
}

/// Returns the sizes and integer parameters of a definition at its call.
fn callee_locals(
    builder: &SsaBuilder,
    ssa: &SsaFunction,
    sizes: &[Poly],
    args: &[StmtId],
    batch: &[Poly],
    pred: &Pred,
) -> HashMap<LocalId, Poly> {
    let mut locals: HashMap<LocalId, Poly> = ssa.sizes.iter().copied().zip(sizes.iter().cloned()).collect();
    let params = ssa.inputs.iter().filter(|i| i.source.is_passed());
    for (input, arg) in params.zip(args) {
        let FunctionInput { local, leaf: TypeLeaf { dims, scalar: Some(Scalar::I64), .. }, .. } = input else {
            continue;
        };
        if !dims.is_empty() {
            continue;
        }
        let at: Vec<Poly> = (0..batch.len()).map(|k| ssa::statement_index(k, &Poly::default()).value()).collect();
        locals.insert(*local, integer_poly(builder, batch, pred, &TensorAccess { var: *arg, at }));
    }
    locals
}

/// Returns the index expression that an integer argument equals, if it is one.
fn integer_argument_index(builder: &SsaBuilder, arg: StmtId, call: &BatchedCall<'_>) -> Option<Poly> {
    let stmt = builder.get(arg).filter(|s| s.scalar == Some(Scalar::I64) && s.dims.len() == call.dims.len())?;
    let at: Vec<Poly> = stmt.dims.iter().enumerate().map(|(k, n)| ssa::statement_index(k, n).value()).collect();
    let shown = |seen: &ResolvedAccess| !seen.neg && builder.implies(&call.dims, &call.pred, &seen.pred);
    let seen = builder.read_through_views(&TensorAccess { var: arg, at }).filter(shown)?;
    match &builder.get(seen.access.var)?.rhs {
        Rhs::Index(p) => Some(ssa::substitute_indices(p, &seen.access.at)),
        Rhs::Constant(Constant::Int(i)) => Some(Poly::constant((*i).into())),
        _ => None,
    }
}

/// Returns an integer as a polynomial over indices of these extents, valid where the predicate
/// holds.
pub fn integer_poly(builder: &SsaBuilder, dims: &[Poly], pred: &Pred, of: &TensorAccess) -> Poly {
    let seen = match builder.read_through_views(of) {
        Some(seen) if !seen.neg && seen.needs.is_empty() && builder.implies(dims, pred, &seen.pred) => seen.access,
        _ => of.clone(),
    };
    match builder.get(seen.var).map(|s| &s.rhs) {
        Some(Rhs::Index(p)) => ssa::substitute_indices(p, &seen.at),
        Some(Rhs::Constant(Constant::Int(i))) => Poly::constant((*i).into()),
        _ => Poly::atom(Atom::Read(seen.var.local(), seen.var.name(), seen.at.into())),
    }
}

//! **Conversion to Tensor SSA** (ATL Figs. 11 and 12), from flat core. It is the last pass of
//! normalisation. Enclosing generations and brackets are carried down as a context `⊞ i: [p] · _`,
//! and reach every operation as its own indices and predicate. The builder of [`lang_ir::ssa`]
//! brings each statement to solved form.
//!
//! (5.29) drops the predicate in print; this pass keeps it. Nested sums are one contraction, as
//! Fig. 6 counts them, and a product in a sum becomes its factors (5.32 and 5.34 at once).

use std::collections::HashMap;
use std::sync::Arc;

use super::rule_coverage::RuleCoverage;
use lang_base::ensure_sufficient_stack;
use lang_base::{Name, check_cancelled};
use lang_ir::argsort::Argsort;
use lang_ir::core::{
    self, CheckFailure, CoreExpr, CoreLoop, CoreUpdate, ExprKind, ExprRef, FunctionKey, TypeLeaf, Vars,
};
use lang_ir::flat::{FlatFunction, FunctionInput, InputSource};
use lang_ir::origin::{OriginKind, OriginTable};
use lang_ir::reduce::{CoreReduction, SsaReduction};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{self, Addend, Rhs, RuntimeCheck, SsaBuilder, SsaFunction, Statement, StmtId, TensorAccess};
use lang_opt::inline::{self, BatchedCall};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The names under which rules are counted.
pub const RULES: &[&str] =
    &["5.25", "5.26", "5.27", "5.28", "5.29", "5.30", "5.31", "5.32", "5.33", "5.34", REDUCTION, ORDER];

/// The rule for a reduction other than a sum, which the paper lacks.
const REDUCTION: &str = "reduction";

/// The rule for positions in sorted order.
const ORDER: &str = "sort";

/// A resolver from a callee to its definition in Tensor SSA.
pub type DefinitionLookup<'a> = &'a dyn Fn(&Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

/// Returns the function in Tensor SSA, and the origins of its statements. The function must be
/// pushed out.
#[must_use]
pub fn to_ssa(
    flat: &FlatFunction,
    callees: DefinitionLookup<'_>,
    in_place: bool,
    hits: &mut RuleCoverage,
) -> (SsaFunction, OriginTable) {
    let own = |l: &LocalId| Poly::atom(flat.vars.atom(*l));
    let mut pass = SsaConverter {
        builder: SsaBuilder::new(flat.sizes.iter().map(own).collect()),
        env: HashMap::new(),
        callees,
        vars: flat.vars.clone(),
        inputs: flat.inputs.clone(),
        converted_call: None,
        hits,
    };
    pass.builder.inlines_eagerly = in_place;
    pass.builder.trace.enter(OriginKind::Input);
    for (k, input) in (0..).zip(&flat.inputs) {
        // An extent may be an integer input that precedes this one.
        let dims: Vec<Poly> = input.leaf.dims.iter().map(|n| pass.poly(&ConversionContext::default(), n)).collect();
        if let Some(own) = pass.inputs.get_mut(k as usize) {
            own.leaf.dims.clone_from(&dims);
        }
        let var = pass.builder.push(dims, input.leaf.scalar, Rhs::Input(k), Vec::new());
        pass.set_name(var, flat.vars.source_name(input.local));
        pass.env.insert(input.local, var);
    }
    let mut asserted = Vec::new();
    let top = ConversionContext::default();
    for (x, e) in &flat.bindings {
        if e.ty.leaves().is_empty() {
            pass.convert_assertion(&top, e, &mut asserted);
            continue;
        }
        pass.hits.count("5.25");
        let var = pass.convert(&top, e);
        pass.set_name(var, flat.vars.source_name(*x));
        pass.env.insert(*x, var);
    }
    let outputs = flat.outputs.iter().map(|(leaf, e)| {
        let var = pass.convert(&top, e);
        let dims = leaf.dims.iter().map(|n| pass.poly(&top, n)).collect();
        (TypeLeaf { dims, ..leaf.clone() }, var)
    });
    let outputs = outputs.collect();
    let trace = pass.builder.trace;
    let mut ssa = SsaFunction {
        callee: flat.callee.clone(),
        vars: pass.vars,
        sizes: flat.sizes.clone(),
        bounded: flat.bounded.clone(),
        params: flat.params.clone(),
        inputs: pass.inputs,
        stmts: pass.builder.stmts,
        checks: pass.builder.checks,
        needs: asserted,
        is_opaque: false,
        outputs,
        result: flat.result.clone(),
    };
    let fates = lang_opt::dce::eliminate_dead_code(&mut ssa);
    (ssa, trace.finish(&fates))
}

/// The context of an expression.
#[derive(Clone, PartialEq, Default)]
struct ConversionContext {
    /// The enclosing generations, outermost first.
    indices: Vec<Index>,
    /// The enclosing brackets, over statements and canonical indices.
    pred: Pred,
    /// The enclosing checks.
    needs: Vec<u32>,
}

/// A call or a loop, and the parts of its result in a place.
struct ConvertedCall {
    call: ExprRef,
    place: ConversionContext,
    parts: Vec<StmtId>,
}

struct SsaConverter<'a> {
    builder: SsaBuilder,
    env: HashMap<LocalId, StmtId>,
    callees: DefinitionLookup<'a>,
    vars: Vars,
    inputs: Vec<FunctionInput>,
    /// The last converted call.
    converted_call: Option<ConvertedCall>,
    hits: &'a mut RuleCoverage,
}

impl SsaConverter<'_> {
    fn set_name(&mut self, var: StmtId, name: Option<Name>) {
        if let Some(Statement { name: slot @ None, .. }) = self.builder.stmts.get_mut(var.0 as usize) {
            *slot = name;
        }
    }

    /// Converts `⊞ place: e`.
    fn convert(&mut self, place: &ConversionContext, e: &ExprRef) -> StmtId {
        check_cancelled();
        let before = self.builder.trace.enter_source(e.span);
        let var = ensure_sufficient_stack(|| self.convert_node(place, e));
        self.builder.trace.record_result(var);
        self.builder.trace.restore(before);
        var
    }

    fn convert_node(&mut self, place: &ConversionContext, e: &ExprRef) -> StmtId {
        let dims = self.dims(place);
        let scalar = e.ty.split_array().1.scalar().unwrap_or(Scalar::F64);
        match &e.kind {
            ExprKind::Gen(index, body) => {
                self.hits.count("5.27");
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                self.convert(&inner, body)
            }
            ExprKind::Guard(p, body) => {
                self.hits.count("5.28");
                let mut inner = place.clone();
                inner.pred = inner.pred.and(&self.pred(place, p));
                self.convert(&inner, body)
            }
            ExprKind::Check(p, what, body) => {
                let cond = self.pred(place, p);
                let mut inner = place.clone();
                inner.needs.push(self.add_check(place, cond, what));
                self.convert(&inner, body)
            }
            ExprKind::Constant(c) => {
                self.hits.count("5.29");
                let var = self.builder.constant(*c, scalar);
                let of = TensorAccess { var, at: Vec::new() };
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &[of], Vec::new())
            }
            ExprKind::Index(p) => {
                let p = self.poly(place, p);
                let var = self.builder.index(&dims, &p);
                let mut reads = false;
                ssa::for_each_poly_read(&p, &mut |_| reads = true);
                // An expression of indices alone cannot fail.
                let needs = if reads { place.needs.clone() } else { Vec::new() };
                let of = TensorAccess { var, at: self.canonical_indices(place) };
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &[of], needs)
            }
            ExprKind::Var(_) | ExprKind::Access(..) | ExprKind::Proj(..) => self.convert_element(place, e),
            ExprKind::Add(items) => {
                self.hits.count("5.31");
                let (mut terms, mut needs) = (Vec::new(), place.needs.clone());
                for item in items {
                    let (mut inner, mut neg, mut item) = (place.clone(), false, item);
                    // The sum takes over the sign, the bracket and the check of a term.
                    loop {
                        match &item.kind {
                            ExprKind::Neg(e) => {
                                neg = !neg;
                                item = e;
                            }
                            ExprKind::Guard(p, e) => {
                                inner.pred = inner.pred.and(&self.pred(place, p));
                                item = e;
                            }
                            ExprKind::Check(p, what, e) => {
                                let cond = self.pred(place, p);
                                let check = self.add_check(&inner, cond, what);
                                inner.needs.push(check);
                                needs.push(check);
                                item = e;
                            }
                            _ => break,
                        }
                    }
                    let var = self.convert(&inner, item);
                    let of = TensorAccess { var, at: self.canonical_indices(place) };
                    terms.push(Addend { neg, pred: inner.pred, operand: of });
                }
                self.builder.add(&dims, scalar, &terms, needs)
            }
            ExprKind::Mul(a, b) => {
                self.hits.count("5.32");
                let factors = [a, b].map(|e| self.convert(place, e));
                let factors = factors.map(|var| TensorAccess { var, at: self.canonical_indices(place) });
                self.builder.contract(&dims, Vec::new(), &place.pred, false, &factors, place.needs.clone())
            }
            ExprKind::Neg(a) => {
                let var = self.convert(place, a);
                let at = self.canonical_indices(place);
                self.view(place, TensorAccess { var, at }, true)
            }
            ExprKind::Apply(operation, args) => {
                self.hits.count("5.33");
                let vars: Vec<StmtId> = args.iter().map(|e| self.convert(place, e)).collect();
                let args: Vec<TensorAccess> =
                    vars.into_iter().map(|var| TensorAccess { var, at: self.canonical_indices(place) }).collect();
                self.builder.map(&dims, scalar, *operation, &place.pred, &args, place.needs.clone())
            }
            ExprKind::Sum(..) => self.convert_sum(place, e),
            ExprKind::Reduce(r) => self.convert_reduction(place, r, scalar),
            ExprKind::Argsort(index, body) => {
                self.hits.count(ORDER);
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                let var = self.convert(&inner, body);
                let of = TensorAccess { var, at: self.canonical_indices(&inner) };
                let order = Argsort { pred: place.pred.clone(), keys: of };
                self.builder.argsort(&self.dims(&inner), order, place.needs.clone())
            }
            // Earlier passes leave no tuples, `let`s, globals or bare calls, so the last case does
            // not occur.
            ExprKind::Update(update, base, value) => self.convert_update(place, update, base, value, scalar),
            ExprKind::Tuple(_) | ExprKind::Let(..) | ExprKind::Global(_) | ExprKind::Call(..) | ExprKind::Loop(..) => {
                self.builder.zero(&dims, scalar)
            }
        }
    }

    /// Converts `Σ i: [p] · Σ j: [q] · a · b` to one contraction.
    fn convert_sum(&mut self, place: &ConversionContext, e: &ExprRef) -> StmtId {
        self.hits.count("5.34");
        let (mut inner, mut bound, mut neg, mut body) = (place.clone(), Vec::new(), false, e);
        loop {
            match &body.kind {
                ExprKind::Sum(index, e) => {
                    bound.push(self.poly(&inner, &index.extent));
                    inner.indices.push(index.clone());
                    body = e;
                }
                ExprKind::Guard(p, e) => {
                    inner.pred = inner.pred.and(&self.pred(&inner, p));
                    body = e;
                }
                ExprKind::Check(p, what, e) => {
                    let cond = self.pred(&inner, p);
                    let check = self.add_check(&inner, cond, what);
                    inner.needs.push(check);
                    body = e;
                }
                ExprKind::Neg(e) => {
                    neg = !neg;
                    body = e;
                }
                _ => break,
            }
        }
        let factors = match &body.kind {
            ExprKind::Mul(a, b) => {
                self.hits.count("5.32");
                vec![a, b]
            }
            _ => vec![body],
        };
        let vars: Vec<StmtId> = factors.into_iter().map(|e| self.convert(&inner, e)).collect();
        let factors: Vec<TensorAccess> =
            vars.into_iter().map(|var| TensorAccess { var, at: self.canonical_indices(&inner) }).collect();
        let dims = self.dims(place);
        self.builder.contract(&dims, bound, &inner.pred, neg, &factors, inner.needs.clone())
    }

    /// Converts `max i if p: e`: the terms become a tensor, and the reduction reads its elements.
    fn convert_reduction(&mut self, place: &ConversionContext, r: &CoreReduction, scalar: Scalar) -> StmtId {
        self.hits.count(REDUCTION);
        let bound = r.indices.iter().map(|i| self.poly(place, &i.extent)).collect();
        let mut inner = place.clone();
        inner.indices.extend(r.indices.iter().cloned());
        let terms = self.pred(&inner, &r.filter);
        inner.pred = inner.pred.and(&terms);
        let var = self.convert(&inner, &r.body);
        let of = TensorAccess { var, at: self.canonical_indices(&inner) };
        let (pred, chosen) = (place.pred.clone(), self.poly(&inner, &r.arg_value));
        let reduce = SsaReduction { reducer: r.reducer, bound, pred, filter: terms, arg_value: chosen, operand: of };
        self.builder.reduce(&self.dims(place), scalar, reduce, place.needs.clone())
    }

    /// Converts `x[a…]`, including the remaining whole axes, or a part of the result of a call.
    fn convert_element(&mut self, place: &ConversionContext, e: &CoreExpr) -> StmtId {
        self.hits.count("5.30");
        let mut at = Vec::new();
        let mut base = e;
        while let ExprKind::Access(inner, p) = &base.kind {
            at.push(self.poly(place, p));
            base = inner;
        }
        at.reverse();
        let var = match &base.kind {
            ExprKind::Var(x) => self.env.get(x).copied(),
            ExprKind::Proj(call, part) => {
                at = self.canonical_indices(place).into_iter().chain(at).collect();
                self.call_part(place, call, *part)
            }
            _ => None,
        };
        let Some(var) = var else {
            let dims = self.dims(place);
            return self.builder.zero(&dims, Scalar::F64);
        };
        let rest: Vec<Poly> = self.builder.dims(var).into_iter().skip(at.len()).collect();
        let mut place = place.clone();
        for n in rest {
            let k = place.indices.len();
            let index = ssa::statement_index(k, &n);
            at.push(index.value());
            place.indices.push(index);
        }
        self.hits.count("5.26");
        self.view(&place, TensorAccess { var, at }, false)
    }

    /// Returns a part of the result of a call or a loop, with the indices of the place before its
    /// own. A call whose parts are read in one place is converted once.
    fn call_part(&mut self, place: &ConversionContext, call: &ExprRef, part: u32) -> Option<StmtId> {
        let converted = |c: &ConvertedCall| Arc::ptr_eq(&c.call, call) && c.place == *place;
        if !self.converted_call.as_ref().is_some_and(converted) {
            let parts = match &call.kind {
                ExprKind::Loop(repeat, args) => self.convert_loop(place, call, repeat, args)?,
                _ => self.convert_call(place, call)?,
            };
            self.converted_call = Some(ConvertedCall { call: Arc::clone(call), place: place.clone(), parts });
        }
        self.converted_call.as_ref()?.parts.get(part as usize).copied()
    }

    /// Converts a call. Returns the parts of its result, with the indices of the place before their
    /// own.
    fn convert_call(&mut self, place: &ConversionContext, call: &CoreExpr) -> Option<Vec<StmtId>> {
        let ExprKind::Call(callee, sizes, args) = &call.kind else { return None };
        let ssa = (self.callees)(callee)?;
        let args: Vec<StmtId> = args.iter().map(|e| self.convert(place, e)).collect();
        let sizes = sizes.iter().map(|p| self.poly(place, p)).collect();
        let (dims, pred, needs) = (self.dims(place), place.pred.clone(), place.needs.clone());
        let call = BatchedCall { callee, sizes, args, dims, pred, needs };
        let (vars, inputs) = (&mut self.vars, &mut self.inputs);
        Some(inline::add_call(&mut self.builder, &call, &ssa, &mut |builder, global| {
            global_input(builder, vars, inputs, global)
        }))
    }

    /// Converts a loop. Returns the parts of its result, with the indices of the place before their
    /// own.
    fn convert_loop(
        &mut self,
        place: &ConversionContext,
        call: &CoreExpr,
        repeat: &CoreLoop,
        args: &[ExprRef],
    ) -> Option<Vec<StmtId>> {
        let body = (self.callees)(&repeat.body)?;
        let leaves = call.ty.leaves();
        let carried = leaves.iter().filter(|leaf| leaf.path.first() == Some(&0)).count();
        let captured_count = args.len().checked_sub(carried)?;
        let (batch, own) = (self.dims(place), self.canonical_indices(place));
        // The checks of this place apply to the loop, not to its arguments.
        let around = ConversionContext { needs: Vec::new(), ..place.clone() };
        let mut passed = Vec::new();
        for e in args {
            let var = self.convert(&around, e);
            let of = TensorAccess { var, at: own.clone() };
            passed.push(self.builder.subarray_through_views(&of, &batch, &place.pred));
        }
        let mut passed = passed.into_iter().enumerate();
        let mut all = Vec::new();
        for input in &body.inputs {
            if !input.source.is_passed() {
                let var = global_input(&mut self.builder, &mut self.vars, &mut self.inputs, input);
                all.push(LoopArg::Captured(TensorAccess { var, at: Vec::new() }));
                continue;
            }
            let (k, of) = passed.next()?;
            all.push(match k.checked_sub(captured_count) {
                None => LoopArg::Captured(of),
                Some(next) => LoopArg::Carried { init: of, next: u32::try_from(next).ok()? },
            });
        }
        let first = all.iter().position(|a| matches!(a, LoopArg::Carried { .. })).and_then(|k| u32::try_from(k).ok());
        let mut inside = place.clone();
        inside.indices.push(repeat.counter.clone());
        let of = SsaLoop {
            pred: place.pred.clone(),
            trip_count: match &repeat.trip_count {
                core::CoreTripCount::Fixed(n) => LoopTripCount::Fixed(self.poly(place, n)),
                core::CoreTripCount::While => LoopTripCount::While(first?),
            },
            checkpoint: repeat.checkpoint.as_ref().map(|s| s.map(|k| self.poly(place, k))),
            sizes: repeat.sizes.iter().map(|p| self.poly(&inside, p)).collect(),
            args: all,
            body: Arc::new((*body).clone().into_region()),
            batch,
        };
        let of = Arc::new(lang_opt::loop_pruning::sliced(&self.builder, &of));
        let producer = self.builder.add_loop(&of, place.needs.clone());
        let mut results = Vec::new();
        for (part, leaf) in (0..).zip(&leaves) {
            let extents = leaf.dims.iter().map(|n| self.poly(place, n));
            let dims: Vec<Poly> = of.batch.iter().cloned().chain(extents).collect();
            let result = match leaf.path.first()? {
                0 => LoopResult::Final(first? + part),
                1 => LoopResult::PerIteration(part),
                _ => LoopResult::TripCount,
            };
            results.push(self.builder.result(&producer, &dims, leaf.scalar, |of| Rhs::LoopResult(of, result)));
        }
        Some(results)
    }

    /// Converts an update of an array, for every tuple of indices of the place.
    fn convert_update(
        &mut self,
        place: &ConversionContext,
        update: &CoreUpdate,
        base: &ExprRef,
        value: &ExprRef,
        scalar: Scalar,
    ) -> StmtId {
        let (base, value) = (self.convert(place, base), self.convert(place, value));
        let dims = self.builder.dims(base);
        let (outer, own) = (place.indices.len(), self.canonical_indices(place));
        // The indices of the written value follow those of the array. Then follow those of the axes
        // below.
        let below: Vec<Poly> = dims.iter().skip(outer + update.at.len()).cloned().collect();
        let bound: Vec<Poly> = update.indices.iter().map(|i| self.poly(place, &i.extent)).chain(below).collect();
        let free = dims.len();
        let put = |this: &Self, p: &Poly| {
            let p = p.substitute(&|a| {
                let k = update.indices.iter().position(|i| i.atom() == *a)?;
                Some(ssa::statement_index(free + k, &Poly::default()).value())
            });
            this.poly(place, &p)
        };
        let index = |k: usize| ssa::statement_index(free + k, &Poly::default()).value();
        let mut at: Vec<Poly> = update.at.iter().map(|p| put(self, p)).collect();
        at.extend((update.indices.len()..bound.len()).map(index));
        let of = Rhs::Update {
            base: TensorAccess { var: base, at: own.clone() },
            batch: u32::try_from(outer).unwrap_or(u32::MAX),
            pred: place.pred.and(&self.pred(place, &update.pred)),
            at,
            value: TensorAccess { var: value, at: own.into_iter().chain((0..bound.len()).map(index)).collect() },
            accumulate: update.accumulate,
            bound,
        };
        self.builder.update(&dims, scalar, of, place.needs.clone())
    }

    fn view(&mut self, place: &ConversionContext, of: TensorAccess, neg: bool) -> StmtId {
        let dims = self.dims(place);
        self.builder.contract(&dims, Vec::new(), &place.pred, neg, &[of], place.needs.clone())
    }

    fn add_check(&mut self, place: &ConversionContext, cond: Pred, what: &Arc<CheckFailure>) -> u32 {
        let dims = self.dims(place);
        self.builder.check(RuntimeCheck { dims, guard: place.pred.clone(), cond, failure: what.clone() })
    }

    /// Converts an assertion. Its checks belong to the function.
    fn convert_assertion(&mut self, place: &ConversionContext, e: &ExprRef, checks: &mut Vec<u32>) {
        ensure_sufficient_stack(|| match &e.kind {
            ExprKind::Gen(index, body) => {
                let mut inner = place.clone();
                inner.indices.push(index.clone());
                self.convert_assertion(&inner, body, checks);
            }
            ExprKind::Guard(p, body) => {
                let mut inner = place.clone();
                inner.pred = inner.pred.and(&self.pred(place, p));
                self.convert_assertion(&inner, body, checks);
            }
            ExprKind::Check(p, what, body) => {
                let cond = self.pred(place, p);
                checks.push(self.add_check(place, cond, what));
                self.convert_assertion(place, body, checks);
            }
            _ => {}
        });
    }

    // ---- indices ----

    /// Returns the extents of the enclosing generations.
    fn dims(&self, place: &ConversionContext) -> Vec<Poly> {
        place.indices.iter().map(|i| self.poly(place, &i.extent)).collect()
    }

    /// Returns the canonical indices of a place.
    fn canonical_indices(&self, place: &ConversionContext) -> Vec<Poly> {
        (0..place.indices.len()).map(|k| ssa::statement_index(k, &Poly::default()).value()).collect()
    }

    fn poly(&self, place: &ConversionContext, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = place.indices.iter().rposition(|i| i.local == *l)?;
                Some(ssa::statement_index(k, &Poly::default()).value())
            }
            Atom::Read(x, _, at) => {
                let var = self.env.get(x)?;
                let at = at.iter().map(|p| self.poly(place, p)).collect();
                let of = self.see_through(TensorAccess { var: *var, at });
                Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
            }
            _ => None,
        })
    }

    fn pred(&self, place: &ConversionContext, p: &Pred) -> Pred {
        let p = p.map(&|p| self.poly(place, p)).replace_opaque(&|x| {
            let var = self.env.get(&x.source)?;
            if !x.is_array {
                return Some(Pred::Member(var.local(), var.name(), x.indices.into(), true));
            }
            let of = self.see_through(TensorAccess { var: *var, at: x.indices.to_vec() });
            Some(Pred::Element(of.var.local(), of.var.name(), of.at.into(), true))
        });
        // This is the form that predicates of statements have, so that the builder can prove them.
        self.builder.resolve_pred_reads(&p)
    }

    /// Looks through views that hide nothing, for an access that is read as data.
    fn see_through(&self, of: TensorAccess) -> TensorAccess {
        match self.builder.read_through_views(&of) {
            Some(seen) if seen.pred.is_true() && !seen.neg && seen.needs.is_empty() => seen.access,
            _ => of,
        }
    }
}

/// Returns the input for a part of a top-level `let`, and adds it if it is new.
pub(crate) fn global_input(
    builder: &mut SsaBuilder,
    vars: &mut Vars,
    inputs: &mut Vec<FunctionInput>,
    global: &FunctionInput,
) -> StmtId {
    let same = |i: &FunctionInput| i.source == global.source && i.leaf.path == global.leaf.path;
    let at = inputs.iter().position(same).unwrap_or_else(|| {
        let name = match &global.source {
            InputSource::Global(name) => name.name.clone(),
            InputSource::Param(_) | InputSource::Tangent(_) | InputSource::Cotangent(_) => Name::default(),
        };
        inputs.push(FunctionInput { local: vars.fresh(name), ..global.clone() });
        inputs.len() - 1
    });
    let k = u32::try_from(at).unwrap_or(u32::MAX);
    builder.push(global.leaf.dims.clone(), global.leaf.scalar, Rhs::Input(k), Vec::new())
}

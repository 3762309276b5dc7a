//! **Builder of Tensor SSA** in solved form. Equal statements are shared, and views are read
//! through. Indices that an equation determines are eliminated, and values that do not depend on an
//! index are computed without it. `norm` and `ad` build functions with it.

mod add;
mod predicate_reads;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::core::{Constant, ScalarOp};
use crate::origin::{OriginKind, OriginRecorder, VALUE};
use crate::region::{LoopResult, SsaLoop};
use crate::ssa::{
    Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, index_number, statement_index, union_of_checks,
};
use crate::value::{self, IrValue};
use lang_base::check_cancelled;
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The key for sharing statements: extents, scalar type, right-hand side, checks.
type StatementKey = (Vec<Poly>, Option<Scalar>, Rhs, Vec<u32>);

/// A call or a loop that a builder has added.
#[derive(Clone, Debug)]
pub struct Producer {
    /// Its statement.
    statement: StmtId,
    /// The batch indices that it does not have because nothing in it depends on them, in the order
    /// of their removal.
    removed: Vec<usize>,
}

impl Producer {
    /// Returns the producer for a batch with one more index, on which nothing in it depends.
    #[must_use]
    pub fn without_index(mut self, k: usize) -> Self {
        self.removed.insert(0, k);
        self
    }
}

/// Returns extents without the axis `k`.
#[must_use]
pub fn without_axis(dims: &[Poly], k: usize) -> Vec<Poly> {
    let others = dims.iter().enumerate().filter(|(j, _)| *j != k);
    others.map(|(_, n)| eliminate_index(n, k, &Poly::default())).collect()
}

/// Builds statements in solved form and shares equal ones.
#[derive(Default, Debug)]
pub struct SsaBuilder {
    /// The statements so far.
    pub stmts: Vec<Statement>,
    /// The checks so far.
    pub checks: Vec<RuntimeCheck>,
    /// The origins of the statements.
    pub trace: OriginRecorder,
    /// Whether it builds the body of a loop. There, a sum that adds to few elements of an array
    /// becomes an update of the array.
    pub is_region: bool,
    /// Whether larger definitions than usual are inlined.
    pub inlines_eagerly: bool,
    /// The sizes, which are never negative.
    sizes: Vec<Poly>,
    statement_cache: HashMap<StatementKey, StmtId>,
    /// Memoised simplifications, because the same predicates recur often.
    simplify_cache: RefCell<HashMap<(Vec<Poly>, Pred), Pred>>,
}

/// An element as its reader sees it, after reading through views.
#[derive(Clone, Debug)]
pub struct ResolvedAccess {
    /// The domain; the element is zero elsewhere.
    pub pred: Pred,
    /// Whether the element is negated.
    pub neg: bool,
    /// The element that the views show.
    pub access: TensorAccess,
    /// The checks that the views need.
    pub needs: Vec<u32>,
}

impl SsaBuilder {
    /// Creates an empty builder over these sizes.
    #[must_use]
    pub fn new(sizes: Vec<Poly>) -> Self {
        Self { sizes, ..Self::default() }
    }

    /// Creates a builder that continues a function.
    #[must_use]
    pub fn continuing(ssa: &SsaFunction) -> Self {
        let sizes = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let mut builder = Self { checks: ssa.checks.clone(), ..Self::new(sizes) };
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let key = (stmt.dims.clone(), stmt.scalar, stmt.rhs.clone(), stmt.needs.clone());
            builder.statement_cache.entry(key).or_insert(StmtId(k));
            builder.stmts.push(stmt.clone());
            builder.trace.enter(OriginKind::PrimalStatement(StmtId(k), VALUE));
            builder.trace.record_intermediate(StmtId(k));
        }
        builder
    }

    /// Returns a statement.
    #[must_use]
    pub fn get(&self, var: StmtId) -> Option<&Statement> {
        self.stmts.get(var.0 as usize)
    }

    /// Returns the extents of a statement.
    #[must_use]
    pub fn dims(&self, var: StmtId) -> Vec<Poly> {
        self.get(var).map(|s| s.dims.clone()).unwrap_or_default()
    }

    /// Returns the scalar type of a statement.
    #[must_use]
    pub fn scalar(&self, var: StmtId) -> Scalar {
        self.get(var).and_then(|s| s.scalar).unwrap_or(Scalar::F64)
    }

    /// Returns the checks of a statement and of its producer.
    pub(crate) fn needs_of(&self, var: StmtId) -> Vec<u32> {
        let Some(stmt) = self.get(var) else { return Vec::new() };
        let producer = stmt.rhs.producer().and_then(|producer| self.get(producer));
        producer.map_or_else(|| stmt.needs.clone(), |producer| union_of_checks(&stmt.needs, &producer.needs))
    }

    /// Returns the facts about indices in their ranges.
    #[must_use]
    pub fn context(&self, dims: &[Poly]) -> FactContext {
        let mut context = FactContext::new(&self.sizes);
        dims.iter().enumerate().for_each(|(k, n)| context.assume_in_range(&statement_index(k, n)));
        context
    }

    /// Removes from a predicate the parts that follow from the ranges of indices.
    #[must_use]
    pub fn simplify(&self, dims: &[Poly], pred: &Pred) -> Pred {
        if pred.is_true() || pred.is_false() {
            return pred.clone();
        }
        let key = (dims.to_vec(), pred.clone());
        if let Some(known) = self.simplify_cache.borrow().get(&key) {
            return known.clone();
        }
        check_cancelled();
        let simplified = self.context_with_positions(dims, pred).simplify(pred);
        let mut known = self.simplify_cache.borrow_mut();
        known.insert((key.0.clone(), simplified.clone()), simplified.clone());
        known.insert(key, simplified.clone());
        simplified
    }

    /// Whether `pred` follows from `hypothesis` and the ranges of indices.
    #[must_use]
    pub fn implies(&self, dims: &[Poly], hypothesis: &Pred, pred: &Pred) -> bool {
        if pred.is_true() || hypothesis == pred {
            return true;
        }
        let mut context = self.context_with_positions(dims, pred);
        context.assume(hypothesis);
        context.implies(pred)
    }

    /// Adds a statement, or returns the existing equal one.
    pub fn push(&mut self, dims: Vec<Poly>, scalar: Option<Scalar>, rhs: Rhs, mut needs: Vec<u32>) -> StmtId {
        needs.sort_unstable();
        needs.dedup();
        let key = (dims, scalar, rhs, needs);
        if let Some(var) = self.statement_cache.get(&key) {
            self.trace.record_intermediate(*var);
            return *var;
        }
        let var = StmtId(u32::try_from(self.stmts.len()).unwrap_or(u32::MAX));
        let (dims, _, rhs, needs) = key.clone();
        self.stmts.push(Statement { dims, scalar, rhs, needs, name: None });
        self.statement_cache.insert(key, var);
        self.trace.record_intermediate(var);
        var
    }

    /// Adds a check, or returns the number of the existing equal one.
    pub fn check(&mut self, check: RuntimeCheck) -> u32 {
        let found = self.checks.iter().position(|c| *c == check);
        let at = found.unwrap_or_else(|| {
            self.checks.push(check);
            self.checks.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Builds a tensor of zeros.
    pub fn zero(&mut self, dims: &[Poly], scalar: Scalar) -> StmtId {
        self.push(dims.to_vec(), Some(scalar), Rhs::Zero, Vec::new())
    }

    /// Builds a tensor of zeros that keeps the checks that fail in every run. A value that cannot
    /// be computed must not become zero because none of its terms remains.
    pub(super) fn zero_keeping_failures(&mut self, dims: &[Poly], scalar: Scalar, mut needs: Vec<u32>) -> StmtId {
        needs.retain(|k| {
            let check = self.checks.get(*k as usize);
            let refuted = |c: &RuntimeCheck| c.guard.is_true() && self.simplify(&c.dims, &c.cond).is_false();
            check.is_some_and(refuted)
        });
        self.push(dims.to_vec(), Some(scalar), Rhs::Zero, needs)
    }

    /// Builds a constant.
    pub fn constant(&mut self, c: Constant, scalar: Scalar) -> StmtId {
        self.push(Vec::new(), Some(scalar), Rhs::Constant(c), Vec::new())
    }

    /// Builds the value of an index expression.
    pub fn index(&mut self, dims: &[Poly], p: &Poly) -> StmtId {
        let Some(c) = p.as_constant().and_then(|c| i64::try_from(c).ok()) else {
            return self.push(dims.to_vec(), Some(Scalar::I64), Rhs::Index(p.clone()), Vec::new());
        };
        let var = self.constant(Constant::Int(c), Scalar::I64);
        self.contract(dims, Vec::new(), &Pred::truth(), false, &[TensorAccess { var, at: Vec::new() }], Vec::new())
    }

    /// Reads an element through views. Returns `None` if it is zero.
    #[must_use]
    pub fn read_through_views(&self, of: &TensorAccess) -> Option<ResolvedAccess> {
        let itself = || ResolvedAccess { pred: Pred::truth(), neg: false, access: of.clone(), needs: Vec::new() };
        let Some(stmt) = self.get(of.var) else { return Some(itself()) };
        match &stmt.rhs {
            Rhs::Zero if stmt.needs.is_empty() => None,
            Rhs::Contract { bound, pred, neg, factors } if bound.is_empty() => {
                let ([factor], true) = (factors.as_slice(), of.at.len() == stmt.dims.len()) else {
                    return Some(itself());
                };
                let put = |p: &Poly| substitute_indices(p, &of.at);
                let at = factor.at.iter().map(put).collect();
                let of = TensorAccess { var: factor.var, at };
                Some(ResolvedAccess { pred: pred.map(&put), neg: *neg, access: of, needs: stmt.needs.clone() })
            }
            _ => Some(itself()),
        }
    }

    /// `± Σ s: [p] · X₀[a₀] · X₁[a₁]`. Factors are read through views, and bound indices that an
    /// equation determines are eliminated. If equations pin indices of the result, only the rest is
    /// computed, and a view reads it.
    pub fn contract(
        &mut self,
        dims: &[Poly],
        bound: Vec<Poly>,
        pred: &Pred,
        neg: bool,
        factors: &[TensorAccess],
        mut needs: Vec<u32>,
    ) -> StmtId {
        let scalar = factors.first().map_or(Scalar::F64, |f| self.scalar(f.var));
        let (mut pred, mut neg, mut bound) = (self.resolve_pred_reads(pred), neg, bound);
        let mut seen = Vec::new();
        for factor in factors {
            let Some(inner) = self.read_through_views(factor) else {
                return self.zero_keeping_failures(dims, scalar, needs);
            };
            pred = pred.and(&inner.pred);
            neg ^= inner.neg;
            needs.extend(inner.needs);
            seen.push(inner.access);
        }
        // A factor of one is dropped.
        if let [a, b] = seen.as_slice() {
            match (self.is_one(a), self.is_one(b)) {
                (true, _) => seen = vec![b.clone()],
                (_, true) => seen = vec![a.clone()],
                _ => {}
            }
        }
        let simplify = |this: &Self, bound: &[Poly], pred: &Pred| {
            let all: Vec<Poly> = dims.iter().chain(bound).cloned().collect();
            this.simplify(&all, pred)
        };
        pred = simplify(self, &bound, &pred);
        while let Some((k, value)) = solve_bound_index(dims.len(), &bound, &pred) {
            let Some(extent) = bound.get(k).cloned() else { break };
            let gone = dims.len() + k;
            let put = |p: &Poly| eliminate_index(p, gone, &value);
            let inside = Pred::in_range(&eliminate_index(&value, gone, &Poly::default()), &extent);
            pred = inside.and(&pred.map(&put));
            seen.iter_mut().for_each(|a| a.at = a.at.iter().map(put).collect());
            bound.remove(k);
            pred = simplify(self, &bound, &pred);
        }
        if pred.is_false() {
            return self.zero_keeping_failures(dims, scalar, needs);
        }
        let view = bound.is_empty() && seen.len() == 1;
        if view {
            let term = self.single_term(dims, &pred, &seen, &needs);
            return match term {
                Some(None) => self.zero_keeping_failures(dims, scalar, needs),
                Some(Some(t)) => self.contract(dims, Vec::new(), &t.pred, neg ^ t.neg, &[t.operand], needs),
                None => self.view(dims, scalar, pred, neg, seen, needs),
            };
        }
        // In a loop body, data may pin an index too, because an iteration has only one such
        // position.
        if let Some((k, value)) = find_pinned_index(dims.len(), &pred, self.is_region) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| eliminate_index(p, k, &value);
            let at: Vec<TensorAccess> =
                seen.iter().map(|a| TensorAccess { var: a.var, at: a.at.iter().map(put).collect() }).collect();
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::in_range(&put(&value), &put(n)));
            let inner = self.contract(&rest, bound.clone(), &inside.and(&pred.map(&put)), neg, &at, needs.clone());
            return self.reinsert_index(dims, k, &value, &pred, inner, needs);
        }
        if let Some((k, InvariantIndex { extents: rest, pred: some, factors: at, indices: read })) =
            find_invariant_index(dims, &bound, &pred, &seen)
        {
            let bound = bound.iter().map(|n| eliminate_index(n, k, &Poly::default())).collect();
            let inner = self.contract(&rest, bound, &some, neg, &at, needs.clone());
            return self.contract(
                dims,
                Vec::new(),
                &Pred::truth(),
                false,
                &[TensorAccess { var: inner, at: read }],
                needs,
            );
        }
        sort_factors(&mut seen);
        self.push(dims.to_vec(), Some(scalar), Rhs::Contract { bound, pred, neg, factors: seen }, needs)
    }

    /// `[p] · ± X[a]`, or the tensor itself if the view is the identity.
    fn view(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        pred: Pred,
        neg: bool,
        factors: Vec<TensorAccess>,
        needs: Vec<u32>,
    ) -> StmtId {
        // The view is zero wherever its factor is zero. So a predicate that follows from the
        // support of the factor is dropped, if the factor has an element everywhere.
        let pred = match factors.as_slice() {
            [one] if !pred.is_true() => {
                let mut context = self.context(dims);
                let extents = self.dims(one.var);
                let everywhere = one.at.iter().zip(&extents).all(|(a, n)| context.implies(&Pred::in_range(a, n)));
                context.assume(&self.support(one));
                context.assume(&self.term_domain(one));
                if everywhere && context.implies(&pred) { Pred::truth() } else { pred }
            }
            _ => pred,
        };
        if let ([one], true, false) = (factors.as_slice(), pred.is_true(), neg) {
            // The statement must already need the checks of the view.
            let all_needs = self.needs_of(one.var);
            let known = |s: &Statement| s.dims == dims && needs.iter().all(|c| all_needs.contains(c));
            let same = self.get(one.var).is_some_and(known)
                && one
                    .at
                    .iter()
                    .enumerate()
                    .all(|(k, p)| dims.get(k).is_some_and(|n| *p == statement_index(k, n).value()));
            if same {
                return one.var;
            }
        }
        self.push(dims.to_vec(), Some(scalar), Rhs::Contract { bound: Vec::new(), pred, neg, factors }, needs)
    }

    /// Builds the view that adds index `k`, with the value `value`, to a tensor computed without
    /// it.
    pub(super) fn reinsert_index(
        &mut self,
        dims: &[Poly],
        k: usize,
        value: &Poly,
        pred: &Pred,
        inner: StmtId,
        needs: Vec<u32>,
    ) -> StmtId {
        let scalar = self.scalar(inner);
        let at = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(j, n)| statement_index(j, n).value()).collect();
        // Only the conjuncts over indices of the result restrict where the view may be nonzero.
        let outer = pred.conjuncts().iter().filter(|p| {
            let mut own = true;
            p.visit(
                &mut |p| {
                    p.for_each_atom(&mut |a| {
                        own &= !matches!(a, Atom::Local(l, _) if index_number(*l).is_some_and(|j| j >= dims.len()))
                    })
                },
                &mut |_| {},
            );
            own
        });
        let equation = dims.get(k).map(|n| Pred::equal(&statement_index(k, n).value(), value)).unwrap_or_default();
        let pred = Pred::all(outer.cloned().chain([equation]));
        let seen = TensorAccess { var: inner, at };
        match self.read_through_views(&seen) {
            None => self.zero(dims, scalar),
            Some(inner) => {
                let pred = self.simplify(dims, &pred.and(&inner.pred));
                let needs = needs.into_iter().chain(inner.needs).collect();
                self.view(dims, scalar, pred, inner.neg, vec![inner.access], needs)
            }
        }
    }

    /// Returns a predicate outside of which the element is zero, as far as indices and sizes
    /// determine it.
    #[must_use]
    pub fn support(&self, of: &TensorAccess) -> Pred {
        let Some(stmt) = self.get(of.var) else { return Pred::truth() };
        let plain = |p: &Pred| if p.depends_on_data() { Pred::truth() } else { p.clone() };
        let own = match &stmt.rhs {
            Rhs::Zero => Pred::falsity(),
            Rhs::Add(items) => Pred::any_of(items.iter().map(|a| plain(&a.pred))),
            Rhs::Reduce(r) => plain(&r.pred),
            Rhs::Argsort(o) => plain(&o.pred),
            Rhs::Map { pred, .. } => plain(pred),
            Rhs::Contract { bound, pred, .. } => {
                let free = stmt.dims.len();
                let some = bound.iter().enumerate().rev();
                some.fold(plain(pred), |p, (k, n)| Pred::exists(&statement_index(free + k, n), &p))
            }
            Rhs::CallResult(producer, _) | Rhs::LoopResult(producer, _) => self.domain_of_producer(*producer, &plain),
            Rhs::Call { .. } | Rhs::Loop(_) | Rhs::Input(_) | Rhs::Constant(_) | Rhs::Index(_) | Rhs::Update { .. } => {
                Pred::truth()
            }
        };
        own.map(&|p| substitute_indices(p, &of.at))
    }

    /// Returns the batch tuples for which a call or loop runs.
    fn domain_of_producer(&self, producer: StmtId, plain: &dyn Fn(&Pred) -> Pred) -> Pred {
        match self.get(producer).map(|s| &s.rhs) {
            Some(Rhs::Call { pred, .. }) => plain(pred),
            Some(Rhs::Loop(of)) => plain(&of.pred),
            _ => Pred::truth(),
        }
    }

    /// Returns where a sum with a data-dependent predicate has terms; it is zero elsewhere.
    fn term_domain(&self, of: &TensorAccess) -> Pred {
        match self.get(of.var) {
            Some(Statement { dims, rhs: Rhs::Contract { bound, pred, .. }, .. })
                if pred.depends_on_data() && !bound.is_empty() =>
            {
                let each = bound.iter().enumerate().rev();
                let some = each.fold(pred.clone(), |p, (k, n)| Pred::exists(&statement_index(dims.len() + k, n), &p));
                self.simplify(dims, &some).map(&|p| substitute_indices(p, &of.at))
            }
            _ => Pred::truth(),
        }
    }

    /// Builds a call for each tuple of `batch`.
    pub fn add_call(&mut self, batch: Vec<Poly>, call: Rhs, needs: Vec<u32>) -> Producer {
        Producer { statement: self.push(batch, None, call, needs), removed: Vec::new() }
    }

    /// Builds a loop. Batch indices on which nothing in it depends are removed.
    pub fn add_loop(&mut self, of: &Arc<SsaLoop>, needs: Vec<u32>) -> Producer {
        let used = |k: usize| {
            let atom = statement_index(k, &Poly::default()).atom();
            let mut used = of.pred.mentions(&atom);
            of.for_each_poly(&mut |p| used |= p.mentions(&atom));
            used || of.args.iter().any(|a| a.access().at.iter().any(|p| p.mentions(&atom)))
        };
        let Some(k) = (0..of.batch.len()).find(|k| !used(*k)) else {
            let statement = self.push(of.batch.clone(), None, Rhs::Loop(of.clone()), needs);
            return Producer { statement, removed: Vec::new() };
        };
        let put = |p: &Poly| eliminate_index(p, k, &Poly::default());
        let mut inner =
            of.map(&mut |a| TensorAccess { var: a.var, at: a.at.iter().map(put).collect() }, &put, &|p| p.map(&put));
        inner.batch = without_axis(&of.batch, k);
        let some = of.batch.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
        inner.pred = self.simplify(&inner.batch, &some.and(&inner.pred));
        self.add_loop(&Arc::new(inner), needs).without_index(k)
    }

    /// Builds a result of a call or a loop, with its extents for the whole batch. `result` makes
    /// the right-hand side from the producer.
    pub fn result(
        &mut self,
        of: &Producer,
        dims: &[Poly],
        scalar: Option<Scalar>,
        result: impl FnOnce(StmtId) -> Rhs,
    ) -> StmtId {
        let mut levels = vec![dims.to_vec()];
        for k in &of.removed {
            levels.extend(levels.last().map(|dims| without_axis(dims, *k)));
        }
        let inner = levels.pop().unwrap_or_default();
        let mut var = self.push(inner, scalar, result(of.statement), Vec::new());
        // The removed indices share the elements.
        for (dims, k) in levels.iter().zip(&of.removed).rev() {
            let at = (0..dims.len()).filter(|j| j != k).map(|j| statement_index(j, &Poly::default()).value()).collect();
            var = self.contract(dims, Vec::new(), &Pred::truth(), false, &[TensorAccess { var, at }], Vec::new());
        }
        var
    }

    /// Builds a loop, and one result of it with these extents.
    pub fn loop_result(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        of: &Arc<SsaLoop>,
        result: LoopResult,
        needs: Vec<u32>,
    ) -> StmtId {
        let producer = self.add_loop(of, needs);
        self.result(&producer, dims, Some(scalar), |of| Rhs::LoopResult(of, result))
    }

    /// Replaces the loop of a statement by one that has the same results and more. The new loop may
    /// read later statements than its results, so the order of the statements can break until
    /// dead-code elimination sorts them.
    pub fn set_loop(&mut self, producer: StmtId, new: &Arc<SsaLoop>) {
        if let Some(stmt) = self.stmts.get_mut(producer.0 as usize) {
            stmt.rhs = Rhs::Loop(new.clone());
            let key = (stmt.dims.clone(), stmt.scalar, stmt.rhs.clone(), stmt.needs.clone());
            self.statement_cache.insert(key, producer);
        }
    }

    /// Builds a tensor with some of its elements replaced or added to.
    pub fn update(&mut self, dims: &[Poly], scalar: Scalar, of: Rhs, needs: Vec<u32>) -> StmtId {
        let Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } = of else {
            return self.push(dims.to_vec(), Some(scalar), of, needs);
        };
        // The ranges of the array's own indices are not assumed, because an empty array is updated
        // too.
        let mut context = FactContext::new(&self.sizes);
        let (outer, free) = (batch as usize, dims.len());
        dims.iter().enumerate().take(outer).for_each(|(k, n)| context.assume_in_range(&statement_index(k, n)));
        (free..).zip(&bound).for_each(|(k, n)| context.assume_in_range(&statement_index(k, n)));
        let pred = context.simplify(&self.resolve_pred_reads(&pred));
        let none = pred.is_false() || add && matches!(self.get(value.var).map(|s| &s.rhs), Some(Rhs::Zero));
        if none {
            let own = (base.at.len()..self.dims(base.var).len()).map(|k| {
                let k = batch as usize + k - base.at.len();
                statement_index(k, &Poly::default()).value()
            });
            let of = TensorAccess { var: base.var, at: base.at.iter().cloned().chain(own).collect() };
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[of], needs);
        }
        let mut inside = |hypothesis: &Pred, pred: &Pred| {
            context.assume(hypothesis);
            context.implies(pred)
        };
        let value = match self.read_through_views(&value) {
            Some(seen) if !seen.neg && seen.needs.is_empty() && inside(&pred, &seen.pred) => seen.access,
            _ => value,
        };
        let outer = dims.get(..outer).unwrap_or_default();
        let (base, needs) = match self.resolve_subarray(&base, outer, &Pred::truth()) {
            Some((seen, more)) => (seen, needs.into_iter().chain(more).collect()),
            None => (base, needs),
        };
        self.push(
            dims.to_vec(),
            Some(scalar),
            Rhs::Update { base, batch, bound, pred, at, value, accumulate: add },
            needs,
        )
    }

    /// Reads a whole subarray through a view: `of` has its first indices, over `outer`. Returns
    /// `of` itself unless the view shows the subarray unchanged where `pred` holds and needs no
    /// checks.
    #[must_use]
    pub fn subarray_through_views(&self, of: &TensorAccess, outer: &[Poly], pred: &Pred) -> TensorAccess {
        match self.resolve_subarray(of, outer, pred) {
            Some((seen, needs)) if needs.is_empty() => seen,
            _ => of.clone(),
        }
    }

    /// Reads a whole subarray through a view, and returns the checks that the view needs; `None` if
    /// the view does not show it unchanged.
    fn resolve_subarray(&self, of: &TensorAccess, outer: &[Poly], pred: &Pred) -> Option<(TensorAccess, Vec<u32>)> {
        let dims = self.dims(of.var);
        let own = dims.get(of.at.len()..)?;
        let whole: Vec<Poly> =
            own.iter().enumerate().map(|(k, n)| statement_index(outer.len() + k, n).value()).collect();
        let at = of.at.iter().chain(&whole).cloned().collect();
        let seen = self.read_through_views(&TensorAccess { var: of.var, at })?;
        let inner = self.dims(seen.access.var);
        let (at, rest) = seen.access.at.split_at_checked(inner.len().checked_sub(own.len())?)?;
        let is_independent =
            |p: &Poly| !(0..own.len()).any(|k| p.mentions(&statement_index(outer.len() + k, &Poly::default()).atom()));
        let same = rest == whole && inner.get(at.len()..) == Some(own) && at.iter().all(is_independent);
        let all: Vec<Poly> = outer.iter().chain(own).cloned().collect();
        let shown = same && !seen.neg && self.implies(&all, pred, &seen.pred);
        shown.then(|| (TensorAccess { var: seen.access.var, at: at.to_vec() }, seen.needs))
    }

    /// Folds an operation on constants.
    fn fold_constants(&self, operation: ScalarOp, args: &[TensorAccess]) -> Option<Constant> {
        let mut values = Vec::new();
        for arg in args {
            let stmt = self.get(arg.var)?;
            let Rhs::Constant(c) = &stmt.rhs else { return None };
            values.push(IrValue::constant(*c, stmt.scalar?));
        }
        Some(match value::apply_op(operation, &values)? {
            IrValue::F64(x) => Constant::Real(x),
            IrValue::F32(x) => Constant::Real(f64::from(x)),
            IrValue::I64(i) => Constant::Int(i),
            IrValue::Bool(b) => Constant::Bool(b),
            _ => return None,
        })
    }

    fn is_one(&self, a: &TensorAccess) -> bool {
        let one =
            |s: &Statement| matches!(&s.rhs, Rhs::Constant(Constant::Real(x)) if x.to_bits() == 1.0_f64.to_bits());
        self.get(a.var).is_some_and(one)
    }

    /// `[p] · f(X₀[a₀], …)`. Operands are read through views that show them unchanged where `p`
    /// holds.
    pub fn map(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        operation: ScalarOp,
        pred: &Pred,
        args: &[TensorAccess],
        mut needs: Vec<u32>,
    ) -> StmtId {
        let pred = self.simplify(dims, &self.resolve_pred_reads(pred));
        if pred.is_false() {
            return self.zero(dims, scalar);
        }
        let mut seen = Vec::new();
        for arg in args {
            match self.read_through_views(arg) {
                Some(inner) if !inner.neg && self.implies(dims, &pred, &inner.pred) => {
                    needs.extend(inner.needs);
                    seen.push(inner.access);
                }
                _ => {
                    needs.extend(self.needs_of(arg.var));
                    seen.push(arg.clone());
                }
            }
        }
        if let Some(value) = self.fold_constants(operation, &seen) {
            let var = self.constant(value, scalar);
            return self.contract(dims, Vec::new(), &pred, false, &[TensorAccess { var, at: Vec::new() }], needs);
        }
        // `x ^ 1` is `x`.
        if let (ScalarOp::PowInt, [x, k]) = (operation, seen.as_slice())
            && matches!(self.get(k.var).map(|s| &s.rhs), Some(Rhs::Constant(Constant::Int(1))))
        {
            let x = x.clone();
            return self.contract(dims, Vec::new(), &pred, false, &[x], needs);
        }
        if let Some((k, value)) = find_pinned_index(dims.len(), &pred, false) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| eliminate_index(p, k, &value);
            let at: Vec<TensorAccess> =
                seen.iter().map(|a| TensorAccess { var: a.var, at: a.at.iter().map(put).collect() }).collect();
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::in_range(&put(&value), &put(n)));
            let inner = self.map(&rest, scalar, operation, &inside.and(&pred.map(&put)), &at, needs.clone());
            return self.reinsert_index(dims, k, &value, &pred, inner, needs);
        }
        if let Some((_, InvariantIndex { extents: rest, pred: some, factors: at, indices: read })) =
            find_invariant_index(dims, &[], &pred, &seen)
        {
            let inner = self.map(&rest, scalar, operation, &some, &at, needs.clone());
            return self.contract(
                dims,
                Vec::new(),
                &Pred::truth(),
                false,
                &[TensorAccess { var: inner, at: read }],
                needs,
            );
        }
        self.push(dims.to_vec(), Some(scalar), Rhs::Map { operation, pred, args: seen }, needs)
    }
}

/// A computation that does not depend on some index. It happens only if the range of that index is
/// not empty.
struct InvariantIndex {
    /// The extents without the index.
    extents: Vec<Poly>,
    /// The predicate and the factors without the index.
    pred: Pred,
    factors: Vec<TensorAccess>,
    /// The indices at which the result is read.
    indices: Vec<Poly>,
}

/// Finds the first index of the result on which nothing depends.
fn find_invariant_index(
    dims: &[Poly],
    bound: &[Poly],
    pred: &Pred,
    factors: &[TensorAccess],
) -> Option<(usize, InvariantIndex)> {
    let k = (0..dims.len()).find(|k| {
        let atom = statement_index(*k, &Poly::default()).atom();
        let varies = |p: &Poly| p.mentions(&atom);
        !pred.mentions(&atom) && !bound.iter().any(varies) && !factors.iter().any(|f| f.at.iter().any(varies))
    })?;
    let put = |p: &Poly| eliminate_index(p, k, &Poly::default());
    let rest = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
    let some = Pred::less(&Poly::default(), &put(dims.get(k)?)).and(&pred.map(&put));
    let at = factors.iter().map(|a| TensorAccess { var: a.var, at: a.at.iter().map(put).collect() }).collect();
    let read = (0..dims.len()).filter(|j| *j != k).map(|j| statement_index(j, &Poly::default()).value()).collect();
    Some((k, InvariantIndex { extents: rest, pred: some, factors: at, indices: read }))
}

/// Substitutes these indices for those of a statement in a polynomial.
#[must_use]
pub fn substitute_indices(p: &Poly, at: &[Poly]) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => at.get(index_number(*l)?).cloned(),
        _ => None,
    })
}

/// Replaces an index by its value in a polynomial and renumbers the indices after it.
pub fn eliminate_index(p: &Poly, gone: usize, value: &Poly) -> Poly {
    let renumber = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?;
                (k > gone).then(|| statement_index(k - 1, &Poly::default()).value())
            }
            _ => None,
        })
    };
    let put = p.substitute(&|a| match a {
        Atom::Local(l, _) if index_number(*l) == Some(gone) => Some(value.clone()),
        _ => None,
    });
    renumber(&put)
}

/// Finds a bound index that an equation determines, and its value.
fn solve_bound_index(free: usize, bound: &[Poly], pred: &Pred) -> Option<(usize, Poly)> {
    // The last index is tried first, because its value may mention the indices before it.
    (0..bound.len()).rev().find_map(|k| {
        let atom = statement_index(free + k, &Poly::default()).atom();
        Some((k, pred.solve_for(&atom)?))
    })
}

/// Finds an index of the result that an equation determines from other indices of the result and
/// sizes, and its value. If `data`, the equation may also read data.
pub(super) fn find_pinned_index(free: usize, pred: &Pred, data: bool) -> Option<(usize, Poly)> {
    (0..free).rev().find_map(|k| {
        let atom = statement_index(k, &Poly::default()).atom();
        let value = pred.solve_for(&atom)?;
        let mut own = true;
        value.for_each_atom(&mut |a| {
            own &= match a {
                Atom::Local(l, _) => index_number(*l).is_none_or(|j| j < free),
                Atom::Read(..) => data,
                _ => true,
            };
        });
        (own && !value.mentions(&atom)).then_some((k, value))
    })
}

/// Sorts factors by statement, so that equal products are equal statements.
fn sort_factors(factors: &mut [TensorAccess]) {
    factors.sort_by(|a, b| a.var.cmp(&b.var).then_with(|| a.at.cmp(&b.at)));
}

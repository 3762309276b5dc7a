//! **Builder of Tensor SSA** in solved form. Equal statements are shared, and views are read
//! through. Indices that an equation determines are eliminated, and values that do not depend on an
//! index are computed without it. `norm` and `ad` build functions with it.

mod add;
mod asked;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::core::{Constant, Operation};
use crate::origin::{Ancestor, Trace, VALUE};
use crate::region::{Loop, Part};
use crate::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, index, index_number};
use crate::value::{self, Value};
use lang_base::pause;
use lang_sizes::predicate::{Atom, Context, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The key for sharing statements: extents, scalar type, right-hand side, checks.
type Key = (Vec<Poly>, Option<Scalar>, Rhs, Vec<u32>);

/// Builds statements in solved form and shares equal ones.
#[derive(Default, Debug)]
pub struct Builder {
    /// The statements so far.
    pub stmts: Vec<Stmt>,
    /// The checks so far.
    pub checks: Vec<Check>,
    /// The origins of the statements.
    pub trace: Trace,
    /// Whether it builds the body of a loop. There, a sum that adds to few elements of an array
    /// becomes an update of the array.
    pub region: bool,
    /// Whether larger definitions than usual are inlined.
    pub in_place: bool,
    /// The sizes, which are never negative.
    sizes: Vec<Poly>,
    memo: HashMap<Key, Var>,
    /// Memoised simplifications, because the same predicates recur often.
    simplified: RefCell<HashMap<(Vec<Poly>, Pred), Pred>>,
}

/// An element as its reader sees it, after reading through views.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The domain; the element is zero elsewhere.
    pub pred: Pred,
    /// Whether the element is negated.
    pub neg: bool,
    /// The element that the views show.
    pub of: Access,
    /// The checks that the views need.
    pub needs: Vec<u32>,
}

impl Builder {
    /// Creates an empty builder over these sizes.
    #[must_use]
    pub fn new(sizes: Vec<Poly>) -> Self {
        Self { sizes, ..Self::default() }
    }

    /// Creates a builder that continues a function.
    #[must_use]
    pub fn of(ssa: &Ssa) -> Self {
        let sizes = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let mut builder = Self { checks: ssa.checks.clone(), ..Self::new(sizes) };
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let key = (stmt.dims.clone(), stmt.scalar, stmt.rhs.clone(), stmt.needs.clone());
            builder.memo.entry(key).or_insert(Var(k));
            builder.stmts.push(stmt.clone());
            builder.trace.enter(Ancestor::Statement(Var(k), VALUE));
            builder.trace.made(Var(k));
        }
        builder
    }

    /// Returns a statement.
    #[must_use]
    pub fn get(&self, var: Var) -> Option<&Stmt> {
        self.stmts.get(var.0 as usize)
    }

    /// Returns the extents of a statement.
    #[must_use]
    pub fn dims(&self, var: Var) -> Vec<Poly> {
        self.get(var).map(|s| s.dims.clone()).unwrap_or_default()
    }

    /// Returns the scalar type of a statement.
    #[must_use]
    pub fn scalar(&self, var: Var) -> Scalar {
        self.get(var).and_then(|s| s.scalar).unwrap_or(Scalar::F64)
    }

    /// Returns the facts about indices in their ranges.
    #[must_use]
    pub fn context(&self, dims: &[Poly]) -> Context {
        let mut context = Context::new(&self.sizes);
        dims.iter().enumerate().for_each(|(k, n)| context.enter(&index(k, n)));
        context
    }

    /// Removes from a predicate the parts that follow from the ranges of indices.
    #[must_use]
    pub fn simplify(&self, dims: &[Poly], pred: &Pred) -> Pred {
        if pred.is_true() || pred.is_false() {
            return pred.clone();
        }
        let key = (dims.to_vec(), pred.clone());
        if let Some(known) = self.simplified.borrow().get(&key) {
            return known.clone();
        }
        pause();
        let simplified = self.context_of(dims, pred).simplify(pred);
        let mut known = self.simplified.borrow_mut();
        known.insert((key.0.clone(), simplified.clone()), simplified.clone());
        known.insert(key, simplified.clone());
        simplified
    }

    /// Whether `pred` follows from `given` and the ranges of indices.
    #[must_use]
    pub fn implies(&self, dims: &[Poly], given: &Pred, pred: &Pred) -> bool {
        if pred.is_true() || given == pred {
            return true;
        }
        let mut context = self.context_of(dims, pred);
        context.assume(given);
        context.implies(pred)
    }

    /// Adds a statement, or returns the existing equal one.
    pub fn push(&mut self, dims: Vec<Poly>, scalar: Option<Scalar>, rhs: Rhs, mut needs: Vec<u32>) -> Var {
        needs.sort_unstable();
        needs.dedup();
        let key = (dims, scalar, rhs, needs);
        if let Some(var) = self.memo.get(&key) {
            self.trace.made(*var);
            return *var;
        }
        let var = Var(u32::try_from(self.stmts.len()).unwrap_or(u32::MAX));
        let (dims, _, rhs, needs) = key.clone();
        self.stmts.push(Stmt { dims, scalar, rhs, needs, name: None });
        self.memo.insert(key, var);
        self.trace.made(var);
        var
    }

    /// Adds a check, or returns the number of the existing equal one.
    pub fn check(&mut self, check: Check) -> u32 {
        let found = self.checks.iter().position(|c| *c == check);
        let at = found.unwrap_or_else(|| {
            self.checks.push(check);
            self.checks.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Builds a tensor of zeros.
    pub fn zero(&mut self, dims: &[Poly], scalar: Scalar) -> Var {
        self.push(dims.to_vec(), Some(scalar), Rhs::Zero, Vec::new())
    }

    /// Builds a tensor of zeros that keeps the checks that fail in every run. A value that cannot
    /// be computed must not become zero because none of its terms remains.
    pub(super) fn zero_unless(&mut self, dims: &[Poly], scalar: Scalar, mut needs: Vec<u32>) -> Var {
        needs.retain(|k| {
            let check = self.checks.get(*k as usize);
            let refuted = |c: &Check| c.guard.is_true() && self.simplify(&c.dims, &c.cond).is_false();
            check.is_some_and(refuted)
        });
        self.push(dims.to_vec(), Some(scalar), Rhs::Zero, needs)
    }

    /// Builds a constant.
    pub fn constant(&mut self, c: Constant, scalar: Scalar) -> Var {
        self.push(Vec::new(), Some(scalar), Rhs::Constant(c), Vec::new())
    }

    /// Builds the value of an index expression.
    pub fn index(&mut self, dims: &[Poly], p: &Poly) -> Var {
        let Some(c) = p.as_constant().and_then(|c| i64::try_from(c).ok()) else {
            return self.push(dims.to_vec(), Some(Scalar::I64), Rhs::Index(p.clone()), Vec::new());
        };
        let var = self.constant(Constant::Int(c), Scalar::I64);
        self.contract(dims, Vec::new(), &Pred::truth(), false, &[Access { var, at: Vec::new() }], Vec::new())
    }

    /// Reads an element through views. Returns `None` if it is zero.
    #[must_use]
    pub fn see(&self, of: &Access) -> Option<Seen> {
        let itself = || Seen { pred: Pred::truth(), neg: false, of: of.clone(), needs: Vec::new() };
        let Some(stmt) = self.get(of.var) else { return Some(itself()) };
        match &stmt.rhs {
            Rhs::Zero if stmt.needs.is_empty() => None,
            Rhs::Contract { bound, pred, neg, factors } if bound.is_empty() => {
                let ([factor], true) = (factors.as_slice(), of.at.len() == stmt.dims.len()) else {
                    return Some(itself());
                };
                let put = |p: &Poly| at_indices(p, &of.at);
                let at = factor.at.iter().map(put).collect();
                let of = Access { var: factor.var, at };
                Some(Seen { pred: pred.map(&put), neg: *neg, of, needs: stmt.needs.clone() })
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
        factors: &[Access],
        mut needs: Vec<u32>,
    ) -> Var {
        let scalar = factors.first().map_or(Scalar::F64, |f| self.scalar(f.var));
        let (mut pred, mut neg, mut bound) = (self.asked(pred), neg, bound);
        let mut seen = Vec::new();
        for factor in factors {
            let Some(inner) = self.see(factor) else { return self.zero_unless(dims, scalar, needs) };
            pred = pred.and(&inner.pred);
            neg ^= inner.neg;
            needs.extend(inner.needs);
            seen.push(inner.of);
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
        while let Some((k, value)) = solved(dims.len(), &bound, &pred) {
            let Some(extent) = bound.get(k).cloned() else { break };
            let gone = dims.len() + k;
            let put = |p: &Poly| without_index(p, gone, &value);
            let inside = Pred::inside(&without_index(&value, gone, &Poly::default()), &extent);
            pred = inside.and(&pred.map(&put));
            seen.iter_mut().for_each(|a| a.at = a.at.iter().map(put).collect());
            bound.remove(k);
            pred = simplify(self, &bound, &pred);
        }
        if pred.is_false() {
            return self.zero_unless(dims, scalar, needs);
        }
        let view = bound.is_empty() && seen.len() == 1;
        if view {
            let term = self.only_term(dims, &pred, &seen, &needs);
            return match term {
                Some(None) => self.zero_unless(dims, scalar, needs),
                Some(Some(t)) => self.contract(dims, Vec::new(), &t.pred, neg ^ t.neg, &[t.of], needs),
                None => self.view(dims, scalar, pred, neg, seen, needs),
            };
        }
        // In a loop body, data may pin an index too, because an iteration has only one such
        // position.
        if let Some((k, value)) = pinned(dims.len(), &pred, self.region) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| without_index(p, k, &value);
            let at: Vec<Access> =
                seen.iter().map(|a| Access { var: a.var, at: a.at.iter().map(put).collect() }).collect();
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::inside(&put(&value), &put(n)));
            let inner = self.contract(&rest, bound.clone(), &inside.and(&pred.map(&put)), neg, &at, needs.clone());
            return self.unpinned(dims, k, &value, &pred, inner, needs);
        }
        if let Some((k, Invariant { rest, some, at, read })) = invariant(dims, &bound, &pred, &seen) {
            let bound = bound.iter().map(|n| without_index(n, k, &Poly::default())).collect();
            let inner = self.contract(&rest, bound, &some, neg, &at, needs.clone());
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[Access { var: inner, at: read }], needs);
        }
        order_factors(&mut seen);
        self.push(dims.to_vec(), Some(scalar), Rhs::Contract { bound, pred, neg, factors: seen }, needs)
    }

    /// `[p] · ± X[a]`, or the tensor itself if the view is the identity.
    fn view(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        pred: Pred,
        neg: bool,
        factors: Vec<Access>,
        needs: Vec<u32>,
    ) -> Var {
        // The view is zero wherever its factor is zero. So a predicate that follows from the
        // support of the factor is dropped, if the factor has an element everywhere.
        let pred = match factors.as_slice() {
            [one] if !pred.is_true() => {
                let mut context = self.context(dims);
                let extents = self.dims(one.var);
                let everywhere = one.at.iter().zip(&extents).all(|(a, n)| context.implies(&Pred::inside(a, n)));
                context.assume(&self.support(one));
                context.assume(&self.terms(one));
                if everywhere && context.implies(&pred) { Pred::truth() } else { pred }
            }
            _ => pred,
        };
        if let ([one], true, false) = (factors.as_slice(), pred.is_true(), neg) {
            // The statement must already need the checks of the view.
            let known = |s: &Stmt| s.dims == dims && needs.iter().all(|c| s.needs.contains(c));
            let same = self.get(one.var).is_some_and(known)
                && one.at.iter().enumerate().all(|(k, p)| dims.get(k).is_some_and(|n| *p == index(k, n).value()));
            if same {
                return one.var;
            }
        }
        self.push(dims.to_vec(), Some(scalar), Rhs::Contract { bound: Vec::new(), pred, neg, factors }, needs)
    }

    /// Builds the view that adds index `k`, with the value `value`, to a tensor computed without
    /// it.
    pub(super) fn unpinned(
        &mut self,
        dims: &[Poly],
        k: usize,
        value: &Poly,
        pred: &Pred,
        inner: Var,
        needs: Vec<u32>,
    ) -> Var {
        let scalar = self.scalar(inner);
        let at = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(j, n)| index(j, n).value()).collect();
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
        let equation = dims.get(k).map(|n| Pred::equal(&index(k, n).value(), value)).unwrap_or_default();
        let pred = Pred::all(outer.cloned().chain([equation]));
        let seen = Access { var: inner, at };
        match self.see(&seen) {
            None => self.zero(dims, scalar),
            Some(inner) => {
                let pred = self.simplify(dims, &pred.and(&inner.pred));
                let needs = needs.into_iter().chain(inner.needs).collect();
                self.view(dims, scalar, pred, inner.neg, vec![inner.of], needs)
            }
        }
    }

    /// Returns a predicate outside of which the element is zero, as far as indices and sizes
    /// determine it.
    #[must_use]
    pub fn support(&self, of: &Access) -> Pred {
        let Some(stmt) = self.get(of.var) else { return Pred::truth() };
        let plain = |p: &Pred| if p.is_opaque() { Pred::truth() } else { p.clone() };
        let own = match &stmt.rhs {
            Rhs::Zero => Pred::falsity(),
            Rhs::Add(items) => Pred::any_of(items.iter().map(|a| plain(&a.pred))),
            Rhs::Reduce(r) => plain(&r.pred),
            Rhs::Order(o) => plain(&o.pred),
            Rhs::Map { pred, .. } | Rhs::Call { pred, .. } => plain(pred),
            Rhs::Contract { bound, pred, .. } => {
                let free = stmt.dims.len();
                let some = bound.iter().enumerate().rev();
                some.fold(plain(pred), |p, (k, n)| Pred::exists(&index(free + k, n), &p))
            }
            Rhs::Loop(of, _) => plain(&of.pred),
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Index(_) | Rhs::Update { .. } => Pred::truth(),
        };
        own.map(&|p| at_indices(p, &of.at))
    }

    /// Returns where a sum with a data-dependent predicate has terms; it is zero elsewhere.
    fn terms(&self, of: &Access) -> Pred {
        match self.get(of.var) {
            Some(Stmt { dims, rhs: Rhs::Contract { bound, pred, .. }, .. })
                if pred.is_opaque() && !bound.is_empty() =>
            {
                let each = bound.iter().enumerate().rev();
                let some = each.fold(pred.clone(), |p, (k, n)| Pred::exists(&index(dims.len() + k, n), &p));
                self.simplify(dims, &some).map(&|p| at_indices(p, &of.at))
            }
            _ => Pred::truth(),
        }
    }

    /// Builds a part of a loop. Batch indices on which nothing in the loop depends are removed.
    pub fn looped(&mut self, dims: &[Poly], scalar: Scalar, of: &Arc<Loop>, part: Part, needs: Vec<u32>) -> Var {
        let batch = of.batch.len();
        let used = |k: usize| {
            let atom = index(k, &Poly::default()).atom();
            let mut used = of.pred.mentions(&atom);
            of.for_each_poly(&mut |p| used |= p.mentions(&atom));
            used || of.args.iter().any(|a| a.access().at.iter().any(|p| p.mentions(&atom)))
        };
        let Some(k) = (0..batch).find(|k| !used(*k)) else {
            return self.push(dims.to_vec(), Some(scalar), Rhs::Loop(of.clone(), part), needs);
        };
        let put = |p: &Poly| without_index(p, k, &Poly::default());
        let rest = |dims: &[Poly]| -> Vec<Poly> {
            dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect()
        };
        let mut inner =
            of.map(&mut |a| Access { var: a.var, at: a.at.iter().map(put).collect() }, &put, &|p| p.map(&put));
        inner.batch = rest(&of.batch);
        let some = of.batch.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
        inner.pred = self.simplify(&inner.batch, &some.and(&inner.pred));
        let var = self.looped(&rest(dims), scalar, &Arc::new(inner), part, needs);
        let at = (0..dims.len()).filter(|j| *j != k).map(|j| index(j, &Poly::default()).value()).collect();
        self.contract(dims, Vec::new(), &Pred::truth(), false, &[Access { var, at }], Vec::new())
    }

    /// Replaces a loop by one that returns more; statements that read parts of the old one then
    /// read the new one. The new loop may read later statements than its readers, so the order of
    /// the statements can break until dead-code elimination sorts them.
    pub fn replace_loop(&mut self, of: &Arc<Loop>, new: &Arc<Loop>) {
        for (k, stmt) in (0..).zip(&mut self.stmts) {
            if let Rhs::Loop(old, part) = &mut stmt.rhs
                && (Arc::ptr_eq(old, of) || old == of)
            {
                *old = new.clone();
                let key = (stmt.dims.clone(), stmt.scalar, Rhs::Loop(new.clone(), *part), stmt.needs.clone());
                self.memo.insert(key, Var(k));
            }
        }
    }

    /// Builds a tensor with some of its elements replaced or added to.
    pub fn update(&mut self, dims: &[Poly], scalar: Scalar, of: Rhs, needs: Vec<u32>) -> Var {
        let Rhs::Update { base, batch, bound, pred, at, value, add } = of else {
            return self.push(dims.to_vec(), Some(scalar), of, needs);
        };
        // The ranges of the array's own indices are not assumed, because an empty array is updated
        // too.
        let mut context = Context::new(&self.sizes);
        let (outer, free) = (batch as usize, dims.len());
        dims.iter().enumerate().take(outer).for_each(|(k, n)| context.enter(&index(k, n)));
        (free..).zip(&bound).for_each(|(k, n)| context.enter(&index(k, n)));
        let pred = context.simplify(&self.asked(&pred));
        let none = pred.is_false() || add && matches!(self.get(value.var).map(|s| &s.rhs), Some(Rhs::Zero));
        if none {
            let own = (base.at.len()..self.dims(base.var).len()).map(|k| {
                let k = batch as usize + k - base.at.len();
                index(k, &Poly::default()).value()
            });
            let of = Access { var: base.var, at: base.at.iter().cloned().chain(own).collect() };
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[of], needs);
        }
        let mut inside = |given: &Pred, pred: &Pred| {
            context.assume(given);
            context.implies(pred)
        };
        let value = match self.see(&value) {
            Some(seen) if !seen.neg && seen.needs.is_empty() && inside(&pred, &seen.pred) => seen.of,
            _ => value,
        };
        let outer = dims.get(..outer).unwrap_or_default();
        let (base, needs) = match self.seen_below(&base, outer, &Pred::truth()) {
            Some((seen, more)) => (seen, needs.into_iter().chain(more).collect()),
            None => (base, needs),
        };
        self.push(dims.to_vec(), Some(scalar), Rhs::Update { base, batch, bound, pred, at, value, add }, needs)
    }

    /// Reads a whole subarray through a view: `of` has its first indices, over `outer`. Returns
    /// `of` itself unless the view shows the subarray unchanged where `pred` holds and needs no
    /// checks.
    #[must_use]
    pub fn whole_below(&self, of: &Access, outer: &[Poly], pred: &Pred) -> Access {
        match self.seen_below(of, outer, pred) {
            Some((seen, needs)) if needs.is_empty() => seen,
            _ => of.clone(),
        }
    }

    /// Reads a whole subarray through a view, and returns the checks that the view needs; `None` if
    /// the view does not show it unchanged.
    fn seen_below(&self, of: &Access, outer: &[Poly], pred: &Pred) -> Option<(Access, Vec<u32>)> {
        let dims = self.dims(of.var);
        let own = dims.get(of.at.len()..)?;
        let whole: Vec<Poly> = own.iter().enumerate().map(|(k, n)| index(outer.len() + k, n).value()).collect();
        let at = of.at.iter().chain(&whole).cloned().collect();
        let seen = self.see(&Access { var: of.var, at })?;
        let inner = self.dims(seen.of.var);
        let (at, rest) = seen.of.at.split_at_checked(inner.len().checked_sub(own.len())?)?;
        let apart = |p: &Poly| !(0..own.len()).any(|k| p.mentions(&index(outer.len() + k, &Poly::default()).atom()));
        let same = rest == whole && inner.get(at.len()..) == Some(own) && at.iter().all(apart);
        let all: Vec<Poly> = outer.iter().chain(own).cloned().collect();
        let shown = same && !seen.neg && self.implies(&all, pred, &seen.pred);
        shown.then(|| (Access { var: seen.of.var, at: at.to_vec() }, seen.needs))
    }

    /// Folds an operation on constants.
    fn folded(&self, operation: Operation, args: &[Access]) -> Option<Constant> {
        let mut values = Vec::new();
        for arg in args {
            let stmt = self.get(arg.var)?;
            let Rhs::Constant(c) = &stmt.rhs else { return None };
            values.push(Value::constant(*c, stmt.scalar?));
        }
        Some(match value::apply(operation, &values)? {
            Value::F64(x) => Constant::Real(x),
            Value::F32(x) => Constant::Real(f64::from(x)),
            Value::I64(i) => Constant::Int(i),
            Value::Bool(b) => Constant::Bool(b),
            _ => return None,
        })
    }

    fn is_one(&self, a: &Access) -> bool {
        let one = |s: &Stmt| matches!(&s.rhs, Rhs::Constant(Constant::Real(x)) if x.to_bits() == 1.0_f64.to_bits());
        self.get(a.var).is_some_and(one)
    }

    /// `[p] · f(X₀[a₀], …)`. Operands are read through views that show them unchanged where `p`
    /// holds.
    pub fn map(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        operation: Operation,
        pred: &Pred,
        args: &[Access],
        mut needs: Vec<u32>,
    ) -> Var {
        let pred = self.simplify(dims, &self.asked(pred));
        if pred.is_false() {
            return self.zero(dims, scalar);
        }
        let mut seen = Vec::new();
        for arg in args {
            match self.see(arg) {
                Some(inner) if !inner.neg && self.implies(dims, &pred, &inner.pred) => {
                    needs.extend(inner.needs);
                    seen.push(inner.of);
                }
                _ => {
                    needs.extend(self.get(arg.var).map(|s| s.needs.clone()).unwrap_or_default());
                    seen.push(arg.clone());
                }
            }
        }
        if let Some(value) = self.folded(operation, &seen) {
            let var = self.constant(value, scalar);
            return self.contract(dims, Vec::new(), &pred, false, &[Access { var, at: Vec::new() }], needs);
        }
        // `x ^ 1` is `x`.
        if let (Operation::PowInt, [x, k]) = (operation, seen.as_slice())
            && matches!(self.get(k.var).map(|s| &s.rhs), Some(Rhs::Constant(Constant::Int(1))))
        {
            let x = x.clone();
            return self.contract(dims, Vec::new(), &pred, false, &[x], needs);
        }
        if let Some((k, value)) = pinned(dims.len(), &pred, false) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| without_index(p, k, &value);
            let at: Vec<Access> =
                seen.iter().map(|a| Access { var: a.var, at: a.at.iter().map(put).collect() }).collect();
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::inside(&put(&value), &put(n)));
            let inner = self.map(&rest, scalar, operation, &inside.and(&pred.map(&put)), &at, needs.clone());
            return self.unpinned(dims, k, &value, &pred, inner, needs);
        }
        if let Some((_, Invariant { rest, some, at, read })) = invariant(dims, &[], &pred, &seen) {
            let inner = self.map(&rest, scalar, operation, &some, &at, needs.clone());
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[Access { var: inner, at: read }], needs);
        }
        self.push(dims.to_vec(), Some(scalar), Rhs::Map { operation, pred, args: seen }, needs)
    }
}

/// A computation that does not depend on some index. It happens only if the range of that index is
/// not empty.
struct Invariant {
    /// The extents without the index.
    rest: Vec<Poly>,
    /// The predicate and the factors without the index.
    some: Pred,
    at: Vec<Access>,
    /// The indices at which the result is read.
    read: Vec<Poly>,
}

/// Finds the first index of the result on which nothing depends.
fn invariant(dims: &[Poly], bound: &[Poly], pred: &Pred, factors: &[Access]) -> Option<(usize, Invariant)> {
    let k = (0..dims.len()).find(|k| {
        let atom = index(*k, &Poly::default()).atom();
        let varies = |p: &Poly| p.mentions(&atom);
        !pred.mentions(&atom) && !bound.iter().any(varies) && !factors.iter().any(|f| f.at.iter().any(varies))
    })?;
    let put = |p: &Poly| without_index(p, k, &Poly::default());
    let rest = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
    let some = Pred::less(&Poly::default(), &put(dims.get(k)?)).and(&pred.map(&put));
    let at = factors.iter().map(|a| Access { var: a.var, at: a.at.iter().map(put).collect() }).collect();
    let read = (0..dims.len()).filter(|j| *j != k).map(|j| index(j, &Poly::default()).value()).collect();
    Some((k, Invariant { rest, some, at, read }))
}

/// Substitutes these indices for those of a statement in a polynomial.
#[must_use]
pub fn at_indices(p: &Poly, at: &[Poly]) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => at.get(index_number(*l)?).cloned(),
        _ => None,
    })
}

/// Replaces an index by its value in a polynomial and renumbers the indices after it.
pub fn without_index(p: &Poly, gone: usize, value: &Poly) -> Poly {
    let renumber = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?;
                (k > gone).then(|| index(k - 1, &Poly::default()).value())
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
fn solved(free: usize, bound: &[Poly], pred: &Pred) -> Option<(usize, Poly)> {
    // The last index is tried first, because its value may mention the indices before it.
    (0..bound.len()).rev().find_map(|k| {
        let atom = index(free + k, &Poly::default()).atom();
        Some((k, pred.solution(&atom)?))
    })
}

/// Finds an index of the result that an equation determines from other indices of the result and
/// sizes, and its value. If `data`, the equation may also read data.
pub(super) fn pinned(free: usize, pred: &Pred, data: bool) -> Option<(usize, Poly)> {
    (0..free).rev().find_map(|k| {
        let atom = index(k, &Poly::default()).atom();
        let value = pred.solution(&atom)?;
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
fn order_factors(factors: &mut [Access]) {
    factors.sort_by(|a, b| a.var.cmp(&b.var).then_with(|| a.at.cmp(&b.at)));
}

//! **Loops**: `fold`, `scan` and `loop`. The body becomes a local function (`close`) of its
//! captures and the carry. It returns the next carry and the output of the step. Several index
//! variables are nested loops.
//!
//! A loop with a condition carries the condition's value, because it must be known before a step
//! runs.

use std::sync::Arc;

use super::close::Enclosed;
use super::{Elaborator, Frame, Out, Sym, field_order};
use lang_base::{Code, Name, Span};
use lang_ir::core::{CoreType, E, Expr, Failing, Kind, Labels, Reason, Repeat, Spacing, Trips};
use lang_ir::reduce::numbered;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{IndexVar, Open, Pat, TId};
use lang_types::ty::Type;

/// A `fold` or `scan` over indices.
pub(super) struct Fold<'a> {
    pub(super) scan: bool,
    pub(super) acc: &'a Pat,
    pub(super) init: TId,
    pub(super) vars: &'a [IndexVar],
    pub(super) body: TId,
    pub(super) yields: Option<TId>,
}

impl Fold<'_> {
    fn keeps(&self) -> bool {
        self.scan || self.yields.is_some()
    }
}

/// The checkpoint settings of a loop.
pub(super) struct Kept {
    spacing: Spacing,
    /// The condition on the spacing, if it needs a check.
    checked: Option<(Pred, Arc<Failing>)>,
}

impl Elaborator<'_> {
    /// Elaborates `checkpoint k: fold …`.
    pub(super) fn checkpoint(&mut self, f: &mut Frame, every: Option<TId>, of: TId) -> Out<Sym> {
        let mut kept = Kept { spacing: Spacing::Root, checked: None };
        if let Some(every) = every {
            let k = self.index_of(f, every)?;
            let positive = Pred::nonneg(&k.plus(-1));
            if !self.context.implies(&positive) {
                let what = self.failing(f, every, Code::E0511, "the spacing of checkpoints is below 1");
                kept.checked = Some((positive, what));
            }
            kept.spacing = Spacing::Every(k);
        }
        self.kept = Some(kept);
        self.expr(f, of)
    }

    /// Elaborates `fold acc = init for …: body yield e`, and `scan`.
    pub(super) fn fold(&mut self, f: &mut Frame, id: TId, fold: &Fold<'_>) -> Out<Sym> {
        let span = self.span(f, id);
        let states = self.kept.take();
        let init = self.expr(f, fold.init)?;
        let init = self.data(&init, span)?;
        let init = self.as_array(init)?;
        let init = self.bind("init", init);
        let (last, kept) = self.steps(f, id, fold, 0, init.clone(), states)?;
        if fold.scan {
            let kept = self.data(&kept, span)?;
            return self.states(&init, &kept, fold.vars.len(), span);
        }
        Ok(if fold.yields.is_some() { Sym::Tuple(vec![last, kept], Labels::Places) } else { last })
    }

    /// Builds the loops over the variables from this depth on. Returns the last carry and the
    /// stacked outputs of the steps. Checkpoints apply to the outermost loop only.
    fn steps(
        &mut self,
        f: &mut Frame,
        id: TId,
        fold: &Fold<'_>,
        depth: usize,
        carry: E,
        states: Option<Kept>,
    ) -> Out<(Sym, Sym)> {
        let span = self.span(f, id);
        let ty = f.code.body.nodes[fold.init].ty.clone();
        let Some(var) = fold.vars.get(depth) else {
            let before = self.known(carry);
            self.pattern(f, fold.acc, &before, &ty, span)?;
            let next = self.expr(f, fold.body)?;
            let next = if fold.scan { self.named(next, "next") } else { next };
            let kept = match fold.yields {
                Some(e) => self.expr(f, e)?,
                None if fold.scan => next.clone(),
                None => Sym::Tuple(Vec::new(), Labels::Places),
            };
            return Ok((next, kept));
        };
        let mut range = self.span_of(f, var)?;
        if fold.keeps() {
            range.count = self.outward(&range.count);
        }
        let name = f.code.body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        let extent = match fold.keeps() {
            true => self.hull(&range.count).ok_or_else(|| self.outside(Reason::DataRange, span))?,
            false => Poly::default(),
        };
        let positive = Pred::nonneg(&range.count);
        let checked = fold.keeps() && !self.context.implies(&positive);
        let counter = self.vars.index(name, extent);
        let known = Index { extent: range.count.clone(), ..counter.clone() };
        let params = vec![(carry_name(f, fold.acc), carry.ty.clone())];
        let mut inner = Frame { code: f.code.clone(), env: f.env.clone() };
        inner.env.insert(var.local, Sym::Int { poly: range.at(&counter.value()), exact: true });
        let body = self.body(&known, params, span, |this, given| {
            let Some(carry) = given.into_iter().next() else { return Err(this.outside(Reason::Errors, span)) };
            let carry = this.data(&carry, span)?;
            let (next, kept) = this.steps(&mut inner, id, fold, depth + 1, carry, None)?;
            Ok(Sym::Tuple(vec![next, kept], Labels::Places))
        })?;
        let mut e = self.looped(&body, counter, Trips::Count(range.count), states, carry, span);
        e = self.stepping(f, id, range.asked, e);
        if checked {
            let what = self.failing(f, id, Code::E0509, "the extent is negative");
            e = e.with(Kind::Check(positive, what, e.clone()), e.ty.clone());
        }
        let e = self.bind("r", e);
        Ok((self.known(Expr::proj(&e, 0)), self.known(Expr::proj(&e, 1))))
    }

    /// Elaborates `loop acc = init while cond: body`, and `scan`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    pub(super) fn repeat(
        &mut self,
        f: &mut Frame,
        id: TId,
        scan: bool,
        acc: &Pat,
        init: TId,
        cond: TId,
        body: TId,
    ) -> Out<Sym> {
        let span = self.span(f, id);
        let states = self.kept.take();
        let ty = f.code.body.nodes[init].ty.clone();
        let init = self.expr(f, init)?;
        let init = self.data(&init, span)?;
        let init = self.as_array(init)?;
        let init = self.bind("init", init);
        let mut outer = Frame { code: f.code.clone(), env: f.env.clone() };
        let first = self.known(init.clone());
        self.pattern(&mut outer, acc, &first, &ty, span)?;
        let going = self.predicate(&mut outer, cond)?;
        let going = Sym::Tuple(vec![Sym::Bool(going), Sym::Data(init.clone())], Labels::Places);
        let start = self.data(&going, span)?;
        let start = self.bind("start", start);
        let counter = self.vars.index("step", Poly::default());
        let params = vec![(None, start.ty.clone())];
        let mut inner = Frame { code: f.code.clone(), env: f.env.clone() };
        let region = self.body(
            &Index { extent: Poly::atom(Atom::Overflow), ..counter.clone() },
            params,
            span,
            |this, given| {
                let Some(carry) = given.into_iter().next() else { return Err(this.outside(Reason::Errors, span)) };
                let before = this.component(&carry, 1)?;
                this.pattern(&mut inner, acc, &before, &ty, span)?;
                let next = this.expr(&mut inner, body)?;
                let next = this.data(&next, span)?;
                let next = this.bind("next", next);
                let after = this.known(next);
                this.pattern(&mut inner, acc, &after, &ty, span)?;
                let going = this.predicate(&mut inner, cond)?;
                let kept = if scan { after.clone() } else { Sym::Tuple(Vec::new(), Labels::Places) };
                Ok(Sym::Tuple(vec![Sym::Tuple(vec![Sym::Bool(going), after], Labels::Places), kept], Labels::Places))
            },
        )?;
        // A scan is two loops here. They must have equal spacing, because Tensor SSA merges them
        // into one.
        let again = states.as_ref().map(|kept| Kept { spacing: kept.spacing.clone(), checked: None });
        let e = self.looped(&region, counter.clone(), Trips::While, states, start.clone(), span);
        let e = self.bind("r", e);
        if !scan {
            let last = Expr::proj(&e, 0);
            return Ok(self.known(Expr::proj(&last, 1)));
        }
        let trips = self.known(Expr::proj(&e, 2));
        let trips = self.exact(trips, span)?;
        if self.is_ragged(&trips) {
            return Err(self.outside(Reason::DataRange, span));
        }
        let counter = Index { extent: trips, ..self.vars.index("step", Poly::default()) };
        let e = self.looped(&region, counter, Trips::While, again, start, span);
        let e = self.bind("r", e);
        self.states(&init, &Expr::proj(&e, 1), 1, span)
    }

    /// Builds a loop body as a local function of these parameters, which are the carry.
    pub(super) fn body(
        &mut self,
        counter: &Index,
        params: Vec<(Option<Name>, CoreType)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Sym>) -> Out<Sym>,
    ) -> Out<Enclosed> {
        let mark = self.context.mark();
        if counter.extent.overflowed() {
            self.context.assume(&Pred::nonneg(&counter.value()));
        } else {
            self.context.enter(counter);
        }
        // Outer index variables are arguments of the body, and constant inside it.
        let indices = self.indices.clone();
        self.indices.values_mut().for_each(|extent| *extent = None);
        self.indices.insert(counter.local, None);
        let repeated = std::mem::replace(&mut self.repeated, true);
        let enclosed = self.enclose(params, span, body);
        self.repeated = repeated;
        self.indices.extend(indices);
        self.context.release(mark);
        enclosed
    }

    /// Outlines a value: computes it in a local function of the index variables and everything else
    /// that it depends on. These are constant inside the function, so extents may depend on them.
    /// The call is a loop of one iteration, which outputs the value.
    pub(super) fn apart(&mut self, span: Span, value: impl FnOnce(&mut Self) -> Out<E>) -> Out<E> {
        let one = Poly::constant(1);
        let counter = self.vars.index("once", one.clone());
        let unit = || Sym::Tuple(Vec::new(), Labels::Places);
        let body = self.body(&counter, vec![(None, CoreType::unit())], span, |this, _| {
            let value = value(this)?;
            Ok(Sym::Tuple(vec![unit(), Sym::Data(value)], Labels::Places))
        })?;
        // The extents of the result must be known outside, and must not depend on indices.
        let mut known = true;
        if let CoreType::Tuple(parts, _) = &body.result {
            for leaf in parts.iter().flat_map(|ty| ty.leaves()) {
                for n in &leaf.dims {
                    known &= self.hull(n).as_ref() == Some(n);
                    n.for_each_atom(&mut |a| {
                        if let Atom::Local(l, _) | Atom::Read(l, ..) = a {
                            known &= body.sizes.contains(l) || body.captured.iter().any(|(x, _)| x == l);
                        }
                    });
                }
            }
        }
        if !known {
            return Err(self.outside(Reason::DataRange, span));
        }
        let unit = self.data(&unit(), span)?;
        let e = self.looped(&body, counter, Trips::Count(one), None, unit, span);
        let e = self.bind("r", e);
        Ok(Expr::access(&Expr::proj(&e, 1), Poly::default()))
    }

    fn looped(&self, body: &Enclosed, counter: Index, trips: Trips, states: Option<Kept>, carry: E, span: Span) -> E {
        let mut args: Vec<E> = body.captured.iter().map(|(local, ty)| self.capture(*local, ty, span)).collect();
        let parts = match &body.result {
            CoreType::Tuple(parts, _) => parts.clone(),
            _ => Arc::from([]),
        };
        let kept = parts.get(1).cloned().unwrap_or_else(CoreType::unit);
        let kept = CoreType::Tensor(counter.extent.clone(), Arc::new(kept));
        let ty = CoreType::tuple([carry.ty.clone(), kept, CoreType::Scalar(Scalar::I64)]);
        args.push(carry);
        let sizes = body.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        let (checkpoint, checked) = states.map(|kept| (kept.spacing, kept.checked)).unzip();
        let repeat = Repeat { body: body.callee.clone(), sizes, counter, trips, checkpoint };
        let e = Expr::new(Kind::Loop(Arc::new(repeat), args), ty, span);
        match checked.flatten() {
            Some((pred, what)) => e.with(Kind::Check(pred, what, e.clone()), e.ty.clone()),
            None => e,
        }
    }

    /// Concatenates the initial state and the states after the steps, which have `indices` axes, to
    /// one array.
    fn states(&mut self, init: &E, after: &E, indices: usize, span: Span) -> Out<Sym> {
        let (mut extents, mut ty) = (Vec::new(), &after.ty);
        while let (CoreType::Tensor(n, inner), true) = (ty, extents.len() < indices) {
            extents.push(n.clone());
            ty = inner;
        }
        let steps = extents.iter().fold(Poly::constant(1), |all, n| all.mul(n));
        let index = self.vars.index("k", steps.plus(1));
        let first = Pred::equal(&index.value(), &Poly::default());
        let at = numbered(extents.iter(), &index.value().plus(-1));
        if steps.overflowed() || at.iter().any(Poly::overflowed) {
            return Err(self.outside(Reason::TooLarge, span));
        }
        let later = at.into_iter().fold(after.clone(), |e, k| Expr::access(&e, k));
        let e = self.merge(ty, &[(first.clone(), init.clone()), (first.negated(), later)], span);
        Ok(Sym::Data(Expr::generate(index, e)))
    }

    /// Binds the sizes of `let [k] xs = e`, which only the run knows.
    pub(super) fn opened(&mut self, f: &mut Frame, opens: &[Open], ty: &Type, value: &Sym, span: Span) -> Out<()> {
        for open in opens {
            let (mut ty, mut at) = (ty.clone(), value.clone());
            for k in &open.path {
                let place = match &ty {
                    Type::Record(fields) => field_order(fields).iter().position(|j| *j == *k as usize).unwrap_or(0),
                    _ => *k as usize,
                };
                at = self.component(&at, place)?;
                ty = match ty {
                    Type::Tuple(items) => items.get(*k as usize).cloned().unwrap_or(Type::Error),
                    Type::Record(fields) => fields.get(*k as usize).map_or(Type::Error, |f| f.1.clone()),
                    other => other,
                };
            }
            let e = self.data(&at, span)?;
            let (dims, _) = e.ty.peel();
            let n = dims.get(open.axis as usize).ok_or_else(|| self.outside(Reason::DataRange, span))?;
            f.env.insert(open.local, Sym::Int { poly: (*n).clone(), exact: true });
        }
        Ok(())
    }
}

/// Returns the name of the carry, if the pattern is one name.
fn carry_name(f: &Frame, acc: &Pat) -> Option<Name> {
    match acc {
        Pat::Bind(local) => f.code.body.locals.get(local.0 as usize).map(|l| l.name.clone()),
        _ => None,
    }
}

//! **Control flow**: inference for `if`, `match`, folds, scans and loops.

use super::super::tree::{Expr as Typed, Open, TId};
use super::super::ty::Type;
use super::super::unify::{Mismatch, has_meta};
use super::binder::Indices;
use super::mismatch::Culprit;
use super::scope::ScopeKind;
use super::tail::Tail;
use super::{Checker, Coverage};
use lang_base::{Code, Diagnostic, Span};
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{Arm, ExprId, IndexVar, PatId, TypeId};

/// The parts of a `fold`, or of a `scan` over indices.
pub(super) struct Fold<'t> {
    pub(super) scan: bool,
    pub(super) acc: PatId,
    pub(super) ty: Option<TypeId>,
    pub(super) init: ExprId,
    pub(super) vars: &'t [IndexVar],
    pub(super) body: ExprId,
    pub(super) yields: Option<ExprId>,
}

/// The parts of a `loop` or a `scan … while`.
pub(super) struct Repeat {
    pub(super) scan: bool,
    pub(super) acc: PatId,
    pub(super) ty: Option<TypeId>,
    pub(super) init: ExprId,
    pub(super) cond: ExprId,
    pub(super) body: ExprId,
}

impl Checker<'_> {
    pub(super) fn conditional(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        hint: Option<&Type>,
        tail: Option<&Tail>,
        span: Span,
    ) -> TId {
        let mut wanted: Option<Type> = None;
        let mut typed = Vec::new();
        let mut negations = Vec::new();
        for (cond, then) in arms {
            let c = self.infer(*cond, Some(&Type::BOOL));
            let t = self.metas.shown(&self.nodes[c].ty);
            let c = if let Type::Array(..) = t {
                let at = self.span(c);
                self.report(
                    Diagnostic::new(Code::E0200, at, format!("a condition is one truth value, and this is a `{t}`"))
                        .help("ask `all i: p[i]` or `any i: p[i]`, or choose for each element: `for i: if p[i] then … else …`"),
                );
                self.alloc(Typed::Error, Type::BOOL, at)
            } else {
                self.expect(c, &Type::BOOL, "a condition")
            };
            let scope = self.enter(ScopeKind::Branch);
            self.assume(c, true);
            let node = self.branch(*then, &mut wanted, hint, tail);
            let leaving = self.nodes[node].ty.clone();
            self.leave(scope, &leaving, span);
            typed.push((c, node));
            negations.push(self.enter(ScopeKind::Branch));
            self.assume(c, false);
        }
        let node = self.branch(otherwise, &mut wanted, hint, tail);
        let ty = wanted.unwrap_or_else(|| self.nodes[node].ty.clone());
        for scope in negations.into_iter().rev() {
            let leaving = self.nodes[node].ty.clone();
            self.leave(scope, &leaving, span);
        }
        self.alloc(Typed::If(typed, node), ty, span)
    }

    /// Checks a branch or an arm; the first one determines the type of all.
    ///
    /// If the context expects an array of the same rank and element type, with known sizes, then
    /// its sizes take precedence. One branch may have inferred more special ones.
    fn branch(&mut self, e: ExprId, wanted: &mut Option<Type>, hint: Option<&Type>, tail: Option<&Tail>) -> TId {
        if let Some(tail) = tail {
            *wanted = Some(tail.ty.clone());
            return self.tail(e, tail);
        }
        if let Some(t) = wanted {
            return self.check(e, &t.clone(), "this branch, as for the first one");
        }
        let node = self.infer(e, hint);
        let found = self.metas.zonk(&self.nodes[node].ty);
        let context = hint.map(|h| self.metas.zonk(h)).filter(|h| {
            let ((dims, elem), (like, of)) = (h.peel(), found.peel());
            !dims.is_empty() && dims.len() == like.len() && elem == of && !dims.iter().any(|p| has_meta(p))
        });
        match context {
            Some(t) => {
                *wanted = Some(t.clone());
                self.expect(node, &t, "this branch")
            }
            None => {
                *wanted = Some(self.nodes[node].ty.clone());
                node
            }
        }
    }

    pub(super) fn matching(
        &mut self,
        scrutinee: ExprId,
        arms: &[Arm],
        hint: Option<&Type>,
        tail: Option<&Tail>,
        span: Span,
    ) -> TId {
        let value = self.infer(scrutinee, None);
        let sym = self.faithful(value).filter(|p| self.exact(p)).cloned();
        let mut wanted: Option<Type> = None;
        let mut typed = Vec::new();
        for arm in arms {
            let scope = self.enter(ScopeKind::Branch);
            let ty = self.nodes[value].ty.clone();
            let pat = self.pattern(arm.pat, &ty, sym.clone(), false);
            let node = self.branch(arm.body, &mut wanted, hint, tail);
            let leaving = self.nodes[node].ty.clone();
            self.leave(scope, &leaving, span);
            typed.push((pat, node));
        }
        let Some(ty) = wanted else {
            self.report(
                Diagnostic::new(Code::E0400, span, "a `match` without arms has no value")
                    .help("write `match e { pattern: value, … }`"),
            );
            return self.error_node(span);
        };
        // If a pattern is wrong, the values that it should match are unknown.
        if !arms.iter().any(|a| self.is_wrong(a.pat)) {
            self.coverage.push(Coverage {
                ty: self.nodes[value].ty.clone(),
                pats: typed.iter().map(|(p, _)| p.clone()).collect(),
                spans: arms.iter().map(|a| self.tree.pats[a.pat].span).collect(),
                span: self.expr_span(scrutinee),
            });
        }
        self.alloc(Typed::Match(value, typed), ty, span)
    }

    /// Checks the initial carry.
    fn carry(&mut self, init: ExprId, ty: Option<TypeId>, hint: Option<&Type>) -> TId {
        match ty {
            Some(t) => {
                let wanted = self.written(t);
                self.check_opening(init, &wanted, self.tree.types[t].span, "the first value of the carry")
            }
            None => self.infer(init, hint),
        }
    }

    /// Checks the next carry, which must have the type of the first.
    fn next(&mut self, body: ExprId, carry: &Type) -> TId {
        let node = self.infer(body, Some(carry));
        let found = self.nodes[node].ty.clone();
        match self.unify(&found, carry) {
            Ok(goals) => self.with_goals(node, goals, "the carry, which keeps its sizes", Code::E0213),
            Err(m) => {
                let span = self.span(node);
                let (f, w) = (self.metas.zonk(&found), self.metas.zonk(carry));
                if !f.has_error() && !w.has_error() {
                    let Culprit { node, wanted, part } = self.culprit(node, carry);
                    let (from, to) = (self.metas.shown(&wanted), self.metas.shown(&self.nodes[node].ty));
                    let whose = if part.is_empty() { String::new() } else { format!("{part} of ") };
                    let message = format!("{whose}the carry begins as `{from}` and would become `{to}`");
                    let span = self.span(node);
                    let mut d = Diagnostic::new(Code::E0213, span, message);
                    d = match &m {
                        Mismatch::Size(a, b) => d.label(format!("the size `{a}` stands where `{b}` is wanted")).help(
                            "a carry keeps its sizes; start with all elements and update them: `acc with [i] = e`",
                        ),
                        Mismatch::Scalars(Type::Scalar(_), w) if *w == Type::I64 => {
                            d.help("begin with a real number: `0.0` rather than `0`")
                        }
                        _ => d.help("the body gives the next carry, of the type of the first"),
                    };
                    self.report(d);
                }
                self.alloc(Typed::Error, carry.clone(), span)
            }
        }
    }

    pub(super) fn fold(&mut self, f: &Fold<'_>, hint: Option<&Type>, span: Span) -> TId {
        let hint = hint.map(|h| self.metas.shallow(h));
        let carry_hint = match (f.scan, f.yields.is_some(), &hint) {
            (false, false, Some(t)) => Some(t.clone()),
            (false, true, Some(Type::Tuple(ts))) => ts.first().cloned(),
            (true, _, Some(Type::Array(_, t))) => Some((**t).clone()),
            _ => None,
        };
        let init = self.carry(f.init, f.ty, carry_hint.as_ref());
        let carry = self.nodes[init].ty.clone();
        let kept = f.scan || f.yields.is_some();
        let Indices { scope, vars, extents } = self.index_vars(f.vars, &[], kept);
        let acc = self.pattern(f.acc, &carry, None, true);
        let body = self.next(f.body, &carry);
        let yields = f.yields.map(|e| self.infer(e, None));
        let ty = match (f.scan, yields) {
            (true, _) => {
                let steps = extents.iter().fold(Poly::constant(1), |p, n| p.mul(n));
                Type::array(std::iter::once(steps.add_constant(1)), carry.clone())
            }
            (false, Some(y)) => {
                let outputs = Type::array(extents.iter().cloned(), self.nodes[y].ty.clone());
                Type::Tuple([carry.clone(), outputs].into_iter().collect())
            }
            (false, None) => carry.clone(),
        };
        self.leave(scope, &ty, span);
        self.alloc(Typed::Fold { scan: f.scan, acc, init, vars, body, yields }, ty, span)
    }

    /// Checks `checkpoint k: fold …`. For a `scan … while`, the operand is the `Opened` node around
    /// the loop.
    pub(super) fn checkpoint(&mut self, every: Option<ExprId>, of: ExprId, hint: Option<&Type>, span: Span) -> TId {
        let every = every.map(|k| self.check(k, &Type::I64, "the spacing of checkpoints"));
        if let Some(k) = every
            && self.sym(k).and_then(Poly::as_constant).is_some_and(|k| k < 1)
        {
            let d = Diagnostic::new(Code::E0511, self.span(k), "the spacing of checkpoints is at least 1");
            self.report(d.help("`checkpoint 1:` keeps every state, `checkpoint:` chooses a spacing itself"));
        }
        let of = self.infer(of, hint);
        let ty = self.nodes[of].ty.clone();
        self.alloc(Typed::Checkpoint(every, of), ty, span)
    }

    pub(super) fn repeat(&mut self, r: &Repeat, hint: Option<&Type>, span: Span) -> TId {
        let hint = hint.map(|h| self.metas.shallow(h));
        let carry_hint = match (r.scan, &hint) {
            (false, Some(t)) => Some(t.clone()),
            (true, Some(Type::Array(_, t))) => Some((**t).clone()),
            _ => None,
        };
        let init = self.carry(r.init, r.ty, carry_hint.as_ref());
        let carry = self.nodes[init].ty.clone();
        let scope = self.enter(ScopeKind::Binder);
        let acc = self.pattern(r.acc, &carry, None, true);
        let cond = self.check(r.cond, &Type::BOOL, "the condition of a loop");
        self.assume(cond, true);
        let body = self.next(r.body, &carry);
        self.leave(scope, &carry, span);
        let kind = Typed::Loop { scan: r.scan, acc, init, cond, body };
        if !r.scan {
            return self.alloc(kind, carry, span);
        }
        let l = self.fresh_extent("trips", span);
        let n = self.atom(l);
        self.scopes.assume_nonneg(n.add_constant(-1));
        let ty = Type::array(std::iter::once(n), carry);
        let node = self.alloc(kind, ty.clone(), span);
        self.alloc(Typed::Opened(vec![Open { path: Vec::new(), axis: 0, local: l }], node), ty, span)
    }
}

//! **Control flow**: inference for `if`, `match`, folds, scans and loops.

use super::super::tree::{OpenedExtent, TypedExpr as Typed, TypedId};
use super::super::ty::Type;
use super::super::unify::{Mismatch, has_meta};
use super::binder::BoundIndices;
use super::mismatch::MismatchedPart;
use super::scope::ScopeKind;
use super::tail::TailContext;
use super::{CoverageObligation, TypeChecker};
use lang_base::{Code, Diagnostic, Span};
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{Arm, ExprId, IndexVar, PatId, TypeId};

/// The parts of a `fold`, or of a `scan` over indices.
pub(super) struct FoldParts<'t> {
    pub(super) is_scan: bool,
    pub(super) acc: PatId,
    pub(super) ty: Option<TypeId>,
    pub(super) init: ExprId,
    pub(super) vars: &'t [IndexVar],
    pub(super) body: ExprId,
    pub(super) yields: Option<ExprId>,
}

/// The parts of a `loop` or a `scan … while`.
pub(super) struct LoopParts {
    pub(super) is_scan: bool,
    pub(super) acc: PatId,
    pub(super) ty: Option<TypeId>,
    pub(super) init: ExprId,
    pub(super) cond: ExprId,
    pub(super) body: ExprId,
}

impl TypeChecker<'_> {
    pub(super) fn infer_if(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        hint: Option<&Type>,
        tail: Option<&TailContext>,
        span: Span,
    ) -> TypedId {
        let mut wanted: Option<Type> = None;
        let mut typed = Vec::new();
        let mut negations = Vec::new();
        for (cond, then) in arms {
            let c = self.infer(*cond, Some(&Type::BOOL));
            let t = self.metas.with_defaults(&self.nodes[c].ty);
            let c = if let Type::Array(..) = t {
                let at = self.node_span(c);
                self.report(
                    Diagnostic::new(Code::E0200, at, format!("a condition must be a single truth value, but this has type `{t}`"))
                        .help("write `all i: p[i]` or `any i: p[i]`, or choose for each element: `for i: if p[i] then … else …`"),
                );
                self.alloc(Typed::Error, Type::BOOL, at)
            } else {
                self.require_type(c, &Type::BOOL, "a condition")
            };
            let scope = self.enter_scope(ScopeKind::Branch);
            self.assume_condition(c, true);
            let node = self.check_branch(*then, &mut wanted, hint, tail);
            let leaving = self.nodes[node].ty.clone();
            self.leave_scope(scope, &leaving, span);
            typed.push((c, node));
            negations.push(self.enter_scope(ScopeKind::Branch));
            self.assume_condition(c, false);
        }
        let node = self.check_branch(otherwise, &mut wanted, hint, tail);
        let ty = wanted.unwrap_or_else(|| self.nodes[node].ty.clone());
        for scope in negations.into_iter().rev() {
            let leaving = self.nodes[node].ty.clone();
            self.leave_scope(scope, &leaving, span);
        }
        self.alloc(Typed::If(typed, node), ty, span)
    }

    /// Checks a branch or an arm; the first one determines the type of all.
    ///
    /// If the context expects an array of the same rank and element type, with known sizes, then
    /// its sizes take precedence. One branch may have inferred more special ones.
    fn check_branch(
        &mut self,
        e: ExprId,
        wanted: &mut Option<Type>,
        hint: Option<&Type>,
        tail: Option<&TailContext>,
    ) -> TypedId {
        if let Some(tail) = tail {
            *wanted = Some(tail.ty.clone());
            return self.check_tail(e, tail);
        }
        if let Some(t) = wanted {
            return self.check_expr(e, &t.clone(), "this branch, which must fit the first branch");
        }
        let node = self.infer(e, hint);
        let found = self.metas.zonk(&self.nodes[node].ty);
        let context = hint.map(|h| self.metas.zonk(h)).filter(|h| {
            let ((dims, elem), (like, of)) = (h.split_array(), found.split_array());
            !dims.is_empty() && dims.len() == like.len() && elem == of && !dims.iter().any(|p| has_meta(p))
        });
        match context {
            Some(t) => {
                *wanted = Some(t.clone());
                self.require_type(node, &t, "this branch")
            }
            None => {
                *wanted = Some(self.nodes[node].ty.clone());
                node
            }
        }
    }

    pub(super) fn infer_match(
        &mut self,
        scrutinee: ExprId,
        arms: &[Arm],
        hint: Option<&Type>,
        tail: Option<&TailContext>,
        span: Span,
    ) -> TypedId {
        let value = self.infer(scrutinee, None);
        let sym = self.faithful_poly(value).filter(|p| self.is_exact(p)).cloned();
        let mut wanted: Option<Type> = None;
        let mut typed = Vec::new();
        for arm in arms {
            let scope = self.enter_scope(ScopeKind::Branch);
            let ty = self.nodes[value].ty.clone();
            let pat = self.check_pattern(arm.pat, &ty, sym.clone(), false);
            let node = self.check_branch(arm.body, &mut wanted, hint, tail);
            let leaving = self.nodes[node].ty.clone();
            self.leave_scope(scope, &leaving, span);
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
        if !arms.iter().any(|a| self.is_invalid_pattern(a.pat)) {
            self.coverage_obligations.push(CoverageObligation {
                ty: self.nodes[value].ty.clone(),
                pats: typed.iter().map(|(p, _)| p.clone()).collect(),
                spans: arms.iter().map(|a| self.tree.pats[a.pat].span).collect(),
                span: self.expr_span(scrutinee),
            });
        }
        self.alloc(Typed::Match(value, typed), ty, span)
    }

    /// Checks the initial carry.
    fn check_initial_carry(&mut self, init: ExprId, ty: Option<TypeId>, hint: Option<&Type>) -> TypedId {
        match ty {
            Some(t) => {
                let wanted = self.lower_annotation(t);
                self.check_with_opened_extents(init, &wanted, self.tree.types[t].span, "the initial carry")
            }
            None => self.infer(init, hint),
        }
    }

    /// Checks the next carry, which must have the type of the first.
    fn check_next_carry(&mut self, body: ExprId, carry: &Type) -> TypedId {
        let node = self.infer(body, Some(carry));
        let found = self.nodes[node].ty.clone();
        match self.unify(&found, carry) {
            Ok(goals) => self.wrap_in_goal_checks(node, goals, "the carry, which must keep its sizes", Code::E0213),
            Err(m) => {
                let span = self.node_span(node);
                let (f, w) = (self.metas.zonk(&found), self.metas.zonk(carry));
                if !f.has_error() && !w.has_error() {
                    let MismatchedPart { node, expected: wanted, path: part } = self.find_mismatched_part(node, carry);
                    let (from, to) =
                        (self.metas.with_defaults(&wanted), self.metas.with_defaults(&self.nodes[node].ty));
                    let whose = if part.is_empty() { String::new() } else { format!("{part} of ") };
                    let message = format!("{whose}the carry starts as `{from}` but would become `{to}`");
                    let span = self.node_span(node);
                    let mut d = Diagnostic::new(Code::E0213, span, message);
                    d = match &m {
                        Mismatch::Size(a, b) => d.label(format!("the size `{a}` does not match the expected `{b}`")).help(
                            "a carry must keep its sizes; start with all elements and update them: `acc with [i] = e`",
                        ),
                        Mismatch::Scalars(Type::Scalar(_), w) if *w == Type::I64 => {
                            d.help("start with a real number: `0.0` instead of `0`")
                        }
                        _ => d.help("the body must return the next carry, with the type of the first"),
                    };
                    self.report(d);
                }
                self.alloc(Typed::Error, carry.clone(), span)
            }
        }
    }

    pub(super) fn infer_fold(&mut self, f: &FoldParts<'_>, hint: Option<&Type>, span: Span) -> TypedId {
        let hint = hint.map(|h| self.metas.shallow_resolve(h));
        let carry_hint = match (f.is_scan, f.yields.is_some(), &hint) {
            (false, false, Some(t)) => Some(t.clone()),
            (false, true, Some(Type::Tuple(ts))) => ts.first().cloned(),
            (true, _, Some(Type::Array(_, t))) => Some((**t).clone()),
            _ => None,
        };
        let init = self.check_initial_carry(f.init, f.ty, carry_hint.as_ref());
        let carry = self.nodes[init].ty.clone();
        let kept = f.is_scan || f.yields.is_some();
        let BoundIndices { scope, vars, extents } = self.bind_index_vars(f.vars, &[], kept);
        let acc = self.check_pattern(f.acc, &carry, None, true);
        let body = self.check_next_carry(f.body, &carry);
        let yields = f.yields.map(|e| self.infer(e, None));
        let ty = match (f.is_scan, yields) {
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
        self.leave_scope(scope, &ty, span);
        self.alloc(Typed::Fold { is_scan: f.is_scan, acc, init, vars, body, yields }, ty, span)
    }

    /// Checks `checkpoint k: fold …`. For a `scan … while`, the operand is the `Opened` node around
    /// the loop.
    pub(super) fn infer_checkpoint(
        &mut self,
        every: Option<ExprId>,
        of: ExprId,
        hint: Option<&Type>,
        span: Span,
    ) -> TypedId {
        let every = every.map(|k| self.check_expr(k, &Type::I64, "the checkpoint spacing"));
        if let Some(k) = every
            && self.poly(k).and_then(Poly::as_constant).is_some_and(|k| k < 1)
        {
            let d = Diagnostic::new(Code::E0511, self.node_span(k), "the checkpoint spacing must be at least 1");
            self.report(d.help("`checkpoint 1:` keeps every state; `checkpoint:` chooses the spacing automatically"));
        }
        let of = self.infer(of, hint);
        let ty = self.nodes[of].ty.clone();
        self.alloc(Typed::Checkpoint(every, of), ty, span)
    }

    pub(super) fn infer_loop(&mut self, r: &LoopParts, hint: Option<&Type>, span: Span) -> TypedId {
        let hint = hint.map(|h| self.metas.shallow_resolve(h));
        let carry_hint = match (r.is_scan, &hint) {
            (false, Some(t)) => Some(t.clone()),
            (true, Some(Type::Array(_, t))) => Some((**t).clone()),
            _ => None,
        };
        let init = self.check_initial_carry(r.init, r.ty, carry_hint.as_ref());
        let carry = self.nodes[init].ty.clone();
        let scope = self.enter_scope(ScopeKind::Binder);
        let acc = self.check_pattern(r.acc, &carry, None, true);
        let cond = self.check_expr(r.cond, &Type::BOOL, "the condition of a loop");
        self.assume_condition(cond, true);
        let body = self.check_next_carry(r.body, &carry);
        self.leave_scope(scope, &carry, span);
        let kind = Typed::Loop { is_scan: r.is_scan, acc, init, cond, body };
        if !r.is_scan {
            return self.alloc(kind, carry, span);
        }
        let l = self.fresh_extent("trips", span);
        let n = self.local_size(l);
        self.scopes.assume_nonneg(n.add_constant(-1));
        let ty = Type::array(std::iter::once(n), carry);
        let node = self.alloc(kind, ty.clone(), span);
        self.alloc(Typed::Opened(vec![OpenedExtent { path: Vec::new(), axis: 0, local: l }], node), ty, span)
    }
}

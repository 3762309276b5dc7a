//! **Gen-pushout** (ATL Fig. 9): moves generations outermost, so that everything below them is
//! scalar. It runs after pair elimination and before the conversion to Tensor SSA.
//!
//! An element of a generation is the body at that index (5.21). The access is in bounds wherever it
//! is evaluated, because its check is outside it.

use super::rule_coverage::RuleCoverage;
use super::substitute;
use lang_base::{check_cancelled, ensure_sufficient_stack};
use lang_ir::core::{CoreExpr, ExprKind, ExprRef};
use lang_ir::flat::FlatFunction;
use lang_sizes::predicate::{Poly, Pred};

/// The names under which rules are counted.
pub const RULES: &[&str] = &["5.21", "5.22", "5.23", "5.24"];

/// Returns the function with its generations outermost.
#[must_use]
pub fn push_out_generations(flat: &FlatFunction, hits: &mut RuleCoverage) -> FlatFunction {
    let mut pass = GenerationPusher { hits };
    let bindings = flat.bindings.iter().map(|(x, e)| (*x, pass.push(e))).collect();
    let outputs = flat.outputs.iter().map(|(leaf, e)| (leaf.clone(), pass.push(e))).collect();
    FlatFunction { bindings, outputs, ..flat.clone() }
}

/// Returns whether generations, with the checks around them, are outermost in every expression, and
/// only variables and results of calls are indexed.
#[must_use]
pub fn is_pushed(flat: &FlatFunction) -> bool {
    fn scalar(e: &ExprRef) -> bool {
        let mut good = match &e.kind {
            ExprKind::Gen(..) => false,
            ExprKind::Access(base, _) => {
                matches!(base.kind, ExprKind::Access(..) | ExprKind::Var(_) | ExprKind::Proj(..))
            }
            ExprKind::Guard(_, inner) => !matches!(inner.kind, ExprKind::Guard(..)),
            _ => true,
        };
        e.for_each_child(&mut |e| good = good && ensure_sufficient_stack(|| scalar(e)));
        good
    }
    fn outer(e: &ExprRef) -> bool {
        match &e.kind {
            ExprKind::Gen(_, e) | ExprKind::Check(_, _, e) => outer(e),
            ExprKind::Guard(_, inner)
                if matches!(inner.kind, ExprKind::Check(..) | ExprKind::Proj(..) | ExprKind::Update(..)) =>
            {
                outer(inner)
            }
            ExprKind::Update(_, base, value) => outer(base) && outer(value),
            ExprKind::Proj(call, _) => {
                let (ExprKind::Call(_, _, args) | ExprKind::Loop(_, args)) = &call.kind else { return false };
                args.iter().all(outer)
            }
            _ => scalar(e),
        }
    }
    flat.bindings.iter().map(|b| &b.1).chain(flat.outputs.iter().map(|o| &o.1)).all(outer)
}

struct GenerationPusher<'a> {
    hits: &'a mut RuleCoverage,
}

impl GenerationPusher<'_> {
    fn push(&mut self, e: &ExprRef) -> ExprRef {
        check_cancelled();
        ensure_sufficient_stack(|| match &e.kind {
            ExprKind::Access(base, at) => {
                let base = self.push(base);
                let element = self.element(&base, at);
                // An element of a generation is its body, which has its own span.
                if matches!(element.kind, ExprKind::Access(..)) { CoreExpr::at_span(&element, e.span) } else { element }
            }
            ExprKind::Guard(p, body) => {
                let body = self.push(body);
                self.bracket(p, &body)
            }
            _ => e.map(&mut |e| self.push(e), &Poly::clone, &Pred::clone),
        })
    }

    /// Returns `e[a]` for a pushed `e`.
    fn element(&mut self, e: &ExprRef, at: &Poly) -> ExprRef {
        match &e.kind {
            ExprKind::Gen(index, body) => {
                self.hits.count("5.21");
                let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| at.clone()));
                substitute::substitute_expr(body, &put)
            }
            ExprKind::Guard(p, body) => {
                self.hits.count("5.22");
                let body = self.element(body, at);
                self.bracket(p, &body)
            }
            ExprKind::Check(p, what, body) => {
                let body = self.element(body, at);
                body.with_kind(ExprKind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
            }
            _ => CoreExpr::access(e, at.clone()),
        }
    }

    /// Returns `[p] · e` for a pushed `e`.
    fn bracket(&mut self, p: &Pred, e: &ExprRef) -> ExprRef {
        match &e.kind {
            ExprKind::Gen(index, body) => {
                self.hits.count("5.23");
                let body = self.bracket(p, body);
                CoreExpr::at_span(&CoreExpr::generate(index.clone(), body), e.span)
            }
            ExprKind::Guard(q, body) => {
                self.hits.count("5.24");
                CoreExpr::guard(p.and(q), body.clone())
            }
            _ => CoreExpr::guard(p.clone(), e.clone()),
        }
    }
}

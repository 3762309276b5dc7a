//! **Gen-pushout** (ATL Fig. 9): moves generations outermost, so that everything below them is
//! scalar. It runs after pair elimination and before the conversion to Tensor SSA.
//!
//! An element of a generation is the body at that index (5.21). The access is in bounds wherever it
//! is evaluated, because its check is outside it.

use super::hits::Hits;
use super::substitute;
use lang_base::guarded;
use lang_ir::core::{E, Expr, Kind};
use lang_ir::flat::Flat;
use lang_sizes::predicate::{Poly, Pred};

/// The names under which rules are counted.
pub const RULES: &[&str] = &["5.21", "5.22", "5.23", "5.24"];

/// Returns the function with its generations outermost.
#[must_use]
pub fn push_out(flat: &Flat, hits: &mut Hits) -> Flat {
    let mut pass = Pushout { hits };
    let bindings = flat.bindings.iter().map(|(x, e)| (*x, pass.push(e))).collect();
    let outputs = flat.outputs.iter().map(|(leaf, e)| (leaf.clone(), pass.push(e))).collect();
    Flat { bindings, outputs, ..flat.clone() }
}

/// Returns whether generations, with the checks around them, are outermost in every expression, and
/// only variables and results of calls are indexed.
#[must_use]
pub fn is_pushed(flat: &Flat) -> bool {
    fn scalar(e: &E) -> bool {
        let mut good = match &e.kind {
            Kind::Gen(..) => false,
            Kind::Access(base, _) => matches!(base.kind, Kind::Access(..) | Kind::Var(_) | Kind::Proj(..)),
            Kind::Guard(_, inner) => !matches!(inner.kind, Kind::Guard(..)),
            _ => true,
        };
        e.for_each_child(&mut |e| good = good && guarded(|| scalar(e)));
        good
    }
    fn outer(e: &E) -> bool {
        match &e.kind {
            Kind::Gen(_, e) | Kind::Check(_, _, e) => outer(e),
            Kind::Guard(_, inner) if matches!(inner.kind, Kind::Check(..) | Kind::Proj(..) | Kind::Update(..)) => {
                outer(inner)
            }
            Kind::Update(_, base, value) => outer(base) && outer(value),
            Kind::Proj(call, _) => {
                let (Kind::Call(_, _, args) | Kind::Loop(_, args)) = &call.kind else { return false };
                args.iter().all(outer)
            }
            _ => scalar(e),
        }
    }
    flat.bindings.iter().map(|b| &b.1).chain(flat.outputs.iter().map(|o| &o.1)).all(outer)
}

struct Pushout<'a> {
    hits: &'a mut Hits,
}

impl Pushout<'_> {
    fn push(&mut self, e: &E) -> E {
        guarded(|| match &e.kind {
            Kind::Access(base, at) => {
                let base = self.push(base);
                let element = self.element(&base, at);
                // An element of a generation is its body, which has its own span.
                if matches!(element.kind, Kind::Access(..)) { Expr::at(&element, e.span) } else { element }
            }
            Kind::Guard(p, body) => {
                let body = self.push(body);
                self.bracket(p, &body)
            }
            _ => e.map(&mut |e| self.push(e), &Poly::clone, &Pred::clone),
        })
    }

    /// Returns `e[a]` for a pushed `e`.
    fn element(&mut self, e: &E, at: &Poly) -> E {
        match &e.kind {
            Kind::Gen(index, body) => {
                self.hits.count("5.21");
                let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| at.clone()));
                substitute::expr(body, &put)
            }
            Kind::Guard(p, body) => {
                self.hits.count("5.22");
                let body = self.element(body, at);
                self.bracket(p, &body)
            }
            Kind::Check(p, what, body) => {
                let body = self.element(body, at);
                body.with(Kind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
            }
            _ => Expr::access(e, at.clone()),
        }
    }

    /// Returns `[p] · e` for a pushed `e`.
    fn bracket(&mut self, p: &Pred, e: &E) -> E {
        match &e.kind {
            Kind::Gen(index, body) => {
                self.hits.count("5.23");
                let body = self.bracket(p, body);
                Expr::at(&Expr::generate(index.clone(), body), e.span)
            }
            Kind::Guard(q, body) => {
                self.hits.count("5.24");
                Expr::guard(p.and(q), body.clone())
            }
            _ => Expr::guard(p.clone(), e.clone()),
        }
    }
}

//! **Guarded terms** of sums over arrays and tuples. The terms become an array, which is zero where
//! a term's bracket is false. The bracket is also kept in the sums of the parts, so that these
//! zeros are not added (ATL 4.30).

use super::{E, Elaborator};
use lang_ir::core::{Constant, CoreType, Expr, Kind};
use lang_sizes::predicate::{Index, Pred};
use lang_syntax::ops::Scalar;

/// The terms of a sum by its indices: an element, and the predicate under which it is a term.
pub(super) type Terms = (E, Pred);

impl Elaborator<'_> {
    /// Binds the terms, generated over `indices`, and reads them over `again`.
    pub(super) fn terms(&mut self, terms: &E, indices: &[Index], again: &[Index]) -> Terms {
        let read = |e: &E, over: &[Index]| over.iter().fold(e.clone(), |e, i| Expr::access(&e, i.value()));
        match bracket(terms, indices.len()) {
            None => {
                let terms = self.bind("terms", terms.clone());
                (read(&terms, again), Pred::truth())
            }
            Some(p) if !p.is_opaque() => {
                let put = |a: &_| again.get(indices.iter().position(|i| i.atom() == *a)?).map(Index::value);
                let terms = self.bind("terms", terms.clone());
                (read(&terms, again), p.substitute(&put))
            }
            // The predicate reads data that are known only inside the terms. So each term carries a
            // flag for its bracket.
            Some(_) => {
                let terms = self.bind("terms", told(terms, indices.len()));
                let own: Vec<Index> = again.iter().map(|i| self.vars.index(i.name.clone(), i.extent.clone())).collect();
                let flags = Expr::proj(&read(&terms, &own), 0);
                let flags = own.into_iter().rev().fold(flags, |e, i| Expr::generate(i, e));
                let flags = self.bind("k", flags);
                let at = again.iter().map(Index::value).collect();
                let p = match &flags.kind {
                    Kind::Var(k) => Pred::Is(*k, self.vars.name(*k), at, true),
                    _ => Pred::truth(),
                };
                (Expr::proj(&read(&terms, again), 1), p)
            }
        }
    }
}

/// Returns the conjunction of the brackets around every term, inside `depth` generations.
fn bracket(e: &E, depth: usize) -> Option<Pred> {
    match &e.kind {
        Kind::Gen(_, e) if depth > 0 => bracket(e, depth - 1),
        Kind::Check(_, _, e) | Kind::Let(_, e) => bracket(e, depth),
        Kind::Guard(p, e) if depth == 0 => Some(match &e.kind {
            Kind::Guard(..) => p.and(&bracket(e, depth).unwrap_or_default()),
            _ => p.clone(),
        }),
        _ => None,
    }
}

/// Pairs each term with the value of its bracket.
fn told(e: &E, depth: usize) -> E {
    match &e.kind {
        Kind::Gen(index, body) => Expr::generate(index.clone(), told(body, depth.saturating_sub(1))),
        Kind::Check(p, what, body) => {
            let body = told(body, depth);
            body.with(Kind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
        }
        Kind::Let(bindings, body) => Expr::lets(bindings.clone(), told(body, depth)),
        Kind::Guard(..) => {
            let bool = CoreType::Scalar(Scalar::Bool);
            let p = bracket(e, 0).unwrap_or_default();
            let flag = Expr::guard(p, e.with(Kind::Constant(Constant::Bool(true)), bool.clone()));
            e.with(Kind::Tuple(vec![flag, e.clone()]), CoreType::tuple([bool, e.ty.clone()]))
        }
        _ => e.clone(),
    }
}

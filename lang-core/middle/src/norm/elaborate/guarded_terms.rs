//! **Guarded terms** of sums over arrays and tuples. The terms become an array, which is zero where
//! a term's bracket is false. The bracket is also kept in the sums of the parts, so that these
//! zeros are not added (ATL 4.30).

use super::{Elaborator, ExprRef};
use lang_ir::core::{Constant, CoreExpr, CoreType, ExprKind};
use lang_sizes::predicate::{Index, Pred};
use lang_syntax::ops::Scalar;

/// The terms of a sum by its indices: an element, and the predicate under which it is a term.
pub(super) type GuardedTerm = (ExprRef, Pred);

impl Elaborator<'_> {
    /// Binds the terms, generated over `indices`, and reads them over `read_indices`.
    pub(super) fn bind_guarded_terms(
        &mut self,
        terms: &ExprRef,
        indices: &[Index],
        read_indices: &[Index],
    ) -> GuardedTerm {
        let read = |e: &ExprRef, over: &[Index]| over.iter().fold(e.clone(), |e, i| CoreExpr::access(&e, i.value()));
        match common_bracket(terms, indices.len()) {
            None => {
                let terms = self.bind("terms", terms.clone());
                (read(&terms, read_indices), Pred::truth())
            }
            Some(p) if !p.depends_on_data() => {
                let put = |a: &_| read_indices.get(indices.iter().position(|i| i.atom() == *a)?).map(Index::value);
                let terms = self.bind("terms", terms.clone());
                (read(&terms, read_indices), p.substitute(&put))
            }
            // The predicate reads data that are known only inside the terms. So each term carries a
            // flag for its bracket.
            Some(_) => {
                let terms = self.bind("terms", with_bracket_flags(terms, indices.len()));
                let own: Vec<Index> =
                    read_indices.iter().map(|i| self.vars.fresh_index(i.name.clone(), i.extent.clone())).collect();
                let flags = CoreExpr::proj(&read(&terms, &own), 0);
                let flags = own.into_iter().rev().fold(flags, |e, i| CoreExpr::generate(i, e));
                let flags = self.bind("k", flags);
                let at = read_indices.iter().map(Index::value).collect();
                let p = match &flags.kind {
                    ExprKind::Var(k) => Pred::Element(*k, self.vars.name(*k), at, true),
                    _ => Pred::truth(),
                };
                (CoreExpr::proj(&read(&terms, read_indices), 1), p)
            }
        }
    }
}

/// Returns the conjunction of the brackets around every term, inside `depth` generations.
fn common_bracket(e: &ExprRef, depth: usize) -> Option<Pred> {
    match &e.kind {
        ExprKind::Gen(_, e) if depth > 0 => common_bracket(e, depth - 1),
        ExprKind::Check(_, _, e) | ExprKind::Let(_, e) => common_bracket(e, depth),
        ExprKind::Guard(p, e) if depth == 0 => Some(match &e.kind {
            ExprKind::Guard(..) => p.and(&common_bracket(e, depth).unwrap_or_default()),
            _ => p.clone(),
        }),
        _ => None,
    }
}

/// Pairs each term with the value of its bracket.
fn with_bracket_flags(e: &ExprRef, depth: usize) -> ExprRef {
    match &e.kind {
        ExprKind::Gen(index, body) => {
            CoreExpr::generate(index.clone(), with_bracket_flags(body, depth.saturating_sub(1)))
        }
        ExprKind::Check(p, what, body) => {
            let body = with_bracket_flags(body, depth);
            body.with_kind(ExprKind::Check(p.clone(), what.clone(), body.clone()), body.ty.clone())
        }
        ExprKind::Let(bindings, body) => CoreExpr::lets(bindings.clone(), with_bracket_flags(body, depth)),
        ExprKind::Guard(..) => {
            let bool = CoreType::Scalar(Scalar::Bool);
            let p = common_bracket(e, 0).unwrap_or_default();
            let flag = CoreExpr::guard(p, e.with_kind(ExprKind::Constant(Constant::Bool(true)), bool.clone()));
            e.with_kind(ExprKind::Tuple(vec![flag, e.clone()]), CoreType::tuple([bool, e.ty.clone()]))
        }
        _ => e.clone(),
    }
}

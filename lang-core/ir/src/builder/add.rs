//! **Sums of terms** in solved form: equal terms are merged, and a sum that does not depend on an
//! index is computed without it. In a loop body, terms that affect few elements become updates.

use super::{SsaBuilder, eliminate_index, substitute_indices};
use crate::ssa::{Addend, Rhs, StmtId, TensorAccess, index_number, statement_index};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

impl SsaBuilder {
    /// `Σₖ [pₖ] · ± Xₖ[aₖ]`
    pub fn add(&mut self, dims: &[Poly], scalar: Scalar, terms: &[Addend], mut needs: Vec<u32>) -> StmtId {
        let mut kept = Vec::new();
        for term in terms {
            let Some(inner) = self.read_through_views(&term.operand) else { continue };
            let pred = self.simplify(dims, &self.resolve_pred_reads(&term.pred).and(&inner.pred));
            if pred.is_false() {
                let zero = self.get(inner.access.var).filter(|stmt| stmt.rhs == Rhs::Zero);
                needs.extend(zero.map(|stmt| stmt.needs.clone()).unwrap_or_default());
                continue;
            }
            needs.extend(inner.needs);
            let term = Addend { neg: term.neg ^ inner.neg, pred, operand: inner.access };
            // Two equal terms with disjoint domains become one term over the union. A term whose
            // domain is everything is disjoint from no other.
            let is_mergeable = |t: &&mut Addend| {
                !t.pred.is_true()
                    && (t.neg, &t.operand) == (term.neg, &term.operand)
                    && self.simplify(dims, &t.pred.and(&term.pred)).is_false()
            };
            let other = if term.pred.is_true() { None } else { kept.iter_mut().find(is_mergeable) };
            match other {
                Some(other) => other.pred = self.simplify(dims, &Pred::any_of([other.pred.clone(), term.pred])),
                None => kept.push(term),
            }
        }
        // A sum that does not depend on an index is computed once, if the range of the index is not
        // empty.
        let same = |k: &usize| {
            let atom = statement_index(*k, &Poly::default()).atom();
            !kept.iter().any(|t| t.pred.mentions(&atom) || t.operand.at.iter().any(|p| p.mentions(&atom)))
        };
        if kept.len() > 1
            && let Some(k) = (0..dims.len()).find(same)
        {
            let put = |p: &Poly| eliminate_index(p, k, &Poly::default());
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
            let some = dims.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
            let terms: Vec<Addend> = kept
                .iter()
                .map(|t| Addend {
                    neg: t.neg,
                    pred: some.and(&t.pred.map(&put)),
                    operand: TensorAccess { var: t.operand.var, at: t.operand.at.iter().map(put).collect() },
                })
                .collect();
            let inner = self.add(&rest, scalar, &terms, needs.clone());
            let at =
                (0..dims.len()).filter(|j| *j != k).map(|j| statement_index(j, &Poly::default()).value()).collect();
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[TensorAccess { var: inner, at }], needs);
        }
        if let Some(var) = self.merge_conditional_update(dims, scalar, &kept, &needs) {
            return var;
        }
        match kept.as_slice() {
            [] => self.zero_keeping_failures(dims, scalar, needs),
            [one] => self.view(dims, scalar, one.pred.clone(), one.neg, vec![one.operand.clone()], needs),
            _ if self.is_region && !dims.is_empty() => self.terms_to_updates(dims, scalar, kept, needs),
            _ => self.push(dims.to_vec(), Some(scalar), Rhs::Add(kept), needs),
        }
    }

    /// Returns the only term of a sum that can be present at the read indices, or `Some(None)` if
    /// no term can. So the diagonal of a Jacobian does not need the rest of it. Returns `None` if
    /// several terms may be present, or if the sum needs checks that the reader does not.
    pub(super) fn single_term(
        &self,
        dims: &[Poly],
        pred: &Pred,
        read: &[TensorAccess],
        needs: &[u32],
    ) -> Option<Option<Addend>> {
        let [read] = read else { return None };
        let stmt = self.get(read.var)?;
        let Rhs::Add(terms) = &stmt.rhs else { return None };
        if read.at.len() != stmt.dims.len() || !stmt.needs.iter().all(|c| needs.contains(c)) {
            return None;
        }
        let put = |p: &Poly| substitute_indices(p, &read.at);
        let mut only = None;
        for term in terms {
            let pred = self.simplify(dims, &pred.and(&term.pred.map(&put)));
            if pred.is_false() {
                continue;
            }
            if only.is_some() {
                return None;
            }
            let of = TensorAccess { var: term.operand.var, at: term.operand.at.iter().map(put).collect() };
            only = Some(Addend { neg: term.neg, pred, operand: of });
        }
        Some(only)
    }

    /// Rewrites `[p] · (X with [a] = v if p) + [!p] · X` to `X with [a] = v if p`, also for a chain
    /// of updates.
    fn merge_conditional_update(
        &mut self,
        dims: &[Poly],
        scalar: Scalar,
        terms: &[Addend],
        needs: &[u32],
    ) -> Option<StmtId> {
        let [a, b] = terms else { return None };
        let own: Vec<Poly> = dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
        let whole = |t: &Addend| !t.neg && t.operand.at == own && self.dims(t.operand.var) == dims;
        if !(whole(a) && whole(b)) || a.pred != b.pred.negated() {
            return None;
        }
        let (mut var, updates, mut needs) = [(a, b), (b, a)].iter().find_map(|(new, old)| {
            let (mut updates, mut needs) = (Vec::new(), needs.to_vec());
            let mut at = new.operand.var;
            while at != old.operand.var {
                let stmt = self.get(at)?;
                let Rhs::Update { base, batch, pred, .. } = &stmt.rhs else { return None };
                let outer = dims.get(..*batch as usize)?;
                let below =
                    (outer.len()..dims.len()).all(|k| !new.pred.mentions(&statement_index(k, &Poly::default()).atom()));
                let is_guarded = new.pred.conjuncts().iter().all(|p| pred.conjuncts().contains(p));
                let (seen, more) =
                    self.resolve_subarray(base, outer, pred).unwrap_or_else(|| (base.clone(), Vec::new()));
                if stmt.dims != dims || !below || !is_guarded || seen.at.as_slice() != own.get(..outer.len())? {
                    return None;
                }
                needs.extend(stmt.needs.iter().copied().chain(more));
                updates.push(stmt.rhs.clone());
                at = seen.var;
            }
            (!updates.is_empty()).then_some((old.operand.var, updates, needs))
        })?;
        needs.sort_unstable();
        needs.dedup();
        for update in updates.into_iter().rev() {
            if let Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } = update {
                let base = TensorAccess { var, at: base.at };
                let of = Rhs::Update { base, batch, bound, pred, at, value, accumulate: add };
                var = self.update(dims, scalar, of, needs.clone());
            }
        }
        Some(var)
    }

    /// Builds a sum of which one term is a whole tensor. A term with indices that equations
    /// determine becomes an update of that tensor.
    fn terms_to_updates(&mut self, dims: &[Poly], scalar: Scalar, mut terms: Vec<Addend>, needs: Vec<u32>) -> StmtId {
        let own: Vec<Poly> = dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
        let whole = |t: &Addend| t.pred.is_true() && !t.neg && t.operand.at == own && self.dims(t.operand.var) == dims;
        let Some(first) = terms.iter().position(whole) else {
            return self.push(dims.to_vec(), Some(scalar), Rhs::Add(terms), needs);
        };
        let base = terms.remove(first);
        let (few, rest): (Vec<_>, Vec<_>) =
            terms.into_iter().map(|t| (term_as_update(dims, &t), t)).partition(|(u, _)| u.is_some());
        let mut var = base.operand.var;
        if !rest.is_empty() {
            let rest = std::iter::once(base).chain(rest.into_iter().map(|(_, t)| t)).collect();
            var = self.push(dims.to_vec(), Some(scalar), Rhs::Add(rest), needs.clone());
        }
        for (update, term) in few {
            let Some((bound, pred, at, mut value)) = update else { continue };
            if term.neg {
                let own = (0..bound.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
                let down = |p: &Poly| lower_bound_indices(p, dims.len());
                let of = TensorAccess { var: value.var, at: value.at.iter().map(down).collect() };
                let negated = self.contract(&bound, Vec::new(), &pred.map(&down), true, &[of], needs.clone());
                let up = |p: &Poly| {
                    substitute_indices(
                        p,
                        &(0..bound.len())
                            .map(|k| statement_index(dims.len() + k, &Poly::default()).value())
                            .collect::<Vec<_>>(),
                    )
                };
                let at: Vec<Poly> = own;
                value = TensorAccess { var: negated, at: at.iter().map(up).collect() };
            }
            let base = TensorAccess { var, at: Vec::new() };
            let of = Rhs::Update { base, batch: 0, bound, pred, at, value, accumulate: true };
            var = self.update(dims, scalar, of, needs.clone());
        }
        var
    }
}

/// Renumbers bound indices, which follow the `by` indices of a statement, as the indices of a
/// separate statement.
fn lower_bound_indices(p: &Poly, by: usize) -> Poly {
    p.substitute(&|a| match a {
        Atom::Local(l, _) => Some(statement_index(index_number(*l)?.checked_sub(by)?, &Poly::default()).value()),
        _ => None,
    })
}

/// Returns the update for a term, if equations determine some of its indices: the extents of the
/// bound indices, the predicate, the element and the addend. All are over the bound indices.
fn term_as_update(dims: &[Poly], term: &Addend) -> Option<(Vec<Poly>, Pred, Vec<Poly>, TensorAccess)> {
    let n = dims.len();
    let mut solutions: Vec<Option<Poly>> = vec![None; n];
    for k in (0..n).rev() {
        let atom = statement_index(k, &Poly::default()).atom();
        let Some(value) = term.pred.solve_for(&atom) else { continue };
        let clear = (0..n).all(|j| {
            let other = statement_index(j, &Poly::default()).atom();
            let other_solution = solutions.get(j).and_then(Option::as_ref);
            other_solution.is_none_or(|solution| !value.mentions(&other) && !solution.mentions(&atom))
        });
        if clear && let Some(slot) = solutions.get_mut(k) {
            *slot = Some(value);
        }
    }
    if solutions.iter().all(Option::is_none) {
        return None;
    }
    let mut free = 0;
    let places: Vec<Option<usize>> = solutions
        .iter()
        .map(|t| {
            free += usize::from(t.is_none());
            t.is_none().then(|| n + free - 1)
        })
        .collect();
    let free_at = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => Some(statement_index((*places.get(index_number(*l)?)?)?, &Poly::default()).value()),
            _ => None,
        })
    };
    let at: Vec<Poly> = (0..n)
        .map(|k| match solutions.get(k) {
            Some(Some(value)) => free_at(value),
            _ => free_at(&statement_index(k, &Poly::default()).value()),
        })
        .collect();
    let put = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => at.get(index_number(*l)?).cloned(),
            _ => None,
        })
    };
    let inside =
        solutions.iter().zip(&at).zip(dims).filter(|((t, _), _)| t.is_some()).map(|((_, a), n)| Pred::in_range(a, n));
    let pred = Pred::all(inside.chain([term.pred.map(&put)]));
    let value = TensorAccess { var: term.operand.var, at: term.operand.at.iter().map(put).collect() };
    let bound = dims.iter().zip(&solutions).filter(|(_, t)| t.is_none()).map(|(n, _)| n.clone()).collect();
    Some((bound, pred, at, value))
}

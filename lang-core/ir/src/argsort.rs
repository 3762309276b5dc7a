//! **Sorting permutations** (`argsort`): the positions along an axis in ascending order of their
//! keys, in core, in Tensor SSA and in solved form. Sorting and filtering gather at these
//! positions.
//!
//! The sort is stable: equal keys keep their order. As in the interpreter, the two zeros are equal
//! and a NaN sorts after every number. `true` sorts before `false`. So the first positions, as many
//! as the condition holds at, are those where it holds.
//!
//! The work is the number of comparisons of reals. The evaluators use merge sort, which takes at
//! most [`max_comparisons`] comparisons. Comparisons of truth values cost nothing.

use std::cmp::Ordering;

use super::builder::{SsaBuilder, eliminate_index, find_pinned_index};
use super::ssa::{Rhs, StmtId, TensorAccess, statement_index};
use super::value::IrValue;
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};
use lang_syntax::ops::Scalar;

/// `[p] · argsort i: X[a]` in Tensor SSA, where `i` is the last index of the statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Argsort {
    /// The domain, over the indices before the last. The result is zero elsewhere.
    pub pred: Pred,
    /// The keys, at every value of the last index.
    pub keys: TensorAccess,
}

impl Argsort {
    /// Maps the predicate and the access.
    #[must_use]
    pub fn map(&self, pred: &dyn Fn(&Pred) -> Pred, access: &mut dyn FnMut(&TensorAccess) -> TensorAccess) -> Self {
        Self { pred: pred(&self.pred), keys: access(&self.keys) }
    }

    /// Substitutes the indices.
    #[must_use]
    pub fn substitute_indices(&self, poly: &dyn Fn(&Poly) -> Poly) -> Self {
        let at = self.keys.at.iter().map(poly).collect();
        Self { pred: self.pred.map(poly), keys: TensorAccess { var: self.keys.var, at } }
    }
}

/// Compares two keys. Returns `None` if they have different types or are not scalars.
#[must_use]
pub fn compare_keys(a: &IrValue, b: &IrValue) -> Option<Ordering> {
    let real = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    Some(match (a, b) {
        (IrValue::F64(a), IrValue::F64(b)) => real(*a, *b),
        (IrValue::F32(a), IrValue::F32(b)) => real(f64::from(*a), f64::from(*b)),
        (IrValue::I64(a), IrValue::I64(b)) => a.cmp(b),
        (IrValue::Bool(a), IrValue::Bool(b)) => b.cmp(a),
        _ => return None,
    })
}

/// Returns the positions in sorted order, and the number of comparisons of reals. Returns `None` if
/// the keys have different types.
#[must_use]
pub fn sorted_positions(keys: &[IrValue]) -> Option<(Vec<usize>, u64)> {
    let mut compared = 0;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::with_capacity(order.len());
        for two in order.chunks(2 * width) {
            let (left, right) = two.split_at(width.min(two.len()));
            merge_runs(keys, left, right, &mut merged, &mut compared)?;
        }
        order = merged;
        width *= 2;
    }
    Some((order, if keys.first().is_some_and(IrValue::is_real) { compared } else { 0 }))
}

fn merge_runs(keys: &[IrValue], left: &[usize], right: &[usize], out: &mut Vec<usize>, count: &mut u64) -> Option<()> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(i), Some(j)) = (left.peek(), right.peek()) {
        *count += 1;
        let after = compare_keys(keys.get(**i)?, keys.get(**j)?)? == Ordering::Greater;
        out.extend(if after { right.next() } else { left.next() });
    }
    out.extend(left.chain(right));
    Some(())
}

/// Returns the maximal number of comparisons in a merge sort of `n` keys.
#[must_use]
pub fn max_comparisons(n: u64) -> u64 {
    let (mut total, mut width) = (0_u64, 1_u64);
    while width < n {
        // Merging two runs takes at most one comparison fewer than they have elements.
        let two = width.saturating_mul(2);
        let rest = n % two;
        let last = if rest > width { rest - 1 } else { 0 };
        total = total.saturating_add((n / two).saturating_mul(two - 1)).saturating_add(last);
        width = two;
    }
    total
}

impl SsaBuilder {
    /// Returns the facts about indices in their ranges, and about the sorted positions that a
    /// predicate reads.
    pub(super) fn context_with_positions(&self, dims: &[Poly], pred: &Pred) -> FactContext {
        let mut context = self.context(dims);
        let mut known = Vec::new();
        pred.visit(&mut |p| p.for_each_atom(&mut |a| known.extend(self.position_fact(&context, a))), &mut |_| {});
        known.iter().for_each(|p| context.assume(p));
        context
    }

    /// Returns the fact that an element of a sorting permutation is a position of its axis, if it
    /// is read in bounds.
    fn position_fact(&self, context: &FactContext, atom: &Atom) -> Option<Pred> {
        let Atom::Read(x, _, at) = atom else { return None };
        let stmt = self.get(StmtId::from_local(*x)?)?;
        let Rhs::Argsort(_) = &stmt.rhs else { return None };
        let inside = at.iter().zip(&stmt.dims).all(|(i, n)| context.implies(&Pred::in_range(i, n)));
        inside.then(|| Some(Pred::in_range(&Poly::atom(atom.clone()), stmt.dims.last()?)))?
    }

    /// Builds a sorting permutation in solved form. An index that equations pin is eliminated, and
    /// a permutation that does not depend on an index is computed once.
    pub fn argsort(&mut self, dims: &[Poly], order: Argsort, mut needs: Vec<u32>) -> StmtId {
        let Some(last) = dims.len().checked_sub(1) else { return self.zero(dims, Scalar::I64) };
        let mut o = order;
        o.pred = self.simplify(dims, &self.resolve_pred_reads(&o.pred));
        if o.pred.is_false() {
            return self.zero(dims, Scalar::I64);
        }
        match self.read_through_views(&o.keys) {
            Some(inner) if !inner.neg && self.implies(dims, &o.pred, &inner.pred) => {
                needs.extend(inner.needs);
                o.keys = inner.access;
            }
            _ => needs.extend(self.needs_of(o.keys.var)),
        }
        // If the keys do not depend on the last index, they are all equal, and the permutation is
        // the identity.
        if !o.keys.at.iter().any(|p| p.mentions(&statement_index(last, &Poly::default()).atom())) {
            let own = statement_index(last, &Poly::default()).value();
            let var = self.push(dims.to_vec(), Some(Scalar::I64), Rhs::Index(own), Vec::new());
            let at = dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
            return self.contract(dims, Vec::new(), &o.pred, false, &[TensorAccess { var, at }], needs);
        }
        if let Some((k, value)) = find_pinned_index(last, &o.pred, false) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| eliminate_index(p, k, &value);
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::in_range(&put(&value), &put(n)));
            let mut inner = o.substitute_indices(&put);
            inner.pred = inside.and(&inner.pred);
            let inner = self.argsort(&rest, inner, needs.clone());
            return self.reinsert_index(dims, k, &value, &o.pred, inner, needs);
        }
        let same = |k: &usize| {
            let atom = statement_index(*k, &Poly::default()).atom();
            !o.pred.mentions(&atom) && !o.keys.at.iter().any(|p| p.mentions(&atom))
        };
        if let Some(k) = (0..last).find(same) {
            let put = |p: &Poly| eliminate_index(p, k, &Poly::default());
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
            let some = dims.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
            let mut inner = o.substitute_indices(&put);
            inner.pred = some.and(&inner.pred);
            let var = self.argsort(&rest, inner, needs.clone());
            let at =
                (0..dims.len()).filter(|j| *j != k).map(|j| statement_index(j, &Poly::default()).value()).collect();
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[TensorAccess { var, at }], needs);
        }
        self.push(dims.to_vec(), Some(Scalar::I64), Rhs::Argsort(o), needs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The result ascends, is stable, and takes at most `max_comparisons` comparisons.
        #[test]
        fn stable_and_bounded(keys in prop::collection::vec(prop_oneof![
            4 => (-3_i32..4).prop_map(f64::from), 1 => Just(f64::NAN), 1 => Just(-0.0), 1 => Just(f64::INFINITY)
        ], 0..40)) {
            let values: Vec<IrValue> = keys.iter().map(|x| IrValue::F64(*x)).collect();
            let (order, count) = sorted_positions(&values).unwrap_or_default();
            let mut wanted: Vec<usize> = (0..keys.len()).collect();
            wanted.sort_by(|i, j| (keys[*i].is_nan(), if keys[*i].is_nan() { 0.0 } else { keys[*i] + 0.0 })
                .partial_cmp(&(keys[*j].is_nan(), if keys[*j].is_nan() { 0.0 } else { keys[*j] + 0.0 }))
                .unwrap_or(Ordering::Equal));
            prop_assert_eq!(order, wanted);
            prop_assert!(count <= max_comparisons(keys.len() as u64));
        }
    }

    #[test]
    fn most_is_reached() {
        // Merging two runs whose elements alternate compares all elements but the last.
        let keys: Vec<IrValue> = [0, 4, 2, 6, 1, 5, 3, 7].into_iter().map(|x| IrValue::F64(f64::from(x))).collect();
        assert_eq!(sorted_positions(&keys).map(|p| p.1), Some(max_comparisons(8)));
        assert_eq!([0, 1, 2, 3, 5, 8].map(max_comparisons), [0, 0, 1, 3, 9, 17]);
    }

    #[test]
    fn those_that_hold_come_first() {
        let keys = [false, true, false, true].map(IrValue::Bool);
        assert_eq!(sorted_positions(&keys), Some((vec![1, 3, 0, 2], 0)));
    }
}

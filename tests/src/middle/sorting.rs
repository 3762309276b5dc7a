//! **Sorting** of core by its definition, on dual numbers with error bounds. An element follows
//! those that are less and equal elements before it. A comparison is decided if the two differ by
//! more than rounding, are exact, or were computed in the same way.

use lang_core::ir::core::ExprRef;
use lang_core::predicate::Index;

use super::reference::{DualValue, Reference, ReferenceFrame, ReferenceResult, ReferenceStop};

impl Reference<'_> {
    /// Evaluates the permutation that sorts an expression's values over an index.
    pub(super) fn order(
        &mut self,
        f: &mut ReferenceFrame,
        index: &Index,
        body: &ExprRef,
    ) -> ReferenceResult<DualValue> {
        let mut keys = Vec::new();
        for i in 0..self.poly(f, &index.extent)? {
            self.step()?;
            f.insert(index.local, DualValue::Int(i));
            keys.push(self.eval(f, body)?);
        }
        let mut order = vec![DualValue::Int(0); keys.len()];
        for (i, key) in keys.iter().enumerate() {
            let mut rank = 0;
            for (j, other) in keys.iter().enumerate() {
                self.step()?;
                let before = j != i && (less(other, key)? || j < i && !less(key, other)?);
                rank += usize::from(before);
            }
            let position = i64::try_from(i).map_err(|_| ReferenceStop::Fuel)?;
            *order.get_mut(rank).ok_or(ReferenceStop::Broken("a rank"))? = DualValue::Int(position);
        }
        Ok(DualValue::Array(order))
    }
}

/// Compares two keys. A NaN is greater than every number and not less than anything; `true`
/// precedes `false`.
fn less(a: &DualValue, b: &DualValue) -> ReferenceResult<bool> {
    Ok(match (a, b) {
        (DualValue::Int(a), DualValue::Int(b)) => a < b,
        (DualValue::Bool(a), DualValue::Bool(b)) => *a && !*b,
        (DualValue::Real(a, _), DualValue::Real(b, _)) => {
            let same = (a.value == b.value || a.value.is_nan() && b.value.is_nan())
                && (a.error.to_bits(), a.size.to_bits()) == (b.error.to_bits(), b.size.to_bits());
            let exact = a.error == 0.0 && b.error == 0.0;
            let disjoint = (a.value - b.value).abs() > a.error + b.error;
            if !(same || exact || disjoint) {
                return Err(ReferenceStop::Undecided);
            }
            !a.value.is_nan() && (b.value.is_nan() || a.value < b.value)
        }
        _ => return Err(ReferenceStop::Broken("the keys of a sort")),
    })
}

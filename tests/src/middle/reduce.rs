//! **Reductions** of core by their definition, on dual numbers with error bounds. The choice
//! between two terms is decided if they differ by more than rounding, are exact, or were computed
//! in the same way.

use lang_core::ir::reduce::{CoreReduction, Reducer};
use lang_core::syntax::ops::Scalar;

use super::error_bounds::Number;
use super::reference::{DualValue, Reference, ReferenceFrame, ReferenceResult, ReferenceStop, times};

impl Reference<'_> {
    /// Evaluates a reduction.
    pub(super) fn reduction(&mut self, f: &mut ReferenceFrame, r: &CoreReduction) -> ReferenceResult<DualValue> {
        let mut terms = Vec::new();
        self.terms(f, r, 0, &mut terms)?;
        let scalar = r.body.ty.scalar().ok_or(ReferenceStop::Broken("a reduction of scalars"))?;
        let single = scalar == Scalar::F32;
        let nothing = |x: f64| DualValue::Real(Number::exact(x, single), Number::zero(single));
        Ok(match (r.reducer, terms.is_empty()) {
            (Reducer::Argmax | Reducer::Argmin, true) => DualValue::Int(-1),
            (Reducer::Prod, true) if scalar == Scalar::I64 => DualValue::Int(1),
            (Reducer::Prod, true) => nothing(1.0),
            (_, true) if scalar == Scalar::I64 => DualValue::Int(0),
            (Reducer::Max, true) => nothing(f64::NEG_INFINITY),
            (Reducer::Min, true) => nothing(f64::INFINITY),
            (Reducer::Prod, false) => {
                let mut all = terms.into_iter().map(|(term, _)| term);
                let first = all.next().ok_or(ReferenceStop::Broken("a term"))?;
                all.try_fold(first, |product, term| times(&product, &term))?
            }
            (Reducer::Max | Reducer::Argmax, false) => chosen(&terms, r.reducer, true)?,
            (Reducer::Min | Reducer::Argmin, false) => chosen(&terms, r.reducer, false)?,
        })
    }

    /// Collects the terms in order, each with its position.
    fn terms(
        &mut self,
        f: &mut ReferenceFrame,
        r: &CoreReduction,
        depth: usize,
        out: &mut Vec<(DualValue, i64)>,
    ) -> ReferenceResult<()> {
        let Some(index) = r.indices.get(depth) else {
            if self.holds(f, &r.filter)? {
                let place = self.poly(f, &r.arg_value)?;
                let term = self.eval(f, &r.body)?;
                out.push((term, place));
            }
            return Ok(());
        };
        for i in 0..self.poly(f, &index.extent)? {
            self.step()?;
            f.insert(index.local, DualValue::Int(i));
            self.terms(f, r, depth + 1, out)?;
        }
        Ok(())
    }
}

/// Returns the first best term, or its position.
fn chosen(terms: &[(DualValue, i64)], reducer: Reducer, greatest: bool) -> ReferenceResult<DualValue> {
    let mut best: Option<&(DualValue, i64)> = None;
    for term in terms {
        let better = match best {
            None => true,
            Some((old, _)) => beats(&term.0, old, greatest)?,
        };
        best = if better { Some(term) } else { best };
    }
    let (value, place) = best.ok_or(ReferenceStop::Broken("a term"))?;
    let mut value = value.clone();
    if let DualValue::Real(x, t) = &mut value {
        let before = *x;
        for (other, _) in terms {
            let DualValue::Real(y, u) = other else { return Err(ReferenceStop::Broken("a real")) };
            let same = (before.value == y.value || before.value.is_nan() && y.value.is_nan())
                && (before.error.to_bits(), before.size.to_bits()) == (y.error.to_bits(), y.size.to_bits());
            let disjoint = (before.value - y.value).abs() > before.error + y.error;
            if same || disjoint || before.error == 0.0 && y.error == 0.0 {
                continue;
            }
            if reducer.is_arg_reduction() || !t.is_nothing() || !u.is_nothing() {
                return Err(ReferenceStop::Undecided);
            }
            x.error = x.error.max((before.value - y.value).abs() + y.error);
        }
    }
    Ok(if reducer.is_arg_reduction() { DualValue::Int(*place) } else { value })
}

/// Returns whether a term replaces the best so far. A NaN beats every number, but not another NaN.
fn beats(term: &DualValue, best: &DualValue, greatest: bool) -> ReferenceResult<bool> {
    Ok(match (term, best) {
        (DualValue::Int(a), DualValue::Int(b)) => (a > b) == greatest && a != b,
        (DualValue::Real(a, _), DualValue::Real(b, _)) => {
            let (a, b) = (a.value, b.value);
            !b.is_nan() && (a.is_nan() || if greatest { a > b } else { a < b })
        }
        _ => return Err(ReferenceStop::Broken("terms that are compared")),
    })
}

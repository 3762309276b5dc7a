//! **Scalar statements.** Evaluates a statement with one element directly, without a loop nest and
//! rows. Most statements in the bodies of loops are scalar.

use super::affine::IndexTranslator;
use super::statement::NO_ELEMENTS;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::ssa::{Addend, TensorAccess};
use lang_sizes::predicate::Pred;

impl RunState<'_> {
    /// Creates a tensor of one number.
    pub(super) fn scalar_tensor<T: TensorElement>(&self, x: T) -> Result<Tensor, RunError> {
        Ok(TensorBuilder::filled(self, Vec::new(), x)?.finish())
    }

    /// Returns whether a predicate without indices holds and reads nothing out of bounds.
    pub(super) fn holds_without_indices(&self, pred: &Pred) -> Result<bool, RunError> {
        if pred.is_true() {
            return Ok(true);
        }
        let mut names = IndexTranslator::new(self, &[]);
        let test = names.test(pred)?;
        test.holds_in_bounds(&mut vec![0; names.slots])
    }

    /// Returns the element of an access in a statement without indices.
    pub(super) fn scalar_element<T: TensorElement>(&self, of: &TensorAccess) -> Result<T, RunError> {
        if of.at.is_empty() {
            let items = self.tensor(of.var).and_then(Tensor::items::<T>);
            return items.and_then(|items| items.first()).copied().ok_or(NO_ELEMENTS);
        }
        let (tensor, place) = IndexTranslator::new(self, &[]).access(of)?;
        let place = usize::try_from(place.value(&[])?).map_err(|_| NO_ELEMENTS)?;
        tensor.items::<T>().and_then(|items| items.get(place)).copied().ok_or(NO_ELEMENTS)
    }

    /// Computes `[p] · ± X₀ · X₁`.
    pub(super) fn scalar_product<T: TensorElement>(
        &self,
        pred: &Pred,
        neg: bool,
        factors: &[TensorAccess],
    ) -> Result<Tensor, RunError> {
        if !self.holds_without_indices(pred)? {
            return self.scalar_tensor(T::ZERO);
        }
        let (first, others) = factors.split_first().ok_or(RunError::Internal("a factor"))?;
        let mut product = self.scalar_element::<T>(first)?;
        for factor in others {
            product = product.times(self.scalar_element(factor)?);
        }
        self.scalar_tensor(if neg { product.negated() } else { product })
    }

    /// Computes `Σₖ [pₖ] · ± Xₖ`.
    pub(super) fn scalar_sum<T: TensorElement>(&self, items: &[Addend]) -> Result<Tensor, RunError> {
        let mut sum: Option<T> = None;
        for item in items {
            if self.holds_without_indices(&item.pred)? {
                let value = self.scalar_element::<T>(&item.operand)?;
                let value = if item.neg { value.negated() } else { value };
                sum = Some(sum.map_or(value, |sum| sum.plus(value)));
            }
        }
        self.scalar_tensor(sum.unwrap_or(T::ZERO))
    }
}

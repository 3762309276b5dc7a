//! **Scalar statements.** Evaluates a statement with one element directly, without a loop nest and
//! rows. Most statements in the bodies of loops are scalar.

use super::number::Names;
use super::statement::NO_ELEMENTS;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_ir::ssa::{Access, Addend};
use lang_sizes::predicate::Pred;

impl Run<'_> {
    /// Creates a tensor of one number.
    pub(super) fn one<T: Number>(&self, x: T) -> Result<Tensor, Stopped> {
        Ok(Room::filled(self, Vec::new(), x)?.done())
    }

    /// Returns whether a predicate without indices holds and reads nothing out of bounds.
    pub(super) fn is_so(&self, pred: &Pred) -> Result<bool, Stopped> {
        if pred.is_true() {
            return Ok(true);
        }
        let mut names = Names::new(self, &[]);
        let test = names.test(pred)?;
        test.asked(&mut vec![0; names.slots])
    }

    /// Returns the element of an access without indices.
    pub(super) fn number<T: Number>(&self, of: &Access) -> Result<T, Stopped> {
        if of.at.is_empty() {
            let items = self.tensor(of.var).and_then(Tensor::items::<T>);
            return items.and_then(|items| items.first()).copied().ok_or(NO_ELEMENTS);
        }
        let (tensor, place) = Names::new(self, &[]).access(of)?;
        let place = usize::try_from(place.value(&[])?).map_err(|_| NO_ELEMENTS)?;
        tensor.items::<T>().and_then(|items| items.get(place)).copied().ok_or(NO_ELEMENTS)
    }

    /// Computes `[p] · ± X₀ · X₁`.
    pub(super) fn product<T: Number>(&self, pred: &Pred, neg: bool, factors: &[Access]) -> Result<Tensor, Stopped> {
        if !self.is_so(pred)? {
            return self.one(T::ZERO);
        }
        let (first, others) = factors.split_first().ok_or(Stopped::Broken("a factor"))?;
        let mut product = self.number::<T>(first)?;
        for factor in others {
            product = product.times(self.number(factor)?);
        }
        self.one(if neg { product.negated() } else { product })
    }

    /// Computes `Σₖ [pₖ] · ± Xₖ`.
    pub(super) fn sum<T: Number>(&self, items: &[Addend]) -> Result<Tensor, Stopped> {
        let mut sum: Option<T> = None;
        for item in items {
            if self.is_so(&item.pred)? {
                let value = self.number::<T>(&item.of)?;
                let value = if item.neg { value.negated() } else { value };
                sum = Some(sum.map_or(value, |sum| sum.plus(value)));
            }
        }
        self.one(sum.unwrap_or(T::ZERO))
    }
}

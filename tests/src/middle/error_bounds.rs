//! **Running error analysis.** Reals with a bound on how far another order of the same additions
//! and multiplications may lie from the value. If all terms are multiples of one power of two, and
//! small enough, every order is exact. Then the bound is 0, and values are compared bit for bit.

use std::sync::LazyLock;

use crate::golden::Tolerances;

/// A real with its error bound.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The value, as computed in the order of the program.
    pub value: f64,
    /// The value with every term replaced by its absolute value, which bounds each partial sum of
    /// each order.
    pub size: f64,
    /// The greatest distance of another order's value from this one.
    pub error: f64,
    /// The exponent of a power of two that divides every term.
    pub grain: i32,
    /// Whether the value has single precision.
    pub single: bool,
}

/// The grain of zero, which every power of two divides.
const COARSE: i32 = 1 << 20;

/// The number of roundings of a scalar function with inexact arguments, and of a partial
/// derivative's formula.
static ROUNDINGS: LazyLock<(f64, f64)> = LazyLock::new(|| {
    let forms = Tolerances::of("forms");
    let of = |name| forms.as_ref().map_or(0.0, |forms| forms.get(name).relative);
    (of("function"), of("partial"))
});

impl Number {
    /// Returns an exact number.
    #[must_use]
    pub fn exact(value: f64, single: bool) -> Self {
        Self { value, size: value.abs(), error: 0.0, grain: grain(value), single }
    }

    /// Returns zero.
    #[must_use]
    pub fn zero(single: bool) -> Self {
        Self::exact(0.0, single)
    }

    /// Returns whether the value is zero in every order of evaluation.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.size == 0.0 && self.error == 0.0 && self.value == 0.0
    }

    /// Returns half a unit in the last place of 1.
    fn unit(&self) -> f64 {
        if self.single { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 }
    }

    fn rounded(&self, x: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is meant")]
        if self.single { f64::from(x as f32) } else { x }
    }

    /// Returns the result of a ring operation. Nothing is lost in any order if the result fits into
    /// the significand.
    fn ring_result(&self, value: f64, size: f64, error: f64, grain: i32) -> Self {
        let (digits, least, most) = if self.single { (24, -149, 128) } else { (53, -1074, 1024) };
        let fits = size == 0.0 || grain >= least && size <= power(grain.saturating_add(digits)) && size < power(most);
        let lost = if fits { 0.0 } else { self.unit() * size + power(least) };
        Self { value: self.rounded(value), size, error: bound(error + lost), grain, single: self.single }
    }

    /// Returns the sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let grain = self.grain.min(other.grain);
        self.ring_result(self.value + other.value, self.size + other.size, self.error + other.error, grain)
    }

    /// Returns the product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let grain = self.grain.saturating_add(other.grain).min(COARSE);
        let error = cross(self.size, other.error) + cross(other.size, self.error) + cross(self.error, other.error);
        let value = self.value * other.value;
        // The forms skip a product of zero and infinity as a masked term; the interpreter returns
        // NaN.
        let masked = value.is_nan() && (self.size == 0.0 || other.size == 0.0);
        let error = if masked { f64::INFINITY } else { error };
        self.ring_result(value, cross(self.size, other.size), error, grain)
    }

    /// Returns the negative.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self { value: -self.value, ..*self }
    }

    /// Returns a quotient. Two forms agree exactly if numerator and divisor are the same in both.
    /// `always` adds a rounding, because a derivative may form its quotients differently.
    #[must_use]
    pub fn over(&self, by: &Self, always: bool) -> Self {
        let value = self.rounded(self.value / by.value);
        let below = (by.value.abs() - by.error).max(0.0);
        let error = (self.error + cross(value.abs(), by.error)) / below;
        let size = if by.value == 0.0 { value.abs() } else { self.size / by.value.abs() };
        let same = self.error == 0.0 && by.error == 0.0;
        // The sign of the infinity depends on the sign of a zero, which the order may change.
        if by.value == 0.0 && !value.is_nan() {
            return Self { error: f64::INFINITY, ..Self::exact(value, self.single) };
        }
        if (same && !always) || self.is_nothing() {
            return Self::exact(value, self.single);
        }
        // Division by a power of two is exact in every order.
        let fits = by.value.to_bits() << 12 == 0 && grain(value) > -500 && same;
        let lost = if fits { 0.0 } else { self.unit() * 2.0 * size };
        let error = if same { 0.0 } else { error };
        Self { value, size, error: bound(error + lost), grain: grain(value), single: self.single }
    }

    /// Returns the result of a function. `spread` is the greatest difference of results over the
    /// range of its arguments.
    #[must_use]
    pub fn of_function(value: f64, spread: f64, inexact: bool, single: bool) -> Self {
        let mut number = Self::exact(value, single);
        // A result that is constant over that range is exact: a floor, a sign.
        if inexact && spread != 0.0 {
            number.error = bound(2.0 * spread + ROUNDINGS.0 * number.unit() * value.abs());
        }
        number
    }

    /// Returns a partial derivative, with `spread` as above. A constant -1, 0 or 1 is exact.
    #[must_use]
    pub fn of_partial(value: f64, spread: f64, single: bool) -> Self {
        let mut number = Self::exact(value, single);
        if spread != 0.0 || ![-1.0, 0.0, 1.0].contains(&value) {
            number.error = bound(2.0 * spread + ROUNDINGS.1 * number.unit() * value.abs());
        }
        number
    }

    /// Converts to another precision.
    #[must_use]
    pub fn converted(&self, single: bool) -> Self {
        if self.single == single {
            return *self;
        }
        let mut to = Self { single, ..*self };
        to.value = to.rounded(self.value);
        if single {
            let same = self.error == 0.0;
            let lost = (self.value - to.value).abs();
            // Equal numbers round equally, but a sum of rounded numbers is not the rounded sum.
            to.error = if same { 0.0 } else { bound(self.error + to.unit() * self.size) };
            if lost != 0.0 && same {
                return Self::exact(to.value, true);
            }
        }
        to
    }

    /// Returns the number with a larger error bound.
    #[must_use]
    pub fn loosened(&self, by: f64) -> Self {
        Self { error: bound(self.error + by), ..*self }
    }
}

/// Returns the product, or 0 if a factor is 0, even if the other is infinite.
fn cross(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// Returns the bound, or infinity if it is NaN.
fn bound(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}

fn power(of: i32) -> f64 {
    2.0_f64.powi(of)
}

/// Returns the exponent of the greatest power of two that divides the number.
fn grain(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return COARSE;
    }
    let bits = x.to_bits();
    let exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if exponent == 0 { fraction } else { fraction | (1 << 52) };
    let trailing = i32::try_from(mantissa.trailing_zeros()).unwrap_or(0);
    exponent.max(1) - 1075 + trailing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_exact() {
        let eighth = |k: i32| Number::exact(f64::from(k) / 8.0, false);
        let product = eighth(3).times(&eighth(-5)).plus(&eighth(7));
        assert_eq!((product.value, product.error), (-15.0 / 64.0 + 7.0 / 8.0, 0.0));
        assert!(Number::exact(0.1, false).plus(&Number::exact(0.2, false)).error > 0.0);
        assert!(Number::exact(1e16, false).plus(&eighth(1)).error >= 1.0);
        assert_eq!(grain(0.75), -2);
        assert_eq!(grain(6.0), 1);
    }

    #[test]
    fn bounds_hold_in_other_orders() {
        let items: Vec<Number> = (1..40).map(|k| Number::exact(1.0 / f64::from(k) - 0.1, false)).collect();
        let sum = |items: &mut dyn Iterator<Item = Number>| items.reduce(|a, b| a.plus(&b));
        let (Some(there), Some(back)) = (sum(&mut items.iter().copied()), sum(&mut items.iter().rev().copied())) else {
            panic!("there are terms");
        };
        assert!((there.value - back.value).abs() <= there.error && there.error < 1e-12);
    }
}

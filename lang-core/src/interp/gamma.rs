//! The derivatives of the logarithm of the gamma function, computed in `f64`.
//!
//! - `digamma`: in [1, 2] a polynomial times the distance from the only positive zero, which
//!   stands in two parts; by recurrence from there up to 10, and down to 0; beyond 10 the
//!   asymptotic series; below 0 by reflection.
//! - `polygamma(n, x)` is `(-1)^(n+1) n! ζ(n+1, x)`; the Hurwitz zeta function is a sum of its
//!   first terms, up to `x + k >= n + 20`, and the rest by Euler and Maclaurin; below 0 the sum over
//!   all integers is split in two. All in pairs of reals: an error of `x + k` counts `n + 1` times,
//!   and terms cancel below 0. So its values are exact to 0.6 units in the last place.
//! - Poles, as in SciPy: `digamma` is `-inf` at `0.0`, `inf` at `-0.0` and NaN at negative
//!   integers. Of odd order, `polygamma` is `inf` at all of them; of even order it has `digamma`'s
//!   values, unlike SciPy, which has `-inf` at all: those poles have a sign on each side. At `-inf`
//!   all are NaN. So is every value of an order that is no integer from 0 to 170, the greatest whose
//!   factorial is finite.

use super::scalar::convert;

/// The positive zero of `digamma`, and what `f64` leaves of it.
const ZERO: (f64, f64) = (1.461_632_144_968_362_3, 9.549_995_429_965_697e-17);

/// `digamma(1.5 + t) / (1.5 + t - ZERO)` in powers of t, for |t| <= 1/2, from interpolation at
/// Chebyshev's points.
const QUOTIENT: [f64; 22] = [
    0.951_055_876_031_833,
    -0.423_627_421_281_460_5,
    0.240_542_484_240_774_2,
    -0.148_404_923_053_908_84,
    0.094_988_724_454_941_22,
    -0.061_922_133_273_064_534,
    0.040_760_833_812_420_74,
    -0.026_975_796_756_138_25,
    0.017_907_252_439_451_2,
    -0.011_908_218_001_568_644,
    0.007_926_944_646_403_797,
    -0.005_279_964_873_257_405,
    0.003_519_006_401_502_276,
    -0.002_345_267_632_540_769,
    0.001_556_631_747_448_683_8,
    -0.001_037_637_409_841_860_4,
    0.000_723_326_627_928_755_4,
    -0.000_482_199_053_056_678_9,
    0.000_227_233_166_098_737_6,
    -0.000_151_485_868_367_733_65,
    0.000_259_684_821_264_307_47,
    -0.000_173_122_618_027_273_94,
];

/// The greatest order: its factorial is finite, the next one is not.
const MAX_ORDER: f64 = 170.0;

/// Bernoulli's numbers `B(2j)`, from j = 1 on.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
];

/// The derivative of `lgamma`.
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -1.0 / x;
    }
    if x.is_nan() || x == f64::NEG_INFINITY || (x < 0.0 && libm::rint(x) == x) {
        return f64::NAN;
    }
    match x {
        ..-0.25 => positive(1.0 - x) - cotangent(x),
        ..0.0 => positive(2.0 + x) - 1.0 / (1.0 + x) - 1.0 / x,
        ..1.0 => positive(1.0 + x) - 1.0 / x,
        _ => positive(x),
    }
}

/// `digamma`, from 1 on.
fn positive(mut x: f64) -> f64 {
    if x >= 10.0 {
        let mut power = 1.0;
        let mut series = 0.0;
        for (j, b) in (1_u8..).zip(BERNOULLI) {
            power /= x * x;
            series += b / f64::from(2 * j) * power;
        }
        return libm::log(x) - (0.5 / x + series);
    }
    let mut steps = 0.0;
    while x > 2.0 {
        x -= 1.0;
        steps += 1.0 / x;
    }
    let t = x - 1.5;
    let quotient = QUOTIENT.iter().rev().fold(0.0, |sum, c| sum * t + c);
    ((x - ZERO.0) - ZERO.1) * quotient + steps
}

/// `π cot(πx)`
fn cotangent(x: f64) -> f64 {
    use std::f64::consts::PI;
    let r = x - libm::rint(x);
    if r.abs() <= 0.25 { PI / libm::tan(PI * r) } else { libm::copysign(PI, r) * libm::tan(PI * (0.5 - r.abs())) }
}

/// The derivative of `digamma` of an order.
pub(super) fn polygamma(order: f64, x: f64) -> f64 {
    if order == 0.0 {
        return digamma(x);
    }
    if libm::rint(order) != order || !(0.0..=MAX_ORDER).contains(&order) || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let odd = libm::fmod(order, 2.0) != 0.0;
    let sign = if odd { 1.0 } else { -1.0 };
    if x > 0.0 {
        return sign * zeta(order, x.into()).high;
    }
    // Exact.
    let r = x - libm::rint(x);
    if r == 0.0 {
        return if odd { f64::INFINITY } else { digamma(x) };
    }
    // The terms of all integers, less those that stand before x.
    let [below, above, before] = [-r, r, -x].map(|t| zeta(order, Pair::sum(1.0, t)));
    let below = if odd { below.minus(before) } else { before.minus(below) };
    sign * term(order, r.into()).plus(above).plus(below).high
}

/// `n! ζ(n + 1, x)`, x positive.
fn zeta(n: f64, x: Pair) -> Pair {
    let mut sum = Pair::from(0.0);
    if x.high == f64::INFINITY {
        return sum;
    }
    let mut w = x;
    while w.high < n + 20.0 {
        let next = term(n, w);
        sum = sum.plus(next);
        // What is left is less than `1 + w / n` times the last term.
        if n >= 20.0 && next.high <= sum.high * 1e-22 {
            return sum;
        }
        w = w.plus(1.0.into());
    }
    let mut series = 0.5;
    let mut factor = (n + 1.0) / w.high / 2.0;
    for (j, b) in (1_u8..).zip(BERNOULLI) {
        series += b * factor;
        let m = f64::from(2 * j);
        factor *= (n + m) / w.high * ((n + m + 1.0) / w.high) / ((m + 1.0) * (m + 2.0));
    }
    sum.plus(term(n, w).times(w.over(n.into()).plus(series.into())))
}

/// `n! / w^(n + 1)`: no product on the way overflows where neither this nor `n!` does.
fn term(n: f64, w: Pair) -> Pair {
    let inverse = Pair::from(1.0).over(w);
    let (mut product, mut i) = (inverse, 1.0);
    while i <= n {
        product = product.times(inverse.times(i.into()));
        i += 1.0;
    }
    product
}

/// `digamma`, rounded to `f32`.
pub(super) fn digamma_single(x: f32) -> f32 {
    convert::f64_to_f32(digamma(f64::from(x)))
}

/// `polygamma`, rounded to `f32`.
pub(super) fn polygamma_single(order: f32, x: f32) -> f32 {
    convert::f64_to_f32(polygamma(f64::from(order), f64::from(x)))
}

/// The sum of two reals that do not overlap: about 32 digits. Infinite ones have no second part.
#[derive(Clone, Copy)]
struct Pair {
    high: f64,
    low: f64,
}

impl From<f64> for Pair {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Pair {
    /// The exact sum.
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        if !high.is_finite() {
            return high.into();
        }
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    fn plus(self, other: Self) -> Self {
        let Self { high, low } = Self::sum(self.high, other.high);
        Self::sum(high, low + (self.low + other.low))
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self { high: -other.high, low: -other.low })
    }

    fn times(self, other: Self) -> Self {
        let high = self.high * other.high;
        if !high.is_finite() {
            return high.into();
        }
        let low = libm::fma(self.high, other.high, -high);
        Self::sum(high, low + (self.high * other.low + self.low * other.high))
    }

    fn over(self, other: Self) -> Self {
        let high = self.high / other.high;
        if !high.is_finite() {
            return high.into();
        }
        let rest = libm::fma(-high, other.high, self.high) + (self.low - high * other.low);
        Self::sum(high, rest / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::polygamma;

    /// Values of mpmath 1.4.1 with 700 digits, rounded: orders and places where terms cancel, or
    /// where an error in the argument counts most.
    #[test]
    fn high_orders_keep_their_digits() {
        for (n, x, expected) in VALUES {
            let found = polygamma(n, x);
            let ulp = (expected.abs().next_up() - expected.abs()).max(f64::MIN_POSITIVE);
            assert!((found - expected).abs() <= ulp, "polygamma({n}, {x}) is {found}, not {expected}");
        }
        for (n, x) in [(171.0, 3.0), (1.5, 1.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
            assert!(polygamma(n, x).is_nan(), "polygamma({n}, {x})");
        }
        for n in [1.0, 2.0, 170.0] {
            assert_eq!(polygamma(n, f64::INFINITY), 0.0, "{n}");
        }
    }

    const VALUES: [(f64, f64, f64); 12] = [
        (2.0, -2.5, -0.108_204_051_641_727_4),
        (2.0, -0.499, -0.635_386_728_453_277_6),
        (3.0, -29.75, 1_558.545_384_330_817_8),
        (8.0, -12.501, -743_245.406_316_654_4),
        (15.0, 1e4, 8.724_369_235_405_735e-50),
        (20.0, 0.25, -1.070_001_618_891_921e31),
        (20.0, 840.5, -3.976_473_832_374_176_4e-42),
        (50.0, 656.25, -8.852_839_745_923_435e-79),
        (100.0, -7.375, 9.836_613_653_589_348e200),
        (100.0, 805.5, -2.455_464_303_431_114_4e-135),
        (170.0, 18.5, -1.494_410_567_247_474_8e90),
        (170.0, 737.25, -1.530_875_426_841_520_2e-183),
    ];
}

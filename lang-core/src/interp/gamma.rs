//! The derivatives of the logarithm of the gamma function, computed in `f64`.
//!
//! - `digamma`: in [1, 2] a polynomial times the distance from the only positive zero, which
//!   stands in two parts; by recurrence from there up to 10, and down to 0; beyond 10 the
//!   asymptotic series; below 0 by reflection.
//! - `polygamma(n, x)` is `(-1)^(n+1) n! ζ(n+1, x)`; the Hurwitz zeta function is a sum of its
//!   first terms, and the rest by Euler and Maclaurin; below 0 the sum over all integers is split
//!   in two.
//! - Poles, as in SciPy: `digamma` is `-inf` at `0.0`, `inf` at `-0.0` and NaN at negative
//!   integers. Of odd order, `polygamma` is `inf` at all of them; of even order it has `digamma`'s
//!   values, unlike SciPy, which has `-inf` at all: those poles have a sign on each side. At `-inf`
//!   all are NaN. So is every value of an order that is no integer from 0 on.

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
    if order.is_nan() || order < 0.0 || order.is_infinite() || libm::rint(order) != order {
        return f64::NAN;
    }
    let odd = libm::fmod(order, 2.0) != 0.0;
    if x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x <= 0.0 && libm::rint(x) == x {
        return match odd {
            true => f64::INFINITY,
            false => digamma(x),
        };
    }
    let sign = if odd { 1.0 } else { -1.0 };
    if x > 0.0 {
        return sign * zeta(order, x);
    }
    // The terms of all integers, less those that stand before x.
    let r = x - libm::rint(x);
    let nearest = if odd || r > 0.0 { ratio(order, r.abs()) / r.abs() } else { -ratio(order, r.abs()) / r.abs() };
    let below = zeta(order, 1.0 - r) - zeta(order, 1.0 - x);
    sign * (nearest + (zeta(order, 1.0 + r) + sign * below))
}

/// `n! / x^n`, x positive.
fn ratio(n: f64, x: f64) -> f64 {
    if n > 170.0 {
        return libm::exp(libm::lgamma(n + 1.0) - n * libm::log(x));
    }
    let half = libm::floor(n / 2.0);
    libm::tgamma(n + 1.0) * libm::pow(x, -half) * libm::pow(x, half - n)
}

/// `n! ζ(n + 1, x)`, x positive.
fn zeta(n: f64, x: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    let s = n + 1.0;
    // The sum of (x / (x + k))^s.
    let mut sum = 0.0;
    let mut k = 0.0;
    let rest = loop {
        let w = x + k;
        let term = libm::exp(-s * libm::log1p(k / x));
        if term < 1e-18 {
            break 0.0;
        }
        if w >= 10.0 + s {
            let mut series = w / n + 0.5;
            let mut factor = s / w / 2.0;
            for (j, b) in (1_u8..).zip(BERNOULLI) {
                series += b * factor;
                let m = f64::from(2 * j);
                factor *= (s + m - 1.0) / w * ((s + m) / w) / ((m + 1.0) * (m + 2.0));
            }
            break term * series;
        }
        sum += term;
        k += 1.0;
    };
    ratio(n, x) * ((sum + rest) / x)
}

/// `digamma`, rounded to `f32`.
pub(super) fn digamma_single(x: f32) -> f32 {
    convert::f64_to_f32(digamma(f64::from(x)))
}

/// `polygamma`, rounded to `f32`.
pub(super) fn polygamma_single(order: f32, x: f32) -> f32 {
    convert::f64_to_f32(polygamma(f64::from(order), f64::from(x)))
}

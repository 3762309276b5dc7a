//! `round_to`: the nearest multiple of a power of ten.
//!
//! With up to 22 digits before or after the point the power is exact, and so is the value: the double
//! nearest to the multiple that is nearest to `x`, of two the even one. It is counted in multiples
//! first, as NumPy does; where that count has only been rounded to a half, what the rounding left tells
//! the side. Beyond 2^53 of them `x` is as near as doubles come.

use super::scalar::{convert, f64s};

/// Beyond this every double is even, and halves have long gone.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// More digits than this no double has, before the point or behind it.
const MOST: f64 = 308.0;

/// `x` to so many digits after the point; before it, where `digits` is negative. NaN where that is no
/// integer.
pub(super) fn round_to(x: f64, digits: f64) -> f64 {
    if digits.is_nan() || digits.is_infinite() || libm::rint(digits) != digits {
        return f64::NAN;
    }
    if !x.is_finite() || digits > MOST {
        return x;
    }
    if digits < -MOST {
        return libm::copysign(0.0, x);
    }
    let power = f64s::powi(10.0, convert::f64_to_i64(libm::fabs(digits)));
    let behind = digits >= 0.0;
    let count = if behind { x * power } else { x / power };
    if libm::fabs(count) >= WHOLE {
        return x;
    }
    let rest = if behind { libm::fma(x, power, -count) } else { libm::fma(-count, power, x) };
    let nearest = libm::rint(count);
    let nearest = match libm::fabs(count - nearest) == 0.5 {
        true if rest > 0.0 => libm::floor(count) + 1.0,
        true if rest < 0.0 => libm::floor(count),
        _ => nearest,
    };
    libm::copysign(if behind { nearest / power } else { nearest * power }, x)
}

/// The same in single precision.
pub(super) fn round_to_single(x: f32, digits: f32) -> f32 {
    convert::f64_to_f32(round_to(f64::from(x), f64::from(digits)))
}

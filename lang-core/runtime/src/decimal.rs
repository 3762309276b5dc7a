//! **Decimal rounding** for `round_to`: the nearest multiple of a power of ten.
//!
//! With at most 22 digits before or after the point, the power of ten is exact and the result is
//! correctly rounded. It is the double nearest to the multiple that is nearest to `x`; a tie goes
//! to the even multiple. As in NumPy, `x` is first converted to a count of multiples. If the
//! conversion itself rounded the count to a half, its rounding error decides the side. Beyond 2^53
//! multiples, `x` itself is the nearest double.

use super::scalar::{convert, f64s};

/// The bound beyond which every double is an even integer.
const INTEGER_BOUND: f64 = 9_007_199_254_740_992.0;

/// The largest number of digits of a double, before or after the point.
const MAX_DIGITS: f64 = 308.0;

/// Rounds `x` to `digits` digits after the point, or before it if `digits` is negative. Returns NaN
/// if `digits` is not an integer.
pub(crate) fn round_to(x: f64, digits: f64) -> f64 {
    if digits.is_nan() || digits.is_infinite() || libm::rint(digits) != digits {
        return f64::NAN;
    }
    if !x.is_finite() || digits > MAX_DIGITS {
        return x;
    }
    if digits < -MAX_DIGITS {
        return libm::copysign(0.0, x);
    }
    let power = f64s::powi(10.0, convert::f64_to_i64(libm::fabs(digits)));
    let behind = digits >= 0.0;
    let count = if behind { x * power } else { x / power };
    if libm::fabs(count) >= INTEGER_BOUND {
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

/// Rounds in single precision, as [`round_to`].
pub(crate) fn round_to_single(x: f32, digits: f32) -> f32 {
    convert::f64_to_f32(round_to(f64::from(x), f64::from(digits)))
}

//! **Scalar arithmetic and functions**, with identical results on every machine. Operations that
//! IEEE arithmetic does not define exactly use the `libm` crate. Single precision uses its
//! single-precision functions. `lgamma` and its derivatives are in [`super::gamma`].
//!
//! - `i64`: `+ - *`, negation and `abs` wrap; `//` rounds down and `%` has the sign of the divisor;
//!   division by zero has no value (E0505); `MIN // -1` wraps to `MIN`, `MIN % -1` is 0.
//! - Reals: `a // b` is `floor(a / b)`; `a % b` is the exact remainder moved into the divisor's
//!   sign; a zero remainder has that sign too.
//! - `x ^ k` for integer `k`: by repeated squaring, from the lowest bit of |k| up. The product of
//!   the squares of the set bits begins with the first of them, not with 1: `p = p * x^(2^j)`. A
//!   negative `k` gives `1 / x^|k|`. `x^0` is 1, for NaN too. A negative power of an integer has no
//!   value (E0513).
//! - `min` and `max` are NaN if an operand is, the first NaN of two. They return the first of two
//!   equal operands, so `max(-0.0, 0.0)` is `-0.0`.
//! - `round_to` is exact, and is in [`super::decimal`].
//! - `sign` and `relu` of either zero are `0.0`; of NaN, NaN. `round` takes halves to even.
//! - `sigmoid(x)` is `1 / (1 + exp(-x))` for `x >= 0`, else `exp(x) / (1 + exp(x))`; `softplus(x)`
//!   is `relu(x) + log1p(exp(-abs(x)))`.
//! - `i64(x)` truncates and saturates at the least and greatest `i64`; for NaN it is 0.
//! - Negation flips the sign bit: `-x` is not `0 - x`.

use lang_resolve::scalar_fn::ScalarFn;
use lang_syntax::ops::BinOp;

/// The `f64` functions under uniform names.
mod double {
    pub(super) use super::super::decimal::round_to;
    pub(super) use super::super::gamma::{digamma, lgamma, polygamma};
    pub(super) use libm::{
        acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, ceil, copysign, cos, cosh, erf, erfc, exp, expm1, fabs,
        floor, fmod, hypot, log, log1p, pow, rint, sin, sinh, sqrt, tan, tanh, trunc,
    };
}

/// The `f32` functions under the same names.
mod single {
    pub(super) use super::super::decimal::round_to_single as round_to;
    pub(super) use super::super::gamma::{
        digamma_single as digamma, lgamma_single as lgamma, polygamma_single as polygamma,
    };
    pub(super) use libm::{
        acosf as acos, acoshf as acosh, asinf as asin, asinhf as asinh, atan2f as atan2, atanf as atan,
        atanhf as atanh, cbrtf as cbrt, ceilf as ceil, copysignf as copysign, cosf as cos, coshf as cosh,
        erfcf as erfc, erff as erf, expf as exp, expm1f as expm1, fabsf as fabs, floorf as floor, fmodf as fmod,
        hypotf as hypot, log1pf as log1p, logf as log, powf as pow, rintf as rint, sinf as sin, sinhf as sinh,
        sqrtf as sqrt, tanf as tan, tanhf as tanh, truncf as trunc,
    };
}

macro_rules! reals {
    ($t:ident, $m:ident) => {
        #[doc = concat!("Arithmetic on `", stringify!($t), "`; `None` for an operator that is none.")]
        #[must_use]
        pub fn arith(op: BinOp, a: $t, b: $t) -> Option<$t> {
            Some(match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Div => a / b,
                BinOp::FloorDiv => $m::floor(a / b),
                BinOp::Mod => {
                    let r = $m::fmod(a, b);
                    if r == 0.0 {
                        $m::copysign(0.0, b)
                    } else if (r < 0.0) != (b < 0.0) {
                        r + b
                    } else {
                        r
                    }
                }
                BinOp::Pipe
                | BinOp::Or
                | BinOp::And
                | BinOp::Eq
                | BinOp::Ne
                | BinOp::Lt
                | BinOp::Le
                | BinOp::Gt
                | BinOp::Ge => return None,
            })
        }

        /// Returns `x ^ k`, by repeated squaring.
        #[must_use]
        pub fn powi(x: $t, k: i64) -> $t {
            let product = power_by_squaring(x, k.unsigned_abs());
            match k < 0 {
                // The power may overflow although its reciprocal does not vanish.
                true if product.is_infinite() && x.is_finite() => power_by_squaring(1.0 / x, k.unsigned_abs()),
                true => 1.0 / product,
                false => product,
            }
        }

        fn power_by_squaring(x: $t, mut bits: u64) -> $t {
            let mut square = x;
            let mut product: Option<$t> = None;
            while bits != 0 {
                if bits & 1 == 1 {
                    product = Some(product.map_or(square, |p| p * square));
                }
                bits >>= 1;
                if bits != 0 {
                    square *= square;
                }
            }
            product.unwrap_or(1.0)
        }

        /// Returns `x ^ y`, a real power.
        #[must_use]
        pub fn powr(x: $t, y: $t) -> $t {
            $m::pow(x, y)
        }

        /// Returns the lesser, or the first of equals. Returns NaN if either is NaN.
        #[must_use]
        pub fn min(a: $t, b: $t) -> $t {
            if a.is_nan() || a <= b { a } else { b }
        }

        /// Returns the greater, or the first of equals. Returns NaN if either is NaN.
        #[must_use]
        pub fn max(a: $t, b: $t) -> $t {
            if a.is_nan() || a >= b { a } else { b }
        }

        fn sigmoid(x: $t) -> $t {
            if x < 0.0 {
                let e = $m::exp(x);
                e / (1.0 + e)
            } else {
                1.0 / (1.0 + $m::exp(-x))
            }
        }

        fn acosh(x: $t) -> $t {
            // libm returns values for some x below -1.
            if x < 1.0 { <$t>::NAN } else { $m::acosh(x) }
        }

        fn relu(x: $t) -> $t {
            if x > 0.0 || x.is_nan() { x } else { 0.0 }
        }

        fn softplus(x: $t) -> $t {
            relu(x) + $m::log1p($m::exp(-$m::fabs(x)))
        }

        fn sign(x: $t) -> $t {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else if x == 0.0 {
                0.0
            } else {
                x
            }
        }

        /// A scalar function.
        #[derive(Clone, Copy)]
        pub enum ScalarFunction {
            /// A function of one argument.
            Unary(fn($t) -> $t),
            /// A function of two arguments.
            Binary(fn($t, $t) -> $t),
        }

        #[doc = concat!("The function on `", stringify!($t), "`; `None` if it has no reals in its domain.")]
        #[must_use]
        pub fn function(f: ScalarFn) -> Option<ScalarFunction> {
            use ScalarFunction::{Binary, Unary};
            Some(match f {
                ScalarFn::Exp => Unary($m::exp),
                ScalarFn::Log => Unary($m::log),
                ScalarFn::Log1p => Unary($m::log1p),
                ScalarFn::Expm1 => Unary($m::expm1),
                ScalarFn::Sqrt => Unary($m::sqrt),
                ScalarFn::Cbrt => Unary($m::cbrt),
                ScalarFn::Sin => Unary($m::sin),
                ScalarFn::Cos => Unary($m::cos),
                ScalarFn::Tan => Unary($m::tan),
                ScalarFn::Asin => Unary($m::asin),
                ScalarFn::Acos => Unary($m::acos),
                ScalarFn::Atan => Unary($m::atan),
                ScalarFn::Atan2 => Binary($m::atan2),
                ScalarFn::Sinh => Unary($m::sinh),
                ScalarFn::Cosh => Unary($m::cosh),
                ScalarFn::Tanh => Unary($m::tanh),
                ScalarFn::Asinh => Unary($m::asinh),
                ScalarFn::Acosh => Unary(acosh),
                ScalarFn::Atanh => Unary($m::atanh),
                ScalarFn::Sigmoid => Unary(sigmoid),
                ScalarFn::Softplus => Unary(softplus),
                ScalarFn::Relu => Unary(relu),
                ScalarFn::Hypot => Binary($m::hypot),
                ScalarFn::Erf => Unary($m::erf),
                ScalarFn::Erfc => Unary($m::erfc),
                ScalarFn::Lgamma => Unary($m::lgamma),
                ScalarFn::Digamma => Unary($m::digamma),
                ScalarFn::Polygamma => Binary($m::polygamma),
                ScalarFn::Floor => Unary($m::floor),
                ScalarFn::Ceil => Unary($m::ceil),
                ScalarFn::Round => Unary($m::rint),
                ScalarFn::RoundTo => Binary($m::round_to),
                ScalarFn::Trunc => Unary($m::trunc),
                ScalarFn::Abs => Unary($m::fabs),
                ScalarFn::Sign => Unary(sign),
                ScalarFn::Min => Binary(min),
                ScalarFn::Max => Binary(max),
                ScalarFn::BitAnd
                | ScalarFn::BitOr
                | ScalarFn::BitXor
                | ScalarFn::BitNot
                | ScalarFn::Shl
                | ScalarFn::Shr
                | ScalarFn::Ushr => return None,
            })
        }
    };
}

/// Arithmetic and functions on `f64`.
pub mod f64s {
    use super::{BinOp, ScalarFn, double};
    reals!(f64, double);
}

/// Arithmetic and functions on `f32`.
pub mod f32s {
    use super::{BinOp, ScalarFn, single};
    reals!(f32, single);
}

/// Arithmetic and functions on `i64`.
pub mod i64s {
    use super::{BinOp, ScalarFn};

    /// Evaluates an arithmetic operator. Returns `None` if the divisor is zero, and for `/`, which
    /// integers lack.
    #[must_use]
    pub fn arith(op: BinOp, a: i64, b: i64) -> Option<i64> {
        match op {
            BinOp::Add => Some(a.wrapping_add(b)),
            BinOp::Sub => Some(a.wrapping_sub(b)),
            BinOp::Mul => Some(a.wrapping_mul(b)),
            BinOp::FloorDiv if b != 0 => {
                let q = a.wrapping_div(b);
                Some(if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
            }
            BinOp::Mod if b != 0 => {
                let r = a.wrapping_rem(b);
                Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
            }
            _ => None,
        }
    }

    /// Returns `x ^ k`, wrapping, or `None` for negative `k`.
    #[must_use]
    pub fn powi(x: i64, k: i64) -> Option<i64> {
        let mut bits = u64::try_from(k).ok()?;
        let (mut square, mut product) = (x, 1i64);
        while bits != 0 {
            if bits & 1 == 1 {
                product = product.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            bits >>= 1;
        }
        Some(product)
    }

    /// A scalar function.
    #[derive(Clone, Copy)]
    pub enum ScalarFunction {
        /// A function of one argument.
        Unary(fn(i64) -> i64),
        /// A function of two arguments.
        Binary(fn(i64, i64) -> i64),
    }

    /// Reduces a shift count modulo 64.
    fn shift_count(k: i64) -> u32 {
        u32::try_from(k.rem_euclid(64)).unwrap_or(0)
    }

    /// Returns the function on `i64`, or `None` if its domain has no integers.
    #[must_use]
    pub fn function(f: ScalarFn) -> Option<ScalarFunction> {
        use ScalarFunction::{Binary, Unary};
        Some(match f {
            ScalarFn::Abs => Unary(i64::wrapping_abs),
            ScalarFn::Sign => Unary(i64::signum),
            ScalarFn::Min => Binary(i64::min),
            ScalarFn::Max => Binary(i64::max),
            ScalarFn::BitAnd => Binary(|a, b| a & b),
            ScalarFn::BitOr => Binary(|a, b| a | b),
            ScalarFn::BitXor => Binary(|a, b| a ^ b),
            ScalarFn::BitNot => Unary(|a| !a),
            ScalarFn::Shl => Binary(|a, k| a << shift_count(k)),
            ScalarFn::Shr => Binary(|a, k| a >> shift_count(k)),
            ScalarFn::Ushr => Binary(|a, k| (a.cast_unsigned() >> shift_count(k)).cast_signed()),
            ScalarFn::Exp
            | ScalarFn::Log
            | ScalarFn::Log1p
            | ScalarFn::Expm1
            | ScalarFn::Sqrt
            | ScalarFn::Cbrt
            | ScalarFn::Sin
            | ScalarFn::Cos
            | ScalarFn::Tan
            | ScalarFn::Asin
            | ScalarFn::Acos
            | ScalarFn::Atan
            | ScalarFn::Atan2
            | ScalarFn::Sinh
            | ScalarFn::Cosh
            | ScalarFn::Tanh
            | ScalarFn::Asinh
            | ScalarFn::Acosh
            | ScalarFn::Atanh
            | ScalarFn::Sigmoid
            | ScalarFn::Softplus
            | ScalarFn::Relu
            | ScalarFn::Hypot
            | ScalarFn::Erf
            | ScalarFn::Erfc
            | ScalarFn::Lgamma
            | ScalarFn::Digamma
            | ScalarFn::Polygamma
            | ScalarFn::Floor
            | ScalarFn::Ceil
            | ScalarFn::Round
            | ScalarFn::RoundTo
            | ScalarFn::Trunc => return None,
        })
    }
}

/// Conversions between scalar types.
#[expect(clippy::cast_possible_truncation, reason = "conversions of the language round and saturate, as `as` does")]
pub mod convert {
    /// Rounds to the nearest `f32`.
    #[must_use]
    pub fn f64_to_f32(x: f64) -> f32 {
        x as f32
    }

    /// Truncates and saturates; 0 for NaN.
    #[must_use]
    pub fn f64_to_i64(x: f64) -> i64 {
        x as i64
    }

    /// Truncates and saturates; 0 for NaN.
    #[must_use]
    pub fn f32_to_i64(x: f32) -> i64 {
        x as i64
    }

    /// Rounds to the nearest `f64`, ties to even.
    #[must_use]
    pub fn i64_to_f64(x: i64) -> f64 {
        x as f64
    }

    /// Rounds to the nearest `f32`, ties to even.
    #[must_use]
    pub fn i64_to_f32(x: i64) -> f32 {
        x as f32
    }
}

//! **Runtime calls.** The functions that compiled code calls: the interpreter's scalar operations,
//! on the bits of numbers, and progress reports.
#![allow(unsafe_code, reason = "the code holds the address of what it applies")]

use lang_core::ir::core::ScalarOp;
use lang_core::runtime::scalar::{convert, f32s, f64s, i64s};
use lang_core::syntax::ops::{BinOp, Scalar};

/// An operation, by its signature.
#[derive(Clone, Copy)]
pub(crate) enum RuntimeOp {
    UnaryF64(fn(f64) -> f64),
    BinaryF64(fn(f64, f64) -> f64),
    UnaryF32(fn(f32) -> f32),
    BinaryF32(fn(f32, f32) -> f32),
    UnaryI64(fn(i64) -> i64),
    BinaryI64(fn(i64, i64) -> i64),
    /// A power with an integer exponent.
    PowF64(fn(f64, i64) -> f64),
    PowF32(fn(f32, i64) -> f32),
    F64ToI64(fn(f64) -> i64),
    F32ToI64(fn(f32) -> i64),
}

impl RuntimeOp {
    /// Returns the operation on operands of these types, if it has a function.
    pub(crate) fn of(operation: ScalarOp, kinds: &[Scalar]) -> Option<Self> {
        use Scalar::{F32, F64, I64};
        Some(match (operation, kinds) {
            (ScalarOp::Scalar(f), [F64, ..]) => match f64s::function(f)? {
                f64s::ScalarFunction::Unary(f) => Self::UnaryF64(f),
                f64s::ScalarFunction::Binary(f) => Self::BinaryF64(f),
            },
            (ScalarOp::Scalar(f), [F32, ..]) => match f32s::function(f)? {
                f32s::ScalarFunction::Unary(f) => Self::UnaryF32(f),
                f32s::ScalarFunction::Binary(f) => Self::BinaryF32(f),
            },
            (ScalarOp::Scalar(f), [I64, ..]) => match i64s::function(f)? {
                i64s::ScalarFunction::Unary(f) => Self::UnaryI64(f),
                i64s::ScalarFunction::Binary(f) => Self::BinaryI64(f),
            },
            (ScalarOp::Pow, [F64, _]) => Self::BinaryF64(f64s::powr),
            (ScalarOp::Pow, [F32, _]) => Self::BinaryF32(f32s::powr),
            (ScalarOp::PowInt, [F64, _]) => Self::PowF64(f64s::powi),
            (ScalarOp::PowInt, [F32, _]) => Self::PowF32(f32s::powi),
            (ScalarOp::PowInt, [I64, _]) => Self::BinaryI64(|x, k| i64s::powi(x, k).unwrap_or(0)),
            (ScalarOp::Binary(BinOp::FloorDiv), [F64, _]) => {
                Self::BinaryF64(|a, b| f64s::arith(BinOp::FloorDiv, a, b).unwrap_or(0.0))
            }
            (ScalarOp::Binary(BinOp::Mod), [F64, _]) => {
                Self::BinaryF64(|a, b| f64s::arith(BinOp::Mod, a, b).unwrap_or(0.0))
            }
            (ScalarOp::Binary(BinOp::FloorDiv), [F32, _]) => {
                Self::BinaryF32(|a, b| f32s::arith(BinOp::FloorDiv, a, b).unwrap_or(0.0))
            }
            (ScalarOp::Binary(BinOp::Mod), [F32, _]) => {
                Self::BinaryF32(|a, b| f32s::arith(BinOp::Mod, a, b).unwrap_or(0.0))
            }
            (ScalarOp::Binary(BinOp::FloorDiv), [I64, _]) => Self::quotient(),
            (ScalarOp::Binary(BinOp::Mod), [I64, _]) => Self::remainder(),
            (ScalarOp::Convert(I64), [F64]) => Self::F64ToI64(convert::f64_to_i64),
            (ScalarOp::Convert(I64), [F32]) => Self::F32ToI64(convert::f32_to_i64),
            _ => return None,
        })
    }

    /// `a // b`. An undefined quotient that no check covers is 0.
    pub(crate) fn quotient() -> Self {
        Self::BinaryI64(|a, b| i64s::arith(BinOp::FloorDiv, a, b).unwrap_or(0))
    }

    /// `a % b`
    pub(crate) fn remainder() -> Self {
        Self::BinaryI64(|a, b| i64s::arith(BinOp::Mod, a, b).unwrap_or(0))
    }

    fn call_bits(self, a: u64, b: u64) -> u64 {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let (i, j) = (a.cast_signed(), b.cast_signed());
        let short = |bits: u64| f32::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap_or(0));
        match self {
            Self::UnaryF64(f) => f(x).to_bits(),
            Self::BinaryF64(f) => f(x, y).to_bits(),
            Self::UnaryF32(f) => f(short(a)).to_bits().into(),
            Self::BinaryF32(f) => f(short(a), short(b)).to_bits().into(),
            Self::UnaryI64(f) => f(i).cast_unsigned(),
            Self::BinaryI64(f) => f(i, j).cast_unsigned(),
            Self::PowF64(f) => f(x, j).to_bits(),
            Self::PowF32(f) => f(short(a), j).to_bits().into(),
            Self::F64ToI64(f) => f(x).cast_unsigned(),
            Self::F32ToI64(f) => f(short(a)).cast_unsigned(),
        }
    }
}

/// The entry for compiled code: applies an operation to the bits of its operands.
///
/// # Safety
/// The operation must be alive. The code that calls this owns it.
pub(crate) unsafe extern "C" fn apply(of: *const RuntimeOp, a: u64, b: u64) -> u64 {
    // SAFETY: by the contract above.
    let of = unsafe { &*of };
    of.call_bits(a, b)
}

/// The entry for compiled code: reports the progress of a loop.
///
/// # Safety
/// `of` must be the address of the receiver, which must live until the call returns.
pub(crate) unsafe extern "C" fn report_progress(of: *const &dyn Fn(i64, i64), done: i64, all: i64) {
    // SAFETY: by the contract above.
    let of = unsafe { &*of };
    of(done, all);
}

//! **Runtime calls.** The functions that compiled code calls: the interpreter's scalar operations,
//! on the bits of numbers, and progress reports.
#![allow(unsafe_code, reason = "the code holds the address of what it applies")]

use lang_core::ir::core::Operation;
use lang_core::runtime::scalar::{convert, f32s, f64s, i64s};
use lang_core::syntax::ops::{BinOp, Scalar};

/// An operation, by its signature.
#[derive(Clone, Copy)]
pub(crate) enum Applied {
    Single(fn(f64) -> f64),
    Double(fn(f64, f64) -> f64),
    Short(fn(f32) -> f32),
    ShortPair(fn(f32, f32) -> f32),
    Int(fn(i64) -> i64),
    Ints(fn(i64, i64) -> i64),
    /// A power with an integer exponent.
    Power(fn(f64, i64) -> f64),
    ShortPower(fn(f32, i64) -> f32),
    ToInt(fn(f64) -> i64),
    ShortToInt(fn(f32) -> i64),
}

impl Applied {
    /// Returns the operation on operands of these types, if it has a function.
    pub(crate) fn of(operation: Operation, kinds: &[Scalar]) -> Option<Self> {
        use Scalar::{F32, F64, I64};
        Some(match (operation, kinds) {
            (Operation::Scalar(f), [F64, ..]) => match f64s::function(f)? {
                f64s::Function::Unary(f) => Self::Single(f),
                f64s::Function::Binary(f) => Self::Double(f),
            },
            (Operation::Scalar(f), [F32, ..]) => match f32s::function(f)? {
                f32s::Function::Unary(f) => Self::Short(f),
                f32s::Function::Binary(f) => Self::ShortPair(f),
            },
            (Operation::Scalar(f), [I64, ..]) => match i64s::function(f)? {
                i64s::Function::Unary(f) => Self::Int(f),
                i64s::Function::Binary(f) => Self::Ints(f),
            },
            (Operation::Pow, [F64, _]) => Self::Double(f64s::powr),
            (Operation::Pow, [F32, _]) => Self::ShortPair(f32s::powr),
            (Operation::PowInt, [F64, _]) => Self::Power(f64s::powi),
            (Operation::PowInt, [F32, _]) => Self::ShortPower(f32s::powi),
            (Operation::PowInt, [I64, _]) => Self::Ints(|x, k| i64s::powi(x, k).unwrap_or(0)),
            (Operation::Binary(BinOp::FloorDiv), [F64, _]) => {
                Self::Double(|a, b| f64s::arith(BinOp::FloorDiv, a, b).unwrap_or(0.0))
            }
            (Operation::Binary(BinOp::Mod), [F64, _]) => {
                Self::Double(|a, b| f64s::arith(BinOp::Mod, a, b).unwrap_or(0.0))
            }
            (Operation::Binary(BinOp::FloorDiv), [F32, _]) => {
                Self::ShortPair(|a, b| f32s::arith(BinOp::FloorDiv, a, b).unwrap_or(0.0))
            }
            (Operation::Binary(BinOp::Mod), [F32, _]) => {
                Self::ShortPair(|a, b| f32s::arith(BinOp::Mod, a, b).unwrap_or(0.0))
            }
            (Operation::Binary(BinOp::FloorDiv), [I64, _]) => Self::quotient(),
            (Operation::Binary(BinOp::Mod), [I64, _]) => Self::remainder(),
            (Operation::Convert(I64), [F64]) => Self::ToInt(convert::f64_to_i64),
            (Operation::Convert(I64), [F32]) => Self::ShortToInt(convert::f32_to_i64),
            _ => return None,
        })
    }

    /// `a // b`. An undefined quotient that no check covers is 0.
    pub(crate) fn quotient() -> Self {
        Self::Ints(|a, b| i64s::arith(BinOp::FloorDiv, a, b).unwrap_or(0))
    }

    /// `a % b`
    pub(crate) fn remainder() -> Self {
        Self::Ints(|a, b| i64s::arith(BinOp::Mod, a, b).unwrap_or(0))
    }

    fn on(self, a: u64, b: u64) -> u64 {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let (i, j) = (a.cast_signed(), b.cast_signed());
        let short = |bits: u64| f32::from_bits(u32::try_from(bits & 0xffff_ffff).unwrap_or(0));
        match self {
            Self::Single(f) => f(x).to_bits(),
            Self::Double(f) => f(x, y).to_bits(),
            Self::Short(f) => f(short(a)).to_bits().into(),
            Self::ShortPair(f) => f(short(a), short(b)).to_bits().into(),
            Self::Int(f) => f(i).cast_unsigned(),
            Self::Ints(f) => f(i, j).cast_unsigned(),
            Self::Power(f) => f(x, j).to_bits(),
            Self::ShortPower(f) => f(short(a), j).to_bits().into(),
            Self::ToInt(f) => f(x).cast_unsigned(),
            Self::ShortToInt(f) => f(short(a)).cast_unsigned(),
        }
    }
}

/// The entry for compiled code: applies an operation to the bits of its operands.
///
/// # Safety
/// The operation must be alive. The code that calls this owns it.
pub(crate) unsafe extern "C" fn apply(of: *const Applied, a: u64, b: u64) -> u64 {
    // SAFETY: by the contract above.
    let of = unsafe { &*of };
    of.on(a, b)
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

//! **Values of the evaluators**, plain and slow, for comparison with the results of other
//! evaluators. Arrays hold their elements one by one.

use std::cmp::Ordering;

use super::core::{Constant, CoreType, ScalarOp};
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::scalar::{convert, f32s, f64s, i64s};
use lang_syntax::ops::{BinOp, Scalar};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum IrValue {
    /// An `f64`.
    F64(f64),
    /// An `f32`.
    F32(f32),
    /// An `i64`.
    I64(i64),
    /// A `bool`.
    Bool(bool),
    /// A tuple, or a record with its fields in the order of its type.
    Tuple(Vec<Self>),
    /// An array.
    Array(Vec<Self>),
    /// A relation, as the list of its members.
    Rel(Vec<Vec<i64>>),
}

impl IrValue {
    /// Returns a constant at a scalar type.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a constant of `f32` is held exactly")]
    pub fn constant(c: Constant, of: Scalar) -> Self {
        match (c, of) {
            (Constant::Real(x), Scalar::F32) => Self::F32(x as f32),
            (Constant::Real(x), _) => Self::F64(x),
            (Constant::Int(i), _) => Self::I64(i),
            (Constant::Bool(b), _) => Self::Bool(b),
        }
    }

    /// Returns the zero of a scalar type.
    #[must_use]
    pub fn zero_of(of: Scalar) -> Self {
        match of {
            Scalar::F64 => Self::F64(0.0),
            Scalar::F32 => Self::F32(0.0),
            Scalar::I64 => Self::I64(0),
            Scalar::Bool => Self::Bool(false),
        }
    }

    /// Returns the zero of a type. `extent` evaluates extents.
    #[must_use]
    pub fn zero(ty: &CoreType, extent: &mut dyn FnMut(&lang_sizes::predicate::Poly) -> usize) -> Self {
        match ty {
            CoreType::Scalar(s) => Self::zero_of(*s),
            CoreType::Tuple(items, _) => Self::Tuple(items.iter().map(|t| Self::zero(t, extent)).collect()),
            CoreType::Tensor(n, t) => {
                let n = extent(n);
                let zero = Self::zero(t, extent);
                Self::Array(vec![zero; n])
            }
            CoreType::Rel(_) => Self::Rel(Vec::new()),
        }
    }

    /// Returns its scalar type, or `None` if it is not a scalar.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::F64(_) => Some(Scalar::F64),
            Self::F32(_) => Some(Scalar::F32),
            Self::I64(_) => Some(Scalar::I64),
            Self::Bool(_) => Some(Scalar::Bool),
            Self::Tuple(_) | Self::Array(_) | Self::Rel(_) => None,
        }
    }

    /// Returns the integer, if it is one.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        if let Self::I64(i) = self { Some(*i) } else { None }
    }

    /// Returns the truth value, if it is one.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }

    /// Whether it is a real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        matches!(self, Self::F64(_) | Self::F32(_))
    }

    /// Returns its elements, if it is an array.
    #[must_use]
    pub fn elements(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// Returns the element at these indices, or `None` if they are out of bounds.
    #[must_use]
    pub fn at(&self, indices: &[i64]) -> Option<&Self> {
        indices.iter().try_fold(self, |v, i| v.elements()?.get(usize::try_from(*i).ok()?))
    }

    /// Returns a mutable reference to the element at these indices.
    #[must_use]
    pub fn at_mut(&mut self, indices: &[i64]) -> Option<&mut Self> {
        indices.iter().try_fold(self, |value, i| match value {
            Self::Array(items) => items.get_mut(usize::try_from(*i).ok()?),
            _ => None,
        })
    }

    /// Returns the component of a tuple at this path.
    #[must_use]
    pub fn at_path(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |value, k| match value {
            Self::Tuple(items) => items.get(*k),
            _ => None,
        })
    }

    /// Returns the sum of two scalars of the same type; on `bool`, "or".
    #[must_use]
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::F64(a), Self::F64(b)) => Self::F64(a + b),
            (Self::F32(a), Self::F32(b)) => Self::F32(a + b),
            (Self::I64(a), Self::I64(b)) => Self::I64(a.wrapping_add(*b)),
            (Self::Bool(a), Self::Bool(b)) => Self::Bool(a | b),
            _ => return None,
        })
    }

    /// Returns the product of two numbers of the same type.
    #[must_use]
    pub fn checked_mul(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::F64(a), Self::F64(b)) => Self::F64(a * b),
            (Self::F32(a), Self::F32(b)) => Self::F32(a * b),
            (Self::I64(a), Self::I64(b)) => Self::I64(a.wrapping_mul(*b)),
            _ => return None,
        })
    }

    /// Returns the negation of a number.
    #[must_use]
    pub fn checked_neg(&self) -> Option<Self> {
        Some(match self {
            Self::F64(a) => Self::F64(-a),
            Self::F32(a) => Self::F32(-a),
            Self::I64(a) => Self::I64(a.wrapping_neg()),
            _ => return None,
        })
    }
}

/// Applies an operation to scalars. Returns `None` if it has no value there, or if it does not take
/// such arguments.
#[must_use]
pub fn apply_op(operation: ScalarOp, args: &[IrValue]) -> Option<IrValue> {
    match (operation, args) {
        (ScalarOp::Stop, [x]) => Some(x.clone()),
        (ScalarOp::Not, [IrValue::Bool(b)]) => Some(IrValue::Bool(!b)),
        (ScalarOp::Convert(to), [x]) => convert_scalar(to, x),
        (ScalarOp::Pow, [IrValue::F64(x), IrValue::F64(y)]) => Some(IrValue::F64(f64s::powr(*x, *y))),
        (ScalarOp::Pow, [IrValue::F32(x), IrValue::F32(y)]) => Some(IrValue::F32(f32s::powr(*x, *y))),
        (ScalarOp::PowInt, [IrValue::F64(x), IrValue::I64(k)]) => Some(IrValue::F64(f64s::powi(*x, *k))),
        (ScalarOp::PowInt, [IrValue::F32(x), IrValue::I64(k)]) => Some(IrValue::F32(f32s::powi(*x, *k))),
        (ScalarOp::PowInt, [IrValue::I64(x), IrValue::I64(k)]) => Some(IrValue::I64(i64s::powi(*x, *k)?)),
        (ScalarOp::Binary(op), [a, b]) => apply_binary(op, a, b),
        (ScalarOp::Scalar(f), args) => apply_function(f, args),
        _ => None,
    }
}

fn apply_function(f: ScalarFn, args: &[IrValue]) -> Option<IrValue> {
    Some(match args {
        [IrValue::F64(x)] => match f64s::function(f)? {
            f64s::ScalarFunction::Unary(f) => IrValue::F64(f(*x)),
            f64s::ScalarFunction::Binary(_) => return None,
        },
        [IrValue::F64(x), IrValue::F64(y)] => match f64s::function(f)? {
            f64s::ScalarFunction::Binary(f) => IrValue::F64(f(*x, *y)),
            f64s::ScalarFunction::Unary(_) => return None,
        },
        [IrValue::F32(x)] => match f32s::function(f)? {
            f32s::ScalarFunction::Unary(f) => IrValue::F32(f(*x)),
            f32s::ScalarFunction::Binary(_) => return None,
        },
        [IrValue::F32(x), IrValue::F32(y)] => match f32s::function(f)? {
            f32s::ScalarFunction::Binary(f) => IrValue::F32(f(*x, *y)),
            f32s::ScalarFunction::Unary(_) => return None,
        },
        [IrValue::I64(x)] => match i64s::function(f)? {
            i64s::ScalarFunction::Unary(f) => IrValue::I64(f(*x)),
            i64s::ScalarFunction::Binary(_) => return None,
        },
        [IrValue::I64(x), IrValue::I64(y)] => match i64s::function(f)? {
            i64s::ScalarFunction::Binary(f) => IrValue::I64(f(*x, *y)),
            i64s::ScalarFunction::Unary(_) => return None,
        },
        _ => return None,
    })
}

fn apply_binary(op: BinOp, a: &IrValue, b: &IrValue) -> Option<IrValue> {
    let order = match (a, b) {
        (IrValue::F64(x), IrValue::F64(y)) => match f64s::arith(op, *x, *y) {
            Some(z) => return Some(IrValue::F64(z)),
            None => x.partial_cmp(y),
        },
        (IrValue::F32(x), IrValue::F32(y)) => match f32s::arith(op, *x, *y) {
            Some(z) => return Some(IrValue::F32(z)),
            None => x.partial_cmp(y),
        },
        (IrValue::I64(x), IrValue::I64(y)) => match op {
            BinOp::FloorDiv | BinOp::Mod => return Some(IrValue::I64(i64s::arith(op, *x, *y)?)),
            _ => Some(x.cmp(y)),
        },
        (IrValue::Bool(x), IrValue::Bool(y)) => Some(x.cmp(y)),
        _ => return None,
    };
    Some(IrValue::Bool(match op {
        BinOp::Eq => order == Some(Ordering::Equal),
        BinOp::Ne => order != Some(Ordering::Equal),
        BinOp::Lt => order == Some(Ordering::Less),
        BinOp::Gt => order == Some(Ordering::Greater),
        BinOp::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        BinOp::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    }))
}

fn convert_scalar(to: Scalar, x: &IrValue) -> Option<IrValue> {
    Some(match (to, x) {
        (Scalar::F64, IrValue::F64(x)) => IrValue::F64(*x),
        (Scalar::F64, IrValue::F32(x)) => IrValue::F64(f64::from(*x)),
        (Scalar::F64, IrValue::I64(i)) => IrValue::F64(convert::i64_to_f64(*i)),
        (Scalar::F32, IrValue::F64(x)) => IrValue::F32(convert::f64_to_f32(*x)),
        (Scalar::F32, IrValue::F32(x)) => IrValue::F32(*x),
        (Scalar::F32, IrValue::I64(i)) => IrValue::F32(convert::i64_to_f32(*i)),
        (Scalar::I64, IrValue::F64(x)) => IrValue::I64(convert::f64_to_i64(*x)),
        (Scalar::I64, IrValue::F32(x)) => IrValue::I64(convert::f32_to_i64(*x)),
        (Scalar::I64, IrValue::I64(i)) => IrValue::I64(*i),
        _ => return None,
    })
}

//! **Values of the evaluators**, plain and slow, for comparison with the results of other
//! evaluators. Arrays hold their elements one by one.

use std::cmp::Ordering;

use super::core::{Constant, CoreType, Operation};
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::scalar::{convert, f32s, f64s, i64s};
use lang_syntax::ops::{BinOp, Scalar};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
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

impl Value {
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
    pub fn plus(&self, other: &Self) -> Option<Self> {
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
    pub fn times(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::F64(a), Self::F64(b)) => Self::F64(a * b),
            (Self::F32(a), Self::F32(b)) => Self::F32(a * b),
            (Self::I64(a), Self::I64(b)) => Self::I64(a.wrapping_mul(*b)),
            _ => return None,
        })
    }

    /// Returns the negation of a number.
    #[must_use]
    pub fn negated(&self) -> Option<Self> {
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
pub fn apply(operation: Operation, args: &[Value]) -> Option<Value> {
    match (operation, args) {
        (Operation::Stop, [x]) => Some(x.clone()),
        (Operation::Not, [Value::Bool(b)]) => Some(Value::Bool(!b)),
        (Operation::Convert(to), [x]) => converted(to, x),
        (Operation::Pow, [Value::F64(x), Value::F64(y)]) => Some(Value::F64(f64s::powr(*x, *y))),
        (Operation::Pow, [Value::F32(x), Value::F32(y)]) => Some(Value::F32(f32s::powr(*x, *y))),
        (Operation::PowInt, [Value::F64(x), Value::I64(k)]) => Some(Value::F64(f64s::powi(*x, *k))),
        (Operation::PowInt, [Value::F32(x), Value::I64(k)]) => Some(Value::F32(f32s::powi(*x, *k))),
        (Operation::PowInt, [Value::I64(x), Value::I64(k)]) => Some(Value::I64(i64s::powi(*x, *k)?)),
        (Operation::Binary(op), [a, b]) => binary(op, a, b),
        (Operation::Scalar(f), args) => function(f, args),
        _ => None,
    }
}

fn function(f: ScalarFn, args: &[Value]) -> Option<Value> {
    Some(match args {
        [Value::F64(x)] => match f64s::function(f)? {
            f64s::Function::Unary(f) => Value::F64(f(*x)),
            f64s::Function::Binary(_) => return None,
        },
        [Value::F64(x), Value::F64(y)] => match f64s::function(f)? {
            f64s::Function::Binary(f) => Value::F64(f(*x, *y)),
            f64s::Function::Unary(_) => return None,
        },
        [Value::F32(x)] => match f32s::function(f)? {
            f32s::Function::Unary(f) => Value::F32(f(*x)),
            f32s::Function::Binary(_) => return None,
        },
        [Value::F32(x), Value::F32(y)] => match f32s::function(f)? {
            f32s::Function::Binary(f) => Value::F32(f(*x, *y)),
            f32s::Function::Unary(_) => return None,
        },
        [Value::I64(x)] => match i64s::function(f)? {
            i64s::Function::Unary(f) => Value::I64(f(*x)),
            i64s::Function::Binary(_) => return None,
        },
        [Value::I64(x), Value::I64(y)] => match i64s::function(f)? {
            i64s::Function::Binary(f) => Value::I64(f(*x, *y)),
            i64s::Function::Unary(_) => return None,
        },
        _ => return None,
    })
}

fn binary(op: BinOp, a: &Value, b: &Value) -> Option<Value> {
    let order = match (a, b) {
        (Value::F64(x), Value::F64(y)) => match f64s::arith(op, *x, *y) {
            Some(z) => return Some(Value::F64(z)),
            None => x.partial_cmp(y),
        },
        (Value::F32(x), Value::F32(y)) => match f32s::arith(op, *x, *y) {
            Some(z) => return Some(Value::F32(z)),
            None => x.partial_cmp(y),
        },
        (Value::I64(x), Value::I64(y)) => match op {
            BinOp::FloorDiv | BinOp::Mod => return Some(Value::I64(i64s::arith(op, *x, *y)?)),
            _ => Some(x.cmp(y)),
        },
        (Value::Bool(x), Value::Bool(y)) => Some(x.cmp(y)),
        _ => return None,
    };
    Some(Value::Bool(match op {
        BinOp::Eq => order == Some(Ordering::Equal),
        BinOp::Ne => order != Some(Ordering::Equal),
        BinOp::Lt => order == Some(Ordering::Less),
        BinOp::Gt => order == Some(Ordering::Greater),
        BinOp::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        BinOp::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    }))
}

fn converted(to: Scalar, x: &Value) -> Option<Value> {
    Some(match (to, x) {
        (Scalar::F64, Value::F64(x)) => Value::F64(*x),
        (Scalar::F64, Value::F32(x)) => Value::F64(f64::from(*x)),
        (Scalar::F64, Value::I64(i)) => Value::F64(convert::i64_to_f64(*i)),
        (Scalar::F32, Value::F64(x)) => Value::F32(convert::f64_to_f32(*x)),
        (Scalar::F32, Value::F32(x)) => Value::F32(*x),
        (Scalar::F32, Value::I64(i)) => Value::F32(convert::i64_to_f32(*i)),
        (Scalar::I64, Value::F64(x)) => Value::I64(convert::f64_to_i64(*x)),
        (Scalar::I64, Value::F32(x)) => Value::I64(convert::f32_to_i64(*x)),
        (Scalar::I64, Value::I64(i)) => Value::I64(*i),
        _ => return None,
    })
}

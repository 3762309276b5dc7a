//! **Run-time types.** Closed types whose sizes are numbers. The interpreter needs them if no value
//! exists to inspect: for the zero of a bracket, an empty array or sum, or a literal in polymorphic
//! code.

use lang_runtime::rt_type::RuntimeType;
use std::sync::Arc;

use super::Interp;
use lang_base::{Code, Name};
use lang_runtime::Value;
use lang_runtime::array::{Array, UnboxedElement};
use lang_runtime::code::LocalFrame;
use lang_runtime::columns::ElementForm;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MAX_EXTENT;
use lang_sizes::predicate::{Atom, Poly};
use lang_types::ty::{Scalar, Type};

/// The bound on visited components of a type. Types share their parts, so a small type may unfold
/// into too many.
const MAX_TYPE_PARTS: usize = 100_000;

/// The scalar with which [`Interp::filled_value`] fills a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FillScalar {
    Zero,
    One,
    /// The least of all reals: `max` over no terms.
    Lowest,
    /// The greatest of all reals: `min` over no terms.
    Highest,
}

/// Converts a size to an extent. Fails with E0509 if it is negative, and with E0508 if it is not
/// below [`MAX_EXTENT`].
pub(super) fn checked_extent(at: FailureSite<'_>, n: i64) -> InterpResult<usize> {
    if n >= MAX_EXTENT {
        return Err(at.fail(Code::E0508, format!("the extent {n} is too large")));
    }
    usize::try_from(n).map_err(|_| at.fail(Code::E0509, format!("the extent {n} is negative")))
}

impl Interp<'_> {
    /// Evaluates a size (ATL 4.13 to 4.17).
    pub(super) fn eval_size(&self, at: FailureSite<'_>, f: &LocalFrame, size: &Poly) -> InterpResult<i64> {
        // The two most frequent cases come first.
        if let Some(c) = size.as_constant().and_then(|c| i64::try_from(c).ok()) {
            return Ok(c);
        }
        if let Some(Atom::Local(l, _)) = size.as_atom()
            && let Some(Value::I64(n)) = f.get(*l)
        {
            return Ok(*n);
        }
        size.eval(&mut |a| self.atom_value(f, a)).ok_or_else(|| self.size_failure(at, f, size))
    }

    fn atom_value(&self, f: &LocalFrame, atom: &Atom) -> Option<i64> {
        match atom {
            Atom::Local(l, _) => f.get(*l)?.as_i64(),
            Atom::Global(name) => self.program.global(name)?.as_i64(),
            _ => None,
        }
    }

    /// Returns the reason why a size has no value.
    #[cold]
    fn size_failure(&self, at: FailureSite<'_>, f: &LocalFrame, size: &Poly) -> Box<lang_runtime::Failure> {
        let mut found = None;
        size.for_each_atom(&mut |a| {
            let failure = match a {
                Atom::Global(name) if self.atom_value(f, a).is_none() => {
                    at.fail(Code::E0512, format!("`{name}` has no value yet"))
                }
                Atom::Local(_, name) if self.atom_value(f, a).is_none() => {
                    at.internal_error(&format!("the size `{name}` has no value"))
                }
                Atom::Div(_, by) | Atom::Mod(_, by) if by.eval(&mut |b| self.atom_value(f, b)) == Some(0) => {
                    at.fail(Code::E0505, format!("the size `{size}` contains a division by zero"))
                }
                Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) => {
                    at.internal_error(&format!("the size `{size}` is not closed"))
                }
                _ => return,
            };
            found.get_or_insert(failure);
        });
        found.unwrap_or_else(|| at.fail(Code::E0508, format!("the size `{size}` is too large")))
    }

    /// Substitutes the values of sizes in a type. Sizes without a value stay.
    pub(super) fn close_known_sizes(&self, f: &LocalFrame, ty: &Type) -> Type {
        ty.map_sizes(&|p, _| p.substitute(&|a| self.atom_value(f, a).map(|n| Poly::constant(i128::from(n)))))
    }

    /// Closes a type with the values of its sizes and type parameters in this frame.
    pub(super) fn close_type(&self, at: FailureSite<'_>, f: &LocalFrame, ty: &Type) -> InterpResult<RuntimeType> {
        self.close_type_within_limit(at, f, ty, &mut 0)
    }

    fn close_type_within_limit(
        &self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        ty: &Type,
        parts: &mut usize,
    ) -> InterpResult<RuntimeType> {
        *parts += 1;
        if *parts > MAX_TYPE_PARTS {
            return Err(at.fail(Code::E0508, "a type has too many components"));
        }
        lang_base::ensure_sufficient_stack(|| match ty {
            Type::Scalar(s) => Ok(RuntimeType::Scalar(*s)),
            Type::Array(n, e) => {
                let n = checked_extent(at, self.eval_size(at, f, n)?)?;
                Ok(RuntimeType::Array(n, Arc::new(self.close_type_within_limit(at, f, e, parts)?)))
            }
            Type::Tuple(ts) => Ok(RuntimeType::Tuple(
                ts.iter().map(|t| self.close_type_within_limit(at, f, t, parts)).collect::<InterpResult<_>>()?,
            )),
            Type::Record(fields) => {
                let mut field =
                    |(name, t): &(Name, Type)| Ok((name.clone(), self.close_type_within_limit(at, f, t, parts)?));
                Ok(RuntimeType::Record(fields.iter().map(&mut field).collect::<InterpResult<_>>()?))
            }
            Type::Param(k, _) => {
                f.types.get(*k as usize).cloned().ok_or_else(|| at.internal_error("a type parameter has no argument"))
            }
            Type::Fun(_) | Type::Rel(_) | Type::Data(..) | Type::Str => Ok(RuntimeType::Other),
            Type::Meta(_) | Type::Error => Err(at.internal_error("a type is unknown")),
        })
    }

    /// Returns the scalar type of a literal.
    pub(super) fn scalar_type(f: &LocalFrame, ty: &Type) -> Option<Scalar> {
        match ty {
            Type::Scalar(s) => Some(*s),
            Type::Param(k, _) => match f.types.get(*k as usize) {
                Some(RuntimeType::Scalar(s)) => Some(*s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns a value of a type with one scalar everywhere. With [`FillScalar::Zero`] these are
    /// the zero shapes `0_T` of ATL's Fig. 4.
    pub(super) fn filled_value(&mut self, at: FailureSite<'_>, ty: &RuntimeType, fill: FillScalar) -> InterpResult {
        lang_base::ensure_sufficient_stack(|| match ty {
            RuntimeType::Scalar(s) => fill_scalar(*s, fill).ok_or_else(|| match s {
                Scalar::I64 => at.fail(Code::E0504, "an empty set of integers has no greatest or least element"),
                _ => at.internal_error("the type does not contain this number"),
            }),
            RuntimeType::Array(..) => self.filled_array(at, ty, fill),
            RuntimeType::Tuple(parts) => {
                let parts = parts.iter().map(|t| self.filled_value(at, t, fill)).collect::<InterpResult<_>>()?;
                self.make_tuple(at, parts)
            }
            RuntimeType::Record(fields) => {
                let values = fields.iter().map(|(_, t)| self.filled_value(at, t, fill)).collect::<InterpResult<_>>()?;
                let names = fields.iter().map(|f| f.0.clone()).collect();
                self.make_record(at, names, values)
            }
            RuntimeType::Other => Err(at.internal_error("the type has no zero")),
        })
    }

    fn filled_array(&mut self, at: FailureSite<'_>, ty: &RuntimeType, fill: FillScalar) -> InterpResult {
        fn all<T: UnboxedElement>(
            this: &Interp<'_>,
            at: FailureSite<'_>,
            dims: &[usize],
            n: usize,
            x: T,
        ) -> InterpResult {
            let (mut v, charge) = this.memory.vec_with_capacity(n).map_err(|e| at.allocation_failure(&e))?;
            v.resize(n, x);
            this.make_array(at, Array::new(dims, T::make_store(v), charge))
        }
        let (dims, inner) = ty.peel();
        let n = self.memory.element_count(dims.iter().copied()).map_err(|e| at.allocation_failure(&e))?;
        if n == 0 {
            return self
                .make_array(at, Array::new(&dims, inner.empty_store(), lang_runtime::memory::MemoryCharge::default()));
        }
        match self.filled_value(at, inner, fill)? {
            Value::F64(x) => all(self, at, &dims, n, x),
            Value::F32(x) => all(self, at, &dims, n, x),
            Value::I64(x) => all(self, at, &dims, n, x),
            Value::Bool(x) => all(self, at, &dims, n, x),
            x => {
                if let Some(form) = ElementForm::of_value(&x) {
                    let mut scalars = Vec::new();
                    form.for_each_scalar(&x, &mut |scalar| scalars.push(scalar));
                    let part = |scalar: &&Value| match scalar {
                        Value::F64(x) => all(self, at, &dims, n, *x),
                        Value::F32(x) => all(self, at, &dims, n, *x),
                        Value::I64(x) => all(self, at, &dims, n, *x),
                        Value::Bool(x) => all(self, at, &dims, n, *x),
                        _ => Err(at.internal_error("a component is not a scalar")),
                    };
                    let parts = scalars.iter().map(part).collect::<InterpResult<Vec<_>>>()?;
                    let parts = parts.into_iter().filter_map(|v| if let Value::Array(a) = v { Some(a) } else { None });
                    return self.make_array(at, Array::from_columns(&dims, Arc::new(form), parts.collect()));
                }
                let (mut v, charge) = self.memory.vec_with_capacity(n).map_err(|e| at.allocation_failure(&e))?;
                v.resize(n, x);
                self.make_array(at, Array::new(&dims, v.into(), charge))
            }
        }
    }
}

fn fill_scalar(s: Scalar, fill: FillScalar) -> Option<Value> {
    Some(match (s, fill) {
        (Scalar::F64, FillScalar::Zero) => Value::F64(0.0),
        (Scalar::F64, FillScalar::One) => Value::F64(1.0),
        (Scalar::F64, FillScalar::Lowest) => Value::F64(f64::NEG_INFINITY),
        (Scalar::F64, FillScalar::Highest) => Value::F64(f64::INFINITY),
        (Scalar::F32, FillScalar::Zero) => Value::F32(0.0),
        (Scalar::F32, FillScalar::One) => Value::F32(1.0),
        (Scalar::F32, FillScalar::Lowest) => Value::F32(f32::NEG_INFINITY),
        (Scalar::F32, FillScalar::Highest) => Value::F32(f32::INFINITY),
        (Scalar::I64, FillScalar::Zero) => Value::I64(0),
        (Scalar::I64, FillScalar::One) => Value::I64(1),
        (Scalar::Bool, FillScalar::Zero) => Value::Bool(false),
        (Scalar::Bool, FillScalar::One) => Value::Bool(true),
        _ => return None,
    })
}

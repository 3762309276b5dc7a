//! **Run-time types.** Closed types whose sizes are numbers. The interpreter needs them if no value
//! exists to inspect: for the zero of a bracket, an empty array or sum, or a literal in polymorphic
//! code.

use lang_runtime::rt_type::RtType;
use std::sync::Arc;

use super::Interp;
use lang_base::{Code, Name};
use lang_runtime::Value;
use lang_runtime::array::{Array, Elem};
use lang_runtime::code::Frame;
use lang_runtime::columns::Form;
use lang_runtime::failure::{At, Eval};
use lang_runtime::memory::MAX_EXTENT;
use lang_sizes::predicate::{Atom, Poly};
use lang_types::ty::{Scalar, Type};

/// The bound on visited components of a type. Types share their parts, so a small type may unfold
/// into too many.
const MAX_TYPE_PARTS: usize = 100_000;

/// The scalar with which [`Interp::filled`] fills a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fill {
    Zero,
    One,
    /// The least of all reals: `max` over no terms.
    Lowest,
    /// The greatest of all reals: `min` over no terms.
    Highest,
}

/// Converts a size to an extent. Fails with E0509 if it is negative, and with E0508 if it is not
/// below [`MAX_EXTENT`].
pub(super) fn extent(at: At<'_>, n: i64) -> Eval<usize> {
    if n >= MAX_EXTENT {
        return Err(at.fail(Code::E0508, format!("the extent {n} is too large")));
    }
    usize::try_from(n).map_err(|_| at.fail(Code::E0509, format!("the extent is {n}, which is negative")))
}

impl Interp<'_> {
    /// Evaluates a size (ATL 4.13 to 4.17).
    pub(super) fn size(&self, at: At<'_>, f: &Frame, size: &Poly) -> Eval<i64> {
        // The two most frequent cases come first.
        if let Some(c) = size.as_constant().and_then(|c| i64::try_from(c).ok()) {
            return Ok(c);
        }
        if let Some(Atom::Local(l, _)) = size.as_atom()
            && let Some(Value::I64(n)) = f.get(*l)
        {
            return Ok(*n);
        }
        size.eval(&mut |a| self.atom(f, a)).ok_or_else(|| self.no_size(at, f, size))
    }

    fn atom(&self, f: &Frame, atom: &Atom) -> Option<i64> {
        match atom {
            Atom::Local(l, _) => f.get(*l)?.as_i64(),
            Atom::Global(name) => self.program.global(name)?.as_i64(),
            _ => None,
        }
    }

    /// Returns the reason why a size has no value.
    #[cold]
    fn no_size(&self, at: At<'_>, f: &Frame, size: &Poly) -> Box<lang_runtime::Failure> {
        let mut found = None;
        size.for_each_atom(&mut |a| {
            let failure = match a {
                Atom::Global(name) if self.atom(f, a).is_none() => {
                    at.fail(Code::E0512, format!("`{name}` has no value yet"))
                }
                Atom::Local(_, name) if self.atom(f, a).is_none() => {
                    at.internal(&format!("the size `{name}` has no value"))
                }
                Atom::Div(_, by) | Atom::Mod(_, by) if by.eval(&mut |b| self.atom(f, b)) == Some(0) => {
                    at.fail(Code::E0505, format!("the size `{size}` divides by zero"))
                }
                Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(_) => {
                    at.internal(&format!("the size `{size}` is not closed"))
                }
                _ => return,
            };
            found.get_or_insert(failure);
        });
        found.unwrap_or_else(|| at.fail(Code::E0508, format!("the size `{size}` is too large")))
    }

    /// Substitutes the values of sizes in a type. Sizes without a value stay.
    pub(super) fn partly_closed(&self, f: &Frame, ty: &Type) -> Type {
        ty.map_sizes(&|p, _| p.substitute(&|a| self.atom(f, a).map(|n| Poly::constant(i128::from(n)))))
    }

    /// Closes a type with the values of its sizes and type parameters in this frame.
    pub(super) fn rt_type(&self, at: At<'_>, f: &Frame, ty: &Type) -> Eval<RtType> {
        self.closed(at, f, ty, &mut 0)
    }

    fn closed(&self, at: At<'_>, f: &Frame, ty: &Type, parts: &mut usize) -> Eval<RtType> {
        *parts += 1;
        if *parts > MAX_TYPE_PARTS {
            return Err(at.fail(Code::E0508, "a type has too many components"));
        }
        lang_base::guarded(|| match ty {
            Type::Scalar(s) => Ok(RtType::Scalar(*s)),
            Type::Array(n, e) => {
                let n = extent(at, self.size(at, f, n)?)?;
                Ok(RtType::Array(n, Arc::new(self.closed(at, f, e, parts)?)))
            }
            Type::Tuple(ts) => Ok(RtType::Tuple(ts.iter().map(|t| self.closed(at, f, t, parts)).collect::<Eval<_>>()?)),
            Type::Record(fields) => {
                let mut field = |(name, t): &(Name, Type)| Ok((name.clone(), self.closed(at, f, t, parts)?));
                Ok(RtType::Record(fields.iter().map(&mut field).collect::<Eval<_>>()?))
            }
            Type::Param(k, _) => {
                f.types.get(*k as usize).cloned().ok_or_else(|| at.internal("a type parameter has no argument"))
            }
            Type::Fun(_) | Type::Rel(_) | Type::Data(..) | Type::Str => Ok(RtType::Other),
            Type::Meta(_) | Type::Error => Err(at.internal("a type is not known")),
        })
    }

    /// Returns the scalar type of a literal.
    pub(super) fn scalar_type(f: &Frame, ty: &Type) -> Option<Scalar> {
        match ty {
            Type::Scalar(s) => Some(*s),
            Type::Param(k, _) => match f.types.get(*k as usize) {
                Some(RtType::Scalar(s)) => Some(*s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns a value of a type with one scalar everywhere. With [`Fill::Zero`] these are the zero
    /// shapes `0_T` of ATL's Fig. 4.
    pub(super) fn filled(&mut self, at: At<'_>, ty: &RtType, fill: Fill) -> Eval {
        lang_base::guarded(|| match ty {
            RtType::Scalar(s) => fill_scalar(*s, fill).ok_or_else(|| match s {
                Scalar::I64 => at.fail(Code::E0504, "the greatest or least of no integers does not exist"),
                _ => at.internal("no such number in this type"),
            }),
            RtType::Array(..) => self.filled_array(at, ty, fill),
            RtType::Tuple(parts) => {
                let parts = parts.iter().map(|t| self.filled(at, t, fill)).collect::<Eval<_>>()?;
                self.make_tuple(at, parts)
            }
            RtType::Record(fields) => {
                let values = fields.iter().map(|(_, t)| self.filled(at, t, fill)).collect::<Eval<_>>()?;
                let names = fields.iter().map(|f| f.0.clone()).collect();
                self.make_record(at, names, values)
            }
            RtType::Other => Err(at.internal("a type without a zero")),
        })
    }

    fn filled_array(&mut self, at: At<'_>, ty: &RtType, fill: Fill) -> Eval {
        fn all<T: Elem>(this: &Interp<'_>, at: At<'_>, dims: &[usize], n: usize, x: T) -> Eval {
            let (mut v, charge) = this.memory.vec(n).map_err(|e| at.too_large(&e))?;
            v.resize(n, x);
            this.array(at, Array::new(dims, T::wrap(v), charge))
        }
        let (dims, inner) = ty.peel();
        let n = self.memory.count(dims.iter().copied()).map_err(|e| at.too_large(&e))?;
        if n == 0 {
            return self.array(at, Array::new(&dims, inner.empty_store(), lang_runtime::memory::Charge::default()));
        }
        match self.filled(at, inner, fill)? {
            Value::F64(x) => all(self, at, &dims, n, x),
            Value::F32(x) => all(self, at, &dims, n, x),
            Value::I64(x) => all(self, at, &dims, n, x),
            Value::Bool(x) => all(self, at, &dims, n, x),
            x => {
                if let Some(form) = Form::of(&x) {
                    let mut scalars = Vec::new();
                    form.each(&x, &mut |scalar| scalars.push(scalar));
                    let part = |scalar: &&Value| match scalar {
                        Value::F64(x) => all(self, at, &dims, n, *x),
                        Value::F32(x) => all(self, at, &dims, n, *x),
                        Value::I64(x) => all(self, at, &dims, n, *x),
                        Value::Bool(x) => all(self, at, &dims, n, *x),
                        _ => Err(at.internal("a scalar is none")),
                    };
                    let parts = scalars.iter().map(part).collect::<Eval<Vec<_>>>()?;
                    let parts = parts.into_iter().filter_map(|v| if let Value::Array(a) = v { Some(a) } else { None });
                    return self.array(at, Array::of_columns(&dims, Arc::new(form), parts.collect()));
                }
                let (mut v, charge) = self.memory.vec(n).map_err(|e| at.too_large(&e))?;
                v.resize(n, x);
                self.array(at, Array::new(&dims, v.into(), charge))
            }
        }
    }
}

fn fill_scalar(s: Scalar, fill: Fill) -> Option<Value> {
    Some(match (s, fill) {
        (Scalar::F64, Fill::Zero) => Value::F64(0.0),
        (Scalar::F64, Fill::One) => Value::F64(1.0),
        (Scalar::F64, Fill::Lowest) => Value::F64(f64::NEG_INFINITY),
        (Scalar::F64, Fill::Highest) => Value::F64(f64::INFINITY),
        (Scalar::F32, Fill::Zero) => Value::F32(0.0),
        (Scalar::F32, Fill::One) => Value::F32(1.0),
        (Scalar::F32, Fill::Lowest) => Value::F32(f32::NEG_INFINITY),
        (Scalar::F32, Fill::Highest) => Value::F32(f32::INFINITY),
        (Scalar::I64, Fill::Zero) => Value::I64(0),
        (Scalar::I64, Fill::One) => Value::I64(1),
        (Scalar::Bool, Fill::Zero) => Value::Bool(false),
        (Scalar::Bool, Fill::One) => Value::Bool(true),
        _ => return None,
    })
}

//! **Pattern matching.** Tests patterns and binds their variables for `let`, `match`, lambdas and
//! carries. Binding moves the parts out of the value, so an unshared component of a carry stays
//! unshared.

use std::sync::Arc;

use super::Interp;
use super::eval::{component, component_position, component_type};
use lang_runtime::Value;
use lang_runtime::code::LocalFrame;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::value::{take_args, take_components, take_fields};
use lang_types::tree::TypedPattern;
use lang_types::ty::{FunType, GenericArg, Type};
use lang_types::type_info::TypeInfoBody;

impl Interp<'_> {
    /// Returns whether the value matches. The type serves only to look up record fields by name;
    /// `None` reads fields by position.
    pub(super) fn matches(&self, pat: &TypedPattern, value: &Value, ty: Option<&Type>) -> bool {
        match pat {
            TypedPattern::Wild | TypedPattern::Bind(_) => true,
            TypedPattern::Int(i) => value.as_i64() == Some(*i),
            TypedPattern::Bool(b) => value.as_bool() == Some(*b),
            TypedPattern::Sized(_, p) => self.matches(p, value, ty),
            TypedPattern::Tuple(ps) => match value {
                Value::Tuple(t) => ps
                    .iter()
                    .zip(t.values())
                    .zip(0..)
                    .all(|((p, v), k)| self.matches(p, v, ty.and_then(|t| component_type(t, k)))),
                _ => false,
            },
            TypedPattern::Record(fields) => fields.iter().all(|(k, p)| {
                component(value, ty.unwrap_or(&Type::Error), *k)
                    .is_some_and(|v| self.matches(p, v, ty.and_then(|t| component_type(t, *k))))
            }),
            TypedPattern::Ctor(index, ps) => match value {
                Value::Data(cell) if cell.tag().index == *index => {
                    let types = self.arg_types(ps, *index, ty);
                    ps.iter().zip(cell.args()).enumerate().all(|(k, (p, v))| self.matches(p, v, types.get(k)))
                }
                _ => false,
            },
        }
    }

    /// Binds the variables of a pattern that matches. Fails with an internal error if it does not.
    #[inline(never)]
    pub(super) fn bind(
        &self,
        at: FailureSite<'_>,
        f: &mut LocalFrame,
        pat: &TypedPattern,
        value: Value,
        ty: Option<&Type>,
    ) -> InterpResult<()> {
        match pat {
            TypedPattern::Bind(l) if at.code.last_uses.is_unread(*l) => {}
            TypedPattern::Bind(l) => f.set(*l, value),
            TypedPattern::Wild | TypedPattern::Int(_) | TypedPattern::Bool(_) => {}
            TypedPattern::Sized(locals, p) => {
                let dims = match &value {
                    Value::Array(a) => a.dims().iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect(),
                    Value::Rel(r) => r.dims().to_vec(),
                    _ => Vec::new(),
                };
                if dims.len() < locals.len() {
                    return Err(at.internal_error("a pattern binds more extents than the value has"));
                }
                for (l, n) in locals.iter().zip(dims) {
                    f.set(*l, Value::I64(n));
                }
                self.bind(at, f, p, value, ty)?;
            }
            TypedPattern::Tuple(ps) => {
                let Value::Tuple(t) = value else { return Err(pattern_mismatch(at)) };
                if t.values().len() != ps.len() {
                    return Err(pattern_mismatch(at));
                }
                for ((p, v), k) in ps.iter().zip(take_components(t)).zip(0..) {
                    self.bind(at, f, p, v, ty.and_then(|t| component_type(t, k)))?;
                }
            }
            TypedPattern::Record(fields) => {
                let places = fields.iter().map(|(k, _)| component_position(&value, ty.unwrap_or(&Type::Error), *k));
                let places: Option<Vec<_>> = places.collect();
                let (Value::Record(r), Some(places)) = (value, places) else { return Err(pattern_mismatch(at)) };
                let mut values: Vec<_> = take_fields(r).into_iter().map(Some).collect();
                for ((k, p), place) in fields.iter().zip(places) {
                    let v = values.get_mut(place).and_then(Option::take).ok_or_else(|| pattern_mismatch(at))?;
                    self.bind(at, f, p, v, ty.and_then(|t| component_type(t, *k)))?;
                }
            }
            TypedPattern::Ctor(index, ps) => {
                let Value::Data(cell) = value else { return Err(pattern_mismatch(at)) };
                if cell.tag().index != *index || cell.args().len() != ps.len() {
                    return Err(pattern_mismatch(at));
                }
                let types = self.arg_types(ps, *index, ty);
                for (k, (p, v)) in ps.iter().zip(take_args(cell)).enumerate() {
                    self.bind(at, f, p, v, types.get(k))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the types of the arguments of a constructor. Returns none if no argument pattern
    /// looks into a record, because only records need them.
    fn arg_types(&self, pats: &[TypedPattern], index: u32, ty: Option<&Type>) -> Vec<Type> {
        if !pats.iter().any(has_record) {
            return Vec::new();
        }
        let Some(Type::Data(name, args)) = ty else { return Vec::new() };
        let Some(info) = self.program.type_info(name) else { return Vec::new() };
        let TypeInfoBody::Sum(ctors) = &info.body else { return Vec::new() };
        let Some(ctor) = ctors.get(index as usize) else { return Vec::new() };
        ctor.args.iter().map(|t| substitute(t, args)).collect()
    }
}

fn pattern_mismatch(at: FailureSite<'_>) -> Box<lang_runtime::Failure> {
    at.internal_error("a value does not have the shape of its pattern")
}

fn has_record(pat: &TypedPattern) -> bool {
    match pat {
        TypedPattern::Record(_) => true,
        TypedPattern::Ctor(_, ps) | TypedPattern::Tuple(ps) => ps.iter().any(has_record),
        TypedPattern::Sized(_, p) => has_record(p),
        TypedPattern::Wild | TypedPattern::Bind(_) | TypedPattern::Int(_) | TypedPattern::Bool(_) => false,
    }
}

/// Substitutes type arguments for type parameters. Sizes stay unchanged, because pattern matching
/// does not read them.
fn substitute(ty: &Type, args: &[GenericArg]) -> Type {
    lang_base::ensure_sufficient_stack(|| match ty {
        Type::Param(k, _) => match args.get(*k as usize) {
            Some(GenericArg::Type(t)) => t.clone(),
            _ => Type::Error,
        },
        Type::Array(n, e) => Type::Array(n.clone(), Arc::new(substitute(e, args))),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(|t| substitute(t, args)).collect()),
        Type::Record(fields) => Type::Record(fields.iter().map(|(n, t)| (n.clone(), substitute(t, args))).collect()),
        Type::Fun(fun) => Type::Fun(Arc::new(FunType {
            params: fun.params.iter().map(|(n, t)| (n.clone(), substitute(t, args))).collect(),
            result: substitute(&fun.result, args),
        })),
        Type::Data(name, inner) => {
            let arg = |a: &GenericArg| match a {
                GenericArg::Type(t) => GenericArg::Type(substitute(t, args)),
                GenericArg::Size(_) => a.clone(),
            };
            Type::Data(name.clone(), inner.iter().map(arg).collect())
        }
        Type::Scalar(_) | Type::Str | Type::Rel(_) | Type::Meta(_) | Type::Error => ty.clone(),
    })
}

//! Types and values at the boundary of the language. Instantiates types with the sizes of one run,
//! spells types as a module can write them, and converts checked data to values.

use std::sync::Arc;

use lang_core::base::{GlobalName, ModuleName, Name};
use lang_core::predicate::{Atom, Poly};
use lang_core::runtime::{ConstructorTag, Store, Value};
use lang_core::types::ty::{FunType, GenericArg, Scalar, Signature, Type};
use lang_core::types::type_info::{TypeInfo, TypeInfoBody};

use crate::fit::{Datum, STACK_GROWTH, STACK_RED_ZONE};

/// A function that returns the value of a top-level `i64`.
type GlobalIntegers<'a> = &'a dyn Fn(&GlobalName) -> Option<i64>;

/// Returns a type of a signature with its sizes replaced by their values.
pub(crate) fn with_sizes(ty: &Type, sizes: &[i64]) -> Type {
    ty.map_sizes(&|p, _| {
        p.substitute(&|atom| match atom {
            Atom::SizeParam(k, _) => sizes.get(*k as usize).map(|n| Poly::constant(i128::from(*n))),
            _ => None,
        })
    })
}

/// Returns whether a parameter's type mentions a top-level `let` as a size.
pub(crate) fn mentions_globals(signature: &Signature) -> bool {
    let mut found = false;
    for (_, ty) in &signature.params {
        ty.visit(&mut |_| {}, &mut |p| p.for_each_atom(&mut |a| found |= matches!(a, Atom::Global(_))));
    }
    found
}

/// Whether the name is a generated extent, such as `len(t.age)`.
pub(crate) fn is_length(name: &GlobalName) -> bool {
    name.name.as_str().starts_with("len(")
}

/// Substitutes type arguments into a type of a type definition.
pub(crate) fn instantiate(ty: &Type, args: &[GenericArg]) -> Type {
    lang_core::types::lower::instantiate_type_body(ty, args)
}

/// Returns a type with the sizes of a value. Sizes that neither the value nor a top-level `let`
/// determines remain symbolic.
pub(crate) fn with_value_sizes(ty: &Type, value: Option<&Value>, numbers: GlobalIntegers<'_>) -> Type {
    let size = |p: &Poly| {
        p.substitute(&|atom| match atom {
            Atom::Global(name) => numbers(name).map(|n| Poly::constant(i128::from(n))),
            _ => None,
        })
    };
    let number = |n: usize| Poly::constant(i128::try_from(n).unwrap_or(i128::MAX));
    let part = |ty: &Type, value: Option<&Value>| with_value_sizes(ty, value, numbers);
    match (ty, value) {
        (Type::Array(..), Some(Value::Array(array))) => {
            let (dims, element) = ty.split_array();
            let found = array.dims();
            // An array of arrays is a single value with more axes, so it has as many axes as the
            // type.
            let dims = dims.iter().enumerate().map(|(k, p)| found.get(k).map_or_else(|| size(p), |n| number(*n)));
            let dims: Vec<Poly> = dims.collect();
            Type::array(dims.into_iter(), part(element, array.element(0).as_ref()))
        }
        (Type::Tuple(types), Some(Value::Tuple(items))) => {
            Type::Tuple(types.iter().enumerate().map(|(k, t)| part(t, items.values().get(k))).collect())
        }
        (Type::Record(fields), Some(Value::Record(record))) => {
            let field = |(k, (name, t)): (usize, &(Name, Type))| {
                let value = record.position(name, k).and_then(|at| record.values().get(at));
                (name.clone(), part(t, value))
            };
            Type::Record(fields.iter().enumerate().map(field).collect())
        }
        (Type::Rel(dims), Some(Value::Rel(relation))) => {
            let found = relation.dims();
            let dims = dims.iter().enumerate();
            Type::Rel(
                dims.map(|(k, p)| found.get(k).map_or_else(|| size(p), |n| Poly::constant(i128::from(*n)))).collect(),
            )
        }
        _ => ty.map_sizes(&|p, _| size(p)),
    }
}

/// Returns a closed type as text for a module that imports others by these aliases. `None` if it
/// cannot be written there.
pub(crate) fn writable_text(ty: &Type, module: &ModuleName, aliases: &[(ModuleName, Name)]) -> Option<String> {
    renamed_types(ty, module, aliases).map(|t| t.to_string())
}

/// Renames the types in a type as the module writes them; `None` if a part cannot be written.
fn renamed_types(ty: &Type, module: &ModuleName, aliases: &[(ModuleName, Name)]) -> Option<Type> {
    let closed = |p: &Poly| {
        let mut all = true;
        p.for_each_atom(&mut |a| all &= matches!(a, Atom::Arg(..)));
        all.then(|| p.clone())
    };
    let go = |t: &Type| renamed_types(t, module, aliases);
    Some(match ty {
        Type::Scalar(_) => ty.clone(),
        Type::Str | Type::Param(..) | Type::Meta(_) | Type::Error => return None,
        Type::Array(n, element) => Type::Array(closed(n)?, Arc::new(go(element)?)),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(go).collect::<Option<_>>()?),
        Type::Record(fields) => {
            Type::Record(fields.iter().map(|(n, t)| Some((n.clone(), go(t)?))).collect::<Option<_>>()?)
        }
        Type::Rel(dims) => Type::Rel(dims.iter().map(closed).collect::<Option<_>>()?),
        Type::Fun(fun) => {
            let params = fun.params.iter().map(|(n, t)| Some((n.clone(), go(t)?)));
            Type::Fun(Arc::new(FunType { params: params.collect::<Option<_>>()?, result: go(&fun.result)? }))
        }
        Type::Data(name, args) => {
            let args = args.iter().map(|a| match a {
                GenericArg::Type(t) => go(t).map(GenericArg::Type),
                GenericArg::Size(p) => closed(p).map(GenericArg::Size),
            });
            let args = args.collect::<Option<_>>()?;
            if name.module == *module || name.module.is_empty() {
                Type::Data(name.clone(), args)
            } else {
                let (_, alias) = aliases.iter().find(|(m, _)| *m == name.module)?;
                Type::Data(GlobalName::new(module, &format!("{alias}.{}", name.name)), args)
            }
        }
    })
}

/// Converts data to a value of a type. The caller must have checked the data against the type.
pub(crate) fn value_of_datum(
    datum: &Datum,
    ty: &Type,
    infos: &dyn Fn(&GlobalName) -> Option<Arc<TypeInfo>>,
    numbers: GlobalIntegers<'_>,
) -> Value {
    // Values of recursive types can be deep, so the stack grows.
    let part = |datum: &Datum, ty: &Type| {
        stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || value_of_datum(datum, ty, infos, numbers))
    };
    match (datum, ty) {
        #[expect(clippy::cast_possible_truncation, reason = "an f32 is the nearest one to the number given")]
        (Datum::Real(x), Type::Scalar(Scalar::F32)) => Value::F32(*x as f32),
        (Datum::Converted(value), _) => value.clone(),
        (Datum::Real(x), _) => Value::F64(*x),
        (Datum::Int(n), _) => Value::I64(*n),
        (Datum::Bool(b), _) => Value::Bool(*b),
        (Datum::Tuple(parts), Type::Record(fields)) => {
            Value::record(parts.iter().zip(fields.iter()).map(|(d, (n, t))| (n.clone(), part(d, t))).collect())
        }
        (Datum::Tuple(parts), Type::Tuple(types)) => {
            Value::tuple(parts.iter().zip(types.iter()).map(|(d, t)| part(d, t)).collect())
        }
        (Datum::Ctor(index, parts), Type::Data(name, args)) => {
            let info = infos(name);
            let ctor = match info.as_ref().map(|i| &i.body) {
                Some(TypeInfoBody::Sum(ctors)) => ctors.get(*index as usize),
                _ => None,
            };
            let types = ctor.map(|c| c.args.as_slice()).unwrap_or_default();
            let values = parts.iter().zip(types).map(|(d, t)| part(d, &instantiate(t, args))).collect();
            let tag = ConstructorTag {
                ty: name.clone(),
                index: *index,
                name: ctor.map(|c| c.name.clone()).unwrap_or_default(),
                arity: types.len(),
            };
            Value::data(Arc::new(tag), values)
        }
        (Datum::Array(_), _) => array_of_datum(datum, ty, infos, numbers),
        (Datum::Tuple(_) | Datum::Ctor(..), _) => Value::unit(),
    }
}

fn array_of_datum(
    datum: &Datum,
    ty: &Type,
    infos: &dyn Fn(&GlobalName) -> Option<Arc<TypeInfo>>,
    numbers: GlobalIntegers<'_>,
) -> Value {
    let (extents, element) = ty.split_array();
    let extents = extents.iter().map(|p| {
        let n = p.eval(&mut |atom| match atom {
            Atom::Global(name) => numbers(name),
            _ => None,
        });
        n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    });
    let dims: Vec<usize> = extents.collect();
    let mut leaves = Vec::new();
    collect_elements(datum, dims.len(), &mut leaves);
    let real = |d: &&Datum| if let Datum::Real(x) = d { *x } else { 0.0 };
    let array = match element {
        Type::Scalar(Scalar::F64) => Value::array(&dims, leaves.iter().map(real).collect::<Vec<f64>>()),
        #[expect(clippy::cast_possible_truncation, reason = "an f32 is the nearest one to the number given")]
        Type::Scalar(Scalar::F32) => Value::array(&dims, leaves.iter().map(|d| real(d) as f32).collect::<Vec<f32>>()),
        Type::Scalar(Scalar::I64) => {
            let int = |d: &&Datum| if let Datum::Int(n) = d { *n } else { 0 };
            Value::array(&dims, leaves.iter().map(int).collect::<Vec<i64>>())
        }
        Type::Scalar(Scalar::Bool) => {
            Value::array(&dims, leaves.iter().map(|d| **d == Datum::Bool(true)).collect::<Vec<bool>>())
        }
        _ => Value::array(
            &dims,
            Store::from_values(leaves.iter().map(|d| value_of_datum(d, element, infos, numbers)).collect()),
        ),
    };
    // The data was checked, so its extents match.
    array.unwrap_or_else(Value::unit)
}

/// Collects the elements below `axes` axes, in row-major order. The data must have at least that
/// many.
fn collect_elements<'d>(datum: &'d Datum, axes: usize, out: &mut Vec<&'d Datum>) {
    match (datum, axes) {
        (Datum::Array(items), 1..) => items.iter().for_each(|item| collect_elements(item, axes - 1, out)),
        _ => out.push(datum),
    }
}

/// Returns an example literal of a type; `None` if it would need names of the program.
pub(crate) fn example_literal(ty: &Type) -> Option<String> {
    Some(match ty {
        Type::Scalar(Scalar::F64 | Scalar::F32) => "1.5".to_owned(),
        Type::Scalar(Scalar::I64) => "3".to_owned(),
        Type::Scalar(Scalar::Bool) => "true".to_owned(),
        Type::Array(_, element) => {
            let element = example_literal(element)?;
            format!("[{element}, {element}]")
        }
        Type::Tuple(types) => {
            let parts: Option<Vec<String>> = types.iter().map(example_literal).collect();
            format!("({})", parts?.join(", "))
        }
        Type::Record(fields) => {
            let field = |(name, ty): &(Name, Type)| Some(format!("{name}: {}", example_literal(ty)?));
            let parts: Option<Vec<String>> = fields.iter().map(field).collect();
            format!("{{{}}}", parts?.join(", "))
        }
        _ => return None,
    })
}

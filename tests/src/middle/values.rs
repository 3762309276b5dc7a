//! **Value conversion** between the interpreter, the evaluators and the reference, and random
//! arguments for a signature.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::Name;
use lang_core::eval::eval_ssa::IrTensor;
use lang_core::ir::core::{CoreFunction, CoreType, TupleLabels};
use lang_core::ir::value::IrValue;
use lang_core::predicate::{Atom, Poly};
use lang_core::runtime::{ConstructorTag, Relation, Value as Computed};
use lang_core::syntax::ops::Scalar;

use super::reference::DualValue;
use crate::random::Random;

/// Converts a value of the interpreter for the evaluators. Record fields are sorted by name. `None`
/// for sum types.
#[must_use]
pub fn plain(value: &Computed) -> Option<IrValue> {
    Some(match value {
        Computed::F64(x) => IrValue::F64(*x),
        Computed::F32(x) => IrValue::F32(*x),
        Computed::I64(i) => IrValue::I64(*i),
        Computed::Bool(b) => IrValue::Bool(*b),
        Computed::Tuple(items) => IrValue::Tuple(items.values().iter().map(plain).collect::<Option<_>>()?),
        Computed::Record(record) => {
            let mut order: Vec<(&Name, &Computed)> = record.names().iter().zip(record.values()).collect();
            order.sort_by_key(|(name, _)| (*name).clone());
            IrValue::Tuple(order.into_iter().map(|(_, v)| plain(v)).collect::<Option<_>>()?)
        }
        Computed::Array(array) => {
            let items = (0..array.count()).map(|k| plain(&array.element(k)?));
            nested(&mut items.collect::<Option<Vec<_>>>()?.into_iter(), array.dims())
        }
        _ => return None,
    })
}

/// Returns elements in their order as nested arrays of these extents.
pub fn nested(items: &mut dyn Iterator<Item = IrValue>, dims: &[usize]) -> IrValue {
    match dims.split_first() {
        None => items.next().unwrap_or(IrValue::Tuple(Vec::new())),
        Some((n, rest)) => IrValue::Array((0..*n).map(|_| nested(items, rest)).collect()),
    }
}

/// Returns a part of a value by its path through tuples; an array of tuples counts as a tuple of
/// arrays. `dims` are the extents of the type. They are needed for an array without elements,
/// because its value does not determine its inner extents.
#[must_use]
pub fn part(value: &IrValue, path: &[u32], dims: &[usize]) -> IrTensor {
    fn fill(value: &IrValue, path: &[u32], out: &mut Vec<IrValue>) {
        match value {
            IrValue::Array(items) => items.iter().for_each(|item| fill(item, path, out)),
            IrValue::Tuple(items) => {
                if let Some((k, rest)) = path.split_first()
                    && let Some(item) = items.get(*k as usize)
                {
                    fill(item, rest, out);
                }
            }
            IrValue::Rel(rows) => {
                let row = |r: &Vec<i64>| IrValue::Tuple(r.iter().map(|i| IrValue::I64(*i)).collect());
                out.extend(rows.iter().map(row));
            }
            scalar => out.push(scalar.clone()),
        }
    }
    let mut items = Vec::new();
    fill(value, path, &mut items);
    IrTensor { dims: dims.to_vec(), items }
}

/// Returns whether each element states the membership of its index tuple in the relation.
fn is_relation(relation: &Relation, wanted: &DualValue, at: &mut Vec<i64>) -> bool {
    match wanted {
        DualValue::Bool(member) => relation.contains(at) == *member,
        DualValue::Array(items) => items.iter().enumerate().all(|(k, item)| {
            at.push(i64::try_from(k).unwrap_or(i64::MAX));
            let same = is_relation(relation, item, at);
            at.pop();
            same
        }),
        _ => false,
    }
}

/// Returns a part of a value, with the extents of the value itself.
#[must_use]
pub fn part_as_is(value: &IrValue, path: &[u32]) -> IrTensor {
    fn extents(value: &IrValue, path: &[u32], out: &mut Vec<usize>) {
        match value {
            IrValue::Array(items) => {
                out.push(items.len());
                items.iter().take(1).for_each(|item| extents(item, path, out));
            }
            IrValue::Tuple(items) => {
                if let Some((k, rest)) = path.split_first()
                    && let Some(item) = items.get(*k as usize)
                {
                    extents(item, rest, out);
                }
            }
            _ => {}
        }
    }
    let mut dims = Vec::new();
    extents(value, path, &mut dims);
    part(value, path, &dims)
}

/// Collects the scalars of a part of a reference value.
pub fn scalars<'r>(of: &'r DualValue, path: &[u32], out: &mut Vec<&'r DualValue>) {
    match of {
        DualValue::Array(items) => items.iter().for_each(|item| scalars(item, path, out)),
        DualValue::Tuple(items) => {
            if let Some((k, rest)) = path.split_first()
                && let Some(item) = items.get(*k as usize)
            {
                scalars(item, rest, out);
            }
        }
        scalar => out.push(scalar),
    }
}

/// Returns the parts of a value of a type, in the order of the type's leaves.
#[must_use]
pub fn parts(value: &IrValue, ty: &CoreType, sizes: &dyn Fn(&Poly) -> i64) -> Vec<IrTensor> {
    let leaves = ty.leaves().into_iter();
    leaves.map(|leaf| part(value, &leaf.path, &extents(&leaf.dims, sizes))).collect()
}

/// Evaluates extents.
#[must_use]
pub fn extents(dims: &[Poly], sizes: &dyn Fn(&Poly) -> i64) -> Vec<usize> {
    dims.iter().map(|n| usize::try_from(sizes(n)).unwrap_or(0)).collect()
}

/// Converts a value for the interpreter.
#[must_use]
pub fn computed(value: &IrValue, ty: &CoreType, sizes: &dyn Fn(&Poly) -> i64) -> Option<Computed> {
    let (dims, element) = ty.split_array();
    if !dims.is_empty() {
        let dims: Vec<usize> = dims.iter().map(|n| usize::try_from(sizes(n)).unwrap_or(0)).collect();
        let mut items = Vec::new();
        flatten(value, dims.len(), &mut items);
        return match element {
            CoreType::Scalar(Scalar::F64) => {
                let items = items.iter().map(|v| if let IrValue::F64(x) = v { *x } else { 0.0 });
                Computed::array(&dims, items.collect::<Vec<f64>>())
            }
            CoreType::Scalar(Scalar::F32) => {
                let items = items.iter().map(|v| if let IrValue::F32(x) = v { *x } else { 0.0 });
                Computed::array(&dims, items.collect::<Vec<f32>>())
            }
            CoreType::Scalar(Scalar::I64) => {
                Computed::array(&dims, items.iter().map(|v| v.int().unwrap_or(0)).collect::<Vec<i64>>())
            }
            CoreType::Scalar(Scalar::Bool) => {
                Computed::array(&dims, items.iter().map(|v| v.truth().unwrap_or(false)).collect::<Vec<bool>>())
            }
            other => {
                let items: Option<Vec<Computed>> = items.iter().map(|v| computed(v, other, sizes)).collect();
                Computed::array(&dims, lang_core::runtime::Store::Boxed(lang_core::runtime::Components::new(items?)))
            }
        };
    }
    Some(match (value, ty) {
        (IrValue::F64(x), _) => Computed::F64(*x),
        (IrValue::F32(x), _) => Computed::F32(*x),
        (IrValue::I64(i), _) => Computed::I64(*i),
        (IrValue::Bool(b), _) => Computed::Bool(*b),
        (IrValue::Tuple(items), CoreType::Tuple(types, TupleLabels::Sum(sum))) => {
            let (index, held) =
                (u32::try_from(items.first()?.int()?).ok()?, usize::try_from(items.first()?.int()?).ok()?);
            let args = computed(items.get(held + 1)?, types.get(held + 1)?, sizes)?;
            let Computed::Tuple(args) = args else { return None };
            let args = args.values().to_vec();
            let tag = ConstructorTag {
                ty: sum.name.clone(),
                index,
                name: sum.constructors.get(held)?.clone(),
                arity: args.len(),
            };
            Computed::data(Arc::new(tag), args)
        }
        (IrValue::Tuple(items), CoreType::Tuple(types, labels)) => {
            let items: Option<Vec<Computed>> =
                items.iter().zip(types.iter()).map(|(v, t)| computed(v, t, sizes)).collect();
            match labels.fields() {
                None => Computed::tuple(items?),
                Some(names) => Computed::record(names.iter().cloned().zip(items?).collect::<Vec<(Name, Computed)>>()),
            }
        }
        _ => return None,
    })
}

fn flatten(value: &IrValue, depth: usize, out: &mut Vec<IrValue>) {
    match value {
        IrValue::Array(items) if depth > 0 => items.iter().for_each(|v| flatten(v, depth - 1, out)),
        other => out.push(other.clone()),
    }
}

/// Draws a value of a type: dyadic numbers and small integers.
#[must_use]
pub fn draw(random: &mut Random, ty: &CoreType, sizes: &dyn Fn(&Poly) -> i64) -> Option<IrValue> {
    Some(match ty {
        CoreType::Scalar(s) => scalar(random, *s),
        // A sum type: the constructor's number, then the arguments of each constructor.
        CoreType::Tuple(items, TupleLabels::Sum(_)) => {
            let tag = i64::try_from(random.number_below(items.len() - 1)).ok()?;
            let parts = items.iter().skip(1).map(|t| draw(random, t, sizes));
            IrValue::Tuple([Some(IrValue::I64(tag))].into_iter().chain(parts).collect::<Option<_>>()?)
        }
        CoreType::Tuple(items, _) => {
            IrValue::Tuple(items.iter().map(|t| draw(random, t, sizes)).collect::<Option<_>>()?)
        }
        CoreType::Tensor(n, t) => IrValue::Array((0..sizes(n)).map(|_| draw(random, t, sizes)).collect::<Option<_>>()?),
        CoreType::Rel(_) => return None,
    })
}

/// Draws a tangent of a value: other reals; inside a constructor, a part without reals keeps its
/// value.
#[must_use]
pub fn draw_tangent(random: &mut Random, ty: &CoreType, of: &IrValue, held: bool) -> Option<IrValue> {
    let has_real = || ty.leaves().iter().any(|leaf| matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32)));
    if held && !has_real() {
        return Some(of.clone());
    }
    Some(match (ty, of) {
        (CoreType::Scalar(s @ (Scalar::F64 | Scalar::F32)), _) => scalar(random, *s),
        (CoreType::Scalar(_) | CoreType::Rel(_), _) => IrValue::Tuple(Vec::new()),
        (CoreType::Tuple(types, labels), IrValue::Tuple(items)) => {
            let held = held || labels.sum().is_some();
            let each = types.iter().zip(items).map(|(t, v)| draw_tangent(random, t, v, held));
            IrValue::Tuple(each.collect::<Option<_>>()?)
        }
        (CoreType::Tensor(_, inner), _) if !held && tangent_type(inner) == CoreType::unit() => {
            IrValue::Tuple(Vec::new())
        }
        (CoreType::Tensor(_, inner), IrValue::Array(items)) => {
            IrValue::Array(items.iter().map(|v| draw_tangent(random, inner, v, held)).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Returns the type of tangents.
#[must_use]
pub fn tangent_type(ty: &CoreType) -> CoreType {
    match ty {
        CoreType::Scalar(Scalar::F64 | Scalar::F32) | CoreType::Tuple(_, TupleLabels::Sum(_)) => ty.clone(),
        CoreType::Scalar(_) | CoreType::Rel(_) => CoreType::unit(),
        CoreType::Tuple(items, labels) => CoreType::Tuple(items.iter().map(tangent_type).collect(), labels.clone()),
        CoreType::Tensor(n, t) => match tangent_type(t) {
            t if t == CoreType::unit() => t,
            t => CoreType::Tensor(n.clone(), Arc::new(t)),
        },
    }
}

/// Draws a scalar: a multiple of an eighth, or a small integer.
pub fn scalar(random: &mut Random, of: Scalar) -> IrValue {
    eighth(random, of, -16)
}

/// Returns the value with positive numbers, which lie in the domain of logarithms and similar
/// functions. The constructors of sum types do not change.
#[must_use]
pub fn positive(value: &IrValue, ty: &CoreType) -> IrValue {
    let moved = |x: f64| if x > 0.0 { x } else { 0.125 - x };
    match (value, ty) {
        (IrValue::F64(x), _) => IrValue::F64(moved(*x)),
        #[expect(clippy::cast_possible_truncation, reason = "dyadic numbers are exact")]
        (IrValue::F32(x), _) => IrValue::F32(moved(f64::from(*x)) as f32),
        (IrValue::I64(i), _) => IrValue::I64((*i).max(1)),
        (IrValue::Tuple(items), CoreType::Tuple(types, labels)) => {
            let kept = usize::from(labels.sum().is_some());
            let rest = items.iter().zip(types.iter()).skip(kept).map(|(v, t)| positive(v, t));
            IrValue::Tuple(items.iter().take(kept).cloned().chain(rest).collect())
        }
        (IrValue::Array(items), CoreType::Tensor(_, inner)) => {
            IrValue::Array(items.iter().map(|v| positive(v, inner)).collect())
        }
        (other, _) => other.clone(),
    }
}

/// Returns the value with its zeros replaced, as a direction in which every real varies.
#[must_use]
pub fn varied(value: &IrValue) -> IrValue {
    let all = |items: &[IrValue]| items.iter().map(varied).collect();
    match value {
        IrValue::F64(0.0) => IrValue::F64(0.375),
        IrValue::F32(0.0) => IrValue::F32(0.375),
        IrValue::Tuple(items) => IrValue::Tuple(all(items)),
        IrValue::Array(items) => IrValue::Array(all(items)),
        other => other.clone(),
    }
}

fn eighth(random: &mut Random, of: Scalar, least: i32) -> IrValue {
    let small = |random: &mut Random| i32::try_from(random.number_below(33)).unwrap_or(0) + least;
    match of {
        Scalar::F64 => IrValue::F64(f64::from(small(random)) / 8.0),
        #[expect(clippy::cast_possible_truncation, reason = "dyadic numbers are exact")]
        Scalar::F32 => IrValue::F32((f64::from(small(random)) / 8.0) as f32),
        Scalar::I64 => IrValue::I64(i64::try_from(random.number_below(6)).unwrap_or(0) - 1),
        Scalar::Bool => IrValue::Bool(random.number_below(2) == 0),
    }
}

/// Draws arguments that fit these sizes. Integer arguments in extents are sizes too: they come from
/// `sizes` after those that a call passes. `None` if an extent would be negative.
#[must_use]
pub fn arguments(random: &mut Random, core: &CoreFunction, sizes: &[i64]) -> Option<Vec<IrValue>> {
    let above = random.once_in(3);
    let counted = sizes_among(core);
    let mut rest = sizes.iter().skip(core.sizes.len());
    let mut args: Vec<IrValue> = Vec::new();
    for (k, (_, ty)) in core.params.iter().enumerate() {
        let value = if counted.contains(&k) {
            IrValue::I64(*rest.next()?)
        } else {
            let of = size_of(core, sizes, &args);
            if ty.leaves().iter().any(|leaf| leaf.dims.iter().any(|n| of(n) < 0)) {
                return None;
            }
            let drawn = draw(random, ty, &of)?;
            if above { positive(&drawn, ty) } else { drawn }
        };
        args.push(value);
    }
    Some(args)
}

/// Returns the integer parameters on which indices and extents of the definition depend.
#[must_use]
pub fn sizes_among(core: &CoreFunction) -> Vec<usize> {
    let int = |ty: &CoreType| matches!(ty, CoreType::Scalar(Scalar::I64));
    let params = core.params.iter().enumerate();
    params.filter(|(_, (x, ty))| int(ty) && core.bounded_params.contains(x)).map(|(k, _)| k).collect()
}

/// Returns a function that evaluates extents; an unknown extent is -1.
pub fn size_of(core: &CoreFunction, sizes: &[i64], args: &[IrValue]) -> impl Fn(&Poly) -> i64 + use<> {
    let mut locals: HashMap<u32, i64> = core.sizes.iter().map(|l| l.0).zip(sizes.iter().copied()).collect();
    locals.extend(core.params.iter().zip(args).filter_map(|((l, _), v)| Some((l.0, v.int()?))));
    move |p: &Poly| {
        p.eval(&mut |a| match a {
            Atom::Local(l, _) => locals.get(&l.0).copied(),
            _ => None,
        })
        .unwrap_or(-1)
    }
}

/// Returns the parameters that consist of reals alone and can vary.
#[must_use]
pub fn varying(core: &CoreFunction) -> Vec<usize> {
    let real = |ty: &CoreType| {
        let leaves = ty.leaves();
        !leaves.is_empty() && leaves.iter().all(|l| matches!(l.scalar, Some(Scalar::F64 | Scalar::F32)))
    };
    core.params.iter().enumerate().filter(|(_, (_, ty))| real(ty)).map(|(k, _)| k).collect()
}

/// Compares a value of the interpreter with the reference. Calls `see` with each pair of scalars
/// that must agree, without comparing reals itself. In a sum type only the parts of the value's own
/// constructor count.
///
/// # Errors
/// If their shapes differ.
pub fn compare(found: &Computed, wanted: &DualValue, see: &mut dyn FnMut(f64, &DualValue)) -> Result<(), String> {
    let differ = || Err(format!("{found:?} is not of the form of {wanted:?}"));
    let each =
        |items: &mut dyn Iterator<Item = Computed>, wanted: &[DualValue], see: &mut dyn FnMut(f64, &DualValue)| {
            let mut n = 0;
            for (k, item) in items.enumerate() {
                n += 1;
                match wanted.get(k) {
                    Some(wanted) => compare(&item, wanted, see)?,
                    None => return Err("more items than there should be".to_owned()),
                }
            }
            if n == wanted.len() { Ok(()) } else { Err("fewer items than there should be".to_owned()) }
        };
    match (found, wanted) {
        (Computed::F64(x), DualValue::Real(..)) => see(*x, wanted),
        (Computed::F32(x), DualValue::Real(..)) => see(f64::from(*x), wanted),
        (Computed::I64(i), DualValue::Int(j)) if i == j => {}
        (Computed::Bool(a), DualValue::Bool(b)) if a == b => {}
        (Computed::Tuple(items), DualValue::Tuple(wanted)) => {
            each(&mut items.values().iter().cloned(), wanted, see)?;
        }
        (Computed::Record(record), DualValue::Tuple(wanted)) => {
            let mut order: Vec<(&Name, &Computed)> = record.names().iter().zip(record.values()).collect();
            order.sort_by_key(|(name, _)| (*name).clone());
            each(&mut order.into_iter().map(|(_, v)| v.clone()), wanted, see)?;
        }
        // In core, a relation that the program constructs is an array of truth values.
        (Computed::Rel(relation), DualValue::Array(_)) => {
            if !is_relation(relation, wanted, &mut Vec::new()) {
                return differ();
            }
        }
        (Computed::Data(cell), DualValue::Tuple(wanted)) => {
            let tag = cell.tag().index as usize;
            let (Some(DualValue::Int(t)), Some(DualValue::Tuple(wanted))) = (wanted.first(), wanted.get(tag + 1))
            else {
                return differ();
            };
            if usize::try_from(*t) != Ok(tag) {
                return differ();
            }
            each(&mut cell.args().iter().cloned(), wanted, see)?;
        }
        (Computed::Array(array), DualValue::Array(_)) => {
            fn rows<'r>(of: &'r DualValue, dims: &[usize], out: &mut Vec<&'r DualValue>) -> Result<(), String> {
                match (dims.split_first(), of) {
                    (None, leaf) => out.push(leaf),
                    (Some((n, rest)), DualValue::Array(items)) if items.len() == *n => {
                        items.iter().try_for_each(|item| rows(item, rest, out))?;
                    }
                    _ => return Err("another extent".to_owned()),
                }
                Ok(())
            }
            let mut leaves = Vec::new();
            rows(wanted, array.dims(), &mut leaves)?;
            for (k, leaf) in leaves.into_iter().enumerate() {
                let item = array.element(k).ok_or("an element")?;
                compare(&item, leaf, see)?;
            }
        }
        _ => return differ(),
    }
    Ok(())
}

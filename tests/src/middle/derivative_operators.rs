//! **Derivative operators** of core by their definition. The function runs on dual numbers, along a
//! tangent or along each coordinate of its varying inputs. A derivative of a derivative would need
//! higher-order dual numbers, so the interpreter's value is used there.

use std::sync::Arc;

use lang_core::ir::core::{CoreFunction, DerivativeKind, FunctionKey, TypeLeaf};
use lang_core::syntax::ops::Scalar;

use super::error_bounds::Number;
use super::reference::{DualValue, Reference, ReferenceResult, ReferenceStop};

impl Reference<'_> {
    /// Evaluates a call of a derived function.
    pub(super) fn derived(
        &mut self,
        callee: &FunctionKey,
        sizes: &[i64],
        mut args: Vec<DualValue>,
    ) -> ReferenceResult<DualValue> {
        let [derivation] = &*callee.derivatives else { return Err(ReferenceStop::Higher) };
        if !args.iter().all(is_constant) {
            return Err(ReferenceStop::Higher);
        }
        let of = FunctionKey { derivatives: Arc::from([]), ..callee.clone() };
        let function = self.core_of(&of)?;
        let beside = args.split_off(function.params.len().min(args.len()));
        let outputs = function.body.ty.leaves();
        let mut parts = Vec::new();
        match derivation {
            DerivativeKind::Forward(wrt) => {
                let inputs: Vec<(usize, TypeLeaf)> = wrt.iter().filter_map(|k| input(&function, *k)).collect();
                let varying = inputs
                    .iter()
                    .zip(&beside)
                    .fold(args, |args, ((k, leaf), tangent)| put(args, *k, |arg| seeded(arg, &leaf.path, tangent)));
                let value = self.call(&function, sizes, varying)?;
                parts.extend(outputs.iter().map(|leaf| part(&value, &leaf.path, &|x, _| x)));
                let real = outputs.iter().filter(|leaf| is_real(leaf));
                parts.extend(real.map(|leaf| part(&value, &leaf.path, &|_, t| t)));
            }
            DerivativeKind::Adjoint { outputs: of, wrt } => {
                let value = self.call(&function, sizes, args.clone())?;
                parts.extend(outputs.iter().map(|leaf| part(&value, &leaf.path, &|x, _| x)));
                let output_leaves: Vec<&TypeLeaf> = of.iter().filter_map(|k| outputs.get(*k as usize)).collect();
                for k in &**wrt {
                    let (k, leaf) = input(&function, *k).ok_or(ReferenceStop::Broken("an input"))?;
                    let like = args
                        .get(k)
                        .map(|arg| part(arg, &leaf.path, &|x, _| x))
                        .ok_or(ReferenceStop::Broken("an input"))?;
                    let mut coordinates = Vec::new();
                    reals(&like, &mut coordinates);
                    let mut cotangents = Vec::new();
                    for nth in 0..coordinates.len() {
                        let unit = unit(&like, &mut nth.cast_signed());
                        let varying = put(args.clone(), k, |arg| seeded(arg, &leaf.path, &unit));
                        let along = self.call(&function, sizes, varying)?;
                        let single = leaf.scalar == Some(Scalar::F32);
                        let mut sum = Number::zero(single);
                        for (leaf, cotangent) in output_leaves.iter().zip(&beside) {
                            let (mut tangents, mut weights) = (Vec::new(), Vec::new());
                            reals(&part(&along, &leaf.path, &|_, t| t), &mut tangents);
                            reals(cotangent, &mut weights);
                            for (t, w) in tangents.iter().zip(&weights) {
                                sum = sum.plus(&t.times(w));
                            }
                        }
                        cotangents.push(sum);
                    }
                    parts.push(filled(&like, &mut cotangents.into_iter()));
                }
            }
        }
        Ok(DualValue::Tuple(parts))
    }
}

/// Returns the parameter that an input belongs to, and its part.
fn input(function: &CoreFunction, k: u32) -> Option<(usize, TypeLeaf)> {
    let leaves =
        function.params.iter().enumerate().flat_map(|(p, (_, ty))| ty.leaves().into_iter().map(move |l| (p, l)));
    leaves.into_iter().nth(k as usize)
}

fn is_real(leaf: &TypeLeaf) -> bool {
    matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32))
}

fn is_constant(value: &DualValue) -> bool {
    match value {
        DualValue::Real(_, t) => t.is_nothing(),
        DualValue::Tuple(items) | DualValue::Array(items) => items.iter().all(is_constant),
        DualValue::Int(_) | DualValue::Bool(_) | DualValue::Rel(_) => true,
    }
}

fn put(mut args: Vec<DualValue>, k: usize, f: impl FnOnce(&DualValue) -> DualValue) -> Vec<DualValue> {
    if let Some(slot) = args.get_mut(k) {
        *slot = f(slot);
    }
    args
}

/// Returns the value with a tangent in one of its parts.
fn seeded(value: &DualValue, path: &[u32], tangent: &DualValue) -> DualValue {
    match (value, tangent) {
        (DualValue::Array(items), DualValue::Array(tangents)) => {
            DualValue::Array(items.iter().zip(tangents).map(|(v, t)| seeded(v, path, t)).collect())
        }
        (DualValue::Tuple(items), _) => {
            let at = path.first().copied();
            let seed = |(k, v): (u32, &DualValue)| match at {
                Some(at) if at == k => seeded(v, path.get(1..).unwrap_or_default(), tangent),
                _ => v.clone(),
            };
            DualValue::Tuple((0..).zip(items).map(seed).collect())
        }
        (DualValue::Real(x, _), DualValue::Real(t, _)) => DualValue::Real(*x, *t),
        (other, _) => other.clone(),
    }
}

/// Returns a part of a value as an array of constants. `choose` selects from primal and tangent.
fn part(value: &DualValue, path: &[u32], choose: &dyn Fn(Number, Number) -> Number) -> DualValue {
    match value {
        DualValue::Array(items) => DualValue::Array(items.iter().map(|v| part(v, path, choose)).collect()),
        DualValue::Tuple(items) => match path.split_first() {
            Some((k, rest)) => items.get(*k as usize).map_or_else(|| value.clone(), |v| part(v, rest, choose)),
            None => value.clone(),
        },
        DualValue::Real(x, t) => DualValue::Real(choose(*x, *t), Number::zero(x.single)),
        other => other.clone(),
    }
}

fn reals(value: &DualValue, out: &mut Vec<Number>) {
    match value {
        DualValue::Real(x, _) => out.push(*x),
        DualValue::Array(items) | DualValue::Tuple(items) => items.iter().for_each(|v| reals(v, out)),
        DualValue::Int(_) | DualValue::Bool(_) | DualValue::Rel(_) => {}
    }
}

/// Returns an array with one at a coordinate and zero elsewhere.
fn unit(like: &DualValue, left: &mut isize) -> DualValue {
    match like {
        DualValue::Array(items) => DualValue::Array(items.iter().map(|v| unit(v, left)).collect()),
        DualValue::Real(x, _) => {
            let one = if *left == 0 { Number::exact(1.0, x.single) } else { Number::zero(x.single) };
            *left -= 1;
            DualValue::Real(one, Number::zero(x.single))
        }
        other => other.clone(),
    }
}

fn filled(like: &DualValue, numbers: &mut dyn Iterator<Item = Number>) -> DualValue {
    match like {
        DualValue::Array(items) => DualValue::Array(items.iter().map(|v| filled(v, numbers)).collect()),
        DualValue::Real(x, _) => {
            DualValue::Real(numbers.next().unwrap_or_else(|| Number::zero(x.single)), Number::zero(x.single))
        }
        other => other.clone(),
    }
}

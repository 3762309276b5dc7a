//! **Call inputs** of a function in Tensor SSA: its arguments, and tangents and cotangents of
//! matching extents.

use std::collections::HashMap;

use lang_core::eval::eval_ssa::IrTensor;
use lang_core::ir::core::{CoreFunction, CoreType};
use lang_core::ir::counted_cost::eval_extents;
use lang_core::ir::flat::InputSource;
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::predicate::LocalId;
use lang_core::syntax::ops::Scalar;

use super::interpreter_oracle::point;
use super::values::{parts, positive, size_of};
use crate::random::Random;

/// The inputs of a call.
pub struct CallInputs {
    /// The sizes that a call passes.
    pub sizes: Vec<i64>,
    /// The values of the inputs.
    pub tensors: Vec<IrTensor>,
    /// The values of sizes and of integer arguments.
    pub locals: HashMap<LocalId, i64>,
}

impl CallInputs {
    /// Returns these arguments for a definition or a derivative of it. `seed` returns element
    /// number `k` of the tangents and cotangents.
    #[must_use]
    pub fn of(
        core: &CoreFunction,
        ssa: &SsaFunction,
        sizes: &[i64],
        args: &[IrValue],
        seed: &dyn Fn(usize) -> f64,
    ) -> Self {
        let of = size_of(core, sizes, args);
        let passed = core.params.iter().zip(args);
        let mut tensors: Vec<IrTensor> = passed.flat_map(|((_, ty), value)| parts(value, ty, &of)).collect();
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        for (input, tensor) in ssa.inputs.iter().zip(&tensors) {
            if let (true, Some(IrValue::I64(n))) = (input.leaf.dims.is_empty(), tensor.items.first()) {
                locals.insert(input.local, *n);
            }
        }
        for input in &ssa.inputs {
            if matches!(input.source, InputSource::Tangent(_) | InputSource::Cotangent(_)) {
                let dims = eval_extents(&input.leaf.dims, &locals).unwrap_or_default();
                let dims: Vec<usize> = dims.into_iter().map(|n| usize::try_from(n).unwrap_or(0)).collect();
                #[expect(clippy::cast_possible_truncation, reason = "it gives any number")]
                let element = |k: usize| match input.leaf.scalar {
                    Some(Scalar::F32) => IrValue::F32(seed(k) as f32),
                    _ => IrValue::F64(seed(k)),
                };
                let items = (0..dims.iter().product()).map(element).collect();
                tensors.push(IrTensor { items, dims });
            }
        }
        Self { sizes: sizes.to_vec(), tensors, locals }
    }

    /// Draws arguments. `sizes` are the values of implicit sizes, then of integers. `None` if a
    /// type cannot be drawn.
    #[must_use]
    pub fn drawn(core: &CoreFunction, ssa: &SsaFunction, sizes: &[i64], seed: &dyn Fn(usize) -> f64) -> Option<Self> {
        let at = point(&mut Random::new(5), core, sizes)?;
        Some(Self::of(core, ssa, &at.sizes, &at.args, seed))
    }

    /// Same as [`CallInputs::drawn`], but with arguments in the domain of most definitions:
    /// positive reals, diagonally dominant square matrices, and arrays of integers that are first
    /// indices.
    #[must_use]
    pub fn tame(core: &CoreFunction, ssa: &SsaFunction, sizes: &[i64], seed: &dyn Fn(usize) -> f64) -> Option<Self> {
        let at = point(&mut Random::new(5), core, sizes)?;
        let args: Vec<IrValue> = core.params.iter().zip(&at.args).map(|((_, ty), v)| tame(v, ty)).collect();
        Some(Self::of(core, ssa, &at.sizes, &args, seed))
    }
}

fn tame(value: &IrValue, ty: &CoreType) -> IrValue {
    fn tame_elements(value: &IrValue) -> IrValue {
        let IrValue::Array(rows) = value else { return value.clone() };
        let square = |row: &IrValue| matches!(row, IrValue::Array(items) if items.len() == rows.len());
        let rows = rows.iter().enumerate().map(|(i, row)| match row {
            IrValue::I64(_) => IrValue::I64(0),
            IrValue::Array(items) if square(row) => {
                let more = 4.0 * f64::from(u32::try_from(items.len()).unwrap_or(u32::MAX));
                let diagonal = |(j, v): (usize, &IrValue)| match v {
                    IrValue::F64(x) if i == j => IrValue::F64(x + more),
                    other => tame_elements(other),
                };
                IrValue::Array(items.iter().enumerate().map(diagonal).collect())
            }
            other => tame_elements(other),
        });
        IrValue::Array(rows.collect())
    }
    match (value, ty) {
        (IrValue::I64(_), _) => value.clone(),
        _ => tame_elements(&positive(value, ty)),
    }
}

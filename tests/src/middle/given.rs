//! What a function in Tensor SSA is called with: arguments, and tangents and cotangents of the extents that they have.

use std::collections::HashMap;

use lang_core::ir::core::Function;
use lang_core::ir::eval_ssa::Tensor;
use lang_core::ir::flat::Source;
use lang_core::ir::ssa::Ssa;
use lang_core::ir::value::Value;
use lang_core::predicate::LocalId;

use super::probe::point;
use super::values::{parts, size_of};
use crate::random::Random;

/// What a function is called with.
pub struct Given {
    /// The sizes that a call passes.
    pub sizes: Vec<i64>,
    /// The values of the inputs.
    pub tensors: Vec<Tensor>,
    /// Sizes, and arguments that are integers.
    pub locals: HashMap<LocalId, i64>,
}

impl Given {
    /// These arguments of a definition, for it or a derivative of it; `seed` gives the elements of tangents and
    /// cotangents by their numbers.
    #[must_use]
    pub fn of(core: &Function, ssa: &Ssa, sizes: &[i64], args: &[Value], seed: &dyn Fn(usize) -> f64) -> Self {
        let of = size_of(core, sizes, args);
        let passed = core.params.iter().zip(args);
        let mut tensors: Vec<Tensor> = passed.flat_map(|((_, ty), value)| parts(value, ty, &of)).collect();
        for input in &ssa.inputs {
            if matches!(input.source, Source::Tangent(_) | Source::Cotangent(_)) {
                let dims: Vec<usize> = input.leaf.dims.iter().map(|n| usize::try_from(of(n)).unwrap_or(0)).collect();
                let items = (0..dims.iter().product()).map(|k| Value::F64(seed(k))).collect();
                tensors.push(Tensor { items, dims });
            }
        }
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        for (input, tensor) in ssa.inputs.iter().zip(&tensors) {
            if let (true, Some(Value::I64(n))) = (input.leaf.dims.is_empty(), tensor.items.first()) {
                locals.insert(input.local, *n);
            }
        }
        Self { sizes: sizes.to_vec(), tensors, locals }
    }

    /// Drawn arguments, at sizes that stand for implicit ones and then for integers; none where there is no drawing them.
    #[must_use]
    pub fn drawn(core: &Function, ssa: &Ssa, sizes: &[i64], seed: &dyn Fn(usize) -> f64) -> Option<Self> {
        let at = point(&mut Random::new(5), core, sizes)?;
        Some(Self::of(core, ssa, &at.sizes, &at.args, seed))
    }
}

//! The engine that runs Tensor SSA against the evaluator that counts: the same values bit for bit, and a failure
//! where that has one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::GlobalName;
use lang_core::exec;
use lang_core::interp::Value as Computed;
use lang_core::ir::core::{Callee, Leaf};
use lang_core::ir::eval::Stopped;
use lang_core::ir::eval_ssa::Tensor;
use lang_core::ir::ssa::Ssa;
use lang_core::ir::value::Value;
use lang_core::syntax::ops::Scalar;

use super::forms::Middle;
use super::values::part;
use crate::run::limits;

/// Definitions, as the engine asks for them.
pub struct World<'m>(pub &'m dyn Middle);

impl exec::World for World<'_> {
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        self.0.ssa(callee)
    }

    fn integer(&self, name: &GlobalName) -> Option<i64> {
        self.0.global(name)?.int()
    }

    fn part(&self, name: &GlobalName, leaf: &Leaf, dims: &[usize]) -> Option<exec::Tensor> {
        flat(&part(&self.0.global(name)?, &leaf.path, dims), leaf.scalar)
    }
}

/// A tensor in a flat buffer.
#[must_use]
pub fn flat(tensor: &Tensor, scalar: Option<Scalar>) -> Option<exec::Tensor> {
    macro_rules! all {
        ($kind:ident) => {{
            let item = |v: &Value| if let Value::$kind(x) = v { Some(*x) } else { None };
            let items: Option<Vec<_>> = tensor.items.iter().map(item).collect();
            exec::Tensor::new(tensor.dims.clone(), items?)
        }};
    }
    match scalar? {
        Scalar::F64 => all!(F64),
        Scalar::F32 => all!(F32),
        Scalar::I64 => all!(I64),
        Scalar::Bool => all!(Bool),
    }
}

fn same(found: Option<Computed>, wanted: &Value) -> bool {
    match (found, wanted) {
        (Some(Computed::F64(x)), Value::F64(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Some(Computed::F32(x)), Value::F32(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Some(Computed::I64(x)), Value::I64(y)) => x == *y,
        (Some(Computed::Bool(x)), Value::Bool(y)) => x == *y,
        _ => false,
    }
}

/// Runs a function on the parts of its arguments, and holds what comes of it against what the evaluator gave.
///
/// # Errors
/// How they differ.
pub fn agrees(
    middle: &dyn Middle,
    ssa: &Arc<Ssa>,
    sizes: &[i64],
    given: &[Tensor],
    wanted: Result<&[Arc<Tensor>], &Stopped>,
) -> Result<(), String> {
    let passed = ssa.inputs.iter().filter(|i| i.source.is_passed());
    let given: Option<Vec<exec::Tensor>> = passed.zip(given).map(|(i, t)| flat(t, i.leaf.scalar)).collect();
    // Relations are made by no drawn program.
    let Some(given) = given else { return Ok(()) };
    let found = exec::run(&World(middle), ssa, sizes, given, limits(), &AtomicBool::new(false));
    let differ = |how: String| Err(format!("{how}\n{ssa}"));
    match (found, wanted) {
        (Err(exec::Stopped::Beyond), _) | (_, Err(Stopped::Fuel)) => Ok(()),
        (Err(exec::Stopped::Failed(found)), Err(Stopped::Failed(wanted))) if found == *wanted => Ok(()),
        (Ok(found), Ok(wanted)) => {
            for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                let equal = found.dims == wanted.dims
                    && wanted.items.iter().enumerate().all(|(k, v)| same(found.element(k), v));
                if !equal {
                    let found: Vec<_> = (0..found.count()).map(|k| found.element(k)).collect();
                    return differ(format!("part {k} is {found:?}, not {wanted:?}"));
                }
            }
            Ok(())
        }
        (found, wanted) => differ(format!("{:?}, not {wanted:?}", found.map(|_| "a value"))),
    }
}

//! **Synthetic arguments** for functions at sizes larger than those of drawn programs, and the
//! functions' derivatives.

#![expect(clippy::expect_used, reason = "what helpers of a test cannot read fails the test")]

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::GlobalName;
use lang_core::eval::eval_ssa::IrTensor;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::flat::FunctionInput;
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::predicate::{Atom, LocalId, Poly};
use lang_core::syntax::ops::Scalar;

use super::forms::{FormProvider, SessionForms};

/// Returns a definition of a module as a callee.
#[must_use]
pub fn callee(module: &str, name: &str) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new(module, name), Vec::new()))
}

fn extent(p: &Poly, sizes: &HashMap<LocalId, i64>) -> usize {
    let value = p.eval(&mut |a| if let Atom::Local(l, _) = a { sizes.get(l).copied() } else { None });
    usize::try_from(value.expect("a size").max(0)).expect("a size")
}

/// Returns element number `k`: a real such that sums are inexact, or an integer below `below`.
fn value(of: Scalar, k: usize, below: usize) -> IrValue {
    let x = (u32::try_from(k % 9973).map_or(0.0, f64::from) * 1.7 + 0.3).sin() * 1.3;
    let i = i64::try_from((k * 7 + k * k) % below.max(1)).expect("a small integer");
    match of {
        Scalar::F64 => IrValue::F64(x),
        #[expect(clippy::cast_possible_truncation, reason = "any short real will do")]
        Scalar::F32 => IrValue::F32(x as f32),
        Scalar::I64 => IrValue::I64(i),
        Scalar::Bool => IrValue::Bool(i % 3 == 0),
    }
}

fn part(input: &FunctionInput, sizes: &HashMap<LocalId, i64>, nth: usize) -> IrTensor {
    let dims: Vec<usize> = input.leaf.dims.iter().map(|n| extent(n, sizes)).collect();
    // Integers are indices below the first size.
    let below = sizes.iter().min_by_key(|(l, _)| l.0).and_then(|(_, n)| usize::try_from(*n).ok()).unwrap_or(1);
    let count: usize = dims.iter().product();
    let of = input.leaf.scalar.expect("a number");
    IrTensor { items: (0..count).map(|k| value(of, k + 31 * nth, below)).collect(), dims }
}

/// Returns arguments of a function at these sizes.
#[must_use]
pub fn synthetic_inputs(ssa: &SsaFunction, sizes: &[i64]) -> Vec<IrTensor> {
    given_where(ssa, &ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect())
}

/// Returns arguments of a function for these sizes and integers.
#[must_use]
pub fn given_where(ssa: &SsaFunction, known: &HashMap<LocalId, i64>) -> Vec<IrTensor> {
    let passed = ssa.inputs.iter().filter(|i| i.source.is_passed());
    let all = passed.enumerate().map(|(nth, input)| match known.get(&input.local) {
        Some(i) => IrTensor { dims: Vec::new(), items: vec![IrValue::I64(*i)] },
        None => part(input, known, nth),
    });
    all.collect()
}

/// Returns the function and its derivatives by all real inputs.
///
/// # Panics
/// If the function has no form in core, or no derivative.
#[must_use]
pub fn with_derivatives(forms: &SessionForms<'_>, callee: &Arc<FunctionKey>) -> Vec<Arc<SsaFunction>> {
    let own = forms.ssa(callee).expect("it is in core");
    let (of, wrt): (Arc<[u32]>, Arc<[u32]>) =
        (lang_core::ad::real_outputs(&own).into(), lang_core::ad::real_inputs(&own).into());
    let mut all = vec![own];
    if !of.is_empty() && !wrt.is_empty() {
        for derivation in [DerivativeKind::Forward(wrt.clone()), DerivativeKind::Adjoint { outputs: of, wrt }] {
            all.push(forms.ssa(&Arc::new(callee.derivative(derivation))).expect("it has a derivative"));
        }
    }
    all
}

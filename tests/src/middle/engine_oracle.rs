//! **Engine oracle.** Compares the engine that runs Tensor SSA with the counting evaluator:
//! bit-identical values, and a failure at the same points. Values of machine code may differ by the
//! order of sums.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lang_core::base::GlobalName;
use lang_core::eval::eval_core::EvalError;
use lang_core::eval::eval_ssa::IrTensor;
use lang_core::exec;
use lang_core::exec::native::{KernelBackend, KernelCode};
use lang_core::ir::core::{FunctionKey, TypeLeaf};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::nest::{Kernel, NestLoop, NestNode};
use lang_core::opt::{PASSES, PassSelection};
use lang_core::runtime::Value as Computed;
use lang_core::syntax::ops::Scalar;

use super::forms::FormProvider;
use super::values::part;
use crate::golden::Tolerances;
use crate::random::Random;
use crate::run::limits;

/// Definitions, through the engine's interface.
pub struct EngineDefinitions<'m>(pub &'m dyn FormProvider);

impl exec::RunEnvironment for EngineDefinitions<'_> {
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        self.0.ssa(callee)
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        self.0.global(name)?.int()
    }

    fn global_part(&self, name: &GlobalName, leaf: &TypeLeaf, dims: &[usize]) -> Option<exec::Tensor> {
        flat(&part(&self.0.global(name)?, &leaf.path, dims), leaf.scalar)
    }
}

/// Converts a tensor to a flat buffer.
#[must_use]
pub fn flat(tensor: &IrTensor, scalar: Option<Scalar>) -> Option<exec::Tensor> {
    macro_rules! all {
        ($kind:ident) => {{
            let item = |v: &IrValue| if let IrValue::$kind(x) = v { Some(*x) } else { None };
            let items: Option<Vec<_>> = tensor.items.iter().map(item).collect();
            exec::Tensor::new(tensor.dims.clone(), items?.into_boxed_slice().into_vec())
        }};
    }
    match scalar? {
        Scalar::F64 => all!(F64),
        Scalar::F32 => all!(F32),
        Scalar::I64 => all!(I64),
        Scalar::Bool => all!(Bool),
    }
}

fn magnitude(value: &IrValue) -> f64 {
    match value {
        IrValue::F64(x) => x.abs(),
        IrValue::F32(x) => f64::from(x.abs()),
        _ => 0.0,
    }
}

/// Returns the tolerances relative to the greatest magnitude of the whole: for the reals of one
/// sum, for iterated programs, and for single precision.
fn units() -> (f64, f64, f64) {
    static UNITS: OnceLock<(f64, f64, f64)> = OnceLock::new();
    *UNITS.get_or_init(|| {
        let all = Tolerances::of("machine code");
        let of = |name: &str| all.as_ref().map_or(0.0, |all| all.get(name).relative);
        (of("f64"), of("f64, iterated"), of("f32"))
    })
}

/// Compares up to the order of sums, whose terms may be as large as `greatest` or 1.
pub fn near(found: Option<Computed>, wanted: &IrValue, greatest: f64) -> bool {
    let real = |x: f64, y: f64, (one, most): (f64, f64)| {
        let distance = (x - y).abs() / greatest.max(1.0);
        let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        // Factoring a multiplication out of a sum may change one non-finite value into another.
        let endless = !x.is_finite() && !y.is_finite();
        count(|counts| {
            counts.loose += u64::from(!same && distance > one);
            counts.endless += u64::from(!same && endless);
        });
        same || endless || distance <= most
    };
    match (found, wanted) {
        (Some(Computed::F64(x)), IrValue::F64(y)) => real(x, *y, (units().0, units().1)),
        (Some(Computed::F32(x)), IrValue::F32(y)) => real(x.into(), (*y).into(), (units().2, units().2)),
        (found, wanted) => same(found, wanted, greatest),
    }
}

fn same(found: Option<Computed>, wanted: &IrValue, _: f64) -> bool {
    match (found, wanted) {
        (Some(Computed::F64(x)), IrValue::F64(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Some(Computed::F32(x)), IrValue::F32(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Some(Computed::I64(x)), IrValue::I64(y)) => x == *y,
        (Some(Computed::Bool(x)), IrValue::Bool(y)) => x == *y,
        _ => false,
    }
}

/// Runs a function on the parts of its arguments and compares the result with the evaluator's.
///
/// # Errors
/// The difference.
pub fn agrees(
    middle: &dyn FormProvider,
    ssa: &Arc<SsaFunction>,
    sizes: &[i64],
    arguments: &[IrTensor],
    wanted: Result<&[Arc<IrTensor>], &EvalError>,
) -> Result<(), String> {
    let passed: Vec<_> = ssa.inputs.iter().filter(|i| i.source.is_passed()).collect();
    if passed.len() != arguments.len() {
        return Err(format!("{} arguments for {} inputs\n{ssa}", arguments.len(), passed.len()));
    }
    let tensors: Option<Vec<exec::Tensor>> =
        passed.iter().zip(arguments).map(|(i, t)| flat(t, i.leaf.scalar)).collect();
    // No drawn program constructs a relation.
    let Some(tensors) = tensors else { return Err(format!("an argument is no tensor of its type\n{ssa}")) };
    let here = EngineConfiguration { programs: exec::ExecutableCache::default(), same: &same, in_order: true };
    run_agrees(middle, ssa, sizes, tensors.clone(), wanted, &here)?;
    let native =
        EngineConfiguration { programs: exec::ExecutableCache::with_backend(backend()), same: &near, in_order: false };
    run_agrees(middle, ssa, sizes, tensors.clone(), wanted, &native)
        .map_err(|how| format!("as machine code: {how}"))?;
    let Some(passes) = RANDOM.with_borrow_mut(random_passes) else { return Ok(()) };
    let programs = exec::ExecutableCache::with_backend(backend()).with_passes(passes.clone());
    let some_passes = EngineConfiguration { programs, same: &near, in_order: false };
    run_agrees(middle, ssa, sizes, tensors, wanted, &some_passes).map_err(|how| format!("with {passes:?}: {how}"))
}

/// Returns the passes without some of them, for one comparison of eight.
fn random_passes(random: &mut Random) -> Option<PassSelection> {
    if !random.once_in(8) {
        return None;
    }
    let switched_off = PASSES.iter().filter(|_| random.once_in(2));
    Some(switched_off.fold(PassSelection::default(), |passes, pass| passes.without(pass)))
}

/// A way to run a function, with the comparison that applies.
struct EngineConfiguration<'w> {
    programs: exec::ExecutableCache,
    same: ElementComparison<'w>,
    /// Whether it fails at the first of several failing checks. Machine code may fail at another
    /// one; in production the interpreter then finds the first.
    in_order: bool,
}

/// Counts of the comparisons of one thread. Tests of other threads of the same process do not
/// change them.
#[derive(Clone, Copy, Default, Debug)]
pub struct OracleCounts {
    /// The elements farther than another order of one sum explains.
    pub loose: u64,
    /// The elements that were not finite, as wanted, but had another value.
    pub endless: u64,
    /// The runs that the engine left because of an index that is too large. They are not compared.
    pub too_large: u64,
}

impl OracleCounts {
    /// Returns the sums of the counts of two threads.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            loose: self.loose + other.loose,
            endless: self.endless + other.endless,
            too_large: self.too_large + other.too_large,
        }
    }
}

thread_local! {
    static RANDOM: RefCell<Random> = RefCell::new(Random::new(crate::random::seed()));
    static COUNTS: Cell<OracleCounts> = const { Cell::new(OracleCounts { loose: 0, endless: 0, too_large: 0 }) };
    static BACKEND: Arc<KernelCountingBackend> = Arc::new(KernelCountingBackend {
        jit: lang_jit::Jit::new(2).ok(),
        ..KernelCountingBackend::default()
    });
}

/// Returns the counts of this thread.
#[must_use]
pub fn oracle_counts() -> OracleCounts {
    COUNTS.get()
}

fn count(change: impl FnOnce(&mut OracleCounts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

/// Returns the backend that all functions of a thread share.
fn backend() -> Arc<KernelCountingBackend> {
    BACKEND.with(Arc::clone)
}

/// Returns the number of kernels with machine code, and the numbers of others by reason.
#[must_use]
pub fn kernels() -> (u64, BTreeMap<String, u64>) {
    let backend = backend();
    let left = backend.left.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (backend.compiled.load(Ordering::Relaxed), left)
}

/// Returns the number of these kernels with sequential loops, and the number with matrix products.
#[must_use]
pub fn kinds() -> (u64, u64) {
    let backend = backend();
    (backend.in_order.load(Ordering::Relaxed), backend.matrices.load(Ordering::Relaxed))
}

/// Returns whether the body contains a node that satisfies `like`.
fn has(body: &[NestNode], like: &dyn Fn(&NestNode) -> bool) -> bool {
    body.iter().any(|node| {
        like(node)
            || match node {
                NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
                    has(body, like)
                }
                NestNode::MatrixProduct(_) | NestNode::Fill(..) | NestNode::Assign(_) => false,
            }
    })
}

/// A backend that counts the kernels that it compiles.
#[derive(Default)]
struct KernelCountingBackend {
    jit: Option<lang_jit::Jit>,
    compiled: AtomicU64,
    in_order: AtomicU64,
    matrices: AtomicU64,
    left: Mutex<BTreeMap<String, u64>>,
}

impl KernelBackend for KernelCountingBackend {
    fn compile(&self, ssa: &Arc<SsaFunction>, kernel: &Arc<Kernel>) -> Option<Arc<dyn KernelCode>> {
        let code = self.jit.as_ref().and_then(|jit| jit.compile(ssa, kernel));
        match code {
            Some(_) => {
                let in_order = has(&kernel.body, &|node| matches!(node, NestNode::Loop(of) if of.is_sequential));
                let matrices = has(&kernel.body, &|node| matches!(node, NestNode::MatrixProduct(_)));
                self.compiled.fetch_add(1, Ordering::Relaxed);
                self.in_order.fetch_add(in_order.into(), Ordering::Relaxed);
                self.matrices.fetch_add(matrices.into(), Ordering::Relaxed);
            }
            None => {
                let why = self.jit.as_ref().and_then(|jit| jit.clif_text(ssa, kernel).err()).unwrap_or_default();
                *self.left.lock().unwrap_or_else(PoisonError::into_inner).entry(why).or_default() += 1;
            }
        }
        code
    }
}

type ElementComparison<'s> = &'s dyn Fn(Option<Computed>, &IrValue, f64) -> bool;

fn run_agrees(
    middle: &dyn FormProvider,
    ssa: &Arc<SsaFunction>,
    sizes: &[i64],
    tensors: Vec<exec::Tensor>,
    wanted: Result<&[Arc<IrTensor>], &EvalError>,
    way: &EngineConfiguration<'_>,
) -> Result<(), String> {
    let same = way.same;
    let found =
        exec::run(&EngineDefinitions(middle), &way.programs, ssa, sizes, tensors, limits(), &AtomicBool::new(false));
    let differ = |how: String| Err(format!("{how}\n{ssa}"));
    match (found, wanted) {
        (Err(exec::RunError::IndexTooLarge), _) => {
            count(|counts| counts.too_large += 1);
            Ok(())
        }
        (_, Err(EvalError::OutOfFuel)) => Ok(()),
        (Err(exec::RunError::CheckFailed(found)), Err(EvalError::CheckFailed(wanted)))
            if found == *wanted || !way.in_order =>
        {
            Ok(())
        }
        (Ok(found), Ok(wanted)) if found.len() != wanted.len() => {
            differ(format!("{} parts, not {}", found.len(), wanted.len()))
        }
        (Ok(found), Ok(wanted)) => {
            for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                let greatest = wanted.items.iter().map(magnitude).filter(|x| x.is_finite()).fold(0.0, f64::max);
                let equal = found.dims == wanted.dims
                    && wanted.items.iter().enumerate().all(|(k, v)| same(found.element(k), v, greatest));
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

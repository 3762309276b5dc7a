//! **Memory.** The peak of a run equals its plan, measured by the allocator, and a repeated run
//! requests no memory from the system. Arrays have megabytes, so that other allocations do not
//! matter.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iverson_tests::literate::repository_root;
use iverson_tests::middle::engine_oracle::{EngineDefinitions, flat};
use iverson_tests::middle::forms::{FormProvider as _, SessionForms};
use iverson_tests::middle::large::{RUNS, session};
use iverson_tests::middle::synthetic_inputs::{callee, given_where, with_derivatives};
use iverson_tests::run::{CompiledEvaluation, limits, value_of_main, value_of_main_compiled};
use lang_core::exec::{self, ExecutableCache, Machine, RunError, Tensor};
use lang_core::ir::ssa::SsaFunction;
use lang_core::runtime::RunLimits;
use lang_core::runtime::memory::{AllocationError, MemoryAccount};
use lang_core::runtime::{RunContext, buffer_pool};

use lang_core::predicate::LocalId;
use lang_core::session::Session;
use lang_jit::Jit;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A lock, because the allocator's counters are shared by all tests of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The smallest plan that is compared, in bytes. Other allocations would be a large part of a
/// smaller one.
const LEAST: u64 = 1 << 22;

/// A limit on other allocations: packed parts of matrices, thread stacks, code.
const OTHER: u64 = 1 << 20;

/// Returns arguments of a function in the engine's form.
fn passed(ssa: &SsaFunction, known: &HashMap<LocalId, i64>) -> Vec<Tensor> {
    let inputs = ssa.inputs.iter().filter(|i| i.source.is_passed());
    let ir_tensors = given_where(ssa, known);
    inputs.zip(&ir_tensors).map(|(i, t)| flat(t, i.leaf.scalar).expect("a tensor of numbers")).collect()
}

fn by_sizes(ssa: &SsaFunction, sizes: &[i64]) -> HashMap<LocalId, i64> {
    ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect()
}

/// The comparisons of peak and plan.
#[derive(Default)]
struct PlanComparison {
    count: usize,
    wrong: Vec<String>,
}

impl PlanComparison {
    /// Compares one more run. Its machine code is compiled before the measurement.
    fn run(
        &mut self,
        defs: &SessionForms<'_>,
        programs: &ExecutableCache,
        ssa: &Arc<SsaFunction>,
        known: &HashMap<LocalId, i64>,
    ) {
        let interrupt = AtomicBool::new(false);
        let (memory, world) = (MemoryAccount::new(RunLimits::default()), EngineDefinitions(defs));
        let around = RunContext { memory: &memory, interrupt: &interrupt, report_progress: &|_| {} };
        let plan = Machine::new(&world, programs, &around).plan_call(ssa, known).expect("a plan");
        let sizes: Vec<i64> = ssa.sizes.iter().map(|l| known.get(l).copied().expect("a size")).collect();
        let run = |tensors| {
            exec::run(&world, programs, ssa, &sizes, tensors, RunLimits::default(), &interrupt).expect("a value")
        };
        // Compiles the code and allocates the threads' own buffers.
        drop(run(passed(ssa, known)));
        buffer_pool::clear();
        let before = ALLOCATOR.current_usage();
        let tensors = passed(ssa, known);
        let kept = tensors.clone();
        ALLOCATOR.reset_peak_usage();
        let found = run(tensors);
        let first = ALLOCATOR.peak_usage().saturating_sub(before);
        drop(found);
        // With the buffers that the first run left in the pool.
        ALLOCATOR.reset_peak_usage();
        drop(run(kept.clone()));
        let second = ALLOCATOR.peak_usage().saturating_sub(before);
        assert!(plan.is_complete, "{sizes:?}: {plan:?}\n{ssa}");
        if plan.peak < LEAST {
            return;
        }
        self.count += 1;
        for (held, nth) in [(first, "first"), (second, "second")] {
            let held = u64::try_from(held).expect("bytes");
            if held.abs_diff(plan.peak).saturating_sub(OTHER) * 5 > plan.peak {
                self.wrong.push(format!("{sizes:?}, the {nth} run: {held} of {}\n{ssa}", plan.peak));
            }
        }
    }

    fn all(self, least: usize) {
        println!("{} plans compared", self.count);
        assert!(self.wrong.is_empty(), "{}: {}", self.wrong.len(), self.wrong.join("\n"));
        assert!(self.count >= least, "{} are too few", self.count);
    }
}

#[test]
fn what_is_held_is_what_was_planned() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let mut compared = PlanComparison::default();
    for threads in [1, 2] {
        let programs = ExecutableCache::with_backend(Arc::new(Jit::new(threads).expect("a processor")));
        for (name, all_sizes) in RUNS {
            for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
                for sizes in *all_sizes {
                    let sizes: Vec<i64> = sizes.iter().map(|n| if *n > 2000 { n * 16 } else { *n }).collect();
                    compared.run(&defs, &programs, &ssa, &by_sizes(&ssa, &sizes));
                }
            }
        }
    }
    compared.all(100);
}

/// A module, functions of it, and the sizes and integers of their calls.
type Task = (&'static str, [&'static str; 2], &'static [(&'static str, i64)]);

/// GradBench's functions.
const GRADBENCH: &[Task] = &[
    ("llsq", ["primal", "gradient"], &[("n", 8000), ("m", 96)]),
    ("lse", ["primal", "gradient"], &[("n", 1_280_000)]),
    ("gmm", ["objective", "jacobian"], &[("d", 32), ("k", 50), ("n", 1000), ("m", 0), ("t", 496)]),
    ("gmm", ["objective", "jacobian"], &[("d", 64), ("k", 100), ("n", 1000), ("m", 0), ("t", 2016)]),
    ("ode", ["primal", "gradient"], &[("n", 30_000), ("s", 30)]),
    ("kmeans", ["cost", "dir"], &[("k", 100), ("n", 40_000), ("d", 16)]),
];

/// Sorting and joint reductions need memory in addition to their results.
#[test]
fn orders_hold_what_was_planned() {
    const PROGRAM: &str = "
def sorted(x: [n]f64) -> [n]f64 = sort(x)
def ranks(x: [n]i64) -> [n]i64 = argsort(x)
def greatest(x: [n, m]i64) -> [n]i64 = for i: max j: x[i, j]
";
    let _alone = alone();
    let mut session = Session::new();
    session.set_text("orders.iv", PROGRAM);
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")));
    let mut compared = PlanComparison::default();
    for (name, all_sizes) in [
        ("sorted", [vec![1_200_000], vec![1_500_000]]),
        ("ranks", [vec![1_200_000], vec![1_500_000]]),
        ("greatest", [vec![500_000, 3], vec![3, 1_500_000]]),
    ] {
        let ssa = defs.ssa(&callee("orders.iv", name)).expect("it is in core");
        for sizes in all_sizes {
            compared.run(&defs, &programs, &ssa, &by_sizes(&ssa, &sizes));
        }
    }
    compared.all(6);
}

#[test]
fn gradbench_holds_what_was_planned() {
    let _alone = alone();
    let mut compared = PlanComparison::default();
    for (module, functions, known) in GRADBENCH {
        let file = repository_root().join(format!("examples/gradbench/{module}.iv"));
        let mut session = Session::new();
        session.set_text(module, &std::fs::read_to_string(file).expect("an example"));
        let globals = HashMap::new();
        let defs = SessionForms::new(&session, &globals);
        for threads in [1, 2] {
            let programs = ExecutableCache::with_backend(Arc::new(Jit::new(threads).expect("a processor")));
            for name in functions {
                let ssa = defs.ssa(&callee(module, name)).expect("it is in core");
                let integers = ssa.inputs.iter().map(|input| input.local);
                let named = ssa.sizes.iter().copied().chain(integers);
                let value = |l: &LocalId| known.iter().find(|(name, _)| *name == &*ssa.vars.name(*l)).map(|(_, i)| *i);
                let known = named.filter_map(|l| Some((l, value(&l)?))).collect();
                compared.run(&defs, &programs, &ssa, &known);
            }
        }
    }
    compared.all(12);
}

#[test]
fn what_needs_too_much_does_not_begin() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")));
    let interrupt = AtomicBool::new(false);
    let world = EngineDefinitions(&defs);
    for ssa in with_derivatives(&defs, &callee("threads.iv", "elements")) {
        let sizes = [1_000_000];
        let run = |tensors: Vec<Tensor>, max_bytes: usize| {
            let limits = RunLimits { max_bytes, ..RunLimits::default() };
            exec::run(&world, &programs, &ssa, &sizes, tensors, limits, &interrupt)
        };
        let tensors = passed(&ssa, &by_sizes(&ssa, &sizes));
        drop(run(tensors.clone(), 1 << 30).expect("a value"));
        buffer_pool::clear();
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let found = run(tensors, 7_999_999);
        let held = ALLOCATOR.peak_usage().saturating_sub(before);
        assert!(matches!(found, Err(RunError::TooLarge(AllocationError::Planned(8_000_000.., 7_999_999)))), "{ssa}");
        assert!(held < 1 << 16, "{held} bytes of a run that did not begin");
    }
}

/// Returns the number of minor page faults of the process: pages that the system had to supply.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the system tells it");
    let behind = stat.rsplit_once(')').expect("a name").1;
    behind.split_whitespace().nth(7).and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
#[cfg(target_os = "linux")]
fn what_runs_again_asks_the_system_for_nothing() {
    let _alone = alone();
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(2).expect("a processor")));
    let interrupt = AtomicBool::new(false);
    let mut wrong = Vec::new();
    for (name, all_sizes) in RUNS {
        for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
            for sizes in *all_sizes {
                let tensors = passed(&ssa, &by_sizes(&ssa, sizes));
                let run = || {
                    let world = EngineDefinitions(&defs);
                    let tensors = tensors.clone();
                    drop(
                        exec::run(&world, &programs, &ssa, sizes, tensors, RunLimits::default(), &interrupt)
                            .expect("a value"),
                    );
                };
                (0..5).for_each(|_| run());
                // On a busy machine a thread may not have taken part in the first runs.
                let mut pages = (0..8).map(|_| {
                    let before = faults();
                    (0..10).for_each(|_| run());
                    faults() - before
                });
                // First touches of a thread's stack pages are allowed.
                let fault_counts: Vec<u64> = pages.by_ref().take_while(|more| *more > 10).collect();
                if fault_counts.len() == 8 {
                    wrong.push(format!("{name} at {sizes:?}: {fault_counts:?} pages in ten runs each"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Arrays of compound elements with more bytes than a run may use.
const TUPLES: &[(&str, &str)] = &[
    ("pairs", "[n](f64, i64) = for i < n: (f64(i), i)"),
    ("records", "[n]{a: f64, b: (bool, i64)} = for i < n: {a: f64(i), b: (i > 3, i)}"),
    ("kinds", "[n]Kind = for i < n: if i % 2 == 0 then One(f64(i)) else Neither"),
    ("rows", "[n]{x: [2]f64, k: i64} = for i < n: {x: [f64(i), 1.0], k: i}"),
    ("nested", "[n, 2](f64, i64) = for i < n, j < 2: (f64(i), j)"),
];

/// The charged bytes equal the allocated bytes: in the interpreter, and if machine code computes
/// the parts.
#[test]
fn arrays_of_tuples_keep_the_limit() {
    let _alone = alone();
    for (name, of) in TUPLES {
        let text =
            format!("type Kind = One(f64) | Neither\ndef {name}(n: i64) -> {of}\ndef main() = {name}(30000000)\n");
        let mut session = Session::new();
        session.set_text("tuples.iv", &text);
        for native in [false, true] {
            buffer_pool::clear();
            let before = ALLOCATOR.current_usage();
            ALLOCATOR.reset_peak_usage();
            let found = match native {
                true => value_of_main_compiled(&session, "tuples.iv", &CompiledEvaluation::native()),
                false => value_of_main(&session, "tuples.iv"),
            };
            let held = ALLOCATOR.peak_usage().saturating_sub(before);
            let why = found.err().unwrap_or_default();
            assert!(why.contains("E0508"), "{name}, machine code {native}: {why}");
            let most = limits().max_bytes + limits().max_bytes / 4;
            assert!(
                held < most,
                "{name}, machine code {native}: {held} bytes where {} are allowed",
                limits().max_bytes
            );
        }
    }
}

/// Arrays of a million elements, and the bytes of one element.
const FLAT: &[(&str, &str, usize)] = &[
    ("pairs", "def f(n: i64) -> [n](f64, i64) = for i < n: (f64(i), i)", 16),
    ("records", "def f(n: i64) -> [n]{x: f64, on: bool} = for i < n: {on: i > 3, x: f64(i)}", 9),
    ("nested", "def f(n: i64) -> [n // 2, 2](f32, (f64, i64)) = for i < n // 2, j < 2: (f32(i), (f64(j), i))", 20),
    ("changed", "def f(n: i64) -> [n](f64, i64) = let z = for i < n: (f64(i), i) in z with [3] = (1.0, 2)", 16),
    ("chosen", "def f(n: i64) -> [n // 2](f64, i64) = let z = for i < n: (f64(i), i) in z[0..n // 2]", 16),
];

/// Tuples and records of scalars occupy the bytes of their scalars, also during construction.
#[test]
fn tuples_of_scalars_are_flat() {
    const COUNT: usize = 1_000_000;
    let _alone = alone();
    for (name, text, bytes) in FLAT {
        let text = format!("{text}\ndef main() = f({COUNT})\n");
        let mut session = Session::new();
        session.set_text("flat.iv", &text);
        for native in [false, true] {
            buffer_pool::clear();
            let before = ALLOCATOR.current_usage();
            ALLOCATOR.reset_peak_usage();
            let found = match native {
                true => value_of_main_compiled(&session, "flat.iv", &CompiledEvaluation::native()),
                false => value_of_main(&session, "flat.iv"),
            };
            let held = ALLOCATOR.peak_usage().saturating_sub(before);
            assert!(found.is_ok(), "{name}, machine code {native}: {found:?}");
            // Machine code and the session occupy a few megabytes.
            let most = COUNT * bytes + COUNT * bytes / 4 + (8 << 20);
            println!("{name}, machine code {native}: {} bytes for each element", held / COUNT);
            assert!(held < most, "{name}, machine code {native}: {held} bytes, more than {most}");
        }
    }
}

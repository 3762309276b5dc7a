//! **Multithreaded machine code.** Results are bit-identical for any number of threads, and near
//! those of the engine without machine code. An interrupt stops a run. Sizes are large enough for
//! kernels to run in chunks; private buffers of chunks and threads are counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use iverson_tests::middle::engine_oracle::{EngineDefinitions, flat, near, oracle_counts};
use iverson_tests::middle::forms::{FormProvider, SessionForms};
use iverson_tests::middle::large::{RUNS, session};
use iverson_tests::middle::synthetic_inputs::{callee, synthetic_inputs, with_derivatives};
use iverson_tests::observed_kernels::{KernelObserver, ObservedBackend};
use iverson_tests::run::limits;
use lang_core::exec::native::Copies;
use lang_core::exec::{self, ExecutableCache, RunError, Tensor};
use lang_core::ir::value::IrValue;
use lang_core::runtime::Value as Computed;
use lang_core::syntax::ops::Scalar;
use lang_jit::Jit;

/// An observer that counts the kernels that ran in chunks, and those with private buffers for each
/// chunk or thread.
#[derive(Default, Debug)]
struct ChunkCounts {
    chunked: AtomicU64,
    of_chunks: AtomicU64,
    of_threads: AtomicU64,
}

impl KernelObserver for ChunkCounts {
    fn begin_chunks(&self, copies: &[Copies]) {
        self.chunked.fetch_add(1, Ordering::Relaxed);
        self.of_chunks.fetch_add(copies.contains(&Copies::Chunks).into(), Ordering::Relaxed);
        self.of_threads.fetch_add(copies.contains(&Copies::Threads).into(), Ordering::Relaxed);
    }
}

/// Returns a cache whose kernels run on this many threads and report to the observer.
#[expect(clippy::expect_used, reason = "a failed expectation is a failed test")]
fn executables(threads: usize, observer: Arc<dyn KernelObserver>) -> ExecutableCache {
    let backend = Arc::new(Jit::new(threads).expect("a processor"));
    ExecutableCache::with_backend(Arc::new(ObservedBackend { backend, observer }))
}

/// Returns the elements of each tensor.
fn elements(of: &[Tensor]) -> Vec<Vec<Option<Computed>>> {
    of.iter().map(|t| (0..t.count()).map(|k| t.element(k)).collect()).collect()
}

fn bits(of: Option<&Computed>) -> Option<(u8, u64)> {
    Some(match of? {
        Computed::F64(x) => (0, x.to_bits()),
        Computed::F32(x) => (1, x.to_bits().into()),
        Computed::I64(x) => (2, x.cast_unsigned()),
        Computed::Bool(x) => (3, (*x).into()),
        _ => return None,
    })
}

fn plain(of: &Computed) -> Option<IrValue> {
    Some(match of {
        Computed::F64(x) => IrValue::F64(*x),
        Computed::F32(x) => IrValue::F32(*x),
        Computed::I64(x) => IrValue::I64(*x),
        Computed::Bool(x) => IrValue::Bool(*x),
        _ => return None,
    })
}

fn magnitude(of: &Computed) -> f64 {
    match of {
        Computed::F64(x) => x.abs(),
        Computed::F32(x) => x.abs().into(),
        _ => 0.0,
    }
}

#[test]
fn values_are_the_same_bits_by_any_number_of_threads() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let counts = Arc::new(ChunkCounts::default());
    let programs = [1, 2, 3, 7].map(|threads| executables(threads, Arc::clone(&counts) as _));
    let by_statements = ExecutableCache::default();
    let mut wrong = Vec::new();
    for (name, all_sizes) in RUNS {
        for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
            for sizes in *all_sizes {
                let passed = ssa.inputs.iter().filter(|i| i.source.is_passed());
                let inputs = synthetic_inputs(&ssa, sizes);
                let tensors: Option<Vec<Tensor>> = passed.zip(&inputs).map(|(i, t)| flat(t, i.leaf.scalar)).collect();
                let tensors = tensors.expect("tensors of numbers");
                let run = |programs: &ExecutableCache| {
                    let interrupt = AtomicBool::new(false);
                    let found = exec::run(
                        &EngineDefinitions(&defs),
                        programs,
                        &ssa,
                        sizes,
                        tensors.clone(),
                        limits(),
                        &interrupt,
                    );
                    elements(&found.expect("a value"))
                };
                let wanted = run(&by_statements);
                let by_one = programs.first().map(run).expect("one thread");
                let elements = by_one.iter().map(Vec::len).sum::<usize>();
                if by_one.len() != wanted.len() || elements == 0 {
                    wrong
                        .push(format!("{name} at {sizes:?} has {} parts and {elements} elements\n{ssa}", by_one.len()));
                }
                for (found, wanted) in by_one.iter().zip(&wanted) {
                    let greatest = wanted.iter().flatten().map(magnitude).fold(0.0, f64::max);
                    let agrees = |(found, wanted): (&Option<Computed>, &Option<Computed>)| {
                        wanted.as_ref().and_then(plain).is_some_and(|wanted| near(found.clone(), &wanted, greatest))
                    };
                    if found.len() != wanted.len() || !found.iter().zip(wanted).all(agrees) {
                        wrong.push(format!("{name} at {sizes:?} by one thread\n{ssa}"));
                    }
                }
                for (programs, threads) in programs.iter().zip([1, 2, 3, 7]).skip(1) {
                    let found = run(programs);
                    let same = |a: &Vec<Option<Computed>>, b: &Vec<Option<Computed>>| {
                        a.iter().map(|x| bits(x.as_ref())).eq(b.iter().map(|x| bits(x.as_ref())))
                    };
                    if found.len() != by_one.len() || !found.iter().zip(&by_one).all(|(a, b)| same(a, b)) {
                        wrong.push(format!("{name} at {sizes:?} by {threads} threads\n{ssa}"));
                    }
                }
            }
        }
    }
    let [chunked, of_chunks, of_threads] =
        [&counts.chunked, &counts.of_chunks, &counts.of_threads].map(|n| n.load(Ordering::Relaxed));
    println!(
        "{chunked} kernels in chunks, {of_chunks} with sums of each chunk, {of_threads} with room private to each thread"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        oracle_counts().endless == 0 && oracle_counts().loose == 0,
        "{} elements are not finite, {} are far",
        oracle_counts().endless,
        oracle_counts().loose
    );
    assert!(chunked > 200 && of_chunks > 50 && of_threads > 4, "{chunked}, {of_chunks}, {of_threads}");
}

/// An observer that sends an interrupt when the calling thread has completed a chunk.
#[derive(Default, Debug)]
struct ChunkInterrupter {
    interrupt: AtomicBool,
    /// The number of kernels that ended early.
    stopped: AtomicU64,
}

impl KernelObserver for ChunkInterrupter {
    fn complete_chunk(&self, _done: usize, _count: usize) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    fn stop(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }
}

/// A limit on the number of runs in which the other threads complete all chunks before the calling
/// thread completes its first.
const TRIES: usize = 20;

#[test]
fn chunks_end_when_they_are_told() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = defs.ssa(&callee("threads.iv", "rows")).expect("it is in core");
    let observer = Arc::new(ChunkInterrupter::default());
    let programs = executables(3, Arc::clone(&observer) as _);
    let sizes = [2000, 3000];
    let tensors: Option<Vec<Tensor>> =
        synthetic_inputs(&ssa, &sizes).iter().map(|t| flat(t, Some(Scalar::F64))).collect();
    let tensors = tensors.expect("tensors of reals");
    let run = |interrupt: &AtomicBool| {
        exec::run(&EngineDefinitions(&defs), &programs, &ssa, &sizes, tensors.clone(), limits(), interrupt)
    };
    // The code of the chunks must stop, not only the engine after it.
    let stopped = (0..TRIES).any(|_| {
        observer.interrupt.store(false, Ordering::Relaxed);
        let found = run(&observer.interrupt);
        let stopped = observer.stopped.load(Ordering::Relaxed) > 0;
        assert!(!stopped || matches!(found, Err(RunError::Interrupted)), "a value though chunks stopped");
        stopped
    });
    assert!(stopped, "no chunk was stopped");
    // The same threads run again.
    assert!(run(&AtomicBool::new(false)).is_ok(), "the next run");
}

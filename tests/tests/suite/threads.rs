//! **Multithreaded machine code.** Results are bit-identical for any number of threads, and near
//! those of the engine without machine code. An interrupt stops a run. Sizes are large enough for
//! kernels to run in chunks; private buffers of chunks and threads are counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use iverson_tests::middle::engine_oracle::{EngineDefinitions, flat, near};
use iverson_tests::middle::forms::{FormProvider, SessionForms};
use iverson_tests::middle::large::{RUNS, session};
use iverson_tests::middle::synthetic_inputs::{callee, synthetic_inputs, with_derivatives};
use iverson_tests::run::limits;
use lang_core::exec::native::{Copies, KernelBackend, KernelCode, KernelInterrupted, MemorySlot};
use lang_core::exec::{self, ExecutableCache, RunError, Tensor};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::nest::Kernel;
use lang_core::runtime::Value as Computed;
use lang_core::syntax::ops::Scalar;
use lang_jit::Jit;

/// The number of kernels that ran in chunks, and of those with private buffers for each chunk or
/// thread.
#[derive(Default)]
struct ChunkCounts {
    chunked: AtomicU64,
    of_chunks: AtomicU64,
    of_threads: AtomicU64,
}

/// A backend that counts the kernels that run in chunks.
struct ChunkCountingBackend {
    jit: Jit,
    counts: Arc<ChunkCounts>,
}

struct ChunkCountingCode {
    code: Arc<dyn KernelCode>,
    counts: Arc<ChunkCounts>,
}

impl KernelBackend for ChunkCountingBackend {
    fn compile(&self, ssa: &Arc<SsaFunction>, kernel: &Arc<Kernel>) -> Option<Arc<dyn KernelCode>> {
        let code = self.jit.compile(ssa, kernel)?;
        Some(Arc::new(ChunkCountingCode { code, counts: Arc::clone(&self.counts) }))
    }
}

impl KernelCode for ChunkCountingCode {
    fn run(
        &self,
        slots: &mut [MemorySlot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        told: &dyn Fn(i64, i64),
    ) -> Result<(), KernelInterrupted> {
        self.code.run(slots, integers, interrupt, told)
    }

    fn run_scalars(
        &self,
        words: &mut [u64],
        integers: &[i64],
        interrupt: &AtomicBool,
    ) -> Result<(), KernelInterrupted> {
        self.code.run_scalars(words, integers, interrupt)
    }

    fn stack(&self) -> usize {
        self.code.stack()
    }

    fn threads(&self) -> usize {
        self.code.threads()
    }

    fn run_chunks(
        &self,
        slots: &mut [MemorySlot<'_>],
        copies: &[Copies],
        integers: &[i64],
        chunks: &[(i64, i64)],
        interrupt: &AtomicBool,
        told: &dyn Fn(usize),
    ) -> Result<(), KernelInterrupted> {
        self.counts.chunked.fetch_add(1, Ordering::Relaxed);
        self.counts.of_chunks.fetch_add(copies.contains(&Copies::Chunks).into(), Ordering::Relaxed);
        self.counts.of_threads.fetch_add(copies.contains(&Copies::Threads).into(), Ordering::Relaxed);
        self.code.run_chunks(slots, copies, integers, chunks, interrupt, told)
    }
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
    let programs: Vec<ExecutableCache> = [1, 2, 3, 7]
        .map(|threads| {
            let jit = Jit::new(threads).expect("a processor");
            ExecutableCache::with_backend(Arc::new(ChunkCountingBackend { jit, counts: Arc::clone(&counts) }))
        })
        .into();
    let by_statements = ExecutableCache::default();
    let mut wrong = Vec::new();
    for (name, all_sizes) in RUNS {
        for ssa in with_derivatives(&defs, &callee("threads.iv", name)) {
            for sizes in *all_sizes {
                let passed = ssa.inputs.iter().filter(|i| i.source.is_passed());
                let given = synthetic_inputs(&ssa, sizes);
                let given: Option<Vec<Tensor>> = passed.zip(&given).map(|(i, t)| flat(t, i.leaf.scalar)).collect();
                let given = given.expect("tensors of numbers");
                let run = |programs: &ExecutableCache| {
                    let interrupt = AtomicBool::new(false);
                    let found = exec::run(
                        &EngineDefinitions(&defs),
                        programs,
                        &ssa,
                        sizes,
                        given.clone(),
                        limits(),
                        &interrupt,
                    );
                    elements(&found.expect("a value"))
                };
                let wanted = run(&by_statements);
                let by_one = programs.first().map(run).expect("one thread");
                for (found, wanted) in by_one.iter().zip(&wanted) {
                    let greatest = wanted.iter().flatten().map(magnitude).fold(0.0, f64::max);
                    let agrees = |(found, wanted): (&Option<Computed>, &Option<Computed>)| {
                        wanted.as_ref().and_then(plain).is_some_and(|wanted| near(found.clone(), &wanted, greatest))
                    };
                    if !found.iter().zip(wanted).all(agrees) {
                        wrong.push(format!("{name} at {sizes:?} by one thread\n{ssa}"));
                    }
                }
                for (programs, threads) in programs.iter().zip([1, 2, 3, 7]).skip(1) {
                    let found = run(programs);
                    let same = |a: &Vec<Option<Computed>>, b: &Vec<Option<Computed>>| {
                        a.iter().map(|x| bits(x.as_ref())).eq(b.iter().map(|x| bits(x.as_ref())))
                    };
                    if !found.iter().zip(&by_one).all(|(a, b)| same(a, b)) {
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
    assert!(chunked > 200 && of_chunks > 50 && of_threads > 4, "{chunked}, {of_chunks}, {of_threads}");
}

#[test]
fn chunks_end_when_they_are_told() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = defs.ssa(&callee("threads.iv", "rows")).expect("it is in core");
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(3).expect("a processor")));
    let sizes = [2000, 3000];
    let given: Option<Vec<Tensor>> =
        synthetic_inputs(&ssa, &sizes).iter().map(|t| flat(t, Some(Scalar::F64))).collect();
    let given = given.expect("tensors of reals");
    let interrupt = AtomicBool::new(false);
    let mut stopped = 0;
    for wait in [0, 1, 3, 9] {
        interrupt.store(false, Ordering::Relaxed);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(wait));
                interrupt.store(true, Ordering::Relaxed);
            });
            exec::run(&EngineDefinitions(&defs), &programs, &ssa, &sizes, given.clone(), limits(), &interrupt)
        });
        stopped += u32::from(matches!(found, Err(RunError::Interrupted)));
    }
    assert!(stopped > 0, "no run was stopped");
    interrupt.store(false, Ordering::Relaxed);
    assert!(
        exec::run(&EngineDefinitions(&defs), &programs, &ssa, &sizes, given, limits(), &interrupt).is_ok(),
        "the next run"
    );
}

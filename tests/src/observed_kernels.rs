//! **Observed kernels.** A backend that reports each run of its kernels to an observer. A test can
//! count the runs, or wait until a kernel runs before it sends an interrupt.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::exec::native::{Copies, KernelBackend, KernelCode, KernelInterrupted, MemorySlot};
use lang_core::ir::ssa::SsaFunction;
use lang_core::nest::Kernel;

/// A receiver of the events of kernels. Each method does nothing by default.
pub trait KernelObserver: Debug + Send + Sync {
    /// The backend compiles a kernel.
    fn compile(&self) {}

    /// The engine calls the code of a kernel.
    fn begin(&self) {}

    /// The engine calls the code of a kernel once for each chunk, with these copies of its places.
    fn begin_chunks(&self, _copies: &[Copies]) {}

    /// The calling thread completed a chunk; `done` of `count` chunks are complete.
    fn complete_chunk(&self, _done: usize, _count: usize) {}

    /// The code of a kernel ended before its work was done, because of an interrupt.
    fn stop(&self) {}
}

/// A backend whose kernels report to an observer.
pub struct ObservedBackend {
    /// The backend that compiles the kernels.
    pub backend: Arc<dyn KernelBackend + Send + Sync>,
    /// The receiver of their events.
    pub observer: Arc<dyn KernelObserver>,
}

impl KernelBackend for ObservedBackend {
    fn compile(&self, ssa: &Arc<SsaFunction>, kernel: &Arc<Kernel>) -> Option<Arc<dyn KernelCode>> {
        self.observer.compile();
        let code = self.backend.compile(ssa, kernel)?;
        Some(Arc::new(ObservedCode { code, observer: Arc::clone(&self.observer) }))
    }
}

struct ObservedCode {
    code: Arc<dyn KernelCode>,
    observer: Arc<dyn KernelObserver>,
}

impl ObservedCode {
    fn report(&self, result: Result<(), KernelInterrupted>) -> Result<(), KernelInterrupted> {
        result.inspect_err(|_| self.observer.stop())
    }
}

impl KernelCode for ObservedCode {
    fn run(
        &self,
        slots: &mut [MemorySlot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        report: &dyn Fn(i64, i64),
    ) -> Result<(), KernelInterrupted> {
        self.observer.begin();
        self.report(self.code.run(slots, integers, interrupt, report))
    }

    fn run_scalars(
        &self,
        words: &mut [u64],
        integers: &[i64],
        interrupt: &AtomicBool,
    ) -> Result<(), KernelInterrupted> {
        self.observer.begin();
        self.report(self.code.run_scalars(words, integers, interrupt))
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
        report: &dyn Fn(usize),
    ) -> Result<(), KernelInterrupted> {
        self.observer.begin();
        self.observer.begin_chunks(copies);
        let both = |done: usize| {
            self.observer.complete_chunk(done, chunks.len());
            report(done);
        };
        self.report(self.code.run_chunks(slots, copies, integers, chunks, interrupt, &both))
    }
}

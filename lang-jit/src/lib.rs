//! **JIT backend.** Compiles kernels to machine code for the host processor by Cranelift.
//!
//! The engine (`lang_core::exec`) calls [`Jit`] with a kernel of the scheduler and runs the
//! [`KernelCode`] that it returns. The code works for all sizes and is cached by the contents of
//! the kernel ([`generate`] builds it).
//!
//! Unsafe code is confined to these modules:
//!
//! - [`code`] calls compiled functions with the addresses of buffers; [`function`] turns the
//!   compiler's output into such a function.
//! - [`runtime_calls`], [`matrix_product`] and [`tiles`] are called by compiled code.
//! - [`thread_pool`] runs closures that the caller borrows on other threads; [`large_pages`] is an
//!   optional allocator.
//!
//! Compiled code accesses only elements within the extents passed to it. It tests an index that is
//! not proved to be in bounds. If the index is out of bounds, a load uses index 0, and an
//! assignment is skipped. The indices of a `Fill` are not tested, because the scheduler takes them
//! from loops over the axes.

mod addressing;
mod arg_reduction;
mod argument_layout;
mod block_product;
mod code;
mod elementary;
mod function;
mod fused;
mod generate;
mod indices;
mod large_pages;
mod masks;
mod matrix_product;
mod runtime_calls;
mod scalar_replacement;
mod strip_mine;
mod thread_pool;
pub mod tiles;
mod unroll_and_jam;
mod values;
mod vectorise;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use lang_core::exec::native::{KernelBackend, KernelCode};
use lang_core::ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_core::nest::Kernel;
use lang_core::opt::kernel_statements::is_trivial;
use lang_core::predicate::Atom;
use lang_core::syntax::ops::Scalar;

pub use large_pages::LargePages;
use thread_pool::ThreadPool;

/// The cache key of a kernel, which is independent of its function. It contains the loops, the
/// statements inlined at their uses, and the integers that are sizes and so not negative.
type KernelKey = (Kernel, Vec<(StmtId, Rhs, Option<Scalar>)>, Vec<Atom>);

/// The maximal number of cached kernels. Then the cache is cleared; code in use stays alive.
const MAX_CACHED: usize = 4096;

/// The backend: compiles kernels and caches their code.
pub struct Jit {
    isa: OwnedTargetIsa,
    pool: Arc<ThreadPool>,
    cache: Mutex<HashMap<KernelKey, Option<Arc<dyn KernelCode>>>>,
}

impl Jit {
    /// Creates a backend for the host processor, whose code runs on `threads` threads.
    ///
    /// # Errors
    /// Cranelift does not support the processor.
    pub fn new(threads: usize) -> Result<Self, String> {
        let mut flags = settings::builder();
        let set = |flags: &mut settings::Builder, name: &str, value: &str| {
            flags.set(name, value).map_err(|why| format!("{name}: {why}"))
        };
        set(&mut flags, "opt_level", "speed")?;
        set(&mut flags, "is_pic", "false")?;
        set(&mut flags, "enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
        let isa = cranelift_native::builder().map_err(ToString::to_string)?;
        let isa = isa.finish(settings::Flags::new(flags)).map_err(|why| why.to_string())?;
        Ok(Self { isa, pool: Arc::new(ThreadPool::new(threads)), cache: Mutex::default() })
    }

    /// Returns the Cranelift IR of a kernel as text, before code generation.
    ///
    /// # Errors
    /// The reason why the kernel cannot be compiled.
    pub fn clif_text(&self, ssa: &SsaFunction, kernel: &Kernel) -> Result<String, String> {
        function::kernel_text(&self.isa, ssa, kernel)
    }
}

impl KernelBackend for Jit {
    fn compile(&self, ssa: &Arc<SsaFunction>, kernel: &Arc<Kernel>) -> Option<Arc<dyn KernelCode>> {
        let written = (0..).zip(&ssa.stmts).filter(|(_, s)| is_trivial(&s.rhs));
        let written = written.map(|(k, s)| (StmtId(k), s.rhs.clone(), s.scalar)).collect();
        let sizes = ssa.sizes.iter().map(|l| ssa.vars.atom(*l)).collect();
        let key = ((**kernel).clone(), written, sizes);
        let mut known = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = known.get(&key) {
            return code.clone();
        }
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        // If the compiler panics, the kernel has no code and the engine runs it statement by
        // statement.
        let outcome = catch_unwind(AssertUnwindSafe(|| function::compile_kernel(&self.isa, &self.pool, ssa, kernel)));
        let compiled = outcome.ok().and_then(Result::ok);
        known.insert(key, compiled.clone());
        compiled
    }
}

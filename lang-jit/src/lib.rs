//! Kernels as machine code for the processor at hand. [`Jit`] is a backend of the engine: it makes a function of each
//! kernel's loops by Cranelift ([`generate`]), for all sizes, and keeps it by what the kernel is.
//!
//! What is unsafe is in [`code`], where a function is called with the addresses of buffers, in [`function`], which makes that
//! of what the compiler gave, in [`apply`], [`matrices`] and [`tiles`], which it calls back, in [`pool`], whose threads run
//! what their caller borrows, and in [`memory`], the allocator of who wants it. The code reads and writes only below the extents it is given: an index that is not proved to be is
//! brought there first.

mod apply;
mod arguments;
mod choice;
mod code;
mod elementary;
mod function;
mod fused;
mod generate;
mod indices;
mod jam;
mod masks;
mod matrices;
mod memory;
mod pool;
mod registers;
mod spots;
mod strip;
pub mod tiles;
mod values;
mod vector;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use lang_core::exec::native::{Backend, Code};
use lang_core::ir::ssa::{Rhs, Ssa, Var};
use lang_core::predicate::Atom;
use lang_core::schedule::{Kernel, is_trivial};
use lang_core::syntax::ops::Scalar;

pub use memory::LargePages;
use pool::Pool;

/// What a kernel is, whichever function it is of: its loops, what is written where it is read, and which of its integers are
/// sizes, which are not negative.
type Key = (Kernel, Vec<(Var, Rhs, Option<Scalar>)>, Vec<Atom>);

/// Code of so many kernels is kept; then all of it goes, but for what someone runs.
const MOST_KNOWN: usize = 4096;

/// Makes code of kernels.
pub struct Jit {
    isa: OwnedTargetIsa,
    pool: Arc<Pool>,
    known: Mutex<HashMap<Key, Option<Arc<dyn Code>>>>,
}

impl Jit {
    /// One for this processor, whose code runs by so many threads; why there is none.
    ///
    /// # Errors
    /// The processor is none that code can be made for.
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
        Ok(Self { isa, pool: Arc::new(Pool::new(threads)), known: Mutex::default() })
    }

    /// The code of a kernel as Cranelift has it, before it is that of the machine.
    ///
    /// # Errors
    /// Why there is none.
    pub fn text(&self, ssa: &Ssa, kernel: &Kernel) -> Result<String, String> {
        function::text(&self.isa, ssa, kernel)
    }
}

impl Backend for Jit {
    fn compile(&self, ssa: &Arc<Ssa>, kernel: &Arc<Kernel>) -> Option<Arc<dyn Code>> {
        let written = (0..).zip(&ssa.stmts).filter(|(_, s)| is_trivial(&s.rhs));
        let written = written.map(|(k, s)| (Var(k), s.rhs.clone(), s.scalar)).collect();
        let sizes = ssa.sizes.iter().map(|l| ssa.vars.atom(*l)).collect();
        let key = ((**kernel).clone(), written, sizes);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = known.get(&key) {
            return code.clone();
        }
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        // Where the compiler is wrong about a kernel it has no code: it is run statement by statement.
        let made = catch_unwind(AssertUnwindSafe(|| function::function(&self.isa, &self.pool, ssa, kernel)));
        let made = made.ok().and_then(Result::ok);
        known.insert(key, made.clone());
        made
    }
}

//! **Compiled kernels.** The interface of a backend and its code, and the execution of a kernel as
//! a step of a function.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::affine::IndexTranslator;
use super::chunks::ChunkedPart;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::ssa::{SsaFunction, Statement, StmtId};
use lang_nest::{Kernel, KernelStorage, StorageRole, WHILE_EXTENT, parallelise};
use lang_opt::kernel_statements::is_trivial;
use lang_runtime::OffloadProgress;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::Scalar;

/// The maximum number of words and integers of [`KernelCode::run_scalars`].
pub const MAX_SCALAR_WORDS: usize = 24;

/// The size of a new stack segment, if less stack is left than the code requires.
const STACK_SEGMENT: usize = 8 << 20;

/// Calls code with the stack that it requires.
pub(super) fn with_stack<T>(code: &dyn KernelCode, call: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(code.stack(), STACK_SEGMENT, call)
}

/// A compiler of kernels.
pub trait KernelBackend {
    /// Compiles a kernel of a function; `None` if the backend cannot.
    fn compile(&self, ssa: &Arc<SsaFunction>, kernel: &Arc<Kernel>) -> Option<Arc<dyn KernelCode>>;
}

/// The code of a kernel.
pub trait KernelCode: Send + Sync {
    /// Runs the kernel.
    ///
    /// The slots are those of the places with memory, in order, each with the extents of its axes.
    /// The integers are those of the kernel. If an outermost loop runs in order, the code calls
    /// `report` now and then with the number of completed iterations and the total.
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run(
        &self,
        slots: &mut [MemorySlot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        report: &dyn Fn(i64, i64),
    ) -> Result<(), KernelInterrupted>;

    /// Runs a kernel whose places have no axes.
    ///
    /// The words are those of the places with memory, in order; a number is in the first bytes of
    /// its word. Words and integers together are at most [`MAX_SCALAR_WORDS`].
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run_scalars(&self, words: &mut [u64], integers: &[i64], interrupt: &AtomicBool)
    -> Result<(), KernelInterrupted>;

    /// Returns the number of bytes of stack that must be free at a call.
    fn stack(&self) -> usize;

    /// Returns the maximum number of threads that run chunks at once.
    fn threads(&self) -> usize;

    /// Runs the kernel once for each chunk, by several threads.
    ///
    /// `integers` are those of the kernel without the last two, which are the begin and the end of
    /// the chunk. A slot contains as many contiguous copies of its place as `copies` requires. In a
    /// place with one copy, no chunk may write an element that another reads or writes. The code
    /// calls `report` now and then with the number of completed chunks.
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run_chunks(
        &self,
        slots: &mut [MemorySlot<'_>],
        copies: &[Copies],
        integers: &[i64],
        chunks: &[(i64, i64)],
        interrupt: &AtomicBool,
        report: &dyn Fn(usize),
    ) -> Result<(), KernelInterrupted>;
}

/// The number of copies of a place while chunks run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// One copy for all.
    One,
    /// One copy for each chunk.
    Chunks,
    /// One copy for each thread.
    Threads,
}

/// The error of a run after an interrupt request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelInterrupted;

/// The memory of a place.
pub struct MemorySlot<'s> {
    /// The extents of its axes with memory.
    pub dims: &'s [usize],
    /// The elements, the last axis fastest.
    pub items: SlotElements<'s>,
}

/// The elements of a place: an input, or memory to write. The caller must zero memory to write,
/// unless the kernel writes all of it.
#[allow(missing_docs, reason = "kinds of elements")]
pub enum SlotElements<'s> {
    F64(&'s [f64]),
    F32(&'s [f32]),
    I64(&'s [i64]),
    Bool(&'s [bool]),
    MutF64(&'s mut [f64]),
    MutF32(&'s mut [f32]),
    MutI64(&'s mut [i64]),
    MutBool(&'s mut [bool]),
}

/// A kernel as a step of an executable, with its code if the backend can compile it.
pub(super) struct PreparedKernel {
    pub(super) kernel: Arc<Kernel>,
    /// The checks that must run before the kernel.
    pub(super) checks: Vec<u32>,
    pub(super) code: Option<Arc<dyn KernelCode>>,
    /// The variables whose last use is in the kernel.
    pub(super) last_uses: Vec<StmtId>,
    /// The extents of each place that the run allocates.
    extents: Vec<Vec<ExtentSource>>,
    /// An estimate of its work, if it contains an outermost loop.
    pub(super) work: Vec<(u64, Vec<ExtentSource>)>,
    /// The parts of the kernel for chunks, found at the first use; `None` if it has none.
    pub(super) parts: OnceLock<Option<Vec<ChunkedPart>>>,
}

/// An extent, in the form that is fastest to evaluate.
pub(super) enum ExtentSource {
    Constant(usize),
    /// The kernel's integer with this position.
    Integer(usize),
    Other(Poly),
}

impl ExtentSource {
    pub(super) fn of(p: &Poly, integers: &[Atom]) -> Self {
        let constant = p.as_constant().and_then(|n| usize::try_from(n).ok());
        let integer = p.as_atom().and_then(|atom| integers.iter().position(|other| other == atom));
        match (constant, integer) {
            (Some(n), _) => Self::Constant(n),
            (_, Some(k)) => Self::Integer(k),
            _ => Self::Other(p.clone()),
        }
    }
}

impl PreparedKernel {
    pub(super) fn new(kernel: Arc<Kernel>, needs: Vec<u32>, code: Option<Arc<dyn KernelCode>>) -> Self {
        let extents =
            |p: &KernelStorage| p.axes.iter().flatten().map(|n| ExtentSource::of(n, &kernel.entry_integers)).collect();
        let extents = allocated_places(&kernel).map(extents).collect();
        let work = parallelise::estimate_work(&kernel.body).into_iter().map(|of| {
            let extents = of.extents.iter().map(|n| ExtentSource::of(n, &kernel.entry_integers)).collect();
            (of.weight, extents)
        });
        let work = work.collect();
        Self { kernel, checks: needs, code, last_uses: Vec::new(), extents, work, parts: OnceLock::new() }
    }

    /// Returns the places that the run allocates, with their extents.
    pub(super) fn allocations(&self) -> impl Iterator<Item = (&KernelStorage, &[ExtentSource])> {
        allocated_places(&self.kernel).zip(self.extents.iter().map(Vec::as_slice))
    }
}

/// Returns the places with memory that a run allocates.
fn allocated_places(kernel: &Kernel) -> impl Iterator<Item = &KernelStorage> {
    kernel.storage.iter().filter(|p| !p.is_register() && p.role != StorageRole::Input)
}

/// Memory of any element type.
pub(super) enum AnyTensorBuilder {
    F64(TensorBuilder<f64>),
    F32(TensorBuilder<f32>),
    I64(TensorBuilder<i64>),
    Bool(TensorBuilder<bool>),
}

impl AnyTensorBuilder {
    fn finish(self) -> Tensor {
        match self {
            Self::F64(room) => room.finish(),
            Self::F32(room) => room.finish(),
            Self::I64(room) => room.finish(),
            Self::Bool(room) => room.finish(),
        }
    }

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        match self {
            Self::F64(room) => room.items.is_empty(),
            Self::F32(room) => room.items.is_empty(),
            Self::I64(room) => room.items.is_empty(),
            Self::Bool(room) => room.items.is_empty(),
        }
    }

    /// Returns a slot of the first `count` elements.
    pub(super) fn first_slot(&mut self, count: usize) -> MemorySlot<'_> {
        let items = match self {
            Self::F64(room) => SlotElements::MutF64(room.items.get_mut(..count).unwrap_or_default()),
            Self::F32(room) => SlotElements::MutF32(room.items.get_mut(..count).unwrap_or_default()),
            Self::I64(room) => SlotElements::MutI64(room.items.get_mut(..count).unwrap_or_default()),
            Self::Bool(room) => SlotElements::MutBool(room.items.get_mut(..count).unwrap_or_default()),
        };
        MemorySlot { dims: &[], items }
    }

    /// Returns a slot of all elements, with the extents.
    pub(super) fn whole_slot(&mut self) -> MemorySlot<'_> {
        match self {
            Self::F64(room) => MemorySlot { dims: &room.dims, items: SlotElements::MutF64(&mut room.items) },
            Self::F32(room) => MemorySlot { dims: &room.dims, items: SlotElements::MutF32(&mut room.items) },
            Self::I64(room) => MemorySlot { dims: &room.dims, items: SlotElements::MutI64(&mut room.items) },
            Self::Bool(room) => MemorySlot { dims: &room.dims, items: SlotElements::MutBool(&mut room.items) },
        }
    }
}

impl RunState<'_> {
    /// Runs a kernel by its code or, without code, statement by statement.
    pub(super) fn run_kernel(&mut self, ready: &PreparedKernel) -> Result<(), RunError> {
        let kernel = &ready.kernel;
        let Some(code) = &ready.code else { return self.run_statements(kernel) };
        ready.checks.iter().try_for_each(|c| self.check(*c))?;
        self.poll()?;
        let integers = kernel.entry_integers.iter().map(|a| self.integer(a)).collect::<Result<Vec<i64>, RunError>>()?;
        let mut rooms: Vec<(StmtId, AnyTensorBuilder)> = Vec::with_capacity(ready.extents.len());
        for (place, extents) in ready.allocations() {
            let dims = extents.iter().map(|n| self.extent(n, &integers)).collect::<Result<Vec<usize>, RunError>>()?;
            rooms.push((place.var, self.allocate_place(place, dims)?));
        }
        // If no result has elements, the loops around them would run for nothing.
        if rooms.is_empty() || !rooms.iter().all(|(_, room)| room.is_empty()) {
            match self.ready_parts(ready, &integers)? {
                Some(parts) => self.run_parts(&parts, &integers, &mut rooms)?,
                None => self.run_code(kernel, &**code, &integers, &mut rooms)?,
            }
        }
        for (var, room) in rooms {
            let is_output = kernel.storage.iter().any(|p| p.var == var && p.role == StorageRole::Output);
            if let Some(slot) = self.values.get_mut(var.0 as usize).filter(|_| is_output) {
                *slot = Some(room.finish());
            }
        }
        Ok(())
    }

    /// Runs the code of a kernel, or of a part that shares memory with other parts.
    pub(super) fn run_code(
        &self,
        kernel: &Kernel,
        code: &dyn KernelCode,
        integers: &[i64],
        rooms: &mut [(StmtId, AnyTensorBuilder)],
    ) -> Result<(), RunError> {
        let mut slots = self.slots(kernel, rooms)?;
        let report = |done: i64, all: i64| self.report_progress(done, all);
        let interrupt = self.machine.context.interrupt;
        with_stack(code, || code.run(&mut slots, integers, interrupt, &report))
            .map_err(|KernelInterrupted| RunError::Interrupted)
    }

    /// Reports the number of completed iterations of an outermost loop, and their total, if the
    /// function is the outermost.
    pub(super) fn report_progress(&self, done: i64, all: i64) {
        if self.machine.depth.get() == 1 {
            // The total is unknown if data end the loop.
            (self.machine.context.report_progress)(OffloadProgress::Steps(
                done,
                Some(all).filter(|all| *all < WHILE_EXTENT),
            ));
        }
    }

    /// Returns the slots of the places with memory. `rooms` must be sorted by variable.
    pub(super) fn slots<'s>(
        &'s self,
        kernel: &Kernel,
        rooms: &'s mut [(StmtId, AnyTensorBuilder)],
    ) -> Result<Vec<MemorySlot<'s>>, RunError> {
        let mut slots: Vec<MemorySlot<'_>> = Vec::with_capacity(kernel.storage.len());
        let mut rooms = rooms.iter_mut().peekable();
        for place in kernel.storage.iter().filter(|p| !p.is_register()) {
            while rooms.peek().is_some_and(|(var, _)| *var < place.var) {
                rooms.next();
            }
            slots.push(match rooms.next_if(|(var, _)| *var == place.var) {
                Some((_, held)) => held.whole_slot(),
                None => self.input_slot(place)?,
            });
        }
        Ok(slots)
    }

    /// Evaluates an integer of a kernel.
    pub(super) fn integer(&self, atom: &Atom) -> Result<i64, RunError> {
        if let Atom::Local(l, _) = atom
            && let Some(known) = self.local(*l)
        {
            return Ok(known);
        }
        IndexTranslator::new(self, &[]).index_expr(&Poly::atom(atom.clone()))?.value(&[]).map_err(RunError::from)
    }

    /// Evaluates an extent; a negative one counts as 0.
    pub(super) fn extent(&self, n: &ExtentSource, integers: &[i64]) -> Result<usize, RunError> {
        let poly = match n {
            ExtentSource::Constant(n) => return Ok(*n),
            ExtentSource::Integer(k) => {
                return Ok(integers.get(*k).and_then(|n| usize::try_from(*n).ok()).unwrap_or(0));
            }
            ExtentSource::Other(poly) => poly,
        };
        Ok(self.dims(std::slice::from_ref(poly))?.first().copied().unwrap_or(0))
    }

    /// Allocates the memory of a place. It is zero, unless the kernel writes all of it.
    pub(super) fn allocate_place(&self, place: &KernelStorage, dims: Vec<usize>) -> Result<AnyTensorBuilder, RunError> {
        fn room<T: TensorElement>(
            run: &RunState<'_>,
            place: &KernelStorage,
            dims: Vec<usize>,
        ) -> Result<TensorBuilder<T>, RunError> {
            if place.is_fully_initialised {
                TensorBuilder::unwritten(run, dims)
            } else {
                TensorBuilder::filled(run, dims, T::ZERO)
            }
        }
        Ok(match place.scalar {
            Scalar::F64 => AnyTensorBuilder::F64(room(self, place, dims)?),
            Scalar::F32 => AnyTensorBuilder::F32(room(self, place, dims)?),
            Scalar::I64 => AnyTensorBuilder::I64(room(self, place, dims)?),
            Scalar::Bool => AnyTensorBuilder::Bool(room(self, place, dims)?),
        })
    }

    /// Returns the slot of an input.
    fn input_slot(&self, place: &KernelStorage) -> Result<MemorySlot<'_>, RunError> {
        const BROKEN: RunError = RunError::Internal("the input of a kernel");
        let tensor = self.tensor(place.var).ok_or(BROKEN)?;
        let items = match place.scalar {
            Scalar::F64 => tensor.items().map(SlotElements::F64),
            Scalar::F32 => tensor.items().map(SlotElements::F32),
            Scalar::I64 => tensor.items().map(SlotElements::I64),
            Scalar::Bool => tensor.items().map(SlotElements::Bool),
        };
        Ok(MemorySlot { dims: &tensor.dims, items: items.ok_or(BROKEN)? })
    }

    /// Runs the statements of a kernel one by one.
    fn run_statements(&mut self, kernel: &Kernel) -> Result<(), RunError> {
        let program = self.program;
        for var in &kernel.assigned {
            let stmt = program.ssa.stmts.get(var.0 as usize).ok_or(RunError::Internal("a statement"))?;
            self.materialise_operands(stmt)?;
            let value = self.statement(var.0, stmt)?;
            self.values.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = Some(value.clone()));
        }
        for place in kernel.storage.iter().filter(|p| p.role == StorageRole::Temporary) {
            self.values.get_mut(place.var.0 as usize).into_iter().for_each(|slot| *slot = None);
        }
        Ok(())
    }
}

impl RunState<'_> {
    /// Evaluates the operands that compiled kernels inline at their uses, because a single
    /// statement reads them from memory.
    fn materialise_operands(&mut self, stmt: &Statement) -> Result<(), RunError> {
        let program = self.program;
        let mut missing = Vec::new();
        stmt.rhs.for_each_operand(&mut |v| missing.extend(self.tensor(v).is_none().then_some(v)));
        for var in missing {
            let stmt = program.ssa.stmts.get(var.0 as usize).filter(|s| is_trivial(&s.rhs));
            let stmt = stmt.ok_or(RunError::Internal("an operand"))?;
            ensure_sufficient_stack(|| self.materialise_operands(stmt))?;
            let value = self.statement(var.0, stmt)?;
            self.values.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = Some(value.clone()));
        }
        Ok(())
    }
}

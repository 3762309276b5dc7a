//! **Compiled kernels.** The interface of a backend and its code, and the execution of a kernel as
//! a step of a function.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::chunks::InPart;
use super::number::Names;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_base::guarded;
use lang_ir::ssa::{Ssa, Stmt, Var};
use lang_nest::{ENDLESS, Kernel, Place, Role, chunks, is_trivial};
use lang_runtime::Done;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ops::Scalar;

/// The maximal number of words and integers of [`Code::run_numbers`].
pub const MOST_NUMBERS: usize = 24;

/// The size of a piece of stack, where less is left than code wants.
const STACK_PIECE: usize = 8 << 20;

/// Calls code with the stack that it requires.
pub(super) fn with_stack<T>(code: &dyn Code, call: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(code.stack(), STACK_PIECE, call)
}

/// A compiler of kernels.
pub trait Backend {
    /// Compiles a kernel of a function; `None` if the backend cannot.
    fn compile(&self, ssa: &Arc<Ssa>, kernel: &Arc<Kernel>) -> Option<Arc<dyn Code>>;
}

/// The code of a kernel.
pub trait Code: Send + Sync {
    /// Runs the kernel.
    ///
    /// The slots are those of the places with memory, in order, each with the extents of its axes.
    /// The integers are those of the kernel. If an outermost loop runs in order, `told` receives
    /// now and then the number of iterations done and the total.
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run(
        &self,
        slots: &mut [Slot<'_>],
        integers: &[i64],
        interrupt: &AtomicBool,
        told: &dyn Fn(i64, i64),
    ) -> Result<(), Interrupted>;

    /// Runs a kernel whose places have no axes.
    ///
    /// The words are those of the places with memory, in order; a number is in the first bytes of
    /// its word. Words and integers together are at most [`MOST_NUMBERS`].
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run_numbers(&self, words: &mut [u64], integers: &[i64], interrupt: &AtomicBool) -> Result<(), Interrupted>;

    /// Returns the number of bytes of stack that must be free at a call.
    fn stack(&self) -> usize;

    /// Returns the maximal number of threads that run chunks at once.
    fn threads(&self) -> usize;

    /// Runs the kernel once for each chunk, by several threads.
    ///
    /// `integers` are those of the kernel without the last two, which are the begin and the end of
    /// the chunk. A slot contains as many contiguous copies of its place as `copies` requires. In a
    /// place with one copy, no chunk may write an element that another reads or writes. `told`
    /// receives now and then the number of chunks done.
    ///
    /// # Errors
    /// An interrupt was requested.
    fn run_chunks(
        &self,
        slots: &mut [Slot<'_>],
        copies: &[Copies],
        integers: &[i64],
        chunks: &[(i64, i64)],
        interrupt: &AtomicBool,
        told: &dyn Fn(usize),
    ) -> Result<(), Interrupted>;
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
pub struct Interrupted;

/// The memory of a place.
pub struct Slot<'s> {
    /// The extents of its axes with memory.
    pub dims: &'s [usize],
    /// The elements, the last axis fastest.
    pub items: Elements<'s>,
}

/// The elements of a place: an input, or memory to write. Memory to write is zero initially unless
/// the kernel writes all of it.
#[allow(missing_docs, reason = "kinds of elements")]
pub enum Elements<'s> {
    F64(&'s [f64]),
    F32(&'s [f32]),
    I64(&'s [i64]),
    Bool(&'s [bool]),
    RoomF64(&'s mut [f64]),
    RoomF32(&'s mut [f32]),
    RoomI64(&'s mut [i64]),
    RoomBool(&'s mut [bool]),
}

/// A kernel and its code, if any.
pub(super) struct Ready {
    pub(super) kernel: Arc<Kernel>,
    pub(super) needs: Vec<u32>,
    pub(super) code: Option<Arc<dyn Code>>,
    /// The variables whose last use is in the kernel.
    pub(super) dead: Vec<Var>,
    /// The extents of each place that the run allocates.
    extents: Vec<Vec<Extent>>,
    /// An estimate of its work, if it contains an outermost loop.
    pub(super) work: Vec<(u64, Vec<Extent>)>,
    pub(super) parts: OnceLock<Option<Vec<InPart>>>,
}

/// An extent, in the form that is fastest to evaluate.
pub(super) enum Extent {
    Constant(usize),
    /// The kernel's integer with this position.
    Integer(usize),
    Other(Poly),
}

impl Extent {
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

impl Ready {
    pub(super) fn new(kernel: Arc<Kernel>, needs: Vec<u32>, code: Option<Arc<dyn Code>>) -> Self {
        let extents = |p: &Place| p.axes.iter().flatten().map(|n| Extent::of(n, &kernel.integers)).collect();
        let extents = made(&kernel).map(extents).collect();
        let work = chunks::work_of(&kernel.body).into_iter().map(|of| {
            let extents = of.extents.iter().map(|n| Extent::of(n, &kernel.integers)).collect();
            (of.weight, extents)
        });
        let work = work.collect();
        Self { kernel, needs, code, dead: Vec::new(), extents, work, parts: OnceLock::new() }
    }

    /// Returns the places that the run allocates, with their extents.
    pub(super) fn rooms(&self) -> impl Iterator<Item = (&Place, &[Extent])> {
        made(&self.kernel).zip(self.extents.iter().map(Vec::as_slice))
    }
}

/// The places with memory that is made for a run.
fn made(kernel: &Kernel) -> impl Iterator<Item = &Place> {
    kernel.places.iter().filter(|p| !p.is_register() && p.role != Role::Given)
}

/// Memory of any element type.
pub(super) enum Held {
    F64(Room<f64>),
    F32(Room<f32>),
    I64(Room<i64>),
    Bool(Room<bool>),
}

impl Held {
    fn done(self) -> Tensor {
        match self {
            Self::F64(room) => room.done(),
            Self::F32(room) => room.done(),
            Self::I64(room) => room.done(),
            Self::Bool(room) => room.done(),
        }
    }

    /// Has it no elements?
    fn is_empty(&self) -> bool {
        match self {
            Self::F64(room) => room.items.is_empty(),
            Self::F32(room) => room.items.is_empty(),
            Self::I64(room) => room.items.is_empty(),
            Self::Bool(room) => room.items.is_empty(),
        }
    }

    /// Returns a slot of the first `count` elements.
    pub(super) fn first(&mut self, count: usize) -> Slot<'_> {
        let items = match self {
            Self::F64(room) => Elements::RoomF64(room.items.get_mut(..count).unwrap_or_default()),
            Self::F32(room) => Elements::RoomF32(room.items.get_mut(..count).unwrap_or_default()),
            Self::I64(room) => Elements::RoomI64(room.items.get_mut(..count).unwrap_or_default()),
            Self::Bool(room) => Elements::RoomBool(room.items.get_mut(..count).unwrap_or_default()),
        };
        Slot { dims: &[], items }
    }

    pub(super) fn slot(&mut self) -> Slot<'_> {
        match self {
            Self::F64(room) => Slot { dims: &room.dims, items: Elements::RoomF64(&mut room.items) },
            Self::F32(room) => Slot { dims: &room.dims, items: Elements::RoomF32(&mut room.items) },
            Self::I64(room) => Slot { dims: &room.dims, items: Elements::RoomI64(&mut room.items) },
            Self::Bool(room) => Slot { dims: &room.dims, items: Elements::RoomBool(&mut room.items) },
        }
    }
}

impl Run<'_> {
    /// Runs a kernel by its code or, without code, statement by statement.
    pub(super) fn kernel(&mut self, ready: &Ready) -> Result<(), Stopped> {
        let kernel = &ready.kernel;
        let Some(code) = &ready.code else { return self.by_statements(kernel) };
        ready.needs.iter().try_for_each(|c| self.check(*c))?;
        self.poll()?;
        let integers = kernel.integers.iter().map(|a| self.integer(a)).collect::<Result<Vec<i64>, Stopped>>()?;
        let mut rooms: Vec<(Var, Held)> = Vec::with_capacity(ready.extents.len());
        for (place, extents) in ready.rooms() {
            let dims = extents.iter().map(|n| self.extent(n, &integers)).collect::<Result<Vec<usize>, Stopped>>()?;
            rooms.push((place.var, self.held(place, dims)?));
        }
        // Loops around an axis without elements would run for nothing.
        if rooms.is_empty() || !rooms.iter().all(|(_, room)| room.is_empty()) {
            match self.in_parts(ready, &integers)? {
                Some(parts) => self.by_parts(&parts, &integers, &mut rooms)?,
                None => self.by_code(kernel, &**code, &integers, &mut rooms)?,
            }
        }
        for (var, room) in rooms {
            let made = kernel.places.iter().any(|p| p.var == var && p.role == Role::Made);
            if let Some(slot) = self.values.get_mut(var.0 as usize).filter(|_| made) {
                *slot = Some(room.done());
            }
        }
        Ok(())
    }

    /// Runs the code of a kernel, or of a part that shares memory with other parts.
    pub(super) fn by_code(
        &self,
        kernel: &Kernel,
        code: &dyn Code,
        integers: &[i64],
        rooms: &mut [(Var, Held)],
    ) -> Result<(), Stopped> {
        let mut slots = self.slots(kernel, rooms)?;
        let told = |done: i64, all: i64| self.tell(done, all);
        let interrupt = self.machine.around.interrupt;
        with_stack(code, || code.run(&mut slots, integers, interrupt, &told))
            .map_err(|Interrupted| Stopped::Interrupted)
    }

    /// Reports the number of iterations done of an outermost loop, and the total.
    pub(super) fn tell(&self, done: i64, all: i64) {
        if self.machine.depth.get() == 1 {
            // Of a loop that data end nobody knows how long it is.
            (self.machine.around.done)(Done::Steps(done, Some(all).filter(|all| *all < ENDLESS)));
        }
    }

    /// Returns the slots of the places with memory. `rooms` must be sorted by variable.
    pub(super) fn slots<'s>(&'s self, kernel: &Kernel, rooms: &'s mut [(Var, Held)]) -> Result<Vec<Slot<'s>>, Stopped> {
        let mut slots: Vec<Slot<'_>> = Vec::with_capacity(kernel.places.len());
        let mut rooms = rooms.iter_mut().peekable();
        for place in kernel.places.iter().filter(|p| !p.is_register()) {
            while rooms.peek().is_some_and(|(var, _)| *var < place.var) {
                rooms.next();
            }
            slots.push(match rooms.next_if(|(var, _)| *var == place.var) {
                Some((_, held)) => held.slot(),
                None => self.given(place)?,
            });
        }
        Ok(slots)
    }

    /// Evaluates an integer of a kernel.
    pub(super) fn integer(&self, atom: &Atom) -> Result<i64, Stopped> {
        if let Atom::Local(l, _) = atom
            && let Some(known) = self.local(*l)
        {
            return Ok(known);
        }
        Names::new(self, &[]).num(&Poly::atom(atom.clone()))?.value(&[]).map_err(Stopped::from)
    }

    pub(super) fn extent(&self, n: &Extent, integers: &[i64]) -> Result<usize, Stopped> {
        let poly = match n {
            Extent::Constant(n) => return Ok(*n),
            Extent::Integer(k) => return Ok(integers.get(*k).and_then(|n| usize::try_from(*n).ok()).unwrap_or(0)),
            Extent::Other(poly) => poly,
        };
        Ok(self.dims(std::slice::from_ref(poly))?.first().copied().unwrap_or(0))
    }

    pub(super) fn held(&self, place: &Place, dims: Vec<usize>) -> Result<Held, Stopped> {
        fn room<T: Number>(run: &Run<'_>, place: &Place, dims: Vec<usize>) -> Result<Room<T>, Stopped> {
            if place.is_whole { Room::unwritten(run, dims) } else { Room::filled(run, dims, T::ZERO) }
        }
        Ok(match place.scalar {
            Scalar::F64 => Held::F64(room(self, place, dims)?),
            Scalar::F32 => Held::F32(room(self, place, dims)?),
            Scalar::I64 => Held::I64(room(self, place, dims)?),
            Scalar::Bool => Held::Bool(room(self, place, dims)?),
        })
    }

    fn given(&self, place: &Place) -> Result<Slot<'_>, Stopped> {
        const BROKEN: Stopped = Stopped::Broken("what a kernel is given");
        let tensor = self.tensor(place.var).ok_or(BROKEN)?;
        let items = match place.scalar {
            Scalar::F64 => tensor.items().map(Elements::F64),
            Scalar::F32 => tensor.items().map(Elements::F32),
            Scalar::I64 => tensor.items().map(Elements::I64),
            Scalar::Bool => tensor.items().map(Elements::Bool),
        };
        Ok(Slot { dims: &tensor.dims, items: items.ok_or(BROKEN)? })
    }

    fn by_statements(&mut self, kernel: &Kernel) -> Result<(), Stopped> {
        let program = self.program;
        for var in &kernel.sets {
            let stmt = program.ssa.stmts.get(var.0 as usize).ok_or(Stopped::Broken("a statement"))?;
            self.written_out(stmt)?;
            let value = self.statement(var.0, stmt)?;
            self.values.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = Some(value.clone()));
        }
        for place in kernel.places.iter().filter(|p| p.role == Role::Within) {
            self.values.get_mut(place.var.0 as usize).into_iter().for_each(|slot| *slot = None);
        }
        Ok(())
    }
}

impl Run<'_> {
    /// Gives values to what a statement reads that kernels write where they read it.
    fn written_out(&mut self, stmt: &Stmt) -> Result<(), Stopped> {
        let program = self.program;
        let mut missing = Vec::new();
        stmt.rhs.for_each_operand(&mut |v| missing.extend(self.tensor(v).is_none().then_some(v)));
        for var in missing {
            let stmt = program.ssa.stmts.get(var.0 as usize).filter(|s| is_trivial(&s.rhs));
            let stmt = stmt.ok_or(Stopped::Broken("an operand"))?;
            guarded(|| self.written_out(stmt))?;
            let value = self.statement(var.0, stmt)?;
            self.values.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = Some(value.clone()));
        }
        Ok(())
    }
}

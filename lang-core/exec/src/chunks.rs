//! **Chunked kernels.** Divides the outermost loops of a kernel's parts into chunks, makes private
//! copies for each chunk, and joins the copies.
//!
//! The chunks and the order of joins depend on sizes alone, so that results are bit-identical for
//! any thread count. Exception: if memory for the copies is short, the part runs as one chunk.

use std::sync::{Arc, OnceLock};

use super::affine::IndexTranslator;
use super::native::{
    AnyTensorBuilder, Copies, ExtentSource, KernelCode, KernelInterrupted, PreparedKernel, with_stack,
};
use super::tensor::{TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::StmtId;
use lang_nest::parallelise::{KernelPart, PrivateCopy, divide_kernel};
use lang_nest::{Accumulation, KernelStorage, StorageRole};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;

/// The minimum number of operations of a kernel that runs in chunks.
const MIN_KERNEL_WORK: u64 = 1 << 16;
/// The minimum number of operations of a chunk.
const MIN_CHUNK_WORK: u64 = 1 << 14;
/// The minimum number of iterations of a chunk without inner loops.
const MIN_CHUNK_TRIPS: i64 = 64;
/// The maximum number of chunks.
const MAX_CHUNKS: u64 = 64;
/// The minimum number of operations for each element of the private copies.
const WORK_PER_COPIED_ELEMENT: u64 = 8;
/// The maximum number of elements of all private copies.
const MAX_COPIED_ELEMENTS: u64 = 1 << 24;
/// The number of elements of all private copies up to which all chunks run at once.
const FEW_COPIED_ELEMENTS: usize = 1 << 17;
/// The granularity of chunks without inner loops, in iterations: whole steps of vectors.
const CHUNK_GRANULARITY: i64 = 8;

/// A part of a kernel, and its code after the first use.
pub(super) struct ChunkedPart {
    part: KernelPart,
    work: Vec<(u64, Vec<ExtentSource>)>,
    code: OnceLock<Option<Arc<dyn KernelCode>>>,
}

impl ChunkedPart {
    fn new(part: KernelPart) -> Self {
        let extent = |n: &Poly| ExtentSource::of(n, &part.kernel.entry_integers);
        let work = part.work.iter().map(|of| (of.weight, of.extents.iter().map(extent).collect())).collect();
        Self { part, work, code: OnceLock::new() }
    }
}

/// The begin and the end of each chunk.
type ChunkRanges = Vec<(i64, i64)>;

/// A part that is ready to run.
pub(super) struct ReadyPart<'p> {
    part: &'p KernelPart,
    code: Arc<dyn KernelCode>,
    chunks: ChunkRanges,
}

impl RunState<'_> {
    /// Returns the parts of a kernel with code and chunks, if one of them has several chunks.
    pub(super) fn ready_parts<'p>(
        &self,
        ready: &'p PreparedKernel,
        integers: &[i64],
    ) -> Result<Option<Vec<ReadyPart<'p>>>, RunError> {
        let ssa = &self.program.ssa;
        let Some(all) = self.divide(ready, integers)? else { return Ok(None) };
        let programs = self.machine.executables;
        let Some(backend) = programs.backend.as_deref() else { return Ok(None) };
        let mut planned = Vec::new();
        for (of, chunks) in all {
            let code = of.code.get_or_init(|| programs.timed(|| backend.compile(ssa, &of.part.kernel)));
            let Some(code) = code.clone() else { return Ok(None) };
            planned.push(ReadyPart { part: &of.part, code, chunks });
        }
        Ok(Some(planned))
    }

    /// Returns the parts of a kernel, each with its number of chunks, if one of them has several.
    pub(super) fn chunk_counts<'p>(
        &self,
        ready: &'p PreparedKernel,
        integers: &[i64],
    ) -> Result<Option<Vec<(&'p KernelPart, usize)>>, RunError> {
        let all = self.divide(ready, integers)?;
        Ok(all.map(|all| all.into_iter().map(|(of, chunks)| (&of.part, chunks.len())).collect()))
    }

    /// Divides the parts of a kernel into chunks. Returns `None` if no part has several.
    fn divide<'p>(
        &self,
        ready: &'p PreparedKernel,
        integers: &[i64],
    ) -> Result<Option<Vec<(&'p ChunkedPart, ChunkRanges)>>, RunError> {
        if ready.work.is_empty() || self.count_operations(&ready.work, integers)? < MIN_KERNEL_WORK {
            return Ok(None);
        }
        let ssa = &self.program.ssa;
        let all = ready
            .parts
            .get_or_init(|| Some(divide_kernel(ssa, &ready.kernel)?.into_iter().map(ChunkedPart::new).collect()));
        let Some(all) = all else { return Ok(None) };
        let cut = all.iter().map(|of| Ok((of, self.chunk_ranges(of, integers)?)));
        let cut = cut.collect::<Result<Vec<_>, RunError>>()?;
        Ok(cut.iter().any(|(_, chunks)| chunks.len() > 1).then_some(cut))
    }

    /// Computes the number of operations.
    fn count_operations(&self, work: &[(u64, Vec<ExtentSource>)], integers: &[i64]) -> Result<u64, RunError> {
        work.iter().try_fold(0_u64, |sum, (weight, extents)| {
            let all = extents.iter().try_fold(*weight, |n, extent| {
                let extent = u64::try_from(self.extent(extent, integers)?).unwrap_or(u64::MAX);
                Ok::<u64, RunError>(n.saturating_mul(extent))
            })?;
            Ok(sum.saturating_add(all))
        })
    }

    /// Computes the ranges of the chunks: none for a part without a divisible loop, one for a loop
    /// that is too short.
    fn chunk_ranges(&self, of: &ChunkedPart, integers: &[i64]) -> Result<ChunkRanges, RunError> {
        let Some(chunked) = &of.part.chunked else { return Ok(Vec::new()) };
        let names = IndexTranslator::new(self, &[]);
        let value = |p: &Poly| names.index_expr(p)?.value(&[]).map_err(RunError::from);
        let (mut from, mut to) = (0, value(&chunked.extent)?);
        for p in &chunked.lower_bounds {
            from = from.max(value(p)?);
        }
        for p in &chunked.upper_bounds {
            to = to.min(value(p)?);
        }
        let trips = to.saturating_sub(from).max(0);
        let work = self.count_operations(&of.work, integers)?;
        let mut copied = 0_u64;
        for (var, own) in &chunked.private_copies {
            let Some(place) = of.part.kernel.storage.iter().find(|p| p.var == *var) else { continue };
            if matches!(own, PrivateCopy::PerChunk(_)) {
                let count = self.memory.element_count(self.place_extents(place)?).map_err(RunError::TooLarge)?;
                copied = copied.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            }
        }
        let most = if chunked.has_loops { trips } else { trips / MIN_CHUNK_TRIPS };
        let by_copies =
            MAX_COPIED_ELEMENTS.min(work / WORK_PER_COPIED_ELEMENT).checked_div(copied).unwrap_or(MAX_CHUNKS);
        let count = MAX_CHUNKS.min(work / MIN_CHUNK_WORK).min(by_copies).min(u64::try_from(most).unwrap_or(0)).max(1);
        let count = i64::try_from(count).unwrap_or(1);
        let mut step = trips / count + i64::from(trips % count != 0);
        if !chunked.has_loops {
            step = step.saturating_add(CHUNK_GRANULARITY - 1) / CHUNK_GRANULARITY * CHUNK_GRANULARITY;
        }
        let step = step.max(1);
        let begins = std::iter::successors(Some(from), |at| at.checked_add(step)).take_while(|at| *at < to);
        let mut all: ChunkRanges = begins.map(|at| (at, at.saturating_add(step).min(to))).collect();
        if all.is_empty() {
            all.push((from, to));
        }
        Ok(all)
    }

    /// Evaluates the extents of a place.
    fn place_extents(&self, place: &KernelStorage) -> Result<Vec<usize>, RunError> {
        let dims: Vec<Poly> = place.axes.iter().flatten().cloned().collect();
        self.dims(&dims)
    }

    /// Runs the parts of a kernel, one after the other.
    pub(super) fn run_parts(
        &self,
        parts: &[ReadyPart<'_>],
        integers: &[i64],
        rooms: &mut Vec<(StmtId, AnyTensorBuilder)>,
    ) -> Result<(), RunError> {
        // These scalars are registers in the whole kernel, but its parts share them in memory.
        for place in parts.iter().flat_map(|of| &of.part.kernel.storage).filter(|p| p.role == StorageRole::Output) {
            if let Err(at) = rooms.binary_search_by_key(&place.var, |(var, _)| *var) {
                rooms.insert(at, (place.var, self.allocate_place(place, self.place_extents(place)?)?));
            }
        }
        for of in parts {
            self.poll()?;
            match of.chunks.as_slice() {
                [] => self.run_code(&of.part.kernel, &*of.code, integers, rooms)?,
                chunks => self.run_chunked(of, chunks, integers, rooms)?,
            }
        }
        Ok(())
    }

    /// Runs a part in chunks, or as one chunk if memory for the copies is short.
    fn run_chunked(
        &self,
        of: &ReadyPart<'_>,
        chunks: &[(i64, i64)],
        integers: &[i64],
        rooms: &mut [(StmtId, AnyTensorBuilder)],
    ) -> Result<(), RunError> {
        let kernel = &of.part.kernel;
        let whole = |run: &Self, rooms: &mut [(StmtId, AnyTensorBuilder)]| {
            let range = chunks.first().map(|(begin, _)| *begin).into_iter().chain(chunks.last().map(|(_, end)| *end));
            let integers: Vec<i64> = integers.iter().copied().chain(range).collect();
            run.run_code(kernel, &*of.code, &integers, rooms)
        };
        if chunks.len() == 1 {
            return whole(self, rooms);
        }
        let own = of.part.chunked.iter().flat_map(|chunked| &chunked.private_copies);
        let own: Vec<(StmtId, PrivateCopy)> = own.copied().collect();
        let mut places = Vec::new();
        let mut copied = 0;
        for (var, how) in &own {
            let place = kernel.storage.iter().find(|p| p.var == *var).ok_or(RunError::Internal("a place"))?;
            let dims = self.place_extents(place)?;
            let count = self.memory.element_count(dims.iter().copied()).map_err(RunError::TooLarge)?;
            if matches!(how, PrivateCopy::PerChunk(_)) {
                copied += count;
            }
            places.push((place, dims));
        }
        let threads = of.code.threads();
        let at_once = concurrent_chunks(copied, chunks.len(), threads);
        let mut copies: Vec<ChunkCopies> = Vec::new();
        for ((var, how), (place, dims)) in own.iter().zip(places) {
            let with = match how {
                PrivateCopy::PerChunk(Accumulation::Reduce(reducer)) => Some(reducer.initial_value(place.scalar)),
                PrivateCopy::PerChunk(Accumulation::Sum) | PrivateCopy::PerThread => None,
            };
            let count = if *how == PrivateCopy::PerThread { threads } else { at_once };
            let all = [count].into_iter().chain(dims.iter().copied()).collect();
            match self.allocate_copies(place, all, with) {
                Ok(held) => copies.push(ChunkCopies { var: *var, owner: *how, initial: with, dims, memory: held }),
                // The result itself has memory for one copy, so the part can run as one chunk.
                Err(RunError::TooLarge(_)) => {
                    drop(copies);
                    return whole(self, rooms);
                }
                Err(other) => return Err(other),
            }
        }
        for (nth, some) in chunks.chunks(at_once).enumerate() {
            if nth > 0 {
                copies.iter_mut().filter(|c| c.owner != PrivateCopy::PerThread).try_for_each(ChunkCopies::reset)?;
            }
            self.run_chunk_group(of, some, integers, rooms, &mut copies)?;
        }
        Ok(())
    }

    /// Runs some chunks at once, each with private copies, and joins these to the results.
    fn run_chunk_group(
        &self,
        of: &ReadyPart<'_>,
        chunks: &[(i64, i64)],
        integers: &[i64],
        rooms: &mut [(StmtId, AnyTensorBuilder)],
        copies: &mut [ChunkCopies],
    ) -> Result<(), RunError> {
        let kernel = &of.part.kernel;
        {
            let mut slots = self.slots(kernel, rooms)?;
            let mut how = vec![Copies::One; slots.len()];
            let memory = kernel.storage.iter().filter(|p| !p.is_register());
            let all: Vec<StmtId> = memory.map(|p| p.var).collect();
            for ChunkCopies { var, owner: own, dims, memory: held, .. } in copies.iter_mut() {
                let at = all.iter().position(|v| v == var).ok_or(RunError::Internal("a place"))?;
                let (slot, how) = slots.get_mut(at).zip(how.get_mut(at)).ok_or(RunError::Internal("a place"))?;
                let count = dims.iter().product::<usize>();
                let count = if *own == PrivateCopy::PerThread { of.code.threads() } else { chunks.len() } * count;
                *slot = held.first_slot(count);
                slot.dims = dims;
                *how = if *own == PrivateCopy::PerThread { Copies::Threads } else { Copies::Chunks };
            }
            let interrupt = self.machine.context.interrupt;
            let range = of.chunks.first().zip(of.chunks.last());
            let progress_callback = |done: usize| {
                let at = done.checked_sub(1).and_then(|last| chunks.get(last));
                if let (Some(((from, _), (_, to))), Some((_, at))) = (range, at) {
                    self.report_progress(at - from, to - from);
                }
            };
            let ran = with_stack(&*of.code, || {
                of.code.run_chunks(&mut slots, &how, integers, chunks, interrupt, &progress_callback)
            });
            ran.map_err(|KernelInterrupted| RunError::Interrupted)?;
        }
        for ChunkCopies { var, owner: own, memory: held, .. } in copies {
            let PrivateCopy::PerChunk(join) = own else { continue };
            let at = rooms.binary_search_by_key(var, |(var, _)| *var).map_err(|_| RunError::Internal("a place"))?;
            let room = rooms.get_mut(at).ok_or(RunError::Internal("a place"))?;
            let count = chunks.len();
            match (&mut room.1, &*held) {
                (AnyTensorBuilder::F64(to), AnyTensorBuilder::F64(of)) => join_copies(to, of, *join, count),
                (AnyTensorBuilder::F32(to), AnyTensorBuilder::F32(of)) => join_copies(to, of, *join, count),
                (AnyTensorBuilder::I64(to), AnyTensorBuilder::I64(of)) => join_copies(to, of, *join, count),
                (AnyTensorBuilder::Bool(to), AnyTensorBuilder::Bool(of)) => join_copies(to, of, *join, count),
                _ => None,
            }
            .ok_or(RunError::Internal("the private copies of chunks"))?;
        }
        Ok(())
    }

    /// Allocates copies of a place, with this value in each element, or else zero.
    fn allocate_copies(
        &self,
        place: &KernelStorage,
        dims: Vec<usize>,
        with: Option<Constant>,
    ) -> Result<AnyTensorBuilder, RunError> {
        fn room<T: TensorElement>(
            run: &RunState<'_>,
            dims: Vec<usize>,
            with: Option<Constant>,
        ) -> Result<TensorBuilder<T>, RunError> {
            let with = with.map_or(Some(T::ZERO), T::constant).ok_or(RunError::Internal("a constant"))?;
            TensorBuilder::filled(run, dims, with)
        }
        Ok(match place.scalar {
            Scalar::F64 => AnyTensorBuilder::F64(room(self, dims, with)?),
            Scalar::F32 => AnyTensorBuilder::F32(room(self, dims, with)?),
            Scalar::I64 => AnyTensorBuilder::I64(room(self, dims, with)?),
            Scalar::Bool => AnyTensorBuilder::Bool(room(self, dims, with)?),
        })
    }
}

/// A place with a private copy for each chunk or each thread.
struct ChunkCopies {
    var: StmtId,
    owner: PrivateCopy,
    /// The initial value of each element, if it is not zero.
    initial: Option<Constant>,
    dims: Vec<usize>,
    memory: AnyTensorBuilder,
}

impl ChunkCopies {
    /// Sets every element to its initial value.
    fn reset(&mut self) -> Result<(), RunError> {
        fn fill<T: TensorElement>(room: &mut TensorBuilder<T>, with: Option<Constant>) -> Option<()> {
            room.items.fill(with.map_or(Some(T::ZERO), T::constant)?);
            Some(())
        }
        let filled = match &mut self.memory {
            AnyTensorBuilder::F64(room) => fill(room, self.initial),
            AnyTensorBuilder::F32(room) => fill(room, self.initial),
            AnyTensorBuilder::I64(room) => fill(room, self.initial),
            AnyTensorBuilder::Bool(room) => fill(room, self.initial),
        };
        filled.ok_or(RunError::Internal("a constant"))
    }
}

/// Returns the number of chunks that run at once, if each has `copied` private elements. These are
/// all chunks or, if the copies need much memory, one chunk for each thread.
pub(super) fn concurrent_chunks(copied: usize, chunks: usize, threads: usize) -> usize {
    if copied.saturating_mul(chunks) <= FEW_COPIED_ELEMENTS { chunks } else { threads.clamp(1, chunks.max(1)) }
}

/// Joins the copies of this many chunks to the result, in their order.
fn join_copies<T: TensorElement>(
    to: &mut TensorBuilder<T>,
    of: &TensorBuilder<T>,
    join: Accumulation,
    chunks: usize,
) -> Option<()> {
    let by = match join {
        Accumulation::Sum => None,
        Accumulation::Reduce(Reducer::Prod) => Some(T::times as fn(T, T) -> T),
        Accumulation::Reduce(Reducer::Max) => Some(T::scalar_function(ScalarFn::Max)?),
        Accumulation::Reduce(Reducer::Min) => Some(T::scalar_function(ScalarFn::Min)?),
        // An arg-reduction has no private copies.
        Accumulation::Reduce(Reducer::Argmax | Reducer::Argmin) => return None,
    };
    for copy in of.items.chunks_exact(to.items.len().max(1)).take(chunks) {
        let both = to.items.iter_mut().zip(copy);
        match by {
            None => both.for_each(|(sum, term)| *sum = sum.plus(*term)),
            Some(by) => both.for_each(|(best, term)| *best = by(*best, *term)),
        }
    }
    Some(())
}

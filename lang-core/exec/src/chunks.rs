//! **Chunked kernels.** Chooses the chunks of a kernel's parts and the private copies of each
//! chunk, and joins the copies.
//!
//! The chunks and the order of joins depend on sizes alone, so that results are bit-identical for
//! any number of threads. Exception: if memory for the copies is short, the part runs as one chunk.

use std::sync::{Arc, OnceLock};

use super::native::{Code, Copies, Extent, Held, Interrupted, Ready, with_stack};
use super::number::Names;
use super::tensor::{Number, Room};
use super::{Run, Stopped};
use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::Var;
use lang_nest::chunks::{Own, Part, parts};
use lang_nest::{Join, Place, Role};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;

/// Kernels of fewer operations run as one.
const LEAST: u64 = 1 << 16;
/// A chunk has at least so many operations, or iterations if there are no loops in it.
const GRAIN: u64 = 1 << 14;
const SHORT: i64 = 64;
/// There are at most so many chunks.
const MOST: u64 = 64;
/// To make and join what a chunk has for itself takes at most one of so many operations.
const SHARE: u64 = 8;
/// What all chunks have for themselves has at most so many elements.
const MOST_COPIED: u64 = 1 << 24;
/// If all chunks together have no more elements for themselves than this, they run at once.
const FEW_COPIED: usize = 1 << 17;
/// Chunks begin at multiples of this, from the first: whole steps of vectors.
const STEP: i64 = 8;

/// A part of a kernel, and its code once it is needed.
pub(super) struct InPart {
    part: Part,
    work: Vec<(u64, Vec<Extent>)>,
    code: OnceLock<Option<Arc<dyn Code>>>,
}

impl InPart {
    fn new(part: Part) -> Self {
        let extent = |n: &Poly| Extent::of(n, &part.kernel.integers);
        let work = part.work.iter().map(|of| (of.weight, of.extents.iter().map(extent).collect())).collect();
        Self { part, work, code: OnceLock::new() }
    }
}

/// Where chunks begin and end.
type Chunks = Vec<(i64, i64)>;

/// A part that is about to run.
pub(super) struct Planned<'p> {
    part: &'p Part,
    code: Arc<dyn Code>,
    chunks: Chunks,
}

impl Run<'_> {
    /// Returns the parts of a kernel, with code and chunks, if one of them has several chunks.
    pub(super) fn in_parts<'p>(&self, ready: &'p Ready, integers: &[i64]) -> Result<Option<Vec<Planned<'p>>>, Stopped> {
        let ssa = &self.program.ssa;
        let Some(all) = self.cut(ready, integers)? else { return Ok(None) };
        let programs = self.machine.programs;
        let Some(backend) = programs.backend.as_deref() else { return Ok(None) };
        let mut planned = Vec::new();
        for (of, chunks) in all {
            let code = of.code.get_or_init(|| programs.timed(|| backend.compile(ssa, &of.part.kernel)));
            let Some(code) = code.clone() else { return Ok(None) };
            planned.push(Planned { part: &of.part, code, chunks });
        }
        Ok(Some(planned))
    }

    /// Returns the parts of a kernel, each with its number of chunks, if one of them has several.
    pub(super) fn chunks_of<'p>(
        &self,
        ready: &'p Ready,
        integers: &[i64],
    ) -> Result<Option<Vec<(&'p Part, usize)>>, Stopped> {
        let all = self.cut(ready, integers)?;
        Ok(all.map(|all| all.into_iter().map(|(of, chunks)| (&of.part, chunks.len())).collect()))
    }

    /// The parts of a kernel with their chunks, if there are several of one.
    fn cut<'p>(&self, ready: &'p Ready, integers: &[i64]) -> Result<Option<Vec<(&'p InPart, Chunks)>>, Stopped> {
        if ready.work.is_empty() || self.count(&ready.work, integers)? < LEAST {
            return Ok(None);
        }
        let ssa = &self.program.ssa;
        let all = ready.parts.get_or_init(|| Some(parts(ssa, &ready.kernel)?.into_iter().map(InPart::new).collect()));
        let Some(all) = all else { return Ok(None) };
        let cut = all.iter().map(|of| Ok((of, self.chunks(of, integers)?)));
        let cut = cut.collect::<Result<Vec<_>, Stopped>>()?;
        Ok(cut.iter().any(|(_, chunks)| chunks.len() > 1).then_some(cut))
    }

    fn count(&self, work: &[(u64, Vec<Extent>)], integers: &[i64]) -> Result<u64, Stopped> {
        work.iter().try_fold(0_u64, |sum, (weight, extents)| {
            let all = extents.iter().try_fold(*weight, |n, extent| {
                let extent = u64::try_from(self.extent(extent, integers)?).unwrap_or(u64::MAX);
                Ok::<u64, Stopped>(n.saturating_mul(extent))
            })?;
            Ok(sum.saturating_add(all))
        })
    }

    /// The ranges of chunks; of what runs as one, that range; of what is no such loop, none.
    fn chunks(&self, of: &InPart, integers: &[i64]) -> Result<Chunks, Stopped> {
        let Some(chunked) = &of.part.chunked else { return Ok(Vec::new()) };
        let names = Names::new(self, &[]);
        let value = |p: &Poly| names.num(p)?.value(&[]).map_err(Stopped::from);
        let (mut from, mut to) = (0, value(&chunked.extent)?);
        for p in &chunked.from {
            from = from.max(value(p)?);
        }
        for p in &chunked.to {
            to = to.min(value(p)?);
        }
        let trips = to.saturating_sub(from).max(0);
        let work = self.count(&of.work, integers)?;
        let mut copied = 0_u64;
        for (var, own) in &chunked.own {
            let Some(place) = of.part.kernel.places.iter().find(|p| p.var == *var) else { continue };
            if matches!(own, Own::Chunk(_)) {
                let count = self.memory.count(self.extents_of(place)?).map_err(Stopped::TooLarge)?;
                copied = copied.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
            }
        }
        let most = if chunked.has_loops { trips } else { trips / SHORT };
        let by_copies = MOST_COPIED.min(work / SHARE).checked_div(copied).unwrap_or(MOST);
        let count = MOST.min(work / GRAIN).min(by_copies).min(u64::try_from(most).unwrap_or(0)).max(1);
        let count = i64::try_from(count).unwrap_or(1);
        let mut step = trips / count + i64::from(trips % count != 0);
        if !chunked.has_loops {
            step = step.saturating_add(STEP - 1) / STEP * STEP;
        }
        let step = step.max(1);
        let begins = std::iter::successors(Some(from), |at| at.checked_add(step)).take_while(|at| *at < to);
        let mut all: Chunks = begins.map(|at| (at, at.saturating_add(step).min(to))).collect();
        if all.is_empty() {
            all.push((from, to));
        }
        Ok(all)
    }

    fn extents_of(&self, place: &Place) -> Result<Vec<usize>, Stopped> {
        let dims: Vec<Poly> = place.axes.iter().flatten().cloned().collect();
        self.dims(&dims)
    }

    /// Runs the parts of a kernel, one after the other.
    pub(super) fn by_parts(
        &self,
        parts: &[Planned<'_>],
        integers: &[i64],
        rooms: &mut Vec<(Var, Held)>,
    ) -> Result<(), Stopped> {
        // Numbers that are registers in the kernel, and memory between its parts.
        for place in parts.iter().flat_map(|of| &of.part.kernel.places).filter(|p| p.role == Role::Made) {
            if let Err(at) = rooms.binary_search_by_key(&place.var, |(var, _)| *var) {
                rooms.insert(at, (place.var, self.held(place, self.extents_of(place)?)?));
            }
        }
        for of in parts {
            self.poll()?;
            match of.chunks.as_slice() {
                [] => self.by_code(&of.part.kernel, &*of.code, integers, rooms)?,
                chunks => self.in_chunks(of, chunks, integers, rooms)?,
            }
        }
        Ok(())
    }

    fn in_chunks(
        &self,
        of: &Planned<'_>,
        chunks: &[(i64, i64)],
        integers: &[i64],
        rooms: &mut [(Var, Held)],
    ) -> Result<(), Stopped> {
        let kernel = &of.part.kernel;
        let whole = |run: &Self, rooms: &mut [(Var, Held)]| {
            let range = chunks.first().map(|(begin, _)| *begin).into_iter().chain(chunks.last().map(|(_, end)| *end));
            let integers: Vec<i64> = integers.iter().copied().chain(range).collect();
            run.by_code(kernel, &*of.code, &integers, rooms)
        };
        if chunks.len() == 1 {
            return whole(self, rooms);
        }
        let own = of.part.chunked.iter().flat_map(|chunked| &chunked.own);
        let own: Vec<(Var, Own)> = own.copied().collect();
        let mut places = Vec::new();
        let mut copied = 0;
        for (var, how) in &own {
            let place = kernel.places.iter().find(|p| p.var == *var).ok_or(Stopped::Broken("a place"))?;
            let dims = self.extents_of(place)?;
            let count = self.memory.count(dims.iter().copied()).map_err(Stopped::TooLarge)?;
            if matches!(how, Own::Chunk(_)) {
                copied += count;
            }
            places.push((place, dims));
        }
        let threads = of.code.threads();
        let at_once = at_once(copied, chunks.len(), threads);
        let mut copies: Vec<Copied> = Vec::new();
        for ((var, how), (place, dims)) in own.iter().zip(places) {
            let with = match how {
                Own::Chunk(Join::Reduce(reducer)) => Some(reducer.neutral(place.scalar)),
                Own::Chunk(Join::Sum) | Own::Thread => None,
            };
            let count = if *how == Own::Thread { threads } else { at_once };
            let all = [count].into_iter().chain(dims.iter().copied()).collect();
            match self.copies(place, all, with) {
                Ok(held) => copies.push(Copied { var: *var, own: *how, with, dims, held }),
                // There is room for one of each.
                Err(Stopped::TooLarge(_)) => {
                    drop(copies);
                    return whole(self, rooms);
                }
                Err(other) => return Err(other),
            }
        }
        for (nth, some) in chunks.chunks(at_once).enumerate() {
            if nth > 0 {
                copies.iter_mut().filter(|c| c.own != Own::Thread).try_for_each(Copied::clear)?;
            }
            self.some_chunks(of, some, integers, rooms, &mut copies)?;
        }
        Ok(())
    }

    /// Runs some of the chunks at once, each with a copy of its own, and joins these to what is there.
    fn some_chunks(
        &self,
        of: &Planned<'_>,
        chunks: &[(i64, i64)],
        integers: &[i64],
        rooms: &mut [(Var, Held)],
        copies: &mut [Copied],
    ) -> Result<(), Stopped> {
        let kernel = &of.part.kernel;
        {
            let mut slots = self.slots(kernel, rooms)?;
            let mut how = vec![Copies::One; slots.len()];
            let memory = kernel.places.iter().filter(|p| !p.is_register());
            let all: Vec<Var> = memory.map(|p| p.var).collect();
            for Copied { var, own, dims, held, .. } in copies.iter_mut() {
                let at = all.iter().position(|v| v == var).ok_or(Stopped::Broken("a place"))?;
                let (slot, how) = slots.get_mut(at).zip(how.get_mut(at)).ok_or(Stopped::Broken("a place"))?;
                let count = dims.iter().product::<usize>();
                let count = if *own == Own::Thread { of.code.threads() } else { chunks.len() } * count;
                *slot = held.first(count);
                slot.dims = dims;
                *how = if *own == Own::Thread { Copies::Threads } else { Copies::Chunks };
            }
            let interrupt = self.machine.around.interrupt;
            let range = of.chunks.first().zip(of.chunks.last());
            let told = |done: usize| {
                let at = done.checked_sub(1).and_then(|last| chunks.get(last));
                if let (Some(((from, _), (_, to))), Some((_, at))) = (range, at) {
                    self.tell(at - from, to - from);
                }
            };
            let ran =
                with_stack(&*of.code, || of.code.run_chunks(&mut slots, &how, integers, chunks, interrupt, &told));
            ran.map_err(|Interrupted| Stopped::Interrupted)?;
        }
        for Copied { var, own, held, .. } in copies {
            let Own::Chunk(join) = own else { continue };
            let at = rooms.binary_search_by_key(var, |(var, _)| *var).map_err(|_| Stopped::Broken("a place"))?;
            let room = rooms.get_mut(at).ok_or(Stopped::Broken("a place"))?;
            let count = chunks.len();
            match (&mut room.1, &*held) {
                (Held::F64(to), Held::F64(of)) => joined(to, of, *join, count),
                (Held::F32(to), Held::F32(of)) => joined(to, of, *join, count),
                (Held::I64(to), Held::I64(of)) => joined(to, of, *join, count),
                (Held::Bool(to), Held::Bool(of)) => joined(to, of, *join, count),
                _ => None,
            }
            .ok_or(Stopped::Broken("what chunks made"))?;
        }
        Ok(())
    }

    /// Room for copies of a place, with this in each element at first.
    fn copies(&self, place: &Place, dims: Vec<usize>, with: Option<Constant>) -> Result<Held, Stopped> {
        fn room<T: Number>(run: &Run<'_>, dims: Vec<usize>, with: Option<Constant>) -> Result<Room<T>, Stopped> {
            let with = with.map_or(Some(T::ZERO), T::constant).ok_or(Stopped::Broken("a constant"))?;
            Room::filled(run, dims, with)
        }
        Ok(match place.scalar {
            Scalar::F64 => Held::F64(room(self, dims, with)?),
            Scalar::F32 => Held::F32(room(self, dims, with)?),
            Scalar::I64 => Held::I64(room(self, dims, with)?),
            Scalar::Bool => Held::Bool(room(self, dims, with)?),
        })
    }
}

/// A place of which chunks have copies, or threads.
struct Copied {
    var: Var,
    own: Own,
    /// What is in each element at first, if it is not zero.
    with: Option<Constant>,
    dims: Vec<usize>,
    held: Held,
}

impl Copied {
    /// As it was at first.
    fn clear(&mut self) -> Result<(), Stopped> {
        fn fill<T: Number>(room: &mut Room<T>, with: Option<Constant>) -> Option<()> {
            room.items.fill(with.map_or(Some(T::ZERO), T::constant)?);
            Some(())
        }
        let filled = match &mut self.held {
            Held::F64(room) => fill(room, self.with),
            Held::F32(room) => fill(room, self.with),
            Held::I64(room) => fill(room, self.with),
            Held::Bool(room) => fill(room, self.with),
        };
        filled.ok_or(Stopped::Broken("a constant"))
    }
}

/// Returns the number of chunks that run at once, if each has `copied` private elements: all chunks
/// or, if that needs much memory, one for each thread.
pub(super) fn at_once(copied: usize, chunks: usize, threads: usize) -> usize {
    if copied.saturating_mul(chunks) <= FEW_COPIED { chunks } else { threads.clamp(1, chunks.max(1)) }
}

/// Joins what so many chunks made to what is there, in their order.
fn joined<T: Number>(to: &mut Room<T>, of: &Room<T>, join: Join, chunks: usize) -> Option<()> {
    let by = match join {
        Join::Sum => None,
        Join::Reduce(Reducer::Prod) => Some(T::times as fn(T, T) -> T),
        Join::Reduce(Reducer::Max) => Some(T::by(ScalarFn::Max)?),
        Join::Reduce(Reducer::Min) => Some(T::by(ScalarFn::Min)?),
        // Of places there is none.
        Join::Reduce(Reducer::Argmax | Reducer::Argmin) => return None,
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

//! **Loops.** Runs the function of a loop's body once for each iteration. Loop-carried tensors move
//! from one iteration to the next, so an array without other owners is updated in place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::kept::Kept;
use super::nest::{Nest, Space};
use super::number::{Names, Num};
use super::program::Program;
use super::statement::{Shape, at_scalar};
use super::tensor::{Number, Room, Tensor, strides};
use super::{Run, Stopped};
use lang_base::guarded;
use lang_ir::core::Spacing;
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs, Stmt};
use lang_runtime::{Done, Value};
use lang_syntax::ops::Scalar;

const BROKEN: Stopped = Stopped::Broken("a loop");

/// The results of a loop that has run.
pub(super) struct Ran {
    of: Arc<Loop>,
    all: Vec<OneLoop>,
    /// How often each part is still to be read.
    left: BTreeMap<Part, usize>,
}

/// One of them.
struct OneLoop {
    /// The tuple of the batch.
    at: Vec<i64>,
    last: HashMap<u32, Tensor>,
    every: HashMap<u32, Kept>,
    states: HashMap<u32, Kept>,
    trips: i64,
}

/// What is read of an argument: the tensor, and its first indices.
struct Given {
    tensor: Tensor,
    at: Vec<Num>,
    scalar: Scalar,
}

impl Run<'_> {
    /// Returns one part of a loop's results. The loop runs once for all parts.
    pub(super) fn looped(&mut self, k: u32, stmt: &Stmt, shape: Shape) -> Result<Tensor, Stopped> {
        let Rhs::Loop(of, part) = &stmt.rhs else { return Err(BROKEN) };
        let same = |other: &Arc<Loop>| Arc::ptr_eq(other, of) || other == of;
        if !self.loops.iter().any(|ran| same(&ran.of)) {
            let ran = self.repeat(k, of)?;
            self.loops.push(ran);
        }
        let nth = self.loops.iter().position(|ran| same(&ran.of)).ok_or(BROKEN)?;
        let ran = self.loops.get_mut(nth).ok_or(BROKEN)?;
        let left = ran.left.get_mut(part).ok_or(BROKEN)?;
        *left = left.saturating_sub(1);
        let again = *left > 0;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let whole = match (ran.all.as_mut_slice(), part, of.batch.is_empty()) {
            ([one], Part::Last(k), true) => {
                let last = if again { one.last.get(k).cloned() } else { one.last.remove(k) };
                Some(last.ok_or(BROKEN)?)
            }
            ([one], Part::Every(k), true) => one.every.get_mut(k).and_then(|kept| kept.whole(&shape.dims, again)),
            ([one], Part::State(k), true) => one.states.get_mut(k).and_then(|kept| kept.whole(&shape.dims, again)),
            _ => None,
        };
        let done = ran.left.values().all(|left| *left == 0);
        let tensor = match whole {
            Some(tensor) => tensor,
            None => {
                let ran = self.loops.get(nth).ok_or(BROKEN)?;
                at_scalar!(scalar, T => gathered::<T>(self, shape, *part, &ran.all)?)
            }
        };
        if done {
            self.loops.remove(nth);
        }
        Ok(tensor)
    }

    fn repeat(&mut self, k: u32, of: &Arc<Loop>) -> Result<Ran, Stopped> {
        let mut left: BTreeMap<Part, usize> = BTreeMap::new();
        for stmt in &self.program.ssa.stmts {
            if let Rhs::Loop(other, part) = &stmt.rhs
                && (Arc::ptr_eq(other, of) || other == of)
            {
                *left.entry(*part).or_default() += 1;
            }
        }
        let parts: BTreeSet<Part> = left.keys().copied().collect();
        let program = self.machine.programs.region(&of.body, self.machine.world);
        let extents = self.extents(&of.batch)?;
        let mut places: Vec<Vec<i64>> = Vec::new();
        {
            let space = Space { extents: extents.clone(), free: extents.len(), pred: &of.pred, by_index: true };
            Nest::new(self, &space, &[])?.visit(self, &mut |row| {
                for step in 0..row.count {
                    let mut at: Vec<i64> = row.at.iter().take(extents.len()).copied().collect();
                    if let Some(slot) = row.index.and_then(|k| at.get_mut(k)) {
                        *slot = slot.wrapping_add(i64::try_from(step).unwrap_or(0));
                    }
                    places.push(at);
                }
                Ok(())
            })?;
        }
        let mut all = Vec::new();
        for at in places {
            all.push(self.iterate(k, of, &program, &parts, at)?);
        }
        Ok(Ran { of: of.clone(), all, left })
    }

    /// One loop.
    fn iterate(
        &mut self,
        k: u32,
        of: &Loop,
        program: &Program,
        parts: &BTreeSet<Part>,
        at: Vec<i64>,
    ) -> Result<OneLoop, Stopped> {
        let mut extents = self.extents(&of.batch)?;
        extents.push(i64::MAX);
        let mut carried: Vec<Option<Tensor>> = Vec::new();
        for arg in &of.args {
            carried.push(match arg {
                Arg::Given(_) => None,
                Arg::Carried { init, .. } => {
                    let readers = of.args.iter().filter(|a| a.access().var == init.var).count();
                    if at.is_empty() && init.at.is_empty() && readers == 1 {
                        Some(self.taken(k, init.var)?)
                    } else {
                        let given = self.argument(init, Scalar::F64, &extents)?;
                        Some(given.tensor(self, &at)?)
                    }
                }
            });
        }
        let mut given = Vec::new();
        for (arg, input) in of.args.iter().zip(&program.ssa.inputs) {
            let scalar = input.leaf.scalar.unwrap_or(Scalar::Bool);
            given.push(match arg {
                Arg::Given(access) => Some(self.argument(access, scalar, &extents)?),
                Arg::Carried { .. } => None,
            });
        }
        let (count, spacing, sizes) = {
            let names = Names::new(self, &extents);
            let count = of.count().map(|n| names.num(n)?.value(&at)).transpose()?;
            let told = of.checkpoint.as_ref().and_then(Spacing::told);
            let spacing = Spacing::value(told.map(|n| names.num(n)?.value(&at)).transpose()?, count);
            (count, spacing, of.sizes.iter().map(|p| names.num(p)).collect::<Result<Vec<Num>, _>>()?)
        };
        let next: Vec<(u32, u32)> = of.carried().collect();
        let (every, states) = (HashMap::new(), HashMap::new());
        let mut one = OneLoop { at: at.clone(), last: HashMap::new(), every, states, trips: 0 };
        let expected = count.and_then(|n| usize::try_from(n).ok());
        for part in parts {
            match part {
                Part::Every(k) => drop(one.every.insert(*k, Kept::Open(expected))),
                Part::State(k) => drop(one.states.insert(*k, Kept::Open(None))),
                Part::Last(_) | Part::Trips => {}
            }
        }
        loop {
            let on = match (&of.trips, count) {
                (_, Some(n)) => one.trips < n,
                (Trips::While(k), None) => {
                    let flag = carried.get(*k as usize).and_then(Option::as_ref).and_then(|t| t.element(0));
                    matches!(flag, Some(Value::Bool(true)))
                }
                (Trips::Count(_), None) => return Err(BROKEN),
            };
            if !on {
                break;
            }
            self.poll()?;
            if self.machine.depth.get() == 1 {
                (self.machine.around.done)(Done::Steps(one.trips, count));
            }
            let place: Vec<i64> = at.iter().copied().chain([one.trips]).collect();
            let sizes = sizes.iter().map(|n| n.value(&place)).collect::<Result<Vec<i64>, _>>()?;
            for (k, kept) in one.states.iter_mut().filter(|_| one.trips % spacing == 0) {
                kept.push(self, carried.get(*k as usize).cloned().flatten().ok_or(BROKEN)?)?;
            }
            let mut inputs = Vec::new();
            for (slot, given) in carried.iter_mut().zip(&given) {
                inputs.push(match (given, slot.take()) {
                    (Some(given), _) => given.tensor(self, &place)?,
                    (None, Some(tensor)) => tensor,
                    (None, None) => return Err(BROKEN),
                });
            }
            let mut outputs: Vec<Option<Tensor>> =
                guarded(|| self.machine.run(program, &sizes, inputs))?.into_iter().map(Some).collect();
            for (k, kept) in &mut one.every {
                kept.push(self, outputs.get(*k as usize).cloned().flatten().ok_or(BROKEN)?)?;
            }
            for (nth, (k, output)) in next.iter().enumerate() {
                let more = next.iter().skip(nth + 1).any(|(_, other)| other == output);
                let slot = outputs.get_mut(*output as usize).ok_or(BROKEN)?;
                let tensor = if more { slot.clone() } else { slot.take() };
                carried.get_mut(*k as usize).into_iter().for_each(|slot| slot.clone_from(&tensor));
            }
            one.trips += 1;
        }
        for (k, tensor) in (0..).zip(carried) {
            one.last.extend(tensor.map(|t| (k, t)));
        }
        Ok(one)
    }

    fn argument(&self, access: &Access, scalar: Scalar, extents: &[i64]) -> Result<Given, Stopped> {
        let names = Names::new(self, extents);
        let tensor = self.tensor(access.var).cloned().ok_or(Stopped::Broken("a statement"))?;
        let at = access.at.iter().map(|p| names.num(p)).collect::<Result<Vec<Num>, _>>()?;
        let scalar = tensor.kind().unwrap_or(scalar);
        Ok(Given { tensor, at, scalar })
    }
}

impl Given {
    /// What it is there; zero where it is read outside.
    fn tensor(&self, run: &Run<'_>, place: &[i64]) -> Result<Tensor, Stopped> {
        if self.at.is_empty() {
            return Ok(self.tensor.clone());
        }
        let mut offset = Some(0_i64);
        for ((n, extent), stride) in self.at.iter().zip(&self.tensor.dims).zip(strides(&self.tensor.dims)) {
            let i = n.value(place).ok().filter(|i| usize::try_from(*i).is_ok_and(|i| i < *extent));
            offset = offset.zip(i).and_then(|(sum, i)| sum.checked_add(i.checked_mul(stride)?));
        }
        let part = offset.and_then(|o| usize::try_from(o).ok()).and_then(|o| self.tensor.part(self.at.len(), o));
        match part {
            Some(part) => Ok(part),
            None => {
                let dims: Vec<usize> = self.tensor.dims.iter().skip(self.at.len()).copied().collect();
                at_scalar!(self.scalar, T => Ok(Room::filled(run, dims, T::ZERO)?.done()))
            }
        }
    }
}

/// A part of all loops as one tensor.
fn gathered<T: Number>(run: &Run<'_>, shape: Shape, part: Part, all: &[OneLoop]) -> Result<Tensor, Stopped> {
    let mut room = Room::filled(run, shape.dims, T::ZERO)?;
    for one in all {
        let at: Vec<usize> = one.at.iter().map(|i| usize::try_from(*i).unwrap_or(usize::MAX)).collect();
        match part {
            Part::Last(k) => {
                let last = one.last.get(&k).ok_or(BROKEN)?;
                room.paste(&at, &last.dims, last.items::<T>().ok_or(BROKEN)?)?;
            }
            Part::Every(k) => one.every.get(&k).ok_or(BROKEN)?.paste(&mut room, &at)?,
            Part::State(k) => one.states.get(&k).ok_or(BROKEN)?.paste(&mut room, &at)?,
            Part::Trips => {
                let trips = Tensor::scalar(&Value::I64(one.trips)).ok_or(BROKEN)?;
                room.paste(&at, &[], trips.items::<T>().ok_or(BROKEN)?)?;
            }
        }
    }
    Ok(room.done())
}

impl<T: Number> Room<T> {
    /// Copies elements of these extents behind these first indices; the axes of the target may be
    /// longer.
    pub(super) fn paste(&mut self, at: &[usize], dims: &[usize], items: &[T]) -> Result<(), Stopped> {
        let apart = strides(&self.dims);
        let apart: Vec<usize> = apart.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
        let start: usize = at.iter().zip(&apart).map(|(i, s)| i * s).sum();
        let own = self.dims.get(at.len()..).unwrap_or_default();
        if own == dims {
            let to = self.items.get_mut(start..start + items.len()).ok_or(BROKEN)?;
            to.copy_from_slice(items);
            return Ok(());
        }
        let mut place = vec![0_usize; dims.len()];
        for item in items {
            let offset: usize = place.iter().zip(apart.iter().skip(at.len())).map(|(i, s)| i * s).sum();
            *self.items.get_mut(start + offset).ok_or(BROKEN)? = *item;
            for (i, n) in place.iter_mut().zip(dims).rev() {
                *i += 1;
                if *i < *n {
                    break;
                }
                *i = 0;
            }
        }
        Ok(())
    }
}

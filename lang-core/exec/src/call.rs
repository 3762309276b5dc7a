//! **Calls.** Runs the callee's function for every tuple of the batch indices, with views of the
//! arguments.

use std::sync::Arc;

use super::nest::{Nest, Space};
use super::number::{Names, Num};
use super::statement::Shape;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_base::guarded;
use lang_ir::ssa::{Rhs, Stmt};
use lang_syntax::ops::Scalar;

impl Run<'_> {
    /// Returns one part of a call's result. The calls run once for all parts.
    pub(super) fn call(&mut self, k: u32, stmt: &Stmt, shape: Shape) -> Result<Tensor, Stopped> {
        let Rhs::Call { callee, sizes, pred, args, batch, part } = &stmt.rhs else {
            return Err(Stopped::Broken("a call"));
        };
        let group = self.program.group.get(&k).copied().unwrap_or(k);
        let is_last = self.program.last.get(&group) == Some(&k);
        if let Some(parts) = self.calls.get(&group) {
            let part = parts.get(*part as usize).cloned();
            if is_last {
                self.calls.remove(&group);
            }
            return part.ok_or(Stopped::Broken("a part of a call"));
        }
        let function = self.machine.function(callee)?;
        let batch = *batch as usize;
        let outer: Vec<usize> = shape.dims.iter().take(batch).copied().collect();
        let extents: Vec<i64> = shape.extents.iter().take(batch).copied().collect();
        let (mut tensors, mut places) = (Vec::new(), Vec::new());
        // The first place tells which call it is.
        places.push(Num::of_strides(&super::tensor::strides(&outer)));
        let passed = {
            let names = Names::new(self, &extents);
            for arg in args {
                let (tensor, place) = names.access(arg)?;
                tensors.push((tensor, arg.at.len()));
                places.push(place);
            }
            sizes.iter().map(|p| names.num(p)).collect::<Result<Vec<Num>, _>>()?
        };
        let space = Space { extents, free: batch, pred, by_index: true };
        let nest = Nest::new(self, &space, &places)?;
        let mut results: Option<Vec<Gathered>> = None;
        nest.visit(self, &mut |row| {
            for step in 0..row.count {
                let by = i64::try_from(step).unwrap_or(0);
                let place = |nth: usize| {
                    let step = row.steps.get(nth).copied().unwrap_or(0).wrapping_mul(by);
                    usize::try_from(row.offsets.get(nth).copied().unwrap_or(-1).wrapping_add(step)).ok()
                };
                if step > 0
                    && let Some(slot) = row.index.and_then(|k| row.at.get_mut(k))
                {
                    *slot = slot.wrapping_add(1);
                }
                let sizes = passed.iter().map(|n| n.value(row.at)).collect::<Result<Vec<i64>, _>>()?;
                let args =
                    tensors.iter().enumerate().map(|(k, (tensor, indexed))| tensor.part(*indexed, place(k + 1)?));
                let args: Option<Vec<Tensor>> = args.collect();
                let args = args.ok_or(Stopped::Broken("a slice"))?;
                let parts = guarded(|| self.machine.run(&self.machine.at(&function, &sizes), &sizes, args))?;
                if outer.is_empty() {
                    results = Some(parts.into_iter().map(Gathered::Whole).collect());
                    continue;
                }
                if results.is_none() {
                    let rooms = parts.iter().map(|part| Gathered::room(self, &outer, part));
                    results = Some(rooms.collect::<Result<_, _>>()?);
                }
                let at = place(0).ok_or(Stopped::Broken("an element"))?;
                for (gathered, part) in results.iter_mut().flatten().zip(&parts) {
                    gathered.put(at, part)?;
                }
            }
            Ok(())
        })?;
        let Some(results) = results else { return shape.zeros(self, stmt.scalar.unwrap_or(Scalar::F64)) };
        let parts: Arc<[Tensor]> = results.into_iter().map(Gathered::done).collect();
        let own = parts.get(*part as usize).cloned().ok_or(Stopped::Broken("a part of a call"))?;
        if !is_last {
            self.calls.insert(group, parts);
        }
        Ok(own)
    }
}

/// What all calls give for one part of the result.
enum Gathered {
    Whole(Tensor),
    F64(Room<f64>),
    F32(Room<f32>),
    I64(Room<i64>),
    Bool(Room<bool>),
}

impl Gathered {
    /// Room for parts like this one.
    fn room(run: &Run<'_>, outer: &[usize], part: &Tensor) -> Result<Self, Stopped> {
        fn of<T: Number>(run: &Run<'_>, dims: Vec<usize>) -> Result<Room<T>, Stopped> {
            Room::filled(run, dims, T::ZERO)
        }
        let dims = outer.iter().chain(&part.dims).copied().collect();
        Ok(match part.kind() {
            Some(Scalar::F64) => Self::F64(of(run, dims)?),
            Some(Scalar::F32) => Self::F32(of(run, dims)?),
            Some(Scalar::I64) => Self::I64(of(run, dims)?),
            Some(Scalar::Bool) => Self::Bool(of(run, dims)?),
            None => return Err(Stopped::Broken("a part of a call")),
        })
    }

    fn put(&mut self, at: usize, part: &Tensor) -> Result<(), Stopped> {
        fn copy<T: Number>(room: &mut Room<T>, at: usize, part: &Tensor) -> Option<()> {
            let items = part.items::<T>()?;
            let start = at.checked_mul(items.len())?;
            room.items.get_mut(start..start.checked_add(items.len())?)?.copy_from_slice(items);
            Some(())
        }
        let done = match self {
            Self::F64(room) => copy(room, at, part),
            Self::F32(room) => copy(room, at, part),
            Self::I64(room) => copy(room, at, part),
            Self::Bool(room) => copy(room, at, part),
            Self::Whole(_) => None,
        };
        done.ok_or(Stopped::Broken("a part of a call"))
    }

    fn done(self) -> Tensor {
        match self {
            Self::Whole(tensor) => tensor,
            Self::F64(room) => room.done(),
            Self::F32(room) => room.done(),
            Self::I64(room) => room.done(),
            Self::Bool(room) => room.done(),
        }
    }
}

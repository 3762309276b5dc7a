//! **Updates**, in place if the updated tensor has no later use.

use super::nest::{Nest, Space};
use super::number::{Names, Num};
use super::statement::Shape;
use super::tensor::{Number, Room, Tensor, strides};
use super::{Run, Stopped};
use lang_ir::ssa::{Access, Rhs, Stmt, Var, index};
use lang_sizes::predicate::{Poly, Pred};

impl Run<'_> {
    /// Returns a tensor, and removes it from the run if this statement is its last use.
    pub(super) fn taken(&mut self, k: u32, var: Var) -> Result<Tensor, Stopped> {
        let dead = self.program.dead.get(k as usize).is_some_and(|dead| dead.contains(&var));
        let slot = self.values.get_mut(var.0 as usize).ok_or(Stopped::Broken("a statement"))?;
        let tensor = if dead { slot.take() } else { slot.clone() };
        tensor.ok_or(Stopped::Broken("a statement"))
    }

    pub(super) fn update<T: Number>(&mut self, k: u32, stmt: &Stmt, shape: &Shape) -> Result<Tensor, Stopped> {
        let Rhs::Update { base, batch, bound, pred, at, value, add } = &stmt.rhs else {
            return Err(Stopped::Broken("an update"));
        };
        let (outer, free) = (*batch as usize, shape.dims.len());
        let mut extents = shape.extents.clone();
        // The axes below the batch have no indices here.
        extents.iter_mut().skip(outer).for_each(|n| *n = 1);
        extents.extend(self.extents(bound)?);
        let apart = strides(&shape.dims);
        let (nest, new) = {
            let names = Names::new(self, &extents);
            let (new, from) = names.access(value)?;
            let mut to = Num::of_strides(apart.get(..outer).unwrap_or_default());
            for (p, stride) in at.iter().zip(apart.iter().skip(outer)) {
                to.add_scaled(names.num(p)?, *stride);
            }
            let space = Space { extents: extents.clone(), free, pred, by_index: false };
            (Nest::new(self, &space, &[to, from])?, new)
        };
        let mut room: Room<T> = if outer == 0 && base.at.is_empty() && base.var != value.var {
            Room::of(self.taken(k, base.var)?, self)?
        } else {
            let own = (outer..free).map(|k| index(k, &Poly::default()).value());
            let of = Access { var: base.var, at: base.at.iter().cloned().chain(own).collect() };
            Room::of(self.view::<T>(shape, &of)?, self)?
        };
        let items = new.items::<T>().ok_or(Stopped::Broken("the elements of an operand"))?;
        nest.visit(self, &mut |row| {
            row.pieces(&mut |first, count| {
                let (to, from) = (row.piece(0, first, count).places(), row.piece(1, first, count).places());
                for (to, from) in to.into_iter().zip(from) {
                    let slot = usize::try_from(to).ok().and_then(|k| room.items.get_mut(k));
                    let new = usize::try_from(from).ok().and_then(|k| items.get(k));
                    let (Some(slot), Some(new)) = (slot, new) else {
                        return Err(Stopped::Broken("an element outside"));
                    };
                    *slot = if *add { slot.plus(*new) } else { *new };
                }
                Ok(())
            })
        })?;
        Ok(room.done())
    }

    /// What is read, as a tensor of this shape.
    fn view<T: Number>(&self, shape: &Shape, of: &Access) -> Result<Tensor, Stopped> {
        let own = Shape { dims: shape.dims.clone(), extents: shape.extents.clone() };
        self.read_through::<T>(own, &Pred::truth(), of)
    }
}

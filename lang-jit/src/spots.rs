//! **Addressing.** Computes the location of an element as an address plus a constant offset, so
//! that neighbouring elements share the address. A constant added to an index becomes the offset of
//! the load or store.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use lang_core::ir::ssa::Var;
use lang_core::nest::loop_number;
use lang_core::predicate::{Atom, Context, Poly, Pred};

use crate::generate::{Generator, Made, ty};

/// The maximal distance, in elements, that becomes an offset.
const FAR: i64 = 1 << 16;

/// The value of a loop index: a counter plus a constant. The constant becomes an offset of memory
/// accesses.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) count: Value,
    pub(crate) ahead: i64,
}

impl Number {
    pub(crate) fn of(count: Value) -> Self {
        Self { count, ahead: 0 }
    }

    /// Returns the index `by` further on.
    pub(crate) fn plus(self, by: i64) -> Self {
        Self { ahead: self.ahead.wrapping_add(by), ..self }
    }
}

/// The location of an element: an address plus an offset in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) address: Value,
    pub(crate) offset: i32,
}

impl Generator<'_> {
    /// Computes the address of an element.
    pub(crate) fn address(&mut self, var: Var, at: &[Poly]) -> Made<Value> {
        let Spot { address, offset } = self.spot(var, at)?;
        if offset == 0 {
            return Ok(address);
        }
        let offset = self.int(offset.into());
        Ok(self.builder.ins().iadd(address, offset))
    }

    /// Computes the location of an element. An index that is not proved to be in bounds is replaced
    /// by 0. If the array has no elements, the location is its first one ([`crate::code`] provides
    /// it).
    pub(crate) fn spot(&mut self, var: Var, at: &[Poly]) -> Made<Spot> {
        let place = self.place(var)?;
        let memory = self.memory.get(&var).cloned().ok_or("a place without memory")?;
        let mut address = memory.address;
        let mut offset = 0;
        let size = i64::from(ty(place.scalar).bytes());
        // In an array without elements, a valid index along another axis may have any value.
        let mut brought = false;
        let mut kept = memory.extents.iter().zip(&memory.steps);
        for (axis, p) in place.axes.iter().zip(at) {
            let (Some(extent), Some((n, step))) = (axis, if axis.is_some() { kept.next() } else { None }) else {
                continue;
            };
            let inside = self.context.implies(&Pred::inside(p, extent));
            let is_last = kept.len() == 0;
            let index = match self.apart_from_known(p)? {
                // Elements along the last axis are contiguous.
                (index, ahead) if is_last && inside && !brought && ahead.abs() <= FAR => {
                    offset = i32::try_from(ahead.wrapping_mul(size)).map_err(|why| why.to_string())?;
                    index
                }
                _ => self.poly(p)?,
            };
            let index = if inside {
                index
            } else {
                brought = memory.extents.len() > 1;
                let below = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, *n);
                let zero = self.int(0);
                self.builder.ins().select(below, index, zero)
            };
            let distance = self.builder.ins().imul(index, *step);
            address = self.builder.ins().iadd(address, distance);
        }
        if brought {
            address = self.builder.ins().select(memory.some, address, memory.address);
        }
        Ok(Spot { address, offset })
    }

    /// Returns whether the load of an element may be marked as movable. The compiler hoists a
    /// movable load out of loops and branches, up to the definitions of its operands. So the
    /// element must exist wherever these are available.
    pub(crate) fn moves(&mut self, var: Var, at: &[Poly]) -> Made<bool> {
        let place = self.place(var)?;
        let mut depth = 0;
        let mut known = true;
        for p in at {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && loop_number(*l).is_some()
                {
                    match self.around.iter().position(|of| of.index.local == *l) {
                        Some(k) => depth = depth.max(k + 1),
                        None => known = false,
                    }
                }
            });
        }
        for (n, p) in place.axes.iter().zip(at) {
            let Some(n) = n else { continue };
            // An index without any proof is replaced by 0 if it is out of bounds, wherever the load
            // is.
            if self.context.implies(&Pred::inside(p, n)) && !(known && self.is_firm(p, n, depth)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_firm(&mut self, p: &Poly, n: &Poly, depth: usize) -> bool {
        let key = (p.clone(), n.clone(), depth);
        if let Some(known) = self.firm.get(&key) {
            return *known;
        }
        let mut context = Context::new(&self.sizes);
        for of in self.around.iter().take(depth) {
            context.enter(&of.index);
            let value = of.index.value();
            of.from.iter().for_each(|p| context.assume(&Pred::at_most(p, &value)));
            of.to.iter().for_each(|p| context.assume(&Pred::less(&value, p)));
        }
        let known = context.implies(&Pred::inside(p, n));
        self.firm.insert(key, known);
        known
    }
}

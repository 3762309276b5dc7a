//! Where elements are: an address and how many bytes behind it, so that elements side by side share the address. What is known
//! to be added to an index stands in the instruction that reads.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use lang_core::ir::ssa::Var;
use lang_core::predicate::{Atom, Context, Poly, Pred};
use lang_core::schedule::loop_number;

use crate::generate::{Generator, Made, ty};

/// Elements that are no further from an address are read by an instruction that knows how far.
const FAR: i64 = 1 << 16;

/// The value of a loop's index: so many behind a count. What is known is added where memory is read, by the instruction that
/// reads it.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) count: Value,
    pub(crate) ahead: i64,
}

impl Number {
    pub(crate) fn of(count: Value) -> Self {
        Self { count, ahead: 0 }
    }

    /// So many further on.
    pub(crate) fn plus(self, by: i64) -> Self {
        Self { ahead: self.ahead.wrapping_add(by), ..self }
    }
}

/// Where an element is: so many bytes behind an address.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) address: Value,
    pub(crate) offset: i32,
}

impl Generator<'_> {
    /// The address of an element.
    pub(crate) fn address(&mut self, var: Var, at: &[Poly]) -> Made<Value> {
        let Spot { address, offset } = self.spot(var, at)?;
        if offset == 0 {
            return Ok(address);
        }
        let offset = self.int(offset.into());
        Ok(self.builder.ins().iadd(address, offset))
    }

    /// Where an element is. What is not proved to be below its extent is read at 0; where there is none at all, the first is.
    pub(crate) fn spot(&mut self, var: Var, at: &[Poly]) -> Made<Spot> {
        let place = self.place(var)?;
        let memory = self.memory.get(&var).cloned().ok_or("a place without memory")?;
        let mut address = memory.address;
        let mut offset = 0;
        let size = i64::from(ty(place.scalar).bytes());
        // Of an array without elements an index along another axis may be any.
        let mut brought = false;
        let mut kept = memory.extents.iter().zip(&memory.steps);
        for (axis, p) in place.axes.iter().zip(at) {
            let (Some(extent), Some((n, step))) = (axis, if axis.is_some() { kept.next() } else { None }) else {
                continue;
            };
            let inside = self.context.implies(&Pred::inside(p, extent));
            let is_last = kept.len() == 0;
            let index = match self.apart_from_known(p)? {
                // Elements along the last axis are side by side.
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

    /// May an element be read before what stands around the access is asked? The compiler moves such a read out of loops
    /// and questions, as far as what its indices are made of is known: so it has to be there wherever that is.
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
            // What is not proved at all is brought below the extent, wherever it is.
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

//! **Addressing.** Computes the location of an element as an address plus a constant offset, so
//! that neighbouring elements share the address. A constant added to an index becomes the offset of
//! the load or store.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use lang_core::ir::ssa::StmtId;
use lang_core::nest::loop_number;
use lang_core::predicate::{Atom, FactContext, Poly, Pred};

use crate::generate::{EmitResult, Generator, clif_type};

/// The maximal distance, in elements, that becomes an offset.
const MAX_OFFSET: i64 = 1 << 16;

/// The value of a loop index: a counter plus a constant. The constant becomes an offset of memory
/// accesses.
#[derive(Clone, Copy)]
pub(crate) struct LoopCounter {
    pub(crate) counter: Value,
    pub(crate) constant: i64,
}

impl LoopCounter {
    pub(crate) fn of(count: Value) -> Self {
        Self { counter: count, constant: 0 }
    }

    /// Returns the index `by` further on.
    pub(crate) fn advanced(self, by: i64) -> Self {
        Self { constant: self.constant.wrapping_add(by), ..self }
    }
}

/// The location of an element: an address plus an offset in bytes.
#[derive(Clone, Copy)]
pub(crate) struct ElementAddress {
    pub(crate) address: Value,
    pub(crate) offset: i32,
}

impl Generator<'_> {
    /// Computes the address of an element.
    pub(crate) fn address(&mut self, var: StmtId, at: &[Poly]) -> EmitResult<Value> {
        let ElementAddress { address, offset } = self.element_address(var, at)?;
        if offset == 0 {
            return Ok(address);
        }
        let offset = self.int(offset.into());
        Ok(self.builder.ins().iadd(address, offset))
    }

    /// Computes the location of an element. An index that is not proved to be in bounds is replaced
    /// by 0. If the array has no elements, the location is its first one ([`crate::code`] provides
    /// it).
    pub(crate) fn element_address(&mut self, var: StmtId, at: &[Poly]) -> EmitResult<ElementAddress> {
        let place = self.place(var)?;
        let memory = self.memory.get(&var).cloned().ok_or("a register where memory is required")?;
        let mut address = memory.address;
        let mut offset = 0;
        let size = i64::from(clif_type(place.scalar).bytes());
        // In an array without elements, a valid index along another axis may have any value.
        let mut brought = false;
        let mut kept = memory.extents.iter().zip(&memory.strides);
        for (axis, p) in place.axes.iter().zip(at) {
            let (Some(extent), Some((n, step))) = (axis, if axis.is_some() { kept.next() } else { None }) else {
                continue;
            };
            let inside = self.context.implies(&Pred::in_range(p, extent));
            let is_last = kept.len() == 0;
            let index = match self.split_constant(p)? {
                // Elements along the last axis are contiguous.
                (index, ahead) if is_last && inside && !brought && ahead.abs() <= MAX_OFFSET => {
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
            address = self.builder.ins().select(memory.has_elements, address, memory.address);
        }
        Ok(ElementAddress { address, offset })
    }

    /// Returns whether the load of an element may be marked as movable. The compiler hoists a
    /// movable load out of loops and branches, up to the definitions of its operands. So the
    /// element must exist wherever these are available.
    pub(crate) fn can_move(&mut self, var: StmtId, at: &[Poly]) -> EmitResult<bool> {
        let place = self.place(var)?;
        let mut depth = 0;
        let mut known = true;
        for p in at {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && loop_number(*l).is_some()
                {
                    match self.enclosing_loops.iter().position(|of| of.index.local == *l) {
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
            if self.context.implies(&Pred::in_range(p, n)) && !(known && self.is_proved_at_depth(p, n, depth)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_proved_at_depth(&mut self, p: &Poly, n: &Poly, depth: usize) -> bool {
        let key = (p.clone(), n.clone(), depth);
        if let Some(known) = self.in_bounds_memo.get(&key) {
            return *known;
        }
        let mut context = FactContext::new(&self.sizes);
        for of in self.enclosing_loops.iter().take(depth) {
            context.assume_in_range(&of.index);
            let value = of.index.value();
            of.lower_bounds.iter().for_each(|p| context.assume(&Pred::at_most(p, &value)));
            of.upper_bounds.iter().for_each(|p| context.assume(&Pred::less(&value, p)));
        }
        let known = context.implies(&Pred::in_range(p, n));
        self.in_bounds_memo.insert(key, known);
        known
    }
}

//! **Strip mining of loops with transcendental functions.** Splits an innermost loop into strips,
//! and each strip into phases.
//!
//! The first phase computes the arguments of functions. Then each function is called once for the
//! whole strip, the next phase reads its results, and so on. Values from one phase to a later one
//! are in tiles on the stack, except elements that are contiguous in memory.
//!
//! Accumulators are on the stack between the phases that add to them, because no vector register
//! survives a call. A value kept across a call would be in no register within a phase either.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, Signature, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::Variable;
use lang_core::ir::core::Operation;
use lang_core::ir::ssa::{Access, Rhs, Var};
use lang_core::nest::{Loop, Set};
use lang_core::predicate::{LocalId, Poly};

use crate::generate::{Counted, Generator, Made, ty};
use crate::registers::Read;
use crate::spots::{Number, Spot};
use crate::tiles::{self, TILE, Tile};
use crate::vector::{Lanes, Steps, unaligned};

/// A statement of a strip.
struct Part<'g> {
    set: &'g Set,
    /// The phase in which it is set.
    phase: usize,
    /// The tile function that computes it, and the argument, which the previous phase computes.
    function: Option<(Tile, &'g Access)>,
    /// Whether the argument is read in place, and whether the result is written in place.
    in_place: (bool, bool),
}

/// An accumulator, and its stack slot between phases.
#[derive(Clone, Copy)]
struct Held {
    var: Var,
    accumulator: Variable,
    slot: StackSlot,
    /// Its vector type.
    of: Type,
}

/// A tile on the stack, or the elements of a variable from the first of the strip.
enum Elements<'g> {
    Tile(StackSlot),
    Memory(Var, &'g [Poly]),
}

/// The tile of a variable.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    slot: StackSlot,
    /// The first phase in which it is valid.
    from: usize,
}

/// The current strip.
#[derive(Default)]
pub(crate) struct Strip {
    tiles: HashMap<Var, Kept>,
    phase: usize,
    /// The loop's index. The next field is the first index of the strip.
    index: Option<LocalId>,
    base: Option<Value>,
}

/// Returns the tile function of a statement, if it has one.
fn function(set: &Set) -> Option<(Tile, &Access)> {
    let Rhs::Map { operation: Operation::Scalar(f), pred, args } = &set.rhs else { return None };
    let [argument] = args.as_slice() else { return None };
    if pred.is_true() && set.join.is_none() { Some((Tile::of(*f)?, argument)) } else { None }
}

impl<'g> Generator<'g> {
    /// Returns whether the loop contains tile functions and sets no register element more than
    /// once. Such an element would be set again in a phase before the one that reads it.
    pub(crate) fn has_strips(&self, sets: &[&'g Set]) -> bool {
        let mut once = HashSet::new();
        if sets.iter().any(|set| self.registers.contains_key(&set.var) && !once.insert(set.var)) {
            return false;
        }
        sets.iter().any(|set| function(set).is_some_and(|(_, of)| self.is_of_lanes(of)))
    }

    /// Returns whether the element type is that of the loop's vectors.
    fn is_of_lanes(&self, of: &Access) -> bool {
        self.scalar(of.var) == self.wide.lanes.scalar()
    }

    /// Emits the whole loop, and returns its end.
    pub(crate) fn strips(&mut self, of: &'g Loop, sets: &[&'g Set], from: Value, to: Value) -> Made<Value> {
        let (mut parts, last) = self.parts(of.index.local, sets);
        let mut steps = Steps::new(of, sets.to_vec());
        self.begin_sums(&mut steps)?;
        let arguments = self.tiles(&mut parts);
        let held = self.hold(&steps, sets);
        let Counted { head, after, at: base } = self.begin(from, IntCC::SignedLessThan, to)?;
        let size = self.int(i64::try_from(TILE).unwrap_or(1));
        let next = self.builder.ins().iadd(base, size);
        let end = self.builder.ins().smin(next, to);
        let count = self.builder.ins().isub(end, base);
        (self.strip.index, self.strip.base) = (Some(of.index.local), Some(base));
        for phase in 0..=last {
            self.strip.phase = phase;
            let added = |var: Var| parts.iter().any(|p| p.phase == phase && p.set.var == var);
            let held: Vec<Held> = held.iter().copied().filter(|held| added(held.var)).collect();
            self.take(&held);
            self.phase(&steps, &parts, &arguments, (base, end))?;
            self.give(&held);
            for part in parts.iter().filter(|p| p.phase == phase + 1) {
                let Some((tile, argument)) = part.function else { continue };
                let own = arguments.get(&part.set.var).copied();
                let of = match own.or_else(|| Some(self.strip.tiles.get(&argument.var)?.slot)) {
                    Some(slot) => Elements::Tile(slot),
                    None => Elements::Memory(argument.var, &argument.at),
                };
                let to = match self.strip.tiles.get(&part.set.var) {
                    Some(kept) => Elements::Tile(kept.slot),
                    None => Elements::Memory(part.set.var, &part.set.at),
                };
                self.loops.insert(steps.of.index.local, Number::of(base));
                let (to, of) = (self.begin_of(&to)?, self.begin_of(&of)?);
                self.call_tile(tile, to, of, count)?;
            }
        }
        self.poll(head, next);
        self.builder.switch_to_block(after);
        self.strip = Strip::default();
        self.take(&held);
        self.end_sums(&steps)?;
        Ok(to)
    }

    /// Returns the statements with their phases, and the last phase.
    fn parts(&self, index: LocalId, sets: &[&'g Set]) -> (Vec<Part<'g>>, usize) {
        let mut known: HashMap<Var, usize> = HashMap::new();
        let mut parts = Vec::new();
        let mut last = 0;
        for set in sets {
            let mut read = Read::new();
            set.rhs.for_each_access(&mut |a| self.read_at(a, &mut read));
            set.rhs.for_each_pred(&mut |p| self.read_by(p, &mut read));
            set.rhs.for_each_poly(&mut |p| self.read_in(p, &mut read));
            // An array may be set by several statements, which must stay in their order.
            let before = read.keys().chain([&set.var]).filter_map(|v| known.get(v)).copied().max().unwrap_or(0);
            let function = function(set).filter(|(_, of)| self.is_of_lanes(of));
            let phase = before + usize::from(function.is_some());
            known.insert(set.var, phase);
            last = last.max(phase);
            let is_kept = |var: Var| self.registers.contains_key(&var) || !self.memory.contains_key(&var);
            let in_place = function.map_or((false, false), |(_, of)| {
                let given = !is_kept(of.var) && of.var != set.var && self.are_side_by_side(index, of);
                (given, !is_kept(set.var) && self.step(set.var, &set.at, index) == Some(1))
            });
            parts.push(Part { set, phase, function, in_place });
        }
        (parts, last)
    }

    /// Allocates tiles for the results of functions and for values that later phases read. Returns
    /// the tiles of arguments that need one.
    fn tiles(&mut self, parts: &mut [Part<'g>]) -> HashMap<Var, StackSlot> {
        let mut arguments = HashMap::new();
        for at in 0..parts.len() {
            let Some(part) = parts.get_mut(at) else { break };
            let (set, phase) = (part.set, part.phase);
            let var = set.var;
            if let Some((_, argument)) = part.function {
                part.in_place.0 |= self.strip.tiles.contains_key(&argument.var);
                let (given, made) = part.in_place;
                if !given {
                    arguments.insert(var, self.tile());
                }
                if !made {
                    let slot = self.tile();
                    self.strip.tiles.insert(var, Kept { slot, from: phase });
                }
                continue;
            }
            let later = parts.iter().filter(|p| p.phase > phase);
            let mut read = Read::new();
            for other in later {
                other.set.rhs.for_each_access(&mut |a| self.read_at(a, &mut read));
                other.set.rhs.for_each_pred(&mut |p| self.read_by(p, &mut read));
            }
            if read.contains_key(&var) && set.join.is_none() && self.registers.contains_key(&var) {
                let slot = self.tile();
                self.strip.tiles.insert(var, Kept { slot, from: phase + 1 });
            }
        }
        arguments
    }

    fn tile(&mut self) -> StackSlot {
        let size = self.wide.lanes.scalar().bytes();
        self.slot(u32::try_from(TILE).unwrap_or(0) * u32::from(size))
    }

    fn slot(&mut self, size: u32) -> StackSlot {
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4))
    }

    /// Allocates stack slots for the accumulators of these statements, and stores them.
    fn hold(&mut self, steps: &Steps<'g>, sets: &[&'g Set]) -> Vec<Held> {
        let mut held = Vec::new();
        for set in sets {
            for accumulator in steps.accumulators(set.var).iter().copied() {
                let value = self.builder.use_var(accumulator);
                let of = self.builder.func.dfg.value_type(value);
                held.push(Held { var: set.var, accumulator, slot: self.slot(16), of });
            }
        }
        self.give(&held);
        held
    }

    fn take(&mut self, held: &[Held]) {
        for Held { accumulator, slot, of, .. } in held {
            let value = self.builder.ins().stack_load(types::I64, *of, *slot, 0);
            self.builder.def_var(*accumulator, value);
        }
    }

    fn give(&mut self, held: &[Held]) {
        for Held { accumulator, slot, .. } in held {
            let value = self.builder.use_var(*accumulator);
            self.builder.ins().stack_store(types::I64, value, *slot, 0);
        }
    }

    /// Emits one phase: vectors, then the remaining elements one by one.
    fn phase(
        &mut self,
        steps: &Steps<'g>,
        parts: &[Part<'g>],
        arguments: &HashMap<Var, StackSlot>,
        (from, to): (Value, Value),
    ) -> Made<()> {
        let phase = self.strip.phase;
        let (index, scalar) = (steps.of.index.local, self.wide.lanes.scalar());
        // The statements that this phase computes by code rather than by a function in place.
        let own = |p: &&Part<'g>| {
            let sets = p.phase == phase && !p.in_place.1;
            sets || p.phase == phase + 1 && p.function.is_some() && !p.in_place.0
        };
        if !parts.iter().any(|p| own(&p)) {
            return Ok(());
        }
        let step = self.int(self.wide.lanes.in_vectors(steps.count));
        let last = self.builder.ins().isub(to, step);
        let mut at = from;
        for wide in [true, false] {
            let (by, end) = if wide { (IntCC::SignedLessThanOrEqual, last) } else { (IntCC::SignedLessThan, to) };
            let counted = self.begin(at, by, end)?;
            at = counted.at;
            let mut here = Number::of(at);
            let lanes = if wide { self.wide.lanes.in_vectors(1) } else { 1 };
            for nth in 0..if wide { steps.count } else { 1 } {
                self.loops.insert(index, here);
                for part in parts.iter().filter(own) {
                    let argument = part.function.filter(|_| part.phase == phase + 1);
                    match (argument, wide) {
                        (Some((_, of)), true) => {
                            let value = self.wide_element(index, of)?;
                            self.keep(*arguments.get(&part.set.var).ok_or("a tile")?, value)?;
                        }
                        (Some((_, of)), false) => {
                            let value = self.element(of)?;
                            self.keep(*arguments.get(&part.set.var).ok_or("a tile")?, value)?;
                        }
                        (None, true) => {
                            let term = match part.function {
                                Some(_) => self.kept_in_tile(part.set.var, self.wide.lanes.vector())?,
                                None => self.wide_value(index, &part.set.rhs)?,
                            };
                            self.wide_put(steps, part.set, nth, term)?;
                            self.keep_for_later(part.set.var, term)?;
                        }
                        (None, false) => {
                            let term = match part.function {
                                Some(_) => self.kept_in_tile(part.set.var, ty(scalar))?,
                                None => self.value(&part.set.rhs, scalar)?,
                            };
                            self.put(part.set, term)?;
                            self.keep_for_later(part.set.var, term)?;
                        }
                    }
                }
                here = here.plus(lanes);
            }
            self.wide.registers.clear();
            let next = self.number(here);
            self.builder.ins().jump(counted.head, &[next.into()]);
            self.builder.switch_to_block(counted.after);
        }
        Ok(())
    }

    /// Computes the location in a tile of this iteration's element.
    fn in_tile(&mut self, slot: StackSlot) -> Made<Spot> {
        let base = self.strip.base.ok_or("a strip")?;
        let index = self.strip.index.and_then(|i| self.loops.get(&i)).copied().ok_or("an index")?;
        let at = self.builder.ins().isub(index.count, base);
        let bytes = i32::from(self.wide.lanes.scalar().bytes());
        let size = self.int(bytes.into());
        let offset = self.builder.ins().imul(at, size);
        let start = self.builder.ins().stack_addr(types::I64, slot, 0);
        let address = self.builder.ins().iadd(start, offset);
        let offset = i32::try_from(index.ahead.wrapping_mul(bytes.into())).map_err(|why| why.to_string())?;
        Ok(Spot { address, offset })
    }

    fn keep(&mut self, slot: StackSlot, value: Value) -> Made<()> {
        let Spot { address, offset } = self.in_tile(slot)?;
        self.builder.ins().store(unaligned(), value, address, offset);
        Ok(())
    }

    fn keep_for_later(&mut self, var: Var, value: Value) -> Made<()> {
        match self.strip.tiles.get(&var).copied() {
            Some(kept) if kept.from > self.strip.phase => self.keep(kept.slot, value),
            _ => Ok(()),
        }
    }

    /// Returns whether the variable is read from a tile in this phase.
    pub(crate) fn is_in_tile(&self, var: Var) -> bool {
        self.strip.tiles.get(&var).is_some_and(|kept| kept.from <= self.strip.phase)
            && !self.wide.registers.contains_key(&var)
    }

    /// Loads this iteration's element from its tile, or a vector of elements.
    pub(crate) fn kept_in_tile(&mut self, var: Var, ty: Type) -> Made<Value> {
        let slot = self.strip.tiles.get(&var).ok_or("a tile")?.slot;
        let Spot { address, offset } = self.in_tile(slot)?;
        Ok(self.builder.ins().load(ty, unaligned(), address, offset))
    }

    /// Computes the address of the first of some elements.
    fn begin_of(&mut self, of: &Elements<'g>) -> Made<Value> {
        match of {
            Elements::Tile(slot) => Ok(self.builder.ins().stack_addr(types::I64, *slot, 0)),
            Elements::Memory(var, at) => self.address(*var, at),
        }
    }

    fn call_tile(&mut self, tile: Tile, to: Value, of: Value, count: Value) -> Made<()> {
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params.extend([AbiParam::new(types::I64); 4]);
        let signature = self.builder.import_signature(signature);
        let address = match self.wide.lanes {
            Lanes::F64 => tiles::apply::<f64> as *const u8,
            Lanes::F32 => tiles::apply::<f32> as *const u8,
        };
        let address = address.expose_provenance().cast_signed();
        let address = self.int(i64::try_from(address).map_err(|why| why.to_string())?);
        let number = self.int(i64::try_from(tile.number()).map_err(|why| why.to_string())?);
        self.builder.ins().call_indirect(signature, address, &[to, of, count, number]);
        Ok(())
    }
}

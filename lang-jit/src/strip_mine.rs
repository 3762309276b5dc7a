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
use lang_core::ir::core::ScalarOp;
use lang_core::ir::ssa::{Rhs, StmtId, TensorAccess};
use lang_core::nest::{Assignment, NestLoop};
use lang_core::predicate::{LocalId, Poly};

use crate::addressing::{ElementAddress, LoopCounter};
use crate::generate::{CountedLoop, EmitResult, Generator, clif_type};
use crate::scalar_replacement::ReadAccesses;
use crate::tiles::{self, TILE, TileFunction};
use crate::vectorise::{VectorLanes, VectorLoop, unaligned};

/// A statement of a strip.
struct StripStatement<'g> {
    set: &'g Assignment,
    /// The phase in which it is set.
    phase: usize,
    /// The tile function that computes it, and the argument, which the previous phase computes.
    function: Option<(TileFunction, &'g TensorAccess)>,
    /// Whether the argument is read in place, and whether the result is written in place.
    in_place: (bool, bool),
}

/// An accumulator, and its stack slot between phases.
#[derive(Clone, Copy)]
struct SpilledAccumulator {
    var: StmtId,
    accumulator: Variable,
    slot: StackSlot,
    /// Its vector type.
    vector_type: Type,
}

/// A tile on the stack, or the elements of a variable from the first of the strip.
enum StripElements<'g> {
    Tile(StackSlot),
    Memory(StmtId, &'g [Poly]),
}

/// The tile of a variable.
#[derive(Clone, Copy)]
pub(crate) struct StripTile {
    slot: StackSlot,
    /// The first phase in which it is valid.
    valid_from: usize,
}

/// The current strip.
#[derive(Default)]
pub(crate) struct Strip {
    tiles: HashMap<StmtId, StripTile>,
    phase: usize,
    /// The loop's index. The next field is the first index of the strip.
    index: Option<LocalId>,
    base: Option<Value>,
}

/// Returns the tile function of a statement, if it has one.
fn tile_function(set: &Assignment) -> Option<(TileFunction, &TensorAccess)> {
    let Rhs::Map { operation: ScalarOp::Scalar(f), pred, args } = &set.rhs else { return None };
    let [argument] = args.as_slice() else { return None };
    if pred.is_true() && set.accumulate.is_none() { Some((TileFunction::of(*f)?, argument)) } else { None }
}

impl<'g> Generator<'g> {
    /// Returns whether the loop contains tile functions and sets no register element more than
    /// once. Such an element would be set again in a phase before the one that reads it.
    pub(crate) fn has_strips(&self, sets: &[&'g Assignment]) -> bool {
        let mut once = HashSet::new();
        if sets.iter().any(|set| self.registers.contains_key(&set.var) && !once.insert(set.var)) {
            return false;
        }
        sets.iter().any(|set| tile_function(set).is_some_and(|(_, of)| self.has_lane_type(of)))
    }

    /// Returns whether the element type is that of the loop's vectors.
    fn has_lane_type(&self, of: &TensorAccess) -> bool {
        self.scalar(of.var) == self.wide.lanes.scalar()
    }

    /// Emits the whole loop, and returns its end.
    pub(crate) fn emit_strips(
        &mut self,
        of: &'g NestLoop,
        sets: &[&'g Assignment],
        from: Value,
        to: Value,
    ) -> EmitResult<Value> {
        let (mut parts, last) = self.assign_phases(of.index.local, sets);
        let mut steps = VectorLoop::new(of, sets.to_vec());
        self.begin_sums(&mut steps)?;
        let arguments = self.allocate_tiles(&mut parts);
        let held = self.spill_accumulators(&steps, sets);
        let CountedLoop { head, after, counter: base } = self.begin_loop(from, IntCC::SignedLessThan, to)?;
        let size = self.int(i64::try_from(TILE).unwrap_or(1));
        let next = self.builder.ins().iadd(base, size);
        let end = self.builder.ins().smin(next, to);
        let count = self.builder.ins().isub(end, base);
        (self.strip.index, self.strip.base) = (Some(of.index.local), Some(base));
        for phase in 0..=last {
            self.strip.phase = phase;
            let added = |var: StmtId| parts.iter().any(|p| p.phase == phase && p.set.var == var);
            let held: Vec<SpilledAccumulator> = held.iter().copied().filter(|held| added(held.var)).collect();
            self.reload_accumulators(&held);
            self.emit_phase(&steps, &parts, &arguments, (base, end))?;
            self.save_accumulators(&held);
            for part in parts.iter().filter(|p| p.phase == phase + 1) {
                let Some((tile, argument)) = part.function else { continue };
                let own = arguments.get(&part.set.var).copied();
                let of = match own.or_else(|| Some(self.strip.tiles.get(&argument.var)?.slot)) {
                    Some(slot) => StripElements::Tile(slot),
                    None => StripElements::Memory(argument.var, &argument.at),
                };
                let to = match self.strip.tiles.get(&part.set.var) {
                    Some(kept) => StripElements::Tile(kept.slot),
                    None => StripElements::Memory(part.set.var, &part.set.at),
                };
                self.loops.insert(steps.source.index.local, LoopCounter::of(base));
                let (to, of) = (self.start_address(&to)?, self.start_address(&of)?);
                self.call_tile(tile, to, of, count)?;
            }
        }
        self.emit_poll(head, next);
        self.builder.switch_to_block(after);
        self.strip = Strip::default();
        self.reload_accumulators(&held);
        self.end_sums(&steps)?;
        Ok(to)
    }

    /// Returns the statements with their phases, and the last phase.
    fn assign_phases(&self, index: LocalId, sets: &[&'g Assignment]) -> (Vec<StripStatement<'g>>, usize) {
        let mut known: HashMap<StmtId, usize> = HashMap::new();
        let mut parts = Vec::new();
        let mut last = 0;
        for set in sets {
            let mut read = ReadAccesses::new();
            set.rhs.for_each_access(&mut |a| self.collect_access(a, &mut read));
            set.rhs.for_each_pred(&mut |p| self.collect_pred(p, &mut read));
            set.rhs.for_each_poly(&mut |p| self.collect_poly(p, &mut read));
            // An array may be set by several statements, which must stay in their order.
            let before = read.keys().chain([&set.var]).filter_map(|v| known.get(v)).copied().max().unwrap_or(0);
            let function = tile_function(set).filter(|(_, of)| self.has_lane_type(of));
            let phase = before + usize::from(function.is_some());
            known.insert(set.var, phase);
            last = last.max(phase);
            let is_kept = |var: StmtId| self.registers.contains_key(&var) || !self.memory.contains_key(&var);
            let in_place = function.map_or((false, false), |(_, of)| {
                let is_argument_in_place = !is_kept(of.var) && of.var != set.var && self.reads_contiguous(index, of);
                (is_argument_in_place, !is_kept(set.var) && self.element_stride(set.var, &set.at, index) == Some(1))
            });
            parts.push(StripStatement { set, phase, function, in_place });
        }
        (parts, last)
    }

    /// Allocates tiles for the results of functions and for values that later phases read. Returns
    /// the tiles of arguments that need one.
    fn allocate_tiles(&mut self, parts: &mut [StripStatement<'g>]) -> HashMap<StmtId, StackSlot> {
        let mut arguments = HashMap::new();
        for at in 0..parts.len() {
            let Some(part) = parts.get_mut(at) else { break };
            let (set, phase) = (part.set, part.phase);
            let var = set.var;
            if let Some((_, argument)) = part.function {
                part.in_place.0 |= self.strip.tiles.contains_key(&argument.var);
                let (is_argument_in_place, is_result_in_place) = part.in_place;
                if !is_argument_in_place {
                    arguments.insert(var, self.allocate_tile());
                }
                if !is_result_in_place {
                    let slot = self.allocate_tile();
                    self.strip.tiles.insert(var, StripTile { slot, valid_from: phase });
                }
                continue;
            }
            let later = parts.iter().filter(|p| p.phase > phase);
            let mut read = ReadAccesses::new();
            for other in later {
                other.set.rhs.for_each_access(&mut |a| self.collect_access(a, &mut read));
                other.set.rhs.for_each_pred(&mut |p| self.collect_pred(p, &mut read));
            }
            if read.contains_key(&var) && set.accumulate.is_none() && self.registers.contains_key(&var) {
                let slot = self.allocate_tile();
                self.strip.tiles.insert(var, StripTile { slot, valid_from: phase + 1 });
            }
        }
        arguments
    }

    fn allocate_tile(&mut self) -> StackSlot {
        let size = self.wide.lanes.scalar().bytes();
        self.allocate_slot(u32::try_from(TILE).unwrap_or(0) * u32::from(size))
    }

    fn allocate_slot(&mut self, size: u32) -> StackSlot {
        self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4))
    }

    /// Allocates stack slots for the accumulators of these statements, and stores them.
    fn spill_accumulators(&mut self, steps: &VectorLoop<'g>, sets: &[&'g Assignment]) -> Vec<SpilledAccumulator> {
        let mut held = Vec::new();
        for set in sets {
            for accumulator in steps.accumulators(set.var).iter().copied() {
                let value = self.builder.use_var(accumulator);
                let of = self.builder.func.dfg.value_type(value);
                held.push(SpilledAccumulator {
                    var: set.var,
                    accumulator,
                    slot: self.allocate_slot(16),
                    vector_type: of,
                });
            }
        }
        self.save_accumulators(&held);
        held
    }

    fn reload_accumulators(&mut self, held: &[SpilledAccumulator]) {
        for SpilledAccumulator { accumulator, slot, vector_type: of, .. } in held {
            let value = self.builder.ins().stack_load(types::I64, *of, *slot, 0);
            self.builder.def_var(*accumulator, value);
        }
    }

    fn save_accumulators(&mut self, held: &[SpilledAccumulator]) {
        for SpilledAccumulator { accumulator, slot, .. } in held {
            let value = self.builder.use_var(*accumulator);
            self.builder.ins().stack_store(types::I64, value, *slot, 0);
        }
    }

    /// Emits one phase: vectors, then the remaining elements one by one.
    fn emit_phase(
        &mut self,
        steps: &VectorLoop<'g>,
        parts: &[StripStatement<'g>],
        arguments: &HashMap<StmtId, StackSlot>,
        (from, to): (Value, Value),
    ) -> EmitResult<()> {
        let phase = self.strip.phase;
        let (index, scalar) = (steps.source.index.local, self.wide.lanes.scalar());
        // The statements that this phase computes by code rather than by a function in place.
        let own = |p: &&StripStatement<'g>| {
            let sets = p.phase == phase && !p.in_place.1;
            sets || p.phase == phase + 1 && p.function.is_some() && !p.in_place.0
        };
        if !parts.iter().any(|p| own(&p)) {
            return Ok(());
        }
        let step = self.int(self.wide.lanes.elements_in(steps.vectors));
        let last = self.builder.ins().isub(to, step);
        let mut at = from;
        for wide in [true, false] {
            let (by, end) = if wide { (IntCC::SignedLessThanOrEqual, last) } else { (IntCC::SignedLessThan, to) };
            let counted = self.begin_loop(at, by, end)?;
            at = counted.counter;
            let mut here = LoopCounter::of(at);
            let lanes = if wide { self.wide.lanes.elements_in(1) } else { 1 };
            for nth in 0..if wide { steps.vectors } else { 1 } {
                self.loops.insert(index, here);
                for part in parts.iter().filter(own) {
                    let argument = part.function.filter(|_| part.phase == phase + 1);
                    match (argument, wide) {
                        (Some((_, of)), true) => {
                            let value = self.wide_element(index, of)?;
                            self.store_in_tile(*arguments.get(&part.set.var).ok_or("a tile")?, value)?;
                        }
                        (Some((_, of)), false) => {
                            let value = self.element(of)?;
                            self.store_in_tile(*arguments.get(&part.set.var).ok_or("a tile")?, value)?;
                        }
                        (None, true) => {
                            let term = match part.function {
                                Some(_) => self.load_from_tile(part.set.var, self.wide.lanes.vector())?,
                                None => self.wide_value(index, &part.set.rhs)?,
                            };
                            self.store_wide(steps, part.set, nth, term)?;
                            self.store_for_later_phase(part.set.var, term)?;
                        }
                        (None, false) => {
                            let term = match part.function {
                                Some(_) => self.load_from_tile(part.set.var, clif_type(scalar))?,
                                None => self.value(&part.set.rhs, scalar)?,
                            };
                            self.store_term(part.set, term)?;
                            self.store_for_later_phase(part.set.var, term)?;
                        }
                    }
                }
                here = here.advanced(lanes);
            }
            self.wide.registers.clear();
            let next = self.counter_value(here);
            self.builder.ins().jump(counted.head, &[next.into()]);
            self.builder.switch_to_block(counted.after);
        }
        Ok(())
    }

    /// Computes the location in a tile of this iteration's element.
    fn tile_element_address(&mut self, slot: StackSlot) -> EmitResult<ElementAddress> {
        let base = self.strip.base.ok_or("a strip")?;
        let index = self.strip.index.and_then(|i| self.loops.get(&i)).copied().ok_or("an index")?;
        let at = self.builder.ins().isub(index.counter, base);
        let bytes = i32::from(self.wide.lanes.scalar().bytes());
        let size = self.int(bytes.into());
        let offset = self.builder.ins().imul(at, size);
        let start = self.builder.ins().stack_addr(types::I64, slot, 0);
        let address = self.builder.ins().iadd(start, offset);
        let offset = i32::try_from(index.constant.wrapping_mul(bytes.into())).map_err(|why| why.to_string())?;
        Ok(ElementAddress { address, offset })
    }

    fn store_in_tile(&mut self, slot: StackSlot, value: Value) -> EmitResult<()> {
        let ElementAddress { address, offset } = self.tile_element_address(slot)?;
        self.builder.ins().store(unaligned(), value, address, offset);
        Ok(())
    }

    fn store_for_later_phase(&mut self, var: StmtId, value: Value) -> EmitResult<()> {
        match self.strip.tiles.get(&var).copied() {
            Some(kept) if kept.valid_from > self.strip.phase => self.store_in_tile(kept.slot, value),
            _ => Ok(()),
        }
    }

    /// Returns whether the variable is read from a tile in this phase.
    pub(crate) fn is_in_tile(&self, var: StmtId) -> bool {
        self.strip.tiles.get(&var).is_some_and(|kept| kept.valid_from <= self.strip.phase)
            && !self.wide.registers.contains_key(&var)
    }

    /// Loads this iteration's element from its tile, or a vector of elements.
    pub(crate) fn load_from_tile(&mut self, var: StmtId, ty: Type) -> EmitResult<Value> {
        let slot = self.strip.tiles.get(&var).ok_or("a tile")?.slot;
        let ElementAddress { address, offset } = self.tile_element_address(slot)?;
        Ok(self.builder.ins().load(ty, unaligned(), address, offset))
    }

    /// Computes the address of the first of some elements.
    fn start_address(&mut self, of: &StripElements<'g>) -> EmitResult<Value> {
        match of {
            StripElements::Tile(slot) => Ok(self.builder.ins().stack_addr(types::I64, *slot, 0)),
            StripElements::Memory(var, at) => self.address(*var, at),
        }
    }

    fn call_tile(&mut self, tile: TileFunction, to: Value, of: Value, count: Value) -> EmitResult<()> {
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params.extend([AbiParam::new(types::I64); 4]);
        let signature = self.builder.import_signature(signature);
        let address = match self.wide.lanes {
            VectorLanes::F64 => tiles::apply::<f64> as *const u8,
            VectorLanes::F32 => tiles::apply::<f32> as *const u8,
        };
        let address = address.expose_provenance().cast_signed();
        let address = self.int(i64::try_from(address).map_err(|why| why.to_string())?);
        let number = self.int(i64::try_from(tile.number()).map_err(|why| why.to_string())?);
        self.builder.ins().call_indirect(signature, address, &[to, of, count, number]);
        Ok(())
    }
}

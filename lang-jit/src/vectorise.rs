//! **Vectorisation** of innermost loops by vectors of 16 bytes: two `f64` or four `f32`.
//!
//! A step of the loop covers several vectors, each with its own accumulators; the remainder runs as
//! a scalar loop. An operation without a vector form is done for each lane.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use lang_core::ir::core::{Constant, ScalarOp};
use lang_core::ir::reduce::Reducer;
use lang_core::ir::ssa::{Rhs, StmtId, TensorAccess};
use lang_core::nest::{Accumulation, Assignment, NestLoop, NestNode};
use lang_core::predicate::{Atom, LocalId, Poly, Pred};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::syntax::ops::{BinOp, Scalar};

use crate::addressing::{ElementAddress, LoopCounter};
use crate::generate::{CountedLoop, EmitResult, Generator, clif_type, mentions};
use crate::values::is_exclusive_sum;

/// The vectors in a step of a loop, and the number of statements beyond which a step has one
/// vector.
const UNROLLED_VECTORS: usize = 4;
const MAX_UNROLLED_STATEMENTS: usize = 12;

/// The element type of the vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorLanes {
    F64,
    F32,
}

impl VectorLanes {
    fn of(scalar: Scalar) -> Option<Self> {
        match scalar {
            Scalar::F64 => Some(Self::F64),
            Scalar::F32 => Some(Self::F32),
            Scalar::I64 | Scalar::Bool => None,
        }
    }

    pub(crate) fn scalar(self) -> Scalar {
        if self == Self::F64 { Scalar::F64 } else { Scalar::F32 }
    }

    pub(crate) fn count(self) -> u8 {
        if self == Self::F64 { 2 } else { 4 }
    }

    pub(crate) fn vector(self) -> ir::Type {
        if self == Self::F64 { types::F64X2 } else { types::F32X4 }
    }

    /// Returns the types of one lane of a mask and of a mask.
    pub(crate) fn mask(self) -> (ir::Type, ir::Type) {
        if self == Self::F64 { (types::I64, types::I64X2) } else { (types::I32, types::I32X4) }
    }

    /// Returns the number of accumulators for one vector of terms. Sums of `f32` accumulate in
    /// `f64`, because the error of a sum grows with its number of terms.
    fn accumulators_per_vector(self, join: Accumulation) -> usize {
        if join == Accumulation::Sum && self == Self::F32 { 2 } else { 1 }
    }

    /// Returns the number of elements in this many vectors.
    pub(crate) fn elements_in(self, count: usize) -> i64 {
        i64::from(self.count()) * i64::try_from(count).unwrap_or(1)
    }
}

/// The state of vector code generation.
pub(crate) struct VectorState {
    /// The element type of the loop's vectors.
    pub(crate) lanes: VectorLanes,
    /// Elements that are in vectors at this point.
    pub(crate) registers: HashMap<StmtId, Variable>,
    /// The lane being computed by itself.
    pub(crate) lane: Option<u8>,
}

impl Default for VectorState {
    fn default() -> Self {
        Self { lanes: VectorLanes::F64, registers: HashMap::new(), lane: None }
    }
}

/// The steps of a vectorised loop.
pub(crate) struct VectorLoop<'g> {
    pub(crate) source: &'g NestLoop,
    sets: Vec<&'g Assignment>,
    /// The accumulators, one for each vector of a step; for sums of `f32` two, one for each half.
    accumulators: HashMap<StmtId, Vec<Variable>>,
    pub(crate) vectors: usize,
}

impl<'g> VectorLoop<'g> {
    pub(crate) fn new(of: &'g NestLoop, sets: Vec<&'g Assignment>) -> Self {
        let count = if sets.len() > MAX_UNROLLED_STATEMENTS { 1 } else { UNROLLED_VECTORS };
        Self { source: of, sets, accumulators: HashMap::new(), vectors: count }
    }

    /// Returns the accumulators of a variable, if its statement is a reduction.
    pub(crate) fn accumulators(&self, var: StmtId) -> &[Variable] {
        self.accumulators.get(&var).map_or(&[], Vec::as_slice)
    }
}

impl<'g> Generator<'g> {
    /// Returns the statements of a loop that can be vectorised, and the element type.
    pub(crate) fn wide_sets(&self, of: &'g NestLoop) -> Option<(VectorLanes, Vec<&'g Assignment>)> {
        if of.is_sequential {
            return None;
        }
        let mut sets = Vec::new();
        for node in &of.body {
            let NestNode::Assign(set) = node else { return None };
            sets.push(set);
        }
        let own = HashSet::from([of.index.local]);
        let mut accumulated = HashSet::new();
        let mut reals = sets.iter().filter(|set| !self.is_mask(set)).map(|set| self.scalar(set.var));
        let lanes = VectorLanes::of(reals.next()?)?;
        if reals.any(|of| of != lanes.scalar()) {
            return None;
        }
        for set in &sets {
            if self.is_mask(set) {
                continue;
            }
            // An axis that an element does not outlive has no memory: all iterations share one
            // place there.
            let mut axes = self.place(set.var).ok()?.axes.iter().zip(&set.at);
            let moves = axes.any(|(n, p)| n.is_some() && mentions(p, &own));
            match (self.registers.contains_key(&set.var), set.accumulate) {
                // A joined element at a loop-invariant index is an accumulator, and only one
                // statement may set it.
                (true, Some(_)) if accumulated.insert(set.var) && !set.at.iter().any(|p| mentions(p, &own)) => {}
                (true, None) => {}
                (false, _) if moves && self.sets_in_bounds(set) => {}
                _ => return None,
            }
        }
        Some((lanes, sets))
    }

    /// Returns whether the element that the statement sets always exists.
    fn sets_in_bounds(&self, set: &Assignment) -> bool {
        let Ok(place) = self.place(set.var) else { return false };
        let mut axes = place.axes.iter().zip(&set.at);
        axes.all(|(n, p)| n.as_ref().is_none_or(|n| self.context.implies(&Pred::in_range(p, n))))
    }

    /// Emits the part of a loop that can be vectorised, and returns the first index of the rest.
    /// The caller must have added the facts of the loop's index.
    pub(crate) fn emit_vectorised(&mut self, of: &'g NestLoop, from: Value, to: Value) -> EmitResult<Value> {
        let Some((lanes, sets)) = self.wide_sets(of) else { return Ok(from) };
        self.wide.lanes = lanes;
        if self.has_strips(&sets) {
            // Tiles hold no truth values.
            if sets.iter().any(|set| self.is_mask(set)) {
                return Ok(from);
            }
            return self.emit_strips(of, &sets, from, to);
        }
        let mut steps = VectorLoop::new(of, sets);
        let count = steps.vectors;
        self.begin_sums(&mut steps)?;
        let step = self.int(lanes.elements_in(count));
        let last = self.builder.ins().isub(to, step);
        let CountedLoop { head, after, counter: at } = self.begin_loop(from, IntCC::SignedLessThanOrEqual, last)?;
        let mut here = LoopCounter::of(at);
        for nth in 0..count {
            self.loops.insert(of.index.local, here);
            for set in steps.sets.clone() {
                self.wide_set(&steps, set, nth)?;
            }
            here = here.advanced(lanes.elements_in(1));
        }
        self.wide.registers.clear();
        let next = self.counter_value(here);
        self.emit_poll(head, next);
        self.builder.switch_to_block(after);
        self.end_sums(&steps)?;
        Ok(at)
    }

    pub(crate) fn begin_sums(&mut self, steps: &mut VectorLoop<'g>) -> EmitResult<()> {
        for set in steps.sets.clone() {
            let (Some(join), Some(register)) = (set.accumulate, self.registers.get(&set.var).copied()) else {
                continue;
            };
            let (before, lanes) = (self.builder.use_var(register), self.wide.lanes);
            let mut sums = Vec::new();
            for _ in 0..steps.vectors * lanes.accumulators_per_vector(join) {
                let first = match join {
                    Accumulation::Sum => self.zero(Scalar::F64),
                    Accumulation::Reduce(Reducer::Prod) => self.constant(Constant::Real(1.0), lanes.scalar())?,
                    Accumulation::Reduce(_) => before,
                };
                let of = if join == Accumulation::Sum { VectorLanes::F64.vector() } else { lanes.vector() };
                let first = self.builder.ins().splat(of, first);
                let sum = self.builder.declare_var(of);
                self.builder.def_var(sum, first);
                sums.push(sum);
            }
            steps.accumulators.insert(set.var, sums);
        }
        Ok(())
    }

    pub(crate) fn end_sums(&mut self, steps: &VectorLoop<'g>) -> EmitResult<()> {
        for set in &steps.sets {
            let (Some(join), Some(register)) = (set.accumulate, self.registers.get(&set.var).copied()) else {
                continue;
            };
            let mut all: Vec<Value> = Vec::new();
            for sum in steps.accumulators.get(&set.var).into_iter().flatten() {
                all.push(self.builder.use_var(*sum));
            }
            while all.len() > 1 {
                let pairs: Vec<(Value, Option<Value>)> =
                    all.chunks(2).filter_map(|pair| Some((*pair.first()?, pair.get(1).copied()))).collect();
                all = Vec::new();
                for (a, b) in pairs {
                    all.push(match b {
                        Some(b) => self.wide_joined(join, a, b)?,
                        None => a,
                    });
                }
            }
            let Some(vector) = all.first().copied() else { continue };
            let lanes = self.wide.lanes;
            let mut value = self.builder.use_var(register);
            let of = if join == Accumulation::Sum { VectorLanes::F64 } else { lanes };
            let is_short = lanes != of;
            if is_short {
                value = self.builder.ins().fpromote(types::F64, value);
            }
            for lane in 0..of.count() {
                let one = self.builder.ins().extractlane(vector, lane);
                value = self.emit_join(join, of.scalar(), value, one)?;
            }
            if is_short {
                value = self.builder.ins().fdemote(types::F32, value);
            }
            self.builder.def_var(register, value);
        }
        Ok(())
    }

    fn wide_joined(&mut self, join: Accumulation, a: Value, b: Value) -> EmitResult<Value> {
        Ok(match join {
            Accumulation::Sum => self.builder.ins().fadd(a, b),
            Accumulation::Reduce(Reducer::Prod) => self.builder.ins().fmul(a, b),
            Accumulation::Reduce(Reducer::Max) => self.emit_wide_extreme(ScalarFn::Max, a, b),
            Accumulation::Reduce(Reducer::Min) => self.emit_wide_extreme(ScalarFn::Min, a, b),
            Accumulation::Reduce(Reducer::Argmax | Reducer::Argmin) => return Err("a place".to_owned()),
        })
    }

    /// Emits the maximum or minimum of each lane: `a` if both are equal, NaN if either is. The
    /// first selection is one instruction, and NaN if `a` is. The second handles `b`, and does not
    /// depend on `a`.
    fn emit_wide_extreme(&mut self, of: ScalarFn, a: Value, b: Value) -> Value {
        let best = match of {
            ScalarFn::Max => self.wide_choice(FloatCC::LessThan, a, b, b, a),
            _ => self.wide_choice(FloatCC::LessThan, b, a, b, a),
        };
        self.wide_choice(FloatCC::Unordered, b, b, b, best)
    }

    pub(crate) fn wide_set(&mut self, steps: &VectorLoop<'g>, set: &'g Assignment, nth: usize) -> EmitResult<()> {
        let index = steps.source.index.local;
        let term = match self.is_mask(set) {
            true => self.mask_value(index, &set.rhs)?,
            false => self.wide_value(index, &set.rhs)?,
        };
        self.store_wide(steps, set, nth, term)
    }

    /// Stores a vector in elements, or joins it as more terms.
    pub(crate) fn store_wide(
        &mut self,
        steps: &VectorLoop<'g>,
        set: &'g Assignment,
        nth: usize,
        term: Value,
    ) -> EmitResult<()> {
        if self.registers.contains_key(&set.var) {
            match set.accumulate {
                Some(Accumulation::Sum) if self.wide.lanes == VectorLanes::F32 => {
                    let halves = self.halves(term);
                    for (half, term) in halves.into_iter().enumerate() {
                        let sums = steps.accumulators(set.var);
                        let sum = sums.get(2 * nth + half).copied().ok_or("a sum")?;
                        let before = self.builder.use_var(sum);
                        let value = self.builder.ins().fadd(before, term);
                        self.builder.def_var(sum, value);
                    }
                }
                Some(join) => {
                    let sum = steps.accumulators.get(&set.var).and_then(|s| s.get(nth)).copied().ok_or("a sum")?;
                    let before = self.builder.use_var(sum);
                    let value = match join {
                        Accumulation::Sum => self.emit_accumulate(before, term),
                        join => self.wide_joined(join, before, term)?,
                    };
                    self.builder.def_var(sum, value);
                }
                None => {
                    let lanes = self.wide.lanes;
                    let of = if self.is_mask(set) { lanes.mask().1 } else { lanes.vector() };
                    let register = self.builder.declare_var(of);
                    self.builder.def_var(register, term);
                    self.wide.registers.insert(set.var, register);
                }
            }
            return Ok(());
        }
        let index = steps.source.index.local;
        if self.element_stride(set.var, &set.at, index) == Some(1) {
            let ElementAddress { address, offset } = self.element_address(set.var, &set.at)?;
            let value = match set.accumulate {
                None => term,
                Some(join) => {
                    let before = self.builder.ins().load(self.wide.lanes.vector(), unaligned(), address, offset);
                    self.wide_joined(join, before, term)?
                }
            };
            self.builder.ins().store(unaligned(), value, address, offset);
            return Ok(());
        }
        let first = self.loops.get(&index).copied().ok_or("an index")?;
        let lanes = self.wide.lanes;
        for lane in 0..lanes.count() {
            let one = self.builder.ins().extractlane(term, lane);
            self.enter_lane(index, first, lane);
            let ElementAddress { address, offset } = self.element_address(set.var, &set.at)?;
            let value = match set.accumulate {
                None => one,
                Some(join) => {
                    let before = self.builder.ins().load(clif_type(lanes.scalar()), unaligned(), address, offset);
                    self.emit_join(join, lanes.scalar(), before, one)?
                }
            };
            self.builder.ins().store(unaligned(), value, address, offset);
        }
        self.leave_lanes(index, first);
        Ok(())
    }

    /// Converts four `f32` to two vectors of `f64`.
    fn halves(&mut self, vector: Value) -> [Value; 2] {
        let low = self.builder.ins().fvpromote_low(vector);
        let bytes = self.builder.ins().bitcast(types::I8X16, little_endian(), vector);
        let upper = ir::ConstantData::from([8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15].as_slice());
        let upper = self.builder.func.dfg.immediates.push(upper);
        let bytes = self.builder.ins().shuffle(bytes, bytes, upper);
        let high = self.builder.ins().bitcast(self.wide.lanes.vector(), little_endian(), bytes);
        [low, self.builder.ins().fvpromote_low(high)]
    }

    fn enter_lane(&mut self, index: LocalId, first: LoopCounter, lane: u8) {
        self.loops.insert(index, first.advanced(lane.into()));
        self.wide.lane = Some(lane);
    }

    fn leave_lanes(&mut self, index: LocalId, first: LoopCounter) {
        self.loops.insert(index, first);
        self.wide.lane = None;
    }

    /// Returns by how many elements an access moves with the index: 0 if it is invariant, 1 if it
    /// is contiguous, `None` otherwise.
    pub(crate) fn element_stride(&self, var: StmtId, at: &[Poly], index: LocalId) -> Option<i64> {
        let place = self.place(var).ok()?;
        let kept: Vec<&Poly> = place.axes.iter().zip(at).filter(|(n, _)| n.is_some()).map(|(_, p)| p).collect();
        let own = HashSet::from([index]);
        let (last, before) = kept.split_last()?;
        if before.iter().any(|p| mentions(p, &own)) {
            return None;
        }
        if !mentions(last, &own) {
            return Some(0);
        }
        let mut atom = None;
        last.for_each_atom(&mut |a| {
            if matches!(a, Atom::Local(l, _) if *l == index) {
                atom = Some(a.clone());
            }
        });
        (last.linear_in(&atom?)?.0 == 1).then_some(1)
    }

    pub(crate) fn wide_element(&mut self, index: LocalId, of: &TensorAccess) -> EmitResult<Value> {
        if let Some(register) = self.wide.registers.get(&of.var) {
            return Ok(self.builder.use_var(*register));
        }
        if self.is_in_tile(of.var) {
            return self.load_from_tile(of.var, self.wide.lanes.vector());
        }
        let own = HashSet::from([index]);
        let uniform = self.registers.contains_key(&of.var) || !of.at.iter().any(|p| mentions(p, &own));
        if uniform {
            let one = self.element(of)?;
            return Ok(self.builder.ins().splat(self.wide.lanes.vector(), one));
        }
        if self.reads_contiguous(index, of) {
            let ElementAddress { address, offset } = self.element_address(of.var, &of.at)?;
            let is_read_only = self.memory.get(&of.var).is_some_and(|m| !m.is_written);
            let flags = if is_read_only && self.can_move(of.var, &of.at)? {
                unaligned().with_readonly().with_can_move()
            } else {
                unaligned()
            };
            return Ok(self.builder.ins().load(self.wide.lanes.vector(), flags, address, offset));
        }
        self.emit_by_lanes(index, &mut |this| this.element(of))
    }

    /// Returns whether consecutive iterations read contiguous elements, all proved to be in bounds.
    pub(crate) fn reads_contiguous(&self, index: LocalId, of: &TensorAccess) -> bool {
        let inside = self.place(of.var).is_ok_and(|place| {
            let mut axes = place.axes.iter().zip(&of.at);
            axes.all(|(n, p)| n.as_ref().is_none_or(|n| self.context.implies(&Pred::in_range(p, n))))
        });
        inside && self.inlined_rhs(of.var).is_none() && self.element_stride(of.var, &of.at, index) == Some(1)
    }

    fn wide_constant(&mut self, x: f64) -> EmitResult<Value> {
        let lanes = self.wide.lanes;
        let x = self.constant(Constant::Real(x), lanes.scalar())?;
        Ok(self.builder.ins().splat(lanes.vector(), x))
    }

    /// Emits a selection of lanes: `one` if the comparison holds, else `other`.
    fn wide_choice(&mut self, by: FloatCC, a: Value, b: Value, one: Value, other: Value) -> Value {
        let holds = self.builder.ins().fcmp(by, a, b);
        let holds = self.builder.ins().bitcast(self.wide.lanes.vector(), little_endian(), holds);
        self.builder.ins().bitselect(holds, one, other)
    }

    /// Emits a value for each lane, and combines them in a vector.
    fn emit_by_lanes(
        &mut self,
        index: LocalId,
        f: &mut dyn FnMut(&mut Self) -> EmitResult<Value>,
    ) -> EmitResult<Value> {
        let all = self.emit_lanes(index, f)?;
        self.pack_lanes(self.wide.lanes.vector(), &all)
    }

    /// Emits a vector of these lanes.
    pub(crate) fn pack_lanes(&mut self, of: ir::Type, all: &[Value]) -> EmitResult<Value> {
        let [first, rest @ ..] = all else { return Err("an empty vector".to_owned()) };
        let mut vector = self.builder.ins().splat(of, *first);
        for (lane, one) in (1..).zip(rest) {
            vector = self.builder.ins().insertlane(vector, *one, lane);
        }
        Ok(vector)
    }

    /// Emits a value for each lane.
    pub(crate) fn emit_lanes(
        &mut self,
        index: LocalId,
        f: &mut dyn FnMut(&mut Self) -> EmitResult<Value>,
    ) -> EmitResult<Vec<Value>> {
        let first = self.loops.get(&index).copied().ok_or("an index")?;
        let mut all = Vec::new();
        for lane in 0..self.wide.lanes.count() {
            self.enter_lane(index, first, lane);
            all.push(f(self)?);
        }
        self.leave_lanes(index, first);
        Ok(all)
    }

    /// Emits the value in the lanes where the predicate holds, else zero.
    fn wide_guarded(&mut self, index: LocalId, p: &Pred, value: Value) -> EmitResult<Value> {
        if p.is_true() || self.context.implies(p) {
            return Ok(value);
        }
        if self.depends_on(p, &HashSet::from([index])) {
            let mask = self.mask(index, p)?;
            return Ok(self.apply_mask(mask, value));
        }
        let holds = self.pred(p)?;
        let zero = self.wide_constant(0.0)?;
        Ok(self.builder.ins().select(holds, value, zero))
    }

    pub(crate) fn wide_value(&mut self, index: LocalId, rhs: &'g Rhs) -> EmitResult<Value> {
        match rhs {
            Rhs::Add(items) => {
                let mut sum: Option<Value> = None;
                let chosen = is_exclusive_sum(items);
                for item in items {
                    let term = self.wide_element(index, &item.operand)?;
                    let term = if item.neg && (chosen || sum.is_none()) { self.builder.ins().fneg(term) } else { term };
                    let term = self.wide_guarded(index, &item.pred, term)?;
                    sum = Some(match sum {
                        None => term,
                        // All terms but one are zero in all bits.
                        Some(sum) if chosen => self.builder.ins().bor(sum, term),
                        Some(sum) if item.neg => self.builder.ins().fsub(sum, term),
                        Some(sum) => self.builder.ins().fadd(sum, term),
                    });
                }
                sum.ok_or_else(|| "an empty sum".to_owned())
            }
            Rhs::Contract { pred, neg, factors, .. } => {
                let mut product: Option<Value> = None;
                for factor in factors {
                    let factor = self.wide_element(index, factor)?;
                    product = Some(match product {
                        None => factor,
                        Some(product) => self.emit_product(product, factor),
                    });
                }
                let product = product.ok_or("an empty product")?;
                let product = if *neg { self.emit_negation(product) } else { product };
                self.wide_guarded(index, pred, product)
            }
            Rhs::Reduce(r) => self.wide_element(index, &r.operand),
            Rhs::Zero => self.wide_constant(0.0),
            Rhs::Map { operation, pred, args } if self.has_wide(*operation, args) => {
                let mut operands = Vec::new();
                for arg in args {
                    if self.scalar(arg.var) == self.wide.lanes.scalar() {
                        operands.push(self.wide_element(index, arg)?);
                    }
                }
                let exponent = args.get(1).and_then(|a| self.integer_constant(a.var));
                let value = self.wide_operation(*operation, &operands, exponent)?;
                self.wide_guarded(index, pred, value)
            }
            rhs => self.emit_by_lanes(index, &mut |this| this.value(rhs, this.wide.lanes.scalar())),
        }
    }

    /// Returns whether the predicate depends on the index.
    pub(crate) fn depends_on(&self, p: &Pred, own: &HashSet<LocalId>) -> bool {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().any(|p| self.depends_on(p, own)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => mentions(p, own),
            Pred::Element(_, _, at, _) | Pred::Member(_, _, at, _) => at.iter().any(|p| mentions(p, own)),
            Pred::Exists(_, body, _) => self.depends_on(body, own),
        }
    }

    fn has_wide(&self, operation: ScalarOp, args: &[TensorAccess]) -> bool {
        let real = |a: &TensorAccess| self.scalar(a.var) == self.wide.lanes.scalar();
        match operation {
            ScalarOp::Stop => args.iter().all(real),
            ScalarOp::Binary(BinOp::Div) => args.iter().all(real),
            ScalarOp::PowInt => {
                args.first().is_some_and(real)
                    && args.get(1).and_then(|a| self.integer_constant(a.var)).is_some_and(|k| (1..=64).contains(&k))
            }
            ScalarOp::Scalar(f) => {
                let wide = matches!(
                    f,
                    ScalarFn::Sqrt
                        | ScalarFn::Abs
                        | ScalarFn::Floor
                        | ScalarFn::Ceil
                        | ScalarFn::Trunc
                        | ScalarFn::Round
                        | ScalarFn::Sign
                        | ScalarFn::Relu
                        | ScalarFn::Max
                        | ScalarFn::Min
                );
                wide && args.iter().all(real)
            }
            _ => false,
        }
    }

    fn wide_operation(&mut self, operation: ScalarOp, operands: &[Value], exponent: Option<i64>) -> EmitResult<Value> {
        Ok(match (operation, operands) {
            (ScalarOp::Stop, [a]) => *a,
            (ScalarOp::Binary(BinOp::Div), [a, b]) => self.builder.ins().fdiv(*a, *b),
            (ScalarOp::PowInt, [x]) => self.power(*x, exponent.unwrap_or(1)),
            (ScalarOp::Scalar(ScalarFn::Sqrt), [a]) => self.builder.ins().sqrt(*a),
            (ScalarOp::Scalar(ScalarFn::Abs), [a]) => self.builder.ins().fabs(*a),
            (ScalarOp::Scalar(ScalarFn::Floor), [a]) => self.builder.ins().floor(*a),
            (ScalarOp::Scalar(ScalarFn::Ceil), [a]) => self.builder.ins().ceil(*a),
            (ScalarOp::Scalar(ScalarFn::Trunc), [a]) => self.builder.ins().trunc(*a),
            (ScalarOp::Scalar(ScalarFn::Round), [a]) => self.builder.ins().nearest(*a),
            (ScalarOp::Scalar(ScalarFn::Sign), [a]) => {
                let (zero, one, minus) =
                    (self.wide_constant(0.0)?, self.wide_constant(1.0)?, self.wide_constant(-1.0)?);
                let rest = self.wide_choice(FloatCC::Unordered, *a, *a, *a, zero);
                let rest = self.wide_choice(FloatCC::LessThan, *a, zero, minus, rest);
                self.wide_choice(FloatCC::GreaterThan, *a, zero, one, rest)
            }
            (ScalarOp::Scalar(ScalarFn::Relu), [a]) => {
                let zero = self.wide_constant(0.0)?;
                self.wide_choice(FloatCC::UnorderedOrGreaterThan, *a, zero, *a, zero)
            }
            (ScalarOp::Scalar(of @ (ScalarFn::Max | ScalarFn::Min)), [a, b]) => self.emit_wide_extreme(of, *a, *b),
            _ => return Err("an operation without a vector form".to_owned()),
        })
    }
}

/// Returns the flags of accesses to array elements, which need not be aligned for vectors.
pub(crate) fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

pub(crate) fn little_endian() -> MemFlagsData {
    MemFlagsData::new().with_endianness(ir::Endianness::Little)
}

//! Innermost loops two elements at a time. The loop runs in steps of several vectors, each with accumulators of its own, and
//! what is left runs as a loop over elements. What has no form for vectors is done for each lane.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use lang_core::ir::core::Operation;
use lang_core::ir::reduce::Reducer;
use lang_core::ir::ssa::{Access, Rhs, Var};
use lang_core::predicate::{Atom, LocalId, Poly, Pred};
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::schedule::{Join, Loop, Node, Set};
use lang_core::syntax::ops::{BinOp, Scalar};

use crate::generate::{Generator, Made, mentions};

/// Elements in a vector.
pub(crate) const LANES: i64 = 2;

/// Vectors in a step of a loop, and statements beyond which there is one alone.
const UNROLLED: usize = 4;
const LONG: usize = 12;

/// What is different where several elements are done at once.
#[derive(Default)]
pub(crate) struct Wide {
    /// Elements that are in vectors now.
    pub(crate) registers: HashMap<Var, Variable>,
    /// The lane that is done by itself.
    pub(crate) lane: Option<u8>,
}

/// The steps of a loop over vectors.
pub(crate) struct Steps<'g> {
    pub(crate) of: &'g Loop,
    sets: Vec<&'g Set>,
    /// Accumulators, one for each vector of a step.
    sums: HashMap<Var, Vec<Variable>>,
    pub(crate) count: usize,
}

impl<'g> Steps<'g> {
    pub(crate) fn new(of: &'g Loop, sets: Vec<&'g Set>) -> Self {
        let count = if sets.len() > LONG { 1 } else { UNROLLED };
        Self { of, sets, sums: HashMap::new(), count }
    }
}

impl<'g> Generator<'g> {
    /// The statements of a loop that can be done so.
    fn wide_sets(&self, of: &'g Loop) -> Option<Vec<&'g Set>> {
        if of.in_order {
            return None;
        }
        let mut sets = Vec::new();
        for node in &of.body {
            let Node::Set(set) = node else { return None };
            sets.push(set);
        }
        let own = HashSet::from([of.index.local]);
        let mut accumulated = HashSet::new();
        for set in &sets {
            if self.is_mask(set) {
                continue;
            }
            if self.scalar(set.var) != Scalar::F64 {
                return None;
            }
            let moves = set.at.iter().any(|p| mentions(p, &own));
            match (self.registers.contains_key(&set.var), set.join) {
                // What is joined where the loop does not move is an accumulator, and there is one statement for it.
                (true, Some(_)) if accumulated.insert(set.var) => {}
                (true, None) => {}
                (false, _) if moves && self.is_inside(set) => {}
                _ => return None,
            }
        }
        (!sets.is_empty()).then_some(sets)
    }

    /// Is the element that is set always there?
    fn is_inside(&self, set: &Set) -> bool {
        let Ok(place) = self.place(set.var) else { return false };
        let mut axes = place.axes.iter().zip(&set.at);
        axes.all(|(n, p)| n.as_ref().is_none_or(|n| self.context.implies(&Pred::inside(p, n))))
    }

    /// Runs as much of a loop as can be done by vectors; where the rest begins. The context knows the loop's index.
    pub(crate) fn widened(&mut self, of: &'g Loop, from: Value, to: Value) -> Made<Value> {
        let Some(sets) = self.wide_sets(of) else { return Ok(from) };
        if self.has_strips(&sets) {
            // Tiles have no truth values.
            if sets.iter().any(|set| self.is_mask(set)) {
                return Ok(from);
            }
            return self.strips(of, &sets, from, to);
        }
        let mut steps = Steps::new(of, sets);
        let count = steps.count;
        self.begin_sums(&mut steps)?;
        let step = self.int(LANES * i64::try_from(count).unwrap_or(1));
        let last = self.builder.ins().isub(to, step);
        let (head, body) = (self.builder.create_block(), self.builder.create_block());
        let after = self.builder.create_block();
        self.builder.append_block_param(head, types::I64);
        self.builder.ins().jump(head, &[from.into()]);
        self.builder.switch_to_block(head);
        let at = *self.builder.block_params(head).first().ok_or("an index")?;
        let more = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, at, last);
        self.builder.ins().brif(more, body, &[], after, &[]);
        self.builder.switch_to_block(body);
        let mut here = at;
        let lanes = self.int(LANES);
        for nth in 0..count {
            self.loops.insert(of.index.local, here);
            for set in steps.sets.clone() {
                self.wide_set(&steps, set, nth)?;
            }
            here = self.builder.ins().iadd(here, lanes);
        }
        self.wide.registers.clear();
        self.poll(head, here);
        self.builder.switch_to_block(after);
        self.end_sums(&steps)?;
        Ok(at)
    }

    pub(crate) fn begin_sums(&mut self, steps: &mut Steps<'g>) -> Made<()> {
        for set in steps.sets.clone() {
            let (Some(join), Some(register)) = (set.join, self.registers.get(&set.var).copied()) else { continue };
            let mut sums = Vec::new();
            for _ in 0..steps.count {
                let first = match join {
                    Join::Sum => self.builder.ins().f64const(0.0),
                    Join::Reduce(Reducer::Prod) => self.builder.ins().f64const(1.0),
                    Join::Reduce(_) => self.builder.use_var(register),
                };
                let first = self.builder.ins().splat(types::F64X2, first);
                let sum = self.builder.declare_var(types::F64X2);
                self.builder.def_var(sum, first);
                sums.push(sum);
            }
            steps.sums.insert(set.var, sums);
        }
        Ok(())
    }

    pub(crate) fn end_sums(&mut self, steps: &Steps<'g>) -> Made<()> {
        for set in &steps.sets {
            let (Some(join), Some(register)) = (set.join, self.registers.get(&set.var).copied()) else { continue };
            let mut all: Vec<Value> = Vec::new();
            for sum in steps.sums.get(&set.var).into_iter().flatten() {
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
            let mut value = self.builder.use_var(register);
            for lane in [0_u8, 1] {
                let one = self.builder.ins().extractlane(vector, lane);
                value = self.joined(join, Scalar::F64, value, one)?;
            }
            self.builder.def_var(register, value);
        }
        Ok(())
    }

    fn wide_joined(&mut self, join: Join, a: Value, b: Value) -> Made<Value> {
        Ok(match join {
            Join::Sum => self.builder.ins().fadd(a, b),
            Join::Reduce(Reducer::Prod) => self.builder.ins().fmul(a, b),
            Join::Reduce(Reducer::Max) => self.wide_extreme(FloatCC::GreaterThanOrEqual, a, b),
            Join::Reduce(Reducer::Min) => self.wide_extreme(FloatCC::LessThanOrEqual, a, b),
            Join::Reduce(Reducer::Argmax | Reducer::Argmin) => return Err("a place".to_owned()),
        })
    }

    fn wide_extreme(&mut self, by: FloatCC, a: Value, b: Value) -> Value {
        let better = self.builder.ins().fcmp(by, a, b);
        let is_nan = self.builder.ins().fcmp(FloatCC::Unordered, a, a);
        let first = self.builder.ins().bor(better, is_nan);
        let first = self.builder.ins().bitcast(types::F64X2, little(), first);
        self.builder.ins().bitselect(first, a, b)
    }

    fn wide_set(&mut self, steps: &Steps<'g>, set: &'g Set, nth: usize) -> Made<()> {
        let index = steps.of.index.local;
        let term = match self.is_mask(set) {
            true => self.mask_value(index, &set.rhs)?,
            false => self.wide_value(index, &set.rhs)?,
        };
        self.wide_put(steps, set, nth, term)
    }

    /// Elements are these, or have them for more terms.
    pub(crate) fn wide_put(&mut self, steps: &Steps<'g>, set: &'g Set, nth: usize, term: Value) -> Made<()> {
        if self.registers.contains_key(&set.var) {
            match set.join {
                Some(join) => {
                    let sum = steps.sums.get(&set.var).and_then(|s| s.get(nth)).copied().ok_or("a sum")?;
                    let before = self.builder.use_var(sum);
                    let value = self.wide_joined(join, before, term)?;
                    self.builder.def_var(sum, value);
                }
                None => {
                    let register =
                        self.builder.declare_var(if self.is_mask(set) { types::I64X2 } else { types::F64X2 });
                    self.builder.def_var(register, term);
                    self.wide.registers.insert(set.var, register);
                }
            }
            return Ok(());
        }
        let index = steps.of.index.local;
        if self.step(set.var, &set.at, index) == Some(1) {
            let address = self.address(set.var, &set.at)?;
            let value = match set.join {
                None => term,
                Some(join) => {
                    let before = self.builder.ins().load(types::F64X2, unaligned(), address, 0);
                    self.wide_joined(join, before, term)?
                }
            };
            self.builder.ins().store(unaligned(), value, address, 0);
            return Ok(());
        }
        let first = self.loops.get(&index).copied().ok_or("an index")?;
        for lane in [0_u8, 1] {
            let one = self.builder.ins().extractlane(term, lane);
            self.at_lane(index, first, lane);
            let address = self.address(set.var, &set.at)?;
            let value = match set.join {
                None => one,
                Some(join) => {
                    let before = self.builder.ins().load(types::F64, unaligned(), address, 0);
                    self.joined(join, Scalar::F64, before, one)?
                }
            };
            self.builder.ins().store(unaligned(), value, address, 0);
        }
        self.at_all(index, first);
        Ok(())
    }

    fn at_lane(&mut self, index: LocalId, first: Value, lane: u8) {
        let by = self.int(i64::from(lane));
        let here = self.builder.ins().iadd(first, by);
        self.loops.insert(index, here);
        self.wide.lane = Some(lane);
    }

    fn at_all(&mut self, index: LocalId, first: Value) {
        self.loops.insert(index, first);
        self.wide.lane = None;
    }

    /// How many elements further the next value of an index is: none where it does not matter, one where the elements lie
    /// side by side; else not told.
    fn step(&self, var: Var, at: &[Poly], index: LocalId) -> Option<i64> {
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

    pub(crate) fn wide_element(&mut self, index: LocalId, of: &Access) -> Made<Value> {
        if let Some(register) = self.wide.registers.get(&of.var) {
            return Ok(self.builder.use_var(*register));
        }
        if self.is_in_tile(of.var) {
            return self.kept_in_tile(of.var, types::F64X2);
        }
        let own = HashSet::from([index]);
        let uniform = self.registers.contains_key(&of.var) || !of.at.iter().any(|p| mentions(p, &own));
        if uniform {
            let one = self.element(of)?;
            return Ok(self.builder.ins().splat(types::F64X2, one));
        }
        let side_by_side = self.written(of.var).is_none() && self.step(of.var, &of.at, index) == Some(1);
        let place = self.place(of.var).ok();
        let inside = place.is_some_and(|place| {
            let mut axes = place.axes.iter().zip(&of.at);
            axes.all(|(n, p)| n.as_ref().is_none_or(|n| self.context.implies(&Pred::inside(p, n))))
        });
        if side_by_side && inside {
            let address = self.address(of.var, &of.at)?;
            let given = self.memory.get(&of.var).is_some_and(|m| !m.written);
            let flags = if given && self.moves(of.var, &of.at)? {
                unaligned().with_readonly().with_can_move()
            } else {
                unaligned()
            };
            return Ok(self.builder.ins().load(types::F64X2, flags, address, 0));
        }
        self.by_lanes(index, &mut |this| this.element(of))
    }

    fn wide_constant(&mut self, x: f64) -> Value {
        let x = self.builder.ins().f64const(x);
        self.builder.ins().splat(types::F64X2, x)
    }

    /// Of each lane the one where this holds, else the other.
    fn wide_choice(&mut self, by: FloatCC, a: Value, b: Value, one: Value, other: Value) -> Value {
        let holds = self.builder.ins().fcmp(by, a, b);
        let holds = self.builder.ins().bitcast(types::F64X2, little(), holds);
        self.builder.ins().bitselect(holds, one, other)
    }

    /// A value for each lane, put side by side.
    fn by_lanes(&mut self, index: LocalId, f: &mut dyn FnMut(&mut Self) -> Made<Value>) -> Made<Value> {
        let [low, high] = self.lanes(index, f)?;
        let both = self.builder.ins().splat(types::F64X2, low);
        Ok(self.builder.ins().insertlane(both, high, 1))
    }

    /// A value for each lane.
    pub(crate) fn lanes(&mut self, index: LocalId, f: &mut dyn FnMut(&mut Self) -> Made<Value>) -> Made<[Value; 2]> {
        let first = self.loops.get(&index).copied().ok_or("an index")?;
        self.at_lane(index, first, 0);
        let low = f(self)?;
        self.at_lane(index, first, 1);
        let high = f(self)?;
        self.at_all(index, first);
        Ok([low, high])
    }

    /// The lanes where the predicate holds; else zero.
    fn wide_guarded(&mut self, index: LocalId, p: &Pred, value: Value) -> Made<Value> {
        if p.is_true() || self.context.implies(p) {
            return Ok(value);
        }
        if self.varies(p, &HashSet::from([index])) {
            let mask = self.mask(index, p)?;
            return Ok(self.masked(mask, value));
        }
        let holds = self.pred(p)?;
        let zero = self.builder.ins().f64const(0.0);
        let zero = self.builder.ins().splat(types::F64X2, zero);
        Ok(self.builder.ins().select(holds, value, zero))
    }

    pub(crate) fn wide_value(&mut self, index: LocalId, rhs: &'g Rhs) -> Made<Value> {
        match rhs {
            Rhs::Add(items) => {
                let mut sum: Option<Value> = None;
                for item in items {
                    let term = self.wide_element(index, &item.of)?;
                    let term = if item.neg && sum.is_none() { self.builder.ins().fneg(term) } else { term };
                    let term = self.wide_guarded(index, &item.pred, term)?;
                    sum = Some(match sum {
                        None => term,
                        Some(sum) if item.neg => self.builder.ins().fsub(sum, term),
                        Some(sum) => self.builder.ins().fadd(sum, term),
                    });
                }
                sum.ok_or_else(|| "a sum of nothing".to_owned())
            }
            Rhs::Contract { pred, neg, factors, .. } => {
                let mut product: Option<Value> = None;
                for factor in factors {
                    let factor = self.wide_element(index, factor)?;
                    product = Some(match product {
                        None => factor,
                        Some(product) => self.builder.ins().fmul(product, factor),
                    });
                }
                let product = product.ok_or("a product of nothing")?;
                let product = if *neg { self.builder.ins().fneg(product) } else { product };
                self.wide_guarded(index, pred, product)
            }
            Rhs::Reduce(r) => self.wide_element(index, &r.of),
            Rhs::Zero => Ok(self.wide_constant(0.0)),
            Rhs::Map { operation, pred, args } if self.has_wide(*operation, args) => {
                let mut operands = Vec::new();
                for arg in args {
                    if self.scalar(arg.var) == Scalar::F64 {
                        operands.push(self.wide_element(index, arg)?);
                    }
                }
                let exponent = args.get(1).and_then(|a| self.whole(a.var));
                let value = self.wide_operation(*operation, &operands, exponent)?;
                self.wide_guarded(index, pred, value)
            }
            rhs => self.by_lanes(index, &mut |this| this.value(rhs, Scalar::F64)),
        }
    }

    /// Does a predicate have another value for another index?
    pub(crate) fn varies(&self, p: &Pred, own: &HashSet<LocalId>) -> bool {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().any(|p| self.varies(p, own)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => mentions(p, own),
            Pred::Is(_, _, at, _) | Pred::Member(_, _, at, _) => at.iter().any(|p| mentions(p, own)),
            Pred::Any(_, body, _) => self.varies(body, own),
        }
    }

    fn has_wide(&self, operation: Operation, args: &[Access]) -> bool {
        let real = |a: &Access| self.scalar(a.var) == Scalar::F64;
        match operation {
            Operation::Stop => args.iter().all(real),
            Operation::Binary(BinOp::Div) => args.iter().all(real),
            Operation::PowInt => {
                args.first().is_some_and(real)
                    && args.get(1).and_then(|a| self.whole(a.var)).is_some_and(|k| (1..=64).contains(&k))
            }
            Operation::Scalar(f) => {
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

    fn wide_operation(&mut self, operation: Operation, operands: &[Value], exponent: Option<i64>) -> Made<Value> {
        Ok(match (operation, operands) {
            (Operation::Stop, [a]) => *a,
            (Operation::Binary(BinOp::Div), [a, b]) => self.builder.ins().fdiv(*a, *b),
            (Operation::PowInt, [x]) => self.power(*x, exponent.unwrap_or(1)),
            (Operation::Scalar(ScalarFn::Sqrt), [a]) => self.builder.ins().sqrt(*a),
            (Operation::Scalar(ScalarFn::Abs), [a]) => self.builder.ins().fabs(*a),
            (Operation::Scalar(ScalarFn::Floor), [a]) => self.builder.ins().floor(*a),
            (Operation::Scalar(ScalarFn::Ceil), [a]) => self.builder.ins().ceil(*a),
            (Operation::Scalar(ScalarFn::Trunc), [a]) => self.builder.ins().trunc(*a),
            (Operation::Scalar(ScalarFn::Round), [a]) => self.builder.ins().nearest(*a),
            (Operation::Scalar(ScalarFn::Sign), [a]) => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|x| self.wide_constant(x));
                let rest = self.wide_choice(FloatCC::Unordered, *a, *a, *a, zero);
                let rest = self.wide_choice(FloatCC::LessThan, *a, zero, minus, rest);
                self.wide_choice(FloatCC::GreaterThan, *a, zero, one, rest)
            }
            (Operation::Scalar(ScalarFn::Relu), [a]) => {
                let zero = self.wide_constant(0.0);
                self.wide_choice(FloatCC::UnorderedOrGreaterThan, *a, zero, *a, zero)
            }
            (Operation::Scalar(ScalarFn::Max), [a, b]) => self.wide_extreme(FloatCC::GreaterThanOrEqual, *a, *b),
            (Operation::Scalar(ScalarFn::Min), [a, b]) => self.wide_extreme(FloatCC::LessThanOrEqual, *a, *b),
            _ => return Err("an operation that vectors do not have".to_owned()),
        })
    }
}

/// Elements of an array are where they are.
pub(crate) fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

pub(crate) fn little() -> MemFlagsData {
    MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little)
}

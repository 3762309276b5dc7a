//! **Unroll and jam.** Runs several iterations of a loop at once, if a loop within it is a
//! vectorised sum. They share loads, and their sums are independent, so none waits for another. The
//! statements before and after the inner loop run for one iteration after the other.

use std::collections::{BTreeSet, HashMap};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use lang_core::ir::ssa::StmtId;
use lang_core::nest::{Assignment, NestLoop, NestNode};
use lang_core::predicate::{Atom, Poly};

use crate::addressing::LoopCounter;
use crate::generate::{CountedLoop, EmitResult, Generator, clif_type};
use crate::vectorise::{VectorLanes, VectorLoop};

/// The number of iterations that run at once. All vectors of their steps use as many accumulators
/// as registers can hold beside the terms. A step is that of every other loop, so that a sum has
/// the same bits wherever it is computed.
const JAMMED_ITERATIONS: i64 = 2;

/// The number of statements of the inner loop beyond which iterations are not jammed.
const MAX_JAMMED_STATEMENTS: usize = 6;

/// A loop whose iterations can be jammed.
struct JammableLoop<'g> {
    before: &'g [NestNode],
    inner: &'g NestLoop,
    lanes: VectorLanes,
    sets: Vec<&'g Assignment>,
    after: &'g [NestNode],
    /// The scalars that are private to each iteration.
    private_scalars: BTreeSet<StmtId>,
}

/// The state of one of the iterations.
struct JammedIteration<'g> {
    index: LoopCounter,
    registers: HashMap<StmtId, Variable>,
    wide: HashMap<StmtId, Variable>,
    steps: VectorLoop<'g>,
}

impl<'g> Generator<'g> {
    fn jammable_loop(&self, of: &'g NestLoop) -> Option<JammableLoop<'g>> {
        let at = of.body.iter().position(|node| matches!(node, NestNode::Loop(_)))?;
        let (before, rest) = of.body.split_at_checked(at)?;
        let (NestNode::Loop(inner), after) = rest.split_first()? else { return None };
        if of.is_sequential || before.iter().chain(after).any(has_loops) {
            return None;
        }
        // The inner loop must have the same trip count for all of them.
        let is_same = |p: &Poly| {
            let mut same = true;
            p.for_each_atom(&mut |a| same &= !matches!(a, Atom::Read(..)) && *a != of.index.atom());
            same
        };
        if !inner.lower_bounds.iter().chain(&inner.upper_bounds).chain([&inner.index.extent]).all(is_same) {
            return None;
        }
        let (lanes, sets) = self.wide_sets(inner)?;
        if sets.len() > MAX_JAMMED_STATEMENTS || self.has_strips(&sets) {
            return None;
        }
        // Each iteration must initialise its own scalars. The best term of an arg-reduction is
        // stored elsewhere, so it is excluded.
        let mut own = BTreeSet::new();
        for node in before {
            match node {
                NestNode::Fill(var, ..) => drop(own.insert(*var)),
                NestNode::Assign(set) if set.accumulate.is_none() => drop(own.insert(set.var)),
                _ => return None,
            }
        }
        own.extend(sets.iter().filter(|set| set.accumulate.is_none()).map(|set| set.var));
        let mut sums = sets.iter().filter(|set| set.accumulate.is_some());
        let one = sums.next().is_some_and(|set| own.contains(&set.var)) && sums.next().is_none();
        let is_number = |var: &StmtId| self.registers.contains_key(var) && self.extreme_type(*var).is_none();
        let alone = own.iter().chain(sets.iter().map(|set| &set.var)).all(is_number);
        (one && alone).then_some(JammableLoop { before, inner, lanes, sets, after, private_scalars: own })
    }

    /// Emits the part of a loop that can be jammed, and returns the first index of the rest. The
    /// caller must have added the facts of the loop's index.
    pub(crate) fn emit_jammed(&mut self, of: &'g NestLoop, from: Value, to: Value) -> EmitResult<Value> {
        let Some(jam) = self.jammable_loop(of) else { return Ok(from) };
        self.wide.lanes = jam.lanes;
        let some = self.int(JAMMED_ITERATIONS);
        let last = self.builder.ins().isub(to, some);
        let CountedLoop { head, after, counter: at } = self.begin_loop(from, IntCC::SignedLessThanOrEqual, last)?;
        let outer = self.registers.clone();
        let mut copies = Vec::new();
        for nth in 0..JAMMED_ITERATIONS {
            let mut registers = outer.clone();
            for var in &jam.private_scalars {
                registers.insert(*var, self.builder.declare_var(clif_type(self.scalar(*var))));
            }
            let steps = VectorLoop::new(jam.inner, jam.sets.clone());
            copies.push(JammedIteration {
                index: LoopCounter::of(at).advanced(nth),
                registers,
                wide: HashMap::new(),
                steps,
            });
        }
        self.for_each_iteration(of, &mut copies, &mut |this, _| this.emit_nodes_before_loops(jam.before))?;
        self.emit_jammed_inner(of, &jam, &mut copies)?;
        self.for_each_iteration(of, &mut copies, &mut |this, _| this.emit_nodes(jam.after))?;
        self.registers = outer;
        let next = self.builder.ins().iadd(at, some);
        self.emit_poll(head, next);
        self.builder.switch_to_block(after);
        Ok(at)
    }

    /// Emits the inner loop for all the iterations: vectors, then the remainder.
    fn emit_jammed_inner(
        &mut self,
        of: &'g NestLoop,
        jam: &JammableLoop<'g>,
        copies: &mut [JammedIteration<'g>],
    ) -> EmitResult<()> {
        let index = jam.inner.index.local;
        let (from, to) = self.range(jam.inner)?;
        let mark = self.context.mark();
        self.enter_loop(jam.inner);
        self.for_each_iteration(of, copies, &mut |this, copy| this.begin_sums(&mut copy.steps))?;
        let count = copies.first().map_or(1, |copy| copy.steps.vectors);
        let step = self.int(jam.lanes.elements_in(count));
        let last = self.builder.ins().isub(to, step);
        let CountedLoop { head, after, counter: at } = self.begin_loop(from, IntCC::SignedLessThanOrEqual, last)?;
        let mut here = LoopCounter::of(at);
        for nth in 0..count {
            self.loops.insert(index, here);
            for set in &jam.sets {
                self.for_each_iteration(of, copies, &mut |this, copy| this.wide_set(&copy.steps, set, nth))?;
            }
            here = here.advanced(jam.lanes.elements_in(1));
        }
        copies.iter_mut().for_each(|copy| copy.wide.clear());
        let next = self.counter_value(here);
        self.emit_poll(head, next);
        self.builder.switch_to_block(after);
        self.for_each_iteration(of, copies, &mut |this, copy| this.end_sums(&copy.steps))?;
        // The remainder of the inner loop.
        let CountedLoop { head, after, counter: at } = self.begin_loop(at, IntCC::SignedLessThan, to)?;
        self.loops.insert(index, LoopCounter::of(at));
        self.for_each_iteration(of, copies, &mut |this, _| this.emit_nodes(&jam.inner.body))?;
        let one = self.int(1);
        let next = self.builder.ins().iadd(at, one);
        self.builder.ins().jump(head, &[next.into()]);
        self.builder.switch_to_block(after);
        self.enclosing_loops.pop();
        self.context.release(mark);
        self.for_each_iteration(of, copies, &mut |this, _| this.move_accumulators(jam.inner))
    }

    /// Calls `f` for each of the iterations, in order, with its state installed.
    fn for_each_iteration(
        &mut self,
        of: &'g NestLoop,
        copies: &mut [JammedIteration<'g>],
        f: &mut dyn FnMut(&mut Self, &mut JammedIteration<'g>) -> EmitResult<()>,
    ) -> EmitResult<()> {
        for copy in copies {
            self.loops.insert(of.index.local, copy.index);
            std::mem::swap(&mut self.registers, &mut copy.registers);
            std::mem::swap(&mut self.wide.registers, &mut copy.wide);
            let done = f(self, copy);
            std::mem::swap(&mut self.wide.registers, &mut copy.wide);
            std::mem::swap(&mut self.registers, &mut copy.registers);
            done?;
        }
        Ok(())
    }
}

fn has_loops(node: &NestNode) -> bool {
    match node {
        NestNode::Loop(_) | NestNode::MatrixProduct(_) => true,
        NestNode::Let { body, .. } | NestNode::If(_, body) => body.iter().any(has_loops),
        NestNode::Assign(_) | NestNode::Fill(..) => false,
    }
}

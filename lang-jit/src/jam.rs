//! **Unroll and jam.** Runs several iterations of a loop at once, if a loop within it is a
//! vectorised sum. They share loads, and their sums are independent, so none waits for another. The
//! statements before and after the inner loop run for one iteration after the other.

use std::collections::{BTreeSet, HashMap};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use lang_core::ir::ssa::Var;
use lang_core::nest::{Loop, Node, Set};
use lang_core::predicate::{Atom, Poly};

use crate::generate::{Counted, Generator, Made, ty};
use crate::spots::Number;
use crate::vector::{Lanes, Steps};

/// The number of iterations that run at once. All vectors of their steps use as many accumulators
/// as registers can hold beside the terms. A step is that of every other loop, so that a sum has
/// the same bits wherever it is computed.
const AT_ONCE: i64 = 2;

/// The number of statements of the inner loop beyond which iterations are not jammed.
const LONG: usize = 6;

/// A loop whose iterations can be jammed.
struct Jam<'g> {
    before: &'g [Node],
    inner: &'g Loop,
    lanes: Lanes,
    sets: Vec<&'g Set>,
    after: &'g [Node],
    /// The scalars that are private to each iteration.
    own: BTreeSet<Var>,
}

/// The state of one of the iterations.
struct Copy<'g> {
    at: Number,
    registers: HashMap<Var, Variable>,
    wide: HashMap<Var, Variable>,
    steps: Steps<'g>,
}

impl<'g> Generator<'g> {
    fn jam(&self, of: &'g Loop) -> Option<Jam<'g>> {
        let at = of.body.iter().position(|node| matches!(node, Node::Loop(_)))?;
        let (before, rest) = of.body.split_at_checked(at)?;
        let (Node::Loop(inner), after) = rest.split_first()? else { return None };
        if of.in_order || before.iter().chain(after).any(has_loops) {
            return None;
        }
        // The inner loop must have the same trip count for all of them.
        let is_same = |p: &Poly| {
            let mut same = true;
            p.for_each_atom(&mut |a| same &= !matches!(a, Atom::Read(..)) && *a != of.index.atom());
            same
        };
        if !inner.from.iter().chain(&inner.to).chain([&inner.index.extent]).all(is_same) {
            return None;
        }
        let (lanes, sets) = self.wide_sets(inner)?;
        if sets.len() > LONG || self.has_strips(&sets) {
            return None;
        }
        // Each iteration must initialise its own scalars. The best term of an arg-reduction is
        // stored elsewhere, so it is excluded.
        let mut own = BTreeSet::new();
        for node in before {
            match node {
                Node::Clear(var, ..) => drop(own.insert(*var)),
                Node::Set(set) if set.join.is_none() => drop(own.insert(set.var)),
                _ => return None,
            }
        }
        own.extend(sets.iter().filter(|set| set.join.is_none()).map(|set| set.var));
        let mut sums = sets.iter().filter(|set| set.join.is_some());
        let one = sums.next().is_some_and(|set| own.contains(&set.var)) && sums.next().is_none();
        let is_number = |var: &Var| self.registers.contains_key(var) && self.chosen_of(*var).is_none();
        let alone = own.iter().chain(sets.iter().map(|set| &set.var)).all(is_number);
        (one && alone).then_some(Jam { before, inner, lanes, sets, after, own })
    }

    /// Emits the part of a loop that can be jammed, and returns the first index of the rest. The
    /// caller must have added the facts of the loop's index.
    pub(crate) fn several(&mut self, of: &'g Loop, from: Value, to: Value) -> Made<Value> {
        let Some(jam) = self.jam(of) else { return Ok(from) };
        self.wide.lanes = jam.lanes;
        let some = self.int(AT_ONCE);
        let last = self.builder.ins().isub(to, some);
        let Counted { head, after, at } = self.begin(from, IntCC::SignedLessThanOrEqual, last)?;
        let outer = self.registers.clone();
        let mut copies = Vec::new();
        for nth in 0..AT_ONCE {
            let mut registers = outer.clone();
            for var in &jam.own {
                registers.insert(*var, self.builder.declare_var(ty(self.scalar(*var))));
            }
            let steps = Steps::new(jam.inner, jam.sets.clone());
            copies.push(Copy { at: Number::of(at).plus(nth), registers, wide: HashMap::new(), steps });
        }
        self.for_each(of, &mut copies, &mut |this, _| this.nodes_before_loops(jam.before))?;
        self.inner(of, &jam, &mut copies)?;
        self.for_each(of, &mut copies, &mut |this, _| this.nodes(jam.after))?;
        self.registers = outer;
        let next = self.builder.ins().iadd(at, some);
        self.poll(head, next);
        self.builder.switch_to_block(after);
        Ok(at)
    }

    /// Emits the inner loop for all the iterations: vectors, then the remainder.
    fn inner(&mut self, of: &'g Loop, jam: &Jam<'g>, copies: &mut [Copy<'g>]) -> Made<()> {
        let index = jam.inner.index.local;
        let (from, to) = self.range(jam.inner)?;
        let mark = self.context.mark();
        self.enter(jam.inner);
        self.for_each(of, copies, &mut |this, copy| this.begin_sums(&mut copy.steps))?;
        let count = copies.first().map_or(1, |copy| copy.steps.count);
        let step = self.int(jam.lanes.in_vectors(count));
        let last = self.builder.ins().isub(to, step);
        let Counted { head, after, at } = self.begin(from, IntCC::SignedLessThanOrEqual, last)?;
        let mut here = Number::of(at);
        for nth in 0..count {
            self.loops.insert(index, here);
            for set in &jam.sets {
                self.for_each(of, copies, &mut |this, copy| this.wide_set(&copy.steps, set, nth))?;
            }
            here = here.plus(jam.lanes.in_vectors(1));
        }
        copies.iter_mut().for_each(|copy| copy.wide.clear());
        let next = self.number(here);
        self.poll(head, next);
        self.builder.switch_to_block(after);
        self.for_each(of, copies, &mut |this, copy| this.end_sums(&copy.steps))?;
        // The remainder of the inner loop.
        let Counted { head, after, at } = self.begin(at, IntCC::SignedLessThan, to)?;
        self.loops.insert(index, Number::of(at));
        self.for_each(of, copies, &mut |this, _| this.nodes(&jam.inner.body))?;
        let one = self.int(1);
        let next = self.builder.ins().iadd(at, one);
        self.builder.ins().jump(head, &[next.into()]);
        self.builder.switch_to_block(after);
        self.around.pop();
        self.context.release(mark);
        self.for_each(of, copies, &mut |this, _| this.settled(jam.inner))
    }

    /// Calls `f` for each of the iterations, in order, with its state installed.
    fn for_each(
        &mut self,
        of: &'g Loop,
        copies: &mut [Copy<'g>],
        f: &mut dyn FnMut(&mut Self, &mut Copy<'g>) -> Made<()>,
    ) -> Made<()> {
        for copy in copies {
            self.loops.insert(of.index.local, copy.at);
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

fn has_loops(node: &Node) -> bool {
    match node {
        Node::Loop(_) | Node::Product(_) => true,
        Node::Told { body, .. } | Node::If(_, body) => body.iter().any(has_loops),
        Node::Set(_) | Node::Clear(..) => false,
    }
}

//! **Code generation** from a kernel's loop nest to Cranelift IR; [`crate::function`] calls it.
//!
//! Loops become loops of basic blocks, and elements without memory become variables. If a loop
//! accumulates into an element whose indices do not mention the loop's index, the element is in a
//! variable while the loop runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use lang_core::ir::core::Constant;
use lang_core::ir::reduce::Reducer;
use lang_core::ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, substitute_indices};
use lang_core::nest::{
    Accumulation, Assignment, Kernel, KernelStorage, MatrixProduct, NestLoop, NestNode, StorageRole,
};
use lang_core::opt::kernel_statements::is_trivial;
use lang_core::predicate::{Atom, FactContext, LocalId, Poly, Pred};
use lang_core::syntax::ops::Scalar;

use crate::addressing::{ElementAddress, LoopCounter};
use crate::argument_layout::{FLAG, POOL, PROGRESS, argument_words, is_written};
use crate::matrix_product::{IS_F32, IS_MASKED, IS_NEGATED, PRODUCT_WORDS, ProductArgument};
use crate::runtime_calls::RuntimeOp;
use crate::strip_mine::Strip;
use crate::vectorise::VectorState;

/// The number of iterations between two progress reports, for innermost loops and for loops that
/// contain loops. A report costs some hundred additions. Powers of two.
const INNERMOST_REPORT_INTERVAL: i64 = 1 << 14;
const OUTER_REPORT_INTERVAL: i64 = 1 << 4;

/// A result; the error is the reason why the kernel has no code.
pub(crate) type EmitResult<T> = Result<T, String>;

pub(crate) fn clif_type(scalar: Scalar) -> ir::Type {
    match scalar {
        Scalar::F64 => types::F64,
        Scalar::F32 => types::F32,
        Scalar::I64 => types::I64,
        Scalar::Bool => types::I8,
    }
}

/// The operations that the code calls.
pub(crate) type RuntimeOps = Vec<Arc<RuntimeOp>>;

/// The memory of a place.
#[derive(Clone)]
pub(crate) struct PlaceMemory {
    pub(crate) address: Value,
    /// The extents of its axes, and the distance in bytes between elements along each.
    pub(crate) extents: Vec<Value>,
    pub(crate) strides: Vec<Value>,
    /// Whether it has elements.
    pub(crate) has_elements: Value,
    pub(crate) is_written: bool,
}

/// A loop that was begun: its header, the block after it, and its counter.
pub(crate) struct CountedLoop {
    pub(crate) head: Block,
    pub(crate) after: Block,
    pub(crate) counter: Value,
}

pub(crate) struct Generator<'g> {
    pub(crate) builder: FunctionBuilder<'g>,
    pub(crate) ssa: &'g SsaFunction,
    places: HashMap<StmtId, &'g KernelStorage>,
    kernel: &'g Kernel,
    pub(crate) memory: HashMap<StmtId, PlaceMemory>,
    pub(crate) integers: HashMap<Atom, Value>,
    pub(crate) loops: HashMap<LocalId, LoopCounter>,
    /// Elements that are in a variable at this point.
    pub(crate) registers: HashMap<StmtId, Variable>,
    /// For each place of an extreme: the variable with the best term so far.
    pub(crate) best_terms: HashMap<StmtId, Variable>,
    flag: Value,
    interrupted: Block,
    pub(crate) apply: ir::FuncRef,
    multiply: ir::FuncRef,
    /// The function that an outermost loop calls to report progress. The next field is the address
    /// of the receiver.
    pub(crate) report: Option<ir::FuncRef>,
    progress_receiver: Value,
    pool: Value,
    pub(crate) operations: RuntimeOps,
    pub(crate) context: FactContext,
    /// The enclosing loops, outermost first.
    pub(crate) enclosing_loops: Vec<&'g NestLoop>,
    /// Whether loops follow the current statement among its siblings.
    pub(crate) has_loops: bool,
    /// Whether the kernel calls an operation.
    pub(crate) has_calls: bool,
    pub(crate) sizes: Vec<Poly>,
    /// Memo of [`Self::can_move`]: whether an index is proved to be below an extent by the facts of
    /// this many outermost loops alone.
    pub(crate) in_bounds_memo: HashMap<(Poly, Poly, usize), bool>,
    pub(crate) wide: VectorState,
    pub(crate) strip: Strip,
    /// The factors of reals that are products.
    pub(crate) products: HashMap<Value, (Value, Value)>,
    /// Whether the processor has a fused multiply-add.
    pub(crate) fused: bool,
}

impl<'g> Generator<'g> {
    pub(crate) fn new(
        mut builder: FunctionBuilder<'g>,
        ssa: &'g SsaFunction,
        kernel: &'g Kernel,
        [apply, multiply]: [ir::FuncRef; 2],
        fused: bool,
    ) -> EmitResult<Self> {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let stopped = builder.create_block();
        let arguments = *builder.block_params(entry).first().ok_or("the kernel has no argument")?;
        let word = |builder: &mut FunctionBuilder<'g>, at: i32| {
            let flags = MemFlagsData::trusted().with_readonly();
            builder.ins().load(types::I64, flags, arguments, at * 8)
        };
        let flag = word(&mut builder, FLAG);
        let [receiver, pool] = [PROGRESS, POOL].map(|at| word(&mut builder, at));
        let (places, first) = argument_words(kernel);
        let mut memory = HashMap::new();
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        for of in places {
            let place = kernel.storage.iter().find(|p| p.var == of.var).ok_or("a place")?;
            let address = word(&mut builder, of.address);
            let extents: Vec<Value> = (1..=of.axes).map(|k| word(&mut builder, of.address + k)).collect();
            let mut step = builder.ins().iconst(types::I64, i64::from(clif_type(place.scalar).bytes()));
            let mut steps = Vec::new();
            for n in extents.iter().rev() {
                steps.push(step);
                step = builder.ins().imul(step, *n);
                step = spill_and_reload(&mut builder, step, types::I64);
            }
            steps.reverse();
            let some = builder.ins().icmp_imm_s(IntCC::NotEqual, step, 0);
            memory.insert(
                of.var,
                PlaceMemory { address, extents, strides: steps, has_elements: some, is_written: is_written(place) },
            );
        }
        let mut integers = HashMap::new();
        for (k, atom) in (0..).zip(&kernel.entry_integers) {
            integers.insert(atom.clone(), word(&mut builder, first + k));
        }
        let mut registers = HashMap::new();
        for place in kernel.storage.iter().filter(|p| p.is_register()) {
            registers.insert(place.var, builder.declare_var(clif_type(place.scalar)));
        }
        let places = kernel.storage.iter().map(|p| (p.var, p)).collect();
        let context = FactContext::new(&sizes);
        let loops = HashMap::new();
        let operations = Vec::new();
        let mut generator = Self {
            builder,
            ssa,
            places,
            kernel,
            memory,
            integers,
            loops,
            registers,
            best_terms: HashMap::new(),
            flag,
            interrupted: stopped,
            apply,
            multiply,
            report: None,
            progress_receiver: receiver,
            pool,
            operations,
            context,
            enclosing_loops: Vec::new(),
            has_loops: false,
            has_calls: false,
            sizes,
            in_bounds_memo: HashMap::new(),
            wide: VectorState::default(),
            strip: Strip::default(),
            products: HashMap::new(),
            fused,
        };
        let declared: Vec<(StmtId, Variable)> = generator.registers.iter().map(|(v, r)| (*v, *r)).collect();
        for (var, register) in declared {
            let zero = generator.zero(generator.scalar(var));
            generator.builder.def_var(register, zero);
        }
        Ok(generator)
    }

    pub(crate) fn emit_body(&mut self) -> EmitResult<()> {
        let kernel = self.kernel;
        let mut calls = false;
        kernel
            .body
            .iter()
            .for_each(|node| node.for_each_assignment(&mut |set| calls |= self.is_runtime_call(&set.rhs)));
        self.has_calls = calls;
        self.emit_nodes(&kernel.body)?;
        let done = self.builder.ins().iconst(types::I32, 0);
        self.builder.ins().return_(&[done]);
        self.builder.switch_to_block(self.interrupted);
        let interrupted = self.builder.ins().iconst(types::I32, 1);
        self.builder.ins().return_(&[interrupted]);
        Ok(())
    }

    pub(crate) fn emit_nodes(&mut self, nodes: &'g [NestNode]) -> EmitResult<()> {
        let around = self.has_loops;
        let mut loops = nodes.iter().filter(|node| !matches!(node, NestNode::Assign(_) | NestNode::Fill(..))).count();
        for node in nodes {
            loops -= usize::from(!matches!(node, NestNode::Assign(_) | NestNode::Fill(..)));
            self.has_loops = loops > 0;
            self.emit_node(node)?;
        }
        self.has_loops = around;
        Ok(())
    }

    /// Emits statements that loops follow.
    pub(crate) fn emit_nodes_before_loops(&mut self, nodes: &'g [NestNode]) -> EmitResult<()> {
        let around = std::mem::replace(&mut self.has_loops, true);
        let done = nodes.iter().try_for_each(|node| self.emit_node(node));
        self.has_loops = around;
        done
    }

    fn emit_node(&mut self, node: &'g NestNode) -> EmitResult<()> {
        match node {
            NestNode::Loop(of) => self.emit_loop(of),
            NestNode::Let { index, value, body } => {
                let at = self.poly(value)?;
                let extent = self.poly(&index.extent)?;
                self.loops.insert(index.local, LoopCounter::of(at));
                let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, at, extent);
                // A negative extent has no valid index.
                let some = self.is_positive(extent);
                let inside = self.builder.ins().band(inside, some);
                let mark = self.context.mark();
                self.context.assume_in_range(index);
                self.context.assume(&Pred::equal(&index.value(), value));
                self.emit_if(inside, body)?;
                self.context.release(mark);
                Ok(())
            }
            NestNode::If(p, body) if self.context.implies(p) => self.emit_nodes(body),
            NestNode::If(p, body) => {
                let holds = self.pred(p)?;
                let mark = self.context.mark();
                self.context.assume(p);
                self.emit_if(holds, body)?;
                self.context.release(mark);
                Ok(())
            }
            NestNode::MatrixProduct(of) => self.emit_matrix_product(of),
            NestNode::Fill(var, at, with) => self.emit_clear(*var, at, *with),
            NestNode::Assign(set) => self.emit_set(set),
        }
    }

    /// Returns whether all elements of a factor exist, independently of the data. Factors with
    /// data-dependent indices were gathered into a copy before.
    fn is_factor_in_bounds(&self, of: &MatrixProduct, access: &TensorAccess) -> EmitResult<bool> {
        let place = self.place(access.var)?;
        let along = |p: &Poly| of.indices.iter().any(|index| p.mentions(&index.atom()));
        let mut fixed = place.axes.iter().zip(&access.at).filter(|(_, p)| !along(p));
        Ok(fixed.all(|(n, p)| n.as_ref().is_none_or(|n| self.context.implies(&Pred::in_range(p, n)))))
    }

    fn is_positive(&mut self, n: Value) -> Value {
        let zero = self.int(0);
        self.builder.ins().icmp(IntCC::SignedGreaterThan, n, zero)
    }

    fn emit_if(&mut self, holds: Value, body: &'g [NestNode]) -> EmitResult<()> {
        let (inside, after) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(holds, inside, &[], after, &[]);
        self.builder.switch_to_block(inside);
        self.emit_nodes(body)?;
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }

    /// Emits a matrix product: a call, with its loops as fallback.
    fn emit_matrix_product(&mut self, of: &'g MatrixProduct) -> EmitResult<()> {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * PRODUCT_WORDS, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        let [m, n, k] = &of.indices;
        for (index, at) in [(m, ProductArgument::M), (n, ProductArgument::N), (k, ProductArgument::K)] {
            let extent = self.poly(&index.extent)?;
            self.builder.ins().stack_store(types::I64, extent, slot, at.offset());
        }
        let [a, b] = &of.factors;
        if !self.is_factor_in_bounds(of, a)? || !self.is_factor_in_bounds(of, b)? {
            return Err("a factor of a matrix product may be out of bounds".to_owned());
        }
        let result = TensorAccess { var: of.var, at: of.at.clone() };
        let operands = [
            (&result, ProductArgument::Result, [m, n]),
            (a, ProductArgument::First, [m, k]),
            (b, ProductArgument::Second, [k, n]),
        ];
        for (access, at, along) in operands {
            // The address of the first element, and the distance between elements along each index.
            let first = |p: &Poly| p.substitute(&|a| of.indices.iter().any(|i| i.atom() == *a).then(Poly::default));
            let start: Vec<Poly> = access.at.iter().map(first).collect();
            let address = self.address(access.var, &start)?;
            self.builder.ins().stack_store(types::I64, address, slot, at.offset());
            for (nth, index) in (1..).zip(along) {
                let step = self.stride_along(access, &index.value())?;
                self.builder.ins().stack_store(types::I64, step, slot, at.offset() + 8 * nth);
            }
        }
        for (value, at) in [(self.flag, ProductArgument::Flag), (self.pool, ProductArgument::Pool)] {
            self.builder.ins().stack_store(types::I64, value, slot, at.offset());
        }
        let kind = match self.scalar(of.var) {
            Scalar::F64 => 0,
            Scalar::F32 => IS_F32,
            _ => return Err("a matrix product of numbers that are not real".to_owned()),
        };
        let kind = kind | if of.neg { IS_NEGATED } else { 0 } | if of.is_masked { IS_MASKED } else { 0 };
        let kind = self.int(kind);
        self.builder.ins().stack_store(types::I64, kind, slot, ProductArgument::Kind.offset());
        let address = self.builder.ins().stack_addr(types::I64, slot, 0);
        let call = self.builder.ins().call(self.multiply, &[address]);
        let said = *self.builder.inst_results(call).first().ok_or("a result")?;
        let (on, loops, after) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, said, 0);
        self.builder.ins().brif(negative, self.interrupted, &[], on, &[]);
        self.builder.switch_to_block(on);
        self.builder.ins().brif(said, after, &[], loops, &[]);
        self.builder.switch_to_block(loops);
        self.emit_nodes(&of.fallback_loops)?;
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }

    /// Returns the distance in bytes between elements along an index.
    fn stride_along(&mut self, of: &TensorAccess, index: &Poly) -> EmitResult<Value> {
        let place = self.place(of.var)?;
        let memory = self.memory.get(&of.var).cloned().ok_or("a register where memory is required")?;
        let mut steps = memory.strides.iter();
        let mut sum = self.int(0);
        for (axis, p) in place.axes.iter().zip(&of.at) {
            let Some(step) = axis.as_ref().and_then(|_| steps.next()) else { continue };
            if p == index {
                sum = self.builder.ins().iadd(sum, *step);
            }
        }
        Ok(sum)
    }

    /// Computes the first index and the end of a loop.
    pub(crate) fn range(&mut self, of: &NestLoop) -> EmitResult<(Value, Value)> {
        let mut from = self.int(0);
        for p in &of.lower_bounds {
            let p = self.poly(p)?;
            from = self.builder.ins().smax(from, p);
        }
        let mut to = self.poly(&of.index.extent)?;
        for p in &of.upper_bounds {
            let p = self.poly(p)?;
            to = self.builder.ins().smin(to, p);
        }
        Ok((from, to))
    }

    /// Adds the facts that hold in a loop.
    pub(crate) fn enter_loop(&mut self, of: &'g NestLoop) {
        self.context.assume_in_range(&of.index);
        let value = of.index.value();
        of.lower_bounds.iter().for_each(|p| self.context.assume(&Pred::at_most(p, &value)));
        of.upper_bounds.iter().for_each(|p| self.context.assume(&Pred::less(&value, p)));
        self.enclosing_loops.push(of);
    }

    fn emit_loop(&mut self, of: &'g NestLoop) -> EmitResult<()> {
        let (from, to) = self.range(of)?;
        let kept = self.load_elements(of)?;
        let mark = self.context.mark();
        self.enter_loop(of);
        let begun = from;
        let from = self.emit_vectorised(of, from, to)?;
        let from = self.emit_jammed(of, from, to)?;
        // The remainder that vectors leave is short, so it needs no poll.
        let is_rest = from != begun;
        let CountedLoop { head, after, counter: at } = self.begin_loop(from, IntCC::SignedLessThan, to)?;
        self.loops.insert(of.index.local, LoopCounter::of(at));
        if let Some(goes_on) = &of.while_condition {
            let goes_on = self.element(goes_on)?;
            let on = self.builder.create_block();
            self.builder.ins().brif(goes_on, on, &[], after, &[]);
            self.builder.switch_to_block(on);
        }
        self.emit_nodes(&of.body)?;
        self.enclosing_loops.pop();
        self.context.release(mark);
        let one = self.int(1);
        let next = self.builder.ins().iadd(at, one);
        if let Some(tell) = self.report.filter(|_| of.is_sequential && self.enclosing_loops.is_empty()) {
            let long = of.body.iter().any(|node| !matches!(node, NestNode::Assign(_) | NestNode::Fill(..)));
            self.emit_progress_report(
                tell,
                next,
                to,
                if long { OUTER_REPORT_INTERVAL } else { INNERMOST_REPORT_INTERVAL },
            );
        }
        if is_rest {
            self.builder.ins().jump(head, &[next.into()]);
        } else {
            self.emit_poll(head, next);
        }
        self.builder.switch_to_block(after);
        self.move_accumulators(of)?;
        self.store_elements(kept)
    }

    /// Begins a loop that counts from `from` while the counter compares to `to` by `by`. The caller
    /// emits the body, and must end it with a jump to the header with the next counter.
    pub(crate) fn begin_loop(&mut self, from: Value, by: IntCC, to: Value) -> EmitResult<CountedLoop> {
        let (head, body, after) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.builder.append_block_param(head, types::I64);
        self.builder.ins().jump(head, &[from.into()]);
        self.builder.switch_to_block(head);
        let at = *self.builder.block_params(head).first().ok_or("an index")?;
        let more = self.builder.ins().icmp(by, at, to);
        self.builder.ins().brif(more, body, &[], after, &[]);
        self.builder.switch_to_block(body);
        Ok(CountedLoop { head, after, counter: at })
    }

    /// Emits a progress report every `of` iterations.
    fn emit_progress_report(&mut self, tell: ir::FuncRef, done: Value, all: Value, of: i64) {
        let (say, on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(say);
        let mask = self.int(of - 1);
        let some = self.builder.ins().band(done, mask);
        self.builder.ins().brif(some, on, &[], say, &[]);
        self.builder.switch_to_block(say);
        self.builder.ins().call(tell, &[self.progress_receiver, done, all]);
        self.builder.ins().jump(on, &[]);
        self.builder.switch_to_block(on);
    }

    /// Emits the jump to the next iteration, or to the exit if an interrupt was requested.
    pub(crate) fn emit_poll(&mut self, head: Block, next: Value) {
        let flag = self.builder.ins().atomic_load(types::I8, MemFlagsData::trusted(), self.flag);
        self.builder.ins().brif(flag, self.interrupted, &[], head, &[next.into()]);
    }

    /// Returns the right-hand side of a statement that is inlined at its uses.
    pub(crate) fn inlined_rhs(&self, var: StmtId) -> Option<&'g Rhs> {
        let stmt = self.ssa.stmts.get(var.0 as usize)?;
        (is_trivial(&stmt.rhs) && !self.places.contains_key(&var)).then_some(&stmt.rhs)
    }

    /// Returns the value of an integer constant.
    pub(crate) fn integer_constant(&self, var: StmtId) -> Option<i64> {
        if let Some(Rhs::Constant(Constant::Int(k))) = self.inlined_rhs(var) { Some(*k) } else { None }
    }

    // ---- elements ----

    pub(crate) fn place(&self, var: StmtId) -> EmitResult<&'g KernelStorage> {
        self.places.get(&var).copied().ok_or_else(|| format!("{} has no storage", var.name()))
    }

    pub(crate) fn scalar(&self, var: StmtId) -> Scalar {
        self.ssa.stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64)
    }

    pub(crate) fn element(&mut self, of: &TensorAccess) -> EmitResult<Value> {
        let scalar = self.scalar(of.var);
        if let Some(rhs) = self.inlined_rhs(of.var) {
            return match rhs {
                Rhs::Constant(c) => self.constant(*c, scalar),
                Rhs::Index(p) => self.poly(&substitute_indices(p, &of.at)),
                _ => Ok(self.zero(scalar)),
            };
        }
        if let (Some(lane), Some(register)) = (self.wide.lane, self.wide.registers.get(&of.var)) {
            let vector = self.builder.use_var(*register);
            let one = self.builder.ins().extractlane(vector, lane);
            if scalar != Scalar::Bool {
                return Ok(one);
            }
            let short = self.builder.ins().ireduce(types::I8, one);
            return Ok(self.builder.ins().ineg(short));
        }
        if self.is_in_tile(of.var) {
            return self.load_from_tile(of.var, clif_type(scalar));
        }
        if let Some(register) = self.registers.get(&of.var) {
            return Ok(self.builder.use_var(*register));
        }
        let ElementAddress { address, offset } = self.element_address(of.var, &of.at)?;
        let written = self.memory.get(&of.var).is_none_or(|m| m.is_written);
        let flags = MemFlagsData::trusted();
        let moves = !written && self.can_move(of.var, &of.at)?;
        let flags = if moves { flags.with_readonly().with_can_move() } else { flags };
        Ok(self.builder.ins().load(clif_type(scalar), flags, address, offset))
    }

    fn emit_clear(&mut self, var: StmtId, at: &'g [Option<Poly>], with: Constant) -> EmitResult<()> {
        let scalar = self.scalar(var);
        let value = self.constant(with, scalar)?;
        if let Some(of) = self.extreme_type(var) {
            self.begin_arg_reduction(var, of)?;
        }
        if let Some(register) = self.registers.get(&var) {
            let register = *register;
            self.builder.def_var(register, value);
            return Ok(());
        }
        let place = self.place(var)?;
        if place.role == StorageRole::Output && !place.is_fully_initialised && is_zero(with) {
            return Ok(());
        }
        let memory = self.memory.get(&var).cloned().ok_or("a register where memory is required")?;
        // The axes that are cleared as a whole become loops.
        let mut heads = Vec::new();
        let mut address = memory.address;
        let mut kept = memory.extents.iter().zip(&memory.strides);
        for (axis, p) in place.axes.iter().zip(at) {
            if axis.is_none() {
                continue;
            }
            let (n, step) = kept.next().ok_or("an axis")?;
            let index = match p {
                Some(p) => self.poly(p)?,
                None => {
                    let zero = self.int(0);
                    let counted = self.begin_loop(zero, IntCC::SignedLessThan, *n)?;
                    let index = counted.counter;
                    heads.push(counted);
                    index
                }
            };
            let offset = self.builder.ins().imul(index, *step);
            address = self.builder.ins().iadd(address, offset);
        }
        self.builder.ins().store(MemFlagsData::trusted(), value, address, 0);
        for (nth, CountedLoop { head, after, counter: at }) in heads.into_iter().enumerate().rev() {
            let one = self.int(1);
            let next = self.builder.ins().iadd(at, one);
            match nth {
                0 => self.emit_poll(head, next),
                _ => {
                    self.builder.ins().jump(head, &[next.into()]);
                }
            }
            self.builder.switch_to_block(after);
        }
        Ok(())
    }

    fn emit_set(&mut self, set: &'g Assignment) -> EmitResult<()> {
        if let (Rhs::Reduce(of), Some(_)) = (&set.rhs, self.extreme_type(set.var)) {
            return self.update_arg_reduction(set, of);
        }
        let term = self.value(&set.rhs, self.scalar(set.var))?;
        self.store_term(set, term)
    }

    /// Stores a value in an element, or joins it as one more term.
    pub(crate) fn store_term(&mut self, set: &'g Assignment, term: Value) -> EmitResult<()> {
        self.store_or_join(set, set.accumulate, term)
    }

    pub(crate) fn store_or_join(
        &mut self,
        set: &'g Assignment,
        join: Option<Accumulation>,
        term: Value,
    ) -> EmitResult<()> {
        let scalar = self.scalar(set.var);
        if let Some(register) = self.registers.get(&set.var).copied() {
            let value = match join {
                None if self.has_loops && !matches!(&set.rhs, Rhs::Contract { factors, .. } if factors.len() == 1) => {
                    self.pin_value(term, scalar)
                }
                None => term,
                Some(join) => {
                    let before = self.builder.use_var(register);
                    self.emit_join(join, scalar, before, term)?
                }
            };
            self.builder.def_var(register, value);
            return Ok(());
        }
        let place = self.place(set.var)?;
        let inside = place.axes.iter().zip(&set.at).filter_map(|(n, p)| Some(Pred::in_range(p, n.as_ref()?)));
        let safe = inside.clone().all(|p| self.context.implies(&p));
        let after = self.builder.create_block();
        if !safe {
            // Skips the store if an index is out of bounds.
            let mut holds = self.builder.ins().iconst(types::I8, 1);
            let memory = self.memory.get(&set.var).cloned().ok_or("a register where memory is required")?;
            let mut extents = memory.extents.iter();
            for (axis, p) in place.axes.iter().zip(&set.at) {
                if axis.is_some() {
                    let (index, n) = (self.poly(p)?, *extents.next().ok_or("an axis")?);
                    let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, n);
                    holds = self.builder.ins().band(holds, inside);
                }
            }
            let write = self.builder.create_block();
            self.builder.ins().brif(holds, write, &[], after, &[]);
            self.builder.switch_to_block(write);
        }
        let ElementAddress { address, offset } = self.element_address(set.var, &set.at)?;
        let value = match join {
            None => term,
            Some(join) => {
                let before = self.builder.ins().load(clif_type(scalar), MemFlagsData::trusted(), address, offset);
                self.emit_join(join, scalar, before, term)?
            }
        };
        self.builder.ins().store(MemFlagsData::trusted(), value, address, offset);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }

    pub(crate) fn emit_join(
        &mut self,
        join: Accumulation,
        scalar: Scalar,
        before: Value,
        term: Value,
    ) -> EmitResult<Value> {
        Ok(match join {
            Accumulation::Sum => self.plus(scalar, before, term),
            Accumulation::Reduce(Reducer::Prod) => self.times(scalar, before, term),
            Accumulation::Reduce(by @ (Reducer::Max | Reducer::Min)) => {
                self.extreme(by == Reducer::Max, scalar, before, term)?
            }
            Accumulation::Reduce(Reducer::Argmax | Reducer::Argmin) => return Err("a place".to_owned()),
        })
    }
}

/// Returns the same value, stored to the stack and reloaded. The compiler moves an operation with a
/// constant operand into the loop that uses it, with everything computed from it. It does not move
/// a load.
pub(crate) fn spill_and_reload(builder: &mut FunctionBuilder<'_>, value: Value, of: ir::Type) -> Value {
    let slot = builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
    let address = builder.ins().stack_addr(types::I64, slot, 0);
    builder.ins().store(MemFlagsData::trusted(), value, address, 0);
    builder.ins().load(of, MemFlagsData::trusted(), address, 0)
}

fn is_zero(c: Constant) -> bool {
    match c {
        Constant::Real(x) => x.to_bits() == 0,
        Constant::Int(k) => k == 0,
        Constant::Bool(b) => !b,
    }
}

pub(crate) fn mentions(p: &Poly, locals: &HashSet<LocalId>) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Local(l, _) if locals.contains(l)));
    found
}

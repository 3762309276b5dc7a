//! **Evaluator of Tensor SSA**: evaluates statement by statement and counts operations. It visits
//! only the index tuples that the predicates allow ([`lang_ir::eval_nest`]); an element without
//! terms is zero and is not visited. Work is that of Fig. 6, and iterations are those of a compiled
//! loop nest. Tests compare its values with the evaluator of core and with compiled code, and its
//! counts with the cost formulas.

mod call;
mod critical_path;
mod loop_eval;
mod results;
mod statement_counts;

use std::collections::HashMap;
use std::sync::Arc;

use crate::eval_core::EvalError;
use crate::index_eval::{self, IndexEnv};
use critical_path::CriticalPaths;
use lang_base::GlobalName;
use lang_ir::argsort::{self, Argsort};
use lang_ir::core::FunctionKey;
use lang_ir::eval_nest::{EvalNest, NestEnv};
use lang_ir::flat::InputSource;
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{
    CHECK_PATH_BIT, Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read,
    index_number,
};
use lang_ir::value::{self, IrValue};
use lang_runtime::OperationCounts;
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use results::ProducedResult;
pub use statement_counts::StatementCounts;

/// The callees and the top-level `let`s that an evaluation reads.
pub trait SsaEnv {
    /// Returns a callee in Tensor SSA.
    fn ssa(&self, callee: &FunctionKey) -> Option<Arc<SsaFunction>>;
    /// Returns a part of the value of a top-level `let`.
    fn global(&self, name: &GlobalName, path: &[u32]) -> Option<IrTensor>;
}

/// A tensor of scalars, with the last index fastest, or the members of a relation.
#[derive(Clone, PartialEq, Debug)]
pub struct IrTensor {
    /// The extents.
    pub dims: Vec<usize>,
    /// The elements, or the rows of a relation.
    pub items: Vec<IrValue>,
}

impl IrTensor {
    /// Returns the offset of an element, or `None` if it is out of bounds.
    fn offset(&self, at: &[i64]) -> Option<usize> {
        let mut offset = 0_usize;
        for (i, n) in at.iter().zip(&self.dims) {
            let i = usize::try_from(*i).ok().filter(|i| i < n)?;
            offset = offset.checked_mul(*n)?.checked_add(i)?;
        }
        (at.len() == self.dims.len()).then_some(offset)
    }

    fn get(&self, at: &[i64]) -> Option<&IrValue> {
        self.items.get(self.offset(at)?)
    }
}

type SsaResult<T> = Result<T, EvalError>;

/// An evaluator with its counters.
pub struct SsaEvaluator<'a> {
    functions: &'a dyn SsaEnv,
    /// The operation counts so far.
    pub counts: OperationCounts,
    /// The number of array elements copied because an updated array is also read elsewhere.
    pub copied_elements: u64,
    /// The totals of each statement over all its runs, if requested. The key of a statement inside
    /// calls and loops begins with the numbers of these, outermost first.
    pub statement_counts: Option<HashMap<Vec<u32>, StatementCounts>>,
    /// The longest chain of real operations in which each needs the previous one. An array counts
    /// as one value.
    pub span: u64,
    /// Bytes that loops keep for other loops to read: outputs of every iteration, and states. Among
    /// nested functions, only the one that keeps most counts.
    pub stored_bytes: u64,
    /// The longest chains to the inputs of a function before it runs, and to its outputs
    /// afterwards.
    boundary_chains: Vec<u64>,
    path: Vec<u32>,
    fuel: u64,
}

/// The evaluation of one function.
struct SsaFrame<'a, 'e> {
    evaluator: &'a mut SsaEvaluator<'e>,
    ssa: &'a SsaFunction,
    locals: HashMap<LocalId, i64>,
    values: Vec<Option<Arc<IrTensor>>>,
    checked: Vec<bool>,
    /// The results of calls and loops that their statements have not read yet.
    results: HashMap<StmtId, ProducedResult>,
    /// The last statement that reads each statement; `None` if an output or a check reads it, or
    /// nothing does.
    last_uses: Vec<Option<StmtId>>,
    /// The current statement.
    current: StmtId,
    /// The counts of the current statement.
    current_counts: StatementCounts,
    chains: CriticalPaths,
}

impl<'a> SsaEvaluator<'a> {
    /// Creates an evaluator that may visit at most `fuel` tuples.
    #[must_use]
    pub fn new(functions: &'a dyn SsaEnv, fuel: u64) -> Self {
        let counts = OperationCounts::default();
        Self {
            functions,
            counts,
            copied_elements: 0,
            statement_counts: None,
            span: 0,
            stored_bytes: 0,
            boundary_chains: Vec::new(),
            path: Vec::new(),
            fuel,
        }
    }

    /// Returns the number of tuples that it may still visit.
    #[must_use]
    pub fn remaining_fuel(&self) -> u64 {
        self.fuel
    }

    /// Calls a function with the parts of its arguments, without those of top-level `let`s.
    ///
    /// # Errors
    /// The first failure in it, see [`EvalError`].
    pub fn call(&mut self, ssa: &SsaFunction, sizes: &[i64], parts: Vec<IrTensor>) -> SsaResult<Vec<Arc<IrTensor>>> {
        let parts: Vec<Arc<IrTensor>> = parts.into_iter().map(Arc::new).collect();
        // The arguments belong to the caller, so no update may change them in place.
        let held = parts.clone();
        let before = self.counts;
        let results = self.run(ssa, sizes, parts);
        self.record_total(before);
        drop(held);
        results
    }

    /// Runs a function. An argument that is not shared may be updated in place.
    fn run(&mut self, ssa: &SsaFunction, sizes: &[i64], parts: Vec<Arc<IrTensor>>) -> SsaResult<Vec<Arc<IrTensor>>> {
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        let mut parts = parts.into_iter();
        let mut inputs = Vec::new();
        let (mut passed, mut chains) = (std::mem::take(&mut self.boundary_chains).into_iter(), Vec::new());
        for input in &ssa.inputs {
            chains.push(if input.source.is_passed() { passed.next().unwrap_or_default() } else { 0 });
            let tensor = match &input.source {
                InputSource::Global(name) => self.functions.global(name, &input.leaf.path).map(Arc::new),
                InputSource::Param(_) | InputSource::Tangent(_) | InputSource::Cotangent(_) => parts.next(),
            };
            let tensor = tensor.ok_or(EvalError::IllFormed("an input"))?;
            // An integer parameter may be used as a size.
            if let ([], [IrValue::I64(i)]) = (tensor.dims.as_slice(), tensor.items.as_slice()) {
                locals.insert(input.local, *i);
            }
            inputs.push(Some(tensor));
        }
        let mut run = SsaFrame {
            evaluator: self,
            ssa,
            locals,
            values: vec![None; ssa.stmts.len()],
            checked: vec![false; ssa.checks.len()],
            results: HashMap::new(),
            last_uses: last_uses(ssa),
            current: StmtId(0),
            current_counts: StatementCounts::default(),
            chains: CriticalPaths::default(),
        };
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            run.current = StmtId(k);
            let value = match &stmt.rhs {
                Rhs::Input(k) => {
                    let input = inputs.get_mut(*k as usize).and_then(Option::take);
                    Some(input.ok_or(EvalError::IllFormed("an input"))?)
                }
                _ => run.eval_counted(stmt)?,
            };
            run.record_statement(stmt, value.as_deref(), &chains);
            if let Some(slot) = run.values.get_mut(k as usize) {
                *slot = value;
            }
        }
        run.pass_to_caller();
        ssa.needs.iter().try_for_each(|c| run.check(*c))?;
        ssa.outputs.iter().map(|(_, v)| run.tensor(*v)).collect()
    }
}

impl SsaFrame<'_, '_> {
    fn tensor(&self, v: StmtId) -> SsaResult<Arc<IrTensor>> {
        self.values.get(v.0 as usize).cloned().flatten().ok_or(EvalError::IllFormed("a statement"))
    }

    fn step(&mut self) -> SsaResult<()> {
        let left = self.evaluator.fuel.checked_sub(1);
        self.evaluator.fuel = left.ok_or(EvalError::OutOfFuel)?;
        Ok(())
    }

    /// Counts a tuple for which term `k` is present.
    fn count_term(&mut self, k: usize) -> SsaResult<()> {
        self.current_counts.count_term(k);
        self.count_iteration()
    }

    fn count_iteration(&mut self) -> SsaResult<()> {
        self.evaluator.counts.iterations += 1;
        self.step()
    }

    /// Evaluates extents. An extent that reads out of bounds is 0, so the statement has no
    /// elements.
    fn extents(&mut self, dims: &[Poly]) -> SsaResult<Vec<i64>> {
        let each = dims.iter().map(|n| match self.eval_index(n, &[]) {
            Err(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS)) => Ok(0),
            n => Ok(n?.max(0)),
        });
        each.collect()
    }

    fn eval_index(&mut self, p: &Poly, at: &[i64]) -> SsaResult<i64> {
        index_eval::eval_poly(&IndexedFrame { run: self, at }, p)
    }

    fn zero_tensor(&mut self, stmt: &Statement) -> SsaResult<IrTensor> {
        let extents = self.extents(&stmt.dims)?;
        let dims: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        let count = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= 1 << 28);
        let zero = IrValue::zero_of(stmt.scalar.unwrap_or(Scalar::F64));
        Ok(IrTensor { items: vec![zero; count.ok_or(EvalError::OutOfFuel)?], dims })
    }

    /// Runs a check for all its indices, at most once.
    fn check(&mut self, c: u32) -> SsaResult<()> {
        let (Some(done), Some(check)) = (self.checked.get_mut(c as usize), self.ssa.checks.get(c as usize)) else {
            return Err(EvalError::IllFormed("a check"));
        };
        if std::mem::replace(done, true) {
            return Ok(());
        }
        let extents = self.extents(&check.dims)?;
        let free = extents.len();
        let before = self.evaluator.counts;
        let nest = EvalNest::new(extents, free, &check.guard, self)?;
        nest.visit(self, &mut |run, at| {
            run.step()?;
            if run.eval_pred(&check.cond, at)? == Some(true) {
                Ok(())
            } else {
                Err(EvalError::CheckFailed(check.failure.clone()))
            }
        })?;
        self.attribute_to(CHECK_PATH_BIT | c, before);
        Ok(())
    }

    /// Evaluates a statement and returns its tensor, or `None` for a call or a loop, which has
    /// results instead.
    fn eval_statement(&mut self, stmt: &Statement) -> SsaResult<Option<Arc<IrTensor>>> {
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        match &stmt.rhs {
            Rhs::Call { .. } => self.run_call(stmt)?,
            Rhs::Loop(of) => self.run_loop(of, stmt)?,
            _ => return self.eval_tensor(stmt).map(Some),
        }
        Ok(None)
    }

    /// Returns the tensor of a statement that is neither a call nor a loop.
    fn eval_tensor(&mut self, stmt: &Statement) -> SsaResult<Arc<IrTensor>> {
        let mut out = self.zero_tensor(stmt)?;
        let extents = self.extents(&stmt.dims)?;
        let free = extents.len();
        let broken = EvalError::IllFormed;
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Zero | Rhs::Call { .. } | Rhs::Loop(_) => {}
            Rhs::Constant(c) => {
                let value = IrValue::constant(*c, stmt.scalar.unwrap_or(Scalar::F64));
                out.items.first_mut().into_iter().for_each(|slot| *slot = value.clone());
            }
            Rhs::Index(p) => {
                let nest = EvalNest::new(extents, free, &Pred::truth(), self)?;
                nest.visit(self, &mut |run, at| {
                    run.count_term(0)?;
                    let value = IrValue::I64(run.eval_index(p, at)?);
                    set_element(&mut out, at, value)
                })?;
            }
            Rhs::Add(items) => {
                let mut present = vec![0; out.items.len()];
                for (k, item) in items.iter().enumerate() {
                    let nest = EvalNest::new(extents.clone(), free, &item.pred, self)?;
                    nest.visit(self, &mut |run, at| {
                        run.count_term(k)?;
                        let value = run.element(&item.operand, at)?;
                        let value = if item.neg { value.checked_neg().ok_or(broken("a negation"))? } else { value };
                        run.accumulate(&mut out, &mut present, at, value)
                    })?;
                }
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                let all = self.extents(bound)?;
                let all: Vec<i64> = extents.iter().copied().chain(all).collect();
                let mut present = vec![0; out.items.len()];
                let mut products = 0;
                let nest = EvalNest::new(all, free, pred, self)?;
                nest.visit(self, &mut |run, at| {
                    run.count_term(0)?;
                    let mut product: Option<IrValue> = None;
                    for factor in factors {
                        let value = run.element(factor, at)?;
                        product = Some(match product {
                            None => value,
                            Some(before) => {
                                run.evaluator.counts.work += u64::from(before.is_real());
                                before.checked_mul(&value).ok_or(broken("a product"))?
                            }
                        });
                    }
                    let value = product.ok_or(broken("a factor"))?;
                    products = if value.is_real() { factors.len() as u64 - 1 } else { 0 };
                    run.accumulate(&mut out, &mut present, at.get(..free).unwrap_or_default(), value)
                })?;
                self.chains.prepend(products);
                if *neg {
                    for (slot, present) in out.items.iter_mut().zip(present) {
                        if present > 0 {
                            *slot = slot.checked_neg().ok_or(broken("a negation"))?;
                        }
                    }
                }
            }
            Rhs::Reduce(r) => self.eval_reduction(r, extents, &mut out)?,
            Rhs::Argsort(o) => self.eval_argsort(o, extents, &mut out)?,
            Rhs::Map { operation, pred, args } => {
                let nest = EvalNest::new(extents, free, pred, self)?;
                nest.visit(self, &mut |run, at| {
                    run.count_term(0)?;
                    let args = args.iter().map(|a| run.element(a, at)).collect::<SsaResult<Vec<IrValue>>>()?;
                    let of = args.first().and_then(IrValue::scalar).unwrap_or(Scalar::Bool);
                    run.evaluator.counts.work += operation.work(of);
                    run.chains.record_element(operation.work(of));
                    let value = value::apply_op(*operation, &args).ok_or(broken("an operation"))?;
                    set_element(&mut out, at, value)
                })?;
            }
            Rhs::CallResult(..) | Rhs::LoopResult(..) => return self.take_result(out),
            Rhs::Update { .. } => return self.eval_update(stmt, extents),
        }
        Ok(Arc::new(out))
    }

    /// Evaluates a reduction. Every element of its domain starts as the result over no terms; then
    /// the terms follow in their order.
    fn eval_reduction(&mut self, r: &SsaReduction, free: Vec<i64>, out: &mut IrTensor) -> SsaResult<()> {
        let broken = EvalError::IllFormed;
        let of = self.ssa.stmts.get(r.operand.var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        let nothing = IrValue::constant(r.reducer.empty_result(of), of);
        let count = free.len();
        EvalNest::new(free.clone(), count, &r.pred, self)?.visit(self, &mut |run, at| {
            run.step()?;
            set_element(out, at, nothing.clone())
        })?;
        let extents = free.into_iter().chain(self.extents(&r.bound)?).collect();
        let nest = EvalNest::new(extents, count, &r.visited_domain(), self)?;
        let mut found: Vec<Option<(IrValue, i64)>> = vec![None; out.items.len()];
        let mut joined = vec![0; out.items.len()];
        nest.visit(self, &mut |run, at| {
            run.count_term(0)?;
            let term = run.element(&r.operand, at)?;
            let place = if r.reducer.is_arg_reduction() { run.eval_index(&r.arg_value, at)? } else { 0 };
            let k = out.offset(at.get(..count).unwrap_or_default()).ok_or(broken("an element"))?;
            let slot = found.get_mut(k).ok_or(broken("an element"))?;
            *slot = Some(match slot.take() {
                None => {
                    run.current_counts.present += 1;
                    (term, place)
                }
                Some(before) => {
                    run.evaluator.counts.work += u64::from(term.is_real());
                    let joined = joined.get_mut(k).ok_or(broken("an element"))?;
                    *joined += u64::from(term.is_real());
                    run.chains.record_element(*joined);
                    r.reducer.combine(before, term, place).ok_or(broken("a reduction"))?
                }
            });
            Ok(())
        })?;
        for (slot, found) in out.items.iter_mut().zip(found) {
            let Some((value, place)) = found else { continue };
            *slot = if r.reducer.is_arg_reduction() { IrValue::I64(place) } else { value };
        }
        Ok(())
    }

    /// Sorts along the last index, for every tuple of the others.
    fn eval_argsort(&mut self, o: &Argsort, mut outer: Vec<i64>, out: &mut IrTensor) -> SsaResult<()> {
        let broken = EvalError::IllFormed("an order");
        let count = outer.pop().ok_or(broken.clone())?;
        let free = outer.len();
        EvalNest::new(outer, free, &o.pred, self)?.visit(self, &mut |run, at| {
            let mut place = at.to_vec();
            place.push(0);
            let mut keys = Vec::new();
            for i in 0..count {
                run.count_term(0)?;
                place.last_mut().into_iter().for_each(|slot| *slot = i);
                keys.push(run.element(&o.keys, &place)?);
            }
            let (order, compared) = argsort::sorted_positions(&keys).ok_or(broken.clone())?;
            run.evaluator.counts.work += compared;
            run.chains.record_element(compared);
            for (i, k) in (0..).zip(order) {
                place.last_mut().into_iter().for_each(|slot| *slot = i);
                set_element(out, &place, IrValue::I64(i64::try_from(k).map_err(|_| broken.clone())?))?;
            }
            Ok(())
        })
    }

    /// Evaluates an update, in place if nothing else reads the old array.
    fn eval_update(&mut self, stmt: &Statement, mut extents: Vec<i64>) -> SsaResult<Arc<IrTensor>> {
        let Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } = &stmt.rhs else {
            return Err(EvalError::IllFormed("an update"));
        };
        let batch = *batch as usize;
        let free = extents.len();
        let bound = self.extents(bound)?;
        let mut out = if batch == 0 {
            let last = self.last_uses.get(base.var.0 as usize) == Some(&Some(self.current)) && base.var != value.var;
            let first = base.at.iter().map(|p| self.eval_index(p, &[])).collect::<SsaResult<Vec<i64>>>()?;
            let slot = self.values.get_mut(base.var.0 as usize).ok_or(EvalError::IllFormed("a tensor"))?;
            let tensor = if last && first.is_empty() { slot.take() } else { slot.clone() };
            let tensor = tensor.ok_or(EvalError::IllFormed("a tensor"))?;
            if first.is_empty() {
                Arc::try_unwrap(tensor).unwrap_or_else(|shared| {
                    self.evaluator.copied_elements += shared.items.len() as u64;
                    (*shared).clone()
                })
            } else {
                let part = self.slice(base, &[])?;
                self.evaluator.copied_elements += part.items.len() as u64;
                (*part).clone()
            }
        } else {
            let mut out = self.zero_tensor(stmt)?;
            let outer: Vec<i64> = extents.iter().take(batch).copied().collect();
            let shape = IrTensor { dims: out.dims.iter().take(batch).copied().collect(), items: Vec::new() };
            let nest = EvalNest::new(outer, batch, &Pred::truth(), self)?;
            nest.visit(self, &mut |run, place| {
                let part = run.slice(base, place)?;
                let start = shape.offset(place).ok_or(EvalError::IllFormed("an update"))? * part.items.len();
                run.evaluator.copied_elements += part.items.len() as u64;
                for (slot, value) in out.items.iter_mut().skip(start).zip(&part.items) {
                    *slot = value.clone();
                }
                Ok(())
            })?;
            out
        };
        // The axes after the batch have no loops, because the update computes their indices.
        extents.iter_mut().skip(batch).for_each(|n| *n = 1);
        let all: Vec<i64> = extents.into_iter().chain(bound).collect();
        let nest = EvalNest::new(all, free, pred, self)?;
        nest.visit(self, &mut |run, place| {
            run.count_term(0)?;
            let new = run.element(value, place)?;
            let inner = at.iter().map(|p| run.eval_index(p, place)).collect::<SsaResult<Vec<i64>>>()?;
            let whole: Vec<i64> = place.iter().take(batch).copied().chain(inner).collect();
            let k = out.offset(&whole).ok_or(EvalError::IllFormed("an element"))?;
            let slot = out.items.get_mut(k).ok_or(EvalError::IllFormed("an element"))?;
            if *add {
                run.evaluator.counts.work += u64::from(new.is_real());
                run.chains.record_element(new.is_real().into());
                *slot = slot.checked_add(&new).ok_or(EvalError::IllFormed("a sum"))?;
            } else {
                *slot = new;
            }
            Ok(())
        })?;
        Ok(Arc::new(out))
    }

    /// Returns the subtensor at the first indices of the access.
    fn slice(&mut self, a: &TensorAccess, at: &[i64]) -> SsaResult<Arc<IrTensor>> {
        let tensor = self.tensor(a.var)?;
        if a.at.is_empty() {
            return Ok(tensor);
        }
        let first = a.at.iter().map(|p| self.eval_index(p, at)).collect::<SsaResult<Vec<i64>>>()?;
        let dims: Vec<usize> = tensor.dims.iter().skip(first.len()).copied().collect();
        let size: usize = dims.iter().product();
        let outer = IrTensor { dims: tensor.dims.iter().take(first.len()).copied().collect(), items: Vec::new() };
        let start = outer.offset(&first).ok_or(EvalError::IllFormed("a slice"))? * size;
        Ok(Arc::new(IrTensor { dims, items: tensor.items.iter().skip(start).take(size).cloned().collect() }))
    }

    fn element(&mut self, a: &TensorAccess, at: &[i64]) -> SsaResult<IrValue> {
        let tensor = self.tensor(a.var)?;
        let at = a.at.iter().map(|p| self.eval_index(p, at)).collect::<SsaResult<Vec<i64>>>()?;
        tensor.get(&at).cloned().ok_or(EvalError::IllFormed("an element"))
    }

    /// Accumulates a term into an element. The first term is not an addition (4.30).
    fn accumulate(&mut self, out: &mut IrTensor, present: &mut [u64], at: &[i64], value: IrValue) -> SsaResult<()> {
        let k = out.offset(at).ok_or(EvalError::IllFormed("an element"))?;
        let (Some(slot), Some(present)) = (out.items.get_mut(k), present.get_mut(k)) else {
            return Err(EvalError::IllFormed("an element"));
        };
        *present += 1;
        if *present > 1 {
            self.evaluator.counts.work += u64::from(value.is_real());
            self.chains.record_element(u64::from(value.is_real()) * (*present - 1));
            *slot = slot.checked_add(&value).ok_or(EvalError::IllFormed("a sum"))?;
        } else {
            *slot = value;
            self.current_counts.present += 1;
        }
        Ok(())
    }
}

/// Returns the last statement that reads each statement; `None` if an output or a check reads it.
/// In a function without updates and loops all are `None`, because nothing uses them.
fn last_uses(ssa: &SsaFunction) -> Vec<Option<StmtId>> {
    let mut last = vec![None; ssa.stmts.len()];
    if !ssa.stmts.iter().any(|s| matches!(s.rhs, Rhs::Update { .. } | Rhs::Loop(_))) {
        return last;
    }
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        let mut mark = |v: StmtId| last.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = Some(StmtId(k)));
        stmt.rhs.for_each_operand(&mut mark);
        stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut mark));
    }
    let mut keep = |v: StmtId| last.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = None);
    ssa.outputs.iter().for_each(|(_, v)| keep(*v));
    for check in &ssa.checks {
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut keep));
    }
    last
}

/// An evaluation at these indices of a statement.
struct IndexedFrame<'r, 'a, 'e> {
    run: &'r mut SsaFrame<'a, 'e>,
    at: &'r [i64],
}

impl IndexedFrame<'_, '_, '_> {
    fn array(&self, x: LocalId) -> SsaResult<Arc<IrTensor>> {
        self.run.tensor(StmtId::from_local(x).ok_or(EvalError::IllFormed("an array"))?)
    }
}

impl IndexEnv for IndexedFrame<'_, '_, '_> {
    fn local_value(&self, x: LocalId) -> SsaResult<i64> {
        let known = match index_number(x) {
            Some(k) => self.at.get(k),
            None => self.run.locals.get(&x),
        };
        known.copied().ok_or(EvalError::IllFormed("an index"))
    }

    fn global_value(&self, name: &GlobalName) -> SsaResult<i64> {
        let value = self.run.evaluator.functions.global(name, &[]);
        value.and_then(|t| t.items.first()?.int()).ok_or(EvalError::IllFormed("a global"))
    }

    fn integer_element(&self, x: LocalId, at: &[i64]) -> SsaResult<i64> {
        let array = self.array(x)?;
        array
            .get(at)
            .ok_or(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS))?
            .int()
            .ok_or(EvalError::IllFormed("an integer element"))
    }

    fn bool_element(&self, x: LocalId, at: &[i64]) -> SsaResult<bool> {
        let array = self.array(x)?;
        array
            .get(at)
            .ok_or(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS))?
            .truth()
            .ok_or(EvalError::IllFormed("a truth value"))
    }

    fn is_member(&self, x: LocalId, at: &[i64]) -> SsaResult<bool> {
        let row = IrValue::Tuple(at.iter().copied().map(IrValue::I64).collect());
        Ok(self.array(x)?.items.contains(&row))
    }

    fn bind_existential(&mut self, x: LocalId, value: Option<i64>) {
        match value {
            Some(i) => self.run.locals.insert(x, i),
            None => self.run.locals.remove(&x),
        };
    }

    fn count_step(&mut self) -> SsaResult<()> {
        self.run.step()
    }
}

impl NestEnv for SsaFrame<'_, '_> {
    type Interruption = EvalError;

    fn eval_poly(&mut self, p: &Poly, at: &[i64]) -> SsaResult<Option<i64>> {
        none_if_out_of_bounds(index_eval::eval_poly(&IndexedFrame { run: self, at }, p))
    }

    fn eval_comparand(&mut self, p: &Poly, at: &[i64]) -> SsaResult<Option<i128>> {
        self.evaluator.counts.tests += 1;
        none_if_out_of_bounds(index_eval::eval_comparand(&IndexedFrame { run: self, at }, p))
    }

    fn eval_pred(&mut self, p: &Pred, at: &[i64]) -> SsaResult<Option<bool>> {
        self.evaluator.counts.tests += u64::from(p.depends_on_data());
        none_if_out_of_bounds(index_eval::eval_pred(&mut IndexedFrame { run: self, at }, p))
    }
}

/// Returns the value, or `None` if it reads out of bounds.
fn none_if_out_of_bounds<T>(value: SsaResult<T>) -> SsaResult<Option<T>> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS)) => Ok(None),
        Err(stopped) => Err(stopped),
    }
}

fn set_element(out: &mut IrTensor, at: &[i64], value: IrValue) -> SsaResult<()> {
    let k = out.offset(at).ok_or(EvalError::IllFormed("an element"))?;
    *out.items.get_mut(k).ok_or(EvalError::IllFormed("an element"))? = value;
    Ok(())
}

//! **Evaluator of Tensor SSA**: evaluates statement by statement and counts operations. It visits
//! only the index tuples that the predicates allow (`nest`); an element without terms is zero and
//! is not visited. Work is that of Fig. 6, and iterations are those of a compiled loop nest. Tests
//! compare it with the evaluator of core and with compiled code.

mod call;
mod chains;
mod population;
mod repeat;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::eval::Stopped;
use crate::indices::{self, Numbers};
use chains::Chains;
use lang_base::GlobalName;
use lang_ir::core::Callee;
use lang_ir::flat::Source;
use lang_ir::nest::{Nest, World};
use lang_ir::order::{self, Order};
use lang_ir::reduce::Reduce;
use lang_ir::region::Loop;
use lang_ir::ssa::{Access, CHECK, Rhs, Ssa, Stmt, Var, for_each_read, index_number, reads};
use lang_ir::value::{self, Value};
use lang_runtime::Counts;
use lang_sizes::predicate::{LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
pub use population::Population;
use repeat::Ran;

/// The environment of an evaluation, beside its arguments.
pub trait Functions {
    /// Returns a callee in Tensor SSA.
    fn ssa(&self, callee: &Callee) -> Option<Arc<Ssa>>;
    /// Returns a part of the value of a top-level `let`.
    fn global(&self, name: &GlobalName, path: &[u32]) -> Option<Tensor>;
}

/// A tensor of scalars, with the last index fastest, or the members of a relation.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// The extents.
    pub dims: Vec<usize>,
    /// The elements, or the rows of a relation.
    pub items: Vec<Value>,
}

impl Tensor {
    /// Returns the offset of an element, or `None` if it is out of bounds.
    fn offset(&self, at: &[i64]) -> Option<usize> {
        let mut offset = 0_usize;
        for (i, n) in at.iter().zip(&self.dims) {
            let i = usize::try_from(*i).ok().filter(|i| i < n)?;
            offset = offset.checked_mul(*n)?.checked_add(i)?;
        }
        (at.len() == self.dims.len()).then_some(offset)
    }

    fn get(&self, at: &[i64]) -> Option<&Value> {
        self.items.get(self.offset(at)?)
    }
}

type Eval<T> = Result<T, Stopped>;

/// An evaluator with its counters.
pub struct SsaEvaluator<'a> {
    functions: &'a dyn Functions,
    /// The operation counts so far.
    pub counts: Counts,
    /// The number of array elements copied because an updated array is also read elsewhere.
    pub copied: u64,
    /// The totals of each statement over all its runs, if requested. The key of a statement inside
    /// calls and loops begins with the numbers of these, outermost first.
    pub populations: Option<HashMap<Vec<u32>, Population>>,
    /// The longest chain of real operations in which each needs the previous one. An array counts
    /// as one value.
    pub span: u64,
    /// Bytes that loops keep for other loops to read: outputs of every iteration, and states. Among
    /// nested functions, only the one that keeps most counts.
    pub kept: u64,
    /// The longest chains to the inputs of a function before it runs, and to its outputs
    /// afterwards.
    passed: Vec<u64>,
    path: Vec<u32>,
    fuel: u64,
}

/// The evaluation of one function.
struct Run<'a, 'e> {
    evaluator: &'a mut SsaEvaluator<'e>,
    ssa: &'a Ssa,
    locals: HashMap<LocalId, i64>,
    values: Vec<Option<Arc<Tensor>>>,
    checked: Vec<bool>,
    calls: HashMap<String, Vec<Arc<Tensor>>>,
    loops: Vec<Ran>,
    /// The last statement that reads each statement, or `None` if an output reads it.
    last: Vec<Option<usize>>,
    /// The current statement.
    at: usize,
    /// The counts of the current statement.
    own: Population,
    chains: Chains,
    /// Calls that no tuple of their batch makes.
    nowhere: HashSet<String>,
}

impl<'a> SsaEvaluator<'a> {
    /// Creates an evaluator that may visit at most `fuel` tuples.
    #[must_use]
    pub fn new(functions: &'a dyn Functions, fuel: u64) -> Self {
        let counts = Counts::default();
        Self {
            functions,
            counts,
            copied: 0,
            populations: None,
            span: 0,
            kept: 0,
            passed: Vec::new(),
            path: Vec::new(),
            fuel,
        }
    }

    /// Returns the number of tuples that it may still visit.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.fuel
    }

    /// Calls a function with the parts of its arguments, without those of top-level `let`s.
    ///
    /// # Errors
    /// The first failure in it, see [`Stopped`].
    pub fn call(&mut self, ssa: &Ssa, sizes: &[i64], parts: Vec<Tensor>) -> Eval<Vec<Arc<Tensor>>> {
        let parts: Vec<Arc<Tensor>> = parts.into_iter().map(Arc::new).collect();
        // The arguments belong to the caller, so no update may change them in place.
        let held = parts.clone();
        let before = self.counts;
        let results = self.run(ssa, sizes, parts);
        self.note_all(before);
        drop(held);
        results
    }

    /// Runs a function. An argument that is not shared may be updated in place.
    fn run(&mut self, ssa: &Ssa, sizes: &[i64], parts: Vec<Arc<Tensor>>) -> Eval<Vec<Arc<Tensor>>> {
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        let mut parts = parts.into_iter();
        let mut inputs = Vec::new();
        let (mut passed, mut chains) = (std::mem::take(&mut self.passed).into_iter(), Vec::new());
        for input in &ssa.inputs {
            chains.push(if input.source.is_passed() { passed.next().unwrap_or_default() } else { 0 });
            let tensor = match &input.source {
                Source::Global(name) => self.functions.global(name, &input.leaf.path).map(Arc::new),
                Source::Param(_) | Source::Tangent(_) | Source::Cotangent(_) => parts.next(),
            };
            let tensor = tensor.ok_or(Stopped::Broken("an input"))?;
            // An integer parameter may be used as a size.
            if let ([], [Value::I64(i)]) = (tensor.dims.as_slice(), tensor.items.as_slice()) {
                locals.insert(input.local, *i);
            }
            inputs.push(Some(tensor));
        }
        let mut run = Run {
            evaluator: self,
            ssa,
            locals,
            values: vec![None; ssa.stmts.len()],
            checked: vec![false; ssa.checks.len()],
            calls: HashMap::new(),
            loops: Vec::new(),
            last: last_uses(ssa),
            at: 0,
            own: Population::default(),
            chains: Chains::default(),
            nowhere: HashSet::new(),
        };
        for (k, stmt) in ssa.stmts.iter().enumerate() {
            run.at = k;
            let value = match &stmt.rhs {
                Rhs::Input(k) => {
                    inputs.get_mut(*k as usize).and_then(Option::take).ok_or(Stopped::Broken("an input"))?
                }
                _ => run.counted(stmt)?,
            };
            run.evaluated(stmt, &value, &chains);
            if let Some(slot) = run.values.get_mut(k) {
                *slot = Some(value);
            }
        }
        run.returns();
        ssa.needs.iter().try_for_each(|c| run.check(*c))?;
        ssa.outputs.iter().map(|(_, v)| run.tensor(*v)).collect()
    }
}

impl Run<'_, '_> {
    fn tensor(&self, v: Var) -> Eval<Arc<Tensor>> {
        self.values.get(v.0 as usize).cloned().flatten().ok_or(Stopped::Broken("a statement"))
    }

    fn step(&mut self) -> Eval<()> {
        let left = self.evaluator.fuel.checked_sub(1);
        self.evaluator.fuel = left.ok_or(Stopped::Fuel)?;
        Ok(())
    }

    /// Counts a tuple for which term `k` is present.
    fn term(&mut self, k: usize) -> Eval<()> {
        self.own.visited(k);
        self.iteration()
    }

    fn iteration(&mut self) -> Eval<()> {
        self.evaluator.counts.iterations += 1;
        self.step()
    }

    /// Evaluates extents. An extent that reads out of bounds is 0, so the statement has no
    /// elements.
    fn extents(&mut self, dims: &[Poly]) -> Eval<Vec<i64>> {
        let each = dims.iter().map(|n| match self.number(n, &[]) {
            Err(Stopped::Broken(indices::OUTSIDE)) => Ok(0),
            n => Ok(n?.max(0)),
        });
        each.collect()
    }

    fn number(&mut self, p: &Poly, at: &[i64]) -> Eval<i64> {
        indices::poly(&At { run: self, at }, p)
    }

    fn zeros(&mut self, stmt: &Stmt) -> Eval<Tensor> {
        let extents = self.extents(&stmt.dims)?;
        let dims: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        let count = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= 1 << 28);
        let zero = Value::zero_of(stmt.scalar.unwrap_or(Scalar::F64));
        Ok(Tensor { items: vec![zero; count.ok_or(Stopped::Fuel)?], dims })
    }

    /// Runs a check for all its indices, at most once.
    fn check(&mut self, c: u32) -> Eval<()> {
        let (Some(done), Some(check)) = (self.checked.get_mut(c as usize), self.ssa.checks.get(c as usize)) else {
            return Err(Stopped::Broken("a check"));
        };
        if std::mem::replace(done, true) {
            return Ok(());
        }
        let extents = self.extents(&check.dims)?;
        let free = extents.len();
        let before = self.evaluator.counts;
        let nest = Nest::new(extents, free, &check.guard, self)?;
        nest.visit(self, &mut |run, at| {
            run.step()?;
            if run.holds(&check.cond, at)? == Some(true) { Ok(()) } else { Err(Stopped::Failed(check.what.clone())) }
        })?;
        self.aside(CHECK | c, before);
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt) -> Eval<Arc<Tensor>> {
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        let mut out = self.zeros(stmt)?;
        let extents = self.extents(&stmt.dims)?;
        let free = extents.len();
        let broken = Stopped::Broken;
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Zero => {}
            Rhs::Constant(c) => {
                let value = Value::constant(*c, stmt.scalar.unwrap_or(Scalar::F64));
                out.items.first_mut().into_iter().for_each(|slot| *slot = value.clone());
            }
            Rhs::Index(p) => {
                let nest = Nest::new(extents, free, &Pred::truth(), self)?;
                nest.visit(self, &mut |run, at| {
                    run.term(0)?;
                    let value = Value::I64(run.number(p, at)?);
                    put(&mut out, at, value)
                })?;
            }
            Rhs::Add(items) => {
                let mut present = vec![0; out.items.len()];
                for (k, item) in items.iter().enumerate() {
                    let nest = Nest::new(extents.clone(), free, &item.pred, self)?;
                    nest.visit(self, &mut |run, at| {
                        run.term(k)?;
                        let value = run.element(&item.of, at)?;
                        let value = if item.neg { value.negated().ok_or(broken("a negation"))? } else { value };
                        run.accumulate(&mut out, &mut present, at, value)
                    })?;
                }
            }
            Rhs::Contract { bound, pred, neg, factors } => {
                let all = self.extents(bound)?;
                let all: Vec<i64> = extents.iter().copied().chain(all).collect();
                let mut present = vec![0; out.items.len()];
                let mut products = 0;
                let nest = Nest::new(all, free, pred, self)?;
                nest.visit(self, &mut |run, at| {
                    run.term(0)?;
                    let mut product: Option<Value> = None;
                    for factor in factors {
                        let value = run.element(factor, at)?;
                        product = Some(match product {
                            None => value,
                            Some(before) => {
                                run.evaluator.counts.work += u64::from(before.is_real());
                                before.times(&value).ok_or(broken("a product"))?
                            }
                        });
                    }
                    let value = product.ok_or(broken("a factor"))?;
                    products = if value.is_real() { factors.len() as u64 - 1 } else { 0 };
                    run.accumulate(&mut out, &mut present, at.get(..free).unwrap_or_default(), value)
                })?;
                self.chains.first(products);
                if *neg {
                    for (slot, present) in out.items.iter_mut().zip(present) {
                        if present > 0 {
                            *slot = slot.negated().ok_or(broken("a negation"))?;
                        }
                    }
                }
            }
            Rhs::Reduce(r) => self.reduction(r, extents, &mut out)?,
            Rhs::Order(o) => self.order(o, extents, &mut out)?,
            Rhs::Map { operation, pred, args } => {
                let nest = Nest::new(extents, free, pred, self)?;
                nest.visit(self, &mut |run, at| {
                    run.term(0)?;
                    let args = args.iter().map(|a| run.element(a, at)).collect::<Eval<Vec<Value>>>()?;
                    let of = args.first().and_then(Value::scalar).unwrap_or(Scalar::Bool);
                    run.evaluator.counts.work += operation.work(of);
                    run.chains.element(operation.work(of));
                    let value = value::apply(*operation, &args).ok_or(broken("an operation"))?;
                    put(&mut out, at, value)
                })?;
            }
            Rhs::Call { .. } => return self.call(stmt, out),
            Rhs::Loop(of, part) => return self.looped(of, *part, out),
            Rhs::Update { .. } => return self.update(stmt, extents),
        }
        Ok(Arc::new(out))
    }

    /// Evaluates a reduction. Every element of its domain starts as the result over no terms; then
    /// the terms follow in their order.
    fn reduction(&mut self, r: &Reduce, free: Vec<i64>, out: &mut Tensor) -> Eval<()> {
        let broken = Stopped::Broken;
        let of = self.ssa.stmts.get(r.of.var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
        let nothing = Value::constant(r.reducer.nothing(of), of);
        let count = free.len();
        Nest::new(free.clone(), count, &r.pred, self)?.visit(self, &mut |run, at| {
            run.step()?;
            put(out, at, nothing.clone())
        })?;
        let extents = free.into_iter().chain(self.extents(&r.bound)?).collect();
        let nest = Nest::new(extents, count, &r.visited(), self)?;
        let mut found: Vec<Option<(Value, i64)>> = vec![None; out.items.len()];
        let mut joined = vec![0; out.items.len()];
        nest.visit(self, &mut |run, at| {
            run.term(0)?;
            let term = run.element(&r.of, at)?;
            let place = if r.reducer.gives_place() { run.number(&r.place, at)? } else { 0 };
            let k = out.offset(at.get(..count).unwrap_or_default()).ok_or(broken("an element"))?;
            let slot = found.get_mut(k).ok_or(broken("an element"))?;
            *slot = Some(match slot.take() {
                None => {
                    run.own.present += 1;
                    (term, place)
                }
                Some(before) => {
                    run.evaluator.counts.work += u64::from(term.is_real());
                    let joined = joined.get_mut(k).ok_or(broken("an element"))?;
                    *joined += u64::from(term.is_real());
                    run.chains.element(*joined);
                    r.reducer.joined(before, term, place).ok_or(broken("a reduction"))?
                }
            });
            Ok(())
        })?;
        for (slot, found) in out.items.iter_mut().zip(found) {
            let Some((value, place)) = found else { continue };
            *slot = if r.reducer.gives_place() { Value::I64(place) } else { value };
        }
        Ok(())
    }

    /// Sorts along the last index, for every tuple of the others.
    fn order(&mut self, o: &Order, mut outer: Vec<i64>, out: &mut Tensor) -> Eval<()> {
        let broken = Stopped::Broken("an order");
        let count = outer.pop().ok_or(broken.clone())?;
        let free = outer.len();
        Nest::new(outer, free, &o.pred, self)?.visit(self, &mut |run, at| {
            let mut place = at.to_vec();
            place.push(0);
            let mut keys = Vec::new();
            for i in 0..count {
                run.term(0)?;
                place.last_mut().into_iter().for_each(|slot| *slot = i);
                keys.push(run.element(&o.of, &place)?);
            }
            let (order, compared) = order::positions(&keys).ok_or(broken.clone())?;
            run.evaluator.counts.work += compared;
            run.chains.element(compared);
            for (i, k) in (0..).zip(order) {
                place.last_mut().into_iter().for_each(|slot| *slot = i);
                put(out, &place, Value::I64(i64::try_from(k).map_err(|_| broken.clone())?))?;
            }
            Ok(())
        })
    }

    /// Evaluates an update, in place if nothing else reads the old array.
    fn update(&mut self, stmt: &Stmt, mut extents: Vec<i64>) -> Eval<Arc<Tensor>> {
        let Rhs::Update { base, batch, bound, pred, at, value, add } = &stmt.rhs else {
            return Err(Stopped::Broken("an update"));
        };
        let batch = *batch as usize;
        let free = extents.len();
        let bound = self.extents(bound)?;
        let mut out = if batch == 0 {
            let last = self.last.get(base.var.0 as usize) == Some(&Some(self.at)) && base.var != value.var;
            let first = base.at.iter().map(|p| self.number(p, &[])).collect::<Eval<Vec<i64>>>()?;
            let slot = self.values.get_mut(base.var.0 as usize).ok_or(Stopped::Broken("a tensor"))?;
            let tensor = if last && first.is_empty() { slot.take() } else { slot.clone() };
            let tensor = tensor.ok_or(Stopped::Broken("a tensor"))?;
            if first.is_empty() {
                Arc::try_unwrap(tensor).unwrap_or_else(|shared| {
                    self.evaluator.copied += shared.items.len() as u64;
                    (*shared).clone()
                })
            } else {
                let part = self.slice(base, &[])?;
                self.evaluator.copied += part.items.len() as u64;
                (*part).clone()
            }
        } else {
            let mut out = self.zeros(stmt)?;
            let outer: Vec<i64> = extents.iter().take(batch).copied().collect();
            let shape = Tensor { dims: out.dims.iter().take(batch).copied().collect(), items: Vec::new() };
            let nest = Nest::new(outer, batch, &Pred::truth(), self)?;
            nest.visit(self, &mut |run, place| {
                let part = run.slice(base, place)?;
                let start = shape.offset(place).ok_or(Stopped::Broken("an update"))? * part.items.len();
                run.evaluator.copied += part.items.len() as u64;
                for (slot, value) in out.items.iter_mut().skip(start).zip(&part.items) {
                    *slot = value.clone();
                }
                Ok(())
            })?;
            out
        };
        // The axes below the batch have no indices here.
        extents.iter_mut().skip(batch).for_each(|n| *n = 1);
        let all: Vec<i64> = extents.into_iter().chain(bound).collect();
        let nest = Nest::new(all, free, pred, self)?;
        nest.visit(self, &mut |run, place| {
            run.term(0)?;
            let new = run.element(value, place)?;
            let inner = at.iter().map(|p| run.number(p, place)).collect::<Eval<Vec<i64>>>()?;
            let whole: Vec<i64> = place.iter().take(batch).copied().chain(inner).collect();
            let k = out.offset(&whole).ok_or(Stopped::Broken("an element"))?;
            let slot = out.items.get_mut(k).ok_or(Stopped::Broken("an element"))?;
            if *add {
                run.evaluator.counts.work += u64::from(new.is_real());
                run.chains.element(new.is_real().into());
                *slot = slot.plus(&new).ok_or(Stopped::Broken("a sum"))?;
            } else {
                *slot = new;
            }
            Ok(())
        })?;
        Ok(Arc::new(out))
    }

    /// Returns the subtensor at the first indices of the access.
    fn slice(&mut self, a: &Access, at: &[i64]) -> Eval<Arc<Tensor>> {
        let tensor = self.tensor(a.var)?;
        if a.at.is_empty() {
            return Ok(tensor);
        }
        let first = a.at.iter().map(|p| self.number(p, at)).collect::<Eval<Vec<i64>>>()?;
        let dims: Vec<usize> = tensor.dims.iter().skip(first.len()).copied().collect();
        let size: usize = dims.iter().product();
        let outer = Tensor { dims: tensor.dims.iter().take(first.len()).copied().collect(), items: Vec::new() };
        let start = outer.offset(&first).ok_or(Stopped::Broken("a slice"))? * size;
        Ok(Arc::new(Tensor { dims, items: tensor.items.iter().skip(start).take(size).cloned().collect() }))
    }

    fn element(&mut self, a: &Access, at: &[i64]) -> Eval<Value> {
        let tensor = self.tensor(a.var)?;
        let at = a.at.iter().map(|p| self.number(p, at)).collect::<Eval<Vec<i64>>>()?;
        tensor.get(&at).cloned().ok_or(Stopped::Broken("an element"))
    }

    /// Accumulates a term into an element. The first term is not an addition (4.30).
    fn accumulate(&mut self, out: &mut Tensor, present: &mut [u64], at: &[i64], value: Value) -> Eval<()> {
        let k = out.offset(at).ok_or(Stopped::Broken("an element"))?;
        let (Some(slot), Some(present)) = (out.items.get_mut(k), present.get_mut(k)) else {
            return Err(Stopped::Broken("an element"));
        };
        *present += 1;
        if *present > 1 {
            self.evaluator.counts.work += u64::from(value.is_real());
            self.chains.element(u64::from(value.is_real()) * (*present - 1));
            *slot = slot.plus(&value).ok_or(Stopped::Broken("a sum"))?;
        } else {
            *slot = value;
            self.own.present += 1;
        }
        Ok(())
    }
}

/// Returns the last statement that reads each statement, or `None` if an output or a check reads
/// it.
fn last_uses(ssa: &Ssa) -> Vec<Option<usize>> {
    let mut last = vec![None; ssa.stmts.len()];
    if !ssa.stmts.iter().any(|s| matches!(s.rhs, Rhs::Update { .. } | Rhs::Loop(..))) {
        return last;
    }
    let mut loops: Vec<&Arc<Loop>> = Vec::new();
    for (k, stmt) in ssa.stmts.iter().enumerate() {
        // A loop runs when the first of its parts is evaluated.
        if let Rhs::Loop(of, _) = &stmt.rhs {
            if loops.iter().any(|other| Arc::ptr_eq(other, of) || *other == of) {
                continue;
            }
            loops.push(of);
        }
        let mut mark = |v: Var| last.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = Some(k));
        stmt.rhs.for_each_operand(&mut mark);
        stmt.dims.iter().for_each(|n| reads(n, &mut mark));
    }
    let mut keep = |v: Var| last.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = None);
    ssa.outputs.iter().for_each(|(_, v)| keep(*v));
    for check in &ssa.checks {
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut keep));
    }
    last
}

/// An evaluation at these indices of a statement.
struct At<'r, 'a, 'e> {
    run: &'r mut Run<'a, 'e>,
    at: &'r [i64],
}

impl At<'_, '_, '_> {
    fn array(&self, x: LocalId) -> Eval<Arc<Tensor>> {
        self.run.tensor(Var::of_local(x).ok_or(Stopped::Broken("an array"))?)
    }
}

impl Numbers for At<'_, '_, '_> {
    fn local(&self, x: LocalId) -> Eval<i64> {
        let known = match index_number(x) {
            Some(k) => self.at.get(k),
            None => self.run.locals.get(&x),
        };
        known.copied().ok_or(Stopped::Broken("an index"))
    }

    fn global(&self, name: &GlobalName) -> Eval<i64> {
        let value = self.run.evaluator.functions.global(name, &[]);
        value.and_then(|t| t.items.first()?.int()).ok_or(Stopped::Broken("a global"))
    }

    fn read(&self, x: LocalId, at: &[i64]) -> Eval<i64> {
        let array = self.array(x)?;
        array.get(at).ok_or(Stopped::Broken(indices::OUTSIDE))?.int().ok_or(Stopped::Broken("an integer element"))
    }

    fn truth(&self, x: LocalId, at: &[i64]) -> Eval<bool> {
        let array = self.array(x)?;
        array.get(at).ok_or(Stopped::Broken(indices::OUTSIDE))?.truth().ok_or(Stopped::Broken("a truth value"))
    }

    fn member(&self, x: LocalId, at: &[i64]) -> Eval<bool> {
        let row = Value::Tuple(at.iter().copied().map(Value::I64).collect());
        Ok(self.array(x)?.items.contains(&row))
    }

    fn bind(&mut self, x: LocalId, value: Option<i64>) {
        match value {
            Some(i) => self.run.locals.insert(x, i),
            None => self.run.locals.remove(&x),
        };
    }

    fn step(&mut self) -> Eval<()> {
        self.run.step()
    }
}

impl World for Run<'_, '_> {
    type Stop = Stopped;

    fn poly(&mut self, p: &Poly, at: &[i64]) -> Eval<Option<i64>> {
        inside(indices::poly(&At { run: self, at }, p))
    }

    fn compared(&mut self, p: &Poly, at: &[i64]) -> Eval<Option<i128>> {
        self.evaluator.counts.tests += 1;
        inside(indices::compared(&At { run: self, at }, p))
    }

    fn holds(&mut self, p: &Pred, at: &[i64]) -> Eval<Option<bool>> {
        self.evaluator.counts.tests += u64::from(p.is_opaque());
        inside(indices::holds(&mut At { run: self, at }, p))
    }
}

/// Returns the value, or `None` if it reads out of bounds.
fn inside<T>(value: Eval<T>) -> Eval<Option<T>> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(Stopped::Broken(indices::OUTSIDE)) => Ok(None),
        Err(stopped) => Err(stopped),
    }
}

/// Copies a tensor into another at these first indices. The extents of the target may be larger.
fn paste(out: &mut Tensor, at: &[usize], part: &Tensor) -> Eval<()> {
    let broken = Stopped::Broken("a part of a loop");
    let mut place = vec![0_usize; part.dims.len()];
    for item in &part.items {
        let whole: Vec<i64> = at.iter().chain(&place).map(|i| i64::try_from(*i).unwrap_or(-1)).collect();
        let k = out.offset(&whole).ok_or(broken.clone())?;
        *out.items.get_mut(k).ok_or(broken.clone())? = item.clone();
        for (i, n) in place.iter_mut().zip(&part.dims).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}

fn put(out: &mut Tensor, at: &[i64], value: Value) -> Eval<()> {
    let k = out.offset(at).ok_or(Stopped::Broken("an element"))?;
    *out.items.get_mut(k).ok_or(Stopped::Broken("an element"))? = value;
    Ok(())
}

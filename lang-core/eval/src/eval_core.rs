//! The **reference evaluator** of core, as the paper defines it (ATL Figs. 4 and 5), with its
//! operation counts (Fig. 6). It is slow. Tests compare it with the interpreter on one side and
//! with Tensor SSA on the other.
//!
//! - Work is counted as in the interpreter.
//! - Tests are evaluations of predicates that depend on data.
//! - Iterations are index tuples of generations and summations.

use std::collections::HashMap;
use std::sync::Arc;

use super::eval_ssa::{IrTensor, SsaEvaluator};
use super::index_eval::{self, IndexEnv};
use lang_base::GlobalName;
use lang_base::ensure_sufficient_stack;
use lang_ir::argsort;
use lang_ir::core::{
    CheckFailure, CoreExpr, CoreFunction, CoreLoop, CoreType, CoreUpdate, ExprKind, ExprRef, FunctionKey, TypeLeaf,
};
use lang_ir::reduce::CoreReduction;
use lang_ir::value::{self, IrValue};
use lang_runtime::OperationCounts;
use lang_sizes::predicate::{Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The environment of an evaluation, beside its arguments.
pub trait CoreEnv {
    /// Returns the core form of a callee.
    fn function(&self, callee: &FunctionKey) -> Option<Arc<CoreFunction>>;
    /// Returns the value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<IrValue>;
    /// Returns the environment for derivatives of callees, which exist only in Tensor SSA.
    fn ssa_env(&self) -> Option<&dyn super::eval_ssa::SsaEnv> {
        None
    }
}

/// The reasons why an evaluation has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvalError {
    /// A check failed.
    CheckFailed(Arc<CheckFailure>),
    /// The form is ill-formed, which is a defect of a pass.
    IllFormed(&'static str),
    /// The step limit was reached.
    OutOfFuel,
}

type EvalOutcome<T = IrValue> = Result<T, EvalError>;

/// An evaluation.
pub struct CoreEvaluator<'a> {
    functions: &'a dyn CoreEnv,
    /// The operation counts so far.
    pub counts: OperationCounts,
    fuel: u64,
}

struct EvalFrame {
    values: Vec<Option<IrValue>>,
    /// The variables of existentials. Their ids are too large for `values`.
    existentials: HashMap<LocalId, i64>,
}

impl<'a> CoreEvaluator<'a> {
    /// Creates an evaluator with a limit on its steps.
    #[must_use]
    pub fn new(functions: &'a dyn CoreEnv, fuel: u64) -> Self {
        Self { functions, counts: OperationCounts::default(), fuel }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// The first failure in it, see [`EvalError`].
    pub fn call(&mut self, function: &CoreFunction, sizes: &[i64], args: Vec<IrValue>) -> EvalOutcome {
        let mut frame = EvalFrame { values: vec![None; function.vars.len()], existentials: HashMap::new() };
        for (local, n) in function.sizes.iter().zip(sizes) {
            frame.set(*local, IrValue::I64(*n));
        }
        for ((local, _), value) in function.params.iter().zip(args) {
            frame.set(*local, value);
        }
        self.eval(&mut frame, &function.body)
    }

    fn step(&mut self) -> EvalOutcome<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or(EvalError::OutOfFuel)?;
        Ok(())
    }

    fn eval(&mut self, f: &mut EvalFrame, e: &CoreExpr) -> EvalOutcome {
        ensure_sufficient_stack(|| match self.eval_term(f, e, false)? {
            Some(value) => Ok(value),
            None => self.zero(f, e),
        })
    }

    fn zero(&mut self, f: &mut EvalFrame, e: &CoreExpr) -> EvalOutcome {
        self.zero_value(f, &e.ty)
    }

    fn zero_value(&mut self, f: &mut EvalFrame, ty: &CoreType) -> EvalOutcome {
        let mut broken = false;
        let zero = IrValue::zero(ty, &mut |n| match self.eval_index(f, n) {
            Ok(n) => usize::try_from(n.max(0)).unwrap_or(0),
            Err(_) => {
                broken = true;
                0
            }
        });
        if broken { Err(EvalError::IllFormed("an extent")) } else { Ok(zero) }
    }

    /// Evaluates an expression as a term of a sum. Returns `None` for a bracket whose predicate is
    /// false: a sum does not add it (4.24, 4.30). If `joint`, the expression is the body of an
    /// enclosing summation, and a nested summation without terms is `None` too.
    fn eval_term(&mut self, f: &mut EvalFrame, e: &CoreExpr, joint: bool) -> EvalOutcome<Option<IrValue>> {
        self.step()?;
        let broken = EvalError::IllFormed;
        Ok(Some(match &e.kind {
            ExprKind::Var(x) => f.get(*x).cloned().ok_or(broken("a variable"))?,
            ExprKind::Global(name) => self.functions.global(name).ok_or(broken("a global"))?,
            ExprKind::Constant(c) => IrValue::constant(*c, e.ty.scalar().unwrap_or(Scalar::F64)),
            ExprKind::Index(p) => IrValue::I64(self.eval_index(f, p)?),
            ExprKind::Add(items) => {
                let mut sum: Option<IrValue> = None;
                for item in items {
                    if let Some(value) = ensure_sufficient_stack(|| self.eval_term(f, item, false))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.add_values(&before, &value)?,
                        });
                    }
                }
                return self.sum_or_zero(f, e, sum, false);
            }
            ExprKind::Mul(a, b) => {
                let (a, b) = (self.eval(f, a)?, self.eval(f, b)?);
                self.counts.work += u64::from(a.is_real());
                a.checked_mul(&b).ok_or(broken("a product"))?
            }
            ExprKind::Neg(a) => match ensure_sufficient_stack(|| self.eval_term(f, a, joint))? {
                Some(value) => value.checked_neg().ok_or(broken("a negation"))?,
                None => return Ok(None),
            },
            ExprKind::Apply(operation, args) => {
                let args = args.iter().map(|a| self.eval(f, a)).collect::<EvalOutcome<Vec<IrValue>>>()?;
                let of = args.first().and_then(IrValue::scalar).unwrap_or(Scalar::Bool);
                self.counts.work += operation.work(of);
                value::apply_op(*operation, &args).ok_or(broken("an operation"))?
            }
            ExprKind::Tuple(items) => {
                IrValue::Tuple(items.iter().map(|a| self.eval(f, a)).collect::<EvalOutcome<_>>()?)
            }
            ExprKind::Proj(a, k) => match self.eval(f, a)? {
                IrValue::Tuple(items) => items.into_iter().nth(*k as usize).ok_or(broken("a component"))?,
                _ => return Err(broken("a tuple")),
            },
            ExprKind::Gen(index, body) => {
                let mut items = Vec::new();
                for i in 0..self.eval_index(f, &index.extent)? {
                    self.set_index(f, index, i, body)?;
                    items.push(self.eval(f, body)?);
                }
                IrValue::Array(items)
            }
            ExprKind::Sum(index, body) => {
                let mut sum: Option<IrValue> = None;
                for i in 0..self.eval_index(f, &index.extent)? {
                    self.set_index(f, index, i, body)?;
                    if let Some(value) = ensure_sufficient_stack(|| self.eval_term(f, body, true))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.add_values(&before, &value)?,
                        });
                    }
                }
                return self.sum_or_zero(f, e, sum, joint);
            }
            ExprKind::Reduce(r) => self.eval_reduction(f, r)?,
            ExprKind::Argsort(index, body) => self.eval_argsort(f, index, body)?,
            ExprKind::Access(a, at) => {
                // Copies only the element if the base is a variable or a component of one.
                let mut path = vec![self.eval_index(f, at)?];
                let mut base = a;
                while let ExprKind::Access(inner, at) = &base.kind {
                    path.push(self.eval_index(f, at)?);
                    base = inner;
                }
                path.reverse();
                let element = match f.borrow_component(base) {
                    Some(part) => part.at(&path).cloned(),
                    None => self.eval(f, base)?.at(&path).cloned(),
                };
                element.ok_or(broken("an element"))?
            }
            ExprKind::Guard(p, body) => {
                if !self.test_pred(f, p)? {
                    return Ok(None);
                }
                return ensure_sufficient_stack(|| self.eval_term(f, body, joint));
            }
            ExprKind::Let(bindings, body) => {
                for (x, e) in bindings {
                    let value = self.eval(f, e)?;
                    f.set(*x, value);
                }
                return ensure_sufficient_stack(|| self.eval_term(f, body, joint));
            }
            ExprKind::Call(callee, sizes, arg_exprs) => {
                let sizes = sizes.iter().map(|p| self.eval_index(f, p)).collect::<EvalOutcome<Vec<i64>>>()?;
                let args = arg_exprs.iter().map(|a| self.eval(f, a)).collect::<EvalOutcome<Vec<IrValue>>>()?;
                if !callee.derivatives.is_empty() {
                    return self.eval_derivative(f, callee, &sizes, arg_exprs, &args).map(Some);
                }
                let function = self.functions.function(callee).ok_or(broken("a function"))?;
                self.call(&function, &sizes, args)?
            }
            ExprKind::Check(p, what, body) => {
                if !self.test_pred(f, p)? {
                    return Err(EvalError::CheckFailed(what.clone()));
                }
                return ensure_sufficient_stack(|| self.eval_term(f, body, joint));
            }
            ExprKind::Loop(repeat, args) => self.eval_loop(f, repeat, args, &e.ty)?,
            ExprKind::Update(update, base, value) => {
                let (base, value) = (self.eval(f, base)?, self.eval(f, value)?);
                if self.test_pred(f, &update.pred)? { self.eval_update(f, update, base, &value)? } else { base }
            }
        }))
    }

    /// Evaluates a loop to its final carry, its outputs and its trip count. In forms without
    /// tuples, carry and outputs are split into parts.
    fn eval_loop(&mut self, f: &mut EvalFrame, repeat: &CoreLoop, args: &[ExprRef], ty: &CoreType) -> EvalOutcome {
        let broken = EvalError::IllFormed("a loop");
        let body = self.functions.function(&repeat.body).ok_or(broken.clone())?;
        let CoreType::Tuple(parts, _) = ty else { return Err(broken) };
        let (Some(carried), Some(CoreType::Tensor(_, kept))) = (parts.first(), parts.get(1)) else {
            return Err(broken);
        };
        let shape = |ty: &CoreType| ty.map_sizes(&|_| Poly::default());
        let whole = shape(&body.body.ty) == shape(&CoreType::tuple([carried.clone(), (**kept).clone()]));
        let split =
            |ty: &CoreType| if whole { vec![ty.clone()] } else { ty.leaves().iter().map(TypeLeaf::ty).collect() };
        let (count, kept) = (split(carried).len(), split(kept));
        let mut captured = args.iter().map(|a| self.eval(f, a)).collect::<EvalOutcome<Vec<IrValue>>>()?;
        let mut carry = captured.split_off(captured.len().checked_sub(count).ok_or(broken.clone())?);
        let trips = repeat.trip_count.fixed().map(|n| self.eval_index(f, n)).transpose()?;
        let extent = self.eval_index(f, &repeat.counter.extent)?;
        let (mut arrays, mut done) = (vec![Vec::new(); kept.len()], 0);
        loop {
            let going = || {
                let first = carry.first()?;
                if whole { first.at_path(&[0])?.truth() } else { first.truth() }
            };
            let on = match trips {
                Some(n) => done < n,
                None => going().ok_or(broken.clone())?,
            };
            if !on {
                break;
            }
            self.step()?;
            self.counts.iterations += 1;
            f.set(repeat.counter.local, IrValue::I64(done));
            let sizes = repeat.sizes.iter().map(|p| self.eval_index(f, p)).collect::<EvalOutcome<Vec<i64>>>()?;
            let all = captured.iter().cloned().chain(carry).collect();
            let IrValue::Tuple(mut next) = ensure_sufficient_stack(|| self.call(&body, &sizes, all))? else {
                return Err(broken);
            };
            let outputs = next.split_off(count.min(next.len()));
            carry = next;
            if done < extent {
                arrays.iter_mut().zip(outputs).for_each(|(array, output)| array.push(output));
            }
            done += 1;
        }
        for (array, ty) in arrays.iter_mut().zip(&kept) {
            while i64::try_from(array.len()).is_ok_and(|n| n < extent) {
                array.push(self.zero_value(f, ty)?);
            }
        }
        let arrays = arrays.into_iter().map(IrValue::Array);
        Ok(IrValue::Tuple(carry.into_iter().chain(arrays).chain([IrValue::I64(done)]).collect()))
    }

    fn eval_update(
        &mut self,
        f: &mut EvalFrame,
        update: &CoreUpdate,
        mut base: IrValue,
        value: &IrValue,
    ) -> EvalOutcome {
        let extents =
            update.indices.iter().map(|i| self.eval_index(f, &i.extent)).collect::<EvalOutcome<Vec<i64>>>()?;
        let count = extents.iter().try_fold(1_i64, |n, d| n.checked_mul((*d).max(0))).ok_or(EvalError::OutOfFuel)?;
        for k in 0..count {
            self.step()?;
            let mut rest = k;
            let mut own: Vec<i64> = Vec::new();
            for (i, n) in update.indices.iter().zip(&extents).rev() {
                own.push(rest % n);
                f.set(i.local, IrValue::I64(rest % n));
                rest /= n;
            }
            own.reverse();
            let at = update.at.iter().map(|p| self.eval_index(f, p)).collect::<EvalOutcome<Vec<i64>>>()?;
            let new = value.at(&own).ok_or(EvalError::IllFormed("a new element"))?.clone();
            let slot = base.at_mut(&at).ok_or(EvalError::IllFormed("an element"))?;
            if update.accumulate {
                *slot = self.add_elementwise(slot, &new)?;
            } else {
                *slot = new;
            }
        }
        Ok(base)
    }

    /// Returns the sum of two values of the same type, element by element.
    fn add_elementwise(&mut self, a: &IrValue, b: &IrValue) -> EvalOutcome {
        match (a, b) {
            (IrValue::Array(x), IrValue::Array(y)) => {
                let items = x.iter().zip(y).map(|(a, b)| ensure_sufficient_stack(|| self.add_elementwise(a, b)));
                Ok(IrValue::Array(items.collect::<EvalOutcome<_>>()?))
            }
            (IrValue::Tuple(x), IrValue::Tuple(y)) => {
                let items = x.iter().zip(y).map(|(a, b)| ensure_sufficient_stack(|| self.add_elementwise(a, b)));
                Ok(IrValue::Tuple(items.collect::<EvalOutcome<_>>()?))
            }
            _ => self.add_values(a, b),
        }
    }

    /// Evaluates a product, a maximum or minimum, or the position of one.
    fn eval_reduction(&mut self, f: &mut EvalFrame, r: &CoreReduction) -> EvalOutcome {
        let extents = r.indices.iter().map(|i| self.eval_index(f, &i.extent)).collect::<EvalOutcome<Vec<i64>>>()?;
        let scalar = r.body.ty.scalar().unwrap_or(Scalar::F64);
        let mut found: Option<(IrValue, i64)> = None;
        let mut at = vec![0; extents.len()];
        let mut left = extents.iter().all(|n| *n > 0);
        while left {
            self.step()?;
            self.counts.iterations += 1;
            for (index, i) in r.indices.iter().zip(&at) {
                f.set(index.local, IrValue::I64(*i));
            }
            if self.test_pred(f, &r.filter)? {
                let term = self.eval(f, &r.body)?;
                let place = if r.reducer.is_arg_reduction() { self.eval_index(f, &r.arg_value)? } else { 0 };
                found = Some(match found {
                    None => (term, place),
                    Some(before) => {
                        self.counts.work += u64::from(term.is_real());
                        r.reducer.combine(before, term, place).ok_or(EvalError::IllFormed("a reduction"))?
                    }
                });
            }
            left = advance_tuple(&mut at, &extents);
        }
        Ok(match found {
            Some((_, place)) if r.reducer.is_arg_reduction() => IrValue::I64(place),
            Some((value, _)) => value,
            None => IrValue::constant(r.reducer.empty_result(scalar), scalar),
        })
    }

    /// Evaluates an `argsort`: the values of the index, sorted by the expression.
    fn eval_argsort(&mut self, f: &mut EvalFrame, index: &Index, body: &ExprRef) -> EvalOutcome {
        let mut keys = Vec::new();
        for i in 0..self.eval_index(f, &index.extent)? {
            self.set_index(f, index, i, body)?;
            keys.push(self.eval(f, body)?);
        }
        let (order, compared) = argsort::sorted_positions(&keys).ok_or(EvalError::IllFormed("an order"))?;
        self.counts.work += compared;
        let position = |k: usize| i64::try_from(k).map(IrValue::I64).map_err(|_| EvalError::IllFormed("an order"));
        Ok(IrValue::Array(order.into_iter().map(position).collect::<EvalOutcome<_>>()?))
    }

    /// Evaluates a derivative in Tensor SSA, because it has no core form.
    fn eval_derivative(
        &mut self,
        f: &mut EvalFrame,
        callee: &FunctionKey,
        sizes: &[i64],
        args: &[ExprRef],
        values: &[IrValue],
    ) -> EvalOutcome {
        let broken = EvalError::IllFormed;
        let functions = self.functions.ssa_env().ok_or(broken("a derivative"))?;
        let ssa = functions.ssa(callee).ok_or(broken("a derivative"))?;
        let mut parts = Vec::new();
        for (arg, value) in args.iter().zip(values) {
            for leaf in arg.ty.leaves() {
                let mut extent = |n: &Poly| Ok(usize::try_from(self.eval_index(f, n)?.max(0)).unwrap_or(0));
                let dims = leaf.dims.iter().map(&mut extent).collect::<EvalOutcome<Vec<usize>>>()?;
                parts.push(IrTensor::extract_leaf(value, &leaf.path, dims));
            }
        }
        let mut evaluator = SsaEvaluator::new(functions, self.fuel);
        let results = evaluator.call(&ssa, sizes, parts);
        self.fuel = evaluator.remaining_fuel();
        self.counts.add(evaluator.counts);
        Ok(IrValue::Tuple(results?.iter().map(|t| t.to_value()).collect()))
    }

    /// Returns the value of a sum. An empty sum is zero, or no term if it is joint.
    fn sum_or_zero(
        &mut self,
        f: &mut EvalFrame,
        e: &CoreExpr,
        sum: Option<IrValue>,
        joint: bool,
    ) -> EvalOutcome<Option<IrValue>> {
        Ok(match sum {
            None if !joint => Some(self.zero(f, e)?),
            sum => sum,
        })
    }

    fn add_values(&mut self, a: &IrValue, b: &IrValue) -> EvalOutcome {
        self.counts.work += u64::from(a.is_real());
        a.checked_add(b).ok_or(EvalError::IllFormed("a sum"))
    }

    /// Sets an index. A tuple of nested indices is counted once, when its innermost index is set.
    fn set_index(&mut self, f: &mut EvalFrame, index: &Index, i: i64, body: &ExprRef) -> EvalOutcome<()> {
        self.step()?;
        if !matches!(body.kind, ExprKind::Gen(..) | ExprKind::Sum(..)) {
            self.counts.iterations += 1;
        }
        f.set(index.local, IrValue::I64(i));
        Ok(())
    }

    fn test_pred(&mut self, f: &mut EvalFrame, p: &Pred) -> EvalOutcome<bool> {
        self.counts.tests += u64::from(p.depends_on_data());
        index_eval::eval_pred(&mut FrameEnv { evaluator: self, frame: f }, p)
    }

    /// Returns the value of an index expression.
    fn eval_index(&mut self, f: &mut EvalFrame, p: &Poly) -> EvalOutcome<i64> {
        index_eval::eval_poly(&FrameEnv { evaluator: self, frame: f }, p)
    }
}

/// Advances to the next index tuple, with the last index fastest. Returns whether one exists.
fn advance_tuple(at: &mut [i64], extents: &[i64]) -> bool {
    for (i, n) in at.iter_mut().zip(extents).rev() {
        *i += 1;
        if *i < *n {
            return true;
        }
        *i = 0;
    }
    false
}

/// An evaluator in a frame.
struct FrameEnv<'r, 'a> {
    evaluator: &'r mut CoreEvaluator<'a>,
    frame: &'r mut EvalFrame,
}

impl FrameEnv<'_, '_> {
    fn element(&self, x: LocalId, at: &[i64]) -> Option<&IrValue> {
        self.frame.get(x)?.at(at)
    }
}

impl IndexEnv for FrameEnv<'_, '_> {
    fn local_value(&self, x: LocalId) -> EvalOutcome<i64> {
        self.frame.int(x).ok_or(EvalError::IllFormed("an index"))
    }

    fn global_value(&self, name: &GlobalName) -> EvalOutcome<i64> {
        self.evaluator.functions.global(name).and_then(|v| v.int()).ok_or(EvalError::IllFormed("a global"))
    }

    fn integer_element(&self, x: LocalId, at: &[i64]) -> EvalOutcome<i64> {
        let element = self.element(x, at).ok_or(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS))?;
        element.int().ok_or(EvalError::IllFormed("an integer element"))
    }

    fn bool_element(&self, x: LocalId, at: &[i64]) -> EvalOutcome<bool> {
        let element = self.element(x, at).ok_or(EvalError::IllFormed(index_eval::OUT_OF_BOUNDS))?;
        element.truth().ok_or(EvalError::IllFormed("a truth value"))
    }

    fn is_member(&self, x: LocalId, at: &[i64]) -> EvalOutcome<bool> {
        match self.frame.get(x) {
            Some(IrValue::Rel(rows)) => Ok(rows.iter().any(|row| row == at)),
            _ => Err(EvalError::IllFormed("a relation")),
        }
    }

    fn bind_existential(&mut self, x: LocalId, value: Option<i64>) {
        match value {
            Some(i) => self.frame.existentials.insert(x, i),
            None => self.frame.existentials.remove(&x),
        };
    }

    fn count_step(&mut self) -> EvalOutcome<()> {
        self.evaluator.step()
    }
}

impl EvalFrame {
    /// Returns the value of an integer, or of the variable of an existential.
    fn int(&self, local: LocalId) -> Option<i64> {
        self.existentials.get(&local).copied().or_else(|| self.get(local)?.int())
    }

    fn get(&self, local: LocalId) -> Option<&IrValue> {
        self.values.get(local.0 as usize)?.as_ref()
    }

    /// Returns the value of a variable, or of a component of one, without a copy.
    fn borrow_component(&self, e: &CoreExpr) -> Option<&IrValue> {
        match &e.kind {
            ExprKind::Var(x) => self.get(*x),
            ExprKind::Proj(inner, k) => match ensure_sufficient_stack(|| self.borrow_component(inner))? {
                IrValue::Tuple(items) => items.get(*k as usize),
                _ => None,
            },
            _ => None,
        }
    }

    fn set(&mut self, local: LocalId, value: IrValue) {
        if self.values.len() <= local.0 as usize {
            self.values.resize(local.0 as usize + 1, None);
        }
        if let Some(slot) = self.values.get_mut(local.0 as usize) {
            *slot = Some(value);
        }
    }
}

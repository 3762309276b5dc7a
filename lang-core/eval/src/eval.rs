//! The **reference evaluator** of core, as the paper defines it (ATL Figs. 4 and 5), with its
//! operation counts (Fig. 6). It is slow. Tests compare it with the interpreter on one side and
//! with Tensor SSA on the other.
//!
//! - Work is counted as in the interpreter.
//! - Tests are evaluations of predicates that depend on data.
//! - Iterations are index tuples of generations and summations.

use std::collections::HashMap;
use std::sync::Arc;

use super::eval_ssa::{SsaEvaluator, Tensor};
use super::indices::{self, Numbers};
use lang_base::GlobalName;
use lang_base::guarded;
use lang_ir::core::{Callee, CoreType, E, Expr, Failing, Function, Kind, Leaf, Repeat, Update};
use lang_ir::order;
use lang_ir::reduce::Reduction;
use lang_ir::value::{self, Value};
use lang_runtime::Counts;
use lang_sizes::predicate::{Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The environment of an evaluation, beside its arguments.
pub trait Functions {
    /// Returns the core form of a callee.
    fn function(&self, callee: &Callee) -> Option<Arc<Function>>;
    /// Returns the value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<Value>;
    /// Returns the environment for derivatives of callees, which exist only in Tensor SSA.
    fn derivatives(&self) -> Option<&dyn super::eval_ssa::Functions> {
        None
    }
}

/// The reasons why an evaluation has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A check failed.
    Failed(Arc<Failing>),
    /// The form is ill-formed, which is a defect of a pass.
    Broken(&'static str),
    /// The step limit was reached.
    Fuel,
}

type Eval<T = Value> = Result<T, Stopped>;

/// An evaluation.
pub struct Evaluator<'a> {
    functions: &'a dyn Functions,
    /// The operation counts so far.
    pub counts: Counts,
    fuel: u64,
}

struct Frame {
    values: Vec<Option<Value>>,
    /// The variables of existentials. Their ids are too large for `values`.
    bound: HashMap<LocalId, i64>,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator with a limit on its steps.
    #[must_use]
    pub fn new(functions: &'a dyn Functions, fuel: u64) -> Self {
        Self { functions, counts: Counts::default(), fuel }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// The first failure in it, see [`Stopped`].
    pub fn call(&mut self, function: &Function, sizes: &[i64], args: Vec<Value>) -> Eval {
        let mut frame = Frame { values: vec![None; function.vars.len()], bound: HashMap::new() };
        for (local, n) in function.sizes.iter().zip(sizes) {
            frame.set(*local, Value::I64(*n));
        }
        for ((local, _), value) in function.params.iter().zip(args) {
            frame.set(*local, value);
        }
        self.eval(&mut frame, &function.body)
    }

    fn step(&mut self) -> Eval<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Stopped::Fuel)?;
        Ok(())
    }

    fn eval(&mut self, f: &mut Frame, e: &Expr) -> Eval {
        guarded(|| match self.term(f, e, false)? {
            Some(value) => Ok(value),
            None => self.zero(f, e),
        })
    }

    fn zero(&mut self, f: &mut Frame, e: &Expr) -> Eval {
        self.zero_value(f, &e.ty)
    }

    fn zero_value(&mut self, f: &mut Frame, ty: &CoreType) -> Eval {
        let mut broken = false;
        let zero = Value::zero(ty, &mut |n| match self.poly(f, n) {
            Ok(n) => usize::try_from(n.max(0)).unwrap_or(0),
            Err(_) => {
                broken = true;
                0
            }
        });
        if broken { Err(Stopped::Broken("an extent")) } else { Ok(zero) }
    }

    /// Evaluates an expression as a term of a sum. Returns `None` for a bracket whose predicate is
    /// false: a sum does not add it (4.24, 4.30). If `joint`, the expression is the body of an
    /// enclosing summation, and a nested summation without terms is `None` too.
    fn term(&mut self, f: &mut Frame, e: &Expr, joint: bool) -> Eval<Option<Value>> {
        self.step()?;
        let broken = Stopped::Broken;
        Ok(Some(match &e.kind {
            Kind::Var(x) => f.get(*x).cloned().ok_or(broken("a variable"))?,
            Kind::Global(name) => self.functions.global(name).ok_or(broken("a global"))?,
            Kind::Constant(c) => Value::constant(*c, e.ty.scalar().unwrap_or(Scalar::F64)),
            Kind::Index(p) => Value::I64(self.poly(f, p)?),
            Kind::Add(items) => {
                let mut sum: Option<Value> = None;
                for item in items {
                    if let Some(value) = guarded(|| self.term(f, item, false))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.plus(&before, &value)?,
                        });
                    }
                }
                return self.present(f, e, sum, false);
            }
            Kind::Mul(a, b) => {
                let (a, b) = (self.eval(f, a)?, self.eval(f, b)?);
                self.counts.work += u64::from(a.is_real());
                a.times(&b).ok_or(broken("a product"))?
            }
            Kind::Neg(a) => match guarded(|| self.term(f, a, joint))? {
                Some(value) => value.negated().ok_or(broken("a negation"))?,
                None => return Ok(None),
            },
            Kind::Apply(operation, args) => {
                let args = args.iter().map(|a| self.eval(f, a)).collect::<Eval<Vec<Value>>>()?;
                let of = args.first().and_then(Value::scalar).unwrap_or(Scalar::Bool);
                self.counts.work += operation.work(of);
                value::apply(*operation, &args).ok_or(broken("an operation"))?
            }
            Kind::Tuple(items) => Value::Tuple(items.iter().map(|a| self.eval(f, a)).collect::<Eval<_>>()?),
            Kind::Proj(a, k) => match self.eval(f, a)? {
                Value::Tuple(items) => items.into_iter().nth(*k as usize).ok_or(broken("a component"))?,
                _ => return Err(broken("a tuple")),
            },
            Kind::Gen(index, body) => {
                let mut items = Vec::new();
                for i in 0..self.poly(f, &index.extent)? {
                    self.visit(f, index, i, body)?;
                    items.push(self.eval(f, body)?);
                }
                Value::Array(items)
            }
            Kind::Sum(index, body) => {
                let mut sum: Option<Value> = None;
                for i in 0..self.poly(f, &index.extent)? {
                    self.visit(f, index, i, body)?;
                    if let Some(value) = guarded(|| self.term(f, body, true))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.plus(&before, &value)?,
                        });
                    }
                }
                return self.present(f, e, sum, joint);
            }
            Kind::Reduce(r) => self.reduction(f, r)?,
            Kind::Order(index, body) => self.order(f, index, body)?,
            Kind::Access(a, at) => {
                // Copies only the element if the base is a variable or a component of one.
                let mut path = vec![self.poly(f, at)?];
                let mut base = a;
                while let Kind::Access(inner, at) = &base.kind {
                    path.push(self.poly(f, at)?);
                    base = inner;
                }
                path.reverse();
                let element = match f.part(base) {
                    Some(part) => part.at(&path).cloned(),
                    None => self.eval(f, base)?.at(&path).cloned(),
                };
                element.ok_or(broken("an element"))?
            }
            Kind::Guard(p, body) => {
                if !self.test(f, p)? {
                    return Ok(None);
                }
                return guarded(|| self.term(f, body, joint));
            }
            Kind::Let(bindings, body) => {
                for (x, e) in bindings {
                    let value = self.eval(f, e)?;
                    f.set(*x, value);
                }
                return guarded(|| self.term(f, body, joint));
            }
            Kind::Call(callee, sizes, given) => {
                let sizes = sizes.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
                let args = given.iter().map(|a| self.eval(f, a)).collect::<Eval<Vec<Value>>>()?;
                if !callee.derived.is_empty() {
                    return self.derived(f, callee, &sizes, given, &args).map(Some);
                }
                let function = self.functions.function(callee).ok_or(broken("a function"))?;
                self.call(&function, &sizes, args)?
            }
            Kind::Check(p, what, body) => {
                if !self.test(f, p)? {
                    return Err(Stopped::Failed(what.clone()));
                }
                return guarded(|| self.term(f, body, joint));
            }
            Kind::Loop(repeat, args) => self.repeat(f, repeat, args, &e.ty)?,
            Kind::Update(update, base, value) => {
                let (base, value) = (self.eval(f, base)?, self.eval(f, value)?);
                if self.test(f, &update.pred)? { self.update(f, update, base, &value)? } else { base }
            }
        }))
    }

    /// Evaluates a loop to its final carry, its outputs and its trip count. In forms without
    /// tuples, carry and outputs are split into parts.
    fn repeat(&mut self, f: &mut Frame, repeat: &Repeat, args: &[E], ty: &CoreType) -> Eval {
        let broken = Stopped::Broken("a loop");
        let body = self.functions.function(&repeat.body).ok_or(broken.clone())?;
        let CoreType::Tuple(parts, _) = ty else { return Err(broken) };
        let (Some(carried), Some(CoreType::Tensor(_, kept))) = (parts.first(), parts.get(1)) else {
            return Err(broken);
        };
        let shape = |ty: &CoreType| ty.map_sizes(&|_| Poly::default());
        let whole = shape(&body.body.ty) == shape(&CoreType::tuple([carried.clone(), (**kept).clone()]));
        let split = |ty: &CoreType| if whole { vec![ty.clone()] } else { ty.leaves().iter().map(Leaf::ty).collect() };
        let (count, kept) = (split(carried).len(), split(kept));
        let mut given = args.iter().map(|a| self.eval(f, a)).collect::<Eval<Vec<Value>>>()?;
        let mut carry = given.split_off(given.len().checked_sub(count).ok_or(broken.clone())?);
        let trips = repeat.trips.count().map(|n| self.poly(f, n)).transpose()?;
        let extent = self.poly(f, &repeat.counter.extent)?;
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
            f.set(repeat.counter.local, Value::I64(done));
            let sizes = repeat.sizes.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
            let all = given.iter().cloned().chain(carry).collect();
            let Value::Tuple(mut next) = guarded(|| self.call(&body, &sizes, all))? else { return Err(broken) };
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
        let arrays = arrays.into_iter().map(Value::Array);
        Ok(Value::Tuple(carry.into_iter().chain(arrays).chain([Value::I64(done)]).collect()))
    }

    fn update(&mut self, f: &mut Frame, update: &Update, mut base: Value, value: &Value) -> Eval {
        let extents = update.over.iter().map(|i| self.poly(f, &i.extent)).collect::<Eval<Vec<i64>>>()?;
        let count = extents.iter().try_fold(1_i64, |n, d| n.checked_mul((*d).max(0))).ok_or(Stopped::Fuel)?;
        for k in 0..count {
            self.step()?;
            let mut rest = k;
            let mut own: Vec<i64> = Vec::new();
            for (i, n) in update.over.iter().zip(&extents).rev() {
                own.push(rest % n);
                f.set(i.local, Value::I64(rest % n));
                rest /= n;
            }
            own.reverse();
            let at = update.at.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
            let new = value.at(&own).ok_or(Stopped::Broken("a new element"))?.clone();
            let slot = base.at_mut(&at).ok_or(Stopped::Broken("an element"))?;
            if update.add {
                *slot = self.plus_all(slot, &new)?;
            } else {
                *slot = new;
            }
        }
        Ok(base)
    }

    /// Returns the sum of two values of the same type, element by element.
    fn plus_all(&mut self, a: &Value, b: &Value) -> Eval {
        match (a, b) {
            (Value::Array(x), Value::Array(y)) => {
                let items = x.iter().zip(y).map(|(a, b)| guarded(|| self.plus_all(a, b)));
                Ok(Value::Array(items.collect::<Eval<_>>()?))
            }
            (Value::Tuple(x), Value::Tuple(y)) => {
                let items = x.iter().zip(y).map(|(a, b)| guarded(|| self.plus_all(a, b)));
                Ok(Value::Tuple(items.collect::<Eval<_>>()?))
            }
            _ => self.plus(a, b),
        }
    }

    /// Evaluates a product, a maximum or minimum, or the position of one.
    fn reduction(&mut self, f: &mut Frame, r: &Reduction) -> Eval {
        let extents = r.indices.iter().map(|i| self.poly(f, &i.extent)).collect::<Eval<Vec<i64>>>()?;
        let scalar = r.body.ty.scalar().unwrap_or(Scalar::F64);
        let mut found: Option<(Value, i64)> = None;
        let mut at = vec![0; extents.len()];
        let mut left = extents.iter().all(|n| *n > 0);
        while left {
            self.step()?;
            self.counts.iterations += 1;
            for (index, i) in r.indices.iter().zip(&at) {
                f.set(index.local, Value::I64(*i));
            }
            if self.test(f, &r.terms)? {
                let term = self.eval(f, &r.body)?;
                let place = if r.reducer.gives_place() { self.poly(f, &r.place)? } else { 0 };
                found = Some(match found {
                    None => (term, place),
                    Some(before) => {
                        self.counts.work += u64::from(term.is_real());
                        r.reducer.joined(before, term, place).ok_or(Stopped::Broken("a reduction"))?
                    }
                });
            }
            left = next(&mut at, &extents);
        }
        Ok(match found {
            Some((_, place)) if r.reducer.gives_place() => Value::I64(place),
            Some((value, _)) => value,
            None => Value::constant(r.reducer.nothing(scalar), scalar),
        })
    }

    /// Evaluates an `argsort`: the values of the index, sorted by the expression.
    fn order(&mut self, f: &mut Frame, index: &Index, body: &E) -> Eval {
        let mut keys = Vec::new();
        for i in 0..self.poly(f, &index.extent)? {
            self.visit(f, index, i, body)?;
            keys.push(self.eval(f, body)?);
        }
        let (order, compared) = order::positions(&keys).ok_or(Stopped::Broken("an order"))?;
        self.counts.work += compared;
        let position = |k: usize| i64::try_from(k).map(Value::I64).map_err(|_| Stopped::Broken("an order"));
        Ok(Value::Array(order.into_iter().map(position).collect::<Eval<_>>()?))
    }

    /// Evaluates a derivative in Tensor SSA, because it has no core form.
    fn derived(&mut self, f: &mut Frame, callee: &Callee, sizes: &[i64], args: &[E], values: &[Value]) -> Eval {
        let broken = Stopped::Broken;
        let functions = self.functions.derivatives().ok_or(broken("a derivative"))?;
        let ssa = functions.ssa(callee).ok_or(broken("a derivative"))?;
        let mut parts = Vec::new();
        for (arg, value) in args.iter().zip(values) {
            for leaf in arg.ty.leaves() {
                let mut extent = |n: &Poly| Ok(usize::try_from(self.poly(f, n)?.max(0)).unwrap_or(0));
                let dims = leaf.dims.iter().map(&mut extent).collect::<Eval<Vec<usize>>>()?;
                parts.push(Tensor::part(value, &leaf.path, dims));
            }
        }
        let mut evaluator = SsaEvaluator::new(functions, self.fuel);
        let results = evaluator.call(&ssa, sizes, parts);
        self.fuel = evaluator.left();
        self.counts.add(evaluator.counts);
        Ok(Value::Tuple(results?.iter().map(|t| t.value()).collect()))
    }

    /// Returns the value of a sum. An empty sum is zero, or no term if it is joint.
    fn present(&mut self, f: &mut Frame, e: &Expr, sum: Option<Value>, joint: bool) -> Eval<Option<Value>> {
        Ok(match sum {
            None if !joint => Some(self.zero(f, e)?),
            sum => sum,
        })
    }

    fn plus(&mut self, a: &Value, b: &Value) -> Eval {
        self.counts.work += u64::from(a.is_real());
        a.plus(b).ok_or(Stopped::Broken("a sum"))
    }

    /// Sets an index. A tuple of nested indices is counted once, when its innermost index is set.
    fn visit(&mut self, f: &mut Frame, index: &Index, i: i64, body: &E) -> Eval<()> {
        self.step()?;
        if !matches!(body.kind, Kind::Gen(..) | Kind::Sum(..)) {
            self.counts.iterations += 1;
        }
        f.set(index.local, Value::I64(i));
        Ok(())
    }

    fn test(&mut self, f: &mut Frame, p: &Pred) -> Eval<bool> {
        self.counts.tests += u64::from(p.is_opaque());
        indices::holds(&mut At { evaluator: self, frame: f }, p)
    }

    /// Returns the value of an index expression.
    fn poly(&mut self, f: &mut Frame, p: &Poly) -> Eval<i64> {
        indices::poly(&At { evaluator: self, frame: f }, p)
    }
}

/// Advances to the next index tuple, with the last index fastest. Returns whether one exists.
fn next(at: &mut [i64], extents: &[i64]) -> bool {
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
struct At<'r, 'a> {
    evaluator: &'r mut Evaluator<'a>,
    frame: &'r mut Frame,
}

impl At<'_, '_> {
    fn element(&self, x: LocalId, at: &[i64]) -> Option<&Value> {
        self.frame.get(x)?.at(at)
    }
}

impl Numbers for At<'_, '_> {
    fn local(&self, x: LocalId) -> Eval<i64> {
        self.frame.int(x).ok_or(Stopped::Broken("an index"))
    }

    fn global(&self, name: &GlobalName) -> Eval<i64> {
        self.evaluator.functions.global(name).and_then(|v| v.int()).ok_or(Stopped::Broken("a global"))
    }

    fn read(&self, x: LocalId, at: &[i64]) -> Eval<i64> {
        let element = self.element(x, at).ok_or(Stopped::Broken(indices::OUTSIDE))?;
        element.int().ok_or(Stopped::Broken("an integer element"))
    }

    fn truth(&self, x: LocalId, at: &[i64]) -> Eval<bool> {
        let element = self.element(x, at).ok_or(Stopped::Broken(indices::OUTSIDE))?;
        element.truth().ok_or(Stopped::Broken("a truth value"))
    }

    fn member(&self, x: LocalId, at: &[i64]) -> Eval<bool> {
        match self.frame.get(x) {
            Some(Value::Rel(rows)) => Ok(rows.iter().any(|row| row == at)),
            _ => Err(Stopped::Broken("a relation")),
        }
    }

    fn bind(&mut self, x: LocalId, value: Option<i64>) {
        match value {
            Some(i) => self.frame.bound.insert(x, i),
            None => self.frame.bound.remove(&x),
        };
    }

    fn step(&mut self) -> Eval<()> {
        self.evaluator.step()
    }
}

impl Frame {
    /// Returns the value of an integer, or of the variable of an existential.
    fn int(&self, local: LocalId) -> Option<i64> {
        self.bound.get(&local).copied().or_else(|| self.get(local)?.int())
    }

    fn get(&self, local: LocalId) -> Option<&Value> {
        self.values.get(local.0 as usize)?.as_ref()
    }

    /// Returns the value of a variable, or of a component of one, without a copy.
    fn part(&self, e: &Expr) -> Option<&Value> {
        match &e.kind {
            Kind::Var(x) => self.get(*x),
            Kind::Proj(inner, k) => match guarded(|| self.part(inner))? {
                Value::Tuple(items) => items.get(*k as usize),
                _ => None,
            },
            _ => None,
        }
    }

    fn set(&mut self, local: LocalId, value: Value) {
        if self.values.len() <= local.0 as usize {
            self.values.resize(local.0 as usize + 1, None);
        }
        if let Some(slot) = self.values.get_mut(local.0 as usize) {
            *slot = Some(value);
        }
    }
}

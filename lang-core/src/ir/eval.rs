//! Core, evaluated as the paper defines it (ATL Figs. 4 and 5), and counted (Fig. 6): slow, and to be held
//! against the interpreter on one side and Tensor SSA on the other.
//!
//! **Work** as in the interpreter. **Tests**: evaluations of predicates that the run decides. **Iterations**:
//! index tuples of generations and summations.

use std::collections::HashMap;
use std::sync::Arc;

use super::core::{Callee, E, Expr, Failing, Function, Kind};
use super::eval_ssa::{SsaEvaluator, Tensor};
use super::indices::{self, Numbers};
use super::value::{self, Value};
use crate::base::GlobalName;
use crate::interp::{Counts, guarded};
use crate::predicate::{Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;

/// What the evaluation of a function needs beside its arguments.
pub trait Functions {
    /// The core form of a callee.
    fn function(&self, callee: &Callee) -> Option<Arc<Function>>;
    /// The value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<Value>;
    /// Where the derivatives of callees are found.
    fn derivatives(&self) -> Option<&dyn super::eval_ssa::Functions> {
        None
    }
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A check failed.
    Failed(Arc<Failing>),
    /// The form is not what it should be: a defect of a pass.
    Broken(&'static str),
    /// More was to be done than was allowed.
    Fuel,
}

type Eval<T = Value> = Result<T, Stopped>;

/// An evaluation.
pub struct Evaluator<'a> {
    functions: &'a dyn Functions,
    /// What was counted.
    pub counts: Counts,
    fuel: u64,
}

struct Frame {
    values: Vec<Option<Value>>,
    /// Of existentials, whose variables have large numbers.
    bound: HashMap<LocalId, i64>,
}

impl<'a> Evaluator<'a> {
    /// One that takes so many steps.
    #[must_use]
    pub fn new(functions: &'a dyn Functions, fuel: u64) -> Self {
        Self { functions, counts: Counts::default(), fuel }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// What fails in it.
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
        let mut broken = false;
        let zero = Value::zero(&e.ty, &mut |n| match self.poly(f, n) {
            Ok(n) => usize::try_from(n.max(0)).unwrap_or(0),
            Err(_) => {
                broken = true;
                0
            }
        });
        if broken { Err(Stopped::Broken("an extent")) } else { Ok(zero) }
    }

    /// The value, unless the expression is a bracket that does not hold: as a term of a sum it is not added (4.24,
    /// 4.30). A summation whose terms are those of the one around it (`joint`) is none where it has none itself.
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
            Kind::Access(a, at) => {
                // Of a variable only the element is copied.
                let mut path = vec![self.poly(f, at)?];
                let mut base = a;
                while let Kind::Access(inner, at) = &base.kind {
                    path.push(self.poly(f, at)?);
                    base = inner;
                }
                path.reverse();
                let element = match &base.kind {
                    Kind::Var(x) => f.get(*x).and_then(|v| v.at(&path)).cloned(),
                    _ => self.eval(f, base)?.at(&path).cloned(),
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
        }))
    }

    /// A derivative has no core form: it is evaluated in Tensor SSA.
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

    /// A sum as a term.
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

    /// Sets an index. A tuple is counted where its last index is set.
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

    /// The value of an index expression.
    fn poly(&mut self, f: &mut Frame, p: &Poly) -> Eval<i64> {
        indices::poly(&At { evaluator: self, frame: f }, p)
    }
}

/// An evaluation in a frame.
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
        self.element(x, at).and_then(Value::int).ok_or(Stopped::Broken("an integer element"))
    }

    fn truth(&self, x: LocalId, at: &[i64]) -> Eval<bool> {
        self.element(x, at).and_then(Value::truth).ok_or(Stopped::Broken("a truth value"))
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
    /// An integer, or the variable of an existential.
    fn int(&self, local: LocalId) -> Option<i64> {
        self.bound.get(&local).copied().or_else(|| self.get(local)?.int())
    }

    fn get(&self, local: LocalId) -> Option<&Value> {
        self.values.get(local.0 as usize)?.as_ref()
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

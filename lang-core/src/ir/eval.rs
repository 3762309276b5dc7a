//! Core, evaluated as the paper defines it (ATL Figs. 4 and 5), and counted (Fig. 6): slow, and to be held
//! against the interpreter on one side and Tensor SSA on the other.
//!
//! **Work** as in the interpreter. **Tests**: evaluations of predicates that the run decides. **Iterations**:
//! index tuples of generations and summations.

use std::sync::Arc;

use super::core::{Callee, E, Expr, Failing, Function, Kind};
use super::eval_ssa::{SsaEvaluator, Tensor};
use super::value::{self, Value};
use crate::interp::scalar::i64s;
use crate::interp::{Counts, guarded};
use crate::predicate::{Atom, Index, LocalId, Poly, Pred};
use crate::syntax::ops::{BinOp, Scalar};

/// What the evaluation of a function needs beside its arguments.
pub trait Functions {
    /// The core form of a callee.
    fn function(&self, callee: &Callee) -> Option<Arc<Function>>;
    /// The value of a top-level `let`.
    fn global(&self, name: &crate::base::GlobalName) -> Option<Value>;
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
        let mut frame = Frame { values: vec![None; function.vars.len()] };
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
        guarded(|| match self.term(f, e)? {
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

    /// The value, unless the expression is a bracket that does not hold, or a sum without terms: as a term
    /// of a sum it is not added (4.24, 4.30).
    fn term(&mut self, f: &mut Frame, e: &Expr) -> Eval<Option<Value>> {
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
                    if let Some(value) = guarded(|| self.term(f, item))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.plus(&before, &value)?,
                        });
                    }
                }
                return Ok(sum);
            }
            Kind::Mul(a, b) => {
                let (a, b) = (self.eval(f, a)?, self.eval(f, b)?);
                self.counts.work += u64::from(a.is_real());
                a.times(&b).ok_or(broken("a product"))?
            }
            Kind::Neg(a) => self.eval(f, a)?.negated().ok_or(broken("a negation"))?,
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
                    if let Some(value) = guarded(|| self.term(f, body))? {
                        sum = Some(match sum {
                            None => value,
                            Some(before) => self.plus(&before, &value)?,
                        });
                    }
                }
                return Ok(sum);
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
                return guarded(|| self.term(f, body));
            }
            Kind::Let(bindings, body) => {
                for (x, e) in bindings {
                    let value = self.eval(f, e)?;
                    f.set(*x, value);
                }
                return guarded(|| self.term(f, body));
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
                return guarded(|| self.term(f, body));
            }
        }))
    }

    /// A derivative has no core form: it is evaluated in Tensor SSA.
    fn derived(&mut self, f: &Frame, callee: &Callee, sizes: &[i64], args: &[E], values: &[Value]) -> Eval {
        let broken = Stopped::Broken;
        let functions = self.functions.derivatives().ok_or(broken("a derivative"))?;
        let ssa = functions.ssa(callee).ok_or(broken("a derivative"))?;
        let mut parts = Vec::new();
        for (arg, value) in args.iter().zip(values) {
            for leaf in arg.ty.leaves() {
                let extent = |n: &Poly| Ok(usize::try_from(self.poly(f, n)?.max(0)).unwrap_or(0));
                let dims = leaf.dims.iter().map(extent).collect::<Eval<Vec<usize>>>()?;
                parts.push(Tensor::part(value, &leaf.path, dims));
            }
        }
        let mut evaluator = SsaEvaluator::new(functions, self.fuel);
        let results = evaluator.call(&ssa, sizes, parts);
        self.fuel = evaluator.left();
        self.counts.add(evaluator.counts);
        Ok(Value::Tuple(results?.iter().map(|t| t.value()).collect()))
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
        self.pred(f, p)
    }

    // ---- indices and predicates (Fig. 5) ----

    /// The value of an index expression; what wraps, wraps.
    fn poly(&mut self, f: &Frame, p: &Poly) -> Eval<i64> {
        let mut sum = 0_i64;
        for (m, c) in p.terms() {
            #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^64")]
            let mut product = *c as i64;
            for (a, k) in m {
                let value = self.atom(f, a)?;
                for _ in 0..*k {
                    product = product.wrapping_mul(value);
                }
            }
            sum = sum.wrapping_add(product);
        }
        Ok(sum)
    }

    fn atom(&mut self, f: &Frame, a: &Atom) -> Eval<i64> {
        let broken = Stopped::Broken;
        Ok(match a {
            Atom::Local(l, _) => f.get(*l).and_then(Value::int).ok_or(broken("an index"))?,
            Atom::Global(name) => self.functions.global(name).and_then(|v| v.int()).ok_or(broken("a global"))?,
            Atom::Read(x, _, at) => {
                let at = at.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
                f.get(*x).and_then(|v| v.at(&at)?.int()).ok_or(broken("an integer element"))?
            }
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let (p, q) = (self.poly(f, p)?, self.poly(f, q)?);
                let op = if matches!(a, Atom::Div(..)) { BinOp::FloorDiv } else { BinOp::Mod };
                // In an empty range a divisor may be 0; the element is not asked for.
                i64s::arith(op, p, q).unwrap_or(0)
            }
            Atom::Min(p, q) => self.poly(f, p)?.min(self.poly(f, q)?),
            Atom::Max(p, q) => self.poly(f, p)?.max(self.poly(f, q)?),
            Atom::Bound(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => return Err(broken("a size")),
        })
    }

    /// A polynomial that is compared: exactly.
    fn compared(&mut self, f: &Frame, p: &Poly) -> Eval<i128> {
        let mut sum = 0_i128;
        for (m, c) in p.terms() {
            let mut product = *c;
            for (a, k) in m {
                let value = i128::from(self.atom(f, a)?);
                for _ in 0..*k {
                    product = product.saturating_mul(value);
                }
            }
            sum = sum.saturating_add(product);
        }
        Ok(sum)
    }

    fn pred(&mut self, f: &mut Frame, p: &Pred) -> Eval<bool> {
        self.step()?;
        let broken = Stopped::Broken;
        Ok(match p {
            Pred::And(items) => {
                // What reads data is asked only where the rest holds.
                let (opaque, plain): (Vec<&Pred>, Vec<&Pred>) = items.iter().partition(|p| p.is_opaque());
                for p in plain.into_iter().chain(opaque) {
                    if !self.pred(f, p)? {
                        return Ok(false);
                    }
                }
                true
            }
            Pred::Or(items) => {
                for p in &**items {
                    if self.pred(f, p)? {
                        return Ok(true);
                    }
                }
                false
            }
            Pred::Ge(p) => self.compared(f, p)? >= 0,
            Pred::Eq(p) => self.compared(f, p)? == 0,
            Pred::Ne(p) => self.compared(f, p)? != 0,
            Pred::Is(x, _, at, holds) => {
                let at = at.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
                let value = f.get(*x).and_then(|v| v.at(&at)?.truth()).ok_or(broken("a truth value"))?;
                value == *holds
            }
            Pred::Member(r, _, at, holds) => {
                let at = at.iter().map(|p| self.poly(f, p)).collect::<Eval<Vec<i64>>>()?;
                let Some(Value::Rel(rows)) = f.get(*r) else { return Err(broken("a relation")) };
                rows.contains(&at) == *holds
            }
            Pred::Any(index, body, holds) => {
                let before = f.get(index.local).cloned();
                let mut found = false;
                for i in 0..self.poly(f, &index.extent)? {
                    self.step()?;
                    f.set(index.local, Value::I64(i));
                    if self.pred(f, body)? {
                        found = true;
                        break;
                    }
                }
                if let Some(before) = before {
                    f.set(index.local, before);
                }
                found == *holds
            }
        })
    }
}

impl Frame {
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

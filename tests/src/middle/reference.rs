//! **Reference evaluator.** Evaluates core by its definition (ATL Figs. 4 and 5), on dual numbers
//! with error bounds. Every form and every derivative is compared with it. It shares only scalar
//! functions with the evaluators of `lang-core`.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::GlobalName;
use lang_core::ir::core::{
    CheckFailure, Constant, CoreExpr, CoreFunction, CoreLoop, CoreTripCount, CoreType, CoreUpdate, ExprKind, ExprRef,
    FunctionKey, ScalarOp,
};
use lang_core::ir::value::{self, IrValue};
use lang_core::predicate::{Atom, LocalId, Poly, Pred};
use lang_core::runtime::scalar::i64s;
use lang_core::syntax::ops::{BinOp, Scalar};

use super::error_bounds::Number;

/// A value with its tangent.
#[derive(Clone, Debug)]
pub enum DualValue {
    /// A real and its tangent.
    Real(Number, Number),
    /// `i64`
    Int(i64),
    /// `bool`
    Bool(bool),
    /// A tuple or record.
    Tuple(Vec<Self>),
    /// An array.
    Array(Vec<Self>),
    /// A relation.
    Rel(Vec<Vec<i64>>),
}

/// The reason why an evaluation has no value.
#[derive(Clone, Debug)]
pub enum ReferenceStop {
    /// A check failed.
    Failed(Arc<CheckFailure>),
    /// The fuel is exhausted.
    Fuel,
    /// A condition on reals depends on rounding.
    Undecided,
    /// A derivative of an expression that varies, or of a derivative.
    Higher,
    /// The form violates an invariant of core.
    Broken(&'static str),
}

/// The definitions and tables that an evaluation needs.
pub trait ReferenceDefinitions {
    /// Returns the core form of a callee.
    fn core(&self, callee: &FunctionKey) -> Option<Arc<CoreFunction>>;
    /// Returns the value of a top-level `let`.
    fn global(&self, name: &GlobalName) -> Option<DualValue>;
    /// Returns a partial derivative of an operation at these numbers.
    fn partial(&self, operation: ScalarOp, k: usize, args: &[IrValue]) -> Option<f64>;
}

/// The result of an evaluation.
pub(super) type ReferenceResult<T> = Result<T, ReferenceStop>;

/// An evaluation.
pub struct Reference<'w> {
    world: &'w dyn ReferenceDefinitions,
    fuel: u64,
}

/// The values of variables. Variables of existentials have large numbers.
pub(super) type ReferenceFrame = HashMap<LocalId, DualValue>;

impl<'w> Reference<'w> {
    /// Returns an evaluation with this much fuel.
    #[must_use]
    pub fn new(world: &'w dyn ReferenceDefinitions, fuel: u64) -> Self {
        Self { world, fuel }
    }

    /// Calls a function.
    ///
    /// # Errors
    /// The reason why the call has no value.
    pub fn call(&mut self, function: &CoreFunction, sizes: &[i64], args: Vec<DualValue>) -> ReferenceResult<DualValue> {
        let mut frame = ReferenceFrame::new();
        for (local, n) in function.sizes.iter().zip(sizes) {
            frame.insert(*local, DualValue::Int(*n));
        }
        for ((local, _), value) in function.params.iter().zip(args) {
            frame.insert(*local, value);
        }
        self.eval(&mut frame, &function.body)
    }

    /// Returns the core form of a callee.
    pub(super) fn core_of(&self, callee: &FunctionKey) -> ReferenceResult<Arc<CoreFunction>> {
        self.world.core(callee).ok_or(ReferenceStop::Broken("a function"))
    }

    pub(super) fn step(&mut self) -> ReferenceResult<()> {
        self.fuel = self.fuel.checked_sub(1).ok_or(ReferenceStop::Fuel)?;
        Ok(())
    }

    pub(super) fn eval(&mut self, f: &mut ReferenceFrame, e: &CoreExpr) -> ReferenceResult<DualValue> {
        match self.term(f, e, false)? {
            Some(value) => Ok(value),
            None => self.zero(f, &e.ty),
        }
    }

    fn zero(&mut self, f: &ReferenceFrame, ty: &CoreType) -> ReferenceResult<DualValue> {
        Ok(match ty {
            CoreType::Scalar(s) => zero_of(*s),
            CoreType::Tuple(items, _) => {
                DualValue::Tuple(items.iter().map(|t| self.zero(f, t)).collect::<ReferenceResult<_>>()?)
            }
            CoreType::Tensor(n, t) => {
                let n = usize::try_from(self.poly(f, n)?.max(0)).map_err(|_| ReferenceStop::Fuel)?;
                if n > 1 << 20 {
                    return Err(ReferenceStop::Fuel);
                }
                DualValue::Array(vec![self.zero(f, t)?; n])
            }
            CoreType::Rel(_) => DualValue::Rel(Vec::new()),
        })
    }

    /// Evaluates an expression as a term. `None` is a masked term, which a sum skips (4.24, 4.30).
    /// With `joint`, nested summations contribute their terms to one sum.
    fn term(&mut self, f: &mut ReferenceFrame, e: &CoreExpr, joint: bool) -> ReferenceResult<Option<DualValue>> {
        self.step()?;
        Ok(Some(match &e.kind {
            ExprKind::Var(x) => get(f, *x)?.clone(),
            ExprKind::Global(name) => self.world.global(name).ok_or(ReferenceStop::Broken("a global"))?,
            ExprKind::Constant(c) => constant(*c, e.ty.scalar().unwrap_or(Scalar::F64)),
            ExprKind::Index(p) => DualValue::Int(self.poly(f, p)?),
            ExprKind::Add(items) => {
                let mut sum = Sum::default();
                for item in items {
                    sum.add(self.term(f, item, false)?)?;
                }
                match sum.result() {
                    Some(sum) => sum,
                    None => self.zero(f, &e.ty)?,
                }
            }
            ExprKind::Sum(index, body) => {
                let mut sum = Sum::default();
                for i in 0..self.poly(f, &index.extent)? {
                    self.step()?;
                    f.insert(index.local, DualValue::Int(i));
                    sum.add(self.term(f, body, true)?)?;
                }
                match sum.result() {
                    None if joint => return Ok(None),
                    Some(sum) => sum,
                    None => self.zero(f, &e.ty)?,
                }
            }
            ExprKind::Reduce(r) => self.reduction(f, r)?,
            ExprKind::Argsort(index, body) => self.order(f, index, body)?,
            ExprKind::Gen(index, body) => {
                let mut items = Vec::new();
                for i in 0..self.poly(f, &index.extent)? {
                    self.step()?;
                    f.insert(index.local, DualValue::Int(i));
                    items.push(self.eval(f, body)?);
                }
                DualValue::Array(items)
            }
            ExprKind::Mul(a, b) => {
                let (a, b) = (self.eval(f, a)?, self.eval(f, b)?);
                times(&a, &b)?
            }
            ExprKind::Neg(a) => match self.term(f, a, joint)? {
                None => return Ok(None),
                Some(DualValue::Real(x, t)) => DualValue::Real(x.negated(), t.negated()),
                Some(DualValue::Int(i)) => DualValue::Int(i.wrapping_neg()),
                Some(_) => return Err(ReferenceStop::Broken("a negation")),
            },
            ExprKind::Apply(operation, args) => {
                let args = args.iter().map(|a| self.eval(f, a)).collect::<ReferenceResult<Vec<DualValue>>>()?;
                self.apply(*operation, &args)?
            }
            ExprKind::Tuple(items) => {
                DualValue::Tuple(items.iter().map(|a| self.eval(f, a)).collect::<ReferenceResult<_>>()?)
            }
            ExprKind::Proj(a, k) => match self.eval(f, a)? {
                DualValue::Tuple(items) => {
                    items.into_iter().nth(*k as usize).ok_or(ReferenceStop::Broken("a component"))?
                }
                _ => return Err(ReferenceStop::Broken("a tuple")),
            },
            ExprKind::Access(a, at) => {
                let mut path = vec![self.poly(f, at)?];
                let mut base = a;
                while let ExprKind::Access(inner, at) = &base.kind {
                    path.push(self.poly(f, at)?);
                    base = inner;
                }
                path.reverse();
                match part(f, base) {
                    // For a variable or a component of one, only the element is copied.
                    Some(part) => element(part, &path)?.clone(),
                    None => {
                        let base = self.eval(f, base)?;
                        element(&base, &path)?.clone()
                    }
                }
            }
            ExprKind::Guard(p, body) => {
                if !self.holds(f, p)? {
                    return Ok(None);
                }
                return self.term(f, body, joint);
            }
            ExprKind::Let(bindings, body) => {
                for (x, e) in bindings {
                    let value = self.eval(f, e)?;
                    f.insert(*x, value);
                }
                return self.term(f, body, joint);
            }
            ExprKind::Call(callee, sizes, args) => {
                let sizes = sizes.iter().map(|p| self.poly(f, p)).collect::<ReferenceResult<Vec<i64>>>()?;
                let args = args.iter().map(|a| self.eval(f, a)).collect::<ReferenceResult<Vec<DualValue>>>()?;
                if !callee.derivatives.is_empty() {
                    return self.derived(callee, &sizes, args).map(Some);
                }
                let function = self.core_of(callee)?;
                self.call(&function, &sizes, args)?
            }
            ExprKind::Check(p, what, body) => {
                if !self.holds(f, p)? {
                    return Err(ReferenceStop::Failed(what.clone()));
                }
                return self.term(f, body, joint);
            }
            ExprKind::Loop(repeat, args) => self.repeat(f, repeat, args, &e.ty)?,
            ExprKind::Update(update, base, value) => {
                let (base, value) = (self.eval(f, base)?, self.eval(f, value)?);
                if self.holds(f, &update.pred)? { self.update(f, update, base, &value)? } else { base }
            }
        }))
    }

    /// Evaluates a loop by its definition, iteration by iteration. The output at a position without
    /// an iteration is zero.
    fn repeat(
        &mut self,
        f: &mut ReferenceFrame,
        repeat: &CoreLoop,
        args: &[ExprRef],
        ty: &CoreType,
    ) -> ReferenceResult<DualValue> {
        let body = self.core_of(&repeat.body)?;
        let mut arguments = args.iter().map(|a| self.eval(f, a)).collect::<ReferenceResult<Vec<DualValue>>>()?;
        let mut carry = arguments.pop().ok_or(ReferenceStop::Broken("a carry"))?;
        let (mut outputs, mut t) = (Vec::new(), 0);
        loop {
            let goes_on = match (&repeat.trip_count, &carry) {
                (CoreTripCount::Fixed(n), _) => t < self.poly(f, n)?,
                (CoreTripCount::While, DualValue::Tuple(parts)) => matches!(parts.first(), Some(DualValue::Bool(true))),
                (CoreTripCount::While, _) => return Err(ReferenceStop::Broken("a condition")),
            };
            if !goes_on {
                let extent =
                    usize::try_from(self.poly(f, &repeat.counter.extent)?.max(0)).map_err(|_| ReferenceStop::Fuel)?;
                let CoreType::Tuple(parts, _) = ty else { return Err(ReferenceStop::Broken("a loop")) };
                let Some(CoreType::Tensor(_, output)) = parts.get(1) else {
                    return Err(ReferenceStop::Broken("outputs"));
                };
                outputs.truncate(extent);
                if outputs.len() < extent {
                    outputs.resize(extent, self.zero(f, output)?);
                }
                return Ok(DualValue::Tuple(vec![carry, DualValue::Array(outputs), DualValue::Int(t)]));
            }
            self.step()?;
            f.insert(repeat.counter.local, DualValue::Int(t));
            let sizes = repeat.sizes.iter().map(|p| self.poly(f, p)).collect::<ReferenceResult<Vec<i64>>>()?;
            let mut all = arguments.clone();
            all.push(carry);
            let DualValue::Tuple(mut next) = self.call(&body, &sizes, all)? else {
                return Err(ReferenceStop::Broken("a step"));
            };
            outputs.push(next.pop().ok_or(ReferenceStop::Broken("an output"))?);
            carry = next.pop().ok_or(ReferenceStop::Broken("a carry"))?;
            t += 1;
        }
    }

    fn update(
        &mut self,
        f: &mut ReferenceFrame,
        update: &CoreUpdate,
        mut base: DualValue,
        value: &DualValue,
    ) -> ReferenceResult<DualValue> {
        let mut places = vec![Vec::new()];
        for index in &update.indices {
            let n = self.poly(f, &index.extent)?;
            places = places.into_iter().flat_map(|p| (0..n).map(move |i| [p.as_slice(), &[i]].concat())).collect();
        }
        for place in places {
            self.step()?;
            for (index, i) in update.indices.iter().zip(&place) {
                f.insert(index.local, DualValue::Int(*i));
            }
            let at = update.at.iter().map(|p| self.poly(f, p)).collect::<ReferenceResult<Vec<i64>>>()?;
            let new = element(value, &place)?.clone();
            let slot = slot(&mut base, &at)?;
            *slot = if update.accumulate { sum_of(slot, &new)? } else { new };
        }
        Ok(base)
    }

    // ---- scalar operations ----

    fn apply(&mut self, operation: ScalarOp, args: &[DualValue]) -> ReferenceResult<DualValue> {
        let reals: Vec<(Number, Number)> =
            args.iter().filter_map(|a| if let DualValue::Real(x, t) = a { Some((*x, *t)) } else { None }).collect();
        let single = reals.first().is_some_and(|(x, _)| x.single);
        match (operation, reals.as_slice()) {
            (ScalarOp::Stop, [(x, _)]) => return Ok(DualValue::Real(*x, Number::zero(single))),
            (ScalarOp::Convert(to @ (Scalar::F64 | Scalar::F32)), [(x, t)]) => {
                let to = to == Scalar::F32;
                return Ok(DualValue::Real(x.converted(to), t.converted(to)));
            }
            (ScalarOp::Binary(BinOp::Div), [(x, s), (y, t)]) => {
                let quotient = x.over(y, false);
                let tangent = if s.is_nothing() && t.is_nothing() {
                    Number::zero(single)
                } else if t.is_nothing() {
                    s.over(y, true)
                } else {
                    s.plus(&quotient.times(t).negated()).over(y, true)
                };
                return Ok(DualValue::Real(quotient, tangent));
            }
            _ => {}
        }
        // A power with a small integer exponent is a product.
        if let (ScalarOp::PowInt, [DualValue::Real(x, t), DualValue::Int(k @ 1..=8)]) = (operation, args) {
            let mut below = Number::exact(1.0, single);
            for _ in 1..*k {
                below = below.times(x);
            }
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let factor = Number::exact(*k as f64, single);
            let tangent = if t.is_nothing() { *t } else { factor.times(&below).times(t) };
            return Ok(DualValue::Real(below.times(x), tangent));
        }
        let at: Vec<IrValue> =
            args.iter().map(plain).collect::<Option<_>>().ok_or(ReferenceStop::Broken("an operand"))?;
        let result = value::apply_op(operation, &at).ok_or(ReferenceStop::Broken("an operation"))?;
        // The sign of a zero depends on the order of additions.
        for (k, value) in at.iter().enumerate().filter(|(_, v)| real(v) == Some(0.0)) {
            let mut other = at.clone();
            if let (Some(slot), Some(zero)) = (other.get_mut(k), value.checked_neg()) {
                *slot = zero;
            }
            let there = value::apply_op(operation, &other);
            if there != Some(result.clone()) && there.as_ref().and_then(real).is_none_or(|x| !x.is_nan()) {
                return Err(ReferenceStop::Undecided);
            }
        }
        let inexact = reals.iter().any(|(x, _)| x.error != 0.0);
        let Some(found) = real(&result) else {
            if inexact && moved(args).iter().any(|near| value::apply_op(operation, near).as_ref() != Some(&result)) {
                return Err(ReferenceStop::Undecided);
            }
            return Ok(match result {
                IrValue::I64(i) => DualValue::Int(i),
                IrValue::Bool(b) => DualValue::Bool(b),
                _ => return Err(ReferenceStop::Broken("a result")),
            });
        };
        let single = matches!(result, IrValue::F32(_));
        let mut spread = 0.0_f64;
        if inexact {
            for near in moved(args) {
                let there = value::apply_op(operation, &near).as_ref().and_then(real).unwrap_or(f64::INFINITY);
                spread += if there == found { 0.0 } else { (there - found).abs() };
            }
        }
        let mut tangent = Number::zero(single);
        for (k, arg) in args.iter().enumerate() {
            let DualValue::Real(_, t) = arg else { continue };
            if t.is_nothing() {
                continue;
            }
            let Some(by) = self.world.partial(operation, k, &at) else { continue };
            let mut spread = 0.0_f64;
            if inexact {
                for near in moved(args) {
                    let there = self.world.partial(operation, k, &near).unwrap_or(f64::INFINITY);
                    spread += if there == by { 0.0 } else { (there - by).abs() };
                }
            }
            tangent = tangent.plus(&Number::of_partial(by, spread, single).times(t));
        }
        Ok(DualValue::Real(Number::of_function(found, spread, inexact, single), tangent))
    }

    // ---- indices and predicates ----

    pub(super) fn poly(&mut self, f: &ReferenceFrame, p: &Poly) -> ReferenceResult<i64> {
        let mut sum = 0_i64;
        for (monomial, c) in p.terms() {
            #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^64")]
            let mut product = *c as i64;
            for (atom, k) in monomial.as_slice() {
                product = product.wrapping_mul(self.atom(f, atom)?.wrapping_pow(*k));
            }
            sum = sum.wrapping_add(product);
        }
        Ok(sum)
    }

    /// Evaluates a polynomial for a comparison: exactly, because comparisons must not wrap.
    fn compared(&mut self, f: &ReferenceFrame, p: &Poly) -> ReferenceResult<i128> {
        let mut sum = 0_i128;
        for (monomial, c) in p.terms() {
            let mut product = *c;
            for (atom, k) in monomial.as_slice() {
                product = product.saturating_mul(i128::from(self.atom(f, atom)?).saturating_pow(*k));
            }
            sum = sum.saturating_add(product);
        }
        Ok(sum)
    }

    fn atom(&mut self, f: &ReferenceFrame, atom: &Atom) -> ReferenceResult<i64> {
        let int = |value: &DualValue| {
            if let DualValue::Int(i) = value { Ok(*i) } else { Err(ReferenceStop::Broken("an integer")) }
        };
        match atom {
            Atom::Local(x, _) => int(get(f, *x)?),
            Atom::Global(name) => int(&self.world.global(name).ok_or(ReferenceStop::Broken("a global"))?),
            Atom::Read(x, _, at) => {
                let at = self.polys(f, at)?;
                int(element(get(f, *x)?, &at)?)
            }
            Atom::Div(p, q) => Ok(i64s::arith(BinOp::FloorDiv, self.poly(f, p)?, self.poly(f, q)?).unwrap_or(0)),
            Atom::Mod(p, q) => Ok(i64s::arith(BinOp::Mod, self.poly(f, p)?, self.poly(f, q)?).unwrap_or(0)),
            Atom::Min(p, q) => Ok(self.poly(f, p)?.min(self.poly(f, q)?)),
            Atom::Max(p, q) => Ok(self.poly(f, p)?.max(self.poly(f, q)?)),
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => {
                Err(ReferenceStop::Broken("a size"))
            }
        }
    }

    fn polys(&mut self, f: &ReferenceFrame, at: &[Poly]) -> ReferenceResult<Vec<i64>> {
        at.iter().map(|p| self.poly(f, p)).collect()
    }

    pub(super) fn holds(&mut self, f: &mut ReferenceFrame, p: &Pred) -> ReferenceResult<bool> {
        self.step()?;
        Ok(match p {
            Pred::Ge(p) => self.compared(f, p)? >= 0,
            Pred::Eq(p) => self.compared(f, p)? == 0,
            Pred::Ne(p) => self.compared(f, p)? != 0,
            Pred::And(items) => {
                // Conjuncts that bound an index must precede those that read at it.
                for late in [false, true] {
                    for p in items.iter().filter(|p| p.depends_on_data() == late) {
                        if !self.holds(f, p)? {
                            return Ok(false);
                        }
                    }
                }
                true
            }
            Pred::Or(items) => {
                let mut found = false;
                for p in items.iter() {
                    found = found || self.holds(f, p)?;
                }
                found
            }
            Pred::Element(x, _, at, holds) => {
                let at = self.polys(f, at)?;
                match element(get(f, *x)?, &at)? {
                    DualValue::Bool(b) => b == holds,
                    _ => return Err(ReferenceStop::Broken("a truth value")),
                }
            }
            Pred::Member(r, _, at, holds) => {
                let at = self.polys(f, at)?;
                match get(f, *r)? {
                    DualValue::Rel(rows) => rows.contains(&at) == *holds,
                    _ => return Err(ReferenceStop::Broken("a relation")),
                }
            }
            Pred::Exists(index, body, holds) => {
                let before = f.get(&index.local).cloned();
                let mut found = false;
                for i in 0..self.poly(f, &index.extent)? {
                    f.insert(index.local, DualValue::Int(i));
                    found = found || self.holds(f, body)?;
                }
                if let Some(before) = before {
                    f.insert(index.local, before);
                }
                found == *holds
            }
        })
    }
}

/// A sum of the terms that are not masked.
#[derive(Default)]
struct Sum {
    sum: Option<DualValue>,
    terms: f64,
}

impl Sum {
    fn add(&mut self, term: Option<DualValue>) -> ReferenceResult<()> {
        let Some(term) = term else { return Ok(()) };
        self.terms += 1.0;
        self.sum = Some(match self.sum.take() {
            None => term,
            Some(before) => plus(&before, &term)?,
        });
        Ok(())
    }

    /// Returns the sum. With many terms the error bound is that of the worst order, in which each
    /// addition rounds the whole.
    fn result(self) -> Option<DualValue> {
        let loosened = |x: Number| {
            let unit = if x.single { f64::from(f32::EPSILON) } else { f64::EPSILON };
            if x.error > 0.0 { x.loosened(self.terms * unit * x.size) } else { x }
        };
        Some(match self.sum? {
            DualValue::Real(x, t) => DualValue::Real(loosened(x), loosened(t)),
            other => other,
        })
    }
}

fn plus(a: &DualValue, b: &DualValue) -> ReferenceResult<DualValue> {
    Ok(match (a, b) {
        (DualValue::Real(x, s), DualValue::Real(y, t)) => DualValue::Real(x.plus(y), s.plus(t)),
        (DualValue::Int(x), DualValue::Int(y)) => DualValue::Int(x.wrapping_add(*y)),
        (DualValue::Bool(x), DualValue::Bool(y)) => DualValue::Bool(*x || *y),
        _ => return Err(ReferenceStop::Broken("a sum")),
    })
}

pub(super) fn times(a: &DualValue, b: &DualValue) -> ReferenceResult<DualValue> {
    Ok(match (a, b) {
        (DualValue::Real(x, s), DualValue::Real(y, t)) => {
            // A constant factor contributes nothing to the tangent, even if it is infinite.
            let part = |x: &Number, t: &Number| if t.is_nothing() { *t } else { x.times(t) };
            DualValue::Real(x.times(y), part(x, t).plus(&part(y, s)))
        }
        (DualValue::Int(x), DualValue::Int(y)) => DualValue::Int(x.wrapping_mul(*y)),
        _ => return Err(ReferenceStop::Broken("a product")),
    })
}

fn zero_of(s: Scalar) -> DualValue {
    match s {
        Scalar::F64 => DualValue::Real(Number::zero(false), Number::zero(false)),
        Scalar::F32 => DualValue::Real(Number::zero(true), Number::zero(true)),
        Scalar::I64 => DualValue::Int(0),
        Scalar::Bool => DualValue::Bool(false),
    }
}

fn constant(c: Constant, of: Scalar) -> DualValue {
    of_value(&IrValue::constant(c, of), None)
}

/// Returns an operand as the scalar functions accept it.
fn plain(of: &DualValue) -> Option<IrValue> {
    #[expect(clippy::cast_possible_truncation, reason = "it is held exactly")]
    Some(match of {
        DualValue::Real(x, _) if x.single => IrValue::F32(x.value as f32),
        DualValue::Real(x, _) => IrValue::F64(x.value),
        DualValue::Int(i) => IrValue::I64(*i),
        DualValue::Bool(b) => IrValue::Bool(*b),
        _ => return None,
    })
}

/// Returns the real in a value.
#[must_use]
pub fn real(value: &IrValue) -> Option<f64> {
    match value {
        IrValue::F64(x) => Some(*x),
        IrValue::F32(x) => Some(f64::from(*x)),
        _ => None,
    }
}

/// Returns the operands with one of them moved down and up by its error bound.
fn moved(args: &[DualValue]) -> Vec<Vec<IrValue>> {
    let mut all = Vec::new();
    for (k, arg) in args.iter().enumerate() {
        let DualValue::Real(x, t) = arg else { continue };
        if x.error == 0.0 {
            continue;
        }
        for to in [x.value - x.error, x.value + x.error] {
            let mut near = args.to_vec();
            if let Some(slot) = near.get_mut(k) {
                *slot = DualValue::Real(Number { value: to, ..*x }, *t);
            }
            all.extend(near.iter().map(plain).collect::<Option<Vec<IrValue>>>());
        }
    }
    all
}

/// Returns a mutable element of an array.
fn slot<'r>(of: &'r mut DualValue, at: &[i64]) -> ReferenceResult<&'r mut DualValue> {
    let Some((first, rest)) = at.split_first() else { return Ok(of) };
    match of {
        DualValue::Array(items) => {
            let item = usize::try_from(*first).ok().and_then(|k| items.get_mut(k));
            slot(item.ok_or(ReferenceStop::Broken("an element"))?, rest)
        }
        _ => Err(ReferenceStop::Broken("an array")),
    }
}

/// Adds two values element by element.
fn sum_of(a: &DualValue, b: &DualValue) -> ReferenceResult<DualValue> {
    match (a, b) {
        (DualValue::Array(x), DualValue::Array(y)) => {
            Ok(DualValue::Array(x.iter().zip(y).map(|(a, b)| sum_of(a, b)).collect::<ReferenceResult<_>>()?))
        }
        (DualValue::Tuple(x), DualValue::Tuple(y)) => {
            Ok(DualValue::Tuple(x.iter().zip(y).map(|(a, b)| sum_of(a, b)).collect::<ReferenceResult<_>>()?))
        }
        _ => plus(a, b),
    }
}

fn get(f: &ReferenceFrame, x: LocalId) -> ReferenceResult<&DualValue> {
    f.get(&x).ok_or(ReferenceStop::Broken("a variable"))
}

/// Returns a variable or a component of one, without evaluation.
fn part<'r>(f: &'r ReferenceFrame, e: &CoreExpr) -> Option<&'r DualValue> {
    match &e.kind {
        ExprKind::Var(x) => f.get(x),
        ExprKind::Proj(inner, k) => match part(f, inner)? {
            DualValue::Tuple(items) => items.get(*k as usize),
            _ => None,
        },
        _ => None,
    }
}

fn element<'r>(of: &'r DualValue, at: &[i64]) -> ReferenceResult<&'r DualValue> {
    at.iter().try_fold(of, |value, i| match value {
        DualValue::Array(items) => {
            usize::try_from(*i).ok().and_then(|i| items.get(i)).ok_or(ReferenceStop::Broken("an index of what is read"))
        }
        _ => Err(ReferenceStop::Broken("an array that is read")),
    })
}

/// Converts a value with a direction, which must have the same shape. Without a direction the value
/// is constant.
#[must_use]
pub fn of_value(value: &IrValue, along: Option<&IrValue>) -> DualValue {
    let inner = |items: &[IrValue], other: Option<&[IrValue]>| {
        let pairs = items.iter().enumerate();
        pairs.map(|(k, v)| of_value(v, other.and_then(|o| o.get(k)))).collect()
    };
    let tangent = |single| Number::exact(along.and_then(real).unwrap_or(0.0), single);
    match value {
        IrValue::F64(x) => DualValue::Real(Number::exact(*x, false), tangent(false)),
        IrValue::F32(x) => DualValue::Real(Number::exact(f64::from(*x), true), tangent(true)),
        IrValue::I64(i) => DualValue::Int(*i),
        IrValue::Bool(b) => DualValue::Bool(*b),
        IrValue::Tuple(items) => DualValue::Tuple(inner(
            items,
            along.and_then(|a| if let IrValue::Tuple(o) = a { Some(&**o) } else { None }),
        )),
        IrValue::Array(items) => DualValue::Array(inner(
            items,
            along.and_then(|a| if let IrValue::Array(o) = a { Some(&**o) } else { None }),
        )),
        IrValue::Rel(rows) => DualValue::Rel(rows.clone()),
    }
}

/// Returns whether the work of the expression or of a callee is not comparable with the
/// interpreter's. This holds for existentials (the interpreter stops at the first index), sorting,
/// and derivatives.
#[must_use]
pub fn asks_any(world: &dyn ReferenceDefinitions, e: &ExprRef, seen: &mut Vec<Arc<FunctionKey>>) -> bool {
    fn in_pred(p: &Pred) -> bool {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().any(in_pred),
            Pred::Exists(..) => true,
            _ => false,
        }
    }
    let mut found = match &e.kind {
        ExprKind::Guard(p, _) | ExprKind::Check(p, ..) => in_pred(p),
        ExprKind::Reduce(r) => in_pred(&r.filter),
        // Core counts its comparisons differently.
        ExprKind::Argsort(..) => true,
        // The interpreter computes derivatives differently.
        ExprKind::Call(callee, ..) if !callee.derivatives.is_empty() => true,
        ExprKind::Call(callee, ..) if !seen.contains(callee) => {
            seen.push(callee.clone());
            world.core(callee).is_some_and(|called| asks_any(world, &called.body, seen))
        }
        ExprKind::Loop(repeat, _) if !seen.contains(&repeat.body) => {
            seen.push(repeat.body.clone());
            world.core(&repeat.body).is_some_and(|called| asks_any(world, &called.body, seen))
        }
        _ => false,
    };
    e.for_each_child(&mut |e| found = found || asks_any(world, e, seen));
    found
}

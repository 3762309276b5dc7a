//! **Evaluation of expressions.** Implements ATL's Figs. 4 and 5 equation by equation, and the
//! constructs of Iverson beyond them. The input is the typed tree of the checker; the frame is the
//! environment σ.
//!
//! Operands are evaluated left to right, with two exceptions. The base of an index or update that
//! is a local, or a component of one, comes after the subscripts. A function that a call's argument
//! creates comes after the other arguments.

use std::sync::Arc;

use super::Interp;
use super::rt_type::Fill;
use lang_base::guarded;
use lang_base::{Code as ErrorCode, GlobalName};
use lang_runtime::Value;
use lang_runtime::code::{Code, Frame};
use lang_runtime::failure::{At, Eval};
use lang_runtime::memory::MAX_EXTENT;
use lang_runtime::rt_type::RtType;
use lang_runtime::scalar::convert;
use lang_runtime::value::{Fun, take_fields, take_items};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::BinOp;
use lang_types::tree::{Demand, Expr, Instance, Node, Open, Pat, SizeCheck, TId};
use lang_types::ty::{Scalar, Type};

impl Interp<'_> {
    /// Evaluates an expression: `⟦e | σ⟧`.
    pub(super) fn eval(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId) -> Eval {
        let node = &c.body.nodes[id];
        match &node.kind {
            // (4.1) and, for indices and sizes, (4.13), (4.14)
            Expr::Local(l) => local(c.at(node.span), f, *l, c.plan.takes(id)),
            // (4.2), (4.15)
            Expr::Real(x) => literal(c.at(node.span), f, &node.ty, x.0),
            Expr::Int(i) => match Self::scalar_type(f, &node.ty) {
                None | Some(Scalar::I64) => Ok(Value::I64(*i)),
                Some(_) => literal(c.at(node.span), f, &node.ty, convert::i64_to_f64(*i)),
            },
            Expr::Bool(b) => Ok(Value::Bool(*b)),
            Expr::Str(s) => Ok(Value::Str(s.clone())),
            Expr::Size(n) => self.size(c.at(node.span), f, n).map(Value::I64),
            _ => {
                self.enter(c.at(node.span))?;
                let value = guarded(|| self.compound(c, f, id, node));
                self.leave();
                value
            }
        }
    }

    /// Evaluates several expressions, left to right.
    pub(super) fn all(&mut self, c: &Arc<Code>, f: &mut Frame, ids: &[TId]) -> Eval<Vec<Value>> {
        ids.iter().map(|e| self.eval(c, f, *e)).collect()
    }

    /// Evaluates an expression of type `bool`.
    pub(super) fn eval_bool(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId) -> Eval<bool> {
        let value = self.eval(c, f, id)?;
        value.as_bool().ok_or_else(|| c.at(c.body.nodes[id].span).internal("a condition is no bool"))
    }

    /// Evaluates a condition and counts it as a test.
    pub(super) fn condition(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId) -> Eval<bool> {
        self.test();
        self.eval_bool(c, f, id)
    }

    /// Evaluates an expression of type `i64`.
    pub(super) fn eval_i64(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId) -> Eval<i64> {
        let value = self.eval(c, f, id)?;
        value.as_i64().ok_or_else(|| c.at(c.body.nodes[id].span).internal("an index is no i64"))
    }

    /// Evaluates an expression with parts. Each kind has a separate function, so a stack frame of a
    /// deep recursion holds the locals of one kind instead of all.
    fn compound(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId, node: &Node) -> Eval {
        let at = c.at(node.span);
        if matches!(node.kind, Expr::Binder { .. } | Expr::Fold { .. } | Expr::Loop { .. })
            && let Some(value) = self.region(c, f, id)?
        {
            return Ok(value);
        }
        match &node.kind {
            // (4.3), (4.16): an operand that is a false bracket adds nothing. (4.24) counts it so,
            // and the sign of a zero survives.
            Expr::Arith(op @ (BinOp::Add | BinOp::Sub), a, b) => self.sum_of_two(c, f, node, *op, *a, *b),
            // (4.4), and quotients.
            Expr::Arith(op @ (BinOp::Mul | BinOp::Div), a, b) => self.product(c, f, node, *op, *a, *b),
            // (4.17)
            Expr::Arith(op, a, b) => self.binary(c, f, *a, *b, |this, x, y| this.arith(at, *op, x, y)),
            Expr::Pow(a, b) => self.binary(c, f, *a, *b, |this, x, y| this.power(at, x, y)),
            // (4.5)
            Expr::Scalar(function, args) => match args.as_slice() {
                [e] => self.unary(c, f, *e, |this, x| this.scalar(at, *function, std::slice::from_ref(x))),
                _ => self.many(c, f, args, |this, args| this.scalar(at, *function, &args)),
            },
            Expr::Neg(e) => {
                let x = self.eval(c, f, *e)?;
                self.masked = self.was_masked(c, *e);
                self.negate(at, &x)
            }
            Expr::Not(e) => self.unary(c, f, *e, |this, x| this.not(at, x)),
            Expr::Convert(to, e) => self.unary(c, f, *e, |this, x| this.convert(at, *to, x)),
            // (4.6)
            Expr::Tuple(parts) => self.many(c, f, parts, |this, values| this.make_tuple(at, values)),
            Expr::Record(fields) => self.record(c, f, id, fields),
            // (4.10)
            Expr::Proj(e, k) => self.project(c, f, id, *e, *k),
            // (4.11)
            Expr::Index(base, subscripts) => self.eval_index(c, f, at, *base, subscripts),
            // (4.7), (4.8), (4.21)
            Expr::Binder { .. } => self.binder(c, f, id),
            // (4.12)
            Expr::Guard(p, e) => {
                let holds = self.condition(c, f, *p)?;
                let value = if holds { self.eval(c, f, *e) } else { self.zero(at, f, &node.ty) };
                self.masked = !holds || self.was_masked(c, *e);
                value
            }
            // (4.9)
            Expr::Let(binds, e) => {
                for (pat, value) in binds {
                    self.eval_let(c, f, pat, *value)?;
                }
                self.passed_on(c, f, *e)
            }
            // (4.18)
            Expr::Compare(first, rest) => self.comparison(c, f, at, *first, rest),
            // (4.19): a conjunction looks for a false part, a disjunction for a true one.
            Expr::And(parts) => self.has(c, f, parts, false).map(|found| Value::Bool(!found)),
            Expr::Or(parts) => self.has(c, f, parts, true).map(Value::Bool),
            // (4.20)
            Expr::Member(relation, indices) => self.member(c, f, at, *relation, indices),
            Expr::Card(relation) => self.unary(c, f, *relation, |_, r| match r {
                Value::Rel(r) => Ok(Value::I64(i64::try_from(r.len()).unwrap_or(i64::MAX))),
                _ => Err(at.internal("no relation")),
            }),
            // Beyond the paper.
            Expr::If(arms, last) => self.choose(c, f, arms, *last),
            Expr::Match(e, arms) => self.eval_match(c, f, id, *e, arms),
            Expr::Fold { .. } => self.fold(c, f, id),
            Expr::Checkpoint(every, of) => self.checkpoint(c, f, *every, *of),
            Expr::Loop { .. } => self.eval_loop(c, f, id),
            Expr::With(base, updates) => self.with(c, f, at, *base, updates),
            Expr::Array(parts) => self.array_literal(c, f, node, parts),
            Expr::Call { .. } => self.eval_call(c, f, id),
            Expr::Lambda(_) => self.closure(c, f, id),
            Expr::DefValue(name, instance) => self.def_value(at, f, name, instance),
            Expr::BuiltinValue(builtin, _) => Ok(Value::Fun(Arc::new(Fun::Builtin(*builtin)))),
            Expr::ScalarValue(function) => Ok(Value::Fun(Arc::new(Fun::Scalar(*function)))),
            Expr::CtorValue(ty, index) => self.ctor_value(at, ty, *index),
            Expr::Global(name) => self.global(at, name),
            Expr::Checked(checks, e) => {
                for check in checks.iter().filter(|check| check.first) {
                    self.size_check(c, f, check)?;
                }
                let value = self.eval(c, f, *e)?;
                for check in checks.iter().filter(|check| !check.first) {
                    self.size_check(c, f, check)?;
                }
                Ok(value)
            }
            Expr::Opened(opens, e) => self.opened(c, f, node, opens, *e),
            Expr::Special(special, args) => self.special(c, f, id, special, args),
            Expr::Error => Err(at.fail(ErrorCode::E0512, format!("`{}` has errors and cannot run", c.item))),
            Expr::Local(_) | Expr::Real(_) | Expr::Int(_) | Expr::Bool(_) | Expr::Str(_) | Expr::Size(_) => {
                Err(at.internal("a leaf has parts"))
            }
        }
    }

    #[inline(never)]
    fn unary(&mut self, c: &Arc<Code>, f: &mut Frame, e: TId, op: impl FnOnce(&mut Self, &Value) -> Eval) -> Eval {
        let x = self.eval(c, f, e)?;
        op(self, &x)
    }

    #[inline(never)]
    fn binary(
        &mut self,
        c: &Arc<Code>,
        f: &mut Frame,
        a: TId,
        b: TId,
        op: impl FnOnce(&mut Self, &Value, &Value) -> Eval,
    ) -> Eval {
        let x = self.eval(c, f, a)?;
        let y = self.eval(c, f, b)?;
        op(self, &x, &y)
    }

    #[inline(never)]
    fn many(
        &mut self,
        c: &Arc<Code>,
        f: &mut Frame,
        parts: &[TId],
        op: impl FnOnce(&mut Self, Vec<Value>) -> Eval,
    ) -> Eval {
        let values = self.all(c, f, parts)?;
        op(self, values)
    }

    /// Returns whether one of these, left to right, has the value `wanted`. The parts after it are
    /// not evaluated.
    #[inline(never)]
    fn has(&mut self, c: &Arc<Code>, f: &mut Frame, parts: &[TId], wanted: bool) -> Eval<bool> {
        for p in parts {
            if self.eval_bool(c, f, *p)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn eval_let(&mut self, c: &Arc<Code>, f: &mut Frame, pat: &Pat, value: TId) -> Eval<()> {
        let v = self.eval(c, f, value)?;
        let value = &c.body.nodes[value];
        self.bind(c.at(value.span), f, pat, v, Some(&value.ty))
    }

    #[inline(never)]
    fn member(&mut self, c: &Arc<Code>, f: &mut Frame, at: At<'_>, relation: TId, indices: &[TId]) -> Eval {
        let r = self.eval(c, f, relation)?;
        let tuple = indices.iter().map(|i| self.eval_i64(c, f, *i)).collect::<Eval<Vec<_>>>()?;
        match r {
            Value::Rel(r) => Ok(Value::Bool(r.contains(&tuple))),
            _ => Err(at.internal("no relation")),
        }
    }

    #[inline(never)]
    fn def_value(&self, at: At<'_>, f: &Frame, name: &GlobalName, instance: &Instance) -> Eval {
        let instance = self.instance(at, f, instance)?;
        Ok(Value::Fun(Arc::new(Fun::Def(name.clone(), instance))))
    }

    #[inline(never)]
    fn opened(&mut self, c: &Arc<Code>, f: &mut Frame, node: &Node, opens: &[Open], e: TId) -> Eval {
        let (at, ty) = (c.at(node.span), &node.ty);
        // In a loop, an earlier iteration has set them.
        opens.iter().for_each(|open| drop(f.take(open.local)));
        let value = self.eval(c, f, e)?;
        // Paths lead through the type of this node, which may order the fields of a record
        // differently.
        opens.iter().try_for_each(|open| store_extent(at, f, open, &value, ty))?;
        Ok(value)
    }

    /// Returns the zero of a type, with its extents in this frame (`0_T` of ATL's Fig. 4).
    #[inline(never)]
    pub(super) fn zero(&mut self, at: At<'_>, f: &Frame, ty: &Type) -> Eval {
        match ty {
            Type::Scalar(Scalar::F64) => Ok(Value::F64(0.0)),
            _ => {
                let ty = self.rt_type(at, f, ty)?;
                self.filled(at, &ty, Fill::Zero)
            }
        }
    }

    /// Evaluates an operand of a sum. Returns `None` for a bracket, or nested brackets, with a
    /// false predicate.
    pub(super) fn summand(&mut self, c: &Arc<Code>, f: &mut Frame, mut id: TId) -> Eval<Option<Value>> {
        while let Expr::Guard(p, e) = &c.body.nodes[id].kind {
            if !self.condition(c, f, *p)? {
                return Ok(None);
            }
            id = *e;
        }
        self.eval(c, f, id).map(Some)
    }

    /// Evaluates `a * b` or `a / b`. A bracket masks the whole product that it is a factor of. If
    /// its predicate is false, the product is zero for all values of the other factors.
    #[inline(never)]
    fn product(&mut self, c: &Arc<Code>, f: &mut Frame, node: &Node, op: BinOp, a: TId, b: TId) -> Eval {
        let at = c.at(node.span);
        let x = self.eval(c, f, a)?;
        let first = self.was_masked(c, a);
        let y = self.eval(c, f, b)?;
        let masked = first || op == BinOp::Mul && self.was_masked(c, b);
        let value = if masked { self.zero(at, f, &node.ty) } else { self.arith(at, op, &x, &y) };
        self.masked = masked;
        value
    }

    /// Evaluates a part whose value is that of the whole expression, and passes on its `masked`
    /// flag.
    pub(super) fn passed_on(&mut self, c: &Arc<Code>, f: &mut Frame, e: TId) -> Eval {
        let value = self.eval(c, f, e)?;
        self.masked = self.was_masked(c, e);
        Ok(value)
    }

    /// Returns whether false brackets made the expression zero that was evaluated last. Each kind
    /// listed here sets the flag.
    pub(super) fn was_masked(&self, c: &Code, id: TId) -> bool {
        self.masked
            && matches!(
                c.body.nodes[id].kind,
                Expr::Guard(..)
                    | Expr::Neg(_)
                    | Expr::Let(..)
                    | Expr::If(..)
                    | Expr::Match(..)
                    | Expr::Arith(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div, ..)
            )
    }

    /// Evaluates `a + b` or `a - b`. The latter is the sum of `a` and the negation of `b`.
    #[inline(never)]
    fn sum_of_two(&mut self, c: &Arc<Code>, f: &mut Frame, node: &Node, op: BinOp, a: TId, b: TId) -> Eval {
        let at = c.at(node.span);
        let x = self.summand(c, f, a)?;
        let first = x.is_none() || self.was_masked(c, a);
        let y = self.summand(c, f, b)?;
        self.masked = first && (y.is_none() || self.was_masked(c, b));
        let whole = |x: &Value| matches!(x, Value::Array(_)) || !matches!(node.ty, Type::Array(..));
        match (x, y) {
            (Some(x), Some(y)) => self.arith(at, op, &x, &y),
            // A scalar beside an array is broadcast to all elements, so the zero is needed.
            (Some(x), None) if whole(&x) => Ok(x),
            (None, Some(y)) if whole(&y) => {
                if op == BinOp::Sub {
                    self.negate(at, &y)
                } else {
                    Ok(y)
                }
            }
            (None, None) => self.zero(at, f, &node.ty),
            (x, y) => self.spread(at, f, node, op, x, y),
        }
    }

    /// Adds a scalar and an array that is a false bracket. This counts no work.
    #[cold]
    #[inline(never)]
    fn spread(&mut self, at: At<'_>, f: &Frame, node: &Node, op: BinOp, x: Option<Value>, y: Option<Value>) -> Eval {
        let zero = self.zero(at, f, &node.ty)?;
        let (x, y) = (x.unwrap_or_else(|| zero.clone()), y.unwrap_or(zero));
        let counts = self.counts;
        let sum = self.arith(at, op, &x, &y);
        self.counts = counts;
        sum
    }

    #[inline(never)]
    fn record(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId, fields: &[(u32, TId)]) -> Eval {
        let at = c.at(c.body.nodes[id].span);
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        for (k, e) in fields {
            let value = self.eval(c, f, *e)?;
            *values.get_mut(*k as usize).ok_or_else(|| at.internal("no such field"))? = Some(value);
        }
        let values: Option<Vec<_>> = values.into_iter().collect();
        match (values, c.field_names(id)) {
            (Some(values), Some(names)) if names.len() == values.len() => self.make_record(at, names, values),
            _ => Err(at.internal("a record lacks fields")),
        }
    }

    /// Evaluates a component. Reads a component of a local in place, and moves it out at its last
    /// use.
    #[inline(never)]
    fn project(&mut self, c: &Arc<Code>, f: &mut Frame, id: TId, e: TId, k: u32) -> Eval {
        let at = c.at(c.body.nodes[id].span);
        let of = &c.body.nodes[e];
        let none = || at.internal("no such component");
        if let Expr::Local(l) = &of.kind
            && !c.plan.takes(e)
        {
            let slot = f.slots.get_mut(l.0 as usize).and_then(Option::as_mut);
            let slot = slot.ok_or_else(|| at.internal("a local has no value"))?;
            if c.plan.takes(id)
                && let Some(part) = component_mut(slot, &of.ty, k)
            {
                // The placeholder is never read.
                return Ok(std::mem::replace(part, Value::Bool(false)));
            }
            return component(slot, &of.ty, k).cloned().ok_or_else(none);
        }
        let value = self.eval(c, f, e)?;
        let at_k = position(&value, &of.ty, k);
        let mut parts = match value {
            Value::Tuple(t) => take_items(t),
            Value::Record(r) => take_fields(r),
            _ => return Err(none()),
        };
        match at_k {
            Some(i) if i < parts.len() => Ok(parts.swap_remove(i)),
            _ => Err(none()),
        }
    }

    #[inline(never)]
    fn comparison(&mut self, c: &Arc<Code>, f: &mut Frame, at: At<'_>, first: TId, rest: &[(BinOp, TId)]) -> Eval {
        let mut left = self.eval(c, f, first)?;
        let mut result = Value::Bool(true);
        for (op, right) in rest {
            let right = self.eval(c, f, *right)?;
            result = self.compare(at, *op, &left, &right)?;
            if let Value::Bool(false) = result {
                break;
            }
            left = right;
        }
        Ok(result)
    }

    #[inline(never)]
    fn array_literal(&mut self, c: &Arc<Code>, f: &mut Frame, node: &Node, parts: &[TId]) -> Eval {
        let at = c.at(node.span);
        let mut builder = super::build::Builder::new(parts.len());
        for part in parts {
            let value = self.eval(c, f, *part)?;
            self.push(at, &mut builder, value)?;
        }
        self.finish(at, f, builder, &[parts.len()], &node.ty)
    }

    /// Returns the built array with these outer extents. If it has no elements, the type determines
    /// its inner shape and kind.
    pub(super) fn finish(
        &mut self,
        at: At<'_>,
        f: &Frame,
        builder: super::build::Builder,
        outer: &[usize],
        ty: &Type,
    ) -> Eval {
        if builder.parts() > 0 {
            return self.array(at, builder.finish(outer));
        }
        let ty = self.rt_type(at, f, ty)?;
        self.filled(at, &empty_outside(&ty, outer), Fill::Zero)
    }

    /// Returns the value of a top-level `let`. Fails with E0512 if it has not run.
    #[inline(never)]
    pub(super) fn global(&self, at: At<'_>, name: &GlobalName) -> Eval {
        self.program
            .global(name)
            .ok_or_else(|| at.fail(ErrorCode::E0512, format!("`{name}` has no value yet: its `let` has not run")))
    }

    #[inline(never)]
    fn size_check(&mut self, c: &Arc<Code>, f: &Frame, check: &SizeCheck) -> Eval<()> {
        let at = c.at(check.span);
        let value = self.size(at, f, &check.found)?;
        let holds = match &check.wanted {
            Demand::Equal(wanted) => value == self.size(at, f, wanted)?,
            Demand::Size => (0..MAX_EXTENT).contains(&value),
        };
        if holds {
            return Ok(());
        }
        let side = |size: &Poly, value: i64| match size.to_string() {
            // A size without a name in the text is shown as its value.
            shown if size.as_constant().is_some() || shown.contains('#') => format!("{value}"),
            shown => format!("{shown} = {value}"),
        };
        let (what, found) = (&check.what, side(&check.found, value));
        let message = match &check.wanted {
            Demand::Equal(wanted) => {
                let wanted = side(wanted, self.size(at, f, wanted)?);
                format!("sizes differ for {what}: {found}, where {wanted} is needed")
            }
            Demand::Size if value < 0 => format!("{what} is {found}, and no size is negative"),
            Demand::Size => format!("{what} is {found}, and sizes stay below 2^47"),
        };
        Err(at.fail(ErrorCode::E0501, message))
    }
}

/// Returns the value of a local, moved out of its slot if `take` says that this is the last use.
fn local(at: At<'_>, f: &mut Frame, l: LocalId, take: bool) -> Eval {
    let value = if take { f.take(l) } else { f.get(l).cloned() };
    value.ok_or_else(|| at.internal("a local has no value"))
}

/// Returns a literal in its type.
fn literal(at: At<'_>, f: &Frame, ty: &Type, x: f64) -> Eval {
    match Interp::scalar_type(f, ty) {
        Some(Scalar::F64) => Ok(Value::F64(x)),
        Some(Scalar::F32) => Ok(Value::F32(convert::f64_to_f32(x))),
        Some(Scalar::I64) => Ok(Value::I64(convert::f64_to_i64(x))),
        _ => Err(at.internal("a literal of no scalar type")),
    }
}

/// Returns the type of an array without elements: observed outer extents replace those of the type,
/// which keeps the inner ones.
fn empty_outside(ty: &RtType, outer: &[usize]) -> RtType {
    match (ty, outer) {
        (RtType::Array(_, e), [n, rest @ ..]) => RtType::Array(*n, Arc::new(empty_outside(e, rest))),
        (RtType::Array(n, e), []) => RtType::Array(*n, e.clone()),
        _ => ty.clone(),
    }
}

/// Returns the position in a value of component `k` of a static type. Fields of records are matched
/// by name.
pub(super) fn position(value: &Value, ty: &Type, k: u32) -> Option<usize> {
    let k = k as usize;
    match (value, ty) {
        (Value::Record(r), Type::Record(fields)) => r.position(&fields.get(k)?.0, k),
        _ => Some(k),
    }
}

/// Returns component `k` of a tuple or record of this type.
pub(super) fn component<'v>(value: &'v Value, ty: &Type, k: u32) -> Option<&'v Value> {
    let k = position(value, ty, k)?;
    match value {
        Value::Tuple(t) => t.values().get(k),
        Value::Record(r) => r.values().get(k),
        _ => None,
    }
}

/// Returns component `k` for mutation, or `None` if the tuple or record is shared.
pub(super) fn component_mut<'v>(value: &'v mut Value, ty: &Type, k: u32) -> Option<&'v mut Value> {
    let k = position(value, ty, k)?;
    match value {
        Value::Tuple(t) => Arc::get_mut(t)?.values.get_mut(k),
        Value::Record(r) => Arc::get_mut(r)?.items.values.get_mut(k),
        _ => None,
    }
}

/// Returns the type of component `k`.
pub(super) fn component_type(ty: &Type, k: u32) -> Option<&Type> {
    match ty {
        Type::Tuple(parts) => parts.get(k as usize),
        Type::Record(fields) => fields.get(k as usize).map(|f| &f.1),
        _ => None,
    }
}

/// Stores an existential extent that the value reveals.
fn store_extent(at: At<'_>, f: &mut Frame, open: &Open, value: &Value, ty: &Type) -> Eval<()> {
    let none = || at.internal("no extent to open");
    let (mut value, mut ty) = (value, Some(ty));
    for k in &open.path {
        value = component(value, ty.unwrap_or(&Type::Error), *k).ok_or_else(none)?;
        ty = ty.and_then(|t| component_type(t, *k));
    }
    let extent = match value {
        Value::Array(a) => a.dims().get(open.axis as usize).and_then(|n| i64::try_from(*n).ok()),
        Value::Rel(r) => r.dims().get(open.axis as usize).copied(),
        _ => None,
    };
    f.set(open.local, Value::I64(extent.ok_or_else(none)?));
    Ok(())
}

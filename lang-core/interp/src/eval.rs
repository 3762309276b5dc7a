//! **Evaluation of expressions.** Implements ATL's Figs. 4 and 5 equation by equation, and the
//! constructs of Iverson beyond them. The input is the typed tree of the checker; the frame is the
//! environment σ.
//!
//! Operands are evaluated left to right, with two exceptions. The base of an index or update that
//! is a local, or a component of one, comes after the subscripts. A function that a call's argument
//! creates comes after the other arguments.

use std::sync::Arc;

use super::Interp;
use super::runtime_type::FillScalar;
use lang_base::ensure_sufficient_stack;
use lang_base::{Code as ErrorCode, GlobalName};
use lang_runtime::Value;
use lang_runtime::code::{LocalFrame, RunnableBody};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MAX_EXTENT;
use lang_runtime::rt_type::RuntimeType;
use lang_runtime::scalar::convert;
use lang_runtime::value::{FunctionValue, take_components, take_fields};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::BinOp;
use lang_types::tree::{
    Instantiation, OpenedExtent, SizeCheck, SizeConstraint, TypedExpr, TypedId, TypedNode, TypedPattern,
};
use lang_types::ty::{Scalar, Type};

impl Interp<'_> {
    /// Evaluates an expression: `⟦e | σ⟧`.
    pub(super) fn eval(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        let node = &c.body.nodes[id];
        match &node.kind {
            // (4.1) and, for indices and sizes, (4.13), (4.14)
            TypedExpr::Local(l) => read_local(c.site(node.span), f, *l, c.last_uses.takes_operand(id)),
            // (4.2), (4.15)
            TypedExpr::Real(x) => literal_value(c.site(node.span), f, &node.ty, x.0),
            TypedExpr::Int(i) => match Self::scalar_type(f, &node.ty) {
                None | Some(Scalar::I64) => Ok(Value::I64(*i)),
                Some(_) => literal_value(c.site(node.span), f, &node.ty, convert::i64_to_f64(*i)),
            },
            TypedExpr::Bool(b) => Ok(Value::Bool(*b)),
            TypedExpr::Str(s) => Ok(Value::Str(s.clone())),
            TypedExpr::Size(n) => self.eval_size(c.site(node.span), f, n).map(Value::I64),
            _ => {
                self.enter_expression(c.site(node.span))?;
                let value = ensure_sufficient_stack(|| self.eval_compound(c, f, id, node));
                self.leave_expression();
                value
            }
        }
    }

    /// Evaluates several expressions, left to right.
    pub(super) fn eval_all(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        ids: &[TypedId],
    ) -> InterpResult<Vec<Value>> {
        ids.iter().map(|e| self.eval(c, f, *e)).collect()
    }

    /// Evaluates an expression of type `bool`.
    pub(super) fn eval_bool(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult<bool> {
        let value = self.eval(c, f, id)?;
        value.as_bool().ok_or_else(|| c.site(c.body.nodes[id].span).internal_error("a condition is not a bool"))
    }

    /// Evaluates a condition and counts it as a test.
    pub(super) fn eval_condition(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
    ) -> InterpResult<bool> {
        self.count_test();
        self.eval_bool(c, f, id)
    }

    /// Evaluates an expression of type `i64`.
    pub(super) fn eval_i64(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult<i64> {
        let value = self.eval(c, f, id)?;
        value.as_i64().ok_or_else(|| c.site(c.body.nodes[id].span).internal_error("an index is not an i64"))
    }

    /// Evaluates an expression with parts. Each kind has a separate function, so a stack frame of a
    /// deep recursion holds the locals of one kind instead of all.
    fn eval_compound(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
        node: &TypedNode,
    ) -> InterpResult {
        let at = c.site(node.span);
        if matches!(node.kind, TypedExpr::Binder { .. } | TypedExpr::Fold { .. } | TypedExpr::Loop { .. })
            && let Some(value) = self.try_offload_expression(c, f, id)?
        {
            return Ok(value);
        }
        match &node.kind {
            // (4.3), (4.16): an operand that is a false bracket adds nothing. (4.24) counts it so,
            // and the sign of a zero survives.
            TypedExpr::Arith(op @ (BinOp::Add | BinOp::Sub), a, b) => self.eval_sum(c, f, node, *op, *a, *b),
            // (4.4), and quotients.
            TypedExpr::Arith(op @ (BinOp::Mul | BinOp::Div), a, b) => self.eval_product(c, f, node, *op, *a, *b),
            // (4.17)
            TypedExpr::Arith(op, a, b) => self.eval_binary(c, f, *a, *b, |this, x, y| this.arith(at, *op, x, y)),
            TypedExpr::Pow(a, b) => self.eval_binary(c, f, *a, *b, |this, x, y| this.power(at, x, y)),
            // (4.5)
            TypedExpr::Scalar(function, args) => match args.as_slice() {
                [e] => self.eval_unary(c, f, *e, |this, x| this.scalar(at, *function, std::slice::from_ref(x))),
                _ => self.eval_operands(c, f, args, |this, args| this.scalar(at, *function, &args)),
            },
            TypedExpr::Neg(e) => {
                let x = self.eval(c, f, *e)?;
                self.masked = self.was_masked(c, *e);
                self.negate(at, &x)
            }
            TypedExpr::Not(e) => self.eval_unary(c, f, *e, |this, x| this.logical_not(at, x)),
            TypedExpr::Convert(to, e) => self.eval_unary(c, f, *e, |this, x| this.convert(at, *to, x)),
            // (4.6)
            TypedExpr::Tuple(parts) => self.eval_operands(c, f, parts, |this, values| this.make_tuple(at, values)),
            TypedExpr::Record(fields) => self.eval_record(c, f, id, fields),
            // (4.10)
            TypedExpr::Proj(e, k) => self.eval_projection(c, f, id, *e, *k),
            // (4.11)
            TypedExpr::Index(base, subscripts) => self.eval_index(c, f, at, *base, subscripts),
            // (4.7), (4.8), (4.21)
            TypedExpr::Binder { .. } => self.eval_binder(c, f, id),
            // (4.12)
            TypedExpr::Guard(p, e) => {
                let holds = self.eval_condition(c, f, *p)?;
                let value = if holds { self.eval(c, f, *e) } else { self.zero_of(at, f, &node.ty) };
                self.masked = !holds || self.was_masked(c, *e);
                value
            }
            // (4.9)
            TypedExpr::Let(binds, e) => {
                for (pat, value) in binds {
                    self.eval_let(c, f, pat, *value)?;
                }
                self.eval_tail(c, f, *e)
            }
            // (4.18)
            TypedExpr::Compare(first, rest) => self.eval_comparison(c, f, at, *first, rest),
            // (4.19): a conjunction looks for a false part, a disjunction for a true one.
            TypedExpr::And(parts) => self.any_evaluates_to(c, f, parts, false).map(|found| Value::Bool(!found)),
            TypedExpr::Or(parts) => self.any_evaluates_to(c, f, parts, true).map(Value::Bool),
            // (4.20)
            TypedExpr::Member(relation, indices) => self.eval_member(c, f, at, *relation, indices),
            TypedExpr::Card(relation) => self.eval_unary(c, f, *relation, |_, r| match r {
                Value::Rel(r) => Ok(Value::I64(i64::try_from(r.len()).unwrap_or(i64::MAX))),
                _ => Err(at.internal_error("the value is not a relation")),
            }),
            // Beyond the paper.
            TypedExpr::If(arms, last) => self.eval_if(c, f, arms, *last),
            TypedExpr::Match(e, arms) => self.eval_match(c, f, id, *e, arms),
            TypedExpr::Fold { .. } => self.eval_fold(c, f, id),
            TypedExpr::Checkpoint(every, of) => self.eval_checkpoint(c, f, *every, *of),
            TypedExpr::Loop { .. } => self.eval_loop(c, f, id),
            TypedExpr::With(base, updates) => self.eval_with(c, f, at, *base, updates),
            TypedExpr::Array(parts) => self.eval_array_literal(c, f, node, parts),
            TypedExpr::Call { .. } => self.eval_call(c, f, id),
            TypedExpr::Lambda(_) => self.make_closure(c, f, id),
            TypedExpr::DefValue(name, instance) => self.def_value(at, f, name, instance),
            TypedExpr::BuiltinValue(builtin, _) => Ok(Value::Fun(Arc::new(FunctionValue::Builtin(*builtin)))),
            TypedExpr::ScalarValue(function) => Ok(Value::Fun(Arc::new(FunctionValue::Scalar(*function)))),
            TypedExpr::CtorValue(ty, index) => self.ctor_value(at, ty, *index),
            TypedExpr::Global(name) => self.global_value(at, name),
            TypedExpr::Checked(checks, e) => {
                for check in checks.iter().filter(|check| check.is_precondition) {
                    self.check_size(c, f, check)?;
                }
                let value = self.eval(c, f, *e)?;
                for check in checks.iter().filter(|check| !check.is_precondition) {
                    self.check_size(c, f, check)?;
                }
                Ok(value)
            }
            TypedExpr::Opened(opens, e) => self.eval_opened(c, f, node, opens, *e),
            TypedExpr::Form(special, args) => self.eval_special(c, f, id, special, args),
            TypedExpr::Error => Err(at.fail(ErrorCode::E0512, format!("`{}` has errors and cannot run", c.item))),
            TypedExpr::Local(_)
            | TypedExpr::Real(_)
            | TypedExpr::Int(_)
            | TypedExpr::Bool(_)
            | TypedExpr::Str(_)
            | TypedExpr::Size(_) => Err(at.internal_error("a leaf is not a compound expression")),
        }
    }

    #[inline(never)]
    fn eval_unary(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        e: TypedId,
        op: impl FnOnce(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        let x = self.eval(c, f, e)?;
        op(self, &x)
    }

    #[inline(never)]
    fn eval_binary(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        a: TypedId,
        b: TypedId,
        op: impl FnOnce(&mut Self, &Value, &Value) -> InterpResult,
    ) -> InterpResult {
        let x = self.eval(c, f, a)?;
        let y = self.eval(c, f, b)?;
        op(self, &x, &y)
    }

    #[inline(never)]
    fn eval_operands(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        parts: &[TypedId],
        op: impl FnOnce(&mut Self, Vec<Value>) -> InterpResult,
    ) -> InterpResult {
        let values = self.eval_all(c, f, parts)?;
        op(self, values)
    }

    /// Returns whether one of these, left to right, has the value `wanted`. The parts after it are
    /// not evaluated.
    #[inline(never)]
    fn any_evaluates_to(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        parts: &[TypedId],
        wanted: bool,
    ) -> InterpResult<bool> {
        for p in parts {
            if self.eval_bool(c, f, *p)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn eval_let(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        pat: &TypedPattern,
        value: TypedId,
    ) -> InterpResult<()> {
        let v = self.eval(c, f, value)?;
        let value = &c.body.nodes[value];
        self.bind(c.site(value.span), f, pat, v, Some(&value.ty))
    }

    #[inline(never)]
    fn eval_member(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        relation: TypedId,
        indices: &[TypedId],
    ) -> InterpResult {
        let r = self.eval(c, f, relation)?;
        let tuple = indices.iter().map(|i| self.eval_i64(c, f, *i)).collect::<InterpResult<Vec<_>>>()?;
        match r {
            Value::Rel(r) => Ok(Value::Bool(r.contains(&tuple))),
            _ => Err(at.internal_error("the value is not a relation")),
        }
    }

    #[inline(never)]
    fn def_value(
        &self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        name: &GlobalName,
        instance: &Instantiation,
    ) -> InterpResult {
        let instance = self.eval_instance(at, f, instance)?;
        Ok(Value::Fun(Arc::new(FunctionValue::Def(name.clone(), instance))))
    }

    #[inline(never)]
    fn eval_opened(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        opens: &[OpenedExtent],
        e: TypedId,
    ) -> InterpResult {
        let (at, ty) = (c.site(node.span), &node.ty);
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
    pub(super) fn zero_of(&mut self, at: FailureSite<'_>, f: &LocalFrame, ty: &Type) -> InterpResult {
        match ty {
            Type::Scalar(Scalar::F64) => Ok(Value::F64(0.0)),
            _ => {
                let ty = self.close_type(at, f, ty)?;
                self.filled_value(at, &ty, FillScalar::Zero)
            }
        }
    }

    /// Evaluates an operand of a sum. Returns `None` for a bracket, or nested brackets, with a
    /// false predicate.
    pub(super) fn eval_summand(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        mut id: TypedId,
    ) -> InterpResult<Option<Value>> {
        while let TypedExpr::Guard(p, e) = &c.body.nodes[id].kind {
            if !self.eval_condition(c, f, *p)? {
                return Ok(None);
            }
            id = *e;
        }
        self.eval(c, f, id).map(Some)
    }

    /// Evaluates `a * b` or `a / b`. A bracket masks the whole product that it is a factor of. If
    /// its predicate is false, the product is zero for all values of the other factors.
    #[inline(never)]
    fn eval_product(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        op: BinOp,
        a: TypedId,
        b: TypedId,
    ) -> InterpResult {
        let at = c.site(node.span);
        let x = self.eval(c, f, a)?;
        let first = self.was_masked(c, a);
        let y = self.eval(c, f, b)?;
        let masked = first || op == BinOp::Mul && self.was_masked(c, b);
        let value = if masked { self.zero_of(at, f, &node.ty) } else { self.arith(at, op, &x, &y) };
        self.masked = masked;
        value
    }

    /// Evaluates a part whose value is that of the whole expression, and passes on its `masked`
    /// flag.
    pub(super) fn eval_tail(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, e: TypedId) -> InterpResult {
        let value = self.eval(c, f, e)?;
        self.masked = self.was_masked(c, e);
        Ok(value)
    }

    /// Returns whether false brackets made the expression zero that was evaluated last. Each kind
    /// listed here sets the flag.
    pub(super) fn was_masked(&self, c: &RunnableBody, id: TypedId) -> bool {
        self.masked
            && matches!(
                c.body.nodes[id].kind,
                TypedExpr::Guard(..)
                    | TypedExpr::Neg(_)
                    | TypedExpr::Let(..)
                    | TypedExpr::If(..)
                    | TypedExpr::Match(..)
                    | TypedExpr::Arith(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div, ..)
            )
    }

    /// Evaluates `a + b` or `a - b`. The latter is the sum of `a` and the negation of `b`.
    #[inline(never)]
    fn eval_sum(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        op: BinOp,
        a: TypedId,
        b: TypedId,
    ) -> InterpResult {
        let at = c.site(node.span);
        let x = self.eval_summand(c, f, a)?;
        let first = x.is_none() || self.was_masked(c, a);
        let y = self.eval_summand(c, f, b)?;
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
            (None, None) => self.zero_of(at, f, &node.ty),
            (x, y) => self.broadcast_sum(at, f, node, op, x, y),
        }
    }

    /// Adds a scalar and an array that is a false bracket. This counts no work.
    #[cold]
    #[inline(never)]
    fn broadcast_sum(
        &mut self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        node: &TypedNode,
        op: BinOp,
        x: Option<Value>,
        y: Option<Value>,
    ) -> InterpResult {
        let zero = self.zero_of(at, f, &node.ty)?;
        let (x, y) = (x.unwrap_or_else(|| zero.clone()), y.unwrap_or(zero));
        let counts = self.counts;
        let sum = self.arith(at, op, &x, &y);
        self.counts = counts;
        sum
    }

    #[inline(never)]
    fn eval_record(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
        fields: &[(u32, TypedId)],
    ) -> InterpResult {
        let at = c.site(c.body.nodes[id].span);
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        for (k, e) in fields {
            let value = self.eval(c, f, *e)?;
            *values.get_mut(*k as usize).ok_or_else(|| at.internal_error("the record type has no such field"))? =
                Some(value);
        }
        let values: Option<Vec<_>> = values.into_iter().collect();
        match (values, c.field_names(id)) {
            (Some(values), Some(names)) if names.len() == values.len() => self.make_record(at, names, values),
            _ => Err(at.internal_error("a record lacks fields")),
        }
    }

    /// Evaluates a component. Reads a component of a local in place, and moves it out at its last
    /// use.
    #[inline(never)]
    fn eval_projection(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        id: TypedId,
        e: TypedId,
        k: u32,
    ) -> InterpResult {
        let at = c.site(c.body.nodes[id].span);
        let of = &c.body.nodes[e];
        let none = || at.internal_error("the value has no such component");
        if let TypedExpr::Local(l) = &of.kind
            && !c.last_uses.takes_operand(e)
        {
            let slot = f.slots.get_mut(l.0 as usize).and_then(Option::as_mut);
            let slot = slot.ok_or_else(|| at.internal_error("a local has no value"))?;
            if c.last_uses.takes_operand(id)
                && let Some(part) = component_mut(slot, &of.ty, k)
            {
                // The placeholder is never read.
                return Ok(std::mem::replace(part, Value::Bool(false)));
            }
            return component(slot, &of.ty, k).cloned().ok_or_else(none);
        }
        let value = self.eval(c, f, e)?;
        let at_k = component_position(&value, &of.ty, k);
        let mut parts = match value {
            Value::Tuple(t) => take_components(t),
            Value::Record(r) => take_fields(r),
            _ => return Err(none()),
        };
        match at_k {
            Some(i) if i < parts.len() => Ok(parts.swap_remove(i)),
            _ => Err(none()),
        }
    }

    #[inline(never)]
    fn eval_comparison(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        first: TypedId,
        rest: &[(BinOp, TypedId)],
    ) -> InterpResult {
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
    fn eval_array_literal(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        parts: &[TypedId],
    ) -> InterpResult {
        let at = c.site(node.span);
        let mut builder = super::array_builder::ArrayBuilder::new(parts.len());
        for part in parts {
            let value = self.eval(c, f, *part)?;
            self.push_part(at, &mut builder, value)?;
        }
        self.finish_array(at, f, builder, &[parts.len()], &node.ty)
    }

    /// Returns the built array with these outer extents. If it has no elements, the type determines
    /// its inner shape and kind.
    pub(super) fn finish_array(
        &mut self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        builder: super::array_builder::ArrayBuilder,
        outer: &[usize],
        ty: &Type,
    ) -> InterpResult {
        if builder.part_count() > 0 {
            return self.make_array(at, builder.finish(outer));
        }
        let ty = self.close_type(at, f, ty)?;
        self.filled_value(at, &with_outer_extents(&ty, outer), FillScalar::Zero)
    }

    /// Returns the value of a top-level `let`. Fails with E0512 if it has not run.
    #[inline(never)]
    pub(super) fn global_value(&self, at: FailureSite<'_>, name: &GlobalName) -> InterpResult {
        self.program.global(name).ok_or_else(|| {
            at.fail(ErrorCode::E0512, format!("`{name}` has no value yet, because its `let` has not run"))
        })
    }

    #[inline(never)]
    fn check_size(&mut self, c: &Arc<RunnableBody>, f: &LocalFrame, check: &SizeCheck) -> InterpResult<()> {
        let at = c.site(check.span);
        let value = self.eval_size(at, f, &check.found)?;
        let holds = match &check.constraint {
            SizeConstraint::Equal(wanted) => value == self.eval_size(at, f, wanted)?,
            SizeConstraint::ValidExtent => (0..MAX_EXTENT).contains(&value),
        };
        if holds {
            return Ok(());
        }
        let side = |size: &Poly, value: i64| match size.to_string() {
            // A size without a name in the text is shown as its value.
            shown if size.as_constant().is_some() || shown.contains('#') => format!("{value}"),
            shown => format!("{shown} = {value}"),
        };
        let (what, found) = (&check.subject, side(&check.found, value));
        let message = match &check.constraint {
            SizeConstraint::Equal(wanted) => {
                let wanted = side(wanted, self.eval_size(at, f, wanted)?);
                format!("sizes differ for {what}: found {found}, expected {wanted}")
            }
            SizeConstraint::ValidExtent if value < 0 => format!("{what} is {found}, but a size must not be negative"),
            SizeConstraint::ValidExtent => format!("{what} is {found}, but a size must be below 2^47"),
        };
        Err(at.fail(ErrorCode::E0501, message))
    }
}

/// Returns the value of a local, moved out of its slot if `take` says that this is the last use.
fn read_local(at: FailureSite<'_>, f: &mut LocalFrame, l: LocalId, take: bool) -> InterpResult {
    let value = if take { f.take(l) } else { f.get(l).cloned() };
    value.ok_or_else(|| at.internal_error("a local has no value"))
}

/// Returns a literal in its type.
fn literal_value(at: FailureSite<'_>, f: &LocalFrame, ty: &Type, x: f64) -> InterpResult {
    match Interp::scalar_type(f, ty) {
        Some(Scalar::F64) => Ok(Value::F64(x)),
        Some(Scalar::F32) => Ok(Value::F32(convert::f64_to_f32(x))),
        Some(Scalar::I64) => Ok(Value::I64(convert::f64_to_i64(x))),
        _ => Err(at.internal_error("a literal does not have a scalar type")),
    }
}

/// Returns the type of an array without elements: observed outer extents replace those of the type,
/// which keeps the inner ones.
fn with_outer_extents(ty: &RuntimeType, outer: &[usize]) -> RuntimeType {
    match (ty, outer) {
        (RuntimeType::Array(_, e), [n, rest @ ..]) => RuntimeType::Array(*n, Arc::new(with_outer_extents(e, rest))),
        (RuntimeType::Array(n, e), []) => RuntimeType::Array(*n, e.clone()),
        _ => ty.clone(),
    }
}

/// Returns the position in a value of component `k` of a static type. Fields of records are matched
/// by name.
pub(super) fn component_position(value: &Value, ty: &Type, k: u32) -> Option<usize> {
    let k = k as usize;
    match (value, ty) {
        (Value::Record(r), Type::Record(fields)) => r.position(&fields.get(k)?.0, k),
        _ => Some(k),
    }
}

/// Returns component `k` of a tuple or record of this type.
pub(super) fn component<'v>(value: &'v Value, ty: &Type, k: u32) -> Option<&'v Value> {
    let k = component_position(value, ty, k)?;
    match value {
        Value::Tuple(t) => t.values().get(k),
        Value::Record(r) => r.values().get(k),
        _ => None,
    }
}

/// Returns component `k` for mutation, or `None` if the tuple or record is shared.
pub(super) fn component_mut<'v>(value: &'v mut Value, ty: &Type, k: u32) -> Option<&'v mut Value> {
    let k = component_position(value, ty, k)?;
    match value {
        Value::Tuple(t) => Arc::get_mut(t)?.values.get_mut(k),
        Value::Record(r) => Arc::get_mut(r)?.components.values.get_mut(k),
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
fn store_extent(
    at: FailureSite<'_>,
    f: &mut LocalFrame,
    open: &OpenedExtent,
    value: &Value,
    ty: &Type,
) -> InterpResult<()> {
    let none = || at.internal_error("the value has no extent to bind");
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

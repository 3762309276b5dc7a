//! **Forward-mode derivative operators**, by their definitions. A function runs on dual numbers:
//! once for a tangent, or once per coordinate of the argument for all partial derivatives. Nothing
//! here is shared with the generated derivatives, because this is their oracle.
//!
//! | operator | is |
//! |---|---|
//! | `jvp(f)(x, v)` | the tangent of `f` at `x` along `v` |
//! | `grad(f)(x)` | for each coordinate its partial derivative |
//! | `vjp(f)(x, w)` | for each coordinate the inner product of `w` with the tangent along it |
//! | `jacobian(f)(x)` | for each coordinate the tangent along it, as columns of blocks |
//! | `hessian(f)` | `jacobian(grad(f))` |
//! | `hvp(f)` | `jvp(grad(f))` |
//! | `deriv(e, x)` | the Jacobian of `e` as a function of the variable `x` |

use std::sync::Arc;

use super::Interp;
use super::array_builder::ArrayBuilder;
use super::broadcast::scalar_kind;
use super::dual::one_or_zero_like;
use super::flatten::{Coordinates, NonRealPolicy};
use lang_base::ensure_sufficient_stack;
use lang_resolve::forms::DerivativeOp;
use lang_runtime::Value;
use lang_runtime::array::{Array, Store};
use lang_runtime::code::{LocalFrame, RunnableBody};
use lang_runtime::derived::{DerivedFunction, OperatorSite};
use lang_runtime::dual::{Perturbation, primal_and_tangent};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MemoryCharge;
use lang_runtime::offload::OffloadRequest;
use lang_runtime::progress::WorkKind;
use lang_runtime::value::FunctionValue;
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::BinOp;
use lang_types::tree::TypedId;
use lang_types::ty::{Scalar, Type};

/// The function to differentiate: from arguments to result.
pub(super) type DifferentiatedFn<'f, 'i> = &'f mut dyn FnMut(&mut Interp<'i>, Vec<Value>) -> InterpResult;

/// A point: all arguments, and the positions of those that vary.
#[derive(Clone, Copy)]
pub(super) struct EvaluationPoint<'p> {
    args: &'p [Value],
    wrt: &'p [usize],
}

impl EvaluationPoint<'_> {
    /// Returns the varying arguments: a bare value if there is one, else a tuple.
    pub(super) fn varying_args(self, interp: &Interp<'_>, at: FailureSite<'_>) -> InterpResult {
        let mut chosen: Vec<Value> = self.wrt.iter().filter_map(|k| self.args.get(*k)).cloned().collect();
        if chosen.len() == 1 { Ok(chosen.swap_remove(0)) } else { interp.make_tuple(at, chosen) }
    }

    /// Returns all arguments, with the varying ones replaced by `varying`.
    fn with_varying(self, varying: Value, at: FailureSite<'_>) -> InterpResult<Vec<Value>> {
        let mut args = self.args.to_vec();
        let new = match (self.wrt, varying) {
            ([_], v) => vec![v],
            (_, Value::Tuple(t)) => lang_runtime::value::take_components(t),
            _ => return Err(at.internal_error("the varying arguments are not a tuple")),
        };
        for (k, v) in self.wrt.iter().zip(new) {
            *args.get_mut(*k).ok_or_else(|| at.internal_error("the function has no such argument"))? = v;
        }
        Ok(args)
    }
}

/// A callback for the run along one coordinate. Its arguments are the coordinate's number, the
/// result and the perturbation.
type ColumnCallback<'f, 'i> = &'f mut dyn FnMut(&mut Interp<'i>, usize, &Value, Perturbation) -> InterpResult<()>;

impl<'i> Interp<'i> {
    /// Evaluates `grad(f)` and the other operators to a function value.
    #[inline(never)]
    pub(super) fn eval_derivative_operator(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: TypedId,
        operator: DerivativeOp,
        wrt: Option<&[u32]>,
        args: &[TypedId],
    ) -> InterpResult {
        let at = c.site(c.body.nodes[node].span);
        let [id] = args else { return Err(at.internal_error("a derivative operator must have one function")) };
        let Type::Fun(ty) = &c.body.nodes[*id].ty else {
            return Err(at.internal_error("the differentiated value is not a function"));
        };
        let arity = ty.params.len();
        let wrt = match wrt {
            Some(ks) => ks.iter().map(|k| *k as usize).collect(),
            None => (0..arity).collect(),
        };
        let function = self.eval(c, f, *id)?;
        let function = self.make_components(at, vec![function])?;
        let place = Arc::new(OperatorSite::new(c, f, node));
        Ok(Value::Fun(Arc::new(FunctionValue::Derived(Box::new(DerivedFunction {
            operator,
            wrt,
            arity,
            function,
            site: place,
        })))))
    }

    /// Calls a derived function: by an offloaded evaluation if possible, else by definition.
    #[inline(never)]
    pub(super) fn call_derived(
        &mut self,
        at: FailureSite<'_>,
        d: &DerivedFunction,
        mut args: Vec<Value>,
    ) -> InterpResult {
        use DerivativeOp::{Grad, Hessian, Hvp, Jacobian, Jvp, Jvp2, ValueAndGrad, Vjp, Vjp2};
        if let Some(value) = self.try_offload(at, &OffloadRequest::Operator(d, &args))? {
            return Ok(value);
        }
        let pair = matches!(d.operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        // `jvp(f)((a, b), …)`: the point is one argument, and the tangent or cotangent follows.
        let beside = if pair { args.pop() } else { None };
        if pair && d.arity != 1 {
            args = match args.pop() {
                Some(Value::Tuple(point)) => lang_runtime::value::take_components(point),
                _ => return Err(at.internal_error("the point is not a tuple")),
            };
        }
        if args.len() != d.arity || pair && beside.is_none() {
            return Err(at.internal_error("a derivative operator has the wrong number of arguments"));
        }
        let beside = beside.unwrap_or_else(Value::unit);
        let point = EvaluationPoint { args: &args, wrt: &d.wrt };
        let [function] = d.function.values() else {
            return Err(at.internal_error("a derivative operator has no function"));
        };
        let function = &mut |this: &mut Self, args: Vec<Value>| this.apply(at, function, args);
        ensure_sufficient_stack(|| match d.operator {
            Grad => Ok(self.value_and_gradient(at, function, point)?.1),
            ValueAndGrad => {
                let (value, gradient) = self.value_and_gradient(at, function, point)?;
                self.make_tuple(at, vec![value, gradient])
            }
            Jvp => Ok(self.value_and_tangent(at, function, point, &beside)?.1),
            Jvp2 => {
                let (value, tangent) = self.value_and_tangent(at, function, point, &beside)?;
                self.make_tuple(at, vec![value, tangent])
            }
            Vjp => Ok(self.value_and_cotangent(at, function, point, &beside)?.1),
            Vjp2 => {
                let (value, cotangent) = self.value_and_cotangent(at, function, point, &beside)?;
                self.make_tuple(at, vec![value, cotangent])
            }
            Jacobian => self.jacobian(at, function, point),
            Hessian => self.jacobian(
                at,
                &mut |this, args| {
                    Ok(this.value_and_gradient(at, function, EvaluationPoint { args: &args, wrt: point.wrt })?.1)
                },
                point,
            ),
            Hvp => {
                let gradient = &mut |this: &mut Self, args: Vec<Value>| {
                    Ok(this.value_and_gradient(at, function, EvaluationPoint { args: &args, wrt: point.wrt })?.1)
                };
                Ok(self.value_and_tangent(at, gradient, point, &beside)?.1)
            }
        })
    }

    /// Evaluates `deriv(e, x)`: the Jacobian of `e` by the local `x`. All other locals are
    /// constants.
    #[inline(never)]
    pub(super) fn eval_deriv(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &LocalFrame,
        node: TypedId,
        by: LocalId,
        args: &[TypedId],
    ) -> InterpResult {
        let at = c.site(c.body.nodes[node].span);
        let [e] = args else { return Err(at.internal_error("`deriv` must have one expression")) };
        if let Some(value) =
            self.try_offload(at, &OffloadRequest::Deriv { code: c, frame: f, node, variable: by, expression: *e })?
        {
            return Ok(value);
        }
        let x = f.get(by).cloned().ok_or_else(|| at.internal_error("a local has no value"))?;
        let function = &mut |this: &mut Self, args: Vec<Value>| {
            let mut frame = this.new_frame(at, f.slots.len(), f.types.clone())?;
            frame.slots.clone_from(&f.slots);
            args.into_iter().for_each(|x| frame.set(by, x));
            this.eval(c, &mut frame, *e)
        };
        self.jacobian(at, function, EvaluationPoint { args: &[x], wrt: &[0] })
    }

    /// Runs `f` with these tangents on the reals of the varying arguments. `None` makes a real
    /// constant.
    pub(super) fn run_dual(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        e: Perturbation,
        tangent: &mut dyn FnMut(usize, &Value) -> Option<Value>,
    ) -> InterpResult {
        let varying = point.varying_args(self, at)?;
        let mut k = 0;
        let seeded = self.map_reals(at, &varying, NonRealPolicy::Keep, &mut |this, x| {
            let t = tangent(k, x);
            k += 1;
            t.map_or_else(|| Ok(x.clone()), |t| this.make_dual(at, e, x.clone(), t))
        })?;
        let args = point.with_varying(seeded, at)?;
        self.dual_run_depth += 1;
        let result = f(self, args);
        self.dual_run_depth -= 1;
        result
    }

    /// Runs `f` along every coordinate of the varying arguments, and passes each result to
    /// `column`. Returns the value of `f`, which needs a separate run only if there are no
    /// coordinates. Returns `None` if a reverse operator meets a rule that is not linear
    /// ([`super::reverse`]).
    fn for_each_column(
        &mut self,
        at: FailureSite<'_>,
        operator: DerivativeOp,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        column: ColumnCallback<'_, 'i>,
    ) -> InterpResult<Option<Value>> {
        let varying = point.varying_args(self, at)?;
        let n = self.collect_reals(at, &varying)?.values.len();
        self.begin_work();
        let value = self.run_columns(at, (operator, n), f, point, column);
        self.end_work();
        match value? {
            None if n == 0 => f(self, point.args.to_vec()).map(Some),
            value => Ok(value),
        }
    }

    /// Runs `f` along the first `n` coordinates. Returns `None` if there are none, or if a rule is
    /// not linear.
    fn run_columns(
        &mut self,
        at: FailureSite<'_>,
        (operator, n): (DerivativeOp, usize),
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        column: ColumnCallback<'_, 'i>,
    ) -> InterpResult<Option<Value>> {
        let mut pace = self.track_work(WorkKind::Passes(operator), i64::try_from(n).unwrap_or(i64::MAX));
        let mut value = None;
        for i in 0..n {
            self.record_progress(&mut pace, i64::try_from(i).unwrap_or(i64::MAX));
            let e = self.new_perturbation();
            // The first run prints the values of `dbg`; the others would repeat them.
            let quiet = usize::from(i > 0);
            self.dbg_suppressions += quiet;
            let (reverse, depth) =
                (matches!(operator, DerivativeOp::Grad | DerivativeOp::Vjp), self.reverse_runs.len());
            if reverse {
                self.start_linearity_watch(e);
            }
            let result = self.run_dual(at, f, point, e, &mut |k, x| (k == i).then(|| one_or_zero_like(x, true)));
            self.dbg_suppressions -= quiet;
            self.reverse_runs.truncate(depth + usize::from(reverse));
            let not_linear = reverse && self.end_linearity_watch();
            let result = result?;
            if not_linear {
                return Ok(None);
            }
            column(self, i, &result, e)?;
            if value.is_none() {
                value = Some(self.extract_primal(at, &result, e)?);
            }
        }
        Ok(value)
    }

    /// Returns the tangent of a value: its shape, with `()` for parts without reals.
    pub(super) fn extract_tangent(&mut self, at: FailureSite<'_>, value: &Value, e: Perturbation) -> InterpResult {
        self.map_reals(at, value, NonRealPolicy::Unit(Some(e)), &mut |_, x| {
            Ok(primal_and_tangent(x, e).1.cloned().unwrap_or_else(|| one_or_zero_like(x, false)))
        })
    }

    /// Builds a tangent of `like` from its reals. Each gets the kind of the real that it belongs
    /// to.
    pub(super) fn build_tangent(&mut self, at: FailureSite<'_>, like: &Value, reals: Coordinates) -> InterpResult {
        let mut reals = reals.values.into_iter();
        self.map_reals(at, like, NonRealPolicy::Unit(None), &mut |this, x| {
            let t = reals.next().ok_or_else(|| at.internal_error("a coordinate is missing"))?;
            this.convert(at, scalar_kind(x).unwrap_or(Scalar::F64), &t)
        })
    }

    /// Returns the value, and the tangent along `v`.
    fn value_and_tangent(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        v: &Value,
    ) -> InterpResult<(Value, Value)> {
        let e = self.new_perturbation();
        let varying = point.varying_args(self, at)?;
        let tangents = self.collect_reals_like(at, &varying, v)?;
        let result = self.run_dual(at, f, point, e, &mut |k, _| tangents.values.get(k).cloned())?;
        Ok((self.extract_primal(at, &result, e)?, self.extract_tangent(at, &result, e)?))
    }

    /// Returns the value and the gradient.
    fn value_and_gradient(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
    ) -> InterpResult<(Value, Value)> {
        let mut partials = Coordinates::default();
        let value = self.for_each_column(at, DerivativeOp::Grad, f, point, &mut |this, _, y, e| {
            let partial = primal_and_tangent(y, e).1.cloned().unwrap_or_else(|| one_or_zero_like(y, false));
            this.push_real(at, &mut partials, partial)
        })?;
        let Some(value) = value else { return self.eval_reverse(at, f, point, None) };
        let like = point.varying_args(self, at)?;
        Ok((value, self.build_tangent(at, &like, partials)?))
    }

    /// Returns the value, and the cotangents of the varying arguments for the cotangent `w` of the
    /// result.
    fn value_and_cotangent(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        w: &Value,
    ) -> InterpResult<(Value, Value)> {
        let mut cotangents = Coordinates::default();
        let value = self.for_each_column(at, DerivativeOp::Vjp, f, point, &mut |this, _, y, e| {
            let weights = this.collect_reals_like(at, y, w)?;
            let tangents = this.collect_reals(at, y)?;
            let tangents: Vec<_> = tangents.values.iter().map(|y| primal_and_tangent(y, e).1.cloned()).collect();
            let sum = this.inner_product(at, &weights.values, &tangents)?;
            this.push_real(at, &mut cotangents, sum)
        })?;
        let Some(value) = value else { return self.eval_reverse(at, f, point, Some(w)) };
        let like = point.varying_args(self, at)?;
        Ok((value, self.build_tangent(at, &like, cotangents)?))
    }

    /// Returns `Σ weights · tangents`.
    pub(super) fn inner_product(
        &mut self,
        at: FailureSite<'_>,
        weights: &[Value],
        tangents: &[Option<Value>],
    ) -> InterpResult {
        let mut sum = None;
        for (w, t) in weights.iter().zip(tangents) {
            let Some(t) = t else { continue };
            // The terms may mix both kinds of reals.
            let (w, t) = (self.convert(at, Scalar::F64, w)?, self.convert(at, Scalar::F64, t)?);
            let term = self.arith(at, BinOp::Mul, &w, &t)?;
            sum = Some(match sum {
                Some(sum) => self.arith(at, BinOp::Add, &sum, &term)?,
                None => term,
            });
        }
        Ok(sum.unwrap_or(Value::F64(0.0)))
    }

    /// Returns the blocks of partial derivatives. The axes of the result come first.
    fn jacobian(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
    ) -> InterpResult {
        let mut columns: Vec<Coordinates> = Vec::new();
        let value = self.for_each_column(at, DerivativeOp::Jacobian, f, point, &mut |this, _, y, e| {
            let mut column = this.collect_reals(at, y)?;
            for y in &mut column.values {
                *y = primal_and_tangent(y, e).1.cloned().unwrap_or_else(|| one_or_zero_like(y, false));
            }
            columns.push(column);
            Ok(())
        })?;
        let value = value.ok_or_else(|| at.internal_error("no column has a value"))?;
        let by = point.varying_args(self, at)?;
        self.result_blocks(at, &columns, (&value, &mut 0), &by)
    }

    /// Returns the blocks for one part of the result. The first of its coordinates has the number
    /// in `of`.
    fn result_blocks(
        &mut self,
        at: FailureSite<'_>,
        columns: &[Coordinates],
        of: (&Value, &mut usize),
        by: &Value,
    ) -> InterpResult {
        let (value, first) = of;
        match value {
            Value::Tuple(t) => {
                let blocks = t
                    .values()
                    .iter()
                    .map(|v| ensure_sufficient_stack(|| self.result_blocks(at, columns, (v, first), by)));
                let blocks = blocks.collect::<InterpResult<_>>()?;
                self.make_tuple(at, blocks)
            }
            Value::Record(r) => {
                let blocks = r
                    .values()
                    .iter()
                    .map(|v| ensure_sufficient_stack(|| self.result_blocks(at, columns, (v, first), by)));
                let blocks = blocks.collect::<InterpResult<_>>()?;
                self.make_record(at, r.names.clone(), blocks)
            }
            _ => {
                let rows = self.collect_reals(at, value)?.values.len();
                let block = self.argument_blocks(at, columns, (value, *first, rows), (by, &mut 0));
                *first += rows;
                block
            }
        }
    }

    /// Returns the blocks of one array or scalar of the result, for each part of the argument.
    fn argument_blocks(
        &mut self,
        at: FailureSite<'_>,
        columns: &[Coordinates],
        of: (&Value, usize, usize),
        by: (&Value, &mut usize),
    ) -> InterpResult {
        let (input, column) = by;
        match input {
            Value::Tuple(t) => {
                let blocks = t
                    .values()
                    .iter()
                    .map(|v| ensure_sufficient_stack(|| self.argument_blocks(at, columns, of, (v, column))));
                let blocks = blocks.collect::<InterpResult<_>>()?;
                self.make_tuple(at, blocks)
            }
            Value::Record(r) => {
                let blocks = r
                    .values()
                    .iter()
                    .map(|v| ensure_sufficient_stack(|| self.argument_blocks(at, columns, of, (v, column))));
                let blocks = blocks.collect::<InterpResult<_>>()?;
                self.make_record(at, r.names.clone(), blocks)
            }
            _ => {
                let count = self.collect_reals(at, input)?.values.len();
                let these = columns.get(*column..*column + count).unwrap_or_default();
                *column += count;
                self.dense_block(at, these, of, input)
            }
        }
    }

    /// Returns one block, with the extents of the result and then those of the argument.
    fn dense_block(
        &self,
        at: FailureSite<'_>,
        columns: &[Coordinates],
        of: (&Value, usize, usize),
        input: &Value,
    ) -> InterpResult {
        let (value, first, rows) = of;
        let (Some(outer), Some(inner)) = (real_extents(value), real_extents(input)) else { return Ok(Value::unit()) };
        let mut builder = ArrayBuilder::new(rows.saturating_mul(columns.len()));
        for row in first..first + rows {
            for column in columns {
                let x = column.values.get(row).ok_or_else(|| at.internal_error("a coordinate is missing"))?;
                if outer.is_empty() && inner.is_empty() {
                    return Ok(x.clone());
                }
                self.push_part(at, &mut builder, x.clone())?;
            }
        }
        let dims: Vec<usize> = outer.into_iter().chain(inner).collect();
        if builder.part_count() == 0 {
            let none =
                if scalar_kind(value) == Some(Scalar::F32) { Store::F32(Vec::new()) } else { Store::F64(Vec::new()) };
            return self.make_array(at, Array::new(&dims, none, MemoryCharge::default()));
        }
        self.make_array(at, builder.finish(&dims))
    }
}

/// Returns the extents of a real or an array of reals, or `None` for other values.
fn real_extents(v: &Value) -> Option<Vec<usize>> {
    match v {
        Value::F64(_) | Value::F32(_) | Value::Dual(_) => Some(Vec::new()),
        Value::Array(a) => {
            matches!(a.store(), Store::F64(_) | Store::F32(_) | Store::Boxed(_)).then(|| a.dims().to_vec())
        }
        _ => None,
    }
}

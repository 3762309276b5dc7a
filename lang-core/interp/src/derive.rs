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
use super::build::Builder;
use super::dual::number_like;
use super::leaves::{Reals, Rest};
use super::lift::kind;
use lang_base::guarded;
use lang_resolve::forms::Derivative;
use lang_runtime::Value;
use lang_runtime::array::{Array, Store};
use lang_runtime::code::{Code, Frame};
use lang_runtime::derived::{Derived, Place};
use lang_runtime::dual::{Perturbation, split};
use lang_runtime::failure::{At, Eval};
use lang_runtime::memory::Charge;
use lang_runtime::offload::Asked;
use lang_runtime::progress::Work;
use lang_runtime::value::Fun;
use lang_sizes::predicate::LocalId;
use lang_syntax::ops::BinOp;
use lang_types::tree::TId;
use lang_types::ty::{Scalar, Type};

/// The function to differentiate: from arguments to result.
pub(super) type Function<'f, 'i> = &'f mut dyn FnMut(&mut Interp<'i>, Vec<Value>) -> Eval;

/// A point: all arguments, and the positions of those that vary.
#[derive(Clone, Copy)]
pub(super) struct Point<'p> {
    args: &'p [Value],
    wrt: &'p [usize],
}

impl Point<'_> {
    /// Returns the varying arguments: a bare value if there is one, else a tuple.
    pub(super) fn varying(self, interp: &Interp<'_>, at: At<'_>) -> Eval {
        let mut chosen: Vec<Value> = self.wrt.iter().filter_map(|k| self.args.get(*k)).cloned().collect();
        if chosen.len() == 1 { Ok(chosen.swap_remove(0)) } else { interp.make_tuple(at, chosen) }
    }

    /// Returns all arguments, with the varying ones replaced by `varying`.
    fn with(self, varying: Value, at: At<'_>) -> Eval<Vec<Value>> {
        let mut args = self.args.to_vec();
        let new = match (self.wrt, varying) {
            ([_], v) => vec![v],
            (_, Value::Tuple(t)) => lang_runtime::value::take_items(t),
            _ => return Err(at.internal("arguments are no tuple")),
        };
        for (k, v) in self.wrt.iter().zip(new) {
            *args.get_mut(*k).ok_or_else(|| at.internal("no such argument"))? = v;
        }
        Ok(args)
    }
}

/// A callback for the run along one coordinate. Its arguments are the coordinate's number, the
/// result and the perturbation.
type EachColumn<'f, 'i> = &'f mut dyn FnMut(&mut Interp<'i>, usize, &Value, Perturbation) -> Eval<()>;

impl<'i> Interp<'i> {
    /// Evaluates `grad(f)` and the other operators to a function value.
    #[inline(never)]
    pub(super) fn derived(
        &mut self,
        c: &Arc<Code>,
        f: &mut Frame,
        node: TId,
        operator: Derivative,
        wrt: Option<&[u32]>,
        args: &[TId],
    ) -> Eval {
        let at = c.at(c.body.nodes[node].span);
        let [id] = args else { return Err(at.internal("an operator takes one function")) };
        let Type::Fun(ty) = &c.body.nodes[*id].ty else {
            return Err(at.internal("what is differentiated is no function"));
        };
        let arity = ty.params.len();
        let wrt = match wrt {
            Some(ks) => ks.iter().map(|k| *k as usize).collect(),
            None => (0..arity).collect(),
        };
        let function = self.eval(c, f, *id)?;
        let function = self.items(at, vec![function])?;
        let place = Arc::new(Place::new(c, f, node));
        Ok(Value::Fun(Arc::new(Fun::Derived(Box::new(Derived { operator, wrt, arity, function, place })))))
    }

    /// Calls a derived function: by an offloaded evaluation if possible, else by definition.
    #[inline(never)]
    pub(super) fn call_derived(&mut self, at: At<'_>, d: &Derived, mut args: Vec<Value>) -> Eval {
        use Derivative::{Grad, Hessian, Hvp, Jacobian, Jvp, Jvp2, ValueAndGrad, Vjp, Vjp2};
        if let Some(value) = self.taken(at, &Asked::Operator(d, &args))? {
            return Ok(value);
        }
        let pair = matches!(d.operator, Jvp | Jvp2 | Vjp | Vjp2 | Hvp);
        // `jvp(f)((a, b), …)`: the point is one argument, and the tangent or cotangent follows.
        let beside = if pair { args.pop() } else { None };
        if pair && d.arity != 1 {
            args = match args.pop() {
                Some(Value::Tuple(point)) => lang_runtime::value::take_items(point),
                _ => return Err(at.internal("a point is no tuple")),
            };
        }
        if args.len() != d.arity || pair && beside.is_none() {
            return Err(at.internal("an operator does not have the arguments it takes"));
        }
        let beside = beside.unwrap_or_else(Value::unit);
        let point = Point { args: &args, wrt: &d.wrt };
        let [function] = d.function.values() else { return Err(at.internal("an operator lost its function")) };
        let function = &mut |this: &mut Self, args: Vec<Value>| this.apply(at, function, args);
        guarded(|| match d.operator {
            Grad => Ok(self.gradient(at, function, point)?.1),
            ValueAndGrad => {
                let (value, gradient) = self.gradient(at, function, point)?;
                self.make_tuple(at, vec![value, gradient])
            }
            Jvp => Ok(self.along(at, function, point, &beside)?.1),
            Jvp2 => {
                let (value, tangent) = self.along(at, function, point, &beside)?;
                self.make_tuple(at, vec![value, tangent])
            }
            Vjp => Ok(self.pulled_back(at, function, point, &beside)?.1),
            Vjp2 => {
                let (value, cotangent) = self.pulled_back(at, function, point, &beside)?;
                self.make_tuple(at, vec![value, cotangent])
            }
            Jacobian => self.jacobian(at, function, point),
            Hessian => self.jacobian(
                at,
                &mut |this, args| Ok(this.gradient(at, function, Point { args: &args, wrt: point.wrt })?.1),
                point,
            ),
            Hvp => {
                let gradient = &mut |this: &mut Self, args: Vec<Value>| {
                    Ok(this.gradient(at, function, Point { args: &args, wrt: point.wrt })?.1)
                };
                Ok(self.along(at, gradient, point, &beside)?.1)
            }
        })
    }

    /// Evaluates `deriv(e, x)`: the Jacobian of `e` by the local `x`. All other locals are
    /// constants.
    #[inline(never)]
    pub(super) fn deriv(&mut self, c: &Arc<Code>, f: &Frame, node: TId, by: LocalId, args: &[TId]) -> Eval {
        let at = c.at(c.body.nodes[node].span);
        let [e] = args else { return Err(at.internal("`deriv` takes one expression")) };
        if let Some(value) = self.taken(at, &Asked::Variable { code: c, frame: f, node, by, of: *e })? {
            return Ok(value);
        }
        let x = f.get(by).cloned().ok_or_else(|| at.internal("a local has no value"))?;
        let function = &mut |this: &mut Self, args: Vec<Value>| {
            let mut frame = this.frame(at, f.slots.len(), f.types.clone())?;
            frame.slots.clone_from(&f.slots);
            args.into_iter().for_each(|x| frame.set(by, x));
            this.eval(c, &mut frame, *e)
        };
        self.jacobian(at, function, Point { args: &[x], wrt: &[0] })
    }

    /// Runs `f` with these tangents on the reals of the varying arguments. `None` makes a real
    /// constant.
    pub(super) fn run_dual(
        &mut self,
        at: At<'_>,
        f: Function<'_, 'i>,
        point: Point<'_>,
        e: Perturbation,
        tangent: &mut dyn FnMut(usize, &Value) -> Option<Value>,
    ) -> Eval {
        let varying = point.varying(self, at)?;
        let mut k = 0;
        let seeded = self.map_reals(at, &varying, Rest::Stays, &mut |this, x| {
            let t = tangent(k, x);
            k += 1;
            t.map_or_else(|| Ok(x.clone()), |t| this.dual(at, e, x.clone(), t))
        })?;
        let args = point.with(seeded, at)?;
        self.deriving += 1;
        let result = f(self, args);
        self.deriving -= 1;
        result
    }

    /// Runs `f` along every coordinate of the varying arguments, and passes each result to
    /// `column`. Returns the value of `f`, which needs a separate run only if there are no
    /// coordinates. Returns `None` if a reverse operator meets a rule that is not linear
    /// ([`super::reverse`]).
    fn each_column(
        &mut self,
        at: At<'_>,
        operator: Derivative,
        f: Function<'_, 'i>,
        point: Point<'_>,
        column: EachColumn<'_, 'i>,
    ) -> Eval<Option<Value>> {
        let varying = point.varying(self, at)?;
        let n = self.reals(at, &varying)?.values.len();
        self.begin_work();
        let value = self.columns(at, (operator, n), f, point, column);
        self.end_work();
        match value? {
            None if n == 0 => f(self, point.args.to_vec()).map(Some),
            value => Ok(value),
        }
    }

    /// Runs `f` along the first `n` coordinates. Returns `None` if there are none, or if a rule is
    /// not linear.
    fn columns(
        &mut self,
        at: At<'_>,
        (operator, n): (Derivative, usize),
        f: Function<'_, 'i>,
        point: Point<'_>,
        column: EachColumn<'_, 'i>,
    ) -> Eval<Option<Value>> {
        let mut pace = self.follow(Work::Passes(operator), i64::try_from(n).unwrap_or(i64::MAX));
        let mut value = None;
        for i in 0..n {
            self.look(&mut pace, i64::try_from(i).unwrap_or(i64::MAX));
            let e = self.perturb();
            // The first run prints the values of `dbg`; the others would repeat them.
            let quiet = usize::from(i > 0);
            self.quiet += quiet;
            let (reverse, depth) = (matches!(operator, Derivative::Grad | Derivative::Vjp), self.reversals.len());
            if reverse {
                self.watch_rules(e);
            }
            let result = self.run_dual(at, f, point, e, &mut |k, x| (k == i).then(|| number_like(x, true)));
            self.quiet -= quiet;
            self.reversals.truncate(depth + usize::from(reverse));
            let not_linear = reverse && self.met_nonlinear();
            let result = result?;
            if not_linear {
                return Ok(None);
            }
            column(self, i, &result, e)?;
            if value.is_none() {
                value = Some(self.primal_part(at, &result, e)?);
            }
        }
        Ok(value)
    }

    /// Returns the tangent of a value: its shape, with `()` for parts without reals.
    pub(super) fn tangent_part(&mut self, at: At<'_>, value: &Value, e: Perturbation) -> Eval {
        self.map_reals(at, value, Rest::Unit(Some(e)), &mut |_, x| {
            Ok(split(x, e).1.cloned().unwrap_or_else(|| number_like(x, false)))
        })
    }

    /// Builds a tangent of `like` from its reals. Each gets the kind of the real that it belongs
    /// to.
    pub(super) fn shaped(&mut self, at: At<'_>, like: &Value, reals: Reals) -> Eval {
        let mut reals = reals.values.into_iter();
        self.map_reals(at, like, Rest::Unit(None), &mut |this, x| {
            let t = reals.next().ok_or_else(|| at.internal("a coordinate is missing"))?;
            this.convert(at, kind(x).unwrap_or(Scalar::F64), &t)
        })
    }

    /// Returns the value, and the tangent along `v`.
    fn along(&mut self, at: At<'_>, f: Function<'_, 'i>, point: Point<'_>, v: &Value) -> Eval<(Value, Value)> {
        let e = self.perturb();
        let varying = point.varying(self, at)?;
        let tangents = self.reals_like(at, &varying, v)?;
        let result = self.run_dual(at, f, point, e, &mut |k, _| tangents.values.get(k).cloned())?;
        Ok((self.primal_part(at, &result, e)?, self.tangent_part(at, &result, e)?))
    }

    /// Returns the value and the gradient.
    fn gradient(&mut self, at: At<'_>, f: Function<'_, 'i>, point: Point<'_>) -> Eval<(Value, Value)> {
        let mut partials = Reals::default();
        let value = self.each_column(at, Derivative::Grad, f, point, &mut |this, _, y, e| {
            let partial = split(y, e).1.cloned().unwrap_or_else(|| number_like(y, false));
            this.push_real(at, &mut partials, partial)
        })?;
        let Some(value) = value else { return self.reversed(at, f, point, None) };
        let like = point.varying(self, at)?;
        Ok((value, self.shaped(at, &like, partials)?))
    }

    /// Returns the value, and the cotangents of the varying arguments for the cotangent `w` of the
    /// result.
    fn pulled_back(&mut self, at: At<'_>, f: Function<'_, 'i>, point: Point<'_>, w: &Value) -> Eval<(Value, Value)> {
        let mut cotangents = Reals::default();
        let value = self.each_column(at, Derivative::Vjp, f, point, &mut |this, _, y, e| {
            let weights = this.reals_like(at, y, w)?;
            let tangents = this.reals(at, y)?;
            let tangents: Vec<_> = tangents.values.iter().map(|y| split(y, e).1.cloned()).collect();
            let sum = this.inner(at, &weights.values, &tangents)?;
            this.push_real(at, &mut cotangents, sum)
        })?;
        let Some(value) = value else { return self.reversed(at, f, point, Some(w)) };
        let like = point.varying(self, at)?;
        Ok((value, self.shaped(at, &like, cotangents)?))
    }

    /// Returns `Σ weights · tangents`.
    pub(super) fn inner(&mut self, at: At<'_>, weights: &[Value], tangents: &[Option<Value>]) -> Eval {
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
    fn jacobian(&mut self, at: At<'_>, f: Function<'_, 'i>, point: Point<'_>) -> Eval {
        let mut columns: Vec<Reals> = Vec::new();
        let value = self.each_column(at, Derivative::Jacobian, f, point, &mut |this, _, y, e| {
            let mut column = this.reals(at, y)?;
            for y in &mut column.values {
                *y = split(y, e).1.cloned().unwrap_or_else(|| number_like(y, false));
            }
            columns.push(column);
            Ok(())
        })?;
        let value = value.ok_or_else(|| at.internal("no column has a value"))?;
        let by = point.varying(self, at)?;
        self.block(at, &columns, (&value, &mut 0), &by)
    }

    /// Returns the blocks for one part of the result. The first of its coordinates has the number
    /// in `of`.
    fn block(&mut self, at: At<'_>, columns: &[Reals], of: (&Value, &mut usize), by: &Value) -> Eval {
        let (value, first) = of;
        match value {
            Value::Tuple(t) => {
                let blocks = t.values().iter().map(|v| guarded(|| self.block(at, columns, (v, first), by)));
                let blocks = blocks.collect::<Eval<_>>()?;
                self.make_tuple(at, blocks)
            }
            Value::Record(r) => {
                let blocks = r.values().iter().map(|v| guarded(|| self.block(at, columns, (v, first), by)));
                let blocks = blocks.collect::<Eval<_>>()?;
                self.make_record(at, r.names.clone(), blocks)
            }
            _ => {
                let rows = self.reals(at, value)?.values.len();
                let block = self.row_of_blocks(at, columns, (value, *first, rows), (by, &mut 0));
                *first += rows;
                block
            }
        }
    }

    /// Returns the blocks of one array or scalar of the result, for each part of the argument.
    fn row_of_blocks(
        &mut self,
        at: At<'_>,
        columns: &[Reals],
        of: (&Value, usize, usize),
        by: (&Value, &mut usize),
    ) -> Eval {
        let (input, column) = by;
        match input {
            Value::Tuple(t) => {
                let blocks = t.values().iter().map(|v| guarded(|| self.row_of_blocks(at, columns, of, (v, column))));
                let blocks = blocks.collect::<Eval<_>>()?;
                self.make_tuple(at, blocks)
            }
            Value::Record(r) => {
                let blocks = r.values().iter().map(|v| guarded(|| self.row_of_blocks(at, columns, of, (v, column))));
                let blocks = blocks.collect::<Eval<_>>()?;
                self.make_record(at, r.names.clone(), blocks)
            }
            _ => {
                let count = self.reals(at, input)?.values.len();
                let these = columns.get(*column..*column + count).unwrap_or_default();
                *column += count;
                self.dense(at, these, of, input)
            }
        }
    }

    /// Returns one block, with the extents of the result and then those of the argument.
    fn dense(&self, at: At<'_>, columns: &[Reals], of: (&Value, usize, usize), input: &Value) -> Eval {
        let (value, first, rows) = of;
        let (Some(outer), Some(inner)) = (extents(value), extents(input)) else { return Ok(Value::unit()) };
        let mut builder = Builder::new(rows.saturating_mul(columns.len()));
        for row in first..first + rows {
            for column in columns {
                let x = column.values.get(row).ok_or_else(|| at.internal("a coordinate is missing"))?;
                if outer.is_empty() && inner.is_empty() {
                    return Ok(x.clone());
                }
                self.push(at, &mut builder, x.clone())?;
            }
        }
        let dims: Vec<usize> = outer.into_iter().chain(inner).collect();
        if builder.parts() == 0 {
            let none = if kind(value) == Some(Scalar::F32) { Store::F32(Vec::new()) } else { Store::F64(Vec::new()) };
            return self.array(at, Array::new(&dims, none, Charge::default()));
        }
        self.array(at, builder.finish(&dims))
    }
}

/// Returns the extents of a real or an array of reals, or `None` for other values.
fn extents(v: &Value) -> Option<Vec<usize>> {
    match v {
        Value::F64(_) | Value::F32(_) | Value::Dual(_) => Some(Vec::new()),
        Value::Array(a) => {
            matches!(a.store(), Store::F64(_) | Store::F32(_) | Store::Boxed(_)).then(|| a.dims().to_vec())
        }
        _ => None,
    }
}

//! **Element-wise operations** along rows. Arithmetic and comparisons are inline; scalar functions
//! come from the interpreter's table.

use std::cmp::Ordering;

use super::affine::IndexTranslator;
use super::nest::{IndexSpace, RowNest};
use super::rows::{self, GatherBuffer};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::core::ScalarOp;
use lang_ir::ssa::TensorAccess;
use lang_runtime::scalar::{convert, f32s, f64s, i64s};
use lang_sizes::predicate::Pred;
use lang_syntax::ops::{BinOp, Scalar};

const NO_OPERATION: RunError = RunError::Internal("an operation");

/// An element-wise operation of a statement.
struct ElementwiseOperation<'r, 'a> {
    run: &'r RunState<'a>,
    shape: StatementExtents,
    pred: &'r Pred,
    args: &'r [TensorAccess],
}

impl RunState<'_> {
    /// Computes `[p] · f(X₀[a₀], …)`.
    pub(super) fn map(
        &self,
        to: Scalar,
        shape: StatementExtents,
        operation: ScalarOp,
        pred: &Pred,
        args: &[TensorAccess],
    ) -> Result<Tensor, RunError> {
        let kind = |k: usize| args.get(k).and_then(|a| self.tensor(a.var)).and_then(Tensor::scalar_type);
        let (first, second) = (kind(0), kind(1));
        let it = ElementwiseOperation { run: self, shape, pred, args };
        match (operation, first, second) {
            (ScalarOp::Stop, Some(kind), None) => match kind {
                Scalar::F64 => it.unary(|x: f64| x),
                Scalar::F32 => it.unary(|x: f32| x),
                Scalar::I64 => it.unary(|x: i64| x),
                Scalar::Bool => it.unary(|x: bool| x),
            },
            (ScalarOp::Not, Some(Scalar::Bool), None) => it.unary(|x: bool| !x),
            (ScalarOp::Convert(to), Some(from), None) => it.convert(from, to),
            (ScalarOp::Pow, Some(Scalar::F64), _) => it.binary(f64s::powr),
            (ScalarOp::Pow, Some(Scalar::F32), _) => it.binary(f32s::powr),
            (ScalarOp::PowInt, Some(Scalar::F64), _) => it.binary(f64s::powi),
            (ScalarOp::PowInt, Some(Scalar::F32), _) => it.binary(f32s::powi),
            (ScalarOp::PowInt, Some(Scalar::I64), _) => it.binary_partial(i64s::powi),
            (ScalarOp::Binary(op), Some(kind), _) if to == Scalar::Bool => it.compare(op, kind),
            (ScalarOp::Binary(op), Some(Scalar::F64), _) => match op {
                BinOp::Div => it.binary(|a: f64, b: f64| a / b),
                _ => it.binary_partial(move |a: f64, b: f64| f64s::arith(op, a, b)),
            },
            (ScalarOp::Binary(op), Some(Scalar::F32), _) => match op {
                BinOp::Div => it.binary(|a: f32, b: f32| a / b),
                _ => it.binary_partial(move |a: f32, b: f32| f32s::arith(op, a, b)),
            },
            (ScalarOp::Binary(op), Some(Scalar::I64), _) => {
                it.binary_partial(move |a: i64, b: i64| i64s::arith(op, a, b))
            }
            (ScalarOp::Scalar(f), Some(Scalar::F64), _) => match f64s::function(f).ok_or(NO_OPERATION)? {
                f64s::ScalarFunction::Unary(f) => it.unary(f),
                f64s::ScalarFunction::Binary(f) => it.binary(f),
            },
            (ScalarOp::Scalar(f), Some(Scalar::F32), _) => match f32s::function(f).ok_or(NO_OPERATION)? {
                f32s::ScalarFunction::Unary(f) => it.unary(f),
                f32s::ScalarFunction::Binary(f) => it.binary(f),
            },
            (ScalarOp::Scalar(f), Some(Scalar::I64), _) => match i64s::function(f).ok_or(NO_OPERATION)? {
                i64s::ScalarFunction::Unary(f) => it.unary(f),
                i64s::ScalarFunction::Binary(f) => it.binary(f),
            },
            _ => Err(NO_OPERATION),
        }
    }
}

impl ElementwiseOperation<'_, '_> {
    /// Applies an operation on one operand.
    fn unary<A: TensorElement, T: TensorElement>(self, f: impl Fn(A) -> T) -> Result<Tensor, RunError> {
        if let (true, [argument]) = (self.shape.dims.is_empty(), self.args) {
            let run = self.run;
            return run.scalar_tensor(if run.holds_without_indices(self.pred)? {
                f(run.scalar_element(argument)?)
            } else {
                T::ZERO
            });
        }
        let f = |x: A| Some(f(x));
        let (names, [argument]) = (IndexTranslator::new(self.run, &self.shape.extents), self.args) else {
            return Err(NO_OPERATION);
        };
        let (a, place) = names.access(argument)?;
        let a = a.items::<A>().ok_or(NO_OPERATION)?;
        let mut room = TensorBuilder::filled(self.run, self.shape.dims.clone(), T::ZERO)?;
        let nest = RowNest::new(self.run, &self.space(), &[self.shape.element_offset(), place])?;
        let mut gathered = GatherBuffer::new();
        nest.visit(self.run, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let a = gathered.operand(a, row.piece(1, first, count))?;
                rows::put_unary(&mut room.items, row.piece(0, first, count), a, &f).ok_or(NO_OPERATION)?
            })
        })?;
        Ok(room.finish())
    }

    /// Applies an operation on two operands.
    fn binary<A: TensorElement, B: TensorElement, T: TensorElement>(
        self,
        f: impl Fn(A, B) -> T,
    ) -> Result<Tensor, RunError> {
        self.binary_partial(|a: A, b: B| Some(f(a, b)))
    }

    /// Applies an operation on two operands that may have no value.
    fn binary_partial<A: TensorElement, B: TensorElement, T: TensorElement>(
        self,
        f: impl Fn(A, B) -> Option<T>,
    ) -> Result<Tensor, RunError> {
        if let (true, [left, right]) = (self.shape.dims.is_empty(), self.args) {
            let run = self.run;
            if !run.holds_without_indices(self.pred)? {
                return run.scalar_tensor(T::ZERO);
            }
            return run.scalar_tensor(f(run.scalar_element(left)?, run.scalar_element(right)?).ok_or(NO_OPERATION)?);
        }
        let (names, [left, right]) = (IndexTranslator::new(self.run, &self.shape.extents), self.args) else {
            return Err(NO_OPERATION);
        };
        let ((a, left), (b, right)) = (names.access(left)?, names.access(right)?);
        let (a, b) = (a.items::<A>().ok_or(NO_OPERATION)?, b.items::<B>().ok_or(NO_OPERATION)?);
        let mut room = TensorBuilder::filled(self.run, self.shape.dims.clone(), T::ZERO)?;
        let nest = RowNest::new(self.run, &self.space(), &[self.shape.element_offset(), left, right])?;
        let (mut lefts, mut rights) = (GatherBuffer::new(), GatherBuffer::new());
        nest.visit(self.run, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let a = lefts.operand(a, row.piece(1, first, count))?;
                let b = rights.operand(b, row.piece(2, first, count))?;
                rows::put_binary(&mut room.items, row.piece(0, first, count), a, b, &f).ok_or(NO_OPERATION)?
            })
        })?;
        Ok(room.finish())
    }

    fn space(&self) -> IndexSpace<'_> {
        let free = self.shape.dims.len();
        IndexSpace { extents: self.shape.extents.clone(), free, pred: self.pred, needs_indices: false }
    }

    fn compare(self, op: BinOp, kind: Scalar) -> Result<Tensor, RunError> {
        match kind {
            Scalar::F64 => self.comparison::<f64>(op),
            Scalar::F32 => self.comparison::<f32>(op),
            Scalar::I64 => self.comparison::<i64>(op),
            Scalar::Bool => self.comparison::<bool>(op),
        }
    }

    fn comparison<A: TensorElement + PartialOrd>(self, op: BinOp) -> Result<Tensor, RunError> {
        use Ordering::{Equal, Greater, Less};
        match op {
            BinOp::Eq => self.binary(|a: A, b: A| a.partial_cmp(&b) == Some(Equal)),
            BinOp::Ne => self.binary(|a: A, b: A| a.partial_cmp(&b) != Some(Equal)),
            BinOp::Lt => self.binary(|a: A, b: A| a.partial_cmp(&b) == Some(Less)),
            BinOp::Gt => self.binary(|a: A, b: A| a.partial_cmp(&b) == Some(Greater)),
            BinOp::Le => self.binary(|a: A, b: A| matches!(a.partial_cmp(&b), Some(Less | Equal))),
            BinOp::Ge => self.binary(|a: A, b: A| matches!(a.partial_cmp(&b), Some(Greater | Equal))),
            _ => Err(NO_OPERATION),
        }
    }

    fn convert(self, from: Scalar, to: Scalar) -> Result<Tensor, RunError> {
        match (to, from) {
            (Scalar::F64, Scalar::F64) => self.unary(|x: f64| x),
            (Scalar::F64, Scalar::F32) => self.unary(|x: f32| f64::from(x)),
            (Scalar::F64, Scalar::I64) => self.unary(convert::i64_to_f64),
            (Scalar::F32, Scalar::F64) => self.unary(convert::f64_to_f32),
            (Scalar::F32, Scalar::F32) => self.unary(|x: f32| x),
            (Scalar::F32, Scalar::I64) => self.unary(convert::i64_to_f32),
            (Scalar::I64, Scalar::F64) => self.unary(convert::f64_to_i64),
            (Scalar::I64, Scalar::F32) => self.unary(convert::f32_to_i64),
            (Scalar::I64, Scalar::I64) => self.unary(|x: i64| x),
            _ => Err(NO_OPERATION),
        }
    }
}

//! **Element-wise operations** along rows. Arithmetic and comparisons are inline; scalar functions
//! are those of the interpreter's table.

use std::cmp::Ordering;

use super::nest::{Nest, Space};
use super::number::Names;
use super::rows::{self, Gathered};
use super::statement::Shape;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_ir::core::Operation;
use lang_ir::ssa::Access;
use lang_runtime::scalar::{convert, f32s, f64s, i64s};
use lang_sizes::predicate::Pred;
use lang_syntax::ops::{BinOp, Scalar};

const NO_OPERATION: Stopped = Stopped::Broken("an operation");

/// An operation at the elements of a statement.
struct Application<'r, 'a> {
    run: &'r Run<'a>,
    shape: Shape,
    pred: &'r Pred,
    args: &'r [Access],
}

impl Run<'_> {
    /// Computes `[p] · f(X₀[a₀], …)`.
    pub(super) fn map(
        &self,
        to: Scalar,
        shape: Shape,
        operation: Operation,
        pred: &Pred,
        args: &[Access],
    ) -> Result<Tensor, Stopped> {
        let kind = |k: usize| args.get(k).and_then(|a| self.tensor(a.var)).and_then(Tensor::kind);
        let (first, second) = (kind(0), kind(1));
        let it = Application { run: self, shape, pred, args };
        match (operation, first, second) {
            (Operation::Stop, Some(kind), None) => match kind {
                Scalar::F64 => it.unary(|x: f64| x),
                Scalar::F32 => it.unary(|x: f32| x),
                Scalar::I64 => it.unary(|x: i64| x),
                Scalar::Bool => it.unary(|x: bool| x),
            },
            (Operation::Not, Some(Scalar::Bool), None) => it.unary(|x: bool| !x),
            (Operation::Convert(to), Some(from), None) => it.convert(from, to),
            (Operation::Pow, Some(Scalar::F64), _) => it.binary(f64s::powr),
            (Operation::Pow, Some(Scalar::F32), _) => it.binary(f32s::powr),
            (Operation::PowInt, Some(Scalar::F64), _) => it.binary(f64s::powi),
            (Operation::PowInt, Some(Scalar::F32), _) => it.binary(f32s::powi),
            (Operation::PowInt, Some(Scalar::I64), _) => it.partial(i64s::powi),
            (Operation::Binary(op), Some(kind), _) if to == Scalar::Bool => it.compare(op, kind),
            (Operation::Binary(op), Some(Scalar::F64), _) => match op {
                BinOp::Div => it.binary(|a: f64, b: f64| a / b),
                _ => it.partial(move |a: f64, b: f64| f64s::arith(op, a, b)),
            },
            (Operation::Binary(op), Some(Scalar::F32), _) => match op {
                BinOp::Div => it.binary(|a: f32, b: f32| a / b),
                _ => it.partial(move |a: f32, b: f32| f32s::arith(op, a, b)),
            },
            (Operation::Binary(op), Some(Scalar::I64), _) => it.partial(move |a: i64, b: i64| i64s::arith(op, a, b)),
            (Operation::Scalar(f), Some(Scalar::F64), _) => match f64s::function(f).ok_or(NO_OPERATION)? {
                f64s::Function::Unary(f) => it.unary(f),
                f64s::Function::Binary(f) => it.binary(f),
            },
            (Operation::Scalar(f), Some(Scalar::F32), _) => match f32s::function(f).ok_or(NO_OPERATION)? {
                f32s::Function::Unary(f) => it.unary(f),
                f32s::Function::Binary(f) => it.binary(f),
            },
            (Operation::Scalar(f), Some(Scalar::I64), _) => match i64s::function(f).ok_or(NO_OPERATION)? {
                i64s::Function::Unary(f) => it.unary(f),
                i64s::Function::Binary(f) => it.binary(f),
            },
            _ => Err(NO_OPERATION),
        }
    }
}

impl Application<'_, '_> {
    fn unary<A: Number, T: Number>(self, f: impl Fn(A) -> T) -> Result<Tensor, Stopped> {
        if let (true, [argument]) = (self.shape.dims.is_empty(), self.args) {
            let run = self.run;
            return run.one(if run.is_so(self.pred)? { f(run.number(argument)?) } else { T::ZERO });
        }
        let f = |x: A| Some(f(x));
        let (names, [argument]) = (Names::new(self.run, &self.shape.extents), self.args) else {
            return Err(NO_OPERATION);
        };
        let (a, place) = names.access(argument)?;
        let a = a.items::<A>().ok_or(NO_OPERATION)?;
        let mut room = Room::filled(self.run, self.shape.dims.clone(), T::ZERO)?;
        let nest = Nest::new(self.run, &self.space(), &[self.shape.place(), place])?;
        let mut gathered = Gathered::new();
        nest.visit(self.run, &mut |row| {
            row.pieces(&mut |first, count| {
                let a = gathered.lane(a, row.piece(1, first, count))?;
                rows::put_unary(&mut room.items, row.piece(0, first, count), a, &f).ok_or(NO_OPERATION)?
            })
        })?;
        Ok(room.done())
    }

    fn binary<A: Number, B: Number, T: Number>(self, f: impl Fn(A, B) -> T) -> Result<Tensor, Stopped> {
        self.partial(|a: A, b: B| Some(f(a, b)))
    }

    /// An operation that does not always have a value.
    fn partial<A: Number, B: Number, T: Number>(self, f: impl Fn(A, B) -> Option<T>) -> Result<Tensor, Stopped> {
        if let (true, [left, right]) = (self.shape.dims.is_empty(), self.args) {
            let run = self.run;
            if !run.is_so(self.pred)? {
                return run.one(T::ZERO);
            }
            return run.one(f(run.number(left)?, run.number(right)?).ok_or(NO_OPERATION)?);
        }
        let (names, [left, right]) = (Names::new(self.run, &self.shape.extents), self.args) else {
            return Err(NO_OPERATION);
        };
        let ((a, left), (b, right)) = (names.access(left)?, names.access(right)?);
        let (a, b) = (a.items::<A>().ok_or(NO_OPERATION)?, b.items::<B>().ok_or(NO_OPERATION)?);
        let mut room = Room::filled(self.run, self.shape.dims.clone(), T::ZERO)?;
        let nest = Nest::new(self.run, &self.space(), &[self.shape.place(), left, right])?;
        let (mut lefts, mut rights) = (Gathered::new(), Gathered::new());
        nest.visit(self.run, &mut |row| {
            row.pieces(&mut |first, count| {
                let a = lefts.lane(a, row.piece(1, first, count))?;
                let b = rights.lane(b, row.piece(2, first, count))?;
                rows::put_binary(&mut room.items, row.piece(0, first, count), a, b, &f).ok_or(NO_OPERATION)?
            })
        })?;
        Ok(room.done())
    }

    fn space(&self) -> Space<'_> {
        let free = self.shape.dims.len();
        Space { extents: self.shape.extents.clone(), free, pred: self.pred, by_index: false }
    }

    fn compare(self, op: BinOp, kind: Scalar) -> Result<Tensor, Stopped> {
        match kind {
            Scalar::F64 => self.comparison::<f64>(op),
            Scalar::F32 => self.comparison::<f32>(op),
            Scalar::I64 => self.comparison::<i64>(op),
            Scalar::Bool => self.comparison::<bool>(op),
        }
    }

    fn comparison<A: Number + PartialOrd>(self, op: BinOp) -> Result<Tensor, Stopped> {
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

    fn convert(self, from: Scalar, to: Scalar) -> Result<Tensor, Stopped> {
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

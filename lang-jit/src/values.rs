//! **Right-hand sides.** Emits arithmetic as instructions; an operation without instructions
//! becomes a call of the interpreter's function ([`crate::runtime_calls`]).

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use lang_core::ir::core::{Constant, ScalarOp};
use lang_core::ir::ssa::{Addend, Rhs, are_mutually_exclusive};
use lang_core::predicate::Pred;
use lang_core::resolve::scalar_fn::ScalarFn;
use lang_core::syntax::ops::{BinOp, Scalar};

use crate::generate::{EmitResult, Generator, clif_type};
use crate::runtime_calls::RuntimeOp;

impl<'g> Generator<'g> {
    pub(crate) fn int(&mut self, k: i64) -> Value {
        self.builder.ins().iconst(types::I64, k)
    }

    pub(crate) fn zero(&mut self, scalar: Scalar) -> Value {
        match scalar {
            Scalar::F64 => self.builder.ins().f64const(0.0),
            Scalar::F32 => self.builder.ins().f32const(0.0),
            Scalar::I64 => self.int(0),
            Scalar::Bool => self.builder.ins().iconst(types::I8, 0),
        }
    }

    pub(crate) fn constant(&mut self, c: Constant, scalar: Scalar) -> EmitResult<Value> {
        Ok(match (c, scalar) {
            (Constant::Real(x), Scalar::F64) => self.builder.ins().f64const(x),
            #[allow(clippy::cast_possible_truncation, reason = "a constant of `f32` is held exactly")]
            (Constant::Real(x), Scalar::F32) => self.builder.ins().f32const(x as f32),
            (Constant::Int(k), Scalar::I64) => self.int(k),
            (Constant::Bool(b), Scalar::Bool) => self.builder.ins().iconst(types::I8, i64::from(b)),
            _ => return Err("a constant of another type".to_owned()),
        })
    }

    pub(crate) fn plus(&mut self, scalar: Scalar, a: Value, b: Value) -> Value {
        match scalar {
            Scalar::F64 | Scalar::F32 => self.builder.ins().fadd(a, b),
            Scalar::I64 => self.builder.ins().iadd(a, b),
            Scalar::Bool => self.builder.ins().bor(a, b),
        }
    }

    pub(crate) fn times(&mut self, scalar: Scalar, a: Value, b: Value) -> Value {
        match scalar {
            Scalar::F64 | Scalar::F32 => self.emit_product(a, b),
            Scalar::I64 => self.builder.ins().imul(a, b),
            Scalar::Bool => self.builder.ins().band(a, b),
        }
    }

    pub(crate) fn negated(&mut self, scalar: Scalar, a: Value) -> Value {
        match scalar {
            Scalar::F64 | Scalar::F32 => self.emit_negation(a),
            Scalar::I64 => self.builder.ins().ineg(a),
            Scalar::Bool => a,
        }
    }

    /// Emits the maximum or minimum. For reals: the first if both are equal or if it is NaN; NaN if
    /// the second is.
    pub(crate) fn extreme(&mut self, greater: bool, scalar: Scalar, a: Value, b: Value) -> EmitResult<Value> {
        let by = match (scalar, greater) {
            (Scalar::F64 | Scalar::F32, true) => FloatCC::GreaterThanOrEqual,
            (Scalar::F64 | Scalar::F32, false) => FloatCC::LessThanOrEqual,
            (Scalar::I64, true) => return Ok(self.builder.ins().smax(a, b)),
            (Scalar::I64, false) => return Ok(self.builder.ins().smin(a, b)),
            (Scalar::Bool, _) => return Err("a maximum or minimum of truth values".to_owned()),
        };
        let (better, is_nan) = (self.builder.ins().fcmp(by, a, b), self.builder.ins().fcmp(FloatCC::Unordered, a, a));
        let first = self.builder.ins().bor(better, is_nan);
        Ok(self.builder.ins().select(first, a, b))
    }

    /// Emits the value if the predicate holds, else zero.
    pub(crate) fn emit_guarded(&mut self, p: &Pred, scalar: Scalar, value: Value) -> EmitResult<Value> {
        if p.is_true() || self.context.implies(p) {
            return Ok(value);
        }
        let holds = self.pred(p)?;
        let zero = self.zero(scalar);
        Ok(self.builder.ins().select(holds, value, zero))
    }

    pub(crate) fn value(&mut self, rhs: &'g Rhs, scalar: Scalar) -> EmitResult<Value> {
        match rhs {
            Rhs::Zero => Ok(self.zero(scalar)),
            Rhs::Constant(c) => self.constant(*c, scalar),
            Rhs::Index(p) => self.poly(p),
            Rhs::Add(items) if is_exclusive_sum(items) => self.emit_exclusive(items, scalar),
            Rhs::Add(items) => {
                let mut sum = None;
                for item in items {
                    let term = self.element(&item.operand)?;
                    let term = if item.neg && (sum.is_none() || scalar == Scalar::Bool) {
                        self.negated(scalar, term)
                    } else {
                        term
                    };
                    let term = self.emit_guarded(&item.pred, scalar, term)?;
                    sum = Some(match sum {
                        None => term,
                        Some(sum) if item.neg => match scalar {
                            Scalar::F64 | Scalar::F32 => self.builder.ins().fsub(sum, term),
                            Scalar::I64 => self.builder.ins().isub(sum, term),
                            Scalar::Bool => self.builder.ins().bor(sum, term),
                        },
                        Some(sum) => self.plus(scalar, sum, term),
                    });
                }
                Ok(sum.unwrap_or_else(|| self.zero(scalar)))
            }
            Rhs::Contract { pred, neg, factors, .. } => {
                let mut product = None;
                for factor in factors {
                    let factor = self.element(factor)?;
                    product = Some(match product {
                        None => factor,
                        Some(product) => self.times(scalar, product, factor),
                    });
                }
                let product = product.ok_or("an empty product")?;
                let product = if *neg { self.negated(scalar, product) } else { product };
                self.emit_guarded(pred, scalar, product)
            }
            Rhs::Reduce(r) => self.element(&r.operand),
            Rhs::Map { operation, pred, args } => {
                let kinds: Vec<Scalar> = args.iter().map(|a| self.scalar(a.var)).collect();
                let exponent = args.get(1).and_then(|a| self.integer_constant(a.var));
                let mut operands = Vec::new();
                for arg in args {
                    operands.push(self.element(arg)?);
                }
                let value = self.operation(*operation, scalar, &kinds, &operands, exponent)?;
                self.emit_guarded(pred, scalar, value)
            }
            _ => Err("a statement that loops cannot compute".to_owned()),
        }
    }

    /// Emits the term whose predicate holds, unchanged. A sum with zeros would lose the sign of a
    /// zero.
    fn emit_exclusive(&mut self, items: &'g [Addend], scalar: Scalar) -> EmitResult<Value> {
        let known = items.iter().position(|item| item.pred.is_true() || self.context.implies(&item.pred));
        let items = known.and_then(|k| items.get(k..=k)).unwrap_or(items);
        let mut chosen = None;
        for item in items.iter().rev() {
            let term = self.element(&item.operand)?;
            let term = if item.neg { self.negated(scalar, term) } else { term };
            chosen = Some(match chosen {
                // The predicates of two complementary terms need one test.
                None if matches!(items, [first, _] if first.pred == item.pred.negated()) => term,
                None => self.emit_guarded(&item.pred, scalar, term)?,
                Some(chosen) => {
                    let holds = self.pred(&item.pred)?;
                    self.builder.ins().select(holds, term, chosen)
                }
            });
        }
        chosen.ok_or_else(|| "an empty choice".to_owned())
    }

    pub(crate) fn operation(
        &mut self,
        operation: ScalarOp,
        to: Scalar,
        kinds: &[Scalar],
        operands: &[Value],
        exponent: Option<i64>,
    ) -> EmitResult<Value> {
        let real = matches!(kinds.first(), Some(Scalar::F64 | Scalar::F32));
        let ins = self.builder.ins();
        Ok(match (operation, operands) {
            (ScalarOp::Stop, [a]) => *a,
            (ScalarOp::Not, [a]) => {
                let one = self.builder.ins().iconst(types::I8, 1);
                self.builder.ins().bxor(*a, one)
            }
            (ScalarOp::Binary(BinOp::Div), [a, b]) if real => ins.fdiv(*a, *b),
            (ScalarOp::Binary(op), [a, b]) if to == Scalar::Bool && float_comparison(op).is_some() => {
                if real {
                    ins.fcmp(float_comparison(op).ok_or("a comparison")?, *a, *b)
                } else {
                    ins.icmp(int_comparison(op, kinds.first() == Some(&Scalar::Bool)).ok_or("a comparison")?, *a, *b)
                }
            }
            (ScalarOp::Convert(to), [a]) => match (kinds.first(), to) {
                (Some(from), to) if *from == to => *a,
                (Some(Scalar::F32), Scalar::F64) => ins.fpromote(types::F64, *a),
                (Some(Scalar::F64), Scalar::F32) => ins.fdemote(types::F32, *a),
                (Some(Scalar::I64), Scalar::F64 | Scalar::F32) => ins.fcvt_from_sint(clif_type(to), *a),
                (Some(Scalar::F64 | Scalar::F32), Scalar::I64) => ins.fcvt_to_sint_sat(types::I64, *a),
                _ => return Err("a conversion".to_owned()),
            },
            (ScalarOp::PowInt, [x, _]) if real && exponent.is_some_and(|k| (1..=64).contains(&k)) => {
                self.power(*x, exponent.unwrap_or(1))
            }
            (ScalarOp::Scalar(f), [a]) if real => match f {
                ScalarFn::Sqrt => ins.sqrt(*a),
                ScalarFn::Abs => ins.fabs(*a),
                ScalarFn::Floor => ins.floor(*a),
                ScalarFn::Ceil => ins.ceil(*a),
                ScalarFn::Trunc => ins.trunc(*a),
                ScalarFn::Round => ins.nearest(*a),
                ScalarFn::Sign => self.sign(to, *a)?,
                ScalarFn::Relu => {
                    let zero = self.zero(to);
                    let stays = self.builder.ins().fcmp(FloatCC::UnorderedOrGreaterThan, *a, zero);
                    self.builder.ins().select(stays, *a, zero)
                }
                _ => self.emit_runtime_op(operation, to, kinds, operands)?,
            },
            (ScalarOp::Scalar(f @ (ScalarFn::Max | ScalarFn::Min)), [a, b]) => {
                self.extreme(f == ScalarFn::Max, to, *a, *b)?
            }
            _ => self.emit_runtime_op(operation, to, kinds, operands)?,
        })
    }

    /// Returns whether the right-hand side calls an operation, because it has no instructions.
    pub(crate) fn is_runtime_call(&self, rhs: &Rhs) -> bool {
        let Rhs::Map { operation, args, .. } = rhs else { return false };
        let real = args.first().is_some_and(|a| matches!(self.scalar(a.var), Scalar::F64 | Scalar::F32));
        let own = match operation {
            ScalarOp::Stop | ScalarOp::Not | ScalarOp::Convert(_) => true,
            ScalarOp::Binary(op) => float_comparison(*op).is_some() || *op == BinOp::Div && real,
            ScalarOp::PowInt => {
                args.get(1).and_then(|a| self.integer_constant(a.var)).is_some_and(|k| (1..=64).contains(&k)) && real
            }
            ScalarOp::Scalar(f) => {
                use ScalarFn::{Abs, Ceil, Floor, Max, Min, Relu, Round, Sign, Sqrt, Trunc};
                matches!(f, Max | Min) || real && matches!(f, Abs | Ceil | Floor | Relu | Round | Sign | Sqrt | Trunc)
            }
            _ => false,
        };
        !own
    }

    /// Emits the sign of a real: 1, -1, 0 or the NaN.
    fn sign(&mut self, scalar: Scalar, x: Value) -> EmitResult<Value> {
        let zero = self.zero(scalar);
        let (one, minus) = (self.constant(Constant::Real(1.0), scalar)?, self.constant(Constant::Real(-1.0), scalar)?);
        let above = self.builder.ins().fcmp(FloatCC::GreaterThan, x, zero);
        let below = self.builder.ins().fcmp(FloatCC::LessThan, x, zero);
        let none = self.builder.ins().fcmp(FloatCC::Unordered, x, x);
        let rest = self.builder.ins().select(none, x, zero);
        let rest = self.builder.ins().select(below, minus, rest);
        Ok(self.builder.ins().select(above, one, rest))
    }

    /// Emits a power by repeated squaring, in the order in which the interpreter multiplies.
    pub(crate) fn power(&mut self, x: Value, k: i64) -> Value {
        let (mut bits, mut square, mut product) = (k, x, None);
        while bits != 0 {
            if bits & 1 == 1 {
                product = Some(match product {
                    None => square,
                    Some(p) => self.emit_product(p, square),
                });
            }
            bits >>= 1;
            if bits != 0 {
                square = self.emit_product(square, square);
            }
        }
        product.unwrap_or(x)
    }

    /// Emits a call of the interpreter's function.
    pub(crate) fn emit_runtime_op(
        &mut self,
        operation: ScalarOp,
        to: Scalar,
        kinds: &[Scalar],
        operands: &[Value],
    ) -> EmitResult<Value> {
        let of = RuntimeOp::of(operation, kinds)
            .ok_or_else(|| format!("the operation {} has no runtime function", operation.name()))?;
        let mut bits = Vec::new();
        for (value, kind) in operands.iter().zip(kinds) {
            bits.push(self.bits_of(*value, *kind));
        }
        let result = self.emit_call(of, &bits)?;
        Ok(match to {
            Scalar::F64 => self.builder.ins().bitcast(types::F64, default_flags(), result),
            Scalar::F32 => {
                let short = self.builder.ins().ireduce(types::I32, result);
                self.builder.ins().bitcast(types::F32, default_flags(), short)
            }
            Scalar::I64 => result,
            Scalar::Bool => return Err("a runtime call that returns a truth value".to_owned()),
        })
    }

    pub(crate) fn bits_of(&mut self, value: Value, kind: Scalar) -> Value {
        match kind {
            Scalar::F64 => self.builder.ins().bitcast(types::I64, default_flags(), value),
            Scalar::F32 => {
                let short = self.builder.ins().bitcast(types::I32, default_flags(), value);
                self.builder.ins().uextend(types::I64, short)
            }
            Scalar::I64 => value,
            Scalar::Bool => self.builder.ins().uextend(types::I64, value),
        }
    }

    pub(crate) fn emit_call(&mut self, of: RuntimeOp, bits: &[Value]) -> EmitResult<Value> {
        let of = Arc::new(of);
        let address = std::ptr::from_ref(&*of).expose_provenance().cast_signed();
        self.operations.push(of);
        let address = self.int(i64::try_from(address).map_err(|why| why.to_string())?);
        let zero = self.int(0);
        let bit = |k: usize| bits.get(k).copied().unwrap_or(zero);
        let call = self.builder.ins().call(self.apply, &[address, bit(0), bit(1)]);
        self.builder.inst_results(call).first().copied().ok_or_else(|| "a result".to_owned())
    }
}

fn default_flags() -> MemFlagsData {
    MemFlagsData::new()
}

pub(crate) fn float_comparison(op: BinOp) -> Option<FloatCC> {
    Some(match op {
        BinOp::Eq => FloatCC::Equal,
        BinOp::Ne => FloatCC::NotEqual,
        BinOp::Lt => FloatCC::LessThan,
        BinOp::Gt => FloatCC::GreaterThan,
        BinOp::Le => FloatCC::LessThanOrEqual,
        BinOp::Ge => FloatCC::GreaterThanOrEqual,
        _ => return None,
    })
}

fn int_comparison(op: BinOp, unsigned: bool) -> Option<IntCC> {
    let by = match op {
        BinOp::Eq => IntCC::Equal,
        BinOp::Ne => IntCC::NotEqual,
        BinOp::Lt => IntCC::SignedLessThan,
        BinOp::Gt => IntCC::SignedGreaterThan,
        BinOp::Le => IntCC::SignedLessThanOrEqual,
        BinOp::Ge => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    };
    Some(if unsigned { by.unsigned() } else { by })
}

/// Returns whether at most one of several terms has a predicate that holds.
pub(crate) fn is_exclusive_sum(items: &[Addend]) -> bool {
    items.len() > 1 && are_mutually_exclusive(&items.iter().map(|item| &item.pred).collect::<Vec<_>>())
}

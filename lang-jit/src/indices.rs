//! **Index arithmetic.** Emits integer polynomials and predicates.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use lang_core::ir::ssa::{StmtId, TensorAccess};
use lang_core::nest::loop_number;
use lang_core::predicate::{Atom, Poly, Pred};

use crate::addressing::LoopCounter;
use crate::generate::{EmitResult, Generator};
use crate::runtime_calls::RuntimeOp;

impl Generator<'_> {
    pub(crate) fn poly(&mut self, p: &Poly) -> EmitResult<Value> {
        let (sum, known) = self.split_constant(p)?;
        if known == 0 {
            return Ok(sum);
        }
        let known = self.int(known);
        Ok(self.builder.ins().iadd(sum, known))
    }

    /// Emits a polynomial without its constant part, and returns both.
    pub(crate) fn split_constant(&mut self, p: &Poly) -> EmitResult<(Value, i64)> {
        let mut sum: Option<Value> = None;
        let mut known = 0_i64;
        for (monomial, c) in p.terms() {
            let c = i64::try_from(*c).map_err(|_| "a coefficient that is too large")?;
            let mut product: Option<Value> = None;
            for (atom, power) in monomial {
                if let (Atom::Local(l, _), [_], 1) = (atom, monomial.as_slice(), *power)
                    && let Some(number) = self.loops.get(l)
                {
                    known = known.wrapping_add(c.wrapping_mul(number.constant));
                    product = Some(number.counter);
                    continue;
                }
                let value = self.atom(atom)?;
                for _ in 0..*power {
                    product = Some(match product {
                        None => value,
                        Some(p) => self.builder.ins().imul(p, value),
                    });
                }
            }
            let term = match (product, c) {
                (None, c) => {
                    known = known.wrapping_add(c);
                    continue;
                }
                (Some(p), 1) => p,
                (Some(p), -1) => match sum {
                    Some(before) => {
                        sum = Some(self.builder.ins().isub(before, p));
                        continue;
                    }
                    None => self.builder.ins().ineg(p),
                },
                (Some(p), c) => {
                    let c = self.int(c);
                    self.builder.ins().imul(p, c)
                }
            };
            sum = Some(match sum {
                None => term,
                Some(before) => self.builder.ins().iadd(before, term),
            });
        }
        Ok((sum.unwrap_or_else(|| self.int(0)), known))
    }

    pub(crate) fn counter_value(&mut self, of: LoopCounter) -> Value {
        if of.constant == 0 {
            return of.counter;
        }
        let ahead = self.int(of.constant);
        self.builder.ins().iadd(of.counter, ahead)
    }

    pub(crate) fn atom(&mut self, a: &Atom) -> EmitResult<Value> {
        match a {
            Atom::Local(l, _) if loop_number(*l).is_some() => {
                let number = self.loops.get(l).copied().ok_or("an index outside its loop")?;
                Ok(self.counter_value(number))
            }
            Atom::Local(..) | Atom::Global(_) => {
                self.integers.get(a).copied().ok_or_else(|| "an integer that is no argument of the kernel".to_owned())
            }
            Atom::Read(x, _, at) => {
                let var = StmtId::from_local(*x).ok_or("a local that is no array")?;
                self.element(&TensorAccess { var, at: at.to_vec() })
            }
            Atom::Min(p, q) | Atom::Max(p, q) => {
                let (p, q) = (self.poly(p)?, self.poly(q)?);
                let ins = self.builder.ins();
                Ok(if matches!(a, Atom::Min(..)) { ins.smin(p, q) } else { ins.smax(p, q) })
            }
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let divisor = q.as_constant().and_then(|k| u64::try_from(k).ok()).filter(|k| k.is_power_of_two());
                let p = self.poly(p)?;
                if let Some(k) = divisor {
                    return Ok(if matches!(a, Atom::Div(..)) {
                        let shift = self.int(i64::from(k.trailing_zeros()));
                        self.builder.ins().sshr(p, shift)
                    } else {
                        let mask = self.int(i64::try_from(k - 1).map_err(|why| why.to_string())?);
                        self.builder.ins().band(p, mask)
                    });
                }
                let q = self.poly(q)?;
                let of = if matches!(a, Atom::Div(..)) { RuntimeOp::quotient() } else { RuntimeOp::remainder() };
                self.emit_call(of, &[p, q])
            }
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => {
                Err("an atom that has no value at run time".to_owned())
            }
        }
    }

    pub(crate) fn pred(&mut self, p: &Pred) -> EmitResult<Value> {
        match p {
            Pred::And(items) | Pred::Or(items) => {
                let all = matches!(p, Pred::And(_));
                let mut holds = None;
                for item in items.iter() {
                    let item = self.pred(item)?;
                    holds = Some(match holds {
                        None => item,
                        Some(before) if all => self.builder.ins().band(before, item),
                        Some(before) => self.builder.ins().bor(before, item),
                    });
                }
                Ok(holds.unwrap_or_else(|| self.builder.ins().iconst(types::I8, i64::from(all))))
            }
            Pred::Ge(q) | Pred::Eq(q) | Pred::Ne(q) => {
                let value = self.poly(q)?;
                let by = match p {
                    Pred::Ge(_) => IntCC::SignedGreaterThanOrEqual,
                    Pred::Eq(_) => IntCC::Equal,
                    _ => IntCC::NotEqual,
                };
                let zero = self.int(0);
                Ok(self.builder.ins().icmp(by, value, zero))
            }
            Pred::Element(x, _, at, holds) => {
                let var = StmtId::from_local(*x).ok_or("a local that is no array")?;
                let value = self.element(&TensorAccess { var, at: at.to_vec() })?;
                if *holds {
                    return Ok(value);
                }
                let one = self.builder.ins().iconst(types::I8, 1);
                Ok(self.builder.ins().bxor(value, one))
            }
            Pred::Member(..) | Pred::Exists(..) => Err("a predicate that loops cannot test".to_owned()),
        }
    }
}

//! **Masks**: truth values of several iterations at once, as lanes of all ones or all zeros. Emits
//! masks of comparisons and predicates, and applies them to reals.

use std::collections::HashSet;

use cranelift_codegen::ir::{InstBuilder, Value};
use lang_core::ir::core::ScalarOp;
use lang_core::ir::ssa::{Rhs, StmtId, TensorAccess};
use lang_core::nest::Assignment;
use lang_core::predicate::{LocalId, Pred};
use lang_core::syntax::ops::Scalar;

use crate::generate::{EmitResult, Generator};
use crate::values::float_comparison;
use crate::vectorise::little_endian;

impl<'g> Generator<'g> {
    /// Returns whether the statement sets the truth value of an iteration, which lanes can hold.
    pub(crate) fn is_mask(&self, set: &Assignment) -> bool {
        let has_maskable_rhs = matches!(set.rhs, Rhs::Map { .. } | Rhs::Contract { .. } | Rhs::Add(_));
        has_maskable_rhs
            && set.accumulate.is_none()
            && self.scalar(set.var) == Scalar::Bool
            && self.registers.contains_key(&set.var)
    }

    pub(crate) fn mask_value(&mut self, index: LocalId, rhs: &'g Rhs) -> EmitResult<Value> {
        let of_reals =
            |this: &Self, args: &[TensorAccess]| args.iter().all(|a| this.scalar(a.var) == this.wide.lanes.scalar());
        match rhs {
            Rhs::Map { operation: ScalarOp::Binary(op), pred, args } if of_reals(self, args) => {
                let by = float_comparison(*op).ok_or("a comparison")?;
                let [a, b] = args.as_slice() else { return Err("a comparison without two operands".to_owned()) };
                let (a, b) = (self.wide_element(index, a)?, self.wide_element(index, b)?);
                let holds = self.builder.ins().fcmp(by, a, b);
                self.mask_guarded(index, pred, holds)
            }
            Rhs::Map { operation: ScalarOp::Not, pred, args } => {
                let of = args.first().ok_or("an operand")?;
                let of = self.mask_element(index, of)?;
                let holds = self.builder.ins().bnot(of);
                self.mask_guarded(index, pred, holds)
            }
            Rhs::Contract { pred, factors, .. } => {
                let mut all = self.uniform_mask(true);
                for factor in factors {
                    let factor = self.mask_element(index, factor)?;
                    all = self.builder.ins().band(all, factor);
                }
                self.mask_guarded(index, pred, all)
            }
            Rhs::Add(items) => {
                let mut some = self.uniform_mask(false);
                for item in items {
                    let term = self.mask_element(index, &item.operand)?;
                    let term = self.mask_guarded(index, &item.pred, term)?;
                    some = self.builder.ins().bor(some, term);
                }
                Ok(some)
            }
            rhs => self.mask_by_lanes(index, &mut |this| this.value(rhs, Scalar::Bool)),
        }
    }

    fn mask_guarded(&mut self, index: LocalId, p: &Pred, holds: Value) -> EmitResult<Value> {
        if p.is_true() || self.context.implies(p) {
            return Ok(holds);
        }
        let condition = self.mask(index, p)?;
        Ok(self.builder.ins().band(holds, condition))
    }

    fn mask_element(&mut self, index: LocalId, of: &TensorAccess) -> EmitResult<Value> {
        match self.wide.registers.get(&of.var) {
            Some(register) => Ok(self.builder.use_var(*register)),
            None => self.mask_by_lanes(index, &mut |this| this.element(of)),
        }
    }

    /// Emits the mask of a predicate.
    pub(crate) fn mask(&mut self, index: LocalId, p: &Pred) -> EmitResult<Value> {
        if !self.depends_on(p, &HashSet::from([index])) {
            let holds = self.pred(p)?;
            let holds = self.mask_lane(holds);
            return Ok(self.builder.ins().splat(self.wide.lanes.mask().1, holds));
        }
        match p {
            Pred::And(items) | Pred::Or(items) => {
                let every = matches!(p, Pred::And(_));
                let mut holds = self.uniform_mask(every);
                for item in items.iter() {
                    let item = self.mask(index, item)?;
                    let ins = self.builder.ins();
                    holds = if every { ins.band(holds, item) } else { ins.bor(holds, item) };
                }
                Ok(holds)
            }
            Pred::Element(x, _, at, holds) => {
                let var = StmtId::from_local(*x).ok_or("a local that is no array")?;
                let is = self.mask_element(index, &TensorAccess { var, at: at.to_vec() })?;
                Ok(if *holds { is } else { self.builder.ins().bnot(is) })
            }
            p => self.mask_by_lanes(index, &mut |this| this.pred(p)),
        }
    }

    /// Emits the reals in the lanes of the mask, and zero in the others.
    pub(crate) fn apply_mask(&mut self, mask: Value, value: Value) -> Value {
        let mask = self.builder.ins().bitcast(self.wide.lanes.vector(), little_endian(), mask);
        self.builder.ins().band(value, mask)
    }

    fn uniform_mask(&mut self, set: bool) -> Value {
        let (one, all) = self.wide.lanes.mask();
        let lane = self.builder.ins().iconst(one, if set { -1 } else { 0 });
        self.builder.ins().splat(all, lane)
    }

    /// Emits all ones or all zeros for a truth value.
    fn mask_lane(&mut self, holds: Value) -> Value {
        let one = self.builder.ins().uextend(self.wide.lanes.mask().0, holds);
        self.builder.ins().ineg(one)
    }

    fn mask_by_lanes(
        &mut self,
        index: LocalId,
        f: &mut dyn FnMut(&mut Self) -> EmitResult<Value>,
    ) -> EmitResult<Value> {
        let all = self.emit_lanes(index, f)?;
        let all: Vec<Value> = all.into_iter().map(|holds| self.mask_lane(holds)).collect();
        self.pack_lanes(self.wide.lanes.mask().1, &all)
    }
}

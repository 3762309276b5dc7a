//! **Arg-reductions**: `argmax` and `argmin`. Terms come in order, and the best term so far is in a
//! variable beside the index.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use lang_core::ir::core::Constant;
use lang_core::ir::reduce::{Reducer, SsaReduction};
use lang_core::ir::ssa::{Rhs, StmtId, TensorAccess};
use lang_core::nest::Assignment;
use lang_core::syntax::ops::Scalar;

use crate::generate::{EmitResult, Generator, clif_type};

impl<'g> Generator<'g> {
    /// Returns the element type of the terms, if the variable is the index of an extreme.
    pub(crate) fn extreme_type(&self, var: StmtId) -> Option<Scalar> {
        match self.ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Reduce(r)) if r.reducer.is_arg_reduction() => Some(self.scalar(r.operand.var)),
            _ => None,
        }
    }

    /// Initialises the best term before the first one. For reals it is NaN, with which every real
    /// compares as unordered.
    pub(crate) fn begin_arg_reduction(&mut self, var: StmtId, of: Scalar) -> EmitResult<()> {
        let none = match of {
            Scalar::I64 => self.int(0),
            _ => self.constant(Constant::Real(f64::NAN), of)?,
        };
        let register = match self.best_terms.get(&var) {
            Some(register) => *register,
            None => self.builder.declare_var(clif_type(of)),
        };
        self.best_terms.insert(var, register);
        self.builder.def_var(register, none);
        Ok(())
    }

    /// Takes the index of a term that is better than the best so far. The first NaN is better than
    /// all numbers.
    pub(crate) fn update_arg_reduction(&mut self, set: &'g Assignment, of: &'g SsaReduction) -> EmitResult<()> {
        let (by, of_integers) = match of.reducer {
            Reducer::Argmax => (FloatCC::UnorderedOrGreaterThan, IntCC::SignedGreaterThan),
            Reducer::Argmin => (FloatCC::UnorderedOrLessThan, IntCC::SignedLessThan),
            _ => return Err("a place".to_owned()),
        };
        let is_real = self.scalar(of.operand.var) != Scalar::I64;
        let register = *self.best_terms.get(&set.var).ok_or("an arg-reduction without a best term")?;
        let (term, best) = (self.element(&of.operand)?, self.builder.use_var(register));
        let zero = self.int(0);
        let may = match is_real {
            true => self.builder.ins().fcmp(by, term, best),
            // The first term is always taken.
            false => {
                let before = self.element(&TensorAccess { var: set.var, at: set.at.clone() })?;
                let none = self.builder.ins().icmp(IntCC::SignedLessThan, before, zero);
                let better = self.builder.ins().icmp(of_integers, term, best);
                self.builder.ins().bor(none, better)
            }
        };
        let (better, after) = (self.builder.create_block(), self.builder.create_block());
        // Few terms pass this test.
        self.builder.ins().brif(may, better, &[], after, &[]);
        self.builder.switch_to_block(better);
        let before = self.element(&TensorAccess { var: set.var, at: set.at.clone() })?;
        let place = self.poly(&of.arg_value)?;
        let (place, best) = match is_real {
            true => {
                let none = self.builder.ins().icmp(IntCC::SignedLessThan, before, zero);
                let number = self.builder.ins().fcmp(FloatCC::Ordered, best, best);
                let takes = self.builder.ins().bor(none, number);
                (self.builder.ins().select(takes, place, before), self.builder.ins().select(takes, term, best))
            }
            false => (place, term),
        };
        self.builder.def_var(register, best);
        self.store_or_join(set, None, place)?;
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }
}

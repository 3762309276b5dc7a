//! **Arg-reductions**: `argmax` and `argmin`. Terms come in order, and the best term so far is in a
//! variable beside the index.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use lang_core::ir::core::Constant;
use lang_core::ir::reduce::{Reduce, Reducer};
use lang_core::ir::ssa::{Access, Rhs, Var};
use lang_core::nest::Set;
use lang_core::syntax::ops::Scalar;

use crate::generate::{Generator, Made, ty};

impl<'g> Generator<'g> {
    /// Returns the element type of the terms, if the variable is the index of an extreme.
    pub(crate) fn chosen_of(&self, var: Var) -> Option<Scalar> {
        match self.ssa.stmts.get(var.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Reduce(r)) if r.reducer.gives_place() => Some(self.scalar(r.of.var)),
            _ => None,
        }
    }

    /// Initialises the best term before the first one. For reals it is NaN, with which every real
    /// compares as unordered.
    pub(crate) fn begin_choice(&mut self, var: Var, of: Scalar) -> Made<()> {
        let none = match of {
            Scalar::I64 => self.int(0),
            _ => self.constant(Constant::Real(f64::NAN), of)?,
        };
        let register = match self.best.get(&var) {
            Some(register) => *register,
            None => self.builder.declare_var(ty(of)),
        };
        self.best.insert(var, register);
        self.builder.def_var(register, none);
        Ok(())
    }

    /// Takes the index of a term that is better than the best so far. The first NaN is better than
    /// all numbers.
    pub(crate) fn choose(&mut self, set: &'g Set, of: &'g Reduce) -> Made<()> {
        let (by, of_integers) = match of.reducer {
            Reducer::Argmax => (FloatCC::UnorderedOrGreaterThan, IntCC::SignedGreaterThan),
            Reducer::Argmin => (FloatCC::UnorderedOrLessThan, IntCC::SignedLessThan),
            _ => return Err("a place".to_owned()),
        };
        let is_real = self.scalar(of.of.var) != Scalar::I64;
        let register = *self.best.get(&set.var).ok_or("a place of no terms")?;
        let (term, best) = (self.element(&of.of)?, self.builder.use_var(register));
        let zero = self.int(0);
        let may = match is_real {
            true => self.builder.ins().fcmp(by, term, best),
            // The first term is always taken.
            false => {
                let before = self.element(&Access { var: set.var, at: set.at.clone() })?;
                let none = self.builder.ins().icmp(IntCC::SignedLessThan, before, zero);
                let better = self.builder.ins().icmp(of_integers, term, best);
                self.builder.ins().bor(none, better)
            }
        };
        let (better, after) = (self.builder.create_block(), self.builder.create_block());
        // Few terms pass this test.
        self.builder.ins().brif(may, better, &[], after, &[]);
        self.builder.switch_to_block(better);
        let before = self.element(&Access { var: set.var, at: set.at.clone() })?;
        let place = self.poly(&of.place)?;
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
        self.replace(set, None, place)?;
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        Ok(())
    }
}

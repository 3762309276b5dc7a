//! Fused multiply-add: products of reals and what they are added to. Where the processor multiplies and adds in one instruction, sums that are added
//! up by vectors take their terms so: rounded once, not twice. What is added in its order is rounded as the interpreter does,
//! so that `x * x - y * y` is 0 where `x` is `y`, and that what a checkpoint computes again is the same bits.

use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_codegen::isa::TargetIsa;

use crate::generate::Generator;

/// Does the processor have such an instruction?
pub(crate) fn has_fused(isa: &dyn TargetIsa) -> bool {
    isa.name() == "aarch64" || isa.isa_flags().iter().any(|flag| flag.name == "has_fma" && flag.as_bool() == Some(true))
}

impl Generator<'_> {
    /// The product of two reals, or of two vectors of them.
    pub(crate) fn product_of(&mut self, a: Value, b: Value) -> Value {
        let product = self.builder.ins().fmul(a, b);
        self.products.insert(product, (a, b));
        product
    }

    /// The opposite of a real; of a product another product.
    pub(crate) fn opposite(&mut self, a: Value) -> Value {
        let opposite = self.builder.ins().fneg(a);
        if let Some((a, b)) = self.products.get(&a).copied() {
            let a = self.builder.ins().fneg(a);
            self.products.insert(opposite, (a, b));
        }
        opposite
    }

    /// What a loop added up so far, and one more term.
    pub(crate) fn accumulated(&mut self, before: Value, term: Value) -> Value {
        match self.products.get(&term).copied() {
            Some((a, b)) if self.fused => self.builder.ins().fma(a, b, before),
            _ => self.builder.ins().fadd(before, term),
        }
    }
}

//! **Fused multiply-add.** If the processor has the instruction, vectorised sums of `f64`
//! accumulate products by it: each term is rounded once, not twice.
//!
//! Sums in program order are not fused, so they are rounded as in the interpreter. Then the
//! difference `x * x - y * y` is 0 if `x` equals `y`, and recomputation from a checkpoint yields
//! the same bits.

use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_codegen::isa::TargetIsa;

use crate::generate::Generator;

/// Returns whether the processor has a fused multiply-add.
pub(crate) fn has_fused(isa: &dyn TargetIsa) -> bool {
    isa.name() == "aarch64" || isa.isa_flags().iter().any(|flag| flag.name == "has_fma" && flag.as_bool() == Some(true))
}

impl Generator<'_> {
    /// Emits the product of two reals, or of two vectors of reals, and records its factors.
    pub(crate) fn emit_product(&mut self, a: Value, b: Value) -> Value {
        let product = self.builder.ins().fmul(a, b);
        self.products.insert(product, (a, b));
        product
    }

    /// Emits the negation of a real or of a vector of reals. The negation of a product is recorded
    /// as a product.
    pub(crate) fn emit_negation(&mut self, a: Value) -> Value {
        let opposite = self.builder.ins().fneg(a);
        if let Some((a, b)) = self.products.get(&a).copied() {
            let a = self.builder.ins().fneg(a);
            self.products.insert(opposite, (a, b));
        }
        opposite
    }

    /// Adds a term to an accumulator, fused if the term is a product.
    pub(crate) fn emit_accumulate(&mut self, before: Value, term: Value) -> Value {
        match self.products.get(&term).copied() {
            Some((a, b)) if self.fused => self.builder.ins().fma(a, b, before),
            _ => self.builder.ins().fadd(before, term),
        }
    }
}

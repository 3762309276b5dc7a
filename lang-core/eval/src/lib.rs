//! **Counting evaluators** of the core calculus and of Tensor SSA. They are slow, and are oracles:
//! tests compare the interpreter, the passes and machine code with them.

#![forbid(unsafe_code)]

pub mod convert;
pub mod eval_core;
pub mod eval_ssa;
mod index_eval;

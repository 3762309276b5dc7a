//! **Reference interpreter.** A tree-walking interpreter over the typed tree. It implements ATL's
//! Figs. 4 and 5 directly, and Fig. 6 if it counts operations. Tests compare every other way to run
//! a program with it.
//!
//! Read [`eval`] beside the paper. [`binders`] has ⊞, Σ and ∃; [`control`] has the constructs
//! beyond the paper. For every program the interpreter returns a value or a
//! [`Failure`](lang_runtime::failure::Failure). It does not panic, overflow the stack, exhaust
//! memory, or continue after an interrupt.

#![forbid(unsafe_code)]

mod array_builder;
mod binders;
mod broadcast;
mod builtins;
mod call;
mod control;
mod derivative_rule;
mod derive;
mod dual;
mod eval;
mod flatten;
mod index;
mod nan_trap;
mod offload;
mod offload_policy;
mod pattern;
mod progress;
mod reverse;
mod runtime_type;
mod special_forms;

#[cfg(test)]
mod tests;

pub use call::Interp;

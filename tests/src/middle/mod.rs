//! **Oracle of the compiler's middle.** Checks every form of a definition, its forward derivative
//! and its adjoint, at points and sizes. They are compared with core under the paper's rules on
//! dual numbers ([`mod@reference`]) and with the interpreter ([`interpreter_oracle`]). The laws are
//! in [`form_laws`].
//!
//! The three oracles share no code with the tested passes: the interpreter, the reference, and the
//! theorems' bounds on work ([`cost`]).

pub mod call_inputs;
pub mod collected_forms;
pub mod cores;
pub mod cost;
pub mod cost_formulas;
mod derivative_operators;
mod derive;
pub mod engine_oracle;
pub mod error_bounds;
pub mod form_laws;
pub mod forms;
pub mod interpreter_oracle;
pub mod large;
mod loop_programs;
mod predicted_cost;
pub mod programs;
mod reduce;
pub mod reference;
pub mod soak;
mod sorting;
mod sorting_programs;
pub mod ssa_mutation;
pub mod synthetic_inputs;
pub mod values;

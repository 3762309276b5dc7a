//! **Oracle of the compiler's middle.** Checks every form of a definition, its forward derivative
//! and its adjoint, at points and sizes. They are compared with core under the paper's rules on
//! dual numbers ([`reference`]) and with the interpreter ([`probe`]). The laws are in [`judge`].
//!
//! The three oracles share no code with the tested passes: the interpreter, the reference, and the
//! theorems' bounds on work ([`cost`]).

pub mod cores;
pub mod cost;
mod derive;
pub mod filled;
pub mod forms;
pub mod formulas;
pub mod given;
pub mod judge;
pub mod large;
pub mod machine;
pub mod number;
mod operators;
mod order;
mod ordered;
pub mod probe;
pub mod programs;
mod reduce;
pub mod reference;
mod repeated;
pub mod soak;
mod told;
pub mod values;

//! **Reference interpreter.** A tree-walking interpreter over the typed tree. It implements ATL's
//! Figs. 4 and 5 directly, and Fig. 6 if it counts operations. Tests compare every other way to run
//! a program with it.
//!
//! Read [`eval`] beside the paper. [`binders`] has ⊞, Σ and ∃; [`control`] has the constructs
//! beyond the paper. For every program the interpreter returns a value or a [`Failure`]. It does
//! not panic, overflow the stack, exhaust memory, or continue after an interrupt.

pub mod array;
mod binders;
mod build;
mod builtins;
mod call;
pub mod code;
pub(crate) mod columns;
mod control;
pub mod count;
mod decimal;
mod derive;
mod dual;
mod eval;
pub mod failure;
pub mod figure;
mod gamma;
pub mod generated;
mod index;
pub mod json;
mod leaves;
mod lift;
pub mod memory;
mod pattern;
mod plan;
pub mod pool;
pub mod print;
pub mod progress;
mod regions;
pub mod relation;
mod reverse;
pub mod rt_type;
mod rule;
pub mod scalar;
mod special;
mod trap;
pub mod value;
mod within;

#[cfg(test)]
mod tests;

pub use array::{Array, Store};
pub use call::Interp;
pub use code::{Code, Frame, Host, Program, Refusal};
pub use count::Counts;
pub use derive::{Derived, Place};
pub use dual::{Dual, Perturbation};
pub use failure::Failure;
pub use figure::Figure;
pub use generated::{Around, Asked, Done, Elsewhere, Taken};
pub use memory::Limits;
pub use progress::{Progress, Work};
pub use relation::Relation;
pub use rt_type::RtType;
pub use value::{Cell, Fun, Items, Record, RtInstance, Tag, Value};
pub use within::{Deep, within};

/// The remaining stack, in bytes, below which a recursion allocates a new segment. One step of any
/// recursion here needs less.
const RED_ZONE: usize = 128 << 10;

/// The size of a new stack segment, in bytes.
const STACK_PIECE: usize = 4 << 20;

/// Runs one step of a recursion on a stack that grows on demand. User programs control the depth:
/// source trees have at most 256 levels, but a flat chain of operators becomes a deep tree, and
/// calls nest.
pub(crate) fn guarded<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, STACK_PIECE, step)
}

//! The reference interpreter: a direct reading of ATL's Figs. 4 and 5 over the typed tree, and
//! of Fig. 6 where it counts. Every other way to run a program is compared with it.
//!
//! Read [`eval`] beside the paper; [`binders`] has ⊞, Σ and ∃, [`control`] what the paper does
//! not have. Whatever a program does, the interpreter returns a value or a [`Failure`]: it
//! does not panic, overflow the stack, exhaust memory or run on when it is told to stop.

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

/// Less stack than this left, and a new piece is taken: more than one step of any recursion here
/// needs.
const RED_ZONE: usize = 128 << 10;

/// The size of such a piece.
const STACK_PIECE: usize = 4 << 20;

/// Runs a step of a recursion that user programs can make deep: trees have no more than 256
/// levels as written, but operator chains are flat there and deep here, and calls nest.
pub(crate) fn guarded<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, STACK_PIECE, step)
}

//! The **intermediate representations** between the typed tree and loop nests: the core calculus
//! (ATL Fig. 3) and Tensor SSA (Fig. 10), with their printers, readers and evaluators.
//!
//! `norm` elaborates the typed tree to core and lowers core to Tensor SSA. `ad` differentiates
//! Tensor SSA, and `schedule` turns it into loop nests.

pub mod applied;
mod builder;
pub mod callee;
mod callee_text;
pub mod canonical;
mod canonical_region;
pub mod convert;
pub mod core;
mod core_type;
pub mod cost;
pub mod eval;
pub mod eval_ssa;
pub mod flat;
mod indices;
mod nest;
pub mod order;
pub mod origin;
pub(crate) mod put;
pub mod read;
pub mod reduce;
pub mod region;
pub mod ssa;
pub mod ssa_text;
pub mod text;
pub mod value;

pub use core::{CoreType, Derivation, Expr, Function, Kind, Operation, Outside, Vars};

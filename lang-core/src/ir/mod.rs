//! The compiler's forms between the typed tree and loops: the core calculus (ATL Fig. 3) and Tensor SSA
//! (Fig. 10), their texts and their evaluators. `norm` leads from one to the next.

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

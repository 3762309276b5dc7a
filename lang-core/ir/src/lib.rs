//! The **intermediate representations** between the typed tree and loop nests: the core calculus
//! (ATL Fig. 3) and Tensor SSA (Fig. 10), with their
//! printers.
//!
//! `norm` elaborates the typed tree to core and lowers core to Tensor SSA. `ad` differentiates
//! Tensor SSA, and `schedule` turns it into loop nests.

#![forbid(unsafe_code)]

pub mod applied;
mod builder;
pub mod callee;
pub mod callee_text;
pub mod canonical;
mod canonical_region;
pub mod core;
mod core_type;
pub mod cost;
pub mod flat;
pub mod nest;
pub mod order;
pub mod origin;
pub mod put;
pub mod reduce;
pub mod region;
pub mod ssa;
pub mod ssa_text;
pub mod text;
pub mod value;

pub use core::{CoreExpr, CoreFunction, CoreType, DerivativeKind, ExprKind, NoCoreForm, ScalarOp, Vars};

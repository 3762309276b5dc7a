//! The **intermediate representations** between the typed tree and loop nests: the core calculus
//! (ATL Fig. 3) and Tensor SSA (Fig. 10), with their printers.
//!
//! `lang_middle::norm` elaborates the typed tree to core and lowers core to Tensor SSA.
//! `lang_middle::ad` differentiates Tensor SSA, and `lang_nest` turns it into loop nests.

#![forbid(unsafe_code)]

pub mod argsort;
mod builder;
pub mod callee;
pub mod callee_text;
pub mod canonical;
mod canonical_region;
pub mod core;
pub mod core_text;
mod core_type;
pub mod counted_cost;
pub mod eval_nest;
pub mod flat;
pub mod inline_map;
pub mod origin;
pub mod reduce;
pub mod region;
pub mod runtime_request;
pub mod ssa;
pub mod ssa_text;
pub mod value;
pub mod verify;

pub use core::{CoreExpr, CoreFunction, CoreType, DerivativeKind, ExprKind, NoCoreForm, ScalarOp, Vars};

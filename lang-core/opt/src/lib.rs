//! **Optimisations of Tensor SSA**, from statements to statements.
//!
//! [`dce`] ends the conversion to Tensor SSA and every derivative, [`inline`] adds calls to a
//! function under construction, and [`loop_pruning`] reduces loops to the needs of their results.
//! After that, [`passes`] applies a table of passes before `lang_nest` builds loop nests. Each pass
//! is a file of its own. [`multiversion`] specialises a function to cases of its sizes.

#![forbid(unsafe_code)]

mod arg_reductions;
mod count_existentials;
pub mod dce;
pub mod factor_sums;
mod forward_views;
mod hoist_gathers;
pub mod index_util;
pub mod inline;
mod inline_batched_calls;
pub mod invariant_axes;
pub mod kernel_statements;
pub mod loop_pruning;
pub mod multiversion;
pub mod passes;
pub mod redundant_guards;
pub mod rewriter;
mod scalarise_axes;
pub mod splice;

pub use inline_batched_calls::InlineCallees;
pub use passes::{Optimised, PASSES, PassSelection, optimise};

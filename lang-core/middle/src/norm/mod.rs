//! **Normalisation**: from the typed tree to Tensor SSA. The stages are elaboration to core (ATL
//! Fig. 3), let-lifting, pair elimination, gen-pushout, and the conversion to Tensor SSA (ATL Figs.
//! 7-12).
//!
//! Each pass is one total function from one form to the next, with the paper's rule numbers beside
//! its cases. `pipeline` runs the passes, and checks each of the paper's forms in debug builds
//! (`is_lifted`, `is_flat`, `is_pushed`). `ad` and `cost` read the resulting Tensor SSA.

pub mod elaborate;
pub mod let_lifting;
pub mod pair_elimination;
pub mod pushout;
pub mod rule_coverage;
pub mod substitute;
pub mod to_ssa;

pub use elaborate::{ElabQueries, elaborate};
pub use lang_ir::core::RuleKind;
pub use rule_coverage::RuleCoverage;

/// The message for a tangent or cotangent whose constructors differ from those of its value.
pub const CONSTRUCTOR_MISMATCH: &str = "the tangent and its value have different constructors";

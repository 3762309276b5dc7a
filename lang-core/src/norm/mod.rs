//! From the typed tree to normal forms: elaboration to core (ATL Fig. 3), and the paper's four
//! normalisations (Figs. 7-12). Each pass is one function from one form to the next, total, with the paper's
//! rule numbers beside its cases, and a checker of the form that it reaches.

pub(crate) mod dead;
pub mod elaborate;
pub mod hits;
pub mod inline;
pub mod lift;
pub(crate) mod loops;
pub mod pairs;
pub mod pushout;
pub mod substitute;
pub mod to_ssa;

pub use crate::ir::core::Rule;
pub use elaborate::{Bodies, elaborate};
pub use hits::Hits;

/// What is wrong where a tangent or cotangent is not made as the value that it belongs to.
pub(crate) const OTHER_CONSTRUCTOR: &str = "a tangent made with another constructor than its value";

//! **Types and sizes.** The type language, unification, the checker, and the typed tree.
//!
//! The checker reads the resolved syntax tree of one item and writes a [`tree::TypedBody`]. The
//! interpreter evaluates that body, and elaboration translates it to core. Types of other items
//! come through [`env::TypeEnv`], so the modules here do not depend on the session.

#![forbid(unsafe_code)]

pub mod check;
pub mod coverage;
pub mod env;
pub mod free;
mod limits;
pub mod lower;
pub mod phrase;
pub mod show;
pub mod tree;
pub mod ty;
pub mod type_info;
pub mod unify;

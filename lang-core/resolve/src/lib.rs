//! **Name resolution.** The language's own vocabulary, the interface to the names of other items,
//! and the pass that resolves every name of an item.
//!
//! It reads the trees of [`lang_syntax`], and the type checker reads its result, [`Resolved`].

#![forbid(unsafe_code)]

pub mod builtin;
pub mod foreign_calls;
pub mod foreign_names;
pub mod forms;
pub mod name_env;
pub mod partials;
pub mod scalar_fn;
mod unknown_name_help;

pub mod resolved;

mod scopes;

pub mod suggest;
pub mod type_items;
pub mod unnamed_extents;
pub mod vocabulary;

mod expressions;
mod pass;
mod sum_reach;

#[cfg(test)]
mod tests;

pub use name_env::{NameEnv, SignatureNames, ValueRef};
pub use pass::resolve;
pub use resolved::{LocalDecl, LocalKind, PatRes, Res, Resolved, TypeRes};

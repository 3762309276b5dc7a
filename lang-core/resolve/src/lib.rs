//! **Name resolution.** The language's own vocabulary, the interface to the names of other items,
//! and the pass that resolves every name of an item.
//!
//! It reads the trees of [`lang_syntax`], and the type checker reads its result, [`Resolved`].

#![forbid(unsafe_code)]

pub mod builtin;
mod elsewhere;
pub mod foreign;
pub mod forms;
pub mod habits;
pub mod names;
pub mod partials;
pub mod scalar_fn;

pub mod resolved;

mod scopes;

pub mod suggest;
pub mod type_items;
pub mod unnamed;
pub mod words;

mod pass;
mod reach;
mod walk;

#[cfg(test)]
mod tests;

pub use names::{Names, SignatureNames, ValueRef};
pub use pass::resolve;
pub use resolved::{Decl, LocalKind, PatRes, Res, Resolved, TypeRes};

//! What names mean: the language's own vocabulary, the names of other items, and the pass that
//! resolves every name of an item.

pub mod builtin;
pub mod forms;
pub mod names;
pub mod resolved;
pub mod scalar_fn;

pub use names::{Names, ValueRef};
pub use resolved::{Decl, LocalKind, PatRes, Res, Resolved, TypeRes};

//! Types and sizes: what a type is, how it is inferred, and the typed tree that comes out.

pub mod check;
pub mod coverage;
pub mod env;
pub mod info;
mod limits;
pub mod lower;
pub(crate) mod phrase;
pub mod show;
pub mod tree;
pub mod ty;
pub mod unify;

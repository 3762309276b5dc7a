//! Types and sizes: what a type is, how it is inferred, and the typed tree that comes out.

pub mod builtin;
pub mod info;
pub mod scalar_fn;
pub mod tree;
pub mod ty;

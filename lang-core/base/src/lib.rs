//! **Foundations** that every pass uses: names, spans, arenas, diagnostics. This module depends on
//! no other module of the crate.

#![forbid(unsafe_code)]

pub mod arena;
pub mod diag;
pub mod large;
pub mod name;
pub mod pause;
pub mod real;
pub mod span;
pub mod stack;

pub use arena::{Arena, Idx};
pub use diag::{Code, Diagnostic, Fix, Label, Piece, Severity};
pub use large::Large;
pub use name::{GlobalName, ModuleName, Name};
pub use pause::pause;
pub use real::Real;
pub use span::Span;
pub use stack::guarded;

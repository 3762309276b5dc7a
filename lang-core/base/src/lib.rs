//! **Foundations** that every pass uses: names, spans, arenas, diagnostics. This crate depends on
//! no other crate of the language.

#![forbid(unsafe_code)]

pub mod arena;
pub mod background_drop;
pub mod cancellation;
pub mod diag;
pub mod hint;
pub mod name;
pub mod plural;
pub mod real;
pub mod span;
pub mod stack;

pub use arena::{Arena, Idx};
pub use background_drop::BackgroundDrop;
pub use cancellation::check_cancelled;
pub use diag::{Code, Diagnostic, Fix, FixPiece, RelatedLabel, Severity};
pub use hint::{Fact, Hint, Suggestion};
pub use name::{GlobalName, ModuleName, Name};
pub use plural::count_with_noun;
pub use real::RealConst;
pub use span::Span;
pub use stack::ensure_sufficient_stack;

//! What an editor shows of Iverson, as plain data: a file per feature. Nothing here knows a protocol, reads files or
//! evaluates a program.
//!
//! A module is known by its name in the [`Session`](lang_core::session::Session), a place in it by bytes of its text. What
//! takes long may be stopped where the session is asked by a snapshot.

pub mod names;

mod fields;
mod find;
mod reach;

pub mod completion;
pub mod signature;
pub mod subject;

pub mod calls;
pub mod definition;
pub mod folding;
pub mod format;
pub mod highlight;
pub mod references;
pub mod rename;
pub mod selection;
pub mod symbols;
pub mod tokens;

pub mod actions;
mod apart;
mod cells;
pub mod costs;
mod derivative;
mod fixes;
pub mod hints;
pub mod hover;
pub mod lenses;
mod links;
mod sizes;
mod slips;
mod told;
mod trial;
pub mod views;
mod written;

pub use lang_core::base::{Code, Diagnostic, GlobalName, Label, ModuleName, Severity, Span};
pub use lang_core::session::{Found, LIBRARY, Session, Snapshot, Stop, module_name, with_ending};
pub use lang_core::syntax::lexer::MAX_TEXT;
pub use lang_core::syntax::split::ItemKind;

/// A place in a module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// The module; one of the library stands in no file.
    pub module: ModuleName,
    /// Where in its text.
    pub span: Span,
}

/// A change of a module's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What is replaced.
    pub at: Location,
    /// By what.
    pub text: String,
}

//! **IDE features.** Computes the data that an editor displays for Iverson programs, one file per
//! feature. The crate knows no protocol, reads no files and evaluates no programs: `lang-lsp` calls
//! it and translates its results.
//!
//! Each feature is a function of a [`Session`], a module's name and a byte offset or [`Span`] in
//! its text. The functions read the session's queries (syntax tree, name resolution, types, costs,
//! derivatives). They keep no data between calls, except caches that the caller owns, such as
//! [`tokens::TokenCache`]. A long computation can be cancelled if the caller runs it through a
//! [`Snapshot`].
//!
//! Most features begin with [`names`], which lists the uses of names in an item. `find` extends
//! them to declarations and occurrences in all modules.

pub mod names;

mod fields;
mod find;
mod reach;

pub mod completion;
pub mod name_docs;
pub mod signature;

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
pub mod costs;
mod derivative_hover;
mod fixes;
mod help_fixes;
pub mod hints;
pub mod hover;
mod hover_text;
pub mod lenses;
mod links;
mod size_fixes;
mod speculative;
mod table;
mod try_edit;
mod type_hover;
pub mod views;

pub use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName, RelatedLabel, Severity, Span};
pub use lang_core::session::{
    CancellationHandle, LIBRARY, ModuleDiagnostics, Session, Snapshot, module_name, with_file_extension,
};
pub use lang_core::syntax::lexer::MAX_TEXT_BYTES;
pub use lang_core::syntax::split::ItemKind;

/// A span in a module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// The module. A library module has no file.
    pub module: ModuleName,
    /// The byte range in the module's text.
    pub span: Span,
}

/// A replacement in a module's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The replaced range.
    pub at: Location,
    /// The new text.
    pub text: String,
}

//! **Syntax.** From text to surface trees: the lexer, the split of a file into items, the parser
//! with error recovery, and the formatter.
//!
//! This is the first stage of the front end. `lang_session` splits each file into items and parses
//! each item separately. Name resolution (`lang_resolve`) reads the trees.

#![forbid(unsafe_code)]

pub mod ast;
pub mod docs;
pub mod format;
pub mod lexer;
pub mod ops;
pub mod parser;
pub mod split;
pub mod tex;
pub mod token;

#[cfg(test)]
mod tests;

//! The texts of core and of Tensor SSA, read again. What is read prints as it was, and has the same values at
//! the same counts; places are not in the texts and so are lost.
//!
//! A text is read relative to a module: names without one are that module's. The functions that a function
//! makes to differentiate them are functions of their own, with texts of their own.

mod core;
mod heads;
mod lexer;
mod lines;
mod loops;
mod parser;
mod ssa;
mod terms;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

use super::core::Function;
use super::ssa::Ssa;
use crate::base::ModuleName;

/// A text longer than this is not read.
pub const MAX_TEXT: usize = 1 << 24;

/// Why a text is not the form that it should be, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ReadError {}

/// A function of a module in core, from its text.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn read_core(module: &str, text: &str) -> Result<Function, ReadError> {
    read(text, |parser| core::function(parser, &module.into()))
}

/// A function of a module in Tensor SSA, from its text.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn read_ssa(module: &str, text: &str) -> Result<Ssa, ReadError> {
    read(text, |parser| ssa::function(parser, &module.into()))
}

/// What is wrong, at an offset.
struct Wrong {
    at: usize,
    message: String,
}

impl Wrong {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

fn read<T>(text: &str, form: impl FnOnce(&mut parser::Parser<'_>) -> Result<T, Wrong>) -> Result<T, ReadError> {
    let all = || {
        if text.len() > MAX_TEXT {
            return Err(Wrong::new(0, "the text is too large"));
        }
        let tokens = lexer::tokens(text)?;
        form(&mut parser::Parser::new(&tokens))
    };
    all().map_err(|Wrong { at, message }| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ReadError { line, column, message }
    })
}

/// The module of a name without one.
fn module_of(name: Option<&crate::base::Name>, own: &ModuleName) -> ModuleName {
    name.cloned().unwrap_or_else(|| own.clone())
}

//! **Readers** of the texts of core and of Tensor SSA. A form that is read prints as the same text,
//! and has the same values and the same counts. Source locations are lost, because the texts do not
//! contain them. Tests use the readers to write forms by hand.
//!
//! A text is read relative to a module: a name without a module belongs to that module. The local
//! functions that a function makes for differentiation have texts of their own.

#![forbid(unsafe_code)]

mod core;
mod heads;
mod lexer;
mod loops;
mod name_scope;
mod parser;
mod ssa;
mod ssa_lines;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

use lang_base::ModuleName;
use lang_ir::core::CoreFunction;
use lang_ir::ssa::SsaFunction;

/// The maximal length of a text, in bytes.
pub const MAX_TEXT: usize = 1 << 24;

/// The reason why a text is not a valid form, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// The description of the error.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ReadError {}

/// Reads a core function of a module.
///
/// # Errors
/// The first error in the text, with its position.
pub fn read_core(module: &str, text: &str) -> Result<CoreFunction, ReadError> {
    read(text, |parser| core::function(parser, &module.into()))
}

/// Reads a function of a module in Tensor SSA.
///
/// # Errors
/// The first error in the text, with its position.
pub fn read_ssa(module: &str, text: &str) -> Result<SsaFunction, ReadError> {
    read(text, |parser| ssa::function(parser, &module.into()))
}

/// An error at an offset.
struct FormSyntaxError {
    at: usize,
    message: String,
}

impl FormSyntaxError {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

fn read<T>(
    text: &str,
    form: impl FnOnce(&mut parser::FormParser<'_>) -> Result<T, FormSyntaxError>,
) -> Result<T, ReadError> {
    let all = || {
        if text.len() > MAX_TEXT {
            return Err(FormSyntaxError::new(0, "the text is too large"));
        }
        let tokens = lexer::tokens(text)?;
        form(&mut parser::FormParser::new(&tokens))
    };
    all().map_err(|FormSyntaxError { at, message }| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ReadError { line, column, message }
    })
}

/// Returns the module of a name, which defaults to the module of the text.
fn module_or_own(name: Option<&lang_base::Name>, own: &ModuleName) -> ModuleName {
    name.cloned().unwrap_or_else(|| own.clone())
}

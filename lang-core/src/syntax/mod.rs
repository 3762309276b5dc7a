//! From text to trees: tokens, definitions split from the token stream, the parser with
//! recovery, and the formatter that writes trees back with their comments.

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

//! What a newcomer may have meant: recognised from the tokens around an error.

use super::builder::Builder;
use super::errors::SyntaxError;
use crate::base::Diagnostic;

/// A diagnostic of its own instead of "expected, found".
pub(super) fn special(_error: &SyntaxError, _builder: &Builder) -> Option<Diagnostic> {
    None
}

/// The help for an error.
pub(super) fn help(_error: &SyntaxError, _builder: &Builder) -> Option<String> {
    None
}

/// Text that stands in no item.
pub(super) fn junk(_tokens: &[crate::syntax::lexer::Spanned]) -> Option<Diagnostic> {
    None
}

//! **Hints and facts**: the machine-readable part of a diagnostic. A hint is advice with the edits
//! that it suggests; a fact is a datum that the message prints.
//!
//! Tools read these values. No tool parses the text of a message, so texts can change freely.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use super::{Name, Span};

/// An edit that a hint suggests at the marked text, which is the span of the diagnostic. An editor
/// tries the edit before it offers it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Suggestion {
    /// Code that replaces the marked text.
    Replace(Cow<'static, str>),
    /// A symbol that is missing. It is inserted before the marked text if an expression begins
    /// there, and replaces the marked text otherwise.
    Expect(&'static str),
    /// The removal of the marked text and of the spaces after it.
    Remove,
    /// Code around an operand, such as a conversion.
    Wrap {
        /// The operand.
        operand: Span,
        /// The code before the operand.
        before: String,
        /// The code after the operand.
        after: String,
    },
}

impl Suggestion {
    /// Moves the suggestion by `by` bytes.
    fn shift(self, by: u32) -> Self {
        match self {
            Self::Wrap { operand, before, after } => Self::Wrap { operand: operand.shift(by), before, after },
            other => other,
        }
    }
}

/// Advice in one sentence, with the edits that it suggests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hint {
    text: Cow<'static, str>,
    suggestions: Cow<'static, [Suggestion]>,
}

impl Hint {
    /// Creates a constant hint without suggestions.
    #[must_use]
    pub const fn text(text: &'static str) -> Self {
        Self::new(text, &[])
    }

    /// Creates a constant hint.
    #[must_use]
    pub const fn new(text: &'static str, suggestions: &'static [Suggestion]) -> Self {
        Self { text: Cow::Borrowed(text), suggestions: Cow::Borrowed(suggestions) }
    }

    /// Creates the question for a name or a phrase that resembles the marked text.
    #[must_use]
    pub fn did_you_mean(meant: impl Into<String>) -> Self {
        let meant = meant.into();
        Self::from(format!("did you mean `{meant}`?")).suggest(Suggestion::Replace(meant.into()))
    }

    /// Creates the advice to write this code in place of the marked text.
    #[must_use]
    pub fn write(code: impl Into<String>) -> Self {
        let code = code.into();
        Self::from(format!("write `{code}`")).suggest(Suggestion::Replace(code.into()))
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: Suggestion) -> Self {
        self.suggestions.to_mut().push(suggestion);
        self
    }

    /// Appends a text.
    #[must_use]
    pub fn append(mut self, text: &str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Removes the suggestions, for a diagnostic whose marked text is not the one that they edit.
    #[must_use]
    pub fn without_suggestions(self) -> Self {
        Self { text: self.text, suggestions: Cow::Borrowed(&[]) }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the suggested edits, the likeliest first.
    #[must_use]
    pub fn suggestions(&self) -> &[Suggestion] {
        &self.suggestions
    }

    /// Moves the suggestions by `by` bytes.
    pub(super) fn shift(mut self, by: u32) -> Self {
        if self.suggestions.iter().any(|suggestion| matches!(suggestion, Suggestion::Wrap { .. })) {
            self.suggestions = self.suggestions.into_owned().into_iter().map(|one| one.shift(by)).collect();
        }
        self
    }
}

/// A hint without suggestions.
impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self::text(text)
    }
}

/// A hint without suggestions.
impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self { text: Cow::Owned(text), suggestions: Cow::Borrowed(&[]) }
    }
}

impl Deref for Hint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The datum that a diagnostic reports, apart from its text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    /// A size differs from the expected one.
    SizeMismatch {
        /// The size as a program writes it.
        found: String,
        /// The expected size.
        expected: String,
    },
    /// An index subscripts two axes of different extents.
    IndexExtents {
        /// The index variable.
        index: Name,
        /// The extent of the marked axis.
        here: String,
        /// The extent of the other axis.
        elsewhere: String,
    },
    /// A size of a signature that no parameter determines.
    UnsolvedSize(Name),
    /// The patterns that a `match` does not cover.
    MissingPatterns(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_of_hints_suggest_the_code_that_they_print() {
        let meant = Hint::did_you_mean("softmax");
        assert_eq!(meant.as_str(), "did you mean `softmax`?");
        assert_eq!(meant.suggestions(), [Suggestion::Replace("softmax".into())]);
        let written = Hint::write("x * 2").append(", because a product needs `*`");
        assert_eq!(written.to_string(), "write `x * 2`, because a product needs `*`");
        assert_eq!(written.suggestions(), [Suggestion::Replace("x * 2".into())]);
        assert_eq!(written.without_suggestions(), Hint::from("write `x * 2`, because a product needs `*`"));
    }

    #[test]
    fn suggestions_keep_their_order() {
        let hint = Hint::text("separate the items").suggest(Suggestion::Expect(",")).suggest(Suggestion::Remove);
        assert_eq!(hint.suggestions(), [Suggestion::Expect(","), Suggestion::Remove]);
    }

    #[test]
    fn only_operands_move_with_their_item() {
        let wrap = |start, end| Suggestion::Wrap {
            operand: Span::new(start, end),
            before: "f64(".to_owned(),
            after: ")".to_owned(),
        };
        let hint = Hint::text("convert it").suggest(wrap(3, 5)).suggest(Suggestion::Remove);
        assert_eq!(hint.shift(10).suggestions(), [wrap(13, 15), Suggestion::Remove]);
    }
}

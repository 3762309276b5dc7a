//! **Diagnostics** as values: a stable code, a message, a labelled span, a hint and fixes. All
//! renderers (ariadne in the terminal, the protocol in an editor) work from this form.

use super::{Fact, Hint, ModuleName, Name, Span};

macro_rules! codes {
    ($($code:ident $title:literal),* $(,)?) => {
        /// Every diagnostic code, in numerical order. Each has a page in the book,
        /// `docs/book/src/errors/`, whose examples run as tests. `W` codes are warnings.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code { $(#[doc = $title] $code),* }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            /// Returns the code as text, such as `E0012`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => stringify!($code)),* }
            }

            /// Returns a short description of the code.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$code => $title),* }
            }
        }
    };
}

codes! {
    // Text and syntax.
    E0001 "unexpected token",
    E0002 "unmatched bracket",
    E0003 "invalid character",
    E0004 "malformed number",
    E0005 "unterminated string",
    E0006 "nested too deeply",
    E0007 "text is not UTF-8",
    E0008 "text too large",
    E0009 "text outside all items",
    E0010 "let without in",
    E0011 "parameter without a type",
    E0012 "duplicate name",
    // Names.
    E0100 "unbound name",
    E0101 "unknown type",
    E0102 "unknown module",
    E0103 "cyclic import",
    E0104 "duplicate definition",
    E0105 "unknown constructor",
    E0106 "unknown field",
    E0107 "name not in module",
    E0108 "size used as a type, or type used as a size",
    E0109 "type alias contains itself",
    W0110 "capitalised name in a pattern matches everything",
    // Types.
    E0200 "type mismatch",
    E0201 "wrong number of arguments",
    E0202 "not a function",
    E0203 "too many indices, or not an array",
    E0204 "shapes do not match",
    E0205 "/ on integers",
    E0206 "integer and real in one operation",
    E0207 "misplaced Iverson bracket",
    E0208 "type has no zero",
    E0209 "operation not defined for this type",
    E0210 "type cannot be inferred",
    E0211 "recursive definition without a result type",
    E0212 "wrong fields",
    E0213 "carry changes its type or size",
    E0214 "invalid use of a derivative operator",
    E0215 "effect inside a function",
    E0216 "infinite type",
    E0217 "misplaced named argument",
    E0218 "data does not fit its plot",
    E0219 "rule is not linear",
    W0220 "comparison with NaN",
    // Sizes.
    E0300 "sizes differ",
    E0301 "size cannot be solved",
    E0302 "size occurs only in the result",
    E0303 "index without an extent",
    E0304 "index with two extents",
    E0305 "ragged array",
    E0306 "index always out of bounds",
    E0307 "negative size",
    E0308 "size too large",
    E0309 "not a size",
    E0310 "unknown extent escapes",
    E0311 "for cannot have a filter",
    W0312 "index out of bounds at an end of its range",
    W0313 "term of a sum without the sum's index",
    W0314 "loop-invariant expression recomputed for every index",
    // Patterns.
    E0400 "non-exhaustive match",
    W0401 "unreachable arm",
    E0402 "refutable pattern",
    E0403 "wrong number of arguments in a pattern",
    E0404 "match too large to check",
    // Failures at run time.
    E0500 "index out of bounds",
    E0501 "sizes differ in this run",
    E0502 "assertion failed",
    E0503 "error raised",
    E0504 "maximum or minimum of an empty range",
    E0505 "integer division by zero",
    E0506 "recursion too deep",
    E0507 "interrupted",
    E0508 "array too large",
    E0509 "negative extent",
    E0510 "not available",
    E0511 "stride not positive",
    E0512 "value not computed yet",
    E0513 "negative power of an integer",
    E0514 "plot cannot be drawn",
    E0515 "NaN produced",
    E0516 "no tangent",
    E0517 "internal error",
    // Command line and files.
    E0600 "argument does not fit",
    E0601 "no main",
    E0602 "file cannot be read",
    E0603 "invalid data file",
    E0604 "data does not fit its type",
    E0605 "value cannot be saved",
    W0606 "data changed on reading or writing",
    // Costs.
    W0700 "gradient without a constant cost bound",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program has no meaning, or it failed.
    Error,
    /// The program runs, but probably not as intended.
    Warning,
}

/// A labelled location, in the item of the diagnostic or in another module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelatedLabel {
    /// The location.
    pub span: Span,
    /// The remark on the location.
    pub message: String,
    /// The module, if it is not that of the diagnostic; `span` is then absolute there.
    pub module: Option<ModuleName>,
}

/// A part of the text that a fix inserts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FixPiece {
    /// Literal text.
    Text(String),
    /// A copy of this range of the item.
    Source(Span),
}

/// An edit of the text that removes the diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The replaced range; empty for an insertion.
    pub span: Span,
    /// The replacement, piece by piece.
    pub pieces: Vec<FixPiece>,
}

impl Fix {
    /// Replaces a range by a text.
    #[must_use]
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, pieces: vec![FixPiece::Text(text.into())] }
    }

    /// Inserts a text.
    #[must_use]
    pub fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(Span::new(at, at), text)
    }

    /// Inserts texts before and after a range.
    #[must_use]
    pub fn wrap(span: Span, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { span, pieces: vec![FixPiece::Text(before.into()), FixPiece::Source(span), FixPiece::Text(after.into())] }
    }

    /// Returns the replacement text for this source, or `None` if a copied range is out of bounds.
    #[must_use]
    pub fn text(&self, source: &str) -> Option<String> {
        let piece = |piece: &FixPiece| match piece {
            FixPiece::Text(text) => Some(text.clone()),
            FixPiece::Source(span) => Some(source.get(span.range())?.to_owned()),
        };
        self.pieces.iter().map(piece).collect()
    }

    fn shift(mut self, by: u32) -> Self {
        self.span = self.span.shift(by);
        for piece in &mut self.pieces {
            if let FixPiece::Source(span) = piece {
                *span = span.shift(by);
            }
        }
        self
    }
}

/// A diagnostic: one root cause, reported once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// The location. It is relative to the item until the session makes it absolute.
    pub span: Span,
    /// The remark on that location; empty if the message is enough.
    pub label: String,
    /// Other locations that explain the problem.
    pub related: Vec<RelatedLabel>,
    /// The hint, with the edits that it suggests.
    pub help: Option<Hint>,
    /// Edits that fix the problem, the likeliest first.
    pub fixes: Vec<Fix>,
    /// The datum that the diagnostic reports.
    pub fact: Option<Fact>,
    /// The names in the sizes that the message and the label print, in their order.
    pub size_names: Vec<Name>,
}

impl Diagnostic {
    /// Creates a diagnostic without label, related locations or help. The severity follows from the
    /// code.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        let severity = if code.name().starts_with('W') { Severity::Warning } else { Severity::Error };
        Self {
            code,
            severity,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
            fixes: Vec::new(),
            fact: None,
            size_names: Vec::new(),
        }
    }

    /// Adds a remark on the location.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn help(mut self, hint: impl Into<Hint>) -> Self {
        self.help = Some(hint.into());
        self
    }

    /// Sets the datum that the diagnostic reports.
    #[must_use]
    pub fn fact(mut self, fact: Fact) -> Self {
        self.fact = Some(fact);
        self
    }

    /// Adds the names in the sizes that the message or the label prints.
    #[must_use]
    pub fn size_names(mut self, names: impl IntoIterator<Item = Name>) -> Self {
        for name in names {
            if !self.size_names.contains(&name) {
                self.size_names.push(name);
            }
        }
        self
    }

    /// Adds an edit that fixes the problem.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    /// Adds another location in the same item.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push(RelatedLabel { span, message: text.into(), module: None });
        self
    }

    /// Moves the diagnostic by `by` bytes, from item-relative to absolute positions.
    #[must_use]
    pub fn shift(mut self, by: u32) -> Self {
        self.span = self.span.shift(by);
        for label in &mut self.related {
            if label.module.is_none() {
                label.span = label.span.shift(by);
            }
        }
        self.help = self.help.map(|hint| hint.shift(by));
        self.fixes = self.fixes.into_iter().map(|fix| fix.shift(by)).collect();
        self
    }

    /// Whether it is an error and not a warning.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

//! **Problems**: diagnostics of the checker, failures of a run and mistakes on the command line,
//! with their places in [`Sources`](crate::source::Sources). `report` renders them.

use lang_core::base::{Code, Diagnostic, Name, Severity, Span};

use crate::source::SourceId;

/// An error or a warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// The stable code.
    pub(crate) code: Code,
    /// The severity: error or warning.
    pub(crate) severity: Severity,
    /// The message, one sentence without a full stop.
    pub(crate) message: String,
    /// The places: first the main one, then related ones. Empty if the problem has no place.
    pub(crate) places: Vec<LabelledSpan>,
    /// The file, if no place in it is known.
    pub(crate) file: Option<String>,
    /// Advice to the user.
    pub(crate) help: Option<String>,
    /// The callers of the failed code, innermost first.
    pub(crate) trace: Vec<Caller>,
    /// The number of further callers that are not listed.
    pub(crate) more_callers: usize,
    /// The names in the sizes that the message and the labels print, in their order.
    pub(crate) size_names: Vec<Name>,
}

/// A place with a label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LabelledSpan {
    /// The text that contains it.
    pub(crate) source: SourceId,
    /// The bytes of the place.
    pub(crate) span: Span,
    /// The label; may be empty.
    pub(crate) label: String,
}

/// An active call at the time of a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    /// The calling definition.
    pub(crate) name: String,
    /// The text of the call, if known.
    pub(crate) source: Option<SourceId>,
    /// The span of the call.
    pub(crate) span: Span,
}

impl Problem {
    /// Creates an error or warning without a place; the code decides which.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let severity = if code.name().starts_with('W') { Severity::Warning } else { Severity::Error };
        Self {
            code,
            severity,
            message: message.into(),
            places: Vec::new(),
            file: None,
            help: None,
            trace: Vec::new(),
            more_callers: 0,
            size_names: Vec::new(),
        }
    }

    /// Adds a place; the first one is the main one.
    pub(crate) fn with_place(mut self, source: SourceId, span: Span, label: impl Into<String>) -> Self {
        self.places.push(LabelledSpan { source, span, label: label.into() });
        self
    }

    /// Sets the file that the problem is about as a whole.
    pub(crate) fn with_file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// Sets the advice.
    pub(crate) fn with_help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Returns whether it is an error rather than a warning.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Converts a diagnostic whose places are all in one text.
pub(crate) fn from_diagnostic(d: &Diagnostic, source: SourceId) -> Problem {
    let related = d.related.iter().filter(|l| l.module.is_none());
    let related = related.map(|l| LabelledSpan { source, span: l.span, label: l.message.clone() });
    let main = LabelledSpan { source, span: d.span, label: d.label.clone() };
    Problem {
        code: d.code,
        severity: d.severity,
        message: d.message.clone(),
        places: std::iter::once(main).chain(related).collect(),
        file: None,
        help: d.help.as_ref().map(ToString::to_string),
        trace: Vec::new(),
        more_callers: 0,
        size_names: d.size_names.clone(),
    }
}

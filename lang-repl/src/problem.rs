//! What went wrong, ready to be shown: a diagnostic of the checker, a failure of a run or a
//! mistake on the command line, with its places in [`Sources`]. Rendered by `report`.

use lang_core::base::{Code, Diagnostic, Severity, Span};

use crate::source::SourceId;

/// One thing that went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// Its stable code.
    pub(crate) code: Code,
    /// Error or warning.
    pub(crate) severity: Severity,
    /// What is wrong, one sentence without a full stop.
    pub(crate) message: String,
    /// Where; first the place itself, then others that explain it. Empty if it has no place.
    pub(crate) places: Vec<Place>,
    /// The file, where that is all there is of a place.
    pub(crate) file: Option<String>,
    /// What to do.
    pub(crate) help: Option<String>,
    /// Who called the code that failed, innermost first.
    pub(crate) trace: Vec<Caller>,
    /// So many more callers are not listed.
    pub(crate) more_callers: usize,
}

/// A place with a remark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The text it is in.
    pub(crate) source: SourceId,
    /// The bytes there.
    pub(crate) span: Span,
    /// What is to be seen; may be empty.
    pub(crate) label: String,
}

/// A call under way when a failure happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    /// The calling definition.
    pub(crate) name: String,
    /// The text it is in, if known.
    pub(crate) source: Option<SourceId>,
    /// The call.
    pub(crate) span: Span,
}

impl Problem {
    /// An error without a place.
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
        }
    }

    /// With a place; the first one is the main one.
    pub(crate) fn at(mut self, source: SourceId, span: Span, label: impl Into<String>) -> Self {
        self.places.push(Place { source, span, label: label.into() });
        self
    }

    /// About a file as a whole.
    pub(crate) fn file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// With advice.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Is it an error, not a warning?
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A diagnostic all of whose places are in one text.
pub(crate) fn of_diagnostic(d: &Diagnostic, source: SourceId) -> Problem {
    let related = d.related.iter().filter(|l| l.module.is_none());
    let related = related.map(|l| Place { source, span: l.span, label: l.message.clone() });
    let main = Place { source, span: d.span, label: d.label.clone() };
    Problem {
        code: d.code,
        severity: d.severity,
        message: d.message.clone(),
        places: std::iter::once(main).chain(related).collect(),
        file: None,
        help: d.help.clone(),
        trace: Vec::new(),
        more_callers: 0,
    }
}

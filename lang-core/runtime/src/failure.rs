//! **Run-time failures.** The error type of the interpreter: a diagnostic with the call trace that
//! led to it. The host renders it like a compile-time diagnostic.

use super::code::RunnableBody as ItemCode;
use super::memory::AllocationError;
use lang_base::{Code, Diagnostic, GlobalName, Span};

/// The largest number of callers in a trace; the rest are only counted.
const MAX_TRACE: usize = 20;

/// A run-time failure: a diagnostic, relative to its item, with a call trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its stable code.
    pub code: Code,
    /// The problem, one sentence without a full stop.
    pub message: String,
    /// Its place, relative to `item`.
    pub span: Span,
    /// The item that contains the place.
    pub item: GlobalName,
    /// The label at that place; may be empty.
    pub label: String,
    /// The advice, if any.
    pub help: Option<String>,
    /// The callers, innermost first: the item and the span of the call in it.
    pub trace: Vec<(GlobalName, Span)>,
    /// The number of callers beyond `trace`.
    pub omitted_callers: usize,
}

impl Failure {
    /// Creates a failure in an item, with an empty call trace.
    pub fn new(code: Code, item: &GlobalName, span: Span, message: impl Into<String>) -> Self {
        let (item, message) = (item.clone(), message.into());
        let help = (code == Code::E0513).then(|| "write the base as a real number: `2.0^k`, `f64(n)^k`".to_owned());
        Self { code, message, span, item, label: String::new(), help, trace: Vec::new(), omitted_callers: 0 }
    }

    /// Appends a caller to the trace, or counts it if the trace is full.
    pub fn push_caller(&mut self, at: FailureSite<'_>) {
        if self.trace.len() < MAX_TRACE {
            self.trace.push((at.code.item.clone(), at.span));
        } else {
            self.omitted_callers += 1;
        }
    }

    /// Returns the failure as a diagnostic of its item.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let d = Diagnostic::new(self.code, self.span, self.message.clone()).label(self.label.clone());
        match &self.help {
            Some(help) => d.help(help.clone()),
            None => d,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} (in {})", self.code, self.message, self.item)
    }
}

impl std::error::Error for Failure {}

/// The result of an evaluation. Failures are boxed because they are rare and large.
pub type InterpResult<T = super::Value> = Result<T, Box<Failure>>;

/// A place in an item, to which a failure is attributed.
#[derive(Clone, Copy)]
pub struct FailureSite<'c> {
    /// The code of the item.
    pub code: &'c ItemCode,
    /// The source range, relative to the item.
    pub span: Span,
}

impl FailureSite<'_> {
    /// Creates a failure at this place.
    pub fn fail(self, code: Code, message: impl Into<String>) -> Box<Failure> {
        Box::new(Failure::new(code, &self.code.item, self.span, message))
    }

    /// Creates the failure for values that exceed a limit of memory.
    #[cold]
    pub fn allocation_failure(self, why: &AllocationError) -> Box<Failure> {
        match why {
            AllocationError::Elements(n) => self.fail(Code::E0508, format!("an array of {n} elements is too large")),
            AllocationError::Bytes(limit) => {
                self.fail(Code::E0508, format!("the values of this run exceed the memory limit of {} MiB", limit >> 20))
            }
            AllocationError::Planned(bytes, limit) => {
                let (needed, limit) = (bytes.div_ceil(1 << 20), limit >> 20);
                let message =
                    format!("this computation needs {needed} MiB at once, but the memory limit is {limit} MiB");
                self.fail(Code::E0508, message)
            }
        }
    }

    /// Returns the failure for a tree that the checker would not produce. No program reaches it. It
    /// is a failure rather than a panic so that a defect in the checker cannot crash an editor.
    pub fn internal_error(self, what: &str) -> Box<Failure> {
        let mut failure = self.fail(Code::E0517, format!("internal error: {what}"));
        failure.help = Some("this is a bug in Iverson; please report it".to_owned());
        failure
    }
}

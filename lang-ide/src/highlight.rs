//! **Document highlights.** Returns the occurrences of a name in its module, and marks those that
//! assign its value. The server's `textDocument/documentHighlight` calls it.

use lang_core::base::Span;
use lang_core::session::Session;

use crate::find::occurrences;
use crate::names::{NameRole, name_at};

/// A highlighted occurrence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Highlight {
    /// The span.
    pub span: Span,
    /// Whether the name receives its value there.
    pub write: bool,
}

/// Returns the occurrences of the name at an offset, in order.
#[must_use]
pub fn highlights(session: &Session, module: &str, at: u32) -> Vec<Highlight> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    let all = occurrences(session, &item, &found, Some(&item.module)).into_iter();
    let write = |role| matches!(role, NameRole::Declaration | NameRole::Write | NameRole::Shorthand);
    let mut all: Vec<Highlight> = all.map(|(_, u)| Highlight { span: u.span, write: write(u.role) }).collect();
    all.sort();
    all.dedup_by_key(|h| h.span);
    all
}

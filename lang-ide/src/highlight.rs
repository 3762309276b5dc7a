//! The places of a name in its module, and which of them give it its value.

use lang_core::base::Span;
use lang_core::session::Session;

use crate::find::occurrences;
use crate::names::{Role, name_at};

/// A place to be marked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Highlight {
    /// Where.
    pub span: Span,
    /// Does the name get its value there?
    pub write: bool,
}

/// The places of the name at a place, in order.
#[must_use]
pub fn highlights(session: &Session, module: &str, at: u32) -> Vec<Highlight> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    let all = occurrences(session, &item, &found, Some(&item.module)).into_iter();
    let write = |role| matches!(role, Role::Declaration | Role::Write | Role::Shorthand);
    let mut all: Vec<Highlight> = all.map(|(_, u)| Highlight { span: u.span, write: write(u.role) }).collect();
    all.sort();
    all.dedup_by_key(|h| h.span);
    all
}

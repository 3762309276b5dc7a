//! **Completion.** Offers names in scope, members after a dot, types, arguments, keywords and
//! snippets. Also offers library modules with the import that they need, and symbols by their TeX
//! names.
//!
//! Works in texts with errors. It type-checks the current item only; of other items it reads names,
//! signatures and type declarations. The documentation of a candidate is resolved later, through
//! its [`DocumentedName`].

mod completed_item;
mod context;
mod gather;
mod locals;
mod snippets;

use lang_core::base::Span;
use lang_core::resolve::LocalKind;
use lang_core::resolve::forms::DerivativeOp;
use lang_core::session::Session;
use lang_core::syntax::lexer::Token;
use lang_core::syntax::token::Sym;

use context::CandidateCategory;
pub(crate) use context::{CompletionContext, completion_context};
use gather::CandidateCollector;

use crate::name_docs::DocumentedName;
use crate::{Edit, Location, find};

/// The maximal number of candidates.
const MAX_CANDIDATES: usize = 1000;

/// The maximal number of candidates from one module. The best matches are kept.
const MAX_FROM_MODULE: usize = 400;

/// The kind of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    /// A local variable of the item.
    Local(LocalKind),
    /// A definition or a function of the language.
    Function,
    /// A variable of a top-level `let` or a constant.
    Value,
    /// A type.
    Type,
    /// A type parameter.
    TypeParameter,
    /// A constructor.
    Constructor,
    /// A module.
    Module,
    /// A field or a position of a tuple.
    Field,
    /// The name of an argument.
    Argument,
    /// A word of the language.
    Keyword,
    /// A form to fill in.
    Form,
    /// A Unicode symbol.
    Symbol,
    /// The text of a string.
    Text,
}

/// A completion candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The displayed text, which is matched against the prefix.
    pub label: String,
    /// The kind.
    pub kind: CompletionKind,
    /// A detail beside the label: a type or a module.
    pub detail: String,
    /// The inserted text, a snippet if `is_snippet`.
    pub insert: String,
    /// Whether `${1:x}` and `$0` in the inserted text are placeholders.
    pub is_snippet: bool,
    /// The sort key. Candidates of equal rank are ordered by label.
    pub rank: u32,
    /// Further edits, such as a new import.
    pub edits: Vec<Edit>,
    /// The key to the candidate's documentation.
    pub subject: Option<DocumentedName>,
}

/// The candidates of a place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Completions {
    /// The prefix, which the candidate replaces.
    pub replaced_span: Span,
    /// The whole word at the cursor, for clients that replace all of it.
    pub word: Span,
    /// The candidates, best first.
    pub items: Vec<Completion>,
    /// Whether candidates are missing that a longer prefix may match.
    pub incomplete: bool,
}

/// Returns the completion candidates at an offset.
#[must_use]
pub fn complete(session: &Session, module: &str, at: u32) -> Completions {
    let (Some(place), Some(text)) = (completion_context(session, module, at), session.text(module)) else {
        return Completions::default();
    };
    let prefix = text.get(place.prefix.range()).unwrap_or_default();
    let mut found = CandidateCollector::new(session, module, prefix, &place);
    let mut replace = place.prefix;
    if place.category == CandidateCategory::Symbol {
        replace.start = replace.start.saturating_sub(1);
    }
    found.gather();
    let mut items = std::mem::take(&mut found.items);
    items.sort_by(|a, b| (a.rank, &a.label, &a.insert).cmp(&(b.rank, &b.label, &b.insert)));
    items.dedup_by(|b, a| a.label == b.label && a.insert == b.insert && a.rank == b.rank);
    let incomplete = found.incomplete
        || items.len() > MAX_CANDIDATES
        || prefix.chars().count() < 2 && place.category == CandidateCategory::Value;
    items.truncate(MAX_CANDIDATES);
    Completions { replaced_span: replace, word: place.word.to(replace), items, incomplete }
}

/// Returns whether the cursor is after the bracket of a derivative operator, before the function.
/// There a list is offered before the first letter; after any other bracket it would disturb.
#[must_use]
pub fn is_derivative_operand(session: &Session, module: &str, at: u32) -> bool {
    let of = |place: CompletionContext| match (place.token_before(0), place.token_before(1)) {
        (Some(Token::Sym(Sym::LParen)), Some(Token::Name(name))) => DerivativeOp::by_name(name).is_some(),
        _ => false,
    };
    completion_context(session, module, at).is_some_and(of)
}

/// Returns the edit that imports a library module, on a line after the last import or before the
/// first item.
#[must_use]
pub fn import_edit(session: &Session, module: &str, import: &str) -> Option<Edit> {
    let text = session.text(module)?;
    let mut at = 0;
    let mut after = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("import ") {
            after = Some((at, at + line.len()));
        } else if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            break;
        }
        at += line.len();
    }
    let span = |at: usize| {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(at, at)
    };
    let (span, new) = match after {
        Some((_, end)) if text.get(..end).is_some_and(|t| t.ends_with('\n')) => {
            (span(end), format!("import {import}\n"))
        }
        Some((_, end)) => (span(end), format!("\nimport {import}\n")),
        None => {
            let first = find::first_item(session, module).map_or(text.len(), |item| item.start as usize);
            (span(first), format!("import {import}\n\n"))
        }
    };
    Some(Edit { at: Location { module: module.into(), span }, text: new })
}

//! What may be written at a place: names in scope, members after a dot, types, arguments, words and forms, modules of
//! the library with the import they need, symbols by their names in TeX.
//!
//! It answers in texts with mistakes, touches the item at hand alone, and of others only their names. What is said of
//! a candidate is asked for later, by its [`Subject`].

mod context;
mod forms;
mod gather;
mod locals;
mod read;

use lang_core::base::Span;
use lang_core::resolve::LocalKind;
use lang_core::resolve::forms::Derivative;
use lang_core::session::Session;
use lang_core::syntax::lexer::Token;
use lang_core::syntax::token::Sym;

use context::Wanted;
pub(crate) use context::{Place, place};
use gather::Found;

use crate::subject::Subject;
use crate::{Edit, Location, find};

/// More candidates than this are not told.
const MOST: usize = 1000;

/// And more of one module neither: those that fit best are.
const MOST_OF_MODULE: usize = 400;

/// What a candidate is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    /// Something bound in the item.
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
    /// A letter or mark.
    Symbol,
    /// A text.
    Text,
}

/// A candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What is shown, and what is compared with what has been written.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// What is shown beside it: a type, a module.
    pub detail: String,
    /// What is written; a template if `template`.
    pub insert: String,
    /// `${1:x}` and `$0` in it are places to fill in.
    pub template: bool,
    /// Candidates are in this order, and in that of their labels.
    pub rank: u32,
    /// What else is changed: an import is added.
    pub edits: Vec<Edit>,
    /// What tells more of it.
    pub subject: Option<Subject>,
}

/// The candidates of a place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Completions {
    /// What has been written, which is replaced.
    pub replace: Span,
    /// The whole word at the place, for those who replace all of it.
    pub word: Span,
    /// The best first.
    pub items: Vec<Completion>,
    /// There were more, which another letter may bring.
    pub incomplete: bool,
}

/// What may be written at a place.
#[must_use]
pub fn complete(session: &Session, module: &str, at: u32) -> Completions {
    let (Some(place), Some(text)) = (place(session, module, at), session.text(module)) else {
        return Completions::default();
    };
    let prefix = text.get(place.prefix.range()).unwrap_or_default();
    let mut found = Found::new(session, module, prefix, &place);
    let mut replace = place.prefix;
    if place.wanted == Wanted::Symbol {
        replace.start = replace.start.saturating_sub(1);
    }
    found.gather();
    let mut items = std::mem::take(&mut found.items);
    items.sort_by(|a, b| (a.rank, &a.label, &a.insert).cmp(&(b.rank, &b.label, &b.insert)));
    items.dedup_by(|b, a| a.label == b.label && a.insert == b.insert && a.rank == b.rank);
    let incomplete =
        found.incomplete || items.len() > MOST || prefix.chars().count() < 2 && place.wanted == Wanted::Value;
    items.truncate(MOST);
    Completions { replace, word: place.word.to(replace), items, incomplete }
}

/// Stands the cursor where the function is written that an operator differentiates? There is a list to choose from before a
/// letter is written, which after any other bracket would be in the way.
#[must_use]
pub fn is_differentiated(session: &Session, module: &str, at: u32) -> bool {
    let of = |place: Place| match (place.back(0), place.back(1)) {
        (Some(Token::Sym(Sym::LParen)), Some(Token::Name(name))) => Derivative::by_name(name).is_some(),
        _ => false,
    };
    place(session, module, at).is_some_and(of)
}

/// What imports a module of the library: a line after the last import, or before the first item.
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

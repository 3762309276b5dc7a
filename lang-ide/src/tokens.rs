//! What every token of a text is, by its meaning: what a grammar of the editor cannot know.
//!
//! For a range only the items in it are looked at, and nothing is checked.

use lang_core::base::Span;
use lang_core::resolve::LocalKind;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::lexer::{Token as Lexed, lex};
use lang_core::syntax::split::ItemKind;

use crate::find::is_library;
use crate::names::{Role, Use, What, Word, untyped_uses};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TokenKind {
    /// A module.
    Module,
    /// A type, scalar types too.
    Type,
    /// A parameter of a definition or type that is a type.
    TypeParameter,
    /// A constructor.
    Constructor,
    /// A definition or a function of the language.
    Function,
    /// A derivative operator: `grad`.
    Derivative,
    /// A variable of a top-level `let`, or a constant of the language.
    Value,
    /// A parameter of a definition, a rule or a lambda.
    Parameter,
    /// What a `let`, a pattern or a fold binds.
    Variable,
    /// An index variable.
    Index,
    /// A size of a signature, or the extent of an array.
    Size,
    /// A field of a record.
    Field,
    /// The name of an argument: `wrt:`.
    Argument,
    /// A word that makes a form: `let`, `sum`.
    Keyword,
    /// A number.
    Number,
    /// A text between quotes.
    String,
    /// A comment; documentation has its flag.
    Comment,
}

impl TokenKind {
    /// All of them, in order.
    pub const ALL: [Self; 17] = [
        Self::Module,
        Self::Type,
        Self::TypeParameter,
        Self::Constructor,
        Self::Function,
        Self::Derivative,
        Self::Value,
        Self::Parameter,
        Self::Variable,
        Self::Index,
        Self::Size,
        Self::Field,
        Self::Argument,
        Self::Keyword,
        Self::Number,
        Self::String,
        Self::Comment,
    ];
}

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemanticToken {
    /// Where. It is on one line.
    pub span: Span,
    /// What it is.
    pub kind: TokenKind,
    /// Is it declared here?
    pub declaration: bool,
    /// Is it of the library or the language?
    pub library: bool,
    /// Is it documentation?
    pub documentation: bool,
}

/// The tokens of a module, in order.
#[must_use]
pub fn tokens(session: &Session, module: &str) -> Vec<SemanticToken> {
    let Some(text) = session.text(module) else { return Vec::new() };
    of_items(session, &text, &session.items(module), Span::new(0, u32::try_from(text.len()).unwrap_or(u32::MAX)))
}

/// The tokens of the items that a range of a module meets, and of the comments there, in order.
#[must_use]
pub fn tokens_in(session: &Session, module: &str, range: Span) -> Vec<SemanticToken> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut found = of_items(session, &text, &session.items_in(module, range).collect::<Vec<_>>(), range);
    found.retain(|t| t.span.start < range.end && range.start < t.span.end);
    found
}

fn of_items(session: &Session, text: &str, items: &[ItemRef], range: Span) -> Vec<SemanticToken> {
    let mut found = Vec::new();
    let mut end = range.start;
    for item in items {
        comments(text, Span::new(end, item.start), &mut found);
        of_item(session, item, &mut found);
        end = item.span().end;
    }
    comments(text, Span::new(end, range.end), &mut found);
    found
}

/// The comments between items, where nothing else stands.
fn comments(text: &str, gap: Span, found: &mut Vec<SemanticToken>) {
    if gap.end <= gap.start {
        return;
    }
    let (from, to) = (text.floor_char_boundary(gap.range().start), text.floor_char_boundary(gap.range().end));
    // A range may begin and end within a comment.
    let to = text.get(to..).and_then(|t| t.find('\n')).map_or(text.len(), |n| to + n);
    let line = text.get(..from).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let Some(between) = text.get(line..to) else { return };
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    for comment in lex(between).comments {
        let span = comment.span.shift(line);
        if found.last().is_none_or(|last| last.span.end <= span.start) && span.end > gap.start && span.start < gap.end {
            found.push(plain(span, TokenKind::Comment, comment.doc));
        }
    }
}

fn plain(span: Span, kind: TokenKind, documentation: bool) -> SemanticToken {
    SemanticToken { span, kind, declaration: false, library: false, documentation }
}

fn of_item(session: &Session, item: &ItemRef, found: &mut Vec<SemanticToken>) {
    let first = found.len();
    let mut names = untyped_uses(session, item);
    names.retain(|u| u.role != Role::Shorthand);
    for found_name in &names {
        if let Some(token) = named(session, item, found_name) {
            found.push(token);
        }
    }
    let lexed = lex(&item.text);
    for comment in &lexed.comments {
        found.push(plain(comment.span.shift(item.start), TokenKind::Comment, comment.doc));
    }
    for token in &lexed.tokens {
        let kind = match token.token {
            Lexed::Int(_) | Lexed::Float(_) => TokenKind::Number,
            Lexed::Str(_) => TokenKind::String,
            _ => continue,
        };
        let span = token.span.shift(item.start);
        // The path of an import is a module.
        if names.binary_search_by_key(&span, |u| u.span).is_err() {
            found.push(plain(span, kind, false));
        }
    }
    if let Some(own) = found.get_mut(first..) {
        own.sort_by_key(|t| t.span);
    }
}

fn named(session: &Session, item: &ItemRef, found: &Use) -> Option<SemanticToken> {
    let library = match &found.what {
        What::Value(name) | What::Type(name) | What::Ctor(name, _) => is_library(&name.module),
        What::Module(module) => is_library(module),
        What::Word(word) => !matches!(word, Word::Keyword),
        _ => false,
    };
    let kind = match &found.what {
        What::Local(..) => match found.kind? {
            LocalKind::Param | LocalKind::Lambda | LocalKind::FunParam => TokenKind::Parameter,
            LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::Extent => TokenKind::Size,
            LocalKind::Let | LocalKind::Pattern | LocalKind::Carry => TokenKind::Variable,
            LocalKind::Index => TokenKind::Index,
        },
        What::Value(name) => {
            let known = match (found.role, item.global == *name) {
                (_, true) => Some(item.kind),
                (Role::Declaration, _) if item.kind == ItemKind::Let => Some(ItemKind::Let),
                _ => session.item(name).map(|i| i.kind),
            };
            match known {
                Some(ItemKind::Let) => TokenKind::Value,
                _ => TokenKind::Function,
            }
        }
        What::Type(_) => TokenKind::Type,
        What::Ctor(..) => TokenKind::Constructor,
        What::TypeParam(..) => TokenKind::TypeParameter,
        What::Field(..) => TokenKind::Field,
        What::Module(_) => TokenKind::Module,
        What::Word(Word::Keyword) => TokenKind::Keyword,
        What::Word(Word::Function) => TokenKind::Function,
        What::Word(Word::Derivative) => TokenKind::Derivative,
        What::Word(Word::Constant) => TokenKind::Value,
        What::Word(Word::Type) => TokenKind::Type,
        What::Word(Word::Argument) => TokenKind::Argument,
        // What means nothing looks like nothing.
        What::Unknown => return None,
    };
    let declaration = found.role == Role::Declaration;
    Some(SemanticToken { span: found.span, kind, declaration, library, documentation: false })
}

//! What every token of a text is, by its meaning: what a grammar of the editor cannot know.
//!
//! For a range only the items in it are looked at, and nothing is checked. Of a whole module the tokens of items are kept
//! from one time to the next, as long as neither their text nor the meaning of a name in it changes.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::{Name, Span};
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
    let placed = |part: Part| {
        let shift = |t: &SemanticToken| SemanticToken { span: t.span.shift(part.start), ..*t };
        part.tokens.iter().map(shift).collect::<Vec<_>>()
    };
    parts(session, module, &mut Kept::default()).into_iter().flat_map(placed).collect()
}

/// The tokens of the items that a range of a module meets, and of the comments there, in order.
#[must_use]
pub fn tokens_in(session: &Session, module: &str, range: Span) -> Vec<SemanticToken> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut found = Vec::new();
    let mut end = range.start;
    for item in session.items_in(module, range) {
        comments(&text, Span::new(end, item.start), &mut found);
        of_item(session, &item, &mut found);
        end = item.span().end;
    }
    comments(&text, Span::new(end, range.end), &mut found);
    found.retain(|t| t.span.start < range.end && range.start < t.span.end);
    found
}

/// Tokens of a stretch of a module: an item, or the comments between two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where it begins.
    pub start: u32,
    /// Its tokens, in order, relative to that. The same tokens are the same allocation while they are kept.
    pub tokens: Arc<[SemanticToken]>,
}

/// Tokens of the items of a module as they were when they were last asked for.
#[derive(Default, Debug)]
pub struct Kept {
    /// When names meant what they do in them.
    shape: u64,
    /// In their order.
    items: Vec<KeptItem>,
}

/// Which item of a module.
type Key = (ItemKind, Name, u32);

#[derive(Debug)]
struct KeptItem {
    key: Key,
    text: Arc<str>,
    tokens: Arc<[SemanticToken]>,
    /// The text before it that is in no item, and what is in it.
    gap: Box<str>,
    comments: Option<Part>,
}

/// The tokens of a module, part by part, in order; those of items that did not change are taken from what was kept.
pub fn parts(session: &Session, module: &str, kept: &mut Kept) -> Vec<Part> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut before = Before::new(std::mem::take(&mut kept.items));
    let shape = session.shape();
    if std::mem::replace(&mut kept.shape, shape) != shape {
        before = Before::new(Vec::new());
    }
    let mut all = Vec::new();
    let mut end = 0;
    for item in session.items(module) {
        let gap = text.get(end as usize..item.start as usize).unwrap_or_default();
        let mut known = before.take(&item).filter(|known| known.text == item.text).unwrap_or_else(|| {
            let mut tokens = Vec::new();
            of_item(session, &item, &mut tokens);
            let tokens = relative(tokens, item.start);
            let key = (item.kind, item.name.clone(), item.ordinal);
            KeptItem { key, text: Arc::clone(&item.text), tokens, gap: "".into(), comments: None }
        });
        if *known.gap != *gap {
            known.gap = gap.into();
            known.comments = between(&text, Span::new(end, item.start), all.last());
        }
        // Where they stand is told from where the item does.
        let moved = |part: &Part| Part { start: end.saturating_add(part.start), tokens: Arc::clone(&part.tokens) };
        all.extend(known.comments.as_ref().map(moved));
        all.push(Part { start: item.start, tokens: Arc::clone(&known.tokens) });
        end = item.span().end;
        kept.items.push(known);
    }
    let rest = between(&text, Span::new(end, u32::try_from(text.len()).unwrap_or(u32::MAX)), all.last());
    all.extend(rest.map(|part| Part { start: end.saturating_add(part.start), ..part }));
    all.retain(|part| !part.tokens.is_empty());
    all
}

/// What was kept, to be taken: most often in its order.
struct Before {
    items: Vec<Option<KeptItem>>,
    /// Where the next is looked for.
    next: usize,
    /// Where each is, when one was not there.
    places: Option<HashMap<Key, usize>>,
}

impl Before {
    fn new(items: Vec<KeptItem>) -> Self {
        Self { items: items.into_iter().map(Some).collect(), next: 0, places: None }
    }

    fn take(&mut self, item: &ItemRef) -> Option<KeptItem> {
        let is_it =
            |known: &KeptItem| known.key.0 == item.kind && known.key.1 == item.name && known.key.2 == item.ordinal;
        let here = self.items.get(self.next).is_some_and(|known| known.as_ref().is_some_and(is_it));
        let at = if here {
            self.next
        } else {
            let places = self.places.get_or_insert_with(|| {
                let all = self.items.iter().enumerate();
                all.filter_map(|(at, known)| Some((known.as_ref()?.key.clone(), at))).collect()
            });
            *places.get(&(item.kind, item.name.clone(), item.ordinal))?
        };
        self.next = at.saturating_add(1);
        self.items.get_mut(at)?.take()
    }
}

/// The comments of a gap that no part before it holds; where they begin is told from its beginning.
fn between(text: &str, gap: Span, before: Option<&Part>) -> Option<Part> {
    let mut tokens = Vec::new();
    comments(text, gap, &mut tokens);
    // A comment at the end of an item's last line may be the item's.
    let last = before.and_then(|part| Some(part.tokens.last()?.span.end + part.start)).unwrap_or_default();
    tokens.retain(|t| last <= t.span.start && gap.start <= t.span.start);
    let first = tokens.first()?.span.start;
    Some(Part { start: first - gap.start, tokens: relative(tokens, first) })
}

fn relative(tokens: Vec<SemanticToken>, start: u32) -> Arc<[SemanticToken]> {
    let back = |at: u32| at.saturating_sub(start);
    let moved = |t: SemanticToken| SemanticToken { span: Span::new(back(t.span.start), back(t.span.end)), ..t };
    tokens.into_iter().map(moved).collect()
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
    for comment in lex(between).comments.into_iter().filter(|c| !is_example(between, c.span)) {
        let span = comment.span.shift(line);
        if found.last().is_none_or(|last| last.span.end <= span.start) && span.end > gap.start && span.start < gap.end {
            found.push(plain(span, TokenKind::Comment, comment.doc));
        }
    }
}

/// Is it a comment `-- >>> expr`? A grammar gives its expression colours that one token would hide.
fn is_example(text: &str, comment: Span) -> bool {
    text.get(comment.range()).and_then(|t| t.strip_prefix("--")).is_some_and(|t| t.trim_start().starts_with(">>>"))
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
    for comment in lexed.comments.iter().filter(|c| !is_example(&item.text, c.span)) {
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

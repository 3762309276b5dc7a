//! **Semantic tokens.** Classifies every token of a text by its meaning, which an editor's grammar
//! cannot know. The server's `textDocument/semanticTokens` requests call it.
//!
//! Nothing is type-checked, only parsed and resolved. For a range, only the items in it are
//! visited. For a whole module, the caller passes a cache. An item's tokens are reused as long as
//! neither its text nor the meaning of a name in it changes.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::{Name, Span};
use lang_core::resolve::LocalKind;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::lexer::{Token as Lexed, lex};
use lang_core::syntax::split::ItemKind;

use crate::find::is_library;
use crate::names::{LanguageWord, NameRole, NameTarget, NameUse, untyped_uses};

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TokenKind {
    /// A module.
    Module,
    /// A type, including scalar types.
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
    /// A variable that a `let`, a pattern or a fold binds.
    Variable,
    /// An index variable.
    Index,
    /// A size of a signature, or the extent of an array.
    Size,
    /// A field of a record.
    Field,
    /// The name of an argument: `wrt:`.
    Argument,
    /// A word that begins or joins a form: `let`, `sum`.
    Keyword,
    /// A number.
    Number,
    /// A string.
    String,
    /// A comment. Documentation also sets its flag.
    Comment,
}

impl TokenKind {
    /// All kinds, in order.
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
    /// The span, which is on one line.
    pub span: Span,
    /// The kind.
    pub kind: TokenKind,
    /// Whether this token declares the name.
    pub declaration: bool,
    /// Whether the name belongs to the library or the language.
    pub library: bool,
    /// Whether the token is documentation.
    pub documentation: bool,
}

/// Returns the tokens of a module, in order.
#[must_use]
pub fn tokens(session: &Session, module: &str) -> Vec<SemanticToken> {
    let placed = |part: TokenSection| {
        let shift = |t: &SemanticToken| SemanticToken { span: t.span.shift(part.start), ..*t };
        part.tokens.iter().map(shift).collect::<Vec<_>>()
    };
    token_sections(session, module, &mut TokenCache::default()).into_iter().flat_map(placed).collect()
}

/// Returns the tokens that overlap a range of a module, in order.
#[must_use]
pub fn tokens_in(session: &Session, module: &str, range: Span) -> Vec<SemanticToken> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut found = Vec::new();
    let mut end = range.start;
    for item in session.items_in(module, range) {
        add_comments(&text, Span::new(end, item.start), &mut found);
        add_item_tokens(session, &item, &mut found);
        end = item.span().end;
    }
    add_comments(&text, Span::new(end, range.end), &mut found);
    found.retain(|t| t.span.start < range.end && range.start < t.span.end);
    found
}

/// The tokens of a section of a module: an item, or the comments between two items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenSection {
    /// The offset of the section.
    pub start: u32,
    /// The tokens in order, relative to `start`. As long as they are cached, equal tokens are the
    /// same allocation.
    pub tokens: Arc<[SemanticToken]>,
}

/// A cache of the tokens of a module's items from the last request.
#[derive(Default, Debug)]
pub struct TokenCache {
    /// The session's shape at that request. While the shape is the same, names keep their meaning.
    naming_revision: u64,
    /// The items in their order.
    items: Vec<CachedItem>,
}

/// The identity of an item in a module.
type ItemIdentity = (ItemKind, Name, u32);

#[derive(Debug)]
struct CachedItem {
    key: ItemIdentity,
    text: Arc<str>,
    tokens: Arc<[SemanticToken]>,
    /// The text between the previous item and this one, and its comments.
    gap: Box<str>,
    comments: Option<TokenSection>,
}

/// Returns the tokens of a module, section by section, in order. Tokens of unchanged items come
/// from the cache.
pub fn token_sections(session: &Session, module: &str, kept: &mut TokenCache) -> Vec<TokenSection> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let mut before = PreviousItems::new(std::mem::take(&mut kept.items));
    let shape = session.naming_revision();
    if std::mem::replace(&mut kept.naming_revision, shape) != shape {
        before = PreviousItems::new(Vec::new());
    }
    let mut all = Vec::new();
    let mut end = 0;
    for item in session.items(module) {
        let gap = text.get(end as usize..item.start as usize).unwrap_or_default();
        let mut known = before.take(&item).filter(|known| known.text == item.text).unwrap_or_else(|| {
            let mut tokens = Vec::new();
            add_item_tokens(session, &item, &mut tokens);
            let tokens = relative_to(tokens, item.start);
            let key = (item.kind, item.name.clone(), item.ordinal);
            CachedItem { key, text: Arc::clone(&item.text), tokens, gap: "".into(), comments: None }
        });
        if *known.gap != *gap {
            known.gap = gap.into();
            known.comments = comments_in_gap(&text, Span::new(end, item.start), all.last());
        }
        // Comments are stored relative to the end of the previous item.
        let moved = |part: &TokenSection| TokenSection {
            start: end.saturating_add(part.start),
            tokens: Arc::clone(&part.tokens),
        };
        all.extend(known.comments.as_ref().map(moved));
        all.push(TokenSection { start: item.start, tokens: Arc::clone(&known.tokens) });
        end = item.span().end;
        kept.items.push(known);
    }
    let rest = comments_in_gap(&text, Span::new(end, u32::try_from(text.len()).unwrap_or(u32::MAX)), all.last());
    all.extend(rest.map(|part| TokenSection { start: end.saturating_add(part.start), ..part }));
    all.retain(|part| !part.tokens.is_empty());
    all
}

/// The cached items of the last request, most often requested in their order.
struct PreviousItems {
    items: Vec<Option<CachedItem>>,
    /// The index at which the next lookup begins.
    next: usize,
    /// The index of each item, built at the first lookup out of order.
    index_by_key: Option<HashMap<ItemIdentity, usize>>,
}

impl PreviousItems {
    fn new(items: Vec<CachedItem>) -> Self {
        Self { items: items.into_iter().map(Some).collect(), next: 0, index_by_key: None }
    }

    fn take(&mut self, item: &ItemRef) -> Option<CachedItem> {
        let is_it =
            |known: &CachedItem| known.key.0 == item.kind && known.key.1 == item.name && known.key.2 == item.ordinal;
        let here = self.items.get(self.next).is_some_and(|known| known.as_ref().is_some_and(is_it));
        let at = if here {
            self.next
        } else {
            let places = self.index_by_key.get_or_insert_with(|| {
                let all = self.items.iter().enumerate();
                all.filter_map(|(at, known)| Some((known.as_ref()?.key.clone(), at))).collect()
            });
            *places.get(&(item.kind, item.name.clone(), item.ordinal))?
        };
        self.next = at.saturating_add(1);
        self.items.get_mut(at)?.take()
    }
}

/// Returns the comments of a gap that no previous section contains. `start` is relative to the
/// beginning of the gap.
fn comments_in_gap(text: &str, gap: Span, before: Option<&TokenSection>) -> Option<TokenSection> {
    let mut tokens = Vec::new();
    add_comments(text, gap, &mut tokens);
    // A comment at the end of an item's last line may belong to the item.
    let last = before.and_then(|part| Some(part.tokens.last()?.span.end + part.start)).unwrap_or_default();
    tokens.retain(|t| last <= t.span.start && gap.start <= t.span.start);
    let first = tokens.first()?.span.start;
    Some(TokenSection { start: first - gap.start, tokens: relative_to(tokens, first) })
}

fn relative_to(tokens: Vec<SemanticToken>, start: u32) -> Arc<[SemanticToken]> {
    let back = |at: u32| at.saturating_sub(start);
    let moved = |t: SemanticToken| SemanticToken { span: Span::new(back(t.span.start), back(t.span.end)), ..t };
    tokens.into_iter().map(moved).collect()
}

/// Adds the comments between items. A gap contains nothing else.
fn add_comments(text: &str, gap: Span, found: &mut Vec<SemanticToken>) {
    if gap.end <= gap.start {
        return;
    }
    let (from, to) = (text.floor_char_boundary(gap.range().start), text.floor_char_boundary(gap.range().end));
    // A range may begin and end inside a comment.
    let to = text.get(to..).and_then(|t| t.find('\n')).map_or(text.len(), |n| to + n);
    let line = text.get(..from).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let Some(between) = text.get(line..to) else { return };
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    for comment in lex(between).comments.into_iter().filter(|c| !is_evaluation_comment(between, c.span)) {
        let span = comment.span.shift(line);
        if found.last().is_none_or(|last| last.span.end <= span.start) && span.end > gap.start && span.start < gap.end {
            found.push(plain_token(span, TokenKind::Comment, comment.is_doc));
        }
    }
}

/// Returns whether a comment is `-- >>> expr`. A grammar colours its expression, and a single token
/// would hide these colours.
fn is_evaluation_comment(text: &str, comment: Span) -> bool {
    text.get(comment.range()).and_then(|t| t.strip_prefix("--")).is_some_and(|t| t.trim_start().starts_with(">>>"))
}

fn plain_token(span: Span, kind: TokenKind, documentation: bool) -> SemanticToken {
    SemanticToken { span, kind, declaration: false, library: false, documentation }
}

fn add_item_tokens(session: &Session, item: &ItemRef, found: &mut Vec<SemanticToken>) {
    let first = found.len();
    let mut names = untyped_uses(session, item);
    names.retain(|u| u.role != NameRole::Shorthand);
    for found_name in &names {
        if let Some(token) = name_token(session, item, found_name) {
            found.push(token);
        }
    }
    let lexed = lex(&item.text);
    for comment in lexed.comments.iter().filter(|c| !is_evaluation_comment(&item.text, c.span)) {
        found.push(plain_token(comment.span.shift(item.start), TokenKind::Comment, comment.is_doc));
    }
    for token in &lexed.tokens {
        let kind = match token.token {
            Lexed::Int(_) | Lexed::Float(_) => TokenKind::Number,
            Lexed::Str(_) => TokenKind::String,
            _ => continue,
        };
        let span = token.span.shift(item.start);
        // The path of an import already has a module token.
        if names.binary_search_by_key(&span, |u| u.span).is_err() {
            found.push(plain_token(span, kind, false));
        }
    }
    if let Some(own) = found.get_mut(first..) {
        own.sort_by_key(|t| t.span);
    }
}

fn name_token(session: &Session, item: &ItemRef, found: &NameUse) -> Option<SemanticToken> {
    let library = match &found.meaning {
        NameTarget::Value(name) | NameTarget::Type(name) | NameTarget::Ctor(name, _) => is_library(&name.module),
        NameTarget::Module(module) => is_library(module),
        NameTarget::Word(word) => !matches!(word, LanguageWord::Keyword),
        _ => false,
    };
    let kind = match &found.meaning {
        NameTarget::Local(..) => match found.kind? {
            LocalKind::Param | LocalKind::Lambda | LocalKind::FunTypeParam => TokenKind::Parameter,
            LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::NamedExtent => TokenKind::Size,
            LocalKind::Let | LocalKind::Pattern | LocalKind::Carry => TokenKind::Variable,
            LocalKind::Index => TokenKind::Index,
        },
        NameTarget::Value(name) => {
            let known = match (found.role, item.global == *name) {
                (_, true) => Some(item.kind),
                (NameRole::Declaration, _) if item.kind == ItemKind::Let => Some(ItemKind::Let),
                _ => session.item(name).map(|i| i.kind),
            };
            match known {
                Some(ItemKind::Let) => TokenKind::Value,
                _ => TokenKind::Function,
            }
        }
        NameTarget::Type(_) => TokenKind::Type,
        NameTarget::Ctor(..) => TokenKind::Constructor,
        NameTarget::TypeParam(..) => TokenKind::TypeParameter,
        NameTarget::Field(..) => TokenKind::Field,
        NameTarget::Module(_) => TokenKind::Module,
        NameTarget::Word(LanguageWord::Keyword) => TokenKind::Keyword,
        NameTarget::Word(LanguageWord::Function) => TokenKind::Function,
        NameTarget::Word(LanguageWord::Derivative) => TokenKind::Derivative,
        NameTarget::Word(LanguageWord::Constant) => TokenKind::Value,
        NameTarget::Word(LanguageWord::Type) => TokenKind::Type,
        NameTarget::Word(LanguageWord::Argument) => TokenKind::Argument,
        // An unresolved name has no colour.
        NameTarget::Unknown => return None,
    };
    let declaration = found.role == NameRole::Declaration;
    Some(SemanticToken { span: found.span, kind, declaration, library, documentation: false })
}

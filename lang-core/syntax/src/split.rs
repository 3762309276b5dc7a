//! **Item splitting.** Divides a file into the texts of its items, in one scan over the tokens. It
//! runs before parsing, so an unbalanced bracket in one item never affects the next. An edit inside
//! one item leaves the texts of the others equal, which keeps the session's queries incremental.
//!
//! An item starts at a line that begins with `def`, `type`, `import`, `do`, `derivative f(` or
//! `adjoint f(`, or at `let` in column 0. An indented `type` (or other such word) may instead be a
//! field name: after `.`, before `:` or `=`.
//!
//! A `let … in` in column 0 after `=`, `do` or `in` belongs to the expression that must follow
//! there, and the parser reports its indentation. Comments directly above an item belong to it,
//! others to the item before them; those before the first item belong to the first. An item's text
//! ends with its last token or comment, so it excludes the blank lines between items.

use std::ops::Range;
use std::sync::Arc;

use super::lexer::{Comment, MAX_TEXT_BYTES, SpannedToken, Token, lex};
use super::ops::BinderKind;
use super::token::{Sym, Word};
use lang_base::Name;

/// The kind of an item, determined by its first word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ItemKind {
    /// `def`
    Def,
    /// `type`
    Type,
    /// `import`
    Import,
    /// `let`
    Let,
    /// `do`
    Do,
    /// `derivative f(…`
    Derivative,
    /// `adjoint f(…`
    Adjoint,
    /// Text before the first item; an error.
    StrayText,
}

/// The text of one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemText {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The declared name, or the name of the definition that a rule belongs to; empty if missing.
    /// For a `let`, the names that its pattern seems to bind, joined by commas. For an import, the
    /// local name of the module.
    pub name: Name,
    /// The text from the item's comments to its last token or comment.
    pub text: Arc<str>,
    /// The offset of the text in the file.
    pub start: u32,
    /// The offset of its first word, if an item begins there regardless of the text before that
    /// line: see [`resplit`].
    pub stable_start: Option<u32>,
}

/// Returns the items of a file, in order. Every token belongs to one. A file with comments alone
/// has no items, unless some are comments of another language. Then one item exists, which reports
/// them.
#[must_use]
pub fn split(text: &str) -> Vec<ItemText> {
    let lexed = lex(text);
    let tokens = lexed.tokens.as_slice();
    let mut starts: Vec<(ItemKind, usize)> =
        (0..tokens.len()).filter_map(|at| item_kind_at(tokens, at).map(|kind| (kind, at))).collect();
    if !tokens.is_empty() && starts.first().is_none_or(|(_, at)| *at > 0) {
        // A `let` at the start of a text is an item at any indentation, because nothing precedes
        // it.
        let is_let = matches!(tokens.first().map(|t| &t.token), Some(Token::Keyword(Word::Let)));
        starts.insert(0, (if is_let { ItemKind::Let } else { ItemKind::StrayText }, 0));
    }
    let starts = remove_chain_lets(tokens, starts);
    if tokens.is_empty() && !lexed.diagnostics.is_empty() {
        return foreign_comments_item(text, &lexed.comments).into_iter().collect();
    }

    let bytes = text.as_bytes();
    let mut comments = lexed.comments.as_slice();
    let mut items = Vec::with_capacity(starts.len());
    let mut begin = comments.first().map_or(u32::MAX, |c| c.span.start);
    for (nth, (kind, at)) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).map_or(tokens.len(), |(_, next)| *next);
        let own = tokens.get(*at..end).unwrap_or_default();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        let next = tokens.get(end).map_or(u32::MAX, |t| t.span.start);
        // The comments before the next item's first token, without the block directly above that
        // item.
        let here = comments.partition_point(|c| c.span.start < next);
        let (mine, rest) = comments.split_at(here);
        let kept = if next == u32::MAX { mine.len() } else { mine.len() - count_comments_above(bytes, mine, next) };
        let last_comment = kept.checked_sub(1).and_then(|i| mine.get(i)).map_or(0, |c| c.span.end);
        let from = begin.min(first.span.start);
        let to = last.span.end.max(last_comment);
        begin = mine.get(kept).map_or(next, |c| c.span.start);
        comments = rest;
        items.push(ItemText {
            kind: *kind,
            name: declared_name(*kind, own),
            text: text.get(from as usize..to as usize).unwrap_or_default().into(),
            start: from,
            stable_start: (first.is_in_column0 && STABLE_KINDS.contains(kind)).then_some(first.span.start),
        });
    }
    items
}

/// Returns an item for a text without tokens, some of whose comments are those of another language.
fn foreign_comments_item(text: &str, comments: &[Comment]) -> Option<ItemText> {
    let span = comments.first()?.span.to(comments.last()?.span);
    let text = text.get(span.range())?.into();
    Some(ItemText { kind: ItemKind::StrayText, name: Name::default(), text, start: span.start, stable_start: None })
}

/// The item kinds that begin an item in column 0 regardless of the text before.
const STABLE_KINDS: [ItemKind; 4] = [ItemKind::Def, ItemKind::Type, ItemKind::Import, ItemKind::Do];

/// Splits again the part of a file that an edit may have changed. `items` are those of the old
/// text, as pairs of `start` and `sure`. The edit replaced the bytes `edited` of the old text by
/// `inserted` bytes, and `text` is the result. Returns the range of items to replace, and their
/// replacements. The caller must shift the items after them by the growth of the text.
///
/// The scan begins at the last item with a sure start whose first word ends before the edit. It
/// ends at the second sure start behind the edit, because comments above the first may have changed
/// their owner.
#[must_use]
pub fn resplit(
    items: &[(u32, Option<u32>)],
    edited: Range<usize>,
    inserted: usize,
    text: &str,
) -> (Range<usize>, Vec<ItemText>) {
    let before = |sure: u32| sure as usize + MAX_KEYWORD_BYTES < edited.start;
    let first = items.iter().rposition(|(_, sure)| sure.is_some_and(before));
    let mut behind = items.iter().enumerate().skip(first.unwrap_or_default());
    let mut behind = behind.by_ref().filter(|(_, (start, sure))| sure.is_some() && *start as usize > edited.end);
    let last = behind.nth(1);
    let moved = |at: usize| at - edited.end + edited.start + inserted;
    let begin = first.and_then(|at| items.get(at)).map_or(0, |(start, _)| *start as usize);
    let end = last.map_or(text.len(), |(_, (start, _))| moved(*start as usize));
    if text.len() > MAX_TEXT_BYTES {
        return (0..items.len(), split(text));
    }
    let mut new = split(text.get(begin..end).unwrap_or_default());
    // The conversion succeeds, because a text has at most `MAX_TEXT_BYTES` bytes.
    let by = u32::try_from(begin).unwrap_or(u32::MAX);
    for item in &mut new {
        item.start += by;
        item.stable_start = item.stable_start.map(|sure| sure + by);
    }
    (first.unwrap_or_default()..last.map_or(items.len(), |(at, _)| at), new)
}

/// The length in bytes of `import`, the longest word that begins an item.
const MAX_KEYWORD_BYTES: usize = 6;

/// Removes the starts at a `let` that belongs to a chain: one after `=`, `do` or `in` whose chain
/// has an `in`. Such a `let` must be indented, and the parser reports it once.
fn remove_chain_lets(tokens: &[SpannedToken], starts: Vec<(ItemKind, usize)>) -> Vec<(ItemKind, usize)> {
    let mut kept: Vec<(ItemKind, usize)> = Vec::with_capacity(starts.len());
    // The next start that is not a `let`, and the `in` of the current chain.
    let (mut next, mut until) = (0, 0);
    // No `in` occurs from here to this position, so each stretch is searched only once.
    let mut searched = 0;
    for (nth, (kind, at)) in starts.iter().copied().enumerate() {
        let open = at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|before| {
            matches!(before.token, Token::Sym(Sym::Assign) | Token::Keyword(Word::In | Word::Do))
        });
        if kind == ItemKind::Let && open && at >= until && at >= searched {
            if at >= next {
                let others = starts.iter().skip(nth).find(|(kind, _)| *kind != ItemKind::Let);
                next = others.map_or(tokens.len(), |(_, at)| *at);
            }
            match chain_end(tokens, at, next) {
                Some(end) => until = end,
                None => searched = next,
            }
        }
        if kind != ItemKind::Let || at >= until {
            kept.push((kind, at));
        }
    }
    kept
}

/// Returns the position of the `in` that ends a `let` chain: the first outside brackets that does
/// not belong to an index variable.
fn chain_end(tokens: &[SpannedToken], from: usize, to: usize) -> Option<usize> {
    let mut depth = 0usize;
    let token = |at: usize| tokens.get(at).map(|t| &t.token);
    (from..to).find(|at| {
        match token(*at) {
            Some(Token::Sym(sym)) if sym.closer().is_some() => depth += 1,
            Some(Token::Sym(sym)) if sym.is_closer() => depth = depth.saturating_sub(1),
            _ => {}
        }
        let before = at.checked_sub(2).and_then(token);
        let binder = match before {
            Some(Token::Name(name)) => BinderKind::ALL.iter().any(|binder| binder.keyword() == name),
            other => matches!(other, Some(Token::Keyword(Word::For) | Token::Sym(Sym::Comma))),
        };
        depth == 0 && !binder && token(*at) == Some(&Token::Keyword(Word::In))
    })
}

/// Returns the number of trailing comments on lines of their own directly above `at`.
fn count_comments_above(text: &[u8], comments: &[Comment], at: u32) -> usize {
    let mut below = at;
    let mut count = 0;
    for comment in comments.iter().rev() {
        let between = text.get(comment.span.end as usize..below as usize).unwrap_or_default();
        if !comment.is_own_line || between.iter().filter(|b| **b == b'\n').count() != 1 {
            break;
        }
        below = comment.span.start;
        count += 1;
    }
    count
}

/// Returns the kind of the item that starts at this token, if one does.
pub(super) fn item_kind_at(tokens: &[SpannedToken], at: usize) -> Option<ItemKind> {
    let token = tokens.get(at).filter(|t| t.is_line_start)?;
    let sym = |at: usize| match tokens.get(at).map(|t| &t.token) {
        Some(Token::Sym(sym)) => Some(*sym),
        _ => None,
    };
    let is_field = || {
        at.checked_sub(1).and_then(sym) == Some(Sym::Dot)
            || matches!(sym(at + 1), Some(Sym::Colon | Sym::Assign | Sym::PlusAssign))
    };
    let is_rule =
        || matches!(tokens.get(at + 1).map(|t| &t.token), Some(Token::Name(_))) && sym(at + 2) == Some(Sym::LParen);
    let kind = match &token.token {
        Token::Keyword(Word::Def) => ItemKind::Def,
        Token::Keyword(Word::Type) => ItemKind::Type,
        Token::Keyword(Word::Import) => ItemKind::Import,
        Token::Keyword(Word::Do) => ItemKind::Do,
        Token::Keyword(Word::Let) if token.is_in_column0 => ItemKind::Let,
        Token::Name(name) if name == "derivative" && is_rule() => return Some(ItemKind::Derivative),
        Token::Name(name) if name == "adjoint" && is_rule() => return Some(ItemKind::Adjoint),
        _ => return None,
    };
    (token.is_in_column0 || !is_field()).then_some(kind)
}

fn declared_name(kind: ItemKind, tokens: &[SpannedToken]) -> Name {
    match kind {
        ItemKind::Def | ItemKind::Type | ItemKind::Derivative | ItemKind::Adjoint => {
            match tokens.get(1).map(|t| &t.token) {
                Some(Token::Name(name)) => name.clone(),
                _ => Name::default(),
            }
        }
        ItemKind::Import => {
            match (tokens.get(3).or(tokens.get(1)).map(|t| &t.token), tokens.get(1).map(|t| &t.token)) {
                (Some(Token::Name(name)), _) | (_, Some(Token::Name(name))) => name.clone(),
                (_, Some(Token::Str(path))) => file_stem(path).into(),
                _ => Name::default(),
            }
        }
        ItemKind::Let => bound_names(tokens),
        ItemKind::Do | ItemKind::StrayText => Name::default(),
    }
}

/// Returns `mine` for `./dir/mine.iv`: the name of an imported file without `as`.
#[must_use]
pub fn file_stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".iv").unwrap_or(file)
}

/// Returns the names that the pattern of a `let` seems to bind. A constructor without arguments
/// looks like a variable here.
fn bound_names(tokens: &[SpannedToken]) -> Name {
    let mut names: Vec<&str> = Vec::new();
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        let next = tokens.get(at + 1).map(|t| &t.token);
        match &token.token {
            Token::Sym(Sym::Assign) => break,
            Token::Sym(Sym::Colon) if depth == 0 => break,
            Token::Sym(sym) if sym.closer().is_some() => depth += 1,
            Token::Sym(sym) if sym.is_closer() => depth = depth.saturating_sub(1),
            // `Leaf(…)` and `m.Leaf` name constructors; `x` in the record pattern `{x: p}` names a
            // field.
            Token::Name(_) if matches!(next, Some(Token::Sym(Sym::LParen | Sym::Dot))) => {}
            Token::Name(_) if depth > 0 && matches!(next, Some(Token::Sym(Sym::Colon))) => {}
            Token::Name(name) => names.push(name),
            _ => {}
        }
    }
    names.join(",").into()
}

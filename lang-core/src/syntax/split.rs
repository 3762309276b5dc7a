//! A file to the texts of its items, by one scan over the tokens. It runs before parsing, so an
//! unbalanced bracket in one item never reaches the next, and an edit in one item leaves the
//! texts of the others equal.
//!
//! An item starts at a line that begins with `def`, `type`, `import`, `do`, `derivative f(` or
//! `adjoint f(`, or at `let` in column 0. An indented `type` and the like may be a field's name:
//! after `.`, before `:` or `=`. A `let … in` in column 0 after `=`, `do` or `in` belongs to the
//! expression that is due there, and the parser tells of it. Comments directly above an item belong to it, others to
//! the item before them; those before the first item belong to the first. Texts end with their
//! last token or comment: blank lines between items are in none.

use std::ops::Range;
use std::sync::Arc;

use super::lexer::{Comment, MAX_TEXT, Spanned, Token, lex};
use super::ops::BinderKind;
use super::token::{Sym, Word};
use crate::base::Name;

/// What an item is, by its first word.
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
    Junk,
}

/// The text of one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemText {
    /// What it is.
    pub kind: ItemKind,
    /// The name it declares or, of a rule, belongs to; empty if missing. Of a `let` the names its
    /// pattern seems to bind, joined by commas; of an import the name the module gets here.
    pub name: Name,
    /// From its comments to its last token or comment.
    pub text: Arc<str>,
    /// Where the text begins in the file.
    pub start: u32,
    /// Where its first word stands, if an item begins there whatever is written before that line: see [`resplit`].
    pub sure: Option<u32>,
}

/// The items of a file, in order. All tokens are in one; a file of comments alone has none, unless they are those of
/// another language, of which an item has to tell.
#[must_use]
pub fn split(text: &str) -> Vec<ItemText> {
    let lexed = lex(text);
    let tokens = lexed.tokens.as_slice();
    let mut starts: Vec<(ItemKind, usize)> =
        (0..tokens.len()).filter_map(|at| item_start(tokens, at).map(|kind| (kind, at))).collect();
    if !tokens.is_empty() && starts.first().is_none_or(|(_, at)| *at > 0) {
        // A `let` that begins a text can belong to nothing before it, wherever it stands.
        let is_let = matches!(tokens.first().map(|t| &t.token), Some(Token::Word(Word::Let)));
        starts.insert(0, (if is_let { ItemKind::Let } else { ItemKind::Junk }, 0));
    }
    let starts = without_chains(tokens, starts);
    if tokens.is_empty() && !lexed.diagnostics.is_empty() {
        return foreign_comments(text, &lexed.comments).into_iter().collect();
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
        // The comments up to the next item; a block directly above that one is its own.
        let here = comments.partition_point(|c| c.span.start < next);
        let (mine, rest) = comments.split_at(here);
        let kept = if next == u32::MAX { mine.len() } else { mine.len() - block_above(bytes, mine, next) };
        let last_comment = kept.checked_sub(1).and_then(|i| mine.get(i)).map_or(0, |c| c.span.end);
        let from = begin.min(first.span.start);
        let to = last.span.end.max(last_comment);
        begin = mine.get(kept).map_or(next, |c| c.span.start);
        comments = rest;
        items.push(ItemText {
            kind: *kind,
            name: declared(*kind, own),
            text: text.get(from as usize..to as usize).unwrap_or_default().into(),
            start: from,
            sure: (first.column0 && STARTERS.contains(kind)).then_some(first.span.start),
        });
    }
    items
}

/// A text without tokens as an item: comments, some of which are those of another language.
fn foreign_comments(text: &str, comments: &[Comment]) -> Option<ItemText> {
    let span = comments.first()?.span.to(comments.last()?.span);
    let text = text.get(span.range())?.into();
    Some(ItemText { kind: ItemKind::Junk, name: Name::default(), text, start: span.start, sure: None })
}

/// What begins an item in column 0 whatever stands before.
const STARTERS: [ItemKind; 4] = [ItemKind::Def, ItemKind::Type, ItemKind::Import, ItemKind::Do];

/// Splits again what an edit may have changed. `items` are those of the text before it, of which the bytes `edited` were
/// replaced by `inserted` many; `text` is what came of it. Gives which of the items to replace, and by what; those after
/// them move by as much as the text grew.
///
/// What is split again begins at an item that is sure to begin there and whose first word ends before the edit, and ends
/// at the second that does so behind it: comments above the first may have become another item's.
#[must_use]
pub fn resplit(
    items: &[(u32, Option<u32>)],
    edited: Range<usize>,
    inserted: usize,
    text: &str,
) -> (Range<usize>, Vec<ItemText>) {
    let before = |sure: u32| sure as usize + LONGEST_WORD < edited.start;
    let first = items.iter().rposition(|(_, sure)| sure.is_some_and(before));
    let mut behind = items.iter().enumerate().skip(first.unwrap_or_default());
    let mut behind = behind.by_ref().filter(|(_, (start, sure))| sure.is_some() && *start as usize > edited.end);
    let last = behind.nth(1);
    let moved = |at: usize| at - edited.end + edited.start + inserted;
    let begin = first.and_then(|at| items.get(at)).map_or(0, |(start, _)| *start as usize);
    let end = last.map_or(text.len(), |(_, (start, _))| moved(*start as usize));
    if text.len() > MAX_TEXT {
        return (0..items.len(), split(text));
    }
    let mut new = split(text.get(begin..end).unwrap_or_default());
    // Texts have at most `MAX_TEXT` bytes.
    let by = u32::try_from(begin).unwrap_or(u32::MAX);
    for item in &mut new {
        item.start += by;
        item.sure = item.sure.map(|sure| sure + by);
    }
    (first.unwrap_or_default()..last.map_or(items.len(), |(at, _)| at), new)
}

/// The longest of the words that begin an item, `import`.
const LONGEST_WORD: usize = 6;

/// The starts without those at a `let` of a chain: one that stands where an expression has to
/// follow and has an `in`. It should be indented, and is told as that, once.
fn without_chains(tokens: &[Spanned], starts: Vec<(ItemKind, usize)>) -> Vec<(ItemKind, usize)> {
    let mut kept: Vec<(ItemKind, usize)> = Vec::with_capacity(starts.len());
    // Where the next item begins that is no `let`, and where the chain at hand has its `in`.
    let (mut next, mut until) = (0, 0);
    // No `in` was found from here to the next item: each stretch is searched once.
    let mut searched = 0;
    for (nth, (kind, at)) in starts.iter().copied().enumerate() {
        let open = at
            .checked_sub(1)
            .and_then(|before| tokens.get(before))
            .is_some_and(|before| matches!(before.token, Token::Sym(Sym::Assign) | Token::Word(Word::In | Word::Do)));
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

/// The `in` of a `let` chain: the first outside of brackets that is not that of an index variable.
fn chain_end(tokens: &[Spanned], from: usize, to: usize) -> Option<usize> {
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
            Some(Token::Name(name)) => BinderKind::ALL.iter().any(|binder| binder.word() == name),
            other => matches!(other, Some(Token::Word(Word::For) | Token::Sym(Sym::Comma))),
        };
        depth == 0 && !binder && token(*at) == Some(&Token::Word(Word::In))
    })
}

/// How many of the last comments stand on lines of their own directly above `at`.
fn block_above(text: &[u8], comments: &[Comment], at: u32) -> usize {
    let mut below = at;
    let mut count = 0;
    for comment in comments.iter().rev() {
        let between = text.get(comment.span.end as usize..below as usize).unwrap_or_default();
        if !comment.own_line || between.iter().filter(|b| **b == b'\n').count() != 1 {
            break;
        }
        below = comment.span.start;
        count += 1;
    }
    count
}

/// Does an item start at this token?
pub(super) fn item_start(tokens: &[Spanned], at: usize) -> Option<ItemKind> {
    let token = tokens.get(at).filter(|t| t.line_start)?;
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
        Token::Word(Word::Def) => ItemKind::Def,
        Token::Word(Word::Type) => ItemKind::Type,
        Token::Word(Word::Import) => ItemKind::Import,
        Token::Word(Word::Do) => ItemKind::Do,
        Token::Word(Word::Let) if token.column0 => ItemKind::Let,
        Token::Name(name) if name == "derivative" && is_rule() => return Some(ItemKind::Derivative),
        Token::Name(name) if name == "adjoint" && is_rule() => return Some(ItemKind::Adjoint),
        _ => return None,
    };
    (token.column0 || !is_field()).then_some(kind)
}

fn declared(kind: ItemKind, tokens: &[Spanned]) -> Name {
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
        ItemKind::Let => bound(tokens),
        ItemKind::Do | ItemKind::Junk => Name::default(),
    }
}

/// `mine` of `./dir/mine.iv`: what an imported file is called without `as`.
#[must_use]
pub fn file_stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".iv").unwrap_or(file)
}

/// The names that the pattern of a `let` seems to bind; a constructor without arguments cannot
/// be told from a variable here.
fn bound(tokens: &[Spanned]) -> Name {
    let mut names: Vec<&str> = Vec::new();
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        let next = tokens.get(at + 1).map(|t| &t.token);
        match &token.token {
            Token::Sym(Sym::Assign) => break,
            Token::Sym(Sym::Colon) if depth == 0 => break,
            Token::Sym(sym) if sym.closer().is_some() => depth += 1,
            Token::Sym(sym) if sym.is_closer() => depth = depth.saturating_sub(1),
            // `Leaf(…)` and `m.Leaf` name constructors, `x: p` in a record a field.
            Token::Name(_) if matches!(next, Some(Token::Sym(Sym::LParen | Sym::Dot))) => {}
            Token::Name(_) if depth > 0 && matches!(next, Some(Token::Sym(Sym::Colon))) => {}
            Token::Name(name) => names.push(name),
            _ => {}
        }
    }
    names.join(",").into()
}

//! **Completion context.** Determines the word before the cursor and the category of candidates for
//! it. Uses only the tokens before the cursor, because the text after it may be incomplete.

use lang_core::base::Span;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::lexer::{SpannedToken, Token, is_name_continue, is_name_start, lex};
use lang_core::syntax::token::{Sym, Word};

/// The category of candidates at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CandidateCategory {
    /// An expression.
    Value,
    /// A type.
    Type,
    /// A size between the brackets of a type.
    Size,
    /// A member after the dot at this offset.
    Member(u32),
    /// The name of a module of the library.
    Import,
    /// The first word of an item.
    Item,
    /// The name of a symbol after a backslash. The backslash may also begin a lambda.
    Symbol,
    /// A string argument of a plot.
    PlotText,
    /// A class after `where a:`.
    Class,
    /// No candidates: a new name, a comment or a string.
    NoCandidates,
}

/// The context of a cursor.
#[derive(Debug)]
pub(crate) struct CompletionContext {
    /// The category of candidates.
    pub(crate) category: CandidateCategory,
    /// The part of the word before the cursor, in the module.
    pub(crate) prefix: Span,
    /// The whole word, including the part after the cursor.
    pub(crate) word: Span,
    /// The item that contains the cursor.
    pub(crate) item: Option<ItemRef>,
    /// The tokens of the item before the word. Spans are relative to where lexing began: the item's
    /// start, or the line if there is no item.
    pub(crate) preceding_tokens: Vec<SpannedToken>,
}

impl CompletionContext {
    /// Returns a token before the word; 0 is the last one.
    pub(crate) fn token_before(&self, by: usize) -> Option<&Token> {
        self.preceding_tokens.len().checked_sub(by + 1).and_then(|at| self.preceding_tokens.get(at)).map(|t| &t.token)
    }

    /// Returns the brackets that are open at the cursor, innermost first: the index in `before`,
    /// the symbol, and the number of commas since.
    pub(crate) fn open_brackets(&self) -> Vec<(usize, Sym, usize)> {
        let mut open: Vec<(usize, Sym, usize)> = Vec::new();
        for (at, token) in self.preceding_tokens.iter().enumerate() {
            match token.token {
                Token::Sym(sym) if sym.closer().is_some() => open.push((at, sym, 0)),
                Token::Sym(sym) if sym.is_closer() => {
                    open.pop();
                }
                Token::Sym(Sym::Comma) => {
                    if let Some(last) = open.last_mut() {
                        last.2 += 1;
                    }
                }
                _ => {}
            }
        }
        open.reverse();
        open
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the item that the cursor extends: the item at the offset, or else the item that ends
/// before the white space at the cursor.
pub(crate) fn item_before(session: &Session, module: &str, text: &str, at: u32) -> Option<ItemRef> {
    if let Some(item) = session.item_at(module, at) {
        return Some(item);
    }
    let head = text.get(..at as usize)?;
    session.item_at(module, offset(head.trim_end().len()))
}

/// Returns the context of the offset `at` in a module.
pub(crate) fn completion_context(session: &Session, module: &str, at: u32) -> Option<CompletionContext> {
    let text = session.text(module)?;
    let cursor = text.floor_char_boundary(at as usize);
    let head = text.get(..cursor)?;
    let start = head.char_indices().rev().take_while(|(_, c)| is_name_continue(*c)).last().map_or(cursor, |(at, _)| at);
    let rest = text.get(cursor..)?;
    let end = cursor + rest.find(|c| !is_name_continue(c)).unwrap_or(rest.len());
    let written = text.get(start..cursor)?;
    let line = head.rfind('\n').map_or(0, |n| n + 1);
    let item = item_before(session, module, &text, offset(cursor));
    let from = item.as_ref().map_or(line, |item| item.start as usize).min(line.max(start)).min(start);
    let lexed = lex(text.get(from..start)?);
    let mut place = CompletionContext {
        category: CandidateCategory::Value,
        prefix: Span::new(offset(start), offset(cursor)),
        word: Span::new(offset(start), offset(end)),
        item,
        preceding_tokens: lexed.tokens,
    };
    let here = offset(start - from);
    // A comment extends to the end of its line.
    let line_of = |at: u32| text.get(from + at as usize..start).is_some_and(|t| !t.contains('\n'));
    let commented = lexed.comments.iter().any(|c| line_of(c.span.start));
    let in_text = place.preceding_tokens.last().is_some_and(|t| {
        t.token == Token::Error && text.get(from + t.span.start as usize..).is_some_and(|t| t.starts_with('"'))
    });
    place.category = if commented {
        CandidateCategory::NoCandidates
    } else if in_text {
        place.preceding_tokens.pop();
        category_in_string(&place)
    } else if !written.is_empty() && !written.starts_with(is_name_start) {
        CandidateCategory::NoCandidates
    } else {
        category_at(&place, here, start == line && !written.contains('\n'))
    };
    Some(place)
}

/// Inside a string, only the arguments of `plot` have candidates.
fn category_in_string(place: &CompletionContext) -> CandidateCategory {
    let plots = |(at, sym, _): &(usize, Sym, usize)| {
        let name = at.checked_sub(1).and_then(|at| place.preceding_tokens.get(at)).map(|t| &t.token);
        *sym == Sym::LParen && matches!(name, Some(Token::Name(name)) if name == "plot")
    };
    if place.open_brackets().first().is_some_and(plots) {
        CandidateCategory::PlotText
    } else {
        CandidateCategory::NoCandidates
    }
}

fn category_at(place: &CompletionContext, here: u32, first_column: bool) -> CandidateCategory {
    let last = place.preceding_tokens.last();
    let touches = last.is_some_and(|t| t.span.end == here);
    let Some(last) = last else { return CandidateCategory::Item };
    match &last.token {
        Token::Sym(Sym::Backslash) if touches => return CandidateCategory::Symbol,
        Token::Sym(Sym::Backslash) => return CandidateCategory::NoCandidates,
        Token::Sym(Sym::Dot) => return CandidateCategory::Member(last.span.start),
        Token::Keyword(Word::Import) => return CandidateCategory::Import,
        Token::Keyword(Word::Def | Word::Type | Word::As | Word::For) => return CandidateCategory::NoCandidates,
        Token::Sym(Sym::Question) => return CandidateCategory::NoCandidates,
        _ => {}
    }
    if first_column && (place.open_brackets().is_empty() || place.item.is_none()) {
        return CandidateCategory::Item;
    }
    match category_in_type(place) {
        Some(wanted) => wanted,
        None => CandidateCategory::Value,
    }
}

/// Returns the category of candidates if the cursor is in a written type, else `None`.
fn category_in_type(place: &CompletionContext) -> Option<CandidateCategory> {
    let tokens = &place.preceding_tokens;
    let begins = match tokens.first().map(|t| &t.token) {
        Some(Token::Keyword(Word::Def)) => Word::Def,
        Some(Token::Keyword(Word::Type)) => Word::Type,
        _ => Word::Let,
    };
    let assign = tokens.iter().position(|t| t.token == Token::Sym(Sym::Assign));
    let mut where_at = None;
    match (begins, assign) {
        (Word::Type, None) => return Some(CandidateCategory::NoCandidates),
        (Word::Type, Some(_)) => {
            // A field's name is new; every other name in the body is a type.
            let in_record = place.open_brackets().first().is_some_and(|(_, sym, _)| *sym == Sym::LBrace);
            if in_record && !matches!(place.token_before(0), Some(Token::Sym(Sym::Colon | Sym::RBracket | Sym::Arrow)))
            {
                return Some(CandidateCategory::NoCandidates);
            }
            return Some(size_or_type(place, 0));
        }
        (Word::Def, None) => {
            where_at = tokens.iter().position(|t| t.token == Token::Keyword(Word::Where));
        }
        _ => {}
    }
    if begins == Word::Def && assign.is_none() {
        if where_at.is_some() {
            return Some(match place.token_before(0) {
                Some(Token::Sym(Sym::Colon)) => CandidateCategory::Class,
                _ => CandidateCategory::Type,
            });
        }
        let typed = tokens.iter().any(|t| matches!(t.token, Token::Sym(Sym::Colon | Sym::Arrow)));
        let names = matches!(place.token_before(0), Some(Token::Sym(Sym::Comma)))
            && place.open_brackets().first().is_some_and(|(at, _, _)| *at == 2);
        return Some(if typed && !names { size_or_type(place, 2) } else { CandidateCategory::NoCandidates });
    }
    // After the `:` of a `let`, a lambda or a fold, up to the token that ends its type.
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match &token.token {
            Token::Sym(sym) if sym.is_closer() => depth += 1,
            Token::Sym(sym) if sym.closer().is_some() => {
                if depth == 0 && *sym == Sym::LBrace {
                    return None;
                }
                depth = depth.saturating_sub(1);
            }
            Token::Sym(Sym::Colon) if depth == 0 => {
                return is_type_annotation(tokens, at).then(|| size_or_type(place, at));
            }
            Token::Sym(Sym::Comma | Sym::Arrow | Sym::Dot | Sym::Question) | Token::Name(_) | Token::Int(_) => {}
            Token::Sym(Sym::Plus | Sym::Minus | Sym::Star) => {}
            _ => return None,
        }
    }
    None
}

/// Returns whether the colon at this index precedes a type, after the pattern of a `let`, a fold or
/// a lambda.
fn is_type_annotation(tokens: &[SpannedToken], colon: usize) -> bool {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().take(colon).rev() {
        match &token.token {
            Token::Sym(sym) if sym.is_closer() => depth += 1,
            Token::Sym(Sym::LParen) if depth == 0 => {
                let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map(|t| &t.token);
                return matches!(before, Some(Token::Sym(Sym::Backslash)));
            }
            Token::Sym(sym) if sym.closer().is_some() => depth = depth.saturating_sub(1),
            Token::Keyword(Word::Let | Word::Fold | Word::Scan | Word::Loop) if depth == 0 => return true,
            Token::Name(_) => {}
            _ if depth > 0 => {}
            _ => return false,
        }
    }
    false
}

/// Returns `Size` inside brackets that begin at index `from` or later, because those belong to the
/// type; else `Type`.
fn size_or_type(place: &CompletionContext, from: usize) -> CandidateCategory {
    let in_brackets = place.open_brackets().iter().any(|(at, sym, _)| *sym == Sym::LBracket && *at >= from);
    if in_brackets { CandidateCategory::Size } else { CandidateCategory::Type }
}

//! The tool the printers of expressions, types and items share: small documents, made strictly
//! in the order of the tokens they print, beside a cursor in the source's tokens.
//!
//! The cursor is what keeps comments: every token printed moves it to the same token of the
//! source, so the comments between two tokens are known when the break between them, or the
//! second of them, is made. A break lays them out where they were and must then be taken;
//! between two tokens with no break they become marks that the writer places when the line is
//! complete. Each document begins and ends with a token, so between two tokens there is at
//! most one break: where a comment is put, it stays when the result is formatted again.

use pretty::{Arena, Doc, DocAllocator, RefDoc};

use super::render::{INDENT, Mark};
use crate::base::Name;
use crate::syntax::ast::Tree;
use crate::syntax::lexer::{Comment, Lexed, Spanned, Token};
use crate::syntax::token::{Sym, Word};

/// Stack left before a printer goes on on a fresh one, and the size of that: the printer of one
/// node, in a build without optimisation, takes a few KiB. Generated trees may be deeper than
/// the parser's limit.
const STACK: (usize, usize) = (128 << 10, 1 << 20);

/// A laid out piece of text.
pub(super) type Piece<'a> = RefDoc<'a, Mark>;

/// The text a tree was parsed from.
struct Source<'a> {
    text: &'a str,
    tokens: &'a [Spanned],
    comments: &'a [Comment],
    /// The next token to print.
    at: usize,
    /// The next comment to print.
    comment: usize,
    /// A token was printed that the source has not: what follows can not be trusted.
    lost: bool,
}

impl<'a> Source<'a> {
    fn next(&self) -> Option<&'a Spanned> {
        self.tokens.get(self.at)
    }

    /// Takes the next token if it passes, leaving out brackets and commas that mean nothing.
    fn take(&mut self, passes: impl Fn(&Token) -> bool) -> Option<&'a Spanned> {
        if self.lost {
            return None;
        }
        while let Some(next) = self.next() {
            if passes(&next.token) {
                self.at += 1;
                return Some(next);
            }
            if !may_drop(&next.token) {
                break;
            }
            self.at += 1;
        }
        self.lost = true;
        None
    }

    /// The comments not yet printed that stand before `end`.
    fn comments_before(&mut self, end: u32) -> std::ops::Range<usize> {
        let from = self.comment;
        while self.comments.get(self.comment).is_some_and(|c| c.span.start < end) {
            self.comment += 1;
        }
        from..self.comment
    }

    /// Has the author left a line empty between two places?
    fn blank_between(&self, from: u32, to: u32) -> bool {
        super::blank_between(self.text, from, to)
    }
}

/// Tokens the formatter may leave out: doubled parentheses, a comma before a closing bracket,
/// the bar before the first constructor.
fn may_drop(token: &Token) -> bool {
    matches!(token, Token::Sym(Sym::LParen | Sym::RParen | Sym::Comma | Sym::Bar))
}

/// A place where a line may end.
#[derive(Clone, Copy)]
struct Gap {
    /// What stands there if it does not; `None` if it must.
    flat: Option<&'static str>,
    /// Keep an empty line the author left.
    blank: bool,
    /// It closes a block: comments before it are indented as the block's inside.
    closes: bool,
}

/// Makes documents.
pub(super) struct Printer<'a> {
    pub(super) tree: &'a Tree,
    arena: &'a Arena<'a, Mark>,
    source: Option<Source<'a>>,
}

impl<'a> Printer<'a> {
    /// For a tree without a text, which gets the parentheses it needs.
    pub(super) fn bare(tree: &'a Tree, arena: &'a Arena<'a, Mark>) -> Self {
        Self { tree, arena, source: None }
    }

    /// For a tree with the text it was parsed from. Comments before its first token are taken
    /// to be printed already.
    pub(super) fn with_source(tree: &'a Tree, arena: &'a Arena<'a, Mark>, text: &'a str, lexed: &'a Lexed) -> Self {
        let mut source =
            Source { text, tokens: &lexed.tokens, comments: &lexed.comments, at: 0, comment: 0, lost: false };
        source.comments_before(source.next().map_or(0, |t| t.span.start));
        Self { tree, arena, source: Some(source) }
    }

    /// Is there no text, so that parentheses are up to the printer?
    pub(super) fn is_bare(&self) -> bool {
        self.source.is_none()
    }

    /// How many comments are printed or marked.
    pub(super) fn comments_done(&self) -> usize {
        self.source.as_ref().map_or(0, |s| s.comment)
    }

    /// The item with the comment that ends its last line.
    pub(super) fn end(&mut self, item: Piece<'a>) -> Piece<'a> {
        let Some(source) = &mut self.source else { return item };
        let at = source.comment;
        if source.comments.get(at).is_none_or(|c| c.own_line) {
            return item;
        }
        source.comment += 1;
        self.cat([item, self.mark(Mark::Suffix(at))])
    }

    // Documents.

    pub(super) fn nil(&self) -> Piece<'a> {
        self.arena.alloc(Doc::Nil)
    }

    pub(super) fn cat(&self, pieces: impl IntoIterator<Item = Piece<'a>>) -> Piece<'a> {
        pieces.into_iter().fold(self.nil(), |all, piece| match (&*all, &*piece) {
            (Doc::Nil, _) => piece,
            (_, Doc::Nil) => all,
            _ => self.arena.alloc(Doc::Append(all, piece)),
        })
    }

    pub(super) fn group(&self, piece: Piece<'a>) -> Piece<'a> {
        self.arena.alloc(Doc::Group(piece))
    }

    pub(super) fn nest(&self, piece: Piece<'a>) -> Piece<'a> {
        self.arena.alloc(Doc::Nest(INDENT.cast_signed(), piece))
    }

    /// Indented twice, so that it stands apart from the body that follows it.
    pub(super) fn hang(&self, piece: Piece<'a>) -> Piece<'a> {
        self.nest(self.nest(piece))
    }

    /// Text that is no token, such as a space.
    pub(super) fn raw(&self, text: &'static str) -> Piece<'a> {
        self.arena.text(text).into_doc()
    }

    pub(super) fn space(&self) -> Piece<'a> {
        self.raw(" ")
    }

    /// `broken` where the group around it is broken, else `flat`. Neither is a token.
    pub(super) fn either(&self, broken: &'static str, flat: &'static str) -> Piece<'a> {
        self.arena.alloc(Doc::FlatAlt(self.raw(broken), self.raw(flat)))
    }

    fn owned(&self, text: String) -> Piece<'a> {
        self.arena.text(text).into_doc()
    }

    fn mark(&self, mark: Mark) -> Piece<'a> {
        self.arena.alloc(Doc::Annotated(mark, self.nil()))
    }

    // Tokens.

    /// Goes to the source's next token, which must pass; gives the marks of comments that stand
    /// before it and had no break to go to, and the token's own text.
    fn step(&mut self, passes: impl Fn(&Token) -> bool) -> (Piece<'a>, Option<&'a str>) {
        let Some(source) = &mut self.source else { return (self.nil(), None) };
        let Some(token) = source.take(passes) else { return (self.nil(), None) };
        let text = source.text.get(token.span.range());
        let loose = source.comments_before(token.span.start);
        (self.cat(loose.map(|at| self.mark(Mark::Loose(at)))), text)
    }

    /// A symbol.
    pub(super) fn sym(&mut self, sym: Sym) -> Piece<'a> {
        let (marks, _) = self.step(|t| *t == Token::Sym(sym));
        self.cat([marks, self.raw(sym.text())])
    }

    /// A reserved word.
    pub(super) fn word(&mut self, word: Word) -> Piece<'a> {
        let (marks, _) = self.step(|t| *t == Token::Word(word));
        self.cat([marks, self.raw(word.text())])
    }

    /// A symbol that the source may lack here.
    pub(super) fn sym_or_new(&mut self, sym: Sym) -> Piece<'a> {
        let there = self.source.as_ref().and_then(Source::next).is_none_or(|t| t.token == Token::Sym(sym));
        if there { self.sym(sym) } else { self.raw(sym.text()) }
    }

    /// Goes past a symbol that the source may have here; it is not printed.
    pub(super) fn pass_over(&mut self, sym: Sym) {
        if let Some(source) = &mut self.source
            && source.next().is_some_and(|t| t.token == Token::Sym(sym))
        {
            source.at += 1;
        }
    }

    /// A name, or a word that stands as one.
    pub(super) fn name(&mut self, name: &Name) -> Piece<'a> {
        let (marks, _) = self.step(|t| match t {
            Token::Name(text) => text == name,
            Token::Word(word) => word.text() == name.as_str(),
            _ => false,
        });
        self.cat([marks, self.owned(name.to_string())])
    }

    /// An index variable's or parameter's name, which may be `_`.
    pub(super) fn variable(&mut self, name: &Name) -> Piece<'a> {
        if name == Sym::Underscore.text() { self.sym(Sym::Underscore) } else { self.name(name) }
    }

    /// A whole number, as the source spells it.
    pub(super) fn int(&mut self, value: u64) -> Piece<'a> {
        let (marks, text) = self.step(|t| *t == Token::Int(value));
        self.cat([marks, self.owned(text.map_or_else(|| value.to_string(), str::to_owned))])
    }

    /// A real number, as the source spells it.
    pub(super) fn float(&mut self, value: f64) -> Piece<'a> {
        let (marks, text) = self.step(|t| matches!(t, Token::Float(other) if other.to_bits() == value.to_bits()));
        let spelled = || match value {
            // Names, as no literal has these values.
            v if v.is_nan() => "nan".to_owned(),
            v if v.is_infinite() => "inf".to_owned(),
            v => format!("{v:?}"),
        };
        self.cat([marks, self.owned(text.map_or_else(spelled, str::to_owned))])
    }

    /// A string.
    pub(super) fn string(&mut self, value: &Name) -> Piece<'a> {
        let (marks, text) = self.step(|t| matches!(t, Token::Str(other) if other == value));
        self.cat([marks, self.owned(text.map_or_else(|| quoted(value), str::to_owned))])
    }

    // Breaks.

    /// Does the source end the line before the next token?
    pub(super) fn line_ended(&self) -> bool {
        let Some(source) = &self.source else { return false };
        let last = source.at.checked_sub(1).and_then(|at| source.tokens.get(at));
        let (Some(last), Some(next)) = (last, source.next()) else { return false };
        source.text.get(last.span.range().end..next.span.range().start).is_some_and(|between| between.contains('\n'))
    }

    /// A space, or a new line where the group around it does not fit.
    pub(super) fn line(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: Some(" "), blank: false, closes: false })
    }

    /// Nothing, or a new line where the group around it does not fit.
    pub(super) fn edge(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: Some(""), blank: false, closes: false })
    }

    /// Before a closing bracket: like [`Self::line`] or [`Self::edge`], by `flat`.
    pub(super) fn closing(&mut self, flat: &'static str) -> Piece<'a> {
        self.gap(Gap { flat: Some(flat), blank: false, closes: true })
    }

    /// A new line. An empty line that the author left is kept.
    pub(super) fn newline(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: None, blank: true, closes: false })
    }

    /// A space, or a new line where what follows does not fit, whatever the group does.
    pub(super) fn fill(&mut self) -> Piece<'a> {
        let line = self.line();
        match *line {
            Doc::FlatAlt(_, flat) if !matches!(*flat, Doc::Fail) => self.group(line),
            _ => line,
        }
    }

    fn gap(&mut self, gap: Gap) -> Piece<'a> {
        let arena = self.arena;
        let plain = arena.alloc(Doc::Hardline);
        let or_flat = |broken| match gap.flat {
            Some(flat) => arena.alloc(Doc::FlatAlt(broken, arena.text(flat).into_doc())),
            None => broken,
        };
        let Some(source) = self.source.as_mut().filter(|s| !s.lost) else { return or_flat(plain) };
        let (Some(next), Some(last)) = (source.next(), source.at.checked_sub(1).and_then(|at| source.tokens.get(at)))
        else {
            return or_flat(plain);
        };
        let range = source.comments_before(next.span.start);
        let mut end = last.span.end;
        let mut suffix = None;
        let mut above = Vec::new();
        for at in range {
            let Some(comment) = source.comments.get(at) else { continue };
            if !comment.own_line && suffix.is_none() && above.is_empty() {
                suffix = Some(at);
            } else {
                above.push((gap.blank && source.blank_between(end, comment.span.start), at));
            }
            end = comment.span.end;
        }
        let blank = gap.blank && source.blank_between(end, next.span.start);
        if suffix.is_none() && above.is_empty() && !blank {
            return or_flat(plain);
        }
        let mut lines = Vec::new();
        for (blank, at) in above {
            let text = source.comments.get(at).and_then(|c| source.text.get(c.span.range())).unwrap_or_default();
            lines.extend(blank.then_some(plain));
            lines.push(plain);
            lines.push(arena.text(text.trim_end()).into_doc());
        }
        let mut broken = self.cat(lines);
        if gap.closes {
            broken = self.nest(broken);
        }
        broken = self.cat([broken, if blank { plain } else { self.nil() }, plain]);
        // Flat is no choice any more, here and in all groups around.
        let must = self.arena.alloc(Doc::FlatAlt(broken, self.arena.alloc(Doc::Fail)));
        match suffix {
            Some(at) => self.cat([self.mark(Mark::Suffix(at)), must]),
            None => must,
        }
    }

    // Shapes that many forms share.

    /// Goes one node deeper.
    pub(super) fn deep<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        stacker::maybe_grow(STACK.0, STACK.1, || print(self))
    }

    /// `open`, items with commas between them, `close`: on one line or one item a line.
    pub(super) fn block(
        &mut self,
        open: Sym,
        count: usize,
        close: Sym,
        item: impl FnMut(&mut Self, usize) -> Piece<'a>,
    ) -> Piece<'a> {
        let block = self.open_block(open, count, close, item);
        self.group(block)
    }

    /// The same, laid out as the group around it is.
    pub(super) fn open_block(
        &mut self,
        open: Sym,
        count: usize,
        close: Sym,
        mut item: impl FnMut(&mut Self, usize) -> Piece<'a>,
    ) -> Piece<'a> {
        let open = self.sym(open);
        if count == 0 {
            let close = self.sym(close);
            return self.cat([open, close]);
        }
        let mut inside = vec![self.edge()];
        for at in 0..count {
            if at > 0 {
                inside.push(self.sym(Sym::Comma));
                inside.push(self.line());
            }
            inside.push(item(self, at));
        }
        let inside = self.nest(self.cat(inside));
        let end = self.closing("");
        let close = self.sym(close);
        self.cat([open, inside, end, close])
    }
}

/// A string literal with this value.
fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for c in value.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

//! **Document builder** for the printers of expressions, types and items. It builds small documents
//! strictly in token order, in step with a cursor into the source tokens.
//!
//! The cursor is the mechanism that keeps comments. Every printed token moves it to the same token
//! of the source. The builder therefore knows the comments between two tokens when it emits the
//! break between them, or the second token.
//!
//! A break lays out its comments at their original position, and must then be broken. Comments
//! between two tokens without a break become marks, which the writer places when the line is
//! complete. Each document begins and ends with a token, so at most one break separates two tokens.
//! A comment therefore keeps its place when the result is formatted again.

use pretty::{Arena, Doc, DocAllocator, RefDoc};

use super::render::{INDENT, Mark};
use crate::ast::Tree;
use crate::lexer::{Comment, Lexed, Spanned, Token};
use crate::token::{Sym, Word};
use lang_base::Name;

/// The stack reserve at which a printer switches to a new stack segment, and the size of that
/// segment. In an unoptimised build, printing one node takes a few KiB. Generated trees may exceed
/// the parser's depth limit.
const STACK: (usize, usize) = (128 << 10, 1 << 20);

/// A document of laid-out text.
pub(super) type Piece<'a> = RefDoc<'a, Mark>;

/// The source text of a tree.
struct Source<'a> {
    text: &'a str,
    tokens: &'a [Spanned],
    comments: &'a [Comment],
    /// The next token to print.
    at: usize,
    /// The next comment to print.
    comment: usize,
    /// Whether the printer has printed a token that the source lacks. The cursor is unreliable from
    /// then on.
    lost: bool,
}

impl<'a> Source<'a> {
    fn next(&self) -> Option<&'a Spanned> {
        self.tokens.get(self.at)
    }

    /// Returns the next token that passes, after skipping redundant brackets and commas.
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

    /// Returns the indices of the pending comments before `end`.
    fn comments_before(&mut self, end: u32) -> std::ops::Range<usize> {
        let from = self.comment;
        while self.comments.get(self.comment).is_some_and(|c| c.span.start < end) {
            self.comment += 1;
        }
        from..self.comment
    }

    /// Whether a blank line separates two positions in the source.
    fn blank_between(&self, from: u32, to: u32) -> bool {
        super::blank_between(self.text, from, to)
    }
}

/// Whether the formatter may omit the token: doubled parentheses, a comma before a closing bracket,
/// the bar before the first constructor.
fn may_drop(token: &Token) -> bool {
    matches!(token, Token::Sym(Sym::LParen | Sym::RParen | Sym::Comma | Sym::Bar))
}

/// A potential line break.
#[derive(Clone, Copy)]
struct Gap {
    /// The text in place of the break on one line; `None` if the break is mandatory.
    flat: Option<&'static str>,
    /// Whether a blank line of the source is kept.
    blank: bool,
    /// Whether the break closes a block. Comments before it are then indented like the block's
    /// contents.
    closes: bool,
}

/// The printer of a tree.
pub(super) struct Printer<'a> {
    pub(super) tree: &'a Tree,
    arena: &'a Arena<'a, Mark>,
    source: Option<Source<'a>>,
}

impl<'a> Printer<'a> {
    /// Creates a printer for a tree without source text, which inserts the necessary parentheses.
    pub(super) fn bare(tree: &'a Tree, arena: &'a Arena<'a, Mark>) -> Self {
        Self { tree, arena, source: None }
    }

    /// Creates a printer for a tree and its source text. The caller must print the comments before
    /// the first token itself.
    pub(super) fn with_source(tree: &'a Tree, arena: &'a Arena<'a, Mark>, text: &'a str, lexed: &'a Lexed) -> Self {
        let mut source =
            Source { text, tokens: &lexed.tokens, comments: &lexed.comments, at: 0, comment: 0, lost: false };
        source.comments_before(source.next().map_or(0, |t| t.span.start));
        Self { tree, arena, source: Some(source) }
    }

    /// Whether the tree has no source text, so that the printer must insert parentheses.
    pub(super) fn is_bare(&self) -> bool {
        self.source.is_none()
    }

    /// Returns the number of comments that are printed or marked.
    pub(super) fn comments_done(&self) -> usize {
        self.source.as_ref().map_or(0, |s| s.comment)
    }

    /// Appends the comment that ends the item's last line.
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

    /// Indents twice, which separates the text visually from the body after it.
    pub(super) fn hang(&self, piece: Piece<'a>) -> Piece<'a> {
        self.nest(self.nest(piece))
    }

    /// Text that is not a token, such as a space.
    pub(super) fn raw(&self, text: &'static str) -> Piece<'a> {
        self.arena.text(text).into_doc()
    }

    pub(super) fn space(&self) -> Piece<'a> {
        self.raw(" ")
    }

    /// `broken` if the enclosing group is broken, else `flat`. Neither may be a token.
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

    /// Advances to the source's next token, which must pass. Returns marks for the comments before
    /// it that no break has placed, and the token's own text.
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

    /// A symbol that may be absent from the source.
    pub(super) fn sym_or_new(&mut self, sym: Sym) -> Piece<'a> {
        let there = self.source.as_ref().and_then(Source::next).is_none_or(|t| t.token == Token::Sym(sym));
        if there { self.sym(sym) } else { self.raw(sym.text()) }
    }

    /// Skips a symbol if the source has one here, without printing it.
    pub(super) fn pass_over(&mut self, sym: Sym) {
        if let Some(source) = &mut self.source
            && source.next().is_some_and(|t| t.token == Token::Sym(sym))
        {
            source.at += 1;
        }
    }

    /// A name, or a reserved word used as one.
    pub(super) fn name(&mut self, name: &Name) -> Piece<'a> {
        let (marks, _) = self.step(|t| match t {
            Token::Name(text) => text == name,
            Token::Word(word) => word.text() == name.as_str(),
            _ => false,
        });
        self.cat([marks, self.owned(name.to_string())])
    }

    /// The name of an index variable or parameter, which may be `_`.
    pub(super) fn variable(&mut self, name: &Name) -> Piece<'a> {
        if name == Sym::Underscore.text() { self.sym(Sym::Underscore) } else { self.name(name) }
    }

    /// An integer, in the spelling of the source.
    pub(super) fn int(&mut self, value: u64) -> Piece<'a> {
        let (marks, text) = self.step(|t| *t == Token::Int(value));
        self.cat([marks, self.owned(text.map_or_else(|| value.to_string(), str::to_owned))])
    }

    /// A real number, in the spelling of the source.
    pub(super) fn float(&mut self, value: f64) -> Piece<'a> {
        let (marks, text) = self.step(|t| matches!(t, Token::Float(other) if other.to_bits() == value.to_bits()));
        let spelled = || match value {
            // Names, because no literal has these values.
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

    /// Whether the source ends the line before the next token.
    pub(super) fn line_ended(&self) -> bool {
        let Some(source) = &self.source else { return false };
        let last = source.at.checked_sub(1).and_then(|at| source.tokens.get(at));
        let (Some(last), Some(next)) = (last, source.next()) else { return false };
        source.text.get(last.span.range().end..next.span.range().start).is_some_and(|between| between.contains('\n'))
    }

    /// A space, or a new line if the enclosing group does not fit.
    pub(super) fn line(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: Some(" "), blank: false, closes: false })
    }

    /// Nothing, or a new line if the enclosing group does not fit.
    pub(super) fn edge(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: Some(""), blank: false, closes: false })
    }

    /// The break before a closing bracket: `flat`, or a new line if the enclosing group does not
    /// fit.
    pub(super) fn closing(&mut self, flat: &'static str) -> Piece<'a> {
        self.gap(Gap { flat: Some(flat), blank: false, closes: true })
    }

    /// A new line. A blank line of the source is kept.
    pub(super) fn newline(&mut self) -> Piece<'a> {
        self.gap(Gap { flat: None, blank: true, closes: false })
    }

    /// A space, or a new line if the following text does not fit, independently of the enclosing
    /// group.
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
        // The flat alternative fails, so this group and all enclosing ones must break.
        let must = self.arena.alloc(Doc::FlatAlt(broken, self.arena.alloc(Doc::Fail)));
        match suffix {
            Some(at) => self.cat([self.mark(Mark::Suffix(at)), must]),
            None => must,
        }
    }

    // Shapes shared by many forms.

    /// Prints a nested node, on a new stack segment if the stack runs low.
    pub(super) fn deep<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        stacker::maybe_grow(STACK.0, STACK.1, || print(self))
    }

    /// `open`, comma-separated items, `close`: on one line, or one item per line.
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

    /// Like [`Self::block`], but breaks together with the enclosing group.
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

/// Returns the string literal for a value.
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

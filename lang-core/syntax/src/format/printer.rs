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

use super::render::{CommentMark, INDENT};
use crate::ast::Tree;
use crate::lexer::{Comment, LexedText, SpannedToken, Token};
use crate::token::{Sym, Word};
use lang_base::Name;

/// The stack reserve at which a printer switches to a new stack segment, and the size of that
/// segment. In an unoptimised build, printing one node takes a few KiB. Generated trees may exceed
/// the parser's depth limit.
const STACK_RESERVE: (usize, usize) = (128 << 10, 1 << 20);

/// A document of laid-out text.
pub(super) type LayoutDoc<'a> = RefDoc<'a, CommentMark>;

/// The source text of a tree.
struct SourceCursor<'a> {
    text: &'a str,
    tokens: &'a [SpannedToken],
    comments: &'a [Comment],
    /// The next token to print.
    next_token: usize,
    /// The next comment to print.
    next_comment: usize,
    /// Whether the printer has printed a token that the source lacks. The cursor is unreliable from
    /// then on.
    is_out_of_sync: bool,
}

impl<'a> SourceCursor<'a> {
    fn peek(&self) -> Option<&'a SpannedToken> {
        self.tokens.get(self.next_token)
    }

    /// Returns the next token that passes, after skipping redundant brackets and commas.
    fn take_matching(&mut self, passes: impl Fn(&Token) -> bool) -> Option<&'a SpannedToken> {
        if self.is_out_of_sync {
            return None;
        }
        while let Some(next) = self.peek() {
            if passes(&next.token) {
                self.next_token += 1;
                return Some(next);
            }
            if !is_optional_token(&next.token) {
                break;
            }
            self.next_token += 1;
        }
        self.is_out_of_sync = true;
        None
    }

    /// Returns the indices of the pending comments before `end`.
    fn comments_before(&mut self, end: u32) -> std::ops::Range<usize> {
        let from = self.next_comment;
        while self.comments.get(self.next_comment).is_some_and(|c| c.span.start < end) {
            self.next_comment += 1;
        }
        from..self.next_comment
    }

    /// Whether a blank line separates two positions in the source.
    fn has_blank_line_between(&self, from: u32, to: u32) -> bool {
        super::has_blank_line_between(self.text, from, to)
    }
}

/// Whether the formatter may omit the token: doubled parentheses, a comma before a closing bracket,
/// the bar before the first constructor.
fn is_optional_token(token: &Token) -> bool {
    matches!(token, Token::Sym(Sym::LParen | Sym::RParen | Sym::Comma | Sym::Bar))
}

/// A potential line break.
#[derive(Clone, Copy)]
struct LineBreak {
    /// The text in place of the break on one line; `None` if the break is mandatory.
    flat: Option<&'static str>,
    /// Whether a blank line of the source is kept.
    keeps_blank_line: bool,
    /// Whether the break closes a block. Comments before it are then indented like the block's
    /// contents.
    closes_block: bool,
}

/// The printer of a tree.
pub(super) struct Printer<'a> {
    pub(super) tree: &'a Tree,
    arena: &'a Arena<'a, CommentMark>,
    source: Option<SourceCursor<'a>>,
}

impl<'a> Printer<'a> {
    /// Creates a printer for a tree without source text, which inserts the necessary parentheses.
    pub(super) fn bare(tree: &'a Tree, arena: &'a Arena<'a, CommentMark>) -> Self {
        Self { tree, arena, source: None }
    }

    /// Creates a printer for a tree and its source text. The caller must print the comments before
    /// the first token itself.
    pub(super) fn with_source(
        tree: &'a Tree,
        arena: &'a Arena<'a, CommentMark>,
        text: &'a str,
        lexed: &'a LexedText,
    ) -> Self {
        let mut source = SourceCursor {
            text,
            tokens: &lexed.tokens,
            comments: &lexed.comments,
            next_token: 0,
            next_comment: 0,
            is_out_of_sync: false,
        };
        source.comments_before(source.peek().map_or(0, |t| t.span.start));
        Self { tree, arena, source: Some(source) }
    }

    /// Whether the tree has no source text, so that the printer must insert parentheses.
    pub(super) fn is_bare(&self) -> bool {
        self.source.is_none()
    }

    /// Returns the number of comments that are printed or marked.
    pub(super) fn printed_comments(&self) -> usize {
        self.source.as_ref().map_or(0, |s| s.next_comment)
    }

    /// Appends the comment that ends the item's last line.
    pub(super) fn append_suffix_comment(&mut self, item: LayoutDoc<'a>) -> LayoutDoc<'a> {
        let Some(source) = &mut self.source else { return item };
        let at = source.next_comment;
        if source.comments.get(at).is_none_or(|c| c.is_own_line) {
            return item;
        }
        source.next_comment += 1;
        self.concat([item, self.mark(CommentMark::Suffix(at))])
    }

    // Documents.

    pub(super) fn nil(&self) -> LayoutDoc<'a> {
        self.arena.alloc(Doc::Nil)
    }

    pub(super) fn concat(&self, pieces: impl IntoIterator<Item = LayoutDoc<'a>>) -> LayoutDoc<'a> {
        pieces.into_iter().fold(self.nil(), |all, piece| match (&*all, &*piece) {
            (Doc::Nil, _) => piece,
            (_, Doc::Nil) => all,
            _ => self.arena.alloc(Doc::Append(all, piece)),
        })
    }

    pub(super) fn group(&self, piece: LayoutDoc<'a>) -> LayoutDoc<'a> {
        self.arena.alloc(Doc::Group(piece))
    }

    pub(super) fn nest(&self, piece: LayoutDoc<'a>) -> LayoutDoc<'a> {
        self.arena.alloc(Doc::Nest(INDENT.cast_signed(), piece))
    }

    /// Indents twice, which separates the text visually from the body after it.
    pub(super) fn double_nest(&self, piece: LayoutDoc<'a>) -> LayoutDoc<'a> {
        self.nest(self.nest(piece))
    }

    /// Text that is not a token, such as a space.
    pub(super) fn static_text(&self, text: &'static str) -> LayoutDoc<'a> {
        self.arena.text(text).into_doc()
    }

    pub(super) fn space(&self) -> LayoutDoc<'a> {
        self.static_text(" ")
    }

    /// `broken` if the enclosing group is broken, else `flat`. Neither may be a token.
    pub(super) fn flat_alt(&self, broken: &'static str, flat: &'static str) -> LayoutDoc<'a> {
        self.arena.alloc(Doc::FlatAlt(self.static_text(broken), self.static_text(flat)))
    }

    fn owned_text(&self, text: String) -> LayoutDoc<'a> {
        self.arena.text(text).into_doc()
    }

    fn mark(&self, mark: CommentMark) -> LayoutDoc<'a> {
        self.arena.alloc(Doc::Annotated(mark, self.nil()))
    }

    // Tokens.

    /// Advances to the source's next token, which must pass. Returns marks for the comments before
    /// it that no break has placed, and the token's own text.
    fn advance(&mut self, passes: impl Fn(&Token) -> bool) -> (LayoutDoc<'a>, Option<&'a str>) {
        let Some(source) = &mut self.source else { return (self.nil(), None) };
        let Some(token) = source.take_matching(passes) else { return (self.nil(), None) };
        let text = source.text.get(token.span.range());
        let loose = source.comments_before(token.span.start);
        (self.concat(loose.map(|at| self.mark(CommentMark::Loose(at)))), text)
    }

    /// A symbol.
    pub(super) fn sym(&mut self, sym: Sym) -> LayoutDoc<'a> {
        let (marks, _) = self.advance(|t| *t == Token::Sym(sym));
        self.concat([marks, self.static_text(sym.text())])
    }

    /// A reserved word.
    pub(super) fn word(&mut self, word: Word) -> LayoutDoc<'a> {
        let (marks, _) = self.advance(|t| *t == Token::Keyword(word));
        self.concat([marks, self.static_text(word.text())])
    }

    /// A symbol that may be absent from the source.
    pub(super) fn sym_or_inserted(&mut self, sym: Sym) -> LayoutDoc<'a> {
        let there = self.source.as_ref().and_then(SourceCursor::peek).is_none_or(|t| t.token == Token::Sym(sym));
        if there { self.sym(sym) } else { self.static_text(sym.text()) }
    }

    /// Skips a symbol if the source has one here, without printing it.
    pub(super) fn skip_sym(&mut self, sym: Sym) {
        if let Some(source) = &mut self.source
            && source.peek().is_some_and(|t| t.token == Token::Sym(sym))
        {
            source.next_token += 1;
        }
    }

    /// A name, or a reserved word used as one.
    pub(super) fn name(&mut self, name: &Name) -> LayoutDoc<'a> {
        let (marks, _) = self.advance(|t| match t {
            Token::Name(text) => text == name,
            Token::Keyword(word) => word.text() == name.as_str(),
            _ => false,
        });
        self.concat([marks, self.owned_text(name.to_string())])
    }

    /// The name of an index variable or parameter, which may be `_`.
    pub(super) fn variable(&mut self, name: &Name) -> LayoutDoc<'a> {
        if name == Sym::Underscore.text() { self.sym(Sym::Underscore) } else { self.name(name) }
    }

    /// An integer, in the spelling of the source.
    pub(super) fn int(&mut self, value: u64) -> LayoutDoc<'a> {
        let (marks, text) = self.advance(|t| *t == Token::Int(value));
        self.concat([marks, self.owned_text(text.map_or_else(|| value.to_string(), str::to_owned))])
    }

    /// A real number, in the spelling of the source.
    pub(super) fn float(&mut self, value: f64) -> LayoutDoc<'a> {
        let (marks, text) = self.advance(|t| matches!(t, Token::Float(other) if other.to_bits() == value.to_bits()));
        let spelled = || match value {
            // Names, because no literal has these values.
            v if v.is_nan() => "nan".to_owned(),
            v if v.is_infinite() => "inf".to_owned(),
            v => format!("{v:?}"),
        };
        self.concat([marks, self.owned_text(text.map_or_else(spelled, str::to_owned))])
    }

    /// A string.
    pub(super) fn string(&mut self, value: &Name) -> LayoutDoc<'a> {
        let (marks, text) = self.advance(|t| matches!(t, Token::Str(other) if other == value));
        self.concat([marks, self.owned_text(text.map_or_else(|| quote_string(value), str::to_owned))])
    }

    // Breaks.

    /// Whether the source ends the line before the next token.
    pub(super) fn source_breaks_line(&self) -> bool {
        let Some(source) = &self.source else { return false };
        let last = source.next_token.checked_sub(1).and_then(|at| source.tokens.get(at));
        let (Some(last), Some(next)) = (last, source.peek()) else { return false };
        source.text.get(last.span.range().end..next.span.range().start).is_some_and(|between| between.contains('\n'))
    }

    /// A space, or a new line if the enclosing group does not fit.
    pub(super) fn line(&mut self) -> LayoutDoc<'a> {
        self.line_break(LineBreak { flat: Some(" "), keeps_blank_line: false, closes_block: false })
    }

    /// Nothing, or a new line if the enclosing group does not fit.
    pub(super) fn line_or_nothing(&mut self) -> LayoutDoc<'a> {
        self.line_break(LineBreak { flat: Some(""), keeps_blank_line: false, closes_block: false })
    }

    /// The break before a closing bracket: `flat`, or a new line if the enclosing group does not
    /// fit.
    pub(super) fn closing_break(&mut self, flat: &'static str) -> LayoutDoc<'a> {
        self.line_break(LineBreak { flat: Some(flat), keeps_blank_line: false, closes_block: true })
    }

    /// A new line. A blank line of the source is kept.
    pub(super) fn newline(&mut self) -> LayoutDoc<'a> {
        self.line_break(LineBreak { flat: None, keeps_blank_line: true, closes_block: false })
    }

    /// A space, or a new line if the following text does not fit, independently of the enclosing
    /// group.
    pub(super) fn soft_line(&mut self) -> LayoutDoc<'a> {
        let line = self.line();
        match *line {
            Doc::FlatAlt(_, flat) if !matches!(*flat, Doc::Fail) => self.group(line),
            _ => line,
        }
    }

    fn line_break(&mut self, gap: LineBreak) -> LayoutDoc<'a> {
        let arena = self.arena;
        let plain = arena.alloc(Doc::Hardline);
        let or_flat = |broken| match gap.flat {
            Some(flat) => arena.alloc(Doc::FlatAlt(broken, arena.text(flat).into_doc())),
            None => broken,
        };
        let Some(source) = self.source.as_mut().filter(|s| !s.is_out_of_sync) else { return or_flat(plain) };
        let (Some(next), Some(last)) =
            (source.peek(), source.next_token.checked_sub(1).and_then(|at| source.tokens.get(at)))
        else {
            return or_flat(plain);
        };
        let range = source.comments_before(next.span.start);
        let mut end = last.span.end;
        let mut suffix = None;
        let mut above = Vec::new();
        for at in range {
            let Some(comment) = source.comments.get(at) else { continue };
            if !comment.is_own_line && suffix.is_none() && above.is_empty() {
                suffix = Some(at);
            } else {
                above.push((gap.keeps_blank_line && source.has_blank_line_between(end, comment.span.start), at));
            }
            end = comment.span.end;
        }
        let blank = gap.keeps_blank_line && source.has_blank_line_between(end, next.span.start);
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
        let mut broken = self.concat(lines);
        if gap.closes_block {
            broken = self.nest(broken);
        }
        broken = self.concat([broken, if blank { plain } else { self.nil() }, plain]);
        // The flat alternative fails, so this group and all enclosing ones must break.
        let must = self.arena.alloc(Doc::FlatAlt(broken, self.arena.alloc(Doc::Fail)));
        match suffix {
            Some(at) => self.concat([self.mark(CommentMark::Suffix(at)), must]),
            None => must,
        }
    }

    // Shapes shared by many forms.

    /// Prints a nested node, on a new stack segment if the stack runs low.
    pub(super) fn with_stack<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        stacker::maybe_grow(STACK_RESERVE.0, STACK_RESERVE.1, || print(self))
    }

    /// `open`, comma-separated items, `close`: on one line, or one item per line.
    pub(super) fn bracketed_block(
        &mut self,
        open: Sym,
        count: usize,
        close: Sym,
        item: impl FnMut(&mut Self, usize) -> LayoutDoc<'a>,
    ) -> LayoutDoc<'a> {
        let block = self.ungrouped_block(open, count, close, item);
        self.group(block)
    }

    /// Like [`Self::bracketed_block`], but breaks together with the enclosing group.
    pub(super) fn ungrouped_block(
        &mut self,
        open: Sym,
        count: usize,
        close: Sym,
        mut item: impl FnMut(&mut Self, usize) -> LayoutDoc<'a>,
    ) -> LayoutDoc<'a> {
        let open = self.sym(open);
        if count == 0 {
            let close = self.sym(close);
            return self.concat([open, close]);
        }
        let mut inside = vec![self.line_or_nothing()];
        for at in 0..count {
            if at > 0 {
                inside.push(self.sym(Sym::Comma));
                inside.push(self.line());
            }
            inside.push(item(self, at));
        }
        let inside = self.nest(self.concat(inside));
        let end = self.closing_break("");
        let close = self.sym(close);
        self.concat([open, inside, end, close])
    }
}

/// Returns the string literal for a value.
fn quote_string(value: &str) -> String {
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

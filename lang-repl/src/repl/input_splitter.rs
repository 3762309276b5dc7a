//! **Splitting lines into inputs.** The parser decides whether an input is complete. An empty line
//! or a command ends it in any case.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::token::{Sym, Word};

/// A buffer that collects lines until they form an input.
#[derive(Default)]
pub(crate) struct InputBuffer {
    text: String,
    /// The number of open brackets. While it is positive, the input is incomplete and the parser
    /// need not run.
    depth: i64,
}

impl InputBuffer {
    /// Returns whether the buffer is blank.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Adds a line without its end, and returns the inputs that it completes. A command also ends
    /// the input collected before it, so the result may have two inputs.
    pub(crate) fn push_line(&mut self, line: &str) -> Vec<String> {
        let blank = line.trim().is_empty();
        // A command is always a single line.
        if is_command(line) && self.can_end_input(line) || self.is_empty() && line.trim_start().starts_with(':') {
            return self.take_rest().into_iter().chain([line.to_owned()]).collect();
        }
        if self.is_empty() {
            self.text.clear();
            self.depth = 0;
            if blank {
                return Vec::new();
            }
        } else {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.depth += bracket_depth(line);
        let more = !blank && (self.depth > 0 || is_unfinished(&self.text));
        if more { Vec::new() } else { vec![std::mem::take(&mut self.text)] }
    }

    /// Whether a command-like line may end the collected input. Inside brackets, `?n` is an extent.
    fn can_end_input(&self, line: &str) -> bool {
        self.is_empty() || self.depth <= 0 || !line.trim_start().starts_with('?')
    }

    /// Returns the incomplete input at the end of the lines, if any.
    pub(crate) fn take_rest(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Whether the line is a command in any position. A line that begins with the `:` of a body is
/// none.
fn is_command(line: &str) -> bool {
    let name = line.trim_start().strip_prefix(':').and_then(|rest| rest.chars().next());
    name.is_some_and(|c| c.is_ascii_alphabetic() || c == '?') || line.trim_start().starts_with('?')
}

/// Whether the text needs more lines: by the parser, or because it is only documentation of a later
/// item.
fn is_unfinished(text: &str) -> bool {
    let lexed = lex(text);
    // `type x` asks for the type of `x`; a `type` item continues on its first line.
    let asks = lexed.tokens.len() == 2 && lexed.tokens.first().is_some_and(|t| t.token == Token::Keyword(Word::Type));
    if asks {
        return false;
    }
    if lexed.tokens.is_empty() { lexed.comments.iter().any(|c| c.is_doc) } else { parser::is_incomplete(text) }
}

/// Whether Enter in the editor begins a new line instead of ending the input.
pub(crate) fn needs_more_lines(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default();
    let forced = text.contains('\n') && last.trim().is_empty();
    let command = text.trim_start().starts_with([':', '?']);
    let asks = is_command(last) && (bracket_depth(text) <= 0 || !last.trim_start().starts_with('?'));
    !forced && !command && !asks && !text.trim().is_empty() && is_unfinished(text)
}

/// Splits pasted text into inputs. It works line by line, but a line that cannot begin an input
/// continues the previous one.
pub(crate) fn split_pasted(text: &str) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    let mut gather = InputBuffer::default();
    for line in text.lines() {
        match inputs.last_mut() {
            Some(last)
                if gather.is_empty() && !last.starts_with([':', '?']) && !is_command(line) && continues_input(line) =>
            {
                let mut joined_input = std::mem::take(last);
                joined_input.push('\n');
                joined_input.push_str(line);
                inputs.pop();
                gather = InputBuffer::default();
                inputs.extend(gather.set_block(joined_input));
            }
            _ => inputs.extend(gather.push_line(line)),
        }
    }
    inputs.extend(gather.take_rest());
    inputs
}

impl InputBuffer {
    /// Sets the buffer to several lines at once; returns them if they are complete.
    fn set_block(&mut self, text: String) -> Option<String> {
        self.depth = bracket_depth(&text);
        self.text = text;
        let more = self.depth > 0 || is_unfinished(&self.text);
        (!more).then(|| std::mem::take(&mut self.text))
    }
}

/// Returns the number of opening brackets minus that of closing ones. Neither strings nor comments
/// span lines.
fn bracket_depth(line: &str) -> i64 {
    let tokens = lex(line).tokens;
    tokens.iter().fold(0, |n, t| match &t.token {
        Token::Sym(sym) if sym.closer().is_some() => n + 1,
        Token::Sym(sym) if sym.is_closer() => n - 1,
        _ => n,
    })
}

/// Whether the line cannot begin an input: it is indented, or begins with an infix token.
fn continues_input(line: &str) -> bool {
    if line.starts_with([' ', '\t']) {
        return !line.trim().is_empty();
    }
    match lex(line).tokens.first().map(|t| &t.token) {
        Some(Token::Keyword(word)) => {
            matches!(word, Word::In | Word::Then | Word::Else | Word::With | Word::Yield | Word::Where | Word::While)
        }
        Some(Token::Sym(sym)) => !matches!(
            sym,
            Sym::LParen | Sym::LBracket | Sym::LBrace | Sym::Minus | Sym::Bang | Sym::Backslash | Sym::Bar
        ),
        _ => false,
    }
}

//! Lines to inputs. Where an input ends the parser decides; an empty line and a command end it in
//! any case.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::parser;
use lang_core::syntax::token::{Sym, Word};

/// Gathers lines until they make an input.
#[derive(Default)]
pub(crate) struct Gather {
    text: String,
    /// Brackets open so far; while there are any, no need to ask the parser.
    depth: i64,
}

impl Gather {
    /// Nothing gathered?
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Adds a line, without its end. The inputs that are complete with it: before a command what
    /// it cuts off, too.
    pub(crate) fn line(&mut self, line: &str) -> Vec<String> {
        let blank = line.trim().is_empty();
        // A command is one line, whatever stands in it.
        if is_command(line) && self.may_end(line) || self.is_empty() && line.trim_start().starts_with(':') {
            return self.rest().into_iter().chain([line.to_owned()]).collect();
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
        self.depth += depth(line);
        let more = !blank && (self.depth > 0 || unfinished(&self.text));
        if more { Vec::new() } else { vec![std::mem::take(&mut self.text)] }
    }

    /// May the line be no part of what is gathered? A `?n` in brackets is an extent.
    fn may_end(&self, line: &str) -> bool {
        self.is_empty() || self.depth <= 0 || !line.trim_start().starts_with('?')
    }

    /// What is left when no more lines come.
    pub(crate) fn rest(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Is the line a command wherever it stands? The `:` of a body on a line of its own is not.
fn is_command(line: &str) -> bool {
    let name = line.trim_start().strip_prefix(':').and_then(|rest| rest.chars().next());
    name.is_some_and(|c| c.is_ascii_alphabetic() || c == '?') || line.trim_start().starts_with('?')
}

/// Does the parser want more, or does documentation wait for what it documents?
fn unfinished(text: &str) -> bool {
    let lexed = lex(text);
    // What is asked for by `type x` is its type: a `type` item goes on in its line.
    let asks = lexed.tokens.len() == 2 && lexed.tokens.first().is_some_and(|t| t.token == Token::Word(Word::Type));
    if asks {
        return false;
    }
    if lexed.tokens.is_empty() { lexed.comments.iter().any(|c| c.doc) } else { parser::is_incomplete(text) }
}

/// Would an editor's Enter go on with the next line?
pub(crate) fn wants_more(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default();
    let forced = text.contains('\n') && last.trim().is_empty();
    let command = text.trim_start().starts_with([':', '?']);
    let asks = is_command(last) && (depth(text) <= 0 || !last.trim_start().starts_with('?'));
    !forced && !command && !asks && !text.trim().is_empty() && unfinished(text)
}

/// The inputs in a text that was pasted: as line by line, but a line that can only go on with
/// what stands above it does so.
pub(crate) fn pasted(text: &str) -> Vec<String> {
    let mut inputs: Vec<String> = Vec::new();
    let mut gather = Gather::default();
    for line in text.lines() {
        match inputs.last_mut() {
            Some(last) if gather.is_empty() && !last.starts_with([':', '?']) && !is_command(line) && goes_on(line) => {
                let mut again = std::mem::take(last);
                again.push('\n');
                again.push_str(line);
                inputs.pop();
                gather = Gather::default();
                inputs.extend(gather.block(again));
            }
            _ => inputs.extend(gather.line(line)),
        }
    }
    inputs.extend(gather.rest());
    inputs
}

impl Gather {
    /// Adds several lines as one.
    fn block(&mut self, text: String) -> Option<String> {
        self.depth = depth(&text);
        self.text = text;
        let more = self.depth > 0 || unfinished(&self.text);
        (!more).then(|| std::mem::take(&mut self.text))
    }
}

/// Brackets opened less those closed. Neither strings nor comments span lines.
fn depth(line: &str) -> i64 {
    let tokens = lex(line).tokens;
    tokens.iter().fold(0, |n, t| match &t.token {
        Token::Sym(sym) if sym.closer().is_some() => n + 1,
        Token::Sym(sym) if sym.is_closer() => n - 1,
        _ => n,
    })
}

/// Can the line be no beginning? It is indented, or begins with what stands between expressions.
fn goes_on(line: &str) -> bool {
    if line.starts_with([' ', '\t']) {
        return !line.trim().is_empty();
    }
    match lex(line).tokens.first().map(|t| &t.token) {
        Some(Token::Word(word)) => {
            matches!(word, Word::In | Word::Then | Word::Else | Word::With | Word::Yield | Word::Where | Word::While)
        }
        Some(Token::Sym(sym)) => !matches!(
            sym,
            Sym::LParen | Sym::LBracket | Sym::LBrace | Sym::Minus | Sym::Bang | Sym::Backslash | Sym::Bar
        ),
        _ => false,
    }
}

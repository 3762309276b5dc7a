//! **Bracket matching.** Converts the tokens to the form that the grammar reads: small, with
//! balanced brackets.
//!
//! Brackets are matched here, before parsing, because only a scan of the whole item shows which one
//! lacks its partner. The repaired tokens always balance. An error inside a bracket can therefore
//! end at its closer, and every rule can rely on the end of its bracket.

use super::{MAX_DEPTH, MAX_ERRORS};
use crate::lexer::{SpannedToken, Token};
use crate::ops::{BinOp, BinderKind};
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Span};

/// A token without its text. The following token distinguishes binder words from names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenClass {
    Int,
    Float,
    Str,
    Name,
    /// `sum`, `max` and so on, before an index variable.
    Binder(BinderKind),
    Keyword(Word),
    Sym(Sym),
    Error,
}

impl TokenClass {
    /// Whether an expression may begin with the token.
    pub(super) fn starts_expr(self) -> bool {
        match self {
            Self::Int | Self::Float | Self::Str | Self::Name | Self::Binder(_) | Self::Error => true,
            Self::Keyword(word) => matches!(
                word,
                Word::Let
                    | Word::For
                    | Word::If
                    | Word::Match
                    | Word::Fold
                    | Word::Scan
                    | Word::Loop
                    | Word::Checkpoint
                    | Word::True
                    | Word::False
            ),
            Self::Sym(sym) => matches!(
                sym,
                Sym::LParen | Sym::LBracket | Sym::LBrace | Sym::Bar | Sym::Backslash | Sym::Minus | Sym::Bang
            ),
        }
    }

    /// Whether the token is an operand by itself.
    pub(super) fn is_leaf(self) -> bool {
        matches!(
            self,
            Self::Int | Self::Float | Self::Str | Self::Name | Self::Error | Self::Keyword(Word::True | Word::False)
        )
    }

    /// Returns the operator of a flat chain that the token denotes.
    pub(super) fn bin_op(self) -> Option<BinOp> {
        let Self::Sym(sym) = self else { return None };
        Some(match sym {
            Sym::Pipe => BinOp::Pipe,
            Sym::Or => BinOp::Or,
            Sym::And => BinOp::And,
            Sym::Eq => BinOp::Eq,
            Sym::Ne => BinOp::Ne,
            Sym::Lt => BinOp::Lt,
            Sym::Le => BinOp::Le,
            Sym::Gt => BinOp::Gt,
            Sym::Ge => BinOp::Ge,
            Sym::Plus => BinOp::Add,
            Sym::Minus => BinOp::Sub,
            Sym::Star => BinOp::Mul,
            Sym::Slash => BinOp::Div,
            Sym::FloorDiv => BinOp::FloorDiv,
            Sym::Percent => BinOp::Mod,
            _ => return None,
        })
    }

    pub(super) fn is_closer(self) -> bool {
        matches!(self, Self::Sym(sym) if sym.is_closer())
    }
}

/// Returns the kind of every token.
pub(super) fn token_classes(tokens: &[SpannedToken]) -> Vec<TokenClass> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut after_dot = false;
    for (at, token) in tokens.iter().enumerate() {
        let kind = match &token.token {
            Token::Int(_) => TokenClass::Int,
            Token::Float(_) => TokenClass::Float,
            Token::Str(_) => TokenClass::Str,
            Token::Name(name) => {
                let variable =
                    matches!(tokens.get(at + 1).map(|t| &t.token), Some(Token::Name(_) | Token::Sym(Sym::Underscore)));
                let binder = BinderKind::ALL.into_iter().find(|b| b.keyword() == name);
                match binder {
                    Some(binder) if variable && !after_dot => TokenClass::Binder(binder),
                    _ => TokenClass::Name,
                }
            }
            Token::Keyword(word) => TokenClass::Keyword(*word),
            Token::Sym(sym) => TokenClass::Sym(*sym),
            Token::Error => TokenClass::Error,
        };
        after_dot = kind == TokenClass::Sym(Sym::Dot);
        out.push(kind);
    }
    out
}

/// The result of [`balance`].
#[derive(Default)]
pub(super) struct BalancedTokens {
    /// The tokens, with every bracket matched.
    pub(super) tokens: Vec<SpannedToken>,
    /// The index of the closer for an opening bracket, else 0.
    pub(super) closers: Vec<u32>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the only error is that brackets are still open at the end.
    pub(super) is_open_at_end: bool,
    /// The first bracket that exceeds the nesting limit.
    pub(super) too_deep: Option<Span>,
}

struct OpenBracket {
    sym: Sym,
    span: Span,
    at: usize,
    /// A closer of the wrong kind, found while this bracket was the innermost.
    wrong_closer: Option<(Sym, Span)>,
}

/// Matches the brackets: drops closers without an opener and inserts the missing closers.
pub(super) fn balance(tokens: Vec<SpannedToken>) -> BalancedTokens {
    match match_brackets(&tokens) {
        Some((partner, too_deep)) => BalancedTokens { tokens, closers: partner, too_deep, ..BalancedTokens::default() },
        None => repair_brackets(tokens),
    }
}

/// Returns the partners of the brackets and the first bracket that nests too deeply, or `None` if
/// some bracket is unmatched.
fn match_brackets(tokens: &[SpannedToken]) -> Option<(Vec<u32>, Option<Span>)> {
    let mut partner = vec![0; tokens.len()];
    let mut open: Vec<(Sym, usize)> = Vec::new();
    let mut too_deep = None;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Sym(sym) = token.token else { continue };
        if sym.closer().is_some() {
            if open.len() >= MAX_DEPTH as usize {
                too_deep.get_or_insert(token.span);
            }
            open.push((sym, at));
        } else if sym.is_closer() {
            let (opener, from) = open.pop()?;
            if opener.closer() != Some(sym) {
                return None;
            }
            *partner.get_mut(from)? = u32::try_from(at).ok()?;
        }
    }
    open.is_empty().then_some((partner, too_deep))
}

fn repair_brackets(tokens: Vec<SpannedToken>) -> BalancedTokens {
    let mut out = BalancedTokens { closers: Vec::with_capacity(tokens.len()), ..BalancedTokens::default() };
    out.tokens.reserve(tokens.len());
    let mut open: Vec<OpenBracket> = Vec::new();
    let mut counts = [0usize; 3];
    let end = tokens.last().map_or(Span::default(), |t| t.span.end_point());
    let mut strays: Vec<(Sym, Span)> = Vec::new();
    let mut looks = 0;
    // The number of closers inserted for each kind of bracket. A later closer of that kind crosses
    // another pair.
    let mut added = [0usize; 3];
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        let Token::Sym(sym) = token.token else {
            out.push(token);
            continue;
        };
        if sym.closer().is_some() {
            if open.len() >= MAX_DEPTH as usize && out.too_deep.is_none() {
                out.too_deep = Some(token.span);
            }
            open.push(OpenBracket { sym, span: token.span, at: out.tokens.len(), wrong_closer: None });
            *kind_count(&mut counts, sym) += 1;
            out.push(token);
        } else if sym.is_closer() {
            if *kind_count(&mut counts, opener_of(sym)) == 0 {
                let crossing = kind_count(&mut added, opener_of(sym));
                if *crossing > 0 {
                    *crossing -= 1;
                    continue;
                }
                // No open bracket matches this closer. It may be a mistyped closer of the innermost
                // bracket.
                match open.last_mut().filter(|o| o.wrong_closer.is_none()) {
                    Some(inner) => inner.wrong_closer = Some((sym, token.span)),
                    None => strays.push((sym, token.span)),
                }
                continue;
            }
            // The closer matches an outer bracket. It may be superfluous, instead of the inner
            // brackets being unclosed.
            if open.last().is_some_and(|inner| inner.sym.closer() != Some(sym)) && looks < MAX_SIMULATIONS {
                looks += 1;
                let around: Vec<Sym> = open.iter().map(|o| o.sym).collect();
                if 1 + count_unmatched(around.clone(), rest.as_slice())
                    < count_unmatched_after(around, sym, rest.as_slice())
                {
                    strays.push((sym, token.span));
                    continue;
                }
            }
            while let Some(inner) = open.pop() {
                *kind_count(&mut counts, inner.sym) -= 1;
                if inner.sym.closer() == Some(sym) {
                    if let Some(wrong) = inner.wrong_closer {
                        strays.push(wrong);
                    }
                    out.push_closer(inner.at, token);
                    break;
                }
                out.report_unclosed(&inner, Some((sym, token.span)));
                *kind_count(&mut added, inner.sym) += 1;
                out.push_closer(inner.at, virtual_closer(inner.sym, Span::new(token.span.start, token.span.start)));
            }
        } else {
            out.push(token);
        }
    }
    for (sym, span) in strays.into_iter().take(MAX_ERRORS) {
        let message = format!("unmatched closing bracket `{sym}`");
        out.diagnostics.push(Diagnostic::new(Code::E0002, span, message));
    }
    out.is_open_at_end =
        out.diagnostics.is_empty() && open.iter().all(|o| o.wrong_closer.is_none()) && !open.is_empty();
    // Brackets open at the end are usually one mistake. The innermost is reported, with the others
    // as related places.
    let mut first: Option<Diagnostic> = None;
    while let Some(inner) = open.pop() {
        out.push_closer(inner.at, virtual_closer(inner.sym, end));
        match (&mut first, inner.wrong_closer) {
            (_, Some(_)) => out.report_unclosed(&inner, None),
            (Some(diagnostic), None) if diagnostic.related.len() < 4 => {
                let also = std::mem::replace(diagnostic, Diagnostic::new(Code::E0002, inner.span, ""));
                *diagnostic = also.related(inner.span, format!("`{}` is also unclosed", inner.sym));
            }
            (Some(_), None) => {}
            (None, None) => first = Some(unclosed_diagnostic(&inner, None)),
        }
    }
    out.diagnostics.extend(first);
    out
}

/// The maximum number of closers for which the repair simulates the rest without them.
const MAX_SIMULATIONS: usize = 16;

/// Returns the number of brackets that lack a partner in `tokens`, if the brackets in `open` are
/// open before them.
fn count_unmatched(mut open: Vec<Sym>, tokens: &[SpannedToken]) -> usize {
    let mut faults = 0;
    for token in tokens {
        let Token::Sym(sym) = token.token else { continue };
        if sym.closer().is_some() {
            open.push(sym);
        } else if sym.is_closer() {
            match open.iter().rposition(|o| o.closer() == Some(sym)) {
                Some(at) => {
                    faults += open.len() - at - 1;
                    open.truncate(at);
                }
                None => faults += 1,
            }
        }
    }
    faults + open.len()
}

/// Returns the same count if `closer` precedes the tokens.
fn count_unmatched_after(mut open: Vec<Sym>, closer: Sym, tokens: &[SpannedToken]) -> usize {
    let at = open.iter().rposition(|o| o.closer() == Some(closer)).unwrap_or_default();
    let inner = open.len().saturating_sub(at + 1);
    open.truncate(at);
    inner + count_unmatched(open, tokens)
}

impl BalancedTokens {
    fn push(&mut self, token: SpannedToken) {
        self.tokens.push(token);
        self.closers.push(0);
    }

    fn push_closer(&mut self, opener: usize, closer: SpannedToken) {
        if let Some(partner) = self.closers.get_mut(opener) {
            *partner = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        }
        self.push(closer);
    }

    fn report_unclosed(&mut self, open: &OpenBracket, met: Option<(Sym, Span)>) {
        if self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(unclosed_diagnostic(open, met));
        }
    }
}

fn unclosed_diagnostic(open: &OpenBracket, met: Option<(Sym, Span)>) -> Diagnostic {
    let sym = open.sym;
    if let Some((wrong, span)) = open.wrong_closer {
        let message = format!("`{sym}` has the wrong closing bracket `{wrong}`");
        return Diagnostic::new(Code::E0002, span, message).related(open.span, format!("`{sym}` opens here"));
    }
    let diagnostic = Diagnostic::new(Code::E0002, open.span, format!("unclosed bracket `{sym}`"));
    match met {
        Some((met, span)) => diagnostic.related(span, format!("before this `{met}`")),
        None => diagnostic,
    }
}

fn virtual_closer(opener: Sym, span: Span) -> SpannedToken {
    let closer = opener.closer().unwrap_or(opener);
    SpannedToken { token: Token::Sym(closer), span, is_line_start: false, is_in_column0: false }
}

fn opener_of(closer: Sym) -> Sym {
    match closer {
        Sym::RParen => Sym::LParen,
        Sym::RBracket => Sym::LBracket,
        _ => Sym::LBrace,
    }
}

fn kind_count(counts: &mut [usize; 3], opener: Sym) -> &mut usize {
    let [paren, bracket, brace] = counts;
    match opener {
        Sym::LParen => paren,
        Sym::LBracket => bracket,
        _ => brace,
    }
}

//! One item's text to its tree. Total: where the text is wrong, the tree has error nodes and the
//! diagnostics say why.
//!
//! The way: [`lex`](super::lexer::lex), pair the brackets ([`tokens`]), run the grammar
//! ([`items`], [`types`], [`patterns`], [`exprs`], [`forms`]; chumsky over [`tokens::Kind`]) which
//! makes nodes through [`builder`], group operators ([`chain`]), and turn what errors remain into
//! sentences ([`errors`], [`hints`]).
//!
//! Promises: time about linear in the text; no tree deeper than [`MAX_DEPTH`]; nodes children
//! first; every span inside the text; one diagnostic for one slip.

mod builder;
mod chain;
mod duplicates;
mod errors;
mod exprs;
mod fixes;
mod forms;
mod hints;
mod items;
mod parts;
mod patterns;
mod tokens;
mod types;

use chumsky::input::Stream;
use chumsky::prelude::*;

use self::builder::Builder;
use self::errors::{Slip, diagnostic};
use self::parts::Rule;
use self::tokens::{Kind, balance};
use super::ast::{Item, Tree};
use super::lexer::{Comment, Lexed, Spanned, Token, lex};
use super::split::{ItemKind, item_start, split};
use super::token::{Sym, Word};
use crate::base::{Arena, Code, Diagnostic, Name, Span};

/// The deepest nesting of nodes in a tree. What recurses over trees relies on it.
pub const MAX_DEPTH: u32 = 256;

/// How many errors of one sort are told of one item; a reader needs no more.
const MAX_ERRORS: usize = 64;

/// The input of the grammar. It owns its tokens, so that a grammar is built once and kept.
type Tokens = Stream<std::vec::IntoIter<Kind>>;

/// What parsing gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The tree, with error nodes where the text is wrong.
    pub tree: Tree,
    /// What is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// One item. Spans are relative to `text`.
#[must_use]
pub fn parse_item(text: &str) -> Parsed {
    parse(text, Goal::Item).0
}

/// An item as [`split`] found it. What it found to belong to no item is none, even where the words
/// make one: a `let` before all items that does not stand in the first column.
#[must_use]
pub fn parse_split(kind: ItemKind, text: &str) -> Parsed {
    let mut parsed = parse_item(text);
    if kind == ItemKind::Junk && parsed.tree.item != Item::Error {
        let span = lex(text).tokens.first().map(|token| token.span).unwrap_or_default();
        let help = "a `let` of the top level stands in the first column of its line";
        parsed.diagnostics.push(Diagnostic::new(Code::E0009, span, "this stands in no item").help(help));
        parsed.tree.item = Item::Error;
    }
    parsed
}

/// One expression, as `do` would hold it.
#[must_use]
pub fn parse_expr(text: &str) -> Parsed {
    parse(text, Goal::Expr).0
}

/// A `def` without `=` and body; its body is [`super::ast::Expr::Error`].
#[must_use]
pub fn parse_signature(text: &str) -> Parsed {
    parse(text, Goal::Signature).0
}

/// Is there nothing wrong with the text but that it ends too early? Then more lines make sense.
#[must_use]
pub fn is_incomplete(text: &str) -> bool {
    match split(text).last() {
        None => false,
        Some(item) if item.kind == ItemKind::Junk => parse(text, Goal::Expr).1,
        Some(item) => {
            let (parsed, incomplete) = parse(&item.text, Goal::Item);
            // `let x = 1 in` is the beginning of an expression.
            let begun = item.kind == ItemKind::Let && !parsed.diagnostics.is_empty();
            incomplete || begun && parse(&item.text, Goal::Expr).1
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Item,
    Expr,
    Signature,
}

/// The grammar, for each goal.
struct Grammar {
    item: Rule<Item>,
    expr: Rule<Item>,
    signature: Rule<Item>,
}

impl Grammar {
    fn new() -> Self {
        let mut expr = Recursive::declare();
        let mut sum = Recursive::declare();
        let mut ty = Recursive::declare();
        let mut pat = Recursive::declare();
        pat.define(patterns::patterns(pat.clone()));
        ty.define(types::types(ty.clone(), sum.clone()));
        let both = exprs::exprs(expr.clone(), sum.clone(), ty.clone(), pat.clone());
        expr.define(parts::nested(both.expr));
        sum.define(parts::nested(both.sum));
        Self {
            item: items::items(expr.clone(), ty.clone(), pat).boxed(),
            expr: items::body(expr).map(Item::Do).boxed(),
            signature: items::signatures(ty),
        }
    }
}

thread_local! {
    /// Building the grammar costs more than parsing an item, and it never changes.
    static GRAMMAR: Grammar = Grammar::new();
}

/// The tree and diagnostics, and whether all that is wrong is that the text ends too early.
fn parse(text: &str, goal: Goal) -> (Parsed, bool) {
    let Lexed { tokens, comments, mut diagnostics } = lex(text);
    fixes::products(text, &tokens, &mut diagnostics);
    let docs = docs(text, &comments, tokens.first().map_or(u32::MAX, |t| t.span.start));
    let span = match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::default(),
    };
    let mut tree = Tree {
        item: Item::Error,
        docs,
        span,
        unread: Vec::new(),
        exprs: Arena::default(),
        pats: Arena::default(),
        types: Arena::default(),
    };
    let names = |tokens: &[Spanned]| {
        let mut names: Vec<Name> = tokens.iter().filter_map(Spanned::name).cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if goal == Goal::Item && item_start(&tokens, 0).is_none() && !is_item_word(tokens.first().map(|t| &t.token)) {
        tree.unread = names(&tokens);
        // Characters outside the language are told once, as what they are.
        if diagnostics.is_empty() {
            diagnostics.push(hints::junk(&tokens));
        }
        return (Parsed { tree, diagnostics }, false);
    }

    let indent = match goal {
        Goal::Item => unindented(&tokens),
        _ => None,
    };
    let balanced = balance(tokens);
    let open_at_end = balanced.open_at_end;
    let broken = balanced.diagnostics.iter().map(|d| d.span.start).min();
    // A string without an end takes the closers on its line with it.
    let cut = open_at_end && diagnostics.iter().any(|d| d.code == Code::E0005);
    let mut told = if cut { Vec::new() } else { balanced.diagnostics.clone() };
    let mut builder = Builder::new(balanced);
    // Where the text ends too early, everything that is wrong is at its end.
    let mut incomplete = diagnostics.is_empty() && (broken.is_none() || open_at_end);
    if builder.too_deep().is_none() {
        let input = Stream::from_iter(builder.kinds().to_vec());
        let (item, errors) = GRAMMAR.with(|grammar| {
            let rule = match goal {
                Goal::Item => &grammar.item,
                Goal::Expr => &grammar.expr,
                Goal::Signature => &grammar.signature,
            };
            rule.parse_with_state(input, &mut builder).into_output_errors()
        });
        tree.unread = match item {
            Some(_) => names(&builder.unread()),
            None => names(builder.tokens()),
        };
        tree.unread.extend(joined_names(builder.tokens()));
        tree.item = item.unwrap_or(Item::Error);
        // What follows a bracket without partner may be wrong because of it.
        let mut errors: Vec<_> =
            errors.iter().filter(|e| broken.is_none_or(|b| builder.span_at(e.at).start < b)).collect();
        errors.sort_by_key(|e| e.at);
        errors.dedup_by_key(|e| e.at);
        // One habit is told once, not at every comma.
        let mut chained = false;
        errors.retain(|e| e.slip != Some(Slip::Chain) || !std::mem::replace(&mut chained, true));
        let end = builder.kinds().len();
        incomplete &= errors.iter().all(|e| e.at >= end) && (open_at_end || !errors.is_empty());
        incomplete &= builder.recovers() && !errors.iter().any(|e| hints::reduces_array(e, &builder));
        // A token that the lexer has told of is not told of again.
        let unread = |d: &Diagnostic| diagnostics.iter().any(|l| l.span.range().contains(&(d.span.start as usize)));
        let mut errors: Vec<Diagnostic> =
            errors.iter().take(MAX_ERRORS).filter_map(|e| diagnostic(e, &builder)).filter(|d| !unread(d)).collect();
        untyped_once(&mut errors, builder.tokens());
        // A closer without an opener follows from what went wrong before it: the opener is missing there, as a rule.
        if let Some(first) = errors.iter().map(|d| d.span.start).min() {
            let closes = |d: &Diagnostic| text.get(d.span.range()).is_some_and(|t| [")", "]", "}"].contains(&t));
            told.retain(|d| d.span.start < first || !closes(d) || !d.related.is_empty());
        }
        told.extend(errors);
    }
    if let Some(span) = builder.too_deep() {
        let message = format!("nested more than {MAX_DEPTH} deep");
        diagnostics.push(Diagnostic::new(Code::E0006, span, message).help("name parts of it with `let`"));
        tree.item = Item::Error;
        incomplete = false;
    } else {
        builder.finish(&mut tree);
        // In a bracket that is never closed a type is joined with a size: `[n + 1f64`.
        let open = told.iter().filter(|d| d.code == Code::E0002).map(|d| d.span.start).min();
        diagnostics.retain(|d| d.code != Code::E0004 || open.is_none_or(|at| d.span.start < at));
        // Names in what is grouped in another way than is meant may belong to other things.
        if told.is_empty() {
            diagnostics.extend(duplicates::duplicates(&tree));
        }
        diagnostics.extend(told);
        diagnostics.extend(indent);
    }
    diagnostics.sort_by_key(|d| d.span);
    (Parsed { tree, diagnostics }, incomplete)
}

/// Parameters without types are one mistake, and what follows where the list of parameters ends too early.
fn untyped_once(errors: &mut Vec<Diagnostic>, tokens: &[Spanned]) {
    let body = tokens.iter().find(|t| t.token == Token::Sym(Sym::Assign)).map_or(u32::MAX, |t| t.span.start);
    let mut told = errors.iter().any(|d| d.code == Code::E0001 && d.span.start <= body);
    errors.retain(|d| d.code != Code::E0011 || !std::mem::replace(&mut told, true));
}

/// `def fx: f64)`: the names of which one is joined with a parameter's where the bracket between them is missing.
fn joined_names(tokens: &[Spanned]) -> Vec<Name> {
    let [def, name, colon, ..] = tokens else { return Vec::new() };
    let joined = def.token == Token::Word(Word::Def) && colon.token == Token::Sym(Sym::Colon);
    let text = name.name().filter(|_| joined).map_or("", Name::as_str);
    text.char_indices().skip(1).filter_map(|(at, _)| text.get(..at)).map(Name::from).collect()
}

/// A `let` of a chain in column 0. Where the chain stands at the top level that is told instead.
fn unindented(tokens: &[Spanned]) -> Option<Diagnostic> {
    let is_let = |token: &Spanned| token.token == Token::Word(Word::Let);
    let (first, rest) = tokens.split_first()?;
    let found = rest.iter().find(|t| t.column0 && is_let(t)).filter(|_| !is_let(first))?;
    let help = "in column 0 `let` begins an item: put a space before it";
    Some(Diagnostic::new(Code::E0001, found.span, "a `let` inside an item is indented").help(help))
}

fn is_item_word(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Word(Word::Let | Word::Def | Word::Type | Word::Import | Word::Do)))
}

/// The last block of `--|` lines directly above the item's first token.
fn docs(text: &str, comments: &[Comment], first: u32) -> String {
    let mut lines = Vec::new();
    let mut below = first;
    for comment in comments.iter().rev().skip_while(|c| c.span.start > first) {
        let between = text.get(comment.span.end as usize..below as usize).unwrap_or_default();
        if !comment.doc || !comment.own_line || between.matches('\n').count() != 1 {
            break;
        }
        let line = text.get(comment.span.range()).unwrap_or_default().trim_start_matches("--|");
        lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end());
        below = comment.span.start;
    }
    lines.reverse();
    lines.join("\n")
}

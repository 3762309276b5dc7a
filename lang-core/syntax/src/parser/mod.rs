//! **Parser.** Parses the text of one item into its tree. It is total: for a wrong text, the tree
//! contains error nodes and the diagnostics report the errors.
//!
//! Stages:
//! - [`lex`] produces the tokens, and [`brackets`] matches the brackets.
//! - The grammar ([`items`], [`types`], [`patterns`], [`exprs`], [`forms`]) runs. It uses chumsky
//!   over [`brackets::TokenClass`] and allocates nodes through [`builder`].
//! - [`chain`] groups operators by precedence.
//! - [`errors`] and [`hints`] turn the remaining errors into diagnostics.
//!
//! Invariants: time about linear in the text; no tree deeper than [`MAX_DEPTH`]; every node after
//! its children; every span inside the text; one diagnostic for one mistake. The session parses
//! each item of [`split`] with [`parse_split`].

mod brackets;
mod builder;
mod chain;
mod combinators;
mod duplicates;
mod errors;
mod exprs;
mod fixes;
mod forms;
mod hints;
mod items;
mod patterns;
mod types;

use chumsky::input::Stream;
use chumsky::prelude::*;

use self::brackets::{TokenClass, balance};
use self::builder::TreeBuilder;
use self::combinators::BoxedRule;
use self::errors::{GrammarMistake, diagnostic};
use super::ast::{Item, Tree};
use super::lexer::{Comment, LexedText, SpannedToken, Token, lex};
use super::split::{ItemKind, item_kind_at, split};
use super::token::{Sym, Word};
use lang_base::{Arena, Code, Diagnostic, Name, Span};

/// The maximum nesting depth of nodes in a tree. Recursive functions over trees rely on it.
pub const MAX_DEPTH: u32 = 256;

/// The maximum number of errors of one sort per item; more would not help a reader.
const MAX_ERRORS: usize = 64;

/// The input of the grammar. It owns its tokens, so that the grammar is built once and reused.
type TokenStream = Stream<std::vec::IntoIter<TokenClass>>;

/// The result of parsing.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedItem {
    /// The tree, with error nodes for the unreadable parts.
    pub tree: Tree,
    /// The diagnostics, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses one item. Spans are relative to `text`.
#[must_use]
pub fn parse_item(text: &str) -> ParsedItem {
    parse(text, ParseGoal::Item).0
}

/// Parses an item from [`split`]. Text outside all items is an error even if it reads as an item.
/// An example is a `let` before all items that does not begin in the first column.
#[must_use]
pub fn parse_split(kind: ItemKind, text: &str) -> ParsedItem {
    let mut parsed = parse_item(text);
    if kind == ItemKind::StrayText && parsed.tree.item != Item::Error {
        let span = lex(text).tokens.first().map(|token| token.span).unwrap_or_default();
        let help = "a top-level `let` must begin in the first column of its line";
        parsed.diagnostics.push(Diagnostic::new(Code::E0009, span, "this text is outside all items").help(help));
        parsed.tree.item = Item::Error;
    }
    parsed
}

/// Parses one expression, as the body of a `do`.
#[must_use]
pub fn parse_expr(text: &str) -> ParsedItem {
    parse(text, ParseGoal::Expr).0
}

/// Parses a `def` without `=` and body. The body of the result is [`super::ast::Expr::Error`].
#[must_use]
pub fn parse_signature(text: &str) -> ParsedItem {
    parse(text, ParseGoal::Signature).0
}

/// Returns whether the only error of the text is that it ends too early, so that further lines may
/// complete it.
#[must_use]
pub fn is_incomplete(text: &str) -> bool {
    match split(text).last() {
        None => false,
        Some(item) if item.kind == ItemKind::StrayText => parse(text, ParseGoal::Expr).1,
        Some(item) => {
            let (parsed, incomplete) = parse(&item.text, ParseGoal::Item);
            // `let x = 1 in` begins an expression.
            let begun = item.kind == ItemKind::Let && !parsed.diagnostics.is_empty();
            incomplete || begun && parse(&item.text, ParseGoal::Expr).1
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParseGoal {
    Item,
    Expr,
    Signature,
}

/// The grammars, one for each goal.
struct Grammar {
    item: BoxedRule<Item>,
    expr: BoxedRule<Item>,
    signature: BoxedRule<Item>,
}

impl Grammar {
    fn new() -> Self {
        let mut expr = Recursive::declare();
        let mut sum = Recursive::declare();
        let mut ty = Recursive::declare();
        let mut pat = Recursive::declare();
        pat.define(patterns::patterns(pat.clone()));
        ty.define(types::types(ty.clone(), sum.clone()));
        let both = exprs::expr_rules(expr.clone(), sum.clone(), ty.clone(), pat.clone());
        expr.define(combinators::depth_checked(both.expr));
        sum.define(combinators::depth_checked(both.sum));
        Self {
            item: items::items(expr.clone(), ty.clone(), pat).boxed(),
            expr: items::item_body(expr).map(Item::Do).boxed(),
            signature: items::signatures(ty),
        }
    }
}

thread_local! {
    /// The grammar of each thread, reused because building it costs more than parsing an item.
    static GRAMMAR: Grammar = Grammar::new();
}

/// Parses a text. Returns the tree and the diagnostics, and whether the only error is that the text
/// ends too early.
fn parse(text: &str, goal: ParseGoal) -> (ParsedItem, bool) {
    let LexedText { tokens, comments, mut diagnostics } = lex(text);
    fixes::add_matrix_product_fixes(text, &tokens, &mut diagnostics);
    let docs = doc_text(text, &comments, tokens.first().map_or(u32::MAX, |t| t.span.start));
    let span = match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::default(),
    };
    let mut tree = Tree {
        item: Item::Error,
        docs,
        span,
        skipped_names: Vec::new(),
        exprs: Arena::default(),
        pats: Arena::default(),
        types: Arena::default(),
    };
    let names = |tokens: &[SpannedToken]| {
        let mut names: Vec<Name> = tokens.iter().filter_map(SpannedToken::name).cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if goal == ParseGoal::Item
        && item_kind_at(&tokens, 0).is_none()
        && !is_item_keyword(tokens.first().map(|t| &t.token))
    {
        tree.skipped_names = names(&tokens);
        // The lexer has already reported characters outside the language.
        if diagnostics.is_empty() {
            diagnostics.push(hints::stray_text(&tokens));
        }
        return (ParsedItem { tree, diagnostics }, false);
    }

    let indent = match goal {
        ParseGoal::Item => unindented_let(&tokens),
        _ => None,
    };
    let balanced = balance(tokens);
    let open_at_end = balanced.is_open_at_end;
    let broken = balanced.diagnostics.iter().map(|d| d.span.start).min();
    // An unterminated string swallows the closing brackets on its line.
    let cut = open_at_end && diagnostics.iter().any(|d| d.code == Code::E0005);
    let mut syntax_errors = if cut { Vec::new() } else { balanced.diagnostics.clone() };
    let mut builder = TreeBuilder::new(balanced);
    // In an incomplete text, every error is at its end.
    let mut incomplete = diagnostics.is_empty() && (broken.is_none() || open_at_end);
    if builder.too_deep().is_none() {
        let input = Stream::from_iter(builder.kinds().to_vec());
        let (item, errors) = GRAMMAR.with(|grammar| {
            let rule = match goal {
                ParseGoal::Item => &grammar.item,
                ParseGoal::Expr => &grammar.expr,
                ParseGoal::Signature => &grammar.signature,
            };
            rule.parse_with_state(input, &mut builder).into_output_errors()
        });
        tree.skipped_names = match item {
            Some(_) => names(&builder.skipped_tokens()),
            None => names(builder.tokens()),
        };
        tree.skipped_names.extend(joined_name_prefixes(builder.tokens()));
        tree.item = item.unwrap_or(Item::Error);
        // Errors after an unmatched bracket may be consequences of it.
        let mut errors: Vec<_> =
            errors.iter().filter(|e| broken.is_none_or(|b| builder.span_at(e.at).start < b)).collect();
        errors.sort_by_key(|e| e.at);
        errors.dedup_by_key(|e| e.at);
        // Report a foreign separator once, not at each comma.
        let mut chained = false;
        errors
            .retain(|e| e.mistake != Some(GrammarMistake::ForeignSeparator) || !std::mem::replace(&mut chained, true));
        let end = builder.kinds().len();
        incomplete &= errors.iter().all(|e| e.at >= end) && (open_at_end || !errors.is_empty());
        incomplete &= builder.can_recover() && !errors.iter().any(|e| hints::reduces_array(e, &builder));
        // Drop errors at a token that the lexer has already reported.
        let unread = |d: &Diagnostic| diagnostics.iter().any(|l| l.span.range().contains(&(d.span.start as usize)));
        let mut errors: Vec<Diagnostic> =
            errors.iter().take(MAX_ERRORS).filter_map(|e| diagnostic(e, &builder)).filter(|d| !unread(d)).collect();
        dedup_untyped(&mut errors, builder.tokens());
        // An unmatched closing bracket after another error is a consequence of it, because usually
        // the error hides the opening one.
        if let Some(first) = errors.iter().map(|d| d.span.start).min() {
            let closes = |d: &Diagnostic| text.get(d.span.range()).is_some_and(|t| [")", "]", "}"].contains(&t));
            syntax_errors.retain(|d| d.span.start < first || !closes(d) || !d.related.is_empty());
        }
        syntax_errors.extend(errors);
    }
    if let Some(span) = builder.too_deep() {
        let message = format!("the nesting exceeds {MAX_DEPTH} levels");
        diagnostics.push(Diagnostic::new(Code::E0006, span, message).help("name subexpressions with `let`"));
        tree.item = Item::Error;
        incomplete = false;
    } else {
        builder.finish(&mut tree);
        // In an unclosed bracket, a size and a type run together: `[n + 1f64`.
        let open = syntax_errors.iter().filter(|d| d.code == Code::E0002).map(|d| d.span.start).min();
        diagnostics.retain(|d| d.code != Code::E0004 || open.is_none_or(|at| d.span.start < at));
        // After a syntax error the grouping may differ from the intended one, so repeated names may
        // belong to different lists.
        if syntax_errors.is_empty() {
            diagnostics.extend(duplicates::duplicates(&tree));
        }
        diagnostics.extend(syntax_errors);
        diagnostics.extend(indent);
    }
    diagnostics.sort_by_key(|d| d.span);
    (ParsedItem { tree, diagnostics }, incomplete)
}

/// Keeps only the first report of a parameter without a type. It drops that one too if the head has
/// another syntax error, because the parameter list may have ended too early.
fn dedup_untyped(errors: &mut Vec<Diagnostic>, tokens: &[SpannedToken]) {
    let body = tokens.iter().find(|t| t.token == Token::Sym(Sym::Assign)).map_or(u32::MAX, |t| t.span.start);
    let mut is_reported = errors.iter().any(|d| d.code == Code::E0001 && d.span.start <= body);
    errors.retain(|d| d.code != Code::E0011 || !std::mem::replace(&mut is_reported, true));
}

/// Returns the names that `def fx: f64)` may declare, where a missing bracket joins the name to a
/// parameter. These are the proper prefixes of the joined name.
fn joined_name_prefixes(tokens: &[SpannedToken]) -> Vec<Name> {
    let [def, name, colon, ..] = tokens else { return Vec::new() };
    let joined = def.token == Token::Keyword(Word::Def) && colon.token == Token::Sym(Sym::Colon);
    let text = name.name().filter(|_| joined).map_or("", Name::as_str);
    text.char_indices().skip(1).filter_map(|(at, _)| text.get(..at)).map(Name::from).collect()
}

/// Returns a diagnostic for a `let` of a chain in column 0. An item that begins with `let` is
/// excluded, because its chain has a different error.
fn unindented_let(tokens: &[SpannedToken]) -> Option<Diagnostic> {
    let is_let = |token: &SpannedToken| token.token == Token::Keyword(Word::Let);
    let (first, rest) = tokens.split_first()?;
    let found = rest.iter().find(|t| t.is_in_column0 && is_let(t)).filter(|_| !is_let(first))?;
    let help = "insert a space before the `let`, because a `let` in the first column begins an item";
    Some(Diagnostic::new(Code::E0001, found.span, "a `let` inside an item must be indented").help(help))
}

fn is_item_keyword(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Keyword(Word::Let | Word::Def | Word::Type | Word::Import | Word::Do)))
}

/// Returns the last block of `--|` lines directly above the item's first token.
fn doc_text(text: &str, comments: &[Comment], first: u32) -> String {
    let mut lines = Vec::new();
    let mut below = first;
    for comment in comments.iter().rev().skip_while(|c| c.span.start > first) {
        let between = text.get(comment.span.end as usize..below as usize).unwrap_or_default();
        if !comment.is_doc || !comment.is_own_line || between.matches('\n').count() != 1 {
            break;
        }
        let line = text.get(comment.span.range()).unwrap_or_default().trim_start_matches("--|");
        lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end());
        below = comment.span.start;
    }
    lines.reverse();
    lines.join("\n")
}

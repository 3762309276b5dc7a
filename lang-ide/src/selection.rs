//! **Selection ranges.** Grows a selection step by step: a token, the enclosing nodes, the item,
//! the text. Reads only tokens and the syntax tree.

use lang_core::base::Span;
use lang_core::session::Session;
use lang_core::syntax::ast::{Expr, Item, Tree, TypeExpr};
use lang_core::syntax::lexer::lex;

/// The maximal number of ranges. The protocol nests them, and clients limit the nesting that they
/// parse.
const MAX_RANGES: usize = 100;

/// Returns the ranges around an offset, from the smallest to the whole text. Each contains the one
/// before it.
#[must_use]
pub fn selection(session: &Session, module: &str, at: u32) -> Vec<Span> {
    let Some(text) = session.text(module) else { return Vec::new() };
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut spans = vec![Span::new(0, end)];
    if let Some(item) = session.item_at(module, at)
        && let Some(parsed) = session.tree(&item)
    {
        spans.push(item.span());
        let inside = at.saturating_sub(item.start);
        let mut add = |span: Span| {
            if span.contains_inclusive(inside) && span.start < span.end {
                spans.push(span.shift(item.start));
            }
        };
        let lexed = lex(&item.text);
        // Between two tokens, the one that begins at the offset.
        let token =
            lexed.tokens.iter().map(|t| t.span).filter(|s| s.contains_inclusive(inside)).max_by_key(|s| s.start);
        token.into_iter().for_each(&mut add);
        lexed.comments.iter().for_each(|c| add(c.span));
        add(parsed.tree.span);
        add_node_spans(&parsed.tree, &mut add);
    }
    keep_nested(spans)
}

/// Adds every span of the tree.
fn add_node_spans(tree: &Tree, add: &mut dyn FnMut(Span)) {
    match &tree.item {
        Item::Def(def) => {
            let params: Vec<Span> = def.params.iter().map(|p| p.name.span.to(tree.types[p.ty].span)).collect();
            params.iter().for_each(|s| add(*s));
            add_sequence_span(&params, add);
        }
        Item::Type(def) => {
            add_sequence_span(&def.params.iter().map(|p| p.span).collect::<Vec<_>>(), add);
        }
        _ => {}
    }
    for (_, node) in tree.exprs.iter() {
        add(node.span);
        let expr = |e: &lang_core::syntax::ast::ExprId| tree.exprs[*e].span;
        match &node.kind {
            Expr::Call(_, args) => {
                let args: Vec<Span> = args
                    .iter()
                    .map(|a| a.name.as_ref().map_or(expr(&a.value), |n| n.span.to(expr(&a.value))))
                    .collect();
                args.iter().for_each(|s| add(*s));
                add_sequence_span(&args, add);
            }
            Expr::Tuple(items) | Expr::Array { items, .. } => {
                add_sequence_span(&items.iter().map(expr).collect::<Vec<_>>(), add)
            }
            Expr::Record(fields) => {
                let fields: Vec<Span> = fields.iter().map(|(n, e)| n.span.to(expr(e))).collect();
                fields.iter().for_each(|s| add(*s));
                add_sequence_span(&fields, add);
            }
            Expr::Let(binds, _) => binds.iter().for_each(|b| add(tree.pats[b.pat].span.to(expr(&b.value)))),
            Expr::Match(_, arms) => {
                let arms: Vec<Span> = arms.iter().map(|a| tree.pats[a.pat].span.to(expr(&a.body))).collect();
                arms.iter().for_each(|s| add(*s));
                add_sequence_span(&arms, add);
            }
            // A prefix of a chain.
            Expr::Chain { first, rest } => rest.iter().for_each(|(_, _, e)| add(expr(first).to(expr(e)))),
            _ => {}
        }
    }
    tree.pats.iter().for_each(|(_, node)| add(node.span));
    for (_, node) in tree.types.iter() {
        add(node.span);
        if let TypeExpr::Record(fields) = &node.kind {
            fields.iter().for_each(|(n, t)| add(n.span.to(tree.types[*t].span)));
        }
    }
}

/// Adds the range from the first span to the last.
fn add_sequence_span(spans: &[Span], add: &mut dyn FnMut(Span)) {
    if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
        add(first.to(*last));
    }
}

/// Keeps the smallest range, and then each range that contains the last one kept.
fn keep_nested(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|s| (s.end.saturating_sub(s.start), s.start));
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        let holds = |inner: &Span| span.start <= inner.start && inner.end <= span.end && span != *inner;
        if kept.last().is_none_or(holds) {
            kept.push(span);
        }
    }
    // If there are too many, the innermost and the outermost are kept.
    let around = kept.len().saturating_sub(MAX_RANGES / 2).max(MAX_RANGES / 2);
    kept.drain(kept.len().min(MAX_RANGES / 2)..around.min(kept.len()));
    kept
}

//! **Hover between names.** Describes written types and sizes, the symbols in the head of an item,
//! and the labels of named arguments.

use lang_core::base::Span;
use lang_core::resolve::forms::{LoadOption, PlotOption};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Item, SizeExpr, Tree, TypeArg, TypeExpr};

use crate::hover::{Hover, HoverDepth, hover};
use crate::names::{NameRole, uses};

/// Returns the meaning of a named argument.
pub(crate) fn argument_docs(name: &str) -> Option<&'static str> {
    match name {
        "wrt" => Some("The parameters to differentiate with respect to: `wrt: x`, `wrt: (x, y)`."),
        _ => PlotOption::by_name(name).map(PlotOption::doc).or_else(|| LoadOption::by_name(name).map(LoadOption::doc)),
    }
}

/// Returns the hover of an offset without a name. It describes the written size or type there. In
/// the head of an item, it describes the name that the item declares.
pub(crate) fn hover_between_names(
    session: &Session,
    item: &ItemRef,
    tree: &Tree,
    at: u32,
    depth: HoverDepth,
) -> Option<Hover> {
    let own = at.checked_sub(item.start)?;
    if item.text.get(own as usize..)?.starts_with(char::is_whitespace) {
        return None;
    }
    let inside = |span: &Span| span.start <= own && own < span.end;
    let types = tree.types.iter().filter(|(_, node)| inside(&node.span));
    if let Some((_, node)) = types.min_by_key(|(_, node)| node.span.end - node.span.start) {
        let sizes: Vec<&SizeExpr> = match &node.kind {
            TypeExpr::Array(sizes, _) | TypeExpr::Rel(sizes) => sizes.iter().collect(),
            TypeExpr::Name { args, .. } => {
                args.iter().filter_map(|arg| if let TypeArg::Size(size) = arg { Some(size) } else { None }).collect()
            }
            _ => Vec::new(),
        };
        let written = sizes.into_iter().filter_map(|size| match size {
            SizeExpr::Expr(e) => Some(tree.exprs[*e].span),
            SizeExpr::Unknown(_) => None,
        });
        let size = written.into_iter().find(inside);
        let span = size.unwrap_or(node.span);
        let text = item.text.get(span.range())?;
        let (code, what) = match size {
            Some(_) => (format!("{text} : i64"), "size"),
            None => (text.to_owned(), "type"),
        };
        return Some(Hover { span: span.shift(item.start), code, kind_text: what.to_owned(), ..Hover::default() });
    }
    let body = match &tree.item {
        Item::Def(def) => tree.exprs[def.body].span.start,
        Item::Let(top) => tree.exprs[top.value].span.start,
        Item::Type(_) => tree.span.end,
        _ => return None,
    };
    if own < tree.span.start || own >= body || tree.exprs.iter().any(|(_, node)| inside(&node.span)) {
        return None;
    }
    let name = uses(session, item).into_iter().find(|u| u.role == NameRole::Declaration && u.span.start != at)?;
    let name_hover = hover(session, &item.module, name.span.start, depth)?;
    Some(Hover { span: Span::new(at, at.saturating_add(1)), ..name_hover })
}

//! **Inlay hints.** Computes the text that an editor shows beside a program: the extents of index
//! variables, the types of `let`s, lambda parameters and results, and the cost of definitions.
//! Reads the typed trees and the cost queries of the session. The language server calls [`hints`].

use std::collections::HashMap;

use lang_core::base::Span;
use lang_core::predicate::Atom;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{self, Item};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{TypedBody, TypedExpr, TypedIndexRange};
use lang_core::types::ty::Type;

use crate::costs::{abbreviate_formula, costs};
use crate::find::is_shadowed_duplicate;

/// The kind of a hint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HintKind {
    /// The extent of a bare index: `for i` with `< n`.
    Extent,
    /// The type of an array, which contains its extents.
    ArrayType,
    /// The type of anything else.
    Type,
    /// The cost of a definition.
    Cost,
}

/// A hint: text that an editor shows at a position of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceHint {
    /// The offset at which the hint is displayed.
    pub offset: u32,
    /// The start of the name that the hint describes.
    pub name_start: u32,
    /// Its text.
    pub text: String,
    /// The kind of hint.
    pub kind: HintKind,
    /// Whether the text can be inserted into the program unchanged.
    pub is_insertable: bool,
}

/// The kinds of hints that the caller wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HintSelection {
    /// Whether to return [`HintKind::Extent`].
    pub extents: bool,
    /// Whether to return [`HintKind::Size`].
    pub sizes: bool,
    /// Whether to return [`HintKind::Type`].
    pub types: bool,
    /// Whether to return [`HintKind::Cost`].
    pub cost: bool,
}

/// Returns the hints of the items that touch a range, in order.
#[must_use]
pub fn hints(session: &Session, module: &str, range: Span, wanted: HintSelection) -> Vec<SourceHint> {
    let touched = session.items_in(module, range);
    let mut all: Vec<SourceHint> = touched.flat_map(|item| hints_of_item(session, &item, range, wanted)).collect();
    all.sort_by_key(|hint| hint.offset);
    all
}

/// Returns the hints of an item inside a range.
fn hints_of_item(session: &Session, item: &ItemRef, range: Span, wanted: HintSelection) -> Vec<SourceHint> {
    let mut all = Vec::new();
    let Some(checked) = session.checked_item(item) else { return all };
    let body = &checked.body;
    if wanted.extents {
        add_extent_hints(body, item, range, &mut all);
    }
    if let Some(parsed) = session.tree(item)
        && (wanted.sizes || wanted.types)
    {
        add_type_hints(&parsed.tree, body, item, range, wanted, &mut all);
    }
    if wanted.cost && item.kind == ItemKind::Def && !is_shadowed_duplicate(session, item) {
        all.extend(cost_hint(session, item).filter(|hint| range.contains_inclusive(hint.offset)));
    }
    all
}

/// Adds the inferred extents of index variables that have no written range.
fn add_extent_hints(body: &TypedBody, item: &ItemRef, range: Span, all: &mut Vec<SourceHint>) {
    for (_, node) in body.nodes.iter() {
        let (TypedExpr::Binder { vars, .. } | TypedExpr::Fold { vars, .. }) = &node.kind else { continue };
        for var in vars {
            let (TypedIndexRange::Extent(n), Some(local)) = (&var.range, body.locals.get(var.local.0 as usize)) else {
                continue;
            };
            let Span { start, end } = local.span.shift(item.start);
            if !range.contains_inclusive(end) {
                continue;
            }
            // An error can leave an extent undetermined; such a hint is omitted.
            let mut is_undetermined = n.has_overflowed();
            n.for_each_atom(&mut |a| is_undetermined |= matches!(a, Atom::Meta(_)));
            if is_undetermined {
                continue;
            }
            let text = format!(" < {n}");
            all.push(SourceHint { offset: end, name_start: start, text, kind: HintKind::Extent, is_insertable: true });
        }
    }
}

/// Adds the types of unannotated bindings and results.
fn add_type_hints(
    tree: &ast::Tree,
    body: &TypedBody,
    item: &ItemRef,
    range: Span,
    wanted: HintSelection,
    all: &mut Vec<SourceHint>,
) {
    let mut add_hint = |name: Span, at: u32, ty: &Type, before: &str, is_insertable: bool| {
        let kind = if matches!(ty, Type::Array(..)) { HintKind::ArrayType } else { HintKind::Type };
        let is_wanted = if kind == HintKind::ArrayType { wanted.sizes } else { wanted.types };
        if is_wanted && range.contains_inclusive(at + item.start) && !ty.has_error() && !matches!(ty, Type::Fun(_)) {
            let name_start = name.start + item.start;
            all.push(SourceHint {
                offset: at + item.start,
                name_start,
                text: format!("{before}{ty}"),
                kind,
                is_insertable,
            });
        }
    };
    let mut locals = HashMap::with_capacity(body.locals.len());
    for local in &body.locals {
        locals.entry(local.span).or_insert(local);
    }
    let mut add_pattern_hints = |pat: ast::PatId, insert: bool| {
        let mut pending = vec![(pat, insert)];
        while let Some((pat, insert)) = pending.pop() {
            let pat = &tree.pats[pat];
            match &pat.kind {
                ast::Pat::Name(_) => {
                    if let Some(local) = locals.get(&pat.span) {
                        add_hint(pat.span, pat.span.end, &local.ty, ": ", insert);
                    }
                }
                // The grammar allows no type on a component of a tuple pattern.
                ast::Pat::Tuple(parts) => pending.extend(parts.iter().map(|part| (*part, false))),
                _ => {}
            }
        }
    };
    if let Item::Let(top) = &tree.item
        && top.ty.is_none()
    {
        add_pattern_hints(top.pat, true);
    }
    for (_, node) in tree.exprs.iter() {
        match &node.kind {
            ast::Expr::Let(binds, _) => {
                binds.iter().filter(|b| b.ty.is_none()).for_each(|b| add_pattern_hints(b.pat, true))
            }
            ast::Expr::Lambda(params, _) => {
                params.iter().filter(|p| p.ty.is_none()).for_each(|p| add_pattern_hints(p.pat, false))
            }
            _ => {}
        }
    }
    if let Item::Def(def) = &tree.item
        && def.result.is_none()
        && let (Some(close), Some(root)) = (parameters_end(tree, def, item), body.root)
    {
        add_hint(def.name.span, close, &body.nodes[root].ty, " -> ", true);
    }
}

/// Returns the offset after the bracket that closes the parameters of a definition.
fn parameters_end(tree: &ast::Tree, def: &ast::Def, item: &ItemRef) -> Option<u32> {
    let last = def.params.last().map_or(def.name.span, |param| tree.types[param.ty].span);
    let rest = item.text.get(last.end as usize..tree.exprs[def.body].span.start as usize)?;
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        // A comment may contain a bracket.
        let code = line.split_once("--").map_or(line, |(code, _)| code);
        if let Some(at) = code.find(')') {
            return Some(last.end + u32::try_from(start + at).ok()? + 1);
        }
        start += line.len();
    }
    None
}

/// Returns the cost hint of a definition, placed at the end of the line with its `=`.
fn cost_hint(session: &Session, item: &ItemRef) -> Option<SourceHint> {
    let parsed = session.tree(item)?;
    let Item::Def(def) = &parsed.tree.item else { return None };
    let costs = costs(session, &item.global)?;
    let body = parsed.tree.exprs[def.body].span.start as usize;
    let head = item.text.get(..body)?.trim_end();
    let rest = item.text.get(head.len()..)?;
    let line = rest.find('\n').unwrap_or(rest.len());
    let at = u32::try_from(head.len() + line).ok()? + item.start;
    let mut text = format!("work {}", abbreviate_formula(&costs.primal?.work));
    text += &costs.adjoint.map(|c| format!(" · ∇ {}", abbreviate_formula(&c.work))).unwrap_or_default();
    let name_start = def.name.span.start + item.start;
    Some(SourceHint { offset: at, name_start, text, kind: HintKind::Cost, is_insertable: false })
}

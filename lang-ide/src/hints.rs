//! Hints that stand in the code: where index variables range, what types `let`s, parameters of lambdas and results have, what
//! definitions cost.

use std::collections::HashMap;

use lang_core::base::Span;
use lang_core::predicate::Atom;
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{self, Item};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::{Body, Expr, IndexRange};
use lang_core::types::ty::Type;

use crate::costs::{brief, costs};
use crate::find::is_hidden;

/// What a hint tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HintKind {
    /// The extent of a bare index: `for i` with `< n`.
    Extent,
    /// The type of an array, with its extents.
    Size,
    /// The type of anything else.
    Type,
    /// What a definition costs.
    Cost,
}

/// A hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Where it stands.
    pub at: u32,
    /// Where that begins which it is about.
    pub about: u32,
    /// Its text.
    pub text: String,
    /// What it tells.
    pub kind: HintKind,
    /// Can it be put into the program as it is?
    pub insert: bool,
}

/// Which hints are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Those of [`HintKind::Extent`].
    pub extents: bool,
    /// Those of [`HintKind::Size`].
    pub sizes: bool,
    /// Those of [`HintKind::Type`].
    pub types: bool,
    /// Those of [`HintKind::Cost`].
    pub cost: bool,
}

/// The hints of the items that a range touches.
#[must_use]
pub fn hints(session: &Session, module: &str, range: Span, wanted: Wanted) -> Vec<Hint> {
    let touched = session.items_in(module, range);
    let mut all: Vec<Hint> = touched.flat_map(|item| of_item(session, &item, range, wanted)).collect();
    all.sort_by_key(|hint| hint.at);
    all
}

fn of_item(session: &Session, item: &ItemRef, range: Span, wanted: Wanted) -> Vec<Hint> {
    let mut all = Vec::new();
    let Some(checked) = session.checked_item(item) else { return all };
    let body = &checked.body;
    if wanted.extents {
        extents(body, item, range, &mut all);
    }
    if let Some(parsed) = session.tree(item)
        && (wanted.sizes || wanted.types)
    {
        types(&parsed.tree, body, item, range, wanted, &mut all);
    }
    if wanted.cost && item.kind == ItemKind::Def && !is_hidden(session, item) {
        all.extend(cost(session, item).filter(|hint| range.touches(hint.at)));
    }
    all
}

/// Extents of index variables that are written without.
fn extents(body: &Body, item: &ItemRef, range: Span, all: &mut Vec<Hint>) {
    for (_, node) in body.nodes.iter() {
        let (Expr::Binder { vars, .. } | Expr::Fold { vars, .. }) = &node.kind else { continue };
        for var in vars {
            let (IndexRange::Extent(n), Some(local)) = (&var.range, body.locals.get(var.local.0 as usize)) else {
                continue;
            };
            let Span { start, end } = local.span.shift(item.start);
            if !range.touches(end) {
                continue;
            }
            // Where a mistake leaves it open there is nothing to say.
            let mut open = n.overflowed();
            n.for_each_atom(&mut |a| open |= matches!(a, Atom::Meta(_)));
            if open {
                continue;
            }
            let text = format!(" < {n}");
            all.push(Hint { at: end, about: start, text, kind: HintKind::Extent, insert: true });
        }
    }
}

/// Types of what is bound without one, and of results.
fn types(tree: &ast::Tree, body: &Body, item: &ItemRef, range: Span, wanted: Wanted, all: &mut Vec<Hint>) {
    let mut told = |of: Span, at: u32, ty: &Type, before: &str, insert: bool| {
        let kind = if matches!(ty, Type::Array(..)) { HintKind::Size } else { HintKind::Type };
        let shown = if kind == HintKind::Size { wanted.sizes } else { wanted.types };
        if shown && range.touches(at + item.start) && !ty.has_error() && !matches!(ty, Type::Fun(_)) {
            let about = of.start + item.start;
            all.push(Hint { at: at + item.start, about, text: format!("{before}{ty}"), kind, insert });
        }
    };
    let mut locals = HashMap::with_capacity(body.locals.len());
    for local in &body.locals {
        locals.entry(local.span).or_insert(local);
    }
    let mut bound = |pat: ast::PatId, insert: bool| {
        let mut inside = vec![(pat, insert)];
        while let Some((pat, insert)) = inside.pop() {
            let pat = &tree.pats[pat];
            match &pat.kind {
                ast::Pat::Name(_) => {
                    if let Some(local) = locals.get(&pat.span) {
                        told(pat.span, pat.span.end, &local.ty, ": ", insert);
                    }
                }
                // A part of a tuple takes no type.
                ast::Pat::Tuple(parts) => inside.extend(parts.iter().map(|part| (*part, false))),
                _ => {}
            }
        }
    };
    if let Item::Let(top) = &tree.item
        && top.ty.is_none()
    {
        bound(top.pat, true);
    }
    for (_, node) in tree.exprs.iter() {
        match &node.kind {
            ast::Expr::Let(binds, _) => binds.iter().filter(|b| b.ty.is_none()).for_each(|b| bound(b.pat, true)),
            ast::Expr::Lambda(params, _) => params.iter().filter(|p| p.ty.is_none()).for_each(|p| bound(p.pat, false)),
            _ => {}
        }
    }
    if let Item::Def(def) = &tree.item
        && def.result.is_none()
        && let (Some(close), Some(root)) = (parameters_end(tree, def, item), body.root)
    {
        told(def.name.span, close, &body.nodes[root].ty, " -> ", true);
    }
}

/// Where the parameters of a definition end, behind their bracket.
fn parameters_end(tree: &ast::Tree, def: &ast::Def, item: &ItemRef) -> Option<u32> {
    let last = def.params.last().map_or(def.name.span, |param| tree.types[param.ty].span);
    let rest = item.text.get(last.end as usize..tree.exprs[def.body].span.start as usize)?;
    Some(last.end + u32::try_from(rest.find(')')?).ok()? + 1)
}

/// What a definition costs, at the end of the line where its body begins.
fn cost(session: &Session, item: &ItemRef) -> Option<Hint> {
    let parsed = session.tree(item)?;
    let Item::Def(def) = &parsed.tree.item else { return None };
    let costs = costs(session, &item.global)?;
    let body = parsed.tree.exprs[def.body].span.start as usize;
    let head = item.text.get(..body)?.trim_end();
    let rest = item.text.get(head.len()..)?;
    let line = rest.find('\n').unwrap_or(rest.len());
    let at = u32::try_from(head.len() + line).ok()? + item.start;
    let mut text = format!("work {}", brief(&costs.primal?.work));
    text += &costs.adjoint.map(|c| format!(" · ∇ {}", brief(&c.work))).unwrap_or_default();
    let about = def.name.span.start + item.start;
    Some(Hint { at, about, text, kind: HintKind::Cost, insert: false })
}

//! Hints that stand in the code: where index variables range, what types `let`s have, what definitions cost.

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
    /// The extents of an array that a `let` binds.
    Size,
    /// The type of anything else that a `let` binds.
    Type,
    /// What a definition costs.
    Cost,
}

/// A hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Where it stands.
    pub at: u32,
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
    let mut all: Vec<Hint> = touched.flat_map(|item| of_item(session, &item, wanted)).collect();
    all.retain(|hint| range.touches(hint.at));
    all.sort_by_key(|hint| hint.at);
    all
}

fn of_item(session: &Session, item: &ItemRef, wanted: Wanted) -> Vec<Hint> {
    let mut all = Vec::new();
    let Some(checked) = session.checked_item(item) else { return all };
    let body = &checked.body;
    if wanted.extents {
        extents(body, item, &mut all);
    }
    if let Some(parsed) = session.tree(item)
        && (wanted.sizes || wanted.types)
    {
        lets(&parsed.tree, body, item, wanted, &mut all);
    }
    if wanted.cost && item.kind == ItemKind::Def && !is_hidden(session, item) {
        all.extend(cost(session, item));
    }
    all
}

/// Extents of index variables that are written without.
fn extents(body: &Body, item: &ItemRef, all: &mut Vec<Hint>) {
    for (_, node) in body.nodes.iter() {
        let (Expr::Binder { vars, .. } | Expr::Fold { vars, .. }) = &node.kind else { continue };
        for var in vars {
            let (IndexRange::Extent(n), Some(local)) = (&var.range, body.locals.get(var.local.0 as usize)) else {
                continue;
            };
            // Where a mistake leaves it open there is nothing to say.
            let mut open = n.overflowed();
            n.for_each_atom(&mut |a| open |= matches!(a, Atom::Meta(_)));
            if open {
                continue;
            }
            let text = format!(" < {n}");
            all.push(Hint { at: local.span.end + item.start, text, kind: HintKind::Extent, insert: true });
        }
    }
}

/// Types of what is bound by `let` without one.
fn lets(tree: &ast::Tree, body: &Body, item: &ItemRef, wanted: Wanted, all: &mut Vec<Hint>) {
    let mut bound = |pat: ast::PatId| {
        let pat = &tree.pats[pat];
        let ast::Pat::Name(_) = &pat.kind else { return };
        let Some(local) = body.locals.iter().find(|l| l.span == pat.span) else { return };
        let kind = if matches!(local.ty, Type::Array(..)) { HintKind::Size } else { HintKind::Type };
        let shown = if kind == HintKind::Size { wanted.sizes } else { wanted.types };
        if shown && !local.ty.has_error() && !matches!(local.ty, Type::Fun(_)) {
            let text = format!(": {}", local.ty);
            all.push(Hint { at: pat.span.end + item.start, text, kind, insert: true });
        }
    };
    if let Item::Let(top) = &tree.item
        && top.ty.is_none()
    {
        bound(top.pat);
    }
    for (_, node) in tree.exprs.iter() {
        if let ast::Expr::Let(binds, _) = &node.kind {
            binds.iter().filter(|b| b.ty.is_none()).for_each(|b| bound(b.pat));
        }
    }
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
    Some(Hint { at, text, kind: HintKind::Cost, insert: false })
}

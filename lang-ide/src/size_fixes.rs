//! **Quick fixes for size errors.** Changes a written size to the inferred one, or writes a range
//! for an index that runs over two extents. Each change is tried by [`crate::try_edit`] before it
//! is offered.

use lang_core::base::{Code, Diagnostic, Fact, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, IndexRange, Item, SizeExpr, Tree, TypeExpr};

use crate::actions::Action;
use crate::try_edit::{CandidateEdit, verified_actions};

/// Returns the fixes for the size errors in the selection.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span) -> Vec<Action> {
    let Some(parsed) = session.tree(item).filter(|parsed| parsed.diagnostics.is_empty()) else { return Vec::new() };
    let errors = session.item_diagnostics(item).into_iter().filter(Diagnostic::is_error);
    let here = |d: &Diagnostic| d.span.start <= selected.end && selected.start <= d.span.end;
    let mut changes: Vec<CandidateEdit> = Vec::new();
    for d in errors.filter(here) {
        match (d.code, &d.fact) {
            (Code::E0300, Some(Fact::SizeMismatch { found, expected })) => {
                changes.extend(size_changes(&parsed.tree, item, expected, found));
                changes.extend(size_changes(&parsed.tree, item, found, expected));
            }
            (_, Some(Fact::IndexExtents { index, here, elsewhere })) => {
                let at = d.span.start.saturating_sub(item.start);
                changes.extend(size_changes(&parsed.tree, item, here, elsewhere));
                changes.extend(size_changes(&parsed.tree, item, elsewhere, here));
                changes.extend(range_changes(&parsed.tree, index, at, &[elsewhere, here]));
            }
            _ => {}
        }
    }
    verified_actions(session, item, changes)
}

/// Returns the text without white space.
fn without_whitespace(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Returns the changes of each size that the item's types write as `old` to `new`.
fn size_changes(tree: &Tree, item: &ItemRef, old: &str, new: &str) -> Vec<CandidateEdit> {
    let mut sizes = Vec::new();
    for (_, node) in tree.types.iter() {
        let TypeExpr::Array(all, _) = &node.kind else { continue };
        sizes.extend(all.iter().filter_map(|size| match size {
            SizeExpr::Expr(e) => Some(tree.exprs[*e].span),
            SizeExpr::Unknown(_) => None,
        }));
    }
    let is_old = |span: &Span| {
        item.text.get(span.range()).is_some_and(|text| without_whitespace(text) == without_whitespace(old))
    };
    let change = |span: Span| CandidateEdit {
        title: format!("Change the size `{old}`{} to `{new}`", describe_size_owner(tree, span)),
        span,
        text: new.to_owned(),
    };
    sizes.into_iter().filter(is_old).map(change).collect()
}

/// Describes the parameter or result whose type contains the size.
fn describe_size_owner(tree: &Tree, size: Span) -> String {
    let Item::Def(def) = &tree.item else { return String::new() };
    let holds = |ty: lang_core::syntax::ast::TypeId| {
        let span = tree.types[ty].span;
        span.start <= size.start && size.end <= span.end
    };
    match def.params.iter().find(|param| holds(param.ty)) {
        Some(param) => format!(" of `{}`", param.name.name),
        None if def.result.is_some_and(holds) => " of the result".to_owned(),
        None => String::new(),
    }
}

/// Returns changes that add a range to the index of that name, in the innermost binder around the
/// offset.
fn range_changes(tree: &Tree, name: &str, at: u32, extents: &[&String]) -> Vec<CandidateEdit> {
    let around = tree.exprs.iter().filter(|(_, node)| node.span.start <= at && at < node.span.end);
    let vars = around.filter_map(|(_, node)| match &node.kind {
        Expr::Binder { vars, .. } | Expr::Fold { vars, .. } => {
            let var = vars.iter().find(|var| *var.name.name == *name && matches!(var.range, IndexRange::Bare));
            Some((node.span.end - node.span.start, var?.name.span))
        }
        _ => None,
    });
    let Some((_, span)) = vars.min_by_key(|(long, _)| *long) else { return Vec::new() };
    let end = Span::new(span.end, span.end);
    let range = |extent: &&String| CandidateEdit {
        title: format!("Add the range `{name} < {extent}`"),
        span: end,
        text: format!(" < {extent}"),
    };
    extents.iter().map(range).collect()
}

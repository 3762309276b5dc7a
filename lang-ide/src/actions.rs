//! **Code actions.** Fixes a name or a size, inserts a derivative of a definition, writes down
//! inferred types, or extracts an expression into a `let`. The server's `textDocument/codeAction`
//! calls it.

use lang_core::base::{Diagnostic, GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, ExprId, Item, Tree};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::TypedId;
use lang_core::types::ty::Type;

use crate::find::is_shadowed_duplicate;
use crate::fixes::fixes;
use crate::hints::{HintSelection, hints};
use crate::lenses::has_derivative_types;
use crate::names::uses;
use crate::views::{ViewStage, view};
use crate::{Edit, Location, help_fixes, size_fixes};

/// The kind of a code action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ActionKind {
    /// Fixes an error.
    Fix,
    /// Inserts computed source.
    Source,
    /// Rewrites code without changing its meaning.
    Rewrite,
    /// Extracts an expression.
    Extract,
}

/// An offered change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// The title that the editor displays.
    pub title: String,
    /// The kind of change.
    pub kind: ActionKind,
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
    /// Whether this is the most likely fix, which an editor may apply without a choice.
    pub preferred: bool,
    /// The definition and stage of a derivative that [`derivative_edits`] computes later. `edits`
    /// is then empty.
    pub deferred_derivative: Option<(Name, ViewStage)>,
}

impl Action {
    /// Creates an action that is one of several, with its edits.
    pub(crate) fn new(title: String, kind: ActionKind, edits: Vec<Edit>) -> Self {
        Self { title, kind, edits, preferred: false, deferred_derivative: None }
    }
}

/// The time at which an action's derivative is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DerivativeTiming {
    Eager,
    Deferred,
}

/// Returns the actions for a selection, fixes first.
#[must_use]
pub fn actions(session: &Session, module: &str, selected: Span) -> Vec<Action> {
    collect_actions(session, module, selected, DerivativeTiming::Eager)
}

/// Returns the same actions without computing derivatives. [`derivative_edits`] computes the
/// derivative of a chosen action.
#[must_use]
pub fn actions_without_derivatives(session: &Session, module: &str, selected: Span) -> Vec<Action> {
    collect_actions(session, module, selected, DerivativeTiming::Deferred)
}

/// Returns the edits that insert a derivative.
///
/// # Errors
/// The reason why there is no derivative, as text for the user.
pub fn derivative_edits(session: &Session, module: &str, def: &str, stage: ViewStage) -> Result<Vec<Edit>, String> {
    let item = session.item(&GlobalName::new(module, def));
    let item = item.ok_or_else(|| format!("cannot find definition `{def}` in this module"))?;
    insertion_edit(session, &item, stage).map(|edit| vec![edit])
}

fn collect_actions(session: &Session, module: &str, selected: Span, computed: DerivativeTiming) -> Vec<Action> {
    let mut all = Vec::new();
    let Some(item) = session.item_at(module, selected.start) else { return all };
    all.extend(fixes(session, &item, selected));
    all.extend(size_fixes::fixes(session, &item, selected));
    // The fixes that a diagnostic carries are offered beside name suggestions. The edits that a
    // hint suggests are offered only if there are no other fixes.
    let alone = all.is_empty();
    for fix in help_fixes::fixes(session, &item, selected, alone) {
        if !all.iter().any(|known| known.edits == fix.edits) {
            all.push(fix);
        }
    }
    if item.kind == ItemKind::Def && !is_shadowed_duplicate(session, &item) {
        all.extend(extract_let_action(session, &item, selected));
        if is_before_body(session, &item, selected) {
            all.extend(derivative_action(session, &item, ViewStage::Adjoint, computed));
            all.extend(derivative_action(session, &item, ViewStage::Forward, computed));
        }
    }
    let unread = session.tree(&item).is_some_and(|tree| tree.diagnostics.iter().any(Diagnostic::is_error));
    if !unread {
        all.extend(annotation_actions(session, module, &item, selected));
    }
    all
}

fn location_in_item(item: &ItemRef, span: Span) -> Location {
    Location { module: item.module.clone(), span: span.shift(item.start) }
}

/// Returns whether the selection begins before the body of the definition.
fn is_before_body(session: &Session, item: &ItemRef, selected: Span) -> bool {
    let Some(parsed) = session.tree(item) else { return false };
    let Item::Def(def) = &parsed.tree.item else { return false };
    selected.start < parsed.tree.exprs[def.body].span.start + item.start
}

/// Returns the action that inserts a derivative as a definition after the original.
fn derivative_action(
    session: &Session,
    item: &ItemRef,
    stage: ViewStage,
    computed: DerivativeTiming,
) -> Option<Action> {
    let (what, suffix) = if stage == ViewStage::Forward { ("forward derivative", "_tan") } else { ("adjoint", "_adj") };
    let name = format!("{}{suffix}", item.name);
    let named = GlobalName::new(&item.module, &name);
    if session.item(&named).is_some() || session.type_item(&named).is_some() {
        return None;
    }
    let title = format!("Insert the {what} of `{}` as a definition", item.name);
    if computed == DerivativeTiming::Deferred {
        let later = Some((item.name.clone(), stage));
        let action = Action { deferred_derivative: later, ..Action::new(title, ActionKind::Source, Vec::new()) };
        return has_derivative_types(session, &item.global).then_some(action);
    }
    Some(Action::new(title, ActionKind::Source, vec![insertion_edit(session, item, stage).ok()?]))
}

/// Returns the edit that inserts a derivative after its definition, or the reason why none exists.
fn insertion_edit(session: &Session, item: &ItemRef, stage: ViewStage) -> Result<Edit, String> {
    let view = view(session, &item.module, &item.name, stage)?;
    if !view.is_program {
        return Err(format!("cannot print the derivative of `{}` as a definition", item.name));
    }
    let end = u32::try_from(item.text.trim_end().len()).unwrap_or(u32::MAX);
    Ok(Edit { at: location_in_item(item, Span::new(end, end)), text: format!("\n\n{}", view.text.trim_end()) })
}

/// Returns the actions that write down inferred types and extents, for the selected lines and for
/// the whole definition.
fn annotation_actions(session: &Session, module: &str, item: &ItemRef, selected: Span) -> Vec<Action> {
    let wanted = HintSelection { extents: true, sizes: true, types: true, cost: false };
    let all: Vec<_> = hints(session, module, item.span(), wanted).into_iter().filter(|h| h.is_insertable).collect();
    let edit = |h: &crate::hints::SourceHint| {
        let at = Location { module: item.module.clone(), span: Span::new(h.offset, h.offset) };
        Edit { at, text: h.text.clone() }
    };
    // A hint follows its name, so the selected lines contain both.
    let text = session.text(module).unwrap_or_default();
    let begin = text.get(..selected.start as usize).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let end =
        text.get(selected.end as usize..).and_then(|t| t.find('\n')).map_or(text.len(), |n| n + selected.end as usize);
    let here: Vec<Edit> = all.iter().filter(|h| (begin..=end).contains(&(h.offset as usize))).map(edit).collect();
    let mut actions = Vec::new();
    if !here.is_empty() {
        let title = "Insert inferred types and extents here".to_owned();
        actions.push(Action::new(title, ActionKind::Rewrite, here.clone()));
    }
    if all.len() > here.len() && item.kind == ItemKind::Def {
        let title = format!("Insert all inferred types and extents in `{}`", item.name);
        actions.push(Action::new(title, ActionKind::Rewrite, all.iter().map(edit).collect()));
    }
    actions
}

/// Extracts the selected expression into a `let` before the innermost body that contains it.
fn extract_let_action(session: &Session, item: &ItemRef, selected: Span) -> Option<Action> {
    let text = session.text(&item.module)?;
    let inside = text.get(selected.range())?;
    let begin = selected.start + u32::try_from(inside.len() - inside.trim_start().len()).ok()?;
    let end = selected.end - u32::try_from(inside.len() - inside.trim_end().len()).ok()?;
    if begin >= end {
        return None;
    }
    let own = Span::new(begin.checked_sub(item.start)?, end.checked_sub(item.start)?);
    let parsed = session.tree(item)?;
    let tree = &parsed.tree;
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    let (_, expr) = tree.exprs.iter().find(|(_, node)| node.span == own)?;
    if matches!(expr.kind, Expr::Name(_) | Expr::Error) || is_function(session, item, own) {
        return None;
    }
    let (body, closed) = enclosing_body(tree, own)?;
    let names: Vec<_> = uses(session, item).into_iter().map(|u| u.name).collect();
    let taken = |name: &str| names.iter().any(|n| n == name);
    let name = ["t", "u", "v", "w"].into_iter().find(|n| !taken(n)).map(str::to_owned);
    let name = name.or_else(|| (2..100).map(|k| format!("t{k}")).find(|n| !taken(n)))?;
    let is_one = |text: &str| matches!(lex(text).tokens.as_slice(), [one] if matches!(one.token, Token::Name(_)));
    is_one(&name).then_some(())?;
    let value = item.text.get(own.range())?;
    let (open, close) = if closed { ("(", ")") } else { ("", "") };
    let mut edits = vec![Edit {
        at: location_in_item(item, Span::new(body.start, body.start)),
        text: format!("{open}let {name} = {value} in "),
    }];
    edits.push(Edit { at: location_in_item(item, own), text: name.clone() });
    if closed {
        edits.push(Edit { at: location_in_item(item, Span::new(body.end, body.end)), text: close.to_owned() });
    }
    // If the body is the expression itself, one edit suffices.
    if body == own {
        let text = format!("{open}let {name} = {value} in {name}{close}");
        edits = vec![Edit { at: location_in_item(item, own), text }];
    }
    Some(Action::new(format!("Extract into `let {name}`"), ActionKind::Extract, edits))
}

fn is_function(session: &Session, item: &ItemRef, span: Span) -> bool {
    let Some(checked) = session.checked_item(item) else { return true };
    let node: Option<TypedId> = checked.body.nodes.iter().rfind(|(_, n)| n.span == span).map(|(id, _)| id);
    node.is_none_or(|node| matches!(checked.body.nodes[node].ty, Type::Fun(_)))
}

/// Returns the innermost body before which a `let` can name the expression at the span: evaluating
/// the body evaluates the expression. Also returns whether that `let` needs parentheses.
fn enclosing_body(tree: &Tree, span: Span) -> Option<(Span, bool)> {
    let Item::Def(def) = &tree.item else { return None };
    let mut all: Vec<(ExprId, bool)> = vec![(def.body, false)];
    for (_, node) in tree.exprs.iter() {
        match &node.kind {
            Expr::Lambda(_, body) => all.push((*body, false)),
            Expr::Binder { filter, body, .. } => {
                all.extend(filter.map(|filter| (filter, true)));
                all.push((*body, false));
            }
            Expr::Fold { body, yields, .. } => all.extend([(*body, true)].into_iter().chain(yields.map(|y| (y, true)))),
            Expr::Loop { cond, body, .. } => all.extend([(*cond, true), (*body, false)]),
            Expr::Let(binds, body) => all.extend(binds.iter().map(|b| (b.value, true)).chain([(*body, false)])),
            Expr::If(arms, otherwise) => {
                all.extend(arms.iter().flat_map(|(cond, then)| [(*cond, true), (*then, true)]));
                all.push((*otherwise, false));
            }
            Expr::Match(_, arms) => all.extend(arms.iter().map(|arm| (arm.body, true))),
            _ => {}
        }
    }
    let around = all.into_iter().map(|(e, closed)| (tree.exprs[e].span, closed));
    let around = around.filter(|(body, _)| body.start <= span.start && span.end <= body.end);
    around.min_by_key(|(body, _)| body.end - body.start)
}

//! What can be done with the code at a place: mend a name or a size, put in the adjoint or the forward derivative of a definition, write down what
//! was inferred, give a name to an expression.

use lang_core::base::{Diagnostic, GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, ExprId, Item, Tree};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::TId;
use lang_core::types::ty::Type;

use crate::find::is_hidden;
use crate::fixes::fixes;
use crate::hints::{Wanted, hints};
use crate::lenses::may_be_differentiated;
use crate::names::uses;
use crate::views::{Stage, view};
use crate::{Edit, Location, sizes, slips};

/// What kind of change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ActionKind {
    /// It mends what is wrong.
    Fix,
    /// It adds something that was computed.
    Source,
    /// It writes the same otherwise.
    Rewrite,
    /// It takes a part out.
    Extract,
}

/// A change that is offered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// What it does, for people.
    pub title: String,
    /// What kind.
    pub kind: ActionKind,
    /// The change, in parts that do not touch.
    pub edits: Vec<Edit>,
    /// It is what a mistake most likely asks for: an editor may take it without asking.
    pub preferred: bool,
    /// A derivative of this definition is put in, which [`chosen`] computes; there are no edits yet.
    pub later: Option<(Name, Stage)>,
}

impl Action {
    /// A change that is one of several.
    pub(crate) fn new(title: String, kind: ActionKind, edits: Vec<Edit>) -> Self {
        Self { title, kind, edits, preferred: false, later: None }
    }
}

/// When the derivative is computed that an action puts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Computed {
    AtOnce,
    WhenChosen,
}

/// What can be done where this is selected: first what mends a mistake there.
#[must_use]
pub fn actions(session: &Session, module: &str, selected: Span) -> Vec<Action> {
    offered(session, module, selected, Computed::AtOnce)
}

/// The same, without computing derivatives: [`chosen`] computes one, or says why there is none.
#[must_use]
pub fn actions_to_choose(session: &Session, module: &str, selected: Span) -> Vec<Action> {
    offered(session, module, selected, Computed::WhenChosen)
}

/// The edits that put in a derivative.
///
/// # Errors
/// Why there is none, for people.
pub fn chosen(session: &Session, module: &str, def: &str, stage: Stage) -> Result<Vec<Edit>, String> {
    let item = session.item(&GlobalName::new(module, def));
    let item = item.ok_or_else(|| format!("there is no definition `{def}` here"))?;
    inserted(session, &item, stage).map(|edit| vec![edit])
}

fn offered(session: &Session, module: &str, selected: Span, computed: Computed) -> Vec<Action> {
    let mut all = Vec::new();
    let Some(item) = session.item_at(module, selected.start) else { return all };
    all.extend(fixes(session, &item, selected));
    all.extend(sizes::fixes(session, &item, selected));
    // Fixes that a diagnostic carries stand beside names that were perhaps meant; code that its help quotes stands alone.
    let alone = all.is_empty();
    for fix in slips::fixes(session, &item, selected, alone) {
        if !all.iter().any(|known| known.edits == fix.edits) {
            all.push(fix);
        }
    }
    if item.kind == ItemKind::Def && !is_hidden(session, &item) {
        all.extend(named(session, &item, selected));
        if on_head(session, &item, selected) {
            all.extend(derivative(session, &item, Stage::Adjoint, computed));
            all.extend(derivative(session, &item, Stage::Forward, computed));
        }
    }
    let unread = session.tree(&item).is_some_and(|tree| tree.diagnostics.iter().any(Diagnostic::is_error));
    if !unread {
        all.extend(inferred(session, module, &item, selected));
    }
    all
}

fn at(item: &ItemRef, span: Span) -> Location {
    Location { module: item.module.clone(), span: span.shift(item.start) }
}

/// Does the selection begin before the body of the definition?
fn on_head(session: &Session, item: &ItemRef, selected: Span) -> bool {
    let Some(parsed) = session.tree(item) else { return false };
    let Item::Def(def) = &parsed.tree.item else { return false };
    selected.start < parsed.tree.exprs[def.body].span.start + item.start
}

/// A derivative as a definition after the one that it is of.
fn derivative(session: &Session, item: &ItemRef, stage: Stage, computed: Computed) -> Option<Action> {
    let (what, suffix) = if stage == Stage::Forward { ("forward derivative", "_tan") } else { ("adjoint", "_adj") };
    let name = format!("{}{suffix}", item.name);
    let named = GlobalName::new(&item.module, &name);
    if session.item(&named).is_some() || session.type_item(&named).is_some() {
        return None;
    }
    let title = format!("Insert the {what} of `{}` as a definition", item.name);
    if computed == Computed::WhenChosen {
        let later = Some((item.name.clone(), stage));
        let action = Action { later, ..Action::new(title, ActionKind::Source, Vec::new()) };
        return may_be_differentiated(session, &item.global).then_some(action);
    }
    Some(Action::new(title, ActionKind::Source, vec![inserted(session, item, stage).ok()?]))
}

/// Puts a derivative behind the definition that it is of; else why there is none.
fn inserted(session: &Session, item: &ItemRef, stage: Stage) -> Result<Edit, String> {
    let view = view(session, &item.module, &item.name, stage)?;
    if !view.is_program {
        return Err(format!("the derivative of `{}` cannot be written as a definition", item.name));
    }
    let end = u32::try_from(item.text.trim_end().len()).unwrap_or(u32::MAX);
    Ok(Edit { at: at(item, Span::new(end, end)), text: format!("\n\n{}", view.text.trim_end()) })
}

/// Types and extents that were inferred, written down: of the place, and of the whole definition.
fn inferred(session: &Session, module: &str, item: &ItemRef, selected: Span) -> Vec<Action> {
    let wanted = Wanted { extents: true, sizes: true, types: true, cost: false };
    let all: Vec<_> = hints(session, module, item.span(), wanted).into_iter().filter(|h| h.insert).collect();
    let edit = |h: &crate::hints::Hint| {
        let at = Location { module: item.module.clone(), span: Span::new(h.at, h.at) };
        Edit { at, text: h.text.clone() }
    };
    // The name that a hint stands behind is on the line of the selection.
    let text = session.text(module).unwrap_or_default();
    let begin = text.get(..selected.start as usize).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let end =
        text.get(selected.end as usize..).and_then(|t| t.find('\n')).map_or(text.len(), |n| n + selected.end as usize);
    let here: Vec<Edit> = all.iter().filter(|h| (begin..=end).contains(&(h.at as usize))).map(edit).collect();
    let mut actions = Vec::new();
    if !here.is_empty() {
        let title = "Write down what is inferred here".to_owned();
        actions.push(Action::new(title, ActionKind::Rewrite, here.clone()));
    }
    if all.len() > here.len() && item.kind == ItemKind::Def {
        let title = format!("Write down all that is inferred in `{}`", item.name);
        actions.push(Action::new(title, ActionKind::Rewrite, all.iter().map(edit).collect()));
    }
    actions
}

/// A name for the expression that is selected, by a `let` before the innermost body that it stands in.
fn named(session: &Session, item: &ItemRef, selected: Span) -> Option<Action> {
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
    let (body, closed) = body_around(tree, own)?;
    let names: Vec<_> = uses(session, item).into_iter().map(|u| u.name).collect();
    let taken = |name: &str| names.iter().any(|n| n == name);
    let name = ["t", "u", "v", "w"].into_iter().find(|n| !taken(n)).map(str::to_owned);
    let name = name.or_else(|| (2..100).map(|k| format!("t{k}")).find(|n| !taken(n)))?;
    let is_one = |text: &str| matches!(lex(text).tokens.as_slice(), [one] if matches!(one.token, Token::Name(_)));
    is_one(&name).then_some(())?;
    let value = item.text.get(own.range())?;
    let (open, close) = if closed { ("(", ")") } else { ("", "") };
    let mut edits =
        vec![Edit { at: at(item, Span::new(body.start, body.start)), text: format!("{open}let {name} = {value} in ") }];
    edits.push(Edit { at: at(item, own), text: name.clone() });
    if closed {
        edits.push(Edit { at: at(item, Span::new(body.end, body.end)), text: close.to_owned() });
    }
    // Where the body is the expression itself there is one change.
    if body == own {
        let text = format!("{open}let {name} = {value} in {name}{close}");
        edits = vec![Edit { at: at(item, own), text }];
    }
    Some(Action::new(format!("Give the expression the name `{name}`"), ActionKind::Extract, edits))
}

fn is_function(session: &Session, item: &ItemRef, span: Span) -> bool {
    let Some(checked) = session.checked_item(item) else { return true };
    let node: Option<TId> = checked.body.nodes.iter().rfind(|(_, n)| n.span == span).map(|(id, _)| id);
    node.is_none_or(|node| matches!(checked.body.nodes[node].ty, Type::Fun(_)))
}

/// The innermost body around a place whose evaluation evaluates it: what stands there may be named before. Does a `let`
/// there need parentheses?
fn body_around(tree: &Tree, span: Span) -> Option<(Span, bool)> {
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

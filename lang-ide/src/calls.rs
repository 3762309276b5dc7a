//! **Call hierarchy.** Finds the users of a definition and the definitions that it uses. A
//! definition that is passed as a value or differentiated counts like one that is called. Rules,
//! `let` and `do` items count as users too.

use std::collections::{HashMap, HashSet};

use lang_core::base::{GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Expr, ExprId, Item};
use lang_core::syntax::split::ItemKind;

use crate::Location;
use crate::costs::{primal_share, total_work};
use crate::find::occurrences;
use crate::hover::node_at;
use crate::names::{NameRole, NameTarget, NameUse, name_at, untyped_uses};
use crate::symbols::join_code_lines;

/// An item of the call hierarchy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallItem {
    /// The item's identity, for queries of its cost and type.
    pub global: GlobalName,
    /// The displayed name: `f`, `derivative f`, `do`.
    pub name: Name,
    /// The kind of item.
    pub kind: ItemKind,
    /// The whole item without its comments.
    pub location: Location,
    /// The span of its name.
    pub selection: Span,
    /// The first line of its text.
    pub detail: String,
}

/// An item at the other end of calls, with the spans of the calls in the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSites {
    /// The caller or the callee.
    pub item: CallItem,
    /// The spans of the calls, in the caller's module.
    pub spans: Vec<Span>,
    /// The share of the caller's work that the calls cost.
    pub work: Option<String>,
}

/// The number of callers whose work is computed. Later callers are listed without it.
const MAX_CALLERS_WITH_WORK: usize = 256;

/// Returns the work of the calls at these spans, without the work of their arguments if the two are
/// separable. A call of a derivative such as `grad(f)(x)` counts too. Returns `None` for a
/// definition that is only passed as a value.
fn work_of_calls(session: &Session, from: &ItemRef, places: &[Span]) -> Option<String> {
    let parsed = session.tree(from)?;
    let exprs = &parsed.tree.exprs;
    let ends: HashSet<u32> = places.iter().map(|at| at.end).collect();
    let is_place = |e: ExprId| ends.contains(&exprs[e].span.shift(from.start).end);
    let derived = |e: ExprId| match &exprs[e].kind {
        Expr::Call(_, args) => args.first().is_some_and(|of| is_place(of.value)),
        _ => false,
    };
    let calls = exprs.iter().filter(|(_, e)| matches!(e.kind, Expr::Call(of, _) if is_place(of) || derived(of)));
    let calls: Vec<Span> = calls.map(|(_, e)| e.span).collect();
    let all: HashSet<Span> = calls.iter().copied().collect();
    let share = primal_share(session, &from.global, &|at| all.contains(at));
    // Calls in a loop or at the top level have no statements of their own.
    let each = || {
        let checked = session.checked_item(from)?;
        let each = calls.iter().map(|at| {
            let node = node_at(from, &checked.body, *at)?;
            session.evaluation_costs(&from.global, node).as_deref().and_then(total_work)
        });
        each.collect::<Option<Vec<String>>>().filter(|all| !all.is_empty()).map(|all| all.join(" + "))
    };
    share.or_else(each)
}

/// Returns the definition that is named at an offset, or else the item at that offset.
#[must_use]
pub fn prepare_calls(session: &Session, module: &str, at: u32) -> Option<CallItem> {
    if let Some((_, found)) = name_at(session, module, at)
        && let NameTarget::Value(name) = &found.meaning
        && let Some(item) = session.item(name)
    {
        return call_item(session, &item, name);
    }
    let item = session.item_at(module, at)?;
    let global = item.global.clone();
    call_item(session, &item, &global).filter(|i| matches!(i.kind, ItemKind::Def | ItemKind::Let | ItemKind::Do))
}

fn call_item(session: &Session, item: &ItemRef, global: &GlobalName) -> Option<CallItem> {
    let parsed = session.tree(item)?;
    let tree = &parsed.tree;
    let named = untyped_uses(session, item).into_iter().find(|u| match (&u.meaning, u.role) {
        (NameTarget::Value(name), NameRole::Declaration) => name == global,
        (_, NameRole::Rule) => true,
        _ => false,
    });
    let whole = tree.span.shift(item.start);
    let (name, selection) = match (&tree.item, &named) {
        (Item::Do(_), _) => ("do".into(), Span::new(whole.start, whole.start.saturating_add(2).min(whole.end))),
        (_, Some(found)) => (global.name.clone(), found.span),
        (_, None) => return None,
    };
    let text = item.text.get(tree.span.range()).unwrap_or_default();
    let head = text.lines().next().unwrap_or_default();
    Some(CallItem {
        global: global.clone(),
        name,
        kind: item.kind,
        location: Location { module: item.module.clone(), span: whole },
        selection,
        detail: join_code_lines(head),
    })
}

/// Returns the items of all modules that use the item, by module and position.
#[must_use]
pub fn incoming(session: &Session, of: &CallItem) -> Vec<CallSites> {
    let Some(item) = session.item(&of.global) else { return Vec::new() };
    let found = NameUse {
        span: of.selection,
        name: of.global.name.clone(),
        meaning: NameTarget::Value(of.global.clone()),
        role: NameRole::Declaration,
        kind: None,
    };
    let mut callers: Vec<(ItemRef, CallSites)> = Vec::new();
    for (from, place) in occurrences(session, &item, &found, None) {
        if place.role != NameRole::Use {
            continue;
        }
        // `occurrences` returns the uses of an item consecutively.
        match callers.last_mut().filter(|(last, _)| last.module == from.module && last.start == from.start) {
            Some((_, calls)) => calls.spans.push(place.span),
            None => {
                let item = call_item(session, &from, &from.global);
                callers.extend(item.map(|item| (from, CallSites { item, spans: vec![place.span], work: None })));
            }
        }
    }
    for (from, calls) in callers.iter_mut().take(MAX_CALLERS_WITH_WORK) {
        calls.work = work_of_calls(session, from, &calls.spans);
    }
    let mut all: Vec<CallSites> = callers.into_iter().map(|(_, calls)| calls).collect();
    all.sort_by(|a, b| a.item.location.cmp(&b.item.location));
    all
}

/// Returns the definitions that the item uses, in order of first use.
#[must_use]
pub fn outgoing(session: &Session, of: &CallItem) -> Vec<CallSites> {
    // A `do` item has no unique name, so its position finds it.
    let here = session.item_at(&of.location.module, of.selection.start);
    let Some(item) = here.or_else(|| session.item(&of.global)) else { return Vec::new() };
    let mut all: Vec<CallSites> = Vec::new();
    let mut known: HashMap<GlobalName, Option<usize>> = HashMap::new();
    for found in untyped_uses(session, &item) {
        let (NameTarget::Value(name), NameRole::Use) = (&found.meaning, found.role) else { continue };
        let at = *known.entry(name.clone()).or_insert_with(|| {
            let to = session.item(name).and_then(|to| call_item(session, &to, name))?;
            all.push(CallSites { item: to, spans: Vec::new(), work: None });
            all.len().checked_sub(1)
        });
        at.and_then(|at| all.get_mut(at)).into_iter().for_each(|calls| calls.spans.push(found.span));
    }
    all.iter_mut().for_each(|calls| calls.work = work_of_calls(session, &item, &calls.spans));
    all
}

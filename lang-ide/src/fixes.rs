//! What mends a name that means nothing: a module of the library imported, a definition of one named in full, the name
//! that was probably meant.

use lang_core::base::Span;
use lang_core::resolve::Names;
use lang_core::resolve::suggest::nearest;
use lang_core::session::{ItemRef, Session};

use crate::actions::{Action, ActionKind};
use crate::completion::{Completion, CompletionKind, complete};
use crate::names::{Role, What, untyped_uses};
use crate::{Edit, Location};

/// What mends the names of an item that are selected and mean nothing.
pub(crate) fn fixes(session: &Session, item: &ItemRef, selected: Span) -> Vec<Action> {
    let unknown = untyped_uses(session, item).into_iter().filter(|u| {
        u.what == What::Unknown && u.role == Role::Use && u.span.start <= selected.end && selected.start <= u.span.end
    });
    unknown.flat_map(|u| of_name(session, &item.module, &u.name, u.span)).collect()
}

fn of_name(session: &Session, module: &str, name: &str, span: Span) -> Vec<Action> {
    let at = Location { module: module.into(), span };
    let fix = |title: String, text: Option<&str>, more: &[Edit]| {
        let own = text.map(|text| Edit { at: at.clone(), text: text.to_owned() });
        Action { title, kind: ActionKind::Fix, edits: own.into_iter().chain(more.iter().cloned()).collect() }
    };
    // What has this very name, elsewhere.
    let same = |c: &Completion| c.label == name && (!c.edits.is_empty() || c.insert != c.label) && !c.template;
    let offered = complete(session, module, span.end).items;
    let mut all: Vec<Action> = Vec::new();
    for c in offered.iter().filter(|c| same(c)) {
        all.push(match c.kind {
            CompletionKind::Module => fix(format!("Import `{}`", c.insert), None, &c.edits),
            _ => fix(format!("Use `{}`", c.insert), Some(&c.insert), &c.edits),
        });
    }
    let meant = |c: &Completion| {
        let is_name = !matches!(c.kind, CompletionKind::Keyword | CompletionKind::Form | CompletionKind::Symbol);
        is_name && !c.template && c.edits.is_empty() && c.insert == c.label && c.label != name
    };
    let known = complete(session, module, span.start).items;
    let mut candidates: Vec<&str> = known.iter().filter(|c| meant(c)).map(|c| c.label.as_str()).collect();
    let own = session.view().value_names(&module.into());
    // Of a large module completion tells a part.
    if known.iter().any(|c| own.iter().any(|name| *name == *c.label)) {
        candidates.extend(own.iter().map(|name| name.as_str()));
    }
    if let Some(near) = nearest(name, candidates) {
        all.push(fix(format!("Change `{name}` to `{near}`"), Some(&near), &[]));
    }
    all
}

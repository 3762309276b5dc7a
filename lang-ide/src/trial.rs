//! Changes that are tried before they are offered: in a program of its own, where an item has no error then and others have
//! none more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lang_core::base::{Diagnostic, ModuleName, Span};
use lang_core::session::{ItemRef, Session};

use crate::actions::{Action, ActionKind};
use crate::apart::apart;
use crate::{Edit, Location};

/// More changes are not tried.
const MOST: usize = 6;

/// A change: its title, what it replaces in the item, and by what.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) title: String,
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// What a change has to do to be offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The item has no error.
    Item,
    /// It has none up to the end of the change: behind that the text could not be read before.
    Place,
}

/// Those of some changes to an item that mend it, as actions.
pub(crate) fn tried(session: &Session, item: &ItemRef, mut changes: Vec<Change>, wanted: Wanted) -> Vec<Action> {
    // Two mistakes may be mended by one change.
    let mut seen: Vec<(Span, String)> = Vec::new();
    changes.retain(|change| {
        let key = (change.span, change.text.clone());
        let is_new = !seen.contains(&key);
        seen.extend(is_new.then_some(key));
        is_new
    });
    changes.truncate(MOST);
    if changes.is_empty() {
        return Vec::new();
    }
    let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        session.diagnostics(&item.module).into_iter().partition(Diagnostic::is_error);
    let own = session.modules().into_iter().filter(|m| !crate::find::is_library(m));
    let texts = own.filter_map(|module| session.text(&module).map(|text| (module, text))).collect();
    let trial = Trial { texts, item: item.clone(), before: errors.len(), warned: others.len() };
    let mends = move |stop: &AtomicBool| {
        let goes_on = |_: &Change| !stop.load(Ordering::Relaxed);
        changes.into_iter().take_while(goes_on).filter(|change| trial.mends(change, wanted)).collect::<Vec<_>>()
    };
    let mended = apart(session, mends).unwrap_or_default();
    let preferred = mended.len() == 1;
    let action = |change: Change| {
        let at = Location { module: item.module.clone(), span: change.span.shift(item.start) };
        let edits = vec![Edit { at, text: change.text }];
        Action { preferred, ..Action::new(change.title, ActionKind::Fix, edits) }
    };
    mended.into_iter().map(action).collect()
}

/// A program with a mistake, of which changes are tried.
#[derive(Clone)]
struct Trial {
    texts: Vec<(ModuleName, Arc<str>)>,
    item: ItemRef,
    /// How many errors there are.
    before: usize,
    /// And how many warnings.
    warned: usize,
}

impl Trial {
    /// Has the item no errors after the change, and are there fewer in all, and no more warnings?
    fn mends(&self, change: &Change, wanted: Wanted) -> bool {
        let item = &self.item;
        let span = change.span.shift(item.start);
        let mut after = Session::new();
        for (module, text) in &self.texts {
            if *module != item.module {
                after.set_text(module, text);
                continue;
            }
            let Some((head, rest)) = text.get(..span.start as usize).zip(text.get(span.end as usize..)) else {
                return false;
            };
            after.set_text(module, &format!("{head}{}{rest}", change.text));
        }
        let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
            after.diagnostics(&item.module).into_iter().partition(Diagnostic::is_error);
        let whole = after.item_at(&item.module, item.start).map(|item| item.span());
        let end = span.start as usize + change.text.len();
        let is_wrong = |d: &Diagnostic| {
            let inside = whole.is_some_and(|whole| whole.touches(d.span.start));
            inside && (wanted == Wanted::Item || (d.span.start as usize) < end)
        };
        let fewer = errors.len() < self.before || wanted == Wanted::Place && errors.len() == self.before;
        fewer && others.len() <= self.warned && !errors.iter().any(is_wrong)
    }
}

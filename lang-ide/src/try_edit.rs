//! **Trial of quick fixes.** Tries a change before it is offered. The item is parsed again, or the
//! changed program is checked in a second session (see [`crate::speculative`]). A change is kept
//! only if the item then has no error. In a checked program the number of errors must also fall,
//! and that of warnings must not rise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lang_core::base::{Diagnostic, ModuleName, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::parser::parse_split;

use crate::actions::{Action, ActionKind};
use crate::speculative::run_speculatively;
use crate::{Edit, Location};

/// The maximal number of changes that are tried.
const MAX_TRIALS: usize = 6;

/// A change: its title, the replaced span of the item, and the new text.
#[derive(Clone)]
pub(crate) struct CandidateEdit {
    pub(crate) title: String,
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// Serialises the trials, because each one holds a whole program.
static TRIAL_LOCK: Mutex<()> = Mutex::new(());

/// Returns the changes to an item after which it has no error, as actions.
pub(crate) fn verified_actions(session: &Session, item: &ItemRef, changes: Vec<CandidateEdit>) -> Vec<Action> {
    let changes = deduplicate(changes);
    if changes.is_empty() {
        return Vec::new();
    }
    let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        session.diagnostics(&item.module).into_iter().partition(Diagnostic::is_error);
    let own = session.modules().into_iter().filter(|m| !crate::find::is_library(m));
    let texts = own.filter_map(|module| session.text(&module).map(|text| (module, text))).collect();
    let trial = EditTrial { texts, item: item.clone(), error_count: errors.len(), warning_count: others.len() };
    let mends = move |stop: &AtomicBool| {
        let _one = TRIAL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |_: &CandidateEdit| !stop.load(Ordering::Relaxed);
        changes.into_iter().take_while(goes_on).filter(|change| trial.fixes_item(change)).collect::<Vec<_>>()
    };
    to_actions(item, run_speculatively(session, mends).unwrap_or_default())
}

/// Returns the changes to an unparsable item after which it parses, at least up to the end of the
/// change. Text after the change is not considered.
pub(crate) fn parsable_actions(item: &ItemRef, changes: Vec<CandidateEdit>) -> Vec<Action> {
    let can_be_read = |change: &CandidateEdit| {
        let ends = item.text.get(..change.span.start as usize).zip(item.text.get(change.span.end as usize..));
        let Some((before, behind)) = ends else { return false };
        let reparsed = parse_split(item.kind, &format!("{before}{}{behind}", change.text));
        let end = before.len() + change.text.len();
        !reparsed.diagnostics.iter().any(|d| d.is_error() && (d.span.start as usize) <= end)
    };
    to_actions(item, deduplicate(changes).into_iter().filter(can_be_read).collect())
}

/// Converts changes to text outside of items, which cannot be checked alone.
pub(crate) fn unverified_actions(item: &ItemRef, changes: Vec<CandidateEdit>) -> Vec<Action> {
    to_actions(item, deduplicate(changes))
}

/// Removes duplicates and limits the number.
fn deduplicate(mut changes: Vec<CandidateEdit>) -> Vec<CandidateEdit> {
    // One change may fix two errors.
    let mut seen: Vec<(Span, String)> = Vec::new();
    changes.retain(|change| {
        let key = (change.span, change.text.clone());
        let is_new = !seen.contains(&key);
        seen.extend(is_new.then_some(key));
        is_new
    });
    changes.truncate(MAX_TRIALS);
    changes
}

fn to_actions(item: &ItemRef, mended: Vec<CandidateEdit>) -> Vec<Action> {
    let preferred = mended.len() == 1;
    let action = |change: CandidateEdit| {
        let at = Location { module: item.module.clone(), span: change.span.shift(item.start) };
        let edits = vec![Edit { at, text: change.text }];
        Action { preferred, ..Action::new(change.title, ActionKind::Fix, edits) }
    };
    mended.into_iter().map(action).collect()
}

/// A program with an error, to which changes are tried.
#[derive(Clone)]
struct EditTrial {
    texts: Vec<(ModuleName, Arc<str>)>,
    item: ItemRef,
    /// The number of errors in the module.
    error_count: usize,
    /// The number of its other diagnostics.
    warning_count: usize,
}

impl EditTrial {
    /// Returns whether a change fixes the item: the item has no errors, the module has fewer errors
    /// than before, and no more other diagnostics.
    fn fixes_item(&self, change: &CandidateEdit) -> bool {
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
        errors.len() < self.error_count
            && others.len() <= self.warning_count
            && !errors.iter().any(|d| whole.is_some_and(|whole| whole.contains_inclusive(d.span.start)))
    }
}

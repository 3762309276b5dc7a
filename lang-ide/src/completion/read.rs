//! The item at hand, read so that what is begun at the cursor is whole.

use std::sync::Arc;

use lang_core::base::ModuleName;
use lang_core::resolve::{Resolved, resolve};
use lang_core::session::Session;
use lang_core::syntax::ast::Item;
use lang_core::syntax::parser::{Parsed, parse_split};
use lang_core::types::check::{Checked, check_def, check_do, check_let, check_rule};

use super::context::Place;

/// The item at hand as it is read.
pub(super) struct Read {
    /// Its tree.
    pub(super) parsed: Arc<Parsed>,
    /// Its names.
    pub(super) resolved: Arc<Resolved>,
    /// Its types.
    pub(super) checked: Option<Arc<Checked>>,
}

impl Read {
    /// The item of the place. Where nothing has been written yet it is read with a name there, so that what is begun
    /// is whole.
    pub(super) fn of(session: &Session, module: &ModuleName, place: &Place) -> Option<Self> {
        let item = place.item.as_ref()?;
        // This also prepares what the item is checked with.
        let checked = session.checked_item(item);
        if place.word.end > place.word.start {
            return Some(Self { parsed: session.tree(item)?, resolved: session.resolved(item)?, checked });
        }
        let at = place.prefix.start.checked_sub(item.start)? as usize;
        let (before, after) = match item.text.get(..at) {
            Some(before) => (before.to_owned(), item.text.get(at..).unwrap_or_default()),
            // The cursor stands some way behind what has been written.
            None => (format!("{}{}", item.text, " ".repeat(at.checked_sub(item.text.len())?)), ""),
        };
        let parsed = parse_split(item.kind, &format!("{before}{HOLE} {after}"));
        let view = session.view();
        let resolved = resolve(&parsed.tree, module, &view);
        let check = match parsed.tree.item {
            Item::Def(_) => check_def,
            Item::Let(_) => check_let,
            Item::Do(_) => check_do,
            Item::Rule(_) => check_rule,
            _ => return Some(Self { parsed: Arc::new(parsed), resolved: Arc::new(resolved), checked: None }),
        };
        let checked = Some(Arc::new(check(&parsed.tree, &resolved, module, &view)));
        Some(Self { parsed: Arc::new(parsed), resolved: Arc::new(resolved), checked })
    }
}

/// A name that nobody has.
pub(super) const HOLE: &str = "ⲁⲁ";

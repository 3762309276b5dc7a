//! **Completed item.** Parses, resolves and checks the current item with a placeholder name at the
//! cursor, so that an unfinished expression is complete.

use std::sync::Arc;

use lang_core::base::ModuleName;
use lang_core::resolve::{Resolved, resolve};
use lang_core::session::Session;
use lang_core::syntax::ast::Item;
use lang_core::syntax::parser::{ParsedItem, parse_split};
use lang_core::types::check::{CheckedItem, check_def, check_do, check_let, check_rule};

use super::context::CompletionContext;

/// The current item after parsing.
pub(super) struct CompletedItem {
    /// The syntax tree.
    pub(super) parsed: Arc<ParsedItem>,
    /// The resolved names.
    pub(super) resolved: Arc<Resolved>,
    /// The types.
    pub(super) checked: Option<Arc<CheckedItem>>,
}

impl CompletedItem {
    /// Reads the item of the place. If the cursor is not in a word, a placeholder name is inserted
    /// there first.
    pub(super) fn at_cursor(session: &Session, module: &ModuleName, place: &CompletionContext) -> Option<Self> {
        let item = place.item.as_ref()?;
        // This also computes the queries that checking the item depends on.
        let checked = session.checked_item(item);
        if place.word.end > place.word.start {
            return Some(Self { parsed: session.tree(item)?, resolved: session.resolved(item)?, checked });
        }
        let at = place.prefix.start.checked_sub(item.start)? as usize;
        let (before, after) = match item.text.get(..at) {
            Some(before) => (before.to_owned(), item.text.get(at..).unwrap_or_default()),
            // The cursor is beyond the end of the item's text.
            None => (format!("{}{}", item.text, " ".repeat(at.checked_sub(item.text.len())?)), ""),
        };
        let parsed = parse_split(item.kind, &format!("{before}{PLACEHOLDER} {after}"));
        let view = session.view();
        let resolved = resolve(&parsed.tree, module, &view);
        let check = match parsed.tree.item {
            Item::Def(_) => check_def,
            Item::Let(_) => check_let,
            Item::Do(_) => check_do,
            Item::DerivativeRule(_) => check_rule,
            _ => return Some(Self { parsed: Arc::new(parsed), resolved: Arc::new(resolved), checked: None }),
        };
        let checked = Some(Arc::new(check(&parsed.tree, &resolved, module, &view)));
        Some(Self { parsed: Arc::new(parsed), resolved: Arc::new(resolved), checked })
    }
}

/// A placeholder name that no program uses.
pub(super) const PLACEHOLDER: &str = "ⲁⲁ";

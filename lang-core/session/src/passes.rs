//! **Passes** in the form in which the queries call them.

use std::collections::BTreeMap;

use lang_base::{ModuleName, Name};
use lang_resolve::Resolved;
use lang_syntax::ast::{Item, Tree};
use lang_types::check::{CheckedItem, check_def, check_do, check_let, check_rule};
use lang_types::env::TypeEnv;
use lang_types::ty::Type;

pub(super) use lang_syntax::parser::{parse_expr, parse_signature, parse_split as parse};
pub(super) use lang_types::check::item_signature;
pub(super) use lang_types::lower::lower_type_item;

/// Returns the typed tree of an item, if its kind has one.
pub(super) fn check(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn TypeEnv) -> Option<CheckedItem> {
    match &tree.item {
        Item::Def(_) => Some(check_def(tree, resolved, module, env)),
        Item::Let(_) => Some(check_let(tree, resolved, module, env)),
        Item::Do(_) => Some(check_do(tree, resolved, module, env)),
        Item::DerivativeRule(_) => Some(check_rule(tree, resolved, module, env)),
        Item::Type(_) | Item::Import(_) | Item::Error => None,
    }
}

/// Returns the types of the variables that a top-level `let` binds.
pub(super) fn let_types(checked: Option<&CheckedItem>) -> BTreeMap<Name, Type> {
    checked.iter().flat_map(|c| c.exports.iter().cloned()).collect()
}

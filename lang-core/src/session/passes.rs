//! **Passes** in the form in which the queries call them.

use std::collections::BTreeMap;

use crate::base::{ModuleName, Name};
use crate::resolve::Resolved;
use crate::syntax::ast::{Item, Tree};
use crate::types::check::{Checked, check_def, check_do, check_let, check_rule};
use crate::types::env::Env;
use crate::types::ty::Type;

pub(super) use crate::syntax::parser::{parse_expr, parse_signature, parse_split as parse};
pub(super) use crate::types::check::signature;
pub(super) use crate::types::lower::type_info;

/// Returns the typed tree of an item, if its kind has one.
pub(super) fn check(tree: &Tree, resolved: &Resolved, module: &ModuleName, env: &dyn Env) -> Option<Checked> {
    match &tree.item {
        Item::Def(_) => Some(check_def(tree, resolved, module, env)),
        Item::Let(_) => Some(check_let(tree, resolved, module, env)),
        Item::Do(_) => Some(check_do(tree, resolved, module, env)),
        Item::Rule(_) => Some(check_rule(tree, resolved, module, env)),
        Item::Type(_) | Item::Import(_) | Item::Error => None,
    }
}

/// Returns the types of the variables that a top-level `let` binds.
pub(super) fn let_types(checked: Option<&Checked>) -> BTreeMap<Name, Type> {
    checked.iter().flat_map(|c| c.exports.iter().cloned()).collect()
}

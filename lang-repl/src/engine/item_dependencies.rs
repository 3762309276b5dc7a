//! **Dependencies between items.** Computes the items that a set of names needs, and the errors in
//! them.

use std::collections::{BTreeSet, HashSet};

use lang_core::base::{Diagnostic, GlobalName, ModuleName, Span};
use lang_core::session::{self, ItemRef};
use lang_core::syntax::split::ItemKind;

use super::Engine;
use crate::problem::Problem;

impl Engine {
    pub(super) fn uses(&self, item: &ItemRef) -> BTreeSet<GlobalName> {
        self.session.resolved(item).map(|r| r.referenced_items.clone()).unwrap_or_default()
    }

    /// Returns the names that an item defines.
    pub(super) fn defined_names(&self, item: &ItemRef) -> Vec<GlobalName> {
        let name = |name: &str| GlobalName::new(&item.module, name);
        item.name.split(',').filter(|n| !n.is_empty()).map(name).collect()
    }

    /// Returns all items that the names need, transitively, in postorder: each item after its own
    /// needs. The prelude is excluded.
    pub(super) fn dependency_closure(&self, roots: &BTreeSet<GlobalName>) -> Vec<ItemRef> {
        let find = |name: &GlobalName| [self.session.item(name), self.session.type_item(name)].into_iter().flatten();
        let mut done: HashSet<GlobalName> = HashSet::new();
        let mut order = Vec::new();
        // The depth-first search meets an item twice: before and after its needs.
        let mut open: Vec<(ItemRef, bool)> = roots.iter().flat_map(find).map(|i| (i, false)).collect();
        while let Some((item, after)) = open.pop() {
            if after {
                order.push(item);
                continue;
            }
            if item.module == session::PRELUDE || !done.insert(item.global.clone()) {
                continue;
            }
            let uses = self.uses(&item);
            open.push((item, true));
            open.extend(uses.iter().flat_map(find).filter(|i| !done.contains(&i.global)).map(|i| (i, false)));
        }
        order
    }

    /// Returns the errors in the items of `closure`.
    pub(super) fn errors_in_items(&self, closure: &[ItemRef]) -> Vec<Problem> {
        let modules: BTreeSet<&ModuleName> = closure.iter().map(|i| &i.module).collect();
        let mut problems = Vec::new();
        for module in modules {
            let spans: Vec<Span> = closure.iter().filter(|i| i.module == *module).map(ItemRef::span).collect();
            let diagnostics = self.session.diagnostics(module);
            let ours = |d: &&Diagnostic| d.is_error() && spans.iter().any(|s| s.contains_inclusive(d.span.start));
            problems.extend(diagnostics.iter().filter(ours).map(|d| self.problem_of_diagnostic(module, d)));
        }
        // An item can be wrong only because an import of its module is; that error is reported at
        // the import.
        let runs = |i: &ItemRef| self.session.checked_item(i).is_none_or(|checked| checked.body.root.is_some());
        let wrong = closure.iter().filter(|i| matches!(i.kind, ItemKind::Def | ItemKind::Let)).find(|i| !runs(i));
        match wrong {
            Some(item) if problems.is_empty() => self.errors_in_module(&item.module),
            _ => problems,
        }
    }

    /// Returns the errors in a module and in the modules that it imports.
    pub(super) fn errors_in_module(&self, module: &ModuleName) -> Vec<Problem> {
        self.problems(std::slice::from_ref(module)).into_iter().filter(Problem::is_error).collect()
    }
}

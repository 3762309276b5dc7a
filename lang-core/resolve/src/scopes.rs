//! **Scopes.** The locals in scope at one position of an item. Lookup takes constant time, and
//! leaving a scope costs time linear in its bindings, so long chains of `let` stay linear.

use std::collections::HashMap;

use lang_base::Name;
use lang_sizes::predicate::LocalId;

/// The start of a scope; see [`NameScopes::leave`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeMark(usize);

/// The bindings of each name, innermost last.
#[derive(Default, Debug)]
pub(super) struct NameScopes {
    bindings: HashMap<Name, Vec<LocalId>>,
    binding_log: Vec<Name>,
}

impl NameScopes {
    /// Returns the innermost local of that name.
    pub(super) fn lookup(&self, name: &str) -> Option<LocalId> {
        self.bindings.get(name)?.last().copied()
    }

    /// Opens a scope.
    pub(super) fn enter(&self) -> ScopeMark {
        ScopeMark(self.binding_log.len())
    }

    /// Removes the bindings since `mark`.
    pub(super) fn leave(&mut self, mark: ScopeMark) {
        for name in self.binding_log.drain(mark.0.min(self.binding_log.len())..) {
            if let Some(stack) = self.bindings.get_mut(&name) {
                stack.pop();
                if stack.is_empty() {
                    self.bindings.remove(&name);
                }
            }
        }
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: Name, local: LocalId) {
        self.bindings.entry(name.clone()).or_default().push(local);
        self.binding_log.push(name);
    }

    /// Binds a name in the outermost scope until the end of the item. Inner bindings of the name
    /// still shadow it.
    pub(super) fn bind_outermost(&mut self, name: Name, local: LocalId) {
        self.bindings.entry(name).or_default().insert(0, local);
    }

    /// Returns all names in scope, in arbitrary order.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.bindings.keys()
    }
}

//! **Scopes.** The locals in scope at one position of an item. Lookup takes constant time, and
//! leaving a scope costs time linear in its bindings, so long chains of `let` stay linear.

use std::collections::HashMap;

use lang_base::Name;
use lang_sizes::predicate::LocalId;

/// The start of a scope; see [`Scopes::leave`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

/// The bindings of each name, innermost last.
#[derive(Default, Debug)]
pub(super) struct Scopes {
    bound: HashMap<Name, Vec<LocalId>>,
    log: Vec<Name>,
}

impl Scopes {
    /// Returns the innermost local of that name.
    pub(super) fn get(&self, name: &str) -> Option<LocalId> {
        self.bound.get(name)?.last().copied()
    }

    /// Opens a scope.
    pub(super) fn enter(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Removes the bindings since `mark`.
    pub(super) fn leave(&mut self, mark: Mark) {
        for name in self.log.drain(mark.0.min(self.log.len())..) {
            if let Some(stack) = self.bound.get_mut(&name) {
                stack.pop();
                if stack.is_empty() {
                    self.bound.remove(&name);
                }
            }
        }
    }

    /// Binds a name in the innermost scope.
    pub(super) fn bind(&mut self, name: Name, local: LocalId) {
        self.bound.entry(name.clone()).or_default().push(local);
        self.log.push(name);
    }

    /// Binds a name in the outermost scope until the end of the item. Inner bindings of the name
    /// still shadow it.
    pub(super) fn bind_outermost(&mut self, name: Name, local: LocalId) {
        self.bound.entry(name).or_default().insert(0, local);
    }

    /// Returns all names in scope, in arbitrary order.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.bound.keys()
    }
}

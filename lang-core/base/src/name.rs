//! **Names** of items in a module, of modules, and of items across modules.

use smol_str::SmolStr;

/// An identifier as written in the source.
pub type Name = SmolStr;

/// A module: a file as the host names it (`path/to/mine.iv`), a library module (`linalg`),
/// or the prelude, whose name is empty.
pub type ModuleName = SmolStr;

/// A top-level name in a module. It is the identity of a definition across edits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalName {
    /// The module that contains it.
    pub module: ModuleName,
    /// Its name there. A rule of `f` is `derivative f` or `adjoint f`; the n-th `do` is `do n`.
    pub name: Name,
}

impl GlobalName {
    /// Returns the name `name` of `module`.
    #[must_use]
    pub fn new(module: &str, name: &str) -> Self {
        Self { module: module.into(), name: name.into() }
    }
}

impl std::fmt::Debug for GlobalName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.module, self.name)
    }
}

/// Prints the bare name, for users.
impl std::fmt::Display for GlobalName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

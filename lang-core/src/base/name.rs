//! Names: of things in a module, of modules, and of things across modules.

use smol_str::SmolStr;

/// An identifier as written.
pub type Name = SmolStr;

/// A module: a file as the host names it (`path/to/mine.iv`), a library module (`linalg`),
/// or the prelude, whose name is empty.
pub type ModuleName = SmolStr;

/// A top-level name in a module. It is the identity of a definition across edits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalName {
    /// The module it stands in.
    pub module: ModuleName,
    /// Its name there. A rule of `f` is `derivative f` or `adjoint f`; the n-th `do` is `do n`.
    pub name: Name,
}

impl GlobalName {
    /// The name `name` of `module`.
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

/// What a user reads: the bare name.
impl std::fmt::Display for GlobalName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

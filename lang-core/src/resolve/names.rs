//! The names of other items, as resolution sees them.

use crate::base::{GlobalName, ModuleName, Name};

/// What a top-level value name is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueRef {
    /// A definition.
    Def(GlobalName),
    /// A variable of a top-level `let`.
    Let(GlobalName),
    /// A constructor: its type and position.
    Ctor(GlobalName, u32),
}

/// Which names there are. A module's own items hide the prelude's.
pub trait Names {
    /// What a value name means at the top level of a module, prelude included.
    fn value(&self, module: &ModuleName, name: &str) -> Option<ValueRef>;
    /// The type of that name, prelude included.
    fn type_name(&self, module: &ModuleName, name: &str) -> Option<GlobalName>;
    /// The module that `module` has imported under this name.
    fn import(&self, module: &ModuleName, alias: &str) -> Option<ModuleName>;
    /// What `module` has imported, in order: the name it has here and the module.
    fn imports(&self, module: &ModuleName) -> Vec<(Name, ModuleName)>;
    /// Is there such a module? Where not, its import says so, and names in it go unreported.
    fn has_module(&self, module: &ModuleName) -> bool;
    /// Which parameters of a type are sizes, in order; empty for an unknown type.
    fn size_params(&self, ty: &GlobalName) -> Vec<bool>;
    /// All value names, for suggestions.
    fn value_names(&self, module: &ModuleName) -> Vec<Name>;
    /// All type names, for suggestions.
    fn type_names(&self, module: &ModuleName) -> Vec<Name>;
}

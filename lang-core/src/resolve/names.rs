//! The names of other items, as resolution sees them.

use std::collections::BTreeMap;

use super::resolved::{LocalKind, Resolved};
use super::suggest;
use super::walk::target;
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

/// The names that the types of a definition's parameters introduce. They are in scope in its rules
/// too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SignatureNames {
    /// Sizes that are no parameters, in order of occurrence.
    pub sizes: Vec<Name>,
    /// Type parameters, in order of occurrence.
    pub types: Vec<Name>,
}

impl SignatureNames {
    /// Those of a definition whose names are resolved.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        let sizes = resolved.locals.iter().filter(|d| d.kind == LocalKind::ImplicitSize);
        Self {
            sizes: sizes.map(|d| d.name.clone()).collect(),
            types: resolved.type_params.iter().map(|p| p.0.clone()).collect(),
        }
    }
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
    /// The modules of the library that can be imported by name.
    fn library(&self) -> Vec<ModuleName>;
    /// The values that modules of the library define whose names differ from this one by case and underscores at most.
    fn library_values(&self, name: &str) -> Vec<(ModuleName, Name)> {
        spellings(self).remove(&suggest::letters_alone(name)).unwrap_or_default()
    }
    /// Is there such a module? Where not, its import says so, and names in it go unreported.
    fn has_module(&self, module: &ModuleName) -> bool;
    /// Which parameters of a type are sizes, in order; empty for an unknown type.
    fn size_params(&self, ty: &GlobalName) -> Vec<bool>;
    /// What the signature of a definition introduces; nothing of what is no definition.
    fn signature_names(&self, def: &GlobalName) -> SignatureNames;
    /// What to say to those who look for an extent `?name` of a top-level `let`.
    fn unnamed_extent(&self, module: &ModuleName, name: &str) -> Option<String>;
    /// Does a part of the module that could not be read have this name? It may have declared it.
    fn is_unread(&self, module: &ModuleName, name: &str) -> bool;
    /// All value names, for suggestions.
    fn value_names(&self, module: &ModuleName) -> Vec<Name>;
    /// All type names, for suggestions.
    fn type_names(&self, module: &ModuleName) -> Vec<Name>;
    /// The value name among those that are `wanted` that the writer of another one probably meant.
    fn near_value(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        suggest::nearest(name, self.value_names(module).iter().filter(|n| wanted(n)))
    }
    /// The same of a type name.
    fn near_type(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        suggest::nearest(name, self.type_names(module).iter().filter(|n| wanted(n)))
    }
}

/// The values that modules of the library define, by their names without case and underscores.
pub fn spellings<N: Names + ?Sized>(names: &N) -> BTreeMap<String, Vec<(ModuleName, Name)>> {
    let mut all: BTreeMap<String, Vec<(ModuleName, Name)>> = BTreeMap::new();
    for module in names.library() {
        let own = |name: &Name| names.value(&module, name).is_some_and(|v| target(&v).module == module);
        for name in names.value_names(&module).into_iter().filter(own) {
            all.entry(suggest::letters_alone(&name)).or_default().push((module.clone(), name));
        }
    }
    all
}

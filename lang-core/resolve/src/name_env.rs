//! **Name environment.** The interface through which resolution sees the names of other items. The
//! session implements it with queries.

use std::collections::BTreeMap;

use super::expressions::owning_item;
use super::resolved::{LocalKind, Resolved};
use super::suggest;
use lang_base::{GlobalName, ModuleName, Name};

/// The meaning of a top-level value name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueRef {
    /// A definition.
    Def(GlobalName),
    /// A variable of a top-level `let`.
    Let(GlobalName),
    /// A constructor: its type and its position in that type.
    Ctor(GlobalName, u32),
}

/// The names that a definition's signature introduces. Its rules have them in scope too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SignatureNames {
    /// Sizes that are not parameters, in order of occurrence.
    pub sizes: Vec<Name>,
    /// Type parameters, in order of occurrence.
    pub types: Vec<Name>,
}

impl SignatureNames {
    /// Collects the names of a resolved definition.
    #[must_use]
    pub fn from_resolved(resolved: &Resolved) -> Self {
        let sizes = resolved.locals.iter().filter(|d| d.kind == LocalKind::ImplicitSize);
        Self {
            sizes: sizes.map(|d| d.name.clone()).collect(),
            types: resolved.type_params.iter().map(|p| p.0.clone()).collect(),
        }
    }
}

/// The names visible in each module. A module's own items shadow the prelude's.
pub trait NameEnv {
    /// Returns the meaning of a value name at the top level of a module, including the prelude.
    fn top_level_value(&self, module: &ModuleName, name: &str) -> Option<ValueRef>;
    /// Returns the type of that name, including the prelude.
    fn top_level_type(&self, module: &ModuleName, name: &str) -> Option<GlobalName>;
    /// Returns the module that `module` imports under this name.
    fn imported_module(&self, module: &ModuleName, alias: &str) -> Option<ModuleName>;
    /// Returns the imports of `module`, in order: the local name and the module.
    fn imports(&self, module: &ModuleName) -> Vec<(Name, ModuleName)>;
    /// Returns the library modules that can be imported by name.
    fn library_modules(&self) -> Vec<ModuleName>;
    /// Returns the values of library modules whose names differ from this one only in case and
    /// underscores.
    fn library_values(&self, name: &str) -> Vec<(ModuleName, Name)> {
        index_by_spelling(self).remove(&suggest::spelling_key(name)).unwrap_or_default()
    }
    /// Returns whether the module exists. If not, its import reports that, and names in it go
    /// unreported.
    fn has_module(&self, module: &ModuleName) -> bool;
    /// Returns for each parameter of a type whether it is a size; empty for an unknown type.
    fn size_params(&self, ty: &GlobalName) -> Vec<bool>;
    /// Returns the names that the signature of a definition introduces; none if `def` is not a
    /// definition.
    fn signature_names(&self, def: &GlobalName) -> SignatureNames;
    /// Returns the help for a name that an extent `?name` in the type of a top-level `let` has.
    fn unnamed_extent_help(&self, module: &ModuleName, name: &str) -> Option<String>;
    /// Returns whether unreadable text of the module contains the name, which it may declare.
    fn is_in_skipped_text(&self, module: &ModuleName, name: &str) -> bool;
    /// Returns all value names, for suggestions.
    fn value_names(&self, module: &ModuleName) -> Vec<Name>;
    /// Returns all type names, for suggestions.
    fn type_names(&self, module: &ModuleName) -> Vec<Name>;
    /// Returns the value name closest to a misspelt one, among those for which `wanted` holds.
    fn closest_value(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        suggest::nearest_name(name, self.value_names(module).iter().filter(|n| wanted(n)))
    }
    /// Returns the closest type name, like [`Self::closest_value`].
    fn closest_type(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        suggest::nearest_name(name, self.type_names(module).iter().filter(|n| wanted(n)))
    }
}

/// Returns the values of library modules, keyed by name without case and underscores.
pub fn index_by_spelling<N: NameEnv + ?Sized>(names: &N) -> BTreeMap<String, Vec<(ModuleName, Name)>> {
    let mut all: BTreeMap<String, Vec<(ModuleName, Name)>> = BTreeMap::new();
    for module in names.library_modules() {
        let own = |name: &Name| names.top_level_value(&module, name).is_some_and(|v| owning_item(&v).module == module);
        for name in names.value_names(&module).into_iter().filter(own) {
            all.entry(suggest::spelling_key(&name)).or_default().push((module.clone(), name));
        }
    }
    all
}

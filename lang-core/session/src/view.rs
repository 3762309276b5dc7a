//! **Environment of the passes.** Implements the traits by which the resolver and the checker ask
//! about other items; queries answer.

use std::sync::Arc;

use salsa::Database;

use super::db::{ItemInput, NameKey, SourceFile};
use super::scope::{self, ValueBinding};
use super::{PRELUDE, library, queries};
use lang_base::{GlobalName, ModuleName, Name};
use lang_resolve::builtin::Builtin;
use lang_resolve::suggest::{nearest_candidate, spelling_key};
use lang_resolve::{NameEnv, SignatureNames, ValueRef};
use lang_sizes::predicate::Poly;
use lang_types::env::TypeEnv;
use lang_types::ty::{Signature, Type};
use lang_types::type_info::{TypeInfo, TypeInfoBody};

/// The most names that are searched for a suggestion, because a file may have a mistake in each of
/// its items.
pub(super) const MOST_NAMES: usize = 4096;

/// All items at one revision.
#[derive(Clone, Copy)]
pub struct ProgramView<'db> {
    pub(super) db: &'db dyn Database,
    /// Whether only the name and the parameters of a sum type are visible. A type sees others so
    /// while it is defined, because types that mention each other would otherwise wait for each
    /// other.
    sees_heads_only: bool,
    /// Whether the modules of the library are known without an import.
    sees_library: bool,
}

impl<'db> ProgramView<'db> {
    pub(super) fn new(db: &'db dyn Database) -> Self {
        Self { db, sees_heads_only: false, sees_library: false }
    }

    pub(super) fn with_heads_only(db: &'db dyn Database) -> Self {
        Self { db, sees_heads_only: true, sees_library: false }
    }

    /// Creates the view of an expression that a user types: it knows the modules of the library
    /// without an import.
    pub(super) fn for_interactive_input(db: &'db dyn Database) -> Self {
        Self { db, sees_heads_only: false, sees_library: true }
    }

    fn knows_library(&self, module: &str) -> bool {
        self.sees_library || library::INTERACTIVE.contains(&module)
    }

    pub(super) fn file(&self, module: &str) -> Option<SourceFile> {
        scope::file_named(self.db, NameKey::new(self.db, Name::from(module)))
    }

    /// Returns the value of exactly that name, without the prelude.
    pub(super) fn own_value(&self, module: &str, name: &str) -> Option<ValueBinding> {
        scope::value_named(self.db, self.file(module)?, NameKey::new(self.db, Name::from(name)))
    }

    fn own_type(&self, module: &str, name: &str) -> Option<ItemInput> {
        scope::type_named(self.db, self.file(module)?, NameKey::new(self.db, Name::from(name)))
    }

    pub(super) fn value_item(&self, name: &GlobalName) -> Option<ValueBinding> {
        self.own_value(&name.module, &name.name)
    }

    pub(super) fn type_item(&self, name: &GlobalName) -> Option<ItemInput> {
        self.own_type(&name.module, &name.name)
    }

    /// Returns the items to which a used name may refer. Types are looked up in the table of the
    /// whole file, because few edits change it.
    pub(super) fn targets(&self, name: &GlobalName) -> impl Iterator<Item = ItemInput> + use<'db> {
        let file = self.file(&name.module);
        let value = self.value_item(name).map(ValueBinding::item);
        let ty = file.and_then(|file| scope::types_by_name(self.db, file).get(name.name.as_str()).copied());
        value.into_iter().chain(ty.filter(|t| Some(*t) != value))
    }
}

impl NameEnv for ProgramView<'_> {
    fn top_level_value(&self, module: &ModuleName, name: &str) -> Option<ValueRef> {
        let (found, value) = [module, PRELUDE].into_iter().find_map(|m| Some((m, self.own_value(m, name)?)))?;
        let global = |name: &str| GlobalName::new(found, name);
        Some(match value {
            ValueBinding::Def(_) => ValueRef::Def(global(name)),
            ValueBinding::Let(_) => ValueRef::Let(global(name)),
            ValueBinding::Ctor(item, position) => ValueRef::Ctor(global(item.name(self.db)), position),
        })
    }

    fn top_level_type(&self, module: &ModuleName, name: &str) -> Option<GlobalName> {
        let found = [module, PRELUDE].into_iter().find(|m| self.own_type(m, name).is_some())?;
        Some(GlobalName::new(found, name))
    }

    fn imported_module(&self, module: &ModuleName, alias: &str) -> Option<ModuleName> {
        let written = scope::import_named(self.db, self.file(module)?, NameKey::new(self.db, Name::from(alias)));
        written.or_else(|| {
            let known = self.knows_library(module).then(library::importable)?;
            known.into_iter().find(|name| *name == alias).map(ModuleName::from)
        })
    }

    fn imports(&self, module: &ModuleName) -> Vec<(Name, ModuleName)> {
        let imports = self.file(module).map(|file| scope::imports(self.db, file).iter());
        let mut all: Vec<(Name, ModuleName)> =
            imports.into_iter().flatten().map(|i| (i.alias.clone(), i.module.clone())).collect();
        if self.knows_library(module) {
            let missing: Vec<&str> =
                library::importable().filter(|m| all.iter().all(|(name, _)| name.as_str() != *m)).collect();
            all.extend(missing.into_iter().map(|m| (m.into(), m.into())));
        }
        all
    }

    fn library_modules(&self) -> Vec<ModuleName> {
        library::importable().map(ModuleName::from).collect()
    }

    fn library_values(&self, name: &str) -> Vec<(ModuleName, Name)> {
        scope::library_spellings(self.db).get(&spelling_key(name)).cloned().unwrap_or_default()
    }

    fn has_module(&self, module: &ModuleName) -> bool {
        self.file(module).is_some()
    }

    fn size_params(&self, ty: &GlobalName) -> Vec<bool> {
        self.type_item(ty).map(|item| scope::size_params(self.db, item).clone()).unwrap_or_default()
    }

    fn signature_names(&self, def: &GlobalName) -> SignatureNames {
        match self.value_item(def) {
            Some(ValueBinding::Def(item)) => queries::signature_names(self.db, item).clone(),
            _ => SignatureNames::default(),
        }
    }

    fn unnamed_extent_help(&self, module: &ModuleName, name: &str) -> Option<String> {
        scope::unnamed_extents(self.db, self.file(module)?).get(name).cloned()
    }

    fn is_in_skipped_text(&self, module: &ModuleName, name: &str) -> bool {
        self.file(module).is_some_and(|file| scope::unparsed_names(self.db, file).contains(name))
    }

    fn value_names(&self, module: &ModuleName) -> Vec<Name> {
        let files = [PRELUDE, module].into_iter().filter_map(|m| self.file(m));
        files.flat_map(|file| scope::values_by_name(self.db, file).keys().map(Name::new)).take(MOST_NAMES).collect()
    }

    fn type_names(&self, module: &ModuleName) -> Vec<Name> {
        let files = [PRELUDE, module].into_iter().filter_map(|m| self.file(m));
        files.flat_map(|file| scope::types_by_name(self.db, file).keys().map(Name::new)).take(MOST_NAMES).collect()
    }

    fn closest_value(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        let files = [PRELUDE, module].into_iter().filter_map(|m| self.file(m));
        nearest_candidate(name, files.flat_map(|file| scope::value_candidates(self.db, file)).take(MOST_NAMES), wanted)
    }

    fn closest_type(&self, module: &ModuleName, name: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        let files = [PRELUDE, module].into_iter().filter_map(|m| self.file(m));
        nearest_candidate(name, files.flat_map(|file| scope::type_candidates(self.db, file)).take(MOST_NAMES), wanted)
    }
}

impl TypeEnv for ProgramView<'_> {
    fn builtin_signature(&self, builtin: Builtin) -> Option<Arc<Signature>> {
        let k = Builtin::ALL.iter().position(|b| *b == builtin)?;
        queries::builtin_signatures(self.db).get(k).cloned().flatten()
    }

    fn signature(&self, def: &GlobalName) -> Option<Arc<Signature>> {
        match self.value_item(def)? {
            ValueBinding::Def(item) => queries::signature(self.db, item).value.clone(),
            ValueBinding::Let(_) | ValueBinding::Ctor(..) => None,
        }
    }

    fn let_type(&self, name: &GlobalName) -> Option<Type> {
        match self.value_item(name)? {
            ValueBinding::Let(item) => queries::let_types(self.db, item).types.get(&name.name).cloned(),
            ValueBinding::Def(_) | ValueBinding::Ctor(..) => None,
        }
    }

    fn let_size_value(&self, name: &GlobalName) -> Option<Poly> {
        match self.value_item(name)? {
            ValueBinding::Let(item) => queries::let_types(self.db, item).sizes.get(&name.name).cloned(),
            ValueBinding::Def(_) | ValueBinding::Ctor(..) => None,
        }
    }

    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        let item = self.type_item(name)?;
        if self.sees_heads_only {
            let head = queries::type_head(self.db, item);
            if head.is_sum {
                let body = TypeInfoBody::Sum(Vec::new());
                return Some(Arc::new(TypeInfo { params: head.params.clone(), body }));
            }
        }
        queries::type_info(self.db, item).value.clone()
    }
}

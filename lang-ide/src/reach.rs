//! **Which records can be the same.** Record types are structural, so a value with the same fields
//! may come from any module that a module reaches. A module reaches the user's modules that it
//! imports or that import it. It also reaches library modules if it uses a definition, type or
//! constructor of theirs with such a record. References and renames of fields are limited to these
//! modules.

use std::collections::{HashMap, HashSet};

use lang_core::base::{GlobalName, ModuleName, Name};
use lang_core::resolve::NameEnv;
use lang_core::session::Session;
use lang_core::types::env::TypeEnv;
use lang_core::types::ty::{GenericArg, Type};
use lang_core::types::type_info::TypeInfoBody;

use crate::fields::sorted_field_names;
use crate::find::is_library;

/// Returns the modules in which a record with these fields can be one of `home`, including `home`.
pub(crate) fn reachable_modules(session: &Session, home: &ModuleName, fields: &[Name]) -> HashSet<ModuleName> {
    let all = session.modules();
    // From a library module, all modules are reached, because a reader of the library wants all its
    // users.
    if is_library(home) {
        return all.into_iter().collect();
    }
    let view = session.view();
    let mut reach = RecordSearch { session, fields, known: HashMap::new() };
    let mut joined: HashSet<ModuleName> = HashSet::from([home.clone()]);
    let mut open = vec![home.clone()];
    while let Some(module) = open.pop() {
        let imported: Vec<ModuleName> = view.imports(&module).into_iter().map(|(_, module)| module).collect();
        let own = all.iter().filter(|m| !is_library(m) && !is_library(&module));
        let own = own.filter(|m| imported.contains(m) || view.imports(m).iter().any(|(_, of)| *of == module));
        let mut next: Vec<ModuleName> = own.cloned().collect();
        for item in session.items(&module) {
            let Some(resolved) = session.resolved(&item) else { continue };
            let library = resolved.referenced_items.iter().filter(|global| is_library(&global.module));
            next.extend(
                library.filter(|global| reach.global_contains_record(global)).map(|global| global.module.clone()),
            );
        }
        open.extend(next.into_iter().filter(|module| joined.insert(module.clone())));
    }
    joined
}

struct RecordSearch<'a> {
    session: &'a Session,
    fields: &'a [Name],
    known: HashMap<GlobalName, bool>,
}

impl RecordSearch<'_> {
    /// Returns whether the type of a value, or a type of that name, contains a record with these
    /// fields.
    fn global_contains_record(&mut self, global: &GlobalName) -> bool {
        if let Some(known) = self.known.get(global) {
            return *known;
        }
        // Set before the recursion, so that a recursive type terminates.
        self.known.insert(global.clone(), false);
        let view = self.session.view();
        let mut types: Vec<Type> = view.let_type(global).into_iter().collect();
        if let Some(signature) = view.signature(global) {
            types.extend(signature.params.iter().map(|(_, ty)| ty.clone()).chain([signature.result.clone()]));
        }
        let mut found = self.data_type_contains_record(global);
        found |= types.iter().any(|ty| self.type_contains_record(ty));
        self.known.insert(global.clone(), found);
        found
    }

    fn data_type_contains_record(&mut self, name: &GlobalName) -> bool {
        let Some(info) = self.session.view().type_info(name) else { return false };
        match &info.body {
            TypeInfoBody::Sum(ctors) => {
                ctors.iter().any(|ctor| ctor.args.iter().any(|ty| self.type_contains_record(ty)))
            }
            TypeInfoBody::Alias(ty) => self.type_contains_record(ty),
        }
    }

    fn type_contains_record(&mut self, ty: &Type) -> bool {
        match ty {
            Type::Record(fields) => {
                sorted_field_names(fields) == self.fields || fields.iter().any(|(_, ty)| self.type_contains_record(ty))
            }
            Type::Array(_, ty) => self.type_contains_record(ty),
            Type::Tuple(items) => items.iter().any(|ty| self.type_contains_record(ty)),
            Type::Fun(fun) => {
                fun.params.iter().any(|(_, ty)| self.type_contains_record(ty)) || self.type_contains_record(&fun.result)
            }
            Type::Data(name, args) => {
                args.iter().any(|arg| matches!(arg, GenericArg::Type(ty) if self.type_contains_record(ty)))
                    || self.global_contains_record(name)
            }
            Type::Scalar(_) | Type::Str | Type::Rel(_) | Type::Param(..) | Type::Meta(_) | Type::Error => false,
        }
    }
}

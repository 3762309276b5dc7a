//! **Static queries**, which run nothing: types and signatures, dependencies between items, names
//! in scope. The REPL and the commands use them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use lang_core::base::{GlobalName, ModuleName, Name, Span};
use lang_core::resolve::{NameEnv as _, Res};
use lang_core::session::{self, CheckedExpression, LIBRARY, PRELUDE};
use lang_core::syntax::ast::Item;
use lang_core::syntax::split::ItemKind;
use lang_core::types::env::TypeEnv as _;
use lang_core::types::ty::{Scalar, Signature, Type};
use lang_core::types::type_info::TypeInfoBody;

use super::Engine;
use crate::problem::{LabelledSpan, Problem};
use crate::source::SourceId;
use crate::types;

impl Engine {
    /// Returns the type of an expression, or the signature if it names a function.
    pub(crate) fn type_of_expression(
        &self,
        module: &ModuleName,
        text: &str,
        source: SourceId,
    ) -> Result<String, Vec<Problem>> {
        let expression = self.session.check_expression(module, text);
        // A function has a signature, because its types and sizes may be settled only by a call.
        if let Some(signature) = self.named_signature(&expression) {
            return Ok(signature.to_string());
        }
        let problems: Vec<Problem> = expression
            .diagnostics
            .iter()
            .map(|d| self.with_advice(crate::problem::from_diagnostic(d, source)))
            .collect();
        if problems.iter().any(Problem::is_error) {
            return Err(problems);
        }
        let ty = expression.checked.and_then(|c| c.body.root.map(|root| c.body.nodes[root].ty.clone()));
        // An extent without a name of its own is shown as its number.
        let length = |name: &GlobalName| self.global_integer(name).filter(|_| types::is_length(name));
        Ok(types::with_value_sizes(&ty.unwrap_or(Type::Error), None, &length).to_string())
    }

    /// Returns the signature of the function that an expression names.
    fn named_signature(&self, expression: &CheckedExpression) -> Option<Arc<Signature>> {
        let Item::Do(root) = expression.parsed.tree.item else { return None };
        match expression.resolved.exprs.get(&root)? {
            Res::Def(name) => self.session.signature(name),
            Res::Builtin(builtin) => self.session.view().builtin_signature(*builtin),
            _ => None,
        }
    }

    /// Describes a name of a module in one line.
    pub(crate) fn describe(&self, module: &ModuleName, kind: ItemKind, name: &Name) -> Option<String> {
        let global = GlobalName { module: module.clone(), name: name.clone() };
        Some(match kind {
            ItemKind::Def => format!("def {name}{}", self.session.signature(&global)?),
            ItemKind::Let => match self.global_value(&global) {
                Some(known) => format!("let {name}: {}", known.ty),
                None => format!("let {name}: {}", self.session.let_type(&global)?),
            },
            ItemKind::Type => format!("type {name}"),
            ItemKind::Import => format!("import {name}"),
            ItemKind::Derivative => format!("derivative {name}"),
            ItemKind::Adjoint => format!("adjoint {name}"),
            ItemKind::Do | ItemKind::StrayText => return None,
        })
    }

    /// Returns a type as it can be written in a module, or `None` if it cannot.
    pub(crate) fn writable_type(&self, module: &ModuleName, ty: &Type) -> Option<String> {
        let items = self.session.items(module);
        let aliases: Vec<(ModuleName, Name)> = items
            .iter()
            .filter(|i| i.kind == ItemKind::Import)
            .filter_map(|i| Some((self.session.view().imported_module(module, &i.name)?, i.name.clone())))
            .collect();
        types::writable_text(ty, module, &aliases)
    }

    /// Returns the type of a computed value as it can be written in a module.
    pub(crate) fn writable_value_type(&self, module: &ModuleName, name: &GlobalName) -> Option<String> {
        self.writable_type(module, &self.global_value(name)?.ty)
    }

    /// Returns the names of other modules, except the prelude, that a module uses.
    pub(crate) fn foreign_names(&self, module: &ModuleName) -> BTreeSet<GlobalName> {
        let items = self.session.items(module);
        let uses = items.iter().flat_map(|i| self.uses(i));
        uses.filter(|u| u.module != *module && u.module != PRELUDE).collect()
    }

    /// Returns the names of a module that use one of `names`, directly or transitively.
    pub(crate) fn dependents(&self, module: &ModuleName, names: &BTreeSet<GlobalName>) -> BTreeSet<GlobalName> {
        let items = self.session.items(module);
        let uses: Vec<(Vec<GlobalName>, BTreeSet<GlobalName>)> =
            items.iter().map(|i| (self.defined_names(i), self.uses(i))).collect();
        let mut found: BTreeSet<GlobalName> = BTreeSet::new();
        loop {
            let before = found.len();
            for (own, uses) in &uses {
                if uses.iter().any(|u| names.contains(u) || found.contains(u)) {
                    found.extend(own.iter().cloned());
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Returns the library modules, except the prelude, that the items of a module use.
    pub(crate) fn used_library_modules(&self, module: &ModuleName) -> BTreeSet<ModuleName> {
        let uses = self.session.items(module).into_iter().flat_map(|i| self.uses(&i)).map(|name| name.module);
        let in_library = |m: &ModuleName| *m != *PRELUDE && LIBRARY.iter().any(|(name, _)| *m == *name);
        uses.filter(in_library).collect()
    }

    /// Returns the names that a module can write with a prefix: `la.solve` after
    /// `import linalg as la`.
    pub(crate) fn prefixed_names(&self, module: &ModuleName) -> Vec<String> {
        let mut names = Vec::new();
        for (prefix, imported) in self.session.view().imports(module) {
            let items = self.session.items(&imported);
            let values = items.iter().filter(|i| matches!(i.kind, ItemKind::Def | ItemKind::Let | ItemKind::Type));
            names.extend(values.flat_map(|i| self.defined_names(i)).map(|g| format!("{prefix}.{}", g.name)));
        }
        names
    }

    /// Returns whether a module has an item that runs: a `let` or a `do`.
    pub(crate) fn has_runnable_items(&self, module: &ModuleName) -> bool {
        self.session.items(module).iter().any(|i| matches!(i.kind, ItemKind::Let | ItemKind::Do))
    }

    /// Returns the signature of a module's `main`.
    pub(crate) fn main_signature(&self, module: &ModuleName) -> Option<Arc<Signature>> {
        self.session.signature(&GlobalName::new(module, "main"))
    }

    /// Returns the signature of a definition.
    pub(crate) fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        self.session.signature(name)
    }

    /// Returns the place of a span in an item.
    pub(crate) fn place_of(&self, item: &GlobalName, span: Span) -> Option<LabelledSpan> {
        let start = self.session.item(item)?.start;
        self.map_span(&item.module, span.shift(start), String::new())
    }

    /// Returns the items of a module that have errors.
    pub(crate) fn broken_items(&self, module: &ModuleName) -> BTreeSet<GlobalName> {
        let diagnostics = self.session.diagnostics(module);
        let errors = diagnostics.iter().filter(|d| d.is_error());
        errors.filter_map(|d| self.session.item_at(module, d.span.start)).map(|i| i.global).collect()
    }

    /// Returns the modules that a module imports, each with its local name.
    pub(crate) fn named_imports(&self, module: &ModuleName) -> Vec<(Name, ModuleName)> {
        self.session.view().imports(module)
    }

    /// Returns the type of a `let`, with the sizes of its value if that has been computed.
    pub(crate) fn type_of_let(&self, name: &GlobalName) -> Option<Type> {
        self.global_value(name).map(|known| known.ty).or_else(|| self.session.let_type(name))
    }

    /// Expands a type alias; returns any other type unchanged.
    pub(crate) fn expand_alias(&self, ty: &Type) -> Type {
        match ty {
            Type::Data(name, args) => match self.session.type_info(name).map(|info| info.body.clone()) {
                Some(TypeInfoBody::Alias(inner)) => types::instantiate(&inner, args),
                _ => ty.clone(),
            },
            _ => ty.clone(),
        }
    }

    /// Returns whether an expression has errors.
    pub(crate) fn has_errors(&self, module: &ModuleName, text: &str) -> bool {
        self.session.check_expression(module, text).diagnostics.iter().any(lang_core::base::Diagnostic::is_error)
    }

    /// Returns the top-level names that an expression uses.
    pub(crate) fn names_used_in(&self, module: &ModuleName, text: &str) -> BTreeSet<GlobalName> {
        self.session.check_expression(module, text).resolved.referenced_items
    }

    /// Returns the parameters of the definition that an expression names.
    pub(crate) fn parameters_of(&self, module: &ModuleName, text: &str) -> Option<Vec<(Name, Type)>> {
        Some(self.named_signature(&self.session.check_expression(module, text))?.params.clone())
    }

    /// Returns whether a type is real or has a real part.
    pub(crate) fn has_reals(ty: &Type) -> bool {
        match ty {
            Type::Scalar(Scalar::F64 | Scalar::F32) => true,
            Type::Array(_, element) => Self::has_reals(element),
            Type::Tuple(parts) => parts.iter().any(Self::has_reals),
            Type::Record(fields) => fields.iter().any(|(_, ty)| Self::has_reals(ty)),
            _ => false,
        }
    }

    /// Returns a topological order of a module's items: a number for each defined name, larger than
    /// those of its needs.
    pub(crate) fn topological_order(&self, module: &ModuleName) -> BTreeMap<GlobalName, usize> {
        let roots: BTreeSet<GlobalName> =
            self.session.items(module).iter().flat_map(|item| self.defined_names(item)).collect();
        let closure = self.dependency_closure(&roots).into_iter().filter(|item| item.module == *module);
        let numbered =
            closure.enumerate().flat_map(|(n, item)| self.defined_names(&item).into_iter().map(move |d| (d, n)));
        numbered.collect()
    }

    /// Returns the problems that a file would have with this text. Restores the previous state,
    /// apart from newly read imports.
    pub(crate) fn problems_of_text(&mut self, path: &Path, text: &str) -> Vec<Problem> {
        let module = session::module_name(&path.display().to_string());
        let before = self.session.text(&module);
        let segments = self.segments.get(&module).cloned();
        self.session.set_text(&module, text);
        self.register_file(&module, path, text.to_owned());
        self.read_imports();
        let problems = self.problems_in(&module);
        match before {
            Some(before) => self.session.set_text(&module, &before),
            None => self.session.remove(&module),
        }
        match segments {
            Some(segments) => drop(self.segments.insert(module, segments)),
            None => drop(self.segments.remove(&module)),
        }
        problems
    }
}

//! **Help for undefined names** that exist elsewhere: in the library, in a module under another
//! name, or in another language.

use super::expressions::owning_item;
use super::foreign_names;
use super::forms::DataFormat;
use super::pass::Resolver;
use super::resolved::Res;
use super::suggest;
use lang_base::{Code, Fix, Hint, ModuleName, Name, Span};
use lang_syntax::ast::{Expr, ExprId, Ident};

impl Resolver<'_> {
    /// Returns the help for `weather.csv` without its quotes.
    pub(super) fn quoted_file_help(&self, stem: &Name, end: &Ident) -> Option<Hint> {
        let format = DataFormat::by_name(&end.name)?;
        Some(format!("write a file name in quotes: `\"{stem}.{}\"`", format.name()).into())
    }

    /// Returns the root of a path and the names between it and the last: the root `np` and `linalg`
    /// for `np.linalg.inv`.
    pub(super) fn module_path(&self, base: ExprId) -> Option<(ExprId, Vec<Name>)> {
        let (mut at, mut between) = (base, Vec::new());
        loop {
            match &self.tree.exprs[at].kind {
                Expr::Field(inner, name) => {
                    between.push(name.name.clone());
                    at = *inner;
                }
                Expr::Name(_) => return Some((at, between)),
                _ => return None,
            }
        }
    }

    /// Returns the library value for a name behind these foreign modules, the nearest module first.
    pub(super) fn library_value_by_path(&self, between: &[Name], name: &str) -> Option<(ModuleName, Name)> {
        between.iter().find_map(|module| {
            let module: ModuleName = suggest::library_counterpart(module).unwrap_or(module).into();
            let known = self.library_name_for(&module, name)?;
            Some((module, known))
        })
    }

    /// Reports `np.linalg.inv`, a name with a foreign path, with its library counterpart. Returns
    /// whether `base` is such a path.
    pub(super) fn report_foreign_path(&mut self, base: ExprId, name: &Ident) -> bool {
        let Some((root, between)) = self.module_path(base).filter(|(_, between)| !between.is_empty()) else {
            return false;
        };
        let Expr::Name(module) = &self.tree.exprs[root].kind else { return false };
        let known = self.scopes.lookup(module).is_some()
            || self.global_meaning(module).is_some()
            || self.env.imported_module(self.module, module).is_some();
        if known || !suggest::is_foreign_module(module) {
            return false;
        }
        let known = self.library_value_by_path(&between, &name.name);
        let help = known
            .as_ref()
            .map(|(module, known)| self.qualified_use_help(module, known).into())
            .or_else(|| self.missing_module_help(module, name).filter(|_| !self.has_only_module_help(module, name)))
            .or_else(|| between.iter().find_map(|module| self.library_module_help(module)))
            .or_else(|| self.missing_module_help(module, name));
        let qualifier = Ident { name: module.clone(), span: self.tree.exprs[root].span };
        self.out.exprs.insert(root, Res::Error);
        self.report_unknown(Code::E0100, &qualifier, format!("`{module}` is not defined"), |_| help);
        if let Some((module, known)) = known
            && let Some(alias) = self.import_alias(&module)
        {
            let path = Span::new(qualifier.span.start, name.span.end);
            self.attach_fixes(qualifier.span, vec![Fix::replace(path, format!("{alias}.{known}"))]);
        }
        true
    }

    /// Returns whether neither the module nor the name is known, so that the help can only state
    /// that the module does not exist.
    fn has_only_module_help(&self, module: &str, name: &Ident) -> bool {
        let known = self.global_meaning(&name.name).is_some() || suggest::foreign_value_help(&name.name).is_some();
        !known && suggest::library_counterpart(module).is_none() && self.library_value_help(&name.name).is_none()
    }

    /// Returns the help for `module.name` without such an import. The module may be a library
    /// module or a foreign one.
    pub(super) fn missing_module_help(&self, module: &Name, name: &Ident) -> Option<Hint> {
        let imports = self.env.imports(self.module);
        let is_it = |known: &ModuleName| known == module || module_stem(known) == module.as_str();
        if let Some((alias, _)) = imports.iter().find(|(_, known)| is_it(known)) {
            return Some(format!("`{module}` is imported as `{alias}`: write `{alias}.{}`", name.name).into());
        }
        if self.env.library_modules().contains(module) {
            return self.library_module_help(module);
        }
        if suggest::is_foreign_module(module) && self.global_meaning(&name.name).is_none() {
            let help = self.library_module_help(&name.name).or_else(|| self.library_value_help(&name.name));
            let habit = || suggest::foreign_value_help(&name.name);
            if let Some(help) = help.or_else(habit).or_else(|| self.library_module_help(module)) {
                // The module is marked, not the name.
                return Some(help.without_suggestions());
            }
        }
        suggest::foreign_module_help(module, &name.name, |n| self.global_meaning(n).is_some())
    }

    /// Returns the help for a library module with this name, or for the library counterpart of a
    /// foreign module with this name.
    fn library_module_help(&self, name: &str) -> Option<Hint> {
        let library = self.env.library_modules();
        let known = library.iter().find(|m| m.as_str() == name);
        let known =
            known.or_else(|| library.iter().find(|m| Some(m.as_str()) == suggest::library_counterpart(name)))?;
        let text = match self.import_alias(known) {
            Some(alias) if alias == *known => format!("the library module for this is `{known}`: write `{known}.…`"),
            Some(alias) => format!("`{known}` is imported as `{alias}`: write `{alias}.…`"),
            None => format!("`{known}` is a library module: add `import {known}`"),
        };
        Some(text.into())
    }

    /// Returns the local name of an imported module.
    fn import_alias(&self, module: &ModuleName) -> Option<Name> {
        self.env.imports(self.module).into_iter().find(|(_, known)| known == module).map(|(alias, _)| alias)
    }

    /// Returns the help for a library value with this name, or for the library counterpart of this
    /// foreign name.
    pub(super) fn library_value_help(&self, name: &str) -> Option<Hint> {
        let mut alike = self.env.library_values(name);
        alike.sort_by_key(|(module, _)| self.import_alias(module).is_none());
        let own = || alike.iter().find(|(_, known)| *known == name).cloned();
        let by_habit = || {
            let (module, name) = foreign_names::library_equivalent(name)?.split_once('.')?;
            self.defines_value(&module.into(), name).then(|| (module.into(), name.into()))
        };
        let by_spelling = || alike.first().cloned();
        let (module, name): (ModuleName, Name) = own().or_else(by_habit).or_else(by_spelling)?;
        Some(self.qualified_use_help(&module, &name).into())
    }

    /// Returns the name that a library module has for a value: the same, that of its counterpart,
    /// or a spelling that differs only in case and underscores.
    fn library_name_for(&self, module: &ModuleName, name: &str) -> Option<Name> {
        if !self.env.library_modules().contains(module) {
            return None;
        }
        let own = self.defines_value(module, name).then(|| Name::from(name));
        own.or_else(|| self.name_by_foreign_name(module, name)).or_else(|| self.name_by_spelling(module, name))
    }

    /// Returns the module's name for a function with this foreign name.
    pub(super) fn name_by_foreign_name(&self, module: &ModuleName, name: &str) -> Option<Name> {
        let (of, known) = foreign_names::library_equivalent(name)?.split_once('.')?;
        (of == module.as_str() && self.defines_value(module, known)).then(|| known.into())
    }

    /// Returns whether the module itself defines a value of that name.
    fn defines_value(&self, module: &ModuleName, name: &str) -> bool {
        self.env.top_level_value(module, name).is_some_and(|v| owning_item(&v).module == *module)
    }

    /// Returns the value of a library module whose name differs only in case and underscores.
    fn name_by_spelling(&self, module: &ModuleName, name: &str) -> Option<Name> {
        self.env.library_values(name).into_iter().find(|(of, _)| of == module).map(|(_, known)| known)
    }

    /// Returns the help that qualifies a library value, with an import if needed.
    fn qualified_use_help(&self, module: &ModuleName, name: &Name) -> String {
        let condition = foreign_names::condition_suffix(&format!("{module}.{name}"));
        match self.import_alias(module) {
            Some(alias) => format!("the library defines it: write `{alias}.{name}`{condition}"),
            None => format!("the library defines it: add `import {module}`, then write `{module}.{name}`{condition}"),
        }
    }

    /// Returns the help for a name that a module does not define.
    pub(super) fn missing_member_help(&self, qualifier: &Ident, module: &ModuleName, name: &Name) -> Option<Hint> {
        if let Some(own) = self.name_by_foreign_name(module, name) {
            let condition = foreign_names::condition_suffix(&format!("{module}.{own}"));
            return Some(format!("its name here is `{}.{own}`{condition}", qualifier.name).into());
        }
        if self.env.top_level_type(module, name).is_some_and(|ty| ty.module == *module) {
            let text =
                format!("`{}.{name}` is a type: create a value with a constructor or as a record", qualifier.name);
            return Some(text.into());
        }
        if self.global_meaning(name).is_some() {
            return Some(format!("write `{name}` without a module").into());
        }
        let near = self.env.closest_value(module, name, &|n| self.defines_value(module, n)).map(Hint::did_you_mean);
        match (suggest::foreign_value_help(name), self.library_value_help(name)) {
            (Some(habit), Some(there)) => Some(habit.append("\n").append(&there)),
            (Some(help), None) | (None, Some(help)) => Some(help),
            (None, None) => near,
        }
    }

    pub(super) fn undefined_value_help(&self, name: &Name) -> Option<Hint> {
        if self.current_let_name.as_ref() == Some(name) {
            let text = format!(
                "a `let` cannot use its own name; write `scan {name} = init for i < n: e` for a running value, or a `def` for recursion"
            );
            return Some(text.into());
        }
        if let Some(help) = self.unknown_size_help(name) {
            return Some(help.into());
        }
        if self.env.imported_module(self.module, name).is_some() {
            return Some(format!("`{name}` is a module; write `{name}.…` for its definitions").into());
        }
        let there = |m: &ModuleName| self.env.top_level_value(m, name).is_some_and(|v| owning_item(&v).module == *m);
        if let Some(help) = self.imported_name_help(name, there) {
            return Some(help);
        }
        if let Some(help) = self.env.unnamed_extent_help(self.module, name) {
            return Some(help.into());
        }
        let there = self.library_module_help(name).or_else(|| self.library_value_help(name));
        match (suggest::foreign_value_help(name), there) {
            (Some(habit), None) => return Some(habit),
            (Some(habit), Some(there)) => return Some(habit.append("\n").append(&there)),
            (None, Some(there)) => return Some(there),
            (None, None) => {}
        }
        if self.env.top_level_type(self.module, name).is_some() {
            return Some(format!("`{name}` is a type; create a value with a constructor or a literal").into());
        }
        let near = self.env.closest_value(self.module, name, &|_| true).map(Name::from);
        let language = suggest::closest_language_name(name).map(Name::from);
        suggest::did_you_mean(name, self.scopes.names().chain(&near).chain(&language))
    }

    /// Returns the help for a name in an imported module, under the local name of that module.
    pub(super) fn imported_name_help(&self, name: &Name, there: impl Fn(&ModuleName) -> bool) -> Option<Hint> {
        let (alias, _) = self.env.imports(self.module).into_iter().find(|(_, module)| there(module))?;
        Some(format!("an imported module defines it: write `{alias}.{name}`").into())
    }
}

/// Returns the name of a module without directories and extension.
fn module_stem(module: &ModuleName) -> &str {
    let file = module.rsplit('/').next().unwrap_or(module);
    file.strip_suffix(".iv").unwrap_or(file)
}

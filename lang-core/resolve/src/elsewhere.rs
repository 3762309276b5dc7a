//! **Help for undefined names** that exist elsewhere: in the library, in a module under another
//! name, or in another language.

use super::foreign;
use super::forms::DataFormat;
use super::pass::Resolver;
use super::resolved::Res;
use super::suggest;
use super::walk::target;
use lang_base::{Code, Fix, ModuleName, Name, Span};
use lang_syntax::ast::{Expr, ExprId, Ident};

impl Resolver<'_> {
    /// Returns the help for `weather.csv` without its quotes.
    pub(super) fn file_name(&self, stem: &Name, end: &Ident) -> Option<String> {
        let format = DataFormat::by_name(&end.name)?;
        Some(format!("the name of a file stands in quotes: `\"{stem}.{}\"`", format.name()))
    }

    /// Returns the root of a path and the names between it and the last: the root `np` and `linalg`
    /// for `np.linalg.inv`.
    pub(super) fn path(&self, base: ExprId) -> Option<(ExprId, Vec<Name>)> {
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
    pub(super) fn by_path(&self, between: &[Name], name: &str) -> Option<(ModuleName, Name)> {
        between.iter().find_map(|module| {
            let module: ModuleName = suggest::module_of(module).unwrap_or(module).into();
            let known = self.in_module(&module, name)?;
            Some((module, known))
        })
    }

    /// Reports `np.linalg.inv`, a name with a foreign path, with its library counterpart. Returns
    /// whether `base` is such a path.
    pub(super) fn foreign_path(&mut self, base: ExprId, name: &Ident) -> bool {
        let Some((root, between)) = self.path(base).filter(|(_, between)| !between.is_empty()) else { return false };
        let Expr::Name(module) = &self.tree.exprs[root].kind else { return false };
        let known = self.scopes.get(module).is_some()
            || self.meaning(module).is_some()
            || self.names.import(self.module, module).is_some();
        if known || !suggest::is_module(module) {
            return false;
        }
        let known = self.by_path(&between, &name.name);
        let help = known
            .as_ref()
            .map(|(module, known)| self.reached(module, known))
            .or_else(|| self.missing_module(module, name).filter(|_| !self.is_vague(module, name)))
            .or_else(|| between.iter().find_map(|module| self.library_module(module)))
            .or_else(|| self.missing_module(module, name));
        let qualifier = Ident { name: module.clone(), span: self.tree.exprs[root].span };
        self.out.exprs.insert(root, Res::Error);
        self.unknown(Code::E0100, &qualifier, format!("`{module}` is not defined"), |_| help);
        if let Some((module, known)) = known
            && let Some(alias) = self.alias(&module)
        {
            let path = Span::new(qualifier.span.start, name.span.end);
            self.mend(qualifier.span, vec![Fix::replace(path, format!("{alias}.{known}"))]);
        }
        true
    }

    /// Returns whether neither the module nor the name is known, so that the help can only state
    /// that the module does not exist.
    fn is_vague(&self, module: &str, name: &Ident) -> bool {
        let known = self.meaning(&name.name).is_some() || suggest::value_habit(&name.name).is_some();
        !known && suggest::module_of(module).is_none() && self.in_library(&name.name).is_none()
    }

    /// Returns the help for `module.name` without such an import. The module may be a library
    /// module or a foreign one.
    pub(super) fn missing_module(&self, module: &Name, name: &Ident) -> Option<String> {
        let imports = self.names.imports(self.module);
        let is_it = |known: &ModuleName| known == module || stem(known) == module.as_str();
        if let Some((alias, _)) = imports.iter().find(|(_, known)| is_it(known)) {
            return Some(format!("`{module}` is imported as `{alias}`: write `{alias}.{}`", name.name));
        }
        if self.names.library().contains(module) {
            return self.library_module(module);
        }
        if suggest::is_module(module) && self.meaning(&name.name).is_none() {
            let help = self.library_module(&name.name).or_else(|| self.in_library(&name.name));
            let habit = || suggest::value_habit(&name.name);
            if let Some(help) = help.or_else(habit).or_else(|| self.library_module(module)) {
                return Some(help);
            }
        }
        suggest::module_habit(module, &name.name, |n| self.meaning(n).is_some())
    }

    /// Returns the help for a library module with this name, or for the library counterpart of a
    /// foreign module with this name.
    fn library_module(&self, name: &str) -> Option<String> {
        let library = self.names.library();
        let known = library.iter().find(|m| m.as_str() == name);
        let known = known.or_else(|| library.iter().find(|m| Some(m.as_str()) == suggest::module_of(name)))?;
        Some(match self.alias(known) {
            Some(alias) if alias == *known => format!("`{known}` is the library's module for this: write `{known}.…`"),
            Some(alias) => format!("`{known}` is imported as `{alias}`: write `{alias}.…`"),
            None => format!("`{known}` is a module of the library: `import {known}`"),
        })
    }

    /// Returns the local name of an imported module.
    fn alias(&self, module: &ModuleName) -> Option<Name> {
        self.names.imports(self.module).into_iter().find(|(_, known)| known == module).map(|(alias, _)| alias)
    }

    /// Returns the help for a library value with this name, or for the library counterpart of this
    /// foreign name.
    pub(super) fn in_library(&self, name: &str) -> Option<String> {
        let mut alike = self.names.library_values(name);
        alike.sort_by_key(|(module, _)| self.alias(module).is_none());
        let own = || alike.iter().find(|(_, known)| *known == name).cloned();
        let by_habit = || {
            let (module, name) = foreign::library_habit(name)?.split_once('.')?;
            self.has(&module.into(), name).then(|| (module.into(), name.into()))
        };
        let by_spelling = || alike.first().cloned();
        let (module, name): (ModuleName, Name) = own().or_else(by_habit).or_else(by_spelling)?;
        Some(self.reached(&module, &name))
    }

    /// Returns the name that a library module has for a value: the same, that of its counterpart,
    /// or a spelling that differs only in case and underscores.
    fn in_module(&self, module: &ModuleName, name: &str) -> Option<Name> {
        if !self.names.library().contains(module) {
            return None;
        }
        let own = self.has(module, name).then(|| Name::from(name));
        own.or_else(|| self.called(module, name)).or_else(|| self.spelt_alike(module, name))
    }

    /// Returns the module's name for a function with this foreign name.
    pub(super) fn called(&self, module: &ModuleName, name: &str) -> Option<Name> {
        let (of, known) = foreign::library_habit(name)?.split_once('.')?;
        (of == module.as_str() && self.has(module, known)).then(|| known.into())
    }

    /// Returns whether the module itself defines a value of that name.
    fn has(&self, module: &ModuleName, name: &str) -> bool {
        self.names.value(module, name).is_some_and(|v| target(&v).module == *module)
    }

    /// Returns the value of a library module whose name differs only in case and underscores.
    fn spelt_alike(&self, module: &ModuleName, name: &str) -> Option<Name> {
        self.names.library_values(name).into_iter().find(|(of, _)| of == module).map(|(_, known)| known)
    }

    /// Returns the help that qualifies a library value, with an import if needed.
    fn reached(&self, module: &ModuleName, name: &Name) -> String {
        let condition = foreign::condition(&format!("{module}.{name}"));
        match self.alias(module) {
            Some(alias) => format!("it is in the library: write `{alias}.{name}`{condition}"),
            None => format!("it is in the library: `import {module}`, then write `{module}.{name}`{condition}"),
        }
    }

    /// Returns the help for a name that a module does not define.
    pub(super) fn lacking(&self, qualifier: &Ident, module: &ModuleName, name: &Name) -> Option<String> {
        if let Some(own) = self.called(module, name) {
            let condition = foreign::condition(&format!("{module}.{own}"));
            return Some(format!("it is called `{}.{own}` here{condition}", qualifier.name));
        }
        if self.names.type_name(module, name).is_some_and(|ty| ty.module == *module) {
            return Some(format!(
                "`{}.{name}` is a type: its values are made by constructors, or written out as records",
                qualifier.name
            ));
        }
        if self.meaning(name).is_some() {
            return Some(format!("no module is needed: write `{name}`"));
        }
        let near = self.names.near_value(module, name, &|n| self.has(module, n)).map(suggest::asks);
        match (suggest::value_habit(name), self.in_library(name)) {
            (Some(habit), Some(there)) => Some(format!("{habit}\n{there}")),
            (Some(help), None) | (None, Some(help)) => Some(help),
            (None, None) => near,
        }
    }

    pub(super) fn value_help(&self, name: &Name) -> Option<String> {
        if self.binding.as_ref() == Some(name) {
            return Some(format!(
                "a `let` does not see the name that it binds; a running value is `scan {name} = init for i < n: e`, \
                 and a function of itself is a `def`"
            ));
        }
        if let Some(help) = self.size_help(name) {
            return Some(help);
        }
        if self.names.import(self.module, name).is_some() {
            return Some(format!("`{name}` is a module; what it defines is written `{name}.…`"));
        }
        let there = |m: &ModuleName| self.names.value(m, name).is_some_and(|v| target(&v).module == *m);
        if let Some(help) = self.imported(name, there) {
            return Some(help);
        }
        if let Some(help) = self.names.unnamed_extent(self.module, name) {
            return Some(help);
        }
        let there = self.library_module(name).or_else(|| self.in_library(name));
        match (suggest::value_habit(name), there) {
            (Some(habit), None) => return Some(habit),
            (Some(habit), Some(there)) => return Some(format!("{habit}\n{there}")),
            (None, Some(there)) => return Some(there),
            (None, None) => {}
        }
        if self.names.type_name(self.module, name).is_some() {
            return Some(format!("`{name}` is a type; a value is made by a constructor or written out"));
        }
        let near = self.names.near_value(self.module, name, &|_| true).map(Name::from);
        let language = suggest::near_language(name).map(Name::from);
        suggest::did_you_mean(name, self.scopes.names().chain(&near).chain(&language))
    }

    /// Returns the help for a name in an imported module, under the local name of that module.
    pub(super) fn imported(&self, name: &Name, there: impl Fn(&ModuleName) -> bool) -> Option<String> {
        let (alias, _) = self.names.imports(self.module).into_iter().find(|(_, module)| there(module))?;
        Some(format!("it stands in a module that is imported: write `{alias}.{name}`"))
    }
}

/// Returns the name of a module without directories and extension.
fn stem(module: &ModuleName) -> &str {
    let file = module.rsplit('/').next().unwrap_or(module);
    file.strip_suffix(".iv").unwrap_or(file)
}

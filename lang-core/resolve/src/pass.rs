//! **The resolver pass.** Finds the meaning of every name of an item, without type information. It
//! never fails: a name without a meaning becomes an error, reported once per item.
//!
//! A value name is looked up first among the locals, then among the module's items, the prelude and
//! the language's own names. In the signature of a definition, the first occurrence of a size that
//! is not a parameter declares it. So does the first occurrence of a lower-case type name that no
//! type has. This file resolves items and types; `expressions` resolves expressions and patterns.
//!
//! Recursion follows the tree, whose depth the parser bounds.

use std::collections::HashMap;

use super::resolved::{LocalDecl, LocalKind, Res, Resolved, TypeRes};
use super::scopes::NameScopes;
use super::sum_reach::MentionClock;
use super::{NameEnv, ValueRef, suggest, type_items};
use lang_base::{Code, Diagnostic, Fix, GlobalName, Hint, ModuleName, Name, Span};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::{
    Def, Ident, Item, Pat, PatId, RuleDef, SizeExpr, TopLet, Tree, TypeArg, TypeBody, TypeDef, TypeExpr, TypeId,
};

/// The maximum number of related places in the diagnostic of an unknown name.
const MAX_RELATED_SPANS: usize = 5;

/// Resolves all names of the item `tree` of `module`. `names` supplies the names of other items.
pub fn resolve(tree: &Tree, module: &ModuleName, names: &dyn NameEnv) -> Resolved {
    let mut resolver = Resolver {
        tree,
        module,
        env: names,
        out: Resolved::default(),
        scopes: NameScopes::default(),
        type_params: HashMap::new(),
        type_context: TypeContext::Body,
        unknown_names: Vec::new(),
        unknown_positions: HashMap::new(),
        mention_clock: MentionClock::default(),
        suppressed_names: Vec::new(),
        current_let_name: None,
        annotation_site: None,
    };
    resolver.resolve_item();
    resolver.finish()
}

/// The context of a type or a size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeContext {
    /// The signature of a definition: unknown sizes and types become its parameters.
    Signature,
    /// Any other context.
    Body,
}

/// The position of a type annotation outside signatures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AnnotationSite {
    /// At a `let`.
    Let,
    /// At a parameter of a lambda.
    Lambda,
}

/// An unknown name with its occurrences.
struct UnknownName {
    code: Code,
    message: String,
    help: Option<Hint>,
    spans: Vec<Span>,
    fixes: Vec<Fix>,
}

pub(super) struct Resolver<'a> {
    pub(super) tree: &'a Tree,
    pub(super) module: &'a ModuleName,
    pub(super) env: &'a dyn NameEnv,
    pub(super) out: Resolved,
    pub(super) scopes: NameScopes,
    type_params: HashMap<Name, u32>,
    pub(super) type_context: TypeContext,
    unknown_names: Vec<UnknownName>,
    unknown_positions: HashMap<(Code, Name), usize>,
    pub(super) mention_clock: MentionClock,
    /// Names that a malformed construct would have declared, such as a `let` in function notation.
    /// The diagnostic of that construct suffices, so these names are not reported as undefined.
    pub(super) suppressed_names: Vec<Name>,
    /// The name bound by the `let` whose value is being resolved.
    pub(super) current_let_name: Option<Name>,
    /// The position of the type annotation being resolved.
    annotation_site: Option<AnnotationSite>,
}

impl<'a> Resolver<'a> {
    fn resolve_item(&mut self) {
        let tree = self.tree;
        match &tree.item {
            Item::Def(def) => self.resolve_def(def),
            Item::Type(def) => self.resolve_type_item(def),
            Item::Import(_) | Item::Error => {}
            Item::Let(item) => self.resolve_top_let(item),
            Item::Do(value) => self.resolve_expr(*value),
            Item::DerivativeRule(rule) => self.resolve_rule(rule),
        }
    }

    fn finish(mut self) -> Resolved {
        for unknown in self.unknown_names {
            let Some((first, others)) = unknown.spans.split_first() else { continue };
            let mut diagnostic = Diagnostic::new(unknown.code, *first, unknown.message);
            diagnostic.help = unknown.help;
            diagnostic.fixes = unknown.fixes;
            for place in others.iter().take(MAX_RELATED_SPANS) {
                diagnostic = diagnostic.related(*place, "here too");
            }
            self.out.diagnostics.push(diagnostic);
        }
        self.out.diagnostics.sort_by_key(|d| (d.span.start, d.span.end, d.code));
        self.out
    }

    fn resolve_def(&mut self, def: &'a Def) {
        self.type_context = TypeContext::Signature;
        for param in &def.params {
            self.declare(&param.name, LocalKind::Param);
        }
        for param in &def.params {
            self.resolve_type(param.ty);
        }
        // The scope of a `?k` is the result type only.
        let mark = self.scopes.enter();
        if let Some(result) = def.result {
            self.resolve_type(result);
        }
        self.scopes.leave(mark);
        self.type_context = TypeContext::Body;
        self.out.signature_references = self.out.referenced_items.clone();
        for constraint in &def.constraints {
            self.check_constrained_var(&constraint.var);
        }
        self.resolve_expr(def.body);
    }

    /// Checks that the variable of a `where` constraint is a type parameter.
    fn check_constrained_var(&mut self, var: &Ident) {
        if var.name.is_empty() || self.type_params.contains_key(&var.name) {
            return;
        }
        let message = format!("`{}` is not a type parameter of this definition", var.name);
        self.report_unknown(Code::E0101, var, message, |this| {
            let known: Vec<&str> = this.out.type_params.iter().map(|(n, _)| n.as_str()).collect();
            suggest::did_you_mean(&var.name, &known).or_else(|| {
                let text = match known.as_slice() {
                    [] => format!("a type parameter is a lower-case name in the signature, as in `x: {}`", var.name),
                    [one] => format!("the only type parameter is `{one}`"),
                    known => format!("the type parameters are {}", quoted_list(known)),
                };
                Some(text.into())
            })
        });
    }

    fn resolve_type_item(&mut self, def: &'a TypeDef) {
        let own = GlobalName { module: self.module.clone(), name: def.name.name.clone() };
        let sizes = self.env.size_params(&own);
        for (position, param) in def.params.iter().enumerate() {
            self.out.type_params.push((param.name.clone(), param.span));
            if sizes.get(position).copied().unwrap_or(false) {
                self.declare(param, LocalKind::ImplicitSize);
            } else if let Ok(number) = u32::try_from(position) {
                self.type_params.insert(param.name.clone(), number);
            }
        }
        match &def.body {
            TypeBody::Sum(ctors) => {
                for arg in ctors.iter().flat_map(|c| &c.args) {
                    self.resolve_type(*arg);
                }
            }
            TypeBody::Single(ty) => {
                let tree = self.tree;
                let Some((_, args)) = type_items::single_ctor(tree, def, self.module, self.env) else {
                    self.resolve_type(*ty);
                    return;
                };
                self.out.is_single_ctor = true;
                for arg in args {
                    match arg {
                        TypeArg::Type(ty) => self.resolve_type(*ty),
                        TypeArg::Size(size) => self.resolve_size(size),
                    }
                }
            }
        }
    }

    fn resolve_top_let(&mut self, item: &'a TopLet) {
        self.resolve_expr(item.value);
        if let Some(ty) = item.ty {
            self.resolve_annotation(ty, AnnotationSite::Let);
        }
        self.resolve_pattern(item.pat, LocalKind::Let);
    }

    fn resolve_rule(&mut self, rule: &'a RuleDef) {
        let name = &rule.name;
        match self.env.top_level_value(self.module, &name.name) {
            Some(ValueRef::Def(def)) if def.module == *self.module => {
                self.bind_signature_names(&def, name.span);
                self.out.referenced_items.insert(def);
            }
            _ if name.name.is_empty() || self.env.is_in_skipped_text(self.module, &name.name) => {}
            _ => {
                let message = format!("there is no definition `{}` in this module", name.name);
                let near = self.env.closest_value(self.module, &name.name, &|_| true).map(Hint::did_you_mean);
                let help = near.unwrap_or_else(|| "write a rule in the module of its definition".into());
                self.out.diagnostics.push(Diagnostic::new(Code::E0100, name.span, message).help(help));
            }
        }
        for param in rule.params.iter().chain(&rule.tangents) {
            self.declare(param, LocalKind::Param);
        }
        self.resolve_expr(rule.body);
    }

    /// Adds the sizes and type parameters of a definition to the scope of its rule.
    fn bind_signature_names(&mut self, def: &GlobalName, span: Span) {
        let names = self.env.signature_names(def);
        for name in names.sizes {
            // The rule does not declare them, so they have no declaration span of their own.
            let id = LocalId(u32::try_from(self.out.locals.len()).unwrap_or(u32::MAX));
            self.out.locals.push(LocalDecl { name: name.clone(), span, kind: LocalKind::ImplicitSize });
            self.scopes.bind(name, id);
        }
        for (number, name) in (0..).zip(names.types) {
            self.out.type_params.push((name.clone(), span));
            self.type_params.insert(name, number);
        }
    }

    /// Declares a local without binding its name.
    pub(super) fn declare_unbound(&mut self, name: &Name, span: Span, kind: LocalKind) -> LocalId {
        let id = LocalId(u32::try_from(self.out.locals.len()).unwrap_or(u32::MAX));
        self.out.locals.push(LocalDecl { name: name.clone(), span, kind });
        self.out.decls.insert(span, id);
        id
    }

    /// Declares a local and binds its name, unless it is `_` or missing.
    pub(super) fn declare(&mut self, ident: &Ident, kind: LocalKind) -> LocalId {
        let id = self.declare_unbound(&ident.name, ident.span, kind);
        if !matches!(ident.name.as_str(), "" | "_") {
            self.scopes.bind(ident.name.clone(), id);
        }
        id
    }

    /// Returns the variable of a pattern that is a single variable, perhaps with named extents.
    pub(super) fn pattern_variable(&self, pat: PatId) -> Option<Name> {
        match &self.tree.pats[pat].kind {
            Pat::Name(name) => Some(name.clone()),
            Pat::Sized(_, inner) => self.pattern_variable(*inner),
            _ => None,
        }
    }

    /// Resolves a type annotation. Its position determines the help for unknown sizes.
    pub(super) fn resolve_annotation(&mut self, ty: TypeId, at: AnnotationSite) {
        let around = self.annotation_site.replace(at);
        self.resolve_type(ty);
        self.annotation_site = around;
    }

    /// Returns the help for an unknown size.
    pub(super) fn unknown_size_help(&self, name: &Name) -> Option<String> {
        Some(match self.annotation_site? {
            AnnotationSite::Let => format!(
                "write `?{name}` if the value determines the extent; other sizes in the type of a `let` must already have names"
            ),
            AnnotationSite::Lambda => {
                r"omit the type, `\x: …`, because the use of the function determines it; only a `def` can declare its own size"
                    .to_owned()
            }
        })
    }

    /// Resolves a written type.
    pub(super) fn resolve_type(&mut self, id: TypeId) {
        let tree = self.tree;
        let node = &tree.types[id];
        match &node.kind {
            TypeExpr::Error => {}
            TypeExpr::Name { module, name, args } => self.resolve_named_type(id, module.as_ref(), name, args),
            TypeExpr::Array(sizes, elem) => {
                sizes.iter().for_each(|s| self.resolve_size(s));
                self.resolve_type(*elem);
            }
            TypeExpr::Tuple(items) => items.iter().for_each(|t| self.resolve_type(*t)),
            TypeExpr::Record(fields) => fields.iter().for_each(|(_, t)| self.resolve_type(*t)),
            TypeExpr::Fun(params, result) => {
                let mark = self.scopes.enter();
                for (name, ty) in params {
                    self.resolve_type(*ty);
                    if let Some(name) = name {
                        self.declare(name, LocalKind::FunTypeParam);
                    }
                }
                self.resolve_type(*result);
                self.scopes.leave(mark);
            }
            TypeExpr::Rel(sizes) => sizes.iter().for_each(|s| self.resolve_size(s)),
        }
    }

    fn resolve_size(&mut self, size: &SizeExpr) {
        match size {
            SizeExpr::Expr(e) => self.resolve_expr(*e),
            SizeExpr::Unknown(name) => match self.scopes.lookup(&name.name) {
                Some(local) if self.local_kind(local) == Some(LocalKind::ResultSize) => {
                    self.out.decls.insert(name.span, local);
                }
                Some(local) if self.type_context == TypeContext::Signature => {
                    let message = format!("`{}` is already a size of this signature", name.name);
                    let mut diagnostic = Diagnostic::new(Code::E0012, name.span, message);
                    if let Some(decl) = self.out.locals.get(local.0 as usize) {
                        diagnostic = diagnostic.related(decl.span, "declared here");
                    }
                    let help = format!("write `{}` for the same size, or choose another name", name.name);
                    self.out.diagnostics.push(diagnostic.help(help));
                    self.declare_unbound(&name.name, name.span, LocalKind::ResultSize);
                }
                _ => {
                    self.declare(name, LocalKind::ResultSize);
                }
            },
        }
    }

    fn local_kind(&self, local: LocalId) -> Option<LocalKind> {
        self.out.locals.get(local.0 as usize).map(|d| d.kind)
    }

    /// Returns the size of that name in a signature: the parameter, or an implicit size declared
    /// here.
    pub(super) fn signature_size(&mut self, name: &Name, span: Span) -> LocalId {
        if let Some(local) = self.scopes.lookup(name) {
            return local;
        }
        let local = self.declare_unbound(name, span, LocalKind::ImplicitSize);
        self.scopes.bind_outermost(name.clone(), local);
        local
    }

    fn resolve_named_type(&mut self, id: TypeId, module: Option<&Ident>, name: &Ident, args: &'a [TypeArg]) {
        let res = match module {
            Some(module) => self.resolve_module_type(module, name),
            None => self.resolve_bare_type(name, args.is_empty()),
        };
        let sizes = match &res {
            TypeRes::Global(ty) => {
                self.out.referenced_items.insert(ty.clone());
                self.env.size_params(ty)
            }
            _ => Vec::new(),
        };
        let known = res != TypeRes::Error;
        self.out.types.insert(id, res);
        for (position, arg) in args.iter().enumerate() {
            let want_size = sizes.get(position).copied().unwrap_or(false);
            match (arg, type_items::bare_arg(self.tree, arg)) {
                (_, Some((arg, name))) if want_size => self.resolve_bare_size(arg, &Name::from(name)),
                // The type itself is unknown and reported, so the roles of its arguments are
                // unknown too.
                (_, Some((arg, name))) if !known && !self.is_type_name(name) => {
                    self.out.types.insert(arg, TypeRes::Error);
                }
                (TypeArg::Type(arg), _) => self.resolve_type(*arg),
                (TypeArg::Size(size), _) => self.resolve_size(size),
            }
        }
    }

    /// Resolves a bare name in a type argument whose parameter is a size.
    fn resolve_bare_size(&mut self, id: TypeId, name: &Name) {
        let span = self.tree.types[id].span;
        let res = match self.scopes.lookup(name) {
            Some(local) => Res::Local(local),
            None if self.is_type_name(name) => {
                let message = format!("`{name}` is a type, but a size is expected here");
                self.out.diagnostics.push(Diagnostic::new(Code::E0108, span, message));
                Res::Error
            }
            None if self.type_context == TypeContext::Signature => Res::Local(self.signature_size(name, span)),
            None => self.resolve_value(name, span),
        };
        let res = if res == Res::Error { TypeRes::Error } else { TypeRes::Size(res) };
        self.out.types.insert(id, res);
    }

    fn is_type_name(&self, name: &str) -> bool {
        self.type_params.contains_key(name)
            || self.env.top_level_type(self.module, name).is_some()
            || type_items::scalar_by_name(name).is_some()
    }

    fn resolve_bare_type(&mut self, ident: &Ident, may_be_param: bool) -> TypeRes {
        let name = &ident.name;
        if name.is_empty() {
            return TypeRes::Error;
        }
        if let Some(param) = self.type_params.get(name) {
            return TypeRes::Param(*param);
        }
        if let Some(ty) = self.env.top_level_type(self.module, name) {
            return TypeRes::Global(ty);
        }
        if let Some(scalar) = type_items::scalar_by_name(name) {
            return TypeRes::Scalar(scalar);
        }
        let habit = suggest::foreign_type_help(name);
        let near_scalar = name.chars().any(|c| c.is_ascii_digit())
            && suggest::nearest_name(name, ["f64", "f32", "i64"]).is_some()
            && name.len() > 2;
        let lower = name.chars().next().is_some_and(|c| !c.is_uppercase());
        if self.type_context == TypeContext::Signature && may_be_param && lower && habit.is_none() && !near_scalar {
            let number = u32::try_from(self.out.type_params.len()).unwrap_or(u32::MAX);
            self.out.type_params.push((name.clone(), ident.span));
            self.type_params.insert(name.clone(), number);
            return TypeRes::Param(number);
        }
        if self.scopes.lookup(name).is_some_and(|l| self.local_kind(l) == Some(LocalKind::ImplicitSize)) {
            let message = format!("`{name}` is a size, but a type is expected here");
            self.out.diagnostics.push(Diagnostic::new(Code::E0108, ident.span, message));
            return TypeRes::Error;
        }
        self.report_unknown(Code::E0101, ident, format!("there is no type `{name}`"), |this| {
            let there = |m: &ModuleName| this.env.top_level_type(m, name).is_some_and(|t| t.module == *m);
            if let Some(help) = this.imported_name_help(name, there).or_else(|| habit.cloned()) {
                return Some(help);
            }
            let params = this.out.type_params.iter().map(|(n, _)| n.as_str());
            let scalars = lang_syntax::ops::Scalar::ALL.iter().map(|s| s.name());
            let top = this.env.closest_type(this.module, name, &|_| true);
            suggest::did_you_mean(name, params.chain(scalars).chain(top.as_deref())).or_else(|| {
                this.env.top_level_value(this.module, name).map(|_| {
                    format!("`{name}` is a value; write a type such as `f64`, `[n]f64` or `(f64, i64)`").into()
                })
            })
        });
        TypeRes::Error
    }

    fn resolve_module_type(&mut self, module: &Ident, name: &Ident) -> TypeRes {
        let Some(target) = self.env.imported_module(self.module, &module.name) else {
            self.report_unknown_module(module, &name.name);
            return TypeRes::Error;
        };
        if !self.env.has_module(&target) || name.name.is_empty() {
            return TypeRes::Error;
        }
        match self.env.top_level_type(&target, &name.name) {
            Some(ty) if ty.module == target => TypeRes::Global(ty),
            _ => {
                let key = Ident { name: format!("{}.{}", module.name, name.name).into(), span: name.span };
                let message = format!("module `{}` has no type `{}`", module.name, name.name);
                self.report_unknown(Code::E0107, &key, message, |this| {
                    let own = |n: &str| this.env.top_level_type(&target, n).is_some_and(|t| t.module == target);
                    this.env.closest_type(&target, &name.name, &own).map(Hint::did_you_mean)
                });
                TypeRes::Error
            }
        }
    }

    pub(super) fn report_unknown_module(&mut self, module: &Ident, name: &str) {
        if module.name.is_empty() {
            return;
        }
        let message = format!("no module is imported as `{}`", module.name);
        let imports = self.env.imports(self.module);
        let habit = || suggest::foreign_type_help(name).filter(|_| suggest::is_foreign_module(&module.name));
        let help = if let Some((alias, _)) = imports.iter().find(|(_, known)| *known == module.name) {
            format!("`{}` is imported as `{alias}`: write `{alias}.{name}`", module.name).into()
        } else if self.env.library_modules().contains(&module.name) {
            format!("`{0}` is a library module: add `import {0}`", module.name).into()
        } else if let Some(habit) = habit() {
            // The module is marked, not the name.
            habit.clone().without_suggestions()
        } else if suggest::is_foreign_module(&module.name) {
            Hint::text("write a type without a module: `f64`, `i64`, `bool`, `[n]f64`, `(f64, i64)`, …")
        } else {
            format!("to import a file from this folder, write `import \"./{}.iv\"`", module.name).into()
        };
        self.report_unknown(Code::E0100, module, message, |_| Some(help));
    }

    /// Records an unknown name: one diagnostic for all its occurrences.
    pub(super) fn report_unknown(
        &mut self,
        code: Code,
        ident: &Ident,
        message: String,
        help: impl FnOnce(&Self) -> Option<Hint>,
    ) {
        if code == Code::E0100 && self.suppressed_names.contains(&ident.name) {
            return;
        }
        // Unreadable text of the module may declare it.
        if self.env.is_in_skipped_text(self.module, &ident.name) {
            return;
        }
        let key = (code, ident.name.clone());
        if let Some(unknown) = self.unknown_positions.get(&key).and_then(|at| self.unknown_names.get_mut(*at)) {
            unknown.spans.push(ident.span);
            return;
        }
        let help = help(self);
        self.unknown_positions.insert(key, self.unknown_names.len());
        self.unknown_names.push(UnknownName { code, message, help, spans: vec![ident.span], fixes: Vec::new() });
    }

    /// Adds fixes to the diagnostic of the unknown name at this span.
    pub(super) fn attach_fixes(&mut self, at: Span, fixes: Vec<Fix>) {
        if let Some(unknown) = self.unknown_names.iter_mut().find(|unknown| unknown.spans.contains(&at)) {
            unknown.fixes.extend(fixes);
        }
    }
}

/// "`a`, `b` and `c`"
fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

//! **Resolution of expressions and patterns**, including the scope of each binding.
//!
//! A `let` binds after its value. The later ranges, the filter and the body of a binder see its
//! index variable. The body, the condition and the `yield` see a carry; in a `yield` it is the
//! state before the step. The pass in `pass` calls this module for each expression of an item.

use std::collections::HashMap;

use super::builtin::Builtin;
use super::forms::{Const, Derivative, Form};
use super::habits::{self, Given};
use super::pass::{Place, Resolver, Written};
use super::resolved::{LocalKind, PatRes, Res};
use super::scalar_fn::ScalarFn;
use super::{ValueRef, suggest, type_items};
use lang_base::{Code, Diagnostic, Fix, Name, Span};
use lang_syntax::ast::{self, CallArg, Expr, ExprId, Ident, IndexRange, IndexVar, Pat, PatId, Subscript, Tree};
use lang_syntax::ops::{BinderKind, Scalar};

impl<'a> Resolver<'a> {
    pub(super) fn expr(&mut self, id: ExprId) {
        let tree: &'a Tree = self.tree;
        let node = &tree.exprs[id];
        match &node.kind {
            Expr::Error | Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Str(_) => {}
            Expr::Name(name) => {
                let res = if self.place == Place::Signature && !name.is_empty() {
                    Res::Local(self.signature_size(name, node.span))
                } else {
                    self.value(name, node.span)
                };
                self.out.exprs.insert(id, res);
            }
            Expr::Unary(_, e) | Expr::Paren(e) | Expr::Proj(e, ..) | Expr::Card(e) => self.expr(*e),
            Expr::Chain { first, rest } => {
                self.expr(*first);
                rest.iter().for_each(|(_, _, e)| self.expr(*e));
            }
            Expr::Power(a, b) => {
                self.expr(*a);
                self.expr(*b);
            }
            Expr::Guard { cond, body } => {
                self.expr(*cond);
                self.expr(*body);
            }
            Expr::Array { items, .. } | Expr::Tuple(items) => items.iter().for_each(|e| self.expr(*e)),
            Expr::Record(fields) => fields.iter().for_each(|(_, e)| self.expr(*e)),
            Expr::Field(base, name) => self.field(id, *base, name),
            Expr::Index(base, subscripts) => {
                self.expr(*base);
                self.subscripts(subscripts);
            }
            Expr::Call(callee, args) => {
                self.call(*callee, args);
                self.mend_call(id, *callee, args);
            }
            Expr::Lambda(params, body) => {
                let mark = self.scopes.enter();
                for param in params {
                    if let Some(ty) = param.ty {
                        self.sized_type(ty, Written::Lambda);
                    }
                    self.pat(param.pat, LocalKind::Lambda);
                }
                self.expr(*body);
                self.scopes.leave(mark);
            }
            Expr::Let(binds, body) => {
                let mark = self.scopes.enter();
                // The last value of a chain without `in` may contain its result, which then
                // mentions the bound names.
                if matches!(tree.exprs[*body].kind, Expr::Error) {
                    binds.iter().for_each(|bind| self.slipped_names(bind.pat));
                }
                for bind in binds {
                    self.function_slip(bind.pat);
                    let bound = self.bound_name(bind.pat);
                    let around = std::mem::replace(&mut self.binding, bound);
                    self.expr(bind.value);
                    self.binding = around;
                    if let Some(ty) = bind.ty {
                        self.sized_type(ty, Written::Let);
                    }
                    self.pat(bind.pat, LocalKind::Let);
                }
                self.expr(*body);
                self.scopes.leave(mark);
            }
            Expr::If(arms, otherwise) => {
                for (cond, value) in arms {
                    self.expr(*cond);
                    self.expr(*value);
                }
                self.expr(*otherwise);
            }
            Expr::Match(value, arms) => {
                self.expr(*value);
                for arm in arms {
                    let mark = self.scopes.enter();
                    let before = self.out.locals.len();
                    self.pat(arm.pat, LocalKind::Pattern);
                    self.bound_twice(before);
                    self.expr(arm.body);
                    self.scopes.leave(mark);
                }
            }
            Expr::Binder { kind, vars, filter, body } => {
                let mark = self.scopes.enter();
                self.index_vars(vars);
                filter.iter().for_each(|e| self.expr(*e));
                match kind {
                    BinderKind::Sum => self.sum_body(vars, *body),
                    _ => self.expr(*body),
                }
                self.scopes.leave(mark);
            }
            Expr::Fold { acc, ty, init, vars, body, yields, .. } => {
                self.expr(*init);
                ty.iter().for_each(|t| self.ty(*t));
                let mark = self.scopes.enter();
                self.index_vars(vars);
                self.pat(*acc, LocalKind::Carry);
                self.expr(*body);
                yields.iter().for_each(|e| self.expr(*e));
                self.scopes.leave(mark);
            }
            Expr::Loop { acc, ty, init, cond, body, .. } => {
                self.expr(*init);
                ty.iter().for_each(|t| self.ty(*t));
                let mark = self.scopes.enter();
                self.pat(*acc, LocalKind::Carry);
                self.expr(*cond);
                self.expr(*body);
                self.scopes.leave(mark);
            }
            Expr::Checkpoint { spacing: every, body: of } => {
                every.iter().for_each(|e| self.expr(*e));
                self.expr(*of);
            }
            Expr::With(base, updates) => {
                self.expr(*base);
                for update in updates {
                    if let ast::UpdateTarget::Index(subscripts, _) = &update.target {
                        self.subscripts(subscripts);
                    }
                    self.expr(update.value);
                }
            }
        }
    }

    fn subscripts(&mut self, subscripts: &'a [Subscript]) {
        for subscript in subscripts {
            match subscript {
                Subscript::Index(e) => self.expr(*e),
                Subscript::Range(from, to) => {
                    self.expr(*from);
                    self.expr(*to);
                }
                Subscript::FullAxis(_) => {}
            }
        }
    }

    fn index_vars(&mut self, vars: &'a [IndexVar]) {
        for var in vars {
            match &var.range {
                IndexRange::Bare => {}
                IndexRange::Below(e) => self.expr(*e),
                IndexRange::Range { from, to, by } => {
                    self.expr(*from);
                    self.expr(*to);
                    by.iter().for_each(|e| self.expr(*e));
                }
            }
            self.declare(&var.name, LocalKind::Index);
        }
    }

    fn call(&mut self, callee: ExprId, args: &'a [CallArg]) {
        let tree: &'a Tree = self.tree;
        let callee_node = &tree.exprs[callee];
        match &callee_node.kind {
            // A function in a size (`min(n, m)`) is not itself a size.
            Expr::Name(name) if self.place == Place::Signature => {
                let res = self.value(name, callee_node.span);
                self.out.exprs.insert(callee, res);
            }
            _ => self.expr(callee),
        }
        let res = self.out.exprs.get(&callee);
        // An unknown callee may be a misspelt derivative operator.
        let derives = matches!(res, Some(Res::Derive(_) | Res::Error));
        // If the callee takes no named arguments, a label may be an index variable without the word
        // of its binder.
        let takes_names = matches!(res, Some(Res::Form(Form::Plot | Form::Load)));
        if !derives && !takes_names && args.iter().any(|a| a.name.is_some()) {
            for arg in args {
                match (&arg.name, &tree.exprs[arg.value].kind) {
                    (Some(name), _) => self.slipped.push(name.name.clone()),
                    (None, Expr::Name(name)) => self.slipped.push(name.clone()),
                    _ => {}
                }
            }
        }
        // The checker rejects `grad(f, x)` for its second argument. Resolution therefore skips it,
        // because it may be a parameter of `f` or a value here.
        let operator = matches!(res, Some(Res::Derive(_)));
        let mut functions = 0;
        for arg in args {
            functions += usize::from(arg.name.is_none());
            let named = derives && arg.name.is_some() || operator && functions > 1;
            if !(named && self.only_names(arg.value)) {
                self.expr(arg.value);
            }
        }
    }

    /// Adds the fix that replaces a call of another language's function by an expression over its
    /// arguments.
    fn mend_call(&mut self, id: ExprId, callee: ExprId, args: &[CallArg]) {
        let of = &self.tree.exprs[callee];
        let (name, at) = match &of.kind {
            Expr::Name(name) => (name, of.span),
            Expr::Field(base, name) => {
                let Some((root, between)) = self.path(*base) else { return };
                let Expr::Name(module) = &self.tree.exprs[root].kind else { return };
                // If the library has the function, the help names it instead.
                let of_module = suggest::module_of(module).is_some() && self.in_library(&name.name).is_some();
                if !suggest::is_module(module) || of_module || self.by_path(&between, &name.name).is_some() {
                    return;
                }
                (&name.name, self.tree.exprs[root].span)
            }
            _ => return,
        };
        let Some(habit) = habits::find(habits::HABITS, name) else { return };
        let given = |arg: &CallArg| {
            let node = &self.tree.exprs[arg.value];
            Given { span: node.span, plain: habits::is_plain(self.tree, arg.value) }
        };
        let given: Vec<Given> = args.iter().map(given).collect();
        let fixes = habit.fixes(self.tree.exprs[id].span, &given);
        self.mend(at, fixes);
    }

    /// Returns whether the expression is a name, or names in parentheses.
    fn only_names(&self, id: ExprId) -> bool {
        match &self.tree.exprs[id].kind {
            Expr::Name(_) => true,
            Expr::Paren(e) => self.only_names(*e),
            Expr::Tuple(items) => items.iter().all(|e| self.only_names(*e)),
            _ => false,
        }
    }

    /// Resolves `e.name`. It is `module.name` if a module of that name is imported, and no local or
    /// item of this module shadows it.
    fn field(&mut self, id: ExprId, base: ExprId, name: &Ident) {
        let base_node = &self.tree.exprs[base];
        let Expr::Name(module) = &base_node.kind else {
            if !self.foreign_path(base, name) {
                self.expr(base);
            }
            return;
        };
        let own = self.names.value(self.module, module);
        let hidden = self.scopes.get(module).is_some() || own.is_some_and(|v| target(&v).module == *self.module);
        if hidden {
            return self.expr(base);
        }
        let qualifier = Ident { name: module.clone(), span: base_node.span };
        if let Some(target) = self.names.import(self.module, module) {
            let res = self.module_value(&qualifier, &target, name);
            self.out.exprs.insert(id, res);
        } else if self.meaning(module).is_none()
            && let Some(help) = self.file_name(module, name).or_else(|| self.missing_module(module, name))
        {
            self.out.exprs.insert(base, Res::Error);
            self.unknown(Code::E0100, &qualifier, format!("`{module}` is not defined"), |_| Some(help));
            let whole = Span::new(qualifier.span.start, name.span.end);
            if self.file_name(module, name).is_some() {
                self.mend(qualifier.span, vec![Fix::wrap(whole, "\"", "\"")]);
            } else if self.meaning(&name.name).is_some() {
                let prefix = Span::new(qualifier.span.start, name.span.start);
                self.mend(qualifier.span, vec![Fix::replace(prefix, "")]);
            }
        } else {
            self.expr(base);
        }
    }

    fn module_value(&mut self, qualifier: &Ident, module: &Name, name: &Ident) -> Res {
        if !self.names.has_module(module) || name.name.is_empty() {
            return Res::Error;
        }
        match self.names.value(module, &name.name) {
            Some(value) if target(&value).module == *module => self.top_level(value),
            _ => {
                let key = Ident { name: format!("{}.{}", qualifier.name, name.name).into(), span: name.span };
                let message = format!("module `{}` has no `{}`", qualifier.name, name.name);
                self.unknown(Code::E0107, &key, message, |this| this.lacking(qualifier, module, &name.name));
                if let Some(known) = self.called(module, &name.name) {
                    self.mend(name.span, vec![Fix::replace(name.span, known)]);
                }
                Res::Error
            }
        }
    }

    /// Resolves a value name, and reports an unknown one.
    pub(super) fn value(&mut self, name: &Name, span: Span) -> Res {
        if name.is_empty() {
            return Res::Error;
        }
        if let Some(local) = self.scopes.get(name) {
            self.mentions.note(local);
            return Res::Local(local);
        }
        if let Some(value) = self.names.value(self.module, name) {
            // An unreadable parameter may shadow it.
            if matches!(value, ValueRef::Let(_)) && self.tree.skipped_names.contains(name) {
                return Res::Error;
            }
            return self.top_level(value);
        }
        if let Some(own) = language(name) {
            return own;
        }
        let ident = Ident { name: name.clone(), span };
        self.unknown(Code::E0100, &ident, format!("`{name}` is not defined"), |this| this.value_help(name));
        Res::Error
    }

    /// Returns the meaning of a name apart from the locals, without a report.
    pub(super) fn meaning(&self, name: &str) -> Option<Res> {
        match self.names.value(self.module, name) {
            Some(ValueRef::Def(def)) => Some(Res::Def(def)),
            Some(ValueRef::Let(item)) => Some(Res::Let(item)),
            Some(ValueRef::Ctor(ty, position)) => Some(Res::Ctor(ty, position)),
            None => language(name),
        }
    }

    fn top_level(&mut self, value: ValueRef) -> Res {
        self.out.uses.insert(target(&value).clone());
        match value {
            ValueRef::Def(def) => Res::Def(def),
            ValueRef::Let(item) => Res::Let(item),
            ValueRef::Ctor(ty, position) => Res::Ctor(ty, position),
        }
    }

    /// Resolves a pattern, whose variables are of this kind.
    pub(super) fn pat(&mut self, id: PatId, kind: LocalKind) {
        let tree: &'a Tree = self.tree;
        let node = &tree.pats[id];
        match &node.kind {
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            Pat::Name(name) => {
                let res = match self.names.value(self.module, name) {
                    Some(value @ ValueRef::Ctor(..)) => self.ctor(value),
                    _ => {
                        if kind == LocalKind::Pattern {
                            self.warn_capitalised(name, node.span);
                        }
                        PatRes::Bind(self.declare(&Ident { name: name.clone(), span: node.span }, kind))
                    }
                };
                self.out.pats.insert(id, res);
            }
            Pat::Ctor { module, name, args } => {
                let res = self.named_ctor(module.as_ref(), name);
                self.out.pats.insert(id, res);
                args.iter().for_each(|p| self.pat(*p, kind));
            }
            Pat::Tuple(items) => items.iter().for_each(|p| self.pat(*p, kind)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.pat(*pat, kind),
                        None => {
                            self.declare(name, kind);
                        }
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                for size in sizes {
                    self.declare(size, LocalKind::Extent);
                }
                self.pat(*pat, kind);
            }
        }
    }

    /// Reports the variables of one arm that share a name. The parser checks other patterns, where
    /// every name is a variable.
    fn bound_twice(&mut self, first: usize) {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        let mut twice = Vec::new();
        for local in self.out.locals.iter().skip(first).filter(|l| !matches!(l.name.as_str(), "" | "_")) {
            match seen.get(&local.name) {
                Some(before) => {
                    let message = format!("`{}` is bound twice", local.name);
                    twice.push(Diagnostic::new(Code::E0012, local.span, message).related(*before, "first here"));
                }
                None => {
                    seen.insert(&local.name, local.span);
                }
            }
        }
        self.out.diagnostics.extend(twice);
    }

    /// Records the names of a pattern as possibly declared, because their scope is unknown.
    fn slipped_names(&mut self, pat: PatId) {
        match &self.tree.pats[pat].kind {
            Pat::Name(name) => self.slipped.push(name.clone()),
            Pat::Ctor { args: items, .. } | Pat::Tuple(items) => items.iter().for_each(|p| self.slipped_names(*p)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.slipped_names(*pat),
                        None => self.slipped.push(name.name.clone()),
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                self.slipped.extend(sizes.iter().map(|s| s.name.clone()));
                self.slipped_names(*pat);
            }
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
        }
    }

    /// For `let f(x) = e`, the missing constructor is reported. This function suppresses reports of
    /// its names as undefined.
    fn function_slip(&mut self, pat: PatId) {
        let Pat::Ctor { module: None, name, args } = &self.tree.pats[pat].kind else { return };
        let known = matches!(self.names.value(self.module, &name.name), Some(ValueRef::Ctor(..)));
        if known || !name.name.starts_with(char::is_lowercase) {
            return;
        }
        let params = args.iter().filter_map(|arg| match &self.tree.pats[*arg].kind {
            Pat::Name(param) => Some(param.clone()),
            _ => None,
        });
        let names: Vec<Name> = params.chain([name.name.clone()]).collect();
        self.slipped.extend(names);
    }

    fn ctor(&mut self, value: ValueRef) -> PatRes {
        match self.top_level(value) {
            Res::Ctor(ty, position) => PatRes::Ctor(ty, position),
            _ => PatRes::Error,
        }
    }

    fn named_ctor(&mut self, qualifier: Option<&Ident>, name: &Ident) -> PatRes {
        if name.name.is_empty() {
            return PatRes::Error;
        }
        let module = match qualifier {
            None => self.module.clone(),
            Some(alias) => match self.names.import(self.module, &alias.name) {
                Some(module) if self.names.has_module(&module) => module,
                Some(_) => return PatRes::Error,
                None => {
                    self.no_module(alias, &name.name);
                    return PatRes::Error;
                }
            },
        };
        match self.names.value(&module, &name.name) {
            Some(value @ ValueRef::Ctor(..)) if qualifier.is_none() || target(&value).module == module => {
                self.ctor(value)
            }
            found => {
                let of = qualifier.map_or_else(String::new, |q| format!(" in module `{}`", q.name));
                let message = format!("there is no constructor `{}`{of}", name.name);
                self.unknown(Code::E0105, name, message, |this| {
                    let is_ctor = |n: &str| matches!(this.names.value(&module, n), Some(ValueRef::Ctor(..)));
                    let near = this.names.near_value(&module, &name.name, &is_ctor).map(suggest::asks);
                    near.or_else(|| found.map(|_| format!("`{}` is a value, not a constructor", name.name))).or_else(
                        || {
                            name.name
                                .starts_with(char::is_lowercase)
                                .then(|| format!(r"a function is bound with `let {} = \x: …`", name.name))
                        },
                    )
                });
                PatRes::Error
            }
        }
    }

    fn warn_capitalised(&mut self, name: &Name, span: Span) {
        if !name.chars().next().is_some_and(char::is_uppercase) {
            return;
        }
        let message = format!("there is no constructor `{name}`, so this pattern matches everything");
        let is_ctor = |n: &str| matches!(self.names.value(self.module, n), Some(ValueRef::Ctor(..)));
        let near = self.names.near_value(self.module, name, &is_ctor).map(suggest::asks);
        let help = near.unwrap_or_else(|| "begin a variable in a `match` with a lower-case letter".to_owned());
        self.out.diagnostics.push(Diagnostic::new(Code::W0110, span, message).help(help));
    }
}

/// Returns the item to which a top-level value belongs; for a constructor, its type.
pub(super) fn target(value: &ValueRef) -> &lang_base::GlobalName {
    match value {
        ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _) => name,
    }
}

/// Returns the meaning of a name in the language itself.
fn language(name: &str) -> Option<Res> {
    ScalarFn::by_name(name)
        .map(Res::Scalar)
        .or_else(|| Builtin::by_name(name).map(Res::Builtin))
        .or_else(|| Form::by_name(name).map(Res::Form))
        .or_else(|| Derivative::by_name(name).map(Res::Derive))
        .or_else(|| Const::by_name(name).map(Res::Const))
        .or_else(|| type_items::scalar(name).filter(|s| *s != Scalar::Bool).map(Res::Convert))
}

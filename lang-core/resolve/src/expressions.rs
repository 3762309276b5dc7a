//! **Resolution of expressions and patterns**, including the scope of each binding.
//!
//! Each name gets its meaning in the output of the pass, a [`Res`] or [`PatRes`]; an unknown name
//! gets a diagnostic. The pass in `pass` calls this module for each expression of an item.
//!
//! A `let` binds after its value. The later ranges, the filter and the body of a binder see its
//! index variable. The body, the condition and the `yield` of a loop see its carry; in a `yield`
//! the carry is the state before the step.

use std::collections::HashMap;

use super::builtin::Builtin;
use super::foreign_calls::{self, SourceArgument};
use super::forms::{Const, DerivativeOp, SpecialForm};
use super::pass::{AnnotationSite, Resolver, TypeContext};
use super::resolved::{LocalKind, PatRes, Res};
use super::scalar_fn::ScalarFn;
use super::{ValueRef, suggest, type_items};
use lang_base::{Code, Diagnostic, Fix, Hint, Name, Span};
use lang_syntax::ast::{self, CallArg, Expr, ExprId, Ident, IndexRange, IndexVar, Pat, PatId, Subscript, Tree};
use lang_syntax::ops::{BinderKind, Scalar};

impl<'a> Resolver<'a> {
    /// Resolves an expression and all its parts.
    pub(super) fn resolve_expr(&mut self, id: ExprId) {
        let tree: &'a Tree = self.tree;
        let node = &tree.exprs[id];
        match &node.kind {
            Expr::Error | Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Str(_) => {}
            Expr::Name(name) => {
                let res = if self.type_context == TypeContext::Signature && !name.is_empty() {
                    Res::Local(self.signature_size(name, node.span))
                } else {
                    self.resolve_value(name, node.span)
                };
                self.out.exprs.insert(id, res);
            }
            Expr::Unary(_, e) | Expr::Paren(e) | Expr::Proj(e, ..) | Expr::Card(e) => self.resolve_expr(*e),
            Expr::Chain { first, rest } => {
                self.resolve_expr(*first);
                rest.iter().for_each(|(_, _, e)| self.resolve_expr(*e));
            }
            Expr::Power(a, b) => {
                self.resolve_expr(*a);
                self.resolve_expr(*b);
            }
            Expr::Guard { cond, body } => {
                self.resolve_expr(*cond);
                self.resolve_expr(*body);
            }
            Expr::Array { items, .. } | Expr::Tuple(items) => items.iter().for_each(|e| self.resolve_expr(*e)),
            Expr::Record(fields) => fields.iter().for_each(|(_, e)| self.resolve_expr(*e)),
            Expr::Field(base, name) => self.resolve_field(id, *base, name),
            Expr::Index(base, subscripts) => {
                self.resolve_expr(*base);
                self.resolve_subscripts(subscripts);
            }
            Expr::Call(callee, args) => {
                self.resolve_call(*callee, args);
                self.attach_call_fixes(id, *callee, args);
            }
            Expr::Lambda(params, body) => {
                let mark = self.scopes.enter();
                for param in params {
                    if let Some(ty) = param.ty {
                        self.resolve_annotation(ty, AnnotationSite::Lambda);
                    }
                    self.resolve_pattern(param.pat, LocalKind::Lambda);
                }
                self.resolve_expr(*body);
                self.scopes.leave(mark);
            }
            Expr::Let(binds, body) => {
                let mark = self.scopes.enter();
                // If `in` is missing, the body is an error node. The parser may then have
                // taken the result of the chain into the last value, so that this value
                // mentions the bound names.
                if matches!(tree.exprs[*body].kind, Expr::Error) {
                    binds.iter().for_each(|bind| self.suppress_pattern_names(bind.pat));
                }
                for bind in binds {
                    self.suppress_function_let(bind.pat);
                    let bound = self.pattern_variable(bind.pat);
                    let outer = std::mem::replace(&mut self.current_let_name, bound);
                    self.resolve_expr(bind.value);
                    self.current_let_name = outer;
                    if let Some(ty) = bind.ty {
                        self.resolve_annotation(ty, AnnotationSite::Let);
                    }
                    self.resolve_pattern(bind.pat, LocalKind::Let);
                }
                self.resolve_expr(*body);
                self.scopes.leave(mark);
            }
            Expr::If(arms, otherwise) => {
                for (cond, value) in arms {
                    self.resolve_expr(*cond);
                    self.resolve_expr(*value);
                }
                self.resolve_expr(*otherwise);
            }
            Expr::Match(value, arms) => {
                self.resolve_expr(*value);
                for arm in arms {
                    let mark = self.scopes.enter();
                    let before = self.out.locals.len();
                    self.resolve_pattern(arm.pat, LocalKind::Pattern);
                    self.report_duplicate_bindings(before);
                    self.resolve_expr(arm.body);
                    self.scopes.leave(mark);
                }
            }
            Expr::Binder { kind, vars, filter, body } => {
                let mark = self.scopes.enter();
                self.resolve_index_vars(vars);
                filter.iter().for_each(|e| self.resolve_expr(*e));
                match kind {
                    BinderKind::Sum => self.resolve_sum_body(vars, *body),
                    _ => self.resolve_expr(*body),
                }
                self.scopes.leave(mark);
            }
            Expr::Fold { acc, ty, init, vars, body, yields, .. } => {
                self.resolve_expr(*init);
                ty.iter().for_each(|t| self.resolve_type(*t));
                let mark = self.scopes.enter();
                self.resolve_index_vars(vars);
                self.resolve_pattern(*acc, LocalKind::Carry);
                self.resolve_expr(*body);
                yields.iter().for_each(|e| self.resolve_expr(*e));
                self.scopes.leave(mark);
            }
            Expr::Loop { acc, ty, init, cond, body, .. } => {
                self.resolve_expr(*init);
                ty.iter().for_each(|t| self.resolve_type(*t));
                let mark = self.scopes.enter();
                self.resolve_pattern(*acc, LocalKind::Carry);
                self.resolve_expr(*cond);
                self.resolve_expr(*body);
                self.scopes.leave(mark);
            }
            Expr::Checkpoint { spacing, body } => {
                spacing.iter().for_each(|e| self.resolve_expr(*e));
                self.resolve_expr(*body);
            }
            Expr::With(base, updates) => {
                self.resolve_expr(*base);
                for update in updates {
                    if let ast::UpdateTarget::Index(subscripts, _) = &update.target {
                        self.resolve_subscripts(subscripts);
                    }
                    self.resolve_expr(update.value);
                }
            }
        }
    }

    fn resolve_subscripts(&mut self, subscripts: &'a [Subscript]) {
        for subscript in subscripts {
            match subscript {
                Subscript::Index(e) => self.resolve_expr(*e),
                Subscript::Range(from, to) => {
                    self.resolve_expr(*from);
                    self.resolve_expr(*to);
                }
                Subscript::FullAxis(_) => {}
            }
        }
    }

    /// Resolves the ranges of index variables, and declares each after its own range.
    fn resolve_index_vars(&mut self, vars: &'a [IndexVar]) {
        for var in vars {
            match &var.range {
                IndexRange::Bare => {}
                IndexRange::Below(e) => self.resolve_expr(*e),
                IndexRange::Range { from, to, by } => {
                    self.resolve_expr(*from);
                    self.resolve_expr(*to);
                    by.iter().for_each(|e| self.resolve_expr(*e));
                }
            }
            self.declare(&var.name, LocalKind::Index);
        }
    }

    /// Resolves the callee and the arguments of a call.
    fn resolve_call(&mut self, callee: ExprId, args: &'a [CallArg]) {
        let tree: &'a Tree = self.tree;
        let callee_node = &tree.exprs[callee];
        match &callee_node.kind {
            // A function in a size (`min(n, m)`) is not itself a size.
            Expr::Name(name) if self.type_context == TypeContext::Signature => {
                let res = self.resolve_value(name, callee_node.span);
                self.out.exprs.insert(callee, res);
            }
            _ => self.resolve_expr(callee),
        }
        let res = self.out.exprs.get(&callee);
        // An unknown callee may be a misspelt derivative operator.
        let may_derive = matches!(res, Some(Res::Derive(_) | Res::Error));
        // If the callee takes no named arguments, a label such as `i:` may be an index variable
        // whose binder keyword (`sum`, `for`) is missing. Its uses are not reported.
        let takes_names = matches!(res, Some(Res::Form(SpecialForm::Plot | SpecialForm::Load)));
        if !may_derive && !takes_names && args.iter().any(|a| a.name.is_some()) {
            for arg in args {
                match (&arg.name, &tree.exprs[arg.value].kind) {
                    (Some(name), _) => self.suppressed_names.push(name.name.clone()),
                    (None, Expr::Name(name)) => self.suppressed_names.push(name.clone()),
                    _ => {}
                }
            }
        }
        // The checker rejects the second argument of `grad(f, x)`. Resolution therefore skips it,
        // because it may name a parameter of `f` or a value here.
        let is_derivative = matches!(res, Some(Res::Derive(_)));
        let mut positional = 0;
        for arg in args {
            positional += usize::from(arg.name.is_none());
            let may_name_parameters = may_derive && arg.name.is_some() || is_derivative && positional > 1;
            if !(may_name_parameters && self.contains_only_names(arg.value)) {
                self.resolve_expr(arg.value);
            }
        }
    }

    /// Adds the fix that replaces a call of another language's function, such as `np.dot(x, y)`, by
    /// an expression over its arguments.
    fn attach_call_fixes(&mut self, id: ExprId, callee: ExprId, args: &[CallArg]) {
        let callee_node = &self.tree.exprs[callee];
        let (name, at) = match &callee_node.kind {
            Expr::Name(name) => (name, callee_node.span),
            Expr::Field(base, name) => {
                let Some((root, between)) = self.module_path(*base) else { return };
                let Expr::Name(module) = &self.tree.exprs[root].kind else { return };
                // If the library has the function, the help names it instead.
                let library_names_it =
                    suggest::library_counterpart(module).is_some() && self.library_value_help(&name.name).is_some();
                if !suggest::is_foreign_module(module)
                    || library_names_it
                    || self.library_value_by_path(&between, &name.name).is_some()
                {
                    return;
                }
                (&name.name, self.tree.exprs[root].span)
            }
            _ => return,
        };
        let Some(foreign_call) = foreign_calls::find_foreign_call(foreign_calls::FOREIGN_FUNCTIONS, name) else {
            return;
        };
        let source_argument = |arg: &CallArg| {
            let node = &self.tree.exprs[arg.value];
            SourceArgument { span: node.span, is_plain: foreign_calls::is_plain(self.tree, arg.value) }
        };
        let arguments: Vec<SourceArgument> = args.iter().map(source_argument).collect();
        let fixes = foreign_call.fixes(self.tree.exprs[id].span, &arguments);
        self.attach_fixes(at, fixes);
    }

    /// Returns whether the expression is a name, or names in parentheses.
    fn contains_only_names(&self, id: ExprId) -> bool {
        match &self.tree.exprs[id].kind {
            Expr::Name(_) => true,
            Expr::Paren(e) => self.contains_only_names(*e),
            Expr::Tuple(items) => items.iter().all(|e| self.contains_only_names(*e)),
            _ => false,
        }
    }

    /// Resolves `base.name`, a field or a member of a module. It is a member if `base` is the name
    /// of an imported module, and no local or item of this module shadows that name.
    fn resolve_field(&mut self, id: ExprId, base: ExprId, name: &Ident) {
        let base_node = &self.tree.exprs[base];
        let Expr::Name(module) = &base_node.kind else {
            if !self.report_foreign_path(base, name) {
                self.resolve_expr(base);
            }
            return;
        };
        let own = self.env.top_level_value(self.module, module);
        let is_shadowed =
            self.scopes.lookup(module).is_some() || own.is_some_and(|v| owning_item(&v).module == *self.module);
        if is_shadowed {
            return self.resolve_expr(base);
        }
        let qualifier = Ident { name: module.clone(), span: base_node.span };
        if let Some(target) = self.env.imported_module(self.module, module) {
            let res = self.resolve_module_value(&qualifier, &target, name);
            self.out.exprs.insert(id, res);
        } else if self.global_meaning(module).is_none()
            && let Some(help) = self.quoted_file_help(module, name).or_else(|| self.missing_module_help(module, name))
        {
            self.out.exprs.insert(base, Res::Error);
            self.report_unknown(Code::E0100, &qualifier, format!("`{module}` is not defined"), |_| Some(help));
            let whole = Span::new(qualifier.span.start, name.span.end);
            if self.quoted_file_help(module, name).is_some() {
                self.attach_fixes(qualifier.span, vec![Fix::wrap(whole, "\"", "\"")]);
            } else if self.global_meaning(&name.name).is_some() {
                let prefix = Span::new(qualifier.span.start, name.span.start);
                self.attach_fixes(qualifier.span, vec![Fix::replace(prefix, "")]);
            }
        } else {
            self.resolve_expr(base);
        }
    }

    /// Resolves `qualifier.name`, a member of this module.
    fn resolve_module_value(&mut self, qualifier: &Ident, module: &Name, name: &Ident) -> Res {
        if !self.env.has_module(module) || name.name.is_empty() {
            return Res::Error;
        }
        match self.env.top_level_value(module, &name.name) {
            Some(value) if owning_item(&value).module == *module => self.reference_item(value),
            _ => {
                let key = Ident { name: format!("{}.{}", qualifier.name, name.name).into(), span: name.span };
                let message = format!("module `{}` has no `{}`", qualifier.name, name.name);
                self.report_unknown(Code::E0107, &key, message, |this| {
                    this.missing_member_help(qualifier, module, &name.name)
                });
                if let Some(known) = self.name_by_foreign_name(module, &name.name) {
                    self.attach_fixes(name.span, vec![Fix::replace(name.span, known)]);
                }
                Res::Error
            }
        }
    }

    /// Resolves a value name, and reports an unknown one.
    pub(super) fn resolve_value(&mut self, name: &Name, span: Span) -> Res {
        if name.is_empty() {
            return Res::Error;
        }
        if let Some(local) = self.scopes.lookup(name) {
            self.mention_clock.record_mention(local);
            return Res::Local(local);
        }
        if let Some(value) = self.env.top_level_value(self.module, name) {
            // A parameter that the parser skipped may shadow it.
            if matches!(value, ValueRef::Let(_)) && self.tree.skipped_names.contains(name) {
                return Res::Error;
            }
            return self.reference_item(value);
        }
        if let Some(own) = language_meaning(name) {
            return own;
        }
        let ident = Ident { name: name.clone(), span };
        self.report_unknown(Code::E0100, &ident, format!("`{name}` is not defined"), |this| {
            this.undefined_value_help(name)
        });
        Res::Error
    }

    /// Returns the meaning of a name apart from the locals, without a report.
    pub(super) fn global_meaning(&self, name: &str) -> Option<Res> {
        match self.env.top_level_value(self.module, name) {
            Some(ValueRef::Def(def)) => Some(Res::Def(def)),
            Some(ValueRef::Let(item)) => Some(Res::Let(item)),
            Some(ValueRef::Ctor(ty, position)) => Some(Res::Ctor(ty, position)),
            None => language_meaning(name),
        }
    }

    /// Records that the item refers to this one, and returns its meaning.
    fn reference_item(&mut self, value: ValueRef) -> Res {
        self.out.referenced_items.insert(owning_item(&value).clone());
        match value {
            ValueRef::Def(def) => Res::Def(def),
            ValueRef::Let(item) => Res::Let(item),
            ValueRef::Ctor(ty, position) => Res::Ctor(ty, position),
        }
    }

    /// Resolves a pattern, whose variables are of this kind.
    pub(super) fn resolve_pattern(&mut self, id: PatId, kind: LocalKind) {
        let tree: &'a Tree = self.tree;
        let node = &tree.pats[id];
        match &node.kind {
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            Pat::Name(name) => {
                let res = match self.env.top_level_value(self.module, name) {
                    Some(value @ ValueRef::Ctor(..)) => self.resolve_ctor(value),
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
                let res = self.resolve_named_ctor(module.as_ref(), name);
                self.out.pats.insert(id, res);
                args.iter().for_each(|p| self.resolve_pattern(*p, kind));
            }
            Pat::Tuple(items) => items.iter().for_each(|p| self.resolve_pattern(*p, kind)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.resolve_pattern(*pat, kind),
                        None => {
                            self.declare(name, kind);
                        }
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                for size in sizes {
                    self.declare(size, LocalKind::NamedExtent);
                }
                self.resolve_pattern(*pat, kind);
            }
        }
    }

    /// Reports the variables of one arm that share a name: those from local number `first` on. The
    /// parser checks other patterns, where every name is a variable.
    fn report_duplicate_bindings(&mut self, first: usize) {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        let mut duplicates = Vec::new();
        for local in self.out.locals.iter().skip(first).filter(|l| !matches!(l.name.as_str(), "" | "_")) {
            match seen.get(&local.name) {
                Some(before) => {
                    let message = format!("duplicate variable `{}`", local.name);
                    duplicates
                        .push(Diagnostic::new(Code::E0012, local.span, message).related(*before, "first bound here"));
                }
                None => {
                    seen.insert(&local.name, local.span);
                }
            }
        }
        self.out.diagnostics.extend(duplicates);
    }

    /// Records the names of a pattern as possibly declared, because their scope is unknown.
    fn suppress_pattern_names(&mut self, pat: PatId) {
        match &self.tree.pats[pat].kind {
            Pat::Name(name) => self.suppressed_names.push(name.clone()),
            Pat::Ctor { args: items, .. } | Pat::Tuple(items) => {
                items.iter().for_each(|p| self.suppress_pattern_names(*p))
            }
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.suppress_pattern_names(*pat),
                        None => self.suppressed_names.push(name.name.clone()),
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                self.suppressed_names.extend(sizes.iter().map(|s| s.name.clone()));
                self.suppress_pattern_names(*pat);
            }
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
        }
    }

    /// Suppresses the reports of undefined names for `f` and `x` of `let f(x) = e`, because the
    /// missing constructor `f` is reported already.
    fn suppress_function_let(&mut self, pat: PatId) {
        let Pat::Ctor { module: None, name, args } = &self.tree.pats[pat].kind else { return };
        let known = matches!(self.env.top_level_value(self.module, &name.name), Some(ValueRef::Ctor(..)));
        if known || !name.name.starts_with(char::is_lowercase) {
            return;
        }
        let params = args.iter().filter_map(|arg| match &self.tree.pats[*arg].kind {
            Pat::Name(param) => Some(param.clone()),
            _ => None,
        });
        let names: Vec<Name> = params.chain([name.name.clone()]).collect();
        self.suppressed_names.extend(names);
    }

    fn resolve_ctor(&mut self, value: ValueRef) -> PatRes {
        match self.reference_item(value) {
            Res::Ctor(ty, position) => PatRes::Ctor(ty, position),
            _ => PatRes::Error,
        }
    }

    /// Resolves the constructor of a pattern, and reports an unknown one.
    fn resolve_named_ctor(&mut self, qualifier: Option<&Ident>, name: &Ident) -> PatRes {
        if name.name.is_empty() {
            return PatRes::Error;
        }
        let module = match qualifier {
            None => self.module.clone(),
            Some(alias) => match self.env.imported_module(self.module, &alias.name) {
                Some(module) if self.env.has_module(&module) => module,
                Some(_) => return PatRes::Error,
                None => {
                    self.report_unknown_module(alias, &name.name);
                    return PatRes::Error;
                }
            },
        };
        match self.env.top_level_value(&module, &name.name) {
            Some(value @ ValueRef::Ctor(..)) if qualifier.is_none() || owning_item(&value).module == module => {
                self.resolve_ctor(value)
            }
            found => {
                let of = qualifier.map_or_else(String::new, |q| format!(" in module `{}`", q.name));
                let message = format!("there is no constructor `{}`{of}", name.name);
                self.report_unknown(Code::E0105, name, message, |this| {
                    let is_ctor = |n: &str| matches!(this.env.top_level_value(&module, n), Some(ValueRef::Ctor(..)));
                    let near = this.env.closest_value(&module, &name.name, &is_ctor).map(Hint::did_you_mean);
                    near.or_else(|| found.map(|_| format!("`{}` is a value, not a constructor", name.name).into()))
                        .or_else(|| {
                            name.name
                                .starts_with(char::is_lowercase)
                                .then(|| format!(r"bind a function with `let {} = \x: …`", name.name).into())
                        })
                });
                PatRes::Error
            }
        }
    }

    /// Warns about a pattern variable that looks like a constructor.
    fn warn_capitalised(&mut self, name: &Name, span: Span) {
        if !name.chars().next().is_some_and(char::is_uppercase) {
            return;
        }
        let message = format!("there is no constructor `{name}`, so this pattern matches everything");
        let is_ctor = |n: &str| matches!(self.env.top_level_value(self.module, n), Some(ValueRef::Ctor(..)));
        let near = self.env.closest_value(self.module, name, &is_ctor).map(Hint::did_you_mean);
        let help = near.unwrap_or_else(|| "begin a variable in a `match` with a lower-case letter".into());
        self.out.diagnostics.push(Diagnostic::new(Code::W0110, span, message).help(help));
    }
}

/// Returns the item to which a top-level value belongs; for a constructor, its type.
pub(super) fn owning_item(value: &ValueRef) -> &lang_base::GlobalName {
    match value {
        ValueRef::Def(name) | ValueRef::Let(name) | ValueRef::Ctor(name, _) => name,
    }
}

/// Returns the meaning of a name in the language itself.
fn language_meaning(name: &str) -> Option<Res> {
    ScalarFn::by_name(name)
        .map(Res::Scalar)
        .or_else(|| Builtin::by_name(name).map(Res::Builtin))
        .or_else(|| SpecialForm::by_name(name).map(Res::Form))
        .or_else(|| DerivativeOp::by_name(name).map(Res::Derive))
        .or_else(|| Const::by_name(name).map(Res::Const))
        .or_else(|| type_items::scalar_by_name(name).filter(|s| *s != Scalar::Bool).map(Res::Convert))
}

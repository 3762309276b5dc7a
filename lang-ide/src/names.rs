//! **Uses of names.** Lists the names of an item: the span, meaning and role of each. Every feature
//! that works on names reads this one list.
//!
//! Invariants: the list is in the order of the text. A span has one meaning. The exception is a
//! field that binds a variable of its own name (`{x}` in a pattern): its span occurs twice, the
//! variable first. Every identifier of the item except `_` is in the list, even in a text with
//! errors.

use std::collections::HashSet;
use std::sync::Arc;

use lang_core::base::{GlobalName, ModuleName, Name, Span};
use lang_core::predicate::LocalId;
use lang_core::resolve::forms::{LoadOption, PlotOption, SpecialForm};
use lang_core::resolve::{LocalKind, NameEnv, PatRes, Res, Resolved, TypeRes, vocabulary};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{
    CallArg, Expr, ExprId, Ident, Item, Pat, PatId, SizeExpr, Tree, TypeArg, TypeBody, TypeExpr, UpdateTarget,
};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;

use crate::fields::RecordShapes;

/// The meaning of a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum NameTarget {
    /// A local binding: the [`ItemRef::global`] of its item and its index in [`Resolved::locals`].
    /// In a rule, the sizes of the signature are those of the definition.
    Local(GlobalName, LocalId),
    /// A definition, or a variable of a top-level `let`.
    Value(GlobalName),
    /// A `type` item.
    Type(GlobalName),
    /// A constructor: its type and position.
    Ctor(GlobalName, u32),
    /// A type parameter of a definition or type: its item and index.
    TypeParam(GlobalName, u32),
    /// A field, by its name, of the records with exactly these fields, in alphabetical order. The
    /// list is empty if the record is unknown.
    Field(Vec<Name>, Name),
    /// A module, where it is imported or named before a dot.
    Module(ModuleName),
    /// A word of the language: `sum`, `grad`, `f64`, `let`.
    Word(LanguageWord),
    /// An unresolved name, for which the resolver reports an error.
    Unknown,
}

/// The kind of a word of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LanguageWord {
    /// `let`, and binders such as `sum`.
    Keyword,
    /// `sin`, `len`, `assert`, a conversion.
    Function,
    /// `grad`, `jvp`.
    Derivative,
    /// `pi`.
    Constant,
    /// `f64`, and `real` after `where`.
    Type,
    /// `wrt` of `grad(f, wrt: x)`.
    Argument,
}

/// The role of a name at a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NameRole {
    /// The declaration of the name.
    Declaration,
    /// A use of the name.
    Use,
    /// A field that receives a new value: `r with x = 1`.
    Write,
    /// The field of a pattern `{x}`, whose name is also that of the variable.
    Shorthand,
    /// The path of an import, which also names the module here if there is no `as`.
    Import,
    /// The definition that a rule belongs to.
    Rule,
}

/// A name at a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameUse {
    /// The span in the module.
    pub span: Span,
    /// The name in the spelling that the lexer returns.
    pub name: Name,
    /// The meaning.
    pub meaning: NameTarget,
    /// The role.
    pub role: NameRole,
    /// The kind of binding, for a local.
    pub kind: Option<LocalKind>,
}

/// Returns every name of an item, with the records of its fields. Type-checks the item if it has
/// fields whose record only the types determine.
#[must_use]
pub fn uses(session: &Session, item: &ItemRef) -> Vec<NameUse> {
    collect_uses(session, item, true)
}

/// Returns every name of an item without type-checking it. The records of field accesses are
/// unknown.
#[must_use]
pub fn untyped_uses(session: &Session, item: &ItemRef) -> Vec<NameUse> {
    collect_uses(session, item, false)
}

/// Returns the name that touches an offset, its end included, and its item.
#[must_use]
pub fn name_at(session: &Session, module: &str, at: u32) -> Option<(ItemRef, NameUse)> {
    let item = session.item_at(module, at)?;
    let touches = |found: &NameUse| found.span.contains_inclusive(at) && !found.span.range().is_empty();
    // If two names touch the offset, the one that begins there.
    let last = |all: Vec<NameUse>| {
        let start = all.iter().filter(|u| touches(u)).map(|u| u.span.start).max()?;
        all.into_iter().find(|u| u.span.start == start && touches(u))
    };
    let found = last(untyped_uses(session, &item))?;
    let found = match found.meaning {
        NameTarget::Field(..) => last(uses(session, &item))?,
        _ => found,
    };
    Some((item, found))
}

fn collect_uses(session: &Session, item: &ItemRef, typed: bool) -> Vec<NameUse> {
    let (Some(parsed), Some(resolved)) = (session.tree(item), session.resolved(item)) else { return Vec::new() };
    let tree = &parsed.tree;
    let has_fields = typed && RecordShapes::needs_types(tree);
    let checked = if has_fields { session.checked_item(item) } else { None };
    let shapes = match &checked {
        Some(checked) => RecordShapes::from_body(session, tree, &checked.body),
        None => RecordShapes::default(),
    };
    let mut walk = NameCollector { session, item, tree, resolved: &resolved, shapes, found: Vec::new() };
    walk.add_item_names();
    walk.add_expression_names();
    walk.add_pattern_names();
    walk.add_type_names();
    walk.finish()
}

struct NameCollector<'a> {
    session: &'a Session,
    item: &'a ItemRef,
    tree: &'a Tree,
    resolved: &'a Resolved,
    shapes: RecordShapes,
    found: Vec<NameUse>,
}

impl NameCollector<'_> {
    fn finish(mut self) -> Vec<NameUse> {
        let shorthand = |u: &NameUse| u.role == NameRole::Shorthand;
        self.found.retain(|u| !u.name.is_empty() && u.name != "_" && !u.span.range().is_empty());
        self.found.sort_by_key(|u| (u.span, shorthand(u), u.meaning == NameTarget::Unknown, u.role));
        self.found.dedup_by(|b, a| a.span == b.span && shorthand(a) == shorthand(b));
        self.add_words_without_node();
        self.found.sort_by_key(|u| (u.span, shorthand(u)));
        for found in &mut self.found {
            found.span = found.span.shift(self.item.start);
        }
        self.found
    }

    /// Adds the words without a node in the tree: keywords, and in a text with errors the unparsed
    /// words.
    fn add_words_without_node(&mut self) {
        let known: Vec<Span> = self.found.iter().map(|u| u.span).collect();
        let covered = |span: Span| {
            let at = known.partition_point(|k| k.end <= span.start);
            known.get(at).is_some_and(|k| k.start < span.end)
        };
        for token in lex(&self.item.text).tokens.iter().filter(|t| !covered(t.span)) {
            let (name, what) = match &token.token {
                Token::Keyword(word) => (Name::from(word.text()), NameTarget::Word(LanguageWord::Keyword)),
                Token::Name(name) if name == "_" => continue,
                Token::Name(name) => (name.clone(), meaning_without_node(name)),
                _ => continue,
            };
            self.found.push(NameUse { span: token.span, name, meaning: what, role: NameRole::Use, kind: None });
        }
    }

    fn add(&mut self, name: &Name, span: Span, what: NameTarget, role: NameRole) {
        self.found.push(NameUse { span, name: name.clone(), meaning: what, role, kind: None });
    }

    fn add_identifier(&mut self, ident: &Ident, what: NameTarget, role: NameRole) {
        self.add(&ident.name, ident.span, what, role);
    }

    /// Qualifies a name with this module.
    fn qualify(&self, name: &Name) -> GlobalName {
        GlobalName { module: self.item.module.clone(), name: name.clone() }
    }

    fn add_local(&mut self, name: &Name, span: Span, id: LocalId) {
        let Some(decl) = self.resolved.locals.get(id.0 as usize) else { return };
        let role = match decl.span == span {
            true => NameRole::Declaration,
            false => NameRole::Use,
        };
        let kind = decl.kind;
        let of_rule = kind == LocalKind::ImplicitSize && matches!(self.tree.item, Item::DerivativeRule(_));
        let what = match self.rule_definition().filter(|_| of_rule) {
            Some((def, resolved)) => {
                let same = |d: &lang_core::resolve::LocalDecl| d.kind == kind && d.name == decl.name;
                let at = resolved.locals.iter().position(same).and_then(|at| u32::try_from(at).ok());
                at.map_or(NameTarget::Unknown, |at| NameTarget::Local(def, LocalId(at)))
            }
            None => NameTarget::Local(self.item.global.clone(), id),
        };
        self.found.push(NameUse { span, name: name.clone(), meaning: what, role, kind: Some(kind) });
    }

    /// Returns the definition that this rule belongs to, with its resolved names.
    fn rule_definition(&self) -> Option<(GlobalName, Arc<Resolved>)> {
        let Item::DerivativeRule(rule) = &self.tree.item else { return None };
        let def = self.session.item(&self.qualify(&rule.name.name)).filter(|i| i.kind == ItemKind::Def)?;
        let resolved = self.session.resolved(&def)?;
        Some((def.global, resolved))
    }

    fn add_declaration(&mut self, ident: &Ident) {
        match self.resolved.decls.get(&ident.span) {
            Some(id) => self.add_local(&ident.name, ident.span, *id),
            None => self.add_identifier(ident, NameTarget::Unknown, NameRole::Declaration),
        }
    }

    /// Returns the meaning of a type parameter in scope. A rule uses those of its definition.
    fn type_param_meaning(&self, number: u32) -> NameTarget {
        let owner = self.rule_definition().map_or_else(|| self.item.global.clone(), |(def, _)| def);
        NameTarget::TypeParam(owner, number)
    }

    /// Adds the module that a name before a dot refers to.
    fn add_qualifier(&mut self, ident: &Ident) {
        let what = match self.session.view().imported_module(&self.item.module, &ident.name) {
            Some(module) => NameTarget::Module(module),
            None => NameTarget::Unknown,
        };
        self.add_identifier(ident, what, NameRole::Use);
    }

    fn add_item_names(&mut self) {
        let tree = self.tree;
        match &tree.item {
            Item::Def(def) => {
                self.add_identifier(&def.name, NameTarget::Value(self.qualify(&def.name.name)), NameRole::Declaration);
                def.params.iter().for_each(|p| self.add_declaration(&p.name));
                for constraint in &def.constraints {
                    let params = self.resolved.type_params.iter();
                    let number = params.zip(0..).find(|(p, _)| p.0 == constraint.var.name).map(|(_, k)| k);
                    let what = number.map_or(NameTarget::Unknown, |k| self.type_param_meaning(k));
                    self.add_identifier(&constraint.var, what, NameRole::Use);
                    self.add_identifier(&constraint.class, NameTarget::Word(LanguageWord::Type), NameRole::Use);
                }
            }
            Item::Type(def) => {
                let own = self.qualify(&def.name.name);
                self.add_identifier(&def.name, NameTarget::Type(own.clone()), NameRole::Declaration);
                for (number, param) in (0..).zip(&def.params) {
                    match self.resolved.decls.get(&param.span) {
                        Some(id) => self.add_local(&param.name, param.span, *id),
                        None => self.add_identifier(param, self.type_param_meaning(number), NameRole::Declaration),
                    }
                }
                if let TypeBody::Sum(ctors) = &def.body {
                    for (k, ctor) in (0..).zip(ctors) {
                        self.add_identifier(&ctor.name, NameTarget::Ctor(own.clone(), k), NameRole::Declaration);
                    }
                }
            }
            Item::Import(import) => {
                let alias = import.alias.as_ref().map(|a| &a.name);
                let known = alias.cloned().unwrap_or_else(|| self.item.name.clone());
                let what = match self.session.view().imported_module(&self.item.module, &known) {
                    Some(module) => NameTarget::Module(module),
                    None => NameTarget::Unknown,
                };
                self.add_identifier(&import.path, what.clone(), NameRole::Import);
                if let Some(alias) = &import.alias {
                    self.add_identifier(alias, what, NameRole::Declaration);
                }
            }
            Item::DerivativeRule(rule) => {
                let def = self.qualify(&rule.name.name);
                let what = match self.session.item(&def) {
                    Some(item) if item.kind == ItemKind::Def => NameTarget::Value(def),
                    _ => NameTarget::Unknown,
                };
                self.add_identifier(&rule.name, what, NameRole::Rule);
                // The lexer returns the word that begins a rule as a name.
                let word = Ident {
                    name: if rule.is_adjoint { "adjoint" } else { "derivative" }.into(),
                    span: Span::new(tree.span.start, rule.name.span.start.saturating_sub(1)),
                };
                if self.item.text.get(word.span.range()) == Some(word.name.as_str()) {
                    self.add_identifier(&word, NameTarget::Word(LanguageWord::Keyword), NameRole::Use);
                }
                rule.params.iter().chain(&rule.tangents).for_each(|p| self.add_declaration(p));
            }
            Item::Let(top) => self.add_exported_names(top.pat),
            Item::Do(_) | Item::Error => {}
        }
    }

    /// Adds the names that the pattern of a top-level `let` binds, which are visible to all items.
    fn add_exported_names(&mut self, pat: PatId) {
        let tree = self.tree;
        let node = &tree.pats[pat];
        match &node.kind {
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            Pat::Name(name) => {
                if !matches!(self.resolved.pats.get(&pat), Some(PatRes::Ctor(..))) {
                    self.add(name, node.span, NameTarget::Value(self.qualify(name)), NameRole::Declaration);
                }
            }
            Pat::Ctor { args: items, .. } | Pat::Tuple(items) => items.iter().for_each(|p| self.add_exported_names(*p)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.add_exported_names(*pat),
                        None => self.add_identifier(
                            name,
                            NameTarget::Value(self.qualify(&name.name)),
                            NameRole::Declaration,
                        ),
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                for size in sizes {
                    self.add_identifier(size, NameTarget::Value(self.qualify(&size.name)), NameRole::Declaration);
                }
                self.add_exported_names(*pat);
            }
        }
    }

    fn add_resolved(&mut self, name: &Name, span: Span, res: &Res) {
        let what = match res {
            Res::Local(id) => return self.add_local(name, span, *id),
            Res::Def(def) | Res::Let(def) => {
                NameTarget::Value(GlobalName { module: def.module.clone(), name: name.clone() })
            }
            Res::Ctor(ty, k) => NameTarget::Ctor(ty.clone(), *k),
            Res::Scalar(_) | Res::Builtin(_) | Res::Form(_) | Res::Convert(_) => {
                NameTarget::Word(LanguageWord::Function)
            }
            Res::Derive(_) => NameTarget::Word(LanguageWord::Derivative),
            Res::Const(_) => NameTarget::Word(LanguageWord::Constant),
            Res::Error => NameTarget::Unknown,
        };
        self.add(name, span, what, NameRole::Use);
    }

    fn add_expression_names(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        for (id, node) in tree.exprs.iter() {
            match &node.kind {
                Expr::Name(name) => {
                    if let Some(res) = resolved.exprs.get(&id) {
                        self.add_resolved(name, node.span, res);
                    }
                }
                Expr::Field(base, name) => match resolved.exprs.get(&id) {
                    Some(res) => {
                        self.add_resolved(&name.name, name.span, res);
                        let base = &tree.exprs[*base];
                        if let Expr::Name(module) = &base.kind {
                            self.add_qualifier(&Ident { name: module.clone(), span: base.span });
                        }
                    }
                    None => self.add_identifier(
                        name,
                        NameTarget::Field(self.shapes.fields_at(node.span), name.name.clone()),
                        NameRole::Use,
                    ),
                },
                Expr::Record(fields) => {
                    for (name, _) in fields {
                        let mut all: Vec<Name> = fields.iter().map(|f| f.0.name.clone()).collect();
                        all.sort_unstable();
                        self.add_identifier(name, NameTarget::Field(all, name.name.clone()), NameRole::Use);
                    }
                }
                Expr::With(_, updates) => {
                    for update in updates {
                        if let UpdateTarget::Field(name) = &update.target {
                            self.add_identifier(
                                name,
                                NameTarget::Field(self.shapes.fields_at(node.span), name.name.clone()),
                                NameRole::Write,
                            );
                        }
                    }
                }
                Expr::Call(callee, args) => self.add_argument_names(*callee, args),
                Expr::Binder { vars, .. } | Expr::Fold { vars, .. } => {
                    vars.iter().for_each(|v| self.add_declaration(&v.name));
                }
                _ => {}
            }
        }
    }

    fn add_argument_names(&mut self, callee: ExprId, args: &[CallArg]) {
        for arg in args {
            let Some(name) = &arg.name else { continue };
            let derives = matches!(self.resolved.exprs.get(&callee), Some(Res::Derive(_)));
            let loads = self.resolved.exprs.get(&callee) == Some(&Res::Form(SpecialForm::Load));
            let option = match loads {
                true => LoadOption::by_name(&name.name).is_some(),
                false => PlotOption::by_name(&name.name).is_some(),
            };
            let known = derives && name.name == "wrt" || option;
            self.add_identifier(
                name,
                if known { NameTarget::Word(LanguageWord::Argument) } else { NameTarget::Unknown },
                NameRole::Use,
            );
            if derives && name.name == "wrt" {
                let of = args.iter().find(|a| a.name.is_none()).map(|a| a.value);
                self.add_parameter_names(arg.value, of);
            }
        }
    }

    /// Adds the names of parameters of the function `of`.
    fn add_parameter_names(&mut self, names: ExprId, of: Option<ExprId>) {
        let tree = self.tree;
        let node = &tree.exprs[names];
        match &node.kind {
            Expr::Name(name) if !self.resolved.exprs.contains_key(&names) => {
                match of.and_then(|of| self.parameter_meaning(of, name)) {
                    Some((what, kind)) => {
                        self.found.push(NameUse {
                            span: node.span,
                            name: name.clone(),
                            meaning: what,
                            role: NameRole::Use,
                            kind: Some(kind),
                        });
                    }
                    None => self.add(name, node.span, NameTarget::Unknown, NameRole::Use),
                }
            }
            Expr::Paren(inner) => self.add_parameter_names(*inner, of),
            Expr::Tuple(items) => items.iter().for_each(|e| self.add_parameter_names(*e, of)),
            _ => {}
        }
    }

    fn parameter_meaning(&self, of: ExprId, name: &Name) -> Option<(NameTarget, LocalKind)> {
        let tree = self.tree;
        match (&tree.exprs[of].kind, self.resolved.exprs.get(&of)) {
            (Expr::Lambda(params, _), _) => {
                let pat = params.iter().map(|p| p.pat).find(|p| tree.pats[*p].kind == Pat::Name(name.clone()))?;
                match self.resolved.pats.get(&pat)? {
                    PatRes::Bind(id) => Some((NameTarget::Local(self.item.global.clone(), *id), LocalKind::Lambda)),
                    _ => None,
                }
            }
            (_, Some(Res::Def(def))) => {
                let item = match *def == self.item.global {
                    true => self.item.clone(),
                    false => self.session.item(def)?,
                };
                let (parsed, resolved) = (self.session.tree(&item)?, self.session.resolved(&item)?);
                let Item::Def(found) = &parsed.tree.item else { return None };
                let param = found.params.iter().find(|p| p.name.name == *name)?;
                let id = resolved.decls.get(&param.name.span)?;
                Some((NameTarget::Local(item.global, *id), LocalKind::Param))
            }
            _ => None,
        }
    }

    fn add_pattern_names(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        let top = matches!(tree.item, Item::Let(_));
        // The names of a top-level `let` are already in the list.
        let listed_spans: HashSet<Span> =
            if top { self.found.iter().map(|u| u.span).collect() } else { HashSet::new() };
        for (id, node) in tree.pats.iter() {
            match &node.kind {
                Pat::Name(name) if !listed_spans.contains(&node.span) => match resolved.pats.get(&id) {
                    Some(PatRes::Bind(local)) => self.add_local(name, node.span, *local),
                    Some(PatRes::Ctor(ty, k)) => {
                        self.add(name, node.span, NameTarget::Ctor(ty.clone(), *k), NameRole::Use)
                    }
                    Some(PatRes::Error) => self.add(name, node.span, NameTarget::Unknown, NameRole::Use),
                    None => {}
                },
                Pat::Ctor { module, name, .. } => {
                    if let Some(module) = module {
                        self.add_qualifier(module);
                    }
                    let what = match resolved.pats.get(&id) {
                        Some(PatRes::Ctor(ty, k)) => NameTarget::Ctor(ty.clone(), *k),
                        _ => NameTarget::Unknown,
                    };
                    self.add_identifier(name, what, NameRole::Use);
                }
                Pat::Record(fields) => {
                    for (name, pat) in fields {
                        let role = match pat {
                            Some(_) => NameRole::Use,
                            None => NameRole::Shorthand,
                        };
                        if pat.is_none() && !listed_spans.contains(&name.span) {
                            self.add_declaration(name);
                        }
                        self.add_identifier(
                            name,
                            NameTarget::Field(self.shapes.fields_at(node.span), name.name.clone()),
                            role,
                        );
                    }
                }
                Pat::Sized(sizes, _) => {
                    sizes.iter().filter(|s| !listed_spans.contains(&s.span)).for_each(|s| self.add_declaration(s));
                }
                _ => {}
            }
        }
    }

    fn add_type_names(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        let single = match &tree.item {
            Item::Type(def) => match def.body {
                TypeBody::Single(body) if resolved.is_single_ctor => Some((body, self.qualify(&def.name.name))),
                _ => None,
            },
            _ => None,
        };
        for (id, node) in tree.types.iter() {
            match &node.kind {
                TypeExpr::Name { module, name, args } => {
                    for arg in args {
                        if let TypeArg::Size(size) = arg {
                            self.add_size_names(std::slice::from_ref(size));
                        }
                    }
                    if let Some(module) = module {
                        self.add_qualifier(module);
                    }
                    match (&single, resolved.types.get(&id)) {
                        (Some((body, ty)), _) if *body == id => {
                            self.add_identifier(name, NameTarget::Ctor(ty.clone(), 0), NameRole::Declaration);
                        }
                        (_, Some(res)) => self.add_resolved_type(name, res),
                        _ => {}
                    }
                }
                TypeExpr::Array(sizes, _) | TypeExpr::Rel(sizes) => self.add_size_names(sizes),
                TypeExpr::Record(fields) => {
                    let mut all: Vec<Name> = fields.iter().map(|f| f.0.name.clone()).collect();
                    all.sort_unstable();
                    for (name, _) in fields {
                        self.add_identifier(
                            name,
                            NameTarget::Field(all.clone(), name.name.clone()),
                            NameRole::Declaration,
                        );
                    }
                }
                TypeExpr::Fun(params, _) => {
                    params.iter().filter_map(|p| p.0.as_ref()).for_each(|p| self.add_declaration(p))
                }
                TypeExpr::Error | TypeExpr::Tuple(_) => {}
            }
        }
    }

    fn add_size_names(&mut self, sizes: &[SizeExpr]) {
        for size in sizes {
            if let SizeExpr::Unknown(name) = size {
                self.add_declaration(name);
            }
        }
    }

    fn add_resolved_type(&mut self, name: &Ident, res: &TypeRes) {
        match res {
            TypeRes::Scalar(_) => self.add_identifier(name, NameTarget::Word(LanguageWord::Type), NameRole::Use),
            TypeRes::Param(number) => {
                let first = self.resolved.type_params.get(*number as usize).is_some_and(|p| p.1 == name.span);
                let role = if first { NameRole::Declaration } else { NameRole::Use };
                self.add_identifier(name, self.type_param_meaning(*number), role);
            }
            TypeRes::Global(ty) => self.add_identifier(name, NameTarget::Type(ty.clone()), NameRole::Use),
            TypeRes::Size(res) => self.add_resolved(&name.name, name.span, res),
            TypeRes::Error => self.add_identifier(name, NameTarget::Unknown, NameRole::Use),
        }
    }
}

/// Returns the meaning of a name that has no node in the tree.
fn meaning_without_node(name: &str) -> NameTarget {
    match vocabulary::describe(name).first().map(|d| d.kind) {
        Some("binder" | "keyword") => NameTarget::Word(LanguageWord::Keyword),
        _ => NameTarget::Unknown,
    }
}

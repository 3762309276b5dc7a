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
use lang_core::resolve::forms::{Form, LoadOption, PlotOption};
use lang_core::resolve::{LocalKind, Names, PatRes, Res, Resolved, TypeRes, words};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{
    Arg, Expr, ExprId, Ident, Item, Pat, PatId, Place, SizeExpr, Tree, TypeArg, TypeBody, TypeExpr,
};
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::split::ItemKind;

use crate::fields::Shapes;

/// The meaning of a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum What {
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
    Word(Word),
    /// An unresolved name, for which the resolver reports an error.
    Unknown,
}

/// The kind of a word of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
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
pub enum Role {
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
pub struct Use {
    /// The span in the module.
    pub span: Span,
    /// The name in the spelling that the lexer returns.
    pub name: Name,
    /// The meaning.
    pub what: What,
    /// The role.
    pub role: Role,
    /// The kind of binding, for a local.
    pub kind: Option<LocalKind>,
}

/// Returns every name of an item, with the records of its fields. Type-checks the item if it has
/// fields whose record only the types determine.
#[must_use]
pub fn uses(session: &Session, item: &ItemRef) -> Vec<Use> {
    collect(session, item, true)
}

/// Returns every name of an item without type-checking it. The records of field accesses are
/// unknown.
#[must_use]
pub fn untyped_uses(session: &Session, item: &ItemRef) -> Vec<Use> {
    collect(session, item, false)
}

/// Returns the name that touches an offset, its end included, and its item.
#[must_use]
pub fn name_at(session: &Session, module: &str, at: u32) -> Option<(ItemRef, Use)> {
    let item = session.item_at(module, at)?;
    let touches = |found: &Use| found.span.touches(at) && !found.span.range().is_empty();
    // If two names touch the offset, the one that begins there.
    let last = |all: Vec<Use>| {
        let start = all.iter().filter(|u| touches(u)).map(|u| u.span.start).max()?;
        all.into_iter().find(|u| u.span.start == start && touches(u))
    };
    let found = last(untyped_uses(session, &item))?;
    let found = match found.what {
        What::Field(..) => last(uses(session, &item))?,
        _ => found,
    };
    Some((item, found))
}

fn collect(session: &Session, item: &ItemRef, typed: bool) -> Vec<Use> {
    let (Some(parsed), Some(resolved)) = (session.tree(item), session.resolved(item)) else { return Vec::new() };
    let tree = &parsed.tree;
    let has_fields = typed && Shapes::wanted(tree);
    let checked = if has_fields { session.checked_item(item) } else { None };
    let shapes = match &checked {
        Some(checked) => Shapes::of(session, tree, &checked.body),
        None => Shapes::default(),
    };
    let mut walk = Walk { session, item, tree, resolved: &resolved, shapes, found: Vec::new() };
    walk.item();
    walk.exprs();
    walk.pats();
    walk.types();
    walk.finish()
}

struct Walk<'a> {
    session: &'a Session,
    item: &'a ItemRef,
    tree: &'a Tree,
    resolved: &'a Resolved,
    shapes: Shapes,
    found: Vec<Use>,
}

impl Walk<'_> {
    fn finish(mut self) -> Vec<Use> {
        let shorthand = |u: &Use| u.role == Role::Shorthand;
        self.found.retain(|u| !u.name.is_empty() && u.name != "_" && !u.span.range().is_empty());
        self.found.sort_by_key(|u| (u.span, shorthand(u), u.what == What::Unknown, u.role));
        self.found.dedup_by(|b, a| a.span == b.span && shorthand(a) == shorthand(b));
        self.words();
        self.found.sort_by_key(|u| (u.span, shorthand(u)));
        for found in &mut self.found {
            found.span = found.span.shift(self.item.start);
        }
        self.found
    }

    /// Adds the words without a node in the tree: keywords, and in a text with errors the unparsed
    /// words.
    fn words(&mut self) {
        let known: Vec<Span> = self.found.iter().map(|u| u.span).collect();
        let covered = |span: Span| {
            let at = known.partition_point(|k| k.end <= span.start);
            known.get(at).is_some_and(|k| k.start < span.end)
        };
        for token in lex(&self.item.text).tokens.iter().filter(|t| !covered(t.span)) {
            let (name, what) = match &token.token {
                Token::Word(word) => (Name::from(word.text()), What::Word(Word::Keyword)),
                Token::Name(name) if name == "_" => continue,
                Token::Name(name) => (name.clone(), loose(name)),
                _ => continue,
            };
            self.found.push(Use { span: token.span, name, what, role: Role::Use, kind: None });
        }
    }

    fn add(&mut self, name: &Name, span: Span, what: What, role: Role) {
        self.found.push(Use { span, name: name.clone(), what, role, kind: None });
    }

    fn ident(&mut self, ident: &Ident, what: What, role: Role) {
        self.add(&ident.name, ident.span, what, role);
    }

    /// Qualifies a name with this module.
    fn own(&self, name: &Name) -> GlobalName {
        GlobalName { module: self.item.module.clone(), name: name.clone() }
    }

    fn local(&mut self, name: &Name, span: Span, id: LocalId) {
        let Some(decl) = self.resolved.locals.get(id.0 as usize) else { return };
        let role = match decl.span == span {
            true => Role::Declaration,
            false => Role::Use,
        };
        let kind = decl.kind;
        let of_rule = kind == LocalKind::ImplicitSize && matches!(self.tree.item, Item::Rule(_));
        let what = match self.of_rule().filter(|_| of_rule) {
            Some((def, resolved)) => {
                let same = |d: &lang_core::resolve::Decl| d.kind == kind && d.name == decl.name;
                let at = resolved.locals.iter().position(same).and_then(|at| u32::try_from(at).ok());
                at.map_or(What::Unknown, |at| What::Local(def, LocalId(at)))
            }
            None => What::Local(self.item.global.clone(), id),
        };
        self.found.push(Use { span, name: name.clone(), what, role, kind: Some(kind) });
    }

    /// Returns the definition that this rule belongs to, with its resolved names.
    fn of_rule(&self) -> Option<(GlobalName, Arc<Resolved>)> {
        let Item::Rule(rule) = &self.tree.item else { return None };
        let def = self.session.item(&self.own(&rule.name.name)).filter(|i| i.kind == ItemKind::Def)?;
        let resolved = self.session.resolved(&def)?;
        Some((def.global, resolved))
    }

    fn declared(&mut self, ident: &Ident) {
        match self.resolved.decls.get(&ident.span) {
            Some(id) => self.local(&ident.name, ident.span, *id),
            None => self.ident(ident, What::Unknown, Role::Declaration),
        }
    }

    /// Returns the meaning of a type parameter in scope. A rule uses those of its definition.
    fn type_param(&self, number: u32) -> What {
        let owner = self.of_rule().map_or_else(|| self.item.global.clone(), |(def, _)| def);
        What::TypeParam(owner, number)
    }

    /// Adds the module that a name before a dot refers to.
    fn qualifier(&mut self, ident: &Ident) {
        let what = match self.session.view().import(&self.item.module, &ident.name) {
            Some(module) => What::Module(module),
            None => What::Unknown,
        };
        self.ident(ident, what, Role::Use);
    }

    fn item(&mut self) {
        let tree = self.tree;
        match &tree.item {
            Item::Def(def) => {
                self.ident(&def.name, What::Value(self.own(&def.name.name)), Role::Declaration);
                def.params.iter().for_each(|p| self.declared(&p.name));
                for constraint in &def.constraints {
                    let params = self.resolved.type_params.iter();
                    let number = params.zip(0..).find(|(p, _)| p.0 == constraint.var.name).map(|(_, k)| k);
                    let what = number.map_or(What::Unknown, |k| self.type_param(k));
                    self.ident(&constraint.var, what, Role::Use);
                    self.ident(&constraint.class, What::Word(Word::Type), Role::Use);
                }
            }
            Item::Type(def) => {
                let own = self.own(&def.name.name);
                self.ident(&def.name, What::Type(own.clone()), Role::Declaration);
                for (number, param) in (0..).zip(&def.params) {
                    match self.resolved.decls.get(&param.span) {
                        Some(id) => self.local(&param.name, param.span, *id),
                        None => self.ident(param, self.type_param(number), Role::Declaration),
                    }
                }
                if let TypeBody::Sum(ctors) = &def.body {
                    for (k, ctor) in (0..).zip(ctors) {
                        self.ident(&ctor.name, What::Ctor(own.clone(), k), Role::Declaration);
                    }
                }
            }
            Item::Import(import) => {
                let alias = import.alias.as_ref().map(|a| &a.name);
                let known = alias.cloned().unwrap_or_else(|| self.item.name.clone());
                let what = match self.session.view().import(&self.item.module, &known) {
                    Some(module) => What::Module(module),
                    None => What::Unknown,
                };
                self.ident(&import.path, what.clone(), Role::Import);
                if let Some(alias) = &import.alias {
                    self.ident(alias, what, Role::Declaration);
                }
            }
            Item::Rule(rule) => {
                let def = self.own(&rule.name.name);
                let what = match self.session.item(&def) {
                    Some(item) if item.kind == ItemKind::Def => What::Value(def),
                    _ => What::Unknown,
                };
                self.ident(&rule.name, what, Role::Rule);
                // The lexer returns the word that begins a rule as a name.
                let word = Ident {
                    name: if rule.adjoint { "adjoint" } else { "derivative" }.into(),
                    span: Span::new(tree.span.start, rule.name.span.start.saturating_sub(1)),
                };
                if self.item.text.get(word.span.range()) == Some(word.name.as_str()) {
                    self.ident(&word, What::Word(Word::Keyword), Role::Use);
                }
                rule.params.iter().chain(&rule.deltas).for_each(|p| self.declared(p));
            }
            Item::Let(top) => self.exported(top.pat),
            Item::Do(_) | Item::Error => {}
        }
    }

    /// Adds the names that the pattern of a top-level `let` binds, which are visible to all items.
    fn exported(&mut self, pat: PatId) {
        let tree = self.tree;
        let node = &tree.pats[pat];
        match &node.kind {
            Pat::Error | Pat::Wild | Pat::Int(_) | Pat::Bool(_) => {}
            Pat::Name(name) => {
                if !matches!(self.resolved.pats.get(&pat), Some(PatRes::Ctor(..))) {
                    self.add(name, node.span, What::Value(self.own(name)), Role::Declaration);
                }
            }
            Pat::Ctor { args: items, .. } | Pat::Tuple(items) => items.iter().for_each(|p| self.exported(*p)),
            Pat::Record(fields) => {
                for (name, pat) in fields {
                    match pat {
                        Some(pat) => self.exported(*pat),
                        None => self.ident(name, What::Value(self.own(&name.name)), Role::Declaration),
                    }
                }
            }
            Pat::Sized(sizes, pat) => {
                for size in sizes {
                    self.ident(size, What::Value(self.own(&size.name)), Role::Declaration);
                }
                self.exported(*pat);
            }
        }
    }

    fn res(&mut self, name: &Name, span: Span, res: &Res) {
        let what = match res {
            Res::Local(id) => return self.local(name, span, *id),
            Res::Def(def) | Res::Let(def) => What::Value(GlobalName { module: def.module.clone(), name: name.clone() }),
            Res::Ctor(ty, k) => What::Ctor(ty.clone(), *k),
            Res::Scalar(_) | Res::Builtin(_) | Res::Form(_) | Res::Convert(_) => What::Word(Word::Function),
            Res::Derive(_) => What::Word(Word::Derivative),
            Res::Const(_) => What::Word(Word::Constant),
            Res::Error => What::Unknown,
        };
        self.add(name, span, what, Role::Use);
    }

    fn exprs(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        for (id, node) in tree.exprs.iter() {
            match &node.kind {
                Expr::Name(name) => {
                    if let Some(res) = resolved.exprs.get(&id) {
                        self.res(name, node.span, res);
                    }
                }
                Expr::Field(base, name) => match resolved.exprs.get(&id) {
                    Some(res) => {
                        self.res(&name.name, name.span, res);
                        let base = &tree.exprs[*base];
                        if let Expr::Name(module) = &base.kind {
                            self.qualifier(&Ident { name: module.clone(), span: base.span });
                        }
                    }
                    None => self.ident(name, What::Field(self.shapes.at(node.span), name.name.clone()), Role::Use),
                },
                Expr::Record(fields) => {
                    for (name, _) in fields {
                        let mut all: Vec<Name> = fields.iter().map(|f| f.0.name.clone()).collect();
                        all.sort_unstable();
                        self.ident(name, What::Field(all, name.name.clone()), Role::Use);
                    }
                }
                Expr::With(_, updates) => {
                    for update in updates {
                        if let Place::Field(name) = &update.place {
                            self.ident(name, What::Field(self.shapes.at(node.span), name.name.clone()), Role::Write);
                        }
                    }
                }
                Expr::Call(callee, args) => self.arguments(*callee, args),
                Expr::Binder { vars, .. } | Expr::Fold { vars, .. } => {
                    vars.iter().for_each(|v| self.declared(&v.name));
                }
                _ => {}
            }
        }
    }

    fn arguments(&mut self, callee: ExprId, args: &[Arg]) {
        for arg in args {
            let Some(name) = &arg.name else { continue };
            let derives = matches!(self.resolved.exprs.get(&callee), Some(Res::Derive(_)));
            let loads = self.resolved.exprs.get(&callee) == Some(&Res::Form(Form::Load));
            let option = match loads {
                true => LoadOption::by_name(&name.name).is_some(),
                false => PlotOption::by_name(&name.name).is_some(),
            };
            let known = derives && name.name == "wrt" || option;
            self.ident(name, if known { What::Word(Word::Argument) } else { What::Unknown }, Role::Use);
            if derives && name.name == "wrt" {
                let of = args.iter().find(|a| a.name.is_none()).map(|a| a.value);
                self.parameters(arg.value, of);
            }
        }
    }

    /// Adds the names of parameters of the function `of`.
    fn parameters(&mut self, names: ExprId, of: Option<ExprId>) {
        let tree = self.tree;
        let node = &tree.exprs[names];
        match &node.kind {
            Expr::Name(name) if !self.resolved.exprs.contains_key(&names) => {
                match of.and_then(|of| self.parameter(of, name)) {
                    Some((what, kind)) => {
                        self.found.push(Use {
                            span: node.span,
                            name: name.clone(),
                            what,
                            role: Role::Use,
                            kind: Some(kind),
                        });
                    }
                    None => self.add(name, node.span, What::Unknown, Role::Use),
                }
            }
            Expr::Paren(inner) => self.parameters(*inner, of),
            Expr::Tuple(items) => items.iter().for_each(|e| self.parameters(*e, of)),
            _ => {}
        }
    }

    fn parameter(&self, of: ExprId, name: &Name) -> Option<(What, LocalKind)> {
        let tree = self.tree;
        match (&tree.exprs[of].kind, self.resolved.exprs.get(&of)) {
            (Expr::Lambda(params, _), _) => {
                let pat = params.iter().map(|p| p.pat).find(|p| tree.pats[*p].kind == Pat::Name(name.clone()))?;
                match self.resolved.pats.get(&pat)? {
                    PatRes::Bind(id) => Some((What::Local(self.item.global.clone(), *id), LocalKind::Lambda)),
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
                Some((What::Local(item.global, *id), LocalKind::Param))
            }
            _ => None,
        }
    }

    fn pats(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        let top = matches!(tree.item, Item::Let(_));
        // The names of a top-level `let` are already in the list.
        let told: HashSet<Span> = if top { self.found.iter().map(|u| u.span).collect() } else { HashSet::new() };
        for (id, node) in tree.pats.iter() {
            match &node.kind {
                Pat::Name(name) if !told.contains(&node.span) => match resolved.pats.get(&id) {
                    Some(PatRes::Bind(local)) => self.local(name, node.span, *local),
                    Some(PatRes::Ctor(ty, k)) => self.add(name, node.span, What::Ctor(ty.clone(), *k), Role::Use),
                    Some(PatRes::Error) => self.add(name, node.span, What::Unknown, Role::Use),
                    None => {}
                },
                Pat::Ctor { module, name, .. } => {
                    if let Some(module) = module {
                        self.qualifier(module);
                    }
                    let what = match resolved.pats.get(&id) {
                        Some(PatRes::Ctor(ty, k)) => What::Ctor(ty.clone(), *k),
                        _ => What::Unknown,
                    };
                    self.ident(name, what, Role::Use);
                }
                Pat::Record(fields) => {
                    for (name, pat) in fields {
                        let role = match pat {
                            Some(_) => Role::Use,
                            None => Role::Shorthand,
                        };
                        if pat.is_none() && !told.contains(&name.span) {
                            self.declared(name);
                        }
                        self.ident(name, What::Field(self.shapes.at(node.span), name.name.clone()), role);
                    }
                }
                Pat::Sized(sizes, _) => {
                    sizes.iter().filter(|s| !told.contains(&s.span)).for_each(|s| self.declared(s));
                }
                _ => {}
            }
        }
    }

    fn types(&mut self) {
        let tree = self.tree;
        let resolved = self.resolved;
        let single = match &tree.item {
            Item::Type(def) => match def.body {
                TypeBody::Single(body) if resolved.single_ctor => Some((body, self.own(&def.name.name))),
                _ => None,
            },
            _ => None,
        };
        for (id, node) in tree.types.iter() {
            match &node.kind {
                TypeExpr::Name { module, name, args } => {
                    for arg in args {
                        if let TypeArg::Size(size) = arg {
                            self.sizes(std::slice::from_ref(size));
                        }
                    }
                    if let Some(module) = module {
                        self.qualifier(module);
                    }
                    match (&single, resolved.types.get(&id)) {
                        (Some((body, ty)), _) if *body == id => {
                            self.ident(name, What::Ctor(ty.clone(), 0), Role::Declaration);
                        }
                        (_, Some(res)) => self.type_res(name, res),
                        _ => {}
                    }
                }
                TypeExpr::Array(sizes, _) | TypeExpr::Rel(sizes) => self.sizes(sizes),
                TypeExpr::Record(fields) => {
                    let mut all: Vec<Name> = fields.iter().map(|f| f.0.name.clone()).collect();
                    all.sort_unstable();
                    for (name, _) in fields {
                        self.ident(name, What::Field(all.clone(), name.name.clone()), Role::Declaration);
                    }
                }
                TypeExpr::Fun(params, _) => params.iter().filter_map(|p| p.0.as_ref()).for_each(|p| self.declared(p)),
                TypeExpr::Error | TypeExpr::Tuple(_) => {}
            }
        }
    }

    fn sizes(&mut self, sizes: &[SizeExpr]) {
        for size in sizes {
            if let SizeExpr::Unknown(name) = size {
                self.declared(name);
            }
        }
    }

    fn type_res(&mut self, name: &Ident, res: &TypeRes) {
        match res {
            TypeRes::Scalar(_) => self.ident(name, What::Word(Word::Type), Role::Use),
            TypeRes::Param(number) => {
                let first = self.resolved.type_params.get(*number as usize).is_some_and(|p| p.1 == name.span);
                let role = if first { Role::Declaration } else { Role::Use };
                self.ident(name, self.type_param(*number), role);
            }
            TypeRes::Global(ty) => self.ident(name, What::Type(ty.clone()), Role::Use),
            TypeRes::Size(res) => self.res(&name.name, name.span, res),
            TypeRes::Error => self.ident(name, What::Unknown, Role::Use),
        }
    }
}

/// Returns the meaning of a name that has no node in the tree.
fn loose(name: &str) -> What {
    match words::describe(name).first().map(|d| d.kind) {
        Some("binder" | "keyword") => What::Word(Word::Keyword),
        _ => What::Unknown,
    }
}

//! **Tree dump.** Prints trees as nested lists without spans, for comparison and inspection. The
//! formatter compares trees with it to check its result.

use std::fmt::Write;

use crate::ast::{
    Expr, ExprId, Ident, IndexRange, IndexVar, Item, Pat, PatId, SizeExpr, Subscript, Tree, TypeArg, TypeBody,
    TypeExpr, TypeId, UpdateTarget,
};
use lang_base::Name;

/// Returns whether two trees are equal up to spans and doubled parentheses.
#[must_use]
pub fn same_tree(a: &Tree, b: &Tree) -> bool {
    dump_tree(a, true) == dump_tree(b, true)
}

/// Returns whether two trees are equal up to spans and all parentheses.
#[must_use]
pub fn same_meaning(a: &Tree, b: &Tree) -> bool {
    dump_tree(a, false) == dump_tree(b, false)
}

/// Returns the tree as a nested list, either with its parentheses (doubled ones once) or without
/// any.
#[must_use]
pub fn dump_tree(tree: &Tree, parens: bool) -> String {
    let mut out = TreeDumper { tree, keeps_parens: parens, text: String::new() };
    out.list("item", |o| o.item());
    if !tree.docs.is_empty() {
        out.atom(&format!("{:?}", tree.docs));
    }
    out.text
}

struct TreeDumper<'a> {
    tree: &'a Tree,
    keeps_parens: bool,
    text: String,
}

impl TreeDumper<'_> {
    fn list(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.text.push('(');
        self.text.push_str(name);
        inside(self);
        self.text.push(')');
    }

    fn atom(&mut self, text: &str) {
        self.text.push(' ');
        self.text.push_str(text);
    }

    fn name(&mut self, name: &Name) {
        // Quoted, because the path of an import may contain any characters.
        let _ = write!(self.text, " {name:?}");
    }

    fn ident(&mut self, ident: &Ident) {
        self.name(&ident.name);
    }

    fn ident_or_none(&mut self, ident: Option<&Ident>) {
        match ident {
            Some(ident) => self.ident(ident),
            None => self.atom("-"),
        }
    }

    fn idents(&mut self, idents: &[Ident]) {
        self.list("", |o| idents.iter().for_each(|ident| o.ident(ident)));
    }

    fn item(&mut self) {
        match &self.tree.item {
            Item::Def(def) => self.list("def", |o| {
                o.ident(&def.name);
                for param in &def.params {
                    o.ident(&param.name);
                    o.ty(param.ty);
                }
                o.ty_or_none(def.result);
                for constraint in &def.constraints {
                    o.list("where", |o| {
                        o.ident(&constraint.var);
                        o.ident(&constraint.class);
                    });
                }
                o.expr(def.body);
            }),
            Item::Type(def) => self.list("type", |o| {
                o.ident(&def.name);
                o.idents(&def.params);
                match &def.body {
                    TypeBody::Single(ty) => o.ty(*ty),
                    TypeBody::Sum(ctors) => {
                        for ctor in ctors {
                            o.list("ctor", |o| {
                                o.ident(&ctor.name);
                                ctor.args.iter().for_each(|ty| o.ty(*ty));
                            });
                        }
                    }
                }
            }),
            Item::Import(import) => self.list(if import.is_file { "import-file" } else { "import" }, |o| {
                o.ident(&import.path);
                o.ident_or_none(import.alias.as_ref());
            }),
            Item::Let(item) => self.list(if item.is_quiet { "quiet-let" } else { "let" }, |o| {
                o.typed_pat(item.pat, item.ty);
                o.expr(item.value);
            }),
            Item::Do(value) => self.list("do", |o| o.expr(*value)),
            Item::DerivativeRule(rule) => self.list(if rule.is_adjoint { "adjoint" } else { "derivative" }, |o| {
                o.ident(&rule.name);
                o.idents(&rule.params);
                o.idents(&rule.tangents);
                o.expr(rule.body);
            }),
            Item::Error => self.atom("error"),
        }
    }

    fn typed_pat(&mut self, pat: PatId, ty: Option<TypeId>) {
        self.pat(pat);
        self.ty_or_none(ty);
    }

    fn exprs<'e>(&mut self, name: &str, exprs: impl IntoIterator<Item = &'e ExprId>) {
        self.list(name, |o| exprs.into_iter().for_each(|e| o.expr(*e)));
    }

    fn expr(&mut self, mut at: ExprId) {
        let tree = self.tree;
        // Doubled parentheses count once, or not at all.
        while let Expr::Paren(inner) = tree.exprs[at].kind {
            if self.keeps_parens && !matches!(tree.exprs[inner].kind, Expr::Paren(_)) {
                break;
            }
            at = inner;
        }
        stacker::maybe_grow(64 << 10, 1 << 20, || self.expr_node(at));
    }

    fn expr_node(&mut self, at: ExprId) {
        self.text.push(' ');
        let tree = self.tree;
        match &tree.exprs[at].kind {
            Expr::Error => self.atom("error"),
            Expr::Int(value) => self.atom(&value.to_string()),
            Expr::Float(value) => self.list("float", |o| o.atom(&format!("{:?} {:x}", value, value.to_bits()))),
            Expr::Bool(value) => self.list("bool", |o| o.atom(&value.to_string())),
            Expr::Str(value) => self.list("str", |o| o.name(value)),
            Expr::Name(name) => self.name(name),
            Expr::Unary(op, inner) => self.exprs(&format!("{op:?}"), [inner]),
            Expr::Chain { first, rest } => self.list("chain", |o| {
                o.expr(*first);
                for (op, _, operand) in rest {
                    o.atom(op.symbol());
                    o.expr(*operand);
                }
            }),
            Expr::Power(base, exponent) => self.exprs("^", [base, exponent]),
            Expr::Guard { cond, body } => self.exprs("guard", [cond, body]),
            Expr::Array { items, has_trailing_comma: comma } => {
                self.exprs(if *comma { "array," } else { "array" }, items)
            }
            Expr::Paren(inner) => self.exprs("paren", [inner]),
            Expr::Tuple(items) => self.exprs("tuple", items),
            Expr::Record(fields) => self.list("record", |o| {
                for (name, value) in fields {
                    o.ident(name);
                    o.expr(*value);
                }
            }),
            Expr::Field(base, field) => self.list("field", |o| {
                o.expr(*base);
                o.ident(field);
            }),
            Expr::Proj(base, index, _) => self.list("proj", |o| {
                o.expr(*base);
                o.atom(&index.to_string());
            }),
            Expr::Index(base, places) => self.list("index", |o| {
                o.expr(*base);
                o.subscripts(places);
            }),
            Expr::Call(callee, args) => self.list("call", |o| {
                o.expr(*callee);
                for arg in args {
                    o.ident_or_none(arg.name.as_ref());
                    o.expr(arg.value);
                }
            }),
            Expr::Lambda(params, body) => self.list("lambda", |o| {
                params.iter().for_each(|p| o.typed_pat(p.pat, p.ty));
                o.expr(*body);
            }),
            Expr::Let(binds, body) => self.list("let", |o| {
                for bind in binds {
                    o.typed_pat(bind.pat, bind.ty);
                    o.expr(bind.value);
                }
                o.expr(*body);
            }),
            Expr::If(arms, otherwise) => self.list("if", |o| {
                for (cond, value) in arms {
                    o.expr(*cond);
                    o.expr(*value);
                }
                o.expr(*otherwise);
            }),
            Expr::Match(value, arms) => self.list("match", |o| {
                o.expr(*value);
                for arm in arms {
                    o.pat(arm.pat);
                    o.expr(arm.body);
                }
            }),
            Expr::Binder { kind, vars, filter, body } => self.list(kind.keyword(), |o| {
                o.vars(vars);
                o.expr_or_none(*filter);
                o.expr(*body);
            }),
            Expr::Fold { is_scan: scan, acc, ty, init, vars, body, yields } => {
                self.list(if *scan { "scan-for" } else { "fold" }, |o| {
                    o.typed_pat(*acc, *ty);
                    o.expr(*init);
                    o.vars(vars);
                    o.expr(*body);
                    o.expr_or_none(*yields);
                });
            }
            Expr::Loop { is_scan: scan, acc, ty, init, cond, body } => {
                self.list(if *scan { "scan-while" } else { "loop" }, |o| {
                    o.typed_pat(*acc, *ty);
                    o.expr(*init);
                    o.expr(*cond);
                    o.expr(*body);
                });
            }
            Expr::Checkpoint { spacing: every, body: of } => self.list("checkpoint", |o| {
                o.expr_or_none(*every);
                o.expr(*of);
            }),
            Expr::With(base, updates) => self.list("with", |o| {
                o.expr(*base);
                for update in updates {
                    match &update.target {
                        UpdateTarget::Index(places, _) => o.subscripts(places),
                        UpdateTarget::Field(name) => o.ident(name),
                        UpdateTarget::Proj(index, _) => o.atom(&index.to_string()),
                    }
                    o.atom(if update.is_add { "+=" } else { "=" });
                    o.expr(update.value);
                }
            }),
            Expr::Card(inner) => self.exprs("card", [inner]),
        }
    }

    fn expr_or_none(&mut self, expr: Option<ExprId>) {
        match expr {
            Some(expr) => self.expr(expr),
            None => self.atom("-"),
        }
    }

    fn subscripts(&mut self, places: &[Subscript]) {
        self.list("", |o| {
            for place in places {
                match place {
                    Subscript::Index(index) => o.expr(*index),
                    Subscript::Range(from, to) => o.exprs("range", [from, to]),
                    Subscript::FullAxis(_) => o.atom("_"),
                }
            }
        });
    }

    fn vars(&mut self, vars: &[IndexVar]) {
        for var in vars {
            self.list("var", |o| {
                o.ident(&var.name);
                match &var.range {
                    IndexRange::Bare => {}
                    IndexRange::Below(end) => o.expr(*end),
                    IndexRange::Range { from, to, by } => {
                        o.exprs("range", [from, to]);
                        o.expr_or_none(*by);
                    }
                }
            });
        }
    }

    fn pat(&mut self, at: PatId) {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.pat_node(at));
    }

    fn pat_node(&mut self, at: PatId) {
        let tree = self.tree;
        self.text.push(' ');
        match &tree.pats[at].kind {
            Pat::Error => self.atom("error"),
            Pat::Wild => self.atom("_"),
            Pat::Name(name) => self.name(name),
            Pat::Ctor { module, name, args } => self.list("ctor", |o| {
                o.ident_or_none(module.as_ref());
                o.ident(name);
                args.iter().for_each(|arg| o.pat(*arg));
            }),
            Pat::Tuple(items) => self.list("tuple", |o| items.iter().for_each(|item| o.pat(*item))),
            Pat::Record(fields) => self.list("record", |o| {
                for (name, pat) in fields {
                    o.ident(name);
                    match pat {
                        Some(pat) => o.pat(*pat),
                        None => o.atom("-"),
                    }
                }
            }),
            Pat::Int(value) => self.atom(&value.to_string()),
            Pat::Bool(value) => self.list("bool", |o| o.atom(&value.to_string())),
            Pat::Sized(names, inner) => self.list("sized", |o| {
                o.idents(names);
                o.pat(*inner);
            }),
        }
    }

    fn ty_or_none(&mut self, ty: Option<TypeId>) {
        match ty {
            Some(ty) => self.ty(ty),
            None => self.atom("-"),
        }
    }

    fn ty(&mut self, at: TypeId) {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.ty_node(at));
    }

    fn ty_node(&mut self, at: TypeId) {
        let tree = self.tree;
        self.text.push(' ');
        match &tree.types[at].kind {
            TypeExpr::Error => self.atom("error"),
            TypeExpr::Name { module, name, args } => self.list("type", |o| {
                o.ident_or_none(module.as_ref());
                o.ident(name);
                for arg in args {
                    match arg {
                        TypeArg::Type(ty) => o.ty(*ty),
                        TypeArg::Size(size) => o.list("size", |o| o.size(size)),
                    }
                }
            }),
            TypeExpr::Array(sizes, element) => self.list("array", |o| {
                o.sizes(sizes);
                o.ty(*element);
            }),
            TypeExpr::Tuple(items) => self.list("tuple", |o| items.iter().for_each(|ty| o.ty(*ty))),
            TypeExpr::Record(fields) => self.list("record", |o| {
                for (name, ty) in fields {
                    o.ident(name);
                    o.ty(*ty);
                }
            }),
            TypeExpr::Fun(params, result) => self.list("fun", |o| {
                for (name, ty) in params {
                    o.ident_or_none(name.as_ref());
                    o.ty(*ty);
                }
                o.ty(*result);
            }),
            TypeExpr::Rel(sizes) => self.list("rel", |o| o.sizes(sizes)),
        }
    }

    fn sizes(&mut self, sizes: &[SizeExpr]) {
        self.list("", |o| {
            sizes.iter().for_each(|size| o.size(size));
        });
    }

    fn size(&mut self, size: &SizeExpr) {
        match size {
            SizeExpr::Expr(size) => self.expr(*size),
            SizeExpr::Unknown(name) => self.list("?", |o| o.ident(name)),
        }
    }
}

//! **S-expression dump** of trees, for the tests.

use crate::ast::*;

/// Prints the item with everything below it.
pub(super) fn dump(tree: &Tree) -> String {
    let d = SExprDump { tree };
    match &tree.item {
        Item::Def(def) => {
            let params = def.params.iter().map(|p| format!("({} {})", p.name.name, d.ty(p.ty)));
            let result = def.result.map_or("_".to_owned(), |t| d.ty(t));
            let classes = def.constraints.iter().map(|c| format!(" ({} {})", c.var.name, c.class.name));
            let (params, classes) = (params.collect::<Vec<_>>().join(" "), classes.collect::<String>());
            format!("(def {} ({params}) {result}{classes} {})", def.name.name, d.expr(def.body))
        }
        Item::Type(def) => {
            let params: String = def.params.iter().map(|p| format!(" {}", p.name)).collect();
            let body = match &def.body {
                TypeBody::Single(ty) => d.ty(*ty),
                TypeBody::Sum(ctors) => {
                    let one = |c: &Ctor| format!("({}{})", c.name.name, spaced(c.args.iter().map(|t| d.ty(*t))));
                    format!("(sum{})", spaced(ctors.iter().map(one)))
                }
            };
            format!("(type ({}{params}) {body})", def.name.name)
        }
        Item::Import(import) => {
            let file = if import.is_file { "file " } else { "" };
            let alias = import.alias.as_ref().map_or(String::new(), |a| format!(" as {}", a.name));
            format!("(import {file}{}{alias})", import.path.name)
        }
        Item::Let(top) => {
            let quiet = if top.is_quiet { " quiet" } else { "" };
            format!("(let {}{} {}{quiet})", d.pat(top.pat), d.typed_suffix(top.ty), d.expr(top.value))
        }
        Item::Do(e) => d.expr(*e),
        Item::DerivativeRule(rule) => {
            let names = |names: &[Ident]| names.iter().map(|n| n.name.as_str()).collect::<Vec<_>>().join(" ");
            let which = if rule.is_adjoint { "adjoint" } else { "derivative" };
            let (name, params, deltas) = (&rule.name.name, names(&rule.params), names(&rule.tangents));
            format!("({which} {name} ({params}) ({deltas}) {})", d.expr(rule.body))
        }
        Item::Error => "ERROR".to_owned(),
    }
}

struct SExprDump<'a> {
    tree: &'a Tree,
}

fn spaced(parts: impl Iterator<Item = String>) -> String {
    parts.map(|p| format!(" {p}")).collect()
}

impl SExprDump<'_> {
    fn expr(&self, id: ExprId) -> String {
        let e = |id: &ExprId| self.expr(*id);
        match &self.tree.exprs[id].kind {
            Expr::Error => "ERROR".to_owned(),
            Expr::Int(value) => value.to_string(),
            Expr::Float(value) => format!("{value:?}"),
            Expr::Bool(value) => value.to_string(),
            Expr::Str(text) => format!("{text:?}"),
            Expr::Name(name) => name.to_string(),
            Expr::Unary(op, a) => format!("({op:?} {})", e(a)),
            Expr::Chain { first, rest } => {
                let rest = rest.iter().map(|(op, _, a)| format!(" {} {}", op.symbol(), e(a)));
                format!("({}{})", e(first), rest.collect::<String>())
            }
            Expr::Power(a, b) => format!("({} ^ {})", e(a), e(b)),
            Expr::Guard { cond, body } => format!("(guard {} {})", e(cond), e(body)),
            Expr::Array { items, has_trailing_comma: comma } => {
                format!("(array{}{})", spaced(items.iter().map(e)), if *comma { " ," } else { "" })
            }
            Expr::Paren(a) => format!("(paren {})", e(a)),
            Expr::Tuple(items) => format!("(tuple{})", spaced(items.iter().map(e))),
            Expr::Record(fields) => {
                format!("(record{})", spaced(fields.iter().map(|(n, a)| format!("{}:{}", n.name, e(a)))))
            }
            Expr::Field(a, name) => format!("({}.{})", e(a), name.name),
            Expr::Proj(a, at, _) => format!("({}.{at})", e(a)),
            Expr::Index(a, subscripts) => format!("(index {}{})", e(a), self.subscripts(subscripts)),
            Expr::Call(f, args) => {
                let arg = |arg: &CallArg| match &arg.name {
                    Some(name) => format!("{}:{}", name.name, e(&arg.value)),
                    None => e(&arg.value),
                };
                format!("(call {}{})", e(f), spaced(args.iter().map(arg)))
            }
            Expr::Lambda(params, body) => {
                let params = params.iter().map(|p| format!("{}{}", self.pat(p.pat), self.typed_suffix(p.ty)));
                format!("(fn ({}) {})", params.collect::<Vec<_>>().join(" "), e(body))
            }
            Expr::Let(binds, body) => {
                let bind = |b: &LetBind| format!("({}{} {})", self.pat(b.pat), self.typed_suffix(b.ty), e(&b.value));
                format!("(let{} {})", spaced(binds.iter().map(bind)), e(body))
            }
            Expr::If(branches, other) => {
                let branches = branches.iter().map(|(c, a)| format!("({} {})", e(c), e(a)));
                format!("(if{} {})", spaced(branches), e(other))
            }
            Expr::Match(a, arms) => {
                let arms = arms.iter().map(|arm| format!("({} {})", self.pat(arm.pat), e(&arm.body)));
                format!("(match {}{})", e(a), spaced(arms))
            }
            Expr::Binder { kind, vars, filter, body } => {
                let filter = filter.as_ref().map_or(String::new(), |p| format!(" if {}", e(p)));
                format!("({}{}{filter} {})", kind.keyword(), self.vars(vars), e(body))
            }
            Expr::Fold { is_scan: scan, acc, ty, init, vars, body, yields } => {
                let word = if *scan { "scan" } else { "fold" };
                let yields = yields.as_ref().map_or(String::new(), |y| format!(" yield {}", e(y)));
                let (acc, ty) = (self.pat(*acc), self.typed_suffix(*ty));
                format!("({word} {acc}{ty} {}{} {}{yields})", e(init), self.vars(vars), e(body))
            }
            Expr::Loop { is_scan: scan, acc, ty, init, cond, body } => {
                let word = if *scan { "scan-while" } else { "loop" };
                format!("({word} {}{} {} {} {})", self.pat(*acc), self.typed_suffix(*ty), e(init), e(cond), e(body))
            }
            Expr::Checkpoint { spacing: every, body: of } => {
                let every = every.as_ref().map_or(String::new(), |k| format!(" {}", e(k)));
                format!("(checkpoint{every} {})", e(of))
            }
            Expr::With(a, updates) => {
                let update = |u: &WithUpdate| {
                    let place = match &u.target {
                        UpdateTarget::Index(subscripts, _) => format!("[{}]", self.subscripts(subscripts).trim_start()),
                        UpdateTarget::Field(name) => name.name.to_string(),
                        UpdateTarget::Proj(at, _) => at.to_string(),
                    };
                    format!("({place} {} {})", if u.is_add { "+=" } else { "=" }, e(&u.value))
                };
                format!("(with {}{})", e(a), spaced(updates.iter().map(update)))
            }
            Expr::Card(a) => format!("(card {})", e(a)),
        }
    }

    fn subscripts(&self, subscripts: &[Subscript]) -> String {
        spaced(subscripts.iter().map(|s| match s {
            Subscript::Index(a) => self.expr(*a),
            Subscript::Range(a, b) => format!("{}..{}", self.expr(*a), self.expr(*b)),
            Subscript::FullAxis(_) => "_".to_owned(),
        }))
    }

    fn vars(&self, vars: &[IndexVar]) -> String {
        spaced(vars.iter().map(|v| match &v.range {
            IndexRange::Bare => v.name.name.to_string(),
            IndexRange::Below(n) => format!("{}<{}", v.name.name, self.expr(*n)),
            IndexRange::Range { from, to, by } => {
                let by = by.map_or(String::new(), |s| format!("by{}", self.expr(s)));
                format!("{}={}..{}{by}", v.name.name, self.expr(*from), self.expr(*to))
            }
        }))
    }

    fn pat(&self, id: PatId) -> String {
        match &self.tree.pats[id].kind {
            Pat::Error => "ERROR".to_owned(),
            Pat::Wild => "_".to_owned(),
            Pat::Name(name) => name.to_string(),
            Pat::Ctor { module, name, args } => {
                let module = module.as_ref().map_or(String::new(), |m| format!("{}.", m.name));
                format!("({module}{}{})", name.name, spaced(args.iter().map(|p| self.pat(*p))))
            }
            Pat::Tuple(items) => format!("(tuple{})", spaced(items.iter().map(|p| self.pat(*p)))),
            Pat::Record(fields) => {
                let field = |(name, p): &(Ident, Option<PatId>)| match p {
                    Some(p) => format!("{}:{}", name.name, self.pat(*p)),
                    None => name.name.to_string(),
                };
                format!("(record{})", spaced(fields.iter().map(field)))
            }
            Pat::Int(value) => value.to_string(),
            Pat::Bool(value) => value.to_string(),
            Pat::Sized(names, p) => {
                let names: Vec<&str> = names.iter().map(|n| n.name.as_str()).collect();
                format!("[{}]{}", names.join(" "), self.pat(*p))
            }
        }
    }

    fn typed_suffix(&self, ty: Option<TypeId>) -> String {
        ty.map_or(String::new(), |t| format!(":{}", self.ty(t)))
    }

    fn ty(&self, id: TypeId) -> String {
        let size = |size: &SizeExpr| match size {
            SizeExpr::Expr(e) => self.expr(*e),
            SizeExpr::Unknown(name) => format!("?{}", name.name),
        };
        match &self.tree.types[id].kind {
            TypeExpr::Error => "ERROR".to_owned(),
            TypeExpr::Name { module, name, args } => {
                let module = module.as_ref().map_or(String::new(), |m| format!("{}.", m.name));
                let arg = |arg: &TypeArg| match arg {
                    TypeArg::Type(t) => self.ty(*t),
                    TypeArg::Size(s) => format!("size:{}", size(s)),
                };
                match args.as_slice() {
                    [] => format!("{module}{}", name.name),
                    args => format!("({module}{}{})", name.name, spaced(args.iter().map(arg))),
                }
            }
            TypeExpr::Array(sizes, t) => {
                format!("[{}]{}", sizes.iter().map(size).collect::<Vec<_>>().join(" "), self.ty(*t))
            }
            TypeExpr::Tuple(items) => format!("(tuple{})", spaced(items.iter().map(|t| self.ty(*t)))),
            TypeExpr::Record(fields) => {
                format!("(record{})", spaced(fields.iter().map(|(n, t)| format!("{}:{}", n.name, self.ty(*t)))))
            }
            TypeExpr::Fun(params, result) => {
                let param = |(name, t): &(Option<Ident>, TypeId)| match name {
                    Some(name) => format!("{}:{}", name.name, self.ty(*t)),
                    None => self.ty(*t),
                };
                let params: Vec<String> = params.iter().map(param).collect();
                format!("(({}) -> {})", params.join(" "), self.ty(*result))
            }
            TypeExpr::Rel(sizes) => format!("(rel{})", spaced(sizes.iter().map(size))),
        }
    }
}

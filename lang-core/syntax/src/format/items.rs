//! **Item layout.** Prints definitions, types, imports, top-level bindings and rules as documents.

use super::expr::BodyContext;
use super::printer::{LayoutDoc, Printer};
use crate::ast::{Def, Expr, Ident, Import, Item, RuleDef, TopLet, TypeBody, TypeDef, TypeExpr};
use crate::token::{Sym, Word};
use lang_base::Name;

impl<'a> Printer<'a> {
    /// Prints the tree's item, without its documentation.
    pub(super) fn item(&mut self) -> LayoutDoc<'a> {
        let tree = self.tree;
        match &tree.item {
            Item::Def(def) => self.def(def),
            Item::Type(def) => self.type_def(def),
            Item::Import(import) => self.import(import),
            Item::Let(item) => self.top_let(item),
            Item::Do(value) => {
                let word = self.word(Word::Do);
                // `do print(…)` stays on one line and breaks inside the call.
                let value = if matches!(tree.exprs[*value].kind, Expr::Call(..)) {
                    let call = self.expr(*value);
                    self.concat([self.space(), call])
                } else {
                    self.body(*value, BodyContext::Equals)
                };
                self.concat([word, value])
            }
            Item::DerivativeRule(rule) => self.rule(rule),
            Item::Error => self.nil(),
        }
    }

    fn def(&mut self, def: &'a Def) -> LayoutDoc<'a> {
        let word = self.word(Word::Def);
        let name = self.name(&def.name.name);
        // The parameters break before the result or the constraints do.
        let params = self.ungrouped_block(Sym::LParen, def.params.len(), Sym::RParen, |p, at| {
            p.print_nth(&def.params, at, |p, param| p.typed_name(&param.name.name, param.ty))
        });
        let mut head = vec![word, self.space(), name, params];
        if let Some(result) = def.result {
            let arrow = self.sym(Sym::Arrow);
            let result = self.ty(result);
            head.extend([self.space(), arrow, self.space(), result]);
        }
        if !def.constraints.is_empty() {
            let mut wanted = vec![self.line(), self.word(Word::Where), self.space()];
            for (nth, constraint) in def.constraints.iter().enumerate() {
                if nth > 0 {
                    wanted.push(self.sym(Sym::Comma));
                    wanted.push(self.soft_line());
                }
                let var = self.name(&constraint.var.name);
                let colon = self.sym(Sym::Colon);
                let class = self.name(&constraint.class.name);
                wanted.extend([var, colon, self.space(), class]);
            }
            let wanted = self.double_nest(self.concat(wanted));
            head.push(self.group(wanted));
        }
        let equals = self.sym(Sym::Assign);
        head.extend([self.space(), equals]);
        let head = self.group(self.concat(head));
        let body = self.body(def.body, BodyContext::Head);
        self.group(self.concat([head, body]))
    }

    fn type_def(&mut self, def: &'a TypeDef) -> LayoutDoc<'a> {
        let word = self.word(Word::Type);
        let name = self.name(&def.name.name);
        let mut head = vec![word, self.space(), name];
        if !def.params.is_empty() {
            head.push(self.bracketed_block(Sym::LParen, def.params.len(), Sym::RParen, |p, at| {
                p.print_nth(&def.params, at, |p, param| p.name(&param.name))
            }));
        }
        let equals = self.sym(Sym::Assign);
        head.extend([self.space(), equals]);
        let head = self.concat(head);
        let body = match &def.body {
            TypeBody::Single(ty) => {
                let hangs = matches!(self.tree.types[*ty].kind, TypeExpr::Record(_));
                let gap = if hangs { self.space() } else { self.line() };
                let ty = self.ty(*ty);
                let body = self.concat([gap, ty]);
                if hangs { body } else { self.nest(body) }
            }
            TypeBody::Sum(ctors) => {
                let mut all = Vec::new();
                for (nth, ctor) in ctors.iter().enumerate() {
                    all.push(self.line());
                    if nth > 0 || ctors.len() == 1 {
                        all.extend([self.sym(Sym::Bar), self.space()]);
                    } else {
                        // The first bar is printed only if each constructor has its own line.
                        self.skip_sym(Sym::Bar);
                        all.push(self.flat_alt("| ", ""));
                    }
                    all.push(self.name(&ctor.name.name));
                    if !ctor.args.is_empty() {
                        all.push(self.bracketed_block(Sym::LParen, ctor.args.len(), Sym::RParen, |p, at| {
                            p.print_nth(&ctor.args, at, |p, arg| p.ty(*arg))
                        }));
                    }
                }
                self.nest(self.concat(all))
            }
        };
        self.group(self.concat([head, body]))
    }

    fn import(&mut self, import: &'a Import) -> LayoutDoc<'a> {
        let word = self.word(Word::Import);
        let path = if import.is_file { self.string(&import.path.name) } else { self.name(&import.path.name) };
        let mut all = vec![word, self.space(), path];
        if let Some(alias) = &import.alias {
            let word = self.word(Word::As);
            let alias = self.name(&alias.name);
            all.extend([self.space(), word, self.space(), alias]);
        }
        self.concat(all)
    }

    fn top_let(&mut self, item: &'a TopLet) -> LayoutDoc<'a> {
        let word = self.word(Word::Let);
        let bound = self.typed_pat(item.pat, item.ty);
        let equals = self.sym(Sym::Assign);
        let value = self.body(item.value, BodyContext::Equals);
        let end = if item.is_quiet { self.sym(Sym::Semi) } else { self.nil() };
        self.concat([word, self.space(), bound, self.space(), equals, value, end])
    }

    fn rule(&mut self, rule: &'a RuleDef) -> LayoutDoc<'a> {
        let word = self.name(&Name::new_static(if rule.is_adjoint { "adjoint" } else { "derivative" }));
        let name = self.name(&rule.name.name);
        let open = self.sym(Sym::LParen);
        let mut inside = vec![self.line_or_nothing()];
        self.name_list(&rule.params, &mut inside);
        inside.push(self.sym(Sym::Semi));
        if !rule.tangents.is_empty() {
            inside.push(self.line());
            self.name_list(&rule.tangents, &mut inside);
        }
        let inside = self.nest(self.concat(inside));
        let end = self.closing_break("");
        let close = self.sym(Sym::RParen);
        let names = self.group(self.concat([open, inside, end, close]));
        let equals = self.sym(Sym::Assign);
        let head = self.concat([word, self.space(), name, names, self.space(), equals]);
        let body = self.body(rule.body, BodyContext::Head);
        self.group(self.concat([head, body]))
    }

    fn name_list(&mut self, names: &'a [Ident], out: &mut Vec<LayoutDoc<'a>>) {
        for (nth, name) in names.iter().enumerate() {
            if nth > 0 {
                out.push(self.sym(Sym::Comma));
                out.push(self.line());
            }
            out.push(self.variable(&name.name));
        }
    }
}

//! **Layout of types and patterns.** Prints written types and patterns as documents.

use super::prec::OperandStrength;
use super::printer::{LayoutDoc, Printer};
use crate::ast::{ExprId, Pat, PatId, SizeExpr, TypeArg, TypeExpr, TypeId};
use crate::token::{Sym, Word};
use lang_base::Name;

impl<'a> Printer<'a> {
    pub(super) fn ty(&mut self, at: TypeId) -> LayoutDoc<'a> {
        self.with_stack(|p| p.ty_node(at))
    }

    fn ty_node(&mut self, at: TypeId) -> LayoutDoc<'a> {
        let tree = self.tree;
        match &tree.types[at].kind {
            TypeExpr::Error => self.static_text("?"),
            TypeExpr::Name { module, name, args } => {
                let mut all = Vec::new();
                if let Some(module) = module {
                    all.push(self.name(&module.name));
                    all.push(self.sym(Sym::Dot));
                }
                all.push(self.name(&name.name));
                if !args.is_empty() {
                    all.push(self.bracketed_block(Sym::LParen, args.len(), Sym::RParen, |p, at| {
                        p.print_nth(args, at, |p, arg| match arg {
                            TypeArg::Type(ty) => p.ty(*ty),
                            TypeArg::Size(size) => p.size_expr(size),
                        })
                    }));
                }
                self.concat(all)
            }
            TypeExpr::Array(sizes, element) => {
                let sizes = self.sizes(sizes);
                // `[n](A) -> B` would read as a function.
                let element = match &tree.types[*element].kind {
                    TypeExpr::Fun(..) => self.bracketed_block(Sym::LParen, 1, Sym::RParen, |p, _| p.ty(*element)),
                    _ => self.ty(*element),
                };
                self.concat([sizes, element])
            }
            TypeExpr::Tuple(items) => self.bracketed_block(Sym::LParen, items.len(), Sym::RParen, |p, at| {
                p.print_nth(items, at, |p, ty| p.ty(*ty))
            }),
            TypeExpr::Record(fields) => self.bracketed_block(Sym::LBrace, fields.len(), Sym::RBrace, |p, at| {
                p.print_nth(fields, at, |p, (name, ty)| p.typed_name(&name.name, *ty))
            }),
            TypeExpr::Fun(params, result) => {
                let params = self.bracketed_block(Sym::LParen, params.len(), Sym::RParen, |p, at| {
                    p.print_nth(params, at, |p, (name, ty)| match name {
                        Some(name) => p.typed_name(&name.name, *ty),
                        None => p.ty(*ty),
                    })
                });
                let arrow = self.sym(Sym::Arrow);
                let result = self.ty(*result);
                self.concat([params, self.space(), arrow, self.space(), result])
            }
            TypeExpr::Rel(sizes) => {
                let word = self.name(&Name::new_static("rel"));
                let sizes = self.sizes(sizes);
                self.concat([word, sizes])
            }
        }
    }

    /// `name: type`
    pub(super) fn typed_name(&mut self, name: &Name, ty: TypeId) -> LayoutDoc<'a> {
        let name = self.variable(name);
        let colon = self.sym(Sym::Colon);
        let ty = self.ty(ty);
        self.concat([name, colon, self.space(), ty])
    }

    fn sizes(&mut self, sizes: &'a [SizeExpr]) -> LayoutDoc<'a> {
        self.bracketed_block(Sym::LBracket, sizes.len(), Sym::RBracket, |p, at| p.print_nth(sizes, at, Self::size_expr))
    }

    fn size_expr(&mut self, size: &'a SizeExpr) -> LayoutDoc<'a> {
        match size {
            SizeExpr::Expr(size) => self.size(*size),
            SizeExpr::Unknown(name) => {
                let mark = self.sym(Sym::Question);
                let name = self.name(&name.name);
                self.concat([mark, name])
            }
        }
    }

    fn size(&mut self, at: ExprId) -> LayoutDoc<'a> {
        self.operand(at, OperandStrength::Sum, false)
    }

    pub(super) fn pat(&mut self, at: PatId) -> LayoutDoc<'a> {
        self.with_stack(|p| p.pat_node(at))
    }

    fn pat_node(&mut self, at: PatId) -> LayoutDoc<'a> {
        let tree = self.tree;
        match &tree.pats[at].kind {
            Pat::Error => self.static_text("?"),
            Pat::Wild => self.sym(Sym::Underscore),
            Pat::Name(name) => self.name(name),
            Pat::Ctor { module, name, args } => {
                let mut all = Vec::new();
                if let Some(module) = module {
                    all.push(self.name(&module.name));
                    all.push(self.sym(Sym::Dot));
                }
                all.push(self.name(&name.name));
                // Without module and arguments it would read as a plain name.
                if !args.is_empty() || module.is_none() {
                    let args = self.bracketed_block(Sym::LParen, args.len(), Sym::RParen, |p, at| {
                        p.print_nth(args, at, |p, arg| p.pat(*arg))
                    });
                    all.push(args);
                }
                self.concat(all)
            }
            Pat::Tuple(items) => self.bracketed_block(Sym::LParen, items.len(), Sym::RParen, |p, at| {
                p.print_nth(items, at, |p, item| p.pat(*item))
            }),
            Pat::Record(fields) => self.bracketed_block(Sym::LBrace, fields.len(), Sym::RBrace, |p, at| {
                p.print_nth(fields, at, |p, (name, pat)| {
                    let name = p.name(&name.name);
                    let Some(pat) = pat else { return name };
                    let colon = p.sym(Sym::Colon);
                    let pat = p.pat(*pat);
                    p.concat([name, colon, p.space(), pat])
                })
            }),
            Pat::Int(value) => {
                let minus = if *value < 0 { self.sym(Sym::Minus) } else { self.nil() };
                let value = self.int(value.unsigned_abs());
                self.concat([minus, value])
            }
            Pat::Bool(true) => self.word(Word::True),
            Pat::Bool(false) => self.word(Word::False),
            Pat::Sized(names, inner) => {
                let names = self.bracketed_block(Sym::LBracket, names.len(), Sym::RBracket, |p, at| {
                    p.print_nth(names, at, |p, name| p.variable(&name.name))
                });
                let inner = self.pat(*inner);
                self.concat([names, self.space(), inner])
            }
        }
    }
}

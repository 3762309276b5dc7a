//! **Layout of types and patterns.** Prints written types and patterns as documents.

use super::prec::Bind;
use super::printer::{Piece, Printer};
use crate::ast::{ExprId, Pat, PatId, SizeExpr, TypeArg, TypeExpr, TypeId};
use crate::token::{Sym, Word};
use lang_base::Name;

impl<'a> Printer<'a> {
    pub(super) fn ty(&mut self, at: TypeId) -> Piece<'a> {
        self.deep(|p| p.ty_here(at))
    }

    fn ty_here(&mut self, at: TypeId) -> Piece<'a> {
        let tree = self.tree;
        match &tree.types[at].kind {
            TypeExpr::Error => self.raw("?"),
            TypeExpr::Name { module, name, args } => {
                let mut all = Vec::new();
                if let Some(module) = module {
                    all.push(self.name(&module.name));
                    all.push(self.sym(Sym::Dot));
                }
                all.push(self.name(&name.name));
                if !args.is_empty() {
                    all.push(self.block(Sym::LParen, args.len(), Sym::RParen, |p, at| {
                        p.nth(args, at, |p, arg| match arg {
                            TypeArg::Type(ty) => p.ty(*ty),
                            TypeArg::Size(size) => p.written_size(size),
                        })
                    }));
                }
                self.cat(all)
            }
            TypeExpr::Array(sizes, element) => {
                let sizes = self.sizes(sizes);
                // `[n](A) -> B` would read as a function.
                let element = match &tree.types[*element].kind {
                    TypeExpr::Fun(..) => self.block(Sym::LParen, 1, Sym::RParen, |p, _| p.ty(*element)),
                    _ => self.ty(*element),
                };
                self.cat([sizes, element])
            }
            TypeExpr::Tuple(items) => {
                self.block(Sym::LParen, items.len(), Sym::RParen, |p, at| p.nth(items, at, |p, ty| p.ty(*ty)))
            }
            TypeExpr::Record(fields) => self.block(Sym::LBrace, fields.len(), Sym::RBrace, |p, at| {
                p.nth(fields, at, |p, (name, ty)| p.typed(&name.name, *ty))
            }),
            TypeExpr::Fun(params, result) => {
                let params = self.block(Sym::LParen, params.len(), Sym::RParen, |p, at| {
                    p.nth(params, at, |p, (name, ty)| match name {
                        Some(name) => p.typed(&name.name, *ty),
                        None => p.ty(*ty),
                    })
                });
                let arrow = self.sym(Sym::Arrow);
                let result = self.ty(*result);
                self.cat([params, self.space(), arrow, self.space(), result])
            }
            TypeExpr::Rel(sizes) => {
                let word = self.name(&Name::new_static("rel"));
                let sizes = self.sizes(sizes);
                self.cat([word, sizes])
            }
        }
    }

    /// `name: type`
    pub(super) fn typed(&mut self, name: &Name, ty: TypeId) -> Piece<'a> {
        let name = self.variable(name);
        let colon = self.sym(Sym::Colon);
        let ty = self.ty(ty);
        self.cat([name, colon, self.space(), ty])
    }

    fn sizes(&mut self, sizes: &'a [SizeExpr]) -> Piece<'a> {
        self.block(Sym::LBracket, sizes.len(), Sym::RBracket, |p, at| p.nth(sizes, at, Self::written_size))
    }

    fn written_size(&mut self, size: &'a SizeExpr) -> Piece<'a> {
        match size {
            SizeExpr::Expr(size) => self.size(*size),
            SizeExpr::Unknown(name) => {
                let mark = self.sym(Sym::Question);
                let name = self.name(&name.name);
                self.cat([mark, name])
            }
        }
    }

    fn size(&mut self, at: ExprId) -> Piece<'a> {
        self.operand(at, Bind::Sum, false)
    }

    pub(super) fn pat(&mut self, at: PatId) -> Piece<'a> {
        self.deep(|p| p.pat_here(at))
    }

    fn pat_here(&mut self, at: PatId) -> Piece<'a> {
        let tree = self.tree;
        match &tree.pats[at].kind {
            Pat::Error => self.raw("?"),
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
                    let args =
                        self.block(Sym::LParen, args.len(), Sym::RParen, |p, at| p.nth(args, at, |p, arg| p.pat(*arg)));
                    all.push(args);
                }
                self.cat(all)
            }
            Pat::Tuple(items) => {
                self.block(Sym::LParen, items.len(), Sym::RParen, |p, at| p.nth(items, at, |p, item| p.pat(*item)))
            }
            Pat::Record(fields) => self.block(Sym::LBrace, fields.len(), Sym::RBrace, |p, at| {
                p.nth(fields, at, |p, (name, pat)| {
                    let name = p.name(&name.name);
                    let Some(pat) = pat else { return name };
                    let colon = p.sym(Sym::Colon);
                    let pat = p.pat(*pat);
                    p.cat([name, colon, p.space(), pat])
                })
            }),
            Pat::Int(value) => {
                let minus = if *value < 0 { self.sym(Sym::Minus) } else { self.nil() };
                let value = self.int(value.unsigned_abs());
                self.cat([minus, value])
            }
            Pat::Bool(true) => self.word(Word::True),
            Pat::Bool(false) => self.word(Word::False),
            Pat::Sized(names, inner) => {
                let names = self.block(Sym::LBracket, names.len(), Sym::RBracket, |p, at| {
                    p.nth(names, at, |p, name| p.variable(&name.name))
                });
                let inner = self.pat(*inner);
                self.cat([names, self.space(), inner])
            }
        }
    }
}

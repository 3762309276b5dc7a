//! **Random syntax trees.** Draws trees that the parser accepts. The names in them need not
//! resolve.

use lang_core::base::{Arena, Name, Span};
use lang_core::syntax::ast::{
    Arm, CallArg, Constraint, Ctor, Def, Expr, ExprId, Ident, Import, IndexRange, IndexVar, Item, LambdaParam, LetBind,
    Param, Pat, PatId, RuleDef, SizeExpr, Subscript, SyntaxNode, TopLet, Tree, TypeArg, TypeBody, TypeDef, TypeExpr,
    TypeId, UpdateTarget, WithUpdate,
};
use lang_core::syntax::ops::{BinOp, BinderKind, UnOp};

use crate::random::Random;

/// Names to draw from. A binder's word is a name if no index variable follows it.
const NAMES: &[&str] = &["a", "b", "x", "y", "n", "m", "μ", "θ₀", "x'", "sum", "max", "grad", "a_rather_long_name"];
/// Names of fields, which may be reserved words.
const FIELDS: &[&str] = &["w", "bias", "def", "in", "type", "let", "for", "velocity"];
/// Names of types.
const TYPES: &[&str] = &["f64", "i64", "bool", "a", "Tree", "Camera"];

/// The generator of trees.
struct Gen<'r> {
    random: &'r mut Random,
    exprs: Arena<SyntaxNode<Expr>>,
    pats: Arena<SyntaxNode<Pat>>,
    types: Arena<SyntaxNode<TypeExpr>>,
    /// A counter that makes each binding's name unique, because two equal names may be an error.
    fresh: usize,
}

fn node<T>(kind: T) -> SyntaxNode<T> {
    SyntaxNode { kind, span: Span::default() }
}

fn ident(name: impl Into<Name>) -> Ident {
    Ident { name: name.into(), span: Span::default() }
}

impl Gen<'_> {
    fn add(&mut self, expr: Expr) -> ExprId {
        self.exprs.alloc(node(expr))
    }

    fn name(&mut self) -> Name {
        Name::new_static(self.random.pick_or(NAMES, "x"))
    }

    fn binding(&mut self) -> Ident {
        self.fresh += 1;
        ident(format!("{}{}", self.random.pick_or(&["k", "v", "Θ", "long_name_"], "k"), self.fresh))
    }

    fn variable(&mut self) -> Ident {
        if self.random.once_in(12) { ident("_") } else { self.binding() }
    }

    fn field(&mut self) -> Ident {
        ident(self.random.pick_or(FIELDS, "w"))
    }

    /// Draws fields with distinct names.
    fn fields(&mut self) -> Vec<Ident> {
        let count = 1 + self.random.number_below(3);
        let from = self.random.number_below(FIELDS.len());
        (0..count).filter_map(|i| FIELDS.get((from + i) % FIELDS.len())).map(|name| ident(*name)).collect()
    }

    fn some<T>(&mut self, least: usize, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.random.number_below(most - least + 1);
        (0..count).map(|_| one(self)).collect()
    }

    fn maybe<T>(&mut self, one_in: usize, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.random.once_in(one_in).then(|| one(self))
    }

    fn leaf(&mut self) -> Expr {
        match self.random.number_below(12) {
            0 | 1 => Expr::Int(self.random.pick_or(&[0, 1, 2, 17, 1_000_000, (1 << 63) - 1], 0)),
            2 => Expr::Float(self.random.pick_or(&[0.0, 0.1, 1.5, 1e-14, 2.5e100, f64::MAX, 5e-324], 0.0)),
            3 => Expr::Bool(self.random.once_in(2)),
            4 => Expr::Str(Name::new_static(self.random.pick_or(&["", "text", "two\nlines\t\"q\" \\ -- no"], ""))),
            _ => Expr::Name(self.name()),
        }
    }

    fn expr(&mut self, depth: usize) -> ExprId {
        let expr = if depth == 0 || self.random.once_in(8) { self.leaf() } else { self.inner(depth - 1) };
        self.add(expr)
    }

    fn exprs(&mut self, least: usize, most: usize, depth: usize) -> Vec<ExprId> {
        self.some(least, most, |g| g.expr(depth))
    }

    fn inner(&mut self, d: usize) -> Expr {
        match self.random.number_below(27) {
            0 => Expr::Unary(self.random.pick_or(&[UnOp::Neg, UnOp::Not], UnOp::Neg), self.expr(d)),
            1..=3 => {
                let level = self.random.pick_or(&BinOp::ALL, BinOp::Add).precedence();
                let ops: Vec<BinOp> = BinOp::ALL.into_iter().filter(|op| op.precedence() == level).collect();
                let first = self.expr(d);
                let rest = self.some(1, 4, |g| (g.random.pick_or(&ops, BinOp::Add), Span::default(), g.expr(d)));
                Expr::Chain { first, rest }
            }
            4 => Expr::Power(self.expr(d), self.expr(d)),
            5 => Expr::Guard { cond: self.expr(d), body: self.expr(d) },
            6 => {
                let most = if self.random.once_in(4) { 40 } else { 4 };
                let items = self.exprs(0, most, if most == 40 { 0 } else { d });
                let comma = !items.is_empty() && self.random.once_in(3);
                Expr::Array { items, has_trailing_comma: comma }
            }
            7 => Expr::Paren(self.expr(d)),
            8 if self.random.once_in(4) => Expr::Tuple(Vec::new()),
            8 => Expr::Tuple(self.exprs(2, 4, d)),
            9 => Expr::Record(self.fields().into_iter().map(|name| (name, self.expr(d))).collect()),
            10 => Expr::Field(self.expr(d), self.field()),
            11 => {
                let at = u32::from(self.random.once_in(2));
                Expr::Proj(self.expr(d), at, Span::default())
            }
            12 => Expr::Index(self.expr(d), self.subscripts(d)),
            13 | 14 => {
                let callee = self.expr(d.min(1));
                let args = self.some(0, 4, |g| CallArg { name: g.maybe(6, |_| ident("wrt")), value: g.expr(d) });
                Expr::Call(callee, args)
            }
            15 => {
                let params = self.some(1, 3, |g| LambdaParam { pat: g.pat(1), ty: g.maybe(3, |g| g.ty(2)) });
                Expr::Lambda(params, self.expr(d))
            }
            16 | 17 => {
                let binds =
                    self.some(1, 3, |g| LetBind { pat: g.let_pat(), ty: g.maybe(4, |g| g.ty(2)), value: g.expr(d) });
                Expr::Let(binds, self.expr(d))
            }
            18 => Expr::If(self.some(1, 3, |g| (g.expr(d), g.expr(d))), self.expr(d)),
            19 => {
                let value = self.expr(d);
                Expr::Match(value, self.some(1, 3, |g| Arm { pat: g.pat(2), body: g.expr(d) }))
            }
            20..=22 => {
                let kind = self.random.pick_or(&BinderKind::ALL, BinderKind::For);
                let vars = self.vars(d);
                let filter = if kind == BinderKind::For { None } else { self.maybe(3, |g| g.expr(d)) };
                Expr::Binder { kind, vars, filter, body: self.expr(d) }
            }
            23 => {
                let scan = self.random.once_in(2);
                Expr::Fold {
                    is_scan: scan,
                    acc: self.pat(1),
                    ty: self.maybe(4, |g| g.ty(2)),
                    init: self.expr(d),
                    vars: self.vars(d),
                    body: self.expr(d),
                    yields: if scan { None } else { self.maybe(2, |g| g.expr(d)) },
                }
            }
            24 if d > 0 && self.random.once_in(3) => {
                let of = Expr::Loop {
                    is_scan: self.random.once_in(2),
                    acc: self.pat(1),
                    ty: None,
                    init: self.expr(d - 1),
                    cond: self.expr(d - 1),
                    body: self.expr(d - 1),
                };
                Expr::Checkpoint { spacing: self.maybe(2, |g| g.expr(d - 1)), body: self.add(of) }
            }
            24 => Expr::Loop {
                is_scan: self.random.once_in(2),
                acc: self.pat(1),
                ty: self.maybe(4, |g| g.ty(2)),
                init: self.expr(d),
                cond: self.expr(d),
                body: self.expr(d),
            },
            25 => {
                let base = self.expr(d);
                let updates = self.some(1, 3, |g| {
                    let place = match g.random.number_below(3) {
                        0 => UpdateTarget::Index(g.subscripts(d), Span::default()),
                        1 => UpdateTarget::Field(g.field()),
                        _ => UpdateTarget::Proj(0, Span::default()),
                    };
                    WithUpdate { target: place, is_add: g.random.once_in(2), value: g.expr(d) }
                });
                Expr::With(base, updates)
            }
            _ => Expr::Card(self.expr(d)),
        }
    }

    fn subscripts(&mut self, depth: usize) -> Vec<Subscript> {
        self.some(1, 3, |g| match g.random.number_below(4) {
            0 => Subscript::FullAxis(Span::default()),
            1 => Subscript::Range(g.expr(depth), g.expr(depth)),
            _ => Subscript::Index(g.expr(depth)),
        })
    }

    fn vars(&mut self, depth: usize) -> Vec<IndexVar> {
        self.some(1, 3, |g| {
            let name = g.variable();
            let range = match g.random.number_below(3) {
                0 => IndexRange::Bare,
                1 => IndexRange::Below(g.expr(depth)),
                _ => IndexRange::Range { from: g.expr(depth), to: g.expr(depth), by: g.maybe(2, |g| g.expr(depth)) },
            };
            IndexVar { name, range }
        })
    }

    /// Draws a pattern of a `let`, which may bind the extents of an array.
    fn let_pat(&mut self) -> PatId {
        if self.random.once_in(6) {
            let names = self.some(1, 2, Self::binding);
            let inner = self.pat(0);
            return self.pats.alloc(node(Pat::Sized(names, inner)));
        }
        self.pat(2)
    }

    fn pat(&mut self, depth: usize) -> PatId {
        let pat = match if depth == 0 { 0 } else { self.random.number_below(10) } {
            1 => Pat::Wild,
            2 | 3 => {
                let module = self.maybe(3, |_| ident("tree"));
                let args = self.some(0, 3, |g| g.pat(depth - 1));
                Pat::Ctor { module, name: ident("Node"), args }
            }
            4 => {
                let items = self.some(2, 3, |g| g.pat(depth - 1));
                Pat::Tuple(if self.random.once_in(5) { Vec::new() } else { items })
            }
            5 => {
                let mut fields = Vec::new();
                for name in self.fields() {
                    let pat = self.pat(depth - 1);
                    fields.push((name, Some(pat)));
                }
                if self.random.once_in(2) {
                    fields.push((self.binding(), None));
                }
                Pat::Record(fields)
            }
            6 => Pat::Int(self.random.pick_or(&[0, 3, -3, i64::MAX, i64::MIN], 0)),
            7 => Pat::Bool(self.random.once_in(2)),
            _ => Pat::Name(self.binding().name),
        };
        self.pats.alloc(node(pat))
    }

    fn ty(&mut self, depth: usize) -> TypeId {
        let ty = match if depth == 0 { 0 } else { self.random.number_below(9) } {
            1 | 2 => TypeExpr::Array(self.sizes(), self.ty(depth - 1)),
            3 => {
                let items = self.some(2, 3, |g| g.ty(depth - 1));
                TypeExpr::Tuple(if self.random.once_in(4) { Vec::new() } else { items })
            }
            4 => TypeExpr::Record(self.fields().into_iter().map(|name| (name, self.ty(depth - 1))).collect()),
            5 => {
                let params = self.some(0, 3, |g| (g.maybe(3, Self::binding), g.ty(depth - 1)));
                TypeExpr::Fun(params, self.ty(depth - 1))
            }
            6 => TypeExpr::Rel(self.sizes()),
            7 => TypeExpr::Name {
                module: self.maybe(3, |_| ident("geometry")),
                name: ident("Net"),
                args: self.some(1, 3, |g| match g.random.number_below(5) {
                    0 | 1 => TypeArg::Type(g.ty(depth - 1)),
                    2 => TypeArg::Size(SizeExpr::Unknown(g.binding())),
                    _ => TypeArg::Size(SizeExpr::Expr(g.computed_size())),
                }),
            },
            _ => TypeExpr::Name { module: None, name: ident(self.random.pick_or(TYPES, "f64")), args: Vec::new() },
        };
        self.types.alloc(node(ty))
    }

    fn sizes(&mut self) -> Vec<SizeExpr> {
        self.some(1, 3, |g| match g.random.number_below(4) {
            0 => SizeExpr::Unknown(g.binding()),
            1 => SizeExpr::Expr(g.computed_size()),
            _ => SizeExpr::Expr(g.size_name()),
        })
    }

    fn size_name(&mut self) -> ExprId {
        let name = self.random.pick_or(&["n", "m", "k"], "n");
        self.add(Expr::Name(Name::new_static(name)))
    }

    /// Draws a size that cannot be read as a type.
    fn computed_size(&mut self) -> ExprId {
        let atom = |g: &mut Self| match g.random.number_below(3) {
            0 => g.add(Expr::Int(784)),
            _ => g.size_name(),
        };
        let expr = match self.random.number_below(4) {
            0 => Expr::Int(10),
            1 => {
                let first = atom(self);
                let op = self.random.pick_or(&[BinOp::Mul, BinOp::FloorDiv, BinOp::Mod], BinOp::Mul);
                Expr::Chain { first, rest: vec![(op, Span::default(), atom(self))] }
            }
            _ => {
                let first = atom(self);
                let op = |g: &mut Self| g.random.pick_or(&[BinOp::Add, BinOp::Sub], BinOp::Add);
                Expr::Chain { first, rest: self.some(1, 2, |g| (op(g), Span::default(), atom(g))) }
            }
        };
        self.add(expr)
    }

    fn item(&mut self, depth: usize) -> Item {
        match self.random.number_below(12) {
            0 => Item::Import(Import { path: ident("linalg"), is_file: false, alias: self.maybe(2, Self::binding) }),
            1 => Item::Import(Import {
                path: ident("./lib/mine.iv"),
                is_file: true,
                alias: self.maybe(2, Self::binding),
            }),
            2 | 3 => {
                let body = if self.random.once_in(2) {
                    TypeBody::Single(self.ty(3))
                } else {
                    TypeBody::Sum(self.some(1, 6, |g| {
                        let name = g.binding();
                        Ctor { name, args: g.some(0, 2, |g| g.ty(2)) }
                    }))
                };
                let name = self.binding();
                Item::Type(TypeDef { name, params: self.some(0, 2, Self::binding), body })
            }
            4 => Item::Let(TopLet {
                pat: self.let_pat(),
                ty: self.maybe(3, |g| g.ty(2)),
                value: self.expr(depth),
                is_quiet: self.random.once_in(3),
            }),
            5 => Item::Do(self.expr(depth)),
            6 => Item::DerivativeRule(RuleDef {
                is_adjoint: self.random.once_in(2),
                name: self.binding(),
                params: self.some(1, 3, Self::binding),
                tangents: self.some(1, 2, Self::binding),
                body: self.expr(depth),
            }),
            _ => Item::Def(Def {
                name: self.binding(),
                params: self.some(0, 4, |g| Param { name: g.binding(), ty: g.ty(3) }),
                result: self.maybe(2, |g| g.ty(3)),
                constraints: if self.random.once_in(5) {
                    self.some(1, 2, |g| {
                        let var = g.binding();
                        Constraint { var, class: ident(g.random.pick_or(&["real", "num"], "num")) }
                    })
                } else {
                    Vec::new()
                },
                body: self.expr(depth),
            }),
        }
    }
}

/// Draws an item.
pub fn tree(random: &mut Random) -> Tree {
    let depth = 1 + random.number_below(5);
    let docs = if random.once_in(6) { "What it is.\nAnd more." } else { "" };
    let mut g = Gen { random, exprs: Arena::default(), pats: Arena::default(), types: Arena::default(), fresh: 0 };
    let item = g.item(depth);
    let (docs, span, unread) = (docs.to_owned(), Span::default(), Vec::new());
    Tree { item, docs, span, skipped_names: unread, exprs: g.exprs, pats: g.pats, types: g.types }
}

//! Random surface programs, and the laws of printing, parsing and formatting they must obey.
//!
//! A program is drawn as trees, not as text: every variant of the surface tree occurs, which a
//! table of hits shows. The trees are valid for the parser and need not resolve. Each is printed,
//! and then scrambled: its tokens set apart by random blanks, line ends and comments.

use std::collections::BTreeMap;
use std::fmt;

use lang_core::base::{Arena, Name, Span};
use lang_core::syntax::ast::{
    Arg, Arm, Constraint, Ctor, Def, Expr, ExprId, Ident, Import, IndexRange, IndexVar, Item, LambdaParam, LetBind,
    Node, Param, Pat, PatId, Place, Rule, SizeExpr, Subscript, TopLet, Tree, TypeArg, TypeBody, TypeDef, TypeExpr,
    TypeId, Update,
};
use lang_core::syntax::format::{format_file, outline, print_tree, same_meaning, same_tree};
use lang_core::syntax::lexer::{Spanned, Token, lex};
use lang_core::syntax::ops::{BinOp, BinderKind, UnOp};
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::split;
use lang_core::syntax::token::Sym;

/// Numbers that look random and are the same for the same seed (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        from.get(self.below(from.len())).copied().unwrap_or(otherwise)
    }
}

/// How often each variant of the surface tree occurred.
#[derive(Clone, Default, Debug)]
pub struct Hits(BTreeMap<&'static str, u64>);

impl Hits {
    /// The variants that did not occur.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        VARIANTS.iter().copied().filter(|name| !self.0.contains_key(name)).collect()
    }

    fn hit(&mut self, name: &'static str) {
        debug_assert!(VARIANTS.contains(&name), "{name} is missing in the table of variants");
        *self.0.entry(name).or_default() += 1;
    }

    fn count(&mut self, tree: &Tree) {
        self.hit(match &tree.item {
            Item::Def(_) => "Item::Def",
            Item::Type(def) => match &def.body {
                TypeBody::Sum(_) => "TypeBody::Sum",
                TypeBody::Single(_) => "TypeBody::Single",
            },
            Item::Import(_) => "Item::Import",
            Item::Let(_) => "Item::Let",
            Item::Do(_) => "Item::Do",
            Item::Rule(_) => "Item::Rule",
            Item::Error => return,
        });
        for (_, node) in tree.exprs.iter() {
            self.count_expr(&node.kind);
        }
        for (_, node) in tree.pats.iter() {
            self.hit(match &node.kind {
                Pat::Error => continue,
                Pat::Wild => "Pat::Wild",
                Pat::Name(_) => "Pat::Name",
                Pat::Ctor { .. } => "Pat::Ctor",
                Pat::Tuple(_) => "Pat::Tuple",
                Pat::Record(_) => "Pat::Record",
                Pat::Int(_) => "Pat::Int",
                Pat::Bool(_) => "Pat::Bool",
                Pat::Sized(..) => "Pat::Sized",
            });
        }
        for (_, node) in tree.types.iter() {
            let sizes = match &node.kind {
                TypeExpr::Array(sizes, _) | TypeExpr::Rel(sizes) => sizes.as_slice(),
                TypeExpr::Name { args, .. } => {
                    for arg in args {
                        self.hit(match arg {
                            TypeArg::Type(_) => "TypeArg::Type",
                            TypeArg::Size(_) => "TypeArg::Size",
                        });
                    }
                    &[]
                }
                _ => &[],
            };
            for size in sizes {
                self.hit(match size {
                    SizeExpr::Expr(_) => "SizeExpr::Expr",
                    SizeExpr::Unknown(_) => "SizeExpr::Unknown",
                });
            }
            self.hit(match &node.kind {
                TypeExpr::Error => continue,
                TypeExpr::Name { .. } => "TypeExpr::Name",
                TypeExpr::Array(..) => "TypeExpr::Array",
                TypeExpr::Tuple(_) => "TypeExpr::Tuple",
                TypeExpr::Record(_) => "TypeExpr::Record",
                TypeExpr::Fun(..) => "TypeExpr::Fun",
                TypeExpr::Rel(_) => "TypeExpr::Rel",
            });
        }
    }

    fn count_expr(&mut self, expr: &Expr) {
        let (mut vars, mut places): (&[IndexVar], &[Subscript]) = (&[], &[]);
        let name = match expr {
            Expr::Error => return,
            Expr::Int(_) => "Expr::Int",
            Expr::Float(_) => "Expr::Float",
            Expr::Bool(_) => "Expr::Bool",
            Expr::Str(_) => "Expr::Str",
            Expr::Name(_) => "Expr::Name",
            Expr::Unary(UnOp::Neg, _) => "Expr::Unary Neg",
            Expr::Unary(UnOp::Not, _) => "Expr::Unary Not",
            Expr::Chain { rest, .. } => {
                rest.iter().for_each(|(op, ..)| self.hit(op.symbol()));
                "Expr::Chain"
            }
            Expr::Power(..) => "Expr::Power",
            Expr::Guard { .. } => "Expr::Guard",
            Expr::Array { .. } => "Expr::Array",
            Expr::Paren(_) => "Expr::Paren",
            Expr::Tuple(_) => "Expr::Tuple",
            Expr::Record(_) => "Expr::Record",
            Expr::Field(..) => "Expr::Field",
            Expr::Proj(..) => "Expr::Proj",
            Expr::Index(_, within) => {
                places = within;
                "Expr::Index"
            }
            Expr::Call(..) => "Expr::Call",
            Expr::Lambda(..) => "Expr::Lambda",
            Expr::Let(..) => "Expr::Let",
            Expr::If(..) => "Expr::If",
            Expr::Match(..) => "Expr::Match",
            Expr::Binder { kind, vars: over, .. } => {
                vars = over;
                self.hit(kind.word());
                "Expr::Binder"
            }
            Expr::Fold { vars: over, yields, scan, .. } => {
                vars = over;
                if yields.is_some() {
                    self.hit("Expr::Fold yield");
                }
                if *scan { "Expr::Fold scan" } else { "Expr::Fold" }
            }
            Expr::Loop { scan: true, .. } => "Expr::Loop scan",
            Expr::Loop { .. } => "Expr::Loop",
            Expr::With(_, updates) => {
                for update in updates {
                    self.hit(match &update.place {
                        Place::Index(..) => "Place::Index",
                        Place::Field(_) => "Place::Field",
                        Place::Proj(..) => "Place::Proj",
                    });
                }
                "Expr::With"
            }
            Expr::Card(_) => "Expr::Card",
        };
        self.hit(name);
        for var in vars {
            self.hit(match &var.range {
                IndexRange::Bare => "IndexRange::Bare",
                IndexRange::Below(_) => "IndexRange::Below",
                IndexRange::Range { by: None, .. } => "IndexRange::Range",
                IndexRange::Range { by: Some(_), .. } => "IndexRange::Range by",
            });
        }
        for place in places {
            self.hit(match place {
                Subscript::At(_) => "Subscript::At",
                Subscript::Range(..) => "Subscript::Range",
                Subscript::Whole(_) => "Subscript::Whole",
            });
        }
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in VARIANTS {
            writeln!(f, "{:>9}  {name}", self.0.get(name).copied().unwrap_or(0))?;
        }
        Ok(())
    }
}

/// Every variant that must occur. The matches above name them all and have no `_`.
#[rustfmt::skip]
const VARIANTS: &[&str] = &[
    "Item::Def", "TypeBody::Sum", "TypeBody::Single", "Item::Import", "Item::Let", "Item::Do", "Item::Rule",
    "Pat::Wild", "Pat::Name", "Pat::Ctor", "Pat::Tuple", "Pat::Record", "Pat::Int", "Pat::Bool", "Pat::Sized",
    "TypeExpr::Name", "TypeExpr::Array", "TypeExpr::Tuple", "TypeExpr::Record", "TypeExpr::Fun", "TypeExpr::Rel",
    "TypeArg::Type", "TypeArg::Size", "SizeExpr::Expr", "SizeExpr::Unknown",
    "Expr::Int", "Expr::Float", "Expr::Bool", "Expr::Str", "Expr::Name", "Expr::Unary Neg", "Expr::Unary Not",
    "Expr::Chain", "Expr::Power", "Expr::Guard", "Expr::Array", "Expr::Paren", "Expr::Tuple", "Expr::Record",
    "Expr::Field", "Expr::Proj", "Expr::Index", "Expr::Call", "Expr::Lambda", "Expr::Let", "Expr::If",
    "Expr::Match", "Expr::Binder", "Expr::Fold", "Expr::Fold scan", "Expr::Fold yield", "Expr::Loop",
    "Expr::Loop scan", "Expr::With", "Expr::Card",
    "Place::Index", "Place::Field", "Place::Proj", "Subscript::At", "Subscript::Range", "Subscript::Whole",
    "IndexRange::Bare", "IndexRange::Below", "IndexRange::Range", "IndexRange::Range by",
    "|>", "||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%",
    "for", "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "rel",
];

/// Names to use. Words of binders are names where no index variable follows.
const NAMES: &[&str] = &["a", "b", "x", "y", "n", "m", "μ", "θ₀", "x'", "sum", "max", "grad", "a_rather_long_name"];
/// Names of fields, which may be words.
const FIELDS: &[&str] = &["w", "bias", "def", "in", "type", "let", "for", "velocity"];
/// Names of types.
const TYPES: &[&str] = &["f64", "i64", "bool", "a", "Tree", "Camera"];

/// Draws trees.
struct Gen<'r> {
    random: &'r mut Random,
    exprs: Arena<Node<Expr>>,
    pats: Arena<Node<Pat>>,
    types: Arena<Node<TypeExpr>>,
    /// Makes each binding's name new, as two of one name may be an error.
    fresh: usize,
}

fn node<T>(kind: T) -> Node<T> {
    Node { kind, span: Span::default() }
}

fn ident(name: impl Into<Name>) -> Ident {
    Ident { name: name.into(), span: Span::default() }
}

impl Gen<'_> {
    fn add(&mut self, expr: Expr) -> ExprId {
        self.exprs.alloc(node(expr))
    }

    fn name(&mut self) -> Name {
        Name::new_static(self.random.pick(NAMES, "x"))
    }

    fn binding(&mut self) -> Ident {
        self.fresh += 1;
        ident(format!("{}{}", self.random.pick(&["k", "v", "Θ", "long_name_"], "k"), self.fresh))
    }

    fn variable(&mut self) -> Ident {
        if self.random.once_in(12) { ident("_") } else { self.binding() }
    }

    fn field(&mut self) -> Ident {
        ident(self.random.pick(FIELDS, "w"))
    }

    /// Fields whose names differ.
    fn fields(&mut self) -> Vec<Ident> {
        let count = 1 + self.random.below(3);
        let from = self.random.below(FIELDS.len());
        (0..count).filter_map(|i| FIELDS.get((from + i) % FIELDS.len())).map(|name| ident(*name)).collect()
    }

    fn some<T>(&mut self, least: usize, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.random.below(most - least + 1);
        (0..count).map(|_| one(self)).collect()
    }

    fn maybe<T>(&mut self, one_in: usize, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.random.once_in(one_in).then(|| one(self))
    }

    fn leaf(&mut self) -> Expr {
        match self.random.below(12) {
            0 | 1 => Expr::Int(self.random.pick(&[0, 1, 2, 17, 1_000_000, (1 << 63) - 1], 0)),
            2 => Expr::Float(self.random.pick(&[0.0, 0.1, 1.5, 1e-14, 2.5e100, f64::MAX, 5e-324], 0.0)),
            3 => Expr::Bool(self.random.once_in(2)),
            4 => Expr::Str(Name::new_static(self.random.pick(&["", "text", "two\nlines\t\"q\" \\ -- no"], ""))),
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
        match self.random.below(27) {
            0 => Expr::Unary(self.random.pick(&[UnOp::Neg, UnOp::Not], UnOp::Neg), self.expr(d)),
            1..=3 => {
                let level = self.random.pick(&BinOp::ALL, BinOp::Add).level();
                let ops: Vec<BinOp> = BinOp::ALL.into_iter().filter(|op| op.level() == level).collect();
                let first = self.expr(d);
                let rest = self.some(1, 4, |g| (g.random.pick(&ops, BinOp::Add), Span::default(), g.expr(d)));
                Expr::Chain { first, rest }
            }
            4 => Expr::Power(self.expr(d), self.expr(d)),
            5 => Expr::Guard { cond: self.expr(d), body: self.expr(d) },
            6 => {
                let most = if self.random.once_in(4) { 40 } else { 4 };
                let items = self.exprs(0, most, if most == 40 { 0 } else { d });
                let comma = !items.is_empty() && self.random.once_in(3);
                Expr::Array { items, comma }
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
                let args = self.some(0, 4, |g| Arg { name: g.maybe(6, |_| ident("wrt")), value: g.expr(d) });
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
                let kind = self.random.pick(&BinderKind::ALL, BinderKind::For);
                let vars = self.vars(d);
                let filter = if kind == BinderKind::For { None } else { self.maybe(3, |g| g.expr(d)) };
                Expr::Binder { kind, vars, filter, body: self.expr(d) }
            }
            23 => {
                let scan = self.random.once_in(2);
                Expr::Fold {
                    scan,
                    acc: self.pat(1),
                    ty: self.maybe(4, |g| g.ty(2)),
                    init: self.expr(d),
                    vars: self.vars(d),
                    body: self.expr(d),
                    yields: if scan { None } else { self.maybe(2, |g| g.expr(d)) },
                }
            }
            24 => Expr::Loop {
                scan: self.random.once_in(2),
                acc: self.pat(1),
                ty: self.maybe(4, |g| g.ty(2)),
                init: self.expr(d),
                cond: self.expr(d),
                body: self.expr(d),
            },
            25 => {
                let base = self.expr(d);
                let updates = self.some(1, 3, |g| {
                    let place = match g.random.below(3) {
                        0 => Place::Index(g.subscripts(d), Span::default()),
                        1 => Place::Field(g.field()),
                        _ => Place::Proj(0, Span::default()),
                    };
                    Update { place, add: g.random.once_in(2), value: g.expr(d) }
                });
                Expr::With(base, updates)
            }
            _ => Expr::Card(self.expr(d)),
        }
    }

    fn subscripts(&mut self, depth: usize) -> Vec<Subscript> {
        self.some(1, 3, |g| match g.random.below(4) {
            0 => Subscript::Whole(Span::default()),
            1 => Subscript::Range(g.expr(depth), g.expr(depth)),
            _ => Subscript::At(g.expr(depth)),
        })
    }

    fn vars(&mut self, depth: usize) -> Vec<IndexVar> {
        self.some(1, 3, |g| {
            let name = g.variable();
            let range = match g.random.below(3) {
                0 => IndexRange::Bare,
                1 => IndexRange::Below(g.expr(depth)),
                _ => IndexRange::Range { from: g.expr(depth), to: g.expr(depth), by: g.maybe(2, |g| g.expr(depth)) },
            };
            IndexVar { name, range }
        })
    }

    /// A pattern of a `let`, which may name the extents of an array.
    fn let_pat(&mut self) -> PatId {
        if self.random.once_in(6) {
            let names = self.some(1, 2, Self::binding);
            let inner = self.pat(0);
            return self.pats.alloc(node(Pat::Sized(names, inner)));
        }
        self.pat(2)
    }

    fn pat(&mut self, depth: usize) -> PatId {
        let pat = match if depth == 0 { 0 } else { self.random.below(10) } {
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
            6 => Pat::Int(self.random.pick(&[0, 3, -3, i64::MAX, i64::MIN], 0)),
            7 => Pat::Bool(self.random.once_in(2)),
            _ => Pat::Name(self.binding().name),
        };
        self.pats.alloc(node(pat))
    }

    fn ty(&mut self, depth: usize) -> TypeId {
        let ty = match if depth == 0 { 0 } else { self.random.below(9) } {
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
                args: self.some(1, 3, |g| match g.random.below(2) {
                    0 => TypeArg::Type(g.ty(depth - 1)),
                    _ => TypeArg::Size(g.computed_size()),
                }),
            },
            _ => TypeExpr::Name { module: None, name: ident(self.random.pick(TYPES, "f64")), args: Vec::new() },
        };
        self.types.alloc(node(ty))
    }

    fn sizes(&mut self) -> Vec<SizeExpr> {
        self.some(1, 3, |g| match g.random.below(4) {
            0 => SizeExpr::Unknown(g.binding()),
            1 => SizeExpr::Expr(g.computed_size()),
            _ => SizeExpr::Expr(g.size_name()),
        })
    }

    fn size_name(&mut self) -> ExprId {
        let name = self.random.pick(&["n", "m", "k"], "n");
        self.add(Expr::Name(Name::new_static(name)))
    }

    /// A size that can not be read as a type.
    fn computed_size(&mut self) -> ExprId {
        let atom = |g: &mut Self| match g.random.below(3) {
            0 => g.add(Expr::Int(784)),
            _ => g.size_name(),
        };
        let expr = match self.random.below(4) {
            0 => Expr::Int(10),
            1 => {
                let first = atom(self);
                let op = self.random.pick(&[BinOp::Mul, BinOp::FloorDiv, BinOp::Mod], BinOp::Mul);
                Expr::Chain { first, rest: vec![(op, Span::default(), atom(self))] }
            }
            _ => {
                let first = atom(self);
                let op = |g: &mut Self| g.random.pick(&[BinOp::Add, BinOp::Sub], BinOp::Add);
                Expr::Chain { first, rest: self.some(1, 2, |g| (op(g), Span::default(), atom(g))) }
            }
        };
        self.add(expr)
    }

    fn item(&mut self, depth: usize) -> Item {
        match self.random.below(12) {
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
                quiet: self.random.once_in(3),
            }),
            5 => Item::Do(self.expr(depth)),
            6 => Item::Rule(Rule {
                adjoint: self.random.once_in(2),
                name: self.binding(),
                params: self.some(1, 3, Self::binding),
                deltas: self.some(1, 2, Self::binding),
                body: self.expr(depth),
            }),
            _ => Item::Def(Def {
                name: self.binding(),
                params: self.some(0, 4, |g| Param { name: g.binding(), ty: g.ty(3) }),
                result: self.maybe(2, |g| g.ty(3)),
                constraints: if self.random.once_in(5) {
                    self.some(1, 2, |g| {
                        let var = g.binding();
                        Constraint { var, class: ident(g.random.pick(&["real", "num"], "num")) }
                    })
                } else {
                    Vec::new()
                },
                body: self.expr(depth),
            }),
        }
    }
}

/// A random item.
pub fn tree(random: &mut Random) -> Tree {
    let depth = 1 + random.below(5);
    let docs = if random.once_in(6) { "What it is.\nAnd more." } else { "" };
    let mut g = Gen { random, exprs: Arena::default(), pats: Arena::default(), types: Arena::default(), fresh: 0 };
    let item = g.item(depth);
    Tree { item, docs: docs.to_owned(), span: Span::default(), exprs: g.exprs, pats: g.pats, types: g.types }
}

/// The same tokens with other blanks between them, and comments.
pub fn scramble(random: &mut Random, text: &str, comments: usize) -> String {
    let tokens = lex(text).tokens;
    let mut out = String::new();
    let mut number = 0;
    for (nth, token) in tokens.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|nth| tokens.get(nth));
        let touching = before.is_none_or(|b| b.span.end == token.span.start);
        if !must_touch(&tokens, nth) {
            match random.below(12 + comments) {
                0 if nth > 0 => out.push_str("\n   "),
                1 if nth > 0 => out.push_str("\n\n "),
                2 if nth > 0 => out.push_str("   "),
                n if n >= 12 => {
                    number += 1;
                    if before.is_some_and(|_| random.once_in(2)) {
                        out.push_str(&format!(" -- c{number}\n  "));
                    } else {
                        // The documentation above an item is no token.
                        let start = if nth == 0 { "" } else { "\n  " };
                        out.push_str(&format!("{start}-- own {number}\n{}", if nth == 0 { "" } else { " " }));
                    }
                }
                _ if !touching => out.push(' '),
                _ => {}
            }
        }
        out.push_str(text.get(token.span.range()).unwrap_or_default());
    }
    match random.below(6) {
        0 => out.push_str(" -- last"),
        1 => out.push_str("\n  -- below\n-- and below"),
        _ => {}
    }
    out
}

/// Several items as a file, with comments and empty lines between them.
fn scramble_all(random: &mut Random, texts: &[String]) -> String {
    let mut out = String::new();
    for (nth, text) in texts.iter().enumerate() {
        out.push_str(
            random.pick(&["", "\n\n", "-- block\n", "-- apart\n\n\n", "--| Docs.\n", "  -- c\n--| Docs.\n"], ""),
        );
        let comments = random.below(4);
        out.push_str(&scramble(random, text, comments));
        if nth + 1 < texts.len() || random.once_in(2) {
            out.push_str(random.pick(&["\n", "\n", "\n\n", "\n\n\n"], "\n"));
        }
    }
    out
}

/// Must the token touch the one before? `.0` alone would be a number, and so would `1.` be.
fn must_touch(tokens: &[Spanned], at: usize) -> bool {
    let token = |at: usize| tokens.get(at).map(|t| &t.token);
    let dot = |at: usize| token(at) == Some(&Token::Sym(Sym::Dot));
    let int = |at: usize| matches!(token(at), Some(Token::Int(_)));
    let before = |n: usize| at.checked_sub(n);
    (dot(at) && (int(at + 1) || before(1).is_some_and(int)))
        || (before(1).is_some_and(dot) && (int(at) || before(2).is_some_and(int)))
}

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many programs were drawn.
    pub programs: u64,
    /// What occurred in them.
    pub hits: Hits,
    /// How many of them broke a law.
    pub broken: u64,
    /// The laws broken and the texts, of the shortest few.
    pub failures: Vec<String>,
}

/// Failures kept in a report, the shortest: these are what one looks at.
const KEPT: usize = 5;

/// Draws `count` programs from `seed` and tries the laws on each.
#[must_use]
pub fn run(seed: u64, count: u64) -> Report {
    let mut report = Report::default();
    for nth in 0..count {
        let mut random = Random::new(seed.wrapping_add(nth).wrapping_mul(0x2545_f491_4f6c_dd1d));
        report.programs += 1;
        let items = 1 + random.below(8) / 6;
        let trees: Vec<Tree> = (0..items).map(|_| tree(&mut random)).collect();
        trees.iter().for_each(|tree| report.hits.count(tree));
        let texts: Result<Vec<String>, String> = trees.iter().map(print_laws).collect();
        if let Err(failure) = texts.and_then(|texts| format_laws(&mut random, &texts)) {
            report.broken += 1;
            report.failures.push(format!("program {nth} of seed {seed}: {failure}"));
            report.failures.sort_by_key(String::len);
            report.failures.truncate(KEPT);
        }
    }
    report
}

/// What holds of printing a tree. Gives its text.
fn print_laws(tree: &Tree) -> Result<String, String> {
    let text = print_tree(tree);
    let parsed = parse_item(&text);
    if let Some(diagnostic) = parsed.diagnostics.first() {
        return Err(format!("printed text has an error: {} {:?}\n{text}", diagnostic.message, diagnostic.span));
    }
    if !same_meaning(tree, &parsed.tree) {
        let (was, is) = (outline(tree, false), outline(&parsed.tree, false));
        return Err(format!("another tree comes back:\n{text}\nwas {was}\nis  {is}"));
    }
    let again = print_tree(&parsed.tree);
    if again != text {
        return Err(format!("printing what was parsed differs:\n{text}\n---\n{again}"));
    }
    let whole = format!("{text}\n");
    let formatted = file(&whole)?;
    if formatted != whole {
        return Err(format!("a printed tree is laid out differently:\n{whole}---\n{formatted}"));
    }
    Ok(text)
}

/// What holds of formatting a file of these items, scrambled.
fn format_laws(random: &mut Random, texts: &[String]) -> Result<(), String> {
    let scrambled = scramble_all(random, texts);
    let plain = file(&scrambled)?;
    let twice = file(&plain).map_err(|e| format!("{e}\nwhich is the layout of\n{scrambled}"))?;
    if twice != plain {
        return Err(format!("formatting twice differs:\n{scrambled}---\n{plain}---\n{twice}"));
    }
    let (before, after) = (split(&scrambled), split(&plain));
    let same = before.len() == texts.len()
        && after.len() == texts.len()
        && before.iter().zip(&after).all(|(a, b)| same_tree(&parse_item(&a.text).tree, &parse_item(&b.text).tree));
    if !same {
        return Err(format!("formatting changes a tree:\n{scrambled}---\n{plain}"));
    }
    if comment_texts(&scrambled) != comment_texts(&plain) {
        return Err(format!("formatting changes the comments:\n{scrambled}---\n{plain}"));
    }
    if let Some(line) = plain.lines().find(|line| line.len() > line.trim_end().len()) {
        return Err(format!("a line ends in blanks: {line:?}\n{plain}"));
    }
    Ok(())
}

fn comment_texts(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = lex(text).comments.iter().filter_map(|c| text.get(c.span.range())).collect();
    all.sort_unstable();
    all
}

fn file(text: &str) -> Result<String, String> {
    let formatted = format_file(text).map_err(|errors| {
        let message = errors.first().map_or_else(String::new, |e| format!("{} {:?}", e.message, e.span));
        format!("does not parse: {message}\n{text}")
    })?;
    if formatted.left_alone > 0 {
        return Err(format!("left alone:\n{text}"));
    }
    Ok(formatted.text)
}

#[cfg(test)]
mod tests {
    use super::run;

    /// Some seconds; a longer run is the soak's.
    const PROGRAMS: u64 = 3000;

    #[test]
    fn laws_hold() {
        let report = run(1, PROGRAMS);
        assert!(report.broken == 0, "{} broke a law:\n{}", report.broken, report.failures.join("\n\n"));
        println!("{}", report.hits);
        assert_eq!(report.hits.missing(), Vec::<&str>::new());
    }
}

//! **Coverage of the surface tree.** Counts the variants that the drawn programs contain. A variant
//! that is never drawn leaves its laws untested, so the test fails on it.

use std::collections::BTreeMap;
use std::fmt;

use lang_core::syntax::ast::{
    Expr, IndexRange, IndexVar, Item, Pat, SizeExpr, Subscript, Tree, TypeArg, TypeBody, TypeExpr, UpdateTarget,
};
use lang_core::syntax::ops::UnOp;

/// The number of occurrences of each variant of the surface tree.
#[derive(Clone, Default, Debug)]
pub struct SyntaxCoverage(BTreeMap<&'static str, u64>);

impl SyntaxCoverage {
    /// Returns the variants that did not occur.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        VARIANTS.iter().copied().filter(|name| !self.0.contains_key(name)).collect()
    }

    fn hit(&mut self, name: &'static str) {
        debug_assert!(VARIANTS.contains(&name), "{name} is missing in the table of variants");
        *self.0.entry(name).or_default() += 1;
    }

    pub(super) fn count(&mut self, tree: &Tree) {
        self.hit(match &tree.item {
            Item::Def(_) => "Item::Def",
            Item::Type(def) => match &def.body {
                TypeBody::Sum(_) => "TypeBody::Sum",
                TypeBody::Single(_) => "TypeBody::Single",
            },
            Item::Import(_) => "Item::Import",
            Item::Let(_) => "Item::Let",
            Item::Do(_) => "Item::Do",
            Item::DerivativeRule(_) => "Item::Rule",
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
                self.hit(kind.keyword());
                "Expr::Binder"
            }
            Expr::Fold { vars: over, yields, is_scan: scan, .. } => {
                vars = over;
                if yields.is_some() {
                    self.hit("Expr::Fold yield");
                }
                if *scan { "Expr::Fold scan" } else { "Expr::Fold" }
            }
            Expr::Loop { is_scan: true, .. } => "Expr::Loop scan",
            Expr::Loop { .. } => "Expr::Loop",
            Expr::Checkpoint { .. } => "Expr::Checkpoint",
            Expr::With(_, updates) => {
                for update in updates {
                    self.hit(match &update.target {
                        UpdateTarget::Index(..) => "Place::Index",
                        UpdateTarget::Field(_) => "Place::Field",
                        UpdateTarget::Proj(..) => "Place::Proj",
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
                Subscript::Index(_) => "Subscript::At",
                Subscript::Range(..) => "Subscript::Range",
                Subscript::FullAxis(_) => "Subscript::Whole",
            });
        }
    }
}

impl fmt::Display for SyntaxCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in VARIANTS {
            writeln!(f, "{:>9}  {name}", self.0.get(name).copied().unwrap_or(0))?;
        }
        Ok(())
    }
}

/// Every variant that must occur. The matches above are exhaustive and have no `_`.
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
    "Expr::Loop scan", "Expr::Checkpoint", "Expr::With", "Expr::Card",
    "Place::Index", "Place::Field", "Place::Proj", "Subscript::At", "Subscript::Range", "Subscript::Whole",
    "IndexRange::Bare", "IndexRange::Below", "IndexRange::Range", "IndexRange::Range by",
    "|>", "||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%",
    "for", "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "rel",
];

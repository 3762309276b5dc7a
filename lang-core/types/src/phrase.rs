//! **Phrases for unnamed sizes.** Prints a shortened expression in messages about a size that has
//! no name.

use super::tree::{Callee, Expr as Typed, Node, Special, Subscript, TId};
use super::ty::Type;
use lang_base::{Arena, Name};
use lang_sizes::predicate::LocalId;

/// The depth of nesting that is printed; deeper parts become `…`.
const DEEP: usize = 3;

/// The data needed to print nodes of a body.
pub struct Phrases<'a> {
    /// The nodes of the body.
    pub nodes: &'a Arena<Node>,
    /// Returns the name of a local.
    pub name: &'a dyn Fn(LocalId) -> Name,
    /// Returns the type of a node, as far as it is inferred.
    pub ty: &'a dyn Fn(TId) -> Type,
}

impl Phrases<'_> {
    /// Prints the expression as an operand: operators are parenthesised.
    pub(crate) fn operand(&self, node: TId) -> String {
        self.shortened(node, DEEP)
    }

    /// Prints the expression for a position without a neighbouring operator.
    pub fn alone(&self, node: TId) -> String {
        self.bare(node, self.shortened(node, DEEP))
    }

    /// Removes the parentheses around an operator, because brackets and commas delimit it already.
    fn bare(&self, node: TId, text: String) -> String {
        let operator = matches!(self.nodes[node].kind, Typed::Arith(..) | Typed::Neg(_) | Typed::Pow(..));
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inside) if operator => inside.to_owned(),
            _ => text,
        }
    }

    fn shortened(&self, node: TId, deep: usize) -> String {
        let short = || "…".to_owned();
        let inner = |n: TId| if deep == 0 { short() } else { self.shortened(n, deep - 1) };
        let alone = |n: TId| self.bare(n, inner(n));
        match &self.nodes[node].kind {
            Typed::Local(l) => (self.name)(*l).to_string(),
            Typed::Global(name) => name.name.to_string(),
            Typed::Int(n) => n.to_string(),
            Typed::DefValue(name, _) => name.name.to_string(),
            Typed::Special(Special::Derive(operator, _), of) => {
                format!("{}({})", operator.name(), of.first().map_or_else(short, |f| inner(*f)))
            }
            Typed::Special(Special::Deriv(x), of) => {
                let of = of.first().map_or_else(short, |e| alone(*e));
                format!("deriv({of}, {})", (self.name)(*x))
            }
            Typed::Checked(_, e) | Typed::Opened(_, e) => self.shortened(*e, deep),
            Typed::Convert(to, e) => format!("{}({})", to.name(), alone(*e)),
            Typed::Neg(e) => format!("(-{})", inner(*e)),
            Typed::Arith(op, a, b) => format!("({} {} {})", inner(*a), op.symbol(), inner(*b)),
            Typed::Pow(a, b) => format!("({}^{})", inner(*a), inner(*b)),
            Typed::Scalar(f, args) => {
                let args: Vec<String> = args.iter().map(|a| alone(*a)).collect();
                format!("{}({})", f.name(), args.join(", "))
            }
            Typed::Call { callee, .. } => match callee {
                Callee::Def(name, _) => format!("{}(…)", name.name),
                Callee::Builtin(builtin, _) => format!("{}(…)", builtin.name()),
                Callee::Ctor(..) => short(),
                Callee::Value(f) => format!("{}(…)", inner(*f)),
            },
            Typed::Index(base, subs) => {
                let subs: Vec<String> = subs
                    .iter()
                    .map(|s| match s {
                        Subscript::At { index, .. } => alone(*index),
                        Subscript::Range { .. } => short(),
                        Subscript::Whole => "_".to_owned(),
                    })
                    .collect();
                format!("{}[{}]", inner(*base), subs.join(", "))
            }
            Typed::Proj(base, k) => match (self.ty)(*base) {
                Type::Record(fields) => {
                    format!("{}.{}", inner(*base), fields.get(*k as usize).map_or("…", |f| f.0.as_str()))
                }
                _ => format!("{}.{k}", inner(*base)),
            },
            _ => short(),
        }
    }
}

//! What a size is called in messages that has no name: the expression, shortened.

use super::super::tree::{Callee, Expr as Typed, Special, Subscript, TId};
use super::super::ty::Type;
use super::Checker;

/// How many parts inside one another are shown.
const DEEP: usize = 3;

impl Checker<'_> {
    /// The expression, as an operand.
    pub(super) fn phrase(&self, node: TId) -> String {
        self.shortened(node, DEEP)
    }

    fn shortened(&self, node: TId, deep: usize) -> String {
        let short = || "…".to_owned();
        let inner = |n: TId| if deep == 0 { short() } else { self.shortened(n, deep - 1) };
        // Between brackets an operator needs no parentheses.
        let alone = |n: TId| {
            let text = inner(n);
            let operator = matches!(self.nodes[n].kind, Typed::Arith(..) | Typed::Neg(_) | Typed::Pow(..));
            match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
                Some(inside) if operator => inside.to_owned(),
                _ => text,
            }
        };
        match &self.nodes[node].kind {
            Typed::Local(l) => self.name_of(*l).to_string(),
            Typed::Global(name) => name.name.to_string(),
            Typed::Int(n) => n.to_string(),
            Typed::DefValue(name, _) => name.name.to_string(),
            Typed::Special(Special::Derive(operator, _), of) => {
                format!("{}({})", operator.name(), of.first().map_or_else(short, |f| inner(*f)))
            }
            Typed::Special(Special::Deriv(x), of) => {
                let of = of.first().map_or_else(short, |e| alone(*e));
                format!("deriv({of}, {})", self.name_of(*x))
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
            Typed::Proj(base, k) => match self.ty(*base) {
                Type::Record(fields) => {
                    format!("{}.{}", inner(*base), fields.get(*k as usize).map_or("…", |f| f.0.as_str()))
                }
                _ => format!("{}.{k}", inner(*base)),
            },
            _ => short(),
        }
    }
}

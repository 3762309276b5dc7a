//! **Expression phrases.** Prints an expression in shortened form for a message. The checker uses
//! the text as the name of an unnamed size, and in help. The interpreter uses it in advice about
//! indices out of bounds.

use super::tree::{Callee, TypedExpr as Typed, TypedForm, TypedId, TypedNode, TypedSubscript};
use super::ty::Type;
use lang_base::{Arena, Name};
use lang_sizes::predicate::LocalId;

/// The depth of nesting that is printed; deeper parts become `…`.
const MAX_PHRASE_DEPTH: usize = 3;

/// The data needed to print nodes of a body.
pub struct PhrasePrinter<'a> {
    /// The nodes of the body.
    pub nodes: &'a Arena<TypedNode>,
    /// The function that returns the name of a local.
    pub local_name: &'a dyn Fn(LocalId) -> Name,
    /// The function that returns the type of a node, as far as it is inferred.
    pub node_type: &'a dyn Fn(TypedId) -> Type,
}

impl PhrasePrinter<'_> {
    /// Prints the expression as an operand, with parentheses around an operation.
    pub(crate) fn print_operand(&self, node: TypedId) -> String {
        self.print_shortened(node, MAX_PHRASE_DEPTH)
    }

    /// Prints the expression for a position without a neighbouring operator.
    pub fn print_standalone(&self, node: TypedId) -> String {
        self.without_parentheses(node, self.print_shortened(node, MAX_PHRASE_DEPTH))
    }

    /// Removes the parentheses around an operation, because its surroundings delimit it already.
    fn without_parentheses(&self, node: TypedId, text: String) -> String {
        let operator = matches!(self.nodes[node].kind, Typed::Arith(..) | Typed::Neg(_) | Typed::Pow(..));
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inside) if operator => inside.to_owned(),
            _ => text,
        }
    }

    fn print_shortened(&self, node: TypedId, deep: usize) -> String {
        let short = || "…".to_owned();
        let inner = |n: TypedId| if deep == 0 { short() } else { self.print_shortened(n, deep - 1) };
        let alone = |n: TypedId| self.without_parentheses(n, inner(n));
        match &self.nodes[node].kind {
            Typed::Local(l) => (self.local_name)(*l).to_string(),
            Typed::Global(name) => name.name.to_string(),
            Typed::Int(n) => n.to_string(),
            Typed::DefValue(name, _) => name.name.to_string(),
            Typed::Form(TypedForm::Derive(operator, _), of) => {
                format!("{}({})", operator.name(), of.first().map_or_else(short, |f| inner(*f)))
            }
            Typed::Form(TypedForm::Deriv(x), of) => {
                let of = of.first().map_or_else(short, |e| alone(*e));
                format!("deriv({of}, {})", (self.local_name)(*x))
            }
            Typed::Checked(_, e) | Typed::Opened(_, e) => self.print_shortened(*e, deep),
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
                        TypedSubscript::Index { index, .. } => alone(*index),
                        TypedSubscript::Range { .. } => short(),
                        TypedSubscript::FullAxis => "_".to_owned(),
                    })
                    .collect();
                format!("{}[{}]", inner(*base), subs.join(", "))
            }
            Typed::Proj(base, k) => match (self.node_type)(*base) {
                Type::Record(fields) => {
                    format!("{}.{}", inner(*base), fields.get(*k as usize).map_or("…", |f| f.0.as_str()))
                }
                _ => format!("{}.{k}", inner(*base)),
            },
            _ => short(),
        }
    }
}

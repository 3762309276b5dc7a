//! Which operands need parentheses. Asked only for trees without a source text: a parsed tree
//! has a node for every pair of parentheses its text needed.

use crate::syntax::ast::{Expr, ExprId, Tree};
use crate::syntax::ops::{Level, UnOp};

/// How tightly an expression holds together, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Bind {
    /// Anything: between brackets, after `:`, `=`, `in`.
    Loose,
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Negate,
    Power,
    Postfix,
}

impl Bind {
    /// That of an operand of a chain of operators at this level.
    pub(super) fn operand(level: Level) -> Self {
        match level {
            Level::Pipe => Self::Or,
            Level::Or => Self::And,
            Level::And => Self::Not,
            Level::Compare => Self::Sum,
            Level::Sum => Self::Product,
            Level::Product => Self::Negate,
        }
    }
}

/// What kind of expression it is, as its neighbours see it.
enum Shape {
    /// It holds together so tightly.
    Bind(Bind),
    /// It begins with a word and reaches as far right as it can: it may stand unbracketed as a
    /// last operand.
    Open,
}

fn shape(expr: &Expr) -> Shape {
    Shape::Bind(match expr {
        Expr::Lambda(..)
        | Expr::Let(..)
        | Expr::If(..)
        | Expr::Binder { .. }
        | Expr::Fold { .. }
        | Expr::Loop { .. }
        | Expr::Checkpoint { .. } => return Shape::Open,
        // These have an end of their own or a base on their left; kept apart, for the reader.
        Expr::Match(..) | Expr::With(..) => Bind::Loose,
        Expr::Chain { rest, .. } => match rest.first().map(|(op, ..)| op.level()) {
            None | Some(Level::Pipe) => Bind::Loose,
            Some(Level::Or) => Bind::Or,
            Some(Level::And) => Bind::And,
            Some(Level::Compare) => Bind::Compare,
            Some(Level::Sum) => Bind::Sum,
            Some(Level::Product) => Bind::Product,
        },
        Expr::Guard { .. } => Bind::Product,
        Expr::Unary(UnOp::Not, _) => Bind::Not,
        Expr::Unary(UnOp::Neg, _) => Bind::Negate,
        Expr::Float(value) if value.is_sign_negative() => Bind::Negate,
        Expr::Power(..) => Bind::Power,
        _ => Bind::Postfix,
    })
}

/// Does the expression end in one that would swallow what follows it?
fn reaches_on(tree: &Tree, mut at: ExprId) -> bool {
    loop {
        at = match &tree.exprs[at].kind {
            Expr::Chain { first, rest } => rest.last().map_or(*first, |(.., last)| *last),
            Expr::Unary(_, inner) | Expr::Power(_, inner) | Expr::Guard { body: inner, .. } => *inner,
            Expr::With(..) => return true,
            other => return matches!(shape(other), Shape::Open),
        };
    }
}

/// Does the expression need parentheses where operands bind at least as `min`, and where it is
/// the last thing (`last`) or is followed by more?
pub(super) fn needs_parens(tree: &Tree, at: ExprId, min: Bind, last: bool) -> bool {
    let expr = &tree.exprs[at].kind;
    // `[e]` before `*` would be an Iverson bracket.
    let bracket = matches!(expr, Expr::Array { items, comma: false } if items.len() == 1) && min > Bind::Loose;
    let loose = match shape(expr) {
        Shape::Bind(bind) => bind < min,
        Shape::Open => !last,
    };
    bracket || loose || (!last && reaches_on(tree, at))
}

/// Does the expression begin with a bar? Between bars it would not be read as it is.
pub(super) fn begins_with_bar(tree: &Tree, mut at: ExprId) -> bool {
    loop {
        at = match &tree.exprs[at].kind {
            Expr::Card(_) => return true,
            Expr::Field(base, _) | Expr::Proj(base, ..) | Expr::Index(base, _) | Expr::Call(base, _) => *base,
            _ => return false,
        };
    }
}

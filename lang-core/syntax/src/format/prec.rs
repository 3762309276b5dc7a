//! **Parenthesisation.** Decides which operands need parentheses. The printer queries this only for
//! trees without source text, because a parsed tree has a node for every pair of parentheses.

use crate::ast::{Expr, ExprId, Tree};
use crate::ops::{Level, UnOp};

/// The binding strength of an expression, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Bind {
    /// Any expression: between brackets, after `:`, `=`, `in`.
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
    /// Returns the minimum binding strength of the operands of a chain at this level.
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

/// The syntactic shape of an expression, as its neighbours see it.
enum Shape {
    /// An expression with this binding strength.
    Bind(Bind),
    /// A form that begins with a keyword and extends as far right as possible. It needs no
    /// parentheses as a last operand.
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
        // These are delimited by a closing brace or begin with an operand; they get parentheses for
        // readability.
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

/// Returns whether the expression ends in one that would absorb the following tokens.
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

/// Returns whether the expression needs parentheses as an operand with the minimum strength `min`.
/// `last` means that no more operands follow.
pub(super) fn needs_parens(tree: &Tree, at: ExprId, min: Bind, last: bool) -> bool {
    let expr = &tree.exprs[at].kind;
    // `[e]` before `*` would become an Iverson bracket.
    let bracket = matches!(expr, Expr::Array { items, comma: false } if items.len() == 1) && min > Bind::Loose;
    let loose = match shape(expr) {
        Shape::Bind(bind) => bind < min,
        Shape::Open => !last,
    };
    bracket || loose || (!last && reaches_on(tree, at))
}

/// Returns whether the expression begins with a bar. Between bars it would be misread.
pub(super) fn begins_with_bar(tree: &Tree, mut at: ExprId) -> bool {
    loop {
        at = match &tree.exprs[at].kind {
            Expr::Card(_) => return true,
            Expr::Field(base, _) | Expr::Proj(base, ..) | Expr::Index(base, _) | Expr::Call(base, _) => *base,
            _ => return false,
        };
    }
}

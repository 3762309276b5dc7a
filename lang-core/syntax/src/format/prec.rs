//! **Parenthesisation.** Decides which operands need parentheses. The printer queries this only for
//! trees without source text, because a parsed tree has a node for every pair of parentheses.

use crate::ast::{Expr, ExprId, Tree};
use crate::ops::{Precedence, UnOp};

/// The binding strength of an expression, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum OperandStrength {
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

impl OperandStrength {
    /// Returns the minimum binding strength of the operands of a chain at this level.
    pub(super) fn for_operand_of(level: Precedence) -> Self {
        match level {
            Precedence::Pipe => Self::Or,
            Precedence::Or => Self::And,
            Precedence::And => Self::Not,
            Precedence::Compare => Self::Sum,
            Precedence::Sum => Self::Product,
            Precedence::Product => Self::Negate,
        }
    }
}

/// The syntactic shape of an expression, as its neighbours see it.
enum SyntacticShape {
    /// An expression with this binding strength.
    Delimited(OperandStrength),
    /// A form that begins with a keyword and extends as far right as possible. It needs no
    /// parentheses as a last operand.
    OpenEnded,
}

fn syntactic_shape(expr: &Expr) -> SyntacticShape {
    SyntacticShape::Delimited(match expr {
        Expr::Lambda(..)
        | Expr::Let(..)
        | Expr::If(..)
        | Expr::Binder { .. }
        | Expr::Fold { .. }
        | Expr::Loop { .. }
        | Expr::Checkpoint { .. } => return SyntacticShape::OpenEnded,
        // These are delimited by a closing brace or begin with an operand; they get parentheses for
        // readability.
        Expr::Match(..) | Expr::With(..) => OperandStrength::Loose,
        Expr::Chain { rest, .. } => match rest.first().map(|(op, ..)| op.precedence()) {
            None | Some(Precedence::Pipe) => OperandStrength::Loose,
            Some(Precedence::Or) => OperandStrength::Or,
            Some(Precedence::And) => OperandStrength::And,
            Some(Precedence::Compare) => OperandStrength::Compare,
            Some(Precedence::Sum) => OperandStrength::Sum,
            Some(Precedence::Product) => OperandStrength::Product,
        },
        Expr::Guard { .. } => OperandStrength::Product,
        Expr::Unary(UnOp::Not, _) => OperandStrength::Not,
        Expr::Unary(UnOp::Neg, _) => OperandStrength::Negate,
        Expr::Float(value) if value.is_sign_negative() => OperandStrength::Negate,
        Expr::Power(..) => OperandStrength::Power,
        _ => OperandStrength::Postfix,
    })
}

/// Returns whether the expression ends in one that would absorb the following tokens.
fn is_open_ended(tree: &Tree, mut at: ExprId) -> bool {
    loop {
        at = match &tree.exprs[at].kind {
            Expr::Chain { first, rest } => rest.last().map_or(*first, |(.., last)| *last),
            Expr::Unary(_, inner) | Expr::Power(_, inner) | Expr::Guard { body: inner, .. } => *inner,
            Expr::With(..) => return true,
            other => return matches!(syntactic_shape(other), SyntacticShape::OpenEnded),
        };
    }
}

/// Returns whether the expression needs parentheses as an operand with the minimum strength `min`.
/// `last` means that no more operands follow.
pub(super) fn needs_parens(tree: &Tree, at: ExprId, min: OperandStrength, last: bool) -> bool {
    let expr = &tree.exprs[at].kind;
    // `[e]` before `*` would become an Iverson bracket.
    let bracket = matches!(expr, Expr::Array { items, has_trailing_comma: false } if items.len() == 1)
        && min > OperandStrength::Loose;
    let loose = match syntactic_shape(expr) {
        SyntacticShape::Delimited(bind) => bind < min,
        SyntacticShape::OpenEnded => !last,
    };
    bracket || loose || (!last && is_open_ended(tree, at))
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

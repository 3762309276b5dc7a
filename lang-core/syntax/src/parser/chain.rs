//! **Operator precedence.** Groups flat sequences of operands and operators into trees.
//!
//! The grammar reads `prefix* operand (operator prefix* operand)*`. This module groups that
//! sequence with an explicit stack. A chain of a million terms is therefore no deeper than one of
//! two, and the nesting of `^`, prefixes and brackets consumes no machine stack.

use super::builder::TreeBuilder;
use crate::ast::{Expr, ExprId};
use crate::ops::{BinOp, Precedence, UnOp};
use lang_base::Span;

/// An operand, before the parser knows whether `[p]` is an array or an Iverson bracket.
#[derive(Clone, Copy)]
pub(super) enum ChainOperand {
    Node(ExprId),
    /// `[e]`, without a comma and without a suffix.
    Bracket(ExprId, Span),
}

/// An operand with its prefix operators, outermost first.
pub(super) struct PrefixedOperand {
    pub(super) prefixes: Vec<(UnOp, Span)>,
    pub(super) operand: ChainOperand,
}

/// An operator between two operands.
#[derive(Clone, Copy)]
pub(super) enum Infix {
    Chain(BinOp),
    Power,
}

impl ChainOperand {
    /// Returns the node; a bracket becomes an array.
    pub(super) fn node(self, builder: &mut TreeBuilder) -> ExprId {
        match self {
            Self::Node(id) => id,
            Self::Bracket(item, span) => {
                builder.expr(Expr::Array { items: vec![item], has_trailing_comma: false }, span)
            }
        }
    }
}

/// A partial expression whose right end is not yet known.
enum PartialExpr {
    Chain { level: Precedence, first: ExprId, rest: Vec<(BinOp, Span, ExprId)>, pending: (BinOp, Span) },
    Prefix(UnOp, Span),
    Power(ExprId),
    Guard { cond: ExprId, start: Span },
}

impl PartialExpr {
    /// Returns whether the partial expression ends before this operator.
    fn ends_before(&self, infix: Infix) -> bool {
        let level = match infix {
            // `^` binds tightest and groups to the right.
            Infix::Power => return false,
            Infix::Chain(op) => op.precedence(),
        };
        match self {
            Self::Chain { level: own, .. } => level < *own,
            Self::Prefix(UnOp::Neg, _) | Self::Power(_) => true,
            Self::Prefix(UnOp::Not, _) => level < Precedence::Compare,
            // The bracket guards the whole rest of its product.
            Self::Guard { .. } => level < Precedence::Product,
        }
    }

    fn finish(self, value: ExprId, builder: &mut TreeBuilder) -> ExprId {
        let end = builder.expr_span(value);
        let (kind, start) = match self {
            Self::Chain { first, mut rest, pending: (op, at), .. } => {
                rest.push((op, at, value));
                (Expr::Chain { first, rest }, builder.expr_span(first))
            }
            Self::Prefix(op, at) => (Expr::Unary(op, value), at),
            Self::Power(base) => (Expr::Power(base, value), builder.expr_span(base)),
            Self::Guard { cond, start } => (Expr::Guard { cond, body: value }, start),
        };
        builder.expr(kind, start.to(end))
    }
}

/// Groups a sequence of terms into one expression by precedence.
pub(super) fn group(
    first: PrefixedOperand,
    rest: Vec<(Infix, Span, PrefixedOperand)>,
    builder: &mut TreeBuilder,
) -> ExprId {
    let mut stack: Vec<PartialExpr> = Vec::new();
    let mut term = first;
    let mut rest = rest.into_iter();
    loop {
        stack.extend(term.prefixes.into_iter().map(|(op, at)| PartialExpr::Prefix(op, at)));
        let next = rest.next();
        if let (ChainOperand::Bracket(cond, start), Some((Infix::Chain(BinOp::Mul), ..))) = (term.operand, &next)
            && !is_exponent(&stack)
            && let Some((_, _, body)) = next
        {
            stack.push(PartialExpr::Guard { cond, start });
            term = body;
            continue;
        }
        let mut value = term.operand.node(builder);
        let Some((infix, at, following)) = next else {
            while let Some(frame) = stack.pop() {
                value = frame.finish(value, builder);
            }
            return value;
        };
        while let Some(frame) = stack.pop_if(|frame| frame.ends_before(infix)) {
            value = frame.finish(value, builder);
        }
        match (infix, stack.last_mut()) {
            (Infix::Power, _) => stack.push(PartialExpr::Power(value)),
            (Infix::Chain(op), Some(PartialExpr::Chain { level, rest, pending, .. })) if *level == op.precedence() => {
                let (before, before_at) = std::mem::replace(pending, (op, at));
                rest.push((before, before_at, value));
            }
            (Infix::Chain(op), _) => {
                stack.push(PartialExpr::Chain {
                    level: op.precedence(),
                    first: value,
                    rest: Vec::new(),
                    pending: (op, at),
                });
            }
        }
        term = following;
    }
}

/// Returns whether the next operand is the exponent of a power, ignoring prefix operators.
fn is_exponent(stack: &[PartialExpr]) -> bool {
    stack
        .iter()
        .rev()
        .find(|frame| !matches!(frame, PartialExpr::Prefix(..)))
        .is_some_and(|f| matches!(f, PartialExpr::Power(_)))
}

//! **Operator precedence.** Groups flat sequences of operands and operators into trees.
//!
//! The grammar reads `prefix* operand (operator prefix* operand)*`. This module groups that
//! sequence with an explicit stack. A chain of a million terms is therefore no deeper than one of
//! two, and the nesting of `^`, prefixes and brackets consumes no machine stack.

use super::builder::Builder;
use crate::ast::{Expr, ExprId};
use crate::ops::{BinOp, Level, UnOp};
use lang_base::Span;

/// An operand, before the parser knows whether `[p]` is an array or an Iverson bracket.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Node(ExprId),
    /// `[e]`, without a comma and without a suffix.
    Bracket(ExprId, Span),
}

/// An operand with its prefix operators, outermost first.
pub(super) struct Term {
    pub(super) prefixes: Vec<(UnOp, Span)>,
    pub(super) operand: Operand,
}

/// An operator between two operands.
#[derive(Clone, Copy)]
pub(super) enum Infix {
    Chain(BinOp),
    Power,
}

impl Operand {
    /// Returns the node; a bracket becomes an array.
    pub(super) fn node(self, builder: &mut Builder) -> ExprId {
        match self {
            Self::Node(id) => id,
            Self::Bracket(item, span) => builder.expr(Expr::Array { items: vec![item], comma: false }, span),
        }
    }
}

/// A partial expression whose right end is not yet known.
enum Frame {
    Chain { level: Level, first: ExprId, rest: Vec<(BinOp, Span, ExprId)>, pending: (BinOp, Span) },
    Prefix(UnOp, Span),
    Power(ExprId),
    Guard { cond: ExprId, start: Span },
}

impl Frame {
    /// Returns whether the partial expression ends before this operator.
    fn ends_before(&self, infix: Infix) -> bool {
        let level = match infix {
            // `^` binds tightest and groups to the right.
            Infix::Power => return false,
            Infix::Chain(op) => op.level(),
        };
        match self {
            Self::Chain { level: own, .. } => level < *own,
            Self::Prefix(UnOp::Neg, _) | Self::Power(_) => true,
            Self::Prefix(UnOp::Not, _) => level < Level::Compare,
            // The bracket guards the whole rest of its product.
            Self::Guard { .. } => level < Level::Product,
        }
    }

    fn finish(self, value: ExprId, builder: &mut Builder) -> ExprId {
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
pub(super) fn group(first: Term, rest: Vec<(Infix, Span, Term)>, builder: &mut Builder) -> ExprId {
    let mut stack: Vec<Frame> = Vec::new();
    let mut term = first;
    let mut rest = rest.into_iter();
    loop {
        stack.extend(term.prefixes.into_iter().map(|(op, at)| Frame::Prefix(op, at)));
        let next = rest.next();
        if let (Operand::Bracket(cond, start), Some((Infix::Chain(BinOp::Mul), ..))) = (term.operand, &next)
            && !is_exponent(&stack)
            && let Some((_, _, body)) = next
        {
            stack.push(Frame::Guard { cond, start });
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
            (Infix::Power, _) => stack.push(Frame::Power(value)),
            (Infix::Chain(op), Some(Frame::Chain { level, rest, pending, .. })) if *level == op.level() => {
                let (before, before_at) = std::mem::replace(pending, (op, at));
                rest.push((before, before_at, value));
            }
            (Infix::Chain(op), _) => {
                stack.push(Frame::Chain { level: op.level(), first: value, rest: Vec::new(), pending: (op, at) });
            }
        }
        term = following;
    }
}

/// Returns whether the next operand is the exponent of a power, ignoring prefix operators.
fn is_exponent(stack: &[Frame]) -> bool {
    stack.iter().rev().find(|frame| !matches!(frame, Frame::Prefix(..))).is_some_and(|f| matches!(f, Frame::Power(_)))
}

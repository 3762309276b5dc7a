//! **Derivative cost factor.** The factor of ATL's Theorems 6.1 and 6.35, computed from the costs
//! of the partial derivatives themselves.
//!
//! The paper counts a derivative of a scalar function as one operation; here the evaluated
//! operations count. Take an operation of `m` varying arguments whose partial derivatives cost
//! `p₁ … pₘ`. It costs 1. With its tangent, or with its contributions to the cotangents, it costs
//!
//! ```text
//! 1 + Σ (pₖ + 1) + (m − 1) = 2 m + Σ pₖ
//! ```
//!
//! The terms are the operation, the product of each partial derivative with the tangent or
//! cotangent, and the additions. The additions are those of the tangents' terms, or of the
//! contributions to cotangents, of which the first to each tensor is free. So the factor is 4 for
//! one argument with `p <= 2`, the factor of a product of two; else it is the greatest over the
//! operations. A quotient has 5: the operation; a quotient; a product and a quotient; an addition.

use std::sync::Arc;

use lang_core::ir::core::{FunctionKey, ScalarOp};
use lang_core::ir::ssa::{Rhs, SsaFunction};
use lang_core::syntax::ops::{BinOp, Scalar};

use super::forms::{FormProvider, partial_of};

/// The factor in the paper's theorems.
pub const PAPER: u64 = 4;

/// Returns the factor of a function and of its callees.
#[must_use]
pub fn factor(middle: &dyn FormProvider, ssa: &SsaFunction) -> u64 {
    fn of(middle: &dyn FormProvider, ssa: &SsaFunction, seen: &mut Vec<Arc<FunctionKey>>) -> u64 {
        let each = ssa.stmts.iter().map(|stmt| match &stmt.rhs {
            Rhs::Map { operation, args, .. } => {
                let real = |s: Option<Scalar>| matches!(s, Some(Scalar::F64 | Scalar::F32));
                let operands = args.iter().map(|a| ssa.stmts.get(a.var.0 as usize).and_then(|s| s.scalar));
                let reals: Vec<usize> = operands.enumerate().filter(|(_, s)| real(*s)).map(|(k, _)| k).collect();
                if real(stmt.scalar) { of_operation(middle, *operation, &reals) } else { 0 }
            }
            Rhs::Call { callee, .. } if !seen.contains(callee) => {
                seen.push(callee.clone());
                middle.ssa(callee).map_or(0, |called| of(middle, &called, seen))
            }
            Rhs::Loop(looped) => of(middle, &looped.body, seen),
            _ => 0,
        });
        each.max().unwrap_or(0)
    }
    PAPER.max(of(middle, ssa, &mut Vec::new()))
}

fn of_operation(middle: &dyn FormProvider, operation: ScalarOp, args: &[usize]) -> u64 {
    if operation == ScalarOp::Binary(BinOp::Div) {
        return 5;
    }
    let costs = args.iter().filter_map(|k| Some(work(&*middle.ssa(&partial_of(operation, *k, Scalar::F64)?)?)));
    costs.map(|p| p + 2).sum()
}

/// Returns the work of a function of scalars; every statement counts.
#[must_use]
pub fn work(ssa: &SsaFunction) -> u64 {
    let real = |s: Option<Scalar>| matches!(s, Some(Scalar::F64 | Scalar::F32));
    let each = ssa.stmts.iter().filter(|s| real(s.scalar)).map(|stmt| match &stmt.rhs {
        Rhs::Add(terms) => terms.len().saturating_sub(1),
        Rhs::Contract { factors, .. } => factors.len().saturating_sub(1),
        Rhs::Map { operation, .. } => usize::from(operation.work(Scalar::F64) > 0),
        _ => 0,
    });
    u64::try_from(each.sum::<usize>()).unwrap_or(u64::MAX)
}

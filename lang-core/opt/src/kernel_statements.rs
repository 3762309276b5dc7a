//! **Statements of kernels.** Tells which statements the loops of a kernel can compute, and which
//! are inlined at their uses. `lang_nest` builds kernels from the former.

use crate::index_util::index_context;
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, for_each_poly_read, for_each_pred_read};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// Returns the variables that a check reads.
#[must_use]
pub fn check_operands(ssa: &SsaFunction, check: u32) -> Vec<StmtId> {
    let mut all = Vec::new();
    if let Some(check) = ssa.checks.get(check as usize) {
        check.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| all.push(v)));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| all.push(v)));
    }
    all
}

/// Returns whether a right-hand side is only a constant or an index expression. It is then inlined
/// at its uses.
#[must_use]
pub fn is_trivial(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_))
}

/// Returns whether loops of a kernel can compute the statement.
#[must_use]
pub fn is_kernel_stmt(ssa: &SsaFunction, stmt: &Statement) -> bool {
    if stmt.scalar.is_none() || stmt.dims.iter().any(has_reads) {
        return false;
    }
    let (mut plain, mut known) = (true, true);
    stmt.rhs.for_each_pred(&mut |p| plain &= is_quantifier_free(p));
    stmt.rhs.for_each_poly(&mut |p| p.for_each_atom(&mut |a| known &= is_evaluable(a)));
    stmt.rhs.for_each_pred(&mut |p| {
        p.visit(&mut |p| p.for_each_atom(&mut |a| known &= is_evaluable(a)), &mut |_| {});
    });
    // Every operand must have elements.
    stmt.rhs.for_each_operand(&mut |v| plain &= ssa.stmts.get(v.0 as usize).is_some_and(|s| s.scalar.is_some()));
    plain
        && known
        && match &stmt.rhs {
            Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) | Rhs::Add(_) | Rhs::Map { .. } => true,
            Rhs::Contract { bound, .. } => !bound.iter().any(has_reads),
            Rhs::Reduce(r) => {
                let of = ssa.stmts.get(r.operand.var.0 as usize).and_then(|s| s.scalar);
                let number = match of {
                    Some(s @ Scalar::I64) => {
                        r.reducer.initial_value(s) == r.reducer.empty_result(s) || is_never_empty(ssa, stmt, r)
                    }
                    other => matches!(other, Some(Scalar::F64 | Scalar::F32)),
                };
                // With several bound indices, another loop order would choose another of equal
                // elements.
                let fits = if r.reducer.is_arg_reduction() { r.bound.len() == 1 } else { r.pred.is_true() };
                fits && number && !r.bound.iter().any(has_reads)
            }
            _ => false,
        }
}

/// Returns whether the reduction has a term wherever its checks hold. An empty integer reduction
/// would leave the initial accumulator, which is not its defined value.
fn is_never_empty(ssa: &SsaFunction, stmt: &Statement, of: &SsaReduction) -> bool {
    let mut known = index_context(ssa, &stmt.dims);
    let checks = stmt.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
    let assumed_checks =
        checks.filter(|check| check.guard.is_true() && (check.dims.is_empty() || check.dims == stmt.dims));
    assumed_checks.for_each(|check| known.assume(&check.cond));
    of.filter.is_true() && of.bound.iter().all(|n| known.implies(&Pred::less(&Poly::default(), n)))
}

/// Returns whether the polynomial reads data.
#[must_use]
pub fn has_reads(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

fn is_evaluable(a: &Atom) -> bool {
    !matches!(a, Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow)
}

/// Returns whether the predicate contains no relation and no existential.
fn is_quantifier_free(p: &Pred) -> bool {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(is_quantifier_free),
        Pred::Member(..) | Pred::Exists(..) => false,
        Pred::Ge(_) | Pred::Eq(_) | Pred::Ne(_) | Pred::Element(..) => true,
    }
}

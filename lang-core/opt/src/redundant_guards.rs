//! **Redundant guards.** Removes the guard `∃ j: p(j)` from a sum over the same `j`, because an
//! empty sum is already zero. Evaluation of the guard may search all of the data.

use super::index_util::{index_context, is_in_bounds};
use super::rewriter::Rewritten;
use lang_ir::ssa::{Addend, FIRST_INDEX_LOCAL, Rhs, SsaFunction, TensorAccess, substitute_indices};
use lang_sizes::predicate::{FactContext, Index, LocalId, Poly, Pred};

/// The first local for the bound indices of a statement, distinct from the indices of its reader.
const FIRST_BOUND_LOCAL: u32 = FIRST_INDEX_LOCAL + (1 << 16);

/// The maximum number of bound indices of a sum, and of nested existentials of a guard.
const MAX_QUANTIFIED_INDICES: usize = 4;

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    remove_redundant_guards(ssa).map(Rewritten::of)
}

/// Removes the redundant guards of a function; `None` if nothing changes. Statements keep their
/// numbers.
#[must_use]
pub fn remove_redundant_guards(ssa: &SsaFunction) -> Option<SsaFunction> {
    let mut found = false;
    let mut changed = Vec::new();
    for (k, stmt) in ssa.stmts.iter().enumerate() {
        let Rhs::Add(items) = &stmt.rhs else { continue };
        let each = items.iter().map(|item| {
            let is_needed =
                |p: &&Pred| !(matches!(p, Pred::Exists(..)) && is_implied_by_terms(ssa, &stmt.dims, p, &item.operand));
            let pred = Pred::all(item.pred.conjuncts().iter().filter(is_needed).cloned());
            // Without the guard, the access must still be in bounds.
            if is_in_bounds(ssa, &stmt.dims, &pred, &item.operand) {
                Addend { pred, ..item.clone() }
            } else {
                item.clone()
            }
        });
        let each: Vec<Addend> = each.collect();
        if each != *items {
            found = true;
            changed.push((k, each));
        }
    }
    found.then(|| {
        let mut ssa = ssa.clone();
        for (k, each) in changed {
            ssa.stmts.get_mut(k).into_iter().for_each(|stmt| stmt.rhs = Rhs::Add(each.clone()));
        }
        ssa
    })
}

/// Returns whether the guard holds wherever the sum that the access reads has a term.
fn is_implied_by_terms(ssa: &SsaFunction, dims: &[Poly], p: &Pred, of: &TensorAccess) -> bool {
    let Some(stmt) = ssa.stmts.get(of.var.0 as usize) else { return false };
    let Rhs::Contract { bound, pred, .. } = &stmt.rhs else { return false };
    if bound.is_empty()
        || bound.len() > MAX_QUANTIFIED_INDICES
        || quantifier_depth(p) > MAX_QUANTIFIED_INDICES
        || of.at.len() != stmt.dims.len()
    {
        return false;
    }
    let mut values = of.at.clone();
    let mut own: Vec<Index> = Vec::new();
    for (j, extent) in (0..).zip(bound) {
        let extent = substitute_indices(extent, &values);
        let index = Index { local: LocalId(FIRST_BOUND_LOCAL + j), name: format!("b{j}").into(), extent };
        values.push(index.value());
        own.push(index);
    }
    let mut context = index_context(ssa, dims);
    own.iter().for_each(|index| context.assume_in_range(index));
    context.assume(&pred.map(&|p| substitute_indices(p, &values)));
    has_witness(&context, p, &own)
}

/// Returns the number of nested existentials.
fn quantifier_depth(p: &Pred) -> usize {
    if let Pred::Exists(_, body, true) = p { quantifier_depth(body).saturating_add(1) } else { 0 }
}

/// Returns whether the predicate holds with some of these indices as witnesses.
fn has_witness(context: &FactContext, p: &Pred, own: &[Index]) -> bool {
    let Pred::Exists(index, body, true) = p else { return context.implies(p) };
    own.iter().any(|witness| {
        let inside = Pred::in_range(&witness.value(), &index.extent);
        context.implies(&inside)
            && has_witness(context, &body.substitute(&|a| (*a == index.atom()).then(|| witness.value())), own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang_reader::read_ssa;

    /// Returns the guarded term of `X3` after the pass, with `X2` read at this index.
    fn guarded_term(question: &str, at: &str) -> String {
        let text = format!(
            "ssa f[n, m](x: [n]f64, k: [m]i64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m]: i64 = input k
  X2[i0 < n]: f64 = sum i1 < m: [i0 == X1[i1]] * X0[i0]
  X3[i0 < n]: f64 = X0[i0] + [{question}] * X2[{at}]
  out X3
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let text = remove_redundant_guards(&ssa).unwrap_or(ssa).to_string();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("X3[i0 < n]: f64 = X0[i0] + "));
        line.unwrap_or_default().to_owned()
    }

    #[test]
    fn whether_there_are_terms_is_not_asked() {
        assert_eq!(guarded_term("any i1 < m: i0 == X1[i1]", "i0"), "X2[i0]");
    }

    #[test]
    fn anything_else_is() {
        assert_eq!(guarded_term("any i1 < m: i0 + 1 == X1[i1]", "i0"), "[(any i1 < m: i0 + 1 == X1[i1])] * X2[i0]");
        // The guard also keeps the access in bounds.
        let next = "any i1 < m: i0 + 1 == X1[i1]";
        assert_eq!(guarded_term(next, "i0 + 1"), format!("[({next})] * X2[i0 + 1]"));
    }
}

//! **Extremes by arg-reductions.** A function may need both the maximum of an array and its index,
//! as the derivative of `max` does. Then one loop computes the index, and the maximum is the
//! element there. Both forms yield the first of equal elements.
//!
//! ```text
//! X1 = max i < n: X0[i]            X1 = [0 < n] X0[X2] + [n <= 0] -inf
//! X2 = argmax i < n: X0[i]         X2 = argmax i < n: X0[i]
//! ```

use super::rewriter::{Rewriter, Rewritten};
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index, substitute_indices};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    let found = (0..).zip(&ssa.stmts).filter_map(|(k, stmt)| Some((k, stmt, locating_arg_reduction(ssa, stmt)?)));
    let mut rewriter = Rewriter::new(ssa);
    for (k, stmt, (place, of)) in found {
        let scalar = stmt.scalar?;
        let own: Vec<Poly> = (0..stmt.dims.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let mut values = own.clone();
        values.push(Poly::atom(Atom::Read(place.local(), place.name(), own.into())));
        let at = of.operand.at.iter().map(|p| substitute_indices(p, &values)).collect();
        let some = Pred::less(&Poly::default(), of.bound.first()?);
        let rhs = Rhs::Constant(of.reducer.empty_result(scalar));
        let empty = Statement { dims: Vec::new(), scalar: Some(scalar), rhs, needs: Vec::new(), name: None };
        let nothing = rewriter.push(StmtId(k), empty);
        let addend = |pred: Pred, of: TensorAccess| Addend { pred, neg: false, operand: of };
        let items = vec![
            addend(some.clone(), TensorAccess { var: of.operand.var, at }),
            addend(some.negated(), TensorAccess { var: nothing, at: Vec::new() }),
        ];
        rewriter.set_rhs(StmtId(k), Rhs::Add(items));
    }
    rewriter.finish()
}

/// Returns the arg-reduction that locates the extreme element of a statement, if there is one.
fn locating_arg_reduction(ssa: &SsaFunction, stmt: &Statement) -> Option<(StmtId, SsaReduction)> {
    let Rhs::Reduce(of) = &stmt.rhs else { return None };
    let chooser = of.reducer.arg_reducer().filter(|_| !of.reducer.is_arg_reduction())?;
    let real = matches!(stmt.scalar, Some(Scalar::F64 | Scalar::F32));
    // Other terms would need memory for the second read.
    let is_input = matches!(ssa.stmts.get(of.operand.var.0 as usize)?.rhs, Rhs::Input(_));
    let ([extent], true, true) = (of.bound.as_slice(), real && is_input, of.pred.is_true() && of.filter.is_true())
    else {
        return None;
    };
    let own = statement_index(stmt.dims.len(), &Poly::default()).value();
    let tells = |other: &Statement| match &other.rhs {
        Rhs::Reduce(r) => {
            let computed = r.pred.is_true() || r.pred == Pred::less(&Poly::default(), extent);
            let same = r.bound == of.bound && r.operand == of.operand && other.dims == stmt.dims && r.filter.is_true();
            r.reducer == chooser && r.arg_value == own && same && computed
        }
        _ => false,
    };
    let at = ssa.stmts.iter().position(tells)?;
    Some((StmtId(u32::try_from(at).ok()?), of.clone()))
}

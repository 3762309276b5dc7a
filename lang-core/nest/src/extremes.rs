//! **Extremes by arg-reductions.** A function may need both the maximum of an array and its index,
//! as the derivative of `max` does. Then one loop computes the index, and the maximum is the
//! element there. Both forms yield the first of equal elements.
//!
//! ```text
//! X1 = max i < n: X0[i]            X1 = [0 < n] X0[X2] + [n <= 0] -inf
//! X2 = argmax i < n: X0[i]         X2 = argmax i < n: X0[i]
//! ```

use lang_ir::reduce::Reduce;
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, at_indices, index};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// Replaces maxima and minima by elements at known indices; `None` if nothing changes.
pub(super) fn extremes(ssa: &Ssa) -> Option<Ssa> {
    let found = (0..).zip(&ssa.stmts).filter_map(|(k, stmt)| Some((k, stmt, place(ssa, stmt)?)));
    let found: Vec<(usize, &Stmt, (Var, Reduce))> = found.collect();
    if found.is_empty() {
        return None;
    }
    let mut made = ssa.clone();
    for (k, stmt, (place, of)) in found {
        let scalar = stmt.scalar?;
        let own: Vec<Poly> = (0..stmt.dims.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let mut values = own.clone();
        values.push(Poly::atom(Atom::Read(place.local(), place.name(), own.into())));
        let at = of.of.at.iter().map(|p| at_indices(p, &values)).collect();
        let some = Pred::less(&Poly::default(), of.bound.first()?);
        let nothing = Var(u32::try_from(made.stmts.len()).ok()?);
        let rhs = Rhs::Constant(of.reducer.nothing(scalar));
        made.stmts.push(Stmt { dims: Vec::new(), scalar: Some(scalar), rhs, needs: Vec::new(), name: None });
        let addend = |pred: Pred, of: Access| Addend { pred, neg: false, of };
        let items = vec![
            addend(some.clone(), Access { var: of.of.var, at }),
            addend(some.negated(), Access { var: nothing, at: Vec::new() }),
        ];
        made.stmts.get_mut(k)?.rhs = Rhs::Add(items);
    }
    Some(made)
}

/// Where the greatest or least element that a statement is can be found, if another statement tells.
fn place(ssa: &Ssa, stmt: &Stmt) -> Option<(Var, Reduce)> {
    let Rhs::Reduce(of) = &stmt.rhs else { return None };
    let chooser = of.reducer.chooser().filter(|_| !of.reducer.gives_place())?;
    let real = matches!(stmt.scalar, Some(Scalar::F64 | Scalar::F32));
    // Other terms would need memory to be read again.
    let is_input = matches!(ssa.stmts.get(of.of.var.0 as usize)?.rhs, Rhs::Input(_));
    let ([extent], true, true) = (of.bound.as_slice(), real && is_input, of.pred.is_true() && of.terms.is_true())
    else {
        return None;
    };
    let own = index(stmt.dims.len(), &Poly::default()).value();
    let tells = |other: &Stmt| match &other.rhs {
        Rhs::Reduce(r) => {
            let computed = r.pred.is_true() || r.pred == Pred::less(&Poly::default(), extent);
            let same = r.bound == of.bound && r.of == of.of && other.dims == stmt.dims && r.terms.is_true();
            r.reducer == chooser && r.place == own && same && computed
        }
        _ => false,
    };
    let at = ssa.stmts.iter().position(tells)?;
    Some((Var(u32::try_from(at).ok()?), of.clone()))
}

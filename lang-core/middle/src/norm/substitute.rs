//! **Substitution** in core. It replaces indices, and replaces a variable by an element of it after
//! the variable has become an array over an index (ATL 5.6: `x ↦ x[i]`).

use lang_ir::core::{CoreExpr, ExprKind, ExprRef};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// Returns the expression with its polynomials replaced, including those in predicates and types.
#[must_use]
pub fn substitute_expr(e: &ExprRef, put: &dyn Fn(&Poly) -> Poly) -> ExprRef {
    lang_base::ensure_sufficient_stack(|| e.map(&mut |e| substitute_expr(e, put), put, &|p| p.map(put)))
}

/// Replaces each of these variables `x` by `x[at]`.
#[must_use]
pub fn index_variables(e: &ExprRef, vars: &[LocalId], at: &Poly) -> ExprRef {
    if vars.is_empty() {
        return e.clone();
    }
    let poly = |p: &Poly| index_variables_in_poly(p, vars, at);
    let pred = |p: &Pred| index_variables_in_pred(p, vars, at);
    lang_base::ensure_sufficient_stack(|| match &e.kind {
        ExprKind::Var(x) if vars.contains(x) => {
            let array = lang_ir::core::CoreType::Tensor(Poly::default(), std::sync::Arc::new(e.ty.clone()));
            CoreExpr::access(&e.with_kind(ExprKind::Var(*x), array), at.clone())
        }
        _ => e.map(&mut |e| index_variables(e, vars, at), &poly, &pred),
    })
}

/// Does the same in a polynomial.
#[must_use]
pub fn index_variables_in_poly(p: &Poly, vars: &[LocalId], at: &Poly) -> Poly {
    p.substitute(&|a| match a {
        Atom::Read(x, name, inner) if vars.contains(x) => {
            let inner = inner.iter().map(|p| index_variables_in_poly(p, vars, at));
            Some(Poly::atom(Atom::Read(*x, name.clone(), std::iter::once(at.clone()).chain(inner).collect())))
        }
        _ => None,
    })
}

/// Does the same in a predicate.
#[must_use]
pub fn index_variables_in_pred(p: &Pred, vars: &[LocalId], at: &Poly) -> Pred {
    p.map(&|p| index_variables_in_poly(p, vars, at)).replace_opaque(&|x| {
        let at = || std::iter::once(at.clone()).chain(x.indices.iter().cloned()).collect();
        (x.is_array && vars.contains(&x.source)).then(|| Pred::Element(x.source, x.name.clone(), at(), true))
    })
}

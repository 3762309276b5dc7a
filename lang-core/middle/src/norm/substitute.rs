//! **Substitution** in core. It replaces indices, and replaces a variable by an element of it after
//! the variable has become an array over an index (ATL 5.6: `x ↦ x[i]`).

use lang_ir::core::{E, Expr, Kind};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// Returns the expression with its polynomials replaced, including those in predicates and types.
#[must_use]
pub fn expr(e: &E, put: &dyn Fn(&Poly) -> Poly) -> E {
    lang_base::guarded(|| e.map(&mut |e| expr(e, put), put, &|p| p.map(put)))
}

/// Replaces each of these variables `x` by `x[at]`.
#[must_use]
pub fn read_at(e: &E, vars: &[LocalId], at: &Poly) -> E {
    if vars.is_empty() {
        return e.clone();
    }
    let poly = |p: &Poly| poly_read_at(p, vars, at);
    let pred = |p: &Pred| pred_read_at(p, vars, at);
    lang_base::guarded(|| match &e.kind {
        Kind::Var(x) if vars.contains(x) => {
            let array = lang_ir::core::CoreType::Tensor(Poly::default(), std::sync::Arc::new(e.ty.clone()));
            Expr::access(&e.with(Kind::Var(*x), array), at.clone())
        }
        _ => e.map(&mut |e| read_at(e, vars, at), &poly, &pred),
    })
}

/// Does the same in a polynomial.
#[must_use]
pub fn poly_read_at(p: &Poly, vars: &[LocalId], at: &Poly) -> Poly {
    p.substitute(&|a| match a {
        Atom::Read(x, name, inner) if vars.contains(x) => {
            let inner = inner.iter().map(|p| poly_read_at(p, vars, at));
            Some(Poly::atom(Atom::Read(*x, name.clone(), std::iter::once(at.clone()).chain(inner).collect())))
        }
        _ => None,
    })
}

/// Does the same in a predicate.
#[must_use]
pub fn pred_read_at(p: &Pred, vars: &[LocalId], at: &Poly) -> Pred {
    p.map(&|p| poly_read_at(p, vars, at)).replace_opaque(&|x| {
        let at = || std::iter::once(at.clone()).chain(x.at.iter().cloned()).collect();
        (x.array && vars.contains(&x.of)).then(|| Pred::Is(x.of, x.name.clone(), at(), true))
    })
}

//! **Reads in predicates.** Reads truth values and integers in predicates through views. Replaces a
//! comparison with an integer that is a choice among constants by the conditions of the choice.

use super::{SsaBuilder, substitute_indices};
use crate::core::Constant;
use crate::ssa::{Rhs, StmtId, TensorAccess, are_mutually_exclusive, for_each_poly_read};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The maximal total size of the conditions that replace a comparison.
const MAX_CONDITION_SIZE: usize = 24;

/// Whether the predicate is false for all values of its parts. Each disjunction is split into
/// cases; a conjunct refutes its own negation.
fn is_unsatisfiable(p: &Pred) -> bool {
    let items = p.conjuncts();
    if p.is_false() {
        return true;
    }
    let Some(any) = items.iter().find_map(|p| if let Pred::Or(any) = p { Some(any) } else { None }) else {
        return false;
    };
    let rest: Vec<Pred> = items.iter().filter(|p| !matches!(p, Pred::Or(own) if own == any)).cloned().collect();
    any.iter().all(|p| is_unsatisfiable(&Pred::all(rest.iter().chain([p]).cloned())))
}

impl SsaBuilder {
    /// Rewrites a predicate so that the truth values and integers in it are read through views that
    /// show them unchanged.
    pub fn resolve_pred_reads(&self, p: &Pred) -> Pred {
        let rewritten = p.replace_opaque(&|x| {
            let of = self.unchanged_element(StmtId::from_local(x.source).filter(|_| x.is_array)?, x.indices)?;
            Some(Pred::Element(of.var.local(), of.var.name(), of.at.into(), true))
        });
        let mut some = false;
        rewritten.visit(&mut |p| for_each_poly_read(p, &mut |_| some = true), &mut |_| {});
        if !some {
            return rewritten;
        }
        let resolved = rewritten.substitute(&|a| {
            let Atom::Read(x, _, at) = a else { return None };
            let of = self.unchanged_element(StmtId::from_local(*x)?, at)?;
            Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
        });
        self.replace_comparisons(resolved)
    }

    /// Replaces comparisons with an integer that conditions choose among constants, such as the
    /// number of a constructor, by those conditions.
    fn replace_comparisons(&self, p: Pred) -> Pred {
        match &p {
            Pred::And(items) => Pred::all(items.iter().map(|p| self.replace_comparisons(p.clone()))),
            Pred::Or(items) => Pred::any_of(items.iter().map(|p| self.replace_comparisons(p.clone()))),
            Pred::Eq(of) => self.equality_condition(of).unwrap_or(p),
            Pred::Ne(of) => self.equality_condition(of).map_or(p, |holds| holds.negated()),
            _ => p,
        }
    }

    /// Returns where `of` is 0, if it is such an integer minus a constant.
    fn equality_condition(&self, of: &Poly) -> Option<Pred> {
        let atom = of.terms().iter().find_map(|(m, _)| m.as_slice().first())?.0.clone();
        let (1, rest) = of.linear_in(&atom)? else { return None };
        let (value, Atom::Read(x, _, at)) = (-rest.as_constant()?, &atom) else { return None };
        let stmt = self.get(StmtId::from_local(*x)?).filter(|stmt| stmt.needs.is_empty())?;
        let terms: Vec<(&Pred, StmtId)> = match &stmt.rhs {
            Rhs::Add(terms) => {
                terms.iter().map(|t| (!t.neg).then_some((&t.pred, t.operand.var))).collect::<Option<_>>()?
            }
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() => match factors.as_slice() {
                [one] => vec![(pred, one.var)],
                _ => return None,
            },
            _ => return None,
        };
        let constant = |(p, var): &(&Pred, StmtId)| match self.get(*var)?.rhs {
            Rhs::Constant(Constant::Int(c)) => Some((Clone::clone(*p), i128::from(c))),
            _ => None,
        };
        let terms: Vec<(Pred, i128)> = terms.iter().map(constant).collect::<Option<_>>()?;
        // The limit counts the conditions of all values, so that either all comparisons of the
        // integer are replaced or none.
        let all: Vec<&Pred> = terms.iter().map(|(p, _)| p).collect();
        if all.iter().map(|p| p.size()).sum::<usize>() > MAX_CONDITION_SIZE || !are_mutually_exclusive(&all) {
            return None;
        }
        let of = |c: i128| Pred::any_of(terms.iter().filter(|(_, own)| *own == c).map(|(p, _)| p.clone()));
        // The integer is 0 where none of the conditions holds.
        let none = Pred::all(all.iter().map(|p| p.negated()));
        let holds = if value != 0 || is_unsatisfiable(&none) { of(value) } else { Pred::any_of([of(0), none]) };
        Some(holds.map(&|p| substitute_indices(p, at)))
    }

    /// Returns the element that a view shows unchanged, or `None` if there is no such view.
    fn unchanged_element(&self, var: StmtId, at: &[Poly]) -> Option<TensorAccess> {
        let seen = self.read_through_views(&TensorAccess { var, at: at.to_vec() })?;
        let plain = seen.pred.is_true() && !seen.neg && seen.needs.is_empty() && seen.access.var != var;
        plain.then_some(seen.access)
    }
}

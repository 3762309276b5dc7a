//! **Substitution for inlining**: maps the indices, sizes, parameters and statements of a function
//! to those of the place in another function where it is inserted.

use std::collections::HashMap;

use super::ssa::{StmtId, TensorAccess, index_number, statement_index};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// The mapping from a function to its place.
pub struct InlineMap {
    /// Values of sizes and integer parameters.
    pub locals: HashMap<LocalId, Poly>,
    /// For each statement, the tensor that holds its elements and its first indices there.
    pub vars: Vec<TensorAccess>,
    /// The number of indices of the place. The function's own indices follow them.
    pub outer_rank: usize,
}

impl InlineMap {
    /// Returns the indices of the place.
    pub fn outer_indices(&self) -> Vec<Poly> {
        (0..self.outer_rank).map(|k| statement_index(k, &Poly::default()).value()).collect()
    }

    /// Maps an access whose indices are already mapped.
    pub fn map_access_at(&self, var: StmtId, at: Vec<Poly>) -> TensorAccess {
        match self.vars.get(var.0 as usize) {
            Some(TensorAccess { var, at: first }) => {
                TensorAccess { var: *var, at: first.iter().cloned().chain(at).collect() }
            }
            None => TensorAccess { var, at },
        }
    }

    /// Maps an access with its indices.
    pub fn map_access(&self, a: &TensorAccess) -> TensorAccess {
        self.map_access_at(a.var, a.at.iter().map(|p| self.map_poly(p)).collect())
    }

    /// Maps the indices, locals and reads of a polynomial.
    pub fn map_poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => Some(statement_index(self.outer_rank + k, &Poly::default()).value()),
                None => self.locals.get(l).cloned(),
            },
            Atom::Read(x, _, at) => {
                let of = self.map_access_at(StmtId::from_local(*x)?, at.iter().map(|p| self.map_poly(p)).collect());
                Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
            }
            _ => None,
        })
    }

    /// Maps the polynomials and the accesses of a predicate.
    pub fn map_pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.map_poly(p)).replace_opaque(&|x| {
            let of = self.map_access_at(StmtId::from_local(x.source)?, x.indices.to_vec());
            let (local, name, at) = (of.var.local(), of.var.name(), of.at.into());
            Some(if x.is_array { Pred::Element(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}

//! **Substitution for inlining**: maps the indices, sizes, parameters and statements of a function
//! to those of the place in another function where it is inserted.

use std::collections::HashMap;

use super::ssa::{Access, Var, index, index_number};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// The mapping from a function to its place.
pub struct Put {
    /// Values of sizes and integer parameters.
    pub locals: HashMap<LocalId, Poly>,
    /// For each statement, the tensor that holds its elements and its first indices there.
    pub vars: Vec<Access>,
    /// The number of indices of the place. The function's own indices follow them.
    pub outer: usize,
}

impl Put {
    /// Returns the indices of the place.
    pub fn around(&self) -> Vec<Poly> {
        (0..self.outer).map(|k| index(k, &Poly::default()).value()).collect()
    }

    /// Maps an access whose indices are already mapped.
    pub fn access_at(&self, var: Var, at: Vec<Poly>) -> Access {
        match self.vars.get(var.0 as usize) {
            Some(Access { var, at: first }) => Access { var: *var, at: first.iter().cloned().chain(at).collect() },
            None => Access { var, at },
        }
    }

    /// Maps an access with its indices.
    pub fn access(&self, a: &Access) -> Access {
        self.access_at(a.var, a.at.iter().map(|p| self.poly(p)).collect())
    }

    /// Maps the indices, locals and reads of a polynomial.
    pub fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => Some(index(self.outer + k, &Poly::default()).value()),
                None => self.locals.get(l).cloned(),
            },
            Atom::Read(x, _, at) => {
                let of = self.access_at(Var::of_local(*x)?, at.iter().map(|p| self.poly(p)).collect());
                Some(Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.into())))
            }
            _ => None,
        })
    }

    /// Maps the polynomials and the accesses of a predicate.
    pub fn pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let of = self.access_at(Var::of_local(x.of)?, x.at.to_vec());
            let (local, name, at) = (of.var.local(), of.var.name(), of.at.into());
            Some(if x.array { Pred::Is(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}

//! **Substitution of a loop body** into the kernel of [`super`]. Sizes become those that the loop
//! passes, indices those of the kernel's loops, and statements the variables that hold their
//! elements. Each function returns `None` if a part has no counterpart.

use std::collections::HashSet;

use super::{Region, read};
use crate::is_trivial;
use crate::kernel::loop_number;
use lang_ir::ssa::{Access, Rhs, Stmt, Var, reads};
use lang_sizes::predicate::{Atom, Poly, Pred};

impl Region<'_> {
    pub(super) fn rhs(&mut self, rhs: &Rhs) -> Option<Rhs> {
        let mut known = true;
        let mut operands = HashSet::new();
        rhs.for_each_operand(&mut |v| operands.extend([v]));
        operands.iter().for_each(|v| known &= self.there(*v).is_some());
        if !known {
            return None;
        }
        let this = &*self;
        let failed = std::cell::Cell::new(false);
        let poly = |p: &Poly| {
            this.poly(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        };
        let pred = |p: &Pred| {
            this.pred(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        };
        let access = &mut |a: &Access| {
            this.access_of(a).unwrap_or_else(|| {
                failed.set(true);
                a.clone()
            })
        };
        let made = rhs.map(access, &poly, &pred);
        (!failed.get()).then_some(made)
    }

    /// Returns the variable that holds a body statement's elements; adds a trivial statement to the
    /// function if needed.
    pub(super) fn there(&mut self, var: Var) -> Option<Access> {
        if let Some(there) = self.vars.get(&var) {
            return Some(there.clone());
        }
        let stmt = self.body.stmts.get(var.0 as usize).filter(|s| is_trivial(&s.rhs))?;
        let rhs = match &stmt.rhs {
            Rhs::Index(p) => Rhs::Index(self.poly(p)?),
            other => other.clone(),
        };
        let dims = stmt.dims.iter().map(|n| self.poly(n)).collect::<Option<Vec<Poly>>>()?;
        let new = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Stmt { dims, scalar: stmt.scalar, rhs, needs: Vec::new(), name: None });
        let there = Access { var: new, at: Vec::new() };
        self.vars.insert(var, there.clone());
        Some(there)
    }

    pub(super) fn access(&mut self, of: &Access) -> Option<Access> {
        self.there(of.var)?;
        self.access_of(of)
    }

    pub(super) fn access_of(&self, of: &Access) -> Option<Access> {
        let there = self.vars.get(&of.var)?;
        Some(Access { var: there.var, at: there.at.iter().cloned().chain(self.polys(&of.at)?).collect() })
    }

    /// Substitutes polynomials, after adding the trivial statements that they read.
    pub(super) fn puts(&mut self, all: &[Poly]) -> Option<Vec<Poly>> {
        let mut read = Vec::new();
        all.iter().for_each(|p| reads(p, &mut |v| read.push(v)));
        read.into_iter().try_for_each(|v| self.there(v).map(drop))?;
        self.polys(all)
    }

    pub(super) fn polys(&self, all: &[Poly]) -> Option<Vec<Poly>> {
        all.iter().map(|p| self.poly(p)).collect()
    }

    pub(super) fn poly(&self, p: &Poly) -> Option<Poly> {
        let failed = std::cell::Cell::new(false);
        let put = p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let there = self.indices.get(l).or_else(|| self.locals.get(l)).cloned();
                // An index of another loop is not one of these.
                failed.set(failed.get() || there.is_none() && loop_number(*l).is_some());
                there
            }
            Atom::Read(x, _, at) => {
                let of = Access { var: Var::of_local(*x)?, at: at.to_vec() };
                let there = self.access_of(&of);
                failed.set(failed.get() || there.is_none());
                there.map(|there| read(&there))
            }
            _ => None,
        });
        (!failed.get()).then_some(put)
    }

    pub(super) fn pred(&self, p: &Pred) -> Option<Pred> {
        let failed = std::cell::Cell::new(false);
        let own = p.map(&|p| {
            self.poly(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        });
        let put = own.replace_opaque(&|x| {
            let there = Var::of_local(x.of).filter(|_| x.array).and_then(|var| self.vars.get(&var));
            let Some(there) = there else {
                failed.set(true);
                return None;
            };
            let at: Vec<Poly> = there.at.iter().cloned().chain(x.at.to_vec()).collect();
            Some(Pred::Is(there.var.local(), there.var.name(), at.into(), true))
        });
        (!failed.get()).then_some(put)
    }
}

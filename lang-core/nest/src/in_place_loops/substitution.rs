//! **Substitution of a loop body** into the kernel of [`super`]. Sizes become those that the loop
//! passes, indices those of the kernel's loops, and statements the variables that hold their
//! elements. Each function returns `None` if a part has no counterpart.

use std::collections::HashSet;

use super::{LoopConversion, element_poly};
use crate::loop_nest::loop_number;
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, for_each_poly_read};
use lang_opt::kernel_statements::is_trivial;
use lang_sizes::predicate::{Atom, Poly, Pred};

impl LoopConversion<'_> {
    pub(super) fn substitute_rhs(&mut self, rhs: &Rhs) -> Option<Rhs> {
        let mut known = true;
        let mut operands = HashSet::new();
        rhs.for_each_operand(&mut |v| operands.extend([v]));
        operands.iter().for_each(|v| known &= self.resolve_var(*v).is_some());
        if !known {
            return None;
        }
        let this = &*self;
        let failed = std::cell::Cell::new(false);
        let poly = |p: &Poly| {
            this.substitute_poly(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        };
        let pred = |p: &Pred| {
            this.substitute_pred(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        };
        let access = &mut |a: &TensorAccess| {
            this.substitute_resolved_access(a).unwrap_or_else(|| {
                failed.set(true);
                a.clone()
            })
        };
        let substituted = rhs.map(access, &poly, &pred);
        (!failed.get()).then_some(substituted)
    }

    /// Returns the variable that holds a body statement's elements; adds a trivial statement to the
    /// function if needed.
    pub(super) fn resolve_var(&mut self, var: StmtId) -> Option<TensorAccess> {
        if let Some(there) = self.vars.get(&var) {
            return Some(there.clone());
        }
        let stmt = self.body.stmts.get(var.0 as usize).filter(|s| is_trivial(&s.rhs))?;
        let rhs = match &stmt.rhs {
            Rhs::Index(p) => Rhs::Index(self.substitute_poly(p)?),
            other => other.clone(),
        };
        let dims = stmt.dims.iter().map(|n| self.substitute_poly(n)).collect::<Option<Vec<Poly>>>()?;
        let new = StmtId(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Statement { dims, scalar: stmt.scalar, rhs, needs: Vec::new(), name: None });
        let there = TensorAccess { var: new, at: Vec::new() };
        self.vars.insert(var, there.clone());
        Some(there)
    }

    pub(super) fn substitute_access(&mut self, of: &TensorAccess) -> Option<TensorAccess> {
        self.resolve_var(of.var)?;
        self.substitute_resolved_access(of)
    }

    pub(super) fn substitute_resolved_access(&self, of: &TensorAccess) -> Option<TensorAccess> {
        let there = self.vars.get(&of.var)?;
        Some(TensorAccess {
            var: there.var,
            at: there.at.iter().cloned().chain(self.substitute_polys(&of.at)?).collect(),
        })
    }

    /// Substitutes polynomials, after adding the trivial statements that they read.
    pub(super) fn substitute_polys_and_operands(&mut self, all: &[Poly]) -> Option<Vec<Poly>> {
        let mut read = Vec::new();
        all.iter().for_each(|p| for_each_poly_read(p, &mut |v| read.push(v)));
        read.into_iter().try_for_each(|v| self.resolve_var(v).map(drop))?;
        self.substitute_polys(all)
    }

    pub(super) fn substitute_polys(&self, all: &[Poly]) -> Option<Vec<Poly>> {
        all.iter().map(|p| self.substitute_poly(p)).collect()
    }

    pub(super) fn substitute_poly(&self, p: &Poly) -> Option<Poly> {
        let failed = std::cell::Cell::new(false);
        let put = p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let there = self.index_values.get(l).or_else(|| self.size_values.get(l)).cloned();
                // An index without a value belongs to another loop.
                failed.set(failed.get() || there.is_none() && loop_number(*l).is_some());
                there
            }
            Atom::Read(x, _, at) => {
                let of = TensorAccess { var: StmtId::from_local(*x)?, at: at.to_vec() };
                let there = self.substitute_resolved_access(&of);
                failed.set(failed.get() || there.is_none());
                there.map(|there| element_poly(&there))
            }
            _ => None,
        });
        (!failed.get()).then_some(put)
    }

    pub(super) fn substitute_pred(&self, p: &Pred) -> Option<Pred> {
        let failed = std::cell::Cell::new(false);
        let own = p.map(&|p| {
            self.substitute_poly(p).unwrap_or_else(|| {
                failed.set(true);
                p.clone()
            })
        });
        let put = own.replace_opaque(&|x| {
            let there = StmtId::from_local(x.source).filter(|_| x.is_array).and_then(|var| self.vars.get(&var));
            let Some(there) = there else {
                failed.set(true);
                return None;
            };
            let at: Vec<Poly> = there.at.iter().cloned().chain(x.indices.to_vec()).collect();
            Some(Pred::Element(there.var.local(), there.var.name(), at.into(), true))
        });
        (!failed.get()).then_some(put)
    }
}

//! **Splicing** of one function into another, at a place with indices of its own. A spliced
//! statement has those indices of the place on which it depends, before its own. New statements are
//! appended, and earlier ones may read them.

use std::collections::{BTreeSet, HashSet};

use super::items::{fits, has_reads};
use super::numbers::{access, indices, indices_of, places, pred};
use lang_ir::core::Constant;
use lang_ir::flat::Input;
use lang_ir::put::Put;
use lang_ir::reduce::Reduce;
use lang_ir::ssa::{Access, Addend, Check, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A function under construction, into which another is spliced.
pub(super) struct Inside {
    pub(super) ssa: Ssa,
    /// The number of the first new statement.
    pub(super) first: usize,
    pub(super) put: Put,
    /// The extents of the place's indices.
    pub(super) around: Vec<Poly>,
    /// The predicate of the place. Elsewhere all elements are zero, and no check applies.
    pub(super) pred: Pred,
    /// The variables that keep all indices of the place, as do all that depend on them.
    pub(super) depend: HashSet<Var>,
    /// The check of this function for each check of the body, if it exists.
    checks: Vec<Option<u32>>,
}

impl Inside {
    /// Starts the splicing of a body that receives these sizes. None of its statements exist yet.
    pub(super) fn new(ssa: &Ssa, body: &Ssa, sizes: &[Poly], around: Vec<Poly>) -> Self {
        let locals = body.sizes.iter().copied().zip(sizes.iter().cloned()).collect();
        Self {
            ssa: ssa.clone(),
            first: ssa.stmts.len(),
            put: Put { locals, vars: Vec::new(), outer: around.len() },
            around,
            pred: Pred::truth(),
            depend: HashSet::new(),
            checks: vec![None; body.checks.len()],
        }
    }

    pub(super) fn push(&mut self, stmt: Stmt) -> Option<Var> {
        let var = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(stmt);
        Some(var)
    }

    /// Substitutes an `i64` input that indices may mention.
    pub(super) fn integer(&mut self, input: &Input, of: &Access) -> Option<()> {
        if input.leaf.scalar != Some(Scalar::I64) || !input.leaf.dims.is_empty() {
            return Some(());
        }
        let value = match &self.ssa.stmts.get(of.var.0 as usize)?.rhs {
            Rhs::Index(p) => at_indices(p, &of.at),
            Rhs::Constant(Constant::Int(k)) => Poly::constant((*k).into()),
            _ => Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.clone().into())),
        };
        self.put.locals.insert(input.local, value);
        Some(())
    }

    /// Adds a statement of the body. Returns its access, and whether it depends on the variables in
    /// `depend`. `None` if it cannot be spliced.
    pub(super) fn statement(&mut self, body: &Ssa, stmt: &Stmt) -> Option<(Access, bool)> {
        let put = &self.put;
        let rhs = stmt.rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p));
        let rhs = where_it_holds(rhs, &self.pred);
        let own: Vec<Poly> = stmt.dims.iter().map(|n| put.poly(n)).collect();
        let outer = self.around.len();
        let mut used: BTreeSet<usize> = indices(&own);
        if let Rhs::Contract { bound, .. } | Rhs::Reduce(Reduce { bound, .. }) = &rhs {
            used.extend(indices(bound));
        }
        // Loops in it run alike everywhere in the place.
        if !used.is_empty() {
            return None;
        }
        rhs.for_each_poly(&mut |p| used.extend(indices([p])));
        rhs.for_each_pred(&mut |p| used.extend(indices_of(p)));
        let kept: Vec<usize> = (0..outer).filter(|k| used.contains(k)).collect();
        let mut depends = false;
        rhs.for_each_operand(&mut |v| depends |= self.depend.contains(&v));
        let mut needs = Vec::new();
        for check in &stmt.needs {
            needs.push(self.check(body, *check)?);
        }
        let bound = match &rhs {
            Rhs::Contract { bound, .. } | Rhs::Reduce(Reduce { bound, .. }) => bound.len(),
            _ => 0,
        };
        // Its own indices come behind those that are left.
        let mut values = places(&kept, outer + own.len() + bound);
        for (k, slot) in (0..).zip(values.iter_mut().skip(outer)) {
            *slot = index(kept.len() + k, &Poly::default()).value();
        }
        let rhs = rhs.map(&mut |a| access(a, &values), &|p| at_indices(p, &values), &|p| pred(p, &values));
        let dims = kept.iter().filter_map(|k| self.around.get(*k)).chain(&own).cloned().collect();
        let new = Stmt { dims, scalar: stmt.scalar, rhs, needs, name: stmt.name.clone() };
        if !super::is_trivial(&new.rhs) && !fits(&self.ssa, &new) || depends && kept.len() != outer {
            return None;
        }
        let var = self.push(new)?;
        Some((Access { var, at: kept.iter().map(|k| index(*k, &Poly::default()).value()).collect() }, depends))
    }

    /// Adds a check of the body, for the whole place. `None` if it reads a value that exists only
    /// inside.
    pub(super) fn check(&mut self, body: &Ssa, c: u32) -> Option<u32> {
        if let Some(known) = self.checks.get(c as usize)? {
            return Some(*known);
        }
        let own = body.checks.get(c as usize)?;
        let (guard, cond) = (self.pred.and(&self.put.pred(&own.guard)), self.put.pred(&own.cond));
        let own_dims: Vec<Poly> = own.dims.iter().map(|n| self.put.poly(n)).collect();
        // What is asked runs over the same everywhere in the place.
        if own_dims.iter().any(|n| has_reads(n) || !indices([n]).is_empty()) {
            return None;
        }
        let mut late = false;
        let mut see = |v: Var| late |= v.0 as usize >= self.first;
        [&guard, &cond].into_iter().for_each(|p| for_each_read(p, &mut see));
        if late {
            return None;
        }
        let plain = |check: &Check| check.guard.is_true() && check.dims.is_empty() && check.cond == cond;
        let known = self.ssa.checks.iter().position(|check| plain(check) && indices_of(&cond).is_empty());
        let new = match known {
            Some(known) => known,
            None => {
                let dims = self.around.iter().cloned().chain(own_dims).collect();
                self.ssa.checks.push(Check { dims, guard, cond, what: own.what.clone() });
                self.ssa.checks.len() - 1
            }
        };
        let new = u32::try_from(new).ok()?;
        self.checks.get_mut(c as usize).into_iter().for_each(|slot| *slot = Some(new));
        Some(new)
    }
}

/// The same where a predicate holds, and zero elsewhere.
fn where_it_holds(rhs: Rhs, p: &Pred) -> Rhs {
    if p.is_true() {
        return rhs;
    }
    match rhs {
        Rhs::Add(items) => {
            let items = items.into_iter().map(|item| Addend { pred: p.and(&item.pred), ..item });
            Rhs::Add(items.collect())
        }
        Rhs::Contract { bound, pred, neg, factors } => Rhs::Contract { bound, pred: p.and(&pred), neg, factors },
        Rhs::Map { operation, pred, args } => Rhs::Map { operation, pred: p.and(&pred), args },
        Rhs::Reduce(r) => Rhs::Reduce(Reduce { pred: p.and(&r.pred), ..r }),
        other => other,
    }
}

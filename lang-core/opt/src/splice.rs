//! **Splicing** of one function into another, at a place with indices of its own. A spliced
//! statement has those indices of the place on which it depends, before its own. New statements are
//! appended, and earlier ones may read them.

use std::collections::{BTreeSet, HashSet};

use super::index_util::{indices, pred_indices, renumbering, substitute_access, substitute_pred};
use super::kernel_statements::{has_reads, is_kernel_stmt, is_trivial};
use lang_ir::core::Constant;
use lang_ir::flat::FunctionInput;
use lang_ir::inline_map::InlineMap;
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{
    Addend, Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read, statement_index,
    substitute_indices,
};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A function under construction, into which another is spliced.
pub struct Splicer {
    /// The function.
    pub ssa: SsaFunction,
    /// The number of the first new statement.
    pub first_new_stmt: usize,
    /// The mapping from the body to this function.
    pub substitution: InlineMap,
    /// The extents of the place's indices.
    pub enclosing_extents: Vec<Poly>,
    /// The predicate of the place. Elsewhere all elements are zero, and no check applies.
    pub enclosing_guard: Pred,
    /// The variables that keep all indices of the place, as do all that depend on them.
    pub dependent_vars: HashSet<StmtId>,
    /// The check of this function for each check of the body, if it exists.
    spliced_checks: Vec<Option<u32>>,
}

impl Splicer {
    /// Starts the splicing of a body that receives these sizes. None of its statements exist yet.
    pub fn new(ssa: &SsaFunction, body: &SsaFunction, sizes: &[Poly], around: Vec<Poly>) -> Self {
        let locals = body.sizes.iter().copied().zip(sizes.iter().cloned()).collect();
        Self {
            ssa: ssa.clone(),
            first_new_stmt: ssa.stmts.len(),
            substitution: InlineMap { locals, vars: Vec::new(), outer_rank: around.len() },
            enclosing_extents: around,
            enclosing_guard: Pred::truth(),
            dependent_vars: HashSet::new(),
            spliced_checks: vec![None; body.checks.len()],
        }
    }

    /// Adds a statement.
    pub fn push_stmt(&mut self, stmt: Statement) -> Option<StmtId> {
        let var = StmtId(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(stmt);
        Some(var)
    }

    /// Substitutes an `i64` input that indices may mention.
    pub fn bind_integer(&mut self, input: &FunctionInput, of: &TensorAccess) -> Option<()> {
        if input.leaf.scalar != Some(Scalar::I64) || !input.leaf.dims.is_empty() {
            return Some(());
        }
        let value = match &self.ssa.stmts.get(of.var.0 as usize)?.rhs {
            Rhs::Index(p) => substitute_indices(p, &of.at),
            Rhs::Constant(Constant::Int(k)) => Poly::constant((*k).into()),
            _ => Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.clone().into())),
        };
        self.substitution.locals.insert(input.local, value);
        Some(())
    }

    /// Adds a statement of the body. Returns its access, and whether it depends on the variables in
    /// `dependent_vars`. `None` if it cannot be spliced.
    pub fn splice_stmt(&mut self, body: &SsaFunction, stmt: &Statement) -> Option<(TensorAccess, bool)> {
        let put = &self.substitution;
        let rhs = stmt.rhs.map(&mut |a| put.map_access(a), &|p| put.map_poly(p), &|p| put.map_pred(p));
        let rhs = guard_rhs(rhs, &self.enclosing_guard);
        let own: Vec<Poly> = stmt.dims.iter().map(|n| put.map_poly(n)).collect();
        let outer = self.enclosing_extents.len();
        let mut used: BTreeSet<usize> = indices(&own);
        if let Rhs::Contract { bound, .. } | Rhs::Reduce(SsaReduction { bound, .. }) = &rhs {
            used.extend(indices(bound));
        }
        // The extents of its loops must not depend on the indices of the place.
        if !used.is_empty() {
            return None;
        }
        rhs.for_each_poly(&mut |p| used.extend(indices([p])));
        rhs.for_each_pred(&mut |p| used.extend(pred_indices(p)));
        let kept: Vec<usize> = (0..outer).filter(|k| used.contains(k)).collect();
        let mut depends = false;
        rhs.for_each_operand(&mut |v| depends |= self.dependent_vars.contains(&v));
        let mut needs = Vec::new();
        for check in &stmt.needs {
            needs.push(self.splice_check(body, *check)?);
        }
        let bound = match &rhs {
            Rhs::Contract { bound, .. } | Rhs::Reduce(SsaReduction { bound, .. }) => bound.len(),
            _ => 0,
        };
        // Its own indices follow the kept indices of the place.
        let mut values = renumbering(&kept, outer + own.len() + bound);
        for (k, slot) in (0..).zip(values.iter_mut().skip(outer)) {
            *slot = statement_index(kept.len() + k, &Poly::default()).value();
        }
        let rhs = rhs.map(&mut |a| substitute_access(a, &values), &|p| substitute_indices(p, &values), &|p| {
            substitute_pred(p, &values)
        });
        let dims = kept.iter().filter_map(|k| self.enclosing_extents.get(*k)).chain(&own).cloned().collect();
        let new = Statement { dims, scalar: stmt.scalar, rhs, needs, name: stmt.name.clone() };
        if !is_trivial(&new.rhs) && !is_kernel_stmt(&self.ssa, &new) || depends && kept.len() != outer {
            return None;
        }
        let var = self.push_stmt(new)?;
        Some((
            TensorAccess { var, at: kept.iter().map(|k| statement_index(*k, &Poly::default()).value()).collect() },
            depends,
        ))
    }

    /// Adds a check of the body, for the whole place. `None` if it reads a value that exists only
    /// inside.
    pub fn splice_check(&mut self, body: &SsaFunction, c: u32) -> Option<u32> {
        if let Some(known) = self.spliced_checks.get(c as usize)? {
            return Some(*known);
        }
        let own = body.checks.get(c as usize)?;
        let (guard, cond) =
            (self.enclosing_guard.and(&self.substitution.map_pred(&own.guard)), self.substitution.map_pred(&own.cond));
        let own_dims: Vec<Poly> = own.dims.iter().map(|n| self.substitution.map_poly(n)).collect();
        // The extents of a check must not depend on the indices of the place.
        if own_dims.iter().any(|n| has_reads(n) || !indices([n]).is_empty()) {
            return None;
        }
        let mut late = false;
        let mut see = |v: StmtId| late |= v.0 as usize >= self.first_new_stmt;
        [&guard, &cond].into_iter().for_each(|p| for_each_pred_read(p, &mut see));
        if late {
            return None;
        }
        let plain = |check: &RuntimeCheck| check.guard.is_true() && check.dims.is_empty() && check.cond == cond;
        let known = self.ssa.checks.iter().position(|check| plain(check) && pred_indices(&cond).is_empty());
        let new = match known {
            Some(known) => known,
            None => {
                let dims = self.enclosing_extents.iter().cloned().chain(own_dims).collect();
                self.ssa.checks.push(RuntimeCheck { dims, guard, cond, failure: own.failure.clone() });
                self.ssa.checks.len() - 1
            }
        };
        let new = u32::try_from(new).ok()?;
        self.spliced_checks.get_mut(c as usize).into_iter().for_each(|slot| *slot = Some(new));
        Some(new)
    }
}

/// Guards a right-hand side, so that it is zero wherever the predicate is false.
fn guard_rhs(rhs: Rhs, p: &Pred) -> Rhs {
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
        Rhs::Reduce(r) => Rhs::Reduce(SsaReduction { pred: p.and(&r.pred), ..r }),
        other => other,
    }
}

//! **Sizes with one value per run.** Supplies the values of top-level constants as facts. Adds a
//! run-time check on entry of a loop if the extents of one index are neither proved equal nor
//! proved different. `finish` calls this module when it decides the obligations.

use std::collections::HashSet;

use super::super::tree::{SizeCheck, SizeConstraint, TypedExpr as Typed, TypedNode};
use super::super::unify::has_meta;
use super::TypeChecker;
use super::finish::ScopeContext;
use super::scope::Obligation;
use lang_base::{Diagnostic, Span};
use lang_resolve::LocalKind;
use lang_sizes::predicate::prove::FactSet;
use lang_sizes::predicate::{Atom, LocalId, Poly};

impl TypeChecker<'_> {
    /// Adds as facts the known values of the top-level sizes that the obligations and the facts
    /// mention.
    pub(super) fn assume_global_sizes(&self, obligations: &[(usize, Obligation)], facts: &mut FactSet) {
        let (mut seen, mut open) = (HashSet::new(), Vec::new());
        let mut note = |p: &Poly| {
            self.metas.zonk_size(p).for_each_atom(&mut |a| {
                if let Atom::Global(name) = a
                    && seen.insert(name.clone())
                {
                    open.push(name.clone());
                }
            });
        };
        self.scopes.facts().for_each(|f| note(&f.poly));
        obligations.iter().for_each(|(_, o)| o.sizes().into_iter().for_each(&mut note));
        while let Some(name) = open.pop() {
            let Some(value) = self.env.let_size_value(&name) else { continue };
            value.for_each_atom(&mut |a| {
                if let Atom::Global(other) = a
                    && seen.insert(other.clone())
                {
                    open.push(other.clone());
                }
            });
            facts.assume_zero(Poly::atom(Atom::Global(name)).sub(&value));
        }
    }

    /// Appends to the help of a diagnostic the values of the top-level constants in these sizes.
    pub(super) fn add_constant_values(&self, d: Diagnostic, sizes: &[&Poly]) -> Diagnostic {
        let mut known: Vec<String> = Vec::new();
        for p in sizes {
            p.for_each_atom(&mut |a| {
                if let Atom::Global(name) = a
                    && let Some(value) = self.env.let_size_value(name).and_then(|p| p.as_constant())
                {
                    let text = format!("`{name}` is {value}");
                    if !known.contains(&text) {
                        known.push(text);
                    }
                }
            });
        }
        if known.is_empty() {
            return d;
        }
        let values = format!("here {}", super::and_list(&known));
        let help = match d.help.clone() {
            Some(help) => help.append("\n").append(&values),
            None => values.into(),
        };
        d.help(help)
    }

    /// Adds a run-time check that two extents of one bare index (`for i`, without a range) are
    /// equal, on entry of its binder. Returns whether it did.
    ///
    /// The caller has failed to prove equality. No check is added if equality is refuted or an
    /// extent is unknown on entry. Extents that depend only on parameters and indices must agree
    /// for all values of these, so they are never compared at run time.
    pub(super) fn add_entry_check(
        &mut self,
        context: &mut ScopeContext,
        index: LocalId,
        n: &Poly,
        m: &Poly,
        span: Span,
    ) -> bool {
        let difference = n.sub(m);
        let facts = &context.facts;
        if difference.has_overflowed()
            || has_meta(&difference)
            || facts.proves_nonneg(&difference.add_constant(-1))
            || facts.proves_nonneg(&difference.neg().add_constant(-1))
        {
            return false;
        }
        let Some(scope) = self.bare_indices.iter().find(|b| b.index == index).map(|b| b.scope) else { return false };
        let binder_and_first = self.nodes.iter().find_map(|(id, node)| {
            let (Typed::Binder { vars, .. } | Typed::Fold { vars, .. }) = &node.kind else { return None };
            vars.iter().any(|v| v.local == index).then(|| Some((id, vars.first()?.local)))?
        });
        let Some((binder, first)) = binder_and_first else { return false };
        let binder_scope = self.local_info(first).map_or(0, |i| i.scope);
        let (mut has_run_value, mut depends_on_loop) = (false, false);
        difference.for_each_atom(&mut |a| match a {
            Atom::Global(_) => has_run_value = true,
            Atom::Local(l, _) => {
                use LocalKind::{FunTypeParam, ImplicitSize, Index, Lambda, Param};
                let kind = self.resolved.locals.get(l.0 as usize).map(|d| d.kind);
                has_run_value |= !matches!(kind, Some(Param | ImplicitSize | Lambda | Index | FunTypeParam));
                depends_on_loop |= *l >= first && self.local_info(*l).is_some_and(|i| i.scope >= binder_scope);
            }
            Atom::Arg(..) => depends_on_loop = true,
            _ => {}
        });
        if !has_run_value || depends_on_loop {
            return false;
        }
        let subject = format!("the index `{}`", self.local_name(index));
        let check = SizeCheck {
            found: m.clone(),
            constraint: SizeConstraint::Equal(n.clone()),
            subject,
            span,
            is_precondition: true,
        };
        let checked = self.nodes.iter().find_map(|(id, node)| {
            let Typed::Checked(checks, inner) = &node.kind else { return None };
            (*inner == binder && checks.iter().all(|c| c.is_precondition)).then_some(id)
        });
        if let Some(Typed::Checked(checks, _)) = checked.map(|id| &mut self.nodes[id].kind) {
            checks.push(check);
        } else {
            // The check replaces the binder node in place, because other nodes refer to it.
            let TypedNode { kind, ty, span } = self.nodes[binder].clone();
            let inner = self.alloc(kind, ty, span);
            self.nodes[binder].kind = Typed::Checked(vec![check], inner);
        }
        // Within the binder's scope the extents are equal.
        context.entry_equalities.push((scope, difference));
        context.reset();
        true
    }
}

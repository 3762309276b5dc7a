//! **Accesses out of bounds at a loop end**: `for i: x[i + 1]` with `i` over all of `x`.
//!
//! The warning covers only accesses that fail whenever the loop runs at all. The access is under no
//! condition, and the loop visits every index. At the first or the last index, the access is proved
//! to be out of bounds.

use super::super::tree::TypedIndexRange;
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Span};
use lang_sizes::predicate::prove::FactSet;
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// An index variable whose binder visits all of its range.
pub(super) struct FullRangeIndex {
    index: LocalId,
    /// The scope of its binder.
    binder_scope: usize,
    /// The scope at which the body of its binder begins.
    pub(super) body_scope: usize,
    /// The first index and the end of the range, if both are known exactly.
    range: Option<(Poly, Poly)>,
}

impl TypeChecker<'_> {
    /// Returns the run of an index variable of the current scope.
    pub(super) fn full_range_index(
        &self,
        index: LocalId,
        range: &TypedIndexRange,
        from: Option<Poly>,
        to: Option<Poly>,
    ) -> FullRangeIndex {
        let exact = |p: &Poly| !p.has_overflowed() && (matches!(range, TypedIndexRange::Extent(_)) || self.is_exact(p));
        let known = match (range, from, to) {
            (TypedIndexRange::Range(_, _, Some(_)), ..) => None,
            (_, Some(from), Some(to)) if exact(&from) && exact(&to) => Some((from, to)),
            _ => None,
        };
        FullRangeIndex { index, binder_scope: 0, body_scope: 0, range: known }
    }

    /// Records the index variables of a binder whose body begins here.
    pub(super) fn record_full_ranges(&mut self, entered: usize, runs: Vec<FullRangeIndex>) {
        let scope = self.scopes.current;
        self.full_range_indices.extend(runs.into_iter().map(|r| FullRangeIndex {
            binder_scope: entered,
            body_scope: scope,
            ..r
        }));
    }

    /// Warns of an access whose index is out of bounds at an end of a range. `facts` are those of
    /// its scope.
    pub(super) fn check_loop_ends(&mut self, facts: &FactSet, scope: usize, index: &Poly, extent: &Poly, span: Span) {
        let inner = self.full_range_indices.partition_point(|r| r.body_scope < scope);
        let found = self.full_range_indices.iter().enumerate().skip(inner).take_while(|(_, r)| r.body_scope == scope);
        let d = found
            .filter(|(k, _)| self.has_independent_inner_ranges(*k))
            .find_map(|(_, run)| self.out_of_bounds_at_end(facts, run, index, extent, span));
        // Each range is reported once.
        let Some((place, d)) = d else { return };
        let is_reported = |d: &Diagnostic| d.code == Code::W0312 && d.related.iter().any(|l| l.span == place);
        if !facts.is_contradictory() && !self.diagnostics.iter().any(is_reported) {
            self.report(d);
        }
    }

    /// Returns whether the ranges of the later indices of the same binder are independent of its
    /// indices. Whether they run is then the same for every value of this index.
    fn has_independent_inner_ranges(&self, k: usize) -> bool {
        let Some(run) = self.full_range_indices.get(k) else { return false };
        let later = self.full_range_indices.iter().skip(k + 1).take_while(|r| r.body_scope == run.body_scope);
        later.into_iter().all(|r| {
            let outer = |p: &Poly| {
                let mut outer = true;
                self.metas.zonk_size(p).for_each_atom(&mut |a| {
                    outer &= match a {
                        Atom::Local(l, _) => self.local_info(*l).is_some_and(|i| i.scope < run.binder_scope),
                        _ => true,
                    };
                });
                outer
            };
            r.range.as_ref().is_some_and(|(from, to)| outer(from) && outer(to))
        })
    }

    fn out_of_bounds_at_end(
        &self,
        facts: &FactSet,
        run: &FullRangeIndex,
        index: &Poly,
        extent: &Poly,
        span: Span,
    ) -> Option<(Span, Diagnostic)> {
        let (from, to) = run.range.as_ref()?;
        let (from, to) = (self.metas.zonk_size(from), self.metas.zonk_size(to));
        let i = self.local_size(run.index);
        let (sign @ (1 | -1), rest) = index.linear_in(i.as_atom()?)? else { return None };
        if to.has_overflowed() || index.has_overflowed() || extent.has_overflowed() {
            return None;
        }
        let info = self.local_info(run.index)?;
        let (name, place) = (&info.name, info.span);
        let value = |i: &Poly| if sign == 1 { rest.add(i) } else { rest.sub(i) };
        let above = |p: &Poly| facts.proves_nonneg(&p.sub(extent));
        let below = |p: &Poly| facts.proves_nonneg(&p.neg().add_constant(-1));
        let (at_last, at_first) = (value(&to.add_constant(-1)), value(&from));
        let guard = |condition: &str| format!("or guard the access, `[{index} {condition}] * …`");
        let inside = format!("< {extent}");
        let (which, value, help) = if above(&at_last) && sign == 1 {
            let end = extent.sub(&rest);
            ("last", at_last, format!("end the range earlier, `{name} < {end}`, {}", guard(&inside)))
        } else if below(&at_first) && sign == 1 {
            let begin = rest.neg();
            ("first", at_first, format!("start the range later, `{name} in {begin}..{to}`, {}", guard(">= 0")))
        } else if above(&at_first) {
            let back = extent.add_constant(-1).sub(&i);
            ("first", at_first, format!("to count backwards from the last element, write `{back}`, {}", guard(&inside)))
        } else if below(&at_last) {
            let end = rest.add_constant(1);
            ("last", at_last, format!("end the range earlier, `{name} < {end}`, {}", guard(">= 0")))
        } else {
            return None;
        };
        let message = format!("this index is out of bounds at the {which} `{name}`");
        let d = Diagnostic::new(Code::W0312, span, message)
            .label(format!("the index is `{value}` there, but the extent is `{extent}`"))
            .related(place, format!("`{name}` runs from `{from}` to `{}`", to.add_constant(-1)))
            .help(help);
        Some((place, d))
    }
}

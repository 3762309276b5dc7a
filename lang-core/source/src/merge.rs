//! **Merging lines.** Substitutes a line into its readers if the line is free to read. A line that
//! is read once, at each index once, is also substituted, unless the program has a telling name for
//! it. Nothing is computed more often than before.
//!
//! [`super::writer`] runs the rules of this module and of [`super::cross_line_rules`] until none
//! applies.

use std::collections::HashMap;
use std::sync::Arc;

use super::expression_tree::SourceExpr;
use super::read_ssa::{ArrayUpdate, LineCall, LineKind, StatementLine};
use super::rules::{simplify, simplify_predicate, with_assumption, with_index_ranges};
use super::table::StatementFacts;
use lang_base::{BackgroundDrop, check_cancelled};
use lang_ir::core::FunctionKey;
use lang_ir::ssa::StmtId;
use lang_sizes::predicate::{FactContext, Index, Poly};

/// The most nodes of a program that is fit to read.
const MAX_NODES: usize = 20_000;

/// The most lines of such a program; more would also take long to merge.
const MAX_LINES: usize = 400;

/// A line that is read once stays separate if its reader would then have more nodes than this.
const MAX_MERGED_NODES: usize = 60;

/// The most rounds of rules, as a guard against a rule that reports a change without making one.
const MAX_ROUNDS: usize = 1_000;

/// The lines, with the known facts about sizes.
pub(super) struct LineMerger<'a> {
    pub(super) lines: BackgroundDrop<Vec<StatementLine>>,
    pub(super) context: FactContext,
    pub(super) facts: &'a mut StatementFacts,
    /// The lines that must exist: the leaves of the result, and the lines that checks read.
    pub(super) roots: Vec<StmtId>,
    /// Whether the program introduces a name.
    pub(super) is_program_name: &'a dyn Fn(&str) -> bool,
    /// Whether a callee never fails.
    pub(super) never_fails: &'a dyn Fn(&Arc<FunctionKey>) -> bool,
}

/// A callback for each read: the line read, its subscripts, and the indices around.
type OnRead<'f> = &'f mut dyn FnMut(StmtId, &[Poly], &[Index]);

/// The uses of a line.
#[derive(Clone, Default)]
pub(super) struct LineUses {
    /// The number of reads as an element.
    pub(super) element_reads: usize,
    /// The number of reads in an index or a predicate.
    pub(super) index_reads: usize,
    /// Whether it is a root, or a loop refers to it.
    pub(super) is_root: bool,
}

impl LineMerger<'_> {
    /// Applies the rules until none changes a line. Returns `false` if the program is too large.
    pub(super) fn run(&mut self) -> bool {
        self.simplify_all();
        for _ in 0..MAX_ROUNDS {
            check_cancelled();
            let size: usize =
                self.live_lines().iter().filter_map(|v| self.line(*v)?.element().map(SourceExpr::size)).sum();
            if size > MAX_NODES || self.live_lines().len() > MAX_LINES {
                return false;
            }
            let changed = self.reuse_unguarded_lines()
                || self.inline_free_lines()
                || self.inline_single_reads()
                || self.absorb_common_constants()
                || self.drop_implied_guards()
                || self.merge_equal_calls()
                || self.assume_nonempty_ranges()
                || self.inline_scaled_arrays()
                || self.remove_centred_sums();
            if !changed {
                return true;
            }
        }
        // Reached only if a rule reports a change without making one.
        debug_assert!(false, "{MAX_ROUNDS} rounds");
        true
    }

    pub(super) fn line(&self, v: StmtId) -> Option<&StatementLine> {
        self.lines.get(v.0 as usize)
    }

    fn vars(&self) -> impl Iterator<Item = StmtId> + use<> {
        (0..u32::try_from(self.lines.len()).unwrap_or(0)).map(StmtId)
    }

    /// Returns the lines that the roots need, in order.
    pub(super) fn live_lines(&self) -> Vec<StmtId> {
        let mut live = vec![false; self.lines.len()];
        let mut open = self.roots.clone();
        while let Some(v) = open.pop() {
            let Some(slot @ false) = live.get_mut(v.0 as usize) else { continue };
            *slot = true;
            self.for_each_use(v, &mut |v, _| open.push(v));
            self.line(v).into_iter().for_each(|line| line.for_each_loop_link(&mut |v| open.push(v)));
        }
        let mut all: Vec<StmtId> = self.vars().filter(|v| live.get(v.0 as usize) == Some(&true)).collect();
        all.sort_by_key(|v| self.line(*v).map(|line| line.sort_key));
        all
    }

    pub(super) fn for_each_use(&self, v: StmtId, f: &mut dyn FnMut(StmtId, bool)) {
        self.line(v).into_iter().for_each(|line| line.for_each_use(f));
    }

    pub(super) fn uses(&self) -> HashMap<StmtId, LineUses> {
        let mut uses: HashMap<StmtId, LineUses> = HashMap::new();
        for v in self.live_lines() {
            self.for_each_use(v, &mut |v, in_index| {
                let uses = uses.entry(v).or_default();
                if in_index { uses.index_reads += 1 } else { uses.element_reads += 1 }
            });
            self.line(v)
                .into_iter()
                .for_each(|l| l.for_each_loop_link(&mut |v| uses.entry(v).or_default().is_root = true));
        }
        for v in &self.roots {
            uses.entry(*v).or_default().is_root = true;
        }
        uses
    }

    fn simplify_all(&mut self) {
        for v in self.live_lines() {
            self.substitute_in_line(v, &|_| None);
            let Some(line) = self.line(v).cloned() else { continue };
            let mut around = self.facts.bounded_enclosing_indices(line.evaluating_loop(self.facts));
            let pred = match &line.kind {
                LineKind::Call(call, _) => {
                    around.extend(call.batch.iter().cloned());
                    &call.pred
                }
                LineKind::Update(of) => {
                    around.extend(of.batch.iter().chain(&of.bound).cloned());
                    &of.pred
                }
                _ => continue,
            };
            let (context, fresh) = (&mut self.context, &*self.facts);
            let pred = with_index_ranges(&around, context, |context| simplify_predicate(pred, context, fresh));
            let is = match &line.kind {
                LineKind::Call(call, part) => LineKind::Call(LineCall { pred, ..call.clone() }, *part),
                LineKind::Update(of) => LineKind::Update(Box::new(ArrayUpdate { pred, ..(**of).clone() })),
                _ => continue,
            };
            self.lines.get_mut(v.0 as usize).into_iter().for_each(|slot| slot.kind = is.clone());
        }
    }

    /// Substitutes elements for reads in a line, and simplifies it. Returns whether the line
    /// changed.
    pub(super) fn substitute_in_line(&mut self, v: StmtId, put: &dyn Fn(StmtId) -> Option<StatementLine>) -> bool {
        check_cancelled();
        let Some(line) = self.line(v).cloned() else { return false };
        if matches!(line.kind, LineKind::Input) {
            return false;
        }
        let (context, fresh) = (&mut self.context, &mut *self.facts);
        let mut home = fresh.bounded_enclosing_indices(line.evaluating_loop(fresh));
        let first = home.len();
        let is = line.kind.map_expressions(&line.indices, &mut |around, pred, e| {
            let e = substitute_lines(e, put, fresh);
            home.truncate(first);
            home.extend(around.iter().cloned());
            with_index_ranges(&home, context, |context| {
                with_assumption(pred, context, |context| simplify_to_fixpoint(e, context, fresh))
            })
        });
        let changed = is != line.kind;
        if let Some(slot) = self.lines.get_mut(v.0 as usize) {
            slot.kind = is;
        }
        changed
    }

    /// Substitutes lines that are free to read into their readers.
    fn inline_free_lines(&mut self) -> bool {
        let mut changed = false;
        for v in self.live_lines() {
            let lines = &self.lines;
            let mut reads = Vec::new();
            self.for_each_use(v, &mut |u, in_index| {
                let free = lines.get(u.0 as usize).and_then(StatementLine::element).is_some_and(SourceExpr::is_free);
                if free && !in_index {
                    reads.push(u);
                }
            });
            if reads.is_empty() {
                continue;
            }
            let known: HashMap<StmtId, StatementLine> =
                reads.iter().filter_map(|u| Some((*u, self.line(*u)?.clone()))).collect();
            self.substitute_in_line(v, &|u| known.get(&u).cloned());
            changed = true;
        }
        changed
    }

    /// Substitutes a line that is read once, at each of its indices once, into its reader.
    fn inline_single_reads(&mut self) -> bool {
        let uses = self.uses();
        for v in self.live_lines() {
            let mut found = None;
            let before = self.line(v).and_then(StatementLine::element).map_or(0, SourceExpr::size);
            let is_once = |u: StmtId| {
                let line = self.line(u)?;
                let e = line.element()?;
                let uses = uses.get(&u)?;
                let single = uses.element_reads == 1 && uses.index_reads == 0 && !uses.is_root;
                let named = line.name.as_ref().is_some_and(|n| (self.is_program_name)(n)) && is_worth_naming(e);
                (single && !named && before + e.size() <= MAX_MERGED_NODES).then_some(())
            };
            self.for_each_read(v, &mut |u, at, around| {
                if is_once(u).is_some() && reads_distinct_elements(at, &self.indices_between(u, v, around)) {
                    found = Some(u);
                }
            });
            if let Some(u) = found
                && let Some(line) = self.line(u).cloned()
            {
                return self.substitute_in_line(v, &|w| (w == u).then(|| line.clone()));
            }
        }
        false
    }

    /// Returns the indices around a read, with those of the loops that contain the reader but not
    /// the line it reads.
    fn indices_between(&self, u: StmtId, v: StmtId, around: &[Index]) -> Vec<Index> {
        let home = self.line(v).and_then(|line| line.evaluating_loop(self.facts));
        let outer = self.line(u).and_then(|line| line.enclosing_loop);
        let (all, known) = (self.facts.enclosing_indices(home), self.facts.enclosing_indices(outer).len());
        all.into_iter().skip(known).chain(around.iter().cloned()).collect()
    }

    /// Calls `f` for each element that a line reads, with the indices around it.
    fn for_each_read(&self, v: StmtId, f: OnRead<'_>) {
        let Some(line) = self.line(v) else { return };
        line.kind.for_each_expression(&line.indices, &mut |around, e| for_each_read_in(e, &mut around.to_vec(), f));
    }
}

/// Returns whether a name for the expression helps a reader. A multiple of a named value needs no
/// name.
fn is_worth_naming(e: &SourceExpr) -> bool {
    match e {
        SourceExpr::Guard(_, e) => is_worth_naming(e),
        SourceExpr::Product(p) => p.factors.len() + p.divisors.len() > 1 || p.factors.iter().any(is_worth_naming),
        SourceExpr::Read(..) | SourceExpr::Constant(_) | SourceExpr::Index(_) => false,
        _ => true,
    }
}

/// Simplifies the expression until it no longer changes, at most 8 times.
pub(super) fn simplify_to_fixpoint(
    mut e: SourceExpr,
    context: &mut FactContext,
    fresh: &mut StatementFacts,
) -> SourceExpr {
    for _ in 0..8 {
        let next = simplify(&e, context, fresh);
        if next == e {
            break;
        }
        e = next;
    }
    e
}

/// Substitutes elements for reads.
pub(super) fn substitute_lines(
    e: &SourceExpr,
    put: &dyn Fn(StmtId) -> Option<StatementLine>,
    fresh: &mut StatementFacts,
) -> SourceExpr {
    match e {
        SourceExpr::Read(v, at) => match put(*v).and_then(|line| line.element_at(at, fresh)) {
            // The substituted element may read other lines that are substituted, too.
            Some(inner) => substitute_lines(&inner, &|w| if w == *v { None } else { put(w) }, fresh),
            None => e.clone(),
        },
        _ => e.map_children_normalised(&mut |e| substitute_lines(e, put, fresh)),
    }
}

/// Calls `f` for each read, with the indices around it.
fn for_each_read_in(e: &SourceExpr, around: &mut Vec<Index>, f: OnRead<'_>) {
    match e {
        SourceExpr::Read(v, at) => f(*v, at, around),
        SourceExpr::Reduce(r) => {
            let before = around.len();
            around.extend(r.indices.iter().cloned());
            for_each_read_in(&r.body, around, f);
            around.truncate(before);
        }
        SourceExpr::IndexedSum(i, _, inner) => {
            let before = around.len();
            around.extend(i.iter().cloned());
            for_each_read_in(inner, around, f);
            around.truncate(before);
        }
        other => other.for_each_child(&mut |e| for_each_read_in(e, around, f)),
    }
}

/// Returns whether different values of the indices around always read different elements. The
/// subscripts must determine each index.
fn reads_distinct_elements(at: &[Poly], around: &[Index]) -> bool {
    let mut open: Vec<&Index> = around.iter().collect();
    loop {
        let determined_index = open.iter().position(|i| {
            at.iter().any(|p| {
                let others = open.iter().filter(|j| j.local != i.local);
                p.linear_in(&i.atom()).is_some_and(|(_, rest)| !others.clone().any(|j| rest.mentions(&j.atom())))
            })
        });
        match determined_index {
            Some(k) => drop(open.remove(k)),
            None => return open.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_with_nan_is_settled() {
        let (mut context, mut fresh) = (FactContext::default(), StatementFacts::default());
        let gap = SourceExpr::product(2.0, vec![SourceExpr::real(f64::NAN)], Vec::new());
        let e = SourceExpr::Sum(vec![(false, SourceExpr::real(1.0)), (true, gap)]);
        let settled = simplify_to_fixpoint(e, &mut context, &mut fresh);
        assert_eq!(simplify(&settled, &mut context, &mut fresh), settled);
    }
}

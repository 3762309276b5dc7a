//! **Trip counts.** Counts how often a node of a kernel runs: the number of index tuples within the
//! bounds, by [`count`]. A data-dependent count is printed as an upper bound.

use super::loop_nest::NestLoop;
use lang_ir::ssa::SsaFunction;
use lang_opt::kernel_statements::has_reads;
use lang_sizes::count::count;
use lang_sizes::predicate::{FactContext, Index, Poly, Pred};

/// The loops and conditions that enclose a node of a kernel.
#[derive(Clone)]
pub(super) struct NestScope {
    depth: usize,
    /// The facts about the sizes.
    size_facts: FactContext,
    /// The facts in scope.
    facts: FactContext,
    /// The counted indices, which `pred` restricts.
    counted_indices: Vec<Index>,
    pred: Pred,
    /// Whether a condition depends on data.
    has_data_condition: bool,
    /// Whether a `while` loop encloses the node. Counts are then per iteration of that loop.
    is_in_while_loop: bool,
}

impl NestScope {
    /// Creates the surroundings of a kernel's body.
    pub(super) fn new(ssa: &SsaFunction) -> Self {
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let sizes = FactContext::new(&sizes);
        Self {
            depth: 1,
            facts: sizes.clone(),
            size_facts: sizes,
            counted_indices: Vec::new(),
            pred: Pred::truth(),
            has_data_condition: false,
            is_in_while_loop: false,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the same surroundings, one level deeper.
    pub(super) fn one_level_deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// Returns the surroundings of a loop's body.
    pub(super) fn enter_loop(&self, of: &NestLoop) -> Self {
        let mut inside = self.one_level_deeper();
        inside.facts.assume_in_range(&of.index);
        if of.while_condition.is_some() {
            return Self {
                counted_indices: Vec::new(),
                pred: Pred::truth(),
                has_data_condition: false,
                is_in_while_loop: true,
                ..inside
            };
        }
        let i = of.index.value();
        let mut bounds = Vec::new();
        // The strips of a loop together cover its extent once, so the strip's index is not counted.
        let strip = self.counted_indices.iter().position(|strip| is_strip_of_loop(of, strip));
        let strip = strip.map(|k| inside.counted_indices.remove(k));
        let is_bound = |p: &Poly| strip.as_ref().is_none_or(|strip| !p.mentions(&strip.atom()));
        for from in &of.lower_bounds {
            inside.facts.assume(&Pred::at_most(from, &i));
            bounds.extend(is_bound(from).then(|| Pred::at_most(from, &i)));
        }
        for to in &of.upper_bounds {
            inside.facts.assume(&Pred::less(&i, to));
            bounds.extend(is_bound(to).then(|| Pred::less(&i, to)));
        }
        inside.counted_indices.push(of.index.clone());
        inside.pred = Pred::all([inside.pred].into_iter().chain(bounds));
        inside
    }

    /// Returns the surroundings in which an equation determines the index.
    pub(super) fn enter_let(&self, index: &Index, value: &Poly) -> Self {
        let mut inside = self.enter_guard(&Pred::in_range(value, &index.extent));
        inside.facts.assume_in_range(index);
        inside.facts.assume(&Pred::equal(&index.value(), value));
        inside
    }

    /// Returns the surroundings in which the predicate holds.
    pub(super) fn enter_guard(&self, p: &Pred) -> Self {
        let mut inside = self.one_level_deeper();
        inside.facts.assume(p);
        if self.facts.implies(p) {
            return inside;
        }
        if p.depends_on_data() || reads_data(p) {
            inside.has_data_condition = true;
        } else {
            inside.pred = Pred::all([inside.pred, p.clone()]);
        }
        inside
    }

    /// Returns those of 0 and `of` that may be the maximum.
    pub(super) fn maximum_candidates(&self, of: &[Poly]) -> Vec<Poly> {
        self.undominated([Poly::default()].iter().chain(of), &|p, q| Pred::at_most(p, q))
    }

    /// Returns those of the extent and `of` that may be the minimum.
    pub(super) fn minimum_candidates(&self, extent: &Poly, of: &[Poly]) -> Vec<Poly> {
        self.undominated([extent].into_iter().chain(of), &|p, q| Pred::at_most(q, p))
    }

    /// Returns the candidates that no other candidate is known to dominate.
    fn undominated<'p>(
        &self,
        all: impl Iterator<Item = &'p Poly>,
        no_further: &dyn Fn(&Poly, &Poly) -> Pred,
    ) -> Vec<Poly> {
        let mut left: Vec<Poly> = Vec::new();
        for p in all {
            if !left.iter().any(|q| self.facts.implies(&no_further(p, q))) {
                left.retain(|q| !self.facts.implies(&no_further(q, p)));
                left.push(p.clone());
            }
        }
        left
    }

    /// Returns the trip count in words; `shown` renames the atoms of polynomials.
    pub(super) fn trip_count_text(&self, shown: &dyn Fn(&Poly) -> Poly) -> String {
        let times = match self.count_text(shown).as_str() {
            "1" => "once".to_owned(),
            "at most 1" => "at most once".to_owned(),
            count => format!("{count} times"),
        };
        format!("{times}{}", if self.is_in_while_loop { " per iteration" } else { "" })
    }

    fn count_text(&self, shown: &dyn Fn(&Poly) -> Poly) -> String {
        let exactly =
            count(&self.counted_indices, &self.pred, &self.size_facts).ok().and_then(|times| times.as_ratio());
        if let (Some(times), false) = (exactly, self.has_data_condition) {
            return match times.as_fraction() {
                (p, 1) => shown(p).to_string(),
                (p, by) => format!("({}) / {by}", shown(p)),
            };
        }
        // An extent that depends on an outer index counts as the extent of that index.
        let extent = |index: &Index| {
            let other = self.counted_indices.iter().rev().find(|other| index.extent.mentions(&other.atom()));
            other.map_or(&index.extent, |other| &other.extent).clone()
        };
        let most = self.counted_indices.iter().fold(Poly::constant(1), |all, i| all.mul(&extent(i)));
        format!("at most {}", shown(&most))
    }
}

/// Returns whether the loop continues, in each iteration of the other, where the previous iteration
/// ended.
fn is_strip_of_loop(of: &NestLoop, other: &Index) -> bool {
    let mut pairs = of.lower_bounds.iter().flat_map(|from| of.upper_bounds.iter().map(move |to| (from, to)));
    pairs.any(|(from, to)| from.linear_in(&other.atom()).is_some_and(|(by, _)| to.sub(from).as_constant() == Some(by)))
}

/// Returns whether the predicate reads array elements.
fn reads_data(p: &Pred) -> bool {
    let mut found = false;
    p.visit(&mut |p| found |= has_reads(p), &mut |_| {});
    found
}

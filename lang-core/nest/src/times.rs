//! **Trip counts.** Counts how often a node of a kernel runs: the number of index tuples within the
//! bounds, by [`count`]. A data-dependent count is printed as an upper bound.

use super::items::has_reads;
use super::kernel::Loop;
use lang_ir::ssa::Ssa;
use lang_sizes::count::count;
use lang_sizes::predicate::{Context, Index, Poly, Pred};

/// The loops and conditions that enclose a node of a kernel.
#[derive(Clone)]
pub(super) struct Around {
    depth: usize,
    /// What is known of the sizes.
    sizes: Context,
    /// What is known here.
    known: Context,
    /// The indices that are counted, and between what they are.
    indices: Vec<Index>,
    pred: Pred,
    /// Is something asked that is no matter of indices?
    asked: bool,
    /// Is it in a loop that data end? Then what is counted is counted for one iteration of that.
    endless: bool,
}

impl Around {
    /// Creates the surroundings of a kernel's body.
    pub(super) fn new(ssa: &Ssa) -> Self {
        let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
        let sizes = Context::new(&sizes);
        Self {
            depth: 1,
            known: sizes.clone(),
            sizes,
            indices: Vec::new(),
            pred: Pred::truth(),
            asked: false,
            endless: false,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the same surroundings, one level deeper.
    pub(super) fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// Returns the surroundings of a loop's body.
    pub(super) fn within(&self, of: &Loop) -> Self {
        let mut inside = self.deeper();
        inside.known.enter(&of.index);
        if of.goes_on.is_some() {
            return Self { indices: Vec::new(), pred: Pred::truth(), asked: false, endless: true, ..inside };
        }
        let i = of.index.value();
        let mut bounds = Vec::new();
        // The parts of a loop that is done in strips are as many as its extent says, all together.
        let strip = self.indices.iter().position(|strip| is_strip_of(of, strip));
        let strip = strip.map(|k| inside.indices.remove(k));
        let is_bound = |p: &Poly| strip.as_ref().is_none_or(|strip| !p.mentions(&strip.atom()));
        for from in &of.from {
            inside.known.assume(&Pred::at_most(from, &i));
            bounds.extend(is_bound(from).then(|| Pred::at_most(from, &i)));
        }
        for to in &of.to {
            inside.known.assume(&Pred::less(&i, to));
            bounds.extend(is_bound(to).then(|| Pred::less(&i, to)));
        }
        inside.indices.push(of.index.clone());
        inside.pred = Pred::all([inside.pred].into_iter().chain(bounds));
        inside
    }

    /// Returns the surroundings in which an equation determines the index.
    pub(super) fn told(&self, index: &Index, value: &Poly) -> Self {
        let mut inside = self.asked(&Pred::inside(value, &index.extent));
        inside.known.enter(index);
        inside.known.assume(&Pred::equal(&index.value(), value));
        inside
    }

    /// Returns the surroundings in which the predicate holds.
    pub(super) fn asked(&self, p: &Pred) -> Self {
        let mut inside = self.deeper();
        inside.known.assume(p);
        if self.known.implies(p) {
            return inside;
        }
        if p.is_opaque() || is_of_data(p) {
            inside.asked = true;
        } else {
            inside.pred = Pred::all([inside.pred, p.clone()]);
        }
        inside
    }

    /// Returns those of 0 and `of` that may be the maximum.
    pub(super) fn greatest(&self, of: &[Poly]) -> Vec<Poly> {
        self.not_beside([Poly::default()].iter().chain(of), &|p, q| Pred::at_most(p, q))
    }

    /// Returns those of the extent and `of` that may be the minimum.
    pub(super) fn least(&self, extent: &Poly, of: &[Poly]) -> Vec<Poly> {
        self.not_beside([extent].into_iter().chain(of), &|p, q| Pred::at_most(q, p))
    }

    /// Those that are not known to be no further than another.
    fn not_beside<'p>(
        &self,
        all: impl Iterator<Item = &'p Poly>,
        no_further: &dyn Fn(&Poly, &Poly) -> Pred,
    ) -> Vec<Poly> {
        let mut left: Vec<Poly> = Vec::new();
        for p in all {
            if !left.iter().any(|q| self.known.implies(&no_further(p, q))) {
                left.retain(|q| !self.known.implies(&no_further(q, p)));
                left.push(p.clone());
            }
        }
        left
    }

    /// Returns the trip count in words; `shown` renames the atoms of polynomials.
    pub(super) fn times(&self, shown: &dyn Fn(&Poly) -> Poly) -> String {
        format!("{} times{}", self.number(shown), if self.endless { " an iteration" } else { "" })
    }

    fn number(&self, shown: &dyn Fn(&Poly) -> Poly) -> String {
        let exactly = count(&self.indices, &self.pred, &self.sizes).ok().and_then(|times| times.as_ratio());
        if let (Some(times), false) = (exactly, self.asked) {
            return match times.parts() {
                (p, 1) => shown(p).to_string(),
                (p, by) => format!("({}) / {by}", shown(p)),
            };
        }
        // One that another loop's index tells runs no longer than that.
        let extent = |index: &Index| {
            let other = self.indices.iter().rev().find(|other| index.extent.mentions(&other.atom()));
            other.map_or(&index.extent, |other| &other.extent).clone()
        };
        let most = self.indices.iter().fold(Poly::constant(1), |all, i| all.mul(&extent(i)));
        format!("at most {}", shown(&most))
    }
}

/// Does the loop go on, in each iteration of the other, where it ended in the one before?
fn is_strip_of(of: &Loop, other: &Index) -> bool {
    let mut pairs = of.from.iter().flat_map(|from| of.to.iter().map(move |to| (from, to)));
    pairs.any(|(from, to)| from.linear_in(&other.atom()).is_some_and(|(by, _)| to.sub(from).as_constant() == Some(by)))
}

/// Do elements of arrays decide?
fn is_of_data(p: &Pred) -> bool {
    let mut found = false;
    p.visit(&mut |p| found |= has_reads(p), &mut |_| {});
    found
}

//! **Predicated loop nests.** Loops over the index tuples that satisfy a predicate, row by row.
//!
//! Linear comparisons become loop bounds. An index that an equation determines takes one value, and
//! an index with data-dependent bounds runs between them. The rest of the predicate is tested as
//! soon as its indices are known. The tuples are those of [`lang_ir::eval_nest`].
//!
//! Loops over indices of the result may be reordered. Loops over bound indices keep their order
//! among themselves, because the terms of an element must be added in order.
//!
//! The visitor receives the innermost loop as a row: its start and its stride in every operand.

use super::affine::{IndexExpr, IndexTranslator, Test};
use super::{RunError, RunState};
use lang_ir::ssa::statement_index;
use lang_sizes::predicate::poly::floor_div;
use lang_sizes::predicate::{Poly, Pred};

/// The number of steps of a list of offsets, for rows with irregular strides.
const LIST_LENGTH: i64 = 512;

/// The number of iterations of a loop between two polls of the interrupt flag.
const POLL_INTERVAL: i64 = 1 << 12;

/// A bound beyond every index. Data-dependent parts are clamped to it, because larger ones compare
/// alike.
const LARGE_BOUND: i128 = 1 << 100;

/// The cost of starting a row, in additions.
const ROW_COST: u64 = 24;

/// The cost of a step that is tested by itself or listed.
const LISTED_STEP_COST: u64 = 8;

/// The cost of a step whose operands are all contiguous or invariant.
const STEP_COST: u64 = 1;
/// The additional cost of each operand with another stride.
const STRIDED_COST: u64 = 2;
/// The additional cost of a step of a sum, because an addition waits for the previous one.
const CHAIN_COST: u64 = 3;

/// A row: the steps of the innermost loop.
pub(super) struct LoopRow<'r> {
    /// The run.
    pub(super) run: &'r RunState<'r>,
    /// The indices; the innermost one has its value at the first step.
    pub(super) indices: &'r mut [i64],
    /// The index of the innermost loop, if the loop has its own.
    pub(super) inner_index: Option<usize>,
    /// The number of steps.
    pub(super) count: usize,
    /// The offset of each operand at the first step; the result comes first.
    pub(super) offsets: &'r [i64],
    /// The stride of each operand.
    pub(super) strides: &'r [i64],
    /// The offsets of each operand at all steps, if the strides are not constant.
    pub(super) offset_lists: &'r [Vec<i64>],
}

/// The callback for each row.
type RowVisitor<'f> = &'f mut dyn FnMut(LoopRow<'_>) -> Result<(), RunError>;

/// An affine comparison: `constant + Σ cₖ·iₖ` is zero if it is an equation, else not negative.
struct AffineComparison {
    constant: i128,
    coefficients: Vec<(usize, i128)>,
    is_equation: bool,
}

/// A loop of the nest, over one index.
struct LoopLevel<'a> {
    index: usize,
    extent: i64,
    /// The value of the index, if an equation determines it.
    determined: Option<IndexExpr>,
    /// The affine comparisons that bound the index.
    affine_bounds: Vec<AffineComparison>,
    /// The bounds with a data-dependent part: `c·k + rest >= 0`.
    data_bounds: Vec<(i128, IndexExpr)>,
    /// The other tests, which run at each value of the index.
    tests: Vec<Test<'a>>,
    /// The stride of each operand along the index.
    strides: Vec<i64>,
    /// The non-affine parts of offsets whose indices are known here, by operand.
    offset_terms: Vec<(usize, IndexExpr)>,
}

impl LoopLevel<'_> {
    /// Returns whether the index takes every value of its extent, and all offsets are affine.
    fn is_free(&self) -> bool {
        let narrowed = !self.affine_bounds.is_empty() || !self.data_bounds.is_empty();
        self.determined.is_none() && !narrowed && self.tests.is_empty() && self.offset_terms.is_empty()
    }
}

/// The loop nest of a statement.
pub(super) struct RowNest<'a> {
    levels: Vec<LoopLevel<'a>>,
    /// The tests that mention no index.
    outer_tests: Vec<Test<'a>>,
    /// The offset of each operand before all loops.
    base_offsets: Vec<i64>,
    /// The non-affine parts of offsets that mention no index, by operand.
    base_terms: Vec<(usize, IndexExpr)>,
    slots: usize,
    /// Whether the last level is a row with constant strides.
    has_row: bool,
    /// Whether the last level may be a row of listed offsets.
    has_lists: bool,
    /// Whether an extent is zero.
    is_empty: bool,
    /// Whether the predicate is true, so that every tuple is visited.
    pub(super) is_unrestricted: bool,
}

/// The index space of a loop nest.
pub(super) struct IndexSpace<'p> {
    /// The extents of all indices, free ones first.
    pub(super) extents: Vec<i64>,
    /// The number of free indices.
    pub(super) free: usize,
    /// The predicate on tuples.
    pub(super) pred: &'p Pred,
    /// Whether the visitor needs the values of the indices, and not only offsets.
    pub(super) needs_indices: bool,
}

impl<'a> RowNest<'a> {
    /// Builds the loops over an index space, with the offsets of these operands. The first one must
    /// be the result.
    pub(super) fn new(run: &RunState<'a>, space: &IndexSpace<'_>, places: &[IndexExpr]) -> Result<Self, RunError> {
        let n = space.extents.len();
        let mut names = IndexTranslator::new(run, &space.extents);
        let mut nest = Self {
            levels: Vec::new(),
            outer_tests: Vec::new(),
            base_offsets: places.iter().map(|p| p.affine().0).collect(),
            base_terms: Vec::new(),
            slots: n,
            has_row: false,
            has_lists: false,
            is_empty: space.extents.iter().any(|n| *n <= 0),
            is_unrestricted: space.pred.is_true(),
        };
        if nest.is_empty {
            return Ok(nest);
        }
        let mut tests = Vec::new();
        for p in space.pred.conjuncts() {
            tests.push(names.test(p)?);
        }
        nest.slots = names.slots;
        let determined = determined_indices(&names, space)?;
        let order = LoopOrder { space, determined: &determined, tests: &tests, operands: places }.choose();
        for k in order {
            let extent = space.extents.get(k).copied().unwrap_or(0);
            nest.levels.push(LoopLevel {
                index: k,
                extent,
                determined: determined.get(k).cloned().flatten(),
                affine_bounds: Vec::new(),
                data_bounds: Vec::new(),
                tests: Vec::new(),
                strides: places.iter().map(|p| p.affine().1.find(|(j, _)| *j == k).map_or(0, |(_, c)| c)).collect(),
                offset_terms: Vec::new(),
            });
        }
        for test in tests {
            nest.attach_test(test, n);
        }
        for (nth, place) in places.iter().enumerate().filter(|(_, p)| !p.is_affine()) {
            let moved = place.nonlinear_part();
            let mut found = vec![false; n];
            moved.mark(&mut found);
            match nest.innermost_level(&found) {
                Some(level) => level.offset_terms.push((nth, moved)),
                None => nest.base_terms.push((nth, moved)),
            }
        }
        if !space.needs_indices {
            nest.coalesce();
        }
        if let Some(last) = nest.levels.last().filter(|l| l.determined.is_none()) {
            nest.has_row = last.tests.is_empty() && last.offset_terms.is_empty();
            nest.has_lists = !nest.has_row && !space.needs_indices;
        }
        Ok(nest)
    }

    /// Returns the innermost level with a marked index: there, all marked indices are known.
    fn innermost_level(&mut self, found: &[bool]) -> Option<&mut LoopLevel<'a>> {
        let known = |l: &&mut LoopLevel| found.get(l.index).copied().unwrap_or(false);
        self.levels.iter_mut().rev().find(known)
    }

    /// Attaches a test to the level at which all its indices are known.
    fn attach_test(&mut self, test: Test<'a>, n: usize) {
        let mut found = vec![false; n];
        test.mark(&mut found);
        let Some(level) = self.innermost_level(&found) else {
            self.outer_tests.push(test);
            return;
        };
        match test.affine_comparison() {
            Some((num, equation)) => {
                let (constant, coefficients) = num.exact_affine();
                let coefficients = coefficients.collect();
                level.affine_bounds.push(AffineComparison { constant, coefficients, is_equation: equation });
            }
            None => match test.data_bound(level.index) {
                Some(bound) => level.data_bounds.push(bound),
                None => level.tests.push(test),
            },
        }
    }

    /// Merges the two innermost loops while every operand continues from the end of one row to the
    /// start of the next.
    fn coalesce(&mut self) {
        while let [.., outer, inner] = self.levels.as_slice()
            && outer.is_free()
            && inner.is_free()
            && outer.strides.iter().zip(&inner.strides).all(|(o, i)| i.checked_mul(inner.extent) == Some(*o))
            && let Some(extent) = outer.extent.checked_mul(inner.extent)
        {
            self.levels.swap_remove(self.levels.len() - 2);
            self.levels.last_mut().into_iter().for_each(|l| l.extent = extent);
        }
    }

    /// Calls `f` with every row.
    pub(super) fn visit(&self, run: &RunState<'_>, f: RowVisitor<'_>) -> Result<(), RunError> {
        if self.is_empty {
            return Ok(());
        }
        let mut at = vec![0; self.slots];
        for test in &self.outer_tests {
            if !test.holds_in_bounds(&mut at)? {
                return Ok(());
            }
        }
        let mut offsets = self.base_offsets.clone();
        for (nth, num) in &self.base_terms {
            let by = num.value(&at)?;
            offsets.get_mut(*nth).into_iter().for_each(|o| *o = o.wrapping_add(by));
        }
        let width = offsets.len();
        offsets.resize(width.saturating_mul(self.levels.len() + 1), 0);
        self.run_level(run, 0, &mut at, &mut offsets, f)
    }

    /// Runs the loops from a level on. `offsets` contains those of this level, then room for the
    /// inner levels.
    fn run_level(
        &self,
        run: &RunState<'_>,
        depth: usize,
        at: &mut [i64],
        offsets: &mut [i64],
        f: RowVisitor<'_>,
    ) -> Result<(), RunError> {
        let width = self.base_offsets.len();
        run.poll()?;
        let Some(level) = self.levels.get(depth) else {
            let offsets = offsets.get(..width).unwrap_or_default();
            return f(LoopRow {
                run,
                indices: at,
                inner_index: None,
                count: 1,
                offsets,
                strides: &[],
                offset_lists: &[],
            });
        };
        let Some((low, high)) = level.range(at)? else { return Ok(()) };
        let set = |at: &mut [i64], i: i64| at.get_mut(level.index).into_iter().for_each(|slot| *slot = i);
        let (own, inner) = offsets.split_at_mut_checked(width).unwrap_or_default();
        if self.has_row && depth + 1 == self.levels.len() {
            set(at, low);
            let first = inner.get_mut(..width).unwrap_or_default();
            advance_offsets(own, &level.strides, low, first);
            let count = usize::try_from(high.saturating_sub(low)).unwrap_or(usize::MAX).saturating_add(1);
            return f(LoopRow {
                run,
                indices: at,
                inner_index: Some(level.index),
                count,
                offsets: first,
                strides: &level.strides,
                offset_lists: &[],
            });
        }
        let mut next = low;
        while self.has_lists && depth + 1 == self.levels.len() && next <= high {
            let last = high.min(next.saturating_add(LIST_LENGTH - 1));
            set(at, next);
            let count = usize::try_from(last - next).unwrap_or(0) + 1;
            let Some(lists) = level.list_offsets(at, own, count) else { break };
            let count = lists.first().map_or(0, Vec::len);
            run.poll()?;
            if count > 0 {
                f(LoopRow {
                    run,
                    indices: at,
                    inner_index: None,
                    count,
                    offsets: own,
                    strides: &[],
                    offset_lists: &lists,
                })?;
            }
            next = last + 1;
        }
        for i in next..=high {
            // An iteration that fails its tests reaches no poll further in.
            if i % POLL_INTERVAL == 0 {
                run.poll()?;
            }
            set(at, i);
            if !all_hold(&level.tests, at)? {
                continue;
            }
            advance_offsets(own, &level.strides, i, inner);
            for (nth, num) in &level.offset_terms {
                let by = num.value(at)?;
                inner.get_mut(*nth).into_iter().for_each(|o| *o = o.wrapping_add(by));
            }
            self.run_level(run, depth + 1, at, inner, f)?;
        }
        Ok(())
    }
}

/// Returns whether all tests hold.
fn all_hold(tests: &[Test<'_>], at: &mut [i64]) -> Result<bool, RunError> {
    for test in tests {
        if !test.holds_in_bounds(at)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Computes the offsets at step `i`.
fn advance_offsets(from: &[i64], steps: &[i64], i: i64, to: &mut [i64]) {
    for ((to, from), step) in to.iter_mut().zip(from).zip(steps) {
        *to = from.wrapping_add(step.wrapping_mul(i));
    }
}

impl LoopLevel<'_> {
    /// Returns the offsets of each operand at the steps that pass the tests, from the current value
    /// of the index on. `None` if the caller must test one by one.
    fn list_offsets(&self, at: &[i64], own: &[i64], count: usize) -> Option<Vec<Vec<i64>>> {
        let first = *at.get(self.index)?;
        let mut live: Option<Vec<bool>> = None;
        for test in &self.tests {
            let holds = test.truths_along(at, self.index, count)?;
            live = Some(match live {
                None => holds,
                Some(before) => before.iter().zip(holds).map(|(a, b)| *a && b).collect(),
            });
        }
        let mut lists = Vec::with_capacity(own.len());
        for (nth, (own, step)) in own.iter().zip(&self.strides).enumerate() {
            let mut place = own.wrapping_add(step.wrapping_mul(first));
            let mut list = Vec::with_capacity(count);
            list.extend(
                std::iter::repeat_with(|| {
                    let here = place;
                    place = place.wrapping_add(*step);
                    here
                })
                .take(count),
            );
            for (_, num) in self.offset_terms.iter().filter(|(k, _)| *k == nth) {
                let by = num.values_along(at, self.index, count)?;
                list.iter_mut().zip(by).for_each(|(place, by)| *place = place.wrapping_add(by));
            }
            if let Some(live) = &live {
                let mut live = live.iter();
                list.retain(|_| live.next().copied().unwrap_or(false));
            }
            lists.push(list);
        }
        Some(lists)
    }

    /// Returns the range of the index, or `None` if it is empty.
    fn range(&self, at: &[i64]) -> Result<Option<(i64, i64)>, RunError> {
        let (mut low, mut high) = (0_i64, self.extent - 1);
        if !self.affine_bounds.is_empty() {
            let (mut least, mut most) = (0_i128, i128::from(high));
            self.affine_bounds.iter().for_each(|a| a.narrow(self.index, at, &mut least, &mut most));
            let (Ok(least), Ok(most)) = (i64::try_from(least), i64::try_from(most)) else { return Ok(None) };
            (low, high) = (least, most);
        }
        for (c, rest) in &self.data_bounds {
            if low > high {
                return Ok(None);
            }
            let rest = match rest.exact_value(at) {
                Ok(rest) => rest.clamp(-LARGE_BOUND, LARGE_BOUND),
                // A comparison that reads out of bounds does not hold.
                Err(super::affine::IndexError::OutOfBounds) => return Ok(None),
                Err(why) => return Err(why.into()),
            };
            // c·i >= -rest
            match *c > 0 {
                true => low = i64::try_from(-floor_div(rest, *c)).map_or(i64::MAX, |least| low.max(least)),
                false => high = i64::try_from(floor_div(rest, -c)).map_or(i64::MIN, |most| high.min(most)),
            }
        }
        if let Some(solution) = &self.determined {
            match solution.value(at) {
                Ok(value) => (low, high) = (low.max(value), high.min(value)),
                // The equation is also a test, which fails if it reads out of bounds.
                Err(super::affine::IndexError::OutOfBounds) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok((low <= high).then_some((low, high)))
    }
}

impl AffineComparison {
    /// Narrows the range of index `k` to the values that satisfy the comparison. All other indices
    /// must be known.
    fn narrow(&self, k: usize, at: &[i64], low: &mut i128, high: &mut i128) {
        let (mut rest, mut own) = (self.constant, 0);
        for (j, c) in &self.coefficients {
            if *j == k {
                own = *c;
            } else {
                let i = at.get(*j).copied().unwrap_or(0);
                rest = rest.saturating_add(c.saturating_mul(i128::from(i)));
            }
        }
        let nothing = (1, 0);
        match (own, self.is_equation) {
            (0, true) if rest == 0 => {}
            (0, false) if rest >= 0 => {}
            (0, _) => (*low, *high) = nothing,
            (c, true) if rest % c == 0 => (*low, *high) = ((*low).max(-rest / c), (*high).min(-rest / c)),
            (_, true) => (*low, *high) = nothing,
            // c·i >= -rest
            (c, false) if c > 0 => *low = (*low).max(-floor_div(rest, c)),
            (c, false) => *high = (*high).min(floor_div(rest, -c)),
        }
    }
}

/// Returns the values of the free indices that equations with bound indices or data determine.
fn determined_indices(
    names: &IndexTranslator<'_, '_>,
    space: &IndexSpace<'_>,
) -> Result<Vec<Option<IndexExpr>>, RunError> {
    let n = space.extents.len();
    let mut determined: Vec<Option<IndexExpr>> = vec![None; n];
    if space.pred.is_true() {
        return Ok(determined);
    }
    for k in 0..space.free {
        let Some(solution) = space.pred.solve_for(&statement_index(k, &Poly::default()).atom()) else { continue };
        let num = names.index_expr(&solution)?;
        let mut by = vec![false; n];
        num.mark(&mut by);
        let bound = by.iter().skip(space.free).any(|m| *m);
        let clear = by.iter().zip(&determined).all(|(m, l)| !m || l.is_none());
        if clear && (bound || !num.is_affine()) {
            determined.get_mut(k).into_iter().for_each(|slot| *slot = Some(num.clone()));
        }
    }
    Ok(determined)
}

/// The choice of the order of loops.
struct LoopOrder<'o> {
    space: &'o IndexSpace<'o>,
    determined: &'o [Option<IndexExpr>],
    tests: &'o [Test<'o>],
    operands: &'o [IndexExpr],
}

impl LoopOrder<'_> {
    /// Returns the indices in the order of their loops, outermost first.
    fn choose(&self) -> Vec<usize> {
        let n = self.space.extents.len();
        let looped: Vec<usize> = (0..n).filter(|k| !self.is_determined(*k) && !self.is_data_bounded(*k)).collect();
        let innermost = self.innermost(&looped);
        let mut order: Vec<usize> = looped.iter().copied().filter(|k| Some(*k) != innermost).collect();
        order.extend(innermost);
        // An index that an equation or data-dependent bounds determine follows the last index that
        // it depends on.
        let mut later: Vec<(usize, Vec<bool>)> = Vec::new();
        for k in (0..n).filter(|k| !looped.contains(k)) {
            later.push((k, self.dependences(k)));
        }
        while !later.is_empty() {
            let known = |by: &[bool]| by.iter().enumerate().all(|(j, m)| !m || order.contains(&j));
            let next = later.iter().rposition(|(_, by)| known(by)).unwrap_or(0);
            let (k, by) = later.remove(next);
            let last = order.iter().rposition(|j| by.get(*j).copied().unwrap_or(false));
            order.insert(last.map_or(0, |at| at + 1), k);
        }
        order
    }

    fn is_determined(&self, k: usize) -> bool {
        self.determined.get(k).is_some_and(Option::is_some)
    }

    /// Returns whether `k` is a free index between data-dependent bounds that mention a bound
    /// index. A free index in the bounds must have a loop that depends on no other.
    fn is_data_bounded(&self, k: usize) -> bool {
        if k >= self.space.free || self.is_determined(k) {
            return false;
        }
        let by = self.indices_in_bounds(k);
        let bound = by.iter().skip(self.space.free).any(|m| *m);
        let first =
            |j: usize| j >= self.space.free || !self.is_determined(j) && self.indices_in_bounds(j).iter().all(|m| !m);
        bound && by.iter().enumerate().all(|(j, m)| !m || first(j))
    }

    /// Marks the indices on which index `k` depends, by an equation or by bounds.
    fn dependences(&self, k: usize) -> Vec<bool> {
        match self.determined.get(k) {
            Some(Some(num)) => {
                let mut by = vec![false; self.space.extents.len()];
                num.mark(&mut by);
                by
            }
            _ => self.indices_in_bounds(k),
        }
    }

    /// Marks the indices in the data-dependent bounds of index `k`.
    fn indices_in_bounds(&self, k: usize) -> Vec<bool> {
        let mut by = vec![false; self.space.extents.len()];
        self.tests.iter().filter_map(|t| t.data_bound(k)).for_each(|(_, rest)| rest.mark(&mut by));
        by
    }

    /// Returns the cheapest innermost loop: over a free index, or the last over a bound one.
    fn innermost(&self, looped: &[usize]) -> Option<usize> {
        let last = looped.last().copied().filter(|k| *k >= self.space.free);
        let free = looped.iter().copied().filter(|k| *k < self.space.free);
        let total: u64 = looped.iter().fold(1_u64, |t, k| t.saturating_mul(self.extent(*k)));
        // The last of equals wins.
        free.chain(last).min_by_key(|k| (self.cost(*k, total), std::cmp::Reverse(*k)))
    }

    fn extent(&self, k: usize) -> u64 {
        self.space.extents.get(k).and_then(|n| u64::try_from(*n).ok()).unwrap_or(0)
    }

    /// Estimates the cost of the nest with this innermost loop, in additions.
    fn cost(&self, k: usize, total: u64) -> u64 {
        let n = self.space.extents.len();
        let mentions = |mark: &dyn Fn(&mut [bool])| {
            let mut found = vec![false; n];
            mark(&mut found);
            found.get(k).copied().unwrap_or(false)
        };
        // The bounds of another index depend on this one.
        if (0..n).any(|j| j != k && self.indices_in_bounds(j).get(k) == Some(&true)) {
            return u64::MAX;
        }
        let tested =
            |t: &Test<'_>| t.affine_comparison().is_none() && t.data_bound(k).is_none() && mentions(&|f| t.mark(f));
        let single = self.determined.iter().flatten().any(|t| mentions(&|f| t.mark(f)))
            || self.tests.iter().any(tested)
            || self.operands.iter().any(|p| !p.is_affine() && mentions(&|f| p.nonlinear_part().mark(f)));
        let rows = total.checked_div(self.extent(k)).unwrap_or(0);
        if single {
            return total.saturating_mul(LISTED_STEP_COST);
        }
        let step = |p: &IndexExpr| p.affine().1.find(|(j, _)| *j == k).map_or(0, |(_, c)| c);
        let strided = self.operands.iter().filter(|p| !(0..=1).contains(&step(p))).count();
        let chain = if self.operands.first().is_some_and(|p| step(p) == 0) { CHAIN_COST } else { 0 };
        let each = STEP_COST + chain + STRIDED_COST * u64::try_from(strided).unwrap_or(u64::MAX);
        rows.saturating_mul(ROW_COST).saturating_add(total.saturating_mul(each))
    }
}

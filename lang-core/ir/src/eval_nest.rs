//! **Loop nests of the evaluators**, over the index tuples that a predicate allows. Each loop runs
//! only over the range left by the comparisons that involve its index. An index that an equation
//! determines takes one value. An index between bounds that depend on data, as in
//! `ptr[i] <= k < ptr[i + 1]`, runs only between them.
//!
//! `lang_eval::eval_ssa` and [`super::counted_cost`] use the nests; compiled loop nests are made in
//! `lang_nest`.

use lang_sizes::predicate::{Poly, Pred};

use super::ssa::{index_number, statement_index};
use lang_sizes::predicate::Atom;
use lang_sizes::predicate::poly::floor_div;

/// A bound on the absolute value of every comparison operand that indices can reach.
const COMPARAND_LIMIT: i128 = 1 << 100;

/// The run-time values that the loops need.
pub trait NestEnv {
    /// The reason why a value does not exist.
    type Interruption;
    /// Returns the wrapping value of a polynomial at these indices; `None` as for
    /// [`NestEnv::eval_pred`].
    fn eval_poly(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i64>, Self::Interruption>;
    /// Returns the exact value of a polynomial in a comparison, which counts as a test of data.
    fn eval_comparand(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i128>, Self::Interruption>;
    /// Evaluates the predicate at these indices. `None` if it reads out of bounds; another conjunct
    /// is then false.
    fn eval_pred(&mut self, p: &Pred, at: &[i64]) -> Result<Option<bool>, Self::Interruption>;
}

/// The action for each tuple.
type TupleVisitor<'f, W> = &'f mut dyn FnMut(&mut W, &[i64]) -> Result<(), <W as NestEnv>::Interruption>;

/// `constant + Σ cₖ·iₖ`, over the indices.
#[derive(Clone, Debug)]
struct AffineConstraint {
    constant: i128,
    coefficients: Vec<i128>,
    /// Whether the comparison is `= 0`; otherwise it is `>= 0`.
    is_equality: bool,
}

/// `c·k + rest >= 0` for the index `k` of a loop. `rest` reads data and mentions only indices of
/// outer loops.
#[derive(Clone, Debug)]
struct DataBound {
    coefficient: i128,
    rest: Poly,
    /// The original comparison.
    pred: Pred,
}

/// A free index whose loop must be inside the loops of indices that determine it.
#[derive(Clone)]
enum DeferredIndex {
    /// The only value, from an equation.
    Solved(Poly),
    /// The terms of its bounds.
    Bounded(Vec<Poly>),
}

/// The loop nest of a statement.
#[derive(Debug)]
pub struct EvalNest {
    extents: Vec<i64>,
    /// The indices in the order of their loops, outermost first.
    order: Vec<usize>,
    /// Affine comparisons that narrow ranges, by the loop at which all their indices are known.
    affine_constraints: Vec<Vec<AffineConstraint>>,
    /// Data-dependent bounds, likewise.
    data_bounds: Vec<Vec<DataBound>>,
    /// The only value of each loop's index, if an equation determines it.
    solutions: Vec<Option<Poly>>,
    /// Predicates tested inside each loop.
    tests: Vec<Vec<Pred>>,
    /// Predicates tested once, before all loops.
    preconditions: Vec<Pred>,
}

impl EvalNest {
    /// Builds the nest over `extents`, of which the first `free` belong to free indices. Free
    /// indices that bound indices or data determine become the innermost loops.
    pub fn new<W: NestEnv>(
        extents: Vec<i64>,
        free: usize,
        pred: &Pred,
        world: &mut W,
    ) -> Result<Self, W::Interruption> {
        let n = extents.len();
        let mentioned = |p: &Poly| {
            let mut found = vec![false; n];
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && let Some(slot) = index_number(*l).and_then(|k| found.get_mut(k))
                {
                    *slot = true;
                }
            });
            found
        };
        // First the free indices that an equation with bound indices or data determines, then those
        // whose bounds mention bound indices.
        let mut late: Vec<Option<DeferredIndex>> = vec![None; n];
        for k in 0..free {
            let solution = pred.solve_for(&statement_index(k, &Poly::default()).atom());
            let solution = solution.filter(|p| reads_data(p) || mentioned(p).iter().skip(free).any(|m| *m));
            defer_index(k, solution.map(DeferredIndex::Solved), &mentioned, &mut late);
        }
        for k in 0..free {
            if late.get(k).is_some_and(Option::is_none) {
                let conjuncts = pred.conjuncts();
                let rests: Vec<Poly> = conjuncts.iter().filter_map(|p| Some(data_bound(p, k)?.rest)).collect();
                let bounds = rests.iter().any(|p| mentioned(p).iter().skip(free).any(|m| *m));
                defer_index(k, bounds.then_some(DeferredIndex::Bounded(rests)), &mentioned, &mut late);
            }
        }
        let mut order: Vec<usize> = (0..n).filter(|k| late.get(*k).is_some_and(Option::is_none)).collect();
        // An index comes after the indices that determine it.
        while let Some(k) = (0..free)
            .find(|k| !order.contains(k) && determining_indices(*k, &late, &mentioned).all(|j| order.contains(&j)))
        {
            order.push(k);
        }
        let place = |k: usize| order.iter().position(|j| *j == k).unwrap_or(n);
        let mut nest = Self {
            solutions: order
                .iter()
                .map(|k| match late.get(*k) {
                    Some(Some(DeferredIndex::Solved(p))) => Some(p.clone()),
                    _ => None,
                })
                .collect(),
            affine_constraints: vec![Vec::new(); n],
            data_bounds: vec![Vec::new(); n],
            tests: vec![Vec::new(); n],
            preconditions: Vec::new(),
            order: order.clone(),
            extents,
        };
        for p in pred.conjuncts() {
            let mut known = None;
            p.visit(
                &mut |p| {
                    let places = mentioned(p).into_iter().enumerate().filter(|(_, m)| *m).map(|(k, _)| place(k));
                    known = known.max(places.max());
                },
                &mut |_| {},
            );
            let Some(known) = known else {
                nest.preconditions.push(p.clone());
                continue;
            };
            if let Some(affine) = affine_constraint(p, n, world)? {
                nest.affine_constraints.get_mut(known).into_iter().for_each(|list| list.push(affine.clone()));
            } else if let Some(bound) = order.get(known).and_then(|k| data_bound(p, *k)) {
                nest.data_bounds.get_mut(known).into_iter().for_each(|list| list.push(bound.clone()));
            } else {
                nest.tests.get_mut(known).into_iter().for_each(|list| list.push(p.clone()));
            }
        }
        Ok(nest)
    }

    /// Visits every tuple; the action receives it in the order of the indices. A predicate on data
    /// is tested as soon as its indices are known. If it reads out of bounds there, it is tested
    /// again at the complete tuple, where all other predicates hold.
    pub fn visit<W: NestEnv>(&self, world: &mut W, f: TupleVisitor<'_, W>) -> Result<(), W::Interruption> {
        if self.extents.iter().any(|n| *n <= 0) {
            return Ok(());
        }
        let mut at = vec![0; self.extents.len()];
        let mut open = Vec::new();
        if test_predicates(&self.preconditions, world, &at, &mut open)? {
            self.visit_level(0, &mut at, &mut open, world, f)
        } else {
            Ok(())
        }
    }

    fn visit_level<W: NestEnv>(
        &self,
        depth: usize,
        at: &mut Vec<i64>,
        open: &mut Vec<Pred>,
        world: &mut W,
        f: TupleVisitor<'_, W>,
    ) -> Result<(), W::Interruption> {
        let Some(k) = self.order.get(depth).copied() else {
            for p in open.iter() {
                // It reads out of bounds even here, so it does not hold for this tuple.
                if world.eval_pred(p, at)? != Some(true) {
                    return Ok(());
                }
            }
            return f(world, at);
        };
        let extent = self.extents.get(k).copied().unwrap_or(0);
        let (mut low, mut high) = (0_i128, i128::from(extent) - 1);
        for a in self.affine_constraints.get(depth).into_iter().flatten() {
            a.narrow_range(k, at, &mut low, &mut high);
        }
        if let Some(Some(p)) = self.solutions.get(depth)
            && let Some(value) = world.eval_poly(p, at)?
        {
            let value = i128::from(value);
            (low, high) = (low.max(value), high.min(value));
        }
        let open_count = open.len();
        for bound in self.data_bounds.get(depth).into_iter().flatten() {
            if low > high {
                break;
            }
            match world.eval_comparand(&bound.rest, at)? {
                Some(rest) => narrow_interval(
                    bound.coefficient,
                    false,
                    rest.clamp(-COMPARAND_LIMIT, COMPARAND_LIMIT),
                    &mut low,
                    &mut high,
                ),
                None => open.push(bound.pred.clone()),
            }
        }
        let (Ok(low), Ok(high)) = (i64::try_from(low), i64::try_from(high)) else { return Ok(()) };
        for i in low..=high {
            if let Some(slot) = at.get_mut(k) {
                *slot = i;
            }
            let before = open.len();
            if test_predicates(self.tests.get(depth).map_or(&[], Vec::as_slice), world, at, open)? {
                self.visit_level(depth + 1, at, open, world, f)?;
            }
            open.truncate(before);
        }
        open.truncate(open_count);
        Ok(())
    }
}

/// Returns whether all predicates hold that do not read out of bounds; those that do are appended
/// to `open`. Predicates on data are tested last.
fn test_predicates<W: NestEnv>(
    all: &[Pred],
    world: &mut W,
    at: &[i64],
    open: &mut Vec<Pred>,
) -> Result<bool, W::Interruption> {
    for late in [false, true] {
        for p in all.iter().filter(|p| p.depends_on_data() == late) {
            match world.eval_pred(p, at)? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => open.push(p.clone()),
            }
        }
    }
    Ok(true)
}

fn reads_data(p: &Poly) -> bool {
    let mut data = false;
    p.for_each_atom(&mut |a| data |= matches!(a, Atom::Read(..)));
    data
}

/// Returns the comparison as a data-dependent bound of index `k`.
fn data_bound(p: &Pred, k: usize) -> Option<DataBound> {
    let Pred::Ge(poly) = p else { return None };
    let (c, rest) = poly.linear_in(&statement_index(k, &Poly::default()).atom())?;
    reads_data(&rest).then(|| DataBound { coefficient: c, rest, pred: p.clone() })
}

/// Records that a free index comes late, if the indices that determine it can come before it.
fn defer_index(
    k: usize,
    deferred: Option<DeferredIndex>,
    mentioned: &dyn Fn(&Poly) -> Vec<bool>,
    late: &mut [Option<DeferredIndex>],
) {
    if deferred.is_none() {
        return;
    }
    late.get_mut(k).into_iter().for_each(|slot| slot.clone_from(&deferred));
    // The index must not determine itself through others.
    let mut open: Vec<usize> = determining_indices(k, late, mentioned).collect();
    let mut seen = vec![false; late.len()];
    while let Some(j) = open.pop() {
        if j == k {
            late.get_mut(k).into_iter().for_each(|slot| *slot = None);
            return;
        }
        if let Some(slot @ false) = seen.get_mut(j) {
            *slot = true;
            open.extend(determining_indices(j, late, mentioned));
        }
    }
}

/// Returns the indices that determine index `k`.
fn determining_indices(
    k: usize,
    late: &[Option<DeferredIndex>],
    mentioned: &dyn Fn(&Poly) -> Vec<bool>,
) -> impl Iterator<Item = usize> + use<> {
    let by = match late.get(k) {
        Some(Some(DeferredIndex::Solved(p))) => std::slice::from_ref(p),
        Some(Some(DeferredIndex::Bounded(rests))) => rests.as_slice(),
        _ => &[],
    };
    let by: Vec<Vec<bool>> = by.iter().map(mentioned).collect();
    let n = late.len();
    (0..n).filter(move |j| by.iter().any(|found| found.get(*j) == Some(&true)))
}

/// Returns the comparison as an affine one over the indices, with the values of sizes substituted.
fn affine_constraint<W: NestEnv>(
    p: &Pred,
    n: usize,
    world: &mut W,
) -> Result<Option<AffineConstraint>, W::Interruption> {
    let (poly, zero) = match p {
        Pred::Ge(p) => (p, false),
        Pred::Eq(p) => (p, true),
        _ => return Ok(None),
    };
    let mut rest = poly.clone();
    let mut coefficients = vec![0; n];
    for (k, slot) in coefficients.iter_mut().enumerate() {
        let atom = statement_index(k, &Poly::default()).atom();
        if !rest.mentions(&atom) {
            continue;
        }
        let Some((c, without)) = rest.linear_in(&atom) else { return Ok(None) };
        *slot = c;
        rest = without;
    }
    if reads_data(&rest) {
        return Ok(None);
    }
    let constant = world.eval_poly(&rest, &[])?;
    Ok(constant.map(|constant| AffineConstraint { constant: i128::from(constant), coefficients, is_equality: zero }))
}

impl AffineConstraint {
    /// Removes from the range of index `k` the values that the comparison forbids. All other
    /// indices must be known or have coefficient 0.
    fn narrow_range(&self, k: usize, at: &[i64], low: &mut i128, high: &mut i128) {
        let mut rest = self.constant;
        for (j, (c, i)) in self.coefficients.iter().zip(at).enumerate() {
            if j != k {
                rest = rest.saturating_add(c.saturating_mul(i128::from(*i)));
            }
        }
        narrow_interval(self.coefficients.get(k).copied().unwrap_or(0), self.is_equality, rest, low, high);
    }
}

/// Removes from a range the values of `i` for which `c·i + rest` is negative, or nonzero if `zero`.
fn narrow_interval(c: i128, zero: bool, rest: i128, low: &mut i128, high: &mut i128) {
    let nothing = (i128::from(i64::MAX), i128::from(i64::MIN));
    match (c, zero) {
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

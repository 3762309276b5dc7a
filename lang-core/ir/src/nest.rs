//! **Loop nests of the evaluators**, over the index tuples that a predicate allows. Each loop runs
//! only over the range left by the comparisons that involve its index. An index that an equation
//! determines takes one value. An index between bounds that depend on data, as in
//! `ptr[i] <= k < ptr[i + 1]`, runs only between them.
//!
//! [`lang_eval::eval_ssa`] and [`super::cost`] use the nests; compiled loop nests are made in
//! `schedule`.

use lang_sizes::predicate::{Poly, Pred};

use super::ssa::{index, index_number};
use lang_sizes::predicate::Atom;
use lang_sizes::predicate::poly::floor_div;

/// A bound on the absolute value of every comparison operand that indices can reach.
const LARGE: i128 = 1 << 100;

/// The run-time values that the loops need.
pub trait World {
    /// The reason why a value does not exist.
    type Stop;
    /// Returns the wrapping value of a polynomial at these indices; `None` as for [`World::holds`].
    fn poly(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i64>, Self::Stop>;
    /// Returns the exact value of a polynomial in a comparison, which counts as a test of data.
    fn compared(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i128>, Self::Stop>;
    /// Evaluates the predicate at these indices. `None` if it reads out of bounds; another conjunct
    /// is then false.
    fn holds(&mut self, p: &Pred, at: &[i64]) -> Result<Option<bool>, Self::Stop>;
}

/// The action for each tuple.
type Visitor<'f, W> = &'f mut dyn FnMut(&mut W, &[i64]) -> Result<(), <W as World>::Stop>;

/// `constant + Σ cₖ·iₖ`, over the indices.
#[derive(Clone, Debug)]
struct Affine {
    constant: i128,
    coefficients: Vec<i128>,
    /// Whether the comparison is `= 0`; otherwise it is `>= 0`.
    zero: bool,
}

/// `c·k + rest >= 0` for the index `k` of a loop. `rest` reads data and mentions only indices of
/// outer loops.
#[derive(Clone, Debug)]
struct Bound {
    c: i128,
    rest: Poly,
    /// The original comparison.
    pred: Pred,
}

/// A free index whose loop must be inside the loops of indices that determine it.
#[derive(Clone)]
enum Late {
    /// The only value, from an equation.
    Told(Poly),
    /// The terms of its bounds.
    Between(Vec<Poly>),
}

/// The loop nest of a statement.
#[derive(Debug)]
pub struct Nest {
    extents: Vec<i64>,
    /// The indices in the order of their loops, outermost first.
    order: Vec<usize>,
    /// Affine comparisons that narrow ranges, by the loop at which all their indices are known.
    narrowing: Vec<Vec<Affine>>,
    /// Data-dependent bounds, likewise.
    bounds: Vec<Vec<Bound>>,
    /// The only value of each loop's index, if an equation determines it.
    told: Vec<Option<Poly>>,
    /// Predicates tested inside each loop.
    tested: Vec<Vec<Pred>>,
    /// Predicates tested once, before all loops.
    before: Vec<Pred>,
}

impl Nest {
    /// Builds the nest over `extents`, of which the first `free` belong to free indices. Free
    /// indices that bound indices or data determine become the innermost loops.
    pub fn new<W: World>(extents: Vec<i64>, free: usize, pred: &Pred, world: &mut W) -> Result<Self, W::Stop> {
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
        let mut late: Vec<Option<Late>> = vec![None; n];
        for k in 0..free {
            let solution = pred.solution(&index(k, &Poly::default()).atom());
            let solution = solution.filter(|p| has_data(p) || mentioned(p).iter().skip(free).any(|m| *m));
            late_index(k, solution.map(Late::Told), &mentioned, &mut late);
        }
        for k in 0..free {
            if late.get(k).is_some_and(Option::is_none) {
                let conjuncts = pred.conjuncts();
                let rests: Vec<Poly> = conjuncts.iter().filter_map(|p| Some(bound_of(p, k)?.rest)).collect();
                let bounds = rests.iter().any(|p| mentioned(p).iter().skip(free).any(|m| *m));
                late_index(k, bounds.then_some(Late::Between(rests)), &mentioned, &mut late);
            }
        }
        let mut order: Vec<usize> = (0..n).filter(|k| late.get(*k).is_some_and(Option::is_none)).collect();
        // An index comes after the indices that determine it.
        while let Some(k) =
            (0..free).find(|k| !order.contains(k) && by_of(*k, &late, &mentioned).all(|j| order.contains(&j)))
        {
            order.push(k);
        }
        let place = |k: usize| order.iter().position(|j| *j == k).unwrap_or(n);
        let mut nest = Self {
            told: order
                .iter()
                .map(|k| match late.get(*k) {
                    Some(Some(Late::Told(p))) => Some(p.clone()),
                    _ => None,
                })
                .collect(),
            narrowing: vec![Vec::new(); n],
            bounds: vec![Vec::new(); n],
            tested: vec![Vec::new(); n],
            before: Vec::new(),
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
                nest.before.push(p.clone());
                continue;
            };
            if let Some(affine) = affine(p, n, world)? {
                nest.narrowing.get_mut(known).into_iter().for_each(|list| list.push(affine.clone()));
            } else if let Some(bound) = order.get(known).and_then(|k| bound_of(p, *k)) {
                nest.bounds.get_mut(known).into_iter().for_each(|list| list.push(bound.clone()));
            } else {
                nest.tested.get_mut(known).into_iter().for_each(|list| list.push(p.clone()));
            }
        }
        Ok(nest)
    }

    /// Visits every tuple; the action receives it in the order of the indices. A predicate on data
    /// is tested as soon as its indices are known. If it reads out of bounds there, it is tested
    /// again at the complete tuple, where all other predicates hold.
    pub fn visit<W: World>(&self, world: &mut W, f: Visitor<'_, W>) -> Result<(), W::Stop> {
        if self.extents.iter().any(|n| *n <= 0) {
            return Ok(());
        }
        let mut at = vec![0; self.extents.len()];
        let mut open = Vec::new();
        if ask(&self.before, world, &at, &mut open)? { self.level(0, &mut at, &mut open, world, f) } else { Ok(()) }
    }

    fn level<W: World>(
        &self,
        depth: usize,
        at: &mut Vec<i64>,
        open: &mut Vec<Pred>,
        world: &mut W,
        f: Visitor<'_, W>,
    ) -> Result<(), W::Stop> {
        let Some(k) = self.order.get(depth).copied() else {
            for p in open.iter() {
                // It reads out of bounds even here, so it does not hold for this tuple.
                if world.holds(p, at)? != Some(true) {
                    return Ok(());
                }
            }
            return f(world, at);
        };
        let extent = self.extents.get(k).copied().unwrap_or(0);
        let (mut low, mut high) = (0_i128, i128::from(extent) - 1);
        for a in self.narrowing.get(depth).into_iter().flatten() {
            a.narrow(k, at, &mut low, &mut high);
        }
        if let Some(Some(p)) = self.told.get(depth)
            && let Some(value) = world.poly(p, at)?
        {
            let value = i128::from(value);
            (low, high) = (low.max(value), high.min(value));
        }
        let asked = open.len();
        for bound in self.bounds.get(depth).into_iter().flatten() {
            if low > high {
                break;
            }
            match world.compared(&bound.rest, at)? {
                Some(rest) => narrow(bound.c, false, rest.clamp(-LARGE, LARGE), &mut low, &mut high),
                None => open.push(bound.pred.clone()),
            }
        }
        let (Ok(low), Ok(high)) = (i64::try_from(low), i64::try_from(high)) else { return Ok(()) };
        for i in low..=high {
            if let Some(slot) = at.get_mut(k) {
                *slot = i;
            }
            let before = open.len();
            if ask(self.tested.get(depth).map_or(&[], Vec::as_slice), world, at, open)? {
                self.level(depth + 1, at, open, world, f)?;
            }
            open.truncate(before);
        }
        open.truncate(asked);
        Ok(())
    }
}

/// Returns whether all predicates hold that do not read out of bounds; those that do are appended
/// to `open`. Predicates on data are tested last.
fn ask<W: World>(all: &[Pred], world: &mut W, at: &[i64], open: &mut Vec<Pred>) -> Result<bool, W::Stop> {
    for late in [false, true] {
        for p in all.iter().filter(|p| p.is_opaque() == late) {
            match world.holds(p, at)? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => open.push(p.clone()),
            }
        }
    }
    Ok(true)
}

fn has_data(p: &Poly) -> bool {
    let mut data = false;
    p.for_each_atom(&mut |a| data |= matches!(a, Atom::Read(..)));
    data
}

/// Returns the comparison as a data-dependent bound of index `k`.
fn bound_of(p: &Pred, k: usize) -> Option<Bound> {
    let Pred::Ge(poly) = p else { return None };
    let (c, rest) = poly.linear_in(&index(k, &Poly::default()).atom())?;
    has_data(&rest).then(|| Bound { c, rest, pred: p.clone() })
}

/// Records that a free index comes late, if the indices that determine it can come before it.
fn late_index(k: usize, told: Option<Late>, mentioned: &dyn Fn(&Poly) -> Vec<bool>, late: &mut [Option<Late>]) {
    if told.is_none() {
        return;
    }
    late.get_mut(k).into_iter().for_each(|slot| slot.clone_from(&told));
    // The index must not determine itself through others.
    let mut open: Vec<usize> = by_of(k, late, mentioned).collect();
    let mut seen = vec![false; late.len()];
    while let Some(j) = open.pop() {
        if j == k {
            late.get_mut(k).into_iter().for_each(|slot| *slot = None);
            return;
        }
        if let Some(slot @ false) = seen.get_mut(j) {
            *slot = true;
            open.extend(by_of(j, late, mentioned));
        }
    }
}

/// Returns the indices that determine index `k`.
fn by_of(
    k: usize,
    late: &[Option<Late>],
    mentioned: &dyn Fn(&Poly) -> Vec<bool>,
) -> impl Iterator<Item = usize> + use<> {
    let by = match late.get(k) {
        Some(Some(Late::Told(p))) => std::slice::from_ref(p),
        Some(Some(Late::Between(rests))) => rests.as_slice(),
        _ => &[],
    };
    let by: Vec<Vec<bool>> = by.iter().map(mentioned).collect();
    let n = late.len();
    (0..n).filter(move |j| by.iter().any(|found| found.get(*j) == Some(&true)))
}

/// Returns the comparison as an affine one over the indices, with the values of sizes substituted.
fn affine<W: World>(p: &Pred, n: usize, world: &mut W) -> Result<Option<Affine>, W::Stop> {
    let (poly, zero) = match p {
        Pred::Ge(p) => (p, false),
        Pred::Eq(p) => (p, true),
        _ => return Ok(None),
    };
    let mut rest = poly.clone();
    let mut coefficients = vec![0; n];
    for (k, slot) in coefficients.iter_mut().enumerate() {
        let atom = index(k, &Poly::default()).atom();
        if !rest.mentions(&atom) {
            continue;
        }
        let Some((c, without)) = rest.linear_in(&atom) else { return Ok(None) };
        *slot = c;
        rest = without;
    }
    if has_data(&rest) {
        return Ok(None);
    }
    let constant = world.poly(&rest, &[])?;
    Ok(constant.map(|constant| Affine { constant: i128::from(constant), coefficients, zero }))
}

impl Affine {
    /// Removes from the range of index `k` the values that the comparison forbids. All other
    /// indices must be known or have coefficient 0.
    fn narrow(&self, k: usize, at: &[i64], low: &mut i128, high: &mut i128) {
        let mut rest = self.constant;
        for (j, (c, i)) in self.coefficients.iter().zip(at).enumerate() {
            if j != k {
                rest = rest.saturating_add(c.saturating_mul(i128::from(*i)));
            }
        }
        narrow(self.coefficients.get(k).copied().unwrap_or(0), self.zero, rest, low, high);
    }
}

/// Removes from a range the values of `i` for which `c·i + rest` is negative, or nonzero if `zero`.
fn narrow(c: i128, zero: bool, rest: i128, low: &mut i128, high: &mut i128) {
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

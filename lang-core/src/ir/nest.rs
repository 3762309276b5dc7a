//! Loops over the index tuples that a predicate leaves: each loop runs only where the comparisons that it
//! decides hold, an index that an equation tells takes one value, and one between bounds that data tell, as in
//! `ptr[i] <= k < ptr[i + 1]`, those between them.

use crate::predicate::{Poly, Pred};

use super::ssa::{index, index_number};
use crate::predicate::Atom;
use crate::predicate::poly::floor_div;

/// Nothing that is compared is larger than this, as far as indices can tell.
const LARGE: i128 = 1 << 100;

/// What of the run the loops ask.
pub(super) trait World {
    /// Why there is no value.
    type Stop;
    /// The value of a polynomial at these indices, wrapping; `None` likewise.
    fn poly(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i64>, Self::Stop>;
    /// The same as comparisons have it: exactly. It is a test of data.
    fn compared(&mut self, p: &Poly, at: &[i64]) -> Result<Option<i128>, Self::Stop>;
    /// Does the predicate hold at these indices? `None`: it reads outside an array, so something else does not hold.
    fn holds(&mut self, p: &Pred, at: &[i64]) -> Result<Option<bool>, Self::Stop>;
}

/// What is done for each tuple.
type Visitor<'f, W> = &'f mut dyn FnMut(&mut W, &[i64]) -> Result<(), <W as World>::Stop>;

/// `constant + Σ cₖ·iₖ`, over the indices.
#[derive(Clone, Debug)]
struct Affine {
    constant: i128,
    coefficients: Vec<i128>,
    /// `= 0`, else `>= 0`.
    zero: bool,
}

/// `c·k + rest >= 0` for the index of a loop: data tell the rest, which all further out know.
#[derive(Clone, Debug)]
struct Bound {
    c: i128,
    rest: Poly,
    /// As it stands.
    pred: Pred,
}

/// A free index that what stands later in the order of indices tells.
#[derive(Clone)]
enum Late {
    /// An equation: its only value.
    Told(Poly),
    /// What its bounds are made of.
    Between(Vec<Poly>),
}

/// The loops of a statement.
#[derive(Debug)]
pub(super) struct Nest {
    extents: Vec<i64>,
    /// The indices in the order of their loops.
    order: Vec<usize>,
    /// Comparisons that narrow, by the place in the order at which all their indices are known.
    narrowing: Vec<Vec<Affine>>,
    /// Bounds that data tell, likewise.
    bounds: Vec<Vec<Bound>>,
    /// An equation that tells the index of that loop.
    told: Vec<Option<Poly>>,
    /// Predicates tested there.
    tested: Vec<Vec<Pred>>,
    /// Tested once, before all loops.
    before: Vec<Pred>,
}

impl Nest {
    /// The loops over so many free and bound indices. Free ones that bound ones, or data, tell come last.
    pub(super) fn new<W: World>(extents: Vec<i64>, free: usize, pred: &Pred, world: &mut W) -> Result<Self, W::Stop> {
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
        // Which free index an equation with bound ones, or with data, tells; then those between bounds.
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
        // One that others tell comes after them.
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

    /// Visits every tuple, given in the order of the indices. A predicate that reads data is asked as early as its
    /// indices are known; where it reads outside, again at the tuple, for which all else holds.
    pub(super) fn visit<W: World>(&self, world: &mut W, f: Visitor<'_, W>) -> Result<(), W::Stop> {
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
                // Outside once more: then it is no predicate of this tuple.
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

/// Do all of these hold? What reads data comes last; what reads outside stays open.
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

/// The comparison as a bound of this index that data tell.
fn bound_of(p: &Pred, k: usize) -> Option<Bound> {
    let Pred::Ge(poly) = p else { return None };
    let (c, rest) = poly.linear_in(&index(k, &Poly::default()).atom())?;
    has_data(&rest).then(|| Bound { c, rest, pred: p.clone() })
}

/// Notes that a free index comes late, if what tells it is known before.
fn late_index(k: usize, told: Option<Late>, mentioned: &dyn Fn(&Poly) -> Vec<bool>, late: &mut [Option<Late>]) {
    if told.is_none() {
        return;
    }
    late.get_mut(k).into_iter().for_each(|slot| slot.clone_from(&told));
    // Not by what it tells itself.
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

/// The indices by which one is told.
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

/// A comparison that is linear in the indices, sizes put in.
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
    /// Takes from the range of index `k` what the comparison forbids; all indices but it are known, or have
    /// the coefficient 0.
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

/// Takes from a range where `c·i + rest` is not at least zero, or not zero.
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

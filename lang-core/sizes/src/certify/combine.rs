//! **Positivity certificates** (Handelman's method). Shifts each atom by a fact that bounds it from
//! below, so that a polynomial without negative coefficients is a combination of facts. For other
//! polynomials, the simplex method finds products of further facts to subtract first. The search
//! uses it at every node.

use super::packed::{MOST_ATOMS, Mono, Packed, degree, gcd, lcm, powers, single};
use super::proof::{Combination, Fact};
use super::simplex;

/// The largest number of products considered.
const MOST_PRODUCTS: usize = 240;

/// The largest number of monomials considered.
const MOST_ROWS: usize = 160;

/// The facts that bound an atom. The shifted atom is non-negative by `up`, and zero if `down`
/// exists too.
#[derive(Clone, Copy)]
struct Base {
    up: usize,
    down: Option<usize>,
}

/// Facts, and the atoms shifted by them.
pub(super) struct Frame<'f> {
    facts: &'f [(Fact, Packed)],
    bases: Vec<Option<Base>>,
    /// For each atom, a mask of the atoms that bound it, directly or indirectly, with all bits of
    /// their powers.
    below: Vec<Mono>,
    /// The atoms as polynomials in the shifted atoms.
    values: Vec<Packed>,
    /// A mask of the atoms whose shifted value is zero.
    zero: Mono,
    /// A mask of the atoms that no fact bounds.
    free: Mono,
    /// The facts that are not bases and do not follow from them.
    extra: Vec<(usize, Packed)>,
}

/// A product of extra facts and shifted atoms.
struct Product {
    facts: Vec<usize>,
    by: Mono,
    value: Packed,
    /// The sum of the factors' degrees, at least 1 for each.
    degree: u32,
}

impl<'f> Frame<'f> {
    pub(super) fn new(facts: &'f [(Fact, Packed)], atoms: usize) -> Option<Self> {
        let (bases, below) = (vec![None; atoms], vec![0; atoms]);
        let mut frame = Self { facts, bases, below, values: Vec::new(), zero: 0, free: 0, extra: Vec::new() };
        frame.choose(atoms.min(MOST_ATOMS));
        frame.shift(atoms)?;
        let used = |k: usize| frame.bases.iter().flatten().any(|b| b.up == k || b.down == Some(k));
        let mut extra: Vec<(usize, Packed)> = Vec::new();
        for (k, (_, p)) in facts.iter().enumerate().filter(|(k, _)| !used(*k)) {
            let p = p.put(&frame.values)?.only(|m| m & frame.zero == 0);
            let follows = p.terms().iter().all(|(m, c)| *c >= 0 && m & frame.free == 0);
            if !follows && extra.iter().all(|(_, other)| *other != p) {
                extra.push((k, p));
            }
        }
        frame.extra = extra;
        Some(frame)
    }

    /// Chooses the bases.
    fn choose(&mut self, atoms: usize) {
        let facts = self.facts;
        // Bases are chosen from equations first, then from constant bounds, the greatest first, and
        // then from other facts.
        for (up, (_, p)) in facts.iter().enumerate() {
            let zero =
                |q: &Packed| q.terms().len() == p.terms().len() && p.plus(q, 1).is_some_and(|s| s.terms().is_empty());
            let Some(down) = facts.iter().position(|(_, q)| zero(q)) else { continue };
            // An atom without a linear bound of its own has precedence.
            let least = |atom| {
                facts.iter().any(|(_, q)| {
                    q.degree() == 1 && q.terms().iter().all(|(m, c)| *m == 0 || *m == single(atom) && *c == 1)
                })
            };
            let both = [(up, down), (down, up)];
            let all = (0..atoms).flat_map(|a| both.map(|(up, down)| (a, up, down)));
            let fits = all.filter(|(a, up, _)| self.bounds(*up, *a).is_some());
            if let Some((a, up, down)) = fits.max_by_key(|(a, ..)| (!least(*a), *a)) {
                self.set(a, Base { up, down: Some(down) });
            }
        }
        for constant in [true, false] {
            for atom in 0..atoms {
                if self.bases.get(atom).is_some_and(Option::is_some) {
                    continue;
                }
                let bounds = (0..facts.len()).filter_map(|k| Some((k, self.bounds(k, atom)?)));
                let bounds = bounds.filter(|(_, rest)| rest.degree() == 0 || !constant);
                // A fact without a constant part bounds the atom by 0.
                let least = |p: &Packed| p.terms().first().filter(|(m, _)| *m == 0).map_or(0, |t| t.1);
                if let Some((up, _)) = bounds.min_by_key(|(_, rest)| least(rest)) {
                    self.set(atom, Base { up, down: None });
                }
            }
        }
    }

    /// Returns `rest`, if the fact is `atom + rest`. The atom must have no base yet, and must bound
    /// none of the atoms of `rest`.
    fn bounds(&self, fact: usize, atom: usize) -> Option<Packed> {
        let (_, p) = self.facts.get(fact)?;
        let taken = self.bases.get(atom)?.is_some();
        p.terms().iter().find(|(m, c)| *m == single(atom) && *c == 1)?;
        let rest = p.only(|m| m != single(atom));
        (!taken && self.reached(&rest) & bits(atom) == 0).then_some(rest)
    }

    /// Returns the mask of the atoms in the polynomial, and of those that bound them.
    fn reached(&self, p: &Packed) -> Mono {
        let atoms = p.terms().iter().flat_map(|(m, _)| powers(*m));
        atoms.fold(0, |all, (a, _)| all | bits(a) | self.below.get(a).copied().unwrap_or(0))
    }

    fn set(&mut self, atom: usize, base: Base) {
        let rest = self.facts.get(base.up).map_or(0, |(_, p)| self.reached(&p.only(|m| m != single(atom))));
        if let Some(slot) = self.bases.get_mut(atom) {
            *slot = Some(base);
        }
        for (other, below) in self.below.iter_mut().enumerate() {
            if other == atom || *below & bits(atom) != 0 {
                *below |= rest;
            }
        }
    }

    fn shift(&mut self, atoms: usize) -> Option<()> {
        let mut values: Vec<Option<Packed>> = vec![None; atoms];
        for _ in 0..atoms {
            for atom in 0..atoms {
                if values.get(atom)?.is_some() {
                    continue;
                }
                let itself = Packed::term(single(atom), 1);
                let value = match self.bases.get(atom)? {
                    None => Some(itself),
                    Some(base) => {
                        let (_, p) = self.facts.get(base.up)?;
                        let rest = p.only(|m| m != single(atom));
                        let known = |a: usize| values.get(a).is_some_and(Option::is_some);
                        let ready = rest.terms().iter().all(|(m, _)| powers(*m).all(|(a, _)| known(a)));
                        if ready {
                            let all: Vec<Packed> = values.iter().map(|v| v.clone().unwrap_or_default()).collect();
                            Some(itself.plus(&rest.put(&all)?, -1)?)
                        } else {
                            None
                        }
                    }
                };
                *values.get_mut(atom)? = value;
            }
        }
        self.values = values.into_iter().collect::<Option<_>>()?;
        for (atom, base) in self.bases.iter().enumerate() {
            match base {
                None => self.free |= bits(atom),
                Some(base) if base.down.is_some() => self.zero |= bits(atom),
                Some(_) => {}
            }
        }
        Some(())
    }

    /// Returns a polynomial in the shifted atoms, without the terms that are zero.
    pub(super) fn shifted(&self, p: &Packed) -> Option<Packed> {
        Some(p.put(&self.values)?.only(|m| m & self.zero == 0))
    }

    /// Returns the fact by which an atom is shifted, unless the shifted atom is zero.
    pub(super) fn base(&self, atom: usize) -> Option<&'f Packed> {
        let base = self.bases.get(atom).copied().flatten().filter(|b| b.down.is_none())?;
        Some(&self.facts.get(base.up)?.1)
    }

    /// Iterates over the facts that are not used for shifting.
    pub(super) fn extra(&self) -> impl Iterator<Item = &'f Packed> {
        self.extra.iter().filter_map(|(k, _)| Some(&self.facts.get(*k)?.1))
    }

    /// Returns the goal as a combination, if no search is necessary.
    pub(super) fn directly(&self, goal: &Packed) -> Option<Combination> {
        if let Some((fact, _)) = self.facts.iter().find(|(_, p)| p == goal) {
            return Some(Combination { by: 1, parts: vec![(1, vec![fact.clone()])] });
        }
        let mut parts = Vec::new();
        self.finish(&goal.put(&self.values)?, &mut parts)?;
        Some(Combination { by: 1, parts })
    }

    /// Returns the goal as a combination, if one is found.
    pub(super) fn combine(&self, goal: &Packed, left: &mut usize) -> Option<Combination> {
        if let Some(found) = self.directly(goal) {
            return Some(found);
        }
        if self.extra.is_empty() {
            return None;
        }
        let full = goal.put(&self.values)?;
        let wanted = full.only(|m| m & self.zero == 0);
        let products = self.products(&wanted)?;
        let mut monomials: Vec<Mono> =
            products.iter().map(|p| &p.value).chain([&wanted]).flat_map(Packed::terms).map(|t| t.0).collect();
        monomials.sort_unstable();
        monomials.dedup();
        if monomials.len() > MOST_ROWS {
            return None;
        }
        // The remainder of the goal must have no negative coefficients, and no coefficient at all
        // for a monomial with a free atom.
        let mut rows: Vec<(i128, Vec<i128>)> = Vec::with_capacity(monomials.len());
        let mut places: Vec<(Mono, usize, bool)> = Vec::with_capacity(monomials.len());
        for m in monomials {
            for sign in [false, true] {
                if !sign || m & self.free != 0 {
                    places.push((m, rows.len(), sign));
                    rows.push((0, vec![0; products.len()]));
                }
            }
        }
        let mut enter = |p: &Packed, column: Option<usize>| {
            for (m, c) in p.terms() {
                let from = places.partition_point(|place| place.0 < *m);
                for (_, row, sign) in places.iter().skip(from).take_while(|place| place.0 == *m) {
                    let (constant, coefs) = rows.get_mut(*row)?;
                    let slot = column.map_or(Some(constant), |at| coefs.get_mut(at))?;
                    let positive = column.is_none() != *sign;
                    *slot = if positive { *c } else { c.checked_neg()? };
                }
            }
            Some(())
        };
        enter(&wanted, None)?;
        for (column, product) in products.iter().enumerate() {
            enter(&product.value, Some(column))?;
        }
        let values = simplex::solve(products.len(), rows, left)?;
        let by = values.iter().try_fold(1, |by, (_, under)| lcm(by, *under))?;
        let (mut parts, mut rest) = (Vec::new(), full.scaled(by)?);
        for (product, (over, under)) in products.iter().zip(values).filter(|(_, (over, _))| *over != 0) {
            let c = over.checked_mul(by / under)?;
            let mut whole = Packed::term(product.by, 1);
            let mut facts = Vec::new();
            for k in &product.facts {
                let (fact, p) = self.facts.get(*k)?;
                whole = whole.times(&p.put(&self.values)?)?;
                facts.push(fact.clone());
            }
            self.factors(product.by, &mut facts)?;
            rest = rest.plus(&whole, c.checked_neg()?)?;
            parts.push((c, facts));
        }
        self.finish(&rest, &mut parts)?;
        Some(reduced(Combination { by, parts }))
    }

    /// Adds the facts whose product is a monomial of shifted atoms.
    fn factors(&self, m: Mono, facts: &mut Vec<Fact>) -> Option<()> {
        for (atom, power) in powers(m) {
            let base = self.bases.get(atom).copied().flatten()?;
            let (fact, _) = self.facts.get(base.up)?;
            facts.extend((0..power).map(|_| fact.clone()));
        }
        Some(())
    }

    /// Adds the remainder, in shifted atoms, as parts of the combination. `None` if its
    /// coefficients do not show that it is non-negative.
    fn finish(&self, rest: &Packed, parts: &mut Vec<(i128, Vec<Fact>)>) -> Option<()> {
        for (m, c) in rest.terms() {
            let mut facts = Vec::new();
            if *c > 0 {
                self.factors(*m, &mut facts)?;
                parts.push((*c, facts));
            } else {
                // A negative coefficient requires a factor that is zero, whose opposite fact
                // changes the sign.
                let (atom, _) = powers(m & self.zero).next()?;
                let down = self.bases.get(atom).copied().flatten()?.down?;
                self.factors(m - single(atom), &mut facts)?;
                facts.push(self.facts.get(down)?.0.clone());
                parts.push((c.checked_neg()?, facts));
            }
        }
        Some(())
    }

    /// Returns the products of extra facts and shifted atoms whose degree is at most the goal's,
    /// those with few facts first.
    fn products(&self, goal: &Packed) -> Option<Vec<Product>> {
        let most = goal.degree().max(1);
        let mut of_facts: Vec<Product> = Vec::new();
        let one = Product { facts: Vec::new(), by: 0, value: Packed::constant(1), degree: 0 };
        let mut last = vec![one];
        while !last.is_empty() && of_facts.len() < MOST_PRODUCTS {
            let mut next = Vec::new();
            for known in &last {
                let from = known.facts.last().copied().unwrap_or(0);
                for (k, p) in self.extra.iter().filter(|(k, _)| *k >= from) {
                    if p.degree().max(1) + known.degree <= most && next.len() < MOST_PRODUCTS {
                        let facts = known.facts.iter().copied().chain([*k]).collect();
                        let value = known.value.times(p)?.only(|m| m & self.zero == 0);
                        next.push(Product { facts, by: 0, value, degree: known.degree + p.degree().max(1) });
                    }
                }
            }
            of_facts.append(&mut last);
            last = next;
        }
        of_facts.append(&mut last);
        let occurring = self.extra.iter().map(|(_, p)| p).chain([goal]).flat_map(Packed::terms);
        let atoms = occurring.fold(0, |all, (m, _)| powers(*m).fold(all, |all, (a, _)| all | single(a)));
        let mut by: Vec<Mono> = vec![0];
        let mut at = 0;
        while let Some(m) = by.get(at).copied().filter(|m| degree(*m) < most) {
            let top = powers(m).last().map_or(0, |(a, _)| a);
            let more = powers(atoms).map(|(a, _)| a).filter(|a| *a >= top);
            let more = more.filter(|a| single(*a) & (self.free | self.zero) == 0).map(|a| m + single(a));
            by.extend(more.take(MOST_PRODUCTS.saturating_sub(by.len())));
            at += 1;
        }
        let mut all = Vec::new();
        for product in of_facts.iter().filter(|p| !p.facts.is_empty()) {
            let room = most.saturating_sub(product.degree);
            for m in by.iter().filter(|m| degree(**m) <= room) {
                if all.len() >= MOST_PRODUCTS {
                    return Some(all);
                }
                let value = product.value.times(&Packed::term(*m, 1))?;
                all.push(Product { facts: product.facts.clone(), by: *m, value, degree: most });
            }
        }
        Some(all)
    }
}

/// Returns the mask with all bits of the atom's power.
fn bits(atom: usize) -> Mono {
    15 * single(atom)
}

/// Reduces a combination to lowest terms.
fn reduced(of: Combination) -> Combination {
    let common = of.parts.iter().fold(of.by, |d, (c, _)| gcd(d, *c)).max(1);
    let parts = of.parts.into_iter().map(|(c, facts)| (c / common, facts)).collect();
    Combination { by: of.by / common, parts }
}

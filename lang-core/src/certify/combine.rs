//! Combinations of facts: each atom is shifted by a fact that bounds it from below, so that a polynomial with no negative
//! coefficient is one; for others products of further facts are taken off, found by the simplex method (Handelman's way).

use super::packed::{MOST_ATOMS, Mono, Packed, degree, gcd, lcm, powers, single};
use super::proof::{Combination, Fact};
use super::simplex;

/// More products than this are not looked at.
const MOST_PRODUCTS: usize = 240;

/// More monomials than this are not looked at.
const MOST_ROWS: usize = 160;

/// Facts that bound an atom: what is left of it is not negative, and if there is a second, zero.
#[derive(Clone, Copy)]
struct Base {
    up: usize,
    down: Option<usize>,
}

/// Facts, and atoms shifted by them.
pub(super) struct Frame<'f> {
    facts: &'f [(Fact, Packed)],
    bases: Vec<Option<Base>>,
    /// The atoms that each is bounded by, and those that bound them: all bits of their powers.
    below: Vec<Mono>,
    /// What the atoms are in those shifted.
    values: Vec<Packed>,
    /// The atoms that are zero when shifted, likewise.
    zero: Mono,
    /// The atoms that no fact bounds, likewise.
    free: Mono,
    /// The facts that are no bases and say more than they do.
    extra: Vec<(usize, Packed)>,
}

/// A product of extra facts and shifted atoms.
struct Product {
    facts: Vec<usize>,
    by: Mono,
    value: Packed,
    /// The degrees of all of them, at least 1 each.
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

    /// Finds the bases.
    fn choose(&mut self, atoms: usize) {
        let facts = self.facts;
        // Equations first, then constant bounds, the greatest of them, then others.
        for (up, (_, p)) in facts.iter().enumerate() {
            let zero =
                |q: &Packed| q.terms().len() == p.terms().len() && p.plus(q, 1).is_some_and(|s| s.terms().is_empty());
            let Some(down) = facts.iter().position(|(_, q)| zero(q)) else { continue };
            // An atom that nothing else bounds comes first.
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
                // Without a constant part the bound is 0.
                let least = |p: &Packed| p.terms().first().filter(|(m, _)| *m == 0).map_or(0, |t| t.1);
                if let Some((up, _)) = bounds.min_by_key(|(_, rest)| least(rest)) {
                    self.set(atom, Base { up, down: None });
                }
            }
        }
    }

    /// `rest`, if the fact is `atom + rest` where the atom has no base yet and bounds nothing that it is bounded by.
    fn bounds(&self, fact: usize, atom: usize) -> Option<Packed> {
        let (_, p) = self.facts.get(fact)?;
        let taken = self.bases.get(atom)?.is_some();
        p.terms().iter().find(|(m, c)| *m == single(atom) && *c == 1)?;
        let rest = p.only(|m| m != single(atom));
        (!taken && self.reached(&rest) & bits(atom) == 0).then_some(rest)
    }

    /// The atoms in it, and in what bounds them.
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

    /// A polynomial in the shifted atoms, without what is zero.
    pub(super) fn shifted(&self, p: &Packed) -> Option<Packed> {
        Some(p.put(&self.values)?.only(|m| m & self.zero == 0))
    }

    /// The fact by which an atom is shifted, if it is not zero then.
    pub(super) fn base(&self, atom: usize) -> Option<&'f Packed> {
        let base = self.bases.get(atom).copied().flatten().filter(|b| b.down.is_none())?;
        Some(&self.facts.get(base.up)?.1)
    }

    /// The facts that are not used for shifting.
    pub(super) fn extra(&self) -> impl Iterator<Item = &'f Packed> {
        self.extra.iter().filter_map(|(k, _)| Some(&self.facts.get(*k)?.1))
    }

    /// The goal as a combination, without a search.
    pub(super) fn directly(&self, goal: &Packed) -> Option<Combination> {
        if let Some((fact, _)) = self.facts.iter().find(|(_, p)| p == goal) {
            return Some(Combination { by: 1, parts: vec![(1, vec![fact.clone()])] });
        }
        let mut parts = Vec::new();
        self.finish(&goal.put(&self.values)?, &mut parts)?;
        Some(Combination { by: 1, parts })
    }

    /// The goal as a combination.
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
        // What is left of the goal has no negative coefficient, and none at all where an atom is free.
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

    /// The facts whose product a monomial of shifted atoms is.
    fn factors(&self, m: Mono, facts: &mut Vec<Fact>) -> Option<()> {
        for (atom, power) in powers(m) {
            let base = self.bases.get(atom).copied().flatten()?;
            let (fact, _) = self.facts.get(base.up)?;
            facts.extend((0..power).map(|_| fact.clone()));
        }
        Some(())
    }

    /// What is left, in shifted atoms, if its coefficients show that it is not negative.
    fn finish(&self, rest: &Packed, parts: &mut Vec<(i128, Vec<Fact>)>) -> Option<()> {
        for (m, c) in rest.terms() {
            let mut facts = Vec::new();
            if *c > 0 {
                self.factors(*m, &mut facts)?;
                parts.push((*c, facts));
            } else {
                // Of a factor that is zero the other side.
                let (atom, _) = powers(m & self.zero).next()?;
                let down = self.bases.get(atom).copied().flatten()?.down?;
                self.factors(m - single(atom), &mut facts)?;
                facts.push(self.facts.get(down)?.0.clone());
                parts.push((c.checked_neg()?, facts));
            }
        }
        Some(())
    }

    /// The products of extra facts and shifted atoms whose degree is not above the goal's, those with few facts first.
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

/// All bits of its powers.
fn bits(atom: usize) -> Mono {
    15 * single(atom)
}

/// In lowest terms.
fn reduced(of: Combination) -> Combination {
    let common = of.parts.iter().fold(of.by, |d, (c, _)| gcd(d, *c)).max(1);
    let parts = of.parts.into_iter().map(|(c, facts)| (c / common, facts)).collect();
    Combination { by: of.by / common, parts }
}

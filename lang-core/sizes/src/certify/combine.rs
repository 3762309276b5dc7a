//! **Positivity certificates** (Handelman's method). Shifts each atom by a fact that bounds it from
//! below, so that a polynomial without negative coefficients is a combination of facts. For other
//! polynomials, the simplex method finds products of further facts to subtract first. The search
//! uses it at every node.

use super::packed::{MAX_ATOMS, PackedMono, PackedPoly, degree, gcd, lcm, powers, single};
use super::proof::{Combination, ProofFact};
use super::simplex;

/// The largest number of products considered.
const MAX_PRODUCTS: usize = 240;

/// The largest number of monomials considered.
const MAX_MONOMIALS: usize = 160;

/// The facts that bound an atom. The shifted atom is non-negative by `up`, and zero if `down`
/// exists too.
#[derive(Clone, Copy)]
struct AtomBase {
    lower_fact: usize,
    opposite_fact: Option<usize>,
}

/// Facts, and the atoms shifted by them.
pub(super) struct ShiftedFacts<'f> {
    facts: &'f [(ProofFact, PackedPoly)],
    bases: Vec<Option<AtomBase>>,
    /// For each atom, a mask of the atoms that bound it, directly or indirectly, with all bits of
    /// their powers.
    dependencies: Vec<PackedMono>,
    /// The atoms as polynomials in the shifted atoms.
    values: Vec<PackedPoly>,
    /// A mask of the atoms whose shifted value is zero.
    zero_atoms: PackedMono,
    /// A mask of the atoms that no fact bounds.
    unbounded_atoms: PackedMono,
    /// The facts that are not bases and do not follow from them.
    other_facts: Vec<(usize, PackedPoly)>,
}

/// A product of extra facts and shifted atoms.
struct FactProduct {
    facts: Vec<usize>,
    shifted: PackedMono,
    value: PackedPoly,
    /// The sum of the factors' degrees, at least 1 for each.
    degree: u32,
}

impl<'f> ShiftedFacts<'f> {
    pub(super) fn new(facts: &'f [(ProofFact, PackedPoly)], atoms: usize) -> Option<Self> {
        let (bases, below) = (vec![None; atoms], vec![0; atoms]);
        let mut frame = Self {
            facts,
            bases,
            dependencies: below,
            values: Vec::new(),
            zero_atoms: 0,
            unbounded_atoms: 0,
            other_facts: Vec::new(),
        };
        frame.choose_bases(atoms.min(MAX_ATOMS));
        frame.shift_atoms(atoms)?;
        let used = |k: usize| frame.bases.iter().flatten().any(|b| b.lower_fact == k || b.opposite_fact == Some(k));
        let mut extra: Vec<(usize, PackedPoly)> = Vec::new();
        for (k, (_, p)) in facts.iter().enumerate().filter(|(k, _)| !used(*k)) {
            let p = p.substitute(&frame.values)?.filter_terms(|m| m & frame.zero_atoms == 0);
            let follows = p.terms().iter().all(|(m, c)| *c >= 0 && m & frame.unbounded_atoms == 0);
            if !follows && extra.iter().all(|(_, other)| *other != p) {
                extra.push((k, p));
            }
        }
        frame.other_facts = extra;
        Some(frame)
    }

    /// Chooses the bases.
    fn choose_bases(&mut self, atoms: usize) {
        let facts = self.facts;
        // Bases are chosen from equations first, then from constant bounds, the greatest first, and
        // then from other facts.
        for (up, (_, p)) in facts.iter().enumerate() {
            let zero = |q: &PackedPoly| {
                q.terms().len() == p.terms().len() && p.add_scaled(q, 1).is_some_and(|s| s.terms().is_empty())
            };
            let Some(down) = facts.iter().position(|(_, q)| zero(q)) else { continue };
            // An atom without a linear bound of its own has precedence.
            let least = |atom| {
                facts.iter().any(|(_, q)| {
                    q.degree() == 1 && q.terms().iter().all(|(m, c)| *m == 0 || *m == single(atom) && *c == 1)
                })
            };
            let both = [(up, down), (down, up)];
            let all = (0..atoms).flat_map(|a| both.map(|(up, down)| (a, up, down)));
            let fits = all.filter(|(a, up, _)| self.bound_remainder(*up, *a).is_some());
            if let Some((a, up, down)) = fits.max_by_key(|(a, ..)| (!least(*a), *a)) {
                self.set_base(a, AtomBase { lower_fact: up, opposite_fact: Some(down) });
            }
        }
        for constant in [true, false] {
            for atom in 0..atoms {
                if self.bases.get(atom).is_some_and(Option::is_some) {
                    continue;
                }
                let bounds = (0..facts.len()).filter_map(|k| Some((k, self.bound_remainder(k, atom)?)));
                let bounds = bounds.filter(|(_, rest)| rest.degree() == 0 || !constant);
                // A fact without a constant part bounds the atom by 0.
                let least = |p: &PackedPoly| p.terms().first().filter(|(m, _)| *m == 0).map_or(0, |t| t.1);
                if let Some((up, _)) = bounds.min_by_key(|(_, rest)| least(rest)) {
                    self.set_base(atom, AtomBase { lower_fact: up, opposite_fact: None });
                }
            }
        }
    }

    /// Returns `rest`, if the fact is `atom + rest`. The atom must have no base yet, and must bound
    /// none of the atoms of `rest`.
    fn bound_remainder(&self, fact: usize, atom: usize) -> Option<PackedPoly> {
        let (_, p) = self.facts.get(fact)?;
        let taken = self.bases.get(atom)?.is_some();
        p.terms().iter().find(|(m, c)| *m == single(atom) && *c == 1)?;
        let rest = p.filter_terms(|m| m != single(atom));
        (!taken && self.dependency_mask(&rest) & power_mask(atom) == 0).then_some(rest)
    }

    /// Returns the mask of the atoms in the polynomial, and of those that bound them.
    fn dependency_mask(&self, p: &PackedPoly) -> PackedMono {
        let atoms = p.terms().iter().flat_map(|(m, _)| powers(*m));
        atoms.fold(0, |all, (a, _)| all | power_mask(a) | self.dependencies.get(a).copied().unwrap_or(0))
    }

    fn set_base(&mut self, atom: usize, base: AtomBase) {
        let rest = self
            .facts
            .get(base.lower_fact)
            .map_or(0, |(_, p)| self.dependency_mask(&p.filter_terms(|m| m != single(atom))));
        if let Some(slot) = self.bases.get_mut(atom) {
            *slot = Some(base);
        }
        for (other, below) in self.dependencies.iter_mut().enumerate() {
            if other == atom || *below & power_mask(atom) != 0 {
                *below |= rest;
            }
        }
    }

    fn shift_atoms(&mut self, atoms: usize) -> Option<()> {
        let mut values: Vec<Option<PackedPoly>> = vec![None; atoms];
        for _ in 0..atoms {
            for atom in 0..atoms {
                if values.get(atom)?.is_some() {
                    continue;
                }
                let itself = PackedPoly::term(single(atom), 1);
                let value = match self.bases.get(atom)? {
                    None => Some(itself),
                    Some(base) => {
                        let (_, p) = self.facts.get(base.lower_fact)?;
                        let rest = p.filter_terms(|m| m != single(atom));
                        let known = |a: usize| values.get(a).is_some_and(Option::is_some);
                        let ready = rest.terms().iter().all(|(m, _)| powers(*m).all(|(a, _)| known(a)));
                        if ready {
                            let all: Vec<PackedPoly> = values.iter().map(|v| v.clone().unwrap_or_default()).collect();
                            Some(itself.add_scaled(&rest.substitute(&all)?, -1)?)
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
                None => self.unbounded_atoms |= power_mask(atom),
                Some(base) if base.opposite_fact.is_some() => self.zero_atoms |= power_mask(atom),
                Some(_) => {}
            }
        }
        Some(())
    }

    /// Returns a polynomial in the shifted atoms, without the terms that are zero.
    pub(super) fn shift_poly(&self, p: &PackedPoly) -> Option<PackedPoly> {
        Some(p.substitute(&self.values)?.filter_terms(|m| m & self.zero_atoms == 0))
    }

    /// Returns the fact by which an atom is shifted, unless the shifted atom is zero.
    pub(super) fn base(&self, atom: usize) -> Option<&'f PackedPoly> {
        let base = self.bases.get(atom).copied().flatten().filter(|b| b.opposite_fact.is_none())?;
        Some(&self.facts.get(base.lower_fact)?.1)
    }

    /// Iterates over the facts that are not used for shifting.
    pub(super) fn unused_facts(&self) -> impl Iterator<Item = &'f PackedPoly> {
        self.other_facts.iter().filter_map(|(k, _)| Some(&self.facts.get(*k)?.1))
    }

    /// Returns the goal as a combination, if no search is necessary.
    pub(super) fn combine_directly(&self, goal: &PackedPoly) -> Option<Combination> {
        if let Some((fact, _)) = self.facts.iter().find(|(_, p)| p == goal) {
            return Some(Combination { goal_factor: 1, products: vec![(1, vec![fact.clone()])] });
        }
        let mut parts = Vec::new();
        self.push_remainder(&goal.substitute(&self.values)?, &mut parts)?;
        Some(Combination { goal_factor: 1, products: parts })
    }

    /// Returns the goal as a combination, if one is found.
    pub(super) fn combine(&self, goal: &PackedPoly, left: &mut usize) -> Option<Combination> {
        if let Some(found) = self.combine_directly(goal) {
            return Some(found);
        }
        if self.other_facts.is_empty() {
            return None;
        }
        let full = goal.substitute(&self.values)?;
        let wanted = full.filter_terms(|m| m & self.zero_atoms == 0);
        let products = self.products(&wanted)?;
        let mut monomials: Vec<PackedMono> =
            products.iter().map(|p| &p.value).chain([&wanted]).flat_map(PackedPoly::terms).map(|t| t.0).collect();
        monomials.sort_unstable();
        monomials.dedup();
        if monomials.len() > MAX_MONOMIALS {
            return None;
        }
        // The remainder of the goal must have no negative coefficients, and no coefficient at all
        // for a monomial with a free atom.
        let mut rows: Vec<(i128, Vec<i128>)> = Vec::with_capacity(monomials.len());
        let mut places: Vec<(PackedMono, usize, bool)> = Vec::with_capacity(monomials.len());
        for m in monomials {
            for sign in [false, true] {
                if !sign || m & self.unbounded_atoms != 0 {
                    places.push((m, rows.len(), sign));
                    rows.push((0, vec![0; products.len()]));
                }
            }
        }
        let mut enter = |p: &PackedPoly, column: Option<usize>| {
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
        let (mut parts, mut rest) = (Vec::new(), full.scale(by)?);
        for (product, (over, under)) in products.iter().zip(values).filter(|(_, (over, _))| *over != 0) {
            let c = over.checked_mul(by / under)?;
            let mut whole = PackedPoly::term(product.shifted, 1);
            let mut facts = Vec::new();
            for k in &product.facts {
                let (fact, p) = self.facts.get(*k)?;
                whole = whole.mul(&p.substitute(&self.values)?)?;
                facts.push(fact.clone());
            }
            self.push_factors(product.shifted, &mut facts)?;
            rest = rest.add_scaled(&whole, c.checked_neg()?)?;
            parts.push((c, facts));
        }
        self.push_remainder(&rest, &mut parts)?;
        Some(to_lowest_terms(Combination { goal_factor: by, products: parts }))
    }

    /// Adds the facts whose product is a monomial of shifted atoms.
    fn push_factors(&self, m: PackedMono, facts: &mut Vec<ProofFact>) -> Option<()> {
        for (atom, power) in powers(m) {
            let base = self.bases.get(atom).copied().flatten()?;
            let (fact, _) = self.facts.get(base.lower_fact)?;
            facts.extend((0..power).map(|_| fact.clone()));
        }
        Some(())
    }

    /// Adds the remainder, in shifted atoms, as parts of the combination. `None` if its
    /// coefficients do not show that it is non-negative.
    fn push_remainder(&self, rest: &PackedPoly, parts: &mut Vec<(i128, Vec<ProofFact>)>) -> Option<()> {
        for (m, c) in rest.terms() {
            let mut facts = Vec::new();
            if *c > 0 {
                self.push_factors(*m, &mut facts)?;
                parts.push((*c, facts));
            } else {
                // A negative coefficient requires a factor that is zero, whose opposite fact
                // changes the sign.
                let (atom, _) = powers(m & self.zero_atoms).next()?;
                let down = self.bases.get(atom).copied().flatten()?.opposite_fact?;
                self.push_factors(m - single(atom), &mut facts)?;
                facts.push(self.facts.get(down)?.0.clone());
                parts.push((c.checked_neg()?, facts));
            }
        }
        Some(())
    }

    /// Returns the products of extra facts and shifted atoms whose degree is at most the goal's,
    /// those with few facts first.
    fn products(&self, goal: &PackedPoly) -> Option<Vec<FactProduct>> {
        let most = goal.degree().max(1);
        let mut of_facts: Vec<FactProduct> = Vec::new();
        let one = FactProduct { facts: Vec::new(), shifted: 0, value: PackedPoly::constant(1), degree: 0 };
        let mut last = vec![one];
        while !last.is_empty() && of_facts.len() < MAX_PRODUCTS {
            let mut next = Vec::new();
            for known in &last {
                let from = known.facts.last().copied().unwrap_or(0);
                for (k, p) in self.other_facts.iter().filter(|(k, _)| *k >= from) {
                    if p.degree().max(1) + known.degree <= most && next.len() < MAX_PRODUCTS {
                        let facts = known.facts.iter().copied().chain([*k]).collect();
                        let value = known.value.mul(p)?.filter_terms(|m| m & self.zero_atoms == 0);
                        next.push(FactProduct { facts, shifted: 0, value, degree: known.degree + p.degree().max(1) });
                    }
                }
            }
            of_facts.append(&mut last);
            last = next;
        }
        of_facts.append(&mut last);
        let occurring = self.other_facts.iter().map(|(_, p)| p).chain([goal]).flat_map(PackedPoly::terms);
        let atoms = occurring.fold(0, |all, (m, _)| powers(*m).fold(all, |all, (a, _)| all | single(a)));
        let mut by: Vec<PackedMono> = vec![0];
        let mut at = 0;
        while let Some(m) = by.get(at).copied().filter(|m| degree(*m) < most) {
            let top = powers(m).last().map_or(0, |(a, _)| a);
            let more = powers(atoms).map(|(a, _)| a).filter(|a| *a >= top);
            let more =
                more.filter(|a| single(*a) & (self.unbounded_atoms | self.zero_atoms) == 0).map(|a| m + single(a));
            by.extend(more.take(MAX_PRODUCTS.saturating_sub(by.len())));
            at += 1;
        }
        let mut all = Vec::new();
        for product in of_facts.iter().filter(|p| !p.facts.is_empty()) {
            let room = most.saturating_sub(product.degree);
            for m in by.iter().filter(|m| degree(**m) <= room) {
                if all.len() >= MAX_PRODUCTS {
                    return Some(all);
                }
                let value = product.value.mul(&PackedPoly::term(*m, 1))?;
                all.push(FactProduct { facts: product.facts.clone(), shifted: *m, value, degree: most });
            }
        }
        Some(all)
    }
}

/// Returns the mask with all bits of the atom's power.
fn power_mask(atom: usize) -> PackedMono {
    15 * single(atom)
}

/// Reduces a combination to lowest terms.
fn to_lowest_terms(of: Combination) -> Combination {
    let common = of.products.iter().fold(of.goal_factor, |d, (c, _)| gcd(d, *c)).max(1);
    let parts = of.products.into_iter().map(|(c, facts)| (c / common, facts)).collect();
    Combination { goal_factor: of.goal_factor / common, products: parts }
}

//! **Scatter sums.** Prints a sum over data-dependent places, `[i == idx[j]] * y[j]` summed over
//! `j`, as `scatter_add(zeros, idx, y)`. The call visits each `j` once, and fails if a place is out
//! of range. Other terms of the element replace the zeros. A place may be relative to that of a
//! chosen element: `[i == j + k[j]]` with an `argmax` `k[j]`.

use super::tree::Ex;
use super::writer::Writer;
use lang_ir::ssa::Var;
use lang_resolve::ValueRef;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// The library function that is called.
const SCATTER_ADD: &str = "scatter_add";

/// The values that a sum adds, and their places.
pub(super) struct Scattered {
    /// The array of places, or the array from which they are computed.
    pub(super) places: Var,
    /// The place, as a polynomial.
    at: Poly,
    /// The index that runs along the array of places.
    pub(super) along: Index,
    /// The extent of the target array.
    pub(super) into: Poly,
    /// The value that is added.
    element: Ex,
}

impl Scattered {
    /// Returns whether the places are the elements of the array themselves.
    fn is_whole(&self) -> bool {
        matches!(self.at.as_atom(), Some(Atom::Read(..)))
    }
}

/// Recognises a scatter sum over the one index in `own`.
fn scattered(own: &[Index], e: &Ex) -> Option<Scattered> {
    let [i] = own else { return None };
    if let Ex::Product(p) = e {
        // Factors of the whole sum move into the added value.
        let (sums, others): (Vec<&Ex>, Vec<&Ex>) = p.over.iter().partition(|e| matches!(e, Ex::Total(..)));
        let [sum] = sums.as_slice() else { return None };
        if others.iter().any(|e| e.mentions(&i.atom())) || !p.under.is_empty() || p.per != 1.0 {
            return None;
        }
        let found = scattered(own, sum)?;
        let factors = others.into_iter().cloned().chain([found.element]).collect();
        return Some(Scattered { element: Ex::product(p.by, factors, Vec::new()), ..found });
    }
    let Ex::Total(indices, Pred::Eq(p), element) = e else { return None };
    let [along] = indices.as_slice() else { return None };
    let (c, rest) = p.linear_in(&i.atom())?;
    let place = match c {
        1 => rest.neg(),
        -1 => rest,
        _ => return None,
    };
    let mut reads = Vec::new();
    place.for_each_atom(&mut |a| {
        if let Atom::Read(x, _, at) = a {
            reads.push((*x, at.to_vec()));
        }
    });
    let [(x, at)] = reads.as_slice() else { return None };
    let whole = at.as_slice() == std::slice::from_ref(&along.value());
    let (places, free) = (Var::of_local(*x)?, !element.mentions(&i.atom()));
    (whole && free).then(|| Scattered {
        places,
        at: place,
        along: along.clone(),
        into: i.extent.clone(),
        element: element.as_ref().clone(),
    })
}

impl Writer<'_> {
    /// Splits the element of an array into scatter sums and the rest.
    pub(super) fn scattering(&self, own: &[Index], e: &Ex) -> Option<(Ex, Vec<Scattered>)> {
        let terms = if let Ex::Sum(terms) = e { terms.clone() } else { vec![(false, e.clone())] };
        let (mut rest, mut found) = (Vec::new(), Vec::new());
        for (neg, e) in terms {
            match scattered(own, &e).filter(|found| self.scatters(found)) {
                Some(one) if neg => found.push(Scattered { element: one.element.negated(), ..one }),
                Some(one) => found.push(one),
                None => rest.push((neg, e)),
            }
        }
        (!found.is_empty()).then(|| (Ex::sum(rest), found))
    }

    /// Prints an array of scatter sums as calls of the library function. `None` if the element has
    /// no such sum.
    pub(super) fn scatter(&mut self, own: &[Index], e: &Ex) -> Option<String> {
        let (rest, found) = self.scattering(own, e)?;
        let mut text = self.array(own, &rest, "-", false);
        for one in found {
            let places = match one.is_whole() {
                true => self.whole_name(one.places)?,
                false => self.array(std::slice::from_ref(&one.along), &Ex::Index(one.at.clone()), "-", false),
            };
            let values = self.array(std::slice::from_ref(&one.along), &one.element, "-", false);
            text = format!("{SCATTER_ADD}({text}, {places}, {values})");
        }
        Some(text)
    }

    /// Returns whether the sum can be a call: the library function is visible, and its places are
    /// known to be valid or are checked by the call.
    fn scatters(&self, found: &Scattered) -> bool {
        let known = self.names().value(self.home(), SCATTER_ADD);
        let ours = matches!(known, Some(ValueRef::Def(name)) if name.module.is_empty());
        // A chosen element exists, so its place is valid.
        let line = self.lines.get(found.places.0 as usize).and_then(|l| l.element());
        let chosen = matches!(line, Some(Ex::Reduce(r)) if r.reducer.gives_place());
        ours && !self.taken.has(SCATTER_ADD)
            && (chosen || found.is_whole())
            && self.has_extent(found.places, &found.along.extent)
    }

    /// Returns whether the check only states that the places of a scatter are valid. The call
    /// checks that itself.
    pub(super) fn checks_places(&self, cond: &Pred, guard: &Pred, found: &[Scattered]) -> bool {
        guard.is_true()
            && found.iter().any(|s| {
                let place =
                    |at: &Poly| matches!(at.as_atom(), Some(Atom::Read(x, ..)) if Var::of_local(*x) == Some(s.places));
                let inside = |p: &Pred| match p {
                    Pred::Ge(p) => place(p) || place(&s.into.plus(-1).sub(p)),
                    _ => false,
                };
                cond.conjuncts().iter().all(inside)
            })
    }
}

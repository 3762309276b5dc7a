//! **Scatter sums.** Prints a sum over data-dependent places, `[i == idx[j]] * y[j]` summed over
//! `j`, as `scatter_add(zeros, idx, y)`. The call visits each `j` once, and fails if a place is out
//! of range. Other terms of the element replace the zeros. A place may be relative to that of a
//! chosen element: `[i == j + k[j]]` with an `argmax` `k[j]`.

use super::expression_tree::SourceExpr;
use super::writer::BodyWriter;
use lang_ir::ssa::StmtId;
use lang_resolve::ValueRef;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// The library function that is called.
const SCATTER_ADD: &str = "scatter_add";

/// The values that a sum adds, and their places.
pub(super) struct ScatterSum {
    /// The array of places, or the array from which they are computed.
    pub(super) location_array: StmtId,
    /// The place, as a polynomial.
    location: Poly,
    /// The index that runs along the array of places.
    pub(super) source_index: Index,
    /// The extent of the target array.
    pub(super) target_extent: Poly,
    /// The value that is added.
    element: SourceExpr,
}

impl ScatterSum {
    /// Returns whether the places are the elements of the array themselves.
    fn reads_locations_directly(&self) -> bool {
        matches!(self.location.as_atom(), Some(Atom::Read(..)))
    }
}

/// Recognises a scatter sum over the one index in `own`.
fn recognise_scatter_sum(own: &[Index], e: &SourceExpr) -> Option<ScatterSum> {
    let [i] = own else { return None };
    if let SourceExpr::Product(p) = e {
        // Factors of the whole sum move into the added value.
        let (sums, others): (Vec<&SourceExpr>, Vec<&SourceExpr>) =
            p.factors.iter().partition(|e| matches!(e, SourceExpr::IndexedSum(..)));
        let [sum] = sums.as_slice() else { return None };
        if others.iter().any(|e| e.mentions(&i.atom())) || !p.divisors.is_empty() || p.denominator != 1.0 {
            return None;
        }
        let found = recognise_scatter_sum(own, sum)?;
        let factors = others.into_iter().cloned().chain([found.element]).collect();
        return Some(ScatterSum { element: SourceExpr::product(p.numerator, factors, Vec::new()), ..found });
    }
    let SourceExpr::IndexedSum(indices, Pred::Eq(p), element) = e else { return None };
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
    let (places, free) = (StmtId::from_local(*x)?, !element.mentions(&i.atom()));
    (whole && free).then(|| ScatterSum {
        location_array: places,
        location: place,
        source_index: along.clone(),
        target_extent: i.extent.clone(),
        element: element.as_ref().clone(),
    })
}

impl BodyWriter<'_> {
    /// Splits the element of an array into scatter sums and the rest.
    pub(super) fn split_scatter_sums(&self, own: &[Index], e: &SourceExpr) -> Option<(SourceExpr, Vec<ScatterSum>)> {
        let terms = if let SourceExpr::Sum(terms) = e { terms.clone() } else { vec![(false, e.clone())] };
        let (mut rest, mut found) = (Vec::new(), Vec::new());
        for (neg, e) in terms {
            match recognise_scatter_sum(own, &e).filter(|found| self.is_callable_scatter(found)) {
                Some(one) if neg => found.push(ScatterSum { element: one.element.negated(), ..one }),
                Some(one) => found.push(one),
                None => rest.push((neg, e)),
            }
        }
        (!found.is_empty()).then(|| (SourceExpr::sum(rest), found))
    }

    /// Prints an array of scatter sums as calls of the library function. `None` if the element has
    /// no such sum.
    pub(super) fn print_scatter(&mut self, own: &[Index], e: &SourceExpr) -> Option<String> {
        let (rest, found) = self.split_scatter_sums(own, e)?;
        let mut text = self.print_array(own, &rest, "-", false);
        for one in found {
            let places = match one.reads_locations_directly() {
                true => self.whole_array_text(one.location_array)?,
                false => self.print_array(
                    std::slice::from_ref(&one.source_index),
                    &SourceExpr::Index(one.location.clone()),
                    "-",
                    false,
                ),
            };
            let values = self.print_array(std::slice::from_ref(&one.source_index), &one.element, "-", false);
            text = format!("{SCATTER_ADD}({text}, {places}, {values})");
        }
        Some(text)
    }

    /// Returns whether the sum can be a call: the library function is visible, and its places are
    /// known to be valid or are checked by the call.
    fn is_callable_scatter(&self, found: &ScatterSum) -> bool {
        let known = self.name_environment().top_level_value(self.home_module(), SCATTER_ADD);
        let ours = matches!(known, Some(ValueRef::Def(name)) if name.module.is_empty());
        // A chosen element exists, so its place is valid.
        let line = self.lines.get(found.location_array.0 as usize).and_then(|l| l.element());
        let chosen = matches!(line, Some(SourceExpr::Reduce(r)) if r.reducer.is_arg_reduction());
        ours && !self.used_names.contains(SCATTER_ADD)
            && (chosen || found.reads_locations_directly())
            && self.has_extent(found.location_array, &found.source_index.extent)
    }

    /// Returns whether the check only states that the places of a scatter are valid. The call
    /// checks that itself.
    pub(super) fn is_checked_by_scatter(&self, cond: &Pred, guard: &Pred, found: &[ScatterSum]) -> bool {
        guard.is_true()
            && found.iter().any(|s| {
                let place =
                    |at: &Poly| matches!(at.as_atom(), Some(Atom::Read(x, ..)) if StmtId::from_local(*x) == Some(s.location_array));
                let inside = |p: &Pred| match p {
                    Pred::Ge(p) => place(p) || place(&s.target_extent.add_constant(-1).sub(p)),
                    _ => false,
                };
                cond.conjuncts().iter().all(inside)
            })
    }
}

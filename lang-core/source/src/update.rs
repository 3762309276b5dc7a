//! **Array updates to text.** If equations determine the places, an update with zero or by addition
//! is an expression for the elements. Other updates are `x with [i] = e`. Places that form no slice
//! are visited one by one in a `fold`. A sorting permutation is `argsort` of an array.

use super::known::{Facts, told, told_poly, told_pred};
use super::predicate::closed;
use super::read::{Sorted, Updated};
use super::tree::Ex;
use super::writer::{Level, Writer};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

impl Updated {
    /// Returns the update with known facts substituted.
    pub(super) fn told(&self, facts: Facts<'_>) -> Self {
        let all = |items: &[Index]| {
            items.iter().map(|i| Index { extent: told_poly(&i.extent, facts), ..i.clone() }).collect::<Vec<Index>>()
        };
        Self {
            batch: all(&self.batch),
            own: all(&self.own),
            base: told(&self.base, facts).0,
            bound: all(&self.bound),
            pred: told_pred(&self.pred, facts),
            at: self.at.iter().map(|p| told_poly(p, facts)).collect(),
            value: told(&self.value, facts).0,
            add: self.add,
        }
    }

    /// Returns the element after the update, if equations determine the places and the value is
    /// zero or added.
    pub(super) fn element(&self, zero: bool) -> Option<Ex> {
        let alone = |i: &Index| self.at.iter().any(|p| self.runs_along(p).is_some_and(|(j, _)| j.local == i.local));
        if !(self.add || zero) || !self.bound.iter().all(alone) {
            return None;
        }
        let places = self.own.iter().zip(&self.at).map(|(i, p)| Pred::equal(&i.value(), p));
        let there = Pred::all(places.chain([self.pred.clone()]));
        if self.add {
            let more = Ex::total(self.bound.clone(), there, self.value.clone());
            return Some(Ex::sum(vec![(false, self.base.clone()), (false, more)]));
        }
        let some = self.bound.iter().rev().fold(there, |p, i| Pred::exists(i, &p));
        Some(Ex::guard(some.negated(), self.base.clone()))
    }

    /// If the place is a bound index plus an offset, returns both. The offset contains neither
    /// bound indices nor data.
    fn runs_along(&self, p: &Poly) -> Option<(&Index, Poly)> {
        self.bound.iter().find_map(|i| match p.linear_in(&i.atom()) {
            // With a data-dependent offset, the length of a slice is unknown.
            Some((1, rest)) if !self.bound.iter().any(|j| rest.mentions(&j.atom())) && !is_data(&rest) => {
                Some((i, rest))
            }
            _ => None,
        })
    }

    /// Returns the subscript of each axis, if every bound index runs along exactly one axis.
    fn slices(&self) -> Option<Vec<Along<'_>>> {
        let mut used = Vec::new();
        let mut all = Vec::new();
        for (p, axis) in self.at.iter().zip(&self.own) {
            match self.runs_along(p) {
                Some((i, from)) if !used.contains(&i.local) => {
                    used.push(i.local);
                    let whole = from == Poly::default() && i.extent == axis.extent;
                    all.push(if whole { Along::Whole(i) } else { Along::Slice(i, from) });
                }
                None if !self.bound.iter().any(|i| p.mentions(&i.atom())) => all.push(Along::Place(p)),
                _ => return None,
            }
        }
        let told = |i: &Index| self.bound.iter().all(|j| !i.extent.mentions(&j.atom())) && used.contains(&i.local);
        self.bound.iter().all(told).then_some(all)
    }
}

/// The subscript of an axis in an update.
enum Along<'a> {
    Place(&'a Poly),
    Slice(&'a Index, Poly),
    Whole(&'a Index),
}

/// Returns whether the polynomial reads data.
pub(super) fn is_data(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

impl Writer<'_> {
    /// Prints an array with some elements replaced.
    pub(super) fn updated(&mut self, of: &Updated) -> String {
        self.around(&of.batch, &mut |this| {
            let guarded = this.own_pred(of);
            match of.slices().filter(|_| guarded.is_none_or(|inside| inside)) {
                Some(slices) => this.with(of, &slices),
                None => this.one_by_one(of),
            }
        })
    }

    /// Returns `None` if the update has no predicate. Otherwise returns whether one `with` can
    /// express it: all places are in bounds, or the predicate does not depend on the bound indices.
    fn own_pred(&self, of: &Updated) -> Option<bool> {
        if of.pred.is_true() {
            return None;
        }
        let free = !of.bound.iter().any(|i| of.pred.mentions(&i.atom()));
        let mut context = self.context.clone();
        of.bound.iter().for_each(|i| context.enter(i));
        let inside = of.at.iter().zip(&of.own).all(|(p, i)| context.implies(&Pred::inside(p, &i.extent)));
        Some(inside || free)
    }

    fn with(&mut self, of: &Updated, slices: &[Along<'_>]) -> String {
        let mut places = Vec::new();
        let mut along = Vec::new();
        for slice in slices {
            places.push(match slice {
                Along::Place(p) => self.poly(p).0,
                Along::Slice(i, from) => {
                    along.push((*i).clone());
                    format!("{}..{}", self.poly(from).0, self.poly(&from.add(&i.extent)).0)
                }
                Along::Whole(i) => {
                    along.push((*i).clone());
                    "_".to_owned()
                }
            });
        }
        while places.len() > 1 && places.last().is_some_and(|p| p == "_") {
            places.pop();
        }
        let first = !of.bound.iter().any(|i| of.pred.mentions(&i.atom()));
        let before = || {
            let put = |p: &Poly| {
                p.substitute(&|a| of.own.iter().position(|i| i.atom() == *a).and_then(|k| of.at.get(k).cloned()))
            };
            of.base.map_polys(&put)
        };
        let value = match (first, of.add) {
            (true, _) => of.value.clone(),
            (false, true) => Ex::guard(of.pred.clone(), of.value.clone()),
            (false, false) => Ex::choice(of.pred.clone(), of.value.clone(), before()),
        };
        let value = if along.is_empty() { self.put(&value) } else { self.array(&along, &value, "-", false) };
        let base = self.base(of);
        let text = format!("{base} with [{}] {} {value}", places.join(", "), if of.add { "+=" } else { "=" });
        if !first || of.pred.is_true() {
            return text;
        }
        format!("if {} then {text} else {base}", self.pred(&of.pred).0)
    }

    /// Prints the array before the update, such that `with` may follow.
    fn base(&mut self, of: &Updated) -> String {
        let text = self.array(&of.own, &of.base, "-", false);
        let plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\''));
        if plain { text } else { closed((text, Level::Open), Level::Post) }
    }

    /// Prints a sorting permutation.
    pub(super) fn sorted(&mut self, of: &Sorted) -> String {
        self.word("argsort");
        self.around(&of.batch, &mut |this| {
            let text = format!("argsort({})", this.array(std::slice::from_ref(&of.own), &of.key, "-", true));
            if of.pred.is_true() { text } else { format!("[{}] * {text}", this.pred(&of.pred).0) }
        })
    }

    /// Prints an assigned value. It may extend as far as a sum; weaker operators get parentheses.
    pub(super) fn put(&mut self, e: &Ex) -> String {
        match self.ex(e) {
            (text, level @ (Level::Or | Level::And | Level::Not | Level::Compare)) => closed((text, level), Level::Sum),
            (text, _) => text,
        }
    }

    /// Prints the update as a `fold` over the bound indices.
    fn one_by_one(&mut self, of: &Updated) -> String {
        let base = self.array(&of.own, &of.base, "-", false);
        let name = self.taken.fresh("r");
        let (head, body) = self.bound_by("for", &of.bound, &mut |this| {
            let places: Vec<String> = of.at.iter().map(|p| this.poly(p).0).collect();
            let value = this.put(&of.value);
            let text = format!("{name} with [{}] {} {value}", places.join(", "), if of.add { "+=" } else { "=" });
            if of.pred.is_true() { text } else { format!("if {} then {text} else {name}", this.pred(&of.pred).0) }
        });
        self.taken.release(&name);
        format!("fold {name} = {base} {head}: {body}")
    }
}

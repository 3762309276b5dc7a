//! **Array updates to text.** If equations determine the places, an update with zero or by addition
//! is an expression for the elements. Other updates are `x with [i] = e`. Places that form no slice
//! are visited one by one in a `fold`. A sorting permutation is `argsort` of an array.

use super::constant_propagation::{FactLookup, propagate_facts, propagate_into_poly, propagate_into_pred};
use super::expression_tree::SourceExpr;
use super::print_predicate::parenthesise_below;
use super::read_ssa::{ArrayUpdate, SortedAxis};
use super::writer::{BindingStrength, BodyWriter};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

impl ArrayUpdate {
    /// Returns the update with known facts substituted.
    pub(super) fn with_facts(&self, facts: FactLookup<'_>) -> Self {
        let all = |items: &[Index]| {
            items
                .iter()
                .map(|i| Index { extent: propagate_into_poly(&i.extent, facts), ..i.clone() })
                .collect::<Vec<Index>>()
        };
        Self {
            batch: all(&self.batch),
            axes: all(&self.axes),
            base: propagate_facts(&self.base, facts).0,
            bound: all(&self.bound),
            pred: propagate_into_pred(&self.pred, facts),
            location: self.location.iter().map(|p| propagate_into_poly(p, facts)).collect(),
            value: propagate_facts(&self.value, facts).0,
            is_addition: self.is_addition,
        }
    }

    /// Returns the element after the update, if equations determine the places and the value is
    /// zero or added.
    pub(super) fn element_after_update(&self, zero: bool) -> Option<SourceExpr> {
        let alone = |i: &Index| {
            self.location.iter().any(|p| self.bound_index_and_offset(p).is_some_and(|(j, _)| j.local == i.local))
        };
        if !(self.is_addition || zero) || !self.bound.iter().all(alone) {
            return None;
        }
        let places = self.axes.iter().zip(&self.location).map(|(i, p)| Pred::equal(&i.value(), p));
        let there = Pred::all(places.chain([self.pred.clone()]));
        if self.is_addition {
            let more = SourceExpr::total(self.bound.clone(), there, self.value.clone());
            return Some(SourceExpr::sum(vec![(false, self.base.clone()), (false, more)]));
        }
        let some = self.bound.iter().rev().fold(there, |p, i| Pred::exists(i, &p));
        Some(SourceExpr::guard(some.negated(), self.base.clone()))
    }

    /// If the place is a bound index plus an offset, returns both. The offset contains neither
    /// bound indices nor data.
    fn bound_index_and_offset(&self, p: &Poly) -> Option<(&Index, Poly)> {
        self.bound.iter().find_map(|i| match p.linear_in(&i.atom()) {
            // With a data-dependent offset, the length of a slice is unknown.
            Some((1, rest)) if !self.bound.iter().any(|j| rest.mentions(&j.atom())) && !reads_data(&rest) => {
                Some((i, rest))
            }
            _ => None,
        })
    }

    /// Returns the subscript of each axis, if every bound index runs along exactly one axis.
    fn axis_subscripts(&self) -> Option<Vec<UpdatedAxis<'_>>> {
        let mut used = Vec::new();
        let mut all = Vec::new();
        for (p, axis) in self.location.iter().zip(&self.axes) {
            match self.bound_index_and_offset(p) {
                Some((i, from)) if !used.contains(&i.local) => {
                    used.push(i.local);
                    let whole = from == Poly::default() && i.extent == axis.extent;
                    all.push(if whole { UpdatedAxis::WholeAxis(i) } else { UpdatedAxis::Slice(i, from) });
                }
                None if !self.bound.iter().any(|i| p.mentions(&i.atom())) => all.push(UpdatedAxis::Point(p)),
                _ => return None,
            }
        }
        let is_determined =
            |i: &Index| self.bound.iter().all(|j| !i.extent.mentions(&j.atom())) && used.contains(&i.local);
        self.bound.iter().all(is_determined).then_some(all)
    }
}

/// The subscript of an axis in an update.
enum UpdatedAxis<'a> {
    Point(&'a Poly),
    Slice(&'a Index, Poly),
    WholeAxis(&'a Index),
}

/// Returns whether the polynomial reads data.
pub(super) fn reads_data(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

impl BodyWriter<'_> {
    /// Prints an array with some elements replaced.
    pub(super) fn print_update(&mut self, of: &ArrayUpdate) -> String {
        self.print_batch(&of.batch, &mut |this| {
            let guarded = this.can_guard_one_with(of);
            match of.axis_subscripts().filter(|_| guarded.is_none_or(|inside| inside)) {
                Some(slices) => this.print_with(of, &slices),
                None => this.print_update_fold(of),
            }
        })
    }

    /// Returns `None` if the update has no predicate. Otherwise returns whether one `with` can
    /// express it: all places are in bounds, or the predicate does not depend on the bound indices.
    fn can_guard_one_with(&self, of: &ArrayUpdate) -> Option<bool> {
        if of.pred.is_true() {
            return None;
        }
        let free = !of.bound.iter().any(|i| of.pred.mentions(&i.atom()));
        let mut context = self.context.clone();
        of.bound.iter().for_each(|i| context.assume_in_range(i));
        let inside = of.location.iter().zip(&of.axes).all(|(p, i)| context.implies(&Pred::in_range(p, &i.extent)));
        Some(inside || free)
    }

    fn print_with(&mut self, of: &ArrayUpdate, slices: &[UpdatedAxis<'_>]) -> String {
        let mut places = Vec::new();
        let mut along = Vec::new();
        for slice in slices {
            places.push(match slice {
                UpdatedAxis::Point(p) => self.print_polynomial(p).0,
                UpdatedAxis::Slice(i, from) => {
                    along.push((*i).clone());
                    format!("{}..{}", self.print_polynomial(from).0, self.print_polynomial(&from.add(&i.extent)).0)
                }
                UpdatedAxis::WholeAxis(i) => {
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
                p.substitute(&|a| of.axes.iter().position(|i| i.atom() == *a).and_then(|k| of.location.get(k).cloned()))
            };
            of.base.map_polys(&put)
        };
        let value = match (first, of.is_addition) {
            (true, _) => of.value.clone(),
            (false, true) => SourceExpr::guard(of.pred.clone(), of.value.clone()),
            (false, false) => SourceExpr::choice(of.pred.clone(), of.value.clone(), before()),
        };
        let value = if along.is_empty() {
            self.print_assigned_value(&value)
        } else {
            self.print_array(&along, &value, "-", false)
        };
        let base = self.print_updated_array(of);
        let text = format!("{base} with [{}] {} {value}", places.join(", "), if of.is_addition { "+=" } else { "=" });
        if !first || of.pred.is_true() {
            return text;
        }
        format!("if {} then {text} else {base}", self.print_predicate(&of.pred).0)
    }

    /// Prints the array before the update, such that `with` may follow.
    fn print_updated_array(&mut self, of: &ArrayUpdate) -> String {
        let text = self.print_array(&of.axes, &of.base, "-", false);
        let plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '\''));
        if plain { text } else { parenthesise_below((text, BindingStrength::Greedy), BindingStrength::Postfix) }
    }

    /// Prints a sorting permutation.
    pub(super) fn print_argsort(&mut self, of: &SortedAxis) -> String {
        self.use_word("argsort");
        self.print_batch(&of.batch, &mut |this| {
            let text = format!("argsort({})", this.print_array(std::slice::from_ref(&of.axis), &of.key, "-", true));
            if of.pred.is_true() { text } else { format!("[{}] * {text}", this.print_predicate(&of.pred).0) }
        })
    }

    /// Prints an assigned value. It may extend as far as a sum; weaker operators get parentheses.
    pub(super) fn print_assigned_value(&mut self, e: &SourceExpr) -> String {
        match self.print_expression(e) {
            (
                text,
                level @ (BindingStrength::Or | BindingStrength::And | BindingStrength::Not | BindingStrength::Compare),
            ) => parenthesise_below((text, level), BindingStrength::Sum),
            (text, _) => text,
        }
    }

    /// Prints the update as a `fold` over the bound indices.
    fn print_update_fold(&mut self, of: &ArrayUpdate) -> String {
        let base = self.print_array(&of.axes, &of.base, "-", false);
        let name = self.used_names.fresh("r");
        let (head, body) = self.print_binder("for", &of.bound, &mut |this| {
            let places: Vec<String> = of.location.iter().map(|p| this.print_polynomial(p).0).collect();
            let value = this.print_assigned_value(&of.value);
            let text =
                format!("{name} with [{}] {} {value}", places.join(", "), if of.is_addition { "+=" } else { "=" });
            if of.pred.is_true() {
                text
            } else {
                format!("if {} then {text} else {name}", this.print_predicate(&of.pred).0)
            }
        });
        self.used_names.mark_unused(&name);
        format!("fold {name} = {base} {head}: {body}")
    }
}

//! **Arrays to text.** Prints an array by its element: a whole array by its name, an elementwise
//! expression with whole arrays, anything else with `for`. Also finds the names of indices from
//! hints.

use std::collections::HashSet;

use super::Which;
use super::constructors::Found;
use super::shape::{axes, part};
use super::table::Table;
use super::tree::Ex;
use super::update::is_data;
use super::writer::{Named, Parts, Writer};
use lang_base::{Name, pause};
use lang_ir::core::{CoreType, Labels, Operation};
use lang_ir::ssa::Var;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

impl Writer<'_> {
    /// Prints a value of a type from its leaves, at the indices `at` in scope. `expected`: the
    /// context determines the extents, so that a `for` may omit them.
    pub(super) fn value(
        &mut self,
        ty: &CoreType,
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &Parts,
        name: &str,
        expected: bool,
    ) -> String {
        let (dims, inner) = ty.peel();
        let below: Vec<(Vec<u32>, Vec<Index>, Ex)> =
            parts.iter().filter(|(p, ..)| p.starts_with(path)).cloned().collect();
        let mut own = Vec::new();
        for k in 0..dims.len() {
            let extent = below.first().and_then(|(_, i, _)| i.get(at.len() + k)).map(|i| i.extent.clone());
            own.push(self.table.index(extent.unwrap_or_default()));
        }
        let put = |i: &[Index], all: &[Index], e: &Ex| {
            e.map_polys(&|p| {
                p.substitute(&|a| i.iter().position(|i| i.atom() == *a).and_then(|k| all.get(k)).map(Index::value))
            })
        };
        if let CoreType::Scalar(_) | CoreType::Rel(_) = inner {
            let all: Vec<Index> = at.iter().chain(&own).cloned().collect();
            let e = match below.first() {
                Some((_, i, e)) => put(i, &all, e),
                None => Ex::real(0.0),
            };
            return self.array(&own, &e, name, expected);
        }
        let CoreType::Tuple(items, names) = inner else { return String::new() };
        let before = at.len();
        at.extend(own.iter().cloned());
        let text = self.generated(&own, &Ex::real(0.0), name, expected, &below, &mut |this| {
            if let Labels::Sum(sum) = names {
                return this.made(sum, items, path, at, parts, name, expected);
            }
            let mut texts = Vec::new();
            for (k, item) in (0..).zip(items.iter()) {
                path.push(k);
                texts.push(this.value(item, path, at, parts, name, expected));
                path.pop();
            }
            match names {
                Labels::Fields(names) => {
                    let fields = names.iter().zip(&texts).map(|(n, t)| format!("{n}: {t}"));
                    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                }
                _ if texts.len() == 1 => format!("({},)", texts.join("")),
                _ => format!("({})", texts.join(", ")),
            }
        });
        at.truncate(before);
        text
    }

    /// Prints `for i, j: …` around the text that `inside` prints. `e` or `below` are its elements,
    /// which determine the names of the indices and whether extents may be omitted.
    pub(super) fn generated(
        &mut self,
        own: &[Index],
        e: &Ex,
        name: &str,
        expected: bool,
        below: &Parts,
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> String {
        if own.is_empty() {
            return inside(self);
        }
        let depth = self.scope.len();
        let mark = self.context.mark();
        let mut heads = Vec::new();
        for (k, i) in own.iter().enumerate() {
            let mut alone = self.alone(e, i);
            for (_, indices, e) in below {
                // Each element has indices of its own.
                if let Some(own) = indices.get(k) {
                    alone.extend(self.alone(e, own));
                }
            }
            let hint = self.hint(name, k).or_else(|| alone.iter().find_map(|(n, axis, _)| self.hint(n, *axis)));
            let text = self.taken.index(hint.as_ref());
            let agree = alone.iter().all(|(.., n)| *n == i.extent);
            let bare = agree && (expected || !alone.is_empty());
            // A data-dependent extent may be negative, but the extent of an array may not.
            let open = is_data(&i.extent) && !self.context.implies(&Pred::nonneg(&i.extent));
            let extent = if open { i.extent.greatest(&Poly::default()) } else { i.extent.clone() };
            heads.push(if bare { text.to_string() } else { format!("{text} < {}", self.poly(&extent).0) });
            self.note(name, k, &text);
            self.scope.push((i.local, text));
            self.context.enter(i);
        }
        let inner = inside(self);
        self.context.release(mark);
        self.leave(depth);
        format!("for {}: {inner}", heads.join(", "))
    }

    pub(super) fn leave(&mut self, depth: usize) {
        for (_, name) in self.scope.drain(depth..) {
            self.taken.release(&name);
        }
    }

    /// Prints an array by its element.
    pub(super) fn array(&mut self, own: &[Index], e: &Ex, name: &str, expected: bool) -> String {
        if own.is_empty() {
            return self.whole_text(e);
        }
        if self.lifted.is_empty()
            && let Some(text) = self.scatter(own, e)
        {
            return text;
        }
        if self.lifted.is_empty() && self.lifts(e, own) && self.has_array(e, own) {
            self.lifted = own.to_vec();
            let text = self.ex(e).0;
            self.lifted.clear();
            return text;
        }
        self.generated(own, e, name, expected, &Vec::new(), &mut |this| this.whole_text(e))
    }

    // ---- whole arrays ----

    /// Returns whether the element can be printed with whole arrays.
    fn lifts(&self, e: &Ex, own: &[Index]) -> bool {
        if !own.iter().any(|i| e.mentions(&i.atom())) {
            // The expression is evaluated even if the array is empty, so all its reads must be in
            // bounds.
            return self.table.in_bounds(e, &mut self.context.clone());
        }
        match e {
            Ex::Read(..) => self.whole(e, own).is_some(),
            Ex::Sum(terms) => terms.iter().all(|(_, e)| self.lifts(e, own)),
            Ex::Product(p) => p.over.iter().chain(&p.under).all(|e| self.lifts(e, own)),
            Ex::Power(e, _) => self.lifts(e, own),
            Ex::Apply(Operation::Scalar(_), args) => args.iter().all(|e| self.lifts(e, own)),
            _ => false,
        }
    }

    fn has_array(&self, e: &Ex, own: &[Index]) -> bool {
        let mut found = false;
        e.visit(&mut |e| found |= self.whole(e, own).is_some());
        found
    }

    /// If the expression is an element at `own` of a whole named array, returns the indices before
    /// those.
    pub(super) fn whole(&self, e: &Ex, own: &[Index]) -> Option<Vec<Poly>> {
        let Ex::Read(v, at) = e else { return None };
        let first = at.len().checked_sub(own.len())?;
        let (before, last) = at.split_at_checked(first)?;
        let named = self.named.get(v)?;
        let (base, path) = match named {
            Named::Part(base, path) | Named::Let(base, path) => (base, path),
        };
        let Found::Part(base, path, _) = self.find(base, path, before) else { return None };
        let (_, together) = axes(&base, &path);
        let extents = self.lines.get(v.0 as usize)?.extents();
        let same = last.iter().zip(own).all(|(p, i)| *p == i.value())
            && extents.iter().skip(first).zip(own).all(|(n, i)| *n == i.extent);
        let free = !before.iter().any(|p| own.iter().any(|i| p.mentions(&i.atom())));
        (together && same && free).then(|| before.to_vec())
    }

    // ---- names of indices ----

    /// Returns the arrays that the index subscripts alone: the array's name, the axis, and its
    /// extent.
    pub(super) fn alone(&self, e: &Ex, i: &Index) -> Vec<(Name, usize, Poly)> {
        let mut found = Vec::new();
        self.alone_in(e, i, &mut HashSet::new(), &mut found);
        found
    }

    /// Collects the results of [`Self::alone`]. Each element counts once, because inlined lines
    /// share their reads.
    fn alone_in(&self, e: &Ex, i: &Index, seen: &mut HashSet<(Var, Vec<Poly>)>, found: &mut Vec<(Name, usize, Poly)>) {
        for (v, at) in direct_reads(e) {
            pause();
            if !seen.insert((v, at.clone())) {
                continue;
            }
            let (Some(line), name) = (self.lines.get(v.0 as usize), self.array_name(v)) else { continue };
            let Some(name) = name else {
                // The line is inlined, so its reads count.
                let mut table = Table::default();
                if let Some(inner) = line.at(&at, &mut table) {
                    self.alone_in(&inner, i, seen, found);
                }
                continue;
            };
            for (axis, (p, n)) in at.iter().zip(line.extents()).enumerate() {
                if *p == i.value() {
                    found.push((name.clone(), axis, n));
                }
            }
        }
    }

    /// Returns the text of a whole named array.
    pub(super) fn whole_name(&mut self, v: Var) -> Option<String> {
        let (Named::Part(base, path) | Named::Let(base, path)) = self.named.get(&v)?;
        let Found::Part(base, path, _) = self.find(base, path, &[]) else { return None };
        axes(&base, &path).1.then(|| part(&base, &path, &[]))
    }

    /// Returns whether it has a name, and one axis of this extent.
    pub(super) fn has_extent(&self, v: Var, extent: &Poly) -> bool {
        self.named.contains_key(&v)
            && self.lines.get(v.0 as usize).is_some_and(|l| l.extents().as_slice() == std::slice::from_ref(extent))
    }

    fn array_name(&self, v: Var) -> Option<Name> {
        match self.named.get(&v)? {
            Named::Part(base, _) | Named::Let(base, _) => Some(base.name.clone()),
        }
    }

    /// Returns the program's name for an axis of an array, or for the same axis of its primal.
    pub(super) fn hint(&self, array: &str, axis: usize) -> Option<Name> {
        let own = |name: &str| self.hints.get(name, axis).cloned();
        let of = |suffix: &str| array.strip_suffix(suffix);
        own(array).or_else(|| own(of("_adj").or_else(|| of("_tan"))?)).or_else(|| {
            let result = self.asked.which == Which::Adjoint && matches!(array, "y_adj" | "out_adj" | "result_adj");
            if result { own("") } else { None }
        })
    }

    fn note(&mut self, array: &str, axis: usize, name: &Name) {
        self.hints.note(array, axis, name);
    }
}

/// Collects the elements of boolean arrays that a predicate reads.
fn asked(p: &Pred, reads: &mut Vec<(Var, Vec<Poly>)>) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| asked(p, reads)),
        Pred::Is(x, _, at, _) => reads.extend(Var::of_local(*x).map(|v| (v, at.to_vec()))),
        Pred::Any(_, p, _) => asked(p, reads),
        _ => {}
    }
}

/// Returns the elements that an expression reads, also in indices and predicates.
pub(super) fn direct_reads(e: &Ex) -> Vec<(Var, Vec<Poly>)> {
    let mut found = Vec::new();
    e.visit(&mut |e| {
        if let Ex::Read(v, at) = e {
            found.push((*v, at.clone()));
        }
    });
    e.for_each_poly(&mut |p| {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(v) = Var::of_local(*x)
            {
                found.push((v, at.to_vec()));
            }
        });
    });
    e.for_each_pred(&mut |p| asked(p, &mut found));
    found
}

//! **Arrays to text.** Prints an array by its element: a whole array by its name, an elementwise
//! expression with whole arrays, anything else with `for`. Also finds the names of indices from
//! hints.

use std::collections::HashSet;

use super::DerivativeMode;
use super::constructors::PartLocation;
use super::derivative_signature::{part_extents, print_part};
use super::expression_tree::SourceExpr;
use super::print_updates::reads_data;
use super::table::StatementFacts;
use super::writer::{BodyWriter, ReadSource, ValueLeaves};
use lang_base::{Name, check_cancelled};
use lang_ir::core::{CoreType, ScalarOp, TupleLabels};
use lang_ir::ssa::StmtId;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

impl BodyWriter<'_> {
    /// Prints a value of a type from its leaves, at the indices `at` in scope. `expected`: the
    /// context determines the extents, so that a `for` may omit them.
    pub(super) fn print_value(
        &mut self,
        ty: &CoreType,
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
        parts: &ValueLeaves,
        name: &str,
        expected: bool,
    ) -> String {
        let (dims, inner) = ty.split_array();
        let below: Vec<(Vec<u32>, Vec<Index>, SourceExpr)> =
            parts.iter().filter(|(p, ..)| p.starts_with(path)).cloned().collect();
        let mut own = Vec::new();
        for k in 0..dims.len() {
            let extent = below.first().and_then(|(_, i, _)| i.get(at.len() + k)).map(|i| i.extent.clone());
            own.push(self.facts.fresh_index(extent.unwrap_or_default()));
        }
        let put = |i: &[Index], all: &[Index], e: &SourceExpr| {
            e.map_polys(&|p| {
                p.substitute(&|a| i.iter().position(|i| i.atom() == *a).and_then(|k| all.get(k)).map(Index::value))
            })
        };
        if let CoreType::Scalar(_) | CoreType::Rel(_) = inner {
            let all: Vec<Index> = at.iter().chain(&own).cloned().collect();
            let e = match below.first() {
                Some((_, i, e)) => put(i, &all, e),
                None => SourceExpr::real(0.0),
            };
            return self.print_array(&own, &e, name, expected);
        }
        let CoreType::Tuple(items, names) = inner else { return String::new() };
        let before = at.len();
        at.extend(own.iter().cloned());
        let text = self.print_generation(&own, &SourceExpr::real(0.0), name, expected, &below, &mut |this| {
            if let TupleLabels::Sum(sum) = names {
                return this.print_sum_value(sum, items, path, at, parts, name, expected);
            }
            let mut texts = Vec::new();
            for (k, item) in (0..).zip(items.iter()) {
                path.push(k);
                texts.push(this.print_value(item, path, at, parts, name, expected));
                path.pop();
            }
            match names {
                TupleLabels::Fields(names) => {
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
    pub(super) fn print_generation(
        &mut self,
        own: &[Index],
        e: &SourceExpr,
        name: &str,
        expected: bool,
        below: &ValueLeaves,
        inside: &mut dyn FnMut(&mut Self) -> String,
    ) -> String {
        if own.is_empty() {
            return inside(self);
        }
        let depth = self.scope.len();
        let mark = self.context.mark();
        let mut heads = Vec::new();
        for (k, i) in own.iter().enumerate() {
            let mut alone = self.sole_subscript_axes(e, i);
            for (_, indices, e) in below {
                // Each element has indices of its own.
                if let Some(own) = indices.get(k) {
                    alone.extend(self.sole_subscript_axes(e, own));
                }
            }
            let hint = self
                .axis_name_hint(name, k)
                .or_else(|| alone.iter().find_map(|(n, axis, _)| self.axis_name_hint(n, *axis)));
            let text = self.used_names.fresh_index(hint.as_ref());
            let agree = alone.iter().all(|(.., n)| *n == i.extent);
            let bare = agree && (expected || !alone.is_empty());
            // A data-dependent extent may be negative, but the extent of an array may not.
            let open = reads_data(&i.extent) && !self.context.implies(&Pred::nonneg(&i.extent));
            let extent = if open { i.extent.maximum(&Poly::default()) } else { i.extent.clone() };
            heads.push(if bare { text.to_string() } else { format!("{text} < {}", self.print_polynomial(&extent).0) });
            self.record_axis_name(name, k, &text);
            self.scope.push((i.local, text));
            self.context.assume_in_range(i);
        }
        let inner = inside(self);
        self.context.release(mark);
        self.leave_scope(depth);
        format!("for {}: {inner}", heads.join(", "))
    }

    pub(super) fn leave_scope(&mut self, depth: usize) {
        for (_, name) in self.scope.drain(depth..) {
            self.used_names.mark_unused(&name);
        }
    }

    /// Prints an array by its element.
    pub(super) fn print_array(&mut self, own: &[Index], e: &SourceExpr, name: &str, expected: bool) -> String {
        if own.is_empty() {
            return self.print_with_matches(e);
        }
        if self.elementwise_indices.is_empty()
            && let Some(text) = self.print_scatter(own, e)
        {
            return text;
        }
        if self.elementwise_indices.is_empty() && self.is_elementwise(e, own) && self.reads_whole_array(e, own) {
            self.elementwise_indices = own.to_vec();
            let text = self.print_expression(e).0;
            self.elementwise_indices.clear();
            return text;
        }
        self.print_generation(own, e, name, expected, &Vec::new(), &mut |this| this.print_with_matches(e))
    }

    // ---- whole arrays ----

    /// Returns whether the element can be printed with whole arrays.
    fn is_elementwise(&self, e: &SourceExpr, own: &[Index]) -> bool {
        if !own.iter().any(|i| e.mentions(&i.atom())) {
            // The expression is evaluated even if the array is empty, so all its reads must be in
            // bounds.
            return self.facts.in_bounds(e, &mut self.context.clone());
        }
        match e {
            SourceExpr::Read(..) => self.whole_array_indices(e, own).is_some(),
            SourceExpr::Sum(terms) => terms.iter().all(|(_, e)| self.is_elementwise(e, own)),
            SourceExpr::Product(p) => p.factors.iter().chain(&p.divisors).all(|e| self.is_elementwise(e, own)),
            SourceExpr::Power(e, _) => self.is_elementwise(e, own),
            SourceExpr::Apply(ScalarOp::Scalar(_), args) => args.iter().all(|e| self.is_elementwise(e, own)),
            _ => false,
        }
    }

    fn reads_whole_array(&self, e: &SourceExpr, own: &[Index]) -> bool {
        let mut found = false;
        e.visit(&mut |e| found |= self.whole_array_indices(e, own).is_some());
        found
    }

    /// If the expression is an element at `own` of a whole named array, returns the indices before
    /// those.
    pub(super) fn whole_array_indices(&self, e: &SourceExpr, own: &[Index]) -> Option<Vec<Poly>> {
        let SourceExpr::Read(v, at) = e else { return None };
        let first = at.len().checked_sub(own.len())?;
        let (before, last) = at.split_at_checked(first)?;
        let named = self.read_sources.get(v)?;
        let (base, path) = match named {
            ReadSource::Part(base, path) | ReadSource::Let(base, path) => (base, path),
        };
        let PartLocation::Part(base, path, _) = self.locate_part(base, path, before) else { return None };
        let (_, together) = part_extents(&base, &path);
        let extents = self.lines.get(v.0 as usize)?.extents();
        let same = last.iter().zip(own).all(|(p, i)| *p == i.value())
            && extents.iter().skip(first).zip(own).all(|(n, i)| *n == i.extent);
        let free = !before.iter().any(|p| own.iter().any(|i| p.mentions(&i.atom())));
        (together && same && free).then(|| before.to_vec())
    }

    // ---- names of indices ----

    /// Returns the arrays that the index subscripts alone: the array's name, the axis, and its
    /// extent.
    pub(super) fn sole_subscript_axes(&self, e: &SourceExpr, i: &Index) -> Vec<(Name, usize, Poly)> {
        let mut found = Vec::new();
        self.collect_sole_subscripts(e, i, &mut HashSet::new(), &mut found);
        found
    }

    /// Collects the results of [`Self::sole_subscript_axes`]. Each element counts once, because
    /// inlined lines share their reads.
    fn collect_sole_subscripts(
        &self,
        e: &SourceExpr,
        i: &Index,
        seen: &mut HashSet<(StmtId, Vec<Poly>)>,
        found: &mut Vec<(Name, usize, Poly)>,
    ) {
        for (v, at) in direct_reads(e) {
            check_cancelled();
            if !seen.insert((v, at.clone())) {
                continue;
            }
            let (Some(line), name) = (self.lines.get(v.0 as usize), self.array_name(v)) else { continue };
            let Some(name) = name else {
                // The line is inlined, so its reads count.
                let mut table = StatementFacts::default();
                if let Some(inner) = line.element_at(&at, &mut table) {
                    self.collect_sole_subscripts(&inner, i, seen, found);
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
    pub(super) fn whole_array_text(&mut self, v: StmtId) -> Option<String> {
        let (ReadSource::Part(base, path) | ReadSource::Let(base, path)) = self.read_sources.get(&v)?;
        let PartLocation::Part(base, path, _) = self.locate_part(base, path, &[]) else { return None };
        part_extents(&base, &path).1.then(|| print_part(&base, &path, &[]))
    }

    /// Returns whether it has a name, and one axis of this extent.
    pub(super) fn has_extent(&self, v: StmtId, extent: &Poly) -> bool {
        self.read_sources.contains_key(&v)
            && self.lines.get(v.0 as usize).is_some_and(|l| l.extents().as_slice() == std::slice::from_ref(extent))
    }

    fn array_name(&self, v: StmtId) -> Option<Name> {
        match self.read_sources.get(&v)? {
            ReadSource::Part(base, _) | ReadSource::Let(base, _) => Some(base.name.clone()),
        }
    }

    /// Returns the program's name for an axis of an array, or for the same axis of its primal.
    pub(super) fn axis_name_hint(&self, array: &str, axis: usize) -> Option<Name> {
        let own = |name: &str| self.axis_names.get(name, axis).cloned();
        let of = |suffix: &str| array.strip_suffix(suffix);
        own(array).or_else(|| own(of("_adj").or_else(|| of("_tan"))?)).or_else(|| {
            let result =
                self.request.mode == DerivativeMode::Adjoint && matches!(array, "y_adj" | "out_adj" | "result_adj");
            if result { own("") } else { None }
        })
    }

    fn record_axis_name(&mut self, array: &str, axis: usize, name: &Name) {
        self.axis_names.record(array, axis, name);
    }
}

/// Collects the elements of boolean arrays that a predicate reads.
fn collect_boolean_reads(p: &Pred, reads: &mut Vec<(StmtId, Vec<Poly>)>) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| collect_boolean_reads(p, reads)),
        Pred::Element(x, _, at, _) => reads.extend(StmtId::from_local(*x).map(|v| (v, at.to_vec()))),
        Pred::Exists(_, p, _) => collect_boolean_reads(p, reads),
        _ => {}
    }
}

/// Returns the elements that an expression reads, also in indices and predicates.
pub(super) fn direct_reads(e: &SourceExpr) -> Vec<(StmtId, Vec<Poly>)> {
    let mut found = Vec::new();
    e.visit(&mut |e| {
        if let SourceExpr::Read(v, at) = e {
            found.push((*v, at.clone()));
        }
    });
    e.for_each_poly(&mut |p| {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(v) = StmtId::from_local(*x)
            {
                found.push((v, at.to_vec()));
            }
        });
    });
    e.for_each_pred(&mut |p| collect_boolean_reads(p, &mut found));
    found
}

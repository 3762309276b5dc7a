//! **Cross-line simplification** of a derivative as source: further rules of [`super::merge`] that
//! shorten its text. A line is a statement of the derivative. These rules compare it with its
//! readers or with other lines.
//!
//! A constant by which all readers multiply moves into the line. A bracket that holds at every read
//! is dropped. Multiples of an array are substituted into sums, and equal calls become one. Sums of
//! deviations from the mean disappear.

use std::mem::discriminant;

use super::expression_tree::SourceExpr;
use super::merge::{LineMerger, simplify_to_fixpoint, substitute_lines};
use super::read_ssa::{LineCall, LineKind, StatementLine};
use super::rules::{with_assumption, with_index_ranges};
use super::table::StatementFacts;
use lang_ir::core::ScalarOp;
use lang_ir::ssa::{StmtId, for_each_pred_read};
use lang_sizes::predicate::{FactContext, Index, Poly, Pred};

impl LineMerger<'_> {
    /// Moves a constant into a line if every reader multiplies the line by it and the text does not
    /// grow.
    pub(super) fn absorb_common_constants(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live_lines() {
            let Some(line) = self.line(u) else { continue };
            let (Some(e), Some(count)) = (line.element(), uses.get(&u)) else { continue };
            if count.index_reads > 0 || count.is_root || line.name.as_ref().is_some_and(|n| (self.is_program_name)(n)) {
                continue;
            }
            let mut factors = Vec::new();
            for v in self.live_lines() {
                let Some(LineKind::Element(e)) = self.line(v).map(|l| &l.kind) else { continue };
                e.visit(&mut |e| {
                    if let SourceExpr::Product(p) = e
                        && p.factors.iter().any(|f| matches!(f, SourceExpr::Read(w, _) if *w == u))
                    {
                        factors.push(p.numerator / p.denominator);
                    }
                });
            }
            let Some(by) = factors.first().copied() else { continue };
            let alike = factors.len() == count.element_reads && factors.iter().all(|f| *f == by);
            if !alike || by == 1.0 || by == 0.0 {
                continue;
            }
            let scaled = SourceExpr::product(by, vec![e.clone()], Vec::new());
            let smaller = text_weight(&scaled) < text_weight(e);
            if text_weight(&scaled) > text_weight(e) || by < 0.0 && !smaller && !loses_minus_sign(e, &scaled) {
                continue;
            }
            if let Some(slot) = self.lines.get_mut(u.0 as usize) {
                slot.kind = LineKind::Element(scaled);
            }
            for v in self.live_lines() {
                let Some(LineKind::Element(e)) = self.line(v).map(|l| l.kind.clone()) else { continue };
                let e = drop_read_scale(&e, u);
                if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                    slot.kind = LineKind::Element(e);
                }
            }
            return true;
        }
        false
    }

    /// Drops the bracket of a line if it holds at every read, and if the guarded expression is in
    /// bounds without it.
    pub(super) fn drop_implied_guards(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live_lines() {
            let Some(line) = self.line(u).cloned() else { continue };
            if uses.get(&u).is_none_or(|uses| uses.is_root) {
                continue;
            }
            let own = |p: &Pred| line.indices.iter().any(|i| p.mentions(&i.atom()));
            match &line.kind {
                // A data-dependent bracket stays, because it saves work.
                LineKind::Element(SourceExpr::Guard(p, e)) if !own(p) && (!p.depends_on_data() || e.is_free()) => {
                    let (mut context, table) = (self.context.clone(), &*self.facts);
                    let there = with_index_ranges(&line.indices, &mut context, |context| table.in_bounds(e, context));
                    if there && self.holds_at_reads(u, p) {
                        self.set_kind(u, LineKind::Element(e.as_ref().clone()));
                        return true;
                    }
                }
                LineKind::Call(call, _) if !call.pred.is_true() && !own(&call.pred) && !call.pred.depends_on_data() => {
                    let parts: Vec<StmtId> =
                        self.live_lines().into_iter().filter(|v| self.is_result_of(*v, call)).collect();
                    let read = parts
                        .iter()
                        .all(|v| uses.get(v).is_none_or(|uses| !uses.is_root) && self.holds_at_reads(*v, &call.pred));
                    if read && self.cannot_fail(call) {
                        let call = LineCall { pred: Pred::truth(), ..call.clone() };
                        for v in parts {
                            if let Some(LineKind::Call(_, part)) = self.line(v).map(|l| l.kind.clone()) {
                                self.set_kind(v, LineKind::Call(call.clone(), part));
                            }
                        }
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn set_kind(&mut self, v: StmtId, is: LineKind) {
        if let Some(slot) = self.lines.get_mut(v.0 as usize) {
            slot.kind = is;
        }
    }

    fn is_result_of(&self, v: StmtId, of: &LineCall) -> bool {
        matches!(self.line(v).map(|l| &l.kind), Some(LineKind::Call(call, _)) if call == of)
    }

    /// Returns whether the call cannot fail, for any sizes.
    fn cannot_fail(&self, call: &LineCall) -> bool {
        let (mut context, table) = (self.context.clone(), &*self.facts);
        let args = call.args.iter().all(|(own, e)| {
            let all: Vec<Index> = call.batch.iter().chain(own).cloned().collect();
            with_index_ranges(&all, &mut context, |context| table.in_bounds(e, context))
        });
        args && (self.never_fails)(&call.callee)
    }

    /// Replaces a guarded expression by a read of an earlier line that computes the same without a
    /// guard.
    pub(super) fn reuse_unguarded_lines(&mut self) -> bool {
        let live = self.live_lines();
        for u in &live {
            let Some(StatementLine { indices, kind: LineKind::Element(SourceExpr::Guard(_, e)), .. }) =
                self.line(*u).cloned()
            else {
                continue;
            };
            if e.is_free() {
                continue;
            }
            let key = |own: &[Index], e: &SourceExpr| {
                let put = |p: &Poly| {
                    p.substitute(&|a| {
                        let k = own.iter().position(|i| i.atom() == *a)?;
                        indices.get(k).map(Index::value)
                    })
                };
                e.map_polys(&put).alpha_normal_form()
            };
            let wanted = e.alpha_normal_form();
            let within = self.line(*u).and_then(|l| l.enclosing_loop);
            let before = live.iter().take_while(|v| *v != u).find(|v| {
                self.line(**v).filter(|l| l.enclosing_loop == within).is_some_and(|l| {
                    let same = l.indices.iter().map(|i| &i.extent).eq(indices.iter().map(|i| &i.extent));
                    let alike =
                        |other: &SourceExpr| discriminant(other) == discriminant(&e) && other.size() == e.size();
                    same && l.element().is_some_and(|e| alike(e) && key(&l.indices, e) == wanted)
                })
            });
            if let Some(v) = before.copied()
                && let Some(LineKind::Element(SourceExpr::Guard(_, e))) =
                    self.lines.get_mut(u.0 as usize).map(|l| &mut l.kind)
            {
                **e = SourceExpr::Read(v, indices.iter().map(Index::value).collect());
                return true;
            }
        }
        false
    }

    /// Simplifies a line under the assumption that its ranges are not empty, if that holds at every
    /// read.
    pub(super) fn assume_nonempty_ranges(&mut self) -> bool {
        let uses = self.uses();
        for u in self.live_lines() {
            let Some(StatementLine { kind: LineKind::Element(e), .. }) = self.line(u).cloned() else { continue };
            if uses.get(&u).is_none_or(|uses| uses.is_root || uses.index_reads > 0) {
                continue;
            }
            let mut extents = Vec::new();
            e.visit(&mut |e| {
                if let SourceExpr::IndexedSum(i, ..) = e {
                    extents.extend(i.iter().map(|i| i.extent.clone()));
                }
            });
            extents.retain(|n| self.holds_at_reads(u, &Pred::less(&Poly::default(), n)));
            if extents.is_empty() {
                continue;
            }
            self.facts.positive_extents = extents;
            let changed = self.substitute_in_line(u, &|_| None);
            self.facts.positive_extents.clear();
            if changed {
                return true;
            }
        }
        false
    }

    /// Returns whether a predicate holds at every read of a line, in elements, indices and
    /// predicates.
    fn holds_at_reads(&self, u: StmtId, p: &Pred) -> bool {
        let mut all = true;
        for v in self.live_lines() {
            match self.line(v) {
                Some(StatementLine { indices, kind: LineKind::Element(reader), .. }) => {
                    let mut context = self.context.clone();
                    with_index_ranges(indices, &mut context, |context| {
                        holds_where_read(reader, u, p, context, &mut all)
                    });
                }
                _ => self.for_each_use(v, &mut |w, _| all &= w != u),
            }
        }
        all
    }

    /// Substitutes a multiple of an array into the sums that read it, if that makes the reader
    /// smaller.
    pub(super) fn inline_scaled_arrays(&mut self) -> bool {
        for u in self.live_lines() {
            let Some(line) = self.line(u).cloned() else { continue };
            let Some(SourceExpr::Product(p)) = line.element() else { continue };
            let free = |e: &SourceExpr| !line.indices.iter().any(|i| e.mentions(&i.atom()));
            let own = p.factors.iter().filter(|e| !free(e)).collect::<Vec<_>>();
            if !matches!(own.as_slice(), [SourceExpr::Read(..)])
                || !p.divisors.iter().all(free)
                || line.indices.is_empty()
            {
                continue;
            }
            for v in self.live_lines() {
                let Some(StatementLine { indices, kind: LineKind::Element(reader), enclosing_loop: within, .. }) =
                    self.line(v).cloned()
                else {
                    continue;
                };
                if within != line.enclosing_loop {
                    continue;
                }
                let (context, fresh) = (&mut self.context, &mut *self.facts);
                let put = substitute_in_sums(&reader, u, &line, fresh);
                if put == reader {
                    continue;
                }
                let put = with_index_ranges(&indices, context, |context| simplify_to_fixpoint(put, context, fresh));
                if put.size() < reader.size() {
                    if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                        slot.kind = LineKind::Element(put);
                    }
                    return true;
                }
            }
        }
        false
    }

    /// Removes sums of deviations from the mean, because they are zero.
    pub(super) fn remove_centred_sums(&mut self) -> bool {
        for v in self.live_lines() {
            let Some(StatementLine { indices, kind: LineKind::Element(e), .. }) = self.line(v).cloned() else {
                continue;
            };
            let put = self.drop_centred_sums(&e);
            if put == e {
                continue;
            }
            let (context, fresh) = (&mut self.context, &mut *self.facts);
            let put = with_index_ranges(&indices, context, |context| simplify_to_fixpoint(put, context, fresh));
            if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                slot.kind = LineKind::Element(put);
            }
            return true;
        }
        false
    }

    fn drop_centred_sums(&self, e: &SourceExpr) -> SourceExpr {
        let gone = |e: &SourceExpr| match e {
            SourceExpr::IndexedSum(indices, p, body) => match indices.as_slice() {
                [i] => p.is_true() && self.is_deviation_from_mean(body, i),
                _ => false,
            },
            _ => false,
        };
        let product = if let SourceExpr::Product(p) = e { p.factors.iter().any(gone) } else { false };
        if product || gone(e) {
            return SourceExpr::real(0.0);
        }
        e.map_children_normalised(&mut |e| self.drop_centred_sums(e))
    }

    /// Returns whether the expression is, as a function of the index, the deviation of an array's
    /// element from the mean, times factors without the index.
    fn is_deviation_from_mean(&self, e: &SourceExpr, i: &Index) -> bool {
        match e {
            SourceExpr::Product(p) => {
                let own: Vec<&SourceExpr> = p.factors.iter().filter(|e| e.mentions(&i.atom())).collect();
                matches!(own.as_slice(), [one] if self.is_deviation_from_mean(one, i))
                    && !p.divisors.iter().any(|e| e.mentions(&i.atom()))
            }
            SourceExpr::Read(u, at) => {
                let mut table = StatementFacts::default();
                let line = self.line(*u);
                let direct = at.iter().filter(|p| p.mentions(&i.atom())).count() == 1;
                let inner = line
                    .filter(|l| direct && !matches!(l.kind, LineKind::Input))
                    .and_then(|l| l.element_at(at, &mut table));
                inner.is_some_and(|e| {
                    matches!(e, SourceExpr::Product(_) | SourceExpr::Sum(_)) && self.is_deviation_from_mean(&e, i)
                })
            }
            SourceExpr::Sum(terms) => match terms.as_slice() {
                [(a, x @ SourceExpr::Read(..)), (b, mean)] if a != b => self.is_mean(mean, x, i),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether it is the mean of `x` over `i`: `(sum j: x[j]) / f64(n)`. The terms of the
    /// sum must not mention `i`: the mean of a row is not that of the diagonal.
    fn is_mean(&self, e: &SourceExpr, x: &SourceExpr, i: &Index) -> bool {
        let mut table = StatementFacts::default();
        let e = match e {
            SourceExpr::Read(u, at) => {
                self.line(*u).and_then(|l| l.element_at(at, &mut table)).unwrap_or_else(|| e.clone())
            }
            other => other.clone(),
        };
        let SourceExpr::Product(p) = e else { return false };
        let ([SourceExpr::IndexedSum(indices, q, body)], [count]) = (p.factors.as_slice(), p.divisors.as_slice())
        else {
            return false;
        };
        let ([j], true, true) = (indices.as_slice(), q.is_true(), p.numerator == 1.0 && p.denominator == 1.0) else {
            return false;
        };
        let put = |p: &Poly| p.substitute(&|a| (*a == j.atom()).then(|| i.value()));
        let counted = |n: &Poly| matches!(count, SourceExpr::Apply(ScalarOp::Convert(_), args) if args == &[SourceExpr::Index(n.clone())]);
        j.extent == i.extent && counted(&i.extent) && !body.mentions(&i.atom()) && body.map_polys(&put) == *x
    }

    /// Makes the results of equal calls share one call.
    pub(super) fn merge_equal_calls(&mut self) -> bool {
        let mut first: Vec<(Option<u32>, LineCall)> = Vec::new();
        let mut changed = false;
        for v in self.live_lines() {
            let Some(StatementLine { kind: LineKind::Call(call, part), enclosing_loop: within, .. }) =
                self.line(v).cloned()
            else {
                continue;
            };
            match first.iter().find(|(of, c)| *of == within && are_equal_calls(c, &call)).map(|(_, c)| c) {
                Some(known) if *known != call => {
                    let known = known.clone();
                    if let Some(slot) = self.lines.get_mut(v.0 as usize) {
                        slot.indices = known
                            .batch
                            .iter()
                            .cloned()
                            .chain(slot.indices.iter().skip(known.batch.len()).cloned())
                            .collect();
                        slot.kind = LineKind::Call(known, part);
                        changed = true;
                    }
                }
                Some(_) => {}
                None => first.push((within, call)),
            }
        }
        changed
    }
}

/// Returns whether two calls are equal up to the numbers of indices.
fn are_equal_calls(a: &LineCall, b: &LineCall) -> bool {
    let extents = |c: &LineCall| c.batch.iter().map(|i| i.extent.clone()).collect::<Vec<Poly>>();
    if a.callee != b.callee || extents(a) != extents(b) || a.args.len() != b.args.len() {
        return false;
    }
    let put = |p: &Poly| {
        p.substitute(&|x| {
            let k = b.batch.iter().position(|i| i.atom() == *x)?;
            a.batch.get(k).map(Index::value)
        })
    };
    a.pred == b.pred.map(&put)
        && a.args.iter().zip(&b.args).all(|((own, x), (other, y))| {
            let own_too = |p: &Poly| {
                put(p).substitute(&|x| {
                    let k = other.iter().position(|i| i.atom() == *x)?;
                    own.get(k).map(Index::value)
                })
            };
            own.len() == other.len() && x.alpha_normal_form() == y.map_polys(&own_too).alpha_normal_form()
        })
}

/// Substitutes a line for the reads of it at indices of sums.
fn substitute_in_sums(e: &SourceExpr, u: StmtId, line: &StatementLine, table: &mut StatementFacts) -> SourceExpr {
    let SourceExpr::IndexedSum(indices, p, body) = e else {
        return e.map_children_normalised(&mut |e| substitute_in_sums(e, u, line, table));
    };
    let put = |v: StmtId| (v == u).then(|| line.clone());
    let moves = |at: &[Poly]| indices.iter().any(|i| at.iter().any(|p| p.mentions(&i.atom())));
    let mut here = false;
    body.visit(&mut |e| here |= matches!(e, SourceExpr::Read(v, at) if *v == u && moves(at)));
    let body = if here { substitute_lines(body, &put, table) } else { substitute_in_sums(body, u, line, table) };
    SourceExpr::total(indices.clone(), p.clone(), body)
}

/// Drops the constant beside reads of a line.
fn drop_read_scale(e: &SourceExpr, u: StmtId) -> SourceExpr {
    match e.map_children_normalised(&mut |e| drop_read_scale(e, u)) {
        SourceExpr::Product(p) if p.factors.iter().any(|f| matches!(f, SourceExpr::Read(w, _) if *w == u)) => {
            SourceExpr::product(1.0, p.factors, p.divisors)
        }
        other => other,
    }
}

/// Returns the amount of text: nodes and constants.
fn text_weight(e: &SourceExpr) -> usize {
    let mut numbers = 0;
    e.visit(&mut |e| {
        if let SourceExpr::Product(p) = e {
            numbers += usize::from(p.numerator.abs() != 1.0) + usize::from(p.denominator != 1.0);
        }
    });
    e.size() + numbers
}

/// Returns whether only the first of the two has a minus sign.
fn loses_minus_sign(before: &SourceExpr, after: &SourceExpr) -> bool {
    let signed = |e: &SourceExpr| matches!(e, SourceExpr::Product(p) if p.numerator < 0.0);
    signed(before) && !signed(after)
}

/// Clears `all` unless the predicate holds wherever `e` reads the line.
fn holds_where_read(e: &SourceExpr, u: StmtId, p: &Pred, context: &mut FactContext, all: &mut bool) {
    let holds = |q: &Pred, context: &mut FactContext, all: &mut bool| {
        if reads_line(q, u) {
            // Bounds are evaluated before elements.
            let first = Pred::all(q.conjuncts().iter().filter(|q| !q.depends_on_data()).cloned());
            *all &= with_assumption(&first, context, |context| context.implies(p));
        }
    };
    let mut at = |of: &Poly| {
        if reads_line(&Pred::nonneg(of), u) {
            *all &= context.implies(p);
        }
    };
    match e {
        SourceExpr::Read(_, places) => places.iter().for_each(&mut at),
        SourceExpr::Index(place) => at(place),
        SourceExpr::IndexedSum(i, ..) => i.iter().for_each(|i| at(&i.extent)),
        SourceExpr::Reduce(r) => r.indices.iter().map(|i| &i.extent).chain([&r.location]).for_each(&mut at),
        _ => {}
    }
    match e {
        SourceExpr::Read(v, _) if *v == u => *all &= context.implies(p),
        SourceExpr::Guard(q, inner) => {
            holds(q, context, all);
            with_assumption(q, context, |context| holds_where_read(inner, u, p, context, all));
        }
        SourceExpr::IndexedSum(i, q, inner) => with_index_ranges(i, context, |context| {
            holds(q, context, all);
            with_assumption(q, context, |context| holds_where_read(inner, u, p, context, all));
        }),
        SourceExpr::Reduce(r) => with_index_ranges(&r.indices, context, |context| {
            holds(&r.filter, context, all);
            with_assumption(&r.filter, context, |context| holds_where_read(&r.body, u, p, context, all));
        }),
        SourceExpr::Choice(q, a, b) => {
            holds(q, context, all);
            with_assumption(q, context, |context| holds_where_read(a, u, p, context, all));
            with_assumption(&q.negated(), context, |context| holds_where_read(b, u, p, context, all));
        }
        other => other.for_each_child(&mut |e| holds_where_read(e, u, p, context, all)),
    }
}

fn reads_line(p: &Pred, u: StmtId) -> bool {
    let mut found = false;
    for_each_pred_read(p, &mut |v| found |= v == u);
    found
}

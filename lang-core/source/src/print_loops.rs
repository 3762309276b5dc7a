//! **Loops to text.** Prints a loop of Tensor SSA as `for i < n: …`, as
//! `fold (s, t) = (0.0, 1.0) for i < n: … yield s`, or as `loop` or `scan` with `while`.
//! [`super::definition`] calls `print_loop_lets` with a loop that [`super::read_loops`] read. The
//! result is the `let`s that bind the loop's results; [`super::print_loop_results`] prints them.
//!
//! A result of each iteration is yielded if it depends only on values before the iteration.
//! Otherwise the iteration stores it in a carried array.

use super::NoTextReason;
use super::expression_tree::SourceExpr;
use super::merge::substitute_lines;
use super::read_loops::{CarriedLine, LoopRegion, LoopResultKind, LoopResultLine, lines_read_by_check};
use super::read_ssa::{LineKind, StatementLine, zero_of};
use super::rules::{with_assumption, with_index_ranges};
use super::writer::BodyWriter;
use lang_base::Name;
use lang_ir::ssa::{RuntimeCheck, StmtId};
use lang_sizes::predicate::{Atom, FactContext, Index, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A carried variable in the text: its name, its initial value and its next value.
struct CarriedVariable {
    name: Name,
    init: String,
    next: String,
    /// The line or loop result that it holds.
    content: CarriedContent,
}

/// The content of a carried variable.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CarriedContent {
    /// A carried line.
    Line(StmtId),
    /// The values of a loop result in all iterations.
    AllIterations(StmtId),
}

/// The carried variables with their names, and the results that the loop yields.
pub(super) type LoopBindings = (Vec<(CarriedContent, Name)>, Vec<StmtId>);

pub(super) fn tuple(items: &[String]) -> String {
    match items {
        [one] => one.clone(),
        items => format!("({})", items.join(", ")),
    }
}

impl BodyWriter<'_> {
    /// Prints the `let`s that bind the results of a loop.
    pub(super) fn print_loop_lets(&mut self, of: &LoopResultLine, live: &[StmtId]) -> Vec<String> {
        match self.print_loop_and_bindings(of, live) {
            Ok(lets) => lets,
            Err(why) => {
                self.failure.get_or_insert(why);
                Vec::new()
            }
        }
    }

    fn result_of_loop(&self, v: StmtId, id: u32) -> Option<LoopResultKind> {
        match &self.lines.get(v.0 as usize)?.kind {
            LineKind::Loop(of) if of.loop_id == id => Some(of.result),
            _ => None,
        }
    }

    fn print_loop_and_bindings(&mut self, of: &LoopResultLine, live: &[StmtId]) -> Result<Vec<String>, NoTextReason> {
        let region = self.facts.loops.get(of.loop_id as usize).cloned().ok_or(NoTextReason::InternalError)?;
        let parts: Vec<(StmtId, LoopResultKind)> =
            live.iter().filter_map(|v| Some((*v, self.result_of_loop(*v, of.loop_id)?))).collect();
        let plain = of.batch.is_empty() && of.pred.is_true();
        let ends = parts.iter().all(|(_, piece)| matches!(piece, LoopResultKind::Last(_)));
        if !plain && of.trips.is_none() && !ends {
            return Err(NoTextReason::Loop);
        }
        let mut bindings = None;
        let text = self.print_batch(&of.batch.clone(), &mut |this| {
            let (mark, depth) = (this.context.mark(), this.scope.len());
            let outer = this.context.clone();
            this.context.assume(&of.pred);
            let written = this.print_loop(of, &region, &parts, live, &outer);
            this.context.release(mark);
            this.leave_scope(depth);
            match written {
                Ok((text, slots)) => {
                    bindings = Some(Ok(slots));
                    if of.pred.is_true() { text } else { format!("[{}] * ({text})", this.print_predicate(&of.pred).0) }
                }
                Err(why) => {
                    bindings = Some(Err(why));
                    String::new()
                }
            }
        });
        let slots = bindings.unwrap_or(Err(NoTextReason::InternalError))?;
        if of.trips.is_none() && !ends {
            return self.bind_while_results(&parts, &slots.0, &text);
        }
        if plain {
            self.bind_results_by_pattern(&parts, &slots, &text)
        } else {
            self.bind_results_by_paths(of, &parts, &slots, &text)
        }
    }

    /// Prints the loop. Returns the text, with the carried variables and the yielded results.
    fn print_loop(
        &mut self,
        of: &LoopResultLine,
        region: &LoopRegion,
        parts: &[(StmtId, LoopResultKind)],
        all: &[StmtId],
        outer: &FactContext,
    ) -> Result<(String, LoopBindings), NoTextReason> {
        let within = Some(of.loop_id);
        let taken = self.used_names.clone();
        let written = self.printed_lets.len();
        let going = if of.trips.is_none() { region.condition_line } else { None };
        let condition = going.and_then(|v| self.while_condition(v, of.loop_id));
        let carried: Vec<StmtId> = region.carried.iter().map(|c| c.0).collect();
        let needed = self.needed_body_lines(of.loop_id, parts, going.filter(|_| condition.is_some()), all);
        let live: Vec<StmtId> =
            all.iter().copied().filter(|v| !self.is_inside(*v, of.loop_id) || needed.contains(v)).collect();
        let carried: Vec<StmtId> = carried.into_iter().filter(|v| live.contains(v)).collect();
        // Initial values are printed in the scope outside the loop.
        let mut inits = Vec::new();
        for v in &carried {
            let Some(LineKind::Carried(at)) = self.lines.get(v.0 as usize).map(|l| l.kind.clone()) else { continue };
            inits.push(self.print_initial_value(of, &at));
        }
        let mut slots = Vec::new();
        for ((v, integer), init) in carried.iter().map(|v| (*v, region.carried.iter().find(|c| c.0 == *v))).zip(inits) {
            let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
            let name = self.used_names.fresh(&self.carried_variable_name(line.name.as_ref()));
            self.bind_let_name(v, &name, &line.indices, line.scalar.unwrap_or(Scalar::F64));
            if let Some((_, Some(index))) = integer {
                self.scope.push((index.local, name.clone()));
            }
            slots.push(CarriedVariable { name, init, next: String::new(), content: CarriedContent::Line(v) });
        }
        let condition_text = condition.as_ref().map(|e| self.print_expression(e).0);
        // The index; in a reversed loop, `counter` counts up and `number` is computed from it.
        let number = self.iteration_index_name(of.loop_id, region, &live);
        let counter = if region.reversed { self.used_names.fresh_index(None) } else { number.clone() };
        self.scope.push((region.iteration_index.local, number.clone()));
        if region.has_trip_count {
            self.context.assume_in_range(&region.iteration_index);
        }
        let every: Vec<(StmtId, StmtId)> = parts
            .iter()
            .filter_map(|(v, piece)| if let LoopResultKind::AllIterations(w) = piece { Some((*v, *w)) } else { None })
            .collect();
        let nexts: Vec<StmtId> = carried.iter().filter_map(|v| self.next_value_line(*v)).collect();
        let results: Vec<StmtId> = nexts.iter().copied().chain(every.iter().map(|e| e.1)).collect();
        let checks = self.irredundant_body_checks(region, &live);
        let lets = self.print_block(within, &checks, &live, &results);
        let mut yields = Vec::new();
        for (v, w) in every {
            let state = carried.contains(&w);
            let back = !state && region.reversed && self.reverse_backward_reads(v, of, all);
            if of.trips.is_none() && nexts.contains(&w) {
                continue;
            }
            let (own, e, wide) = self.per_iteration_element(v, w, of, outer)?;
            let at_hand = !wide && !back && self.is_known_before_iteration(w, of.loop_id);
            match (&of.trips, state) {
                (None, true) => {}
                (Some(_), _) if at_hand => yields.push((v, self.print_array(&own, &e, "-", false))),
                _ => slots.push(self.print_stored_results((v, w), (&own, &e), of, region, back)?),
            }
        }
        for (slot, next) in slots.iter_mut().zip(nexts) {
            slot.next = match self.lines.get(next.0 as usize).map(|l| l.kind.clone()) {
                Some(LineKind::Update(of)) if !self.read_sources.contains_key(&next) => self.print_update(&of),
                _ => self.print_array(&self.indices_of(next), &self.result_expression(next), &slot.name, false),
            };
        }
        let mut body: Vec<String> = Vec::new();
        let turned = region.reversed.then(|| self.print_reversed_index(of, &number, &counter)).flatten();
        let body_texts: Vec<String> = lets.iter().cloned().chain(slots.iter().map(|s| s.next.clone())).collect();
        let yield_texts: Vec<String> = yields.iter().map(|y| y.1.clone()).collect();
        let mentions = |texts: &[String]| {
            texts.iter().any(|text| super::constructors::names_in_text(text).iter().any(|word| *word == *number))
        };
        let (inside, yielded) = (mentions(&body_texts), mentions(&yield_texts));
        let is_counted = (inside || yielded) && (turned.is_some() || !region.reversed);
        let head = if is_counted { counter.to_string() } else { "_".into() };
        // The `let`s of the body are not in scope in `yield`.
        let yield_text = match turned.as_ref().filter(|_| yielded && !slots.is_empty()) {
            Some(turned) => format!("{turned} in {}", tuple(&yield_texts)),
            None => tuple(&yield_texts),
        };
        body.extend(turned.filter(|_| inside || yielded && slots.is_empty()));
        body.extend(lets);
        let next = tuple(&slots.iter().map(|s| s.next.clone()).collect::<Vec<_>>());
        let mut body = if body.is_empty() { next } else { format!("{} in {next}", body.join(" ")) };
        if !yields.is_empty() && body.contains("fold ") {
            body = format!("({body})");
        }
        let pattern = tuple(&slots.iter().map(|s| s.name.to_string()).collect::<Vec<_>>());
        let init = tuple(&slots.iter().map(|s| s.init.clone()).collect::<Vec<_>>());
        let ranges = |this: &mut Self| of.trips.as_ref().map(|n| this.print_polynomial(n).0);
        let text = match (ranges(self), slots.is_empty()) {
            (Some(n), true) => {
                let body = body.strip_suffix("()").map(str::to_owned).unwrap_or(body);
                format!("for {head} < {n}: {body}{yield_text}")
            }
            (Some(n), false) if yields.is_empty() => format!("fold {pattern} = {init} for {head} < {n}: {body}"),
            (Some(n), false) => format!("fold {pattern} = {init} for {head} < {n}: {body} yield {yield_text}"),
            (None, _) => {
                let name = going.and_then(|v| slots.iter().find(|s| s.content == CarriedContent::Line(v)));
                let holds = condition_text.or_else(|| name.map(|s| s.name.to_string())).ok_or(NoTextReason::Loop)?;
                let kept = parts.iter().any(|(_, piece)| !matches!(piece, LoopResultKind::Last(_)));
                format!("{} {pattern} = {init} while {holds}: {body}", if kept { "scan" } else { "loop" })
            }
        };
        self.used_names = taken;
        self.printed_lets.truncate(written);
        self.read_sources.retain(|v, _| {
            let line = self.lines.get(v.0 as usize);
            !line.is_some_and(|l| self.facts.is_inside(l.enclosing_loop, of.loop_id))
        });
        let slots = slots.into_iter().map(|s| (s.content, s.name)).collect();
        Ok((text, (slots, yields.into_iter().map(|y| y.0).collect())))
    }

    fn is_inside(&self, v: StmtId, id: u32) -> bool {
        self.lines.get(v.0 as usize).is_some_and(|l| self.facts.is_inside(l.enclosing_loop, id))
    }

    pub(super) fn next_value_line(&self, v: StmtId) -> Option<StmtId> {
        match &self.lines.get(v.0 as usize)?.kind {
            LineKind::Carried(of) => Some(of.next),
            _ => None,
        }
    }

    /// Returns the body lines that the results and the checks need, if the text omits the carried
    /// line `without`.
    fn needed_body_lines(
        &self,
        id: u32,
        parts: &[(StmtId, LoopResultKind)],
        without: Option<StmtId>,
        live: &[StmtId],
    ) -> Vec<StmtId> {
        let mut open: Vec<StmtId> = Vec::new();
        for (_, piece) in parts {
            if let LoopResultKind::Last(v) | LoopResultKind::AllIterations(v) = piece {
                open.push(*v);
            }
        }
        if without.is_none() {
            open.extend(self.facts.loops.get(id as usize).and_then(|r| r.condition_line));
        }
        for (check, _) in self.facts.loops.get(id as usize).into_iter().flat_map(|r| &r.checks) {
            open.extend(lines_read_by_check(check).into_iter().filter(|v| live.contains(v)));
        }
        let mut found: Vec<StmtId> = Vec::new();
        while let Some(v) = open.pop() {
            if found.contains(&v) {
                continue;
            }
            let Some(line) = self.lines.get(v.0 as usize) else { continue };
            if self.is_inside(v, id) {
                found.push(v);
                line.for_each_use(&mut |v, _| open.push(v));
                line.for_each_loop_link(&mut |v| open.push(v));
            }
        }
        found
    }

    /// Prints the initial value of a carried line.
    fn print_initial_value(&mut self, of: &LoopResultLine, at: &CarriedLine) -> String {
        let (first, own) = at.init_indices.split_at_checked(of.batch.len()).unwrap_or((&[], &at.init_indices));
        let put = |p: &Poly| {
            p.substitute(&|a| first.iter().position(|i| i.atom() == *a).and_then(|k| of.batch.get(k)).map(Index::value))
        };
        self.print_array(own, &at.init.map_polys(&put), "-", false)
    }

    /// Chooses the name of the iteration number, from the hints of its uses.
    fn iteration_index_name(&mut self, id: u32, region: &LoopRegion, live: &[StmtId]) -> Name {
        let mut hint = None;
        for v in live.iter().filter(|v| self.is_inside(**v, id)) {
            let Some(line) = self.lines.get(v.0 as usize).cloned() else { continue };
            line.kind.for_each_expression(&line.indices, &mut |_, e| {
                hint = hint.take().or_else(|| {
                    let alone = self.sole_subscript_axes(e, &region.iteration_index);
                    alone.iter().find_map(|(n, axis, _)| self.axis_name_hint(n, *axis))
                });
            });
        }
        self.used_names.fresh_index(hint.as_ref())
    }

    /// Prints the index of a reversed loop: `let i = n - 1 - k`.
    fn print_reversed_index(&mut self, of: &LoopResultLine, number: &Name, counter: &Name) -> Option<String> {
        let last = of.trips.as_ref()?.add_constant(-1);
        let index = self.facts.fresh_index(Poly::default());
        self.scope.push((index.local, counter.clone()));
        let (last, counter) = (self.print_polynomial(&last), self.print_polynomial(&index.value()).0);
        self.scope.pop();
        Some(format!("let {number} = {} - {counter}", last.0))
    }

    /// Returns the checks of a body that do not follow from known facts, simplified.
    fn irredundant_body_checks(&mut self, region: &LoopRegion, live: &[StmtId]) -> Vec<RuntimeCheck> {
        let mut context = self.context.clone();
        let mut kept = Vec::new();
        for (check, needed) in &region.checks {
            let checked_lines = lines_read_by_check(check);
            if !needed.iter().any(|v| live.contains(v))
                || !checked_lines.iter().all(|v| live.contains(v) || !self.is_in_loop(*v))
            {
                continue;
            }
            let indices: Vec<Index> =
                check.dims.iter().enumerate().map(|(k, n)| lang_ir::ssa::statement_index(k, n)).collect();
            let (guard, cond) = with_index_ranges(&indices, &mut context, |context| {
                let guard = context.simplify(&check.guard);
                let cond = with_assumption(&guard, context, |context| context.simplify(&check.cond));
                (guard, cond)
            });
            if !guard.is_false() && !cond.is_true() {
                kept.push(RuntimeCheck { guard, cond, ..check.clone() });
            }
        }
        kept
    }

    /// Returns whether the line is inside a loop.
    fn is_in_loop(&self, v: StmtId) -> bool {
        self.lines.get(v.0 as usize).is_some_and(|l| l.enclosing_loop.is_some())
    }

    /// Returns whether the line depends only on values before the iteration.
    fn is_known_before_iteration(&self, v: StmtId, id: u32) -> bool {
        let Some(line) = self.lines.get(v.0 as usize) else { return false };
        match &line.kind {
            LineKind::Carried(_) => true,
            _ if self.read_sources.contains_key(&v) => !self.is_inside(v, id),
            LineKind::Element(e) => {
                let mut all = true;
                e.for_each_use(&mut |v, _| all &= !self.is_inside(v, id) || self.is_known_before_iteration(v, id));
                all
            }
            _ => false,
        }
    }

    /// Returns whether a loop result is read only from the last iteration to the first: the
    /// reversal `trips - 1 - p` shortens every subscript `p`. If so, replaces all these subscripts.
    fn reverse_backward_reads(&mut self, v: StmtId, of: &LoopResultLine, live: &[StmtId]) -> bool {
        let Some(trips) = of.trips.clone() else { return false };
        let (axis, mut all, mut found) = (of.batch.len(), !self.roots.contains(&v), 0);
        let last = trips.add_constant(-1);
        let turned = |p: &Poly| last.sub(p);
        let fewer = |p: &Poly| turned(p).terms().len() < p.terms().len();
        for u in live.iter().filter(|u| **u != v) {
            let Some(line) = self.lines.get(u.0 as usize) else { continue };
            let mut count = 0_i64;
            line.for_each_use(&mut |w, _| count += i64::from(w == v));
            line.kind.for_each_expression(&line.indices, &mut |_, e| {
                e.visit(&mut |e| {
                    if let SourceExpr::Read(w, at) = e
                        && *w == v
                    {
                        count -= 1;
                        found += 1;
                        all &= at.get(axis).is_some_and(fewer);
                    }
                });
            });
            all &= count == 0;
            line.for_each_loop_link(&mut |w| all &= w != v);
        }
        if !all || found == 0 || !of.batch.is_empty() {
            return false;
        }
        for line in self.lines.iter_mut() {
            let is = line
                .kind
                .map_expressions(&line.indices.clone(), &mut |_, _, e| map_read_subscript(e, v, axis, &turned));
            line.kind = is;
        }
        true
    }

    /// Returns the indices and the element of a body line, with the extents of the loop result. The
    /// flag is true if an extent may be negative. The text then uses its maximum with 0, because no
    /// array has a negative extent.
    fn per_iteration_element(
        &mut self,
        v: StmtId,
        w: StmtId,
        of: &LoopResultLine,
        outer: &FactContext,
    ) -> Result<(Vec<Index>, SourceExpr, bool), NoTextReason> {
        let first = of.batch.len();
        let mut all = self.indices_of(v);
        let (batch, _) = all.split_at_checked(first).ok_or(NoTextReason::InternalError)?;
        let pairs: Vec<(Atom, Poly)> = batch.iter().map(Index::atom).zip(of.batch.iter().map(Index::value)).collect();
        let put = |p: &Poly| p.substitute(&|a| pairs.iter().find(|(b, _)| b == a).map(|(_, p)| p.clone()));
        let trips = all.get(first).map(|i| put(&i.extent)).ok_or(NoTextReason::InternalError)?;
        if of.trips.as_ref().is_some_and(|n| *n != trips) {
            return Err(NoTextReason::Loop);
        }
        let mut wide = false;
        for i in all.iter_mut().skip(first) {
            if of.trips.is_some() && !outer.implies(&Pred::nonneg(&put(&i.extent))) {
                i.extent = i.extent.maximum(&Poly::default());
                wide = true;
            }
        }
        if let Some(line) = self.lines.get_mut(v.0 as usize) {
            line.indices.clone_from(&all);
        }
        let (own, e) = (self.indices_of(w), self.result_expression(w));
        let extents: Vec<Poly> = all.iter().skip(first + 1).map(|i| put(&i.extent)).collect();
        if own.iter().map(|i| &i.extent).eq(extents.iter()) {
            return Ok((own, e, wide));
        }
        let inside = Pred::all(own.iter().map(|i| Pred::less(&i.value(), &i.extent)));
        let wider = own.iter().zip(extents).map(|(i, n)| Index { extent: n, ..i.clone() }).collect();
        Ok((wider, SourceExpr::guard(inside, e), wide))
    }

    /// Prints a carried array in which each iteration stores its value.
    fn print_stored_results(
        &mut self,
        (v, w): (StmtId, StmtId),
        (own, e): (&[Index], &SourceExpr),
        of: &LoopResultLine,
        region: &LoopRegion,
        back: bool,
    ) -> Result<CarriedVariable, NoTextReason> {
        let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
        let inner = self.lines.get(w.0 as usize).and_then(|l| l.name.clone());
        let wanted = line.name.clone().or(inner).filter(|n| self.is_program_name(n)).unwrap_or_else(|| "t".into());
        let wanted = self.name_in_entries(&wanted);
        let name = if back { self.used_names.fresh(&wanted) } else { self.used_names.fresh(&format!("{wanted}_at")) };
        let empty = zero_of(line.scalar.unwrap_or(Scalar::F64));
        let value = if own.is_empty() { self.print_assigned_value(e) } else { self.print_array(own, e, "-", false) };
        let Some(trips) = of.trips.clone() else {
            // In a `scan`, the next state holds the value.
            let init = self.print_array(own, &empty, "-", false);
            return Ok(CarriedVariable { name, init, next: value, content: CarriedContent::AllIterations(v) });
        };
        let number = region.iteration_index.value();
        let at = if region.reversed && !back { trips.add_constant(-1).sub(&number) } else { number };
        let extent = self.indices_of(v).get(of.batch.len()).map(|i| i.extent.clone()).unwrap_or_default();
        let extent = if extent.as_atom().is_some_and(|a| matches!(a, Atom::Max(..))) {
            trips.maximum(&Poly::default())
        } else {
            trips
        };
        let mut indices = vec![self.facts.fresh_index(extent)];
        indices
            .extend(own.iter().map(|i| Index { extent: i.extent.clone(), ..self.facts.fresh_index(Poly::default()) }));
        let init = self.print_array(&indices, &empty, "-", false);
        let next = format!("{name} with [{}] = {value}", self.print_polynomial(&at).0);
        Ok(CarriedVariable { name, init, next, content: CarriedContent::AllIterations(v) })
    }

    /// Returns the condition of a `while` loop as an expression over the other carried lines.
    /// `None` if the carried truth value is not the same function of them at first and later.
    fn while_condition(&mut self, going: StmtId, id: u32) -> Option<SourceExpr> {
        let region = self.facts.loops.get(id as usize)?.clone();
        let LineKind::Carried(of) = self.lines.get(going.0 as usize)?.kind.clone() else { return None };
        // The truth value before an iteration is a function of the values carried with it.
        let nexts: Vec<(StmtId, StmtId)> = region
            .carried
            .iter()
            .filter(|c| c.0 != going)
            .filter_map(|c| Some((self.next_value_line(c.0)?, c.0)))
            .collect();
        let next =
            self.expand_reads(&SourceExpr::Read(of.next, Vec::new()), &|v| !nexts.iter().any(|(n, _)| *n == v), 0)?;
        let holds = rename_reads(&next, &|v| nexts.iter().find(|(n, _)| *n == v).map(|(_, c)| *c));
        let mut own = true;
        holds.for_each_use(&mut |v, _| {
            own &= !self.is_inside(v, id) || region.carried.iter().any(|c| c.0 == v && v != going);
        });
        let inits: Vec<(StmtId, StatementLine)> = region
            .carried
            .iter()
            .filter_map(|(v, _)| {
                let line = self.lines.get(v.0 as usize)?.clone();
                let LineKind::Carried(of) = &line.kind else { return None };
                Some((
                    *v,
                    StatementLine {
                        indices: of.init_indices.clone(),
                        kind: LineKind::Element(of.init.clone()),
                        ..line
                    },
                ))
            })
            .collect();
        let put = |v: StmtId| inits.iter().find(|(w, _)| *w == v).map(|(_, line)| line.clone());
        let first = substitute_lines(&holds, &put, &mut self.facts);
        let (first, initial) = (self.expand_reads(&first, &|_| true, 0)?, self.expand_reads(&of.init, &|_| true, 0)?);
        (own && first.alpha_normal_form() == initial.alpha_normal_form()).then_some(holds)
    }

    /// Substitutes the lines that an expression reads, if `may` allows them. `None` if the result
    /// is too deep or too large.
    fn expand_reads(&mut self, e: &SourceExpr, may: &dyn Fn(StmtId) -> bool, depth: u32) -> Option<SourceExpr> {
        let mut reads = Vec::new();
        e.for_each_use(&mut |v, in_index| reads.push((v, in_index)));
        let known: Vec<(StmtId, StatementLine)> = reads
            .iter()
            .filter(|(v, in_index)| !in_index && may(*v))
            .filter_map(|(v, _)| Some((*v, self.lines.get(v.0 as usize)?.clone())))
            .filter(|(_, line)| line.element().is_some())
            .collect();
        if known.is_empty() {
            return Some(e.clone());
        }
        if depth > 50 || e.size() > 500 {
            return None;
        }
        let put = |v: StmtId| known.iter().find(|(w, _)| *w == v).map(|(_, line)| line.clone());
        let e = substitute_lines(e, &put, &mut self.facts);
        self.expand_reads(&e, may, depth + 1)
    }

    /// Chooses the name of a carried variable: `s`, `s_adj` or `s_tan` if the program has no name.
    pub(super) fn carried_variable_name(&self, name: Option<&Name>) -> Name {
        let Some(name) = name.filter(|name| !self.is_program_name(name)) else {
            return self.name_in_entries(&name.cloned().unwrap_or_else(|| "s".into()));
        };
        let suffix = ["_adj", "_tan"].into_iter().find(|suffix| name.ends_with(suffix)).unwrap_or_default();
        self.name_in_entries(&format!("s{suffix}").into())
    }

    /// Returns the name that a reader sees. If the seed is 1, no value is a cotangent of the
    /// program, so `x_adj` is called `x_grad`.
    pub(super) fn name_in_entries(&self, name: &Name) -> Name {
        let stem = name.strip_suffix("_adj").filter(|_| self.reader.as_ref().is_some_and(|r| r.has_unit_seed));
        stem.map_or_else(|| name.clone(), |stem| format!("{stem}_grad").into())
    }
}

/// Renames the statements that an expression reads.
fn rename_reads(e: &SourceExpr, name: &dyn Fn(StmtId) -> Option<StmtId>) -> SourceExpr {
    match e {
        SourceExpr::Read(v, at) => SourceExpr::Read(name(*v).unwrap_or(*v), at.clone()),
        _ => e.map_children_normalised(&mut |e| rename_reads(e, name)),
    }
}

/// Maps the subscript on one axis in all reads of a statement.
fn map_read_subscript(e: &SourceExpr, v: StmtId, axis: usize, turned: &dyn Fn(&Poly) -> Poly) -> SourceExpr {
    match e {
        SourceExpr::Read(w, at) if *w == v => {
            let at = at.iter().enumerate().map(|(k, p)| if k == axis { turned(p) } else { p.clone() });
            SourceExpr::Read(v, at.collect())
        }
        _ => e.map_children(&mut |e| map_read_subscript(e, v, axis, turned)),
    }
}

//! **Loops as lines.** Reads the loops of Tensor SSA for [`super::read_ssa`]. The statements of a
//! body become lines after those of the function, each with the number of its loop.
//! [`super::print_loops`] prints the result.
//!
//! A reverse loop reads values that a forward iteration computed. The text recomputes these values
//! from the carried state before the iteration, as a hand-written derivative would. If it would
//! need a carried array that is not kept already, it reads the kept values instead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::NoTextReason;
use super::expression_tree::SourceExpr;
use super::read_ssa::{IndexSubstitution, LineKind, LineReader, ReadingScope, StatementLine};
use super::table::StatementFacts;
use lang_base::Name;
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Rhs, RuntimeCheck, SsaFunction, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, statement_index,
};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A loop, with the indices and lines that represent it.
#[derive(Clone, Debug)]
pub(super) struct LoopRegion {
    /// The enclosing loop.
    pub(super) parent: Option<u32>,
    /// The batch indices of the loop.
    pub(super) batch: Vec<Index>,
    /// The index variable of the iteration number.
    pub(super) iteration_index: Index,
    /// Whether it runs from the last iteration number to the first. It does if all its
    /// reads run backwards.
    pub(super) reversed: bool,
    /// Whether the trip count is known before the loop runs.
    pub(super) has_trip_count: bool,
    /// The carried lines. A carried integer has an index variable, because indices may depend on
    /// it.
    pub(super) carried: Vec<(StmtId, Option<Index>)>,
    /// The carried truth value; the loop continues while it holds.
    pub(super) condition_line: Option<StmtId>,
    /// The checks of an iteration, each with the lines that need it.
    pub(super) checks: Vec<(RuntimeCheck, Vec<StmtId>)>,
}

/// The kind of a result of a loop, with the body line that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopResultKind {
    /// The final value of a carried line.
    Last(StmtId),
    /// The values of a body line in all iterations; for a carried line, its values before each.
    AllIterations(StmtId),
    /// The trip count.
    TripCount,
}

/// A line that is a result of a loop.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LoopResultLine {
    pub(super) loop_id: u32,
    pub(super) result: LoopResultKind,
    pub(super) batch: Vec<Index>,
    /// The batch tuples for which the loop runs.
    pub(super) pred: Pred,
    /// The trip count; `None` for a `while` loop.
    pub(super) trips: Option<Poly>,
    /// The carried truth value; the loop continues while it holds.
    pub(super) condition_line: Option<StmtId>,
}

/// A carried line.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CarriedLine {
    /// The batch indices of the loop, then the axes, of the initial value.
    pub(super) init_indices: Vec<Index>,
    /// The initial value.
    pub(super) init: SourceExpr,
    /// The line that computes its value for the next iteration.
    pub(super) next: StmtId,
}

/// A loop whose body has become lines. Later statements that are results of it find it here.
pub(super) struct ReadLoop {
    loop_id: u32,
    /// The offset of its body.
    offset: u32,
    /// The line of each input of the body, by input number.
    inputs: Vec<StmtId>,
    /// The line of the first statement that is a result of it.
    first_result: u32,
}

/// A line that an input reads, and the first subscripts of the read.
type LineRead = (StmtId, Vec<Poly>);

/// A body that is recomputed for the iteration `iteration`, inside the loop `enclosing_loop`.
pub(super) struct Recomputation {
    /// The loop whose body is recomputed.
    loop_id: u32,
    /// The batch indices and the iteration number.
    iteration: Vec<Poly>,
    enclosing_loop: u32,
    /// The offset of the recomputed lines.
    offset: u32,
}

impl StatementFacts {
    /// Returns the indices of a loop and of the loops around it, outermost first.
    pub(super) fn enclosing_indices(&self, within: Option<u32>) -> Vec<Index> {
        let mut all = Vec::new();
        let mut next = within.and_then(|id| self.loops.get(id as usize));
        while let Some(region) = next {
            all.splice(0..0, region.batch.iter().cloned().chain([region.iteration_index.clone()]));
            next = region.parent.and_then(|id| self.loops.get(id as usize));
        }
        all
    }

    /// Returns whether the loop `within` is the loop `id` or lies inside it.
    pub(super) fn is_inside(&self, within: Option<u32>, id: u32) -> bool {
        let mut next = within;
        while let Some(at) = next {
            if at == id {
                return true;
            }
            next = self.loops.get(at as usize).and_then(|r| r.parent);
        }
        false
    }

    /// Returns the indices of [`Self::enclosing_indices`] except the iteration numbers of `while`
    /// loops, because their ranges are unknown.
    pub(super) fn bounded_enclosing_indices(&self, within: Option<u32>) -> Vec<Index> {
        let open = |i: &Index| self.loops.iter().any(|r| !r.has_trip_count && r.iteration_index.local == i.local);
        self.enclosing_indices(within).into_iter().filter(|i| !open(i)).collect()
    }
}

impl LineReader<'_> {
    /// Reads statement `k`, one result of a loop.
    pub(super) fn read_loop_result(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        (producer, result): (StmtId, LoopResult),
        k: u32,
    ) -> Result<LineKind, NoTextReason> {
        let ssa_loop = ssa.loop_at(producer).ok_or(NoTextReason::InternalError)?;
        if !self.loops.contains_key(&scope.line(producer)) {
            self.read_loop(ssa, scope, (producer, ssa_loop), k)?;
        }
        let known = self.known_loop(scope, producer)?;
        let id = known.loop_id;
        let piece = match result {
            LoopResult::Final(k) => {
                LoopResultKind::Last(*known.inputs.get(k as usize).ok_or(NoTextReason::InternalError)?)
            }
            LoopResult::PerIteration(k) => {
                let (_, v) = ssa_loop.body.outputs.get(k as usize).ok_or(NoTextReason::InternalError)?;
                LoopResultKind::AllIterations(StmtId(known.offset + v.0))
            }
            LoopResult::TripCount => LoopResultKind::TripCount,
            LoopResult::Checkpoint(_) => return Err(NoTextReason::Loop),
        };
        if let LoopResultKind::AllIterations(v) = piece {
            self.iteration_lines.entry(v).or_insert(scope.line(StmtId(k)));
        }
        Ok(self.loop_result_kind(id, scope, ssa_loop, piece))
    }

    fn loop_result_kind(&self, id: u32, scope: &ReadingScope, ssa_loop: &SsaLoop, piece: LoopResultKind) -> LineKind {
        let region = self.facts.loops.get(id as usize);
        let batch = region.map(|r| r.batch.clone()).unwrap_or_default();
        let place = IndexSubstitution { values: batch.iter().map(Index::value).collect(), scope };
        LineKind::Loop(Box::new(LoopResultLine {
            loop_id: id,
            result: piece,
            pred: place.in_predicate(&ssa_loop.pred),
            trips: ssa_loop.fixed_trip_count().map(|n| place.in_polynomial(n)),
            condition_line: region.and_then(|r| r.condition_line),
            batch,
        }))
    }

    /// Returns a loop that has been read.
    fn known_loop(&self, scope: &ReadingScope, producer: StmtId) -> Result<&ReadLoop, NoTextReason> {
        self.loops.get(&scope.line(producer)).ok_or(NoTextReason::InternalError)
    }

    /// Reads a loop whose first result is statement `k`.
    fn read_loop(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        (producer, ssa_loop): (StmtId, &SsaLoop),
        k: u32,
    ) -> Result<(), NoTextReason> {
        let mut values: Vec<Poly> = Vec::new();
        let mut batch = Vec::new();
        for n in &ssa_loop.batch {
            let n = IndexSubstitution { values: values.clone(), scope }.in_polynomial(n);
            let index = self.facts.fresh_index(n);
            values.push(index.value());
            batch.push(index);
        }
        let trips =
            ssa_loop.fixed_trip_count().map(|n| IndexSubstitution { values: values.clone(), scope }.in_polynomial(n));
        let iteration_index = self.facts.fresh_index(trips.clone().unwrap_or_default());
        let directions = iteration_coefficients(ssa_loop);
        let reversed = trips.is_some() && directions == BTreeSet::from([-1]);
        if trips.is_none() && !directions.is_empty() {
            return Err(NoTextReason::Loop);
        }
        values.push(match &trips {
            Some(n) if reversed => n.add_constant(-1).sub(&iteration_index.value()),
            _ => iteration_index.value(),
        });
        let id = u32::try_from(self.facts.loops.len()).map_err(|_| NoTextReason::TooLarge)?;
        self.facts.loops.push(LoopRegion {
            parent: scope.enclosing_loop,
            batch,
            iteration_index,
            reversed,
            has_trip_count: trips.is_some(),
            carried: Vec::new(),
            condition_line: None,
            checks: Vec::new(),
        });
        let captured = self.captured_reads(ssa, scope, ssa_loop, &values, id)?;
        let (offset, inputs) = self.reserve_body(&ssa_loop.body)?;
        let mut inner = ReadingScope {
            offset,
            locals: HashMap::new(),
            enclosing_loop: Some(id),
            is_recomputation: scope.is_recomputation,
        };
        let place = IndexSubstitution { values: values.clone(), scope };
        for (l, p) in ssa_loop.body.sizes.iter().zip(&ssa_loop.sizes) {
            inner.locals.insert(*l, place.in_polynomial(p));
        }
        let mut carried = Vec::new();
        for ((arg, input), v) in ssa_loop.args.iter().zip(&ssa_loop.body.inputs).zip(&inputs) {
            if input.leaf.scalar != Some(Scalar::I64) || !input.leaf.dims.is_empty() {
                carried.extend(matches!(arg, LoopArg::Carried { .. }).then_some((*v, None)));
                continue;
            }
            let value = match arg {
                LoopArg::Captured(a) => self.integer_input(ssa, scope, a, &place),
                LoopArg::Carried { .. } => {
                    let index = self.facts.fresh_index(Poly::default());
                    carried.push((*v, Some(index.clone())));
                    index.value()
                }
            };
            inner.locals.insert(input.local, value);
        }
        let condition_line =
            if let LoopTripCount::While(k) = ssa_loop.trip_count { inputs.get(k as usize).copied() } else { None };
        if let Some(region) = self.facts.loops.get_mut(id as usize) {
            (region.carried, region.condition_line) = (carried, condition_line);
        }
        let known = ReadLoop { loop_id: id, offset, inputs: inputs.clone(), first_result: scope.offset + k };
        self.loops.insert(scope.line(producer), known);
        for (((arg, input), v), captured) in ssa_loop.args.iter().zip(&ssa_loop.body.inputs).zip(&inputs).zip(captured)
        {
            let own = self.fresh_axes(&input.leaf.dims, &inner);
            let kind = match (arg, captured) {
                (LoopArg::Captured(_), Some((var, first))) => {
                    let at = first.into_iter().chain(own.iter().map(Index::value)).collect();
                    LineKind::Element(SourceExpr::Read(var, at))
                }
                (LoopArg::Carried { init, next }, _) => {
                    let region = self.facts.loops.get(id as usize);
                    let mut init_indices = region.map(|r| r.batch.clone()).unwrap_or_default();
                    let place = IndexSubstitution { values: init_indices.iter().map(Index::value).collect(), scope };
                    let own = self.fresh_axes(&input.leaf.dims, &inner);
                    let first = init.at.iter().map(|p| place.in_polynomial(p));
                    let at = first.chain(own.iter().map(Index::value)).collect();
                    let init = SourceExpr::Read(scope.line(init.var), at);
                    init_indices.extend(own);
                    let (_, next) = ssa_loop.body.outputs.get(*next as usize).ok_or(NoTextReason::InternalError)?;
                    LineKind::Carried(Box::new(CarriedLine { init_indices, init, next: StmtId(offset + next.0) }))
                }
                _ => return Err(NoTextReason::InternalError),
            };
            let name = body_input_name(&ssa_loop.body, input.local, arg);
            self.store_line(
                *v,
                StatementLine {
                    indices: own,
                    scalar: input.leaf.scalar,
                    kind,
                    name,
                    enclosing_loop: Some(id),
                    sort_key: v.0,
                },
            );
        }
        self.read_body(&ssa_loop.body, &inner)?;
        let stmts = &ssa_loop.body.stmts;
        let checks = (0..).zip(&ssa_loop.body.checks).map(|(c, check)| {
            let place = IndexSubstitution { values: Vec::new(), scope: &inner };
            let check = RuntimeCheck {
                dims: check.dims.iter().map(|n| place.in_polynomial(n)).collect(),
                guard: place.in_predicate(&check.guard),
                cond: place.in_predicate(&check.cond),
                failure: check.failure.clone(),
            };
            // A result of a call or a loop needs the checks of its producer.
            let needed = (0..).zip(stmts).filter(|(_, s)| {
                let producer = s.rhs.producer().and_then(|of| stmts.get(of.0 as usize));
                s.needs.contains(&c) || producer.is_some_and(|of| of.needs.contains(&c))
            });
            (check, needed.map(|(k, _)| inner.line(StmtId(k))).collect())
        });
        let checks = checks.collect();
        if let Some(region) = self.facts.loops.get_mut(id as usize) {
            region.checks = checks;
        }
        Ok(())
    }

    /// Returns fresh indices for the axes of a body line.
    fn fresh_axes(&mut self, dims: &[Poly], scope: &ReadingScope) -> Vec<Index> {
        let mut own: Vec<Index> = Vec::new();
        for n in dims {
            let n = IndexSubstitution { values: own.iter().map(Index::value).collect(), scope }.in_polynomial(n);
            own.push(self.facts.fresh_index(n));
        }
        own
    }

    /// Reserves the lines of a body. Returns their offset, and the lines of the inputs.
    fn reserve_body(&mut self, body: &SsaFunction) -> Result<(u32, Vec<StmtId>), NoTextReason> {
        let offset = u32::try_from(self.lines.len()).map_err(|_| NoTextReason::TooLarge)?;
        let mut next = offset + u32::try_from(body.stmts.len()).map_err(|_| NoTextReason::TooLarge)?;
        let mut inputs = Vec::new();
        for k in (0..).take(body.inputs.len()) {
            inputs.push(body.input_statement(k).map_or_else(
                || {
                    next += 1;
                    StmtId(next - 1)
                },
                |v| StmtId(offset + v.0),
            ));
        }
        self.reserve_lines(next as usize);
        Ok((offset, inputs))
    }

    /// Returns for each `LoopArg::Captured` the line that it reads, with the first subscripts;
    /// `None` for a carried input. `values` are the batch indices and the iteration number.
    fn captured_reads(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        ssa_loop: &SsaLoop,
        values: &[Poly],
        within: u32,
    ) -> Result<Vec<Option<LineRead>>, NoTextReason> {
        let mut all = Vec::new();
        for arg in &ssa_loop.args {
            let LoopArg::Captured(a) = arg else {
                all.push(None);
                continue;
            };
            let at: Vec<Poly> =
                a.at.iter().map(|p| IndexSubstitution { values: values.to_vec(), scope }.in_polynomial(p)).collect();
            all.push(Some(self.resolve_read(ssa, scope, a.var, at, within)?));
        }
        Ok(all)
    }

    /// Returns the line that a read inside the loop `within` refers to. If the read is of a body
    /// line of another loop that [`Self::can_recompute`] accepts, it is the recomputed line.
    fn resolve_read(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        var: StmtId,
        at: Vec<Poly>,
        within: u32,
    ) -> Result<(StmtId, Vec<Poly>), NoTextReason> {
        let plain = (scope.line(var), at.clone());
        let Some(Rhs::LoopResult(producer, LoopResult::PerIteration(o))) =
            ssa.stmts.get(var.0 as usize).map(|s| &s.rhs)
        else {
            return Ok(plain);
        };
        let Some(ssa_loop) = ssa.loop_at(*producer) else { return Ok(plain) };
        let Some((_, v)) = ssa_loop.body.outputs.get(*o as usize) else { return Ok(plain) };
        let count = ssa_loop.batch.len() + 1;
        let carried = matches!(ssa_loop.body.stmts.get(v.0 as usize).map(|s| &s.rhs), Some(Rhs::Input(_)));
        if carried || at.len() < count || !can_recompute(ssa, *producer, *v) {
            return Ok(plain);
        }
        let (place, rest) = at.split_at(count);
        let offset = self.recompute_iteration(ssa, scope, (*producer, ssa_loop), place, within)?;
        Ok((StmtId(offset + v.0), rest.to_vec()))
    }

    /// Recomputes an iteration of a loop inside the loop `within`. Returns the offset of the
    /// recomputed lines.
    fn recompute_iteration(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        (producer, ssa_loop): (StmtId, &SsaLoop),
        at: &[Poly],
        within: u32,
    ) -> Result<u32, NoTextReason> {
        let known = self.known_loop(scope, producer)?;
        let (id, sort_key, states) = (known.loop_id, known.first_result, known.inputs.clone());
        let same_iteration = |a: &&Recomputation| a.loop_id == id && a.iteration == at && a.enclosing_loop == within;
        if let Some(known) = self.recomputations.iter().find(same_iteration) {
            return Ok(known.offset);
        }
        // Its `LoopArg::Captured` inputs may need recomputation, too.
        let captured = self.captured_reads(ssa, scope, ssa_loop, at, within)?;
        let (offset, inputs) = self.reserve_body(&ssa_loop.body)?;
        self.recomputations.push(Recomputation { loop_id: id, iteration: at.to_vec(), enclosing_loop: within, offset });
        let mut inner =
            ReadingScope { offset, locals: HashMap::new(), enclosing_loop: Some(within), is_recomputation: true };
        let place = IndexSubstitution { values: at.to_vec(), scope };
        for (l, p) in ssa_loop.body.sizes.iter().zip(&ssa_loop.sizes) {
            inner.locals.insert(*l, place.in_polynomial(p));
        }
        let mut reads = Vec::new();
        for (((arg, input), v), captured) in ssa_loop.args.iter().zip(&ssa_loop.body.inputs).zip(&states).zip(captured)
        {
            let (var, first) = match captured {
                Some(captured) => captured,
                None => (self.state_line(ssa, scope, (producer, ssa_loop), *v, sort_key)?, at.to_vec()),
            };
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let value = match arg {
                    LoopArg::Captured(a) => self.integer_input(ssa, scope, a, &place),
                    LoopArg::Carried { .. } => Poly::atom(Atom::Read(var.local(), var.name(), first.clone().into())),
                };
                inner.locals.insert(input.local, value);
            }
            reads.push((var, first));
        }
        for (((arg, input), v), (var, first)) in ssa_loop.args.iter().zip(&ssa_loop.body.inputs).zip(&inputs).zip(reads)
        {
            let own = self.fresh_axes(&input.leaf.dims, &inner);
            let at = first.into_iter().chain(own.iter().map(Index::value)).collect();
            let name = body_input_name(&ssa_loop.body, input.local, arg);
            let kind = LineKind::Element(SourceExpr::Read(var, at));
            self.store_line(
                *v,
                StatementLine {
                    indices: own,
                    scalar: input.leaf.scalar,
                    kind,
                    name,
                    enclosing_loop: Some(within),
                    sort_key: v.0,
                },
            );
        }
        self.read_body(&ssa_loop.body, &inner)?;
        Ok(offset)
    }

    /// Returns the line that holds the values of a carried line before every iteration, and adds it
    /// with this sort key if it is missing.
    fn state_line(
        &mut self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        (producer, ssa_loop): (StmtId, &SsaLoop),
        v: StmtId,
        sort_key: u32,
    ) -> Result<StmtId, NoTextReason> {
        if let Some(known) = self.iteration_lines.get(&v) {
            return Ok(*known);
        }
        let id = self.known_loop(scope, producer)?.loop_id;
        let line = self.lines.get(v.0 as usize).cloned().ok_or(NoTextReason::InternalError)?;
        let kind = self.loop_result_kind(id, scope, ssa_loop, LoopResultKind::AllIterations(v));
        // Its indices: the batch, the iteration, and the axes of the carried line.
        let mut indices: Vec<Index> = Vec::new();
        for n in &ssa_loop.batch {
            let n = IndexSubstitution { values: indices.iter().map(Index::value).collect(), scope }.in_polynomial(n);
            indices.push(self.facts.fresh_index(n));
        }
        let trips = match ssa_loop.fixed_trip_count() {
            Some(n) => IndexSubstitution { values: indices.iter().map(Index::value).collect(), scope }.in_polynomial(n),
            None => while_trip_count(ssa, scope, (producer, ssa_loop))?,
        };
        indices.push(self.facts.fresh_index(trips));
        for i in &line.indices {
            indices.push(self.facts.fresh_index(i.extent.clone()));
        }
        let var = StmtId(u32::try_from(self.lines.len()).map_err(|_| NoTextReason::TooLarge)?);
        self.store_line(var, StatementLine { indices, kind, enclosing_loop: scope.enclosing_loop, sort_key, ..line });
        self.iteration_lines.insert(v, var);
        Ok(var)
    }

    /// Returns an integer input as a polynomial over the indices.
    fn integer_input(
        &self,
        ssa: &SsaFunction,
        scope: &ReadingScope,
        a: &TensorAccess,
        place: &IndexSubstitution<'_>,
    ) -> Poly {
        let var = scope.line(a.var);
        let at: Vec<Poly> = a.at.iter().map(|p| place.in_polynomial(p)).collect();
        let line = self.lines.get(var.0 as usize);
        if let Some(SourceExpr::Index(p)) = line.and_then(StatementLine::element) {
            let own = line.map(|l| l.indices.clone()).unwrap_or_default();
            return p.substitute(&|a| own.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k).cloned()));
        }
        if let Some(Rhs::Input(k)) = ssa.stmts.get(a.var.0 as usize).map(|s| &s.rhs)
            && let Some(input) = ssa.inputs.get(*k as usize)
            && at.is_empty()
            && (ssa.bounded.contains(&input.local) || scope.locals.contains_key(&input.local))
        {
            let own = Poly::atom(ssa.vars.atom(input.local));
            return scope.locals.get(&input.local).cloned().unwrap_or(own);
        }
        Poly::atom(Atom::Read(var.local(), var.name(), at.into()))
    }
}

/// Returns whether a body statement of a loop can be recomputed. It may depend on
/// `LoopArg::Captured` inputs, on carried scalars, and on carried arrays whose states are kept
/// anyway.
fn can_recompute(ssa: &SsaFunction, producer: StmtId, v: StmtId) -> bool {
    let Some(ssa_loop) = ssa.loop_at(producer) else { return false };
    let body = &ssa_loop.body;
    let kept = |k: u32| {
        ssa.loop_results(producer).any(|(_, result)| match result {
            LoopResult::PerIteration(o) => {
                body.outputs.get(o as usize).is_some_and(|(_, v)| Some(*v) == body.input_statement(k))
            }
            _ => false,
        })
    };
    let (mut pending, mut seen) = (vec![v], BTreeSet::new());
    while let Some(v) = pending.pop() {
        let Some(stmt) = body.stmts.get(v.0 as usize) else { return false };
        if !seen.insert(v) {
            continue;
        }
        if let Rhs::Input(k) = stmt.rhs {
            let carried = matches!(ssa_loop.args.get(k as usize), Some(LoopArg::Carried { .. }));
            if carried && !stmt.dims.is_empty() && !kept(k) {
                return false;
            }
        }
        stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| pending.push(v)));
        stmt.rhs.for_each_operand(&mut |v| pending.push(v));
    }
    true
}

/// Returns the trip count of a `while` loop without a batch as a read of the line that holds it,
/// because only the run computes it.
fn while_trip_count(
    ssa: &SsaFunction,
    scope: &ReadingScope,
    (producer, ssa_loop): (StmtId, &SsaLoop),
) -> Result<Poly, NoTextReason> {
    let is_count = |(_, result): &(StmtId, LoopResult)| *result == LoopResult::TripCount && ssa_loop.batch.is_empty();
    let (v, _) = ssa.loop_results(producer).find(is_count).ok_or(NoTextReason::Loop)?;
    let line = scope.line(v);
    Ok(Poly::atom(Atom::Read(line.local(), line.name(), Arc::from([]))))
}

/// Returns the coefficients of the iteration number in the subscripts of captured reads and in the
/// sizes of the body. A nonlinear occurrence counts as 0.
fn iteration_coefficients(ssa_loop: &SsaLoop) -> BTreeSet<i128> {
    let number = statement_index(ssa_loop.batch.len(), &Poly::default()).atom();
    let mut all = BTreeSet::new();
    let mut add_coefficient = |p: &Poly| {
        if p.mentions(&number) {
            all.insert(p.linear_in(&number).map_or(0, |(c, _)| c));
        }
    };
    ssa_loop.sizes.iter().for_each(&mut add_coefficient);
    for arg in &ssa_loop.args {
        if let LoopArg::Captured(a) = arg {
            a.at.iter().for_each(&mut add_coefficient);
        }
    }
    all
}

/// Chooses the name of a body input. A carried input without a source name takes the name of its
/// next value. A carried cotangent (`_adj`) prefers that name too, because its own name belongs to
/// the cotangent of the state after an iteration.
fn body_input_name(body: &SsaFunction, local: LocalId, arg: &LoopArg) -> Option<Name> {
    let next = match arg {
        LoopArg::Carried { next, .. } => body.outputs.get(*next as usize),
        LoopArg::Captured(_) => None,
    };
    let next = next.and_then(|(_, v)| body.stmts.get(v.0 as usize)).and_then(|s| s.name.clone());
    let own = body.vars.source_name(local);
    own.clone().filter(|name| !name.ends_with("_adj")).or(next).or(own).or_else(|| Some(body.vars.name(local)))
}

/// Returns the lines that a check reads.
pub(super) fn lines_read_by_check(check: &RuntimeCheck) -> Vec<StmtId> {
    let mut all = Vec::new();
    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| all.push(v)));
    all
}

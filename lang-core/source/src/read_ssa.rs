//! **Tensor SSA to lines.** A [`StatementLine`] is one statement as an expression for its element,
//! over indices of its own. Its reads still refer to other statements; [`super::merge`] substitutes
//! them. [`super::writer`] and [`mod@super::entries`] call [`read_lines`] first;
//! [`super::read_loops`] reads the bodies of loops.

use std::collections::HashMap;
use std::sync::Arc;

use super::NoTextReason;
use super::constant_propagation::{FactLookup, propagate_facts, propagate_into_poly, propagate_into_pred};
use super::expression_tree::{ReductionExpr, SourceExpr};
use super::read_loops::{CarriedLine, LoopResultKind, LoopResultLine, ReadLoop, Recomputation};
use super::table::StatementFacts;
use lang_base::{Code, Name, check_cancelled};
use lang_ir::core::{Constant, FunctionKey, ScalarOp};
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, index_number,
    statement_index,
};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// A statement of Tensor SSA, as an expression over its own indices.
#[derive(Clone, Debug)]
pub(super) struct StatementLine {
    /// Its indices.
    pub(super) indices: Vec<Index>,
    /// The scalar type of its elements; `None` for a relation.
    pub(super) scalar: Option<Scalar>,
    /// Its kind, with its expressions.
    pub(super) kind: LineKind,
    /// The name that the program has for it.
    pub(super) name: Option<Name>,
    /// The innermost loop that contains it.
    pub(super) enclosing_loop: Option<u32>,
    /// The sort key of its position among the lines of its loop.
    pub(super) sort_key: u32,
}

/// The kind of a line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum LineKind {
    /// A part of a parameter or of a top-level `let`.
    Input,
    /// A statement with an expression for its element.
    Element(SourceExpr),
    /// One leaf of the result of a call, by its number.
    Call(LineCall, u32),
    /// An array with some elements replaced.
    Update(Box<ArrayUpdate>),
    /// One result of a loop.
    Loop(Box<LoopResultLine>),
    /// A value that a loop carries.
    Carried(Box<CarriedLine>),
    /// A sorting permutation.
    Order(Box<SortedAxis>),
}

/// `argsort(for i: key)`, for every tuple of the batch indices; `own` is `i`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SortedAxis {
    pub(super) batch: Vec<Index>,
    pub(super) axis: Index,
    pub(super) pred: Pred,
    pub(super) key: SourceExpr,
}

/// `base with [at] = value`, for every tuple of the batch indices and the bound indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ArrayUpdate {
    pub(super) batch: Vec<Index>,
    /// The axes of the array.
    pub(super) axes: Vec<Index>,
    /// The element of the array before the update, over `own`.
    pub(super) base: SourceExpr,
    pub(super) bound: Vec<Index>,
    pub(super) pred: Pred,
    pub(super) location: Vec<Poly>,
    pub(super) value: SourceExpr,
    /// Whether the value is added (`+=`).
    pub(super) is_addition: bool,
}

/// A rewrite of one expression of a line. It gets the line's own indices around the expression, the
/// predicate that holds there, and the expression.
type ExpressionRewrite<'f> = &'f mut dyn FnMut(&[Index], &Pred, &SourceExpr) -> SourceExpr;

impl LineKind {
    /// Maps its expressions.
    pub(super) fn map_expressions(&self, indices: &[Index], f: ExpressionRewrite<'_>) -> Self {
        let truth = Pred::truth();
        let and = |a: &[Index], b: &[Index]| a.iter().chain(b).cloned().collect::<Vec<Index>>();
        match self {
            Self::Input => Self::Input,
            Self::Element(e) => Self::Element(f(indices, &truth, e)),
            Self::Call(call, part) => {
                let args = call.args.iter().map(|(own, e)| (own.clone(), f(&and(&call.batch, own), &call.pred, e)));
                Self::Call(LineCall { args: args.collect(), ..call.clone() }, *part)
            }
            Self::Update(of) => Self::Update(Box::new(ArrayUpdate {
                base: f(&and(&of.batch, &of.axes), &truth, &of.base),
                value: f(&and(&of.batch, &of.bound), &of.pred, &of.value),
                ..(**of).clone()
            })),
            Self::Loop(_) => self.clone(),
            Self::Order(of) => {
                let around = and(&of.batch, std::slice::from_ref(&of.axis));
                Self::Order(Box::new(SortedAxis { key: f(&around, &of.pred, &of.key), ..(**of).clone() }))
            }
            Self::Carried(of) => {
                Self::Carried(Box::new(CarriedLine { init: f(&of.init_indices, &truth, &of.init), ..(**of).clone() }))
            }
        }
    }

    /// Calls `f` with each of its expressions and the line's own indices around it.
    pub(super) fn for_each_expression(&self, indices: &[Index], f: &mut dyn FnMut(&[Index], &SourceExpr)) {
        let and = |a: &[Index], b: &[Index]| a.iter().chain(b).cloned().collect::<Vec<Index>>();
        match self {
            Self::Input | Self::Loop(_) => {}
            Self::Element(e) => f(indices, e),
            Self::Call(call, _) => call.args.iter().for_each(|(own, e)| f(&and(&call.batch, own), e)),
            Self::Update(of) => {
                f(&and(&of.batch, &of.axes), &of.base);
                f(&and(&of.batch, &of.bound), &of.value);
            }
            Self::Order(of) => f(&and(&of.batch, std::slice::from_ref(&of.axis)), &of.key),
            Self::Carried(of) => f(&of.init_indices, &of.init),
        }
    }
}

/// A call, for every tuple of the batch indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LineCall {
    pub(super) callee: Arc<FunctionKey>,
    pub(super) pred: Pred,
    /// The leaves of the arguments, each with indices of its own.
    pub(super) args: Vec<(Vec<Index>, SourceExpr)>,
    /// The batch indices.
    pub(super) batch: Vec<Index>,
}

impl LineCall {
    /// Returns the call with known facts substituted.
    pub(super) fn with_facts(&self, facts: FactLookup<'_>) -> Self {
        let index = |i: &Index| Index { extent: propagate_into_poly(&i.extent, facts), ..i.clone() };
        let args = self.args.iter().map(|(own, e)| (own.iter().map(index).collect(), propagate_facts(e, facts).0));
        Self {
            callee: Arc::clone(&self.callee),
            pred: propagate_into_pred(&self.pred, facts),
            args: args.collect(),
            batch: self.batch.iter().map(index).collect(),
        }
    }
}

impl StatementLine {
    /// Calls `f` for each read of a statement. The flag is true if the read is in an index or a
    /// predicate.
    pub(super) fn for_each_use(&self, f: &mut dyn FnMut(StmtId, bool)) {
        self.kind.for_each_expression(&self.indices, &mut |_, e| e.for_each_use(f));
        match &self.kind {
            LineKind::Call(call, _) => for_each_pred_read(&call.pred, &mut |v| f(v, true)),
            LineKind::Update(of) => {
                for_each_pred_read(&of.pred, &mut |v| f(v, true));
                of.location
                    .iter()
                    .chain(of.bound.iter().map(|i| &i.extent))
                    .for_each(|p| for_each_poly_read(p, &mut |v| f(v, true)));
            }
            LineKind::Loop(of) => {
                for_each_pred_read(&of.pred, &mut |v| f(v, true));
                of.trips.iter().for_each(|p| for_each_poly_read(p, &mut |v| f(v, true)));
                self.indices.iter().for_each(|i| for_each_poly_read(&i.extent, &mut |v| f(v, true)));
            }
            LineKind::Order(of) => for_each_pred_read(&of.pred, &mut |v| f(v, true)),
            LineKind::Input | LineKind::Element(_) | LineKind::Carried(_) => {}
        }
    }

    /// Calls `f` with the lines of a loop body that it refers to: the condition and the result of a
    /// loop, or a carried line's next value.
    pub(super) fn for_each_loop_link(&self, f: &mut dyn FnMut(StmtId)) {
        match &self.kind {
            LineKind::Loop(of) => {
                of.condition_line.into_iter().for_each(&mut *f);
                if let LoopResultKind::Last(v) | LoopResultKind::AllIterations(v) = of.result {
                    f(v);
                }
            }
            LineKind::Carried(of) => f(of.next),
            _ => {}
        }
    }

    /// Returns the loop that evaluates its expressions. For a carried line that is the enclosing
    /// loop, because its expression is the initial value.
    pub(super) fn evaluating_loop(&self, table: &StatementFacts) -> Option<u32> {
        match &self.kind {
            LineKind::Carried(_) => table.loops.get(self.enclosing_loop? as usize)?.parent,
            _ => self.enclosing_loop,
        }
    }

    /// Returns the expression for its element, if it is an `Element`.
    pub(super) fn element(&self) -> Option<&SourceExpr> {
        if let LineKind::Element(e) = &self.kind { Some(e) } else { None }
    }

    /// Returns its element at the indices `at`, with fresh bound indices. `None` if it is not an
    /// `Element`.
    pub(super) fn element_at(&self, at: &[Poly], fresh: &mut StatementFacts) -> Option<SourceExpr> {
        let put = |p: &Poly| {
            p.substitute(&|a| self.indices.iter().position(|i| i.atom() == *a).and_then(|k| at.get(k).cloned()))
        };
        Some(self.element()?.with_fresh_indices(fresh).map_polys(&put))
    }

    /// Returns its extents.
    pub(super) fn extents(&self) -> Vec<Poly> {
        self.indices.iter().map(|i| i.extent.clone()).collect()
    }
}

/// Reads all statements of a function, with the bodies of its loops.
pub(super) fn read_lines(ssa: &SsaFunction, fresh: &mut StatementFacts) -> Result<Vec<StatementLine>, NoTextReason> {
    let (lines, loops, agains, states) = (Vec::new(), HashMap::new(), Vec::new(), HashMap::new());
    let mut reading = LineReader { lines, facts: fresh, loops, recomputations: agains, iteration_lines: states };
    reading.reserve_lines(ssa.stmts.len());
    lang_base::ensure_sufficient_stack(|| reading.read_body(ssa, &ReadingScope::default()))?;
    Ok(reading.lines)
}

/// The state of reading a function: the lines so far.
pub(super) struct LineReader<'a> {
    pub(super) lines: Vec<StatementLine>,
    pub(super) facts: &'a mut StatementFacts,
    /// The loops read so far, by the [`ReadingScope::line`] of the loop's statement.
    pub(super) loops: HashMap<StmtId, ReadLoop>,
    /// The iterations of `loops` that other loops recompute.
    pub(super) recomputations: Vec<Recomputation>,
    /// For each line of a loop body, the line that holds its values in all iterations.
    pub(super) iteration_lines: HashMap<StmtId, StmtId>,
}

/// The position of a function's statements among the lines, and the values of its variables there.
#[derive(Clone, Default)]
pub(super) struct ReadingScope {
    /// The offset added to the numbers of its statements.
    pub(super) offset: u32,
    pub(super) locals: HashMap<LocalId, Poly>,
    pub(super) enclosing_loop: Option<u32>,
    /// Whether these statements recompute an iteration of another loop.
    pub(super) is_recomputation: bool,
}

impl ReadingScope {
    /// Returns the line of a statement.
    pub(super) fn line(&self, v: StmtId) -> StmtId {
        StmtId(self.offset + v.0)
    }
}

impl LineReader<'_> {
    /// Reads the statements of a function or of a loop body. A call or a loop has no line, only its
    /// results do. The inputs of a loop body are skipped, because [`super::read_loops`] has set
    /// their lines.
    pub(super) fn read_body(&mut self, ssa: &SsaFunction, scope: &ReadingScope) -> Result<(), NoTextReason> {
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            if stmt.rhs.is_producer() || scope.offset > 0 && matches!(stmt.rhs, Rhs::Input(_)) {
                continue;
            }
            check_cancelled();
            let line = read_statement(ssa, stmt, k, scope, self)?;
            self.store_line(scope.line(StmtId(k)), line);
        }
        Ok(())
    }

    /// Grows the list of lines and the tables to `count` entries.
    pub(super) fn reserve_lines(&mut self, count: usize) {
        let none = StatementLine {
            indices: Vec::new(),
            scalar: None,
            kind: LineKind::Input,
            name: None,
            enclosing_loop: None,
            sort_key: 0,
        };
        self.lines.resize(count.max(self.lines.len()), none);
        self.facts.may_be_zero.resize(self.lines.len(), false);
        self.facts.extents.resize(self.lines.len(), Vec::new());
        self.facts.tame.resize(self.lines.len(), true);
        self.facts.location_extents.resize(self.lines.len(), None);
    }

    /// Stores a line, and the facts about it in the table.
    pub(super) fn store_line(&mut self, v: StmtId, line: StatementLine) {
        let at = v.0 as usize;
        self.reserve_lines(at + 1);
        let (tame, counts) = match &line.kind {
            LineKind::Input => (true, false),
            LineKind::Element(e) => (self.facts.is_tame(e), self.facts.may_be_zero_count(e)),
            LineKind::Call(..)
            | LineKind::Update(_)
            | LineKind::Loop(_)
            | LineKind::Carried(_)
            | LineKind::Order(_) => (false, true),
        };
        self.facts.may_be_zero.get_mut(at).into_iter().for_each(|slot| *slot = counts);
        self.facts.extents.get_mut(at).into_iter().for_each(|slot| *slot = line.extents());
        self.facts.tame.get_mut(at).into_iter().for_each(|slot| *slot = tame);
        let places = line
            .element()
            .and_then(SourceExpr::location_range)
            .filter(|n| !line.indices.iter().any(|i| n.mentions(&i.atom())));
        self.facts.location_extents.get_mut(at).into_iter().for_each(|slot| *slot = places.cloned());
        self.lines.get_mut(at).into_iter().for_each(|slot| *slot = line.clone());
    }
}

fn read_statement(
    ssa: &SsaFunction,
    stmt: &Statement,
    k: u32,
    scope: &ReadingScope,
    reading: &mut LineReader<'_>,
) -> Result<StatementLine, NoTextReason> {
    if let Rhs::LoopResult(producer, result) = &stmt.rhs {
        let is = reading.read_loop_result(ssa, scope, (*producer, *result), k)?;
        let mut values = Vec::new();
        let mut indices = Vec::new();
        for n in &stmt.dims {
            let n = IndexSubstitution { values: values.clone(), scope }.in_polynomial(n);
            let index = reading.facts.fresh_index(n);
            values.push(index.value());
            indices.push(index);
        }
        // If another line already holds the same values in every iteration, this line reads it.
        let is = match &is {
            LineKind::Loop(looped) => match looped.result {
                LoopResultKind::AllIterations(v) => match reading.iteration_lines.get(&v).copied() {
                    Some(known) if known != scope.line(StmtId(k)) => {
                        LineKind::Element(SourceExpr::Read(known, indices.iter().map(Index::value).collect()))
                    }
                    _ => is,
                },
                _ => is,
            },
            _ => is,
        };
        let (name, within, order) = (stmt.name.clone(), scope.enclosing_loop, scope.offset + k);
        return Ok(StatementLine {
            indices,
            scalar: stmt.scalar,
            kind: is,
            name,
            enclosing_loop: within,
            sort_key: order,
        });
    }
    let LineReader { lines: before, facts: fresh, .. } = reading;
    let before = before.get(scope.offset as usize..).unwrap_or_default();
    let mut place = IndexSubstitution { values: Vec::new(), scope };
    let mut own: Vec<Index> = Vec::new();
    for n in &stmt.dims {
        let n = place.in_polynomial(n);
        let index = fresh.fresh_index(n);
        place.values.push(index.value());
        own.push(index);
    }
    let scalar = stmt.scalar.unwrap_or(Scalar::F64);
    let read = |place: &IndexSubstitution, a: &TensorAccess| {
        SourceExpr::Read(scope.line(a.var), a.at.iter().map(|p| place.in_polynomial(p)).collect())
    };
    let is = match &stmt.rhs {
        Rhs::Input(_) => LineKind::Input,
        Rhs::Constant(c) => LineKind::Element(constant_expression(*c)),
        Rhs::Zero => LineKind::Element(zero_of(scalar)),
        Rhs::Index(p) => LineKind::Element(SourceExpr::Index(place.in_polynomial(p))),
        Rhs::Add(items) => {
            if scalar == Scalar::Bool {
                return Err(NoTextReason::BooleanSum);
            }
            let term = |a: &lang_ir::ssa::Addend| {
                let pred =
                    Pred::all(a.pred.conjuncts().iter().filter(|p| !is_nonempty_test(ssa, &a.operand, p)).cloned());
                (a.neg, SourceExpr::guard(place.in_predicate(&pred), read(&place, &a.operand)))
            };
            LineKind::Element(SourceExpr::sum(items.iter().map(term).collect()))
        }
        Rhs::Contract { bound, pred, neg, factors } => {
            let mut indices = Vec::new();
            for n in bound {
                let index = fresh.fresh_index(place.in_polynomial(n));
                place.values.push(index.value());
                indices.push(index);
            }
            if scalar == Scalar::Bool && (factors.len() > 1 || !indices.is_empty()) {
                return Err(NoTextReason::BooleanSum);
            }
            let kept = pred.conjuncts().iter().filter(|p| match factors.as_slice() {
                [one] => !is_nonempty_test(ssa, one, p),
                _ => true,
            });
            let pred = place.in_predicate(&Pred::all(kept.cloned()));
            let factors: Vec<SourceExpr> = factors.iter().map(|a| read(&place, a)).collect();
            let product = match factors.as_slice() {
                [one] if !*neg => one.clone(),
                _ => SourceExpr::product(if *neg { -1.0 } else { 1.0 }, factors, Vec::new()),
            };
            LineKind::Element(SourceExpr::total(indices, pred, product))
        }
        Rhs::Reduce(r) => {
            let mut indices = Vec::new();
            for n in &r.bound {
                let index = fresh.fresh_index(place.in_polynomial(n));
                place.values.push(index.value());
                indices.push(index);
            }
            let put = r.map(&|p| place.in_polynomial(p), &|p| place.in_predicate(p), &mut |a| TensorAccess {
                var: scope.line(a.var),
                at: a.at.iter().map(|p| place.in_polynomial(p)).collect(),
            });
            let body = SourceExpr::Read(put.operand.var, put.operand.at);
            // In the language, `argmax` and a maximum of integers fail over an empty range. If the
            // statement has no such check, a choice supplies the value for no terms.
            let (reducer, terms, place) = (put.reducer, put.filter, put.arg_value);
            let of = ssa.stmts.get(r.operand.var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
            let reduced = ReductionExpr {
                reducer,
                fails_if_empty: reducer.rejects_empty(of),
                indices,
                filter: terms,
                location: place,
                body,
            };
            let some = reduced.has_terms();
            let needs_default = reducer.rejects_empty(of)
                && (!reducer.is_arg_reduction() || some.depends_on_data())
                && !has_empty_range_check(ssa, stmt);
            let nothing = reducer.empty_result(of);
            let reduced = SourceExpr::Reduce(Box::new(reduced));
            let reduced =
                if needs_default { SourceExpr::choice(some, reduced, SourceExpr::Constant(nothing)) } else { reduced };
            LineKind::Element(SourceExpr::guard(put.pred, reduced))
        }
        Rhs::Map { operation, pred, args } => {
            let pred = place.in_predicate(pred);
            let exponent = args.get(1).and_then(|a| integer_constant(before, a.var));
            let args: Vec<SourceExpr> = args.iter().map(|a| read(&place, a)).collect();
            let e = match (operation, args.as_slice()) {
                (ScalarOp::Binary(BinOp::Div), [a, b]) => SourceExpr::product(1.0, vec![a.clone()], vec![b.clone()]),
                (ScalarOp::PowInt, [x, _]) if exponent.is_some() && scalar != Scalar::I64 => {
                    SourceExpr::power(x.clone(), exponent.unwrap_or(1))
                }
                _ => SourceExpr::Apply(*operation, args),
            };
            LineKind::Element(SourceExpr::guard(pred, e))
        }
        Rhs::CallResult(producer, output) => {
            let call = ssa.stmts.get(producer.0 as usize).ok_or(NoTextReason::InternalError)?;
            let Rhs::Call { callee, pred, args, .. } = &call.rhs else { return Err(NoTextReason::InternalError) };
            let batch: Vec<Index> = own.iter().take(call.dims.len()).cloned().collect();
            let pred = place.in_predicate(pred);
            let mut parts = Vec::new();
            for a in args {
                let first: Vec<Poly> = a.at.iter().map(|p| place.in_polynomial(p)).collect();
                let inner = before.get(a.var.0 as usize).map(|l| l.indices.clone()).unwrap_or_default();
                let mut rest = Vec::new();
                for i in inner.iter().skip(first.len()) {
                    rest.push(fresh.fresh_index(i.extent.clone()));
                }
                let at = first.into_iter().chain(rest.iter().map(Index::value)).collect();
                parts.push((rest, SourceExpr::Read(scope.line(a.var), at)));
            }
            LineKind::Call(LineCall { callee: callee.clone(), pred, args: parts, batch }, *output)
        }
        Rhs::Argsort(o) => {
            let (axis, batch) = own.split_last().ok_or(NoTextReason::InternalError)?;
            let key = read(&place, &o.keys);
            // Truth values sort with `true` first, so the key of `false` is 1.
            let truth = ssa.stmts.get(o.keys.var.0 as usize).is_some_and(|s| s.scalar == Some(Scalar::Bool));
            let key = match key {
                SourceExpr::Read(v, at) if truth => {
                    let not = Pred::Element(v.local(), v.name(), at.into(), false);
                    SourceExpr::guard(not, SourceExpr::Constant(Constant::Int(1)))
                }
                key => key,
            };
            LineKind::Order(Box::new(SortedAxis {
                batch: batch.to_vec(),
                axis: axis.clone(),
                pred: place.in_predicate(&o.pred),
                key,
            }))
        }
        Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } => {
            let (batch, left) = own.split_at_checked(*batch as usize).ok_or(NoTextReason::InternalError)?;
            let mut along = Vec::new();
            for n in bound {
                let index = fresh.fresh_index(place.in_polynomial(n));
                place.values.push(index.value());
                along.push(index);
            }
            let mut base = read(&place, base);
            if let SourceExpr::Read(_, at) = &mut base {
                at.extend(left.iter().map(Index::value));
            }
            let updated = ArrayUpdate {
                batch: batch.to_vec(),
                axes: left.to_vec(),
                base,
                bound: along,
                pred: place.in_predicate(pred),
                location: at.iter().map(|p| place.in_polynomial(p)).collect(),
                value: read(&place, value),
                is_addition: *add,
            };
            let zero =
                before.get(value.var.0 as usize).and_then(StatementLine::element).is_some_and(SourceExpr::is_zero);
            // Inside a loop the update happens in place, so it stays an update.
            let element = if scope.enclosing_loop.is_none() { updated.element_after_update(zero) } else { None };
            element.map_or_else(|| LineKind::Update(Box::new(updated)), LineKind::Element)
        }
        Rhs::Call { .. } | Rhs::Loop(_) | Rhs::LoopResult(..) => return Err(NoTextReason::InternalError),
    };
    let (name, within, order) = (stmt.name.clone(), scope.enclosing_loop, scope.offset + k);
    Ok(StatementLine { indices: own, scalar: stmt.scalar, kind: is, name, enclosing_loop: within, sort_key: order })
}

/// Returns whether the statement carries the check for an empty range (E0504).
fn has_empty_range_check(ssa: &SsaFunction, stmt: &Statement) -> bool {
    let code = |c: &u32| ssa.checks.get(*c as usize).map(|c| c.failure.code);
    stmt.needs.iter().any(|c| code(c) == Some(Code::E0504))
}

/// Returns whether `p` states only that the sum `of` has a term. The guard is then redundant,
/// because the sum is zero otherwise.
fn is_nonempty_test(ssa: &SsaFunction, of: &TensorAccess, p: &Pred) -> bool {
    let Some(Rhs::Contract { bound, pred, .. }) = ssa.stmts.get(of.var.0 as usize).map(|s| &s.rhs) else {
        return false;
    };
    let Some(free) = ssa.stmts.get(of.var.0 as usize).map(|s| s.dims.len()) else { return false };
    let some = bound.iter().enumerate().rev();
    let some = some.fold(pred.clone(), |p, (k, n)| Pred::exists(&statement_index(free + k, n), &p));
    let some = some.map(&|p| lang_ir::ssa::substitute_indices(p, &of.at));
    matches!(p, Pred::Exists(..)) && some.conjuncts().contains(p)
}

/// Returns the integer constant that the line of `var` holds, if it is one.
fn integer_constant(lines: &[StatementLine], var: StmtId) -> Option<i64> {
    match lines.get(var.0 as usize)?.element()? {
        SourceExpr::Constant(Constant::Int(k)) => Some(*k),
        _ => None,
    }
}

fn constant_expression(c: Constant) -> SourceExpr {
    if let Constant::Real(x) = c { SourceExpr::real(x) } else { SourceExpr::Constant(c) }
}

/// Returns the zero of a scalar type.
pub(super) fn zero_of(scalar: Scalar) -> SourceExpr {
    match scalar {
        Scalar::F64 | Scalar::F32 => SourceExpr::real(0.0),
        Scalar::I64 => SourceExpr::Constant(Constant::Int(0)),
        Scalar::Bool => SourceExpr::Constant(Constant::Bool(false)),
    }
}

/// The values of a statement's canonical indices, and of the variables of its function.
pub(super) struct IndexSubstitution<'a> {
    pub(super) values: Vec<Poly>,
    pub(super) scope: &'a ReadingScope,
}

impl IndexSubstitution<'_> {
    pub(super) fn in_polynomial(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => match index_number(*l) {
                Some(k) => self.values.get(k).cloned(),
                None => self.scope.locals.get(l).cloned(),
            },
            Atom::Read(x, _, at) if self.scope.offset > 0 => {
                let v = self.scope.line(StmtId::from_local(*x)?);
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.in_polynomial(p)).collect())))
            }
            _ => None,
        })
    }

    pub(super) fn in_predicate(&self, p: &Pred) -> Pred {
        let p = p.map(&|p| self.in_polynomial(p));
        if self.scope.offset == 0 {
            return p;
        }
        p.replace_opaque(&|x| {
            let v = self.scope.line(StmtId::from_local(x.source)?);
            let (local, name, at) = (v.local(), v.name(), x.indices.into());
            Some(if x.is_array { Pred::Element(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}

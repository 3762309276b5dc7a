//! **Cost of calls and loops**: the cost of the inside, summed over all repetitions. A cost that
//! differs between repetitions is summed over their indices; if that has no formula, it becomes a
//! symbol.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::formula_max::max_over_index;
use super::function::{CostAnalysis, CostScope, FunctionCost, StatementCost, element_count};
use super::nest::{CostNest, reads_data};
use super::symbol::{self, CostSymbol, CostSymbolKind, mentions_symbols};
use super::{Amount, FormulaMax};
use lang_base::BackgroundDrop;
use lang_ir::counted_cost::is_real;
use lang_ir::region::{LoopArg, SsaLoop};
use lang_ir::ssa::{Rhs, SsaFunction, Statement, statement_index, substitute_indices};
use lang_sizes::count::{self, Formula, FormulaPiece, Ratio, UncountedReason};
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The first local number of repetition indices around a statement.
const FIRST_REPETITION_INDEX: u32 = (1 << 22) + (1 << 21);

/// The number of distinct repetition indices. Beyond it the numbers repeat.
const MAX_REPETITION_INDICES: u32 = 1 << 20;

/// The repetitions of a call or loop: their index tuples and their count.
struct Repetitions<'s> {
    indices: Vec<Index>,
    pred: Pred,
    context: &'s FactContext,
    count: Formula,
}

impl CostAnalysis<'_> {
    pub(super) fn call_cost(&mut self, scope: &CostScope<'_>, stmt: &Statement) -> StatementCost {
        let Rhs::Call { callee, sizes, pred, args } = &stmt.rhs else { return StatementCost::default() };
        let path = scope.path.clone();
        let indices = self.indices(scope, &stmt.dims, 0);
        let conjuncts = self.conjuncts_in_sizes(scope, pred);
        let form = (stmt.dims.clone(), pred.clone());
        let nest = CostNest::new(form.0.clone(), indices.clone(), stmt.dims.len(), conjuncts, scope.nest_facts());
        let pred = nest.pred().clone();
        let count =
            self.formula_or_symbol(scope, CostSymbolKind::Terms(0), &[&nest], nest.term_count(), || nest.max_terms());
        let tests = nest.test_count();
        let times = Repetitions { indices, pred, context: &scope.context, count };
        let Some((ssa, cost)) = (self.callees)(callee) else {
            return self.unknown_callee_cost(&path);
        };
        // Its sizes and integer parameters, in terms of those of the caller.
        let mut put: HashMap<LocalId, Poly> = HashMap::new();
        for (local, p) in ssa.sizes.iter().zip(sizes) {
            put.insert(*local, self.poly_in_sizes(scope, p));
        }
        for (input, arg) in ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(args) {
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let at: Vec<Poly> = arg.at.iter().map(|p| self.poly_in_sizes(scope, p)).collect();
                let known = self.determined_integer(scope, arg.var, &at);
                put.insert(input.local, known.unwrap_or_else(|| varying_integer(&ssa, input.local)));
            }
        }
        // Its symbols belong to statements inside this one.
        let inside = |s: &CostSymbol| path.iter().chain(&*s.path).copied().collect::<Vec<u32>>();
        let passed = LazyCell::new(|| scope.contents.callee_args(&ssa, sizes, args));
        let called = LazyCell::new(|| scope.contents.batch_content(&form.0, &form.1));
        let mut own = |s: &CostSymbol| {
            let content = s.content.and_then(|c| Some(c.at_call(&passed)?.over_repetitions((*called)?)));
            self.find_or_add_symbol(&inside(s), s.kind, None, content)
        };
        let symbols: Vec<Poly> = cost.symbols.iter().map(&mut own).collect();
        let by = |a: &Atom| match symbol::symbol_number(a) {
            Some(k) => symbols.get(k).cloned(),
            None => substitute_local(a, &put),
        };
        for (own, of) in symbols.iter().zip(&cost.symbols) {
            let most = of.upper_bound.as_ref().and_then(|most| times.max_total(&most.substitute(&by)));
            let slot = own.as_atom().and_then(symbol::symbol_number).and_then(|k| self.symbols.get_mut(k));
            slot.into_iter().for_each(|slot| slot.upper_bound.clone_from(&most));
        }
        self.symbol_facts.extend(cost.symbol_facts.iter().filter_map(|f| times.total(&f.substitute(&by))));
        let put = |f: &Formula| f.substitute(&by);
        let put_all = |all: &FormulaMax| BackgroundDrop::new(all.map(&mut |f| put(f)));
        let Amount { work, tests: inside, iterations, carried } = &cost.total;
        let total = Amount { work: put(work), tests: put(inside), iterations: put(iterations), carried: put(carried) };
        let inner = FunctionCost {
            total,
            statement_amounts: BackgroundDrop::default(),
            stored_bytes: put_all(&cost.stored_bytes),
            span: put_all(&cost.span),
        };
        self.repeat_cost(scope, &times, &inner, tests, false)
    }

    /// Returns the cost of a callee whose cost is unknown: symbols.
    fn unknown_callee_cost(&mut self, path: &[u32]) -> StatementCost {
        let mut of = |kind| Formula::from(self.find_or_add_symbol(path, kind, None, None));
        let (work, tests, iterations) =
            (of(CostSymbolKind::Work), of(CostSymbolKind::Tests), of(CostSymbolKind::Iterations));
        let amount = Amount { work, tests, iterations, carried: Formula::default() };
        StatementCost { span: amount.work.clone().into(), amount, stored_bytes: FormulaMax::default() }
    }

    /// Returns the cost of the iterations of a loop, for all of its batch.
    pub(super) fn loop_cost(&mut self, scope: &CostScope<'_>, of: &SsaLoop) -> StatementCost {
        let path = scope.path.clone();
        let batch = of.batch.len();
        let own = self.indices(scope, &of.batch, 0);
        let conjuncts = self.conjuncts_in_sizes(scope, &of.pred);
        let tests =
            CostNest::new(of.batch.clone(), own.clone(), batch, conjuncts.clone(), scope.nest_facts()).test_count();
        let mut indices = own;
        let trips = of.fixed_trip_count().map(|n| self.poly_in_sizes(scope, n));
        // A placeholder for a trip count that is unknown before the run. No iteration number is
        // provably below it.
        let unbounded = || Poly::atom(Atom::Read(LocalId(0), "trips".into(), Arc::from([])));
        let trips_told = trips.as_ref().is_some_and(|n| !reads_data(n));
        let mut dims = of.batch.clone();
        dims.push(of.fixed_trip_count().cloned().unwrap_or_else(unbounded));
        indices.push(statement_index(batch, &trips.filter(|n| !reads_data(n)).unwrap_or_else(unbounded)));
        let nest = CostNest::new(dims, indices.clone(), batch, conjuncts, scope.nest_facts());
        let terms = if trips_told { nest.term_count() } else { Err(UncountedReason::Data) };
        let most = || if trips_told { nest.max_terms() } else { None };
        let repeated = || scope.contents.repetition_content(of);
        let count = match terms {
            Ok(count) => count,
            Err(_) => {
                let content = repeated().map(|c| c.aspect("trips"));
                self.find_or_add_symbol(&path, CostSymbolKind::Trips, most(), content).into()
            }
        };
        // The outer indices receive other names, because the body has indices of its own.
        let renamed: Vec<Index> = indices.iter().map(|i| self.rename_index(i)).collect();
        let names: Vec<Poly> = renamed.iter().map(Index::value).collect();
        let of_outer = |p: &Poly| substitute_indices(p, &names);
        let indices: Vec<Index> = renamed.into_iter().map(|i| Index { extent: of_outer(&i.extent), ..i }).collect();
        let pred = nest.pred().map(&of_outer);
        let mut known = scope.context.clone();
        indices.iter().filter(|i| !reads_data(&i.extent)).for_each(|i| known.assume_in_range(i));
        known.assume(&pred.data_independent_part());
        let mut put: HashMap<LocalId, Poly> = HashMap::new();
        for (local, p) in of.body.sizes.iter().zip(&of.sizes) {
            put.insert(*local, of_outer(&self.poly_in_sizes(scope, p)));
        }
        for (input, arg) in of.body.inputs.iter().zip(&of.args) {
            if input.leaf.scalar == Some(Scalar::I64) && input.leaf.dims.is_empty() {
                let integer = match arg {
                    LoopArg::Captured(a) => {
                        let at: Vec<Poly> = a.at.iter().map(|p| self.poly_in_sizes(scope, p)).collect();
                        self.determined_integer(scope, a.var, &at).map(|p| of_outer(&p))
                    }
                    LoopArg::Carried { .. } => None,
                };
                put.insert(input.local, integer.unwrap_or_else(|| varying_integer(&of.body, input.local)));
            }
        }
        let once = false;
        let mut body_scope = CostScope {
            ssa: &of.body,
            substitution: put,
            context: known,
            path: path.clone(),
            runs_once: once,
            checked_facts: BackgroundDrop::default(),
            array_extents: BackgroundDrop::default(),
            contents: scope.contents.body_hasher(of),
            counts: BackgroundDrop::default(),
            nest_symbols: BackgroundDrop::default(),
        };
        let (first, bounds) = (self.symbols.len(), self.symbol_facts.len());
        let mut inner = self.function_cost(&mut body_scope);
        inner.total.iterations = inner.total.iterations.add(&Poly::constant(1).into());
        let times = Repetitions { indices, pred, context: &scope.context, count };
        let repeated = if self.symbols.len() > first { repeated() } else { None };
        for symbol in self.symbols.iter_mut().skip(first) {
            symbol.upper_bound = symbol.upper_bound.take().and_then(|most| times.max_total(&most));
            symbol.content = symbol.content.zip(repeated).map(|(c, all)| c.over_repetitions(all));
        }
        let inside = self.symbol_facts.split_off(bounds);
        self.symbol_facts.extend(inside.iter().filter_map(|f| times.total(f)));
        for (k, _) in of.carried_inputs() {
            let leaf = of.body.inputs.get(k as usize).map(|i| &i.leaf).filter(|leaf| is_real(leaf.scalar));
            let dims =
                leaf.map(|leaf| leaf.dims.iter().map(|n| self.poly_in_sizes(&body_scope, n)).collect::<Vec<_>>());
            if let Some(dims) = dims {
                inner.total.carried = inner.total.carried.add(&element_count(&dims, &body_scope.context));
            }
        }
        self.repeat_cost(scope, &times, &inner, tests, true)
    }

    /// Returns the index under a fresh name.
    fn rename_index(&mut self, i: &Index) -> Index {
        self.repetition_indices = (self.repetition_indices + 1) % MAX_REPETITION_INDICES;
        Index { local: LocalId(FIRST_REPETITION_INDEX + self.repetition_indices), ..i.clone() }
    }

    /// Returns the cost of all repetitions. `tests` counts the tests of the repetition itself.
    /// `after`: whether the repetitions run in sequence.
    fn repeat_cost(
        &mut self,
        scope: &CostScope<'_>,
        times: &Repetitions<'_>,
        inner: &FunctionCost,
        tests: Result<Formula, UncountedReason>,
        after: bool,
    ) -> StatementCost {
        let path = &scope.path;
        let Amount { work, tests: inside, iterations, carried } = &inner.total;
        let mut all = |of: &Formula, kind: CostSymbolKind, more: Result<Formula, UncountedReason>| match (
            times.total(of),
            more,
        ) {
            (Some(all), Ok(more)) => all.add(&more),
            (_, more) => {
                let most = times.max_total(of).and_then(|most| Some(most.add(&more.ok()?)));
                self.find_or_add_symbol(path, kind, most, None).into()
            }
        };
        let nothing = || Ok(Formula::default());
        let amount = Amount {
            work: all(work, CostSymbolKind::Work, nothing()),
            tests: all(inside, CostSymbolKind::Tests, tests),
            iterations: all(iterations, CostSymbolKind::Iterations, nothing()),
            carried: times.total(carried).or_else(|| times.max_total(carried)).unwrap_or_default(),
        };
        let most = |f: &Formula| times.max_single(f).or_else(|| times.total(f));
        let some = times.exists_pred();
        let mut untold = false;
        let mut kept = inner.stored_bytes.map(&mut |f| {
            let most = most(f).unwrap_or_else(|| {
                untold = true;
                Formula::default()
            });
            most.restrict(&some)
        });
        if untold {
            kept = Formula::from(self.find_or_add_symbol(path, CostSymbolKind::StoredBytes, None, None)).into();
        }
        let mut untold = false;
        let mut one = |f: &Formula| {
            let formula = if after { times.total(f) } else { most(f) };
            formula.unwrap_or_else(|| {
                untold = true;
                Formula::default()
            })
        };
        let mut span = inner.span.map(&mut one);
        if untold {
            // The span is at most the work.
            span = amount.work.clone().into();
        }
        StatementCost { amount, stored_bytes: kept, span }
    }
}

impl Repetitions<'_> {
    /// Whether it is exactly one repetition.
    fn is_one(&self) -> bool {
        self.indices.is_empty() && self.pred.is_true()
    }

    /// Returns the predicate that a repetition exists, as far as sizes determine it.
    fn exists_pred(&self) -> Pred {
        let extents = self.indices.iter().map(|i| Pred::nonneg(&i.extent.add_constant(-1)));
        let is_determined = |p: &Pred| !p.depends_on_data() && !self.indices.iter().any(|i| p.mentions(&i.atom()));
        Pred::all(self.pred.conjuncts().iter().cloned().chain(extents).filter(is_determined))
    }

    fn mentions(&self, a: &Atom) -> bool {
        self.indices.iter().any(|i| a.mentions(&i.atom()))
    }

    /// Returns the sum of a formula over all repetitions; `None` if that is not a formula.
    fn total(&self, of: &Formula) -> Option<Formula> {
        if of.has_overflowed()
            || of.pieces().iter().any(|p| reads_data(p.value.as_fraction().0) || p.pred.depends_on_data())
        {
            return None;
        }
        if self.is_one() {
            return Some(of.clone());
        }
        if self.indices.is_empty() && !self.pred.depends_on_data() {
            return Some(of.restrict(&self.pred));
        }
        let mut sum = Formula::default();
        for piece in of.pieces() {
            let (plain, of_symbols) = split_by_symbols(&piece.value)?;
            let (mut is_symbolic, mut here) = (false, false);
            piece.pred.visit(
                &mut |p| {
                    is_symbolic |= mentions_symbols(p);
                    p.for_each_atom(&mut |a| here |= self.mentions(a));
                },
                &mut |_| {},
            );
            if is_symbolic {
                return None;
            }
            // A symbol is a total over all repetitions already.
            let mut varies = false;
            of_symbols.as_fraction().0.for_each_atom(&mut |a| varies |= self.mentions(a));
            if !of_symbols.is_zero() {
                if varies || here {
                    return None;
                }
                sum = sum.add(&Formula::from_pieces([FormulaPiece { pred: piece.pred.clone(), value: of_symbols }]));
            }
            if plain.is_zero() {
                continue;
            }
            let mut varies = here;
            plain.as_fraction().0.for_each_atom(&mut |a| varies |= self.mentions(a));
            sum = sum.add(&if varies {
                if self.pred.depends_on_data() || self.indices.iter().any(|i| reads_data(&i.extent)) {
                    return None;
                }
                count::sum(&self.indices, &self.pred.and(&piece.pred), &plain, self.context).ok()?
            } else {
                self.count.mul_ratio(&plain).restrict(&piece.pred)
            });
        }
        (!sum.has_overflowed()).then_some(sum)
    }

    /// Returns an upper bound of the sum over all repetitions.
    fn max_total(&self, of: &Formula) -> Option<Formula> {
        let relaxed = Self {
            indices: self.indices.clone(),
            pred: self.pred.data_independent_part(),
            context: self.context,
            count: count::count(&self.indices, &self.pred.data_independent_part(), self.context).ok()?,
        };
        relaxed.total(of)
    }

    /// Returns an upper bound of the value in any single repetition.
    fn max_single(&self, of: &Formula) -> Option<Formula> {
        if of.pieces().iter().any(|p| reads_data(p.value.as_fraction().0) || p.pred.depends_on_data()) {
            return None;
        }
        let mut of = of.clone();
        for i in self.indices.iter().rev() {
            let mut mentioned = false;
            for p in of.pieces() {
                mentioned |= p.pred.mentions(&i.atom()) || p.value.as_fraction().0.mentions(&i.atom());
            }
            if mentioned {
                of = max_over_index(&of, &i.atom(), &i.extent)?;
            }
        }
        of.pieces().iter().all(|p| !reads_data(p.value.as_fraction().0)).then_some(of)
    }
}

/// Splits a value into the terms without symbols and those with one. `None` if symbols are
/// multiplied, or if one is inside another atom.
fn split_by_symbols(value: &Ratio) -> Option<(Ratio, Ratio)> {
    let (over, under) = value.as_fraction();
    let (mut plain, mut with) = (Poly::default(), Poly::default());
    for (m, c) in over.terms() {
        let mut degree = 0;
        for (a, power) in m {
            if symbol::symbol_number(a).is_some() {
                degree += power;
            } else if mentions_symbols(&Poly::atom(a.clone())) {
                return None;
            }
        }
        if degree > 1 {
            return None;
        }
        let term = Poly::term(m.clone(), *c);
        let side = if degree == 0 { &mut plain } else { &mut with };
        *side = side.add(&term);
    }
    Some((Ratio::new(plain, under), Ratio::new(with, under)))
}

fn substitute_local(a: &Atom, put: &HashMap<LocalId, Poly>) -> Option<Poly> {
    if let Atom::Local(l, _) = a { put.get(l).cloned() } else { None }
}

/// Returns an integer that only the run knows, and that differs between repetitions.
fn varying_integer(of: &SsaFunction, local: LocalId) -> Poly {
    Poly::atom(Atom::Read(local, of.vars.name(local), Arc::from([])))
}

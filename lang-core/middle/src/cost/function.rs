//! **Cost of a function**: visits the statements of Tensor SSA in order and adds up their costs.
//! [`super::cost_assuming`] calls [`cost_of_function`]; `repetition` calls
//! [`CostAnalysis::function_cost`] again for the body of each loop.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::content_hash::{ContentHash, ContentHasher, HasherState};
use super::nest::{CheckedFact, CostNest, MAX_PROOF_STEPS, NestCounts, NestFacts, NestForm};
use super::symbol::{self, CostSymbol, CostSymbolKind};
use super::{Amount, CostFormulas, CostLookup, CostSite, FormulaMax, integer_inputs};
use lang_base::{BackgroundDrop, check_cancelled};
use lang_ir::argsort;
use lang_ir::core::{Constant, ScalarOp};
use lang_ir::counted_cost::{element_bytes, is_real, read_by_loops};
use lang_ir::region::LoopResult;
use lang_ir::ssa::{
    CHECK_PATH_BIT, Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read,
    statement_index, substitute_indices,
};
use lang_sizes::count::{self, Formula, Ratio, UncountedReason};
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The largest number of pieces of a formula. A symbol replaces a larger formula.
const MAX_PIECES: usize = 24;

/// The state of a cost computation: the symbols so far, for the whole function.
pub(super) struct CostAnalysis<'a> {
    pub(super) callees: CostLookup<'a>,
    pub(super) symbols: BackgroundDrop<Vec<CostSymbol>>,
    /// Facts about symbols: non-negative formulas.
    pub(super) symbol_facts: BackgroundDrop<Vec<Formula>>,
    /// The number of repetition indices named so far, for fresh names.
    pub(super) repetition_indices: u32,
}

/// The symbols of nests, by kind and by the forms of the nests.
pub(super) type NestSymbols = HashMap<(CostSymbolKind, Vec<NestForm>), Poly>;

/// The function or loop body whose cost is computed, and the facts that hold in it.
pub(super) struct CostScope<'a> {
    pub(super) ssa: &'a SsaFunction,
    /// Maps its sizes and integer parameters to polynomials over those of the outermost function.
    pub(super) substitution: HashMap<LocalId, Poly>,
    /// Facts about the sizes.
    pub(super) context: FactContext,
    /// The numbers of the enclosing calls and loops, and of the current statement.
    pub(super) path: Vec<u32>,
    /// Whether it runs at most once.
    pub(super) runs_once: bool,
    /// Facts that its runtime checks guarantee.
    pub(super) checked_facts: BackgroundDrop<Vec<CheckedFact>>,
    /// The extents of arrays that predicates read.
    pub(super) array_extents: BackgroundDrop<HashMap<LocalId, Vec<Poly>>>,
    /// The content hashes of its values, in terms of the function's inputs.
    pub(super) contents: ContentHasher<'a>,
    /// Memoised counts of nests.
    pub(super) counts: BackgroundDrop<NestCounts>,
    /// The symbols of the nests counted so far.
    pub(super) nest_symbols: BackgroundDrop<RefCell<NestSymbols>>,
}

impl CostScope<'_> {
    /// Returns the facts that the count of a nest uses.
    pub(super) fn nest_facts(&self) -> NestFacts<'_> {
        NestFacts {
            context: &self.context,
            checked: &self.checked_facts,
            array_extents: &self.array_extents,
            counts: &self.counts,
        }
    }
}

/// The cost of a statement.
#[derive(Default)]
pub(super) struct StatementCost {
    pub(super) amount: Amount,
    /// The bytes kept during its computation.
    pub(super) stored_bytes: FormulaMax,
    /// The span from its operands to its result.
    pub(super) span: FormulaMax,
}

/// The cost of the function or loop body of a [`CostScope`], for one run.
pub(super) struct FunctionCost {
    pub(super) total: Amount,
    pub(super) statement_amounts: BackgroundDrop<Vec<(CostSite, Amount)>>,
    pub(super) stored_bytes: BackgroundDrop<FormulaMax>,
    pub(super) span: BackgroundDrop<FormulaMax>,
}

/// Returns the cost of a function if the predicates `assumptions` hold.
pub(super) fn cost_of_function(ssa: &SsaFunction, assumptions: &[Pred], callees: CostLookup<'_>) -> CostFormulas {
    let mut sizes: Vec<Poly> = Vec::new();
    let mut add_size = |p: &Poly| {
        if p.as_constant().is_none() && !sizes.contains(p) {
            sizes.push(p.clone());
        }
    };
    ssa.sizes.iter().for_each(|l| add_size(&Poly::atom(Atom::Local(*l, ssa.vars.name(*l)))));
    ssa.inputs.iter().flat_map(|i| &i.leaf.dims).filter(|n| !super::nest::reads_data(n)).for_each(add_size);
    let mut known = FactContext::new(&sizes);
    assumptions.iter().for_each(|p| known.assume(p));
    let names = integer_inputs::integer_names(ssa);
    let constructors = integer_inputs::constructor_facts(ssa, &names);
    constructors.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
    let mut walk = CostAnalysis {
        callees,
        symbols: BackgroundDrop::default(),
        symbol_facts: BackgroundDrop::default(),
        repetition_indices: 0,
    };
    let shared = HasherState::default();
    let mut scope = CostScope {
        ssa,
        substitution: HashMap::new(),
        context: known,
        path: Vec::new(),
        runs_once: true,
        checked_facts: BackgroundDrop::default(),
        array_extents: BackgroundDrop::default(),
        contents: ContentHasher::new(ssa, &shared),
        counts: BackgroundDrop::default(),
        nest_symbols: BackgroundDrop::default(),
    };
    let FunctionCost { mut total, statement_amounts, stored_bytes, span } = walk.function_cost(&mut scope);
    for (count, kind) in [
        (&mut total.work, CostSymbolKind::Work),
        (&mut total.tests, CostSymbolKind::Tests),
        (&mut total.iterations, CostSymbolKind::Iterations),
    ] {
        if count.has_overflowed() {
            *count = walk.find_or_add_symbol(&[], kind, None, None).into();
        }
    }
    let leaves = ssa.inputs.iter().map(|i| &i.leaf).chain(ssa.outputs.iter().map(|(leaf, _)| leaf));
    let mut io = Formula::default();
    for leaf in leaves.filter(|leaf| is_real(leaf.scalar)) {
        let dims: Vec<Poly> = leaf.dims.iter().map(|n| walk.poly_in_sizes(&scope, n)).collect();
        io = io.add(&element_count(&dims, &scope.context));
    }
    let proved = facts_from_checks(&scope);
    sizes.extend(proved);
    sizes.extend(constructors);
    let known = &scope.context;
    CostFormulas {
        total: total.cases(known),
        statement_amounts: statement_amounts.take(),
        io_elements: io.to_cases(known),
        stored_bytes: stored_bytes.take(),
        span: span.take(),
        symbols: walk.symbols.take(),
        size_facts: sizes,
        symbol_facts: walk.symbol_facts.take(),
        names,
    }
}

/// Returns polynomials that checks prove non-negative for all sizes at which the function has a
/// value. If a checked polynomial mentions no index, it is non-negative wherever index tuples
/// exist. So its product with the number of tuples is non-negative for all sizes.
fn facts_from_checks(scope: &CostScope<'_>) -> Vec<Poly> {
    let mut all = Vec::new();
    for checked in scope.checked_facts.iter().filter(|checked| checked.guard.is_true()) {
        let extents: Vec<&Poly> = checked.indices.iter().map(|i| &i.extent).collect();
        if !extents.iter().all(|n| scope.context.implies(&Pred::nonneg(n))) {
            continue;
        }
        for p in checked.cond.conjuncts().iter().filter(|p| !p.depends_on_data()) {
            let p = match p {
                Pred::Ge(p) => p.clone(),
                Pred::Ne(p) if scope.context.implies(&Pred::nonneg(p)) => p.add_constant(-1),
                _ => continue,
            };
            let fact = extents.iter().fold(p, |fact, n| fact.mul(n));
            let indexed = checked.indices.iter().any(|i| fact.mentions(&i.atom()));
            let is_excluded =
                indexed || super::nest::reads_data(&fact) || symbol::mentions_symbols(&fact) || fact.has_overflowed();
            if !is_excluded && !scope.context.implies(&Pred::nonneg(&fact)) && !all.contains(&fact) {
                all.push(fact);
            }
        }
    }
    all
}

/// Returns the number of elements of an array with these extents.
pub(super) fn element_count(dims: &[Poly], known: &FactContext) -> Formula {
    let indices: Vec<Index> = dims.iter().enumerate().map(|(k, n)| statement_index(k, n)).collect();
    count::count(&indices, &Pred::truth(), known).unwrap_or_else(|_| {
        let all = dims.iter().fold(Poly::constant(1), |all, n| all.mul(n));
        Formula::from(all).restrict(&Pred::all(dims.iter().map(Pred::nonneg)))
    })
}

impl CostAnalysis<'_> {
    /// Returns the symbol for a data-dependent number of a statement: a total over all runs, or the
    /// value of an integer. Creates the symbol if the path has none of this kind.
    pub(super) fn find_or_add_symbol(
        &mut self,
        path: &[u32],
        kind: CostSymbolKind,
        upper_bound: Option<Formula>,
        content: Option<ContentHash>,
    ) -> Poly {
        let known = self.symbols.iter().position(|s| s.kind == kind && *s.path == *path);
        let k = known.unwrap_or(self.symbols.len());
        let symbol = Poly::atom(symbol::symbol_atom(k));
        if known.is_none() {
            if kind != CostSymbolKind::Value {
                self.symbol_facts.push(symbol.clone().into());
            }
            if let Some(bound) = &upper_bound {
                self.symbol_facts.push(difference(bound, &symbol.clone().into()));
            }
            self.symbols.push(CostSymbol { path: path.into(), kind, upper_bound, content });
        }
        symbol
    }

    /// Returns the cost of one run of the scope's function or loop body.
    pub(super) fn function_cost(&mut self, scope: &mut CostScope<'_>) -> FunctionCost {
        let ssa = scope.ssa;
        let needed: BTreeSet<u32> = ssa.stmts.iter().flat_map(|s| &s.needs).chain(&ssa.needs).copied().collect();
        let checks: Vec<(u32, &RuntimeCheck)> =
            needed.iter().filter_map(|c| Some((*c, ssa.checks.get(*c as usize)?))).collect();
        self.record_predicate_arrays(scope, checks.iter().map(|(_, check)| *check));
        for (_, check) in &checks {
            let indices = self.indices(scope, &check.dims, 0);
            let (guard, cond) = (self.pred_in_sizes(scope, &check.guard), self.pred_in_sizes(scope, &check.cond));
            scope.checked_facts.push(CheckedFact { indices, guard, cond });
        }
        self.record_position_ranges(scope);
        let mut amounts: BackgroundDrop<Vec<(CostSite, Amount)>> = BackgroundDrop::default();
        let (mut nested_bytes, mut loop_bytes) = (BackgroundDrop::<FormulaMax>::default(), Formula::default());
        let mut spans: BackgroundDrop<Vec<FormulaMax>> = BackgroundDrop::default();
        let read = read_by_loops(ssa);
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            check_cancelled();
            if matches!(stmt.rhs, Rhs::LoopResult(_, LoopResult::PerIteration(_) | LoopResult::Checkpoint(_)))
                && read.contains(&StmtId(k))
            {
                let dims: Vec<Poly> = stmt.dims.iter().map(|n| self.poly_in_sizes(scope, n)).collect();
                loop_bytes = loop_bytes.add(
                    &element_count(&dims, &scope.context)
                        .mul_ratio(&Ratio::constant(element_bytes(stmt.scalar).into())),
                );
            }
            scope.path.push(k);
            let cost = self.statement_cost(scope, stmt);
            scope.path.pop();
            let mut operand_span = FormulaMax::default();
            let mut reads = |v: StmtId| {
                if let Some(span) = spans.get(v.0 as usize) {
                    operand_span = std::mem::take(&mut operand_span).max(span);
                }
            };
            stmt.rhs.for_each_operand(&mut reads);
            spans.push(span_sum(&operand_span, &cost.span));
            *nested_bytes = std::mem::take(&mut *nested_bytes).max(&cost.stored_bytes);
            if !cost.amount.is_zero() {
                amounts.push((CostSite::Statement(StmtId(k)), cost.amount));
            }
        }
        for (c, check) in &checks {
            let amount = self.check_cost(scope, *c, check);
            if !amount.is_zero() {
                amounts.push((CostSite::Check(*c), amount));
            }
        }
        let total = amounts.iter().fold(Amount::default(), |sum, (_, amount)| sum.add(amount));
        let longest = spans.iter().fold(FormulaMax::default(), |all, one| all.max(one));
        FunctionCost {
            total,
            statement_amounts: amounts,
            stored_bytes: BackgroundDrop::new(nested_bytes.add_to_each(&loop_bytes)),
            span: BackgroundDrop::new(longest),
        }
    }

    /// Records the extents of arrays that predicates read.
    fn record_predicate_arrays<'c>(
        &mut self,
        scope: &mut CostScope<'_>,
        checks: impl Iterator<Item = &'c RuntimeCheck>,
    ) {
        let mut read: BTreeSet<StmtId> = BTreeSet::new();
        let mut note = |p: &Pred| for_each_pred_read(p, &mut |v| read.extend([v]));
        scope.ssa.stmts.iter().for_each(|s| s.rhs.for_each_pred(&mut note));
        checks.for_each(|c| [&c.guard, &c.cond].into_iter().for_each(&mut note));
        for var in read {
            let Some(stmt) = scope.ssa.stmts.get(var.0 as usize) else { continue };
            let dims = stmt.dims.iter().map(|n| self.poly_in_sizes(scope, n)).collect();
            scope.array_extents.insert(var.local(), dims);
        }
    }

    /// Records the ranges of positions that data determine. The elements of an `argsort` are below
    /// the extent. An `argmax` or `argmin` is the position of a term, if one exists.
    fn record_position_ranges(&mut self, scope: &mut CostScope<'_>) {
        let ssa = scope.ssa;
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let (below, pred, has_term) = match &stmt.rhs {
                Rhs::Argsort(o) => match stmt.dims.last() {
                    Some(n) => (self.poly_in_sizes(scope, n), self.pred_in_sizes(scope, &o.pred), Pred::truth()),
                    None => continue,
                },
                Rhs::Reduce(r) if r.reducer.is_arg_reduction() && r.returns_linear_index(stmt.dims.len()) => {
                    let all = r.bound.iter().fold(Poly::constant(1), |all, n| all.mul(&self.poly_in_sizes(scope, n)));
                    // Without a term the position is -1.
                    let has_term =
                        if r.filter.is_true() { Pred::nonneg(&all.add_constant(-1)) } else { Pred::falsity() };
                    (all, self.pred_in_sizes(scope, &r.pred), has_term)
                }
                _ => continue,
            };
            if scope.runs_once && stmt.dims.is_empty() {
                let mut here = scope.context.clone();
                here.assume(&pred);
                self.record_position_range(scope, StmtId(k), &below, if here.implies(&has_term) { 0 } else { -1 });
                continue;
            }
            let indices = self.indices(scope, &stmt.dims, 0);
            let element = Atom::Read(StmtId(k).local(), StmtId(k).name(), indices.iter().map(Index::value).collect());
            let cond = Pred::in_range(&Poly::atom(element), &below);
            scope.checked_facts.push(CheckedFact { indices, guard: pred.and(&has_term), cond });
        }
    }

    /// Records the range of one position: at least `least`, and below the extent if that is not 0.
    fn record_position_range(&mut self, scope: &mut CostScope<'_>, var: StmtId, below: &Poly, least: i128) {
        let Some(position) = self.element_in_sizes(scope, var.local(), &[]) else { return };
        let greatest = below.add_constant(-1).maximum(&Poly::default());
        for fact in [position.add_constant(-least), greatest.sub(&position)] {
            scope.context.assume(&Pred::nonneg(&fact));
            self.symbol_facts.push(fact.into());
        }
    }

    /// Returns the cost of a runtime check: the tests of its guard and condition.
    fn check_cost(&mut self, scope: &mut CostScope<'_>, c: u32, check: &RuntimeCheck) -> Amount {
        let guard = self.conjuncts_in_sizes(scope, &check.guard);
        let nest = self.cost_nest(scope, &check.dims, check.dims.len(), guard);
        let (mut tests, mut max_tests) = (nest.test_count(), nest.max_tests());
        if check.cond.depends_on_data() {
            tests = tests.and_then(|tests| Ok(tests.add(&nest.term_count()?)));
            max_tests = max_tests.and_then(|max_tests| Some(max_tests.add(&nest.max_terms()?)));
        }
        let mut path = scope.path.clone();
        path.push(CHECK_PATH_BIT | c);
        let tests = tests.ok().filter(|t| t.pieces().len() <= MAX_PIECES);
        let tests =
            tests.unwrap_or_else(|| self.find_or_add_symbol(&path, CostSymbolKind::Tests, max_tests, None).into());
        Amount { tests, ..Amount::default() }
    }

    /// Returns the cost of a statement in one run of its function or loop body.
    fn statement_cost(&mut self, scope: &CostScope<'_>, stmt: &Statement) -> StatementCost {
        let path = scope.path.clone();
        let real = i128::from(is_real(stmt.scalar));
        let mut cost = StatementCost::default();
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero | Rhs::CallResult(..) | Rhs::LoopResult(..) => {}
            Rhs::Index(_) => {
                let nest = self.cost_nest(scope, &stmt.dims, stmt.dims.len(), Vec::new());
                cost.amount.iterations = self.term_count(scope, 0, &nest);
            }
            Rhs::Add(items) => {
                let free = self.indices(scope, &stmt.dims, 0);
                let (mut terms, mut any) = (Formula::default(), Vec::new());
                let mut nests = Vec::new();
                for (k, item) in (0..).zip(items) {
                    let conjuncts = self.conjuncts_in_sizes(scope, &item.pred);
                    let nest = self.cost_nest(scope, &stmt.dims, free.len(), conjuncts);
                    terms = terms.add(&self.term_count(scope, k, &nest));
                    any.push((item.pred.clone(), nest.pred().clone()));
                    nests.push(nest);
                }
                cost.amount.tests = self.test_count(scope, &nests.iter().collect::<Vec<_>>());
                if real > 0 {
                    let (forms, preds): (Vec<Pred>, Vec<Pred>) = any.into_iter().unzip();
                    if !are_disjoint(&preds, &free, &scope.context) {
                        let any = (Pred::any_of(forms), Pred::any_of(preds));
                        let nest = self.cost_nest(scope, &stmt.dims, free.len(), vec![any]);
                        cost.amount.work = difference(&terms, &self.nonempty_count(scope, &nest, &terms));
                    }
                    let additions = i128::try_from(items.len().saturating_sub(1)).unwrap_or(0);
                    cost.span = Formula::from(Poly::constant(additions)).into();
                }
                cost.amount.iterations = terms;
            }
            Rhs::Contract { bound, pred, factors, .. } => {
                let products = i128::try_from(factors.len().saturating_sub(1)).unwrap_or(0);
                self.reduction_cost(scope, stmt, bound, pred, (real > 0).then_some(products), None, &mut cost);
            }
            Rhs::Reduce(r) => {
                let of = scope.ssa.stmts.get(r.operand.var.0 as usize).and_then(|s| s.scalar);
                let work = is_real(of).then_some(0);
                self.reduction_cost(scope, stmt, &r.bound, &r.visited_domain(), work, Some(&r.pred), &mut cost);
            }
            Rhs::Argsort(o) => {
                let pred = self.conjuncts_in_sizes(scope, &o.pred);
                let (outer, last) = stmt.dims.split_at(stmt.dims.len().saturating_sub(1));
                let last = self.indices(scope, last, outer.len());
                let nest = self.cost_nest(scope, outer, outer.len(), pred.clone());
                cost.amount.tests = self.test_count(scope, &[&nest]);
                let all = self.cost_nest(scope, &stmt.dims, stmt.dims.len(), pred);
                cost.amount.iterations = self.term_count(scope, 0, &all);
                let of = scope.ssa.stmts.get(o.keys.var.0 as usize).and_then(|s| s.scalar);
                let alone = last.iter().all(|i| i.extent.as_constant().is_some_and(|n| n <= 1));
                if is_real(of) && !alone {
                    let n = last.first().and_then(|i| i.extent.as_constant()).and_then(|n| u64::try_from(n).ok());
                    let most = n.map(argsort::max_comparisons).map(|c| Ratio::constant(c.into()));
                    let most = nest.max_terms().and_then(|rows| Some(rows.mul_ratio(&most?)));
                    let content = scope
                        .path
                        .last()
                        .and_then(|k| scope.contents.statement_content(StmtId(*k)))
                        .map(|c| c.aspect("work"));
                    cost.amount.work = self.find_or_add_symbol(&path, CostSymbolKind::Work, most, content).into();
                    cost.span = cost.amount.work.clone().into();
                }
            }
            Rhs::Map { operation, pred, args } => {
                let of = args.first().and_then(|a| scope.ssa.stmts.get(a.var.0 as usize)?.scalar);
                self.map_cost(scope, stmt, *operation, pred, of.unwrap_or(Scalar::Bool), &mut cost);
            }
            Rhs::Update { batch, bound, pred, accumulate, .. } => {
                let batch = *batch as usize;
                let mut dims: Vec<Poly> = stmt.dims.clone();
                dims.iter_mut().skip(batch).for_each(|n| *n = Poly::constant(1));
                let free = dims.len();
                dims.extend(bound.iter().cloned());
                let conjuncts = self.conjuncts_in_sizes(scope, pred);
                let nest = self.cost_nest(scope, &dims, free, conjuncts);
                let terms = self.term_count(scope, 0, &nest);
                cost.amount.tests = self.test_count(scope, &[&nest]);
                if *accumulate && real > 0 {
                    cost.amount.work = terms.clone();
                    cost.span = Formula::from(Poly::constant(1)).into();
                }
                cost.amount.iterations = terms;
            }
            Rhs::Call { .. } => return self.call_cost(scope, stmt),
            Rhs::Loop(of) => return self.loop_cost(scope, of),
        }
        cost
    }

    /// Adds the cost of a contraction or a reduction: `products` multiplications for each term, and
    /// the operations that combine the terms. If `products` is `None`, the elements are not real
    /// and cost no work. The predicate `first` is evaluated once for each element of the result.
    #[expect(clippy::too_many_arguments, reason = "the parts of both right-hand sides")]
    fn reduction_cost(
        &mut self,
        scope: &CostScope<'_>,
        stmt: &Statement,
        bound: &[Poly],
        pred: &Pred,
        products: Option<i128>,
        first: Option<&Pred>,
        cost: &mut StatementCost,
    ) {
        let dims: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
        let conjuncts = self.conjuncts_in_sizes(scope, pred);
        let nest = self.cost_nest(scope, &dims, stmt.dims.len(), conjuncts);
        let terms = self.term_count(scope, 0, &nest);
        let first = first.map(|p| {
            let conjuncts = self.conjuncts_in_sizes(scope, p);
            self.cost_nest(scope, &stmt.dims, stmt.dims.len(), conjuncts)
        });
        cost.amount.tests = self.test_count(scope, &[&nest].into_iter().chain(first.as_ref()).collect::<Vec<_>>());
        if let Some(products) = products {
            // Without bound indices, each element has one term.
            let present = if bound.is_empty() { terms.clone() } else { self.nonempty_count(scope, &nest, &terms) };
            cost.amount.work = difference(&terms.mul_ratio(&Ratio::constant(products + 1)), &present);
            let inner = self.indices(scope, bound, stmt.dims.len());
            // An element has at most as many terms as the bound indices have values.
            let each = count::count(&inner, &Pred::truth(), &scope.context).unwrap_or_else(|_| terms.clone());
            let chain =
                difference(&each, &Formula::from(Poly::constant(1))).add(&Formula::from(Poly::constant(products)));
            let some = Pred::all(inner.iter().map(|i| Pred::nonneg(&i.extent.add_constant(-1))));
            cost.span = chain.restrict(&some).simplify(&scope.context).into();
        }
        cost.amount.iterations = terms;
    }

    /// Adds the cost of a scalar operation on each element. `of` is the scalar type of its
    /// operands.
    fn map_cost(
        &mut self,
        scope: &CostScope<'_>,
        stmt: &Statement,
        operation: ScalarOp,
        pred: &Pred,
        of: Scalar,
        cost: &mut StatementCost,
    ) {
        let conjuncts = self.conjuncts_in_sizes(scope, pred);
        let nest = self.cost_nest(scope, &stmt.dims, stmt.dims.len(), conjuncts);
        let terms = self.term_count(scope, 0, &nest);
        cost.amount.tests = self.test_count(scope, &[&nest]);
        let work = i128::from(operation.work(of));
        cost.amount.work = terms.mul_ratio(&Ratio::constant(work));
        cost.amount.iterations = terms;
        cost.span = Formula::from(Poly::constant(work)).into();
    }

    /// Returns the loop nest over indices of these extents, of which the first `free` are free.
    /// Each conjunct comes as written and in terms of the sizes.
    pub(super) fn cost_nest<'n>(
        &mut self,
        scope: &'n CostScope<'_>,
        dims: &[Poly],
        free: usize,
        conjuncts: Vec<(Pred, Pred)>,
    ) -> CostNest<'n> {
        CostNest::new(dims.to_vec(), self.indices(scope, dims, 0), free, conjuncts, scope.nest_facts())
    }

    /// Returns a count of nests: the formula `of` if it exists and is small, else a symbol with the
    /// upper bound `most`. Equal nests have equal symbols.
    pub(super) fn formula_or_symbol(
        &mut self,
        scope: &CostScope<'_>,
        kind: CostSymbolKind,
        nests: &[&CostNest<'_>],
        of: Result<Formula, UncountedReason>,
        most: impl FnOnce() -> Option<Formula>,
    ) -> Formula {
        if let Ok(of) = of
            && of.pieces().len() <= MAX_PIECES
            && !of.has_overflowed()
        {
            return of;
        }
        let key = symbol_key(kind, nests);
        if let Some(known) = scope.nest_symbols.borrow().get(&key) {
            return known.clone().into();
        }
        let content = match (kind, nests) {
            (CostSymbolKind::Terms(_), [nest]) => {
                scope.contents.nest_content(&nest.form(), false).map(|c| c.aspect("terms"))
            }
            (CostSymbolKind::NonemptyElements, [nest]) => {
                scope.contents.nest_content(&nest.form(), true).map(|c| c.aspect("present"))
            }
            _ => None,
        };
        let symbol = self.find_or_add_symbol(&scope.path, kind, most(), content);
        scope.nest_symbols.borrow_mut().insert(key, symbol.clone());
        symbol.into()
    }

    /// Returns the number of index tuples of a nest. `k` is the number of the term in a sum.
    fn term_count(&mut self, scope: &CostScope<'_>, k: u32, nest: &CostNest<'_>) -> Formula {
        let direct = nest.term_count();
        let complement = if direct.is_err() {
            complement_count(scope, CostSymbolKind::Terms(0), nest, CostNest::term_count)
        } else {
            None
        };
        complement.unwrap_or_else(|| {
            self.formula_or_symbol(scope, CostSymbolKind::Terms(k), &[nest], direct, || nest.max_terms())
        })
    }

    /// Returns the number of elements that have a term. It is at most `terms`.
    fn nonempty_count(&mut self, scope: &CostScope<'_>, nest: &CostNest<'_>, terms: &Formula) -> Formula {
        let direct = nest.nonempty_count();
        let complement = if direct.is_err() {
            complement_count(scope, CostSymbolKind::NonemptyElements, nest, CostNest::nonempty_count)
        } else {
            None
        };
        if let Some(complement) = complement {
            return complement;
        }
        let count = self.symbols.len();
        let present = self
            .formula_or_symbol(scope, CostSymbolKind::NonemptyElements, &[nest], direct, || nest.max_nonempty_count());
        if self.symbols.len() > count {
            self.symbol_facts.push(difference(terms, &present));
        }
        present
    }

    /// Returns the tests of all these nests together.
    fn test_count(&mut self, scope: &CostScope<'_>, nests: &[&CostNest<'_>]) -> Formula {
        let sum = nests.iter().try_fold(Formula::default(), |sum, n| Ok(sum.add(&n.test_count()?)));
        let most = || nests.iter().try_fold(Formula::default(), |sum, n| Some(sum.add(&n.max_tests()?)));
        self.formula_or_symbol(scope, CostSymbolKind::Tests, nests, sum, most)
    }

    /// Returns indices of these extents, numbered from `from`.
    pub(super) fn indices(&mut self, scope: &CostScope<'_>, dims: &[Poly], from: usize) -> Vec<Index> {
        dims.iter().enumerate().map(|(k, n)| statement_index(from + k, &self.poly_in_sizes(scope, n))).collect()
    }

    /// Returns the conjuncts of a predicate, each also in terms of the sizes.
    pub(super) fn conjuncts_in_sizes(&mut self, scope: &CostScope<'_>, p: &Pred) -> Vec<(Pred, Pred)> {
        p.conjuncts().iter().map(|p| (p.clone(), self.pred_in_sizes(scope, p))).collect()
    }

    /// Returns a predicate in terms of the sizes.
    pub(super) fn pred_in_sizes(&mut self, scope: &CostScope<'_>, p: &Pred) -> Pred {
        let mut found: HashMap<Poly, Poly> = HashMap::new();
        p.visit(&mut |p| drop(found.insert(p.clone(), Poly::default())), &mut |_| {});
        for (from, to) in &mut found {
            *to = self.poly_in_sizes(scope, from);
        }
        p.map(&|p| found.get(p).cloned().unwrap_or_else(|| p.clone()))
    }

    /// Returns a polynomial in terms of the sizes. Data that may differ between runs of a statement
    /// remain reads.
    pub(super) fn poly_in_sizes(&mut self, scope: &CostScope<'_>, p: &Poly) -> Poly {
        if scope.substitution.is_empty() && !super::nest::reads_data(p) {
            return p.clone();
        }
        let mut atoms: Vec<Atom> = Vec::new();
        p.for_each_atom(&mut |a| {
            if matches!(a, Atom::Local(..) | Atom::Read(..)) && !atoms.contains(a) {
                atoms.push(a.clone());
            }
        });
        let mut put: Vec<(Atom, Poly)> = Vec::new();
        for a in atoms {
            let by = match &a {
                Atom::Local(l, _) => scope.substitution.get(l).cloned(),
                Atom::Read(x, name, at) => {
                    let at: Vec<Poly> = at.iter().map(|p| self.poly_in_sizes(scope, p)).collect();
                    Some(
                        self.element_in_sizes(scope, *x, &at)
                            .unwrap_or_else(|| Poly::atom(Atom::Read(*x, name.clone(), at.into()))),
                    )
                }
                _ => None,
            };
            put.extend(by.map(|by| (a, by)));
        }
        p.substitute(&|a| put.iter().find(|(b, _)| a == b).map(|(_, p)| p.clone()))
    }

    /// Returns an element of an integer array, if sizes and indices determine it, or if it is
    /// computed only once.
    fn element_in_sizes(&mut self, scope: &CostScope<'_>, x: LocalId, at: &[Poly]) -> Option<Poly> {
        let var = StmtId::from_local(x)?;
        if let Some(p) = self.determined_integer(scope, var, at) {
            return Some(p);
        }
        if scope.runs_once && at.is_empty() {
            let path: Vec<u32> =
                scope.path.iter().copied().take(scope.path.len().saturating_sub(1)).chain([var.0]).collect();
            let content = match &scope.ssa.stmts.get(var.0 as usize)?.rhs {
                Rhs::LoopResult(producer, LoopResult::TripCount) => {
                    let of = scope.ssa.loop_at(*producer)?;
                    scope.contents.repetition_content(of).map(|c| c.aspect("trips"))
                }
                _ => scope.contents.statement_content(var).map(|c| c.aspect("value")),
            };
            return Some(self.find_or_add_symbol(&path, CostSymbolKind::Value, None, content));
        }
        None
    }

    /// Returns an element of an integer variable, if sizes and indices determine it.
    pub(super) fn determined_integer(&mut self, scope: &CostScope<'_>, var: StmtId, at: &[Poly]) -> Option<Poly> {
        match &scope.ssa.stmts.get(var.0 as usize)?.rhs {
            Rhs::Index(p) => {
                let p = substitute_indices(p, at);
                Some(self.poly_in_sizes(scope, &p)).filter(|p| !super::nest::reads_data(p))
            }
            Rhs::Constant(Constant::Int(i)) => Some(Poly::constant((*i).into())),
            Rhs::Input(k) => {
                let input = scope.ssa.inputs.get(*k as usize)?;
                let local = || Poly::atom(Atom::Local(input.local, scope.ssa.vars.name(input.local)));
                let by = scope.substitution.get(&input.local).cloned().or_else(|| scope.runs_once.then(local))?;
                (at.is_empty() && input.leaf.dims.is_empty() && !super::nest::reads_data(&by)).then_some(by)
            }
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                let [TensorAccess { var, at: inner }] = factors.as_slice() else { return None };
                let inner: Vec<Poly> = inner.iter().map(|p| substitute_indices(p, at)).collect();
                self.determined_integer(scope, *var, &inner)
            }
            _ => None,
        }
    }
}

/// Returns the key under which equal counts of nests share a symbol.
fn symbol_key(kind: CostSymbolKind, nests: &[&CostNest<'_>]) -> (CostSymbolKind, Vec<NestForm>) {
    let class = match kind {
        CostSymbolKind::Terms(_) => CostSymbolKind::Terms(0),
        // Without bound indices, each element has one term.
        CostSymbolKind::NonemptyElements if nests.iter().all(|n| n.is_free()) => CostSymbolKind::Terms(0),
        other => other,
    };
    (class, nests.iter().map(|n| n.form()).collect())
}

/// Returns the count of a nest as a difference, if the nest with one conjunct negated was counted.
/// Both together are the count without that conjunct.
fn complement_count<'n>(
    scope: &CostScope<'_>,
    kind: CostSymbolKind,
    nest: &CostNest<'n>,
    count: fn(&CostNest<'n>) -> Result<Formula, UncountedReason>,
) -> Option<Formula> {
    let met =
        |nest: &CostNest<'_>| scope.nest_symbols.borrow().get(&symbol_key(kind, &[nest])).cloned().map(Formula::from);
    nest.complements(kind == CostSymbolKind::NonemptyElements).into_iter().find_map(|(other, without)| {
        let part = met(&other)?;
        let all = count(&without).ok().or_else(|| met(&without));
        Some(difference(&all?, &part))
    })
}

/// Whether these predicates exclude each other pairwise.
fn are_disjoint(preds: &[Pred], indices: &[Index], known: &FactContext) -> bool {
    // In an array literal, each element has a different constant index.
    let has_distinct_values = |i: &Index| {
        let at: Option<BTreeSet<i128>> = preds.iter().map(|p| p.solve_for(&i.atom())?.as_constant()).collect();
        at.is_some_and(|at| at.len() == preds.len())
    };
    if indices.iter().any(has_distinct_values) {
        return true;
    }
    let mut inside = known.clone();
    indices.iter().for_each(|i| inside.assume_in_range(i));
    preds.iter().enumerate().all(|(k, p)| {
        check_cancelled();
        known.steps_spent() < MAX_PROOF_STEPS && preds.iter().skip(k + 1).all(|q| inside.refutes(&p.and(q)))
    })
}

/// Returns the span of a statement and of its operands before it.
pub(super) fn span_sum(before: &FormulaMax, own: &FormulaMax) -> FormulaMax {
    match own.formulas() {
        [] => before.clone(),
        all => all.iter().fold(FormulaMax::default(), |sum, one| sum.max(&before.add_to_each(one))),
    }
}

/// Returns `a - b`.
pub(super) fn difference(a: &Formula, b: &Formula) -> Formula {
    a.add(&b.mul_ratio(&Ratio::constant(-1)))
}

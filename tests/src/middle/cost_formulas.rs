//! **Cost formulas** against the evaluator's counts. Work, tests and iterations must be equal at
//! every point, if each symbol has the value that the evaluator counted for its statement. The span
//! and the kept bytes are upper bounds of the evaluator's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use lang_core::cost::{
    Amount, CostFormulas, CostSite, CostSymbol, CostSymbolKind, CostedCallee, FormulaMax, cost, symbol_number,
};
use lang_core::count::Formula;
use lang_core::eval::eval_core::EvalError;
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator, StatementCounts};
use lang_core::ir::core::FunctionKey;
use lang_core::ir::flat::InputSource;
use lang_core::ir::ssa::SsaFunction;
use lang_core::predicate::{Atom, LocalId};
use lang_core::runtime::OperationCounts;

use super::form_laws::{FUEL, LawChecker, LawPoint, LawResult, broken};
use super::forms::{EvaluatorFunctions, FormProvider};

/// The costs of definitions and of their derivatives.
pub struct EvaluatedFormulas<'m> {
    middle: &'m dyn FormProvider,
    known: RefCell<HashMap<Arc<FunctionKey>, Option<CostedCallee>>>,
}

/// A run of the evaluator, with the formulas.
pub struct CostedRun<'m> {
    middle: &'m dyn FormProvider,
    /// The formulas.
    pub cost: Arc<CostFormulas>,
    /// The evaluator's counts.
    pub counts: OperationCounts,
    /// The longest chain of dependent operations.
    pub span: u64,
    /// The kept bytes.
    pub kept: u64,
    populations: HashMap<Vec<u32>, StatementCounts>,
    locals: HashMap<LocalId, i64>,
}

/// The record of cost checks at a point.
#[derive(Default)]
pub(super) struct CostCheckRecord {
    /// The number of runs with formulas of sizes alone.
    pub(super) formulas: u64,
    /// The number of runs with formulas that contain symbols.
    pub(super) symbols: u64,
    /// The number of symbols whose content occurred before.
    pub(super) shared: u64,
    /// The inputs of the function.
    inputs: String,
    /// The counts with these inputs, by the symbol's content.
    counted: HashMap<u128, i64>,
}

impl CostCheckRecord {
    /// Checks that symbols with equal content have equal counts, in this function and in its
    /// derivatives at the same inputs.
    fn same(
        &mut self,
        inputs: &str,
        symbols: &[CostSymbol],
        counted: &dyn Fn(&CostSymbol) -> Option<i64>,
    ) -> Result<(), String> {
        if self.inputs != inputs {
            (self.inputs, self.counted) = (inputs.to_owned(), HashMap::new());
        }
        for (k, symbol) in symbols.iter().enumerate() {
            let (Some(content), Some(now)) = (symbol.content, counted(symbol)) else { continue };
            if let Some(before) = self.counted.insert(content.hash_value(), now) {
                self.shared += 1;
                if before != now {
                    return Err(format!("p{k}: {now}, before {before}"));
                }
            }
        }
        Ok(())
    }
}

/// Returns a text of the inputs that a function shares with its derivatives.
fn inputs(ssa: &SsaFunction, sizes: &[i64], arguments: &[IrTensor]) -> String {
    let passed = ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(arguments);
    let of_function = passed.filter(|(input, _)| matches!(input.source, InputSource::Param(_)));
    let parts = of_function.map(|(input, tensor)| format!("{:?} {:?} {tensor:?}", input.source, input.leaf.path));
    format!("{sizes:?} {}", parts.collect::<String>())
}

impl LawChecker<'_> {
    /// Records a difference between the formulas and the counts of a function that terminated with
    /// these arguments.
    pub(super) fn formulas_agree(&self, ssa: &Arc<SsaFunction>, point: &LawPoint, arguments: &[IrTensor]) {
        if self.costs
            && let Err(broken) = self.formulas(ssa, &point.sizes, arguments)
        {
            *self.engine.borrow_mut() = Some(broken);
        }
    }

    fn formulas(&self, ssa: &Arc<SsaFunction>, sizes: &[i64], arguments: &[IrTensor]) -> LawResult {
        let Some(Ok(run)) = self.formulas.run(ssa, sizes, arguments, FUEL) else { return Ok(()) };
        run.agrees(ssa)?;
        let mut seen = self.seen.borrow_mut();
        if run.cost.symbols.is_empty() {
            seen.formulas += 1;
        } else {
            seen.symbols += 1;
        }
        seen.same(&inputs(ssa, sizes, arguments), &run.cost.symbols, &|s| run.measured(s)).map_err(|how| {
            broken("what has the same content is the same", format!("{how} at {sizes:?}\n{ssa}{}", run.report_text()))
        })
    }
}

impl<'m> EvaluatedFormulas<'m> {
    /// Returns the cost formulas of these definitions.
    #[must_use]
    pub fn new(middle: &'m dyn FormProvider) -> Self {
        Self { middle, known: RefCell::default() }
    }

    /// Returns a definition or a derivative with its cost.
    pub fn of(&self, callee: &Arc<FunctionKey>) -> Option<CostedCallee> {
        if let Some(known) = self.known.borrow().get(callee) {
            return known.clone();
        }
        let ssa = self.middle.ssa(callee)?;
        let cost = cost(&ssa, &|callee| self.of(callee));
        let found = Some((ssa, Arc::new(cost)));
        self.known.borrow_mut().insert(callee.clone(), found.clone());
        found
    }

    /// Runs a function with these arguments. `fuel` limits the number of index tuples visited. The
    /// inner error is the reason why the run has no value.
    pub fn run(
        &self,
        ssa: &Arc<SsaFunction>,
        sizes: &[i64],
        arguments: &[IrTensor],
        fuel: u64,
    ) -> Option<Result<CostedRun<'m>, EvalError>> {
        let (_, cost) = self.of(&ssa.callee)?;
        let world = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, fuel);
        evaluator.statement_counts = Some(HashMap::new());
        if let Err(stopped) = evaluator.call(ssa, sizes, arguments.to_vec()) {
            return Some(Err(stopped));
        }
        let SsaEvaluator { counts, span, stored_bytes: kept, statement_counts: populations, .. } = evaluator;
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        for (input, tensor) in ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(arguments) {
            if let ([], [one]) = (tensor.dims.as_slice(), tensor.items.as_slice()) {
                locals.extend(one.int().map(|i| (input.local, i)));
            }
        }
        let populations = populations.unwrap_or_default();
        Some(Ok(CostedRun { middle: self.middle, cost, counts, span, kept, populations, locals }))
    }
}

/// Returns whether a formula needs more than sizes.
#[must_use]
pub fn has_symbols(of: &Formula) -> bool {
    let mut found = false;
    for piece in of.pieces() {
        piece.value.as_fraction().0.for_each_atom(&mut |a| found |= symbol_number(a).is_some());
        piece.pred.visit(&mut |p| p.for_each_atom(&mut |a| found |= symbol_number(a).is_some()), &mut |_| {});
    }
    found
}

impl CostedRun<'_> {
    /// Checks that the formulas of work, tests and iterations equal the counts, and that no symbol,
    /// chain or kept byte count exceeds its bound.
    ///
    /// # Errors
    /// The difference.
    pub fn agrees(&self, ssa: &SsaFunction) -> LawResult {
        let (total, counted) = (&self.cost.total, self.counts);
        let counts = [counted.work, counted.tests, counted.iterations];
        let named = ["work", "tests", "iterations"];
        for ((name, formula), counted) in named.iter().zip([&total.work, &total.tests, &total.iterations]).zip(counts) {
            let value = self.value(formula);
            if value != Some(counted.into()) {
                let how = format!("{name}: {value:?}, not {counted} at {}\n{ssa}{}", self.sizes(), self.report_text());
                return Err(broken(format!("the formula of {name} is what is counted"), how));
            }
        }
        for s in &self.cost.symbols {
            let (Some(most), Some(is)) = (&s.upper_bound, self.measured(s)) else { continue };
            let most = self.value(most);
            if most.is_some_and(|most| most < is.into()) {
                return Err(broken("a symbol is within its bound", format!("{s:?}: {is}, bound {most:?}\n{ssa}")));
            }
        }
        let bounds =
            [("the longest chain", &self.cost.span, self.span), ("what is kept", &self.cost.stored_bytes, self.kept)];
        for (name, bound, found) in bounds {
            let most = self.greatest(bound);
            if most.is_some_and(|most| most < found.into()) {
                let how =
                    format!("{most:?} of {bound:?}, found {found} at {}\n{ssa}{}", self.sizes(), self.report_text());
                return Err(broken(format!("{name} is within its bound"), how));
            }
        }
        Ok(())
    }

    /// Returns the value of a formula at the sizes and counts, or `None` if it needs a count that
    /// is missing.
    #[must_use]
    pub fn value(&self, of: &Formula) -> Option<i128> {
        of.eval(&mut self.cost.valuation(&|a| self.size(a), &|s| self.measured(s)))
    }

    /// Returns the value of a maximum of formulas, as [`CostedRun::value`] does.
    #[must_use]
    pub fn greatest(&self, of: &FormulaMax) -> Option<i128> {
        of.eval(&mut self.cost.valuation(&|a| self.size(a), &|s| self.measured(s)))
    }

    fn size(&self, a: &Atom) -> Option<i64> {
        match a {
            Atom::Local(l, _) => self.locals.get(l).copied(),
            Atom::Global(name) => self.middle.global(name)?.int(),
            _ => None,
        }
    }

    /// Returns the sizes as text for a report.
    fn sizes(&self) -> String {
        let mut all: Vec<_> = self.locals.iter().map(|(l, n)| (l.0, *n)).collect();
        all.sort_unstable();
        format!("{:?}", all.into_iter().map(|(_, n)| n).collect::<Vec<_>>())
    }

    /// Returns the symbol's count in this run.
    fn measured(&self, s: &CostSymbol) -> Option<i64> {
        let Some(of) = self.populations.get(&*s.path) else { return Some(0) };
        let small = |n: u64| i64::try_from(n).ok();
        match s.kind {
            CostSymbolKind::Terms(k) => small(of.terms.get(k as usize).copied().unwrap_or(0)),
            CostSymbolKind::NonemptyElements => small(of.present),
            CostSymbolKind::Trips => small(of.trips),
            CostSymbolKind::Value => i64::try_from(of.value).ok(),
            CostSymbolKind::Work => small(of.counts.work),
            CostSymbolKind::Tests => small(of.counts.tests),
            CostSymbolKind::Iterations => small(of.counts.iterations),
            CostSymbolKind::StoredBytes => None,
        }
    }

    /// Returns the costs and counts as text for a report.
    fn report_text(&self) -> String {
        let amount = |a: &Amount| format!("work {} tests {} iterations {}", a.work, a.tests, a.iterations);
        let mut lines = vec![amount(&self.cost.total)];
        lines.extend(self.cost.statement_amounts.iter().map(|(place, a)| format!("{place:?}: {}", amount(a))));
        for (k, s) in self.cost.symbols.iter().enumerate() {
            let most = s.upper_bound.as_ref().map(ToString::to_string);
            lines.push(format!("p{k}: {:?} of {:?}, at most {most:?}", s.kind, s.path));
        }
        // The statements that differ.
        for (place, amount) in &self.cost.statement_amounts {
            let CostSite::Statement(var) = place else { continue };
            let found = self.populations.get([var.0].as_slice()).map(|p| p.counts).unwrap_or_default();
            let values = [&amount.work, &amount.tests, &amount.iterations].map(|f| self.value(f));
            if values != [found.work, found.tests, found.iterations].map(|n| Some(n.into())) {
                lines.push(format!("differs: {place:?} {values:?} {found:?}"));
            }
        }
        let mut populations: Vec<_> = self.populations.iter().collect();
        populations.sort_by_key(|(path, _)| *path);
        lines.extend(populations.iter().map(|(path, p)| format!("{path:?} {p:?}")));
        lines.join("\n")
    }
}

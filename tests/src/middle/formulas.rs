//! The cost as formulas against what the evaluator counts: equal at every point, with what it counts of statements in place
//! of the symbols; kept bytes no less than those told at the sizes.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::cost::{Amount, Callable, Content, Cost, Kind, Place, Symbol, cost};
use lang_core::ir::core::Callee;
use lang_core::ir::eval_ssa::{Population, SsaEvaluator, Tensor};
use lang_core::ir::flat::Source;
use lang_core::ir::ssa::Ssa;
use lang_core::predicate::{Atom, LocalId};

use super::forms::All;
use super::judge::{FUEL, Judge, Law, Point, broken};

/// What is remembered of callees.
pub(super) type Known = HashMap<Arc<Callee>, Option<Callable>>;

/// What was seen of costs at a point.
#[derive(Default)]
pub(super) struct Seen {
    /// Runs with formulas of sizes alone,
    pub(super) formulas: u64,
    /// and with symbols.
    pub(super) symbols: u64,
    /// Symbols whose content was seen before.
    pub(super) shared: u64,
    /// The inputs of the function,
    inputs: String,
    /// and what was counted with them.
    counted: HashMap<Content, i64>,
}

impl Seen {
    /// Is what has the same content the same, in this function and in derivatives of it with the same inputs?
    fn same(
        &mut self,
        inputs: &str,
        symbols: &[Symbol],
        counted: &dyn Fn(&Symbol) -> Option<i64>,
    ) -> Result<(), String> {
        if self.inputs != inputs {
            (self.inputs, self.counted) = (inputs.to_owned(), HashMap::new());
        }
        for (k, symbol) in symbols.iter().enumerate() {
            let (Some(content), Some(now)) = (&symbol.content, counted(symbol)) else { continue };
            if let Some(before) = self.counted.insert(content.clone(), now) {
                self.shared += 1;
                if before != now {
                    return Err(format!("p{k}: {now}, before {before}"));
                }
            }
        }
        Ok(())
    }
}

/// What a function is given that its derivatives are given too.
fn inputs(ssa: &Ssa, sizes: &[i64], given: &[Tensor]) -> String {
    let passed = ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(given);
    let of_function = passed.filter(|(input, _)| matches!(input.source, Source::Param(_)));
    let parts = of_function.map(|(input, tensor)| format!("{:?} {:?} {tensor:?}", input.source, input.leaf.path));
    format!("{sizes:?} {}", parts.collect::<String>())
}

impl Judge<'_> {
    /// Notes where the formulas differ from the counts of a function that came to an end with these arguments.
    pub(super) fn formulas_agree(&self, ssa: &Arc<Ssa>, point: &Point, given: &[Tensor]) {
        if self.costs
            && let Err(broken) = self.formulas(ssa, &point.sizes, given)
        {
            *self.engine.borrow_mut() = Some(broken);
        }
    }

    fn formulas(&self, ssa: &Arc<Ssa>, sizes: &[i64], given: &[Tensor]) -> Law {
        let Some((_, cost)) = self.costed(&ssa.callee) else { return Ok(()) };
        let world = All(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, FUEL);
        evaluator.populations = Some(HashMap::new());
        if evaluator.call(ssa, sizes, given.to_vec()).is_err() {
            return Ok(());
        }
        let (counted, populations) = (evaluator.counts, evaluator.populations.unwrap_or_default());
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect();
        for (input, tensor) in ssa.inputs.iter().filter(|i| i.source.is_passed()).zip(given) {
            if let ([], [one]) = (tensor.dims.as_slice(), tensor.items.as_slice()) {
                locals.extend(one.int().map(|i| (input.local, i)));
            }
        }
        let size = |a: &Atom| match a {
            Atom::Local(l, _) => locals.get(l).copied(),
            Atom::Global(name) => self.middle.global(name)?.int(),
            _ => None,
        };
        let symbol = |s: &Symbol| measured(s, &populations);
        let total = &cost.total;
        let counts = [counted.work, counted.tests, counted.iterations];
        let named = ["work", "tests", "iterations"];
        for ((name, formula), counted) in named.iter().zip([&total.work, &total.tests, &total.iterations]).zip(counts) {
            let value = formula.eval(&mut cost.values(&size, &symbol));
            if value != Some(counted.into()) {
                let how = format!(
                    "{name}: {value:?}, not {counted} at {sizes:?}\n{ssa}{}",
                    told(&cost, &populations, &size, &symbol)
                );
                return Err(broken(format!("the formula of {name} is what is counted"), how));
            }
        }
        for s in &cost.symbols {
            let (Some(most), Some(is)) = (&s.most, symbol(s)) else { continue };
            let most = most.eval(&mut cost.values(&size, &symbol));
            if most.is_some_and(|most| most < is.into()) {
                return Err(broken("a symbol is within its bound", format!("{s:?}: {is}, bound {most:?}\n{ssa}")));
            }
        }
        let mut seen = self.seen.borrow_mut();
        if cost.symbols.is_empty() {
            seen.formulas += 1;
        } else {
            seen.symbols += 1;
        }
        seen.same(&inputs(ssa, sizes, given), &cost.symbols, &symbol).map_err(|how| {
            let how = format!("{how} at {sizes:?}\n{ssa}{}", told(&cost, &populations, &size, &symbol));
            broken("what has the same content is the same", how)
        })
    }

    fn costed(&self, callee: &Arc<Callee>) -> Option<Callable> {
        if let Some(known) = self.known.borrow().get(callee) {
            return known.clone();
        }
        let ssa = self.middle.ssa(callee)?;
        let cost = cost(&ssa, &|callee| self.costed(callee));
        let found = Some((ssa, Arc::new(cost)));
        self.known.borrow_mut().insert(callee.clone(), found.clone());
        found
    }
}

/// What was counted of it.
fn measured(s: &Symbol, populations: &HashMap<Vec<u32>, Population>) -> Option<i64> {
    let Some(of) = populations.get(&*s.path) else { return Some(0) };
    let small = |n: u64| i64::try_from(n).ok();
    match s.kind {
        Kind::Terms(k) => small(of.terms.get(k as usize).copied().unwrap_or(0)),
        Kind::Present => small(of.present),
        Kind::Trips => small(of.trips),
        Kind::Value => i64::try_from(of.value).ok(),
        Kind::Work => small(of.counts.work),
        Kind::Tests => small(of.counts.tests),
        Kind::Iterations => small(of.counts.iterations),
        Kind::Kept => None,
    }
}

/// For a reader.
fn told(
    cost: &Cost,
    populations: &HashMap<Vec<u32>, Population>,
    size: &dyn Fn(&Atom) -> Option<i64>,
    symbol: &dyn Fn(&Symbol) -> Option<i64>,
) -> String {
    let amount = |a: &Amount| format!("work {} tests {} iterations {}", a.work, a.tests, a.iterations);
    let mut lines = vec![amount(&cost.total)];
    lines.extend(cost.parts.iter().map(|(place, a)| format!("{place:?}: {}", amount(a))));
    for (k, s) in cost.symbols.iter().enumerate() {
        let most = s.most.as_ref().map(ToString::to_string);
        lines.push(format!("p{k}: {:?} of {:?}, at most {most:?}", s.kind, s.path));
    }
    // Which statements differ.
    for (place, amount) in &cost.parts {
        let Place::Statement(var) = place else { continue };
        let found = populations.get([var.0].as_slice()).map(|p| p.counts).unwrap_or_default();
        let formulas = [&amount.work, &amount.tests, &amount.iterations];
        let values = formulas.map(|f| f.eval(&mut cost.values(size, symbol)));
        if values != [found.work, found.tests, found.iterations].map(|n| Some(n.into())) {
            lines.push(format!("differs: {place:?} {values:?} {found:?}"));
        }
    }
    let mut populations: Vec<_> = populations.iter().collect();
    populations.sort_by_key(|(path, _)| *path);
    lines.extend(populations.iter().map(|(path, p)| format!("{path:?} {p:?}")));
    lines.join("\n")
}

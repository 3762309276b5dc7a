//! `:cost`, `:time` and `:bench`: the cost of a definition, and the counts and run times of an
//! evaluation.

use std::time::{Duration, Instant};

use lang_core::runtime::OperationCounts;
use lang_core::syntax::lexer::lex;

use super::{INPUT_NAME, ReplSession};
use crate::engine::ReadyExpression;
use crate::interrupt;
use crate::lookup;
use crate::out::format_duration;
use crate::problem::Problem;

/// The duration of `:bench`.
const BENCH_DURATION: Duration = Duration::from_secs(2);
/// The most measurements of `:bench`.
const MAX_MEASUREMENTS: usize = 100_000;

impl ReplSession {
    /// Prints the cost formulas of a definition, or the counts of one evaluation without its value.
    pub(super) fn print_cost(&mut self, text: &str) {
        let named = lookup::resolve_definition(&self.engine, Some(&self.module_name()), text.trim_end_matches(';'));
        if let Some(def) = named.filter(|def| self.engine.signature(def).is_some()) {
            return match self.engine.costs(&def) {
                Ok(costs) => self.out.print(&costs.text()),
                Err(problem) => self.report_failure(vec![*problem]),
            };
        }
        let counting = std::mem::replace(&mut self.engine.count_runs, true);
        let result = self.prepare_expression(text).and_then(|ready| {
            // The `let`s that the expression needs are computed first and are not counted.
            self.engine.compute_required(&ready)?;
            self.engine.counts = OperationCounts::default();
            self.engine.run_prepared(&ready)
        });
        self.engine.count_runs = counting;
        match result {
            Ok(_) => {
                let OperationCounts { work, tests, iterations } = self.engine.counts;
                self.out.print(&format!("work {work}, tests {tests}, iterations {iterations}\n"));
            }
            Err(problems) => self.report_failure(problems),
        }
    }

    /// Evaluates an expression, and prints its value and the time it took.
    pub(super) fn print_time(&mut self, text: &str) {
        let time = std::mem::replace(&mut self.options.common.time, true);
        let source = self.engine.sources.add(INPUT_NAME, text);
        self.evaluate_expression(text, source, 0);
        self.options.common.time = time;
    }

    /// Prints the median and the interquartile range of many evaluations.
    pub(super) fn print_bench(&mut self, text: &str) {
        let result = self.prepare_expression(text).and_then(|ready| {
            self.engine.compute_required(&ready)?;
            let silent = std::mem::replace(&mut self.engine.suppress_output, true);
            let counting = std::mem::replace(&mut self.engine.count_runs, false);
            // With a budget, each evaluation of an expensive expression would ask for confirmation.
            let budget = self.engine.budget.take();
            let times = self.measure_runs(&ready);
            self.engine.suppress_output = silent;
            self.engine.count_runs = counting;
            self.engine.budget = budget;
            times
        });
        let mut times = match result {
            Ok(times) => times,
            Err(problems) => return self.report_failure(problems),
        };
        times.sort_unstable();
        let at = |part: usize| times.get((times.len() - 1) * part / 4).copied().unwrap_or_default().as_secs_f64();
        let (low, median, high) = (at(1), at(2), at(3));
        let spread = match times.len() {
            1 => "1 run".to_owned(),
            n => format!("half of {n} runs between {} and {}", format_duration(low), format_duration(high)),
        };
        self.out.print(&format!("{} ({spread})\n", format_duration(median)));
    }

    fn measure_runs(&mut self, ready: &ReadyExpression) -> Result<Vec<Duration>, Vec<Problem>> {
        let begin = Instant::now();
        let mut times = Vec::new();
        // The first evaluation warms up for the others. It counts only if it takes at least half of
        // the duration.
        let mut first = None;
        while times.is_empty() || (begin.elapsed() < BENCH_DURATION && times.len() < MAX_MEASUREMENTS) {
            let start = Instant::now();
            self.engine.run_prepared(ready)?;
            let time = start.elapsed();
            if first.is_none() && begin.elapsed() < BENCH_DURATION / 2 {
                first = Some(time);
                continue;
            }
            times.push(time);
            if interrupt::is_requested() {
                break;
            }
        }
        Ok(times)
    }

    /// Checks an expression and prepares it to run.
    fn prepare_expression(&mut self, text: &str) -> Result<ReadyExpression, Vec<Problem>> {
        let source = self.engine.sources.add(INPUT_NAME, text);
        let end = lex(text).tokens.last().map_or(0, |t| t.span.end as usize);
        let text = text.get(..end).unwrap_or(text).trim_end_matches(';');
        self.engine.prepare(&self.module_name(), text, source, 0)
    }
}

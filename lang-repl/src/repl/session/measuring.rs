//! `:cost`, `:time` and `:bench`: the cost of a definition, and the counts and run times of an
//! evaluation.

use std::time::{Duration, Instant};

use lang_core::runtime::OperationCounts;
use lang_core::syntax::lexer::lex;

use super::{INPUT, Session};
use crate::engine::Ready;
use crate::interrupt;
use crate::lookup;
use crate::out::seconds;
use crate::problem::Problem;

/// The duration of `:bench`.
const LONG: Duration = Duration::from_secs(2);
/// The most measurements of `:bench`.
const MOST: usize = 100_000;

impl Session {
    /// Prints the cost formulas of a definition, or the counts of one evaluation without its value.
    pub(super) fn cost(&mut self, text: &str) {
        let named = lookup::definition_named(&self.engine, Some(&self.module()), text.trim_end_matches(';'));
        if let Some(def) = named.filter(|def| self.engine.signature(def).is_some()) {
            return match self.engine.costs(&def) {
                Ok(costs) => self.out.print(&costs.text()),
                Err(problem) => self.fail(vec![*problem]),
            };
        }
        let counting = std::mem::replace(&mut self.engine.counting, true);
        let result = self.ready(text).and_then(|ready| {
            // The `let`s that the expression needs are computed first and are not counted.
            self.engine.compute_needs(&ready)?;
            self.engine.counts = OperationCounts::default();
            self.engine.run_ready(&ready)
        });
        self.engine.counting = counting;
        match result {
            Ok(_) => {
                let OperationCounts { work, tests, iterations } = self.engine.counts;
                self.out.print(&format!("work {work}, tests {tests}, iterations {iterations}\n"));
            }
            Err(problems) => self.fail(problems),
        }
    }

    /// Evaluates an expression, and prints its value and the time it took.
    pub(super) fn time(&mut self, text: &str) {
        let time = std::mem::replace(&mut self.options.common.time, true);
        let source = self.engine.sources.add(INPUT, text);
        self.expression(text, source, 0);
        self.options.common.time = time;
    }

    /// Prints the median and the interquartile range of many evaluations.
    pub(super) fn bench(&mut self, text: &str) {
        let result = self.ready(text).and_then(|ready| {
            self.engine.compute_needs(&ready)?;
            let silent = std::mem::replace(&mut self.engine.silent, true);
            let counting = std::mem::replace(&mut self.engine.counting, false);
            // An expression that is evaluated repeatedly is cheap, so no confirmation is needed.
            let budget = self.engine.budget.take();
            let times = self.measured(&ready);
            self.engine.silent = silent;
            self.engine.counting = counting;
            self.engine.budget = budget;
            times
        });
        let mut times = match result {
            Ok(times) => times,
            Err(problems) => return self.fail(problems),
        };
        times.sort_unstable();
        let at = |part: usize| times.get((times.len() - 1) * part / 4).copied().unwrap_or_default().as_secs_f64();
        let (low, median, high) = (at(1), at(2), at(3));
        let spread = match times.len() {
            1 => "once".to_owned(),
            n => format!("half of {n} between {} and {}", seconds(low), seconds(high)),
        };
        self.out.print(&format!("{} ({spread})\n", seconds(median)));
    }

    fn measured(&mut self, ready: &Ready) -> Result<Vec<Duration>, Vec<Problem>> {
        let begin = Instant::now();
        let mut times = Vec::new();
        // The first evaluation warms up for the others. It counts only if it is the only one.
        let mut first = None;
        while times.is_empty() || (begin.elapsed() < LONG && times.len() < MOST) {
            let start = Instant::now();
            self.engine.run_ready(ready)?;
            let time = start.elapsed();
            if first.is_none() && begin.elapsed() < LONG / 2 {
                first = Some(time);
                continue;
            }
            times.push(time);
            if interrupt::requested() {
                break;
            }
        }
        Ok(times)
    }

    /// Checks an expression and prepares it to run.
    fn ready(&mut self, text: &str) -> Result<Ready, Vec<Problem>> {
        let source = self.engine.sources.add(INPUT, text);
        let end = lex(text).tokens.last().map_or(0, |t| t.span.end as usize);
        let text = text.get(..end).unwrap_or(text).trim_end_matches(';');
        self.engine.ready(&self.module(), text, source, 0)
    }
}

//! Collects times and prints their percentiles.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::ScriptedClient;

/// Times, sorted.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn of(mut all: Vec<Duration>) -> Self {
        all.sort();
        Self(all)
    }

    pub(crate) fn at(&self, percent: usize) -> f64 {
        let last = self.0.len() - 1;
        self.0[last * percent / 100].as_secs_f64() * 1e3
    }
}

/// Prints the times of a row.
pub(crate) fn report(what: &str, definitions: usize, lines: usize, times: Vec<Duration>) {
    let times = Times::of(times);
    println!(
        "{what:<28} {definitions:>5} definitions {lines:>6} lines   p50 {:>7.2} ms   p90 {:>7.2} ms   p99 {:>7.2} ms   most {:>7.2} ms",
        times.at(50),
        times.at(90),
        times.at(99),
        times.at(100)
    );
}

/// Returns the duration of a request, and its answer.
pub(crate) fn timed(client: &mut ScriptedClient, request: &str, params: Value) -> (Duration, Value) {
    let begun = Instant::now();
    let id = client.begin(request, params);
    let (came, answer) = client.wait(|m| m["id"] == json!(id) && m.get("method").is_none());
    (came.saturating_duration_since(begun), answer)
}

//! Which rules were applied, and how often: a rule that no test reaches is a rule that nothing judges.

use std::collections::BTreeMap;

/// Counts by rule.
#[derive(Clone, Default, Debug)]
pub struct Hits(BTreeMap<&'static str, u64>);

impl Hits {
    /// One more.
    pub fn count(&mut self, rule: &'static str) {
        *self.0.entry(rule).or_default() += 1;
    }

    /// How often a rule was applied.
    #[must_use]
    pub fn of(&self, rule: &str) -> u64 {
        self.0.get(rule).copied().unwrap_or_default()
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        for (rule, n) in &other.0 {
            *self.0.entry(rule).or_default() += n;
        }
    }
}

//! **Rule coverage.** Counts how often each rule of the passes was applied, because tests must
//! reach every rule: no test checks a rule that none reaches.

use std::collections::BTreeMap;

/// The counts, by rule.
#[derive(Clone, Default, Debug)]
pub struct RuleCoverage(BTreeMap<&'static str, u64>);

impl RuleCoverage {
    /// Counts one application of a rule.
    pub fn count(&mut self, rule: &'static str) {
        *self.0.entry(rule).or_default() += 1;
    }

    /// Returns how often a rule was applied.
    #[must_use]
    pub fn count_of(&self, rule: &str) -> u64 {
        self.0.get(rule).copied().unwrap_or_default()
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (rule, n) in &other.0 {
            *self.0.entry(rule).or_default() += n;
        }
    }
}

//! The clock of a run, for `--time`: separates the time to check from the time to run.

use std::time::{Duration, Instant};

/// The durations of checking and of running.
pub(crate) struct Clock {
    start: Instant,
    pub(crate) check: Duration,
    pub(crate) run: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), check: Duration::ZERO, run: Duration::ZERO }
    }

    pub(crate) fn checked(&mut self) {
        self.check = self.start.elapsed();
    }

    pub(crate) fn ran(&mut self) {
        self.run = self.start.elapsed().saturating_sub(self.check);
    }
}

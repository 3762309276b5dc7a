//! The clock of a run, for `--time`.

use std::time::{Duration, Instant};

/// How long checking and running took.
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

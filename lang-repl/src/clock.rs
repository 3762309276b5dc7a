//! The clock of a run, for `--time`: separates the time to check from the time to run.

use std::time::{Duration, Instant};

/// The durations of checking and of running.
pub(crate) struct Clock {
    start: Instant,
    pub(crate) check_time: Duration,
    pub(crate) run_time: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), check_time: Duration::ZERO, run_time: Duration::ZERO }
    }

    pub(crate) fn finish_check(&mut self) {
        self.check_time = self.start.elapsed();
    }

    pub(crate) fn finish_run(&mut self) {
        self.run_time = self.start.elapsed().saturating_sub(self.check_time);
    }
}

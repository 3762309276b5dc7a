//! **Progress reports** of long work, for a host that displays them.
//!
//! Counted work is the steps of a binder, a fold or a loop, and the passes of a derivative
//! operator. The report covers the outermost work and the work directly inside it; deeper work is
//! not followed. This module has no clock: the host sets a flag to request a report, and the next
//! step delivers it.

use lang_runtime::progress::{WorkKind, WorkProgress};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Interp;
use lang_resolve::forms::DerivativeOp;
use lang_runtime::{Host, OffloadProgress};

/// The number of nested levels of work that are followed.
const TRACKED_LEVELS: usize = 2;

/// The flag of a host that requests no reports.
static NO_REQUESTS: AtomicBool = AtomicBool::new(false);

/// The open levels of counted work. Loops can afford little time for this, so a [`PollInterval`]
/// makes a loop without counted work inside skip most steps.
pub(super) struct ProgressTracker<'a> {
    /// The host's request for a report.
    report_requested: &'a AtomicBool,
    levels: [WorkLevel; TRACKED_LEVELS],
    /// The number of open levels, including those that are not followed.
    depth: usize,
    /// The number of levels ever begun.
    begun_count: u64,
    /// The pace of the previous inner loop, because the next step usually runs a similar one.
    inner_interval: i64,
    /// Whether the host received a report about the open outermost work.
    has_reported: bool,
}

#[derive(Clone, Copy)]
struct WorkLevel {
    work: WorkKind,
    done: i64,
    /// Negative if unknown.
    total: i64,
}

/// The interval at which a loop checks for a request.
pub(super) struct PollInterval {
    /// The number of steps between checks. It is 1 if the steps contain counted work, because they
    /// are then slow.
    pub(super) steps: i64,
    level: usize,
    begun_count: u64,
}

impl Default for PollInterval {
    /// The pace of work that is not followed.
    fn default() -> Self {
        Self { steps: i64::MAX, level: TRACKED_LEVELS, begun_count: 0 }
    }
}

/// The interval for steps without counted work inside.
const FAST_INTERVAL: i64 = 64;

impl Default for ProgressTracker<'_> {
    fn default() -> Self {
        let none = WorkLevel { work: WorkKind::Loop, done: 0, total: -1 };
        Self {
            report_requested: &NO_REQUESTS,
            levels: [none; TRACKED_LEVELS],
            depth: 0,
            begun_count: 0,
            inner_interval: 1,
            has_reported: false,
        }
    }
}

impl WorkLevel {
    fn progress(self) -> WorkProgress {
        let done = u64::try_from(self.done).unwrap_or(0);
        WorkProgress { work: self.work, done, total: u64::try_from(self.total).ok() }
    }
}

impl ProgressTracker<'_> {
    /// Records the progress of offloaded work, a derivative or an expression. Reports to the host
    /// on request.
    pub(super) fn record_offloaded(
        &mut self,
        pace: &PollInterval,
        host: &mut dyn Host,
        of: Option<DerivativeOp>,
        done: OffloadProgress,
    ) {
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (level, now) = match (done, of) {
            (OffloadProgress::Statements(done, total), _) => {
                (pace.level, WorkLevel { work: WorkKind::Statements(of), done: signed(done), total: signed(total) })
            }
            (OffloadProgress::Steps(done, total), _) => {
                let work = if total.is_some() { WorkKind::Steps } else { WorkKind::Loop };
                // A derivative reports its statements at one level, and the steps within a
                // statement at the next.
                let level = pace.level.saturating_add(usize::from(of.is_some()));
                (level, WorkLevel { work, done, total: total.unwrap_or(-1) })
            }
        };
        let Some(followed) = self.levels.get_mut(level) else { return };
        *followed = now;
        self.report_if_requested(level, host);
    }

    /// Reports this level and those around it to the host, if it requested a report.
    fn report_if_requested(&mut self, level: usize, host: &mut dyn Host) {
        if self.report_requested.load(Ordering::Relaxed) {
            self.report_requested.store(false, Ordering::Relaxed);
            self.has_reported = true;
            let levels = self.levels.iter().take(level + 1);
            let levels: Vec<WorkProgress> = levels.map(|level| level.progress()).collect();
            host.progress(&levels);
        }
    }
}

impl<'a> Interp<'a> {
    /// Registers the request flag of the host. The next step after it is set reports the progress.
    pub fn set_report_flag(&mut self, flag: &'a AtomicBool) {
        self.progress_tracker.report_requested = flag;
    }

    /// Begins counted work. [`Interp::end_work`] must follow, also after a failure.
    #[inline(always)]
    pub(super) fn begin_work(&mut self) {
        self.progress_tracker.depth = self.progress_tracker.depth.wrapping_add(1);
        self.progress_tracker.begun_count = self.progress_tracker.begun_count.wrapping_add(1);
    }

    /// Declares the kind and total of the work begun last. A total of -1 is unknown.
    #[inline(always)]
    pub(super) fn track_work(&mut self, work: WorkKind, total: i64) -> PollInterval {
        let (level, begun) = (self.progress_tracker.depth.wrapping_sub(1), self.progress_tracker.begun_count);
        let Some(followed) = self.progress_tracker.levels.get_mut(level) else { return PollInterval::default() };
        *followed = WorkLevel { work, done: 0, total };
        if level == 0 {
            self.progress_tracker.inner_interval = 1;
        }
        PollInterval { steps: self.progress_tracker.inner_interval, level, begun_count: begun }
    }

    /// Records that `done` steps are finished, adapts the pace, and reports to the host on request.
    #[inline(never)]
    pub(super) fn record_progress(&mut self, pace: &mut PollInterval, done: i64) {
        let Some(followed) = self.progress_tracker.levels.get_mut(pace.level) else { return };
        followed.done = done;
        pace.steps = if pace.begun_count == self.progress_tracker.begun_count { FAST_INTERVAL } else { 1 };
        pace.begun_count = self.progress_tracker.begun_count;
        if pace.level > 0 {
            self.progress_tracker.inner_interval = pace.steps;
        }
        self.progress_tracker.report_if_requested(pace.level, self.host);
    }

    /// Ends the work begun last.
    #[inline(always)]
    pub(super) fn end_work(&mut self) {
        self.progress_tracker.depth = self.progress_tracker.depth.wrapping_sub(1);
        if self.progress_tracker.has_reported {
            self.report_end();
        }
    }

    #[cold]
    #[inline(never)]
    fn report_end(&mut self) {
        if self.progress_tracker.depth == 0 {
            self.progress_tracker.has_reported = false;
            self.host.progress(&[]);
        }
    }
}

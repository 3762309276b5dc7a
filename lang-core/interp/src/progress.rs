//! **Progress reports** of long work, for a host that displays them.
//!
//! Counted work is the steps of a binder, a fold or a loop, and the passes of a derivative
//! operator. The report covers the outermost work and the work directly inside it; deeper work is
//! not followed. This module has no clock: the host sets a flag to request a report, and the next
//! step delivers it.

use lang_runtime::progress::{Progress, Work};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Interp;
use lang_resolve::forms::Derivative;
use lang_runtime::{Done, Host};

/// The number of nested levels of work that are followed.
const LEVELS: usize = 2;

/// The flag of a host that requests no reports.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The open levels of counted work. Loops can afford little time for this, so a [`Pace`] makes a
/// loop without counted work inside skip most steps.
pub(super) struct Works<'a> {
    /// The host's request for a report.
    asked: &'a AtomicBool,
    levels: [Level; LEVELS],
    /// The number of open levels, including those that are not followed.
    open: usize,
    /// The number of levels ever begun.
    begun: u64,
    /// The pace of the previous inner loop, because the next step usually runs a similar one.
    learnt: i64,
    /// Whether the host received a report about the open outermost work.
    told: bool,
}

#[derive(Clone, Copy)]
struct Level {
    work: Work,
    done: i64,
    /// Negative if unknown.
    total: i64,
}

/// The interval at which a loop checks for a request.
pub(super) struct Pace {
    /// The number of steps between checks. It is 1 if the steps contain counted work, because they
    /// are then slow.
    pub(super) steps: i64,
    level: usize,
    begun: u64,
}

impl Default for Pace {
    /// The pace of work that is not followed.
    fn default() -> Self {
        Self { steps: i64::MAX, level: LEVELS, begun: 0 }
    }
}

/// The interval for steps without counted work inside.
const QUICK: i64 = 64;

impl Default for Works<'_> {
    fn default() -> Self {
        let none = Level { work: Work::Loop, done: 0, total: -1 };
        Self { asked: &NEVER, levels: [none; LEVELS], open: 0, begun: 0, learnt: 1, told: false }
    }
}

impl Level {
    fn progress(self) -> Progress {
        let done = u64::try_from(self.done).unwrap_or(0);
        Progress { work: self.work, done, total: u64::try_from(self.total).ok() }
    }
}

impl Works<'_> {
    /// Records the progress of offloaded work, a derivative or an expression. Reports to the host
    /// on request.
    pub(super) fn elsewhere(&mut self, pace: &Pace, host: &mut dyn Host, of: Option<Derivative>, done: Done) {
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (level, now) = match (done, of) {
            (Done::Statements(done, total), _) => {
                (pace.level, Level { work: Work::Statements(of), done: signed(done), total: signed(total) })
            }
            (Done::Steps(done, total), _) => {
                let work = if total.is_some() { Work::Steps } else { Work::Loop };
                // A derivative reports its statements at one level, and the steps within a
                // statement at the next.
                let level = pace.level.saturating_add(usize::from(of.is_some()));
                (level, Level { work, done, total: total.unwrap_or(-1) })
            }
        };
        let Some(followed) = self.levels.get_mut(level) else { return };
        *followed = now;
        self.answer(level, host);
    }

    /// Reports this level and those around it to the host, if it requested a report.
    fn answer(&mut self, level: usize, host: &mut dyn Host) {
        if self.asked.load(Ordering::Relaxed) {
            self.asked.store(false, Ordering::Relaxed);
            self.told = true;
            let levels = self.levels.iter().take(level + 1);
            let levels: Vec<Progress> = levels.map(|level| level.progress()).collect();
            host.progress(&levels);
        }
    }
}

impl<'a> Interp<'a> {
    /// Registers the request flag of the host. The next step after it is set reports the progress.
    pub fn watch(&mut self, asked: &'a AtomicBool) {
        self.works.asked = asked;
    }

    /// Begins counted work. [`Interp::end_work`] must follow, also after a failure.
    #[inline(always)]
    pub(super) fn begin_work(&mut self) {
        self.works.open = self.works.open.wrapping_add(1);
        self.works.begun = self.works.begun.wrapping_add(1);
    }

    /// Declares the kind and total of the work begun last. A total of -1 is unknown.
    #[inline(always)]
    pub(super) fn follow(&mut self, work: Work, total: i64) -> Pace {
        let (level, begun) = (self.works.open.wrapping_sub(1), self.works.begun);
        let Some(followed) = self.works.levels.get_mut(level) else { return Pace::default() };
        *followed = Level { work, done: 0, total };
        if level == 0 {
            self.works.learnt = 1;
        }
        Pace { steps: self.works.learnt, level, begun }
    }

    /// Records that `done` steps are finished, adapts the pace, and reports to the host on request.
    #[inline(never)]
    pub(super) fn look(&mut self, pace: &mut Pace, done: i64) {
        let Some(followed) = self.works.levels.get_mut(pace.level) else { return };
        followed.done = done;
        pace.steps = if pace.begun == self.works.begun { QUICK } else { 1 };
        pace.begun = self.works.begun;
        if pace.level > 0 {
            self.works.learnt = pace.steps;
        }
        self.works.answer(pace.level, self.host);
    }

    /// Ends the work begun last.
    #[inline(always)]
    pub(super) fn end_work(&mut self) {
        self.works.open = self.works.open.wrapping_sub(1);
        if self.works.told {
            self.told();
        }
    }

    #[cold]
    #[inline(never)]
    fn told(&mut self) {
        if self.works.open == 0 {
            self.works.told = false;
            self.host.progress(&[]);
        }
    }
}

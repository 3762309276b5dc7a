//! How far long work is, for a host that wants to tell.
//!
//! Counted work is the steps of a binder, a fold or a loop, and the passes of a derivative. The
//! outermost is told of, and what is counted directly inside it; deeper work is not followed. There
//! is no clock here: the host sets a flag when it wants to know, and the next step answers.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Interp;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The steps of a binder, by its word, of a `fold` or a `scan`; of several indices those of the first.
    Steps(&'static str),
    /// The steps of a `loop`, of which nobody knows how many there will be.
    Loop,
    /// The passes of a derivative operator, one for each real of the argument.
    Passes(&'static str),
}

/// How far some work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What is counted.
    pub work: Work,
    /// So many are done.
    pub done: u64,
    /// There are so many, if that is known.
    pub total: Option<u64>,
}

/// So many levels of work are followed.
const LEVELS: usize = 2;

/// The flag of a host that never asks.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The work that is under way.
pub(super) struct Works<'a> {
    /// The host wants to know.
    asked: &'a AtomicBool,
    levels: [Progress; LEVELS],
    /// So many levels are open, those included that are not followed.
    open: usize,
    /// The host was told of the outermost one that is open.
    told: bool,
}

impl Default for Works<'_> {
    fn default() -> Self {
        let none = Progress { work: Work::Loop, done: 0, total: None };
        Self { asked: &NEVER, levels: [none; LEVELS], open: 0, told: false }
    }
}

impl<'a> Interp<'a> {
    /// Tells the host how far the work is, at the next step after this flag is set.
    pub fn watch(&mut self, asked: &'a AtomicBool) {
        self.works.asked = asked;
    }

    /// Begins counted work. Whatever comes of it, [`Interp::end_work`] follows.
    pub(super) fn begin_work(&mut self, work: Work) {
        if let Some(level) = self.works.levels.get_mut(self.works.open) {
            *level = Progress { work, done: 0, total: None };
        }
        self.works.open += 1;
    }

    /// The level of the work that was begun last and has not ended, and how much of it there is.
    pub(super) fn work_of(&mut self, total: Option<i64>) -> usize {
        let level = self.works.open.saturating_sub(1);
        if let Some(level) = self.works.levels.get_mut(level) {
            level.total = total.and_then(|n| u64::try_from(n).ok());
        }
        level
    }

    /// So many steps of this level are done.
    #[inline]
    pub(super) fn work_done(&mut self, level: usize, done: impl FnOnce() -> i64) {
        let Some(progress) = self.works.levels.get_mut(level) else { return };
        progress.done = u64::try_from(done()).unwrap_or(0);
        if self.works.asked.load(Ordering::Relaxed) {
            self.tell(level);
        }
    }

    #[cold]
    fn tell(&mut self, level: usize) {
        self.works.asked.store(false, Ordering::Relaxed);
        self.works.told = true;
        self.host.progress(self.works.levels.get(..=level).unwrap_or_default());
    }

    /// Ends the work that was begun last.
    pub(super) fn end_work(&mut self) {
        self.works.open = self.works.open.saturating_sub(1);
        if self.works.open == 0 && self.works.told {
            self.works.told = false;
            self.host.progress(&[]);
        }
    }
}

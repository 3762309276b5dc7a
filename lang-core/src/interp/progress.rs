//! How far long work is, for a host that wants to tell.
//!
//! Counted work is the steps of a binder, a fold or a loop, and the passes of a derivative. The
//! outermost is told of, and what is counted directly inside it; deeper work is not followed. There
//! is no clock here: the host sets a flag when it wants to know, and the next step answers.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Done, Host, Interp};
use crate::resolve::forms::Derivative;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// The steps of a binder, a `fold` or a `scan`; of several indices those of the first.
    Steps,
    /// The steps of a `loop`, of which nobody knows how many there will be.
    Loop,
    /// The passes of a derivative operator, one for each real of the argument.
    Passes(Derivative),
    /// The statements of what is evaluated elsewhere: of a generated derivative, or of an expression.
    Statements(Option<Derivative>),
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

/// The work that is under way. Loops have little time for this: a [`Pace`] lets most steps of
/// one that has no other in it go by.
pub(super) struct Works<'a> {
    /// The host wants to know.
    asked: &'a AtomicBool,
    levels: [Level; LEVELS],
    /// So many levels are open, those included that are not followed.
    open: usize,
    /// So many levels were ever begun.
    begun: u64,
    /// The pace of the inner loop before: its like follows in the next step.
    learnt: i64,
    /// The host was told of the outermost one that is open.
    told: bool,
}

#[derive(Clone, Copy)]
struct Level {
    work: Work,
    done: i64,
    /// Less than nothing where nobody knows.
    total: i64,
}

/// How often a loop looks whether the host wants to know.
pub(super) struct Pace {
    /// After so many steps. With counted work in them steps are slow, and each looks.
    pub(super) steps: i64,
    level: usize,
    begun: u64,
}

impl Default for Pace {
    /// Of what is not followed.
    fn default() -> Self {
        Self { steps: i64::MAX, level: LEVELS, begun: 0 }
    }
}

/// The pace of steps without counted work in them.
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
    /// So much is done elsewhere, of this derivative or of an expression: tells the host if it wants to know.
    pub(super) fn elsewhere(&mut self, pace: &Pace, host: &mut dyn Host, of: Option<Derivative>, done: Done) {
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (level, now) = match (done, of) {
            (Done::Statements(done, total), _) => {
                (pace.level, Level { work: Work::Statements(of), done: signed(done), total: signed(total) })
            }
            (Done::Steps(done, total), _) => {
                let work = if total.is_some() { Work::Steps } else { Work::Loop };
                // Of a derivative the statements are told, and the steps within one of them.
                let level = pace.level.saturating_add(usize::from(of.is_some()));
                (level, Level { work, done, total: total.unwrap_or(-1) })
            }
        };
        let Some(followed) = self.levels.get_mut(level) else { return };
        *followed = now;
        self.answer(level, host);
    }

    /// Tells the host of this level and those around it, if it wants to know.
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
    /// Tells the host how far the work is, at the next step after this flag is set.
    pub fn watch(&mut self, asked: &'a AtomicBool) {
        self.works.asked = asked;
    }

    /// Begins counted work. Whatever comes of it, [`Interp::end_work`] follows.
    #[inline(always)]
    pub(super) fn begin_work(&mut self) {
        self.works.open = self.works.open.wrapping_add(1);
        self.works.begun = self.works.begun.wrapping_add(1);
    }

    /// What was begun last is this work, and there is so much of it; -1 where nobody knows.
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

    /// So many steps are done: tells the host if it wants to know.
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

    /// Ends the work that was begun last.
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

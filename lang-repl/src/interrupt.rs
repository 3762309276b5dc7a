//! Ctrl-C. While something is computed it asks the computation to stop; a computation that does
//! not, a second Ctrl-C ends together with the process. While nothing is computed it ends the
//! process, except in a session on a terminal, where it means nothing then. (While a line is
//! edited, Ctrl-C is a key like others and never comes here.)
//!
//! A session on a terminal is too dear to lose to a nervous finger. There more of them change nothing,
//! unless the computation has ignored the first for a while: then the definitions are written to a file,
//! it is told where, and only one more Ctrl-C ends the session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lang_core::session::{Session, Stop};

use crate::{out, progress, rescue};

/// Set when the computation under way is to stop. Long computations look at it.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// What stops the question that a session is asked.
static ASKED: Mutex<Option<Stop>> = Mutex::new(None);

static COMPUTING: AtomicBool = AtomicBool::new(false);

/// Is there a session, on a terminal or on a pipe?
static SESSION: AtomicBool = AtomicBool::new(false);

/// When the first interrupt of this computation came, in milliseconds of the process; 0: none yet.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// When it was told that one more ends the session; 0: not yet.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// So long a computation may take to stop before anything else is thought of.
const PATIENCE: Duration = Duration::from_secs(2);

/// So long what is told has to be there to be read.
const READING: Duration = Duration::from_millis(500);

/// The status of a process that Ctrl-C ended, as shells give it.
const INTERRUPTED: i32 = 130;

/// What an interrupt does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    Nothing,
    Stop,
    Tell,
    End,
}

/// Begins to listen. Where the system refuses, Ctrl-C ends the process as it always did.
pub(crate) fn listen(terminal: bool) {
    let start = Instant::now();
    let handler = move || {
        let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let computing = COMPUTING.load(Ordering::SeqCst);
        match effect(terminal, computing, FIRST.load(Ordering::SeqCst), TOLD.load(Ordering::SeqCst), now) {
            Effect::Nothing => {}
            Effect::Stop => {
                FIRST.store(now, Ordering::SeqCst);
                STOP.store(true, Ordering::SeqCst);
                asked().iter().for_each(Stop::stop);
            }
            Effect::Tell => {
                // It is not known how far it is any more, and what is told is to be read.
                progress::end();
                TOLD.store(now, Ordering::SeqCst);
                let kept = match rescue::write() {
                    Some(path) => format!("; its definitions are in {}", path.display()),
                    None => String::new(),
                };
                out::note(&format!("this does not stop yet: one more Ctrl-C ends the session{kept}\n"));
            }
            Effect::End => {
                progress::end();
                std::process::exit(INTERRUPTED)
            }
        }
    };
    let _ = ctrlc::set_handler(handler);
}

fn effect(terminal: bool, computing: bool, first: u64, told: u64, now: u64) -> Effect {
    let since = |then: u64| Duration::from_millis(now.saturating_sub(then));
    match (computing, terminal) {
        (false, true) => Effect::Nothing,
        (false, false) => Effect::End,
        (true, _) if first == 0 => Effect::Stop,
        (true, false) => Effect::End,
        (true, true) if since(first) <= PATIENCE => Effect::Nothing,
        (true, true) if told == 0 => Effect::Tell,
        (true, true) if since(told) <= READING => Effect::Nothing,
        (true, true) => Effect::End,
    }
}

/// From here on there is a session, which goes on when a computation is stopped.
pub(crate) fn in_session() {
    SESSION.store(true, Ordering::SeqCst);
}

/// Is the computation under way to stop?
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Asks a session what may take long; `None` if an interrupt came.
pub(crate) fn ask<T>(session: &Session, question: impl FnOnce(&Session) -> T) -> Option<T> {
    struct Asking;
    impl Drop for Asking {
        fn drop(&mut self) {
            *asked() = None;
        }
    }
    let begun = |stop: Stop| {
        *asked() = Some(stop);
        if requested() {
            asked().iter().for_each(Stop::stop);
        }
        Asking
    };
    session.ask(begun, question)
}

fn asked() -> MutexGuard<'static, Option<Stop>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Is what is being written to be left off? Outside sessions nothing comes after it.
pub(crate) fn cuts_output() -> bool {
    let requested = requested();
    if requested && !SESSION.load(Ordering::Relaxed) {
        std::process::exit(INTERRUPTED);
    }
    requested
}

/// Marks that something is computed, until it is dropped.
pub(crate) struct Computing(());

impl Computing {
    pub(crate) fn start() -> Self {
        STOP.store(false, Ordering::SeqCst);
        FIRST.store(0, Ordering::SeqCst);
        TOLD.store(0, Ordering::SeqCst);
        COMPUTING.store(true, Ordering::SeqCst);
        progress::start();
        Self(())
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        progress::end();
        COMPUTING.store(false, Ordering::SeqCst);
        STOP.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_stop_ends_a_session() {
        // Nothing is computed.
        assert_eq!(effect(true, false, 0, 0, 9), Effect::Nothing);
        assert_eq!(effect(false, false, 0, 0, 9), Effect::End);
        // The first, and hasty ones after it.
        assert_eq!(effect(true, true, 0, 0, 9), Effect::Stop);
        assert_eq!(effect(true, true, 9, 0, 2009), Effect::Nothing);
        assert_eq!(effect(false, true, 9, 0, 10), Effect::End);
        // It does not stop.
        assert_eq!(effect(true, true, 9, 0, 2010), Effect::Tell);
        assert_eq!(effect(true, true, 9, 2010, 2510), Effect::Nothing);
        assert_eq!(effect(true, true, 9, 2010, 2511), Effect::End);
    }
}

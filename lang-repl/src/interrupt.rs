//! **Interrupts** (Ctrl-C). During a computation, the first one requests a stop, and a second one
//! ends the process. Without a computation, it ends the process, except in a session on a terminal,
//! where it has no effect. (While a line is edited, Ctrl-C is an ordinary key and never arrives
//! here.)
//!
//! A session on a terminal must not be lost by accident. There, further interrupts have no effect
//! unless the computation has ignored the first for a while. Then the definitions are written to a
//! file, the user is informed, and only one more interrupt ends the session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lang_core::session::{CancellationHandle, Session};

use crate::{out, progress, rescue};

/// Set when the current computation must stop. Long computations check it.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

/// The handle that stops the current query of an incremental session.
static ASKED: Mutex<Option<CancellationHandle>> = Mutex::new(None);

static COMPUTING: AtomicBool = AtomicBool::new(false);

/// Whether a session is active, on a terminal or on a pipe.
static SESSION: AtomicBool = AtomicBool::new(false);

/// The time of the first interrupt of this computation, in milliseconds since `listen`; 0: none
/// yet.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// The time of the warning that one more interrupt ends the session; 0: not yet.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// The time that a computation has to stop before further interrupts count.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time for which the warning must be visible before an interrupt can end the session.
const READING: Duration = Duration::from_millis(500);

/// The exit status of a process ended by Ctrl-C, as in shells.
const INTERRUPTED: i32 = 130;

/// The effect of an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    Nothing,
    Stop,
    Tell,
    End,
}

/// Installs the handler. If the system refuses, Ctrl-C ends the process by default.
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
                asked().iter().for_each(CancellationHandle::cancel);
            }
            Effect::Tell => {
                // The position is no longer known, and the bar must not hide the warning.
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

/// Marks the beginning of a session, which continues after a stopped computation.
pub(crate) fn in_session() {
    SESSION.store(true, Ordering::SeqCst);
}

/// Returns whether the current computation must stop.
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Runs a long query on a session; `None` if it was interrupted.
pub(crate) fn ask<T>(session: &Session, question: impl FnOnce(&Session) -> T) -> Option<T> {
    struct Asking;
    impl Drop for Asking {
        fn drop(&mut self) {
            *asked() = None;
        }
    }
    let begun = |stop: CancellationHandle| {
        *asked() = Some(stop);
        if requested() {
            asked().iter().for_each(CancellationHandle::cancel);
        }
        Asking
    };
    session.ask(begun, question)
}

fn asked() -> MutexGuard<'static, Option<CancellationHandle>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether to drop the rest of the output. Outside a session, an interrupt ends the process
/// here.
pub(crate) fn cuts_output() -> bool {
    let requested = requested();
    if requested && !SESSION.load(Ordering::Relaxed) {
        std::process::exit(INTERRUPTED);
    }
    requested
}

/// A guard: a computation is active until it is dropped.
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
        // No computation is active.
        assert_eq!(effect(true, false, 0, 0, 9), Effect::Nothing);
        assert_eq!(effect(false, false, 0, 0, 9), Effect::End);
        // The first interrupt, and hasty ones after it.
        assert_eq!(effect(true, true, 0, 0, 9), Effect::Stop);
        assert_eq!(effect(true, true, 9, 0, 2009), Effect::Nothing);
        assert_eq!(effect(false, true, 9, 0, 10), Effect::End);
        // The computation does not stop.
        assert_eq!(effect(true, true, 9, 0, 2010), Effect::Tell);
        assert_eq!(effect(true, true, 9, 2010, 2510), Effect::Nothing);
        assert_eq!(effect(true, true, 9, 2010, 2511), Effect::End);
    }
}

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
pub(crate) static STOP_REQUESTED: AtomicBool = AtomicBool::new(false);

/// The handle that stops the current query of an incremental session.
static QUERY_STOP: Mutex<Option<CancellationHandle>> = Mutex::new(None);

static COMPUTING: AtomicBool = AtomicBool::new(false);

/// Whether a session is active, on a terminal or on a pipe.
static IN_SESSION: AtomicBool = AtomicBool::new(false);

/// The time of the first interrupt of this computation, in milliseconds since `install_handler`; 0:
/// none yet.
static FIRST_INTERRUPT: AtomicU64 = AtomicU64::new(0);

/// The time of the warning that one more interrupt ends the session; 0: not yet.
static WARNED_AT: AtomicU64 = AtomicU64::new(0);

/// The time that a computation has to stop before further interrupts count.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time for which the warning must be visible before an interrupt can end the session.
const READING_TIME: Duration = Duration::from_millis(500);

/// The exit status of a process ended by Ctrl-C, as in shells.
const INTERRUPTED_STATUS: i32 = 130;

/// The effect of an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InterruptEffect {
    Nothing,
    Stop,
    Warn,
    End,
}

/// Installs the handler. If the system refuses, Ctrl-C ends the process by default.
pub(crate) fn install_handler(terminal: bool) {
    let start = Instant::now();
    let handler = move || {
        let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let computing = COMPUTING.load(Ordering::SeqCst);
        match interrupt_effect(
            terminal,
            computing,
            FIRST_INTERRUPT.load(Ordering::SeqCst),
            WARNED_AT.load(Ordering::SeqCst),
            now,
        ) {
            InterruptEffect::Nothing => {}
            InterruptEffect::Stop => {
                FIRST_INTERRUPT.store(now, Ordering::SeqCst);
                STOP_REQUESTED.store(true, Ordering::SeqCst);
                query_stop().iter().for_each(CancellationHandle::cancel);
            }
            InterruptEffect::Warn => {
                // The position is no longer known, and the bar must not hide the warning.
                progress::end_computation();
                WARNED_AT.store(now, Ordering::SeqCst);
                let kept = match rescue::write_rescue_file() {
                    Some(path) => format!("; its definitions are in {}", path.display()),
                    None => String::new(),
                };
                out::note(&format!("the computation has not stopped yet: one more Ctrl-C ends the session{kept}\n"));
            }
            InterruptEffect::End => {
                progress::end_computation();
                std::process::exit(INTERRUPTED_STATUS)
            }
        }
    };
    let _ = ctrlc::set_handler(handler);
}

fn interrupt_effect(terminal: bool, computing: bool, first: u64, warned_at: u64, now: u64) -> InterruptEffect {
    let since = |then: u64| Duration::from_millis(now.saturating_sub(then));
    match (computing, terminal) {
        (false, true) => InterruptEffect::Nothing,
        (false, false) => InterruptEffect::End,
        (true, _) if first == 0 => InterruptEffect::Stop,
        (true, false) => InterruptEffect::End,
        (true, true) if since(first) <= PATIENCE => InterruptEffect::Nothing,
        (true, true) if warned_at == 0 => InterruptEffect::Warn,
        (true, true) if since(warned_at) <= READING_TIME => InterruptEffect::Nothing,
        (true, true) => InterruptEffect::End,
    }
}

/// Marks the beginning of a session, which continues after a stopped computation.
pub(crate) fn begin_session() {
    IN_SESSION.store(true, Ordering::SeqCst);
}

/// Returns whether the current computation must stop.
pub(crate) fn is_requested() -> bool {
    STOP_REQUESTED.load(Ordering::Relaxed)
}

/// Runs a long query on a session; `None` if it was interrupted.
pub(crate) fn run_query<T>(session: &Session, question: impl FnOnce(&Session) -> T) -> Option<T> {
    /// Restores the handle of the enclosing query.
    struct QueryGuard(Option<CancellationHandle>);
    impl Drop for QueryGuard {
        fn drop(&mut self) {
            *query_stop() = self.0.take();
        }
    }
    let begun = |stop: CancellationHandle| {
        let enclosing = query_stop().replace(stop);
        if is_requested() {
            query_stop().iter().for_each(CancellationHandle::cancel);
        }
        QueryGuard(enclosing)
    };
    session.ask(begun, question)
}

fn query_stop() -> MutexGuard<'static, Option<CancellationHandle>> {
    QUERY_STOP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether to drop the rest of the output. Outside a session, an interrupt ends the process
/// here.
pub(crate) fn should_drop_output() -> bool {
    let requested = is_requested();
    if requested && !IN_SESSION.load(Ordering::Relaxed) {
        std::process::exit(INTERRUPTED_STATUS);
    }
    requested
}

/// A guard: a computation is active until it is dropped.
pub(crate) struct ComputationGuard(());

impl ComputationGuard {
    pub(crate) fn start() -> Self {
        STOP_REQUESTED.store(false, Ordering::SeqCst);
        FIRST_INTERRUPT.store(0, Ordering::SeqCst);
        WARNED_AT.store(0, Ordering::SeqCst);
        COMPUTING.store(true, Ordering::SeqCst);
        progress::begin_computation();
        Self(())
    }
}

impl Drop for ComputationGuard {
    fn drop(&mut self) {
        progress::end_computation();
        COMPUTING.store(false, Ordering::SeqCst);
        STOP_REQUESTED.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_stop_ends_a_session() {
        // No computation is active.
        assert_eq!(interrupt_effect(true, false, 0, 0, 9), InterruptEffect::Nothing);
        assert_eq!(interrupt_effect(false, false, 0, 0, 9), InterruptEffect::End);
        // The first interrupt, and hasty ones after it.
        assert_eq!(interrupt_effect(true, true, 0, 0, 9), InterruptEffect::Stop);
        assert_eq!(interrupt_effect(true, true, 9, 0, 2009), InterruptEffect::Nothing);
        assert_eq!(interrupt_effect(false, true, 9, 0, 10), InterruptEffect::End);
        // The computation does not stop.
        assert_eq!(interrupt_effect(true, true, 9, 0, 2010), InterruptEffect::Warn);
        assert_eq!(interrupt_effect(true, true, 9, 2010, 2510), InterruptEffect::Nothing);
        assert_eq!(interrupt_effect(true, true, 9, 2010, 2511), InterruptEffect::End);
    }
}

//! Ctrl-C. While something is computed it asks the computation to stop; a computation that does
//! not, a second Ctrl-C ends together with the process. While nothing is computed it ends the
//! process, except in a session on a terminal, where it means nothing then. (While a line is
//! edited, Ctrl-C is a key like others and never comes here.)

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::progress;

/// Set when the computation under way is to stop. Long computations look at it.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

static COMPUTING: AtomicBool = AtomicBool::new(false);

/// When the first interrupt of this computation came, in milliseconds of the process; 0: none yet.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// A session is too dear to lose to a nervous finger: there the second Ctrl-C counts only
/// if the computation has ignored the first for so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The status of a process that Ctrl-C ended, as shells give it.
const INTERRUPTED: i32 = 130;

/// Begins to listen. Where the system refuses, Ctrl-C ends the process as it always did.
pub(crate) fn listen(session: bool) {
    let start = Instant::now();
    let handler = move || {
        let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let computing = COMPUTING.load(Ordering::SeqCst);
        let first = FIRST.load(Ordering::SeqCst);
        let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(0);
        let end = match (computing, first) {
            (false, _) => !session,
            (true, 0) => false,
            (true, first) => !session || now.saturating_sub(first) > patience,
        };
        if end {
            progress::end();
            std::process::exit(INTERRUPTED);
        }
        if computing && first == 0 {
            FIRST.store(now, Ordering::SeqCst);
            STOP.store(true, Ordering::SeqCst);
        }
    };
    let _ = ctrlc::set_handler(handler);
}

/// Marks that something is computed, until it is dropped.
pub(crate) struct Computing(());

impl Computing {
    pub(crate) fn start() -> Self {
        STOP.store(false, Ordering::SeqCst);
        FIRST.store(0, Ordering::SeqCst);
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

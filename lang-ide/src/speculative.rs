//! **Speculative analysis** of changed texts in a second session. A query of one session cannot
//! query another on the same thread, so the work runs on a thread of its own. The caller's own
//! query stays cancellable meanwhile. Rename and [`crate::try_edit`] use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use lang_core::session::Session;

/// The stack size of the thread, the same as the interpreter's. Only the used part takes memory.
const STACK_SIZE: usize = 256 << 20;
/// The interval at which the caller checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A stop flag that is set on drop, when the caller no longer waits.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on another thread while the caller's query stays cancellable. If the caller is
/// cancelled, the flag that `work` receives is set. Returns `None` if `work` panicked.
pub(crate) fn run_speculatively<T: Send + 'static>(
    session: &Session,
    work: impl FnOnce(&AtomicBool) -> T + Clone + Send + 'static,
) -> Option<T> {
    let stop = StopOnDrop(Arc::default());
    let (sender, answer) = channel();
    let stopped = Arc::clone(&stop.0);
    let work = move || drop(sender.send(work(&stopped)));
    let deep = thread::Builder::new().stack_size(STACK_SIZE);
    // The system may refuse so large a stack. The default stack suffices for all but the deepest
    // programs.
    if deep.spawn(work.clone()).is_err() {
        thread::spawn(work);
    }
    loop {
        match answer.recv_timeout(POLL_INTERVAL) {
            Ok(found) => return Some(found),
            Err(RecvTimeoutError::Timeout) => session.unwind_if_stopped(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

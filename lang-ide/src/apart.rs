//! What has to be found out of changed texts, by a session of its own: within a question to one session another cannot be
//! asked, so it has a thread of its own. The question may be cancelled meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use lang_core::session::Session;

/// The stack of the thread, as the interpreter's: only what is used of it takes memory.
const STACK: usize = 256 << 20;
/// How often is looked whether the question is cancelled.
const TICK: Duration = Duration::from_millis(2);

/// Is set when it goes: nobody waits any more.
struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Works on another thread, until it is told to stop, while a session is asked on this one. `None` if it came to no end.
pub(crate) fn apart<T: Send + 'static>(
    session: &Session,
    work: impl FnOnce(&AtomicBool) -> T + Clone + Send + 'static,
) -> Option<T> {
    let stop = Flag(Arc::default());
    let (told, answer) = channel();
    let stopped = Arc::clone(&stop.0);
    let work = move || drop(told.send(work(&stopped)));
    let deep = thread::Builder::new().stack_size(STACK);
    // So large a stack may be forbidden; a usual one serves all but the deepest programs.
    if deep.spawn(work.clone()).is_err() {
        thread::spawn(work);
    }
    loop {
        match answer.recv_timeout(TICK) {
            Ok(found) => return Some(found),
            Err(RecvTimeoutError::Timeout) => session.unless_stopped(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

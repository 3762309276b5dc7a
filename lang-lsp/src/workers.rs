//! **Worker threads.** A lane owns a few workers and a queue of questions. A question receives its
//! snapshot when a worker starts it, so a queued question never delays an edit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tower_lsp::jsonrpc::Error;

use crate::snapshot::{WorkerContext, WorkerQuestion};
use crate::state::{ServerState, StepQueue};

/// The stack size of a worker, the same as the interpreter's. Only the used part takes memory.
const STACK_SIZE: usize = 256 << 20;

/// The purpose of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PoolKind {
    /// Diagnostics, on every keystroke.
    Checks,
    /// Fast requests of the client.
    FastRequests,
    /// Slow requests that the client waits for only a limited time.
    DeadlineRequests,
    /// Slow requests that the client waits for.
    SlowRequests,
    /// Slow background work without a request.
    Costs,
}

/// The workers of a lane and its queue.
pub(crate) struct WorkerPool {
    work: Sender<(Box<dyn WorkerQuestion>, WorkerContext)>,
    /// The number of idle workers.
    pub(crate) idle: usize,
    /// The queued questions, in order.
    pub(crate) queued: VecDeque<Box<dyn WorkerQuestion>>,
}

impl WorkerPool {
    /// Starts `workers` threads.
    pub(crate) fn start(kind: PoolKind, workers: usize, queue: &StepQueue) -> Self {
        let (work, received) = channel();
        let received = Arc::new(Mutex::new(received));
        for _ in 0..workers {
            let (received, queue) = (Arc::clone(&received), queue.clone());
            let run = move || run_worker(kind, &received, &queue);
            let named = thread::Builder::new().name(format!("{kind:?}"));
            // The system may refuse so large a stack. The default stack suffices for all but the
            // deepest programs.
            if named.stack_size(STACK_SIZE).spawn(run.clone()).is_err() {
                thread::spawn(run);
            }
        }
        Self { work, idle: workers, queued: VecDeque::new() }
    }

    /// Hands a question to an idle worker.
    pub(crate) fn hand_over(&mut self, question: Box<dyn WorkerQuestion>, world: WorkerContext) {
        self.idle = self.idle.saturating_sub(1);
        let _ = self.work.send((question, world));
    }
}

/// The main loop of a worker: answers questions until the channel closes.
fn run_worker(kind: PoolKind, received: &Mutex<Receiver<(Box<dyn WorkerQuestion>, WorkerContext)>>, queue: &StepQueue) {
    loop {
        let next = received.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((mut question, world)) = next else { return };
        let answered = catch_unwind(AssertUnwindSafe(|| question.run(&world)));
        // The main loop may be waiting for this snapshot before it can set a text.
        drop(world);
        let back = match answered {
            Ok(true) => None,
            Ok(false) => Some(question),
            Err(_) => {
                question.fail(Error::internal_error());
                None
            }
        };
        queue.send(move |state: &mut ServerState| state.worker_finished(kind, back));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Client;
    use crate::snapshot::QuestionSubject;

    const MANY: usize = 50;

    /// A question that panics, and the channel for its error.
    struct Fatal(Sender<Error>);

    impl WorkerQuestion for Fatal {
        fn subject(&self) -> Option<&QuestionSubject> {
            None
        }

        fn pool_kind(&self) -> PoolKind {
            PoolKind::FastRequests
        }

        #[allow(clippy::panic, reason = "that is the test")]
        fn run(&mut self, _: &WorkerContext) -> bool {
            panic!("of a test");
        }

        fn fail(&mut self, error: Error) {
            let _ = self.0.send(error);
        }
    }

    #[test]
    fn a_panic_is_an_error_of_its_question_and_the_worker_lives_on() {
        let (out, _read) = channel();
        let (queue, steps) = channel();
        let queue = StepQueue(queue);
        let state = ServerState::new(Client::new(out), queue.clone());
        thread::spawn(move || state.run(&steps));
        let (sender, errors) = channel();
        // There are more questions than workers, so that each worker runs several.
        for _ in 0..MANY {
            let sender = sender.clone();
            queue.send(move |state| state.ask(Box::new(Fatal(sender))));
        }
        for _ in 0..MANY {
            let error = errors.recv_timeout(Duration::from_secs(60));
            assert_eq!(error.map(|e| e.code), Ok(Error::internal_error().code));
        }
    }
}

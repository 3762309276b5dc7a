//! Worker threads. A lane has a few of them and the questions that wait for one. A question gets its snapshot when it
//! begins, so what waits never holds up an edit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tower_lsp::jsonrpc::Error;

use crate::state::{Queue, State};
use crate::world::{Question, World};

/// The stack of a worker, as the interpreter's: only what is used of it takes memory.
const STACK: usize = 256 << 20;

/// What a lane is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// What is wrong with the text, on every keystroke.
    Checks,
    /// What the client asks.
    Questions,
    /// What the client asks that may take long, and that it waits for only a while.
    Depths,
    /// What the client asks that may take long, and waits for.
    Studies,
    /// What takes long and nobody waits for.
    Costs,
}

/// Worker threads and what waits for them.
pub(crate) struct Lane {
    work: Sender<(Box<dyn Question>, World)>,
    /// Workers that have nothing to do.
    pub(crate) free: usize,
    /// What has not begun, in order.
    pub(crate) waiting: VecDeque<Box<dyn Question>>,
}

impl Lane {
    /// Starts so many workers.
    pub(crate) fn start(kind: Kind, workers: usize, queue: &Queue) -> Self {
        let (work, received) = channel();
        let received = Arc::new(Mutex::new(received));
        for _ in 0..workers {
            let (received, queue) = (Arc::clone(&received), queue.clone());
            let run = move || work_off(kind, &received, &queue);
            let named = thread::Builder::new().name(format!("{kind:?}"));
            // So large a stack may be forbidden; a usual one serves all but the deepest programs.
            if named.stack_size(STACK).spawn(run.clone()).is_err() {
                thread::spawn(run);
            }
        }
        Self { work, free: workers, waiting: VecDeque::new() }
    }

    /// Has a free worker begin the next.
    pub(crate) fn begin(&mut self, question: Box<dyn Question>, world: World) {
        self.free = self.free.saturating_sub(1);
        let _ = self.work.send((question, world));
    }
}

/// A worker's life.
fn work_off(kind: Kind, received: &Mutex<Receiver<(Box<dyn Question>, World)>>, queue: &Queue) {
    loop {
        let next = received.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((mut question, world)) = next else { return };
        let answered = catch_unwind(AssertUnwindSafe(|| question.ask(&world)));
        // The loop may wait for this to set a text.
        drop(world);
        let back = match answered {
            Ok(true) => None,
            Ok(false) => Some(question),
            Err(_) => {
                question.refuse(Error::internal_error());
                None
            }
        };
        queue.send(move |state: &mut State| state.came_back(kind, back));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Client;
    use crate::world::About;

    const MANY: usize = 50;

    /// A question that cannot be answered, and where it is told so.
    struct Fatal(Sender<Error>);

    impl Question for Fatal {
        fn about(&self) -> Option<&About> {
            None
        }

        fn lane(&self) -> Kind {
            Kind::Questions
        }

        #[allow(clippy::panic, reason = "that is the test")]
        fn ask(&mut self, _: &World) -> bool {
            panic!("of a test");
        }

        fn refuse(&mut self, error: Error) {
            let _ = self.0.send(error);
        }
    }

    #[test]
    fn a_panic_is_an_error_of_its_question_and_the_worker_lives_on() {
        let (out, _read) = channel();
        let (queue, steps) = channel();
        let queue = Queue(queue);
        let state = State::new(Client::new(out), queue.clone());
        thread::spawn(move || state.run(&steps));
        let (told, errors) = channel();
        // More of them than there are workers: each has several, one after the other.
        for _ in 0..MANY {
            let told = told.clone();
            queue.send(move |state| state.ask(Box::new(Fatal(told))));
        }
        for _ in 0..MANY {
            let error = errors.recv_timeout(Duration::from_secs(60));
            assert_eq!(error.map(|e| e.code), Ok(Error::internal_error().code));
        }
    }
}

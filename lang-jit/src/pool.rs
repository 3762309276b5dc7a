//! Threads that share the pieces of a job: each takes the next one until there are none, the caller too. They are started by
//! the first job, wait a moment for the next by looking, then sleep.
#![allow(unsafe_code, reason = "threads run a closure that its caller borrows until all are done")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// A thread looks so often for a job before it sleeps, about a tenth of a millisecond.
const LOOKS: u32 = 2_000;

/// The stack of a thread, of which only what is used takes memory: code of kernels has tiles there.
const STACK: usize = 8 << 20;

/// What is done with a piece, by its number and that of the thread.
type Work<'w> = dyn Fn(usize, usize) + Sync + 'w;

/// Some threads, of which one is whoever calls.
pub(crate) struct Pool {
    threads: usize,
    /// The others, once there was a job; it is held while one runs.
    started: Mutex<Vec<JoinHandle<()>>>,
    shared: Arc<Shared>,
}

struct Shared {
    /// How many jobs there were, which threads look at.
    jobs: AtomicU64,
    board: Mutex<Board>,
    /// There is a job, or the end.
    news: Condvar,
    /// The last thread left a job.
    left: Condvar,
}

#[derive(Default)]
struct Board {
    job: Option<Job>,
    /// How many threads are at it.
    at_work: usize,
    is_over: bool,
}

/// What is to be done. Threads have it only while they are counted in [`Board::at_work`], and whoever gave it waits for these.
#[derive(Clone, Copy)]
struct Job {
    work: *const Work<'static>,
    next: *const AtomicUsize,
    done: *const AtomicUsize,
    failed: *const AtomicBool,
    count: usize,
}

// SAFETY: what is pointed at may be shared between threads.
unsafe impl Send for Job {}

thread_local! {
    /// Is this thread within a job? It does the pieces of another by itself.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    pub(crate) fn new(threads: usize) -> Self {
        let shared =
            Shared { jobs: AtomicU64::new(0), board: Mutex::default(), news: Condvar::new(), left: Condvar::new() };
        Self { threads: threads.max(1), started: Mutex::default(), shared: Arc::new(shared) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Does all pieces. No two run at once by the same thread's number. Between those that the caller does it is told how many
    /// are done.
    ///
    /// # Panics
    /// If one of them does.
    pub(crate) fn run(&self, count: usize, work: &Work<'_>, told: &dyn Fn(usize)) {
        let alone = self.threads < 2 || count < 2 || WITHIN.get();
        let started = match self.started.try_lock() {
            Ok(started) => Some(started),
            Err(TryLockError::Poisoned(started)) => Some(started.into_inner()),
            // Someone else's job runs.
            Err(TryLockError::WouldBlock) => None,
        };
        let Some(mut started) = started.filter(|_| !alone) else {
            for piece in 0..count {
                work(piece, 0);
                told(piece + 1);
            }
            return;
        };
        self.start(&mut started);
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let work: *const Work<'_> = work;
        // SAFETY: only the lifetime changes; the job is taken back below before what is borrowed may end.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let job = Job { work, next: &raw const next, done: &raw const done, failed: &raw const failed, count };
        self.shared.tell(|board| board.job = Some(job));
        // SAFETY: all of it is borrowed here.
        unsafe { job.take_part(0, told) };
        let mut board = self.shared.board();
        board.job = None;
        while board.at_work > 0 {
            board = self.shared.left.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        drop((board, started));
        assert!(!failed.load(Ordering::Relaxed), "a piece of a job failed");
    }

    /// Starts the threads, as many as the system gives.
    fn start(&self, started: &mut Vec<JoinHandle<()>>) {
        if !started.is_empty() {
            return;
        }
        for thread in 1..self.threads {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name(format!("iverson {thread}")).stack_size(STACK);
            match builder.spawn(move || shared.serve(thread)) {
                Ok(handle) => started.push(handle),
                Err(_) => return,
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.tell(|board| board.is_over = true);
        let started = std::mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread that failed has said so.
        started.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something on the board. No thread that reads it begins to sleep meanwhile and misses it.
    fn tell(&self, write: impl FnOnce(&mut Board)) {
        let mut board = self.board();
        write(&mut board);
        self.jobs.fetch_add(1, Ordering::Release);
        drop(board);
        self.news.notify_all();
    }

    /// What a thread does all its life.
    fn serve(&self, thread: usize) {
        WITHIN.set(true);
        let mut known = 0;
        loop {
            let mut looks = 0;
            while self.jobs.load(Ordering::Acquire) == known && looks < LOOKS {
                std::hint::spin_loop();
                looks += 1;
            }
            let mut board = self.board();
            while self.jobs.load(Ordering::Acquire) == known && !board.is_over {
                board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
            }
            if board.is_over {
                return;
            }
            known = self.jobs.load(Ordering::Acquire);
            let Some(job) = board.job else { continue };
            board.at_work += 1;
            drop(board);
            // SAFETY: the thread is counted, so that what is borrowed is there until it leaves.
            unsafe { job.take_part(thread, &|_| ()) };
            let mut board = self.board();
            board.at_work -= 1;
            if board.at_work == 0 {
                self.left.notify_all();
            }
        }
    }
}

impl Job {
    /// Does pieces until there are none, and tells how many are done after each.
    ///
    /// # Safety
    /// What the job points at is there until this returns.
    unsafe fn take_part(self, thread: usize, told: &dyn Fn(usize)) {
        // SAFETY: by the contract above.
        let (work, next, done, failed) = unsafe { (&*self.work, &*self.next, &*self.done, &*self.failed) };
        let before = WITHIN.replace(true);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= self.count {
                    break;
                }
                work(piece, thread);
                told(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        }));
        WITHIN.set(before);
        if ended.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for count in [0, 1, 2, 3, 64, 1000] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let least = Cell::new(0);
                let work = |piece: usize, thread: usize| {
                    assert!(thread < threads);
                    if let Some(n) = done.get(piece) {
                        n.fetch_add(1, Ordering::Relaxed);
                    }
                };
                pool.run(count, &work, &|done| {
                    assert!(least.replace(done) < done && done <= count);
                });
                assert!(done.iter().all(|n| n.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_job_within_a_job_and_two_callers_end() {
        let pool = Pool::new(3);
        let sum = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let add = |piece: usize, _: usize| {
                        sum.fetch_add(piece, Ordering::Relaxed);
                    };
                    (0..200).for_each(|_| pool.run(4, &|_, _| pool.run(5, &add, &|_| ()), &|_| ()));
                });
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), 2 * 200 * 4 * 10);
    }

    #[test]
    fn a_failure_reaches_the_caller_and_the_next_job_runs() {
        let pool = Pool::new(2);
        let failed = catch_unwind(AssertUnwindSafe(|| pool.run(8, &|piece, _| assert_ne!(piece, 5), &|_| ())));
        assert!(failed.is_err());
        let done = AtomicUsize::new(0);
        let work = |_: usize, _: usize| {
            done.fetch_add(1, Ordering::Relaxed);
        };
        pool.run(8, &work, &|_| ());
        assert_eq!(done.load(Ordering::Relaxed), 8);
    }
}

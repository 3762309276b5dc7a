//! **Thread pool.** Threads share the pieces of a job: each takes the next piece until none is
//! left, and so does the caller. The first job starts the threads. Between jobs they spin for a
//! moment, then sleep.
#![allow(unsafe_code, reason = "threads run a closure that its caller borrows until all are done")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// The number of polls for a job before a thread sleeps, about a tenth of a millisecond.
const SPIN_POLLS: u32 = 2_000;

/// The stack size of a thread; only the part in use takes memory. Compiled kernels keep tiles on
/// it.
const THREAD_STACK: usize = 8 << 20;

/// The work on a piece, from the piece's number and the thread's.
type PieceWork<'w> = dyn Fn(usize, usize) + Sync + 'w;

/// A pool of threads; the caller counts as one.
pub(crate) struct ThreadPool {
    threads: usize,
    /// The other threads, once a job has run. The lock is held while a job runs.
    started: Mutex<Vec<JoinHandle<()>>>,
    shared: Arc<PoolState>,
}

struct PoolState {
    /// The number of changes of the board, which threads poll.
    changes: AtomicU64,
    board: Mutex<JobBoard>,
    /// Notified at a job, and at the end of the pool.
    changed: Condvar,
    /// Notified when the last thread leaves a job.
    idle: Condvar,
}

#[derive(Default)]
struct JobBoard {
    job: Option<Job>,
    /// The number of threads that work on the job.
    workers: usize,
    is_closed: bool,
}

/// A job. Threads access it only while [`JobBoard::workers`] counts them, and the caller waits for
/// these.
#[derive(Clone, Copy)]
struct Job {
    work: *const PieceWork<'static>,
    next: *const AtomicUsize,
    done: *const AtomicUsize,
    failed: *const AtomicBool,
    count: usize,
}

// SAFETY: the pointed-at values may be shared between threads.
unsafe impl Send for Job {}

thread_local! {
    /// Whether this thread is within a job. It then runs the pieces of a nested job by itself.
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
}

impl ThreadPool {
    pub(crate) fn new(threads: usize) -> Self {
        let shared = PoolState {
            changes: AtomicU64::new(0),
            board: Mutex::default(),
            changed: Condvar::new(),
            idle: Condvar::new(),
        };
        Self { threads: threads.max(1), started: Mutex::default(), shared: Arc::new(shared) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs all pieces. No two pieces of the job run at once under the same thread number. After
    /// each piece that the caller runs, `report_progress` receives the number of pieces done.
    ///
    /// # Panics
    /// If a piece panics.
    pub(crate) fn run(&self, count: usize, work: &PieceWork<'_>, report_progress: &dyn Fn(usize)) {
        let alone = self.threads < 2 || count < 2 || IN_JOB.get();
        let started = match self.started.try_lock() {
            Ok(started) => Some(started),
            Err(TryLockError::Poisoned(started)) => Some(started.into_inner()),
            // Another caller's job is running.
            Err(TryLockError::WouldBlock) => None,
        };
        let Some(mut started) = started.filter(|_| !alone) else {
            for piece in 0..count {
                work(piece, 0);
                report_progress(piece + 1);
            }
            return;
        };
        self.start(&mut started);
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let work: *const PieceWork<'_> = work;
        // SAFETY: only the lifetime changes; the job is withdrawn below before the borrow ends.
        let work = unsafe { std::mem::transmute::<*const PieceWork<'_>, *const PieceWork<'static>>(work) };
        let job = Job { work, next: &raw const next, done: &raw const done, failed: &raw const failed, count };
        self.shared.update_board(|board| board.job = Some(job));
        // SAFETY: the job's values are borrowed here.
        unsafe { job.run_pieces(0, report_progress) };
        let mut board = self.shared.board();
        board.job = None;
        while board.workers > 0 {
            board = self.shared.idle.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        drop((board, started));
        assert!(!failed.load(Ordering::Relaxed), "a piece of a parallel job panicked");
    }

    /// Starts the threads, as many as the system permits.
    fn start(&self, started: &mut Vec<JoinHandle<()>>) {
        if !started.is_empty() {
            return;
        }
        for thread in 1..self.threads {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name(format!("iverson {thread}")).stack_size(THREAD_STACK);
            match builder.spawn(move || shared.run_thread(thread)) {
                Ok(handle) => started.push(handle),
                Err(_) => return,
            }
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.update_board(|board| board.is_closed = true);
        let started = std::mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        // A thread that panicked has reported it.
        started.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl PoolState {
    fn board(&self) -> MutexGuard<'_, JobBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the board and wakes the threads. No thread can miss the change by going to sleep
    /// meanwhile, because the change happens under the lock.
    fn update_board(&self, write: impl FnOnce(&mut JobBoard)) {
        let mut board = self.board();
        write(&mut board);
        self.changes.fetch_add(1, Ordering::Release);
        drop(board);
        self.changed.notify_all();
    }

    /// The main loop of a thread: takes jobs until the pool ends.
    fn run_thread(&self, thread: usize) {
        IN_JOB.set(true);
        let mut known = 0;
        loop {
            let mut looks = 0;
            while self.changes.load(Ordering::Acquire) == known && looks < SPIN_POLLS {
                std::hint::spin_loop();
                looks += 1;
            }
            let mut board = self.board();
            while self.changes.load(Ordering::Acquire) == known && !board.is_closed {
                board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
            }
            if board.is_closed {
                return;
            }
            known = self.changes.load(Ordering::Acquire);
            let Some(job) = board.job else { continue };
            board.workers += 1;
            drop(board);
            // SAFETY: `workers` counts the thread, so the job's borrows live until it leaves.
            unsafe { job.run_pieces(thread, &|_| ()) };
            let mut board = self.board();
            board.workers -= 1;
            if board.workers == 0 {
                self.idle.notify_all();
            }
        }
    }
}

impl Job {
    /// Runs pieces until none is left, and reports the number of pieces done after each.
    ///
    /// # Safety
    /// The values that the job points at must live until this returns.
    unsafe fn run_pieces(self, thread: usize, report_progress: &dyn Fn(usize)) {
        // SAFETY: by the contract above.
        let (work, next, done, failed) = unsafe { (&*self.work, &*self.next, &*self.done, &*self.failed) };
        let before = IN_JOB.replace(true);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= self.count {
                    break;
                }
                work(piece, thread);
                report_progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        }));
        IN_JOB.set(before);
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
            let pool = ThreadPool::new(threads);
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
        let pool = ThreadPool::new(3);
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
        let pool = ThreadPool::new(2);
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

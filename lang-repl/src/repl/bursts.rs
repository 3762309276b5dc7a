//! **Bursts of keys.** A terminal without bracketed paste gives pasted text key by key. If each key had the
//! whole input painted, the work would be quadratic. So in a burst the line editor writes only the character,
//! and the input is painted once the burst is over.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nobody types keys that follow each other so fast.
const FAST: Duration = Duration::from_millis(10);

/// So many fast keys in a row are a burst. Short texts are painted as they come.
const MANY: u32 = 24;

/// A burst is over when no key came for so long.
const QUIET: Duration = Duration::from_millis(40);

#[derive(Default)]
struct State {
    /// When the last key came.
    last: Option<Instant>,
    /// How many fast keys came in a row.
    fast: u32,
    /// Does the screen lack colours that a burst left out?
    stale: bool,
    /// Is a line being read?
    reading: bool,
}

/// The state of burst detection in a session.
#[derive(Clone, Default)]
pub(super) struct Bursts(Arc<(Mutex<State>, Condvar)>);

impl Bursts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a key. Does it belong to a burst?
    pub(super) fn key(&self, now: Instant) -> bool {
        let mut state = self.state();
        let fast = state.last.is_some_and(|last| now.saturating_duration_since(last) < FAST);
        state.fast = if fast { state.fast.saturating_add(1) } else { 0 };
        state.last = Some(now);
        state.stale = state.fast >= MANY;
        if state.stale {
            self.0.1.notify_one();
        }
        state.stale
    }

    /// Reading begins or ends.
    pub(super) fn reading(&self, reading: bool) {
        let mut state = self.state();
        state.reading = reading;
        state.stale = false;
    }

    /// Calls `paint` after each burst, from a thread of its own.
    pub(super) fn watch(&self, mut paint: impl FnMut() + Send + 'static) {
        let bursts = self.clone();
        let watch = move || {
            loop {
                let mut state = bursts.state();
                while !state.stale {
                    state = bursts.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                let quiet = state.last.map_or(Duration::ZERO, |last| last.elapsed());
                if quiet < QUIET {
                    drop(state);
                    std::thread::sleep(QUIET.saturating_sub(quiet));
                    continue;
                }
                state.stale = false;
                if state.reading {
                    // The state is held, so that reading does not end meanwhile.
                    paint();
                }
            }
        };
        let _ = std::thread::Builder::new().name("bursts".to_owned()).spawn(watch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_fast_keys_are_a_burst() {
        let bursts = Bursts::default();
        let start = Instant::now();
        let keys = |from: u64, step: u64, n: u64| {
            (0..n).filter(|k| bursts.key(start + Duration::from_millis(from + k * step))).count()
        };
        assert_eq!(keys(0, 30, 200), 0);
        assert_eq!(keys(10_000, 1, 24), 0);
        assert_eq!(keys(20_000, 1, 100), 100 - 24);
        assert_eq!(keys(30_000, 1, 10), 0);
    }
}

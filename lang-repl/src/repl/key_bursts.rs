//! **Detection of key bursts.** A terminal without bracketed paste sends pasted text key by key.
//! Painting the whole input after each key would take quadratic work. So in a burst the line editor
//! writes only the character, and paints the input once the burst is over.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause between two keys of a burst; human typing is slower.
const MAX_KEY_GAP: Duration = Duration::from_millis(10);

/// The number of fast keys in a row that makes a burst. Shorter texts are painted key by key.
const MIN_BURST_KEYS: u32 = 24;

/// The pause that ends a burst.
const BURST_END_PAUSE: Duration = Duration::from_millis(40);

#[derive(Default)]
struct BurstState {
    /// The time of the last key.
    last_key: Option<Instant>,
    /// The number of fast keys in a row.
    fast_keys: u32,
    /// Whether the screen lacks colours that a burst left out.
    needs_repaint: bool,
    /// Whether a line is being read.
    is_reading: bool,
}

/// The state of burst detection in a session.
#[derive(Clone, Default)]
pub(super) struct BurstDetector(Arc<(Mutex<BurstState>, Condvar)>);

impl BurstDetector {
    fn state(&self) -> MutexGuard<'_, BurstState> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a key, and returns whether it belongs to a burst.
    pub(super) fn record_key(&self, now: Instant) -> bool {
        let mut state = self.state();
        let fast = state.last_key.is_some_and(|last| now.saturating_duration_since(last) < MAX_KEY_GAP);
        state.fast_keys = if fast { state.fast_keys.saturating_add(1) } else { 0 };
        state.last_key = Some(now);
        state.needs_repaint = state.fast_keys >= MIN_BURST_KEYS;
        if state.needs_repaint {
            self.0.1.notify_one();
        }
        state.needs_repaint
    }

    /// Records that reading begins or ends.
    pub(super) fn set_reading(&self, reading: bool) {
        let mut state = self.state();
        state.is_reading = reading;
        state.needs_repaint = false;
    }

    /// Starts a thread that calls `paint` after each burst.
    pub(super) fn start_painter(&self, mut paint: impl FnMut() + Send + 'static) {
        let bursts = self.clone();
        let watch = move || {
            loop {
                let mut state = bursts.state();
                while !state.needs_repaint {
                    state = bursts.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                let quiet = state.last_key.map_or(Duration::ZERO, |last| last.elapsed());
                if quiet < BURST_END_PAUSE {
                    drop(state);
                    std::thread::sleep(BURST_END_PAUSE.saturating_sub(quiet));
                    continue;
                }
                state.needs_repaint = false;
                if state.is_reading {
                    // The lock is held, so that reading cannot end during the painting.
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
        let bursts = BurstDetector::default();
        let start = Instant::now();
        let keys = |from: u64, step: u64, n: u64| {
            (0..n).filter(|k| bursts.record_key(start + Duration::from_millis(from + k * step))).count()
        };
        assert_eq!(keys(0, 30, 200), 0);
        assert_eq!(keys(10_000, 1, 24), 0);
        assert_eq!(keys(20_000, 1, 100), 100 - 24);
        assert_eq!(keys(30_000, 1, 10), 0);
    }
}

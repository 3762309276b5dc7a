//! **Deferred drops** of large values on another thread. An edit waits until the computations that
//! it cancels have ended. Dropping large forms took most of that time, so a separate thread drops
//! them.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// A value of a computation that may be cancelled ([`super::cancellation`]). If unwinding drops it,
/// another thread does the work.
#[derive(PartialEq, Debug)]
pub struct BackgroundDrop<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> BackgroundDrop<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Moves the value to another thread, which drops it. It cannot be read afterwards.
    pub fn drop_in_background(&mut self) {
        if let Some(value) = self.0.take() {
            drop_in_background(Box::new(value));
        }
    }

    /// Returns the value.
    pub fn take(mut self) -> T {
        match self.0.take() {
            Some(value) => value,
            None => unreachable!("only `take` and `drop` remove the value"),
        }
    }
}

impl<T: Default + Send + 'static> Default for BackgroundDrop<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Send + 'static> Deref for BackgroundDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("only `take` and `drop` remove the value"),
        }
    }
}

impl<T: Send + 'static> DerefMut for BackgroundDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(value) => value,
            None => unreachable!("only `take` and `drop` remove the value"),
        }
    }
}

impl<T: Send + 'static> Drop for BackgroundDrop<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.drop_in_background();
        }
    }
}

/// The delay before a drop, because unwinding and the check of the new text need the processors
/// first.
const DROP_DELAY: Duration = Duration::from_millis(30);

/// Drops a value on another thread, or here if no thread can be started.
fn drop_in_background(value: Box<dyn Send>) {
    static DROP_QUEUE: OnceLock<Option<Sender<Box<dyn Send>>>> = OnceLock::new();
    let gone = DROP_QUEUE.get_or_init(|| {
        let (gone, values) = channel::<Box<dyn Send>>();
        let drops = move || {
            while let Ok(first) = values.recv() {
                thread::sleep(DROP_DELAY);
                drop(first);
                values.try_iter().for_each(drop);
            }
        };
        thread::Builder::new().name("drops".to_owned()).spawn(drops).ok().map(|_| gone)
    });
    if let Some(gone) = gone {
        let _ = gone.send(value);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Mutex;
    use std::thread::ThreadId;
    use std::time::Duration;

    use super::*;

    /// Reports the thread that drops it.
    struct DropProbe(Mutex<Sender<ThreadId>>);

    impl DropProbe {
        fn reporting_to(sender: &Sender<ThreadId>) -> Self {
            Self(Mutex::new(sender.clone()))
        }
    }

    impl Drop for DropProbe {
        fn drop(&mut self) {
            if let Ok(sender) = self.0.lock() {
                let _ = sender.send(thread::current().id());
            }
        }
    }

    #[test]
    fn what_unwinding_drops_is_dropped_by_another_thread() {
        let (sender, by) = channel();
        let new_probe = || BackgroundDrop::new(DropProbe::reporting_to(&sender));
        let next = || by.recv_timeout(Duration::from_secs(60));
        let here = Ok(thread::current().id());
        drop(new_probe());
        assert_eq!(next(), here);
        let unwinding = AssertUnwindSafe(|| {
            let _held = new_probe();
            resume_unwind(Box::new(()));
        });
        assert!(catch_unwind(unwinding).is_err());
        assert_ne!(next(), here);
        drop(new_probe().take());
        assert_eq!(next(), here);
    }
}

//! **Deferred drop** of query values that take long to drop: forms of definitions, and their costs.
//! The database drops a replaced value while it takes the next edit. That edit would wait, for 15
//! ms after a large derivative, so another thread drops these values.

use std::cell::Cell;
use std::ops::Deref;

use lang_base::Large;

/// A value of a query.
#[derive(PartialEq, Debug)]
pub(super) struct Kept<T: Send + 'static>(Large<T>);

thread_local! {
    /// Whether this thread is taking an edit.
    static EDITED: Cell<bool> = const { Cell::new(false) };
}

impl<T: Clone + Send + 'static> Kept<T> {
    /// Returns the value, which shares its large parts.
    pub(super) fn value(&self) -> T {
        self.0.clone()
    }
}

/// Takes an edit. Another thread drops the values that it drops.
pub(super) fn edited<R>(take: impl FnOnce() -> R) -> R {
    struct Until(bool);
    impl Drop for Until {
        fn drop(&mut self) {
            EDITED.set(self.0);
        }
    }
    let _until = Until(EDITED.replace(true));
    take()
}

impl<T: Send + 'static> From<T> for Kept<T> {
    fn from(value: T) -> Self {
        Self(Large::new(value))
    }
}

impl<T: Send + 'static> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for Kept<T> {
    fn drop(&mut self) {
        if EDITED.get() {
            self.0.drop_elsewhere();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;

    /// Reports the thread that drops it.
    struct Told(Mutex<Sender<ThreadId>>);

    impl Told {
        fn to(told: &Sender<ThreadId>) -> Self {
            Self(Mutex::new(told.clone()))
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            if let Ok(told) = self.0.lock() {
                let _ = told.send(thread::current().id());
            }
        }
    }

    #[test]
    fn what_an_edit_drops_is_dropped_by_another_thread() {
        let (told, by) = channel();
        let made = || Kept::from(Arc::new(Told::to(&told)));
        let next = || by.recv_timeout(Duration::from_secs(60));
        let here = Ok(thread::current().id());
        drop(made());
        assert_eq!(next(), here);
        let kept = made();
        edited(|| drop(kept));
        assert_ne!(next(), here);
        drop(made());
        assert_eq!(next(), here);
    }
}

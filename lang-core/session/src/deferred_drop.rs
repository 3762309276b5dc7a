//! **Deferred drop** of query values that take long to drop: forms of definitions, and their costs.
//! The database drops a replaced value while it takes the next edit. That edit would wait, for 15
//! ms after a large derivative, so another thread drops these values.

use std::cell::Cell;
use std::ops::Deref;

use lang_base::BackgroundDrop;

/// A value of a query.
#[derive(PartialEq, Debug)]
pub(super) struct DeferredDrop<T: Send + 'static>(BackgroundDrop<T>);

thread_local! {
    /// Whether this thread is taking an edit.
    static IS_EDITING: Cell<bool> = const { Cell::new(false) };
}

impl<T: Clone + Send + 'static> DeferredDrop<T> {
    /// Returns the value, which shares its large parts.
    pub(super) fn value(&self) -> T {
        self.0.clone()
    }
}

/// Takes an edit. Another thread drops the values that it drops.
pub(super) fn with_deferred_drops<R>(take: impl FnOnce() -> R) -> R {
    struct RestoreOnDrop(bool);
    impl Drop for RestoreOnDrop {
        fn drop(&mut self) {
            IS_EDITING.set(self.0);
        }
    }
    let _until = RestoreOnDrop(IS_EDITING.replace(true));
    take()
}

impl<T: Send + 'static> From<T> for DeferredDrop<T> {
    fn from(value: T) -> Self {
        Self(BackgroundDrop::new(value))
    }
}

impl<T: Send + 'static> Deref for DeferredDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for DeferredDrop<T> {
    fn drop(&mut self) {
        if IS_EDITING.get() {
            self.0.drop_in_background();
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
    struct DropReporter(Mutex<Sender<ThreadId>>);

    impl DropReporter {
        fn to(sender: &Sender<ThreadId>) -> Self {
            Self(Mutex::new(sender.clone()))
        }
    }

    impl Drop for DropReporter {
        fn drop(&mut self) {
            if let Ok(sender) = self.0.lock() {
                let _ = sender.send(thread::current().id());
            }
        }
    }

    #[test]
    fn what_an_edit_drops_is_dropped_by_another_thread() {
        let (sender, by) = channel();
        let new_reporter = || DeferredDrop::from(Arc::new(DropReporter::to(&sender)));
        let next = || by.recv_timeout(Duration::from_secs(60));
        let here = Ok(thread::current().id());
        drop(new_reporter());
        assert_eq!(next(), here);
        let kept = new_reporter();
        with_deferred_drops(|| drop(kept));
        assert_ne!(next(), here);
        drop(new_reporter());
        assert_eq!(next(), here);
    }
}

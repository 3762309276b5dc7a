//! **Cancellation points** of long computations.

/// Unwinds the current query of this thread if an edit made it outdated or if it was stopped
/// (`lang_session::CancellationHandle`). Outside of queries it does nothing.
pub fn check_cancelled() {
    salsa::with_attached_database(|db| db.unwind_if_revision_cancelled());
}

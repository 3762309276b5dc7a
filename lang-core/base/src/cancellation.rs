//! **Cancellation points** of long computations.

/// Unwinds the current query of this thread if an edit made it outdated or if it was stopped
/// (`lang_session::CancellationHandle`). A run of a program is such a query too, so that an
/// interrupt ends the compilation of its functions. Elsewhere it does nothing.
pub fn check_cancelled() {
    salsa::with_attached_database(|db| db.unwind_if_revision_cancelled());
}

//! Where a long computation looks whether it is still wanted.

/// Ends the query that is answered on this thread, by unwinding, if an edit made it out of date or if it was stopped
/// ([`crate::session::Stop`]). Outside queries nothing happens.
pub fn pause() {
    salsa::with_attached_database(|db| db.unwind_if_revision_cancelled());
}

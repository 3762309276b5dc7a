//! Tests of the features that work on names: results for small programs, and properties of every
//! program of the repository.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot read fails the test"
)]

mod completion;
mod damaged;
mod document_structure;
mod hierarchy;
mod names;
mod references;
mod renames;
mod support;

//! Tests of the features that work on names: results for small programs, and properties of every
//! program of the repository.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot read fails the test"
)]

mod damaged;
mod hierarchy;
mod names;
mod places;
mod renames;
mod shape;
mod support;
mod writing;

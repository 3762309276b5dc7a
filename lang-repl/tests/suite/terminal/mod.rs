//! Tests of the REPL on a terminal, with simulated keys.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

mod editing;
mod interrupts;
mod session;

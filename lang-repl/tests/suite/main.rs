//! **Tests of the command line and the REPL** in one binary, because each binary links the whole
//! language.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

mod bench;
mod book;
mod cli;
mod cost;
mod data;
mod doc;
mod examples;
mod gradbench;
mod harness;
mod output;
mod plots;
mod repl;
mod reports;
mod run;
mod show;
mod terminal;

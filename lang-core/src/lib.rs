//! The Iverson language, from text to meaning.
//!
//! The crate is pure: it reads no files, clocks or environment, starts no thread and
//! contains no `unsafe`. The modules stand in the order a program passes through them
//! and depend only on those above; `cargo xtask tidy` checks it.

#![forbid(unsafe_code)]

pub mod ad;
pub mod base;
pub mod certify;
pub mod cost;
pub mod count;
pub mod exec;
pub mod generated;
pub mod interp;
pub mod ir;
pub mod norm;
pub mod pipeline;
pub mod predicate;
pub mod resolve;
pub mod schedule;
pub mod session;
pub mod source;
pub mod syntax;
pub mod types;

//! The Iverson language: the whole way from program text to values, derivatives, bounds and
//! kernels.
//!
//! The crate reads no files, clocks or environment outside its test helpers, and contains no
//! `unsafe`. A host passes in all effects as traits and closures. The only threads that it starts
//! drop large values in the background.
//!
//! Each module depends only on modules of earlier stages. The formatter sorts the list below, so
//! `cargo xtask tidy` holds the order of the stages (`xtask/src/tidy/layers.rs`) and checks it.

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

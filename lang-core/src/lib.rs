//! The Iverson language: the whole way from program text to values, derivatives, bounds and
//! kernels. This crate is a façade: each module is a crate of its folder, and the compiler holds
//! their order. `lang-reader` is not among them, because only tests read the text of a form.
//!
//! The crates read no files, clocks or environment outside their test helpers, and contain no
//! `unsafe`. A host passes in all effects as traits and closures. The only threads that they start
//! drop large values in the background.

#![forbid(unsafe_code)]

pub use {
    lang_base as base, lang_eval as eval, lang_exec as exec, lang_interp as interp, lang_ir as ir, lang_nest as nest,
    lang_opt as opt, lang_resolve as resolve, lang_runtime as runtime, lang_session as session, lang_source as source,
    lang_syntax as syntax, lang_types as types,
};

pub use lang_middle::{ad, cost, norm, pipeline};
pub use lang_sizes::{certify, count, predicate};

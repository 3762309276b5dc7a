//! **The middle of the compiler**, between the typed tree and loop nests. [`norm`] elaborates the
//! typed tree to the core calculus, normalises it and lowers it to Tensor SSA. [`ad`]
//! differentiates Tensor SSA, [`cost`] counts its operations, and [`pipeline`] runs these passes.

#![forbid(unsafe_code)]

pub mod ad;
pub mod cost;
pub mod norm;
pub mod pipeline;

//! Tests that span the whole way, and what they are made with.

pub mod generate;

//! Tests of the way from text to trees.

mod dump;
mod trees;

//! Tests of the interpreter on hand-built typed bodies.

mod calls;
mod counting;
mod expressions;
mod failures;
mod fixture;
mod in_place;
mod last_use;
mod progress;
mod robustness;
mod text;

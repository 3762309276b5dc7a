//! Tests of the interpreter on hand-built typed bodies.

mod build;
mod calls;
mod counting;
mod expressions;
mod failures;
mod in_place;
mod plans;
mod progress;
mod robust;
mod text;

//! What the features that go by names answer, on small programs, and laws on every program of the repository.

mod damaged;
mod hierarchy;
mod names;
mod places;
mod renames;
mod shape;
mod support;
mod writing;

//! What the features that go by names answer, on small programs, and laws on every program of the repository.

mod names;
mod places;
mod support;

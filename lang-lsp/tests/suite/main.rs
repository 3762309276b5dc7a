//! **Tests of the language server** in one binary.

mod client;
mod edits;
mod evaluation;
mod last_known_values;
mod protocol;
mod requests;
mod updates;

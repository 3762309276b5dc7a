//! The `iverson` command line and REPL.
mod json;
mod problem;
mod report;
mod source;

//! The language server of Iverson.

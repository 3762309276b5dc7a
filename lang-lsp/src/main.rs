//! The language server of Iverson, on standard input and output.
fn main() {}

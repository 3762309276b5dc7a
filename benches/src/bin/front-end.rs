//! Parses, resolves and checks a module and prints the number of its diagnostics, which is zero.
//! The first argument is the number of lines (10000 by default). Run it under callgrind to count
//! instructions.

use lang_core::session::Session;

fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut session = Session::new();
    session.set_text("bench.iv", &iverson_benches::generate_module(lines));
    println!("{}", session.diagnostics("bench.iv").len());
}

//! Reads, resolves and checks a module of as many lines as the first argument says (10000
//! without one) and prints how many diagnostics there are: zero. Run it under callgrind to
//! count instructions.

use lang_core::session::Session;

fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut session = Session::new();
    session.set_text("bench.iv", &iverson_benches::module(lines));
    println!("{}", session.diagnostics("bench.iv").len());
}

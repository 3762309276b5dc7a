//! The binary `iverson`.

fn main() -> std::process::ExitCode {
    lang_repl::main()
}

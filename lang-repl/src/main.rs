//! The `iverson` binary: calls `lang_repl::main` and sets the global allocator of the process.

#[global_allocator]
static GLOBAL_ALLOCATOR: lang_jit::LargePages = lang_jit::LargePages;

fn main() -> std::process::ExitCode {
    lang_repl::main()
}

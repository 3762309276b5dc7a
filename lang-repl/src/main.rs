//! The binary `iverson`.

#[global_allocator]
static MEMORY: lang_jit::LargePages = lang_jit::LargePages;

fn main() -> std::process::ExitCode {
    lang_repl::main()
}

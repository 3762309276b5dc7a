//! The program `iverson-lsp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lang_lsp::main()
}

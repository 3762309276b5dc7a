//! The program `iverson-lsp`, an entry point for [`lang_lsp::main`].

use std::process::ExitCode;

fn main() -> ExitCode {
    lang_lsp::main()
}

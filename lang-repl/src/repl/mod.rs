//! **The REPL**: a session of definitions, expressions and commands, on a terminal or on a pipe.
//!
//! A definition replaces an earlier one of the same name, and its users see the new one. Values of
//! `let`s that depended on it are computed again when they are next used. If a definition of an
//! input has an error, the input defines nothing. If the computation of a `let` fails, its
//! definition is undone, but others of the same input stay.
//!
//! `input_splitter` splits lines into inputs, `session` executes them, and `line_editor` is the
//! line editor.

mod commands;
mod completion;
mod editor_snapshot;
mod highlight;
mod input_history;
mod input_splitter;
mod key_bindings;
mod key_bursts;
mod line_editor;
mod margin;
mod session;
mod session_document;
mod settings;
mod signature_help;
mod tex_completion;

use std::io::{self, BufRead, IsTerminal as _, Read as _};

use lang_core::base::Code;
use lang_core::syntax::lexer::MAX_TEXT_BYTES;

use crate::cli::CommonOptions;
use crate::commands::run::unavailable_feature;
use crate::engine::budget::ConfirmPrompt;
use crate::interrupt;
use crate::out::{self, OutputWriter, Status};
use crate::problem::Problem;
use crate::signals;
use crate::source::Sources;
use editor_snapshot::SharedSnapshot;
use line_editor::{EditorResult, LineEditor};
use session::{Flow, ReplSession};

/// Runs a session until its end.
pub(crate) fn run(common: &CommonOptions, out: OutputWriter) -> Status {
    if out.is_json() {
        let problem = Problem::new(Code::E0600, "a REPL session cannot print JSON")
            .with_help("use `iverson eval EXPR --format json`");
        out.report_failure(&[problem], &Sources::default());
        return Status::Usage;
    }
    if let Some(problem) = unavailable_feature(common) {
        out.report_failure(&[problem], &Sources::default());
        return Status::Usage;
    }
    let known = SharedSnapshot::default();
    let on_terminal = io::stdin().is_terminal() && out::is_stdout_terminal();
    interrupt::begin_session();
    interrupt::install_handler(on_terminal);
    let ask: Option<ConfirmPrompt> = if on_terminal { Some(line_editor::confirm_run) } else { None };
    let mut session = ReplSession::new(common, out, known.clone(), ask);
    if on_terminal && let Some(terminal) = LineEditor::new(known) {
        signals::keep_terminal_sane();
        run_on_terminal(&mut session, terminal, out);
        return Status::Success;
    }
    run_on_pipe(&mut session, out)
}

fn run_on_terminal(session: &mut ReplSession, mut terminal: LineEditor, out: OutputWriter) {
    out.print(&format!("Iverson {}. :help lists the commands, Ctrl-D quits.\n", env!("CARGO_PKG_VERSION")));
    loop {
        match terminal.read_input() {
            EditorResult::Abandoned => {}
            EditorResult::End => return,
            EditorResult::Input(text) => {
                for input in input_splitter::split_pasted(&text) {
                    if session.run_input(&input) == Flow::Quit {
                        return;
                    }
                }
            }
        }
    }
}

/// Runs a session on a pipe, line by line without prompts. The status is good if every input was.
fn run_on_pipe(session: &mut ReplSession, out: OutputWriter) -> Status {
    let mut lines = io::stdin().lock();
    let mut gather = input_splitter::InputBuffer::default();
    let mut status = Status::Success;
    loop {
        match read_line(&mut lines) {
            Ok(None) => break,
            Ok(Some(line)) => {
                for text in gather.push_line(&line) {
                    if session.run_input(&text) == Flow::Quit {
                        return status.max(session.status());
                    }
                }
            }
            Err(problem) => {
                let end = problem.code == Code::E0602;
                out.report_failure(&[*problem], &Sources::default());
                status = Status::Failed;
                if end {
                    break;
                }
            }
        }
    }
    if let Some(text) = gather.take_rest() {
        session.run_input(&text);
    }
    status.max(session.status())
}

/// Reads the next line without its end; `None` at the end of input. Keeps at most `MAX_TEXT` bytes
/// of a line, and rejects a longer one.
fn read_line(lines: &mut impl BufRead) -> Result<Option<String>, Box<Problem>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_TEXT_BYTES).unwrap_or(u64::MAX);
    let failed = |e: io::Error| Box::new(Problem::new(Code::E0602, format!("standard input cannot be read: {e}")));
    if lines.take(most).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
        return Ok(None);
    }
    if bytes.len() >= MAX_TEXT_BYTES && bytes.last() != Some(&b'\n') {
        lines.skip_until(b'\n').map_err(failed)?;
        let message = format!("a line has more than {} MiB", MAX_TEXT_BYTES >> 20);
        return Err(Box::new(Problem::new(Code::E0008, message)));
    }
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    String::from_utf8(bytes).map(Some).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(at).copied().unwrap_or_default();
        Box::new(Problem::new(Code::E0007, format!("a line is not UTF-8: byte {at} is 0x{byte:02X}")))
    })
}

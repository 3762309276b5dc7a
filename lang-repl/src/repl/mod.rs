//! **The REPL**: a session of definitions, expressions and commands, on a terminal or on a pipe.
//!
//! A definition replaces an earlier one of the same name, and its users see the new one. Values of
//! `let`s that depended on it are computed again when they are next used. If a definition of an
//! input has an error, the input defines nothing. If the computation of a `let` fails, its
//! definition is undone, but others of the same input stay.
//!
//! `input` splits lines into inputs, `session` executes them, and `terminal` is the line editor.

mod bursts;
mod commands;
mod complete;
mod document;
mod highlight;
mod hint;
mod history;
mod input;
mod keys;
mod known;
mod margin;
mod session;
mod settings;
mod symbols;
mod terminal;

use std::io::{self, BufRead, IsTerminal as _, Read as _};

use lang_core::base::Code;
use lang_core::syntax::lexer::MAX_TEXT_BYTES;

use crate::cli::Common;
use crate::commands::run::not_available;
use crate::engine::budget::Ask;
use crate::interrupt;
use crate::out::{self, Out, Status};
use crate::problem::Problem;
use crate::signals;
use crate::source::Sources;
use known::SharedKnown;
use session::{Flow, Session};
use terminal::{Line, Terminal};

/// Runs a session until its end.
pub(crate) fn run(common: &Common, out: Out) -> Status {
    if out.is_json() {
        let problem = Problem::new(Code::E0600, "a session has no JSON form").help("`iverson eval EXPR --format json`");
        out.fail(&[problem], &Sources::default());
        return Status::Usage;
    }
    if let Some(problem) = not_available(common) {
        out.fail(&[problem], &Sources::default());
        return Status::Usage;
    }
    let known = SharedKnown::default();
    let on_terminal = io::stdin().is_terminal() && out::on_terminal();
    interrupt::in_session();
    interrupt::listen(on_terminal);
    let ask: Option<Ask> = if on_terminal { Some(terminal::confirmed) } else { None };
    let mut session = Session::new(common, out, known.clone(), ask);
    if on_terminal && let Some(terminal) = Terminal::new(known) {
        signals::keep_terminal_sane();
        on_a_terminal(&mut session, terminal, out);
        return Status::Good;
    }
    on_a_pipe(&mut session, out)
}

fn on_a_terminal(session: &mut Session, mut terminal: Terminal, out: Out) {
    out.print(&format!("Iverson {}. :help lists commands, Ctrl-D leaves.\n", env!("CARGO_PKG_VERSION")));
    loop {
        match terminal.read() {
            Line::Cleared => {}
            Line::End => return,
            Line::Input(text) => {
                for input in input::pasted(&text) {
                    if session.input(&input) == Flow::Quit {
                        return;
                    }
                }
            }
        }
    }
}

/// Runs a session on a pipe, line by line without prompts. The status is good if every input was.
fn on_a_pipe(session: &mut Session, out: Out) -> Status {
    let mut lines = io::stdin().lock();
    let mut gather = input::Gather::default();
    let mut status = Status::Good;
    loop {
        match next_line(&mut lines) {
            Ok(None) => break,
            Ok(Some(line)) => {
                for text in gather.line(&line) {
                    if session.input(&text) == Flow::Quit {
                        return status.max(session.status());
                    }
                }
            }
            Err(problem) => {
                let end = problem.code == Code::E0602;
                out.fail(&[*problem], &Sources::default());
                status = Status::Failed;
                if end {
                    break;
                }
            }
        }
    }
    if let Some(text) = gather.rest() {
        session.input(&text);
    }
    status.max(session.status())
}

/// Reads the next line without its end; `None` at the end of input. Keeps at most `MAX_TEXT` bytes
/// of a line, and rejects a longer one.
fn next_line(lines: &mut impl BufRead) -> Result<Option<String>, Box<Problem>> {
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
        Box::new(Problem::new(Code::E0007, format!("a line is not UTF-8: its byte {at} is 0x{byte:02X}")))
    })
}

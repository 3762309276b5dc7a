//! **Language server** for Iverson. Implements the protocol on standard input and output, and
//! converts between its positions and the byte offsets that all other crates use. The data that an
//! editor displays come from `lang-ide`.
//!
//! The reading thread parses messages (`transport`) and begins each in order (`server`). A loop on
//! its own thread (`state`) owns the session and the documents. Worker threads (`workers`) answer
//! questions (`snapshot`) on snapshots. One thread of an async runtime awaits their answers, one
//! thread reads files (`files`), and one writes messages. Programs are evaluated only in a child
//! process (`evaluate`).

mod transport;

mod client;

mod server;
mod startup;

mod state;

mod last_hover;
mod last_known;
mod snapshot;
mod workers;

mod check;
mod commands;
mod evaluate;
mod features;

mod client_support;
mod files;
mod lines;
mod pages;
mod progress;
mod run_errors;
mod settings;
mod views;

use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use tower_lsp::LspService;

use client::Client;
use client_support::ClientSupport;
use server::Server;
use state::{ServerState, StepQueue};
use transport::SessionEnd;

/// The longest wait for the last messages to be written.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// The interval at which the server checks that the client is alive.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);

const HELP: &str =
    "Language server for Iverson. An editor starts it and communicates with it over standard input and output.

Options:
  --stdio          Use standard input and output (the default)
  -h, --help       Print help
  -V, --version    Print version
";

/// Runs the server and returns when the client disconnects.
#[must_use]
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "what the command line asks for")]
pub fn main() -> ExitCode {
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--stdio" => {}
            "-h" | "--help" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            "-V" | "--version" => {
                println!("iverson-lsp {}", env!("CARGO_PKG_VERSION"));
                return ExitCode::SUCCESS;
            }
            other => {
                eprintln!("iverson-lsp: unknown option {other}\n\n{HELP}");
                return ExitCode::from(2);
            }
        }
    }
    match serve() {
        Ok(SessionEnd::Clean) => ExitCode::SUCCESS,
        Ok(SessionEnd::WithoutShutdown) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("iverson-lsp: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Serves the client on standard input and output. Threads that are still running when this returns
/// end with the process.
fn serve() -> io::Result<SessionEnd> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
    let (out, messages) = channel();
    let (written, all_written) = channel();
    thread::spawn(move || {
        transport::write(io::stdout().lock(), &messages);
        let _ = written.send(());
    });
    let client = Client::new(out);
    let (steps, received) = channel();
    let queue = StepQueue(steps);
    let state = ServerState::new(client.clone(), queue.clone());
    thread::spawn(move || state.run(&received));
    let abilities: Arc<OnceLock<ClientSupport>> = Arc::default();
    let server = Server {
        queue: queue.clone(),
        abilities: Arc::clone(&abilities),
        sent_tokens: Arc::default(),
        last_hover: Mutex::default(),
    };
    let (service, _socket) = LspService::build(|_| server)
        .custom_method("iverson/view", Server::view)
        .custom_method("workspace/textDocumentContent", Server::content)
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancelled)
        .finish();
    let begins = |params: &serde_json::Value| drop(abilities.set(ClientSupport::from_initialize(params)));
    let input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let leave = transport::serve(input, service, &client, runtime.handle(), begins);
    let (stopped, all_stopped) = channel();
    queue.send(move |state| {
        state.evaluator.stop_and_join();
        let _ = stopped.send(());
    });
    let _ = all_stopped.recv_timeout(SHUTDOWN_TIMEOUT);
    client.close();
    let _ = all_written.recv_timeout(SHUTDOWN_TIMEOUT);
    files::remove_copies();
    runtime.shutdown_background();
    Ok(leave)
}

/// Ends this process when the client's process ends.
fn exit_with_client(process: u32, queue: StepQueue) {
    thread::spawn(move || {
        while process_exists(process) {
            thread::sleep(WATCH_INTERVAL);
        }
        queue.send(|state| {
            state.evaluator.stop_and_join();
            files::remove_copies();
            std::process::exit(1);
        });
    });
}

/// Returns whether the process exists. If the system cannot tell, returns `true`; the end of the
/// input then ends the server.
fn process_exists(process: u32) -> bool {
    if Path::new("/proc/self").exists() {
        return Path::new("/proc").join(process.to_string()).exists();
    }
    if !cfg!(unix) {
        return true;
    }
    let output = Command::new("kill").args(["-0", &process.to_string()]).output();
    output.map_or(true, |output| {
        output.status.success() || !String::from_utf8_lossy(&output.stderr).contains("o such process")
    })
}

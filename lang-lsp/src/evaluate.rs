//! **Evaluation in a child process.** The server itself never runs a user's program. It passes the
//! unsaved text to `iverson` on standard input, in the document's folder. Time and memory are
//! limited. A new evaluation stops the previous one.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run_errors::{self, RunDiagnostic};

pub(crate) use lang_ide::lenses::{EVALUATE_PREFIX, evaluated_expression};

/// The maximal number of output bytes that are kept.
const MAX_OUTPUT: u64 = 1 << 20;
/// The interval at which the child's status is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The thing to be evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EvaluationTarget {
    /// The items of the file and its `main`.
    Main,
    /// An expression in the scope of the file.
    Expression(String),
}

/// An evaluation.
#[derive(Clone, Debug)]
pub(crate) struct EvaluationRequest {
    pub(crate) target: EvaluationTarget,
    /// The document's text.
    pub(crate) text: String,
    /// The folder in which imports and data files are searched.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) seconds: u64,
    /// The memory limit in MiB.
    pub(crate) memory: u64,
}

/// The result of an evaluation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EvaluationOutcome {
    /// The value, and the other output, for example of `dbg` and of notes.
    Value(String, String),
    /// The error message, and the errors that it reports.
    Failed(String, Vec<RunDiagnostic>),
    /// A limit was exceeded; the text completes a sentence after `was`.
    Limit(String),
    /// The user or a newer evaluation stopped it.
    Stopped,
}

/// The running evaluation, if any.
#[derive(Default)]
pub(crate) struct ProcessEvaluator {
    running: Option<RunningEvaluation>,
}

struct RunningEvaluation {
    stop: Arc<AtomicBool>,
    /// The client's token for its progress.
    token: Option<String>,
    thread: thread::JoinHandle<()>,
}

impl ProcessEvaluator {
    /// Stops the running evaluation.
    pub(crate) fn stop(&mut self) {
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Stops the running evaluation if this progress token belongs to it.
    pub(crate) fn stop_if_token(&mut self, token: &Value) {
        let own = self.running.as_ref().and_then(|running| running.token.as_deref());
        if own.is_some() && own == token.as_str() {
            self.stop();
        }
    }

    /// Stops the running evaluation and waits for its thread.
    pub(crate) fn stop_and_join(&mut self) {
        self.stop();
        if let Some(running) = self.running.take() {
            let _ = running.thread.join();
        }
    }

    /// Starts another evaluation on a new thread and stops the previous one.
    pub(crate) fn start(
        &mut self,
        run: EvaluationRequest,
        token: Option<String>,
        then: impl FnOnce(EvaluationOutcome) + Send + 'static,
    ) {
        self.stop();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || then(run_child(&run, &stopped)));
        self.running = Some(RunningEvaluation { stop, token, thread });
    }
}

/// Returns the interpreter: from the environment variable `IVERSON`, else beside this program, else
/// on the path.
fn interpreter_path() -> PathBuf {
    let name = format!("iverson{}", std::env::consts::EXE_SUFFIX);
    if let Some(path) = std::env::var_os("IVERSON").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name))
}

/// Builds the child's command. On Unix a shell limits its memory.
fn child_command(program: &Path, run: &EvaluationRequest) -> Command {
    let mut command = match cfg!(unix) {
        true => {
            let mut shell = Command::new("sh");
            // If the shell cannot set this limit, the interpreter's own limit applies.
            let limit = format!("ulimit -v {} 2>/dev/null; exec \"$0\" \"$@\"", run.memory.saturating_mul(1024));
            shell.args(["-c", &limit]).arg(program);
            shell
        }
        false => Command::new(program),
    };
    match &run.target {
        EvaluationTarget::Main => command.args(["run", "-"]),
        EvaluationTarget::Expression(text) => command.args(["eval", text, "-l", "-"]),
    };
    command.args(["--color", "never", "--progress", "never", "--format", "json-errors"]);
    if let Some(folder) = run.folder.as_ref().filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Describes a missing interpreter.
fn missing_interpreter(program: &Path) -> String {
    let build = "to build it, run `cargo install --locked --path lang-repl` in a checkout of Iverson";
    format!("cannot find the interpreter {}; {build}", program.display())
}

fn run_child(run: &EvaluationRequest, stop: &AtomicBool) -> EvaluationOutcome {
    let program = interpreter_path();
    let mut child = match child_command(&program, run).spawn() {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return failure(missing_interpreter(&program)),
        Err(e) => return failure(format!("cannot start {}: {e}", program.display())),
    };
    if let Some(mut input) = child.stdin.take() {
        let text = run.text.clone();
        thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let (out, err) = (child.stdout.take().map(collect_output), child.stderr.take().map(collect_output));
    let ended = wait_for_child(&mut child, stop, Duration::from_secs(run.seconds));
    let text = |gathered: Option<thread::JoinHandle<Vec<u8>>>| {
        let bytes = gathered.and_then(|g| g.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    };
    match ended {
        ChildEnd::Exited(status) if status.success() => {
            EvaluationOutcome::Value(text(out), run_errors::parse_output(&text(err)).0)
        }
        // The shell reports a missing program with this status.
        ChildEnd::Exited(status) if cfg!(unix) && status.code() == Some(127) => failure(missing_interpreter(&program)),
        ChildEnd::Exited(status) => match text(err) {
            stderr_text if stderr_text.is_empty() => failure(format!("the evaluation ended: {status}")),
            stderr_text if status.code() == Some(1) => {
                let (message, mistakes) = run_errors::parse_output(&stderr_text);
                // An error in the text prevents the run, because the expression needs the text.
                let why = if run_errors::has_static_errors(&mistakes) {
                    "not run, because the text has an error: "
                } else {
                    ""
                };
                EvaluationOutcome::Failed(format!("{why}{message}"), mistakes)
            }
            // The message of Rust's runtime before it aborts.
            stderr_text if status.code().is_none() && stderr_text.contains("memory allocation of") => {
                EvaluationOutcome::Limit(format!(
                    "stopped, because it used more than {} MiB, the limit that `iverson.evaluate.memory` sets",
                    run.memory
                ))
            }
            stderr_text if status.code().is_none() => failure(format!("{stderr_text}\nthe evaluation ended: {status}")),
            stderr_text => failure(stderr_text),
        },
        ChildEnd::TimedOut => EvaluationOutcome::Limit(format!(
            "stopped after {} s, the limit that `iverson.evaluate.seconds` sets",
            run.seconds
        )),
        ChildEnd::Stopped => EvaluationOutcome::Stopped,
        ChildEnd::WaitFailed(why) => failure(why),
    }
}

/// Creates a failure that no error of the program causes.
fn failure(why: String) -> EvaluationOutcome {
    EvaluationOutcome::Failed(why, Vec::new())
}

/// The way in which a child ended.
enum ChildEnd {
    Exited(ExitStatus),
    TimedOut,
    Stopped,
    WaitFailed(String),
}

/// Waits for the child, and kills it if it exceeds the time limit or is stopped.
fn wait_for_child(child: &mut Child, stop: &AtomicBool, most: Duration) -> ChildEnd {
    let since = Instant::now();
    loop {
        let ended = match child.try_wait() {
            Ok(Some(status)) => return ChildEnd::Exited(status),
            Ok(None) if stop.load(Ordering::Relaxed) => ChildEnd::Stopped,
            Ok(None) if since.elapsed() >= most => ChildEnd::TimedOut,
            Ok(None) => {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            Err(e) => ChildEnd::WaitFailed(e.to_string()),
        };
        let _ = child.kill();
        let _ = child.wait();
        return ended;
    }
}

/// Collects a child's output on a thread, up to [`MAX_OUTPUT`].
fn collect_output(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
        // The rest is read too, so that the child does not block on a full pipe.
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        bytes
    })
}

/// The prefix of a value's first line; its further lines begin with `CONTINUATION_PREFIX`.
const FIRST_LINE_PREFIX: &str = "-- = ";
const CONTINUATION_PREFIX: &str = "--   ";

/// Formats the lines of a value, indented like the comment.
pub(crate) fn value_lines(value: &str, indent: &str) -> String {
    let mark = |nth: usize| if nth == 0 { FIRST_LINE_PREFIX } else { CONTINUATION_PREFIX };
    value.lines().enumerate().map(|(nth, line)| format!("{indent}{}{line}\n", mark(nth))).collect()
}

/// Returns the number of leading lines that show the previous value.
pub(crate) fn old_value_line_count<'t>(lines: impl Iterator<Item = &'t str>) -> usize {
    let marks = std::iter::once(FIRST_LINE_PREFIX).chain(std::iter::repeat(CONTINUATION_PREFIX));
    lines.zip(marks).take_while(|(line, mark)| line.trim_start().starts_with(mark)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_values() {
        assert_eq!(evaluated_expression("  -- >>> f(3)"), Some("f(3)"));
        assert_eq!(evaluated_expression("-- >>> "), None);
        assert_eq!(evaluated_expression("-- f(3)"), None);
        let value = value_lines("[[1, 2],\n [3, 4]]", "  ");
        assert_eq!(value, "  -- = [[1, 2],\n  --    [3, 4]]\n");
        assert_eq!(old_value_line_count(value.lines().chain(["def f() = 3", "-- = 3"])), 2);
        assert_eq!(old_value_line_count(["-- other"].into_iter()), 0);
    }
}

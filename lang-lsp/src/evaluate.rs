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

use crate::mistakes::{self, Mistake};

pub(crate) use lang_ide::lenses::{ASKED, asked};

/// The maximal number of output bytes that are kept.
const MOST_OUTPUT: u64 = 1 << 20;
/// The interval at which the child's status is polled.
const TICK: Duration = Duration::from_millis(10);

/// The thing to be evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The items of the file and its `main`.
    Main,
    /// An expression in the scope of the file.
    Expression(String),
}

/// An evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) what: What,
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
pub(crate) enum Outcome {
    /// The value, and the other output, for example of `dbg` and of notes.
    Value(String, String),
    /// The error message, and the errors that it reports.
    Failed(String, Vec<Mistake>),
    /// A limit was exceeded; the text completes a sentence after `was`.
    Limit(String),
    /// The user or a newer evaluation stopped it.
    Stopped,
}

/// The running evaluation, if any.
#[derive(Default)]
pub(crate) struct Evaluator {
    running: Option<Running>,
}

struct Running {
    stop: Arc<AtomicBool>,
    /// The client's token for its progress.
    token: Option<String>,
    thread: thread::JoinHandle<()>,
}

impl Evaluator {
    /// Stops the running evaluation.
    pub(crate) fn stop(&mut self) {
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Stops the running evaluation if this progress token belongs to it.
    pub(crate) fn cancelled(&mut self, token: &Value) {
        let own = self.running.as_ref().and_then(|running| running.token.as_deref());
        if own.is_some() && own == token.as_str() {
            self.stop();
        }
    }

    /// Stops the running evaluation and waits for its thread.
    pub(crate) fn end(&mut self) {
        self.stop();
        if let Some(running) = self.running.take() {
            let _ = running.thread.join();
        }
    }

    /// Starts another evaluation on a new thread and stops the previous one.
    pub(crate) fn start(&mut self, run: Run, token: Option<String>, then: impl FnOnce(Outcome) + Send + 'static) {
        self.stop();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || then(evaluate(&run, &stopped)));
        self.running = Some(Running { stop, token, thread });
    }
}

/// Returns the interpreter: from the environment variable `IVERSON`, else beside this program, else
/// on the path.
fn interpreter() -> PathBuf {
    let name = format!("iverson{}", std::env::consts::EXE_SUFFIX);
    if let Some(path) = std::env::var_os("IVERSON").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&name)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name))
}

/// Builds the child's command. On Unix a shell limits its memory.
fn command(program: &Path, run: &Run) -> Command {
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
    match &run.what {
        What::Main => command.args(["run", "-"]),
        What::Expression(text) => command.args(["eval", text, "-l", "-"]),
    };
    command.args(["--color", "never", "--progress", "never", "--format", "json-errors"]);
    if let Some(folder) = run.folder.as_ref().filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Describes a missing interpreter.
fn missing(program: &Path) -> String {
    let build = "`cargo install --locked --path lang-repl` in a checkout of Iverson builds it";
    format!("there is no program {}, which evaluates; {build}", program.display())
}

fn evaluate(run: &Run, stop: &AtomicBool) -> Outcome {
    let program = interpreter();
    let mut child = match command(&program, run).spawn() {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return failed(missing(&program)),
        Err(e) => return failed(format!("{} cannot be started: {e}", program.display())),
    };
    if let Some(mut input) = child.stdin.take() {
        let text = run.text.clone();
        thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let (out, err) = (child.stdout.take().map(gather), child.stderr.take().map(gather));
    let ended = wait(&mut child, stop, Duration::from_secs(run.seconds));
    let text = |gathered: Option<thread::JoinHandle<Vec<u8>>>| {
        let bytes = gathered.and_then(|g| g.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    };
    match ended {
        Ended::Itself(status) if status.success() => Outcome::Value(text(out), mistakes::read(&text(err)).0),
        // The shell reports a missing program with this status.
        Ended::Itself(status) if cfg!(unix) && status.code() == Some(127) => failed(missing(&program)),
        Ended::Itself(status) => match text(err) {
            told if told.is_empty() => failed(format!("the evaluation ended: {status}")),
            told if status.code() == Some(1) => {
                let (told, mistakes) = mistakes::read(&told);
                // An error in the text prevents the run, because the expression needs the text.
                let why = if mistakes::is_of_text(&mistakes) { "not run, because of a mistake: " } else { "" };
                Outcome::Failed(format!("{why}{told}"), mistakes)
            }
            // The message of Rust's runtime before it aborts.
            told if status.code().is_none() && told.contains("memory allocation of") => Outcome::Limit(format!(
                "stopped as it took more than {} MiB, the limit that `iverson.evaluate.memory` sets",
                run.memory
            )),
            told if status.code().is_none() => failed(format!("{told}\nthe evaluation ended: {status}")),
            told => failed(told),
        },
        Ended::Late => {
            Outcome::Limit(format!("stopped after {} s, the limit that `iverson.evaluate.seconds` sets", run.seconds))
        }
        Ended::Stopped => Outcome::Stopped,
        Ended::Lost(why) => failed(why),
    }
}

/// Creates a failure that no error of the program causes.
fn failed(why: String) -> Outcome {
    Outcome::Failed(why, Vec::new())
}

/// The way in which a child ended.
enum Ended {
    Itself(ExitStatus),
    Late,
    Stopped,
    Lost(String),
}

/// Waits for the child, and kills it if it exceeds the time limit or is stopped.
fn wait(child: &mut Child, stop: &AtomicBool, most: Duration) -> Ended {
    let since = Instant::now();
    loop {
        let ended = match child.try_wait() {
            Ok(Some(status)) => return Ended::Itself(status),
            Ok(None) if stop.load(Ordering::Relaxed) => Ended::Stopped,
            Ok(None) if since.elapsed() >= most => Ended::Late,
            Ok(None) => {
                thread::sleep(TICK);
                continue;
            }
            Err(e) => Ended::Lost(e.to_string()),
        };
        let _ = child.kill();
        let _ = child.wait();
        return ended;
    }
}

/// Collects a child's output on a thread, up to [`MOST_OUTPUT`].
fn gather(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
        // The rest is read too, so that the child does not block on a full pipe.
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        bytes
    })
}

/// The prefix of a value's first line; its further lines begin with `MORE`.
const VALUE: &str = "-- = ";
const MORE: &str = "--   ";

/// Formats the lines of a value, indented like the comment.
pub(crate) fn shown(value: &str, indent: &str) -> String {
    let mark = |nth: usize| if nth == 0 { VALUE } else { MORE };
    value.lines().enumerate().map(|(nth, line)| format!("{indent}{}{line}\n", mark(nth))).collect()
}

/// Returns the number of leading lines that show the previous value.
pub(crate) fn shown_before<'t>(lines: impl Iterator<Item = &'t str>) -> usize {
    let marks = std::iter::once(VALUE).chain(std::iter::repeat(MORE));
    lines.zip(marks).take_while(|(line, mark)| line.trim_start().starts_with(mark)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_values() {
        assert_eq!(asked("  -- >>> f(3)"), Some("f(3)"));
        assert_eq!(asked("-- >>> "), None);
        assert_eq!(asked("-- f(3)"), None);
        let value = shown("[[1, 2],\n [3, 4]]", "  ");
        assert_eq!(value, "  -- = [[1, 2],\n  --    [3, 4]]\n");
        assert_eq!(shown_before(value.lines().chain(["def f() = 3", "-- = 3"])), 2);
        assert_eq!(shown_before(["-- other"].into_iter()), 0);
    }
}

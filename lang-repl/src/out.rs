//! **Checked output.** Writes results to standard output, and reports to standard error. The
//! progress bar, the line editor and the signal handler have writes of their own; no other code of
//! this crate does.
//!
//! Every write to standard output is checked. If its reader is gone, the process ends quietly, as
//! other programs do. Any other failure is reported on standard error, and the process ends with
//! status 1.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lang_core::base::Code;
use lang_core::runtime::OperationCounts;

use crate::cli::{Common, Format, When};
use crate::clock::Clock;
use crate::files;
use crate::interrupt;
use crate::json;
use crate::plot::{self, Depth, Screen};
use crate::problem::Problem;
use crate::progress;
use crate::report::{self, Style};
use crate::show::{self, Evaluated, View};
use crate::source::Sources;

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    /// Exit status 0.
    Good,
    /// Exit status 1: the program is wrong or failed.
    Failed,
    /// Exit status 2: the command line is wrong.
    Usage,
}

impl Status {
    /// Returns the exit status of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }
}

/// The format of results and reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    format: Format,
    /// Whether reports on standard error are coloured.
    color: bool,
    /// The colours of plots on standard output.
    depth: Depth,
    /// The settings for showing values.
    pub(crate) view: View,
}

impl Out {
    pub(crate) fn new(common: &Common) -> Self {
        let colored = |terminal: bool| match common.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                terminal && !set("NO_COLOR") && !dumb
            }
        };
        let full = std::env::var_os("COLORTERM").is_some_and(|t| t == "truecolor" || t == "24bit");
        let depth = match colored(on_terminal()) && common.format != Format::Json {
            false => Depth::None,
            true if full => Depth::Full,
            true => Depth::Indexed,
        };
        let view = View::new(common.digits.unwrap_or_default());
        Self { format: common.format, color: colored(io::stderr().is_terminal()), depth, view }
    }

    /// Returns the screen for plots. Without an explicit width, a plot takes at most 120 columns of
    /// a wide terminal.
    pub(crate) fn screen(self) -> Screen {
        let width = match (self.view.width, show::terminal_width()) {
            (Some(width), _) => plot::columns(width),
            (None, Some(width)) => plot::columns(width.clamp(40, 120)),
            (None, None) => plot::COLUMNS,
        };
        Screen { width, height: plot::LINES, depth: self.depth }
    }

    /// Whether the output is a single JSON document.
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Whether reports are coloured.
    pub(crate) fn colored(self) -> bool {
        self.color
    }

    fn style(self) -> Style {
        match self.format {
            Format::Short => Style::Short,
            Format::JsonErrors => Style::Lines,
            Format::Text | Format::Json => {
                Style::Full { color: self.color, width: show::width_if(io::stderr().is_terminal()) }
            }
        }
    }

    /// Writes to standard output.
    pub(crate) fn print(self, text: &str) {
        print_or_end(text, self.style());
    }

    /// Writes to standard error.
    pub(crate) fn note(self, text: &str) {
        note(text);
    }

    /// Writes the output of a program: to standard output, or to standard error in JSON mode.
    pub(crate) fn program(self, text: &str) {
        if self.is_json() { self.note(text) } else { self.print(text) }
    }

    /// Reports problems that end a command; in JSON mode as `{"error": […]}`.
    pub(crate) fn fail(self, problems: &[Problem], sources: &Sources) {
        if self.is_json() {
            self.print(&format!("{}\n", json::object([("error", report::json_list(problems, sources))])));
        } else {
            self.note(&report::text(problems, sources, self.style()));
        }
    }

    /// Reports problems that are the result of the command, as in `check`.
    pub(crate) fn list(self, problems: &[Problem], sources: &Sources) {
        if self.is_json() {
            self.print(&format!("{}\n", report::json_list(problems, sources)));
            return;
        }
        self.note(&report::text(problems, sources, self.style()));
        if let (Some(summary), Format::Text) = (report::summary(problems), self.format) {
            self.note(&format!("{summary}\n"));
        }
    }

    /// Prints the value of a run, if any, with the requested measurements.
    pub(crate) fn result(
        self,
        value: Option<&Evaluated>,
        common: &Common,
        clock: &Clock,
        counts: OperationCounts,
    ) -> Status {
        let (check, run) = (clock.check.as_secs_f64(), clock.run.as_secs_f64());
        if self.is_json() {
            let Some(value) = value.map_or_else(|| Some("null".to_owned()), show::json) else {
                self.fail(&[Problem::new(Code::E0508, "the value is too large for a text")], &Sources::default());
                return Status::Failed;
            };
            if !common.time && !common.count {
                self.print(&format!("{value}\n"));
                return Status::Good;
            }
            let mut fields = vec![("value", value)];
            if common.time {
                fields.push(("seconds", json::object([("check", check.to_string()), ("run", run.to_string())])));
            }
            if common.count {
                let counts = [("work", counts.work), ("tests", counts.tests), ("iterations", counts.iterations)];
                fields.push(("counts", json::object(counts.map(|(name, n)| (name, n.to_string())))));
            }
            self.print(&format!("{}\n", json::object(fields)));
            return Status::Good;
        }
        if let Some(value) = value.filter(|v| !v.is_silent()) {
            self.print(&format!("{}\n", show::value(value, self.view)));
        }
        self.measured(common, clock, counts);
        Status::Good
    }

    /// Prints the requested measurements for people.
    pub(crate) fn measured(self, common: &Common, clock: &Clock, counts: OperationCounts) {
        if common.time {
            let (check, run) = (clock.check.as_secs_f64(), clock.run.as_secs_f64());
            self.note(&format!("checked in {}, ran in {}\n", seconds(check), seconds(run)));
        }
        if common.count {
            let OperationCounts { work, tests, iterations } = counts;
            self.note(&format!("work {work}, tests {tests}, iterations {iterations}\n"));
        }
    }

    /// Reports problems that do not end the command. Prints nothing in JSON mode.
    pub(crate) fn warn(self, problems: &[Problem], sources: &Sources) {
        if !self.is_json() {
            self.note(&report::text(problems, sources, self.style()));
        }
    }
}

/// The number of bytes written between two checks for an interrupt.
const PART: usize = 64 << 10;

/// The pause before retrying a write to a full non-blocking output.
const RETRY: Duration = Duration::from_millis(2);

/// Whether a write to standard error failed.
static NOTE_LOST: AtomicBool = AtomicBool::new(false);

/// Returns whether standard output is a terminal.
#[expect(clippy::disallowed_methods, reason = "this module is the one that writes there")]
pub(crate) fn on_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes to standard output before the command line is parsed.
pub(crate) fn print(text: &str) {
    print_or_end(text, Style::Short);
}

/// Writes to standard error. A failure cannot be reported, but it changes the final exit status.
pub(crate) fn note(text: &str) {
    let mut written = Ok(());
    progress::aside(|| written = io::stderr().lock().write_all(text.as_bytes()));
    if written.is_err_and(|e| e.kind() != io::ErrorKind::BrokenPipe) {
        NOTE_LOST.store(true, Ordering::Relaxed);
    }
}

/// Returns the exit status of the process. A command whose reports were lost did not succeed.
pub(crate) fn final_status(status: Status) -> Status {
    if NOTE_LOST.load(Ordering::Relaxed) { status.max(Status::Failed) } else { status }
}

/// Writes to standard output; a failure ends the process.
fn print_or_end(text: &str, style: Style) {
    let mut written = Ok(());
    progress::aside(|| written = write(text.as_bytes()));
    let Err(e) = written else { return };
    progress::end();
    if e.kind() == io::ErrorKind::BrokenPipe {
        end_quietly();
    }
    let message = format!("standard output cannot be written: {}", files::reason(&e));
    let problem = Problem::new(Code::E0602, message).help("the output is incomplete");
    note(&report::text(&[problem], &Sources::default(), style));
    std::process::exit(i32::from(Status::Failed.code()));
}

/// Ends the process as `SIGPIPE` would.
fn end_quietly() -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
    std::process::exit(i32::from(Status::Failed.code()))
}

/// Returns standard output as an unbuffered file. The standard library ignores writes to a closed
/// descriptor; the file reports them.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "this module is the one that writes there")]
fn standard_output() -> io::Result<&'static File> {
    use std::os::fd::AsFd as _;
    static OUTPUT: OnceLock<File> = OnceLock::new();
    if let Some(file) = OUTPUT.get() {
        return Ok(file);
    }
    let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(OUTPUT.get_or_init(|| file))
}

/// On other systems the standard library must convert the text for terminals.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "this module is the one that writes there")]
fn standard_output() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

/// Writes all bytes, or drops the rest of a long text if Ctrl-C was pressed.
fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = standard_output()?;
    for (n, part) in bytes.chunks(PART).enumerate() {
        if n > 0 && interrupt::cuts_output() {
            break;
        }
        write_part(&mut out, part)?;
    }
    out.flush()
}

/// Writes like `write_all`, but retries on a full non-blocking output.
fn write_part(out: &mut impl Write, mut part: &[u8]) -> io::Result<()> {
    while !part.is_empty() {
        match out.write(part) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => part = part.get(n..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if interrupt::cuts_output() {
                    return Ok(());
                }
                std::thread::sleep(RETRY);
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Formats a duration for people.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-5 => format!("{:.2} µs", s * 1e6),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

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

use crate::cli::{ColorMode, CommonOptions, OutputFormat};
use crate::clock::Clock;
use crate::files;
use crate::interrupt;
use crate::json;
use crate::plot::{self, ColorDepth, PlotScreen};
use crate::problem::Problem;
use crate::progress;
use crate::report::{self, ReportStyle};
use crate::show::{self, DisplaySettings, EvaluatedValue};
use crate::source::Sources;

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Status {
    /// Exit status 0.
    Success,
    /// Exit status 1: the program is wrong or failed.
    Failed,
    /// Exit status 2: the command line is wrong.
    Usage,
}

impl Status {
    /// Returns the exit status of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }
}

/// The format of results and reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputWriter {
    format: OutputFormat,
    /// Whether reports on standard error are coloured.
    color_reports: bool,
    /// The colours of plots on standard output.
    plot_colors: ColorDepth,
    /// The settings for showing values.
    pub(crate) view: DisplaySettings,
}

impl OutputWriter {
    pub(crate) fn new(common: &CommonOptions) -> Self {
        let colored = |terminal: bool| match common.color {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                terminal && !set("NO_COLOR") && !dumb
            }
        };
        let full = std::env::var_os("COLORTERM").is_some_and(|t| t == "truecolor" || t == "24bit");
        let depth = match colored(is_stdout_terminal()) && common.format != OutputFormat::Json {
            false => ColorDepth::None,
            true if full => ColorDepth::Full,
            true => ColorDepth::Indexed,
        };
        let view = DisplaySettings::new(common.digits.unwrap_or_default());
        Self { format: common.format, color_reports: colored(io::stderr().is_terminal()), plot_colors: depth, view }
    }

    /// Returns the screen for plots. Without an explicit width, a plot takes at most 120 columns of
    /// a wide terminal.
    pub(crate) fn plot_screen(self) -> PlotScreen {
        let width = match (self.view.width, show::terminal_width()) {
            (Some(width), _) => plot::clamp_columns(width),
            (None, Some(width)) => plot::clamp_columns(width.clamp(40, 120)),
            (None, None) => plot::DEFAULT_COLUMNS,
        };
        PlotScreen { width, height: plot::DEFAULT_LINES, depth: self.plot_colors }
    }

    /// Whether the output is a single JSON document.
    pub(crate) fn is_json(self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Whether reports are coloured.
    pub(crate) fn uses_color(self) -> bool {
        self.color_reports
    }

    fn report_style(self) -> ReportStyle {
        match self.format {
            OutputFormat::Short => ReportStyle::Short,
            OutputFormat::JsonErrors => ReportStyle::JsonLines,
            OutputFormat::Text | OutputFormat::Json => ReportStyle::Full {
                color: self.color_reports,
                width: show::terminal_width_if(io::stderr().is_terminal()),
            },
        }
    }

    /// Writes to standard output.
    pub(crate) fn print(self, text: &str) {
        print_or_exit(text, self.report_style());
    }

    /// Writes to standard error.
    pub(crate) fn note(self, text: &str) {
        note(text);
    }

    /// Writes the output of a program: to standard output, or to standard error in JSON mode.
    pub(crate) fn print_program_output(self, text: &str) {
        if self.is_json() { self.note(text) } else { self.print(text) }
    }

    /// Reports problems that end a command; in JSON mode as `{"error": […]}`.
    pub(crate) fn report_failure(self, problems: &[Problem], sources: &Sources) {
        if self.is_json() {
            self.print(&format!("{}\n", json::object([("error", report::json_list(problems, sources))])));
        } else {
            self.note(&report::render(problems, sources, self.report_style()));
        }
    }

    /// Reports problems that are the result of the command, as in `check`.
    pub(crate) fn report_list(self, problems: &[Problem], sources: &Sources) {
        if self.is_json() {
            self.print(&format!("{}\n", report::json_list(problems, sources)));
            return;
        }
        self.note(&report::render(problems, sources, self.report_style()));
        if let (Some(summary), OutputFormat::Text) = (report::summary(problems), self.format) {
            self.note(&format!("{summary}\n"));
        }
    }

    /// Prints the value of a run, if any, with the requested measurements.
    pub(crate) fn print_result(
        self,
        value: Option<&EvaluatedValue>,
        common: &CommonOptions,
        clock: &Clock,
        counts: OperationCounts,
    ) -> Status {
        let (check, run) = (clock.check_time.as_secs_f64(), clock.run_time.as_secs_f64());
        if self.is_json() {
            let Some(value) = value.map_or_else(|| Some("null".to_owned()), show::value_json) else {
                self.report_failure(
                    &[Problem::new(Code::E0508, "the value is too large to print")],
                    &Sources::default(),
                );
                return Status::Failed;
            };
            if !common.time && !common.count {
                self.print(&format!("{value}\n"));
                return Status::Success;
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
            return Status::Success;
        }
        if let Some(value) = value.filter(|v| !v.is_silent()) {
            self.print(&format!("{}\n", show::format_value(value, self.view)));
        }
        self.print_measurements(common, clock, counts);
        Status::Success
    }

    /// Prints the requested measurements for people.
    pub(crate) fn print_measurements(self, common: &CommonOptions, clock: &Clock, counts: OperationCounts) {
        if common.time {
            let (check, run) = (clock.check_time.as_secs_f64(), clock.run_time.as_secs_f64());
            self.note(&format!("checked in {}, ran in {}\n", format_duration(check), format_duration(run)));
        }
        if common.count {
            let OperationCounts { work, tests, iterations } = counts;
            self.note(&format!("work {work}, tests {tests}, iterations {iterations}\n"));
        }
    }

    /// Reports problems that do not end the command. Prints nothing in JSON mode.
    pub(crate) fn report_warnings(self, problems: &[Problem], sources: &Sources) {
        if !self.is_json() {
            self.note(&report::render(problems, sources, self.report_style()));
        }
    }
}

/// The number of bytes written between two checks for an interrupt.
const CHUNK_BYTES: usize = 64 << 10;

/// The pause before retrying a write to a full non-blocking output.
const RETRY_DELAY: Duration = Duration::from_millis(2);

/// Whether a write to standard error failed.
static REPORT_LOST: AtomicBool = AtomicBool::new(false);

/// Returns whether standard output is a terminal.
#[expect(clippy::disallowed_methods, reason = "this module is the one that writes there")]
pub(crate) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes to standard output before the command line is parsed.
pub(crate) fn print(text: &str) {
    print_or_exit(text, ReportStyle::Short);
}

/// Writes to standard error. A failure cannot be reported, but it changes the final exit status.
pub(crate) fn note(text: &str) {
    let mut written = Ok(());
    progress::write_above_bar(|| written = io::stderr().lock().write_all(text.as_bytes()));
    if written.is_err_and(|e| e.kind() != io::ErrorKind::BrokenPipe) {
        REPORT_LOST.store(true, Ordering::Relaxed);
    }
}

/// Returns the exit status of the process. A command whose reports were lost did not succeed.
pub(crate) fn final_status(status: Status) -> Status {
    if REPORT_LOST.load(Ordering::Relaxed) { status.max(Status::Failed) } else { status }
}

/// Writes to standard output; a failure ends the process.
fn print_or_exit(text: &str, style: ReportStyle) {
    let mut written = Ok(());
    progress::write_above_bar(|| written = write_output(text.as_bytes()));
    let Err(e) = written else { return };
    progress::end_computation();
    if e.kind() == io::ErrorKind::BrokenPipe {
        exit_quietly();
    }
    let message = format!("standard output cannot be written: {}", files::failure_reason(&e));
    let problem = Problem::new(Code::E0602, message).with_help("the output is incomplete");
    note(&report::render(&[problem], &Sources::default(), style));
    std::process::exit(i32::from(Status::Failed.code()));
}

/// Ends the process as `SIGPIPE` would.
fn exit_quietly() -> ! {
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
fn write_output(bytes: &[u8]) -> io::Result<()> {
    let mut out = standard_output()?;
    for (n, part) in bytes.chunks(CHUNK_BYTES).enumerate() {
        if n > 0 && interrupt::should_drop_output() {
            break;
        }
        write_chunk(&mut out, part)?;
    }
    out.flush()
}

/// Writes like `write_all`, but retries on a full non-blocking output.
fn write_chunk(out: &mut impl Write, mut part: &[u8]) -> io::Result<()> {
    while !part.is_empty() {
        match out.write(part) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => part = part.get(n..).unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if interrupt::should_drop_output() {
                    return Ok(());
                }
                std::thread::sleep(RETRY_DELAY);
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Formats a duration for people.
pub(crate) fn format_duration(s: f64) -> String {
    match s {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-5 => format!("{:.2} µs", s * 1e6),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

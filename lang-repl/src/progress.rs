//! **Progress bar** for long computations: position, rate and remaining time. It is on the last
//! line of a terminal, on standard error, and is erased at the end. Other output appears above it.
//! If standard error is no terminal, no bar is shown.
//!
//! The bar is a single line that is overwritten. It ends before the last columns, because a
//! terminal echoes `^C` after it: if that wrapped, the bar could not be erased.
//!
//! A thread sets a flag about ten times a second. The steps of outer loops check the flag, and the
//! interpreter then reports its position through its host.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use lang_core::runtime::{WorkKind, WorkProgress};

use crate::cli::{CommonOptions, OutputFormat, ProgressMode};

/// Set when the interpreter must report its position.
pub(crate) static REPORT_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether the bar is enabled.
static ENABLED: AtomicBool = AtomicBool::new(false);

static COMPUTING: AtomicBool = AtomicBool::new(false);

/// The thread that sets `REPORT_REQUESTED`.
static REQUEST_THREAD: OnceLock<Option<Thread>> = OnceLock::new();

static STATE: Mutex<ProgressState> = Mutex::new(ProgressState { work: None, bar: String::new() });

/// The interval between two position reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// The time before a bar is shown; shorter work has none.
const PATIENCE: Duration = Duration::from_millis(900);

struct ProgressState {
    work: Option<OutermostWork>,
    /// The bar on the terminal; empty if none is shown.
    bar: String,
}

/// The outermost work in progress.
struct OutermostWork {
    started: Instant,
    /// The position in the first report.
    initial_position: u64,
    position: u64,
    /// The time of the last change in position.
    last_change: Instant,
}

/// Enables or disables the bar according to the command line.
pub(crate) fn configure(common: &CommonOptions) {
    set_mode(if common.format == OutputFormat::Json { ProgressMode::Never } else { common.progress });
}

/// Enables or disables the bar.
pub(crate) fn set_mode(shown: ProgressMode) {
    let dumb = || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    ENABLED.store(shown == ProgressMode::Auto && io::stderr().is_terminal() && !dumb(), Ordering::Relaxed);
}

fn lock_state() -> MutexGuard<'static, ProgressState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks the start of a computation.
pub(crate) fn begin_computation() {
    if !ENABLED.load(Ordering::Relaxed) {
        return;
    }
    COMPUTING.store(true, Ordering::Relaxed);
    let thread = REQUEST_THREAD.get_or_init(|| {
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(request_reports);
        thread.ok().map(|handle| handle.thread().clone())
    });
    if let Some(thread) = thread {
        thread.unpark();
    }
}

/// Marks the end of a computation, and erases the bar.
pub(crate) fn end_computation() {
    COMPUTING.store(false, Ordering::Relaxed);
    REPORT_REQUESTED.store(false, Ordering::Relaxed);
    // If the lock is taken, another thread is drawing; the bar stays.
    if let Ok(mut state) = STATE.try_lock() {
        erase_bar(&state.clear());
    }
}

fn request_reports() {
    loop {
        if COMPUTING.load(Ordering::Relaxed) {
            std::thread::sleep(REPORT_INTERVAL);
            REPORT_REQUESTED.store(COMPUTING.load(Ordering::Relaxed), Ordering::Relaxed);
        } else {
            std::thread::park();
        }
    }
}

/// Receives the position of the work, outermost level first; an empty list means that it ended.
pub(crate) fn report_position(levels: &[WorkProgress]) {
    let mut state = lock_state();
    match levels.split_first() {
        Some((outer, inner)) => {
            let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
            if state.update(outer, inner.first(), Instant::now(), width) {
                draw_bar(&state.bar);
            }
        }
        None => erase_bar(&state.clear()),
    }
}

/// Writes other output to the terminal, above the bar.
pub(crate) fn write_above_bar(write: impl FnOnce()) {
    if !ENABLED.load(Ordering::Relaxed) {
        return write();
    }
    // The lock is held until the text is written, so that no bar is drawn in between.
    let state = lock_state();
    erase_bar(&state.bar);
    write();
    draw_bar(&state.bar);
}

fn draw_bar(bar: &str) {
    if !bar.is_empty() {
        let mut terminal = io::stderr().lock();
        let _ = write!(terminal, "\r{bar}\x1b[K").and_then(|()| terminal.flush());
    }
}

fn erase_bar(bar: &str) {
    if !bar.is_empty() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}

impl ProgressState {
    /// Clears the work, and returns the bar that was shown.
    fn clear(&mut self) -> String {
        self.work = None;
        std::mem::take(&mut self.bar)
    }

    /// Records a position, and returns whether the bar must be drawn.
    fn update(&mut self, outer: &WorkProgress, inner: Option<&WorkProgress>, now: Instant, width: usize) -> bool {
        let began =
            OutermostWork { started: now, initial_position: outer.done, position: outer.done, last_change: now };
        let work = self.work.get_or_insert(began);
        if work.position != outer.done {
            (work.position, work.last_change) = (outer.done, now);
        }
        let passed = now.saturating_duration_since(work.started);
        if passed < PATIENCE {
            return false;
        }
        // The inner position is shown if the outer one has not changed for a while.
        let inner = inner.filter(|_| now.saturating_duration_since(work.last_change) >= PATIENCE);
        let text = progress_text(outer, outer.done.saturating_sub(work.initial_position), passed, inner);
        let bar = outer.total.map(|total| format!("[{}] ", bar_text(outer.done, total))).unwrap_or_default();
        self.bar = (bar + &text).chars().take(width.saturating_sub(ECHO_COLUMNS)).collect();
        true
    }
}

/// The characters that a terminal may echo after the bar, such as `^C`.
const ECHO_COLUMNS: usize = 5;

/// Numbers from here on are shortened.
const SHORTENED_FROM: u64 = 10_000_000;

/// The width of the bar itself.
const BAR_WIDTH: usize = 20;

fn bar_text(done: u64, total: u64) -> String {
    let wide = u128::from(done) * BAR_WIDTH as u128 / u128::from(total.max(1));
    let wide = usize::try_from(wide).unwrap_or(BAR_WIDTH).min(BAR_WIDTH);
    let (tip, rest) = if wide < BAR_WIDTH { (">", BAR_WIDTH - wide - 1) } else { ("", 0) };
    format!("{}{tip}{}", "=".repeat(wide), " ".repeat(rest))
}

/// Returns the text beside the bar, for `done` steps in the time `passed`.
fn progress_text(outer: &WorkProgress, done: u64, passed: Duration, inner: Option<&WorkProgress>) -> String {
    let mut text = position_text(outer);
    if done > 0 {
        // These numbers are only displayed, so they may be inexact.
        let per_second = done as f64 / passed.as_secs_f64().max(1e-9);
        text += &format!(", {}", rate_text(per_second));
        if let Some(total) = outer.total {
            text += &format!(", {} left", duration_text(total.saturating_sub(outer.done) as f64 / per_second));
        }
    }
    if let Some(inner) = inner {
        text += &format!(" ({})", position_text(inner));
    }
    text
}

fn position_text(progress: &WorkProgress) -> String {
    let WorkProgress { work, done, total } = progress;
    match (work, total) {
        (WorkKind::Steps, Some(total)) => {
            format!("step {} of {}", short_count((done + 1).min(*total)), short_count(*total))
        }
        (WorkKind::Steps | WorkKind::Loop, _) => {
            format!("{} {}", short_count(*done), if *done == 1 { "step" } else { "steps" })
        }
        (WorkKind::Passes(of), Some(total)) => format!("{}: pass {} of {total}", of.name(), (done + 1).min(*total)),
        (WorkKind::Statements(of), total) => {
            let of = of.map(|of| of.name());
            let nth = total.map(|total| format!("statement {} of {total}", (done + 1).min(total)));
            of.map(str::to_owned).into_iter().chain(nth).collect::<Vec<_>>().join(": ")
        }
        (WorkKind::Passes(of), None) => format!("{}: pass {}", of.name(), done + 1),
    }
}

/// Formats a number of steps, shortened to fit the line.
fn short_count(n: u64) -> String {
    if n < SHORTENED_FROM { n.to_string() } else { format!("{:.2e}", n as f64) }
}

fn rate_text(per_second: f64) -> String {
    match per_second {
        r if r >= SHORTENED_FROM as f64 => format!("{r:.1e}/s"),
        r if r >= 10.0 => format!("{r:.0}/s"),
        r if r >= 1.0 => format!("{r:.1}/s"),
        r => format!("{} each", duration_text(1.0 / r)),
    }
}

fn duration_text(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use lang_core::resolve::forms::DerivativeOp;

    #[test]
    fn lines() {
        let steps = |done, total| WorkProgress { work: WorkKind::Steps, done, total: Some(total) };
        let passes = |done| WorkProgress { work: WorkKind::Passes(DerivativeOp::Grad), done, total: Some(650) };
        let endless = WorkProgress { work: WorkKind::Loop, done: 3_000_000, total: None };
        let of = |outer: WorkProgress, done, seconds, inner: Option<WorkProgress>| {
            progress_text(&outer, done, Duration::from_millis(seconds), inner.as_ref()) + "\n"
        };
        let mut text = of(steps(1200, 100_000), 1000, 2000, None);
        text += &of(steps(0, 3), 0, 2000, Some(passes(119)));
        text += &of(steps(1, 3), 1, 40_000, Some(endless));
        text += &of(passes(649), 600, 1000, None);
        text += &of(passes(649), 1, 2_000_000_000, None);
        text += &of(endless, 3_000_000, 4000, None);
        text += &of(steps(1, u64::MAX), 1, 1000, None);
        text += &of(steps(12_345_678_901, 30_000_000_000), 12_345_678_901, 5000, None);
        expect![[r#"
            step 1201 of 100000, 500/s, 3 min left
            step 1 of 3 (grad: pass 120 of 650)
            step 2 of 3, 40 s each, 80 s left (3000000 steps)
            grad: pass 650 of 650, 600/s, 0.0 s left
            grad: pass 650 of 650, 23 days each, 23 days left
            3000000 steps, 750000/s
            step 2 of 1.84e19, 1.0/s, 213503982334601 days left
            step 1.23e10 of 3.00e10, 2.5e9/s, 7.2 s left
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_bar_takes_its_time() {
        let mut state = ProgressState { work: None, bar: String::new() };
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let steps = |done| WorkProgress { work: WorkKind::Steps, done, total: Some(100) };
        state.update(&steps(1), None, at(0), 80);
        state.update(&steps(2), None, at(500), 80);
        assert_eq!(state.bar, "");
        state.update(&steps(11), None, at(1000), 80);
        assert_eq!(state.bar, "[==>                 ] step 12 of 100, 10/s, 8.9 s left");
        state.update(&steps(11), Some(&steps(5)), at(1500), 80);
        assert_eq!(state.bar, "[==>                 ] step 12 of 100, 6.7/s, 13 s left");
        state.update(&steps(11), Some(&steps(5)), at(2000), 80);
        assert_eq!(state.bar, "[==>                 ] step 12 of 100, 5.0/s, 18 s left (step 6 of 100)");
        state.update(&steps(11), Some(&steps(5)), at(2000), 40);
        assert_eq!(state.bar, "[==>                 ] step 12 of 1");
        assert!(state.clear().contains("step 12"));
        assert!(state.bar.is_empty() && state.work.is_none());
        assert_eq!((bar_text(0, 0), bar_text(7, 7)), (format!(">{}", " ".repeat(19)), "=".repeat(20)));
    }
}

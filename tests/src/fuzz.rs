//! **Fuzzing.** Checks properties that must hold for every text, program or noise:
//!
//! - the front end does not panic, and its spans lie in the text;
//! - formatting is idempotent and keeps the meaning;
//! - diagnostics after an edit equal those of a fresh session;
//! - a text without errors has types throughout;
//! - a program runs to a value or a failure within its limits.
//!
//! The fuzz targets and the `fuzz` test call this module.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lang_core::base::{Diagnostic, Span};
use lang_core::runtime::RunLimits;
use lang_core::session::Session;
use lang_core::syntax::format::format;
use lang_core::syntax::lexer::lex;
use lang_core::syntax::split::ItemKind;

use crate::mutate::mutant;
use crate::random::Random;
use crate::run::MAIN;

/// Checks the front end on one text.
///
/// # Panics
/// If a property does not hold.
pub fn check_front_end(text: &str) {
    for token in &lex(text).tokens {
        check_span(text, token.span, "a token");
    }
    let found = diagnostics(text);
    if let Ok(formatted) = format(text) {
        let reformatted = format(&formatted);
        assert_eq!(reformatted.as_deref(), Ok(formatted.as_str()), "formatting changes what it made of:\n{text}");
        let codes = |list: &[Diagnostic]| list.iter().map(|d| d.code).collect::<Vec<_>>();
        let after = diagnostics(&formatted);
        assert_eq!(codes(&after), codes(&found), "formatting changes what is wrong:\n{formatted}");
    }
    if !found.iter().any(Diagnostic::is_error) {
        known_throughout(text);
    }
    for diagnostic in &found {
        check_span(text, diagnostic.span, diagnostic.code.name());
        for label in diagnostic.related.iter().filter(|l| l.module.as_ref().is_none_or(|m| m == MAIN)) {
            check_span(text, label.span, diagnostic.code.name());
        }
    }
}

/// Runs a text that is a program, with little time and memory, and expects it to end.
///
/// # Panics
/// If the interpreter panics.
pub fn check_run(text: &str) {
    let watch = MutantWatchdog::start();
    watch.see(text.to_owned());
    run(text, &watch.interrupt);
}

/// Runs a text that is a program, and returns whether it is one. The value or failure may be any.
fn run(text: &str, interrupt: &AtomicBool) -> bool {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    let is_program = session.diagnostics(MAIN).iter().all(|d| !d.is_error());
    if is_program {
        drop(crate::run::run(&session, limits(), interrupt));
    }
    is_program
}

/// Checks mutants of the corpus: each by itself, and each as an edit of the previous one. Returns
/// the number of mutants that ran. A failure prints the mutant.
///
/// # Panics
/// If a property does not hold for one of them.
pub fn check_mutants(corpus: &[String], seed: u64, count: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut edited = Session::new();
    let watch = MutantWatchdog::start();
    let mut programs = 0;
    for number in 0..count {
        let text = mutant(&mut random, corpus);
        watch.see(format!("mutant {number} of seed {seed}:\n--------\n{text}\n--------"));
        check_front_end(&text);
        edited.set_text(MAIN, &text);
        let (after_edit, fresh) = (edited.diagnostics(MAIN), diagnostics(&text));
        assert!(after_edit == fresh, "an edit tells {after_edit:?}, a fresh start {fresh:?}");
        programs += u64::from(run(&text, &watch.interrupt));
    }
    programs
}

/// A limit on the time of one text, which guards against a hang. Most take a thousandth of a
/// second.
const PATIENCE: Duration = Duration::from_secs(300);

/// The running time after which a program is interrupted, because it may not terminate. No property
/// depends on whether that happens.
const RUN: Duration = Duration::from_millis(300);

/// Returns the limits of a mutant's run.
fn limits() -> RunLimits {
    RunLimits { max_calls: 1_000, max_elements: 1 << 16, max_bytes: 1 << 24, ..RunLimits::default() }
}

/// **Watchdog.** Holds the text that is being checked and prints it if the check panics or exceeds
/// [`PATIENCE`]; then it ends the process.
struct MutantWatchdog {
    current: Arc<Mutex<(Instant, String)>>,
    interrupt: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
}

impl MutantWatchdog {
    fn start() -> Self {
        let watch = Self {
            current: Arc::new(Mutex::new((Instant::now(), String::new()))),
            interrupt: Arc::new(AtomicBool::new(false)),
            done: Arc::new(AtomicBool::new(false)),
        };
        let current = Arc::clone(&watch.current);
        let (interrupt, done) = (Arc::clone(&watch.interrupt), Arc::clone(&watch.done));
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                let now = current.lock().unwrap_or_else(PoisonError::into_inner);
                interrupt.store(now.0.elapsed() > RUN, Ordering::Relaxed);
                if now.0.elapsed() > PATIENCE {
                    eprintln!("this takes more than {PATIENCE:?}: {}", now.1);
                    std::process::abort();
                }
            }
        });
        watch
    }

    fn see(&self, what: String) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), what);
        self.interrupt.store(false, Ordering::Relaxed);
    }
}

impl Drop for MutantWatchdog {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if std::thread::panicking() {
            eprintln!("{}", self.current.lock().unwrap_or_else(PoisonError::into_inner).1);
        }
    }
}

/// Checks that an item is fully typed if no error is reported. The checker suppresses errors that
/// follow from another error, so a missing type without any error is a defect.
fn known_throughout(text: &str) {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    for item in session.items(MAIN).iter().filter(|i| matches!(i.kind, ItemKind::Def | ItemKind::Let | ItemKind::Do)) {
        let checked = session.checked_item(item);
        assert!(
            checked.is_some_and(|c| c.body.root.is_some()),
            "`{}` has an error that is not told:\n{text}",
            item.name
        );
    }
}

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    session.diagnostics(MAIN)
}

fn check_span(text: &str, span: Span, what: &str) {
    assert!(text.get(span.range()).is_some(), "{what} points outside the text, at {span:?}");
}

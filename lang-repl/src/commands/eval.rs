//! `iverson eval`: evaluates one expression, with the definitions of a file in scope.

use std::path::Path;

use lang_core::base::ModuleName;
use lang_core::session::INTERACTIVE;

use super::run::unavailable_feature;
use crate::cli::CommonOptions;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::files;
use crate::interrupt::ComputationGuard;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;
use crate::report;

/// The module of an expression without a file.
const EXPRESSION_MODULE: &str = INTERACTIVE[1];

pub(crate) fn run(expression: &str, load: Option<&Path>, common: &CommonOptions, out: OutputWriter) -> Status {
    let mut engine = Engine::new(common, out);
    if let Some(problem) = unavailable_feature(common) {
        out.report_failure(&[problem], &engine.sources);
        return Status::Usage;
    }
    let mut clock = Clock::start();
    let source = engine.sources.add(EXPRESSION_MODULE, expression);
    let module = match load.map(|path| engine.load(path)) {
        None => {
            engine.set_text(&EXPRESSION_MODULE.into(), "", Vec::new());
            ModuleName::from(EXPRESSION_MODULE)
        }
        Some(Ok(module)) => module,
        Some(Err(problem)) => {
            out.report_failure(std::slice::from_ref(&*problem), &engine.sources);
            return files::read_failure_status(&problem);
        }
    };
    // An error stops only the evaluations that need it.
    let (errors, warnings): (Vec<Problem>, Vec<Problem>) =
        engine.problems(std::slice::from_ref(&module)).into_iter().partition(Problem::is_error);
    out.report_warnings(&warnings, &engine.sources);
    let _computing = ComputationGuard::start();
    match engine.evaluate(&module, expression, source, 0, &mut || clock.finish_check()) {
        Ok(evaluated) => {
            clock.finish_run();
            note_unneeded_errors(&errors, &engine, out);
            out.print_result(Some(&evaluated), common, &clock, engine.counts)
        }
        Err(problems) => {
            out.report_failure(&problems, &engine.sources);
            Status::Failed
        }
    }
}

/// The most unneeded errors that are listed.
const MOST_LISTED: usize = 5;

/// Lists the errors in the file that the value does not need.
fn note_unneeded_errors(errors: &[Problem], engine: &Engine, out: OutputWriter) {
    if out.is_json() {
        return;
    }
    for error in errors.iter().take(MOST_LISTED) {
        let text = format!("this error does not affect the value: {}", error.message);
        out.note(&report::render_note(&text, error.places.first(), &engine.sources));
    }
    if let Some(more) = errors.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        out.note(&format!("note: {}\n", lang_core::base::count_with_noun(more, "more such error", "more such errors")));
    }
}

//! `iverson eval`: evaluates one expression, with the definitions of a file in scope.

use std::path::Path;

use lang_core::base::ModuleName;
use lang_core::session::INTERACTIVE;

use super::run::not_available;
use crate::cli::Common;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::files;
use crate::interrupt::Computing;
use crate::out::{Out, Status};
use crate::problem::Problem;
use crate::report;

/// The module of an expression without a file.
const MODULE: &str = INTERACTIVE[1];

pub(crate) fn run(expression: &str, load: Option<&Path>, common: &Common, out: Out) -> Status {
    let mut engine = Engine::new(common, out);
    if let Some(problem) = not_available(common) {
        out.fail(&[problem], &engine.sources);
        return Status::Usage;
    }
    let mut clock = Clock::start();
    let source = engine.sources.add(MODULE, expression);
    let module = match load.map(|path| engine.load(path)) {
        None => {
            engine.set_text(&MODULE.into(), "", Vec::new());
            ModuleName::from(MODULE)
        }
        Some(Ok(module)) => module,
        Some(Err(problem)) => {
            out.fail(std::slice::from_ref(&*problem), &engine.sources);
            return files::status(&problem);
        }
    };
    // An error stops only the evaluations that need it.
    let (errors, warnings): (Vec<Problem>, Vec<Problem>) =
        engine.problems(std::slice::from_ref(&module)).into_iter().partition(Problem::is_error);
    out.warn(&warnings, &engine.sources);
    let _computing = Computing::start();
    match engine.evaluate(&module, expression, source, 0, &mut || clock.checked()) {
        Ok(evaluated) => {
            clock.ran();
            tell_left_out(&errors, &engine, out);
            out.result(Some(&evaluated), common, &clock, engine.counts)
        }
        Err(problems) => {
            out.fail(&problems, &engine.sources);
            Status::Failed
        }
    }
}

/// The most unneeded errors that are listed.
const MOST_LISTED: usize = 5;

/// Lists the errors in the file that the value does not need.
fn tell_left_out(errors: &[Problem], engine: &Engine, out: Out) {
    if out.is_json() {
        return;
    }
    for error in errors.iter().take(MOST_LISTED) {
        let text = format!("this value does not need what is wrong here: {}", error.message);
        out.note(&report::note(&text, error.places.first(), &engine.sources));
    }
    if let Some(more) = errors.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        out.note(&format!("note: and {more} more such mistakes\n"));
    }
}

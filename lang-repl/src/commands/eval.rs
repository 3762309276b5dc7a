//! `iverson eval`: one expression, with the definitions of a file in scope.

use std::path::Path;

use lang_core::base::ModuleName;

use super::run::not_available;
use crate::cli::Common;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::files;
use crate::interrupt::Computing;
use crate::out::{Out, Status};
use crate::problem::Problem;

/// The module of an expression without a file.
const MODULE: &str = "<eval>";

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
    let problems = engine.problems(std::slice::from_ref(&module));
    if problems.iter().any(Problem::is_error) {
        out.fail(&problems, &engine.sources);
        return Status::Failed;
    }
    out.warn(&problems, &engine.sources);
    let _computing = Computing::start();
    match engine.evaluate(&module, expression, source, 0, &mut || clock.checked()) {
        Ok(evaluated) => {
            clock.ran();
            out.result(Some(&evaluated), common, &clock, engine.counts)
        }
        Err(problems) => {
            out.fail(&problems, &engine.sources);
            Status::Failed
        }
    }
}

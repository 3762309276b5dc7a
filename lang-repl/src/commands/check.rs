//! `iverson check`: reports the problems of files without running them.

use std::path::PathBuf;

use crate::cli::Common;
use crate::engine::Engine;
use crate::files;
use crate::out::{Out, Status};
use crate::problem::Problem;

pub(crate) fn run(paths: &[PathBuf], common: &Common, out: Out) -> Status {
    let mut engine = Engine::new(common, out);
    let mut status = Status::Good;
    let mut problems: Vec<Problem> = Vec::new();
    let mut modules = Vec::new();
    for path in paths {
        match engine.load(path) {
            Ok(module) => modules.push(module),
            Err(problem) => {
                status = status.max(files::status(&problem));
                problems.push(*problem);
            }
        }
    }
    problems.extend(engine.problems(&modules));
    if problems.iter().any(Problem::is_error) {
        status = status.max(Status::Failed);
    } else {
        problems.extend(engine.grad_costs(&modules));
    }
    out.list(&problems, &engine.sources);
    status
}

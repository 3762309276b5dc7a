//! `iverson check`: reports the problems of files without running them.

use std::path::PathBuf;

use crate::cli::CommonOptions;
use crate::engine::Engine;
use crate::files;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;

pub(crate) fn run(paths: &[PathBuf], common: &CommonOptions, out: OutputWriter) -> Status {
    let mut engine = Engine::new(common, out);
    let mut status = Status::Success;
    let mut problems: Vec<Problem> = Vec::new();
    let mut modules = Vec::new();
    for path in paths {
        match engine.load(path) {
            Ok(module) => modules.push(module),
            Err(problem) => {
                status = status.max(files::read_failure_status(&problem));
                problems.push(*problem);
            }
        }
    }
    problems.extend(engine.problems(&modules));
    if problems.iter().any(Problem::is_error) {
        status = status.max(Status::Failed);
    } else {
        problems.extend(engine.gradient_cost_warnings(&modules));
    }
    out.report_list(&problems, &engine.sources);
    status
}

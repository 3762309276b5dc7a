//! The commands of the command line, one module each.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod doc;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod gradbench;
pub(crate) mod run;
pub(crate) mod show;

use std::path::Path;

use lang_core::base::{Code, ModuleName};

use crate::engine::Engine;
use crate::files;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;

/// Reports the problems of a command about a definition. Returns `Usage` if the command line is
/// wrong, and `Failed` otherwise.
fn report_failure(problems: &[Problem], engine: &Engine, out: OutputWriter) -> Status {
    out.report_failure(problems, &engine.sources);
    if problems.iter().any(|p| p.code == Code::E0600) { Status::Usage } else { Status::Failed }
}

/// Loads a program without errors. If it has errors, reports them and returns the status.
fn load_program(engine: &mut Engine, file: &Path, out: OutputWriter) -> Result<ModuleName, Status> {
    let module = engine.load(file).map_err(|problem| {
        out.report_failure(std::slice::from_ref(&*problem), &engine.sources);
        files::read_failure_status(&problem)
    })?;
    let problems = engine.problems(std::slice::from_ref(&module));
    if problems.iter().any(Problem::is_error) {
        out.report_failure(&problems, &engine.sources);
        return Err(Status::Failed);
    }
    Ok(module)
}

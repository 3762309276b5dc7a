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
use crate::out::{Out, Status};
use crate::problem::Problem;

/// Reports the problems of a command about a definition. Returns `Usage` if the command line is
/// wrong, and `Failed` otherwise.
fn refused(problems: &[Problem], engine: &Engine, out: Out) -> Status {
    out.fail(problems, &engine.sources);
    if problems.iter().any(|p| p.code == Code::E0600) { Status::Usage } else { Status::Failed }
}

/// Loads a program without errors. If it has errors, reports them and returns the status.
fn loaded(engine: &mut Engine, file: &Path, out: Out) -> Result<ModuleName, Status> {
    let module = engine.load(file).map_err(|problem| {
        out.fail(std::slice::from_ref(&*problem), &engine.sources);
        files::status(&problem)
    })?;
    let problems = engine.problems(std::slice::from_ref(&module));
    if problems.iter().any(Problem::is_error) {
        out.fail(&problems, &engine.sources);
        return Err(Status::Failed);
    }
    Ok(module)
}

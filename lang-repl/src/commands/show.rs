//! `iverson show STAGE FILE DEF`: a definition in a form of the compiler's middle, as text, perhaps with what each line
//! of it comes from.

use std::path::Path;

use lang_core::base::GlobalName;

use crate::cli::{Common, Stage};
use crate::engine::Engine;
use crate::files;
use crate::json;
use crate::out::{Out, Status};
use crate::problem::Problem;

pub(crate) fn run(stage: Stage, file: &Path, def: &str, origins: bool, common: &Common, out: Out) -> Status {
    let mut engine = Engine::new(common, out);
    let module = match engine.load(file) {
        Ok(module) => module,
        Err(problem) => {
            out.fail(std::slice::from_ref(&*problem), &engine.sources);
            return files::status(&problem);
        }
    };
    let problems = engine.problems(std::slice::from_ref(&module));
    if problems.iter().any(Problem::is_error) {
        out.fail(&problems, &engine.sources);
        return Status::Failed;
    }
    let name = GlobalName::new(&module, def);
    let form = if origins { engine.form_with_origins(stage, &name) } else { engine.form(stage, &name) };
    match form {
        Ok(form) => {
            if let Some(note) = &form.note {
                out.note(&format!("{note}\n"));
            }
            out.print(&if out.is_json() { format!("{}\n", json::string(&form.text)) } else { form.text });
        }
        Err(problem) => {
            out.fail(&[*problem], &engine.sources);
            return Status::Failed;
        }
    }
    Status::Good
}

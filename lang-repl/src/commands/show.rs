//! `iverson show STAGE FILE DEF`: prints a definition in an intermediate form, with the origins of
//! its lines if requested.

use std::path::Path;

use lang_core::base::GlobalName;

use super::{load_program, report_failure};
use crate::cli::{CommonOptions, CompilerForm};
use crate::engine::Engine;
use crate::json;
use crate::out::{OutputWriter, Status};

pub(crate) fn run(
    stage: CompilerForm,
    file: &Path,
    def: &str,
    origins: bool,
    common: &CommonOptions,
    out: OutputWriter,
) -> Status {
    let mut engine = Engine::new(common, out);
    let module = match load_program(&mut engine, file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    let name = GlobalName::new(&module, def);
    let form = if origins { engine.form_with_origins(stage, &name) } else { engine.render_form(stage, &name) };
    match form {
        Ok(form) => {
            if let Some(note) = &form.note {
                out.note(&format!("{note}\n"));
            }
            out.print(&if out.is_json() { format!("{}\n", json::string(&form.text)) } else { form.text });
        }
        Err(problem) => return report_failure(&[*problem], &engine, out),
    }
    Status::Success
}

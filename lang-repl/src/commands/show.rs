//! `iverson show STAGE FILE DEF`: prints a definition in an intermediate form, with the origins of
//! its lines if requested.

use std::path::Path;

use lang_core::base::GlobalName;

use super::{loaded, refused};
use crate::cli::{Common, Stage};
use crate::engine::Engine;
use crate::json;
use crate::out::{Out, Status};

pub(crate) fn run(stage: Stage, file: &Path, def: &str, origins: bool, common: &Common, out: Out) -> Status {
    let mut engine = Engine::new(common, out);
    let module = match loaded(&mut engine, file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    let name = GlobalName::new(&module, def);
    let form = if origins { engine.form_with_origins(stage, &name) } else { engine.form(stage, &name) };
    match form {
        Ok(form) => {
            if let Some(note) = &form.note {
                out.note(&format!("{note}\n"));
            }
            out.print(&if out.is_json() { format!("{}\n", json::string(&form.text)) } else { form.text });
        }
        Err(problem) => return refused(&[*problem], &engine, out),
    }
    Status::Good
}

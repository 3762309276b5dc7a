//! `iverson show STAGE FILE DEF`: prints a definition in an intermediate form, with the origins of
//! its lines if requested.

use std::path::Path;

use lang_core::base::{Code, GlobalName};

use super::{load_program, report_failure};
use crate::cli::{CommonOptions, CompilerForm};
use crate::engine::Engine;
use crate::json;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;

/// The options of `show`.
#[derive(Default)]
pub(crate) struct ShownView<'a> {
    /// Whether to print the origin of each line.
    pub(crate) origins: bool,
    /// The last pass to apply.
    pub(crate) after: Option<&'a str>,
    /// Whether to print the effect of each pass.
    pub(crate) statistics: bool,
}

pub(crate) fn run(
    stage: CompilerForm,
    file: &Path,
    def: &str,
    view: &ShownView<'_>,
    common: &CommonOptions,
    out: OutputWriter,
) -> Status {
    let mut engine = Engine::new(common, out);
    if stage != CompilerForm::Opt && (view.after.is_some() || view.statistics) {
        let problem = Problem::new(Code::E0600, "`--after` and `--stats` apply to the form `opt` only");
        return report_failure(&[problem.with_help("use them with `iverson show opt`")], &engine, out);
    }
    let module = match load_program(&mut engine, file, out) {
        Ok(module) => module,
        Err(status) => return status,
    };
    let name = GlobalName::new(&module, def);
    let form = match stage {
        CompilerForm::Opt => engine.render_optimised(&name, view),
        _ if view.origins => engine.form_with_origins(stage, &name),
        _ => engine.render_form(stage, &name),
    };
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

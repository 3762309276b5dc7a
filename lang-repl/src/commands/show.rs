//! `iverson show STAGE FILE DEF`: a definition in a form of the compiler's middle, as text.

use std::path::Path;
use std::sync::Arc;

use lang_core::ad::{is_real, real_inputs};
use lang_core::base::{Code, GlobalName};
use lang_core::ir::core::{Callee, Derivation};
use lang_core::types::ty::Type;

use crate::cli::{Common, Stage};
use crate::engine::Engine;
use crate::files;
use crate::json;
use crate::out::{Out, Status};
use crate::problem::Problem;

pub(crate) fn run(stage: Stage, file: &Path, def: &str, common: &Common, out: Out) -> Status {
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
    let text = text_of(&engine, stage, &name);
    match text {
        Ok(text) if out.is_json() => out.print(&format!("{}\n", json::string(&text))),
        Ok(text) => out.print(&text),
        Err(problem) => {
            out.fail(&[*problem], &engine.sources);
            return Status::Failed;
        }
    }
    Status::Good
}

/// The text of a form.
fn text_of(engine: &Engine, stage: Stage, name: &GlobalName) -> Result<String, Box<Problem>> {
    let Some(signature) = engine.signature(name) else {
        let problem = Problem::new(Code::E0600, format!("there is no definition `{}` here", name.name));
        return Err(Box::new(problem));
    };
    // Type parameters stand for reals, as in most calls.
    let callee = Arc::new(Callee::new(name.clone(), vec![Type::F64; signature.type_params.len()]));
    let module = engine.forms();
    let stages = module.stages(&callee).map_err(|why| {
        let mut problem = Problem::new(Code::E0510, format!("`{}` has no core form: {}", name.name, why.what.phrase()));
        problem.help = Some("what is there stays with the interpreter, which runs it all the same".to_owned());
        problem.places.extend(engine.place_of(&why.item, why.span));
        Box::new(problem)
    })?;
    let which = match stage {
        Stage::Core => return Ok(stages.core.to_string()),
        Stage::Lifted => return Ok(stages.lifted.to_string()),
        Stage::Pairs => return Ok(stages.pairs.to_string()),
        Stage::Pushed => return Ok(stages.pushed.to_string()),
        Stage::Ssa => return Ok(stages.ssa.to_string()),
        Stage::Forward => lang_core::source::Which::Forward,
        Stage::Adjoint => lang_core::source::Which::Adjoint,
    };
    match engine.derivative(name, which) {
        Ok(lang_core::source::Shown::Source(made)) => Ok(made.text),
        Ok(lang_core::source::Shown::Form(ssa, why)) => Ok(format!("-- {}\n{ssa}", why.phrase())),
        _ => Ok("constant".to_owned()),
    }
}

//! `iverson show STAGE FILE DEF`: a definition in a form of the compiler's middle, as text.

use std::path::Path;
use std::sync::Arc;

use lang_core::ad::{real_inputs, real_outputs};
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
    let wrt: Arc<[u32]> = real_inputs(&stages.ssa).into();
    let of: Arc<[u32]> = real_outputs(&stages.ssa).into();
    let varies = !wrt.is_empty() && !of.is_empty();
    let derivation = match stage {
        Stage::Core => return Ok(stages.core.to_string()),
        Stage::Lifted => return Ok(stages.lifted.to_string()),
        Stage::Pairs => return Ok(stages.pairs.to_string()),
        Stage::Pushed => return Ok(stages.pushed.to_string()),
        Stage::Ssa => return Ok(stages.ssa.to_string()),
        Stage::Forward => Derivation::Forward(wrt),
        Stage::Adjoint => Derivation::Adjoint { of, wrt },
    };
    let derived = varies.then(|| module.ssa(&Arc::new(callee.derive(derivation)))).flatten();
    derived.map(|ssa| ssa.to_string()).ok_or_else(|| {
        let message = format!("`{}` has no derivative: it takes no reals, or gives none", name.name);
        Box::new(Problem::new(Code::E0510, message))
    })
}

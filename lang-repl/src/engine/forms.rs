//! Definitions in the forms of the compiler's middle, and their derivatives as Iverson: what `iverson show`,
//! `:adjoint`, `:forward`, `:ssa` and `??` tell.

use std::sync::Arc;

use lang_core::base::{Code, GlobalName};
use lang_core::ir::core::{Callee, Outside};
use lang_core::ir::ssa::Ssa;
use lang_core::predicate::Pred;
use lang_core::schedule::{self, Prepared, by_sizes};
use lang_core::session::Session;
use lang_core::source::{self, Shown, Which};
use lang_jit::Jit;

use super::Engine;
use crate::cli::Stage;
use crate::problem::Problem;

/// A form of a definition.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its text.
    pub(crate) text: String,
    /// What is to be said of it.
    pub(crate) note: Option<String>,
}

impl Form {
    pub(super) fn of(text: String) -> Self {
        Self { text, note: None }
    }
}

/// The kernels of a function as Cranelift has them; in place of one that has no code, why.
fn clif(prepared: &Prepared) -> Result<String, Box<Problem>> {
    let jit = Jit::new(1).map_err(|why| Problem::new(Code::E0600, format!("there is no machine code here: {why}")))?;
    let mut text = String::new();
    for step in schedule::schedule(prepared).steps {
        text += &match step {
            schedule::Step::Statement(var) => format!("; {} is run by itself\n", var.name()),
            schedule::Step::Kernel(kernel, _) => {
                let sets: Vec<String> = kernel.sets.iter().map(|v| v.name().to_string()).collect();
                let code = jit
                    .text(&prepared.ssa, &kernel)
                    .unwrap_or_else(|why| format!("; run statement by statement: {why}\n"));
                format!("; {}\n{code}\n", sets.join(", "))
            }
        };
    }
    Ok(text)
}

impl Engine {
    /// The forms of definitions on their way to derivatives.
    pub(crate) fn forms(&self) -> &Session {
        &self.session
    }

    /// A form of a definition. In Tensor SSA `f_adj` and `f_tan` are derivatives of `f`, if they are nothing else.
    pub(crate) fn form(&self, stage: Stage, name: &GlobalName) -> Result<Form, Box<Problem>> {
        let (def, derivatives) = self.derived_from(stage, name);
        let Some(callee) = source::shown_callee(&self.session, &def) else {
            let problem = Problem::new(Code::E0600, format!("there is no definition `{}` here", name.name));
            return Err(Box::new(problem));
        };
        let stages = self.session.stages(&callee).map_err(|why| self.no_core(&def, &why))?;
        Ok(match stage {
            Stage::Core => Form::of(stages.core.to_string()),
            Stage::Lifted => Form::of(stages.lifted.to_string()),
            Stage::Pairs => Form::of(stages.pairs.to_string()),
            Stage::Pushed => Form::of(stages.pushed.to_string()),
            Stage::Ssa => {
                let callee = self.derivative_of(&def, callee, &derivatives)?;
                Form::of(self.session.ssa(&callee).ok_or_else(|| Self::constant(&def))?.to_string())
            }
            Stage::Loops => {
                let callee = self.derivative_of(&def, callee, &derivatives)?;
                let ssa = self.session.ssa(&callee).ok_or_else(|| Self::constant(&def))?;
                let shown = |prepared: &Prepared| {
                    let steps = schedule::schedule(prepared);
                    let note = |var| self.stands_at(&callee, prepared.made_of(var)?);
                    Ok(schedule::Shown { ssa: &prepared.ssa, schedule: &steps, note: &note }.to_string())
                };
                Form::of(self.by_cases(ssa, &shown)?)
            }
            Stage::Clif => {
                let callee = self.derivative_of(&def, callee, &derivatives)?;
                let ssa = self.session.ssa(&callee).ok_or_else(|| Self::constant(&def))?;
                Form::of(self.by_cases(ssa, &clif)?)
            }
            Stage::Forward => self.derivative(&def, Which::Forward)?,
            Stage::Adjoint => self.derivative(&def, Which::Adjoint)?,
        })
    }

    /// A function as it is scheduled: of what sizes decide each case by itself, under what holds of them there.
    fn by_cases(
        &self,
        ssa: Arc<Ssa>,
        shown: &dyn Fn(&Prepared) -> Result<String, Box<Problem>>,
    ) -> Result<String, Box<Problem>> {
        let one = |ssa| shown(&schedule::prepared(ssa, true, &|callee| self.session.ssa(callee)));
        let mut text = String::new();
        for (told, case) in by_sizes::cases(&ssa) {
            let said = told.iter().map(|(p, holds)| if *holds { p.clone() } else { p.negated() });
            text += &format!("where {}:\n\n{}\n", Pred::all(said), one(Arc::new(case))?);
        }
        if text.is_empty() { one(ssa) } else { Ok(format!("{}\n", text.trim_end())) }
    }

    /// The adjoint of a definition as Iverson, where it has one.
    pub(crate) fn adjoint(&self, def: &GlobalName) -> Option<String> {
        match self.shown(def, Which::Adjoint) {
            Ok(Shown::Source(made)) => Some(made.whole()),
            _ => None,
        }
    }

    fn shown(&self, def: &GlobalName, which: Which) -> Result<Shown, Box<Outside>> {
        let text = self.session.item(def).map(|item| item.text).unwrap_or_default();
        source::show(&self.session, &self.session, &self.session.view(), def, &text, which)
    }

    /// The definition that a name means, and the derivatives that are taken of it.
    pub(super) fn derived_from(&self, stage: Stage, name: &GlobalName) -> (GlobalName, Vec<Which>) {
        let (mut def, mut derivatives) = (name.clone(), Vec::new());
        while matches!(stage, Stage::Ssa | Stage::Loops | Stage::Clif) && self.session.signature(&def).is_none() {
            let ends = |which: &Which| def.name.strip_suffix(which.suffix()).map(|rest| (*which, rest.to_owned()));
            let Some((which, rest)) = [Which::Forward, Which::Adjoint].iter().find_map(ends) else {
                return (name.clone(), Vec::new());
            };
            derivatives.insert(0, which);
            def = GlobalName::new(&def.module, &rest);
        }
        (def, derivatives)
    }

    /// Derivatives of a definition by all that is real.
    pub(super) fn derivative_of(
        &self,
        def: &GlobalName,
        mut callee: Arc<Callee>,
        derivatives: &[Which],
    ) -> Result<Arc<Callee>, Box<Problem>> {
        for which in derivatives {
            let derived = source::derived(&self.session, &callee, *which).map_err(|why| self.no_core(def, &why))?;
            callee = derived.ok_or_else(|| Self::constant(def))?.callee.clone();
        }
        Ok(callee)
    }

    fn derivative(&self, def: &GlobalName, which: Which) -> Result<Form, Box<Problem>> {
        match self.shown(def, which).map_err(|why| self.no_core(def, &why))? {
            Shown::Source(made) => Ok(Form::of(made.whole())),
            Shown::Form(ssa, why) => Ok(Form {
                text: ssa.to_string(),
                note: Some(format!(
                    "this is Tensor SSA: there is {}, which is not printed as Iverson yet",
                    why.phrase()
                )),
            }),
            Shown::Constant => Err(Self::constant(def)),
        }
    }

    pub(super) fn constant(def: &GlobalName) -> Box<Problem> {
        let message = format!("`{}` has no derivative: it takes no reals, or gives none", def.name);
        Box::new(Problem::new(Code::E0510, message))
    }

    pub(super) fn no_core(&self, def: &GlobalName, why: &Outside) -> Box<Problem> {
        let mut problem = Problem::new(Code::E0510, format!("`{}` has no core form: {}", def.name, why.what.phrase()));
        problem.help = Some("what is there stays with the interpreter, which runs it all the same".to_owned());
        problem.places.extend(self.place_of(&why.item, why.span));
        Box::new(problem)
    }
}

//! Intermediate forms of definitions as text, and derivatives as Iverson source. `iverson show`,
//! `:adjoint`, `:forward`, `:ssa` and `??` print them. The session computes them.

use std::sync::Arc;

use lang_core::base::{Code, GlobalName};
use lang_core::ir::core::{FunctionKey, NoCoreForm};
use lang_core::ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_core::ir::ssa_text::AnnotatedSsa;
use lang_core::nest::{self, Prepared, ScheduledCase, Step};
use lang_core::opt::passes::Pass;
use lang_core::opt::{Optimised, PASSES, multiversion};
use lang_core::session::Session;
use lang_core::source::{self, DerivativeMode, DerivativeText};
use lang_core::syntax::split::ItemKind;
use lang_jit::Jit;

use super::Engine;
use crate::cli::CompilerForm;
use crate::commands::show::ShownView;
use crate::problem::Problem;
use crate::suggest;

/// The largest number of definitions in the help for an unknown name.
const MAX_LISTED_DEFINITIONS: usize = 12;

/// The text of an intermediate form.
#[derive(Debug)]
pub(crate) struct RenderedForm {
    /// The text itself.
    pub(crate) text: String,
    /// A remark to print with it: the reason why a derivative is not Iverson source.
    pub(crate) note: Option<String>,
}

impl RenderedForm {
    pub(super) fn without_note(text: String) -> Self {
        Self { text, note: None }
    }
}

/// Renders the kernels of a function as Cranelift IR, case by case, followed by those of loop
/// bodies. For a kernel without code, renders the reason instead. `path` names the enclosing loops.
fn render_clif(jit: &Jit, cases: &[ScheduledCase], path: &str) -> String {
    let mut text = String::new();
    for case in cases {
        if !case.size_condition.is_true() {
            text += &format!("; {path}where {}\n\n", case.size_condition);
        }
        for step in &case.schedule.steps {
            text += &match step {
                Step::Statement(var) => {
                    let of = case.prepared.ssa.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs);
                    format!("; {path}{} {}\n", var.name(), statement_run_phrase(of))
                }
                Step::Checks(_) => continue,
                Step::Kernel(kernel, _) => {
                    let sets: Vec<String> = kernel.assigned.iter().map(|v| v.name().to_string()).collect();
                    let code = jit
                        .clif_text(&case.prepared.ssa, kernel)
                        .unwrap_or_else(|why| format!("; run statement by statement: {why}\n"));
                    format!("; {path}{}\n{code}\n", sets.join(", "))
                }
            };
        }
        for (var, body) in &case.loops {
            text += &render_clif(jit, body, &format!("{path}{}: ", var.name()));
        }
    }
    text
}

/// Describes how a statement outside every kernel runs.
fn statement_run_phrase(rhs: Option<&Rhs>) -> String {
    match rhs {
        Some(Rhs::Loop(_)) => "is a loop, whose steps follow".to_owned(),
        Some(Rhs::LoopResult(producer, _) | Rhs::CallResult(producer, _)) => {
            format!("is a result of {}", producer.name())
        }
        _ => "is run as a single statement".to_owned(),
    }
}

impl Engine {
    /// Returns the session, which computes the intermediate forms.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Returns a form of a definition. For `ssa`, `opt`, `loops` and `clif`, the names `f_adj` and
    /// `f_tan` mean derivatives of `f`, unless definitions have these names.
    pub(crate) fn render_form(&self, stage: CompilerForm, name: &GlobalName) -> Result<RenderedForm, Box<Problem>> {
        let (def, derivatives) = self.split_derivative_suffixes(stage, name);
        let callee = source::callee_at_f64(&self.session, &def).ok_or_else(|| self.unknown_definition_error(name))?;
        let stages = self.session.stages(&callee).map_err(|why| self.no_core_form_error(&def, &why))?;
        Ok(match stage {
            CompilerForm::Core => RenderedForm::without_note(stages.core.to_string()),
            CompilerForm::Lifted => RenderedForm::without_note(stages.lifted.to_string()),
            CompilerForm::Flat => RenderedForm::without_note(stages.flat.to_string()),
            CompilerForm::Pushed => RenderedForm::without_note(stages.pushed.to_string()),
            CompilerForm::Ssa => {
                let callee = self.derivative_callee(&def, callee, &derivatives)?;
                RenderedForm::without_note(
                    self.session.ssa(&callee).ok_or_else(|| Self::no_derivative_error(&def))?.to_string(),
                )
            }
            CompilerForm::Opt => return self.render_optimised(name, &ShownView::default()),
            CompilerForm::Loops => {
                let callee = self.derivative_callee(&def, callee, &derivatives)?;
                let ssa = self.session.ssa(&callee).ok_or_else(|| Self::no_derivative_error(&def))?;
                let note = |of: &Prepared, var| self.origins_of_statement(&callee, of.original_stmt(var)?);
                RenderedForm::without_note(
                    nest::ScheduleText { cases: &self.schedule_of(&ssa), note: &note }.to_string(),
                )
            }
            CompilerForm::Clif => {
                let callee = self.derivative_callee(&def, callee, &derivatives)?;
                let ssa = self.session.ssa(&callee).ok_or_else(|| Self::no_derivative_error(&def))?;
                let none = |why| Problem::new(Code::E0510, format!("no machine code for this processor: {why}"));
                RenderedForm::without_note(render_clif(&Jit::new(1).map_err(none)?, &self.schedule_of(&ssa), ""))
            }
            CompilerForm::Forward => self.render_derivative(&def, DerivativeMode::Forward)?,
            CompilerForm::Adjoint => self.render_derivative(&def, DerivativeMode::Adjoint)?,
        })
    }

    /// Returns the schedules of a function, one for each condition on sizes.
    fn schedule_of(&self, ssa: &Arc<SsaFunction>) -> Vec<ScheduledCase> {
        nest::schedule_cases(ssa, &self.passes, &|callee| self.session.ssa(callee))
    }

    /// Returns a definition in Tensor SSA after the selected passes, for each condition on sizes.
    pub(crate) fn render_optimised(
        &self,
        name: &GlobalName,
        view: &ShownView<'_>,
    ) -> Result<RenderedForm, Box<Problem>> {
        let (def, derivatives) = self.split_derivative_suffixes(CompilerForm::Opt, name);
        let callee = source::callee_at_f64(&self.session, &def).ok_or_else(|| self.unknown_definition_error(name))?;
        self.session.stages(&callee).map_err(|why| self.no_core_form_error(&def, &why))?;
        let callee = self.derivative_callee(&def, callee, &derivatives)?;
        let ssa = self.session.ssa(&callee).ok_or_else(|| Self::no_derivative_error(&def))?;
        let callees = |callee: &Arc<FunctionKey>| self.session.ssa(callee);
        let last = view.after.and_then(|after| PASSES.iter().rposition(|pass| pass.name == after));
        let passes = PASSES.iter().take(last.map_or(PASSES.len(), |k| k + 1));
        let passes: Vec<&Pass> = passes.filter(|pass| self.passes.contains(pass)).collect();
        let mut text = String::new();
        for (condition, case) in multiversion::conditional_cases(&ssa) {
            if !condition.is_true() {
                text += &format!("{}where {condition}:\n\n", if text.is_empty() { "" } else { "\n" });
            }
            let mut optimised = Optimised::unchanged(case);
            let mut effects = String::new();
            for pass in &passes {
                let before = optimised.ssa.stmts.len();
                let is_changed = optimised.apply(pass, &callees);
                let after = optimised.ssa.stmts.len();
                let effect = if is_changed { format!("{before} -> {after}") } else { format!("{before}, unchanged") };
                effects += &format!("{:<21} {effect:<16} {}\n", pass.name, pass.summary);
            }
            if view.statistics {
                text += &effects;
                continue;
            }
            let note = |var: StmtId| {
                let original = optimised.origins.get(var.0 as usize).filter(|_| view.origins)?;
                self.origins_of_statement(&callee, *original)
            };
            text += &AnnotatedSsa { ssa: &optimised.ssa, note: &note }.to_string();
        }
        Ok(RenderedForm::without_note(text))
    }

    /// Returns the adjoint of a definition as Iverson source, if it can be printed so.
    pub(crate) fn adjoint_source(&self, def: &GlobalName) -> Option<String> {
        match self.derivative_text(def, DerivativeMode::Adjoint) {
            Ok(DerivativeText::Source(derivative)) => Some(derivative.full_text()),
            _ => None,
        }
    }

    /// Returns a derivative of a definition as Iverson source, or as Tensor SSA if it has no
    /// source.
    fn derivative_text(&self, def: &GlobalName, mode: DerivativeMode) -> Result<DerivativeText, Box<NoCoreForm>> {
        let text = self.session.item(def).map(|item| item.text).unwrap_or_default();
        source::print_derivative(&self.session, &self.session, &self.session.view(), def, &text, mode)
    }

    /// Splits a name into the definition that it means and the derivatives that its suffixes
    /// select, in the order of their application.
    pub(super) fn split_derivative_suffixes(
        &self,
        stage: CompilerForm,
        name: &GlobalName,
    ) -> (GlobalName, Vec<DerivativeMode>) {
        let (mut def, mut derivatives) = (name.clone(), Vec::new());
        while matches!(stage, CompilerForm::Ssa | CompilerForm::Opt | CompilerForm::Loops | CompilerForm::Clif)
            && self.session.signature(&def).is_none()
        {
            let ends =
                |mode: &DerivativeMode| def.name.strip_suffix(mode.suffix()).map(|rest| (*mode, rest.to_owned()));
            let Some((mode, rest)) = [DerivativeMode::Forward, DerivativeMode::Adjoint].iter().find_map(ends) else {
                return (name.clone(), Vec::new());
            };
            derivatives.insert(0, mode);
            def = GlobalName::new(&def.module, &rest);
        }
        (def, derivatives)
    }

    /// Returns the function after the derivatives of a definition in this order, each with respect
    /// to all real arguments.
    pub(super) fn derivative_callee(
        &self,
        def: &GlobalName,
        mut callee: Arc<FunctionKey>,
        derivatives: &[DerivativeMode],
    ) -> Result<Arc<FunctionKey>, Box<Problem>> {
        for mode in derivatives {
            let derived = source::derivative_ssa(&self.session, &callee, *mode)
                .map_err(|why| self.no_core_form_error(def, &why))?;
            callee = derived.ok_or_else(|| Self::no_derivative_error(def))?.callee.clone();
        }
        Ok(callee)
    }

    fn render_derivative(&self, def: &GlobalName, mode: DerivativeMode) -> Result<RenderedForm, Box<Problem>> {
        match self.derivative_text(def, mode).map_err(|why| self.no_core_form_error(def, &why))? {
            DerivativeText::Source(derivative) => Ok(RenderedForm::without_note(derivative.full_text())),
            DerivativeText::SsaOnly(ssa, why) => Ok(RenderedForm {
                text: ssa.to_string(),
                note: Some(format!(
                    "this is Tensor SSA, because {} cannot be printed as Iverson source yet",
                    why.phrase()
                )),
            }),
            DerivativeText::NotReal => Err(Self::no_derivative_error(def)),
        }
    }

    /// Returns the error for an unknown definition. Its help suggests the closest name, or lists
    /// the definitions of the file.
    pub(crate) fn unknown_definition_error(&self, name: &GlobalName) -> Box<Problem> {
        let items = self.session.items(&name.module);
        let all: Vec<&str> = items.iter().filter(|i| i.kind == ItemKind::Def).map(|i| i.name.as_str()).collect();
        let mut problem = Problem::new(Code::E0600, format!("unknown definition `{}`", name.name));
        problem.help = Some(match (suggest::closest(&name.name, all.iter().copied()), all.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "the file has no definitions; a definition begins with `def`".to_owned(),
            (None, [first @ .., _]) if first.len() >= MAX_LISTED_DEFINITIONS => {
                let shown = all.iter().take(MAX_LISTED_DEFINITIONS).copied().collect::<Vec<_>>().join(", ");
                format!("available: {shown}, … {} in total", all.len())
            }
            (None, all) => format!("available: {}", all.join(", ")),
        });
        Box::new(problem)
    }

    pub(super) fn no_derivative_error(def: &GlobalName) -> Box<Problem> {
        let message = format!("`{}` has no derivative, because it has no real argument or no real result", def.name);
        Box::new(Problem::new(Code::E0510, message))
    }

    pub(super) fn no_core_form_error(&self, def: &GlobalName, why: &NoCoreForm) -> Box<Problem> {
        let mut problem =
            Problem::new(Code::E0510, format!("`{}` has no core form: {}", def.name, why.reason.phrase()));
        problem.help = Some("the interpreter runs this part instead".to_owned());
        problem.places.extend(self.place_of(&why.item, why.span));
        Box::new(problem)
    }
}

//! The state of a session, and the execution of one input. An input is a command, a question
//! (`?name`), or items: definitions and expressions.
//!
//! `definitions` adds and replaces definitions, `evaluation` runs expressions. The other modules
//! implement commands.

mod definitions;
mod environment;
mod evaluation;
mod gradient;
mod load_command;
mod measure_commands;
mod save_command;

use std::path::PathBuf;

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName};
use lang_core::session::INTERACTIVE;
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};

use super::commands::{self, CommandKind};
use super::editor_snapshot::SharedSnapshot;
use super::session_document::{SessionDocument, SessionEntry};
use super::settings::{self, SessionSettings};
use crate::cli::{CommonOptions, CompilerForm};
use crate::commands::{doc, explain};
use crate::engine::Engine;
use crate::engine::budget::{ConfirmPrompt, RunBudget};
use crate::interrupt::{self, ComputationGuard};
use crate::lookup;
use crate::out::{OutputWriter, Status};
use crate::problem::Problem;
use crate::progress;
use crate::show;
use crate::source::SourceId;

/// Whether the session continues after an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    Next,
    Quit,
}

/// A session: its definitions, settings and status, with the engine that runs it.
pub(crate) struct ReplSession {
    engine: Engine,
    document: SessionDocument,
    /// The files loaded by `:load`, in order.
    loaded_files: Vec<PathBuf>,
    /// The snapshot that the line editor reads.
    snapshot: SharedSnapshot,
    options: SessionSettings,
    /// The prompt for a confirmation; `None` if there is no terminal.
    confirm: Option<ConfirmPrompt>,
    out: OutputWriter,
    status: Status,
}

/// The name of the session's module; no file has it.
const SESSION_MODULE: &str = INTERACTIVE[0];

/// The name of inputs in reports.
const INPUT_NAME: &str = "repl";

/// The name of the last value.
const ANS: &str = "ans";

impl ReplSession {
    pub(crate) fn new(
        common: &CommonOptions,
        out: OutputWriter,
        known: SharedSnapshot,
        ask: Option<ConfirmPrompt>,
    ) -> Self {
        let mut session = Self {
            engine: Engine::new(common, out),
            document: SessionDocument::default(),
            loaded_files: Vec::new(),
            snapshot: known,
            options: SessionSettings::new(common),
            confirm: ask,
            out,
            status: Status::Success,
        };
        session.apply_options();
        session.set_document(SessionDocument::default());
        session.update_snapshot();
        session
    }

    /// Returns [`Status::Success`] if every input so far was.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Executes one input.
    pub(crate) fn run_input(&mut self, text: &str) -> Flow {
        let _computing = ComputationGuard::start();
        let failed = std::mem::replace(&mut self.status, Status::Success);
        let flow = self.execute(text);
        if interrupt::is_requested() && self.status == Status::Success {
            // The value was computed, but an interrupt cut its output.
            self.out.note("interrupted\n");
        }
        self.status = self.status.max(failed);
        self.update_snapshot();
        flow
    }

    fn execute(&mut self, text: &str) -> Flow {
        match commands::parse_command(text) {
            Some(Ok((CommandKind::Quit, _))) => return Flow::Quit,
            Some(Ok((kind, argument))) => self.run_command(kind, argument),
            Some(Err(message)) => self.reject_input(message),
            None if commands::parse_question(text).is_some() => {
                if let Some((name, source)) = commands::parse_question(text) {
                    self.print_documentation(name, source);
                }
            }
            None => {
                let word = commands::foreign_word_advice(text);
                let word = word.filter(|(word, _)| !self.document.entries.iter().any(|e| e.defines(word)));
                match word.map(|(_, message)| message).or_else(|| commands::missing_colon_advice(text)) {
                    Some(message) => self.reject_input(message),
                    None => {
                        let source = self.engine.sources.add(INPUT_NAME, text);
                        self.run_items(text, source, 0);
                    }
                }
            }
        }
        Flow::Next
    }

    fn report_failure(&mut self, problems: Vec<Problem>) {
        self.status = Status::Failed;
        self.out.report_failure(&problems, &self.engine.sources);
    }

    /// Reports an input that is not understood.
    fn reject_input(&mut self, message: String) {
        self.report_failure(vec![Problem::new(Code::E0600, message)]);
    }

    fn run_command(&mut self, kind: CommandKind, argument: &str) {
        match kind {
            CommandKind::Help => self.out.print(&commands::help_text(argument, show::terminal_width())),
            CommandKind::Env => self.out.print(&self.environment_listing()),
            CommandKind::Type => self.print_type(argument),
            CommandKind::Cost => self.print_cost(argument),
            CommandKind::Time => self.print_time(argument),
            CommandKind::Bench => self.print_bench(argument),
            CommandKind::Grad => self.print_gradient(argument),
            CommandKind::Adjoint => self.print_form(CompilerForm::Adjoint, argument),
            CommandKind::Forward => self.print_form(CompilerForm::Forward, argument),
            CommandKind::Ssa => self.print_form(CompilerForm::Ssa, argument),
            CommandKind::Plot => self.run_plot(argument),
            CommandKind::Explain => {
                let shown = explain::run(Some(argument), &self.engine, self.out);
                self.status = self.status.max(shown.min(Status::Failed));
            }
            CommandKind::Load => self.load_and_remember(PathBuf::from(argument.trim_matches('"'))),
            CommandKind::Reload => self.reload_files(),
            CommandKind::Save(any) => self.save_session(&PathBuf::from(argument.trim_matches('"')), any),
            CommandKind::Reset => self.remove_definitions(),
            CommandKind::Set => self.change_setting(argument),
            CommandKind::Backend => self.change_setting(&format!("backend {argument}")),
            CommandKind::Threads => self.change_setting(&format!("threads {argument}")),
            CommandKind::Quit => {}
        }
    }

    fn change_setting(&mut self, argument: &str) {
        match settings::set_command(&mut self.options, argument) {
            Ok(shown) => {
                self.out.print(&shown);
                self.apply_options();
            }
            Err(message) => self.reject_input(message),
        }
    }

    /// Applies the settings to the engine and the output.
    fn apply_options(&mut self) {
        let common = &self.options.common;
        self.out = OutputWriter::new(common);
        self.out.view.width = self.options.width;
        self.out.view.threshold = self.options.threshold;
        progress::configure(common);
        self.engine.out = self.out;
        self.engine.count_runs = common.count;
        self.engine.trap_nan = common.nan == crate::cli::NanPolicy::Stop;
        self.engine.set_backend(&self.options.common);
        self.engine.limits = self.options.limits;
        self.engine.budget =
            self.confirm.zip(self.options.budget).map(|(ask, steps)| RunBudget { steps, confirm: ask });
    }

    /// Executes the items of a text. Definitions are added first, all at once, because they may
    /// need each other. Then `let`s and expressions are computed in order. Returns whether all
    /// succeeded.
    fn run_items(&mut self, text: &str, source: SourceId, base: u32) -> bool {
        let mut items = split(text);
        // In the REPL, `let … in …` is an expression.
        for item in items.iter_mut().filter(|i| i.kind == ItemKind::Let && is_expression(&i.text)) {
            item.kind = ItemKind::StrayText;
        }
        let mut definitions = Vec::new();
        for item in items.iter().filter(|i| !matches!(i.kind, ItemKind::Do | ItemKind::StrayText)) {
            let mut entry = SessionEntry::new(item, source);
            entry.offset += base;
            definitions.push(entry);
        }
        let Some(before) = self.add_definitions(definitions.clone()) else { return false };
        let mut definitions = definitions.into_iter();
        let mut good = true;
        for item in &items {
            good &= match item.kind {
                ItemKind::StrayText => self.evaluate_expression(&item.text, source, base + item.start),
                ItemKind::Do => self.run_do_item(&item.text, source, base + item.start),
                _ => definitions.next().is_none_or(|entry| {
                    let good = self.compute_or_undo(&entry, &before);
                    if good {
                        self.print_definition(&entry);
                    }
                    good
                }),
            };
        }
        good
    }

    fn module_name(&self) -> ModuleName {
        SESSION_MODULE.into()
    }

    fn global_name(&self, name: &str) -> GlobalName {
        GlobalName::new(SESSION_MODULE, name)
    }

    /// Shows the documentation of a name, as it is visible in the session.
    fn print_documentation(&mut self, name: &str, source: bool) {
        // A stored value has no text that shows its origin.
        let kept = self.document.entries.iter().any(|e| e.is_stored && e.defines(name));
        let shown = doc::show_documentation(&self.engine, Some(&self.module_name()), name, source && !kept, self.out);
        self.status = self.status.max(shown);
        if source
            && let Some(def) = lookup::resolve_definition(&self.engine, Some(&self.module_name()), name)
            && let Some(adjoint) = self.engine.adjoint_source(&def)
        {
            self.out.print(&format!("\nAdjoint:\n\n{}", indent(&adjoint)));
        }
    }

    /// Shows an intermediate form or a derivative of a definition.
    fn print_form(&mut self, stage: CompilerForm, name: &str) {
        let here = self.module_name();
        let def = lookup::resolve_definition(&self.engine, Some(&here), name).unwrap_or_else(|| self.global_name(name));
        match self.engine.render_form(stage, &def) {
            Ok(form) => {
                self.out.print(&form.text);
                if let Some(note) = &form.note {
                    self.out.note(&format!("{note}\n"));
                }
            }
            Err(problem) => self.report_failure(vec![*problem]),
        }
    }

    fn print_type(&mut self, text: &str) {
        let source = self.engine.sources.add(INPUT_NAME, text);
        match self.engine.type_of_expression(&self.module_name(), text, source) {
            Ok(ty) => self.out.print(&format!("{ty}\n")),
            Err(problems) => self.report_failure(problems),
        }
    }
}

/// Indents the text of a definition as a code block.
fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Whether the text of a `let` is a complete expression instead of an item.
fn is_expression(text: &str) -> bool {
    let wrong = |parsed: parser::ParsedItem| parsed.diagnostics.iter().any(Diagnostic::is_error);
    let shown = text.trim_end().trim_end_matches(';');
    wrong(parser::parse_item(text)) && !wrong(parser::parse_expr(shown))
}

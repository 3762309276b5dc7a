//! The state of a session, and the execution of one input. An input is a command, a question
//! (`?name`), or items: definitions and expressions.
//!
//! `definitions` adds and replaces definitions, `evaluating` runs expressions. The other modules
//! implement commands.

mod definitions;
mod evaluating;
mod gradient;
mod loading;
mod measuring;
mod saving;
mod telling;

use std::path::PathBuf;

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName};
use lang_core::session::INTERACTIVE;
use lang_core::syntax::parser;
use lang_core::syntax::split::{ItemKind, split};

use super::commands::{self, Kind};
use super::document::{Document, Entry};
use super::known::SharedKnown;
use super::settings::{self, Options};
use crate::cli::{Common, Stage};
use crate::commands::{doc, explain};
use crate::engine::Engine;
use crate::engine::budget::{Ask, Budget};
use crate::interrupt::{self, Computing};
use crate::lookup;
use crate::out::{Out, Status};
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
pub(crate) struct Session {
    engine: Engine,
    document: Document,
    /// The files loaded by `:load`, in order.
    loaded: Vec<PathBuf>,
    /// The snapshot that the line editor reads.
    known: SharedKnown,
    options: Options,
    /// The prompt for a confirmation; `None` if there is no terminal.
    ask: Option<Ask>,
    out: Out,
    status: Status,
}

/// The name of the session's module; no file has it.
const MODULE: &str = INTERACTIVE[0];

/// The name of inputs in reports.
const INPUT: &str = "repl";

/// The name of the last value.
const ANS: &str = "ans";

impl Session {
    pub(crate) fn new(common: &Common, out: Out, known: SharedKnown, ask: Option<Ask>) -> Self {
        let mut session = Self {
            engine: Engine::new(common, out),
            document: Document::default(),
            loaded: Vec::new(),
            known,
            options: Options::new(common),
            ask,
            out,
            status: Status::Good,
        };
        session.apply_options();
        session.install(Document::default());
        session.tell_editor();
        session
    }

    /// Returns `Good` if every input so far was.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Executes one input.
    pub(crate) fn input(&mut self, text: &str) -> Flow {
        let _computing = Computing::start();
        let failed = std::mem::replace(&mut self.status, Status::Good);
        let flow = self.obey(text);
        if interrupt::requested() && self.status == Status::Good {
            // The value was computed, but an interrupt cut its output.
            self.out.note("interrupted\n");
        }
        self.status = self.status.max(failed);
        self.tell_editor();
        flow
    }

    fn obey(&mut self, text: &str) -> Flow {
        match commands::parse(text) {
            Some(Ok((Kind::Quit, _))) => return Flow::Quit,
            Some(Ok((kind, argument))) => self.command(kind, argument),
            Some(Err(message)) => self.refuse(message),
            None if commands::question(text).is_some() => {
                if let Some((name, source)) = commands::question(text) {
                    self.question(name, source);
                }
            }
            None => {
                let word = commands::word(text);
                let word = word.filter(|(word, _)| !self.document.entries.iter().any(|e| e.defines(word)));
                match word.map(|(_, message)| message).or_else(|| commands::lacks_colon(text)) {
                    Some(message) => self.refuse(message),
                    None => {
                        let source = self.engine.sources.add(INPUT, text);
                        self.items(text, source, 0);
                    }
                }
            }
        }
        Flow::Next
    }

    fn fail(&mut self, problems: Vec<Problem>) {
        self.status = Status::Failed;
        self.out.fail(&problems, &self.engine.sources);
    }

    /// Reports an input that is not understood.
    fn refuse(&mut self, message: String) {
        self.fail(vec![Problem::new(Code::E0600, message)]);
    }

    fn command(&mut self, kind: Kind, argument: &str) {
        match kind {
            Kind::Help => self.out.print(&commands::help(argument, show::terminal_width())),
            Kind::Env => self.out.print(&self.listing()),
            Kind::Type => self.type_of(argument),
            Kind::Cost => self.cost(argument),
            Kind::Time => self.time(argument),
            Kind::Bench => self.bench(argument),
            Kind::Grad => self.gradient(argument),
            Kind::Adjoint => self.form(Stage::Adjoint, argument),
            Kind::Forward => self.form(Stage::Forward, argument),
            Kind::Ssa => self.form(Stage::Ssa, argument),
            Kind::Plot => self.plot(argument),
            Kind::Explain => {
                let shown = explain::run(Some(argument), &self.engine, self.out);
                self.status = self.status.max(shown.min(Status::Failed));
            }
            Kind::Load => self.load_and_remember(PathBuf::from(argument.trim_matches('"'))),
            Kind::Reload => self.reload(),
            Kind::Save(any) => self.save(&PathBuf::from(argument.trim_matches('"')), any),
            Kind::Reset => self.reset(),
            Kind::Set => self.set(argument),
            Kind::Backend => self.set(&format!("backend {argument}")),
            Kind::Threads => self.set(&format!("threads {argument}")),
            Kind::Quit => {}
        }
    }

    fn set(&mut self, argument: &str) {
        match settings::set(&mut self.options, argument) {
            Ok(shown) => {
                self.out.print(&shown);
                self.apply_options();
            }
            Err(message) => self.refuse(message),
        }
    }

    /// Applies the settings to the engine and the output.
    fn apply_options(&mut self) {
        let common = &self.options.common;
        self.out = Out::new(common);
        self.out.view.width = self.options.width;
        self.out.view.threshold = self.options.threshold;
        progress::set_up(common);
        self.engine.out = self.out;
        self.engine.counting = common.count;
        self.engine.trap_nan = common.nan == crate::cli::Nan::Stop;
        self.engine.compute_by(&self.options.common);
        self.engine.limits = self.options.limits;
        self.engine.budget = self.ask.zip(self.options.budget).map(|(ask, steps)| Budget { steps, ask });
    }

    /// Executes the items of a text. Definitions are added first, all at once, because they may
    /// need each other. Then `let`s and expressions are computed in order. Returns whether all
    /// succeeded.
    fn items(&mut self, text: &str, source: SourceId, base: u32) -> bool {
        let mut items = split(text);
        // In the REPL, `let … in …` is an expression.
        for item in items.iter_mut().filter(|i| i.kind == ItemKind::Let && is_expression(&i.text)) {
            item.kind = ItemKind::StrayText;
        }
        let mut definitions = Vec::new();
        for item in items.iter().filter(|i| !matches!(i.kind, ItemKind::Do | ItemKind::StrayText)) {
            let mut entry = Entry::new(item, source);
            entry.offset += base;
            definitions.push(entry);
        }
        let Some(before) = self.define(definitions.clone()) else { return false };
        let mut definitions = definitions.into_iter();
        let mut good = true;
        for item in &items {
            good &= match item.kind {
                ItemKind::StrayText => self.expression(&item.text, source, base + item.start),
                ItemKind::Do => self.do_item(&item.text, source, base + item.start),
                _ => definitions.next().is_none_or(|entry| {
                    let good = self.computed(&entry, &before);
                    if good {
                        self.tell_about(&entry);
                    }
                    good
                }),
            };
        }
        good
    }

    fn module(&self) -> ModuleName {
        MODULE.into()
    }

    fn global(&self, name: &str) -> GlobalName {
        GlobalName::new(MODULE, name)
    }

    /// Shows the documentation of a name, as it is visible in the session.
    fn question(&mut self, name: &str, source: bool) {
        // A stored value has no text that shows its origin.
        let kept = self.document.entries.iter().any(|e| e.frozen && e.defines(name));
        let shown = doc::show(&self.engine, Some(&self.module()), name, source && !kept, self.out);
        self.status = self.status.max(shown);
        if source
            && let Some(def) = lookup::definition_named(&self.engine, Some(&self.module()), name)
            && let Some(adjoint) = self.engine.adjoint(&def)
        {
            self.out.print(&format!("\nIts adjoint:\n\n{}", indented(&adjoint)));
        }
    }

    /// Shows an intermediate form or a derivative of a definition.
    fn form(&mut self, stage: Stage, name: &str) {
        let here = self.module();
        let def = lookup::definition_named(&self.engine, Some(&here), name).unwrap_or_else(|| self.global(name));
        match self.engine.form(stage, &def) {
            Ok(form) => {
                self.out.print(&form.text);
                if let Some(note) = &form.note {
                    self.out.note(&format!("{note}\n"));
                }
            }
            Err(problem) => self.fail(vec![*problem]),
        }
    }

    fn type_of(&mut self, text: &str) {
        let source = self.engine.sources.add(INPUT, text);
        match self.engine.type_of(&self.module(), text, source) {
            Ok(ty) => self.out.print(&format!("{ty}\n")),
            Err(problems) => self.fail(problems),
        }
    }
}

/// Indents the text of a definition as a code block.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Whether the text of a `let` is a complete expression instead of an item.
fn is_expression(text: &str) -> bool {
    let wrong = |parsed: parser::ParsedItem| parsed.diagnostics.iter().any(Diagnostic::is_error);
    let shown = text.trim_end().trim_end_matches(';');
    wrong(parser::parse_item(text)) && !wrong(parser::parse_expr(shown))
}

//! **The engine.** Checks and runs programs for the commands and the REPL. It loads files with
//! their imports, reports their diagnostics, runs their items, calls `main` and evaluates
//! expressions.
//!
//! The engine owns the incremental database (`lang_core::session`) and starts the interpreter; only
//! `commands/cost` queries the database itself, through `forms`. The engine also maps spans of
//! modules back to the texts that a user sees.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use lang_core::base::{Code, Diagnostic, GlobalName, ModuleName, Span};
use lang_core::exec::ExecutableCache;
use lang_core::exec::offload::CompiledEvaluator;
use lang_core::interp::Interp;
use lang_core::ir::core::{NoCoreForm, NoCoreFormReason};
use lang_core::opt::PassSelection;
use lang_core::resolve::NameEnv as _;
use lang_core::resolve::forms::DerivativeOp;
use lang_core::runtime::{Failure, LocalFrame, OperationCounts, RunLimits, RuntimeInstance, Value};
use lang_core::session::{self, Blame, ItemRef, Session, SessionProgram};
use lang_core::syntax::split::ItemKind;
use lang_core::types::tree::TypedBody;
use lang_core::types::ty::{Signature, SizeSource, Type};
use lang_core::types::type_info::TypeInfo;
use lang_jit::Jit;

use crate::cli::{BackendChoice, CommonOptions, NanPolicy};
use crate::files;
use crate::fit::{self, Datum, FittedArguments};
use crate::host::{EngineHost, RunLocation};
use crate::interrupt;
use crate::machine;
use crate::out::OutputWriter;
use crate::problem::{Caller, LabelledSpan, Problem};
use crate::progress;
use crate::report;
use crate::show::EvaluatedValue;
use crate::source::{SourceId, Sources};
use crate::types;
use budget::RunBudget;

mod advice;
pub(crate) mod budget;
pub(crate) mod costs;
mod forms;
mod item_dependencies;
pub(crate) mod measure;
mod memory_plan;
mod origins;
mod static_queries;
mod timing;

/// A part of a module's text, with its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    /// The span in the module.
    pub(crate) span: Span,
    /// The text that the part was copied from.
    pub(crate) source: SourceId,
    /// The offset in that text at which the part begins.
    pub(crate) offset: u32,
}

/// A checked expression, with the items that it needs.
pub(crate) struct ReadyExpression {
    body: Arc<TypedBody>,
    required_items: Vec<ItemRef>,
    location: RunLocation,
}

/// The incremental database with the loaded modules, and the computed values.
pub(crate) struct Engine {
    session: Session,
    pub(crate) sources: Sources,
    segments: HashMap<ModuleName, Vec<Segment>>,
    /// The folders of the files that texts come from.
    folders: HashMap<SourceId, PathBuf>,
    /// Imported modules that could not be read, each with the reason.
    unreadable_modules: BTreeMap<ModuleName, Problem>,
    values: HashMap<GlobalName, Value>,
    /// Whether runs are counted (work, tests, iterations).
    pub(crate) count_runs: bool,
    pub(crate) counts: OperationCounts,
    /// Whether the interpreter evaluates everything, without machine code.
    pub(crate) interpret_only: bool,
    /// The number of threads that machine code uses.
    thread_count: usize,
    /// The passes that functions go through before they are scheduled.
    pub(crate) passes: PassSelection,
    /// The executables of all runs, for this number of threads. They have no machine code if the
    /// JIT does not support this processor.
    executables: OnceCell<ExecutableCache>,
    /// The definitions already reported as left to the interpreter. The flag is true if their
    /// derivatives are meant.
    reported_fallbacks: RefCell<HashSet<(GlobalName, bool)>>,
    /// Whether a run fails where an operation produces NaN from operands that are not NaN.
    pub(crate) trap_nan: bool,
    /// The resource limits of a run.
    pub(crate) limits: RunLimits,
    /// The predicted cost above which the user must confirm a run; `None`: no limit.
    pub(crate) budget: Option<RunBudget>,
    /// Whether the output of programs is suppressed, as when `:bench` runs an expression many
    /// times.
    pub(crate) suppress_output: bool,
    /// The output of programs, with the settings for showing values.
    pub(crate) out: OutputWriter,
    start_time: Instant,
}

/// Returns the time since the first call; used to measure intervals.
fn monotonic_time() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed()
}

/// Returns the number of threads for machine code: `--threads`, or else the available parallelism.
pub(crate) fn thread_count(common: &CommonOptions) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    common.threads.map_or_else(all, |n| usize::try_from(n).unwrap_or(1))
}

impl Engine {
    pub(crate) fn new(common: &CommonOptions, out: OutputWriter) -> Self {
        let mut engine = Self {
            session: Session::new(),
            sources: Sources::default(),
            segments: HashMap::new(),
            folders: HashMap::new(),
            unreadable_modules: BTreeMap::new(),
            values: HashMap::new(),
            count_runs: common.count,
            counts: OperationCounts::default(),
            interpret_only: common.backend == BackendChoice::Interp,
            thread_count: thread_count(common),
            passes: common.passes.clone(),
            executables: OnceCell::new(),
            reported_fallbacks: RefCell::default(),
            trap_nan: common.nan == NanPolicy::Stop,
            limits: machine::machine_limits(),
            budget: None,
            suppress_output: false,
            out,
            start_time: Instant::now(),
        };
        for module in engine.session.modules() {
            let text = engine.session.text(&module).unwrap_or_default();
            let name = if module == session::PRELUDE { "<prelude>".to_owned() } else { format!("<{module}>") };
            engine.register_text(&module, name, text);
        }
        engine
    }

    /// Selects the backend, the number of threads and the passes for later evaluations. A new
    /// number of threads, or other passes, drop the machine code.
    pub(crate) fn set_backend(&mut self, common: &CommonOptions) {
        self.interpret_only = common.backend == BackendChoice::Interp;
        let threads = thread_count(common);
        if threads != self.thread_count || common.passes != self.passes {
            self.thread_count = threads;
            self.passes = common.passes.clone();
            self.executables = OnceCell::new();
        }
    }

    // ---- text ----

    fn register_text(&mut self, module: &ModuleName, name: String, text: Arc<str>) {
        let source = self.sources.add(name, text.clone());
        self.register_source(module, source, &text);
    }

    fn register_file(&mut self, module: &ModuleName, path: &Path, text: String) {
        let text: Arc<str> = text.into();
        let source = self.add_file(path, text.clone());
        self.register_source(module, source, &text);
    }

    fn register_source(&mut self, module: &ModuleName, source: SourceId, text: &str) {
        let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.segments.insert(module.clone(), vec![Segment { span: Span::new(0, end), source, offset: 0 }]);
    }

    /// Returns the text of a module, or an empty text if there is no such module.
    pub(crate) fn module_text(&self, module: &ModuleName) -> Arc<str> {
        self.session.text(module).unwrap_or_default()
    }

    /// Returns the module that `module` imports under `name`, if its text is loaded.
    pub(crate) fn imported_module(&self, module: &ModuleName, name: &str) -> Option<ModuleName> {
        let imported = self.session.view().imported_module(module, name)?;
        self.session.text(&imported).map(|_| imported)
    }

    /// Adds the text of a file. Names of data files in it are relative to its folder.
    pub(crate) fn add_file(&mut self, path: &Path, text: impl Into<Arc<str>>) -> SourceId {
        let source = self.sources.add(files::display_path(path), text);
        if let Some(folder) = path.parent().filter(|_| !files::is_stdin(path)) {
            self.folders.insert(source, folder.to_owned());
        }
        source
    }

    /// Returns the folder of the file that a text comes from.
    pub(crate) fn folder_of(&self, source: SourceId) -> Option<&PathBuf> {
        self.folders.get(&source)
    }

    /// Sets the text of a module that is assembled from parts.
    pub(crate) fn set_text(&mut self, module: &ModuleName, text: &str, segments: Vec<Segment>) {
        self.session.set_text(module, text);
        self.segments.insert(module.clone(), segments);
    }

    /// Loads a file and, transitively, its imports.
    pub(crate) fn load(&mut self, path: &Path) -> Result<ModuleName, Box<Problem>> {
        let text = files::read(path, &mut self.sources)?;
        let module = match files::is_stdin(path) {
            true => ModuleName::from("<stdin>"),
            false => session::module_name(&path.display().to_string()),
        };
        self.session.set_text(&module, &text);
        self.register_file(&module, path, text);
        self.read_imports();
        Ok(module)
    }

    /// Reads imported files that are not loaded yet, until none is missing. Returns the modules
    /// that it read.
    fn read_imports(&mut self) -> Vec<ModuleName> {
        let mut read = Vec::new();
        loop {
            let missing = self.session.missing_imports();
            let wanted: BTreeSet<ModuleName> =
                missing.into_iter().map(|m| m.module).filter(|m| !self.unreadable_modules.contains_key(m)).collect();
            if wanted.is_empty() {
                return read;
            }
            for module in wanted {
                let path = Path::new(module.as_str());
                match files::read(path, &mut self.sources) {
                    Ok(text) => {
                        self.session.set_text(&module, &text);
                        self.register_file(&module, path, text);
                        read.push(module);
                    }
                    Err(problem) => {
                        self.unreadable_modules.insert(module, *problem);
                    }
                }
            }
        }
    }

    /// Reads newly imported files and returns the errors in them.
    pub(crate) fn load_imports(&mut self) -> Vec<Problem> {
        self.unreadable_modules.clear();
        let read = self.read_imports();
        read.iter().flat_map(|module| self.problems_in(module)).filter(Problem::is_error).collect()
    }

    /// Reads the imported files again, and returns the errors. Drops the values of all modules but
    /// `except`; they are computed again at the next use.
    pub(crate) fn reload_imports(&mut self, except: &ModuleName) -> Vec<Problem> {
        self.unreadable_modules.clear();
        let mut problems = Vec::new();
        let modules: Vec<ModuleName> = self.session.modules().into_iter().filter(|m| m != except).collect();
        for module in modules.into_iter().filter(|m| m.contains(['/', '.'])) {
            let path = Path::new(module.as_str());
            match files::read(path, &mut self.sources) {
                Ok(text) => {
                    self.session.set_text(&module, &text);
                    self.register_file(&module, path, text);
                }
                Err(problem) => problems.push(*problem),
            }
        }
        self.values.retain(|name, _| name.module == *except);
        problems.extend(self.load_imports());
        problems
    }

    // ---- places ----

    /// Maps a span of a module to the text that the span comes from.
    pub(super) fn map_span(&self, module: &str, span: Span, label: String) -> Option<LabelledSpan> {
        let segments = self.segments.get(module)?;
        let nth = segments.partition_point(|s| s.span.start <= span.start).checked_sub(1)?;
        let segment = segments.get(nth)?;
        let shift = |at: u32| at.saturating_sub(segment.span.start).saturating_add(segment.offset);
        Some(LabelledSpan { source: segment.source, span: Span::new(shift(span.start), shift(span.end)), label })
    }

    fn problem_of_diagnostic(&self, module: &ModuleName, d: &Diagnostic) -> Problem {
        let mut problem = Problem::new(d.code, d.message.clone());
        problem.severity = d.severity;
        problem.help = d.help.as_ref().map(ToString::to_string);
        problem.size_names.clone_from(&d.size_names);
        problem.places.extend(self.map_span(module, d.span, d.label.clone()));
        for label in &d.related {
            let module = label.module.as_ref().unwrap_or(module);
            problem.places.extend(self.map_span(module, label.span, label.message.clone()));
        }
        self.with_advice(problem)
    }

    /// Converts a failure to problems. Its places are in its items, or in the text of `here` for an
    /// expression that is in no module.
    fn problems_of_failure(&self, failure: &Failure, here: &RunLocation) -> Vec<Problem> {
        let place = |item: &GlobalName, span: Span, label: String| {
            let mut place = self.place_in_item(item, span, here)?;
            place.label = label;
            Some(place)
        };
        let mut problem = Problem::new(failure.code, failure.message.clone());
        problem.help.clone_from(&failure.help);
        let has_place = |item: &GlobalName, span: Span| *item != here.item || span != Span::default();
        let blame = Blame::new(failure, has_place);
        // Help about the library's own lines does not help its caller.
        if let (Some(called), true) = (&blame.library_function, problem.help.is_some()) {
            problem.help = Some(format!("check the arguments of the call to `{called}`"));
        }
        problem.places.extend(place(blame.item, blame.span, blame.label));
        problem.places.extend(blame.library_site.and_then(|(item, span, label)| place(item, span, label)));
        problem.more_callers = failure.omitted_callers;
        // The outermost call, from outside the program, has no place.
        let calls = blame.callers.iter().filter(|(item, span)| has_place(item, *span));
        problem.trace = calls
            .map(|(item, span)| {
                let place = place(item, *span, String::new());
                let name = if *item == here.item { here.name.to_owned() } else { format!("`{}`", item.name) };
                Caller { name, source: place.as_ref().map(|p| p.source), span: place.map_or(*span, |p| p.span) }
            })
            .collect();
        vec![problem]
    }

    /// Returns the place of a span in an item, or in the current expression.
    pub(crate) fn place_in_item(&self, item: &GlobalName, span: Span, here: &RunLocation) -> Option<LabelledSpan> {
        match here.source {
            Some((source, offset)) if *item == here.item => {
                Some(LabelledSpan { source, span: span.shift(offset), label: String::new() })
            }
            _ => {
                let start = self.session.item(item).map_or(0, |i| i.start);
                self.map_span(&item.module, span.shift(start), String::new())
            }
        }
    }

    // ---- diagnostics ----

    /// Returns the problems of one module.
    fn problems_in(&self, module: &ModuleName) -> Vec<Problem> {
        let mut unread: BTreeMap<Span, (ModuleName, &Problem)> = BTreeMap::new();
        for missing in self.session.missing_imports_of(module) {
            unread.extend(self.unreadable_modules.get(&missing.module).map(|p| (missing.span, (missing.module, p))));
        }
        let diagnostics = self.session.diagnostics(module);
        diagnostics.iter().map(|d| self.problem_with_reason(module, d, unread.get(&d.span))).collect()
    }

    /// Converts a diagnostic. For a missing module whose file could not be read, the reason
    /// replaces its message.
    fn problem_with_reason(
        &self,
        module: &ModuleName,
        d: &Diagnostic,
        why: Option<&(ModuleName, &Problem)>,
    ) -> Problem {
        let mut problem = self.problem_of_diagnostic(module, d);
        if let (Code::E0102, Some((missing, reason))) = (d.code, why) {
            problem.message.clone_from(&reason.message);
            problem.code = reason.code;
            problem.places.extend(reason.places.iter().cloned());
            // Advice about the name of a file fits the command line, but not an import.
            if reason.code != Code::E0602 {
                problem.help.clone_from(&reason.help);
            } else if !missing.ends_with(".iv") && Path::new(&session::with_file_extension(missing)).is_file() {
                problem.help = Some(session::missing_extension_help(&session::with_file_extension(missing)));
            }
        }
        problem
    }

    /// Returns the problems of the modules and, before them, those of the modules that they import.
    pub(crate) fn problems(&self, modules: &[ModuleName]) -> Vec<Problem> {
        self.import_closure(modules).iter().flat_map(|m| self.problems_in(m)).collect()
    }

    /// Returns warnings about adjoints whose cost grows without bound relative to their functions,
    /// for the same modules in the same order.
    pub(crate) fn gradient_cost_warnings(&self, modules: &[ModuleName]) -> Vec<Problem> {
        let modules = self.import_closure(modules).into_iter();
        let of = |m: ModuleName| {
            self.session.adjoint_cost_warnings(&m).into_iter().map(move |d| (m.clone(), d)).collect::<Vec<_>>()
        };
        modules.flat_map(of).map(|(m, d)| self.problem_of_diagnostic(&m, &d)).collect()
    }

    /// Returns the modules and their transitive imports in postorder: each module after its
    /// imports.
    fn import_closure(&self, modules: &[ModuleName]) -> Vec<ModuleName> {
        let mut order = Vec::new();
        let mut seen: HashSet<ModuleName> = HashSet::new();
        // The depth-first search meets a module twice: before and after its imports.
        let mut open: Vec<_> = modules.iter().rev().map(|m| (m.clone(), false)).collect();
        while let Some((next, after)) = open.pop() {
            if after {
                order.push(next);
            } else if seen.insert(next.clone()) {
                let imports = self.imported_modules(&next);
                open.push((next, true));
                open.extend(imports.into_iter().rev().map(|m| (m, false)));
            }
        }
        order
    }

    fn imported_modules(&self, module: &ModuleName) -> Vec<ModuleName> {
        let items = self.session.items(module);
        let names = items.iter().filter(|i| i.kind == ItemKind::Import).map(|i| &i.name);
        names.filter_map(|name| self.session.view().imported_module(module, name)).collect()
    }

    /// Returns the problems in the segment of a module that begins at `offset` of `source`.
    pub(crate) fn problems_of_segment(&self, module: &ModuleName, source: SourceId, offset: u32) -> Vec<Problem> {
        let segments = self.segments.get(module).map(Vec::as_slice).unwrap_or_default();
        let Some(segment) = segments.iter().find(|s| s.source == source && s.offset == offset) else {
            return Vec::new();
        };
        let inside = |p: &Problem| {
            let end = segment.offset.saturating_add(segment.span.end.saturating_sub(segment.span.start));
            let at = |place: &LabelledSpan| place.source == source && (offset..=end).contains(&place.span.start);
            p.places.first().is_some_and(at)
        };
        self.problems_in(module).into_iter().filter(inside).collect()
    }

    // ---- running ----

    /// Runs the `let` and `do` items of a module in order, and passes the values of the `do` items
    /// to `shown`. The `let` items of imported modules are computed just before the first item that
    /// needs them. Those that no item needs are never computed.
    pub(crate) fn run_items(
        &mut self,
        module: &ModuleName,
        shown: &dyn Fn(&EvaluatedValue),
    ) -> Result<(), Vec<Problem>> {
        for item in self.session.items(module) {
            if !matches!(item.kind, ItemKind::Let | ItemKind::Do) {
                continue;
            }
            self.compute_imported_lets(module, &self.uses(&item))?;
            let value = self.run_item(&item)?;
            if item.kind == ItemKind::Do {
                value.iter().filter(|v| !v.is_silent()).for_each(shown);
            }
        }
        Ok(())
    }

    /// Computes the `let` items of other modules that `names` of this module need.
    fn compute_imported_lets(&mut self, module: &ModuleName, names: &BTreeSet<GlobalName>) -> Result<(), Vec<Problem>> {
        let mut needs = self.dependency_closure(names);
        needs.retain(|item| item.module != *module);
        self.compute_lets(&needs)
    }

    fn compute_lets(&mut self, items: &[ItemRef]) -> Result<(), Vec<Problem>> {
        for item in items.iter().filter(|i| i.kind == ItemKind::Let) {
            if !self.defined_names(item).iter().all(|name| self.values.contains_key(name)) {
                self.run_item(item)?;
            }
        }
        Ok(())
    }

    /// Runs an item. Keeps the values of a `let`; returns the value of a `do`.
    fn run_item(&mut self, item: &ItemRef) -> Result<Option<EvaluatedValue>, Vec<Problem>> {
        let Some(checked) = self.session.checked_item(item) else { return Ok(None) };
        let here = RunLocation { item: item.global.clone(), name: "do", source: None };
        let body = Arc::clone(&checked.body);
        let (value, _) = self.run_body(&body, &here)?;
        if item.kind != ItemKind::Let {
            return Ok(Some(self.evaluated_value(value, &checked.result, body.has_effects())));
        }
        if let Value::Tuple(values) = value {
            for ((name, _), value) in checked.exports.iter().zip(values.values()) {
                let name = GlobalName { module: item.module.clone(), name: name.clone() };
                self.values.insert(name, value.clone());
            }
        }
        Ok(None)
    }

    fn run_body(&mut self, body: &Arc<TypedBody>, here: &RunLocation) -> Result<(Value, LocalFrame), Vec<Problem>> {
        self.check_budget(body, here)?;
        self.interpret(here, |interp, _| interp.eval_body(&here.item, body))
    }

    fn interpret<T>(
        &mut self,
        here: &RunLocation,
        f: impl FnOnce(&mut Interp<'_>, &CompiledEvaluator<'_>) -> Result<T, Box<Failure>>,
    ) -> Result<T, Vec<Problem>> {
        // An interrupt also ends the compilation of callees and derivatives.
        let run = |session: &Session| {
            let program = SessionProgram::new(session, &self.values);
            let globals = |name: &GlobalName| self.values.get(name).cloned();
            let outside = |why: &NoCoreForm, of: Option<DerivativeOp>| self.report_fallback(why, of.is_some(), here);
            let generated = CompiledEvaluator::new(session, &globals, self.executables(), &outside);
            let mut host = EngineHost { out: self.out, start_time: self.start_time, engine: self, location: here };
            let mut interp = Interp::new(&program, &mut host, self.limits, &interrupt::STOP_REQUESTED);
            if self.count_runs {
                interp.start_counting();
            }
            if self.trap_nan {
                interp.trap_nan();
            }
            if !self.interpret_only {
                interp.offload_expressions(&generated);
            }
            interp.set_report_flag(&progress::REPORT_REQUESTED);
            (f(&mut interp, &generated), interp.counts())
        };
        let interrupted = || vec![Problem::new(Code::E0507, "interrupted")];
        let (result, counts) = interrupt::run_query(&self.session, run).ok_or_else(interrupted)?;
        self.counts.work = self.counts.work.saturating_add(counts.work);
        self.counts.tests = self.counts.tests.saturating_add(counts.tests);
        self.counts.iterations = self.counts.iterations.saturating_add(counts.iterations);
        result.map_err(|failure| self.problems_of_failure(&failure, here))
    }

    /// Returns the executables of the session, compiled by the JIT if it supports this processor.
    fn executables(&self) -> &ExecutableCache {
        self.executables.get_or_init(|| {
            let jit = Jit::new(self.thread_count).ok().map(Arc::new);
            let empty = jit.map_or_else(ExecutableCache::default, |jit| ExecutableCache::with_backend(jit));
            empty.with_clock(monotonic_time).with_passes(self.passes.clone())
        })
    }

    /// Reports, once per definition, that it (or a derivative through it) is left to the
    /// interpreter, and why.
    fn report_fallback(&self, why: &NoCoreForm, derivative: bool, here: &RunLocation) {
        // The checker reports errors, and an effect is no news. A derivative that exceeds the
        // memory limit is reported when it is computed.
        let plain = !derivative
            && matches!(why.reason, NoCoreFormReason::Effect | NoCoreFormReason::Errors | NoCoreFormReason::Memory);
        if plain
            || self.suppress_output
            || self.out.is_json()
            || !self.reported_fallbacks.borrow_mut().insert((why.item.clone(), derivative))
        {
            return;
        }
        let library = session::LIBRARY.iter().any(|(module, _)| why.item.module == *module);
        // The running expression has a description instead of a name.
        let is_running = !library && why.item == here.item;
        let name = match library {
            true => format!("`{}.{}`", why.item.module, why.item.name),
            false if is_running => here.name.to_owned(),
            false => format!("`{}`", why.item.name),
        };
        // The reader does not know the lines of the library, so no place is shown.
        let place = if library { None } else { self.place_in_item(&why.item, why.span, here) };
        let what = match derivative {
            true if is_running => format!("derivatives of a function in {name} are"),
            true => format!("derivatives of {name} are"),
            false => format!("{name} is"),
        };
        let text = format!("{what} left to the interpreter, because there is {}", why.reason.phrase());
        self.out.note(&report::render_note(&text, place.as_ref(), &self.sources));
    }

    /// Calls `main` with fitted arguments.
    pub(crate) fn call_main(
        &mut self,
        module: &ModuleName,
        signature: &Signature,
        fitted: &FittedArguments,
    ) -> Result<EvaluatedValue, Vec<Problem>> {
        let main = GlobalName::new(module, "main");
        let here = RunLocation { item: main.clone(), name: "main", source: None };
        self.compute_imported_lets(module, &BTreeSet::from([main.clone()]))?;
        let (instance, arguments) = self.call_arguments(signature, fitted);
        let value = self.interpret(&here, |interp, _| interp.call(&main, instance, arguments))?;
        let ty = types::with_sizes(&signature.result, &fitted.sizes);
        // A `main` that returns `()` runs for its checks, so its unit value is not shown.
        Ok(self.evaluated_value(value, &ty, true))
    }

    /// Converts fitted sizes and arguments to the instance and values of a call.
    fn call_arguments(&self, signature: &Signature, fitted: &FittedArguments) -> (RuntimeInstance, Vec<Value>) {
        let sizes = signature.sizes.iter().zip(&fitted.sizes);
        let sizes = sizes.filter(|(s, _)| s.source == SizeSource::Implicit).map(|(_, n)| *n).collect();
        let arguments = signature.params.iter().zip(&fitted.arguments);
        let arguments =
            arguments.map(|((_, ty), datum)| self.datum_value(datum, &types::with_sizes(ty, &fitted.sizes)));
        (RuntimeInstance { types: Arc::from([]), sizes }, arguments.collect())
    }

    pub(crate) fn datum_value(&self, datum: &Datum, ty: &Type) -> Value {
        types::value_of_datum(datum, ty, &|name| self.session.type_info(name), &|name| self.global_integer(name))
    }

    fn evaluated_value(&self, value: Value, ty: &Type, acts: bool) -> EvaluatedValue {
        let ty = types::with_value_sizes(ty, Some(&value), &|name| self.global_integer(name));
        EvaluatedValue { value, ty, has_effects: acts }
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        self.values.get(name)?.as_i64()
    }

    // ---- expressions ----

    /// Evaluates an expression in the scope of a module. Its text begins at `offset` of `source`.
    /// Calls `checked` after checking and before running.
    pub(crate) fn evaluate(
        &mut self,
        module: &ModuleName,
        text: &str,
        source: SourceId,
        offset: u32,
        checked: &mut dyn FnMut(),
    ) -> Result<EvaluatedValue, Vec<Problem>> {
        let ready = self.prepare(module, text, source, offset)?;
        checked();
        self.compute_lets(&ready.required_items)?;
        self.run_prepared(&ready)
    }

    /// Checks an expression and prepares it to run. Returns the errors in it, or in the items that
    /// it needs.
    pub(crate) fn prepare(
        &mut self,
        module: &ModuleName,
        text: &str,
        source: SourceId,
        offset: u32,
    ) -> Result<ReadyExpression, Vec<Problem>> {
        let expression = self.session.check_expression(module, text);
        let places =
            |d: &Diagnostic| self.with_advice(crate::problem::from_diagnostic(&d.clone().shift(offset), source));
        let problems: Vec<Problem> = expression.diagnostics.iter().map(places).collect();
        if problems.iter().any(Problem::is_error) {
            return Err(problems);
        }
        self.out.report_warnings(&problems, &self.sources);
        let Some(checked) = expression.checked else { return Err(Vec::new()) };
        if checked.body.root.is_none() {
            return Err(self.errors_in_module(module));
        }
        let needs = self.dependency_closure(&expression.resolved.referenced_items);
        let errors = self.errors_in_items(&needs);
        if !errors.is_empty() {
            return Err(errors);
        }
        let here =
            RunLocation { item: GlobalName::new(module, "do 0"), name: "the input", source: Some((source, offset)) };
        Ok(ReadyExpression { body: checked.body, required_items: needs, location: here })
    }

    /// Computes the `let` items that an expression needs.
    pub(crate) fn compute_required(&mut self, ready: &ReadyExpression) -> Result<(), Vec<Problem>> {
        self.compute_lets(&ready.required_items)
    }

    /// Runs an expression. The caller must first call `compute_required`.
    pub(crate) fn run_prepared(&mut self, ready: &ReadyExpression) -> Result<EvaluatedValue, Vec<Problem>> {
        let ty = ready.body.root.map(|root| ready.body.nodes[root].ty.clone());
        let (value, _) = self.run_body(&ready.body, &ready.location)?;
        Ok(self.evaluated_value(value, &ty.unwrap_or(Type::Error), ready.body.has_effects()))
    }

    /// Computes a `let` and the `let` items that it needs.
    pub(crate) fn compute_let(&mut self, name: &GlobalName) -> Result<(), Vec<Problem>> {
        let closure = self.dependency_closure(&BTreeSet::from([name.clone()]));
        let errors = self.errors_in_items(&closure);
        if !errors.is_empty() {
            return Err(errors);
        }
        self.compute_lets(&closure)
    }

    // ---- values ----

    /// Returns the value of a `let`, if it has been computed.
    pub(crate) fn global_value(&self, name: &GlobalName) -> Option<EvaluatedValue> {
        let value = self.values.get(name)?.clone();
        let ty = self.session.let_type(name)?;
        Some(self.evaluated_value(value, &ty, false))
    }

    /// Stores a value under a name.
    pub(crate) fn store_value(&mut self, name: &GlobalName, value: Value) {
        self.values.insert(name.clone(), value);
    }

    /// Drops the values of `names`, and returns those that had been computed.
    pub(crate) fn drop_values(&mut self, names: &BTreeSet<GlobalName>) -> Vec<(GlobalName, Value)> {
        names.iter().filter_map(|name| self.values.remove_entry(name)).collect()
    }
}

impl fit::TypeEnvironment for Engine {
    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        self.session.type_info(name)
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        self.global_integer(name)
    }
}

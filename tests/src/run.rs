//! **Program runner.** Returns the output that a user sees: the diagnostics and, if none is an
//! error, the printed text and all shown values. The values are those of the `do` items and of
//! `main`. The output ends at the first failure. Literate tests, golden tests and the generators
//! run programs through it, with or without compiled code.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use lang_core::base::{GlobalName, ModuleName, Span};
use lang_core::exec::ExecutableCache;
use lang_core::exec::offload::{CompiledEvaluator, OffloadCounts};
use lang_core::interp::Interp;
use lang_core::ir::core::NoCoreForm;
use lang_core::resolve::forms::DerivativeOp;
use lang_core::runtime::print::Layout;
use lang_core::runtime::{Failure, Host, RunLimits, RuntimeInstance, Value};
use lang_core::session::{Blame, ItemRef, Session, SessionProgram};
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::{ItemKind, split};
use lang_core::types::ty::Type;
use lang_jit::Jit;

use crate::literate::{Block, BlockKind};
use crate::observed_kernels::{KernelObserver, ObservedBackend};
use crate::render;

/// The module name of a program that is one file.
pub const MAIN: &str = "main.iv";

/// Returns the limits of the tests' programs: enough for any of them, and small enough for a
/// machine that runs many tests.
#[must_use]
pub fn limits() -> RunLimits {
    RunLimits { max_calls: 10_000, max_elements: 1 << 24, max_bytes: 1 << 28, ..RunLimits::default() }
}

/// Returns the output of block number `at` of a page. A program may import the modules of the page.
#[must_use]
pub fn block_output(blocks: &[Block], at: usize) -> String {
    let Some(block) = blocks.get(at) else { return String::new() };
    let modules: Vec<(&str, &str)> = blocks
        .iter()
        .filter_map(|other| match &other.kind {
            BlockKind::Module(name) => Some((name.as_str(), other.text.as_str())),
            BlockKind::Program | BlockKind::Fragment | BlockKind::Unchecked => None,
        })
        .collect();
    match &block.kind {
        BlockKind::Program => program_output(&block.text, &modules),
        BlockKind::Module(name) => render::diagnostics(name, &block.text, &load(&modules).diagnostics(name)),
        BlockKind::Fragment => split(&block.text)
            .iter()
            .flat_map(|item| parse_item(&item.text).diagnostics.into_iter().map(|d| d.shift(item.start)))
            .map(|d| render::diagnostic(MAIN, &block.text, &d))
            .collect(),
        BlockKind::Unchecked => String::new(),
    }
}

/// Returns the output of a program that may import these modules.
#[must_use]
pub fn program_output(text: &str, modules: &[(&str, &str)]) -> String {
    output_in_session(&mut load(modules), text)
}

/// Returns the output of a program that may import the modules of a session.
#[must_use]
pub fn output_in_session(session: &mut Session, text: &str) -> String {
    session.set_text(MAIN, text);
    let mut diagnostics = session.diagnostics(MAIN);
    if diagnostics.iter().all(|d| !d.is_error()) {
        diagnostics.extend(session.adjoint_cost_warnings(MAIN));
    }
    let mut seen = render::diagnostics(MAIN, text, &diagnostics);
    if diagnostics.iter().all(|d| !d.is_error()) {
        seen.push_str(&run(session, limits(), &AtomicBool::new(false)));
    }
    seen
}

fn load(modules: &[(&str, &str)]) -> Session {
    let mut session = Session::new();
    for (name, text) in modules {
        session.set_text(name, text);
    }
    session
}

/// Runs the main module of a session and returns its output. The module must have no errors.
#[must_use]
pub fn run(session: &Session, limits: RunLimits, interrupt: &AtomicBool) -> String {
    shown(ModuleRun::new(session, MAIN.into(), limits, interrupt))
}

/// Same as [`run`], but with the compiled evaluation that `ways` selects.
#[must_use]
pub fn run_compiled(session: &Session, ways: &CompiledEvaluation) -> String {
    run_compiled_until(session, ways, &AtomicBool::new(false))
}

/// Same as [`run_compiled`], until `interrupt` is set.
#[must_use]
pub fn run_compiled_until(session: &Session, ways: &CompiledEvaluation, interrupt: &AtomicBool) -> String {
    shown(ModuleRun { ways: Some(ways), ..ModuleRun::new(session, MAIN.into(), limits(), interrupt) })
}

fn shown(mut run: ModuleRun<'_>) -> String {
    match run.main_module() {
        // The value `()` of a `main` is not shown, because such a `main` only runs checks.
        Ok(Some(value)) if !run.main_is_unit() => run.show(&value),
        Ok(_) => {}
        Err(failure) => {
            let report = run.report(&failure);
            run.out.push_str(&report);
        }
    }
    run.out
}

/// Runs a module of a session and returns the value of its `main`. The module must have no errors.
///
/// # Errors
/// The output up to the failure with the report of the failure, or that the module has no `main`
/// without parameters.
pub fn value_of_main(session: &Session, module: &str) -> Result<Value, String> {
    value_of_main_after(session, module, &|_| {})
}

/// Same as [`value_of_main`], but `prepare` is applied to each interpreter first.
///
/// # Errors
/// As [`value_of_main`].
pub fn value_of_main_after(session: &Session, module: &str, prepare: InterpreterSetup<'_>) -> Result<Value, String> {
    let interrupt = AtomicBool::new(false);
    let mut run = ModuleRun { prepare, ..ModuleRun::new(session, module.into(), limits(), &interrupt) };
    match run.main_module() {
        Ok(value) => value.ok_or_else(|| format!("{module} has no `main` without parameters")),
        Err(failure) => {
            let report = run.report(&failure);
            Err(run.out + &report)
        }
    }
}

/// The compiled evaluation of a run, and its record.
#[derive(Default, Debug)]
pub struct CompiledEvaluation {
    /// Whether machine code runs loops and calls too. If false, only derivatives are evaluated
    /// outside the interpreter, by the engine.
    pub native: bool,
    /// The number of evaluations of each kind.
    pub tally: Cell<OffloadCounts>,
    /// The parts of the program without a compiled form.
    pub outside: RefCell<Vec<NoCoreForm>>,
    /// The receiver of the events of compiled kernels.
    pub observer: Option<Arc<dyn KernelObserver>>,
}

impl CompiledEvaluation {
    /// Machine code for every part that has a compiled form, as in production.
    #[must_use]
    pub fn native() -> Self {
        Self { native: true, ..Self::default() }
    }

    /// Returns an empty cache of executables.
    #[must_use]
    pub fn new_executables(&self) -> ExecutableCache {
        // The engine runs every statement if the processor has no machine code backend.
        static JIT: LazyLock<Option<Arc<Jit>>> = LazyLock::new(|| Jit::new(2).ok().map(Arc::new));
        let Some(jit) = JIT.as_ref().filter(|_| self.native) else { return ExecutableCache::default() };
        let jit = Arc::clone(jit);
        match &self.observer {
            Some(observer) => {
                let observer = Arc::clone(observer);
                ExecutableCache::with_backend(Arc::new(ObservedBackend { backend: jit, observer }))
            }
            None => ExecutableCache::with_backend(jit),
        }
    }
}

/// Same as [`value_of_main`], but with the compiled evaluation that `ways` selects.
///
/// # Errors
/// As [`value_of_main`].
pub fn value_of_main_compiled(session: &Session, module: &str, ways: &CompiledEvaluation) -> Result<Value, String> {
    value_of_main_with(session, module, ways, &ways.new_executables())
}

/// Same as [`value_of_main_compiled`], with the executables of earlier runs.
///
/// # Errors
/// As [`value_of_main`].
pub fn value_of_main_with(
    session: &Session,
    module: &str,
    ways: &CompiledEvaluation,
    executables: &ExecutableCache,
) -> Result<Value, String> {
    let interrupt = AtomicBool::new(false);
    let start = ModuleRun::new(session, module.into(), limits(), &interrupt);
    let mut run = ModuleRun { ways: Some(ways), executables: Some(executables), ..start };
    match run.main_module() {
        Ok(value) => value.ok_or_else(|| format!("{module} has no `main` without parameters")),
        Err(failure) => {
            let report = run.report(&failure);
            Err(run.out + &report)
        }
    }
}

/// Returns the values of the top-level `let`s of these modules. A `let` that fails has none, nor
/// have those after it in its module.
#[must_use]
pub fn globals<'m>(session: &Session, modules: impl IntoIterator<Item = &'m str>) -> HashMap<GlobalName, Value> {
    let interrupt = AtomicBool::new(false);
    let mut values = HashMap::new();
    for module in modules {
        let mut run = ModuleRun { values, ..ModuleRun::new(session, "no module".into(), limits(), &interrupt) };
        let _ = run.module(&module.into());
        values = run.values;
    }
    values
}

/// A function that changes the settings of an interpreter before it runs.
pub type InterpreterSetup<'p> = &'p dyn Fn(&mut Interp<'_>);

/// A run in progress.
struct ModuleRun<'s> {
    prepare: InterpreterSetup<'s>,
    ways: Option<&'s CompiledEvaluation>,
    /// The executables of earlier runs; without them the items of this run share their own.
    executables: Option<&'s ExecutableCache>,
    own_executables: OnceCell<ExecutableCache>,
    session: &'s Session,
    main: ModuleName,
    limits: RunLimits,
    interrupt: &'s AtomicBool,
    values: HashMap<GlobalName, Value>,
    done: BTreeSet<GlobalName>,
    out: String,
}

impl<'s> ModuleRun<'s> {
    fn new(session: &'s Session, main: ModuleName, limits: RunLimits, interrupt: &'s AtomicBool) -> Self {
        Self {
            prepare: &|_| {},
            ways: None,
            executables: None,
            own_executables: OnceCell::new(),
            session,
            main,
            limits,
            interrupt,
            values: HashMap::new(),
            done: BTreeSet::new(),
            out: String::new(),
        }
    }

    /// Runs the items of the main module, then its `main` if that has no parameters.
    fn main_module(&mut self) -> Result<Option<Value>, Box<Failure>> {
        self.module(&self.main.clone())?;
        let entry = GlobalName::new(&self.main, "main");
        if let Some(item) = self.session.item(&entry) {
            self.needs(&item)?;
        }
        if self.session.signature(&entry).is_none_or(|signature| !signature.params.is_empty()) {
            return Ok(None);
        }
        self.interpret(|interp| interp.call(&entry, RuntimeInstance::default(), Vec::new())).map(Some)
    }

    /// Runs the items of a module in order. A `let` of an imported module is computed before the
    /// first item that needs it.
    fn module(&mut self, module: &ModuleName) -> Result<(), Box<Failure>> {
        for item in &self.session.items(module) {
            match item.kind {
                ItemKind::Let => {
                    self.needs(item)?;
                    self.item(item)?;
                }
                ItemKind::Do => {
                    self.needs(item)?;
                    if let Some(value) = self.item(item)? {
                        self.show(&value);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Computes the `let`s of imported modules that an item needs, each after those that it needs
    /// itself.
    fn needs(&mut self, item: &ItemRef) -> Result<(), Box<Failure>> {
        let uses = self.session.resolved(item).map(|r| r.referenced_items.clone()).unwrap_or_default();
        for used in uses.iter().filter_map(|name| self.session.item(name)) {
            if used.module == lang_core::session::PRELUDE || !self.done.insert(used.global.clone()) {
                continue;
            }
            self.needs(&used)?;
            if used.kind == ItemKind::Let && used.module != self.main {
                self.item(&used)?;
            }
        }
        Ok(())
    }

    /// Runs a `let` or `do` and stores the values that it binds. Returns its value unless that is
    /// `()`.
    fn item(&mut self, item: &ItemRef) -> Result<Option<Value>, Box<Failure>> {
        let Some(checked) = self.session.checked_item(item) else { return Ok(None) };
        let body = Arc::clone(&checked.body);
        let (value, _) = self.interpret(|interp| interp.eval_body(&item.global, &body))?;
        if item.kind == ItemKind::Let
            && let Value::Tuple(values) = &value
        {
            for ((name, _), value) in checked.exports.iter().zip(values.values()) {
                self.values.insert(GlobalName::new(&item.module, name), value.clone());
            }
            return Ok(None);
        }
        let silent = checked.body.root.is_none_or(|root| body.has_effects() && is_unit(&checked.body.nodes[root].ty));
        Ok((!silent).then_some(value))
    }

    fn main_is_unit(&self) -> bool {
        self.session.signature(&GlobalName::new(&self.main, "main")).is_some_and(|main| is_unit(&main.result))
    }

    fn show(&mut self, value: &Value) {
        self.out.push_str(&Layout::default().show(value));
        self.out.push('\n');
    }

    fn interpret<T>(
        &mut self,
        task: impl FnOnce(&mut Interp<'_>) -> Result<T, Box<Failure>>,
    ) -> Result<T, Box<Failure>> {
        let program = SessionProgram::new(self.session, &self.values);
        let globals = |name: &GlobalName| self.values.get(name).cloned();
        let outside = |why: &NoCoreForm, _: Option<DerivativeOp>| {
            self.ways.into_iter().for_each(|ways| ways.outside.borrow_mut().push(why.clone()));
        };
        let own = || self.ways.map(CompiledEvaluation::new_executables).unwrap_or_default();
        let executables = self.executables.unwrap_or_else(|| self.own_executables.get_or_init(own));
        let generated = CompiledEvaluator::new(self.session, &globals, executables, &outside);
        let mut host = Console { session: self.session, out: &mut self.out };
        let mut interp = Interp::new(&program, &mut host, self.limits, self.interrupt);
        (self.prepare)(&mut interp);
        match self.ways {
            Some(CompiledEvaluation { native: true, .. }) => interp.offload_expressions(&generated),
            Some(_) => interp.offload_derivatives(&generated),
            None => {}
        }
        let result = task(&mut interp);
        if let Some(ways) = self.ways {
            ways.tally.set(ways.tally.get().plus(generated.counts()));
        }
        result
    }

    /// Returns the report of a failure, with the calls that led to it.
    fn report(&self, failure: &Failure) -> String {
        let blame = Blame::new(failure, |_, _| true);
        let (start, text) = item_start(self.session, blame.item);
        let mut diagnostic = failure.diagnostic().label(blame.label);
        diagnostic.span = blame.span;
        let mut report = render::diagnostic(&blame.item.module, &text, &diagnostic.shift(start));
        let at = |(caller, span): &(GlobalName, Span)| {
            let (start, text) = item_start(self.session, caller);
            render::position(&caller.module, &text, span.shift(start))
        };
        if let Some((item, span, _)) = blame.library_site {
            report.push_str(&format!("  = in the library at {}\n", at(&(item.clone(), span))));
        }
        let mut callers: Vec<(String, usize)> = Vec::new();
        for caller in blame.callers.iter().map(at) {
            match callers.last_mut() {
                Some((last, times)) if *last == caller => *times += 1,
                _ => callers.push((caller, 1)),
            }
        }
        for (caller, times) in callers {
            let times = if times > 1 { format!(", {times} times") } else { String::new() };
            report.push_str(&format!("  = called at {caller}{times}\n"));
        }
        if failure.omitted_callers > 0 {
            report.push_str(&format!("  = and {} more callers\n", failure.omitted_callers));
        }
        report
    }
}

/// Returns the start of an item in its module's text, and that text.
fn item_start(session: &Session, item: &GlobalName) -> (u32, Arc<str>) {
    let start = session.item(item).map_or(0, |item| item.start);
    (start, session.text(&item.module).unwrap_or_default())
}

/// A host that collects the output. Its clock does not advance, so that outputs are reproducible.
struct Console<'a> {
    session: &'a Session,
    out: &'a mut String,
}

impl Host for Console<'_> {
    fn print(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn debug(&mut self, item: &GlobalName, span: Span, text: &str) {
        let (start, module) = item_start(self.session, item);
        // A text of several lines begins on a new line.
        let gap = if text.contains('\n') { "\n" } else { " " };
        let at = render::position(&item.module, &module, span.shift(start));
        self.out.push_str(&format!("dbg {at}:{gap}{text}\n"));
    }

    fn seconds(&mut self) -> f64 {
        0.0
    }
}

/// Returns whether the type consists of `()` alone.
fn is_unit(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().all(is_unit),
        Type::Array(_, element) => is_unit(element),
        _ => false,
    }
}

/// Returns the numbers in a value, in order. Other leaves are NaN. The result is empty if the value
/// is too long for a text.
#[must_use]
pub fn numbers(value: &Value) -> Vec<f64> {
    let json = lang_core::runtime::json::to_json(value, 1 << 22);
    let mut all = Vec::new();
    let mut open: Vec<serde_json::Value> = json.and_then(|json| serde_json::from_str(&json).ok()).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Array(items) => open.extend(items.into_iter().rev()),
            serde_json::Value::Number(n) => all.push(n.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => all.push(text.parse().unwrap_or(f64::NAN)),
            _ => all.push(f64::NAN),
        }
    }
    all
}

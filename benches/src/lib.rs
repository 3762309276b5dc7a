//! **Benchmark inputs**: programs and helpers that the benchmarks share. The results and the
//! commands that produce them are in `benches/README.md`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::ad;
use lang_core::base::{GlobalName, Span};
use lang_core::interp::Interp;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::ssa::SsaFunction;
use lang_core::pipeline::MemoisedForms;
use lang_core::runtime::{Host, OffloadEvaluator, RunLimits, RuntimeInstance, Value};
use lang_core::session::{Session, SessionProgram};

/// Generates a module of about `lines` lines of ordinary definitions: convolution, Cholesky,
/// softmax, sum types with `match`, records, loops, and calls between them. The module has no
/// errors.
#[must_use]
pub fn generate_module(lines: usize) -> String {
    let block = include_str!("block.iv");
    let count = lines.div_ceil(block.lines().count() + 1);
    (0..count).map(|k| block.replace("_K", &format!("_{k}")) + "\n").collect()
}

/// Returns ADBench's mixture model from the test programs, with a plain logarithm of a sum of
/// exponentials. The stable version, which subtracts the greatest, is not in core yet.
#[must_use]
pub fn mixture_model() -> String {
    let text = include_str!("../../tests/programs/accelerate/gmm.iv");
    let end = text.find("def example").unwrap_or(text.len());
    let plain = "def log_sum_exp(x: [n]f64) -> f64 = log(sum i: exp(x[i]))";
    let lines = text.get(..end).unwrap_or(text).lines();
    let lines = lines.map(|line| if line.starts_with("def log_sum_exp") { plain } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns models with functions that create a point and compute a gradient at it. The models are a
/// softmax classifier of digits, an attention block, and the mixture model.
#[must_use]
pub fn gradient_models() -> String {
    let mixture =
        mixture_model().lines().filter(|line| !line.starts_with("def log_sum_exp")).collect::<Vec<_>>().join("\n");
    format!("{}\n{mixture}\n", include_str!("models.iv"))
}

/// A host that ignores all effects of a program.
struct BenchmarkHost;

impl Host for BenchmarkHost {
    fn print(&mut self, _: &str) {}
    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}
    fn seconds(&mut self) -> f64 {
        0.0
    }
}

/// Calls a definition of the module. If `by` is set, it computes the derivatives.
#[must_use]
pub fn call_definition(
    session: &Session,
    by: Option<&dyn OffloadEvaluator>,
    name: &str,
    sizes: &[i64],
    args: Vec<Value>,
) -> Option<Value> {
    let (values, interrupt) = (HashMap::new(), AtomicBool::new(false));
    let program = SessionProgram::new(session, &values);
    let mut host = BenchmarkHost;
    let mut interp = Interp::new(&program, &mut host, RunLimits::default(), &interrupt);
    if let Some(derivatives) = by {
        interp.offload_derivatives(derivatives);
    }
    let instance = RuntimeInstance { types: Arc::from([]), sizes: sizes.to_vec() };
    interp.call(&GlobalName::new("bench.iv", name), instance, args).ok()
}

/// Generates definitions that each call the previous one twice.
#[must_use]
pub fn generate_call_chain(length: usize) -> String {
    let mut text = "def f0(x: [n]f64) -> [n]f64 = for i: sin(x[i]) * x[i]\n".to_owned();
    for k in 1..=length {
        let last = k - 1;
        text += &format!(
            "def f{k}(x: [n]f64) -> [n]f64 = let y = f{last}(x) in let z = f{last}(y) in for i: y[i] * z[i]\n"
        );
    }
    text
}

/// Creates a session with one checked module.
#[must_use]
pub fn checked_session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text("bench.iv", text);
    let _ = session.diagnostics("bench.iv");
    session
}

/// Returns a definition of that module.
#[must_use]
pub fn benchmark_callee(name: &str) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new("bench.iv", name), Vec::new()))
}

/// Returns the adjoint by all real arguments.
#[must_use]
pub fn full_adjoint(ssa: &SsaFunction) -> DerivativeKind {
    DerivativeKind::Adjoint { outputs: ad::real_outputs(ssa).into(), wrt: ad::real_inputs(ssa).into() }
}

/// Computes the adjoint of a definition and returns the number of its statements.
#[must_use]
pub fn adjoint_statement_count(module: &MemoisedForms<'_>, name: &str) -> Option<usize> {
    let callee = benchmark_callee(name);
    let derived = callee.derivative(full_adjoint(&*module.ssa(&callee)?));
    Some(module.ssa(&Arc::new(derived))?.stmts.len())
}

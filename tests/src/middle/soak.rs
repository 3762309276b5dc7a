//! **Soak test of the middle.** Checks the laws on drawn programs. Reports the rules that were
//! reached, the outcomes, and the first program that broke each law, shrunk.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use lang_core::ad;
use lang_core::base::GlobalName;
use lang_core::ir::core::{FunctionKey, ScalarOp};
use lang_core::ir::ssa::Rhs;
use lang_core::norm::{RuleCoverage, let_lifting, pair_elimination, pushout, to_ssa};
use lang_core::resolve::scalar_fn::{ScalarDomain, ScalarFn};
use lang_core::session::Session;
use lang_core::syntax::split::ItemKind;

use super::engine_oracle::{OracleCounts, oracle_counts};
use super::form_laws::{BrokenLaw, LawChecker, LawCounts};
use super::forms::SessionForms;
use super::interpreter_oracle::{Interpreter, grid, point, probes};
use super::{cores, programs};
use crate::random::Random;
use crate::run::MAIN;
use crate::typed::shrink::shrink;

/// The result of a run.
#[derive(Default)]
pub struct MiddleReport {
    /// The number of programs drawn, as text and as core.
    pub programs: u64,
    /// The number of definitions in them.
    pub definitions: u64,
    /// The number of checks, by outcome.
    pub tally: LawCounts,
    /// The number of applications of each rule.
    pub hits: RuleCoverage,
    /// The scalar functions in differentiated definitions.
    pub functions: BTreeMap<ScalarFn, u64>,
    /// The number of programs that broke a law.
    pub broken: u64,
    /// The first failure of each law, shrunk.
    pub failures: Vec<String>,
    /// The counts of the comparisons with machine code.
    pub oracle: OracleCounts,
    /// Whether cost formulas are not compared.
    pub without_costs: bool,
    /// Whether the programs are candidates of shrinking, which may not terminate.
    pub is_shrinking: bool,
}

/// One program in this many has its cost formulas compared, because that takes longer than all
/// other laws.
const COSTED: u64 = 8;

/// Returns all rules of the passes and the derivatives.
pub fn rules() -> impl Iterator<Item = &'static str> {
    let all = [
        let_lifting::RULES,
        pair_elimination::RULES,
        pushout::RULES,
        to_ssa::RULES,
        ad::forward::RULES,
        ad::adjoint::RULES,
    ];
    all.into_iter().flatten().copied()
}

impl MiddleReport {
    /// Returns the rules that were not reached.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        rules().filter(|rule| self.hits.count_of(rule) == 0).collect()
    }

    /// Returns the real functions that did not occur.
    #[must_use]
    pub fn missing_functions(&self) -> Vec<&'static str> {
        let real = ScalarFn::ALL.iter().filter(|f| f.domain() != ScalarDomain::Int);
        real.filter(|f| !self.functions.contains_key(f)).map(|f| f.name()).collect()
    }

    /// Adds the result of another run.
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.definitions += other.definitions;
        self.tally.add(&other.tally);
        self.hits.merge(&other.hits);
        for (function, count) in other.functions {
            *self.functions.entry(function).or_default() += count;
        }
        self.oracle = self.oracle.plus(other.oracle);
        self.broken += other.broken;
        self.failures.extend(other.failures);
    }

    /// Returns the number of applications of each rule as text.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows: Vec<(u64, &str)> = rules().map(|rule| (self.hits.count_of(rule), rule)).collect();
        rows.sort_unstable();
        let functions = self.functions.iter().map(|(f, n)| format!("{n:>9} {}\n", f.name()));
        rows.into_iter().map(|(n, rule)| format!("{n:>9} ({rule})\n")).chain(functions).collect()
    }
}

/// Draws `count` programs of each kind from `seed`, beginning with number `first`, and checks the
/// laws on each. The processors share the programs.
///
/// # Errors
/// If a thread panics.
pub fn soak(seed: u64, first: u64, count: u64) -> Result<MiddleReport, String> {
    let of = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    let numbers = move |share: usize| (first..first.saturating_add(count)).skip(share).step_by(of);
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..of).map(|k| scope.spawn(move || soak_share(seed, numbers(k)))).collect();
        let mut report = MiddleReport::default();
        for share in shares {
            report.add(share.join().map_err(|_| "a share of the programs panics".to_owned())?);
        }
        Ok(report)
    })
}

/// Draws the programs with these numbers and checks the laws on each.
fn soak_share(seed: u64, numbers: impl Iterator<Item = u64>) -> MiddleReport {
    let mut report = MiddleReport::default();
    let mut laws: BTreeMap<String, u64> = BTreeMap::new();
    let mut session = Session::new();
    for nth in numbers {
        let number = Random::new(Random::new(seed).number().wrapping_add(nth)).number();
        let text = programs::program(number);
        report.programs += 1;
        report.without_costs = nth % COSTED != 0;
        if let Err(broken) = judge_text(&mut session, &text, &mut report) {
            report.broken += 1;
            let seen = laws.entry(broken.law.clone()).or_default();
            *seen += 1;
            if *seen == 1 {
                let mut unused =
                    MiddleReport { without_costs: report.without_costs, is_shrinking: true, ..MiddleReport::default() };
                let how = broken.how.lines().next().unwrap_or_default();
                eprintln!("program {nth} of seed {seed} breaks `{}`: {how}\nIt is made smaller …", broken.law);
                let small = shrink(&text, &mut |candidate| {
                    judge_text(&mut session, candidate, &mut unused).is_err_and(|b| b.law == broken.law)
                });
                let how = judge_text(&mut session, &small, &mut unused).err().map_or(broken.how, |b| b.how);
                let law = broken.law;
                report.failures.push(format!(
                    "program {nth} of seed {seed} breaks `{law}`:\n{how}\nthe program\n{text}\nmade smaller\n{small}"
                ));
            }
        }
        if let Err((law, details)) = cores::judge(number, &mut report) {
            report.broken += 1;
            let seen = laws.entry(format!("core: {law}")).or_default();
            *seen += 1;
            if *seen == 1 {
                report.failures.push(format!("core {nth} of seed {seed} breaks `{law}`:\n{details}"));
            }
        }
    }
    if !laws.is_empty() {
        report.failures.push(format!("{laws:#?}"));
    }
    report.oracle = oracle_counts();
    report
}

/// A limit on the interpreter's time for a drawn program, which guards against a hang: each one
/// terminates soon.
const PATIENCE: Duration = Duration::from_secs(300);

/// A limit on the interpreter's time for a shrunk program, which may not terminate.
const SHORT_PATIENCE: Duration = Duration::from_secs(10);

/// Sets `stop` after some time. If it is dropped earlier, it does nothing.
struct StopTimer {
    _ended: mpsc::Sender<()>,
}

impl StopTimer {
    fn over(stop: &Arc<AtomicBool>, patience: Duration) -> Self {
        let (ended, receiver) = mpsc::channel::<()>();
        let stop = stop.clone();
        std::thread::spawn(move || {
            if receiver.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        Self { _ended: ended }
    }
}

/// Checks the laws on every definition of a program.
///
/// # Errors
/// The first broken law.
pub fn judge_text(session: &mut Session, text: &str, report: &mut MiddleReport) -> Result<(), BrokenLaw> {
    let broken = |law: &str, how: String| BrokenLaw { law: law.to_owned(), how };
    session.set_text(MAIN, text);
    if let Some(problem) = session.diagnostics(MAIN).iter().find(|d| d.is_error()) {
        return Err(broken(&format!("the checker takes it: {}", problem.code.name()), format!("{problem:?}")));
    }
    let mut probed_text = text.to_owned();
    let none = std::collections::HashMap::new();
    let mut defs = Vec::new();
    {
        let forms = SessionForms::new(session, &none);
        for item in session.items(MAIN).into_iter().filter(|i| i.kind == ItemKind::Def) {
            let def = GlobalName::new(MAIN, &item.name);
            let Some(signature) = session.signature(&def) else { continue };
            let callee = Arc::new(FunctionKey::new(def.clone(), Vec::new()));
            match forms.module.stages(&callee) {
                Ok(stages) => probed_text += &probes(&item.name, &signature, &stages.core),
                Err(outside) => {
                    return Err(broken("it has core", format!("{}: {outside:?}\n{text}", outside.reason.phrase())));
                }
            }
            defs.push((def, callee));
        }
    }
    session.set_text(MAIN, &probed_text);
    let globals = crate::run::globals(session, [MAIN]);
    let forms = SessionForms::new(session, &globals);
    let stop = Arc::new(AtomicBool::new(false));
    let _watch = StopTimer::over(&stop, if report.is_shrinking { SHORT_PATIENCE } else { PATIENCE });
    let interpreter = Interpreter { session, globals: &globals, stop: &stop };
    let mut random = Random::new(17);
    let mut judge = LawChecker::new(&forms).map_err(|e| broken("the tolerances can be read", e))?;
    judge.costs = !report.without_costs;
    let mut result = Ok(());
    'defs: for (def, callee) in &defs {
        let Ok(stages) = forms.module.stages(callee) else { continue };
        report.definitions += 1;
        for stmt in &stages.ssa.stmts {
            if let Rhs::Map { operation: ScalarOp::Scalar(f), .. } = &stmt.rhs {
                *report.functions.entry(*f).or_default() += 1;
            }
        }
        result = judge.shapes(&stages);
        if result.is_err() {
            break;
        }
        for (nth, sizes) in grid(&mut random, &stages.core, 2).iter().enumerate() {
            judge.twice = nth == 3;
            let Some(point) = point(&mut random, &stages.core, sizes) else { continue };
            let Some(ran) = interpreter.ran(def, &stages, &point, judge.twice) else { continue };
            result = judge.point(&stages, &point, Some(&ran), &mut random);
            if result.is_err() {
                break 'defs;
            }
        }
    }
    report.tally.add(&judge.tally);
    report.hits.merge(&forms.module.rule_coverage());
    result
}

//! **Cost formulas** against the evaluator's counts: work, tests, iterations, longest chains and
//! kept bytes. The definitions of `linalg` and the others listed here run at all small sizes and
//! some larger ones. Every definition in the library and of the programs runs at fewer sizes. Each
//! includes its forward derivative and its adjoint by all real inputs.
//!
//! Sizes are those that a call infers and the integer parameters on which indices depend. The test
//! uses all combinations of 0 to 7. The few definitions with more than three sizes have too many
//! combinations. With an `IVERSON_COUNT` of a million, as in `cargo xtask soak`, all are used.
//! Otherwise the test uses all of 0 to 3 (of 0 to 2 with more than six sizes) and some others.
//! `IVERSON_COUNT` also raises the number of larger sizes.
#![expect(clippy::expect_used, reason = "what helpers of a test cannot make fails the test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use iverson_tests::golden;
use iverson_tests::middle::call_inputs::CallInputs;
use iverson_tests::middle::cost_formulas::{CostedRun, EvaluatedFormulas, has_symbols};
use iverson_tests::middle::form_laws::{BrokenLaw, FUEL};
use iverson_tests::middle::forms::SessionForms;
use iverson_tests::middle::interpreter_oracle::types;
use iverson_tests::middle::values::sizes_among;
use iverson_tests::random::{Random, case_count, seed};
use iverson_tests::run::globals;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::eval::eval_core::EvalError;
use lang_core::ir::core::{CoreFunction, DerivativeKind, FunctionKey};
use lang_core::ir::ssa::SsaFunction;
use lang_core::predicate::Atom;
use lang_core::session::{ItemRef, LIBRARY, Session};
use lang_core::syntax::split::ItemKind;

/// A definition that takes functions has forms only where it is called.
const CALLS: &str = "
import linalg
def map_matrix(x: [n, m]f64) -> [n, m]f64 = linalg.map_matrix(\\v: v * v, x)
def zip_matrix(x: [n, m]f64, y: [n, m]f64) -> [n, m]f64 = linalg.zip_matrix(\\v, w: v * w, x, y)
def map_rows(x: [n, m]f64) -> [n]f64 = linalg.map_rows(\\v: linalg.sqnorm(v), x)
def map_columns(x: [n, m]f64) -> [m]f64 = linalg.map_columns(\\v: total(v), x)
def cg(a: [n, n]f64, b: [n]f64, steps: i64) -> [n]f64 = linalg.cg(\\v: linalg.matvec(a, v), b, 0.001, steps).x
def gmres(a: [n, n]f64, b: [n]f64, steps: i64) -> [n]f64 = linalg.gmres(\\v: linalg.matvec(a, v), b, 0.001, steps).x
def funm(a: [n, n]f64) -> [n, n]f64 = linalg.funm(\\x: x * x, a)
";

/// Modules with the names of the listed definitions; all definitions if no name is listed.
const DEFINITIONS: &[(&str, &[&str])] = &[
    ("linalg", &[]),
    ("calls.iv", &[]),
    (
        "nn",
        &[
            "softmax",
            "dense",
            "conv1",
            "conv1_strided",
            "conv2",
            "conv2_strided",
            "attention",
            "causal_attention",
            "layer_norm",
            "max_pool1",
            "mean_pool1",
            "lstm",
            "gru",
        ],
    ),
    (
        "signal",
        &[
            "convolve_valid",
            "convolve",
            "convolve_same",
            "convolve2_valid",
            "convolve2",
            "cumulative_sum",
            "cumulative_product",
            "moving_average",
            "differences",
        ],
    ),
    ("atl/conv.iv", &["conv"]),
    ("atl/deconvolution.iv", &["conv", "loss"]),
    ("atl/batched_fit.iv", &["loss"]),
    ("accelerate/ba.iv", &["dot", "cross", "rodrigues", "distort", "project", "reprojection_error", "objective"]),
    ("accelerate/gmm.iv", &["objective", "component", "root", "log_sum_exp", "log_wishart_prior", "log_multi_gamma"]),
    ("own/attention.iv", &["softmax_rows", "attention", "project", "multi_head"]),
    ("own/conv2d.iv", &["valid", "same", "window_sums", "max_pool"]),
    ("own/kmeans.iv", &["distance2", "assign", "move", "step", "cost"]),
    ("own/scans.iv", &["exclusive", "inclusive", "from_the_right", "segmented", "running", "powers"]),
    ("loops/associative.iv", &["log_sum", "chain", "horner", "filtered", "products_before"]),
    ("loops/reductions.iv", &["running"]),
    ("traps/triangular.iv", &["triangular"]),
];

/// The largest of the larger sizes.
const LARGEST: usize = 40;

/// The greatest number of index tuples that a run at larger sizes visits.
const LARGE: u64 = 60_000;

/// The greatest number of index tuples that a run of an unlisted definition visits.
const FEW: u64 = 30_000;

/// The number of comparisons, by kind.
#[derive(Default, Debug)]
struct FormulaCounts {
    definitions: usize,
    /// Definitions and derivatives.
    functions: usize,
    /// The functions whose counts depend on sizes alone.
    by_sizes: usize,
    /// Adjoints of results with data-dependent extents, for which no cotangents can be drawn.
    untold: usize,
    /// Sizes of definitions at which a definition or derivative had a value.
    sizes: usize,
    /// Sizes at which neither had a value.
    without: usize,
    /// Runs that ran out of fuel.
    long: usize,
    /// Completed runs.
    runs: usize,
    /// Runs with formulas of sizes alone.
    exact: usize,
    /// Runs at larger sizes.
    larger: usize,
    /// Runs whose longest chain equals the formula's.
    span: usize,
    /// Runs that kept bytes.
    kept: usize,
    /// Runs that kept exactly the bytes of the formula.
    kept_exactly: usize,
}

/// The count from which definitions with more than three sizes run at all small sizes.
const ALL: u64 = 1_000_000;

/// The number of random small sizes for such definitions otherwise, in addition to the smallest.
const SOME: usize = 100;

type AllSizes = Box<dyn Iterator<Item = Vec<i64>>>;

/// Returns all combinations of `count` sizes below `below`.
fn combinations(count: usize, below: i64) -> AllSizes {
    let mut next = Some(vec![0; count]);
    Box::new(std::iter::from_fn(move || {
        let sizes = next.clone()?;
        // Increments the last size first.
        let after = next.as_mut().and_then(|sizes| sizes.iter().rposition(|n| *n + 1 < below).map(|at| (at, sizes)));
        match after {
            None => next = None,
            Some((at, sizes)) => {
                sizes.iter_mut().skip(at).take(1).for_each(|n| *n += 1);
                sizes.iter_mut().skip(at + 1).for_each(|n| *n = 0);
            }
        }
        Some(sizes)
    }))
}

/// Returns the small sizes for a listed definition.
fn small(count: usize, everything: bool) -> AllSizes {
    if count <= 3 || everything {
        return combinations(count, 8);
    }
    let below = if count > 6 { 3 } else { 4 };
    let alone = [1, 2].into_iter().flat_map(move |others| {
        (0..count)
            .flat_map(move |k| (below..8).map(move |n| (0..count).map(|j| if j == k { n } else { others }).collect()))
    });
    let mut random = Random::new(seed());
    let mut draw = move || (0..count).map(|_| i64::try_from(random.number_below(8)).unwrap_or(0)).collect();
    let drawn = (0..SOME).map(move |_| draw());
    Box::new(combinations(count, below).chain(alone).chain(drawn))
}

/// Returns the small sizes for any definition.
fn few(count: usize) -> AllSizes {
    let below = match count {
        0 | 1 => 8,
        2 => 4,
        3 => 3,
        _ => 2,
    };
    combinations(count, below)
}

/// Draws larger sizes whose product is at most the limit of visited tuples.
fn larger(random: &mut Random, count: usize) -> Vec<i64> {
    let mut sizes: Vec<i64> =
        (0..count).map(|_| i64::try_from(random.number_below(LARGEST + 1)).unwrap_or(0)).collect();
    while sizes.iter().map(|n| n.unsigned_abs().max(1)).product::<u64>() > LARGE {
        sizes.iter_mut().max().into_iter().for_each(|n| *n /= 2);
    }
    sizes
}

/// Returns a definition and its derivatives by all real inputs.
fn derived(callee: &Arc<FunctionKey>, ssa: &SsaFunction) -> Vec<Arc<FunctionKey>> {
    let (wrt, of): (Arc<[u32]>, Arc<[u32]>) = (real_inputs(ssa).into(), real_outputs(ssa).into());
    let mut all = vec![callee.clone()];
    if !wrt.is_empty() && !of.is_empty() {
        all.push(Arc::new(callee.derivative(DerivativeKind::Forward(wrt.clone()))));
        all.push(Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of, wrt })));
    }
    all
}

/// Returns whether an extent of an input depends on data.
fn is_untold(ssa: &SsaFunction) -> bool {
    let mut found = false;
    let dims = ssa.inputs.iter().flat_map(|i| &i.leaf.dims);
    dims.for_each(|n| n.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..))));
    found
}

struct Comparison<'m> {
    forms: &'m SessionForms<'m>,
    formulas: EvaluatedFormulas<'m>,
    random: Random,
    /// The number of larger sizes for a definition.
    many: u64,
    /// A filter of definitions by their number of sizes.
    wanted: fn(usize) -> bool,
    tally: FormulaCounts,
    /// Definitions without forms, because they take functions or for other reasons.
    formless: Vec<String>,
    /// Definitions without a value at any of the sizes.
    valueless: Vec<String>,
    /// Definitions with runs that ran out of fuel at small sizes.
    long: Vec<String>,
    broken: Vec<BrokenLaw>,
}

impl<'m> Comparison<'m> {
    fn new(forms: &'m SessionForms<'m>, many: u64) -> Self {
        Self {
            forms,
            formulas: EvaluatedFormulas::new(forms),
            random: Random::new(seed()),
            many,
            wanted: |_| true,
            tally: FormulaCounts::default(),
            formless: Vec::new(),
            valueless: Vec::new(),
            long: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Compares a function at sizes. Returns whether it has a value, or `None` if no arguments of
    /// these sizes exist.
    fn at(&mut self, core: &CoreFunction, ssa: &Arc<SsaFunction>, sizes: &[i64], fuel: u64) -> Option<bool> {
        let seed = |k: usize| 0.75 + f64::from(u32::try_from(k % 5).unwrap_or(0));
        let mut found = false;
        for inputs in [CallInputs::drawn(core, ssa, sizes, &seed)?, CallInputs::tame(core, ssa, sizes, &seed)?] {
            let run = match self.formulas.run(ssa, &inputs.sizes, &inputs.tensors, fuel).expect("it has a cost") {
                Ok(run) => run,
                Err(EvalError::OutOfFuel) => {
                    self.tally.long += 1;
                    continue;
                }
                // A top-level `let` of a sum type has no value in core until its type is known.
                Err(EvalError::CheckFailed(_) | EvalError::IllFormed("an input")) => continue,
                Err(stopped) => {
                    let how = format!("{stopped:?} at {sizes:?}\n{ssa}");
                    self.broken.push(BrokenLaw { law: "it is evaluated".to_owned(), how });
                    continue;
                }
            };
            found = true;
            self.run(ssa, &run, sizes);
            // The formulas have no symbols, so other data would repeat the comparison.
            if run.cost.symbols.is_empty() {
                break;
            }
        }
        Some(found)
    }

    fn run(&mut self, ssa: &SsaFunction, run: &CostedRun<'_>, sizes: &[i64]) {
        self.broken.extend(run.agrees(ssa).err());
        let (span, kept) = (run.greatest(&run.cost.span), run.greatest(&run.cost.stored_bytes));
        let exactly = kept == Some(run.kept.into());
        if !exactly && !run.cost.stored_bytes.formulas().iter().any(has_symbols) {
            let how = format!("{kept:?} of {:?}, not {} at {sizes:?}\n{ssa}", run.cost.stored_bytes, run.kept);
            self.broken.push(BrokenLaw { law: "what is kept is what sizes tell".to_owned(), how });
        }
        let tally = &mut self.tally;
        tally.runs += 1;
        tally.exact += usize::from(run.cost.symbols.is_empty());
        tally.span += usize::from(span == Some(run.span.into()));
        tally.kept += usize::from(run.kept > 0);
        tally.kept_exactly += usize::from(run.kept > 0 && exactly);
    }

    /// Compares a definition and its derivatives at these sizes and at larger ones. `sizes` maps
    /// the number of sizes to their values.
    fn definition(&mut self, callee: &Arc<FunctionKey>, sizes: &dyn Fn(usize) -> AllSizes, fuel: u64) {
        let Ok(stages) = self.forms.module.stages(callee) else {
            self.formless.push(callee.def.name.to_string());
            return;
        };
        let core = &stages.core;
        let variables = core.sizes.len() + sizes_among(core).len();
        if !(self.wanted)(variables) {
            return;
        }
        self.tally.definitions += 1;
        let mut functions = Vec::new();
        for callee in derived(callee, &stages.ssa) {
            let (ssa, cost) = self.formulas.of(&callee).expect("it has forms");
            if is_untold(&ssa) {
                self.tally.untold += 1;
                continue;
            }
            self.tally.functions += 1;
            self.tally.by_sizes += usize::from(cost.symbols.is_empty());
            functions.push(ssa);
        }
        let FormulaCounts { runs, long, sizes: seen, without, .. } = self.tally;
        for sizes in sizes(variables) {
            let each: Vec<Option<bool>> = functions.iter().map(|ssa| self.at(core, ssa, &sizes, fuel)).collect();
            if each.contains(&Some(true)) {
                self.tally.sizes += 1;
            } else if each.contains(&Some(false)) {
                self.tally.without += 1;
            }
        }
        if self.tally.long > long {
            self.long.push(format!("{}: {}", callee.def.name, self.tally.long - long));
        }
        if self.tally.runs == runs {
            self.valueless.push(callee.def.name.to_string());
        }
        let (seen, without) = (self.tally.sizes - seen, self.tally.without - without);
        println!("{}: values at {seen} tuples of {variables} sizes, none at {without}", callee.def);
        let before = self.tally.runs;
        for _ in 0..if variables == 0 { 0 } else { self.many } {
            let sizes = larger(&mut self.random, variables);
            for ssa in &functions {
                self.at(core, ssa, &sizes, LARGE);
            }
        }
        self.tally.larger += self.tally.runs - before;
    }

    /// Fails if a comparison differs.
    fn agrees(&self) {
        let mut laws: BTreeMap<String, usize> = BTreeMap::new();
        self.broken.iter().for_each(|b| *laws.entry(b.law.clone()).or_default() += 1);
        let few: Vec<String> = self.broken.iter().take(3).map(|b| format!("{}: {}", b.law, b.how)).collect();
        assert!(self.broken.is_empty(), "{laws:?}:\n{}", few.join("\n\n"));
    }

    /// Fails if a comparison differs. Returns the tally, the definitions without forms, and those
    /// without values or with exhausted fuel at small sizes.
    fn all(self) -> (FormulaCounts, Vec<String>, Vec<String>) {
        self.agrees();
        println!("{:#?}", self.tally);
        (self.tally, self.formless, [self.valueless, self.long].concat())
    }
}

/// Returns the definitions of a module.
fn definitions(session: &Session, module: &str) -> Vec<Arc<FunctionKey>> {
    let items = session.items(module).into_iter().filter(|i| i.kind == ItemKind::Def);
    let callee = |item: ItemRef| {
        let def = GlobalName::new(module, &item.name);
        let signature = session.signature(&def)?;
        Some(Arc::new(FunctionKey::new(def, types(&signature))))
    };
    items.filter_map(callee).collect()
}

/// The number of sizes above which definitions run in a test of their own.
const FEW_SIZES: usize = 4;

/// Compares the listed definitions whose number of sizes satisfies `wanted`.
fn listed(wanted: fn(usize) -> bool) -> (FormulaCounts, Vec<String>, Vec<String>) {
    let programs = golden::programs().expect("the programs can be read");
    let mut session = golden::session(&programs);
    session.set_text("calls.iv", CALLS);
    let problems = session.diagnostics("calls.iv");
    assert!(problems.iter().all(|d| !d.is_error()), "{problems:?}");
    let globals = globals(&session, DEFINITIONS.iter().map(|(module, _)| *module));
    let forms = SessionForms::new(&session, &globals);
    let mut all = Comparison::new(&forms, (case_count(0) / 20_000).clamp(4, 50));
    all.wanted = wanted;
    let everything = case_count(0) >= ALL;
    for (module, names) in DEFINITIONS {
        let defs = definitions(&session, module);
        let is = |callee: &FunctionKey, name: &str| *callee.def.name == *name;
        assert!(names.iter().all(|name| defs.iter().any(|def| is(def, name))), "{module} lacks one of {names:?}");
        for def in defs.iter().filter(|def| names.is_empty() || names.iter().any(|name| is(def, name))) {
            all.definition(def, &|count| small(count, everything), FUEL);
            all.agrees();
        }
    }
    all.all()
}

#[test]
fn listed_definitions_at_all_small_sizes() {
    let (tally, formless, without) = listed(|sizes| sizes <= FEW_SIZES);
    assert!(without.is_empty(), "no values: {without:?}");
    assert_eq!(
        formless,
        ["map_matrix", "zip_matrix", "map_rows", "map_columns", "funm", "cg", "gmres"],
        "they have forms in `calls.iv`"
    );
    // The counts may grow. A lower one means that fewer cases are compared, or that the cost of a
    // definition now depends on data.
    let FormulaCounts { definitions, functions, by_sizes, sizes, runs, exact, larger, .. } = tally;
    assert!(definitions >= 160 && functions >= 460 && by_sizes >= 250, "{tally:?}");
    assert!(sizes >= 12_700 && runs >= 52_000 && exact >= 24_000 && larger >= 1_450, "{tally:?}");
}

#[test]
fn listed_definitions_with_many_sizes() {
    let (tally, _, without) = listed(|sizes| sizes > FEW_SIZES);
    assert!(without.is_empty(), "no values: {without:?}");
    let FormulaCounts { definitions, functions, by_sizes, sizes, runs, .. } = tally;
    assert!(definitions >= 4 && functions >= 12 && by_sizes >= 10 && sizes >= 10_600 && runs >= 35_000, "{tally:?}");
}

#[test]
fn every_definition_at_some_sizes() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let modules = LIBRARY.iter().map(|(name, _)| (*name).to_owned());
    let modules: Vec<String> = modules.chain(programs.keys().map(|n| golden::module(n))).collect();
    let globals = globals(&session, modules.iter().map(String::as_str));
    let forms = SessionForms::new(&session, &globals);
    let mut all = Comparison::new(&forms, 0);
    for def in modules.iter().flat_map(|module| definitions(&session, module)) {
        all.definition(&def, &few, FEW);
    }
    let (tally, ..) = all.all();
    let FormulaCounts { definitions, functions, by_sizes, runs, exact, kept, kept_exactly, .. } = tally;
    assert!(definitions >= 1100 && functions >= 2690 && by_sizes >= 1800, "{tally:?}");
    assert!(runs >= 29_000 && exact >= 16_000 && kept >= 1500 && kept_exactly >= 1500, "{tally:?}");
}

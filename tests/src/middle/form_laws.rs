//! **Forms oracle.** Checks the laws of a definition at a point. Every form has the value of the
//! reference, does no more work than the form before it, and fails only if the reference does. The
//! laws of derivatives are in [`super::derive`].

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use lang_core::base::Code;
use lang_core::eval::eval_core::{CoreEvaluator, EvalError};
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator};
use lang_core::ir::core::{CheckFailure, CoreTripCount, ExprKind, ExprRef, FunctionKey, TypeLeaf};
use lang_core::ir::ssa::{Rhs, SsaFunction, Statement};
use lang_core::ir::value::IrValue;
use lang_core::norm::{let_lifting, pair_elimination, pushout};
use lang_core::pipeline::Stages;
use lang_core::runtime::{Failure, OperationCounts, Value as Computed};

use super::error_bounds::Number;
use super::forms::{EvaluatorFunctions, Form, FormProvider, SingleFormFunctions};
use super::reference::{DualValue, Reference, ReferenceStop, asks_any, of_value, real};
use super::values::{compare, parts, plain, scalars, size_of, varying};
use crate::golden::Tolerances;
use crate::random::Random;

/// The number of steps that an evaluation may take.
pub const FUEL: u64 = 20_000_000;

/// The number of checks, by outcome.
#[derive(Clone, Copy, Default, Debug)]
pub struct LawCounts {
    /// Points at which all forms had the reference's value.
    pub values: u64,
    /// Points at which the reference failed with the interpreter's code.
    pub failures: u64,
    /// Failures of a form with the reference's code.
    pub form_failures: u64,
    /// Failures of the reference with another code than the interpreter's, and of a form with
    /// another code than the reference's. They break no law.
    pub other_failures: u64,
    /// Failures that the reference or a form omitted, because no result depends on them.
    pub omitted: u64,
    /// Points at which the interpreter reached a limit.
    pub skipped: u64,
    /// Evaluations that ran out of fuel.
    pub unfinished: u64,
    /// Points at which a condition depends on rounding.
    pub undecided: u64,
    /// Numbers compared bit for bit.
    pub exact: u64,
    /// Numbers compared within their error bound.
    pub near: u64,
    /// Numbers whose bound is useless: at least a thousandth of the number.
    pub loose: u64,
    /// Numbers that are not compared, because the number or its bound is not finite.
    pub unbounded: u64,
    /// Points at which a data-dependent zero is multiplied with an infinity.
    pub masked: u64,
    /// Points at which tangents were compared.
    pub tangents: u64,
    /// Points at which inner products were compared.
    pub products: u64,
    /// The inner products that were equal bit for bit, as required.
    pub exact_products: u64,
    /// Points at which second derivatives were compared.
    pub seconds: u64,
    /// The second derivatives that were also compared with the interpreter's `hvp`.
    pub hessians: u64,
    /// Points at which the predicted cost equals the counts.
    pub costs: u64,
    /// Points at which the predicted cost is an upper bound, because the cost depends on data.
    pub bounds: u64,
    /// Runs whose counts equal formulas of sizes alone.
    pub formulas: u64,
    /// Runs whose counts equal formulas with symbols, evaluated with the counts of statements.
    pub symbols: u64,
    /// Counts that several runs made for equal contents; all agreed.
    pub shared: u64,
    /// The greatest ratio of the forward derivative's work to the function's.
    pub forward: f64,
    /// The greatest ratio of the adjoint's work to the function's, with inputs and outputs added to
    /// both.
    pub adjoint: f64,
}

impl LawCounts {
    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.failures += other.failures;
        self.form_failures += other.form_failures;
        self.other_failures += other.other_failures;
        self.omitted += other.omitted;
        self.skipped += other.skipped;
        self.unfinished += other.unfinished;
        self.undecided += other.undecided;
        self.exact += other.exact;
        self.near += other.near;
        self.loose += other.loose;
        self.unbounded += other.unbounded;
        self.masked += other.masked;
        self.tangents += other.tangents;
        self.products += other.products;
        self.exact_products += other.exact_products;
        self.seconds += other.seconds;
        self.hessians += other.hessians;
        self.costs += other.costs;
        self.bounds += other.bounds;
        self.formulas += other.formulas;
        self.symbols += other.symbols;
        self.shared += other.shared;
        self.forward = self.forward.max(other.forward);
        self.adjoint = self.adjoint.max(other.adjoint);
    }
}

/// The interpreter's results at a point.
pub struct InterpreterResults {
    /// The value, or the failure.
    pub value: Result<Computed, Box<Failure>>,
    /// The operation counts.
    pub counts: OperationCounts,
    /// The tangent, if it was computed.
    pub tangent: Option<Computed>,
    /// The second derivative of the one real result times the direction, if it was computed.
    pub second: Option<Computed>,
}

/// The point at which a definition is checked.
#[derive(Clone, Debug)]
pub struct LawPoint {
    /// The sizes that a call passes.
    pub sizes: Vec<i64>,
    /// The arguments.
    pub args: Vec<IrValue>,
    /// A direction: a value for each varying argument.
    pub along: Vec<IrValue>,
}

/// A broken law.
#[derive(Clone, Debug)]
pub struct BrokenLaw {
    /// The name of the law, by which a smaller program is searched.
    pub law: String,
    /// The details.
    pub how: String,
}

/// The checker of definitions.
pub struct LawChecker<'m> {
    pub(super) middle: &'m dyn FormProvider,
    /// A factor of the reference's error bound, because the reference rounds in one of many orders.
    pub(super) orders: f64,
    /// The tolerance between two computations of a second derivative, relative to the greatest
    /// number.
    pub(super) second: f64,
    /// The tolerance between a derivative by a user-written rule and that of the definition,
    /// relative to its terms.
    rule: f64,
    /// The number of roundings of an adjoint whose tangent has none.
    pub(super) roundings: f64,
    /// The ratio of bound to number from which on a number is tallied as loose.
    pub(super) loose: f64,
    /// A run of the engine that differs from the evaluator's.
    pub(super) engine: RefCell<Option<BrokenLaw>>,
    /// The cost formulas.
    pub(super) formulas: super::cost_formulas::EvaluatedFormulas<'m>,
    /// The record of cost checks at this point.
    pub(super) seen: RefCell<super::cost_formulas::CostCheckRecord>,
    /// Whether cost formulas are compared.
    pub costs: bool,
    /// The number of checks, by outcome.
    pub tally: LawCounts,
    /// Whether second derivatives are computed.
    pub twice: bool,
}

/// The parts of a value, and the work.
type PartsAndWork = (Vec<Vec<IrValue>>, u64);

/// The outcome of a law: `Ok`, or the broken law.
pub type LawResult = Result<(), BrokenLaw>;

pub(super) fn broken(law: impl Into<String>, how: impl Into<String>) -> BrokenLaw {
    BrokenLaw { law: law.into(), how: how.into() }
}

/// Returns whether the failure comes from a limit of the interpreter, or depends on the time of
/// evaluation.
fn is_limit(code: Code) -> bool {
    matches!(code, Code::E0506 | Code::E0507 | Code::E0508 | Code::E0510 | Code::E0512)
}

impl<'m> LawChecker<'m> {
    /// Returns a checker of these definitions.
    ///
    /// # Errors
    /// If the tolerances cannot be read.
    pub fn new(middle: &'m dyn FormProvider) -> Result<Self, String> {
        let allowed = Tolerances::of("forms")?;
        let [orders, second, rule, roundings, loose] =
            ["orders", "second", "rule", "products", "loose"].map(|name| allowed.get(name).relative);
        Ok(Self {
            middle,
            orders,
            second,
            rule,
            roundings,
            loose,
            engine: RefCell::default(),
            formulas: super::cost_formulas::EvaluatedFormulas::new(middle),
            seen: RefCell::default(),
            costs: true,
            tally: LawCounts::default(),
            twice: false,
        })
    }

    /// Checks that every form of the definition has the shape that its pass must produce.
    ///
    /// # Errors
    /// The form that has another shape.
    pub fn shapes(&self, stages: &Stages) -> LawResult {
        let reached = [
            ("lifted", let_lifting::is_lifted(&stages.lifted.body), stages.lifted.to_string()),
            ("pairs", pair_elimination::is_flat(&stages.flat), stages.flat.to_string()),
            ("pushed", pushout::is_pushed(&stages.pushed), stages.pushed.to_string()),
            ("ssa", has_distinct_statements(&stages.ssa), stages.ssa.to_string()),
        ];
        match reached.into_iter().find(|(_, reached, _)| !reached) {
            Some((form, _, text)) => Err(broken(format!("{form} reaches its form"), text)),
            None => Ok(()),
        }
    }

    /// Checks all laws at a point. `ran` holds the interpreter's results, or is `None` for a
    /// program that exists only in core.
    ///
    /// # Errors
    /// The first law that does not hold.
    pub fn point(
        &mut self,
        stages: &Stages,
        point: &LawPoint,
        ran: Option<&InterpreterResults>,
        random: &mut Random,
    ) -> LawResult {
        let with_location = |b: BrokenLaw| BrokenLaw {
            how: format!(
                "{} at {:?} {:?} along {:?}: {}",
                stages.core.callee, point.sizes, point.args, point.along, b.how
            ),
            ..b
        };
        let law = self.at(stages, point, ran, random);
        let seen = self.seen.take();
        self.tally.formulas += seen.formulas;
        self.tally.symbols += seen.symbols;
        self.tally.shared += seen.shared;
        self.engine.take().map_or(law, Err).map_err(with_location)
    }

    fn at(
        &mut self,
        stages: &Stages,
        point: &LawPoint,
        ran: Option<&InterpreterResults>,
        random: &mut Random,
    ) -> LawResult {
        if let Some(InterpreterResults { value: Err(failure), .. }) = ran
            && is_limit(failure.code)
        {
            self.tally.skipped += 1;
            return Ok(());
        }
        let core = &stages.core;
        let vary = varying(core);
        let args = point.args.iter().enumerate().map(|(k, v)| {
            let along = vary.iter().position(|j| *j == k).and_then(|j| point.along.get(j));
            of_value(v, along)
        });
        let world = EvaluatorFunctions(self.middle);
        let reference = Reference::new(&world, FUEL).call(core, &point.sizes, args.collect());
        let wanted = match reference {
            Ok(value) => Ok(value),
            Err(ReferenceStop::Failed(what)) => Err(what),
            Err(ReferenceStop::Fuel) => {
                self.tally.unfinished += 1;
                return Ok(());
            }
            Err(ReferenceStop::Undecided) => {
                self.tally.undecided += 1;
                return Ok(());
            }
            // A definition that contains a derivative has no tangent by first-order dual numbers.
            Err(ReferenceStop::Higher) => return self.value_alone(stages, point, ran),
            // A top-level `let` of a sum type has no value in core until its type is known.
            Err(ReferenceStop::Broken("a global")) => {
                self.tally.undecided += 1;
                return Ok(());
            }
            Err(ReferenceStop::Broken(what)) => return Err(broken("core is whole", format!("{what}\n{core}"))),
        };
        let before = ran.map(|ran| self.interpreted(stages, ran, &wanted)).transpose()?.flatten();
        let wanted = match wanted {
            Ok(value) => value,
            Err(what) => return self.failing(stages, point, what.code),
        };
        let work = self.values(stages, point, &wanted, before)?;
        self.tally.values += 1;
        if !vary.is_empty() && point.along.len() == vary.len() && finite(&wanted) {
            // A user-written rule is another formula for the derivative.
            let wanted = if stages.ssa.is_opaque { by_rule(wanted, self.rule) } else { wanted };
            self.derivatives(stages, point, &wanted, work, ran, random)?;
        }
        Ok(())
    }

    /// Checks the value without derivatives. The wanted value is the reference's if no argument
    /// varies, else the interpreter's. The tolerance of the latter is that of two computations of a
    /// second derivative.
    fn value_alone(&mut self, stages: &Stages, point: &LawPoint, ran: Option<&InterpreterResults>) -> LawResult {
        let world = EvaluatorFunctions(self.middle);
        let args = point.args.iter().map(|v| of_value(v, None)).collect();
        let constant = Reference::new(&world, FUEL).call(&stages.core, &point.sizes, args);
        let found = ran.and_then(|ran| ran.value.as_ref().ok()).and_then(plain);
        let wanted = match (constant, found) {
            (Ok(value), _) => value,
            (Err(ReferenceStop::Higher), Some(value)) => roughly(of_value(&value, None), self.second),
            _ => {
                self.tally.undecided += 1;
                return Ok(());
            }
        };
        self.values(stages, point, &wanted, None)?;
        self.tally.values += 1;
        Ok(())
    }

    /// Compares the reference with the interpreter. Returns the interpreter's work if core may not
    /// exceed it.
    fn interpreted(
        &mut self,
        stages: &Stages,
        ran: &InterpreterResults,
        wanted: &Result<DualValue, Arc<CheckFailure>>,
    ) -> Result<Option<u64>, BrokenLaw> {
        let core = &stages.core;
        match (&ran.value, wanted) {
            (Err(_), Ok(_)) => {
                self.tally.omitted += 1;
                Ok(None)
            }
            (Err(failure), Err(what)) => {
                let same = failure.code == what.code;
                *(if same { &mut self.tally.failures } else { &mut self.tally.other_failures }) += 1;
                Ok(None)
            }
            (Ok(value), Err(what)) => {
                Err(broken("core fails only where the program does", format!("{what:?} though {value:?}\n{core}")))
            }
            (Ok(value), Ok(wanted)) => {
                let mut differing = None;
                let mut see = |x: f64, wanted: &DualValue| {
                    if let DualValue::Real(number, _) = wanted
                        && !self.agrees(x, number)
                    {
                        differing = differing.or(Some((x, *number)));
                    }
                };
                compare(value, wanted, &mut see)
                    .map_err(|how| broken("core has the value of the program", format!("{how}: {value:?}\n{core}")))?;
                if let Some((x, number)) = differing {
                    return Err(broken("core has the value of the program", format!("{number:?}, not {x}\n{core}")));
                }
                let early = asks_any(&EvaluatorFunctions(self.middle), &core.body, &mut Vec::new());
                Ok((!early).then_some(ran.counts.work))
            }
        }
    }

    /// Runs the forms at a point where the reference fails. Their outcomes are tallied: the same
    /// code, another code, or no failure. Only an invalid form is an error.
    fn failing(&mut self, stages: &Stages, point: &LawPoint, code: Code) -> LawResult {
        for (name, result) in self.all_forms(stages, point) {
            match result {
                Err(EvalError::CheckFailed(what)) if what.code == code => self.tally.form_failures += 1,
                Err(EvalError::CheckFailed(_)) => self.tally.other_failures += 1,
                Ok(_) => self.tally.omitted += 1,
                Err(EvalError::OutOfFuel) => self.tally.unfinished += 1,
                Err(EvalError::IllFormed(what)) => {
                    return Err(broken(format!("{name} is whole"), format!("{what}\n{}\n{}", stages.core, stages.ssa)));
                }
            }
        }
        Ok(())
    }

    /// Returns whether Tensor SSA terminates within a fortieth of the fuel.
    #[must_use]
    pub fn ends(&self, stages: &Stages, point: &LawPoint) -> bool {
        let all = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&all, FUEL / 40);
        let result = evaluator.call(&stages.ssa, &point.sizes, tensors(stages, point));
        !matches!(result, Err(EvalError::OutOfFuel))
    }

    /// Records a difference between the engine and the evaluator.
    pub(super) fn engine_agrees(
        &self,
        ssa: &Arc<SsaFunction>,
        point: &LawPoint,
        arguments: &[IrTensor],
        wanted: &Result<Vec<Arc<IrTensor>>, EvalError>,
    ) {
        let wanted = wanted.as_deref();
        if let Err(how) = super::engine_oracle::agrees(self.middle, ssa, &point.sizes, arguments, wanted) {
            *self.engine.borrow_mut() = Some(broken("the engine gives what the evaluator does", how));
        }
    }

    /// Returns the parts of the value in every form, with the work.
    fn all_forms(&self, stages: &Stages, point: &LawPoint) -> Vec<(&'static str, Result<PartsAndWork, EvalError>)> {
        let mut all = Vec::new();
        let leaves = stages.core.body.ty.leaves();
        for (form, name) in Form::ALL.into_iter().zip(["core", "lifted", "pairs", "pushed"]) {
            let functions = SingleFormFunctions::new(self.middle, form);
            let mut evaluator = CoreEvaluator::new(&functions, FUEL);
            let args = if form.is_flat() { flat(stages, point) } else { point.args.clone() };
            let result = evaluator.call(&form.of(stages), &point.sizes, args);
            let result = result.map(|value| {
                let path = |k: usize, leaf: &TypeLeaf| {
                    if form.is_flat() { vec![u32::try_from(k).unwrap_or(0)] } else { leaf.path.clone() }
                };
                let items =
                    leaves.iter().enumerate().map(|(k, leaf)| super::values::part(&value, &path(k, leaf), &[]).items);
                (items.collect(), evaluator.counts.work)
            });
            all.push((name, result));
        }
        let world = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, FUEL);
        let arguments = tensors(stages, point);
        let result = evaluator.call(&stages.ssa, &point.sizes, arguments.clone());
        self.engine_agrees(&stages.ssa, point, &arguments, &result);
        if result.is_ok() {
            self.formulas_agree(&stages.ssa, point, &arguments);
        }
        let result = result.map(|found| (found.iter().map(|t| t.items.clone()).collect(), evaluator.counts.work));
        all.push(("ssa", result));
        all
    }

    /// Compares every form with the reference. Returns the work of Tensor SSA.
    fn values(
        &mut self,
        stages: &Stages,
        point: &LawPoint,
        wanted: &DualValue,
        before: Option<u64>,
    ) -> Result<u64, BrokenLaw> {
        let leaves = stages.core.body.ty.leaves();
        let mut last = before.map(|work| ("the interpreter", work));
        let twice = runs_twice(self.middle, &stages.core.body, &mut Vec::new());
        let text = |name: &str| match name {
            "core" => stages.core.to_string(),
            "lifted" => format!("{}{}", stages.core, stages.lifted),
            "pairs" => format!("{}{}", stages.lifted, stages.flat),
            "pushed" => format!("{}{}", stages.flat, stages.pushed),
            _ => format!("{}{}", stages.pushed, stages.ssa),
        };
        // A call with several results is one call in Tensor SSA; the two forms before have one call
        // for each result.
        let several = calls_several(self.middle, &stages.core.body, &mut Vec::new());
        for (name, result) in self.all_forms(stages, point) {
            let (parts, work) = match result {
                Ok(found) => found,
                Err(EvalError::OutOfFuel) => {
                    self.tally.unfinished += 1;
                    continue;
                }
                Err(stopped) => {
                    return Err(broken(format!("{name} has a value"), format!("{stopped:?}\n{}", text(name))));
                }
            };
            if parts.len() != leaves.len() {
                return Err(broken(format!("{name} has each part"), format!("{parts:?}\n{}", text(name))));
            }
            for (leaf, found) in leaves.iter().zip(&parts) {
                let mut all = Vec::new();
                scalars(wanted, &leaf.path, &mut all);
                let good = all.len() == found.len() && all.iter().zip(found).all(|(w, f)| self.same(f, w));
                if !good {
                    let how = format!("{found:?}, not {all:?}\n{}", text(name));
                    return Err(broken(format!("{name} has the value of core"), how));
                }
            }
            if several && matches!(name, "pairs" | "pushed") || twice && name != "ssa" {
                continue;
            }
            if let Some((who, least)) = last
                && work > least
            {
                let how = format!("{name} takes {work}, {who} {least}\n{}", text(name));
                return Err(broken(format!("{name} takes no more work"), how));
            }
            last = Some((name, work));
        }
        self.check_predicted_cost(stages, point)?;
        Ok(last.map_or(0, |(_, work)| work))
    }

    /// Compares a scalar of a form with the reference's.
    fn same(&mut self, found: &IrValue, wanted: &DualValue) -> bool {
        match (found, wanted) {
            (IrValue::I64(i), DualValue::Int(j)) => i == j,
            (IrValue::Bool(a), DualValue::Bool(b)) => a == b,
            (_, DualValue::Real(number, _)) => real(found).is_some_and(|x| self.agrees(x, number)),
            (IrValue::Tuple(row), DualValue::Rel(rows)) => {
                let row: Option<Vec<i64>> = row.iter().map(IrValue::int).collect();
                row.is_some_and(|row| rows.contains(&row))
            }
            _ => false,
        }
    }

    pub(super) fn agrees(&mut self, x: f64, wanted: &Number) -> bool {
        if wanted.error == 0.0 {
            self.tally.exact += 1;
            return x == wanted.value || x.is_nan() && wanted.value.is_nan();
        }
        let allowed = self.orders * wanted.error;
        if !wanted.value.is_finite() || !allowed.is_finite() {
            self.tally.unbounded += 1;
            return true;
        }
        let is_loose = wanted.error > self.loose * wanted.value.abs().max(1.0);
        *(if is_loose { &mut self.tally.loose } else { &mut self.tally.near }) += 1;
        (x - wanted.value).abs() <= allowed
    }
}

/// Returns whether every real in the value and its tangent is finite.
fn finite(value: &DualValue) -> bool {
    match value {
        DualValue::Real(x, t) => x.value.is_finite() && t.value.is_finite(),
        DualValue::Tuple(items) | DualValue::Array(items) => items.iter().all(finite),
        _ => true,
    }
}

/// Returns the parts of the arguments, in the order of the inputs.
pub(super) fn tensors(stages: &Stages, point: &LawPoint) -> Vec<IrTensor> {
    let of = size_of(&stages.core, &point.sizes, &point.args);
    let args = stages.core.params.iter().zip(&point.args);
    args.flat_map(|((_, ty), value)| parts(value, ty, &of)).collect()
}

/// Returns the parts of the arguments as nested arrays.
fn flat(stages: &Stages, point: &LawPoint) -> Vec<IrValue> {
    let each = tensors(stages, point).into_iter();
    each.map(|t| super::values::nested(&mut t.items.into_iter(), &t.dims)).collect()
}

/// Returns whether the expression or a callee contains a call with several results. Forms without
/// tuples split it into one call for each result.
fn calls_several(middle: &dyn FormProvider, e: &ExprRef, seen: &mut Vec<Arc<FunctionKey>>) -> bool {
    // A loop always has its trip count as a second result.
    let mut found = matches!(e.kind, ExprKind::Loop(..));
    if let ExprKind::Call(callee, ..) = &e.kind {
        found = e.ty.leaves().len() != 1;
        if !found && !seen.contains(callee) {
            seen.push(callee.clone());
            found = middle.stages(callee).is_some_and(|called| calls_several(middle, &called.core.body, seen));
        }
    }
    e.for_each_child(&mut |e| found = found || calls_several(middle, e, seen));
    found
}

/// Returns whether a `scan … while` exists. In the forms before Tensor SSA it runs twice: once for
/// its length and once for its states.
fn runs_twice(middle: &dyn FormProvider, e: &ExprRef, seen: &mut Vec<Arc<FunctionKey>>) -> bool {
    let (mut found, callee) = match &e.kind {
        ExprKind::Loop(repeat, _) => (
            repeat.trip_count == CoreTripCount::While && repeat.counter.extent.as_constant() != Some(0),
            Some(&repeat.body),
        ),
        ExprKind::Call(callee, ..) => (false, Some(callee)),
        _ => (false, None),
    };
    if let Some(callee) = callee.filter(|c| !seen.contains(c)) {
        seen.push(callee.clone());
        found = found || middle.stages(callee).is_some_and(|called| runs_twice(middle, &called.core.body, seen));
    }
    e.for_each_child(&mut |e| found = found || runs_twice(middle, e, seen));
    found
}

/// Returns whether no two statements are equal, in the function and in each body of a loop. The
/// verifier checks the other invariants of Tensor SSA wherever a pass leaves it.
#[must_use]
pub fn has_distinct_statements(ssa: &SsaFunction) -> bool {
    let key = |s: &Statement| (s.dims.clone(), s.scalar, s.rhs.clone(), s.needs.clone());
    let mut seen = HashSet::new();
    ssa.stmts.iter().all(|stmt| {
        let body = if let Rhs::Loop(of) = &stmt.rhs { has_distinct_statements(&of.body) } else { true };
        body && seen.insert(key(stmt))
    })
}

/// Widens the error bounds of the tangents by this relative tolerance.
fn by_rule(value: DualValue, relative: f64) -> DualValue {
    let inner = |items: Vec<DualValue>| items.into_iter().map(|v| by_rule(v, relative)).collect();
    match value {
        DualValue::Real(x, t) => DualValue::Real(x, Number { error: t.error + relative * (1.0 + t.size), ..t }),
        DualValue::Tuple(items) => DualValue::Tuple(inner(items)),
        DualValue::Array(items) => DualValue::Array(inner(items)),
        other => other,
    }
}

/// Widens the error bounds of the reals to this relative tolerance.
fn roughly(value: DualValue, relative: f64) -> DualValue {
    let inner = |items: Vec<DualValue>| items.into_iter().map(|v| roughly(v, relative)).collect();
    match value {
        DualValue::Real(x, t) => DualValue::Real(Number { error: relative * (1.0 + x.value.abs()), ..x }, t),
        DualValue::Tuple(items) => DualValue::Tuple(inner(items)),
        DualValue::Array(items) => DualValue::Array(inner(items)),
        other => other,
    }
}

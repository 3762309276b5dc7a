//! **Reverse evaluation** of calls whose adjoint rule is not linear in the cotangent, such as a
//! clipped gradient.
//!
//! A tangent is no substitute for such a rule: the rule must receive the cotangent that arrives at
//! the call. The result of the call is therefore an independent variable ([`CutCall`]). Runs on
//! dual numbers, one for each real of that result, compute its cotangent: the derivative of the
//! computation after the call. The rule turns it into cotangents of the arguments. The calls before
//! it follow, in reverse order.
//!
//! A rule counts as linear if it is additive and homogeneous at drawn cotangents of several
//! magnitudes. Forward operators reject any other rule ([`Code::E0516`](ErrorCode::E0516)), because
//! it has no transpose.

use super::Interp;
use super::broadcast::scalar_kind;
use super::derivative_rule::DerivativeRule;
use super::derive::{DifferentiatedFn, EvaluationPoint};
use super::dual::one_or_zero_like;
use super::flatten::{Coordinates, NonRealPolicy, contains_function, latest_perturbation};
use lang_base::{Code as ErrorCode, GlobalName};
use lang_runtime::dual::{Perturbation, primal, primal_and_tangent};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::scalar::convert;
use lang_runtime::value::RuntimeInstance;
use lang_runtime::{RuntimeType, Value};
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// The number of probes per run of a rule whose definition has a `derivative` rule too.
const MAX_PROBES: usize = 8;

/// A call whose result is an independent variable.
pub(super) struct CutCall {
    /// Its number among the calls of definitions with rules.
    call: usize,
    adjoint: GlobalName,
    instance: RuntimeInstance,
    args: Vec<Value>,
    value: Value,
}

/// A reverse operator that runs its function.
pub(super) struct ReverseRun {
    perturbation: Perturbation,
    /// The depth of nested calls of definitions with rules. Calls inside such a call have no
    /// numbers.
    hidden_depth: usize,
    /// The number of the next call.
    next_call: usize,
    phase: ReversePhase,
}

enum ReversePhase {
    /// Looks for a rule that is not linear.
    DetectNonlinear { found_nonlinear: bool, probe_count: usize },
    /// Records the calls with such a rule.
    Record(Vec<CutCall>),
    /// Seeds one real of the result of one of these calls, if `seed` is `Some`, and keeps the
    /// tangents of the calls' arguments.
    Seeded { cuts: Vec<usize>, seed: Option<(usize, usize)>, tangents: Vec<Vec<Option<Value>>> },
}

/// The real that varies in a run.
#[derive(Clone, Copy)]
enum Seed {
    /// A real of the arguments.
    Argument(usize),
    /// A real of the result of a call: the number of the cut, then that of the real.
    Result(usize, usize),
}

/// The calls whose results are independent variables, and the known cotangents of their arguments.
struct ReverseTape {
    cuts: Vec<CutCall>,
    call_count: usize,
    argument_cotangents: Vec<Option<Vec<Value>>>,
}

impl Interp<'_> {
    /// Starts to watch for rules that are not linear.
    pub(super) fn start_linearity_watch(&mut self, e: Perturbation) {
        self.reverse_runs.push(ReverseRun {
            perturbation: e,
            hidden_depth: 0,
            next_call: 0,
            phase: ReversePhase::DetectNonlinear { found_nonlinear: false, probe_count: 0 },
        });
    }

    /// Stops watching. Returns whether a rule was not linear.
    pub(super) fn end_linearity_watch(&mut self) -> bool {
        matches!(
            self.reverse_runs.pop(),
            Some(ReverseRun { phase: ReversePhase::DetectNonlinear { found_nonlinear: true, .. }, .. })
        )
    }

    /// Returns the adjoint rule of a definition.
    fn adjoint_rule(&mut self, def: &GlobalName) -> Option<GlobalName> {
        match self.find_rule(def)? {
            DerivativeRule::Adjoint(rule) => Some(rule),
            DerivativeRule::Derivative(_) => self.find_written_rule(def, "adjoint"),
        }
    }

    /// Returns whether the adjoint rule is not linear at this call under a reverse operator, which
    /// must then use a reverse evaluation.
    pub(super) fn needs_reverse_evaluation(
        &mut self,
        at: FailureSite<'_>,
        def: &GlobalName,
        instance: &RuntimeInstance,
        (primals, e): (&[Value], Perturbation),
        value: &Value,
    ) -> InterpResult<bool> {
        let Some(k) = self.reverse_runs.iter().rposition(|r| r.perturbation == e) else { return Ok(false) };
        let Some(adjoint) = self.adjoint_rule(def) else { return Ok(false) };
        let both = matches!(self.find_rule(def), Some(DerivativeRule::Derivative(_)));
        match self.reverse_runs.get_mut(k).map(|r| &mut r.phase) {
            // The run is repeated as a reverse evaluation anyway.
            Some(ReversePhase::DetectNonlinear { found_nonlinear: true, .. }) => return Ok(true),
            Some(ReversePhase::DetectNonlinear { probe_count: probed, .. }) if !both || *probed < MAX_PROBES => {
                *probed += usize::from(both)
            }
            _ => return Ok(false),
        }
        if self.is_linear(at, &adjoint, instance, primals, value)? {
            return Ok(false);
        }
        if let Some(ReverseRun { phase: ReversePhase::DetectNonlinear { found_nonlinear: found, .. }, .. }) =
            self.reverse_runs.get_mut(k)
        {
            *found = true;
        }
        Ok(true)
    }

    /// Returns the failure of a forward operator at a rule that is not linear.
    pub(super) fn no_tangent_failure(at: FailureSite<'_>, def: &GlobalName) -> Box<lang_runtime::Failure> {
        let name = &def.name;
        let message = format!("`{name}` has no tangent, because its `adjoint` rule is not linear in the cotangent");
        let mut failure = at.fail(ErrorCode::E0516, message);
        failure.help = Some(format!(
            "`grad`, `value_and_grad` and `vjp` use the rule; `jvp`, `jacobian`, `hessian`, `hvp` and `deriv` need \
             `derivative {name}(…; …) = …`"
        ));
        failure
    }

    /// Applies an adjoint rule: returns the cotangents of the arguments for this cotangent of the
    /// result.
    fn apply_adjoint_rule(
        &mut self,
        at: FailureSite<'_>,
        rule: &GlobalName,
        instance: &RuntimeInstance,
        args: &[Value],
        cotangent: Value,
    ) -> InterpResult<Vec<Value>> {
        let point = match args {
            [one] => one.clone(),
            many => self.make_tuple(at, many.to_vec())?,
        };
        let cotangents =
            self.call_def(at, rule, instance.clone(), args.iter().cloned().chain([cotangent]).collect())?;
        Ok(self.collect_reals_like(at, &point, &cotangents)?.values)
    }

    /// Applies a rule to a cotangent with these reals.
    fn probe_rule(
        &mut self,
        at: FailureSite<'_>,
        rule: (&GlobalName, &RuntimeInstance),
        args: &[Value],
        value: &Value,
        reals: &mut dyn Iterator<Item = f64>,
    ) -> InterpResult<Vec<f64>> {
        let cotangent = self.map_reals(at, value, NonRealPolicy::Unit(None), &mut |_, y| {
            let x = reals.next().unwrap_or_default();
            Ok(if scalar_kind(y) == Some(Scalar::F32) { Value::F32(convert::f64_to_f32(x)) } else { Value::F64(x) })
        })?;
        let cotangents = self.apply_adjoint_rule(at, rule.0, rule.1, args, cotangent)?;
        Ok(cotangents.iter().map(|x| real_to_f64(primal(x))).collect())
    }

    /// Returns whether the rule is additive and homogeneous at drawn cotangents. A rule that fails
    /// at one of them counts as not linear.
    pub(super) fn is_linear(
        &mut self,
        at: FailureSite<'_>,
        rule: &GlobalName,
        instance: &RuntimeInstance,
        args: &[Value],
        value: &Value,
    ) -> InterpResult<bool> {
        // The cotangent of a function is a function, which has no reals to compare.
        if args.iter().any(contains_function) {
            return Ok(true);
        }
        let depth = self.reverse_runs.len();
        self.dbg_suppressions += 1;
        let linear = self.probe_linearity(at, (rule, instance), args, value);
        self.dbg_suppressions -= 1;
        self.reverse_runs.truncate(depth);
        match linear {
            Err(why) if matches!(why.code, ErrorCode::E0507 | ErrorCode::E0508) => Err(why),
            linear => Ok(linear.unwrap_or(false)),
        }
    }

    fn probe_linearity(
        &mut self,
        at: FailureSite<'_>,
        rule: (&GlobalName, &RuntimeInstance),
        args: &[Value],
        value: &Value,
    ) -> InterpResult<bool> {
        let count = self.collect_reals(at, value)?.values.len();
        if count == 0 {
            return Ok(true);
        }
        let mut single = false;
        for of in args.iter().chain([value]) {
            single |= self.collect_reals(at, of)?.values.iter().any(|x| scalar_kind(x) == Some(Scalar::F32));
        }
        // Powers of two scale without rounding, and exceed any bound that a rule may impose.
        let (scale, exact, about, least) =
            if single { (f64::powi(2.0, 40), 1e-4, 5e-2, 1e-30) } else { (f64::powi(2.0, 200), 1e-9, 1e-3, 1e-290) };
        let u = |k: usize| pseudo_random_real(k, 0);
        let v = |k: usize| pseudo_random_real(k, 1);
        let of_u = self.probe_rule(at, rule, args, value, &mut (0..count).map(u))?;
        let largest = of_u.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for by in [-scale, 1.0 / scale] {
            let scaled = self.probe_rule(at, rule, args, value, &mut (0..count).map(|k| by * u(k)))?;
            for (x, y) in of_u.iter().zip(&scaled) {
                let expected = by * x;
                let decides = expected.is_finite() && y.is_finite() && (expected == 0.0 || expected.abs() > least);
                if decides && (expected - y).abs() > exact * largest * by.abs() {
                    return Ok(false);
                }
            }
        }
        let of_v = self.probe_rule(at, rule, args, value, &mut (0..count).map(v))?;
        let of_both = self.probe_rule(at, rule, args, value, &mut (0..count).map(|k| u(k) + v(k)))?;
        let bound = about * of_v.iter().fold(largest, |m: f64, x| m.max(x.abs()));
        Ok(!of_u.iter().zip(&of_v).zip(&of_both).any(|((x, y), both)| (x + y - both).abs() > bound))
    }

    /// Handles a call during a reverse evaluation. Returns `None` for an ordinary call.
    #[inline(never)]
    pub(super) fn call_in_reverse_run(
        &mut self,
        at: FailureSite<'_>,
        def: &GlobalName,
        instance: &RuntimeInstance,
        args: &[Value],
    ) -> InterpResult<Option<Value>> {
        let owner = |r: &ReverseRun| r.hidden_depth == 0 && !matches!(r.phase, ReversePhase::DetectNonlinear { .. });
        if !self.reverse_runs.iter().any(owner) || self.find_rule(def).is_none() || args.iter().any(contains_function) {
            return Ok(None);
        }
        let real = |t: &RuntimeType| matches!(t, RuntimeType::Scalar(Scalar::F64 | Scalar::F32));
        let last = latest_perturbation(args);
        let own = self.reverse_runs.iter().rposition(|r| owner(r) && last <= Some(r.perturbation));
        let (Some(own), true) = (own, instance.types.iter().all(real)) else { return Ok(None) };
        let Some(reversal) = self.reverse_runs.get_mut(own) else { return Ok(None) };
        let (e, call) = (reversal.perturbation, reversal.next_call);
        reversal.next_call += 1;
        let (independent, seed) = match &reversal.phase {
            ReversePhase::Seeded { cuts, seed, .. } => {
                let seed = seed.filter(|(cut, _)| cuts.get(*cut) == Some(&call)).map(|(_, real)| real);
                (cuts.iter().position(|c| *c == call), seed)
            }
            _ => (None, None),
        };
        let Some(cut) = independent else {
            let value =
                self.run_unnumbered(own, &mut |this| this.call_def(at, def, instance.clone(), args.to_vec()))?;
            if matches!(self.reverse_runs.get(own), Some(ReverseRun { phase: ReversePhase::Record(_), .. }))
                && let Some(adjoint) = self.adjoint_rule(def)
                && !contains_function(&value)
                && !self.run_unnumbered(own, &mut |this| this.is_linear(at, &adjoint, instance, args, &value))?
                && let Some(ReverseRun { phase: ReversePhase::Record(cuts), .. }) = self.reverse_runs.get_mut(own)
            {
                let (instance, args, value) = (instance.clone(), args.to_vec(), value.clone());
                cuts.push(CutCall { call, adjoint, instance, args, value });
            }
            return Ok(Some(value));
        };
        let mut primals = Vec::with_capacity(args.len());
        let mut found = Vec::new();
        for arg in args {
            primals.push(self.extract_primal(at, arg, e)?);
            found.extend(self.collect_reals(at, arg)?.values.iter().map(|x| primal_and_tangent(x, e).1.cloned()));
        }
        if let Some(ReverseRun { phase: ReversePhase::Seeded { tangents, .. }, .. }) = self.reverse_runs.get_mut(own)
            && let Some(slot) = tangents.get_mut(cut)
        {
            *slot = found;
        }
        let value = self.run_unnumbered(own, &mut |this| this.call_def(at, def, instance.clone(), primals.clone()))?;
        let Some(seed) = seed else { return Ok(Some(value)) };
        let mut k = 0;
        let value = self.map_reals(at, &value, NonRealPolicy::Keep, &mut |this, y| {
            k += 1;
            if k == seed + 1 { this.make_dual(at, e, y.clone(), one_or_zero_like(y, true)) } else { Ok(y.clone()) }
        })?;
        Ok(Some(value))
    }

    /// Runs a computation whose calls have no numbers in this reversal.
    fn run_unnumbered<T>(
        &mut self,
        reversal: usize,
        run: &mut dyn FnMut(&mut Self) -> InterpResult<T>,
    ) -> InterpResult<T> {
        if let Some(r) = self.reverse_runs.get_mut(reversal) {
            r.hidden_depth += 1;
        }
        let result = run(self);
        if let Some(r) = self.reverse_runs.get_mut(reversal) {
            r.hidden_depth -= 1;
        }
        result
    }
}

impl<'i> Interp<'i> {
    /// Returns the value, and the cotangents of the varying arguments by reverse evaluation. The
    /// cotangent of the result is `weights`, or 1.
    #[inline(never)]
    pub(super) fn eval_reverse(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        weights: Option<&Value>,
    ) -> InterpResult<(Value, Value)> {
        // Calls have the same numbers in every run only if none is offloaded.
        let (elsewhere, depth) = (self.offload_evaluator.take(), self.reverse_runs.len());
        self.dbg_suppressions += 1;
        let result = self.reverse_sweep(at, f, point, weights);
        self.dbg_suppressions -= 1;
        self.reverse_runs.truncate(depth);
        self.offload_evaluator = elsewhere;
        result
    }

    fn reverse_sweep(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        weights: Option<&Value>,
    ) -> InterpResult<(Value, Value)> {
        let e = self.new_perturbation();
        self.reverse_runs.push(ReverseRun {
            perturbation: e,
            hidden_depth: 0,
            next_call: 0,
            phase: ReversePhase::Record(Vec::new()),
        });
        let value = self.run_dual(at, f, point, e, &mut |_, _| None)?;
        let Some(ReverseRun { next_call: calls, phase: ReversePhase::Record(cuts), .. }) = self.reverse_runs.pop()
        else {
            return Err(at.internal_error("the state of a reverse evaluation is missing"));
        };
        let mut tape = ReverseTape { argument_cotangents: vec![None; cuts.len()], cuts, call_count: calls };
        for c in (0..tape.cuts.len()).rev() {
            let count = match tape.cuts.get(c) {
                Some(cut) => self.collect_reals(at, &cut.value)?.values.len(),
                None => 0,
            };
            let mut cotangents = Coordinates::default();
            for real in 0..count {
                let cotangent = self.arriving_cotangent(at, f, point, weights, &tape, Seed::Result(c, real))?;
                self.push_real(at, &mut cotangents, cotangent)?;
            }
            let Some(cut) = tape.cuts.get(c) else { continue };
            let cotangent = self.build_tangent(at, &cut.value, cotangents)?;
            let pulled = self.apply_adjoint_rule(at, &cut.adjoint, &cut.instance, &cut.args, cotangent)?;
            if let Some(slot) = tape.argument_cotangents.get_mut(c) {
                *slot = Some(pulled);
            }
        }
        let varying = point.varying_args(self, at)?;
        let mut cotangents = Coordinates::default();
        for real in 0..self.collect_reals(at, &varying)?.values.len() {
            let cotangent = self.arriving_cotangent(at, f, point, weights, &tape, Seed::Argument(real))?;
            self.push_real(at, &mut cotangents, cotangent)?;
        }
        Ok((value, self.build_tangent(at, &varying, cotangents)?))
    }

    /// Returns the cotangent of one real: directly through the code after it, and through the rules
    /// of the later calls.
    fn arriving_cotangent(
        &mut self,
        at: FailureSite<'_>,
        f: DifferentiatedFn<'_, 'i>,
        point: EvaluationPoint<'_>,
        weights: Option<&Value>,
        tape: &ReverseTape,
        seed: Seed,
    ) -> InterpResult {
        let e = self.new_perturbation();
        let cuts: Vec<usize> = tape.cuts.iter().map(|c| c.call).collect();
        let tangents = vec![Vec::new(); cuts.len()];
        let result_seed = if let Seed::Result(cut, real) = seed { Some((cut, real)) } else { None };
        let mode = ReversePhase::Seeded { cuts, seed: result_seed, tangents };
        self.reverse_runs.push(ReverseRun { perturbation: e, hidden_depth: 0, next_call: 0, phase: mode });
        let result = self.run_dual(at, f, point, e, &mut |k, x| {
            matches!(seed, Seed::Argument(real) if real == k).then(|| one_or_zero_like(x, true))
        })?;
        let Some(ReverseRun { next_call: calls, phase: ReversePhase::Seeded { tangents, .. }, .. }) =
            self.reverse_runs.pop()
        else {
            return Err(at.internal_error("the state of a reverse evaluation is missing"));
        };
        if calls != tape.call_count {
            return Err(at.internal_error("the calls of a reverse evaluation differ between its runs"));
        }
        let mut sum = match weights {
            Some(w) => {
                let weights = self.collect_reals_like(at, &result, w)?;
                let tangents: Vec<_> = self
                    .collect_reals(at, &result)?
                    .values
                    .iter()
                    .map(|y| primal_and_tangent(y, e).1.cloned())
                    .collect();
                self.inner_product(at, &weights.values, &tangents)?
            }
            None => primal_and_tangent(&result, e).1.cloned().unwrap_or_else(|| one_or_zero_like(&result, false)),
        };
        for (pulled, tangents) in tape.argument_cotangents.iter().zip(&tangents) {
            if let Some(pulled) = pulled
                && tangents.iter().any(Option::is_some)
            {
                let term = self.inner_product(at, pulled, tangents)?;
                let of = self.convert(at, Scalar::F64, &sum)?;
                sum = self.arith(at, BinOp::Add, &of, &term)?;
            }
        }
        Ok(sum)
    }
}

/// Returns the real as `f64`.
fn real_to_f64(x: &Value) -> f64 {
    match x {
        Value::F64(x) => *x,
        Value::F32(x) => f64::from(*x),
        _ => 0.0,
    }
}

/// Returns the k-th real of a pseudo-random cotangent, between 0.5 and 1.5 in absolute value.
fn pseudo_random_real(k: usize, stream: u32) -> f64 {
    let seed = u32::try_from(k).unwrap_or(u32::MAX).wrapping_mul(2).wrapping_add(stream).wrapping_add(1);
    let mut bits = seed.wrapping_mul(0x9E37_79B1);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x85EB_CA77);
    bits ^= bits >> 13;
    let size = 0.5 + f64::from(bits >> 1) / f64::from(u32::MAX >> 1);
    if bits & 1 == 0 { size } else { -size }
}

//! **Reverse evaluation** of calls whose adjoint rule is not linear in the cotangent, such as a
//! clipped gradient.
//!
//! A tangent is no substitute for such a rule: the rule must receive the cotangent that arrives at
//! the call. The result of the call is therefore an independent variable ([`Cut`]). Runs on dual
//! numbers, one for each real of that result, compute its cotangent: the derivative of the
//! computation after the call. The rule turns it into cotangents of the arguments. The calls before
//! it follow, in reverse order.
//!
//! A rule counts as linear if it is additive and homogeneous at drawn cotangents of several
//! magnitudes. Forward operators reject any other rule ([`Code::E0516`](ErrorCode::E0516)), because
//! it has no transpose.

use super::Interp;
use super::derive::{Function, Point};
use super::dual::number_like;
use super::leaves::{Reals, Rest, holds_function, latest};
use super::lift::kind;
use super::rule::Rule;
use lang_base::{Code as ErrorCode, GlobalName};
use lang_runtime::dual::{Perturbation, primal, split};
use lang_runtime::failure::{At, Eval};
use lang_runtime::scalar::convert;
use lang_runtime::value::RtInstance;
use lang_runtime::{RtType, Value};
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// The number of probes per run of a rule whose definition has a `derivative` rule too.
const PROBES: usize = 8;

/// A call whose result is an independent variable.
pub(super) struct Cut {
    /// Its number among the calls of definitions with rules.
    call: usize,
    adjoint: GlobalName,
    instance: RtInstance,
    args: Vec<Value>,
    value: Value,
}

/// A reverse operator that runs its function.
pub(super) struct Reversal {
    e: Perturbation,
    /// The depth of nested calls of definitions with rules. Calls inside such a call have no
    /// numbers.
    hidden: usize,
    /// The number of the next call.
    calls: usize,
    mode: Mode,
}

enum Mode {
    /// Looks for a rule that is not linear.
    Watch { found: bool, probed: usize },
    /// Records the calls with such a rule.
    Record(Vec<Cut>),
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
struct Tape {
    cuts: Vec<Cut>,
    calls: usize,
    pulled: Vec<Option<Vec<Value>>>,
}

impl Interp<'_> {
    /// Starts to watch for rules that are not linear.
    pub(super) fn watch_rules(&mut self, e: Perturbation) {
        self.reversals.push(Reversal { e, hidden: 0, calls: 0, mode: Mode::Watch { found: false, probed: 0 } });
    }

    /// Stops watching. Returns whether a rule was not linear.
    pub(super) fn met_nonlinear(&mut self) -> bool {
        matches!(self.reversals.pop(), Some(Reversal { mode: Mode::Watch { found: true, .. }, .. }))
    }

    /// Returns the adjoint rule of a definition.
    fn adjoint_rule(&mut self, def: &GlobalName) -> Option<GlobalName> {
        match self.rule(def)? {
            Rule::Adjoint(rule) => Some(rule),
            Rule::Derivative(_) => self.written(def, "adjoint"),
        }
    }

    /// Returns whether the adjoint rule is not linear at this call under a reverse operator, which
    /// must then use a reverse evaluation.
    pub(super) fn needs_reversal(
        &mut self,
        at: At<'_>,
        def: &GlobalName,
        instance: &RtInstance,
        (primals, e): (&[Value], Perturbation),
        value: &Value,
    ) -> Eval<bool> {
        let Some(k) = self.reversals.iter().rposition(|r| r.e == e) else { return Ok(false) };
        let Some(adjoint) = self.adjoint_rule(def) else { return Ok(false) };
        let both = matches!(self.rule(def), Some(Rule::Derivative(_)));
        match self.reversals.get_mut(k).map(|r| &mut r.mode) {
            // The run is repeated as a reverse evaluation anyway.
            Some(Mode::Watch { found: true, .. }) => return Ok(true),
            Some(Mode::Watch { probed, .. }) if !both || *probed < PROBES => *probed += usize::from(both),
            _ => return Ok(false),
        }
        if self.is_linear(at, &adjoint, instance, primals, value)? {
            return Ok(false);
        }
        if let Some(Reversal { mode: Mode::Watch { found, .. }, .. }) = self.reversals.get_mut(k) {
            *found = true;
        }
        Ok(true)
    }

    /// Returns the failure of a forward operator at a rule that is not linear.
    pub(super) fn no_tangent(at: At<'_>, def: &GlobalName) -> Box<lang_runtime::Failure> {
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
    fn by_adjoint(
        &mut self,
        at: At<'_>,
        rule: &GlobalName,
        instance: &RtInstance,
        args: &[Value],
        cotangent: Value,
    ) -> Eval<Vec<Value>> {
        let point = match args {
            [one] => one.clone(),
            many => self.make_tuple(at, many.to_vec())?,
        };
        let given = self.call_def(at, rule, instance.clone(), args.iter().cloned().chain([cotangent]).collect())?;
        Ok(self.reals_like(at, &point, &given)?.values)
    }

    /// Applies a rule to a cotangent with these reals.
    fn probe(
        &mut self,
        at: At<'_>,
        rule: (&GlobalName, &RtInstance),
        args: &[Value],
        value: &Value,
        reals: &mut dyn Iterator<Item = f64>,
    ) -> Eval<Vec<f64>> {
        let cotangent = self.map_reals(at, value, Rest::Unit(None), &mut |_, y| {
            let x = reals.next().unwrap_or_default();
            Ok(if kind(y) == Some(Scalar::F32) { Value::F32(convert::f64_to_f32(x)) } else { Value::F64(x) })
        })?;
        let given = self.by_adjoint(at, rule.0, rule.1, args, cotangent)?;
        Ok(given.iter().map(|x| real(primal(x))).collect())
    }

    /// Returns whether the rule is additive and homogeneous at drawn cotangents. A rule that fails
    /// at one of them counts as not linear.
    pub(super) fn is_linear(
        &mut self,
        at: At<'_>,
        rule: &GlobalName,
        instance: &RtInstance,
        args: &[Value],
        value: &Value,
    ) -> Eval<bool> {
        // The cotangent of a function is a function, which has no reals to compare.
        if args.iter().any(holds_function) {
            return Ok(true);
        }
        let depth = self.reversals.len();
        self.quiet += 1;
        let linear = self.probed(at, (rule, instance), args, value);
        self.quiet -= 1;
        self.reversals.truncate(depth);
        match linear {
            Err(why) if matches!(why.code, ErrorCode::E0507 | ErrorCode::E0508) => Err(why),
            linear => Ok(linear.unwrap_or(false)),
        }
    }

    fn probed(&mut self, at: At<'_>, rule: (&GlobalName, &RtInstance), args: &[Value], value: &Value) -> Eval<bool> {
        let count = self.reals(at, value)?.values.len();
        if count == 0 {
            return Ok(true);
        }
        let mut single = false;
        for of in args.iter().chain([value]) {
            single |= self.reals(at, of)?.values.iter().any(|x| kind(x) == Some(Scalar::F32));
        }
        // Powers of two scale without rounding, and exceed any bound that a rule may impose.
        let (scale, exact, about, least) =
            if single { (f64::powi(2.0, 40), 1e-4, 5e-2, 1e-30) } else { (f64::powi(2.0, 200), 1e-9, 1e-3, 1e-290) };
        let u = |k: usize| drawn(k, 0);
        let v = |k: usize| drawn(k, 1);
        let of_u = self.probe(at, rule, args, value, &mut (0..count).map(u))?;
        let largest = of_u.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for by in [-scale, 1.0 / scale] {
            let scaled = self.probe(at, rule, args, value, &mut (0..count).map(|k| by * u(k)))?;
            for (x, y) in of_u.iter().zip(&scaled) {
                let expected = by * x;
                let decides = expected.is_finite() && y.is_finite() && (expected == 0.0 || expected.abs() > least);
                if decides && (expected - y).abs() > exact * largest * by.abs() {
                    return Ok(false);
                }
            }
        }
        let of_v = self.probe(at, rule, args, value, &mut (0..count).map(v))?;
        let of_both = self.probe(at, rule, args, value, &mut (0..count).map(|k| u(k) + v(k)))?;
        let bound = about * of_v.iter().fold(largest, |m: f64, x| m.max(x.abs()));
        Ok(!of_u.iter().zip(&of_v).zip(&of_both).any(|((x, y), both)| (x + y - both).abs() > bound))
    }

    /// Handles a call during a reverse evaluation. Returns `None` for an ordinary call.
    #[inline(never)]
    pub(super) fn at_cut(
        &mut self,
        at: At<'_>,
        def: &GlobalName,
        instance: &RtInstance,
        args: &[Value],
    ) -> Eval<Option<Value>> {
        let owner = |r: &Reversal| r.hidden == 0 && !matches!(r.mode, Mode::Watch { .. });
        if !self.reversals.iter().any(owner) || self.rule(def).is_none() || args.iter().any(holds_function) {
            return Ok(None);
        }
        let real = |t: &RtType| matches!(t, RtType::Scalar(Scalar::F64 | Scalar::F32));
        let last = latest(args);
        let own = self.reversals.iter().rposition(|r| owner(r) && last <= Some(r.e));
        let (Some(own), true) = (own, instance.types.iter().all(real)) else { return Ok(None) };
        let Some(reversal) = self.reversals.get_mut(own) else { return Ok(None) };
        let (e, call) = (reversal.e, reversal.calls);
        reversal.calls += 1;
        let (independent, seed) = match &reversal.mode {
            Mode::Seeded { cuts, seed, .. } => {
                let seed = seed.filter(|(cut, _)| cuts.get(*cut) == Some(&call)).map(|(_, real)| real);
                (cuts.iter().position(|c| *c == call), seed)
            }
            _ => (None, None),
        };
        let Some(cut) = independent else {
            let value = self.hidden(own, &mut |this| this.call_def(at, def, instance.clone(), args.to_vec()))?;
            if matches!(self.reversals.get(own), Some(Reversal { mode: Mode::Record(_), .. }))
                && let Some(adjoint) = self.adjoint_rule(def)
                && !holds_function(&value)
                && !self.hidden(own, &mut |this| this.is_linear(at, &adjoint, instance, args, &value))?
                && let Some(Reversal { mode: Mode::Record(cuts), .. }) = self.reversals.get_mut(own)
            {
                let (instance, args, value) = (instance.clone(), args.to_vec(), value.clone());
                cuts.push(Cut { call, adjoint, instance, args, value });
            }
            return Ok(Some(value));
        };
        let mut primals = Vec::with_capacity(args.len());
        let mut found = Vec::new();
        for arg in args {
            primals.push(self.primal_part(at, arg, e)?);
            found.extend(self.reals(at, arg)?.values.iter().map(|x| split(x, e).1.cloned()));
        }
        if let Some(Reversal { mode: Mode::Seeded { tangents, .. }, .. }) = self.reversals.get_mut(own)
            && let Some(slot) = tangents.get_mut(cut)
        {
            *slot = found;
        }
        let value = self.hidden(own, &mut |this| this.call_def(at, def, instance.clone(), primals.clone()))?;
        let Some(seed) = seed else { return Ok(Some(value)) };
        let mut k = 0;
        let value = self.map_reals(at, &value, Rest::Stays, &mut |this, y| {
            k += 1;
            if k == seed + 1 { this.dual(at, e, y.clone(), number_like(y, true)) } else { Ok(y.clone()) }
        })?;
        Ok(Some(value))
    }

    /// Runs a computation whose calls have no numbers in this reversal.
    fn hidden<T>(&mut self, reversal: usize, run: &mut dyn FnMut(&mut Self) -> Eval<T>) -> Eval<T> {
        if let Some(r) = self.reversals.get_mut(reversal) {
            r.hidden += 1;
        }
        let result = run(self);
        if let Some(r) = self.reversals.get_mut(reversal) {
            r.hidden -= 1;
        }
        result
    }
}

impl<'i> Interp<'i> {
    /// Returns the value, and the cotangents of the varying arguments by reverse evaluation. The
    /// cotangent of the result is `weights`, or 1.
    #[inline(never)]
    pub(super) fn reversed(
        &mut self,
        at: At<'_>,
        f: Function<'_, 'i>,
        point: Point<'_>,
        weights: Option<&Value>,
    ) -> Eval<(Value, Value)> {
        // Calls have the same numbers in every run only if none is offloaded.
        let (elsewhere, depth) = (self.elsewhere.take(), self.reversals.len());
        self.quiet += 1;
        let result = self.sweep(at, f, point, weights);
        self.quiet -= 1;
        self.reversals.truncate(depth);
        self.elsewhere = elsewhere;
        result
    }

    fn sweep(
        &mut self,
        at: At<'_>,
        f: Function<'_, 'i>,
        point: Point<'_>,
        weights: Option<&Value>,
    ) -> Eval<(Value, Value)> {
        let e = self.perturb();
        self.reversals.push(Reversal { e, hidden: 0, calls: 0, mode: Mode::Record(Vec::new()) });
        let value = self.run_dual(at, f, point, e, &mut |_, _| None)?;
        let Some(Reversal { calls, mode: Mode::Record(cuts), .. }) = self.reversals.pop() else {
            return Err(at.internal("a reversal is lost"));
        };
        let mut tape = Tape { pulled: vec![None; cuts.len()], cuts, calls };
        for c in (0..tape.cuts.len()).rev() {
            let count = match tape.cuts.get(c) {
                Some(cut) => self.reals(at, &cut.value)?.values.len(),
                None => 0,
            };
            let mut cotangents = Reals::default();
            for real in 0..count {
                let cotangent = self.arriving(at, f, point, weights, &tape, Seed::Result(c, real))?;
                self.push_real(at, &mut cotangents, cotangent)?;
            }
            let Some(cut) = tape.cuts.get(c) else { continue };
            let cotangent = self.shaped(at, &cut.value, cotangents)?;
            let pulled = self.by_adjoint(at, &cut.adjoint, &cut.instance, &cut.args, cotangent)?;
            if let Some(slot) = tape.pulled.get_mut(c) {
                *slot = Some(pulled);
            }
        }
        let varying = point.varying(self, at)?;
        let mut cotangents = Reals::default();
        for real in 0..self.reals(at, &varying)?.values.len() {
            let cotangent = self.arriving(at, f, point, weights, &tape, Seed::Argument(real))?;
            self.push_real(at, &mut cotangents, cotangent)?;
        }
        Ok((value, self.shaped(at, &varying, cotangents)?))
    }

    /// Returns the cotangent of one real: directly through the code after it, and through the rules
    /// of the later calls.
    fn arriving(
        &mut self,
        at: At<'_>,
        f: Function<'_, 'i>,
        point: Point<'_>,
        weights: Option<&Value>,
        tape: &Tape,
        seed: Seed,
    ) -> Eval {
        let e = self.perturb();
        let cuts: Vec<usize> = tape.cuts.iter().map(|c| c.call).collect();
        let tangents = vec![Vec::new(); cuts.len()];
        let result_seed = if let Seed::Result(cut, real) = seed { Some((cut, real)) } else { None };
        let mode = Mode::Seeded { cuts, seed: result_seed, tangents };
        self.reversals.push(Reversal { e, hidden: 0, calls: 0, mode });
        let result = self.run_dual(at, f, point, e, &mut |k, x| {
            matches!(seed, Seed::Argument(real) if real == k).then(|| number_like(x, true))
        })?;
        let Some(Reversal { calls, mode: Mode::Seeded { tangents, .. }, .. }) = self.reversals.pop() else {
            return Err(at.internal("a reversal is lost"));
        };
        if calls != tape.calls {
            return Err(at.internal("the calls of a reverse evaluation differ between its runs"));
        }
        let mut sum = match weights {
            Some(w) => {
                let weights = self.reals_like(at, &result, w)?;
                let tangents: Vec<_> = self.reals(at, &result)?.values.iter().map(|y| split(y, e).1.cloned()).collect();
                self.inner(at, &weights.values, &tangents)?
            }
            None => split(&result, e).1.cloned().unwrap_or_else(|| number_like(&result, false)),
        };
        for (pulled, tangents) in tape.pulled.iter().zip(&tangents) {
            if let Some(pulled) = pulled
                && tangents.iter().any(Option::is_some)
            {
                let term = self.inner(at, pulled, tangents)?;
                let of = self.convert(at, Scalar::F64, &sum)?;
                sum = self.arith(at, BinOp::Add, &of, &term)?;
            }
        }
        Ok(sum)
    }
}

/// Returns the real as `f64`.
fn real(x: &Value) -> f64 {
    match x {
        Value::F64(x) => *x,
        Value::F32(x) => f64::from(*x),
        _ => 0.0,
    }
}

/// Returns the k-th real of a pseudo-random cotangent, between 0.5 and 1.5 in absolute value.
fn drawn(k: usize, stream: u32) -> f64 {
    let seed = u32::try_from(k).unwrap_or(u32::MAX).wrapping_mul(2).wrapping_add(stream).wrapping_add(1);
    let mut bits = seed.wrapping_mul(0x9E37_79B1);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x85EB_CA77);
    bits ^= bits >> 13;
    let size = 0.5 + f64::from(bits >> 1) / f64::from(u32::MAX >> 1);
    if bits & 1 == 0 { size } else { -size }
}

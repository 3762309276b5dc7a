//! **Derivative laws** at a point. The tangent agrees with the reference's and the interpreter's,
//! and the adjoint's inner product with the tangent's. Both cost at most the bounds of ATL's
//! Theorems 6.1 and 6.35. Second derivatives are symmetric and agree with the interpreter's.

use std::sync::Arc;

use lang_core::ad::real_outputs;
use lang_core::eval::eval_core::EvalError;
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator};
use lang_core::ir::core::{DerivativeKind, FunctionKey, TypeLeaf};
use lang_core::ir::flat::InputSource;
use lang_core::ir::reduce::Reducer;
use lang_core::ir::ssa::{Rhs, SsaFunction};
use lang_core::ir::value::IrValue;
use lang_core::pipeline::Stages;
use lang_core::syntax::ops::Scalar;

use super::cost;
use super::error_bounds::Number;
use super::form_laws::{BrokenLaw, FUEL, InterpreterResults, LawChecker, LawPoint, LawResult, broken, tensors};
use super::forms::{EvaluatorFunctions, FormProvider};
use super::reference::{DualValue, real};
use super::values::{compare, parts, scalar, scalars, size_of, varying};
use crate::random::Random;

impl LawChecker<'_> {
    /// Checks all laws of derivatives. `work` is the work of the value in Tensor SSA.
    pub(super) fn derivatives(
        &mut self,
        stages: &Stages,
        point: &LawPoint,
        wanted: &DualValue,
        work: u64,
        ran: Option<&InterpreterResults>,
        random: &mut Random,
    ) -> LawResult {
        let outputs: Vec<&TypeLeaf> = stages.ssa.outputs.iter().map(|(leaf, _)| leaf).filter(|l| is_real(l)).collect();
        if outputs.is_empty() {
            return Ok(());
        }
        let wrt = by(stages);
        let form = |derivations: &[DerivativeKind]| {
            let mut callee: FunctionKey = (*stages.core.callee).clone();
            derivations.iter().for_each(|d| callee = callee.derivative(d.clone()));
            let missing = || broken("there is a derivative", format!("none: {callee}"));
            self.middle.ssa(&Arc::new(callee.clone())).ok_or_else(missing)
        };
        let of = real_outputs(&stages.ssa).into();
        let (forward, adjoint) =
            (DerivativeKind::Forward(wrt.clone()), DerivativeKind::Adjoint { outputs: of, wrt: wrt.clone() });
        let (tangent_of, adjoint_of) = (form(std::slice::from_ref(&forward))?, form(std::slice::from_ref(&adjoint))?);
        // The interpreter computes zero times infinity as NaN if the zero comes from data, and
        // skips the term if a bracket removes it. The reference does not distinguish these cases.
        let mut finite = ran.and_then(|ran| ran.tangent.as_ref()).is_some();
        if let Some(tangent) = ran.and_then(|ran| ran.tangent.as_ref()) {
            let mut differing = None;
            let mut see = |x: f64, wanted: &DualValue| {
                finite &= !x.is_nan();
                if let DualValue::Real(_, number) = wanted
                    && x.is_finite()
                    && !self.agrees(x, number)
                {
                    differing = differing.or(Some((x, *number)));
                }
            };
            let compared = compare(tangent, wanted, &mut see);
            // The tangent of a type with other parts than reals has another shape.
            if let Err(how) = compared
                && outputs.len() == stages.ssa.outputs.len()
            {
                return Err(broken("the tangent has the interpreter's shape", format!("{how}\n{}", stages.core)));
            }
            if let Some((x, number)) = differing {
                let how = format!("{number:?}, not {x}\n{}", stages.core);
                return Err(broken("the tangent is the interpreter's", how));
            }
        }
        // The tangent.
        let primal = tensors(stages, point);
        let along = directions(stages, point);
        let found = match self.run(&tangent_of, point, [primal.as_slice(), &along].concat()) {
            Ok(found) => found,
            Err(EvalError::OutOfFuel) => return Ok(()),
            Err(stopped) => {
                return Err(broken(
                    "the forward derivative has a value",
                    format!("{stopped:?}\n{}{tangent_of}", stages.ssa),
                ));
            }
        };
        if found.0.len() != stages.ssa.outputs.len() + outputs.len() {
            let how = format!("{} parts\n{}{tangent_of}", found.0.len(), stages.ssa);
            return Err(broken("a tangent has each real part", how));
        }
        let mut numbers: Vec<Vec<Number>> = Vec::new();
        for (leaf, found) in outputs.iter().zip(found.0.iter().skip(stages.ssa.outputs.len())) {
            let mut all = Vec::new();
            scalars(wanted, &leaf.path, &mut all);
            let tangents: Vec<Number> =
                all.iter().filter_map(|r| if let DualValue::Real(_, t) = r { Some(*t) } else { None }).collect();
            // A NaN that the interpreter computes too may come from one masked term of a sum.
            let has_tangent = ran.is_some_and(|ran| ran.tangent.is_some());
            let masked =
                |(t, f): (&Number, &IrValue)| (has_tangent || t.is_nothing()) && real(f).is_some_and(f64::is_nan);
            if !finite && tangents.iter().zip(&found.items).any(masked) {
                self.tally.masked += 1;
                return Ok(());
            }
            let good = tangents.len() == found.items.len()
                && tangents.iter().zip(&found.items).all(|(t, f)| real(f).is_some_and(|x| self.agrees(x, t)));
            if !good {
                let how = format!("{:?}, not {tangents:?}\n{}{tangent_of}", found.items, stages.ssa);
                return Err(broken("the tangent is the reference's", how));
            }
            numbers.push(tangents);
        }
        self.tally.tangents += 1;
        // <y, D f v> = <D^T f y, v>
        let seeds: Vec<IrTensor> = outputs
            .iter()
            .zip(found.0.iter().skip(stages.ssa.outputs.len()))
            .map(|(leaf, t)| {
                let of = leaf.scalar.unwrap_or(Scalar::F64);
                IrTensor { dims: t.dims.clone(), items: t.items.iter().map(|_| scalar(random, of)).collect() }
            })
            .collect();
        let back = match self.run(&adjoint_of, point, [primal.as_slice(), &seeds].concat()) {
            Ok(back) => back,
            Err(EvalError::OutOfFuel) => return Ok(()),
            Err(stopped) => {
                return Err(broken("the adjoint has a value", format!("{stopped:?}\n{}{adjoint_of}", stages.ssa)));
            }
        };
        let cotangents: Vec<IrTensor> = back.0.iter().skip(stages.ssa.outputs.len()).map(|t| (**t).clone()).collect();
        // A loop cannot skip the cotangents that it carries if data mask them.
        let sees = finite && !self.has(stages, &|rhs| matches!(rhs, Rhs::Loop(_)));
        self.products(&seeds, &numbers, &cotangents, &along, sees).map_err(|b| BrokenLaw {
            how: format!("{} of {back:?} for {seeds:?}\n{}{adjoint_of}", b.how, stages.ssa),
            ..b
        })?;
        // Theorems 6.1 and 6.35. The adjoint carries the cotangents of loop-carried values, which
        // costs as much as the iterations.
        let io: usize = primal.iter().chain(&seeds).map(|t| t.items.len()).sum();
        let io = u64::try_from(io).unwrap_or(u64::MAX);
        let factor = cost::factor(self.middle, &stages.ssa);
        let work = work + self.visited(stages, point, primal.clone());
        let pairs = [("6.1", found.1, work), ("6.35", back.1 + io, work + io)];
        for (theorem, derived, of) in pairs {
            // The cost of a user-written rule is its author's.
            if !stages.ssa.is_opaque && derived > factor.saturating_mul(of) {
                let form = if theorem == "6.1" { &tangent_of } else { &adjoint_of };
                let how = format!("{derived} is more than {factor} times {of}\n{}{form}", stages.ssa);
                return Err(broken(format!("Theorem {theorem}"), how));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "counts of small programs")]
        let over = |(_, derived, of): (&str, u64, u64)| if derived == 0 { 0.0 } else { derived as f64 / of as f64 };
        self.tally.forward = self.tally.forward.max(over(pairs[0]));
        self.tally.adjoint = self.tally.adjoint.max(over(pairs[1]));
        if self.twice {
            let second_adjoint =
                DerivativeKind::Adjoint { outputs: real_outputs(&adjoint_of).into(), wrt: wrt.clone() };
            let twice = [form(&[adjoint.clone(), forward])?, form(&[adjoint, second_adjoint])?];
            self.second(stages, point, &twice, [&primal, &seeds, &along], ran)?;
        }
        Ok(())
    }

    fn has(&self, stages: &Stages, what: &dyn Fn(&Rhs) -> bool) -> bool {
        has(self.middle, &stages.ssa, what, &mut Vec::new())
    }

    /// Returns the cost that a definition with a loop may have beside its work: the index tuples
    /// that it visits.
    ///
    /// For a definition with a product, the bound is [`FUEL`] and so checks nothing. The products
    /// of all factors but one cost more than the product, by a factor of the number of terms,
    /// masked ones included.
    fn visited(&self, stages: &Stages, point: &LawPoint, primal: Vec<IrTensor>) -> u64 {
        if self.has(stages, &|rhs| matches!(rhs, Rhs::Reduce(r) if r.reducer == Reducer::Prod)) {
            return FUEL;
        }
        if !self.has(stages, &|rhs| matches!(rhs, Rhs::Loop(_))) {
            return 0;
        }
        let world = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, FUEL);
        let _ = evaluator.call(&stages.ssa, &point.sizes, primal);
        evaluator.counts.iterations
    }

    /// Checks that the inner product of seeds and tangents equals that of cotangents and the
    /// direction. `sees` states that no data-dependent zero is multiplied with an infinity.
    fn products(
        &mut self,
        seeds: &[IrTensor],
        tangents: &[Vec<Number>],
        cotangents: &[IrTensor],
        along: &[IrTensor],
        sees: bool,
    ) -> LawResult {
        let reals = |t: &IrTensor| t.items.iter().filter_map(real).collect::<Vec<f64>>();
        let same = |a: &[IrTensor], b: &[IrTensor]| a.iter().map(|t| t.items.len()).eq(b.iter().map(|t| t.items.len()));
        if !same(cotangents, along) || !seeds.iter().map(|t| t.items.len()).eq(tangents.iter().map(Vec::len)) {
            return Err(broken("a cotangent has each part", format!("{cotangents:?} for {along:?}")));
        }
        let mut left = Number::zero(false);
        let (mut single, mut error) = (false, 0.0_f64);
        for (seed, tangent) in seeds.iter().zip(tangents) {
            for (y, t) in reals(seed).into_iter().zip(tangent) {
                single |= t.single;
                left = left.plus(&Number::exact(y, false).times(&t.converted(false)));
            }
        }
        let mut right = Number::zero(false);
        for (cotangent, direction) in cotangents.iter().zip(along) {
            for (x, v) in reals(cotangent).into_iter().zip(reals(direction)) {
                right = right.plus(&Number::exact(x, false).times(&Number::exact(v, false)));
            }
        }
        if !left.value.is_finite() || !left.error.is_finite() {
            self.tally.loose += 1;
            return Ok(());
        }
        if !sees && left.is_nothing() && right.value.is_nan() {
            self.tally.masked += 1;
            return Ok(());
        }
        // If the tangent is exact in every order of evaluation, and so are the products with the
        // seeds, the adjoint is exact too.
        if left.error > 0.0 || single {
            let unit = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
            error = left.error + right.error + unit * self.roundings * (left.size + right.size);
        }
        if (left.value - right.value).abs() > self.orders * error || right.value.is_nan() {
            return Err(broken("inner products agree", format!("{left:?} and {right:?}")));
        }
        self.tally.products += 1;
        self.tally.exact_products += u64::from(error == 0.0);
        Ok(())
    }

    /// Checks the derivative of the adjoint, by the forward derivative and by the adjoint: both are
    /// a symmetric matrix times the direction.
    fn second(
        &mut self,
        stages: &Stages,
        point: &LawPoint,
        twice: &[Arc<SsaFunction>; 2],
        [primal, seeds, along]: [&[IrTensor]; 3],
        ran: Option<&InterpreterResults>,
    ) -> LawResult {
        let [over, back] = twice;
        let reals = seeds.len();
        let zeros = seeds.iter().map(|t| {
            let zero = |v: &IrValue| IrValue::zero_of(v.scalar().unwrap_or(Scalar::F64));
            IrTensor { dims: t.dims.clone(), items: t.items.iter().map(zero).collect() }
        });
        let arguments = [primal, seeds, along].concat();
        let others: Vec<IrTensor> =
            primal.iter().chain(seeds).cloned().chain(zeros).chain(along.iter().cloned()).collect();
        let (one, other) = match (self.run(over, point, arguments), self.run(back, point, others)) {
            (Ok(one), Ok(other)) => (one.0, other.0),
            (Err(EvalError::OutOfFuel), _) | (_, Err(EvalError::OutOfFuel)) => return Ok(()),
            (one, other) => {
                return Err(broken("there are second derivatives", format!("{one:?}\n{other:?}\n{over}{back}")));
            }
        };
        let first = stages.ssa.outputs.len() + along.len();
        let ones: Vec<f64> = one.iter().skip(first + reals).flat_map(|t| t.items.iter().filter_map(real)).collect();
        let others: Vec<f64> = other.iter().skip(first).flat_map(|t| t.items.iter().filter_map(real)).collect();
        if ones.iter().chain(&others).any(|x| !x.is_finite()) {
            self.tally.loose += 1;
            return Ok(());
        }
        // The interpreter's result, scaled by the one seed.
        let seed = match seeds {
            [IrTensor { items, .. }] => items.first().and_then(real),
            _ => None,
        };
        let third: Option<Vec<f64>> = ran.and_then(|ran| ran.second.as_ref()).zip(seed).and_then(|(hvp, seed)| {
            let (hvp, vary) = (super::values::plain(hvp)?, varying(&stages.core));
            let rows =
                if let ([_], _) | (_, IrValue::F64(_)) = (vary.as_slice(), &hvp) { vec![hvp] } else { items_of(hvp)? };
            let types = vary.iter().filter_map(|k| Some(&stages.core.params.get(*k)?.1));
            let parts = types.zip(&rows).flat_map(|(ty, v)| parts(v, ty, &|_| 0));
            Some(parts.flat_map(|t| t.items.iter().filter_map(real).map(|x| x * seed).collect::<Vec<_>>()).collect())
        });
        let third = third.filter(|third| third.iter().all(|x| x.is_finite()));
        let size = ones.iter().chain(&others).fold(1.0_f64, |m, x| m.max(x.abs()));
        let single = along.iter().any(|t| t.items.iter().any(|v| matches!(v, IrValue::F32(_))));
        let allowed = size * if single { f64::from(f32::EPSILON) / f64::EPSILON } else { 1.0 } * self.second;
        let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= allowed);
        if let Some(third) = &third
            && !near(third, &ones)
        {
            let how = format!("{ones:?}, not {third:?}\n{}{over}", stages.ssa);
            return Err(broken("second derivatives are the interpreter's", how));
        }
        self.tally.hessians += u64::from(third.is_some());
        if !near(&ones, &others) {
            let how = format!("{ones:?} and {others:?}\n{}{over}{back}", stages.ssa);
            return Err(broken("second derivatives are symmetric", how));
        }
        self.tally.seconds += 1;
        Ok(())
    }

    fn run(
        &self,
        ssa: &Arc<SsaFunction>,
        point: &LawPoint,
        arguments: Vec<IrTensor>,
    ) -> Result<(Vec<Arc<IrTensor>>, u64), EvalError> {
        let world = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, FUEL);
        let found = evaluator.call(ssa, &point.sizes, arguments.clone());
        self.engine_agrees(ssa, point, &arguments, &found);
        if found.is_ok() {
            self.formulas_agree(ssa, point, &arguments);
        }
        Ok((found?, evaluator.counts.work))
    }
}

/// Returns whether the function, a callee or a loop body contains such a statement.
fn has(
    middle: &dyn FormProvider,
    ssa: &SsaFunction,
    what: &dyn Fn(&Rhs) -> bool,
    seen: &mut Vec<Arc<FunctionKey>>,
) -> bool {
    ssa.stmts.iter().any(|stmt| match &stmt.rhs {
        rhs if what(rhs) => true,
        Rhs::Loop(of) => has(middle, &of.body, what, seen),
        Rhs::Call { callee, .. } if !seen.contains(callee) => {
            seen.push(callee.clone());
            middle.ssa(callee).is_some_and(|called| has(middle, &called, what, seen))
        }
        _ => false,
    })
}

fn is_real(leaf: &TypeLeaf) -> bool {
    lang_core::ad::is_real(leaf.scalar)
}

fn items_of(value: IrValue) -> Option<Vec<IrValue>> {
    if let IrValue::Tuple(items) = value { Some(items) } else { None }
}

/// Returns the parts of the direction.
fn directions(stages: &Stages, point: &LawPoint) -> Vec<IrTensor> {
    let of = size_of(&stages.core, &point.sizes, &point.args);
    let vary = varying(&stages.core).into_iter().filter_map(|k| stages.core.params.get(k));
    vary.zip(&point.along).flat_map(|((_, ty), value)| parts(value, ty, &of)).collect()
}

/// Returns the numbers of the inputs that vary.
fn by(stages: &Stages) -> Arc<[u32]> {
    let vary = varying(&stages.core);
    let of = |source: &InputSource| matches!(source, InputSource::Param(k) if vary.contains(&(*k as usize)));
    (0..).zip(&stages.ssa.inputs).filter(|(_, i)| of(&i.source)).map(|(k, _)| k).collect()
}

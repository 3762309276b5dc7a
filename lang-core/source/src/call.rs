//! **Calls to text.** A call of a definition is printed as it is. A call of a derivative uses its
//! printed definition (`f_adj`) if that can be printed before; otherwise `vjp(f)` or `jvp(f)`.

use std::sync::Arc;

use super::derivative_signature::{is_sole_constructor_tag, tangent_core_type};
use super::expression_tree::SourceExpr;
use super::names::qualified_spelling;
use super::read_ssa::{LineCall, LineKind};
use super::writer::{BodyWriter, ValueLeaves};
use super::{DerivativeMode, NoTextReason, PrintedDerivative, callee_at_f64, derivative_ssa, printed_callee};
use lang_ir::core::{Constant, CoreType, DerivativeKind, FunctionKey, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_middle::ad::{is_real, real_outputs};
use lang_sizes::predicate::{Index, Poly};

/// The definition behind a call, and how it is differentiated.
struct CalledDefinition {
    primal: Arc<SsaFunction>,
    /// The numbers of the parameters that vary, ascending; empty for the definition itself.
    varying: Vec<usize>,
    derivation: Option<DerivativeKind>,
}

impl BodyWriter<'_> {
    fn called_definition(&self, call: &LineCall) -> Result<CalledDefinition, NoTextReason> {
        // A function local to a definition has no global name.
        if call.callee.local.is_some() || !call.callee.rules.is_empty() {
            return Err(NoTextReason::UnimportedName);
        }
        let (derivation, plain) = match &*call.callee.derivatives {
            [] => (None, (*call.callee).clone()),
            [one] => {
                let plain = FunctionKey { derivatives: Arc::from([]), ..(*call.callee).clone() };
                (Some(one.clone()), plain)
            }
            _ => return Err(NoTextReason::HigherDerivative),
        };
        let primal = self.ssa(&Arc::new(plain)).ok_or(NoTextReason::InternalError)?;
        let mut varying = Vec::new();
        if let Some(DerivativeKind::Forward(wrt) | DerivativeKind::Adjoint { wrt, .. }) = &derivation {
            for k in wrt.iter() {
                if let Some(InputSource::Param(p)) = primal.inputs.get(*k as usize).map(|i| &i.source)
                    && !varying.contains(&(*p as usize))
                {
                    varying.push(*p as usize);
                }
            }
            varying.sort_unstable();
        }
        Ok(CalledDefinition { primal, varying, derivation })
    }

    /// Reserves the names of the callees, and prints the derivatives that must come before this
    /// one.
    pub(super) fn reserve_callee_names(&mut self, live: &[StmtId]) {
        let lines = live.iter().filter_map(|v| self.lines.get(v.0 as usize));
        let calls =
            lines.filter_map(|l| if let LineKind::Call(call, _) = &l.kind { Some(call.callee.clone()) } else { None });
        for callee in calls.collect::<Vec<Arc<FunctionKey>>>() {
            self.used_names.mark_used(&callee.def.name);
            if !self.callee_derivatives.iter().any(|(known, _)| *known == callee)
                && let Some(printed) = self.printed_derivative_of(&callee)
            {
                self.used_names.mark_used(&printed.name);
                self.callee_derivatives.push((callee, printed));
            }
        }
    }

    /// Returns the printed derivative of a definition of this module by all that varies in it, if
    /// its name is free.
    fn printed_derivative_of(&self, callee: &Arc<FunctionKey>) -> Option<Arc<PrintedDerivative>> {
        let [derivation] = &*callee.derivatives else { return None };
        let which = if matches!(derivation, DerivativeKind::Forward(_)) {
            DerivativeMode::Forward
        } else {
            DerivativeMode::Adjoint
        };
        let name = format!("{}{}", callee.def.name, which.suffix());
        if callee.def.module != *self.home_module()
            || self.name_environment().top_level_value(self.home_module(), &name).is_some()
            || self.request.def.name == callee.def.name
        {
            return None;
        }
        let shown = callee_at_f64(self.request.bodies, &callee.def)?;
        let whole = derivative_ssa(self.request.module, &shown, which).ok()??;
        let own = self.callee_derivatives.iter().any(|(_, printed)| *printed.name == name);
        let free = own || !self.used_names.contains(&name);
        (whole.callee == *callee && free).then(|| printed_callee(self.request, &callee.def, which))?
    }

    /// Returns the derivatives that must be printed before this one.
    pub(super) fn prerequisites(&self) -> Vec<PrintedDerivative> {
        let mut before: Vec<PrintedDerivative> = Vec::new();
        for (_, printed) in &self.callee_derivatives {
            for one in printed.prerequisites.iter().chain([&**printed]) {
                if !before.iter().any(|known| known.name == one.name) {
                    before.push(PrintedDerivative { prerequisites: Vec::new(), ..one.clone() });
                }
            }
        }
        before
    }

    /// Prints a call for every tuple of its batch indices. Returns the text, and the type of the
    /// result for one tuple.
    pub(super) fn print_call(&mut self, call: &LineCall) -> Result<(String, CoreType), NoTextReason> {
        let called = self.called_definition(call)?;
        let primal = &called.primal;
        let name = qualified_spelling(self.name_environment(), self.home_module(), &call.callee.def)
            .ok_or(NoTextReason::UnimportedName)?;
        let passed: Vec<_> = primal.inputs.iter().filter(|i| i.source.is_passed()).collect();
        let part = |k: usize| call.args.get(k).cloned().ok_or(NoTextReason::InternalError);
        // The leaves of each argument.
        let mut own: Vec<ValueLeaves> = vec![Vec::new(); primal.params.len()];
        for (k, input) in passed.iter().enumerate() {
            let InputSource::Param(p) = &input.source else { return Err(NoTextReason::InternalError) };
            let (indices, e) = part(k)?;
            if let Some(parts) = own.get_mut(*p as usize) {
                parts.push((input.leaf.path.clone(), indices, e));
            }
        }
        let mut beside: Vec<(CoreType, ValueLeaves)> = Vec::new();
        let result = match &called.derivation {
            None => primal.result.clone(),
            Some(DerivativeKind::Adjoint { outputs: of, .. }) => {
                // `vjp` takes the cotangent of the whole result.
                if real_outputs(primal) != **of {
                    return Err(NoTextReason::HigherDerivative);
                }
                let real = primal.outputs.iter().filter(|(leaf, _)| is_real(leaf.scalar));
                let mut parts = ValueLeaves::new();
                for (k, (leaf, _)) in real.enumerate() {
                    let (indices, e) = part(passed.len() + k)?;
                    parts.push((leaf.path.clone(), indices, e));
                }
                let cotangent = tangent_core_type(&primal.result);
                for leaf in cotangent.leaves().into_iter().filter(|leaf| !is_real(leaf.scalar)) {
                    if is_sole_constructor_tag(&cotangent, &leaf.path) {
                        let indices = leaf.dims.iter().map(|n| self.facts.fresh_index(n.clone())).collect();
                        parts.push((leaf.path, indices, SourceExpr::Constant(Constant::Int(0))));
                    } else {
                        parts.extend(self.primal_leaf_from_call(call, passed.len(), primal, &leaf));
                    }
                }
                beside.push((cotangent, parts));
                let types = called.varying.iter().filter_map(|k| Some(tangent_core_type(&primal.params.get(*k)?.1)));
                let types: Vec<CoreType> = types.collect();
                match <[CoreType; 1]>::try_from(types) {
                    Ok([one]) => one,
                    Err(types) => CoreType::tuple(types),
                }
            }
            Some(DerivativeKind::Forward(wrt)) => {
                for p in &called.varying {
                    let mut parts = ValueLeaves::new();
                    for (k, input) in wrt.iter().enumerate() {
                        let input = primal.inputs.get(*input as usize).ok_or(NoTextReason::InternalError)?;
                        if input.source == InputSource::Param(u32::try_from(*p).unwrap_or(u32::MAX)) {
                            let (indices, e) = part(passed.len() + k)?;
                            parts.push((input.leaf.path.clone(), indices, e));
                        }
                    }
                    let ty =
                        primal.params.get(*p).map(|p| tangent_core_type(&p.1)).ok_or(NoTextReason::InternalError)?;
                    // Inside sum types, leaves that are not real are those of the value.
                    let held = ty.leaves().into_iter().filter(|leaf| !is_real(leaf.scalar));
                    let of = own.get(*p).map(Vec::as_slice).unwrap_or_default();
                    parts.extend(held.filter_map(|leaf| of.iter().find(|part| part.0 == leaf.path).cloned()));
                    beside.push((ty, parts));
                }
                tangent_core_type(&primal.result)
            }
        };
        let params: Vec<CoreType> = primal.params.iter().map(|p| p.1.clone()).collect();
        let derivative_name = self
            .callee_derivatives
            .iter()
            .find(|(callee, _)| *callee == call.callee)
            .map(|(_, printed)| printed.name.clone());
        let batch = call.batch.clone();
        let pred = call.pred.clone();
        let is_adjoint = matches!(called.derivation, Some(DerivativeKind::Adjoint { .. }));
        let text = self.print_batch(&batch, &mut |this| {
            let mut at: Vec<Index> = Vec::new();
            let args: Vec<String> = params
                .iter()
                .zip(&own)
                .map(|(ty, parts)| this.print_value(ty, &mut Vec::new(), &mut at, parts, "-", false))
                .collect();
            let additional_args: Vec<String> = beside
                .iter()
                .map(|(ty, parts)| this.print_value(ty, &mut Vec::new(), &mut at, parts, "-", false))
                .collect();
            let text = if called.derivation.is_none() {
                format!("{name}({})", args.join(", "))
            } else if let Some(printed_name) = &derivative_name {
                format!(
                    "{printed_name}({})",
                    args.iter().chain(&additional_args).cloned().collect::<Vec<String>>().join(", ")
                )
            } else {
                let pick = |items: &[String]| {
                    let items: Vec<String> = called.varying.iter().filter_map(|k| items.get(*k).cloned()).collect();
                    if items.len() == 1 { items.join("") } else { format!("({})", items.join(", ")) }
                };
                let function = if called.varying.len() == args.len() {
                    name.clone()
                } else {
                    this.print_partial_application(&name, &args, &called.varying)
                };
                let additional_text = if additional_args.len() == 1 {
                    additional_args.join("")
                } else {
                    format!("({})", additional_args.join(", "))
                };
                format!("{}({function})({}, {additional_text})", if is_adjoint { "vjp" } else { "jvp" }, pick(&args))
            };
            if pred.is_true() { text } else { format!("[{}] * {text}", this.print_predicate(&pred).0) }
        });
        Ok((text, result))
    }

    /// Returns a leaf of the callee's result, read from a call of the definition itself with the
    /// same arguments, if one has a name.
    fn primal_leaf_from_call(
        &self,
        call: &LineCall,
        passed: usize,
        primal: &SsaFunction,
        leaf: &TypeLeaf,
    ) -> Option<(Vec<u32>, Vec<Index>, SourceExpr)> {
        let part = primal.outputs.iter().position(|(of, _)| of.path == leaf.path)?;
        let own = call.args.get(..passed)?;
        (0..).zip(self.lines.iter()).find_map(|(k, line)| {
            let LineKind::Call(other, nth) = &line.kind else { return None };
            let plain = other.callee.derivatives.is_empty() && other.callee.def == call.callee.def;
            let alike = plain && other.callee.types == call.callee.types && *nth as usize == part;
            if !alike || other.batch.len() != call.batch.len() || !self.read_sources.contains_key(&StmtId(k)) {
                return None;
            }
            let same = other.args.iter().zip(own).all(|((from, e), (to, own))| {
                let from: Vec<&Index> = other.batch.iter().chain(from).collect();
                let to: Vec<&Index> = call.batch.iter().chain(to).collect();
                let put = |p: &Poly| {
                    p.substitute(&|a| {
                        from.iter().position(|i| i.atom() == *a).and_then(|k| to.get(k)).map(|i| i.value())
                    })
                };
                from.len() == to.len() && e.map_polys(&put) == *own
            });
            let rest: Vec<Index> = line.indices.get(call.batch.len()..)?.to_vec();
            let at = call.batch.iter().chain(&rest).map(Index::value).collect();
            (same && other.args.len() == own.len()).then(|| (leaf.path.clone(), rest, SourceExpr::Read(StmtId(k), at)))
        })
    }

    /// Returns the path in the result of a call to one of its leaves.
    pub(super) fn result_path(&self, call: &LineCall, part: u32) -> Result<Vec<u32>, NoTextReason> {
        let called = self.called_definition(call)?;
        let primal = &called.primal;
        let part = part as usize;
        let Some(derivation) = &called.derivation else {
            return primal.outputs.get(part).map(|(leaf, _)| leaf.path.clone()).ok_or(NoTextReason::InternalError);
        };
        // The values of the primal belong to a call of the definition itself.
        let k = part.checked_sub(primal.outputs.len()).ok_or(NoTextReason::HigherDerivative)?;
        match derivation {
            DerivativeKind::Forward(_) => {
                let mut real = primal.outputs.iter().filter(|(leaf, _)| is_real(leaf.scalar));
                real.nth(k).map(|(leaf, _)| leaf.path.clone()).ok_or(NoTextReason::InternalError)
            }
            DerivativeKind::Adjoint { wrt, .. } => {
                let input =
                    wrt.get(k).and_then(|k| primal.inputs.get(*k as usize)).ok_or(NoTextReason::InternalError)?;
                let InputSource::Param(p) = &input.source else { return Err(NoTextReason::InternalError) };
                let at = called.varying.iter().position(|k| *k == *p as usize).ok_or(NoTextReason::InternalError)?;
                let first = if called.varying.len() == 1 { None } else { u32::try_from(at).ok() };
                Ok(first.into_iter().chain(input.leaf.path.iter().copied()).collect())
            }
        }
    }
}

//! **Calls to text.** A call of a definition is printed as it is. A call of a derivative uses its
//! printed definition (`f_adj`) if that can be printed before; otherwise `vjp(f)` or `jvp(f)`.

use std::sync::Arc;

use super::names::spelled;
use super::read::{Call, Is};
use super::shape::{is_only, mirror};
use super::tree::Ex;
use super::writer::{Parts, Writer};
use super::{Definition, Outside, Which, called, derived, shown_callee};
use lang_ir::core::{Callee, Constant, CoreType, Derivation, Leaf};
use lang_ir::flat::Source;
use lang_ir::ssa::{Ssa, Var};
use lang_middle::ad::{is_real, real_outputs};
use lang_sizes::predicate::{Index, Poly};

/// The definition behind a call, and how it is differentiated.
struct Called {
    primal: Arc<Ssa>,
    /// The numbers of the parameters that vary, ascending; empty for the definition itself.
    varying: Vec<usize>,
    derivation: Option<Derivation>,
}

impl Writer<'_> {
    fn of(&self, call: &Call) -> Result<Called, Outside> {
        // A function local to a definition has no global name.
        if call.callee.local.is_some() || !call.callee.rules.is_empty() {
            return Err(Outside::Foreign);
        }
        let (derivation, plain) = match &*call.callee.derived {
            [] => (None, (*call.callee).clone()),
            [one] => {
                let plain = Callee { derived: Arc::from([]), ..(*call.callee).clone() };
                (Some(one.clone()), plain)
            }
            _ => return Err(Outside::Nested),
        };
        let primal = self.ssa(&Arc::new(plain)).ok_or(Outside::Unreadable)?;
        let mut varying = Vec::new();
        if let Some(Derivation::Forward(wrt) | Derivation::Adjoint { wrt, .. }) = &derivation {
            for k in wrt.iter() {
                if let Some(Source::Param(p)) = primal.inputs.get(*k as usize).map(|i| &i.source)
                    && !varying.contains(&(*p as usize))
                {
                    varying.push(*p as usize);
                }
            }
            varying.sort_unstable();
        }
        Ok(Called { primal, varying, derivation })
    }

    /// Reserves the names of the callees, and prints the derivatives that must come before this
    /// one.
    pub(super) fn name_calls(&mut self, live: &[Var]) {
        let lines = live.iter().filter_map(|v| self.lines.get(v.0 as usize));
        let calls = lines.filter_map(|l| if let Is::Call(call, _) = &l.is { Some(call.callee.clone()) } else { None });
        for callee in calls.collect::<Vec<Arc<Callee>>>() {
            self.taken.take(&callee.def.name);
            if !self.made.iter().any(|(known, _)| *known == callee)
                && let Some(made) = self.derivative(&callee)
            {
                self.taken.take(&made.name);
                self.made.push((callee, made));
            }
        }
    }

    /// Returns the printed derivative of a definition of this module by all that varies in it, if
    /// its name is free.
    fn derivative(&self, callee: &Arc<Callee>) -> Option<Arc<Definition>> {
        let [derivation] = &*callee.derived else { return None };
        let which = if matches!(derivation, Derivation::Forward(_)) { Which::Forward } else { Which::Adjoint };
        let name = format!("{}{}", callee.def.name, which.suffix());
        if callee.def.module != *self.home()
            || self.names().value(self.home(), &name).is_some()
            || self.asked.def.name == callee.def.name
        {
            return None;
        }
        let shown = shown_callee(self.asked.bodies, &callee.def)?;
        let whole = derived(self.asked.module, &shown, which).ok()??;
        let own = self.made.iter().any(|(_, made)| *made.name == name);
        let free = own || !self.taken.has(&name);
        (whole.callee == *callee && free).then(|| called(self.asked, &callee.def, which))?
    }

    /// Returns the derivatives that must be printed before this one.
    pub(super) fn before(&self) -> Vec<Definition> {
        let mut before: Vec<Definition> = Vec::new();
        for (_, made) in &self.made {
            for one in made.before.iter().chain([&**made]) {
                if !before.iter().any(|known| known.name == one.name) {
                    before.push(Definition { before: Vec::new(), ..one.clone() });
                }
            }
        }
        before
    }

    /// Prints a call for every tuple of its batch indices. Returns the text, and the type of the
    /// result for one tuple.
    pub(super) fn call(&mut self, call: &Call) -> Result<(String, CoreType), Outside> {
        let called = self.of(call)?;
        let primal = &called.primal;
        let name = spelled(self.names(), self.home(), &call.callee.def).ok_or(Outside::Foreign)?;
        let passed: Vec<_> = primal.inputs.iter().filter(|i| i.source.is_passed()).collect();
        let part = |k: usize| call.args.get(k).cloned().ok_or(Outside::Unreadable);
        // The leaves of each argument.
        let mut own: Vec<Parts> = vec![Vec::new(); primal.params.len()];
        for (k, input) in passed.iter().enumerate() {
            let Source::Param(p) = &input.source else { return Err(Outside::Unreadable) };
            let (indices, e) = part(k)?;
            if let Some(parts) = own.get_mut(*p as usize) {
                parts.push((input.leaf.path.clone(), indices, e));
            }
        }
        let mut beside: Vec<(CoreType, Parts)> = Vec::new();
        let result = match &called.derivation {
            None => primal.result.clone(),
            Some(Derivation::Adjoint { of, .. }) => {
                // `vjp` takes the cotangent of the whole result.
                if real_outputs(primal) != **of {
                    return Err(Outside::Nested);
                }
                let real = primal.outputs.iter().filter(|(leaf, _)| is_real(leaf.scalar));
                let mut parts = Parts::new();
                for (k, (leaf, _)) in real.enumerate() {
                    let (indices, e) = part(passed.len() + k)?;
                    parts.push((leaf.path.clone(), indices, e));
                }
                let cotangent = mirror(&primal.result);
                for leaf in cotangent.leaves().into_iter().filter(|leaf| !is_real(leaf.scalar)) {
                    if is_only(&cotangent, &leaf.path) {
                        let indices = leaf.dims.iter().map(|n| self.table.index(n.clone())).collect();
                        parts.push((leaf.path, indices, Ex::Constant(Constant::Int(0))));
                    } else {
                        parts.extend(self.called_too(call, passed.len(), primal, &leaf));
                    }
                }
                beside.push((cotangent, parts));
                let types = called.varying.iter().filter_map(|k| Some(mirror(&primal.params.get(*k)?.1)));
                let types: Vec<CoreType> = types.collect();
                match <[CoreType; 1]>::try_from(types) {
                    Ok([one]) => one,
                    Err(types) => CoreType::tuple(types),
                }
            }
            Some(Derivation::Forward(wrt)) => {
                for p in &called.varying {
                    let mut parts = Parts::new();
                    for (k, input) in wrt.iter().enumerate() {
                        let input = primal.inputs.get(*input as usize).ok_or(Outside::Unreadable)?;
                        if input.source == Source::Param(u32::try_from(*p).unwrap_or(u32::MAX)) {
                            let (indices, e) = part(passed.len() + k)?;
                            parts.push((input.leaf.path.clone(), indices, e));
                        }
                    }
                    let ty = primal.params.get(*p).map(|p| mirror(&p.1)).ok_or(Outside::Unreadable)?;
                    // Inside sum types, leaves that are not real are those of the value.
                    let held = ty.leaves().into_iter().filter(|leaf| !is_real(leaf.scalar));
                    let of = own.get(*p).map(Vec::as_slice).unwrap_or_default();
                    parts.extend(held.filter_map(|leaf| of.iter().find(|part| part.0 == leaf.path).cloned()));
                    beside.push((ty, parts));
                }
                mirror(&primal.result)
            }
        };
        let params: Vec<CoreType> = primal.params.iter().map(|p| p.1.clone()).collect();
        let made = self.made.iter().find(|(callee, _)| *callee == call.callee).map(|(_, made)| made.name.clone());
        let batch = call.batch.clone();
        let pred = call.pred.clone();
        let is_adjoint = matches!(called.derivation, Some(Derivation::Adjoint { .. }));
        let text = self.around(&batch, &mut |this| {
            let mut at: Vec<Index> = Vec::new();
            let args: Vec<String> = params
                .iter()
                .zip(&own)
                .map(|(ty, parts)| this.value(ty, &mut Vec::new(), &mut at, parts, "-", false))
                .collect();
            let given: Vec<String> =
                beside.iter().map(|(ty, parts)| this.value(ty, &mut Vec::new(), &mut at, parts, "-", false)).collect();
            let text = if called.derivation.is_none() {
                format!("{name}({})", args.join(", "))
            } else if let Some(made) = &made {
                format!("{made}({})", args.iter().chain(&given).cloned().collect::<Vec<String>>().join(", "))
            } else {
                let pick = |items: &[String]| {
                    let items: Vec<String> = called.varying.iter().filter_map(|k| items.get(*k).cloned()).collect();
                    if items.len() == 1 { items.join("") } else { format!("({})", items.join(", ")) }
                };
                let function = if called.varying.len() == args.len() {
                    name.clone()
                } else {
                    this.partly(&name, &args, &called.varying)
                };
                let given = if given.len() == 1 { given.join("") } else { format!("({})", given.join(", ")) };
                format!("{}({function})({}, {given})", if is_adjoint { "vjp" } else { "jvp" }, pick(&args))
            };
            if pred.is_true() { text } else { format!("[{}] * {text}", this.pred(&pred).0) }
        });
        Ok((text, result))
    }

    /// Returns a leaf of the callee's result, read from a call of the definition itself with the
    /// same arguments, if one has a name.
    fn called_too(&self, call: &Call, passed: usize, primal: &Ssa, leaf: &Leaf) -> Option<(Vec<u32>, Vec<Index>, Ex)> {
        let part = primal.outputs.iter().position(|(of, _)| of.path == leaf.path)?;
        let own = call.args.get(..passed)?;
        (0..).zip(self.lines.iter()).find_map(|(k, line)| {
            let Is::Call(other, nth) = &line.is else { return None };
            let plain = other.callee.derived.is_empty() && other.callee.def == call.callee.def;
            let alike = plain && other.callee.types == call.callee.types && *nth as usize == part;
            if !alike || other.batch.len() != call.batch.len() || !self.named.contains_key(&Var(k)) {
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
            (same && other.args.len() == own.len()).then(|| (leaf.path.clone(), rest, Ex::Read(Var(k), at)))
        })
    }

    /// Returns the path in the result of a call to one of its leaves.
    pub(super) fn path_of(&self, call: &Call, part: u32) -> Result<Vec<u32>, Outside> {
        let called = self.of(call)?;
        let primal = &called.primal;
        let part = part as usize;
        let Some(derivation) = &called.derivation else {
            return primal.outputs.get(part).map(|(leaf, _)| leaf.path.clone()).ok_or(Outside::Unreadable);
        };
        // The values of the primal belong to a call of the definition itself.
        let k = part.checked_sub(primal.outputs.len()).ok_or(Outside::Nested)?;
        match derivation {
            Derivation::Forward(_) => {
                let mut real = primal.outputs.iter().filter(|(leaf, _)| is_real(leaf.scalar));
                real.nth(k).map(|(leaf, _)| leaf.path.clone()).ok_or(Outside::Unreadable)
            }
            Derivation::Adjoint { wrt, .. } => {
                let input = wrt.get(k).and_then(|k| primal.inputs.get(*k as usize)).ok_or(Outside::Unreadable)?;
                let Source::Param(p) = &input.source else { return Err(Outside::Unreadable) };
                let at = called.varying.iter().position(|k| *k == *p as usize).ok_or(Outside::Unreadable)?;
                let first = if called.varying.len() == 1 { None } else { u32::try_from(at).ok() };
                Ok(first.into_iter().chain(input.leaf.path.iter().copied()).collect())
            }
        }
    }
}

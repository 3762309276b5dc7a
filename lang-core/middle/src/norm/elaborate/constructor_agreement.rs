//! **Derivatives of sum types.** A tangent or cotangent must have the constructors of the value
//! that it belongs to. These functions compute that condition and add a run-time check to the
//! result of a derivative operator. [`super::derive`] calls them.

use std::sync::Arc;

use super::derive::{WrtValues, is_real_leaf};
use super::{ElabFrame, Elaborator, SymbolicValue};
use lang_base::Code;
use lang_ir::core::{CheckFailure, CoreType, ExprKind, ExprRef, TupleLabels, TypeLeaf};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::TypedId;

impl Elaborator<'_> {
    /// Returns the failure to report if constructors differ.
    pub(super) fn constructor_mismatch(&self, f: &ElabFrame, node: TypedId) -> Arc<CheckFailure> {
        self.check_failure(f, node, Code::E0501, crate::norm::CONSTRUCTOR_MISMATCH)
    }

    /// Returns the value with a check that the predicate holds, unless known facts imply it.
    pub(super) fn check_agreement(&mut self, p: &Pred, failing: &Arc<CheckFailure>, e: ExprRef) -> ExprRef {
        if self.context.implies(p) {
            return e;
        }
        let ty = e.ty.clone();
        let checked = e.with_kind(ExprKind::Check(p.clone(), Arc::clone(failing), e.clone()), ty);
        self.bind("d", checked)
    }

    /// Adds a check to each part of the arguments' cotangents. If the argument has this part,
    /// `agrees` must hold: the cotangent of the result has the constructors of the result.
    pub(super) fn check_cotangent_agreement(
        &mut self,
        agrees: &Pred,
        failing: &Arc<CheckFailure>,
        varying: &WrtValues,
        parts: Vec<ExprRef>,
    ) -> Vec<ExprRef> {
        if agrees.is_true() {
            return parts;
        }
        let real = |e: &ExprRef| e.ty.leaves().into_iter().filter(is_real_leaf).collect::<Vec<TypeLeaf>>();
        let of: Vec<(ExprRef, TypeLeaf)> =
            varying.iter().flatten().flat_map(|e| real(e).into_iter().map(|leaf| (e.clone(), leaf))).collect();
        let mut checked = Vec::new();
        for (part, (value, leaf)) in parts.into_iter().zip(of) {
            let held = self.presence_pred(&value, &leaf.path);
            let p = Pred::any_of([held.negated(), agrees.clone()]);
            checked.push(self.check_agreement(&p, failing, part));
        }
        checked
    }

    /// Returns the predicate that a value has an element at a path. Its constructors decide which
    /// paths exist.
    fn presence_pred(&mut self, value: &ExprRef, path: &[u32]) -> Pred {
        let (mut ty, mut indices, mut all) = (value.ty.clone(), Vec::new(), Vec::new());
        for (step, k) in path.iter().enumerate() {
            while let CoreType::Tensor(n, inner) = ty {
                indices.push(self.vars.fresh_index("i", n));
                ty = (*inner).clone();
            }
            let CoreType::Tuple(types, labels) = ty else { break };
            if let (Some(sum), Some(of)) = (labels.sum(), k.checked_sub(1))
                && sum.constructors.len() > 1
            {
                let number: Vec<u32> = path.iter().take(step).copied().chain([0]).collect();
                let number = self.constructor_number(value, &number, &indices);
                all.push(Pred::equal(&number, &Poly::constant(of.into())));
            }
            ty = types.get(*k as usize).cloned().unwrap_or_else(CoreType::unit);
        }
        while let CoreType::Tensor(n, inner) = ty {
            indices.push(self.vars.fresh_index("i", n));
            ty = (*inner).clone();
        }
        indices.iter().rev().fold(Pred::all(all), |p, i| Pred::exists(i, &p))
    }

    /// Returns the predicate that a tangent has the constructors of the value.
    pub(super) fn agreement_pred(&mut self, value: &ExprRef, tangent: &ExprRef) -> Pred {
        let ty = value.ty.clone();
        self.agreement_pred_at(&ty, (value, tangent), &mut Vec::new(), &mut Vec::new())
    }

    fn agreement_pred_at(
        &mut self,
        ty: &CoreType,
        of: (&ExprRef, &ExprRef),
        path: &mut Vec<u32>,
        at: &mut Vec<Index>,
    ) -> Pred {
        if !contains_sum_type(ty) {
            return Pred::truth();
        }
        match ty {
            CoreType::Scalar(_) | CoreType::Rel(_) => Pred::truth(),
            CoreType::Tensor(n, inner) => {
                let index = self.vars.fresh_index("i", n.clone());
                at.push(index.clone());
                let all = self.agreement_pred_at(inner, of, path, at);
                at.pop();
                Pred::exists(&index, &all.negated()).negated()
            }
            CoreType::Tuple(types, TupleLabels::Sum(sum)) => {
                path.push(0);
                let own = self.constructor_number(of.0, path, at);
                let same = match sum.constructors.len() {
                    1 => Pred::truth(),
                    _ => Pred::equal(&own, &self.constructor_number(of.1, path, at)),
                };
                path.pop();
                let mut all = vec![same];
                for (k, ty) in (0_u32..).zip(types.iter().skip(1)) {
                    path.push(k + 1);
                    let inside = self.agreement_pred_at(ty, of, path, at);
                    path.pop();
                    let other = Pred::equal(&own, &Poly::constant(k.into())).negated();
                    all.push(Pred::any_of([other, inside]));
                }
                Pred::all(all)
            }
            CoreType::Tuple(types, _) => {
                let mut all = Vec::new();
                for (k, ty) in (0..).zip(types.iter()) {
                    path.push(k);
                    all.push(self.agreement_pred_at(ty, of, path, at));
                    path.pop();
                }
                Pred::all(all)
            }
        }
    }

    /// Returns the constructor number at a path in a value and at these indices.
    fn constructor_number(&mut self, of: &ExprRef, path: &[u32], at: &[Index]) -> Poly {
        let part = self.component_array(of, path);
        if at.is_empty()
            && let SymbolicValue::Int { poly, .. } = self.symbolic_value(part.clone())
        {
            return poly;
        }
        let part = if matches!(part.kind, ExprKind::Var(_)) { part } else { self.bind_always(&part) };
        match part.kind {
            ExprKind::Var(x) => Poly::atom(Atom::Read(x, self.vars.name(x), at.iter().map(Index::value).collect())),
            _ => Poly::default(),
        }
    }
}

fn contains_sum_type(ty: &CoreType) -> bool {
    match ty {
        CoreType::Tuple(items, labels) => labels.sum().is_some() || items.iter().any(contains_sum_type),
        CoreType::Tensor(_, inner) => contains_sum_type(inner),
        CoreType::Scalar(_) | CoreType::Rel(_) => false,
    }
}

//! **Derivatives of sum types.** A tangent or cotangent must have the constructors of the value
//! that it belongs to. These functions compute that condition and check it; the derivative fails if
//! it does not hold.

use std::sync::Arc;

use super::derive::{Varying, is_real};
use super::{Elaborator, Frame, Sym};
use lang_base::Code;
use lang_ir::core::{CoreType, E, Failing, Kind, Labels, Leaf};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::TId;

impl Elaborator<'_> {
    /// Returns the failure of a tangent with another constructor.
    pub(super) fn disagreeing(&self, f: &Frame, node: TId) -> Arc<Failing> {
        self.failing(f, node, Code::E0501, crate::norm::OTHER_CONSTRUCTOR)
    }

    /// Returns a value with the check that a predicate holds.
    pub(super) fn agreeing(&mut self, p: &Pred, failing: &Arc<Failing>, e: E) -> E {
        if self.context.implies(p) {
            return e;
        }
        let ty = e.ty.clone();
        let checked = e.with(Kind::Check(p.clone(), Arc::clone(failing), e.clone()), ty);
        self.bind("d", checked)
    }

    /// Adds a check to each cotangent of the varying arguments: if its part exists in the value,
    /// the result's cotangent must agree with the result.
    pub(super) fn agreeing_parts(
        &mut self,
        agrees: &Pred,
        failing: &Arc<Failing>,
        varying: &Varying,
        parts: Vec<E>,
    ) -> Vec<E> {
        if agrees.is_true() {
            return parts;
        }
        let real = |e: &E| e.ty.leaves().into_iter().filter(is_real).collect::<Vec<Leaf>>();
        let of: Vec<(E, Leaf)> =
            varying.iter().flatten().flat_map(|e| real(e).into_iter().map(|leaf| (e.clone(), leaf))).collect();
        let mut made = Vec::new();
        for (part, (value, leaf)) in parts.into_iter().zip(of) {
            let held = self.held(&value, &leaf.path);
            let p = Pred::any_of([held.negated(), agrees.clone()]);
            made.push(self.agreeing(&p, failing, part));
        }
        made
    }

    /// Returns the predicate that a value has anything at a path, judged by its constructors.
    fn held(&mut self, value: &E, path: &[u32]) -> Pred {
        let (mut ty, mut indices, mut all) = (value.ty.clone(), Vec::new(), Vec::new());
        for (step, k) in path.iter().enumerate() {
            while let CoreType::Tensor(n, inner) = ty {
                indices.push(self.vars.index("i", n));
                ty = (*inner).clone();
            }
            let CoreType::Tuple(types, labels) = ty else { break };
            if let (Some(sum), Some(of)) = (labels.sum(), k.checked_sub(1))
                && sum.constructors.len() > 1
            {
                let number: Vec<u32> = path.iter().take(step).copied().chain([0]).collect();
                let number = self.number(value, &number, &indices);
                all.push(Pred::equal(&number, &Poly::constant(of.into())));
            }
            ty = types.get(*k as usize).cloned().unwrap_or_else(CoreType::unit);
        }
        while let CoreType::Tensor(n, inner) = ty {
            indices.push(self.vars.index("i", n));
            ty = (*inner).clone();
        }
        indices.iter().rev().fold(Pred::all(all), |p, i| Pred::exists(i, &p))
    }

    /// Returns the predicate that a tangent has the constructors of the value.
    pub(super) fn agrees(&mut self, value: &E, tangent: &E) -> Pred {
        let ty = value.ty.clone();
        self.agrees_at(&ty, (value, tangent), &mut Vec::new(), &mut Vec::new())
    }

    fn agrees_at(&mut self, ty: &CoreType, of: (&E, &E), path: &mut Vec<u32>, at: &mut Vec<Index>) -> Pred {
        if !holds_sum(ty) {
            return Pred::truth();
        }
        match ty {
            CoreType::Scalar(_) | CoreType::Rel(_) => Pred::truth(),
            CoreType::Tensor(n, inner) => {
                let index = self.vars.index("i", n.clone());
                at.push(index.clone());
                let all = self.agrees_at(inner, of, path, at);
                at.pop();
                Pred::exists(&index, &all.negated()).negated()
            }
            CoreType::Tuple(types, Labels::Sum(sum)) => {
                path.push(0);
                let own = self.number(of.0, path, at);
                let same = match sum.constructors.len() {
                    1 => Pred::truth(),
                    _ => Pred::equal(&own, &self.number(of.1, path, at)),
                };
                path.pop();
                let mut all = vec![same];
                for (k, ty) in (0_u32..).zip(types.iter().skip(1)) {
                    path.push(k + 1);
                    let inside = self.agrees_at(ty, of, path, at);
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
                    all.push(self.agrees_at(ty, of, path, at));
                    path.pop();
                }
                Pred::all(all)
            }
        }
    }

    /// Returns the constructor number at a path in a value and at these indices.
    fn number(&mut self, of: &E, path: &[u32], at: &[Index]) -> Poly {
        let part = self.part_at(of, path);
        if at.is_empty()
            && let Sym::Int { poly, .. } = self.known(part.clone())
        {
            return poly;
        }
        let part = if matches!(part.kind, Kind::Var(_)) { part } else { self.bind_always(&part) };
        match part.kind {
            Kind::Var(x) => Poly::atom(Atom::Read(x, self.vars.name(x), at.iter().map(Index::value).collect())),
            _ => Poly::default(),
        }
    }
}

fn holds_sum(ty: &CoreType) -> bool {
    match ty {
        CoreType::Tuple(items, labels) => labels.sum().is_some() || items.iter().any(holds_sum),
        CoreType::Tensor(_, inner) => holds_sum(inner),
        CoreType::Scalar(_) | CoreType::Rel(_) => false,
    }
}

//! Tangents and cotangents of values of sum types: they are made with the constructors of the values that they belong
//! to, or the derivative fails.

use std::sync::Arc;

use super::{Elaborator, Frame, Sym};
use crate::base::Code;
use crate::ir::core::{CoreType, E, Failing, Kind, Labels};
use crate::predicate::{Atom, Index, Poly, Pred};
use crate::types::tree::TId;

impl Elaborator<'_> {
    /// What fails where it does not.
    pub(super) fn disagreeing(&self, f: &Frame, node: TId) -> Arc<Failing> {
        self.failing(f, node, Code::E0501, crate::norm::OTHER_CONSTRUCTOR)
    }

    /// A value where a predicate has to hold.
    pub(super) fn agreeing(&mut self, p: &Pred, failing: &Arc<Failing>, e: E) -> E {
        if self.context.implies(p) {
            return e;
        }
        let ty = e.ty.clone();
        let checked = e.with(Kind::Check(p.clone(), Arc::clone(failing), e.clone()), ty);
        self.bind("d", checked)
    }

    /// Is a tangent made with the constructors of the value?
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

    /// The number of a constructor, at a path in a value and at indices.
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

//! **Jacobians.** Calls the forward derivative for each coordinate of the argument, or the adjoint
//! for each coordinate of the result, whichever are fewer. If sizes decide that, the run chooses.
//!
//! The unit seed is a bracket, `[i == j]`. So where the derived function is inlined, nothing is
//! computed for the zeros of the seed.

use std::sync::Arc;

use super::derive::{Target, Varying, inputs, is_real, tuple, unit};
use super::{Elaborator, Sym};
use lang_base::Span;
use lang_ir::core::{Constant, CoreType, Derivation, E, Expr, Kind, Labels, Leaf};
use lang_sizes::predicate::{Index, Poly, Pred};
use lang_syntax::ops::Scalar;

impl Elaborator<'_> {
    /// Builds the blocks of partial derivatives, axes of the result first. `first` is the number of
    /// the first part of the result to include.
    pub(super) fn jacobian(&mut self, target: &Target, first: usize, of: &Blocks, by: &Blocks, span: Span) -> Sym {
        let rows = count(target.outputs.iter().skip(first).filter(|leaf| is_real(leaf)));
        let columns = count(target.by.iter().map(|(_, leaf)| leaf));
        let fewer = Pred::at_most(&columns, &rows);
        let real: Vec<usize> =
            (0..target.outputs.len()).filter(|k| target.outputs.get(*k).is_some_and(is_real)).collect();
        let pass = Pass { target, real: &real, span };
        // If the context decides the comparison, only one of the two modes is generated.
        let always = self.context.implies(&fewer);
        let never = !always && self.context.refutes(&fewer);
        let forward = if never { None } else { Some(self.columns(&pass, &fewer)) };
        let reverse = if always { None } else { Some(self.rows(&pass, &fewer.negated())) };
        let made = Made { forward, reverse, fewer };
        let block = &mut |this: &mut Self, row: usize, column: usize| this.dense(&pass, row, column, &made);
        let e = self.blocks(of, by, block, span);
        self.known(e)
    }

    /// Returns, for each part of the argument, the tangents of the result along each of its
    /// coordinates.
    fn columns(&mut self, pass: &Pass<'_>, when: &Pred) -> Vec<Vec<E>> {
        let target = pass.target;
        let real: Vec<Leaf> = pass.real.iter().filter_map(|k| target.outputs.get(*k)).cloned().collect();
        let calls = target.by.iter().map(|(input, leaf)| {
            let along = Derivation::Forward(Arc::from([*input]));
            self.unit_calls(pass, leaf, along, &real, when)
        });
        calls.collect()
    }

    /// Returns, for each real part of the result, the cotangents of the argument for each of its
    /// coordinates.
    fn rows(&mut self, pass: &Pass<'_>, when: &Pred) -> Vec<Vec<E>> {
        let target = pass.target;
        let by: Vec<Leaf> = target.by.iter().map(|(_, leaf)| leaf.clone()).collect();
        let calls = pass.real.iter().filter_map(|k| {
            let of = Arc::from([u32::try_from(*k).unwrap_or(u32::MAX)]);
            let along = Derivation::Adjoint { of, wrt: inputs(target) };
            Some(self.unit_calls(pass, target.outputs.get(*k)?, along, &by, when))
        });
        calls.collect()
    }

    /// Calls the derivative once for each coordinate of a part, with a unit seed. Returns the parts
    /// that follow the value, each with the coordinate's indices first.
    fn unit_calls(&mut self, pass: &Pass<'_>, leaf: &Leaf, along: Derivation, gives: &[Leaf], when: &Pred) -> Vec<E> {
        let (target, span) = (pass.target, pass.span);
        let coordinate: Vec<Index> = leaf.dims.iter().map(|n| self.vars.index("i", n.clone())).collect();
        let own: Vec<Index> = leaf.dims.iter().map(|n| self.vars.index("j", n.clone())).collect();
        let scalar = CoreType::Scalar(leaf.scalar.unwrap_or(Scalar::F64));
        let one = Expr::new(Kind::Constant(Constant::Real(1.0)), scalar, span);
        let here = Pred::all(own.iter().zip(&coordinate).map(|(a, b)| Pred::equal(&a.value(), &b.value())));
        let seed = own.into_iter().rev().fold(Expr::guard(here, one), |e, i| Expr::generate(i, e));
        let callee = Arc::new(target.callee.derive(along));
        let parts: Vec<CoreType> = target.outputs.iter().chain(gives).map(Leaf::ty).collect();
        let args = target.args.iter().cloned().chain([seed]).collect();
        let call = Kind::Call(callee, target.sizes.clone(), args);
        let call = Expr::new(call, CoreType::tuple(parts), span);
        let calls = coordinate.into_iter().rev().fold(call, |e, i| Expr::generate(i, e));
        let calls = self.bind("d", Expr::guard(when.clone(), calls));
        let first = target.outputs.len();
        (0..gives.len()).map(|k| self.part_at(&calls, &[u32::try_from(first + k).unwrap_or(u32::MAX)])).collect()
    }

    /// Builds one block: the extents of a part of the result, then those of a part of the argument.
    fn dense(&mut self, pass: &Pass<'_>, row: usize, column: usize, made: &Made) -> E {
        let nth = pass.real.iter().position(|k| *k == row).unwrap_or_default();
        let outer = pass.target.outputs.get(row).map(|leaf| leaf.dims.clone()).unwrap_or_default();
        let inner = pass.target.by.get(column).map(|(_, leaf)| leaf.dims.clone()).unwrap_or_default();
        let of: Vec<Index> = outer.into_iter().map(|n| self.vars.index("i", n)).collect();
        let by: Vec<Index> = inner.into_iter().map(|n| self.vars.index("j", n)).collect();
        let at = |e: &E, first: &[Index], then: &[Index]| {
            first.iter().chain(then).fold(e.clone(), |e, i| Expr::access(&e, i.value()))
        };
        let forward = made.forward.as_ref().and_then(|f| f.get(column)?.get(nth)).map(|e| at(e, &by, &of));
        let reverse = made.reverse.as_ref().and_then(|r| r.get(nth)?.get(column)).map(|e| at(e, &of, &by));
        let element = match (forward, reverse) {
            (Some(f), Some(r)) => {
                let ty = f.ty.clone();
                let terms = vec![Expr::guard(made.fewer.clone(), f), Expr::guard(made.fewer.negated(), r)];
                Expr::new(Kind::Add(terms), ty, pass.span)
            }
            (Some(e), None) | (None, Some(e)) => e,
            (None, None) => unit(pass.span),
        };
        of.into_iter().chain(by).rev().fold(element, |e, i| Expr::generate(i, e))
    }

    /// Arranges the blocks in the structure of the result, then of the argument.
    fn blocks(
        &mut self,
        of: &Blocks,
        by: &Blocks,
        block: &mut dyn FnMut(&mut Self, usize, usize) -> E,
        span: Span,
    ) -> E {
        match (of, by) {
            (Blocks::Tuple(items, names), _) => {
                let items = items.iter().map(|of| self.blocks(of, by, block, span)).collect();
                tuple(items, names.clone(), span)
            }
            (_, Blocks::Tuple(items, names)) => {
                let items = items.iter().map(|by| self.blocks(of, by, block, span)).collect();
                tuple(items, names.clone(), span)
            }
            (Blocks::Part(row), Blocks::Part(column)) => block(self, *row, *column),
            (Blocks::Constant, _) | (_, Blocks::Constant) => unit(span),
        }
    }
}

/// A Jacobian under construction.
struct Pass<'t> {
    target: &'t Target,
    /// The positions of the real parts of the result.
    real: &'t [usize],
    span: Span,
}

/// The tangents and cotangents from which the blocks are read.
struct Made {
    /// The tangents, for each part of the argument and each real part of the result.
    forward: Option<Vec<Vec<E>>>,
    /// The cotangents, for each real part of the result and each part of the argument.
    reverse: Option<Vec<Vec<E>>>,
    /// The predicate under which the tangents are used.
    fewer: Pred,
}

/// The structure of a result or argument: tuples of parts.
pub(super) enum Blocks {
    /// A real part, by its number.
    Part(usize),
    /// A part that is not real.
    Constant,
    Tuple(Vec<Self>, Labels),
}

impl Blocks {
    /// Returns the structure of a result. Part numbers count all its leaves.
    pub(super) fn of(ty: &CoreType) -> Self {
        Self::made(ty, &mut 0, false)
    }

    /// Returns the structure of the varying arguments. Part numbers count real leaves.
    pub(super) fn by(varying: &Varying, bare: bool) -> Self {
        let mut next = 0;
        let mut items: Vec<Self> =
            varying.iter().map(|e| e.as_ref().map_or(Self::Constant, |e| Self::made(&e.ty, &mut next, true))).collect();
        match (bare, items.pop()) {
            (true, Some(one)) => one,
            (_, last) => Self::Tuple(items.into_iter().chain(last).collect(), Labels::Places),
        }
    }

    fn made(ty: &CoreType, next: &mut usize, real_only: bool) -> Self {
        match ty {
            CoreType::Tuple(types, names) => {
                Self::Tuple(types.iter().map(|t| Self::made(t, next, real_only)).collect(), names.clone())
            }
            _ => {
                let real = ty.leaves().iter().any(is_real);
                let at = *next;
                *next += usize::from(real || !real_only);
                if real { Self::Part(at) } else { Self::Constant }
            }
        }
    }

    /// Returns the structure of a gradient by arguments of this structure, with part numbers from
    /// `after` on. Parts that are not real are `()`.
    pub(super) fn of_gradient(&self, after: usize) -> Self {
        match self {
            Self::Part(k) => Self::Part(k + after),
            Self::Constant => Self::Tuple(Vec::new(), Labels::Places),
            Self::Tuple(items, names) => {
                Self::Tuple(items.iter().map(|b| b.of_gradient(after)).collect(), names.clone())
            }
        }
    }
}

/// Returns the total number of elements of these leaves.
fn count<'l>(leaves: impl Iterator<Item = &'l Leaf>) -> Poly {
    let size = |leaf: &Leaf| leaf.dims.iter().fold(Poly::constant(1), |product, n| product.mul(n));
    leaves.fold(Poly::default(), |sum, leaf| sum.add(&size(leaf)))
}

//! **Reductions** other than sums: products, maxima and minima, and their positions, in core, in
//! Tensor SSA and in solved form. A value that the filter excludes contributes no term; it does not
//! count as zero.
//!
//! Terms are folded from the left, in the order of the bound indices with the last one fastest. As
//! in the interpreter, the first of equal maxima wins, and a NaN is both greater and less than
//! every number.
//!
//! `argmax` and `argmin` return the value of an index expression, the *place*, at the chosen term.
//! Over no terms they return −1, which is no index.

use super::builder::{SsaBuilder, eliminate_index, find_pinned_index};
use super::core::{Constant, ExprRef, ScalarOp};
use super::ssa::{Addend, Rhs, StmtId, TensorAccess, index_number, statement_index};
use super::value::{self, IrValue};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::{BinderKind, Scalar};

/// The operator that combines terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reducer {
    /// The product.
    Prod,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
    /// The place of the first maximum.
    Argmax,
    /// The place of the first minimum.
    Argmin,
}

impl Reducer {
    /// All reducers.
    pub const ALL: [Self; 5] = [Self::Prod, Self::Max, Self::Min, Self::Argmax, Self::Argmin];

    /// Returns the reducer of a binder.
    #[must_use]
    pub fn from_binder(kind: BinderKind) -> Option<Self> {
        Some(match kind {
            BinderKind::Prod => Self::Prod,
            BinderKind::Max => Self::Max,
            BinderKind::Min => Self::Min,
            BinderKind::Argmax => Self::Argmax,
            BinderKind::Argmin => Self::Argmin,
            _ => return None,
        })
    }

    /// Returns the keyword of the binder.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Argmax => "argmax",
            Self::Argmin => "argmin",
        }
    }

    /// Whether the result is a place, not a value.
    #[must_use]
    pub fn is_arg_reduction(self) -> bool {
        matches!(self, Self::Argmax | Self::Argmin)
    }

    /// Returns the reducer that yields the place of the chosen term, or `None` for a product.
    #[must_use]
    pub fn arg_reducer(self) -> Option<Self> {
        match self {
            Self::Prod => None,
            Self::Max | Self::Argmax => Some(Self::Argmax),
            Self::Min | Self::Argmin => Some(Self::Argmin),
        }
    }

    /// Returns the result over no terms, for the cases that are not failures.
    #[must_use]
    pub fn empty_result(self, of: Scalar) -> Constant {
        let real = matches!(of, Scalar::F64 | Scalar::F32);
        match self {
            Self::Prod if real => Constant::Real(1.0),
            Self::Prod => Constant::Int(1),
            Self::Max if real => Constant::Real(f64::NEG_INFINITY),
            Self::Min if real => Constant::Real(f64::INFINITY),
            Self::Max | Self::Min => Constant::Int(0),
            Self::Argmax | Self::Argmin => Constant::Int(-1),
        }
    }

    /// Returns a start value that the first term replaces or leaves unchanged. It is not the result
    /// over no terms, which is [`Self::empty_result`].
    #[must_use]
    pub fn initial_value(self, of: Scalar) -> Constant {
        match self {
            Self::Max if of == Scalar::I64 => Constant::Int(i64::MIN),
            Self::Min if of == Scalar::I64 => Constant::Int(i64::MAX),
            _ => self.empty_result(of),
        }
    }

    /// Whether an empty reduction is a failure.
    #[must_use]
    pub fn rejects_empty(self, of: Scalar) -> bool {
        self.is_arg_reduction() || self != Self::Prod && of == Scalar::I64
    }

    /// Combines the accumulated value and its place with one more term. Returns `None` if the types
    /// of the values differ.
    #[must_use]
    pub fn combine(self, before: (IrValue, i64), term: IrValue, place: i64) -> Option<(IrValue, i64)> {
        let (old, at) = before;
        let of = |f| value::apply_op(ScalarOp::Scalar(f), &[old.clone(), term.clone()]);
        Some(match self {
            Self::Prod => (old.checked_mul(&term)?, at),
            Self::Max => (of(ScalarFn::Max)?, at),
            Self::Min => (of(ScalarFn::Min)?, at),
            Self::Argmax | Self::Argmin if replaces_best(&term, &old, self == Self::Argmax)? => (term, place),
            Self::Argmax | Self::Argmin => (old, at),
        })
    }
}

/// Whether the term replaces the best one so far.
fn replaces_best(term: &IrValue, best: &IrValue, greatest: bool) -> Option<bool> {
    let real = |a: f64, best: f64| !best.is_nan() && (a.is_nan() || if greatest { a > best } else { a < best });
    Some(match (term, best) {
        (IrValue::F64(a), IrValue::F64(b)) => real(*a, *b),
        (IrValue::F32(a), IrValue::F32(b)) => real(f64::from(*a), f64::from(*b)),
        (IrValue::I64(a), IrValue::I64(b)) => {
            if greatest {
                a > b
            } else {
                a < b
            }
        }
        _ => return None,
    })
}

/// `max i < n, j < m if p: e` in core. The terms are scalars.
#[derive(Clone, PartialEq, Debug)]
pub struct CoreReduction {
    /// The operator that combines terms.
    pub reducer: Reducer,
    /// The bound indices, the last one fastest.
    pub indices: Vec<Index>,
    /// The filter of the terms.
    pub filter: Pred,
    /// The result of `argmax` and `argmin`, at the chosen term.
    pub arg_value: Poly,
    /// The terms.
    pub body: ExprRef,
}

impl CoreReduction {
    /// Maps the body, the polynomials and the predicate.
    #[must_use]
    pub fn map(
        &self,
        e: &mut dyn FnMut(&ExprRef) -> ExprRef,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> Box<Self> {
        let index = |i: &Index| Index { extent: poly(&i.extent), ..i.clone() };
        Box::new(Self {
            reducer: self.reducer,
            indices: self.indices.iter().map(index).collect(),
            filter: pred(&self.filter),
            arg_value: poly(&self.arg_value),
            body: e(&self.body),
        })
    }
}

/// Returns the position of an index tuple in the order of the terms.
#[must_use]
pub fn linear_index(indices: &[Index]) -> Poly {
    indices.iter().fold(Poly::default(), |number, i| number.mul(&i.extent).add(&i.value()))
}

/// Returns the index tuple of the term at this position, over these extents.
#[must_use]
pub fn delinearize<'n>(extents: impl DoubleEndedIterator<Item = &'n Poly>, number: &Poly) -> Vec<Poly> {
    let mut at = Vec::new();
    let mut rest = number.clone();
    let mut extents = extents.rev().peekable();
    while let Some(n) = extents.next() {
        // The first index is the whole remaining quotient. A division by 0 occurs only if there are
        // no terms.
        let last = extents.peek().is_some().then(|| Some((rest.rem(n)?, rest.div(n)?))).flatten();
        let (own, before) = last.unwrap_or_else(|| (rest.clone(), Poly::default()));
        at.push(own);
        rest = before;
    }
    at.reverse();
    at
}

/// `[p] · max s if q: X[a]` in Tensor SSA.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SsaReduction {
    /// The operator that combines terms.
    pub reducer: Reducer,
    /// The extents of the bound indices.
    pub bound: Vec<Poly>,
    /// The domain, over the statement's own indices. The result is zero elsewhere.
    pub pred: Pred,
    /// The filter of the terms, over the bound indices too. Without terms the result is
    /// [`Reducer::empty_result`].
    pub filter: Pred,
    /// The result of `argmax` and `argmin`, at the chosen term.
    pub arg_value: Poly,
    /// The terms.
    pub operand: TensorAccess,
}

impl SsaReduction {
    /// Maps the polynomials, the predicates and the access.
    #[must_use]
    pub fn map(
        &self,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
        access: &mut dyn FnMut(&TensorAccess) -> TensorAccess,
    ) -> Self {
        Self {
            reducer: self.reducer,
            bound: self.bound.iter().map(poly).collect(),
            pred: pred(&self.pred),
            filter: pred(&self.filter),
            arg_value: poly(&self.arg_value),
            operand: access(&self.operand),
        }
    }

    /// Substitutes the indices.
    #[must_use]
    pub fn substitute_indices(&self, poly: &dyn Fn(&Poly) -> Poly) -> Self {
        let access = |a: &TensorAccess| TensorAccess { var: a.var, at: a.at.iter().map(poly).collect() };
        self.map(poly, &|p| p.map(poly), &mut &access)
    }

    /// Returns the predicate of the visited terms.
    #[must_use]
    pub fn visited_domain(&self) -> Pred {
        self.pred.and(&self.filter)
    }

    /// Returns the position of a term, in a statement with `free` indices of its own.
    #[must_use]
    pub fn linear_index(&self, free: usize) -> Poly {
        let bound: Vec<Index> = self.bound.iter().enumerate().map(|(k, n)| statement_index(free + k, n)).collect();
        linear_index(&bound)
    }

    /// Whether the place of a term is its position.
    #[must_use]
    pub fn returns_linear_index(&self, free: usize) -> bool {
        self.arg_value == self.linear_index(free)
    }

    /// Finds a bound index that an equation determines from the indices before it, so that
    /// eliminating it keeps the order of the terms.
    fn determined_index(&self, free: usize) -> Option<(usize, Poly)> {
        (0..self.bound.len()).rev().find_map(|k| {
            let value = self.filter.solve_for(&statement_index(free + k, &Poly::default()).atom())?;
            let mut earlier = true;
            value.for_each_atom(&mut |a| {
                earlier &= !matches!(a, Atom::Local(l, _) if index_number(*l).is_some_and(|j| j > free + k));
            });
            earlier.then_some((k, value))
        })
    }

    /// Whether the reduction depends on the index.
    fn mentions(&self, atom: &Atom) -> bool {
        let varies = |p: &Poly| p.mentions(atom);
        self.pred.mentions(atom)
            || self.filter.mentions(atom)
            || self.bound.iter().chain(&self.operand.at).chain([&self.arg_value]).any(varies)
    }
}

impl SsaBuilder {
    /// Builds a reduction in solved form. Bound indices that equations determine are eliminated, as
    /// are indices of the result that equations pin. A reduction that does not depend on an index
    /// is computed once.
    pub fn reduce(&mut self, dims: &[Poly], scalar: Scalar, reduce: SsaReduction, mut needs: Vec<u32>) -> StmtId {
        let free = dims.len();
        let mut r = reduce;
        r.pred = self.simplify(dims, &self.resolve_pred_reads(&r.pred));
        if r.pred.is_false() {
            return self.zero(dims, scalar);
        }
        r.filter = self.simplify_filter(dims, &r);
        while let Some((k, value)) = r.determined_index(free) {
            let extent = r.bound.remove(k);
            let inside = Pred::in_range(&eliminate_index(&value, free + k, &Poly::default()), &extent);
            r = r.substitute_indices(&|p| eliminate_index(p, free + k, &value));
            r.filter = inside.and(&r.filter);
            r.filter = self.simplify_filter(dims, &r);
        }
        let all: Vec<Poly> = dims.iter().chain(&r.bound).cloned().collect();
        match self.read_through_views(&r.operand) {
            Some(inner) if !inner.neg && self.implies(&all, &r.visited_domain(), &inner.pred) => {
                needs.extend(inner.needs);
                r.operand = inner.access;
            }
            _ => needs.extend(self.needs_of(r.operand.var)),
        }
        if let Some(var) = self.reduce_single_term(dims, scalar, &r, &needs) {
            return var;
        }
        if let Some((k, value)) = find_pinned_index(free, &r.pred, false) {
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| n.clone()).collect();
            let put = |p: &Poly| eliminate_index(p, k, &value);
            let inside = dims.get(k).map_or(Pred::truth(), |n| Pred::in_range(&put(&value), &put(n)));
            let mut inner = r.substitute_indices(&put);
            inner.pred = inside.and(&inner.pred);
            let inner = self.reduce(&rest, scalar, inner, needs.clone());
            return self.reinsert_index(dims, k, &value, &r.pred, inner, needs);
        }
        let same = |k: &usize| !r.mentions(&statement_index(*k, &Poly::default()).atom());
        if let Some(k) = (0..free).find(same) {
            let put = |p: &Poly| eliminate_index(p, k, &Poly::default());
            let rest: Vec<Poly> = dims.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, n)| put(n)).collect();
            let some = dims.get(k).map(|n| Pred::less(&Poly::default(), &put(n))).unwrap_or_default();
            let mut inner = r.substitute_indices(&put);
            inner.pred = some.and(&inner.pred);
            let var = self.reduce(&rest, scalar, inner, needs.clone());
            let at = (0..free).filter(|j| *j != k).map(|j| statement_index(j, &Poly::default()).value()).collect();
            return self.contract(dims, Vec::new(), &Pred::truth(), false, &[TensorAccess { var, at }], needs);
        }
        self.push(dims.to_vec(), Some(scalar), Rhs::Reduce(r), needs)
    }

    /// Simplifies the filter under the domain of the reduction.
    fn simplify_filter(&self, dims: &[Poly], r: &SsaReduction) -> Pred {
        let all: Vec<Poly> = dims.iter().chain(&r.bound).cloned().collect();
        let mut context = self.context(&all);
        context.assume(&r.pred);
        context.simplify(&self.resolve_pred_reads(&r.filter))
    }

    /// Builds a reduction over no term, or over at most one term whose presence depends only on
    /// indices and sizes. Returns `None` for any other.
    fn reduce_single_term(&mut self, dims: &[Poly], scalar: Scalar, r: &SsaReduction, needs: &[u32]) -> Option<StmtId> {
        let none = r.filter.is_false();
        if !none && (!r.bound.is_empty() || r.filter.depends_on_data()) {
            return None;
        }
        let mut terms = Vec::new();
        if !none {
            let of = if r.reducer.is_arg_reduction() {
                let at = dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
                let var = self.push(dims.to_vec(), Some(scalar), Rhs::Index(r.arg_value.clone()), Vec::new());
                TensorAccess { var, at }
            } else {
                r.operand.clone()
            };
            terms.push(Addend { neg: false, pred: r.visited_domain(), operand: of });
        }
        let var = self.constant(r.reducer.empty_result(scalar), scalar);
        let of = TensorAccess { var, at: Vec::new() };
        terms.push(Addend { neg: false, pred: r.pred.and(&r.filter.negated()), operand: of });
        Some(self.add(dims, scalar, &terms, needs.to_vec()))
    }
}

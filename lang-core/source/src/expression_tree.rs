//! **Expression trees for printing.** A `SourceExpr` is the value of a Tensor SSA statement in the
//! form that a reader expects. It has products with any number of factors, quotients, powers, sums
//! and choices.
//!
//! The constructors normalise, so that equal expressions compare equal up to signs, constants and
//! nesting. Module [`super::rules`] does the simplification that depends on the context of an
//! expression. Index variables have unique numbers, so substituting one expression into another
//! captures nothing.

use super::table::StatementFacts;
use lang_ir::core::{Constant, ScalarOp};
use lang_ir::reduce::Reducer;
use lang_ir::ssa::{FIRST_INDEX_LOCAL, StmtId, for_each_poly_read, for_each_pred_read};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::BinOp;

/// The most nodes of an expression that may be duplicated, if evaluating it costs nothing.
const MAX_DUPLICATED_NODES: usize = 12;

/// An expression: a number or a truth value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum SourceExpr {
    /// A constant that is not real. A real constant is a `Product` without factors.
    Constant(Constant),
    /// The value of an index expression.
    Index(Poly),
    /// An element of a statement.
    Read(StmtId, Vec<Poly>),
    /// At least two terms; the flag marks a subtracted term.
    Sum(Vec<(bool, SourceExpr)>),
    /// Factors and divisors, with a constant in the numerator and one in the denominator.
    Product(ProductExpr),
    /// `e ^ k`, where `k` is 2 or more.
    Power(Box<SourceExpr>, i64),
    /// `[p] * e`
    Guard(Pred, Box<SourceExpr>),
    /// `sum i, j: [p] * e`
    IndexedSum(Vec<Index>, Pred, Box<SourceExpr>),
    /// `max i, j if p: e` and the other reductions.
    Reduce(Box<ReductionExpr>),
    /// Any other operation.
    Apply(ScalarOp, Vec<SourceExpr>),
    /// `if p then a else b`
    Choice(Pred, Box<SourceExpr>, Box<SourceExpr>),
}

/// `max i, j if p: e`. For `argmax` and `argmin`, `location` is the position of the chosen term.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ReductionExpr {
    pub(super) reducer: Reducer,
    /// Whether it fails over an empty range.
    pub(super) fails_if_empty: bool,
    pub(super) indices: Vec<Index>,
    pub(super) filter: Pred,
    pub(super) location: Poly,
    pub(super) body: SourceExpr,
}

impl ReductionExpr {
    /// Returns the predicate that at least one term exists.
    pub(super) fn has_terms(&self) -> Pred {
        self.indices.iter().rev().fold(self.filter.clone(), |p, i| Pred::exists(i, &p))
    }

    /// Returns the reduction with another body.
    pub(super) fn with_body(&self, body: SourceExpr) -> SourceExpr {
        SourceExpr::Reduce(Box::new(Self { body, ..self.clone() }))
    }

    /// Returns the reduction with another body, and with its polynomials and its filter mapped.
    pub(super) fn map_parts(
        &self,
        body: SourceExpr,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> SourceExpr {
        let index = |i: &Index| Index { extent: poly(&i.extent), ..i.clone() };
        let indices = self.indices.iter().map(index).collect();
        SourceExpr::Reduce(Box::new(Self {
            reducer: self.reducer,
            fails_if_empty: self.fails_if_empty,
            indices,
            filter: pred(&self.filter),
            location: poly(&self.location),
            body,
        }))
    }

    /// Returns the reduction over fresh bound indices.
    fn with_fresh_indices(&self, fresh: &mut dyn FnMut(&Index) -> Index) -> Self {
        let pairs: Vec<(Atom, Index)> = self.indices.iter().map(|i| (i.atom(), fresh(i))).collect();
        let put = |p: &Poly| p.substitute(&|a| pairs.iter().find(|(b, _)| b == a).map(|(_, i)| i.value()));
        Self {
            reducer: self.reducer,
            fails_if_empty: self.fails_if_empty,
            indices: pairs.iter().map(|(_, i)| i.clone()).collect(),
            filter: self.filter.map(&put),
            location: put(&self.location),
            body: self.body.map_polys(&put),
        }
    }
}

/// `by * over… / (per * under…)`
#[derive(Clone, Debug)]
pub(super) struct ProductExpr {
    pub(super) numerator: f64,
    pub(super) denominator: f64,
    pub(super) factors: Vec<SourceExpr>,
    pub(super) divisors: Vec<SourceExpr>,
}

/// NaN equals NaN, because an expression must equal itself: simplification ends when it changes
/// nothing.
impl PartialEq for ProductExpr {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        let Self { numerator: by, denominator: per, factors: over, divisors: under } = self;
        same(*by, other.numerator)
            && same(*per, other.denominator)
            && *over == other.factors
            && *under == other.divisors
    }
}

impl Default for ProductExpr {
    fn default() -> Self {
        Self { numerator: 1.0, denominator: 1.0, factors: Vec::new(), divisors: Vec::new() }
    }
}

impl SourceExpr {
    /// A real constant.
    pub(super) fn real(x: f64) -> Self {
        Self::Product(ProductExpr { numerator: x, ..ProductExpr::default() })
    }

    /// Returns its value, if it is a real constant.
    pub(super) fn as_real(&self) -> Option<f64> {
        match self {
            Self::Product(p)
                if p.factors.is_empty() && p.divisors.is_empty() && p.denominator.to_bits() == 1.0_f64.to_bits() =>
            {
                Some(p.numerator)
            }
            _ => None,
        }
    }

    /// Returns whether it is the constant zero.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Constant(Constant::Int(0) | Constant::Bool(false)) => true,
            _ => self.as_real() == Some(0.0),
        }
    }

    /// Returns its negation.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Constant(Constant::Int(i)) => Self::Constant(Constant::Int(i.wrapping_neg())),
            other => Self::product(-1.0, vec![other], Vec::new()),
        }
    }

    /// Builds a product: folds constants, flattens nested products, merges equal factors into
    /// powers, and lifts the bracket of a factor around the whole product.
    pub(super) fn product(by: f64, over: Vec<Self>, under: Vec<Self>) -> Self {
        let mut product = ProductExpr { numerator: by, ..ProductExpr::default() };
        let mut pred = Pred::truth();
        for factor in over {
            product.multiply(factor, &mut pred);
        }
        for divisor in under {
            product.divide(divisor);
        }
        product.normalise_constants();
        let body = match (product.factors.as_slice(), product.is_plain()) {
            ([_], true) => product.factors.pop().unwrap_or_else(|| Self::real(1.0)),
            _ => Self::Product(product),
        };
        Self::guard(pred, body)
    }

    /// `[p] * e`
    pub(super) fn guard(pred: Pred, e: Self) -> Self {
        if pred.is_true() || e.is_zero() {
            return e;
        }
        match e {
            Self::Guard(q, e) => Self::guard(pred.and(&q), *e),
            e if pred.is_false() => e.zero_like(),
            e => Self::Guard(pred, Box::new(e)),
        }
    }

    /// Returns the zero of its type.
    pub(super) fn zero_like(&self) -> Self {
        match self {
            Self::Constant(Constant::Bool(_)) => Self::Constant(Constant::Bool(false)),
            Self::Constant(Constant::Int(_)) | Self::Index(_) => Self::Constant(Constant::Int(0)),
            Self::Guard(_, e) | Self::IndexedSum(_, _, e) | Self::Choice(_, e, _) => e.zero_like(),
            Self::Apply(ScalarOp::Binary(op), _) if op.is_comparison() => Self::Constant(Constant::Bool(false)),
            Self::Reduce(r) if r.reducer.is_arg_reduction() => Self::Constant(Constant::Int(0)),
            _ => Self::real(0.0),
        }
    }

    /// Builds `sum i, j: [p] * e`; merges a sum directly inside into one sum over all indices.
    pub(super) fn total(indices: Vec<Index>, pred: Pred, e: Self) -> Self {
        if e.is_zero() || pred.is_false() {
            return e.zero_like();
        }
        if indices.is_empty() {
            return Self::guard(pred, e);
        }
        match e {
            Self::Guard(q, e) => Self::total(indices, pred.and(&q), *e),
            Self::IndexedSum(inner, q, e) => {
                let indices = indices.into_iter().chain(inner).collect();
                Self::total(indices, pred.and(&q), *e)
            }
            e => Self::IndexedSum(indices, pred, Box::new(e)),
        }
    }

    /// Builds a sum: flattens nested sums and merges equal terms into one term with a factor.
    pub(super) fn sum(terms: Vec<(bool, Self)>) -> Self {
        let mut flat: Vec<(bool, Self)> = Vec::new();
        for (neg, term) in terms {
            match term {
                Self::Sum(inner) => flat.extend(inner.into_iter().map(|(n, e)| (n ^ neg, e))),
                e if e.is_zero() => {}
                e => {
                    let (sign, e) = e.split_sign();
                    flat.push((neg ^ sign, e));
                }
            }
        }
        // Integer constants fold into one.
        let whole = |t: &(bool, Self)| t.1.as_real().filter(|x| x.fract() == 0.0).map(|x| if t.0 { -x } else { x });
        if flat.iter().filter(|t| whole(t).is_some()).count() > 1 {
            let sum: f64 = flat.iter().filter_map(whole).sum();
            let first = flat.iter().position(|t| whole(t).is_some()).unwrap_or(0);
            flat.retain(|t| whole(t).is_none());
            if sum != 0.0 {
                flat.insert(first, (sum < 0.0, Self::real(sum.abs())));
            }
        }
        let mut kept: Vec<(f64, Self, bool, Self)> = Vec::new();
        for (neg, term) in flat {
            let (by, key, bare) = term.split_constant_factor();
            let by = if neg { -by } else { by };
            match kept.iter_mut().find(|(.., key_kept, real, _)| *key_kept == key && *real == bare.is_some()) {
                Some((sum, _, true, _)) => *sum += by,
                _ => {
                    let real = bare.is_some();
                    kept.push((by, key, real, bare.unwrap_or(term)));
                }
            }
        }
        let mut terms: Vec<(bool, Self)> = kept
            .into_iter()
            .map(|(by, _, real, e)| {
                let e = if real { Self::product(by.abs(), vec![e], Vec::new()) } else { e };
                (by < 0.0, e)
            })
            .collect();
        // An added term comes first, if one exists. An unconditional term comes among the first
        // two.
        if let Some(first) = terms.iter().position(|t| !t.0) {
            let term = terms.remove(first);
            terms.insert(0, term);
        }
        let there = |t: &(bool, Self)| t.1.always_contributes();
        if !terms.iter().take(2).any(there)
            && let Some(next) = terms.iter().position(there)
        {
            let term = terms.remove(next);
            terms.insert(1, term);
        }
        match terms.len() {
            0 => Self::real(0.0),
            1 => terms.pop().map_or_else(|| Self::real(0.0), |(neg, e)| if neg { e.negated() } else { e }),
            _ => Self::Sum(terms),
        }
    }

    /// Returns whether it contributes a term to every sum, for all index values. A bracket whose
    /// predicate is false contributes no term.
    pub(super) fn always_contributes(&self) -> bool {
        match self {
            Self::Guard(..) => false,
            Self::Choice(_, a, b) => a.always_contributes() && b.always_contributes(),
            Self::Sum(terms) => terms.iter().any(|(_, e)| e.always_contributes()),
            _ => true,
        }
    }

    /// Splits off its sign: returns whether it is negative, and its negation in that case.
    fn split_sign(self) -> (bool, Self) {
        match self {
            Self::Product(mut p) if p.numerator < 0.0 => {
                if p.denominator.to_bits() != 1.0_f64.to_bits() {
                    p.divisors.push(Self::real(p.denominator));
                }
                (true, Self::product(-p.numerator, p.factors, p.divisors))
            }
            Self::Guard(p, e) => {
                let (sign, e) = e.split_sign();
                (sign, Self::guard(p, e))
            }
            Self::IndexedSum(i, p, e) => {
                let (sign, e) = e.split_sign();
                (sign, Self::total(i, p, e))
            }
            e => (false, e),
        }
    }

    /// Splits off its constant factor: returns the factor, the key of the rest, and the rest if it
    /// is real.
    fn split_constant_factor(&self) -> (f64, Self, Option<Self>) {
        match self {
            Self::Constant(_) | Self::Index(_) => (1.0, self.alpha_normal_form(), None),
            Self::Product(p)
                if p.denominator.to_bits() == 1.0_f64.to_bits() && !(p.factors.is_empty() && p.divisors.is_empty()) =>
            {
                let rest = Self::product(1.0, p.factors.clone(), p.divisors.clone());
                (p.numerator, rest.alpha_normal_form(), Some(rest))
            }
            Self::Guard(p, e) => {
                let (by, _, rest) = e.split_constant_factor();
                let rest = rest.map(|e| Self::guard(p.clone(), e));
                let key = rest.as_ref().map_or_else(|| self.alpha_normal_form(), Self::alpha_normal_form);
                (by, key, rest)
            }
            _ if self.as_real().is_some() => (1.0, self.alpha_normal_form(), None),
            _ => (1.0, self.alpha_normal_form(), Some(self.clone())),
        }
    }

    /// Returns the expression with its bound indices renumbered in order. Two expressions have
    /// equal keys if they differ only in the names of bound indices.
    pub(super) fn alpha_normal_form(&self) -> Self {
        self.renumbered(&mut 0)
    }

    fn renumbered(&self, next: &mut u32) -> Self {
        if let Self::IndexedSum(indices, pred, e) = self {
            let mut pairs = Vec::new();
            let mut fresh = Vec::new();
            for i in indices {
                let local = LocalId(FIRST_INDEX_LOCAL + (1 << 24) + *next);
                let new = Index { local, name: format!("b{next}").into(), extent: i.extent.clone() };
                *next += 1;
                pairs.push((i.atom(), new.value()));
                fresh.push(new);
            }
            let put = |p: &Poly| p.substitute(&|a| pairs.iter().find(|(b, _)| b == a).map(|(_, v)| v.clone()));
            let body = e.map_polys(&put).renumbered(next);
            return Self::IndexedSum(fresh, pred.map(&put), Box::new(body));
        }
        if let Self::Reduce(r) = self {
            let over = r.with_fresh_indices(&mut |i| {
                *next += 1;
                let local = LocalId(FIRST_INDEX_LOCAL + (1 << 24) + *next - 1);
                Index { local, name: format!("b{}", *next - 1).into(), extent: i.extent.clone() }
            });
            return over.with_body(over.body.renumbered(next));
        }
        self.map_children(&mut |e| e.renumbered(next))
    }

    /// Maps the direct children and rebuilds the node without normalising.
    pub(super) fn map_children(&self, f: &mut dyn FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Constant(_) | Self::Index(_) | Self::Read(..) => self.clone(),
            Self::Sum(terms) => Self::Sum(terms.iter().map(|(neg, e)| (*neg, f(e))).collect()),
            Self::Product(p) => Self::Product(ProductExpr {
                factors: p.factors.iter().map(&mut *f).collect(),
                divisors: p.divisors.iter().map(&mut *f).collect(),
                ..*p
            }),
            Self::Power(e, k) => Self::Power(Box::new(f(e)), *k),
            Self::Guard(p, e) => Self::Guard(p.clone(), Box::new(f(e))),
            Self::IndexedSum(i, p, e) => Self::IndexedSum(i.clone(), p.clone(), Box::new(f(e))),
            Self::Reduce(r) => r.with_body(f(&r.body)),
            Self::Apply(op, args) => Self::Apply(*op, args.iter().map(f).collect()),
            Self::Choice(p, a, b) => Self::Choice(p.clone(), Box::new(f(a)), Box::new(f(b))),
        }
    }

    /// Maps the direct children and rebuilds the node with the normalising constructors.
    pub(super) fn map_children_normalised(&self, f: &mut dyn FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Constant(_) | Self::Index(_) | Self::Read(..) => self.clone(),
            Self::Sum(terms) => Self::sum(terms.iter().map(|(neg, e)| (*neg, f(e))).collect()),
            Self::Product(p) => {
                let over: Vec<Self> = p.factors.iter().map(&mut *f).collect();
                let mut under: Vec<Self> = p.divisors.iter().map(&mut *f).collect();
                if p.denominator.to_bits() != 1.0_f64.to_bits() {
                    under.push(Self::real(p.denominator));
                }
                Self::product(p.numerator, over, under)
            }
            Self::Power(e, k) => Self::power(f(e), *k),
            Self::Guard(p, e) => Self::guard(p.clone(), f(e)),
            Self::IndexedSum(i, p, e) => Self::total(i.clone(), p.clone(), f(e)),
            Self::Reduce(r) => r.with_body(f(&r.body)),
            Self::Apply(op, args) => Self::Apply(*op, args.iter().map(f).collect()),
            Self::Choice(p, a, b) => Self::choice(p.clone(), f(a), f(b)),
        }
    }

    /// `if p then a else b`
    pub(super) fn choice(p: Pred, a: Self, b: Self) -> Self {
        if p.is_true() || a == b {
            a
        } else if p.is_false() {
            b
        } else if b.is_zero() {
            Self::guard(p, a)
        } else if a.is_zero() {
            Self::guard(p.negated(), b)
        } else if let (Self::Guard(q, _), Self::Guard(r, _)) = (&a, &b)
            && let common = Pred::all(q.conjuncts().iter().filter(|q| r.conjuncts().contains(q)).cloned())
            && !common.is_true()
        {
            Self::guard(common.clone(), Self::choice(p, a.without_conjuncts(&common), b.without_conjuncts(&common)))
        } else {
            Self::Choice(p, Box::new(a), Box::new(b))
        }
    }

    /// Returns the expression without the conjuncts of its bracket that `known` contains.
    pub(super) fn without_conjuncts(&self, known: &Pred) -> Self {
        let Self::Guard(p, inner) = self else { return self.clone() };
        let rest = p.conjuncts().iter().filter(|q| *q != known && !known.conjuncts().contains(q));
        Self::guard(Pred::all(rest.cloned()), inner.as_ref().clone())
    }

    /// `e ^ k`
    pub(super) fn power(e: Self, k: i64) -> Self {
        match (e, k) {
            (_, 0) => Self::real(1.0),
            (e, 1) => e,
            (e, k) if k < 0 => Self::product(1.0, Vec::new(), vec![Self::power(e, -k)]),
            (Self::Power(e, j), k) if j.checked_mul(k).is_some() => Self::Power(e, j * k),
            (e, k) => Self::Power(Box::new(e), k),
        }
    }

    /// Maps the polynomials in the expression. Its bound indices stay.
    pub(super) fn map_polys(&self, f: &dyn Fn(&Poly) -> Poly) -> Self {
        let index = |i: &Index| Index { extent: f(&i.extent), ..i.clone() };
        match self {
            Self::Index(p) => Self::Index(f(p)),
            Self::Read(v, at) => Self::Read(*v, at.iter().map(f).collect()),
            Self::Guard(p, e) => Self::guard(p.map(f), e.map_polys(f)),
            Self::IndexedSum(i, p, e) => {
                Self::IndexedSum(i.iter().map(index).collect(), p.map(f), Box::new(e.map_polys(f)))
            }
            Self::Choice(p, a, b) => Self::choice(p.map(f), a.map_polys(f), b.map_polys(f)),
            Self::Reduce(r) => r.map_parts(r.body.map_polys(f), f, &|p| p.map(f)),
            _ => self.map_children(&mut |e| e.map_polys(f)),
        }
    }

    /// Returns a copy with fresh bound indices.
    pub(super) fn with_fresh_indices(&self, fresh: &mut StatementFacts) -> Self {
        if let Self::Reduce(r) = self {
            let over = r.with_fresh_indices(&mut |i| fresh.fresh_index(i.extent.clone()));
            return over.with_body(over.body.with_fresh_indices(fresh));
        }
        let Self::IndexedSum(indices, pred, e) = self else {
            return self.map_children(&mut |e| e.with_fresh_indices(fresh));
        };
        let pairs: Vec<(Atom, Index)> =
            indices.iter().map(|i| (i.atom(), fresh.fresh_index(i.extent.clone()))).collect();
        let put = |p: &Poly| p.substitute(&|a| pairs.iter().find(|(b, _)| b == a).map(|(_, i)| i.value()));
        let e = e.map_polys(&put).with_fresh_indices(fresh);
        Self::IndexedSum(pairs.iter().map(|(_, i)| i.clone()).collect(), pred.map(&put), Box::new(e))
    }

    /// Calls `f` with each predicate in the expression, nested ones included.
    pub(super) fn for_each_pred(&self, f: &mut dyn FnMut(&Pred)) {
        self.visit(&mut |e| match e {
            Self::Guard(p, _) | Self::IndexedSum(_, p, _) | Self::Choice(p, ..) => f(p),
            Self::Reduce(r) => f(&r.filter),
            _ => {}
        });
    }

    /// Calls `f` with the expression and every expression inside, in preorder.
    pub(super) fn visit(&self, f: &mut dyn FnMut(&Self)) {
        f(self);
        self.for_each_child(&mut |e| e.visit(f));
    }

    /// Calls `f` with every direct child.
    pub(super) fn for_each_child(&self, f: &mut dyn FnMut(&Self)) {
        match self {
            Self::Constant(_) | Self::Index(_) | Self::Read(..) => {}
            Self::Sum(terms) => terms.iter().for_each(|(_, e)| f(e)),
            Self::Product(p) => p.factors.iter().chain(&p.divisors).for_each(f),
            Self::Power(e, _) | Self::Guard(_, e) | Self::IndexedSum(_, _, e) => f(e),
            Self::Apply(_, args) => args.iter().for_each(f),
            Self::Reduce(r) => f(&r.body),
            Self::Choice(_, a, b) => {
                f(a);
                f(b);
            }
        }
    }

    /// Calls `f` with each polynomial in the expression, those in predicates included.
    pub(super) fn for_each_poly(&self, f: &mut dyn FnMut(&Poly)) {
        self.visit(&mut |e| match e {
            Self::Index(p) => f(p),
            Self::Read(_, at) => at.iter().for_each(&mut *f),
            Self::Guard(p, _) | Self::Choice(p, ..) => p.visit(f, &mut |_| {}),
            Self::IndexedSum(i, p, _) => {
                i.iter().for_each(|i| f(&i.extent));
                p.visit(f, &mut |_| {});
            }
            Self::Reduce(r) => {
                r.indices.iter().for_each(|i| f(&i.extent));
                r.filter.visit(f, &mut |_| {});
                f(&r.location);
            }
            _ => {}
        });
    }

    /// Calls `f` for each read of a statement. The flag is true if the read is in an index or a
    /// predicate.
    pub(super) fn for_each_use(&self, f: &mut dyn FnMut(StmtId, bool)) {
        self.visit(&mut |e| {
            let mut poly = |p: &Poly| for_each_poly_read(p, &mut |v| f(v, true));
            match e {
                Self::Read(v, at) => {
                    at.iter().for_each(&mut poly);
                    f(*v, false);
                }
                Self::Index(p) => poly(p),
                Self::IndexedSum(i, ..) => i.iter().for_each(|i| poly(&i.extent)),
                Self::Reduce(r) => r.indices.iter().map(|i| &i.extent).chain([&r.location]).for_each(&mut poly),
                _ => {}
            }
            if let Self::Reduce(r) = e {
                for_each_pred_read(&r.filter, &mut |v| f(v, true));
            }
            if let Self::Guard(p, _) | Self::IndexedSum(_, p, _) | Self::Choice(p, ..) = e {
                for_each_pred_read(p, &mut |v| f(v, true));
            }
        });
    }

    /// Returns whether the expression depends on the index.
    pub(super) fn mentions(&self, atom: &Atom) -> bool {
        let mut found = false;
        self.for_each_poly(&mut |p| found |= p.mentions(atom));
        found
    }

    /// Returns the extent of the range, if the expression is the place of a term (`argmax`,
    /// `argmin`) among all places of one range. If the range is empty, no valid place exists.
    pub(super) fn location_range(&self) -> Option<&Poly> {
        match self {
            Self::Guard(_, e) => e.location_range(),
            Self::Reduce(r) if r.reducer.is_arg_reduction() && r.filter.is_true() => match r.indices.as_slice() {
                [i] if r.location == i.value() => Some(&i.extent),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the number of its nodes.
    pub(super) fn size(&self) -> usize {
        let mut n = 0;
        self.visit(&mut |_| n += 1);
        n
    }

    /// Returns whether evaluating it twice costs nothing and it is short.
    pub(super) fn is_free(&self) -> bool {
        self.size() <= MAX_DUPLICATED_NODES && self.costs_nothing()
    }

    fn costs_nothing(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Index(_) | Self::Read(..) => true,
            Self::Product(p) => {
                let factors = p.factors.len();
                let plain = p.divisors.is_empty() && p.denominator.to_bits() == 1.0_f64.to_bits();
                plain
                    && (factors == 0 || factors == 1 && p.numerator.abs() == 1.0)
                    && p.factors.iter().all(Self::costs_nothing)
            }
            Self::Guard(_, e) => e.costs_nothing(),
            Self::Apply(op, args) => {
                let cheap = match op {
                    ScalarOp::Binary(op) => op.is_comparison(),
                    ScalarOp::Not | ScalarOp::Convert(_) => true,
                    _ => false,
                };
                cheap && args.iter().all(Self::costs_nothing)
            }
            Self::Sum(_) | Self::Power(..) | Self::IndexedSum(..) | Self::Reduce(_) | Self::Choice(..) => false,
        }
    }
}

impl ProductExpr {
    /// Returns whether it has neither a constant nor a divisor.
    fn is_plain(&self) -> bool {
        self.divisors.is_empty()
            && self.numerator.to_bits() == 1.0_f64.to_bits()
            && self.denominator.to_bits() == 1.0_f64.to_bits()
    }

    /// Multiplies by a factor. A bracket of the factor moves to `pred`, the bracket of the whole
    /// product.
    fn multiply(&mut self, factor: SourceExpr, pred: &mut Pred) {
        match factor {
            SourceExpr::Guard(p, e) => {
                *pred = pred.and(&p);
                self.multiply(*e, pred);
            }
            SourceExpr::Product(p) => {
                self.numerator *= p.numerator;
                self.denominator *= p.denominator;
                p.factors.into_iter().for_each(|e| self.multiply(e, pred));
                p.divisors.into_iter().for_each(|e| self.divide(e));
            }
            SourceExpr::Sum(terms) if terms.iter().all(|t| t.0) => {
                self.numerator = -self.numerator;
                self.factors.push(SourceExpr::Sum(terms.into_iter().map(|(_, e)| (false, e)).collect()));
            }
            SourceExpr::Power(e, k) => self.multiply_by_power(*e, k),
            e => self.multiply_by_power(e, 1),
        }
    }

    fn multiply_by_power(&mut self, e: SourceExpr, k: i64) {
        let same = |f: &SourceExpr| matches!(f, SourceExpr::Power(b, _) if **b == e) || *f == e;
        match self.factors.iter_mut().find(|f| same(f)) {
            // Equal factors become a power. Sums stay apart, because a reader does not see that two
            // sums are equal.
            Some(slot) if !matches!(e, SourceExpr::IndexedSum(..)) => {
                let before = if let SourceExpr::Power(_, j) = slot { *j } else { 1 };
                *slot = SourceExpr::power(e, before + k);
            }
            _ => self.factors.push(SourceExpr::power(e, k)),
        }
    }

    /// Divides by a divisor.
    fn divide(&mut self, divisor: SourceExpr) {
        match divisor {
            SourceExpr::Product(p) => {
                self.numerator *= p.denominator;
                self.denominator *= p.numerator;
                p.factors.into_iter().for_each(|e| self.divide(e));
                // A divisor of the divisor is a factor.
                let mut pred = Pred::truth();
                p.divisors.into_iter().for_each(|e| self.multiply(e, &mut pred));
            }
            e => {
                let (base, k) = if let SourceExpr::Power(b, k) = e { (*b, k) } else { (e, 1) };
                let same = |f: &SourceExpr| matches!(f, SourceExpr::Power(b, _) if **b == base) || *f == base;
                match self.divisors.iter_mut().find(|f| same(f)) {
                    Some(slot) => {
                        let before = if let SourceExpr::Power(_, j) = slot { *j } else { 1 };
                        *slot = SourceExpr::power(base, before + k);
                    }
                    None => self.divisors.push(SourceExpr::power(base, k)),
                }
            }
        }
    }

    /// Normalises the constants: moves the sign into the numerator, cancels a common factor, and
    /// reverses a difference to absorb a minus sign.
    fn normalise_constants(&mut self) {
        if self.denominator < 0.0 {
            self.denominator = -self.denominator;
            self.numerator = -self.numerator;
        }
        if self.numerator.to_bits() != 1.0_f64.to_bits() && self.denominator.to_bits() != 1.0_f64.to_bits() {
            let quotient = self.numerator / self.denominator;
            // If the quotient is exact, one constant suffices.
            if quotient.fract() == 0.0 && quotient * self.denominator == self.numerator {
                self.numerator = quotient;
                self.denominator = 1.0;
            } else if (self.denominator / self.numerator).fract() == 0.0 && self.numerator > 0.0 {
                self.denominator /= self.numerator;
                self.numerator = 1.0;
            }
        }
        if self.numerator < 0.0 {
            let difference = self.factors.iter_mut().find_map(|e| match e {
                SourceExpr::Sum(terms) if terms.iter().any(|t| t.0) => Some(terms),
                _ => None,
            });
            if let Some(terms) = difference {
                self.numerator = -self.numerator;
                terms.iter_mut().for_each(|t| t.0 = !t.0);
                if let Some(first) = terms.iter().position(|t| !t.0) {
                    let term = terms.remove(first);
                    terms.insert(0, term);
                }
            }
        }
    }
}

/// Classifies operators as comparisons.
pub(super) trait ComparisonOperator: Copy {
    /// Returns whether it is a comparison.
    fn is_comparison(self) -> bool;
}

impl ComparisonOperator for BinOp {
    fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Gt | Self::Le | Self::Ge)
    }
}

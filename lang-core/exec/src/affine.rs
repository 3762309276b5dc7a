//! **Affine index expressions.** Index expressions and predicates with the sizes of a run
//! substituted. The linear part is a constant and coefficients, from which loops derive strides and
//! bounds. The rest is evaluated at each tuple.
//!
//! Values are those of `lang_eval::index_eval`: index expressions wrap, comparisons are exact.

use std::rc::Rc;
use std::sync::Arc;

use super::exists::Existential;
use super::tensor::Tensor;
use super::{RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::ssa::{StmtId, TensorAccess, index_number};
use lang_runtime::array::UnboxedElement;
use lang_runtime::scalar::i64s;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::BinOp;

/// The reason why an index expression has no value.
#[derive(Clone, Copy, Debug)]
pub(super) enum IndexError {
    /// It reads an element out of bounds.
    OutOfBounds,
    /// A top-level `let` has no value yet.
    UnsetGlobal,
    /// An interrupt was requested.
    Interrupted,
    /// An internal error: a form that no pass produces.
    Internal(&'static str),
}

impl From<IndexError> for RunError {
    fn from(why: IndexError) -> Self {
        match why {
            IndexError::OutOfBounds => Self::Internal("an element out of bounds"),
            IndexError::UnsetGlobal => Self::UnsetGlobal,
            IndexError::Interrupted => Self::Interrupted,
            IndexError::Internal(what) => Self::Internal(what),
        }
    }
}

/// A coefficient: wrapped for index expressions, and exact for comparisons.
#[derive(Clone, Copy, Debug)]
struct Coefficient {
    wrapped: i64,
    exact: i128,
}

impl Coefficient {
    #[expect(clippy::cast_possible_truncation, reason = "arithmetic modulo 2^64")]
    fn new(c: i128) -> Self {
        Self { wrapped: c as i64, exact: c }
    }

    fn times(self, x: i64, power: u32) -> Self {
        let exact = self.exact.saturating_mul(i128::from(x).saturating_pow(power));
        Self { wrapped: self.wrapped.wrapping_mul(x.wrapping_pow(power)), exact }
    }

    fn plus(self, other: Self) -> Self {
        let exact = self.exact.saturating_add(other.exact);
        Self { wrapped: self.wrapped.wrapping_add(other.wrapped), exact }
    }
}

/// An index expression: `constant + Σ cₖ·iₖ + …`.
#[derive(Clone)]
pub(super) struct IndexExpr {
    constant: Coefficient,
    /// The coefficients of indices, each index at most once.
    linear: Vec<(usize, Coefficient)>,
    nonlinear: Vec<NonlinearTerm>,
}

/// A product of powers of atoms, with a coefficient.
#[derive(Clone)]
struct NonlinearTerm {
    factor: Coefficient,
    atoms: Vec<(IndexAtom, u32)>,
}

/// An atom that depends on indices.
#[derive(Clone)]
enum IndexAtom {
    Index(usize),
    Read(Arc<ArrayElement>),
    Binary(IntegerOp, Arc<(IndexExpr, IndexExpr)>),
}

/// An array element, addressed by index expressions.
pub(super) struct ArrayElement {
    tensor: Tensor,
    at: Vec<IndexExpr>,
    /// The offset, if the indices are proved to be in bounds.
    offset: Option<IndexExpr>,
}

/// A binary operation on integers.
#[derive(Clone, Copy)]
enum IntegerOp {
    Div,
    Mod,
    Min,
    Max,
}

impl IntegerOp {
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            // In an empty range, a divisor may be 0, but no element is read.
            Self::Div => i64s::arith(BinOp::FloorDiv, a, b).unwrap_or(0),
            Self::Mod => i64s::arith(BinOp::Mod, a, b).unwrap_or(0),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

impl IndexExpr {
    fn constant(c: i128) -> Self {
        Self { constant: Coefficient::new(c), linear: Vec::new(), nonlinear: Vec::new() }
    }

    /// Returns its value, if it mentions no index.
    pub(super) fn as_constant(&self) -> Option<i64> {
        (self.linear.is_empty() && self.nonlinear.is_empty()).then_some(self.constant.wrapped)
    }

    /// Returns whether it is linear in the indices.
    pub(super) fn is_affine(&self) -> bool {
        self.nonlinear.is_empty()
    }

    /// Returns the constant and the coefficients, wrapped as index expressions are.
    pub(super) fn affine(&self) -> (i64, impl Iterator<Item = (usize, i64)>) {
        (self.constant.wrapped, self.linear.iter().map(|(k, c)| (*k, c.wrapped)))
    }

    /// Returns the exact constant and coefficients.
    pub(super) fn exact_affine(&self) -> (i128, impl Iterator<Item = (usize, i128)>) {
        (self.constant.exact, self.linear.iter().map(|(k, c)| (*k, c.exact)))
    }

    /// Returns the part that is not linear.
    pub(super) fn nonlinear_part(&self) -> Self {
        Self { constant: Coefficient::new(0), linear: Vec::new(), nonlinear: self.nonlinear.clone() }
    }

    /// Marks the indices that it mentions.
    pub(super) fn mark(&self, found: &mut [bool]) {
        let mut see = |k: usize| found.get_mut(k).into_iter().for_each(|slot| *slot = true);
        self.linear.iter().for_each(|(k, _)| see(*k));
        self.nonlinear.iter().flat_map(|t| &t.atoms).for_each(|(atom, _)| atom.mark(found));
    }

    /// Evaluates it with wrapping arithmetic.
    pub(super) fn value(&self, at: &[i64]) -> Result<i64, IndexError> {
        let mut sum = self.constant.wrapped;
        for (k, c) in &self.linear {
            sum = sum.wrapping_add(c.wrapped.wrapping_mul(index_value(at, *k)?));
        }
        for term in &self.nonlinear {
            let mut product = term.factor.wrapped;
            for (atom, power) in &term.atoms {
                product = product.wrapping_mul(atom.value(at)?.wrapping_pow(*power));
            }
            sum = sum.wrapping_add(product);
        }
        Ok(sum)
    }

    /// Evaluates it exactly, as comparisons require.
    pub(super) fn exact_value(&self, at: &[i64]) -> Result<i128, IndexError> {
        let mut sum = self.constant.exact;
        for (k, c) in &self.linear {
            sum = sum.saturating_add(c.exact.saturating_mul(i128::from(index_value(at, *k)?)));
        }
        for term in &self.nonlinear {
            let mut product = term.factor.exact;
            for (atom, power) in &term.atoms {
                product = product.saturating_mul(i128::from(atom.value(at)?).saturating_pow(*power));
            }
            sum = sum.saturating_add(product);
        }
        Ok(sum)
    }

    /// Returns the least and the greatest value within these extents, if the expression is affine.
    fn range(&self, extents: &[i64]) -> Option<(i128, i128)> {
        if !self.nonlinear.is_empty() {
            return None;
        }
        let (mut least, mut most) = (self.constant.exact, self.constant.exact);
        for (k, c) in &self.linear {
            let last = i128::from((*extents.get(*k)?).max(1) - 1);
            let end = c.exact.checked_mul(last)?;
            least = least.checked_add(end.min(0))?;
            most = most.checked_add(end.max(0))?;
        }
        Some((least, most))
    }

    /// Evaluates it at `count` values of one index, from the current one on. `None` if the caller
    /// must evaluate one by one, because a value may overflow or be read out of bounds.
    pub(super) fn values_along(&self, at: &[i64], index: usize, count: usize) -> Option<Vec<i64>> {
        let (mut base, mut step) = (i64::try_from(self.constant.exact).ok()?, 0);
        for (k, c) in &self.linear {
            let c = i64::try_from(c.exact).ok()?;
            base = base.checked_add(c.checked_mul(*at.get(*k)?)?)?;
            if *k == index {
                step = c;
            }
        }
        let last = i64::try_from(count).ok()?;
        base.checked_add(step.checked_mul(last)?)?;
        let mut next = base;
        let mut values: Vec<i64> = Vec::with_capacity(count);
        values.extend(
            std::iter::repeat_with(|| {
                let value = next;
                next = next.wrapping_add(step);
                value
            })
            .take(count),
        );
        for term in &self.nonlinear {
            let factor = i64::try_from(term.factor.exact).ok()?;
            let mut product: Option<Vec<i64>> = None;
            for (atom, power) in &term.atoms {
                let of = atom.values_along(at, index, count)?;
                for _ in 0..*power {
                    product = Some(match product {
                        None => of.clone(),
                        Some(before) => {
                            before.iter().zip(&of).map(|(a, b)| a.checked_mul(*b)).collect::<Option<_>>()?
                        }
                    });
                }
            }
            for (value, product) in values.iter_mut().zip(&product?) {
                *value = value.checked_add(factor.checked_mul(*product)?)?;
            }
        }
        Some(values)
    }
}

fn index_value(at: &[i64], k: usize) -> Result<i64, IndexError> {
    at.get(k).copied().ok_or(IndexError::Internal("an index"))
}

fn evaluate_all(of: &[IndexExpr], at: &[i64]) -> Result<Vec<i64>, IndexError> {
    of.iter().map(|n| n.value(at)).collect()
}

impl ArrayElement {
    fn new(tensor: Tensor, at: Vec<IndexExpr>, extents: &[i64]) -> Self {
        let inside = |(num, n): (&IndexExpr, &usize)| {
            let n = i128::try_from(*n).unwrap_or(0);
            num.range(extents).is_some_and(|(least, most)| least >= 0 && most < n)
        };
        let offset = (at.len() == tensor.dims.len() && at.iter().zip(&tensor.dims).all(inside)).then(|| {
            let mut offset = IndexExpr::constant(0);
            for (num, stride) in at.iter().zip(tensor.strides()) {
                offset.add_scaled(num.clone(), stride);
            }
            offset
        });
        Self { tensor, at, offset }
    }

    fn mark(&self, found: &mut [bool]) {
        self.at.iter().for_each(|n| n.mark(found));
    }

    /// Returns the offset of the element.
    fn offset_at(&self, at: &[i64]) -> Result<usize, IndexError> {
        if let Some(offset) = &self.offset {
            return usize::try_from(offset.value(at)?).map_err(|_| IndexError::OutOfBounds);
        }
        if self.at.len() != self.tensor.dims.len() {
            return Err(IndexError::OutOfBounds);
        }
        let mut offset = 0_usize;
        for (num, n) in self.at.iter().zip(&self.tensor.dims) {
            let i = usize::try_from(num.value(at)?).ok().filter(|i| i < n).ok_or(IndexError::OutOfBounds)?;
            offset = offset.checked_mul(*n).and_then(|o| o.checked_add(i)).ok_or(IndexError::OutOfBounds)?;
        }
        Ok(offset)
    }

    fn read<T: UnboxedElement>(&self, at: &[i64]) -> Result<T, IndexError> {
        let items = self.tensor.items::<T>().ok_or(IndexError::Internal("an element"))?;
        items.get(self.offset_at(at)?).copied().ok_or(IndexError::OutOfBounds)
    }

    /// Reads the elements at `count` values of one index, if all are proved to be in bounds.
    fn elements_along<T: UnboxedElement>(&self, at: &[i64], index: usize, count: usize) -> Option<Vec<T>> {
        let places = self.offset.as_ref()?.values_along(at, index, count)?;
        let items = self.tensor.items::<T>()?;
        places.iter().map(|k| items.get(usize::try_from(*k).ok()?).copied()).collect()
    }
}

impl IndexAtom {
    fn mark(&self, found: &mut [bool]) {
        match self {
            Self::Index(k) => found.get_mut(*k).into_iter().for_each(|slot| *slot = true),
            Self::Read(of) => of.mark(found),
            Self::Binary(_, of) => [&of.0, &of.1].into_iter().for_each(|n| n.mark(found)),
        }
    }

    fn value(&self, at: &[i64]) -> Result<i64, IndexError> {
        match self {
            Self::Index(k) => index_value(at, *k),
            Self::Read(of) => of.read(at),
            Self::Binary(pair, of) => Ok(pair.apply(of.0.value(at)?, of.1.value(at)?)),
        }
    }

    fn values_along(&self, at: &[i64], index: usize, count: usize) -> Option<Vec<i64>> {
        match self {
            Self::Index(k) => {
                let first = *at.get(*k)?;
                let end = first.checked_add(i64::try_from(count).ok()?)?;
                Some(if *k == index { (first..end).collect() } else { vec![first; count] })
            }
            Self::Read(of) => of.elements_along(at, index, count),
            Self::Binary(pair, of) => {
                let (a, b) = (of.0.values_along(at, index, count)?, of.1.values_along(at, index, count)?);
                Some(a.iter().zip(&b).map(|(a, b)| pair.apply(*a, *b)).collect())
            }
        }
    }
}

/// A predicate with the sizes of a run substituted.
#[derive(Clone)]
pub(super) enum Test<'a> {
    /// A conjunction. Conjuncts that read data come last, so they are tested only if the others
    /// hold.
    And(Arc<[Self]>),
    Or(Arc<[Self]>),
    Ge(IndexExpr),
    Eq(IndexExpr),
    Ne(IndexExpr),
    /// An element of an array of truth values, or its negation if `false`.
    Is(Arc<ArrayElement>, bool),
    /// Membership in a relation, or its negation if `false`.
    Member(Arc<ArrayElement>, bool),
    /// An existential, or its negation if `false`.
    Exists(Rc<Existential<'a>>, bool),
}

impl Test<'_> {
    /// Evaluates the predicate. A read out of bounds makes a comparison neither true nor false
    /// (`lang_eval::index_eval`). The slots of existentials follow the indices.
    pub(super) fn holds(&self, at: &mut [i64]) -> Result<bool, IndexError> {
        Ok(match self {
            Self::And(items) => {
                let mut outside = false;
                for p in &**items {
                    match ensure_sufficient_stack(|| p.holds(at)) {
                        Ok(true) => {}
                        Ok(false) => return Ok(false),
                        Err(IndexError::OutOfBounds) => outside = true,
                        Err(why) => return Err(why),
                    }
                }
                if outside {
                    return Err(IndexError::OutOfBounds);
                }
                true
            }
            Self::Or(items) => {
                let mut outside = false;
                for p in &**items {
                    match ensure_sufficient_stack(|| p.holds(at)) {
                        Ok(true) => return Ok(true),
                        Ok(false) => {}
                        Err(IndexError::OutOfBounds) => outside = true,
                        Err(why) => return Err(why),
                    }
                }
                if outside {
                    return Err(IndexError::OutOfBounds);
                }
                false
            }
            Self::Ge(n) => n.exact_value(at)? >= 0,
            Self::Eq(n) => n.exact_value(at)? == 0,
            Self::Ne(n) => n.exact_value(at)? != 0,
            Self::Is(of, wanted) => of.read::<bool>(at)? == *wanted,
            Self::Member(of, wanted) => {
                let relation = of.tensor.relation().ok_or(IndexError::Internal("a relation"))?;
                relation.contains(&evaluate_all(&of.at, at)?) == *wanted
            }
            Self::Exists(of, wanted) => ensure_sufficient_stack(|| of.holds(at))? == *wanted,
        })
    }

    /// Returns whether the predicate holds and reads nothing out of bounds.
    pub(super) fn holds_in_bounds(&self, at: &mut [i64]) -> Result<bool, RunError> {
        match self.holds(at) {
            Err(IndexError::OutOfBounds) => Ok(false),
            other => Ok(other?),
        }
    }

    /// Evaluates the predicate at `count` values of one index. `None` if the caller must evaluate
    /// one by one.
    pub(super) fn truths_along(&self, at: &[i64], index: usize, count: usize) -> Option<Vec<bool>> {
        let compared = |n: &IndexExpr, holds: &dyn Fn(i64) -> bool| {
            Some(n.values_along(at, index, count)?.into_iter().map(holds).collect::<Vec<bool>>())
        };
        let joined = |items: &[Self], first: bool, join: &dyn Fn(bool, bool) -> bool| {
            let mut all = vec![first; count];
            for p in items {
                let more = ensure_sufficient_stack(|| p.truths_along(at, index, count))?;
                all.iter_mut().zip(more).for_each(|(all, more)| *all = join(*all, more));
            }
            Some(all)
        };
        match self {
            Self::And(items) => joined(items, true, &|a, b| a && b),
            Self::Or(items) => joined(items, false, &|a, b| a || b),
            Self::Ge(n) => compared(n, &|x| x >= 0),
            Self::Eq(n) => compared(n, &|x| x == 0),
            Self::Ne(n) => compared(n, &|x| x != 0),
            Self::Is(of, wanted) => {
                Some(of.elements_along::<bool>(at, index, count)?.into_iter().map(|x| x == *wanted).collect())
            }
            Self::Member(..) | Self::Exists(..) => None,
        }
    }

    /// Returns the expression of a linear comparison, and whether it is an equation.
    pub(super) fn affine_comparison(&self) -> Option<(&IndexExpr, bool)> {
        match self {
            Self::Ge(n) if n.is_affine() => Some((n, false)),
            Self::Eq(n) if n.is_affine() => Some((n, true)),
            _ => None,
        }
    }

    /// Returns a comparison with a data-dependent part as `c·k + rest >= 0`. The rest must not
    /// mention the index `k`.
    pub(super) fn data_bound(&self, k: usize) -> Option<(i128, IndexExpr)> {
        let Self::Ge(n) = self else { return None };
        let (_, c) = n.linear.iter().find(|(j, _)| *j == k).filter(|_| !n.is_affine())?;
        let linear = n.linear.iter().filter(|(j, _)| *j != k).copied().collect();
        let rest = IndexExpr { constant: n.constant, linear, nonlinear: n.nonlinear.clone() };
        let mut found = vec![false; k + 1];
        rest.mark(&mut found);
        found.get(k).is_none_or(|found| !found).then_some((c.exact, rest))
    }

    /// Returns the value of index `k`, if this is an equation that determines it.
    pub(super) fn solve_for(&self, k: usize) -> Option<IndexExpr> {
        let Self::Eq(n) = self else { return None };
        let (_, c) = n.linear.iter().find(|(j, _)| *j == k).filter(|(_, c)| c.exact.abs() == 1)?;
        let linear = n.linear.iter().filter(|(j, _)| *j != k).copied().collect();
        let rest = IndexExpr { constant: n.constant, linear, nonlinear: n.nonlinear.clone() };
        let mut value = IndexExpr::constant(0);
        value.add_scaled(rest, if c.exact == 1 { -1 } else { 1 });
        Some(value)
    }

    /// Marks the indices that it mentions.
    pub(super) fn mark(&self, found: &mut [bool]) {
        match self {
            Self::And(items) | Self::Or(items) => items.iter().for_each(|p| p.mark(found)),
            Self::Ge(n) | Self::Eq(n) | Self::Ne(n) => n.mark(found),
            Self::Is(of, _) | Self::Member(of, _) => of.mark(found),
            Self::Exists(of, _) => of.mark(found),
        }
    }
}

/// The translator of index expressions and predicates for one statement. It owns the slots of
/// existentials.
pub(super) struct IndexTranslator<'r, 'a> {
    run: &'r RunState<'a>,
    /// The extents of the indices.
    extents: &'r [i64],
    /// The variables of the enclosing existentials, with their slots.
    bound: Vec<(LocalId, usize)>,
    /// The number of slots: indices, then nested existentials.
    pub(super) slots: usize,
}

impl<'r, 'a> IndexTranslator<'r, 'a> {
    /// Creates a translator for a statement whose indices have these extents.
    pub(super) fn new(run: &'r RunState<'a>, extents: &'r [i64]) -> Self {
        Self { run, extents, bound: Vec::new(), slots: extents.len() }
    }

    /// Translates an index expression.
    pub(super) fn index_expr(&self, p: &Poly) -> Result<IndexExpr, IndexError> {
        let mut num = IndexExpr::constant(0);
        for (monomial, c) in p.terms() {
            let mut factor = Coefficient::new(*c);
            let mut atoms = Vec::new();
            for (atom, power) in monomial {
                let atom = self.atom(atom)?;
                match atom {
                    TranslatedAtom::Constant(x) => factor = factor.times(x, *power),
                    TranslatedAtom::Dynamic(known) => atoms.push((known, *power)),
                }
            }
            match atoms.as_slice() {
                [] => num.constant = num.constant.plus(factor),
                [(IndexAtom::Index(k), 1)] => match num.linear.iter_mut().find(|(j, _)| j == k) {
                    Some((_, c)) => *c = c.plus(factor),
                    None => num.linear.push((*k, factor)),
                },
                _ => num.nonlinear.push(NonlinearTerm { factor, atoms }),
            }
        }
        Ok(num)
    }

    fn index_exprs(&self, of: &[Poly]) -> Result<Vec<IndexExpr>, IndexError> {
        of.iter().map(|p| self.index_expr(p)).collect()
    }

    fn atom(&self, atom: &Atom) -> Result<TranslatedAtom, IndexError> {
        Ok(match atom {
            Atom::Local(x, _) => match index_number(*x) {
                Some(k) => TranslatedAtom::Dynamic(IndexAtom::Index(k)),
                None => match self.bound.iter().rev().find(|(l, _)| l == x) {
                    Some((_, slot)) => TranslatedAtom::Dynamic(IndexAtom::Index(*slot)),
                    None => TranslatedAtom::Constant(self.run.local(*x).ok_or(IndexError::Internal("a size"))?),
                },
            },
            Atom::Global(name) => {
                TranslatedAtom::Constant(self.run.world.global_integer(name).ok_or(IndexError::UnsetGlobal)?)
            }
            Atom::Read(x, _, at) => {
                let element = self.element(*x, at)?;
                match element.at.iter().all(|n| n.as_constant().is_some()).then(|| element.read(&[])) {
                    Some(Ok(value)) => TranslatedAtom::Constant(value),
                    // An unreadable element is no error, because it may never be needed.
                    _ => TranslatedAtom::Dynamic(IndexAtom::Read(element)),
                }
            }
            Atom::Div(p, q) => self.binary(IntegerOp::Div, p, q)?,
            Atom::Mod(p, q) => self.binary(IntegerOp::Mod, p, q)?,
            Atom::Min(p, q) => self.binary(IntegerOp::Min, p, q)?,
            Atom::Max(p, q) => self.binary(IntegerOp::Max, p, q)?,
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => {
                return Err(IndexError::Internal("a size"));
            }
        })
    }

    fn binary(&self, pair: IntegerOp, p: &Poly, q: &Poly) -> Result<TranslatedAtom, IndexError> {
        let (p, q) = (ensure_sufficient_stack(|| self.index_expr(p))?, ensure_sufficient_stack(|| self.index_expr(q))?);
        Ok(match (p.as_constant(), q.as_constant()) {
            (Some(a), Some(b)) => TranslatedAtom::Constant(pair.apply(a, b)),
            _ => TranslatedAtom::Dynamic(IndexAtom::Binary(pair, Arc::new((p, q)))),
        })
    }

    fn array(&self, x: LocalId) -> Result<Tensor, IndexError> {
        let var = StmtId::from_local(x).ok_or(IndexError::Internal("an array"))?;
        self.run.tensor(var).cloned().ok_or(IndexError::Internal("a statement"))
    }

    fn element(&self, x: LocalId, at: &[Poly]) -> Result<Arc<ArrayElement>, IndexError> {
        Ok(Arc::new(ArrayElement::new(self.array(x)?, self.index_exprs(at)?, self.extents)))
    }

    /// Translates a predicate.
    pub(super) fn test(&mut self, p: &Pred) -> Result<Test<'a>, IndexError> {
        ensure_sufficient_stack(|| {
            Ok(match p {
                Pred::And(items) => {
                    let (late, early): (Vec<&Pred>, Vec<&Pred>) = items.iter().partition(|p| p.depends_on_data());
                    let items = early.into_iter().chain(late).map(|p| self.test(p));
                    Test::And(items.collect::<Result<_, _>>()?)
                }
                Pred::Or(items) => Test::Or(items.iter().map(|p| self.test(p)).collect::<Result<_, _>>()?),
                Pred::Ge(p) => Test::Ge(self.index_expr(p)?),
                Pred::Eq(p) => Test::Eq(self.index_expr(p)?),
                Pred::Ne(p) => Test::Ne(self.index_expr(p)?),
                Pred::Element(x, _, at, wanted) => Test::Is(self.element(*x, at)?, *wanted),
                Pred::Member(x, _, at, wanted) => Test::Member(self.element(*x, at)?, *wanted),
                Pred::Exists(index, body, wanted) => {
                    let extent = self.index_expr(&index.extent)?;
                    let slot = self.extents.len().saturating_add(self.bound.len());
                    self.slots = self.slots.max(slot.saturating_add(1));
                    self.bound.push((index.local, slot));
                    let body = self.test(body);
                    self.bound.pop();
                    let around = self.run.machine.context;
                    let exists = Existential::new(slot, extent, body?, self.extents, around);
                    Test::Exists(Rc::new(exists), *wanted)
                }
            })
        })
    }

    /// Returns the tensor of an access, and the offset of the element or, with fewer indices than
    /// axes, of the first element of the slice.
    pub(super) fn access(&self, access: &TensorAccess) -> Result<(Tensor, IndexExpr), IndexError> {
        let tensor = self.run.tensor(access.var).cloned().ok_or(IndexError::Internal("a statement"))?;
        let mut offset = IndexExpr::constant(0);
        for (p, stride) in access.at.iter().zip(tensor.strides()) {
            offset.add_scaled(self.index_expr(p)?, stride);
        }
        Ok((tensor, offset))
    }
}

/// A translated atom.
enum TranslatedAtom {
    Constant(i64),
    Dynamic(IndexAtom),
}

impl IndexExpr {
    /// Adds `stride · other`.
    pub(super) fn add_scaled(&mut self, other: Self, stride: i64) {
        self.constant = self.constant.plus(other.constant.times(stride, 1));
        for (k, c) in other.linear {
            let c = c.times(stride, 1);
            match self.linear.iter_mut().find(|(j, _)| *j == k) {
                Some((_, sum)) => *sum = sum.plus(c),
                None => self.linear.push((k, c)),
            }
        }
        let scaled = other.nonlinear.into_iter().map(|t| NonlinearTerm { factor: t.factor.times(stride, 1), ..t });
        self.nonlinear.extend(scaled);
    }

    /// Returns `Σ strideₖ·iₖ`: the offset of an element in row-major order.
    pub(super) fn of_strides(strides: &[i64]) -> Self {
        let linear = strides.iter().enumerate().map(|(k, c)| (k, Coefficient::new(i128::from(*c)))).collect();
        Self { linear, ..Self::constant(0) }
    }
}

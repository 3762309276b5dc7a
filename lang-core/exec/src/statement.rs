//! **Statements.** Evaluates one statement: builds its loop nest and applies row operations.

use super::affine::{IndexError, IndexExpr, IndexTranslator, Test};
use super::nest::{IndexSpace, RowNest};
use super::rows::{self, GatherBuffer};
use super::tensor::{Tensor, TensorBuilder, TensorElement, strides};
use super::{RunError, RunState};
use lang_ir::ssa::{Addend, Rhs, Statement, StmtId, TensorAccess};
use lang_runtime::memory::{AllocationError, MAX_EXTENT};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// The number of steps of a check that are evaluated together.
const CHECK_BATCH: usize = 512;

pub(super) const NO_ELEMENTS: RunError = RunError::Internal("the elements of an operand");

/// The extents of a statement, as the lengths of axes and as integers.
pub(super) struct StatementExtents {
    pub(super) dims: Vec<usize>,
    pub(super) extents: Vec<i64>,
}

/// Calls a generic function at the type of a scalar.
macro_rules! at_scalar {
    ($scalar:expr, $t:ident => $call:expr) => {
        match $scalar {
            Scalar::F64 => {
                type $t = f64;
                $call
            }
            Scalar::F32 => {
                type $t = f32;
                $call
            }
            Scalar::I64 => {
                type $t = i64;
                $call
            }
            Scalar::Bool => {
                type $t = bool;
                $call
            }
        }
    };
}

pub(super) use at_scalar;

impl StatementExtents {
    /// Creates a tensor of zeros.
    pub(super) fn zeros(self, run: &RunState<'_>, scalar: Scalar) -> Result<Tensor, RunError> {
        at_scalar!(scalar, T => Ok(TensorBuilder::filled(run, self.dims, T::ZERO)?.finish()))
    }

    /// Returns the offset of the result's element.
    pub(super) fn element_offset(&self) -> IndexExpr {
        IndexExpr::of_strides(&strides(&self.dims))
    }
}

/// The terms of a contraction.
#[derive(Clone, Copy)]
struct ContractionTerms<'s> {
    bound: &'s [Poly],
    pred: &'s Pred,
    neg: bool,
    factors: &'s [TensorAccess],
}

impl RunState<'_> {
    /// Evaluates extents. A negative extent counts as 0. So does an extent that reads out of
    /// bounds, because no element of that array is read.
    pub(super) fn extents(&self, dims: &[Poly]) -> Result<Vec<i64>, RunError> {
        let names = IndexTranslator::new(self, &[]);
        let extent = |n: &Poly| {
            let n = match names.index_expr(n)?.value(&[]) {
                Err(IndexError::OutOfBounds) => 0,
                n => n?,
            };
            if n >= MAX_EXTENT {
                return Err(RunError::TooLarge(AllocationError::Elements(n.unsigned_abs().into())));
            }
            Ok(n.max(0))
        };
        dims.iter().map(extent).collect()
    }

    pub(super) fn dims(&self, dims: &[Poly]) -> Result<Vec<usize>, RunError> {
        Ok(self.extents(dims)?.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect())
    }

    fn shape(&self, dims: &[Poly]) -> Result<StatementExtents, RunError> {
        let extents = self.extents(dims)?;
        let dims = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        Ok(StatementExtents { dims, extents })
    }

    /// Runs a check for all its indices, at most once in a run.
    pub(super) fn check(&mut self, c: u32) -> Result<(), RunError> {
        let program = self.program;
        let (Some(done), Some(check)) = (self.done_checks.get_mut(c as usize), program.ssa.checks.get(c as usize))
        else {
            return Err(RunError::Internal("a check"));
        };
        if std::mem::replace(done, true) {
            return Ok(());
        }
        let mut extents = self.extents(&check.dims)?;
        // A check needs one test along an index that it does not mention.
        for idle in program.unused_indices.get(c as usize).into_iter().flatten() {
            extents.get_mut(*idle).into_iter().for_each(|extent| *extent = (*extent).min(1));
        }
        let n = extents.len();
        let space = IndexSpace { free: n, extents, pred: &check.guard, needs_indices: true };
        let nest = RowNest::new(self, &space, &[])?;
        let mut names = IndexTranslator::new(self, &space.extents);
        let wanted = names.test(&check.cond)?;
        let mut at = vec![0; names.slots];
        nest.visit(self, &mut |row| {
            for (slot, i) in at.iter_mut().zip(row.indices.iter().take(n)) {
                *slot = *i;
            }
            let failed = || RunError::CheckFailed(check.failure.clone());
            let mut left = row.count;
            while left > 0 {
                row.run.poll()?;
                let count = left.min(CHECK_BATCH);
                let held = row.inner_index.and_then(|index| wanted.truths_along(&at, index, count));
                match held {
                    Some(held) if held.iter().all(|holds| *holds) => {}
                    Some(_) => return Err(failed()),
                    None => self
                        .holds_one_by_one(&wanted, &mut at, row.inner_index, count)?
                        .then_some(())
                        .ok_or_else(failed)?,
                }
                if let Some(slot) = row.inner_index.and_then(|k| at.get_mut(k)) {
                    *slot = slot.wrapping_add(i64::try_from(count).unwrap_or(0));
                }
                left -= count;
            }
            Ok(())
        })
    }

    /// Returns whether a predicate holds at `count` values of an index, tested one by one. Restores
    /// the index.
    fn holds_one_by_one(
        &self,
        p: &Test<'_>,
        at: &mut [i64],
        index: Option<usize>,
        count: usize,
    ) -> Result<bool, RunError> {
        let first = index.and_then(|k| at.get(k)).copied().unwrap_or(0);
        let mut all = true;
        for step in 0..count {
            if let Some(slot) = index.and_then(|k| at.get_mut(k)) {
                *slot = first.wrapping_add(i64::try_from(step).unwrap_or(0));
            }
            all = p.holds_in_bounds(at)?;
            if !all {
                break;
            }
        }
        if let Some(slot) = index.and_then(|k| at.get_mut(k)) {
            *slot = first;
        }
        Ok(all)
    }

    /// Runs a call or a loop, and keeps its results.
    pub(super) fn run_producer(&mut self, var: StmtId, stmt: &Statement) -> Result<(), RunError> {
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        self.poll()?;
        match &stmt.rhs {
            Rhs::Loop(of) => self.run_loop(var, of),
            _ => {
                let shape = self.shape(&stmt.dims)?;
                self.run_call(var, stmt, &shape)
            }
        }
    }

    /// Returns the value of a statement that has elements.
    pub(super) fn statement(&mut self, k: u32, stmt: &Statement) -> Result<Tensor, RunError> {
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        self.poll()?;
        let shape = self.shape(&stmt.dims)?;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        // The index expressions of a statement without elements may have no value.
        if shape.dims.contains(&0) && stmt.rhs.producer().is_none() {
            return shape.zeros(self, scalar);
        }
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Zero => shape.zeros(self, scalar),
            Rhs::Constant(c) => at_scalar!(scalar, T => {
                let constant = T::constant(*c).ok_or(RunError::Internal("a constant"))?;
                Ok(TensorBuilder::filled(self, shape.dims, constant)?.finish())
            }),
            Rhs::Index(p) => self.evaluate_index(&shape, p),
            Rhs::Add(items) => at_scalar!(scalar, T => self.add_tensors::<T>(shape, items)),
            Rhs::Contract { bound, pred, neg, factors } => {
                let terms = ContractionTerms { bound, pred, neg: *neg, factors };
                at_scalar!(scalar, T => self.contract::<T>(shape, terms))
            }
            Rhs::Map { operation, pred, args } => self.map(scalar, shape, *operation, pred, args),
            Rhs::Reduce(r) => at_scalar!(scalar, T => {
                let of = self.tensor(r.operand.var).and_then(Tensor::scalar_type).unwrap_or(scalar);
                self.reduce::<T>(&shape, of, r)
            }),
            Rhs::Argsort(o) => {
                let of = self.tensor(o.keys.var).and_then(Tensor::scalar_type).ok_or(NO_ELEMENTS)?;
                self.sort(shape, of, o)
            }
            Rhs::CallResult(producer, output) => self.call_result(*producer, *output, stmt, shape),
            Rhs::LoopResult(producer, result) => self.loop_result(*producer, *result, stmt, shape),
            Rhs::Call { .. } | Rhs::Loop(_) => Err(NO_ELEMENTS),
            Rhs::Update { .. } => at_scalar!(scalar, T => self.update::<T>(k, stmt, &shape)),
        }
    }

    /// Evaluates an access where a predicate holds; the other elements are zero.
    pub(super) fn read_where<T: TensorElement>(
        &self,
        shape: StatementExtents,
        pred: &Pred,
        of: &TensorAccess,
    ) -> Result<Tensor, RunError> {
        self.contract::<T>(shape, ContractionTerms { bound: &[], pred, neg: false, factors: std::slice::from_ref(of) })
    }

    /// Evaluates an index expression at every index. The loop nest computes it like the offset of
    /// an operand.
    fn evaluate_index(&self, shape: &StatementExtents, p: &Poly) -> Result<Tensor, RunError> {
        let mut room = TensorBuilder::filled(self, shape.dims.clone(), 0_i64)?;
        let value = IndexTranslator::new(self, &shape.extents).index_expr(p)?;
        let space = IndexSpace {
            extents: shape.extents.clone(),
            free: shape.dims.len(),
            pred: &Pred::truth(),
            needs_indices: false,
        };
        RowNest::new(self, &space, &[shape.element_offset(), value])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                let values = from.offsets();
                rows::add(&mut room.items, at, rows::RowOperand::Dense(&values), false)
            })
        })?;
        Ok(room.finish())
    }

    fn add_tensors<T: TensorElement>(&self, shape: StatementExtents, items: &[Addend]) -> Result<Tensor, RunError> {
        if shape.dims.is_empty() {
            return self.scalar_sum::<T>(items);
        }
        let whole = items.iter().any(|item| item.pred.is_true());
        let mut sum = SumAccumulators::<T>::new(self, &shape, whole)?;
        let names = IndexTranslator::new(self, &shape.extents);
        for item in items {
            let (tensor, place) = names.access(&item.operand)?;
            let factor = tensor.items::<T>().ok_or(NO_ELEMENTS)?;
            let space = IndexSpace {
                extents: shape.extents.clone(),
                free: shape.dims.len(),
                pred: &item.pred,
                needs_indices: false,
            };
            let nest = RowNest::new(self, &space, &[shape.element_offset(), place])?;
            let mut gathered = GatherBuffer::new();
            nest.visit(self, &mut |row| {
                row.for_each_piece(&mut |first, count| {
                    let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                    sum.mark_terms(at)?;
                    rows::add(&mut sum.sums.items, at, gathered.operand(factor, from)?, item.neg)
                })
            })?;
        }
        Ok(sum.finish(false))
    }

    fn contract<T: TensorElement>(
        &self,
        shape: StatementExtents,
        terms: ContractionTerms<'_>,
    ) -> Result<Tensor, RunError> {
        if shape.dims.is_empty() && terms.bound.is_empty() {
            return self.scalar_product::<T>(terms.pred, terms.neg, terms.factors);
        }
        let free = shape.dims.len();
        let mut extents = shape.extents.clone();
        extents.extend(self.extents(terms.bound)?);
        let names = IndexTranslator::new(self, &extents);
        let (mut tensors, mut places) = (Vec::new(), vec![shape.element_offset()]);
        for factor in terms.factors {
            let (tensor, place) = names.access(factor)?;
            tensors.push(tensor);
            places.push(place);
        }
        if let ([tensor], [own, place], true) = (tensors.as_slice(), places.as_slice(), terms.is_view())
            && let Some(view) = tensor.view_at(&shape.dims, own, place)
            // A view of a small part would keep the whole buffer alive, and an update in place
            // would have to copy the buffer.
            && 2 * view.count() >= tensor.count()
        {
            return Ok(view);
        }
        let space = IndexSpace { extents, free, pred: terms.pred, needs_indices: false };
        let nest = RowNest::new(self, &space, &places)?;
        let whole = nest.is_unrestricted && space.extents.iter().skip(free).all(|n| *n > 0);
        let mut sum = SumAccumulators::<T>::new(self, &shape, whole)?;
        let elements: Option<Vec<&[T]>> = tensors.iter().map(Tensor::items::<T>).collect();
        match elements.ok_or(NO_ELEMENTS)?.as_slice() {
            [a] => {
                let mut gathered = GatherBuffer::new();
                nest.visit(self, &mut |row| {
                    row.for_each_piece(&mut |first, count| {
                        let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                        sum.mark_terms(at)?;
                        rows::add(&mut sum.sums.items, at, gathered.operand(a, from)?, false)
                    })
                })?;
            }
            [a, b] => {
                let (mut first_factor, mut second_factor) = (GatherBuffer::new(), GatherBuffer::new());
                nest.visit(self, &mut |row| {
                    row.for_each_piece(&mut |first, count| {
                        let at = row.piece(0, first, count);
                        let a = first_factor.operand(a, row.piece(1, first, count))?;
                        let b = second_factor.operand(b, row.piece(2, first, count))?;
                        sum.mark_terms(at)?;
                        rows::add_products(&mut sum.sums.items, at, a, b)
                    })
                })?;
            }
            _ => return Err(RunError::Internal("a factor")),
        }
        Ok(sum.finish(terms.neg))
    }
}

impl ContractionTerms<'_> {
    /// Returns whether the contraction computes nothing, so that its value is a view.
    fn is_view(self) -> bool {
        self.bound.is_empty() && self.pred.is_true() && !self.neg
    }
}

impl Tensor {
    /// Returns a view of the elements at these offsets, if their strides are those of a new buffer.
    fn view_at(&self, dims: &[usize], own: &IndexExpr, place: &IndexExpr) -> Option<Self> {
        if !place.is_affine() {
            return None;
        }
        let ((_, ours), (start, theirs)) = (own.affine(), place.affine());
        let step = |steps: &[(usize, i64)], k: usize| steps.iter().find(|(j, _)| *j == k).map_or(0, |(_, c)| *c);
        let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
        let same = dims.iter().enumerate().all(|(k, n)| *n == 1 || step(&ours, k) == step(&theirs, k));
        if !same {
            return None;
        }
        self.view(dims, usize::try_from(start).ok()?)
    }
}

/// The accumulators of the sums of a tensor.
struct SumAccumulators<T: TensorElement> {
    sums: TensorBuilder<T>,
    /// Whether each element has a term; `None` if all have.
    has_term: Option<TensorBuilder<bool>>,
}

impl<T: TensorElement> SumAccumulators<T> {
    /// Allocates the accumulators. If `all_have_terms`, every element has a term.
    fn new(run: &RunState<'_>, shape: &StatementExtents, whole: bool) -> Result<Self, RunError> {
        let room = TensorBuilder::filled(run, shape.dims.clone(), T::NEUTRAL)?;
        let marked = !whole && T::HAS_SIGNED_ZERO;
        let seen = marked.then(|| TensorBuilder::filled(run, shape.dims.clone(), false)).transpose()?;
        Ok(Self { sums: room, has_term: seen })
    }

    /// Marks these elements as having terms.
    fn mark_terms(&mut self, at: rows::RowPiece) -> Result<(), RunError> {
        match &mut self.has_term {
            Some(seen) => rows::set(&mut seen.items, at, true),
            None => Ok(()),
        }
    }

    /// Returns the sums, negated if `neg`. An element without terms becomes zero, because the
    /// accumulators of reals begin at -0.
    fn finish(mut self, neg: bool) -> Tensor {
        if neg {
            self.sums.items.iter_mut().for_each(|x| *x = x.negated());
        }
        if let Some(seen) = &self.has_term {
            let without = self.sums.items.iter_mut().zip(&seen.items).filter(|(_, seen)| !**seen);
            without.for_each(|(x, _)| *x = T::ZERO);
        }
        self.sums.finish()
    }
}

//! **Statements.** Evaluates one statement: builds its loop nest and applies row operations.

use super::nest::{Nest, Space};
use super::number::{Missing, Names, Num, Test};
use super::rows::{self, Gathered};
use super::tensor::{Number, Room, Tensor, strides};
use super::{Run, Stopped};
use lang_ir::ssa::{Access, Addend, Rhs, Stmt};
use lang_runtime::memory::{MAX_EXTENT, TooLarge};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// So many steps of a check are asked together.
const TOGETHER: usize = 512;

pub(super) const NO_ELEMENTS: Stopped = Stopped::Broken("the elements of an operand");

/// The extents of a statement.
pub(super) struct Shape {
    pub(super) dims: Vec<usize>,
    pub(super) extents: Vec<i64>,
}

/// Calls a generic function for a scalar.
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

impl Shape {
    /// Creates a tensor of zeros.
    pub(super) fn zeros(self, run: &Run<'_>, scalar: Scalar) -> Result<Tensor, Stopped> {
        at_scalar!(scalar, T => Ok(Room::filled(run, self.dims, T::ZERO)?.done()))
    }

    /// Returns the offset of the result's element.
    pub(super) fn place(&self) -> Num {
        Num::of_strides(&strides(&self.dims))
    }
}

/// The terms of a contraction.
#[derive(Clone, Copy)]
struct Terms<'s> {
    bound: &'s [Poly],
    pred: &'s Pred,
    neg: bool,
    factors: &'s [Access],
}

impl Run<'_> {
    /// Evaluates extents. Negative extents count as 0, and so does an extent that reads out of
    /// bounds, because no element of that array is read.
    pub(super) fn extents(&self, dims: &[Poly]) -> Result<Vec<i64>, Stopped> {
        let names = Names::new(self, &[]);
        let extent = |n: &Poly| {
            let n = match names.num(n)?.value(&[]) {
                Err(Missing::Outside) => 0,
                n => n?,
            };
            if n >= MAX_EXTENT {
                return Err(Stopped::TooLarge(TooLarge::Elements(n.unsigned_abs().into())));
            }
            Ok(n.max(0))
        };
        dims.iter().map(extent).collect()
    }

    pub(super) fn dims(&self, dims: &[Poly]) -> Result<Vec<usize>, Stopped> {
        Ok(self.extents(dims)?.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect())
    }

    fn shape(&self, dims: &[Poly]) -> Result<Shape, Stopped> {
        let extents = self.extents(dims)?;
        let dims = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        Ok(Shape { dims, extents })
    }

    /// Runs a check for all its indices, at most once in a run.
    pub(super) fn check(&mut self, c: u32) -> Result<(), Stopped> {
        let program = self.program;
        let (Some(done), Some(check)) = (self.checked.get_mut(c as usize), program.ssa.checks.get(c as usize)) else {
            return Err(Stopped::Broken("a check"));
        };
        if std::mem::replace(done, true) {
            return Ok(());
        }
        let mut extents = self.extents(&check.dims)?;
        // What does not depend on an index is asked once.
        for idle in program.idle.get(c as usize).into_iter().flatten() {
            extents.get_mut(*idle).into_iter().for_each(|extent| *extent = (*extent).min(1));
        }
        let n = extents.len();
        let space = Space { free: n, extents, pred: &check.guard, by_index: true };
        let nest = Nest::new(self, &space, &[])?;
        let mut names = Names::new(self, &space.extents);
        let wanted = names.test(&check.cond)?;
        let mut at = vec![0; names.slots];
        nest.visit(self, &mut |row| {
            for (slot, i) in at.iter_mut().zip(row.at.iter().take(n)) {
                *slot = *i;
            }
            let failed = || Stopped::Failed(check.what.clone());
            let mut left = row.count;
            while left > 0 {
                row.run.poll()?;
                let count = left.min(TOGETHER);
                let held = row.index.and_then(|index| wanted.along(&at, index, count));
                match held {
                    Some(held) if held.iter().all(|holds| *holds) => {}
                    Some(_) => return Err(failed()),
                    None => self.each_holds(&wanted, &mut at, row.index, count)?.then_some(()).ok_or_else(failed)?,
                }
                if let Some(slot) = row.index.and_then(|k| at.get_mut(k)) {
                    *slot = slot.wrapping_add(i64::try_from(count).unwrap_or(0));
                }
                left -= count;
            }
            Ok(())
        })
    }

    /// Does a predicate hold at so many steps of an index? It stands where it stood after that.
    fn each_holds(&self, p: &Test<'_>, at: &mut [i64], index: Option<usize>, count: usize) -> Result<bool, Stopped> {
        let first = index.and_then(|k| at.get(k)).copied().unwrap_or(0);
        let mut all = true;
        for step in 0..count {
            if let Some(slot) = index.and_then(|k| at.get_mut(k)) {
                *slot = first.wrapping_add(i64::try_from(step).unwrap_or(0));
            }
            all = p.asked(at)?;
            if !all {
                break;
            }
        }
        if let Some(slot) = index.and_then(|k| at.get_mut(k)) {
            *slot = first;
        }
        Ok(all)
    }

    pub(super) fn statement(&mut self, k: u32, stmt: &Stmt) -> Result<Tensor, Stopped> {
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        self.poll()?;
        let shape = self.shape(&stmt.dims)?;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        // Index expressions of what is never visited may have no value.
        if shape.dims.contains(&0) && !matches!(stmt.rhs, Rhs::Call { .. } | Rhs::Loop(..)) {
            return shape.zeros(self, scalar);
        }
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Zero => shape.zeros(self, scalar),
            Rhs::Constant(c) => at_scalar!(scalar, T => {
                let constant = T::constant(*c).ok_or(Stopped::Broken("a constant"))?;
                Ok(Room::filled(self, shape.dims, constant)?.done())
            }),
            Rhs::Index(p) => self.index(&shape, p),
            Rhs::Add(items) => at_scalar!(scalar, T => self.add::<T>(shape, items)),
            Rhs::Contract { bound, pred, neg, factors } => {
                let terms = Terms { bound, pred, neg: *neg, factors };
                at_scalar!(scalar, T => self.contract::<T>(shape, terms))
            }
            Rhs::Map { operation, pred, args } => self.map(scalar, shape, *operation, pred, args),
            Rhs::Reduce(r) => at_scalar!(scalar, T => {
                let of = self.tensor(r.of.var).and_then(Tensor::kind).unwrap_or(scalar);
                self.reduce::<T>(&shape, of, r)
            }),
            Rhs::Order(o) => {
                let of = self.tensor(o.of.var).and_then(Tensor::kind).ok_or(NO_ELEMENTS)?;
                self.order(shape, of, o)
            }
            Rhs::Call { .. } => self.call(k, stmt, shape),
            Rhs::Loop(..) => self.looped(k, stmt, shape),
            Rhs::Update { .. } => at_scalar!(scalar, T => self.update::<T>(k, stmt, &shape)),
        }
    }

    /// Evaluates an access where a predicate holds; the other elements are zero.
    pub(super) fn read_through<T: Number>(&self, shape: Shape, pred: &Pred, of: &Access) -> Result<Tensor, Stopped> {
        self.contract::<T>(shape, Terms { bound: &[], pred, neg: false, factors: std::slice::from_ref(of) })
    }

    /// The value of an index expression at every index: where a place would be.
    fn index(&self, shape: &Shape, p: &Poly) -> Result<Tensor, Stopped> {
        let mut room = Room::filled(self, shape.dims.clone(), 0_i64)?;
        let value = Names::new(self, &shape.extents).num(p)?;
        let space =
            Space { extents: shape.extents.clone(), free: shape.dims.len(), pred: &Pred::truth(), by_index: false };
        Nest::new(self, &space, &[shape.place(), value])?.visit(self, &mut |row| {
            row.pieces(&mut |first, count| {
                let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                let values = from.places();
                rows::add(&mut room.items, at, rows::Lane::Dense(&values), false)
            })
        })?;
        Ok(room.done())
    }

    fn add<T: Number>(&self, shape: Shape, items: &[Addend]) -> Result<Tensor, Stopped> {
        if shape.dims.is_empty() {
            return self.sum::<T>(items);
        }
        let whole = items.iter().any(|item| item.pred.is_true());
        let mut sum = Sum::<T>::new(self, &shape, whole)?;
        let names = Names::new(self, &shape.extents);
        for item in items {
            let (tensor, place) = names.access(&item.of)?;
            let factor = tensor.items::<T>().ok_or(NO_ELEMENTS)?;
            let space =
                Space { extents: shape.extents.clone(), free: shape.dims.len(), pred: &item.pred, by_index: false };
            let nest = Nest::new(self, &space, &[shape.place(), place])?;
            let mut gathered = Gathered::new();
            nest.visit(self, &mut |row| {
                row.pieces(&mut |first, count| {
                    let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                    sum.see(at)?;
                    rows::add(&mut sum.room.items, at, gathered.lane(factor, from)?, item.neg)
                })
            })?;
        }
        Ok(sum.done(false))
    }

    fn contract<T: Number>(&self, shape: Shape, terms: Terms<'_>) -> Result<Tensor, Stopped> {
        if shape.dims.is_empty() && terms.bound.is_empty() {
            return self.product::<T>(terms.pred, terms.neg, terms.factors);
        }
        let free = shape.dims.len();
        let mut extents = shape.extents.clone();
        extents.extend(self.extents(terms.bound)?);
        let names = Names::new(self, &extents);
        let (mut tensors, mut places) = (Vec::new(), vec![shape.place()]);
        for factor in terms.factors {
            let (tensor, place) = names.access(factor)?;
            tensors.push(tensor);
            places.push(place);
        }
        if let ([tensor], [own, place], true) = (tensors.as_slice(), places.as_slice(), terms.is_view())
            && let Some(view) = tensor.seen(&shape.dims, own, place)
            // A view of little would keep all of it, and what is changed in place would be copied for it.
            && 2 * view.count() >= tensor.count()
        {
            return Ok(view);
        }
        let space = Space { extents, free, pred: terms.pred, by_index: false };
        let nest = Nest::new(self, &space, &places)?;
        let whole = nest.whole && space.extents.iter().skip(free).all(|n| *n > 0);
        let mut sum = Sum::<T>::new(self, &shape, whole)?;
        let elements: Option<Vec<&[T]>> = tensors.iter().map(Tensor::items::<T>).collect();
        match elements.ok_or(NO_ELEMENTS)?.as_slice() {
            [a] => {
                let mut gathered = Gathered::new();
                nest.visit(self, &mut |row| {
                    row.pieces(&mut |first, count| {
                        let (at, from) = (row.piece(0, first, count), row.piece(1, first, count));
                        sum.see(at)?;
                        rows::add(&mut sum.room.items, at, gathered.lane(a, from)?, false)
                    })
                })?;
            }
            [a, b] => {
                let (mut first_factor, mut second_factor) = (Gathered::new(), Gathered::new());
                nest.visit(self, &mut |row| {
                    row.pieces(&mut |first, count| {
                        let at = row.piece(0, first, count);
                        let a = first_factor.lane(a, row.piece(1, first, count))?;
                        let b = second_factor.lane(b, row.piece(2, first, count))?;
                        sum.see(at)?;
                        rows::add_products(&mut sum.room.items, at, a, b)
                    })
                })?;
            }
            _ => return Err(Stopped::Broken("a factor")),
        }
        Ok(sum.done(terms.neg))
    }
}

impl Terms<'_> {
    /// Does it compute nothing?
    fn is_view(self) -> bool {
        self.bound.is_empty() && self.pred.is_true() && !self.neg
    }
}

impl Tensor {
    /// The elements at these places, if they lie here as they would in a buffer of their own.
    fn seen(&self, dims: &[usize], own: &Num, place: &Num) -> Option<Self> {
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

/// Elements that are sums in the making.
struct Sum<T: Number> {
    room: Room<T>,
    /// Which have terms, where not all do.
    seen: Option<Room<bool>>,
}

impl<T: Number> Sum<T> {
    /// `whole`: every element has a term.
    fn new(run: &Run<'_>, shape: &Shape, whole: bool) -> Result<Self, Stopped> {
        let room = Room::filled(run, shape.dims.clone(), T::NEUTRAL)?;
        let marked = !whole && T::SIGNED;
        let seen = marked.then(|| Room::filled(run, shape.dims.clone(), false)).transpose()?;
        Ok(Self { room, seen })
    }

    /// These elements have terms.
    fn see(&mut self, at: rows::Piece) -> Result<(), Stopped> {
        match &mut self.seen {
            Some(seen) => rows::set(&mut seen.items, at, true),
            None => Ok(()),
        }
    }

    fn done(mut self, neg: bool) -> Tensor {
        if neg {
            self.room.items.iter_mut().for_each(|x| *x = x.negated());
        }
        if let Some(seen) = &self.seen {
            let without = self.room.items.iter_mut().zip(&seen.items).filter(|(_, seen)| !**seen);
            without.for_each(|(x, _)| *x = T::ZERO);
        }
        self.room.done()
    }
}

//! **Loops in Tensor SSA.** The body is a region: a separate function in Tensor SSA that sees only
//! its inputs. Carried inputs pass from one iteration to the next. The other inputs are read from
//! the enclosing function, anew in each iteration if the access mentions the iteration number. So
//! an array that is sliced by that number is read by slices. The derivative of a loop follows from
//! the derivative of its body alone, without a trace of a run.
//!
//! The indices of a loop's statement are its batch: it runs once for each tuple of them. A
//! polynomial over the batch may mention these indices. The index after them is the iteration
//! number in arguments and sizes. Other statements name the results of the loop ([`LoopResult`]);
//! their first indices are the batch.
//!
//! `norm::to_ssa` builds loops, `ad::loops` differentiates them, and `lang_exec` runs them.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::core::CheckpointSpacing;
use super::ssa::{SsaFunction, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, statement_index};
use lang_sizes::predicate::{Poly, Pred};

/// A loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SsaLoop {
    /// The extents of the batch indices.
    pub batch: Vec<Poly>,
    /// The batch tuples for which the loop runs.
    pub pred: Pred,
    /// The trip count or the loop condition.
    pub trip_count: LoopTripCount,
    /// The spacing of the states that an adjoint keeps, over the batch.
    pub checkpoint: Option<CheckpointSpacing>,
    /// The sizes of the body, over the batch and the iteration number.
    pub sizes: Vec<Poly>,
    /// The arguments, one for each input of the body.
    pub args: Vec<LoopArg>,
    /// The body.
    pub body: Arc<SsaFunction>,
}

/// The trip count of a loop, or its condition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LoopTripCount {
    /// A fixed count, over the batch. Values below 0 count as 0.
    Fixed(Poly),
    /// Runs while this carried input, a truth value, is true.
    While(u32),
}

/// An argument for an input of a body.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LoopArg {
    /// A value read at these first indices, over the batch and the iteration number. Out of bounds
    /// it is zero, because the body does not use it there.
    Captured(TensorAccess),
    /// A carried value: `init`, over the batch, in the first iteration, then output `next` of the
    /// previous iteration.
    Carried {
        /// The initial value.
        init: TensorAccess,
        /// The output that carries it on.
        next: u32,
    },
}

impl LoopArg {
    /// Returns the access of the argument.
    #[must_use]
    pub fn access(&self) -> &TensorAccess {
        match self {
            Self::Captured(of) | Self::Carried { init: of, .. } => of,
        }
    }

    /// Returns the argument with another access.
    #[must_use]
    pub fn with_access(&self, of: TensorAccess) -> Self {
        match self {
            Self::Captured(_) => Self::Captured(of),
            Self::Carried { next, .. } => Self::Carried { init: of, next: *next },
        }
    }
}

/// A result of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LoopResult {
    /// The final value of this input, which one more iteration would read.
    Final(u32),
    /// This output of every iteration. The index after the batch is the iteration number.
    PerIteration(u32),
    /// The value of this input in every iteration whose number is a multiple of the checkpoint
    /// spacing. The index after the batch is the quotient.
    Checkpoint(u32),
    /// The trip count of the run, as `i64`.
    TripCount,
}

impl Hash for SsaLoop {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.trip_count, &self.sizes, &self.args, self.body.stmts.len()).hash(state);
    }
}

impl SsaLoop {
    /// Maps the accesses, polynomials and predicates, except those of the body.
    #[must_use]
    pub fn map(
        &self,
        access: &mut dyn FnMut(&TensorAccess) -> TensorAccess,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> Self {
        Self {
            batch: self.batch.iter().map(poly).collect(),
            pred: pred(&self.pred),
            trip_count: match &self.trip_count {
                LoopTripCount::Fixed(n) => LoopTripCount::Fixed(poly(n)),
                LoopTripCount::While(k) => LoopTripCount::While(*k),
            },
            checkpoint: self.checkpoint.as_ref().map(|s| s.map(poly)),
            sizes: self.sizes.iter().map(poly).collect(),
            args: self.args.iter().map(|a| a.with_access(access(a.access()))).collect(),
            body: self.body.clone(),
        }
    }

    /// Visits the polynomials, except those of accesses and the extents of the batch.
    pub fn for_each_poly(&self, f: &mut dyn FnMut(&Poly)) {
        self.sizes.iter().for_each(&mut *f);
        if let LoopTripCount::Fixed(n) = &self.trip_count {
            f(n);
        }
        self.checkpoint.iter().filter_map(CheckpointSpacing::fixed_distance).for_each(f);
    }

    /// Returns the trip count, or `None` for a `while` loop.
    #[must_use]
    pub fn fixed_trip_count(&self) -> Option<&Poly> {
        if let LoopTripCount::Fixed(n) = &self.trip_count { Some(n) } else { None }
    }

    /// Returns the iteration number, as an index.
    #[must_use]
    pub fn iteration_number(&self) -> Poly {
        statement_index(self.batch.len(), &Poly::default()).value()
    }

    /// Returns the carried inputs, each with the output that carries it on.
    pub fn carried_inputs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.args).filter_map(|(k, a)| match a {
            LoopArg::Carried { next, .. } => Some((k, *next)),
            LoopArg::Captured(_) => None,
        })
    }

    /// Visits the statements that the loop reads. An argument counts only if its input is in
    /// `inputs`.
    pub fn for_each_operand(&self, inputs: &BTreeSet<u32>, f: &mut dyn FnMut(StmtId)) {
        for (_, arg) in (0..).zip(&self.args).filter(|(k, _)| inputs.contains(k)) {
            f(arg.access().var);
            arg.access().at.iter().for_each(|p| for_each_poly_read(p, f));
        }
        for_each_pred_read(&self.pred, f);
        self.batch.iter().for_each(|p| for_each_poly_read(p, f));
        self.for_each_poly(&mut |p| for_each_poly_read(p, f));
    }
}

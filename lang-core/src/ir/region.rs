//! Loops in Tensor SSA. The body is a region: a function in Tensor SSA of its own, which sees only what it is given. Some
//! of its inputs are carried from one iteration to the next; the others are given, each anew for every iteration if
//! that is how it is read. So what is sliced by the number of the iteration is read by slices, and a derivative of
//! the loop is made of the derivative of its body and of nothing that was run.
//!
//! A loop stands where its parts are read, for every tuple of the first indices of the statement, its batch. The number of
//! the iteration is the index after those.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::core::Spacing;
use super::ssa::{Access, Ssa, Var, for_each_read, index, reads};
use crate::predicate::{Poly, Pred};

/// A loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The extents of the indices for which there is a loop.
    pub batch: Vec<Poly>,
    /// For which of them.
    pub pred: Pred,
    /// How often it runs.
    pub trips: Trips,
    /// Of how many states, over the batch, an adjoint keeps one.
    pub checkpoint: Option<Spacing>,
    /// The sizes of the body, over the batch and the number of the iteration.
    pub sizes: Vec<Poly>,
    /// What each input of the body is.
    pub args: Vec<Arg>,
    /// The body.
    pub body: Arc<Ssa>,
}

/// How often a loop runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Trips {
    /// So often, over the batch; below 0 is as good as 0.
    Count(Poly),
    /// While this input, a carried truth value, holds.
    While(u32),
}

/// What an input of a body is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Arg {
    /// What is read at these first indices, over the batch and the number of the iteration. It is zero where they are
    /// outside: nothing asks for it there.
    Given(Access),
    /// What is read at first, over the batch, and this output of the iteration before from then on.
    Carried {
        /// At first.
        init: Access,
        /// Then.
        next: u32,
    },
}

impl Arg {
    /// What is read.
    #[must_use]
    pub fn access(&self) -> &Access {
        match self {
            Self::Given(of) | Self::Carried { init: of, .. } => of,
        }
    }

    /// The same argument with another access.
    #[must_use]
    pub fn with(&self, of: Access) -> Self {
        match self {
            Self::Given(_) => Self::Given(of),
            Self::Carried { next, .. } => Self::Carried { init: of, next: *next },
        }
    }
}

/// What is read of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Part {
    /// What this input would be in one more iteration.
    Last(u32),
    /// This output of every iteration: the index after the batch is its number.
    Every(u32),
    /// What this input is in every iteration whose number the spacing of checkpoints divides: the index after the batch
    /// is the quotient.
    State(u32),
    /// How often it ran, as `i64`.
    Trips,
}

impl Hash for Loop {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.trips, &self.sizes, &self.args, self.body.stmts.len()).hash(state);
    }
}

impl Loop {
    /// Its accesses replaced, and its polynomials and predicates.
    #[must_use]
    pub fn map(
        &self,
        access: &mut dyn FnMut(&Access) -> Access,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> Self {
        Self {
            batch: self.batch.iter().map(poly).collect(),
            pred: pred(&self.pred),
            trips: match &self.trips {
                Trips::Count(n) => Trips::Count(poly(n)),
                Trips::While(k) => Trips::While(*k),
            },
            checkpoint: self.checkpoint.as_ref().map(|s| s.map(poly)),
            sizes: self.sizes.iter().map(poly).collect(),
            args: self.args.iter().map(|a| a.with(access(a.access()))).collect(),
            body: self.body.clone(),
        }
    }

    /// Its polynomials, but for those of its accesses and the extents of the batch.
    pub fn for_each_poly(&self, f: &mut dyn FnMut(&Poly)) {
        self.sizes.iter().for_each(&mut *f);
        if let Trips::Count(n) = &self.trips {
            f(n);
        }
        self.checkpoint.iter().filter_map(Spacing::told).for_each(f);
    }

    /// How often it runs, if that is told before.
    #[must_use]
    pub fn count(&self) -> Option<&Poly> {
        if let Trips::Count(n) = &self.trips { Some(n) } else { None }
    }

    /// The number of the iteration.
    #[must_use]
    pub fn number(&self) -> Poly {
        index(self.batch.len(), &Poly::default()).value()
    }

    /// The inputs that are carried, and the output that each is next.
    pub fn carried(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.args).filter_map(|(k, a)| match a {
            Arg::Carried { next, .. } => Some((k, *next)),
            Arg::Given(_) => None,
        })
    }

    /// What it reads, of its arguments those of these inputs.
    pub fn for_each_operand(&self, inputs: &BTreeSet<u32>, f: &mut dyn FnMut(Var)) {
        for (_, arg) in (0..).zip(&self.args).filter(|(k, _)| inputs.contains(k)) {
            f(arg.access().var);
            arg.access().at.iter().for_each(|p| reads(p, f));
        }
        for_each_read(&self.pred, f);
        self.batch.iter().for_each(|p| reads(p, f));
        self.for_each_poly(&mut |p| reads(p, f));
    }
}

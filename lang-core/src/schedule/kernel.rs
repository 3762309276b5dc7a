//! Loop nests, as a backend reads them: what they read and write, and what stands in them. Everything is in the terms of
//! Tensor SSA: a variable is a statement's tensor, its elements are set one at a time by the statement's right-hand side,
//! whose indices are those of the loops around it.

use crate::ir::core::Constant;
use crate::ir::reduce::Reducer;
use crate::ir::ssa::{Access, FIRST_INDEX, Rhs, Var};
use crate::predicate::{Atom, Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;

/// The indices of loops are the locals of this number and above: no statement has so many.
pub(super) const FIRST_LOOP: u32 = FIRST_INDEX + (1 << 20);

/// The extent of a loop that ends where a truth value says so, which no loop reaches.
pub const ENDLESS: i64 = 1 << 62;

/// Is that the extent of such a loop?
pub(super) fn is_endless(extent: &Poly) -> bool {
    extent.as_constant().is_some_and(|n| n >= ENDLESS.into())
}

/// The number of the loop whose index this is.
#[must_use]
pub fn loop_number(local: LocalId) -> Option<usize> {
    local.0.checked_sub(FIRST_LOOP).map(|k| k as usize)
}

/// Loops that are one unit: a backend makes a function of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// What is read and written.
    pub places: Vec<Place>,
    /// Integers that are known before: sizes, parameters, top-level `let`s.
    pub integers: Vec<Atom>,
    /// What is done.
    pub body: Vec<Node>,
    /// What it sets, each behind what it is made of.
    pub sets: Vec<Var>,
}

/// Where the elements of a variable are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The variable.
    pub var: Var,
    /// What it holds.
    pub scalar: Scalar,
    /// What it is for.
    pub role: Role,
    /// Its axes: the extent, or none where an element lives no longer than an iteration of the loop over that axis.
    pub axes: Vec<Option<Poly>>,
    /// Is every element set or cleared before it is read? Others are zero at first.
    pub is_whole: bool,
}

impl Place {
    /// Has it no memory?
    #[must_use]
    pub fn is_register(&self) -> bool {
        self.role == Role::Within && self.axes.iter().all(Option::is_none)
    }
}

/// What a place is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// It is read, and was there before.
    Given,
    /// It is written, and read later.
    Made,
    /// It is written and read here.
    Within,
}

/// What stands in loops.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A loop.
    Loop(Loop),
    /// An index that is told: what is inside runs for that one value, if it is below the extent.
    Told {
        /// The index.
        index: Index,
        /// Its value.
        value: Poly,
        /// What is inside.
        body: Vec<Node>,
    },
    /// What is inside runs where the predicate holds.
    If(Pred, Vec<Node>),
    /// Products of matrices.
    Product(Box<Product>),
    /// The elements of a variable at these indices are this; where there is no index, all along the axis.
    Clear(Var, Vec<Option<Poly>>, Constant),
    /// An element of a variable is this, or has one more term.
    Set(Set),
}

/// A loop. It runs over what is in all the ranges, from 0 to the extent among them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// Its index.
    pub index: Index,
    /// It begins at none of them below.
    pub from: Vec<Poly>,
    /// It ends before each of them.
    pub to: Vec<Poly>,
    /// Does each iteration need what the one before left?
    pub in_order: bool,
    /// It ends before the first iteration in which this truth value, which iterations set, does not hold.
    pub goes_on: Option<Access>,
    /// What is inside.
    pub body: Vec<Node>,
}

/// An element of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Set {
    /// The variable.
    pub var: Var,
    /// Its indices.
    pub at: Vec<Poly>,
    /// What it is, or what the term is, over the indices around.
    pub rhs: Rhs,
    /// How the term is joined to those before.
    pub join: Option<Join>,
}

/// A product of matrices: each element `X[…, m, …, n, …]` is `± Σ k: A[…, m, …, k, …] · B[…, k, …, n, …]`, over all of three
/// indices. Each stands alone where an element is read, and all that is read is there. It may be done as one; the loops
/// give the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// The result.
    pub var: Var,
    /// Its indices.
    pub at: Vec<Poly>,
    /// Is it negated?
    pub neg: bool,
    /// The index of the first factor's rows, of the second's columns, and of what is summed.
    pub along: [Index; 3],
    /// The factors.
    pub factors: [Access; 2],
    /// Is a factor zero where the loops have no term? Where the result is not finite, they decide.
    pub masked: bool,
    /// The same as loops.
    pub body: Vec<Node>,
}

/// How terms are joined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Join {
    /// They are added.
    Sum,
    /// By a reduction.
    Reduce(Reducer),
}

impl Loop {
    /// One over all values of an index.
    pub(super) fn over(index: Index, in_order: bool, body: Vec<Node>) -> Self {
        Self { index, from: Vec::new(), to: Vec::new(), in_order, goes_on: None, body }
    }
}

impl Node {
    /// Calls with every element that is set in it.
    pub fn for_each_set<'n>(&'n self, f: &mut dyn FnMut(&'n Set)) {
        match self {
            Self::Loop(Loop { body, .. }) | Self::Told { body, .. } | Self::If(_, body) => {
                body.iter().for_each(|node| node.for_each_set(f));
            }
            Self::Product(of) => of.body.iter().for_each(|node| node.for_each_set(f)),
            Self::Clear(..) => {}
            Self::Set(set) => f(set),
        }
    }
}

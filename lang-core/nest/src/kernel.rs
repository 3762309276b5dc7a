//! **Loop nest IR.** The input of a backend: the storage that a kernel accesses, and its loops.
//!
//! Everything is in terms of Tensor SSA. A variable is a statement's tensor. A [`Set`] assigns one
//! of its elements by the statement's right-hand side, over the indices of the enclosing loops.
//!
//! [`super::schedule`] builds kernels; the JIT compiles them, and [`super::text`] prints them.

use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::{Access, FIRST_INDEX, Rhs, Var};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The first local that is a loop index. No statement has so many indices.
pub(super) const FIRST_LOOP: u32 = FIRST_INDEX + (1 << 20);

/// The least extent of a `while` loop, which no loop reaches.
pub const ENDLESS: i64 = 1 << 62;

/// Returns whether the extent is that of a `while` loop.
pub(super) fn is_endless(extent: &Poly) -> bool {
    extent.as_constant().is_some_and(|n| n >= ENDLESS.into())
}

/// Returns the number of the loop that the index belongs to.
#[must_use]
pub fn loop_number(local: LocalId) -> Option<usize> {
    local.0.checked_sub(FIRST_LOOP).map(|k| k as usize)
}

/// A unit of loop nests that a backend compiles to one function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// The storage that it reads and writes.
    pub places: Vec<Place>,
    /// The integers that are known on entry: sizes, parameters, top-level `let`s.
    pub integers: Vec<Atom>,
    /// The nodes, in order.
    pub body: Vec<Node>,
    /// The variables that it sets, each after those that it depends on.
    pub sets: Vec<Var>,
}

/// The storage of a variable's elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The variable.
    pub var: Var,
    /// The element type.
    pub scalar: Scalar,
    /// The role in the kernel.
    pub role: Role,
    /// The extent of each axis; `None` if an element lives no longer than one iteration of the loop
    /// over that axis.
    pub axes: Vec<Option<Poly>>,
    /// Whether every element is set or cleared before it is read. Otherwise the memory must be zero
    /// initially.
    pub is_whole: bool,
}

impl Place {
    /// Returns whether the variable needs no memory.
    #[must_use]
    pub fn is_register(&self) -> bool {
        self.role == Role::Within && self.axes.iter().all(Option::is_none)
    }
}

/// The role of a variable in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// An input, which the kernel only reads.
    Given,
    /// An output, which later steps read.
    Made,
    /// A temporary, which only this kernel writes and reads.
    Within,
}

/// A node of a loop nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A loop.
    Loop(Loop),
    /// An index with a computed value: the body runs once with that value, if it is in bounds.
    Told {
        /// The index.
        index: Index,
        /// Its value.
        value: Poly,
        /// The body.
        body: Vec<Node>,
    },
    /// A guard: the body runs if the predicate holds.
    If(Pred, Vec<Node>),
    /// A matrix product.
    Product(Box<Product>),
    /// Initialises elements of a variable with a constant. `None` in place of an index means the
    /// whole axis.
    Clear(Var, Vec<Option<Poly>>, Constant),
    /// Assigns an element of a variable, or accumulates a term into it.
    Set(Set),
}

/// A loop. Its range is the intersection of all bounds and of 0 to the extent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Loop {
    /// Its index.
    pub index: Index,
    /// Lower bounds; iteration starts at their maximum.
    pub from: Vec<Poly>,
    /// Exclusive upper bounds; iteration ends at their minimum.
    pub to: Vec<Poly>,
    /// Whether each iteration depends on the one before.
    pub in_order: bool,
    /// The condition of a `while` loop, a truth value that the iterations set. The loop ends before
    /// the first iteration in which it is false.
    pub goes_on: Option<Access>,
    /// The body.
    pub body: Vec<Node>,
}

/// An assignment to an element of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Set {
    /// The variable.
    pub var: Var,
    /// Its indices.
    pub at: Vec<Poly>,
    /// The value, or the term if `join` is some operation, over the enclosing indices.
    pub rhs: Rhs,
    /// The operation that accumulates the term; `None` for a plain assignment.
    pub join: Option<Join>,
}

/// A matrix product.
///
/// Each element `X[…, m, …, n, …]` is `± Σ k: A[…, m, …, k, …] · B[…, k, …, n, …]`, over the full
/// ranges of the three indices. Each of the three indices is a whole subscript of an access, and
/// all elements read exist. A backend may compute the product at once; the loops in `body` are
/// equivalent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// The result.
    pub var: Var,
    /// Its indices.
    pub at: Vec<Poly>,
    /// Whether it is negated.
    pub neg: bool,
    /// The index of the first factor's rows, of the second's columns, and of the sum.
    pub along: [Index; 3],
    /// The factors.
    pub factors: [Access; 2],
    /// Whether a factor is zero where the loops have no term. If the result is not finite, the
    /// loops must compute it.
    pub masked: bool,
    /// The equivalent loops.
    pub body: Vec<Node>,
}

/// The operation that combines terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Join {
    /// Addition.
    Sum,
    /// Another reduction.
    Reduce(Reducer),
}

impl Loop {
    /// Creates a loop over all values of an index.
    pub(super) fn over(index: Index, in_order: bool, body: Vec<Node>) -> Self {
        Self { index, from: Vec::new(), to: Vec::new(), in_order, goes_on: None, body }
    }
}

impl Node {
    /// Calls `f` on every assignment in the node.
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

//! **Loop nest IR.** The input of a backend: the storage that a kernel accesses, and its loops.
//!
//! Everything is in terms of Tensor SSA. A variable is a statement's tensor. An [`Assignment`] sets
//! one of its elements by the statement's right-hand side, over the indices of the enclosing loops.
//!
//! [`super::schedule`] builds kernels; the JIT compiles them, and [`super::text`] prints them.

use lang_ir::core::Constant;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::{FIRST_INDEX_LOCAL, Rhs, StmtId, TensorAccess};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The first local that is a loop index. No statement has so many indices.
pub(super) const FIRST_LOOP_LOCAL: u32 = FIRST_INDEX_LOCAL + (1 << 20);

/// The least extent of a `while` loop, which no loop reaches.
pub const WHILE_EXTENT: i64 = 1 << 62;

/// Returns whether the extent is that of a `while` loop.
pub(super) fn is_while_extent(extent: &Poly) -> bool {
    extent.as_constant().is_some_and(|n| n >= WHILE_EXTENT.into())
}

/// Returns the number of the loop that the index belongs to.
#[must_use]
pub fn loop_number(local: LocalId) -> Option<usize> {
    local.0.checked_sub(FIRST_LOOP_LOCAL).map(|k| k as usize)
}

/// A unit of loop nests that a backend compiles to one function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// The storage that it reads and writes.
    pub storage: Vec<KernelStorage>,
    /// The integers that are known on entry: sizes, parameters, top-level `let`s.
    pub entry_integers: Vec<Atom>,
    /// The nodes, in order.
    pub body: Vec<NestNode>,
    /// The variables that it sets, each after those that it depends on.
    pub assigned: Vec<StmtId>,
}

/// The storage of a variable's elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelStorage {
    /// The variable.
    pub var: StmtId,
    /// The element type.
    pub scalar: Scalar,
    /// The role in the kernel.
    pub role: StorageRole,
    /// The extent of each axis; `None` if an element lives no longer than one iteration of the loop
    /// over that axis.
    pub axes: Vec<Option<Poly>>,
    /// Whether every element is set or cleared before it is read. Otherwise the memory must be zero
    /// initially.
    pub is_fully_initialised: bool,
}

impl KernelStorage {
    /// Returns whether the variable needs no memory.
    #[must_use]
    pub fn is_register(&self) -> bool {
        self.role == StorageRole::Temporary && self.axes.iter().all(Option::is_none)
    }
}

/// The role of a variable in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageRole {
    /// An input, which the kernel only reads.
    Input,
    /// An output, which later steps read.
    Output,
    /// A temporary, which only this kernel writes and reads.
    Temporary,
}

/// A node of a loop nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum NestNode {
    /// A loop.
    Loop(NestLoop),
    /// An index with a computed value: the body runs once with that value, if it is in bounds.
    Let {
        /// The index.
        index: Index,
        /// Its value.
        value: Poly,
        /// The body.
        body: Vec<NestNode>,
    },
    /// A guard: the body runs if the predicate holds.
    If(Pred, Vec<NestNode>),
    /// A matrix product.
    MatrixProduct(Box<MatrixProduct>),
    /// Initialises elements of a variable with a constant. `None` in place of an index means the
    /// whole axis.
    Fill(StmtId, Vec<Option<Poly>>, Constant),
    /// Assigns an element of a variable, or accumulates a term into it.
    Assign(Assignment),
}

/// A loop. Its range is the intersection of all bounds and of 0 to the extent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NestLoop {
    /// Its index.
    pub index: Index,
    /// Lower bounds; iteration starts at their maximum.
    pub lower_bounds: Vec<Poly>,
    /// Exclusive upper bounds; iteration ends at their minimum.
    pub upper_bounds: Vec<Poly>,
    /// Whether each iteration depends on the one before.
    pub is_sequential: bool,
    /// The condition of a `while` loop, a truth value that the iterations set. The loop ends before
    /// the first iteration in which it is false.
    pub while_condition: Option<TensorAccess>,
    /// The body.
    pub body: Vec<NestNode>,
}

/// An assignment to an element of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Assignment {
    /// The variable.
    pub var: StmtId,
    /// Its indices.
    pub at: Vec<Poly>,
    /// The value, or the term if `accumulate` is some operation, over the enclosing indices.
    pub rhs: Rhs,
    /// The operation that accumulates the term; `None` for a plain assignment.
    pub accumulate: Option<Accumulation>,
}

/// A matrix product.
///
/// Each element `X[…, m, …, n, …]` is `± Σ k: A[…, m, …, k, …] · B[…, k, …, n, …]`, over the full
/// ranges of the three indices. Each of the three indices is a whole subscript of an access, and
/// all elements read exist. A backend may compute the product at once; the loops in
/// `fallback_loops` are equivalent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MatrixProduct {
    /// The result.
    pub var: StmtId,
    /// Its indices.
    pub at: Vec<Poly>,
    /// Whether it is negated.
    pub neg: bool,
    /// The index of the first factor's rows, of the second's columns, and of the sum.
    pub indices: [Index; 3],
    /// The factors.
    pub factors: [TensorAccess; 2],
    /// Whether a factor is zero where the loops have no term. If the result is not finite, the
    /// loops must compute it.
    pub is_masked: bool,
    /// The equivalent loops.
    pub fallback_loops: Vec<NestNode>,
}

/// The operation that combines terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Accumulation {
    /// Addition.
    Sum,
    /// Another reduction.
    Reduce(Reducer),
}

impl NestLoop {
    /// Creates a loop over all values of an index.
    pub(super) fn over_full_range(index: Index, in_order: bool, body: Vec<NestNode>) -> Self {
        Self {
            index,
            lower_bounds: Vec::new(),
            upper_bounds: Vec::new(),
            is_sequential: in_order,
            while_condition: None,
            body,
        }
    }
}

impl NestNode {
    /// Calls `f` on every assignment in the node.
    pub fn for_each_assignment<'n>(&'n self, f: &mut dyn FnMut(&'n Assignment)) {
        match self {
            Self::Loop(NestLoop { body, .. }) | Self::Let { body, .. } | Self::If(_, body) => {
                body.iter().for_each(|node| node.for_each_assignment(f));
            }
            Self::MatrixProduct(of) => of.fallback_loops.iter().for_each(|node| node.for_each_assignment(f)),
            Self::Fill(..) => {}
            Self::Assign(set) => f(set),
        }
    }
}

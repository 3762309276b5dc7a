//! **Syntax trees** of the texts of forms, before name resolution. Expressions, index expressions
//! and predicates share one tree, because they look alike.

use lang_base::{Code, Name};
use lang_ir::reduce::Reducer;
use lang_syntax::ops::{BinOp, Scalar};

/// A node with its start offset.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) node: Node,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum Node {
    Name(Name),
    Int(i128),
    /// A real number; true if it is an `f32`.
    Real(f64, bool),
    Bool(bool),
    /// `a - b + c`: the terms, each with whether it is subtracted.
    Sum(Vec<(bool, Tree)>),
    /// `a * b // c`, associating to the left.
    Product(Box<Tree>, Vec<(BinOp, Tree)>),
    Pow(Box<Tree>, Box<Tree>),
    Compare(BinOp, Box<Tree>, Box<Tree>),
    /// A conjunction or disjunction of several items.
    Logic(BinOp, Vec<Tree>),
    Neg(Box<Tree>),
    Not(Box<Tree>),
    /// An expression in parentheses.
    Group(Box<Tree>),
    /// `e: T`
    Typed(Box<Tree>, TypeTree),
    Tuple(Vec<Tree>),
    Record(Vec<(Name, Tree)>),
    /// `x[i, j]`
    At(Box<Tree>, Vec<Tree>),
    /// `e.0`
    Component(Box<Tree>, u32),
    /// `e.x`
    Field(Box<Tree>, Name),
    /// `sqrt(x)`, `R(i, j)`
    Apply(Name, Vec<Tree>),
    /// `f[n](x)`
    Call(Box<CalleeTree>, Vec<Tree>),
    /// `for i < n: e`, `sum i < n: e`, `argsort i < n: e`, `any i < n: p`
    Binder(Word, Name, Box<Tree>, Box<Tree>),
    /// `max i < n if p: e`; for `argmax` and `argmin` also `at i`.
    Reduce(Box<ReduceTree>),
    /// `loop i < n from s: f#0[i](x)`
    Loop(Box<LoopTree>),
    /// `update(x, [i] = v[i] for i < n if p)`
    Update(Box<UpdateTree>),
    /// `[p]`, a factor.
    Bracket(Box<Tree>),
    /// `check(p, E0500 "…") e`
    Check(Box<Tree>, Code, Name, Box<Tree>),
    Let(Vec<LetTree>, Box<Tree>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    For,
    Sum,
    Any,
    Argsort,
}

#[derive(Debug)]
pub(super) struct ReduceTree {
    pub(super) reducer: Reducer,
    pub(super) indices: Vec<(Name, Tree)>,
    pub(super) terms: Option<Tree>,
    pub(super) place: Option<Tree>,
    pub(super) body: Tree,
}

#[derive(Debug)]
pub(super) struct LoopTree {
    pub(super) counter: Name,
    /// The trip count, or `None` for a `while` loop.
    pub(super) count: Option<Tree>,
    /// `checkpoint k`
    pub(super) checkpoint: Option<Option<Tree>>,
    pub(super) init: Tree,
    pub(super) body: CalleeTree,
    pub(super) args: Vec<Tree>,
}

#[derive(Debug)]
pub(super) struct UpdateTree {
    pub(super) base: Tree,
    pub(super) at: Vec<Tree>,
    pub(super) add: bool,
    pub(super) value: Tree,
    pub(super) over: Vec<(Name, Tree)>,
    pub(super) pred: Option<Tree>,
}

#[derive(Debug)]
pub(super) struct LetTree {
    pub(super) index: bool,
    pub(super) name: Name,
    pub(super) ty: Option<TypeTree>,
    pub(super) value: Tree,
}

/// A type with its start offset.
#[derive(Debug)]
pub(super) struct TypeTree {
    pub(super) node: TypeNode,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum TypeNode {
    Scalar(Scalar),
    Array(Vec<Tree>, Box<TypeTree>),
    Tuple(Vec<TypeTree>),
    Record(Vec<(Name, TypeTree)>),
    Rel(Vec<Tree>),
    /// A sum type with its constructors.
    Sum(GlobalTree, Vec<(Name, Vec<TypeTree>)>),
    /// The name of a sum type, or the size `s0` of a type argument.
    Data(GlobalTree, Vec<TypeTree>),
}

/// A top-level name, with its module if that is another one.
#[derive(Debug)]
pub(super) struct GlobalTree {
    pub(super) module: Option<Name>,
    pub(super) name: Name,
}

#[derive(Debug)]
pub(super) struct CalleeTree {
    pub(super) def: GlobalTree,
    pub(super) rules: Vec<lang_ir::core::LocalRule>,
    pub(super) local: Option<u32>,
    pub(super) derived: Vec<lang_ir::core::Derivation>,
    pub(super) types: Vec<TypeTree>,
    pub(super) sizes: Vec<Tree>,
}

/// `(bounded n: i64, x: [n]f64, let eps = linalg.eps: f64)`
#[derive(Debug)]
pub(super) struct ParamTree {
    pub(super) mark: Mark,
    pub(super) name: Name,
    pub(super) ty: TypeTree,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum Mark {
    None,
    Bounded,
    Data,
    /// A top-level `let`, with its name if that differs.
    Global(Option<GlobalTree>),
}

/// The head of a function, before `=`.
#[derive(Debug)]
pub(super) struct HeadTree {
    pub(super) opaque: bool,
    pub(super) callee: CalleeTree,
    pub(super) params: Vec<ParamTree>,
    pub(super) result: TypeTree,
    pub(super) at: usize,
}

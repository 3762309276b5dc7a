//! **Syntax trees** of the texts of forms, before name resolution. Expressions, index expressions
//! and predicates share one tree, because they look alike.

use lang_base::{Code, Name};
use lang_ir::reduce::Reducer;
use lang_syntax::ops::{BinOp, Scalar};

/// A node with its start offset.
#[derive(Debug)]
pub(super) struct FormTree {
    pub(super) node: FormNode,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum FormNode {
    Name(Name),
    Int(i128),
    /// A real number; true if it is an `f32`.
    Real(f64, bool),
    Bool(bool),
    /// `a - b + c`: the terms, each with whether it is subtracted.
    Sum(Vec<(bool, FormTree)>),
    /// `a * b // c`, associating to the left.
    Product(Box<FormTree>, Vec<(BinOp, FormTree)>),
    Pow(Box<FormTree>, Box<FormTree>),
    Compare(BinOp, Box<FormTree>, Box<FormTree>),
    /// A conjunction or disjunction of several items.
    Logic(BinOp, Vec<FormTree>),
    Neg(Box<FormTree>),
    Not(Box<FormTree>),
    /// An expression in parentheses.
    Group(Box<FormTree>),
    /// `e: T`
    Typed(Box<FormTree>, TypeTree),
    Tuple(Vec<FormTree>),
    Record(Vec<(Name, FormTree)>),
    /// `x[i, j]`
    At(Box<FormTree>, Vec<FormTree>),
    /// `e.0`
    Component(Box<FormTree>, u32),
    /// `e.x`
    Field(Box<FormTree>, Name),
    /// `sqrt(x)`, `R(i, j)`
    Apply(Name, Vec<FormTree>),
    /// `f[n](x)`
    Call(Box<CalleeTree>, Vec<FormTree>),
    /// `for i < n: e`, `sum i < n: e`, `argsort i < n: e`, `any i < n: p`
    Binder(BinderWord, Name, Box<FormTree>, Box<FormTree>),
    /// `max i < n if p: e`; for `argmax` and `argmin` also `at i`.
    Reduce(Box<ReduceTree>),
    /// `loop i < n from s: f#0[i](x)`
    Loop(Box<LoopTree>),
    /// `update(x, [i] = v[i] for i < n if p)`
    Update(Box<UpdateTree>),
    /// `[p]`, a factor.
    Bracket(Box<FormTree>),
    /// `check(p, E0500 "…") e`
    Check(Box<FormTree>, Code, Name, Box<FormTree>),
    Let(Vec<LetTree>, Box<FormTree>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BinderWord {
    For,
    Sum,
    Any,
    Argsort,
}

#[derive(Debug)]
pub(super) struct ReduceTree {
    pub(super) reducer: Reducer,
    pub(super) indices: Vec<(Name, FormTree)>,
    pub(super) filter: Option<FormTree>,
    pub(super) arg_value: Option<FormTree>,
    pub(super) body: FormTree,
}

#[derive(Debug)]
pub(super) struct LoopTree {
    pub(super) counter: Name,
    /// The trip count, or `None` for a `while` loop.
    pub(super) count: Option<FormTree>,
    /// `checkpoint k`
    pub(super) checkpoint: Option<Option<FormTree>>,
    pub(super) init: FormTree,
    pub(super) body: CalleeTree,
    pub(super) args: Vec<FormTree>,
}

#[derive(Debug)]
pub(super) struct UpdateTree {
    pub(super) base: FormTree,
    pub(super) at: Vec<FormTree>,
    pub(super) accumulate: bool,
    pub(super) value: FormTree,
    pub(super) indices: Vec<(Name, FormTree)>,
    pub(super) pred: Option<FormTree>,
}

#[derive(Debug)]
pub(super) struct LetTree {
    pub(super) is_index: bool,
    pub(super) name: Name,
    pub(super) ty: Option<TypeTree>,
    pub(super) value: FormTree,
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
    Array(Vec<FormTree>, Box<TypeTree>),
    Tuple(Vec<TypeTree>),
    Record(Vec<(Name, TypeTree)>),
    Rel(Vec<FormTree>),
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
    pub(super) rules: Vec<lang_ir::core::LocalFunctionRule>,
    pub(super) local: Option<u32>,
    pub(super) derived: Vec<lang_ir::core::DerivativeKind>,
    pub(super) types: Vec<TypeTree>,
    pub(super) sizes: Vec<FormTree>,
}

/// `(bounded n: i64, x: [n]f64, let eps = linalg.eps: f64)`
#[derive(Debug)]
pub(super) struct ParamTree {
    pub(super) mark: ParamMark,
    pub(super) name: Name,
    pub(super) ty: TypeTree,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum ParamMark {
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

//! The surface tree of one item, as written: what the parser builds, the formatter prints
//! and name resolution reads. Nodes live in arenas, so a tree is dropped, cloned and compared
//! without recursion; operator chains are flat. Spans are relative to the item's text.

use super::ops::{BinOp, BinderKind, UnOp};
use crate::base::{Arena, Idx, Name, Span};

/// A node and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Node<T> {
    /// What it is.
    pub kind: T,
    /// Where it is.
    pub span: Span,
}

/// An expression of a [`Tree`].
pub type ExprId = Idx<Node<Expr>>;
/// A pattern of a [`Tree`].
pub type PatId = Idx<Node<Pat>>;
/// A written type of a [`Tree`].
pub type TypeId = Idx<Node<TypeExpr>>;

/// A name at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name; empty where the parser found none.
    pub name: Name,
    /// Its place.
    pub span: Span,
}

/// One parsed item. Its nodes are in children-first order.
#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    /// The item itself.
    pub item: Item,
    /// The text of its `--|` lines, without the marker, joined by newlines; empty if none.
    pub docs: String,
    /// From the first byte of the item's keyword to the end of its last token.
    pub span: Span,
    /// The names in what could not be read, each once: what they would have declared is not known.
    pub unread: Vec<Name>,
    /// All expressions.
    pub exprs: Arena<Node<Expr>>,
    /// All patterns.
    pub pats: Arena<Node<Pat>>,
    /// All written types.
    pub types: Arena<Node<TypeExpr>>,
}

impl Tree {
    /// Where a size stands.
    #[must_use]
    pub fn size_span(&self, size: &SizeExpr) -> Span {
        match size {
            SizeExpr::Expr(e) => self.exprs[*e].span,
            SizeExpr::Unknown(name) => name.span,
        }
    }
}

/// Top level.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `def f(x: T) -> U where a: real = e`
    Def(Def),
    /// `type T(a) = A(a) | B`, or an alias
    Type(TypeDef),
    /// `import linalg`, `import "./mine.iv" as m`
    Import(Import),
    /// `let x: T = e` at top level
    Let(TopLet),
    /// `do e`
    Do(ExprId),
    /// `derivative f(x; dx) = e` or `adjoint f(x; dy) = e`
    Rule(Rule),
    /// Nothing could be made of it; an error was reported.
    Error,
}

/// A definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    /// Its name.
    pub name: Ident,
    /// Its parameters. An unwritten type is an error that the parser reports.
    pub params: Vec<Param>,
    /// Its result type, if written.
    pub result: Option<TypeId>,
    /// `where a: real, b: num`
    pub constraints: Vec<Constraint>,
    /// Its body.
    pub body: ExprId,
}

/// `x: T`
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// The parameter's name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeId,
}

/// `a: real`
#[derive(Clone, PartialEq, Debug)]
pub struct Constraint {
    /// The type variable.
    pub var: Ident,
    /// `real` or `num`, as written.
    pub class: Ident,
}

/// A type definition.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeDef {
    /// Its name.
    pub name: Ident,
    /// Its parameters, types or sizes; which, their use says.
    pub params: Vec<Ident>,
    /// The right side.
    pub body: TypeBody,
}

/// The right side of a type definition.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeBody {
    /// Written with `|`: a sum of constructors.
    Sum(Vec<Ctor>),
    /// No `|`: a single name, perhaps applied, is a constructor unless a type of that name
    /// is in scope; resolution decides. Anything else is an alias.
    Single(TypeId),
}

/// A constructor `Node(Tree(a), Tree(a))`.
#[derive(Clone, PartialEq, Debug)]
pub struct Ctor {
    /// Its name.
    pub name: Ident,
    /// The types of its arguments.
    pub args: Vec<TypeId>,
}

/// An import.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// `linalg`, or the text between the quotes.
    pub path: Ident,
    /// Was it quoted, a file relative to this one?
    pub is_file: bool,
    /// `as m`; a quoted path without it is called by its file's stem.
    pub alias: Option<Ident>,
}

/// A top-level `let`.
#[derive(Clone, PartialEq, Debug)]
pub struct TopLet {
    /// What is bound. It may be a pattern.
    pub pat: PatId,
    /// Its written type.
    pub ty: Option<TypeId>,
    /// The value.
    pub value: ExprId,
    /// Ends with `;`: the REPL prints nothing.
    pub quiet: bool,
}

/// A derivative rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// `adjoint` (true) or `derivative`.
    pub adjoint: bool,
    /// The definition it belongs to.
    pub name: Ident,
    /// The primal parameters, before `;`.
    pub params: Vec<Ident>,
    /// The tangents or the cotangent, after `;`.
    pub deltas: Vec<Ident>,
    /// The right side.
    pub body: ExprId,
}

/// Expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// Could not be parsed; reported.
    Error,
    /// `12`, `1_000`
    Int(u64),
    /// `1.5`, `1e-14`
    Float(f64),
    /// `true`
    Bool(bool),
    /// `"text"`, escapes resolved
    Str(Name),
    /// `x`; also `grad`, `max`, `pi`, …: all names are resolved later
    Name(Name),
    /// `-x`, `!p`
    Unary(UnOp, ExprId),
    /// `a + b - c`: operators of one [`super::ops::Level`], read from the left; comparisons chain.
    /// `rest` is not empty.
    Chain {
        /// Leftmost operand.
        first: ExprId,
        /// Operator, its place, right operand.
        rest: Vec<(BinOp, Span, ExprId)>,
    },
    /// `a ^ b`
    Power(ExprId, ExprId),
    /// `[p] * e`, `e` being the whole rest of the product
    Guard {
        /// `p`
        cond: ExprId,
        /// `e`
        body: ExprId,
    },
    /// `[a, b]`; `comma` says that a comma stands before `]`
    Array {
        /// The elements.
        items: Vec<ExprId>,
        /// A trailing comma was written.
        comma: bool,
    },
    /// `(e)`
    Paren(ExprId),
    /// `()` or two or more in parentheses
    Tuple(Vec<ExprId>),
    /// `{x: 1, y: 2}`
    Record(Vec<(Ident, ExprId)>),
    /// `e.name`; also `module.name`
    Field(ExprId, Ident),
    /// `e.0`
    Proj(ExprId, u32, Span),
    /// `x[i, a..b, _]`
    Index(ExprId, Vec<Subscript>),
    /// `f(a, wrt: x)`
    Call(ExprId, Vec<Arg>),
    /// `\x, (y: f64): e` — several parameters without parentheses, or each in parentheses
    /// with its type
    Lambda(Vec<LambdaParam>, ExprId),
    /// `let p = a let q = b in e`, a flat chain
    Let(Vec<LetBind>, ExprId),
    /// `if c then a else if d then b else e`, a flat chain
    If(Vec<(ExprId, ExprId)>, ExprId),
    /// `match e { p: a, q: b }`
    Match(ExprId, Vec<Arm>),
    /// `sum i < n, j if p: e`
    Binder {
        /// Which.
        kind: BinderKind,
        /// The index variables, one or more.
        vars: Vec<IndexVar>,
        /// `if p`
        filter: Option<ExprId>,
        /// The body.
        body: ExprId,
    },
    /// `fold acc = init for i < n: body`, `scan …`; `yield e` after a fold's body
    Fold {
        /// `scan` rather than `fold`.
        scan: bool,
        /// The carry.
        acc: PatId,
        /// The carry's written type.
        ty: Option<TypeId>,
        /// Its first value.
        init: ExprId,
        /// The index variables, outermost first.
        vars: Vec<IndexVar>,
        /// The next carry.
        body: ExprId,
        /// One output a step.
        yields: Option<ExprId>,
    },
    /// `loop acc = init while cond: body`, `scan acc = init while cond: body`
    Loop {
        /// `scan` rather than `loop`.
        scan: bool,
        /// The carry.
        acc: PatId,
        /// The carry's written type.
        ty: Option<TypeId>,
        /// Its first value.
        init: ExprId,
        /// Goes on while it holds.
        cond: ExprId,
        /// The next carry.
        body: ExprId,
    },
    /// `checkpoint: fold …`, `checkpoint k: loop …`
    Checkpoint {
        /// Of how many states one is kept.
        every: Option<ExprId>,
        /// The fold, scan or loop.
        of: ExprId,
    },
    /// `x with [i] = e`, `r with name += e`; a chain applies left to right
    With(ExprId, Vec<Update>),
    /// `|R|`: how many members a relation has
    Card(ExprId),
}

/// One place between the brackets of an index.
#[derive(Clone, PartialEq, Debug)]
pub enum Subscript {
    /// `i`
    At(ExprId),
    /// `a..b`
    Range(ExprId, ExprId),
    /// `_`
    Whole(Span),
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// `wrt:`
    pub name: Option<Ident>,
    /// The value.
    pub value: ExprId,
}

/// A parameter of a lambda.
#[derive(Clone, PartialEq, Debug)]
pub struct LambdaParam {
    /// What is bound.
    pub pat: PatId,
    /// Its written type.
    pub ty: Option<TypeId>,
}

/// `let pat: T = e`
#[derive(Clone, PartialEq, Debug)]
pub struct LetBind {
    /// What is bound.
    pub pat: PatId,
    /// Its written type.
    pub ty: Option<TypeId>,
    /// The value.
    pub value: ExprId,
}

/// `pattern: e`
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// The pattern.
    pub pat: PatId,
    /// The value.
    pub body: ExprId,
}

/// An index variable and where it ranges.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexVar {
    /// Its name (`_` if it is not used).
    pub name: Ident,
    /// Its range.
    pub range: IndexRange,
}

/// Where an index variable ranges.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexRange {
    /// `i`: from the expected type or the axes where it stands alone
    Bare,
    /// `i < n`
    Below(ExprId),
    /// `i in a..b by s`
    Range {
        /// `a`
        from: ExprId,
        /// `b`, excluded
        to: ExprId,
        /// `s`
        by: Option<ExprId>,
    },
}

/// `[i, j] = e`, `name = e`, `+=` too.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// Where.
    pub place: Place,
    /// `+=`
    pub add: bool,
    /// The new value, or what is added.
    pub value: ExprId,
}

/// What an update changes.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// `[i, a..b, _]`
    Index(Vec<Subscript>, Span),
    /// `name` of a record
    Field(Ident),
    /// `0` of a tuple
    Proj(u32, Span),
}

/// Patterns.
#[derive(Clone, PartialEq, Debug)]
pub enum Pat {
    /// Could not be parsed; reported.
    Error,
    /// `_`
    Wild,
    /// `x`: a variable, or a constructor without arguments if one of that name is in scope
    Name(Name),
    /// `Leaf(p, q)`, `m.Leaf(p)`
    Ctor {
        /// `m`
        module: Option<Ident>,
        /// `Leaf`
        name: Ident,
        /// Its arguments.
        args: Vec<PatId>,
    },
    /// `(p, q)`, `()`
    Tuple(Vec<PatId>),
    /// `{x: p, y}`
    Record(Vec<(Ident, Option<PatId>)>),
    /// `3`, `-3`
    Int(i64),
    /// `true`
    Bool(bool),
    /// `[k, l] p`, only in `let`: names the extents of an array
    Sized(Vec<Ident>, PatId),
}

/// Types as written.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeExpr {
    /// Could not be parsed; reported.
    Error,
    /// `f64`, `a`, `Tree(a)`, `Net(784, n + 1)`, `m.Camera`
    Name {
        /// `m`
        module: Option<Ident>,
        /// The name.
        name: Ident,
        /// Arguments.
        args: Vec<TypeArg>,
    },
    /// `[n, ?k]T`
    Array(Vec<SizeExpr>, TypeId),
    /// `(A, B)`, `()`
    Tuple(Vec<TypeId>),
    /// `{x: A, y: B}`
    Record(Vec<(Ident, TypeId)>),
    /// `(A, n: i64) -> B`
    Fun(Vec<(Option<Ident>, TypeId)>, TypeId),
    /// `rel[n, m]`
    Rel(Vec<SizeExpr>),
}

/// An argument of a type: a name may be either, resolution decides.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeArg {
    /// Surely a type, or a bare name.
    Type(TypeId),
    /// Surely a size: a number, an arithmetic expression, or `?k`.
    Size(SizeExpr),
}

/// A size in a type.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeExpr {
    /// `n + m - 1`
    Expr(ExprId),
    /// `?k`, only in a result or in the type of a `let`
    Unknown(Ident),
}

//! **Surface AST.** The tree of one item as written. The parser builds it, the formatter prints it
//! and name resolution reads it.
//!
//! Nodes live in arenas, so dropping, cloning and comparing a tree needs no recursion. Operator
//! chains are flat. Spans are relative to the item's text.

use super::ops::{BinOp, BinderKind, UnOp};
use lang_base::{Arena, Idx, Name, Span};

/// A syntax node with its position.
#[derive(Clone, PartialEq, Debug)]
pub struct SyntaxNode<T> {
    /// The node itself.
    pub kind: T,
    /// The byte range of the node in the item's text.
    pub span: Span,
}

/// The id of an expression in a [`Tree`].
pub type ExprId = Idx<SyntaxNode<Expr>>;
/// The id of a pattern in a [`Tree`].
pub type PatId = Idx<SyntaxNode<Pat>>;
/// The id of a written type in a [`Tree`].
pub type TypeId = Idx<SyntaxNode<TypeExpr>>;

/// A name with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name; empty if the parser found none.
    pub name: Name,
    /// The byte range of the name.
    pub span: Span,
}

/// The tree of one item. Every node comes after its children in the arenas.
#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    /// The item itself.
    pub item: Item,
    /// The text of its `--|` lines, without the marker, joined by newlines; empty if none.
    pub docs: String,
    /// From the first byte of the item's keyword to the end of its last token.
    pub span: Span,
    /// The distinct names in the tokens that the parser skipped. Later stages must not report these
    /// names as missing, because their declarations are unknown.
    pub skipped_names: Vec<Name>,
    /// All expressions.
    pub exprs: Arena<SyntaxNode<Expr>>,
    /// All patterns.
    pub pats: Arena<SyntaxNode<Pat>>,
    /// All written types.
    pub types: Arena<SyntaxNode<TypeExpr>>,
}

impl Tree {
    /// Returns the byte range of a size.
    #[must_use]
    pub fn size_span(&self, size: &SizeExpr) -> Span {
        match size {
            SizeExpr::Expr(e) => self.exprs[*e].span,
            SizeExpr::Unknown(name) => name.span,
        }
    }
}

/// A top-level item.
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
    DerivativeRule(RuleDef),
    /// An unreadable item; the parser has reported it.
    Error,
}

/// A function definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    /// Its name.
    pub name: Ident,
    /// Its parameters. The parser reports a missing type.
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
    /// Its parameters, types or sizes; resolution infers which from their uses.
    pub params: Vec<Ident>,
    /// The right side.
    pub body: TypeBody,
}

/// The right side of a type definition.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeBody {
    /// Written with `|`: a sum of constructors.
    Sum(Vec<Ctor>),
    /// The right side without `|`. A single name, perhaps applied, is a constructor unless a type
    /// of that name is in scope; resolution decides. Anything else is an alias.
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
    /// Whether the path was quoted, which denotes a file relative to this one.
    pub is_file: bool,
    /// `as m`. Without it, a quoted path takes the file's stem as its name.
    pub alias: Option<Ident>,
}

/// A top-level `let`.
#[derive(Clone, PartialEq, Debug)]
pub struct TopLet {
    /// The bound pattern.
    pub pat: PatId,
    /// Its written type.
    pub ty: Option<TypeId>,
    /// The value.
    pub value: ExprId,
    /// Whether a `;` ends it, which keeps the REPL from printing the value.
    pub is_quiet: bool,
}

/// A derivative rule.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleDef {
    /// Whether the rule is an `adjoint`; otherwise it is a `derivative`.
    pub is_adjoint: bool,
    /// The name of the definition to which the rule belongs.
    pub name: Ident,
    /// The primal parameters, before `;`.
    pub params: Vec<Ident>,
    /// The tangents or the cotangent, after `;`.
    pub tangents: Vec<Ident>,
    /// The right side.
    pub body: ExprId,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// An unreadable expression; the parser has reported it.
    Error,
    /// `12`, `1_000`
    Int(u64),
    /// `1.5`, `1e-14`
    Float(f64),
    /// `true`
    Bool(bool),
    /// `"text"`, escapes resolved
    Str(Name),
    /// `x`; also `grad`, `max`, `pi` and so on, because resolution looks up all names.
    Name(Name),
    /// `-x`, `!p`
    Unary(UnOp, ExprId),
    /// `a + b - c`: operators of one [`super::ops::Precedence`], grouped from the left. Comparisons
    /// chain. `rest` is not empty.
    Chain {
        /// The leftmost operand.
        first: ExprId,
        /// Each operator, its span and its right operand.
        rest: Vec<(BinOp, Span, ExprId)>,
    },
    /// `a ^ b`
    Power(ExprId, ExprId),
    /// `[p] * e`, where `e` is the whole rest of the product.
    Guard {
        /// `p`
        cond: ExprId,
        /// `e`
        body: ExprId,
    },
    /// `[a, b]`.
    Array {
        /// The elements.
        items: Vec<ExprId>,
        /// Whether a comma precedes the `]`.
        has_trailing_comma: bool,
    },
    /// `(e)`
    Paren(ExprId),
    /// `()`, or two or more expressions in parentheses.
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
    Call(ExprId, Vec<CallArg>),
    /// `\x, (y: f64): e`. Several parameters need no parentheses; a typed parameter needs its own.
    Lambda(Vec<LambdaParam>, ExprId),
    /// `let p = a let q = b in e`, as a flat chain.
    Let(Vec<LetBind>, ExprId),
    /// `if c then a else if d then b else e`, as a flat chain.
    If(Vec<(ExprId, ExprId)>, ExprId),
    /// `match e { p: a, q: b }`
    Match(ExprId, Vec<Arm>),
    /// `sum i < n, j if p: e`
    Binder {
        /// The kind of binder.
        kind: BinderKind,
        /// The index variables, one or more.
        vars: Vec<IndexVar>,
        /// `if p`
        filter: Option<ExprId>,
        /// The body.
        body: ExprId,
    },
    /// `fold acc = init for i < n: body` or `scan …`. `yield e` may follow a fold's body.
    Fold {
        /// Whether it is a `scan` instead of a `fold`.
        is_scan: bool,
        /// The pattern of the carry.
        acc: PatId,
        /// The carry's written type.
        ty: Option<TypeId>,
        /// The initial carry.
        init: ExprId,
        /// The index variables, outermost first.
        vars: Vec<IndexVar>,
        /// The next carry.
        body: ExprId,
        /// The output of each step.
        yields: Option<ExprId>,
    },
    /// `loop acc = init while cond: body`, `scan acc = init while cond: body`
    Loop {
        /// Whether it is a `scan` instead of a `loop`.
        is_scan: bool,
        /// The pattern of the carry.
        acc: PatId,
        /// The carry's written type.
        ty: Option<TypeId>,
        /// The initial carry.
        init: ExprId,
        /// The condition; iteration continues while it holds.
        cond: ExprId,
        /// The next carry.
        body: ExprId,
    },
    /// `checkpoint: fold …`, `checkpoint k: loop …`
    Checkpoint {
        /// The spacing `k`: one state in every `k` is stored.
        spacing: Option<ExprId>,
        /// The fold, scan or loop.
        body: ExprId,
    },
    /// `x with [i] = e`, `r with name += e`. A chain of updates applies left to right.
    With(ExprId, Vec<WithUpdate>),
    /// `|R|`: the number of members of a relation.
    Card(ExprId),
}

/// One position between the brackets of an index expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Subscript {
    /// `i`
    Index(ExprId),
    /// `a..b`
    Range(ExprId, ExprId),
    /// `_`
    FullAxis(Span),
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallArg {
    /// `wrt:`
    pub name: Option<Ident>,
    /// The value.
    pub value: ExprId,
}

/// A parameter of a lambda.
#[derive(Clone, PartialEq, Debug)]
pub struct LambdaParam {
    /// The bound pattern.
    pub pat: PatId,
    /// Its written type.
    pub ty: Option<TypeId>,
}

/// `let pat: T = e`
#[derive(Clone, PartialEq, Debug)]
pub struct LetBind {
    /// The bound pattern.
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

/// An index variable and its range.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexVar {
    /// Its name (`_` if unused).
    pub name: Ident,
    /// Its range.
    pub range: IndexRange,
}

/// The range of an index variable.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexRange {
    /// `i`: inferred from the expected type, or from the axes that `i` alone indexes.
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

/// `[i, j] = e` or `name = e`, or the same with `+=`.
#[derive(Clone, PartialEq, Debug)]
pub struct WithUpdate {
    /// The updated part.
    pub target: UpdateTarget,
    /// Whether the update is `+=`.
    pub is_add: bool,
    /// The new value, or the addend of `+=`.
    pub value: ExprId,
}

/// The part of a value that an update changes.
#[derive(Clone, PartialEq, Debug)]
pub enum UpdateTarget {
    /// `[i, a..b, _]`
    Index(Vec<Subscript>, Span),
    /// `name` of a record.
    Field(Ident),
    /// `0` of a tuple.
    Proj(u32, Span),
}

/// A pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum Pat {
    /// An unreadable pattern; the parser has reported it.
    Error,
    /// `_`
    Wild,
    /// `x`: a variable, or a constructor without arguments if one of that name is in scope.
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
    /// `[k, l] p`, only in `let`: names the extents of an array.
    Sized(Vec<Ident>, PatId),
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeExpr {
    /// An unreadable type; the parser has reported it.
    Error,
    /// `f64`, `a`, `Tree(a)`, `Net(784, n + 1)`, `m.Camera`
    Name {
        /// `m`
        module: Option<Ident>,
        /// The name of the type.
        name: Ident,
        /// Its arguments.
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

/// An argument of a type. A bare name may be a type or a size; resolution decides.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeArg {
    /// A type for certain, or a bare name.
    Type(TypeId),
    /// A size for certain: a number, an arithmetic expression, or `?k`.
    Size(SizeExpr),
}

/// A size in a type.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeExpr {
    /// `n + m - 1`
    Expr(ExprId),
    /// `?k`, only in a result or in the type of a `let`.
    Unknown(Ident),
}

//! **Resolution result.** The meaning of every name in the tree of one item, as side tables over
//! the tree of [`lang_syntax::ast`]. The type checker reads both. Nothing here depends on the
//! position of the item in its file, so an edit elsewhere leaves it valid.

use std::collections::{BTreeSet, HashMap};

use super::builtin::Builtin;
use super::forms::{Const, DerivativeOp, SpecialForm};
use super::scalar_fn::ScalarFn;
use lang_base::{Diagnostic, GlobalName, Name, Span};
use lang_sizes::predicate::LocalId;
use lang_syntax::ast::{ExprId, PatId, TypeId};
use lang_syntax::ops::Scalar;

/// The meaning of a value name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Res {
    /// A local of the item.
    Local(LocalId),
    /// A definition.
    Def(GlobalName),
    /// A variable of a top-level `let`.
    Let(GlobalName),
    /// A constructor: its type and its position in that type.
    Ctor(GlobalName, u32),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A library function that is not written in Iverson.
    Builtin(Builtin),
    /// A form with a typing rule of its own.
    Form(SpecialForm),
    /// A derivative operator.
    Derive(DerivativeOp),
    /// A constant.
    Const(Const),
    /// `f64(x)`: a conversion.
    Convert(Scalar),
    /// An unknown name; reported.
    Error,
}

/// The kind of a local.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LocalKind {
    /// A parameter of a definition or a rule (its deltas too).
    Param,
    /// A size that occurs in a signature and is not a parameter, or a size parameter of a `type`.
    ImplicitSize,
    /// `?k` in a type.
    ResultSize,
    /// Bound by `let`.
    Let,
    /// A parameter of a lambda.
    Lambda,
    /// An index variable.
    Index,
    /// Bound by a pattern of a `match`.
    Pattern,
    /// The carry of a fold, scan or loop.
    Carry,
    /// `k` of `let [k] xs = e`.
    NamedExtent,
    /// `n` of a function type `(n: i64) -> [n]f64`.
    FunTypeParam,
}

/// The declaration of a local.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalDecl {
    /// Its name; `_` or empty if it cannot be mentioned.
    pub name: Name,
    /// The declaring identifier.
    pub span: Span,
    /// Its kind.
    pub kind: LocalKind,
}

/// The meaning of a name in a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRes {
    /// A scalar type such as `f64`.
    Scalar(Scalar),
    /// The type parameter with this index in [`Resolved::type_params`].
    Param(u32),
    /// A `type` item.
    Global(GlobalName),
    /// A size, as a bare name in a type argument.
    Size(Res),
    /// An unknown name; reported.
    Error,
}

/// The meaning of a name in a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatRes {
    /// A variable that the pattern binds.
    Bind(LocalId),
    /// A constructor: its type and its position in that type.
    Ctor(GlobalName, u32),
    /// Not a constructor, although in the position of one; reported.
    Error,
}

/// The meaning of every name of an item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    /// All locals, indexed by [`LocalId`].
    pub locals: Vec<LocalDecl>,
    /// The meaning of every [`lang_syntax::ast::Expr::Name`], and of every field access that is
    /// `module.name` (the module's name inside it has no entry). Names in `wrt:` of a derivative
    /// operator have no entry, because they are parameters of its operand.
    pub exprs: HashMap<ExprId, Res>,
    /// The meaning of every name and constructor in a pattern.
    pub pats: HashMap<PatId, PatRes>,
    /// The local of every declaring identifier, by its span. An implicit size is declared at its
    /// first occurrence.
    pub decls: HashMap<Span, LocalId>,
    /// The meaning of every name in a type, except the right side of a `type` that is a single
    /// constructor.
    pub types: HashMap<TypeId, TypeRes>,
    /// The type parameters of a definition in order of occurrence. For a `type`, all its
    /// parameters; one that is a size also has a local of kind [`LocalKind::ImplicitSize`] at its
    /// span.
    pub type_params: Vec<(Name, Span)>,
    /// Whether the right side of a `type` without `|` is a constructor instead of an alias.
    pub is_single_ctor: bool,
    /// The definitions, `let`s and types, of any module, that the item mentions.
    pub referenced_items: BTreeSet<GlobalName>,
    /// The subset of `referenced_items` that the signature of a definition mentions.
    pub signature_references: BTreeSet<GlobalName>,
    /// The diagnostics of resolution.
    pub diagnostics: Vec<Diagnostic>,
}

//! What resolution finds out about one item: a meaning for every name in its tree. These are
//! side tables over the tree of `syntax::ast`; the checker reads both. Nothing here depends on
//! where the item stands in its file.

use std::collections::{BTreeSet, HashMap};

use super::builtin::Builtin;
use super::forms::{Const, Derivative, Form};
use super::scalar_fn::ScalarFn;
use crate::base::{Diagnostic, GlobalName, Name, Span};
use crate::predicate::LocalId;
use crate::syntax::ast::{ExprId, PatId, TypeId};
use crate::syntax::ops::Scalar;

/// What a value name means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Res {
    /// Something bound in the item.
    Local(LocalId),
    /// A definition.
    Def(GlobalName),
    /// A variable of a top-level `let`.
    Let(GlobalName),
    /// A constructor: its type and position.
    Ctor(GlobalName, u32),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A library function that is not written in Iverson.
    Builtin(Builtin),
    /// A form with a typing rule of its own.
    Form(Form),
    /// A derivative operator.
    Derive(Derivative),
    /// A constant.
    Const(Const),
    /// `f64(x)`: a conversion.
    Convert(Scalar),
    /// Nothing; reported.
    Error,
}

/// What kind of thing a local is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LocalKind {
    /// A parameter of a definition or a rule (its deltas too).
    Param,
    /// A size that occurs in a signature and is no parameter; or a size parameter of a `type`.
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
    Extent,
    /// `n` of a function type `(n: i64) -> [n]f64`.
    FunParam,
}

/// Where a local is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decl {
    /// Its name; `_` or empty where it cannot be mentioned.
    pub name: Name,
    /// The declaring identifier.
    pub span: Span,
    /// What it is.
    pub kind: LocalKind,
}

/// What a name in a type means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRes {
    /// `f64` and the like.
    Scalar(Scalar),
    /// The type parameter of that number in [`Resolved::type_params`].
    Param(u32),
    /// A `type` item.
    Global(GlobalName),
    /// A bare name as an argument of a type that is a size.
    Size(Res),
    /// Nothing; reported.
    Error,
}

/// What a name in a pattern means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatRes {
    /// It binds.
    Bind(LocalId),
    /// A constructor: its type and position.
    Ctor(GlobalName, u32),
    /// Not a constructor, but stands like one; reported.
    Error,
}

/// The meaning of every name of an item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolved {
    /// All locals; [`LocalId`] is the position.
    pub locals: Vec<Decl>,
    /// Every [`crate::syntax::ast::Expr::Name`], and every field access that is `module.name`
    /// (the name of the module inside it has none). Names in `wrt:` of a derivative operator
    /// are names of its operand's parameters and have none.
    pub exprs: HashMap<ExprId, Res>,
    /// Every name and constructor in a pattern.
    pub pats: HashMap<PatId, PatRes>,
    /// The local of every declaring identifier, by its place. An implicit size stands at its
    /// first occurrence.
    pub decls: HashMap<Span, LocalId>,
    /// Every name in a type, but not the right side of a `type` that is a lone constructor.
    pub types: HashMap<TypeId, TypeRes>,
    /// The type parameters of a definition in order of occurrence. Of a `type`, all parameters;
    /// one that is a size has a local of kind [`LocalKind::ImplicitSize`] at its place.
    pub type_params: Vec<(Name, Span)>,
    /// The right side of a `type` without `|` is a constructor, not an alias.
    pub single_ctor: bool,
    /// The definitions, `let`s and types of any module that it mentions.
    pub uses: BTreeSet<GlobalName>,
    /// Those that the signature of a definition mentions.
    pub signature_uses: BTreeSet<GlobalName>,
    /// What is wrong with the names.
    pub diagnostics: Vec<Diagnostic>,
}

//! **Type definitions.** The result of lowering a `type` item; [`super::lower`] builds it and the
//! session stores it.

use super::ty::Type;
use lang_base::Name;

/// The kind of a type definition's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamKind {
    /// A type: [`Type::Param`] in the body.
    Type,
    /// A size: [`lang_sizes::predicate::Atom::SizeParam`] in the body.
    Size,
}

/// A type definition. In its body `Type::Param(k)` and `Atom::SizeParam(k)` refer to parameter `k`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeInfo {
    /// Its parameters.
    pub params: Vec<(Name, ParamKind)>,
    /// The right-hand side.
    pub body: TypeInfoBody,
}

/// The right-hand side of a type definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeInfoBody {
    /// A sum of constructors.
    Sum(Vec<CtorInfo>),
    /// An alias of a type.
    Alias(Type),
}

/// A constructor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CtorInfo {
    /// Its name.
    pub name: Name,
    /// The types of its arguments.
    pub args: Vec<Type>,
}

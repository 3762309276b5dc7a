//! What a `type` item defines.

use super::ty::Type;
use crate::base::Name;

/// Is a parameter of a type a type or a size?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamKind {
    /// A type: [`Type::Param`] in the body.
    Type,
    /// A size: [`crate::predicate::Atom::Bound`] in the body.
    Size,
}

/// A defined type. In it `Type::Param(k)` and `Atom::Bound(k)` stand for parameter `k`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeInfo {
    /// Its parameters.
    pub params: Vec<(Name, ParamKind)>,
    /// What it is.
    pub body: TypeInfoBody,
}

/// The right side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeInfoBody {
    /// A sum of constructors.
    Sum(Vec<CtorInfo>),
    /// Another name for a type.
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

//! **Types** and signatures.
//!
//! Sizes in types are polynomials in normal form, so two types are equal if and only if their
//! normal forms are equal.

use std::cell::RefCell;
use std::sync::Arc;

use lang_base::{GlobalName, Name};
use lang_sizes::predicate::{Atom, Poly};
pub use lang_syntax::ops::Scalar;

/// A type.
///
/// In a [`Signature`], a call instantiates [`Type::Param`] and
/// [`lang_sizes::predicate::Atom::SizeParam`]. A checked body contains no [`Type::Meta`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A number or truth value.
    Scalar(Scalar),
    /// Text, only at top level.
    Str,
    /// `[n]T`
    Array(Poly, Arc<Type>),
    /// `(A, B)`; the unit type is `()`.
    Tuple(Arc<[Type]>),
    /// `{x: A, y: B}`, in the order of the text. Fields match by name, so their order is irrelevant
    /// to unification.
    Record(Arc<[(Name, Type)]>),
    /// `(A, n: i64) -> B`
    Fun(Arc<FunType>),
    /// `rel[n, m]`
    Rel(Arc<[Poly]>),
    /// A sum type applied to its arguments.
    Data(GlobalName, Arc<[GenericArg]>),
    /// The type parameter of the enclosing definition with this number, and its name.
    Param(u32, Name),
    /// A metavariable: a type that the checker has yet to infer.
    Meta(u32),
    /// The type of a term with a reported error; it unifies with every type.
    Error,
}

/// An argument of a type constructor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GenericArg {
    /// A type.
    Type(Type),
    /// A size.
    Size(Poly),
}

/// A function type.
///
/// The result and later parameters may mention the value of a named `i64` parameter as
/// [`lang_sizes::predicate::Atom::Arg`]`(depth, position)`. The depth counts the function types in
/// between.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunType {
    /// The parameters: names, for printing and dependent sizes, and types.
    pub params: Vec<(Option<Name>, Type)>,
    /// The result.
    pub result: Type,
}

/// The class constraint of a type parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TypeClass {
    /// Any type.
    Any,
    /// `f64`, `f32` or `i64`.
    Num,
    /// `f64` or `f32`.
    Real,
}

/// The type scheme of a definition: its type and the parameters that a call instantiates.
///
/// A signature contains no spans, so an edit that leaves it equal invalidates no dependent query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Type parameters and their classes. `Type::Param(k)` refers to number `k`.
    pub type_params: Vec<(Name, TypeClass)>,
    /// Size parameters. `Atom::SizeParam(k)` refers to number `k`.
    ///
    /// The order is: the implicit sizes in order of occurrence, one for each `i64` parameter
    /// (solved by the argument), and the `?k` of the result.
    pub sizes: Vec<SizeParam>,
    /// Parameters.
    pub params: Vec<(Name, Type)>,
    /// The result.
    pub result: Type,
}

/// A size parameter of a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeParam {
    /// Its name.
    pub name: Name,
    /// The source of its value.
    pub source: SizeSource,
}

/// The source of the value of a size parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeSource {
    /// Solved from the shapes of the arguments.
    Implicit,
    /// The value of the `i64` parameter with this position.
    Param(u32),
    /// `?k` in the result: it is known as soon as the result is.
    Result,
}

impl Type {
    /// `f64`
    pub const F64: Self = Self::Scalar(Scalar::F64);
    /// `f32`
    pub const F32: Self = Self::Scalar(Scalar::F32);
    /// `i64`
    pub const I64: Self = Self::Scalar(Scalar::I64);
    /// `bool`
    pub const BOOL: Self = Self::Scalar(Scalar::Bool);

    /// `()`
    #[must_use]
    pub fn unit() -> Self {
        Self::Tuple(Arc::from([]))
    }

    /// `[dims…]elem`
    #[must_use]
    pub fn array(dims: impl DoubleEndedIterator<Item = Poly>, elem: Self) -> Self {
        dims.rev().fold(elem, |t, n| Self::Array(n, Arc::new(t)))
    }

    /// Splits an array type into its extents, outermost first, and its element type.
    #[must_use]
    pub fn split_array(&self) -> (Vec<&Poly>, &Self) {
        let mut dims = Vec::new();
        let mut t = self;
        while let Self::Array(n, e) = t {
            dims.push(n);
            t = e;
        }
        (dims, t)
    }

    /// Rebuilds the type bottom up. `leaf` maps each type without components, and `size` maps each
    /// size. Both receive the number of function types that enclose the part within this type.
    #[must_use]
    pub fn map(&self, leaf: &dyn Fn(&Self, u32) -> Option<Self>, size: &dyn Fn(&Poly, u32) -> Poly) -> Self {
        self.map_at_depth(leaf, size, 0)
    }

    fn map_at_depth(
        &self,
        leaf: &dyn Fn(&Self, u32) -> Option<Self>,
        size: &dyn Fn(&Poly, u32) -> Poly,
        depth: u32,
    ) -> Self {
        let go = |t: &Self| t.map_at_depth(leaf, size, depth);
        match self {
            Self::Scalar(_) | Self::Str | Self::Param(..) | Self::Meta(_) | Self::Error => {
                leaf(self, depth).unwrap_or_else(|| self.clone())
            }
            Self::Array(n, t) => Self::Array(size(n, depth), Arc::new(go(t))),
            Self::Tuple(items) => Self::Tuple(items.iter().map(go).collect()),
            Self::Record(fields) => Self::Record(fields.iter().map(|(n, t)| (n.clone(), go(t))).collect()),
            Self::Rel(dims) => Self::Rel(dims.iter().map(|p| size(p, depth)).collect()),
            Self::Data(name, args) => Self::Data(
                name.clone(),
                args.iter()
                    .map(|a| match a {
                        GenericArg::Type(t) => GenericArg::Type(go(t)),
                        GenericArg::Size(p) => GenericArg::Size(size(p, depth)),
                    })
                    .collect(),
            ),
            Self::Fun(fun) => Self::Fun(Arc::new(FunType {
                params: fun.params.iter().map(|(n, t)| (n.clone(), t.map_at_depth(leaf, size, depth + 1))).collect(),
                result: fun.result.map_at_depth(leaf, size, depth + 1),
            })),
        }
    }

    /// Returns the type with every size replaced; see [`Type::map`].
    #[must_use]
    pub fn map_sizes(&self, size: &dyn Fn(&Poly, u32) -> Poly) -> Self {
        self.map(&|_, _| None, size)
    }

    /// Substitutes type parameters and the bound sizes of a signature or a `type` item.
    ///
    /// A substituted type or size is raised by the number of function types around its new
    /// position, so that its free `Atom::Arg`s keep their meaning.
    #[must_use]
    pub fn substitute(&self, param: &dyn Fn(u32) -> Option<Self>, bound: &dyn Fn(u32) -> Option<Poly>) -> Self {
        self.map(
            &|t, depth| match t {
                Self::Param(k, _) => Some(param(*k)?.shift_arguments(depth)),
                _ => None,
            },
            &|p, depth| {
                p.substitute(&|a| match a {
                    Atom::SizeParam(k, _) => Some(shift_size_arguments(&bound(*k)?, 0, depth)),
                    _ => None,
                })
            },
        )
    }

    /// Returns the free `Atom::Arg`s of the type's sizes, as (depth, position). The depth is
    /// relative to this type: 0 is the innermost function type around it.
    #[must_use]
    pub fn free_arguments(&self) -> Vec<(u32, u32)> {
        let found = RefCell::new(Vec::new());
        let _ = self.map_sizes(&|p, depth| {
            p.for_each_atom(&mut |a| {
                if let Atom::Arg(d, k) = a
                    && let Some(around) = d.checked_sub(depth)
                {
                    found.borrow_mut().push((around, *k));
                }
            });
            p.clone()
        });
        found.into_inner()
    }

    /// Substitutes the known argument values of the innermost function type around this type. An
    /// argument whose value is `None` stays an `Atom::Arg`.
    #[must_use]
    pub fn substitute_arguments(&self, values: &[Option<Poly>]) -> Self {
        self.map_sizes(&|p, depth| {
            p.substitute(&|a| match a {
                Atom::Arg(d, k) if *d == depth => values.get(*k as usize).cloned().flatten(),
                _ => None,
            })
        })
    }

    /// Returns the type as it reads under `by` more function types: its free `Atom::Arg`s still
    /// refer to the same function types.
    #[must_use]
    pub fn shift_arguments(&self, by: u32) -> Self {
        if by == 0 { self.clone() } else { self.map_sizes(&|p, depth| shift_size_arguments(p, depth, by)) }
    }

    /// Calls `leaf` on every type without components and `size` on every size.
    pub fn visit(&self, leaf: &mut dyn FnMut(&Self), size: &mut dyn FnMut(&Poly)) {
        match self {
            Self::Scalar(_) | Self::Str | Self::Param(..) | Self::Meta(_) | Self::Error => leaf(self),
            Self::Array(n, t) => {
                size(n);
                t.visit(leaf, size);
            }
            Self::Tuple(items) => items.iter().for_each(|t| t.visit(leaf, size)),
            Self::Record(fields) => fields.iter().for_each(|(_, t)| t.visit(leaf, size)),
            Self::Rel(dims) => dims.iter().for_each(size),
            Self::Data(_, args) => args.iter().for_each(|a| match a {
                GenericArg::Type(t) => t.visit(leaf, size),
                GenericArg::Size(p) => size(p),
            }),
            Self::Fun(fun) => {
                fun.params.iter().for_each(|(_, t)| t.visit(leaf, size));
                fun.result.visit(leaf, size);
            }
        }
    }

    /// Returns whether a value of the type may contain a function.
    #[must_use]
    pub fn has_function(&self) -> bool {
        match self {
            Self::Fun(_) => true,
            Self::Array(_, t) => t.has_function(),
            Self::Tuple(items) => items.iter().any(Self::has_function),
            Self::Record(fields) => fields.iter().any(|(_, t)| t.has_function()),
            Self::Data(_, args) => args.iter().any(|a| matches!(a, GenericArg::Type(t) if t.has_function())),
            Self::Scalar(_) | Self::Str | Self::Rel(_) | Self::Param(..) | Self::Meta(_) | Self::Error => false,
        }
    }

    /// Returns whether the type contains [`Type::Error`].
    #[must_use]
    pub fn has_error(&self) -> bool {
        let mut found = false;
        self.visit(&mut |t| found |= *t == Self::Error, &mut |_| {});
        found
    }
}

/// Raises by `by` the depth of every `Atom::Arg` whose depth is at least `from`.
fn shift_size_arguments(p: &Poly, from: u32, by: u32) -> Poly {
    p.substitute(&|a| match a {
        Atom::Arg(depth, k) if *depth >= from => Some(Poly::atom(Atom::Arg(depth.saturating_add(by), *k))),
        _ => None,
    })
}

//! **Core types**: scalars, arrays with their extents, tuples and relations. [`CoreType::leaves`]
//! splits a type into the tensors of scalars that its values consist of.

use std::sync::Arc;

use lang_base::{GlobalName, Name};
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;

/// The type of a core expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CoreType {
    /// A number or truth value.
    Scalar(Scalar),
    /// The components in order, and their labels.
    Tuple(Arc<[Self]>, TupleLabels),
    /// `[n]T`
    Tensor(Poly, Arc<Self>),
    /// `rel[n, m]`
    Rel(Arc<[Poly]>),
}

/// The meaning of the components of a tuple.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum TupleLabels {
    /// Positions of a plain tuple.
    #[default]
    Positions,
    /// The fields of a record, sorted by these names.
    Fields(Arc<[Name]>),
    /// A value of a sum type: the number of the constructor, then the arguments of each constructor
    /// as a tuple. The arguments of the other constructors are zeros.
    Sum(Arc<SumType>),
}

/// The names of a sum type and of its constructors.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct SumType {
    /// The name of the type.
    pub name: GlobalName,
    /// The names of its constructors.
    pub constructors: Vec<Name>,
}

impl TupleLabels {
    /// Returns the field names of a record.
    #[must_use]
    pub fn fields(&self) -> Option<&Arc<[Name]>> {
        if let Self::Fields(names) = self { Some(names) } else { None }
    }

    /// Returns the name of field `k` of a record.
    #[must_use]
    pub fn field(&self, k: u32) -> Option<&Name> {
        self.fields().and_then(|names| names.get(k as usize))
    }

    /// Returns the sum type.
    #[must_use]
    pub fn sum(&self) -> Option<&Arc<SumType>> {
        if let Self::Sum(sum) = self { Some(sum) } else { None }
    }
}

impl CoreType {
    /// Returns the type of a plain tuple.
    #[must_use]
    pub fn tuple(items: impl Into<Arc<[Self]>>) -> Self {
        Self::Tuple(items.into(), TupleLabels::Positions)
    }

    /// `()`
    #[must_use]
    pub fn unit() -> Self {
        Self::tuple([])
    }

    /// Splits an array type into its extents, outermost first, and its element type.
    #[must_use]
    pub fn split_array(&self) -> (Vec<&Poly>, &Self) {
        let mut dims = Vec::new();
        let mut t = self;
        while let Self::Tensor(n, e) = t {
            dims.push(n);
            t = e;
        }
        (dims, t)
    }

    /// `[dims…]self`
    #[must_use]
    pub fn with_extents(self, dims: impl DoubleEndedIterator<Item = Poly>) -> Self {
        dims.rev().fold(self, |t, n| Self::Tensor(n, Arc::new(t)))
    }

    /// Applies a function to every extent of the type.
    #[must_use]
    pub fn map_sizes(&self, f: &dyn Fn(&Poly) -> Poly) -> Self {
        match self {
            Self::Scalar(s) => Self::Scalar(*s),
            Self::Tuple(items, names) => Self::Tuple(items.iter().map(|t| t.map_sizes(f)).collect(), names.clone()),
            Self::Tensor(n, t) => Self::Tensor(f(n), Arc::new(t.map_sizes(f))),
            Self::Rel(dims) => Self::Rel(dims.iter().map(f).collect()),
        }
    }

    /// Returns the scalar type, if it is one.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        if let Self::Scalar(s) = self { Some(*s) } else { None }
    }

    /// Returns the parts of the type that are tensors of scalars, or relations. Each has its path
    /// through tuples, its extents, and its scalar (`None` for a relation). An array of tuples
    /// counts as a tuple of arrays (ATL 5.2).
    #[must_use]
    pub fn leaves(&self) -> Vec<TypeLeaf> {
        let mut leaves = Vec::new();
        let mut open = vec![(Vec::new(), Vec::new(), self)];
        while let Some((path, mut dims, t)) = open.pop() {
            match t {
                Self::Scalar(s) => leaves.push(TypeLeaf { path, dims, scalar: Some(*s) }),
                Self::Rel(d) => leaves.push(TypeLeaf { path, dims: d.to_vec(), scalar: None }),
                Self::Tensor(n, inner) => {
                    dims.push(n.clone());
                    open.push((path, dims, inner));
                }
                Self::Tuple(items, _) => {
                    for (k, t) in items.iter().enumerate().rev() {
                        let mut path = path.clone();
                        path.push(u32::try_from(k).unwrap_or(u32::MAX));
                        open.push((path, dims.clone(), t));
                    }
                }
            }
        }
        leaves
    }
}

/// A tensor part of a type; see [`CoreType::leaves`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeLeaf {
    /// The positions on the path through tuples.
    pub path: Vec<u32>,
    /// The extents, outermost first.
    pub dims: Vec<Poly>,
    /// The scalar type of the elements, `None` for a relation.
    pub scalar: Option<Scalar>,
}

impl TypeLeaf {
    /// Returns the type of the part.
    #[must_use]
    pub fn ty(&self) -> CoreType {
        match self.scalar {
            Some(s) => CoreType::Scalar(s).with_extents(self.dims.iter().cloned()),
            None => CoreType::Rel(Arc::from(self.dims.as_slice())),
        }
    }
}

//! The types of core: scalars, arrays with their extents, tuples, relations, and the parts that a value of such a type
//! is made of.

use std::sync::Arc;

use crate::base::{GlobalName, Name};
use crate::predicate::Poly;
use crate::syntax::ops::Scalar;

/// The type of a core expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CoreType {
    /// A number or truth value.
    Scalar(Scalar),
    /// Components in order, and what they are.
    Tuple(Arc<[Self]>, Labels),
    /// `[n]T`
    Tensor(Poly, Arc<Self>),
    /// `rel[n, m]`
    Rel(Arc<[Poly]>),
}

/// What the components of a tuple are.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum Labels {
    /// Those of a tuple.
    #[default]
    Places,
    /// The fields of a record, sorted by these names.
    Fields(Arc<[Name]>),
    /// A value of a sum type: the number of the constructor, and the arguments of each as a tuple, those of the
    /// others being zeros.
    Sum(Arc<SumType>),
}

/// What is kept of a sum type.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct SumType {
    /// The type.
    pub name: GlobalName,
    /// Its constructors.
    pub constructors: Vec<Name>,
}

impl Labels {
    /// The names of fields.
    #[must_use]
    pub fn fields(&self) -> Option<&Arc<[Name]>> {
        if let Self::Fields(names) = self { Some(names) } else { None }
    }

    /// The name of a field.
    #[must_use]
    pub fn field(&self, k: u32) -> Option<&Name> {
        self.fields().and_then(|names| names.get(k as usize))
    }

    /// The sum type.
    #[must_use]
    pub fn sum(&self) -> Option<&Arc<SumType>> {
        if let Self::Sum(sum) = self { Some(sum) } else { None }
    }
}

impl CoreType {
    /// A tuple.
    #[must_use]
    pub fn tuple(items: impl Into<Arc<[Self]>>) -> Self {
        Self::Tuple(items.into(), Labels::Places)
    }

    /// `()`
    #[must_use]
    pub fn unit() -> Self {
        Self::tuple([])
    }

    /// Its extents, outermost first, and what is inside.
    #[must_use]
    pub fn peel(&self) -> (Vec<&Poly>, &Self) {
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
    pub fn array(self, dims: impl DoubleEndedIterator<Item = Poly>) -> Self {
        dims.rev().fold(self, |t, n| Self::Tensor(n, Arc::new(t)))
    }

    /// The type with every extent replaced.
    #[must_use]
    pub fn map_sizes(&self, f: &dyn Fn(&Poly) -> Poly) -> Self {
        match self {
            Self::Scalar(s) => Self::Scalar(*s),
            Self::Tuple(items, names) => Self::Tuple(items.iter().map(|t| t.map_sizes(f)).collect(), names.clone()),
            Self::Tensor(n, t) => Self::Tensor(f(n), Arc::new(t.map_sizes(f))),
            Self::Rel(dims) => Self::Rel(dims.iter().map(f).collect()),
        }
    }

    /// The scalar, if it is one.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        if let Self::Scalar(s) = self { Some(*s) } else { None }
    }

    /// The parts that are tensors of scalars, or relations: the path of each through tuples, its extents, and
    /// its scalar (none for a relation). Arrays of tuples are taken as tuples of arrays (ATL 5.2).
    #[must_use]
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let mut open = vec![(Vec::new(), Vec::new(), self)];
        while let Some((path, mut dims, t)) = open.pop() {
            match t {
                Self::Scalar(s) => leaves.push(Leaf { path, dims, scalar: Some(*s) }),
                Self::Rel(d) => leaves.push(Leaf { path, dims: d.to_vec(), scalar: None }),
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

/// A part of a type; see [`CoreType::leaves`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Positions through tuples.
    pub path: Vec<u32>,
    /// Extents.
    pub dims: Vec<Poly>,
    /// What it holds; a relation holds none.
    pub scalar: Option<Scalar>,
}

impl Leaf {
    /// Its type.
    #[must_use]
    pub fn ty(&self) -> CoreType {
        match self.scalar {
            Some(s) => CoreType::Scalar(s).array(self.dims.iter().cloned()),
            None => CoreType::Rel(Arc::from(self.dims.as_slice())),
        }
    }
}

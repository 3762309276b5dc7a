//! **Run-time types.** Closed types whose sizes are numbers. They exist because some values cannot
//! be inspected: the zero of a bracket, an empty array or sum, a literal in polymorphic code.

use std::sync::Arc;

use super::Value;
use super::array::Store;
use lang_base::Name;
use lang_types::ty::Scalar;

/// A closed type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuntimeType {
    /// A number or truth value.
    Scalar(Scalar),
    /// `[n]T`
    Array(usize, Arc<Self>),
    /// A tuple.
    Tuple(Arc<[Self]>),
    /// A record.
    Record(Arc<[(Name, Self)]>),
    /// A type without a zero: function, relation, sum type, text.
    Other,
}

impl RuntimeType {
    /// Returns the extents, outermost first, and the element type.
    pub fn peel(&self) -> (Vec<usize>, &Self) {
        let mut dims = Vec::new();
        let mut t = self;
        while let Self::Array(n, e) = t {
            dims.push(*n);
            t = e;
        }
        (dims, t)
    }

    /// Returns an empty store for elements of this type.
    pub fn empty_store(&self) -> Store {
        match self {
            Self::Scalar(Scalar::F64) => Store::F64(Vec::new()),
            Self::Scalar(Scalar::F32) => Store::F32(Vec::new()),
            Self::Scalar(Scalar::I64) => Store::I64(Vec::new()),
            Self::Scalar(Scalar::Bool) => Store::Bool(Vec::new()),
            _ => Vec::<Value>::new().into(),
        }
    }
}

//! Core without tuples: what ATL's pair elimination (Fig. 8) and gen-pushout (Fig. 9) lead to. Inputs and
//! outputs are tensors of scalars, each a part of a parameter or of the result; between them bindings of
//! such tensors, in order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::core::{Callee, CoreType, E, Leaf, Vars};
use crate::base::GlobalName;
use crate::predicate::LocalId;

/// Where an input comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A parameter, by position.
    Param(u32),
    /// A top-level `let`.
    Global(GlobalName),
    /// The tangent of an input, by its position.
    Tangent(u32),
    /// The cotangent of an output, by its position.
    Cotangent(u32),
}

impl Source {
    /// Does a caller pass it? It does not pass what everyone can see.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        !matches!(self, Self::Global(_))
    }
}

/// An input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its variable.
    pub local: LocalId,
    /// Whose part it is.
    pub source: Source,
    /// Which part.
    pub leaf: Leaf,
}

/// A function without tuples.
#[derive(Clone, PartialEq, Debug)]
pub struct Flat {
    /// The definition, and at which types.
    pub callee: Arc<Callee>,
    /// All variables.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// See [`super::core::Function::bounded`].
    pub bounded: BTreeSet<LocalId>,
    /// The types of the parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// Bindings in order. One of type `()` is there for its check.
    pub bindings: Vec<(LocalId, E)>,
    /// Each part of the result.
    pub outputs: Vec<(Leaf, E)>,
    /// The type of the result.
    pub result: CoreType,
}

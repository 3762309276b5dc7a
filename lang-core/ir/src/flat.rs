//! **Core without tuples**: the output of ATL's pair elimination (Fig. 8) and gen-pushout (Fig. 9),
//! from which `norm::to_ssa` builds Tensor SSA. Inputs and outputs are tensors of scalars, each a
//! part of a parameter or of the result. Between them are bindings of such tensors, in order.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::core::{CoreType, ExprRef, FunctionKey, TypeLeaf, Vars};
use lang_base::GlobalName;
use lang_sizes::predicate::LocalId;

/// The source of an input.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum InputSource {
    /// A parameter, by position.
    Param(u32),
    /// A top-level `let`, by name.
    Global(GlobalName),
    /// The tangent of an input, by the position of the input.
    Tangent(u32),
    /// The cotangent of an output, by the position of the output.
    Cotangent(u32),
}

impl InputSource {
    /// Whether a caller passes the input. Top-level `let`s are not passed, because every function
    /// can read them.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        !matches!(self, Self::Global(_))
    }
}

/// An input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionInput {
    /// Its variable.
    pub local: LocalId,
    /// The value of which it is a part.
    pub source: InputSource,
    /// The part.
    pub leaf: TypeLeaf,
}

/// A function without tuples.
#[derive(Clone, PartialEq, Debug)]
pub struct FlatFunction {
    /// The definition and its type arguments.
    pub callee: Arc<FunctionKey>,
    /// All variables.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// See [`super::core::CoreFunction::bounded_params`].
    pub bounded: BTreeSet<LocalId>,
    /// The types of the parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// Inputs.
    pub inputs: Vec<FunctionInput>,
    /// Bindings in order. A binding of type `()` exists only for its check.
    pub bindings: Vec<(LocalId, ExprRef)>,
    /// The parts of the result, each with its expression.
    pub outputs: Vec<(TypeLeaf, ExprRef)>,
    /// The type of the result.
    pub result: CoreType,
}

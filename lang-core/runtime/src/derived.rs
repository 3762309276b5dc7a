//! **Applied derivative operators** as values: the operator, the function, and the source of the
//! operator with the values in its type.

use std::sync::Arc;

use super::code::{LocalFrame, RunnableBody};
use super::value::Components;
use super::{RuntimeType, Value};
use lang_resolve::forms::DerivativeOp;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_types::tree::TypedId;

/// A derivative operator applied to a function, ready to be called.
pub struct DerivedFunction {
    /// The derivative operator.
    pub operator: DerivativeOp,
    /// The positions of the arguments to differentiate by.
    pub wrt: Arc<[usize]>,
    /// The number of arguments of the function.
    pub arity: usize,
    /// The function, as the only item. `Items` drops a chain of operators without recursion.
    pub function: Components,
    /// The source of the operator.
    pub site: Arc<OperatorSite>,
}

/// The source of an operator, and the values in its type there.
pub struct OperatorSite {
    /// The code that contains the operator.
    pub code: Arc<RunnableBody>,
    /// The node of the operator in that code.
    pub node: TypedId,
    /// The known sizes in the type.
    pub sizes: Vec<(LocalId, i64)>,
    /// The type arguments of the definition that contains the operator.
    pub types: Arc<[RuntimeType]>,
}

impl DerivedFunction {
    /// Returns the same operator on another function.
    pub fn with_function(&self, function: Components) -> Self {
        let (wrt, place) = (self.wrt.clone(), self.site.clone());
        Self { operator: self.operator, wrt, arity: self.arity, function, site: place }
    }

    /// Returns the operator.
    #[must_use]
    pub fn operator(&self) -> DerivativeOp {
        self.operator
    }

    /// Returns the positions of the arguments to differentiate by.
    #[must_use]
    pub fn wrt(&self) -> &Arc<[usize]> {
        &self.wrt
    }

    /// Returns the function.
    #[must_use]
    pub fn function(&self) -> Option<&Value> {
        self.function.values().first()
    }

    /// Returns the source of the operator.
    #[must_use]
    pub fn site(&self) -> &OperatorSite {
        &self.site
    }
}

impl OperatorSite {
    /// Creates the place of a node, with the sizes in its type that the frame contains.
    pub fn new(code: &Arc<RunnableBody>, f: &LocalFrame, node: TypedId) -> Self {
        let mut sizes: Vec<(LocalId, i64)> = Vec::new();
        let mut see = |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && let Some(Value::I64(n)) = f.get(*l)
                    && !sizes.iter().any(|(known, _)| known == l)
                {
                    sizes.push((*l, *n));
                }
            });
        };
        code.body.nodes[node].ty.visit(&mut |_| {}, &mut see);
        Self { code: code.clone(), node, sizes, types: f.types.clone() }
    }

    /// Returns the code that contains it.
    #[must_use]
    pub fn code(&self) -> &RunnableBody {
        &self.code
    }

    /// Returns its node in that code.
    #[must_use]
    pub fn node(&self) -> TypedId {
        self.node
    }

    /// Returns the known sizes in the operator's type.
    #[must_use]
    pub fn sizes(&self) -> &[(LocalId, i64)] {
        &self.sizes
    }

    /// Returns the type arguments of the definition that contains it.
    #[must_use]
    pub fn types(&self) -> &[RuntimeType] {
        &self.types
    }
}

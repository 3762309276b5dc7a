//! **Run-time derivative operators**, and expressions that a run has reached: the facts about them
//! that are known before the data. The differentiated value is a function: a definition with type
//! arguments, or a lambda, whose captures may be functions again. Neither data nor sizes are part
//! of the key, so one form serves all runs that differ only in these.
//!
//! `lang_exec::reflect` extracts a [`RuntimeRequest`] from values, and
//! `norm::elaborate::runtime_request` builds a function from it. Both must walk it in the same
//! order, because sizes and data are passed in that order: top-level `let`s first. A
//! [`CaptureScope`] lists its types, then its locals. An operator lists its scope, then the
//! function. Then come the arguments.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use lang_base::{GlobalName, Name};
use lang_resolve::builtin::Builtin;
use lang_resolve::forms::DerivativeOp;
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::LocalId;
use lang_types::tree::{TypedBody, TypedId};
use lang_types::ty::Type;

/// The body of an item, compared by object identity. The body may belong to an expression outside
/// any module, or be older than the current body of its item.
#[derive(Clone)]
pub struct ItemBody {
    /// The item.
    pub item: GlobalName,
    /// Its body.
    pub body: Arc<TypedBody>,
}

impl PartialEq for ItemBody {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body) && self.item == other.item
    }
}

impl Eq for ItemBody {}

impl Hash for ItemBody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.body).hash(state);
    }
}

impl std::fmt::Debug for ItemBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.item)
    }
}

/// Type arguments. Their extents are [`lang_sizes::predicate::Atom::SizeParam`], numbered from
/// [`super::core::FunctionKey::FIRST_TYPE_EXTENT`] on.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct TypeArgs {
    /// The types.
    pub args: Vec<Type>,
    /// The number of extents in the types.
    pub extent_count: u32,
}

/// The environment of a function value: the body that creates it, and the locals in scope there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CaptureScope {
    /// The body.
    pub item_body: ItemBody,
    /// Type arguments of the definition.
    pub types: TypeArgs,
    /// The locals: sizes, then integers, then other data, then values that hold functions.
    pub locals: Vec<(LocalId, StaticShape)>,
}

/// The static knowledge about a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StaticShape {
    /// A size.
    Size,
    /// An integer.
    Integer,
    /// Other data.
    Data,
    /// A function.
    Function(Arc<FunctionShape>),
    /// A tuple that holds functions.
    Tuple(Vec<Self>),
    /// A record that holds functions, its fields sorted.
    Record(Vec<(Name, Self)>),
}

/// A function value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FunctionShape {
    /// A lambda.
    Lambda {
        /// The environment in which the lambda is created.
        scope: CaptureScope,
        /// The node of the lambda.
        node: TypedId,
    },
    /// A definition.
    Definition {
        /// Its name.
        name: GlobalName,
        /// Its type arguments.
        types: TypeArgs,
        /// The number of sizes that a call passes.
        sizes: u32,
    },
    /// A library function that is not written in Iverson.
    Builtin(Builtin),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A constructor.
    Constructor(u32),
    /// A derivative operator applied to a function.
    Operator(DerivativeOperator),
}

/// A derivative operator and its function operand.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DerivativeOperator {
    /// The environment of the operator.
    pub scope: CaptureScope,
    /// The node of the operator.
    pub node: TypedId,
    /// The operator.
    pub operator: DerivativeOp,
    /// The positions of the arguments with respect to which it differentiates.
    pub wrt: Arc<[usize]>,
    /// The function.
    pub function: Arc<FunctionShape>,
}

/// A derivative or a value that a run requests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RuntimeRequest {
    /// The requested derivative or expression.
    pub site: RequestSite,
    /// Top-level `let`s that hold functions and that the lambdas mention, with their types.
    pub globals: Vec<(GlobalName, Type, StaticShape)>,
}

/// The operator or expression to compile, with its environment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RequestSite {
    /// An operator with its arguments.
    Operator(DerivativeOperator, Vec<StaticShape>),
    /// `deriv(of, by)`
    Variable {
        /// The environment of the expression.
        scope: CaptureScope,
        /// The node of the `deriv` expression.
        node: TypedId,
        /// The variable of differentiation.
        variable: LocalId,
        /// The differentiated expression.
        expression: TypedId,
    },
    /// An expression whose value is requested.
    Expression {
        /// The environment of the expression.
        scope: CaptureScope,
        /// The expression.
        node: TypedId,
    },
}

impl RuntimeRequest {
    /// Returns the item to name in messages: the item of the differentiated function if the program
    /// defines it, else the item that contains the derivative.
    #[must_use]
    pub fn item(&self) -> &GlobalName {
        match &self.site {
            RequestSite::Variable { scope, .. } | RequestSite::Expression { scope, .. } => &scope.item_body.item,
            RequestSite::Operator(operator, _) => operator.item(),
        }
    }
}

impl DerivativeOperator {
    fn item(&self) -> &GlobalName {
        let mut operator = self;
        loop {
            match &*operator.function {
                FunctionShape::Lambda { scope, .. } => return &scope.item_body.item,
                FunctionShape::Definition { name, .. } => return name,
                FunctionShape::Builtin(_) | FunctionShape::Scalar(_) | FunctionShape::Constructor(_) => {
                    return &operator.scope.item_body.item;
                }
                FunctionShape::Operator(inner) => operator = inner,
            }
        }
    }
}

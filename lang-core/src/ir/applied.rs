//! A derivative operator that the run has applied, or an expression that it has reached: what is known of it before the
//! data. What is differentiated is a function value: a definition at types, or a lambda, of whose captured values some
//! are functions again. Data are not in it, nor sizes: so one form serves all that differ in these alone.
//!
//! Whoever reads it off values ([`crate::exec::given`]) and whoever makes a function of it (`norm/elaborate/applied`)
//! walk it in one order, in which sizes and data are passed: top-level `let`s; of a [`Scope`] its types, then its
//! locals; of an operator its scope, then the function; then the arguments.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::base::{GlobalName, Name};
use crate::predicate::LocalId;
use crate::resolve::builtin::Builtin;
use crate::resolve::forms::Derivative;
use crate::resolve::scalar_fn::ScalarFn;
use crate::types::tree::{Body, TId};
use crate::types::ty::Type;

/// The body of an item. It is the same only if it is one object: it may be that of an expression that stands in no
/// module, or an older one than its item has now.
#[derive(Clone)]
pub struct Text {
    /// The item.
    pub item: GlobalName,
    /// Its body.
    pub body: Arc<Body>,
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body) && self.item == other.item
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.body).hash(state);
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.item)
    }
}

/// Type arguments. Extents in them are [`crate::predicate::Atom::Bound`], numbered from
/// [`super::core::Callee::FIRST_EXTRA`] on.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Types {
    /// The types.
    pub types: Vec<Type>,
    /// How many extents there are in them.
    pub extents: u32,
}

/// Where a function value was made, and which locals it knows there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scope {
    /// The body.
    pub text: Text,
    /// Type arguments of the definition.
    pub types: Types,
    /// Sizes, then integers, then other data, then what holds functions.
    pub locals: Vec<(LocalId, Given)>,
}

/// What is known of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Given {
    /// A size.
    Size,
    /// An integer.
    Integer,
    /// Other data.
    Data,
    /// A function.
    Function(Arc<Known>),
    /// A tuple that holds functions.
    Tuple(Vec<Self>),
    /// A record that holds functions, its fields sorted.
    Record(Vec<(Name, Self)>),
}

/// A function value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Known {
    /// A lambda.
    Lambda {
        /// Where it was made.
        scope: Scope,
        /// Which it is.
        node: TId,
    },
    /// A definition.
    Definition {
        /// Its name.
        name: GlobalName,
        /// Its type arguments.
        types: Types,
        /// How many sizes it is passed.
        sizes: u32,
    },
    /// A function of the library that is not written in Iverson.
    Builtin(Builtin),
    /// A scalar function.
    Scalar(ScalarFn),
    /// A constructor.
    Constructor(u32),
    /// A derivative operator applied to a function.
    Operator(Operator),
}

/// A derivative operator and the function it is applied to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operator {
    /// Where it stands.
    pub scope: Scope,
    /// Which node it is.
    pub node: TId,
    /// Which operator.
    pub operator: Derivative,
    /// The positions of the arguments by which it differentiates.
    pub wrt: Arc<[usize]>,
    /// The function.
    pub of: Arc<Known>,
}

/// A derivative that the run asks for, or a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Applied {
    /// What is asked for.
    pub site: Site,
    /// Top-level `let`s that hold functions, as far as lambdas in it mention them, with their types.
    pub globals: Vec<(GlobalName, Type, Given)>,
}

/// Where a derivative stands, and what it is of; or an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Site {
    /// An operator, at arguments.
    Operator(Operator, Vec<Given>),
    /// `deriv(of, by)`
    Variable {
        /// Where it stands.
        scope: Scope,
        /// The whole.
        node: TId,
        /// The variable.
        by: LocalId,
        /// What is differentiated.
        of: TId,
    },
    /// An expression: its value.
    Here {
        /// Where it stands.
        scope: Scope,
        /// The expression.
        node: TId,
    },
}

impl Applied {
    /// The item that is told of: that of the function which is differentiated, if that is one's own, else that in
    /// which the derivative stands.
    #[must_use]
    pub fn item(&self) -> &GlobalName {
        match &self.site {
            Site::Variable { scope, .. } | Site::Here { scope, .. } => &scope.text.item,
            Site::Operator(operator, _) => operator.item(),
        }
    }
}

impl Operator {
    fn item(&self) -> &GlobalName {
        let mut operator = self;
        loop {
            match &*operator.of {
                Known::Lambda { scope, .. } => return &scope.text.item,
                Known::Definition { name, .. } => return name,
                Known::Builtin(_) | Known::Scalar(_) | Known::Constructor(_) => return &operator.scope.text.item,
                Known::Operator(inner) => operator = inner,
            }
        }
    }
}

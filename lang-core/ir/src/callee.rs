//! **Callees.** A callee identifies the function that a call invokes. It is a definition with type
//! arguments, a function made inside one, the rule of such a function, or a derivative of any of
//! them. Callees are the keys under which forms are memoised.

use std::sync::Arc;

use super::runtime_request::RuntimeRequest;
use lang_base::GlobalName;
use lang_types::ty::Type;

/// The target of a call: a definition with type arguments, a function made inside one, or a
/// derivative of either.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionKey {
    /// The definition, or the definition that contains the local function.
    pub def: GlobalName,
    /// The type arguments. Their extents are [`lang_sizes::predicate::Atom::SizeParam`], numbered
    /// from [`FunctionKey::FIRST_TYPE_EXTENT`] on; a call passes them after the sizes of the
    /// definition.
    pub types: Arc<[Type]>,
    /// The rules that lead from the definition to the function, outermost first. A rule of a
    /// definition that takes functions is a separate function for each place that applies the
    /// definition.
    pub rules: Arc<[LocalFunctionRule]>,
    /// The number of the local function ([`super::core::CoreFunction::local_functions`]), or `None`
    /// for the definition itself.
    pub local: Option<u32>,
    /// The derivatives taken of the function, innermost first.
    pub derivatives: Arc<[DerivativeKind]>,
    /// The derivative operator that a run applied, if the function comes from one and not from a
    /// definition.
    pub runtime_request: Option<Arc<RuntimeRequest>>,
}

/// The rule of a local function ([`super::core::CoreFunction::rule_of`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalFunctionRule {
    /// The number of the local function.
    pub local: u32,
    /// The kind of the rule.
    pub kind: RuleKind,
}

/// The kind of a rule, by its result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleKind {
    /// The tangent of the result.
    Derivative,
    /// The cotangents of the arguments.
    Adjoint,
}

impl RuleKind {
    /// Parses the name of a rule item, `derivative f`: returns the kind of the rule and the name of
    /// its function.
    #[must_use]
    pub fn parse_item_name(item: &str) -> Option<(Self, &str)> {
        [Self::Derivative, Self::Adjoint].into_iter().find_map(|kind| {
            let of = item.strip_prefix(kind.keyword())?.strip_prefix(' ')?;
            Some((kind, of))
        })
    }

    /// Returns the keyword of such a rule.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Derivative => "derivative",
            Self::Adjoint => "adjoint",
        }
    }
}

/// A derivative of a function in Tensor SSA, with respect to some of the parts of its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DerivativeKind {
    /// The forward derivative (ATL Fig. 13). Takes the arguments and a tangent for each of these
    /// inputs. Returns the parts of the result, and the tangent of each real one.
    Forward(Arc<[u32]>),
    /// The adjoint (ATL Figs. 14-16). Takes the arguments and a cotangent for each part of the
    /// result in `of`. Returns the parts of the result, and the cotangent of each input in `wrt`. A
    /// part that is not in `of` has no cotangent, not a zero one: nothing is computed for it.
    Adjoint {
        /// The parts of the result.
        outputs: Arc<[u32]>,
        /// The inputs.
        wrt: Arc<[u32]>,
    },
}

impl FunctionKey {
    /// The number of the first extent of a type argument.
    pub const FIRST_TYPE_EXTENT: u32 = 1 << 16;

    /// Returns the callee of a definition with type arguments.
    #[must_use]
    pub fn new(def: GlobalName, types: Vec<Type>) -> Self {
        Self {
            def,
            types: types.into(),
            rules: Arc::from([]),
            local: None,
            derivatives: Arc::from([]),
            runtime_request: None,
        }
    }

    /// Returns the callee of an operator or expression that a run reached.
    #[must_use]
    pub fn for_runtime_request(applied: RuntimeRequest) -> Self {
        let def = applied.item().clone();
        Self { runtime_request: Some(Arc::new(applied)), ..Self::new(def, Vec::new()) }
    }

    /// Returns the enclosing function; the callee itself, without derivatives, if it is not a local
    /// function.
    #[must_use]
    pub fn enclosing_function(&self) -> Self {
        Self { local: None, derivatives: Arc::from([]), ..self.clone() }
    }

    /// Returns the rule of a local function.
    #[must_use]
    pub fn local_rule(&self, local: u32, kind: RuleKind) -> Self {
        let rules = self.rules.iter().copied().chain([LocalFunctionRule { local, kind }]).collect();
        Self { rules, ..self.enclosing_function() }
    }

    /// Returns a derivative of the function.
    #[must_use]
    pub fn derivative(&self, derivation: DerivativeKind) -> Self {
        let derived = self.derivatives.iter().cloned().chain([derivation]).collect();
        Self { derivatives: derived, ..self.clone() }
    }

    /// Returns the function of which this is a derivative, or `None` if it is not one.
    #[must_use]
    pub fn primal(&self) -> Option<Self> {
        let (_, before) = self.derivatives.split_last()?;
        Some(Self { derivatives: before.into(), ..self.clone() })
    }
}

//! **Callees.** A callee identifies the function that a call invokes. It is a definition with type
//! arguments, a function made inside one, the rule of such a function, or a derivative of any of
//! them. Callees are the keys under which forms are memoised.

use std::sync::Arc;

use super::applied::Applied;
use lang_base::GlobalName;
use lang_types::ty::Type;

/// The target of a call: a definition with type arguments, a function made inside one, or a
/// derivative of either.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Callee {
    /// The definition, or the definition that contains the local function.
    pub def: GlobalName,
    /// The type arguments. Their extents are [`lang_sizes::predicate::Atom::Bound`], numbered from
    /// [`Callee::FIRST_EXTRA`] on; a call passes them after the sizes of the definition.
    pub types: Arc<[Type]>,
    /// The rules that lead from the definition to the function, outermost first. A rule of a
    /// definition that takes functions is a separate function for each place that applies the
    /// definition.
    pub rules: Arc<[LocalRule]>,
    /// The number of the local function ([`super::core::Function::locals`]), or `None` for the
    /// definition itself.
    pub local: Option<u32>,
    /// The derivatives taken of the function, innermost first.
    pub derived: Arc<[Derivation]>,
    /// The derivative operator that a run applied, if the function comes from one and not from a
    /// definition.
    pub applied: Option<Arc<Applied>>,
}

/// The rule of a local function ([`super::core::Function::rule_of`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalRule {
    /// The number of the local function.
    pub local: u32,
    /// The kind of the rule.
    pub kind: Rule,
}

/// The kind of a rule, by its result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// The tangent of the result.
    Derivative,
    /// The cotangents of the arguments.
    Adjoint,
}

impl Rule {
    /// Parses the name of a rule item, `derivative f`: returns the kind of the rule and the name of
    /// its function.
    #[must_use]
    pub fn named(item: &str) -> Option<(Self, &str)> {
        [Self::Derivative, Self::Adjoint].into_iter().find_map(|kind| {
            let of = item.strip_prefix(kind.word())?.strip_prefix(' ')?;
            Some((kind, of))
        })
    }

    /// Returns the keyword of such a rule.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Derivative => "derivative",
            Self::Adjoint => "adjoint",
        }
    }
}

/// A derivative of a function in Tensor SSA, with respect to some of the parts of its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Derivation {
    /// The forward derivative (ATL Fig. 13). Takes the arguments and a tangent for each of these
    /// inputs. Returns the parts of the result, and the tangent of each real one.
    Forward(Arc<[u32]>),
    /// The adjoint (ATL Figs. 14-16). Takes the arguments and a cotangent for each part of the
    /// result in `of`. Returns the parts of the result, and the cotangent of each input in `wrt`. A
    /// part that is not in `of` has no cotangent, not a zero one: nothing is computed for it.
    Adjoint {
        /// The parts of the result.
        of: Arc<[u32]>,
        /// The inputs.
        wrt: Arc<[u32]>,
    },
}

impl Callee {
    /// The number of the first extent of a type argument.
    pub const FIRST_EXTRA: u32 = 1 << 16;

    /// Returns the callee of a definition with type arguments.
    #[must_use]
    pub fn new(def: GlobalName, types: Vec<Type>) -> Self {
        Self { def, types: types.into(), rules: Arc::from([]), local: None, derived: Arc::from([]), applied: None }
    }

    /// Returns the callee of an operator or expression that a run reached.
    #[must_use]
    pub fn applied(applied: Applied) -> Self {
        let def = applied.item().clone();
        Self { applied: Some(Arc::new(applied)), ..Self::new(def, Vec::new()) }
    }

    /// Returns the enclosing function; the callee itself, without derivatives, if it is not a local
    /// function.
    #[must_use]
    pub fn definition(&self) -> Self {
        Self { local: None, derived: Arc::from([]), ..self.clone() }
    }

    /// Returns the rule of a local function.
    #[must_use]
    pub fn local_rule(&self, local: u32, kind: Rule) -> Self {
        let rules = self.rules.iter().copied().chain([LocalRule { local, kind }]).collect();
        Self { rules, ..self.definition() }
    }

    /// Returns a derivative of the function.
    #[must_use]
    pub fn derive(&self, derivation: Derivation) -> Self {
        let derived = self.derived.iter().cloned().chain([derivation]).collect();
        Self { derived, ..self.clone() }
    }

    /// Returns the function of which this is a derivative, or `None` if it is not one.
    #[must_use]
    pub fn primal(&self) -> Option<Self> {
        let (_, before) = self.derived.split_last()?;
        Some(Self { derived: before.into(), ..self.clone() })
    }
}

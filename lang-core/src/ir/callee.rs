//! **Callees.** A call names the function that it calls: a definition at types, a function made inside one, the rule of
//! such a function, or a derivative of any of them. Callees are the keys under which forms are made once.

use std::sync::Arc;

use super::applied::Applied;
use crate::base::GlobalName;
use crate::types::ty::Type;

/// What a call calls: a definition at types, a function made inside one, or a derivative of either.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Callee {
    /// The definition, or the one that the function is made in.
    pub def: GlobalName,
    /// What its type parameters are. Extents in them are [`crate::predicate::Atom::Bound`], numbered from
    /// [`Callee::FIRST_EXTRA`] on; a call passes them after the sizes of the definition.
    pub types: Arc<[Type]>,
    /// The rules that lead from the definition to the function, outermost first. A rule of a definition that takes
    /// functions is a function of its own for each place that applies the definition.
    pub rules: Arc<[LocalRule]>,
    /// Which of the functions that the definition makes to differentiate them ([`super::core::Function::locals`]).
    pub local: Option<u32>,
    /// The derivatives taken of it, innermost first.
    pub derived: Arc<[Derivation]>,
    /// The derivative operator that the run has applied, if it is made of that and not of a definition.
    pub applied: Option<Arc<Applied>>,
}

/// The rule of a local function ([`super::core::Function::rule_of`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalRule {
    /// The number of the local function.
    pub local: u32,
    /// Which rule of its definition.
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
    /// The kind of rule that an item of this name is, and whose: `derivative f`.
    #[must_use]
    pub fn named(item: &str) -> Option<(Self, &str)> {
        [Self::Derivative, Self::Adjoint].into_iter().find_map(|kind| {
            let of = item.strip_prefix(kind.word())?.strip_prefix(' ')?;
            Some((kind, of))
        })
    }

    /// The keyword of such a rule.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Derivative => "derivative",
            Self::Adjoint => "adjoint",
        }
    }
}

/// A derivative of a function in Tensor SSA, by some of the parts of its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Derivation {
    /// Takes the arguments and a tangent for each of these inputs; gives the parts of the result, and the
    /// tangent of each real one (ATL Fig. 13).
    Forward(Arc<[u32]>),
    /// Takes the arguments and a cotangent for each of these parts of the result; gives the parts of the
    /// result, and the cotangent of each of these inputs (Figs. 14-16). What has no cotangent is not one with
    /// zeros: nothing is computed for it.
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

    /// A definition at types.
    #[must_use]
    pub fn new(def: GlobalName, types: Vec<Type>) -> Self {
        Self { def, types: types.into(), rules: Arc::from([]), local: None, derived: Arc::from([]), applied: None }
    }

    /// What the run has applied.
    #[must_use]
    pub fn applied(applied: Applied) -> Self {
        let def = applied.item().clone();
        Self { applied: Some(Arc::new(applied)), ..Self::new(def, Vec::new()) }
    }

    /// The function that it is made in, itself if it is no local function.
    #[must_use]
    pub fn definition(&self) -> Self {
        Self { local: None, derived: Arc::from([]), ..self.clone() }
    }

    /// The rule of a local function.
    #[must_use]
    pub fn local_rule(&self, local: u32, kind: Rule) -> Self {
        let rules = self.rules.iter().copied().chain([LocalRule { local, kind }]).collect();
        Self { rules, ..self.definition() }
    }

    /// A derivative of it.
    #[must_use]
    pub fn derive(&self, derivation: Derivation) -> Self {
        let derived = self.derived.iter().cloned().chain([derivation]).collect();
        Self { derived, ..self.clone() }
    }

    /// What it is a derivative of.
    #[must_use]
    pub fn primal(&self) -> Option<Self> {
        let (_, before) = self.derived.split_last()?;
        Some(Self { derived: before.into(), ..self.clone() })
    }
}

//! **Scopes, facts and obligations.** The tree of scopes of an item and the facts that hold in
//! each. Obligations are the questions that `finish` decides when all metavariables are solved.
//!
//! A scope is a region that may run several times or never. It is a branch, a factor guarded by a
//! bracket, operands of `&&` or `||`, or the body of a binder, fold, loop or lambda. Each fact
//! opens a scope of its own for the code after it, because it need not hold for code that ran
//! before.

use super::super::tree::{SizeCheck, SizeConstraint, TypedId};
use super::super::ty::Type;
use lang_base::{Code, Span};
use lang_sizes::predicate::{LocalId, Poly};

/// The kind of region that a scope covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScopeKind {
    /// The item itself.
    Item,
    /// The body of a `for`, a reduction, a fold or a loop.
    Binder,
    /// A branch, an arm, a guarded factor, the operands of `&&` or `||`, or an operand after the
    /// second in a chained comparison.
    Branch,
    /// The body of a lambda.
    Lambda,
}

/// The claim of a fact about a polynomial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FactClaim {
    /// `p >= 0`
    NonNegative,
    /// `p == 0`
    Zero,
    /// `p != 0`
    NonZero,
}

/// A fact that holds in a scope.
#[derive(Clone, Debug)]
pub(super) struct ScopeFact {
    pub(super) poly: Poly,
    pub(super) claim: FactClaim,
    /// The type of the compared operands. A literal may become a real later, and for reals `x > 0`
    /// does not imply `x >= 1`.
    pub(super) operand_type: Type,
}

struct Scope {
    parent: usize,
    /// The number of scopes around it.
    depth: usize,
    kind: ScopeKind,
    /// The fact that holds in this scope.
    fact: Option<ScopeFact>,
}

/// The scopes of an item.
///
/// Indices grow in the order of entry. So the scopes inside a scope are those from its own index to
/// the last index at the time it is left.
pub(super) struct ScopeTree {
    scopes: Vec<Scope>,
    pub(super) current: usize,
}

impl Default for ScopeTree {
    fn default() -> Self {
        Self { scopes: vec![Scope { parent: 0, depth: 0, kind: ScopeKind::Item, fact: None }], current: 0 }
    }
}

impl ScopeTree {
    pub(super) fn enter(&mut self, kind: ScopeKind) -> usize {
        self.push(kind, None);
        self.current
    }

    fn push(&mut self, kind: ScopeKind, fact: Option<ScopeFact>) {
        let depth = self.depth(self.current) + 1;
        self.scopes.push(Scope { parent: self.current, depth, kind, fact });
        self.current = self.scopes.len() - 1;
    }

    pub(super) fn leave(&mut self, scope: usize) {
        self.current = self.scopes.get(scope).map_or(0, |s| s.parent);
    }

    pub(super) fn last_index(&self) -> usize {
        self.scopes.len() - 1
    }

    pub(super) fn kind(&self, scope: usize) -> ScopeKind {
        self.scopes.get(scope).map_or(ScopeKind::Item, |s| s.kind)
    }

    pub(super) fn parent(&self, scope: usize) -> usize {
        self.scopes.get(scope).map_or(0, |s| s.parent)
    }

    /// Returns the number of scopes around this one.
    pub(super) fn depth(&self, scope: usize) -> usize {
        self.scopes.get(scope).map_or(0, |s| s.depth)
    }

    pub(super) fn fact(&self, scope: usize) -> Option<&ScopeFact> {
        self.scopes.get(scope)?.fact.as_ref()
    }

    /// Returns the facts of all scopes.
    pub(super) fn facts(&self) -> impl Iterator<Item = &ScopeFact> {
        self.scopes.iter().filter_map(|s| s.fact.as_ref())
    }

    /// Adds a fact that holds until the enclosing scope is left.
    pub(super) fn assume(&mut self, fact: ScopeFact) {
        self.push(self.kind(self.current), Some(fact));
    }

    /// Adds the fact `p >= 0`.
    pub(super) fn assume_nonneg(&mut self, p: Poly) {
        self.assume(ScopeFact { poly: p, claim: FactClaim::NonNegative, operand_type: Type::I64 });
    }

    /// Adds the fact `p == 0`.
    pub(super) fn assume_zero(&mut self, p: Poly) {
        self.assume(ScopeFact { poly: p, claim: FactClaim::Zero, operand_type: Type::I64 });
    }
}

/// A question that `finish` decides from the facts of its scope.
pub(super) enum Obligation {
    /// `0 <= index < extent` for a subscript of an index or update node.
    Index { node: TypedId, update: Option<usize>, position: usize, index: Poly, extent: Poly, axis: usize, span: Span },
    /// `0 <= from <= to <= extent`.
    Slice { node: TypedId, update: Option<usize>, position: usize, from: Poly, to: Poly, extent: Poly, span: Span },
    /// A constraint on a size; the node checks it at run time if it is not proved.
    Size { node: TypedId, check: SizeCheck, code: Code },
    /// A bound: the extent is not too large and, if it is an array's (`is_array`), not negative.
    Extent { extent: Poly, is_array: bool, span: Span },
    /// Equality of the extents of two axes that one bare index subscripts.
    EqualExtents { index: LocalId, span: Span, first: Poly, second: Poly },
}

impl Obligation {
    /// Returns the sizes in the obligation.
    pub(super) fn sizes(&self) -> Vec<&Poly> {
        match self {
            Self::Index { index, extent, .. } => vec![index, extent],
            Self::Slice { from, to, extent, .. } => vec![from, to, extent],
            Self::Size { check, .. } => match &check.constraint {
                SizeConstraint::Equal(wanted) => vec![&check.found, wanted],
                SizeConstraint::ValidExtent => vec![&check.found],
            },
            Self::Extent { extent, .. } => vec![extent],
            Self::EqualExtents { first, second, .. } => vec![first, second],
        }
    }
}

/// The type of a value that leaves a scope. `finish` checks that no local of the scopes left, which
/// have the indices `first..=last`, occurs in it.
pub(super) struct ScopeExit {
    pub(super) ty: Type,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) kind: ScopeKind,
    pub(super) span: Span,
}

//! Scopes with the facts that hold in them, and what is left to decide when all unknowns are
//! solved. A scope is a place whose body may run several times or not at all: the body of a
//! binder, fold, loop or lambda, a branch, what a bracket guards. And what comes after a fact
//! is a scope, so that a fact says nothing about what was evaluated before it held.

use super::super::tree::{Demand, SizeCheck, TId};
use super::super::ty::Type;
use crate::base::{Code, Span};
use crate::predicate::{LocalId, Poly};

/// What makes a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScopeKind {
    /// The item itself.
    Item,
    /// The body of a `for`, a reduction, a fold or a loop.
    Binder,
    /// A branch, an arm, a guarded factor, the right side of `&&`.
    Branch,
    /// The body of a lambda.
    Lambda,
}

/// What a fact says of a polynomial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Says {
    /// `p >= 0`
    NonNegative,
    /// `p == 0`
    Zero,
    /// `p != 0`
    NonZero,
}

/// A fact.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) p: Poly,
    pub(super) says: Says,
    /// The type of what was compared. A literal may become a real afterwards, and of reals `x > 0`
    /// does not say `x >= 1`.
    pub(super) of: Type,
}

struct Scope {
    parent: usize,
    /// How many scopes are around it.
    depth: usize,
    kind: ScopeKind,
    /// What holds from here on.
    fact: Option<Fact>,
}

/// The scopes of an item. Numbers grow in the order of entry, so the scopes inside one are
/// those from its number to the last number when it is left.
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    pub(super) current: usize,
}

impl Default for Scopes {
    fn default() -> Self {
        Self { scopes: vec![Scope { parent: 0, depth: 0, kind: ScopeKind::Item, fact: None }], current: 0 }
    }
}

impl Scopes {
    pub(super) fn enter(&mut self, kind: ScopeKind) -> usize {
        self.push(kind, None);
        self.current
    }

    fn push(&mut self, kind: ScopeKind, fact: Option<Fact>) {
        let depth = self.depth(self.current) + 1;
        self.scopes.push(Scope { parent: self.current, depth, kind, fact });
        self.current = self.scopes.len() - 1;
    }

    pub(super) fn leave(&mut self, scope: usize) {
        self.current = self.scopes.get(scope).map_or(0, |s| s.parent);
    }

    pub(super) fn last(&self) -> usize {
        self.scopes.len() - 1
    }

    pub(super) fn kind(&self, scope: usize) -> ScopeKind {
        self.scopes.get(scope).map_or(ScopeKind::Item, |s| s.kind)
    }

    pub(super) fn parent(&self, scope: usize) -> usize {
        self.scopes.get(scope).map_or(0, |s| s.parent)
    }

    /// How many scopes are around this one.
    pub(super) fn depth(&self, scope: usize) -> usize {
        self.scopes.get(scope).map_or(0, |s| s.depth)
    }

    pub(super) fn fact(&self, scope: usize) -> Option<&Fact> {
        self.scopes.get(scope)?.fact.as_ref()
    }

    /// What holds somewhere.
    pub(super) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.scopes.iter().filter_map(|s| s.fact.as_ref())
    }

    /// From here on, until the scope around is left, this holds.
    pub(super) fn assume(&mut self, fact: Fact) {
        self.push(self.kind(self.current), Some(fact));
    }

    /// From here on `p >= 0`.
    pub(super) fn assume_nonneg(&mut self, p: Poly) {
        self.assume(Fact { p, says: Says::NonNegative, of: Type::I64 });
    }

    /// From here on `p == 0`.
    pub(super) fn assume_zero(&mut self, p: Poly) {
        self.assume(Fact { p, says: Says::Zero, of: Type::I64 });
    }
}

/// What is decided in the end, with the facts of its scope.
pub(super) enum Obligation {
    /// `0 <= index < extent` of a subscript of an index or update node.
    Index { node: TId, update: Option<usize>, position: usize, index: Poly, extent: Poly, axis: usize, span: Span },
    /// `0 <= from <= to <= extent`.
    Slice { node: TId, update: Option<usize>, position: usize, from: Poly, to: Poly, extent: Poly, span: Span },
    /// A size is what is wanted; checked by the node where not proved.
    Size { node: TId, check: SizeCheck, code: Code },
    /// An extent is not too large, and that of an array (`array`) not negative.
    Extent { extent: Poly, array: bool, span: Span },
    /// The extents of two axes of one bare index.
    Agree { index: LocalId, span: Span, first: Poly, second: Poly },
}

impl Obligation {
    /// The sizes it is about.
    pub(super) fn sizes(&self) -> Vec<&Poly> {
        match self {
            Self::Index { index, extent, .. } => vec![index, extent],
            Self::Slice { from, to, extent, .. } => vec![from, to, extent],
            Self::Size { check, .. } => match &check.wanted {
                Demand::Equal(wanted) => vec![&check.found, wanted],
                Demand::Size => vec![&check.found],
            },
            Self::Extent { extent, .. } => vec![extent],
            Self::Agree { first, second, .. } => vec![first, second],
        }
    }
}

/// A type that leaves a scope.
pub(super) struct Exit {
    pub(super) ty: Type,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) kind: ScopeKind,
    pub(super) span: Span,
}

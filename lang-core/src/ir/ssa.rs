//! Tensor SSA, ATL Fig. 10: every right-hand side is one operation on whole tensors, over index variables with
//! canonical names. A statement defines an element for each tuple of its indices.
//!
//! The forms are the paper's in solved form: where it has an index and an equation that tells it,
//! `Σ j: [i == j] · X[j]`, here the index is gone, `X[i]`. So a contraction without bound indices and with one
//! factor is a *view*: it computes nothing, and whoever reads it reads through it ([`Builder::contract`]). No
//! tensor of zeros is kept: what is pinned by equations between its indices has fewer of them
//! ([`Builder::contract`] again, compact).
//!
//! Sums have any number of terms: the paper's binary ones, of which every partial sum would be a tensor.

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use super::builder::without_index;
pub use super::builder::{Builder, Seen, at_indices};
use super::core::{Callee, Constant, CoreType, Failing, Leaf, Operation, Vars};
use super::flat::{Input, Source};
use super::order::Order;
use super::reduce::Reduce;
use super::region::{Loop, Part};
use crate::base::Name;
use crate::predicate::{Atom, Context, Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;

/// The array of statement `k` is read in polynomials and predicates as the local of this number and `k`.
const FIRST_VAR: u32 = 1 << 24;

/// The `k`-th index of a statement is the local of this number and `k`: first those of the result, then bound ones.
pub(crate) const FIRST_INDEX: u32 = 1 << 28;

/// A statement by its position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

impl Var {
    /// The array, in polynomials and predicates.
    #[must_use]
    pub fn local(self) -> LocalId {
        LocalId(FIRST_VAR + self.0)
    }

    /// What it is called there.
    #[must_use]
    pub fn name(self) -> Name {
        format!("X{}", self.0).into()
    }

    /// The statement whose array that is.
    #[must_use]
    pub fn of_local(local: LocalId) -> Option<Self> {
        (FIRST_VAR..FIRST_INDEX).contains(&local.0).then(|| Self(local.0 - FIRST_VAR))
    }
}

/// The `k`-th index of a statement.
#[must_use]
pub fn index(k: usize, extent: &Poly) -> Index {
    let k = u32::try_from(k).unwrap_or(u32::MAX - FIRST_INDEX);
    Index { local: LocalId(FIRST_INDEX + k), name: format!("i{k}").into(), extent: extent.clone() }
}

/// Which index of a statement the local is.
#[must_use]
pub fn index_number(local: LocalId) -> Option<usize> {
    local.0.checked_sub(FIRST_INDEX).map(|k| k as usize)
}

/// In a path of statements, what is added to the number of a check.
pub const CHECK: u32 = 1 << 31;

/// `X[a, b]`: all axes of what is a scalar operation's operand, the first ones of a call's argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// The tensor.
    pub var: Var,
    /// The indices.
    pub at: Vec<Poly>,
}

/// `[p] · ± X[a]`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Addend {
    /// Is it subtracted?
    pub neg: bool,
    /// Where it is a term.
    pub pred: Pred,
    /// What is added.
    pub of: Access,
}

/// Of more predicates nobody asks whether two of them hold at once.
const MOST_EXCLUSIVE: usize = 8;

/// Does at most one of these hold anywhere, whatever the data? So the terms of a choice: `[p] · a + [!p] · b`.
#[must_use]
pub fn exclusive(all: &[&Pred]) -> bool {
    let apart = |p: &Pred, q: &Pred| {
        let both = p.and(q);
        both.is_false() || Context::default().refutes(&both)
    };
    let later = |k: usize| all.iter().skip(k + 1);
    all.len() <= MOST_EXCLUSIVE && all.iter().enumerate().all(|(k, p)| later(k).all(|q| apart(p, q)))
}

/// A right-hand side. Each element is the zero of its type where the predicate does not hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Rhs {
    /// A part of a parameter or of a top-level `let`.
    Input(u32),
    /// A constant, without indices.
    Constant(Constant),
    /// Zero everywhere.
    Zero,
    /// The value of an index expression, as `i64`.
    Index(Poly),
    /// `Σₖ [pₖ] · ± Xₖ[aₖ]`, left to right.
    Add(Vec<Addend>),
    /// `± Σ s: [p] · X₀[a₀] · X₁[a₁]`, with one factor or two.
    Contract {
        /// The extents of the bound indices.
        bound: Vec<Poly>,
        /// Which terms there are.
        pred: Pred,
        /// Is the sum negated?
        neg: bool,
        /// The factors.
        factors: Vec<Access>,
    },
    /// `[p] · max s if q: X[a]` and its kin.
    Reduce(Reduce),
    /// `[p] · argsort i: X[a]` along the last index.
    Order(Order),
    /// `[p] · f(X₀[a₀], …)`
    Map {
        /// What is applied.
        operation: Operation,
        /// Where.
        pred: Pred,
        /// To what.
        args: Vec<Access>,
    },
    /// A part of what a definition gives, called for every tuple of the first indices.
    Call {
        /// The definition.
        callee: Arc<Callee>,
        /// The sizes that are passed.
        sizes: Vec<Poly>,
        /// Where it is called.
        pred: Pred,
        /// Parts of the arguments.
        args: Vec<Access>,
        /// How many indices the calls have.
        batch: u32,
        /// Which part of the result.
        part: u32,
    },
    /// A part of a loop.
    Loop(Arc<Loop>, Part),
    /// A tensor with some of its elements replaced or added to, for every tuple of the first indices. Only they and
    /// the bound indices stand in it. No element is twice.
    Update {
        /// The tensor, at its first indices.
        base: Access,
        /// How many indices the statement has around it.
        batch: u32,
        /// The extents of the bound indices, which come after all of the statement.
        bound: Vec<Poly>,
        /// Where.
        pred: Pred,
        /// The element, over the axes of the tensor that are left.
        at: Vec<Poly>,
        /// What is put there.
        value: Access,
        /// Is it added?
        add: bool,
    },
}

/// `X[i…] = …`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    /// Extents.
    pub dims: Vec<Poly>,
    /// What it holds; a relation holds none.
    pub scalar: Option<Scalar>,
    /// What it is.
    pub rhs: Rhs,
    /// Checks without which its elements have no meaning.
    pub needs: Vec<u32>,
    /// A name of the program for it.
    pub name: Option<Name>,
}

/// What has to hold: for all indices for which `guard` holds, `cond` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Extents of the indices.
    pub dims: Vec<Poly>,
    /// Where it is asked.
    pub guard: Pred,
    /// What has to hold.
    pub cond: Pred,
    /// What fails otherwise.
    pub what: Arc<Failing>,
}

/// A function in Tensor SSA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ssa {
    /// The definition.
    pub callee: Arc<Callee>,
    /// Names of sizes and integer parameters.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// Integer parameters that indices are made of.
    pub bounded: BTreeSet<LocalId>,
    /// The types of the parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// Statements, each after those it reads.
    pub stmts: Vec<Stmt>,
    /// Checks.
    pub checks: Vec<Check>,
    /// Checks of the whole: assertions.
    pub needs: Vec<u32>,
    /// Is it to be called, however small it is? Its derivative is not that of its statements.
    pub opaque: bool,
    /// The parts of the result.
    pub outputs: Vec<(Leaf, Var)>,
    /// The type of the result.
    pub result: CoreType,
}

impl Ssa {
    /// The statement that is an input, by its position among the inputs.
    #[must_use]
    pub fn input(&self, k: u32) -> Option<Var> {
        let at = self.stmts.iter().position(|s| s.rhs == Rhs::Input(k))?;
        Some(Var(u32::try_from(at).ok()?))
    }
}

impl Ssa {
    /// What it calls, also in bodies of loops; one may come several times.
    pub fn for_each_callee(&self, f: &mut dyn FnMut(&Arc<Callee>)) {
        for stmt in &self.stmts {
            match &stmt.rhs {
                Rhs::Call { callee, .. } => f(callee),
                Rhs::Loop(of, _) => of.body.for_each_callee(f),
                _ => {}
            }
        }
    }

    /// The same as a region, which is given what it reads of top-level `let`s too.
    #[must_use]
    pub fn closed(mut self) -> Self {
        for (k, input) in (0..).zip(&mut self.inputs) {
            if !input.source.is_passed() {
                input.source = Source::Param(k);
            }
        }
        self
    }
}

impl Rhs {
    /// What it reads directly; not what its predicates and indices do.
    pub fn for_each_access(&self, f: &mut dyn FnMut(&Access)) {
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero | Self::Index(_) => {}
            Self::Add(items) => items.iter().for_each(|a| f(&a.of)),
            Self::Reduce(r) => f(&r.of),
            Self::Order(o) => f(&o.of),
            Self::Contract { factors: items, .. } | Self::Map { args: items, .. } | Self::Call { args: items, .. } => {
                items.iter().for_each(f);
            }
            Self::Loop(of, _) => of.args.iter().for_each(|a| f(a.access())),
            Self::Update { base, value, .. } => [base, value].into_iter().for_each(f),
        }
    }

    /// Its predicates.
    pub fn for_each_pred(&self, f: &mut dyn FnMut(&Pred)) {
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero | Self::Index(_) => {}
            Self::Add(items) => items.iter().for_each(|a| f(&a.pred)),
            Self::Reduce(r) => [&r.pred, &r.terms].into_iter().for_each(f),
            Self::Order(o) => f(&o.pred),
            Self::Contract { pred, .. } | Self::Map { pred, .. } | Self::Call { pred, .. } => f(pred),
            Self::Update { pred, .. } => f(pred),
            Self::Loop(of, _) => f(&of.pred),
        }
    }

    /// Every statement that it reads, also in predicates and indices, but not in its extents; one may come several times.
    pub fn for_each_operand(&self, f: &mut dyn FnMut(Var)) {
        self.for_each_access(&mut |a| f(a.var));
        self.for_each_pred(&mut |p| for_each_read(p, f));
        self.for_each_poly(&mut |p| reads(p, f));
    }

    /// Its polynomials, but for those in its predicates.
    pub fn for_each_poly(&self, f: &mut dyn FnMut(&Poly)) {
        self.for_each_access(&mut |a| a.at.iter().for_each(&mut *f));
        match self {
            Self::Index(p) => f(p),
            Self::Contract { bound, .. } => bound.iter().for_each(f),
            Self::Reduce(r) => r.bound.iter().chain([&r.place]).for_each(f),
            Self::Call { sizes, .. } => sizes.iter().for_each(f),
            Self::Loop(of, _) => of.for_each_poly(f),
            Self::Update { bound, at, .. } => bound.iter().chain(at).for_each(f),
            _ => {}
        }
    }

    /// With its accesses, polynomials and predicates replaced.
    #[must_use]
    pub fn map(
        &self,
        access: &mut dyn FnMut(&Access) -> Access,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> Self {
        let polys = |items: &[Poly]| items.iter().map(poly).collect();
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero => self.clone(),
            Self::Index(p) => Self::Index(poly(p)),
            Self::Add(items) => {
                Self::Add(items.iter().map(|a| Addend { neg: a.neg, pred: pred(&a.pred), of: access(&a.of) }).collect())
            }
            Self::Contract { bound, pred: p, neg, factors } => Self::Contract {
                bound: polys(bound),
                pred: pred(p),
                neg: *neg,
                factors: factors.iter().map(access).collect(),
            },
            Self::Map { operation, pred: p, args } => {
                Self::Map { operation: *operation, pred: pred(p), args: args.iter().map(access).collect() }
            }
            Self::Call { callee, sizes, pred: p, args, batch, part } => Self::Call {
                callee: callee.clone(),
                sizes: polys(sizes),
                pred: pred(p),
                args: args.iter().map(access).collect(),
                batch: *batch,
                part: *part,
            },
            Self::Reduce(r) => Self::Reduce(r.map(poly, pred, access)),
            Self::Order(o) => Self::Order(o.map(pred, access)),
            Self::Loop(of, part) => Self::Loop(Arc::new(of.map(access, poly, pred)), *part),
            Self::Update { base, batch, bound, pred: p, at, value, add } => Self::Update {
                base: access(base),
                batch: *batch,
                bound: polys(bound),
                pred: pred(p),
                at: polys(at),
                value: access(value),
                add: *add,
            },
        }
    }
}

/// Statements that a predicate and polynomials read as data.
pub fn for_each_read(pred: &Pred, f: &mut dyn FnMut(Var)) {
    let mut found = Vec::new();
    let mut opaque = Vec::new();
    pred.visit(&mut |p| reads(p, &mut |v| found.push(v)), &mut |x| opaque.extend(Var::of_local(x)));
    found.into_iter().chain(opaque).for_each(f);
}

/// Statements that a polynomial reads as data.
pub fn reads(p: &Poly, f: &mut dyn FnMut(Var)) {
    p.for_each_atom(&mut |a| {
        if let Atom::Read(x, ..) = a
            && let Some(v) = Var::of_local(*x)
        {
            f(v);
        }
    });
}

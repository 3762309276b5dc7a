//! **Tensor SSA**, ATL Fig. 10: every right-hand side is one operation on whole tensors, over index
//! variables with canonical names. A statement defines one element for each tuple of its indices.
//! `norm::to_ssa` builds it, `ad` differentiates it, and `lang_nest` lowers it to loop nests.
//!
//! The forms are the paper's in *solved form*. If an equation determines an index, as in `Σ j: [i
//! == j] · X[j]`, the index is eliminated: `X[i]`. So a contraction without bound indices and with
//! one factor is a *view*: it computes nothing, and its readers read through it
//! ([`SsaBuilder::contract`]). Padding with zeros is not stored: a tensor whose indices are pinned
//! by equations is computed with fewer indices, and a view reads it (again by
//! [`SsaBuilder::contract`]).
//!
//! Sums are n-ary. The paper's are binary, which would make every partial sum a tensor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::argsort::Argsort;
pub use super::builder::eliminate_index;
pub use super::builder::{Producer, ResolvedAccess, SsaBuilder, substitute_indices, without_axis};
use super::core::{CheckFailure, Constant, CoreType, FunctionKey, ScalarOp, TypeLeaf, Vars};
use super::flat::{FunctionInput, InputSource};
use super::reduce::SsaReduction;
use super::region::{LoopResult, SsaLoop};
use lang_base::Name;
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The first local that names an array: polynomials and predicates read the array of statement `k`
/// as local `FIRST_VAR_LOCAL + k`.
const FIRST_VAR_LOCAL: u32 = 1 << 24;

/// The first local that names an index: the `k`-th index of a statement is local
/// `FIRST_INDEX_LOCAL + k`. Indices of the result come first, then bound ones.
pub const FIRST_INDEX_LOCAL: u32 = 1 << 28;

/// A statement by its position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StmtId(pub u32);

impl StmtId {
    /// Returns the local that names its array in polynomials and predicates.
    #[must_use]
    pub fn local(self) -> LocalId {
        LocalId(FIRST_VAR_LOCAL + self.0)
    }

    /// Returns its name there.
    #[must_use]
    pub fn name(self) -> Name {
        format!("X{}", self.0).into()
    }

    /// Returns the statement whose array the local names.
    #[must_use]
    pub fn from_local(local: LocalId) -> Option<Self> {
        (FIRST_VAR_LOCAL..FIRST_INDEX_LOCAL).contains(&local.0).then(|| Self(local.0 - FIRST_VAR_LOCAL))
    }
}

/// Returns the `k`-th index of a statement.
#[must_use]
pub fn statement_index(k: usize, extent: &Poly) -> Index {
    let k = u32::try_from(k).unwrap_or(u32::MAX - FIRST_INDEX_LOCAL);
    Index { local: LocalId(FIRST_INDEX_LOCAL + k), name: format!("i{k}").into(), extent: extent.clone() }
}

/// Returns the number of the index that the local names.
#[must_use]
pub fn index_number(local: LocalId) -> Option<usize> {
    local.0.checked_sub(FIRST_INDEX_LOCAL).map(|k| k as usize)
}

/// The offset that marks the number of a check in a path of statements.
pub const CHECK_PATH_BIT: u32 = 1 << 31;

/// `X[a, b]`: all indices for an operand of a scalar operation, the first ones for an argument of a
/// call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorAccess {
    /// The tensor.
    pub var: StmtId,
    /// The indices.
    pub at: Vec<Poly>,
}

/// `[p] · ± X[a]`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Addend {
    /// Whether the term is subtracted.
    pub neg: bool,
    /// The domain of the term.
    pub pred: Pred,
    /// The operand.
    pub operand: TensorAccess,
}

/// The maximal number of predicates for which [`are_mutually_exclusive`] compares every pair.
const MAX_EXCLUSIVE_PREDICATES: usize = 8;

/// Whether at most one of the predicates holds at any index, for all data, as for the terms of a
/// choice: `[p] · a + [!p] · b`. Returns false for more than 8 predicates.
#[must_use]
pub fn are_mutually_exclusive(all: &[&Pred]) -> bool {
    let are_disjoint = |p: &Pred, q: &Pred| {
        let both = p.and(q);
        both.is_false() || FactContext::default().refutes(&both)
    };
    let later = |k: usize| all.iter().skip(k + 1);
    all.len() <= MAX_EXCLUSIVE_PREDICATES && all.iter().enumerate().all(|(k, p)| later(k).all(|q| are_disjoint(p, q)))
}

/// A right-hand side. Each element is the zero of its type where the predicate does not hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Rhs {
    /// A part of a parameter or of a top-level `let`, by position in [`SsaFunction::inputs`].
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
        /// The filter of the terms.
        pred: Pred,
        /// Whether the sum is negated.
        neg: bool,
        /// The factors.
        factors: Vec<TensorAccess>,
    },
    /// `[p] · max s if q: X[a]` and the other reductions.
    Reduce(SsaReduction),
    /// `[p] · argsort i: X[a]` along the last index.
    Argsort(Argsort),
    /// `[p] · f(X₀[a₀], …)`
    Map {
        /// The operation.
        operation: ScalarOp,
        /// The domain.
        pred: Pred,
        /// The operands.
        args: Vec<TensorAccess>,
    },
    /// A call for every tuple of the statement's indices, the *batch*. Its results are
    /// [`Rhs::CallResult`]s.
    Call {
        /// The callee.
        callee: Arc<FunctionKey>,
        /// The sizes that the call passes.
        sizes: Vec<Poly>,
        /// The tuples for which the call happens.
        pred: Pred,
        /// The arguments, each a part of a parameter.
        args: Vec<TensorAccess>,
    },
    /// This output of the call, after the batch.
    CallResult(StmtId, u32),
    /// A loop for every tuple of the statement's indices. Its results are [`Rhs::LoopResult`]s.
    Loop(Arc<SsaLoop>),
    /// A result of the loop.
    LoopResult(StmtId, LoopResult),
    /// A tensor with some of its elements replaced or added to, for every tuple of the first
    /// indices. Only these indices and the bound ones may occur in it. No element may be written
    /// twice.
    Update {
        /// The old tensor, at its first indices.
        base: TensorAccess,
        /// The number of first indices of the statement that range over separate updates.
        batch: u32,
        /// The extents of the bound indices, which follow all indices of the statement.
        bound: Vec<Poly>,
        /// The filter of the writes.
        pred: Pred,
        /// The written element, over the remaining axes of the tensor.
        at: Vec<Poly>,
        /// The new value.
        value: TensorAccess,
        /// Whether the value is added to the old one.
        accumulate: bool,
    },
}

/// `X[i…] = …`. A call or a loop has several results instead of elements: each is a statement of
/// its own that names its producer ([`Rhs::producer`]). Such a producer has the extents of its
/// batch and no scalar type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The extents, outermost first.
    pub dims: Vec<Poly>,
    /// The scalar type of the elements, `None` for a relation and for a producer of results.
    pub scalar: Option<Scalar>,
    /// The right-hand side.
    pub rhs: Rhs,
    /// Checks, by number, without which its elements have no meaning.
    pub needs: Vec<u32>,
    /// The program's name for it.
    pub name: Option<Name>,
}

/// Returns the checks that either of two statements needs, sorted and each once.
#[must_use]
pub fn union_of_checks(a: &[u32], b: &[u32]) -> Vec<u32> {
    a.iter().chain(b).copied().collect::<BTreeSet<u32>>().into_iter().collect()
}

/// A run-time check: `cond` must hold for all indices for which `guard` holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeCheck {
    /// Extents of the indices.
    pub dims: Vec<Poly>,
    /// The domain of the check.
    pub guard: Pred,
    /// The condition.
    pub cond: Pred,
    /// The failure to report otherwise.
    pub failure: Arc<CheckFailure>,
}

/// A function in Tensor SSA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SsaFunction {
    /// The definition and its type arguments.
    pub callee: Arc<FunctionKey>,
    /// The names of sizes and integer parameters.
    pub vars: Vars,
    /// The sizes that a call passes.
    pub sizes: Vec<LocalId>,
    /// Integer parameters that occur in index expressions.
    pub bounded: BTreeSet<LocalId>,
    /// The types of the parameters.
    pub params: Vec<(LocalId, CoreType)>,
    /// The tensor parts of the parameters and of top-level `let`s.
    pub inputs: Vec<FunctionInput>,
    /// Statements. In a finished function each follows those it reads. While a derivative is built,
    /// [`SsaBuilder::set_loop`] can break that order; dead-code elimination (`lang_opt::dce`)
    /// restores it where it can.
    pub stmts: Vec<Statement>,
    /// The checks, referred to by position.
    pub checks: Vec<RuntimeCheck>,
    /// Checks of the whole function: assertions.
    pub needs: Vec<u32>,
    /// Whether the function must stay a call, however small it is, because its derivative is a rule
    /// and not that of its statements.
    pub is_opaque: bool,
    /// The parts of the result.
    pub outputs: Vec<(TypeLeaf, StmtId)>,
    /// The type of the result.
    pub result: CoreType,
}

impl SsaFunction {
    /// Returns the statement of the input at this position.
    #[must_use]
    pub fn input_statement(&self, k: u32) -> Option<StmtId> {
        let at = self.stmts.iter().position(|s| s.rhs == Rhs::Input(k))?;
        Some(StmtId(u32::try_from(at).ok()?))
    }

    /// Returns the loop of a statement.
    #[must_use]
    pub fn loop_at(&self, producer: StmtId) -> Option<&Arc<SsaLoop>> {
        match &self.stmts.get(producer.0 as usize)?.rhs {
            Rhs::Loop(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the statements that name results, by producer.
    #[must_use]
    pub fn results_by_producer(&self) -> BTreeMap<StmtId, Vec<StmtId>> {
        let mut results: BTreeMap<StmtId, Vec<StmtId>> = BTreeMap::new();
        for (k, stmt) in (0..).zip(&self.stmts) {
            if let Some(producer) = stmt.rhs.producer() {
                results.entry(producer).or_default().push(StmtId(k));
            }
        }
        results
    }

    /// Returns the results of a loop that statements name, with these statements.
    pub fn loop_results(&self, producer: StmtId) -> impl Iterator<Item = (StmtId, LoopResult)> {
        (0..).zip(&self.stmts).filter_map(move |(k, stmt)| match stmt.rhs {
            Rhs::LoopResult(of, result) if of == producer => Some((StmtId(k), result)),
            _ => None,
        })
    }

    /// Visits the callees, including those in loop bodies. A callee may occur several times.
    pub fn for_each_callee(&self, f: &mut dyn FnMut(&Arc<FunctionKey>)) {
        for stmt in &self.stmts {
            match &stmt.rhs {
                Rhs::Call { callee, .. } => f(callee),
                Rhs::Loop(of) => of.body.for_each_callee(f),
                _ => {}
            }
        }
    }

    /// Returns the function as a region: top-level `let`s that it reads become inputs too.
    #[must_use]
    pub fn into_region(mut self) -> Self {
        for (k, input) in (0..).zip(&mut self.inputs) {
            if !input.source.is_passed() {
                input.source = InputSource::Param(k);
            }
        }
        self
    }
}

impl Rhs {
    /// Returns the call or the loop of which this is a result.
    #[must_use]
    pub fn producer(&self) -> Option<StmtId> {
        match self {
            Self::CallResult(of, _) | Self::LoopResult(of, _) => Some(*of),
            _ => None,
        }
    }

    /// Whether it has results instead of elements: a call or a loop.
    #[must_use]
    pub fn is_producer(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Loop(_))
    }

    /// Visits the accesses of the right-hand side, but not the reads in its predicates and indices.
    pub fn for_each_access(&self, f: &mut dyn FnMut(&TensorAccess)) {
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero | Self::Index(_) => {}
            Self::CallResult(..) | Self::LoopResult(..) => {}
            Self::Add(items) => items.iter().for_each(|a| f(&a.operand)),
            Self::Reduce(r) => f(&r.operand),
            Self::Argsort(o) => f(&o.keys),
            Self::Contract { factors: items, .. } | Self::Map { args: items, .. } | Self::Call { args: items, .. } => {
                items.iter().for_each(f);
            }
            Self::Loop(of) => of.args.iter().for_each(|a| f(a.access())),
            Self::Update { base, value, .. } => [base, value].into_iter().for_each(f),
        }
    }

    /// Visits its predicates.
    pub fn for_each_pred(&self, f: &mut dyn FnMut(&Pred)) {
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero | Self::Index(_) => {}
            Self::CallResult(..) | Self::LoopResult(..) => {}
            Self::Add(items) => items.iter().for_each(|a| f(&a.pred)),
            Self::Reduce(r) => [&r.pred, &r.filter].into_iter().for_each(f),
            Self::Argsort(o) => f(&o.pred),
            Self::Contract { pred, .. } | Self::Map { pred, .. } | Self::Call { pred, .. } => f(pred),
            Self::Update { pred, .. } => f(pred),
            Self::Loop(of) => f(&of.pred),
        }
    }

    /// Visits every statement that it reads, including its producer and reads in predicates and
    /// indices, but not those in its extents. A statement may occur several times.
    pub fn for_each_operand(&self, f: &mut dyn FnMut(StmtId)) {
        self.producer().into_iter().for_each(&mut *f);
        self.for_each_access(&mut |a| f(a.var));
        self.for_each_pred(&mut |p| for_each_pred_read(p, f));
        self.for_each_poly(&mut |p| for_each_poly_read(p, f));
    }

    /// Visits its polynomials, except those in its predicates.
    pub fn for_each_poly(&self, f: &mut dyn FnMut(&Poly)) {
        self.for_each_access(&mut |a| a.at.iter().for_each(&mut *f));
        match self {
            Self::Index(p) => f(p),
            Self::Contract { bound, .. } => bound.iter().for_each(f),
            Self::Reduce(r) => r.bound.iter().chain([&r.arg_value]).for_each(f),
            Self::Call { sizes, .. } => sizes.iter().for_each(f),
            Self::Loop(of) => of.for_each_poly(f),
            Self::Update { bound, at, .. } => bound.iter().chain(at).for_each(f),
            _ => {}
        }
    }

    /// Maps its accesses, polynomials and predicates. The producer of a result is mapped as an
    /// access without indices.
    #[must_use]
    pub fn map(
        &self,
        access: &mut dyn FnMut(&TensorAccess) -> TensorAccess,
        poly: &dyn Fn(&Poly) -> Poly,
        pred: &dyn Fn(&Pred) -> Pred,
    ) -> Self {
        let polys = |items: &[Poly]| items.iter().map(poly).collect();
        match self {
            Self::Input(_) | Self::Constant(_) | Self::Zero => self.clone(),
            Self::CallResult(of, k) => Self::CallResult(map_producer(*of, access), *k),
            Self::LoopResult(of, result) => Self::LoopResult(map_producer(*of, access), *result),
            Self::Index(p) => Self::Index(poly(p)),
            Self::Add(items) => Self::Add(
                items.iter().map(|a| Addend { neg: a.neg, pred: pred(&a.pred), operand: access(&a.operand) }).collect(),
            ),
            Self::Contract { bound, pred: p, neg, factors } => Self::Contract {
                bound: polys(bound),
                pred: pred(p),
                neg: *neg,
                factors: factors.iter().map(access).collect(),
            },
            Self::Map { operation, pred: p, args } => {
                Self::Map { operation: *operation, pred: pred(p), args: args.iter().map(access).collect() }
            }
            Self::Call { callee, sizes, pred: p, args } => Self::Call {
                callee: callee.clone(),
                sizes: polys(sizes),
                pred: pred(p),
                args: args.iter().map(access).collect(),
            },
            Self::Reduce(r) => Self::Reduce(r.map(poly, pred, access)),
            Self::Argsort(o) => Self::Argsort(o.map(pred, access)),
            Self::Loop(of) => Self::Loop(Arc::new(of.map(access, poly, pred))),
            Self::Update { base, batch, bound, pred: p, at, value, accumulate: add } => Self::Update {
                base: access(base),
                batch: *batch,
                bound: polys(bound),
                pred: pred(p),
                at: polys(at),
                value: access(value),
                accumulate: *add,
            },
        }
    }
}

fn map_producer(of: StmtId, access: &mut dyn FnMut(&TensorAccess) -> TensorAccess) -> StmtId {
    access(&TensorAccess { var: of, at: Vec::new() }).var
}

/// Visits the statements that a predicate and its polynomials read as data.
pub fn for_each_pred_read(pred: &Pred, f: &mut dyn FnMut(StmtId)) {
    let mut found = Vec::new();
    let mut opaque = Vec::new();
    pred.visit(&mut |p| for_each_poly_read(p, &mut |v| found.push(v)), &mut |x| opaque.extend(StmtId::from_local(x)));
    found.into_iter().chain(opaque).for_each(f);
}

/// Visits the statements that a polynomial reads as data.
pub fn for_each_poly_read(p: &Poly, f: &mut dyn FnMut(StmtId)) {
    p.for_each_atom(&mut |a| {
        if let Atom::Read(x, ..) = a
            && let Some(v) = StmtId::from_local(*x)
        {
            f(v);
        }
    });
}

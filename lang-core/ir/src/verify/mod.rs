//! **Verifier of Tensor SSA.** Checks the invariants that every pass may rely on and must keep, and
//! reports each violation with its rule and its place. Debug builds run it after each pass.
//!
//! - `scope`: a name is a size, an integer parameter, an index in scope or an earlier statement.
//! - `types`: the ranks, scalar types and extents of operands agree with the operation.
//! - `regions`: calls and loops agree with the functions that they run.
//! - `bounds`: the guard of an access implies that its indices are in range.
//!
//! The verifier computes nothing that a pass stores, so that it can contradict the pass.

mod bounds;
mod regions;
mod scope;
mod types;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::core::FunctionKey;
use crate::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess};
use lang_sizes::predicate::{FactContext, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// A resolver from a callee to its definition. `None` leaves the types of a call unchecked.
pub type CalleeLookup<'a> = &'a dyn Fn(&Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

/// The order of statements that a function must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementOrder {
    /// Each statement follows those that it reads.
    Dominance,
    /// A statement may read later ones, because passes append statements before the last one sorts
    /// them.
    Any,
}

/// An invariant of Tensor SSA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum VerifierRule {
    /// A statement reads only statements before it.
    Dominance,
    /// A polynomial or predicate mentions only sizes, integer parameters and indices in scope.
    Scope,
    /// An access has as many indices as its tensor has axes.
    Rank,
    /// The scalar types of the operands are those of the operation.
    ScalarType,
    /// The extents of a statement are those that its operands and its operation determine.
    Extent,
    /// An access is within the extents of its tensor wherever its guard holds.
    Bounds,
    /// A statement refers to existing checks, each once, in order.
    Checks,
    /// A loop agrees with its body.
    Loop,
    /// A call agrees with its callee.
    Call,
    /// Inputs and outputs agree with the types of the parameters and of the result.
    Interface,
}

impl VerifierRule {
    /// All rules.
    pub const ALL: [Self; 10] = [
        Self::Dominance,
        Self::Scope,
        Self::Rank,
        Self::ScalarType,
        Self::Extent,
        Self::Bounds,
        Self::Checks,
        Self::Loop,
        Self::Call,
        Self::Interface,
    ];
}

/// The place of a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViolationSite {
    /// A statement.
    Statement(StmtId),
    /// A check, by number.
    Check(u32),
    /// An output, by number.
    Output(u32),
    /// The function as a whole.
    Function,
}

/// A violated invariant.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The invariant.
    pub rule: VerifierRule,
    /// The place, in the function or in the body of one of its loops.
    pub site: ViolationSite,
    /// The contradiction in words.
    pub message: String,
    /// The nesting depth of the loop body that contains the place; 0 for the function itself.
    pub depth: u32,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.site {
            ViolationSite::Statement(var) => write!(f, "X{}", var.0)?,
            ViolationSite::Check(k) => write!(f, "check {k}")?,
            ViolationSite::Output(k) => write!(f, "output {k}")?,
            ViolationSite::Function => write!(f, "the function")?,
        }
        if self.depth > 0 {
            write!(f, " (in a loop body at depth {})", self.depth)?;
        }
        write!(f, ": {:?}: {}", self.rule, self.message)
    }
}

/// The result of the verifier.
#[derive(Default, Debug)]
pub struct Verification {
    /// The violated invariants.
    pub violations: Vec<Violation>,
    /// The bounds and extents that the prover cannot decide. Few correct functions have some.
    pub unproven: Vec<Violation>,
}

/// Verifies a function and the bodies of its loops.
#[must_use]
pub fn verify(ssa: &SsaFunction, order: StatementOrder, callees: CalleeLookup<'_>) -> Verification {
    let mut state = VerifierState::default();
    let sizes = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l)));
    let assumptions: Vec<Pred> = sizes.map(|n| Pred::nonneg(&n)).collect();
    let mut facts = FactContext::default();
    assumptions.iter().for_each(|p| facts.assume(p));
    let region = Region { depth: 0, facts, assumptions, is_closed: ssa.callee.local.is_none() };
    verify_function(ssa, callees, order, region, &mut state);
    Verification { violations: state.violations, unproven: state.unproven }
}

/// The violations, and the bodies that have been visited: loops may share one body.
#[derive(Default)]
struct VerifierState {
    violations: Vec<Violation>,
    unproven: Vec<Violation>,
    visited: HashSet<*const SsaFunction>,
}

/// The context of a function: the facts that hold wherever it runs.
struct Region {
    depth: u32,
    /// The facts about sizes.
    facts: FactContext,
    /// The same facts, one by one.
    assumptions: Vec<Pred>,
    /// Whether the facts are complete. A local function alone lacks those of its loop.
    is_closed: bool,
}

fn verify_function(
    ssa: &SsaFunction,
    callees: CalleeLookup<'_>,
    order: StatementOrder,
    region: Region,
    state: &mut VerifierState,
) {
    let mut verifier = FunctionVerifier {
        ssa,
        callees,
        region,
        names: scope::integer_names(ssa),
        site: ViolationSite::Function,
        state,
    };
    verifier.interface();
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        verifier.site = ViolationSite::Statement(StmtId(k));
        let position = if order == StatementOrder::Any { ssa.stmts.len() } else { k as usize };
        verifier.statement(position, stmt);
    }
    for (k, check) in (0..).zip(&ssa.checks) {
        verifier.site = ViolationSite::Check(k);
        verifier.check_scope(check);
    }
    verifier.outputs();
}

/// The verifier of one function.
struct FunctionVerifier<'a, 's> {
    ssa: &'a SsaFunction,
    callees: CalleeLookup<'a>,
    region: Region,
    /// The locals that are integers: sizes and integer parameters.
    names: HashSet<LocalId>,
    site: ViolationSite,
    state: &'s mut VerifierState,
}

impl<'a> FunctionVerifier<'a, '_> {
    /// Reports an invariant that the prover cannot decide.
    fn report_unproven(&mut self, rule: VerifierRule, message: String) {
        let violation = Violation { rule, site: self.site, message, depth: self.region.depth };
        self.state.unproven.push(violation);
    }

    fn report(&mut self, rule: VerifierRule, message: impl Into<String>) {
        let violation = Violation { rule, site: self.site, message: message.into(), depth: self.region.depth };
        self.state.violations.push(violation);
    }

    /// Reports a violation unless the condition holds.
    fn require(&mut self, holds: bool, rule: VerifierRule, message: impl FnOnce() -> String) {
        if !holds {
            self.report(rule, message());
        }
    }

    fn get(&self, var: StmtId) -> Option<&'a Statement> {
        self.ssa.stmts.get(var.0 as usize)
    }

    /// Returns whether two extents are equal, or the facts about sizes imply it. Extents that are
    /// data are not compared.
    fn extents_equal(&self, a: &Poly, b: &Poly) -> bool {
        a == b || bounds::reads_data(a) || bounds::reads_data(b) || {
            let both = a.sub(b);
            both.is_zero() || self.region.facts.implies(&Pred::zero(&both))
        }
    }

    fn statement(&mut self, position: usize, stmt: &Statement) {
        self.statement_scope(position, stmt);
        self.needs(&stmt.needs);
        if self.has_forward_reads(position, stmt) {
            return;
        }
        self.operation(stmt);
        if let Rhs::Loop(of) = &stmt.rhs
            && self.state.visited.insert(Arc::as_ptr(&of.body))
        {
            let region = self.body_region(of, &stmt.needs);
            verify_function(&of.body, self.callees, StatementOrder::Dominance, region, self.state);
        }
    }

    /// Reports reads of statements at or after `position`, the first that the statement must not
    /// read, and reads of calls and loops, which have no elements. The other rules assume that
    /// there are no reads of later statements. Returns whether there are some.
    fn has_forward_reads(&mut self, position: usize, stmt: &Statement) -> bool {
        let (mut forward, mut without_elements) = (Vec::new(), Vec::new());
        let producer = stmt.rhs.producer();
        let mut visit = |v: StmtId| {
            if v.0 as usize >= position {
                forward.push(v);
            }
            if Some(v) != producer && self.get(v).is_some_and(|s| s.rhs.is_producer()) {
                without_elements.push(v);
            }
        };
        stmt.rhs.for_each_operand(&mut visit);
        stmt.dims.iter().for_each(|n| crate::ssa::for_each_poly_read(n, &mut visit));
        for v in &forward {
            self.report(VerifierRule::Dominance, format!("reads X{}, which is not before it", v.0));
        }
        for v in without_elements {
            self.report(VerifierRule::Rank, format!("reads X{}, which has results instead of elements", v.0));
        }
        !forward.is_empty()
    }

    fn needs(&mut self, needs: &[u32]) {
        let count = self.ssa.checks.len();
        for k in needs {
            self.require((*k as usize) < count, VerifierRule::Checks, || format!("there is no check {k}"));
        }
        let sorted = needs.is_sorted_by(|a, b| a < b);
        self.require(sorted, VerifierRule::Checks, || format!("the checks {needs:?} are not sorted"));
    }

    /// Checks the inputs against the parameters, and that each has at most one statement.
    fn interface(&mut self) {
        let mut seen = HashSet::new();
        for stmt in &self.ssa.stmts {
            if let Rhs::Input(k) = stmt.rhs {
                self.require(seen.insert(k), VerifierRule::Interface, || format!("input {k} has two statements"));
            }
        }
        let mut sizes = HashSet::new();
        for local in &self.ssa.sizes {
            self.require(sizes.insert(*local), VerifierRule::Interface, || format!("size {} occurs twice", local.0));
        }
        let needs = &self.ssa.needs;
        let count = self.ssa.checks.len();
        for k in needs {
            self.require((*k as usize) < count, VerifierRule::Checks, || format!("there is no check {k}"));
        }
    }

    /// Checks the outputs against the type of the result.
    fn outputs(&mut self) {
        for (k, (leaf, var)) in (0..).zip(&self.ssa.outputs) {
            self.site = ViolationSite::Output(k);
            let Some(stmt) = self.get(*var) else {
                self.report(VerifierRule::Dominance, format!("there is no statement X{}", var.0));
                continue;
            };
            self.require(!stmt.rhs.is_producer(), VerifierRule::Interface, || {
                format!("is X{}, which has results instead of elements", var.0)
            });
            self.require(stmt.scalar == leaf.scalar, VerifierRule::Interface, || {
                format!("has the type {:?}, not {:?}", stmt.scalar, leaf.scalar)
            });
            self.same_extents(&stmt.dims, &leaf.dims, VerifierRule::Interface);
        }
        self.site = ViolationSite::Function;
    }

    /// Reports extents that differ in number or in value. If the facts about sizes do not decide,
    /// the extents are unproven, because callers may pass sizes that make them equal.
    fn same_extents(&mut self, actual: &[Poly], expected: &[Poly], rule: VerifierRule) {
        let message = || format!("has the extents {}, not {}", print(actual), print(expected));
        let pairs = || actual.iter().zip(expected).filter(|(a, b)| !self.extents_equal(a, b));
        let differ = |(a, b): (&Poly, &Poly)| self.region.facts.refutes(&Pred::equal(a, b));
        if actual.len() != expected.len() || pairs().any(differ) {
            self.report(rule, message());
        } else if pairs().next().is_some() {
            self.report_unproven(rule, message());
        }
    }

    /// Checks that an access has all indices of its tensor and this scalar type.
    fn element(&mut self, access: &TensorAccess, scalar: Option<Scalar>) {
        let Some(stmt) = self.get(access.var) else { return };
        self.require(access.at.len() == stmt.dims.len(), VerifierRule::Rank, || {
            format!("reads X{} with {} of {} indices", access.var.0, access.at.len(), stmt.dims.len())
        });
        self.require(stmt.scalar == scalar, VerifierRule::ScalarType, || {
            format!("reads X{} of type {:?} as {scalar:?}", access.var.0, stmt.scalar)
        });
    }
}

fn print(extents: &[Poly]) -> String {
    let all: Vec<String> = extents.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// Panics in debug builds if a pass leaves a function that violates an invariant. Unproven bounds
/// are not reported, because a correct function may have some.
///
/// # Panics
/// See above; the message names the pass, the violations and the function.
pub fn debug_assert_valid(pass: &str, ssa: &SsaFunction, order: StatementOrder, callees: CalleeLookup<'_>) {
    if cfg!(debug_assertions) {
        let violations = verify(ssa, order, callees).violations;
        let each: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(each.is_empty(), "{pass} left an invalid function:\n  {}\n{ssa}", each.join("\n  "));
    }
}

//! **Verifier of Tensor SSA.** Accepts the forms of all definitions in the library and of the
//! programs, with their derivatives and callees, and reports random mutations of them. A table
//! shows a violation of each rule.

#![expect(clippy::panic, reason = "a test helper may panic")]

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::{Expect, expect};
use iverson_tests::middle::collected_forms::with_all_forms;
use iverson_tests::middle::ssa_mutation::Mutation;
use iverson_tests::random::{Random, case_count, seed};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::verify::{StatementOrder, VerifierRule, verify};
use lang_reader::read_ssa;

/// The number of mutations.
const MUTATIONS: u64 = 10_000;

/// The definitions with bounds or extents that the prover cannot decide, with the reason.
const UNPROVEN: &[(&str, &str)] = &[
    ("linalg::kron", "nested divisions by products of sizes"),
    ("loops/branches.iv::relaxed", "a remainder whose divisor another remainder guards"),
    ("loops/carries.iv::smoothed", "a sum over the positions that a remainder takes"),
    ("loops/places.iv::run", "a conjunct of a disjunction bounds a position"),
    ("loops/segments.iv::greatest", "the position of an extremum in a range that data bound"),
    ("loops/segments.iv::solved", "a check for the iterations of a loop, used for all of them at once"),
    ("nn::conv1_strided", "a check for other indices than those of the sum"),
    ("nn::conv2_strided", "a check for other indices than those of the sum"),
    ("nn::max_pool2", "a remainder by a size that may be zero"),
    ("own/csr.iv::jacobi_step", "a check for the elements of a row, used for all rows at once"),
    ("own/csr.iv::matvec", "a check for the elements of a row, used for all rows at once"),
    ("signal::convolve_transposed", "the range of an index that data determine"),
    ("loops/library.iv::sorted_steps", "a captured sorting permutation"),
    ("loops/segments.iv::recurrences", "a maximum of data bounds each trip count"),
];

/// Kinds of mutations that can leave a valid function, with the reason.
const HARMLESS: &[(Mutation, &str)] = &[
    (
        Mutation::GuardDropped,
        "a guard that no access requires selects elements; without it the function is another one",
    ),
    (Mutation::ChecksDropped, "a check that no access requires reports a failure of the program"),
    (Mutation::OtherOperand, "a conversion takes operands of every type"),
    (Mutation::OtherExtent, "a statement with more elements than its readers read"),
    (Mutation::IndexTooLarge, "the guard or an extent allows no index"),
    (Mutation::IndexNegative, "the guard or an extent allows no index"),
    (Mutation::StatementRemoved, "the statements after it may have the types of those before"),
];

/// Compares the violations of a function with the expected ones. The text of each statement is a
/// line.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` creates an owned value")]
fn check(text: &str, expected: Expect) {
    let ssa = read_ssa("a.iv", text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let found = verify(&ssa, StatementOrder::Dominance, &|_| None);
    let each = found.violations.iter().map(|v| format!("{v}\n"));
    let unproven = found.unproven.iter().map(|v| format!("unproven: {v}\n"));
    expected.assert_eq(&each.chain(unproven).collect::<String>());
}

#[test]
fn accesses_stay_in_bounds() {
    // The guard covers the access of the neighbour.
    check(
        "ssa f[n](x: [n]f64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < n]: f64 = [i0 + 1 < n] * X0[i0 + 1]
  out X1
",
        expect![""],
    );
    // Without it, the last iteration reads beyond the end.
    check(
        "ssa f[n](x: [n]f64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < n]: f64 = X0[i0 + 1]
  out X1
",
        expect![[r#"
            unproven: X1: Bounds: the index i0 + 1 may be outside of [n] if true
        "#]],
    );
    // A check covers an access at a position that is data, if the statement needs it.
    check(
        "ssa f[n, m](k: [m]i64, x: [n]f64) -> ([m]f64, [m]f64) =
  check 0[i0 < m]: X0[i0] < n && 0 <= X0[i0], E0500 \"index out of bounds\"
  X0[i0 < m]: i64 = input k
  X1[i0 < n]: f64 = input x
  X2[i0 < m]: f64 = X1[X0[i0]]  needs 0
  X3[i0 < m]: f64 = X1[X0[m - i0 - 1]]
  out X2, X3
",
        expect![[r#"
            unproven: X3: Bounds: the index X0[m - i0 - 1] may be outside of [n] if true
        "#]],
    );
}

#[test]
fn types_and_extents_agree() {
    check(
        "ssa f[n](x: [n]f64, k: [n]i64) -> [n + 1]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < n]: i64 = input k
  X2[i0 < n]: f64 = X0[i0] + X1[i0]
  X3[i0 < n]: f64 = sin(X1[i0])
  X4[i0 < n]: f64 = max(X0[i0], X1[i0])
  out X2
",
        expect![[r#"
            X2: ScalarType: reads X1 of type Some(I64) as Some(F64)
            X3: ScalarType: Scalar(Sin) of [I64] has the type Some(F64)
            X4: ScalarType: Scalar(Max) of [F64, I64] has the type Some(F64)
            output 0: Interface: has the extents [n], not [n + 1]
        "#]],
    );
}

#[test]
fn loops_agree_with_their_bodies() {
    check(
        "ssa f[n](x: [n]f64) -> f64 =
  X0[i0 < n]: f64 = input x
  X1: f64 = 0.0
  X2 = loop j0 < n {
    Y0: f64 = given X0[j0]
    Y1: f64 = carried X1 then Y3
    Y2[i0 < 2]: f64 = Y0
    Y3: f64 = Y1 + Y2[2]
  }
  X3: f64 = X2.last Y1
  out X3
",
        expect![[r#"
            unproven: X3 (in a loop body at depth 1): Bounds: the index 2 may be outside of [2] if true
        "#]],
    );
}

#[test]
fn all_forms_are_valid() {
    with_all_forms(|forms, all| {
        let mut faults = Vec::new();
        for (name, ssa) in &all.ssa {
            let found = verify(ssa, StatementOrder::Dominance, &|callee| forms.module.ssa(callee));
            let def = format!("{:?}", ssa.callee.def);
            let unproven = if UNPROVEN.iter().any(|(name, _)| *name == def) { &[][..] } else { &found.unproven };
            let each: Vec<String> = found.violations.iter().chain(unproven).map(ToString::to_string).collect();
            if !each.is_empty() {
                faults.push(format!("{name}\n  {}\n{ssa}", each.join("\n  ")));
            }
        }
        println!("{} forms", all.ssa.len());
        let some: Vec<&str> = faults.iter().take(60).map(String::as_str).collect();
        assert!(faults.is_empty(), "{} of {} forms are invalid:\n{}", faults.len(), all.ssa.len(), some.join("\n"));
    });
}

#[test]
fn mutations_are_reported() {
    with_all_forms(|forms, all| {
        // A local function alone lacks the facts of its loop, so only its loop is changed.
        let is_closed = |ssa: &&Arc<SsaFunction>| !ssa.stmts.is_empty() && ssa.callee.local.is_none();
        let functions: Vec<&Arc<SsaFunction>> = all.ssa.values().filter(is_closed).collect();
        let mut random = Random::new(seed());
        let mut counts: BTreeMap<Mutation, [u64; 2]> = BTreeMap::new();
        let mut rules: BTreeMap<VerifierRule, u64> = BTreeMap::new();
        let mut missed: BTreeMap<Mutation, String> = BTreeMap::new();
        let (mut mutants, wanted) = (0, case_count(MUTATIONS));
        while mutants < wanted {
            let Some(ssa) = random.pick(&functions) else { break };
            let mutation = random.pick_or(&Mutation::ALL, Mutation::ForwardRead);
            let position = random.number_below(ssa.stmts.len());
            let Some(mutant) = mutation.apply(ssa, position, &mut random) else { continue };
            mutants += 1;
            let callees = |callee: &_| forms.module.ssa(callee);
            let found = verify(&mutant, StatementOrder::Dominance, &callees);
            let is_reported = !found.violations.is_empty()
                || found.unproven.len() > verify(ssa, StatementOrder::Dominance, &callees).unproven.len();
            let count = counts.entry(mutation).or_default();
            count[usize::from(is_reported)] += 1;
            found.violations.iter().for_each(|v| *rules.entry(v.rule).or_default() += 1);
            if !is_reported {
                missed.entry(mutation).or_insert_with(|| format!("X{position} in\n{ssa}"));
            }
        }
        for (mutation, [missed, reported]) in &counts {
            println!("{mutation:?}: {reported} of {} reported", missed + reported);
        }
        println!("by rule: {rules:?}");
        let reported: u64 = counts.values().map(|c| c[1]).sum();
        let unexplained: Vec<String> = missed
            .into_iter()
            .filter(|(mutation, _)| !HARMLESS.iter().any(|(m, _)| m == mutation))
            .map(|(mutation, place)| format!("{mutation:?} is not reported: {place}"))
            .collect();
        assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
        if wanted >= MUTATIONS {
            assert!(reported * 100 >= mutants * 95, "{reported} of {mutants} mutations are reported");
            assert!(Mutation::ALL.iter().all(|m| counts.contains_key(m)), "some kinds did not occur: {counts:?}");
            let reached = |r: &&VerifierRule| rules.contains_key(r) || **r == VerifierRule::Bounds;
            let silent: Vec<&VerifierRule> = VerifierRule::ALL.iter().filter(|r| !reached(r)).collect();
            assert!(silent.is_empty(), "rules that no mutation violates: {silent:?}");
        }
    });
}

//! **Property test of the checker.** Well-typed drawn programs must obey the laws. `IVERSON_SEED`
//! and `IVERSON_COUNT` select other runs, and `IVERSON_FIRST` with a count of 1 runs one program
//! alone.

use iverson_tests::{random, run, typed};

/// A number for slow machines; the soak test draws more.
const PROGRAMS: u64 = 500;

#[test]
fn laws_of_well_typed_programs_hold() {
    let report = typed::soak(random::seed(), random::first_case(), random::case_count(PROGRAMS));
    println!("{}{:?}", report.hits, report.did);
    assert!(report.broken == 0, "{} broke a law:\n{}", report.broken, report.failures.join("\n\n"));
    if report.programs >= PROGRAMS {
        assert_eq!(report.hits.missing(), Vec::<&str>::new());
        let derivatives = report.did.derivatives;
        assert!(derivatives.first > 0 && derivatives.second > 0 && derivatives.failing > 0, "{derivatives:?}");
        // Most items have values, and the laws of inferred types have cases.
        let did = report.did;
        assert!(did.values > report.programs && did.values > did.failures, "{did:?}");
        assert!(did.annotated > report.programs && did.inferred > 0, "{did:?}");
    }
}

/// Drawn programs that the checker wrongly rejected in the past.
#[test]
fn once_refused() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(run::program_output(text, &[]), expected);
    }
    // An integer literal under another name is a size and an index.
    check("def f() -> f64 = let k = 2 let x: [k]f64 = for i < k: 1.5 in sum i: x[i]\ndo f()\n", "3.0\n");
    check(
        "def f(p: bool) -> [?k]i64 = let k = if p then 1 else 2 let x: [k]i64 = for i: i in x\ndo f(false)\n",
        "[0, 1]\n",
    );
    // Another name for a bare index is not that index.
    check(
        "def f(x: [n]f64, y: [m]f64) -> [n]f64 = for i: (let j = i in [j < m] * y[j]) + x[i]\ndo f([1, 2], [3])\n",
        "[4.0, 2.0]\n",
    );
    // A literal has a type before an operator that depends on it is checked.
    check("def f(x: f64) -> f64 = deriv(1.0, x)\n", "");
    check("def f(x: f64) -> f64 = hessian(\\z: 1.0)(x)\n", "");
    // A scalar fills a row whose type follows only from the context.
    check("do scatter([[1.0, 2.0]], [0], ([[3.0, 4.0]]) with [0] = 5.0)\n", "[[5.0, 5.0]]\n");
    // A literal that became a real proves nothing about integers.
    check(
        "def f(p: bool, x: [n]f64) -> f64 = let v = if p then 1 else 2 let w = v / 4 in if 0 < w && w < 1 then x[9] else 0\ndo f(true, for i < 10: f64(i))\n",
        "9.0\n",
    );
    // After a size check a value has the declared sizes.
    check(
        "def f(y: [n]f64) -> f64 = let v: [2]f64 = y let k = 2 * n - 1 in [0 <= k < 2] * v[k]\ndo f([1, 2])\n",
        "0.0\n",
    );
    // An extent that is opened under a new name is the extent of the value.
    check("do let v: [?k]f64 = filter(\\x: x > 1, [1.0, 2.0, 3.0]) in sum i: v[i] * (for j < k: 2.0)[i]\n", "10.0\n");
}

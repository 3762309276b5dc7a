//! Tests of certificates: a table of claims, random claims compared with values, and proofs with
//! deliberate errors.

use std::fmt::Write;

use expect_test::expect;

use super::proof::Proof;
use super::{CertificateVerdict, CostCertificate, CostQuestion, SizeAssignment, certify, check, claim};
use crate::count::{Formula, FormulaPiece, Ratio};
use crate::predicate::testing::{facts, poly};
use crate::predicate::{Poly, Pred};

mod random_questions;
mod tampering;

/// The owned parts of a [`CostQuestion`].
#[derive(Debug)]
pub(super) struct OwnedQuestion {
    pub(super) known: Vec<Poly>,
    pub(super) bounds: Vec<Formula>,
    pub(super) primal: Formula,
    pub(super) derived: Formula,
    pub(super) io: Formula,
    pub(super) extra: Formula,
}

impl OwnedQuestion {
    pub(super) fn question(&self) -> CostQuestion<'_> {
        let Self { known, bounds, primal, derived, io, extra } = self;
        CostQuestion { assumptions: known, bounds, primal, derived, io, extra }
    }
}

/// Parses a formula such as `[n >= 1, m >= 1] n * m - n; n * (n - 1) : 2`: pieces with guards and
/// denominators.
fn formula(text: &str) -> Formula {
    let piece = |text: &str| {
        let (guard, value) = match text.trim().strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap(),
            None => ("", text),
        };
        let (over, under) = value.split_once(':').unwrap_or((value, "1"));
        let ratio = Ratio::new(poly(over), under.trim().parse().unwrap());
        let pred = Pred::all(facts(guard).iter().map(|(p, zero)| if *zero { Pred::zero(p) } else { Pred::nonneg(p) }));
        FormulaPiece { pred, value: ratio }
    };
    Formula::from_pieces(text.split(';').filter(|t| !t.trim().is_empty()).map(piece))
}

/// Parses known polynomials; after a bar, formulas that bound a symbol from above.
fn parse_question(known: &str, [primal, derived, io, extra]: [&str; 4]) -> OwnedQuestion {
    let (known, bounds) = known.split_once('|').unwrap_or((known, ""));
    let known = facts(known).into_iter().map(|(p, _)| p).collect();
    let bound = |text: &str| {
        let (symbol, most) = text.split_once("up to").unwrap();
        formula(most).add(&poly(symbol).neg().into())
    };
    let bounds = bounds.split(',').filter(|t| !t.trim().is_empty()).map(bound).collect();
    let [primal, derived, io, extra] = [primal, derived, io, extra].map(formula);
    OwnedQuestion { known, bounds, primal, derived, io, extra }
}

/// Returns the number of nodes of a proof.
pub(super) fn nodes(proof: &Proof) -> usize {
    match proof {
        Proof::Split(_, sides) => 1 + sides.iter().map(nodes).sum::<usize>(),
        Proof::Decide(_, rest) => 1 + nodes(rest),
        Proof::Sum(_) | Proof::Contradiction(_) => 1,
    }
}

fn size_text(sizes: &SizeAssignment) -> String {
    sizes.iter().map(|(a, n)| format!("{a} = {n}")).collect::<Vec<_>>().join(", ")
}

fn certificate_text(certificate: &CostCertificate) -> String {
    match &certificate.verdict {
        CertificateVerdict::Proved { factor, proof, tight_sizes: tight } => {
            let least = tight.as_ref().map_or(String::new(), |sizes| format!(", least at {}", size_text(sizes)));
            format!("proved {factor}{least}; {} nodes", nodes(proof))
        }
        CertificateVerdict::Checked { factor, grid, .. } => {
            format!("checked {factor}: 0 to {}, {} points", grid.max_size, grid.points)
        }
        CertificateVerdict::Refuted { witness, term } => {
            let mut text = format!("refuted by {term}:");
            for w in witness {
                write!(text, " {} against {} at {};", w.derived, w.primal, size_text(&w.sizes)).unwrap();
            }
            text
        }
        CertificateVerdict::Unknown(why) => format!("{why:?}"),
    }
}

fn verdict_table(rows: &[(&str, [&str; 4])]) -> String {
    let row = |(known, formulas): &(&str, [&str; 4])| {
        let owned_question = parse_question(known, *formulas);
        let certificate = certify(&owned_question.question());
        let known = matches!(certificate.verdict, CertificateVerdict::Unknown(_));
        assert!(known || certificate.check(&owned_question.question()), "{formulas:?}: {certificate:#?}");
        format!("{}\n  {}\n", formulas[1], certificate_text(&certificate))
    };
    rows.iter().map(row).collect()
}

#[test]
fn polynomials() {
    let out = verdict_table(&[
        // `known`, then the primal, derived, io and extra formulas.
        ("n >= 0", ["n", "3 * n", "n + 1", ""]),
        (
            "n >= 0, m >= 0",
            ["[m >= 1] 2 * n * m - n", "[n >= 1, m >= 1] 4 * n * m - n - 2 * m + 1", "n * m + n + m", ""],
        ),
        ("n >= 0, m >= 0", ["[m >= 1] 2 * n * m - n", "[n >= 1, m >= 1] 4 * n * m - n - 2 * m + 1", "", ""]),
        ("n >= 0, m >= 0, k >= 0", ["[k >= 1] 2 * n * m * k - n * m", "6 * n * m * k", "n * m + m * k + n * k", ""]),
        ("n >= 0", ["n * (n - 1) : 2", "3 * n * (n - 1) : 2", "n^2", ""]),
        ("n >= 0", ["n * (n - 1) : 2", "n^2 - n", "", ""]),
        ("n >= 0", ["n * (n - 1) * (n - 2) : 6", "n * (n - 1) * (n - 2)", "n^2", ""]),
        ("n >= 0", ["n^3 + 2 * n - 3 * n^2 : 6", "5 * n * (n + 1) : 2", "n", ""]),
        ("n >= 0", ["n^2", "2 * n", "", ""]),
        ("n >= 0", ["n^2 - n + 1", "n^2 + 3 * n", "", ""]),
        ("a >= 0, b >= 0", ["a + a * b^2", "2 * a * b", "", ""]),
        ("n >= 0, m >= 0", ["n^2 + m^2", "2 * n * m", "", ""]),
        ("n >= 0", ["", "", "n", ""]),
        ("", ["3", "7", "2", ""]),
    ]);
    expect![[r#"
        3 * n
          proved 2, least at n = 1; 1 nodes
        [n >= 1, m >= 1] 4 * n * m - n - 2 * m + 1
          proved 2, least at n = 1, m = 1; 9 nodes
        [n >= 1, m >= 1] 4 * n * m - n - 2 * m + 1
          proved 3, least at n = 2, m = 1; 9 nodes
        6 * n * m * k
          proved 4, least at n = 3, m = 7, k = 1; 5 nodes
        3 * n * (n - 1) : 2
          proved 2, least at n = 2; 1 nodes
        n^2 - n
          proved 2, least at n = 2; 1 nodes
        n * (n - 1) * (n - 2)
          proved 6, least at n = 27; 1 nodes
        5 * n * (n + 1) : 2
          proved 9, least at n = 2; 7 nodes
        2 * n
          proved 2, least at n = 1; 3 nodes
        n^2 + 3 * n
          proved 4, least at n = 1; 5 nodes
        2 * a * b
          proved 1, least at a = 1, b = 1; 3 nodes
        2 * n * m
          proved 1, least at n = 1, m = 1; 3 nodes

          proved 1, least at n = 1; 1 nodes
        7
          proved 2, least at ; 1 nodes
    "#]]
    .assert_eq(&out);
}

#[test]
fn pieces() {
    let out = verdict_table(&[
        ("n >= 0", ["[n >= 1] n - 1", "[n >= 1] 2 * n - 1", "1", ""]),
        ("n >= 0", ["[n >= 3] n^2 - 2 * n; [n <= 2] n", "[n >= 2] 3 * n^2 - 4; [n < 2] n", "n", ""]),
        ("n >= 0, m >= 0", ["[n <= m] n; [m < n] m", "[n < m] 3 * n; [m <= n] 2 * m", "", ""]),
        (
            "n >= 0, m >= 0",
            ["[n <= m] n * m - n; [m < n] m * n - m", "[n >= 1, m >= 1] 2 * n * m - n - m + 2", "n + m", ""],
        ),
        ("n >= 0, m >= 0", ["[n == m] n^2; [n < m] n; [n > m] m", "[n <= m] n; [n > m] m", "", ""]),
        ("n >= 0", ["[n > 0] 3 * n - 2", "[n <= 1] n^2 + n : 2; [n > 1] 6 * n - 3", "", ""]),
        ("n >= 2, m >= n", ["m - n + 1", "m - 1", "n", ""]),
    ]);
    expect![[r#"
        [n >= 1] 2 * n - 1
          proved 2, least at n = 1; 5 nodes
        [n >= 2] 3 * n^2 - 4; [n < 2] n
          proved 5, least at n = 3; 17 nodes
        [n < m] 3 * n; [m <= n] 2 * m
          proved 3, least at n = 1, m = 2; 17 nodes
        [n >= 1, m >= 1] 2 * n * m - n - m + 2
          proved 2, least at n = 1, m = 1; 23 nodes
        [n <= m] n; [n > m] m
          proved 1, least at n = 1, m = 1; 17 nodes
        [n <= 1] n^2 + n : 2; [n > 1] 6 * n - 3
          proved 3, least at n = 2; 12 nodes
        m - 1
          proved 2, least at n = 3, m = 3; 1 nodes
    "#]]
    .assert_eq(&out);
}

#[test]
fn programs() {
    let out = verdict_table(&[
        // A matrix product, a convolution, a triangular solve and a Cholesky factorisation.
        (
            "n >= 0, m >= 0, k >= 0",
            [
                "[k >= 1] 2 * n * m * k - n * m",
                "[k >= 1] 2 * n * m * k - n * m; [n >= 1] 2 * n * m * k - k * m; [m >= 1] 2 * n * m * k - n * k",
                "2 * n * m + 2 * m * k + 2 * n * k",
                "",
            ],
        ),
        (
            "n >= 0, k >= 0",
            [
                "[1 <= k <= n] (n - k + 1) * (2 * k - 1)",
                "[1 <= k <= n] (n - k + 1) * (2 * k - 1) + k * (2 * n - 2 * k + 1) + 2 * k * (n - k + 1) - n",
                "n + k",
                "",
            ],
        ),
        ("n >= 0", ["n^2", "[n >= 1] 5 * n * (n - 1) : 2; 3 * n; n * (n - 1)", "n * (n + 1) : 2; 4 * n", ""]),
        (
            "n >= 0",
            [
                "n^3 - n : 3; n * (n + 1) : 2",
                "2 * n^3 - 2 * n : 3; n^2; [n >= 2] n * (n - 1) * (n - 2) : 6",
                "n^2 + n",
                "",
            ],
        ),
        // Attention, and a Gaussian mixture.
        (
            "n >= 0, m >= 0, d >= 0, e >= 0",
            [
                "[d >= 1] 2 * n * m * d - n * m; [m >= 1] 2 * n * m - 2 * n; 3 * n * m; [m >= 1] 2 * n * m * e - n * e; n * m",
                "[d >= 1] 4 * n * m * d; [n >= 1, m >= 1] 8 * n * m - n; [m >= 1] 4 * n * m * e - 2 * n * e - m * e; [d >= 1, n >= 1] 2 * n * m * d - m * d; 7 * n * m",
                "n * d + m * d + m * e + n * e",
                "",
            ],
        ),
        (
            "n >= 1, k >= 1, d >= 1",
            [
                "n * k * (d * (d - 1) + 4 * d + 5) + n * (3 * k - 1); k * d * (d - 1) : 2",
                "3 * n * k * d * (d - 1) + 13 * n * k * d + 21 * n * k; [d >= 2] 2 * k * d * (d - 1) - k; 6 * k * d",
                "n * d; k * d * (d - 1) : 2; k * d * 2; k",
                "",
            ],
        ),
        // The edges of a graph, and a loop.
        ("n >= 0, e >= 0, 0 <= p <= e", ["3 * p; [p >= 1] p - 1", "7 * p + n; [e >= 1] 2 * p", "n + e", ""]),
        (
            "n >= 0, trips >= 0",
            ["trips * (2 * n^2 + n)", "6 * trips * n^2 + 5 * trips * n; [trips >= 1] n", "n^2 + n", "trips * n"],
        ),
    ]);
    expect![[r#"
        [k >= 1] 2 * n * m * k - n * m; [n >= 1] 2 * n * m * k - k * m; [m >= 1] 2 * n * m * k - n * k
          proved 3, least at n = 3, m = 4, k = 5; 29 nodes
        [1 <= k <= n] (n - k + 1) * (2 * k - 1) + k * (2 * n - 2 * k + 1) + 2 * k * (n - k + 1) - n
          proved 3, least at n = 3, k = 1; 9 nodes
        [n >= 1] 5 * n * (n - 1) : 2; 3 * n; n * (n - 1)
          proved 3, least at n = 6; 5 nodes
        2 * n^3 - 2 * n : 3; n^2; [n >= 2] n * (n - 1) * (n - 2) : 6
          proved 3, least at n = 11; 5 nodes
        [d >= 1] 4 * n * m * d; [n >= 1, m >= 1] 8 * n * m - n; [m >= 1] 4 * n * m * e - 2 * n * e - m * e; [d >= 1, n >= 1] 2 * n * m * d - m * d; 7 * n * m
          proved 4, least at n = 1, m = 1, d = 0, e = 0; 29 nodes
        3 * n * k * d * (d - 1) + 13 * n * k * d + 21 * n * k; [d >= 2] 2 * k * d * (d - 1) - k; 6 * k * d
          proved 4, least at n = 4, k = 6, d = 5; 5 nodes
        7 * p + n; [e >= 1] 2 * p
          proved 3, least at n = 0, e = 1, p = 1; 12 nodes
        6 * trips * n^2 + 5 * trips * n; [trips >= 1] n
          proved 3, least at n = 1, trips = 1; 5 nodes
    "#]].assert_eq(&out);
}

#[test]
fn symbols() {
    let out = verdict_table(&[
        ("n >= 0, 0 <= s <= n", ["n", "n + 2 * s", "", ""]),
        ("n >= 0, m >= 0, 0 <= s <= n * m", ["n * m + s", "2 * n * m + 3 * s", "n", ""]),
        ("n >= 0, m >= 0, 0 <= s <= n, 0 <= t <= m", ["n * m", "n * m + 2 * s * t + s * m", "", ""]),
        ("n >= 0, 0 <= s <= n", ["n^2", "n^2 + n - s", "s", ""]),
        ("n >= 0, 0 <= s <= n, 0 <= t <= n", ["n^2", "(n - s) * (n - t) + s * t", "", ""]),
        ("n >= 0, trips >= 0", ["trips * n", "3 * trips * n", "n", "trips * n"]),
        ("n >= 0, 0 <= s <= n", ["[s >= 1] n + s - 1", "[s >= 1] 2 * n + 3 * s - 4", "s", ""]),
    ]);
    expect![[r#"
        n + 2 * s
          proved 3, least at n = 1, s = 1; 1 nodes
        2 * n * m + 3 * s
          proved 3, least at n = 1, m = 2, s = 2; 1 nodes
        n * m + 2 * s * t + s * m
          proved 4, least at n = 1, m = 1, s = 1, t = 1; 1 nodes
        n^2 + n - s
          proved 2, least at n = 1, s = 0; 3 nodes
        (n - s) * (n - t) + s * t
          proved 1, least at n = 1, s = 0, t = 0; 1 nodes
        3 * trips * n
          proved 2, least at n = 1, trips = 1; 1 nodes
        [s >= 1] 2 * n + 3 * s - 4
          proved 2, least at n = 2, s = 1; 5 nodes
    "#]]
    .assert_eq(&out);
}

#[test]
fn bounded_by_formulas() {
    let out = verdict_table(&[
        ("n >= 0, s >= 0 | s up to n * (n - 1) : 2", ["n^2", "n^2 + 2 * s", "", ""]),
        ("n >= 0, m >= 0, s >= 0 | s up to [m >= 1] n * m - n", ["n * m", "n * m + s", "", ""]),
        ("n >= 0, m >= 0, s >= 0 | s up to [m >= 1] n * m - n", ["[m >= 1] n * m - n + 1", "2 * s", "", ""]),
        ("n >= 0, s >= 0 | s up to [n >= 3] n; [n < 3] 0 * n", ["[n >= 3] 2 * n", "[n >= 3] 3 * s; [n < 3] s", "", ""]),
        ("n >= 0, s >= 0 | s up to [n >= 3] n^2", ["n", "s + n", "", ""]),
        ("n >= 0, s >= 0, t >= 0 | s up to n, t up to [n >= 1] n * (n + 1) : 2", ["n^2", "s * n + t", "", ""]),
    ]);
    expect![[r#"
        n^2 + 2 * s
          proved 2, least at n = 2, s = 1; 1 nodes
        n * m + s
          proved 2, least at n = 1, m = 2, s = 1; 5 nodes
        2 * s
          proved 2, least at n = 1, m = 3, s = 2; 5 nodes
        [n >= 3] 3 * s; [n < 3] s
          proved 2, least at n = 3, s = 3; 7 nodes
        s + n
          refuted by s: 72 against 8 at n = 8, s = 64; 4160 against 64 at n = 64, s = 4096; 262656 against 512 at n = 512, s = 262144;
        s * n + t
          proved 2, least at n = 1, s = 1, t = 1; 5 nodes
    "#]].assert_eq(&out);
}

#[test]
fn made_of_others() {
    let out = verdict_table(&[
        ("n >= 0", ["n", "2 * (n // 2)", "", ""]),
        ("n >= 0", ["n // 2", "n", "1", ""]),
        ("n >= 0", ["n // 2", "(n + 1) // 2", "n", ""]),
        ("n >= 0", ["n", "n - n % 3", "1", ""]),
        ("n >= 0", ["n + n % 3", "3 * n - 6 * (n // 3)", "1", ""]),
        ("n >= 0, m >= 0", ["n + m", "2 * max(n, m)", "", ""]),
        ("n >= 0, m >= 0", ["max(n, m)", "min(n, m) + n", "", ""]),
        ("n >= 0, m >= 0", ["n * m", "min(n, m)^2", "", ""]),
        ("n >= 0", ["max(n, 3)", "n + 1", "", ""]),
        ("n >= 0", ["max(n - 1, 0)", "4 * max(n - 1, 0) + n", "n", ""]),
    ]);
    expect![[r#"
        2 * (n // 2)
          proved 1, least at n = 2; 3 nodes
        n
          proved 2, least at n = 1; 3 nodes
        (n + 1) // 2
          proved 2, least at n = 1; 13 nodes
        n - n % 3
          proved 1, least at n = 0; 1 nodes
        3 * n - 6 * (n // 3)
          proved 2, least at n = 1; 3 nodes
        2 * max(n, m)
          proved 2, least at n = 0, m = 1; 3 nodes
        min(n, m) + n
          proved 2, least at n = 1, m = 1; 3 nodes
        min(n, m)^2
          proved 1, least at n = 1, m = 1; 3 nodes
        n + 1
          proved 2, least at n = 3; 3 nodes
        4 * max(n - 1, 0) + n
          proved 3, least at n = 2; 3 nodes
    "#]]
    .assert_eq(&out);
}

#[test]
fn refuted() {
    let out = verdict_table(&[
        ("n >= 0, m >= 0, k >= 0", ["n * m + m * k", "2 * n * m + n * m * k - n", "n + m + k", ""]),
        ("n >= 0", ["n * (n - 1) : 2", "[n >= 2] n^3 - n : 6; [n < 2] 0 * n", "n", ""]),
        ("n >= 0, m >= 0", ["n^3 + m", "n^2 * m", "n + 1", ""]),
        ("n >= 0", ["[n >= 2] n - 1", "n", "", ""]),
        ("n >= 0, 0 <= s <= n", ["n + s", "s^2", "n", ""]),
        ("n >= 0", ["n // 2", "(n // 2) * ((n + 1) // 3)", "n", ""]),
        ("n >= 0, m >= 0", ["max(n, m)", "min(n, m) * n", "", ""]),
        ("n >= 0, m >= 0", ["n", "n + m", "", ""]),
        ("n >= 0", ["n", "n - 3", "", ""]),
    ]);
    expect![[r#"
        2 * n * m + n * m * k - n
          refuted by k * m * n: 656 against 152 at n = 8, m = 8, k = 8; 270464 against 8384 at n = 64, m = 64, k = 64; 134743040 against 525824 at n = 512, m = 512, k = 512;
        [n >= 2] n^3 - n : 6; [n < 2] 0 * n
          refuted by n^3: 92 against 36 at n = 8; 43744 against 2080 at n = 64; 22370048 against 131328 at n = 512;
        n^2 * m
          refuted by m * n^2: 32777 against 1033 at n = 8, m = 512; 1073741889 against 524353 at n = 64, m = 262144; 35184372089345 against 268435969 at n = 512, m = 134217728;
        n
          refuted by n: 1 against 0 at n = 1;
        s^2
          refuted by s^2: 72 against 24 at n = 8, s = 8; 4160 against 192 at n = 64, s = 64; 262656 against 1536 at n = 512, s = 512;
        (n // 2) * ((n + 1) // 3)
          refuted by ((n + 1) // 3) * (n // 2): 20 against 12 at n = 8; 736 against 96 at n = 64; 44288 against 768 at n = 512;
        min(n, m) * n
          refuted by n * min(m, n): 64 against 8 at n = 8, m = 8; 4096 against 64 at n = 64, m = 64; 262144 against 512 at n = 512, m = 512;
        n + m
          refuted by m: 1 against 0 at n = 0, m = 1;
        n - 3
          Negative
    "#]].assert_eq(&out);
}

#[test]
fn other_proofs_do_not_do() {
    let [one, other] = ["n", "3 * n"].map(|derived| parse_question("n >= 0", ["2 * n", derived, "", ""]));
    let [first, second] = [&one, &other].map(|owned_question| certify(&owned_question.question()));
    assert!(first.check(&one.question()) && second.check(&other.question()));
    assert!(!first.check(&other.question()) && !second.check(&one.question()));
    let CertificateVerdict::Proved { factor: 2, proof, .. } = second.verdict else { unreachable!() };
    assert!(check(&claim(&other.question(), 2).unwrap(), &proof));
    assert!(!check(&claim(&other.question(), 1).unwrap(), &proof));
    // Without `known` the facts of the proof do not exist.
    let bare = OwnedQuestion { known: Vec::new(), ..other };
    assert!(!check(&claim(&bare.question(), 2).unwrap(), &proof));
}

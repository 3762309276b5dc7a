//! Tests of the prover: tables of goals that are proved and that are not; soundness and
//! completeness against brute force; limits.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::{reduce, search};
use crate::predicate::testing::{atom, facts, poly};
use crate::predicate::{Atom, FactSet, Poly};

fn fact_set(known: &[(Poly, bool)]) -> FactSet {
    let mut facts = FactSet::new();
    for (p, zero) in known {
        if *zero { facts.assume_zero(p.clone()) } else { facts.assume_nonneg(p.clone()) }
    }
    facts
}

fn parse_facts(text: &str) -> FactSet {
    fact_set(&facts(text))
}

fn proves(known: &FactSet, goal: &str) -> bool {
    facts(goal).iter().all(|(p, zero)| if *zero { known.proves_zero(p) } else { known.proves_nonneg(p) })
}

/// Checks that under the facts, each goal of `yes` is proved and none of `no`.
#[track_caller]
fn check(known: &str, yes: &[&str], no: &[&str]) {
    let facts = parse_facts(known);
    for goal in yes {
        assert!(proves(&facts, goal), "{known} |- {goal}");
    }
    for goal in no {
        assert!(!proves(&facts, goal), "{known} |/- {goal}");
    }
    // The order of the facts must not matter.
    let mut reversed = crate::predicate::testing::facts(known);
    reversed.reverse();
    let facts = fact_set(&reversed);
    for goal in yes {
        assert!(proves(&facts, goal), "{known}, the other way round |- {goal}");
    }
}

#[test]
fn nothing_known() {
    check("", &["0 <= 0", "n <= n", "n - 1 < n", "n * n >= 0", "n * n >= n"], &["n >= 0", "0 < 0", "n * m >= 0"]);
    check("n >= 0", &["n + 1 > 0"], &["n > 0", "m >= 0", "n * m >= 0"]);
}

#[test]
fn one_axis() {
    let known = "n >= 0, 0 <= i < n";
    check(known, &["0 <= i < n", "n >= 1", "i <= n - 1", "0 <= n - 1 - i < n"], &["i >= 1", "i < n - 1", "n >= 2"]);
    // A convolution: x: [n + m - 1], i < n, j < m.
    check(
        "n >= 0, m >= 0, n + m - 1 >= 0, 0 <= i < n, 0 <= j < m",
        &["0 <= i + j < n + m - 1", "i + j <= n + m - 2"],
        &["i + j < n", "i + j < n + m - 2"],
    );
    // Concatenation: x[i] if i < n else y[i - n].
    check("n >= 0, m >= 0, 0 <= i < n + m, i >= n", &["0 <= i - n < m"], &["i < n", "i - n < m - 1"]);
    check("n >= 0, m >= 0, 0 <= i < n + m, i < n", &["0 <= i < n"], &["i < m"]);
    // Neighbours.
    check("n >= 0, 0 <= i < n - 1", &["0 <= i + 1 < n", "n >= 2"], &["i + 2 < n", "i - 1 >= 0"]);
    check("n >= 0, 1 <= i < n - 1", &["0 <= i - 1 < n", "0 <= i + 1 < n"], &[]);
    // A guard: [0 <= i - j < n] * x[i - j].
    check("0 <= i < n + m, 0 <= j < m, 0 <= i - j < n", &["0 <= i - j < n"], &["i < n"]);
}

#[test]
fn triangles() {
    check("0 <= j < n, 0 <= i < j", &["0 <= i < n", "i < n - 1", "n >= 2"], &["i < n - 2"]);
    check("0 <= i < n, 0 <= j <= i", &["0 <= j < n", "0 <= i - j < n"], &["j < i"]);
    check("0 <= i < n, 0 <= j < n - i", &["0 <= i + j < n"], &["i + j < n - 1"]);
    // Packed triangles.
    check(
        "0 <= j < i, i < n",
        &["0 <= i * (i - 1) // 2 + j < n * (n - 1) // 2", "i * (i - 1) // 2 >= 0"],
        &["i * (i - 1) // 2 + j < n * (n - 1) // 2 - 1"],
    );
}

#[test]
fn flattened() {
    let known = "n >= 0, m >= 0, 0 <= i < n, 0 <= j < m";
    let yes = ["0 <= i * m + j < n * m", "0 <= j * n + i < n * m", "(n - 1 - i) * m + j < n * m", "i * m < n * m"];
    check(known, &yes, &["i * m + j < n * m - 1", "i * n + j < n * m", "i * m + j < m", "i * m + j >= 1"]);
    // Only j determines the sign of m.
    check("0 <= i < n, 0 <= j < m", &yes, &[]);
    check(
        "0 <= i < a, 0 <= j < n, 0 <= k < m",
        &[
            "0 <= i * n * m + j * m + k < a * n * m",
            "0 <= (i * n + j) * m + k < a * n * m",
            "0 <= i * m * n + k * n + j < a * n * m",
        ],
        &["i * n * m + k * m + j < a * n * m"],
    );
    check(
        "0 <= i < a, 0 <= j < b, 0 <= k < c, 0 <= l < d, a >= 0, b >= 0, c >= 0, d >= 0",
        &["0 <= ((i * b + j) * c + k) * d + l < a * b * c * d"],
        &[],
    );
    // With constants.
    check("0 <= i < 8, 0 <= j < 16", &["0 <= 16 * i + j < 128"], &["16 * i + j < 127", "16 * j + i < 128"]);
    check("0 <= i < n, 0 <= j < 3", &["0 <= 3 * i + j < 3 * n"], &["4 * i + j < 3 * n"]);
    check("0 <= i < n, 0 <= j < 1000000000", &["1000000000 * i + j < 1000000000 * n"], &[]);
    // Through an equation for the size.
    check("s == n * m, 0 <= i < n, 0 <= j < m", &["0 <= i * m + j < s"], &[]);
    check("0 <= i < n * n, n >= 0", &["n >= 1", "i < n * n * n"], &["i < n"]);
}

#[test]
fn strides() {
    check("0 <= k < n, i == 2 * k, x == 2 * n", &["0 <= i < x", "i < x - 1"], &["i < n", "i < x - 2"]);
    // i in a..b by 3, as a number of steps.
    check("a >= 0, b >= 0, i == a + 3 * k, 0 <= k < (b - a + 2) // 3", &["a <= i < b"], &["i < b - 1"]);
    check("s >= 1, i == a + s * k, 0 <= k < (b - a + s - 1) // s", &["a <= i < b"], &["i < b - 1"]);
    check("s >= 1, 0 <= i < n, 0 <= w < k", &["0 <= s * i + w < s * (n - 1) + k"], &["s * i + w < n + k"]);
}

#[test]
fn quotients_and_remainders() {
    check("0 <= i < 2 * n", &["0 <= i // 2 < n", "i // 2 <= i"], &["i // 2 < n - 1", "i // 3 >= 1"]);
    check("n >= 0", &["0 <= n // 2 <= n", "n - n // 2 >= 0", "n // 2 + (n + 1) // 2 == n"], &["n // 2 < n"]);
    check("n >= 1", &["n // 2 < n", "(n - 1) // 2 < n"], &["n // 2 >= 1"]);
    check("0 <= i < n // 2", &["2 * i + 1 < n", "i + n // 2 < n"], &["2 * i + 2 < n"]);
    check("", &["0 <= i % 3 < 3", "i == 3 * (i // 3) + i % 3", "-3 < i % -3 <= 0"], &["i % 3 >= 1", "i % 3 < 2"]);
    check("i >= 0", &["i % 5 <= i"], &["i % 5 < i"]);
    check("i % 2 == 0", &["2 * (i // 2) == i", "(i + 1) % 2 == 1"], &["i == 0"]);
    check("2 * a == 4 * b + 1", &["0 < 0"], &[]);
    check("2 * a + 4 * b == 1 + 2 * c", &["0 < 0"], &[]);
    // A quotient of a quotient.
    check("0 <= i < 12", &["0 <= i // 2 // 3 < 2", "i // 4 * 4 + i % 4 == i"], &["i // 2 // 3 < 1"]);
    // Splitting a flat index by a constant.
    check("0 <= t < 16 * n", &["0 <= t // 16 < n", "0 <= t % 16 < 16", "t // 16 * 16 + t % 16 == t"], &[]);
}

#[test]
fn symbolic_divisors() {
    check("n >= 1", &["0 <= i % n < n", "i == n * (i // n) + i % n"], &["i % n < n - 1", "i % n <= i"]);
    check("n >= 0", &[], &["i % n < n"]);
    check("0 <= j < n", &["0 <= i % n < n"], &[]);
    check("0 <= i, n >= 1", &["0 <= i // n <= i", "i % n <= i"], &["i // n >= 1"]);
    check("n <= 0 - 1", &["n < i % n <= 0"], &["i % n >= 0"]);
    // Splitting a flat index.
    check("0 <= t < n * m, m >= 1", &["0 <= t // m < n", "0 <= t % m < m", "t // m * m + t % m == t"], &["t // m < m"]);
    check("m >= 1", &["(n * m) // m == n"], &[]);
}

#[test]
fn least_and_greatest() {
    check(
        "a >= 0, b >= 0",
        &["min(a, b) >= 0", "max(a, b) >= 0", "min(a, b) <= a", "min(a, b) <= b", "max(a, b) >= b"],
        &["min(a, b) >= a", "max(a, b) <= b"],
    );
    check("a >= c, b >= c", &["min(a, b) >= c", "max(a, b) >= c"], &["min(a, b) > c"]);
    check("a >= c", &["max(a, b) >= c"], &["min(a, b) >= c"]);
    check("a <= c, b <= c", &["max(a, b) <= c"], &[]);
    check("", &["min(a, b) + max(a, b) == a + b", "min(a, b) <= max(a, b)"], &["max(a, b) == a"]);
    check("0 <= i < min(n, m)", &["i < n", "i < m", "n >= 1"], &["i < n - 1"]);
    check("0 <= i < n, max(0, i - k) <= j < min(n, i + k)", &["0 <= j < n", "j - i < k"], &["j < i"]);
    check("n >= 0, max(0, n - m) >= 1", &["n > m"], &["m >= 0"]);
    // Nested, which needs case distinction.
    check("a <= 5, b <= 6, c <= 7", &["max(max(a, b), c) <= 7", "min(max(a, b), c) <= 6"], &["max(max(a, b), c) <= 6"]);
    check("2 * max(a, b) - a - b <= 0", &["a == b"], &["a == 0"]);
}

/// Index expressions as programs write them.
#[test]
fn idioms() {
    // Reversal, even and odd halves, a butterfly, a heap.
    check("0 <= i < n", &["0 <= n - 1 - i < n", "0 <= (i + 1) % n < n", "0 <= (i + n - 1) % n < n"], &[]);
    check("0 <= i < n // 2", &["0 <= 2 * i < n", "2 * i + 1 < n", "i + n // 2 < n", "n - 1 - i >= n // 2"], &[]);
    check("n == 2 * m, 0 <= i < m", &["i + m < n", "2 * i + 1 < n", "n // 2 == m", "n % 2 == 0"], &["2 * i + 2 < n"]);
    check("1 <= i < n", &["0 <= (i - 1) // 2 < i", "(i - 1) // 2 < n - 1"], &[]);
    check("0 <= i < (n - 1) // 2", &["2 * i + 2 < n"], &["2 * i + 3 < n"]);
    // Bisection.
    check("0 <= lo < hi <= n", &["lo <= (lo + hi) // 2 < hi", "(lo + hi) // 2 < n", "(lo + hi) // 2 >= 0"], &[]);
    // Clamped.
    check("n >= 1", &["0 <= min(max(i, 0), n - 1) < n", "0 <= max(min(i, n - 1), 0) < n"], &["min(i, n - 1) >= 0"]);
    check("0 <= i < n", &["0 <= max(0, i - 1) < n", "0 <= min(i + 1, n - 1) < n"], &["i - 1 >= 0"]);
    // Windows with a stride and a dilation, blocks, and remainders of blocks.
    check("s >= 1, 0 <= i < (n - k) // s + 1, 0 <= j < k", &["0 <= s * i + j < n"], &["s * i + j + 1 < n"]);
    check("0 <= i < (n - k) // 2 + 1, 0 <= j < k", &["0 <= 2 * i + j < n"], &["2 * i + j + 1 < n"]);
    check("0 <= i < n, 0 <= j < m, d >= 1", &["0 <= i + d * j < n + d * (m - 1)"], &["i + d * j < n + m - 1"]);
    check("0 <= b < (n + 31) // 32, 0 <= t < min(32, n - 32 * b)", &["0 <= 32 * b + t < n"], &[]);
    check("m >= 1, 0 <= b < (n + m - 1) // m, 0 <= t < min(m, n - m * b)", &["0 <= m * b + t < n"], &[]);
    // To a flat index and back.
    check("0 <= i < n, 0 <= j < m", &["(i * m + j) // m == i", "(i * m + j) % m == j"], &["(i * m + j) // m == j"]);
    check("0 <= i < n, 0 <= j < 8", &["(8 * i + j) // 8 == i", "(8 * i + j) % 8 == j"], &[]);
    check("n == a * b, 0 <= t < n, b >= 1", &["0 <= t // b < a", "0 <= t % b < b"], &["t // b < b"]);
    check("n * m == k * l, 0 <= t < n * m, l >= 1", &["t // l < k", "t % l < l"], &[]);
    // Slices and prefixes.
    check("0 <= a <= b <= n, 0 <= i < b - a", &["0 <= a + i < n", "0 <= b - a <= n"], &["a + i < b - 1"]);
    check("0 <= i < n, 0 <= j < i + 1", &["0 <= j <= i", "i - j < n", "0 <= i + 1 <= n"], &[]);
    check("0 <= i < n, 0 <= j < n, i + j >= n", &["0 <= i + j - n < n"], &[]);
    // Extents of many axes, as in a network: unrelated facts must not hide the relevant ones.
    let many: Vec<_> = (0..40).map(|k| format!("d{k} >= 0, 0 <= i{k} < d{k}")).collect();
    check(
        &many.join(", "),
        &["i3 * d7 + i7 < d3 * d7", "i3 + i7 + i9 <= d3 + d7 + d9 - 3"],
        &["i3 * d7 + i8 < d3 * d7"],
    );
}

#[test]
fn products() {
    check(
        "a >= 0, b >= 0",
        &["a * b >= 0", "a * b * b >= 0", "(a + 1) * (b + 1) > a * b"],
        &["a * b >= 1", "a * b >= a"],
    );
    check("a >= 0, b <= 0", &["a * b <= 0"], &["a * b == 0"]);
    check("a >= 1, b >= 1", &["a * b >= 1", "a * b >= a", "a * b >= a + b - 1"], &["a * b >= a + b"]);
    check("0 <= a <= b", &["a * a <= b * b", "a * a <= a * b"], &["a * a < b * b"]);
    check("", &["a * a + b * b >= a + b"], &["a * b >= 0"]);
    check("n >= 1, m >= 1, 0 <= i < n * m", &["i < n * m + n"], &["i < n"]);
    check("e == a * b, a == 3", &["e == 3 * b"], &["e == b"]);
}

#[test]
fn contradictions() {
    check("0 <= i < n, n == 0", &["0 < 0", "m >= 0", "0 <= j < k"], &[]);
    check("n == 3, n == 4", &["k == k + 1"], &[]);
    check("0 <= i < 0", &["j * j == 2"], &[]);
    check("2 * i >= 1, 2 * i <= 1", &["0 < 0"], &[]);
    check("0 <= i < n, 0 <= j < m, n * m == 0", &["0 < 0"], &[]);
    let contradictory = |text: &str| parse_facts(text).is_contradictory();
    assert!(contradictory("0 < 0"));
    assert!(contradictory("0 <= i < n, n <= 0"));
    assert!(contradictory("a < b, b < c, c < a"));
    assert!(contradictory("a % 2 == 0, a % 2 == 1"));
    assert!(!contradictory(""));
    assert!(!contradictory("0 <= i < n, 0 <= j < m, i + j < n + m - 1, k * k == n"));
}

#[test]
fn integers_only() {
    check("2 * a <= 2 * b + 1", &["a <= b"], &[]);
    check("3 * a >= 1", &["a >= 1"], &[]);
    check("2 * a + 3 * b == 1, 0 <= b <= 1", &["b == 1", "a == 0 - 1"], &[]);
    check("a + b == 2 * c, a - b == 1", &["0 < 0"], &[]);
    check("3 * x >= 2 * y + 1, 2 * y >= 3 * x - 1, 0 <= x <= 4, 0 <= y <= 6", &["3 * x == 2 * y + 1"], &[]);
}

#[test]
fn unknowns_and_overflow() {
    check("?1 >= 0, 0 <= i < ?1", &["i < ?1 + 3", "?1 >= 1"], &["?2 >= 0"]);
    check("huge >= 0, huge == n", &[], &["huge >= 0", "n >= 0", "huge == huge", "huge + 1 >= huge"]);
    assert!(!FactSet::new().proves_nonneg(&Poly::atom(Atom::Overflow)));
}

#[test]
fn long_chains() {
    // x0 <= x1 <= … <= x39, in an unhelpful order.
    let chain: Vec<_> = (0..39).map(|i| i * 17 % 39).map(|i| format!("x{i} <= x{}", i + 1)).collect();
    check(&chain.join(", "), &["x0 <= x39", "x3 <= x30 + 1"], &["x39 <= x0", "x0 < x39"]);
    // Each size is determined by the one before: the fast path must have no limit on their number.
    let chain: Vec<_> = (0..60).map(|i| format!("x{} == x{i} + 1", i + 1)).collect();
    check(&chain.join(", "), &["x40 == x0 + 40"], &[]);
}

#[test]
fn deep_atoms() {
    let quotients = |to: i32| (2..to).fold("n".to_string(), |p, d| format!("({p}) // {d}"));
    check("n >= 0", &[&format!("{} >= 0", quotients(30))], &[&format!("{} >= 1", quotients(120))]);
    check("n >= 0", &[&format!("({}) % 7 < 7", quotients(120))], &[]);
    let mixed = (0..30).fold("n".to_string(), |p, d| format!("min(({p}) % m, x{d})"));
    check("n >= 0", &[&format!("{mixed} <= x29")], &[&format!("{mixed} >= 1")]);
}

#[test]
fn scopes() {
    let mut known = parse_facts("n >= 0");
    let start = known.mark();
    assert!(!proves(&known, "0 <= i // 2 < n"));
    for (p, _) in facts("0 <= i < n, j == i * i") {
        known.assume_nonneg(p);
    }
    assert!(proves(&known, "0 <= i // 2 < n"));
    let inner = known.mark();
    for (p, _) in facts("i > n") {
        known.assume_nonneg(p);
    }
    assert!(known.is_contradictory() && proves(&known, "k >= 0"));
    known.release(inner);
    assert!(!known.is_contradictory() && !proves(&known, "k >= 0") && proves(&known, "i // 2 < n"));
    known.release(start);
    assert!(!proves(&known, "i < n") && proves(&known, "n >= 0"));
    known.release(0);
    assert!(!proves(&known, "n >= 0"));
    assert_eq!(known.mark(), 0);
}

#[test]
fn memory_is_bounded() {
    // Neither goals nor scopes leave entries behind.
    let mut known = parse_facts("n >= 0, 0 <= i < n");
    for k in 0..3000 {
        let mark = known.mark();
        assert!(!proves(&known, &format!("(i * x{k}) // 2 % (n + {k} * y{k}) <= z{k} * i")));
        if k % 3 == 0 {
            known.assume_nonneg(poly(&format!("w{k} // 3 - i")));
            assert!(proves(&known, &format!("w{k} // 3 >= 0")));
            known.release(mark);
        }
        let size = known.table.borrow().size();
        assert!(size < 2000, "{size} after {k}");
    }
    assert!(proves(&known, "i // 2 < n"));
    // Facts past the limit are dropped, but nothing breaks.
    let mut known = FactSet::new();
    for k in 0..6000 {
        known.assume_nonneg(poly(&format!("x{k}")));
    }
    assert!(proves(&known, "x5 >= 0") && !proves(&known, "x5999 >= 0"));
}

/// Unprovable goals in adversarial contexts terminate soon.
#[test]
fn work_is_bounded() {
    let vars = 24;
    let mut text = String::new();
    let mut seed = 1_u32;
    let mut next = |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % n
    };
    for _ in 0..300 {
        let mut sum = String::from("3000");
        for _ in 0..4 {
            sum += &format!(" + {} * x{}", i64::from(next(19)) - 9, next(vars));
        }
        sum += &format!(" - x{} * x{}", next(vars), next(vars));
        text += &format!("{sum} >= {}, ", next(100));
    }
    let known = parse_facts(&text);
    for _ in 0..50 {
        let goal = format!(
            "x{} * x{} * x{} + {} * x{} // x{} >= min(x{}, x{})",
            next(vars),
            next(vars),
            next(vars),
            next(9),
            next(vars),
            next(vars),
            next(vars),
            next(vars)
        );
        assert!(!proves(&known, &goal), "{goal}");
    }
    let huge = "170141183460469231731687303715884105727 // 1000000000 * a >= 1";
    check(huge, &[], &["a * a * a >= 4 * b", "b >= 0"]);
}

/// Returns a row of random numbers as `c0 + c1·x1 + …`.
fn linear(names: &[&str], c: &[i64]) -> Poly {
    let constant = c.last().copied().unwrap_or(0);
    names
        .iter()
        .zip(c)
        .fold(Poly::constant(constant.into()), |p, (x, c)| p.add(&Poly::atom(atom(x)).scale((*c).into())))
}

const BOX: std::ops::RangeInclusive<i64> = -3..=3;

/// Iterates over all points of the box for `a b c`.
fn points() -> impl Iterator<Item = [i64; 3]> {
    BOX.flat_map(|a| BOX.flat_map(move |b| BOX.map(move |c| [a, b, c])))
}

fn value(p: &Poly, at: [i64; 3]) -> Option<i64> {
    let names = ["a", "b", "c"].map(atom);
    p.eval(&mut |a| names.iter().position(|n| n == a).and_then(|i| at.get(i).copied()))
}

/// Whether the facts hold at the point. They do not if an atom has no value, because a divisor is
/// 0.
fn all_hold(known: &[(Poly, bool)], at: [i64; 3]) -> bool {
    known.iter().all(|(p, zero)| value(p, at).is_some_and(|v| v == 0 || v > 0 && !zero))
}

/// Whether the goal holds at all points of the box that satisfy the facts.
fn holds(known: &[(Poly, bool)], goal: &Poly) -> bool {
    points().all(|at| !all_hold(known, at) || value(goal, at).is_none_or(|v| v >= 0))
}

/// Returns the minimum of a form over the points of the box that satisfy the facts.
fn minimum_in_box(known: &[(Poly, bool)], form: &Poly) -> Option<i64> {
    points().filter(|at| all_hold(known, *at)).filter_map(|at| value(form, at)).min()
}

/// Random expressions over `a b c` with all operators.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        2 => (-3..4_i32).prop_map(|c| format!("({c})")),
        5 => prop::sample::select(vec!["a", "b", "c"]).prop_map(String::from),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), prop::sample::select(vec!["+", "-", "*"]), inner.clone())
                .prop_map(|(p, op, q)| format!("({p} {op} {q})")),
            1 => (inner.clone(), prop::sample::select(vec!["//", "%"]), prop_oneof![-3..0_i32, 1..4_i32])
                .prop_map(|(p, op, d)| format!("({p} {op} {d})")),
            1 => (inner.clone(), prop::sample::select(vec!["//", "%"]), prop::sample::select(vec!["a", "b"]))
                .prop_map(|(p, op, d)| format!("({p} {op} {d})")),
            1 => (prop::sample::select(vec!["min", "max"]), inner.clone(), inner.clone())
                .prop_map(|(f, p, q)| format!("{f}({p}, {q})")),
        ]
    })
}

fn parse_known(known: &[(String, i32)]) -> Vec<(Poly, bool)> {
    known.iter().map(|(p, zero)| (poly(p), *zero == 0)).collect()
}

/// Returns the facts that every variable is in the box.
fn box_facts() -> Vec<(Poly, bool)> {
    let bounds = |x| [poly(x).add_constant(-i128::from(*BOX.start())), poly(x).neg().add_constant((*BOX.end()).into())];
    ["a", "b", "c"].into_iter().flat_map(bounds).map(|p| (p, false)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A proved goal is true: for any facts and any goal.
    #[test]
    fn sound(known in prop::collection::vec((expression(), 0..5_i32), 0..6), goal in expression()) {
        let (known, goal) = (parse_known(&known), poly(&goal));
        let facts = fact_set(&known);
        if facts.proves_nonneg(&goal) {
            prop_assert!(holds(&known, &goal), "{known:?} |- {goal}");
        }
        if facts.is_contradictory() {
            prop_assert!(holds(&known, &Poly::constant(-1)), "contradictory: {known:?}");
        }
    }

    /// A goal that a point refutes is not proved without points either, and scopes leave no trace
    /// in the points.
    #[test]
    fn points_refute_what_does_not_follow(
        known in prop::collection::vec((expression(), 0..5_i32), 0..4),
        inner in prop::collection::vec((expression(), 0..5_i32), 1..4),
        goal in expression(),
    ) {
        let (known, goal) = (parse_known(&known), poly(&goal));
        let mut facts = fact_set(&known);
        let before = facts.table.borrow().is_satisfied_at_point();
        let mark = facts.mark();
        for (p, zero) in parse_known(&inner) {
            if zero { facts.assume_zero(p) } else { facts.assume_nonneg(p) }
        }
        let refuted = |facts: &FactSet| {
            let table = &mut *facts.table.borrow_mut();
            if table.is_satisfied_at_point() {
                assert!(!search::proves(table, None, &Cell::default()), "{known:?} {inner:?}");
            }
            let goal = table.linearise(&goal, false)?;
            let refuted = table.refutes(&goal);
            assert!(!refuted || !reduce::proves(table, &goal) && !search::proves(table, Some(&goal), &Cell::default()), "{known:?} {inner:?}");
            Some(refuted)
        };
        refuted(&facts);
        facts.release(mark);
        prop_assert_eq!(before, facts.table.borrow().is_satisfied_at_point());
        prop_assert_eq!(refuted(&facts), refuted(&fact_set(&known)));
    }

    /// Tight bounds: a claim of one more than the minimum is never proved.
    #[test]
    fn sound_when_tight(known in prop::collection::vec((expression(), 0..6_i32), 0..3), form in expression()) {
        let (mut known, form) = (parse_known(&known), poly(&form));
        known.extend(box_facts());
        if let Some(least) = minimum_in_box(&known, &form) {
            let claim = form.add_constant(-1 - i128::from(least));
            prop_assert!(!fact_set(&known).proves_nonneg(&claim), "{known:?} |- {claim}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Numbers near every limit: known facts are proved, and no goal is that fails at a point where
    /// the facts hold.
    #[test]
    fn large_numbers(
        rows in prop::collection::vec((large_row(), 0..3_i128), 1..8),
        goals in prop::collection::vec(large_row(), 1..4),
        d in large(),
        shift in large(),
        point in prop::array::uniform3(-40..40_i128),
    ) {
        // The form with this value at the point: the constant compensates for the rest.
        let form = |row: &[i128; 4], value: i128| {
            let [ca, cb, cc, cab] = *row;
            let [a, b, c] = point;
            let rest = ca * a + cb * b + cc * c + cab * a * b;
            let terms = [("a", ca), ("b", cb), ("c", cc), ("a * b", cab)];
            terms.iter().fold(Poly::constant(value - rest), |p, (x, c)| p.add(&poly(x).scale(*c)))
        };
        let mut known: Vec<_> = rows.iter().map(|(row, value)| (form(row, *value), *value == 0)).collect();
        for row in &goals {
            // A quotient with an unknown value: the prover may ignore it, but must not misuse it.
            if d > 0 && let Some(quotient) = form(row, shift).div(&Poly::constant(d)) {
                known.push((quotient.add_constant(-shift.div_euclid(d)), false));
            }
        }
        let facts = fact_set(&known);
        prop_assert!(!facts.is_contradictory());
        for row in &goals {
            prop_assert!(!facts.proves_nonneg(&form(row, -1)));
        }
        for (p, _) in &known {
            prop_assert!(p.has_overflowed() || facts.proves_nonneg(p));
            prop_assert!(!facts.proves_nonneg(&p.neg().add_constant(-4)));
        }
    }
}

fn large() -> impl Strategy<Value = i128> {
    let sizes = vec![0, 1, 3, 1 << 31, (1 << 62) + 1, i128::from(i64::MAX), (1 << 64) + 13, (1 << 99) + 7, 1 << 100];
    (prop::sample::select(sizes), any::<bool>()).prop_map(|(c, neg)| if neg { -c } else { c })
}

fn large_row() -> impl Strategy<Value = [i128; 4]> {
    prop::array::uniform4(large())
}

/// Counts how often the exact minimum of a form in a box, under further facts, is proved. Returns
/// the number of proved cases and of all cases.
fn completeness(cases: u32, problem: impl Strategy<Value = (Vec<(Poly, bool)>, Poly)>) -> (u32, u32) {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut proved, mut all) = (0, 0);
    for _ in 0..cases {
        let (mut known, form) = problem.new_tree(&mut runner).expect("problem").current();
        if form.has_overflowed() {
            continue;
        }
        known.extend(box_facts());
        let facts = fact_set(&known);
        all += 1;
        proved += u32::from(match minimum_in_box(&known, &form) {
            Some(least) => facts.proves_nonneg(&form.add_constant(-i128::from(least))),
            None => facts.is_contradictory(),
        });
    }
    (proved, all)
}

#[test]
fn complete_on_most_linear_problems() {
    let names = &["a", "b", "c"];
    let row = (prop::array::uniform4(-3..4_i64), 0..6_i32).prop_map(|(c, zero)| (linear(names, &c), zero == 0));
    let problem = (prop::collection::vec(row, 0..5), prop::array::uniform3(-3..4_i64).prop_map(|c| linear(names, &c)));
    let (proved, all) = completeness(1500, problem);
    // 1485 of 1500 when last measured.
    assert!(proved * 100 >= all * 98, "{proved} of {all}");
}

#[test]
fn proves_some_of_everything() {
    let problem = (prop::collection::vec((expression(), 0..5_i32), 0..3), expression())
        .prop_map(|(known, form)| (parse_known(&known), poly(&form)));
    let (proved, all) = completeness(1000, problem);
    // 712 of 1000 when last measured.
    assert!(proved * 100 >= all * 65, "{proved} of {all}");
}

//! Tests of counts and sums: against enumeration over random predicates, and snapshots of formulas.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;

use super::{Formula, FormulaPiece, Ratio, UncountedReason, count, sum};
use crate::predicate::testing::{atom, facts, poly};
use crate::predicate::{Atom, FactContext, Index, Poly, Pred};

type AtomValues = BTreeMap<Atom, i64>;

fn index(name: &str, extent: &Poly) -> Index {
    let Atom::Local(local, name) = atom(name) else { unreachable!() };
    Index { local, name, extent: extent.clone() }
}

fn number(p: &Poly, values: &AtomValues) -> i64 {
    p.eval(&mut |a| values.get(a).copied()).unwrap()
}

fn holds(p: &Pred, values: &mut AtomValues) -> bool {
    match p {
        Pred::And(items) => items.iter().all(|p| holds(p, values)),
        Pred::Or(items) => items.iter().any(|p| holds(p, values)),
        Pred::Ge(p) => number(p, values) >= 0,
        Pred::Eq(p) => number(p, values) == 0,
        Pred::Ne(p) => number(p, values) != 0,
        Pred::Exists(index, body, wanted) => {
            let extent = number(&index.extent, values);
            let found = (0..extent).any(|i| {
                values.insert(index.atom(), i);
                holds(body, values)
            });
            values.remove(&index.atom());
            found == *wanted
        }
        Pred::Element(..) | Pred::Member(..) => unreachable!(),
    }
}

/// Returns the sum by enumeration of all tuples.
fn enumerated(indices: &[Index], pred: &Pred, value: &Poly, values: &mut AtomValues) -> i128 {
    let Some((first, rest)) = indices.split_first() else {
        return if holds(pred, values) { number(value, values).into() } else { 0 };
    };
    let mut sum = 0;
    for i in 0..number(&first.extent, values) {
        values.insert(first.atom(), i);
        sum += enumerated(rest, pred, value, values);
    }
    values.remove(&first.atom());
    sum
}

/// A deterministic random number generator.
struct CaseRng(u64);

impl CaseRng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn small(&mut self, most: i128) -> i128 {
        i128::from(self.below(u64::try_from(2 * most + 1).unwrap())) - most
    }

    fn choose<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

struct RandomCase {
    draw: CaseRng,
    /// The constructs in the random predicate.
    seen: BTreeSet<&'static str>,
}

impl RandomCase {
    fn affine(&mut self, over: &[&str]) -> Poly {
        let mut p = Poly::constant(self.draw.small(3));
        for name in over {
            let most = if ["n", "m"].contains(name) { 1 } else { 2 };
            p = p.add(&poly(name).scale(self.draw.small(most)));
        }
        match self.draw.below(8) {
            0 => {
                self.seen.insert("quotient");
                let c = 2 + i128::from(self.draw.below(2));
                p.div(&Poly::constant(c)).unwrap()
            }
            1 => {
                self.seen.insert("remainder");
                let c = 2 + i128::from(self.draw.below(2));
                p.rem(&Poly::constant(c)).unwrap().add_constant(-1)
            }
            2 => {
                self.seen.insert("lesser");
                let other = poly(self.draw.choose(over));
                p.minimum(&other)
            }
            _ => p,
        }
    }

    fn pred(&mut self, over: &[&str], depth: u32) -> Pred {
        match self.draw.below(if depth == 0 { 5 } else { 10 }) {
            0..=2 => Pred::nonneg(&self.affine(over)),
            3 => {
                self.seen.insert("equation");
                Pred::zero(&self.affine(over))
            }
            4 => {
                self.seen.insert("inequation");
                Pred::nonzero(&self.affine(over))
            }
            5 | 6 => self.pred(over, depth - 1).and(&self.pred(over, depth - 1)),
            7 => {
                self.seen.insert("union");
                Pred::any_of([self.pred(over, depth - 1), self.pred(over, depth - 1)])
            }
            8 => {
                self.seen.insert("negation");
                self.pred(over, depth - 1).negated()
            }
            _ => {
                self.seen.insert("existential");
                let bound = index("e", &poly(self.draw.choose(&["n", "m", "4"])));
                let inside: Vec<&str> = over.iter().copied().chain(["e"]).collect();
                let some = Pred::raw_exists(&bound, &self.pred(&inside, 0).and(&self.pred(&inside, 0)));
                if self.draw.below(3) == 0 { some.negated() } else { some }
            }
        }
    }
}

fn known() -> FactContext {
    FactContext::new(&[poly("n"), poly("m")])
}

#[test]
#[expect(clippy::disallowed_macros, reason = "which parts of predicates were drawn")]
fn as_enumerated() {
    let (mut seen, mut uncounted) = (BTreeMap::<&str, u32>::new(), BTreeMap::<String, u32>::new());
    let mut counted = 0;
    for seed in 0..400 {
        let mut case = RandomCase { draw: CaseRng(seed), seen: BTreeSet::new() };
        let names = ["i", "j", "k"];
        let rank = 1 + usize::try_from(case.draw.below(3)).unwrap();
        let mut indices = Vec::new();
        for k in 0..rank {
            let extent = match case.draw.below(6) {
                0 => poly("n"),
                1 => poly("m"),
                2 => poly("n + m - 1"),
                3 => poly("5"),
                4 if k > 0 => {
                    case.seen.insert("triangle");
                    poly(names[k - 1]).add_constant(case.draw.small(1))
                }
                _ => poly("n").add_constant(case.draw.small(2)),
            };
            indices.push(index(names[k], &extent));
        }
        let over: Vec<&str> = names[..rank].iter().copied().chain(["n", "m"]).collect();
        let pred = case.pred(&over, 2);
        let value = match case.draw.below(3) {
            0 => {
                case.seen.insert("polynomial");
                case.affine(&over).mul(&poly(over[0])).add_constant(1)
            }
            _ => poly("1"),
        };
        let formula = match sum(&indices, &pred, &value.clone().into(), &known()) {
            Ok(formula) => formula,
            Err(why) => {
                *uncounted.entry(format!("{why:?}")).or_default() += 1;
                continue;
            }
        };
        counted += 1;
        case.seen.iter().for_each(|what| *seen.entry(what).or_default() += 1);
        for n in 0..6 {
            for m in 0..6 {
                let mut values: AtomValues = [(atom("n"), n), (atom("m"), m)].into();
                let wanted = enumerated(&indices, &pred, &value, &mut values);
                let found = formula.eval(&mut |a| values.get(a).copied());
                assert_eq!(
                    found,
                    Some(wanted),
                    "seed {seed}, n = {n}, m = {m}: {indices:?} {pred} of {value}\n{formula:#?}"
                );
            }
        }
    }
    println!("{counted} counted: {seen:?}; not: {uncounted:?}");
    let all = [
        "quotient",
        "remainder",
        "lesser",
        "equation",
        "inequation",
        "union",
        "negation",
        "existential",
        "triangle",
        "polynomial",
    ];
    assert!(all.iter().all(|what| seen.get(what).is_some_and(|n| *n > 5)), "{seen:?}");
    assert!(counted > 370, "{counted} counted, {uncounted:?}");
}

fn count_tuples(indices: &[(&str, &str)], pred: &str) -> Result<Formula, UncountedReason> {
    let indices: Vec<Index> = indices.iter().map(|(name, extent)| index(name, &poly(extent))).collect();
    let pred = Pred::all(facts(pred).iter().map(|(p, zero)| if *zero { Pred::zero(p) } else { Pred::nonneg(p) }));
    count(&indices, &pred, &known())
}

fn show(formula: &Result<Formula, UncountedReason>) -> String {
    match formula {
        Err(why) => format!("{why:?}\n"),
        Ok(formula) => formula
            .pieces()
            .iter()
            .map(|piece| {
                let (over, under) = piece.value.as_fraction();
                format!("[{}] ({over}) / {under}\n", piece.pred)
            })
            .collect(),
    }
}

#[test]
fn formulas() {
    let out: String = [
        count_tuples(&[("i", "n")], ""),
        count_tuples(&[("i", "n"), ("j", "m")], ""),
        count_tuples(&[("i", "n"), ("j", "i")], ""),
        count_tuples(&[("i", "n"), ("j", "n")], "i <= j"),
        count_tuples(&[("i", "n"), ("j", "n")], "i <= j, j <= i + 2"),
        count_tuples(&[("i", "n"), ("j", "3")], "0 <= i + j - 1 < n"),
        count_tuples(&[("i", "n")], "i == 2 * (i // 2)"),
        count_tuples(&[("i", "n"), ("j", "n"), ("k", "j")], "i < k"),
        count_tuples(&[("i", "n"), ("j", "m")], "i == j"),
        count_tuples(&[("i", "n"), ("j", "m")], "i * m + j < n"),
        count_tuples(&[("i", "n"), ("j", "m"), ("k", "n * m")], "i == k // m, j == k % m"),
        count_tuples(&[("i", "n"), ("j", "m"), ("k", "n * m")], "k == i * m + j"),
        count_tuples(
            &[("i", "n"), ("j", "m"), ("k", "p"), ("l", "n * m * p")],
            "i == l // (m * p), j == l // p % m, k == l % p",
        ),
        count_tuples(&[("i", "n"), ("k", "l")], "i == k // m"),
        count_tuples(
            &[("i", "n"), ("j", "p"), ("k", "m"), ("l", "q"), ("r", "n * p"), ("s", "m * q")],
            "i == (m * q * r + s) // q // m // p, j == (m * q * r + s) // q // m % p, \
             k == (m * q * r + s) // q % m, l == (m * q * r + s) % q",
        ),
    ]
    .iter()
    .map(|f| show(f) + "\n")
    .collect();
    expect![[r#"
        [true] (n) / 1

        [true] (m * n) / 1

        [true] (n^2 - n) / 2

        [true] (n^2 + n) / 2

        [n <= 1] (n^2 + n) / 2
        [1 < n] (3 * n - 3) / 1

        [0 < n] (3 * n - 2) / 1

        [true] ((n + 1) // 2) / 1

        [true] (n^3 + 2 * n - 3 * n^2) / 6

        [m < n] (m) / 1
        [n <= m] (n) / 1

        Nonlinear

        [true] (m * n) / 1

        [true] (m * n) / 1

        [0 <= m * n * p] (m * n * p) / 1

        Nonlinear

        [0 <= m * q && 0 <= n * p] (m * n * p * q) / 1

    "#]]
    .assert_eq(&out);
}

/// Quotients and remainders by sizes, against enumeration. The tuples of the second list are bound
/// by existentials.
#[test]
fn quotients_by_sizes() {
    type Case<'c> = (&'c [(&'c str, &'c str)], &'c [(&'c str, &'c str)], &'c str);
    let cases: [Case<'_>; 9] = [
        (&[("i", "n"), ("j", "m"), ("k", "n * m")], &[], "i == k // m, j == k % m"),
        (&[("i", "n"), ("k", "n * m"), ("l", "p")], &[], "i == k // m, l <= k % m"),
        (
            &[("i", "n"), ("j", "m"), ("k", "p"), ("l", "n * m * p")],
            &[],
            "i == l // (m * p), j == l // p % m, k == l % p",
        ),
        (
            &[("i", "n"), ("j", "p"), ("k", "m"), ("l", "q"), ("r", "n * p"), ("s", "m * q")],
            &[],
            "i == (m * q * r + s) // q // m // p, j == (m * q * r + s) // q // m % p, \
             k == (m * q * r + s) // q % m, l == (m * q * r + s) % q",
        ),
        (&[("i", "n"), ("j", "m")], &[("r", "n * m")], "i == r // m, j == r % m"),
        (&[("i", "n"), ("j", "m")], &[("r", "n * m")], "i == r // m, j <= r % m"),
        (&[("i", "n"), ("j", "m")], &[("r", "p")], "i == r // m, j == r % m"),
        (&[("i", "n"), ("j", "m")], &[("r", "p")], "i == r // m, j == r"),
        (
            &[("i", "n"), ("j", "p"), ("k", "m"), ("l", "q")],
            &[("r", "n * p"), ("s", "m * q")],
            "i == (m * q * r + s) // q // m // p, j == (m * q * r + s) // q // m % p, \
             k == (m * q * r + s) // q % m, l == (m * q * r + s) % q",
        ),
    ];
    let indices = |of: &[(&str, &str)]| -> Vec<Index> { of.iter().map(|(name, n)| index(name, &poly(n))).collect() };
    let mut counted = 0;
    for (outer, inner, pred) in cases {
        let (outer, inner) = (indices(outer), indices(inner));
        let all = Pred::all(facts(pred).iter().map(|(p, zero)| if *zero { Pred::zero(p) } else { Pred::nonneg(p) }));
        let all = inner.iter().rev().fold(all, |p, i| Pred::exists(i, &p));
        let Ok(formula) = count(&outer, &all, &known()) else { continue };
        counted += 1;
        for sizes in 0..256 {
            let sizes = ["n", "m", "p", "q"].iter().zip(0..).map(|(name, k)| (atom(name), sizes >> (2 * k) & 3));
            let mut values: AtomValues = sizes.collect();
            let tuples = enumerated(&outer, &all, &Poly::constant(1), &mut values);
            assert_eq!(formula.eval(&mut |a| values.get(a).copied()), Some(tuples), "{pred} at {values:?}");
        }
    }
    assert!(counted >= 7, "{counted}");
}

#[test]
fn ratios() {
    // 1³ + 2³ + … + 10³ is 55².
    let cubes = Ratio::from(poly("i^3")).sum_over(&atom("i"), &poly("1"), &poly("n")).unwrap();
    assert_eq!(cubes.eval(&mut |_| Some(10)), Some(3025));
    assert_eq!(cubes.eval(&mut |_| Some(0)), Some(0));
}

/// A size at a boundary must not move to a case that divides by it.
#[test]
fn divided_by_a_size_that_is_0() {
    let piece = |pred: &str, value: &str| {
        let pred = Pred::all(facts(pred).iter().map(|(p, _)| Pred::nonneg(p)));
        FormulaPiece { pred, value: poly(value).into() }
    };
    let formula = Formula::from_pieces([piece("n > 0", "m // n + 1"), piece("n <= 0", "m // n + 2")]);
    let cases = formula.to_cases(&known());
    for n in 0..3 {
        let mut at = |a: &Atom| Some(if *a == atom("n") { n } else { 5 });
        assert_eq!(cases.eval(&mut at), formula.eval(&mut at), "{cases}, n = {n}");
    }
}

/// An equation that determines no index must not be lost.
#[test]
fn equations_that_are_not_linear() {
    assert_eq!(count_tuples(&[("i", "3")], "i * n == n"), Err(UncountedReason::Nonlinear));
    assert_eq!(
        count_tuples(&[("i", "n"), ("j", "n")], "i * j == 4, i == 2"),
        count_tuples(&[("i", "n"), ("j", "n")], "i == 2, j == 2")
    );
}

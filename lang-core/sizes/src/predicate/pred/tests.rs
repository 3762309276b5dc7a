//! Tests of predicates against enumeration: negation, elimination of an index, solving,
//! simplification.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::predicate::testing::{atom, poly};
use crate::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};

type AtomValues = BTreeMap<Atom, i64>;

/// Evaluates the predicate at these values of atoms. An array `x` holds at even sums of indices.
fn holds(p: &Pred, values: &mut AtomValues) -> bool {
    let number = |p: &Poly, values: &AtomValues| p.eval(&mut |a| values.get(a).copied()).unwrap();
    match p {
        Pred::And(items) => items.iter().all(|p| holds(p, values)),
        Pred::Or(items) => items.iter().any(|p| holds(p, values)),
        Pred::Ge(p) => number(p, values) >= 0,
        Pred::Eq(p) => number(p, values) == 0,
        Pred::Ne(p) => number(p, values) != 0,
        Pred::Element(_, _, at, sign) | Pred::Member(_, _, at, sign) => {
            (at.iter().map(|p| number(p, values)).sum::<i64>() % 2 == 0) == *sign
        }
        Pred::Exists(index, body, sign) => {
            let extent = number(&index.extent, values);
            let before = values.get(&index.atom()).copied();
            let found = (0..extent).any(|i| {
                values.insert(index.atom(), i);
                holds(body, values)
            });
            match before {
                Some(i) => values.insert(index.atom(), i),
                None => values.remove(&index.atom()),
            };
            found == *sign
        }
    }
}

fn index(name: &str, extent: &str) -> Index {
    let Atom::Local(local, name) = atom(name) else { unreachable!() };
    Index { local, name, extent: poly(extent) }
}

/// Random linear comparisons and opaque atoms over `i`, `j` and the sizes `n`, `m`.
fn atoms() -> impl Strategy<Value = Pred> {
    let linear = || {
        (-2..=2i128, -2..=2i128, -1..=1i128, -1..=1i128, -3..=3i128).prop_map(|(a, b, c, d, e)| {
            let term = |name: &str, c: i128| poly(name).scale(c);
            term("i", a).add(&term("j", b)).add(&term("n", c)).add(&term("m", d)).add_constant(e)
        })
    };
    prop_oneof![
        4 => linear().prop_map(|p| Pred::nonneg(&p)),
        3 => linear().prop_map(|p| Pred::zero(&p)),
        1 => linear().prop_map(|p| Pred::nonzero(&p)),
        1 => (linear(), any::<bool>())
            .prop_map(|(p, sign)| Pred::Element(LocalId(9), "x".into(), Arc::from([p]), sign)),
    ]
}

fn preds() -> impl Strategy<Value = Pred> {
    atoms().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 1..4).prop_map(Pred::all),
            1 => proptest::collection::vec(inner.clone(), 1..3).prop_map(Pred::any_of),
            1 => inner.clone().prop_map(|p| p.negated()),
            1 => inner.prop_map(|p| Pred::exists(&index("k", "m"), &p.substitute(&|a| (*a == atom("j")).then(|| poly("k"))))),
        ]
    })
}

/// Calls `f` at all sizes from 0 to 3, with indices in their ranges and one beyond.
fn for_each_point(mut f: impl FnMut(&mut AtomValues)) {
    for (n, m) in (0..4).flat_map(|n| (0..4).map(move |m| (n, m))) {
        for (i, j) in (-1..=n).flat_map(|i| (-1..=m).map(move |j| (i, j))) {
            let pairs = [("n", n), ("m", m), ("i", i), ("j", j)];
            f(&mut pairs.into_iter().map(|(name, v)| (atom(name), v)).collect());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn negation(p in preds()) {
        let not = p.negated();
        for_each_point(|at| assert_eq!(holds(&p, at), !holds(&not, at), "{p}: {not}: {at:?}"));
    }

    #[test]
    fn an_index_is_eliminated(p in preds()) {
        let some = Pred::exists(&index("i", "n"), &p);
        for_each_point(|at| {
            let n = at[&atom("n")];
            let found = (0..n).any(|i| {
                let mut at = at.clone();
                at.insert(atom("i"), i);
                holds(&p, &mut at)
            });
            assert_eq!(found, holds(&some, at), "any i < n: {p}: {some}: {at:?}");
        });
    }

    #[test]
    fn simplification(p in preds(), known in preds()) {
        let mut context = FactContext::new(&[poly("n"), poly("m")]);
        context.assume_in_range(&index("i", "n"));
        context.assume(&known);
        let simple = context.simplify(&p);
        for_each_point(|at| {
            let inside = (0..at[&atom("n")]).contains(&at[&atom("i")]);
            if inside && holds(&known, at) {
                assert_eq!(holds(&p, at), holds(&simple, at), "{p}: {simple}, knowing {known}: {at:?}");
            }
        });
        assert!(!context.implies(&p) || simple.is_true() || !context.is_contradictory(), "{p}");
    }

    #[test]
    fn a_solution_is_what_the_equation_says(p in preds()) {
        if let Some(solution) = p.solve_for(&atom("i")) {
            for_each_point(|at| {
                let value = solution.eval(&mut |a| at.get(a).copied()).unwrap();
                assert!(!holds(&p, at) || at[&atom("i")] == value, "{p}: i = {solution}: {at:?}");
            });
        }
    }
}

#[track_caller]
fn check(p: &Pred, shown: &str) {
    assert_eq!(p.to_string(), shown);
}

#[test]
fn as_it_is_written() {
    let [i, j, n] = ["i", "j", "n"].map(poly);
    check(&Pred::in_range(&i, &n), "i < n && 0 <= i");
    check(&Pred::equal(&i.add(&j), &n.add_constant(-1)), "i + j + 1 == n");
    check(&Pred::all([Pred::less(&i, &j), Pred::at_most(&j, &i)]), "false");
    check(&Pred::any_of([Pred::less(&i, &j), Pred::at_most(&j, &i)]), "true");
    check(&Pred::nonneg(&i.scale(2).add_constant(-1)), "0 < i");
    check(&Pred::zero(&i.scale(2).add_constant(-1)), "false");
    check(&Pred::exists(&index("j", "m"), &Pred::equal(&i, &j.add_constant(1))), "0 < i && i <= m");
    check(&Pred::exists(&index("j", "m"), &Pred::less(&j, &i)), "0 < i && 0 < m");
    check(&Pred::exists(&index("j", "m"), &Pred::equal(&i, &j.scale(2))), "(any j < m: i == 2 * j)");
}

/// Variables of nested existentials are not captured, even if their names are equal.
#[test]
fn variables_are_not_caught() {
    let element = |at: Poly| Pred::Element(LocalId(9), "x".into(), Arc::from([at]), true);
    let e = |k: u32, extent: &str| Index { local: LocalId(k), name: "e".into(), extent: poly(extent) };
    let [outer, inner, one] = [e(1, "3"), e(2, "3"), e(3, "1")];
    // An existential replaces an element that mentions a bound variable.
    let double = |at: &Poly| Pred::raw_exists(&inner, &Pred::equal(at, &inner.value().scale(2)));
    let some = Pred::raw_exists(&outer, &element(poly("i").sub(&outer.value())));
    let replaced = some.replace_opaque(&|x| Some(double(&x.indices[0])));
    // An existential around a disjunction from which a nested existential disappears.
    let gone = Pred::raw_exists(&inner, &element(inner.value())).and(&Pred::less(&poly("n"), &Poly::default()));
    let either = Pred::raw_exists(&one, &Pred::any_of([element(poly("j").sub(&one.value())), gone]));
    let put = |name: &str, p: &Pred, by: Poly| p.substitute(&|a| (*a == atom(name)).then(|| by.clone()));
    let around =
        Pred::raw_exists(&outer, &put("j", &put("n", &either, Poly::default()), outer.value().add_constant(1)));
    for_each_point(|at| {
        let i = at[&atom("i")];
        assert_eq!(holds(&replaced, at), (0..3).any(|e| [0, 2, 4].contains(&(i - e))), "{replaced}: {at:?}");
        assert!(holds(&around, at), "{around}: {at:?}");
    });
}

/// An overflowed predicate is neither true nor false, and combinations with it prove nothing.
#[test]
fn overflow_says_nothing() {
    let huge = poly("huge");
    let all = [Pred::nonneg(&huge), Pred::zero(&huge), Pred::nonzero(&huge)];
    for p in &all {
        for q in &all {
            assert!(!p.and(q).is_false() && !Pred::any_of([p.clone(), q.clone()]).is_true(), "{p}, {q}");
            let mut context = FactContext::default();
            context.assume(p);
            assert!(!context.implies(q) && !context.refutes(q) && !context.is_contradictory(), "{p}, {q}");
        }
    }
}

/// If the extent depends on data, `known` keeps the conjuncts of an existential that do not depend
/// on it.
#[test]
fn known_of_an_unknown_extent() {
    let extent = Poly::atom(Atom::Read(LocalId(9), "d".into(), Arc::from([poly("i")])));
    let body = Pred::all([Pred::less(&poly("k"), &poly("i")), Pred::less(&poly("j"), &poly("n"))]);
    let some = Pred::exists(&Index { extent, ..index("k", "n") }, &body);
    check(&some, "0 < i && j < n && 0 < d[i]");
    check(&some.data_independent_part(), "0 < i && j < n");
    check(
        &Pred::raw_exists(&Index { extent: poly("m"), ..index("k", "n") }, &body).data_independent_part(),
        "0 < i && j < n && 0 < m",
    );
}

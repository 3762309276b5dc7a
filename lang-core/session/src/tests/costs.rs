//! Costs as queries: recomputation, attribution to places, predicates that are hard to count, and
//! cancellation.

use std::sync::Arc;

use expect_test::expect;

use super::{FILE, replace, session};
use crate::{CostTerm, Session};
use lang_base::GlobalName;
use lang_ir::core::FunctionKey;

fn def(name: &str) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new(FILE, name), Vec::new()))
}

#[test]
fn an_edit_elsewhere_recomputes_no_cost() {
    let mut session = session(
        "def dot(a: [n]f64, b: [n]f64) -> f64 = sum i: a[i] * b[i]\n\
         def norm(a: [n]f64) -> f64 = sqrt(dot(a, a))\n\
         def other(x: f64) -> f64 = x\n",
    );
    let norm = def("norm");
    let ran = |session: &Session| {
        let [_, adjoint] = session.derivatives(&norm).expect("it has derivatives");
        assert!(session.bound(&adjoint).is_some());
        let ran = session.ran_queries();
        ran.into_iter().filter(|q| q.starts_with("cost(") || q.starts_with("bound(")).count()
    };
    assert_ne!(ran(&session), 0);
    replace(&mut session, "-> f64 = x", "-> f64 = 2.0 * x");
    assert_eq!(ran(&session), 0);
    replace(&mut session, "def dot(", "-- The scalar product.\ndef dot(");
    assert_eq!(ran(&session), 0);
    replace(&mut session, "a[i] * b[i]", "2.0 * a[i] * b[i]");
    assert_ne!(ran(&session), 0);
}

#[test]
fn a_question_may_be_stopped() {
    let session = session("def f(x: [n]f64) -> f64 = sum i: x[i] * x[i]");
    let f = def("f");
    let cost = |s: &Session| s.cost(&f).map(|cost| cost.total.work.to_string());
    assert_eq!(session.ask(|stop| stop.cancel(), cost), None);
    // The next question is not affected.
    let expected = Some("(2*n - 1)*[0 < n]".to_owned());
    assert_eq!(session.ask(|_| {}, cost), Some(expected.clone()));
    assert_eq!(cost(&session), expected);
}

/// The work, tests and iterations of each place of the text.
#[test]
fn costs_by_places_of_the_text() {
    let text = "def pick(x: [n]f64, at: [m]i64) -> f64 = sum k: x[at[k]] * x[k % n]\n\
                def both(x: [n]f64, at: [m]i64) -> f64 = pick(x, at) + exp(x[0])";
    let session = session(text);
    let terms_text = |name: &str| {
        let line = |CostTerm { location: place, amount }: &CostTerm| {
            let (item, span) = place.as_ref()?;
            let of_item = text.lines().find(|line| line.starts_with(&format!("def {}", item.name)))?;
            let at = of_item.get(span.range())?;
            Some(format!("{at}: {}, {}, {}\n", amount.work, amount.tests, amount.iterations))
        };
        session.terms(&def(name)).iter().map(|term| line(term).unwrap()).collect::<String>()
    };
    expect![[r#"
        sum k: x[at[k]] * x[k % n]: 2*m - [0 < m], 0, m
        x[at[k]]: 0, m, 0
        x[k % n]: 0, m, 0
        k % n: 0, 0, 3*m

        pick(x, at): 2*m - [0 < m], 0, 4*m
        pick(x, at) + exp(x[0]): 1, 0, 2
        exp(x[0]): 1, 0, 1
        x[at[k]]: 0, m, 0
        x[k % n]: 0, m, 0
    "#]]
    .assert_eq(&format!("{}\n{}", terms_text("pick"), terms_text("both")));
}

/// Sixty predicates about two indices overlap. A count that is too hard becomes a symbol, because
/// the query must end soon.
#[test]
fn what_is_hard_to_count_is_a_symbol() {
    let term = |k: i32| format!("[{} * i + {} * j + {k} < {} * m + k] * x[i] * y[j]", k % 5 + 2, k % 7 + 1, k % 3 + 2);
    let terms: Vec<String> = (0..60).map(term).collect();
    let text = format!("def h(x: [n]f64, y: [m]f64, k: i64) -> [n, m]f64 = for i, j: {}", terms.join(" + "));
    let session = session(&text);
    let cost = session.cost(&def("h")).unwrap();
    assert!((1..=61).contains(&cost.symbols.len()), "{}", cost.symbols.len());
}

/// The cost of a gradient alone excludes the operations that only the value of the function needs,
/// also in loops.
#[test]
fn gradients_alone() {
    let session = session(
        "def conv(x: [n + m - 1]f64, w: [m]f64) -> [n]f64 = for i < n: sum j: x[i + j] * w[j]\n\
         def many(x: [n]f64, k: i64) -> f64 = fold s = 0.0 for t < k: s + (sum i: x[i])\n\
         def square(x: [n]f64) -> f64 = sum i: x[i]^2",
    );
    let gradient_text = |name: &str| {
        let f = def(name);
        let [_, adjoint] = session.derivatives(&f).unwrap();
        let of =
            |cost: &lang_middle::cost::CostFormulas| cost.total.work.math_text(&cost.positive_context(), &cost.names);
        let (whole, alone) = (session.cost(&adjoint).unwrap(), session.cost_without_primal(&adjoint).unwrap());
        let verdict = &session.bound_without_primal(&adjoint).unwrap().certificate.verdict;
        assert!(matches!(verdict, lang_sizes::certify::CertificateVerdict::Proved { .. }), "{verdict:?}");
        format!("{name}: {} with the value, alone {}\n", of(&whole), of(&alone))
    };
    expect![[r#"
        conv: 6·n·m − 2·n − 2·m + 1 with the value, alone 4·n·m − n − 2·m + 1
        many: 2·n·k where 0 ≤ k with the value, alone n·k where 0 ≤ k
        square: 4·n − 1 with the value, alone 2·n
    "#]]
    .assert_eq(&["conv", "many", "square"].map(gradient_text).concat());
}

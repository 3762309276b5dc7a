//! Tests of lenses, views and hovers.

#![allow(clippy::unwrap_used, clippy::string_slice, reason = "a failed expectation is a failed test")]

use crate::program::{PROGRAM, session};
use expect_test::expect;
use lang_ide::Session;
use lang_ide::hover::{HoverDepth, hover};
use lang_ide::lenses::{Lens, cost_title, evaluation_expression, lenses};
use lang_ide::views::{STAGES, ViewStage, view};

#[test]
fn lenses_tell_costs() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for lens in lenses(&session, "a.iv") {
        let text = match lens.lens {
            Lens::Cost => cost_title(&session, "a.iv", &lens.def).unwrap_or_default(),
            Lens::Run => "run".to_owned(),
            Lens::View(stage) => stage.to_owned(),
        };
        out += &format!("{}: {text}\n", lens.def);
    }
    expect![[r#"
        conv: work 2·n·m − 2·m² − n + 3·m − 1 · ∇ 6 cases · ≤ 2× proved
        conv: adjoint
        conv: forward
        conv: ssa
        spread: work 4·n − 1 · ∇ 6·n · ≤ 2× proved
        spread: adjoint
        spread: forward
        spread: ssa
        main: work 7
        main: run
        main: ssa
    "#]]
    .assert_eq(&out);
}

/// The lens that DESIGN shows for the convolution whose result has an explicit size.
#[test]
fn lenses_of_the_convolution() {
    let text = "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]\n";
    assert_eq!(
        cost_title(&session(text), "a.iv", "conv").as_deref(),
        Some("work 2·n·m − n · ∇ 4·n·m − n − 2·m + 1 · ≤ 2× proved")
    );
}

/// Indices, integer expressions and conditions have hovers like reals.
#[test]
fn hovers_within_indices_and_questions() {
    let text = "\
def conv(x: [n + m - 1]f64, c: [m]f64, k: i64) -> [n]f64 =
  for i: sum j < m if j <= k: [i + j < n] * x[i + j] * c[(j + 1) % m]
";
    let session = session(text);
    let mut out = String::new();
    for (what, of) in [
        ("i: sum", ""),
        ("j <=", "<="),
        ("[i + j < n]", "<"),
        ("[i + j < n]", "+"),
        ("x[i + j]", "+"),
        ("(j + 1) % m", "%"),
        ("(j + 1)", "1"),
    ] {
        let at = text.find(what).unwrap() + what.find(of).unwrap();
        let hover_info = hover(&session, "a.iv", u32::try_from(at).unwrap(), HoverDepth::Full);
        let hover_text = hover_info.map_or_else(|| "nothing".to_owned(), |hover_info| hover_info.plain());
        out += &format!("== {of} of {what}\n{hover_text}\n");
    }
    expect![[r#"
        ==  of i: sum
        i : i64

        index, 0 ≤ i < n
        == <= of j <=
        j <= k : bool

        work  0
        == < of [i + j < n]
        i + j < n : bool

        work  0
        == + of [i + j < n]
        i + j : i64

        work  0
        == + of x[i + j]
        i + j : i64

        work  0
        == % of (j + 1) % m
        (j + 1) % m : i64

        work  0
        == 1 of (j + 1)
        1 : i64

        work  0
    "#]]
    .assert_eq(&out);
}

/// A file with a `do` item has a lens to run it. Only a differentiable definition has views of
/// derivatives.
#[test]
fn lenses_of_what_is_no_function_of_reals() {
    let text = "def nearest(x: [n]f64) -> i64 = argmax i: -x[i]\nlet x = [1.0, 2.0]\ndo print(x)\n";
    let session = session(text);
    let shown = lenses(&session, "a.iv").into_iter().map(|lens| match lens.lens {
        Lens::Cost => format!("{}: cost", lens.def),
        Lens::Run => format!("{}: run at {}", lens.def, &text[lens.span.range()]),
        Lens::View(stage) => format!("{}: {stage}", lens.def),
    });
    assert_eq!(shown.collect::<Vec<_>>(), ["nearest: cost", "nearest: ssa", ": run at do"]);
    assert_eq!(evaluation_expression(&session, "a.iv", "x"), Ok("x".to_owned()));
    assert!(evaluation_expression(&session, "a.iv", "nearest").is_err_and(|why| why.contains("-- >>> nearest(…)")));
}

/// For an array, the tables show one element with named indices. Terms of one array are one entry.
#[test]
fn elements_of_arrays() {
    let text = "\
--| Adds.
def f(c: [n]f64, a: [n, n]f64) -> [n]f64 = c + (for i: sum j: a[i, j] * c[j])
";
    let session = session(text);
    let at = |what: &str| u32::try_from(text.find(what).unwrap()).unwrap();
    let plain = |what: &str| hover(&session, "a.iv", at(what), HoverDepth::Full).unwrap().plain();
    expect![[r#"
        c + (for i: sum j: a[i, j] * c[j]) : [n]f64

        work                 2·n²
        work in the adjoint  3·n²
        cotangent[i]         y_adj[i]
        ∂·[k]/∂c[j]          [j == k] + a[k, j]
        ∂·[k]/∂a[k, j]       c[j]

        `y_adj` is the cotangent of the result of `f`"#]]
    .assert_eq(&plain("+ (for"));
    expect![[r#"
        c : [n]f64

        parameter

        cotangent of c[k] here  [j == k] * y_adj[i] * a[i, j]

        `y_adj` is the cotangent of the result of `f`"#]]
    .assert_eq(&plain("c[j]"));
}

#[test]
fn views_tell_where_their_lines_come_from() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for (name, stage) in STAGES {
        let view = view(&session, "a.iv", "spread", *stage).unwrap();
        out += &format!("== {name}\n");
        for (k, line) in (0..).zip(view.text.lines()) {
            let spans = view.lines.iter().filter(|(n, _)| *n == k).flat_map(|(_, spans)| spans);
            let origins: Vec<&str> = spans.map(|s| &PROGRAM[s.range()]).collect();
            out += &format!("{line}\n");
            if !origins.is_empty() {
                out += &format!("    ← {}\n", origins.join(" | ").replace('\n', " "));
            }
        }
    }
    expect![[r#"
        == adjoint
        def spread_adj(x: [n]f64, y_adj: f64) -> [n]f64 =
          let mean = (sum i: x[i]) / f64(n)
            ← total(x) | total(x) / f64(n) | f64(n) | mean
          let off = x - mean
            ← x - mean | off[i]
          in 2 * y_adj * off
            ← total(x) | total(x) / f64(n) | x | f64(n) | x | x - mean | mean | off[i] | off[i]^2
        == forward
        def spread_tan(x: [n]f64, x_tan: [n]f64) -> f64 =
          let mean = (sum i: x[i]) / f64(n)
            ← total(x) | total(x) / f64(n) | f64(n) | mean
          let off = x - mean
            ← x - mean | off[i]
          let q = (sum i: x_tan[i]) / f64(n)
            ← total(x) | total(x) / f64(n) | f64(n) | mean
          in 2 * (sum i: (x_tan[i] - q) * off[i])
            ← x - mean | sum i: off[i]^2 | off[i] | off[i]^2
        == ssa
        ssa spread[n](x: [n]f64) -> f64 =
          X0[i0 < n]: f64 = input x  -- x
            ← x | x
          X1: f64 = sum i0 < n: X0[i0]
            ← total(x)
          X2: i64 = index n
            ← f64(n)
          X3: f64 = f64(X2)
            ← f64(n)
          X4: f64 = /(X1, X3)  -- mean
            ← total(x) / f64(n) | mean
          X5[i0 < n]: f64 = X0[i0] - X4  -- off
            ← x - mean | off[i]
          X6: i64 = 2
            ← off[i]^2
          X7[i0 < n]: f64 = ^(X5[i0], X6)
            ← off[i]^2
          X8: f64 = sum i0 < n: X7[i0]
            ← sum i: off[i]^2
          out X8
        == core
        core spread[n](x: [n]f64) -> f64 =
          let mean = prelude.total[f64; n](x) / f64(n)
            ← total(x) / f64(n)
          let a = -mean
            ← mean
          let off = for i < n: x[i] + a
            ← x - mean
          in sum i < n: off[i] ^ 2
            ← sum i: off[i]^2
        == lifted
        core spread[n](x: [n]f64) -> f64 =
          let y = prelude.total[f64; n](x)
            ← total(x)
          let mean = y / f64(n)
            ← total(x) / f64(n)
          let a = -mean
            ← mean
          let off = for i < n: x[i] + a
            ← x - mean
          in sum i < n: off[i] ^ 2
            ← sum i: off[i]^2
        == pairs
        flat spread[n](x: [n]f64) -> f64 =
          let y = prelude.total[f64; n](x).0
            ← total(x)
          let mean = y / f64(n)
            ← total(x) / f64(n)
          let a = -mean
            ← mean
          let off = for i < n: x[i] + a
            ← x - mean
          out sum i < n: off[i] ^ 2
            ← sum i: off[i]^2
        == pushed
        flat spread[n](x: [n]f64) -> f64 =
          let y = prelude.total[f64; n](x).0
            ← total(x)
          let mean = y / f64(n)
            ← total(x) / f64(n)
          let a = -mean
            ← mean
          let off = for i < n: x[i] + a
            ← x - mean
          out sum i < n: off[i] ^ 2
            ← sum i: off[i]^2
        == cost
        spread

        primal         work        4·n − 1
                       iterations  5·n + 3
        forward        work        7·n − 1
                       iterations  9·n + 4
        adjoint        work        6·n
                       iterations  8·n + 4
        value, adjoint work        8·n − 1
                       iterations  10·n + 4

        adjoint + io ≤ 2 · (primal + io), proved for all sizes

        work by location
          n − 1  total(x)
            ← total(x)
          1      total(x) / f64(n)
            ← total(x) / f64(n)
          n      x - mean
            ← x - mean
          n − 1  sum i: off[i]^2
            ← sum i: off[i]^2
          n      off[i]^2
            ← off[i]^2
    "#]]
    .assert_eq(&out);
    assert!(view(&session, "a.iv", "absent", ViewStage::Adjoint).is_err());
}

/// Between names, hovers describe sizes, types, symbols of the head, and argument labels.
#[test]
fn places_without_names() {
    let text = "\
def f(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j: x[i + j] * c[j]
let g = grad(\\(c: [2]f64): sum i: f([1.0, 2.0, 3.0], c)[i], wrt: c)([1.0, 2.0])
do plot(g, xlabel: \"i\")
type Model(d) = {weights: [d]f64}
";
    let session = session(text);
    let mut out = String::new();
    for what in ["[n + m", "+ m", "[m]", "-> [n]", "= for", "wrt", "xlabel", "= {", "= grad"] {
        let at = u32::try_from(text.find(what).unwrap()).unwrap();
        let hover_info = hover(&session, "a.iv", at, HoverDepth::Quick);
        let hover_text =
            hover_info.map_or_else(|| "nothing".to_owned(), |hover_info| hover_info.plain().replace("\n\n", " | "));
        out += &format!("{what}: {hover_text}\n");
    }
    expect![[r#"
        [n + m: [n + m - 1]f64 | type
        + m: n + m - 1 : i64 | size
        [m]: [m]f64 | type
        -> [n]: def f(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 | costs and derivatives are being computed
        = for: def f(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 | costs and derivatives are being computed
        wrt: wrt: | named argument | The parameters to differentiate with respect to: `wrt: x`, `wrt: (x, y)`.
        xlabel: xlabel: | named argument | The label of the horizontal axis.
        = {: type Model(d) = {weights: [d]f64}
        = grad: g : [2]f64 | let
    "#]]
    .assert_eq(&out);
}

/// An expression that is evaluated once has work, and so has one that a loop evaluates repeatedly.
#[test]
fn work_of_all_evaluations() {
    let text = "\
def f(x: [n, m]f64, k: i64) -> [n]f64 =
  fold y = (for i: 0.0) for t < k: for i: sum j if j > i: y[i] * x[i, j]
let x: [3, 2]f64 = for i, j: exp(f64(i + j))
do print(total(f(x, 2)))
";
    let session = session(text);
    let mut out = String::new();
    for what in ["* x[i", "for i: sum", "exp(f64"] {
        let at = u32::try_from(text.find(what).unwrap()).unwrap();
        let hover_info = hover(&session, "a.iv", at, HoverDepth::Full).unwrap();
        let rows = hover_info.rows.iter().filter(|(row, _)| row.starts_with("work"));
        out += &rows.map(|(row, text)| format!("{what}: {row} {text}\n")).collect::<String>();
    }
    expect![[r#"
        * x[i: work 1, in all ≤ n·m·k where 0 ≤ k
        * x[i: work of its adjoint 2, in all ≤ 2·n·m·k where 0 ≤ k
        for i: sum: work 2·n·m − n² − 2·n where n + 1 < m, m² − 2·m + 1 where m < n, 2·n·m − n² − n − m + 1 where m ≤ n + 1 && n ≤ m, in all 2·n·m·k − n²·k − 2·n·k where n + 1 < m && 0 ≤ k, m²·k − 2·m·k + k where m < n && 0 ≤ k, and 1 more case
        for i: sum: work of its adjoint (6·n·m − 3·n² − 5·n)/2 where n + 1 < m, (3·m² − 5·m + 2)/2 where m < n, (6·n·m − 3·n² − 3·n − 2·m + 2)/2 where m ≤ n + 1 && n ≤ m, in all (6·n·m·k − 3·n²·k − 5·n·k)/2 where n + 1 < m && 0 ≤ k, (3·m²·k − 5·m·k + 2·k)/2 where m < n && 0 ≤ k, and 1 more case
        exp(f64: work 1, in all 6
    "#]].assert_eq(&out);
}

/// The index of one evaluation is in its range. The total work is at most that of all evaluations.
#[test]
fn work_of_a_part_of_a_choice() {
    let text = "\
def loss(w: [d]f64, x: [n, d]f64, y: [n]bool) -> f64 =
  sum i: if y[i] then exp(-(sum l: w[l] * x[i, l])) else x[i, 0]^2
";
    let session = session(text);
    let mut out = String::new();
    for what in ["exp(", "sum l", "x[i, 0]^"] {
        let at = u32::try_from(text.find(what).unwrap() + what.find('^').unwrap_or(0)).unwrap();
        let hover_info = hover(&session, "a.iv", at, HoverDepth::Full).unwrap();
        let rows = hover_info.rows.iter().filter(|(row, _)| row.starts_with("work"));
        out += &rows.map(|(row, text)| format!("{what}: {row} {text}\n")).collect::<String>();
    }
    expect![[r#"
        exp(: work 2·d, in all ≤ 2·d·n + n
        exp(: work in the adjoint ≤ 5·d·n + 2·n
        sum l: work 2·d − 1, in all ≤ 2·d·n
        sum l: work in the adjoint ≤ 5·d·n
        x[i, 0]^: work 1, in all ≤ n
        x[i, 0]^: work in the adjoint ≤ 2·n
    "#]]
    .assert_eq(&out);
}

/// The evaluations of a product in a sum cost no more than the definition, because `lse(z)` is
/// computed once.
#[test]
fn work_of_a_product_whose_factor_is_computed_once() {
    let text = "\
def lse(z: [k]f64) -> f64 = let m = max i: z[i] in m + log(sum i: exp(z[i] - m))
def xent(z: [k]f64, t: [k]f64) -> f64 = -(sum i: t[i] * (z[i] - lse(z)))
";
    let session = session(text);
    let mut out = String::new();
    for what in ["* (z[i]", "lse(z))", "sum i: t"] {
        let at = u32::try_from(text.find(what).unwrap()).unwrap();
        let hover_info = hover(&session, "a.iv", at, HoverDepth::Full).unwrap();
        let rows = hover_info.rows.iter().filter(|(row, _)| row.starts_with("work"));
        out += &rows.map(|(row, text)| format!("{what}: {row} {text}\n")).collect::<String>();
    }
    expect![[r#"
        * (z[i]: work 4·k + 2, in all 6·k (equal results are computed once)
        * (z[i]: work in the adjoint 2·k
        lse(z)): work 4·k
        sum i: t: work 7·k − 1
        sum i: t: work in the adjoint not determined by sizes alone
    "#]]
    .assert_eq(&out);
}

#[test]
fn examples_are_run() {
    let text = "\
--| The square.
--| ```iverson
--| square(3.0)
--| ```
def square(x: f64) -> f64 = x^2
def cube(x: f64) -> f64 = x^3
-- >>> cube(2.0) + 1.0
def other(x: f64) -> f64 = cube(x)
def third(x: f64) -> f64 = x / 3
let y = [2.0]
let parts = for i: third(y[i])
do print(2 * third(6.0), other(y[0]))
";
    let session = session(text);
    let runs = lenses(&session, "a.iv").into_iter().filter(|lens| lens.lens == Lens::Run);
    assert_eq!(runs.map(|lens| lens.def.to_string()).collect::<Vec<_>>(), ["square", "cube", "other", "third", ""]);
    assert_eq!(evaluation_expression(&session, "a.iv", "square"), Ok("square(3.0)".to_owned()));
    assert_eq!(evaluation_expression(&session, "a.iv", "cube"), Ok("cube(2.0) + 1.0".to_owned()));
    assert_eq!(evaluation_expression(&session, "a.iv", "other"), Ok("other(y[0])".to_owned()));
    assert_eq!(evaluation_expression(&session, "a.iv", "third"), Ok("third(6.0)".to_owned()));
}

#[test]
fn a_view_of_a_broken_program_tells_why() {
    let mut session = Session::new();
    session.set_text("a.iv", "def f(x: [n]f64) -> f64 =\n  sum i: x[i] * z[i]\ndef g(x: [n]f64) -> f64 = f(x)\n");
    let why = |def| view(&session, "a.iv", def, ViewStage::Adjoint).unwrap_err();
    assert_eq!(why("f"), "error in line 2: `z` is not defined");
    assert_eq!(why("g"), "error in line 2: `z` is not defined");
}

#[test]
fn fields_have_their_types() {
    let text = "type P = {mass: f64, at: [3]f64}\n\ndef f(p: P) -> P = p with mass = p.mass * 2.0\n\n\
                def g() -> P = {mass: 1.0, at: [1.0, 2.0, 3.0]}\n";
    let session = session(text);
    let places = ["mass", "at:", "mass = p", "mass *", "at: [1"];
    let hover_texts = places.map(|place| {
        let at = u32::try_from(text.find(place).unwrap()).unwrap();
        hover(&session, "a.iv", at, HoverDepth::Full).unwrap().plain()
    });
    expect![[r#"
        mass : f64

        field
        --
        at : [3]f64

        field
        --
        mass : f64

        field
        --
        p.mass : f64

        field

        work       0
        cotangent  2 * y_adj.mass

        `y_adj` is the cotangent of the result of `f`
        --
        at : [3]f64

        field"#]]
    .assert_eq(&hover_texts.join("\n--\n"));
}

/// The typed node of a top-level `let` contains its bindings, but the hover shows the type of the
/// written expression.
#[test]
fn expressions_of_top_level_lets() {
    let text = "let table: [?n, 2]f64 = load(\"t.csv\")\nlet a = for i < 10: f64(i)\nlet (b, c) = (a, 3)\n\
                let d = (sum i: a[i])\n";
    let session = session(text);
    let hover_codes = ["load(", "for i", "(a, 3", "sum i", "a[i]"].map(|place| {
        let at = u32::try_from(text.find(place).unwrap()).unwrap();
        hover(&session, "a.iv", at, HoverDepth::Full).unwrap().code
    });
    expect![[r#"
        load("t.csv") : [n, 2]f64
        for i < 10: f64(i) : [10]f64
        (a, 3) : ([10]f64, i64)
        sum i: a[i] : f64
        a : [10]f64"#]]
    .assert_eq(&hover_codes.join("\n"));
}

/// At a `let`, the hover shows the derivatives of the value, and the cotangent from all its uses.
#[test]
fn names_of_values_have_their_cotangents() {
    let text =
        "def f(x: [n]f64, a: f64) -> f64 =\n  let y = a * x\n  let (p, q) = (total(y), a * a)\n  in p^2 * q + p\n";
    let session = session(text);
    let hover_texts = ["y =", "p,", "q)"].map(|place| {
        let at = u32::try_from(text.find(place).unwrap()).unwrap();
        hover(&session, "a.iv", at, HoverDepth::Full).unwrap().plain()
    });
    expect![[r#"
        y : [n]f64

        bound by `let`

        work                 n
        work in the adjoint  3·n + 2
        cotangent[i]         p_adj
        ∂·[i]/∂x[i]          a
        ∂·[i]/∂a             x[i]

        where
          let p_adj = out_adj * (1 + 2 * q * p)

        `out_adj` is the cotangent of the result of `f`

        p : f64

        bound by `let`

        work                 n − 1
        work in the adjoint  n
        cotangent            out_adj * (1 + 2 * q * p)
        ∂/∂x[i]              a
        ∂/∂a                 sum i: x[i]

        `out_adj` is the cotangent of the result of `f`

        q : f64

        bound by `let`

        work                 1
        work in the adjoint  2
        cotangent            p^2 * out_adj
        ∂/∂a                 2 * a

        `out_adj` is the cotangent of the result of `f`"#]]
    .assert_eq(&hover_texts.join("\n\n"));
}

/// If data choose the element, its cotangent is shown with the `let` that determines the index.
#[test]
fn an_element_that_data_choose() {
    let text = "def f(x: [n]f64) -> f64 =\n  let top = max i: x[i]\n  in top * (sum i: exp(x[i] - top))\n";
    let at = u32::try_from(text.find("x[i]\n").unwrap()).unwrap();
    expect![[r#"
        x : [n]f64

        parameter

        cotangent of x[k] here  [i == k] * top_adj

        where
          let e = exp(x - top)
          let top_adj = y_adj * (sum j: e[j]) - [0 < n] * top * y_adj * (sum j: e[j])
          let k = [0 < n] * (argmax j: x[j])

        `y_adj` is the cotangent of the result of `f`"#]]
    .assert_eq(&hover(&session(text), "a.iv", at, HoverDepth::Full).unwrap().plain());
}

/// `for` of a fold is not an array; its hover describes the fold.
#[test]
fn words_of_loops() {
    let text = "def f(x: [n]f64) -> f64 = fold s = 1.0 for i < n: s * x[i]\n";
    let at = u32::try_from(text.find("for i").unwrap()).unwrap();
    expect![[r#"
        fold s = 1.0 for i < n: s * x[i] : f64

        work                 n
        work in the adjoint  3·n
        cotangent            y_adj
        ∂/∂x[i]              x_grad[i]

        where
          let (_, s_at) = fold s = 1.0 for i < n: s * x[i] yield s
          let (_, x_grad) =
            fold (s_grad, x_grad) = (1.0, for k < n: 0.0) for j < n:
              let i = n - 1 - j in (s_grad * x[i], x_grad with [i] = s_grad * s_at[i])

        `y_adj` is the cotangent of the result of `f`

        The last value of acc, which is e after each i."#]]
    .assert_eq(&hover(&session(text), "a.iv", at, HoverDepth::Full).unwrap().plain());
}

/// A shadowed variable has a distinct name in the tables.
#[test]
fn hidden_names_are_told_apart() {
    let text = "def f(x: f64) -> f64 = let x = x * x in let x = sin(x) in x * cos(x)\n\
                def g(x: [n]f64, w: [n]f64) -> [n]f64 = for i: let a = x[i] in sum i: a * exp(w[i])\n";
    let session = session(text);
    let hover_texts = ["* cos", "* exp"].map(|place| {
        let at = u32::try_from(text.find(place).unwrap()).unwrap();
        hover(&session, "a.iv", at, HoverDepth::Full).unwrap().plain()
    });
    expect![[r#"
        x * cos(x) : f64

        work                 2
        work in the adjoint  5
        cotangent            y_adj
        ∂/∂x1                2 * x1 * (cos(x) - x * sin(x)) * cos(x2)

        where
          let x2 = x1^2

        `y_adj` is the cotangent of the result of `f`

        `x1` is the `x` that is shadowed here

        `x2` is the `x` that is shadowed here

        a * exp(w[i]) : f64

        work                 2, in all n² + n (equal results are computed once)
        work in the adjoint  2·n² + n − 1
        cotangent            y_adj[i1]
        ∂/∂x[i1]             e
        ∂/∂w[i]              e * x[i1]

        where
          let e = exp(w[i])

        `i1` is the `i` that is shadowed here

        `y_adj` is the cotangent of the result of `g`"#]]
    .assert_eq(&hover_texts.join("\n\n"));
}

/// An integer that is an index may be 0, and work is attributed to the expression that performs it.
#[test]
fn work_is_that_of_all_arguments() {
    let text = "def pick(x: [n]f64, t: i64) -> f64 = x[t]^2 + x[0] * x[n - 1]\n\
                def scaled(x: [n]f64, y: f64) -> f64 = (sum i: x[i]) * y + y\n";
    let session = session(text);
    let work = |place: &str| {
        let at = u32::try_from(text.find(place).unwrap()).unwrap();
        let hover_info = hover(&session, "a.iv", at, HoverDepth::Full).unwrap();
        let rows = hover_info.rows.into_iter().filter(|(what, _)| what.contains("work") || what == "adjoint");
        rows.map(|(what, code)| format!("{place} {what}: {code}\n")).collect::<String>()
    };
    expect![[r#"
        pick( work: 3
        pick( adjoint: 4 where t + 1 < n && 0 < t, 5 where t + 1 < n && t ≤ 0, 5 where 1 < n && n ≤ t + 1, 6 where n ≤ 1
        sum i work: n − 1
        sum i work in the adjoint: n − 1
        * y work: n
        * y work in the adjoint: n + 2
    "#]]
    .assert_eq(&["pick(", "sum i", "* y"].map(work).concat());
}

/// Work that precedes an expression is not part of its own.
#[test]
fn work_of_one_evaluation_begins_where_lets_are_known() {
    let session = session(PROGRAM);
    let at = |text: &str| u32::try_from(PROGRAM.find(text).unwrap() + text.find('^').unwrap()).unwrap();
    let hover_info = hover(&session, "a.iv", at("off[i]^2"), HoverDepth::Full).unwrap();
    let work = hover_info.rows.iter().find(|(what, _)| what == "work").map(|(_, code)| code.as_str());
    assert_eq!(work, Some("1, in all n"), "{}", hover_info.plain());
}

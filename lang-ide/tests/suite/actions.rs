//! Tests of code actions: the changes that are offered for a selection, and the programs after
//! them.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use expect_test::expect;
use lang_ide::actions::{Action, ActionKind, actions};
use lang_ide::{Edit, Session, Span};

/// Returns the text after edits.
fn changed(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|e| e.at.span.start);
    let mut text = text.to_owned();
    edits.iter().rev().for_each(|e| text.replace_range(e.at.span.range(), &e.text));
    text
}

/// Prints the actions for the selection between `‹` and `›`, with the program after each.
fn offered(marked: &str) -> String {
    offered_of(marked, &|_| true)
}

/// Prints only the fixes, in the same form.
fn mended(marked: &str) -> String {
    offered_of(marked, &|action| action.kind == ActionKind::Fix)
}

fn offered_of(marked: &str, wanted: &dyn Fn(&Action) -> bool) -> String {
    let (begin, end) = (marked.find('‹').unwrap(), marked.find('›').unwrap() - '‹'.len_utf8());
    let text = marked.replace(['‹', '›'], "");
    let mut session = Session::new();
    session.set_text("a.iv", &text);
    let selected = Span::new(u32::try_from(begin).unwrap(), u32::try_from(end).unwrap());
    let mut out = String::new();
    // In a cancellable query, as the server runs it.
    let found = session.ask(|_| (), |session| actions(session, "a.iv", selected));
    for action in found.unwrap_or_default().iter().filter(|action| wanted(action)) {
        let after = changed(&text, &action.edits);
        let mut edited_session = Session::new();
        edited_session.set_text("a.iv", &after);
        let problems = edited_session.diagnostics("a.iv");
        assert!(problems.iter().all(|d| !d.is_error()), "{}\n{after}\n{problems:?}", action.title);
        let mark = if action.preferred { " (preferred)" } else { "" };
        out += &format!("== {}{mark}\n{after}", action.title);
    }
    out
}

#[test]
fn actions_give_programs() {
    let mut out = offered("def f(x: [n]f64, w: [n]f64) -> f64 = sum i: ‹x[i] * w[i]› + 1.0\n");
    out += &offered("def ‹›f(x: f64) -> f64 = sin(x) * x\n");
    out += &offered("def f(x: [n]f64) -> f64 =\n  let ‹›y = x * 2.0\n  in sum i: y[i]\n");
    out += &offered("def f(x: f64) -> f64 = if x > 0.0 then ‹x * x› else 1.0\n");
    expect![[r#"
        == Extract into `let t`
        def f(x: [n]f64, w: [n]f64) -> f64 = sum i: let t = x[i] * w[i] in t + 1.0
        == Insert inferred types and extents here
        def f(x: [n]f64, w: [n]f64) -> f64 = sum i < n: x[i] * w[i] + 1.0
        == Insert the adjoint of `f` as a definition
        def f(x: f64) -> f64 = sin(x) * x

        def f_adj(x: f64, y_adj: f64) -> f64 = y_adj * (sin(x) + x * cos(x))
        == Insert the forward derivative of `f` as a definition
        def f(x: f64) -> f64 = sin(x) * x

        def f_tan(x: f64, x_tan: f64) -> f64 = x_tan * (sin(x) + x * cos(x))
        == Insert inferred types and extents here
        def f(x: [n]f64) -> f64 =
          let y: [n]f64 = x * 2.0
          in sum i: y[i]
        == Insert all inferred types and extents in `f`
        def f(x: [n]f64) -> f64 =
          let y: [n]f64 = x * 2.0
          in sum i < n: y[i]
        == Extract into `let t`
        def f(x: f64) -> f64 = if x > 0.0 then (let t = x * x in t) else 1.0
    "#]]
    .assert_eq(&out);
}

#[test]
fn names_that_mean_nothing_are_mended() {
    let mut out = offered("def f(width: f64) -> f64 = ‹widht› * 2.0\n");
    out += &offered(
        "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]\n\
         def f(x: [n + m - 1]f64, c: [m]f64) -> f64 =\n  let y = ‹›cnov(x, c)\n  in sum i: y[i]\n",
    );
    out += &offered("def area(x: f64) -> f64 = x * x\ndef f(x: f64) -> f64 = ‹aera›(x)\n");
    out += &offered("def f(x: f64) -> f64 = ‹›snh(x)\n");
    out += &offered("type Shape = Circle(f64)\ndef f(x: ‹›Shpae) -> f64 = 1.0\n");
    out += &offered("def f(a: [n, n]f64, b: [n]f64) -> [n]f64 = ‹linalg›.solve(a, b)\n");
    out += &offered("import stats\n\ndef f(a: [n, n]f64, b: [n]f64) -> [n]f64 = ‹solve›(a, b)\n");
    out += &offered("import linalg\n\ndef f(a: [n, n]f64, b: [n]f64) -> [n]f64 = linalg.‹sovle›(a, b)\n");
    out += &offered("import ‹›stat\n\ndef f(x: [n]f64) -> f64 = stats.mean(x)\n");
    // Names from other languages with a one-word equivalent.
    out += &offered("def f(x: fl‹›oat) -> f64 = x * 2.0\n");
    out += &offered("def f(x: f64) -> f64 = ‹ln›(x)\n");
    out += &offered("def f(a: bool, b: bool) -> bool = ‹not›(a) || b\n");
    out += &offered("def f(x: [n]f64) -> [n]f64 = ‹cumsum›(x)\n");
    expect![[r#"
        == Change `widht` to `width` (preferred)
        def f(width: f64) -> f64 = width * 2.0
        == Change `cnov` to `conv` (preferred)
        def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]
        def f(x: [n + m - 1]f64, c: [m]f64) -> f64 =
          let y = conv(x, c)
          in sum i: y[i]
        == Change `aera` to `area` (preferred)
        def area(x: f64) -> f64 = x * x
        def f(x: f64) -> f64 = area(x)
        == Change `snh` to `sinh` (preferred)
        def f(x: f64) -> f64 = sinh(x)
        == Change `Shpae` to `Shape` (preferred)
        type Shape = Circle(f64)
        def f(x: Shape) -> f64 = 1.0
        == Import `linalg` (preferred)
        import linalg

        def f(a: [n, n]f64, b: [n]f64) -> [n]f64 = linalg.solve(a, b)
        == Use `linalg.solve` (preferred)
        import stats
        import linalg

        def f(a: [n, n]f64, b: [n]f64) -> [n]f64 = linalg.solve(a, b)
        == Change `sovle` to `solve` (preferred)
        import linalg

        def f(a: [n, n]f64, b: [n]f64) -> [n]f64 = linalg.solve(a, b)
        == Change `stat` to `stats` (preferred)
        import stats

        def f(x: [n]f64) -> f64 = stats.mean(x)
        == Change `float` to `f64` (preferred)
        def f(x: f64) -> f64 = x * 2.0
        == Change `ln` to `log` (preferred)
        def f(x: f64) -> f64 = log(x)
        == Change `not` to `!` (preferred)
        def f(a: bool, b: bool) -> bool = !(a) || b
        == Change `cumsum(x)` to `((scan acc = 0.0 for i < len(x): acc + x…` (preferred)
        def f(x: [n]f64) -> [n]f64 = ((scan acc = 0.0 for i < len(x): acc + x[i])[1..len(x) + 1])
    "#]]
    .assert_eq(&out);
}

#[test]
fn brackets_without_their_partners_are_mended() {
    let mut out = offered("def area(r: f64) -> f64 = ‹›pi * (r * r -- of a circle\n");
    out += &offered("def f(x: [n]f64) -> f64 =\n  sum i: (x[i‹›]\n    + 1.0\n\ndef g() = 1\n");
    out += &offered("def f(x: [n]f64) -> f64 =\n  let y = exp(x‹›\n  in sum i: y[i]\n");
    out += &offered("def f(x: f64‹› -> f64 = x\n");
    out += &offered("def f(x: f64) -> f64 = x)‹›\n");
    expect![[r#"
        == Close `(` with `)` (preferred)
        def area(r: f64) -> f64 = pi * (r * r) -- of a circle
        == Close `(` with `)` (preferred)
        def f(x: [n]f64) -> f64 =
          sum i: (x[i])
            + 1.0

        def g() = 1
        == Close `(` with `)` (preferred)
        def f(x: [n]f64) -> f64 =
          let y = exp(x)
          in sum i: y[i]
        == Close `(` with `)` (preferred)
        def f(x: f64) -> f64 = x
        == Remove `)` (preferred)
        def f(x: f64) -> f64 = x
    "#]]
    .assert_eq(&out);
}

#[test]
fn sizes_that_do_not_agree_are_mended() {
    let mut out = offered("def difference(x: [n + 1]f64) -> [n + 1]f64 = for i < n: ‹›x[i + 1] - x[i]\n");
    out += &offered("def dot(x: [n]f64, y: [n + 1]f64) -> f64 = sum i: x[i] * y[‹›i]\n");
    out += &offered("def f(x: [n]f64) -> [n - 1]f64 = for i < n - 1: x[i]\ndef g(x: [m]f64) -> [m]f64 = ‹›f(x)\n");
    expect![[r#"
        == Change the size `n + 1` of the result to `n` (preferred)
        def difference(x: [n + 1]f64) -> [n]f64 = for i < n: x[i + 1] - x[i]
        == Change the size `n + 1` of `y` to `n`
        def dot(x: [n]f64, y: [n]f64) -> f64 = sum i: x[i] * y[i]
        == Change the size `n` of `x` to `n + 1`
        def dot(x: [n + 1]f64, y: [n + 1]f64) -> f64 = sum i: x[i] * y[i]
        == Add the range `i < n`
        def dot(x: [n]f64, y: [n + 1]f64) -> f64 = sum i < n: x[i] * y[i]
        == Insert inferred types and extents here
        def dot(x: [n]f64, y: [n + 1]f64) -> f64 = sum i < n: x[i] * y[i]
        == Change the size `m` of the result to `m - 1` (preferred)
        def f(x: [n]f64) -> [n - 1]f64 = for i < n - 1: x[i]
        def g(x: [m]f64) -> [m - 1]f64 = f(x)
    "#]]
    .assert_eq(&out);
}

#[test]
fn powers_are_written_with_their_sign() {
    let mut out = offered("def f(x: f64) -> f64 = x‹›**2 + 3.0 ** x\n");
    out += &offered("def f(x: [n]f64) -> f64 =\n  sum i: x[i]**2‹›\n");
    expect![[r#"
        == Replace `**` with `^` (preferred)
        def f(x: f64) -> f64 = x^2 + 3.0 ^ x
        == Replace `**` with `^` (preferred)
        def f(x: [n]f64) -> f64 =
          sum i: x[i]^2
    "#]]
    .assert_eq(&out);
}

#[test]
fn what_a_help_says_to_write_is_written() {
    let mut out = String::new();
    for marked in [
        "def mean(x: [n]f64) -> f64 = (sum i: x[i]) ‹›/ n\n",
        "def weighed(x: [n]f64) -> f64 = sum i: i ‹›* x[i]\n",
        "def last(x: [n]f64) -> f64 = x[‹›-1]\n",
        "def last(row: [5]f64) -> f64 = row[‹›-1]\n",
        "def last_of_some(x: [9]f64) -> f64 = x[1..4][‹›-1]\n",
        "def z(x: f64) -> f64 = if x ‹›= 0 then 1.0 else x\n",
        "def z(x: f64) -> f64 = x * x + 2 ‹›x - 1\n",
        "def z(x: f64) -> f64 ‹›-x + 1\n",
        "def z(x: f64) -> f64 ‹›x * 2\n",
        "def z(x: [n]f64) -> f64 = sum i < n ‹›x[i]\n",
        "def z(o: bool, x: f64) -> f64 = match o { true ‹›-x, _: x }\n",
        "def z(x: f64) -> {a: f64, b: f64} = {a: x, b ‹›-x}\n",
        "def z(x: f64) -> f64‹›: x * 2\n",
        "def z(x: f64)‹›: f64 = x\n",
        "def z(x: f64) -> f64 = ‹›return x\n",
        "‹›# twice\ndef z(x: f64) -> f64 = x * 2\n",
        "def z(x: f64) -> bool = x > 1 ‹›and x < 2\n",
        "def z(x: [n]f64, y: [n]f64) -> f64 = sum i: (x ‹›.* y)[i]\n",
        "type P = {mean: f64, sd: f64}\ndef z(p: P) -> f64 = p.m‹›aen * 2\n",
        "type Shape = Circle(f64) | Box(f64, f64) | Point\ndef z(s: Shape) -> f64 = match ‹›s { Circle(r): r }\n",
        "def z(o: (bool, bool)) -> f64 = match ‹›o { (true, false): 1.0, (false, _): 2.0 }\n",
    ] {
        out += &mended(marked);
    }
    expect![[r#"
        == Write `f64(n)` (preferred)
        def mean(x: [n]f64) -> f64 = (sum i: x[i]) / f64(n)
        == Write `f64(i)` (preferred)
        def weighed(x: [n]f64) -> f64 = sum i: f64(i) * x[i]
        == Change `-1` to `n - 1` (preferred)
        def last(x: [n]f64) -> f64 = x[n - 1]
        == Change `-1` to `4` (preferred)
        def last(row: [5]f64) -> f64 = row[4]
        == Change `-1` to `2` (preferred)
        def last_of_some(x: [9]f64) -> f64 = x[1..4][2]
        == Change `=` to `==` (preferred)
        def z(x: f64) -> f64 = if x == 0 then 1.0 else x
        == Insert `*` (preferred)
        def z(x: f64) -> f64 = x * x + 2 * x - 1
        == Insert `=` (preferred)
        def z(x: f64) -> f64 = -x + 1
        == Insert `=` (preferred)
        def z(x: f64) -> f64 = x * 2
        == Insert `:` (preferred)
        def z(x: [n]f64) -> f64 = sum i < n: x[i]
        == Insert `:` (preferred)
        def z(x: f64) -> {a: f64, b: f64} = {a: x, b: -x}
        == Change `:` to `=` (preferred)
        def z(x: f64) -> f64 = x * 2
        == Change `:` to `->` (preferred)
        def z(x: f64) -> f64 = x
        == Remove `return` (preferred)
        def z(x: f64) -> f64 = x
        == Change `#` to `--` (preferred)
        -- twice
        def z(x: f64) -> f64 = x * 2
        == Change `and` to `&&` (preferred)
        def z(x: f64) -> bool = x > 1 && x < 2
        == Change `.*` to `*` (preferred)
        def z(x: [n]f64, y: [n]f64) -> f64 = sum i: (x * y)[i]
        == Change `maen` to `mean` (preferred)
        type P = {mean: f64, sd: f64}
        def z(p: P) -> f64 = p.mean * 2
        == Add 2 arms (preferred)
        type Shape = Circle(f64) | Box(f64, f64) | Point
        def z(s: Shape) -> f64 = match s { Circle(r): r, Box(_, _): error("not implemented"), Point: error("not implemented") }
        == Add an arm for `(true, true)` (preferred)
        def z(o: (bool, bool)) -> f64 = match o { (true, false): 1.0, (false, _): 2.0, (true, true): error("not implemented") }
    "#]].assert_eq(&out);
}

/// A fix is offered even if the text after it still does not parse.
#[test]
fn one_slip_is_mended_after_the_other() {
    let text = "def z(x: f64) -> bool = (x != 0) and not (x > 1) or x <> 2\n";
    let mut session = Session::new();
    let (mut text, mut out) = (text.to_owned(), String::new());
    for _ in 0..4 {
        session.set_text("a.iv", &text);
        let Some(at) = session.diagnostics("a.iv").first().map(|d| d.span.start) else { break };
        let found = session.ask(|_| (), |session| actions(session, "a.iv", Span::new(at, at))).unwrap_or_default();
        let Some(first) = found.iter().find(|action| action.preferred) else { break };
        text = changed(&text, &first.edits);
        out += &format!("== {}\n{text}", first.title);
    }
    expect![[r#"
        == Change `and` to `&&`
        def z(x: f64) -> bool = (x != 0) && not (x > 1) or x <> 2
        == Change `or` to `||`
        def z(x: f64) -> bool = (x != 0) && not (x > 1) || x <> 2
        == Change `not` to `!`
        def z(x: f64) -> bool = (x != 0) && ! (x > 1) || x <> 2
        == Change `<>` to `!=`
        def z(x: f64) -> bool = (x != 0) && ! (x > 1) || x != 2
    "#]]
    .assert_eq(&out);
}

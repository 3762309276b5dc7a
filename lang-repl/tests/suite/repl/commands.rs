//! Tests of the commands that measure, differentiate, set and save.

use expect_test::expect;

use crate::harness::{Dir, session, session_in};

#[test]
fn gradients_have_names() {
    session(
        "\
import linalg as la
def f(x: [n]f64, k: i64, rate: f64) -> f64 = rate * (sum i: x[i]^k)
let v = [1.0, 2.0]
:grad f(v, 3, 0.5)
:grad f(k: 2, rate: 1.0, x: v)
:grad la.norm(v + 2)
let w = {a: 2.0, b: [1.0, 3.0]}
let n = 3
:grad w.a^n * w.b[1] + v[0]
:grad 1 + n
:grad f(v, 3)
:grad v
",
        expect![[r#"
            import la
            def f(x: [n]f64, k: i64, rate: f64) -> f64
            v: [2]f64 = [1.0, 2.0]
            f64 = 4.5
            wrt x: [2]f64 = [1.5, 6.0]
            wrt rate: f64 = 9.0
            f64 = 5.0
            wrt x: [2]f64 = [2.0, 4.0]
            wrt rate: f64 = 5.0
            f64 = 5.0
            wrt x: [2]f64 = [0.6, 0.8]
            w: {a: f64, b: [2]f64} = {a: 2.0, b: [1.0, 3.0]}
            n: i64 = 3
            f64 = 25.0
            wrt v: [2]f64 = [1.0, 0.0]
            wrt w: {a: f64, b: [2]f64} = {a: 36.0, b: [0.0, 8.0]}
            [E0600] Error: `1 + n` has no gradient: it is neither a function call nor an expression with real session variables
            [E0201] Error: `f` expects 3 arguments, found 2
               ╭─[ repl:1:30 ]
               │
             1 │ value_and_grad(\(v: [2]f64): f(v, 3))(v)
               │                              ───┬───
               │                                 ╰───── here
               │
               │ Help: its signature is `f(x: [n]f64, k: i64, rate: f64) -> f64`
            ───╯
            [E0214] Error: `value_and_grad` needs a function with one real result, but this one returns `[2]f64`
               ╭─[ repl:1:16 ]
               │
             1 │ value_and_grad(\(v: [2]f64): v)(v)
               │                ───────┬───────
               │                       ╰───────── here
               │
               │ Help: for several outputs, use `jacobian`, `vjp` or `jvp`
            ───╯
            --- exit status: 1
        "#]],
    );
}

#[test]
fn what_is_measured() {
    let dir = Dir::new(&[]);
    let input = "\
let x = for i < 10: f64(i)
:cost sum i: [i % 2 == 0] * x[i]
:time x[0]
:bench x[3] * 2
:bench print(x)
:cost 1 +
:bench y
:time [1, 2][x[5] |> i64]
";
    let shown = dir.run(&[], input.as_bytes());
    let (out, errors) = shown.split_once("--- stderr\n").unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[1] == "work 4, tests 10, iterations 10" && lines[2] == "f64 = 0.0", "{out}");
    for line in &lines[3..5] {
        assert!(line.contains(" (half of ") && line.contains(" between ") && line.ends_with("s)"), "{line}");
    }
    assert_eq!(lines.len(), 5);
    assert!(errors.starts_with("checked in ") && errors.contains("E0001") && errors.contains("E0100"), "{errors}");
}

#[test]
fn a_definition_has_its_formulas() {
    session(
        "\
def dot(a: [n]f64, b: [n]f64) -> f64 = sum i: a[i] * b[i]
:cost dot
:cost dot([1, 2], [3, 4])
",
        expect![[r#"
            def dot(a: [n]f64, b: [n]f64) -> f64
            dot, for n of at least 1

            primal   work        2·n − 1
                     iterations  n
                     span        ≤ n
                     io          2·n + 1
            forward  work        6·n − 2
                     iterations  3·n + 2
                     span        ≤ n + 1
            adjoint  work        4·n − 1
                     iterations  3·n
                     span        ≤ max(n, 1)

            adjoint + io ≤ 2 · (primal + io), proved for all sizes; 2 is the least factor, at n = 1

            work by source expression
              primal   2·n − 1  1:40 sum i: a[i] * b[i]
              adjoint  4·n − 1  1:40 sum i: a[i] * b[i]
            work 3, tests 0, iterations 2
        "#]],
    );
}

#[test]
fn settings_hold_for_what_comes() {
    session(
        "\
:set
:set nan
:set nan maybe
:set nam stop
:set nan stop
log(-1.0)
grad(\\(x: f64): sqrt(x * x))(0.0)
let z = [1.0, 0.0, 4.0]
z / [1.0, 0.0, 2.0]
z |> \\(t: [3]f64): sum i: (t[i] - 1) / (t[i] - 1)
nan + 1
:set nan=ignore
log(-1.0)
:set count on
1.0 + 2
:set count off
:set memory 1
for i < 1000000: 1.0
:set a b c
",
        expect![[r#"
              backend   cpu      the backend: machine code for the CPU, or the interpreter only
              budget    10000000000 number of operations above which a run needs confirmation
              color     auto     coloured output
              count     off      print the work, tests and iterations of every evaluation
              digits    usual    significant digits of reals; all also prints arrays in full
              memory    auto     memory limit for the values of an evaluation, in MiB; auto is most of the machine's memory
              nan       ignore   stop an evaluation that produces NaN, or ignore it
              progress  auto     progress bar for long computations
              threads   auto     number of threads; auto is one per core
              threshold 1000     number of elements above which the middle of an array is omitted
              time      off      print the times of checking and running
              width     auto     line width in characters; auto is the width of the terminal
              nan       ignore   stop an evaluation that produces NaN, or ignore it
              values: stop or ignore
            [E0600] Error: `maybe` is not a value of `nan`; use stop or ignore
            [E0600] Error: unknown setting `nam`; did you mean `nan`?
            [E0515] Error: this result is NaN, although no operand is NaN
               ╭─[ repl:1:1 ]
               │
             1 │ log(-1.0)
               │ ────┬────
               │     ╰────── log(-1.0)
            ───╯
            [E0515] Error: the tangent of this result is NaN, although no operand is NaN
               ╭─[ repl:1:17 ]
               │
             1 │ grad(\(x: f64): sqrt(x * x))(0.0)
               │                 ─────┬─────
               │                      ╰─────── sqrt(0.0 with tangent 0.0)
               │
               │ Note: called from the input at repl:1:1
            ───╯
            z: [3]f64 = [1.0, 0.0, 4.0]
            [E0515] Error: this result is NaN, although no operand is NaN
               ╭─[ repl:1:1 ]
               │
             1 │ z / [1.0, 0.0, 2.0]
               │ ─────────┬─────────
               │          ╰─────────── element [1]: 0.0 / 0.0
            ───╯
            [E0515] Error: this result is NaN, although no operand is NaN
               ╭─[ repl:1:27 ]
               │
             1 │ z |> \(t: [3]f64): sum i: (t[i] - 1) / (t[i] - 1)
               │                           ───────────┬───────────
               │                                      ╰───────────── 0.0 / 0.0
               │
               │ Note: called from the input at repl:1:1
            ───╯
            f64 = nan
            f64 = nan
            work 1, tests 0, iterations 0
            f64 = 3.0
            [E0508] Error: this computation needs 8 MiB at once, but the memory limit is 1 MiB
               ╭─[ repl:1:1 ]
               │
             1 │ for i < 1000000: 1.0
               │ ──────────┬─────────
               │           ╰─────────── here
            ───╯
            [E0600] Error: :set takes a name and a value
            --- exit status: 1
        "#]],
    );
}

/// A saved session restores the same values when it is loaded.
#[test]
fn sessions_are_saved() {
    let files: &[(&str, &[u8])] = &[
        ("sub/mine.iv", b"def twice(x: f64) -> f64 = 2 * x\nlet data: [?n]f64 = load(\"xs.csv\")\n"),
        ("sub/xs.csv", b"1\n2\n3\n"),
        ("other.iv", b"import \"./sub/mine.iv\" as m\nlet mine: [?n]f64 = load(\"sub/xs.csv\")\ndef use(k: f64) -> f64 = m.twice(k)\n"),
        ("precious.iv", b"let x = 1\n"),
    ];
    let dir = Dir::new(files);
    session_in(
        &dir,
        "\
:load other.iv
--| Its square.
def sq(x: f64) -> f64 = x^2
derivative sq(x; dx) = 3 * x * dx
type T = A(f64) | B
let a = 2.0
let b = a + 1
let a = 5.0
def h(x: f64) -> f64 = x
def g(x: f64) -> f64 = h(x)
def h(x: f64, y: f64) -> f64 = x
for i < 3000: sqrt(f64(i));
let kept = ans
A(2.5)
let tree = ans
[{x: 0.1, y: -2}, {x: nan, y: 3}]
let rows = ans
\\(x: f64): x
let function = ans
let from = load(\"precious.iv\")
grad(sq)(1.0)
:save sub/saved.iv
:save precious.iv
:save sub/saved.iv
:save! precious.iv
:save nowhere/saved.iv
:env
:reset
:env
:load sub/saved.iv
:env
(b, grad(sq)(1.0), kept[2999], tree, rows[0], m.data, mine, use(2.0))
",
        expect![[r#"
            loaded other.iv
            def sq(x: f64) -> f64
            derivative sq
            type T
            a: f64 = 2.0
            b: f64 = 3.0
            a: f64 = 5.0
            def h(x: f64) -> f64
            def g(x: f64) -> f64
            note: new errors in `g`, which the next use reports
            def h(x: f64, y: f64) -> f64
            kept: [3000]f64 = [0.0, 1.0, 1.41421, …, 54.7449, 54.754, 54.7631]
            T = A(2.5)
            tree: T = A(2.5)
            [2]{x: f64, y: i64} = [{x: 0.1, y: -2}, {x: nan, y: 3}]
            rows: [2]{x: f64, y: i64} = [{x: 0.1, y: -2}, {x: nan, y: 3}]
            (x: f64) -> f64 = <function>
            function: (x: f64) -> f64 = <function>
            [E0603] Error: `precious.iv` is not a data file
               ╭─[ repl:1:17 ]
               │
             1 │ let from = load("precious.iv")
               │                 ──────┬──────
               │                       ╰──────── here
               │
               │ Help: use .npy, .npz, .csv, .json or .png; text tables (.txt) can only be written
            ───╯
            f64 = 3.0
            saved sub/saved.iv, sub/saved-kept.npy
            note: `function` cannot be saved, because a function cannot be written as a value
            [E0605] Error: `precious.iv` was not written by :save
              Help: `:save! precious.iv` replaces it
            saved sub/saved.iv, sub/saved-kept.npy
            note: `function` cannot be saved, because a function cannot be written as a value
            saved precious.iv, precious-kept.npy
            note: `function` cannot be saved, because a function cannot be written as a value
            [E0605] Error: `nowhere/saved-kept.npy` cannot be written: no such directory
            import m
            let mine: [3]f64
            def use(k: f64) -> f64
            def sq(x: f64) -> f64
            derivative sq
            type T
            let b: f64
            let a: f64
            def g(x: f64) -> f64
            def h(x: f64, y: f64) -> f64
            let kept: [3000]f64  -- 23 KiB
            let tree: T
            let rows: [2]{x: f64, y: i64}
            let function: (x: f64) -> f64
            let ans: f64
            loaded sub/saved.iv
            import m
            def use(k: f64) -> f64
            type T
            let tree: T
            def sq(x: f64) -> f64
            derivative sq
            let rows: [2]{x: f64, y: i64}
            let mine: [3]f64
            let kept: [3000]f64  -- 23 KiB
            def h(x: f64, y: f64) -> f64
            let a: f64
            let b: f64
            let ans: f64
            (f64, f64, f64, T, {x: f64, y: i64}, [3]f64, [3]f64, f64) =
            (6.0,
             3.0,
             54.76312628037227,
             A(2.5),
             {x: 0.1, y: -2},
             [1.0, 2.0, 3.0],
             [1.0, 2.0, 3.0],
             4.0)
            --- exit status: 1
        "#]],
    );
    let saved = std::fs::read_to_string(dir.path().join("sub/saved.iv")).unwrap();
    let folder = std::fs::canonicalize(dir.path()).unwrap().display().to_string();
    expect![[r#"
        -- A session of iverson, written by :save.

        import "FOLDER/sub/mine.iv" as m

        def use(k: f64) -> f64 = m.twice(k)

        type T = A(f64) | B

        let tree: T = A(2.5)

        --| Its square.
        def sq(x: f64) -> f64 = x^2

        derivative sq(x; dx) = 3 * x * dx

        let rows: [2]{x: f64, y: i64} = [{x: 0.1, y: -2}, {x: nan, y: 3}]

        let mine: [?n]f64 = load("FOLDER/sub/xs.csv")

        let kept: [3000]f64 = load("saved-kept.npy")

        def h(x: f64, y: f64) -> f64 = x

        -- This has errors, or needs a definition that could not be saved:
        -- def g(x: f64) -> f64 = h(x)

        let a = 5.0

        let b = a + 1

        let ans: f64 = 3.0
    "#]]
    .assert_eq(&saved.replace(&folder, "FOLDER").replace(&dir.path().display().to_string(), "FOLDER"));
    assert_eq!(dir.run(&["run", "sub/saved.iv"], b""), "");
    assert_eq!(dir.run(&["check", "sub/saved.iv"], b""), "");
}

/// The operation that produces a NaN is reported; operations on an existing NaN are not.
#[test]
fn the_nan_trap() {
    let dir = Dir::new(&[("gaps.csv", b"1\nNA\n3\n")]);
    let input = "\
f32(0.0) / f32(0.0)
inf - inf
sum i < 2: [inf, -inf][i]
sum i < 2: {a: [inf, -inf][i], b: 1.0}
prod i < 3: [0.0, 2.0, inf][i]
(-8.0)^0.5
[1.0, 4.0] - [0.0, inf] * [1.0, 0.0]
let x = [inf] in x with [0] += -inf
map(log, [1.0, -1.0])
[[1.0, -2.0], [3.0, 4.0]] |> \\(m: [2, 2]f64): sqrt(m)
grad(\\(x: f64): x^0.5 * x)(0.0)
grad(grad(\\(x: f64): sqrt(x * x * x)))(0.0)
vjp(\\(v: [2]f64): v / v[0])([0.0, 1.0], [1.0, 1.0])
def g(x: f64) -> f64 = x
derivative g(x; dx) = dx * (x / x)
grad(g)(0.0)
nan
nan * 2 + max(nan, 1.0)
let gaps: [?n]f64 = load(\"gaps.csv\")
(sum i: gaps[i], sort(gaps))
0.0 * 1.0
";
    expect![[r#"
        def g(x: f64) -> f64
        derivative g
        f64 = nan
        f64 = nan
        gaps: [3]f64 = [1.0, nan, 3.0]
        (f64, [3]f64) = (nan, [1.0, 3.0, nan])
        f64 = 0.0
        --- stderr
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:14: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:25: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:1: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:47: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:17: error[E0515]: the tangent of this result is NaN, although no operand is NaN
        repl:1:22: error[E0515]: the tangent of this result is NaN, although no operand is NaN
        repl:1:19: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:29: error[E0515]: this result is NaN, although no operand is NaN
        repl:1:21: warning[W0606]: `gaps.csv`: column 1 has no value in line 2; it is read as NaN
        --- status 1
    "#]]
    .assert_eq(&dir.run(&["--nan", "stop", "--format", "short"], input.as_bytes()));
}

/// Long arrays are sorted in runs. The result must be sorted, and the sort stable.
#[test]
fn long_arrays_are_sorted() {
    session(
        "\
let n = 1_100_000
let x = for i < n: f64((i * 7919) % 1000);
let p = argsort(x);
all i < n - 1: x[p[i]] < x[p[i + 1]] || (x[p[i]] == x[p[i + 1]] && p[i] < p[i + 1])
",
        expect![[r#"
            n: i64 = 1100000
            bool = true
        "#]],
    );
}

/// The prompt knows the modules in the library, and `:save` writes the imports that a file needs.
#[test]
fn the_library_is_known_without_an_import() {
    session(
        "\
stats.mean([1.0, 3.0])
def spread(x: [n]f64) -> f64 = stats.sd(x)
spread([1.0, 3.0])
let nn = {softmax: 3.0}
nn.softmax
softmax([1.0])
:save kept.iv
:reset
:load kept.iv
spread([1.0, 3.0])
",
        expect![[r#"
            f64 = 2.0
            def spread(x: [n]f64) -> f64
            f64 = 1.0
            nn: {softmax: f64} = {softmax: 3.0}
            f64 = 3.0
            [E0100] Error: `softmax` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ softmax([1.0])
               │ ───┬───
               │    ╰───── here
               │
               │ Help: an imported module defines it: write `nn.softmax`
            ───╯
            saved kept.iv
            loaded kept.iv
            f64 = 1.0
            --- exit status: 1
        "#]],
    );
}

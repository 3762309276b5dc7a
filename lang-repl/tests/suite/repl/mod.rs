//! Tests of the REPL on a pipe: sessions as scripts, with mistakes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

mod commands;
mod derivatives;
mod first_session;
mod lines;
mod progress;
mod questions;
mod values;

use crate::harness::{Dir, session, session_in};
use expect_test::expect;

#[test]
fn a_rule_goes_with_its_definition() {
    session(
        "\
def f(x: f64) -> f64 = 2 * x
derivative f(x; dx) = 20 * dx
grad(f)(3.0)
def f(x: f64) -> f64 = x^2
grad(f)(3.0)
adjoint f(x; dy) = 60 * dy
grad(f)(3.0)
f(3.0)
",
        expect![[r#"
            def f(x: f64) -> f64
            derivative f
            f64 = 20.0
            note: the derivative of `f` was removed, because it belonged to the previous definition
            def f(x: f64) -> f64
            f64 = 6.0
            adjoint f
            f64 = 60.0
            f64 = 9.0
        "#]],
    );
}

#[test]
fn a_session_with_mistakes() {
    session(
        "\
1 + 2
ans * 10
let x = [1.0, 2.0, 3.0]
def square(y: [n]f64) -> f64 =
  sum i: y[i]^2

square(x)
square(x);
ans
squar(x)
def bad(a: f64) -> f64 = a + true
bad(1)
[1, 2,
 3]
x[3]
1 // 0
ans
:type for i < 3: 2 * i
:t x
:foo
:laod x
:type
()
:env
",
        expect![[r#"
            i64 = 3
            i64 = 30
            x: [3]f64 = [1.0, 2.0, 3.0]
            def square(y: [n]f64) -> f64
            f64 = 14.0
            f64 = 14.0
            [E0100] Error: `squar` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ squar(x)
               │ ──┬──
               │   ╰──── here
               │
               │ Help: did you mean `square`?
            ───╯
            [E0209] Error: `+` needs operands of the same type, but these are `f64` and `bool`
               ╭─[ repl:1:26 ]
               │
             1 │ def bad(a: f64) -> f64 = a + true
               │                          ┬───┬─┬─
               │                          ╰───────── `f64`
               │                              │ │
               │                              ╰───── here
               │                                │
               │                                ╰─── `bool`
               │
               │ Help: `[p] * e` is `e` where the condition `p` holds, and 0 elsewhere
            ───╯
            [E0100] Error: `bad` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ bad(1)
               │ ─┬─
               │  ╰─── here
            ───╯
            [3]i64 = [1, 2, 3]
            [E0306] Error: the index `3` is always out of bounds: axis 0 has extent `3`
               ╭─[ repl:1:3 ]
               │
             1 │ x[3]
               │   ┬
               │   ╰── here
               │
               │ Help: indices run from 0 to `2`
            ───╯
            [E0505] Error: integer division by zero
               ╭─[ repl:1:1 ]
               │
             1 │ 1 // 0
               │ ───┬──
               │    ╰──── here
            ───╯
            [3]i64 = [1, 2, 3]
            [3]i64
            [3]f64
            [E0600] Error: unknown command :foo; :help lists all commands
            [E0600] Error: unknown command :laod; did you mean :load?
            [E0600] Error: :type needs EXPR; see :help type
            () = ()
            let x: [3]f64
            def square(y: [n]f64) -> f64
            let ans: ()
            --- exit status: 1
        "#]],
    );
}

#[test]
fn definitions_take_the_place_of_earlier_ones() {
    session(
        "\
def f(x: f64) -> f64 = x + 1
def g(x: f64) -> f64 = f(x) * 10
let y = g(1)
def f(x: f64) -> f64 = x + 2
g(1)
y
def f(x: f64, k: f64) -> f64 = x + k
g(1)
y
def g(x: f64) -> f64 = f(x, 1) * 10
y
let f = 5
f
type T = A | B
let t = A
type T = A(i64) | C
t
let t = C
t
",
        expect![[r#"
            def f(x: f64) -> f64
            def g(x: f64) -> f64
            y: f64 = 20.0
            def f(x: f64) -> f64
            f64 = 30.0
            f64 = 30.0
            note: new errors in `g`, which the next use reports
            def f(x: f64, k: f64) -> f64
            [E0201] Error: `f` expects 2 arguments, found 1
               ╭─[ repl:1:24 ]
               │
             1 │ def g(x: f64) -> f64 = f(x) * 10
               │                        ──┬─
               │                          ╰─── here
               │
               │ Help: its signature is `f(x: f64, k: f64) -> f64`
            ───╯
            [E0201] Error: `f` expects 2 arguments, found 1
               ╭─[ repl:1:24 ]
               │
             1 │ def g(x: f64) -> f64 = f(x) * 10
               │                        ──┬─
               │                          ╰─── here
               │
               │ Help: its signature is `f(x: f64, k: f64) -> f64`
            ───╯
            def g(x: f64) -> f64
            f64 = 20.0
            note: new errors in `g`, which the next use reports
            f: i64 = 5
            i64 = 5
            type T
            t: T = A
            type T
            (i64) -> T = <function>
            t: T = C
            T = C
            --- exit status: 1
        "#]],
    );
}

#[test]
fn values_follow_what_they_are_computed_from() {
    session(
        "\
let n = 3
let x = for i < n: i
let n = 5
x
let (a, b) = (1, [2, 3])
let a = 10.5
b
def b(x: i64) -> i64 = x
b(a)
b(4)
let c = ans + 1
ans + c
c
let q = 1 // 0
q
let q = 7;
q
let q = 1 // 0
q
",
        expect![[r#"
            n: i64 = 3
            x: [3]i64 = [0, 1, 2]
            n: i64 = 5
            [5]i64 = [0, 1, 2, 3, 4]
            a: i64 = 1
            b: [2]i64 = [2, 3]
            a: f64 = 10.5
            [2]i64 = [2, 3]
            def b(x: i64) -> i64
            [E0206] Error: this has type `f64`, but `i64` is expected for argument `x` of `b`
               ╭─[ repl:1:3 ]
               │
             1 │ b(a)
               │   ┬
               │   ╰── here
               │
               │ Help: `i64(…)` converts to an integer, rounding towards zero
            ───╯
            i64 = 4
            c: i64 = 5
            i64 = 9
            i64 = 5
            [E0505] Error: integer division by zero
               ╭─[ repl:1:9 ]
               │
             1 │ let q = 1 // 0
               │         ───┬──
               │            ╰──── here
            ───╯
            [E0100] Error: `q` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ q
               │ ┬
               │ ╰── here
            ───╯
            i64 = 7
            [E0505] Error: integer division by zero
               ╭─[ repl:1:9 ]
               │
             1 │ let q = 1 // 0
               │         ───┬──
               │            ╰──── here
            ───╯
            i64 = 7
            --- exit status: 1
        "#]],
    );
}

#[test]
fn inputs_of_several_lines() {
    session(
        "\
-- only a comment
--| Documented.
def h(x: f64) -> f64 =
  let y = x
  let z = y
  in z + 1
h(1)
(1 +

2
def k(x: f64) -> f64 = if x < 0
  then -x
  else x
k(-3)
let s =
  h(1) +
  k(1)
",
        expect![[r#"
            def h(x: f64) -> f64
            f64 = 2.0
            [E0002] Error: unclosed bracket `(`
               ╭─[ repl:1:1 ]
               │
             1 │ (1 +
               │ ┬
               │ ╰── here
            ───╯
            i64 = 2
            def k(x: f64) -> f64
            f64 = 3.0
            s: f64 = 3.0
            --- exit status: 1
        "#]],
    );
}

#[test]
fn what_newcomers_type_first() {
    session(
        "\
?
help
quit
exit();
let x = 3 in x
let x = 3 in x + y
let y = 4 in
let z = 5 in
y * z;
ans
def f(k: i64, x: [n]f64) -> f64 = x[k]
:type f
:type sort
:type transpose
:type f(0, [1.0])
x = 3
def help() = 7
help()
",
        expect![[r#"
            [E0600] Error: a command begins with a colon: write :help
            [E0600] Error: a command begins with a colon: write :help
            [E0600] Error: a command begins with a colon: write :quit
            [E0600] Error: a command begins with a colon: write :quit
            i64 = 3
            [E0100] Error: `y` is not defined
               ╭─[ repl:1:18 ]
               │
             1 │ let x = 3 in x + y
               │                  ┬
               │                  ╰── here
            ───╯
            i64 = 20
            def f(k: i64, x: [n]f64) -> f64
            (k: i64, x: [n]f64) -> f64
            (x: [n]a) -> [n]a where a: num
            (x: [n, m]a) -> [m, n]a
            f64
            [E0001] Error: the language has no assignment
               ╭─[ repl:1:3 ]
               │
             1 │ x = 3
               │   ┬
               │   ╰── here
               │
               │ Help: bind a name with `let x = …`
            ───╯
            def help() -> i64
            i64 = 7
            --- exit status: 1
        "#]],
    );
}

#[test]
fn effects_and_failures_deep_inside() {
    session(
        "\
print(1, \"and\", [2.5])
do print(ans)
def down(n: i64) -> i64 = if n == 0 then error(\"the bottom\") else down(n - 1)
down(30)
dbg(1 + 1)
assert(1 > 2, \"one is more\")
",
        expect![[r#"
            1 and [2.5]
            [E0100] Error: `ans` is not defined
               ╭─[ repl:1:10 ]
               │
             1 │ do print(ans)
               │          ─┬─
               │           ╰─── here
            ───╯
            def down(n: i64) -> i64
            [E0503] Error: the bottom
               ╭─[ repl:1:42 ]
               │
             1 │ def down(n: i64) -> i64 = if n == 0 then error("the bottom") else down(n - 1)
               │                                          ─────────┬─────────
               │                                                   ╰─────────── here
               │
               │ Note: called from `down` at repl:1:67, 20 times
               │       … and 11 more calls
            ───╯
            repl:1:1: 2
            i64 = 2
            [E0502] Error: assertion failed: one is more
               ╭─[ repl:1:1 ]
               │
             1 │ assert(1 > 2, "one is more")
               │ ──────────────┬─────────────
               │               ╰─────────────── here
            ───╯
            --- exit status: 1
        "#]],
    );
}

#[test]
fn files_are_loaded_and_reloaded() {
    let dir = Dir::new(&[
        (
            "lib/a.iv",
            b"import \"./b.iv\" as b\ndef f(x: f64) -> f64 = b.g(x) + 1\nlet one = f(0)\ndo print(\"a runs\")\n",
        ),
        ("lib/b.iv", b"def g(x: f64) -> f64 = 2 * x\n"),
        ("bad.iv", b"def ok(x: f64) -> f64 = x\ndef no(x: f64) -> f64 = y\n"),
        ("junk.iv", b"1 + 1\n"),
    ]);
    session_in(
        &dir,
        "\
:load lib/a.iv
f(3)
def f(x: f64) -> f64 = 0
f(3)
:reload
f(3)
:load bad.iv
ok(1)
:load junk.iv
:load nowhere.iv
:load lib
import \"./lib/b.iv\" as bee
let four = bee.g(2)
let bee_four = (four, bee.g(4))
import \"./nowhere.iv\" as n
:env
",
        expect![[r#"
            a runs
            loaded lib/a.iv
            f64 = 7.0
            def f(x: f64) -> f64
            f64 = 0.0
            a runs
            loaded lib/a.iv
            f64 = 7.0
            [E0100] Error: `y` is not defined
               ╭─[ bad.iv:2:25 ]
               │
             2 │ def no(x: f64) -> f64 = y
               │                         ┬
               │                         ╰── here
            ───╯
            loaded bad.iv, without `no`, because of errors
            f64 = 1.0
            [E0009] Error: text outside all items
               ╭─[ junk.iv:1:1 ]
               │
             1 │ 1 + 1
               │ ┬
               │ ╰── begins here
            ───╯
            [E0602] Error: `nowhere.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            [E0602] Error: `lib` cannot be read: it is a directory
            import bee
            four: f64 = 4.0
            bee_four: (f64, f64) = (4.0, 8.0)
            [E0602] Error: `nowhere.iv` cannot be read: no such file
               ╭─[ repl:1:8 ]
               │
             1 │ import "./nowhere.iv" as n
               │        ───────┬──────
               │               ╰──────── here
               │
               │ Help: write the path relative to the importing file
            ───╯
            let ans: f64
            import b
            def f(x: f64) -> f64
            let one: f64
            def ok(x: f64) -> f64
            import bee
            let four: f64
            let bee_four: (f64, f64)
            --- exit status: 1
        "#]],
    );
}

#[test]
fn help_lists_the_commands() {
    session(
        ":help\n:help load\n:help laod\n:quit\n1\n",
        expect![[r#"
            Enter an expression to see its value, or a definition (def, type, let, import) to keep it.
            `ans` is the last value; a final `;` suppresses the output; Ctrl-C stops a computation.

              ?NAME                 documentation of a name: signature, text, example, rules; ??NAME adds its source and adjoint
              :type EXPR            the type of an expression, without evaluating it
              :cost EXPR            the work, tests and iterations of one evaluation, or the formulas of a definition
              :time EXPR            the value, and the times of checking and running
              :bench EXPR           the time of an evaluation: median and spread of many runs
              :grad EXPR            the value of an expression and its gradient
              :adjoint NAME         the adjoint of a definition, as Iverson source: the cotangents of its arguments
              :forward NAME         the forward derivative of a definition, as Iverson source: the tangent of its result
              :plot ARGS            short for `do plot(ARGS)`
              :explain CODE         the explanation of an error code
              :load FILE            load the definitions of a file and run its `let` and `do` items
              :reload               read loaded and imported files again
              :save FILE            write the session to a file for `:load` and `iverson run`; :save! replaces any file
              :ssa NAME             a definition in Tensor SSA: one array operation per line
              :env                  the current definitions and the sizes of their values
              :reset                remove all definitions
              :set [NAME [VALUE]]   show all settings, or show or change one
              :backend [cpu|interp] the backend: machine code for the CPU, or the interpreter only
              :threads [N]          the number of threads
              :help [COMMAND]       this list, or details of one command
              :quit                 leave the session; Ctrl-D does too
            :load FILE: load the definitions of a file and run its `let` and `do` items
            Replaces definitions of the same names. Omits definitions with errors and their users. A
            file whose `do` fails stays loaded.
              :load examples/deconvolution.iv
            unknown command :laod; did you mean :load?
        "#]],
    );
}

#[test]
fn lines_that_are_no_text() {
    let dir = Dir::new(&[]);
    let mut input = b"1\n\xFF\xFE2\n3\n".to_vec();
    input.extend("(".repeat(100_000).bytes());
    input.extend(b"\n\n\n4\n");
    input.extend("x + ".repeat(250_000).bytes());
    input.extend(b"1\n5");
    let shown = dir.run(&[], &input);
    let good: Vec<&str> = shown.lines().filter(|l| l.starts_with("i64")).collect();
    assert_eq!(good.first(), Some(&"i64 = 1"));
    assert!(good.contains(&"i64 = 3") && good.contains(&"i64 = 4") && good.contains(&"i64 = 5"), "{good:?}");
    assert!(shown.contains("[E0007] Error: a line is not UTF-8: byte 0 is 0xFF"));
    assert!(shown.ends_with("--- status 1\n") && shown.len() < 100_000);
}

#[test]
fn nothing_and_json() {
    let dir = Dir::new(&[]);
    assert_eq!(dir.run(&[], b""), "");
    expect![[r#"
        {"error": [{"file": null, "severity": "error", "code": "E0600", "message": "a REPL session cannot print JSON", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "use `iverson eval EXPR --format json`"}]}
        --- status 2
    "#]].assert_eq(&dir.run(&["--format", "json"], b"1\n"));
}

/// Ctrl-C stops the computation and keeps the session.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_session() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::Command;

    let dir = Dir::new(&[]);
    let mut child = dir.command(&[]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stdin.write_all(b"let kept = 42\n").unwrap();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "kept: i64 = 42\n");
    // The output of `dbg` shows that the computation has begun.
    stdin.write_all(b"let lost = loop x = dbg(0) while x >= 0: x * 0\n").unwrap();
    line.clear();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "repl:1:21: 0\n");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    stdin.write_all(b"kept + 1\n").unwrap();
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "i64 = 43\n");
    drop(stdin);
    let mut errors = String::new();
    stderr.read_to_string(&mut errors).unwrap();
    assert!(errors.starts_with("[E0507] Error: interrupted"), "{errors}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// A session with endless input ends when the reader of its output is gone.
#[cfg(unix)]
#[test]
fn a_session_ends_when_nobody_listens() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::process::ExitStatusExt as _;

    let dir = Dir::new(&[]);
    let mut child = dir.command(&[]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut line = String::new();
    stdin.write_all(b"1\n").unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    while stdin.write_all(b"2\n").is_ok() {}
    // SIGPIPE ends it, as it ends other programs.
    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

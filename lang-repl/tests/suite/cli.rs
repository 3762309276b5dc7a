//! Tests of the command line: arguments and standard input, and the resulting standard output,
//! standard error and status.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::{CONV, Dir, MINE, SCRIPT};
use expect_test::{Expect, expect};

const WRONG: &str = "\
def f(x: [n]f64) -> f64 = x
def g(μ: f64) -> f64 = μμ + 1
def h(x: f64) -> f64 = match x { _: 1.0, y: 2.0 }
";

fn files() -> Dir {
    Dir::new(&[
        ("conv.iv", CONV.as_bytes()),
        ("script.iv", SCRIPT.as_bytes()),
        ("lib/mine.iv", MINE.as_bytes()),
        ("wrong.iv", WRONG.as_bytes()),
        ("empty.iv", b""),
        ("comment.iv", b"-- nothing here\n"),
        ("latin.iv", b"-- \xE4\ndef f(x: f64) -> f64 = x\n"),
        ("ring_a.iv", b"import \"./ring_b.iv\" as b\ndef f(x: f64) -> f64 = b.g(x)\n"),
        ("ring_b.iv", b"import \"./ring_a.iv\" as a\ndef g(x: f64) -> f64 = a.f(x)\n"),
        (
            "lost.iv",
            b"import \"./nowhere.iv\" as n\nimport \"./latin.iv\" as l\nimport \"./lib\" as d\nimport \"./ring_a\"\n",
        ),
    ])
}

#[track_caller]
fn check(args: &[&str], expected: Expect) {
    expected.assert_eq(&files().run(args, b""));
}

#[track_caller]
fn check_all(lines: &[&[&str]], expected: Expect) {
    files().check_all(lines, expected);
}

#[test]
fn check_lists_what_is_wrong() {
    check_all(
        &[
            &["check", "conv.iv", "script.iv", "empty.iv", "comment.iv"],
            &["check", "wrong.iv"],
            &["check", "wrong.iv", "--format", "short"],
            &["check", "wrong.iv", "conv.iv", "missing.iv", "--format", "json"],
            &["check", "conv.iv", "--format", "json"],
        ],
        expect![[r#"
            $ iverson check conv.iv script.iv empty.iv comment.iv
            $ iverson check wrong.iv
            --- stderr
            [E0200] Error: this has type `[n]f64`, but `f64` is expected for the result of `f`
               ╭─[ wrong.iv:1:27 ]
               │
             1 │ def f(x: [n]f64) -> f64 = x
               │                           ┬
               │                           ╰── here
               │
               │ Help: add an index: `x[i]` is an element, `sum i: x[i]` is the sum; this has 1 axis too many
            ───╯
            [E0100] Error: `μμ` is not defined
               ╭─[ wrong.iv:2:24 ]
               │
             2 │ def g(μ: f64) -> f64 = μμ + 1
               │                        ─┬
               │                         ╰── here
               │
               │ Help: did you mean `μ`?
            ───╯
            [W0401] Warning: this arm is never reached, because earlier arms match all of its values
               ╭─[ wrong.iv:3:42 ]
               │
             3 │ def h(x: f64) -> f64 = match x { _: 1.0, y: 2.0 }
               │                                          ┬
               │                                          ╰── here
               │
               │ Help: remove it, or move it up
            ───╯
            2 errors, 1 warning
            --- status 1
            $ iverson check wrong.iv --format short
            --- stderr
            wrong.iv:1:27: error[E0200]: this has type `[n]f64`, but `f64` is expected for the result of `f`
            wrong.iv:2:24: error[E0100]: `μμ` is not defined
            wrong.iv:3:42: warning[W0401]: this arm is never reached, because earlier arms match all of its values
            --- status 1
            $ iverson check wrong.iv conv.iv missing.iv --format json
            [{"file": "missing.iv", "severity": "error", "code": "E0602", "message": "`missing.iv` cannot be read: no such file", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "paths are relative to the current directory"}, {"file": "wrong.iv", "severity": "error", "code": "E0200", "message": "this has type `[n]f64`, but `f64` is expected for the result of `f`", "line": 1, "column": 27, "endLine": 1, "endColumn": 28, "help": "add an index: `x[i]` is an element, `sum i: x[i]` is the sum; this has 1 axis too many"}, {"file": "wrong.iv", "severity": "error", "code": "E0100", "message": "`μμ` is not defined", "line": 2, "column": 24, "endLine": 2, "endColumn": 26, "help": "did you mean `μ`?"}, {"file": "wrong.iv", "severity": "warning", "code": "W0401", "message": "this arm is never reached, because earlier arms match all of its values", "line": 3, "column": 42, "endLine": 3, "endColumn": 43, "help": "remove it, or move it up"}]
            --- status 2
            $ iverson check conv.iv --format json
            []
        "#]],
    );
}

#[test]
fn files_that_are_no_programs() {
    check_all(
        &[
            &["check", "latin.iv"],
            &["check", "missing.iv", "lib"],
            &["run", "missing.iv"],
            &["fmt", "missing.iv", "lib", "latin.iv"],
            &["eval", "1", "-l", "missing.iv"],
            &["check", "lost.iv"],
            &["check", "ring_a.iv"],
            &["run", "lost.iv", "--format", "short"],
        ],
        expect![[r#"
            $ iverson check latin.iv
            --- stderr
            [E0007] Error: `latin.iv` is not UTF-8: byte 3 is 0xE4
               ╭─[ latin.iv:1:4 ]
               │
             1 │ -- �
               │    ┬
               │    ╰── not UTF-8 from here
               │
               │ Help: save the file as UTF-8
            ───╯
            1 error
            --- status 1
            $ iverson check missing.iv lib
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            [E0602] Error: `lib` cannot be read: it is a directory
            2 errors
            --- status 2
            $ iverson run missing.iv
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            --- status 2
            $ iverson fmt missing.iv lib latin.iv
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            [E0602] Error: `lib` cannot be read: it is a directory
            [E0007] Error: `latin.iv` is not UTF-8: byte 3 is 0xE4
               ╭─[ latin.iv:1:4 ]
               │
             1 │ -- �
               │    ┬
               │    ╰── not UTF-8 from here
               │
               │ Help: save the file as UTF-8
            ───╯
            --- status 2
            $ iverson eval 1 -l missing.iv
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            --- status 2
            $ iverson check lost.iv
            --- stderr
            [E0602] Error: `nowhere.iv` cannot be read: no such file
               ╭─[ lost.iv:1:8 ]
               │
             1 │ import "./nowhere.iv" as n
               │        ───────┬──────
               │               ╰──────── here
               │
               │ Help: write the path relative to the importing file
            ───╯
            [E0007] Error: `latin.iv` is not UTF-8: byte 3 is 0xE4
               ╭─[ lost.iv:2:8 ]
               │
             2 │ import "./latin.iv" as l
               │        ──────┬─────
               │              ╰─────── here
               │
               ├─[ latin.iv:1:4 ]
               │
             1 │ -- �
               │    ┬
               │    ╰── not UTF-8 from here
               │
               │ Help: save the file as UTF-8
            ───╯
            [E0602] Error: `lib` cannot be read: it is a directory
               ╭─[ lost.iv:3:8 ]
               │
             3 │ import "./lib" as d
               │        ───┬───
               │           ╰───── here
               │
               │ Help: write the path relative to the importing file
            ───╯
            [E0602] Error: `ring_a` cannot be read: no such file
               ╭─[ lost.iv:4:8 ]
               │
             4 │ import "./ring_a"
               │        ─────┬────
               │             ╰────── here
               │
               │ Help: the file is `ring_a.iv`; write the whole file name in quotes
            ───╯
            4 errors
            --- status 1
            $ iverson check ring_a.iv
            --- stderr
            [E0103] Error: `ring_a.iv` imports this module, directly or through other modules
               ╭─[ ring_b.iv:1:8 ]
               │
             1 │ import "./ring_a.iv" as a
               │        ──────┬──────
               │              ╰──────── here
               │
               │ Help: move the shared definitions into a third module
            ───╯
            [E0103] Error: `ring_b.iv` imports this module, directly or through other modules
               ╭─[ ring_a.iv:1:8 ]
               │
             1 │ import "./ring_b.iv" as b
               │        ──────┬──────
               │              ╰──────── here
               │
               │ Help: move the shared definitions into a third module
            ───╯
            2 errors
            --- status 1
            $ iverson run lost.iv --format short
            --- stderr
            lost.iv:1:8: error[E0602]: `nowhere.iv` cannot be read: no such file
            lost.iv:2:8: error[E0007]: `latin.iv` is not UTF-8: byte 3 is 0xE4
            lost.iv:3:8: error[E0602]: `lib` cannot be read: it is a directory
            lost.iv:4:8: error[E0602]: `ring_a` cannot be read: no such file
            --- status 1
        "#]],
    );
}

#[test]
fn eval_is_one_expression() {
    check_all(
        &[
            &["eval", "1 + 2 * 3"],
            &["eval", "-5"],
            &["eval", "-2^2"],
            &["eval", "--", "-2^2"],
            &["eval", "-twice(2)", "-l", "lib/mine.iv"],
            &["eval", "--laod"],
            &["eval", "for i < 2, j < 2: [i == j] * 1.0", "--format", "json"],
            &["eval", "(1, {a: true}, nan)", "--format", "json"],
            &["eval", "twice(offset)", "-l", "lib/mine.iv"],
            &["eval", "tvice(1)", "-l", "lib/mine.iv"],
            &["eval", "1 +"],
            &["eval", "1 // 0"],
            &["eval", "", "--format", "json"],
            &["eval", "1", "-l", "wrong.iv", "--format", "short"],
        ],
        expect![[r#"
            $ iverson eval 1 + 2 * 3
            7
            $ iverson eval -5
            -5
            $ iverson eval -2^2
            -4
            $ iverson eval -- -2^2
            -4
            $ iverson eval -twice(2) -l lib/mine.iv
            -4.0
            $ iverson eval --laod
            --- stderr
            error: invalid value '--laod' for '<EXPR>': unknown option

            For more information, try '--help'.
            --- status 2
            $ iverson eval for i < 2, j < 2: [i == j] * 1.0 --format json
            [[1.0, 0.0], [0.0, 1.0]]
            $ iverson eval (1, {a: true}, nan) --format json
            [1, {"a": true}, "NaN"]
            $ iverson eval twice(offset) -l lib/mine.iv
            1.0
            $ iverson eval tvice(1) -l lib/mine.iv
            --- stderr
            [E0100] Error: `tvice` is not defined
               ╭─[ <eval>:1:1 ]
               │
             1 │ tvice(1)
               │ ──┬──
               │   ╰──── here
               │
               │ Help: did you mean `twice`?
            ───╯
            --- status 1
            $ iverson eval 1 +
            --- stderr
            [E0001] Error: expected an expression, found the end of the input
               ╭─[ <eval>:1:4 ]
               │
             1 │ 1 +
               │    ┬
               │    ╰── here
            ───╯
            --- status 1
            $ iverson eval 1 // 0
            --- stderr
            [E0505] Error: integer division by zero
               ╭─[ <eval>:1:1 ]
               │
             1 │ 1 // 0
               │ ───┬──
               │    ╰──── here
            ───╯
            --- status 1
            $ iverson eval  --format json
            {"error": [{"file": "<eval>", "severity": "error", "code": "E0001", "message": "expected an expression, found the end of the input", "line": 1, "column": 1, "endLine": 1, "endColumn": 1}]}
            --- status 1
            $ iverson eval 1 -l wrong.iv --format short
            1
            --- stderr
            wrong.iv:3:42: warning[W0401]: this arm is never reached, because earlier arms match all of its values
            note: this error does not affect the value: this has type `[n]f64`, but `f64` is expected for the result of `f` (wrong.iv:1:27)
            note: this error does not affect the value: `μμ` is not defined (wrong.iv:2:24)
        "#]],
    );
}

#[test]
fn what_there_is_not_yet() {
    check_all(
        &[
            &["eval", "1", "--backend", "gpu"],
            &["eval", "1", "--precision", "f32", "--format", "json"],
            &["eval", "1", "--backend", "interp", "--threads", "3"],
        ],
        expect![[r#"
            $ iverson eval 1 --backend gpu
            --- stderr
            [E0510] Error: the gpu backend is not available yet
              Help: `--backend interp` runs every program; `iverson doctor` lists the available backends
            --- status 2
            $ iverson eval 1 --precision f32 --format json
            {"error": [{"file": null, "severity": "error", "code": "E0510", "message": "`--precision f32` is not available yet", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "write `f32` in the program"}]}
            --- status 2
            $ iverson eval 1 --backend interp --threads 3
            1
        "#]],
    );
}

#[test]
fn command_lines_that_are_wrong() {
    check_all(
        &[
            &["rum"],
            &["run"],
            &["eval", "1", "--threads", "0"],
            &["check", "--format=json"],
            &["explain", "E999"],
            &["explain", "e0300"],
            &["run", "x.iv", "--w=2"],
            &["explain", "sum"],
            &["eval", "(print(1), print(2))"],
        ],
        expect![[r#"
            $ iverson rum
            --- stderr
            error: unrecognized subcommand 'rum'

              tip: a similar subcommand exists: 'run'

            Usage: iverson [OPTIONS] [COMMAND]

            For more information, try '--help'.
            --- status 2
            $ iverson run
            --- stderr
            error: the following required arguments were not provided:
              <FILE>

            Usage: iverson run <FILE> [NAME=VALUE]...

            For more information, try '--help'.
            --- status 2
            $ iverson eval 1 --threads 0
            --- stderr
            error: invalid value '0' for '--threads <N>': 0 is not in 1..=4096

            For more information, try '--help'.
            --- status 2
            $ iverson check --format=json
            {"error": [{"file": null, "severity": "error", "code": "E0600", "message": "the following required arguments were not provided: <FILE>...", "line": 1, "column": 1, "endLine": 1, "endColumn": 1}]}
            --- status 2
            $ iverson explain E999
            --- stderr
            [E0600] Error: `E999` is not an error code
              Help: `iverson explain` lists all codes
            --- status 2
            $ iverson explain e0300
            E0300: sizes differ

            Two sizes have to be equal and never are, whatever values the size parameters have. Where they might
            be equal for some values there is a check in the run instead, E0501.

                def difference(x: [n + 1]f64) -> [n + 1]f64 = for i < n: x[i + 1] - x[i]

                error[E0300]: this has type `[n]f64`, but `[n + 1]f64` is expected for the result of `difference`
                 --> 1:47
                1 | def difference(x: [n + 1]f64) -> [n + 1]f64 = for i < n: x[i + 1] - x[i]
                  |                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^ the size `n` does not match the expected `n + 1`

            Correct the type or the range. Sizes are compared as polynomials, so `n + m` equals `m + n`, and
            `2 * (n + 1)` equals `2 * n + 2`.

                def difference(x: [n + 1]f64) -> [n]f64 = for i < n: x[i + 1] - x[i]
                do difference([1, 4, 9, 16])

                [3.0, 5.0, 7.0]
            $ iverson run x.iv --w=2
            --- stderr
            error: unexpected argument '--w' found

              tip: to pass '--w' as a value, use '-- --w'

            Usage: iverson run <FILE> [NAME=VALUE]...

            For more information, try '--help'.
            help: write an argument of the program without dashes: `w=2`
            --- status 2
            $ iverson explain sum
            sum, a binder

                sum i < n: e, sum i < n if p: e

            The sum of the values of e; 0 over an empty range. The range is i < n, i in a..b, or i alone if it indexes an array in e.
            The body e extends as far right as possible; enclose it in ( … ) to end it.

                let x = [1.0, 2.0, 4.0]
                do sum i: x[i]
                do sum i < 10 if i % 2 == 1: i

                7.0
                25
            $ iverson eval (print(1), print(2))
            1
            2
        "#]],
    );
}

#[test]
fn colours_are_asked_for() {
    let dir = files();
    assert!(!dir.run(&["check", "wrong.iv"], b"").contains('\u{1b}'));
    assert!(dir.run(&["check", "wrong.iv", "--color", "always"], b"").contains("\u{1b}[31m"));
}

#[test]
fn help_teaches_by_example() {
    let dir = files();
    check(
        &["--version"],
        expect![[r#"
        iverson 0.1.0
    "#]],
    );
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["eval", "--help"],
        &["check", "--help"],
        &["fmt", "--help"],
        &["doc", "--help"],
    ] {
        assert!(dir.run(args, b"").contains("Examples:\n"), "{args:?}");
    }
}

#[test]
fn completions_and_doctor() {
    let dir = files();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(dir.run(&["completions", shell], b"").contains("explain"), "{shell}");
    }
    let doctor = dir.run(&["doctor"], b"");
    assert!(doctor.contains("cores") && doctor.contains("cpu       yes"), "{doctor}");
    let json = dir.run(&["doctor", "--format", "json"], b"");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["used"], "cpu");
    let one = dir.run(&["doctor", "--threads", "1"], b"");
    assert!(one.contains("machine code on 1 thread\n"), "{one}");
}

#[test]
fn from_standard_input() {
    let dir = files();
    let ugly = "def   f( x:f64 )->f64=x+1\n";
    let mut all = dir.run(&["fmt", "-"], ugly.as_bytes());
    all += &dir.run(&["fmt", "-"], b"def f(x: f64) -> f64 = (x\n");
    all += &dir.run(&["check", "-", "--format", "short"], b"def f(x: f64) -> f64 = y\n");
    all += &dir.run(&["run", "-", "x=3"], b"def main(x: f64) -> f64 = x^2\n");
    expect![[r#"
        def f(x: f64) -> f64 = x + 1
        --- stderr
        [E0002] Error: unclosed bracket `(`
           ╭─[ <stdin>:1:24 ]
           │
         1 │ def f(x: f64) -> f64 = (x
           │                        ┬
           │                        ╰── here
        ───╯
        --- status 1
        --- stderr
        <stdin>:1:24: error[E0100]: `y` is not defined
        --- status 1
        9.0
    "#]]
    .assert_eq(&all);
}

#[test]
fn fmt_replaces_files_or_leaves_them() {
    let ugly = "def   f( x:f64 )->f64=x+1\n";
    let broken = "def f(x: f64) -> f64 = (x\n";
    let dir = Dir::new(&[("a.iv", ugly.as_bytes()), ("b.iv", broken.as_bytes()), ("c.iv", b"")]);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let mut all = dir.run(&["fmt", "--check", "a.iv", "c.iv"], b"");
    assert_eq!(read("a.iv"), ugly);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(dir.path().join("a.iv"), mode).unwrap();
        std::os::unix::fs::symlink("a.iv", dir.path().join("link.iv")).unwrap();
        all += &dir.run(&["fmt", "link.iv"], b"");
        let meta = std::fs::symlink_metadata(dir.path().join("link.iv")).unwrap();
        assert!(meta.is_symlink());
        let mode = std::fs::metadata(dir.path().join("a.iv")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
    all += &dir.run(&["fmt", "a.iv", "b.iv", "c.iv"], b"");
    all += &dir.run(&["fmt", "--check", "a.iv", "c.iv"], b"");
    assert_eq!(read("b.iv"), broken);
    all += &read("a.iv");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|n| !n.to_string_lossy().ends_with(".tmp")), "{left:?}");
    expect![[r#"
        a.iv
        --- status 1
        --- stderr
        [E0002] Error: unclosed bracket `(`
           ╭─[ b.iv:1:24 ]
           │
         1 │ def f(x: f64) -> f64 = (x
           │                        ┬
           │                        ╰── here
        ───╯
        --- status 1
        def f(x: f64) -> f64 = x + 1
    "#]]
    .assert_eq(&all);
}

/// Input of any size and depth causes an ordinary error.
#[test]
fn monstrous_input_is_only_wrong() {
    let long_line = format!("def f(x: f64) -> f64 = x{}", " + x".repeat(250_000));
    let nested = format!("def f(x: f64) -> f64 = {}x", "(".repeat(100_000));
    let closed = format!("def f(x: f64) -> f64 = {}x{}", "(".repeat(100_000), ")".repeat(100_000));
    let names = format!("do {}", "a ".repeat(5_000_000));
    let json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let dir = Dir::new(&[
        ("long.iv", long_line.as_bytes()),
        ("nested.iv", nested.as_bytes()),
        ("closed.iv", closed.as_bytes()),
        ("names.iv", names.as_bytes()),
        ("deep.json", json.as_bytes()),
        ("conv.iv", CONV.as_bytes()),
    ]);
    assert_eq!(dir.run(&["check", "long.iv"], b""), "");
    for args in [
        &["check", "nested.iv"][..],
        &["check", "closed.iv"],
        &["check", "names.iv"],
        &["fmt", "--check", "closed.iv"],
        &["check", "names.iv", "--format", "json"],
        &["run", "conv.iv", "x=@deep.json", "c=[1]"],
        &["eval", &"(".repeat(60_000)],
    ] {
        let shown = dir.run(args, b"");
        assert!(shown.contains("--- status"), "{args:?} is good?");
        assert!(!shown.contains("--- killed") && !shown.contains("panicked"), "{args:?}");
        assert!(shown.len() < 100_000, "{args:?} shows {} bytes", shown.len());
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    use std::os::unix::process::ExitStatusExt as _;

    let dir = files();
    let mut child = dir.command(&["eval", "for i < 1000000: i"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    // SIGPIPE ends it, as it ends other programs.
    assert_eq!(output.status.signal(), Some(13));
}

#[test]
fn help_is_a_command_too() {
    let dir = Dir::new(&[]);
    assert!(dir.run(&["help"], b"").contains("Usage: iverson"));
    assert!(dir.run(&["help", "explain"], b"").contains("Usage: iverson explain"));
}

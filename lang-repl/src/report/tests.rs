//! Tests of the rendered reports.

use super::*;
use expect_test::{Expect, expect};
use lang_core::base::{Code, Span};

const FILE: &str = "def f(x: [n]f64) -> f64 =\n  sum i < n + 1:\n    x[i]\n\ndef g(y: μ) -> f64 = y\n";

#[track_caller]
fn check(problem: impl FnOnce(&mut Sources) -> Problem, expected: Expect) {
    let mut sources = Sources::default();
    let p = problem(&mut sources);
    let full = render(std::slice::from_ref(&p), &sources, ReportStyle::Full { color: false, width: None });
    let short = render(std::slice::from_ref(&p), &sources, ReportStyle::Short);
    let json = json_list(&[p], &sources);
    expected.assert_eq(&format!("{full}{short}{json}\n"));
}

#[test]
fn one_place_with_help() {
    check(
        |s| {
            let f = s.add("a.iv", FILE);
            Problem::new(Code::E0306, "index `i` leaves `x`")
                .with_place(f, Span::new(49, 50), "up to n")
                .with_help("write `i < n`")
        },
        expect![[r#"
            [E0306] Error: index `i` leaves `x`
               ╭─[ a.iv:3:7 ]
               │
             3 │     x[i]
               │       ┬
               │       ╰── up to n
               │
               │ Help: write `i < n`
            ───╯
            a.iv:3:7: error[E0306]: index `i` leaves `x`
            [{"file": "a.iv", "severity": "error", "code": "E0306", "message": "index `i` leaves `x`", "line": 3, "column": 7, "endLine": 3, "endColumn": 8, "help": "write `i < n`"}]
        "#]],
    );
}

#[test]
fn several_places_and_files() {
    check(
        |s| {
            let f = s.add("a.iv", FILE);
            let g = s.add("b.iv", "one\ntwo");
            let mut p = Problem::new(Code::W0401, "a warning\x1b[31m with\na second line")
                .with_place(f, Span::new(64, 66), "")
                .with_place(g, Span::new(4, 7), "there")
                .with_place(f, Span::new(0, 55), "all of this");
            p.trace = (0..20)
                .map(|i| Caller { name: format!("`f{i}`"), source: Some(g), span: Span::new(i % 5, 5) })
                .collect();
            p
        },
        expect![[r#"
            [W0401] Warning: a warning�[31m with
            a second line
               ╭─[ a.iv:5:11 ]
               │
             1 │ ╭─▶ def f(x: [n]f64) -> f64 =
               ┆ ┆
             5 │ ├─▶ def g(y: μ) -> f64 = y
               │ │             ─┬
               │ ╰──────────────────────────── all of this
               │                │
               │                ╰───────────── here
               │
               ├─[ b.iv:2:1 ]
               │
             2 │ two
               │ ─┬─
               │  ╰─── there
               │
               │ Note: called from `f0` at b.iv:1:1
               │       called from `f1` at b.iv:1:2
               │       called from `f2` at b.iv:1:3
               │       called from `f3` at b.iv:1:4
               │       called from `f4` at b.iv:2:1
               │       called from `f5` at b.iv:1:1
               │       called from `f6` at b.iv:1:2
               │       called from `f7` at b.iv:1:3
               │       … and 12 more calls
            ───╯
            a.iv:5:11: warning[W0401]: a warning�[31m with a second line
            [{"file": "a.iv", "severity": "warning", "code": "W0401", "message": "a warning\u001b[31m with\na second line", "line": 5, "column": 11, "endLine": 5, "endColumn": 13}]
        "#]],
    );
}

#[test]
fn no_place() {
    check(
        |_| Problem::new(Code::E0602, "no file `x.iv`").with_help("look again"),
        expect![[r#"
        [E0602] Error: no file `x.iv`
          Help: look again
        error[E0602]: no file `x.iv`
        [{"file": null, "severity": "error", "code": "E0602", "message": "no file `x.iv`", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "look again"}]
    "#]],
    );
}

#[test]
fn long_lines_are_cut() {
    check(
        |s| {
            let f = s.add("long.iv", format!("a\n{}μ{}\n", "x".repeat(5_000_000), "y".repeat(5_000_000)));
            Problem::new(Code::E0001, "odd").with_place(f, Span::new(5_000_002, 5_000_004), "this").with_place(
                f,
                Span::new(0, 9_000_000),
                "wide",
            )
        },
        expect![[r#"
            [E0001] Error: odd
               ╭─[ long.iv:2:5000001 ]
               │
             1 │ ╭─▶ a
             2 │ ├─▶ …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxμyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
               │ │                                            ┬
               │ │                                            ╰────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────── this
               │ │
               │ ╰─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────── wide
            ───╯
            long.iv:2:5000001: error[E0001]: odd
            [{"file": "long.iv", "severity": "error", "code": "E0001", "message": "odd", "line": 2, "column": 5000001, "endLine": 2, "endColumn": 5000002}]
        "#]],
    );
}

#[test]
fn the_end_of_a_text() {
    check(
        |s| {
            let f = s.add("e.iv", "def\n");
            Problem::new(Code::E0001, "unexpected end").with_place(f, Span::new(4, 4), "")
        },
        expect![[r#"
            [E0001] Error: unexpected end
               ╭─[ e.iv:2:1 ]
               │
             2 │
               │ ┬
               │ ╰── here
            ───╯
            e.iv:2:1: error[E0001]: unexpected end
            [{"file": "e.iv", "severity": "error", "code": "E0001", "message": "unexpected end", "line": 2, "column": 1, "endLine": 2, "endColumn": 1}]
        "#]],
    );
}

#[test]
fn many_problems_are_counted() {
    let mut sources = Sources::default();
    let f = sources.add("e.iv", "x");
    let all = vec![Problem::new(Code::E0001, "odd").with_place(f, Span::new(0, 1), ""); 1000];
    let full = render(&all, &sources, ReportStyle::Full { color: false, width: None });
    assert!(full.ends_with("… and 980 more; `--format short` lists all problems.\n"), "{full}");
    assert_eq!(summary(&all).as_deref(), Some("1000 errors"));
    assert_eq!(summary(&[]), None);
}

/// Any text with any places, even outside it, yields a report.
#[test]
fn every_place_can_be_drawn() {
    let pieces = ["a", "μ", "\n", "\r\n", "\t", "\u{1b}", "漢", "\u{2028}", " ", "\u{E000}", "\u{301}", "\r"];
    let mut seed = 1_u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % n
    };
    for _ in 0..2000 {
        let mut sources = Sources::default();
        let length = [3, 30, 300][random(3)];
        let body: String = (0..random(length)).map(|_| pieces[random(pieces.len())]).collect();
        let ids = [sources.add("one", body), sources.add("two", "t\nw\no")];
        let mut p = Problem::new(Code::E0001, "m");
        for _ in 0..1 + random(9) {
            let (a, b) = (random(length * 2), random(length * 2));
            let span = Span::new(u32::try_from(a).unwrap(), u32::try_from(b).unwrap());
            p = p.with_place(ids[random(2)], span, ["", "label", "two\nlines"][random(3)]);
        }
        let full = render(std::slice::from_ref(&p), &sources, ReportStyle::Full { color: false, width: None });
        assert!(full.starts_with("[E0001] Error: m"));
        assert!(!full.contains(['\u{1b}', '\u{E000}']), "{full}");
        json_list(&[p], &sources);
    }
}

#[test]
fn sentences_are_broken_at_words() {
    let mut sources = Sources::default();
    let f = sources.add("a.iv", FILE);
    let p = Problem::new(Code::E0306, "a message of several words that is longer than a line of the terminal")
        .with_place(f, Span::new(49, 50), "up to n")
        .with_help("an advice that is longer than a line too, in `code with words`\nand a second one");
    let mut full = render(std::slice::from_ref(&p), &sources, ReportStyle::Full { color: false, width: Some(40) });
    full +=
        &render(&[Problem { places: Vec::new(), ..p }], &sources, ReportStyle::Full { color: false, width: Some(40) });
    expect![[r#"
        [E0306] Error: a message of several
        words that is longer than a line of the
        terminal
           ╭─[ a.iv:3:7 ]
           │
         3 │     x[i]
           │       ┬
           │       ╰── up to n
           │
           │ Help: an advice that is longer than
           │       a line too, in `code with
           │       words`
           │       and a second one
        ───╯
        [E0306] Error: a message of several
        words that is longer than a line of the
        terminal
          Help: an advice that is longer than a
                line too, in `code with words`
                and a second one
    "#]]
    .assert_eq(&full);
}

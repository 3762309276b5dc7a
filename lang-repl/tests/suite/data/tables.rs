//! Tests of real-world tables and JSON: separators, decimal commas, comments, words for missing
//! values, exact integers, names in either Unicode form. The expected values were checked by hand
//! against pandas.

use expect_test::{Expect, expect};

use crate::harness::Dir;

/// Runs a program with some files, and compares its output.
#[track_caller]
fn run(files: &[(&str, &[u8])], program: &str, expected: Expect) {
    let mut all = files.to_vec();
    all.push(("p.iv", program.as_bytes()));
    expected.assert_eq(&Dir::new(&all).run(&["run", "p.iv", "--format", "short"], b""));
}

#[test]
fn separators_and_decimal_commas() {
    let files: &[(&str, &[u8])] = &[
        ("semicolon.csv", b"x;y\n1,5;2\n-3,25e1;4\n"),
        ("tab.csv", b"x\ty\n1.5\t2\n"),
        ("blank.csv", b"  x   y\n 1.5 \t2  \n\n3 4\n"),
        ("bar.csv", b"x|y\n1.5|2\n"),
    ];
    run(
        files,
        "let a: {x: [?n]f64, y: [?n]i64} = load(\"semicolon.csv\", decimal: \",\")\n\
         let b: {x: [?n]f64, y: [?n]i64} = load(\"tab.csv\")\n\
         let c: {x: [?n]f64, y: [?n]i64} = load(\"blank.csv\", separator: \" \")\n\
         let d: {x: [?n]f64, y: [?n]i64} = load(\"bar.csv\", separator: \"|\")\n\
         do print(a)\ndo print(b)\ndo print(c)\ndo print(d)\n",
        expect![[r#"
            {x: [1.5, -32.5], y: [2, 4]}
            {x: [1.5], y: [2]}
            {x: [1.5, 3.0], y: [2, 4]}
            {x: [1.5], y: [2]}
        "#]],
    );
}

#[test]
fn comments_missing_words_and_headers() {
    let files: &[(&str, &[u8])] = &[
        ("notes.csv", b"# made by hand\nx,y # two columns\n1,?\n  # between\n3,-999\n"),
        ("words.csv", b"x\n1\nNone\n#N/A\n<NA>\nnan\nNA\n"),
        ("years.csv", b"1999,2000\n1,2\n"),
        ("either.csv", b"1,?\n1,2\n"),
        ("mac.csv", b"x,y\r1,2\r3,4\r"),
    ];
    run(
        files,
        "let a: {x: [?n]i64, y: [?n]f64} = load(\"notes.csv\", comment: \"#\", missing: [\"?\", \"-999\"])\n\
         let b: {x: [?n]f64} = load(\"words.csv\")\n\
         let c: [?n, ?m]i64 = load(\"years.csv\", header: true)\n\
         let d: [?n, ?m]f64 = load(\"either.csv\", header: true)\n\
         let e: [?n, ?m]f64 = load(\"either.csv\", header: false, missing: \"?\")\n\
         let f: {x: [?n]i64, y: [?n]i64} = load(\"mac.csv\")\n\
         do print(a)\ndo print(b)\ndo print(c)\ndo print(d)\ndo print(e)\ndo print(f)\n",
        expect![[r#"
            {x: [1, 3], y: [nan, nan]}
            {x: [1.0, nan, nan, nan, nan, nan]}
            [[1, 2]]
            [[1.0, 2.0]]
            [[1.0, nan],
             [1.0, 2.0]]
            {x: [1, 3], y: [2, 4]}
            --- stderr
            p.iv:1:35: warning[W0606]: `notes.csv`: column `y` has 2 missing values, first in line 3; they are read as NaN
            p.iv:2:23: warning[W0606]: `words.csv`: column `x` has 4 missing values, first in line 3; they are read as NaN
            p.iv:5:22: warning[W0606]: `either.csv`: column 2 has no value in line 1; it is read as NaN
        "#]],
    );
    run(
        files,
        "let d: [?n, ?m]f64 = load(\"either.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:22: error[E0604]: `either.csv`: the first line of the value has numbers and the text "?", so it may be a header or data
        --- status 1
    "#]],
    );
}

#[test]
fn cells_that_are_no_numbers_have_advice() {
    let files: &[(&str, &[u8])] = &[
        ("comma.csv", b"x;y\n1,5;2\n"),
        ("thousands.csv", b"x\n\"1,234,567\"\n"),
        ("word.csv", b"x\n1\n-\n"),
        ("large.csv", b"x\n1e400\n"),
        ("wide.csv", b"\xFF\xFEx\0\n\x001\0\n\0"),
        ("semi.csv", b"1,5;2,5\n"),
    ];
    for file in ["comma", "thousands", "word", "large", "wide"] {
        run(
            files,
            &format!("let a: {{x: [?n]f64}} = load(\"{file}.csv\")\n"),
            match file {
                "comma" => expect![[r#"
                    --- stderr
                    p.iv:1:23: error[E0604]: `comma.csv`: line 2, column `x` is "1,5"; expected `f64`
                    --- status 1
                "#]],
                "thousands" => expect![[r#"
                    --- stderr
                    p.iv:1:23: error[E0604]: `thousands.csv`: line 2, column `x` is "1,234,567"; expected `f64`
                    --- status 1
                "#]],
                "word" => expect![[r#"
                    --- stderr
                    p.iv:1:23: error[E0604]: `word.csv`: line 3, column `x` is "-"; expected `f64`
                    --- status 1
                "#]],
                "large" => expect![[r#"
                    --- stderr
                    p.iv:1:23: error[E0604]: `large.csv`: line 2, column `x` is 1e400, which does not fit in `f64`
                    --- status 1
                "#]],
                _ => expect![[r#"
                    --- stderr
                    p.iv:1:23: error[E0603]: `wide.csv`: the file is encoded as UTF-16; save it as UTF-8
                    --- status 1
                "#]],
            },
        );
    }
    run(
        files,
        "let a: [?n, ?m]f64 = load(\"semi.csv\", header: false)\n",
        expect![[r#"
        --- stderr
        p.iv:1:22: error[E0604]: `semi.csv`: line 1, column 2 is "5;2"; expected `f64`
        --- status 1
    "#]],
    );
}

#[test]
fn integers_are_exact_in_every_notation() {
    let files: &[(&str, &[u8])] = &[
        ("int.csv", b"x,y\n9007199254740993.0,9007199254740993\n9.007199254740993e15,0.5\n"),
        ("large.json", b"{\"x\": [9007199254740993, 1], \"y\": 16777217, \"z\": [null, NaN, -Infinity, 1.5]}"),
    ];
    run(
        files,
        "let a: {x: [?n]i64, y: [?n]f64} = load(\"int.csv\")\n\
         let b: {x: [?n]f64, y: f32, z: [?m]f64} = load(\"large.json\")\n\
         do print(a)\ndo print(b)\n",
        expect![[r#"
            {x: [9007199254740993, 9007199254740993], y: [9.0072e15, 0.5]}
            {x: [9.0072e15, 1.0], y: 16777216.0, z: [nan, nan, -inf, 1.5]}
            --- stderr
            p.iv:1:35: warning[W0606]: `int.csv`: column `y` has an integer in line 2 that `f64` cannot represent exactly; the nearest value is used
            p.iv:2:43: warning[W0606]: `large.json`: `.z[0]` has no value; it is read as NaN
        "#]],
    );
    run(
        files,
        "let a: {x: [?n]i64, y: i64, z: [?m]i64} = load(\"large.json\")\n",
        expect![[r#"
            --- stderr
            p.iv:1:43: error[E0604]: `large.json`: `.z[0]` is null, not of type `i64`
            --- status 1
        "#]],
    );
}

#[test]
fn names_are_compared_in_one_form() {
    // The header is decomposed and the program composed, then the reverse.
    run(
        &[("g.csv", "gro\u{308}\u{df}e\n1\n2\n".as_bytes()), ("g.json", "{\"gr\u{f6}\u{df}e\": 3}".as_bytes())],
        "let a: {gr\u{f6}\u{df}e: [?n]f64} = load(\"g.csv\")\n\
         let b: {gro\u{308}\u{df}e: f64} = load(\"g.json\")\n\
         let \u{e4} = 1.0\n\
         do print(a.gro\u{308}\u{df}e, b.gr\u{f6}\u{df}e, a\u{308})\n",
        expect![[r#"
            [1.0, 2.0] 3.0 1.0
        "#]],
    );
}

#[test]
fn json_of_any_depth_and_with_each_key_once() {
    let program = "type List = Nil | Cons(f64, List)\n\
        let l = fold l = Nil for i < 20000: Cons(f64(i), l)\n\
        do save(l, \"deep.json\")\n\
        let again: List = load(\"deep.json\")\n\
        do print(match again { Cons(x, _): x, Nil: 0.0 })\n";
    let dir = Dir::new(&[("p.iv", program.as_bytes()), ("twice.json", b"{\"x\": 1,\n \"x\": 2}")]);
    let shown = dir.run(&["run", "p.iv"], b"");
    assert!(shown.starts_with("19999.0\n"), "{}", shown.get(..400).unwrap_or(&shown));
    let shown = dir.run(&["eval", "load(\"twice.json\").x", "--format", "short"], b"");
    assert!(shown.contains("E0210"), "{shown}");
    run(
        &[("twice.json", b"{\"x\": 1,\n \"x\": 2}")],
        "let a: {x: f64} = load(\"twice.json\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:19: error[E0603]: `twice.json`: this is not JSON: duplicate key `x` in an object at line 2 column 2
        --- status 1
    "#]],
    );
}

#[test]
fn records_in_records_are_arrays_with_paths() {
    run(
        &[],
        "let model = {layer: {w: [[1.0, 2.0]], b: [3.0]}, pair: ([1, 2], 5), scale: 0.5}\n\
         do save(model, \"model.npz\")\n\
         let again: {layer: {w: [?n, ?m]f64, b: [?n]f64}, pair: ([?k]i64, i64), scale: f64} = load(\"model.npz\")\n\
         do print(again)\n\
         let part: {layer: {b: [?n]f64}} = load(\"model.npz\")\n\
         do print(part)\n\
         let lost: {layer: {c: [?n]f64}} = load(\"model.npz\")\n",
        expect![[r#"
            {layer: {w: [[1.0, 2.0]], b: [3.0]}, pair: ([1, 2], 5), scale: 0.5}
            {layer: {b: [3.0]}}
            --- stderr
            p.iv:7:35: error[E0604]: `model.npz`: the file has no array `layer.c`
            --- status 1
        "#]],
    );
}

#[test]
fn options_are_checked_before_anything_runs() {
    for program in [
        "do print(1)\nlet a: [?n]f64 = load(\"x.csv\", sep: \";\")\n",
        "let a: [?n]f64 = load(\"x.csv\", separator: \";;\")\n",
        "let a: [?n]f64 = load(\"x.csv\", decimal: \"x\")\n",
        "let a: [?n]f64 = load(\"x.npy\", decimal: \",\")\n",
        "let a: [?n]f64 = load(\"x.csv\", header: 1, header: true)\n",
        "let a: {x: [?n]f64} = load(\"x.npy\")\n",
        "let a: [?n]f64 = load(\"x.txt\")\n",
        "let a: [?n]f64 = load(\"x.dat\")\n",
    ] {
        let dir = Dir::new(&[("p.iv", program.as_bytes())]);
        let shown = dir.run(&["run", "p.iv", "--format", "short"], b"");
        let codes = ["E0217", "E0603", "E0604"];
        assert!(shown.starts_with("--- stderr\np.iv:") && codes.iter().any(|c| shown.contains(c)), "{program}{shown}");
    }
}

#[test]
fn a_type_that_suits_a_table_says_what_it_leaves_out() {
    let wide: Vec<String> = (0..15).map(|k| format!("c{k}")).collect();
    let wide = format!("{}\n{}\n", wide.join(","), vec!["1"; 15].join(","));
    let dir = Dir::new(&[("a.csv", b"day,note,height\n0,sown,1.0\n"), ("wide.csv", wide.as_bytes())]);
    let mut shown = dir.run(&["eval", "load(\"a.csv\")", "--format", "short"], b"");
    shown += &dir.run(&["eval", "load(\"wide.csv\")", "--format", "short"], b"");
    expect![[r#"
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
    "#]]
    .assert_eq(&shown);
}

#[test]
fn dates_and_words_are_no_numbers() {
    let files: &[(&str, &[u8])] = &[
        ("iso.csv", b"d,b\n2023-01-05,1\n"),
        ("points.csv", b"d,b\n05.01.2023,1\n"),
        ("comma.csv", b"d,b\n\"1,5\",2\n"),
        ("comma_of_thousands.csv", b"d,b\n\"1,234\",2\n"),
    ];
    run(
        files,
        "let a: {d: [?n]f64} = load(\"iso.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:23: error[E0604]: `iso.csv`: line 2, column `d` is "2023-01-05"; expected `f64`
        --- status 1
    "#]],
    );
    run(
        files,
        "let a: {d: [?n]f64} = load(\"points.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:23: error[E0604]: `points.csv`: line 2, column `d` is "05.01.2023"; expected `f64`
        --- status 1
    "#]],
    );
    run(
        files,
        "let a: {d: [?n]f64} = load(\"comma.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:23: error[E0604]: `comma.csv`: line 2, column `d` is "1,5"; expected `f64`
        --- status 1
    "#]],
    );
    run(
        files,
        "let a: {d: [?n]f64} = load(\"comma.csv\", decimal: \",\", separator: \",\")\ndo a.d\n",
        expect![[r#"
        [1.5]
    "#]],
    );
    run(
        files,
        "let a: {d: [?n]f64} = load(\"comma_of_thousands.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:23: error[E0604]: `comma_of_thousands.csv`: line 2, column `d` is "1,234"; expected `f64`
        --- status 1
    "#]],
    );
    run(
        &[("yes.csv", b"a\nyes\nno\n")],
        "let a: {a: [?n]bool} = load(\"yes.csv\")\n",
        expect![[r#"
        --- stderr
        p.iv:1:24: error[E0604]: `yes.csv`: line 2, column `a` is "yes"; expected `bool`
        --- status 1
    "#]],
    );
}

#[test]
fn files_without_a_type_say_what_they_are() {
    let dir = Dir::new(&[
        ("twice.csv", b"a,a,b\n1,2,3\n"),
        ("weather.csv", b"a\n1\n"),
        ("ragged.csv", b"a,b\n1\n2,3,4\n"),
        ("part.json", b"{\"a\": 1, \"b\": [1, 2]}\n"),
    ]);
    let mut shown = String::new();
    for file in ["twice.csv", "wether.csv", "ragged.csv", "part.json"] {
        shown += &dir.run(&["eval", &format!("load(\"{file}\")"), "--format", "short"], b"");
    }
    std::fs::write(dir.path().join("p.iv"), "let a: {a: f64} = load(\"part.json\")\n").unwrap();
    shown += &dir.run(&["run", "p.iv", "--format", "short"], b"");
    expect![[r#"
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
        --- stderr
        <eval>:1:1: error[E0210]: a loaded value must have a written type
        --- status 1
        --- stderr
        p.iv:1:19: error[E0604]: `part.json`: the value has a field `b` that its type does not have
        --- status 1
    "#]]
    .assert_eq(&shown);
}

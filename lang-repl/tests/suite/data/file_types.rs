//! Tests of the contents of files against the types of parameters and of `load`.

use expect_test::{Expect, expect};

use crate::data::{DEFLATED, IMAGES, shaped};
use crate::harness::Dir;

const MEAN: &str = "def main(x: [n]f64) -> f64 = (sum i: x[i]) / f64(n)\n";
const PRODUCT: &str = "def main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64 = for i: (sum j: a[i, j] * x[j]) + f64(k)\n";
const PEOPLE: &str =
    "def main(p: {age: [n]i64, weight: [n]f64}) -> (i64, f64) = (sum i: p.age[i], sum i: p.weight[i])\n";
const CSV: &[u8] =
    b"\xEF\xBB\xBFname,\"age\",weight\r\n\"Ada, \"\"the first\"\"\",36,60.5\r\nAlan,41,\r\n\r\n\"Grace\nHopper\",85,NA\r\n";

#[track_caller]
fn shows(files: &[(&str, &[u8])], lines: &[&[&str]], expected: Expect) {
    let mut all: Vec<(&str, &[u8])> = vec![
        ("mean.iv", MEAN.as_bytes()),
        ("product.iv", PRODUCT.as_bytes()),
        ("people.iv", PEOPLE.as_bytes()),
        ("people.csv", CSV),
        ("matrix.csv", b"1,2\n3,4\n5,6\n"),
        ("column.csv", b"speed\n1.5\n2\n-3e0\n"),
        ("deflated.npz", DEFLATED),
    ];
    all.extend(files);
    let x = shaped("<f8", "(3,)", &[1.0, 2.0, 6.0].map(f64::to_le_bytes).concat());
    let a = shaped(">i4", "(2, 2)", &[1i32, 2, 3, 4].map(i32::to_be_bytes).concat());
    let k = shaped("<u8", "()", &7u64.to_le_bytes());
    let large = shaped("<u8", "()", &u64::MAX.to_le_bytes());
    let exact = shaped("<i8", "(2,)", &[1, (1i64 << 53) + 1].map(i64::to_le_bytes).concat());
    let half = shaped("<f8", "(2, 2)", &[1.0, 2.0, 2.5, 3.0].map(f64::to_le_bytes).concat());
    let truth = shaped("|b1", "(2,)", &[1, 0]);
    let claims = shaped("<f8", "(1152921504606846976,)", &[0; 8]);
    let array_files = [
        ("x.npy", x),
        ("a.npy", a),
        ("k.npy", k),
        ("large.npy", large),
        ("exact.npy", exact),
        ("half.npy", half),
        ("truth.npy", truth),
        ("claims.npy", claims),
    ];
    all.extend(array_files.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
    all.extend(IMAGES);
    Dir::new(&all).check_all(lines, expected);
}

#[test]
fn arguments_from_files() {
    shows(
        &[
            ("blue.iv", b"def main(x: [h, w, 3]f64) -> [h, w]f64 = for i, j: x[i, j, 2]\n"),
            ("bright.iv", b"def main(x: [h, w]i64) -> i64 = sum i, j: x[i, j]\n"),
            (
                "kept.iv",
                b"def main(r: {n: i64, x: [a, b]f64}) -> (i64, i64, f64) = (r.n, a * 10 + b, sum i, j: r.x[i, j])\n",
            ),
        ],
        &[
            &["run", "mean.iv", "x=@x.npy"],
            &["run", "mean.iv", "x=@column.csv"],
            &["run", "product.iv", "a=@a.npy", "x=[1, 1]", "k=@k.npy"],
            &["run", "product.iv", "a=@matrix.csv", "x=[1, 1]", "k=0"],
            &["run", "people.iv", "p=@people.csv"],
            &["run", "people.iv", "p=@people.csv", "--format", "json"],
            &["run", "mean.iv", "x=@exact.npy"],
            &["run", "blue.iv", "x=@colour.png"],
            &["run", "blue.iv", "x=@palette.png"],
            &["run", "blue.iv", "x=@opaque.png"],
            &["run", "blue.iv", "x=@clear.png"],
            &["run", "bright.iv", "x=@grey.png"],
            &["run", "bright.iv", "x=@bits.png"],
            &["run", "kept.iv", "r=@deflated.npz"],
        ],
        expect![[r#"
            $ iverson run mean.iv x=@x.npy
            3.0
            $ iverson run mean.iv x=@column.csv
            0.16666666666666666
            $ iverson run product.iv a=@a.npy x=[1, 1] k=@k.npy
            [10.0, 14.0]
            $ iverson run product.iv a=@matrix.csv x=[1, 1] k=0
            [3.0, 7.0, 11.0]
            $ iverson run people.iv p=@people.csv
            (162, nan)
            --- stderr
            [W0606] Warning: `people.csv`, column `weight`, has 2 missing values, first in line 3; they are read as NaN
               ╭─[ argument p:1:1 ]
               │
             1 │ @people.csv
               │ ─────┬─────
               │      ╰─────── here
            ───╯
            $ iverson run people.iv p=@people.csv --format json
            [162, "NaN"]
            $ iverson run mean.iv x=@exact.npy
            4503599627370496.0
            --- stderr
            [W0606] Warning: element [1] of argument `x` from `exact.npy` has no exact `f64`; the nearest value is used
               ╭─[ argument x:1:1 ]
               │
             1 │ @exact.npy
               │ ─────┬────
               │      ╰────── here
            ───╯
            $ iverson run blue.iv x=@colour.png
            [[0.0, 0.0],
             [1.0, 0.6]]
            $ iverson run blue.iv x=@palette.png
            [[0.0, 1.0],
             [1.0, 0.0]]
            $ iverson run blue.iv x=@opaque.png
            [[0.0, 0.0]]
            $ iverson run blue.iv x=@clear.png
            [[0.0, 0.0]]
            --- stderr
            [W0606] Warning: the transparency of argument `x` from `clear.png` is ignored
               ╭─[ argument x:1:1 ]
               │
             1 │ @clear.png
               │ ─────┬────
               │      ╰────── here
            ───╯
            $ iverson run bright.iv x=@grey.png
            765
            $ iverson run bright.iv x=@bits.png
            2040
            $ iverson run kept.iv r=@deflated.npz
            (7, 23, 15.0)
        "#]],
    );
}

#[test]
fn arguments_from_files_that_do_not_fit() {
    shows(
        &[
            ("ragged.csv", b"a,b\n1,2\n3\n"),
            ("text.csv", b"age,weight\n1,x\n"),
            ("quote.csv", b"a\n\"b\n"),
            ("cr.csv", b"a,b\r\"x\ry\",2\r3\r"),
        ],
        &[
            &["run", "product.iv", "a=@a.npy", "x=@x.npy", "k=1"],
            &["run", "product.iv", "a=@x.npy", "x=@a.npy", "k=@large.npy"],
            &["run", "product.iv", "a=[[1]]", "x=[1]", "k=@half.npy"],
            &["run", "mean.iv", "x=@truth.npy"],
            &["run", "mean.iv", "x=@claims.npy"],
            &["run", "mean.iv", "x=@matrix.csv"],
            &["run", "mean.iv", "x=@people.csv"],
            &["run", "mean.iv", "x=@ragged.csv", "--format", "short"],
            &["run", "mean.iv", "x=@quote.csv", "--format", "json"],
            &["run", "mean.iv", "x=@cr.csv", "--format", "short"],
            &["run", "people.iv", "p=@matrix.csv"],
            &["run", "people.iv", "p=@column.csv"],
            &["run", "people.iv", "p=@text.csv"],
            &["run", "people.iv", "p=@deflated.npz"],
            &["run", "mean.iv", "x=@grey.png"],
            &["run", "mean.iv", "x=@mean.iv"],
            &["run", "mean.iv", "x=@x.txt"],
            &["run", "mean.iv", "x=@none.npy"],
        ],
        expect![[r#"
            $ iverson run product.iv a=@a.npy x=@x.npy k=1
            --- stderr
            [E0600] Error: axis 0 of argument `x` from `x.npy` has 3 elements, but must have 2
               ╭─[ argument x:1:1 ]
               │
             1 │ @x.npy
               │ ───┬──
               │    ╰──── 3 elements
               │
               │ Help: `m` is 2 because of axis 1 of argument `a` from `a.npy`
               │       the program has `main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run product.iv a=@x.npy x=@a.npy k=@large.npy
            --- stderr
            [E0600] Error: argument `a` from `x.npy` has 1 axis (shape (3,)), but `[n, m]f64` has 2 axes
               ╭─[ argument a:1:1 ]
               │
             1 │ @x.npy
               │ ───┬──
               │    ╰──── here
            ───╯
            [E0600] Error: argument `x` from `a.npy` has 2 axes (shape (2, 2)), but `[m]f64` has 1 axis
               ╭─[ argument x:1:1 ]
               │
             1 │ @a.npy
               │ ───┬──
               │    ╰──── here
            ───╯
            [E0600] Error: argument `k` from `large.npy` is 18446744073709551615, which does not fit in `i64`
               ╭─[ argument k:1:1 ]
               │
             1 │ @large.npy
               │ ─────┬────
               │      ╰────── here
               │
               │ Help: the program has `main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run product.iv a=[[1]] x=[1] k=@half.npy
            --- stderr
            [E0600] Error: argument `k` from `half.npy` has 2 axes (shape (2, 2)), but `i64` has no axis
               ╭─[ argument k:1:1 ]
               │
             1 │ @half.npy
               │ ────┬────
               │     ╰────── here
               │
               │ Help: the program has `main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@truth.npy
            --- stderr
            [E0600] Error: argument `x` from `truth.npy` contains booleans; expected `f64`
               ╭─[ argument x:1:1 ]
               │
             1 │ @truth.npy
               │ ─────┬────
               │      ╰────── here
               │
               │ Help: read it as bool; `[x[i]] * 1.0` is 1 where it is true
               │       the program has `main(x: [n]f64) -> f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@claims.npy
            --- stderr
            [E0603] Error: `claims.npy`: the shape (1152921504606846976,) is too large
              Help: the program has `main(x: [n]f64) -> f64`
            --- status 2
            $ iverson run mean.iv x=@matrix.csv
            --- stderr
            [E0600] Error: argument `x` from `matrix.csv` is a table of 3 by 2, not of type `[n]f64`
               ╭─[ argument x:1:1 ]
               │
             1 │ @matrix.csv
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: the program has `main(x: [n]f64) -> f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@people.csv
            --- stderr
            [E0600] Error: argument `x` from `people.csv` is a table of 3 by 3, not of type `[n]f64`
               ╭─[ argument x:1:1 ]
               │
             1 │ @people.csv
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: the program has `main(x: [n]f64) -> f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@ragged.csv --format short
            --- stderr
            error[E0603]: `ragged.csv`: line 3 has 1 cell, but the first line has 2
            --- status 2
            $ iverson run mean.iv x=@quote.csv --format json
            {"error": [{"file": "quote.csv", "severity": "error", "code": "E0603", "message": "`quote.csv`: the quote in line 2 is not closed", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "the program has `main(x: [n]f64) -> f64`"}]}
            --- status 2
            $ iverson run mean.iv x=@cr.csv --format short
            --- stderr
            error[E0603]: `cr.csv`: line 4 has 1 cell, but the first line has 2
            --- status 2
            $ iverson run people.iv p=@matrix.csv
            --- stderr
            [E0600] Error: argument `p` from `matrix.csv` has no header, so its columns have no names
               ╭─[ argument p:1:1 ]
               │
             1 │ @matrix.csv
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: name them in the first line, or read a matrix, `[?n, ?m]f64`
               │       the program has `main(p: {age: [n]i64, weight: [n]f64}) -> (i64, f64)`
            ───╯
            --- status 2
            $ iverson run people.iv p=@column.csv
            --- stderr
            [E0600] Error: argument `p` from `column.csv` has no column `age`
               ╭─[ argument p:1:1 ]
               │
             1 │ @column.csv
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: its columns: `speed`
               │       the program has `main(p: {age: [n]i64, weight: [n]f64}) -> (i64, f64)`
            ───╯
            --- status 2
            $ iverson run people.iv p=@text.csv
            --- stderr
            [E0600] Error: `text.csv`, line 2, column `weight`, is "x"; expected `f64`
               ╭─[ argument p:1:1 ]
               │
             1 │ @text.csv
               │ ────┬────
               │     ╰────── here
               │
               │ Help: the program has `main(p: {age: [n]i64, weight: [n]f64}) -> (i64, f64)`
            ───╯
            --- status 2
            $ iverson run people.iv p=@deflated.npz
            --- stderr
            [E0600] Error: argument `p` from `deflated.npz` has no array `age`
               ╭─[ argument p:1:1 ]
               │
             1 │ @deflated.npz
               │ ──────┬──────
               │       ╰──────── here
               │
               │ Help: its arrays: `x`, `n`, `label`
               │       the program has `main(p: {age: [n]i64, weight: [n]f64}) -> (i64, f64)`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@grey.png
            --- stderr
            [E0600] Error: argument `x` from `grey.png` is a grey image of shape (2, 3), but `[n]f64` has 1 axis
               ╭─[ argument x:1:1 ]
               │
             1 │ @grey.png
               │ ────┬────
               │     ╰────── here
               │
               │ Help: a grey image has type `[?h, ?w]f64`, a colour image `[?h, ?w, 3]f64`
               │       the program has `main(x: [n]f64) -> f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@mean.iv
            --- stderr
            [E0600] Error: `mean.iv` is not a data file
              Help: data files end in .npy, .npz, .csv, .json or .png
                    the program has `main(x: [n]f64) -> f64`
            --- status 2
            $ iverson run mean.iv x=@x.txt
            --- stderr
            [E0600] Error: `x.txt` is not a data file
              Help: data files end in .npy, .npz, .csv, .json or .png
                    the program has `main(x: [n]f64) -> f64`
            --- status 2
            $ iverson run mean.iv x=@none.npy
            --- stderr
            [E0602] Error: `none.npy` cannot be read: no such file
              Help: paths are relative to the current directory
                    the program has `main(x: [n]f64) -> f64`
            --- status 2
        "#]],
    );
}

#[test]
fn loads_that_fail() {
    let program = |body: &str| body.as_bytes().to_vec();
    let programs = [
        ("axis.iv", program("let n = 4\nlet x: [n]f64 = load(\"x.npy\")\n")),
        ("square.iv", program("let a: [?n, ?n]f64 = load(\"matrix.csv\")\n")),
        ("inner.iv", program("let r: {x: [2, 2]f64, n: i64} = load(\"deflated.npz\")\n")),
        ("rank.iv", program("let x: [?n]f64 = load(\"half.npy\")\n")),
        ("whole.iv", program("let x: [?n, ?m]i64 = load(\"half.npy\")\n")),
        ("truth.iv", program("let x: [?n]i64 = load(\"truth.npy\")\n")),
        ("bool.iv", program("let x: [?n]bool = load(\"x.npy\")\n")),
        ("missing.iv", program("let p: {weight: [?n]i64} = load(\"people.csv\")\n")),
        ("column.iv", program("let p: {wieght: [?n]f64} = load(\"people.csv\")\n")),
        ("text.iv", program("let p: {name: [?n]f64} = load(\"people.csv\")\n")),
        ("label.iv", program("let p: {label: [?n]f64} = load(\"deflated.npz\")\n")),
        ("image.iv", program("let p: [?h, ?w]f64 = load(\"colour.png\")\n")),
        ("wide.iv", program("let p: [?h, ?w]i64 = load(\"grey16.png\")\n")),
        ("json.iv", program("let x: [?n, 2]f64 = load(\"data.json\")\n")),
        ("kind.iv", program("let x: {x: [?n]i64} = load(\"kind.json\")\n")),
        ("bad.iv", program("let x: {x: [?n]i64} = load(\"bad.json\")\n")),
        ("none.iv", program("let x: f64 = load(\"lib/none.npy\")\n")),
        ("dat.iv", program("let x: f64 = load(\"x.dat\")\n")),
        ("folder.iv", program("let x: f64 = load(\"folder.npy\")\n")),
        ("claims.iv", program("let x: [?n]f64 = load(\"claims.npy\")\n")),
        ("lib/here.iv", program("let x: [?n]f64 = load(\"here.json\")\ndo x\n")),
        ("import.iv", program("import \"./lib/here.iv\" as here\ndo sum i: here.x[i]\n")),
        ("folder.npy/x", program("")),
        ("data.json", program("[[1, 2, 3]]")),
        ("kind.json", program("{\"x\": [1, 2.5]}")),
        ("bad.json", program("{\"x\": [1, 2.5]")),
        ("lib/here.json", program("[1, 2]")),
    ];
    let files: Vec<(&str, &[u8])> = programs.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let scripts = programs.iter().filter(|(name, _)| name.ends_with(".iv"));
    let lines: Vec<[&str; 2]> = scripts.map(|(name, _)| ["run", *name]).collect();
    let mut lines: Vec<&[&str]> = lines.iter().map(<[&str; 2]>::as_slice).collect();
    lines.push(&["eval", "here.x", "-l", "import.iv"]);
    lines.push(&["eval", "x", "-l", "lib/here.iv"]);
    shows(
        &files,
        &lines,
        expect![[r#"
            $ iverson run axis.iv
            --- stderr
            [E0604] Error: `x.npy`: axis 0 has 3 elements, but must have 4
               ╭─[ axis.iv:2:17 ]
               │
             2 │ let x: [n]f64 = load("x.npy")
               │                 ──────┬──────
               │                       ╰──────── here
            ───╯
            --- status 1
            $ iverson run square.iv
            --- stderr
            [E0604] Error: `matrix.csv`: axis 1 has 2 elements, but must have 3
               ╭─[ square.iv:1:22 ]
               │
             1 │ let a: [?n, ?n]f64 = load("matrix.csv")
               │                      ─────────┬────────
               │                               ╰────────── here
               │
               │ Help: `n` is 3 because of axis 0
            ───╯
            --- status 1
            $ iverson run inner.iv
            --- stderr
            [E0604] Error: `deflated.npz`: axis 1 of `.x` has 3 elements, but must have 2
               ╭─[ inner.iv:1:33 ]
               │
             1 │ let r: {x: [2, 2]f64, n: i64} = load("deflated.npz")
               │                                 ──────────┬─────────
               │                                           ╰─────────── here
            ───╯
            --- status 1
            $ iverson run rank.iv
            --- stderr
            [E0604] Error: `half.npy`: the value has 2 axes (shape (2, 2)), but `[n]f64` has 1 axis
               ╭─[ rank.iv:1:18 ]
               │
             1 │ let x: [?n]f64 = load("half.npy")
               │                  ────────┬───────
               │                          ╰───────── here
            ───╯
            --- status 1
            $ iverson run whole.iv
            --- stderr
            [E0604] Error: `half.npy`: element [1, 0] is 2.5, which is not an `i64`
               ╭─[ whole.iv:1:22 ]
               │
             1 │ let x: [?n, ?m]i64 = load("half.npy")
               │                      ────────┬───────
               │                              ╰───────── here
            ───╯
            --- status 1
            $ iverson run truth.iv
            --- stderr
            [E0604] Error: `truth.npy`: the value contains booleans; expected `i64`
               ╭─[ truth.iv:1:18 ]
               │
             1 │ let x: [?n]i64 = load("truth.npy")
               │                  ────────┬────────
               │                          ╰────────── here
               │
               │ Help: read it as bool; `[x[i]] * 1` is 1 where it is true
            ───╯
            --- status 1
            $ iverson run bool.iv
            --- stderr
            [E0604] Error: `x.npy`: the value contains numbers; expected `bool`
               ╭─[ bool.iv:1:19 ]
               │
             1 │ let x: [?n]bool = load("x.npy")
               │                   ──────┬──────
               │                         ╰──────── here
               │
               │ Help: read it as i64, and compare: `x[i] != 0`
            ───╯
            --- status 1
            $ iverson run missing.iv
            --- stderr
            [E0604] Error: `people.csv`: line 2, column `weight` is 60.5, which is not a valid `i64`
               ╭─[ missing.iv:1:28 ]
               │
             1 │ let p: {weight: [?n]i64} = load("people.csv")
               │                            ─────────┬────────
               │                                     ╰────────── here
            ───╯
            --- status 1
            $ iverson run column.iv
            --- stderr
            [E0604] Error: `people.csv`: the file has no column `wieght`
               ╭─[ column.iv:1:28 ]
               │
             1 │ let p: {wieght: [?n]f64} = load("people.csv")
               │                            ─────────┬────────
               │                                     ╰────────── here
               │
               │ Help: did you mean `weight`?
            ───╯
            --- status 1
            $ iverson run text.iv
            --- stderr
            [E0604] Error: `people.csv`: line 2, column `name` is "Ada, \"the first\""; expected `f64`
               ╭─[ text.iv:1:26 ]
               │
             1 │ let p: {name: [?n]f64} = load("people.csv")
               │                          ─────────┬────────
               │                                   ╰────────── here
            ───╯
            --- status 1
            $ iverson run label.iv
            --- stderr
            [E0604] Error: `deflated.npz`: the array `label`: elements of kind `<U1` (strings) are not supported
               ╭─[ label.iv:1:27 ]
               │
             1 │ let p: {label: [?n]f64} = load("deflated.npz")
               │                           ──────────┬─────────
               │                                     ╰─────────── here
            ───╯
            --- status 1
            $ iverson run image.iv
            --- stderr
            [E0604] Error: `colour.png`: the value is a colour image of shape (2, 2, 3), but `[h, w]f64` has 2 axes
               ╭─[ image.iv:1:22 ]
               │
             1 │ let p: [?h, ?w]f64 = load("colour.png")
               │                      ─────────┬────────
               │                               ╰────────── here
               │
               │ Help: a grey image has type `[?h, ?w]f64`, a colour image `[?h, ?w, 3]f64`
            ───╯
            --- status 1
            $ iverson run wide.iv
            --- stderr
            [E0604] Error: `grey16.png`: the value has 16 bits per channel, but integers must be from 0 to 255
               ╭─[ wide.iv:1:22 ]
               │
             1 │ let p: [?h, ?w]i64 = load("grey16.png")
               │                      ─────────┬────────
               │                               ╰────────── here
               │
               │ Help: read it as f64, from 0 to 1
            ───╯
            --- status 1
            $ iverson run json.iv
            --- stderr
            [E0604] Error: `data.json`: axis 1 has 3 elements, but must have 2
               ╭─[ json.iv:1:21 ]
               │
             1 │ let x: [?n, 2]f64 = load("data.json")
               │                     ────────┬────────
               │                             ╰────────── here
            ───╯
            --- status 1
            $ iverson run kind.iv
            --- stderr
            [E0604] Error: `kind.json`: `.x[1]` is the real number 2.5, not of type `i64`
               ╭─[ kind.iv:1:23 ]
               │
             1 │ let x: {x: [?n]i64} = load("kind.json")
               │                       ────────┬────────
               │                               ╰────────── here
               │
               │ Help: write an integer without a point or an exponent
            ───╯
            --- status 1
            $ iverson run bad.iv
            --- stderr
            [E0603] Error: `bad.json`: this is not JSON: expected `,` or `}` but found the end at line 1 column 15
               ╭─[ bad.iv:1:23 ]
               │
             1 │ let x: {x: [?n]i64} = load("bad.json")
               │                       ────────┬───────
               │                               ╰───────── here
            ───╯
            --- status 1
            $ iverson run none.iv
            --- stderr
            [E0602] Error: `lib/none.npy` cannot be read: no such file
               ╭─[ none.iv:1:14 ]
               │
             1 │ let x: f64 = load("lib/none.npy")
               │              ──────────┬─────────
               │                        ╰─────────── here
            ───╯
            --- status 1
            $ iverson run dat.iv
            --- stderr
            [E0603] Error: `x.dat` is not a data file
               ╭─[ dat.iv:1:19 ]
               │
             1 │ let x: f64 = load("x.dat")
               │                   ───┬───
               │                      ╰───── here
               │
               │ Help: use .npy, .npz, .csv, .json or .png; text tables (.txt) can only be written
            ───╯
            --- status 1
            $ iverson run folder.iv
            --- stderr
            [E0602] Error: `folder.npy` cannot be read: it is a directory
               ╭─[ folder.iv:1:14 ]
               │
             1 │ let x: f64 = load("folder.npy")
               │              ─────────┬────────
               │                       ╰────────── here
            ───╯
            --- status 1
            $ iverson run claims.iv
            --- stderr
            [E0603] Error: `claims.npy`: the shape (1152921504606846976,) is too large
               ╭─[ claims.iv:1:18 ]
               │
             1 │ let x: [?n]f64 = load("claims.npy")
               │                  ─────────┬────────
               │                           ╰────────── here
            ───╯
            --- status 1
            $ iverson run lib/here.iv
            [1.0, 2.0]
            $ iverson run import.iv
            3.0
            $ iverson eval here.x -l import.iv
            [1.0, 2.0]
            $ iverson eval x -l lib/here.iv
            [1.0, 2.0]
        "#]],
    );
}

#[test]
fn numbers_that_are_too_large_are_not_infinite() {
    shows(
        &[("great.csv", b"1,1e400\n"), ("infinite.csv", b"1,-inf\n")],
        &[
            &["run", "product.iv", "a=@great.csv", "x=[1, 1]", "k=0"],
            &["run", "product.iv", "a=@infinite.csv", "x=[1, 1]", "k=0"],
        ],
        expect![[r#"
            $ iverson run product.iv a=@great.csv x=[1, 1] k=0
            --- stderr
            [E0600] Error: `great.csv`, line 1, column 2, is 1e400, which does not fit in `f64`
               ╭─[ argument a:1:1 ]
               │
             1 │ @great.csv
               │ ─────┬────
               │      ╰────── here
               │
               │ Help: the program has `main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run product.iv a=@infinite.csv x=[1, 1] k=0
            [-inf]
        "#]],
    );
}

//! Data files: what NumPy writes is read as it is, what is written NumPy reads, what is damaged is told, and what
//! does not fit is named by file and axis.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

mod harness;

use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use harness::Dir;
use serde_json::Value;

/// What NumPy wrote: see `data/make.py`.
const KINDS: &[u8] = include_bytes!("data/kinds.npz");
const KNOWN: &str = include_str!("data/kinds.json");
const DEFLATED: &[u8] = include_bytes!("data/deflated.npz");

const IMAGES: [(&str, &[u8]); 7] = [
    ("grey.png", include_bytes!("data/grey.png")),
    ("grey16.png", include_bytes!("data/grey16.png")),
    ("bits.png", include_bytes!("data/bits.png")),
    ("colour.png", include_bytes!("data/colour.png")),
    ("palette.png", include_bytes!("data/palette.png")),
    ("opaque.png", include_bytes!("data/opaque.png")),
    ("clear.png", include_bytes!("data/clear.png")),
];

/// The files of an archive.
fn unpacked(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let files = 0..archive.len();
    files
        .map(|k| {
            let mut file = archive.by_index(k).unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            (file.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

/// A `.npy` file by its header and its elements.
fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(elements);
    file
}

fn shaped(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"), elements)
}

/// A Python that has NumPy, if there is one.
fn python() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("IVERSON_PYTHON").unwrap_or_else(|| "python3".into()));
    let there = Command::new(&program).args(["-c", "import numpy"]).output();
    if there.is_ok_and(|o| o.status.success()) {
        return Some(program);
    }
    // Without it what NumPy would read is not compared.
    assert!(std::env::var_os("IVERSON_REQUIRE_ALL").is_none(), "there is no Python with NumPy");
    eprintln!("skipped: there is no Python with NumPy");
    None
}

#[track_caller]
fn runs(dir: &Dir, program: &str) {
    std::fs::write(dir.path().join("program.iv"), program).unwrap();
    assert_eq!(dir.run(&["run", "program.iv"], b""), "", "{program}");
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every kind of number, byte order, order of elements and shape is read as what NumPy wrote, and written as what NumPy
/// reads.
#[test]
fn numpy_round_trips() {
    let dir = Dir::new(&[("out/none", b"")]);
    let known: Value = serde_json::from_str(KNOWN).unwrap();
    let known = known.as_object().unwrap();
    let mut program = String::new();
    for (name, bytes) in unpacked(KINDS) {
        std::fs::write(dir.path().join(&name), bytes).unwrap();
        let name = name.strip_suffix(".npy").unwrap();
        let case = &known[name];
        let shape: Vec<String> = case["shape"].as_array().unwrap().iter().map(Value::to_string).collect();
        let element = case["element"].as_str().unwrap();
        let extents = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
        program += &format!("let {name}: {extents}{element} = load(\"{name}.npy\")\n");
        program += &format!("do save({name}, \"out/{name}.json\")\ndo save({name}, \"out/{name}.npy\")\n");
        // The same file tells its extents.
        let open: Vec<String> = (0..shape.len()).map(|k| format!("?a{k}")).collect();
        if !open.is_empty() {
            program += &format!("let {name}_open: [{}]{element} = load(\"out/{name}.npy\")\n", open.join(", "));
            program += &format!("do save({name}_open, \"out/{name}_open.json\")\n");
        }
    }
    runs(&dir, &program);
    assert_eq!(known.len(), 210);
    for (name, case) in known {
        let out = dir.path().join("out");
        assert_eq!(json(&out.join(format!("{name}.json"))), case["value"], "{name}");
        if case["shape"] != Value::Array(Vec::new()) {
            assert_eq!(json(&out.join(format!("{name}_open.json"))), case["value"], "{name}");
        }
    }
    runs(
        &dir,
        "let x: [2, 2]f64 = [[1, 2], [3, 4]]\n\
         let short: [2]f32 = [0.5, 1.5]\n\
         do save({x: x, n: 7, short: short, flag: [true, false]}, \"out/all.npz\")\n\
         do save(([1, 2], 2.5), \"out/pair.npz\")\n\
         let weight: [2]f64 = [80.5, 61]\n\
         do save({age: [30, 40], weight: weight}, \"out/table.csv\")\n\
         do save(x, \"out/matrix.csv\")\n\
         let grey: [2, 3]i64 = [[0, 51, 255], [102, 153, 204]]\n\
         do save(grey, \"out/grey.png\")\n\
         let colour = [[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [0.2, 0.4, 0.6]]]\n\
         do save(colour, \"out/colour.png\")\n",
    );
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/make.py");
    let output = Command::new(python).arg(script).arg("--check").arg(dir.path().join("out")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "good\n", "{}", String::from_utf8_lossy(&output.stderr));
}

/// The committed files are those that the script writes.
#[test]
fn numpy_still_writes_the_same() {
    let Some(python) = python() else { return };
    let dir = Dir::new(&[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/make.py");
    assert!(Command::new(python).arg(script).arg(dir.path()).status().unwrap().success());
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    assert!(unpacked(&read("kinds.npz")) == unpacked(KINDS), "kinds.npz");
    assert_eq!(String::from_utf8(read("kinds.json")).unwrap(), KNOWN);
    assert!(unpacked(&read("deflated.npz")) == unpacked(DEFLATED), "deflated.npz");
}

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
    let made = [
        ("x.npy", x),
        ("a.npy", a),
        ("k.npy", k),
        ("large.npy", large),
        ("exact.npy", exact),
        ("half.npy", half),
        ("truth.npy", truth),
        ("claims.npy", claims),
    ];
    all.extend(made.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
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
            [W0606] Warning: `people.csv`, column `weight`, has 2 missing values, first in line 3, which make NaNs
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
            [W0606] Warning: element [1] of argument `x`, of `exact.npy`, is no exact `f64`; the nearest one is taken
               ╭─[ argument x:1:1 ]
               │
             1 │ @exact.npy
               │ ─────┬────
               │      ╰────── here
            ───╯
            $ iverson run blue.iv x=@colour.png
            [[0.0, 0.0], [1.0, 0.6]]
            $ iverson run blue.iv x=@palette.png
            [[0.0, 1.0], [1.0, 0.0]]
            $ iverson run blue.iv x=@opaque.png
            [[0.0, 0.0]]
            $ iverson run blue.iv x=@clear.png
            [[0.0, 0.0]]
            --- stderr
            [W0606] Warning: what is transparent in argument `x`, of `clear.png`, is read as if it were not
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
        &[("ragged.csv", b"a,b\n1,2\n3\n"), ("text.csv", b"age,weight\n1,x\n"), ("quote.csv", b"a\n\"b\n")],
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
            [E0600] Error: axis 0 of argument `x`, of `x.npy`, has 3 elements, but 2 are wanted
               ╭─[ argument x:1:1 ]
               │
             1 │ @x.npy
               │ ───┬──
               │    ╰──── 3 elements
               │
               │ Help: `m` is 2 by axis 1 of argument `a`, of `a.npy`
               │       the program has `main(a: [n, m]f64, x: [m]f64, k: i64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run product.iv a=@x.npy x=@a.npy k=@large.npy
            --- stderr
            [E0600] Error: argument `a`, of `x.npy`, has 1 axis, its shape is (3,), and `[n, m]f64` has 2 axes
               ╭─[ argument a:1:1 ]
               │
             1 │ @x.npy
               │ ───┬──
               │    ╰──── here
            ───╯
            [E0600] Error: argument `x`, of `a.npy`, has 2 axes, its shape is (2, 2), and `[m]f64` has 1 axis
               ╭─[ argument x:1:1 ]
               │
             1 │ @a.npy
               │ ───┬──
               │    ╰──── here
            ───╯
            [E0600] Error: argument `k`, of `large.npy`, is 18446744073709551615, which no `i64` holds
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
            [E0600] Error: argument `k`, of `half.npy`, has 2 axes, its shape is (2, 2), and `i64` has no axis
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
            [E0600] Error: argument `x`, of `truth.npy`, holds truth values, and `f64` is wanted
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
            [E0600] Error: argument `x`, of `matrix.csv`, is a table of 3 by 2, not of type `[n]f64`
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
            [E0600] Error: argument `x`, of `people.csv`, is a table of 3 by 3, not of type `[n]f64`
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
            error[E0603]: `ragged.csv`: line 3 has 1 cell, and the first has 2
            --- status 2
            $ iverson run mean.iv x=@quote.csv --format json
            {"error": [{"file": "quote.csv", "severity": "error", "code": "E0603", "message": "`quote.csv`: the quote in line 2 is not closed", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "the program has `main(x: [n]f64) -> f64`"}]}
            --- status 2
            $ iverson run people.iv p=@matrix.csv
            --- stderr
            [E0600] Error: argument `p`, of `matrix.csv`, has no header, so its columns have no names
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
            [E0600] Error: argument `p`, of `column.csv`, has no column `age`
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
            [E0600] Error: `text.csv`, line 2, column `weight`, is "x", and `f64` is wanted
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
            [E0600] Error: argument `p`, of `deflated.npz`, has no array `age`
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
            [E0600] Error: argument `x`, of `grey.png`, is grey, its shape (2, 3), and `[n]f64` has 1 axis
               ╭─[ argument x:1:1 ]
               │
             1 │ @grey.png
               │ ────┬────
               │     ╰────── here
               │
               │ Help: a grey image is `[?h, ?w]f64`, one in colour `[?h, ?w, 3]f64`
               │       the program has `main(x: [n]f64) -> f64`
            ───╯
            --- status 2
            $ iverson run mean.iv x=@mean.iv
            --- stderr
            [E0600] Error: `mean.iv` is no data file
              Help: data files end in .npy, .npz, .csv, .json or .png
                    the program has `main(x: [n]f64) -> f64`
            --- status 2
            $ iverson run mean.iv x=@x.txt
            --- stderr
            [E0600] Error: `x.txt` is no data file
              Help: data files end in .npy, .npz, .csv, .json or .png
                    the program has `main(x: [n]f64) -> f64`
            --- status 2
            $ iverson run mean.iv x=@none.npy
            --- stderr
            [E0602] Error: `none.npy` cannot be read: there is no such file
              Help: the name is taken relative to the current directory
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
            [E0604] Error: `x.npy`: axis 0 has 3 elements, but 4 are wanted
               ╭─[ axis.iv:2:17 ]
               │
             2 │ let x: [n]f64 = load("x.npy")
               │                 ──────┬──────
               │                       ╰──────── here
            ───╯
            --- status 1
            $ iverson run square.iv
            --- stderr
            [E0604] Error: `matrix.csv`: axis 1 has 2 elements, but 3 are wanted
               ╭─[ square.iv:1:22 ]
               │
             1 │ let a: [?n, ?n]f64 = load("matrix.csv")
               │                      ─────────┬────────
               │                               ╰────────── here
               │
               │ Help: `n` is 3 by axis 0
            ───╯
            --- status 1
            $ iverson run inner.iv
            --- stderr
            [E0604] Error: `deflated.npz`: axis 1 of `.x` has 3 elements, but 2 are wanted
               ╭─[ inner.iv:1:33 ]
               │
             1 │ let r: {x: [2, 2]f64, n: i64} = load("deflated.npz")
               │                                 ──────────┬─────────
               │                                           ╰─────────── here
            ───╯
            --- status 1
            $ iverson run rank.iv
            --- stderr
            [E0604] Error: `half.npy`: the value has 2 axes, its shape is (2, 2), and `[n]f64` has 1 axis
               ╭─[ rank.iv:1:18 ]
               │
             1 │ let x: [?n]f64 = load("half.npy")
               │                  ────────┬───────
               │                          ╰───────── here
            ───╯
            --- status 1
            $ iverson run whole.iv
            --- stderr
            [E0604] Error: `half.npy`: element [1, 0] is 2.5, which is no `i64`
               ╭─[ whole.iv:1:22 ]
               │
             1 │ let x: [?n, ?m]i64 = load("half.npy")
               │                      ────────┬───────
               │                              ╰───────── here
            ───╯
            --- status 1
            $ iverson run truth.iv
            --- stderr
            [E0604] Error: `truth.npy`: the value holds truth values, and `i64` is wanted
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
            [E0604] Error: `x.npy`: the value holds numbers, and `bool` is wanted
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
            [E0604] Error: `people.csv`: line 3, column `weight` has no value, and `i64` is wanted
               ╭─[ missing.iv:1:28 ]
               │
             1 │ let p: {weight: [?n]i64} = load("people.csv")
               │                            ─────────┬────────
               │                                     ╰────────── here
               │
               │ Help: in a column of reals it would be NaN
            ───╯
            --- status 1
            $ iverson run column.iv
            --- stderr
            [E0604] Error: `people.csv`: the value has no column `wieght`
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
            [E0604] Error: `people.csv`: line 2, column `name` is "Ada, \"the first\"", and `f64` is wanted
               ╭─[ text.iv:1:26 ]
               │
             1 │ let p: {name: [?n]f64} = load("people.csv")
               │                          ─────────┬────────
               │                                   ╰────────── here
            ───╯
            --- status 1
            $ iverson run label.iv
            --- stderr
            [E0604] Error: `deflated.npz`: the array `label`: its elements are of the kind `<U1`, which is not read: it is neither real, integer nor bool
               ╭─[ label.iv:1:27 ]
               │
             1 │ let p: {label: [?n]f64} = load("deflated.npz")
               │                           ──────────┬─────────
               │                                     ╰─────────── here
            ───╯
            --- status 1
            $ iverson run image.iv
            --- stderr
            [E0604] Error: `colour.png`: the value is in colour, its shape (2, 2, 3), and `[h, w]f64` has 2 axes
               ╭─[ image.iv:1:22 ]
               │
             1 │ let p: [?h, ?w]f64 = load("colour.png")
               │                      ─────────┬────────
               │                               ╰────────── here
               │
               │ Help: a grey image is `[?h, ?w]f64`, one in colour `[?h, ?w, 3]f64`
            ───╯
            --- status 1
            $ iverson run wide.iv
            --- stderr
            [E0604] Error: `grey16.png`: the value has 16 bits a channel, and integers are from 0 to 255
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
            [E0604] Error: `data.json`: axis 1 has 3 elements, but 2 are wanted
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
               │ Help: an integer has no point and no exponent
            ───╯
            --- status 1
            $ iverson run bad.iv
            --- stderr
            [E0603] Error: `bad.json`: this is not JSON: EOF while parsing an object at line 1 column 14
               ╭─[ bad.iv:1:23 ]
               │
             1 │ let x: {x: [?n]i64} = load("bad.json")
               │                       ────────┬───────
               │                               ╰───────── here
            ───╯
            --- status 1
            $ iverson run none.iv
            --- stderr
            [E0602] Error: `lib/none.npy` cannot be read: there is no such file
               ╭─[ none.iv:1:14 ]
               │
             1 │ let x: f64 = load("lib/none.npy")
               │              ──────────┬─────────
               │                        ╰─────────── here
            ───╯
            --- status 1
            $ iverson run dat.iv
            --- stderr
            [E0603] Error: `x.dat` is no data file
               ╭─[ dat.iv:1:14 ]
               │
             1 │ let x: f64 = load("x.dat")
               │              ──────┬──────
               │                    ╰──────── here
               │
               │ Help: data files end in .npy, .npz, .csv, .json or .png; text tables, .txt, are only written
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
fn a_session_that_loads_and_saves() {
    let dir = Dir::new(&[
        ("lib/script.iv", b"let x: [?n]f64 = load(\"x.json\")\n"),
        ("lib/x.json", b"[1, 2]"),
        ("x.json", b"[3]"),
    ]);
    harness::session_in(
        &dir,
        "let x: [?n]f64 = load(\"x.json\")\nsave(for i < 3: i^2, \"y.npy\")\nlet y: [?k]i64 = load(\"y.npy\")\n\
         let y: [?k]i64 = load(\"z.npy\")\n:load lib/script.iv\nx\nfor i < 2: (let z: [1]f64 = load(\"x.json\") in z)\n\
         let r: [?n]{a: i64, b: f64} = load(\"r.csv\")\nsave([{a: 1, b: 2.0}, {a: 2, b: inf}], \"r.csv\")\n\
         let r: [?n]{a: i64, b: f64} = load(\"r.csv\")\n",
        expect![[r#"
            x: [1]f64 = [3.0]
            y: [3]i64 = [0, 1, 4]
            [E0602] Error: `z.npy` cannot be read: there is no such file
               ╭─[ repl:1:18 ]
               │
             1 │ let y: [?k]i64 = load("z.npy")
               │                  ──────┬──────
               │                        ╰──────── here
            ───╯
            loaded lib/script.iv
            [2]f64 = [1.0, 2.0]
            [2, 1]f64 = [[3.0], [3.0]]
            [E0602] Error: `r.csv` cannot be read: there is no such file
               ╭─[ repl:1:31 ]
               │
             1 │ let r: [?n]{a: i64, b: f64} = load("r.csv")
               │                               ──────┬──────
               │                                     ╰──────── here
            ───╯
            r: [2]{a: i64, b: f64} = [{a: 1, b: 2.0}, {a: 2, b: inf}]
            --- exit status: 1
        "#]],
    );
}

#[test]
fn saves() {
    let dir = Dir::new(&[
        (
            "tables.iv",
            b"let x: [3, 2]f64 = [[1, -2.5], [1e300, nan], [0, inf]]\n\
              do save(x, \"x.txt\")\ndo save(x, \"x.csv\")\n\
              do save({name: [1, 20], y: [1.5, 2.0], z: [true, false]}, \"r.txt\")\n\
              do save([{a: 1, b: 2.0}, {a: 20, b: 3.5}], \"rows.txt\")\n\
              do save([{a: 1, b: 2.0}, {a: 20, b: 3.5}], \"rows.csv\")\n\
              do save([(1, 2.0), (3, 4.0)], \"pairs.csv\")\n\
              do save(2.5, \"one.txt\")\n\
              do save((1, [true, false], {x: 2.0}), \"any.json\")\n",
        ),
        (
            "clamp.iv",
            b"do save([[-1.0, 0.5, nan], [0.25, 1, 2]], \"c.png\")\nlet c: [2, 3]i64 = load(\"c.png\")\ndo c\n",
        ),
        ("npy.iv", b"do save({x: [1]}, \"x.npy\")\n"),
        ("npz.iv", b"do save({x: [1], f: {y: 2}}, \"x.npz\")\n"),
        ("one.iv", b"do save([1], \"x.npz\")\n"),
        ("csv.iv", b"do save({x: [1], y: [1, 2]}, \"x.csv\")\n"),
        ("png.iv", b"do save([1.0], \"x.png\")\n"),
        ("empty.iv", b"let x: [0, 2]f64 = []\ndo save(x, \"x.png\")\n"),
        ("dat.iv", b"do save([1.0], \"x.dat\")\n"),
        ("lost.iv", b"do save([1.0], \"no/x.npy\")\n"),
        ("folder.iv", b"do save([1.0], \"folder.npy\")\n"),
        ("folder.npy/x", b""),
    ]);
    let names = ["tables", "clamp", "npy", "npz", "one", "csv", "png", "empty", "dat", "lost", "folder"]
        .map(|n| format!("{n}.iv"));
    let mut all = String::new();
    for name in &names {
        all += &format!("$ iverson run {name}\n{}", dir.run(&["run", name], b""));
    }
    for name in ["x.txt", "x.csv", "r.txt", "rows.txt", "rows.csv", "pairs.csv", "one.txt", "any.json"] {
        all += &format!("--- {name}\n{}", std::fs::read_to_string(dir.path().join(name)).unwrap_or_default());
    }
    expect![[r#"
        $ iverson run tables.iv
        $ iverson run clamp.iv
        [[0, 128, 0], [64, 255, 255]]
        --- stderr
        [W0606] Warning: `c.png`: 3 numbers lie outside the range of an image, and were moved to its ends
           ╭─[ clamp.iv:1:4 ]
           │
         1 │ do save([[-1.0, 0.5, nan], [0.25, 1, 2]], "c.png")
           │    ───────────────────────┬───────────────────────
           │                           ╰───────────────────────── here
        ───╯
        $ iverson run npy.iv
        --- stderr
        [E0605] Error: `x.npy`: the value is a record, and a .npy file holds a number or an array of numbers
           ╭─[ npy.iv:1:4 ]
           │
         1 │ do save({x: [1]}, "x.npy")
           │    ───────────┬───────────
           │               ╰───────────── here
           │
           │ Help: write records and tuples of arrays as .npz, anything as .json
        ───╯
        --- status 1
        $ iverson run npz.iv
        --- stderr
        [E0605] Error: `x.npz`: `f` is a record, and a .npz file holds numbers and arrays of numbers
           ╭─[ npz.iv:1:4 ]
           │
         1 │ do save({x: [1], f: {y: 2}}, "x.npz")
           │    ─────────────────┬────────────────
           │                     ╰────────────────── here
           │
           │ Help: anything can be written as .json
        ───╯
        --- status 1
        $ iverson run one.iv
        --- stderr
        [E0605] Error: `x.npz`: the value is an array of 1 axis, and a .npz file holds a record or tuple of arrays
           ╭─[ one.iv:1:4 ]
           │
         1 │ do save([1], "x.npz")
           │    ─────────┬────────
           │             ╰────────── here
           │
           │ Help: write one array as .npy, anything as .json
        ───╯
        --- status 1
        $ iverson run csv.iv
        --- stderr
        [E0605] Error: `x.csv`: the value is a record, and no table
           ╭─[ csv.iv:1:4 ]
           │
         1 │ do save({x: [1], y: [1, 2]}, "x.csv")
           │    ─────────────────┬────────────────
           │                     ╰────────────────── here
           │
           │ Help: a table is a matrix, a vector, a record of vectors of one length, or a vector of records of numbers; anything can be written as .json
        ───╯
        --- status 1
        $ iverson run png.iv
        --- stderr
        [E0605] Error: `x.png`: the shape (1,) is not that of an image
           ╭─[ png.iv:1:4 ]
           │
         1 │ do save([1.0], "x.png")
           │    ──────────┬─────────
           │              ╰─────────── here
           │
           │ Help: an image is `[h, w]`, grey, or `[h, w, 3]`, of reals from 0 to 1 or integers from 0 to 255
        ───╯
        --- status 1
        $ iverson run empty.iv
        --- stderr
        [E0605] Error: `x.png`: an image has no 0 by 2 pixels
           ╭─[ empty.iv:2:4 ]
           │
         2 │ do save(x, "x.png")
           │    ────────┬───────
           │            ╰───────── here
           │
           │ Help: an image is `[h, w]`, grey, or `[h, w, 3]`, of reals from 0 to 1 or integers from 0 to 255
        ───╯
        --- status 1
        $ iverson run dat.iv
        --- stderr
        [E0603] Error: `x.dat` is no data file
           ╭─[ dat.iv:1:4 ]
           │
         1 │ do save([1.0], "x.dat")
           │    ──────────┬─────────
           │              ╰─────────── here
           │
           │ Help: data files end in .npy, .npz, .csv, .json or .png; text tables, .txt, are only written
        ───╯
        --- status 1
        $ iverson run lost.iv
        --- stderr
        [E0605] Error: `no/x.npy` cannot be written: there is no such folder
           ╭─[ lost.iv:1:4 ]
           │
         1 │ do save([1.0], "no/x.npy")
           │    ───────────┬───────────
           │               ╰───────────── here
        ───╯
        --- status 1
        $ iverson run folder.iv
        --- stderr
        [E0605] Error: `folder.npy` cannot be written: it is a directory
           ╭─[ folder.iv:1:4 ]
           │
         1 │ do save([1.0], "folder.npy")
           │    ────────────┬────────────
           │                ╰────────────── here
        ───╯
        --- status 1
        --- x.txt
          1.0  -2.5
        1e300   nan
          0.0   inf
        --- x.csv
        1.0,-2.5
        1e300,nan
        0.0,inf
        --- r.txt
        name    y      z
           1  1.5   true
          20  2.0  false
        --- rows.txt
         a    b
         1  2.0
        20  3.5
        --- rows.csv
        a,b
        1,2.0
        20,3.5
        --- pairs.csv
        1,2.0
        3,4.0
        --- one.txt
        2.5
        --- any.json
        [1, [true, false], {"x": 2.0}]
    "#]].assert_eq(&all);
}

/// What is saved takes the place of the old at once, or the old stays.
#[test]
fn a_save_that_fails_leaves_the_old() {
    let dir = Dir::new(&[
        ("x.csv", b"old\n"),
        ("good.iv", b"do save([1.5], \"x.csv\")\n"),
        ("kind.iv", b"do save({x: {y: 1}}, \"x.csv\")\n"),
        ("large.iv", b"do save((for i < 100_000: i), \"x.csv\")\n"),
    ]);
    let there = || {
        let mut names: Vec<String> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        format!("{} {}", std::fs::read_to_string(dir.path().join("x.csv")).unwrap().trim(), names.join(" "))
    };
    let before = there();
    assert!(dir.run(&["run", "kind.iv"], b"").contains("E0605"));
    assert_eq!(there(), before);
    // A disk that is full in the middle of writing.
    let limited = format!("trap '' XFSZ; ulimit -f 1; exec {} run large.iv", env!("CARGO_BIN_EXE_iverson"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(dir.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("E0605"), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(there(), before);
    assert_eq!(dir.run(&["run", "good.iv"], b""), "");
    assert_eq!(there(), before.replace("old", "1.5"));
    #[cfg(unix)]
    {
        // A link is followed, permissions are kept.
        use std::os::unix::fs::PermissionsExt;
        std::os::unix::fs::symlink("x.csv", dir.path().join("link.csv")).unwrap();
        std::fs::set_permissions(dir.path().join("x.csv"), PermissionsExt::from_mode(0o640)).unwrap();
        std::fs::write(dir.path().join("link.iv"), "do save([2.5], \"link.csv\")\n").unwrap();
        assert_eq!(dir.run(&["run", "link.iv"], b""), "");
        assert_eq!(std::fs::read_to_string(dir.path().join("x.csv")).unwrap(), "2.5\n");
        let mode = std::fs::metadata(dir.path().join("x.csv")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}

/// Files that are damaged or lie about themselves.
fn malformed() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| files.push((format!("{}.{name}", files.len()), bytes));
    let good = shaped("<f8", "(2, 2)", &[0; 32]);
    for end in (0..good.len()).step_by(4) {
        add("npy", good[..end].to_vec());
    }
    for kind in ["<c16", "<U4", "|S3", "|O", "<M8[ns]", "<m8", "f8", "|f8", "<f16", "<i3", "", "x", "=f8", "<"] {
        add("npy", shaped(kind, "(2,)", &[0; 64]));
    }
    for shape in [
        "(1152921504606846976,)",
        "(4294967296, 4294967296)",
        "(9223372036854775807, 2)",
        "(0, 1152921504606846976)",
        "(0, 70000000000000, 70000000000000, 70000000000000)",
        "(99999999999999999999999,)",
        "(-1,)",
        "(1.0,)",
        "(2 2)",
        "(2, 2",
        "2",
        "[2]",
        "('a',)",
        "(,)",
        "(1,,)",
        "(3,)",
        "()",
    ] {
        add("npy", shaped("<f8", shape, &[0; 16]));
    }
    add("npy", shaped("<f8", &format!("({})", "1,".repeat(65)), &[0; 8]));
    add("npy", shaped("|b1", "(2,)", &[1, 2]));
    for header in [
        "",
        "{}",
        "[]",
        "{'descr': '<f8'}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (1,)}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 0}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr: '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} more",
    ] {
        add("npy", npy(header, &[0; 8]));
    }
    add("npy", b"\x93NUMPY\x09\x00\x01\x00 ".to_vec());
    add("npy", b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF ".to_vec());
    for end in (0..DEFLATED.len()).step_by(24) {
        add("npz", DEFLATED[..end].to_vec());
    }
    add("npz", zipped("x.npy", b"no array"));
    add("npz", zipped("x.npy", &shaped("<f8", "(2,)", &[0; 8])));
    add("npz", zipped("x.npy", &shaped("<f8", "(2,)", &[0; 24])));
    let mut flipped = zipped("x.npy", &good);
    let at = flipped.windows(6).position(|w| w == b"\x93NUMPY").unwrap() + good.len() - 1;
    flipped[at] ^= 1;
    add("npz", flipped);
    for text in [
        "",
        "\n\n",
        "a\n1\n\"2",
        "a\n1\n2,3\n",
        "1,2\n3\n",
        "a\"b\n",
        "\"a\"b\n",
        "a\n\"1\"2\n",
        "a;b\n1;2,3\n",
        "a\rb\n",
        "a\0b\n",
    ] {
        add("csv", text.as_bytes().to_vec());
    }
    add("csv", b"a\n\xFF\n".to_vec());
    add("csv", ",".repeat(200_000).into_bytes());
    for text in ["", "[", "[1,]", "{\"a\"}", "nul", "1 2", "[1}", "\"\\x\"", "[NaN]", "+1", "{\"a\": 1,}"] {
        add("json", text.as_bytes().to_vec());
    }
    add("json", "[".repeat(100_000).into_bytes());
    add("json", b"\"\xFF\"".to_vec());
    let colour = IMAGES[3].1;
    for end in (0..colour.len() - 12).step_by(6) {
        add("png", colour[..end].to_vec());
    }
    // The sides of an image, and its kind, with the checksum that belongs to them.
    for sides in [(0u32, 1u32), (1, 0), (u32::MAX, u32::MAX), (i32::MAX as u32, i32::MAX as u32), (60_000, 60_000)] {
        let mut image = colour.to_vec();
        image[16..20].copy_from_slice(&sides.0.to_be_bytes());
        image[20..24].copy_from_slice(&sides.1.to_be_bytes());
        let crc = crc32(&image[12..29]).to_be_bytes();
        image[29..33].copy_from_slice(&crc);
        add("png", image);
    }
    let mut image = colour.to_vec();
    image[30] ^= 1;
    add("png", image);
    files
}

/// The checksum of PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |c: u32| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 };
    !bytes.iter().fold(!0, |c: u32, b| (0..8).fold(c ^ u32::from(*b), |c, _| bit(c)))
}

/// An archive of one file.
fn zipped(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file(name, stored).unwrap();
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn malformed_files_are_told() {
    let files = malformed();
    assert!(files.len() >= 100, "{}", files.len());
    let mut reasons = std::collections::BTreeSet::new();
    for (name, bytes) in &files {
        match lang_repl::probe_data_file(name, bytes) {
            Ok(_) => panic!("{name} is read: {:?}", String::from_utf8_lossy(bytes)),
            Err(why) => reasons.insert(why),
        };
    }
    let all: Vec<String> = reasons.into_iter().collect();
    expect![[r#"
        8 bytes follow the array that its header tells of
        a header of 4294967295 bytes is too long
        an axis of 99999999999999999999999 elements is too large
        element 1 is neither false nor true
        in line 1 a control character stands inside a cell that is not quoted
        in line 1 a quote stands inside a cell that is not quoted
        in line 1 text follows a closed quote
        in line 2 text follows a closed quote
        it cannot be read: Invalid checksum
        it does not begin as a .npy file does
        it ends in its header
        it has too many axes
        it is empty
        it is no PNG image: CRC error: expected 0xfdd59a73 have 0xfdd49a73
        it is no PNG image: Invalid image dimensions
        it is no PNG image: limits are exceeded
        it is no PNG image: unexpected end of file
        it is no zip archive: invalid Zip archive: Could not find EOCD
        it is no zip archive: invalid Zip archive: Unexpected end of zip::format::blocks::Zip32CDEBlock
        its elements are of the kind `<M8[ns]`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<U4`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<c16`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<f16`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<i3`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `<m8`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `=f8`, which is not read: it is neither real, integer nor bool
        its elements are of the kind ``, which is not read: it is neither real, integer nor bool
        its elements are of the kind `f8`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `x`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `|O`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `|S3`, which is not read: it is neither real, integer nor bool
        its elements are of the kind `|f8`, which is not read: it is neither real, integer nor bool
        its elements are structures, which are not read; save each field by itself
        its header has no proper shape
        its header is not that of a .npy file
        line 1 has more than 100000 cells; write so wide a matrix as .npy
        line 2 has 1 cell, and the first has 2
        line 2 has 2 cells, and the first has 1; cells are to be separated by commas
        line 3 has 2 cells, and the first has 1
        more bytes follow the array that its header tells of
        the quote in line 3 is not closed
        the shape (0, 1152921504606846976) is too large
        the shape (0, 70000000000000, 70000000000000, 70000000000000) is too large
        the shape (1152921504606846976,) is too large
        the shape (2, 2) takes 32 bytes, and there are 11
        the shape (2, 2) takes 32 bytes, and there are 15
        the shape (2, 2) takes 32 bytes, and there are 19
        the shape (2, 2) takes 32 bytes, and there are 23
        the shape (2, 2) takes 32 bytes, and there are 27
        the shape (2, 2) takes 32 bytes, and there are 3
        the shape (2, 2) takes 32 bytes, and there are 31
        the shape (2, 2) takes 32 bytes, and there are 7
        the shape (2,) takes 16 bytes, and there are 8
        the shape (3,) takes 24 bytes, and there are 16
        the shape (4294967296, 4294967296) is too large
        the shape (9223372036854775807, 2) is too large
        this is not JSON: EOF while parsing a list at line 1 column 1
        this is not JSON: EOF while parsing a value at line 1 column 0
        this is not JSON: EOF while parsing a value at line 1 column 3
        this is not JSON: expected `,` or `]` at line 1 column 3
        this is not JSON: expected `:` at line 1 column 5
        this is not JSON: expected value at line 1 column 1
        this is not JSON: expected value at line 1 column 2
        this is not JSON: invalid escape at line 1 column 3
        this is not JSON: recursion limit exceeded at line 1 column 128
        this is not JSON: trailing characters at line 1 column 3
        this is not JSON: trailing comma at line 1 column 4
        this is not JSON: trailing comma at line 1 column 9
        this is not UTF-8: byte 1 is 0xFF
        this is not UTF-8: byte 2 is 0xFF
        version 9 of the format is not known"#]]
    .assert_eq(&all.join("\n"));
    // A few of each through the program, which ends with a report of one mistake.
    let dir = Dir::new(&[]);
    for (name, bytes) in files.iter().step_by(9) {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        std::fs::write(dir.path().join("p.iv"), format!("let x: {{x: [?n]f64}} = load(\"{name}\")\n")).unwrap();
        let shown = dir.run(&["run", "p.iv", "--format", "short"], b"");
        let reported = shown.starts_with("--- stderr\np.iv:1:23: error[E06") && shown.ends_with("--- status 1\n");
        assert!(reported && shown.contains(name.as_str()), "{shown}");
    }
}

/// Damaged files end in data or a reason, and what is made of the data reads back as it was written.
#[test]
fn damaged_files_do_no_harm() {
    let mut seeds: Vec<(String, Vec<u8>)> = unpacked(KINDS).into_iter().step_by(7).collect();
    seeds.push(("kinds.npz".to_owned(), zipped("x.npy", &shaped("<f8", "(2, 2)", &[0; 32]))));
    seeds.push(("deflated.npz".to_owned(), DEFLATED.to_vec()));
    seeds.push(("people.csv".to_owned(), CSV.to_vec()));
    seeds.push(("matrix.csv".to_owned(), b"1,2\n3.5,-4e3\n,nan\n".to_vec()));
    seeds.push(("truth.csv".to_owned(), b"a,b\ntrue,1\nfalse,9007199254740993\n".to_vec()));
    seeds.push(("data.json".to_owned(), b"[[1, 2.5, \"NaN\"], [1e3, -0.0, 3]]".to_vec()));
    seeds.extend(IMAGES.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())));
    // A small generator: the numbers are the same in every run.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below.max(1)).unwrap()).unwrap()
    };
    let count: usize = std::env::var("IVERSON_SOAK").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..count {
        let (name, bytes) = &seeds[random(seeds.len())];
        let mut bytes = bytes.clone();
        for _ in 0..random(4) {
            let at = random(bytes.len());
            match random(6) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.insert(at, u8::try_from(random(256)).unwrap()),
                3 if at < bytes.len() => bytes[at] = b"\0\xFF09,\"'()[]{}\n\r-e<>"[random(19)],
                4 if at < bytes.len() => bytes[at] ^= 1 << random(8),
                _ => {
                    let end = (at + random(16)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = random(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        match lang_repl::probe_data_file(name, &bytes) {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > count / 10 && bad > count / 10, "{good} are read, {bad} are not");
}

//! Tests of data files: round trips with NumPy in both directions, reports of damaged files, and
//! type mismatches named by file and axis.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

mod damaged;
mod file_types;
mod tables;

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::Dir;
use expect_test::expect;
use serde_json::Value;

/// Files written by NumPy: see `make.py`.
const KINDS: &[u8] = include_bytes!("../../data/kinds.npz");
const KNOWN: &str = include_str!("../../data/kinds.json");
const DEFLATED: &[u8] = include_bytes!("../../data/deflated.npz");

const IMAGES: [(&str, &[u8]); 7] = [
    ("grey.png", include_bytes!("../../data/grey.png")),
    ("grey16.png", include_bytes!("../../data/grey16.png")),
    ("bits.png", include_bytes!("../../data/bits.png")),
    ("colour.png", include_bytes!("../../data/colour.png")),
    ("palette.png", include_bytes!("../../data/palette.png")),
    ("opaque.png", include_bytes!("../../data/opaque.png")),
    ("clear.png", include_bytes!("../../data/clear.png")),
];

/// Returns the files of an archive.
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

/// Builds a `.npy` file from its header and elements.
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

/// Returns a Python with NumPy, if one is installed.
fn python() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("IVERSON_PYTHON").unwrap_or_else(|| "python3".into()));
    let there = Command::new(&program).args(["-c", "import numpy"]).output();
    if there.is_ok_and(|o| o.status.success()) {
        return Some(program);
    }
    // Without it, the comparison with NumPy is skipped.
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

/// Every kind of number, byte order, element order and shape is read as NumPy wrote it. NumPy reads
/// the written files back.
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
        // The same file, with extents inferred from it.
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

/// The committed files are those that the script writes; their bytes depend on the versions of
/// NumPy and zlib.
#[test]
fn numpy_still_writes_the_same() {
    let Some(python) = python() else { return };
    let dir = Dir::new(&[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/make.py");
    assert!(Command::new(python).arg(script).arg(dir.path()).status().unwrap().success());
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    let names = |archive: &[u8]| unpacked(archive).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&read("kinds.npz")), names(KINDS));
    assert_eq!(names(&read("deflated.npz")), names(DEFLATED));
    assert_eq!(String::from_utf8(read("kinds.json")).unwrap(), KNOWN);
}

#[test]
fn a_session_that_loads_and_saves() {
    let dir = Dir::new(&[
        ("lib/script.iv", b"let x: [?n]f64 = load(\"x.json\")\n"),
        ("lib/x.json", b"[1, 2]"),
        ("x.json", b"[3]"),
    ]);
    crate::harness::session_in(
        &dir,
        "let x: [?n]f64 = load(\"x.json\")\nsave(for i < 3: i^2, \"y.npy\")\nlet y: [?k]i64 = load(\"y.npy\")\n\
         let y: [?k]i64 = load(\"z.npy\")\n:load lib/script.iv\nx\nfor i < 2: (let z: [1]f64 = load(\"x.json\") in z)\n\
         let r: [?n]{a: i64, b: f64} = load(\"r.csv\")\nsave([{a: 1, b: 2.0}, {a: 2, b: inf}], \"r.csv\")\n\
         let r: [?n]{a: i64, b: f64} = load(\"r.csv\")\n",
        expect![[r#"
            x: [1]f64 = [3.0]
            y: [3]i64 = [0, 1, 4]
            [E0602] Error: `z.npy` cannot be read: no such file
               ╭─[ repl:1:18 ]
               │
             1 │ let y: [?k]i64 = load("z.npy")
               │                  ──────┬──────
               │                        ╰──────── here
            ───╯
            loaded lib/script.iv
            [2]f64 = [1.0, 2.0]
            [2, 1]f64 =
            [[3.0],
             [3.0]]
            [E0602] Error: `r.csv` cannot be read: no such file
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
        [[ 0, 128,   0],
         [64, 255, 255]]
        --- stderr
        [W0606] Warning: `c.png`: 3 numbers are outside the range of an image and were clamped
           ╭─[ clamp.iv:1:4 ]
           │
         1 │ do save([[-1.0, 0.5, nan], [0.25, 1, 2]], "c.png")
           │    ───────────────────────┬───────────────────────
           │                           ╰───────────────────────── here
        ───╯
        $ iverson run npy.iv
        --- stderr
        [E0605] Error: `x.npy`: a .npy file must contain a number or an array of numbers
           ╭─[ npy.iv:1:9 ]
           │
         1 │ do save({x: [1]}, "x.npy")
           │         ────┬───
           │             ╰───── this has type `{x: [1]i64}`
           │
           │ Help: write records and tuples of arrays as .npz, or any value as .json
        ───╯
        --- status 1
        $ iverson run npz.iv
        $ iverson run one.iv
        --- stderr
        [E0605] Error: `x.npz`: a .npz file must contain a record or tuple of arrays of numbers
           ╭─[ one.iv:1:9 ]
           │
         1 │ do save([1], "x.npz")
           │         ─┬─
           │          ╰─── this has type `[1]i64`
           │
           │ Help: write one array as .npy, or any value as .json
        ───╯
        --- status 1
        $ iverson run csv.iv
        --- stderr
        [E0605] Error: `x.csv`: the columns differ in length: `x` has 1, `y` has 2
           ╭─[ csv.iv:1:9 ]
           │
         1 │ do save({x: [1], y: [1, 2]}, "x.csv")
           │         ─────────┬─────────
           │                  ╰─────────── this has type `{x: [1]i64, y: [2]i64}`
           │
           │ Help: a table is a matrix, a vector, a record of equally long vectors, or a vector of records; write other values as .json
        ───╯
        --- status 1
        $ iverson run png.iv
        --- stderr
        [E0605] Error: `x.png`: a .png file must contain an image
           ╭─[ png.iv:1:9 ]
           │
         1 │ do save([1.0], "x.png")
           │         ──┬──
           │           ╰──── this has type `[1]f64`
           │
           │ Help: an image is `[h, w]` (grey) or `[h, w, 3]` (colour), with reals from 0 to 1 or integers from 0 to 255
        ───╯
        --- status 1
        $ iverson run empty.iv
        --- stderr
        [E0605] Error: `x.png`: an image cannot have 0 by 2 pixels
           ╭─[ empty.iv:2:4 ]
           │
         2 │ do save(x, "x.png")
           │    ────────┬───────
           │            ╰───────── here
           │
           │ Help: a grey image is `[h, w]`, a colour image `[h, w, 3]`, of reals from 0 to 1 or integers from 0 to 255
        ───╯
        --- status 1
        $ iverson run dat.iv
        --- stderr
        [E0603] Error: `x.dat` is not a data file
           ╭─[ dat.iv:1:16 ]
           │
         1 │ do save([1.0], "x.dat")
           │                ───┬───
           │                   ╰───── here
           │
           │ Help: use .npy, .npz, .csv, .json or .png; text tables (.txt) can only be written
        ───╯
        --- status 1
        $ iverson run lost.iv
        --- stderr
        [E0605] Error: `no/x.npy` cannot be written: no such directory
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

/// A save is atomic: if it fails, the old file remains.
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
    // The disk becomes full during writing.
    let limited = format!("trap '' XFSZ; ulimit -f 1; exec {} run large.iv", env!("CARGO_BIN_EXE_iverson"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(dir.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("E0605"), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(there(), before);
    assert_eq!(dir.run(&["run", "good.iv"], b""), "");
    assert_eq!(there(), before.replace("old", "1.5"));
    #[cfg(unix)]
    {
        // Links are followed, and permissions are kept.
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

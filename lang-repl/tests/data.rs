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

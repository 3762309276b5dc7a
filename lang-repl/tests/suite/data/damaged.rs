//! Tests with damaged files.

use std::io::{Cursor, Write as _};

use expect_test::expect;

use crate::data::{DEFLATED, IMAGES, KINDS, npy, shaped, unpacked};
use crate::harness::Dir;

const CSV: &[u8] = b"\xEF\xBB\xBFname,\"age\",weight\r\n\"Ada, \"\"the first\"\"\",36,60.5\r\nAlan,41,\r\n";

/// Returns files that are damaged or have wrong headers.
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
        "a;b\n1;2;3\n",
        "a\0b\n",
    ] {
        add("csv", text.as_bytes().to_vec());
    }
    add("csv", b"a\n\xFF\n".to_vec());
    add("csv", ",".repeat(200_000).into_bytes());
    for text in ["", "[", "[1,]", "{\"a\"}", "nul", "1 2", "[1}", "\"\\x\"", "+1", "{\"a\": 1,}"] {
        add("json", text.as_bytes().to_vec());
    }
    add("json", "[".repeat(100_000).into_bytes());
    add("json", b"\"\xFF\"".to_vec());
    let colour = IMAGES[3].1;
    for end in (0..colour.len() - 12).step_by(6) {
        add("png", colour[..end].to_vec());
    }
    // The size and kind of an image, with a matching checksum.
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

/// Returns the checksum of a PNG chunk.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |c: u32| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 };
    !bytes.iter().fold(!0, |c: u32, b| (0..8).fold(c ^ u32::from(*b), |c, _| bit(c)))
}

/// Returns an archive of one file.
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
        48 bytes follow the array that the header describes
        8 bytes follow the array that the header describes
        a header of 4294967295 bytes is too long
        an axis of 99999999999999999999999 elements is too large
        element 1 is neither false nor true
        elements of kind `<M8[ns]` (dates) are not supported
        elements of kind `<U4` (strings) are not supported
        elements of kind `<` are not supported, because they are neither real, integer nor bool
        elements of kind `<c16` (complex numbers) are not supported
        elements of kind `<f16` (reals of more than 64 bits) are not supported
        elements of kind `<i3` are not supported, because they are neither real, integer nor bool
        elements of kind `<m8` (time differences) are not supported
        elements of kind `` are not supported, because they are neither real, integer nor bool
        elements of kind `x` are not supported, because they are neither real, integer nor bool
        elements of kind `|O` (Python objects) are not supported
        elements of kind `|S3` (strings) are not supported
        elements of kind `|f8` are not supported, because they are neither real, integer nor bool
        invalid .npy header
        invalid shape in the header
        it cannot be read: Invalid checksum
        it is not a .npy file
        it is not a PNG image: CRC error: expected 0xfdd59a73 have 0xfdd49a73
        it is not a PNG image: Invalid image dimensions
        it is not a PNG image: limits are exceeded
        it is not a PNG image: unexpected end of file
        it is not a zip archive: invalid Zip archive: Could not find EOCD
        it is not a zip archive: invalid Zip archive: Unexpected end of zip::format::blocks::Zip32CDEBlock
        line 1 has a control character in a cell that is not quoted
        line 1 has a quote in a cell that is not quoted
        line 1 has more than 100000 cells; save such a wide matrix as .npy
        line 1 has text after a closing quote
        line 2 has 1 cell, but the first line has 2
        line 2 has 3 cells, but the first line has 2
        line 2 has text after a closing quote
        line 3 has 2 cells, but the first line has 1
        more bytes follow the array that the header describes
        structured elements are not supported; save each field separately
        the array has too many axes
        the file is empty
        the file is not UTF-8: byte 1 is 0xFF
        the file is not UTF-8: byte 2 is 0xFF
        the header is truncated
        the quote in line 3 is not closed
        the shape (0, 1152921504606846976) is too large
        the shape (0, 70000000000000, 70000000000000, 70000000000000) is too large
        the shape (1152921504606846976,) is too large
        the shape (2, 2) takes 32 bytes, but there are only 11
        the shape (2, 2) takes 32 bytes, but there are only 15
        the shape (2, 2) takes 32 bytes, but there are only 19
        the shape (2, 2) takes 32 bytes, but there are only 23
        the shape (2, 2) takes 32 bytes, but there are only 27
        the shape (2, 2) takes 32 bytes, but there are only 3
        the shape (2, 2) takes 32 bytes, but there are only 31
        the shape (2, 2) takes 32 bytes, but there are only 7
        the shape (2,) takes 16 bytes, but there are only 8
        the shape (3,) takes 24 bytes, but there are only 16
        the shape (4294967296, 4294967296) is too large
        the shape (9223372036854775807, 2) is too large
        this is not JSON: `nul` is not a value at line 1 column 1
        this is not JSON: expected `,` or `]` but found '}' at line 1 column 3
        this is not JSON: expected `:` but found '}' at line 1 column 5
        this is not JSON: expected a key in quotes but found '}' at line 1 column 9
        this is not JSON: expected a value but found '+' at line 1 column 1
        this is not JSON: expected a value but found ']' at line 1 column 4
        this is not JSON: expected a value but found the end at line 1 column 1
        this is not JSON: expected a value but found the end at line 1 column 100001
        this is not JSON: expected a value but found the end at line 1 column 2
        this is not JSON: unexpected text after the value at line 1 column 3
        this is not JSON: unknown escape at line 1 column 4
        unsupported version 9 of the format"#]]
    .assert_eq(&all.join("\n"));
    // The program reads some of the files, and ends with a report of one problem.
    let dir = Dir::new(&[]);
    for (name, bytes) in files.iter().step_by(9) {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        // The type suits the format, so that the file is read.
        let ty = match name.rsplit('.').next() {
            Some("npy") => "[?n]f64",
            Some("png") => "[?h, ?w]f64",
            _ => "{x: [?n]f64}",
        };
        std::fs::write(dir.path().join("p.iv"), format!("let x: {ty} = load(\"{name}\")\n")).unwrap();
        let shown = dir.run(&["run", "p.iv", "--format", "short"], b"");
        let reported = shown.starts_with("--- stderr\np.iv:1:")
            && shown.contains(": error[E06")
            && shown.ends_with("--- status 1\n");
        assert!(reported && shown.contains(name.as_str()), "{shown}");
    }
}

/// A regression test for a case found by fuzzing.
#[test]
fn names_of_columns_are_quoted() {
    let file = b"Aga\x0ce,\"\0\0wnull\"\r\n36,\r\n36,";
    assert!(lang_repl::probe_data_file("x.csv", file).is_ok_and(|fitted| fitted > 0));
}

/// Reading a damaged file ends in data or a reason, and data reads back as it was written.
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
    // A small random number generator: reproducible, unless `IVERSON_SEED` is set.
    let variable = |name: &str, usual: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ variable("IVERSON_SEED", 0).rotate_left(32);
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below.max(1)).unwrap()).unwrap()
    };
    let count = variable("IVERSON_COUNT", 3_000);
    let (mut good, mut bad) = (0u64, 0u64);
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
    assert!(count < 1_000 || good > count / 10 && bad > count / 10, "{good} are read, {bad} are not");
}

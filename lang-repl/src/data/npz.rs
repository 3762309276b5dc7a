//! `.npz`: a zip archive of `.npy` files, stored or deflated. It is written stored, as `numpy.savez` does.

use std::io::{Cursor, Read, Write as _};

use lang_core::interp::{Refusal, Value};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{MAX_BYTES, NamedArray, noun, npy, refusal};

/// So many bytes are unpacked of one archive.
const MAX_UNPACKED: u64 = 4 << 30;

/// The arrays by their names, in the order of the archive. Those that cannot be read say why: they may be
/// unwanted.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<NamedArray>, String> {
    let not_zip = |e: zip::result::ZipError| format!("it is no zip archive: {e}");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(not_zip)?;
    let mut arrays = Vec::new();
    // What all arrays take, and what is unpacked for them, wanted or not: entries may share their bytes.
    let mut left = MAX_BYTES;
    let mut unpacked = MAX_UNPACKED;
    for at in 0..archive.len() {
        let name = archive.name_for_index(at).and_then(Result::ok).unwrap_or_default().into_owned();
        let array = match archive.by_index(at) {
            Ok(file) => {
                let mut file = file.take(unpacked);
                let array = npy::read(&mut file, left).and_then(|array| ends(&mut file).map(|()| array));
                unpacked = file.limit();
                array
            }
            Err(e) => Err(format!("it cannot be read: {e}")),
        };
        if let Ok(array) = &array {
            left = left.saturating_sub(array.elements.len().saturating_mul(8));
        }
        arrays.push((name.strip_suffix(".npy").unwrap_or(&name).to_owned(), array));
    }
    Ok(arrays)
}

/// Nothing follows the last element; where that is so the checksum is compared.
fn ends(file: &mut dyn Read) -> Result<(), String> {
    match file.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err("more bytes follow the array that its header tells of".to_owned()),
        Err(e) => Err(format!("it cannot be read: {e}")),
    }
}

/// A record of arrays by its names; a tuple as `arr_0`, `arr_1`, …
pub(super) fn write(value: &Value) -> Result<Vec<u8>, Refusal> {
    let named: Vec<(String, &Value)> = match value {
        Value::Record(r) => r.names().iter().map(ToString::to_string).zip(r.values()).collect(),
        Value::Tuple(t) => t.values().iter().enumerate().map(|(k, v)| (format!("arr_{k}"), v)).collect(),
        _ => {
            let message = format!("the value is {}, and a .npz file holds a record or tuple of arrays", noun(value));
            return Err(refusal(message, "write one array as .npy, anything as .json"));
        }
    };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, value) in named {
        let Some(bytes) = npy::bytes(value) else {
            let message = format!("`{name}` is {}, and a .npz file holds numbers and arrays of numbers", noun(value));
            return Err(refusal(message, "anything can be written as .json"));
        };
        let large = u32::try_from(bytes.len()).is_err();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        let written = zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::from);
        written.and_then(|()| zip.write_all(&bytes)).map_err(|e| failed(&e))?;
    }
    zip.finish().map(Cursor::into_inner).map_err(|e| failed(&e.into()))
}

fn failed(e: &std::io::Error) -> Refusal {
    refusal(format!("no .npz file can be made of the value: {e}"), "write its arrays one by one as .npy")
}

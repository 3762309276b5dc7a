//! **The `.npz` format**: a zip archive of `.npy` files, stored or deflated. Written archives are
//! stored, as by `numpy.savez`. `load` and `save` of records reach it through [`super`]; `npy`
//! reads and writes the entries.

use std::io::{Read, Seek, SeekFrom, Write};

use lang_core::runtime::{Refusal, Value};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{MAX_BYTES, NamedArray, interrupt_refusal, npy, save_refusal, value_noun};
use crate::files;

/// The most bytes that are unpacked from one archive.
const MAX_UNPACKED: u64 = 4 << 30;

/// The names of the fields whose arrays are read; `None` means all.
pub(crate) type SelectedFields<'w> = Option<&'w [String]>;

/// Reads the arrays in the order of the archive. The reason replaces an array that cannot be read
/// or is not wanted.
pub(super) fn read(from: impl Read + Seek, wanted: SelectedFields<'_>) -> Result<Vec<NamedArray>, String> {
    let not_zip = |e: zip::result::ZipError| format!("it is not a zip archive: {e}");
    let mut from = from;
    let claimed = claimed_entry_count(&mut from).map_err(|e| format!("it cannot be read: {e}"))?;
    let mut archive = ZipArchive::new(from).map_err(not_zip)?;
    if claimed.is_some_and(|claimed| claimed != archive.len()) {
        return Err("two arrays have the same name".to_owned());
    }
    let entry_name = |archive: &ZipArchive<_>, at| {
        let name = ZipArchive::name_for_index(archive, at).and_then(Result::ok).unwrap_or_default().into_owned();
        name.strip_suffix(".npy").map(str::to_owned).unwrap_or(name)
    };
    let names: Vec<String> = (0..archive.len()).map(|at| entry_name(&archive, at)).collect();
    let fields = super::field_names::unique_field_names(&names.iter().map(String::as_str).collect::<Vec<_>>(), "arr");
    let mut arrays = Vec::new();
    // The limits hold for all entries together, because entries may share their bytes.
    let mut bytes_left = MAX_BYTES;
    let mut unpacked_left = MAX_UNPACKED;
    for (at, (name, field)) in names.into_iter().zip(fields).enumerate() {
        let outer = name.split(['.', '/']).next().unwrap_or_default();
        if wanted.is_some_and(|wanted| !wanted.iter().any(|w| *w == field || w == outer)) {
            arrays.push((name, Err("the array was not read".to_owned())));
            continue;
        }
        let method = archive.by_index_raw(at).map(|file| file.compression()).ok();
        let array = match archive.by_index(at) {
            Ok(file) => {
                // A stored entry claims the size of its array. A damaged archive may claim too
                // much, but `npy::read` reserves at most `bytes_left`.
                let known_size = (file.compression() == CompressionMethod::Stored).then(|| file.size());
                let mut file = file.take(unpacked_left);
                let array =
                    npy::read(&mut file, bytes_left, known_size).and_then(|array| check_end(&mut file).map(|()| array));
                unpacked_left = file.limit();
                array
            }
            Err(zip::result::ZipError::UnsupportedArchive(why)) => Err(match method {
                Some(method) if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) => {
                    let method = compression_name(method);
                    format!("compression by {method} is not supported; `numpy.savez_compressed` uses deflate")
                }
                _ => format!("it cannot be read: {why}"),
            }),
            Err(e) => Err(format!("it cannot be read: {e}")),
        };
        if let Ok(array) = &array {
            bytes_left = bytes_left.saturating_sub(array.elements.borrow().len().saturating_mul(8));
        }
        arrays.push((name, array));
    }
    Ok(arrays)
}

/// Returns the name of a compression method. The numbers are those of the zip specification.
fn compression_name(method: CompressionMethod) -> String {
    #[expect(deprecated, reason = "the other names depend on what the reader was built with")]
    match method {
        CompressionMethod::Unsupported(12) => "bzip2".to_owned(),
        CompressionMethod::Unsupported(14) => "LZMA".to_owned(),
        CompressionMethod::Unsupported(93) => "Zstandard".to_owned(),
        CompressionMethod::Unsupported(95) => "XZ".to_owned(),
        CompressionMethod::Unsupported(9) => "Deflate64".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the number of entries that the end record claims; `None` if it is stored elsewhere. The
/// zip library keeps only one entry of each name, so a larger number reveals duplicate names.
fn claimed_entry_count(from: &mut (impl Read + Seek)) -> std::io::Result<Option<usize>> {
    let length = from.seek(SeekFrom::End(0))?;
    // The end record has 22 bytes and a comment of at most 64 KiB.
    from.seek(SeekFrom::Start(length.saturating_sub(22 + (1 << 16))))?;
    let mut tail = Vec::new();
    from.take(22 + (1 << 16)).read_to_end(&mut tail)?;
    from.seek(SeekFrom::Start(0))?;
    let Some(at) = tail.windows(4).rposition(|w| w == b"PK\x05\x06") else { return Ok(None) };
    let Some([low, high]) = tail.get(at + 10..at + 12) else { return Ok(None) };
    // If all bits are one, the number is stored elsewhere (zip64).
    Ok(Some(usize::from(u16::from_le_bytes([*low, *high]))).filter(|n| *n != usize::from(u16::MAX)))
}

/// Checks that nothing follows the last element. Reading to the end makes the zip library verify
/// the checksum.
fn check_end(file: &mut dyn Read) -> Result<(), String> {
    match file.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err("more bytes follow the array that the header describes".to_owned()),
        Err(e) => Err(format!("it cannot be read: {e}")),
    }
}

/// Writes a record of arrays under its field names, or a tuple as `arr_0`, `arr_1`, …. Nested
/// records and tuples have dotted names, such as `layer.weight`.
pub(super) fn write(value: &Value, to: impl Write + Seek) -> Result<(), Refusal> {
    let mut named = Vec::new();
    match value {
        Value::Record(_) | Value::Tuple(_) => flatten_arrays(value, "", &mut named)?,
        _ => {
            let message =
                format!("the value is {}, but a .npz file contains a record or tuple of arrays", value_noun(value));
            return Err(save_refusal(message, "save one array as .npy, any value as .json"));
        }
    }
    let mut zip = ZipWriter::new(to);
    for (name, value) in named {
        let large = npy::file_size(value).is_none_or(|size| u32::try_from(size).is_err());
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        let written = zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::from);
        written.and_then(|()| npy::write(value, &mut zip)).map_err(|e| write_failure(&e))?;
    }
    zip.finish().map(drop).map_err(|e| write_failure(&e.into()))
}

/// Collects the arrays of a record or tuple with their names, each after the prefix.
fn flatten_arrays<'v>(value: &'v Value, prefix: &str, to: &mut Vec<(String, &'v Value)>) -> Result<(), Refusal> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Record(r) => r.names().iter().map(ToString::to_string).zip(r.values()).collect(),
        Value::Tuple(t) if prefix.is_empty() => {
            t.values().iter().enumerate().map(|(k, v)| (format!("arr_{k}"), v)).collect()
        }
        Value::Tuple(t) => t.values().iter().enumerate().map(|(k, v)| (k.to_string(), v)).collect(),
        _ => return Ok(()),
    };
    for (name, part) in parts {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match part {
            Value::Record(_) | Value::Tuple(_) => flatten_arrays(part, &name, to)?,
            _ if npy::file_size(part).is_some() => to.push((name, part)),
            _ => {
                let held = "a .npz file contains numbers and arrays of numbers";
                let message = format!("`{name}` is {}, but {held}", value_noun(part));
                return Err(save_refusal(message, "save any value as .json"));
            }
        }
    }
    Ok(())
}

/// Converts an error of writing to a refusal.
fn write_failure(e: &std::io::Error) -> Refusal {
    if files::is_interrupt(e) {
        return interrupt_refusal();
    }
    save_refusal(format!("cannot write the .npz file: {e}"), "save its arrays separately as .npy")
}

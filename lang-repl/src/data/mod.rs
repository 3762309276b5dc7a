//! **Data files.** Each format has a module that reads and writes it. `Data` is the common form of
//! their contents, and `fit` converts it to values of declared types.
//!
//! Readers accept any bytes: they return data, or the reason why they cannot. They allocate at most
//! a small multiple of the bytes that exist and of the size that the header truthfully states.

mod columns;
mod csv;
mod field_names;
pub(crate) mod fit_file;
mod json;
mod npy;
mod npz;
mod png;
mod probe;
mod table_view;
mod text_table;
mod type_proposal;

use std::cell::RefCell;
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use lang_core::base::Code;
use lang_core::runtime::memory::MAX_EXTENT;
use lang_core::runtime::{Refusal, Value};
use lang_core::syntax::lexer::MAX_TEXT_BYTES;

use crate::files;
use crate::literal::UntypedContent;

pub(crate) use csv::{DataTable, TableOptions};
pub(crate) use json::read as json;
pub(crate) use npz::SelectedFields;
pub(crate) use png::Image;
pub use probe::probe;
pub(crate) use type_proposal::{ProposedType, propose_json_type, propose_type};

/// The most bytes that the elements of one file take.
const MAX_BYTES: usize = 2 << 30;

/// The most bytes of JSON that are written.
const MAX_JSON: usize = 256 << 20;

/// The formats, by file extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataFormat {
    Npy,
    Npz,
    Csv,
    Json,
    Png,
    /// Text tables; this format is only written.
    Txt,
}

/// The content of a file.
#[derive(Debug)]
pub(crate) enum FileContent {
    Array(FileArray),
    /// Named arrays, in the order of the file. An array that cannot be read is represented by the
    /// reason.
    Archive(Vec<NamedArray>),
    Table(DataTable),
    Image(Image),
}

/// A name with its array, or the reason why the array cannot be read.
pub(crate) type NamedArray = (String, Result<FileArray, String>);

/// An array of any number of axes, including none.
#[derive(Debug)]
pub(crate) struct FileArray {
    pub(crate) dims: Vec<usize>,
    /// The elements, in row-major order; their number is the product of the extents. Empty once
    /// they are moved into a value.
    elements: RefCell<FileElements>,
}

impl FileArray {
    fn new(dims: Vec<usize>, elements: FileElements) -> Self {
        Self { dims, elements: RefCell::new(elements) }
    }
}

/// The elements of an array, all of one type.
#[derive(Clone, Debug)]
pub(crate) enum FileElements {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    /// Unsigned integers, of which at least one exceeds `i64`.
    U64(Vec<u64>),
    Bool(Vec<bool>),
}

impl Default for FileElements {
    fn default() -> Self {
        Self::Bool(Vec::new())
    }
}

impl FileElements {
    fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::Bool(v) => v.len(),
        }
    }
}

/// Returns the number of elements for these extents. `None` if the array is too large to represent,
/// even if another extent is 0.
fn element_count(dims: &[usize]) -> Option<usize> {
    let most = usize::try_from(MAX_EXTENT).unwrap_or(usize::MAX);
    if dims.iter().any(|n| *n >= most) {
        return None;
    }
    let all = dims.iter().try_fold(1usize, |count, n| count.checked_mul((*n).max(1)))?;
    Some(if dims.contains(&0) { 0 } else { all })
}

impl DataFormat {
    /// Returns the format for the extension of a file name.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match end.as_str() {
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "csv" => Self::Csv,
            "json" => Self::Json,
            "png" => Self::Png,
            "txt" => Self::Txt,
            _ => return None,
        })
    }

    /// Returns the most bytes of a file. Text grows when it is parsed, so its limit is lower.
    pub(crate) fn max_bytes(self) -> usize {
        match self {
            Self::Npy | Self::Npz => MAX_BYTES + (1 << 20),
            Self::Csv | Self::Png => 256 << 20,
            Self::Json | Self::Txt => MAX_TEXT_BYTES,
        }
    }

    /// Reads a file. The outer error is about access, the inner one about the content.
    pub(crate) fn load(
        self,
        path: &Path,
        options: &TableOptions,
        wanted: SelectedFields<'_>,
    ) -> Result<Result<UntypedContent, UnreadableFile>, Refusal> {
        match self {
            // Elements are read from the file directly into their final memory.
            Self::Npy => files::read_with(path, self, |file, bytes| {
                Ok(npy::read_all(file, bytes)
                    .map(|array| UntypedContent::File(FileContent::Array(array)))
                    .map_err(UnreadableFile::from))
            }),
            Self::Npz => files::read_with(path, self, |file, _| {
                let arrays = npz::read(file, wanted);
                Ok(arrays
                    .map(|arrays| UntypedContent::File(FileContent::Archive(arrays)))
                    .map_err(UnreadableFile::from))
            }),
            _ => files::read_data(path, self).map(|bytes| self.read(bytes, options)),
        }
    }

    /// Parses the bytes of a file, or returns the reason why it cannot.
    pub(crate) fn read(self, bytes: Vec<u8>, options: &TableOptions) -> Result<UntypedContent, UnreadableFile> {
        Ok(match self {
            Self::Npy => {
                let length = u64::try_from(bytes.len()).ok();
                UntypedContent::File(FileContent::Array(npy::read_all(&mut bytes.as_slice(), length)?))
            }
            Self::Npz => UntypedContent::File(FileContent::Archive(npz::read(Cursor::new(bytes), None)?)),
            Self::Csv => UntypedContent::File(FileContent::Table(csv::read(decode_utf8(bytes)?, options)?)),
            Self::Json => UntypedContent::Literal(json::read(&decode_utf8(bytes)?)?),
            Self::Png => UntypedContent::File(FileContent::Image(png::read(&bytes)?)),
            Self::Txt => return Err("text tables can only be written".to_owned().into()),
        })
    }

    /// Serialises a value. Returns the bytes and warnings about inexact parts, or the reason why
    /// the format cannot hold it.
    pub(crate) fn write(self, value: &Value) -> Result<(Vec<u8>, Vec<String>), Refusal> {
        let mut bytes = Cursor::new(Vec::new());
        let warnings = self.write_to(value, &mut bytes)?;
        Ok((bytes.into_inner(), warnings))
    }

    /// Writes a value. A value that the format cannot hold is refused before anything is written.
    pub(crate) fn write_to(self, value: &Value, to: &mut (impl Write + Seek)) -> Result<Vec<String>, Refusal> {
        let (bytes, warnings) = match self {
            Self::Npy => {
                npy::check_value(value)?;
                npy::write(value, to).map_err(|e| write_refusal(&e))?;
                return Ok(Vec::new());
            }
            Self::Npz => {
                npz::write(value, to)?;
                return Ok(Vec::new());
            }
            Self::Csv => (csv::write(value)?, Vec::new()),
            Self::Txt => (text_table::write(value)?, Vec::new()),
            Self::Png => png::write(value)?,
            Self::Json => match json_text(value)? {
                Some(text) => ((text + "\n").into_bytes(), Vec::new()),
                None => return Err(save_refusal("the value is too large for JSON", "save it as .npy or .npz")),
            },
        };
        to.write_all(&bytes).map_err(|e| write_refusal(&e))?;
        Ok(warnings)
    }
}

/// Formats a value as JSON; `None` if it is too large. Runs on a thread, so that Ctrl-C is
/// answered.
fn json_text(value: &Value) -> Result<Option<String>, Refusal> {
    let value = value.clone();
    files::run_interruptible(move || lang_core::runtime::json::to_json(&value, MAX_JSON)).ok_or_else(interrupt_refusal)
}

/// The message of an interrupted operation.
const INTERRUPTED: &str = "interrupted";

/// Returns the refusal of an operation that Ctrl-C interrupted.
pub(crate) fn interrupt_refusal() -> Refusal {
    Refusal::new(Code::E0507, INTERRUPTED)
}

fn write_refusal(e: &std::io::Error) -> Refusal {
    if files::is_interrupt(e) { interrupt_refusal() } else { Refusal::new(Code::E0605, files::failure_reason(e)) }
}

/// The reason why a file cannot be read.
#[derive(Debug)]
pub(crate) struct UnreadableFile {
    pub(crate) message: String,
    /// The line and the column in bytes, from 1, if the format has places.
    pub(crate) position: Option<(usize, usize)>,
}

impl From<String> for UnreadableFile {
    fn from(message: String) -> Self {
        Self { message, position: None }
    }
}

/// Decodes UTF-8 text and removes its byte order mark.
fn decode_utf8(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        bytes.drain(..3);
    }
    if let Some(encoding) = files::wide_encoding(&bytes) {
        return Err(format!("the file is encoded as {encoding}; save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(at).copied().unwrap_or_default();
        format!("the file is not UTF-8: byte {at} is 0x{byte:02X}")
    })
}

/// Returns the refusal of a value that cannot be saved.
fn save_refusal(message: impl Into<String>, help: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::E0605, message);
    refusal.help = Some(help.to_owned());
    refusal
}

/// Describes the kind of a value as a noun phrase.
fn value_noun(value: &Value) -> String {
    match value {
        Value::Array(a) if !a.is_of_scalars() => "an array of records or tuples".to_owned(),
        Value::Array(a) => match a.dims().len() {
            1 => "an array with 1 axis".to_owned(),
            n => format!("an array with {n} axes"),
        },
        Value::F64(_) | Value::F32(_) | Value::I64(_) => "a number".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Tuple(t) if t.values().is_empty() => "()".to_owned(),
        Value::Tuple(_) => "a tuple".to_owned(),
        Value::Record(_) => "a record".to_owned(),
        Value::Data(_) => "a constructor".to_owned(),
        Value::Str(_) => "a string".to_owned(),
        Value::Rel(_) => "a relation".to_owned(),
        Value::Fun(_) => "a function".to_owned(),
        Value::Dual(_) => "a dual number".to_owned(),
    }
}

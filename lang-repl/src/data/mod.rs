//! Data files. A file in each format for reading and writing it; what they hold in one form,
//! whatever the format; and `fit`, which makes values of declared types of it.
//!
//! Readers take any bytes: they give data or say why there is none, and allocate no more than a small
//! multiple of what they were given and of what its header truthfully promises.

mod columns;
mod csv;
mod declare;
pub(crate) mod fit;
mod json;
mod names;
mod npy;
mod npz;
mod png;
mod probe;
mod sheet;
mod text;

use std::cell::RefCell;
use std::io::{Cursor, Seek, Write};
use std::path::Path;

use lang_core::base::Code;
use lang_core::interp::memory::MAX_EXTENT;
use lang_core::interp::{Refusal, Value};
use lang_core::syntax::lexer::MAX_TEXT;

use crate::files;
use crate::literal::Content;

pub(crate) use csv::{Options, Table};
pub(crate) use declare::{Declared, declared, declared_json};
pub(crate) use json::read as json;
pub(crate) use npz::Wanted;
pub(crate) use png::Image;
pub use probe::probe;

/// Elements of one file take at most so many bytes.
const MAX_BYTES: usize = 2 << 30;

/// JSON of more bytes than this is not written.
const MAX_JSON: usize = 256 << 20;

/// The formats, by the ends of file names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Npy,
    Npz,
    Csv,
    Json,
    Png,
    /// Is written only.
    Txt,
}

/// What a file holds.
#[derive(Debug)]
pub(crate) enum Data {
    Array(Array),
    /// Arrays by names, in the order of the file. Those that cannot be read say why.
    Named(Vec<NamedArray>),
    Table(Table),
    Image(Image),
}

/// A name, and the array or why it cannot be read.
pub(crate) type NamedArray = (String, Result<Array, String>);

/// An array of any number of axes, none included.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    /// As many as the extents say, in row-major order, until a value takes them.
    elements: RefCell<Elements>,
}

impl Array {
    fn new(dims: Vec<usize>, elements: Elements) -> Self {
        Self { dims, elements: RefCell::new(elements) }
    }
}

/// Elements of one kind.
#[derive(Clone, Debug)]
pub(crate) enum Elements {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    /// Not all of them are `i64`s.
    U64(Vec<u64>),
    Bool(Vec<bool>),
}

impl Default for Elements {
    fn default() -> Self {
        Self::Bool(Vec::new())
    }
}

impl Elements {
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

/// How many elements an array of these extents has; `None` where it is too large to be one here,
/// also if its other axes have no elements.
fn count(dims: &[usize]) -> Option<usize> {
    let most = usize::try_from(MAX_EXTENT).unwrap_or(usize::MAX);
    if dims.iter().any(|n| *n >= most) {
        return None;
    }
    let all = dims.iter().try_fold(1usize, |count, n| count.checked_mul((*n).max(1)))?;
    Some(if dims.contains(&0) { 0 } else { all })
}

impl Format {
    /// The format that the name of a file tells.
    pub(crate) fn of(path: &Path) -> Option<Self> {
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

    /// A file may have so many bytes. Text becomes larger in memory than it is.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::Npy | Self::Npz => MAX_BYTES + (1 << 20),
            Self::Csv | Self::Png => 256 << 20,
            Self::Json | Self::Txt => MAX_TEXT,
        }
    }

    /// Reads a file. The inner error is about its content.
    pub(crate) fn load(
        self,
        path: &Path,
        options: &Options,
        wanted: Wanted<'_>,
    ) -> Result<Result<Content, Unreadable>, Refusal> {
        match self {
            // Arrays go from the file into their memory.
            Self::Npy => files::stream(path, self, |file, bytes| {
                Ok(npy::read_all(file, bytes).map(|array| Content::Data(Data::Array(array))).map_err(Unreadable::from))
            }),
            Self::Npz => files::stream(path, self, |file, _| {
                let arrays = npz::read(file, wanted);
                Ok(arrays.map(|arrays| Content::Data(Data::Named(arrays))).map_err(Unreadable::from))
            }),
            _ => files::data(path, self).map(|bytes| self.read(bytes, options)),
        }
    }

    /// Reads the bytes of a file; else why they cannot be read.
    pub(crate) fn read(self, bytes: Vec<u8>, options: &Options) -> Result<Content, Unreadable> {
        Ok(match self {
            Self::Npy => {
                let length = u64::try_from(bytes.len()).ok();
                Content::Data(Data::Array(npy::read_all(&mut bytes.as_slice(), length)?))
            }
            Self::Npz => Content::Data(Data::Named(npz::read(Cursor::new(bytes), None)?)),
            Self::Csv => Content::Data(Data::Table(csv::read(utf8(bytes)?, options)?)),
            Self::Json => Content::Literal(json::read(&utf8(bytes)?)?),
            Self::Png => Content::Data(Data::Image(png::read(&bytes)?)),
            Self::Txt => return Err("text tables are written, not read".to_owned().into()),
        })
    }

    /// The bytes of a file that holds a value, and what it does not hold exactly; else why there is none.
    pub(crate) fn write(self, value: &Value) -> Result<(Vec<u8>, Vec<String>), Refusal> {
        let mut bytes = Cursor::new(Vec::new());
        let warnings = self.write_to(value, &mut bytes)?;
        Ok((bytes.into_inner(), warnings))
    }

    /// Refuses a value that the format does not hold, before anything is written.
    pub(crate) fn write_to(self, value: &Value, to: &mut (impl Write + Seek)) -> Result<Vec<String>, Refusal> {
        let (bytes, warnings) = match self {
            Self::Npy => {
                npy::check(value)?;
                npy::write(value, to).map_err(|e| unwritten(&e))?;
                return Ok(Vec::new());
            }
            Self::Npz => {
                npz::write(value, to)?;
                return Ok(Vec::new());
            }
            Self::Csv => (csv::write(value)?, Vec::new()),
            Self::Txt => (text::write(value)?, Vec::new()),
            Self::Png => png::write(value)?,
            Self::Json => match json_text(value)? {
                Some(text) => ((text + "\n").into_bytes(), Vec::new()),
                None => return Err(refusal("the value is too large for JSON", "write it as .npy or .npz")),
            },
        };
        to.write_all(&bytes).map_err(|e| unwritten(&e))?;
        Ok(warnings)
    }
}

/// The value as JSON, unless it is too large. It is made on a thread, so that Ctrl-C is answered.
fn json_text(value: &Value) -> Result<Option<String>, Refusal> {
    let value = value.clone();
    files::stoppable(move || lang_core::interp::json::to_json(&value, MAX_JSON)).ok_or_else(interrupted)
}

/// The message of what an interrupt ended.
const INTERRUPTED: &str = "interrupted";

/// Ctrl-C came.
pub(crate) fn interrupted() -> Refusal {
    Refusal::new(Code::E0507, INTERRUPTED)
}

fn unwritten(e: &std::io::Error) -> Refusal {
    if files::is_interrupt(e) { interrupted() } else { Refusal::new(Code::E0605, files::reason(e)) }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    /// The line and the column in bytes, from 1, where the message does not tell all.
    pub(crate) at: Option<(usize, usize)>,
}

impl From<String> for Unreadable {
    fn from(message: String) -> Self {
        Self { message, at: None }
    }
}

/// Text without its byte order mark.
fn utf8(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        bytes.drain(..3);
    }
    if let Some(encoding) = files::wide_encoding(&bytes) {
        return Err(format!("this is {encoding}; save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(at).copied().unwrap_or_default();
        format!("this is not UTF-8: byte {at} is 0x{byte:02X}")
    })
}

/// Why a value cannot be saved.
fn refusal(message: impl Into<String>, help: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::E0605, message);
    refusal.help = Some(help.to_owned());
    refusal
}

/// What kind of value it is, as a noun phrase.
fn noun(value: &Value) -> String {
    match value {
        Value::Array(a) if !a.is_of_scalars() => "an array of records or tuples".to_owned(),
        Value::Array(a) => match a.dims().len() {
            1 => "an array of 1 axis".to_owned(),
            n => format!("an array of {n} axes"),
        },
        Value::F64(_) | Value::F32(_) | Value::I64(_) => "a number".to_owned(),
        Value::Bool(_) => "a truth value".to_owned(),
        Value::Tuple(t) if t.values().is_empty() => "()".to_owned(),
        Value::Tuple(_) => "a tuple".to_owned(),
        Value::Record(_) => "a record".to_owned(),
        Value::Data(_) => "a constructor".to_owned(),
        Value::Str(_) => "a text".to_owned(),
        Value::Rel(_) => "a relation".to_owned(),
        Value::Fun(_) => "a function".to_owned(),
        Value::Dual(_) => "a number that varies".to_owned(),
    }
}

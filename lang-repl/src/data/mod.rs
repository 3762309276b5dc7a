//! Data files. A file in each format for reading and writing it; what they hold in one form,
//! whatever the format; and `fit`, which makes values of declared types of it.
//!
//! Readers take any bytes: they give data or say why there is none, and allocate no more than a small
//! multiple of what they were given and of what its header truthfully promises.

mod csv;
mod declare;
pub(crate) mod fit;
mod names;
mod npy;
mod npz;
mod png;
mod probe;
mod sheet;
mod text;

use std::path::Path;

use lang_core::base::Code;
use lang_core::interp::memory::MAX_EXTENT;
use lang_core::interp::{Refusal, Value, json};
use lang_core::syntax::lexer::MAX_TEXT;

use crate::literal::{self, Content};

pub(crate) use csv::Table;
pub(crate) use declare::declared;
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
    /// As many as the extents say, in row-major order.
    pub(crate) elements: Elements,
}

/// Elements of one kind.
#[derive(Debug)]
pub(crate) enum Elements {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    /// Not all of them are `i64`s.
    U64(Vec<u64>),
    Bool(Vec<bool>),
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

    /// Reads what a file holds; else why it cannot be read.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<Content, Unreadable> {
        Ok(match self {
            Self::Npy => Content::Data(Data::Array(npy::read_all(bytes)?)),
            Self::Npz => Content::Data(Data::Named(npz::read(bytes)?)),
            Self::Csv => Content::Data(Data::Table(csv::read(utf8(bytes)?)?)),
            Self::Json => Content::Literal(literal::json(utf8(bytes)?).map_err(|e| Unreadable {
                message: format!("this is not JSON: {e}"),
                // Columns count bytes, from 1.
                at: Some((e.line(), e.column())),
            })?),
            Self::Png => Content::Data(Data::Image(png::read(bytes)?)),
            Self::Txt => return Err("text tables are written, not read".to_owned().into()),
        })
    }

    /// The bytes of a file that holds a value, and what it does not hold exactly; else why there is
    /// none.
    pub(crate) fn write(self, value: &Value) -> Result<(Vec<u8>, Vec<String>), Refusal> {
        let exact = |bytes: Result<Vec<u8>, Refusal>| bytes.map(|b| (b, Vec::new()));
        match self {
            Self::Npy => exact(npy::write(value)),
            Self::Npz => exact(npz::write(value)),
            Self::Csv => exact(csv::write(value)),
            Self::Txt => exact(text::write(value)),
            Self::Png => png::write(value),
            Self::Json => match json::to_json(value, MAX_JSON) {
                Some(text) => Ok(((text + "\n").into_bytes(), Vec::new())),
                None => Err(refusal("the value is too large for JSON", "write it as .npy or .npz")),
            },
        }
    }
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
fn utf8(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        let byte = bytes.get(e.valid_up_to()).copied().unwrap_or_default();
        format!("this is not UTF-8: byte {} is 0x{byte:02X}", e.valid_up_to())
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
        Value::Array(a) if a.is_boxed() => "an array of records or tuples".to_owned(),
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

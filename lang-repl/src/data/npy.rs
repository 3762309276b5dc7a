//! **The `.npy` format**, as in NumPy's `numpy.lib.format`, versions 1 to 3. Reads reals, integers
//! and booleans of every width up to 64 bits, in either byte order and either element order. Writes
//! version 1, little-endian and row-major. `load` and `save` reach it through [`super`], and `npz`
//! for each entry of an archive.

use std::io::{self, Read, Write};

use lang_core::runtime::{Refusal, Value};

use super::{FileArray, FileElements, INTERRUPTED, MAX_BYTES, element_count, save_refusal, value_noun};
use crate::interrupt;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header; longer ones belong to unsupported element kinds.
const MAX_HEADER: usize = 1 << 16;

/// The most axes, as in NumPy.
const MAX_AXES: usize = 64;

/// The size in bytes of the chunks in which elements are read and written, so that an interrupt is
/// seen between chunks. It is a multiple of every element size.
const CHUNK_BYTES: usize = 1 << 18;

/// Reads a file that contains one array and nothing else. `bytes` is its size, if known.
pub(super) fn read_all(from: &mut dyn Read, bytes: Option<u64>) -> Result<FileArray, String> {
    let array = read(from, MAX_BYTES, bytes)?;
    let more = from.read_to_end(&mut Vec::new()).map_err(|e| format!("it cannot be read: {e}"))?;
    match more {
        0 => Ok(array),
        more => {
            let follow = lang_core::base::count_with_noun(more, "byte follows", "bytes follow");
            Err(format!("{follow} the array that the header describes"))
        }
    }
}

/// Reads an array of at most `max_bytes / 8` elements: an element counts eight bytes, even a
/// one-byte integer. `bytes` is the size of the input, if known. If it shows that all elements
/// exist, their memory is allocated at once.
pub(super) fn read(from: &mut dyn Read, max_bytes: usize, bytes: Option<u64>) -> Result<FileArray, String> {
    let start = read_exact_bytes(from, 8).ok_or("it is not a .npy file")?;
    let Some(([major, _], [])) = start.strip_prefix(MAGIC).and_then(<[u8]>::split_first_chunk::<2>) else {
        return Err("it is not a .npy file".to_owned());
    };
    let truncated = || "the header is truncated".to_owned();
    let length = match major {
        1 => read_exact_bytes(from, 2).ok_or_else(truncated)?,
        2 | 3 => read_exact_bytes(from, 4).ok_or_else(truncated)?,
        _ => return Err(format!("unsupported version {major} of the format")),
    };
    let length = length.iter().rev().fold(0usize, |n, byte| n << 8 | usize::from(*byte));
    if length > MAX_HEADER {
        return Err(format!("a header of {length} bytes is too long"));
    }
    let header = read_exact_bytes(from, length).ok_or_else(truncated)?;
    let header = header.iter().map(|b| char::from(*b)).collect::<String>();
    let header = NpyHeader::parse(&header)?;
    let elements =
        element_count(&header.dims).ok_or_else(|| format!("the shape {} is too large", shape_text(&header.dims)))?;
    if elements > max_bytes / 8 {
        return Err(format!("too many elements: {elements}, but at most {} can be read", max_bytes / 8));
    }
    let size = elements * header.kind.size();
    let can_reserve = bytes.is_some_and(|bytes| u64::try_from(size).is_ok_and(|size| size <= bytes));
    let mut reader = ElementReader { from, kind: header.kind, big_endian: header.big_endian, elements, can_reserve };
    let elements = reader.read_elements().map_err(|stopped| match stopped {
        ElementReadError::Truncated(found) => {
            let shape = shape_text(&header.dims);
            let size = lang_core::base::count_with_noun(size, "byte", "bytes");
            format!("the shape {shape} takes {size}, but there are only {found}")
        }
        ElementReadError::NotBoolean(at) => format!("element {at} is neither false nor true"),
        ElementReadError::Interrupted => INTERRUPTED.to_owned(),
        ElementReadError::Failed(e) => format!("it cannot be read: {e}"),
    })?;
    Ok(if header.fortran_order { to_row_major(header.dims, elements) } else { FileArray::new(header.dims, elements) })
}

/// Reads `n` bytes, or returns `None` if fewer are left. `n` must be small, because the buffer is
/// allocated first.
fn read_exact_bytes(from: &mut dyn Read, n: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; n];
    from.read_exact(&mut bytes).ok().map(|()| bytes)
}

/// Returns the shape as NumPy writes it.
pub(super) fn shape_text(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    if let [one] = dims.as_slice() { format!("({one},)") } else { format!("({})", dims.join(", ")) }
}

/// The kind of an element; the payload is its size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NpyKind {
    Bool,
    Signed(usize),
    Unsigned(usize),
    Real(usize),
}

impl NpyKind {
    fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Signed(n) | Self::Unsigned(n) | Self::Real(n) => n,
        }
    }

    /// Parses a type such as `<f8`; also returns whether it is big-endian. Without a byte order, or
    /// with `=`, the native order applies.
    fn parse(text: &str) -> Option<(Self, bool)> {
        let (order, rest) = match text.split_at_checked(1)? {
            ("=", rest) => (NATIVE_ORDER, rest),
            (order @ ("<" | ">" | "|"), rest) => (order, rest),
            _ => (NATIVE_ORDER, text),
        };
        let kind = match rest {
            "?" | "b1" => Self::Bool,
            "i1" | "i2" | "i4" | "i8" => Self::Signed(rest.get(1..)?.parse().ok()?),
            "u1" | "u2" | "u4" | "u8" => Self::Unsigned(rest.get(1..)?.parse().ok()?),
            "f2" | "f4" | "f8" => Self::Real(rest.get(1..)?.parse().ok()?),
            _ => return None,
        };
        // An element of several bytes must have a byte order.
        (kind.size() == 1 || order != "|").then_some((kind, order == ">"))
    }
}

/// The native byte order.
const NATIVE_ORDER: &str = if cfg!(target_endian = "big") { ">" } else { "<" };

/// Returns the name of an unsupported element kind of NumPy.
fn unsupported_kind(text: &str) -> Option<&'static str> {
    let kind = text.trim_start_matches(['<', '>', '|', '=']);
    Some(match kind.chars().next()? {
        'c' | 'F' | 'D' | 'G' => "complex numbers",
        'U' | 'S' | 'a' => "strings",
        'O' => "Python objects",
        'M' => "dates",
        'm' => "time differences",
        'V' => "raw bytes",
        'f' | 'g' if kind == "f16" || kind == "f12" || kind == "g" => "reals of more than 64 bits",
        _ => return None,
    })
}

/// The header of a `.npy` file.
struct NpyHeader {
    kind: NpyKind,
    big_endian: bool,
    fortran_order: bool,
    dims: Vec<usize>,
}

impl NpyHeader {
    /// Parses a Python dictionary:
    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }`.
    fn parse(text: &str) -> Result<Self, String> {
        let bad = || "invalid .npy header".to_owned();
        let mut parser = HeaderParser { rest: text };
        let (mut descr, mut fortran, mut dims) = (None, None, None);
        parser.expect('{').ok_or_else(bad)?;
        while !parser.eat('}') {
            let key = parser.string().ok_or_else(bad)?;
            parser.expect(':').ok_or_else(bad)?;
            let twice = match key {
                "descr" => descr.replace(parser.descr()?).is_some(),
                "fortran_order" => fortran.replace(parser.boolean().ok_or_else(bad)?).is_some(),
                "shape" => dims.replace(parser.shape()?).is_some(),
                _ => true,
            };
            if twice {
                return Err(bad());
            }
            if !parser.eat(',') {
                parser.expect('}').ok_or_else(bad)?;
                break;
            }
        }
        if !parser.rest.trim().is_empty() {
            return Err(bad());
        }
        let (Some((kind, big)), Some(fortran), Some(dims)) = (descr, fortran, dims) else { return Err(bad()) };
        Ok(Self { kind, big_endian: big, fortran_order: fortran, dims })
    }
}

/// The unparsed rest of a header.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl<'a> HeaderParser<'a> {
    /// Consumes this character if it comes next; returns whether it did.
    fn eat(&mut self, c: char) -> bool {
        self.expect(c).is_some()
    }

    /// Consumes this character; `None` if another comes next.
    fn expect(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = ['\'', '"'].into_iter().find(|q| self.eat(*q))?;
        let (text, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    fn boolean(&mut self) -> Option<bool> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        None
    }

    fn descr(&mut self) -> Result<(NpyKind, bool), String> {
        if self.rest.trim_start().starts_with('[') {
            return Err("structured elements are not supported; save each field separately".to_owned());
        }
        let text = self.string().ok_or("invalid .npy header")?;
        NpyKind::parse(text).ok_or_else(|| {
            let of: String = text.chars().take(20).collect();
            match unsupported_kind(text) {
                Some(noun) => format!("elements of kind `{of}` ({noun}) are not supported"),
                None => format!(
                    "elements of kind `{of}` are not supported, because they are neither real, integer nor bool"
                ),
            }
        })
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let bad = || "invalid shape in the header".to_owned();
        self.expect('(').ok_or_else(bad)?;
        let mut dims = Vec::new();
        while !self.eat(')') {
            self.rest = self.rest.trim_start();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = self.rest.split_at_checked(digits).ok_or_else(bad)?;
            // Python 2 wrote long integers with an `L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            match number.parse() {
                Ok(n) => dims.push(n),
                Err(_) if number.is_empty() => return Err(bad()),
                Err(_) => return Err(format!("an axis of {number} elements is too large")),
            }
            if dims.len() > MAX_AXES {
                return Err("the array has too many axes".to_owned());
            }
            if !self.eat(',') {
                self.expect(')').ok_or_else(bad)?;
                break;
            }
        }
        Ok(dims)
    }
}

/// A reader of the elements after the header.
struct ElementReader<'r> {
    from: &'r mut dyn Read,
    kind: NpyKind,
    big_endian: bool,
    elements: usize,
    /// Whether the input is known to contain all elements, so that their memory can be reserved.
    can_reserve: bool,
}

/// The reason why not all elements were read.
enum ElementReadError {
    /// The input ended after this many bytes.
    Truncated(usize),
    /// The element at this index is no boolean.
    NotBoolean(usize),
    Interrupted,
    Failed(io::Error),
}

impl ElementReader<'_> {
    fn read_elements(&mut self) -> Result<FileElements, ElementReadError> {
        Ok(match self.kind {
            NpyKind::Bool => {
                let bytes = self.read_numbers(|[b]: [u8; 1]| b)?;
                if let Some(at) = bytes.iter().position(|b| *b > 1) {
                    return Err(ElementReadError::NotBoolean(at));
                }
                FileElements::Bool(bytes.into_iter().map(|b| b == 1).collect())
            }
            NpyKind::Signed(1) => FileElements::I64(self.read_numbers(|b| i64::from(i8::from_le_bytes(b)))?),
            NpyKind::Signed(2) => FileElements::I64(self.read_numbers(|b| i64::from(i16::from_le_bytes(b)))?),
            NpyKind::Signed(4) => FileElements::I64(self.read_numbers(|b| i64::from(i32::from_le_bytes(b)))?),
            NpyKind::Signed(_) => FileElements::I64(self.read_numbers(i64::from_le_bytes)?),
            NpyKind::Unsigned(1) => FileElements::I64(self.read_numbers(|[b]: [u8; 1]| i64::from(b))?),
            NpyKind::Unsigned(2) => FileElements::I64(self.read_numbers(|b| i64::from(u16::from_le_bytes(b)))?),
            NpyKind::Unsigned(4) => FileElements::I64(self.read_numbers(|b| i64::from(u32::from_le_bytes(b)))?),
            NpyKind::Unsigned(_) => {
                let wide = self.read_numbers(u64::from_le_bytes)?;
                match wide.iter().all(|n| i64::try_from(*n).is_ok()) {
                    // The in-place `collect` reuses the memory.
                    true => FileElements::I64(wide.into_iter().map(u64::cast_signed).collect()),
                    false => FileElements::U64(wide),
                }
            }
            NpyKind::Real(2) => FileElements::F32(self.read_numbers(|b| f16_to_f32(u16::from_le_bytes(b)))?),
            NpyKind::Real(4) => FileElements::F32(self.read_numbers(f32::from_le_bytes)?),
            NpyKind::Real(_) => FileElements::F64(self.read_numbers(f64::from_le_bytes)?),
        })
    }

    /// Reads all elements, of `N` bytes each.
    fn read_numbers<const N: usize, T>(&mut self, number: impl Fn([u8; N]) -> T) -> Result<Vec<T>, ElementReadError> {
        let mut all = Vec::new();
        if self.can_reserve {
            all.reserve_exact(self.elements);
        }
        let mut part = vec![0; CHUNK_BYTES.min(self.elements * N)];
        while all.len() < self.elements {
            if interrupt::is_requested() {
                return Err(ElementReadError::Interrupted);
            }
            let left = (self.elements - all.len()) * N;
            let wanted = left.min(part.len());
            let buffer = part.get_mut(..wanted).unwrap_or_default();
            let found = read_full(self.from, buffer).map_err(ElementReadError::Failed)?;
            if found < wanted {
                return Err(ElementReadError::Truncated(all.len() * N + found));
            }
            let (chunks, _) = buffer.as_chunks::<N>();
            let one = |chunk: &[u8; N]| {
                let mut chunk = *chunk;
                if self.big_endian {
                    chunk.reverse();
                }
                number(chunk)
            };
            all.extend(chunks.iter().map(one));
        }
        Ok(all)
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes read.
fn read_full(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// Converts a 16-bit float: a sign, 5 bits of exponent, 10 of fraction.
fn f16_to_f32(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f32::from(bits & 0x3FF);
    sign * match bits >> 10 & 0x1F {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    }
}

/// Transposes elements in Fortran order to row-major order.
fn to_row_major(dims: Vec<usize>, elements: FileElements) -> FileArray {
    fn transpose<T: Copy>(dims: &[usize], from: &[T]) -> Vec<T> {
        let mut strides = Vec::new();
        let mut stride = 1;
        for n in dims {
            strides.push(stride);
            stride *= n;
        }
        let mut index = vec![0; dims.len()];
        let mut at = 0;
        let mut to = Vec::with_capacity(from.len());
        while to.len() < from.len() {
            to.extend(from.get(at));
            // Advances the index, the last axis fastest.
            for ((i, n), stride) in index.iter_mut().zip(dims).zip(&strides).rev() {
                *i += 1;
                at += stride;
                if *i < *n {
                    break;
                }
                at -= stride * *i;
                *i = 0;
            }
        }
        to
    }
    let elements = match elements {
        FileElements::F64(v) => FileElements::F64(transpose(&dims, &v)),
        FileElements::F32(v) => FileElements::F32(transpose(&dims, &v)),
        FileElements::I64(v) => FileElements::I64(transpose(&dims, &v)),
        FileElements::U64(v) => FileElements::U64(transpose(&dims, &v)),
        FileElements::Bool(v) => FileElements::Bool(transpose(&dims, &v)),
    };
    FileArray::new(dims, elements)
}

/// Returns a refusal unless the value is a scalar or an array of scalars.
pub(super) fn check_value(value: &Value) -> Result<(), Refusal> {
    if file_size(value).is_some() {
        return Ok(());
    }
    let message =
        format!("the value is {}, but a .npy file contains a number or an array of numbers", value_noun(value));
    Err(save_refusal(message, "save records and tuples of arrays as .npz, any value as .json"))
}

/// Returns the approximate size of the value's file in bytes; `None` if the value is neither a
/// scalar nor an array of scalars.
pub(super) fn file_size(value: &Value) -> Option<usize> {
    match value {
        Value::F64(_) | Value::F32(_) | Value::I64(_) | Value::Bool(_) => Some(256),
        Value::Array(a) if a.dims().len() <= MAX_AXES && a.is_of_scalars() => Some(256 + a.count() * 8),
        _ => None,
    }
}

/// Writes a scalar or an array of scalars, chunk by chunk.
pub(super) fn write(value: &Value, to: &mut dyn Write) -> io::Result<()> {
    fn write_array<const N: usize, T: Copy>(
        to: &mut dyn Write,
        kind: &str,
        dims: &[usize],
        elements: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) -> io::Result<()> {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {}, }}", shape_text(dims));
        // The elements begin at a multiple of 64 bytes.
        let before = MAGIC.len() + 4;
        let unpadded = before + header.len() + 1;
        header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
        header.push('\n');
        to.write_all(MAGIC)?;
        to.write_all(&[1, 0])?;
        // The header is short because an array has at most `MAX_AXES` axes.
        to.write_all(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes())?;
        to.write_all(header.as_bytes())?;
        let mut buffer = Vec::with_capacity(CHUNK_BYTES.min(elements.len() * N));
        for chunk in elements.chunks(CHUNK_BYTES / N) {
            buffer.clear();
            buffer.extend(chunk.iter().flat_map(|x| bytes(*x)));
            to.write_all(&buffer)?;
        }
        Ok(())
    }
    let bit = |b: bool| [u8::from(b)];
    match value {
        Value::F64(x) => write_array(to, "<f8", &[], &[*x], f64::to_le_bytes),
        Value::F32(x) => write_array(to, "<f4", &[], &[*x], f32::to_le_bytes),
        Value::I64(n) => write_array(to, "<i8", &[], &[*n], i64::to_le_bytes),
        Value::Bool(b) => write_array(to, "|b1", &[], &[*b], bit),
        Value::Array(a) => {
            let dims = a.dims();
            match (a.f64s(), a.f32s(), a.i64s(), a.bools()) {
                (Some(v), ..) => write_array(to, "<f8", dims, v, f64::to_le_bytes),
                (_, Some(v), ..) => write_array(to, "<f4", dims, v, f32::to_le_bytes),
                (_, _, Some(v), _) => write_array(to, "<i8", dims, v, i64::to_le_bytes),
                (.., Some(v)) => write_array(to, "|b1", dims, v, bit),
                _ => Err(io::Error::other("the array contains no numbers")),
            }
        }
        _ => Err(io::Error::other("the value is not an array")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_converts_to_f32() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03FF, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x7C00, f32::INFINITY),
            (0xFC00, f32::NEG_INFINITY),
        ];
        for (bits, x) in cases {
            assert_eq!(f16_to_f32(bits).to_bits(), f32::to_bits(x), "{bits:04X}");
        }
        assert!(f16_to_f32(0x7E00).is_nan());
    }

    /// Compares a parsed header, or the error, with the expected text.
    #[track_caller]
    fn header(text: &str, expected: &str) {
        let shown = match NpyHeader::parse(text) {
            Ok(h) => format!("{:?} {} {} {:?}", h.kind, h.big_endian, h.fortran_order, h.dims),
            Err(e) => e,
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn headers_parse_or_report_the_fault() {
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  \n", "Real(8) false false [2, 3]");
        header("{\"shape\":(),\"fortran_order\":True,\"descr\":\">i2\"}", "Signed(2) true true []");
        // The native byte order; the tests run on little-endian machines.
        header("{'descr': '=f8', 'fortran_order': False, 'shape': ()}", "Real(8) false false []");
        header("{'descr': 'i4', 'fortran_order': False, 'shape': ()}", "Signed(4) false false []");
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (3L,)}", "Bool false false [3]");
        let bad = "invalid .npy header";
        for text in [
            "",
            "{}",
            "{'descr': '<f8', 'fortran_order': False}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2), 'shape': (2)}",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': ()} x",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (), 'more': 1}",
        ] {
            header(text, bad);
        }
        header("{'shape': (-1,)}", "invalid shape in the header");
        header("{'shape': (1.5,)}", "invalid shape in the header");
        header("{'shape': (99999999999999999999,)}", "an axis of 99999999999999999999 elements is too large");
        for (kind, noun) in [
            ("<c16", "complex numbers"),
            ("<U3", "strings"),
            ("|S5", "strings"),
            ("|O", "Python objects"),
            ("<M8[ns]", "dates"),
            ("<f16", "reals of more than 64 bits"),
        ] {
            let message = format!("elements of kind `{kind}` ({noun}) are not supported");
            header(&format!("{{'descr': '{kind}'}}"), &message);
        }
        let other = "elements of kind `<q3` are not supported, because they are neither real, integer nor bool";
        header("{'descr': '<q3'}", other);
        header("{'descr': [('a', '<f8')]}", "structured elements are not supported; save each field separately");
    }
}

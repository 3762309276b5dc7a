//! Values as text: `[1.0, 2.0]`, `(1, true)`, `{x: 1.0}`, `Node(Leaf(1.0), Leaf(2.0))`.
//!
//! What people read is laid out by [`layout`]: aligned, elided, as many digits as they want. Here
//! is everything in one line: [`full`] reads back as an expression (functions excepted), [`short`]
//! leaves out the middle of long arrays and what comes after a few thousand characters. Reals are
//! the shortest digits that read back as the same number, always with a point, an exponent, or
//! `inf` or `nan`. Values are as deep as programs make them, so every walk keeps a list of what
//! is open and does not recurse.

mod grid;
pub mod layout;
mod number;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::array::{Array, Store};
use super::dual::primal;
use super::relation::Relation;
use super::value::{Fun, Value};
use crate::base::Name;

pub use layout::Layout;
pub use number::Digits;

/// Of a longer array, [`short`] shows so many elements at the beginning,
const HEAD: usize = 12;
/// and so many at the end.
const TAIL: usize = 3;
/// After so many bytes [`short`] shows nothing new.
const SHORT: usize = 4000;
/// Types of functions that take more bytes are not shown.
const LONG_TYPE: usize = 200;

/// How values are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// Iverson, elided.
    Short,
    /// Iverson, everything.
    Full,
    /// JSON, everything.
    Json,
    /// Iverson as people read it, where that is one line.
    Line(Layout),
}

/// In a line for messages about the interpreter itself.
#[must_use]
pub fn short(value: &Value) -> String {
    write(value, Notation::Short, SHORT).unwrap_or_default()
}

/// All of it, to be read back; `None` if that takes more than `limit` bytes.
#[must_use]
pub fn full(value: &Value, limit: usize) -> Option<String> {
    write(value, Notation::Full, limit)
}

/// A container that is being written.
enum Open {
    /// A value to begin with.
    Value(Value),
    /// Components of a value: which is next, what to write at the end.
    Items { of: Value, next: usize, close: &'static str },
    /// One level of an array: its axis, where it begins, which part is next.
    Axis { array: Array, axis: usize, start: usize, next: usize },
}

/// The components of a tuple, a record or a constructor, with the names of fields.
fn components(of: &Value) -> (&[Value], Option<&[Name]>) {
    match of {
        Value::Tuple(t) => (t.values(), None),
        Value::Record(r) => (r.values(), Some(r.names())),
        Value::Data(cell) => (cell.args(), None),
        _ => (&[], None),
    }
}

/// Writes a value; `None` if it takes more than `limit` bytes and is not to be cut short, or if it
/// is to be a line and is none.
pub(super) fn write(value: &Value, notation: Notation, limit: usize) -> Option<String> {
    let mut out = String::new();
    let mut open = vec![Open::Value(value.clone())];
    while let Some(top) = open.pop() {
        let over = out.len() > limit;
        if over && notation != Notation::Short {
            return None;
        }
        match top {
            Open::Value(_) if over => out.push('…'),
            Open::Value(value) => {
                if let (Notation::Line(_), Value::Array(a)) = (notation, &value)
                    && layout::has_rows(a.dims())
                {
                    return None;
                }
                begin(&value, notation, false, &mut out, &mut open);
            }
            Open::Items { of, next, close } => {
                let (values, names) = components(&of);
                let Some(value) = values.get(next).cloned() else {
                    out.push_str(close);
                    continue;
                };
                if next > 0 {
                    out.push_str(", ");
                }
                if over {
                    out.push('…');
                    out.push_str(close);
                    continue;
                }
                if let Some(name) = names.and_then(|n| n.get(next)) {
                    if notation == Notation::Json {
                        quote(name, &mut out);
                    } else {
                        out.push_str(name);
                    }
                    out.push_str(": ");
                }
                open.push(Open::Items { of, next: next + 1, close });
                open.push(Open::Value(value));
            }
            Open::Axis { array, axis, start, next } => {
                axis_part(array, axis, start, next, notation, over, &mut out, &mut open);
            }
        }
    }
    (notation == Notation::Short || out.len() <= limit).then_some(out)
}

/// Begins a value; `element` says that it stands in an array.
fn begin(value: &Value, notation: Notation, element: bool, out: &mut String, open: &mut Vec<Open>) {
    let json = notation == Notation::Json;
    let digits = match notation {
        Notation::Line(layout) if element => layout.digits.element(),
        Notation::Line(layout) => layout.digits.alone(),
        _ => None,
    };
    match value {
        Value::F64(x) if json && !x.is_finite() => json_name(*x, out),
        Value::F32(x) if json && !x.is_finite() => json_name(f64::from(*x), out),
        Value::F64(x) => out.push_str(&number::real(*x, digits)),
        Value::F32(x) => out.push_str(&number::real(*x, digits)),
        Value::I64(i) => drop(write!(out, "{i}")),
        Value::Bool(b) => drop(write!(out, "{b}")),
        Value::Str(s) => quote(s, out),
        Value::Array(array) => {
            out.push('[');
            open.push(Open::Axis { array: array.clone(), axis: 0, start: 0, next: 0 });
        }
        Value::Tuple(t) if json && t.values().is_empty() => out.push_str("null"),
        Value::Tuple(_) => {
            out.push(if json { '[' } else { '(' });
            let close = if json { "]" } else { ")" };
            open.push(Open::Items { of: value.clone(), next: 0, close });
        }
        Value::Record(_) => {
            out.push('{');
            open.push(Open::Items { of: value.clone(), next: 0, close: "}" });
        }
        Value::Data(cell) if json => {
            out.push('{');
            quote(&cell.tag().name, out);
            out.push_str(": [");
            open.push(Open::Items { of: value.clone(), next: 0, close: "]}" });
        }
        Value::Data(cell) => {
            out.push_str(&cell.tag().name);
            if !cell.args().is_empty() {
                out.push('(');
                open.push(Open::Items { of: value.clone(), next: 0, close: ")" });
            }
        }
        Value::Fun(_) if json => out.push_str("\"<function>\""),
        Value::Fun(f) => function(f, out),
        Value::Rel(r) => relation(r, notation, out),
        Value::Dual(_) => begin(primal(value), notation, element, out, open),
    }
}

/// A function by its name or, without one, by its type.
fn function(f: &Fun, out: &mut String) {
    let called = match f {
        Fun::Lambda { code, node, .. } => code.body.nodes[*node].ty.to_string(),
        Fun::Def(name, _) => name.name.to_string(),
        Fun::Builtin(builtin) => builtin.name().to_owned(),
        Fun::Scalar(f) => f.name().to_owned(),
        Fun::Ctor(tag) => tag.name.to_string(),
        Fun::Derived(_) | Fun::Tangent(_) => String::new(),
    };
    match called.len() {
        1..LONG_TYPE => drop(write!(out, "<function {called}>")),
        _ => out.push_str("<function>"),
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of an open axis")]
fn axis_part(
    array: Array,
    axis: usize,
    start: usize,
    mut next: usize,
    notation: Notation,
    over: bool,
    out: &mut String,
    open: &mut Vec<Open>,
) {
    let n = array.dims().get(axis).copied().unwrap_or(0);
    let inner: usize = array.dims().get(axis + 1..).unwrap_or_default().iter().product();
    if next >= n {
        // One truth value in brackets would read as an Iverson bracket.
        let read_back = match notation {
            Notation::Full => true,
            Notation::Line(layout) => layout.is_whole(),
            Notation::Short | Notation::Json => false,
        };
        if n == 1 && read_back && matches!(array.store(), Store::Bool(_)) && axis + 1 == array.dims().len() {
            out.push(',');
        }
        out.push(']');
        return;
    }
    if next > 0 {
        out.push_str(", ");
    }
    if over {
        out.push_str("…]");
        return;
    }
    let (head, tail) = match notation {
        Notation::Short => (HEAD, TAIL),
        Notation::Line(layout) => layout.ends(array.dims()).map_or((n, 0), |ends| (ends, ends)),
        Notation::Full | Notation::Json => (n, 0),
    };
    if next == head && n > head + tail + 1 {
        out.push_str("…, ");
        next = n - tail;
    }
    let at = start + next * inner;
    if axis + 1 < array.dims().len() {
        out.push('[');
        open.push(Open::Axis { array: array.clone(), axis, start, next: next + 1 });
        open.push(Open::Axis { array, axis: axis + 1, start: at, next: 0 });
        return;
    }
    let element = array.element(at);
    open.push(Open::Axis { array, axis, start, next: next + 1 });
    match element {
        Some(x @ (Value::F64(_) | Value::F32(_) | Value::I64(_) | Value::Bool(_) | Value::Dual(_))) => {
            begin(&x, notation, true, out, open);
        }
        x => open.extend(x.map(Open::Value)),
    }
}

/// What JSON has for a real that it has no number for.
fn json_name(x: f64, out: &mut String) {
    out.push_str(if x.is_nan() {
        "\"NaN\""
    } else if x > 0.0 {
        "\"Infinity\""
    } else {
        "\"-Infinity\""
    });
}

/// A relation as the call that makes it; in JSON, its members.
fn relation(r: &Relation, notation: Notation, out: &mut String) {
    let json = notation == Notation::Json;
    let list = |row: &[i64]| row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    out.push_str(if json { "[" } else { "relation([" });
    for (i, row) in r.rows().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        let cut = match notation {
            Notation::Short => Some(HEAD),
            Notation::Line(layout) => layout.ends(&[r.len()]),
            Notation::Full | Notation::Json => None,
        };
        if cut == Some(i) {
            out.push('…');
            break;
        }
        let _ = write!(out, "[{}]", list(row));
    }
    out.push(']');
    if !json {
        let _ = write!(out, ", {})", list(r.dims()));
    }
}

/// Text in quotes. The escapes are those that Iverson and JSON share, and for other control
/// characters JSON's.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

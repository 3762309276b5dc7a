//! **Printing** of values: `[1.0, 2.0]`, `(1, true)`, `{x: 1.0}`, `Node(Leaf(1.0), Leaf(2.0))`.
//!
//! [`layout`] formats values for people: aligned, elided, with a chosen number of digits. This
//! module writes values in one line. [`to_full_text`] reads back as an expression (functions
//! excepted). [`to_short_text`] omits the middle of long arrays, and everything after a few
//! thousand characters.
//!
//! A real has the shortest digits that read back as the same number, always with a point or an
//! exponent, or is `inf` or `nan`. Programs determine how deep values are, so every walk uses a
//! worklist and does not recurse.

mod grid;
pub mod layout;
mod number;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::array::{Array, Store};
use super::dual::primal;
use super::relation::Relation;
use super::value::{FunctionValue, Value};
use lang_base::Name;

pub use layout::Layout;
pub use number::Digits;

/// The number of elements that [`to_short_text`] shows at the beginning of a longer array.
const SHORT_HEAD: usize = 12;
/// The number of elements that [`to_short_text`] shows at its end.
const SHORT_TAIL: usize = 3;
/// The number of bytes after which [`to_short_text`] begins nothing new.
const MAX_SHORT_BYTES: usize = 4000;
/// The length in bytes beyond which the type of a function is omitted.
const MAX_TYPE_BYTES: usize = 200;

/// The notation of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ValueNotation {
    /// Iverson syntax, elided.
    Short,
    /// Iverson syntax, complete.
    Full,
    /// JSON, complete.
    Json,
    /// The notation of [`Layout`], for values that fit in one line.
    Line(Layout),
}

/// Prints a value in one elided line, for debug output and internal messages.
#[must_use]
pub fn to_short_text(value: &Value) -> String {
    print_value(value, ValueNotation::Short, MAX_SHORT_BYTES).unwrap_or_default()
}

/// Prints a complete value that reads back, or returns `None` beyond `limit` bytes.
#[must_use]
pub fn to_full_text(value: &Value, limit: usize) -> Option<String> {
    print_value(value, ValueNotation::Full, limit)
}

/// A pending container.
enum PendingContainer {
    /// A value to begin.
    Value(Value),
    /// The components of a value: the next one, and the closing bracket.
    Items { value: Value, next: usize, close: &'static str },
    /// One level of an array: its axis, its start, and the next part.
    Axis { array: Array, axis: usize, start: usize, next: usize },
}

/// Returns the components of a tuple, record or constructor, and the names of fields.
fn components(of: &Value) -> (&[Value], Option<&[Name]>) {
    match of {
        Value::Tuple(t) => (t.values(), None),
        Value::Record(r) => (r.values(), Some(r.names())),
        Value::Data(cell) => (cell.args(), None),
        _ => (&[], None),
    }
}

/// Writes a value. Returns `None` beyond `limit` bytes, unless the notation elides, and if a line
/// was required but the value needs several.
pub fn print_value(value: &Value, notation: ValueNotation, limit: usize) -> Option<String> {
    let mut out = String::new();
    let mut open = vec![PendingContainer::Value(value.clone())];
    while let Some(top) = open.pop() {
        let over = out.len() > limit;
        if over && notation != ValueNotation::Short {
            return None;
        }
        match top {
            PendingContainer::Value(_) if over => out.push('…'),
            PendingContainer::Value(value) => {
                if let (ValueNotation::Line(_), Value::Array(a)) = (notation, &value)
                    && layout::has_rows(a.dims())
                {
                    return None;
                }
                begin_value(&value, notation, false, &mut out, &mut open);
            }
            PendingContainer::Items { value: of, next, close } => {
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
                    if notation == ValueNotation::Json {
                        write_quoted(name, &mut out);
                    } else {
                        out.push_str(name);
                    }
                    out.push_str(": ");
                }
                open.push(PendingContainer::Items { value: of, next: next + 1, close });
                open.push(PendingContainer::Value(value));
            }
            PendingContainer::Axis { array, axis, start, next } => {
                write_axis_part(array, axis, start, next, notation, over, &mut out, &mut open);
            }
        }
    }
    (notation == ValueNotation::Short || out.len() <= limit).then_some(out)
}

/// Begins a value. `element` is true inside an array.
fn begin_value(
    value: &Value,
    notation: ValueNotation,
    element: bool,
    out: &mut String,
    open: &mut Vec<PendingContainer>,
) {
    let json = notation == ValueNotation::Json;
    let digits = match notation {
        ValueNotation::Line(layout) if element => layout.digits.for_element(),
        ValueNotation::Line(layout) => layout.digits.for_single(),
        _ => None,
    };
    match value {
        Value::F64(x) if json && !x.is_finite() => write_json_non_finite(*x, out),
        Value::F32(x) if json && !x.is_finite() => write_json_non_finite(f64::from(*x), out),
        Value::F64(x) => out.push_str(&number::format_real(*x, digits)),
        Value::F32(x) => out.push_str(&number::format_real(*x, digits)),
        Value::I64(i) => drop(write!(out, "{i}")),
        Value::Bool(b) => drop(write!(out, "{b}")),
        Value::Str(s) => write_quoted(s, out),
        Value::Array(array) => {
            out.push('[');
            open.push(PendingContainer::Axis { array: array.clone(), axis: 0, start: 0, next: 0 });
        }
        Value::Tuple(t) if json && t.values().is_empty() => out.push_str("null"),
        Value::Tuple(_) => {
            out.push(if json { '[' } else { '(' });
            let close = if json { "]" } else { ")" };
            open.push(PendingContainer::Items { value: value.clone(), next: 0, close });
        }
        Value::Record(_) => {
            out.push('{');
            open.push(PendingContainer::Items { value: value.clone(), next: 0, close: "}" });
        }
        Value::Data(cell) if json => {
            out.push('{');
            write_quoted(&cell.tag().name, out);
            out.push_str(": [");
            open.push(PendingContainer::Items { value: value.clone(), next: 0, close: "]}" });
        }
        Value::Data(cell) => {
            out.push_str(&cell.tag().name);
            if !cell.args().is_empty() {
                out.push('(');
                open.push(PendingContainer::Items { value: value.clone(), next: 0, close: ")" });
            }
        }
        Value::Fun(_) if json => out.push_str("\"<function>\""),
        Value::Fun(f) => write_function(f, out),
        Value::Rel(r) => write_relation(r, notation, out),
        Value::Dual(_) => begin_value(primal(value), notation, element, out, open),
    }
}

/// Writes a function by its name or, if it has none, its type.
fn write_function(f: &FunctionValue, out: &mut String) {
    let called = match f {
        FunctionValue::Lambda { code, node, .. } => code.body.nodes[*node].ty.to_string(),
        FunctionValue::Def(name, _) => name.name.to_string(),
        FunctionValue::Builtin(builtin) => builtin.name().to_owned(),
        FunctionValue::Scalar(f) => f.name().to_owned(),
        FunctionValue::Ctor(tag) => tag.name.to_string(),
        FunctionValue::Derived(_) | FunctionValue::Tangent(_) => String::new(),
    };
    match called.len() {
        1..MAX_TYPE_BYTES => drop(write!(out, "<function {called}>")),
        _ => out.push_str("<function>"),
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of an open axis")]
fn write_axis_part(
    array: Array,
    axis: usize,
    start: usize,
    mut next: usize,
    notation: ValueNotation,
    over: bool,
    out: &mut String,
    open: &mut Vec<PendingContainer>,
) {
    let n = array.dims().get(axis).copied().unwrap_or(0);
    let inner: usize = array.dims().get(axis + 1..).unwrap_or_default().iter().product();
    if next >= n {
        // A single truth value in brackets would parse as an Iverson bracket.
        let read_back = match notation {
            ValueNotation::Full => true,
            ValueNotation::Line(layout) => layout.is_complete(),
            ValueNotation::Short | ValueNotation::Json => false,
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
        ValueNotation::Short => (SHORT_HEAD, SHORT_TAIL),
        ValueNotation::Line(layout) => layout.shown_ends(array.dims()).map_or((n, 0), |ends| (ends, ends)),
        ValueNotation::Full | ValueNotation::Json => (n, 0),
    };
    if next == head && n > head + tail + 1 {
        out.push_str("…, ");
        next = n - tail;
    }
    let at = start + next * inner;
    if axis + 1 < array.dims().len() {
        out.push('[');
        open.push(PendingContainer::Axis { array: array.clone(), axis, start, next: next + 1 });
        open.push(PendingContainer::Axis { array, axis: axis + 1, start: at, next: 0 });
        return;
    }
    let element = array.element(at);
    open.push(PendingContainer::Axis { array, axis, start, next: next + 1 });
    match element {
        Some(x @ (Value::F64(_) | Value::F32(_) | Value::I64(_) | Value::Bool(_) | Value::Dual(_))) => {
            begin_value(&x, notation, true, out, open);
        }
        x => open.extend(x.map(PendingContainer::Value)),
    }
}

/// Writes a real that JSON cannot represent as a number.
fn write_json_non_finite(x: f64, out: &mut String) {
    out.push_str(if x.is_nan() {
        "\"NaN\""
    } else if x > 0.0 {
        "\"Infinity\""
    } else {
        "\"-Infinity\""
    });
}

/// Writes a relation as a call that constructs it; in JSON, its members.
fn write_relation(r: &Relation, notation: ValueNotation, out: &mut String) {
    let json = notation == ValueNotation::Json;
    let list = |row: &[i64]| row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    out.push_str(if json { "[" } else { "relation([" });
    for (i, row) in r.rows().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        let cut = match notation {
            ValueNotation::Short => Some(SHORT_HEAD),
            ValueNotation::Line(layout) => layout.shown_ends(&[r.len()]),
            ValueNotation::Full | ValueNotation::Json => None,
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

/// Writes text in quotes. The escapes are those that Iverson and JSON share, and JSON's for other
/// control characters.
fn write_quoted(text: &str, out: &mut String) {
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

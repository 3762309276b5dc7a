//! **JSON output** of values. Numbers are numbers (`"NaN"`, `"Infinity"`, `"-Infinity"` are
//! strings). Tensors and tuples are nested arrays, records are objects, constructors are
//! `{"Leaf": […]}`, `()` is `null`, and relations are lists of index tuples.

use super::print::{ValueNotation, print_value};
use super::value::Value;

/// Returns a value as JSON, or `None` if its text takes more than `limit` bytes.
#[must_use]
pub fn to_json(value: &Value, limit: usize) -> Option<String> {
    print_value(value, ValueNotation::Json, limit)
}

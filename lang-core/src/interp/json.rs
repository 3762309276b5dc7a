//! Values as JSON: numbers (`"NaN"`, `"Infinity"`, `"-Infinity"` as strings), nested arrays for
//! tensors and tuples, objects for records, `{"Leaf": […]}` for constructors, `null` for `()`,
//! lists of index tuples for relations.

use super::print::{Notation, write};
use super::value::Value;

/// The value; `None` if its text takes more than `limit` bytes.
#[must_use]
pub fn to_json(value: &Value, limit: usize) -> Option<String> {
    write(value, Notation::Json, limit)
}

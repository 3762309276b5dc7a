//! **Values as tables.** A scalar, a vector (one column) and a matrix are tables. So are a record
//! of vectors of one length, and a vector of records or tuples of scalars. `csv` and `text_table`
//! write tables.

use lang_core::runtime::{Refusal, Value, print};

use super::{save_refusal, value_noun};

/// The help for a value that is no table.
const HELP: &str = "a table is a matrix, a vector, a record of vectors of equal length, or a vector of records of numbers; any value can be saved as .json";

/// A table of formatted cells.
pub(super) struct TableView<'v> {
    pub(super) column_names: Option<Vec<String>>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    parts: TableStorage<'v>,
}

enum TableStorage<'v> {
    /// One array or number, in row-major order.
    Single(&'v Value),
    Columns(&'v [Value]),
    /// An array of records or tuples.
    Rows(&'v lang_core::runtime::Array),
}

impl<'v> TableView<'v> {
    /// Views a value as a table, or returns the reason why it is none.
    pub(super) fn from_value(value: &'v Value) -> Result<Self, Refusal> {
        Self::view(value).ok_or_else(|| {
            let message =
                uneven_columns(value).unwrap_or_else(|| format!("the value is {}, not a table", value_noun(value)));
            save_refusal(message, HELP)
        })
    }

    fn view(value: &'v Value) -> Option<Self> {
        let strings = |names: &[lang_core::base::Name]| Some(names.iter().map(ToString::to_string).collect());
        match value {
            _ if is_scalar(value) => {
                Some(Self { column_names: None, rows: 1, columns: 1, parts: TableStorage::Single(value) })
            }
            Value::Array(a) if !a.is_of_scalars() => {
                let [rows] = a.dims() else { return None };
                // Without rows the field names are unknown.
                let names = match a.element(0)? {
                    Value::Record(r) => strings(r.names()),
                    Value::Tuple(_) => None,
                    _ => return None,
                };
                let columns = row_parts(&a.element(0)?)?.len();
                for row in 0..*rows {
                    let element = a.element(row)?;
                    if !row_parts(&element)?.iter().all(is_scalar) {
                        return None;
                    }
                }
                (columns > 0).then_some(Self {
                    column_names: names,
                    rows: *rows,
                    columns,
                    parts: TableStorage::Rows(a),
                })
            }
            Value::Array(a) => {
                let (rows, columns) = match a.dims() {
                    [n] => (*n, 1),
                    [n, m] => (*n, *m),
                    _ => return None,
                };
                Some(Self { column_names: None, rows, columns, parts: TableStorage::Single(value) })
            }
            Value::Record(r) => {
                let extent = |v: &Value| match v {
                    Value::Array(a) if a.is_of_scalars() => a.dims().first().copied().filter(|_| a.dims().len() == 1),
                    _ => None,
                };
                let rows = extent(r.values().first()?)?;
                let even = r.values().iter().all(|v| extent(v) == Some(rows));
                let (names, columns) = (strings(r.names()), r.values().len());
                even.then_some(Self { column_names: names, rows, columns, parts: TableStorage::Columns(r.values()) })
            }
            _ => None,
        }
    }

    /// Formats a cell as Iverson writes the number.
    pub(super) fn format_cell(&self, row: usize, column: usize) -> String {
        let value = match &self.parts {
            TableStorage::Single(Value::Array(a)) => a.element(row * self.columns + column),
            TableStorage::Single(value) => Some((*value).clone()),
            TableStorage::Columns(columns) => columns.get(column).and_then(|c| c.as_array()?.element(row)),
            TableStorage::Rows(rows) => rows.element(row).and_then(|r| row_parts(&r)?.get(column).cloned()),
        };
        value.map(|v| print::to_short_text(&v)).unwrap_or_default()
    }
}

/// Returns the reason if a record is no table only because its columns differ in length.
fn uneven_columns(value: &Value) -> Option<String> {
    let Value::Record(record) = value else { return None };
    let mut lengths = Vec::new();
    for (name, value) in record.names().iter().zip(record.values()) {
        let column = value.as_array().filter(|a| a.is_of_scalars() && a.dims().len() == 1)?;
        lengths.push((name, column.count()));
    }
    let (first, length) = lengths.first()?;
    let (other, differs) = lengths.iter().find(|(_, n)| n != length)?;
    Some(format!("the columns differ in length: `{first}` has {length}, `{other}` has {differs}"))
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::F64(_) | Value::F32(_) | Value::I64(_) | Value::Bool(_))
}

fn row_parts(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Record(r) => Some(r.values()),
        Value::Tuple(t) => Some(t.values()),
        _ => None,
    }
}

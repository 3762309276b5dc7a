//! **Writing tables** as CSV, with commas.

use lang_core::runtime::{Refusal, Value};

use super::super::interrupt_refusal;
use super::super::table_view::TableView;
use crate::interrupt;

/// Formats a table as CSV.
pub(in crate::data) fn write(value: &Value) -> Result<Vec<u8>, Refusal> {
    let sheet = TableView::from_value(value)?;
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        for (k, cell) in cells.enumerate() {
            if k > 0 {
                out.push(',');
            }
            if cell.contains(|c: char| matches!(c, '"' | ',') || c.is_control()) {
                out.push('"');
                out.push_str(&cell.replace('"', "\"\""));
                out.push('"');
            } else {
                out.push_str(&cell);
            }
        }
        out.push('\n');
    };
    if let Some(names) = &sheet.column_names {
        line(&mut names.iter().cloned());
    }
    for row in 0..sheet.rows {
        if interrupt::is_requested() {
            return Err(interrupt_refusal());
        }
        line(&mut (0..sheet.columns).map(|column| sheet.format_cell(row, column)));
    }
    Ok(out.into_bytes())
}

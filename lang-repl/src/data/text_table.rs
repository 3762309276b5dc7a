//! **Text tables** (`.txt`): right-aligned columns under their names. The format is only written,
//! because it is for people to read. [`super`] calls [`write()`] if `save` writes such a file.

use lang_core::runtime::{Refusal, Value};

use super::interrupt_refusal;
use super::table_view::TableView;
use crate::interrupt;

/// Formats a table as aligned text.
pub(super) fn write(value: &Value) -> Result<Vec<u8>, Refusal> {
    let table = TableView::from_value(value)?;
    let mut widths = vec![0; table.columns];
    let mut widen = |column: usize, cell: &str| {
        if let Some(width) = widths.get_mut(column) {
            *width = cell.chars().count().max(*width);
        }
    };
    if let Some(names) = &table.column_names {
        names.iter().enumerate().for_each(|(column, name)| widen(column, name));
    }
    for row in 0..table.rows {
        if interrupt::is_requested() {
            return Err(interrupt_refusal());
        }
        (0..table.columns).for_each(|column| widen(column, &table.format_cell(row, column)));
    }
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        for (k, (cell, width)) in cells.zip(&widths).enumerate() {
            let gap = if k > 0 { "  " } else { "" };
            let pad = width.saturating_sub(cell.chars().count());
            out.push_str(gap);
            out.extend(std::iter::repeat_n(' ', pad));
            out.push_str(&cell);
        }
        out.push('\n');
    };
    if let Some(names) = &table.column_names {
        line(&mut names.iter().cloned());
    }
    for row in 0..table.rows {
        if interrupt::is_requested() {
            return Err(interrupt_refusal());
        }
        line(&mut (0..table.columns).map(|column| table.format_cell(row, column)));
    }
    Ok(out.into_bytes())
}

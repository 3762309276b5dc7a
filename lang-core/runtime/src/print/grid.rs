//! **Table of cells.** Formats the elements of an array as aligned texts, for [`super::layout`].

use super::super::array::{Array, Store};
use super::super::dual::primal;
use super::super::value::Value;
use super::layout::Layout;
use super::number::{self, ColumnWidths, TableCell};
use super::{ValueNotation, print_value};

/// The shown elements in row-major order, and the widths of their columns.
#[derive(Default)]
pub(super) struct CellGrid {
    cells: Vec<TableCell>,
    columns: Vec<ColumnWidths>,
    /// The number of cells per row.
    width: usize,
    /// The first cell of the next row.
    next_cell: usize,
    has_truths: bool,
}

impl CellGrid {
    /// Formats an array of which `ends` parts per axis end are shown. Returns `None` if it has no
    /// elements, or one does not fit in `room` characters. An elided array also loses columns that
    /// do not fit.
    pub(super) fn from_array(array: &Array, ends: Option<usize>, layout: &Layout, room: usize) -> Option<Self> {
        let mut across = ends;
        loop {
            let grid = Self::with_ends(array, ends, across, layout, room)?;
            let wide: usize = grid.columns.iter().map(|c| c.width() + 2).sum();
            match across {
                Some(n) if n > 1 && wide > room + 2 && array.dims().len() > 1 => across = Some(n - 1),
                // If rows must be broken, all cells share one column width.
                _ if wide > room + 2 => {
                    let columns = vec![grid.common_column(); grid.width];
                    return Some(Self { columns, ..grid });
                }
                _ => return Some(grid),
            }
        }
    }

    fn with_ends(
        array: &Array,
        ends: Option<usize>,
        across: Option<usize>,
        layout: &Layout,
        room: usize,
    ) -> Option<Self> {
        let (last, leading) = array.dims().split_last()?;
        if array.count() == 0 {
            return None;
        }
        let shown = shown_positions(*last, across);
        let leading: Vec<Vec<usize>> =
            leading.iter().map(|n| shown_positions(*n, ends).into_iter().flatten().collect()).collect();
        let mut grid =
            Self { width: shown.len(), has_truths: matches!(array.store(), Store::Bool(_)), ..Self::default() };
        grid.columns.resize(shown.len(), ColumnWidths::default());
        let mut index = vec![0usize; leading.len()];
        loop {
            let row = index
                .iter()
                .zip(&leading)
                .zip(array.dims())
                .try_fold(0usize, |at, ((i, shown), n)| at.checked_mul(*n)?.checked_add(*shown.get(*i)?))?;
            for (position, column) in shown.iter().zip(&mut grid.columns) {
                let cell = match position {
                    Some(at) => format_cell(array, row * last + at, layout, room)?,
                    None => TableCell::right("…".to_owned()),
                };
                column.widen_for(&cell);
                grid.cells.push(cell);
            }
            // The next row; the last leading axis varies fastest.
            let mut axis = leading.len();
            loop {
                let Some(outer) = axis.checked_sub(1) else { return Some(grid) };
                axis = outer;
                let (Some(i), Some(shown)) = (index.get_mut(axis), leading.get(axis)) else { return None };
                *i += 1;
                if *i < shown.len() {
                    break;
                }
                *i = 0;
            }
        }
    }

    /// Formats texts, elided like the elements of a vector.
    pub(super) fn from_texts(count: usize, layout: &Layout, texts: &mut dyn Iterator<Item = String>) -> Self {
        let mut grid = Self::default();
        let mut seen = 0;
        for position in shown_positions(count, layout.shown_ends(&[count])) {
            grid.cells.push(match position {
                Some(at) => {
                    let text = texts.nth(at - seen).unwrap_or_default();
                    seen = at + 1;
                    TableCell::left(text)
                }
                None => TableCell::left("…".to_owned()),
            });
        }
        grid
    }

    pub(super) fn cells(&self) -> &[TableCell] {
        &self.cells
    }

    pub(super) fn columns(&self) -> &[ColumnWidths] {
        &self.columns
    }

    /// Returns one column that contains all cells.
    pub(super) fn common_column(&self) -> ColumnWidths {
        let mut column = ColumnWidths::default();
        self.cells.iter().for_each(|cell| column.widen_for(cell));
        column
    }

    /// Moves out the cells of the next row.
    pub(super) fn next_row(&mut self) -> Vec<TableCell> {
        let row = self.cells.get_mut(self.next_cell..self.next_cell + self.width).unwrap_or_default();
        self.next_cell += self.width;
        row.iter_mut().map(|cell| std::mem::replace(cell, TableCell::left(String::new()))).collect()
    }

    /// Whether each row is a single truth value, which in brackets would parse as an Iverson
    /// bracket.
    pub(super) fn is_lone_truth(&self) -> bool {
        self.has_truths && self.width == 1
    }
}

/// Returns the positions of an axis to show. `None` represents the elided ones.
fn shown_positions(n: usize, ends: Option<usize>) -> Vec<Option<usize>> {
    match ends {
        Some(ends) if n > 2 * ends + 1 => (0..ends).map(Some).chain([None]).chain((n - ends..n).map(Some)).collect(),
        _ => (0..n).map(Some).collect(),
    }
}

/// Formats an element, if it fits in a line.
fn format_cell(array: &Array, at: usize, layout: &Layout, room: usize) -> Option<TableCell> {
    let digits = layout.digits.for_element();
    let value = array.element(at)?;
    let whole = || Some(TableCell::left(print_value(&value, ValueNotation::Line(*layout), room)?));
    format_scalar(primal(&value), digits).or_else(whole)
}

fn format_scalar(value: &Value, digits: Option<usize>) -> Option<TableCell> {
    match value {
        Value::F64(x) => Some(TableCell::real(number::format_real(*x, digits))),
        Value::F32(x) => Some(TableCell::real(number::format_real(*x, digits))),
        Value::I64(i) => Some(TableCell::right(i.to_string())),
        Value::Bool(b) => Some(TableCell::right(b.to_string())),
        _ => None,
    }
}

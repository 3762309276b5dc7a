//! The elements of an array as texts that can stand below one another.

use super::super::array::{Array, Store};
use super::super::dual::primal;
use super::super::value::Value;
use super::layout::Layout;
use super::number::{self, Cell, Column};
use super::{Notation, write};

/// The elements that are shown, rows one after another, and the widths of their columns.
#[derive(Default)]
pub(super) struct Grid {
    cells: Vec<Cell>,
    columns: Vec<Column>,
    /// How many cells a row has.
    width: usize,
    /// Where the next row begins.
    next: usize,
    truths: bool,
}

impl Grid {
    /// Of an array of which so much is shown, if it has elements and each of them fits in a line of
    /// this width. Where the middle is left out anyway, so are columns that do not fit.
    pub(super) fn of(array: &Array, ends: Option<usize>, layout: &Layout, room: usize) -> Option<Self> {
        let mut across = ends;
        loop {
            let grid = Self::with_ends(array, ends, across, layout, room)?;
            let wide: usize = grid.columns.iter().map(|c| c.width() + 2).sum();
            match across {
                Some(n) if n > 1 && wide > room + 2 && array.dims().len() > 1 => across = Some(n - 1),
                // Rows that have to be broken have all their cells below one another.
                _ if wide > room + 2 => {
                    let columns = vec![grid.one_column(); grid.width];
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
        let shown = positions(*last, across);
        let leading: Vec<Vec<usize>> =
            leading.iter().map(|n| positions(*n, ends).into_iter().flatten().collect()).collect();
        let mut grid = Self { width: shown.len(), truths: matches!(array.store(), Store::Bool(_)), ..Self::default() };
        grid.columns.resize(shown.len(), Column::default());
        let mut index = vec![0usize; leading.len()];
        loop {
            let row = index
                .iter()
                .zip(&leading)
                .zip(array.dims())
                .try_fold(0usize, |at, ((i, shown), n)| at.checked_mul(*n)?.checked_add(*shown.get(*i)?))?;
            for (position, column) in shown.iter().zip(&mut grid.columns) {
                let cell = match position {
                    Some(at) => cell(array, row * last + at, layout, room)?,
                    None => Cell::right("…".to_owned()),
                };
                column.see(&cell);
                grid.cells.push(cell);
            }
            // The next row, last axis fastest.
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

    /// Of texts, of which so many are shown as of an array.
    pub(super) fn of_texts(count: usize, layout: &Layout, texts: &mut dyn Iterator<Item = String>) -> Self {
        let mut grid = Self::default();
        let mut seen = 0;
        for position in positions(count, layout.ends(&[count])) {
            grid.cells.push(match position {
                Some(at) => {
                    let text = texts.nth(at - seen).unwrap_or_default();
                    seen = at + 1;
                    Cell::left(text)
                }
                None => Cell::left("…".to_owned()),
            });
        }
        grid
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// All cells below one another.
    pub(super) fn one_column(&self) -> Column {
        let mut column = Column::default();
        self.cells.iter().for_each(|cell| column.see(cell));
        column
    }

    /// The cells of the next row.
    pub(super) fn next_row(&mut self) -> Vec<Cell> {
        let row = self.cells.get_mut(self.next..self.next + self.width).unwrap_or_default();
        self.next += self.width;
        row.iter_mut().map(|cell| std::mem::replace(cell, Cell::left(String::new()))).collect()
    }

    /// One truth value in brackets would read as an Iverson bracket.
    pub(super) fn lone_truth(&self) -> bool {
        self.truths && self.width == 1
    }
}

/// The positions of an axis that are shown; `None` stands for those that are not.
fn positions(n: usize, ends: Option<usize>) -> Vec<Option<usize>> {
    match ends {
        Some(ends) if n > 2 * ends + 1 => (0..ends).map(Some).chain([None]).chain((n - ends..n).map(Some)).collect(),
        _ => (0..n).map(Some).collect(),
    }
}

/// An element, if it fits in a line.
fn cell(array: &Array, at: usize, layout: &Layout, room: usize) -> Option<Cell> {
    let digits = layout.digits.element();
    let value = array.element(at)?;
    let whole = || Some(Cell::left(write(&value, Notation::Line(*layout), room)?));
    scalar(primal(&value), digits).or_else(whole)
}

fn scalar(value: &Value, digits: Option<usize>) -> Option<Cell> {
    match value {
        Value::F64(x) => Some(Cell::real(number::real(*x, digits))),
        Value::F32(x) => Some(Cell::real(number::real(*x, digits))),
        Value::I64(i) => Some(Cell::right(i.to_string())),
        Value::Bool(b) => Some(Cell::right(b.to_string())),
        _ => None,
    }
}

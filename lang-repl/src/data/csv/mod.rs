//! **Tables**: CSV as in RFC 4180, with the separators, decimal commas, comments and words for
//! missing values that occur in practice.
//!
//! Reading only finds the rows and counts their cells. Cells are parsed once a type is known, and
//! only in the columns that it names. So unused columns cost little, and an integer is never
//! converted through a real.

mod cell;
mod options;
mod rows;
mod write;

use std::borrow::Cow;

use rows::{CellEnd, RowReader};

use super::field_names;
pub(crate) use cell::{CellRejection, ParseCell, integer_is_rounded};
pub(crate) use options::TableOptions;
pub(super) use write::write;

/// The most columns of a table.
const MAX_COLUMNS: usize = 100_000;

/// A table whose rows have equal length.
#[derive(Debug)]
pub(crate) struct DataTable {
    text: String,
    options: TableOptions,
    pub(crate) separator: char,
    /// The kind of the first row.
    pub(crate) first_row: FirstRow,
    pub(crate) columns: Vec<DataColumn>,
    /// The starts of the rows, including the first one.
    rows: Vec<RowStart>,
}

/// The kind of the first row of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstRow {
    /// Its cells are data.
    Data,
    /// Its cells are names.
    Header,
    /// It has numbers and other texts, so it may be either.
    Ambiguous,
}

/// A column.
#[derive(Debug)]
pub(crate) struct DataColumn {
    /// The field name of the column; empty without a header.
    pub(crate) name: String,
    /// The name in the header.
    pub(crate) header: String,
}

/// The first byte of a row, and its line, from 1.
#[derive(Clone, Copy, Debug)]
struct RowStart {
    offset: usize,
    line: u32,
}

/// The kind of a column or a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CellKind {
    /// No value.
    Missing,
    Bool,
    I64,
    F64,
    Text,
}

/// Reads a table, and checks that its rows have equal length.
pub(super) fn read(text: String, options: &TableOptions) -> Result<DataTable, String> {
    let comment = options.comment.as_deref();
    let mut reader = RowReader { text: &text, offset: 0, line: 1, separator: ',', comment };
    if !reader.next_row() {
        return Err("the file is empty".to_owned());
    }
    let line = text.get(reader.offset..).unwrap_or_default();
    reader.separator = options.separator_for(line.split(['\n', '\r']).next().unwrap_or_default());
    let separator = reader.separator;
    let mut first: Vec<Cow<'_, str>> = Vec::new();
    let mut rows = Vec::new();
    loop {
        let row = RowStart { offset: reader.offset, line: reader.line };
        let mut width = 0usize;
        loop {
            if width >= MAX_COLUMNS {
                let line = row.line;
                return Err(format!("line {line} has more than {MAX_COLUMNS} cells; save such a wide matrix as .npy"));
            }
            let (cell, end) = reader.read_cell()?;
            width += 1;
            if rows.is_empty() {
                first.push(cell);
            }
            if end == CellEnd::Row {
                break;
            }
        }
        if width != first.len() {
            return Err(ragged_row_error(row.line, width, first.len(), separator, &text));
        }
        rows.push(row);
        if u32::try_from(rows.len()).is_err() {
            return Err("the file has too many rows".to_owned());
        }
        if !reader.next_row() {
            break;
        }
    }
    let (kind, columns) = first_row_columns(&first, options);
    let options = options.clone();
    Ok(DataTable { options, separator, first_row: kind, columns, rows, text })
}

fn ragged_row_error(line: u32, found: usize, wanted: usize, separator: char, text: &str) -> String {
    let mut message = format!(
        "line {line} has {}, but the first line has {wanted}",
        lang_core::base::count_with_noun(found, "cell", "cells")
    );
    let first = text.lines().next().unwrap_or_default();
    let others = [';', '\t', ','].into_iter().filter(|c| *c != separator);
    if let Some(other) = others.into_iter().find(|c| first.contains(*c)) {
        message = format!(
            "{message}; the separator is {separator:?} here, and `load` has the option `separator: {:?}`",
            other.to_string()
        );
    }
    message
}

/// Returns the kind of the first row, and the columns.
fn first_row_columns(first: &[Cow<'_, str>], options: &TableOptions) -> (FirstRow, Vec<DataColumn>) {
    let texts = first.iter().filter(|cell| is_text_cell(cell, options)).count();
    let values = first.iter().filter(|cell| !is_text_cell(cell, options) && !options.is_missing(cell.trim())).count();
    let kind = match (options.header, texts, values) {
        (Some(true), ..) => FirstRow::Header,
        (Some(false), ..) | (None, 0, _) => FirstRow::Data,
        (None, _, 0) => FirstRow::Header,
        (None, ..) => FirstRow::Ambiguous,
    };
    if kind == FirstRow::Data {
        return (kind, first.iter().map(|_| DataColumn { name: String::new(), header: String::new() }).collect());
    }
    let header: Vec<&str> = first.iter().map(|cell| cell.trim()).collect();
    let columns = field_names::unique_field_names(&header, "column").into_iter().zip(&header);
    (kind, columns.map(|(name, header)| DataColumn { name, header: (*header).to_owned() }).collect())
}

/// Whether a cell is neither a number, nor a boolean, nor missing.
fn is_text_cell(cell: &str, options: &TableOptions) -> bool {
    cell::cell_kind(cell, options) == CellKind::Text
}

/// Whether a name reads as text, so that it makes its row a header.
pub(super) fn is_header_name(name: &str) -> bool {
    is_text_cell(name, &TableOptions::default())
}

impl DataTable {
    /// Returns the number of data rows; `header` is whether the first row is a header.
    pub(crate) fn row_count(&self, header: bool) -> usize {
        self.rows.len() - usize::from(header)
    }

    /// Returns the line in which a data row begins.
    pub(crate) fn line_number(&self, header: bool, row: usize) -> u32 {
        self.rows.get(row + usize::from(header)).map_or(0, |row| row.line)
    }

    /// Returns the options with which the table was read.
    pub(crate) fn options(&self) -> &TableOptions {
        &self.options
    }

    /// Visits the cells of some columns, row by row. `wanted` must be ascending. The callback
    /// receives the row, the position in `wanted`, and the trimmed text.
    pub(crate) fn visit_cells<E>(
        &self,
        header: bool,
        wanted: &[usize],
        cell: &mut dyn FnMut(usize, usize, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let comment = self.options.comment.as_deref();
        let mut reader = RowReader { text: &self.text, offset: 0, line: 1, separator: self.separator, comment };
        for (row, begin) in self.rows.iter().skip(usize::from(header)).enumerate() {
            (reader.offset, reader.line) = (begin.offset, begin.line);
            let mut column = 0;
            for (position, want) in wanted.iter().enumerate() {
                // All cells were read without an error before.
                while let Ok((text, end)) = reader.read_cell() {
                    column += 1;
                    if column > *want {
                        cell(row, position, text.trim())?;
                        break;
                    }
                    if end == CellEnd::Row {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the kind of every column, and whether it has missing values.
    pub(crate) fn column_kinds(&self, header: bool) -> Vec<(CellKind, bool)> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let mut kinds = vec![(CellKind::Missing, false); all.len()];
        let visited: Result<(), std::convert::Infallible> = self.visit_cells(header, &all, &mut |_, column, text| {
            let Some((kind, missing)) = kinds.get_mut(column) else { return Ok(()) };
            *missing |= self.options.is_missing(text);
            *kind = match (*kind, cell::cell_kind(text, &self.options)) {
                (kind, CellKind::Missing) => kind,
                (CellKind::Missing, kind) => kind,
                (CellKind::I64 | CellKind::F64, CellKind::F64) | (CellKind::F64, CellKind::I64) => CellKind::F64,
                (kind, found) if kind == found => kind,
                _ => CellKind::Text,
            };
            Ok(())
        });
        let Ok(()) = visited;
        kinds
    }
}

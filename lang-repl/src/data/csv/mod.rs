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

use rows::{End, Rows};

use super::names;
pub(crate) use cell::{Number, Refused, integer_is_rounded};
pub(crate) use options::Options;
pub(super) use write::write;

/// The most columns of a table.
const MAX_COLUMNS: usize = 100_000;

/// A table whose rows have equal length.
#[derive(Debug)]
pub(crate) struct Table {
    text: String,
    options: Options,
    pub(crate) separator: char,
    /// The kind of the first row.
    pub(crate) first: First,
    pub(crate) columns: Vec<Column>,
    /// The starts of the rows, including the first one.
    rows: Vec<Row>,
}

/// The kind of the first row of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum First {
    /// Its cells are data.
    Data,
    /// Its cells are names.
    Header,
    /// It has numbers and other texts, so it may be either.
    Either,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    /// The field name of the column; empty without a header.
    pub(crate) name: String,
    /// The name in the header.
    pub(crate) header: String,
}

/// The first byte of a row, and its line, from 1.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: usize,
    line: u32,
}

/// The kind of a column or a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// No value.
    Nothing,
    Bool,
    I64,
    F64,
    Text,
}

/// Reads a table, and checks that its rows have equal length.
pub(super) fn read(text: String, options: &Options) -> Result<Table, String> {
    let comment = options.comment.as_deref();
    let mut reader = Rows { text: &text, at: 0, line: 1, separator: ',', comment };
    if !reader.next_row() {
        return Err("it is empty".to_owned());
    }
    let line = text.get(reader.at..).unwrap_or_default();
    reader.separator = options.separator_of(line.split(['\n', '\r']).next().unwrap_or_default());
    let separator = reader.separator;
    let mut first: Vec<Cow<'_, str>> = Vec::new();
    let mut rows = Vec::new();
    loop {
        let row = Row { at: reader.at, line: reader.line };
        let mut width = 0usize;
        loop {
            if width >= MAX_COLUMNS {
                let line = row.line;
                return Err(format!("line {line} has more than {MAX_COLUMNS} cells; write so wide a matrix as .npy"));
            }
            let (cell, end) = reader.cell()?;
            width += 1;
            if rows.is_empty() {
                first.push(cell);
            }
            if end == End::Row {
                break;
            }
        }
        if width != first.len() {
            return Err(ragged(row.line, width, first.len(), separator, &text));
        }
        rows.push(row);
        if u32::try_from(rows.len()).is_err() {
            return Err("it has too many rows".to_owned());
        }
        if !reader.next_row() {
            break;
        }
    }
    let (kind, columns) = columns(&first, options);
    let options = options.clone();
    Ok(Table { options, separator, first: kind, columns, rows, text })
}

fn ragged(line: u32, found: usize, wanted: usize, separator: char, text: &str) -> String {
    let cells = |n: usize| if n == 1 { "1 cell".to_owned() } else { format!("{n} cells") };
    let mut message = format!("line {line} has {}, and the first has {wanted}", cells(found));
    let first = text.lines().next().unwrap_or_default();
    let others = [';', '\t', ','].into_iter().filter(|c| *c != separator);
    if let Some(other) = others.into_iter().find(|c| first.contains(*c)) {
        message = format!(
            "{message}; cells are separated by {separator:?} here, and `load` has an option: `separator: {:?}`",
            other.to_string()
        );
    }
    message
}

/// Returns the kind of the first row, and the columns.
fn columns(first: &[Cow<'_, str>], options: &Options) -> (First, Vec<Column>) {
    let texts = first.iter().filter(|cell| is_text(cell, options)).count();
    let values = first.iter().filter(|cell| !is_text(cell, options) && !options.is_missing(cell.trim())).count();
    let kind = match (options.header, texts, values) {
        (Some(true), ..) => First::Header,
        (Some(false), ..) | (None, 0, _) => First::Data,
        (None, _, 0) => First::Header,
        (None, ..) => First::Either,
    };
    if kind == First::Data {
        return (kind, first.iter().map(|_| Column { name: String::new(), header: String::new() }).collect());
    }
    let header: Vec<&str> = first.iter().map(|cell| cell.trim()).collect();
    let columns = names::of(&header, "column").into_iter().zip(&header);
    (kind, columns.map(|(name, header)| Column { name, header: (*header).to_owned() }).collect())
}

/// Whether a cell is neither a number, nor a boolean, nor missing.
fn is_text(cell: &str, options: &Options) -> bool {
    cell::kind(cell, options) == Kind::Text
}

/// Whether a name reads as text, so that it makes its row a header.
pub(super) fn is_name(name: &str) -> bool {
    is_text(name, &Options::default())
}

impl Table {
    /// Returns the number of data rows; `header` is whether the first row is a header.
    pub(crate) fn height(&self, header: bool) -> usize {
        self.rows.len() - usize::from(header)
    }

    /// Returns the line in which a data row begins.
    pub(crate) fn line(&self, header: bool, row: usize) -> u32 {
        self.rows.get(row + usize::from(header)).map_or(0, |row| row.line)
    }

    /// Returns the options with which the table was read.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Visits the cells of some columns, row by row. `wanted` must be ascending. The callback
    /// receives the row, the position in `wanted`, and the trimmed text.
    pub(crate) fn visit<E>(
        &self,
        header: bool,
        wanted: &[usize],
        cell: &mut dyn FnMut(usize, usize, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let comment = self.options.comment.as_deref();
        let mut reader = Rows { text: &self.text, at: 0, line: 1, separator: self.separator, comment };
        for (row, begin) in self.rows.iter().skip(usize::from(header)).enumerate() {
            (reader.at, reader.line) = (begin.at, begin.line);
            let mut column = 0;
            for (position, want) in wanted.iter().enumerate() {
                // All cells were read without an error before.
                while let Ok((text, end)) = reader.cell() {
                    column += 1;
                    if column > *want {
                        cell(row, position, text.trim())?;
                        break;
                    }
                    if end == End::Row {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the kind of every column, and whether it has missing values.
    pub(crate) fn kinds(&self, header: bool) -> Vec<(Kind, bool)> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let mut kinds = vec![(Kind::Nothing, false); all.len()];
        let visited: Result<(), std::convert::Infallible> = self.visit(header, &all, &mut |_, column, text| {
            let Some((kind, missing)) = kinds.get_mut(column) else { return Ok(()) };
            *missing |= self.options.is_missing(text);
            *kind = match (*kind, cell::kind(text, &self.options)) {
                (kind, Kind::Nothing) => kind,
                (Kind::Nothing, kind) => kind,
                (Kind::I64 | Kind::F64, Kind::F64) | (Kind::F64, Kind::I64) => Kind::F64,
                (kind, found) if kind == found => kind,
                _ => Kind::Text,
            };
            Ok(())
        });
        let Ok(()) = visited;
        kinds
    }
}

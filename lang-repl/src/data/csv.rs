//! CSV as RFC 4180 has it: cells between commas, in quotes where they hold commas, quotes or ends of lines;
//! lines end in LF or CRLF; empty lines count for nothing. The kinds of columns are found from their cells.

use lang_core::interp::{Refusal, Value};

use super::Elements;
use super::names;
use super::sheet::Sheet;

/// More columns than this are no table.
const MAX_COLUMNS: usize = 100_000;

/// Cells that stand for a value that is not there.
const MISSING: [&str; 6] = ["", "NA", "N/A", "n/a", "null", "NULL"];

/// Columns of equal length.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) header: bool,
    pub(crate) columns: Vec<Column>,
    /// The line that each row begins in, from 1.
    pub(crate) lines: Vec<u32>,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    /// What a field is called that takes it; empty without a header.
    pub(crate) name: String,
    /// What the header calls it.
    pub(crate) header: String,
    pub(crate) cells: Cells,
    /// The rows where it has no value.
    pub(crate) missing: Vec<u32>,
}

/// The cells of a column.
#[derive(Debug)]
pub(crate) enum Cells {
    /// No row has a value.
    Nothing(usize),
    /// All are of one kind; those that are missing have any value.
    Typed(Elements),
    /// They are no numbers and no truth values, or of different kinds: the row and the text of the first that is
    /// not like those before it.
    Mixed(u32, String),
}

/// Reads a table. The first row is a header if one of its cells is text.
pub(super) fn read(text: &str) -> Result<Table, String> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut table = Table { header: false, columns: Vec::new(), lines: Vec::new() };
    let mut row = Vec::new();
    let mut first = true;
    while let Some(line) = reader.row(&mut row)? {
        if first {
            first = false;
            table.header = row.iter().any(|cell| is_text(cell));
            if table.header {
                let header: Vec<&str> = row.iter().map(|cell| cell.trim()).collect();
                let columns = names::of(&header, "column").into_iter().zip(&header);
                table.columns = columns.map(|(name, header)| Column::new(name, (*header).to_owned())).collect();
                continue;
            }
            table.columns = row.iter().map(|_| Column::new(String::new(), String::new())).collect();
        }
        if row.len() != table.columns.len() {
            let (found, wanted) = (row.len(), table.columns.len());
            let mut message = format!("line {line} has {}, and the first has {wanted}", cells(found));
            if row.iter().chain(table.columns.iter().map(|c| &c.header)).any(|cell| cell.contains([';', '\t'])) {
                message.push_str("; cells are to be separated by commas");
            }
            return Err(message);
        }
        let number = u32::try_from(table.lines.len()).map_err(|_| "it has too many rows".to_owned())?;
        table.lines.push(line);
        for (column, cell) in table.columns.iter_mut().zip(&row) {
            column.push(number, cell);
        }
    }
    if first { Err("it is empty".to_owned()) } else { Ok(table) }
}

fn cells(n: usize) -> String {
    if n == 1 { "1 cell".to_owned() } else { format!("{n} cells") }
}

/// What is left to be read, which begins in this line.
struct Reader<'a> {
    rest: &'a str,
    line: u32,
}

impl Reader<'_> {
    /// Reads the cells of the next row that is not empty; the line it begins in.
    fn row(&mut self, row: &mut Vec<String>) -> Result<Option<u32>, String> {
        row.clear();
        while let Some(after) = self.rest.strip_prefix('\n').or_else(|| self.rest.strip_prefix("\r\n")) {
            self.rest = after;
            self.line = self.line.saturating_add(1);
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        loop {
            if row.len() >= MAX_COLUMNS {
                return Err(format!("line {line} has more than {MAX_COLUMNS} cells; write so wide a matrix as .npy"));
            }
            row.push(self.cell()?);
            if let Some(after) = self.rest.strip_prefix(',') {
                self.rest = after;
                continue;
            }
            let end = self.rest.strip_prefix('\n').or_else(|| self.rest.strip_prefix("\r\n"));
            self.rest = end.unwrap_or_default();
            self.line = self.line.saturating_add(1);
            return Ok(Some(line));
        }
    }

    /// Reads a cell; a comma, the end of a line or of the text follows.
    fn cell(&mut self) -> Result<String, String> {
        let Some(mut rest) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
            let (cell, rest) = self.rest.split_at_checked(end).unwrap_or_default();
            // A carriage return belongs to the end of the line.
            let trimmed = match rest.starts_with(',') {
                true => cell,
                false => cell.strip_suffix('\r').unwrap_or(cell),
            };
            if trimmed.contains(['"', '\r', '\0']) {
                let what = if trimmed.contains('"') { "a quote" } else { "a control character" };
                return Err(format!("in line {} {what} stands inside a cell that is not quoted", self.line));
            }
            self.rest = rest;
            return Ok(trimmed.to_owned());
        };
        let opened = self.line;
        let mut cell = String::new();
        loop {
            let Some((before, after)) = rest.split_once('"') else {
                return Err(format!("the quote in line {opened} is not closed"));
            };
            cell.push_str(before);
            let lines = before.bytes().filter(|b| *b == b'\n').count();
            self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            match after.strip_prefix('"') {
                Some(after) => {
                    cell.push('"');
                    rest = after;
                }
                None if after.is_empty() || after.starts_with([',', '\n']) || after.starts_with("\r\n") => {
                    self.rest = after;
                    return Ok(cell);
                }
                None => return Err(format!("in line {} text follows a closed quote", self.line)),
            }
        }
    }
}

/// Does a cell make its row a header?
pub(super) fn is_text(cell: &str) -> bool {
    Cell::of(cell).is_none()
}

/// What a cell is.
#[derive(Clone, Copy)]
enum Cell {
    Missing,
    Int(i64),
    Real(f64),
    Bool(bool),
}

impl Cell {
    /// `None` for text.
    fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if MISSING.contains(&text) {
            return Some(Self::Missing);
        }
        match text {
            "true" | "True" | "TRUE" => return Some(Self::Bool(true)),
            "false" | "False" | "FALSE" => return Some(Self::Bool(false)),
            _ => {}
        }
        match text.parse() {
            Ok(n) => Some(Self::Int(n)),
            Err(_) => text.parse().ok().map(Self::Real),
        }
    }
}

fn has_digits(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

impl Column {
    fn new(name: String, header: String) -> Self {
        Self { name, header, cells: Cells::Nothing(0), missing: Vec::new() }
    }

    fn push(&mut self, row: u32, text: &str) {
        // A number that is too large is none: infinity is written as such.
        let fits = |cell: &Cell| !matches!(cell, Cell::Real(x) if x.is_infinite() && has_digits(text));
        let Some(cell) = Cell::of(text).filter(fits) else {
            if !matches!(self.cells, Cells::Mixed(..)) {
                self.cells = Cells::Mixed(row, text.chars().take(40).collect());
            }
            return;
        };
        if let Cells::Nothing(n) = self.cells {
            // Those before the first are missing.
            self.cells = match cell {
                Cell::Missing => Cells::Nothing(n + 1),
                Cell::Int(_) => Cells::Typed(Elements::I64(vec![0; n])),
                Cell::Real(_) => Cells::Typed(Elements::F64(vec![0.0; n])),
                Cell::Bool(_) => Cells::Typed(Elements::Bool(vec![false; n])),
            };
        }
        if matches!(cell, Cell::Missing) {
            self.missing.push(row);
        }
        match (&mut self.cells, cell) {
            (Cells::Mixed(..) | Cells::Nothing(_), _) => {}
            (Cells::Typed(Elements::I64(v)), Cell::Int(n)) => v.push(n),
            (Cells::Typed(Elements::I64(v)), Cell::Missing) => v.push(0),
            (Cells::Typed(Elements::F64(v)), Cell::Real(x)) => v.push(x),
            #[expect(clippy::cast_precision_loss, reason = "the column is one of reals, and this the nearest one")]
            (Cells::Typed(Elements::F64(v)), Cell::Int(n)) => v.push(n as f64),
            (Cells::Typed(Elements::F64(v)), Cell::Missing) => v.push(0.0),
            (Cells::Typed(Elements::Bool(v)), Cell::Bool(b)) => v.push(b),
            (Cells::Typed(Elements::Bool(v)), Cell::Missing) => v.push(false),
            (Cells::Typed(Elements::I64(v)), Cell::Real(x)) => {
                #[expect(clippy::cast_precision_loss, reason = "the column is one of reals, and this the nearest one")]
                let mut reals: Vec<f64> = v.iter().map(|n| *n as f64).collect();
                reals.push(x);
                self.cells = Cells::Typed(Elements::F64(reals));
            }
            (Cells::Typed(_), _) => self.cells = Cells::Mixed(row, text.chars().take(40).collect()),
        }
    }
}

/// A table as CSV.
pub(super) fn write(value: &Value) -> Result<Vec<u8>, Refusal> {
    let sheet = Sheet::table(value)?;
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
    if let Some(names) = &sheet.names {
        line(&mut names.iter().cloned());
    }
    for row in 0..sheet.rows {
        line(&mut (0..sheet.columns).map(|column| sheet.cell(row, column)));
    }
    Ok(out.into_bytes())
}

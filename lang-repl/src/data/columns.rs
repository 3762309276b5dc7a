//! **Columns of tables as values.** A column is parsed as the scalar type that its field has.
//! Missing values are NaN in columns of reals, with a warning, and errors in others.

use lang_core::base::Name;
use lang_core::predicate::Poly;
use lang_core::runtime::{Store, Value};
use lang_core::types::ty::{Scalar, Type};

use super::csv::{CellRejection, DataTable, FirstRow, ParseCell, integer_is_rounded};
use super::element_count;
use super::fit_file::{
    NamedPart, display_name, finished_datum, fit_shape, missing_part, scalar_and_dims, warn_renamed, with_help,
};
use crate::fit::{AccessPath, Datum, FitResult, Fitter};
use crate::interrupt;
use crate::problem::Problem;

/// The number of cells read between two checks for an interrupt.
const INTERRUPT_INTERVAL: usize = 1 << 12;

/// Fits a table to a type.
pub(super) fn fit_table(
    fitter: &mut Fitter<'_>,
    table: &DataTable,
    ty: &Type,
    access: &AccessPath,
) -> FitResult<Datum> {
    let width = table.columns.len();
    match ty {
        Type::Record(fields) => fit_record(fitter, table, fields, access),
        Type::Array(extent, element) => match element.as_ref() {
            Type::Record(fields) => {
                let columns = columns_by_name(fitter, table, fields, access)?;
                let names: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
                let types: Vec<&Type> = fields.iter().map(|(_, ty)| ty).collect();
                let make_record = |values: Vec<Value>| Value::record(names.iter().cloned().zip(values).collect());
                fit_rows(fitter, table, true, extent, &columns, &types, access, &make_record)
            }
            Type::Tuple(types) if types.len() == width => {
                let header = has_header(fitter, table, access)?;
                let columns: Vec<usize> = (0..width).collect();
                let types: Vec<&Type> = types.iter().collect();
                fit_rows(fitter, table, header, extent, &columns, &types, access, &Value::tuple)
            }
            _ => fit_matrix(fitter, table, ty, access),
        },
        _ => fit_matrix(fitter, table, ty, access),
    }
}

fn fit_record(
    fitter: &mut Fitter<'_>,
    table: &DataTable,
    fields: &[(Name, Type)],
    access: &AccessPath,
) -> FitResult<Datum> {
    let columns = columns_by_name(fitter, table, fields, access)?;
    let rows = table.row_count(true);
    let (mut scalars, mut shapes, mut accesses) = (Vec::new(), Vec::new(), Vec::new());
    for (position, (name, ty)) in fields.iter().enumerate() {
        let access = access.enter_part(position, name);
        let (scalar, dims) = scalar_and_dims(fitter, ty, &access, "a column")?;
        let found = match dims.len() {
            1 => vec![rows],
            0 if rows == 1 => Vec::new(),
            _ => {
                let message = format!("{} is a column of length {rows}, not of type `{ty}`", access.value_phrase());
                return Err(fitter.content_error(message));
            }
        };
        fit_shape(fitter, &dims, &found, &access)?;
        scalars.push(scalar);
        shapes.push(found);
        accesses.push(access);
    }
    let stores = parse_columns(fitter, table, true, &columns, &scalars, &accesses)?;
    let parts = stores.into_iter().zip(shapes).zip(&accesses);
    Ok(Datum::Tuple(
        parts
            .map(|((store, found), access)| finished_datum(fitter, &found, store, access))
            .collect::<FitResult<_>>()?,
    ))
}

/// Returns the positions of the columns that the fields name.
fn columns_by_name(
    fitter: &mut Fitter<'_>,
    table: &DataTable,
    fields: &[(Name, Type)],
    access: &AccessPath,
) -> FitResult<Vec<usize>> {
    if table.first_row == FirstRow::Data {
        let problem =
            fitter.content_error(format!("{} has no header, so its columns have no names", access.value_phrase()));
        return Err(with_help(problem, "name them in the first line, or read a matrix, `[?n, ?m]f64`"));
    }
    let mut columns = Vec::new();
    for (name, _) in fields {
        let mut named = table.columns.iter().enumerate().filter(|(_, c)| c.name == name.as_str());
        match (named.next(), named.next()) {
            (Some((column, _)), None) => columns.push(column),
            (Some(_), Some(_)) => {
                return Err(fitter.content_error(format!("{} has several columns `{name}`", access.value_phrase())));
            }
            _ => {
                return Err(missing_part(
                    fitter,
                    "column",
                    name,
                    table.columns.iter().map(|c| c.name.as_str()),
                    access,
                ));
            }
        }
    }
    let renamed = columns.iter().filter_map(|at| table.columns.get(*at));
    let renamed: Vec<(&str, &str)> = renamed.map(|c| (c.header.as_str(), c.name.as_str())).collect();
    warn_renamed(fitter, NamedPart::Column, &renamed, access);
    Ok(columns)
}

/// Whether the first row is a header, for a type whose fields do not name the columns.
fn has_header(fitter: &Fitter<'_>, table: &DataTable, access: &AccessPath) -> FitResult<bool> {
    match table.first_row {
        FirstRow::Data => Ok(false),
        FirstRow::Header => Ok(true),
        FirstRow::Ambiguous => {
            let text = table.columns.iter().map(|c| c.header.as_str()).find(|text| super::csv::is_header_name(text));
            let message = format!(
                "the first line of {} has numbers and the text {:?}, so it may be a header or data",
                access.value_phrase(),
                display_name(text.unwrap_or_default())
            );
            let advice = "use `load(…, header: true)` to skip the line, or `load(…, header: false)` to read it";
            Err(with_help(fitter.content_error(message), advice))
        }
    }
}

/// Fits rows to an array of records or tuples.
#[expect(clippy::too_many_arguments, reason = "records and tuples differ in all of them")]
fn fit_rows(
    fitter: &mut Fitter<'_>,
    table: &DataTable,
    header: bool,
    extent: &Poly,
    columns: &[usize],
    types: &[&Type],
    access: &AccessPath,
    make_row: &dyn Fn(Vec<Value>) -> Value,
) -> FitResult<Datum> {
    let rows = table.row_count(header);
    fit_shape(fitter, &[extent], &[rows], access)?;
    let scalar = |ty: &&Type| match ty {
        Type::Scalar(scalar) => Ok(*scalar),
        _ => Err(fitter.content_error(format!("a cell of {} cannot have type `{ty}`", access.value_phrase()))),
    };
    let scalars = types.iter().map(scalar).collect::<FitResult<Vec<_>>>()?;
    let accesses = vec![access.clone(); columns.len()];
    let stores = parse_columns(fitter, table, header, columns, &scalars, &accesses)?;
    let stores: Vec<Option<Value>> = stores.into_iter().map(|store| Value::array(&[rows], store)).collect();
    let element = |row: usize| {
        let part = |store: &Option<Value>| store.as_ref()?.as_array()?.element(row);
        make_row(stores.iter().filter_map(part).collect())
    };
    let elements: Vec<Value> = (0..rows).map(element).collect();
    finished_datum(fitter, &[rows], elements.into(), access)
}

/// Fits the whole table to an array of numbers, or to a number.
fn fit_matrix(fitter: &mut Fitter<'_>, table: &DataTable, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
    let (scalar, dims) = scalar_and_dims(fitter, ty, access, "a table")?;
    let header = has_header(fitter, table, access)?;
    let (rows, width) = (table.row_count(header), table.columns.len());
    let found = match dims.len() {
        2 => vec![rows, width],
        1 if width == 1 => vec![rows],
        1 if rows == 1 => vec![width],
        0 if rows == 1 && width == 1 => Vec::new(),
        _ => {
            let message = format!("{} is a table of {rows} by {width}, not of type `{ty}`", access.value_phrase());
            return Err(fitter.content_error(message));
        }
    };
    fit_shape(fitter, &dims, &found, access)?;
    let cells =
        element_count(&found).ok_or_else(|| fitter.content_error(format!("{} is too large", access.value_phrase())))?;
    let columns: Vec<usize> = (0..width).collect();
    let mut notes = ReadNotes::new(width);
    let mut store = empty_store(scalar, cells);
    let read = table.visit_cells(header, &columns, &mut |row, column, text| {
        notes.push_cell(&mut store, text, table, row, column).map_err(|why| (row, column, text.to_owned(), why))
    });
    let accesses = vec![access.clone(); width];
    notes.report(fitter, table, header, &columns, &accesses, read, &vec![scalar; width])?;
    finished_datum(fitter, &found, store, access)
}

/// Parses some columns, each as elements of its scalar type.
fn parse_columns(
    fitter: &mut Fitter<'_>,
    table: &DataTable,
    header: bool,
    columns: &[usize],
    scalars: &[Scalar],
    accesses: &[AccessPath],
) -> FitResult<Vec<Store>> {
    // Cells are visited in the order of the file.
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| columns.get(*at));
    let sorted: Vec<usize> = order.iter().filter_map(|at| columns.get(*at).copied()).collect();
    let rows = table.row_count(header);
    let mut stores: Vec<Store> = scalars.iter().map(|scalar| empty_store(*scalar, rows)).collect();
    let mut notes = ReadNotes::new(columns.len());
    let read = table.visit_cells(header, &sorted, &mut |row, position, text| {
        let at = order.get(position).copied().unwrap_or_default();
        let Some(store) = stores.get_mut(at) else { return Ok(()) };
        notes.push_cell(store, text, table, row, at).map_err(|why| (row, at, text.to_owned(), why))
    });
    notes.report(fitter, table, header, columns, accesses, read, scalars)?;
    Ok(stores)
}

fn empty_store(scalar: Scalar, capacity: usize) -> Store {
    match scalar {
        Scalar::F64 => Vec::<f64>::with_capacity(capacity).into(),
        Scalar::F32 => Vec::<f32>::with_capacity(capacity).into(),
        Scalar::I64 => Vec::<i64>::with_capacity(capacity).into(),
        Scalar::Bool => Vec::<bool>::with_capacity(capacity).into(),
    }
}

/// The number of occurrences of an event in a column, and its first row.
#[derive(Clone, Copy, Default)]
struct CellOccurrences {
    count: usize,
    first: usize,
}

impl CellOccurrences {
    fn record(&mut self, row: usize) {
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
    }
}

/// A refused cell: its row, column and text, and the reason. The reason is `None` if an interrupt
/// came.
type RejectedCell = (usize, usize, String, Option<CellRejection>);

/// Missing and rounded cells of the columns that are read.
struct ReadNotes {
    missing: Vec<CellOccurrences>,
    rounded: Vec<CellOccurrences>,
    cells: usize,
}

impl ReadNotes {
    fn new(columns: usize) -> Self {
        Self {
            missing: vec![CellOccurrences::default(); columns],
            rounded: vec![CellOccurrences::default(); columns],
            cells: 0,
        }
    }

    /// Parses a cell and appends its number to the column.
    fn push_cell(
        &mut self,
        store: &mut Store,
        text: &str,
        table: &DataTable,
        row: usize,
        column: usize,
    ) -> Result<(), Option<CellRejection>> {
        self.cells += 1;
        if self.cells.is_multiple_of(INTERRUPT_INTERVAL) && interrupt::is_requested() {
            return Err(None);
        }
        let options = table.options();
        let mut missing = |why: CellRejection| match why {
            CellRejection::Missing => {
                self.missing.get_mut(column).into_iter().for_each(|seen| seen.record(row));
                Ok(())
            }
            why => Err(Some(why)),
        };
        let rounded = match store {
            Store::F64(v) => match f64::parse(text, options) {
                Ok(x) => {
                    v.push(x);
                    integer_is_rounded(text, || format!("{x:.0}"))
                }
                Err(why) => {
                    missing(why)?;
                    v.push(f64::NAN);
                    false
                }
            },
            Store::F32(v) => match f32::parse(text, options) {
                Ok(x) => {
                    v.push(x);
                    integer_is_rounded(text, || format!("{x:.0}"))
                }
                Err(why) => {
                    missing(why)?;
                    v.push(f32::NAN);
                    false
                }
            },
            Store::I64(v) => {
                v.push(i64::parse(text, options).map_err(Some)?);
                false
            }
            Store::Bool(v) => {
                v.push(bool::parse(text, options).map_err(Some)?);
                false
            }
            Store::Columns(_) | Store::Boxed(_) => false,
        };
        if rounded {
            self.rounded.get_mut(column).into_iter().for_each(|seen| seen.record(row));
        }
        Ok(())
    }

    /// Reports a refused cell, or warns of missing values and rounded integers.
    #[expect(clippy::too_many_arguments, reason = "a report needs the place and the type")]
    fn report(
        &self,
        fitter: &mut Fitter<'_>,
        table: &DataTable,
        header: bool,
        columns: &[usize],
        accesses: &[AccessPath],
        read: Result<(), RejectedCell>,
        scalars: &[Scalar],
    ) -> FitResult<()> {
        let column = |at: usize| {
            let nth = columns.get(at).copied().unwrap_or_default();
            match table.columns.get(nth).map(|c| c.name.as_str()) {
                Some(name) if header && !name.is_empty() => format!("column `{}`", display_name(name)),
                _ => format!("column {}", nth + 1),
            }
        };
        if let Err((row, at, text, why)) = read {
            let place = format!("line {}, {}", table.line_number(header, row), column(at));
            let place = accesses.get(at).map_or(place.clone(), |access| access.table_part_phrase(&place));
            let scalar = scalars.get(at).copied().unwrap_or(Scalar::F64);
            return Err(cell_problem(fitter, table, &place, &text, why, scalar));
        }
        for (at, access) in accesses.iter().enumerate() {
            let line = |seen: &CellOccurrences| table.line_number(header, seen.first);
            let which = access.table_part_phrase(&column(at));
            match self.missing.get(at) {
                Some(seen @ CellOccurrences { count: 1, .. }) => {
                    fitter.warn(format!("{which} has no value in line {}; it is read as NaN", line(seen)));
                }
                Some(seen @ CellOccurrences { count: 2.., .. }) => {
                    let (n, line) = (seen.count, line(seen));
                    fitter.warn(format!("{which} has {n} missing values, first in line {line}; they are read as NaN"));
                }
                _ => {}
            }
            if let Some(seen @ CellOccurrences { count: 1.., .. }) = self.rounded.get(at) {
                let scalar = Type::Scalar(scalars.get(at).copied().unwrap_or(Scalar::F64));
                let line = line(seen);
                fitter.warn(match seen.count {
                    1 => format!(
                        "{which} has an integer in line {line} that `{scalar}` cannot represent exactly; the nearest value is used"
                    ),
                    n => format!(
                        "{which} has {n} integers, first in line {line}, that `{scalar}` cannot represent exactly; the nearest values are used"
                    ),
                });
            }
        }
        Ok(())
    }
}

/// Returns the error about a refused cell.
fn cell_problem(
    fitter: &Fitter<'_>,
    table: &DataTable,
    place: &str,
    text: &str,
    why: Option<CellRejection>,
    scalar: Scalar,
) -> Box<Problem> {
    let Some(why) = why else { return fitter.interrupted_problem() };
    let wanted = Type::Scalar(scalar);
    let shown: String = text.chars().take(40).collect();
    match why {
        CellRejection::Missing => {
            let problem = fitter.content_error(format!("{place} has no value; expected `{wanted}`"));
            with_help(problem, "in a column of reals, a missing value is read as NaN")
        }
        CellRejection::TooLarge => {
            fitter.content_error(format!("{place} is {shown}, which does not fit in `{wanted}`"))
        }
        CellRejection::NotInteger => {
            fitter.content_error(format!("{place} is {shown}, which is not a valid `{wanted}`"))
        }
        CellRejection::Boolean => {
            let problem = fitter.content_error(format!("{place} is the boolean `{shown}`; expected `{wanted}`"));
            let one = if scalar == Scalar::I64 { "1" } else { "1.0" };
            with_help(problem, format!("read it as bool; `[x[i]] * {one}` is 1 where it is true"))
        }
        CellRejection::Number => {
            let problem = fitter.content_error(format!("{place} is {shown}; expected `bool`"));
            with_help(problem, "read it as i64, and compare: `x[i] != 0`")
        }
        CellRejection::Text => {
            let problem = fitter.content_error(format!("{place} is {shown:?}; expected `{wanted}`"));
            // The options belong to `load`; arguments of `main` have none.
            match cell_advice(table, text, scalar).filter(|_| fitter.is_load()) {
                Some(advice) => with_help(problem, advice),
                None => problem,
            }
        }
    }
}

/// Whether the text is a date, as `2023-01-05`, `05.01.2023` or `1/5/2023`, with or without a time.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    ['-', '.', '/'].into_iter().any(|between| {
        let parts: Vec<&str> = day.split(between).collect();
        let number = |part: &&str| matches!(part.len(), 1 | 2 | 4) && part.bytes().all(|b| b.is_ascii_digit());
        parts.len() == 3 && parts.iter().all(number) && parts.iter().any(|part| part.len() == 4)
    })
}

/// Returns advice on reading a cell that is no number.
fn cell_advice(table: &DataTable, text: &str, scalar: Scalar) -> Option<String> {
    if is_date(text) {
        return Some(
            "dates are not supported: omit the column, or store year, month and day in separate columns".to_owned(),
        );
    }
    let digits = text.contains(|c: char| c.is_ascii_digit());
    let numeral = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ',' | 'e' | 'E' | '_' | '\'' | ' ');
    if text.starts_with('#') && table.options().comment.is_none() {
        return Some("if the line is a comment: `load(…, comment: \"#\")`".to_owned());
    }
    if digits && text.contains([';', '\t', ',']) && text.chars().all(|c| numeral(c) || matches!(c, ';' | '\t')) {
        if let Some(other) = [";", "\t"].into_iter().find(|c| text.contains(*c)) {
            return Some(format!("if this character separates cells: `load(…, separator: {other:?})`"));
        }
        if text.matches(',').count() == 1 && !text.contains('.') {
            // If commas separate cells in this table, the advice must keep them as separators.
            let between = if table.separator == ',' { ", separator: \",\"" } else { "" };
            let point = format!("if the comma is a decimal point: `load(…, decimal: \",\"{between})`");
            let thousands = text.split_once(',').is_some_and(|(_, rest)| rest.len() == 3);
            return Some(match thousands {
                true => format!("{point}; if it separates thousands, remove it"),
                false => point,
            });
        }
    }
    if digits && text.chars().all(numeral) {
        return Some("remove the thousands separators".to_owned());
    }
    if scalar == Scalar::Bool {
        return Some("write booleans as `true` and `false`".to_owned());
    }
    if !digits && scalar != Scalar::I64 && text.chars().count() <= 12 {
        return Some(format!("if it means a missing value: `load(…, missing: {text:?})`"));
    }
    None
}

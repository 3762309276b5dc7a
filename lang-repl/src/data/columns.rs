//! **Columns of tables as values.** A column is parsed as the scalar type that its field has.
//! Missing values are NaN in columns of reals, with a warning, and errors in others.

use lang_core::base::Name;
use lang_core::predicate::Poly;
use lang_core::runtime::{Store, Value};
use lang_core::types::ty::{Scalar, Type};

use super::count;
use super::csv::{First, Number, Refused, Table, integer_is_rounded};
use super::fit::{help, lacks, numeric, ready, shape, short, tell_renamed};
use crate::fit::{Access, Datum, Fit, Fitter};
use crate::interrupt;
use crate::problem::Problem;

/// The number of cells read between two checks for an interrupt.
const WATCH: usize = 1 << 12;

/// Fits a table to a type.
pub(super) fn table(fitter: &mut Fitter<'_>, table: &Table, ty: &Type, access: &Access) -> Fit<Datum> {
    let width = table.columns.len();
    match ty {
        Type::Record(fields) => record(fitter, table, fields, access),
        Type::Array(extent, element) => match element.as_ref() {
            Type::Record(fields) => {
                let columns = by_name(fitter, table, fields, access)?;
                let names: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
                let types: Vec<&Type> = fields.iter().map(|(_, ty)| ty).collect();
                let made = |values: Vec<Value>| Value::record(names.iter().cloned().zip(values).collect());
                list(fitter, table, true, extent, &columns, &types, access, &made)
            }
            Type::Tuple(types) if types.len() == width => {
                let header = has_header(fitter, table, access)?;
                let columns: Vec<usize> = (0..width).collect();
                let types: Vec<&Type> = types.iter().collect();
                list(fitter, table, header, extent, &columns, &types, access, &Value::tuple)
            }
            _ => matrix(fitter, table, ty, access),
        },
        _ => matrix(fitter, table, ty, access),
    }
}

fn record(fitter: &mut Fitter<'_>, table: &Table, fields: &[(Name, Type)], access: &Access) -> Fit<Datum> {
    let columns = by_name(fitter, table, fields, access)?;
    let rows = table.height(true);
    let (mut scalars, mut shapes, mut accesses) = (Vec::new(), Vec::new(), Vec::new());
    for (position, (name, ty)) in fields.iter().enumerate() {
        let access = access.part(position, name);
        let (scalar, dims) = numeric(fitter, ty, &access, "a column")?;
        let found = match dims.len() {
            1 => vec![rows],
            0 if rows == 1 => Vec::new(),
            _ => {
                let message = format!("{} is a column of {rows}, not of type `{ty}`", access.named());
                return Err(fitter.wrong(message));
            }
        };
        shape(fitter, &dims, &found, &access)?;
        scalars.push(scalar);
        shapes.push(found);
        accesses.push(access);
    }
    let stores = parse(fitter, table, true, &columns, &scalars, &accesses)?;
    let parts = stores.into_iter().zip(shapes).zip(&accesses);
    Ok(Datum::Tuple(parts.map(|((store, found), access)| ready(fitter, &found, store, access)).collect::<Fit<_>>()?))
}

/// Returns the positions of the columns that the fields name.
fn by_name(fitter: &mut Fitter<'_>, table: &Table, fields: &[(Name, Type)], access: &Access) -> Fit<Vec<usize>> {
    if table.first == First::Data {
        let problem = fitter.wrong(format!("{} has no header, so its columns have no names", access.named()));
        return Err(help(problem, "name them in the first line, or read a matrix, `[?n, ?m]f64`"));
    }
    let mut columns = Vec::new();
    for (name, _) in fields {
        let mut named = table.columns.iter().enumerate().filter(|(_, c)| c.name == name.as_str());
        match (named.next(), named.next()) {
            (Some((column, _)), None) => columns.push(column),
            (Some(_), Some(_)) => {
                return Err(fitter.wrong(format!("{} has several columns `{name}`", access.named())));
            }
            _ => return Err(lacks(fitter, "column", name, table.columns.iter().map(|c| c.name.as_str()), access)),
        }
    }
    let renamed = columns.iter().filter_map(|at| table.columns.get(*at));
    let renamed: Vec<(&str, &str)> = renamed.map(|c| (c.header.as_str(), c.name.as_str())).collect();
    tell_renamed(fitter, "column", &renamed, access);
    Ok(columns)
}

/// Whether the first row is a header, for a type whose fields do not name the columns.
fn has_header(fitter: &Fitter<'_>, table: &Table, access: &Access) -> Fit<bool> {
    match table.first {
        First::Data => Ok(false),
        First::Header => Ok(true),
        First::Either => {
            let text = table.columns.iter().map(|c| c.header.as_str()).find(|text| super::csv::is_name(text));
            let message = format!(
                "the first line of {} has numbers and the text {:?}, so it may be a header or data",
                access.named(),
                short(text.unwrap_or_default())
            );
            let advice = "say which: `load(…, header: true)` leaves it out, `load(…, header: false)` reads it";
            Err(help(fitter.wrong(message), advice))
        }
    }
}

/// Fits rows to an array of records or tuples.
#[expect(clippy::too_many_arguments, reason = "records and tuples differ in all of them")]
fn list(
    fitter: &mut Fitter<'_>,
    table: &Table,
    header: bool,
    extent: &Poly,
    columns: &[usize],
    types: &[&Type],
    access: &Access,
    made: &dyn Fn(Vec<Value>) -> Value,
) -> Fit<Datum> {
    let rows = table.height(header);
    shape(fitter, &[extent], &[rows], access)?;
    let scalar = |ty: &&Type| match ty {
        Type::Scalar(scalar) => Ok(*scalar),
        _ => Err(fitter.wrong(format!("a cell of {} is no `{ty}`", access.named()))),
    };
    let scalars = types.iter().map(scalar).collect::<Fit<Vec<_>>>()?;
    let accesses = vec![access.clone(); columns.len()];
    let stores = parse(fitter, table, header, columns, &scalars, &accesses)?;
    let stores: Vec<Option<Value>> = stores.into_iter().map(|store| Value::array(&[rows], store)).collect();
    let element = |row: usize| {
        let part = |store: &Option<Value>| store.as_ref()?.as_array()?.element(row);
        made(stores.iter().filter_map(part).collect())
    };
    let elements: Vec<Value> = (0..rows).map(element).collect();
    ready(fitter, &[rows], elements.into(), access)
}

/// Fits the whole table to an array of numbers, or to a number.
fn matrix(fitter: &mut Fitter<'_>, table: &Table, ty: &Type, access: &Access) -> Fit<Datum> {
    let (scalar, dims) = numeric(fitter, ty, access, "a table")?;
    let header = has_header(fitter, table, access)?;
    let (rows, width) = (table.height(header), table.columns.len());
    let found = match dims.len() {
        2 => vec![rows, width],
        1 if width == 1 => vec![rows],
        1 if rows == 1 => vec![width],
        0 if rows == 1 && width == 1 => Vec::new(),
        _ => {
            let message = format!("{} is a table of {rows} by {width}, not of type `{ty}`", access.named());
            return Err(fitter.wrong(message));
        }
    };
    shape(fitter, &dims, &found, access)?;
    let cells = count(&found).ok_or_else(|| fitter.wrong(format!("{} is too large", access.named())))?;
    let columns: Vec<usize> = (0..width).collect();
    let mut notes = Notes::new(width);
    let mut store = empty(scalar, cells);
    let read = table.visit(header, &columns, &mut |row, column, text| {
        notes.push(&mut store, text, table, row, column).map_err(|why| (row, column, text.to_owned(), why))
    });
    let accesses = vec![access.clone(); width];
    notes.ends(fitter, table, header, &columns, &accesses, read, &vec![scalar; width])?;
    ready(fitter, &found, store, access)
}

/// Parses some columns, each as elements of its scalar type.
fn parse(
    fitter: &mut Fitter<'_>,
    table: &Table,
    header: bool,
    columns: &[usize],
    scalars: &[Scalar],
    accesses: &[Access],
) -> Fit<Vec<Store>> {
    // Cells are visited in the order of the file.
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| columns.get(*at));
    let sorted: Vec<usize> = order.iter().filter_map(|at| columns.get(*at).copied()).collect();
    let rows = table.height(header);
    let mut stores: Vec<Store> = scalars.iter().map(|scalar| empty(*scalar, rows)).collect();
    let mut notes = Notes::new(columns.len());
    let read = table.visit(header, &sorted, &mut |row, position, text| {
        let at = order.get(position).copied().unwrap_or_default();
        let Some(store) = stores.get_mut(at) else { return Ok(()) };
        notes.push(store, text, table, row, at).map_err(|why| (row, at, text.to_owned(), why))
    });
    notes.ends(fitter, table, header, columns, accesses, read, scalars)?;
    Ok(stores)
}

fn empty(scalar: Scalar, capacity: usize) -> Store {
    match scalar {
        Scalar::F64 => Vec::<f64>::with_capacity(capacity).into(),
        Scalar::F32 => Vec::<f32>::with_capacity(capacity).into(),
        Scalar::I64 => Vec::<i64>::with_capacity(capacity).into(),
        Scalar::Bool => Vec::<bool>::with_capacity(capacity).into(),
    }
}

/// The number of occurrences of an event in a column, and its first row.
#[derive(Clone, Copy, Default)]
struct Seen {
    times: usize,
    first: usize,
}

impl Seen {
    fn at(&mut self, row: usize) {
        if self.times == 0 {
            self.first = row;
        }
        self.times += 1;
    }
}

/// A refused cell: its row, column and text, and the reason. The reason is `None` if an interrupt
/// came.
type Wrong = (usize, usize, String, Option<Refused>);

/// Missing and rounded cells of the columns that are read.
struct Notes {
    missing: Vec<Seen>,
    rounded: Vec<Seen>,
    cells: usize,
}

impl Notes {
    fn new(columns: usize) -> Self {
        Self { missing: vec![Seen::default(); columns], rounded: vec![Seen::default(); columns], cells: 0 }
    }

    /// Parses a cell and appends its number to the column.
    fn push(
        &mut self,
        store: &mut Store,
        text: &str,
        table: &Table,
        row: usize,
        column: usize,
    ) -> Result<(), Option<Refused>> {
        self.cells += 1;
        if self.cells.is_multiple_of(WATCH) && interrupt::requested() {
            return Err(None);
        }
        let options = table.options();
        let mut missing = |why: Refused| match why {
            Refused::Missing => {
                self.missing.get_mut(column).into_iter().for_each(|seen| seen.at(row));
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
            self.rounded.get_mut(column).into_iter().for_each(|seen| seen.at(row));
        }
        Ok(())
    }

    /// Reports a refused cell, or warns of missing values and rounded integers.
    #[expect(clippy::too_many_arguments, reason = "a report needs the place and the type")]
    fn ends(
        &self,
        fitter: &mut Fitter<'_>,
        table: &Table,
        header: bool,
        columns: &[usize],
        accesses: &[Access],
        read: Result<(), Wrong>,
        scalars: &[Scalar],
    ) -> Fit<()> {
        let column = |at: usize| {
            let nth = columns.get(at).copied().unwrap_or_default();
            match table.columns.get(nth).map(|c| c.name.as_str()) {
                Some(name) if header && !name.is_empty() => format!("column `{}`", short(name)),
                _ => format!("column {}", nth + 1),
            }
        };
        if let Err((row, at, text, why)) = read {
            let place = format!("line {}, {}", table.line(header, row), column(at));
            let place = accesses.get(at).map_or(place.clone(), |access| access.inside(&place));
            let scalar = scalars.get(at).copied().unwrap_or(Scalar::F64);
            return Err(refused(fitter, table, &place, &text, why, scalar));
        }
        for (at, access) in accesses.iter().enumerate() {
            let line = |seen: &Seen| table.line(header, seen.first);
            let which = access.inside(&column(at));
            match self.missing.get(at) {
                Some(seen @ Seen { times: 1, .. }) => {
                    fitter.warn(format!("{which} has no value in line {}, which makes a NaN", line(seen)));
                }
                Some(seen @ Seen { times: 2.., .. }) => {
                    let (n, line) = (seen.times, line(seen));
                    fitter.warn(format!("{which} has {n} missing values, first in line {line}, which make NaNs"));
                }
                _ => {}
            }
            if let Some(seen @ Seen { times: 1.., .. }) = self.rounded.get(at) {
                let more = match seen.times {
                    1 => String::new(),
                    n => format!(", and {} more", n - 1),
                };
                let scalar = Type::Scalar(scalars.get(at).copied().unwrap_or(Scalar::F64));
                let line = line(seen);
                fitter.warn(format!(
                    "{which} has an integer in line {line}{more} that is no exact `{scalar}`; the nearest one is taken"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the error about a refused cell.
fn refused(
    fitter: &Fitter<'_>,
    table: &Table,
    place: &str,
    text: &str,
    why: Option<Refused>,
    scalar: Scalar,
) -> Box<Problem> {
    let Some(why) = why else { return fitter.interrupted() };
    let wanted = Type::Scalar(scalar);
    let shown: String = text.chars().take(40).collect();
    match why {
        Refused::Missing => {
            let problem = fitter.wrong(format!("{place} has no value, and `{wanted}` is wanted"));
            help(problem, "in a column of reals it would be NaN")
        }
        Refused::Large => fitter.wrong(format!("{place} is {shown}, which no `{wanted}` holds")),
        Refused::Fraction => fitter.wrong(format!("{place} is {shown}, which is no `{wanted}`")),
        Refused::Truth => {
            let problem = fitter.wrong(format!("{place} is the truth value `{shown}`, and `{wanted}` is wanted"));
            let one = if scalar == Scalar::I64 { "1" } else { "1.0" };
            help(problem, format!("read it as bool; `[x[i]] * {one}` is 1 where it is true"))
        }
        Refused::Number => {
            let problem = fitter.wrong(format!("{place} is {shown}, and `bool` is wanted"));
            help(problem, "read it as i64, and compare: `x[i] != 0`")
        }
        Refused::Text => {
            let problem = fitter.wrong(format!("{place} is {shown:?}, and `{wanted}` is wanted"));
            // The options belong to `load`; arguments of `main` have none.
            match advice(table, text, scalar).filter(|_| fitter.is_load()) {
                Some(advice) => help(problem, advice),
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
fn advice(table: &Table, text: &str, scalar: Scalar) -> Option<String> {
    if is_date(text) {
        return Some("dates are not read: leave the column out, or write year, month and day as columns".to_owned());
    }
    let digits = text.contains(|c: char| c.is_ascii_digit());
    let numeral = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ',' | 'e' | 'E' | '_' | '\'' | ' ');
    if text.starts_with('#') && table.options().comment.is_none() {
        return Some("if the line is a comment: `load(…, comment: \"#\")`".to_owned());
    }
    if digits && text.contains([';', '\t', ',']) && text.chars().all(|c| numeral(c) || matches!(c, ';' | '\t')) {
        if let Some(other) = [";", "\t"].into_iter().find(|c| text.contains(*c)) {
            return Some(format!("if cells stand between others: `load(…, separator: {other:?})`"));
        }
        if text.matches(',').count() == 1 && !text.contains('.') {
            // If commas separate cells in this table, the advice must keep them as separators.
            let between = if table.separator == ',' { ", separator: \",\"" } else { "" };
            let point = format!("if the comma is a decimal point: `load(…, decimal: \",\"{between})`");
            let thousands = text.split_once(',').is_some_and(|(_, rest)| rest.len() == 3);
            return Some(match thousands {
                true => format!("{point}; one of thousands is not read: write the number without it"),
                false => point,
            });
        }
    }
    if digits && text.chars().all(numeral) {
        return Some("a number has no separators of thousands".to_owned());
    }
    if scalar == Scalar::Bool {
        return Some("truth values are written `true` and `false`".to_owned());
    }
    if !digits && scalar != Scalar::I64 && text.chars().count() <= 12 {
        return Some(format!("if it stands for a missing value: `load(…, missing: {text:?})`"));
    }
    None
}

//! What a data file holds as a value of a declared type. Numbers become reals, with a warning where they
//! are too large to be kept exactly; reals become integers only where they are some; truth values are truth values.

use lang_core::base::Name;
use lang_core::interp::{Store, Value};
use lang_core::predicate::Poly;
use lang_core::types::ty::{Scalar, Type};

use super::csv::{Cells, Column, Table};
use super::png::Samples;
use super::{Array, Data, Elements, Image, NamedArray, count};
use crate::fit::{Access, Datum, Fit, Fitter};
use crate::problem::Problem;

/// The value of a type that a file holds.
pub(crate) fn value(fitter: &mut Fitter<'_>, data: &Data, ty: &Type, access: &Access) -> Fit<Datum> {
    if ty.has_error() {
        return Err(fitter.wrong(format!("{} has no known type", access.named())));
    }
    match data {
        Data::Array(array) => self::array(fitter, array, ty, access),
        Data::Named(arrays) => named(fitter, arrays, ty, access),
        Data::Table(table) => self::table(fitter, table, ty, access),
        Data::Image(image) => self::image(fitter, image, ty, access),
    }
}

/// With advice.
fn help(mut problem: Box<Problem>, text: impl Into<String>) -> Box<Problem> {
    problem.help = Some(text.into());
    problem
}

fn axes(n: usize) -> String {
    match n {
        0 => "no axis".to_owned(),
        1 => "1 axis".to_owned(),
        n => format!("{n} axes"),
    }
}

fn array(fitter: &mut Fitter<'_>, array: &Array, ty: &Type, access: &Access) -> Fit<Datum> {
    let (scalar, dims) = numeric(fitter, ty, access, "an array of numbers")?;
    let found = &array.dims;
    if found.len() != dims.len() {
        let message = format!(
            "{} has {}, its shape is {}, and `{ty}` has {}",
            access.named(),
            axes(found.len()),
            super::npy::shape(found),
            axes(dims.len())
        );
        return Err(fitter.wrong(message));
    }
    shape(fitter, &dims, found, access)?;
    let place = |at: usize| index(found, at);
    let store = convert(fitter, &array.elements, scalar, access, &place)?;
    ready(fitter, found, store, access)
}

/// The elements of an array type, or a scalar, and the extents.
fn numeric<'t>(fitter: &Fitter<'_>, ty: &'t Type, access: &Access, holds: &str) -> Fit<(Scalar, Vec<&'t Poly>)> {
    let (dims, element) = ty.peel();
    match element {
        Type::Scalar(scalar) => Ok((*scalar, dims)),
        _ => Err(fitter.wrong(format!("{} is {holds}, not of type `{ty}`", access.named()))),
    }
}

/// Notes the extents that were found.
fn shape(fitter: &mut Fitter<'_>, wanted: &[&Poly], found: &[usize], access: &Access) -> Fit<()> {
    let mut access = access.clone();
    for (wanted, found) in wanted.iter().zip(found) {
        fitter.axis(Default::default(), wanted, *found, &access)?;
        access = access.axis();
    }
    Ok(())
}

/// The element at this place in row-major order: `element [2, 0]`, nothing for a number.
fn index(dims: &[usize], mut at: usize) -> String {
    if dims.is_empty() {
        return String::new();
    }
    let mut parts = Vec::new();
    for n in dims.iter().rev() {
        parts.push((at % (*n).max(1)).to_string());
        at /= (*n).max(1);
    }
    parts.reverse();
    format!("element [{}]", parts.join(", "))
}

fn ready(fitter: &Fitter<'_>, dims: &[usize], store: Store, access: &Access) -> Fit<Datum> {
    if dims.is_empty() {
        return Ok(match store {
            Store::F64(v) => Datum::Real(v.first().copied().unwrap_or_default()),
            Store::F32(v) => Datum::Real(v.first().copied().map(f64::from).unwrap_or_default()),
            Store::I64(v) => Datum::Int(v.first().copied().unwrap_or_default()),
            Store::Bool(v) => Datum::Bool(v.first().copied().unwrap_or_default()),
            Store::Boxed(_) => return Err(fitter.wrong(format!("{} is no number", access.named()))),
        });
    }
    let value = Value::array(dims, store).map(Datum::Ready);
    value.ok_or_else(|| fitter.wrong(format!("{} has too many elements", access.named())))
}

/// Where the element at a position is, in words that follow what the whole is called.
type PlaceOf<'a> = &'a dyn Fn(usize) -> String;

/// Elements as those of a kind.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "integers become the nearest reals, and reals are compared with the integers they become"
)]
fn convert(fitter: &mut Fitter<'_>, from: &Elements, to: Scalar, access: &Access, place: PlaceOf<'_>) -> Fit<Store> {
    let element = |at: usize| match place(at) {
        nothing if nothing.is_empty() => access.named(),
        place => access.inside(&place),
    };
    let store: Store = match (from, to) {
        (Elements::Bool(v), Scalar::Bool) => v.clone().into(),
        (Elements::Bool(_), _) | (_, Scalar::Bool) => {
            let held = if matches!(from, Elements::Bool(_)) { "truth values" } else { "numbers" };
            let name = access.named();
            let problem = fitter.wrong(format!("{name} holds {held}, and `{}` is wanted", Type::Scalar(to)));
            return Err(match to {
                Scalar::Bool => help(problem, "read it as i64, and compare: `x[i] != 0`"),
                Scalar::I64 => help(problem, "read it as bool; `[x[i]] * 1` is 1 where it is true"),
                _ => help(problem, "read it as bool; `[x[i]] * 1.0` is 1 where it is true"),
            });
        }
        (Elements::F64(v), Scalar::F64) => v.clone().into(),
        (Elements::F32(v), Scalar::F32) => v.clone().into(),
        (Elements::F32(v), Scalar::F64) => v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>().into(),
        (Elements::F64(v), Scalar::F32) => {
            if let Some(at) = v.iter().position(|x| x.is_finite() && (*x as f32).is_infinite()) {
                let x = v.get(at).copied().unwrap_or_default();
                return Err(fitter.wrong(format!("{} is {x:?}, which no `f32` holds", element(at))));
            }
            v.iter().map(|x| *x as f32).collect::<Vec<_>>().into()
        }
        (Elements::I64(v), Scalar::I64) => v.clone().into(),
        (Elements::I64(v), Scalar::F64) => {
            rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.iter().map(|n| *n as f64).collect::<Vec<_>>().into()
        }
        (Elements::I64(v), Scalar::F32) => {
            rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.iter().map(|n| *n as f32).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::F64) => {
            rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.iter().map(|n| *n as f64).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::F32) => {
            rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.iter().map(|n| *n as f32).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::I64) => {
            let at = v.iter().position(|n| i64::try_from(*n).is_err()).unwrap_or_default();
            let n = v.get(at).copied().unwrap_or_default();
            return Err(fitter.wrong(format!("{} is {n}, which no `i64` holds", element(at))));
        }
        (Elements::F64(v), Scalar::I64) => integers(fitter, v.iter().copied(), &element)?.into(),
        (Elements::F32(v), Scalar::I64) => integers(fitter, v.iter().map(|x| f64::from(*x)), &element)?.into(),
    };
    Ok(store)
}

/// Reals that are integers.
fn integers(fitter: &Fitter<'_>, reals: impl Iterator<Item = f64>, element: PlaceOf<'_>) -> Fit<Vec<i64>> {
    let one = |(at, x): (usize, f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "it is integral and of the range")]
        let n = x as i64;
        let limit = 2f64.powi(63);
        if x.trunc() == x && (-limit..limit).contains(&x) {
            return Ok(n);
        }
        Err(fitter.wrong(format!("{} is {x:?}, which is no `i64`", element(at))))
    };
    reals.enumerate().map(one).collect()
}

/// Warns of integers that are rounded.
fn rounded(fitter: &mut Fitter<'_>, lost: impl Iterator<Item = bool>, to: Scalar, element: PlaceOf<'_>) {
    let lost: Vec<usize> = lost.enumerate().filter(|(_, lost)| *lost).map(|(at, _)| at).take(2).collect();
    if let [first, rest @ ..] = lost.as_slice() {
        let more = if rest.is_empty() { "" } else { ", and others," };
        let which = element(*first);
        fitter.warn(format!("{which}{more} is no exact `{}`; the nearest one is taken", Type::Scalar(to)));
    }
}

// ---- .npz ----

fn named(fitter: &mut Fitter<'_>, arrays: &[NamedArray], ty: &Type, access: &Access) -> Fit<Datum> {
    let fields: Vec<(String, &Type)> = match ty {
        Type::Record(fields) => fields.iter().map(|(name, ty)| (name.to_string(), ty)).collect(),
        Type::Tuple(types) => types.iter().enumerate().map(|(k, ty)| (format!("arr_{k}"), ty)).collect(),
        _ => {
            let message = format!("{} is arrays with names, not of type `{ty}`", access.named());
            let given: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let names = super::names::of(&given, "arr");
            let names: Vec<String> = names.iter().take(10).map(|name| format!("`{}`", short(name))).collect();
            return Err(help(
                fitter.wrong(message),
                format!("a record takes the arrays that it names: {}", names.join(", ")),
            ));
        }
    };
    let given: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    let names = super::names::of(&given, "arr");
    let (mut parts, mut renamed) = (Vec::new(), Vec::new());
    for (position, (name, ty)) in fields.iter().enumerate() {
        let Some(at) = names.iter().position(|known| known == name) else {
            return Err(lacks(fitter, "array", name, names.iter().map(String::as_str), access));
        };
        let Some((given, array)) = arrays.get(at) else { continue };
        renamed.push((given.as_str(), name.as_str()));
        let access = access.part(position, name);
        match array {
            Ok(array) => parts.push(self::array(fitter, array, ty, &access)?),
            Err(why) => return Err(fitter.wrong(format!("the array `{name}`: {why}"))),
        }
    }
    tell_renamed(fitter, "array", &renamed, access);
    Ok(Datum::Tuple(parts))
}

/// A name from a file, as it can be shown.
fn short(name: &str) -> String {
    let start: String = name.chars().take(40).collect();
    start.escape_debug().to_string()
}

/// Warns, once for all, of parts that are taken by another name than the file's.
fn tell_renamed(fitter: &mut Fitter<'_>, what: &str, names: &[(&str, &str)], access: &Access) {
    let mut renamed = names.iter().filter(|(given, name)| given != name);
    let Some((given, name)) = renamed.next() else { return };
    let first = access.inside(&format!("{what} `{}`", short(given)));
    let next = renamed.by_ref().take(2).map(|(given, name)| format!(", `{}` as `{}`", short(given), short(name)));
    let next: String = next.collect();
    let more = match renamed.count() {
        0 => String::new(),
        n => format!(", and {n} more likewise"),
    };
    fitter.warn(format!("{first} is read as `{}`{next}{more}", short(name)));
}

fn lacks<'n>(
    fitter: &Fitter<'_>,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    access: &Access,
) -> Box<Problem> {
    let problem = fitter.wrong(format!("{} has no {what} `{name}`", access.named()));
    match crate::suggest::closest(name, known.clone().take(1_000).filter(|known| known.len() < 100)) {
        Some(near) => help(problem, format!("did you mean `{near}`?")),
        None => {
            let known: Vec<String> = known.take(10).map(short).map(|k| format!("`{k}`")).collect();
            let listed = match known.is_empty() {
                true => format!("it has no {what}"),
                false => format!("its {what}s: {}", known.join(", ")),
            };
            help(problem, listed)
        }
    }
}

// ---- .csv ----

fn table(fitter: &mut Fitter<'_>, table: &Table, ty: &Type, access: &Access) -> Fit<Datum> {
    let rows = table.lines.len();
    let width = table.columns.len();
    match ty {
        Type::Record(fields) => {
            let columns = by_name(fitter, table, fields, access)?;
            let mut parts = Vec::new();
            for (position, ((name, ty), column)) in fields.iter().zip(columns).enumerate() {
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
                let store = self::column(fitter, table, column, scalar, &access)?;
                parts.push(ready(fitter, &found, store, &access)?);
            }
            Ok(Datum::Tuple(parts))
        }
        Type::Array(extent, element) => match element.as_ref() {
            Type::Record(fields) => {
                let columns = by_name(fitter, table, fields, access)?;
                let names: Vec<Name> = fields.iter().map(|(name, _)| name.clone()).collect();
                let types: Vec<&Type> = fields.iter().map(|(_, ty)| ty).collect();
                let made = |values: Vec<Value>| Value::record(names.iter().cloned().zip(values).collect());
                list(fitter, table, extent, &columns, &types, access, &made)
            }
            Type::Tuple(types) if types.len() == width => {
                let columns: Vec<&Column> = table.columns.iter().collect();
                let types: Vec<&Type> = types.iter().collect();
                list(fitter, table, extent, &columns, &types, access, &Value::tuple)
            }
            _ => matrix(fitter, table, ty, access),
        },
        _ => matrix(fitter, table, ty, access),
    }
}

fn by_name<'t>(
    fitter: &mut Fitter<'_>,
    table: &'t Table,
    fields: &[(Name, Type)],
    access: &Access,
) -> Fit<Vec<&'t Column>> {
    if !table.header {
        let problem = fitter.wrong(format!("{} has no header, so its columns have no names", access.named()));
        return Err(help(problem, "name them in the first line, or read a matrix, `[?n, ?m]f64`"));
    }
    let mut columns = Vec::new();
    for (name, _) in fields {
        let mut named = table.columns.iter().filter(|c| c.name == name.as_str());
        match (named.next(), named.next()) {
            (Some(column), None) => columns.push(column),
            (Some(_), Some(_)) => {
                return Err(fitter.wrong(format!("{} has several columns `{name}`", access.named())));
            }
            _ => return Err(lacks(fitter, "column", name, table.columns.iter().map(|c| c.name.as_str()), access)),
        }
    }
    let renamed: Vec<(&str, &str)> = columns.iter().map(|c| (c.header.as_str(), c.name.as_str())).collect();
    tell_renamed(fitter, "column", &renamed, access);
    Ok(columns)
}

/// An array of records or tuples, each a row.
fn list(
    fitter: &mut Fitter<'_>,
    table: &Table,
    extent: &Poly,
    columns: &[&Column],
    types: &[&Type],
    access: &Access,
    made: &dyn Fn(Vec<Value>) -> Value,
) -> Fit<Datum> {
    let rows = table.lines.len();
    shape(fitter, &[extent], &[rows], access)?;
    let mut stores = Vec::new();
    for (ty, column) in types.iter().zip(columns) {
        let Type::Scalar(scalar) = ty else {
            return Err(fitter.wrong(format!("a cell of {} is no `{ty}`", access.named())));
        };
        stores.push(Value::array(&[rows], self::column(fitter, table, column, *scalar, access)?));
    }
    let element = |row: usize| {
        let part = |store: &Option<Value>| store.as_ref()?.as_array()?.element(row);
        made(stores.iter().filter_map(part).collect())
    };
    let elements: Vec<Value> = (0..rows).map(element).collect();
    ready(fitter, &[rows], elements.into(), access)
}

/// All of it, as an array of numbers or as one.
fn matrix(fitter: &mut Fitter<'_>, table: &Table, ty: &Type, access: &Access) -> Fit<Datum> {
    let (scalar, dims) = numeric(fitter, ty, access, "a table")?;
    let (rows, width) = (table.lines.len(), table.columns.len());
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
    let mut stores = Vec::new();
    for column in &table.columns {
        stores.push(self::column(fitter, table, column, scalar, access)?);
    }
    let cells = count(&found).ok_or_else(|| fitter.wrong(format!("{} is too large", access.named())))?;
    let store = match scalar {
        Scalar::F64 => across(&stores, rows, cells, |s| if let Store::F64(v) = s { v } else { &[] }).into(),
        Scalar::F32 => across(&stores, rows, cells, |s| if let Store::F32(v) = s { v } else { &[] }).into(),
        Scalar::I64 => across(&stores, rows, cells, |s| if let Store::I64(v) = s { v } else { &[] }).into(),
        Scalar::Bool => across(&stores, rows, cells, |s| if let Store::Bool(v) = s { v } else { &[] }).into(),
    };
    ready(fitter, &found, store, access)
}

/// Row by row what stands in columns.
fn across<T: Copy>(columns: &[Store], rows: usize, cells: usize, part: impl Fn(&Store) -> &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(cells);
    for row in 0..rows {
        all.extend(columns.iter().filter_map(|c| part(c).get(row)));
    }
    all
}

/// A column as elements of a kind; what is missing is NaN.
fn column(fitter: &mut Fitter<'_>, table: &Table, column: &Column, to: Scalar, access: &Access) -> Fit<Store> {
    let line = |row: usize| table.lines.get(row).copied().unwrap_or_default();
    let which = match column.name.as_str() {
        "" => {
            let nth = table.columns.iter().position(|c| std::ptr::eq(c, column)).unwrap_or_default();
            format!("column {}", nth + 1)
        }
        name => format!("column `{}`", short(name)),
    };
    let place = |row: usize| format!("line {}, {which}", line(row));
    let missing = || column.missing.first().and_then(|row| usize::try_from(*row).ok());
    let store = match &column.cells {
        Cells::Mixed(row, text) => {
            let at = place(usize::try_from(*row).unwrap_or_default());
            let message = format!("{} is {text:?}, and `{}` is wanted", access.inside(&at), Type::Scalar(to));
            return Err(fitter.wrong(message));
        }
        Cells::Nothing(n) if matches!(to, Scalar::F64 | Scalar::F32) || *n == 0 => match to {
            Scalar::F64 => vec![0.0f64; *n].into(),
            Scalar::F32 => vec![0.0f32; *n].into(),
            Scalar::I64 => Vec::<i64>::new().into(),
            Scalar::Bool => Vec::<bool>::new().into(),
        },
        Cells::Typed(elements) if missing().is_none() || matches!(to, Scalar::F64 | Scalar::F32) => {
            convert(fitter, elements, to, access, &place)?
        }
        _ => {
            let at = missing().map(place).unwrap_or_default();
            let message = format!("{} has no value, and `{}` is wanted", access.inside(&at), Type::Scalar(to));
            return Err(help(fitter.wrong(message), "in a column of reals it would be NaN"));
        }
    };
    let Some(first) = missing() else { return Ok(store) };
    let (which, line) = (access.inside(&which), line(first));
    fitter.warn(match column.missing.len() {
        1 => format!("{which} has no value in line {line}, which makes a NaN"),
        n => format!("{which} has {n} missing values, first in line {line}, which make NaNs"),
    });
    let rows = column.missing.iter().filter_map(|row| usize::try_from(*row).ok());
    Ok(match store {
        Store::F64(mut v) => {
            rows.for_each(|row| v.get_mut(row).into_iter().for_each(|x| *x = f64::NAN));
            v.into()
        }
        Store::F32(mut v) => {
            rows.for_each(|row| v.get_mut(row).into_iter().for_each(|x| *x = f32::NAN));
            v.into()
        }
        store => store,
    })
}

// ---- .png ----

fn image(fitter: &mut Fitter<'_>, image: &Image, ty: &Type, access: &Access) -> Fit<Datum> {
    let (scalar, dims) = numeric(fitter, ty, access, "an image")?;
    let mut found = vec![image.height, image.width];
    if image.channels > 1 {
        found.push(image.channels);
    }
    if dims.len() != found.len() {
        let kind = if image.channels > 1 { "in colour" } else { "grey" };
        let message = format!(
            "{} is {kind}, its shape {}, and `{ty}` has {}",
            access.named(),
            super::npy::shape(&found),
            axes(dims.len())
        );
        return Err(help(fitter.wrong(message), "a grey image is `[?h, ?w]f64`, one in colour `[?h, ?w, 3]f64`"));
    }
    shape(fitter, &dims, &found, access)?;
    if image.transparent {
        fitter.warn(format!("what is transparent in {} is read as if it were not", access.named()));
    }
    let store: Store = match (&image.samples, scalar) {
        (Samples::Eight(v), Scalar::F64) => v.iter().map(|s| f64::from(*s) / 255.0).collect::<Vec<_>>().into(),
        (Samples::Eight(v), Scalar::F32) => v.iter().map(|s| f32::from(*s) / 255.0).collect::<Vec<_>>().into(),
        (Samples::Eight(v), Scalar::I64) => v.iter().map(|s| i64::from(*s)).collect::<Vec<_>>().into(),
        (Samples::Sixteen(v), Scalar::F64) => v.iter().map(|s| f64::from(*s) / 65535.0).collect::<Vec<_>>().into(),
        (Samples::Sixteen(v), Scalar::F32) => v.iter().map(|s| f32::from(*s) / 65535.0).collect::<Vec<_>>().into(),
        (Samples::Sixteen(_), Scalar::I64) => {
            let problem =
                fitter.wrong(format!("{} has 16 bits a channel, and integers are from 0 to 255", access.named()));
            return Err(help(problem, "read it as f64, from 0 to 1"));
        }
        (_, Scalar::Bool) => {
            let problem = fitter.wrong(format!("{} is an image, and `bool` is wanted", access.named()));
            return Err(help(problem, "read it as f64, and compare: `x[i, j] > 0.5`"));
        }
    };
    ready(fitter, &found, store, access)
}

//! **Conversion of data files to declared types.** Numbers become reals, with a warning if a large
//! integer is rounded. Reals become integers only if they are integral. Booleans only fit booleans.

use lang_core::predicate::Poly;
use lang_core::runtime::{Store, Value};
use lang_core::types::ty::{Scalar, Type};

use super::field_names::to_nfc;
use super::png::Samples;
use super::{FileArray, FileContent, FileElements, Image, NamedArray, columns};
use crate::fit::{AccessPath, Datum, FitResult, Fitter};
use crate::problem::Problem;

/// Fits the content of a file to a type.
pub(crate) fn fit_value(
    fitter: &mut Fitter<'_>,
    data: &FileContent,
    ty: &Type,
    access: &AccessPath,
) -> FitResult<Datum> {
    if ty.has_error() {
        return Err(fitter.content_error(format!("{} has no known type", access.value_phrase())));
    }
    match data {
        FileContent::Array(array) => fit_array(fitter, array, ty, access),
        FileContent::Archive(arrays) => fit_archive(fitter, arrays, ty, access),
        FileContent::Table(table) => columns::fit_table(fitter, table, ty, access),
        FileContent::Image(image) => fit_image(fitter, image, ty, access),
    }
}

/// Adds advice to a problem.
pub(super) fn with_help(mut problem: Box<Problem>, text: impl Into<String>) -> Box<Problem> {
    problem.help = Some(text.into());
    problem
}

fn axes_phrase(n: usize) -> String {
    match n {
        0 => "no axis".to_owned(),
        n => lang_core::base::count_with_noun(n, "axis", "axes"),
    }
}

fn fit_array(fitter: &mut Fitter<'_>, array: &FileArray, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
    let (scalar, dims) = scalar_and_dims(fitter, ty, access, "an array of numbers")?;
    let found = &array.dims;
    if found.len() != dims.len() {
        let message = format!(
            "{} has {} (shape {}), but `{ty}` has {}",
            access.value_phrase(),
            axes_phrase(found.len()),
            super::npy::shape_text(found),
            axes_phrase(dims.len())
        );
        return Err(fitter.content_error(message));
    }
    fit_shape(fitter, &dims, found, access)?;
    let place = |at: usize| element_phrase(found, at);
    let elements = match fitter.reads_once() {
        true => array.elements.take(),
        false => array.elements.borrow().clone(),
    };
    let store = convert_elements(fitter, elements, scalar, access, &place)?;
    finished_datum(fitter, found, store, access)
}

/// Splits an array type or a scalar type into the element type and the extents. `holds` describes
/// the content in the error.
pub(super) fn scalar_and_dims<'t>(
    fitter: &Fitter<'_>,
    ty: &'t Type,
    access: &AccessPath,
    holds: &str,
) -> FitResult<(Scalar, Vec<&'t Poly>)> {
    let (dims, element) = ty.split_array();
    match element {
        Type::Scalar(scalar) => Ok((*scalar, dims)),
        _ => Err(fitter.content_error(format!("{} is {holds}, not of type `{ty}`", access.value_phrase()))),
    }
}

/// Records the extents that were found.
pub(super) fn fit_shape(
    fitter: &mut Fitter<'_>,
    wanted: &[&Poly],
    found: &[usize],
    access: &AccessPath,
) -> FitResult<()> {
    let mut access = access.clone();
    for (wanted, found) in wanted.iter().zip(found) {
        fitter.record_axis(Default::default(), wanted, *found, &access)?;
        access = access.enter_axis();
    }
    Ok(())
}

/// Describes the element at a row-major position, as `element [2, 0]`; empty for a scalar.
fn element_phrase(dims: &[usize], mut at: usize) -> String {
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

pub(super) fn finished_datum(
    fitter: &Fitter<'_>,
    dims: &[usize],
    store: Store,
    access: &AccessPath,
) -> FitResult<Datum> {
    if dims.is_empty() {
        return Ok(match store {
            Store::F64(v) => Datum::Real(v.first().copied().unwrap_or_default()),
            Store::F32(v) => Datum::Real(v.first().copied().map(f64::from).unwrap_or_default()),
            Store::I64(v) => Datum::Int(v.first().copied().unwrap_or_default()),
            Store::Bool(v) => Datum::Bool(v.first().copied().unwrap_or_default()),
            Store::Columns(_) | Store::Boxed(_) => {
                return Err(fitter.content_error(format!("{} is not a number", access.value_phrase())));
            }
        });
    }
    let value = Value::array(dims, store).map(Datum::Converted);
    value.ok_or_else(|| fitter.content_error(format!("{} has too many elements", access.value_phrase())))
}

/// A function that describes the element at a position.
type DescribePosition<'a> = &'a dyn Fn(usize) -> String;

/// Converts elements to a scalar type. Warns about rounded integers, and rejects values that the
/// type cannot hold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "integers become the nearest reals, and reals are compared with the integers they become"
)]
fn convert_elements(
    fitter: &mut Fitter<'_>,
    from: FileElements,
    to: Scalar,
    access: &AccessPath,
    place: DescribePosition<'_>,
) -> FitResult<Store> {
    let element = |at: usize| match place(at) {
        nothing if nothing.is_empty() => access.value_phrase(),
        place => access.array_part_phrase(&place),
    };
    let store: Store = match (from, to) {
        (FileElements::Bool(v), Scalar::Bool) => v.into(),
        (from @ FileElements::Bool(_), _) | (from, Scalar::Bool) => {
            let held = if matches!(from, FileElements::Bool(_)) { "booleans" } else { "numbers" };
            let name = access.value_phrase();
            let problem = fitter.content_error(format!("{name} contains {held}; expected `{}`", Type::Scalar(to)));
            return Err(match to {
                Scalar::Bool => with_help(problem, "read it as i64, and compare: `x[i] != 0`"),
                Scalar::I64 => with_help(problem, "read it as bool; `[x[i]] * 1` is 1 where it is true"),
                _ => with_help(problem, "read it as bool; `[x[i]] * 1.0` is 1 where it is true"),
            });
        }
        (FileElements::F64(v), Scalar::F64) => v.into(),
        (FileElements::F32(v), Scalar::F32) => v.into(),
        (FileElements::F32(v), Scalar::F64) => v.into_iter().map(f64::from).collect::<Vec<_>>().into(),
        (FileElements::F64(v), Scalar::F32) => {
            if let Some(at) = v.iter().position(|x| x.is_finite() && (*x as f32).is_infinite()) {
                let x = v.get(at).copied().unwrap_or_default();
                return Err(fitter.content_error(format!("{} is {x:?}, which does not fit in `f32`", element(at))));
            }
            v.into_iter().map(|x| x as f32).collect::<Vec<_>>().into()
        }
        (FileElements::I64(v), Scalar::I64) => v.into(),
        (FileElements::I64(v), Scalar::F64) => {
            warn_rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f64).collect::<Vec<_>>().into()
        }
        (FileElements::I64(v), Scalar::F32) => {
            warn_rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f32).collect::<Vec<_>>().into()
        }
        (FileElements::U64(v), Scalar::F64) => {
            warn_rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f64).collect::<Vec<_>>().into()
        }
        (FileElements::U64(v), Scalar::F32) => {
            warn_rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f32).collect::<Vec<_>>().into()
        }
        (FileElements::U64(v), Scalar::I64) => {
            let at = v.iter().position(|n| i64::try_from(*n).is_err()).unwrap_or_default();
            let n = v.get(at).copied().unwrap_or_default();
            return Err(fitter.content_error(format!("{} is {n}, which does not fit in `i64`", element(at))));
        }
        (FileElements::F64(v), Scalar::I64) => exact_integers(fitter, v.into_iter(), &element)?.into(),
        (FileElements::F32(v), Scalar::I64) => exact_integers(fitter, v.into_iter().map(f64::from), &element)?.into(),
    };
    Ok(store)
}

/// Converts reals to integers; each must be integral and in range.
fn exact_integers(
    fitter: &Fitter<'_>,
    reals: impl Iterator<Item = f64>,
    element: DescribePosition<'_>,
) -> FitResult<Vec<i64>> {
    let one = |(at, x): (usize, f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "it is integral and of the range")]
        let n = x as i64;
        let limit = 2f64.powi(63);
        if x.trunc() == x && (-limit..limit).contains(&x) {
            return Ok(n);
        }
        Err(fitter.content_error(format!("{} is {x:?}, which is not an `i64`", element(at))))
    };
    reals.enumerate().map(one).collect()
}

/// Warns about rounded integers.
fn warn_rounded(fitter: &mut Fitter<'_>, lost: impl Iterator<Item = bool>, to: Scalar, element: DescribePosition<'_>) {
    let lost: Vec<usize> = lost.enumerate().filter(|(_, lost)| *lost).map(|(at, _)| at).take(2).collect();
    if let [first, rest @ ..] = lost.as_slice() {
        let more = if rest.is_empty() { "" } else { ", and others," };
        let which = element(*first);
        fitter.warn(format!("{which}{more} has no exact `{}`; the nearest value is used", Type::Scalar(to)));
    }
}

// ---- .npz ----

fn fit_archive(fitter: &mut Fitter<'_>, arrays: &[NamedArray], ty: &Type, access: &AccessPath) -> FitResult<Datum> {
    let array_names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    let names = super::field_names::unique_field_names(&array_names, "arr");
    if !matches!(ty, Type::Record(_) | Type::Tuple(_)) {
        let message = format!("{} contains named arrays, which are not of type `{ty}`", access.value_phrase());
        let names: Vec<String> = names.iter().take(10).map(|name| format!("`{}`", display_name(name))).collect();
        let advice = format!("declare a record with fields of these names: {}", names.join(", "));
        return Err(with_help(fitter.content_error(message), advice));
    }
    let mut archive = ArrayArchive { arrays, names, renamed: Vec::new() };
    let datum = archive.fit_parts(fitter, "", ty, access)?;
    let renamed: Vec<(&str, &str)> =
        archive.renamed.iter().map(|(raw_name, name)| (*raw_name, name.as_str())).collect();
    warn_renamed(fitter, NamedPart::Array, &renamed, access);
    Ok(datum)
}

/// The arrays of a file, and their field names.
struct ArrayArchive<'a> {
    arrays: &'a [NamedArray],
    names: Vec<String>,
    /// The names of the used arrays: in the file, and as fields.
    renamed: Vec<(&'a str, String)>,
}

impl ArrayArchive<'_> {
    /// Fits a record or a tuple. Nested ones have dotted names, as `layer.weight`.
    fn fit_parts(&mut self, fitter: &mut Fitter<'_>, prefix: &str, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
        let fields: Vec<(String, &Type)> = match ty {
            Type::Record(fields) => fields.iter().map(|(name, ty)| (name.to_string(), ty)).collect(),
            Type::Tuple(types) => {
                let arr = if prefix.is_empty() { "arr_" } else { "" };
                types.iter().enumerate().map(|(k, ty)| (format!("{arr}{k}"), ty)).collect()
            }
            _ => return self.fit_member(fitter, prefix, ty, access),
        };
        let mut parts = Vec::new();
        for (position, (name, ty)) in fields.iter().enumerate() {
            let access = access.enter_part(position, name);
            let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            parts.push(self.fit_parts(fitter, &name, ty, &access)?);
        }
        Ok(Datum::Tuple(parts))
    }

    fn fit_member(&mut self, fitter: &mut Fitter<'_>, name: &str, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
        let raw_name = |(path_name, _): &NamedArray| to_nfc(path_name).replace('/', ".");
        let mut found = self.names.iter().zip(self.arrays).filter(|(n, array)| *n == name || raw_name(array) == name);
        let (array, twice) = (found.next(), found.next().is_some());
        let Some((known, (raw_name, array))) = array else {
            return Err(missing_part(fitter, "array", name, self.names.iter().map(String::as_str), access));
        };
        if twice {
            return Err(fitter.content_error(format!("{} has several arrays `{name}`", access.value_phrase())));
        }
        // A path such as `layer/weight` is not a renaming.
        if known == name {
            self.renamed.push((raw_name.as_str(), name.to_owned()));
        }
        match array {
            Ok(array) => fit_array(fitter, array, ty, access),
            Err(why) => Err(fitter.content_error(format!("the array `{name}`: {why}"))),
        }
    }
}

/// Shortens and escapes a name from a file for display.
pub(super) fn display_name(name: &str) -> String {
    let start: String = name.chars().take(40).collect();
    start.escape_debug().to_string()
}

/// A named part of a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NamedPart {
    Array,
    Column,
}

/// Warns, once for all, about parts whose field name differs from the file's name.
pub(super) fn warn_renamed(fitter: &mut Fitter<'_>, part: NamedPart, names: &[(&str, &str)], access: &AccessPath) {
    let mut renamed = names.iter().filter(|(raw_name, name)| to_nfc(raw_name) != *name);
    let Some((raw_name, name)) = renamed.next() else { return };
    let first = match part {
        NamedPart::Array => access.array_part_phrase(&format!("array `{}`", display_name(raw_name))),
        NamedPart::Column => access.table_part_phrase(&format!("column `{}`", display_name(raw_name))),
    };
    let next = renamed
        .by_ref()
        .take(2)
        .map(|(raw_name, name)| format!(", `{}` as `{}`", display_name(raw_name), display_name(name)));
    let next: String = next.collect();
    let more = match renamed.count() {
        0 => String::new(),
        n => format!(", and {n} more likewise"),
    };
    fitter.warn(format!("{first} is read as `{}`{next}{more}", display_name(name)));
}

pub(super) fn missing_part<'n>(
    fitter: &Fitter<'_>,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    access: &AccessPath,
) -> Box<Problem> {
    let problem = fitter.content_error(format!("{} has no {what} `{name}`", access.file_phrase()));
    match crate::suggest::closest(name, known.clone().take(1_000).filter(|known| known.len() < 100)) {
        Some(near) => with_help(problem, format!("did you mean `{near}`?")),
        None => {
            let known: Vec<String> = known.take(10).map(display_name).map(|k| format!("`{k}`")).collect();
            let listed = match known.is_empty() {
                true => format!("it has no {what}"),
                false => format!("its {what}s: {}", known.join(", ")),
            };
            with_help(problem, listed)
        }
    }
}

// ---- .png ----

fn fit_image(fitter: &mut Fitter<'_>, image: &Image, ty: &Type, access: &AccessPath) -> FitResult<Datum> {
    let (scalar, dims) = scalar_and_dims(fitter, ty, access, "an image")?;
    let mut found = vec![image.height, image.width];
    if image.channels > 1 {
        found.push(image.channels);
    }
    if dims.len() != found.len() {
        let kind = if image.channels > 1 { "a colour image" } else { "a grey image" };
        let message = format!(
            "{} is {kind} of shape {}, but `{ty}` has {}",
            access.value_phrase(),
            super::npy::shape_text(&found),
            axes_phrase(dims.len())
        );
        return Err(with_help(
            fitter.content_error(message),
            "a grey image has type `[?h, ?w]f64`, a colour image `[?h, ?w, 3]f64`",
        ));
    }
    fit_shape(fitter, &dims, &found, access)?;
    if image.has_transparency {
        fitter.warn(format!("the transparency of {} is ignored", access.value_phrase()));
    }
    let store: Store = match (&image.samples, scalar) {
        (Samples::Bits8(v), Scalar::F64) => v.iter().map(|s| f64::from(*s) / 255.0).collect::<Vec<_>>().into(),
        (Samples::Bits8(v), Scalar::F32) => v.iter().map(|s| f32::from(*s) / 255.0).collect::<Vec<_>>().into(),
        (Samples::Bits8(v), Scalar::I64) => v.iter().map(|s| i64::from(*s)).collect::<Vec<_>>().into(),
        (Samples::Bits16(v), Scalar::F64) => v.iter().map(|s| f64::from(*s) / 65535.0).collect::<Vec<_>>().into(),
        (Samples::Bits16(v), Scalar::F32) => v.iter().map(|s| f32::from(*s) / 65535.0).collect::<Vec<_>>().into(),
        (Samples::Bits16(_), Scalar::I64) => {
            let problem = fitter.content_error(format!(
                "{} has 16 bits per channel, but integers must be from 0 to 255",
                access.value_phrase()
            ));
            return Err(with_help(problem, "read it as f64, from 0 to 1"));
        }
        (_, Scalar::Bool) => {
            let problem = fitter.content_error(format!("{} is an image; expected `bool`", access.value_phrase()));
            return Err(with_help(problem, "read it as f64, and compare: `x[i, j] > 0.5`"));
        }
    };
    finished_datum(fitter, &found, store, access)
}

//! **Conversion of data files to declared types.** Numbers become reals, with a warning if a large
//! integer is rounded. Reals become integers only if they are integral. Booleans only fit booleans.

use lang_core::predicate::Poly;
use lang_core::runtime::{Store, Value};
use lang_core::types::ty::{Scalar, Type};

use super::names::to_nfc;
use super::png::Samples;
use super::{Array, Data, Elements, Image, NamedArray, columns};
use crate::fit::{Access, Datum, Fit, Fitter};
use crate::problem::Problem;

/// Fits the content of a file to a type.
pub(crate) fn value(fitter: &mut Fitter<'_>, data: &Data, ty: &Type, access: &Access) -> Fit<Datum> {
    if ty.has_error() {
        return Err(fitter.wrong(format!("{} has no known type", access.named())));
    }
    match data {
        Data::Array(array) => self::array(fitter, array, ty, access),
        Data::Named(arrays) => named(fitter, arrays, ty, access),
        Data::Table(table) => columns::table(fitter, table, ty, access),
        Data::Image(image) => self::image(fitter, image, ty, access),
    }
}

/// Adds advice to a problem.
pub(super) fn help(mut problem: Box<Problem>, text: impl Into<String>) -> Box<Problem> {
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
    let elements = match fitter.reads_once() {
        true => array.elements.take(),
        false => array.elements.borrow().clone(),
    };
    let store = convert(fitter, elements, scalar, access, &place)?;
    ready(fitter, found, store, access)
}

/// Splits an array type or a scalar type into the element type and the extents. `holds` describes
/// the content in the error.
pub(super) fn numeric<'t>(
    fitter: &Fitter<'_>,
    ty: &'t Type,
    access: &Access,
    holds: &str,
) -> Fit<(Scalar, Vec<&'t Poly>)> {
    let (dims, element) = ty.peel();
    match element {
        Type::Scalar(scalar) => Ok((*scalar, dims)),
        _ => Err(fitter.wrong(format!("{} is {holds}, not of type `{ty}`", access.named()))),
    }
}

/// Records the extents that were found.
pub(super) fn shape(fitter: &mut Fitter<'_>, wanted: &[&Poly], found: &[usize], access: &Access) -> Fit<()> {
    let mut access = access.clone();
    for (wanted, found) in wanted.iter().zip(found) {
        fitter.axis(Default::default(), wanted, *found, &access)?;
        access = access.axis();
    }
    Ok(())
}

/// Describes the element at a row-major position, as `element [2, 0]`; empty for a scalar.
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

pub(super) fn ready(fitter: &Fitter<'_>, dims: &[usize], store: Store, access: &Access) -> Fit<Datum> {
    if dims.is_empty() {
        return Ok(match store {
            Store::F64(v) => Datum::Real(v.first().copied().unwrap_or_default()),
            Store::F32(v) => Datum::Real(v.first().copied().map(f64::from).unwrap_or_default()),
            Store::I64(v) => Datum::Int(v.first().copied().unwrap_or_default()),
            Store::Bool(v) => Datum::Bool(v.first().copied().unwrap_or_default()),
            Store::Columns(_) | Store::Boxed(_) => return Err(fitter.wrong(format!("{} is no number", access.named()))),
        });
    }
    let value = Value::array(dims, store).map(Datum::Ready);
    value.ok_or_else(|| fitter.wrong(format!("{} has too many elements", access.named())))
}

/// A function that describes the element at a position.
type PlaceOf<'a> = &'a dyn Fn(usize) -> String;

/// Converts elements to a scalar type. Warns about rounded integers, and rejects values that the
/// type cannot hold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "integers become the nearest reals, and reals are compared with the integers they become"
)]
fn convert(fitter: &mut Fitter<'_>, from: Elements, to: Scalar, access: &Access, place: PlaceOf<'_>) -> Fit<Store> {
    let element = |at: usize| match place(at) {
        nothing if nothing.is_empty() => access.named(),
        place => access.inside(&place),
    };
    let store: Store = match (from, to) {
        (Elements::Bool(v), Scalar::Bool) => v.into(),
        (from @ Elements::Bool(_), _) | (from, Scalar::Bool) => {
            let held = if matches!(from, Elements::Bool(_)) { "truth values" } else { "numbers" };
            let name = access.named();
            let problem = fitter.wrong(format!("{name} holds {held}, and `{}` is wanted", Type::Scalar(to)));
            return Err(match to {
                Scalar::Bool => help(problem, "read it as i64, and compare: `x[i] != 0`"),
                Scalar::I64 => help(problem, "read it as bool; `[x[i]] * 1` is 1 where it is true"),
                _ => help(problem, "read it as bool; `[x[i]] * 1.0` is 1 where it is true"),
            });
        }
        (Elements::F64(v), Scalar::F64) => v.into(),
        (Elements::F32(v), Scalar::F32) => v.into(),
        (Elements::F32(v), Scalar::F64) => v.into_iter().map(f64::from).collect::<Vec<_>>().into(),
        (Elements::F64(v), Scalar::F32) => {
            if let Some(at) = v.iter().position(|x| x.is_finite() && (*x as f32).is_infinite()) {
                let x = v.get(at).copied().unwrap_or_default();
                return Err(fitter.wrong(format!("{} is {x:?}, which no `f32` holds", element(at))));
            }
            v.into_iter().map(|x| x as f32).collect::<Vec<_>>().into()
        }
        (Elements::I64(v), Scalar::I64) => v.into(),
        (Elements::I64(v), Scalar::F64) => {
            rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f64).collect::<Vec<_>>().into()
        }
        (Elements::I64(v), Scalar::F32) => {
            rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f32).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::F64) => {
            rounded(fitter, v.iter().map(|n| *n as f64 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f64).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::F32) => {
            rounded(fitter, v.iter().map(|n| *n as f32 as i128 != i128::from(*n)), to, &element);
            v.into_iter().map(|n| n as f32).collect::<Vec<_>>().into()
        }
        (Elements::U64(v), Scalar::I64) => {
            let at = v.iter().position(|n| i64::try_from(*n).is_err()).unwrap_or_default();
            let n = v.get(at).copied().unwrap_or_default();
            return Err(fitter.wrong(format!("{} is {n}, which no `i64` holds", element(at))));
        }
        (Elements::F64(v), Scalar::I64) => integers(fitter, v.into_iter(), &element)?.into(),
        (Elements::F32(v), Scalar::I64) => integers(fitter, v.into_iter().map(f64::from), &element)?.into(),
    };
    Ok(store)
}

/// Converts reals to integers; each must be integral and in range.
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

/// Warns about rounded integers.
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
    let given: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    let names = super::names::of(&given, "arr");
    if !matches!(ty, Type::Record(_) | Type::Tuple(_)) {
        let message = format!("{} is arrays with names, not of type `{ty}`", access.named());
        let names: Vec<String> = names.iter().take(10).map(|name| format!("`{}`", short(name))).collect();
        let advice = format!("a record takes the arrays that it names: {}", names.join(", "));
        return Err(help(fitter.wrong(message), advice));
    }
    let mut archive = Archive { arrays, names, renamed: Vec::new() };
    let datum = archive.parts(fitter, "", ty, access)?;
    let renamed: Vec<(&str, &str)> = archive.renamed.iter().map(|(given, name)| (*given, name.as_str())).collect();
    tell_renamed(fitter, "array", &renamed, access);
    Ok(datum)
}

/// The arrays of a file, and their field names.
struct Archive<'a> {
    arrays: &'a [NamedArray],
    names: Vec<String>,
    /// The names of the used arrays: in the file, and as fields.
    renamed: Vec<(&'a str, String)>,
}

impl Archive<'_> {
    /// Fits a record or a tuple. Nested ones have dotted names, as `layer.weight`.
    fn parts(&mut self, fitter: &mut Fitter<'_>, prefix: &str, ty: &Type, access: &Access) -> Fit<Datum> {
        let fields: Vec<(String, &Type)> = match ty {
            Type::Record(fields) => fields.iter().map(|(name, ty)| (name.to_string(), ty)).collect(),
            Type::Tuple(types) => {
                let arr = if prefix.is_empty() { "arr_" } else { "" };
                types.iter().enumerate().map(|(k, ty)| (format!("{arr}{k}"), ty)).collect()
            }
            _ => return self.array(fitter, prefix, ty, access),
        };
        let mut parts = Vec::new();
        for (position, (name, ty)) in fields.iter().enumerate() {
            let access = access.part(position, name);
            let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            parts.push(self.parts(fitter, &name, ty, &access)?);
        }
        Ok(Datum::Tuple(parts))
    }

    fn array(&mut self, fitter: &mut Fitter<'_>, name: &str, ty: &Type, access: &Access) -> Fit<Datum> {
        let given = |(given, _): &NamedArray| to_nfc(given).replace('/', ".");
        let mut found = self.names.iter().zip(self.arrays).filter(|(n, array)| *n == name || given(array) == name);
        let (array, twice) = (found.next(), found.next().is_some());
        let Some((known, (given, array))) = array else {
            return Err(lacks(fitter, "array", name, self.names.iter().map(String::as_str), access));
        };
        if twice {
            return Err(fitter.wrong(format!("{} has several arrays `{name}`", access.named())));
        }
        // A path such as `layer/weight` is not a renaming.
        if known == name {
            self.renamed.push((given.as_str(), name.to_owned()));
        }
        match array {
            Ok(array) => self::array(fitter, array, ty, access),
            Err(why) => Err(fitter.wrong(format!("the array `{name}`: {why}"))),
        }
    }
}

/// Shortens and escapes a name from a file for display.
pub(super) fn short(name: &str) -> String {
    let start: String = name.chars().take(40).collect();
    start.escape_debug().to_string()
}

/// Warns, once for all, about parts whose field name differs from the file's name.
pub(super) fn tell_renamed(fitter: &mut Fitter<'_>, what: &str, names: &[(&str, &str)], access: &Access) {
    let mut renamed = names.iter().filter(|(given, name)| to_nfc(given) != *name);
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

pub(super) fn lacks<'n>(
    fitter: &Fitter<'_>,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
    access: &Access,
) -> Box<Problem> {
    let problem = fitter.wrong(format!("{} has no {what} `{name}`", access.file()));
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
